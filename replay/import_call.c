/* The sources of a bundle that makes one logged call, with the log's own descriptors (policy given) and
 * inputs of its own: what other kernels wrote in between is not in a log. */
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "plan/lt_call.h"
#include "plan/lt_rules.h"
#include "replay/import_lt.h"

enum { ALIGN = 256, PARAMETER_BYTES = 8 };

/* One call and the plan around it: inputs, perhaps a copy of C into D, the matmul, the output. `meant` says
 * which values are multiplied, `bound` which buffers the call is given: they differ where C was copied to D.
 */
typedef struct {
    import_writer w;
    lt_call call;
    import_call meant, bound;
    const char *text; /* the line */
    bool copies;
    uint64_t node, slab_bytes;
} writer;

static bool same_matrix(const lt_matrix *a, const lt_matrix *b)
{
    return a->type == b->type && a->order == b->order && a->rows == b->rows && a->cols == b->cols &&
           a->ld == b->ld && a->batch == b->batch && a->stride == b->stride;
}

/* A and B at one place are one buffer, where that is described alike. */
static bool one_buffer(const lt_call *c, const lt_trace *t)
{
    import_shape a = import_lt_shape(c, LT_A), b = import_lt_shape(c, LT_B);
    return t->pointer[LTM_A] && t->pointer[LTM_A] == t->pointer[LTM_B] && c->a.type == c->b.type &&
           a.rank == b.rank && !memcmp(a.n, b.n, sizeof a.n);
}

/* What the trace says of the call; NULL, or what a plan cannot express. */
static const char *take(writer *w, const lt_trace *t)
{
    lt_query q;
    lt_answer answer;
    const char *why = lt_call_of_query(&w->call, &t->q);
    if (why)
        return why;
    lt_call *k = &w->call;
    if (t->other_scales)
        return "a scale of C or D, or the largest absolute value of D";
    k->a.scaled = t->scaled[0];
    k->b.scaled = t->scaled[1];
    if ((why = import_lt_obstacle(k)))
        return why;
    lt_query_of_call(&q, k);
    lt_decide(&answer, &q);
    if (answer.verdict == LTV_REFUSE)
        return "a rule refuses the call: its verdict says which";
    w->copies = k->beta_one && !t->out_of_place;
    if (w->copies && !same_matrix(&k->c, &k->d))
        return "C in the place of D, described otherwise";
    w->meant = (import_call){.call = k, .id = {"a", "b", "c", "d"}, .result = "d"};
    if (one_buffer(k, t))
        w->meant.id[LT_B] = "a";
    if (!k->beta_one && !t->out_of_place)
        w->meant.id[LT_C] = "d";
    w->meant.id[LT_BIAS] = lt_epilogue_has_bias(k->epilogue) ? "bias" : NULL;
    w->meant.id[LT_SCALE_A] = k->a.scaled ? "scale_a" : NULL;
    w->meant.id[LT_SCALE_B] = k->b.scaled ? "scale_b" : NULL;
    w->bound = w->meant;
    if (w->copies)
        w->bound.id[LT_C] = "d";
    w->node = w->copies ? 2 : 1;
    if (!ck_add_u64(ALIGN, k->workspace_bytes, &w->slab_bytes) ||
        !ck_align_u64(w->slab_bytes, ALIGN, &w->slab_bytes))
        return "a workspace beyond 64 bits";
    return NULL;
}

const char *import_call_obstacle(const lt_trace *t)
{
    writer w = {0};
    return take(&w, t);
}

/* The first operand of each buffer that the caller fills; -1 behind the last. */
static int next_input(const writer *w, int which)
{
    for (which++; which < LT_OPERANDS; which++) {
        const char *id = w->meant.id[which];
        bool seen = !id || which == LT_D || !strcmp(id, "d");
        for (int i = 0; i < which && !seen; i++)
            seen = w->meant.id[i] && !strcmp(w->meant.id[i], id);
        if (!seen)
            return which;
    }
    return -1;
}

static void buffers_json(jw *j, const writer *w)
{
    jw_arr(j, "buffers");
    for (int i = next_input(w, -1); i >= 0; i = next_input(w, i))
        import_lt_buffer(j, &w->meant, i, false);
    import_lt_buffer(j, &w->meant, LT_D, true);
    jw_end(j);
}

static void matmul_json(jw *j, const writer *w)
{
    jw_obj(j, NULL);
    jw_str(j, "op", "matmul");
    jw_str(j, "label", w->w.t->function);
    jw_u64(j, "workspace_bytes", w->call.workspace_bytes);
    jw_arr(j, "operands");
    for (int i = LT_A; i < LT_OPERANDS; i++)
        if (i != LT_D && w->bound.id[i] && (i != LT_C || w->copies || strcmp(w->bound.id[i], "d")))
            import_lt_slot(j, NULL, lt_operand_names[i], &w->bound, i, NULL);
    jw_end(j);
    import_lt_slot(j, "destination", "dest", &w->bound, LT_D, w->copies ? "c" : NULL);
    jw_end(j);
}

