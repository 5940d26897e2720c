#include "verify/numeric.h"
#include <criterion/criterion.h>
#include <math.h>

static const tolerance TOL = {2e-4, 2e-3};

static numeric_verdict judge16(const double *a, const double *r, size_t n, tolerance tol)
{
    uint16_t x[64], y[64];
    for (size_t i = 0; i < n; i++) {
        x[i] = f16_from_f64(a[i]);
        y[i] = f16_from_f64(r[i]);
    }
    return numeric_judge(DT_F16, span_of(x, 2 * n), span_of(y, 2 * n), tol);
}

static numeric_verdict judge64(double a, double r, tolerance tol)
{
    return numeric_judge(DT_F64, span_of(&a, 8), span_of(&r, 8), tol);
}

static numeric_verdict judge32(float a, float r, tolerance tol)
{
    return numeric_judge(DT_F32, span_of(&a, 4), span_of(&r, 4), tol);
}

Test(numeric, the_bound_itself_passes_and_one_step_more_does_not)
{
    /* Exact numbers: bound 0.25 + 0.5*2. */
    tolerance exact = {0.25, 0.5};
    cr_assert(judge64(3.25, 2, exact).passed);
    cr_assert(judge64(0.75, 2, exact).passed);
    cr_assert_not(judge64(nextafter(3.25, 4), 2, exact).passed);
    cr_assert_not(judge64(nextafter(nextafter(0.75, 0), 0), 2, exact)
                      .passed); /* one step is half a step of the difference */
    cr_assert(judge64(-3.25, -2, exact).passed);
    cr_assert_eq(judge64(3.25, 2, exact).max_scaled_error, 1);
    cr_assert_gt(judge64(nextafter(3.25, 4), 2, exact).max_scaled_error, 1);
    cr_assert(judge32(3.25f, 2, exact).passed);
    cr_assert_not(judge32(nextafterf(3.25f, 4), 2, exact).passed);
    /* Only the reference scales the bound. */
    cr_assert(judge64(1, 2, (tolerance){0, 0.5}).passed);
    cr_assert_not(judge64(2, 1, (tolerance){0, 0.5}).passed);

    /* The published contract in F16: the last step inside it and the first outside, at every magnitude. */
    for (unsigned h = 1; h < 0x7b00; h += 7) {
        uint16_t r = (uint16_t)h, a = r;
        double bound = TOL.atol + TOL.rtol * f16_to_f64(r);
        while (f16_to_f64((uint16_t)(a + 1)) - f16_to_f64(r) <= bound)
            a++;
        cr_assert(numeric_judge(DT_F16, span_of(&a, 2), span_of(&r, 2), TOL).passed, "%04x", h);
        cr_assert_eq(numeric_judge(DT_F16, span_of(&a, 2), span_of(&r, 2), TOL).max_ulp, a - r);
        a++;
        cr_assert_not(numeric_judge(DT_F16, span_of(&a, 2), span_of(&r, 2), TOL).passed, "%04x", h);
    }
}

Test(numeric, nan_never_passes)
{
    tolerance wide = {1e300, 1}, nan_bound = {NAN, 0}, nan_rtol = {1, NAN};
    cr_assert_not(judge64(NAN, 1, wide).passed);
    cr_assert_not(judge64(1, NAN, wide).passed);
    cr_assert_not(judge64(NAN, NAN, wide).passed);
    cr_assert_not(judge64(1, 1, nan_bound).passed);
    cr_assert_not(judge64(1, 1, nan_rtol).passed);
    cr_assert_not(judge64(INFINITY, INFINITY, nan_bound).passed);
    cr_assert(isinf(judge64(NAN, 1, wide).max_scaled_error));
    cr_assert(isinf(judge64(1, 1, nan_bound).max_scaled_error));
    cr_assert_eq(judge64(NAN, 1, wide).max_ulp, UINT64_MAX);
    /* It does not hide behind what comes later, and later errors do not hide behind it. */
    numeric_verdict v = judge16((double[]){1, NAN, 5, 1}, (double[]){1, 1, 1, 1}, 4, TOL);
    cr_assert(!v.passed && v.failing == 2 && v.first_failing_index == 1 && v.worst_index == 1);
    cr_assert_eq(v.max_abs_error, 4);
}

