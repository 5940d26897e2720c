/* A plan of the library calls of one module. What its other kernels make has no code in a dump: their results
 * are inputs here, and what they read are outputs. */
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "replay/import_xla.h"
#include <ctype.h>

enum { WORKSPACE_BYTES = 33554432 };

typedef struct {
    const char *id, *name; /* ours, XLA's */
    dtype type;
    uint64_t shape[2];
    bool result, arena; /* of a call; lies in the arena, at XLA's place */
    uint64_t offset, bytes, alloc_node, made_by;
} tensor_use;

typedef struct {
    const xla_instruction *from;
    size_t lhs, rhs, out; /* in `tensors` */
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
} builder;

const char *xla_obstacle(const xla_module *m)
{
    size_t calls = 0;
    for (size_t i = 0; i < m->n_instructions; i++) {
        const xla_instruction *c = &m->instructions[i];
        if (!c->cublaslt)
            continue;
        calls++;
        if (!c->plain)
            return "a library call with an epilogue, a batch, alpha or beta: not imported";
        if (c->n_operands != 2 || !c->has_type || c->rank != 2 || !c->row_major || c->lhs_contracting < 0 ||
            c->rhs_contracting < 0)
            return "a library call that is no row-major product of two matrices: not imported";
        const xla_instruction *l = xla_instruction_of(m, c->operands[0]),
                              *r = xla_instruction_of(m, c->operands[1]);
        if (!l || !r || !l->has_type || !r->has_type || l->rank != 2 || r->rank != 2 || !l->row_major ||
            !r->row_major)
            return "an operand of a library call that is no row-major matrix of the module: not imported";
        if (l->type != r->type || l->type > DT_F32 || (c->type != l->type && c->type != DT_F32))
            return "types that a plan has no product of";
    }
    return calls ? NULL : "no __cublas$lt$matmul call: the kernels of the dump have no code";
}