static void edges_json(jw *j, const writer *w)
{
    jw_arr(j, "edges");
    for (int i = next_input(w, -1); i >= 0; i = next_input(w, i))
        import_edge(j, 0, w->copies && i == LT_C ? 1 : w->node, w->meant.id[i], lt_operand_names[i]);
    if (w->copies)
        import_edge(j, 1, w->node, "d", "c");
    import_edge(j, w->node, w->node + 1, "d", "out 0");
    jw_end(j);
}

static rp_code put_plan(rp_err *e, writer *w)
{
    jw *j = import_begin_plan(w->w.name);
    buffers_json(j, w);
    jw_arr(j, "nodes");
    jw_obj(j, NULL);
    jw_str(j, "op", "input");
    jw_arr(j, "slots");
    for (int i = next_input(w, -1); i >= 0; i = next_input(w, i))
        import_value(j, w->meant.id[i]);
    jw_end(j);
    jw_end(j);
    if (w->copies) {
        jw_obj(j, NULL);
        jw_str(j, "op", "copy");
        jw_str(j, "source", "c");
        jw_str(j, "destination", "d");
        jw_end(j);
    }
    matmul_json(j, w);
    jw_obj(j, NULL);
    jw_str(j, "op", "output");
    jw_arr(j, "slots");
    import_lt_output(j, &w->meant);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    edges_json(j, w);
    jw_end(j);
    return import_put(e, &w->w, "plan/plan.json", j);
}

static void ranges_json(jw *j, const writer *w, bool steps)
{
    jw_arr(j, "ranges");
    import_range(j, "parameters", steps, 0, w->node + 2, 0, PARAMETER_BYTES);
    if (w->call.workspace_bytes)
        import_range(j, w->copies ? "workspace@2" : "workspace@1", steps, w->node, w->node + 1, ALIGN,
                     w->call.workspace_bytes);
    jw_end(j);
}

static rp_code put_arena(rp_err *e, writer *w)
{
    jw *j = import_begin("replay-arena/1");
    jw_u64(j, "slab_bytes", w->slab_bytes);
    jw_u64(j, "peak_live_bytes", w->slab_bytes);
    ranges_json(j, w, true);
    jw_end(j);
    return import_put(e, &w->w, "plan/arena.json", j);
}

static rp_code put_calls(rp_err *e, writer *w)
{
    jw *j = import_begin("replay-calls/1");
    jw_arr(j, "calls");
    import_lt_record(j, &w->bound, w->node, NULL);
    jw_end(j);
    jw_end(j);
    return import_put(e, &w->w, "plan/resolved_calls.json", j);
}

static rp_code put_texts(rp_err *e, writer *w)
{
    const lt_trace *t = w->w.t;
    const char *path = file_join(w->w.sc, w->w.dir, "plan/buffer_ir.txt");
    const char *text =
        scratch_printf(w->w.sc, "d = %s(a, b%s), %s\n", t->function, w->meant.id[LT_BIAS] ? ", bias" : "",
                       lt_epilogue_names[w->call.epilogue]);
    jw *j = jw_new(JW_PRETTY);
    if (!path || !text) {
        jw_free(j);
        return err_nomem(e);
    }
    jw_obj(j, NULL);
    jw_arr(j, "ops");
    jw_fmt(j, NULL, "%s %s %s", t->function, lt_type_name(w->call.a.type), lt_type_name(w->call.d.type));
    jw_end(j);
    jw_end(j);
    if (import_put(e, &w->w, "plan/typed_ops.json", j) || file_write(e, path, span_str(text)))
        return e->code;
    w->w.paths[w->w.n] = "plan/buffer_ir.txt";
    w->w.digests[w->w.n++] = digest_of(span_str(text));
    return RP_OK;
}

static void inputs_json(jw *j, const char *key, const writer *w, bool values)
{
    jw_arr(j, key);
    for (int i = next_input(w, -1); i >= 0; i = next_input(w, i))
        import_lt_tensor(j, &w->meant, i, values);
    jw_end(j);
}

