#include "gpu/cuda/device.h"
#include "gpu/cuda/clocks.h"
#include "gpu/cuda/cu.h"

rp_code device_open(rp_err *e, result *r, scratch *sc)
{
    int n = 0;
    struct cudaDeviceProp prop;
    char driver[96] = "", hex[DIGEST_HEX];
    cudaError_t rc = cudaGetDeviceCount(&n);
    if (rc != cudaSuccess || n < 1)
        return err_set(e, RP_UNAVAILABLE, "cudaGetDeviceCount: expected a device, found none: %s",
                       cudaGetErrorString(rc));
    if (cu_ok(e, cudaSetDevice(0), "cudaSetDevice") ||
        cu_ok(e, cudaGetDeviceProperties(&prop, 0), "cudaGetDeviceProperties"))
        return e->code;
    digest_hex(digest_of(span_of(&prop.uuid, sizeof prop.uuid)), hex);
    if (!clocks_driver_version(driver, sizeof driver))
        driver[0] = '\0';
    r->device_name = scratch_strdup(sc, prop.name);
    r->device_uuid_sha256 = scratch_strdup(sc, hex);
    r->compute_capability = scratch_printf(sc, "%d.%d", prop.major, prop.minor);
    r->driver = scratch_strdup(sc, driver);
    r->sm_count = (uint64_t)prop.multiProcessorCount;
    r->memory_bytes = prop.totalGlobalMem;
    r->l2_bytes = (uint64_t)prop.l2CacheSize;
    if (!r->device_name || !r->device_uuid_sha256 || !r->compute_capability || !r->driver)
        return err_nomem(e);
    return RP_OK;
}
