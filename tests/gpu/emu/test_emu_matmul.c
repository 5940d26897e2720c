/* The library call of the emulator against a plain loop, over orders, transposes, types, epilogues and thread
 * counts. */
#include "gpu/emu/matmul.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_M = 37, MAX_N = 41, MAX_K = 29, PAD = 3 };

static double value(uint64_t i, unsigned salt)
{
    return ((double)((i * 7919 + salt * 104729) % 2001) - 1000) / 128;
}

static uint64_t place(const lt_matrix *m, uint64_t r, uint64_t c)
{
    return m->order == LTO_ROW ? r * m->ld + c : c * m->ld + r;
}

static lt_matrix shape(dtype t, lt_order o, uint64_t rows, uint64_t cols, uint64_t pad)
{
    return (lt_matrix){t, o, rows, cols, (o == LTO_ROW ? cols : rows) + pad};
}

static void *filled(const lt_matrix *m, unsigned salt)
{
    uint64_t n;
    cr_assert(lt_reach(m, &n));
    void *p = calloc(n, dtype_bytes(m->type));
    for (uint64_t i = 0; i < n; i++)
        dtype_store(m->type, p, i, value(i, salt));
    return p;
}

/* One element as matmul.h says. */
static float expected(const lt_call *c, const matmul_operands *m, const uint8_t *before, uint64_t r,
                      uint64_t j)
{
    float acc = 0;
    for (uint64_t i = 0; i < c->k; i++) {
        float x = (float)dtype_load(c->a.type, m->a, c->trans_a ? place(&c->a, i, r) : place(&c->a, r, i));
        float y = (float)dtype_load(c->b.type, m->b, c->trans_b ? place(&c->b, j, i) : place(&c->b, i, j));
        float p = x * y;
        acc += p;
    }
    if (c->beta_one)
        acc += (float)dtype_load(c->c.type, before, place(&c->c, r, j));
    if (lt_epilogue_has_bias(c->epilogue))
        acc += (float)dtype_load(c->d.type, m->bias, r);
    if ((c->epilogue == LTE_RELU || c->epilogue == LTE_RELU_BIAS) && acc < 0)
        acc = 0;
    return acc;
}

static void check(const lt_call *c, unsigned threads)
{
    rp_err e = {0};
    uint64_t n;
    lt_matrix bias = {c->d.type, LTO_COL, c->m, 1, c->m};
    uint8_t *a = filled(&c->a, 1), *b = filled(&c->b, 2), *d = filled(&c->d, 3), *before = filled(&c->d, 3),
            *v = filled(&bias, 4);
    cr_assert(lt_reach(&c->d, &n));
    matmul_operands m = {a, b, d, v, d};
    cr_assert_eq(matmul_run(&e, c, &m, threads), RP_OK, "%s", e.msg);
    for (uint64_t r = 0; r < c->m; r++)
        for (uint64_t j = 0; j < c->n; j++) {
            uint64_t want = 0, have = 0, size = dtype_bytes(c->d.type);
            dtype_store(c->d.type, &want, 0, (double)expected(c, &m, before, r, j));
            memcpy(&have, d + place(&c->d, r, j) * size, size);
            cr_assert_eq(have, want, "row %llu, column %llu", (unsigned long long)r, (unsigned long long)j);
            memcpy(before + place(&c->d, r, j) * size, &have, size);
        }
    /* What lies between the rows stays. */
    cr_assert_arr_eq(d, before, n * dtype_bytes(c->d.type));
    free(a), free(b), free(d), free(before), free(v);
}

Test(emu_matmul, every_spelling)
{
    static const uint64_t sizes[][3] = {
        {1, 1, 1}, {4, 16, 8}, {MAX_M, MAX_N, MAX_K}, {33, 5, 2}, {3, 40, 17}};
    static const dtype types[][2] = {
        {DT_F32, DT_F32}, {DT_F16, DT_F32}, {DT_F16, DT_F16}, {DT_BF16, DT_BF16}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned bits = 0; bits < 64; bits++)
            for (size_t t = 0; t < 4; t++) {
                lt_call c = {.m = sizes[s][0],
                             .n = sizes[s][1],
                             .k = sizes[s][2],
                             .trans_a = bits & 1,
                             .trans_b = bits >> 1 & 1};
                c.a = shape(types[t][0], bits >> 2 & 1 ? LTO_ROW : LTO_COL, c.trans_a ? c.k : c.m,
                            c.trans_a ? c.m : c.k, bits & PAD);
                c.b = shape(types[t][0], bits >> 3 & 1 ? LTO_ROW : LTO_COL, c.trans_b ? c.n : c.k,
                            c.trans_b ? c.k : c.n, bits >> 1 & PAD);
                c.c = c.d = shape(types[t][1], bits >> 4 & 1 ? LTO_ROW : LTO_COL, c.m, c.n, bits >> 2 & PAD);
                c.epilogue = (lt_epilogue)((bits + t) % LTE_COUNT);
                c.beta_one = bits >> 5 & 1;
                check(&c, 1 + bits % 3);
            }
}

Test(emu_matmul, f64)
{
    lt_call c = {.m = 9, .n = 7, .k = 5, .trans_b = true};
    rp_err e = {0};
    c.a = shape(DT_F64, LTO_ROW, 9, 5, 0);
    c.b = shape(DT_F64, LTO_ROW, 7, 5, 1);
    c.c = c.d = shape(DT_F64, LTO_COL, 9, 7, 0);
    double *a = filled(&c.a, 1), *b = filled(&c.b, 2), *d = filled(&c.d, 3);
    matmul_operands m = {(uint8_t *)a, (uint8_t *)b, (uint8_t *)d, NULL, (uint8_t *)d};
    cr_assert_eq(matmul_run(&e, &c, &m, 2), RP_OK, "%s", e.msg);
    for (int r = 0; r < 9; r++)
        for (int j = 0; j < 7; j++) {
            double acc = 0;
            for (int i = 0; i < 5; i++)
                acc += a[r * 5 + i] * b[j * 6 + i];
            cr_assert_eq(d[j * 9 + r], acc);
        }
    free(a), free(b), free(d);
}
