/* Our words for a matmul (artifacts/base/lt.h) as the library's numbers, in one place. */
#ifndef GPU_CUDA_LT_WORDS_H
#define GPU_CUDA_LT_WORDS_H

#include "artifacts/base/lt.h"
#include <cublasLt.h>

/* Each -1 where the library, or a call of ours, has none. */
int lt_cuda_type(dtype t);
int lt_cuda_order(lt_order o);
int lt_cuda_compute(lt_compute c);
int lt_cuda_epilogue(lt_epilogue e);

#endif
