/* What the edges of a plan order. */
#ifndef PLAN_ORDER_H
#define PLAN_ORDER_H

#include "plan/plan.h"

/* Reachability over data and anti edges: a bit a pair of nodes. */
typedef struct {
    uint64_t n, words;
    uint64_t *bits;
} plan_reach;

/* Nodes on a cycle: RP_INVALID plan.cycle at the first edge that closes one. */
RP_MUST rp_code plan_reach_build(rp_err *e, plan_reach *out, scratch *sc, const plan *p, const char *file);
/* Whether a path leads from node a to node b (a node does not reach itself). */
bool plan_reaches(const plan_reach *r, uint64_t a, uint64_t b);

/* The issue order of arena policy luminal-slab/2 over the graph (facts: two min-heaps by node number, ready
 * frees first; an alloc without in-edges is emitted right before its first consumer). order holds n_nodes
 * numbers, lent by sc. */
RP_MUST rp_code plan_issue_order(rp_err *e, uint64_t **order, scratch *sc, const plan *p, const char *file);

/* Every rule of order and life, each fault a finding in `file`: edges match what their nodes touch; no cycle;
 * nodes listed in the policy's issue order and along every edge; one alloc and one free at most, where the
 * owner allows them; no touch outside a life; an output does not escape from a program-freed buffer; a
 * read-only buffer is never written; conflicting accesses are ordered by edges; a destination shares its
 * buffer with the operand tied to it and with no other, and each element of that lies where its result lies
 * (of a matmul only C can: A and B are read again). */
RP_MUST rp_code plan_check(rp_err *e, findings *fs, const plan *p, const char *file);

#endif
