/* The sources of a bundle that makes one logged call, with inputs of its own: what other kernels wrote in
 * between is not in a log. */
#include "artifacts/base/file.h"
#include "replay/import_json.h"

enum { WORKSPACE_BYTES = 33554432, SLAB_BYTES = WORKSPACE_BYTES + 256 };

const char *import_call_obstacle(const lt_trace *t)
{
    const lt_query *q = &t->q;
    const lt_operand *a = &q->mat[LTM_A], *b = &q->mat[LTM_B], *d = &q->mat[LTM_D];
    if (a->batch != 1 || b->batch != 1 || d->batch != 1)
        return "a batch: a plan has single products only";
    if (a->type != b->type || (a->type != DT_F16 && a->type != DT_BF16 && a->type != DT_F32))
        return "operand types: a plan has f16, bf16 and f32 products only";
    if (d->type != a->type && d->type != DT_F32)
        return "the type of d: a plan has that of a or f32";
    if (q->compute != LTC_32F || q->scale != DT_F32)
        return "compute or scale type: a plan has 32f and f32 only";
    if (q->epilogue > LTE_RELU_BIAS)
        return "the epilogue: a plan has default, relu, bias and relu_bias only";
    if (lt_epilogue_has_bias(q->epilogue) && q->bias_type != DT_COUNT && q->bias_type != d->type)
        return "the type of the bias: a plan has that of d";
    if (q->beta != 0)
        return "beta is not 0: what c held is not in the log";
    for (int i = 0; i < LTM_COUNT; i++)
        if (q->mat[i].order != LTO_COL)
            return "an order: column-major operands only are imported";
    if (a->ld != a->rows || b->ld != b->rows || d->ld != d->rows)
        return "a leading dimension beyond the rows: fixtures are dense";
    if (!q->m || !q->n || !q->k)
        return "an empty product";
    if ((q->op[0] ? a->cols : a->rows) != q->m || (q->op[1] ? b->rows : b->cols) != q->n ||
        (q->op[1] ? b->cols : b->rows) != q->k)
        return "rows and columns that do not fit each other";
    return NULL;
}

static void spec_json(jw *j, const lt_query *q)
{
    jw_obj(j, "spec");
    jw_str(j, "form", lt_epilogue_has_bias(q->epilogue) ? "CublasLtBias" : "CublasLt");
    jw_u64(j, "m", q->m);
    jw_u64(j, "n", q->n);
    jw_u64(j, "k", q->k);
    jw_bool(j, "trans_a", q->op[0] != LTP_N);
    jw_bool(j, "trans_b", q->op[1] != LTP_N);
    jw_u64(j, "lda", q->mat[LTM_A].ld);
    jw_u64(j, "ldb", q->mat[LTM_B].ld);
    jw_u64(j, "ldc", q->mat[LTM_D].ld);
    jw_u64(j, "ldd", q->mat[LTM_D].ld);
    jw_str(j, "a_dtype", dtype_names[q->mat[LTM_A].type]);
    jw_str(j, "b_dtype", dtype_names[q->mat[LTM_B].type]);
    jw_str(j, "d_dtype", dtype_names[q->mat[LTM_D].type]);
    jw_str(j, "epilogue", lt_epilogue_names[q->epilogue]);
    jw_end(j);
}

