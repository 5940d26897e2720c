#include "plan/recipe.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD "{\"format\":\"replay-recipe/1\",\"fixture\":\"f\",\"purpose\":\"p\",\"seed\":5,\"tensors\":["
#define T(dtype, shape, values) "{\"name\":\"t\",\"dtype\":\"" dtype "\",\"shape\":" shape "," values "}"
#define ONE(dtype, shape, values) HEAD T(dtype, shape, values) "]}"

static tensor *generate(scratch *sc, const char *json)
{
    rp_err e = {0};
    recipe *r;
    tensor *t;
    size_t n;
    cr_assert_eq(recipe_read(&e, &r, sc, "r", span_str(json)), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert_eq(recipe_generate(&e, &t, &n, sc, r), RP_OK);
    return t;
}

static void expect_values(const char *json, const double *want, uint64_t n)
{
    scratch *sc = scratch_new(0);
    const tensor *t = generate(sc, json);
    cr_assert_eq(t->elements, n);
    for (uint64_t i = 0; i < n; i++)
        cr_expect_eq(dtype_load(t->type, t->data, i), want[i], "element %d is %g, not %g", (int)i,
                     dtype_load(t->type, t->data, i), want[i]);
    scratch_free(sc);
}

Test(recipe, worked_by_hand)
{
    expect_values(ONE("f32", "[3]", "\"generator\":\"constant\",\"value\":-3,\"shift\":-2"),
                  (double[]){-.75, -.75, -.75}, 3);
    /* 2 * (-4 + (1 + 3i + j) mod 5) / 2 */
    expect_values(ONE("f16", "[2,3]",
                      "\"generator\":\"affine\",\"offset\":1,\"steps\":[3,1],\"modulus\":5,\"base\":-4,"
                      "\"times\":2,\"shift\":-1"),
                  (double[]){-3, -2, -1, 0, -4, -3}, 6);
    /* One draw a block that can only be 7, then 10 where the block is even: blocks side by side, then folded.
     */
#define TERMS(fold)                                                                                          \
    "\"generator\":\"combine\",\"fold\":" fold ",\"shift\":0,\"terms\":["                                    \
    "{\"low\":7,\"high\":7,\"every\":1,\"pattern\":[1,-1]},{\"low\":10,\"high\":10,\"every\":2,\"pattern\":" \
    "[0,1]}]"
    expect_values(ONE("i32", "[1,6]", TERMS("false")), (double[]){7, 3, 7, -7, 7, 3}, 6);
    expect_values(ONE("i32", "[1,6]", TERMS("true")), (double[]){7, 7, 7, 3, -7, 3}, 6);
    expect_values(
        ONE("f64", "[2,3]",
            "\"generator\":\"concat\",\"axis\":1,\"parts\":["
            "{\"extent\":1,\"generator\":\"constant\",\"value\":1,\"shift\":0},"
            "{\"extent\":2,\"generator\":\"concat\",\"axis\":0,\"parts\":["
            "{\"extent\":1,\"generator\":\"affine\",\"offset\":0,\"steps\":[10,1],\"modulus\":100,\"base\":0,"
            "\"times\":1,\"shift\":0},"
            "{\"extent\":1,\"generator\":\"constant\",\"value\":5,\"shift\":-1}]}]"),
        (double[]){1, 1, 2, 1, 2.5, 2.5}, 6);
    /* Generated as [3,2], a row at a time, then stored as [2,3]. */
    expect_values(ONE("f16", "[2,3]",
                      "\"transposed\":true,\"generator\":\"affine\",\"offset\":0,\"steps\":[10,1],"
                      "\"modulus\":100,\"base\":0,"
                      "\"times\":1,\"shift\":0"),
                  (double[]){0, 10, 20, 1, 11, 21}, 6);
    /* One rounding, to even: 2049 and 2051 are halfway between values of F16; 65520 overflows. */
    expect_values(ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":2049,\"shift\":0"),
                  (double[]){2048}, 1);
    expect_values(ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":2051,\"shift\":0"),
                  (double[]){2052}, 1);
    expect_values(ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":65520,\"shift\":0"),
                  (double[]){INFINITY}, 1);
    expect_values(ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":-3,\"shift\":-25"),
                  (double[]){-0x1p-23}, 1);
}

#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

