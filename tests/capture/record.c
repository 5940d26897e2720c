#include "tests/capture/capture.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define SELF "tests/capture"

static const struct {
    const char *path, *sha256;
} sources[] = {
#include "capture-sources.inc" /* written by module.mk from the very files that were compiled */
};

static void write_producer(json *j, const char *binary_sha256)
{
    json_open(j, "producer", '{');
    json_string(j, "program", SELF);
    json_open(j, "sources", '[');
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        json_open(j, NULL, '{');
        json_string(j, "path", sources[i].path);
        json_string(j, "sha256", sources[i].sha256);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_string(j, "binary_sha256", binary_sha256);
    json_string(j, "compiler", __VERSION__);
    json_close(j, '}');
}

/* The UUID is hashed in the spelling that nvidia-smi prints, so that whoever holds the device can recompute
 * it. */
static void hash_uuid(const cudaUUID_t *uuid, char hex[HEX_DIGEST])
{
    char text[64];
    size_t at = (size_t)snprintf(text, sizeof text, "GPU-");
    for (unsigned i = 0; i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x", dash ? "-" : "",
                               (unsigned char)uuid->bytes[i]);
    }
    sha256_bytes(text, at, hex);
}

static void write_device(json *j)
{
    struct cudaDeviceProp p;
    char capability[32], hex[HEX_DIGEST];
    CUDA(cudaGetDeviceProperties(&p, 0));
    snprintf(capability, sizeof capability, "%d.%d", p.major, p.minor);
    hash_uuid(&p.uuid, hex);
    json_open(j, "device", '{');
    json_string(j, "name", p.name);
    json_string(j, "compute_capability", capability);
    json_int(j, "sm_count", (uint64_t)p.multiProcessorCount);
    json_int(j, "memory_bytes", p.totalGlobalMem);
    json_int(j, "l2_bytes", (uint64_t)p.l2CacheSize);
    json_string(j, "uuid_sha256", hex);
    json_close(j, '}');
}

static bool nvml_call(void *nvml, const char *name)
{
    int (*function)(void);
    void *symbol = dlsym(nvml, name);
    memcpy(&function, &symbol, sizeof symbol);
    return symbol && function() == 0;
}

/* NVML alone knows the driver's release; without it the text stays empty and is listed as not observed. */
static void driver_release(char *out, unsigned bytes)
{
    int (*version)(char *, unsigned);
    out[0] = '\0';
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml)
        return;
    void *symbol = dlsym(nvml, "nvmlSystemGetDriverVersion");
    memcpy(&version, &symbol, sizeof symbol);
    if (symbol && nvml_call(nvml, "nvmlInit_v2")) {
        if (version(out, bytes) != 0)
            out[0] = '\0';
        nvml_call(nvml, "nvmlShutdown");
    }
    dlclose(nvml);
}

static void write_driver(json *j, const char *release)
{
    int api = 0;
    CUDA(cudaDriverGetVersion(&api));
    json_open(j, "driver", '{');
    json_string(j, "version", release);
    json_int(j, "cuda_api", (uint64_t)api);
    json_seen(j, "NVML and the CUDA runtime", "nvmlSystemGetDriverVersion; cudaDriverGetVersion");
    json_close(j, '}');
}

static void lt_version(char *out, size_t bytes)
{
    int major, minor, patch;
    LT(cublasLtGetProperty(MAJOR_VERSION, &major));
    LT(cublasLtGetProperty(MINOR_VERSION, &minor));
    LT(cublasLtGetProperty(PATCH_LEVEL, &patch));
    snprintf(out, bytes, "%d.%d.%d", major, minor, patch);
}

