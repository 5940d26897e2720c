/* f16, bf16 and pairs of them: computed in f64, where sums and products of halves are exact or round
 * harmlessly, and rounded once. */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"

typedef struct {
    bool bf16, ftz, sat, relu, nan, xorsign, max;
} mode;

static double value(const mode *m, uint64_t v)
{
    if (m->bf16)
        return fp_to_f64(fp_bf16, v);
    return fp_to_f64(fp_f16, m->ftz && !(v & 0x7c00) ? v & 0x8000 : v);
}

static uint64_t flush(const mode *m, uint64_t v)
{
    return m->ftz && !m->bf16 && !(v & 0x7c00) ? v & 0x8000 : v;
}

static uint64_t result(const mode *m, double r)
{
    if (m->sat)
        r = r > 0.0 ? (r < 1.0 ? r : 1.0) : 0.0;
    if (m->relu && r <= 0.0)
        r = 0.0;
    return flush(m, fp_from_f64(m->bf16 ? fp_bf16 : fp_f16, r, RND_RN));
}

static bool is_nan(const mode *m, uint64_t v)
{
    return (v & 0x7fff) > (m->bf16 ? 0x7f80u : 0x7c00u);
}

static uint64_t pick(const mode *m, uint64_t a, uint64_t b)
{
    uint64_t sign = (a ^ b) & 0x8000, r;
    a = flush(m, a);
    b = flush(m, b);
    if (m->xorsign) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    if (is_nan(m, a) || is_nan(m, b)) {
        if (m->nan || (is_nan(m, a) && is_nan(m, b)))
            return NAN_HALF;
        r = is_nan(m, a) ? b : a;
    } else {
        double x = value(m, a), y = value(m, b);
        r = x == y ? (m->max ? a & b : a | b) : (x < y) != m->max ? a : b;
    }
    return m->xorsign ? (r & 0x7fff) | sign : m->relu && (r & 0x8000) ? 0 : r;
}

#define FN(name, expr)                                                                                       \
    static uint64_t name##_one(const mode *m, uint64_t a, uint64_t b, uint64_t c)                            \
    {                                                                                                        \
        (void)a, (void)b, (void)c;                                                                           \
        return expr;                                                                                         \
    }                                                                                                        \
    static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                        \
    {                                                                                                        \
        mode m = {i->type == T_BF16 || i->type == T_BF16X2,                                                  \
                  i->flags & F_FTZ,                                                                          \
                  i->flags & F_SAT,                                                                          \
                  i->flags & F_RELU,                                                                         \
                  i->flags & F_NAN,                                                                          \
                  i->flags & F_XORSIGN,                                                                      \
                  i->sub == 1};                                                                              \
        bool two = type_class((ptx_type)i->type) == 'h';                                                     \
        for (int l = 0; l < LANES; l++) {                                                                    \
            d[l] = name##_one(&m, s[0][l] & 0xffff, s[1][l] & 0xffff, s[2][l] & 0xffff);                     \
            if (two)                                                                                         \
                d[l] |=                                                                                      \
                    name##_one(&m, s[0][l] >> 16 & 0xffff, s[1][l] >> 16 & 0xffff, s[2][l] >> 16 & 0xffff)   \
                    << 16;                                                                                   \
        }                                                                                                    \
    }

FN(h_add, result(m, value(m, a) + value(m, b)))
FN(h_sub, result(m, value(m, a) - value(m, b)))
FN(h_mul, result(m, value(m, a) * value(m, b)))
FN(h_fma, result(m, fp_fma_odd(value(m, a), value(m, b), value(m, c))))
FN(h_abs, flush(m, a) & 0x7fff)
FN(h_neg, flush(m, a) ^ 0x8000)
FN(h_pick, pick(m, a, b))
FN(h_ex2, result(m, exp2(value(m, a))))
FN(h_tanh, result(m, tanh(value(m, a))))

alu_fn *alu_half(const char *op, const insn *i)
{
    static const struct {
        const char *op;
        alu_fn *fn;
    } table[] = {
        {"add", h_add}, {"sub", h_sub},  {"mul", h_mul},  {"fma", h_fma}, {"abs", h_abs},
        {"neg", h_neg}, {"min", h_pick}, {"max", h_pick}, {"ex2", h_ex2}, {"tanh", h_tanh},
    };
    if (i->rnd != RND_NONE && i->rnd != RND_RN)
        return NULL;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(op, table[k].op) == 0)
            return table[k].fn;
    return NULL;
}
