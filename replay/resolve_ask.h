/* `resolve` beyond our own bundles: one call typed by hand, and a file of verdicts. */
#ifndef REPLAY_RESOLVE_ASK_H
#define REPLAY_RESOLVE_ASK_H

#include "replay/cli.h"
#include "replay/knowledge.h"

typedef struct {
    const char *call, *against, *knowledge; /* NULL: not asked */
    unsigned sm, version;                   /* 0: not said */
    bool version_loose, json, rules;
} resolve_ask;

/* Each prints its answer and gives an exit code. */
int resolve_one(const resolve_ask *ask);
int resolve_against(const resolve_ask *ask);
int resolve_rules(const resolve_ask *ask); /* the table, as docs/resolver-calls.md has it */

/* Rows of a file against the rules. */
typedef struct {
    uint64_t rows, agree, noted; /* noted: among those that differ, answered with a note */
    uint64_t seen[3][3];         /* predicted by seen, of statuses 0, 7 and 15 */
    uint64_t *by_rule[2]; /* per rule of lt_rules, and one more for "no rule": rows that it decided, and that
                             agree */
} lt_agreement;
typedef void (*lt_differing)(void *ctx, const lt_csv_row *row, const lt_answer *a);
/* by_rule is lent by sc; `differ` may be NULL. */
RP_MUST rp_code lt_agreement_of(rp_err *e, lt_agreement *out, scratch *sc, lt_csv *csv, const knowledge *k,
                                lt_differing differ, void *ctx);
void lt_agreement_print(const lt_agreement *a, scratch *sc, FILE *f);
/* The answer as people read it, and the part that begins with the verdict; known: the status recorded for
 * this very call, or -1. */
void lt_verdict_print(const lt_answer *a, int known, scratch *sc, FILE *f);
void lt_answer_print(const lt_query *q, const lt_answer *a, int known, scratch *sc, FILE *f);

#endif