static rp_code put_reference(rp_err *e, writer *w)
{
    jw *j = import_begin("replay-reference/1");
    inputs_json(j, "inputs", w, false);
    jw_arr(j, "nodes");
    import_lt_program(j, &w->meant);
    jw_end(j);
    jw_arr(j, "outputs");
    jw_obj(j, NULL);
    jw_str(j, "name", "d");
    jw_str(j, "value", "d");
    jw_str(j, "dtype", dtype_names[w->call.d.type]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    return import_put(e, &w->w, "reference.json", j);
}

static rp_code put_fixture(rp_err *e, writer *w)
{
    jw *j = import_begin("replay-recipe/1");
    jw_str(j, "fixture", "integers");
    jw_u64(j, "seed", 1);
    jw_str(j, "purpose", "Small integers: sums are exact, and what is left is one rounding of the result.");
    inputs_json(j, "tensors", w, true);
    jw_end(j);
    return import_put(e, &w->w, "fixtures/integers.json", j);
}

static rp_code put_contract(rp_err *e, writer *w)
{
    const lt_call *k = &w->call;
    bool exact = import_lt_exact(k);
    jw *j = import_begin("replay-contract/1");
    jw_arr(j, "tolerances");
    import_lt_tolerance(j, &w->meant);
    jw_end(j);
    import_checks(j, 1);
    jw_obj(j, "accuracy");
    jw_str(j, "class", exact ? "reference_exact" : "tolerance_bounded");
    jw_u64s(j, "measured_k", &k->k, 1);
    jw_str(j, "growth",
           exact ? "Exact while the sums stay below 2^24; then one rounding to the type of d."
                 : "Exact up to GELU, which the library approximates; then one rounding to the type of d.");
    jw_end(j);
    import_claims(j, "A log says nothing about it.",
                  dtype_is_float(k->a.type) && dtype_bytes(k->a.type) == 1 ? 89 : 80,
                  "The library's own kernels; the log does not name the device.");
    jw_arr(j, "dispatch");
    jw_obj(j, NULL);
    jw_fmt(j, "name", "matmul.%s", dtype_names[k->a.type]);
    jw_str(j, "symbol", "cublasLtMatmul");
    jw_str(j, "family", "library_matmul");
    jw_arr(j, "dtypes");
    jw_str(j, NULL, dtype_names[k->a.type]);
    jw_str(j, NULL, dtype_names[k->b.type]);
    jw_str(j, NULL, dtype_names[k->d.type]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    return import_put(e, &w->w, "contract.json", j);
}

static void not_observed(jw *j, const writer *w)
{
    jw_arr(j, "not_observed");
    import_not_observed(j, "alpha", "the log does not print it; 1 is assumed");
    if (w->w.t->beta_unsaid)
        import_not_observed(j, "beta", "the log prints \"?\" for what is not 0; 1 is assumed");
    import_not_observed(j, "the values", "a log has no data; inputs are generated");
    import_not_observed(j, "kernels between the calls", "the log has the library's calls only");
    if (!w->copies && strcmp(w->meant.id[LT_C], "d"))
        import_not_observed(j, "what C points at",
                            "beta is 0 and C is another place than D: it gets a buffer of "
                            "its own, which must not matter");
    if (w->copies)
        import_not_observed(j, "what D held before",
                            "beta is 1 and C is D: an input c is copied there first");
    if (w->meant.id[LT_SCALE_A] || w->meant.id[LT_SCALE_B])
        import_not_observed(j, "the scales", "the log has their pointers only; values are generated");
    jw_end(j);
}

static rp_code put_capture(rp_err *e, writer *w)
{
    const import_writer *o = &w->w;
    const char *log = strrchr(o->source, '/');
    jw *j = import_begin("replay-capture/1");
    jw_str(j, "workload", o->name);
    jw_obj(j, "producer");
    jw_str(j, "program", "replay import cublaslt-log");
    jw_end(j);
    jw_obj(j, "original");
    jw_str(j, "log", log ? log + 1 : o->source);
    jw_u64(j, "line", o->line);
    jw_str(j, "function", o->t->function);
    jw_str(j, "algorithm", o->t->algorithm);
    jw_str(j, "elided", o->t->elided);
    jw_end(j);
    import_account(j, o, "not in the log");
    jw_obj(j, "arena");
    jw_u64(j, "slab_bytes", w->slab_bytes);
    ranges_json(j, w, false);
    jw_end(j);
    jw_arr(j, "calls");
    import_lt_record(j, &w->bound, w->node, w->text);
    jw_end(j);
    jw_arr(j, "kernels");
    import_library_launch(j, w->node);
    jw_end(j);
    not_observed(j, w);
    jw_end(j);
    return import_put(e, &w->w, "capture.json", j);
}

rp_code import_call_write(rp_err *e, scratch *sc, const char *dir, const char *name, const char *log,
                          uint64_t line, const char *text, const lt_trace *t)
{
    writer w = {.w = {.sc = sc, .dir = dir, .name = name, .source = log, .t = t, .line = line}, .text = text};
    const char *plan_dir = file_join(sc, dir, "plan"), *fixtures = file_join(sc, dir, "fixtures");
    if (!plan_dir || !fixtures)
        return err_nomem(e);
    if (take(&w, t))
        return err_set(e, RP_BUG, "a call that no plan expresses");
    if (file_mkdirs(e, plan_dir) || file_mkdirs(e, fixtures))
        return e->code;
    /* In the order of their paths, which is that of the capture's list. */
    if (put_contract(e, &w) || put_fixture(e, &w) || put_plan(e, &w) || put_arena(e, &w) ||
        put_calls(e, &w) || put_texts(e, &w) || put_reference(e, &w))
        return e->code;
    return put_capture(e, &w);
}
