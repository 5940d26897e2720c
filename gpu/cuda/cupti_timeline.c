/* What the device really ran: activity records of a few launches of the graph. Recording is on from the
 * start, since the profiler has to see contexts and graphs come into being; what belongs to other work is
 * thrown away before. */
#include "gpu/cuda/cu.h"
#include "gpu/cuda/profiler.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 20, BUFFER_ALIGN = 8, MAX_RECORDS = 1 << 24 };

typedef struct {
    result_node node; /* name is malloced */
    uint64_t start, end;
    uint32_t correlation;
} record;

/* Filled on CUPTI's own thread. */
static struct {
    pthread_mutex_t lock;
    record *v;
    size_t n, cap, dropped;
    CUptiResult error;
    bool nomem;
} got = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
    if (!*buffer) {
        pthread_mutex_lock(&got.lock);
        got.nomem = true;
        pthread_mutex_unlock(&got.lock);
    }
}

static record *add(void)
{
    if (got.n == got.cap) {
        size_t cap = got.cap ? got.cap * 2 : 1024;
        record *v = cap > MAX_RECORDS ? NULL : realloc(got.v, cap * sizeof *v);
        if (!v) {
            got.nomem = true;
            return NULL;
        }
        got.v = v;
        got.cap = cap;
    }
    record *r = &got.v[got.n++];
    *r = (record){0};
    return r;
}

static uint64_t extent(int32_t v)
{
    return v < 0 ? 0 : (uint64_t)v;
}

static void add_kernel(const CUpti_ActivityKernel10 *k)
{
    record *r = add();
    if (!r)
        return;
    /* As graph.c has it: one block a cluster is no cluster. */
    bool none = k->clusterX <= 1 && k->clusterY <= 1 && k->clusterZ <= 1;
    r->node = (result_node){
        .kind = RESULT_NODE_KERNEL,
        .name = strdup(k->name ? k->name : ""),
        .grid = {extent(k->gridX), extent(k->gridY), extent(k->gridZ)},
        .block = {extent(k->blockX), extent(k->blockY), extent(k->blockZ)},
        .cluster = {none ? 0 : k->clusterX, none ? 0 : k->clusterY, none ? 0 : k->clusterZ},
        .dynamic_shared_bytes = extent(k->dynamicSharedMemory),
        .static_shared_bytes = extent(k->staticSharedMemory),
        .registers = k->registersPerThread,
    };
    r->start = k->start;
    r->end = k->end;
    r->correlation = k->correlationId;
    if (!r->node.name)
        got.nomem = true;
}

static void add_memory(result_node_kind kind, uint64_t bytes, uint64_t start, uint64_t end,
                       uint32_t correlation)
{
    record *r = add();
    if (!r)
        return;
    r->node = (result_node){
        .kind = kind, .name = strdup(kind == RESULT_NODE_OTHER ? "memset" : ""), .bytes = bytes};
    r->start = start;
    r->end = end;
    r->correlation = correlation;
    if (!r->node.name)
        got.nomem = true;
}

static void add_record(const CUpti_Activity *a)
{
    if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || a->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        add_kernel((const CUpti_ActivityKernel10 *)(const void *)a);
    } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *m = (const CUpti_ActivityMemcpy6 *)(const void *)a;
        add_memory(RESULT_NODE_MEMCPY, m->bytes, m->start, m->end, m->correlationId);
    } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)(const void *)a;
        add_memory(RESULT_NODE_OTHER, m->bytes, m->start, m->end, m->correlationId);
    }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *a = NULL;
    CUptiResult rc;
    size_t dropped = 0;
    (void)size;
    pthread_mutex_lock(&got.lock);
    while (valid && (rc = prof.next_record(buffer, valid, &a)) != CUPTI_ERROR_MAX_LIMIT_REACHED) {
        if (rc != CUPTI_SUCCESS) {
            got.error = rc;
            break;
        }
        add_record(a);
    }
    if (prof.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
        got.dropped += dropped;
    pthread_mutex_unlock(&got.lock);
    free(buffer);
}

rp_code timeline_begin(rp_err *profile)
{
    if (profiler_load(profile) ||
        profiler_ok(profile, prof.register_callbacks(give_buffer, take_buffer),
                    "cuptiActivityRegisterCallbacks") ||
        profiler_ok(profile, prof.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                    "cuptiActivityEnable CONCURRENT_KERNEL") ||
        profiler_ok(profile, prof.enable(CUPTI_ACTIVITY_KIND_MEMCPY), "cuptiActivityEnable MEMCPY") ||
        profiler_ok(profile, prof.enable(CUPTI_ACTIVITY_KIND_MEMSET), "cuptiActivityEnable MEMSET"))
        return profile->code;
    return RP_OK;
}