static rp_code put_plan(rp_err *e, import_writer *w)
{
    const lt_query *q = &w->t->q;
    const lt_operand *a = &q->mat[LTM_A], *b = &q->mat[LTM_B], *d = &q->mat[LTM_D];
    bool bias = lt_epilogue_has_bias(q->epilogue);
    jw *j = import_begin("replay-plan/0");
    jw_str(j, "name", w->name);
    jw_obj(j, "policy");
    jw_str(j, "resolver", "luminal-lt/1");
    jw_str(j, "arena", "given");
    jw_str(j, "renderer", "opaque");
    jw_end(j);
    jw_arr(j, "symbols");
    jw_end(j);
    jw_arr(j, "buffers");
    import_buffer(j, "a", false, a->type, a->cols, a->rows);
    import_buffer(j, "b", false, b->type, b->cols, b->rows);
    if (bias)
        import_buffer(j, "bias", false, d->type, q->m, 0);
    import_buffer(j, "d", true, d->type, q->n, q->m);
    jw_end(j);
    jw_arr(j, "nodes");
    jw_obj(j, NULL);
    jw_str(j, "op", "input");
    jw_arr(j, "slots");
    import_value(j, "a");
    import_value(j, "b");
    if (bias)
        import_value(j, "bias");
    jw_end(j);
    jw_end(j);
    jw_obj(j, NULL);
    jw_str(j, "op", "matmul");
    jw_str(j, "label", w->t->function);
    spec_json(j, q);
    jw_arr(j, "operands");
    import_slot(j, NULL, "a", "a", q->m, q->k, q->op[0] == LTP_N ? "left_major" : "right_major");
    import_slot(j, NULL, "b", "b", q->k, q->n, q->op[1] == LTP_N ? "left_major" : "right_major");
    if (bias)
        import_slot(j, NULL, "bias", "bias", q->m, 0, "right_major");
    jw_end(j);
    import_slot(j, "destination", "dest", "d", q->m, q->n, "left_major");
    jw_end(j);
    jw_obj(j, NULL);
    jw_str(j, "op", "output");
    jw_arr(j, "slots");
    jw_obj(j, NULL);
    jw_str(j, "value", "d");
    jw_str(j, "buffer", "d");
    import_layout(j, q->n, q->m, "right_major");
    jw_end(j);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    jw_arr(j, "edges");
    import_edge(j, 0, 1, "a", "a");
    import_edge(j, 0, 1, "b", "b");
    if (bias)
        import_edge(j, 0, 1, "bias", "bias");
    import_edge(j, 1, 2, "d", "out 0");
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "plan/plan.json", j);
}

static void ranges_json(jw *j, bool steps)
{
    jw_arr(j, "ranges");
    import_range(j, "parameters", steps, 0, 3, 0, 8);
    import_range(j, "workspace@1", steps, 1, 2, 256, WORKSPACE_BYTES);
    jw_end(j);
}

static rp_code put_arena(rp_err *e, import_writer *w)
{
    jw *j = import_begin("replay-arena/0");
    jw_u64(j, "slab_bytes", SLAB_BYTES);
    jw_u64(j, "peak_live_bytes", SLAB_BYTES);
    ranges_json(j, true);
    jw_end(j);
    return import_put(e, w, "plan/arena.json", j);
}

/* Column-major rows by cols is row-major cols by rows, with the other operation. */
static void matrix_json(jw *j, const lt_query *q, int which, bool bound)
{
    const lt_operand *m = &q->mat[which == LTM_C ? LTM_D : which];
    bool input = which < LTM_C;
    jw_obj(j, lt_mat_names[which]);
    if (bound)
        jw_str(j, "buffer", input ? lt_mat_names[which] : "d");
    jw_str(j, "type", dtype_names[m->type]);
    jw_u64(j, "rows", input ? m->cols : m->rows);
    jw_u64(j, "cols", input ? m->rows : m->cols);
    jw_u64(j, "ld", m->ld);
    jw_str(j, "order", input ? "row" : "col");
    jw_end(j);
}

static void descriptors_json(jw *j, const lt_query *q, bool bound)
{
    jw_obj(j, NULL);
    jw_u64(j, "node", 1);
    for (int i = 0; i < LTM_COUNT; i++)
        matrix_json(j, q, i, bound);
    jw_bool(j, "trans_a", q->op[0] == LTP_N);
    jw_bool(j, "trans_b", q->op[1] == LTP_N);
    jw_str(j, "compute", "32f");
    jw_str(j, "scale", "f32");
    jw_str(j, "epilogue", lt_epilogue_names[q->epilogue]);
    if (bound) {
        jw_str(j, "bias", lt_epilogue_has_bias(q->epilogue) ? "bias" : NULL);
        jw_u64(j, "alpha", 1);
        jw_u64(j, "beta", 0);
    }
    jw_u64(j, "workspace_bytes", WORKSPACE_BYTES);
    jw_end(j);
}

static rp_code put_calls(rp_err *e, import_writer *w)
{
    jw *j = import_begin("replay-calls/0");
    jw_arr(j, "calls");
    descriptors_json(j, &w->t->q, true);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "plan/resolved_calls.json", j);
}

