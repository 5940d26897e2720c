#include "plan/plan.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/limits.h"

const char *const layout_kind_names[] = {"right_major", "left_major", "strided", NULL};
const char *const lt_form_names[] = {"CublasLt", "CublasLtBias", "CublasLtAccumulate",
                                     "CublasLtAccumulateBias", NULL};
const char *const node_op_names[] = {"input", "output", "alloc", "free", "copy", "matmul", "kernel", NULL};
static const char *const owner_names[] = {"caller", "system", NULL};
static const char *const freed_by_names[] = {"caller", "program", NULL};
static const char *const access_names[] = {"ro", "rw", NULL};
static const char *const edge_names[] = {"data", "anti", NULL};
static const char *const spec_epilogues[] = {"default", "relu", "bias", "relu_bias",
                                             NULL}; /* of lt_epilogue */
static const char *const resolver_policies[] = {"luminal-lt/1", "given", NULL};
static const char *const arena_policies[] = {"luminal-slab/2", "given", NULL};
static const char *const renderer_policies[] = {"luminal-text/1", "opaque", NULL};

bool layout_has(const layout *l, layout_kind kind)
{
    for (uint64_t i = 0; i < l->n_spellings; i++)
        if (l->spellings[i].kind == kind)
            return true;
    return false;
}

bool layout_strides(uint64_t *strides, const layout *l, layout_kind kind)
{
    uint64_t s = 0, step = 1;
    while (s < l->n_spellings && l->spellings[s].kind != kind)
        s++;
    if (s == l->n_spellings)
        return false;
    if (kind == LAYOUT_STRIDED) {
        memcpy(strides, l->spellings[s].strides, l->rank * sizeof *strides);
        return true;
    }
    for (uint64_t i = 0; i < l->rank; i++) {
        uint64_t axis = kind == LAYOUT_LEFT_MAJOR ? i : l->rank - 1 - i;
        strides[axis] = step;
        if (!ck_mul_u64(step, l->shape[axis], &step))
            return false;
    }
    return true;
}

bool strides_apart(const uint64_t *shape, const uint64_t *strides, uint64_t rank)
{
    bool done[PLAN_MAX_RANK] = {false};
    uint64_t reach = 0, term;
    for (uint64_t n = 0; n < rank; n++) {
        uint64_t next = rank;
        for (uint64_t i = 0; i < rank; i++)
            if (!done[i] && shape[i] > 1 && (next == rank || strides[i] < strides[next]))
                next = i;
        if (next == rank)
            return true;
        done[next] = true;
        if (strides[next] <= reach || !ck_mul_u64(shape[next] - 1, strides[next], &term) ||
            !ck_add_u64(reach, term, &reach))
            return false;
    }
    return true;
}

bool plan_output_strided(const plan *p, const plan_slot *s)
{
    const plan_buffer *b = &p->buffers[s->buffer];
    uint64_t strides[PLAN_MAX_RANK], extent, bytes;
    return layout_strides(strides, &s->layout, LAYOUT_STRIDED) &&
           strides_apart(s->layout.shape, strides, s->layout.rank) && layout_span(&s->layout, &extent) &&
           ck_mul_u64(extent, dtype_bytes(b->type), &bytes) && bytes <= b->bytes &&
           b->owner == OWNER_CALLER && b->freed_by == FREED_BY_CALLER;
}

bool layout_same_places(const layout *a, const layout *b)
{
    if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape))
        return false;
    for (uint64_t i = 0; i < a->n_spellings; i++)
        for (uint64_t k = 0; k < b->n_spellings; k++)
            if (a->spellings[i].kind == b->spellings[k].kind &&
                (a->spellings[i].kind != LAYOUT_STRIDED ||
                 !memcmp(a->spellings[i].strides, b->spellings[k].strides,
                         a->rank * sizeof *a->spellings[i].strides)))
                return true;
    return false;
}

