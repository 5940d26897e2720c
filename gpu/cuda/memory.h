/* Device memory of one job, exactly as gpu/job.h lays it out:
 *
 *   block    [guard][ interior ][padding to 256][guard]      one cudaMalloc
 *   blocks   the arena, then each external buffer
 *
 * Guards and padding hold one byte value, interiors another (the poison) until something writes them. All
 * copies go through the job's stream and are complete on return. */
#ifndef GPU_CUDA_MEMORY_H
#define GPU_CUDA_MEMORY_H

#include "gpu/job.h"
#include "gpu/result.h"
#include <cuda_runtime_api.h>

typedef struct {
    const char *id; /* "arena", or the external buffer's */
    uint8_t *base;  /* of the allocation; the interior begins guard_bytes later */
    uint64_t bytes, total_bytes;
} memory_block;

typedef struct {
    const job *jb;
    cudaStream_t stream;
    uint64_t n_blocks, total_bytes;
    memory_block *blocks;
    uint64_t *block_of; /* a buffer's block */
} memory;

RP_MUST rp_code memory_open(rp_err *e, memory *m, scratch *sc, const job *jb, cudaStream_t stream);
/* Device address of a buffer. */
uint8_t *memory_at(const memory *m, int64_t buffer);
/* Offset of a buffer from the base of its block. */
uint64_t memory_offset(const memory *m, int64_t buffer);

/* Fill every interior with `poison`, every guard with a value that follows from it, and upload the fixture's
 * inputs. */
RP_MUST rp_code memory_prepare(rp_err *e, const memory *m, uint8_t poison, const job_fixture *f, span data);
/* The outputs of a fixture into `out`, the whole output blob. */
RP_MUST rp_code memory_outputs(rp_err *e, const memory *m, const job_fixture *f, uint8_t *out);
/* Look at guards and inputs after a run that memory_prepare began with the same poison; what an earlier run
 * of the fixture found stays. */
RP_MUST rp_code memory_check(rp_err *e, const memory *m, scratch *sc, uint8_t poison, const job_fixture *f,
                             span data, result_fixture *r);
/* Every block whole, guards included, one after the other: total_bytes. */
RP_MUST rp_code memory_snapshot(rp_err *e, const memory *m, uint8_t *out);

#endif
