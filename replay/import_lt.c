#include "replay/import_lt.h"
#include "artifacts/base/ck.h"
#include <stdio.h>

static const lt_matrix *matrix_of(const lt_call *c, int which)
{
    const lt_matrix *m[] = {&c->a, &c->b, &c->c, &c->d};
    return m[which];
}

static uint64_t major_of(const lt_matrix *m)
{
    return m->order == LTO_ROW ? m->rows : m->cols;
}

static uint64_t minor_of(const lt_matrix *m)
{
    return m->order == LTO_ROW ? m->cols : m->rows;
}

static bool dense(const lt_matrix *m)
{
    uint64_t one;
    return m->ld == minor_of(m) && (!m->batch || (ck_mul_u64(m->ld, major_of(m), &one) && one == m->stride));
}

dtype import_lt_type(const lt_call *c, int which)
{
    return which <= LT_D ? matrix_of(c, which)->type : which == LT_BIAS ? c->bias_type : DT_F32;
}

const char *import_lt_obstacle(const lt_call *c)
{
    const lt_matrix *m[] = {&c->a, &c->b, &c->c, &c->d};
    const uint64_t rows[] = {c->trans_a ? c->k : c->m, c->trans_b ? c->n : c->k, c->m, c->m};
    const uint64_t cols[] = {c->trans_a ? c->m : c->k, c->trans_b ? c->k : c->n, c->n, c->n};
    if (!c->m || !c->n || !c->k)
        return "an empty product";
    for (int i = LT_A; i <= LT_D; i++) {
        uint64_t elements;
        if (m[i]->rows != rows[i] || m[i]->cols != cols[i] || m[i]->batch != c->d.batch)
            return "rows, columns and batches that do not fit each other";
        if (!lt_reach(m[i], &elements) || elements > 1ULL << 28)
            return "an operand of more than 2^28 elements: no fixture holds it";
    }
    if (c->d.batch && !dense(&c->d) && (minor_of(&c->d) > c->d.ld || c->d.stride < c->d.ld * major_of(&c->d)))
        return "matrices of d that interleave";
    return NULL;
}

import_shape import_lt_shape(const lt_call *c, int which)
{
    if (which >= LT_BIAS)
        return (import_shape){1, {which == LT_BIAS ? c->m : 1}};
    const lt_matrix *m = matrix_of(c, which);
    if (dense(m) && m->batch)
        return (import_shape){3, {m->batch, major_of(m), minor_of(m)}};
    if (dense(m))
        return (import_shape){2, {major_of(m), minor_of(m)}};
    uint64_t elements = 0;
    (void)lt_reach(m, &elements);
    return (import_shape){1, {elements}};
}

static void put_layout(jw *j, const import_shape *s, const char *kind, const uint64_t *strides)
{
    jw_obj(j, "layout");
    jw_u64s(j, "shape", s->n, s->rank);
    jw_arr(j, "spellings");
    jw_obj(j, NULL);
    jw_str(j, "kind", kind);
    if (strides)
        jw_u64s(j, "strides", strides, s->rank);
    jw_end(j);
    jw_end(j);
    jw_end(j);
}

void import_lt_buffer(jw *j, const import_call *c, int which, bool writable)
{
    import_shape s = import_lt_shape(c->call, which);
    jw_obj(j, NULL);
    jw_str(j, "id", c->id[which]);
    jw_str(j, "label", c->id[which]);
    jw_str(j, "owner", "caller");
    jw_str(j, "freed_by", "caller");
    jw_str(j, "access", writable ? "rw" : "ro");
    jw_str(j, "dtype", dtype_names[import_lt_type(c->call, which)]);
    put_layout(j, &s, "right_major", NULL);
    jw_end(j);
}

/* [batch,] first, second, and where an element lies: `rows_first` says which of the two extents comes first.
 */
static import_shape matrix_view(const lt_matrix *m, bool rows_first, uint64_t strides[3])
{
    import_shape s = {0};
    if (m->batch) {
        s.n[s.rank] = m->batch;
        strides[s.rank++] = m->stride;
    }
    bool major_first = rows_first == (m->order == LTO_ROW);
    s.n[s.rank] = rows_first ? m->rows : m->cols;
    strides[s.rank++] = major_first ? m->ld : 1;
    s.n[s.rank] = rows_first ? m->cols : m->rows;
    strides[s.rank++] = major_first ? 1 : m->ld;
    return s;
}

