/* A plan of a whole module: each thunk a node, each value of the buffer assignment a buffer, XLA's
 * allocations one behind the other as the arena. The kernels' code is not in a dump, and so is omitted with
 * the reason; what needs it is not checkable, and everything else is. */
#include "artifacts/base/ck.h"
#include "replay/import_xla_nodes.h"
#include <ctype.h>
#include <stdlib.h>

enum { MAX_EDGES = 16 * PLAN_MAX_NODES };

static const size_t none = SIZE_MAX;

static bool obstacle(xla_builder *b, const char *why)
{
    b->why = b->why ? b->why : why;
    return false;
}

/* --- Buffers. --- */

static bool in_arena(const xla_builder *b, const xla_value *v)
{
    xla_kind kind = b->m->allocations[v->allocation].kind;
    return kind == XLA_TEMPORARY || kind == XLA_LIVE_OUT || kind == XLA_OTHER;
}

/* The workspace of a library call is a range of its node, and no buffer. */
static bool *workspaces_of(scratch *sc, const xla_module *m)
{
    xla_type unused;
    bool *is = scratch_array(sc, m->n_values + 1, sizeof *is);
    for (size_t i = 0; is && i < m->n_instructions; i++) {
        const xla_instruction *x = &m->instructions[i];
        const xla_value *v = xla_is_call(x) && x->type.tuple ? xla_result(m, x, 1, &unused) : NULL;
        if (v)
            is[v - m->values] = true;
    }
    return is;
}

static bool fits(const xla_value *v)
{
    uint64_t bytes = dtype_bytes(v->type.type);
    for (uint64_t i = 0; i < v->type.rank; i++)
        if (!ck_mul_u64(bytes, v->type.shape[i], &bytes))
            return false;
    return bytes == v->bytes;
}

static bool same_place(const xla_value *a, const xla_value *b)
{
    return a->allocation == b->allocation && a->offset == b->offset && a->bytes == b->bytes;
}

static bool same_type(const xla_type *a, const xla_type *b)
{
    return a->known && b->known && a->type == b->type && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) &&
           !memcmp(a->minor_to_major, b->minor_to_major, a->rank * sizeof *a->shape);
}

static bool id_taken(const xla_builder *b, const char *id)
{
    for (size_t k = 0; k < b->n_buffers; k++)
        if (!strcmp(b->buffers[k].id, id))
            return true;
    return false;
}

static const char *unused_id(xla_builder *b, const char *name)
{
    const char *id = xla_id(b->sc, name), *free_id = id;
    for (size_t n = 1; free_id && id_taken(b, free_id); n++)
        free_id = scratch_printf(b->sc, "%.56s.%zu", id, n);
    return free_id;
}

static rp_code add_buffer(rp_err *e, xla_builder *b, const xla_value *v)
{
    xla_buffer *u = &b->buffers[b->n_buffers];
    *u = (xla_buffer){.value = v, .from = v->from, .to = v->to, .input = !in_arena(b, v)};
    u->id = unused_id(b, v->name);
    if (!u->id)
        return err_nomem(e);
    if (!v->type.tuple && (!v->type.known || v->type.rank > PLAN_MAX_RANK || !fits(v)))
        obstacle(b, "a value of a type or rank that a plan does not have");
    if (!u->input && !v->has_life)
        obstacle(b, "a value without a live range");
    if (!u->input && (!ck_add_u64(b->base[v->allocation], v->offset, &u->offset) || u->offset % 256))
        obstacle(b, "a value at no multiple of 256 bytes");
    b->n_buffers++;
    return RP_OK;
}

