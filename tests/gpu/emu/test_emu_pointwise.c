/* tests/gpu/emu/corpus/pointwise.cu and half.cu against the same arithmetic in C. */
#include "tests/gpu/emu/emu_rig.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 1000, GRID = 4, BLOCK = 256 };
static const char folder[] = "tests/gpu/emu/corpus";

#define MODEL(name) static void name(void *const *p)
#define EACH for (int i = 0; i < N; i++)
#define F(k) ((float *)p[k])
#define D(k) ((double *)p[k])
#define I(k) ((int32_t *)p[k])
#define U(k) ((uint32_t *)p[k])
#define L(k) ((int64_t *)p[k])
#define UL(k) ((uint64_t *)p[k])

MODEL(add_f32)
{
    EACH F(2)[i] = F(0)[i] + F(1)[i];
}

MODEL(saxpy_f32)
{
    EACH F(2)[i] = fmaf(1.75f, F(1)[i], F(2)[i]);
}

MODEL(separate_f32)
{
    EACH
    {
        float a = F(0)[i] * F(1)[i], b = F(1)[i] * F(1)[i];
        F(2)[i] = a + b;
    }
}

/* Sums and products of the inputs here are exact in FP64. */
MODEL(directed_f32)
{
    EACH
    {
        double s = (double)F(0)[i] + (double)F(1)[i], m = (double)F(0)[i] * (double)F(1)[i];
        float near = (float)s, cut = (float)m;
        F(2)[4 * i] = (double)near < s ? nextafterf(near, INFINITY) : near;
        F(2)[4 * i + 1] = (double)near > s ? nextafterf(near, -INFINITY) : near;
        F(2)[4 * i + 2] = fabs((double)cut) > fabs(m) ? nextafterf(cut, 0) : cut;
        F(2)[4 * i + 3] = F(0)[i] / F(1)[i];
    }
}

MODEL(relu_f32)
{
    EACH F(1)[i] = F(0)[i] > 0 ? F(0)[i] : 0;
}

MODEL(clamp_i32)
{
    EACH I(1)[i] = I(0)[i] < -50 ? -50 : I(0)[i] > 70 ? 70 : I(0)[i];
}

MODEL(silu_f32)
{
    EACH F(1)[i] = (float)((double)F(0)[i] / (1 + exp(-(double)F(0)[i])));
}

MODEL(gelu_f32)
{
    EACH
    {
        double x = (double)F(0)[i];
        F(1)[i] = (float)(0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
    }
}

MODEL(exp_log_f32)
{
    EACH
    {
        F(1)[2 * i] = (float)exp((double)F(0)[i]);
        F(1)[2 * i + 1] = (float)log((double)(fabsf(F(0)[i]) + 0.5f));
    }
}

MODEL(sin_cos_f32)
{
    EACH
    {
        F(1)[2 * i] = (float)sin((double)F(0)[i]);
        F(1)[2 * i + 1] = (float)cos((double)F(0)[i]);
    }
}

MODEL(sqrt_f32)
{
    EACH F(1)[i] = sqrtf(F(0)[i]);
}

MODEL(rsqrt_f32)
{
    EACH F(1)[i] = (float)(1 / sqrt((double)F(0)[i]));
}

MODEL(div_sqrt_f64)
{
    EACH D(2)[i] = sqrt(D(0)[i] / D(1)[i]);
}

MODEL(fma_f64)
{
    EACH D(3)[i] = fma(0.3, D(1)[i], D(2)[i]);
}

static uint32_t reversed(uint32_t v)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k++)
        r |= (v >> k & 1) << (31 - k);
    return r;
}

MODEL(bits_u32)
{
    EACH
    {
        uint32_t a = U(0)[i], b = U(1)[i], *o = U(2) + 8 * i, s = b & 31;
        uint64_t both = (uint64_t)b << 32 | a;
        o[0] = (uint32_t)__builtin_popcount(a);
        o[1] = a ? (uint32_t)__builtin_clz(a) : 32;
        o[2] = reversed(a);
        o[3] = 0;
        for (int k = 0; k < 4; k++)
            o[3] |= (uint32_t)(both >> 8 * (0x5264 >> 4 * k & 7) & 0xff) << 8 * k;
        o[4] = s ? b << s | a >> (32 - s) : b;
        o[5] = (uint32_t)((uint64_t)a * b >> 32);
        o[6] = (uint32_t)__builtin_ffs((int)a);
        o[7] = (a >> s) ^ (uint32_t)((int32_t)a >> (b & 7));
    }
}

MODEL(divide_i64)
{
    EACH
    {
        L(2)[3 * i] = L(0)[i] / L(1)[i];
        L(2)[3 * i + 1] = L(0)[i] % L(1)[i];
        L(2)[3 * i + 2] = (int64_t)((__int128)L(0)[i] * L(1)[i] >> 64);
    }
}

