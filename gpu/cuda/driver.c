#include "gpu/cuda/driver.h"
#include "gpu/cuda/cu.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Object pointers become function pointers by copying, which C allows and POSIX relies on. */
static rp_code find(rp_err *e, void *fn, const char *symbol, unsigned version)
{
    void *p = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    if (cu_ok(e, cudaGetDriverEntryPointByVersion(symbol, &p, version, cudaEnableDefault, &found),
              "cudaGetDriverEntryPointByVersion of %s", symbol))
        return e->code;
    if (found != cudaDriverEntryPointSuccess || !p)
        return err_set(e, RP_WORKER,
                       "cudaGetDriverEntryPointByVersion: expected %s of CUDA %u.%u, found none (%d)", symbol,
                       version / 1000, version % 1000 / 10, (int)found);
    memcpy(fn, &p, sizeof p);
    return RP_OK;
}

rp_code driver_find(rp_err *e, driver *d)
{
    if (find(e, &d->error_name, "cuGetErrorName", 6000) ||
        find(e, &d->kernel_param_info, "cuKernelGetParamInfo", 12040) ||
        find(e, &d->kernel_function, "cuKernelGetFunction", 12000) ||
        find(e, &d->func_name, "cuFuncGetName", 12030) ||
        find(e, &d->func_attribute, "cuFuncGetAttribute", 2020) ||
        find(e, &d->kernel_node_params, "cuGraphKernelNodeGetParams", 12000))
        return e->code;
    return RP_OK;
}

rp_code driver_ok(rp_err *e, const driver *d, CUresult rc, const char *fmt, ...)
{
    if (rc == CUDA_SUCCESS)
        return RP_OK;
    char what[200];
    const char *name = NULL;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (d->error_name(rc, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    return err_set(e, RP_WORKER, "%s: %s (%d)", what, name, (int)rc);
}
