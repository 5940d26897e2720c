/* Two plans of one workload, timed in turns: docs/pairs.md has the protocol and the rule.
 *
 *   DIR/a, DIR/b     the evidence of both sides, each as a run of PAIR_PHASES phases leaves it
 *   DIR/pair.json    "replay-pair/0": order of the processes, medians and ranges, verdict
 *   DIR/SHA256SUMS   of every other file, both sides' own lists included
 *
 * A seed decides which side's process goes first in its round; a round is one timing process of each side. */
#ifndef REPLAY_PAIR_H
#define REPLAY_PAIR_H

#include "replay/audit.h"
#include <stdio.h>

enum { PAIR_ROUNDS = 3, PAIR_PHASES = 6, PAIR_FLOOR_PERMILLE = 50 };
extern const char pair_scope[]; /* the timing scope that is compared */

/* FASTER and SLOWER say what B is beside A. */
typedef enum { PAIR_SAME, PAIR_FASTER, PAIR_SLOWER, PAIR_AMBIGUOUS, PAIR_REFUSED } pair_verdict;
extern const char *const pair_verdict_names[];

typedef struct {
    const char *bundle_name, *status;
    digest root, plan_signature;
    uint64_t n, medians_ps[PAIR_ROUNDS]; /* of the processes, in the order of the rounds */
    spread s;                            /* zeros when n is 0 */
} pair_side;

typedef struct {
    pair_side side[2];
    uint64_t rounds; /* that were run */
    pair_verdict verdict;
    const char *reason; /* why refused, else "" */
} pair_record;

/* The side, 0 or 1, whose process goes first in round `seed`. */
int pair_first(uint64_t seed);
/* The phase that is round k's timing process. */
uint64_t pair_timing_phase(uint64_t k);
/* By the rule, from medians and ranges. */
pair_verdict pair_judge(const spread *a, const spread *b);

/* What the two differ in when they are not of one workload (reference, fixtures, what the contract accepts),
 * else NULL. */
const char *pair_difference(const bundle *a, const bundle *b);

/* Fill `out` from both sides; `rejected`: a side's findings, whatever its phases say. */
void pair_from_runs(pair_record *out, scratch *sc, const run_record rec[2], const judgement *const j[2],
                    const bool rejected[2]);
int pair_exit(const pair_record *p, const judgement *const j[2]);
void pair_write(jw *j, const pair_record *p);
RP_MUST rp_code pair_read(rp_err *e, pair_record *out, scratch *sc, const char *file, span text);
void pair_print(FILE *f, scratch *sc, const pair_record *p);

typedef struct {
    report *r; /* of what is the pair's own */
    audited side[2];
    pair_record claimed, recomputed;
    bool judged; /* recomputed is filled */
} pair_audited;

/* As audit_folder; clear with pair_audit_clear. */
RP_MUST rp_code pair_audit(rp_err *e, pair_audited *out, scratch *sc, const char *dir,
                           const verify_options *opt);
void pair_audit_clear(pair_audited *p);
int pair_audit_exit(const pair_audited *p);

#endif
