/* The documents of a plan of a whole XLA module. */
#include "replay/import_lt.h"
#include "replay/import_xla_nodes.h"

static const char no_code[] = "the dump has no code of it",
                  no_reference[] = "a dump states no numerical reference";

static const size_t none = SIZE_MAX;

static void put_layout(jw *j, const xla_value *v)
{
    if (v->type.tuple)
        import_layout(j, &v->bytes, 1, "right_major", NULL); /* a table of pointers, as bytes */
    else
        xla_layout(j, &v->type);
}

static void buffer_json(jw *j, const xla_buffer *u)
{
    jw_obj(j, NULL);
    jw_str(j, "id", u->id);
    jw_str(j, "label", u->id);
    jw_str(j, "owner", u->input ? "caller" : "system");
    jw_str(j, "freed_by", u->input || u->output ? "caller" : "program");
    jw_str(j, "access", u->input ? "ro" : "rw");
    jw_str(j, "dtype", u->value->type.tuple ? "u8" : dtype_names[u->value->type.type]);
    put_layout(j, u->value);
    jw_end(j);
}

static void slot_json(jw *j, const char *key, const char *port, const char *buffer, const xla_type *t,
                      const char *tie)
{
    jw_obj(j, key);
    jw_str(j, "port", port);
    jw_str(j, "buffer", buffer);
    xla_layout(j, t);
    if (tie)
        jw_str(j, "tie", tie);
    jw_end(j);
}

static void launch_json(jw *j, const xla_builder *b, const xla_node *n)
{
    bool call = n->kind == XLA_CALL;
    jw_str(j, "op", call ? "matmul" : "kernel");
    jw_str(j, "label", xla_id(b->sc, call ? n->call.from->name : n->thunk->name));
    if (call) {
        jw_u64(j, "workspace_bytes", n->call.call.workspace_bytes);
    } else {
        jw_fmt(j, "source", "%s.cu", n->stem);
        jw_str(j, "entry", n->thunk->name);
    }
    jw_arr(j, "operands");
    for (size_t i = 0; i < n->n_uses; i++)
        slot_json(j, NULL, n->uses[i].port, b->buffers[n->uses[i].buffer].id, &n->uses[i].seen, NULL);
    jw_end(j);
    slot_json(j, "destination", "dest", b->buffers[n->buffer].id, &n->result,
              n->tie == none ? NULL : n->uses[n->tie].port);
    if (!call) {
        jw_u64s(j, "grid", n->grid, 3);
        jw_u64s(j, "block", n->block, 3);
        jw_u64(j, "shared_bytes", n->shared_bytes);
    }
}

static void nodes_json(jw *j, const xla_builder *b)
{
    jw_arr(j, "nodes");
    jw_obj(j, NULL);
    jw_str(j, "op", "input");
    jw_arr(j, "slots");
    for (size_t k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].input)
            import_value(j, b->buffers[k].id);
    jw_end(j);
    jw_end(j);
    for (size_t i = 0; i < b->n_nodes; i++) {
        const xla_node *n = &b->nodes[i];
        jw_obj(j, NULL);
        if (xla_launches(n)) {
            launch_json(j, b, n);
        } else {
            jw_str(j, "op", n->kind == XLA_ALLOC ? "alloc" : "free");
            jw_str(j, "buffer", b->buffers[n->buffer].id);
        }
        jw_end(j);
    }
    jw_obj(j, NULL);
    jw_str(j, "op", "output");
    jw_arr(j, "slots");
    for (size_t i = 0; i < b->n_outputs; i++) {
        const char *id = b->buffers[xla_buffer_of(b, b->outputs[i])].id;
        jw_obj(j, NULL);
        jw_str(j, "value", id);
        jw_str(j, "buffer", id);
        xla_layout(j, &b->output_types[i]);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    jw_end(j);
}

