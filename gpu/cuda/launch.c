#include "gpu/cuda/cu.h"
#include "gpu/cuda/phase.h"
#include <stdio.h>
#include <stdlib.h>

enum { JIT_LOG_BYTES = 4096, DEFAULT_SHARED_BYTES = 48 << 10 };

/* The driver's compiler may run later than the load, so what it writes to lives as long. */
typedef struct {
    cudaLibrary_t library;
    enum cudaJitOption options[2];
    void *values[2];
    char log[JIT_LOG_BYTES];
} module;

/* The compiler's complaint as the end of one line. */
static const char *complaint(module *m)
{
    m->log[sizeof m->log - 1] = '\0';
    for (char *c = m->log; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return m->log;
}

static rp_code load_module(rp_err *e, module *out, const phase *p, const job_module *m)
{
    out->options[0] = cudaJitErrorLogBuffer;
    out->values[0] = out->log;
    out->options[1] = cudaJitErrorLogBufferSizeBytes;
    out->values[1] = (void *)(uintptr_t)sizeof out->log; /* the interface passes numbers as pointers */
    /* PTX is handed over as text, so it must end. */
    char *ptx = scratch_strndup(p->sc, (const char *)p->data.p + m->ptx.offset_bytes, m->ptx.bytes);
    if (!ptx)
        return err_nomem(e);
    cudaError_t rc = cudaLibraryLoadData(&out->library, ptx, out->options, out->values, 2, NULL, NULL, 0);
    return cu_ok(e, rc, "cudaLibraryLoadData of %.64s: %.100s", m->name, complaint(out));
}

/* Exactly n_args parameters of their sizes: the driver would read past a shorter list of arguments. */
static rp_code check_params(rp_err *e, const phase *p, const step_launch *l)
{
    const job_step *s = l->step;
    size_t offset, bytes, want = 0;
    for (uint64_t i = 0; i < s->n_args; i++) {
        size_t size = s->args[i] < 0 ? (size_t)s->values[i].bytes : sizeof(void *);
        want = (want + size - 1) / size * size;
        if (p->drv.kernel_param_info((CUkernel)l->kernel, i, &offset, &bytes) != CUDA_SUCCESS)
            return err_set(e, RP_WORKER,
                           "cuKernelGetParamInfo of %.64s, node %llu: expected %llu parameters, found %llu",
                           s->entry, (unsigned long long)s->node, (unsigned long long)s->n_args,
                           (unsigned long long)i);
        if (bytes != size || offset != want)
            return err_set(
                e, RP_WORKER,
                "cuKernelGetParamInfo of %.64s, node %llu: expected parameter %llu of %zu bytes at "
                "%zu, found %zu at %zu",
                s->entry, (unsigned long long)s->node, (unsigned long long)i, size, want, bytes, offset);
        want += size;
    }
    if (p->drv.kernel_param_info((CUkernel)l->kernel, s->n_args, &offset, &bytes) == CUDA_SUCCESS)
        return err_set(e, RP_WORKER,
                       "cuKernelGetParamInfo of %.64s, node %llu: expected %llu parameters, found more",
                       s->entry, (unsigned long long)s->node, (unsigned long long)s->n_args);
    return RP_OK;
}

static rp_code prepare_kernel(rp_err *e, const phase *p, step_launch *l, module *modules)
{
    const job_step *s = l->step;
    const char *name = p->jb->modules[s->module].name;
    CUfunction loaded;
    if (cu_ok(e, cudaLibraryGetKernel(&l->kernel, modules[s->module].library, s->entry),
              "cudaLibraryGetKernel of %.64s in %.64s", s->entry, name))
        return e->code;
    /* Loading is lazy: asking for the function does it here, and not while the stream is being captured. */
    CUresult rc = p->drv.kernel_function(&loaded, (CUkernel)l->kernel);
    if (driver_ok(e, &p->drv, rc, "cuKernelGetFunction of %.64s in %.64s: %.100s", s->entry, name,
                  complaint(&modules[s->module])) ||
        check_params(e, p, l))
        return e->code;
    /* The kernel's own static share is counted by the driver, which refuses what does not fit. */
    if (s->shared_bytes > DEFAULT_SHARED_BYTES &&
        cu_ok(e,
              cudaKernelSetAttributeForDevice(l->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              (int)s->shared_bytes, 0),
              "cudaKernelSetAttributeForDevice of %.64s, node %llu", s->entry, (unsigned long long)s->node))
        return e->code;
    l->config = (cudaLaunchConfig_t){
        .gridDim = {(unsigned)s->grid[0], (unsigned)s->grid[1], (unsigned)s->grid[2]},
        .blockDim = {(unsigned)s->block[0], (unsigned)s->block[1], (unsigned)s->block[2]},
        .dynamicSmemBytes = s->shared_bytes,
        .stream = p->stream,
    };
    for (uint64_t i = 0; i < s->n_args; i++) {
        l->pointers[i] =
            s->args[i] < 0 ? (void *)(uintptr_t)s->values[i].bits : memory_at(&p->mem, s->args[i]);
        l->args[i] = &l->pointers[i];
    }
    return RP_OK;
}

static void prepare_copy(const phase *p, step_launch *l)
{
    l->dst = memory_at(&p->mem, l->step->dst);
    l->src = memory_at(&p->mem, l->step->src);
    l->bytes = p->jb->buffers[l->step->dst].bytes;
}

static rp_code prepare_params(rp_err *e, phase *p)
{
    void *at = NULL;
    if (!p->jb->n_params)
        return RP_OK;
    if (cu_ok(e, cudaHostAlloc(&at, p->jb->n_params * sizeof *p->staging, cudaHostAllocDefault),
              "cudaHostAlloc of the parameters"))
        return e->code;
    p->staging = at;
    for (uint64_t i = 0; i < p->jb->n_params; i++)
        p->staging[i] = p->jb->params[i];
    return RP_OK;
}

rp_code launch_prepare(rp_err *e, phase *p)
{
    const job *jb = p->jb;
    cublasLtHandle_t handle = NULL;
    module *modules = scratch_array(p->sc, jb->n_modules, sizeof *modules);
    p->launches = scratch_array(p->sc, jb->n_steps, sizeof *p->launches);
    p->r->algorithms = scratch_array(p->sc, jb->n_steps, sizeof *p->r->algorithms);
    if (!modules || !p->launches || !p->r->algorithms)
        return err_nomem(e);
    if (prepare_params(e, p))
        return e->code;
    for (uint64_t i = 0; i < jb->n_modules; i++)
        if (load_module(e, &modules[i], p, &jb->modules[i]))
            return e->code;
    for (uint64_t i = 0; i < jb->n_steps; i++) {
        step_launch *l = &p->launches[i];
        l->step = &jb->steps[i];
        switch (l->step->kind) {
        case JOB_MATMUL:
            if (!handle && lt_ok(e, cublasLtCreate(&handle), "cublasLtCreate"))
                return e->code;
            if (matmul_prepare(e, &l->mm, handle, &p->mem, l->step, &p->r->algorithms[p->r->n_algorithms]))
                return e->code;
            p->r->n_algorithms++;
            break;
        case JOB_KERNEL:
            if (prepare_kernel(e, p, l, modules))
                return e->code;
            break;
        case JOB_COPY:
            prepare_copy(p, l);
            break;
        }
    }
    return RP_OK;
}

rp_code launch_params(rp_err *e, const phase *p)
{
    if (!p->jb->n_params)
        return RP_OK;
    return cu_ok(e,
                 cudaMemcpyAsync(memory_at(&p->mem, p->jb->params_buffer), p->staging,
                                 p->jb->n_params * sizeof *p->staging, cudaMemcpyHostToDevice, p->stream),
                 "cudaMemcpyAsync of the parameters");
}

rp_code launch_step(rp_err *e, const phase *p, uint64_t i)
{
    step_launch *l = &p->launches[i];
    cudaError_t rc;
    cublasStatus_t status;
    switch (l->step->kind) {
    case JOB_MATMUL:
        status = matmul_launch(&l->mm, p->stream);
        if (status != CUBLAS_STATUS_SUCCESS)
            return lt_ok(e, status, "cublasLtMatmul of node %llu", (unsigned long long)l->step->node);
        break;
    case JOB_KERNEL:
        rc = cudaLaunchKernelExC(&l->config, (const void *)l->kernel, l->args);
        if (rc != cudaSuccess)
            return cu_ok(e, rc, "cudaLaunchKernelExC of %.64s, node %llu", l->step->entry,
                         (unsigned long long)l->step->node);
        break;
    case JOB_COPY:
        rc = cudaMemcpyAsync(l->dst, l->src, l->bytes, cudaMemcpyDeviceToDevice, p->stream);
        if (rc != cudaSuccess)
            return cu_ok(e, rc, "cudaMemcpyAsync of node %llu", (unsigned long long)l->step->node);
        break;
    }
    return RP_OK;
}

rp_code launch_all(rp_err *e, const phase *p)
{
    if (launch_params(e, p))
        return e->code;
    for (uint64_t i = 0; i < p->jb->n_steps; i++)
        if (launch_step(e, p, i))
            return e->code;
    return RP_OK;
}
