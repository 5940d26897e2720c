#include "tests/capture/capture.h"

#include <stdlib.h>
#include <string.h>

static uint64_t align256(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* The worked table of this plan, as formulas: the projection in F16 takes the place of the workspace, which
 * is free again once the matrix call is over. */
static arena_table arena_formulas(const problem *size)
{
    arena_table t = {.p32_offset = 256};
    t.p32_bytes = size->batch * size->features * 4;
    t.workspace_offset = t.p32_offset + align256(t.p32_bytes);
    t.p16_offset = t.workspace_offset;
    t.p16_bytes = size->batch * size->features * 2;
    t.slab_bytes = t.workspace_offset + WORKSPACE_BYTES;
    if (t.p16_bytes > WORKSPACE_BYTES)
        fail(
            "the F16 projection is larger than the workspace whose place it takes: no formula for that here");
    return t;
}

static void *uploaded(const uint16_t *data, uint64_t count)
{
    void *device;
    CUDA(cudaMalloc(&device, count * sizeof *data));
    CUDA(cudaMemcpy(device, data, count * sizeof *data, cudaMemcpyHostToDevice));
    return device;
}

static cublasLtMatrixLayout_t layout(cudaDataType type, uint64_t rows, uint64_t cols, uint64_t ld,
                                     cublasLtOrder_t order)
{
    cublasLtMatrixLayout_t out;
    int32_t value = (int32_t)order;
    LT(cublasLtMatrixLayoutCreate(&out, type, rows, cols, (int64_t)ld));
    LT(cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_ORDER, &value, sizeof value));
    return out;
}

static void set_transpose(cublasLtMatmulDesc_t call, cublasLtMatmulDescAttributes_t which,
                          cublasOperation_t op)
{
    int32_t value = (int32_t)op;
    LT(cublasLtMatmulDescSetAttribute(call, which, &value, sizeof value));
}

static void choose_algorithm(matmul *mm)
{
    cublasLtMatmulPreference_t preference;
    uint64_t limit = WORKSPACE_BYTES;
    int found = 0;
    LT(cublasLtMatmulPreferenceCreate(&preference));
    LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit,
                                            sizeof limit));
    LT(cublasLtMatmulAlgoGetHeuristic(mm->handle, mm->call, mm->a, mm->b, mm->c, mm->d, preference, 1,
                                      &mm->choice, &found));
    if (found != 1)
        fail("cublasLtMatmulAlgoGetHeuristic has no algorithm for this call");
    LT(mm->choice.state);
    LT(cublasLtMatmulPreferenceDestroy(preference));
}

/* D = wt . x^T = p^T. Its column-major bytes are p in row-major order, so nothing is transposed in memory. */
static void matmul_init(matmul *mm, const problem *size)
{
    LT(cublasLtCreate(&mm->handle));
    LT(cublasLtMatmulDescCreate(&mm->call, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_transpose(mm->call, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
    set_transpose(mm->call, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
    mm->a = layout(CUDA_R_16F, size->features, size->k, size->k, CUBLASLT_ORDER_ROW);
    mm->b = layout(CUDA_R_16F, size->batch, size->k, size->k, CUBLASLT_ORDER_ROW);
    mm->c = layout(CUDA_R_32F, size->features, size->batch, size->features, CUBLASLT_ORDER_COL);
    mm->d = layout(CUDA_R_32F, size->features, size->batch, size->features, CUBLASLT_ORDER_COL);
    choose_algorithm(mm);
}

void rig_init(rig *r, const problem *size, kernel kernels[KERNELS])
{
    *r = (rig){.table = arena_formulas(size), .kernels = kernels};
    fixture_make(&r->data, size);
    CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    r->x = uploaded(r->data.x_half, size->batch * size->k);
    r->wt = uploaded(r->data.wt_half, size->features * size->k);
    r->bias = uploaded(r->data.bias_half, size->features);
    CUDA(cudaMalloc(&r->y, size->batch * size->features * 2));
    CUDA(cudaMalloc((void **)&r->arena, r->table.slab_bytes));
    CUDA(cudaMemset(r->arena, 0xff, r->table.slab_bytes));
    CUDA(cudaHostAlloc((void **)&r->staging, PARAMETER_BYTES, cudaHostAllocDefault));
    *r->staging = 0; /* the plan has no symbols, yet its parameters keep one slot */
    matmul_init(&r->mm, size);
    kernels_load(kernels);
    CUDA(cudaDeviceSynchronize());
}

static void launch(rig *r, const kernel *k, void **arguments)
{
    uint64_t elements = r->data.size.batch * r->data.size.features;
    cudaLaunchConfig_t config = {
        .gridDim = {(unsigned)((elements + BLOCK_THREADS - 1) / BLOCK_THREADS), 1, 1},
        .blockDim = {BLOCK_THREADS, 1, 1},
        .stream = r->stream};
    CUDA(cudaLaunchKernelExC(&config, (const void *)k->entry, arguments));
}

void rig_issue(rig *r)
{
    const float alpha = 1.0f, beta = 0.0f;
    void *parameters = r->arena, *p32 = r->arena + r->table.p32_offset, *p16 = r->arena + r->table.p16_offset;
    CUDA(cudaMemcpyAsync(parameters, r->staging, PARAMETER_BYTES, cudaMemcpyHostToDevice, r->stream));
    LT(cublasLtMatmul(r->mm.handle, r->mm.call, &alpha, r->wt, r->mm.a, r->x, r->mm.b, &beta, p32, r->mm.c,
                      p32, r->mm.d, &r->mm.choice.algo, r->arena + r->table.workspace_offset, WORKSPACE_BYTES,
                      r->stream));
    launch(r, &r->kernels[0], (void *[]){&p32, &p16, &parameters});
    launch(r, &r->kernels[1], (void *[]){&p16, &r->bias, &r->y, &parameters});
}

/* All ones is a NaN, so an element that nobody writes is found. */
void rig_poison(rig *r)
{
    CUDA(cudaMemsetAsync(r->y, 0xff, r->data.size.batch * r->data.size.features * 2, r->stream));
    CUDA(cudaStreamSynchronize(r->stream));
}

void rig_check(rig *r, const char *after)
{
    uint64_t elements = r->data.size.batch * r->data.size.features;
    uint16_t *y = must_alloc(elements, sizeof *y);
    CUDA(cudaStreamSynchronize(r->stream));
    CUDA(cudaMemcpy(y, r->y, elements * sizeof *y, cudaMemcpyDeviceToHost));
    fixture_check(&r->data, y, after);
    free(y);
}
