/* tests/gpu/emu/corpus/reduce.cu, memory.cu, control.cu and atomics.cu against models in C. */
#include "tests/gpu/emu/emu_rig.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, W = 1024, ROWS = 9, COLS = 333 };
static const char folder[] = "tests/gpu/emu/corpus";

#define MODEL(name) static void name(void *const *p)
#define F(k) ((float *)p[k])
#define D(k) ((double *)p[k])
#define I(k) ((int32_t *)p[k])
#define U(k) ((uint32_t *)p[k])
#define L(k) ((int64_t *)p[k])
#define UL(k) ((uint64_t *)p[k])

/* The tree that the kernels' loops make: s[t] += s[t + k] for k = n/2, n/4, … */
static float tree_f32(float *s, int n)
{
    for (int k = n / 2; k; k /= 2)
        for (int t = 0; t < k; t++)
            s[t] += s[t + k];
    return s[0];
}

MODEL(block_sum_f32)
{
    for (int b = 0; b < 4; b++) {
        float s[256];
        for (int t = 0; t < 256; t++)
            s[t] = 256 * b + t < N ? F(0)[256 * b + t] : 0;
        F(1)[b] = tree_f32(s, 256);
    }
}

MODEL(warp_sum_i32)
{
    for (int w = 0; w < W / 32; w++) {
        I(1)[w] = 0;
        for (int l = 0; l < 32; l++)
            I(1)[w] += I(0)[32 * w + l];
    }
}

MODEL(warp_max_f32)
{
    for (int i = 0; i < W; i++) {
        float m = -INFINITY;
        for (int l = 0; l < 32; l++)
            m = fmaxf(m, F(0)[i / 32 * 32 + l]);
        F(1)[i] = m;
    }
}

MODEL(warp_scan_i32)
{
    for (int w = 0; w < W; w += 32) {
        int sum = 0, run = 0;
        for (int l = 0; l < 32; l++)
            sum += I(0)[w + l];
        for (int l = 0; l < 32; l++)
            I(1)[w + l] = (run += I(0)[w + l]) + sum;
    }
}

MODEL(ballot_i32)
{
    for (int w = 0; w < W; w += 32) {
        int any = 0, all = 1, odd = 0;
        for (int l = 0; l < 32; l++) {
            any |= I(0)[w + l] == 7;
            all &= I(0)[w + l] < 1000;
        }
        for (int l = 0; l < 32; l++) {
            I(1)[w + l] = odd + 100 * any + 1000 * all;
            odd += I(0)[w + l] & 1;
        }
    }
}

MODEL(redux_u32)
{
    for (int w = 0; w < W; w += 32) {
        uint32_t a = 0, m = 0, x = 0;
        for (int l = 0; l < 32; l++) {
            (void)__builtin_add_overflow(a, U(0)[w + l], &a);
            m = U(0)[w + l] > m ? U(0)[w + l] : m;
            x ^= U(0)[w + l];
        }
        for (int l = 0; l < 32; l++)
            U(1)[w + l] = a ^ m ^ x;
    }
}

MODEL(softmax_f32)
{
    for (int r = 0; r < ROWS; r++) {
        const float *x = F(0) + r * COLS;
        double m = -INFINITY, sum = 0;
        for (int k = 0; k < COLS; k++)
            m = fmax(m, (double)x[k]);
        for (int k = 0; k < COLS; k++)
            sum += exp((double)x[k] - m);
        for (int k = 0; k < COLS; k++)
            F(1)[r * COLS + k] = (float)(exp((double)x[k] - m) / sum);
    }
}

MODEL(layer_norm_f32)
{
    for (int r = 0; r < ROWS; r++) {
        const float *x = F(0) + r * COLS;
        double sum = 0, sq = 0;
        for (int k = 0; k < COLS; k++)
            sum += (double)x[k];
        for (int k = 0; k < COLS; k++)
            sq += ((double)x[k] - sum / COLS) * ((double)x[k] - sum / COLS);
        for (int k = 0; k < COLS; k++)
            F(2)
        [r * COLS + k] = (float)(((double)x[k] - sum / COLS) / sqrt(sq / COLS + 1e-5) * (double)F(1)[k]);
    }
}

