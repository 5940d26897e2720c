/* The library call of the emulator against a plain loop, over orders, transposes, types, batches, scales,
 * epilogues and thread counts. */
#include "gpu/emu/matmul.h"
#include <criterion/criterion.h>
#include <math.h>
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
    return (lt_matrix){
        .type = t, .order = o, .rows = rows, .cols = cols, .ld = (o == LTO_ROW ? cols : rows) + pad};
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

static double operand(const lt_matrix *x, const uint8_t *p, uint64_t batch, uint64_t r, uint64_t c)
{
    return dtype_load(x->type, p, batch * x->stride + place(x, r, c));
}

static bool is_fp8(dtype t)
{
    return t == DT_F8_E4M3 || t == DT_F8_E5M2;
}

/* What goes on behind the sum, in FP32 or in FP64. */
#define BEHIND(type, v, tanh_of, half, root, cube)                                                           \
    do {                                                                                                     \
        if (c->beta_one)                                                                                     \
            (v) += (type)operand(&c->c, before, batch, r, j);                                                \
        if (lt_epilogue_has_bias(c->epilogue))                                                               \
            (v) += (type)dtype_load(c->bias_type, m->bias, r);                                               \
        if ((c->epilogue == LTE_RELU || c->epilogue == LTE_RELU_BIAS) && (v) < 0)                            \
            (v) = 0;                                                                                         \
        if (c->epilogue == LTE_GELU || c->epilogue == LTE_GELU_BIAS)                                         \
            (v) = (half) * (v) * (1 + tanh_of((root) * ((v) + (cube) * (v) * (v) * (v))));                   \
    } while (0)

/* One element as matmul.h says, its bits. */
static uint64_t expected(const lt_call *c, const matmul_operands *m, const uint8_t *before, uint64_t batch,
                         uint64_t r, uint64_t j)
{
    uint64_t bits = 0;
    float acc = 0;
    double acc64 = 0;
    int64_t whole = 0;
    for (uint64_t i = 0; i < c->k; i++) {
        double x = operand(&c->a, m->a, batch, c->trans_a ? i : r, c->trans_a ? r : i);
        double y = operand(&c->b, m->b, batch, c->trans_b ? j : i, c->trans_b ? i : j);
        float p = (float)x * (float)y;
        acc += p;
        acc64 += x * y;
        whole += (int64_t)x * (int64_t)y;
    }
    if (c->d.type == DT_I32) {
        whole += c->beta_one ? (int64_t)operand(&c->c, before, batch, r, j) : 0;
        if (c->epilogue == LTE_RELU && whole < 0)
            whole = 0;
        return (uint32_t)whole;
    }
    if (c->d.type == DT_F64) {
        BEHIND(double, acc64, tanh, 0.5, 0.79788456080286535588, 0.044715);
        memcpy(&bits, &acc64, sizeof acc64);
        return bits;
    }
    if (c->a.type == DT_I8)
        acc = (float)(int32_t)whole;
    float both = 1;
    if (c->a.scaled)
        both = (float)dtype_load(DT_F32, m->scale_a, 0);
    if (c->b.scaled)
        both *= (float)dtype_load(DT_F32, m->scale_b, 0);
    acc *= both;
    BEHIND(float, acc, tanhf, 0.5f, 0.797884561f, 0.044715f);
    double v = (double)acc;
    if (is_fp8(c->d.type) && fabs(v) > (c->d.type == DT_F8_E4M3 ? 448 : 57344))
        v = copysign(c->d.type == DT_F8_E4M3 ? 448 : 57344, v);
    dtype_store(c->d.type, &bits, 0, v);
    return bits;
}

static void check(const lt_call *c, unsigned threads)
{
    static const float scales[] = {0.375f, 1.5f};
    rp_err e = {0};
    uint64_t n;
    lt_matrix bias = shape(c->bias_type, LTO_COL, c->m, 1, 0);
    bool in_place = !memcmp(&c->c, &c->d, sizeof c->d);
    uint8_t *a = filled(&c->a, 1), *b = filled(&c->b, 2), *d = filled(&c->d, 3), *before = filled(&c->c, 3),
            *after = filled(&c->d, 3), *v = filled(&bias, 4);
    cr_assert(lt_reach(&c->d, &n));
    matmul_operands m = {.a = a,
                         .b = b,
                         .c = in_place ? d : before,
                         .bias = v,
                         .d = d,
                         .scale_a = (const uint8_t *)&scales[0],
                         .scale_b = (const uint8_t *)&scales[1]};
    cr_assert_eq(matmul_run(&e, c, &m, threads), RP_OK, "%s", e.msg);
    for (uint64_t batch = 0; batch < (c->d.batch ? c->d.batch : 1); batch++)
        for (uint64_t r = 0; r < c->m; r++)
            for (uint64_t j = 0; j < c->n; j++) {
                uint64_t want = expected(c, &m, before, batch, r, j), have = 0, size = dtype_bytes(c->d.type),
                         to = (batch * c->d.stride + place(&c->d, r, j)) * size;
                memcpy(&have, d + to, size);
                cr_assert_eq(have, want, "matrix %d, row %d, column %d: %llx, expected %llx", (int)batch,
                             (int)r, (int)j, (unsigned long long)have, (unsigned long long)want);
                memcpy(after + to, &have, size);
            }
    /* What lies between the rows, and between the matrices, stays. */
    cr_assert_arr_eq(d, after, n * dtype_bytes(c->d.type));
    free(a), free(b), free(d), free(before), free(after), free(v);
}

