#include "replay/summary.h"
#include "artifacts/base/text.h"

static void head(text_table *t, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_cell(t, "%s", names[i]);
}

#define HEAD(t, ...)                                                                                         \
    do {                                                                                                     \
        static const char *const names_[] = {__VA_ARGS__};                                                   \
        head(t, names_, sizeof names_ / sizeof *names_);                                                     \
    } while (0)

static void print_phases(FILE *f, scratch *sc, const run_record *rec)
{
    text_table *t = text_table_new(sc, "rllll");
    HEAD(t, "phase", "name", "status", "outputs", "observed signature");
    for (uint64_t i = 0; i < rec->n_phases; i++) {
        const phase_record *p = &rec->phases[i];
        char hex[DIGEST_HEX] = "-";
        if (p->has_observed)
            digest_hex(p->observed, hex);
        text_cell(t, "%llu", (unsigned long long)p->index);
        text_cell(t, "%s", p->name);
        text_cell(t, "%s", phase_status_names[p->status]);
        text_cell(t, "%llu/%llu", (unsigned long long)p->checks_passed, (unsigned long long)p->checks_total);
        text_cell(t, "%.16s", hex);
    }
    text_table_print(t, f, "");
    for (uint64_t i = 0; i < rec->n_phases; i++)
        if (*rec->phases[i].error)
            fprintf(f, "phase %s: %s\n", rec->phases[i].name, text_safe(sc, rec->phases[i].error));
}

static void print_fixtures(FILE *f, scratch *sc, const judgement *j, const lowering *l)
{
    text_table *t = text_table_new(sc, "lrrrrl");
    HEAD(t, "fixture", "max abs error", "max scaled", "differing", "ulp at worst", "verdict");
    for (uint64_t i = 0; i < l->n_fixtures; i++) {
        const numeric_verdict *v = &j->worst[i];
        if (!v->elements)
            continue;
        text_cell(t, "%s", l->fixtures[i].name);
        text_cell(t, "%.9g", v->max_abs_error);
        text_cell(t, "%.4f", v->max_scaled_error);
        text_cell(t, "%s", text_count(sc, v->differing));
        text_cell(t, "%llu", (unsigned long long)v->max_ulp);
        text_cell(t, "%s", v->passed ? "passed" : "numerical_rejection");
    }
    text_table_print(t, f, "");
}

/* What the library chose for each call, and which fields were others when it was captured. */
static void print_algorithms(FILE *f, scratch *sc, const judgement *j)
{
    text_table *t = text_table_new(sc, "rll");
    HEAD(t, "node", "algorithm chosen", "captured");
    for (uint64_t i = 0; i < j->n_algorithms; i++) {
        const algorithm_choice *a = &j->algorithms[i];
        text_cell(t, "%llu", (unsigned long long)a->node);
        text_cell(t, "%s", text_safe(sc, a->chosen));
        text_cell(t, "%s",
                  !*a->captured ? "not recorded"
                  : *a->changed ? text_safe(sc, a->changed)
                                : "the same");
    }
    text_table_print(t, f, "");
}

/* Median duration of graph node i over the recorded launches, in nanoseconds. */
static uint64_t node_median_ns(scratch *sc, const result *res, uint64_t i)
{
    uint64_t per = res->n_graph, n = per ? res->n_timeline / per : 0;
    uint64_t *v = scratch_array(sc, n, sizeof *v);
    for (uint64_t k = 0; v && k < n; k++)
        v[k] = res->timeline[k * per + i].end_ns - res->timeline[k * per + i].start_ns;
    return v && n ? median_u64(sc, v, n) : 0;
}

static bool has_timeline(const judgement *j)
{
    return j->timeline && j->timeline->n_graph && j->timeline->n_timeline >= j->timeline->n_graph;
}

