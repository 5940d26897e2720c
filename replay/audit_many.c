#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "replay/attested.h"
#include "replay/cli.h"

static bool holds(scratch *sc, const char *dir, const char *name)
{
    const char *path = file_join(sc, dir, name);
    return path && file_exists(path);
}

audit_kind audit_kind_of(scratch *sc, const char *dir)
{
    if (holds(sc, dir, "campaign.json"))
        return AUDIT_CAMPAIGN;
    return holds(sc, dir, "pair.json") ? AUDIT_PAIR : AUDIT_EVIDENCE;
}

/* below: trust is what kept it from a yes. */
static const char *conclusion(int code, const report *r, bool below)
{
    if (code == EXIT_PASSED)
        return "every claim holds";
    check_status s = report_verdict(r);
    if (code == EXIT_UNTRUSTED && s == CHECK_PASSED && below)
        return "every claim holds, and trust is below what was asked for";
    return s == CHECK_PASSED || s == CHECK_NUMERICAL ? "every claim holds, and not every run passed"
                                                     : "rejected";
}

/* --- A pair. --- */

const char *const audit_pair_not_rechecked[] = {
    "that the processes ran in the order recorded, and one at a time: no clock of theirs is in the evidence",
    NULL};

static void pair_json(jw *j, const pair_audited *p, const char *dir, const char *trust, int code)
{
    jw *own = jw_new(JW_COMPACT);
    rp_err e = {0};
    span text;
    jw_obj(j, NULL);
    jw_str(j, "evidence", dir);
    jw_str(j, "verdict", check_status_names[report_verdict(p->r)]);
    jw_str(j, "trust_evidence", trust);
    if (p->judged) {
        pair_write(own, &p->recomputed);
        if (!jw_finish(&e, &text, own))
            jw_raw(j, "pair", text);
    }
    jw_free(own);
    for (int i = 0; i < 2; i++) {
        jw_obj(j, i ? "b" : "a");
        report_json(j, p->side[i].r);
        jw_end(j);
    }
    jw_arr(j, "not_rechecked");
    jw_str(j, NULL, *audit_pair_not_rechecked);
    jw_end(j);
    report_json(j, p->r);
    jw_i64(j, "exit", code);
    jw_end(j);
}

static void pair_text(scratch *sc, const pair_audited *p, const char *trust, int code)
{
    for (int i = 0; i < 2; i++) {
        printf("-- %s\n", i ? "b" : "a");
        report_print(p->side[i].r, stdout);
    }
    puts("-- pair");
    report_print(p->r, stdout);
    if (p->judged) {
        putchar('\n');
        pair_print(stdout, sc, &p->recomputed);
    }
    printf("\nnot re-checked:\n  %s\n\naudit: %s; evidence %s\n", *audit_pair_not_rechecked,
           p->judged && p->recomputed.verdict == PAIR_REFUSED && report_verdict(p->r) == CHECK_PASSED
               ? "every claim holds, and the pair was refused"
               : conclusion(code, p->r, code != pair_audit_exit(p)),
           trust);
}

int audit_pair_print(rp_err *e, scratch *sc, const char *dir, const shared_options *o, jw *j)
{
    pair_audited *p = scratch_alloc(sc, sizeof *p);
    int code = EXIT_UNREADABLE;
    attested said;
    verify_options inner = attested_bundle_options(o);
    const char *trust;
    if (!p) {
        err_nomem(e);
        return code;
    }
    if (!pair_audit(e, p, sc, dir, &inner) && !attested_pair(e, &said, sc, dir, p) &&
        !attested_read(e, &trust, sc, dir, &said, o)) {
        code = attested_exit(o, trust, false, pair_audit_exit(p));
        if (j)
            pair_json(j, p, dir, trust, code);
        else
            pair_text(sc, p, trust, code);
    }
    pair_audit_clear(p);
    return code;
}

/* --- A campaign. --- */

static void whole_json(jw *j, scratch *sc, const campaign_audited *a, const char *dir, const char *trust,
                       int code)
{
    jw_obj(j, NULL);
    jw_str(j, "evidence", dir);
    jw_str(j, "verdict", check_status_names[report_verdict(a->r)]);
    jw_str(j, "trust_evidence", trust);
    campaign_json(j, sc, a);
    report_json(j, a->r);
    jw_i64(j, "exit", code);
    jw_end(j);
}

static void whole_text(scratch *sc, const campaign_audited *a, const char *trust, int code)
{
    putchar('\n');
    report_print(a->r, stdout);
    if (a->readable) {
        putchar('\n');
        campaign_table(stdout, sc, a->folders, a->n_folders);
        putchar('\n');
        campaign_print_figures(stdout, sc, &a->claimed, &a->recomputed);
    }
    printf("\naudit: %s; evidence %s; --json names the files that each figure comes from\n",
           conclusion(code, a->r, code != campaign_audit_exit(a)), trust);
}

int audit_campaign_print(rp_err *e, scratch *sc, const char *dir, const shared_options *o, jw *j)
{
    campaign_audited *a = scratch_alloc(sc, sizeof *a);
    int code = EXIT_UNREADABLE;
    attested said;
    verify_options inner = attested_bundle_options(o);
    const char *trust;
    if (!a) {
        err_nomem(e);
    } else if (!campaign_audit(e, a, sc, dir, &inner, j ? NULL : stdout) &&
               !attested_campaign(e, &said, sc, dir, a) && !attested_read(e, &trust, sc, dir, &said, o)) {
        code = attested_exit(o, trust, false, campaign_audit_exit(a));
        if (j)
            whole_json(j, sc, a, dir, trust, code);
        else
            whole_text(sc, a, trust, code);
    }
    return code;
}
