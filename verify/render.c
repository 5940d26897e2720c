#include "verify/render.h"
#include <stdio.h>
#include <stdlib.h>

/* pinned[label] for what the caller owns, alloc#n[label] for the n-th of the system's, in the plan's order.
 */
static void put_name(FILE *f, const plan *p, uint64_t buffer)
{
    const plan_buffer *b = &p->buffers[buffer];
    uint64_t n = 0;
    for (uint64_t i = 0; i < buffer; i++)
        n += p->buffers[i].owner == OWNER_SYSTEM;
    if (b->owner == OWNER_CALLER)
        fprintf(f, "pinned[%s]", b->label);
    else
        fprintf(f, "alloc#%llu[%s]", (unsigned long long)n, b->label);
}

static void put_names(FILE *f, const plan *p, const plan_node *n, bool reads)
{
    const char *sep = "";
    for (uint64_t i = 0; reads && i < n->n_operands; i++, sep = ", ") {
        fputs(sep, f);
        put_name(f, p, n->operands[i].buffer);
    }
    /* Every op is destination-passing: the destination is the last operand too. */
    if (n->has_destination) {
        fputs(sep, f);
        put_name(f, p, n->destination.buffer);
    }
}

static const char *op_label(const plan_node *n)
{
    return n->op == NODE_ALLOC ? "BufferAlloc" : n->op == NODE_FREE ? "BufferFree" : n->label;
}

static void put_op(FILE *f, const plan *p, const plan_node *n)
{
    if (n->op == NODE_INPUT || n->op == NODE_OUTPUT)
        return;
    fprintf(f, "  %s: [", op_label(n));
    if (n->op != NODE_ALLOC)
        put_names(f, p, n, true);
    fputs("] -> [", f);
    if (n->op == NODE_ALLOC)
        put_name(f, p, n->operands[0].buffer);
    else
        put_names(f, p, n, false);
    fputs("]\n", f);
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(const plan_buffer *const *)a)->id, (*(const plan_buffer *const *)b)->id);
}

static void put_buffer(FILE *f, const plan *p, const plan_buffer *b)
{
    fputs("  ", f);
    put_name(f, p, (uint64_t)(b - p->buffers));
    fprintf(f, " %s %s\n", b->owner == OWNER_CALLER ? "caller" : "system", b->writable ? "rw" : "ro");
}

static void put_buffers(FILE *f, scratch *sc, const plan *p)
{
    const plan_buffer **boundary = scratch_array(sc, p->n_buffers, sizeof *boundary);
    size_t n = 0;
    for (uint64_t i = 0; boundary && i < p->n_buffers; i++)
        if (p->buffers[i].owner == OWNER_CALLER)
            boundary[n++] = &p->buffers[i];
    if (n)
        qsort(boundary, n, sizeof *boundary, by_id);
    for (size_t i = 0; i < n; i++)
        put_buffer(f, p, boundary[i]);
    for (uint64_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].owner == OWNER_SYSTEM)
            put_buffer(f, p, &p->buffers[i]);
}

const char *render_buffer_ir(scratch *sc, const plan *p)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    fputs("buffers:\n", f);
    put_buffers(f, sc, p);
    fputs("ops:\n", f);
    for (uint64_t i = 0; i < p->n_nodes; i++)
        put_op(f, p, &p->nodes[i]);
    fputs("anti:\n", f);
    for (uint64_t i = 0; i < p->n_edges; i++) {
        const plan_edge *g = &p->edges[i];
        if (g->kind != EDGE_ANTI)
            continue;
        fputs("  ", f);
        put_name(f, p, g->buffer);
        fprintf(f, ": %s -> %s\n", op_label(&p->nodes[g->from]), op_label(&p->nodes[g->to]));
    }
    fputs("outputs:\n", f);
    uint64_t index = 0;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        for (uint64_t k = 0; p->nodes[i].op == NODE_OUTPUT && k < p->nodes[i].n_operands; k++) {
            fprintf(f, "  %llu: ", (unsigned long long)index++);
            put_name(f, p, p->nodes[i].operands[k].buffer);
            fputc('\n', f);
        }
    const char *out = fclose(f) ? NULL : scratch_strndup(sc, text, n);
    free(text);
    return out;
}