MODEL(dot_f64)
{
    for (int b = 0; b < 3; b++) {
        double s[64];
        for (int t = 0; t < 64; t++) {
            s[t] = 0;
            for (int i = 64 * b + t; i < N; i += 64 * 3)
                s[t] = fma(D(0)[i], D(1)[i], s[t]);
        }
        for (int k = 32; k; k /= 2)
            for (int t = 0; t < k; t++)
                s[t] += s[t + k];
        D(2)[b] = s[0];
    }
}

MODEL(argmax_f32)
{
    for (int r = 0; r < ROWS; r++) {
        int at = 0;
        for (int k = 1; k < COLS; k++)
            if (F(0)[r * COLS + k] > F(0)[r * COLS + at])
                at = k;
        I(1)[r] = at;
    }
}

MODEL(scan_block_i64)
{
    for (int b = 0; b < W; b += 128) {
        uint64_t run = 0;
        for (int t = 0; t < 128; t++) {
            (void)__builtin_add_overflow(run, UL(0)[b + t], &run);
            UL(1)[b + t] = run;
        }
    }
}

/* --- memory.cu --- */

enum { TR = 50, TC = 75 };

MODEL(transpose_f32)
{
    for (int r = 0; r < TR; r++)
        for (int c = 0; c < TC; c++)
            F(1)[c * TR + r] = F(0)[r * TC + c];
}

MODEL(gather_f32)
{
    for (int i = 0; i < N; i++)
        F(2)[i] = F(0)[L(1)[i]];
}

MODEL(scatter_u8)
{
    for (int i = 0; i < N; i++)
        ((uint8_t *)p[2])[I(1)[i]] = (uint8_t)(((uint8_t *)p[0])[i] + 1);
}

MODEL(copy_v4)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            F(1)[4 * i + k] = F(0)[4 * i + 3 - k];
}

MODEL(copy_v2_u16)
{
    const uint16_t *x = p[0];
    uint16_t *o = p[1];
    for (int i = 0; i < N; i++) {
        o[4 * i] = x[2 * i];
        o[4 * i + 1] = x[2 * i + 1];
        o[4 * i + 2] = (uint16_t)(x[2 * i + 1] + 1);
        o[4 * i + 3] = (uint16_t)(x[2 * i] - 1);
    }
}

MODEL(strided_i64)
{
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 100; c++)
            F(1)[r * 100 + c] = F(0)[r * 128 + c] * 2;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

MODEL(local_sort_i32)
{
    for (int i = 0; i < N; i++) {
        int32_t v[8];
        memcpy(v, I(0) + 8 * i, sizeof v);
        qsort(v, 8, sizeof *v, ascending);
        for (int k = 0; k < 8; k++)
            I(1)[8 * i + k] = v[(k + i) & 7];
    }
}

MODEL(const_table_i32)
{
    static const int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
    for (int i = 0; i < N; i++)
        I(1)[i] = table[I(0)[i] & 15] * 10 + table[i & 15];
}

MODEL(device_global_u32)
{
    for (int i = 0; i < N; i++)
        U(1)[i] = 10 * ((U(0)[i] & 3) + 1) + U(0)[i];
}

MODEL(dynamic_shared_i32)
{
    for (int b = 0; b < 10; b++)
        for (int t = 0; t < 96; t++)
            I(1)[b * 96 + t] = I(0)[b * 96 + 95 - t];
}

MODEL(generic_i32)
{
    for (int b = 0; b < W; b += 64)
        for (int t = 0; t < 64; t++)
            I(1)[b + t] = I(0)[b + 63 - t] * (t & 1 ? 2 : 1) + 5;
}

MODEL(ldg_u8)
{
    const uint8_t *x = p[0];
    for (int i = 0; i < N; i++)
        I(1)[i] = x[i] - (int8_t)x[N - 1 - i];
}

/* --- control.cu --- */

MODEL(collatz_i32)
{
    for (int i = 0; i < N; i++) {
        I(1)[i] = 0;
        for (int64_t v = I(0)[i]; v > 1; v = v & 1 ? 3 * v + 1 : v / 2)
            I(1)[i]++;
    }
}

