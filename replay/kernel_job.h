/* One PTX kernel with its launch, inputs and recorded outputs, as a job: NAME.json (entry, grid, block,
 * shared_bytes, args in order, buffers with dtype, shape and whether they are outputs), NAME.ptx and
 * NAME.safetensors (in.BUFFER, out.BUFFER) beside each other. */
#ifndef REPLAY_KERNEL_JOB_H
#define REPLAY_KERNEL_JOB_H

#include "gpu/job.h"

typedef struct {
    const char *name;
    dtype type;     /* of its elements; U8 where the file names one that is not known here */
    int64_t buffer; /* in the job */
    span expected;  /* what was recorded */
} kernel_output;

typedef struct {
    const char *name, *producer, *entry;
    job jb;
    span ptx, data; /* data: the job's blob */
    uint64_t n_outputs;
    kernel_output *outputs;
    bool approximate, contractible; /* as the PTX's text suggests; the emulator knows better */
} kernel_job;

/* With `both`, two fixtures: "contracted" and "separate" (job_fixture.separate); else one, "recorded". Broken
 * documents: RP_INVALID. Lent by sc. */
RP_MUST rp_code kernel_job_read(rp_err *e, kernel_job **out, scratch *sc, const char *json_path, bool both);

#endif