static rp_code collect_buffers(rp_err *e, xla_builder *b)
{
    const xla_module *m = b->m;
    const bool *is_workspace = workspaces_of(b->sc, m);
    if (!is_workspace)
        return err_nomem(e);
    for (size_t i = 0; i < m->n_allocations; i++) {
        xla_kind kind = m->allocations[i].kind;
        if (kind == XLA_PARAMETER || kind == XLA_CONSTANT || kind == XLA_THREAD_LOCAL)
            continue;
        b->base[i] = b->slab;
        if (!ck_add_u64(b->slab, m->allocations[i].bytes, &b->slab) ||
            !ck_align_u64(b->slab, 256, &b->slab) || b->slab >> 53) {
            obstacle(b, xla_too_large);
            return RP_OK;
        }
    }
    for (size_t i = 0; i < m->n_values; i++) {
        const xla_value *v = &m->values[i];
        if (m->allocations[v->allocation].kind == XLA_THREAD_LOCAL || is_workspace[i])
            continue;
        for (size_t k = 0; k < b->n_buffers; k++)
            if (!in_arena(b, v) && b->buffers[k].value->allocation == v->allocation)
                obstacle(b, "a value in a parameter's memory: donated inputs are not imported");
        if (add_buffer(e, b, v))
            return e->code;
    }
    return RP_OK;
}

size_t xla_buffer_of(const xla_builder *b, const xla_value *v)
{
    for (size_t k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].value == v)
            return k;
    return none;
}

/* --- Nodes. --- */

static xla_node *add_node(xla_builder *b, xla_node_kind kind, size_t buffer)
{
    xla_node *n = &b->nodes[b->n_nodes++];
    *n = (xla_node){.kind = kind, .buffer = buffer, .tie = none};
    if (kind == XLA_ALLOC)
        b->buffers[buffer].alloc = b->n_nodes;
    if (kind == XLA_FREE)
        b->buffers[buffer].free = b->n_nodes;
    return n;
}

static bool three(const char *s, const char *key, uint64_t out[3])
{
    const char *at = strstr(s, key);
    if (!at)
        return false;
    at += strlen(key);
    for (int i = 0; i < 3; i++) {
        if (!isdigit((unsigned char)*at))
            return false;
        char *end;
        out[i] = strtoull(at, &end, 10);
        at = end + strspn(end, ", ");
    }
    return *at == ']';
}

static bool launch_of(xla_builder *b, xla_node *n)
{
    static const char shared[] = "shared_memory: ";
    const char *s = n->thunk->launch, *at = strstr(s, shared);
    if (!three(s, "grid: [", n->grid) || !three(s, "threads: [", n->block))
        return obstacle(b, scratch_printf(b->sc, "thunk %s is no launch of a kernel", n->thunk->kind));
    if (strstr(s, "cluster"))
        return obstacle(b, "a launch in clusters, which a plan does not have");
    n->shared_bytes = at ? strtoull(at + strlen(shared), NULL, 10) : 0;
    return true;
}

static bool add_use(xla_builder *b, xla_node *n, const char *port, const xla_value *v, const xla_type *seen)
{
    size_t k = v ? xla_buffer_of(b, v) : none;
    if (k == none || !port)
        return obstacle(b, "an operand that is no value of the buffer assignment");
    if (!seen->known || seen->rank > PLAN_MAX_RANK)
        return obstacle(b, "an operand of a type or rank that a plan does not have");
    n->uses[n->n_uses++] = (xla_use){port, k, *seen};
    return true;
}

/* A result in the very bytes of an operand is that operand's buffer, tied to it. */
static bool destination(xla_builder *b, xla_node *n, const xla_value *v, const xla_type *seen)
{
    size_t k = v ? xla_buffer_of(b, v) : none;
    if (k == none || b->buffers[k].input)
        return obstacle(b, "a result that is no value in the arena");
    n->buffer = k;
    n->result = *seen;
    for (size_t i = 0; i < n->n_uses; i++) {
        xla_buffer *from = &b->buffers[n->uses[i].buffer], *to = &b->buffers[k];
        if (from->input || !same_place(from->value, v))
            continue;
        if (!same_type(&from->value->type, &v->type) || !same_type(&n->uses[i].seen, seen) ||
            (n->kind == XLA_CALL && strcmp(n->uses[i].port, "c")))
            return obstacle(b, "a result in the bytes of an operand, but not element for element");
        if (from->output)
            return obstacle(b, "a result in the bytes of an operand that is an output itself");
        /* One buffer from here on: whoever names the value means the operand's. */
        from->to = to->to > from->to ? to->to : from->to;
        from->output |= to->output;
        to->value = NULL;
        n->buffer = n->uses[i].buffer;
        from->value = v;
        n->tie = i;
        break;
    }
    return true;
}

