#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "plan/reference_node.h"

enum { MAX_INPUTS = 64, MAX_NODES = 256, MAX_OUTPUTS = 16 };
/* Limits on what a stranger's program may ask for: FP64 elements held at once, and multiply-adds. */
static const uint64_t max_elements = UINT64_C(1) << 27, max_work = UINT64_C(1) << 37;

static const char *const op_names[] = {"matmul", "add", "mul", "relu", "gelu", "slice", "view", NULL};

/* Whether every value of the type has at most 26 significant bits. */
static bool is_narrow(dtype t)
{
    return dtype_is_float(t) ? t != DT_F64 : dtype_bytes(t) <= 2;
}

static rp_code add_value(rp_err *e, const reference *r, size_t i, js_node *v)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(r->values[k].id, r->values[i].id))
            return js_fail(e, v, FIND_REFERENCE_INVALID, "expected each name once, found \"%.64s\" twice",
                           r->values[i].id);
    uint64_t total = 0;
    for (size_t k = 0; k <= i; k++)
        total += r->values[k].elements;
    if (total > max_elements)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected values of at most 2^27 elements together");
    return RP_OK;
}

static rp_code find_value(rp_err *e, size_t *out, const reference *r, size_t n, js_node *v, const char *key)
{
    const char *name;
    if (js_str(e, &name, v, key))
        return e->code;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(r->values[i].id, name)) {
            *out = i;
            return RP_OK;
        }
    return js_fail(e, js_find(v, key), FIND_REFERENCE_INVALID,
                   "expected an input or an earlier node, found \"%.64s\"", name);
}

static rp_code optional_bool(rp_err *e, bool *out, js_node *v, const char *key)
{
    return js_find(v, key) ? js_bool(e, out, v, key) : RP_OK;
}

/* Whether the op takes a second operand. */
static bool is_binary(reference_op op)
{
    return op == REFERENCE_MATMUL || op == REFERENCE_ADD || op == REFERENCE_MUL;
}

/* The extents of one product, and how often: 0 where the ranks or batches do not fit. */
static uint64_t batch_of(const reference_value *a, const reference_value *b)
{
    if (a->rank < 2 || a->rank > 3 || b->rank < 2 || b->rank > 3)
        return 0;
    uint64_t na = reference_extent(a, 2), nb = reference_extent(b, 2);
    if (a->rank == 3 && b->rank == 3 && na != nb)
        return 0;
    return a->rank == 3 ? na : nb;
}

static rp_code shape_matmul(rp_err *e, reference_value *out, const reference_value *a,
                            const reference_value *b, const reference_node *x, js_node *v, uint64_t *work)
{
    uint64_t batch = batch_of(a, b), ops;
    if (!batch)
        return js_fail(e, v, FIND_REFERENCE_INVALID,
                       "expected matrices, or ranks of 3 with one batch, found ranks %llu and %llu, leading "
                       "extents %llu and %llu",
                       (unsigned long long)a->rank, (unsigned long long)b->rank,
                       (unsigned long long)a->shape[0], (unsigned long long)b->shape[0]);
    uint64_t k = reference_extent(a, x->transpose_a), kb = reference_extent(b, !x->transpose_b);
    if (k != kb)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected one inner extent, found %llu and %llu",
                       (unsigned long long)k, (unsigned long long)kb);
    uint64_t m = reference_extent(a, !x->transpose_a), n = reference_extent(b, x->transpose_b);
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    out->shape[0] = batch;
    out->shape[out->rank - 2] = m;
    out->shape[out->rank - 1] = n;
    if (!ck_mul_u64(m, n, &out->elements) || !ck_mul_u64(out->elements, batch, &out->elements) ||
        out->elements > max_elements || !ck_mul_u64(out->elements, k, &ops) ||
        !ck_add_u64(*work, ops, work) || *work > max_work)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected at most 2^27 elements and 2^37 multiply-adds");
    return RP_OK;
}

static rp_code shape_pointwise(rp_err *e, reference_value *out, const reference_value *a,
                               const reference_value *b, js_node *v)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    out->elements = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t x = reference_extent(a, i), y = reference_extent(b, i);
        if (x != y && x != 1 && y != 1)
            return js_fail(e, v, FIND_REFERENCE_INVALID,
                           "expected extents that broadcast, found %llu and %llu", (unsigned long long)x,
                           (unsigned long long)y);
        uint64_t extent = x > y ? x : y;
        out->shape[out->rank - 1 - i] = extent;
        if (!ck_mul_u64(out->elements, extent, &out->elements) || out->elements > max_elements)
            return js_fail(e, v, FIND_REFERENCE_INVALID, "expected at most 2^27 elements");
    }
    return RP_OK;
}

