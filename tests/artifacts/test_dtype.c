#include "artifacts/base/dtype.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* An independent model: values by ldexp from the fields, rounding by looking for the two neighbours. */
static double f16_value(unsigned h)
{
    double fraction = h & 0x3ff;
    int exponent = (int)(h >> 10 & 0x1f);
    double v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h & 0x8000 ? -v : v;
}

static unsigned f16_model(double v)
{
    unsigned sign = signbit(v) ? 0x8000 : 0, low = 0, high = 0x7bff;
    v = fabs(v);
    if (v >= 65520)
        return sign | 0x7c00;
    if (v >= 65504)
        return sign | 0x7bff;
    while (high - low > 1) {
        unsigned mid = (low + high) / 2;
        if (f16_value(mid) <= v)
            low = mid;
        else
            high = mid;
    }
    double half = (f16_value(low) + f16_value(high)) / 2; /* exact in FP64 */
    return sign | (v < half || (v == half && low % 2 == 0) ? low : high);
}

static double from_bits(uint64_t b)
{
    double v;
    memcpy(&v, &b, sizeof v);
    return v;
}

static uint64_t to_bits(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

WRAPS static uint64_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s ^ *s >> 29;
}

Test(dtype, every_16_bit_value_comes_back)
{
    for (unsigned h = 0; h < 0x10000; h++) {
        double v = f16_to_f64((uint16_t)h), w = bf16_to_f64((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00, bnan = (h & 0x7fff) > 0x7f80;
        cr_assert_eq(f16_from_f64(v), nan ? h | 0x200 : h, "f16 %04x", h);
        cr_assert_eq(bf16_from_f64(w), bnan ? h | 0x40 : h, "bf16 %04x", h);
        cr_assert_eq(isnan(v) != 0, nan);
        if (!nan && (h & 0x7fff) < 0x7c00)
            cr_assert_eq(to_bits(v), to_bits(f16_value(h)), "f16 %04x", h);
        uint32_t b = h << 16;
        float f;
        memcpy(&f, &b, sizeof f);
        if (!bnan)
            cr_assert_eq(to_bits(w), to_bits((double)f), "bf16 %04x", h);
    }
    cr_assert(isinf(f16_to_f64(0x7c00)) && f16_to_f64(0xfc00) < 0);
}

Test(dtype, all_f32_ties_and_their_neighbours)
{
    for (unsigned h = 0; h < 0x7c00; h++) {
        /* Above the largest finite value the tie is with what would be next, 65536. */
        double next = h == 0x7bff ? 65536 : f16_value(h + 1), tie = (f16_value(h) + next) / 2;
        cr_assert_eq((double)(float)tie, tie);
        float below = nextafterf((float)tie, 0), above = nextafterf((float)tie, INFINITY);
        unsigned even = h % 2 ? h + 1 : h;
        cr_assert_eq(f16_from_f64(tie), even, "tie after %04x", h);
        cr_assert_eq(f16_from_f64(-tie), even | 0x8000);
        cr_assert_eq(f16_from_f64((double)below), h);
        cr_assert_eq(f16_from_f64((double)above), h + 1);
        cr_assert_eq(f16_from_f64(nextafter(tie, 0)), h, "one FP64 step below the tie after %04x", h);
        cr_assert_eq(f16_from_f64(nextafter(tie, INFINITY)), h + 1);
    }
}

Test(dtype, f16_agrees_with_the_model)
{
    uint64_t s = 7;
    for (int i = 0; i < 400000; i++) {
        /* Exponents a little beyond both ends of F16. */
        uint64_t r = next_random(&s), exponent = 1023 - 30 + next_random(&s) % 50;
        double v =
            from_bits((r >> 63) << 63 | exponent << 52 | (r & 0xfffffffffffff) >> (i % 53) << (i % 53));
        cr_assert_eq(f16_from_f64(v), f16_model(v), "%a", v);
    }
    const double edges[] = {0,         -0.0,     65504,       65519.999,   65520,     65536,
                            1e300,     INFINITY, -INFINITY,   0x1p-24,     0x1p-25,   0x1.8p-25,
                            0x1.8p-24, 0x1p-14,  0x1.ffcp-15, 0x1.ffep-15, 5e-324,    -5e-324,
                            0x1p-26,   1e-300,   0x1.002p0,   0x1.006p0,   -0x1.002p0};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        cr_assert_eq(f16_from_f64(edges[i]), f16_model(edges[i]), "%a", edges[i]);
}

Test(dtype, once_not_twice)
{
    /* By way of F32 this lands on a tie first, and then on even. */
    double v = 1 + 0x1p-11 + 0x1p-40;
    cr_assert_eq(f16_from_f64(v), 0x3c01);
    cr_assert_eq(f16_from_f64((double)(float)v), 0x3c00);
}

Test(dtype, nan_is_quiet_and_keeps_sign_and_payload)
{
    cr_assert_eq(f16_from_f64(from_bits(0x7ff0000000000001)), 0x7e00); /* signalling, payload lost */
    cr_assert_eq(f16_from_f64(from_bits(0xfff8000000000000)), 0xfe00);
    cr_assert_eq(f16_from_f64(from_bits(0x7ff8040000000000)), 0x7e01);
    cr_assert_eq(bf16_from_f64(from_bits(0x7ff0000000000001)), 0x7fc0);
    cr_assert_eq(f32_bits_from_f64(from_bits(0x7ff0000000000001)), 0x7fc00000);
}

Test(dtype, f32_is_the_processors)
{
    uint64_t s = 11;
    for (int i = 0; i < 400000; i++) {
        uint64_t r = next_random(&s), exponent = 1023 - 160 + next_random(&s) % 300;
        double v =
            from_bits((r >> 63) << 63 | exponent << 52 | (r & 0xfffffffffffff) >> (i % 53) << (i % 53));
        float f = (float)v;
        uint32_t b;
        memcpy(&b, &f, sizeof b);
        cr_assert_eq(f32_bits_from_f64(v), b, "%a", v);
        cr_assert_eq(bf16_from_f64((double)f), bf16_from_f64(dtype_round(DT_F32, v)));
    }
    /* BF16 straight from FP64, not by way of F32. */
    cr_assert_eq(bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    cr_assert_eq(bf16_from_f64(1 + 0x1p-8), 0x3f80);
    cr_assert_eq(bf16_from_f64(0x1.ffp127), 0x7f80);
    cr_assert_eq(bf16_from_f64(0x1.fefffp127), 0x7f7f);
}

Test(dtype, from_scaled_agrees_with_ldexp)
{
    uint64_t s = 13;
    for (int i = 0; i < 200000; i++) {
        int64_t v = (int64_t)next_random(&s) >> (11 + i % 52);
        int e = (int)(next_random(&s) % 90) - 60;
        double d = ldexp((double)v, e); /* exact */
        if (v < 0 || d != 0) {
            cr_assert_eq(dtype_from_scaled(DT_F16, v, e), f16_model(d), "%ld * 2^%d", (long)v, e);
            cr_assert_eq(dtype_from_scaled(DT_BF16, v, e), bf16_from_f64(d));
            cr_assert_eq(dtype_from_scaled(DT_F32, v, e), f32_bits_from_f64(d));
        }
        cr_assert_eq(dtype_from_scaled(DT_F64, v, e), to_bits(d));
    }
    /* More bits than FP64 holds: still one rounding. */
    cr_assert_eq(dtype_from_scaled(DT_F16, (INT64_C(0x801) << 51) + 1, -62), f16_from_f64(1 + 0x1p-10));
    cr_assert_eq(dtype_from_scaled(DT_F16, INT64_C(0x801) << 51, -62), f16_from_f64(1));
    cr_assert_eq(dtype_from_scaled(DT_F16, INT64_MIN, -63), 0xbc00);
    cr_assert_eq(dtype_from_scaled(DT_F16, 0, 4000), 0);
    cr_assert_eq(dtype_from_scaled(DT_F16, 1, 100000), 0x7c00);
    cr_assert_eq(dtype_from_scaled(DT_F16, -1, -100000), 0x8000);
    cr_assert_eq(dtype_from_scaled(DT_F64, 1, -1074), 1);
    cr_assert_eq(dtype_from_scaled(DT_F64, 1, -1075), 0);
    cr_assert_eq(dtype_from_scaled(DT_F64, 3, -1076), 1);
}

Test(dtype, integers_round_to_even_and_saturate)
{
    static const struct {
        double v;
        int32_t i32;
        int64_t i64;
    } cases[] = {
        {0.5, 0, 0},
        {1.5, 2, 2},
        {2.5, 2, 2},
        {-0.5, 0, 0},
        {-2.5, -2, -2},
        {-1.5, -2, -2},
        {0x1p31, INT32_MAX, INT64_C(1) << 31},
        {-0x1p31, INT32_MIN, -(INT64_C(1) << 31)},
        {1e300, INT32_MAX, INT64_MAX},
        {-1e300, INT32_MIN, INT64_MIN},
        {INFINITY, INT32_MAX, INT64_MAX},
        {-INFINITY, INT32_MIN, INT64_MIN},
        {NAN, 0, 0},
        {-0.0, 0, 0},
        {2147483646.5, 2147483646, 2147483646},
        {5e-324, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t a;
        int64_t b;
        dtype_store(DT_I32, &a, 0, cases[i].v);
        dtype_store(DT_I64, &b, 0, cases[i].v);
        cr_assert_eq(a, cases[i].i32, "%g", cases[i].v);
        cr_assert_eq(b, cases[i].i64, "%g", cases[i].v);
    }
    cr_assert_eq((int32_t)dtype_from_scaled(DT_I32, -3, 4), -48);
    cr_assert_eq((int32_t)dtype_from_scaled(DT_I32, -3, 40), INT32_MIN);
    cr_assert_eq((int64_t)dtype_from_scaled(DT_I64, 7, -1), 4);
    cr_assert_eq((int64_t)dtype_from_scaled(DT_I64, INT64_MIN, 0), INT64_MIN);
    cr_assert_eq((int64_t)dtype_from_scaled(DT_I64, 1, 63), INT64_MAX);
}

Test(dtype, loads_and_stores_unaligned)
{
    unsigned char buf[64];
    for (int t = 0; t < DT_COUNT; t++) {
        for (uint64_t i = 0; i < 3; i++)
            dtype_store((dtype)t, buf + 1, i, (double)i - 1);
        for (uint64_t i = 0; i < 3; i++)
            cr_assert_eq(dtype_load((dtype)t, buf + 1, i), (double)i - 1);
    }
}

Test(dtype, ordinals_are_a_line)
{
    for (unsigned h = 0; h < 0x7c00; h++) {
        uint16_t pair[2] = {(uint16_t)h, (uint16_t)(h + 1)}, minus[2] = {pair[0] | 0x8000, pair[1] | 0x8000};
        cr_assert_eq(dtype_ordinal(DT_F16, pair, 1) - dtype_ordinal(DT_F16, pair, 0), 1);
        cr_assert_eq(dtype_ordinal(DT_F16, minus, 0) - dtype_ordinal(DT_F16, minus, 1), 1);
    }
    float zeros[2] = {0.0f, -0.0f}, tiny[2] = {0x1p-149f, -0x1p-149f};
    cr_assert_eq(dtype_ordinal(DT_F32, zeros, 0), 0);
    cr_assert_eq(dtype_ordinal(DT_F32, zeros, 1), 0);
    cr_assert_eq(dtype_ordinal(DT_F32, tiny, 0) - dtype_ordinal(DT_F32, tiny, 1), 2);
}