/* SplitMix64 as published: the n-th output of a generator in that state. */
WRAPS static uint64_t splitmix(uint64_t state, uint64_t n)
{
    uint64_t z = state + (n + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Test(recipe, draws_are_splitmix64)
{
    /* The published first outputs of state 1234567. */
    cr_assert_eq(splitmix(1234567, 0), 6457827717110365317u);
    cr_assert_eq(splitmix(1234567, 1), 3203168211198807973u);
    scratch *sc = scratch_new(0);
    const char *uniform =
        T("i32", "[2,3]", "\"generator\":\"uniform\",\"low\":-1000,\"high\":999,\"shift\":0");
    char both[1000];
    snprintf(both, sizeof both, HEAD "%s,%s]}",
             T("i32", "[1]", "\"generator\":\"normal\",\"numerator\":1,\"shift\":0"), uniform);
    char *second = strstr(both + strlen(HEAD) + 12, "\"name\":\"t\"");
    second[8] = 'u';
    tensor *t = generate(sc, both);
    for (uint64_t i = 0; i < 6; i++) {
        int64_t want = -1000 + (int64_t)((splitmix(splitmix(5, 1), 4 * i) >> 32) * 2000 >> 32);
        cr_expect_eq(((int32_t *)t[1].data)[i], want);
    }
    int64_t sum = 0;
    for (uint64_t lane = 0; lane < 3; lane++)
        for (int part = 0; part < 4; part++)
            sum += (int64_t)(splitmix(splitmix(5, 0), lane) >> 16 * part & 0xffff);
    cr_expect_eq(((int32_t *)t[0].data)[0], 2 * sum - 786420);
    scratch_free(sc);
}

Test(recipe, distributions)
{
    scratch *sc = scratch_new(0);
    const tensor *n =
        generate(sc, ONE("f64", "[100000]", "\"generator\":\"normal\",\"numerator\":3,\"shift\":-20"));
    const tensor *u =
        generate(sc, ONE("f64", "[100000]", "\"generator\":\"uniform\",\"low\":-3,\"high\":3,\"shift\":0"));
    double sum = 0, squares = 0, counts[7] = {0};
    for (uint64_t i = 0; i < n->elements; i++) {
        double v = ((double *)n->data)[i];
        sum += v;
        squares += v * v;
        counts[(int)((double *)u->data)[i] + 3]++;
    }
    double variance = squares / 1e5, deviation = 3.0 / 8;
    cr_assert(sum / 1e5 < 0.006 && sum / 1e5 > -0.006, "mean %g", sum / 1e5);
    cr_assert(variance > 0.98 * deviation * deviation && variance < 1.02 * deviation * deviation,
              "variance %g", variance);
    for (int i = 0; i < 7; i++)
        cr_assert(counts[i] > 13700 && counts[i] < 14900, "%g of value %d", counts[i], i - 3);
    scratch_free(sc);
}

#define CONST0 "\"generator\":\"constant\",\"value\":0,\"shift\":0"
#define TERM "{\"low\":0,\"high\":1,\"every\":1,\"pattern\":[1,1]}"

Test(recipe, refuses)
{
    static const struct {
        const char *json;
        finding_id id;
        const char *where;
    } cases[] = {
        {"{", FIND_JSON_SYNTAX, NULL},
        {"{\"format\":\"replay-recipe/2\"}", FIND_JSON_VALUE, "/format"},
        {"{\"format\":\"replay-recipe/1\"}", FIND_JSON_MISSING_KEY, ""},
        {"{\"format\":\"replay-recipe/1\",\"fixture\":\"F\",\"purpose\":\"p\",\"seed\":1,\"tensors\":[]}",
         FIND_JSON_VALUE, "/fixture"},
        {"{\"format\":\"replay-recipe/1\",\"fixture\":\"f\",\"purpose\":\"\",\"seed\":1,\"tensors\":[]}",
         FIND_JSON_VALUE, "/purpose"},
        {"{\"format\":\"replay-recipe/1\",\"fixture\":\"f\",\"purpose\":\"p\",\"seed\":-1,\"tensors\":[]}",
         FIND_JSON_NUMBER, "/seed"},
        {HEAD "]}", FIND_JSON_VALUE, "/tensors"},
        {HEAD T("f16", "[1]", CONST0) "," T("f16", "[1]", CONST0) "]}", FIND_JSON_VALUE, "/tensors/1"},
        {ONE("f16", "[4]", "\"transposed\":true," CONST0), FIND_JSON_VALUE, "/tensors/0/transposed"},
        {ONE("f16", "[2,2]", "\"transposed\":1," CONST0), FIND_JSON_TYPE, "/tensors/0/transposed"},
        {HEAD T("f16", "[1]", CONST0) "],\"x\":1}", FIND_JSON_UNKNOWN_KEY, "/x"},
        {ONE("f8", "[1]", CONST0), FIND_JSON_VALUE, "/tensors/0/dtype"},
        {ONE("f16", "[]", CONST0), FIND_JSON_VALUE, "/tensors/0/shape"},
        {ONE("f16", "[1,1,1,1,1]", CONST0), FIND_JSON_VALUE, "/tensors/0/shape"},
        {ONE("f16", "[2,0]", CONST0), FIND_JSON_VALUE, "/tensors/0/shape/1"},
        {ONE("f16", "[16384,16385]", CONST0), FIND_JSON_VALUE, "/tensors/0/shape"},
        {ONE("f16", "[4503599627370496,4503599627370496]", CONST0), FIND_JSON_VALUE, "/tensors/0/shape"},
        {ONE("f16", "[1]", CONST0 ",\"seed\":1"), FIND_JSON_UNKNOWN_KEY, "/tensors/0/seed"},
        {ONE("f16", "[1]", "\"generator\":\"gauss\""), FIND_JSON_VALUE, "/tensors/0/generator"},
        {ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":1.5,\"shift\":0"), FIND_JSON_NUMBER,
         "/tensors/0/value"},
        {ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":1073741825,\"shift\":0"), FIND_JSON_NUMBER,
         "/tensors/0/value"},
        {ONE("f16", "[1]", "\"generator\":\"constant\",\"value\":1,\"shift\":1201"), FIND_JSON_NUMBER,
         "/tensors/0/shift"},
        {ONE("f16", "[1]", "\"generator\":\"uniform\",\"low\":2,\"high\":1,\"shift\":0"), FIND_JSON_VALUE,
         "/tensors/0/high"},
        {ONE("f16", "[1]", "\"generator\":\"normal\",\"shift\":0"), FIND_JSON_MISSING_KEY, "/tensors/0"},
        {ONE("f16", "[1]",
             "\"generator\":\"affine\",\"offset\":0,\"steps\":[1,1],\"modulus\":3,\"base\":0,\"times\":1,"
             "\"shift\":0"),
         FIND_JSON_VALUE, "/tensors/0/steps"},
        {ONE("f16", "[1]",
             "\"generator\":\"affine\",\"offset\":0,\"steps\":[1],\"modulus\":0,\"base\":0,\"times\":1,"
             "\"shift\":0"),
         FIND_JSON_NUMBER, "/tensors/0/modulus"},
        {ONE("f16", "[4]", "\"generator\":\"combine\",\"fold\":1,\"terms\":[" TERM "],\"shift\":0"),
         FIND_JSON_TYPE, "/tensors/0/fold"},
        {ONE("f16", "[3]", "\"generator\":\"combine\",\"fold\":true,\"terms\":[" TERM "],\"shift\":0"),
         FIND_JSON_VALUE, "/tensors/0/terms/0/pattern"},
        {ONE("f16", "[4]", "\"generator\":\"combine\",\"fold\":true,\"terms\":[],\"shift\":0"),
         FIND_JSON_VALUE, "/tensors/0/terms"},
        {ONE("f16", "[4]",
             "\"generator\":\"combine\",\"fold\":true,\"terms\":[" TERM
             ",{\"low\":0,\"high\":1,\"every\":1,\"pattern\":[1]}],"
             "\"shift\":0"),
         FIND_JSON_VALUE, "/tensors/0/terms/1/pattern"},
        {ONE("f16", "[4]", "\"generator\":\"concat\",\"axis\":1,\"parts\":[]"), FIND_JSON_NUMBER,
         "/tensors/0/axis"},
        {ONE("f16", "[4]", "\"generator\":\"concat\",\"axis\":0,\"parts\":[]"), FIND_JSON_VALUE,
         "/tensors/0/parts"},
        {ONE("f16", "[4]", "\"generator\":\"concat\",\"axis\":0,\"parts\":[{\"extent\":3," CONST0 "}]"),
         FIND_JSON_VALUE, "/tensors/0/parts"},
        {ONE("f16", "[4]", "\"generator\":\"concat\",\"axis\":0,\"parts\":[{\"extent\":5," CONST0 "}]"),
         FIND_JSON_VALUE, "/tensors/0/parts/0"},
        {ONE("f16", "[4]", "\"generator\":\"concat\",\"axis\":0,\"parts\":[{\"extent\":0," CONST0 "}]"),
         FIND_JSON_NUMBER, "/tensors/0/parts/0/extent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        recipe *r;
        cr_assert_eq(recipe_read(&e, &r, sc, "r", span_str(cases[i].json)), RP_INVALID, "%s", cases[i].json);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", cases[i].json, e.msg);
        if (cases[i].where)
            cr_expect_str_eq(e.where, cases[i].where, "%s: %s", cases[i].json, e.msg);
        scratch_free(sc);
    }
}

Test(recipe, nesting_is_bounded)
{
    scratch *sc = scratch_new(0);
    const char *v = CONST0;
    for (int depth = 1; depth <= 5; depth++) {
        v = scratch_printf(sc, "\"generator\":\"concat\",\"axis\":0,\"parts\":[{\"extent\":1,%s}]", v);
        const char *json =
            scratch_printf(sc, HEAD "{\"name\":\"t\",\"dtype\":\"f16\",\"shape\":[1],%s}]}", v);
        rp_err e = {0};
        recipe *r;
        cr_assert_eq(recipe_read(&e, &r, sc, "r", span_str(json)), depth <= 4 ? RP_OK : RP_INVALID,
                     "depth %d", depth);
    }
    scratch_free(sc);
}

Test(recipe, starved)
{
    span json = span_str(ONE("f16", "[100]", CONST0));
    bool fits = false;
    for (size_t limit = 16; limit < 1 << 16 && !fits; limit += 64) {
        scratch *sc = scratch_new(limit);
        rp_err e = {0};
        recipe *r;
        tensor *t;
        size_t n;
        fits = !recipe_read(&e, &r, sc, "r", json) && !recipe_generate(&e, &t, &n, sc, r);
        cr_assert(fits || e.code == RP_NOMEM, "%s", e.msg);
        scratch_free(sc);
    }
    cr_assert(fits);
}
