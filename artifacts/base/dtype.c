#include "artifacts/base/dtype.h"
#include <assert.h>
#include <string.h>

const char *const dtype_names[] = {"f16", "bf16", "f32", "f64", "i32",  "i64",     "i8",      "i16",
                                   "u8",  "u16",  "u32", "u64", "bool", "f8_e4m3", "f8_e5m2", NULL};

static const char *const safetensors_names[DT_COUNT] = {"F16", "BF16", "F32",  "F64",     "I32",
                                                        "I64", "I8",   "I16",  "U8",      "U16",
                                                        "U32", "U64",  "BOOL", "F8_E4M3", "F8_E5M2"};
static const uint8_t sizes[DT_COUNT] = {2, 2, 4, 8, 4, 8, 1, 2, 1, 2, 4, 8, 1, 1, 1};

uint64_t dtype_bytes(dtype t)
{
    return sizes[t];
}

const char *dtype_safetensors(dtype t)
{
    return safetensors_names[t];
}

bool dtype_is_float(dtype t)
{
    return t <= DT_F64 || t == DT_F8_E4M3 || t == DT_F8_E5M2;
}

static bool is_signed(dtype t)
{
    return t <= DT_I16;
}

/* Bits of an integer type's values; of a truth value the one that counts. */
static int value_bits(dtype t)
{
    return t == DT_BOOL ? 1 : 8 * sizes[t];
}

/* A binary interchange format: `precision` significant bits, the leading one included, and the exponents of
 * its smallest and largest normal numbers. E4M3 spends the largest exponent on numbers too, all but the last.
 */
typedef struct {
    int bits, precision, emin, emax;
    bool no_infinity;
} format;

static const format F16 = {16, 11, -14, 15, false};
static const format BF16 = {16, 8, -126, 127, false};
static const format F32 = {32, 24, -126, 127, false};
static const format F64 = {64, 53, -1022, 1023, false};
static const format E4M3 = {8, 4, -6, 8, true};
static const format E5M2 = {8, 3, -14, 15, false};

/* What follows the largest finite number: infinity, or the NaN of E4M3. */
static uint64_t beyond_bits(format f)
{
    uint64_t all = (uint64_t)(f.emax - f.emin + 2) << (f.precision - 1);
    return f.no_infinity ? all - 1 : all;
}

/* m / 2^s to nearest, ties to even. */
static uint64_t shift_right_even(uint64_t m, int s)
{
    if (s <= 0)
        return m;
    if (s > 64)
        return 0; /* below a half */
    uint64_t kept = s == 64 ? 0 : m >> s;
    uint64_t lost = s == 64 ? m : m & ((UINT64_C(1) << s) - 1);
    uint64_t half = UINT64_C(1) << (s - 1);
    return kept + (lost > half || (lost == half && (kept & 1)));
}

/* m * 2^exp2, without its sign. The encoding is monotonic, so a carry out of the significand is the right
 * next number. */
static inline uint64_t encode(format f, uint64_t m, int exp2)
{
    if (m == 0)
        return 0;
    int width = 64 - __builtin_clzll(m);
    int exponent = width - 1 + exp2;
    if (exponent > f.emax)
        return beyond_bits(f);
    int stored = exponent < f.emin ? f.emin : exponent;
    int drop = stored - (f.precision - 1) - exp2;
    uint64_t kept = drop < 0 ? m << -drop : shift_right_even(m, drop);
    uint64_t bits = ((uint64_t)(stored - f.emin) << (f.precision - 1)) + kept;
    return bits < beyond_bits(f) ? bits : beyond_bits(f);
}

