/* f64 lane functions. */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"

#define FN(name, attr, expr)                                                                                 \
    attr static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                   \
    {                                                                                                        \
        (void)i;                                                                                             \
        for (int l = 0; l < LANES; l++) {                                                                    \
            double x = f64_of(s[0][l]), y = f64_of(s[1][l]), z = f64_of(s[2][l]);                            \
            (void)y, (void)z;                                                                                \
            d[l] = bits_f64(expr);                                                                           \
        }                                                                                                    \
    }

#define NO_ATTR
FN(add, NO_ATTR, x + y)
FN(sub, NO_ATTR, x - y)
FN(mul, NO_ATTR, x *y)
FN(quotient, NO_ATTR, x / y)
FN(inverse, NO_ATTR, 1.0 / x)
FN(root, NO_ATTR, __builtin_sqrt(x))
FN(fma_soft, NO_ATTR, fma(x, y, z))
#if defined(__x86_64__)
#define WITH_FMA __attribute__((target("fma")))
FN(fma_hard, WITH_FMA, __builtin_fma(x, y, z))
#else
FN(fma_hard, NO_ATTR, __builtin_fma(x, y, z))
#endif

enum { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT };

static void directed(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    volatile double result[LANES];
    fp_enter(i->rnd);
    for (int l = 0; l < LANES; l++) {
        volatile double x = f64_of(s[0][l]), y = f64_of(s[1][l]), z = f64_of(s[2][l]);
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
            result[l] = fma(x, y, z);
            break;
        case OP_DIV:
            result[l] = x / y;
            break;
        case OP_RCP:
            result[l] = 1.0 / x;
            break;
        default:
            result[l] = sqrt(x);
        }
    }
    fp_leave();
    for (int l = 0; l < LANES; l++)
        d[l] = bits_f64(result[l]);
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the low word of the result is zero. */
static uint64_t coarse(uint64_t v, bool root)
{
    if (!(v & UINT64_C(0x7ff0000000000000)))
        v &= UINT64_C(1) << 63;
    double x = f64_of(v & ~(uint64_t)UINT32_MAX);
    uint64_t r = bits_f64(root ? 1.0 / sqrt(x) : 1.0 / x);
    if (!(r & UINT64_C(0x7ff0000000000000)))
        r &= UINT64_C(1) << 63;
    return r & ~(uint64_t)UINT32_MAX;
}

static void rcp_coarse(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = coarse(s[0][l], false);
}

static void rsqrt_coarse(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = coarse(s[0][l], true);
}

static void rsqrt(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = bits_f64((double)(1.0L / sqrtl((long double)f64_of(s[0][l]))));
}

static void f_abs(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = s[0][l] & bits_mask(63);
}

static void f_neg(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = s[0][l] ^ UINT64_C(1) << 63;
}

static void f_copysign(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = (s[0][l] & UINT64_C(1) << 63) | (s[1][l] & bits_mask(63));
}

static uint64_t pick(uint64_t a, uint64_t b, bool max)
{
    double x = f64_of(a), y = f64_of(b);
    if (x != x)
        return y != y ? a | UINT64_C(1) << 51 : b;
    if (y != y)
        return a;
    if (x == y)
        return max ? a & b : a | b;
    return (x < y) != max ? a : b;
}

static void f_min(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = pick(s[0][l], s[1][l], false);
}

static void f_max(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])
{
    (void)i;
    for (int l = 0; l < LANES; l++)
        d[l] = pick(s[0][l], s[1][l], true);
}

static bool has_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

alu_fn *alu_f64(const char *op, const insn *i)
{
    static const struct {
        const char *op;
        alu_fn *fn;
    } table[] = {
        {"add", add},     {"sub", sub},   {"mul", mul},   {"fma", fma_hard}, {"div", quotient},
        {"rcp", inverse}, {"sqrt", root}, {"abs", f_abs}, {"neg", f_neg},    {"copysign", f_copysign},
        {"min", f_min},   {"max", f_max},
    };
    if (i->flags & F_APPROX) {
        if (strcmp(op, "rcp") == 0)
            return rcp_coarse;
        return strcmp(op, "rsqrt") != 0 ? NULL : i->flags & F_FTZ ? rsqrt_coarse : rsqrt;
    }
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (strcmp(op, table[k].op) != 0)
            continue;
        if (k <= OP_SQRT && i->rnd != RND_NONE && i->rnd != RND_RN)
            return directed;
        if (k == OP_FMA && !has_fma())
            return fma_soft;
        return table[k].fn;
    }
    return NULL;
}