void import_lt_slot(jw *j, const char *key, const char *port, const import_call *c, int which,
                    const char *tie)
{
    jw_obj(j, key);
    jw_str(j, "port", port);
    jw_str(j, "buffer", c->id[which]);
    if (which >= LT_BIAS) {
        import_shape s = import_lt_shape(c->call, which);
        put_layout(j, &s, "right_major", NULL);
    } else {
        uint64_t strides[3];
        import_shape s = matrix_view(matrix_of(c->call, which), true, strides);
        put_layout(j, &s, "strided", strides);
    }
    if (tie)
        jw_str(j, "tie", tie);
    jw_end(j);
}

void import_lt_output(jw *j, const import_call *c)
{
    const lt_matrix *d = &c->call->d;
    uint64_t strides[3];
    import_shape s = matrix_view(d, d->order == LTO_ROW, strides);
    jw_obj(j, NULL);
    jw_str(j, "value", c->result);
    jw_str(j, "buffer", c->id[LT_D]);
    put_layout(j, &s, dense(d) ? "right_major" : "strided", dense(d) ? NULL : strides);
    jw_end(j);
}

void import_lt_record(jw *j, const import_call *c, uint64_t node, const char *trace)
{
    const lt_call *k = c->call;
    bool bound = !trace;
    jw_obj(j, NULL);
    jw_u64(j, "node", node);
    for (int i = LT_A; i <= LT_D; i++)
        lt_matrix_write(j, lt_operand_names[i], bound ? c->id[i] : NULL, matrix_of(k, i));
    jw_bool(j, "trans_a", k->trans_a);
    jw_bool(j, "trans_b", k->trans_b);
    jw_str(j, "compute", lt_compute_names[k->compute]);
    jw_str(j, "scale", dtype_names[k->scale]);
    jw_str(j, "epilogue", lt_epilogue_names[k->epilogue]);
    lt_bias_type_write(j, k);
    if (bound) {
        jw_str(j, "bias", c->id[LT_BIAS]);
        for (int i = LT_SCALE_A; i <= LT_SCALE_B; i++)
            if (c->id[i])
                jw_str(j, lt_operand_names[i], c->id[i]);
        jw_u64(j, "alpha", 1);
        jw_u64(j, "beta", k->beta_one);
    }
    jw_u64(j, "workspace_bytes", k->workspace_bytes);
    if (trace && *trace)
        jw_str(j, "trace", trace);
    jw_end(j);
}

/* Exact at every step: an F16 accumulator holds integers to 2,048, that of FP8 products to 2^13 and more, the
 * others to 2^24. */
static int64_t largest(const lt_call *c, int which)
{
    if (which >= LT_SCALE_A)
        return 3;
    return c->compute <= LTC_16F_PEDANTIC ? 1 : dtype_bytes(c->a.type) == 1 ? 2 : 5;
}

void import_lt_tensor(jw *j, const import_call *c, int which, bool values)
{
    import_shape s = import_lt_shape(c->call, which);
    jw_obj(j, NULL);
    jw_str(j, "name", c->id[which]);
    jw_str(j, "dtype", dtype_names[import_lt_type(c->call, which)]);
    jw_u64s(j, "shape", s.n, s.rank);
    if (values) {
        jw_str(j, "generator", "uniform");
        jw_i64(j, "low", which >= LT_SCALE_A ? 1 : -largest(c->call, which));
        jw_i64(j, "high", largest(c->call, which));
        jw_i64(j, "shift", 0);
    }
    jw_end(j);
}

/* --- The reference program: D with its major extent first. --- */

/* Arithmetic comes in `steps`, the last of which carries the result's name and is rounded to D's type. */
typedef struct {
    jw *j;
    const import_call *c;
    char last[80]; /* the value so far */
    unsigned views, done, steps;
} program;

static void begin(program *p, const char *op, const char *id)
{
    jw_obj(p->j, NULL);
    jw_str(p->j, "id", id);
    jw_str(p->j, "op", op);
}

/* A step over `a`, and over b where it is not NULL. Left open. */
static void begin_step(program *p, const char *op, const char *a, const char *b)
{
    char id[80];
    p->done++;
    if (p->done < p->steps)
        snprintf(id, sizeof id, "%.60s.%u", p->c->result, p->done);
    else
        snprintf(id, sizeof id, "%.60s", p->c->result);
    begin(p, op, id);
    jw_str(p->j, "a", a);
    if (b)
        jw_str(p->j, "b", b);
    snprintf(p->last, sizeof p->last, "%s", id);
}

static void end_step(program *p)
{
    dtype d = p->c->call->d.type;
    if (p->done == p->steps) {
        jw_str(p->j, "round", dtype_names[d]);
        if (d == DT_F8_E4M3 || d == DT_F8_E5M2)
            jw_bool(p->j, "saturate", true);
    }
    jw_end(p->j);
}

