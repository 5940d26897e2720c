/* Work that falls into pieces which do not touch each other, over threads. */
#ifndef PLAN_PARALLEL_H
#define PLAN_PARALLEL_H

#include <stdint.h>

typedef void parallel_fn(const void *ctx, uint64_t from, uint64_t to);

/* f over [0, n), in as many pieces as there are threads to be had (`threads`; 0 means one a core, at most
 * 256). `work`, in operations, says whether that is worth it. Cannot fail: what no thread can be had for is
 * done by the caller's. */
void parallel(unsigned threads, parallel_fn *f, const void *ctx, uint64_t n, uint64_t work);

#endif
