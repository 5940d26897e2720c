#include "replay/graph_check.h"
#include <stdio.h>

static bool same3(const uint64_t a[3], const uint64_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* The graph says 0,0,0 and CUPTI may say 1,1,1 for a launch without clusters. */
static bool same_cluster(const uint64_t a[3], const uint64_t b[3])
{
    static const uint64_t one[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++)
        if ((a[i] ? a[i] : one[i]) != (b[i] ? b[i] : one[i]))
            return false;
    return true;
}

static bool is_step(const result_node *n, const job *j, const job_step *s)
{
    if (s->kind == JOB_COPY)
        return n->kind == RESULT_NODE_MEMCPY && n->bytes == j->buffers[s->src].bytes;
    return n->kind == RESULT_NODE_KERNEL && !strcmp(n->name, s->entry) && same3(n->grid, s->grid) &&
           same3(n->block, s->block) && n->dynamic_shared_bytes == s->shared_bytes;
}

static void wrong(findings *fs, const char *file, uint64_t at, const result *res, const char *expected)
{
    char where[40], have[160];
    snprintf(where, sizeof where, "/graph/%llu", (unsigned long long)at);
    if (at >= res->n_graph) {
        snprintf(have, sizeof have, "the end of the graph");
    } else {
        const result_node *n = &res->graph[at];
        snprintf(have, sizeof have, "%s %.64s grid %llu,%llu,%llu block %llu,%llu,%llu",
                 result_node_names[n->kind], n->name, (unsigned long long)n->grid[0],
                 (unsigned long long)n->grid[1], (unsigned long long)n->grid[2],
                 (unsigned long long)n->block[0], (unsigned long long)n->block[1],
                 (unsigned long long)n->block[2]);
    }
    findings_add(fs, FIND_RUN_GRAPH, file, where, expected, have, "expected %s, found %s", expected, have);
}

void graph_check(findings *fs, const lowering *l, const result *res, const char *file)
{
    const job *j = &l->base;
    uint64_t at = 0;
    char expected[160];
    if (at >= res->n_graph || res->graph[at].kind != RESULT_NODE_MEMCPY ||
        res->graph[at].bytes != 8 * j->n_params) {
        snprintf(expected, sizeof expected, "a copy of the %llu parameter bytes",
                 (unsigned long long)(8 * j->n_params));
        wrong(fs, file, at, res, expected);
        return;
    }
    at++;
    for (uint64_t s = 0; s < j->n_steps; s++) {
        const job_step *step = &j->steps[s], *next = s + 1 < j->n_steps ? &j->steps[s + 1] : NULL;
        if (step->kind == JOB_MATMUL) {
            uint64_t from = at;
            while (at < res->n_graph &&
                   (at == from || !next || (next->kind != JOB_MATMUL && !is_step(&res->graph[at], j, next))))
                at++;
            if (at == from) {
                snprintf(expected, sizeof expected, "a kernel of the library for node %llu",
                         (unsigned long long)step->node);
                wrong(fs, file, at, res, expected);
                return;
            }
            continue;
        }
        if (at >= res->n_graph || !is_step(&res->graph[at], j, step)) {
            snprintf(expected, sizeof expected,
                     "%s of node %llu, %s grid %llu,%llu,%llu block %llu,%llu,%llu",
                     job_step_names[step->kind], (unsigned long long)step->node,
                     step->kind == JOB_KERNEL ? step->entry : "", (unsigned long long)step->grid[0],
                     (unsigned long long)step->grid[1], (unsigned long long)step->grid[2],
                     (unsigned long long)step->block[0], (unsigned long long)step->block[1],
                     (unsigned long long)step->block[2]);
            wrong(fs, file, at, res, expected);
            return;
        }
        at++;
    }
    if (at != res->n_graph)
        wrong(fs, file, at, res, "the end of the graph");
}

void timeline_check(findings *fs, const result *res, const char *file)
{
    uint64_t per = res->n_graph, launches = res->timeline_launches;
    if (res->timeline_dropped)
        findings_add(fs, FIND_RUN_TIMELINE, file, "/timeline_dropped", NULL, NULL,
                     "expected no dropped record, found %llu", (unsigned long long)res->timeline_dropped);
    if (!per || res->n_timeline / per != launches || res->n_timeline % per) {
        findings_add(fs, FIND_RUN_TIMELINE, file, "/timeline", NULL, NULL,
                     "expected %llu launches of %llu nodes, found %llu records", (unsigned long long)launches,
                     (unsigned long long)per, (unsigned long long)res->n_timeline);
        return;
    }
    for (uint64_t i = 0; i < res->n_timeline; i++) {
        const result_node *g = &res->graph[i % per], *t = &res->timeline[i];
        char where[40];
        bool same = g->kind == t->kind &&
                    (g->kind == RESULT_NODE_MEMCPY
                         ? g->bytes == t->bytes
                         : !strcmp(g->name, t->name) && same3(g->grid, t->grid) &&
                               same3(g->block, t->block) && same_cluster(g->cluster, t->cluster) &&
                               g->dynamic_shared_bytes == t->dynamic_shared_bytes);
        snprintf(where, sizeof where, "/timeline/%llu", (unsigned long long)i);
        if (!same)
            findings_add(fs, FIND_RUN_TIMELINE, file, where, NULL, NULL,
                         "expected graph node %llu (%s), found %s %s", (unsigned long long)(i % per), g->name,
                         result_node_names[t->kind], t->name);
        if (t->launch != i / per || t->end_ns < t->start_ns)
            findings_add(fs, FIND_RUN_TIMELINE, file, where, NULL, NULL,
                         "expected a record of launch %llu with an end after its start",
                         (unsigned long long)(i / per));
    }
}
