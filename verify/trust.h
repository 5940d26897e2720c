/* Trust: what of the bundle was compared with something that came from outside it. docs/threat-model.md says
 * what each level then means. */
#ifndef VERIFY_TRUST_H
#define VERIFY_TRUST_H

#include "verify/verify.h"

/* Checks `trust.capture`, `trust.signature` and `trust`; fills trust, pinned, is_signed, matched, of. */
RP_MUST rp_code verify_trust(rp_err *e, report *r, verify_result *out, const verify_options *opt);
/* Check `trust.attestation`, after all others: what the statement at opt->attestation_path says about this
 * bundle. */
RP_MUST rp_code verify_attestation(rp_err *e, report *r, const verify_result *v, const verify_options *opt);

#endif
