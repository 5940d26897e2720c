/* The few driver functions that the runtime has no equal of, found without linking libcuda, so that the
 * program also starts on a machine that has no driver. */
#ifndef GPU_CUDA_DRIVER_H
#define GPU_CUDA_DRIVER_H

#include "artifacts/base/err.h"
#include <cudaTypedefs.h>

typedef struct {
    PFN_cuGetErrorName_v6000 error_name;
    PFN_cuKernelGetParamInfo_v12040 kernel_param_info;
    PFN_cuKernelGetFunction_v12000 kernel_function;
    PFN_cuFuncGetName_v12030 func_name;
    PFN_cuFuncGetAttribute_v2020 func_attribute;
    PFN_cuGraphKernelNodeGetParams_v12000 kernel_node_params;
} driver;

RP_MUST rp_code driver_find(rp_err *e, driver *d);
RP_MUST rp_code driver_ok(rp_err *e, const driver *d, CUresult rc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