static rp_code put_texts(rp_err *e, import_writer *w)
{
    const lt_query *q = &w->t->q;
    const char *path = file_join(w->sc, w->dir, "plan/buffer_ir.txt");
    const char *text =
        scratch_printf(w->sc, "d = %s(a, b%s), %s\n", w->t->function,
                       lt_epilogue_has_bias(q->epilogue) ? ", bias" : "", lt_epilogue_names[q->epilogue]);
    jw *j = jw_new(JW_PRETTY);
    if (!path || !text) {
        jw_free(j);
        return err_nomem(e);
    }
    jw_obj(j, NULL);
    jw_arr(j, "ops");
    jw_fmt(j, NULL, "%s %s %s", w->t->function, lt_type_name(q->mat[LTM_A].type),
           lt_type_name(q->mat[LTM_D].type));
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "plan/typed_ops.json", j) || file_write(e, path, span_str(text)))
        return e->code;
    w->paths[w->n] = "plan/buffer_ir.txt";
    w->digests[w->n++] = digest_of(span_str(text));
    return RP_OK;
}

static void inputs_json(jw *j, const char *key, const lt_query *q, bool values)
{
    const lt_operand *a = &q->mat[LTM_A], *b = &q->mat[LTM_B];
    jw_arr(j, key);
    import_tensor(j, "a", a->type, a->cols, a->rows, values);
    import_tensor(j, "b", b->type, b->cols, b->rows, values);
    if (lt_epilogue_has_bias(q->epilogue))
        import_tensor(j, "bias", q->mat[LTM_D].type, q->m, 0, values);
    jw_end(j);
}

/* D row by row is the transpose: op(B) transposed times op(A) transposed, of matrices that lie transposed
 * already. */
static rp_code put_reference(rp_err *e, import_writer *w)
{
    const lt_query *q = &w->t->q;
    bool bias = lt_epilogue_has_bias(q->epilogue),
         relu = q->epilogue == LTE_RELU || q->epilogue == LTE_RELU_BIAS;
    jw *j = import_begin("replay-reference/0");
    inputs_json(j, "inputs", q, false);
    jw_arr(j, "nodes");
    jw_obj(j, NULL);
    jw_str(j, "id", "product");
    jw_str(j, "op", "matmul");
    jw_str(j, "a", "b");
    jw_str(j, "b", "a");
    jw_bool(j, "transpose_a", q->op[1] != LTP_N);
    jw_bool(j, "transpose_b", q->op[0] != LTP_N);
    jw_end(j);
    if (bias)
        import_node(j, "sum", "add", "product", "bias");
    if (relu)
        import_node(j, "positive", "relu", bias ? "sum" : "product", NULL);
    jw_end(j);
    jw_arr(j, "outputs");
    jw_obj(j, NULL);
    jw_str(j, "name", "d");
    jw_str(j, "value", relu ? "positive" : bias ? "sum" : "product");
    jw_str(j, "dtype", dtype_names[q->mat[LTM_D].type]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "reference.json", j);
}

static rp_code put_fixture(rp_err *e, import_writer *w)
{
    jw *j = import_begin("replay-recipe/0");
    jw_str(j, "fixture", "integers");
    jw_u64(j, "seed", 1);
    jw_str(j, "purpose", "Small integers: sums are exact, and what is left is one rounding of the result.");
    inputs_json(j, "tensors", &w->t->q, true);
    jw_end(j);
    return import_put(e, w, "fixtures/integers.json", j);
}

