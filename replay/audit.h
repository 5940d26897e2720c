/* Auditing an evidence folder: every verdict recomputed from what was retained, then compared with what was
 * claimed. */
#ifndef REPLAY_AUDIT_H
#define REPLAY_AUDIT_H

#include "replay/record.h"
#include "verify/verify.h"

typedef struct {
    report *r;
    store *st; /* of the retained documents */
    verify_result v;
    lowering *l; /* NULL when the documents were not enough to judge by */
    judgement *j;
    run_record claimed, recomputed;
    bool have_claims;
    bool is_signed; /* by the caller's keys: told by whoever read the statement */
} audited;

/* All faults are findings in out->r; an error only when the folder cannot be read. `opt`: root and compiler
 * for the bundle's own checks. Free with audit_clear. */
RP_MUST rp_code audit_folder(rp_err *e, audited *out, scratch *sc, const char *dir,
                             const verify_options *opt);
void audit_clear(audited *a);
/* The exit code of the folder alone: what was found, and what the run itself came to. */
int audit_exit(const audited *a);
/* What could not be re-checked and why, one line each, ends with NULL. */
const char *const *audit_not_rechecked(scratch *sc, const audited *a);

#endif
