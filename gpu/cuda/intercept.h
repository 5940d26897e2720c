/* What the library itself says it was asked: its own log, kept between two points. Only the Trace lines of
 * matmuls stay, one a line, as "[Trace][cublasLtMatmul] A=…": time and process are not part of what was
 * asked. */
#ifndef GPU_CUDA_INTERCEPT_H
#define GPU_CUDA_INTERCEPT_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"

RP_MUST rp_code intercept_begin(rp_err *e);
/* The lines so far, placed in sc, and no further logging, so that nothing is slowed by it. */
RP_MUST rp_code intercept_end(rp_err *e, const char **lines, scratch *sc);

#endif