static bool spelling_span(const layout *l, uint64_t s, uint64_t *elements)
{
    uint64_t extent = 1, term;
    bool strided = l->spellings[s].kind == LAYOUT_STRIDED;
    for (uint64_t i = 0; i < l->rank; i++)
        if (!l->shape[i]) {
            *elements = 0;
            return true;
        }
    for (uint64_t i = 0; i < l->rank; i++) {
        if (!strided && !ck_mul_u64(extent, l->shape[i], &extent))
            return false;
        if (strided && (!ck_mul_u64(l->shape[i] - 1, l->spellings[s].strides[i], &term) ||
                        !ck_add_u64(extent, term, &extent)))
            return false;
    }
    *elements = extent;
    return true;
}

bool layout_span(const layout *l, uint64_t *elements)
{
    return spelling_span(l, 0, elements);
}

uint64_t plan_parameter_bytes(const plan *p)
{
    return p->n_symbols ? 8 * p->n_symbols : 8;
}

bool node_launches(const plan_node *n)
{
    return n->op == NODE_COPY || n->op == NODE_MATMUL || n->op == NODE_KERNEL;
}

bool node_reads(const plan_node *n, uint64_t buffer)
{
    for (uint64_t i = 0; (node_launches(n) || n->op == NODE_OUTPUT) && i < n->n_operands; i++)
        if (n->operands[i].buffer == buffer)
            return true;
    return false;
}

bool node_writes(const plan_node *n, uint64_t buffer)
{
    return n->has_destination && n->destination.buffer == buffer;
}

bool node_touches(const plan_node *n, uint64_t buffer)
{
    for (uint64_t i = 0; i < n->n_operands; i++)
        if (n->operands[i].buffer == buffer)
            return true;
    return node_writes(n, buffer);
}

/* --- Reading. --- */

typedef struct {
    scratch *sc;
    plan *p;
} reader;

static rp_code read_layout(rp_err *e, layout *l, js_node *o)
{
    js_node *shape, *spellings;
    size_t rank = 0, n = 0;
    if (js_arr(e, &shape, &rank, o, "shape") || js_arr(e, &spellings, &n, o, "spellings"))
        return e->code;
    if (rank > PLAN_MAX_RANK)
        return js_fail(e, shape, FIND_PLAN_INVALID, "expected at most %d axes, found %zu", PLAN_MAX_RANK,
                       rank);
    if (!n || n > PLAN_MAX_SPELLINGS)
        return js_fail(e, spellings, FIND_PLAN_INVALID, "expected 1 to %d spellings, found %zu",
                       PLAN_MAX_SPELLINGS, n);
    l->rank = rank;
    l->n_spellings = n;
    for (size_t i = 0; i < rank; i++)
        if (js_as_u64(e, &l->shape[i], js_at(shape, i)))
            return e->code;
    for (size_t i = 0; i < n; i++) {
        js_node *s = js_at(spellings, i);
        int kind;
        if (js_enum(e, &kind, s, "kind", layout_kind_names))
            return e->code;
        l->spellings[i].kind = (layout_kind)kind;
        if (kind == LAYOUT_STRIDED && js_u64s(e, l->spellings[i].strides, rank, s, "strides"))
            return e->code;
        uint64_t extent, first;
        if (js_done(e, s))
            return e->code;
        if (!spelling_span(l, i, &extent))
            return js_fail(e, s, FIND_PLAN_INVALID, "expected a span below 2^64 elements");
        if (!spelling_span(l, 0, &first) || extent != first)
            return js_fail(e, s, FIND_PLAN_INVALID,
                           "expected every spelling to span %llu elements, found %llu",
                           (unsigned long long)first, (unsigned long long)extent);
    }
    return js_done(e, o);
}

static rp_code read_layout_of(rp_err *e, layout *l, js_node *o)
{
    js_node *v;
    return js_obj(e, &v, o, "layout") ? e->code : read_layout(e, l, v);
}