/* Keys in ascending order, as JW_CANON asks. */
static void put_layout(jw *j, const layout *l)
{
    jw_obj(j, "layout");
    jw_u64s(j, "shape", l->shape, l->rank);
    jw_arr(j, "spellings");
    for (uint64_t i = 0; i < l->n_spellings; i++) {
        jw_obj(j, NULL);
        jw_str(j, "kind", layout_kind_names[l->spellings[i].kind]);
        if (l->spellings[i].kind == LAYOUT_STRIDED)
            jw_u64s(j, "strides", l->spellings[i].strides, l->rank);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void put_slot(jw *j, const char *key, const plan *p, const plan_slot *s, const char *tie)
{
    jw_obj(j, key);
    jw_str(j, "buffer", p->buffers[s->buffer].id);
    jw_str(j, "dtype", dtype_names[p->buffers[s->buffer].type]);
    put_layout(j, &s->layout);
    jw_str(j, "port", s->port);
    if (tie)
        jw_str(j, "tie", tie);
    jw_end(j);
}

static void put_spec(jw *j, const lt_spec *s)
{
    jw_obj(j, "spec");
    jw_str(j, "a_dtype", dtype_names[s->a]);
    jw_str(j, "b_dtype", dtype_names[s->b]);
    jw_str(j, "d_dtype", dtype_names[s->d]);
    jw_str(j, "epilogue", lt_epilogue_names[s->epilogue]);
    jw_str(j, "form", lt_form_names[s->form]);
    jw_u64(j, "k", s->k);
    jw_u64(j, "lda", s->lda);
    jw_u64(j, "ldb", s->ldb);
    jw_u64(j, "ldc", s->ldc);
    jw_u64(j, "ldd", s->ldd);
    jw_u64(j, "m", s->m);
    jw_u64(j, "n", s->n);
    jw_bool(j, "trans_a", s->trans_a);
    jw_bool(j, "trans_b", s->trans_b);
    jw_end(j);
}

static void put_typed_op(jw *j, const plan *p, uint64_t index)
{
    const plan_node *n = &p->nodes[index];
    bool kernel = n->op == NODE_KERNEL;
    jw_obj(j, NULL);
    if (kernel)
        jw_u64s(j, "block", n->block, 3);
    put_slot(j, "destination", p, &n->destination, n->tied ? n->operands[n->tie].port : NULL);
    if (kernel) {
        jw_str(j, "entry", n->entry);
        jw_u64s(j, "grid", n->grid, 3);
    }
    jw_str(j, "label", n->label);
    jw_u64(j, "node", index);
    jw_arr(j, "operands");
    for (uint64_t i = 0; i < n->n_operands; i++)
        put_slot(j, NULL, p, &n->operands[i], NULL);
    jw_end(j);
    if (kernel) {
        jw_u64(j, "shared_bytes", n->shared_bytes);
        jw_str(j, "source", n->source);
    } else if (n->op == NODE_MATMUL && p->resolver == RESOLVE_GIVEN) {
        jw_u64(j, "workspace_bytes", n->workspace_bytes);
    } else if (n->op == NODE_MATMUL) {
        put_spec(j, &n->spec);
    }
    jw_end(j);
}

void render_ops(jw *j, const plan *p)
{
    jw_arr(j, "ops");
    for (uint64_t i = 0; i < p->n_nodes; i++)
        if (node_launches(&p->nodes[i]))
            put_typed_op(j, p, i);
    jw_end(j);
}

rp_code render_typed_ops(rp_err *e, span *out, scratch *sc, const plan *p)
{
    jw *j = jw_new(JW_CANON);
    span text;
    jw_obj(j, NULL);
    render_ops(j, p);
    jw_end(j);
    if (!jw_finish(e, &text, j)) {
        char *copy = scratch_strndup(sc, (const char *)text.p, text.n);
        if (copy)
            *out = span_of(copy, text.n);
        else
            err_nomem(e);
    }
    jw_free(j);
    return e->code;
}
