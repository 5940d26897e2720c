/* Reading the library's own log: one cublasLtMatmul Trace line, with every elided default made explicit and
 * remembered as elided. A line reads [time][cublasLt][pid][Trace][FUNCTION] KEY=VALUE KEY=[KEY=VALUE …] …
 * where any of the bracketed groups but the last may be absent. A key that is not known here is refused: a
 * comparison of every field the line prints must not pass over one. */
#ifndef PLAN_LT_LOG_H
#define PLAN_LT_LOG_H

#include "artifacts/base/err.h"
#include "artifacts/base/lt.h"
#include "artifacts/base/scratch.h"

typedef struct {
    lt_call call;         /* as the descriptors give it; m, n, k from D and A */
    const char *function; /* cublasLtMatmul or a typed variant */
    uint64_t printed;     /* fields on the line, pointers and algorithm aside */
    const char *elided;   /* names of fields left at the library's defaults, comma separated */
    bool out_of_place;    /* C is not D */
    bool has_bias;
    uint64_t sm_count_target; /* 0 when not printed: all of the device's */
    int64_t algorithm_id;     /* -1 when not printed */
} lt_logged;

/* Broken or foreign: RP_INVALID run.intercept, the column in `where`. Lent by sc. */
RP_MUST rp_code lt_log_read(rp_err *e, lt_logged *out, scratch *sc, const char *file, const char *line);

#endif