static const char *id_of(scratch *sc, const char *name)
{
    char *id = scratch_strdup(sc, name);
    for (char *p = id; p && *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return id;
}

/* The tensor of that instruction; SIZE_MAX when out of memory. */
static size_t tensor_of(builder *b, const xla_instruction *i)
{
    for (size_t k = 0; k < b->n_tensors; k++)
        if (!strcmp(b->tensors[k].name, i->name))
            return k;
    tensor_use *t = &b->tensors[b->n_tensors];
    *t = (tensor_use){
        .id = id_of(b->sc, i->name), .name = i->name, .type = i->type, .shape = {i->shape[0], i->shape[1]}};
    return t->id ? b->n_tensors++ : SIZE_MAX;
}

/* Where the bytes of a value are in the arena; false where they are not in a temporary allocation. */
static bool arena_place(const builder *b, const xla_value *v, uint64_t *offset)
{
    return v && b->m->allocations[v->allocation].temp &&
           ck_add_u64(b->base[v->allocation], v->offset, offset) && *offset % 256 == 0;
}

/* XLA may give a result's bytes to somebody else once it was read; here it is an output, which lives on. It
 * then gets memory of its own. */
static void stay_apart(builder *b)
{
    for (size_t i = 0; i < b->n_calls; i++) {
        tensor_use *t = &b->tensors[b->calls[i].out];
        for (size_t k = 0; t->arena && k < b->n_calls; k++) {
            const tensor_use *other = &b->tensors[b->calls[k].out];
            bool later = k >= i && ck_overlap(t->offset, t->bytes, b->calls[k].workspace, WORKSPACE_BYTES);
            t->arena = !later && !(k != i && other->arena &&
                                   ck_overlap(t->offset, t->bytes, other->offset, other->bytes));
        }
    }
}

static void number_nodes(builder *b)
{
    b->n_nodes = 1;
    for (size_t i = 0; i < b->n_calls; i++) {
        tensor_use *t = &b->tensors[b->calls[i].out];
        if (t->arena)
            t->alloc_node = b->n_nodes++;
        t->made_by = b->calls[i].node = b->n_nodes++;
    }
    b->n_nodes++;
}

/* The most that lives at a step: the parameters, results so far, and a workspace. */
static uint64_t peak_of(const builder *b)
{
    uint64_t live = 256, most = 256;
    for (size_t i = 0; i < b->n_calls; i++) {
        const tensor_use *t = &b->tensors[b->calls[i].out];
        if (t->arena)
            live += (t->bytes + 255) / 256 * 256; /* inside one allocation that was measured */
        most = live + WORKSPACE_BYTES > most ? live + WORKSPACE_BYTES : most;
    }
    return most;
}

static rp_code collect(rp_err *e, builder *b)
{
    const xla_module *m = b->m;
    for (size_t i = 0; i < m->n_allocations; i++)
        if (m->allocations[i].temp) {
            b->base[i] = b->slab;
            if (!ck_add_u64(b->slab, m->allocations[i].bytes, &b->slab) ||
                !ck_align_u64(b->slab, 256, &b->slab))
                return err_set(e, RP_IO, "the temporary allocations pass 64 bits");
        }
    for (size_t i = 0; i < m->n_instructions; i++) {
        const xla_instruction *c = &m->instructions[i];
        if (!c->cublaslt)
            continue;
        library_call *k = &b->calls[b->n_calls++];
        k->from = c;
        k->lhs = tensor_of(b, xla_instruction_of(m, c->operands[0]));
        k->rhs = tensor_of(b, xla_instruction_of(m, c->operands[1]));
        k->out = tensor_of(b, c);
        if (k->lhs == SIZE_MAX || k->rhs == SIZE_MAX || k->out == SIZE_MAX)
            return err_nomem(e);
        tensor_use *t = &b->tensors[k->out];
        const xla_value *v = xla_value_of(m, c->name, "{0}"), *w = xla_value_of(m, c->name, "{1}");
        t->result = true;
        t->bytes = v ? v->bytes : 0;
        t->arena = arena_place(b, v, &t->offset);
        /* XLA's own workspace is the policy's in size on this kind of device; elsewhere one is put behind the
         * slab. */
        if (!w || w->bytes != WORKSPACE_BYTES || !arena_place(b, w, &k->workspace)) {
            k->workspace = b->slab;
            if (!ck_add_u64(b->slab, WORKSPACE_BYTES, &b->slab))
                return err_set(e, RP_IO, "the workspaces pass 64 bits");
        }
    }
    stay_apart(b);
    number_nodes(b);
    return RP_OK;
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
    const tensor_use *l = &b->tensors[k->lhs], *r = &b->tensors[k->rhs], *d = &b->tensors[k->out];
    bool lt = k->from->lhs_contracting == 0, rt = k->from->rhs_contracting == 1;
    uint64_t inner = l->shape[k->from->lhs_contracting];
    if (d->arena) {
        jw_obj(j, NULL);
        jw_str(j, "op", "alloc");
        jw_str(j, "buffer", d->id);
        jw_end(j);
    }
    jw_obj(j, NULL);
    jw_str(j, "op", "matmul");
    jw_str(j, "label", k->from->name);
    jw_obj(j, "spec");
    jw_str(j, "form", "CublasLt");
    jw_u64(j, "m", d->shape[0]);
    jw_u64(j, "n", d->shape[1]);
    jw_u64(j, "k", inner);
    jw_bool(j, "trans_a", !lt);
    jw_bool(j, "trans_b", !rt);
    jw_u64(j, "lda", l->shape[1]);
    jw_u64(j, "ldb", r->shape[1]);
    jw_u64(j, "ldc", d->shape[1]);
    jw_u64(j, "ldd", d->shape[1]);
    jw_str(j, "a_dtype", dtype_names[l->type]);
    jw_str(j, "b_dtype", dtype_names[r->type]);
    jw_str(j, "d_dtype", dtype_names[d->type]);
    jw_str(j, "epilogue", "default");
    jw_end(j);
    jw_arr(j, "operands");
    import_slot(j, NULL, "a", l->id, d->shape[0], inner, lt ? "left_major" : "right_major");
    import_slot(j, NULL, "b", r->id, inner, d->shape[1], rt ? "left_major" : "right_major");
    jw_end(j);
    import_slot(j, "destination", "dest", d->id, d->shape[0], d->shape[1], "right_major");
    jw_end(j);
}

static void outputs(jw *j, const builder *b)
{
    jw_obj(j, NULL);
    jw_str(j, "op", "output");
    jw_arr(j, "slots");
    for (size_t i = 0; i < b->n_tensors; i++) {
        const tensor_use *t = &b->tensors[i];
        if (!t->result)
            continue;
        jw_obj(j, NULL);
        jw_str(j, "value", t->id);
        jw_str(j, "buffer", t->id);
        import_layout(j, t->shape[0], t->shape[1], "right_major");
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void operand_edge(jw *j, const builder *b, const library_call *k, size_t which, const char *port)
{
    const tensor_use *t = &b->tensors[which];
    import_edge(j, t->result ? t->made_by : 0, k->node, t->id, port);
}

static void edges(jw *j, const builder *b)
{
    size_t out = 0;
    jw_arr(j, "edges");
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        const tensor_use *d = &b->tensors[k->out];
        operand_edge(j, b, k, k->lhs, "a");
        if (k->rhs != k->lhs)
            operand_edge(j, b, k, k->rhs, "b");
        if (d->arena)
            import_edge(j, d->alloc_node, k->node, d->id, "alloc");
        /* The schedule orders the calls; their workspaces share bytes. */
        if (i)
            import_edge(j, b->calls[i - 1].node, k->node, d->id, "reuse");
    }
    for (size_t i = 0; i < b->n_tensors; i++)
        if (b->tensors[i].result) {
            char port[32];
            snprintf(port, sizeof port, "out %zu", out++);
            import_edge(j, b->tensors[i].made_by, b->n_nodes - 1, b->tensors[i].id, port);
        }
    jw_end(j);
}

static void arena_buffer(jw *j, const tensor_use *t)
{
    jw_obj(j, NULL);
    jw_str(j, "id", t->id);
    jw_str(j, "label", t->name);
    jw_str(j, "owner", "system");
    jw_str(j, "freed_by", "caller");
    jw_str(j, "access", "rw");
    jw_str(j, "dtype", dtype_names[t->type]);
    import_layout(j, t->shape[0], t->shape[1], "right_major");
    jw_end(j);
}

static rp_code put_plan(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-plan/0");
    jw_str(j, "name", b->m->name);
    jw_obj(j, "policy");
    jw_str(j, "resolver", "luminal-lt/1");
    jw_str(j, "arena", "given");
    jw_str(j, "renderer", "opaque");
    jw_end(j);
    jw_arr(j, "symbols");
    jw_end(j);
    jw_arr(j, "buffers");
    for (size_t i = 0; i < b->n_tensors; i++) {
        const tensor_use *t = &b->tensors[i];
        if (t->arena)
            arena_buffer(j, t);
        else
            import_buffer(j, t->id, t->result, t->type, t->shape[0], t->shape[1]);
    }
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
        const tensor_use *d = &b->tensors[k->out];
        if (d->arena)
            import_range(j, d->id, steps, d->alloc_node, b->n_nodes, d->offset, d->bytes);
        import_range(j, scratch_printf(b->sc, "workspace@%llu", (unsigned long long)k->node), steps, k->node,
                     k->node + 1, k->workspace, WORKSPACE_BYTES);
    }
    jw_end(j);
}

static void matrix(jw *j, const char *key, const tensor_use *t, bool bound)
{
    jw_obj(j, key);
    if (bound)
        jw_str(j, "buffer", t->id);
    jw_str(j, "type", dtype_names[t->type]);
    jw_u64(j, "rows", t->shape[0]);
    jw_u64(j, "cols", t->shape[1]);
    jw_u64(j, "ld", t->shape[1]);
    jw_str(j, "order", "row");
    jw_end(j);
}

static void descriptors(jw *j, const builder *b, bool bound)
{
    jw_arr(j, "calls");
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        jw_obj(j, NULL);
        jw_u64(j, "node", k->node);
        matrix(j, "a", &b->tensors[k->lhs], bound);
        matrix(j, "b", &b->tensors[k->rhs], bound);
        matrix(j, "c", &b->tensors[k->out], bound);
        matrix(j, "d", &b->tensors[k->out], bound);
        jw_bool(j, "trans_a", k->from->lhs_contracting == 0);
        jw_bool(j, "trans_b", k->from->rhs_contracting == 1);
        jw_str(j, "compute", "32f");
        jw_str(j, "scale", "f32");
        jw_str(j, "epilogue", "default");
        if (bound) {
            jw_null(j, "bias");
            jw_u64(j, "alpha", 1);
            jw_u64(j, "beta", 0);
        }
        jw_u64(j, "workspace_bytes", WORKSPACE_BYTES);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code put_arena(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-arena/0");
    jw_u64(j, "slab_bytes", b->slab + 256);
    jw_u64(j, "peak_live_bytes", peak_of(b));
    ranges(j, b, true);
    jw_end(j);
    if (import_put(e, w, "plan/arena.json", j))
        return e->code;
    j = import_begin("replay-calls/0");
    descriptors(j, b, true);
    jw_end(j);
    return import_put(e, w, "plan/resolved_calls.json", j);
}

static rp_code put_texts(rp_err *e, import_writer *w, const builder *b)
{
    const char *path = file_join(w->sc, w->dir, "plan/buffer_ir.txt"), *text = "";
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_arr(j, "ops");
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        jw_fmt(j, NULL, "__cublas$lt$matmul %s", k->from->name);
        text = scratch_printf(w->sc, "%s%s = __cublas$lt$matmul(%s, %s)\n", text ? text : "", k->from->name,
                              k->from->operands[0], k->from->operands[1]);
    }
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "plan/typed_ops.json", j))
        return e->code;
    if (!path || !text)
        return err_nomem(e);
    if (file_write(e, path, span_str(text)))
        return e->code;
    w->paths[w->n] = "plan/buffer_ir.txt";
    w->digests[w->n++] = digest_of(span_str(text));
    return RP_OK;
}

