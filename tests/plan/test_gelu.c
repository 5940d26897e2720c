#include "artifacts/base/digest.h"
#include "plan/gelu.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

/* Steps of FP64 from a to b, of one sign. */
static uint64_t steps(double a, double b)
{
    int64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return (uint64_t)(x < y ? y - x : x - y);
}

/* Worked out with 80 decimal digits and rounded once. */
Test(gelu, known_values)
{
    static const struct {
        double x, want;
    } cases[] = {
        {0x1p+0, 0x1.aeb0b772a3ae1p-1},
        {-0x1p+0, -0x1.453d22357147ap-3},
        {0x1p-1, 0x1.6202da77df3f9p-2},
        {-0x1p-1, -0x1.3bfa4b104180fp-3},
        {0x1.8p+1, 0x1.7f88cf57fba7bp+1},
        {-0x1.8p+1, -0x1.dcc2a011612b9p-9},
        {0x1.4cb3565056850p+2, 0x1.4cb3561294fd3p+2},
        {-0x1.4cb3565056850p+2, -0x1.ee0c3e468982fp-25},
        {0x1p-30, 0x1.000000033108ap-31},
        {-0x1p-30, -0x1.fffffff99deebp-32},
        {0x1.9p+2, 0x1.8ffffffffdd2ap+2},
        {-0x1.4p+3, -0x1.47c8fd5284feap-123},
        {-0x1.4p+4, -0x1.a927dc6157cb0p-866},
        {-0x1.5p+4, -0x1.9c99db33e694cp-998},
        {0x1.f7ced916872bp+2, 0x1.f7ced916872b0p+2},
        {-0x1.999999999999ap-4, -0x1.78f92a69f9d32p-5},
        {0x1.0624dd2f1a9fcp-10, 0x1.065a68bbecd6dp-11},
        {-0x1.23456789abcdep-700, -0x1.23456789abcdep-701},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double y = gelu_tanh(cases[i].x);
        cr_expect(steps(y, cases[i].want) <= 3, "%a: %a, not %a", cases[i].x, y, cases[i].want);
    }
}

/* The same through the tanh of libm, in 64 bits and more. */
static long double wide(double v)
{
    const long double c = 0.79788456080286535587989211986876373695L;
    long double x = v, u = c * (x + 0.044715L * x * x * x);
    return x < 0 ? x / (1 + expl(-2 * u)) : x / 2 * (1 + tanhl(u));
}

Test(gelu, within_four_ulp_of_libm)
{
    uint64_t worst = 0;
    for (int i = -23 * 4096; i <= 9 * 4096; i++) {
        double x = i / 4096. + 0x1p-40, y = gelu_tanh(x);
        long double w = wide(x);
        uint64_t apart = steps(y, (double)w);
        cr_assert(apart <= (LDBL_MANT_DIG >= 64 ? 4 : 2000), "%a: %a, not %a", x, y, (double)w);
        worst = apart > worst ? apart : worst;
    }
    for (int e = -1074; e < 3; e++)
        for (double sign = -1; sign <= 1; sign += 2) {
            double x = sign * ldexp(1.2345678, e), y = gelu_tanh(x);
            cr_assert(steps(y, (double)wide(x)) <= 4, "%a: %a", x, y);
        }
    cr_log_info("worst: %d ulp", (int)worst);
}

Test(gelu, special_values)
{
    cr_expect(gelu_tanh(0.0) == 0 && !signbit(gelu_tanh(0.0)));
    cr_expect(gelu_tanh(-0.0) == 0 && signbit(gelu_tanh(-0.0)));
    cr_expect(isnan(gelu_tanh(NAN)) && isnan(gelu_tanh(-NAN)));
    cr_expect(gelu_tanh(INFINITY) == INFINITY && gelu_tanh(DBL_MAX) == DBL_MAX && gelu_tanh(8.5) == 8.5);
    const double none[] = {-INFINITY, -DBL_MAX, -1e10, -23.5, -22.5, -21.75};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect(gelu_tanh(none[i]) == 0 && signbit(gelu_tanh(none[i])), "%g", none[i]);
    cr_expect_eq(gelu_tanh(DBL_MIN), DBL_MIN / 2);
    cr_expect_eq(gelu_tanh(-DBL_MIN), -DBL_MIN / 2);
    /* Where one way of working it out gives over to another. */
    const double seams[] = {8, -23, 0x1p-500, -0x1p-500};
    for (size_t i = 0; i < sizeof seams / sizeof *seams; i++)
        for (int k = -1; k <= 1; k++) {
            double x = k ? nextafter(seams[i], k < 0 ? -INFINITY : INFINITY) : seams[i], y = gelu_tanh(x);
            cr_expect(steps(y, (double)wide(x)) <= 1, "%a: %a", x, y);
        }
}

/* These bits, on every machine and of every compiler. */
Test(gelu, bits)
{
    enum { N = 1 << 16 };
    static double y[N];
    char hex[DIGEST_HEX];
    uint64_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 48271 % 2147483647; /* minstd */
        double x = (double)state * 0x1p-31 * 32 - 23;
        y[i] = gelu_tanh(i & 1 ? x : x * 0x1p-3);
    }
    digest_hex(digest_of(span_of(y, sizeof y)), hex);
    cr_expect_str_eq(hex, "6c73f885e9d73d55b8eb8b003ef9d728cbe17d437bd2411ae56afdb7975abcb9");
}
