/* Judging what a phase retained. `run` and `audit` call the same function over the same files, so that a
 * verdict is never read from what was claimed.
 *
 * A phase is a folder: job.json, result.json, library.log, observed_signature.json, outputs/FIXTURE.xor.zst
 * (the fixture's outputs, one after the other, XORed with the expected bytes, one zstd frame),
 * instructions.json. */
#ifndef REPLAY_JUDGE_H
#define REPLAY_JUDGE_H

#include "gpu/result.h"
#include "replay/lower.h"
#include "verify/algorithms.h"
#include "verify/numeric.h"
#include "verify/report.h"

enum { MAX_PHASES = 64, MAX_POPULATIONS = 8 };

typedef enum {
    PHASE_PASSED,
    PHASE_REJECTED,
    PHASE_NUMERICAL,
    PHASE_PROCESS_FAILED,
    PHASE_PROFILE_FAILED,
    PHASE_UNAVAILABLE,
    PHASE_NOT_RUN
} phase_status;
extern const char *const phase_status_names[];

typedef struct {
    uint64_t index;
    const char *name, *error; /* error: "" unless the phase failed */
    phase_status status;
    uint64_t checks_passed, checks_total;
    bool has_observed;
    digest observed;
} phase_record;

/* One timing scope over the processes that gave it; scopes are never pooled. */
typedef struct {
    const char *scope;
    uint64_t n, medians_ps[MAX_PHASES];
} population;

typedef struct {
    uint64_t n_phases, n_populations;
    phase_record phases[MAX_PHASES];
    population populations[MAX_POPULATIONS];
    uint64_t checks_per_phase; /* outputs over all fixtures */
    numeric_verdict *worst;    /* a lowered fixture each: the largest scaled error over phases and outputs */
    const result *first;       /* of the first phase with a result: device, libraries, graph */
    const result *timeline;
    const char *not_observed; /* by the library's log */
    algorithm_choice *algorithms;
    uint64_t n_algorithms;
} judgement;

RP_MUST rp_code judgement_new(rp_err *e, judgement **out, scratch *sc, const lowering *l);

/* Judge phase p->index in folder `dir` (named `shown` in findings): fills the record but keeps a status set
 * by the controller when there is no result to judge. */
RP_MUST rp_code judge_phase(rp_err *e, report *r, judgement *j, phase_record *p, const lowering *l,
                            const char *dir, const char *shown);
/* After the last phase: the observed signature is the same everywhere; a phase with another than the first is
 * rejected. */
void judge_signatures(report *r, judgement *j);

/* The canonical document of an observed signature, lent by sc. */
RP_MUST rp_code observed_signature(rp_err *e, span *document, digest *out, scratch *sc, const result *res);

uint64_t median_u64(scratch *sc, const uint64_t *v, uint64_t n);
/* Over the processes of a population: the median of medians, and their range. */
typedef struct {
    uint64_t median_ps, min_ps, max_ps;
} spread;
spread population_spread(scratch *sc, const population *p);

#endif
