#include "gpu/cuda/profiler.h"
#include <dlfcn.h>
#include <stdio.h>

profiler prof;

static rp_code find(rp_err *e, void *lib, void *fn, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p)
        return err_set(e, RP_WORKER, "CUPTI: expected the function %s, found none", name);
    memcpy(fn, &p, sizeof p);
    return RP_OK;
}

rp_code profiler_load(rp_err *e)
{
    /* The version whose headers this was compiled with: record layouts belong to it. Found by this program's
     * run path. */
    char name[32];
    snprintf(name, sizeof name, "libcupti.so.%d", CUDART_VERSION / 1000);
    void *lib = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        return err_set(e, RP_WORKER, "CUPTI: %s", dlerror());
    if (find(e, lib, &prof.result_string, "cuptiGetResultString") ||
        find(e, lib, &prof.get_version, "cuptiGetVersion") ||
        find(e, lib, &prof.subscribe, "cuptiSubscribe") ||
        find(e, lib, &prof.enable_callback, "cuptiEnableCallback") ||
        find(e, lib, &prof.register_callbacks, "cuptiActivityRegisterCallbacks") ||
        find(e, lib, &prof.enable, "cuptiActivityEnable") ||
        find(e, lib, &prof.flush_all, "cuptiActivityFlushAll") ||
        find(e, lib, &prof.next_record, "cuptiActivityGetNextRecord") ||
        find(e, lib, &prof.dropped_records, "cuptiActivityGetNumDroppedRecords"))
        return e->code;
    return RP_OK;
}

rp_code profiler_ok(rp_err *e, CUptiResult rc, const char *call)
{
    if (rc == CUPTI_SUCCESS)
        return RP_OK;
    const char *name = NULL;
    if (prof.result_string(rc, &name) != CUPTI_SUCCESS || !name)
        name = "unknown error";
    return err_set(e, RP_WORKER, "%s: %s (%d)", call, name, (int)rc);
}

const char *profiler_version(scratch *sc)
{
    uint32_t v;
    if (!prof.get_version || prof.get_version(&v) != CUPTI_SUCCESS)
        return "";
    const char *s = scratch_printf(sc, "%u", v);
    return s ? s : "";
}
