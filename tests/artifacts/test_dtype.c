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
        /* What has no sign stores a negative number as 0, a truth value anything above 1 as 1. */
        bool positive = t >= DT_U8 && !dtype_is_float((dtype)t);
        for (uint64_t i = 0; i < 3; i++)
            dtype_store((dtype)t, buf + 1, i, (double)i - 1);
        for (uint64_t i = 0; i < 3; i++)
            cr_assert_eq(dtype_load((dtype)t, buf + 1, i), positive && i == 0 ? 0 : (double)i - 1);
    }
}

Test(dtype, small_and_unsigned_integers)
{
    static const struct {
        dtype t;
        double v, want;
    } cases[] = {
        {DT_I8, 127.5, 127},
        {DT_I8, -128.5, -128},
        {DT_I8, -3.5, -4},
        {DT_I16, 40000, 32767},
        {DT_I16, -40000, -32768},
        {DT_U8, 255.4, 255},
        {DT_U8, 256, 255},
        {DT_U8, -7, 0},
        {DT_U16, 70000, 65535},
        {DT_U32, 4294967295.0, 4294967295.0},
        {DT_U32, 5e9, 4294967295.0},
        {DT_U64, 0x1p63, 0x1p63},
        {DT_U64, -0.4, 0},
        {DT_BOOL, 0.5, 0},
        {DT_BOOL, 7, 1},
        {DT_U64, NAN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t at = 0;
        dtype_store(cases[i].t, &at, 0, cases[i].v);
        cr_assert_eq(dtype_load(cases[i].t, &at, 0), cases[i].want, "%s %g", dtype_names[cases[i].t],
                     cases[i].v);
    }
    cr_assert_eq(dtype_from_scaled(DT_U64, 1, 64), UINT64_MAX);
    cr_assert_eq(dtype_from_scaled(DT_U64, 3, 62), UINT64_C(3) << 62);
    cr_assert_eq(dtype_from_scaled(DT_U8, -1, 0), 0);
    cr_assert_eq(dtype_from_scaled(DT_I8, -1, 0), 0xff);
    cr_assert(dtype_is_float(DT_F64) && !dtype_is_float(DT_I32) && !dtype_is_float(DT_BOOL));
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

/* FP8 by its definition: three or two fraction bits, a bias of 7 or 15. */
static double f8_value(dtype t, unsigned b)
{
    int fraction_bits = t == DT_F8_E4M3 ? 3 : 2, bias = t == DT_F8_E4M3 ? 7 : 15;
    unsigned fraction = b & ((1u << fraction_bits) - 1), exponent = (b & 0x7f) >> fraction_bits;
    double v = ldexp(exponent ? fraction + (1u << fraction_bits) : fraction,
                     (exponent ? (int)exponent : 1) - bias - fraction_bits);
    return b & 0x80 ? -v : v;
}

Test(dtype, every_8_bit_value_comes_back)
{
    static const struct {
        dtype t;
        unsigned largest;
        bool infinity;
    } types[] = {{DT_F8_E4M3, 0x7e, false}, {DT_F8_E5M2, 0x7b, true}};
    for (size_t i = 0; i < 2; i++)
        for (unsigned b = 0; b < 256; b++) {
            unsigned char in = (unsigned char)b, out;
            double v = dtype_load(types[i].t, &in, 0);
            dtype_store(types[i].t, &out, 0, v);
            if ((b & 0x7f) <= types[i].largest) {
                cr_assert_eq(to_bits(v), to_bits(f8_value(types[i].t, b)), "%02x", b);
                cr_assert_eq(out, b);
                cr_assert_eq(dtype_round_saturating(types[i].t, v), v);
            } else if (types[i].infinity && (b & 0x7f) == 0x7c) {
                cr_assert(isinf(v) && out == b);
                cr_assert_eq(dtype_round_saturating(types[i].t, v), b & 0x80 ? -57344 : 57344);
            } else {
                cr_assert(isnan(v) && (signbit(v) != 0) == (b >> 7));
                cr_assert_eq(out, types[i].infinity ? b | 2 : b);
                cr_assert(isnan(dtype_round_saturating(types[i].t, v)));
            }
        }
}

Test(dtype, f8_rounds_to_even_and_overflows_as_declared)
{
    static const dtype types[] = {DT_F8_E4M3, DT_F8_E5M2};
    for (size_t i = 0; i < 2; i++) {
        dtype t = types[i];
        unsigned largest = t == DT_F8_E4M3 ? 0x7e : 0x7b;
        for (unsigned b = 0; b <= largest; b++) {
            double here = f8_value(t, b), next = f8_value(t, b + 1), tie = (here + next) / 2;
            double even = f8_value(t, b % 2 ? b + 1 : b);
            const double in[] = {here, nextafter(tie, 0), tie, nextafter(tie, INFINITY)},
                         want[] = {here, here, even, next};
            for (int k = 0; k < 4; k++) {
                bool over = b == largest && want[k] == next, fits = !over;
                double r = dtype_round(t, in[k]);
                cr_assert(fits ? r == want[k] : t == DT_F8_E4M3 ? isnan(r) : isinf(r), "%a", in[k]);
                cr_assert_eq(dtype_round_saturating(t, in[k]), fits ? want[k] : here, "%a", in[k]);
                cr_assert_eq(dtype_round_saturating(t, -in[k]), fits ? -want[k] : -here);
            }
        }
        for (unsigned b = 0; b < largest; b++) {
            unsigned char pair[2] = {(unsigned char)b, (unsigned char)(b + 1)},
                          minus[2] = {pair[0] | 0x80, pair[1] | 0x80};
            cr_assert_eq(dtype_ordinal(t, pair, 1) - dtype_ordinal(t, pair, 0), 1);
            cr_assert_eq(dtype_ordinal(t, minus, 0) - dtype_ordinal(t, minus, 1), 1);
        }
        cr_assert_eq(dtype_round_saturating(t, INFINITY), f8_value(t, largest));
        cr_assert_eq(dtype_round_saturating(t, -1e300), -f8_value(t, largest));
    }
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 29, 4), 0x7e); /* 464 ties to 448 */
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 465, 0), 0x7f);
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, -465, 0), 0xff);
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 1, 4000), 0x7f);
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 1, -9), 1); /* the smallest subnormal, and half of it */
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 1, -10), 0);
    cr_assert_eq(dtype_from_scaled(DT_F8_E4M3, 3, -11), 1);
    cr_assert_eq(dtype_from_scaled(DT_F8_E5M2, 61440, 0), 0x7c);
    cr_assert_eq(dtype_from_scaled(DT_F8_E5M2, 61439, 0), 0x7b);
    cr_assert_eq(dtype_from_scaled(DT_F8_E5M2, 1, -16), 1);
    cr_assert_eq(dtype_from_scaled(DT_F8_E5M2, -1, -17), 0x80);
    cr_assert(dtype_is_float(DT_F8_E4M3) && dtype_bytes(DT_F8_E5M2) == 1);
}

