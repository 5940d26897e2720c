/* The independent capture of the plans under artifacts/workloads: everything in this folder is written by
 * hand and shares no code with the rest of the repository, so that what it records can be compared with what
 * the rest derives. workloads.c states each plan anew, as formulas; no plan file is read.
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
extern const char *capturing; /* the workload in hand, for messages; NULL before there is one */
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

/* plan.c: a plan as workloads.c states it, step by step. Offsets and grids are formulas over the sizes. */
enum {
    PARAMETER_BYTES = 8,
    WORKSPACE_BYTES = 33554432,
    BLOCK_THREADS = 256,
    MAX_BUFFERS = 12,
    MAX_STEPS = 8,
    MAX_ARGUMENTS = 4,
    MAX_RANGES = 16,
    MAX_KERNELS = 4,
    MAX_OUTPUTS = 2
};
typedef struct {
    uint64_t m, n, k, h; /* x is m by k; h is the inner extent between two chained products */
} problem;
typedef enum { F16, F32 } number_type;
typedef struct {
    const char *name;
    number_type type;
    uint64_t elements, offset;
    bool in_arena;
    unsigned fill;   /* an input: a multiple of 1/fill in [-1, 1]; 0: not an input */
    double constant; /* an input of one element: this, when not 0 */
} plan_buffer;
typedef struct {
    int buffer;
    uint64_t rows, cols;
    bool by_rows; /* else by columns; tight either way */
} matrix;
typedef enum { STEP_MATMUL, STEP_KERNEL, STEP_COPY } step_kind;
typedef struct {
    step_kind kind;
    uint64_t node; /* in the plan */
    matrix a, b, d;
    bool trans_a, trans_b, accumulate, relu;
    int bias; /* a buffer, or NONE */
    uint64_t workspace_offset;
    int kernel;                                /* index into names */
    int arguments[MAX_ARGUMENTS], n_arguments; /* the last is the destination; the parameters follow */
    uint64_t elements;                         /* of the destination */
    int from, to;
} plan_step;
typedef struct {
    char name[24];
    uint64_t offset, bytes;
} arena_range;
typedef struct inputs inputs;
/* The value at a row and column of an output's logical matrix, rounded where the plan rounds. */
typedef double (*formula)(const inputs *in, uint64_t row, uint64_t column);
typedef struct {
    int buffer;
    bool transposed; /* the buffer holds the columns of the logical m by n matrix one after the other */
    formula value;
} plan_output;
typedef struct {
    problem size;
    plan_buffer buffers[MAX_BUFFERS];
    plan_step steps[MAX_STEPS];
    arena_range ranges[MAX_RANGES];
    const char *kernels[MAX_KERNELS];
    plan_output outputs[MAX_OUTPUTS];
    int n_buffers, n_steps, n_ranges, n_kernels, n_outputs;
    uint64_t slab_bytes;
} plan;
enum { NONE = -1, FIRST_OFFSET = 256 };
uint64_t align256(uint64_t bytes);
/* A buffer; its index comes back. An input outside the arena, an output outside it, and one inside. */
int input_buffer(plan *p, const char *name, uint64_t elements, unsigned fill);
int output_buffer(plan *p, const char *name, uint64_t elements);
int arena_buffer(plan *p, const char *name, number_type type, uint64_t elements, uint64_t offset);
/* The first place behind that buffer's bytes, and behind a workspace there. */
uint64_t behind(const plan *p, int buffer);
matrix rows_of(int buffer, uint64_t rows, uint64_t cols);
matrix columns_of(int buffer, uint64_t rows, uint64_t cols);
plan_step *multiply(plan *p, uint64_t node, matrix a, bool trans_a, matrix b, bool trans_b, matrix d,
                    uint64_t workspace_offset);
void launch_kernel(plan *p, uint64_t node, const char *name, int n_arguments, const int arguments[]);
void copy_whole(plan *p, uint64_t node, int from, int to);
void give(plan *p, int buffer, bool transposed, formula value);
int find_buffer(const plan *p, const char *name);