MODEL(switch_i32)
{
    for (int i = 0; i < N; i++) {
        int v = I(0)[i];
        int all[8] = {v * 3, v - 11, v ^ 0x55, v / 7, -v, v * 8, v % 13, ~v};
        I(1)[i] = all[v & 7];
    }
}

MODEL(gcd_u32)
{
    for (int i = 0; i < N; i++) {
        uint32_t a = U(0)[i], b = U(1)[i];
        while (b) {
            uint32_t t = a % b;
            a = b;
            b = t;
        }
        U(2)[i] = a;
    }
}

MODEL(mandel_f32)
{
    for (int py = 0; py < 40; py++)
        for (int px = 0; px < 60; px++) {
            float cr = 3.0f * (float)px / 60.0f + -2.0f, ci = 2.0f * (float)py / 40.0f + -1.0f, a = 0, b = 0;
            int k = 0;
            for (; k < 50 && a * a + b * b <= 4.0f; k++) {
                float t = (a * a + -(b * b)) + cr;
                b = 2.0f * a * b + ci;
                a = t;
            }
            I(0)[py * 60 + px] = k;
        }
}

static int helper(int a, int b)
{
    int s = 0;
    for (int k = a; k < b; k++) {
        if (k % 3 == 0)
            continue;
        if (s > 500)
            break;
        s += k;
    }
    return s;
}

MODEL(call_i32)
{
    for (int i = 0; i < N; i++) {
        int x = I(0)[i];
        I(1)[i] = helper(x & 31, (x >> 5) & 127) - (x & 1 ? helper(i & 15, 40) : 0);
    }
}

MODEL(nested_i32)
{
    for (int i = 0; i < N; i++) {
        int v = I(0)[i], r = 0;
        for (int a = 0; a < (v & 7); a++)
            if (a & 1) {
                for (int b = 0; b < a + (v & 3); b++)
                    r += b & 1 ? a : -b;
            } else if (v & 8) {
                r ^= a << 4;
            }
        I(1)[i] = r;
    }
}

MODEL(binary_search_i32)
{
    for (int i = 0; i < N; i++) {
        int k = 0;
        while (k < 500 && I(0)[k] < I(1)[i])
            k++;
        I(2)[i] = k;
    }
}

/* --- atomics.cu --- */

MODEL(hist_i32)
{
    for (int i = 0; i < N; i++)
        I(1)[I(0)[i] & 31]++;
}

MODEL(min_max_u64)
{
    for (int i = 0; i < N; i++) {
        UL(1)[0] = UL(0)[i] < UL(1)[0] ? UL(0)[i] : UL(1)[0];
        UL(1)[1] = UL(0)[i] > UL(1)[1] ? UL(0)[i] : UL(1)[1];
    }
}

MODEL(cas_max_f32)
{
    for (int i = 0; i < N; i++)
        F(1)[0] = fmaxf(F(1)[0], F(0)[i]);
}

/* Whole numbers: no order of the sums rounds. */
MODEL(add_f32_atomic)
{
    for (int i = 0; i < N; i++)
        F(1)[i & 3] += F(0)[i];
}

MODEL(bits_u32_atomic)
{
    for (int i = 0; i < N; i++) {
        U(1)[0] |= U(0)[i] & 0xff;
        U(1)[1] &= U(0)[i] | 0xff00;
        U(1)[2] ^= U(0)[i];
    }
}

MODEL(last_block_i32)
{
    I(3)[0] = 0;
    for (int b = 0; b < 20; b++) {
        I(1)[b] = 0;
        for (int t = 0; t < 32; t++)
            I(1)[b] += I(0)[32 * b + t];
        I(3)[0] += I(1)[b];
    }
    U(2)[0] = 0;
}

#define COUNT                                                                                                \
    {                                                                                                        \
        VALUE, DT_I32, 0, N, 0, UNIFORM                                                                      \
    }
#define V32(v)                                                                                               \
    {                                                                                                        \
        VALUE, DT_I32, 0, v, 0, UNIFORM                                                                      \
    }
#define V64(v)                                                                                               \
    {                                                                                                        \
        VALUE, DT_I64, 0, v, 0, UNIFORM                                                                      \
    }
