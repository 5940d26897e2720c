#include "plan/order.h"
#include <stdio.h>

typedef struct {
    findings *fs;
    const plan *p;
    const char *file;
    const plan_reach *reach;
} checker;

static const uint64_t none = UINT64_MAX;

static const char *at(char buf[48], const char *list, uint64_t i)
{
    snprintf(buf, 48, "/%s/%llu", list, (unsigned long long)i);
    return buf;
}

static void check_edges(const checker *c)
{
    char w[48];
    for (uint64_t i = 0; i < c->p->n_edges; i++) {
        const plan_edge *g = &c->p->edges[i];
        const char *id = c->p->buffers[g->buffer].id;
        bool reuse = !strcmp(g->port, "reuse");
        uint64_t stranger = !node_touches(&c->p->nodes[g->to], g->buffer)               ? g->to
                            : !reuse && !node_touches(&c->p->nodes[g->from], g->buffer) ? g->from
                                                                                        : none;
        if (stranger != none)
            findings_add(c->fs, FIND_PLAN_EDGE, c->file, at(w, "edges", i), NULL, NULL,
                         "expected node %llu to touch buffer %s, found that it does not",
                         (unsigned long long)stranger, id);
        if (g->from >= g->to)
            findings_add(c->fs, FIND_PLAN_ORDER, c->file, at(w, "edges", i), NULL, NULL,
                         "expected node %llu to come before node %llu, found it after",
                         (unsigned long long)g->from, (unsigned long long)g->to);
    }
}

static rp_code check_issue_order(rp_err *e, const checker *c)
{
    char w[48];
    uint64_t *order;
    if (c->p->arena == ARENA_GIVEN)
        return RP_OK;
    if (plan_issue_order(e, &order, c->fs->sc, c->p, c->file))
        return e->code;
    for (uint64_t i = 0; i < c->p->n_nodes; i++)
        if (order[i] != i) {
            findings_add(c->fs, FIND_PLAN_ORDER, c->file, at(w, "nodes", i), NULL, NULL,
                         "expected the node that policy %s issues at step %llu, which is listed as node %llu",
                         c->p->arena_name, (unsigned long long)i, (unsigned long long)order[i]);
            break;
        }
    return RP_OK;
}

/* The node of this op that names the buffer; more than one is a finding. */
static uint64_t the_one(const checker *c, node_op op, uint64_t buffer)
{
    char w[48];
    uint64_t found = none;
    for (uint64_t i = 0; i < c->p->n_nodes; i++) {
        if (c->p->nodes[i].op != op || c->p->nodes[i].operands[0].buffer != buffer)
            continue;
        if (found != none)
            findings_add(c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", i), NULL, NULL,
                         "expected one %s of buffer %s, found a second one", node_op_names[op],
                         c->p->buffers[buffer].id);
        else
            found = i;
    }
    return found;
}

static void must_reach(const checker *c, uint64_t a, uint64_t b, uint64_t buffer, finding_id id)
{
    char w[48];
    if (!plan_reaches(c->reach, a, b))
        findings_add(
            c->fs, id, c->file, at(w, "nodes", b), NULL, NULL,
            "expected a path of edges from node %llu to node %llu, which both touch buffer %s, found none",
            (unsigned long long)a, (unsigned long long)b, c->p->buffers[buffer].id);
}

