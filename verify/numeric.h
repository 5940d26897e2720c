/* Judging an output against its reference: abs(actual - ref) <= atol + rtol*abs(ref) for every element,
 * evaluated in FP64 in that order. The comparison accepts: whatever is not shown to be within the bound
 * fails. So a NaN, in either or in the bound, never passes; an infinity matches only itself; zeros of both
 * signs are equal. */
#ifndef VERIFY_NUMERIC_H
#define VERIFY_NUMERIC_H

#include "artifacts/base/dtype.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

typedef struct {
    double atol, rtol;
} tolerance;

typedef struct {
    uint64_t elements, failing;   /* judged, and out of bounds */
    uint64_t nonfinite_expected;  /* a reference that overflows its type shows no numerical agreement */
    double max_abs_error;         /* over elements where both are finite */
    double max_scaled_error;      /* error over its bound; infinite where a non-finite element fails */
    uint64_t worst_index;         /* of max_scaled_error, the lowest of equals */
    uint64_t first_failing_index; /* as many as there are when none fails */
    double worst_actual, worst_expected;
    uint64_t max_ulp;   /* steps of its type between the worst element's two values (of F64 too; of integers
                           their difference); UINT64_MAX with a NaN */
    uint64_t differing; /* elements whose bits differ */
    bool passed;        /* at least one element, none failing */
} numeric_verdict;

/* Both spans hold `elements` values of type t; spans of other lengths fail as a whole. Integers are compared
 * like the rest, so exactly where the bounds are 0; differences of I64 and U64 are taken as integers. */
numeric_verdict numeric_judge(dtype t, span actual, span expected, tolerance tol);
/* The same where elements in between are nobody's: `gaps` has a byte an element, and where it is not 0 the
 * element is neither judged nor counted. Indices count all elements; gaps NULL: there are none. */
numeric_verdict numeric_judge_between(dtype t, span actual, span expected, const uint8_t *gaps,
                                      tolerance tol);

#endif
