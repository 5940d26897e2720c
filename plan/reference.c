#include "plan/reference.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { MAX_INPUTS = 64, MAX_NODES = 256, MAX_OUTPUTS = 16, MAX_THREADS = 256 };
/* Limits on what a stranger's program may ask for: FP64 elements held at once, and multiply-adds. */
static const uint64_t max_elements = UINT64_C(1) << 27, max_work = UINT64_C(1) << 37;

typedef enum { MATMUL, ADD, MUL, RELU } op;
static const char *const op_names[] = {"matmul", "add", "mul", "relu", NULL};

typedef struct {
    const char *id;
    uint64_t rank, shape[TENSOR_MAX_RANK], elements;
} value;

typedef struct {
    op op;
    size_t a, b; /* indices of values */
    bool transpose_a, transpose_b, saturate;
    int round; /* a dtype, or -1 */
} node;

/* Values are the inputs, then the nodes. */
struct reference {
    size_t n_inputs, n_nodes, n_outputs;
    tensor *inputs, *outputs;
    node *nodes;
    value *values;
    size_t *output_values;
};

/* --- Reading. --- */

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

static rp_code shape_matmul(rp_err *e, value *out, const value *a, const value *b, const node *x, js_node *v,
                            uint64_t *work)
{
    if (a->rank != 2 || b->rank != 2)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected two matrices, found ranks %llu and %llu",
                       (unsigned long long)a->rank, (unsigned long long)b->rank);
    uint64_t k = a->shape[!x->transpose_a], kb = b->shape[x->transpose_b], ops;
    if (k != kb)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected one inner extent, found %llu and %llu",
                       (unsigned long long)k, (unsigned long long)kb);
    out->rank = 2;
    out->shape[0] = a->shape[x->transpose_a];
    out->shape[1] = b->shape[!x->transpose_b];
    if (!ck_mul_u64(out->shape[0], out->shape[1], &out->elements) || out->elements > max_elements ||
        !ck_mul_u64(out->elements, k, &ops) || !ck_add_u64(*work, ops, work) || *work > max_work)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected at most 2^27 elements and 2^37 multiply-adds");
    return RP_OK;
}

static uint64_t extent_from_right(const value *v, uint64_t i)
{
    return i < v->rank ? v->shape[v->rank - 1 - i] : 1;
}

static rp_code shape_pointwise(rp_err *e, value *out, const value *a, const value *b, js_node *v)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    out->elements = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t x = extent_from_right(a, i), y = extent_from_right(b, i);
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

