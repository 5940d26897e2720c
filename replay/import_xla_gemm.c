/* The descriptors of a library call, as XLA sets them from shapes, layouts and the call's configuration: each
 * operand is a matrix of (batch, rows, columns) by its groups of axes; a result in row order is made
 * column-major by C^T = B^T A^T, so that the operands change places; no operand is transposed. */
#include "artifacts/base/ck.h"
#include "replay/import_xla.h"

typedef struct {
    uint64_t n, at[XLA_RANK];
} axes;

/* Array of axis numbers, which the configuration has as strings. */
static bool read_axes(js_node *dims, const char *key, axes *out)
{
    js_node *a = js_find(dims, key);
    *out = (axes){0};
    if (!a)
        return true;
    if (js_kind(a) != JS_ARRAY || js_len(a) > XLA_RANK)
        return false;
    for (size_t i = 0; i < js_len(a); i++) {
        const char *s = js_scalar_text(js_at(a, i));
        if (!s || s[0] < '0' || s[0] >= '0' + XLA_RANK || s[1])
            return false;
        out->at[out->n++] = (uint64_t)(s[0] - '0');
    }
    return true;
}

static bool in(const axes *a, uint64_t axis)
{
    for (uint64_t i = 0; i < a->n; i++)
        if (a->at[i] == axis)
            return true;
    return false;
}

static axes others(const xla_type *t, const axes *a, const axes *b)
{
    axes out = {0};
    for (uint64_t i = 0; i < t->rank; i++)
        if (!in(a, i) && !in(b, i))
            out.at[out.n++] = i;
    return out;
}

static axes from_to(uint64_t first, uint64_t n)
{
    axes out = {.n = n};
    for (uint64_t i = 0; i < n; i++)
        out.at[i] = first + i;
    return out;
}

static bool extent_of(const xla_type *t, const axes *a, uint64_t *out)
{
    *out = 1;
    for (uint64_t i = 0; i < a->n; i++)
        if (a->at[i] >= t->rank || !ck_mul_u64(*out, t->shape[a->at[i]], out))
            return false;
    return true;
}

/* The group at place `*i` of the axes from the fastest, which must lie there whole and in order. */
static bool group_at(const xla_type *t, const axes *g, uint64_t *i)
{
    for (uint64_t k = g->n; k > 0; k--)
        if (*i >= t->rank || t->minor_to_major[(*i)++] != g->at[k - 1])
            return false;
    return true;
}

/* A matrix of that type; false where the groups are not laid out one after the other, or the batch is the
 * fastest. */
static bool matrix_of(lt_matrix *out, const xla_type *t, const axes *batch, const axes *rows,
                      const axes *cols)
{
    const axes *const groups[] = {batch, rows, cols};
    uint64_t extent[3], order[3], n = 0, at = 0, size;
    if (!t->known || !rows->n || !cols->n || batch->n + rows->n + cols->n != t->rank)
        return false;
    for (int g = 0; g < 3; g++)
        if (!extent_of(t, groups[g], &extent[g]))
            return false;
    while (at < t->rank) {
        uint64_t axis = t->minor_to_major[at], g = in(batch, axis) ? 0 : in(rows, axis) ? 1 : 2;
        if (n == 3 || !group_at(t, groups[g], &at))
            return false;
        order[n++] = g;
    }
    if (!batch->n)
        order[n++] = 0; /* of extent 1, the slowest */
    if (order[0] == 0 || !ck_mul_u64(extent[1], extent[2], &size))
        return false;
    *out = (lt_matrix){.type = t->type,
                       .order = order[0] == 2 ? LTO_ROW : LTO_COL,
                       .rows = extent[1],
                       .cols = extent[2],
                       .batch = extent[0] > 1 ? extent[0] : 0};
    uint64_t minor = extent[order[0]];
    if (order[1] == 0) { /* the batch lies between rows and columns */
        out->stride = minor;
        if (!ck_mul_u64(extent[0], minor, &out->ld))
            return false;
    } else {
        out->stride = size;
        out->ld = minor;
    }
    if (!out->batch)
        out->stride = 0;
    return true;
}

