/* What is known about which cuBLASLt calls the library takes: one table, a row a rule, in the order in which
 * they decide. The table in docs/resolver-calls.md is written from it. */
#ifndef PLAN_LT_RULES_H
#define PLAN_LT_RULES_H

#include "artifacts/base/scratch.h"
#include "plan/lt_query.h"

typedef enum {
    LTR_LIBRARY, /* the library refuses: `status` is what its heuristic answers */
    LTR_OURS,    /* the heuristic cannot see it, or takes it; the call is wrong, or wrong to make */
    LTR_NOTE,    /* well formed; something to know */
} lt_rule_kind;

/* Where a rule holds and the shape it speaks about. */
typedef struct {
    const lt_query *q;
    uint64_t span[LTM_COUNT]; /* elements; valid where span_fits */
    bool span_fits[LTM_COUNT];
    bool k_major[2]; /* of A and B: k runs along the leading dimension's minor extent */
    uint64_t promise_min;
    uint64_t inner[2]; /* m of A, n of B */
} lt_facts;

/* What a rule found: the operand ("a" … "d", "bias", "workspace"; NULL when it is the call), the number found
 * and the one wanted. */
typedef struct {
    const char *operand;
    uint64_t found, wanted;
    const char *found_word, *wanted_word; /* instead of the numbers, where not NULL */
} lt_seen;

typedef struct {
    const char *id;
    lt_rule_kind kind;
    int status;                        /* 7 INVALID_VALUE or 15 NOT_SUPPORTED, of LTR_LIBRARY */
    unsigned sm_min, sm_max;           /* both 0: any architecture */
    unsigned version_min, version_max; /* both 0: any version */
    bool (*test)(const lt_facts *f, lt_seen *s);
    const char *says;  /* the condition, for the table */
    const char *found; /* a sentence with {o}, {f}, {w} */
    const char *source;
    const char *remedy; /* the same; NULL when there is none */
} lt_rule;

extern const lt_rule lt_rules[];
extern const size_t lt_rules_count;

typedef enum { LTV_REFUSE, LTV_OK, LTV_OK_NOTE } lt_verdict;
extern const char *const lt_verdict_names[]; /* "refuse", "ok", "ok-with-note" */

enum { LT_HITS_MAX = 16 };
typedef struct {
    const lt_rule *rule;
    lt_seen seen;
    bool may_hold; /* the rule is bounded, and where the call would run is not known: a note */
} lt_hit;

typedef struct {
    lt_verdict verdict;
    int status; /* of the heuristic, by the rules: 0, 7 or 15 */
    size_t n_hits;
    size_t
        decider; /* the hit that refuses; n_hits when none does. An index, so that an answer can be copied */
    lt_hit hits[LT_HITS_MAX]; /* in the order of the table; what does not fit is left out */
} lt_answer;

/* The query must be complete (lt_query_default). No memory is taken. */
void lt_decide(lt_answer *out, const lt_query *q);
/* The hit that refuses, one of the answer's; NULL when none does. */
const lt_hit *lt_deciding(const lt_answer *a);
const lt_rule *lt_rule_find(const char *id); /* or NULL */
/* What the hit says, its numbers put in; and its remedy, NULL when there is none. Lent by sc. */
const char *lt_hit_text(scratch *sc, const lt_hit *h);
const char *lt_hit_remedy(scratch *sc, const lt_hit *h);
/* "sm_90 to sm_99, 13.0 to 13.0.99", "any". Lent by sc. */
const char *lt_rule_where(scratch *sc, const lt_rule *r);

#endif
