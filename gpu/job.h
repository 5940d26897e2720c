/* The one protocol between `replay` and a worker: one job in, one result out, one phase a process.
 *
 * The worker is started as `WORKER --phase` with these descriptors and nothing else open beyond stderr:
 *   3  job.json      read   this struct, format "replay-job/0"
 *   4  data          read   one blob; the job names its parts by {offset_bytes, bytes, sha256}
 *   5  result.json   write  format "replay-result/0" (gpu/result.h)
 *   6  outputs       write  blob; the job says where each output goes
 * Exit 0 means that result.json is complete, and it must echo the SHA-256 of job.json's bytes. A job whose
 * library refuses, or whose kernel does not load, is still exit 0 with status "failed" and an error in the
 * result; anything else (crash, hang, exit code) is a broken worker.
 *
 * The worker lays out memory exactly so: one arena allocation of arena_bytes between guard bands, and each
 * external buffer in an allocation of its own between guard bands. It never sees a plan. */
#ifndef GPU_JOB_H
#define GPU_JOB_H

#include "artifacts/base/digest.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/lt.h"
#include "artifacts/base/scratch.h"

enum {
    JOB_FD = 3,
    JOB_DATA_FD = 4,
    JOB_RESULT_FD = 5,
    JOB_OUTPUT_FD = 6,
    JOB_MAX_ARGS = 64,
    JOB_MAX_WRITES = 16
};

typedef enum { JOB_VALIDATE, JOB_TIMING, JOB_TIMELINE, JOB_INSTRUCTIONS, JOB_PHASE_COUNT } job_phase;
extern const char *const job_phase_names[]; /* "validate", "timing", "timeline", "instructions" */

/* A part of the data blob. */
typedef struct {
    uint64_t offset_bytes, bytes;
    digest sha256;
} job_part;

typedef enum { JOB_EXTERNAL, JOB_ARENA } job_place;

typedef struct {
    const char *id; /* as in the plan; "parameters" is the parameter block, "workspace@N" that of node N */
    job_place place;
    uint64_t offset_bytes; /* in the arena; 0 when external */
    uint64_t bytes;
    bool writable; /* false: an input that must be unchanged afterwards */
} job_buffer;

/* An argument that is no buffer: so many bytes (1, 2, 4 or 8), from the low end of `bits`. */
typedef struct {
    uint64_t bytes, bits;
} job_value;

typedef enum { JOB_MATMUL, JOB_KERNEL, JOB_COPY } job_step_kind;
extern const char *const job_step_names[]; /* "matmul", "kernel", "copy" */

typedef struct {
    job_step_kind kind;
    uint64_t node; /* index in the plan */
    /* matmul: buffers by index; c is d's where the call says so; bias, scales (one F32 value each) and
     * workspace -1 when there is none */
    lt_call call;
    int64_t a, b, c, d, bias, scale_a, scale_b, workspace;
    /* kernel */
    uint64_t module; /* index into modules */
    const char *entry;
    uint64_t n_args;
    int64_t args[JOB_MAX_ARGS]; /* each argument is the pointer to this buffer; -1: it is the value of that
                                   index */
    job_value values[JOB_MAX_ARGS];
    uint64_t grid[3], block[3], shared_bytes;
    /* copy: whole buffers of equal size */
    int64_t src, dst;
    /* what the step may write, as buffer indices (destination, scratch) */
    uint64_t n_writes;
    int64_t writes[JOB_MAX_WRITES];
} job_step;

typedef struct {
    const char *name; /* of the source, for messages */
    job_part ptx;     /* loaded with cudaLibraryLoadData: text, the part holds no terminator */
} job_module;

typedef struct {
    int64_t buffer;
    job_part data;
} job_input;

typedef struct {
    int64_t buffer;
    uint64_t offset_bytes; /* where its bytes go in the output blob */
} job_output;

typedef struct {
    const char *name;
    bool separate; /* the emulator rounds between a mul and the add it feeds, where it would contract them as
                      ptxas does */
    uint64_t n_inputs, n_outputs;
    job_input *inputs;
    job_output *outputs;
} job_fixture;

typedef struct {
    uint64_t fixture; /* index of the one timed */
    uint64_t warmup, pilot, blocks, block_ns, max_calls;
} job_timing;

typedef struct {
    job_phase phase;
    uint64_t arena_bytes, guard_bytes; /* guard band before and after each allocation, a multiple of 256 */
    /* int64 values below 2^53 in magnitude, uploaded to the buffer "parameters" at each launch: a plan
     * without symbols uploads one 0. With n_params 0 and params_buffer -1 nothing is uploaded, and the graph
     * has no such node. */
    uint64_t n_params;
    const int64_t *params;
    int64_t params_buffer;
    uint64_t n_buffers, n_modules, n_steps, n_fixtures;
    job_buffer *buffers;
    job_module *modules;
    job_step *steps;
    job_fixture *fixtures;
    job_timing timing;          /* used by JOB_TIMING; the fixture by all */
    uint64_t timeline_launches; /* used by JOB_TIMELINE, of fixture timing.fixture */
    uint64_t output_bytes;      /* length of the whole output blob */
} job;

/* A step that is bound to no buffer. */
job_step job_step_none(void);
/* Write the job as pretty JSON into j. */
void job_write(jw *j, const job *jb);
/* Read and check everything: indices, ranges inside the arena and the blob (data_bytes long), products and
 * sums. A worker needs no check of its own beyond what the device says. Lent by sc. */
RP_MUST rp_code job_read(rp_err *e, job **out, scratch *sc, const char *file, span text, uint64_t data_bytes);
/* Hash every part of the data blob, as long as job_read was told, and compare: a worker does so before it
 * uses a byte. */
RP_MUST rp_code job_check_data(rp_err *e, const job *jb, const char *file, span data);

#endif
