#include "tests/capture/capture.h"

#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        fail("CLOCK_MONOTONIC cannot be read");
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t median_u64(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* A block of calls, in picoseconds. */
typedef uint64_t (*block_fn)(plan_graph *g, rig *r, uint64_t calls);

static uint64_t graph_sync_block(plan_graph *g, rig *r, uint64_t calls)
{
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < calls; i++) {
        CUDA(cudaGraphLaunch(g->exec, r->stream));
        CUDA(cudaStreamSynchronize(r->stream));
    }
    return (now_ns() - start) * 1000;
}

static uint64_t stream_sync_block(plan_graph *g, rig *r, uint64_t calls)
{
    (void)g;
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < calls; i++) {
        rig_issue(r);
        CUDA(cudaStreamSynchronize(r->stream));
    }
    return (now_ns() - start) * 1000;
}

static uint64_t device_block(plan_graph *g, rig *r, uint64_t calls)
{
    cudaEvent_t start, stop;
    float ms = 0;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaEventRecord(start, r->stream));
    for (uint64_t i = 0; i < calls; i++)
        CUDA(cudaGraphLaunch(g->exec, r->stream));
    CUDA(cudaEventRecord(stop, r->stream));
    CUDA(cudaEventSynchronize(stop));
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    return (uint64_t)((double)ms * 1e9 + 0.5);
}

/* As many calls as fill 20 ms at the pilot's pace. */
static uint64_t calls_for(uint64_t pilot_ps)
{
    const uint64_t block_ps = 20000000000u;
    uint64_t calls = pilot_ps ? (block_ps + pilot_ps - 1) / pilot_ps : MAX_CALLS;
    return calls > MAX_CALLS ? MAX_CALLS : calls;
}

static void take(timing *t, block_fn block, plan_graph *g, rig *r)
{
    uint64_t pilots[PILOT_CALLS], sorted[BLOCKS];
    rig_poison(r);
    block(g, r, WARM_UP_CALLS);
    for (int i = 0; i < PILOT_CALLS; i++)
        pilots[i] = block(g, r, 1);
    t->calls_per_block = calls_for(median_u64(pilots, PILOT_CALLS));
    for (int i = 0; i < BLOCKS; i++) {
        t->samples_ps[i] = (block(g, r, t->calls_per_block) + t->calls_per_block / 2) / t->calls_per_block;
        sorted[i] = t->samples_ps[i];
    }
    t->median_ps = median_u64(sorted, BLOCKS);
    rig_check(r, t->scope);
}

#define PROTOCOL                                                                                             \
    "10 warm-up calls, 3 pilot calls, 15 blocks of ceil(20 ms / pilot median) calls, at most 2000; a "       \
    "sample is a block's time divided by its calls; "

void timings_take(timing out[SCOPES], plan_graph *g, rig *r)
{
    static const struct {
        timing labels;
        block_fn block;
    } scopes[SCOPES] = {
        {{.scope = "host_graph_launch_sync",
          .observer = "this program's host clock (CLOCK_MONOTONIC)",
          .how =
              PROTOCOL "each call is cudaGraphLaunch and cudaStreamSynchronize; no profiler was initialised"},
         graph_sync_block},
        {{.scope = "host_stream_launch_sync",
          .observer = "this program's host clock (CLOCK_MONOTONIC)",
          .how = PROTOCOL "each call issues the parameter copy and the plan's steps on the stream and then "
                          "synchronizes it; no profiler was initialised"},
         stream_sync_block},
        {{.scope = "device_events",
          .observer = "the device's event timestamps (cudaEventElapsedTime)",
          .how = PROTOCOL
          "a block is back-to-back cudaGraphLaunch calls between two events; each pilot is a block "
          "of one call; no profiler was initialised"},
         device_block},
    };
    for (int i = 0; i < SCOPES; i++) {
        out[i] = scopes[i].labels;
        take(&out[i], scopes[i].block, g, r);
    }
}
