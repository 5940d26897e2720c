/* plan/resolved_calls.json, "replay-calls/1": the captured descriptors of every matmul:
 * {format, calls: [{node, a, b, c, d: {buffer, type, rows, cols, ld, order, [batch, stride], [scaled]},
 * trans_a, trans_b, compute, scale, epilogue, bias: buffer or null, [bias_type], [scale_a, scale_b: buffer],
 * alpha: 1, beta: 0 or 1, workspace_bytes}]}; what is in brackets: artifacts/base/lt_json.h */
#ifndef PLAN_CALLS_H
#define PLAN_CALLS_H

#include "artifacts/base/lt_json.h"
#include "plan/resolve.h"

RP_MUST rp_code calls_read(rp_err *e, recorded_call **out, uint64_t *n, scratch *sc, const char *file,
                           span text);
/* The resolved calls in the same form, keys ascending: the member "calls" of an open object. */
void calls_write(jw *j, const plan *p, const resolved_call *c, uint64_t n);
/* Each field that differs is a resolve.mismatch finding in `file`; returns the number of fields compared. */
uint64_t calls_compare(findings *fs, const plan *p, const resolved_call *resolved, uint64_t n_resolved,
                       const recorded_call *recorded, uint64_t n_recorded, const char *file);

/* Compare two calls field by field: `say` is called with the field's name and both values for each that
 * differs; returns the number compared. */
typedef void (*lt_differs)(void *ctx, const char *field, const char *expected, const char *actual);
uint64_t lt_call_compare(const lt_call *expected, const lt_call *actual, lt_differs say, void *ctx);

#endif
