/* Trust: what of the bundle was compared with something that came from outside it. docs/threat-model.md says
 * what each level then means. */
#ifndef VERIFY_TRUST_H
#define VERIFY_TRUST_H

#include "artifacts/statement.h"
#include "verify/verify.h"

/* Checks `trust.capture`, `trust.signature` and `trust`; fills trust, pinned, is_signed, matched, of. */
RP_MUST rp_code verify_trust(rp_err *e, report *r, verify_result *out, const verify_options *opt);
/* Check `trust.attestation`, after all others: what the statement at opt->attestation_path says about this
 * bundle. */
RP_MUST rp_code verify_attestation(rp_err *e, report *r, const verify_result *v, const verify_options *opt);

/* What a statement about evidence has to say to be about this evidence, and what was found about it now. */
typedef struct {
    const char *about;                 /* "run", "pair", "campaign" */
    const statement_subject *subjects; /* those a statement may name, by name */
    size_t n_subjects;
    const char *whole; /* the one that stands for all files, which it must name */
    const char *verdict;
    int exit_code;
} attested_facts;

/* Check `trust.attestation`, after all others: the statement at opt->attestation_path against the facts.
 * *is_signed: by as many of opt's keys as its threshold asks for, and nothing that it says differs. */
RP_MUST rp_code verify_attested_evidence(rp_err *e, report *r, bool *is_signed, const attested_facts *facts,
                                         const verify_options *opt);

#endif