#define X(kind, type, n, lo, hi)                                                                             \
    {                                                                                                        \
        kind, type, n, lo, hi, UNIFORM                                                                       \
    }
#define CASE(module_, name, gx, gy, bx, by, ...)                                                             \
    {                                                                                                        \
        .module = module_, .entry = #name, .grid = {gx, gy, 1}, .block = {bx, by, 1}, .args = {__VA_ARGS__}, \
        .model = name                                                                                        \
    }
#define NEAR(module_, name, gx, bx, ...)                                                                     \
    {                                                                                                        \
        .module = module_, .entry = #name, .grid = {gx, 1, 1}, .block = {bx, 1, 1}, .args = {__VA_ARGS__},   \
        .model = name, .near = true                                                                          \
    }

static const rig_case cases[] = {
    CASE("reduce", block_sum_f32, 4, 1, 256, 1, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, 4, 0, 0), COUNT),
    CASE("reduce", warp_sum_i32, 8, 1, 128, 1, X(IN, DT_I32, W, -1000, 1000), X(OUT, DT_I32, W / 32, 0, 0)),
    CASE("reduce", warp_max_f32, 8, 1, 128, 1, X(IN, DT_F32, W, -1, 1), X(OUT, DT_F32, W, 0, 0)),
    CASE("reduce", warp_scan_i32, 8, 1, 128, 1, X(IN, DT_I32, W, -1000, 1000), X(OUT, DT_I32, W, 0, 0)),
    CASE("reduce", ballot_i32, 8, 1, 128, 1, X(IN, DT_I32, W, 0, 1010), X(OUT, DT_I32, W, 0, 0)),
    CASE("reduce", redux_u32, 8, 1, 128, 1, X(IN, DT_U32, W, 0, -1), X(OUT, DT_U32, W, 0, 0)),
    NEAR("reduce", softmax_f32, ROWS, 128, X(IN, DT_F32, ROWS *COLS, -5, 5), X(OUT, DT_F32, ROWS *COLS, 0, 0),
         V32(COLS)),
    NEAR("reduce", layer_norm_f32, ROWS, 128, X(IN, DT_F32, ROWS *COLS, -5, 5), X(IN, DT_F32, COLS, 0.5, 2),
         X(OUT, DT_F32, ROWS *COLS, 0, 0), V32(COLS)),
    CASE("reduce", dot_f64, 3, 1, 64, 1, X(IN, DT_F64, N, -1, 1), X(IN, DT_F64, N, -1, 1),
         X(OUT, DT_F64, 3, 0, 0), COUNT),
    CASE("reduce", argmax_f32, ROWS, 1, 32, 1, X(IN, DT_F32, ROWS *COLS, -5, 5), X(OUT, DT_I32, ROWS, 0, 0),
         V32(COLS)),
    CASE("reduce", scan_block_i64, 8, 1, 128, 1, X(IN, DT_I64, W, 0, -1), X(OUT, DT_I64, W, 0, 0)),
    CASE("memory", transpose_f32, 3, 2, 32, 8, X(IN, DT_F32, TR *TC, -1, 1), X(OUT, DT_F32, TR *TC, 0, 0),
         V32(TR), V32(TC)),
    CASE("memory", gather_f32, 4, 1, 256, 1, X(IN, DT_F32, N, -1, 1), {IN, DT_I64, N, 0, 0, PERMUTED},
         X(OUT, DT_F32, N, 0, 0), V64(N)),
    CASE("memory", scatter_u8, 4, 1, 256, 1, X(IN, DT_U8, N, 0, 255), {IN, DT_I32, N, 0, 0, PERMUTED},
         X(OUT, DT_U8, N, 0, 0), COUNT),
    CASE("memory", copy_v4, 4, 1, 256, 1, X(IN, DT_F32, 4 * N, -1, 1), X(OUT, DT_F32, 4 * N, 0, 0), COUNT),
    CASE("memory", copy_v2_u16, 4, 1, 256, 1, X(IN, DT_U16, 2 * N, 0, -1), X(OUT, DT_U16, 4 * N, 0, 0),
         COUNT),
    CASE("memory", strided_i64, 2, 3, 32, 1, X(IN, DT_F32, 7 * 128, -1, 1), X(OUT, DT_F32, 700, 0, 0), V64(7),
         V64(100), V64(128)),
    CASE("memory", local_sort_i32, 4, 1, 256, 1, X(IN, DT_I32, 8 * N, -1000, 1000),
         X(OUT, DT_I32, 8 * N, 0, 0), COUNT),
    CASE("memory", const_table_i32, 4, 1, 256, 1, X(IN, DT_I32, N, 0, 100), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("memory", device_global_u32, 4, 1, 256, 1, X(IN, DT_U32, N, 0, 100), X(OUT, DT_U32, N, 0, 0), COUNT),
    {.module = "memory",
     .entry = "dynamic_shared_i32",
     .grid = {10, 1, 1},
     .block = {96, 1, 1},
     .model = dynamic_shared_i32,
     .shared_bytes = 384,
     .args = {X(IN, DT_I32, 960, 0, -1), X(OUT, DT_I32, 960, 0, 0), V32(96)}},
    CASE("memory", generic_i32, W / 64, 1, 64, 1, X(IN, DT_I32, W, -9000, 9000), X(OUT, DT_I32, W, 0, 0),
         V32(5)),
    CASE("memory", ldg_u8, 4, 1, 256, 1, X(IN, DT_U8, N, 0, -1), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("control", collatz_i32, 4, 1, 256, 1, X(IN, DT_I32, N, 1, 10000), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("control", switch_i32, 4, 1, 256, 1, X(IN, DT_I32, N, -1000, 1000), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("control", gcd_u32, 4, 1, 256, 1, X(IN, DT_U32, N, 0, -1), X(IN, DT_U32, N, 0, 5000),
         X(OUT, DT_U32, N, 0, 0), COUNT),
    CASE("control", mandel_f32, 4, 5, 16, 8, X(OUT, DT_I32, 60 * 40, 0, 0), V32(60), V32(40)),
    CASE("control", call_i32, 4, 1, 256, 1, X(IN, DT_I32, N, 0, 4095), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("control", nested_i32, 4, 1, 256, 1, X(IN, DT_I32, N, 0, 4095), X(OUT, DT_I32, N, 0, 0), COUNT),
    CASE("control", binary_search_i32, 4, 1, 256, 1, {IN, DT_I32, 500, 0, 0, SORTED},
         X(IN, DT_I32, N, -10, 1600), X(OUT, DT_I32, N, 0, 0), V32(500), COUNT),
    CASE("atomics", hist_i32, 4, 1, 256, 1, X(IN, DT_I32, N, 0, 100), X(BOTH, DT_I32, 32, 0, 5), COUNT),
    {.module = "atomics",
     .entry = "hist_shared_i32",
     .grid = {4, 1, 1},
     .block = {256, 1, 1},
     .model = hist_i32,
     .args = {X(IN, DT_I32, N, 0, 100), X(BOTH, DT_I32, 32, 0, 5), COUNT}},
    CASE("atomics", min_max_u64, 4, 1, 256, 1, X(IN, DT_U64, N, 0, -1), X(BOTH, DT_U64, 2, 1e15, 2e15),
         COUNT),
    CASE("atomics", cas_max_f32, 4, 1, 256, 1, X(IN, DT_F32, N, 0, 9), X(BOTH, DT_F32, 1, 0, 1), COUNT),
    CASE("atomics", add_f32_atomic, 4, 1, 256, 1, {IN, DT_F32, N, 0, 0, SORTED}, X(BOTH, DT_F32, 4, 0, 0),
         COUNT),
    CASE("atomics", bits_u32_atomic, 4, 1, 256, 1, X(IN, DT_U32, N, 0, -1), X(BOTH, DT_U32, 3, 0, -1), COUNT),
    CASE("atomics", last_block_i32, 20, 1, 32, 1, X(IN, DT_I32, 640, -1000, 1000), X(OUT, DT_I32, 20, 0, 0),
         X(BOTH, DT_U32, 1, 0, 0), X(OUT, DT_I32, 1, 0, 0)),
};

Test(emu_corpus, threads, .timeout = 120)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rig_check(folder, &cases[i]);
}
