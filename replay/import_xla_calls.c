/* A plan of the library calls of one module, which can run. What its other kernels make has no code in a
 * dump: their results are inputs here, and what they read are outputs. */
#include "artifacts/base/ck.h"
#include "replay/import_lt.h"
#include "replay/import_xla.h"

typedef struct {
    const char *id;
    const xla_value *value;
    dtype type;
    import_shape shape; /* as the calls see it */
    bool result, arena; /* of a call; lies in the arena, at XLA's place */
    uint64_t offset, bytes, alloc_node, made_by;
    double bound; /* no element is larger */
} tensor_use;

typedef struct {
    xla_call x;
    size_t use[LT_OPERANDS]; /* in `tensors`; SIZE_MAX where there is none */
    import_call pieces;
    uint64_t node, workspace;
} library_call;

typedef struct {
    const xla_module *m;
    scratch *sc;
    tensor_use *tensors;
    library_call *calls;
    uint64_t *base; /* of each temporary allocation, in the arena */
    size_t n_tensors, n_calls;
    uint64_t n_nodes, slab;
    int64_t largest; /* of the fixture's integers */
    const char *why;
} builder;

static const size_t none = SIZE_MAX;

/* The tensor of that value as operand `which` of the call; SIZE_MAX when out of memory, or (b->why) seen in
 * two ways. */
static size_t tensor_of(builder *b, const xla_value *v, const lt_call *call, int which)
{
    import_shape shape = import_lt_shape(call, which);
    dtype type = import_lt_type(call, which);
    for (size_t k = 0; k < b->n_tensors; k++)
        if (b->tensors[k].value == v) {
            const tensor_use *t = &b->tensors[k];
            if (t->type == type && t->shape.rank == shape.rank &&
                !memcmp(t->shape.n, shape.n, shape.rank * sizeof *shape.n))
                return k;
            b->why = "a value that two library calls see as matrices of different shapes";
            return none;
        }
    tensor_use *t = &b->tensors[b->n_tensors];
    const char *brace = strchr(v->name, '{'),
               *name = scratch_strndup(b->sc, v->name, brace ? (size_t)(brace - v->name) : strlen(v->name));
    *t = (tensor_use){.id = name ? xla_id(b->sc, name) : NULL, .value = v, .type = type, .shape = shape};
    return t->id ? b->n_tensors++ : none;
}

/* Where the bytes of a value are in the arena; false where they are not in a temporary allocation. */
static bool arena_place(const builder *b, const xla_value *v, uint64_t *offset)
{
    return v && b->m->allocations[v->allocation].kind == XLA_TEMPORARY &&
           ck_add_u64(b->base[v->allocation], v->offset, offset) && *offset % 256 == 0;
}

/* XLA may give a result's bytes to somebody else once it was read; here it is an output, which lives on. It
 * then gets memory of its own. */
static void stay_apart(builder *b)
{
    for (size_t i = 0; i < b->n_calls; i++) {
        tensor_use *t = &b->tensors[b->calls[i].use[LT_D]];
        for (size_t k = 0; t->arena && k < b->n_calls; k++) {
            const tensor_use *other = &b->tensors[b->calls[k].use[LT_D]];
            bool later = k >= i && ck_overlap(t->offset, t->bytes, b->calls[k].workspace,
                                              b->calls[k].x.call.workspace_bytes);
            t->arena = !later && !(k != i && other->arena &&
                                   ck_overlap(t->offset, t->bytes, other->offset, other->bytes));
        }
    }
}

static void number_nodes(builder *b)
{
    b->n_nodes = 1;
    for (size_t i = 0; i < b->n_calls; i++) {
        tensor_use *t = &b->tensors[b->calls[i].use[LT_D]];
        if (t->arena)
            t->alloc_node = b->n_nodes++;
        t->made_by = b->calls[i].node = b->n_nodes++;
    }
    b->n_nodes++;
}

static uint64_t reserved(uint64_t bytes)
{
    uint64_t r = bytes;
    (void)ck_align_u64(bytes ? bytes : 1, 256, &r);
    return r;
}

