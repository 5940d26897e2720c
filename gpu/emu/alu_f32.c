/* f32 lane functions. */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"

static inline float in(uint64_t v, bool ftz)
{
    return f32_of(ftz ? ftz_f32(v) : v);
}

static inline uint64_t out(float r, bool ftz, bool sat)
{
    if (sat)
        r = r > 0.0f ? (r < 1.0f ? r : 1.0f) : 0.0f; /* NaN too */
    uint64_t v = r != r ? NAN_F32 : bits_f32(r);
    return ftz ? ftz_f32(v) : v;
}

#define BODY(expr, ftz, sat)                                                                                 \
    for (int l = 0; l < LANES; l++) {                                                                        \
        float x = in(s[0][l], ftz), y = in(s[1][l], ftz), z = in(s[2][l], ftz);                              \
        (void)y, (void)z;                                                                                    \
        d[l] = out(expr, ftz, sat);                                                                          \
    }

#define ONE(name, attr, expr, ftz, sat)                                                                      \
    attr static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                   \
    {                                                                                                        \
        (void)i;                                                                                             \
        BODY(expr, ftz, sat)                                                                                 \
    }

#define ALL(name, attr, expr)                                                                                \
    ONE(name##_plain, attr, expr, false, false)                                                              \
    ONE(name##_ftz, attr, expr, true, false)                                                                 \
    ONE(name##_sat, attr, expr, (i->flags & F_FTZ) != 0, true)

#define NO_ATTR
ALL(add, NO_ATTR, x + y)
ALL(sub, NO_ATTR, x - y)
ALL(mul, NO_ATTR, x *y)
ALL(quotient, NO_ATTR, x / y)
ALL(root, NO_ATTR, __builtin_sqrtf(x))
ALL(inverse, NO_ATTR, 1.0f / x)
ALL(fma_soft, NO_ATTR, (float)fp_fma_odd((double)x, (double)y, (double)z))
#if defined(__x86_64__)
#define WITH_FMA __attribute__((target("fma")))
ALL(fma_hard, WITH_FMA, __builtin_fmaf(x, y, z))
#else
ALL(fma_hard, NO_ATTR, __builtin_fmaf(x, y, z))
#endif

static bool has_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

/* Rounding toward zero and the infinities: what the host does in that mode, out of the optimizer's sight. */
enum { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT };

static void directed(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;
    volatile float result[LANES];
    fp_enter(i->rnd);
    for (int l = 0; l < LANES; l++) {
        volatile float x = in(s[0][l], ftz), y = in(s[1][l], ftz), z = in(s[2][l], ftz);
        switch (i->sub) {
        case OP_ADD:
            result[l] = x + y;
            break;
        case OP_SUB:
            result[l] = x - y;
            break;
        case OP_MUL:
            result[l] = x * y;
            break;
        case OP_FMA:
            result[l] = fmaf(x, y, z);
            break;
        case OP_DIV:
            result[l] = x / y;
            break;
        case OP_RCP:
            result[l] = 1.0f / x;
            break;
        default:
            result[l] = sqrtf(x);
        }
    }
    fp_leave();
    for (int l = 0; l < LANES; l++)
        d[l] = out(result[l], ftz, sat);
}

static void f_abs(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = (i->flags & F_FTZ ? ftz_f32(s[0][l]) : s[0][l]) & 0x7fffffff;
}

static void f_neg(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = (i->flags & F_FTZ ? ftz_f32(s[0][l]) : s[0][l]) ^ 0x80000000;
}

static void f_copysign(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = (s[0][l] & 0x80000000) | (s[1][l] & 0x7fffffff);
}

static uint64_t pick(const insn *i, uint64_t a, uint64_t b, bool max)
{
    bool ftz = i->flags & F_FTZ;
    uint64_t sign = (a ^ b) & 0x80000000;
    if (ftz) {
        a = ftz_f32(a);
        b = ftz_f32(b);
    }
    if (i->flags & F_XORSIGN) {
        a &= 0x7fffffff;
        b &= 0x7fffffff;
    }
    float x = f32_of(a), y = f32_of(b);
    uint64_t r;
    if (x != x || y != y) {
        r = (i->flags & F_NAN) || (x != x && y != y) ? NAN_F32 : x != x ? b : a;
        if (r == NAN_F32)
            return r;
    } else if (x == y) { /* zeros of two signs */
        r = max ? a & b : a | b;
    } else {
        r = (x < y) != max ? a : b;
    }
    return i->flags & F_XORSIGN ? (r & 0x7fffffff) | sign : r;
}

static void f_min(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = pick(i, s[0][l], s[1][l], false);
}

static void f_max(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    for (int l = 0; l < LANES; l++)
        d[l] = pick(i, s[0][l], s[1][l], true);
}

alu_fn *alu_f32(const char *op, const insn *i)
{
    static const struct {
        const char *op;
        alu_fn *plain, *ftz, *sat;
    } rounded[] = {
        {"add", add_plain, add_ftz, add_sat},
        {"sub", sub_plain, sub_ftz, sub_sat},
        {"mul", mul_plain, mul_ftz, mul_sat},
        {"fma", fma_hard_plain, fma_hard_ftz, fma_hard_sat},
        {"div", quotient_plain, quotient_ftz, quotient_sat},
        {"rcp", inverse_plain, inverse_ftz, inverse_sat},
        {"sqrt", root_plain, root_ftz, root_sat},
    };
    static const struct {
        const char *op;
        alu_fn *fn;
    } plain[] = {{"abs", f_abs}, {"neg", f_neg}, {"copysign", f_copysign}, {"min", f_min}, {"max", f_max}};
    bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;
    for (size_t k = 0; k < sizeof rounded / sizeof *rounded; k++) {
        if (strcmp(op, rounded[k].op) != 0)
            continue;
        if (i->rnd != RND_NONE && i->rnd != RND_RN)
            return directed;
        if (k == OP_FMA && !has_fma())
            return sat ? fma_soft_sat : ftz ? fma_soft_ftz : fma_soft_plain;
        return sat ? rounded[k].sat : ftz ? rounded[k].ftz : rounded[k].plain;
    }
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (strcmp(op, plain[k].op) == 0)
            return plain[k].fn;
    return NULL;
}