/* Ids go into messages, pictures and canonical documents: plain names only. */
static bool plain_name(const char *s)
{
    size_t n = strlen(s);
    return n >= 1 && n <= 64 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

static rp_code read_name(rp_err *e, const char **out, js_node *o, const char *key)
{
    if (js_str(e, out, o, key))
        return e->code;
    if (!plain_name(*out))
        return js_fail(e, js_find(o, key), FIND_PLAN_INVALID,
                       "expected 1 to 64 of A-Z a-z 0-9 _ . -, found \"%.80s\"", *out);
    return RP_OK;
}

static rp_code read_buffer(rp_err *e, plan_buffer *b, js_node *o)
{
    int owner, freed_by, access, type;
    uint64_t extent;
    if (read_name(e, &b->id, o, "id") || read_name(e, &b->label, o, "label") ||
        js_enum(e, &owner, o, "owner", owner_names) || js_enum(e, &freed_by, o, "freed_by", freed_by_names) ||
        js_enum(e, &access, o, "access", access_names) || js_enum(e, &type, o, "dtype", dtype_names) ||
        read_layout_of(e, &b->layout, o) || js_done(e, o))
        return e->code;
    b->owner = (plan_owner)owner;
    b->freed_by = (plan_freed_by)freed_by;
    b->writable = access == 1;
    b->type = (dtype)type;
    if (!layout_span(&b->layout, &extent) || !ck_mul_u64(extent, dtype_bytes(b->type), &b->bytes))
        return js_fail(e, o, FIND_PLAN_INVALID, "expected a size below 2^64 bytes");
    return RP_OK;
}

static rp_code read_buffer_ref(rp_err *e, const reader *r, uint64_t *out, js_node *o, const char *key)
{
    const char *id;
    if (js_str(e, &id, o, key))
        return e->code;
    for (uint64_t i = 0; i < r->p->n_buffers; i++)
        if (!strcmp(r->p->buffers[i].id, id)) {
            *out = i;
            return RP_OK;
        }
    return js_fail(e, js_find(o, key), FIND_PLAN_UNKNOWN_BUFFER,
                   "expected the id of a buffer, found \"%.64s\"", id);
}

static rp_code read_slot(rp_err *e, const reader *r, plan_slot *s, js_node *o, const char *name_key,
                         bool with_layout)
{
    if (read_name(e, &s->port, o, name_key) || read_buffer_ref(e, r, &s->buffer, o, "buffer"))
        return e->code;
    if (with_layout && read_layout_of(e, &s->layout, o))
        return e->code;
    if (!with_layout)
        s->layout = r->p->buffers[s->buffer].layout;
    uint64_t extent, have;
    if (!layout_span(&s->layout, &extent) || !layout_span(&r->p->buffers[s->buffer].layout, &have) ||
        extent > have)
        return js_fail(e, o, FIND_PLAN_INVALID, "expected a slot within the %llu bytes of its buffer",
                       (unsigned long long)r->p->buffers[s->buffer].bytes);
    return js_done(e, o);
}

static rp_code read_slots(rp_err *e, const reader *r, plan_node *n, js_node *o, const char *key,
                          const char *name_key, bool with_layout)
{
    js_node *a;
    size_t count = 0;
    if (js_arr(e, &a, &count, o, key))
        return e->code;
    if (count > PLAN_MAX_OPERANDS)
        return js_fail(e, a, FIND_PLAN_INVALID, "expected at most %d, found %zu", PLAN_MAX_OPERANDS, count);
    n->n_operands = count;
    n->operands = scratch_array(r->sc, count, sizeof *n->operands);
    if (!n->operands)
        return err_nomem(e);
    for (size_t i = 0; i < count; i++)
        if (read_slot(e, r, &n->operands[i], js_at(a, i), name_key, with_layout))
            return e->code;
    return RP_OK;
}

static rp_code read_one_buffer(rp_err *e, const reader *r, plan_node *n, js_node *o, const char *key)
{
    n->operands = scratch_alloc(r->sc, sizeof *n->operands);
    if (!n->operands)
        return err_nomem(e);
    n->n_operands = 1;
    n->operands[0].port = key;
    if (read_buffer_ref(e, r, &n->operands[0].buffer, o, key))
        return e->code;
    n->operands[0].layout = r->p->buffers[n->operands[0].buffer].layout;
    return RP_OK;
}

static rp_code read_spec(rp_err *e, lt_spec *s, js_node *o)
{
    int form, a, b, d, epilogue;
    if (js_enum(e, &form, o, "form", lt_form_names) || js_u64(e, &s->m, o, "m") || js_u64(e, &s->n, o, "n") ||
        js_u64(e, &s->k, o, "k") || js_bool(e, &s->trans_a, o, "trans_a") ||
        js_bool(e, &s->trans_b, o, "trans_b") || js_u64(e, &s->lda, o, "lda") ||
        js_u64(e, &s->ldb, o, "ldb") || js_u64(e, &s->ldc, o, "ldc") || js_u64(e, &s->ldd, o, "ldd") ||
        js_enum(e, &a, o, "a_dtype", dtype_names) || js_enum(e, &b, o, "b_dtype", dtype_names) ||
        js_enum(e, &d, o, "d_dtype", dtype_names) || js_enum(e, &epilogue, o, "epilogue", spec_epilogues) ||
        js_done(e, o))
        return e->code;
    s->form = (lt_form)form;
    s->a = (dtype)a;
    s->b = (dtype)b;
    s->d = (dtype)d;
    s->epilogue = (lt_epilogue)epilogue;
    return RP_OK;
}

/* What follows the operands of a matmul: the specification, or with policy given the workspace alone. */
static rp_code read_matmul(rp_err *e, const reader *r, plan_node *n, js_node *o)
{
    js_node *spec;
    if (r->p->resolver == RESOLVE_GIVEN)
        return js_u64(e, &n->workspace_bytes, o, "workspace_bytes");
    n->workspace_bytes = LUMINAL_WORKSPACE_BYTES;
    return js_obj(e, &spec, o, "spec") ? e->code : read_spec(e, &n->spec, spec);
}

/* The operand whose place the destination takes, where the slot names one. */
static rp_code read_tie(rp_err *e, plan_node *n, js_node *dest)
{
    const char *port;
    if (!js_find(dest, "tie"))
        return RP_OK;
    if (js_str(e, &port, dest, "tie"))
        return e->code;
    while (n->tie < n->n_operands && strcmp(n->operands[n->tie].port, port))
        n->tie++;
    n->tied = n->tie < n->n_operands;
    if (!n->tied)
        return js_fail(e, js_find(dest, "tie"), FIND_PLAN_INVALID,
                       "expected the port of an operand, found \"%.64s\"", port);
    return RP_OK;
}

static rp_code read_operands(rp_err *e, const reader *r, plan_node *n, js_node *o)
{
    js_node *dest;
    n->has_destination = true;
    if (read_name(e, &n->label, o, "label") || read_slots(e, r, n, o, "operands", "port", true) ||
        js_obj(e, &dest, o, "destination") || read_tie(e, n, dest))
        return e->code;
    return read_slot(e, r, &n->destination, dest, "port", true);
}

/* A copy moves a whole buffer into one of its size. */
static rp_code read_copy(rp_err *e, const reader *r, plan_node *n, js_node *o)
{
    uint64_t from = r->p->buffers[n->operands[0].buffer].bytes,
             to = r->p->buffers[n->destination.buffer].bytes;
    n->destination.layout = r->p->buffers[n->destination.buffer].layout;
    if (from != to)
        return js_fail(e, o, FIND_PLAN_INVALID,
                       "expected a copy between buffers of one size, found %llu and %llu bytes",
                       (unsigned long long)from, (unsigned long long)to);
    return RP_OK;
}

/* The limits of every CUDA device so far. */
static rp_code check_launch(rp_err *e, const plan_node *n, js_node *o)
{
    static const uint64_t most_grid[3] = {INT32_MAX, 65535, 65535}, most_block[3] = {1024, 1024, 64};
    static const char *const names[] = {"grid", "block"};
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 3; i++) {
            uint64_t v = which ? n->block[i] : n->grid[i], most = which ? most_block[i] : most_grid[i];
            if (!v || v > most)
                return js_fail(e, js_find(o, names[which]), FIND_PLAN_INVALID,
                               "expected 1 to %llu in axis %d, found %llu", (unsigned long long)most, i,
                               (unsigned long long)v);
        }
    if (n->block[0] * n->block[1] * n->block[2] > 1024)
        return js_fail(e, js_find(o, "block"), FIND_PLAN_INVALID, "expected at most 1024 threads, found %llu",
                       (unsigned long long)(n->block[0] * n->block[1] * n->block[2]));
    return RP_OK;
}

