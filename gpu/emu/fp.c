#include "gpu/emu/fp.h"
#include "gpu/emu/wrap.h"
#include <fenv.h>

const fp_format fp_f16 = {11, 15}, fp_bf16 = {8, 127}, fp_tf32 = {11, 127}, fp_f32 = {24, 127},
                fp_f64 = {53, 1023};

static int width_of(fp_format f)
{
    return f.emax == 1023 ? 64 : f.emax == 15 ? 16 : f.precision == 8 ? 16 : 32;
}

/* tf32 is an f32 with its low bits clear. */
static int stored_fraction(fp_format f)
{
    return f.precision == 11 && f.emax == 127 ? 23 : f.precision - 1;
}

WRAPS uint64_t fp_round(fp_format f, bool negative, uint64_t m, int exp2, bool sticky, uint8_t rnd)
{
    int width = width_of(f), fraction = stored_fraction(f), emin = 1 - f.emax;
    uint64_t sign = (uint64_t)negative << (width - 1);
    uint64_t infinity = (uint64_t)(2 * f.emax + 1) << fraction;
    if (m == 0)
        return sign;
    int shift = __builtin_clzll(m);
    m <<= shift;
    int e = exp2 - shift + 63; /* value is 1.xxx * 2^e */
    int keep = f.precision;
    if (e < emin)
        keep = f.precision - (emin - e);
    uint64_t kept = 0, rest = m;
    bool more = sticky, tie = false, above = false;
    if (keep >= 1) {
        kept = m >> (64 - keep);
        rest = m << keep;
        tie = rest == UINT64_C(1) << 63 && !more;
        above = rest > UINT64_C(1) << 63 || (rest == UINT64_C(1) << 63 && more);
    } else if (keep == 0) {
        tie = m == UINT64_C(1) << 63 && !more;
        above = !tie;
    }
    bool inexact = rest != 0 || more, up = false;
    switch (rnd) {
    case RND_RZ:
        break;
    case RND_RM:
        up = inexact && negative;
        break;
    case RND_RP:
        up = inexact && !negative;
        break;
    case RND_RNA:
        up = above || tie;
        break;
    default:
        up = above || (tie && (kept & 1));
    }
    kept += up;
    uint64_t bits;
    if (e < emin)
        bits = kept << (fraction - (f.precision - 1));
    else
        bits = ((uint64_t)(e + f.emax - 1) << fraction) + (kept << (fraction - (f.precision - 1)));
    if (e > f.emax || bits >= infinity) {
        bool to_infinity = rnd == RND_RM ? negative : rnd == RND_RP ? !negative : rnd != RND_RZ;
        bits = to_infinity ? infinity : infinity - (UINT64_C(1) << (fraction - (f.precision - 1)));
    }
    return sign | bits;
}

uint64_t fp_from_f64(fp_format f, double v, uint8_t rnd)
{
    uint64_t b = bits_f64(v);
    bool negative = b >> 63;
    int width = width_of(f), e = (int)(b >> 52 & 0x7ff);
    uint64_t m = b & bits_mask(52);
    if (e == 0x7ff) {
        if (m)
            return f.emax == 1023 ? b | UINT64_C(1) << 51 : bits_mask((unsigned)width - 1);
        return (uint64_t)negative << (width - 1) | (uint64_t)(2 * f.emax + 1) << stored_fraction(f);
    }
    if (e)
        m |= UINT64_C(1) << 52;
    return fp_round(f, negative, m, (e ? e : 1) - 1075, false, rnd);
}

double fp_to_f64(fp_format f, uint64_t bits)
{
    int width = width_of(f), fraction = stored_fraction(f);
    bool negative = bits >> (width - 1) & 1;
    int e = (int)(bits >> fraction & (uint64_t)(2 * f.emax + 1));
    uint64_t m = bits & bits_mask((unsigned)fraction);
    if (e == 2 * f.emax + 1)
        return m ? f64_of(NAN_F64) : negative ? -INFINITY : INFINITY;
    if (e == 0 && m == 0)
        return negative ? -0.0 : 0.0;
    int shift = 52 - fraction;
    if (e == 0) {
        int lead = __builtin_clzll(m) - (63 - fraction);
        e = 1 - lead;
        m = m << lead & bits_mask((unsigned)fraction);
    }
    return f64_of((uint64_t)negative << 63 | (uint64_t)(e - f.emax + 1023) << 52 | m << shift);
}

double fp_fma_odd(double a, double b, double c)
{
    double p = a * b, s = p + c;
    if (!(fabs(s) <= 1.7976931348623157e308)) /* infinite or NaN */
        return s;
    double t = s - p, error = (p - (s - t)) + (c - t);
    uint64_t bits = bits_f64(s);
    if (error != 0.0 && !(bits & 1))
        bits = (error > 0.0) == (s > 0.0) ? bits + 1 : bits - 1;
    return f64_of(bits);
}

void fp_enter(uint8_t rnd)
{
    if (rnd != RND_NONE && rnd != RND_RN)
        fesetround(rnd == RND_RZ ? FE_TOWARDZERO : rnd == RND_RM ? FE_DOWNWARD : FE_UPWARD);
}

void fp_leave(void)
{
    fesetround(FE_TONEAREST);
}