static rp_code put_plan(rp_err *e, import_writer *w, const xla_builder *b)
{
    jw *j = import_begin_plan(b->m->name);
    jw_arr(j, "buffers");
    for (size_t k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].value)
            buffer_json(j, &b->buffers[k]);
    jw_end(j);
    nodes_json(j, b);
    jw_arr(j, "edges");
    for (size_t i = 0; i < b->n_edges; i++) {
        const xla_edge *g = &b->edges[i];
        jw_obj(j, NULL);
        jw_u64(j, "from", g->from);
        jw_u64(j, "to", g->to);
        jw_str(j, "buffer", b->buffers[g->buffer].id);
        jw_str(j, "port", g->port);
        jw_str(j, "kind", g->anti ? "anti" : "data");
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "plan/plan.json", j);
}

static void ranges_json(jw *j, const xla_builder *b, const xla_tenant *v, size_t n, bool steps)
{
    uint64_t end = b->n_nodes + 2;
    jw_arr(j, "ranges");
    import_range(j, "parameters", steps, 0, end, b->slab, 8);
    for (size_t i = 0; i < n; i++) {
        const xla_tenant *t = &v[i];
        const char *id = t->buffer == none
                             ? scratch_printf(b->sc, "workspace@%llu", (unsigned long long)t->from)
                             : b->buffers[t->buffer].id;
        uint64_t bytes = t->buffer == none ? b->nodes[t->from - 1].call.workspace->bytes
                                           : b->buffers[t->buffer].value->bytes;
        import_range(j, id, steps, t->from, t->to, t->offset, bytes);
    }
    jw_end(j);
}

static uint64_t peak_of(const xla_builder *b, const xla_tenant *v, size_t n)
{
    uint64_t peak = 0;
    for (uint64_t s = 0; s < b->n_nodes + 2; s++) {
        uint64_t live = 256;
        for (size_t i = 0; i < n; i++)
            if (s >= v[i].from && s < v[i].to)
                live += v[i].bytes;
        peak = live > peak ? live : peak;
    }
    return peak;
}

static void calls_json(jw *j, const xla_builder *b, bool bound)
{
    jw_arr(j, "calls");
    for (size_t i = 0; i < b->n_nodes; i++) {
        const xla_node *n = &b->nodes[i];
        if (n->kind != XLA_CALL)
            continue;
        import_call pieces = {.call = &n->call.call};
        for (size_t u = 0; u < n->n_uses; u++)
            for (int o = 0; o < LT_OPERANDS; o++)
                if (!strcmp(n->uses[u].port, lt_operand_names[o]))
                    pieces.id[o] = b->buffers[n->uses[u].buffer].id;
        pieces.id[LT_D] = b->buffers[n->buffer].id;
        pieces.id[LT_C] = pieces.id[LT_C] ? pieces.id[LT_C] : pieces.id[LT_D];
        import_lt_record(j, &pieces, i + 1, bound ? NULL : "");
    }
    jw_end(j);
}

static rp_code put_tables(rp_err *e, import_writer *w, const xla_builder *b, const xla_tenant *v, size_t n)
{
    jw *j = import_begin("replay-arena/1");
    jw_u64(j, "slab_bytes", b->slab + 256);
    jw_u64(j, "peak_live_bytes", peak_of(b, v, n));
    ranges_json(j, b, v, n, true);
    jw_end(j);
    if (import_put(e, w, "plan/arena.json", j))
        return e->code;
    j = import_begin("replay-calls/1");
    calls_json(j, b, true);
    jw_end(j);
    return import_put(e, w, "plan/resolved_calls.json", j);
}

