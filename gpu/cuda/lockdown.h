/* Before this process reads a stranger's source as a compiler, it gives up what a compiler does not need. */
#ifndef GPU_CUDA_LOCKDOWN_H
#define GPU_CUDA_LOCKDOWN_H

#include "artifacts/base/err.h"
#include <stdbool.h>

/* Resource limits and no new privileges, always; then, where the kernel has Landlock, no file but those below
 * `folders` (NULL-terminated; missing ones are skipped) can be opened, and those for reading only; no TCP
 * either where the kernel can refuse it. Descriptors open already stay usable. *landlocked says whether the
 * second part holds. Call it while there is one thread. */
RP_MUST rp_code lockdown(rp_err *e, bool *landlocked, const char *const *folders);

#endif
