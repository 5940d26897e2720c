/* What the parts of one emulated phase share: the job and its data, the answer so far, the parsed modules,
 * and the memory of the run in progress. */
#ifndef GPU_EMU_PHASE_H
#define GPU_EMU_PHASE_H

#include "gpu/emu/exec.h"
#include "gpu/emu/memory.h"
#include "gpu/emu/ptx.h"
#include "gpu/job.h"
#include "gpu/result.h"

enum { EMU_EXIT_ANSWERED = 0, EMU_EXIT_USAGE = 2, EMU_EXIT_BROKEN = 70 };
enum { EMU_MAX_FINDINGS = 256, EMU_POISON_FIRST = 0xff, EMU_POISON_SECOND = 0x6d };
extern const char emu_matmul_name[]; /* how a library call is named in the launch list */

typedef struct {
    const job *jb;
    span data;
    scratch *sc;
    result *r;
    uint8_t *outputs; /* jb->output_bytes */
    uint32_t threads;
    ptx_module **modules;
    uint64_t *address;         /* of each buffer; 0 when it has no bytes */
    uint64_t n_blocks;         /* allocations: the arena (when it has bytes), then each external buffer */
    uint64_t block_address[2]; /* of the arena: where it begins and how long it is */
    /* The run in progress. */
    emu_memory *mem;
    uint32_t *buffer_id; /* in mem, of each buffer that lives */
    bool *alive;
    const char *fixture;
    bool separate, want_mix;
    bool stopped; /* a kernel did not come to its end: what follows would be noise */
} emu_phase;

/* emu_memory_setup.c */
/* Addresses of all buffers, once. */
RP_MUST rp_code emu_lay_out(rp_err *e, emu_phase *p);
/* Fresh memory for one run: poison, then the fixture's inputs and the parameters. */
RP_MUST rp_code emu_begin(rp_err *e, emu_phase *p, const job_fixture *f, uint8_t poison);
void emu_end(emu_phase *p);
/* Before a step: a buffer of the arena that it touches lives from here on, and what it shares bytes with
 * dies. */
RP_MUST rp_code emu_revive(rp_err *e, emu_phase *p, int64_t buffer);
/* What the coming step may do with each buffer: read those it is given, write those it declares. */
void emu_allow(emu_phase *p, const job_step *s);

/* emu_steps.c: parse the modules, once; run one step. RP_UNAVAILABLE: an entry is missing or refused by name.
 */
RP_MUST rp_code emu_load(rp_err *e, emu_phase *p);
RP_MUST rp_code emu_step(rp_err *e, emu_phase *p, const job_step *s);

/* emu_findings.c. One that differs only in its count is added to the one before. */
RP_MUST rp_code emu_add_finding(rp_err *e, emu_phase *p, const result_finding *f);
RP_MUST rp_code emu_add_kernel_findings(rp_err *e, emu_phase *p, const job_step *s, const emu_report *rep);
/* Bytes of the fixture's outputs that nothing wrote: counted, and shown as a map. */
RP_MUST rp_code emu_check_outputs(rp_err *e, emu_phase *p, const job_fixture *f, result_fixture *out);
/* Guards and inputs of a fixture, as the findings say. */
RP_MUST rp_code emu_summarize(rp_err *e, emu_phase *p, result_fixture *out);

/* emu_coverage.c: `states` as rows of a matrix: "rows 0-511 of 512, bytes 0-1023 of 2048 a row;
 * ####....|####...." */
const char *emu_coverage(scratch *sc, const uint8_t *states, uint64_t n);

/* Each returns the exit status. */
int emu_phase_main(void);
int emu_probe_main(void);

#endif
