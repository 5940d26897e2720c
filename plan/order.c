#include "plan/order.h"
#include <stdio.h>

bool plan_reaches(const plan_reach *r, uint64_t a, uint64_t b)
{
    return r->bits[a * r->words + b / 64] >> (b % 64) & 1;
}

/* Kahn's order by node number; fewer than n_nodes emitted means a cycle. */
static uint64_t topological(uint64_t *order, uint64_t *indegree, const plan *p)
{
    uint64_t emitted = 0;
    for (uint64_t i = 0; i < p->n_edges; i++)
        indegree[p->edges[i].to]++;
    for (bool more = true; more;) {
        more = false;
        for (uint64_t v = 0; v < p->n_nodes; v++) {
            if (indegree[v])
                continue;
            indegree[v] = UINT64_MAX; /* taken */
            order[emitted++] = v;
            more = true;
            for (uint64_t i = 0; i < p->n_edges; i++)
                if (p->edges[i].from == v && indegree[p->edges[i].to] != UINT64_MAX)
                    indegree[p->edges[i].to]--;
        }
    }
    return emitted;
}

/* An edge between two nodes that Kahn left over: on a cycle, or leading out of one. */
static rp_code say_cycle(rp_err *e, const plan *p, const uint64_t *indegree, const char *file)
{
    for (uint64_t i = 0; i < p->n_edges; i++) {
        const plan_edge *g = &p->edges[i];
        char where[32];
        if (indegree[g->from] == UINT64_MAX || indegree[g->to] == UINT64_MAX || g->from < g->to)
            continue;
        snprintf(where, sizeof where, "/edges/%llu", (unsigned long long)i);
        return err_invalid(e, FIND_PLAN_CYCLE, file, where,
                           "expected no cycle, found one through the edge %llu -> %llu",
                           (unsigned long long)g->from, (unsigned long long)g->to);
    }
    return err_invalid(e, FIND_PLAN_CYCLE, file, "/edges", "expected no cycle, found one");
}

rp_code plan_reach_build(rp_err *e, plan_reach *out, scratch *sc, const plan *p, const char *file)
{
    uint64_t n = p->n_nodes, words = (n + 63) / 64;
    uint64_t *order = scratch_array(sc, n, sizeof *order);
    uint64_t *indegree = scratch_array(sc, n, sizeof *indegree);
    uint64_t *bits = scratch_array(sc, n * words, sizeof *bits); /* at most 4096 * 64 words */
    if (!order || !indegree || !bits)
        return err_nomem(e);
    if (topological(order, indegree, p) != n)
        return say_cycle(e, p, indegree, file);
    for (uint64_t o = n; o > 0; o--) {
        uint64_t v = order[o - 1], *row = &bits[v * words];
        for (uint64_t i = 0; i < p->n_edges; i++) {
            if (p->edges[i].from != v)
                continue;
            uint64_t to = p->edges[i].to;
            row[to / 64] |= 1ULL << (to % 64);
            for (uint64_t w = 0; w < words; w++)
                row[w] |= bits[to * words + w];
        }
    }
    *out = (plan_reach){.n = n, .words = words, .bits = bits};
    return RP_OK;
}

/* --- Issue order. --- */

typedef struct {
    const plan *p;
    uint64_t *indegree, *order, emitted;
    bool *lazy; /* an alloc that its first consumer emits */
    bool *done;
} issue;

static bool has_edge(const plan *p, uint64_t node, bool out)
{
    for (uint64_t i = 0; i < p->n_edges; i++)
        if ((out ? p->edges[i].from : p->edges[i].to) == node)
            return true;
    return false;
}

static void emit(issue *s, uint64_t v)
{
    /* Pending allocs that feed v, the newest edge first, as the graph library iterates them. */
    for (uint64_t i = s->p->n_edges; i > 0; i--) {
        uint64_t from = s->p->edges[i - 1].from;
        if (s->p->edges[i - 1].to == v && s->lazy[from] && !s->done[from]) {
            s->done[from] = true;
            s->order[s->emitted++] = from;
        }
    }
    s->done[v] = true;
    s->order[s->emitted++] = v;
    for (uint64_t i = 0; i < s->p->n_edges; i++)
        if (s->p->edges[i].from == v)
            s->indegree[s->p->edges[i].to]--;
}

/* The ready node to take next: the lowest free, else the lowest other; n_nodes when none is ready. */
static uint64_t next_ready(const issue *s)
{
    uint64_t other = s->p->n_nodes;
    for (uint64_t v = 0; v < s->p->n_nodes; v++) {
        if (s->done[v] || s->lazy[v] || s->indegree[v])
            continue;
        if (s->p->nodes[v].op == NODE_FREE)
            return v;
        if (other == s->p->n_nodes)
            other = v;
    }
    return other;
}

rp_code plan_issue_order(rp_err *e, uint64_t **order, scratch *sc, const plan *p, const char *file)
{
    issue s = {.p = p};
    s.indegree = scratch_array(sc, p->n_nodes, sizeof *s.indegree);
    s.order = scratch_array(sc, p->n_nodes, sizeof *s.order);
    s.lazy = scratch_array(sc, p->n_nodes, sizeof *s.lazy);
    s.done = scratch_array(sc, p->n_nodes, sizeof *s.done);
    if (!s.indegree || !s.order || !s.lazy || !s.done)
        return err_nomem(e);
    for (uint64_t v = 0; v < p->n_nodes; v++)
        s.lazy[v] = p->nodes[v].op == NODE_ALLOC && !has_edge(p, v, false) && has_edge(p, v, true);
    for (uint64_t i = 0; i < p->n_edges; i++)
        if (!s.lazy[p->edges[i].from])
            s.indegree[p->edges[i].to]++;
    for (uint64_t v; (v = next_ready(&s)) < p->n_nodes;)
        emit(&s, v);
    if (s.emitted != p->n_nodes)
        return err_invalid(e, FIND_PLAN_CYCLE, file, "/edges",
                           "expected no cycle, found %llu nodes that wait for each other",
                           (unsigned long long)(p->n_nodes - s.emitted));
    *order = s.order;
    return RP_OK;
}