MODEL(carry_u128)
{
    EACH
    {
        unsigned __int128 a = (unsigned __int128)UL(0)[i] << 64 | UL(1)[i],
                          b = (unsigned __int128)UL(1)[i] << 64 | UL(0)[i], s = a - (a >> 3);
        (void)__builtin_add_overflow(s, b, &s);
        UL(2)[2 * i] = (uint64_t)s;
        UL(2)[2 * i + 1] = (uint64_t)(s >> 64);
    }
}

MODEL(convert_f32)
{
    EACH
    {
        float x = F(0)[i], s = x < 0 ? 0 : x > 1 ? 1 : x;
        int32_t *o = I(1) + 6 * i, bits;
        memcpy(&bits, &x, sizeof bits);
        o[0] = (int32_t)x;
        o[1] = (int32_t)rintf(x);
        o[2] = (int32_t)ceilf(x);
        o[3] = (uint8_t)(uint32_t)(s * 255.0f);
        o[4] = (int16_t)floorf(x);
        o[5] = bits >> 23;
    }
}

MODEL(convert_f64)
{
    EACH
    {
        double x = D(0)[i];
        L(1)[2 * i] = (int64_t)rint(x);
        UL(1)[2 * i + 1] = x < 0 ? 0 : (uint64_t)x;
        F(2)[i] = (float)x;
    }
}

MODEL(narrow_i8)
{
    EACH
    {
        int8_t v = (int8_t)(I(0)[i] * 3);
        ((int8_t *)p[1])[i] = v;
        ((uint16_t *)p[2])[i] = (uint16_t)(v - 7);
    }
}

/* --- F16 and BF16: exact in FP64, rounded once. --- */

MODEL(half2_fma)
{
    for (uint64_t i = 0; i < 2 * N; i++)
        dtype_store(
            DT_F16, p[2], i,
            fma(dtype_load(DT_F16, p[0], i), dtype_load(DT_F16, p[1], i), dtype_load(DT_F16, p[2], i)));
}

MODEL(half_arith)
{
    for (uint64_t i = 0; i < N; i++) {
        double x = dtype_load(DT_F16, p[0], i), y = dtype_load(DT_F16, p[1], i);
        dtype_store(DT_F16, p[2], 3 * i, x + y);
        dtype_store(DT_F16, p[2], 3 * i + 1, x - y);
        dtype_store(DT_F16, p[2], 3 * i + 2, x * y);
    }
}

MODEL(half_compare)
{
    for (uint64_t i = 0; i < N; i++) {
        double x = dtype_load(DT_F16, p[0], i), y = dtype_load(DT_F16, p[1], i);
        dtype_store(DT_F16, p[2], i, x > y ? fmax(x, -y) : fmin(x, fabs(y)));
    }
}

MODEL(bf162_fma)
{
    for (uint64_t i = 0; i < 2 * N; i++)
        dtype_store(
            DT_BF16, p[2], i,
            fma(dtype_load(DT_BF16, p[0], i), dtype_load(DT_BF16, p[1], i), dtype_load(DT_BF16, p[2], i)));
}

MODEL(cast_half)
{
    for (uint64_t i = 0; i < N; i++) {
        dtype_store(DT_F16, p[1], i, (double)F(0)[i]);
        dtype_store(DT_BF16, p[2], i, (double)F(0)[i]);
    }
}

MODEL(widen_half)
{
    for (uint64_t i = 0; i < N; i++)
        F(2)[i] = (float)dtype_load(DT_F16, p[0], i) - (float)dtype_load(DT_BF16, p[1], i);
}

#define COUNT                                                                                                \
    {                                                                                                        \
        VALUE, DT_I32, 0, N, 0, UNIFORM                                                                      \
    }
#define CASE(module_, name, ...)                                                                             \
    {                                                                                                        \
        .module = module_, .entry = #name, .grid = {GRID, 1, 1}, .block = {BLOCK, 1, 1},                     \
        .args = {__VA_ARGS__}, .model = name                                                                 \
    }
#define NEAR(module_, name, ...)                                                                             \
    {                                                                                                        \
        .module = module_, .entry = #name, .grid = {GRID, 1, 1}, .block = {BLOCK, 1, 1},                     \
        .args = {__VA_ARGS__}, .model = name, .near = true                                                   \
    }
#define X(kind, type, n, lo, hi)                                                                             \
    {                                                                                                        \
        kind, type, n, lo, hi, UNIFORM                                                                       \
    }