Test(numeric, an_infinity_matches_itself_only)
{
    tolerance wide = {1e300, 1};
    cr_assert(judge64(INFINITY, INFINITY, TOL).passed);
    cr_assert(judge64(-INFINITY, -INFINITY, TOL).passed);
    cr_assert_not(judge64(INFINITY, -INFINITY, wide).passed);
    cr_assert_not(judge64(INFINITY, 65504, wide).passed);
    cr_assert_not(judge64(65504, INFINITY, wide).passed);
    numeric_verdict v = judge16((double[]){1e6, 2}, (double[]){1e6, 2}, 2, TOL);
    cr_assert(v.passed && v.nonfinite_expected == 1 && v.max_scaled_error == 0 && v.max_abs_error == 0);
}

Test(numeric, zeros_and_subnormals)
{
    tolerance none = {0, 0};
    numeric_verdict v = judge16((double[]){0.0, -0.0}, (double[]){-0.0, 0.0}, 2, none);
    cr_assert(v.passed && v.differing == 2 && v.max_scaled_error == 0 && v.max_ulp == 0);
    v = judge16((double[]){0x1p-24}, (double[]){0}, 1, none);
    cr_assert(!v.passed && isinf(v.max_scaled_error) && v.max_ulp == 1 && v.max_abs_error == 0x1p-24);
    v = judge16((double[]){0x1p-24}, (double[]){-0x1p-24}, 1, (tolerance){0x1p-23, 0});
    cr_assert(v.passed && v.max_scaled_error == 1 && v.max_ulp == 2);
    cr_assert_not(judge16((double[]){0x1p-24}, (double[]){-0x1p-24}, 1, (tolerance){0x1.ffffp-24, 0}).passed);
    cr_assert(judge32(0x1p-149f, 0, (tolerance){0x1p-149, 0}).passed);
    cr_assert(judge64(5e-324, 0, (tolerance){5e-324, 0}).passed);
    cr_assert_eq(judge64(5e-324, -5e-324, TOL).max_ulp, 2);
}

Test(numeric, worst_is_the_lowest_of_equals)
{
    numeric_verdict v = judge16((double[]){1, 2, 3, 5, 9}, (double[]){1, 1, 3, 4, 9}, 5, (tolerance){1, 0});
    cr_assert(v.passed && v.elements == 5 && v.failing == 0 && v.first_failing_index == 5 &&
              v.differing == 2);
    cr_assert(v.worst_index == 1 && v.worst_actual == 2 && v.worst_expected == 1);
    cr_assert(v.max_abs_error == 1 && v.max_scaled_error == 1 && v.max_ulp == 1024);
    /* The largest error need not be the worst scaled one. */
    v = judge16((double[]){1000, 0.5}, (double[]){1001, 0}, 2, TOL);
    cr_assert(v.worst_index == 1 && v.max_abs_error == 1 && v.failing == 1 && v.first_failing_index == 1);
    v = judge16((double[]){7, 8}, (double[]){7, 8}, 2, TOL);
    cr_assert(v.worst_index == 0 && v.worst_actual == 7);
}

Test(numeric, integers)
{
    int32_t a = INT32_MIN, b = INT32_MAX;
    numeric_verdict v = numeric_judge(DT_I32, span_of(&a, 4), span_of(&b, 4), TOL);
    cr_assert(!v.passed && v.max_abs_error == 4294967295.0 && v.max_ulp == 4294967295);
    int64_t c = (INT64_C(1) << 60) + 1, d = INT64_C(1) << 60;
    v = numeric_judge(DT_I64, span_of(&c, 8), span_of(&d, 8), (tolerance){0, 0});
    cr_assert(!v.passed && v.max_abs_error == 1 && v.max_ulp == 1);
}

Test(numeric, lengths_must_match)
{
    uint16_t x[4] = {0};
    cr_assert_not(numeric_judge(DT_F16, span_of(x, 6), span_of(x, 8), TOL).passed);
    cr_assert_not(numeric_judge(DT_F16, span_of(x, 8), span_of(x, 6), TOL).passed);
    cr_assert_not(numeric_judge(DT_F16, span_of(x, 7), span_of(x, 7), TOL).passed);
    cr_assert_not(numeric_judge(DT_F16, span_of(x, 0), span_of(x, 0), TOL).passed);
    cr_assert_eq(numeric_judge(DT_F16, span_of(x, 6), span_of(x, 8), TOL).failing, 4);
    cr_assert_eq(numeric_judge(DT_F16, span_of(x, 0), span_of(x, 0), TOL).failing, 1);
}
