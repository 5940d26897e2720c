/* Uninstrumented times. Inside the clock there are the two calls that are timed, and nothing else. */
#include "gpu/cuda/clocks.h"
#include "gpu/cuda/cu.h"
#include "gpu/cuda/phase.h"
#include <stdlib.h>
#include <time.h>

enum { POPULATIONS = 3 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Time `calls` synchronized calls. */
typedef rp_code timed_block(rp_err *e, const phase *p, uint64_t calls, uint64_t *ns);

static rp_code graph_block(rp_err *e, const phase *p, uint64_t calls, uint64_t *ns)
{
    cudaGraphExec_t exec = p->exec;
    cudaStream_t stream = p->stream;
    cudaError_t rc = cudaSuccess;
    uint64_t begin = now_ns();
    for (uint64_t i = 0; i < calls; i++)
        if ((rc = cudaGraphLaunch(exec, stream)) != cudaSuccess ||
            (rc = cudaStreamSynchronize(stream)) != cudaSuccess)
            break;
    *ns = now_ns() - begin;
    return cu_ok(e, rc, "cudaGraphLaunch and cudaStreamSynchronize in a timed block");
}

static rp_code stream_block(rp_err *e, const phase *p, uint64_t calls, uint64_t *ns)
{
    cudaStream_t stream = p->stream;
    cudaError_t rc = cudaSuccess;
    uint64_t begin = now_ns();
    for (uint64_t i = 0; i < calls; i++)
        if (launch_all(e, p) || (rc = cudaStreamSynchronize(stream)) != cudaSuccess)
            break;
    *ns = now_ns() - begin;
    return e->code ? e->code : cu_ok(e, rc, "cudaStreamSynchronize in a timed block");
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The upper median of n > 0 values, which are sorted. */
static uint64_t median(uint64_t *v, uint64_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

/* Warm up, then time a few calls one by one to learn how many fill a block. */
static rp_code calls_a_block(rp_err *e, phase *p, timed_block *block, uint64_t *calls)
{
    const job_timing *t = &p->jb->timing;
    uint64_t ns, *pilot = scratch_array(p->sc, t->pilot, sizeof *pilot);
    if (!pilot)
        return err_nomem(e);
    if (t->warmup && block(e, p, t->warmup, &ns))
        return e->code;
    for (uint64_t i = 0; i < t->pilot; i++)
        if (block(e, p, 1, &pilot[i]))
            return e->code;
    uint64_t one = median(pilot, t->pilot);
    if (!one)
        one = 1;
    *calls = (t->block_ns + one - 1) / one;
    if (*calls > t->max_calls)
        *calls = t->max_calls;
    return RP_OK;
}

/* Nanoseconds of a block as picoseconds a call, to nearest. The reader refuses a time of 0. */
static uint64_t sample(uint64_t ns, uint64_t calls)
{
    uint64_t ps = (ns * 1000 + calls / 2) / calls;
    return ps ? ps : 1;
}

static rp_code add_population(rp_err *e, phase *p, const char *scope, uint64_t calls, result_timing **out)
{
    result_timing *t = &p->r->timings[p->r->n_timings];
    *t = (result_timing){.scope = scope, .calls_per_block = calls};
    t->samples_ps = scratch_array(p->sc, p->jb->timing.blocks, sizeof *t->samples_ps);
    if (!t->samples_ps)
        return err_nomem(e);
    *out = t;
    return RP_OK;
}

static rp_code host_population(rp_err *e, phase *p, const char *scope, timed_block *block, bool clocks)
{
    uint64_t calls = 1, blocks = p->jb->timing.blocks, ns;
    result_timing *t;
    if (calls_a_block(e, p, block, &calls) || add_population(e, p, scope, calls, &t))
        return e->code;
    for (uint64_t i = 0; i < blocks; i++) {
        if (clocks && clocks_read(&p->r->clocks[p->r->n_clocks]))
            p->r->n_clocks++;
        if (block(e, p, calls, &ns))
            return e->code;
        if (clocks && clocks_read(&p->r->clocks[p->r->n_clocks]))
            p->r->n_clocks++;
        t->samples_ps[i] = sample(ns, calls);
        t->n = i + 1;
    }
    p->r->n_timings++;
    return RP_OK;
}

/* Launches back to back between two events: what the device takes when the host is ahead of it. */
static rp_code event_population(rp_err *e, phase *p, uint64_t calls)
{
    cudaEvent_t from, to;
    result_timing *t;
    if (add_population(e, p, "device_events", calls, &t) ||
        cu_ok(e, cudaEventCreateWithFlags(&from, cudaEventDefault), "cudaEventCreateWithFlags") ||
        cu_ok(e, cudaEventCreateWithFlags(&to, cudaEventDefault), "cudaEventCreateWithFlags"))
        return e->code;
    for (uint64_t i = 0; i < p->jb->timing.blocks; i++) {
        float ms = 0;
        if (cu_ok(e, cudaEventRecord(from, p->stream), "cudaEventRecord"))
            return e->code;
        for (uint64_t k = 0; k < calls; k++)
            if (cu_ok(e, cudaGraphLaunch(p->exec, p->stream), "cudaGraphLaunch between events"))
                return e->code;
        if (cu_ok(e, cudaEventRecord(to, p->stream), "cudaEventRecord") ||
            cu_ok(e, cudaEventSynchronize(to), "cudaEventSynchronize") ||
            cu_ok(e, cudaEventElapsedTime(&ms, from, to), "cudaEventElapsedTime"))
            return e->code;
        t->samples_ps[i] = sample((uint64_t)((double)ms * 1e6), calls);
        t->n = i + 1;
    }
    p->r->n_timings++;
    return RP_OK;
}

rp_code timing_run(rp_err *e, phase *p)
{
    const job *jb = p->jb;
    const job_fixture *f = &jb->fixtures[jb->timing.fixture];
    char pci[32] = "";
    p->r->timings = scratch_array(p->sc, POPULATIONS, sizeof *p->r->timings);
    p->r->clocks = scratch_array(p->sc, 2 * jb->timing.blocks, sizeof *p->r->clocks);
    if (!p->r->timings || !p->r->clocks)
        return err_nomem(e);
    if (cu_ok(e, cudaDeviceGetPCIBusId(pci, sizeof pci, 0), "cudaDeviceGetPCIBusId"))
        return e->code;
    bool clocks = clocks_open(pci);

    if (fixture_run_all(e, p, jb->timing.fixture) || memory_prepare(e, &p->mem, POISON_FIRST, f, p->data) ||
        host_population(e, p, "host_graph_launch_sync", graph_block, clocks))
        return e->code;
    /* The output checked is the one that the last timed call left. */
    if (memory_outputs(e, &p->mem, f, p->outputs) ||
        memory_check(e, &p->mem, p->sc, POISON_FIRST, f, p->data, &p->r->fixtures[jb->timing.fixture]))
        return e->code;
    if (host_population(e, p, "host_stream_launch_sync", stream_block, false))
        return e->code;
    return event_population(e, p, p->r->timings[0].calls_per_block);
}
