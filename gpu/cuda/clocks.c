#include "gpu/cuda/clocks.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The part of NVML that is needed; its header does not come with the toolkit everywhere. */
typedef struct nvml_device *nvml_device;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };

static struct {
    void *lib;
    nvml_device device;
    int (*init)(void);
    int (*driver_version)(char *, unsigned);
    int (*by_pci)(const char *, nvml_device *);
    int (*clock)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*reasons)(nvml_device, unsigned long long *);
} nvml;

static void find(void *fn, const char *name)
{
    void *p = dlsym(nvml.lib, name);
    memcpy(fn, &p, sizeof p);
}

static bool load(void)
{
    if (nvml.lib)
        return true;
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    nvml.lib = lib;
    find(&nvml.init, "nvmlInit_v2");
    if (!nvml.init || nvml.init() != 0) {
        dlclose(lib);
        nvml.lib = NULL;
        return false;
    }
    find(&nvml.driver_version, "nvmlSystemGetDriverVersion");
    find(&nvml.by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    find(&nvml.clock, "nvmlDeviceGetClockInfo");
    find(&nvml.power, "nvmlDeviceGetPowerUsage");
    find(&nvml.temperature, "nvmlDeviceGetTemperature");
    find(&nvml.reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!nvml.reasons)
        find(&nvml.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return true;
}

bool clocks_open(const char *pci)
{
    return load() && nvml.by_pci && nvml.by_pci(pci, &nvml.device) == 0;
}

bool clocks_read(result_clock *out)
{
    unsigned v;
    unsigned long long reasons;
    *out = (result_clock){0};
    if (!nvml.device)
        return false;
    if (nvml.clock && nvml.clock(nvml.device, NVML_CLOCK_SM, &v) == 0)
        out->sm_mhz = v;
    if (nvml.clock && nvml.clock(nvml.device, NVML_CLOCK_MEM, &v) == 0)
        out->mem_mhz = v;
    if (nvml.power && nvml.power(nvml.device, &v) == 0)
        out->power_mw = v;
    if (nvml.temperature && nvml.temperature(nvml.device, NVML_TEMPERATURE_GPU, &v) == 0)
        out->temperature_c = v;
    /* The defined reasons are low bits, and a number of the result has 53. */
    if (nvml.reasons && nvml.reasons(nvml.device, &reasons) == 0)
        out->throttle_reasons = reasons & (((uint64_t)1 << 53) - 1);
    return true;
}

/* Without NVML, what the kernel module says. */
static bool module_version(char *out, size_t out_bytes)
{
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    if (!f)
        return false;
    bool ok = fgets(out, (int)out_bytes, f) != NULL;
    fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok && out[0];
}

bool clocks_driver_version(char *out, size_t out_bytes)
{
    if (load() && nvml.driver_version && nvml.driver_version(out, (unsigned)out_bytes) == 0)
        return true;
    return module_version(out, out_bytes);
}