static rp_code read_node(rp_err *e, const reader *r, plan_node *n, js_node *o)
{
    int op;
    if (js_enum(e, &op, o, "op", node_op_names))
        return e->code;
    n->op = (node_op)op;
    n->label = "";
    switch (n->op) {
    case NODE_INPUT:
        (void)read_slots(e, r, n, o, "slots", "value", false);
        break;
    case NODE_OUTPUT:
        (void)read_slots(e, r, n, o, "slots", "value", true);
        break;
    case NODE_ALLOC:
    case NODE_FREE:
        (void)read_one_buffer(e, r, n, o, "buffer");
        break;
    case NODE_COPY:
        n->has_destination = true;
        n->label = "Copy";
        n->destination.port = "destination";
        if (!read_one_buffer(e, r, n, o, "source") &&
            !read_buffer_ref(e, r, &n->destination.buffer, o, "destination"))
            (void)read_copy(e, r, n, o);
        break;
    case NODE_MATMUL:
        if (!read_operands(e, r, n, o))
            (void)read_matmul(e, r, n, o);
        break;
    case NODE_KERNEL:
        if (read_operands(e, r, n, o) || js_str(e, &n->source, o, "source") ||
            read_name(e, &n->entry, o, "entry") || js_u64s(e, n->grid, 3, o, "grid") ||
            js_u64s(e, n->block, 3, o, "block") || js_u64(e, &n->shared_bytes, o, "shared_bytes"))
            return e->code;
        (void)check_launch(e, n, o);
        break;
    }
    return e->code ? e->code : js_done(e, o);
}