static void print_kernels(FILE *f, scratch *sc, const judgement *j)
{
    const result *r = j->timeline;
    uint64_t sum = 0;
    text_table *t = text_table_new(sc, "llrrrrrr");
    HEAD(t, "graph node", "grid", "block", "cluster", "registers", "shared", "median", "");
    for (uint64_t i = 0; i < r->n_graph; i++) {
        const result_node *n = &r->timeline[i];
        uint64_t ns = node_median_ns(sc, r, i);
        sum += n->kind == RESULT_NODE_KERNEL ? ns : 0;
        text_cell(t, "%s", n->kind == RESULT_NODE_KERNEL ? n->name : "parameter copy");
        if (n->kind == RESULT_NODE_KERNEL) {
            text_cell(t, "%llu,%llu,%llu", (unsigned long long)n->grid[0], (unsigned long long)n->grid[1],
                      (unsigned long long)n->grid[2]);
            text_cell(t, "%llu", (unsigned long long)(n->block[0] * n->block[1] * n->block[2]));
            text_cell(t, "%llu", (unsigned long long)(n->cluster[0] * n->cluster[1] * n->cluster[2]));
            text_cell(t, "%llu", (unsigned long long)n->registers);
            text_cell(t, "%s", text_count(sc, n->dynamic_shared_bytes));
        } else {
            text_cell(t, "%llu bytes", (unsigned long long)n->bytes);
            for (int k = 0; k < 4; k++)
                text_cell(t, "%s", "");
        }
        text_cell(t, "%s", text_us(sc, ns * 1000));
        text_cell(t, "%s", "cupti_activity");
    }
    text_table_print(t, f, "");
    fprintf(f, "kernels sum %s per launch (instrumented; registers as CUPTI counts them, allocated)\n",
            text_us(sc, sum * 1000));
}

/* Executed thread-instructions by kernel, the most frequent kinds first. */
static void print_instructions(FILE *f, scratch *sc, const result *r)
{
    text_table *t = text_table_new(sc, "llr");
    HEAD(t, "node", "instruction (emulated)", "thread-instructions");
    for (uint64_t i = 0; i < r->n_instructions; i++) {
        const result_instruction *x = &r->instructions[i];
        text_cell(t, "%llu %s", (unsigned long long)x->node, x->entry);
        text_cell(t, "%s", x->instruction);
        text_cell(t, "%s", text_count(sc, x->count));
    }
    text_table_print(t, f, "");
    fputc('\n', f);
}

static void print_timings(FILE *f, scratch *sc, const run_record *rec)
{
    text_table *t = text_table_new(sc, "lrrrr");
    HEAD(t, "timing scope (hot cache)", "processes", "median of medians", "least", "greatest");
    for (uint64_t i = 0; i < rec->n_timings; i++) {
        const claimed_timing *c = &rec->timings[i];
        text_cell(t, "%s", c->scope);
        text_cell(t, "%llu", (unsigned long long)c->processes);
        text_cell(t, "%s", text_us(sc, c->s.median_ps));
        text_cell(t, "%s", text_us(sc, c->s.min_ps));
        text_cell(t, "%s", text_us(sc, c->s.max_ps));
    }
    text_table_print(t, f, "");
    fputs("per call, by the worker's word; scopes are never pooled\n", f);
}

void summary_print(FILE *f, scratch *sc, const run_record *rec, const judgement *j, const lowering *l)
{
    char hex[DIGEST_HEX];
    print_phases(f, sc, rec);
    fputc('\n', f);
    if (j->first) {
        print_fixtures(f, sc, j, l);
        fputc('\n', f);
    }
    if (j->n_algorithms) {
        print_algorithms(f, sc, j);
        fputc('\n', f);
    }
    if (has_timeline(j)) {
        print_kernels(f, sc, j);
        fputc('\n', f);
    }
    if (j->timeline && j->timeline->n_instructions)
        print_instructions(f, sc, j->timeline);
    if (rec->n_timings && !strcmp(rec->status, phase_status_names[PHASE_NUMERICAL]))
        fputs("timings of a numerical rejection are kept in the evidence and admitted to no comparison\n\n",
              f);
    else if (rec->n_timings) {
        print_timings(f, sc, rec);
        fputc('\n', f);
    }
    if (j->first && result_emulated(j->first))
        fprintf(f, "device %s: emulated, so no time of it says anything of performance\n",
                text_safe(sc, j->first->device_name));
    else if (j->first)
        fprintf(f, "device %s, compute capability %s, driver %s\n", text_safe(sc, j->first->device_name),
                text_safe(sc, j->first->compute_capability), text_safe(sc, j->first->driver));
    digest_hex(rec->plan_signature, hex);
    fprintf(f, "plan signature     sha256:%s\n", hex);
    if (rec->has_observed) {
        digest_hex(rec->observed_signature, hex);
        fprintf(f, "observed signature sha256:%s\n", hex);
    }
    fprintf(f, "%s: %s, %llu of %llu output checks\n", text_safe(sc, rec->bundle_name), rec->status,
            (unsigned long long)rec->checks_passed, (unsigned long long)rec->checks_total);
}

