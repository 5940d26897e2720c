/* What the hardware approximates, here rounded correctly as far as the host's f64 functions reach. */
#include "gpu/emu/alu.h"
#include "gpu/emu/fp.h"

static float divide(float x, float y)
{
    return x / y;
}

/* div.approx: a divisor beyond 2^126 gives zero. */
static float divide_approx(float x, float y)
{
    float magnitude = fabsf(y);
    if (magnitude > 0x1p126f && magnitude <= 0x1.fffffep127f)
        return isinf(x) ? NAN : copysignf(0.0f, copysignf(1.0f, x) * copysignf(1.0f, y));
    return x / y;
}

#define FN(name, expr)                                                                                       \
    static void name(const insn *i, uint64_t *restrict d, const uint64_t *const s[4])                        \
    {                                                                                                        \
        bool ftz = i->flags & F_FTZ, sat = i->flags & F_SAT;                                                 \
        for (int l = 0; l < LANES; l++) {                                                                    \
            float x = f32_of(ftz ? ftz_f32(s[0][l]) : s[0][l]),                                              \
                  y = f32_of(ftz ? ftz_f32(s[1][l]) : s[1][l]);                                              \
            (void)y;                                                                                         \
            float r = expr;                                                                                  \
            if (sat)                                                                                         \
                r = r > 0.0f ? (r < 1.0f ? r : 1.0f) : 0.0f;                                                 \
            d[l] = ftz ? ftz_f32(out_f32(r)) : out_f32(r);                                                   \
        }                                                                                                    \
    }

FN(m_rcp, 1.0f / x)
FN(m_rsqrt, (float)(1.0L / sqrtl((long double)x)))
FN(m_sqrt, sqrtf(x))
FN(m_sin, (float)sin((double)x))
FN(m_cos, (float)cos((double)x))
FN(m_lg2, (float)log2((double)x))
FN(m_ex2, (float)exp2((double)x))
FN(m_tanh, (float)tanh((double)x))
FN(m_div_full, divide(x, y))
FN(m_div_approx, divide_approx(x, y))

alu_fn *alu_math(const char *op, const insn *i)
{
    static const struct {
        const char *op;
        alu_fn *fn;
    } table[] = {
        {"rcp", m_rcp}, {"rsqrt", m_rsqrt}, {"sqrt", m_sqrt}, {"sin", m_sin},           {"cos", m_cos},
        {"lg2", m_lg2}, {"ex2", m_ex2},     {"tanh", m_tanh}, {"div.full", m_div_full}, {"div", m_div_approx},
    };
    (void)i;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(op, table[k].op) == 0)
            return table[k].fn;
    return NULL;
}