static rp_code read_edge(rp_err *e, const reader *r, plan_edge *g, js_node *o)
{
    int kind;
    if (js_u64(e, &g->from, o, "from") || js_u64(e, &g->to, o, "to") ||
        read_buffer_ref(e, r, &g->buffer, o, "buffer") || js_str(e, &g->port, o, "port") ||
        js_enum(e, &kind, o, "kind", edge_names) || js_done(e, o))
        return e->code;
    g->kind = (edge_kind)kind;
    if (g->from >= r->p->n_nodes || g->to >= r->p->n_nodes)
        return js_fail(e, o, FIND_PLAN_INVALID, "expected node numbers below %llu, found %llu and %llu",
                       (unsigned long long)r->p->n_nodes, (unsigned long long)g->from,
                       (unsigned long long)g->to);
    return RP_OK;
}

static rp_code read_symbol(rp_err *e, plan_symbol *s, js_node *o)
{
    return read_name(e, &s->name, o, "name") || js_i64(e, &s->value, o, "value") ? e->code : js_done(e, o);
}

/* The array `key` of o into scratch storage of `size` bytes an element, at most `max`. */
static rp_code read_list(rp_err *e, const reader *r, js_node **a, void *out, uint64_t *n, js_node *o,
                         const char *key, size_t size, size_t max)
{
    size_t count = 0;
    if (js_arr(e, a, &count, o, key))
        return e->code;
    if (count > max)
        return js_fail(e, *a, FIND_PLAN_INVALID, "expected at most %zu, found %zu", max, count);
    void *v = scratch_array(r->sc, count, size);
    if (!v)
        return err_nomem(e);
    memcpy(out, &v, sizeof v);
    *n = count;
    return RP_OK;
}

