/* Integer lane functions. One function serves all widths: the mask and the sign are the instruction's. */
#include "gpu/emu/alu.h"
#include "gpu/emu/wrap.h"

typedef unsigned __int128 u128;
typedef __int128 i128;

#define FN(name, ...)                                                                                        \
    static WRAPS void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                  \
    {                                                                                                        \
        const uint64_t *a = s[0], *b = s[1], *c = s[2];                                                      \
        const uint64_t m = i->mask;                                                                          \
        const unsigned bits = type_bits((ptx_type)i->type);                                                  \
        (void)a, (void)b, (void)c, (void)m, (void)bits;                                                      \
        for (int l = 0; l < LANES; l++)                                                                      \
            d[l] = (__VA_ARGS__)&m;                                                                          \
    }

static inline int64_t sx(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static inline uint64_t asr(int64_t v, unsigned by)
{
    return (uint64_t)(v >> by);
}

static inline WRAPS uint64_t neg64(uint64_t v)
{
    return 0 - v;
}

static uint64_t mul_hi_u(uint64_t a, uint64_t b, unsigned bits)
{
    return bits == 64 ? (uint64_t)((u128)a * b >> 64) : (uint64_t)((u128)a * b) >> bits;
}

static uint64_t mul_hi_s(uint64_t a, uint64_t b, unsigned bits)
{
    i128 p = (i128)sx(a, bits) * sx(b, bits);
    return (uint64_t)(p >> bits);
}

static uint64_t div_u(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static uint64_t rem_u(uint64_t a, uint64_t b)
{
    return b ? a % b : a;
}

static WRAPS uint64_t div_s(int64_t a, int64_t b)
{
    return b == 0 ? UINT64_MAX : b == -1 ? neg64((uint64_t)a) : (uint64_t)(a / b);
}

static uint64_t rem_s(int64_t a, int64_t b)
{
    return b == 0 ? (uint64_t)a : b == -1 ? 0 : (uint64_t)(a % b);
}

static WRAPS uint64_t abs_diff_s(int64_t a, int64_t b)
{
    return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

static uint64_t sat32(int64_t v)
{
    return (uint64_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static uint64_t bit_reverse(uint64_t v, unsigned bits)
{
    uint64_t r = 0;
    for (unsigned k = 0; k < bits; k++)
        r |= (v >> k & 1) << (bits - 1 - k);
    return r;
}

static uint64_t highest(uint64_t v, unsigned bits, bool is_signed, bool shift)
{
    if (is_signed && sx(v, bits) < 0)
        v = ~v & bits_mask(bits);
    if (v == 0)
        return UINT32_MAX;
    unsigned at = 63 - (unsigned)__builtin_clzll(v);
    return shift ? bits - 1 - at : at;
}

static uint64_t extract(uint64_t v, uint64_t pos, uint64_t len, unsigned bits, bool is_signed)
{
    pos &= 0xff;
    len &= 0xff;
    uint64_t sign = 0;
    if (is_signed && len) {
        uint64_t at = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
        sign = v >> at & 1;
    }
    uint64_t low = pos < bits ? v >> pos : 0;
    if (pos < bits && sign && bits - pos < 64)
        low |= ~bits_mask(bits - (unsigned)pos);
    else if (pos >= bits && sign)
        low = UINT64_MAX;
    if (len < 64) {
        low &= bits_mask((unsigned)len);
        if (sign)
            low |= ~bits_mask((unsigned)len);
    }
    return len ? low : 0;
}

static uint64_t insert(uint64_t from, uint64_t into, uint64_t pos, uint64_t len, unsigned bits)
{
    pos &= 0xff;
    len &= 0xff;
    if (pos >= bits || len == 0)
        return into;
    uint64_t field = bits_mask(len >= 64 ? 64 : (unsigned)len) << pos;
    return (into & ~field) | (from << pos & field);
}

static uint64_t permute(const insn *i, uint64_t a, uint64_t b, uint64_t sel)
{
    uint64_t all = b << 32 | (a & UINT32_MAX), r = 0;
    unsigned k = (unsigned)sel & 3;
    static const uint8_t rc8[4] = {0, 1, 2, 3};
    for (unsigned n = 0; n < 4; n++) {
        unsigned at;
        bool replicate = false;
        switch (i->sub) {
        case 1: /* f4e */
            at = k + n;
            break;
        case 2: /* b4e */
            at = (k + 8 - n) & 7;
            break;
        case 3: /* rc8 */
            at = rc8[k];
            break;
        case 4: /* ecl */
            at = k > n ? k : n;
            break;
        case 5: /* ecr */
            at = k < n ? k : n;
            break;
        case 6: /* rc16 */
            at = (k & 1) * 2 + (n & 1);
            break;
        default:
            at = (unsigned)(sel >> (4 * n)) & 7;
            replicate = sel >> (4 * n) & 8;
        }
        uint64_t byte = all >> (8 * at) & 0xff;
        if (replicate)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * n);
    }
    return r;
}

static uint64_t funnel(uint64_t lo, uint64_t hi, uint64_t by, bool left, bool wrap)
{
    uint64_t n = wrap ? by & 31 : by > 32 ? 32 : by;
    uint64_t v = hi << 32 | (lo & UINT32_MAX);
    return left ? (n == 32 ? lo : v << n >> 32) : v >> n;
}

static uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, int64_t table)
{
    uint64_t r = 0;
    for (unsigned k = 0; k < 8; k++)
        if (table >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}

static WRAPS uint64_t dot(const insn *i, uint64_t a, uint64_t b, uint64_t c, unsigned n)
{
    uint64_t sum = c;
    bool sa = type_class((ptx_type)i->type) == 's', sb = type_class((ptx_type)i->stype) == 's';
    for (unsigned k = 0; k < n; k++) {
        unsigned wa = n == 4 ? 8 : 16, at_b = n == 4 ? k : k + (i->flags & F_HI ? 2 : 0);
        uint64_t x = a >> (wa * k) & bits_mask(wa), y = b >> (8 * at_b) & 0xff;
        sum += (sa ? (uint64_t)sx(x, wa) : x) * (sb ? (uint64_t)sx(y, 8) : y);
    }
    return sum;
}

static WRAPS uint64_t pair(uint64_t a, uint64_t b, char op, bool is_signed, bool relu)
{
    uint64_t r = 0;
    for (unsigned k = 0; k < 32; k += 16) {
        uint64_t x = a >> k & 0xffff, y = b >> k & 0xffff, z;
        bool less = is_signed ? sx(x, 16) < sx(y, 16) : x < y;
        z = op == '+' ? x + y : op == '<' ? (less ? x : y) : (less ? y : x);
        if (relu && sx(z, 16) < 0)
            z = 0;
        r |= (z & 0xffff) << k;
    }
    return r;
}

static uint64_t nth_set(uint64_t mask, uint64_t base, int32_t offset)
{
    if (base > 31)
        return UINT32_MAX;
    int step = offset < 0 ? -1 : 1;
    int64_t left = offset == 0 ? 1 : offset < 0 ? -(int64_t)offset : offset;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (uint64_t)at;
    return UINT32_MAX;
}

static uint64_t extend(uint64_t v, uint64_t n, bool is_signed, bool wrap)
{
    uint64_t len = wrap ? n & 31 : n > 32 ? 32 : n;
    if (len == 0)
        return 0;
    return is_signed ? (uint64_t)sx(v & bits_mask((unsigned)len), (unsigned)len)
                     : v & bits_mask((unsigned)len);
}

static uint64_t bit_mask(uint64_t pos, uint64_t len, bool wrap)
{
    if (wrap) {
        pos &= 31;
        len &= 31;
    }
    if (pos > 31)
        return 0;
    return bits_mask(len > 63 ? 63 : (unsigned)len) << pos;
}

FN(f_add, a[l] + b[l])
FN(f_sub, a[l] - b[l])
FN(f_mul, a[l] * b[l])
FN(f_mad, a[l] * b[l] + c[l])
FN(f_mul_hi_u, mul_hi_u(a[l], b[l], bits))
FN(f_mul_hi_s, mul_hi_s(a[l], b[l], bits))
FN(f_mad_hi_u, mul_hi_u(a[l], b[l], bits) + c[l])
FN(f_mad_hi_s, mul_hi_s(a[l], b[l], bits) + c[l])
FN(f_mad_hi_sat, sat32((int64_t)(int32_t)mul_hi_s(a[l], b[l], 32) + (int32_t)c[l]))
FN(f_wide_u, a[l] * b[l])
FN(f_wide_s, (uint64_t)sx(a[l], bits) * (uint64_t)sx(b[l], bits))
FN(f_wide_s32, (uint64_t)((int64_t)(int32_t)a[l] * (int32_t)b[l]))
FN(f_mad_wide_u, a[l] * b[l] + c[l])
FN(f_mad_wide_s, (uint64_t)sx(a[l], bits) * (uint64_t)sx(b[l], bits) + c[l])
FN(f_mul24_lo_u, (a[l] & 0xffffff) * (b[l] & 0xffffff))
FN(f_mul24_lo_s, (uint64_t)(sx(a[l] & 0xffffff, 24) * sx(b[l] & 0xffffff, 24)))
FN(f_mul24_hi_u, (a[l] & 0xffffff) * (b[l] & 0xffffff) >> 16)
FN(f_mul24_hi_s, asr(sx(a[l] & 0xffffff, 24) * sx(b[l] & 0xffffff, 24), 16))
FN(f_mad24_lo_u, (a[l] & 0xffffff) * (b[l] & 0xffffff) + c[l])
FN(f_mad24_lo_s, (uint64_t)(sx(a[l] & 0xffffff, 24) * sx(b[l] & 0xffffff, 24)) + c[l])
FN(f_mad24_hi_u, ((a[l] & 0xffffff) * (b[l] & 0xffffff) >> 16) + c[l])
FN(f_mad24_hi_s, asr(sx(a[l] & 0xffffff, 24) * sx(b[l] & 0xffffff, 24), 16) + c[l])
FN(f_add_sat, sat32((int64_t)(int32_t)a[l] + (int32_t)b[l]))
FN(f_sub_sat, sat32((int64_t)(int32_t)a[l] - (int32_t)b[l]))
FN(f_div_u, div_u(a[l], b[l]))
FN(f_div_s, div_s(sx(a[l], bits), sx(b[l], bits)))
FN(f_rem_u, rem_u(a[l], b[l]))
FN(f_rem_s, rem_s(sx(a[l], bits), sx(b[l], bits)))
FN(f_abs, sx(a[l], bits) < 0 ? neg64(a[l]) : a[l])
FN(f_neg, neg64(a[l]))
FN(f_min_u, a[l] < b[l] ? a[l] : b[l])
FN(f_max_u, a[l] > b[l] ? a[l] : b[l])
FN(f_min_s, sx(a[l], bits) < sx(b[l], bits) ? a[l] : b[l])
FN(f_max_s, sx(a[l], bits) > sx(b[l], bits) ? a[l] : b[l])
FN(f_min_s_relu, sx(a[l], bits) < 0 || sx(b[l], bits) < 0 ? 0 : a[l] < b[l] ? a[l] : b[l])
FN(f_max_s_relu, (sx(a[l], bits) > sx(b[l], bits) ? sx(a[l], bits) : sx(b[l], bits)) < 0
                     ? 0
                     : (sx(a[l], bits) > sx(b[l], bits) ? a[l] : b[l]))
FN(f_sad_u, (a[l] < b[l] ? b[l] - a[l] : a[l] - b[l]) + c[l])
FN(f_sad_s, abs_diff_s(sx(a[l], bits), sx(b[l], bits)) + c[l])
FN(f_and, a[l] & b[l])
FN(f_or, a[l] | b[l])
FN(f_xor, a[l] ^ b[l])
FN(f_not, ~a[l])
FN(f_cnot, (uint64_t)(a[l] == 0))
FN(f_shl, (b[l] & UINT32_MAX) >= bits ? 0 : a[l] << (b[l] & 63))
FN(f_shr_u, (b[l] & UINT32_MAX) >= bits ? 0 : a[l] >> (b[l] & 63))
FN(f_shr_s, asr(sx(a[l], bits), (b[l] & UINT32_MAX) >= bits ? bits - 1 : (unsigned)(b[l] & 63)))
FN(f_popc, (uint64_t)__builtin_popcountll(a[l]))
FN(f_clz, a[l] ? (uint64_t)__builtin_clzll(a[l]) - (64 - bits) : bits)
FN(f_bfind, highest(a[l], bits, i->flags &F_SIGNED, false))
FN(f_bfind_shift, highest(a[l], bits, i->flags &F_SIGNED, true))
FN(f_brev, bit_reverse(a[l], bits))
FN(f_bfe, extract(a[l], b[l], c[l], bits, i->flags &F_SIGNED))
FN(f_bfi, insert(a[l], b[l], c[l], s[3][l], bits))
FN(f_prmt, permute(i, a[l], b[l], c[l]))
FN(f_shf_l_wrap, funnel(a[l], b[l], c[l] & UINT32_MAX, true, true))
FN(f_shf_l_clamp, funnel(a[l], b[l], c[l] & UINT32_MAX, true, false))
FN(f_shf_r_wrap, funnel(a[l], b[l], c[l] & UINT32_MAX, false, true))
FN(f_shf_r_clamp, funnel(a[l], b[l], c[l] & UINT32_MAX, false, false))
FN(f_lop3, lop3(a[l], b[l], c[l], i->imm))
FN(f_dp4a, dot(i, a[l], b[l], c[l], 4))
FN(f_dp2a, dot(i, a[l], b[l], c[l], 2))
FN(f_add2, pair(a[l], b[l], '+', false, false))
FN(f_min2, pair(a[l], b[l], '<', i->flags &F_SIGNED, i->flags &F_RELU))
FN(f_max2, pair(a[l], b[l], '>', i->flags &F_SIGNED, i->flags &F_RELU))
FN(f_fns, nth_set(a[l], b[l] & UINT32_MAX, (int32_t)c[l]))
FN(f_szext_wrap, extend(a[l], b[l] & UINT32_MAX, i->flags &F_SIGNED, true))
FN(f_szext_clamp, extend(a[l], b[l] & UINT32_MAX, i->flags &F_SIGNED, false))
FN(f_bmsk_wrap, bit_mask(a[l], b[l], true))
FN(f_bmsk_clamp, bit_mask(a[l], b[l], false))
FN(f_mov, a[l])
FN(f_add_window, a[l] + (uint64_t)i->imm)
FN(f_slct, sx(c[l], 32) >= 0 ? a[l] : b[l])
FN(f_slct_f, (c[l] & 0x7fffffff) > 0x7f800000                                               ? b[l]
             : (c[l] & 0x80000000) && (c[l] & (i->flags & F_FTZ ? 0x7f800000 : 0x7fffffff)) ? b[l]
                                                                                            : a[l])

alu_fn *alu_int(const char *op, ptx_type t)
{
    static const struct {
        const char *op;
        alu_fn *u, *s;
    } table[] = {
        {"mov", f_mov, f_mov},
        {"add", f_add, f_add},
        {"sub", f_sub, f_sub},
        {"add.sat", NULL, f_add_sat},
        {"sub.sat", NULL, f_sub_sat},
        {"mul.lo", f_mul, f_mul},
        {"mul.hi", f_mul_hi_u, f_mul_hi_s},
        {"mul.wide", f_wide_u, f_wide_s},
        {"mad.lo", f_mad, f_mad},
        {"mad.hi", f_mad_hi_u, f_mad_hi_s},
        {"mad.hi.sat", NULL, f_mad_hi_sat},
        {"mad.wide", f_mad_wide_u, f_mad_wide_s},
        {"mul24.lo", f_mul24_lo_u, f_mul24_lo_s},
        {"mul24.hi", f_mul24_hi_u, f_mul24_hi_s},
        {"mad24.lo", f_mad24_lo_u, f_mad24_lo_s},
        {"mad24.hi", f_mad24_hi_u, f_mad24_hi_s},
        {"div", f_div_u, f_div_s},
        {"rem", f_rem_u, f_rem_s},
        {"abs", NULL, f_abs},
        {"neg", NULL, f_neg},
        {"min", f_min_u, f_min_s},
        {"max", f_max_u, f_max_s},
        {"min.relu", NULL, f_min_s_relu},
        {"max.relu", NULL, f_max_s_relu},
        {"sad", f_sad_u, f_sad_s},
        {"and", f_and, f_and},
        {"or", f_or, f_or},
        {"xor", f_xor, f_xor},
        {"not", f_not, f_not},
        {"cnot", f_cnot, f_cnot},
        {"shl", f_shl, f_shl},
        {"shr", f_shr_u, f_shr_s},
        {"popc", f_popc, f_popc},
        {"clz", f_clz, f_clz},
        {"bfind", f_bfind, f_bfind},
        {"bfind.shiftamt", f_bfind_shift, f_bfind_shift},
        {"brev", f_brev, f_brev},
        {"bfe", f_bfe, f_bfe},
        {"bfi", f_bfi, f_bfi},
        {"prmt", f_prmt, f_prmt},
        {"shf.l.wrap", f_shf_l_wrap, NULL},
        {"shf.l.clamp", f_shf_l_clamp, NULL},
        {"shf.r.wrap", f_shf_r_wrap, NULL},
        {"shf.r.clamp", f_shf_r_clamp, NULL},
        {"lop3", f_lop3, f_lop3},
        {"dp4a", f_dp4a, f_dp4a},
        {"dp2a", f_dp2a, f_dp2a},
        {"add2", f_add2, f_add2},
        {"min2", f_min2, f_min2},
        {"max2", f_max2, f_max2},
        {"fns", f_fns, f_fns},
        {"szext.wrap", f_szext_wrap, f_szext_wrap},
        {"szext.clamp", f_szext_clamp, f_szext_clamp},
        {"bmsk.wrap", f_bmsk_wrap, f_bmsk_wrap},
        {"bmsk.clamp", f_bmsk_clamp, f_bmsk_clamp},
        {"window", f_add_window, f_add_window},
        {"slct", f_slct, f_slct},
        {"slct.f", f_slct_f, f_slct_f},
    };
    if (t == T_S32 && strcmp(op, "mul.wide") == 0)
        return f_wide_s32;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(op, table[k].op) == 0)
            return type_class(t) == 's' ? table[k].s : table[k].u;
    return NULL;
}
