/* One run, step by step. cmd_run.c takes the steps in order for one bundle, run_many.c for several,
 * run_pair.c for two plans in turns. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "gpu/client.h"
#include "replay/campaign.h"
#include "replay/evidence.h"
#include <stdio.h>

/* Of one phase on the emulator, which is slower than a device. */
enum { RUN_EMULATED_DEADLINE_MS = 900000 };

typedef struct {
    const char *path, *root, *out, *device;
    const char *pair[2]; /* NULL: no pair */
    uint64_t phases;
    bool json;
} run_options;

typedef struct {
    const run_options *opt;
    scratch *sc;
    store *st;
    report *r;
    verify_result v;
    const char *worker;
    bool emulated;        /* the worker is the emulator */
    bool memory_rejected; /* --device both: the emulator's memory checker has findings */
    client_device device;
    span *ptx;
    lowering *l;
    judgement *j;
    evidence ev;
    run_record rec;
    int data_fd;
    FILE *progress; /* plain lines for people; NULL with --json */
} run;

/* In its own scratch; false when out of memory. Close with run_close, always. */
bool run_open(run *x, const run_options *opt);
void run_close(run *x);
void run_say(const run *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Open opt->path and verify it; *accepted: it may be run. */
RP_MUST rp_code run_verify(rp_err *e, run *x, bool *accepted);
/* What the worker finds; *why is NULL when it can run, else says why not. */
RP_MUST rp_code run_probe(rp_err *e, run *x, const char **why);
/* run_emu.c: the same of the emulator. Whether --device asks for it, alone or where there is no GPU. */
RP_MUST rp_code run_probe_emulator(rp_err *e, run *x, const char **why);
bool run_wants_emulator(const run *x, bool no_gpu);
/* --device both, after the phases: the emulator runs the same validate job, its outputs are compared with the
 * GPU's of phase 1 element by element, its findings join the report, and emulated/… joins the evidence. */
RP_MUST rp_code run_compare_emulator(rp_err *e, run *x);

/* Begin the evidence at opt->out, compile, lower. */
RP_MUST rp_code run_prepare(rp_err *e, run *x);
/* The next phase in a fresh process, judged; and the same as not run, for this reason. */
RP_MUST rp_code run_phase(rp_err *e, run *x, uint64_t index);
void run_skip(run *x, uint64_t index, const char *reason);
/* After a phase: may the next one follow? */
bool run_goes_on(const run *x);
/* All phases in order. */
RP_MUST rp_code run_phases(rp_err *e, run *x);
/* Write the record and close the evidence: under its final name; or, where `why` says what kept the run from
 * completing, labelled and under the partial one. */
RP_MUST rp_code run_finish(rp_err *e, run *x, const rp_err *why);
/* All steps from run_prepare on; and after an error, what is left is labelled. */
RP_MUST rp_code run_to_end(rp_err *e, run *x, int *exit_code);
void run_label_partial(run *x, const rp_err *why);

/* run_many.c: several bundles, perhaps a pair after them: one folder each and campaign.json. Exit code. */
int run_many(const run_options *opt, char *const *args, size_t n_args);

/* run_pair.c: opt->pair in turns, into opt->out. A pair that is not one of a single workload is RP_USAGE;
 * otherwise *out says what came of it, lent by sc. */
typedef struct {
    const char *said;  /* the verdict's name, or why nothing was run */
    bool has_evidence; /* at opt->out */
    int exit_code;
    campaign_folder rows[2]; /* with evidence */
} pair_outcome;
RP_MUST rp_code run_pair(rp_err *e, pair_outcome *out, scratch *sc, const run_options *opt, jw *j);
int run_pair_alone(run_options *opt);

#endif
