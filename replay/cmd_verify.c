#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/cli.h"
#include "replay/options.h"
#include "replay/targets.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    shared_options shared;
    bool json;
} options;

typedef struct {
    const char *path, *name, *trust, *verdict;
    size_t findings;
    int exit_code;
} row;

static int parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {OPTIONS_ROOT,
                                          OPTIONS_CAPTURE,
                                          OPTIONS_ENVELOPE,
                                          OPTIONS_SIGNED,
                                          OPTIONS_LIMITS,
                                          {"quick", no_argument, NULL, 'k'},
                                          {"json", no_argument, NULL, 'j'},
                                          {0}};
    int c, code, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == '?')
            return cli_bad_option("verify", argv);
        if (c == 'k')
            o->shared.verify.quick = true;
        else if (c == 'j')
            o->json = true;
        else if ((code = options_take("verify", &o->shared, c, longs[at].name)))
            return code;
    }
    return options_agree("verify", &o->shared);
}

/* Trust below what was asked for, or a required check without an answer, turns a yes into EXIT_UNTRUSTED. */
static int exit_code_of(const options *o, const verify_result *v, const report *r)
{
    int code = cli_verdict_exit(r);
    bool supplementary = false;
    for (size_t i = 0; i < r->n; i++)
        supplementary |= r->v[i].status == CHECK_NOT_CHECKABLE;
    if (code != EXIT_PASSED)
        return code;
    if ((o->shared.require == REQUIRE_PINNED && !v->pinned) ||
        (o->shared.require == REQUIRE_SIGNED && !v->is_signed) ||
        (o->shared.require == REQUIRE_COMPLETE && (supplementary || v->bundle->man->n_omitted)))
        return EXIT_UNTRUSTED;
    return code;
}

static void print_json(jw *j, const char *path, const verify_result *v, report *r, int code)
{
    char hex[DIGEST_HEX];
    jw_obj(j, NULL);
    jw_str(j, "bundle", path);
    jw_str(j, "name", v->bundle->man->name);
    digest_hex(v->bundle->man->root, hex);
    jw_fmt(j, "root", "sha256:%s", hex);
    jw_str(j, "trust", trust_names[v->trust]);
    const bool established[] = {[TRUST_SELF_CONSISTENT] = true,
                                [TRUST_CAPTURE_MATCHED] = v->matched > 0,
                                [TRUST_PINNED] = v->pinned,
                                [TRUST_SIGNED] = v->is_signed};
    jw_arr(j, "established");
    for (int i = 0; trust_names[i]; i++)
        if (established[i])
            jw_str(j, NULL, trust_names[i]);
    jw_end(j);
    if (v->of) {
        jw_u64(j, "capture_matched", v->matched);
        jw_u64(j, "capture_items", v->of);
    }
    jw_str(j, "verdict", check_status_names[report_verdict(r)]);
    if (v->has_signature)
        jw_digest(j, "plan_signature", v->signature);
    else
        jw_null(j, "plan_signature");
    report_json(j, r);
    jw_i64(j, "exit", code);
    jw_end(j);
}

/* A yes says what it was compared with: a signed bundle of a pinned root is both. */
static const char *trust_text(scratch *sc, const verify_result *v)
{
    const char *s = trust_names[v->trust];
    if (v->trust == TRUST_CAPTURE_MATCHED || (v->of && v->trust == TRUST_SIGNED && !v->pinned))
        s = scratch_printf(sc, "%s%s (%llu of %llu)", v->is_signed ? "signed, " : "",
                           trust_names[TRUST_CAPTURE_MATCHED], (unsigned long long)v->matched,
                           (unsigned long long)v->of);
    else if (v->is_signed && v->pinned)
        s = "signed, pinned";
    return s ? s : "";
}

static void print_text(FILE *f, const verify_result *v, report *r)
{
    char hex[DIGEST_HEX];
    report_print(r, f);
    fprintf(f, "\n%s: %s, trust: %s, %zu findings", text_safe(r->sc, v->bundle->man->name),
            check_status_names[report_verdict(r)], trust_text(r->sc, v), r->fs.n);
    if (v->bundle->man->n_omitted)
        fprintf(f, ", %zu files omitted", v->bundle->man->n_omitted);
    if (v->has_signature) {
        digest_hex(v->signature, hex);
        fprintf(f, "\nplan signature sha256:%s", hex);
    }
    fputc('\n', f);
}

/* A manifest was reached and breaks a rule: an answered no, not an unreadable argument. */
static void refuse_manifest(rp_err *e, row *out, report *r, const char *path, jw *j, FILE *f)
{
    report_begin(r, "container", true);
    err_to_finding(e, &r->fs);
    report_end(r, "manifest.json");
    if (j) {
        jw_obj(j, NULL);
        jw_str(j, "bundle", path);
        jw_str(j, "verdict", check_status_names[CHECK_REJECTED]);
        report_json(j, r);
        jw_i64(j, "exit", EXIT_REJECTED);
        jw_end(j);
    } else {
        report_print(r, f);
    }
    *out = (row){.path = path,
                 .name = "",
                 .trust = "",
                 .verdict = check_status_names[CHECK_REJECTED],
                 .findings = 1,
                 .exit_code = EXIT_REJECTED};
}

