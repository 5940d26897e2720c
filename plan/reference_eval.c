/* Evaluating the reference program: everything but matmul. */
#include "plan/gelu.h"
#include "plan/parallel.h"
#include "plan/reference_node.h"

static double apply(reference_op o, double a, double b)
{
    switch (o) {
    case REFERENCE_ADD:
        return a + b;
    case REFERENCE_MUL:
        return a * b;
    case REFERENCE_RELU:
        return a > 0 || a != a ? a : 0;
    case REFERENCE_GELU:
        return gelu_tanh(a);
    case REFERENCE_MATMUL:
    case REFERENCE_SLICE:
    case REFERENCE_VIEW:
        break;
    }
    return a;
}

/* Row-major strides of v seen in the shape of `out`, 0 where it is broadcast. */
static void broadcast_strides(uint64_t *stride, const reference_value *v, const reference_value *out)
{
    uint64_t step = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t extent = reference_extent(v, i);
        stride[out->rank - 1 - i] = extent == 1 ? 0 : step;
        step *= extent;
    }
}

typedef struct {
    double *out;
    const reference_node *x;
    const reference_value *shape;
    uint64_t sa[TENSOR_MAX_RANK], sb[TENSOR_MAX_RANK];
    const double *a, *b;
} pointwise;

/* Rows of the last axis. */
static void apply_rows(const void *ctx, uint64_t from, uint64_t to)
{
    const pointwise *p = ctx;
    uint64_t last = p->shape->rank - 1, columns = p->shape->shape[last];
    for (uint64_t row = from; row < to; row++) {
        uint64_t ia = 0, ib = 0, left = row;
        for (uint64_t i = last; i > 0; i--) {
            ia += left % p->shape->shape[i - 1] * p->sa[i - 1];
            ib += left % p->shape->shape[i - 1] * p->sb[i - 1];
            left /= p->shape->shape[i - 1];
        }
        for (uint64_t c = 0; c < columns; c++)
            p->out[row * columns + c] = reference_rounded(
                p->x, apply(p->x->op, p->a[ia + c * p->sa[last]], p->b[ib + c * p->sb[last]]));
    }
}

/* Elements of a tensor as FP64, and the other way. */
typedef struct {
    dtype type;
    const void *from;
    void *to;
} conversion;

static void load_elements(const void *ctx, uint64_t from, uint64_t to)
{
    const conversion *c = ctx;
    for (uint64_t i = from; i < to; i++)
        ((double *)c->to)[i] = dtype_load(c->type, c->from, i);
}

static void store_elements(const void *ctx, uint64_t from, uint64_t to)
{
    const conversion *c = ctx;
    for (uint64_t i = from; i < to; i++)
        dtype_store(c->type, c->to, i, ((const double *)c->from)[i]);
}

static bool same_type(const tensor *a, const tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static rp_code load_input(rp_err *e, double **out, scratch *tmp, const tensor *want, const tensor *inputs,
                          size_t n, unsigned threads)
{
    const tensor *t = NULL;
    for (size_t i = 0; i < n && !t; i++)
        if (!strcmp(inputs[i].name, want->name))
            t = &inputs[i];
    if (!t || !same_type(t, want) || !t->data)
        return err_invalid(e, FIND_FIXTURE_SHAPE, NULL, want->name,
                           t ? "expected tensor \"%s\" with the type and shape of the reference program"
                             : "expected tensor \"%s\", found none",
                           want->name);
    double *v = scratch_array(tmp, (size_t)t->elements, sizeof *v);
    if (!v)
        return err_nomem(e);
    parallel(threads, load_elements, &(conversion){t->type, t->data, v}, t->elements, t->elements);
    *out = v;
    return RP_OK;
}

static rp_code evaluate(rp_err *e, double **v, scratch *tmp, const reference *r, const tensor *inputs,
                        size_t n_inputs, unsigned threads)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (load_input(e, &v[i], tmp, &r->inputs[i], inputs, n_inputs, threads))
            return e->code;
    for (size_t i = 0; i < r->n_nodes; i++) {
        const reference_node *x = &r->nodes[i];
        size_t at = r->n_inputs + i;
        v[at] = scratch_array(tmp, (size_t)r->values[at].elements, sizeof *v[at]);
        if (!v[at])
            return err_nomem(e);
        const reference_value *out = &r->values[at], *a = &r->values[x->a], *b = &r->values[x->b];
        if (x->op == REFERENCE_MATMUL) {
            if (reference_matmul(e, v[at], tmp, x, a, b, v[x->a], v[x->b], threads))
                return e->code;
            continue;
        }
        pointwise p = {.out = v[at], .x = x, .shape = out, .a = v[x->a] + x->offset, .b = v[x->b]};
        if (x->op == REFERENCE_SLICE || x->op == REFERENCE_VIEW) {
            memcpy(p.sa, x->strides, sizeof p.sa);
        } else {
            broadcast_strides(p.sa, a, out);
            broadcast_strides(p.sb, b, out);
        }
        parallel(threads, apply_rows, &p, out->elements / out->shape[out->rank - 1], out->elements);
    }
    return RP_OK;
}

rp_code reference_eval(rp_err *e, tensor **out, scratch *sc, const reference *r, const tensor *inputs,
                       size_t n_inputs, unsigned threads)
{
    scratch *tmp = scratch_new(0);
    double **v = tmp ? scratch_array(tmp, r->n_inputs + r->n_nodes, sizeof *v) : NULL;
    tensor *result = scratch_array(sc, r->n_outputs, sizeof *result);
    if (!v || !result) {
        err_nomem(e);
        goto out;
    }
    if (evaluate(e, v, tmp, r, inputs, n_inputs, threads))
        goto out;
    for (size_t i = 0; i < r->n_outputs; i++) {
        result[i] = r->outputs[i];
        result[i].data = scratch_array(sc, (size_t)result[i].elements, (size_t)dtype_bytes(result[i].type));
        if (!result[i].data) {
            err_nomem(e);
            goto out;
        }
        parallel(threads, store_elements,
                 &(conversion){result[i].type, v[r->output_values[i]], result[i].data}, result[i].elements,
                 result[i].elements);
    }
    *out = result;
out:
    scratch_free(tmp);
    return e->code;
}