/* Sizes, orders and transposes by the bits of a number. */
static lt_call spelled(const uint64_t size[3], unsigned bits, dtype ab, dtype cd)
{
    lt_call c = {.m = size[0],
                 .n = size[1],
                 .k = size[2],
                 .trans_a = bits & 1,
                 .trans_b = bits >> 1 & 1,
                 .compute = LTC_32F,
                 .scale = DT_F32,
                 .bias_type = cd};
    c.a = shape(ab, bits >> 2 & 1 ? LTO_ROW : LTO_COL, c.trans_a ? c.k : c.m, c.trans_a ? c.m : c.k,
                bits & PAD);
    c.b = shape(ab, bits >> 3 & 1 ? LTO_ROW : LTO_COL, c.trans_b ? c.n : c.k, c.trans_b ? c.k : c.n,
                bits >> 1 & PAD);
    c.c = c.d = shape(cd, bits >> 4 & 1 ? LTO_ROW : LTO_COL, c.m, c.n, bits >> 2 & PAD);
    c.beta_one = bits >> 5 & 1;
    return c;
}

static void repeat(lt_matrix *x, uint64_t batch, uint64_t gap, bool same)
{
    uint64_t one;
    cr_assert(lt_reach(x, &one));
    x->batch = batch;
    x->stride = same ? 0 : one + gap;
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
                lt_call c = spelled(sizes[s], bits, types[t][0], types[t][1]);
                c.epilogue = (lt_epilogue)((bits + t) % (LTE_GELU_BIAS + 1));
                check(&c, 1 + bits % 3);
            }
}

/* C by a descriptor and a buffer of its own. */
Test(emu_matmul, batches)
{
    static const uint64_t size[] = {7, 19, 11};
    static const dtype types[][2] = {{DT_F16, DT_F32}, {DT_BF16, DT_BF16}, {DT_F64, DT_F64}, {DT_I8, DT_I32}};
    for (unsigned bits = 0; bits < 64; bits++)
        for (size_t t = 0; t < 4; t++) {
            lt_call c = spelled(size, bits, types[t][0], types[t][1]);
            c.c.order = bits & 2 ? LTO_ROW : LTO_COL;
            c.c.ld = 23;
            repeat(&c.a, 3, bits & 5, bits & 1);
            repeat(&c.b, 3, bits & 3, bits & 8);
            repeat(&c.c, 3, bits & 7, bits & 4);
            repeat(&c.d, 3, bits & 6, false);
            check(&c, 1 + bits % 3);
        }
}

/* The heads of one sequence: matrices that lie between each other's lines. */
Test(emu_matmul, interleaved_batches)
{
    static const uint64_t size[] = {5, 6, 8};
    lt_call c = spelled(size, 0, DT_F16, DT_F16);
    c.a.ld = 3 * c.a.rows;
    c.d.ld = c.c.ld = 3 * c.d.rows;
    c.a.batch = c.b.batch = c.c.batch = c.d.batch = 3;
    c.a.stride = c.a.rows;
    c.b.stride = c.b.rows * c.b.cols;
    c.c.stride = c.d.stride = c.d.rows;
    check(&c, 2);
    c.beta_one = true;
    check(&c, 2);
}

Test(emu_matmul, fp8)
{
    static const uint64_t size[] = {16, 21, 32};
    static const dtype out[] = {DT_F32, DT_BF16, DT_F16, DT_F8_E4M3, DT_F8_E5M2};
    for (unsigned bits = 0; bits < 64; bits++)
        for (size_t t = 0; t < 5; t++) {
            lt_call c = spelled(size, bits, DT_F8_E4M3, out[t]);
            c.b.type = bits & 2 ? DT_F8_E5M2 : DT_F8_E4M3;
            c.c.type = is_fp8(out[t]) ? DT_BF16 : out[t];
            c.bias_type = is_fp8(out[t]) || bits & 1 ? DT_BF16 : out[t];
            c.epilogue = (lt_epilogue)((bits + t) % (LTE_GELU_BIAS + 1));
            c.a.scaled = bits & 4;
            c.b.scaled = bits & 8;
            check(&c, 1 + bits % 2);
        }
}

