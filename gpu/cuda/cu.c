#include "gpu/cuda/cu.h"
#include <stdarg.h>
#include <stdio.h>

enum { MAX_WHAT = 200 };

rp_code cu_ok(rp_err *e, cudaError_t rc, const char *fmt, ...)
{
    if (rc == cudaSuccess)
        return RP_OK;
    char what[MAX_WHAT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(e, RP_WORKER, "%s: %s: %s", what, cudaGetErrorName(rc), cudaGetErrorString(rc));
}

rp_code lt_ok(rp_err *e, cublasStatus_t rc, const char *fmt, ...)
{
    if (rc == CUBLAS_STATUS_SUCCESS)
        return RP_OK;
    char what[MAX_WHAT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(e, RP_WORKER, "%s: %s", what, cublasLtGetStatusName(rc));
}
