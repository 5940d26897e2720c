/* Attesting: a statement that says what `replay` found about a bundle or a run, whatever that is. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "artifacts/statement.h"
#include "artifacts/zs.h"
#include "gpu/client.h"
#include "replay/attested.h"
#include "replay/cli.h"
#include <libgen.h>
#include <stdio.h>
#include <time.h>

typedef struct {
    const char *target, *out;
    shared_options shared;
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
    jw *j = jw_new(o->shared.keys.n ? JW_COMPACT : JW_PRETTY);
    if (!write_statement(e, &text, j, sc, f) &&
        (!o->shared.keys.n ||
         !dsse_write(e, &text, sc, STATEMENT_PAYLOAD_TYPE, text, o->shared.keys.v, o->shared.keys.n, NULL)))
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
    } else if (!e->code && !verify_bundle(e, &v, f.r, st, &o->shared.verify)) {
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

static rp_code write_about(rp_err *e, scratch *sc, const options *o, const attested *a,
                           const char *const *not_rechecked, const char *run)
{
    finding_of f = {.about = a->facts.about,
                    .trust = a->trust,
                    .verdict = a->facts.verdict,
                    .r = a->r,
                    .n_subjects = a->facts.n_subjects,
                    .not_rechecked = not_rechecked,
                    .exit_code = a->facts.exit_code};
    if (!f.n_subjects) {
        err_set(e, RP_IO,
                "expected SHA256SUMS or bundle/manifest.json to name what this is about, found neither");
        return err_file(e, o->target);
    }
    memcpy(f.subjects, a->subjects, sizeof f.subjects);
    if (run)
        read_environment(&f, sc, run);
    return write_out(e, sc, o, &f);
}

static rp_code about_run(rp_err *e, scratch *sc, const options *o)
{
    attested said;
    audited *a = scratch_alloc(sc, sizeof *a);
    if (!a)
        return err_nomem(e);
    if (!audit_folder(e, a, sc, o->target, &o->shared.verify) && !attested_run(e, &said, sc, o->target, a))
        (void)!write_about(e, sc, o, &said, audit_not_rechecked(sc, a), o->target);
    audit_clear(a);
    return e->code;
}

static rp_code about_pair(rp_err *e, scratch *sc, const options *o)
{
    attested said;
    pair_audited *p = scratch_alloc(sc, sizeof *p);
    if (!p)
        return err_nomem(e);
    if (!pair_audit(e, p, sc, o->target, &o->shared.verify) && !attested_pair(e, &said, sc, o->target, p))
        (void)!write_about(e, sc, o, &said, audit_pair_not_rechecked, NULL);
    pair_audit_clear(p);
    return e->code;
}

static rp_code about_campaign(rp_err *e, scratch *sc, const options *o)
{
    attested said;
    campaign_audited *a = scratch_alloc(sc, sizeof *a);
    if (!a)
        return err_nomem(e);
    if (!campaign_audit(e, a, sc, o->target, &o->shared.verify, NULL) &&
        !attested_campaign(e, &said, sc, o->target, a))
        (void)!write_about(e, sc, o, &said, NULL, NULL);
    return e->code;
}

static rp_code about_evidence(rp_err *e, scratch *sc, const options *o)
{
    audit_kind kind = audit_kind_of(sc, o->target);
    if (kind != AUDIT_EVIDENCE && o->shared.verify.root) {
        err_set(e, RP_USAGE, "--root pins one bundle, and this folder holds several");
        return err_file(e, o->target);
    }
    return kind == AUDIT_PAIR       ? about_pair(e, sc, o)
           : kind == AUDIT_CAMPAIGN ? about_campaign(e, sc, o)
                                    : about_run(e, sc, o);
}

static int parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {OPTIONS_ROOT,
                                          OPTIONS_CAPTURE,
                                          OPTIONS_KEY,
                                          OPTIONS_LIMITS,
                                          {"quick", no_argument, NULL, 'q'},
                                          {"json", no_argument, NULL, 'j'},
                                          {0}};
    int c, code, at = 0;
    while ((c = getopt_long(argc, argv, "o:", longs, &at)) != -1) {
        if (c == 'o')
            o->out = optarg;
        else if (c == 'q')
            o->shared.verify.quick = true;
        else if (c == 'j')
            o->json = true;
        else if (c == '?')
            return cli_bad_option("attest", argv);
        else if ((code = options_take("attest", &o->shared, c, longs[at].name)))
            return code;
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
    o.shared.verify.compile = cli_compile;
    o.shared.verify.compile_ctx = sc ? (void *)(uintptr_t)client_gpu_path(sc) : NULL;
    if (!sc)
        err_nomem(&e);
    else if (!keys_read(&e, &o.shared.keys, true))
        (void)!(file_is_dir(o.target) ? about_evidence(&e, sc, &o) : about_bundle(&e, sc, &o));
    if (e.code)
        code = cli_error("attest", &e, o.json);
    else if (o.json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-attested/0");
        cli_tool_json(j);
        jw_str(j, "target", o.target);
        jw_str(j, "statement", o.out);
        jw_bool(j, "signed", o.shared.keys.n > 0);
        jw_end(j);
        code = cli_print_json(j, code);
    } else {
        printf("%s%s\n", text_safe(sc, o.out), o.shared.keys.n ? "" : ", not signed");
    }
    keys_clear(&o.shared.keys);
    scratch_free(sc);
    return code ? code : cli_finish(code);
}