static bool kernel_node(xla_builder *b, xla_node *n, const xla_instruction *x)
{
    xla_type seen;
    if (x->type.tuple)
        return obstacle(b, "a kernel with several results, which a plan does not have");
    if (x->n_operands > PLAN_MAX_OPERANDS)
        return obstacle(b, "a kernel with more operands than a plan has");
    for (size_t i = 0; i < x->n_operands; i++) {
        const xla_value *v = xla_operand(b->m, x, i, &seen);
        if (!add_use(b, n, scratch_printf(b->sc, "p%zu", i), v, &seen))
            return false;
    }
    const xla_value *v = xla_result(b->m, x, -1, &seen);
    return launch_of(b, n) && destination(b, n, v, &seen);
}

static bool call_node(xla_builder *b, xla_node *n, const xla_instruction *x)
{
    const char *why = xla_call_of(&n->call, b->m, x);
    const xla_call *c = &n->call;
    if (why)
        return obstacle(b, why);
    if (c->workspace && (!in_arena(b, c->workspace) ||
                         !ck_add_u64(b->base[c->workspace->allocation], c->workspace->offset, &n->workspace)))
        return obstacle(b, "a workspace outside the arena");
    return add_use(b, n, "a", c->a, &c->ta) && add_use(b, n, "b", c->b, &c->tb) &&
           (!c->c || add_use(b, n, "c", c->c, &c->tc)) &&
           (!c->bias || add_use(b, n, "bias", c->bias, &c->tbias)) && destination(b, n, c->d, &c->td);
}

static bool makes_no_thunk(const xla_instruction *x)
{
    static const char *const words[] = {"parameter", "constant", "get-tuple-element",
                                        "bitcast",   "tuple",    "after-all"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(x->opcode, words[i]))
            return true;
    return false;
}

/* Lives that ended before that place in the schedule, and those that begin by it. */
static void lives_until(xla_builder *b, uint64_t position, bool last)
{
    for (size_t k = 0; k < b->n_buffers; k++) {
        const xla_buffer *u = &b->buffers[k];
        if (u->value && !u->input && !u->output && u->alloc && !u->free && (last || u->to < position))
            (void)add_node(b, XLA_FREE, k);
    }
    for (size_t k = 0; k < b->n_buffers; k++) {
        const xla_buffer *u = &b->buffers[k];
        if (u->value && !u->input && !u->alloc && (last || u->from <= position))
            (void)add_node(b, XLA_ALLOC, k);
    }
}

/* The name of a kernel is that of its instruction, or of an earlier one whose code is reused. */
static bool named_after(const xla_builder *b, const char *kernel, size_t upto)
{
    for (size_t i = 0; i <= upto; i++) {
        const char *p = b->m->instructions[i].name, *q = kernel;
        while (*p && (*p == *q || (!isalnum((unsigned char)*p) && *q == '_'))) {
            p++;
            q++;
        }
        if (!*p && !*q)
            return true;
    }
    return false;
}

static rp_code one_thunk(rp_err *e, xla_builder *b, const xla_instruction *x, const xla_thunk *t,
                         size_t number)
{
    bool call = !strcmp(t->kind, "kCublasLtMatmul");
    if (!x->has_position || call != xla_is_call(x) ||
        (!call && !named_after(b, t->name, (size_t)(x - b->m->instructions)))) {
        obstacle(b, scratch_printf(b->sc, "thunk %zu, %s %s, is not of instruction %s", number + 1, t->kind,
                                   t->name, x->name));
        return RP_OK;
    }
    xla_node fresh = {.kind = call ? XLA_CALL : XLA_KERNEL,
                      .thunk = t,
                      .tie = none,
                      .uses = scratch_array(b->sc, PLAN_MAX_OPERANDS, sizeof(xla_use)),
                      .stem = scratch_printf(b->sc, "kernels/%03zu_%.64s", number, xla_id(b->sc, t->name))};
    if (!fresh.uses || !fresh.stem)
        return err_nomem(e);
    if (!(call ? call_node(b, &fresh, x) : kernel_node(b, &fresh, x)))
        return RP_OK;
    lives_until(b, x->position, false);
    b->nodes[b->n_nodes++] = fresh;
    return RP_OK;
}