static void transpose(lt_matrix *m)
{
    uint64_t rows = m->rows;
    m->rows = m->cols;
    m->cols = rows;
    m->order = m->order == LTO_ROW ? LTO_COL : LTO_ROW;
}

/* An operand without a batch serves every product of one. */
static void share(lt_matrix *m, uint64_t batch)
{
    if (!m->batch && batch) {
        m->batch = batch;
        m->stride = 0;
    }
}

/* A member that is left out is 0. */
static bool number_is(js_node *o, const char *key, const char *want)
{
    js_node *v = js_find(o, key);
    const char *s = v ? js_scalar_text(v) : "0";
    return s && !strcmp(s, want);
}

static const char *epilogue_of(js_node *gemm, lt_epilogue *out)
{
    static const struct {
        const char *name;
        lt_epilogue epilogue;
    } known[] = {{"DEFAULT", LTE_DEFAULT},     {"RELU", LTE_RELU}, {"BIAS", LTE_BIAS},
                 {"BIAS_RELU", LTE_RELU_BIAS}, {"GELU", LTE_GELU}, {"BIAS_GELU", LTE_GELU_BIAS}};
    js_node *v = js_find(gemm, "epilogue");
    const char *s = v ? js_scalar_text(v) : "DEFAULT";
    for (size_t i = 0; s && i < sizeof known / sizeof *known; i++)
        if (!strcmp(s, known[i].name)) {
            *out = known[i].epilogue;
            return NULL;
        }
    return "a library call with an auxiliary output, or another epilogue that a plan does not have";
}

/* F32 is multiplied as TF32 unless the highest precision was asked for. */
static const char *compute_of(js_node *gemm, const lt_call *c, lt_compute *out)
{
    js_node *p = js_find(gemm, "precision_config"), *algorithm = p ? js_find(p, "algorithm") : NULL,
            *list = p ? js_find(p, "operand_precision") : NULL;
    const char *word = algorithm ? js_scalar_text(algorithm) : NULL;
    bool highest = false;
    if (word && strcmp(word, "ALG_UNSET"))
        return "a library call with an algorithm for its precision";
    for (size_t i = 0; list && js_kind(list) == JS_ARRAY && i < js_len(list); i++) {
        const char *s = js_scalar_text(js_at(list, i));
        highest |= !s || !strcmp(s, "HIGHEST");
    }
    if (c->a.type != c->b.type || (c->d.type != c->a.type && c->d.type != DT_F32) ||
        (c->a.type != DT_F16 && c->a.type != DT_BF16 && c->a.type != DT_F32))
        return "types that a plan has no product of";
    *out = c->a.type == DT_F32 && !highest ? LTC_32F_FAST_TF32 : LTC_32F;
    return NULL;
}

static const char *bind_values(xla_call *out, const xla_module *m, const xla_instruction *i)
{
    xla_type unused;
    bool tuple = i->type.tuple, bias = lt_epilogue_has_bias(out->call.epilogue);
    size_t want = 2 + (size_t)out->call.beta_one + (size_t)bias;
    if (i->n_operands != want)
        return "a library call with another number of operands than its configuration asks for";
    out->a = xla_operand(m, i, 0, &out->ta);
    out->b = xla_operand(m, i, 1, &out->tb);
    out->c = out->call.beta_one ? xla_operand(m, i, 2, &out->tc) : NULL;
    out->bias = bias ? xla_operand(m, i, want - 1, &out->tbias) : NULL;
    out->d = xla_result(m, i, tuple ? 0 : -1, &out->td);
    out->td = i->type; /* of the array, or of the first element */
    out->td.tuple = false;
    out->workspace = tuple ? xla_result(m, i, 1, &unused) : NULL;
    if (!out->a || !out->b || !out->d || (out->call.beta_one && !out->c) || (bias && !out->bias))
        return "an operand of a library call that is no value of the buffer assignment";
    return tuple && !out->workspace ? "a library call without a place for its workspace" : NULL;
}