/* The most that lives at a step: the parameters, results so far, and a workspace. */
static uint64_t peak_of(const builder *b)
{
    uint64_t live = 256, most = 256;
    for (size_t i = 0; i < b->n_calls; i++) {
        const tensor_use *t = &b->tensors[b->calls[i].use[LT_D]];
        uint64_t workspace = b->calls[i].x.call.workspace_bytes, with;
        if (t->arena)
            live += reserved(t->bytes); /* inside one allocation that was measured */
        with = live + (workspace ? reserved(workspace) : 0);
        most = with > most ? with : most;
    }
    return most;
}

/* Memory behind XLA's own. */
static void behind(builder *b, uint64_t *at, uint64_t bytes)
{
    *at = b->slab;
    if (!ck_add_u64(b->slab, bytes, &b->slab) || !ck_align_u64(b->slab, 256, &b->slab) || b->slab >> 53)
        b->why = xla_too_large;
}

static rp_code one_call(rp_err *e, builder *b, const xla_instruction *from)
{
    library_call *k = &b->calls[b->n_calls++];
    xla_call *x = &k->x;
    if ((b->why = xla_call_of(x, b->m, from)) || (b->why = import_lt_obstacle(&x->call)))
        return RP_OK;
    const xla_value *values[LT_OPERANDS] = {x->a, x->b, x->c, x->d, x->bias};
    k->pieces = (import_call){.call = &x->call};
    for (int i = 0; i < LT_OPERANDS; i++) {
        k->use[i] = values[i] ? tensor_of(b, values[i], &x->call, i) : none;
        if (values[i] && k->use[i] == none)
            return b->why ? RP_OK : err_nomem(e);
        k->pieces.id[i] = values[i] ? b->tensors[k->use[i]].id : NULL;
    }
    tensor_use *t = &b->tensors[k->use[LT_D]];
    if (t->result || k->use[LT_C] == k->use[LT_D]) {
        b->why = "a value that two library calls write";
        return RP_OK;
    }
    k->pieces.result = t->id;
    if (!x->c)
        k->pieces.id[LT_C] = t->id;
    t->result = true;
    t->bytes = x->d->bytes;
    t->arena = arena_place(b, x->d, &t->offset);
    if (x->call.workspace_bytes && !arena_place(b, x->workspace, &k->workspace))
        behind(b, &k->workspace, x->call.workspace_bytes);
    return RP_OK;
}

/* Whether integers up to `largest` give sums that an F32 holds, call after call, so that any order of adding
 * gives the reference's bits. */
static bool sums_exact(builder *b, int64_t largest)
{
    for (size_t i = 0; i < b->n_tensors; i++)
        b->tensors[i].bound = (double)largest;
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        tensor_use *t = b->tensors, *d = &t[k->use[LT_D]];
        for (int o = 0; o < LT_OPERANDS; o++)
            if (o != LT_D && k->use[o] != none && t[k->use[o]].result && t[k->use[o]].bound > 65504)
                return false; /* beyond F16 */
        d->bound = (double)k->x.call.k * t[k->use[LT_A]].bound * t[k->use[LT_B]].bound;
        d->bound += k->use[LT_C] == none ? 0 : t[k->use[LT_C]].bound;
        d->bound += k->use[LT_BIAS] == none ? 0 : t[k->use[LT_BIAS]].bound;
        if (d->bound > 16777216)
            return false;
        if (!import_lt_exact(&k->x.call))
            d->bound = 1e30; /* no integers: an end of the chain */
    }
    return true;
}

static rp_code collect(rp_err *e, builder *b)
{
    const xla_module *m = b->m;
    for (size_t i = 0; i < m->n_allocations && !b->why; i++)
        if (m->allocations[i].kind == XLA_TEMPORARY)
            behind(b, &b->base[i], m->allocations[i].bytes);
    for (size_t i = 0; i < m->n_instructions && !b->why; i++)
        if (xla_is_call(&m->instructions[i]) && one_call(e, b, &m->instructions[i]))
            return e->code;
    if (!b->why && !b->n_calls)
        b->why = "no __cublas$lt$matmul call: the kernels of the dump have no code";
    b->largest = !b->why && sums_exact(b, 5) ? 5 : 1;
    if (!b->why && b->largest == 1 && !sums_exact(b, 1))
        b->why = "library calls whose sums pass 2^24, or which take GELU of one another: no fixture is exact";
    if (b->why)
        return RP_OK;
    stay_apart(b);
    number_nodes(b);
    return RP_OK;
}

