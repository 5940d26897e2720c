/* Comparisons: lanes become 0 or 1 (packed halves: bit 0 and bit 1). */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"

#define HEAD(name)                                                                                           \
    static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                        \
    {                                                                                                        \
        const uint64_t *a = s[0], *b = s[1];                                                                 \
        (void)i;                                                                                             \
        for (int l = 0; l < LANES; l++)

static inline int64_t sx(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

#define INTEGER(op, sym)                                                                                     \
    HEAD(u_##op)                                                                                             \
    d[l] = a[l] sym b[l];                                                                                    \
    }                                                                                                        \
    HEAD(s32_##op)                                                                                           \
    d[l] = (int32_t)a[l] sym(int32_t) b[l];                                                                  \
    }                                                                                                        \
    HEAD(s_##op)                                                                                             \
    d[l] = sx(a[l], type_bits((ptx_type)i->type)) sym sx(b[l], type_bits((ptx_type)i->type));                \
    }

INTEGER(eq, ==)
INTEGER(ne, !=)
INTEGER(lt, <)
INTEGER(le, <=)
INTEGER(gt, >)
INTEGER(ge, >=)

static double half_value(ptx_type t, uint64_t v, bool ftz)
{
    if (t == T_BF16)
        return fp_to_f64(fp_bf16, v & 0xffff);
    return fp_to_f64(fp_f16, ftz && !(v & 0x7c00) ? v & 0x8000 : v & 0xffff);
}

#define FLOATING(op, expr)                                                                                   \
    static inline uint64_t op##_double(double x, double y)                                                   \
    {                                                                                                        \
        return (uint64_t)(expr);                                                                             \
    }                                                                                                        \
    HEAD(f32_##op)                                                                                           \
    {                                                                                                        \
        bool ftz = i->flags & F_FTZ;                                                                         \
        float x = f32_of(ftz ? ftz_f32(a[l]) : a[l]), y = f32_of(ftz ? ftz_f32(b[l]) : b[l]);                \
        d[l] = (uint64_t)(expr);                                                                             \
    }                                                                                                        \
    }                                                                                                        \
    HEAD(f64_##op)                                                                                           \
    d[l] = op##_double(f64_of(a[l]), f64_of(b[l]));                                                          \
    }                                                                                                        \
    HEAD(half_##op)                                                                                          \
    {                                                                                                        \
        ptx_type t = i->type == T_BF16 || i->type == T_BF16X2 ? T_BF16 : T_F16;                              \
        bool ftz = i->flags & F_FTZ;                                                                         \
        d[l] = op##_double(half_value(t, a[l], ftz), half_value(t, b[l], ftz));                              \
        if (i->type == T_F16X2 || i->type == T_BF16X2)                                                       \
            d[l] |= op##_double(half_value(t, a[l] >> 16, ftz), half_value(t, b[l] >> 16, ftz)) << 1;        \
    }                                                                                                        \
    }

FLOATING(feq, x == y)
FLOATING(fne, x<y || x> y)
FLOATING(flt, x < y)
FLOATING(fle, x <= y)
FLOATING(fgt, x > y)
FLOATING(fge, x >= y)
FLOATING(equ, !(x < y || x > y))
FLOATING(neu, x != y)
FLOATING(ltu, !(x >= y))
FLOATING(leu, !(x > y))
FLOATING(gtu, !(x <= y))
FLOATING(geu, !(x < y))
FLOATING(num, x == x && y == y)
FLOATING(nan, x != x || y != y)

alu_fn *alu_compare(const char *cmp, ptx_type t, bool *integer_ok)
{
    static const struct {
        const char *op;
        alu_fn *u, *s32, *s;
    } ints[] = {
        {"eq", u_eq, s32_eq, s_eq}, {"ne", u_ne, s32_ne, s_ne}, {"lt", u_lt, s32_lt, s_lt},
        {"le", u_le, s32_le, s_le}, {"gt", u_gt, s32_gt, s_gt}, {"ge", u_ge, s32_ge, s_ge},
        {"lo", u_lt, NULL, NULL},   {"ls", u_le, NULL, NULL},   {"hi", u_gt, NULL, NULL},
        {"hs", u_ge, NULL, NULL},
    };
    static const struct {
        const char *op;
        alu_fn *f32, *f64, *half;
    } floats[] = {
        {"eq", f32_feq, f64_feq, half_feq},  {"ne", f32_fne, f64_fne, half_fne},
        {"lt", f32_flt, f64_flt, half_flt},  {"le", f32_fle, f64_fle, half_fle},
        {"gt", f32_fgt, f64_fgt, half_fgt},  {"ge", f32_fge, f64_fge, half_fge},
        {"equ", f32_equ, f64_equ, half_equ}, {"neu", f32_neu, f64_neu, half_neu},
        {"ltu", f32_ltu, f64_ltu, half_ltu}, {"leu", f32_leu, f64_leu, half_leu},
        {"gtu", f32_gtu, f64_gtu, half_gtu}, {"geu", f32_geu, f64_geu, half_geu},
        {"num", f32_num, f64_num, half_num}, {"nan", f32_nan, f64_nan, half_nan},
    };
    char cls = type_class(t);
    *integer_ok = cls == 'b' || cls == 'u' || cls == 's';
    if (*integer_ok) {
        for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
            if (strcmp(cmp, ints[k].op) == 0 && (cls != 'b' || k < 2))
                return cls == 's' ? (t == T_S32 ? ints[k].s32 : ints[k].s) : ints[k].u;
        return NULL;
    }
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++)
        if (strcmp(cmp, floats[k].op) == 0)
            return t == T_F32    ? floats[k].f32
                   : t == T_F64  ? floats[k].f64
                   : t == T_TF32 ? NULL
                                 : floats[k].half;
    return NULL;
}

static uint64_t class_of(const insn *i, uint64_t v)
{
    unsigned bits = type_bits((ptx_type)i->type), fraction = bits == 64 ? 52 : 23;
    uint64_t magnitude = v & bits_mask(bits - 1), infinity = bits_mask(bits - 1 - fraction) << fraction;
    switch (i->sub) {
    case 0:
        return magnitude < infinity;
    case 1:
        return magnitude == infinity;
    case 2:
        return magnitude <= infinity;
    case 3:
        return magnitude > infinity;
    case 4:
        return magnitude < infinity && magnitude >> fraction != 0;
    default:
        return magnitude >> fraction == 0 && magnitude != 0;
    }
}

static void test_class(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = class_of(i, s[0][l]);
}

alu_fn *alu_testp(const char *what, ptx_type t)
{
    (void)what;
    return t == T_F32 || t == T_F64 ? test_class : NULL;
}
