/* Attesting: a statement that says what `replay` found about a bundle or a run, whatever that is. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "artifacts/statement.h"
#include "artifacts/zs.h"
#include "gpu/client.h"
#include "replay/audit.h"
#include "replay/cli.h"
#include "replay/keys.h"
#include <libgen.h>
#include <stdio.h>
#include <time.h>

typedef struct {
    const char *target, *out;
    keys keys;
    verify_options opt;
    bool json;
} options;

/* What there is to say, before it is written. */
typedef struct {
    statement_subject subjects[2];
    size_t n_subjects;
    const char *about, *trust, *verdict;
    report *r;
    const char *const *not_rechecked;
    span environment; /* of the run, as retained */
    int exit_code;
} finding_of;

static const char *now_text(scratch *sc)
{
    struct tm tm;
    char text[32] = "";
    time_t t = time(NULL);
    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return scratch_strdup(sc, text);
}

static void write_environment(jw *j, scratch *sc, const finding_of *f)
{
    jw_obj(j, "environment");
    jw_str(j, "time", now_text(sc));
    jw_str(j, "json", js_library());
    jw_str(j, "openssl", digest_library());
    jw_str(j, "zstd", zs_library());
    if (f->environment.p)
        jw_raw(j, "run", f->environment);
    jw_end(j);
}

static rp_code write_statement(rp_err *e, span *out, jw *j, scratch *sc, const finding_of *f)
{
    statement_begin(j, f->subjects, f->n_subjects, STATEMENT_VERDICT);
    jw_str(j, "format", STATEMENT_VERDICT_FORMAT);
    cli_tool_json(j);
    jw_str(j, "about", f->about);
    jw_str(j, "verdict", f->verdict);
    jw_i64(j, "exit", f->exit_code);
    jw_str(j, "trust", f->trust);
    report_json(j, f->r);
    jw_arr(j, "not_rechecked");
    for (size_t i = 0; f->not_rechecked && f->not_rechecked[i]; i++)
        jw_str(j, NULL, f->not_rechecked[i]);
    jw_end(j);
    write_environment(j, sc, f);
    statement_end(j);
    return jw_finish(e, out, j);
}

static rp_code write_out(rp_err *e, scratch *sc, const options *o, const finding_of *f)
{
    span text;
    jw *j = jw_new(o->keys.n ? JW_COMPACT : JW_PRETTY);
    if (!write_statement(e, &text, j, sc, f) &&
        (!o->keys.n || !dsse_write(e, &text, sc, STATEMENT_PAYLOAD_TYPE, text, o->keys.v, o->keys.n, NULL)))
        (void)!file_write(e, o->out, text);
    jw_free(j);
    return e->code;
}

/* An archive in which no manifest was reached, or whose manifest is refused, is known by its own bytes. */
static rp_code subject_of_file(rp_err *e, finding_of *f, scratch *sc, const char *path)
{
    uint64_t bytes;
    char *copy = scratch_strdup(sc, path);
    if (!copy)
        return err_nomem(e);
    f->subjects[0].name = basename(copy);
    f->n_subjects = 1;
    return digest_file(e, &f->subjects[0].sha256, &bytes, path);
}

static rp_code about_bundle(rp_err *e, scratch *sc, const options *o)
{
    finding_of f = {.about = "bundle", .trust = trust_names[TRUST_SELF_CONSISTENT], .r = report_new(sc)};
    store *st = NULL;
    verify_result v;
    if (!f.r)
        return err_nomem(e);
    if (store_open(e, &st, o->target) == RP_INVALID) {
        report_begin(f.r, "container", true);
        err_to_finding(e, &f.r->fs);
        report_end(f.r, "manifest.json");
        (void)!subject_of_file(e, &f, sc, o->target);
    } else if (!e->code && !verify_bundle(e, &v, f.r, st, &o->opt)) {
        f.trust = trust_names[v.trust];
        f.subjects[0] = (statement_subject){.name = MANIFEST_PATH, .sha256 = v.bundle->man->root};
        f.n_subjects = 1;
    }
    if (!e->code) {
        f.verdict = check_status_names[report_verdict(f.r)];
        f.exit_code = cli_verdict_exit(f.r);
        (void)!write_out(e, sc, o, &f);
    }
    store_free(st);
    return e->code;
}

