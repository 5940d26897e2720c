/* What the device says of itself while it is timed, by NVML where there is one. Nothing is ever set. */
#ifndef GPU_CUDA_CLOCKS_H
#define GPU_CUDA_CLOCKS_H

#include "gpu/result.h"
#include <stdbool.h>
#include <stddef.h>

/* Load NVML and find the device at this PCI address; false when there is none, and the others then say false
 * too. */
bool clocks_open(const char *pci);
/* A value that NVML does not give stays 0. */
bool clocks_read(result_clock *out);
/* The driver's version, as "580.159.04"; works without clocks_open. */
bool clocks_driver_version(char *out, size_t out_bytes);

#endif
