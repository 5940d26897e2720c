/* evidence.json, "replay-evidence/0": what was run and what is claimed of it. Written by `run`; `audit` reads
 * it only to compare. */
#ifndef REPLAY_RECORD_H
#define REPLAY_RECORD_H

#include "replay/judge.h"
#include "verify/verify.h"

typedef struct {
    const char *scope;
    uint64_t processes;
    spread s;
} claimed_timing;

typedef struct {
    const char *bundle_name, *device_requested, *status;
    const char *reason; /* why the run is not complete; "" where it is */
    digest root, plan_signature, observed_signature;
    int trust; /* trust_level */
    bool has_observed;
    uint64_t phases_requested, checks_passed, checks_total;
    uint64_t n_phases, n_timings;
    phase_record phases[MAX_PHASES];
    claimed_timing timings[MAX_POPULATIONS];
} run_record;

/* Fill counts, timings, signature and status from a judgement; the caller has set the rest. */
void record_from_judgement(run_record *r, scratch *sc, const judgement *j);
/* The same of a run that an error ended, after whatever was judged; j NULL: nothing was. */
void record_partial(run_record *r, scratch *sc, const judgement *j, const rp_err *why);
/* Whether the record says so of itself. */
bool record_is_partial(const run_record *r);
void record_write(jw *j, const run_record *r);
RP_MUST rp_code record_read(rp_err *e, run_record *out, scratch *sc, const char *file, span text);
/* The worst status over the phases, by design's order of exit codes; and that code. */
phase_status judgement_status(const judgement *j);
/* The same, but who asked for the emulator did not ask for the phases that do not exist there. */
phase_status record_status(const run_record *r, const judgement *j);
int status_exit(phase_status s);

#endif
