/* From a verified bundle to jobs: the data blob (PTX and fixture inputs), the job of each phase, and the
 * expected outputs to judge by. The same bundle and PTX give the same job, byte for byte, so an auditor
 * lowers again and compares. */
#ifndef REPLAY_LOWER_H
#define REPLAY_LOWER_H

#include "gpu/job.h"
#include "verify/bundle.h"

typedef struct {
    const char *name;
    size_t n_outputs;
    tensor *expected; /* in the reference's order, the elements where their buffers have them; with gaps, all
                         elements of the buffer, flat */
    uint8_t **gaps;   /* of each: NULL, or a byte an element, 1 where it is nobody's */
    const contract_fixture *contract;
} lowered_fixture;

typedef struct {
    const bundle *b;
    scratch *sc;
    job base; /* all but the phase */
    uint64_t n_fixtures;
    lowered_fixture *fixtures; /* as base.fixtures: the contract's order */
    span *parts;               /* the data blob, piece by piece */
    uint64_t *part_offsets, n_parts, data_bytes;
} lowering;

/* `ptx` holds the text to load for each kernel of the bundle, in its order. Regenerates every fixture. Lent
 * by sc. */
RP_MUST rp_code lower_bundle(rp_err *e, lowering **out, scratch *sc, const bundle *b, const span *ptx);
/* The elements of output o that are nobody's as they are in `expected`, in `bytes` that a worker returned for
 * it: what compares every element then finds no difference there. */
void lowered_close_gaps(const lowered_fixture *f, size_t o, uint8_t *bytes);
/* The job of one phase as text, lent by sc. */
RP_MUST rp_code lower_job(rp_err *e, span *out, scratch *sc, const lowering *l, job_phase phase);
/* The data blob into a file. */
RP_MUST rp_code lower_write_data(rp_err *e, const lowering *l, int fd);

/* Phase `index` (from 1) of design: validate, timing-1, timing-2, timeline, instructions, timing-3, … */
job_phase phase_kind(uint64_t index);
const char *phase_name(scratch *sc, uint64_t index);

#endif
