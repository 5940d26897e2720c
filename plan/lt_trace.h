/* One Trace line of the library's own log as a complete query, whatever its types, batches and epilogue: of
 * other people's runs, which are imported, and of ours, which are compared with the resolved calls
 * (verify/intercept.h). Defaults that the library elides are made explicit, and named. Alpha is never
 * printed.
 *
 *   [time][cublasLt][pid][Trace][FUNCTION] KEY=VALUE KEY=[KEY=VALUE …] …
 *
 * where any of the bracketed words but the last may be absent. A key that is not known here is refused: a
 * comparison of every field the line prints must not pass over one. */
#ifndef PLAN_LT_TRACE_H
#define PLAN_LT_TRACE_H

#include "artifacts/base/scratch.h"
#include "plan/lt_query.h"

typedef enum {
    LT_LINE_CALL,    /* Trace of cublasLt…Matmul: a call */
    LT_LINE_PREFER,  /* Api of cublasLt…AlgoGetHeuristic: what the preference promises */
    LT_LINE_VERSION, /* Api of cublasLtGetVersion */
    LT_LINE_OTHER,   /* any other message of the library */
    LT_LINE_FOREIGN, /* not the library's */
} lt_line_kind;

enum { LT_PTR_BIAS = LTM_COUNT, LT_PTR_COUNT };

typedef struct {
    lt_query q;
    char function[48];
    char algorithm[256];            /* the fields of algo=[…], as printed */
    int64_t algorithm_id;           /* -1 when not printed */
    uint64_t pointer[LT_PTR_COUNT]; /* of a, b, c, d and bias; 0 when null or not printed */
    uint64_t printed;               /* fields on the line, pointers and algorithm aside */
    uint64_t sm_count_target;       /* 0 when not printed: all of the device's */
    bool out_of_place;              /* C is not D */
    bool beta_unsaid;             /* printed as "?", which is all that is said of one that is not 0: 1 then */
    bool scaled[2], other_scales; /* a scale pointer of A and B; of C or D, or the place of amax */
    /* Fields left at the library's defaults, comma separated. As imports say them, alpha always, orders and
     * batches of the four operands at once; and each by the name that a resolved call has for it, batches
     * aside. A batch whose stride is not printed has stride 0. */
    char elided[96], elided_each[160];
} lt_trace;

lt_line_kind lt_line_kind_of(const char *line);
/* A line of LT_LINE_CALL, or the same behind a shorter head. RP_INVALID run.intercept with the column where
 * it is truncated or has a key or value that is not known. */
RP_MUST rp_code lt_trace_read(rp_err *e, lt_trace *out, const char *file, const char *line);
/* The line without time and process, and without its end: "[cublasLt][Trace][FUNCTION] KEY=VALUE …". Lent by
 * sc, NULL when out of memory. */
const char *lt_trace_text(scratch *sc, const char *line);
/* The minimal alignments of a LT_LINE_PREFER line, 256 where it prints none. */
void lt_trace_promises(const char *line, uint64_t promise[LTM_COUNT]);
/* Of a LT_LINE_VERSION line, 0 where it prints none: 130100. */
unsigned lt_trace_version(const char *line);

#endif