/* The thunks in order, and with the values they read and make: what identifies the plan to XLA. */
static rp_code put_texts(rp_err *e, import_writer *w, const xla_builder *b)
{
    const char *text = "";
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_arr(j, "ops");
    for (size_t i = 0; i < b->n_nodes && text; i++) {
        const xla_node *n = &b->nodes[i];
        if (!xla_launches(n))
            continue;
        jw_fmt(j, NULL, "%s %s", n->thunk->kind, n->kind == XLA_CALL ? n->call.from->name : n->thunk->name);
        text = scratch_printf(b->sc, "%s%s = %s(", text, b->buffers[n->buffer].id, n->thunk->name);
        for (size_t u = 0; text && u < n->n_uses; u++)
            text = scratch_printf(b->sc, "%s%s%s", text, u ? ", " : "", b->buffers[n->uses[u].buffer].id);
        text = text ? scratch_printf(b->sc, "%s) %s\n", text, n->thunk->launch) : NULL;
    }
    jw_end(j);
    jw_end(j);
    if (import_put(e, w, "plan/typed_ops.json", j))
        return e->code;
    return text ? import_text(e, w, "plan/buffer_ir.txt", span_str(text)) : err_nomem(e);
}

static void launches_json(jw *j, const xla_builder *b)
{
    const uint64_t zeros[3] = {0};
    jw_arr(j, "kernels");
    for (size_t i = 0; i < b->n_nodes; i++) {
        const xla_node *n = &b->nodes[i];
        bool call = n->kind == XLA_CALL;
        if (!xla_launches(n))
            continue;
        jw_obj(j, NULL);
        jw_str(j, "name", call ? "" : n->thunk->name);
        jw_u64(j, "node", i + 1);
        jw_u64s(j, "grid", call ? zeros : n->grid, 3);
        jw_u64s(j, "block", call ? zeros : n->block, 3);
        jw_u64(j, "dynamic_shared_bytes", call ? 0 : n->shared_bytes);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code put_capture(rp_err *e, import_writer *w, const xla_builder *b, const xla_tenant *v, size_t n)
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
    ranges_json(j, b, v, n, false);
    jw_end(j);
    calls_json(j, b, false);
    launches_json(j, b);
    jw_arr(j, "not_observed");
    for (size_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i].kind == XLA_KERNEL)
            import_not_observed(j, scratch_printf(b->sc, "the code of %s", b->nodes[i].thunk->name), no_code);
    import_not_observed(j, "the arguments of the kernels",
                        "operands and result as the module has them; what a kernel is handed is in its code");
    import_not_observed(j, "the descriptors of the library calls",
                        "XLA sets them when it runs; these follow from shapes, layouts and configuration by "
                        "XLA's own rule");
    import_not_observed(j, "the parameter block", "it is ours, and lies behind XLA's allocations");
    import_not_observed(j, "a numerical reference", no_reference);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "capture.json", j);
}

static void omit(jw *j, const char *path, const char *reason)
{
    jw_obj(j, NULL);
    jw_str(j, "path", path);
    jw_str(j, "reason", reason);
    jw_end(j);
}

/* Sorted: contract.json, kernels/… by number and ending, reference.json. */
static rp_code put_omitted(rp_err *e, import_writer *w, const xla_builder *b)
{
    static const char *const ends[] = {".cu", ".json", ".ptx"};
    jw *j = import_begin("replay-omitted/1");
    jw_arr(j, "omitted");
    omit(j, "contract.json", no_reference);
    for (size_t i = 0; i < b->n_nodes; i++)
        for (size_t k = 0; b->nodes[i].kind == XLA_KERNEL && k < sizeof ends / sizeof *ends; k++) {
            const char *path = scratch_printf(b->sc, "%s%s", b->nodes[i].stem, ends[k]);
            omit(j, path ? path : "", no_code);
        }
    omit(j, "reference.json", no_reference);
    jw_end(j);
    jw_end(j);
    return import_put(e, w, "omitted.json", j);
}

rp_code xla_plan_documents(rp_err *e, import_writer *w, const xla_builder *b, const xla_tenant *v, size_t n)
{
    if (put_plan(e, w, b) || put_tables(e, w, b, v, n) || put_texts(e, w, b) || put_capture(e, w, b, v, n))
        return e->code;
    return put_omitted(e, w, b);
}