/* One bundle, into j or f; its results live in `own`, but the row's in `sc`. */
static void verify_opened(rp_err *e, row *out, scratch *sc, scratch *own, const options *o, const char *path,
                          jw *j, FILE *f)
{
    report *r = report_new(own);
    store *st = NULL;
    verify_result v;
    verify_options opt = o->shared.verify;
    if (!opt.envelope_given)
        opt.envelope_path = scratch_printf(own, "%s.dsse.json", path);
    if (!r || !opt.envelope_path)
        err_nomem(e);
    else if (store_open(e, &st, path)) {
        if (e->code == RP_INVALID && strncmp(finding_name(e->id), "container.", strlen("container.")))
            refuse_manifest(e, out, r, path, j, f);
        (void)err_file(e, path);
    } else if (!verify_bundle(e, &v, r, st, &opt)) {
        int code = exit_code_of(o, &v, r);
        if (j)
            print_json(j, path, &v, r, code);
        else
            print_text(f, &v, r);
        *out = (row){.path = path,
                     .name = scratch_strdup(sc, v.bundle->man->name),
                     .trust = scratch_strdup(sc, trust_text(own, &v)),
                     .verdict = check_status_names[report_verdict(r)],
                     .findings = r->fs.n,
                     .exit_code = code};
        if (!out->name || !out->trust)
            err_nomem(e);
    }
    store_free(st);
}

static void verify_one(rp_err *e, row *out, scratch *sc, const options *o, const char *path, jw *j, FILE *f)
{
    scratch *own = scratch_new(0);
    if (own)
        verify_opened(e, out, sc, own, o, path, j, f);
    else
        err_nomem(e);
    scratch_free(own);
}

static void print_rows(scratch *sc, const row *v, size_t n)
{
    text_table *t = text_table_new(sc, "lllrrl");
    static const char *const head[] = {"bundle", "verdict", "trust", "findings", "exit", "file"};
    size_t passed = 0;
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (size_t i = 0; i < n; i++) {
        text_cell(t, "%s", v[i].name);
        text_cell(t, "%s", v[i].verdict);
        text_cell(t, "%s", v[i].trust);
        text_cell(t, "%zu", v[i].findings);
        text_cell(t, "%d", v[i].exit_code);
        text_cell(t, "%s", v[i].path);
        passed += v[i].exit_code == EXIT_PASSED;
    }
    putchar('\n');
    text_table_print(t, stdout, "");
    printf("\n%zu bundles: %zu passed, %zu did not\n", n, passed, n - passed);
}

/* --- Many: a queue of bundles, a few threads, results in the order of the arguments. --- */

enum { THREADS_MAX = 8 };

typedef struct {
    row row;
    rp_err err;
    scratch *sc;
    char *text;
    size_t n;
    bool done;
} answer;

typedef struct {
    const options *o;
    const char *const *paths;
    answer *answers;
    size_t n, next;
    pthread_mutex_t lock;
    pthread_cond_t change;
} queue;

/* What one bundle gives, as text to be printed in its turn. */
static void work_one(queue *q, answer *b, const char *path)
{
    span text;
    b->sc = scratch_new(0);
    jw *j = q->o->json ? jw_new(JW_PRETTY) : NULL;
    FILE *f = q->o->json ? NULL : open_memstream(&b->text, &b->n);
    if (!b->sc || (!j && !f))
        err_nomem(&b->err);
    else
        verify_one(&b->err, &b->row, b->sc, q->o, path, j, f);
    if (f && fclose(f))
        err_nomem(&b->err);
    if (j && !b->err.code && !jw_finish(&b->err, &text, j)) {
        b->text = strndup((const char *)text.p, text.n);
        b->n = text.n;
        if (!b->text)
            err_nomem(&b->err);
    }
    jw_free(j);
}

