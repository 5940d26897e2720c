/* What is attested about audited evidence, by `attest` when it writes and by `audit` when it reads back: the
 * same words for the same folder. */
#ifndef REPLAY_ATTESTED_H
#define REPLAY_ATTESTED_H

#include "replay/campaign.h"
#include "replay/options.h"
#include "verify/trust.h"

typedef struct {
    attested_facts facts;
    statement_subject subjects[2];
    report *r;         /* of the folder's own */
    const char *trust; /* of the bundle, or "" */
} attested;

/* A folder of evidence, a pair, a campaign, audited. SHA256SUMS and, of a run, the retained bundle's manifest
 * are the subjects; either may be absent. */
RP_MUST rp_code attested_run(rp_err *e, attested *out, scratch *sc, const char *dir, const audited *a);
RP_MUST rp_code attested_pair(rp_err *e, attested *out, scratch *sc, const char *dir, const pair_audited *p);
RP_MUST rp_code attested_campaign(rp_err *e, attested *out, scratch *sc, const char *dir,
                                  const campaign_audited *a);

/* Read the statement back where one was named or keys were: at --attestation, else DIR.dsse.json beside the
 * folder. *trust: "signed" or "self-consistent". */
RP_MUST rp_code attested_read(rp_err *e, const char **trust, scratch *sc, const char *dir, const attested *a,
                              const shared_options *o);
/* The options for the checks of the retained bundle: what the keys and the statement are for is the evidence.
 */
verify_options attested_bundle_options(const shared_options *o);
/* The exit code with --require: EXIT_UNTRUSTED instead of a yes below what was asked for. */
int attested_exit(const shared_options *o, const char *trust, bool pinned, int code);

#endif
