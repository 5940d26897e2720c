#include "replay/graph_check.h"
#include "tests/support.h"
#include <criterion/criterion.h>

/* A matmul, a kernel, a copy of buffer 0 (1,000 bytes): and graphs that are and are not theirs. */
enum { MAX = 12 };
typedef struct {
    scratch *sc;
    findings fs;
    job_buffer buffers[2];
    job_step steps[4];
    lowering l;
    result_node nodes[MAX];
    result r;
} scene;

static const result_node parameters = {.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = 8};
static const result_node gemm = {.kind = RESULT_NODE_KERNEL,
                                 .name = "nvjet",
                                 .grid = {2, 64, 1},
                                 .block = {384, 1, 1},
                                 .cluster = {2, 1, 1},
                                 .dynamic_shared_bytes = 213284,
                                 .registers = 168};
static const result_node reduce = {.kind = RESULT_NODE_KERNEL,
                                   .name = "splitKreduce",
                                   .grid = {9, 1, 1},
                                   .block = {128, 1, 1},
                                   .registers = 32};
static const result_node add = {.kind = RESULT_NODE_KERNEL,
                                .name = "k",
                                .grid = {4, 1, 1},
                                .block = {256, 1, 1},
                                .dynamic_shared_bytes = 64,
                                .registers = 16};
static const result_node copy = {.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = 1000};

static void set_up(scene *s)
{
    *s = (scene){.sc = scratch_new(0)};
    findings_init(&s->fs, s->sc);
    s->buffers[0].bytes = s->buffers[1].bytes = 1000;
    s->steps[0] = (job_step){.kind = JOB_MATMUL, .node = 2};
    s->steps[1] = (job_step){.kind = JOB_KERNEL,
                             .node = 4,
                             .entry = "k",
                             .grid = {4, 1, 1},
                             .block = {256, 1, 1},
                             .shared_bytes = 64};
    s->steps[2] = (job_step){.kind = JOB_COPY, .node = 6, .src = 0, .dst = 1};
    s->l.base = (job){.n_params = 1, .n_buffers = 2, .buffers = s->buffers, .n_steps = 3, .steps = s->steps};
    s->r.graph = s->nodes;
}

static void graph(scene *s, const result_node *const *v)
{
    s->r.n_graph = 0;
    for (; v[s->r.n_graph]; s->r.n_graph++)
        s->nodes[s->r.n_graph] = *v[s->r.n_graph];
    s->fs.n = 0;
    graph_check(&s->fs, &s->l, &s->r, "result.json");
}
#define GRAPH(s, ...) graph(s, (const result_node *const[]){__VA_ARGS__, NULL})

static void good(scene *s)
{
    cr_assert_eq(s->fs.n, 0, "%s", t_list(s->sc, &s->fs));
}

static void bad(scene *s, const char *where)
{
    cr_assert_eq(s->fs.n, 1, "%s", t_list(s->sc, &s->fs));
    cr_assert(t_found(&s->fs, FIND_RUN_GRAPH, "result.json", where), "expected %s, found %s", where,
              t_list(s->sc, &s->fs));
}

Test(graph_check, accepted)
{
    scene s;
    set_up(&s);
    GRAPH(&s, &parameters, &gemm, &add, &copy);
    good(&s);
    /* The library splits k: two kernels of its own. */
    GRAPH(&s, &parameters, &gemm, &reduce, &add, &copy);
    good(&s);
    /* Two matmuls in a row, the last step a matmul. */
    s.steps[3] = s.steps[0];
    s.l.base.n_steps = 4;
    GRAPH(&s, &parameters, &gemm, &add, &copy, &gemm, &reduce);
    good(&s);
    scratch_free(s.sc);
}

Test(graph_check, differences)
{
    scene s;
    set_up(&s);
    result_node n;
    GRAPH(&s, &gemm, &add, &copy);
    bad(&s, "/graph/0");
    n = parameters, n.bytes = 16;
    GRAPH(&s, &n, &gemm, &add, &copy);
    bad(&s, "/graph/0");
    s.r.n_graph = 0;
    s.fs.n = 0;
    graph_check(&s.fs, &s.l, &s.r, "result.json");
    bad(&s, "/graph/0");
    GRAPH(&s, &parameters);
    bad(&s, "/graph/1");
    GRAPH(&s, &parameters, &gemm, &add);
    bad(&s, "/graph/3");
    GRAPH(&s, &parameters, &gemm, &add, &copy, &copy);
    bad(&s, "/graph/4");
    n = copy, n.bytes = 999;
    GRAPH(&s, &parameters, &gemm, &add, &n);
    bad(&s, "/graph/3");
    n = copy, n.kind = RESULT_NODE_OTHER;
    GRAPH(&s, &parameters, &gemm, &add, &n);
    bad(&s, "/graph/3");
    scratch_free(s.sc);
}

