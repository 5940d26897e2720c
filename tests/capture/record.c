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

static void write_producer(json *j)
{
    char hex[HEX_DIGEST];
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
    sha256_file("/proc/self/exe", hex);
    json_string(j, "binary_sha256", hex);
    json_string(j, "compiler", __VERSION__);
    json_close(j, '}');
}

static void write_original(json *j)
{
    json_open(j, "original", '{');
    json_string(j, "project", "luminal-ai/luminal");
    json_string(j, "commit", "77d3060f01dc9d6f649687cf16a651e3f288aa0c");
    json_string(
        j, "note",
        "The frozen choice (descriptors, arena, launches) is the original's, as its document describes it. "
        "This capture is a hand-run of that choice on another device by the program named under producer; it "
        "is not the original's own run, and the generated sources are written after its description.");
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

static void write_libraries(json *j, uint32_t cupti_version)
{
    loaded_library libraries[LIBRARIES];
    char versions[LIBRARIES][32];
    int runtime = 0;
    find_libraries(libraries);
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

static void write_files(json *j, const char *workload)
{
    file_list files;
    list_files(workload, &files);
    json_open(j, "files", '[');
    for (size_t i = 0; i < files.count; i++) {
        json_open(j, NULL, '{');
        json_string(j, "path", files.items[i].path);
        json_string(j, "sha256", files.items[i].sha256);
        json_close(j, '}');
        free(files.items[i].path);
    }
    json_close(j, ']');
    free(files.items);
}

static void write_range(json *j, const char *name, uint64_t offset, uint64_t bytes)
{
    json_open(j, NULL, '{');
    json_string(j, "name", name);
    json_int(j, "offset_bytes", offset);
    json_int(j, "bytes", bytes);
    json_close(j, '}');
}

static void write_arena(json *j, const arena_table *t)
{
    json_open(j, "arena", '{');
    json_seen(j, SELF,
              "formulas written out by hand for this plan; the run captured here used these offsets in one "
              "allocation, with x, wt, bias and y allocated apart");
    json_int(j, "slab_bytes", t->slab_bytes);
    json_open(j, "ranges", '[');
    write_range(j, "parameters", 0, PARAMETER_BYTES);
    write_range(j, "p32", t->p32_offset, t->p32_bytes);
    write_range(j, "workspace@2", t->workspace_offset, WORKSPACE_BYTES);
    write_range(j, "p16", t->p16_offset, t->p16_bytes);
    json_close(j, ']');
    json_close(j, '}');
}

static uint64_t layout_value(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                             size_t bytes)
{
    uint64_t value =
        0; /* attributes of four bytes fill its low half: the library runs on little-endian hosts */
    size_t written = 0;
    LT(cublasLtMatrixLayoutGetAttribute(layout, which, &value, bytes, &written));
    if (written != bytes)
        fail("cublasLtMatrixLayoutGetAttribute gives %zu bytes of attribute %d, not %zu", written, (int)which,
             bytes);
    return value;
}

static const char *type_name(uint64_t type)
{
    if (type != CUDA_R_16F && type != CUDA_R_32F)
        fail("cuBLASLt holds matrix or scale type %llu, which this plan does not use",
             (unsigned long long)type);
    return type == CUDA_R_16F ? "f16" : "f32";
}

static const char *order_name(uint64_t order)
{
    if (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW)
        fail("cuBLASLt holds order %llu, which this plan does not use", (unsigned long long)order);
    return order == CUBLASLT_ORDER_COL ? "col" : "row";
}

static void write_matrix(json *j, const char *key, cublasLtMatrixLayout_t layout)
{
    json_open(j, key, '{');
    json_string(j, "type", type_name(layout_value(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, 4)));
    json_int(j, "rows", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, 8));
    json_int(j, "cols", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_COLS, 8));
    json_int(j, "ld", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_LD, 8));
    json_string(j, "order", order_name(layout_value(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, 4)));
    json_close(j, '}');
}

