/* What the parts of one phase share: the job and its data, the answer so far, and everything on the device.
 */
#ifndef GPU_CUDA_PHASE_H
#define GPU_CUDA_PHASE_H

#include "gpu/cuda/driver.h"
#include "gpu/cuda/matmul.h"
#include "gpu/cuda/memory.h"

/* A step with all that its launch needs, so that launching looks nothing up. */
typedef struct {
    const job_step *step;
    matmul mm;
    cudaLaunchConfig_t config;
    cudaKernel_t kernel;
    void *pointers[JOB_MAX_ARGS], *args[JOB_MAX_ARGS]; /* args[i] = &pointers[i] */
    void *dst;
    const void *src;
    size_t bytes;
} step_launch;

typedef struct {
    const job *jb;
    span data;
    scratch *sc;
    result *r;
    uint8_t *outputs; /* jb->output_bytes */
    driver drv;
    cudaStream_t stream;
    memory mem;
    int64_t *staging;      /* pinned; the parameters */
    step_launch *launches; /* one a step */
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} phase;

/* launch.c: load modules, make descriptors, fill p->launches and the algorithms of the result. */
RP_MUST rp_code launch_prepare(rp_err *e, phase *p);
/* The upload of the parameters, where the job has any. */
RP_MUST rp_code launch_params(rp_err *e, const phase *p);
RP_MUST rp_code launch_step(rp_err *e, const phase *p, uint64_t i);
/* Parameters, then all steps, on the stream. */
RP_MUST rp_code launch_all(rp_err *e, const phase *p);

/* graph.c: the same launches captured and instantiated, and the nodes read back into the result. */
RP_MUST rp_code graph_build(rp_err *e, phase *p);
/* One launch, waited for. */
RP_MUST rp_code graph_run(rp_err *e, const phase *p, const char *what);

/* fixture.c: poison, upload, launch once, download the outputs, look at guards and inputs. */
enum { POISON_FIRST = 0xff, POISON_SECOND = 0x6d };
RP_MUST rp_code fixture_run(rp_err *e, phase *p, uint64_t index);
/* Every fixture but `except` (n_fixtures: none). */
RP_MUST rp_code fixture_run_all(rp_err *e, phase *p, uint64_t except);

/* One file each. */
RP_MUST rp_code validate_run(rp_err *e, phase *p);
RP_MUST rp_code strays_run(rp_err *e, phase *p);
RP_MUST rp_code timing_run(rp_err *e, phase *p);

#endif