static int by_start(const void *a, const void *b)
{
    const record *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* One sample a launch: from the start of its first record to the end of its last. */
static rp_code add_spans(rp_err *e, phase *p)
{
    result *r = p->r;
    result_timing *t = scratch_array(p->sc, 1, sizeof *t);
    uint64_t launches = r->n_timeline ? r->timeline[r->n_timeline - 1].launch + 1 : 0;
    if (!t || !(t->samples_ps = scratch_array(p->sc, launches, sizeof *t->samples_ps)))
        return err_nomem(e);
    if (!launches)
        return RP_OK;
    t->scope = "cupti_activity";
    t->calls_per_block = 1;
    t->n = launches;
    uint64_t begin = 0, end = 0;
    for (uint64_t i = 0; i < r->n_timeline; i++) {
        const result_node *n = &r->timeline[i];
        if (!i || n->launch != n[-1].launch) {
            begin = n->start_ns;
            end = n->end_ns;
        }
        if (n->end_ns > end)
            end = n->end_ns;
        t->samples_ps[n->launch] = end > begin ? (end - begin) * 1000 : 1;
    }
    r->timings = t;
    r->n_timings = 1;
    return RP_OK;
}

/* Sorted by start. Launches were waited for one by one, so their records do not interleave, and all nodes of
 * one launch carry the identifier of the call that launched it. */
static rp_code keep(rp_err *e, phase *p)
{
    result *r = p->r;
    qsort(got.v, got.n, sizeof *got.v, by_start);
    if (!(r->timeline = scratch_array(p->sc, got.n, sizeof *r->timeline)))
        return err_nomem(e);
    uint64_t launch = 0;
    for (size_t i = 0; i < got.n; i++) {
        result_node *n = &r->timeline[i];
        *n = got.v[i].node;
        if (i && got.v[i].correlation != got.v[i - 1].correlation)
            launch++;
        n->launch = launch;
        /* Times are since the first record: nanoseconds since 1970 need more than the 53 bits of a number. */
        n->start_ns = got.v[i].start - got.v[0].start;
        n->end_ns = got.v[i].end < got.v[i].start ? n->start_ns : got.v[i].end - got.v[0].start;
    }
    r->n_timeline = got.n;
    r->timeline_dropped = got.dropped;
    return add_spans(e, p);
}

rp_code timeline_run(rp_err *e, rp_err *profile, phase *p)
{
    const job_fixture *f = &p->jb->fixtures[p->jb->timing.fixture];
    uint64_t launches = p->jb->timeline_launches;
    if (fixture_run_all(e, p, p->jb->n_fixtures) || memory_prepare(e, &p->mem, POISON_FIRST, f, p->data) ||
        cu_ok(e, cudaDeviceSynchronize(), "cudaDeviceSynchronize before the recording"))
        return e->code;
    if (profile->code)
        return RP_OK;
    if (profiler_ok(profile, prof.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll"))
        return RP_OK;
    pthread_mutex_lock(&got.lock);
    got.n = got.dropped = 0;
    got.error = CUPTI_SUCCESS;
    got.nomem = false;
    pthread_mutex_unlock(&got.lock);

    for (uint64_t i = 0; i < launches; i++)
        if (graph_run(e, p, f->name))
            return e->code;
    p->r->timeline_launches = launches;
    if (cu_ok(e, cudaDeviceSynchronize(), "cudaDeviceSynchronize after the recording"))
        return e->code;
    if (profiler_ok(profile, prof.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll"))
        return RP_OK;
    pthread_mutex_lock(&got.lock);
    rp_code rc = RP_OK;
    if (got.nomem)
        err_set(profile, RP_WORKER, "CUPTI: out of memory for activity records");
    else if (!got.n)
        err_set(profile, RP_WORKER, "CUPTI: expected activity records of %llu launches, found none",
                (unsigned long long)launches);
    else if (!profiler_ok(profile, got.error, "cuptiActivityGetNextRecord"))
        rc = keep(e, p);
    pthread_mutex_unlock(&got.lock);
    return rc;
}
