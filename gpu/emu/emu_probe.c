#include "artifacts/base/file.h"
#include "gpu/emu/emu_phase.h"
#include <stdio.h>
#include <unistd.h>

/* There is always a CPU. */
int emu_probe_main(void)
{
    rp_err e = {0};
    span text;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_bool(j, "available", true);
    jw_obj(j, "device");
    jw_str(j, "name", result_emulator);
    jw_str(j, "compute_capability", "");
    jw_str(j, "uuid_sha256", "");
    jw_u64(j, "memory_bytes", 0);
    jw_u64(j, "sm_count", 0);
    jw_end(j);
    jw_str(j, "driver", "");
    jw_str(j, "runtime", "");
    jw_str(j, "cublaslt", "");
    jw_str(j, "nvrtc", "");
    jw_end(j);
    if (jw_finish(&e, &text, j) || file_write_fd(&e, STDOUT_FILENO, "stdout", text))
        fprintf(stderr, "replay-emu: %s\n", e.msg);
    jw_free(j);
    return e.code ? EMU_EXIT_BROKEN : EMU_EXIT_ANSWERED;
}