static rp_code read_slice(rp_err *e, reference_node *x, reference_value *out, const reference_value *a,
                          js_node *v)
{
    uint64_t axis, from, extent, end, step = 1;
    if (js_u64(e, &axis, v, "axis") || js_u64(e, &from, v, "from") || js_u64(e, &extent, v, "extent"))
        return e->code;
    if (axis >= a->rank)
        return js_fail(e, js_find(v, "axis"), FIND_REFERENCE_INVALID,
                       "expected an axis below the rank %llu, found %llu", (unsigned long long)a->rank,
                       (unsigned long long)axis);
    if (!extent || !ck_add_u64(from, extent, &end) || end > a->shape[axis])
        return js_fail(e, js_find(v, "extent"), FIND_REFERENCE_INVALID,
                       "expected 1 or more of the %llu along the axis, found %llu from %llu on",
                       (unsigned long long)a->shape[axis], (unsigned long long)extent,
                       (unsigned long long)from);
    out->rank = a->rank;
    memcpy(out->shape, a->shape, sizeof out->shape);
    out->shape[axis] = extent;
    out->elements = a->elements / a->shape[axis] * extent;
    for (uint64_t i = a->rank; i > 0; step *= a->shape[--i])
        x->strides[i - 1] = step;
    x->offset = from * x->strides[axis];
    return RP_OK;
}

static rp_code read_view(rp_err *e, reference_node *x, reference_value *out, const reference_value *a,
                         js_node *v)
{
    js_node *shape;
    size_t rank;
    uint64_t last, term;
    if (js_u64(e, &x->offset, v, "offset") || js_arr(e, &shape, &rank, v, "shape"))
        return e->code;
    if (rank < 1 || rank > TENSOR_MAX_RANK)
        return js_fail(e, shape, FIND_REFERENCE_INVALID, "expected 1 to %d extents, found %zu",
                       TENSOR_MAX_RANK, rank);
    if (js_u64s(e, out->shape, rank, v, "shape") || js_u64s(e, x->strides, rank, v, "strides"))
        return e->code;
    out->rank = rank;
    out->elements = 1;
    last = x->offset;
    for (size_t i = 0; i < rank; i++) {
        if (!out->shape[i] || !ck_mul_u64(out->elements, out->shape[i], &out->elements) ||
            out->elements > max_elements)
            return js_fail(e, shape, FIND_REFERENCE_INVALID,
                           "expected extents of 1 or more and at most 2^27 elements");
        if (!ck_mul_u64(out->shape[i] - 1, x->strides[i], &term) || !ck_add_u64(last, term, &last))
            last = UINT64_MAX;
    }
    if (last >= a->elements)
        return js_fail(e, v, FIND_REFERENCE_INVALID,
                       "expected a view within the %llu elements of \"%.64s\", found one that reaches beyond",
                       (unsigned long long)a->elements, a->id);
    return RP_OK;
}

static rp_code read_op(rp_err *e, reference *r, size_t at, reference_node *x, js_node *v, uint64_t *work)
{
    reference_value *out = &r->values[at];
    const reference_value *a = &r->values[x->a];
    if (x->op == REFERENCE_MATMUL && (optional_bool(e, &x->transpose_a, v, "transpose_a") ||
                                      optional_bool(e, &x->transpose_b, v, "transpose_b")))
        return e->code;
    if (js_find(v, "round") && js_enum(e, &x->round, v, "round", dtype_names))
        return e->code;
    if (x->round >= 0 && optional_bool(e, &x->saturate, v, "saturate"))
        return e->code;
    bool part = x->op == REFERENCE_SLICE || x->op == REFERENCE_VIEW;
    if (x->op == REFERENCE_SLICE ? read_slice(e, x, out, a, v) : part && read_view(e, x, out, a, v))
        return e->code;
    if (js_done(e, v))
        return e->code;
    out->narrow = x->round >= 0 ? is_narrow((dtype)x->round) : part && a->narrow;
    if (part)
        return RP_OK;
    return x->op == REFERENCE_MATMUL ? shape_matmul(e, out, a, &r->values[x->b], x, v, work)
                                     : shape_pointwise(e, out, a, &r->values[x->b], v);
}