static void kernels_json(jw *w, scratch *sc, const result *r)
{
    jw_arr(w, "graph_nodes");
    for (uint64_t i = 0; i < r->n_graph; i++) {
        const result_node *n = &r->timeline[i];
        jw_obj(w, NULL);
        jw_str(w, "kind", result_node_names[n->kind]);
        jw_str(w, "name", n->name);
        jw_u64s(w, "grid", n->grid, 3);
        jw_u64s(w, "block", n->block, 3);
        jw_u64s(w, "cluster", n->cluster, 3);
        jw_u64(w, "registers_allocated", n->registers);
        jw_u64(w, "dynamic_shared_bytes", n->dynamic_shared_bytes);
        jw_u64(w, "bytes", n->bytes);
        jw_u64(w, "median_ns", node_median_ns(sc, r, i));
        jw_str(w, "scope", "cupti_activity");
        jw_end(w);
    }
    jw_end(w);
}

void summary_json(jw *w, scratch *sc, const run_record *rec, const judgement *j, const lowering *l)
{
    jw *r = jw_new(JW_COMPACT);
    rp_err e = {0};
    span text;
    record_write(r, rec);
    if (!jw_finish(&e, &text, r))
        jw_raw(w, "record", text);
    jw_free(r);
    jw_arr(w, "fixtures");
    for (uint64_t i = 0; j->first && i < l->n_fixtures; i++) {
        const numeric_verdict *v = &j->worst[i];
        jw_obj(w, NULL);
        jw_str(w, "name", l->fixtures[i].name);
        jw_u64(w, "elements", v->elements);
        jw_u64(w, "failing", v->failing);
        jw_f64(w, "max_abs_error", v->max_abs_error);
        jw_f64(w, "max_scaled_error", v->max_scaled_error);
        jw_u64(w, "worst_index", v->worst_index);
        jw_u64(w, "ulp_at_worst", v->max_ulp);
        jw_u64(w, "differing", v->differing);
        jw_bool(w, "passed", v->passed);
        jw_end(w);
    }
    jw_end(w);
    jw_arr(w, "algorithms");
    for (uint64_t i = 0; i < j->n_algorithms; i++) {
        const algorithm_choice *a = &j->algorithms[i];
        jw_obj(w, NULL);
        jw_u64(w, "node", a->node);
        jw_str(w, "chosen", a->chosen);
        jw_str(w, "captured", *a->captured ? a->captured : NULL);
        jw_str(w, "changed", a->changed);
        jw_end(w);
    }
    jw_end(w);
    if (j->first)
        jw_bool(w, "emulated", result_emulated(j->first));
    if (j->timeline && j->timeline->n_instructions) {
        jw_arr(w, "instructions");
        for (uint64_t i = 0; i < j->timeline->n_instructions; i++) {
            const result_instruction *x = &j->timeline->instructions[i];
            jw_obj(w, NULL);
            jw_u64(w, "node", x->node);
            jw_str(w, "entry", x->entry);
            jw_str(w, "instruction", x->instruction);
            jw_u64(w, "count", x->count);
            jw_end(w);
        }
        jw_end(w);
    }
    if (has_timeline(j))
        kernels_json(w, sc, j->timeline);
}