static rp_code collect_outputs(rp_err *e, xla_builder *b)
{
    const xla_instruction *root = NULL;
    for (size_t i = 0; i < b->m->n_instructions; i++)
        root = b->m->instructions[i].root ? &b->m->instructions[i] : root;
    bool tuple = root && !strcmp(root->opcode, "tuple");
    if (!root || (root->type.tuple && !tuple)) {
        obstacle(b, "a result that is no array, nor a tuple of arrays");
        return RP_OK;
    }
    size_t n = tuple ? root->n_operands : 1;
    b->outputs = scratch_array(b->sc, n, sizeof *b->outputs);
    b->output_types = scratch_array(b->sc, n, sizeof *b->output_types);
    if (!b->outputs || !b->output_types)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        const xla_value *v = xla_result(b->m, root, tuple ? (int)i : -1, &b->output_types[i]);
        size_t k = v ? xla_buffer_of(b, v) : none;
        if (k == none || b->buffers[k].input || b->buffers[k].output || !b->output_types[i].known) {
            obstacle(b, "an output that is an input, another output, or no value of the buffer assignment");
            return RP_OK;
        }
        b->outputs[b->n_outputs++] = v;
        b->buffers[k].output = true;
    }
    return RP_OK;
}

static rp_code collect_nodes(rp_err *e, xla_builder *b)
{
    const xla_module *m = b->m;
    size_t t = 0;
    for (size_t i = 0; i < m->n_instructions && !b->why; i++) {
        const xla_instruction *x = &m->instructions[i];
        if (makes_no_thunk(x))
            continue;
        if (t == m->n_thunks)
            obstacle(b, scratch_printf(b->sc, "no thunk of instruction %s", x->name));
        else if (one_thunk(e, b, x, &m->thunks[t], t))
            return e->code;
        t++;
    }
    if (t < m->n_thunks)
        obstacle(b, "more thunks than instructions");
    lives_until(b, UINT64_MAX, true);
    lives_until(b, UINT64_MAX, true); /* what began only now ends too */
    return RP_OK;
}

/* --- Edges. --- */

static void add_edge(xla_builder *b, uint64_t from, uint64_t to, size_t buffer, const char *port, bool anti)
{
    for (size_t i = b->n_edges; i > 0 && b->edges[i - 1].to == to; i--)
        if (b->edges[i - 1].from == from && b->edges[i - 1].buffer == buffer)
            return;
    if (b->n_edges < MAX_EDGES)
        b->edges[b->n_edges++] = (xla_edge){from, to, buffer, port, anti};
    else
        obstacle(b, "more edges than a plan has");
}

static const char *reads(const xla_node *n, size_t buffer)
{
    for (size_t i = 0; i < n->n_uses; i++)
        if (n->uses[i].buffer == buffer)
            return n->uses[i].port;
    return NULL;
}

bool xla_launches(const xla_node *n)
{
    return n->kind == XLA_CALL || n->kind == XLA_KERNEL;
}

static bool touches(const xla_node *n, size_t buffer)
{
    return xla_launches(n) && (n->buffer == buffer || reads(n, buffer));
}

/* Each access after those it must come after; a life around them. */
static void edges_of_buffer(xla_builder *b, size_t k)
{
    xla_buffer *u = &b->buffers[k];
    uint64_t writer = u->input ? 0 : u->alloc;
    bool written = u->input;
    for (size_t i = 0; i < b->n_nodes; i++) {
        const xla_node *n = &b->nodes[i];
        const char *port = xla_launches(n) ? reads(n, k) : NULL;
        bool writes = xla_launches(n) && n->buffer == k;
        if (!port && !writes)
            continue;
        add_edge(b, writer, i + 1, k, written && port ? port : written ? "dest" : "alloc", false);
        for (size_t before = writer; writes && before < i; before++) /* readers since the last write */
            if (touches(&b->nodes[before], k))
                add_edge(b, before + 1, i + 1, k, "war", true);
        if (writes) {
            writer = i + 1;
            written = true;
        }
    }
    for (size_t i = 1; u->free && i < u->free; i++) {
        bool made = i == u->alloc || b->nodes[i - 1].buffer == k;
        if (i == u->alloc || touches(&b->nodes[i - 1], k))
            add_edge(b, i, u->free, k, made ? "free" : "war", !made);
    }
    for (size_t i = 0; i < b->n_outputs; i++)
        if (b->outputs[i] == u->value)
            add_edge(b, writer, b->n_nodes + 1, k, scratch_printf(b->sc, "out %zu", i), false);
}