static void write_libraries(json *j, const loaded_library libraries[LIBRARIES], uint32_t cupti_version)
{
    char versions[LIBRARIES][32];
    int runtime = 0;
    CUDA(cudaRuntimeGetVersion(&runtime));
    snprintf(versions[0], sizeof versions[0], "%d.%d", runtime / 1000, runtime % 1000 / 10);
    lt_version(versions[1], sizeof versions[1]);
    nvrtc_version(versions[2], sizeof versions[2]);
    snprintf(versions[3], sizeof versions[3], "%u", cupti_version);
    json_open(j, "libraries", '[');
    for (int i = 0; i < LIBRARIES; i++) {
        json_open(j, NULL, '{');
        json_string(j, "soname", libraries[i].soname);
        json_string(j, "version", versions[i]);
        json_string(j, "sha256", libraries[i].sha256);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_files(json *j, const file_list *files)
{
    json_open(j, "files", '[');
    for (size_t i = 0; i < files->count; i++) {
        json_open(j, NULL, '{');
        json_string(j, "path", files->items[i].path);
        json_string(j, "sha256", files->items[i].sha256);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_range(json *j, const char *name, uint64_t offset, uint64_t bytes)
{
    json_open(j, NULL, '{');
    json_string(j, "name", name);
    json_int(j, "offset_bytes", offset);
    json_int(j, "bytes", bytes);
    json_close(j, '}');
}

/* The buffers outside the arena, as "x, w and y". */
static void list_outside(char *out, size_t bytes, const plan *p)
{
    int left = 0;
    size_t at = 0;
    for (int i = 0; i < p->n_buffers; i++)
        left += !p->buffers[i].in_arena;
    out[0] = '\0';
    for (int i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].in_arena)
            continue;
        left--;
        int n = snprintf(out + at, bytes - at, "%s%s", p->buffers[i].name,
                         left > 1    ? ", "
                         : left == 1 ? " and "
                                     : "");
        if (n < 0 || (size_t)n >= bytes - at)
            fail("the buffers' names are too long");
        at += (size_t)n;
    }
}

void arena_write(json *j, const plan *p)
{
    char outside[256], how[512];
    list_outside(outside, sizeof outside, p);
    snprintf(how, sizeof how,
             "formulas written out by hand for this plan; the run captured here used these offsets in one "
             "allocation, with %s allocated apart",
             outside);
    json_open(j, "arena", '{');
    json_seen(j, SELF, how);
    json_int(j, "slab_bytes", p->slab_bytes);
    json_open(j, "ranges", '[');
    for (int i = 0; i < p->n_ranges; i++)
        write_range(j, p->ranges[i].name, p->ranges[i].offset, p->ranges[i].bytes);
    json_close(j, ']');
    json_close(j, '}');
}

static void write_kernel(json *j, const graph_node *n, uint64_t order)
{
    char how[1024];
    bool agree = memcmp(n->graph_cluster, n->cupti_cluster, sizeof n->graph_cluster) == 0;
    snprintf(
        how, sizeof how,
        "name, grid, block, dynamic shared bytes and registers_driver read from the captured graph "
        "(cuGraphKernelNodeGetParams, cuFuncGetAttribute); CUPTI activity of %d launches, made after all "
        "timing "
        "and after the graph was read, equals them in name, grid, block and dynamic shared bytes and gives "
        "static shared bytes, registers_cupti (the allocated count), the median duration and the cluster; "
        "the "
        "graph's own cluster is %llu,%llu,%llu, which is %s",
        TRACED_LAUNCHES, (unsigned long long)n->graph_cluster[0], (unsigned long long)n->graph_cluster[1],
        (unsigned long long)n->graph_cluster[2], agree ? "the same" : "another");
    json_open(j, NULL, '{');
    json_int(j, "order", order);
    json_string(j, "name", n->name);
    json_int(j, "node", n->plan_node);
    json_dim3(j, "grid", n->grid);
    json_dim3(j, "block", n->block);
    json_dim3(j, "cluster", n->cupti_cluster);
    json_int(j, "dynamic_shared_bytes", n->dynamic_shared_bytes);
    json_int(j, "static_shared_bytes", n->static_shared_bytes);
    json_int(j, "registers_driver", n->registers_driver);
    json_int(j, "registers_cupti", n->registers_cupti);
    json_int(j, "duration_ns_median", n->duration_ns_median);
    json_seen(j, "the CUDA driver and CUPTI", how);
    json_close(j, '}');
}

static void write_copy(json *j, const graph_node *n, uint64_t order, const activity *seen)
{
    char how[512];
    snprintf(how, sizeof how,
             "read from the captured graph; CUPTI activity of %d launches shows %llu memory copies, the last "
             "of %llu "
             "bytes",
             TRACED_LAUNCHES, (unsigned long long)seen->copies, (unsigned long long)seen->copy_bytes);
    json_open(j, NULL, '{');
    json_int(j, "order", order);
    json_string(j, "kind", n->kind);
    json_int(j, "bytes", n->bytes);
    json_seen(j, "the CUDA runtime and CUPTI", how);
    json_close(j, '}');
}

/* `order` is a node's place in the graph's one chain, copies and kernels counted together. */
static void write_nodes(json *j, const plan_graph *g, const activity *seen)
{
    json_open(j, "kernels", '[');
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].is_kernel)
            write_kernel(j, &g->nodes[i], i);
    json_close(j, ']');
    json_open(j, "memcpy", '[');
    for (size_t i = 0; i < g->count; i++)
        if (!g->nodes[i].is_kernel)
            write_copy(j, &g->nodes[i], i, seen);
    json_close(j, ']');
}

