#include "plan/gelu.h"
#include <stdint.h>
#include <string.h>

/* The form above is x / (1 + exp(-t)) with t = x * (A + B * x^2): nothing cancels. An error in t counts |t|
 * times in exp(t), up to 760 times, so t is the sum of two numbers of FP64. */
typedef struct {
    double high, low;
} twofold;

/* sqrt(8/pi), and 0.044715 times that. */
static const twofold A = {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54};
static const twofold B = {0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61};

/* Exact, where |a| >= |b|. */
static twofold fast_sum(double a, double b)
{
    double s = a + b;
    return (twofold){s, b - (s - a)};
}

/* The upper 26 bits of a, which must stay far below 2^996. */
static double upper(double a)
{
    double c = a * 0x1.0000002p+27;
    return c - (c - a);
}

/* a * b, exactly (Dekker), where nothing of it is subnormal. */
static twofold product(double a, double b)
{
    double p = a * b, ah = upper(a), bh = upper(b), al = a - ah, bl = b - bh;
    return (twofold){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static twofold times(twofold a, twofold b)
{
    twofold p = product(a.high, b.high);
    return fast_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/* A + b, for b.high >= 0: either may be the larger. */
static twofold plus_a(twofold b)
{
    twofold s = b.high < A.high ? fast_sum(A.high, b.high) : fast_sum(b.high, A.high);
    return fast_sum(s.high, s.low + (A.low + b.low));
}

static double power_of_two(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* v * 2^k, rounded once, for a v near 1 and k from -1200 to 0. */
static double scaled(double v, int k)
{
    return k < -1000 ? v * 0x1p-600 * power_of_two(k + 600) : v * power_of_two(k);
}

/* exp(t) = result * 2^k with the result from 0.7 to 1.5, for t from -800 to 0. */
static double exp_scaled(twofold t, int *k)
{
    /* ln 2 in two parts: the first times k is exact. */
    static const double ln2_high = 0x1.62e42fefa2p-1, ln2_low = 0x1.9ef35793c7673p-41;
    /* 1/n! from 13 down to 2: at |r| <= 0.35 the next term is below 2^-57. */
    static const double factorials[] = {6227020800, 479001600, 39916800, 3628800, 362880, 40320,
                                        5040,       720,       120,      24,      6,      2};
    int n = (int)(t.high * 0x1.71547652b82fep+0 - 0.5);
    twofold r = fast_sum(t.high - n * ln2_high, t.low - n * ln2_low);
    double q = 0;
    for (unsigned i = 0; i < sizeof factorials / sizeof *factorials; i++)
        q = q * r.high + 1 / factorials[i];
    *k = n;
    return 1 + (r.high + (r.low + r.high * r.high * q));
}

double gelu_tanh(double x)
{
    int k;
    /* From 8 on exp(-t) is below 2^-70, and below -23 the result is below half of the smallest subnormal.
     * Below 2^-500 x^2 does nothing any more. */
    if (x != x || x == 0 || x > 8)
        return x;
    if (x < -23)
        return -0.0;
    double size = x < 0 ? -x : x;
    if (size < 0x1p-500)
        return 0.5 * x;
    twofold t = times(plus_a(times(B, product(size, size))), (twofold){size, 0});
    double e = exp_scaled((twofold){-t.high, -t.low}, &k);
    return x > 0 ? x / (1 + scaled(e, k)) : scaled(x * e / (1 + scaled(e, k)), k);
}