static rp_code read_node(rp_err *e, reference *r, size_t i, js_node *v, uint64_t *work)
{
    node *x = &r->nodes[i];
    size_t at = r->n_inputs + i;
    value *out = &r->values[at];
    int kind;
    x->round = -1;
    if (js_as_obj(e, v) || js_str(e, &out->id, v, "id") || js_enum(e, &kind, v, "op", op_names) ||
        find_value(e, &x->a, r, at, v, "a"))
        return e->code;
    x->op = (op)kind;
    if (x->op != RELU && find_value(e, &x->b, r, at, v, "b"))
        return e->code;
    if (x->op == MATMUL && (optional_bool(e, &x->transpose_a, v, "transpose_a") ||
                            optional_bool(e, &x->transpose_b, v, "transpose_b")))
        return e->code;
    if (js_find(v, "round") && js_enum(e, &x->round, v, "round", dtype_names))
        return e->code;
    if (x->round >= 0 && optional_bool(e, &x->saturate, v, "saturate"))
        return e->code;
    if (js_done(e, v))
        return e->code;
    const value *a = &r->values[x->a], *b = x->op == RELU ? a : &r->values[x->b];
    if (x->op == MATMUL ? shape_matmul(e, out, a, b, x, v, work) : shape_pointwise(e, out, a, b, v))
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
        r->values[i] = (value){.id = t->name, .rank = t->rank, .elements = t->elements};
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
        const value *from = &r->values[r->output_values[i]];
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
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-reference/0") ||
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

static double rounded(const node *x, double v)
{
    if (x->round < 0)
        return v;
    return x->saturate ? dtype_round_saturating((dtype)x->round, v) : dtype_round((dtype)x->round, v);
}

/* --- matmul. ---
 *
 * B is packed into panels of PANEL columns, k by k; A into rows, padded to TILE_ROWS. A tile is TILE_ROWS
 * rows by two vectors of columns, one accumulator an element, k ascending: how wide the vectors are changes
 * nothing in any element. */

enum { PANEL = 16, TILE_ROWS = 4 };

typedef void tile_fn(double *out, const double *a, const double *b, uint64_t k);

/* out[TILE_ROWS][PANEL] = a[TILE_ROWS][k] * b[k][PANEL] */
#define TILE(name, attribute, lanes)                                                                         \
    attribute static void name(double *out, const double *a, const double *b, uint64_t k)                    \
    {                                                                                                        \
        typedef double vec __attribute__((vector_size(8 * lanes)));                                          \
        const double *a1 = a + k, *a2 = a1 + k, *a3 = a2 + k;                                                \
        for (unsigned c = 0; c < PANEL; c += 2 * lanes) {                                                    \
            vec r00 = {0}, r01 = r00, r10 = r00, r11 = r00, r20 = r00, r21 = r00, r30 = r00, r31 = r00;      \
            for (uint64_t i = 0; i < k; i++) {                                                               \
                vec b0, b1;                                                                                  \
                memcpy(&b0, b + i * PANEL + c, sizeof b0);                                                   \
                memcpy(&b1, b + i * PANEL + c + lanes, sizeof b1);                                           \
                r00 += b0 * a[i];                                                                            \
                r01 += b1 * a[i];                                                                            \
                r10 += b0 * a1[i];                                                                           \
                r11 += b1 * a1[i];                                                                           \
                r20 += b0 * a2[i];                                                                           \
                r21 += b1 * a2[i];                                                                           \
                r30 += b0 * a3[i];                                                                           \
                r31 += b1 * a3[i];                                                                           \
            }                                                                                                \
            const vec all[2 * TILE_ROWS] = {r00, r01, r10, r11, r20, r21, r30, r31};                         \
            for (unsigned r = 0; r < TILE_ROWS; r++)                                                         \
                memcpy(out + r * PANEL + c, &all[2 * r], 2 * sizeof(vec));                                   \
        }                                                                                                    \
    }

TILE(tile_base, , 2)
#if defined(__x86_64__)
TILE(tile_avx2, __attribute__((target("avx2"))), 4)
TILE(tile_avx512, __attribute__((target("avx512f"))), 8)
const char *const reference_variants[] = {"avx512f", "avx2", "base", NULL};
#else
const char *const reference_variants[] = {"base", NULL};
#endif

static tile_fn *chosen; /* by a test */

static tile_fn *variant(const char *name)
{
#if defined(__x86_64__)
    if (!strcmp(name, "avx512f"))
        return __builtin_cpu_supports("avx512f") ? tile_avx512 : NULL;
    if (!strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2") ? tile_avx2 : NULL;
#endif
    return strcmp(name, "base") ? NULL : tile_base;
}

bool reference_use_variant(const char *name)
{
    chosen = name ? variant(name) : NULL;
    return !name || chosen;
}

static tile_fn *best_tile(void)
{
    tile_fn *f = chosen;
    for (size_t i = 0; !f && reference_variants[i]; i++)
        f = variant(reference_variants[i]);
    return f;
}

typedef struct {
    tile_fn *tile;
    uint64_t m, n, k;
    const double *a, *b; /* packed */
    double *c;
    const node *x;
} product;

typedef struct {
    const product *p;
    uint64_t first_row, last_row; /* first_row a multiple of TILE_ROWS */
    pthread_t thread;
    bool started;
} share;

static void *multiply(void *arg)
{
    const share *s = arg;
    const product *p = s->p;
    double tile[TILE_ROWS * PANEL];
    for (uint64_t col = 0; col < p->n; col += PANEL) {
        uint64_t cols = p->n - col < PANEL ? p->n - col : PANEL;
        for (uint64_t row = s->first_row; row < s->last_row; row += TILE_ROWS) {
            uint64_t rows = s->last_row - row < TILE_ROWS ? s->last_row - row : TILE_ROWS;
            p->tile(tile, p->a + row * p->k, p->b + col * p->k, p->k);
            for (uint64_t r = 0; r < rows; r++)
                for (uint64_t c = 0; c < cols; c++)
                    p->c[(row + r) * p->n + col + c] = rounded(p->x, tile[r * PANEL + c]);
        }
    }
    return NULL;
}

static unsigned cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : (unsigned)n;
}

static rp_code matmul(rp_err *e, double *out, scratch *tmp, const node *x, const value *va, const value *vb,
                      const double *a, const double *b, unsigned threads)
{
    uint64_t m = va->shape[x->transpose_a], k = va->shape[!x->transpose_a], n = vb->shape[!x->transpose_b];
    uint64_t m_padded = (m + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS,
             n_padded = (n + PANEL - 1) / PANEL * PANEL, na, nb;
    if (!ck_mul_u64(m_padded, k, &na) || !ck_mul_u64(n_padded, k, &nb))
        return err_nomem(e);
    double *pa = scratch_array(tmp, (size_t)na, sizeof *pa), *pb = scratch_array(tmp, (size_t)nb, sizeof *pb);
    if (!pa || !pb)
        return err_nomem(e);
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t l = 0; l < k; l++)
            pa[i * k + l] = x->transpose_a ? a[l * m + i] : a[i * k + l];
    for (uint64_t col = 0; col < n; col++)
        for (uint64_t l = 0; l < k; l++)
            pb[col / PANEL * PANEL * k + l * PANEL + col % PANEL] =
                x->transpose_b ? b[col * k + l] : b[l * n + col];

    product p = {best_tile(), m, n, k, pa, pb, out, x};
    share shares[MAX_THREADS];
    uint64_t tiles = m_padded / TILE_ROWS, row = 0;
    if (threads == 0)
        threads = cores();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if (threads > tiles)
        threads = (unsigned)tiles;
    for (unsigned t = 0; t < threads; t++) {
        uint64_t end = tiles * (t + 1) / threads * TILE_ROWS;
        shares[t] = (share){.p = &p, .first_row = row, .last_row = end < m ? end : m};
        row = end;
        /* The last share, and one whose thread cannot be had, is done here. */
        shares[t].started = t + 1 < threads && !pthread_create(&shares[t].thread, NULL, multiply, &shares[t]);
    }
    for (unsigned t = 0; t < threads; t++)
        if (!shares[t].started)
            multiply(&shares[t]);
    for (unsigned t = 0; t < threads; t++)
        if (shares[t].started)
            pthread_join(shares[t].thread, NULL);
    return RP_OK;
}

/* --- Pointwise. --- */

static double apply(op o, double a, double b)
{
    if (o == ADD)
        return a + b;
    if (o == MUL)
        return a * b;
    return a > 0 || a != a ? a : 0;
}

/* Row-major strides of v seen in the shape of `out`, 0 where it is broadcast. */
static void broadcast_strides(uint64_t *stride, const value *v, const value *out)
{
    uint64_t step = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t extent = extent_from_right(v, i);
        stride[out->rank - 1 - i] = extent == 1 ? 0 : step;
        step *= extent;
    }
}

