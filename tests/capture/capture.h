/* The independent capture of the weight_view plan: everything in this folder is written by hand for this one
 * plan and shares no code with the rest of the repository, so that what it records can be compared with what
 * the rest derives.
 *
 *   p   = x . wt^T     F16 x F16 -> F32, cuBLASLt, as p^T = wt . x^T
 *   p16 = f16(p)       generated kernel 000_cast
 *   y   = p16 + bias   generated kernel 001_add
 *
 * Every function here ends the process with one line on stderr when something fails: half a capture is worth
 * nothing. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* check.c */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_cuda(cudaError_t status, const char *call, const char *file, int line);
void check_lt(cublasStatus_t status, const char *call, const char *file, int line);
#define CUDA(call) check_cuda((call), #call, __FILE__, __LINE__)
#define LT(call) check_lt((call), #call, __FILE__, __LINE__)
void *must_alloc(size_t count, size_t size);

/* json.c: values go out in the order of the calls. A key is NULL inside an array. */
typedef struct {
    FILE *out;
    unsigned depth;
    bool has_sibling;
} json;
void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);
void json_string(json *j, const char *key, const char *value);
void json_int(json *j, const char *key, uint64_t value);
void json_bool(json *j, const char *key, bool value);
void json_dim3(json *j, const char *key, const uint64_t value[3]);
void json_seen(json *j, const char *observer, const char *how);

/* files.c */
enum { HEX_DIGEST = 65 };
typedef struct {
    char *path; /* relative to the folder that was listed */
    char sha256[HEX_DIGEST];
} listed_file;
typedef struct {
    listed_file *items;
    size_t count;
} file_list;
enum { LIBRARIES = 4 };
typedef struct {
    char soname[64], sha256[HEX_DIGEST];
} loaded_library;
char *read_text(const char *path, size_t *bytes); /* NUL-terminated; the caller frees it */
void sha256_bytes(const void *data, size_t bytes, char hex[HEX_DIGEST]);
void sha256_file(const char *path, char hex[HEX_DIGEST]);
void list_files(const char *folder,
                file_list *out);                    /* every regular file but capture.json, sorted bytewise */
void find_libraries(loaded_library out[LIBRARIES]); /* cudart, cublasLt, nvrtc, cupti */

/* fixture.c: inputs for which every product and every sum is exact in F32, whatever the order of summation.
 */
typedef struct {
    uint64_t batch, features, k;
} problem;
typedef struct {
    problem size;
    double *x, *wt, *bias;
    uint16_t *x_half, *wt_half, *bias_half;
} fixture;
extern const char fixture_name[];
void fixture_make(fixture *f, const problem *size);
void fixture_check(const fixture *f, const uint16_t *y, const char *after);

/* kernels.c */
enum { KERNELS = 2 };
typedef struct {
    const char *name;
    char *ptx;
    cudaLibrary_t library;
    cudaKernel_t entry;
} kernel;
void kernels_compile(kernel out[KERNELS], const char *workload); /* needs no GPU */
void kernels_load(kernel kernels[KERNELS]);
void nvrtc_version(char *out, size_t bytes);

/* rig.c: the plan's buffers and its three operations. */
enum { PARAMETER_BYTES = 8, WORKSPACE_BYTES = 33554432, BLOCK_THREADS = 256 };
typedef struct {
    uint64_t p32_offset, p32_bytes, workspace_offset, p16_offset, p16_bytes, slab_bytes;
} arena_table;
typedef struct {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t call;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulHeuristicResult_t choice;
} matmul;
typedef struct {
    fixture data;
    arena_table table;
    cudaStream_t stream;
    void *x, *wt, *bias, *y;
    unsigned char *arena;
    int64_t *staging; /* pinned */
    matmul mm;
    kernel *kernels;
    char trace[4096]; /* the library's own Trace line of the captured call; empty when none was logged */
} rig;
void rig_init(rig *r, const problem *size, kernel kernels[KERNELS]);
void rig_issue(rig *r); /* puts the plan on the stream, once */
void rig_poison(rig *r);
void rig_check(rig *r, const char *after);

/* graph.c */
enum { MAX_NODES = 16 };
typedef struct {
    bool is_kernel;
    const char *kind; /* of a copy */
    uint64_t bytes;   /* of a copy */
    char name[256];
    uint64_t grid[3], block[3], graph_cluster[3], cupti_cluster[3];
    uint64_t dynamic_shared_bytes, static_shared_bytes, registers_driver, registers_cupti;
    uint64_t duration_ns_median, plan_node;
} graph_node;
typedef struct {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    graph_node nodes[MAX_NODES];
    size_t count, kernels;
} plan_graph;
void graph_capture(plan_graph *g, rig *r);
void graph_read(plan_graph *g);

/* timing.c */
enum { WARM_UP_CALLS = 10, PILOT_CALLS = 3, BLOCKS = 15, MAX_CALLS = 2000, SCOPES = 3 };
typedef struct {
    const char *scope, *observer, *how;
    uint64_t calls_per_block, median_ps, samples_ps[BLOCKS];
} timing;
void timings_take(timing out[SCOPES], plan_graph *g, rig *r);
uint64_t median_u64(uint64_t *values, size_t count); /* sorts them */

/* activity.c: CUPTI is touched here and nowhere else, after everything above. */
enum { TRACED_LAUNCHES = 20 };
typedef struct {
    uint64_t copies, copy_bytes; /* seen in all launches; bytes of the last */
    uint32_t cupti_version;
} activity;
void activity_trace(activity *out, plan_graph *g, rig *r);

/* record.c, published.c */
typedef struct {
    const char *workload;
    const rig *rig;
    const plan_graph *graph;
    const timing *timings;
    const activity *activity;
} capture_record;
void record_write(FILE *out, const capture_record *record);
void record_write_timings(FILE *out, const timing timings[SCOPES]);
void json_timings(json *j, const timing timings[SCOPES]);
void published_write(json *j, const problem *size);
void not_observed_write(json *j, bool driver_version_seen, bool trace_seen);

#endif