Test(dtype, saturation_of_the_wider_types)
{
    static const struct {
        dtype t;
        double v, want;
    } cases[] = {
        {DT_F16, 65519, 65504},
        {DT_F16, 65520, 65504},
        {DT_F16, -INFINITY, -65504},
        {DT_F16, 1e-30, 0},
        {DT_BF16, 1e300, 0x1.fep127},
        {DT_BF16, 1.0, 1},
        {DT_F32, -1e300, -0x1.fffffep127},
        {DT_F32, 0.1, (double)0.1f},
        {DT_F64, INFINITY, 0x1.fffffffffffffp1023},
        {DT_I8, 1000, 127},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(dtype_round_saturating(cases[i].t, cases[i].v), cases[i].want, "%g", cases[i].v);
    cr_assert(isnan(dtype_round_saturating(DT_F16, NAN)));
}

Test(dtype, round_is_store_and_load)
{
    static const dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F64, DT_F8_E4M3, DT_F8_E5M2};
    uint64_t s = 17;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int i = 0; i < 200000; i++) {
            uint64_t r = next_random(&s),
                     exponent = (i % 2 ? 1023 - 40 : 1023 - 160) + next_random(&s) % (i % 2 ? 80 : 320),
                     storage = 0;
            double v =
                from_bits((r >> 63) << 63 | exponent << 52 | (r & 0xfffffffffffff) >> (i % 53) << (i % 53));
            dtype_store(types[k], &storage, 0, v);
            cr_assert_eq(to_bits(dtype_round(types[k], v)), to_bits(dtype_load(types[k], &storage, 0)),
                         "%a as %s", v, dtype_names[types[k]]);
        }
}