static const rig_case cases[] = {
    CASE("pointwise", add_f32, X(IN, DT_F32, N, -4, 4), X(IN, DT_F32, N, -4, 4), X(OUT, DT_F32, N, 0, 0),
         COUNT),
    CASE("pointwise", saxpy_f32, X(VALUE, DT_F32, 0, 1.75, 0), X(IN, DT_F32, N, -4, 4),
         X(BOTH, DT_F32, N, -4, 4), COUNT),
    CASE("pointwise", separate_f32, X(IN, DT_F32, N, -4, 4), X(IN, DT_F32, N, -4, 4), X(OUT, DT_F32, N, 0, 0),
         COUNT),
    CASE("pointwise", directed_f32, X(IN, DT_F32, N, -4, 4), X(IN, DT_F32, N, 1, 4),
         X(OUT, DT_F32, 4 * N, 0, 0), COUNT),
    CASE("pointwise", relu_f32, X(IN, DT_F32, N, -4, 4), X(OUT, DT_F32, N, 0, 0), COUNT),
    CASE("pointwise", clamp_i32, X(IN, DT_I32, N, -200, 200), X(OUT, DT_I32, N, 0, 0),
         X(VALUE, DT_I32, 0, -50, 0), X(VALUE, DT_I32, 0, 70, 0), COUNT),
    NEAR("pointwise", silu_f32, X(IN, DT_F32, N, -20, 20), X(OUT, DT_F32, N, 0, 0), COUNT),
    NEAR("pointwise", gelu_f32, X(IN, DT_F32, N, -6, 6), X(OUT, DT_F32, N, 0, 0), COUNT),
    NEAR("pointwise", exp_log_f32, X(IN, DT_F32, N, -20, 20), X(OUT, DT_F32, 2 * N, 0, 0), COUNT),
    NEAR("pointwise", sin_cos_f32, X(IN, DT_F32, N, -1e6, 1e6), X(OUT, DT_F32, 2 * N, 0, 0), COUNT),
    CASE("pointwise", sqrt_f32, X(IN, DT_F32, N, 0, 100), X(OUT, DT_F32, N, 0, 0), COUNT),
    NEAR("pointwise", rsqrt_f32, X(IN, DT_F32, N, 0.001, 100), X(OUT, DT_F32, N, 0, 0), COUNT),
    CASE("pointwise", div_sqrt_f64, X(IN, DT_F64, N, 0, 10), X(IN, DT_F64, N, 0.1, 3),
         X(OUT, DT_F64, N, 0, 0), COUNT),
    CASE("pointwise", fma_f64, X(VALUE, DT_F64, 0, 0.3, 0), X(IN, DT_F64, N, -1, 1), X(IN, DT_F64, N, -1, 1),
         X(OUT, DT_F64, N, 0, 0), COUNT),
    CASE("pointwise", bits_u32, X(IN, DT_U32, N, 0, -1), X(IN, DT_U32, N, 0, -1), X(OUT, DT_U32, 8 * N, 0, 0),
         COUNT),
    CASE("pointwise", divide_i64, X(IN, DT_I64, N, 0, -1), X(IN, DT_I64, N, 3, 1e12),
         X(OUT, DT_I64, 3 * N, 0, 0), COUNT),
    CASE("pointwise", carry_u128, X(IN, DT_U64, N, 0, -1), X(IN, DT_U64, N, 0, -1),
         X(OUT, DT_U64, 2 * N, 0, 0), COUNT),
    CASE("pointwise", convert_f32, X(IN, DT_F32, N, -300, 300), X(OUT, DT_I32, 6 * N, 0, 0), COUNT),
    CASE("pointwise", convert_f64, X(IN, DT_F64, N, -1e9, 1e9), X(OUT, DT_I64, 2 * N, 0, 0),
         X(OUT, DT_F32, N, 0, 0), COUNT),
    CASE("pointwise", narrow_i8, X(IN, DT_I32, N, -200, 200), X(OUT, DT_I8, N, 0, 0), X(OUT, DT_U16, N, 0, 0),
         COUNT),
    CASE("half", half2_fma, X(IN, DT_F16, 2 * N, -4, 4), X(IN, DT_F16, 2 * N, -4, 4),
         X(BOTH, DT_F16, 2 * N, -9, 9), COUNT),
    CASE("half", half_arith, X(IN, DT_F16, N, -4, 4), X(IN, DT_F16, N, -4, 4), X(OUT, DT_F16, 3 * N, 0, 0),
         COUNT),
    CASE("half", half_compare, X(IN, DT_F16, N, -4, 4), X(IN, DT_F16, N, -4, 4), X(OUT, DT_F16, N, 0, 0),
         COUNT),
    CASE("half", bf162_fma, X(IN, DT_BF16, 2 * N, -4, 4), X(IN, DT_BF16, 2 * N, -4, 4),
         X(BOTH, DT_BF16, 2 * N, -9, 9), COUNT),
    CASE("half", cast_half, X(IN, DT_F32, N, -70000, 70000), X(OUT, DT_F16, N, 0, 0),
         X(OUT, DT_BF16, N, 0, 0), COUNT),
    CASE("half", widen_half, X(IN, DT_F16, N, -4, 4), X(IN, DT_BF16, N, -4, 4), X(OUT, DT_F32, N, 0, 0),
         COUNT),
};

Test(emu_corpus, pointwise)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rig_check(folder, &cases[i]);
}