static rp_code read_policy(rp_err *e, plan *p, js_node *root)
{
    js_node *o;
    int resolver, arena, renderer;
    if (js_obj(e, &o, root, "policy") || js_enum(e, &resolver, o, "resolver", resolver_policies) ||
        js_enum(e, &arena, o, "arena", arena_policies) ||
        js_enum(e, &renderer, o, "renderer", renderer_policies) || js_done(e, o))
        return e->code;
    p->resolver_name = resolver_policies[resolver];
    p->arena_name = arena_policies[arena];
    p->renderer_name = renderer_policies[renderer];
    p->resolver = (resolve_policy)resolver;
    p->arena = (arena_policy)arena;
    p->renderer = (render_policy)renderer;
    return RP_OK;
}

static rp_code unique_ids(rp_err *e, const plan *p, js_node *buffers)
{
    for (uint64_t i = 0; i < p->n_buffers; i++)
        for (uint64_t j = 0; j < i; j++)
            if (!strcmp(p->buffers[i].id, p->buffers[j].id))
                return js_fail(e, js_at(buffers, i), FIND_PLAN_INVALID,
                               "expected each buffer id once, found \"%s\" twice", p->buffers[i].id);
    for (uint64_t i = 1; i < p->n_symbols; i++)
        if (strcmp(p->symbols[i - 1].name, p->symbols[i].name) >= 0)
            return err_invalid(e, FIND_PLAN_INVALID, js_file(buffers), "/symbols",
                               "expected names in ascending order");
    return RP_OK;
}

rp_code plan_read(rp_err *e, plan **out, scratch *sc, const char *file, span text)
{
    js_node *root, *symbols, *buffers, *nodes, *edges;
    plan *p = scratch_alloc(sc, sizeof *p);
    reader r = {.sc = sc, .p = p};
    if (!p)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-plan/1") ||
        read_name(e, &p->name, root, "name") || read_policy(e, p, root) ||
        read_list(e, &r, &symbols, &p->symbols, &p->n_symbols, root, "symbols", sizeof *p->symbols, 256) ||
        read_list(e, &r, &buffers, &p->buffers, &p->n_buffers, root, "buffers", sizeof *p->buffers,
                  (size_t)limit_of(LIMIT_BUFFERS)) ||
        read_list(e, &r, &nodes, &p->nodes, &p->n_nodes, root, "nodes", sizeof *p->nodes,
                  (size_t)limit_of(LIMIT_NODES)) ||
        read_list(e, &r, &edges, &p->edges, &p->n_edges, root, "edges", sizeof *p->edges,
                  16 * (size_t)limit_of(LIMIT_NODES)))
        return e->code;
    for (uint64_t i = 0; i < p->n_symbols; i++)
        if (read_symbol(e, &p->symbols[i], js_at(symbols, i)))
            return e->code;
    for (uint64_t i = 0; i < p->n_buffers; i++)
        if (read_buffer(e, &p->buffers[i], js_at(buffers, i)))
            return e->code;
    if (unique_ids(e, p, buffers))
        return e->code;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        if (read_node(e, &r, &p->nodes[i], js_at(nodes, i)))
            return e->code;
    for (uint64_t i = 0; i < p->n_edges; i++)
        if (read_edge(e, &r, &p->edges[i], js_at(edges, i)))
            return e->code;
    if (js_done(e, root))
        return e->code;
    *out = p;
    return RP_OK;
}