static void tensors(jw *j, const builder *b, const char *key, bool values)
{
    jw_arr(j, key);
    for (size_t i = 0; i < b->n_tensors; i++)
        if (!b->tensors[i].result)
            import_tensor(j, b->tensors[i].id, b->tensors[i].type, b->tensors[i].shape[0],
                          b->tensors[i].shape[1], values);
    jw_end(j);
}

static rp_code put_reference(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-reference/0");
    tensors(j, b, "inputs", false);
    jw_arr(j, "nodes");
    for (size_t i = 0; i < b->n_calls; i++) {
        const library_call *k = &b->calls[i];
        jw_obj(j, NULL);
        jw_str(j, "id", b->tensors[k->out].id);
        jw_str(j, "op", "matmul");
        jw_str(j, "a", b->tensors[k->lhs].id);
        jw_str(j, "b", b->tensors[k->rhs].id);
        jw_bool(j, "transpose_a", k->from->lhs_contracting == 0);
        jw_bool(j, "transpose_b", k->from->rhs_contracting == 1);
        jw_str(j, "round", dtype_names[b->tensors[k->out].type]);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "outputs");
    for (size_t i = 0; i < b->n_tensors; i++)
        if (b->tensors[i].result) {
            jw_obj(j, NULL);
            jw_str(j, "name", b->tensors[i].id);
            jw_str(j, "value", b->tensors[i].id);
            jw_str(j, "dtype", dtype_names[b->tensors[i].type]);
            jw_end(j);
        }
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "reference.json", j))
        return e->code;
    j = import_begin("replay-recipe/0");
    jw_str(j, "fixture", "integers");
    jw_u64(j, "seed", 1);
    jw_str(j, "purpose", "Small integers: sums are exact, and any misplaced element shows.");
    tensors(j, b, "tensors", true);
    jw_end(j);
    return import_put(e, w, "fixtures/integers.json", j);
}

