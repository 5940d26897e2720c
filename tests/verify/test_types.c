/* Every element type on the whole way of a fixture: recipe, file, reference, judgement. */
#include "artifacts/safetensors.h"
#include "verify/fixture_file.h"
#include "verify/numeric.h"
#include <criterion/criterion.h>
#include <math.h>

enum { BATCH = 2, M = 5, N = 7, K = 24 };

static const st_tensor *named(const st_tensor *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return &v[i];
    cr_assert_fail("no tensor %s", name);
    return NULL;
}

/* A product over a batch, of a [BATCH, M, K] and b [N, K], made as a bundle's fixture is, against sums of
 * integers. */
static void product(dtype ta, dtype tb, dtype td, int low, int high, int shift)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    recipe *rc;
    reference *ref;
    made_fixture made;
    st_tensor *file;
    size_t n;
    const char *what = scratch_printf(sc, "%s x %s -> %s", dtype_names[ta], dtype_names[tb], dtype_names[td]);
    const char *values =
        scratch_printf(sc, "\"generator\":\"uniform\",\"low\":%d,\"high\":%d,\"shift\":%d", low, high, shift);
    const char *a = scratch_printf(sc, "\"name\":\"a\",\"dtype\":\"%s\",\"shape\":[%d,%d,%d]",
                                   dtype_names[ta], BATCH, M, K);
    const char *b =
        scratch_printf(sc, "\"name\":\"b\",\"dtype\":\"%s\",\"shape\":[%d,%d]", dtype_names[tb], N, K);
    const char *recipe_text =
        scratch_printf(sc,
                       "{\"format\":\"replay-recipe/1\",\"fixture\":\"f\",\"purpose\":\"p\",\"seed\":3,"
                       "\"tensors\":[{%s,%s},{%s,%s}]}",
                       a, values, b, values);
    const char *text =
        scratch_printf(sc,
                       "{\"format\":\"replay-reference/1\",\"inputs\":[{%s},{%s}],\"nodes\":[{\"id\":\"p\","
                       "\"op\":\"matmul\",\"a\":\"a\",\"b\":\"b\",\"transpose_b\":true}],\"outputs\":"
                       "[{\"name\":\"d\",\"value\":\"p\",\"dtype\":\"%s\"}]}",
                       a, b, dtype_names[td]);
    cr_assert_eq(recipe_read(&e, &rc, sc, "recipe", span_str(recipe_text)), RP_OK, "%s: %s", what, e.msg);
    cr_assert_eq(reference_read(&e, &ref, sc, "reference", span_str(text)), RP_OK, "%s: %s", what, e.msg);
    cr_assert_eq(fixture_make(&e, &made, sc, rc, ref), RP_OK, "%s: %s", what, e.msg);
    cr_assert_eq(st_read(&e, &file, &n, sc, "fixture", made.file), RP_OK, "%s: %s", what, e.msg);
    cr_assert_eq(n, 3);
    const st_tensor *fa = named(file, n, "in.a"), *fb = named(file, n, "in.b"), *fd = named(file, n, "out.d");
    cr_assert(fa->type == ta && fa->rank == 3 && fb->type == tb && fd->type == td && fd->rank == 3 &&
              fd->shape[0] == BATCH && fd->shape[1] == M && fd->shape[2] == N);
    uint8_t want[BATCH * M * N * 8];
    bool negative = false;
    for (uint64_t i = 0; i < BATCH * M; i++)
        for (uint64_t j = 0; j < N; j++) {
            int64_t sum = 0;
            for (uint64_t k = 0; k < K; k++) {
                double x = ldexp(dtype_load(ta, fa->data.p, i * K + k), -shift),
                       y = ldexp(dtype_load(tb, fb->data.p, j * K + k), -shift);
                cr_assert(x >= low && x <= high && x == floor(x) && y == floor(y), "%s: %g, %g", what, x, y);
                negative |= x < 0;
                sum += (int64_t)x * (int64_t)y;
            }
            uint64_t bits = dtype_from_scaled(td, sum, 2 * shift);
            memcpy(want + (i * N + j) * dtype_bytes(td), &bits, (size_t)dtype_bytes(td));
        }
    cr_assert_eq(negative, low < 0);
    span expected = span_of(want, (size_t)(BATCH * M * N * dtype_bytes(td)));
    numeric_verdict v = numeric_judge(td, fd->data, expected, (tolerance){0, 0});
    cr_expect(v.passed && v.differing == 0 && v.nonfinite_expected == 0, "%s: element %d is %g, not %g", what,
              (int)v.worst_index, v.worst_actual, v.worst_expected);
    want[3 * dtype_bytes(td)] ^= 1; /* one step, of any type */
    v = numeric_judge(td, fd->data, expected, (tolerance){0, 0});
    cr_expect(!v.passed && v.failing == 1 && v.first_failing_index == 3 && v.max_ulp == 1, "%s", what);
    scratch_free(sc);
}