static void *work(void *arg)
{
    queue *q = arg;
    pthread_mutex_lock(&q->lock);
    while (q->next < q->n) {
        size_t i = q->next++;
        pthread_mutex_unlock(&q->lock);
        work_one(q, &q->answers[i], q->paths[i]);
        pthread_mutex_lock(&q->lock);
        q->answers[i].done = true;
        pthread_cond_broadcast(&q->change);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* One value of the array, two levels deep: indented as if it had been written there. */
static void put_indented(jw *j, const char *text, size_t n)
{
    char *buf = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&buf, &bytes);
    while (n && text[n - 1] == '\n')
        n--;
    for (size_t i = 0; f && i < n; i++) {
        fputc(text[i], f);
        if (text[i] == '\n')
            fputs("    ", f);
    }
    if (f && !fclose(f))
        jw_raw(j, NULL, span_of(buf, bytes));
    free(buf);
}

/* No answer about one bundle is an answer about the others. */
static void put_error(jw *j, const answer *b, const char *path)
{
    jw_obj(j, NULL);
    jw_str(j, "bundle", path);
    jw_obj(j, "error");
    jw_str(j, "id", b->err.code == RP_INVALID ? finding_name(b->err.id) : "");
    jw_str(j, "file", b->err.file);
    jw_str(j, "at", b->err.where);
    jw_str(j, "message", b->err.msg);
    jw_end(j);
    jw_i64(j, "exit", b->row.exit_code);
    jw_end(j);
}

static void give_out(answer *b, scratch *sc, const char *path, jw *j, bool first)
{
    if (b->err.code) {
        b->row = (row){.path = path,
                       .name = "",
                       .trust = "",
                       .verdict = "error",
                       .exit_code = cli_error("verify", &b->err, false)};
        if (j)
            put_error(j, b, path);
    } else if (j) {
        put_indented(j, b->text, b->n);
    } else {
        printf("%s== %s\n", first ? "" : "\n", text_safe(sc, path));
        fwrite(b->text, 1, b->n, stdout);
    }
    free(b->text);
    b->text = NULL;
}

static int verify_many(rp_err *e, scratch *sc, const options *o, const char *const *paths, size_t n, jw *j)
{
    queue q = {.o = o, .paths = paths, .n = n, .answers = scratch_array(sc, n, sizeof *q.answers)};
    row *rows = scratch_array(sc, n, sizeof *rows);
    pthread_t threads[THREADS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t want = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (size_t)cpus, have = 0;
    int code = EXIT_PASSED;
    if (!q.answers || !rows) {
        err_nomem(e);
        return EXIT_UNREADABLE;
    }
    pthread_mutex_init(&q.lock, NULL);
    pthread_cond_init(&q.change, NULL);
    while (have < want && have < n && !pthread_create(&threads[have], NULL, work, &q))
        have++;
    if (!have)
        work(&q);
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&q.lock);
        while (!q.answers[i].done)
            pthread_cond_wait(&q.change, &q.lock);
        pthread_mutex_unlock(&q.lock);
        give_out(&q.answers[i], sc, paths[i], j, !i);
        rows[i] = q.answers[i].row;
        code = cli_worse(code, rows[i].exit_code);
    }
    for (size_t i = 0; i < have; i++)
        pthread_join(threads[i], NULL);
    if (!o->json)
        print_rows(sc, rows, n);
    for (size_t i = 0; i < n; i++)
        scratch_free(q.answers[i].sc);
    pthread_cond_destroy(&q.change);
    pthread_mutex_destroy(&q.lock);
    return code;
}

/* Compilers one at a time, whoever asks. */
static rp_code compile_in_turn(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted,
                               const char *name, span source, const char *const *args, uint64_t n_args)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    rp_code code = cli_compile(e, out, sc, ctx, trusted, name, source, args, n_args);
    pthread_mutex_unlock(&turn);
    return code;
}

static int verify_all(rp_err *e, scratch *sc, options *o, char *const *args, size_t n_args, jw *j)
{
    const char **paths;
    size_t n;
    if (targets_expand(e, &paths, &n, sc, args, n_args) || keys_read(e, &o->shared.keys, false))
        return EXIT_UNREADABLE;
    if (n > 1 && (o->shared.verify.envelope_given || o->shared.verify.attestation_path)) {
        err_set(e, RP_USAGE, "expected one bundle with --envelope or --attestation, found %zu", n);
        return EXIT_USAGE;
    }
    o->shared.verify.keys = o->shared.keys.v;
    o->shared.verify.n_keys = o->shared.keys.n;
    o->shared.verify.compile = compile_in_turn;
    o->shared.verify.compile_ctx = (void *)(uintptr_t)client_gpu_path(sc);
    if (n > 1)
        return verify_many(e, sc, o, paths, n, j);
    row one = {.exit_code = EXIT_PASSED};
    verify_one(e, &one, sc, o, paths[0], j, stdout);
    return one.exit_code;
}

int cmd_verify(int argc, char **argv)
{
    options o = {0};
    rp_err e = {0};
    int code = parse(&o, argc, argv);
    if (code)
        return code;
    scratch *sc = scratch_new(0);
    jw *j = o.json ? jw_new(JW_PRETTY) : NULL;
    code = EXIT_UNREADABLE;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-verdict/0");
    cli_tool_json(j);
    jw_arr(j, "results");
    if (!sc || (o.json && !j))
        err_nomem(&e);
    else
        code = verify_all(&e, sc, &o, argv + optind, (size_t)(argc - optind), j);
    if (e.code) {
        jw_free(j);
        code = cli_error("verify", &e, o.json);
    } else {
        jw_end(j);
        jw_i64(j, "exit", code);
        jw_end(j);
        code = o.json ? cli_print_json(j, code) : cli_finish(code);
    }
    keys_clear(&o.shared.keys);
    scratch_free(sc);
    return code;
}