static void check_life(const checker *c, uint64_t b)
{
    const plan_buffer *buf = &c->p->buffers[b];
    uint64_t alloc = the_one(c, NODE_ALLOC, b), release = the_one(c, NODE_FREE, b);
    char w[48];
    if (alloc != none && buf->owner == OWNER_CALLER)
        findings_add(c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", alloc), NULL, NULL,
                     "expected no alloc of buffer %s, which the caller owns", buf->id);
    if (release != none && buf->freed_by == FREED_BY_CALLER)
        findings_add(c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", release), NULL, NULL,
                     "expected no free of buffer %s, which the caller frees", buf->id);
    bool written = false;
    for (uint64_t i = 0; i < c->p->n_nodes; i++) {
        const plan_node *n = &c->p->nodes[i];
        bool reads = node_reads(n, b), writes = node_writes(n, b);
        if (n->op == NODE_INPUT && node_touches(n, b))
            written = true;
        if (!reads && !writes)
            continue;
        if ((alloc != none && i < alloc) || (release != none && i > release))
            findings_add(
                c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", i), NULL, NULL,
                "expected buffer %s to be touched between its alloc and its free, found node %llu outside",
                buf->id, (unsigned long long)i);
        if (alloc != none && i > alloc)
            must_reach(c, alloc, i, b, FIND_PLAN_RACE);
        if (release != none && i < release)
            must_reach(c, i, release, b, FIND_PLAN_RACE);
        if (reads && !written)
            findings_add(c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", i), NULL, NULL,
                         "expected buffer %s to be written before node %llu reads it", buf->id,
                         (unsigned long long)i);
        if (writes && !buf->writable)
            findings_add(c->fs, FIND_PLAN_INVALID, c->file, at(w, "nodes", i), NULL, NULL,
                         "expected no write to buffer %s, which is read-only", buf->id);
        if (n->op == NODE_OUTPUT && buf->freed_by == FREED_BY_PROGRAM)
            findings_add(
                c->fs, FIND_PLAN_LIFETIME, c->file, at(w, "nodes", i), NULL, NULL,
                "expected an output that outlives the program, found buffer %s, which the program frees",
                buf->id);
        written |= writes;
    }
}

static void check_races(const checker *c, uint64_t b)
{
    for (uint64_t j = 0; j < c->p->n_nodes; j++) {
        const plan_node *late = &c->p->nodes[j];
        if (!node_reads(late, b) && !node_writes(late, b))
            continue;
        for (uint64_t i = 0; i < j; i++) {
            const plan_node *early = &c->p->nodes[i];
            bool conflict = (node_writes(early, b) && (node_reads(late, b) || node_writes(late, b))) ||
                            (node_reads(early, b) && node_writes(late, b)) ||
                            (early->op == NODE_INPUT && node_touches(early, b) && node_writes(late, b));
            if (conflict)
                must_reach(c, i, j, b, FIND_PLAN_RACE);
        }
    }
}

/* In place is safe only element for element. */
static void check_ties(const checker *c, uint64_t node)
{
    const plan_node *n = &c->p->nodes[node];
    char w[48];
    if (n->tied && (n->operands[n->tie].buffer != n->destination.buffer ||
                    !layout_same_places(&n->operands[n->tie].layout, &n->destination.layout) ||
                    (n->op == NODE_MATMUL && strcmp(n->operands[n->tie].port, "c"))))
        findings_add(
            c->fs, FIND_PLAN_INVALID, c->file, at(w, "nodes", node), NULL, NULL,
            "expected operand %s, tied to the destination, to lie where the result lies, element for element",
            n->operands[n->tie].port);
    for (uint64_t i = 0; (n->op == NODE_MATMUL || n->op == NODE_KERNEL) && i < n->n_operands; i++)
        if (n->operands[i].buffer == n->destination.buffer && !(n->tied && n->tie == i))
            findings_add(
                c->fs, FIND_PLAN_RACE, c->file, at(w, "nodes", node), NULL, NULL,
                "expected operand %s apart from the destination or tied to it, found both in buffer %s",
                n->operands[i].port, c->p->buffers[n->destination.buffer].id);
}

rp_code plan_check(rp_err *e, findings *fs, const plan *p, const char *file)
{
    plan_reach reach;
    checker c = {.fs = fs, .p = p, .file = file, .reach = &reach};
    check_edges(&c);
    if (plan_reach_build(e, &reach, fs->sc, p, file))
        return err_to_finding(e, fs) ? RP_OK : e->code;
    if (check_issue_order(e, &c))
        return e->code;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        check_ties(&c, i);
    for (uint64_t b = 0; b < p->n_buffers; b++) {
        check_life(&c, b);
        check_races(&c, b);
    }
    return RP_OK;
}