/* The run's own account of its environment, where it is JSON at all. */
static void read_environment(finding_of *f, scratch *sc, const char *dir)
{
    rp_err ignored = {0};
    js_node *v;
    span text;
    const char *path = file_join(sc, dir, "environment.json");
    if (path && !file_read(&ignored, &text, sc, path, JS_MAX_BYTES) &&
        !js_parse(&ignored, &v, sc, "environment.json", text)) {
        while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
            text.n--;
        f->environment = text;
    }
}

static rp_code about_run(rp_err *e, scratch *sc, const options *o)
{
    finding_of f = {.about = "run"};
    uint64_t bytes;
    const char *sums = file_join(sc, o->target, "SHA256SUMS");
    audited *a = scratch_alloc(sc, sizeof *a);
    if (!sums || !a)
        return err_nomem(e);
    if (audit_folder(e, a, sc, o->target, &o->opt))
        goto out;
    if (file_exists(sums)) {
        f.subjects[f.n_subjects].name = "SHA256SUMS";
        if (digest_file(e, &f.subjects[f.n_subjects++].sha256, &bytes, sums))
            goto out;
    }
    if (a->v.bundle)
        f.subjects[f.n_subjects++] =
            (statement_subject){.name = "bundle/" MANIFEST_PATH, .sha256 = a->v.bundle->man->root};
    if (!f.n_subjects) {
        err_set(e, RP_IO,
                "expected SHA256SUMS or bundle/manifest.json to name what this is about, found neither");
        err_file(e, o->target);
        goto out;
    }
    f.r = a->r;
    f.trust = a->v.bundle ? trust_names[a->v.trust] : "unread";
    f.verdict = check_status_names[report_verdict(a->r)];
    f.exit_code = cli_verdict_exit(a->r);
    if (f.exit_code == EXIT_PASSED && a->j) {
        f.exit_code = status_exit(judgement_status(a->j));
        f.verdict = phase_status_names[judgement_status(a->j)];
    }
    f.not_rechecked = audit_not_rechecked(sc, a);
    read_environment(&f, sc, o->target);
    (void)!write_out(e, sc, o, &f);
out:
    audit_clear(a);
    return e->code;
}

static int parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {
        {"key", required_argument, NULL, 'k'},     {"root", required_argument, NULL, 'r'},
        {"capture", required_argument, NULL, 'c'}, {"quick", no_argument, NULL, 'q'},
        {"json", no_argument, NULL, 'j'},          {0}};
    digest d;
    int c;
    while ((c = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
        if (c == 'k' && !keys_name(&o->keys, optarg))
            return cli_usage("attest", "expected at most %d keys", DSSE_MAX_KEYS);
        if (c == 'r' && !digest_parse_root(optarg, &d))
            return cli_usage("attest",
                             "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"",
                             optarg);
        if (c == 'o')
            o->out = optarg;
        else if (c == 'r')
            o->opt.root = optarg;
        else if (c == 'c')
            o->opt.capture_path = optarg;
        else if (c == 'q')
            o->opt.quick = true;
        else if (c == 'j')
            o->json = true;
        else if (c != 'k')
            return cli_bad_option("attest", argv);
    }
    if (argc - optind != 1 || !o->out)
        return cli_usage("attest", "expected one bundle or folder of evidence, and -o FILE");
    o->target = argv[optind];
    return EXIT_PASSED;
}

int cmd_attest(int argc, char **argv)
{
    options o = {0};
    rp_err e = {0};
    int code = parse(&o, argc, argv);
    if (code)
        return code;
    scratch *sc = scratch_new(0);
    o.opt.compile = cli_compile;
    o.opt.compile_ctx = sc ? (void *)(uintptr_t)client_gpu_path(sc) : NULL;
    if (!sc)
        err_nomem(&e);
    else if (!keys_read(&e, &o.keys, true))
        (void)!(file_is_dir(o.target) ? about_run(&e, sc, &o) : about_bundle(&e, sc, &o));
    if (e.code)
        code = cli_error("attest", &e, o.json);
    else if (o.json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-attested/0");
        cli_tool_json(j);
        jw_str(j, "target", o.target);
        jw_str(j, "statement", o.out);
        jw_bool(j, "signed", o.keys.n > 0);
        jw_end(j);
        code = cli_print_json(j, code);
    } else {
        printf("%s%s\n", text_safe(sc, o.out), o.keys.n ? "" : ", not signed");
    }
    keys_clear(&o.keys);
    scratch_free(sc);
    return code ? code : cli_finish(code);
}
