/* Orders, extents, leading dimensions, batches and promised alignment. */
#include "plan/lt_tests.h"

static bool words(lt_seen *s, const char *operand, const char *found, const char *wanted)
{
    *s = (lt_seen){.operand = operand, .found_word = found, .wanted_word = wanted};
    return true;
}

static bool numbers(lt_seen *s, const char *operand, uint64_t found, uint64_t wanted)
{
    *s = (lt_seen){.operand = operand, .found = found, .wanted = wanted};
    return true;
}

bool lt_test_order_tiled(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++)
        if (lt_of(f, i)->order > LTO_ROW)
            return words(s, lt_mat_names[i], lt_order_names[lt_of(f, i)->order], "col or row");
    return false;
}

bool lt_test_order_cd(const lt_facts *f, lt_seen *s)
{
    lt_order c = lt_of(f, LTM_C)->order, d = lt_of(f, LTM_D)->order;
    return c != d && words(s, "c", lt_order_names[c], lt_order_names[d]);
}

bool lt_test_batch_zero(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++)
        if (!lt_of(f, i)->batch)
            return numbers(s, lt_mat_names[i], 0, 1);
    return false;
}

bool lt_test_batch_count(const lt_facts *f, lt_seen *s)
{
    uint64_t d = lt_of(f, LTM_D)->batch;
    for (int i = 0; i < LTM_D; i++)
        if (lt_of(f, i)->batch != d)
            return numbers(s, lt_mat_names[i], lt_of(f, i)->batch, d);
    return false;
}

/* Rows or columns that are not the call's m, n, k. */
static bool dims(const lt_facts *f, lt_seen *s, int which, uint64_t rows, uint64_t cols)
{
    const lt_operand *m = lt_of(f, which);
    if (m->rows != rows)
        return numbers(s, lt_mat_names[which], m->rows, rows);
    return m->cols != cols && numbers(s, lt_mat_names[which], m->cols, cols);
}

bool lt_test_dims_a(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return q->op[0] ? dims(f, s, LTM_A, q->k, q->m) : dims(f, s, LTM_A, q->m, q->k);
}

bool lt_test_dims_b(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return q->op[1] ? dims(f, s, LTM_B, q->n, q->k) : dims(f, s, LTM_B, q->k, q->n);
}

bool lt_test_dims_d(const lt_facts *f, lt_seen *s)
{
    return dims(f, s, LTM_D, f->q->m, f->q->n) || dims(f, s, LTM_C, f->q->m, f->q->n);
}

static bool ld_short(const lt_facts *f, lt_seen *s, int which)
{
    const lt_operand *m = lt_of(f, which);
    return (m->ld_negative || m->ld < lt_minor(m)) && numbers(s, lt_mat_names[which], m->ld, lt_minor(m));
}

/* The library forgives the leading dimension of A when m is 1 and of B when n is 1, whatever the order. */
bool lt_test_ld_a(const lt_facts *f, lt_seen *s)
{
    return f->q->m != 1 && ld_short(f, s, LTM_A);
}

bool lt_test_ld_b(const lt_facts *f, lt_seen *s)
{
    return f->q->n != 1 && ld_short(f, s, LTM_B);
}

bool lt_test_ld_c(const lt_facts *f, lt_seen *s)
{
    return !f->q->c_null && f->q->m != 1 && ld_short(f, s, LTM_C);
}

bool lt_test_ld_d(const lt_facts *f, lt_seen *s)
{
    const lt_operand *d = lt_of(f, LTM_D);
    uint64_t least = lt_minor(d) ? lt_minor(d) : 1;
    return !(d->order == LTO_COL && f->q->m == 1) && d->ld < least && numbers(s, "d", d->ld, least);
}

bool lt_test_bias_row(const lt_facts *f, lt_seen *s)
{
    return lt_epilogue_has_bias(f->q->epilogue) && lt_of(f, LTM_D)->order == LTO_ROW &&
           words(s, "d", "row", "col");
}

bool lt_test_align(const lt_facts *f, lt_seen *s)
{
    uint64_t need = dtype_bytes(lt_of(f, LTM_A)->type);
    return f->promise_min < need && numbers(s, "a", f->promise_min, need);
}

bool lt_test_align_empty(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    uint64_t need = dtype_bytes(lt_of(f, LTM_D)->type);
    return (!q->m || !q->n || !q->k) && f->promise_min < need && numbers(s, "d", f->promise_min, need);
}