static bool uses_tenant(const xla_builder *b, const xla_tenant *t, size_t at)
{
    return t->buffer == none ? at + 1 == t->from : touches(&b->nodes[at], t->buffer);
}

/* Who used the bytes before comes before who uses them now: the schedule is one stream. */
static void edges_of_pair(xla_builder *b, const xla_tenant *early, const xla_tenant *late)
{
    size_t first = 0;
    if (!ck_overlap(early->offset, early->bytes, late->offset, late->bytes) || early->to > late->from)
        return;
    while (first < b->n_nodes && !uses_tenant(b, late, first))
        first++;
    for (size_t i = 0; first < b->n_nodes && i < first; i++)
        if (uses_tenant(b, early, i))
            add_edge(b, i + 1, first + 1, late->buffer == none ? b->nodes[first].buffer : late->buffer,
                     "reuse", false);
}

uint64_t xla_reserved(uint64_t bytes)
{
    return (bytes + (bytes == 0) + 255) / 256 * 256; /* below 2^53 */
}

static size_t tenants_of(const xla_builder *b, xla_tenant *v)
{
    size_t n = 0;
    for (size_t k = 0; k < b->n_buffers; k++) {
        const xla_buffer *u = &b->buffers[k];
        if (u->value && !u->input)
            v[n++] = (xla_tenant){u->alloc, u->free ? u->free + 1 : b->n_nodes + 2, u->offset,
                                  xla_reserved(u->value->bytes), k};
    }
    for (size_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i].kind == XLA_CALL && b->nodes[i].call.workspace)
            v[n++] = (xla_tenant){i + 1, i + 2, b->nodes[i].workspace,
                                  xla_reserved(b->nodes[i].call.workspace->bytes), none};
    return n;
}

static rp_code collect_edges(rp_err *e, xla_builder *b, xla_tenant **tenants, size_t *n)
{
    xla_tenant *v = scratch_array(b->sc, b->n_buffers + b->n_nodes, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].value)
            edges_of_buffer(b, k);
    *n = tenants_of(b, v);
    for (size_t i = 0; i < *n; i++)
        for (size_t k = 0; k < *n; k++)
            edges_of_pair(b, &v[i], &v[k]);
    *tenants = v;
    return RP_OK;
}

/* --- All of it. --- */

static rp_code collect(rp_err *e, xla_builder *b)
{
    if (collect_buffers(e, b))
        return e->code;
    if (!b->m->n_thunks)
        obstacle(b, "no thunks");
    if (b->m->n_thunks > 999)
        obstacle(b, "more than 999 thunks");
    if (!b->why && collect_outputs(e, b))
        return e->code;
    return b->why ? RP_OK : collect_nodes(e, b);
}

rp_code xla_write_plan(rp_err *e, const char **why, scratch *sc, const char *dir, const xla_module *m)
{
    import_writer w = {.sc = sc, .dir = dir, .name = m->name, .source = m->name, .hold = true};
    xla_tenant *v = NULL;
    size_t n = 0;
    xla_builder b = {.m = m,
                     .sc = sc,
                     .buffers = scratch_array(sc, m->n_values + 1, sizeof *b.buffers),
                     .nodes = scratch_array(sc, 2 * m->n_values + m->n_thunks + 1, sizeof *b.nodes),
                     .edges = scratch_array(sc, MAX_EDGES, sizeof *b.edges),
                     .base = scratch_array(sc, m->n_allocations + 1, sizeof *b.base)};
    if (!b.buffers || !b.nodes || !b.edges || !b.base)
        return err_nomem(e);
    if (collect(e, &b) || (!b.why && collect_edges(e, &b, &v, &n)))
        return e->code;
    if ((*why = b.why))
        return RP_OK;
    if (xla_plan_documents(e, &w, &b, v, n) || xla_check(e, why, &w))
        return e->code;
    return *why ? RP_OK : import_flush(e, &w);
}
