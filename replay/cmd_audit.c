#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/campaign.h"
#include "replay/cli.h"
#include "replay/summary.h"

static const char *verdict_words(const audited *a, int code)
{
    check_status s = report_verdict(a->r);
    if (s == CHECK_NOT_CHECKABLE)
        return "not all of it could be checked";
    if (s != CHECK_PASSED && s != CHECK_NUMERICAL)
        return "rejected";
    return code == EXIT_PASSED ? "every claim holds" : "every claim holds, and the run did not pass";
}

static void print_text(scratch *sc, const audited *a, int code)
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
    printf("\naudit: %s; evidence self-consistent unless signed, bundle %s\n", verdict_words(a, code),
           a->v.bundle ? trust_names[a->v.trust] : "unread");
}

static void print_json(jw *j, scratch *sc, const audited *a, const char *dir, int code)
{
    jw_obj(j, NULL);
    jw_str(j, "evidence", dir);
    jw_str(j, "verdict", check_status_names[report_verdict(a->r)]);
    jw_str(j, "trust_bundle", a->v.bundle ? trust_names[a->v.trust] : NULL);
    jw_str(j, "trust_evidence", "self-consistent");
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

static int audit_one(rp_err *e, const char *dir, const verify_options *opt, jw *j)
{
    scratch *sc = scratch_new(0);
    audited *a = sc ? scratch_alloc(sc, sizeof *a) : NULL;
    int code = EXIT_UNREADABLE;
    audit_kind kind = sc ? audit_kind_of(sc, dir) : AUDIT_EVIDENCE;
    if (!a) {
        err_nomem(e);
    } else if (kind != AUDIT_EVIDENCE && opt->root) {
        err_set(e, RP_USAGE, "--root pins one bundle, and this folder holds several");
        err_file(e, dir);
    } else if (kind != AUDIT_EVIDENCE) {
        code = kind == AUDIT_PAIR ? audit_pair_print(e, sc, dir, opt, j)
                                  : audit_campaign_print(e, sc, dir, opt, j);
    } else if (!audit_folder(e, a, sc, dir, opt)) {
        code = audit_exit(a);
        if (j)
            print_json(j, sc, a, dir, code);
        else
            print_text(sc, a, code);
    }
    if (a)
        audit_clear(a);
    scratch_free(sc);
    return code;
}

int cmd_audit(int argc, char **argv)
{
    static const struct option longs[] = {
        {"root", required_argument, NULL, 'r'}, {"json", no_argument, NULL, 'j'}, {0}};
    const char *root = NULL;
    bool json = false;
    int c, code = EXIT_PASSED;
    digest d;
    rp_err e = {0};
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'r')
            root = optarg;
        else if (c == 'j')
            json = true;
        else
            return cli_bad_option("audit", argv);
    }
    if (root && !digest_parse_root(root, &d))
        return cli_usage(
            "audit", "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"", root);
    if (optind == argc)
        return cli_usage("audit", "expected a folder of evidence");
    scratch *sc = scratch_new(0);
    verify_options opt = {.root = root,
                          .compile = cli_compile,
                          .compile_ctx = sc ? (void *)(uintptr_t)client_gpu_path(sc) : NULL};
    if (!opt.compile_ctx)
        err_nomem(&e);
    jw *j = json ? jw_new(JW_PRETTY) : NULL;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-audit/0");
    cli_tool_json(j);
    jw_arr(j, "results");
    for (int i = optind; i < argc && !e.code; i++) {
        if (argc - optind > 1 && !json)
            printf("== %s\n", text_safe(sc, argv[i]));
        code = cli_worse(code, audit_one(&e, argv[i], &opt, j));
    }
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
