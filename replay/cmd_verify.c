#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/cli.h"
#include "replay/targets.h"

typedef enum { REQUIRE_NOTHING, REQUIRE_PINNED, REQUIRE_COMPLETE } requirement;
static const char *const requirement_names[] = {"", "pinned", "complete", NULL};

typedef struct {
    verify_options opt;
    requirement require;
    bool json;
} options;

typedef struct {
    const char *path, *name, *trust, *verdict;
    size_t findings;
    int exit_code;
} row;

static bool parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"root", required_argument, NULL, 'r'},    {"capture", required_argument, NULL, 'c'},
                                          {"require", required_argument, NULL, 'q'}, {"quick", no_argument, NULL, 'k'},
                                          {"json", no_argument, NULL, 'j'},          {0}};
    int c;
    digest d;
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'r') {
            if (!digest_parse_root(optarg, &d)) {
                cli_usage("verify", "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"", optarg);
                return false;
            }
            o->opt.root = optarg;
        } else if (c == 'c') {
            o->opt.capture_path = optarg;
        } else if (c == 'q') {
            int i = 1;
            while (requirement_names[i] && strcmp(requirement_names[i], optarg))
                i++;
            if (!requirement_names[i]) {
                cli_usage("verify", "expected --require pinned or complete, found \"%.40s\"", optarg);
                return false;
            }
            o->require = (requirement)i;
        } else if (c == 'k') {
            o->opt.quick = true;
        } else if (c == 'j') {
            o->json = true;
        } else {
            cli_bad_option("verify", argv);
            return false;
        }
    }
    return true;
}

/* Trust below what was asked for, or a required check without an answer, turns a yes into EXIT_UNTRUSTED. */
static int exit_code_of(const options *o, const verify_result *v, const report *r)
{
    int code = cli_verdict_exit(r);
    bool supplementary = false;
    for (size_t i = 0; i < r->n; i++)
        supplementary |= r->v[i].status == CHECK_NOT_CHECKABLE;
    if (code == EXIT_PASSED && o->require == REQUIRE_PINNED && v->trust != TRUST_PINNED)
        return EXIT_UNTRUSTED;
    if (code == EXIT_PASSED && o->require == REQUIRE_COMPLETE && (supplementary || v->bundle->man->n_omitted))
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

static const char *trust_text(scratch *sc, const verify_result *v)
{
    if (v->trust != TRUST_CAPTURE_MATCHED)
        return trust_names[v->trust];
    const char *s = scratch_printf(sc, "%s (%llu of %llu)", trust_names[v->trust], (unsigned long long)v->matched, (unsigned long long)v->of);
    return s ? s : "";
}

static void print_text(const verify_result *v, report *r)
{
    char hex[DIGEST_HEX];
    report_print(r, stdout);
    printf("\n%s: %s, trust: %s, %zu findings", text_safe(r->sc, v->bundle->man->name), check_status_names[report_verdict(r)],
           trust_text(r->sc, v), r->fs.n);
    if (v->has_signature) {
        digest_hex(v->signature, hex);
        printf("\nplan signature sha256:%s", hex);
    }
    putchar('\n');
}

/* A manifest was reached and breaks a rule: an answered no, not an unreadable argument. */
static int refuse_manifest(rp_err *e, row *out, report *r, const char *path, jw *j)
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
        report_print(r, stdout);
    }
    *out = (row){.path = path, .name = "", .trust = "", .verdict = check_status_names[CHECK_REJECTED], .findings = 1, .exit_code = EXIT_REJECTED};
    return EXIT_REJECTED;
}

/* One bundle; its results live in its own scratch, but the row's in `sc`. */
static int verify_one(rp_err *e, row *out, scratch *sc, const options *o, const char *path, jw *j)
{
    scratch *own = scratch_new(0);
    report *r = own ? report_new(own) : NULL;
    store *st = NULL;
    verify_result v;
    int code = EXIT_BUG;
    if (!r)
        err_nomem(e);
    else if (store_open(e, &st, path)) {
        if (e->code == RP_INVALID && strncmp(finding_name(e->id), "container.", strlen("container.")))
            code = refuse_manifest(e, out, r, path, o->json ? j : NULL);
    } else if (!verify_bundle(e, &v, r, st, &o->opt)) {
        code = exit_code_of(o, &v, r);
        if (o->json)
            print_json(j, path, &v, r, code);
        else
            print_text(&v, r);
        *out = (row){.path = path,
                     .name = scratch_strdup(sc, v.bundle->man->name),
                     .trust = scratch_strdup(sc, trust_text(own, &v)),
                     .verdict = check_status_names[report_verdict(r)],
                     .findings = r->fs.n,
                     .exit_code = code};
    }
    store_free(st);
    scratch_free(own);
    return code;
}

static void print_rows(scratch *sc, const row *v, size_t n)
{
    text_table *t = text_table_new(sc, "lllrrl");
    static const char *const head[] = {"bundle", "verdict", "trust", "findings", "exit", "file"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (size_t i = 0; i < n; i++) {
        text_cell(t, "%s", v[i].name);
        text_cell(t, "%s", v[i].verdict);
        text_cell(t, "%s", v[i].trust);
        text_cell(t, "%zu", v[i].findings);
        text_cell(t, "%d", v[i].exit_code);
        text_cell(t, "%s", v[i].path);
    }
    putchar('\n');
    text_table_print(t, stdout, "");
}

int cmd_verify(int argc, char **argv)
{
    options o = {0};
    rp_err e = {0};
    const char **paths;
    size_t n;
    int code = EXIT_PASSED;
    if (!parse(&o, argc, argv))
        return EXIT_USAGE;
    scratch *sc = scratch_new(0);
    if (!sc || targets_expand(&e, &paths, &n, sc, argv + optind, (size_t)(argc - optind))) {
        code = sc ? cli_error("verify", &e, o.json) : EXIT_UNREADABLE;
        scratch_free(sc);
        return code;
    }
    const char *worker = client_gpu_path(sc);
    o.opt.compile = cli_compile;
    o.opt.compile_ctx = (void *)(uintptr_t)worker;
    jw *j = o.json ? jw_new(JW_PRETTY) : NULL;
    row *rows = scratch_array(sc, n, sizeof *rows);
    if (!rows)
        err_nomem(&e);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-verdict/0");
    cli_tool_json(j);
    jw_arr(j, "results");
    for (size_t i = 0; i < n && !e.code; i++) {
        if (n > 1 && !o.json)
            printf("%s== %s\n", i ? "\n" : "", text_safe(sc, paths[i]));
        code = cli_worse(code, verify_one(&e, &rows[i], sc, &o, paths[i], j));
    }
    if (e.code) {
        jw_free(j);
        code = cli_error("verify", &e, o.json);
    } else {
        if (n > 1 && !o.json)
            print_rows(sc, rows, n);
        jw_end(j);
        jw_i64(j, "exit", code);
        jw_end(j);
        code = o.json ? cli_print_json(j, code) : cli_finish(code);
    }
    scratch_free(sc);
    return code;
}
