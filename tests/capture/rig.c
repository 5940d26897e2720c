#include "tests/capture/capture.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const plan_buffer *b)
{
    return b->elements * (b->type == F16 ? 2 : 4);
}

/* A NaN in every element, so that one that nobody writes is found. */
enum { POISON = 0xff };

static void place_buffer(rig *r, int i)
{
    const plan_buffer *b = &r->plan->buffers[i];
    if (b->in_arena)
        r->buffers[i] = r->arena + b->offset;
    else
        CUDA(cudaMalloc(&r->buffers[i], bytes_of(b)));
    if (r->data->in.halves[i])
        CUDA(cudaMemcpy(r->buffers[i], r->data->in.halves[i], bytes_of(b), cudaMemcpyHostToDevice));
}

static cublasLtMatrixLayout_t layout(const plan *p, const matrix *m)
{
    cublasLtMatrixLayout_t out;
    int32_t order = m->by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    cudaDataType type = p->buffers[m->buffer].type == F16 ? CUDA_R_16F : CUDA_R_32F;
    LT(cublasLtMatrixLayoutCreate(&out, type, m->rows, m->cols, (int64_t)(m->by_rows ? m->cols : m->rows)));
    LT(cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    return out;
}

static void set_call(cublasLtMatmulDesc_t call, cublasLtMatmulDescAttributes_t which, int32_t value)
{
    LT(cublasLtMatmulDescSetAttribute(call, which, &value, sizeof value));
}

/* C is D's descriptor: the library wants one even where beta is 0. */
static void describe_call(matmul *mm, const plan *p, const plan_step *s)
{
    LT(cublasLtMatmulDescCreate(&mm->call, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_call(mm->call, CUBLASLT_MATMUL_DESC_TRANSA, s->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set_call(mm->call, CUBLASLT_MATMUL_DESC_TRANSB, s->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (s->relu)
        set_call(mm->call, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU);
    if (s->bias != NONE)
        set_call(mm->call, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    mm->a = layout(p, &s->a);
    mm->b = layout(p, &s->b);
    mm->c = layout(p, &s->d);
    mm->d = layout(p, &s->d);
}

void rig_describe(rig *r, const plan *p)
{
    r->plan = p;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == STEP_MATMUL)
            describe_call(&r->calls[i], p, &p->steps[i]);
}

/* The bias comes in the type of D, which is the library's default. */
static void set_bias(rig *r, int step)
{
    const plan_step *s = &r->plan->steps[step];
    if (s->bias == NONE)
        return;
    const void *bias = r->buffers[s->bias];
    LT(cublasLtMatmulDescSetAttribute(r->calls[step].call, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                      sizeof bias));
}

static void choose_algorithm(rig *r, matmul *mm)
{
    cublasLtMatmulPreference_t preference;
    uint64_t limit = WORKSPACE_BYTES;
    int found = 0;
    LT(cublasLtMatmulPreferenceCreate(&preference));
    LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit,
                                            sizeof limit));
    LT(cublasLtMatmulAlgoGetHeuristic(r->handle, mm->call, mm->a, mm->b, mm->c, mm->d, preference, 1,
                                      &mm->choice, &found));
    if (found != 1)
        fail("cublasLtMatmulAlgoGetHeuristic has no algorithm for this call");
    LT(mm->choice.state);
    LT(cublasLtMatmulPreferenceDestroy(preference));
}

void rig_init(rig *r, const plan *p, const fixture *data, kernel kernels[MAX_KERNELS])
{
    *r = (rig){.data = data, .kernels = kernels};
    rig_describe(r, p);
    CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&r->arena, p->slab_bytes));
    CUDA(cudaMemset(r->arena, POISON, p->slab_bytes));
    CUDA(cudaDeviceSynchronize()); /* before an input is laid into it */
    for (int i = 0; i < p->n_buffers; i++)
        place_buffer(r, i);
    CUDA(cudaHostAlloc((void **)&r->staging, PARAMETER_BYTES, cudaHostAllocDefault));
    *r->staging = 0; /* the plans have no symbols, yet their parameters keep one slot */
    LT(cublasLtCreate(&r->handle));
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == STEP_MATMUL) {
            set_bias(r, i);
            choose_algorithm(r, &r->calls[i]);
        }
    kernels_load(kernels, p);
    CUDA(cudaDeviceSynchronize());
}

void rig_issue_parameters(rig *r)
{
    CUDA(cudaMemcpyAsync(r->arena, r->staging, PARAMETER_BYTES, cudaMemcpyHostToDevice, r->stream));
}

static void issue_matmul(rig *r, int step)
{
    const plan_step *s = &r->plan->steps[step];
    const matmul *mm = &r->calls[step];
    const float alpha = 1.0f, beta = s->accumulate ? 1.0f : 0.0f;
    void *d = r->buffers[s->d.buffer];
    LT(cublasLtMatmul(r->handle, mm->call, &alpha, r->buffers[s->a.buffer], mm->a, r->buffers[s->b.buffer],
                      mm->b, &beta, d, mm->c, d, mm->d, &mm->choice.algo, r->arena + s->workspace_offset,
                      WORKSPACE_BYTES, r->stream));
}

static void issue_kernel(rig *r, int step)
{
    const plan_step *s = &r->plan->steps[step];
    void *parameters = r->arena, *arguments[MAX_ARGUMENTS + 1];
    for (int i = 0; i < s->n_arguments; i++)
        arguments[i] = &r->buffers[s->arguments[i]];
    arguments[s->n_arguments] = &parameters;
    cudaLaunchConfig_t config = {
        .gridDim = {(unsigned)((s->elements + BLOCK_THREADS - 1) / BLOCK_THREADS), 1, 1},
        .blockDim = {BLOCK_THREADS, 1, 1},
        .stream = r->stream};
    CUDA(cudaLaunchKernelExC(&config, (const void *)r->kernels[s->kernel].entry, arguments));
}

void rig_issue_step(rig *r, int step)
{
    const plan_step *s = &r->plan->steps[step];
    switch (s->kind) {
    case STEP_MATMUL:
        issue_matmul(r, step);
        break;
    case STEP_KERNEL:
        issue_kernel(r, step);
        break;
    case STEP_COPY:
        CUDA(cudaMemcpyAsync(r->buffers[s->to], r->buffers[s->from], bytes_of(&r->plan->buffers[s->to]),
                             cudaMemcpyDeviceToDevice, r->stream));
        break;
    }
}

void rig_issue(rig *r)
{
    rig_issue_parameters(r);
    for (int i = 0; i < r->plan->n_steps; i++)
        rig_issue_step(r, i);
}

void rig_poison(rig *r)
{
    for (int i = 0; i < r->plan->n_outputs; i++) {
        int b = r->plan->outputs[i].buffer;
        CUDA(cudaMemsetAsync(r->buffers[b], POISON, bytes_of(&r->plan->buffers[b]), r->stream));
    }
    CUDA(cudaStreamSynchronize(r->stream));
}

void rig_check(rig *r, const char *after)
{
    CUDA(cudaStreamSynchronize(r->stream));
    for (int i = 0; i < r->plan->n_outputs; i++) {
        int b = r->plan->outputs[i].buffer;
        uint64_t elements = r->plan->buffers[b].elements;
        uint16_t *y = must_alloc(elements, sizeof *y);
        CUDA(cudaMemcpy(y, r->buffers[b], elements * sizeof *y, cudaMemcpyDeviceToHost));
        r->inexact += fixture_check(r->data, r->plan, i, y, after);
        r->checked += r->data->samples[i].count;
        free(y);
    }
}
