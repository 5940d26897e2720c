/* What a worker answers for one phase, "replay-result/0". Times are integers in picoseconds; every list is in
 * launch or node order. Optional parts are absent (n = 0) where the phase does not have them. */
#ifndef GPU_RESULT_H
#define GPU_RESULT_H

#include "gpu/job.h"

typedef struct {
    const char *soname, *version; /* version as the library itself says, "" when it does not */
    digest sha256;
    uint64_t bytes;
} result_library;

/* The chosen algorithm of one matmul, as read back from the library. */
typedef struct {
    uint64_t node;
    int64_t id, tile, stages, split_k, reduction, swizzle, custom_option, cluster, inner_shape;
    uint64_t workspace_bytes; /* what the heuristic says it needs */
} result_algorithm;

typedef enum { RESULT_NODE_KERNEL, RESULT_NODE_MEMCPY, RESULT_NODE_OTHER } result_node_kind;
extern const char *const result_node_names[]; /* "kernel", "memcpy", "other" */

/* One node of the instantiated graph or one record of the timeline, in order. */
typedef struct {
    result_node_kind kind;
    const char *name;                       /* of the kernel function */
    uint64_t grid[3], block[3], cluster[3]; /* cluster 0,0,0 when none is set */
    uint64_t dynamic_shared_bytes,
        registers; /* registers: graph, the driver's attribute; timeline, CUPTI's allocated count */
    uint64_t static_shared_bytes; /* timeline only */
    uint64_t bytes;               /* of a memcpy */
    uint64_t start_ns, end_ns,
        launch; /* timeline only: since the first record's start; launch counts graph launches from 0 */
} result_node;

typedef struct {
    const char *name; /* of the fixture */
    bool runs_equal;  /* validate only: two runs gave the same bytes */
    bool inputs_unchanged;
    const char *inputs_changed; /* ids of changed inputs, comma separated, "" when none */
    bool guards_intact;
    const char *guards_broken; /* "" when none; "arena+ at 128": 128 bytes past its end, "x- at 4": 4 before
                                  its start */
    uint64_t unwritten_bytes;  /* validate only: output bytes still equal to both of two different poison
                                  patterns' fills */
} result_fixture;

/* validate: bytes changed outside a step's declared writes, in the pass node by node over the arena and all
 * external buffers. */
typedef struct {
    uint64_t node, stray_bytes, first_offset_bytes;
    const char *buffer; /* where the first one lies: an external buffer's id, "arena", or "ID+", "ID-" for its
                           guard bands */
} result_stray;

/* One population of samples, never pooled with another. */
typedef struct {
    const char *scope; /* host_graph_launch_sync, host_stream_launch_sync, device_events, cupti_activity */
    uint64_t calls_per_block, n, *samples_ps;
} result_timing;

/* Read before and after each block. */
typedef struct {
    uint64_t sm_mhz, mem_mhz, power_mw, throttle_reasons, temperature_c;
} result_clock;

typedef struct {
    digest sha256; /* of the cubin as loaded */
    uint64_t bytes;
    uint64_t output_offset_bytes; /* where its bytes follow the outputs in the output blob */
    const char *kernels; /* names of kernels seen launched from it, comma separated, "" when unknown */
} result_cubin;

/* What a memory checker saw: the emulator only. A buffer's bytes lie inside it, or before or past its end. */
typedef struct {
    const char *kind; /* as docs/emulator.md lists them: "uninitialised_read", "race", … */
    const char *fixture, *kernel, *buffer; /* "" where there is none */
    uint64_t node, line; /* line: of the CUDA source where the PTX carries one, else of the PTX; 0 unknown */
    uint64_t block[3], thread[3];
    int64_t offset_bytes;  /* from the buffer's start */
    uint64_t bytes, count; /* count: how often, over all fixtures */
    const char *message;
} result_finding;

/* A kernel's instructions: the emulator only. */
typedef struct {
    const char *entry, *instruction;
    uint64_t node, count; /* thread-instructions executed in one launch */
} result_instruction;

/* Why a kernel's results may differ in their last bits between two correct devices: the emulator only. */
typedef struct {
    const char *entry, *approximate, *contractible; /* instructions, comma separated; "" when there is none */
    uint64_t node;
} result_kernel;

typedef struct {
    digest job_sha256;
    digest outputs_sha256; /* of the output blob's first output_bytes, where fixtures are reported; else of
                              nothing */
    job_phase phase;
    bool ok;            /* status "ok"; otherwise `error` says which call failed and how */
    const char *error;  /* "" when ok */
    bool profile_error; /* the failure is the profiler's, not the replay's */
    bool unavailable;   /* no failure: the phase does not exist on this worker */
    bool refused;       /* a kernel holds an instruction that the worker refuses by name */
    const char *device_name, *device_uuid_sha256, *compute_capability, *driver;
    uint64_t sm_count, memory_bytes, l2_bytes;
    const char *library_log; /* Trace lines of cublasLtMatmul calls, one a line */
    uint64_t n_libraries, n_algorithms, n_graph, n_timeline, n_fixtures, n_strays, n_timings, n_clocks,
        n_cubins;
    uint64_t n_findings, n_instructions, n_kernels;
    uint64_t timeline_launches, timeline_dropped;
    result_library *libraries;
    result_algorithm *algorithms;
    result_node *graph, *timeline;
    result_fixture *fixtures;
    result_stray *strays;
    result_timing *timings;
    result_clock *clocks;
    result_cubin *cubins;
    result_finding *findings;
    result_instruction *instructions;
    result_kernel *kernels;
} result;

/* The device name that the emulator answers with, and whether a result is its own. */
extern const char result_emulator[];
bool result_emulated(const result *r);

void result_write(jw *j, const result *r);
/* The result as pretty JSON onto descriptor fd: how a worker answers. */
RP_MUST rp_code result_send(rp_err *e, const result *r, int fd);
/* Strict, like every reader; a result that breaks its format is RP_INVALID (evidence.invalid). */
RP_MUST rp_code result_read(rp_err *e, result **out, scratch *sc, const char *file, span text);

#endif