/* --- The plan. --- */

static void buffer_json(jw *j, const tensor_use *t)
{
    jw_obj(j, NULL);
    jw_str(j, "id", t->id);
    jw_str(j, "label", t->id);
    jw_str(j, "owner", t->arena ? "system" : "caller");
    jw_str(j, "freed_by", "caller");
    jw_str(j, "access", t->result ? "rw" : "ro");
    jw_str(j, "dtype", dtype_names[t->type]);
    import_layout(j, t->shape.n, t->shape.rank, "right_major", NULL);
    jw_end(j);
}

static void inputs(jw *j, const builder *b)
{
    jw_obj(j, NULL);
    jw_str(j, "op", "input");
    jw_arr(j, "slots");
    for (size_t i = 0; i < b->n_tensors; i++)
        if (!b->tensors[i].result)
            import_value(j, b->tensors[i].id);
    jw_end(j);
    jw_end(j);
}

static void call_node(jw *j, const builder *b, const library_call *k)
{
    const tensor_use *d = &b->tensors[k->use[LT_D]];
    if (d->arena) {
        jw_obj(j, NULL);
        jw_str(j, "op", "alloc");
        jw_str(j, "buffer", d->id);
        jw_end(j);
    }
    jw_obj(j, NULL);
    jw_str(j, "op", "matmul");
    jw_str(j, "label", xla_id(b->sc, k->x.from->name));
    jw_u64(j, "workspace_bytes", k->x.call.workspace_bytes);
    jw_arr(j, "operands");
    for (int i = 0; i < LT_OPERANDS; i++)
        if (i != LT_D && k->use[i] != none)
            import_lt_slot(j, NULL, lt_operand_names[i], &k->pieces, i, NULL);
    jw_end(j);
    import_lt_slot(j, "destination", "dest", &k->pieces, LT_D, NULL);
    jw_end(j);
}

static void outputs(jw *j, const builder *b)
{
    jw_obj(j, NULL);
    jw_str(j, "op", "output");
    jw_arr(j, "slots");
    for (size_t i = 0; i < b->n_calls; i++)
        import_lt_output(j, &b->calls[i].pieces);
    jw_end(j);
    jw_end(j);
}

static void operand_edges(jw *j, const builder *b, const library_call *k)
{
    for (int i = 0; i < LT_OPERANDS; i++) {
        bool again = i == LT_D || k->use[i] == none;
        for (int n = 0; n < i; n++)
            again |= k->use[n] == k->use[i];
        if (!again) {
            const tensor_use *t = &b->tensors[k->use[i]];
            import_edge(j, t->result ? t->made_by : 0, k->node, t->id, lt_operand_names[i]);
        }
    }
}

static void edges(jw *j, const builder *b)
{
    jw_arr(j, "edges");
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        const tensor_use *d = &b->tensors[k->use[LT_D]];
        operand_edges(j, b, k);
        if (d->arena)
            import_edge(j, d->alloc_node, k->node, d->id, "alloc");
        /* The schedule orders the calls; their workspaces share bytes. */
        if (i)
            import_edge(j, b->calls[i - 1].node, k->node, d->id, "reuse");
    }
    for (size_t i = 0; i < b->n_calls; i++) {
        char port[32];
        snprintf(port, sizeof port, "out %zu", i);
        import_edge(j, b->calls[i].node, b->n_nodes - 1, b->calls[i].pieces.result, port);
    }
    jw_end(j);
}

static rp_code put_plan(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin_plan(b->m->name);
    jw_arr(j, "buffers");
    for (size_t i = 0; i < b->n_tensors; i++)
        buffer_json(j, &b->tensors[i]);
    jw_end(j);
    jw_arr(j, "nodes");
    inputs(j, b);
    for (size_t i = 0; i < b->n_calls; i++)
        call_node(j, b, &b->calls[i]);
    outputs(j, b);
    jw_end(j);
    edges(j, b);
    jw_end(j);
    return import_put(e, w, "plan/plan.json", j);
}

