#include "verify/numeric.h"

/* NaN-safe without <math.h>: false for NaN and infinities. */
static bool is_finite(double v)
{
    return v - v == 0;
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

static uint64_t ulps(dtype t, const void *actual, const void *expected, uint64_t i)
{
    double a = dtype_load(t, actual, i), b = dtype_load(t, expected, i);
    int64_t x, y;
    if (a != a || b != b)
        return UINT64_MAX;
    if (dtype_is_float(t) && t != DT_F64) {
        x = dtype_ordinal(t, actual, i);
        y = dtype_ordinal(t, expected, i);
    } else if (dtype_bytes(t) < 8) {
        x = (int64_t)a;
        y = (int64_t)b;
    } else {
        memcpy(&x, (const uint8_t *)actual + 8 * i, sizeof x);
        memcpy(&y, (const uint8_t *)expected + 8 * i, sizeof y);
        if (t == DT_F64) {
            x = x < 0 ? -(x & INT64_MAX) : x;
            y = y < 0 ? -(y & INT64_MAX) : y;
        }
    }
    __int128 d = t == DT_U64 ? (__int128)(uint64_t)x - (uint64_t)y : (__int128)x - y;
    return (uint64_t)(d < 0 ? -d : d);
}

static double rounded_up(uint64_t d)
{
    double v = (double)d;
    return d >> 53 ? v + v * 0x1p-52 : v;
}

numeric_verdict numeric_judge(dtype t, span actual, span expected, tolerance tol)
{
    return numeric_judge_between(t, actual, expected, NULL, tol);
}

numeric_verdict numeric_judge_between(dtype t, span actual, span expected, const uint8_t *gaps, tolerance tol)
{
    uint64_t size = dtype_bytes(t);
    uint64_t n = expected.n / size;
    numeric_verdict v = {.first_failing_index = n};
    for (uint64_t i = 0; i < n; i++)
        v.elements += !gaps || !gaps[i];
    if (actual.n != expected.n || expected.n % size != 0 || v.elements == 0) {
        v.failing = v.elements ? v.elements : 1;
        v.first_failing_index = 0;
        v.max_scaled_error = __builtin_inf();
        return v;
    }
    bool any = false;
    for (uint64_t i = 0; i < n; i++) {
        if (gaps && gaps[i])
            continue;
        double a = dtype_load(t, actual.p, i), r = dtype_load(t, expected.p, i), error, scaled;
        bool finite = is_finite(a) && is_finite(r), pass;
        if (finite) {
            double bound = tol.atol + tol.rtol * magnitude(r);
            /* As FP64, I64 and U64 beyond 2^53 are rounded. So is their difference, upwards: none passes by
             * it.
             */
            error =
                t == DT_I64 || t == DT_U64 ? rounded_up(ulps(t, actual.p, expected.p, i)) : magnitude(a - r);
            pass = error <= bound;
            /* Only a bound of zero divides 0 by 0; a NaN in the bound fails and is as bad as can be. */
            scaled = error == 0 && pass ? 0 : bound > 0 ? error / bound : __builtin_inf();
            if (error > v.max_abs_error)
                v.max_abs_error = error;
        } else {
            double bound = tol.atol + tol.rtol;
            pass = a == r && bound == bound; /* the same infinity */
            scaled = pass ? 0 : __builtin_inf();
        }
        v.nonfinite_expected += !is_finite(r);
        v.differing += memcmp(actual.p + i * size, expected.p + i * size, size) != 0;
        if (!pass) {
            if (v.failing++ == 0)
                v.first_failing_index = i;
        }
        if (!any || scaled > v.max_scaled_error) {
            any = true;
            v.max_scaled_error = scaled;
            v.worst_index = i;
            v.worst_actual = a;
            v.worst_expected = r;
        }
    }
    v.max_ulp = ulps(t, actual.p, expected.p, v.worst_index);
    v.passed = v.failing == 0;
    return v;
}