/* Every launch field of a generated kernel. Nodes before it count as the library's, so its absence shows at
 * the end. */
Test(graph_check, kernel_fields)
{
    scene s;
    set_up(&s);
    for (int i = 0; i < 9; i++) {
        result_node n = add;
        if (i < 3)
            n.grid[i] += 1;
        else if (i < 6)
            n.block[i - 3] += 1;
        else if (i == 6)
            n.dynamic_shared_bytes = 0;
        else if (i == 7)
            n.name = "kk";
        else
            n.kind = RESULT_NODE_OTHER;
        GRAPH(&s, &parameters, &gemm, &n, &copy);
        cr_assert_eq(s.fs.n, 1, "%d: %s", i, t_list(s.sc, &s.fs));
        cr_assert(strstr(s.fs.v[0].message, "expected kernel of node 4, k grid 4,1,1 block 256,1,1"), "%s",
                  s.fs.v[0].message);
    }
    scratch_free(s.sc);
}

/* --- timeline. --- */

static result_node records[MAX];

static void timeline(scene *s, uint64_t launches)
{
    static const result_node *const v[] = {&parameters, &gemm, &add, &copy, NULL};
    graph(s, v);
    s->r.timeline = records;
    s->r.timeline_launches = launches;
    s->r.n_timeline = 0;
    for (uint64_t k = 0; k < launches; k++)
        for (uint64_t i = 0; i < s->r.n_graph; i++) {
            result_node *n = &records[s->r.n_timeline++];
            *n = s->nodes[i];
            n->launch = k;
            n->start_ns = 100 * (k * s->r.n_graph + i);
            n->end_ns = n->start_ns + 50;
            n->registers += 8; /* CUPTI's count is the allocated one */
        }
    s->fs.n = 0;
}

static void timeline_good(scene *s)
{
    s->fs.n = 0;
    timeline_check(&s->fs, &s->r, "result.json");
    good(s);
}

static void timeline_bad(scene *s, const char *where)
{
    s->fs.n = 0;
    timeline_check(&s->fs, &s->r, "result.json");
    cr_assert_geq(s->fs.n, 1, "nothing at %s", where);
    cr_assert(t_found(&s->fs, FIND_RUN_TIMELINE, "result.json", where), "expected %s, found %s", where,
              t_list(s->sc, &s->fs));
    timeline(s, 2);
}

Test(graph_check, timeline_accepted)
{
    scene s;
    set_up(&s);
    timeline(&s, 2);
    timeline_good(&s);
    /* CUPTI says 1,1,1 where the graph says that there is no cluster. */
    for (int i = 0; i < 3; i++)
        records[2].cluster[i] = 1;
    timeline_good(&s);
    scratch_free(s.sc);
}

Test(graph_check, timeline_differences)
{
    scene s;
    set_up(&s);
    timeline(&s, 2);
    s.r.timeline_dropped = 1;
    timeline_bad(&s, "/timeline_dropped");
    s.r.timeline_dropped = 0;
    s.r.n_timeline--;
    timeline_bad(&s, "/timeline");
    s.r.timeline_launches = 3;
    timeline_bad(&s, "/timeline");
    s.r.n_graph = 0;
    timeline_bad(&s, "/timeline");
    records[1].name = "another";
    timeline_bad(&s, "/timeline/1");
    records[5].grid[1]++;
    timeline_bad(&s, "/timeline/5");
    records[5].block[0]--;
    timeline_bad(&s, "/timeline/5");
    records[5].cluster[0] = 4;
    timeline_bad(&s, "/timeline/5");
    records[5].dynamic_shared_bytes++;
    timeline_bad(&s, "/timeline/5");
    records[3].bytes--;
    timeline_bad(&s, "/timeline/3");
    records[3].kind = RESULT_NODE_KERNEL;
    timeline_bad(&s, "/timeline/3");
    records[4].launch = 0;
    timeline_bad(&s, "/timeline/4");
    records[6].end_ns = records[6].start_ns - 1;
    timeline_bad(&s, "/timeline/6");
    timeline_good(&s);
    scratch_free(s.sc);
}
