/* One library call from its final descriptors: nothing is decided here but what the library's heuristic
 * answers. */
#ifndef GPU_CUDA_MATMUL_H
#define GPU_CUDA_MATMUL_H

#include "gpu/cuda/memory.h"
#include <cublasLt.h>

/* One value of the call's scale type, read by the library from the host. */
typedef union {
    float f32;
    double f64;
    int32_t i32;
    uint16_t f16;
} matmul_scalar;

typedef struct {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulAlgo_t algo;
    matmul_scalar alpha, beta;
    const void *at_a, *at_b, *at_c;
    void *at_d, *workspace;
    size_t workspace_bytes;
} matmul;

/* Make the descriptors, ask the heuristic for one result, and read its choice back into `chosen`. */
RP_MUST rp_code matmul_prepare(rp_err *e, matmul *m, cublasLtHandle_t handle, const memory *mem,
                               const job_step *s, result_algorithm *chosen);

static inline cublasStatus_t matmul_launch(const matmul *m, cudaStream_t stream)
{
    return cublasLtMatmul(m->handle, m->desc, &m->alpha, m->at_a, m->a, m->at_b, m->b, &m->beta, m->at_c,
                          m->c, m->at_d, m->d, &m->algo, m->workspace, m->workspace_bytes, stream);
}

#endif
