/* cvt: between all types, with rounding, saturation, flushing. stype is the source's type, type the result's;
 * mask and dst_bits are the destination register's, which may be wider. */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"
#include "gpu/emu/wrap.h"

static inline int64_t sx(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static bool is_float(ptx_type t)
{
    return type_class(t) == 'f';
}

static fp_format format_of(ptx_type t)
{
    switch (t) {
    case T_F16:
    case T_F16X2:
        return fp_f16;
    case T_BF16:
    case T_BF16X2:
        return fp_bf16;
    case T_TF32:
        return fp_tf32;
    case T_F32:
        return fp_f32;
    default:
        return fp_f64;
    }
}

/* Integers to integers: extend the source by its sign, cut, extend by the result's sign to the register. */
static uint64_t extend_result(const insn *i, uint64_t v)
{
    unsigned bits = type_bits((ptx_type)i->type);
    v &= bits_mask(bits);
    return (type_class((ptx_type)i->type) == 's' ? (uint64_t)sx(v, bits) : v) & i->mask;
}

static void int_to_int(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    unsigned from = type_bits((ptx_type)i->stype), to = type_bits((ptx_type)i->type);
    bool src_signed = type_class((ptx_type)i->stype) == 's',
         dst_signed = type_class((ptx_type)i->type) == 's';
    for (int l = 0; l < LANES; l++) {
        uint64_t v = s[0][l] & bits_mask(from);
        if (src_signed)
            v = (uint64_t)sx(v, from);
        if (i->flags & F_SAT) {
            bool negative = src_signed && (int64_t)v < 0;
            if (dst_signed) {
                int64_t hi = (int64_t)bits_mask(to - 1), lo = -hi - 1;
                if (negative ? (int64_t)v < lo : v > (uint64_t)hi)
                    v = (uint64_t)(negative ? lo : hi);
            } else if (negative) {
                v = 0;
            } else if (v > bits_mask(to)) {
                v = bits_mask(to);
            }
        }
        d[l] = extend_result(i, v);
    }
}

#define FAST(name, expr)                                                                                     \
    static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                        \
    {                                                                                                        \
        (void)i;                                                                                             \
        for (int l = 0; l < LANES; l++)                                                                      \
            d[l] = expr;                                                                                     \
    }

FAST(zext32, s[0][l] & UINT32_MAX)
FAST(zext16, s[0][l] & 0xffff)
FAST(sext32, (uint64_t)(int64_t)(int32_t)s[0][l])
FAST(f32_s32, bits_f32((float)(int32_t)s[0][l]))
FAST(f32_u32, bits_f32((float)(uint32_t)s[0][l]))
FAST(f64_s32, bits_f64((double)(int32_t)s[0][l]))
FAST(f64_u32, bits_f64((double)(uint32_t)s[0][l]))
FAST(f64_s64, bits_f64((double)(int64_t)s[0][l]))
FAST(f64_f32, bits_f64((double)f32_of(s[0][l])))
FAST(f32_f64, out_f32((float)f64_of(s[0][l])))
FAST(f32_f16, out_f32((float)fp_to_f64(fp_f16, s[0][l] & 0xffff)))
FAST(f32_bf16, (s[0][l] & 0x7fff) > 0x7f80 ? NAN_F32 : (s[0][l] & 0xffff) << 16)
FAST(f16_f32, fp_from_f64(fp_f16, (double)f32_of(s[0][l]), RND_RN))

static uint64_t saturate_unit(double v, fp_format f, uint8_t rnd)
{
    return fp_from_f64(f, v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0, rnd);
}

static uint64_t flush(fp_format f, uint64_t bits)
{
    return f.emax == 127 && f.precision == 24 ? ftz_f32(bits)
           : f.emax == 15 && !(bits & 0x7c00) ? bits & 0x8000
                                              : bits;
}

static void int_to_float(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    unsigned from = type_bits((ptx_type)i->stype);
    bool is_signed = type_class((ptx_type)i->stype) == 's';
    fp_format f = format_of((ptx_type)i->type);
    for (int l = 0; l < LANES; l++) {
        uint64_t v = s[0][l] & bits_mask(from);
        bool negative = is_signed && sx(v, from) < 0;
        uint64_t m = negative ? (uint64_t) - (sx(v, from) + 1) + 1 : v;
        d[l] = fp_round(f, negative, m, 0, false, i->rnd);
        if (i->flags & F_SAT)
            d[l] = saturate_unit(fp_to_f64(f, d[l]), f, RND_RN);
    }
}

static double to_integral(double v, uint8_t rnd)
{
    switch (rnd) {
    case RND_RZ:
        return trunc(v);
    case RND_RM:
        return floor(v);
    case RND_RP:
        return ceil(v);
    default: { /* to nearest, ties to even, whatever the host's mode */
        double below = floor(v), part = v - below;
        double r = part < 0.5                ? below
                   : part > 0.5              ? below + 1.0
                   : fmod(below, 2.0) == 0.0 ? below
                                             : below + 1.0;
        return copysign(r, v);
    }
    }
}

static uint64_t clamp_to_int(double v, unsigned to, bool is_signed)
{
    double limit = ldexp(1.0, (int)(is_signed ? to - 1 : to));
    if (is_signed) {
        uint64_t lowest = ~bits_mask(to - 1);
        return v >= limit ? bits_mask(to - 1) : v < -limit ? lowest : (uint64_t)(int64_t)v;
    }
    return v >= limit ? bits_mask(to) : v <= 0.0 ? 0 : (uint64_t)v;
}

static void float_to_int(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    unsigned to = type_bits((ptx_type)i->type);
    bool is_signed = type_class((ptx_type)i->type) == 's';
    ptx_type st = (ptx_type)i->stype;
    fp_format f = format_of(st);
    for (int l = 0; l < LANES; l++) {
        uint64_t bits = s[0][l] & bits_mask(type_bits(st));
        if (i->flags & F_FTZ)
            bits = flush(f, bits);
        double v = st == T_F32 ? (double)f32_of(bits) : fp_to_f64(f, bits);
        uint64_t r;
        if (v != v)
            r = st != T_F64 && to != 64 ? 0 : UINT64_C(1) << (to - 1);
        else
            r = clamp_to_int(to_integral(v, i->rnd), to, is_signed);
        d[l] = extend_result(i, r);
    }
}

static uint64_t float_one(const insn *i, uint64_t bits, bool integral)
{
    ptx_type st = (ptx_type)i->stype;
    fp_format from = format_of(st), to = format_of((ptx_type)i->type);
    bits &= bits_mask(type_bits(st));
    if (i->flags & F_FTZ)
        bits = flush(from, bits);
    double v = fp_to_f64(from, bits);
    if (integral)
        v = to_integral(v, i->rnd);
    if (i->flags & F_RELU && v <= 0.0)
        v = 0.0;
    uint64_t r = i->flags & F_SAT ? saturate_unit(v, to, integral ? RND_RN : i->rnd)
                                  : fp_from_f64(to, v, integral ? RND_RN : i->rnd);
    if (v != v && to.emax == 1023)
        r = st == T_F64 ? bits | UINT64_C(1) << 51 : r;
    if (i->type == T_F32 && v != v && !(i->flags & F_SAT))
        r = NAN_F32;
    return i->flags & F_FTZ ? flush(to, r) : r;
}

/* sub 1: rounds to an integral value. */
static void float_to_float(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = float_one(i, s[0][l], i->sub == 1);
}

static void pair_from_f32(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = float_one(i, s[0][l], false) << 16 | float_one(i, s[1][l], false);
}

static alu_fn *fast(const insn *i)
{
    static const struct {
        uint8_t to, from;
        alu_fn *fn;
    } table[] = {
        {T_F32, T_S32, f32_s32},   {T_F32, T_U32, f32_u32}, {T_F64, T_S32, f64_s32}, {T_F64, T_U32, f64_u32},
        {T_F64, T_S64, f64_s64},   {T_F32, T_F64, f32_f64}, {T_F64, T_F32, f64_f32}, {T_F32, T_F16, f32_f16},
        {T_F32, T_BF16, f32_bf16}, {T_F16, T_F32, f16_f32},
    };
    if (i->flags & (F_FTZ | F_SAT | F_RELU) || (i->rnd != RND_NONE && i->rnd != RND_RN) || i->sub)
        return NULL;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (table[k].to == i->type && table[k].from == i->stype)
            return table[k].fn;
    return NULL;
}

alu_fn *alu_cvt(const insn *i)
{
    ptx_type to = (ptx_type)i->type, from = (ptx_type)i->stype;
    if (to == T_F16X2 || to == T_BF16X2)
        return from == T_F32 ? pair_from_f32 : NULL;
    if (type_class(to) == 'h' || type_class(from) == 'h' || from == T_TF32)
        return NULL;
    if (is_float(to)) {
        alu_fn *fn = fast(i);
        return fn ? fn : is_float(from) ? float_to_float : int_to_float;
    }
    if (is_float(from))
        return float_to_int;
    if (!(i->flags & F_SAT)) {
        if (from == T_S32 && type_bits(to) == 64)
            return sext32;
        if (type_bits(to) == 32 && i->dst_bits == 32 && type_bits(from) >= 32)
            return zext32;
        if (from == T_U32 && type_bits(to) == 64)
            return zext32;
        if (from == T_U16 && type_bits(to) >= 32)
            return zext16;
    }
    return int_to_int;
}