static void ranges(jw *j, const builder *b, bool steps)
{
    jw_arr(j, "ranges");
    import_range(j, "parameters", steps, 0, b->n_nodes, b->slab, 8);
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        const tensor_use *d = &b->tensors[k->use[LT_D]];
        if (d->arena)
            import_range(j, d->id, steps, d->alloc_node, b->n_nodes, d->offset, d->bytes);
        if (k->x.call.workspace_bytes)
            import_range(j, scratch_printf(b->sc, "workspace@%llu", (unsigned long long)k->node), steps,
                         k->node, k->node + 1, k->workspace, k->x.call.workspace_bytes);
    }
    jw_end(j);
}

static void descriptors(jw *j, const builder *b, bool bound)
{
    jw_arr(j, "calls");
    for (size_t i = 0; i < b->n_calls; i++)
        import_lt_record(j, &b->calls[i].pieces, b->calls[i].node, bound ? NULL : "");
    jw_end(j);
}

static rp_code put_arena(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-arena/1");
    jw_u64(j, "slab_bytes", b->slab + 256);
    jw_u64(j, "peak_live_bytes", peak_of(b));
    ranges(j, b, true);
    jw_end(j);
    if (import_put(e, w, "plan/arena.json", j))
        return e->code;
    j = import_begin("replay-calls/1");
    descriptors(j, b, true);
    jw_end(j);
    return import_put(e, w, "plan/resolved_calls.json", j);
}

static rp_code put_texts(rp_err *e, import_writer *w, const builder *b)
{
    const char *text = "";
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_arr(j, "ops");
    for (size_t i = 0; i < b->n_calls; i++) {
        const xla_instruction *x = b->calls[i].x.from;
        jw_fmt(j, NULL, "__cublas$lt$matmul %s", x->name);
        text = scratch_printf(w->sc, "%s%s = __cublas$lt$matmul(%s, %s)\n", text ? text : "", x->name,
                              x->operands[0], x->operands[1]);
    }
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "plan/typed_ops.json", j))
        return e->code;
    return text ? import_text(e, w, "plan/buffer_ir.txt", span_str(text)) : err_nomem(e);
}

/* --- What is right. --- */

static void tensors(jw *j, const builder *b, const char *key, bool values)
{
    jw_arr(j, key);
    for (size_t i = 0; i < b->n_tensors; i++) {
        const tensor_use *t = &b->tensors[i];
        if (t->result)
            continue;
        jw_obj(j, NULL);
        jw_str(j, "name", t->id);
        jw_str(j, "dtype", dtype_names[t->type]);
        jw_u64s(j, "shape", t->shape.n, t->shape.rank);
        if (values) {
            jw_str(j, "generator", "uniform");
            jw_i64(j, "low", -b->largest);
            jw_i64(j, "high", b->largest);
            jw_i64(j, "shift", 0);
        }
        jw_end(j);
    }
    jw_end(j);
}

static rp_code put_reference(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-reference/1");
    tensors(j, b, "inputs", false);
    jw_arr(j, "nodes");
    for (size_t i = 0; i < b->n_calls; i++)
        import_lt_program(j, &b->calls[i].pieces);
    jw_end(j);
    jw_arr(j, "outputs");
    for (size_t i = 0; i < b->n_calls; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", b->calls[i].pieces.result);
        jw_str(j, "value", b->calls[i].pieces.result);
        jw_str(j, "dtype", dtype_names[b->calls[i].x.call.d.type]);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "reference.json", j))
        return e->code;
    j = import_begin("replay-recipe/1");
    jw_str(j, "fixture", "integers");
    jw_u64(j, "seed", 1);
    jw_str(j, "purpose", "Small integers: sums are exact, and any misplaced element shows.");
    tensors(j, b, "tensors", true);
    jw_end(j);
    return import_put(e, w, "fixtures/integers.json", j);
}

static bool exact(const builder *b)
{
    bool all = true;
    for (size_t i = 0; i < b->n_calls; i++)
        all &= import_lt_exact(&b->calls[i].x.call);
    return all;
}

/* With one output that is approximated, all have a bound. */
static void tolerances(jw *j, const builder *b)
{
    jw_arr(j, "tolerances");
    for (size_t i = 0; i < b->n_calls; i++) {
        if (exact(b) || !import_lt_exact(&b->calls[i].x.call)) {
            import_lt_tolerance(j, &b->calls[i].pieces);
            continue;
        }
        jw_obj(j, NULL);
        jw_str(j, "output", b->calls[i].pieces.result);
        jw_f64(j, "atol", 0.00390625);
        jw_u64(j, "rtol", 0);
        jw_end(j);
    }
    jw_end(j);
}

