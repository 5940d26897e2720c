/* How far two results of one computation lie apart, element by element. */
#ifndef REPLAY_DISTANCE_H
#define REPLAY_DISTANCE_H

#include "artifacts/base/dtype.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

/* bins[0]: 0 ulp (both zeros are one number, and so are all NaNs); bins[k]: 2^(k-1) to 2^k - 1; the last: a
 * NaN against a number. Integers count their difference. */
enum { DISTANCE_BINS = 66, DISTANCE_ULP = 8, DISTANCE_SHIFT = 20 };

typedef struct {
    uint64_t elements, differing_bits, max_ulp, worst_index;
    uint64_t beyond; /* more than DISTANCE_ULP ulp and more than 2^-DISTANCE_SHIFT of the largest magnitude
                        apart */
    double max_abs, largest; /* largest finite magnitude of the expected */
    double worst_actual, worst_expected;
    uint64_t bins[DISTANCE_BINS];
} distance;

/* Spans of one length, a multiple of the element's. */
distance distance_of(dtype t, span actual, span expected);
/* "0: 1,048,000 · 1: 570 · 2-3: 6" */
const char *distance_histogram(scratch *sc, const distance *d);
/* Members of an open object. */
void distance_json(jw *j, const distance *d);

#endif