static void pointwise(double *out, const node *x, const value *shape, const value *va, const value *vb,
                      const double *a, const double *b)
{
    uint64_t sa[TENSOR_MAX_RANK], sb[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK] = {0}, last = shape->rank - 1;
    uint64_t columns = shape->shape[last];
    broadcast_strides(sa, va, shape);
    broadcast_strides(sb, vb, shape);
    for (uint64_t at = 0; at < shape->elements; at += columns) {
        uint64_t ia = 0, ib = 0;
        for (uint64_t i = 0; i < last; i++) {
            ia += index[i] * sa[i];
            ib += index[i] * sb[i];
        }
        for (uint64_t c = 0; c < columns; c++)
            out[at + c] = rounded(x, apply(x->op, a[ia + c * sa[last]], b[ib + c * sb[last]]));
        for (uint64_t i = last; i > 0 && ++index[i - 1] == shape->shape[i - 1]; i--)
            index[i - 1] = 0;
    }
}

/* --- Evaluating. --- */

static bool same_type(const tensor *a, const tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static rp_code load_input(rp_err *e, double **out, scratch *tmp, const tensor *want, const tensor *inputs,
                          size_t n)
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
    for (uint64_t i = 0; i < t->elements; i++)
        v[i] = dtype_load(t->type, t->data, i);
    *out = v;
    return RP_OK;
}

static rp_code evaluate(rp_err *e, double **v, scratch *tmp, const reference *r, const tensor *inputs,
                        size_t n_inputs, unsigned threads)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (load_input(e, &v[i], tmp, &r->inputs[i], inputs, n_inputs))
            return e->code;
    for (size_t i = 0; i < r->n_nodes; i++) {
        const node *x = &r->nodes[i];
        size_t at = r->n_inputs + i, b = x->op == RELU ? x->a : x->b;
        v[at] = scratch_array(tmp, (size_t)r->values[at].elements, sizeof *v[at]);
        if (!v[at])
            return err_nomem(e);
        if (x->op != MATMUL)
            pointwise(v[at], x, &r->values[at], &r->values[x->a], &r->values[b], v[x->a], v[b]);
        else if (matmul(e, v[at], tmp, x, &r->values[x->a], &r->values[b], v[x->a], v[b], threads))
            return e->code;
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
        for (uint64_t k = 0; k < result[i].elements; k++)
            dtype_store(result[i].type, result[i].data, k, v[r->output_values[i]][k]);
    }
    *out = result;
out:
    scratch_free(tmp);
    return e->code;
}
