/* Which algorithm the library chose for each call, beside the one it chose when the plan was captured: both
 * as its own log prints them. Another choice is no fault; it is shown. */
#ifndef VERIFY_ALGORITHMS_H
#define VERIFY_ALGORITHMS_H

#include "plan/resolve.h"
#include "verify/capture.h"

typedef struct {
    uint64_t node;
    const char *chosen, *captured; /* KEY=VALUE …; "" where the log or the capture does not say */
    const char *changed;           /* the captured fields that are others now, "" when none is */
} algorithm_choice;

/* The fields of algo=[…] in a line of the library's log, "" where there are none. NULL when out of memory. */
const char *algorithm_of_line(scratch *sc, const char *line);
/* KEY=VALUE of `captured` where `chosen` has another value or none, and KEY=none where only `chosen` has one.
 */
const char *algorithm_changes(scratch *sc, const char *captured, const char *chosen);
/* One an element of calls, from a log with a line a call; lent by sc. */
RP_MUST rp_code algorithms_compare(rp_err *e, algorithm_choice **out, scratch *sc, const resolved_call *calls,
                                   uint64_t n, const char *log, const capture *c);

#endif