static const char *shapes(xla_call *out, js_node *dims)
{
    axes lb, lc, rb, rc;
    lt_call *k = &out->call;
    if (!read_axes(dims, "lhs_batch_dimensions", &lb) || !read_axes(dims, "rhs_batch_dimensions", &rb) ||
        !read_axes(dims, "lhs_contracting_dimensions", &lc) ||
        !read_axes(dims, "rhs_contracting_dimensions", &rc))
        return "a library call with axes that are not understood";
    axes lr = others(&out->ta, &lb, &lc), rn = others(&out->tb, &rb, &rc);
    uint64_t nb = lb.n > rb.n ? lb.n : rb.n;
    if (nb + lr.n + rn.n > XLA_RANK)
        return "a library call with more axes than are read";
    axes db = from_to(0, nb), dr = from_to(nb, lr.n), dc = from_to(nb + lr.n, rn.n);
    if (!matrix_of(&k->a, &out->ta, &lb, &lr, &lc) || !matrix_of(&k->b, &out->tb, &rb, &rc, &rn) ||
        !matrix_of(&k->d, &out->td, &db, &dr, &dc))
        return "an operand whose axes do not lie as a matrix";
    k->c = k->d;
    if (out->c && !matrix_of(&k->c, &out->tc, &db, &dr, &dc))
        return "an operand whose axes do not lie as a matrix";
    if (out->bias && (!out->tbias.known || out->tbias.rank != 1))
        return "a bias that is no vector";
    if (k->a.cols != k->b.rows || k->d.rows != k->a.rows || k->d.cols != k->b.cols)
        return "a library call whose extents do not fit each other";
    return NULL;
}

/* As XLA does before it makes the descriptors. */
static void make_column_major(xla_call *out)
{
    lt_call *k = &out->call;
    uint64_t batch = k->a.batch > k->b.batch ? k->a.batch : k->b.batch;
    share(&k->a, batch);
    share(&k->b, batch);
    if (k->d.order == LTO_COL)
        return;
    lt_matrix m = k->a;
    const xla_value *v = out->a;
    xla_type t = out->ta;
    k->a = k->b;
    k->b = m;
    out->a = out->b;
    out->b = v;
    out->ta = out->tb;
    out->tb = t;
    transpose(&k->a);
    transpose(&k->b);
    transpose(&k->c);
    transpose(&k->d);
}

const char *xla_call_of(xla_call *out, const xla_module *m, const xla_instruction *i)
{
    js_node *dims = i->gemm ? js_find(i->gemm, "dot_dimension_numbers") : NULL;
    const char *why;
    *out = (xla_call){.from = i, .call = {.scale = DT_F32}};
    if (strcmp(i->target, "__cublas$lt$matmul"))
        return "a library call with scales: FP8 is not imported";
    if (!dims || js_kind(dims) != JS_OBJECT)
        return "a library call without axes";
    if (!number_is(i->gemm, "alpha_real", "1") || !number_is(i->gemm, "alpha_imag", "0"))
        return "a library call whose alpha is not 1";
    if (!number_is(i->gemm, "beta", "0") && !number_is(i->gemm, "beta", "1"))
        return "a library call whose beta is neither 0 nor 1";
    if (number_is(i->gemm, "grad_x", "true") || number_is(i->gemm, "grad_y", "true") ||
        number_is(i->gemm, "damax_output", "true"))
        return "a library call with a gradient or a maximum as its output";
    out->call.beta_one = number_is(i->gemm, "beta", "1");
    if ((why = epilogue_of(i->gemm, &out->call.epilogue)) || (why = bind_values(out, m, i)) ||
        (why = shapes(out, dims)))
        return why;
    make_column_major(out);
    if ((why = compute_of(i->gemm, &out->call, &out->call.compute)))
        return why;
    out->call.m = out->call.d.rows;
    out->call.n = out->call.d.cols;
    out->call.k = out->call.a.cols;
    out->call.bias_type = out->bias ? out->tbias.type : out->call.d.type;
    out->call.workspace_bytes = out->workspace ? out->workspace->bytes : 0;
    return NULL;
}
