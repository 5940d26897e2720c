/* Before this process reads a stranger's PTX, it gives up what arithmetic does not need. */
#ifndef GPU_EMU_SANDBOX_H
#define GPU_EMU_SANDBOX_H

#include "artifacts/base/err.h"
#include <stdbool.h>

/* Resource limits, no core, no new privileges; then a seccomp filter over all threads, present and future:
 * memory, threads of this process, clocks, and reading and writing descriptors that are open already.
 * Everything else is refused (EACCES): opening a file first. A program, a socket, another process, memory to
 * be executed end this process with SIGSYS. *filtered says whether the filter is in place: without seccomp in
 * the kernel, or on an architecture whose system calls are not listed here, only the limits hold, and the
 * result says so. */
RP_MUST rp_code sandbox_enter(rp_err *e, bool *filtered);

#endif
