/* Failing CUDA calls as errors: RP_WORKER naming the call and what it was for, the code's name, and its text.
 */
#ifndef GPU_CUDA_CU_H
#define GPU_CUDA_CU_H

#include "artifacts/base/err.h"
#include <cublasLt.h>
#include <cuda_runtime_api.h>

/* The format says which call, and on what: "cudaMalloc of x". */
RP_MUST rp_code cu_ok(rp_err *e, cudaError_t rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
RP_MUST rp_code lt_ok(rp_err *e, cublasStatus_t rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