static void dispatch(jw *j, const builder *b)
{
    const library_call *k = &b->calls[0];
    const dtype types[] = {k->x.call.a.type, k->x.call.b.type, k->x.call.d.type};
    jw_arr(j, "dispatch");
    jw_obj(j, NULL);
    jw_fmt(j, "name", "matmul.%s", dtype_names[types[0]]);
    jw_str(j, "symbol", "cublasLtMatmul");
    jw_str(j, "family", "library_matmul");
    jw_arr(j, "dtypes");
    for (size_t i = 0; i < 3; i++)
        jw_str(j, NULL, dtype_names[types[i]]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
}

static rp_code put_contract(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-contract/1");
    tolerances(j, b);
    import_checks(j, b->n_calls);
    jw_obj(j, "accuracy");
    jw_str(j, "class", exact(b) ? "reference_exact" : "tolerance_bounded");
    jw_arr(j, "measured_k");
    for (size_t i = 0; i < b->n_calls; i++)
        jw_u64(j, NULL, b->calls[i].x.call.k);
    jw_end(j);
    jw_str(
        j, "growth",
        exact(b)
            ? "Exact while the sums stay below 2^24."
            : "Sums are exact below 2^24; the library approximates GELU, by how much a dump does not say.");
    jw_end(j);
    import_claims(j, "A dump says nothing about it.", 80, "The library's own kernels.");
    dispatch(j, b);
    jw_end(j);
    return import_put(e, w, "contract.json", j);
}

/* --- The capture. --- */

static void launches(jw *j, const builder *b)
{
    jw_arr(j, "kernels");
    for (size_t i = 0; i < b->n_calls; i++) {
        import_library_launch(j, b->calls[i].node);
    }
    jw_end(j);
}

static rp_code put_capture(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-capture/1");
    jw_str(j, "workload", b->m->name);
    jw_obj(j, "producer");
    jw_str(j, "program", "replay import xla-dump");
    jw_end(j);
    jw_obj(j, "original");
    jw_str(j, "module", b->m->name);
    jw_end(j);
    import_account(j, w, "not in what was read of the dump");
    jw_obj(j, "arena");
    jw_u64(j, "slab_bytes", b->slab + 256);
    ranges(j, b, false);
    jw_end(j);
    descriptors(j, b, false);
    launches(j, b);
    jw_arr(j, "not_observed");
    for (size_t i = 0; i < b->m->n_thunks; i++)
        if (strcmp(b->m->thunks[i].kind, "kCublasLtMatmul"))
            import_not_observed(j, scratch_printf(b->sc, "%s %s", b->m->thunks[i].kind, b->m->thunks[i].name),
                                "the dump has no code of it; what it makes is an input here, and what it "
                                "reads an output");
    import_not_observed(j, "the descriptors of the library calls",
                        "XLA sets them when it runs; these follow from shapes, layouts and configuration by "
                        "XLA's own rule");
    import_not_observed(j, "the parameter block", "it is ours, and lies behind XLA's allocation");
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "capture.json", j);
}

rp_code xla_write_calls(rp_err *e, const char **why, scratch *sc, const char *dir, const xla_module *m)
{
    import_writer w = {.sc = sc, .dir = dir, .name = m->name, .source = m->name, .hold = true};
    builder b = {.m = m,
                 .sc = sc,
                 .tensors = scratch_array(sc, 5 * m->n_instructions + 1, sizeof *b.tensors),
                 .calls = scratch_array(sc, m->n_instructions + 1, sizeof *b.calls),
                 .base = scratch_array(sc, m->n_allocations + 1, sizeof *b.base)};
    if (!b.tensors || !b.calls || !b.base)
        return err_nomem(e);
    if (collect(e, &b))
        return e->code;
    if ((*why = b.why))
        return RP_OK;
    if (put_plan(e, &w, &b) || put_arena(e, &w, &b) || put_texts(e, &w, &b) || put_reference(e, &w, &b) ||
        put_contract(e, &w, &b) || put_capture(e, &w, &b) || xla_check(e, why, &w))
        return e->code;
    return *why ? RP_OK : import_flush(e, &w);
}