Test(types, products_of_every_kind)
{
    static const dtype floats[] = {DT_F16, DT_BF16, DT_F32, DT_F64, DT_F8_E4M3, DT_F8_E5M2};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        product(DT_F8_E4M3, DT_F8_E4M3, floats[i], -4, 4, -2);
        product(DT_F8_E4M3, DT_F8_E5M2, floats[i], -4, 4, 0);
        product(DT_F8_E5M2, DT_F8_E4M3, floats[i], -4, 4, -3);
        product(DT_BF16, DT_BF16, floats[i], -9, 9, -4);
        product(DT_F16, DT_F16, floats[i], -9, 9, -4);
        product(DT_I8, DT_I8, floats[i], -4, 4, 0);
    }
    product(DT_F32, DT_F32, DT_F32, -1000000, 1000000, -20);
    product(DT_F64, DT_F64, DT_F64, -20000000, 20000000, -40);
    product(DT_I8, DT_I8, DT_I32, -128, 127, 0);
    product(DT_U8, DT_I8, DT_I32, 0, 127, 0);
    product(DT_I8, DT_I8, DT_I8, -3, 3, 0); /* some saturate */
    product(DT_I16, DT_I16, DT_I64, -32768, 32767, 0);
    product(DT_I32, DT_I32, DT_I64, -10000000, 10000000, 0);
    product(DT_U16, DT_U8, DT_U32, 0, 255, 0);
}

/* What leaves the type: the recipe rounds to nearest, and then overflows as the type does. */
Test(types, recipes_overflow_as_the_type_does)
{
    static const struct {
        dtype type;
        int value;
        double want;
    } cases[] = {
        {DT_F8_E4M3, 448, 448},
        {DT_F8_E4M3, 464, 448},
        {DT_F8_E4M3, -465, NAN},
        {DT_F8_E5M2, 61439, 57344},
        {DT_F8_E5M2, 61440, INFINITY},
        {DT_F16, -65520, -INFINITY},
        {DT_BF16, 257, 256},
        {DT_BF16, 259, 260},
        {DT_I8, 128, 127},
        {DT_I8, -129, -128},
        {DT_U8, -1, 0},
        {DT_U8, 256, 255},
        {DT_I32, 1 << 30, 1 << 30},
        {DT_BOOL, 7, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        recipe *rc;
        tensor *t;
        size_t n;
        const char *text = scratch_printf(
            sc,
            "{\"format\":\"replay-recipe/"
            "1\",\"fixture\":\"f\",\"purpose\":\"p\",\"seed\":3,\"tensors\":[{\"name\":\"a\","
            "\"dtype\":\"%s\",\"shape\":[3],\"generator\":\"constant\",\"value\":%d,\"shift\":0}]}",
            dtype_names[cases[i].type], cases[i].value);
        cr_assert_eq(recipe_read(&e, &rc, sc, "recipe", span_str(text)), RP_OK, "%s", e.msg);
        cr_assert_eq(recipe_generate(&e, &t, &n, sc, rc), RP_OK);
        double v = dtype_load(t->type, t->data, 2), want = cases[i].want;
        cr_expect(want != want ? v != v : v == want, "%s of %d: %g, not %g", dtype_names[cases[i].type],
                  cases[i].value, v, want);
        scratch_free(sc);
    }
}