static uint32_t call_value(cublasLtMatmulDesc_t call, cublasLtMatmulDescAttributes_t which)
{
    uint32_t value = 0;
    size_t written = 0;
    LT(cublasLtMatmulDescGetAttribute(call, which, &value, sizeof value, &written));
    if (written != sizeof value)
        fail("cublasLtMatmulDescGetAttribute gives %zu bytes of attribute %d, not 4", written, (int)which);
    return value;
}

static void write_call_fields(json *j, cublasLtMatmulDesc_t call)
{
    if (call_value(call, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE) != CUBLAS_COMPUTE_32F ||
        call_value(call, CUBLASLT_MATMUL_DESC_EPILOGUE) != CUBLASLT_EPILOGUE_DEFAULT)
        fail("cuBLASLt holds another compute type or epilogue than this plan's");
    json_bool(j, "trans_a", call_value(call, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T);
    json_bool(j, "trans_b", call_value(call, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T);
    json_string(j, "compute", "32f");
    json_string(j, "scale", type_name(call_value(call, CUBLASLT_MATMUL_DESC_SCALE_TYPE)));
    json_string(j, "epilogue", "default");
}

static void write_algorithm(json *j, const cublasLtMatmulAlgo_t *algorithm)
{
    static const struct {
        const char *key;
        cublasLtMatmulAlgoConfigAttributes_t attribute;
        size_t bytes;
    } fields[] = {
        {"id", CUBLASLT_ALGO_CONFIG_ID, 4},
        {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
        {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
        {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
        {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
        {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
        {"custom_option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
        {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
        {"inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    };
    json_open(j, "algorithm", '{');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t value = 0; /* little-endian, as above */
        size_t written = 0;
        LT(cublasLtMatmulAlgoConfigGetAttribute(algorithm, fields[i].attribute, &value, fields[i].bytes,
                                                &written));
        if (written != fields[i].bytes)
            fail("algorithm field %s has %zu bytes, not %zu", fields[i].key, written, fields[i].bytes);
        json_int(j, fields[i].key, value);
    }
    json_close(j, '}');
}

static void write_calls(json *j, const rig *r)
{
    json_open(j, "calls", '[');
    json_open(j, NULL, '{');
    json_int(j, "node", 2);
    json_seen(j, "cuBLASLt",
              "descriptors and algorithm read back from the library's own objects by its GetAttribute "
              "functions; the "
              "one result of cublasLtMatmulAlgoGetHeuristic; trace by cublasLtLoggerSetCallback at level 5, "
              "with the "
              "time and process fields of the prefix left out");
    write_matrix(j, "a", r->mm.a);
    write_matrix(j, "b", r->mm.b);
    write_matrix(j, "c", r->mm.c);
    write_matrix(j, "d", r->mm.d);
    write_call_fields(j, r->mm.call);
    json_int(j, "workspace_bytes", WORKSPACE_BYTES);
    write_algorithm(j, &r->mm.choice.algo);
    json_int(j, "heuristic_workspace_bytes", r->mm.choice.workspaceSize);
    json_string(j, "trace", r->trace);
    json_close(j, '}');
    json_close(j, ']');
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

void record_write(FILE *out, const capture_record *record)
{
    json j = {.out = out};
    char release[96];
    driver_release(release, sizeof release);
    json_open(&j, NULL, '{');
    json_string(&j, "format", "replay-capture/0");
    json_string(&j, "workload",
                strrchr(record->workload, '/') ? strrchr(record->workload, '/') + 1 : record->workload);
    write_producer(&j);
    write_original(&j);
    write_device(&j);
    write_driver(&j, release);
    write_libraries(&j, record->activity->cupti_version);
    write_files(&j, record->workload);
    write_arena(&j, &record->rig->table);
    write_calls(&j, record->rig);
    write_nodes(&j, record->graph, record->activity);
    json_timings(&j, record->timings);
    published_write(&j, &record->rig->data.size);
    not_observed_write(&j, release[0] != '\0', record->rig->trace[0] != '\0');
    json_close(&j, '}');
}
