#include "plan/order.h"
#include "tests/support.h"
#include <criterion/criterion.h>

enum { MAX = 200 };

/* A graph of ops and edges alone, which is all that the order looks at. */
typedef struct {
    plan p;
    plan_node nodes[MAX];
    plan_edge edges[MAX];
} graph;

/* One letter an op: i input, o output, a alloc, f free, k kernel. */
static void make(graph *g, const char *ops)
{
    memset(g, 0, sizeof *g);
    g->p = (plan){.nodes = g->nodes, .edges = g->edges, .n_nodes = strlen(ops)};
    for (uint64_t i = 0; i < g->p.n_nodes; i++)
        g->nodes[i].op = ops[i] == 'i'   ? NODE_INPUT
                         : ops[i] == 'o' ? NODE_OUTPUT
                         : ops[i] == 'a' ? NODE_ALLOC
                         : ops[i] == 'f' ? NODE_FREE
                                         : NODE_KERNEL;
}

static void edge(graph *g, uint64_t from, uint64_t to)
{
    g->edges[g->p.n_edges++] = (plan_edge){.from = from, .to = to, .port = "p"};
}

static void expect_order(const graph *g, const uint64_t *want)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    uint64_t *order;
    cr_assert_eq(plan_issue_order(&e, &order, sc, &g->p, "p"), RP_OK, "%s", e.msg);
    for (uint64_t i = 0; i < g->p.n_nodes; i++)
        cr_expect_eq(order[i], want[i], "step %d: node %d, not %d", (int)i, (int)order[i], (int)want[i]);
    scratch_free(sc);
}

/* facts/luminal.md, 3: input, alloc P32, matmul, alloc P16, cast, free P32, add, free P16, output. */
static const char worked[] = "iakakfkfo";
static const uint64_t worked_edges[][2] = {{0, 2}, {0, 2}, {1, 2}, {2, 4}, {3, 4}, {4, 5},
                                           {2, 5}, {0, 6}, {4, 6}, {6, 7}, {4, 7}, {6, 8}};
enum { WORKED_EDGES = sizeof worked_edges / sizeof *worked_edges };