static uint64_t bits_of(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static double double_of(uint64_t b)
{
    double v;
    memcpy(&v, &b, sizeof v);
    return v;
}

static inline uint64_t narrow(format f, double v)
{
    uint64_t b = bits_of(v), fraction = b & ((UINT64_C(1) << 52) - 1);
    uint64_t sign = b >> 63 << (f.bits - 1);
    int biased = (int)(b >> 52 & 0x7ff);
    if (biased >= f.emin + 1023 && biased <= f.emax + 1023) {
        /* Normal in both: encode's arithmetic on the bits as they are, which is where the time of a reference
         * goes. */
        int drop = 53 - f.precision;
        uint64_t magnitude = b & INT64_MAX, even = magnitude >> drop & 1;
        uint64_t bits = ((magnitude + (UINT64_C(1) << (drop - 1)) - 1 + even) >> drop) -
                        ((uint64_t)(f.emin + 1022) << (f.precision - 1));
        return sign | (bits < beyond_bits(f) ? bits : beyond_bits(f));
    }
    if (biased == 0x7ff) {
        uint64_t quiet = UINT64_C(1) << (f.precision - 2);
        return sign | beyond_bits(f) | (fraction ? quiet | fraction >> (53 - f.precision) : 0);
    }
    if (biased == 0)
        return sign | encode(f, fraction, -1074);
    return sign | encode(f, fraction | UINT64_C(1) << 52, biased - 1075);
}

static inline double widen(format f, uint64_t b)
{
    uint64_t sign = b >> (f.bits - 1) << 63;
    uint64_t magnitude = b & ((UINT64_C(1) << (f.bits - 1)) - 1);
    uint64_t fraction = magnitude & ((UINT64_C(1) << (f.precision - 1)) - 1);
    int biased = (int)(magnitude >> (f.precision - 1));
    if (magnitude >= beyond_bits(f))
        return double_of(sign | UINT64_C(0x7ff) << 52 | fraction << (53 - f.precision));
    if (biased == 0)
        return double_of(sign | encode(F64, fraction, f.emin - (f.precision - 1)));
    return double_of(sign | (uint64_t)(biased - 1 + f.emin + 1023) << 52 | fraction << (53 - f.precision));
}

uint16_t f16_from_f64(double v)
{
    return (uint16_t)narrow(F16, v);
}

double f16_to_f64(uint16_t bits)
{
    return widen(F16, bits);
}

uint16_t bf16_from_f64(double v)
{
    return (uint16_t)narrow(BF16, v);
}

double bf16_to_f64(uint16_t bits)
{
    return widen(BF16, bits);
}

uint32_t f32_bits_from_f64(double v)
{
    return (uint32_t)narrow(F32, v);
}

/* m * 2^exp2 with that sign, in the bits of an integer type: two's complement where it has a sign. */
static uint64_t encode_integer(dtype t, bool negative, uint64_t m, int exp2)
{
    int bits = value_bits(t);
    uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t limit = is_signed(t) ? all / 2 + negative : negative ? 0 : all;
    if (m != 0 && exp2 > 0)
        m = exp2 >= 64 || m > limit >> exp2 ? limit : m << exp2;
    else if (exp2 < 0)
        m = shift_right_even(m, exp2 < -65 ? 65 : -exp2);
    if (m > limit)
        m = limit;
    if (negative)
        m = m ? ~m + 1 : 0;
    return m & all;
}

uint64_t dtype_from_scaled(dtype t, int64_t v, int exp2)
{
    bool negative = v < 0;
    uint64_t m = negative ? ~(uint64_t)v + 1 : (uint64_t)v;
    /* Beyond these every type is already at zero or at its largest. */
    if (exp2 > 4096)
        exp2 = 4096;
    if (exp2 < -4096)
        exp2 = -4096;
    switch (t) {
    case DT_F16:
        return (uint64_t)negative << 15 | encode(F16, m, exp2);
    case DT_BF16:
        return (uint64_t)negative << 15 | encode(BF16, m, exp2);
    case DT_F32:
        return (uint64_t)negative << 31 | encode(F32, m, exp2);
    case DT_F64:
        return (uint64_t)negative << 63 | encode(F64, m, exp2);
    case DT_F8_E4M3:
        return (uint64_t)negative << 7 | encode(E4M3, m, exp2);
    case DT_F8_E5M2:
        return (uint64_t)negative << 7 | encode(E5M2, m, exp2);
    case DT_COUNT:
        break;
    default:
        return encode_integer(t, negative, m, exp2);
    }
    assert(false && "no such type");
    return 0;
}

static uint64_t integer_from_f64(dtype t, double v)
{
    uint64_t b = bits_of(v), fraction = b & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(b >> 52 & 0x7ff);
    if (biased == 0x7ff && fraction)
        return 0;
    return encode_integer(t, b >> 63, fraction | (uint64_t)(biased != 0) << 52, biased - 1075);
}

double dtype_load(dtype t, const void *buf, uint64_t i)
{
    const uint8_t *p = (const uint8_t *)buf + i * dtype_bytes(t);
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (t) {
    case DT_F16:
        memcpy(&h, p, sizeof h);
        return widen(F16, h);
    case DT_BF16:
        memcpy(&h, p, sizeof h);
        return widen(BF16, h);
    case DT_F32:
        memcpy(&w, p, sizeof w);
        return widen(F32, w);
    case DT_F64:
        memcpy(&d, p, sizeof d);
        return double_of(d);
    case DT_I32:
        memcpy(&w, p, sizeof w);
        return (double)(int32_t)w;
    case DT_I64:
        memcpy(&d, p, sizeof d);
        return (double)(int64_t)d;
    case DT_I8:
        return (int8_t)*p;
    case DT_U8:
    case DT_BOOL:
        return *p;
    case DT_F8_E4M3:
        return widen(E4M3, *p);
    case DT_F8_E5M2:
        return widen(E5M2, *p);
    case DT_I16:
        memcpy(&h, p, sizeof h);
        return (int16_t)h;
    case DT_U16:
        memcpy(&h, p, sizeof h);
        return h;
    case DT_U32:
        memcpy(&w, p, sizeof w);
        return w;
    case DT_U64:
        memcpy(&d, p, sizeof d);
        return (double)d;
    case DT_COUNT:
        break;
    }
    assert(false && "no such type");
    return 0;
}

void dtype_store(dtype t, void *buf, uint64_t i, double v)
{
    uint8_t *p = (uint8_t *)buf + i * dtype_bytes(t);
    uint64_t d = t == DT_F16       ? narrow(F16, v)
                 : t == DT_BF16    ? narrow(BF16, v)
                 : t == DT_F32     ? narrow(F32, v)
                 : t == DT_F64     ? bits_of(v)
                 : t == DT_F8_E4M3 ? narrow(E4M3, v)
                 : t == DT_F8_E5M2 ? narrow(E5M2, v)
                                   : integer_from_f64(t, v);
    uint8_t b = (uint8_t)d;
    uint16_t h = (uint16_t)d;
    uint32_t w = (uint32_t)d;
    switch (sizes[t]) {
    case 1:
        *p = b;
        return;
    case 2:
        memcpy(p, &h, sizeof h);
        return;
    case 4:
        memcpy(p, &w, sizeof w);
        return;
    default:
        memcpy(p, &d, sizeof d);
    }
}

/* Below the largest binade the bits are rounded where they are, which is where the time of a reference goes.
 */
static inline double round_to(format f, double v)
{
    uint64_t b = bits_of(v);
    int biased = (int)(b >> 52 & 0x7ff), drop = 53 - f.precision;
    if (biased < f.emin + 1023 || biased >= f.emax + 1023)
        return widen(f, narrow(f, v));
    b += (UINT64_C(1) << (drop - 1)) - 1 + (b >> drop & 1);
    return double_of(b >> drop << drop);
}

double dtype_round(dtype t, double v)
{
    uint64_t storage = 0;
    switch (t) {
    case DT_F16:
        return round_to(F16, v);
    case DT_BF16:
        return round_to(BF16, v);
    case DT_F32:
        return round_to(F32, v);
    case DT_F8_E4M3:
        return round_to(E4M3, v);
    case DT_F8_E5M2:
        return round_to(E5M2, v);
    default:
        dtype_store(t, &storage, 0, v);
        return dtype_load(t, &storage, 0);
    }
}

double dtype_round_saturating(dtype t, double v)
{
    double r = dtype_round(t, v);
    if (!dtype_is_float(t) || v != v || (r == r && r - r == 0))
        return r;
    static const double largest[DT_COUNT] = {[DT_F16] = 65504,          [DT_BF16] = 0x1.fep127,
                                             [DT_F32] = 0x1.fffffep127, [DT_F64] = 0x1.fffffffffffffp1023,
                                             [DT_F8_E4M3] = 448,        [DT_F8_E5M2] = 57344};
    return v < 0 ? -largest[t] : largest[t];
}

int64_t dtype_ordinal(dtype t, const void *buf, uint64_t i)
{
    const uint8_t *p = (const uint8_t *)buf + i * dtype_bytes(t);
    uint32_t bits;
    int sign_at = 8 * sizes[t] - 1;
    assert(dtype_is_float(t) && t != DT_F64);
    if (sizes[t] == 4) {
        memcpy(&bits, p, sizeof bits);
    } else if (sizes[t] == 2) {
        uint16_t h;
        memcpy(&h, p, sizeof h);
        bits = h;
    } else {
        bits = *p;
    }
    int64_t magnitude = bits & ((UINT32_C(1) << sign_at) - 1);
    return bits >> sign_at ? -magnitude : magnitude;
}