static rp_code put_contract(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-contract/0");
    jw_arr(j, "tolerances");
    for (size_t i = 0; i < b->n_tensors; i++)
        if (b->tensors[i].result) {
            jw_obj(j, NULL);
            jw_str(j, "output", b->tensors[i].id);
            jw_u64(j, "atol", 0);
            jw_u64(j, "rtol", 0);
            jw_end(j);
        }
    jw_end(j);
    jw_arr(j, "fixtures");
    jw_obj(j, NULL);
    jw_str(j, "name", "integers");
    jw_bool(j, "applies", true);
    jw_str(j, "property", "Exact sums; any misplaced element shows.");
    jw_end(j);
    jw_end(j);
    jw_u64(j, "checks_per_phase", b->n_calls);
    jw_u64(j, "phases", 5);
    jw_u64(j, "checks_total", 5 * b->n_calls);
    jw_obj(j, "accuracy");
    jw_str(j, "class", "reference_exact");
    jw_arr(j, "measured_k");
    for (size_t i = 0; i < b->n_calls; i++)
        jw_u64(j, NULL, b->tensors[b->calls[i].lhs].shape[b->calls[i].from->lhs_contracting]);
    jw_end(j);
    jw_str(j, "growth", "Exact while the sums stay below 2^24.");
    jw_end(j);
    jw_obj(j, "determinism");
    jw_bool(j, "claimed", false);
    jw_str(j, "reason", "A dump says nothing about it.");
    jw_end(j);
    jw_obj(j, "architecture");
    jw_u64(j, "kernels_sm", 75);
    jw_u64(j, "library_sm", 80);
    jw_str(j, "claim", "The library's own kernels.");
    jw_end(j);
    jw_arr(j, "dispatch");
    jw_obj(j, NULL);
    jw_fmt(j, "name", "matmul.%s", dtype_names[b->tensors[b->calls[0].lhs].type]);
    jw_str(j, "symbol", "cublasLtMatmul");
    jw_str(j, "family", "library_matmul");
    jw_arr(j, "dtypes");
    jw_str(j, NULL, dtype_names[b->tensors[b->calls[0].lhs].type]);
    jw_str(j, NULL, dtype_names[b->tensors[b->calls[0].rhs].type]);
    jw_str(j, NULL, dtype_names[b->tensors[b->calls[0].out].type]);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "contract.json", j);
}

