#include "artifacts/base/file.h"
#include "gpu/cuda/clocks.h"
#include "gpu/cuda/device.h"
#include "gpu/cuda/libraries.h"
#include "gpu/cuda/modes.h"
#include <stdio.h>
#include <unistd.h>

static rp_code describe(rp_err *e, span *text, jw *j, scratch *sc, bool *available)
{
    result r = {0};
    rp_err none = {0};
    char driver[96] = "";
    *available = device_open(&none, &r, sc) == RP_OK;
    jw_obj(j, NULL);
    jw_bool(j, "available", *available);
    if (*available) {
        jw_obj(j, "device");
        jw_str(j, "name", r.device_name);
        jw_str(j, "compute_capability", r.compute_capability);
        jw_str(j, "uuid_sha256", r.device_uuid_sha256);
        jw_u64(j, "memory_bytes", r.memory_bytes);
        jw_u64(j, "sm_count", r.sm_count);
        jw_end(j);
    } else {
        jw_str(j, "reason", none.msg);
    }
    jw_str(j, "driver", clocks_driver_version(driver, sizeof driver) ? driver : "");
    jw_str(j, "runtime", libraries_cudart_version(sc));
    jw_str(j, "cublaslt", libraries_cublaslt_version(sc));
    jw_str(j, "nvrtc", libraries_nvrtc_version(sc));
    jw_end(j);
    return jw_finish(e, text, j);
}

int probe_main(void)
{
    rp_err e = {0};
    span text;
    bool available = false;
    scratch *sc = scratch_new(0);
    jw *j = jw_new(JW_PRETTY);
    if (!sc || !j)
        err_nomem(&e);
    rp_code rc = e.code ? e.code : describe(&e, &text, j, sc, &available);
    if (!rc)
        rc = file_write_fd(&e, STDOUT_FILENO, "stdout", text);
    jw_free(j);
    scratch_free(sc);
    if (rc) {
        fprintf(stderr, "replay-gpu: %s\n", e.msg);
        return EXIT_BROKEN;
    }
    return available ? EXIT_ANSWERED : EXIT_NO_DEVICE;
}