static rp_code read_node(rp_err *e, reference *r, size_t i, js_node *v, uint64_t *work)
{
    reference_node *x = &r->nodes[i];
    size_t at = r->n_inputs + i;
    int kind;
    x->round = -1;
    if (js_as_obj(e, v) || js_str(e, &r->values[at].id, v, "id") || js_enum(e, &kind, v, "op", op_names) ||
        find_value(e, &x->a, r, at, v, "a"))
        return e->code;
    x->op = (reference_op)kind;
    x->b = x->a;
    if (is_binary(x->op) && find_value(e, &x->b, r, at, v, "b"))
        return e->code;
    if (read_op(e, r, at, x, v, work))
        return e->code;
    return add_value(e, r, at, v);
}

static rp_code read_inputs(rp_err *e, reference *r, js_node *arr)
{
    for (size_t i = 0; i < r->n_inputs; i++) {
        js_node *v = js_at(arr, i);
        tensor *t = &r->inputs[i];
        if (tensor_read_type(e, t, v) || js_done(e, v))
            return e->code;
        r->values[i] = (reference_value){
            .id = t->name, .rank = t->rank, .elements = t->elements, .narrow = is_narrow(t->type)};
        memcpy(r->values[i].shape, t->shape, sizeof t->shape);
        if (add_value(e, r, i, v))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_outputs(rp_err *e, reference *r, js_node *arr)
{
    for (size_t i = 0; i < r->n_outputs; i++) {
        js_node *v = js_at(arr, i);
        tensor *t = &r->outputs[i];
        int type;
        if (js_as_obj(e, v) || js_str(e, &t->name, v, "name") || js_enum(e, &type, v, "dtype", dtype_names) ||
            find_value(e, &r->output_values[i], r, r->n_inputs + r->n_nodes, v, "value") || js_done(e, v))
            return e->code;
        const reference_value *from = &r->values[r->output_values[i]];
        t->type = (dtype)type;
        t->rank = from->rank;
        t->elements = from->elements;
        memcpy(t->shape, from->shape, sizeof t->shape);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(r->outputs[k].name, t->name))
                return js_fail(e, v, FIND_REFERENCE_INVALID,
                               "expected each output once, found \"%.64s\" twice", t->name);
    }
    return RP_OK;
}

static rp_code between(rp_err *e, js_node *arr, size_t n, size_t most)
{
    if (n < 1 || n > most)
        return js_fail(e, arr, FIND_REFERENCE_INVALID, "expected 1 to %zu entries, found %zu", most, n);
    return RP_OK;
}

rp_code reference_read(rp_err *e, reference **out, scratch *sc, const char *file, span text)
{
    js_node *root, *inputs, *nodes, *outputs;
    reference *r = scratch_alloc(sc, sizeof *r);
    if (!r)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-reference/1") ||
        js_arr(e, &inputs, &r->n_inputs, root, "inputs") || js_arr(e, &nodes, &r->n_nodes, root, "nodes") ||
        js_arr(e, &outputs, &r->n_outputs, root, "outputs") || js_done(e, root) ||
        between(e, inputs, r->n_inputs, MAX_INPUTS) || between(e, nodes, r->n_nodes, MAX_NODES) ||
        between(e, outputs, r->n_outputs, MAX_OUTPUTS))
        return e->code;
    r->inputs = scratch_array(sc, r->n_inputs, sizeof *r->inputs);
    r->nodes = scratch_array(sc, r->n_nodes, sizeof *r->nodes);
    r->outputs = scratch_array(sc, r->n_outputs, sizeof *r->outputs);
    r->values = scratch_array(sc, r->n_inputs + r->n_nodes, sizeof *r->values);
    r->output_values = scratch_array(sc, r->n_outputs, sizeof *r->output_values);
    if (!r->inputs || !r->nodes || !r->outputs || !r->values || !r->output_values)
        return err_nomem(e);
    uint64_t work = 0;
    if (read_inputs(e, r, inputs))
        return e->code;
    for (size_t i = 0; i < r->n_nodes; i++)
        if (read_node(e, r, i, js_at(nodes, i), &work))
            return e->code;
    if (!read_outputs(e, r, outputs))
        *out = r;
    return e->code;
}

size_t reference_n_inputs(const reference *r)
{
    return r->n_inputs;
}

size_t reference_n_outputs(const reference *r)
{
    return r->n_outputs;
}

const tensor *reference_input(const reference *r, size_t i)
{
    return &r->inputs[i];
}

const tensor *reference_output(const reference *r, size_t i)
{
    return &r->outputs[i];
}
