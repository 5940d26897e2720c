/* Floating-point pieces shared by the lane functions: bits and values, flushing, rounding into any format. */
#ifndef EMU_FP_H
#define EMU_FP_H

#include "gpu/emu/module.h"
#include <math.h>

#define NAN_F32 UINT32_C(0x7fffffff)
#define NAN_F64 UINT64_C(0xfff8000000000000)
#define NAN_HALF UINT32_C(0x7fff)

static inline float f32_of(uint64_t v)
{
    uint32_t b = (uint32_t)v;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

static inline uint64_t bits_f32(float f)
{
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

/* A result: every NaN is the one NaN. */
static inline uint64_t out_f32(float f)
{
    return f != f ? NAN_F32 : bits_f32(f);
}

static inline double f64_of(uint64_t v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

static inline uint64_t bits_f64(double d)
{
    uint64_t b;
    memcpy(&b, &d, sizeof b);
    return b;
}

/* Subnormals become zero with their sign. */
static inline uint64_t ftz_f32(uint64_t v)
{
    return v & 0x7f800000 ? v : v & 0x80000000;
}

typedef struct {
    int precision, emax; /* bits of significand, hidden one included; largest exponent */
} fp_format;

extern const fp_format fp_f16, fp_bf16, fp_tf32, fp_f32, fp_f64;

/* (-1)^negative * (m + a little, if sticky) * 2^exp2 rounded into a format (RND_RN, RZ, RM, RP, RNA): its
 * bits. m must have its top bit set when sticky is. Beyond the range: infinity or the largest finite, as the
 * mode says. */
uint64_t fp_round(fp_format f, bool negative, uint64_t m, int exp2, bool sticky, uint8_t rnd);
/* A double rounded into a format; a NaN gives the format's canonical one. */
uint64_t fp_from_f64(fp_format f, double v, uint8_t rnd);
double fp_to_f64(fp_format f, uint64_t bits);
/* a * b + c, for a and b whose product is exact in a double, rounded to odd: rounding it again is harmless.
 */
double fp_fma_odd(double a, double b, double c);
/* Run with this rounding mode; fp_leave puts the usual one back. */
void fp_enter(uint8_t rnd);
void fp_leave(void);

#endif
