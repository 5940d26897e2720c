/* Who the device is. Ordinal 0 of what the environment shows. */
#ifndef GPU_CUDA_DEVICE_H
#define GPU_CUDA_DEVICE_H

#include "gpu/result.h"

/* Find and open the device, and fill the device fields of *r. No device: RP_UNAVAILABLE. */
RP_MUST rp_code device_open(rp_err *e, result *r, scratch *sc);

#endif