static void launches(jw *j, const builder *b)
{
    const uint64_t zeros[3] = {0};
    jw_arr(j, "kernels");
    for (size_t i = 0; i < b->n_calls; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", "");
        jw_u64(j, "node", b->calls[i].node);
        jw_u64s(j, "grid", zeros, 3);
        jw_u64s(j, "block", zeros, 3);
        jw_u64(j, "dynamic_shared_bytes", 0);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code put_capture(rp_err *e, import_writer *w, const builder *b)
{
    jw *j = import_begin("replay-capture/0");
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
                                "omitted: the dump has no code of it; what it makes is an input here, and "
                                "what it reads an output");
    import_not_observed(
        j, "the descriptors of the library calls",
        "XLA sets them when it runs; these follow from the module's shapes by the resolver's policy");
    import_not_observed(j, "the parameter block", "it is ours, and lies behind XLA's allocation");
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "capture.json", j);
}

rp_code xla_write_plan(rp_err *e, scratch *sc, const char *dir, const xla_module *m)
{
    import_writer w = {.sc = sc, .dir = dir, .name = m->name, .source = m->name};
    builder b = {.m = m,
                 .sc = sc,
                 .tensors = scratch_array(sc, 3 * m->n_instructions + 1, sizeof *b.tensors),
                 .calls = scratch_array(sc, m->n_instructions + 1, sizeof *b.calls),
                 .base = scratch_array(sc, m->n_allocations + 1, sizeof *b.base)};
    const char *plan_dir = file_join(sc, dir, "plan"), *fixtures = file_join(sc, dir, "fixtures");
    if (!b.tensors || !b.calls || !b.base || !plan_dir || !fixtures)
        return err_nomem(e);
    if (collect(e, &b) || file_mkdirs(e, plan_dir) || file_mkdirs(e, fixtures))
        return e->code;
    if (put_plan(e, &w, &b) || put_arena(e, &w, &b) || put_texts(e, &w, &b) || put_reference(e, &w, &b) ||
        put_contract(e, &w, &b))
        return e->code;
    return put_capture(e, &w, &b);
}
