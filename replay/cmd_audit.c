#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/attested.h"
#include "replay/cli.h"
#include "replay/summary.h"

static const char *verdict_words(const audited *a, int code)
{
    check_status s = report_verdict(a->r);
    if (s == CHECK_NOT_CHECKABLE)
        return "not all of it could be checked";
    if (s != CHECK_PASSED && s != CHECK_NUMERICAL)
        return "rejected";
    return code == EXIT_PASSED      ? "every claim holds"
           : code == EXIT_UNTRUSTED ? "every claim holds, and trust is below what was asked for"
                                    : "every claim holds, and the run did not pass";
}

static void print_text(scratch *sc, const audited *a, const char *trust, int code)
{
    report_print(a->r, stdout);
    if (a->l) {
        putchar('\n');
        summary_print(stdout, sc, &a->recomputed, a->j, a->l);
    }
    puts("\nnot re-checked:");
    const char *const *v = audit_not_rechecked(sc, a);
    for (size_t i = 0; v && v[i]; i++)
        printf("  %s\n", text_safe(sc, v[i]));
    printf("\naudit: %s; evidence %s, bundle %s\n", verdict_words(a, code), trust,
           a->v.bundle ? trust_names[a->v.trust] : "unread");
}

static void print_json(jw *j, scratch *sc, const audited *a, const char *dir, const char *trust, int code)
{
    jw_obj(j, NULL);
    jw_str(j, "evidence", dir);
    jw_str(j, "verdict", check_status_names[report_verdict(a->r)]);
    jw_str(j, "trust_bundle", a->v.bundle ? trust_names[a->v.trust] : NULL);
    jw_str(j, "trust_evidence", trust);
    if (a->l)
        summary_json(j, sc, &a->recomputed, a->j, a->l);
    jw_arr(j, "not_rechecked");
    const char *const *v = audit_not_rechecked(sc, a);
    for (size_t i = 0; v && v[i]; i++)
        jw_str(j, NULL, v[i]);
    jw_end(j);
    report_json(j, a->r);
    jw_i64(j, "exit", code);
    jw_end(j);
}

static int audit_one(rp_err *e, const char *dir, const shared_options *o, jw *j)
{
    scratch *sc = scratch_new(0);
    audited *a = sc ? scratch_alloc(sc, sizeof *a) : NULL;
    attested said;
    verify_options inner = attested_bundle_options(o);
    const char *trust;
    int code = EXIT_UNREADABLE;
    audit_kind kind = sc ? audit_kind_of(sc, dir) : AUDIT_EVIDENCE;
    if (!a) {
        err_nomem(e);
    } else if (kind != AUDIT_EVIDENCE && o->verify.root) {
        err_set(e, RP_USAGE, "--root pins one bundle, and this folder holds several");
        err_file(e, dir);
    } else if (kind != AUDIT_EVIDENCE) {
        code =
            kind == AUDIT_PAIR ? audit_pair_print(e, sc, dir, o, j) : audit_campaign_print(e, sc, dir, o, j);
    } else if (!audit_folder(e, a, sc, dir, &inner) && !attested_run(e, &said, sc, dir, a) &&
               !attested_read(e, &trust, sc, dir, &said, o)) {
        code = attested_exit(o, trust, a->v.pinned, audit_exit(a));
        a->is_signed = !strcmp(trust, trust_names[TRUST_SIGNED]);
        if (j)
            print_json(j, sc, a, dir, trust, code);
        else
            print_text(sc, a, trust, code);
    }
    if (a)
        audit_clear(a);
    scratch_free(sc);
    return code;
}

static int parse(shared_options *o, bool *json, int argc, char **argv)
{
    static const struct option longs[] = {
        OPTIONS_ROOT, OPTIONS_SIGNED, OPTIONS_LIMITS, {"json", no_argument, NULL, 'j'}, {0}};
    int c, code, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == '?')
            return cli_bad_option("audit", argv);
        if (c == 'j')
            *json = true;
        else if ((code = options_take("audit", o, c, longs[at].name)))
            return code;
    }
    if (o->require == REQUIRE_COMPLETE)
        return cli_usage("audit", "expected --require pinned or signed: evidence always omits something");
    if (optind == argc)
        return cli_usage("audit", "expected a folder of evidence");
    if (argc - optind > 1 && o->verify.attestation_path)
        return cli_usage("audit", "expected one folder with --attestation, found %d", argc - optind);
    return options_agree("audit", o);
}

int cmd_audit(int argc, char **argv)
{
    shared_options o = {0};
    bool json = false;
    rp_err e = {0};
    int code = parse(&o, &json, argc, argv);
    if (code)
        return code;
    scratch *sc = scratch_new(0);
    o.verify.compile = cli_compile;
    o.verify.compile_ctx = sc ? (void *)(uintptr_t)client_gpu_path(sc) : NULL;
    if (!o.verify.compile_ctx)
        err_nomem(&e);
    else
        (void)!keys_read(&e, &o.keys, false);
    jw *j = json ? jw_new(JW_PRETTY) : NULL;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-audit/0");
    cli_tool_json(j);
    jw_arr(j, "results");
    for (int i = optind; i < argc && !e.code; i++) {
        if (argc - optind > 1 && !json)
            printf("== %s\n", text_safe(sc, argv[i]));
        code = cli_worse(code, audit_one(&e, argv[i], &o, j));
    }
    keys_clear(&o.keys);
    scratch_free(sc);
    if (e.code) {
        jw_free(j);
        return cli_error("audit", &e, json);
    }
    jw_end(j);
    jw_i64(j, "exit", code);
    jw_end(j);
    return json ? cli_print_json(j, code) : cli_finish(code);
}