void json_timings(json *j, const timing timings[SCOPES])
{
    json_open(j, "timings", '[');
    for (int i = 0; i < SCOPES; i++) {
        const timing *t = &timings[i];
        json_open(j, NULL, '{');
        json_string(j, "scope", t->scope);
        json_string(j, "fixture", fixture_name);
        json_int(j, "median_ps", t->median_ps);
        json_open(j, "samples_ps", '[');
        for (int s = 0; s < BLOCKS; s++)
            json_int(j, NULL, t->samples_ps[s]);
        json_close(j, ']');
        json_int(j, "calls_per_block", t->calls_per_block);
        json_seen(j, t->observer, t->how);
        json_string(j, "cache", "hot: inputs fit in L2");
        json_close(j, '}');
    }
    json_close(j, ']');
}

void record_write_timings(FILE *out, const timing timings[SCOPES])
{
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_timings(&j, timings);
    json_close(&j, '}');
}

static void write_launch(json *j, const plan *p, const plan_step *s)
{
    json_open(j, NULL, '{');
    json_int(j, "node", s->node);
    json_string(j, "source", p->kernels[s->kernel]);
    json_open(j, "arguments", '[');
    for (int i = 0; i < s->n_arguments; i++)
        json_string(j, NULL, p->buffers[s->arguments[i]].name);
    json_close(j, ']');
    json_dim3(j, "grid", (const uint64_t[]){(s->elements + BLOCK_THREADS - 1) / BLOCK_THREADS, 1, 1});
    json_dim3(j, "block", (const uint64_t[]){BLOCK_THREADS, 1, 1});
    json_close(j, '}');
}

void record_describe(FILE *out, const char *name, const rig *r)
{
    const plan *p = r->plan;
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_string(&j, "workload", name);
    arena_write(&j, p);
    calls_write(&j, r, false);
    json_open(&j, "launches", '[');
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == STEP_KERNEL)
            write_launch(&j, p, &p->steps[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}

static bool all_traced(const rig *r)
{
    for (int i = 0; i < r->plan->n_steps; i++)
        if (r->plan->steps[i].kind == STEP_MATMUL && !r->calls[i].trace[0])
            return false;
    return true;
}

void record_write(FILE *out, const capture_record *record)
{
    json j = {.out = out};
    char release[96];
    driver_release(release, sizeof release);
    json_open(&j, NULL, '{');
    json_string(&j, "format", "replay-capture/1");
    json_string(&j, "workload", record->name);
    write_producer(&j, record->binary_sha256);
    original_write(&j, record->workload);
    write_device(&j);
    write_driver(&j, release);
    write_libraries(&j, record->libraries, record->activity->cupti_version);
    write_files(&j, record->files);
    arena_write(&j, record->plan);
    calls_write(&j, record->rig, true);
    write_nodes(&j, record->graph, record->activity);
    json_timings(&j, record->timings);
    published_write(&j, record->workload, record->small);
    not_observed_write(&j, record->workload, release[0] != '\0', all_traced(record->rig));
    json_close(&j, '}');
}
