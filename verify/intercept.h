/* resolved = intercepted: the library's own Trace lines against the resolved calls, every field a line
 * prints. */
#ifndef VERIFY_INTERCEPT_H
#define VERIFY_INTERCEPT_H

#include "artifacts/base/finding.h"
#include "plan/resolve.h"

typedef struct {
    uint64_t calls, fields;
    bool beta_unsaid;         /* a beta other than 0 is printed without its value */
    const char *not_observed; /* what the log does not say: alpha, the preference, defaults it elides */
} intercept_counts;

/* `log`: one line a call, in order of launch. Differences are run.intercept findings in `file`. */
RP_MUST rp_code intercept_check(rp_err *e, findings *fs, intercept_counts *out, const resolved_call *calls,
                                uint64_t n, const char *log, const char *file);

#endif