Test(order, the_worked_example)
{
    graph g;
    make(&g, worked);
    for (size_t i = 0; i < WORKED_EDGES; i++)
        edge(&g, worked_edges[i][0], worked_edges[i][1]);
    expect_order(&g, (const uint64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
}

/* Both allocs numbered first, as a bufferizer may leave them: each is still emitted right before its
 * consumer. */
Test(order, hoisted_allocs_sink)
{
    /* node:                   0 input, 1 alloc P32, 2 alloc P16, 3 matmul, 4 cast, 5 free P32, 6 add, 7 free
     * P16, 8 output */
    static const uint64_t renumber[] = {0, 1, 3, 2, 4, 5, 6, 7, 8};
    graph g;
    make(&g, "iaakkfkfo");
    for (size_t i = 0; i < WORKED_EDGES; i++)
        edge(&g, renumber[worked_edges[i][0]], renumber[worked_edges[i][1]]);
    expect_order(&g, (const uint64_t[]){0, 1, 3, 2, 4, 5, 6, 7, 8});
}

/* Node numbers mean nothing but the order among what is ready. */
Test(order, edges_before_numbers)
{
    graph g;
    make(&g, "kkkk");
    edge(&g, 3, 0);
    edge(&g, 0, 2);
    expect_order(&g, (const uint64_t[]){1, 3, 0, 2});
}

Test(order, ready_frees_first)
{
    graph g;
    make(&g, "kkkff");
    edge(&g, 0, 4);
    edge(&g, 0, 3);
    /* After 0 both frees pop, lowest first, before the nodes 1 and 2 that were ready all along. */
    expect_order(&g, (const uint64_t[]){0, 3, 4, 1, 2});
    make(&g, "fk"); /* ready from the start */
    expect_order(&g, (const uint64_t[]){0, 1});
    make(&g, "kf");
    expect_order(&g, (const uint64_t[]){1, 0});
}

Test(order, pending_allocs_newest_edge_first)
{
    graph g;
    make(&g, "aaak");
    edge(&g, 1, 3);
    edge(&g, 0, 3);
    edge(&g, 2, 3);
    expect_order(&g, (const uint64_t[]){2, 0, 1, 3});
    make(&g, "akk"); /* two consumers: the first popped emits it */
    edge(&g, 0, 2);
    edge(&g, 0, 1);
    expect_order(&g, (const uint64_t[]){0, 1, 2});
}

/* An alloc that nothing consumes, or that waits for something, is an ordinary node. */
Test(order, other_allocs_queue)
{
    graph g;
    make(&g, "kak");
    expect_order(&g, (const uint64_t[]){0, 1, 2});
    make(&g, "akkk"); /* alloc 0 waits for 2, and 3 for it: not emitted right before 3, but as soon as it is
                         ready */
    edge(&g, 2, 0);
    edge(&g, 0, 3);
    expect_order(&g, (const uint64_t[]){1, 2, 0, 3});
}

Test(order, cycles)
{
    static const uint64_t cycles[][3][2] = {
        {{0, 1}, {1, 0}, {0, 1}}, {{0, 1}, {1, 2}, {2, 0}}, {{2, 2}, {0, 1}, {1, 2}}};
    scratch *sc = scratch_new(0);
    for (size_t c = 0; c < 3; c++) {
        graph g;
        rp_err e = {0};
        uint64_t *order;
        plan_reach r;
        make(&g, "kkk");
        for (int i = 0; i < 3; i++)
            edge(&g, cycles[c][i][0], cycles[c][i][1]);
        cr_expect_eq(plan_issue_order(&e, &order, sc, &g.p, "p"), RP_INVALID);
        cr_expect(e.id == FIND_PLAN_CYCLE && !strcmp(e.file, "p") && !strcmp(e.where, "/edges"));
        e = (rp_err){0};
        cr_expect_eq(plan_reach_build(&e, &r, sc, &g.p, "p"), RP_INVALID);
        cr_expect_eq(e.id, FIND_PLAN_CYCLE);
        cr_expect_str_eq(e.where, c == 0 ? "/edges/1" : c == 1 ? "/edges/2" : "/edges/0");
    }
    /* A pending alloc whose consumer never becomes ready. */
    graph g;
    rp_err e = {0};
    uint64_t *order;
    make(&g, "akk");
    edge(&g, 0, 1);
    edge(&g, 1, 2);
    edge(&g, 2, 1);
    cr_expect_eq(plan_issue_order(&e, &order, sc, &g.p, "p"), RP_INVALID);
    scratch_free(sc);
}

Test(order, reach_is_transitive)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    plan_reach r;
    graph g;
    char ops[151];
    memset(ops, 'k', 150);
    ops[150] = 0;
    make(&g, ops);
    /* Two chains, of the even and of the odd nodes, across words of the bit set. */
    for (uint64_t i = 2; i < 150; i++)
        edge(&g, i - 2, i);
    cr_assert_eq(plan_reach_build(&e, &r, sc, &g.p, "p"), RP_OK);
    for (uint64_t a = 0; a < 150; a++)
        for (uint64_t b = 0; b < 150; b++)
            cr_assert_eq(plan_reaches(&r, a, b), a < b && (b - a) % 2 == 0, "%d to %d", (int)a, (int)b);
    scratch_free(sc);
}

Test(order, nothing)
{
    scratch *sc = scratch_new(0), *little = scratch_new(16);
    rp_err e = {0};
    uint64_t *order;
    plan_reach r;
    graph g;
    make(&g, "");
    cr_expect_eq(plan_issue_order(&e, &order, sc, &g.p, "p"), RP_OK);
    cr_expect_eq(plan_reach_build(&e, &r, sc, &g.p, "p"), RP_OK);
    make(&g, "kkk");
    cr_expect_eq(plan_issue_order(&e, &order, little, &g.p, "p"), RP_NOMEM);
    e = (rp_err){0};
    cr_expect_eq(plan_reach_build(&e, &r, little, &g.p, "p"), RP_NOMEM);
    scratch_free(sc);
    scratch_free(little);
}