static rp_code put_contract(rp_err *e, import_writer *w)
{
    const lt_query *q = &w->t->q;
    jw *j = import_begin("replay-contract/0");
    jw_arr(j, "tolerances");
    jw_obj(j, NULL);
    jw_str(j, "output", "d");
    jw_u64(j, "atol", 0);
    jw_u64(j, "rtol", 0);
    jw_end(j);
    jw_end(j);
    jw_arr(j, "fixtures");
    jw_obj(j, NULL);
    jw_str(j, "name", "integers");
    jw_bool(j, "applies", true);
    jw_str(j, "property", "Exact sums; any misplaced element shows.");
    jw_end(j);
    jw_end(j);
    jw_u64(j, "checks_per_phase", 1);
    jw_u64(j, "phases", 5);
    jw_u64(j, "checks_total", 5);
    jw_obj(j, "accuracy");
    jw_str(j, "class", "reference_exact");
    jw_u64s(j, "measured_k", &q->k, 1);
    jw_str(j, "growth", "Exact while the sums stay below 2^24; then one rounding to the type of d.");
    jw_end(j);
    jw_obj(j, "determinism");
    jw_bool(j, "claimed", false);
    jw_str(j, "reason", "A log says nothing about it.");
    jw_end(j);
    jw_obj(j, "architecture");
    jw_u64(j, "kernels_sm", 75);
    jw_u64(j, "library_sm", 80);
    jw_str(j, "claim", "The library's own kernels; the log does not name the device.");
    jw_end(j);
    jw_arr(j, "dispatch");
    jw_obj(j, NULL);
    jw_fmt(j, "name", "matmul.%s", dtype_names[q->mat[LTM_A].type]);
    jw_str(j, "symbol", "cublasLtMatmul");
    jw_str(j, "family", "library_matmul");
    jw_arr(j, "dtypes");
    for (int i = 0; i < LTM_COUNT; i++)
        if (i != LTM_C)
            jw_str(j, NULL, dtype_names[q->mat[i].type]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "contract.json", j);
}

static rp_code put_capture(rp_err *e, import_writer *w)
{
    const uint64_t zeros[3] = {0};
    const char *log = strrchr(w->source, '/');
    jw *j = import_begin("replay-capture/0");
    jw_str(j, "workload", w->name);
    jw_obj(j, "producer");
    jw_str(j, "program", "replay import cublaslt-log");
    jw_end(j);
    jw_obj(j, "original");
    jw_str(j, "log", log ? log + 1 : w->source);
    jw_u64(j, "line", w->line);
    jw_str(j, "function", w->t->function);
    jw_str(j, "algorithm", w->t->algorithm);
    jw_u64(j, "workspace_bytes", w->t->q.workspace_bytes);
    jw_str(j, "elided", w->t->elided);
    jw_end(j);
    import_account(j, w, "not in the log");
    jw_obj(j, "arena");
    jw_u64(j, "slab_bytes", SLAB_BYTES);
    ranges_json(j, false);
    jw_end(j);
    jw_arr(j, "calls");
    descriptors_json(j, &w->t->q, false);
    jw_end(j);
    jw_arr(j, "kernels");
    jw_obj(j, NULL);
    jw_str(j, "name", "");
    jw_u64(j, "node", 1);
    jw_u64s(j, "grid", zeros, 3);
    jw_u64s(j, "block", zeros, 3);
    jw_u64(j, "dynamic_shared_bytes", 0);
    jw_end(j);
    jw_end(j);
    jw_arr(j, "not_observed");
    import_not_observed(j, "alpha", "the log does not print it; 1 is assumed");
    import_not_observed(j, "the values", "a log has no data; inputs are generated, and c is not read");
    import_not_observed(j, "kernels between the calls", "the log has the library's calls only");
    import_not_observed(
        j, "the descriptors in row order",
        "the log has column-major operands; these are the same bytes, with both operations turned, "
        "and the policy's workspace");
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "capture.json", j);
}

rp_code import_call_write(rp_err *e, scratch *sc, const char *dir, const char *name, const char *log,
                          uint64_t line, const lt_trace *t)
{
    import_writer w = {.sc = sc, .dir = dir, .name = name, .source = log, .t = t, .line = line};
    const char *plan_dir = file_join(sc, dir, "plan"), *fixtures = file_join(sc, dir, "fixtures");
    if (!plan_dir || !fixtures)
        return err_nomem(e);
    if (file_mkdirs(e, plan_dir) || file_mkdirs(e, fixtures))
        return e->code;
    /* In the order of their paths, which is that of the capture's list. */
    if (put_contract(e, &w) || put_fixture(e, &w) || put_plan(e, &w) || put_arena(e, &w) ||
        put_calls(e, &w) || put_texts(e, &w) || put_reference(e, &w))
        return e->code;
    return put_capture(e, &w);
}