/* workloads.c */
typedef struct {
    const char *name;
    problem full, small;
    void (*state)(plan *p, const problem *size);
} workload;
const workload *workload_find(const char *folder, bool *small);
void workload_state(plan *p, const workload *w, bool small);

/* fixture.c: inputs for which every product and every sum is exact in F32, whatever the order of summation.
 */
enum { SAMPLED = 4096 };
struct inputs {
    problem size;
    double *values[MAX_BUFFERS]; /* by buffer; NULL where it is not an input */
    uint16_t *halves[MAX_BUFFERS];
    int x, w, v, bias, scale, residual; /* buffers, or NONE */
    double **hidden;                    /* rows of the first product of a chain, as they are asked for */
};
typedef struct {
    uint64_t count, *at; /* elements of the output's buffer */
    double *expected;
} output_sample;
typedef struct {
    inputs in;
    output_sample samples[MAX_OUTPUTS];
} fixture;
extern const char fixture_name[];
double rounded_to_half(double value);
void fixture_make(fixture *f, const plan *p);
/* Ends the process on a wrong element; returns how many checked elements were not equal to the bit. */
uint64_t fixture_check(const fixture *f, const plan *p, int output, const uint16_t *y, const char *after);

/* kernels.c */
typedef struct {
    const char *name;
    char *ptx;
    cudaLibrary_t library;
    cudaKernel_t entry;
} kernel;
void kernels_compile(kernel out[MAX_KERNELS], const plan *p, const char *folder); /* needs no GPU */
void kernels_load(kernel kernels[MAX_KERNELS], const plan *p);
void nvrtc_version(char *out, size_t bytes);

/* rig.c: the plan's buffers and steps on a device. */
typedef struct {
    cublasLtMatmulDesc_t call;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulHeuristicResult_t choice;
    char trace[4096]; /* the library's own Trace line of the captured call; empty when none was logged */
} matmul;
typedef struct {
    const plan *plan;
    const fixture *data;
    kernel *kernels;
    cudaStream_t stream;
    void *buffers[MAX_BUFFERS];
    unsigned char *arena;
    int64_t *staging; /* pinned */
    cublasLtHandle_t handle;
    matmul calls[MAX_STEPS]; /* by step */
    uint64_t inexact, checked;
} rig;
void rig_describe(rig *r, const plan *p); /* the descriptors alone; needs no GPU */
void rig_init(rig *r, const plan *p, const fixture *data, kernel kernels[MAX_KERNELS]);
void rig_issue_parameters(rig *r);
void rig_issue_step(rig *r, int step);
void rig_issue(rig *r); /* puts the plan on the stream, once */
void rig_poison(rig *r);
void rig_check(rig *r, const char *after);

/* graph.c */
enum { MAX_NODES = 32 };
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
    size_t ends[MAX_STEPS]; /* nodes in the graph when this step had been captured */
} plan_graph;
void graph_capture(plan_graph *g, rig *r);
void graph_read(plan_graph *g, const plan *p);

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

/* record.c, calls.c, published.c */
typedef struct {
    const char *name, *folder;
    const workload *workload;
    bool small;
    const plan *plan;
    const rig *rig;
    const plan_graph *graph;
    const timing *timings;
    const activity *activity;
    const file_list *files;
    const loaded_library *libraries;
    const char *binary_sha256;
} capture_record;
void record_write(FILE *out, const capture_record *record);
void record_write_timings(FILE *out, const timing timings[SCOPES]);
void record_describe(FILE *out, const char *name, const rig *r); /* needs no GPU */
void json_timings(json *j, const timing timings[SCOPES]);
void arena_write(json *j, const plan *p);
void calls_write(json *j, const rig *r, bool chosen);
void published_write(json *j, const workload *w, bool small);
void original_write(json *j, const workload *w);
void not_observed_write(json *j, const workload *w, bool driver_version_seen, bool trace_seen);

#endif
