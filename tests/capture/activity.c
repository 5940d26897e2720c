#include "tests/capture/capture.h"

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void check_cupti(CUptiResult status, const char *call, int line)
{
    const char *text = NULL;
    if (status == CUPTI_SUCCESS)
        return;
    if (cuptiGetResultString(status, &text) != CUPTI_SUCCESS || !text)
        text = "unknown CUPTI result";
    fail("%s:%d: %s: %s", __FILE__, line, call, text);
}
#define CUPTI(call) check_cupti((call), #call, __LINE__)

enum { BUFFER_BYTES = 1 << 20, MAX_RECORDS = TRACED_LAUNCHES * MAX_NODES };

typedef struct {
    char name[256];
    uint64_t start, end, grid[3], block[3], cluster[3], registers, static_shared_bytes, dynamic_shared_bytes;
} kernel_record;

/* CUPTI's callbacks carry no context, and may come from a thread of its own. */
static struct {
    pthread_mutex_t lock;
    kernel_record kernels[MAX_RECORDS];
    size_t kernel_count, copy_count;
    uint64_t copy_bytes;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static uint64_t at_least_one(uint32_t value)
{
    return value ? value : 1;
}

static void keep_kernel(const CUpti_ActivityKernel10 *k)
{
    if (seen.kernel_count == MAX_RECORDS)
        fail("CUPTI recorded more kernels than %d launches can hold", TRACED_LAUNCHES);
    kernel_record *out = &seen.kernels[seen.kernel_count++];
    snprintf(out->name, sizeof out->name, "%s", k->name ? k->name : "");
    out->start = k->start;
    out->end = k->end;
    out->grid[0] = (uint64_t)k->gridX, out->grid[1] = (uint64_t)k->gridY, out->grid[2] = (uint64_t)k->gridZ;
    out->block[0] = (uint64_t)k->blockX, out->block[1] = (uint64_t)k->blockY,
    out->block[2] = (uint64_t)k->blockZ;
    out->cluster[0] = at_least_one(k->clusterX);
    out->cluster[1] = at_least_one(k->clusterY);
    out->cluster[2] = at_least_one(k->clusterZ);
    out->registers = k->registersPerThread;
    out->static_shared_bytes = (uint64_t)k->staticSharedMemory;
    out->dynamic_shared_bytes = (uint64_t)k->dynamicSharedMemory;
}

static void keep_record(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        keep_kernel((const CUpti_ActivityKernel10 *)record);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        seen.copy_bytes = ((const CUpti_ActivityMemcpy6 *)record)->bytes;
        seen.copy_count++;
    }
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)context;
    (void)stream;
    (void)bytes;
    CUpti_Activity *record = NULL;
    CUptiResult status = CUPTI_SUCCESS;
    pthread_mutex_lock(&seen.lock);
    while (valid > 0 && (status = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS)
        keep_record(record);
    pthread_mutex_unlock(&seen.lock);
    free(buffer);
    if (valid > 0 && status != CUPTI_ERROR_MAX_LIMIT_REACHED)
        check_cupti(status, "cuptiActivityGetNextRecord", __LINE__);
}

static void trace_launches(plan_graph *g, rig *r)
{
    cudaGraphExec_t exec;
    size_t dropped = 0;
    CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
    /* Instantiated anew, so that CUPTI has seen the executable from its beginning. */
    CUDA(cudaGraphInstantiate(&exec, g->graph, 0));
    for (int i = 0; i < TRACED_LAUNCHES; i++) {
        CUDA(cudaGraphLaunch(exec, r->stream));
        CUDA(cudaStreamSynchronize(r->stream));
    }
    CUDA(cudaDeviceSynchronize());
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
    CUDA(cudaGraphExecDestroy(exec));
    if (dropped)
        fail("CUPTI dropped %zu records", dropped);
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const kernel_record *)a)->start, y = ((const kernel_record *)b)->start;
    return (x > y) - (x < y);
}

static void compare(const graph_node *node, const kernel_record *k)
{
    if (strcmp(node->name, k->name) != 0)
        fail("CUPTI saw kernel %s where the graph holds %s", k->name, node->name);
    if (memcmp(node->grid, k->grid, sizeof k->grid) != 0 ||
        memcmp(node->block, k->block, sizeof k->block) != 0 ||
        node->dynamic_shared_bytes != k->dynamic_shared_bytes)
        fail("%s: CUPTI saw another grid, block or dynamic shared size than the graph holds", k->name);
}

/* Launches were synchronized one by one, so the records in order of time are the chain, over and over. */
static void fill_node(graph_node *node, size_t position, size_t kernels_per_launch)
{
    uint64_t durations[TRACED_LAUNCHES];
    for (size_t i = 0; i < TRACED_LAUNCHES; i++) {
        const kernel_record *k = &seen.kernels[i * kernels_per_launch + position];
        compare(node, k);
        durations[i] = k->end - k->start;
        node->registers_cupti = k->registers;
        node->static_shared_bytes = k->static_shared_bytes;
        memcpy(node->cupti_cluster, k->cluster, sizeof k->cluster);
    }
    node->duration_ns_median = median_u64(durations, TRACED_LAUNCHES);
}

void activity_trace(activity *out, plan_graph *g, rig *r)
{
    rig_poison(r);
    trace_launches(g, r);
    rig_check(r, "cupti_activity");
    pthread_mutex_lock(&seen.lock);
    if (seen.kernel_count != TRACED_LAUNCHES * g->kernels)
        fail("CUPTI recorded %zu kernels in %d launches of %zu", seen.kernel_count, TRACED_LAUNCHES,
             g->kernels);
    qsort(seen.kernels, seen.kernel_count, sizeof *seen.kernels, by_start);
    for (size_t i = 0, position = 0; i < g->count; i++)
        if (g->nodes[i].is_kernel)
            fill_node(&g->nodes[i], position++, g->kernels);
    *out = (activity){.copies = seen.copy_count, .copy_bytes = seen.copy_bytes};
    pthread_mutex_unlock(&seen.lock);
    CUPTI(cuptiGetVersion(&out->cupti_version));
}
