#include "replay/attested.h"
#include "artifacts/base/file.h"
#include "replay/cli.h"
#include "replay/evidence.h"

static rp_code about(rp_err *e, attested *out, scratch *sc, const char *dir, const char *what, report *r,
                     const char *verdict, int code)
{
    uint64_t bytes;
    const char *sums = file_join(sc, dir, evidence_sums_name);
    *out = (attested){.r = r, .trust = ""};
    out->facts = (attested_facts){.about = what,
                                  .subjects = out->subjects,
                                  .whole = evidence_sums_name,
                                  .verdict = verdict,
                                  .exit_code = code};
    if (!sums)
        return err_nomem(e);
    if (!file_exists(sums))
        return RP_OK;
    out->subjects[0].name = evidence_sums_name;
    out->facts.n_subjects = 1;
    return digest_file(e, &out->subjects[0].sha256, &bytes, sums);
}

rp_code attested_run(rp_err *e, attested *out, scratch *sc, const char *dir, const audited *a)
{
    int code = audit_exit(a);
    const char *verdict = check_status_names[report_verdict(a->r)];
    if (cli_verdict_exit(a->r) == EXIT_PASSED && a->j)
        verdict = phase_status_names[record_status(&a->recomputed, a->j)];
    if (about(e, out, sc, dir, "run", a->r, verdict, code))
        return e->code;
    out->trust = a->v.bundle ? trust_names[a->v.trust] : "unread";
    if (a->v.bundle)
        out->subjects[out->facts.n_subjects++] =
            (statement_subject){.name = "bundle/" MANIFEST_PATH, .sha256 = a->v.bundle->man->root};
    return RP_OK;
}

/* A folder of several has one exit code; its word follows from it. */
static const char *verdict_of_several(const report *r, int code)
{
    check_status s = report_verdict(r);
    if (s != CHECK_PASSED)
        return check_status_names[s];
    return code == EXIT_PASSED      ? check_status_names[CHECK_PASSED]
           : code == EXIT_NUMERICAL ? check_status_names[CHECK_NUMERICAL]
           : code == EXIT_UNTRUSTED ? check_status_names[CHECK_NOT_CHECKABLE]
           : code == EXIT_REJECTED  ? check_status_names[CHECK_REJECTED]
                                    : phase_status_names[PHASE_UNAVAILABLE];
}

rp_code attested_pair(rp_err *e, attested *out, scratch *sc, const char *dir, const pair_audited *p)
{
    int code = pair_audit_exit(p);
    return about(e, out, sc, dir, "pair", p->r, verdict_of_several(p->r, code), code);
}

rp_code attested_campaign(rp_err *e, attested *out, scratch *sc, const char *dir, const campaign_audited *a)
{
    int code = campaign_audit_exit(a);
    return about(e, out, sc, dir, "campaign", a->r, verdict_of_several(a->r, code), code);
}

/* DIR.dsse.json, whether DIR was given with slashes behind it or not. */
static const char *beside(scratch *sc, const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return scratch_printf(sc, "%.*s.dsse.json", (int)n, dir);
}

rp_code attested_read(rp_err *e, const char **trust, scratch *sc, const char *dir, const attested *a,
                      const shared_options *o)
{
    bool is_signed = false;
    verify_options opt = o->verify;
    *trust = trust_names[TRUST_SELF_CONSISTENT];
    opt.keys = o->keys.v;
    opt.n_keys = o->keys.n;
    if (!opt.attestation_path && !opt.n_keys)
        return RP_OK;
    if (!opt.attestation_path && !(opt.attestation_path = beside(sc, dir)))
        return err_nomem(e);
    if (!verify_attested_evidence(e, a->r, &is_signed, &a->facts, &opt) && is_signed)
        *trust = trust_names[TRUST_SIGNED];
    return e->code;
}

verify_options attested_bundle_options(const shared_options *o)
{
    verify_options v = o->verify;
    v.attestation_path = NULL;
    return v;
}

int attested_exit(const shared_options *o, const char *trust, bool pinned, int code)
{
    bool below = (o->require == REQUIRE_SIGNED && strcmp(trust, trust_names[TRUST_SIGNED])) ||
                 (o->require == REQUIRE_PINNED && !pinned);
    return code == EXIT_PASSED && below ? EXIT_UNTRUSTED : code;
}