/* Beyond its largest finite value, FP8 saturates; a NaN stays one. */
Test(emu_matmul, fp8_saturates)
{
    static const struct {
        dtype d;
        float scale;
        double want;
    } cases[] = {{DT_F8_E4M3, 1e6f, 448},       {DT_F8_E5M2, 1e6f, 57344}, {DT_F8_E4M3, -INFINITY, -448},
                 {DT_F8_E5M2, INFINITY, 57344}, {DT_F8_E4M3, NAN, NAN},    {DT_F8_E5M2, NAN, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        uint8_t one, d = 0;
        lt_call c = spelled((const uint64_t[]){1, 1, 1}, 0, DT_F8_E4M3, cases[i].d);
        dtype_store(DT_F8_E4M3, &one, 0, 1);
        c.a.scaled = true;
        matmul_operands m = {.a = &one, .b = &one, .d = &d, .scale_a = (const uint8_t *)&cases[i].scale};
        cr_assert_eq(matmul_run(&e, &c, &m, 1), RP_OK, "%s", e.msg);
        double have = dtype_load(cases[i].d, &d, 0);
        cr_expect(isnan(cases[i].want) ? isnan(have) : have == cases[i].want, "case %zu: %g", i, have);
    }
}

Test(emu_matmul, i8)
{
    static const uint64_t size[] = {9, 20, 35};
    for (unsigned bits = 0; bits < 64; bits++) {
        lt_call c = spelled(size, bits, DT_I8, DT_I32);
        c.compute = LTC_32I;
        c.scale = DT_I32;
        c.epilogue = bits & 1 ? LTE_RELU : LTE_DEFAULT;
        check(&c, 1 + bits % 3);
        c.scale = DT_F32;
        c.c.type = c.d.type = DT_I8;
        c.bias_type = DT_F32;
        c.epilogue = (lt_epilogue)(bits % (LTE_GELU_BIAS + 1));
        check(&c, 1 + bits % 3);
    }
}

/* An accumulator of 32 bits goes around. */
Test(emu_matmul, i8_wraps)
{
    enum { K = 140000 };
    rp_err e = {0};
    int32_t d = 5;
    uint8_t *a = malloc(K);
    memset(a, 0x80, K);
    lt_call c = spelled((const uint64_t[]){1, 1, K}, 32, DT_I8, DT_I32);
    matmul_operands m = {.a = a, .b = a, .c = (uint8_t *)&d, .d = (uint8_t *)&d};
    cr_assert_eq(matmul_run(&e, &c, &m, 1), RP_OK, "%s", e.msg);
    cr_expect_eq(d, (int32_t)(uint32_t)(16384LL * K + 5), "%d", d);
    free(a);
}

Test(emu_matmul, f64_epilogues)
{
    static const uint64_t size[] = {6, 18, 13};
    for (unsigned bits = 0; bits < 64; bits++) {
        lt_call c = spelled(size, bits, DT_F64, DT_F64);
        c.compute = LTC_64F;
        c.scale = DT_F64;
        c.epilogue = (lt_epilogue)(bits % (LTE_GELU_BIAS + 1));
        check(&c, 1 + bits % 3);
    }
}

Test(emu_matmul, refused)
{
    lt_call c = spelled((const uint64_t[]){4, 4, 4}, 0, DT_F16, DT_F16);
    cr_expect_null(matmul_refused(&c));
    c.compute = LTC_32F_FAST_TF32;
    cr_expect_null(matmul_refused(&c));
    c.compute = LTC_16F;
    cr_expect(matmul_refused(&c) && strstr(matmul_refused(&c), "16 bits"));
    c.compute = LTC_16F_PEDANTIC;
    cr_expect_not_null(matmul_refused(&c));
    c = spelled((const uint64_t[]){4, 4, 4}, 0, DT_I8, DT_I32);
    c.compute = LTC_32I;
    cr_expect_null(matmul_refused(&c));
    c.epilogue = LTE_BIAS;
    cr_expect_not_null(matmul_refused(&c));
}

Test(emu_matmul, f64)
{
    lt_call c = {.m = 9, .n = 7, .k = 5, .trans_b = true};
    rp_err e = {0};
    c.a = shape(DT_F64, LTO_ROW, 9, 5, 0);
    c.b = shape(DT_F64, LTO_ROW, 7, 5, 1);
    c.c = c.d = shape(DT_F64, LTO_COL, 9, 7, 0);
    double *a = filled(&c.a, 1), *b = filled(&c.b, 2), *d = filled(&c.d, 3);
    matmul_operands m = {.a = (uint8_t *)a, .b = (uint8_t *)b, .c = (uint8_t *)d, .d = (uint8_t *)d};
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