static void step(program *p, const char *op, const char *with)
{
    char before[80];
    snprintf(before, sizeof before, "%s", p->last);
    begin_step(p, op, before, with);
    end_step(p);
}

static void view(program *p, char name[80], const char *of, const import_shape *s, const uint64_t *strides)
{
    snprintf(name, 80, "%.60s.view%u", p->c->result, p->views++);
    begin(p, "view", name);
    jw_str(p->j, "a", of);
    jw_u64(p->j, "offset", 0);
    jw_u64s(p->j, "shape", s->n, s->rank);
    jw_u64s(p->j, "strides", strides, s->rank);
    jw_end(p->j);
}

/* The operand as [batch, major, minor]: itself, or a view of the row that its buffer is. */
static void operand(program *p, int which, bool rows_first, char name[80])
{
    const lt_matrix *m = matrix_of(p->c->call, which);
    uint64_t strides[3];
    import_shape s = matrix_view(m, rows_first, strides);
    snprintf(name, 80, "%s", p->c->id[which]);
    if (!dense(m) || rows_first != (m->order == LTO_ROW))
        view(p, name, p->c->id[which], &s, strides);
}

/* In memory lies op(X) or its transpose, by order and operation. D row by row is op(A) op(B); column by
 * column it is the transpose of that. */
static void product(program *p)
{
    const lt_call *k = p->c->call;
    char a[80], b[80];
    bool turned_a = (k->a.order == LTO_COL) != k->trans_a, turned_b = (k->b.order == LTO_COL) != k->trans_b;
    bool row = k->d.order == LTO_ROW;
    operand(p, LT_A, k->a.order == LTO_ROW, a);
    operand(p, LT_B, k->b.order == LTO_ROW, b);
    begin_step(p, "matmul", row ? a : b, row ? b : a);
    jw_bool(p->j, "transpose_a", row ? turned_a : !turned_b);
    jw_bool(p->j, "transpose_b", row ? turned_b : !turned_a);
    end_step(p);
}

/* Element i of the bias goes to row i of D, which lies along its minor extent in column order. */
static void add_bias(program *p)
{
    const lt_call *k = p->c->call;
    const import_shape s = {2, {k->m, 1}};
    const uint64_t strides[] = {1, 1};
    char bias[80];
    snprintf(bias, sizeof bias, "%s", p->c->id[LT_BIAS]);
    if (k->d.order == LTO_ROW)
        view(p, bias, p->c->id[LT_BIAS], &s, strides);
    step(p, "add", bias);
}

void import_lt_program(jw *j, const import_call *c)
{
    const lt_call *k = c->call;
    bool bias = lt_epilogue_has_bias(k->epilogue);
    const char *then = k->epilogue == LTE_RELU || k->epilogue == LTE_RELU_BIAS   ? "relu"
                       : k->epilogue == LTE_GELU || k->epilogue == LTE_GELU_BIAS ? "gelu"
                                                                                 : NULL;
    program p = {.j = j, .c = c};
    p.steps = 1u + !!c->id[LT_SCALE_A] + !!c->id[LT_SCALE_B] + k->beta_one + bias + !!then;
    product(&p);
    for (int i = LT_SCALE_A; i <= LT_SCALE_B; i++)
        if (c->id[i])
            step(&p, "mul", c->id[i]);
    if (k->beta_one) {
        char added[80];
        operand(&p, LT_C, k->d.order == LTO_ROW, added);
        step(&p, "add", added);
    }
    if (bias)
        add_bias(&p);
    if (then)
        step(&p, then, NULL);
}

bool import_lt_exact(const lt_call *c)
{
    return c->epilogue != LTE_GELU && c->epilogue != LTE_GELU_BIAS;
}

void import_lt_tolerance(jw *j, const import_call *c)
{
    jw_obj(j, NULL);
    jw_str(j, "output", c->result);
    if (import_lt_exact(c->call)) {
        jw_u64(j, "atol", 0);
        jw_u64(j, "rtol", 0);
    } else {
        /* The library's GELU is within 5.2e-6 of the tanh form (docs/fixtures.md); then one rounding, of
         * which the neighbour is allowed. */
        dtype d = c->call->d.type;
        jw_f64(j, "atol", 0x1p-16);
        jw_f64(j, "rtol",
               d == DT_F8_E5M2   ? 0x1p-2
               : d == DT_F8_E4M3 ? 0x1p-3
               : d == DT_BF16    ? 0x1p-7
               : d == DT_F16     ? 0x1p-10
                                 : 0x1p-16);
    }
    jw_end(j);
}
