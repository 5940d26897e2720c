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
    /* 2^53 + 1 is no FP64; as 2^53 it would pass. */
    c = (INT64_C(1) << 53) + 1;
    d = 0;
    v = numeric_judge(DT_I64, span_of(&c, 8), span_of(&d, 8), (tolerance){0x1p53, 0});
    cr_assert(!v.passed && v.max_ulp == (UINT64_C(1) << 53) + 1);
    c--;
    cr_assert(
        !numeric_judge(DT_I64, span_of(&c, 8), span_of(&d, 8), (tolerance){0x1.fffffffffffffp52, 0}).passed);
}

/* With bounds of 0 integers are equal or they fail, at every width and both ends of the range. */
Test(numeric, integers_are_exact)
{
    static const dtype types[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        uint64_t size = dtype_bytes(types[k]);
        for (int end = -1; end <= 1; end++) {
            uint64_t a = 0, b = 0;
            dtype_store(types[k], &a, 0, end < 0 ? -INFINITY : end ? INFINITY : 0);
            b = a ^ 1; /* one apart */
            numeric_verdict v =
                numeric_judge(types[k], span_of(&a, size), span_of(&a, size), (tolerance){0, 0});
            cr_expect(v.passed && v.max_ulp == 0 && v.differing == 0);
            v = numeric_judge(types[k], span_of(&a, size), span_of(&b, size), (tolerance){0, 0});
            cr_expect(!v.passed && v.max_ulp == 1 && v.max_abs_error == 1, "%s %d: %g", dtype_names[types[k]],
                      end, v.max_abs_error);
            v = numeric_judge(types[k], span_of(&a, size), span_of(&b, size), (tolerance){1, 0});
            cr_expect(v.passed && v.max_scaled_error == 1);
        }
    }
}

/* A step of F8, BF16 and F64 is one ulp, across zero as well. */
Test(numeric, a_step_of_every_float)
{
    static const dtype types[] = {DT_F8_E4M3, DT_F8_E5M2, DT_F16, DT_BF16, DT_F32, DT_F64};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        uint64_t size = dtype_bytes(types[k]), one = 0, next, least = 1,
                 minus = 1 | UINT64_C(1) << (8 * size - 1);
        dtype_store(types[k], &one, 0, 1);
        next = one + 1;
        numeric_verdict v =
            numeric_judge(types[k], span_of(&next, size), span_of(&one, size), (tolerance){0, 0});
        cr_expect(!v.passed && v.max_ulp == 1 && v.worst_expected == 1 && v.worst_actual > 1, "%s",
                  dtype_names[types[k]]);
        v = numeric_judge(types[k], span_of(&least, size), span_of(&minus, size), (tolerance){0, 0});
        cr_expect(!v.passed && v.max_ulp == 2, "%s", dtype_names[types[k]]);
    }
    const uint8_t nan = 0x7f, largest = 0x7e; /* of E4M3, which has no infinity */
    cr_expect_not(
        numeric_judge(DT_F8_E4M3, span_of(&nan, 1), span_of(&largest, 1), (tolerance){1e9, 1}).passed);
    cr_expect_not(numeric_judge(DT_F8_E4M3, span_of(&nan, 1), span_of(&nan, 1), (tolerance){1e9, 1}).passed);
}

Test(numeric, gaps_are_not_judged)
{
    const float want[] = {1, 2, 9, 9, 3, 4, 9, 9}, have[] = {1, 2, NAN, 9, 3, 5, INFINITY, -7};
    const uint8_t gaps[] = {0, 0, 1, 1, 0, 0, 1, 1};
    span a = span_of(have, sizeof have), r = span_of(want, sizeof want);
    numeric_verdict v = numeric_judge_between(DT_F32, a, r, gaps, (tolerance){1, 0});
    cr_assert(v.passed && v.elements == 4 && v.failing == 0 && v.first_failing_index == 8 &&
              v.differing == 1);
    cr_assert(v.worst_index == 5 && v.worst_actual == 5 && v.max_abs_error == 1 && v.nonfinite_expected == 0);
    v = numeric_judge_between(DT_F32, a, r, gaps, (tolerance){0.5, 0});
    cr_assert(!v.passed && v.elements == 4 && v.failing == 1 && v.first_failing_index == 5);
    v = numeric_judge_between(DT_F32, a, r, NULL, (tolerance){1, 0});
    cr_assert(!v.passed && v.elements == 8 && v.failing == 3 && v.first_failing_index == 2);
    const uint8_t all[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    cr_assert_not(numeric_judge_between(DT_F32, a, r, all, (tolerance){1, 0}).passed, "nothing judged");
    cr_assert_not(numeric_judge_between(DT_F32, span_of(have, 4), r, gaps, (tolerance){1, 0}).passed);
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
