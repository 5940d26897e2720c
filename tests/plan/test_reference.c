#include "tests/plan/reference_kit.h"
#include <stdio.h>
#include <stdlib.h>

Test(reference, matmul_by_hand_in_all_four_orientations)
{
    const double a[] = {1, 2, 3, 4, 5, 6}, at[] = {1, 4, 2, 5, 3, 6};
    const double b[] = {1, -1, 0, 2, 10, 100}, bt[] = {1, 0, 10, -1, 2, 100}, want[] = {31, 303, 64, 606};
    for (int ta = 0; ta < 2; ta++)
        for (int tb = 0; tb < 2; tb++) {
            scratch *sc = scratch_new(0);
            char json[800];
            snprintf(json, sizeof json,
                     HEAD "{\"name\":\"a\",\"dtype\":\"f16\",\"shape\":%s},{\"name\":\"b\",\"dtype\":\"f32\","
                          "\"shape\":%s}" NODES
                          "{\"id\":\"p\",\"op\":\"matmul\",\"a\":\"a\",\"b\":\"b\",\"transpose_a\":%s,"
                          "\"transpose_b\":%s}" OUTPUTS OUT("y", "p", "f64") TAIL,
                     ta ? "[3,2]" : "[2,3]", tb ? "[2,3]" : "[3,2]", ta ? "true" : "false",
                     tb ? "true" : "false");
            tensor in[] = {ta ? make(sc, "a", DT_F16, 3, 2, at) : make(sc, "a", DT_F16, 2, 3, a),
                           tb ? make(sc, "b", DT_F32, 2, 3, bt) : make(sc, "b", DT_F32, 3, 2, b)};
            tensor *y = eval(sc, read_ok(sc, json), in, 2, 1);
            cr_assert(y->rank == 2 && y->shape[0] == 2 && y->shape[1] == 2);
            expect_output(y, want, 4);
            scratch_free(sc);
        }
}

Test(reference, pointwise_broadcasts_as_numpy_does)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, HEAD IN("m", "f32", "[2,3]") "," IN("row", "f32", "[3]") "," IN(
                                   "col", "f32", "[2,1]") "," IN("one", "f32", "[1]") NODES
                           "{\"id\":\"s\",\"op\":\"add\",\"a\":\"m\",\"b\":\"row\"},"
                           "{\"id\":\"t\",\"op\":\"mul\",\"a\":\"col\",\"b\":\"s\"},"
                           "{\"id\":\"o\",\"op\":\"mul\",\"a\":\"row\",\"b\":\"col\"},"
                           "{\"id\":\"u\",\"op\":\"add\",\"a\":\"t\",\"b\":\"one\"},"
                           "{\"id\":\"v\",\"op\":\"relu\",\"a\":\"u\"}" OUTPUTS OUT("u", "u", "f32") "," OUT(
                               "v", "v", "f32") "," OUT("o", "o", "i32") "," OUT("same", "row", "f32") TAIL);
    tensor in[] = {make(sc, "m", DT_F32, 2, 3, (double[]){1, 2, 3, 4, 5, 6}),
                   make(sc, "row", DT_F32, 0, 3, (double[]){10, 20, 30}),
                   make(sc, "col", DT_F32, 2, 1, (double[]){1, -1}),
                   make(sc, "one", DT_F32, 0, 1, (double[]){0.5})};
    tensor *y = eval(sc, r, in, 4, 0);
    expect_output(&y[0], (double[]){11.5, 22.5, 33.5, -13.5, -24.5, -35.5}, 6);
    expect_output(&y[1], (double[]){11.5, 22.5, 33.5, 0, 0, 0}, 6);
    expect_output(&y[2], (double[]){10, 20, 30, -10, -20, -30}, 6);
    expect_output(&y[3], (double[]){10, 20, 30}, 3);
    scratch_free(sc);
}

Test(reference, relu_of_nan_and_zeros)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, HEAD IN("x", "f16", "[5]") NODES
                           "{\"id\":\"y\",\"op\":\"relu\",\"a\":\"x\"}" OUTPUTS OUT("y", "y", "f16") TAIL);
    tensor in = make(sc, "x", DT_F16, 0, 5, (double[]){-0.0, -INFINITY, INFINITY, -0x1p-24, NAN});
    tensor *y = eval(sc, r, &in, 1, 1);
    tensor four = *y;
    four.elements = 4;
    expect_output(&four, (double[]){0, 0, INFINITY, 0}, 4);
    cr_assert(isnan(dtype_load(DT_F16, y->data, 4)));
    scratch_free(sc);
}

Test(reference, rounds_only_where_it_says)
{
    /* 2049.25 rounds to 2050; plus -2048 is 2, or 1.25 where only the sum is rounded. */
#define PROGRAM(round)                                                                                       \
    HEAD IN("x", "f16", "[1,2]") "," IN("w", "f16", "[1,2]") "," IN("b", "f16", "[1]") NODES                 \
        "{\"id\":\"p\",\"op\":\"matmul\",\"a\":\"x\",\"b\":\"w\",\"transpose_b\":true" round "},"            \
        "{\"id\":\"y\",\"op\":\"add\",\"a\":\"p\",\"b\":\"b\",\"round\":\"f16\"}" OUTPUTS OUT(               \
            "y", "y", "f16") "," OUT("p", "p", "f64") "," OUT("stored", "p", "f16") TAIL
    scratch *sc = scratch_new(0);
    tensor in[] = {make(sc, "x", DT_F16, 1, 2, (double[]){2048, 1}),
                   make(sc, "w", DT_F16, 1, 2, (double[]){1, 1.25}),
                   make(sc, "b", DT_F16, 0, 1, (double[]){-2048})};
    tensor *y = eval(sc, read_ok(sc, PROGRAM(",\"round\":\"f16\"")), in, 3, 1);
    expect_output(&y[0], (double[]){2}, 1);
    expect_output(&y[1], (double[]){2050}, 1);
    y = eval(sc, read_ok(sc, PROGRAM("")), in, 3, 1);
    expect_output(&y[0], (double[]){1.25}, 1);
    expect_output(&y[1], (double[]){2049.25}, 1);
    expect_output(&y[2], (double[]){2050}, 1);
    /* Straight from FP64: by way of F32 this sum would be a tie, and then 1. */
    tensor near[] = {make(sc, "x", DT_F16, 1, 2, (double[]){1, 0x1p-24}),
                     make(sc, "w", DT_F16, 1, 2, (double[]){1 + 0x1p-10, 0x1p-14}),
                     make(sc, "b", DT_F16, 0, 1, (double[]){-0x1p-11})};
    y = eval(sc, read_ok(sc, PROGRAM("")), near, 3, 1);
    expect_output(&y[1], (double[]){1 + 0x1p-10 + 0x1p-38}, 1);
    expect_output(&y[0], (double[]){1 + 0x1p-10}, 1);
    scratch_free(sc);
}

#define VARIANT_PROGRAM(t, m, n, k)                                                                          \
    HEAD "{\"name\":\"x\",\"dtype\":\"" t "\",\"shape\":[" m "," k "]},{\"name\":\"w\",\"dtype\":\"" t       \
         "\",\"shape\":[" n "," k "]}" NODES                                                                 \
         "{\"id\":\"p\",\"op\":\"matmul\",\"a\":\"x\",\"b\":\"w\",\"transpose_b\":true}" OUTPUTS OUT(        \
             "p", "p", "f64") TAIL

Test(reference, k_ascends)
{
    /* 2^53 + 1 + 1 stays 2^53; 1 + 1 + 2^53 does not. */
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, VARIANT_PROGRAM("f32", "2", "1", "3"));
    tensor in[] = {make(sc, "x", DT_F32, 2, 3, (double[]){0x1p53, 1, 1, 1, 1, 0x1p53}),
                   make(sc, "w", DT_F32, 1, 3, (double[]){1, 1, 1})};
    for (size_t v = 0; reference_variants[v]; v++)
        if (reference_use_variant(reference_variants[v]))
            expect_output(eval(sc, r, in, 2, 1), (double[]){0x1p53, 0x1p53 + 2}, 2);
    cr_assert(reference_use_variant(NULL));
    scratch_free(sc);
}

/* Odd sizes, and numbers of many magnitudes, so that every order gives other bits, and in FP64 a fused
 * multiply-add does too. */
static void variants_agree(dtype type, const char *program, bool fusing_matters)
{
    enum { M = 37, N = 29, K = 71 };
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, program);
    double *x = scratch_array(sc, M * K, sizeof *x), *w = scratch_array(sc, N * K, sizeof *w);
    srand(3);
    for (int i = 0; i < M * K; i++)
        x[i] = ldexp(rand() - RAND_MAX / 2 + 1. / (1 + rand() % 1000), rand() % 40 - 50);
    for (int i = 0; i < N * K; i++)
        w[i] = ldexp(rand() - RAND_MAX / 2 + 1. / (1 + rand() % 1000), rand() % 40 - 50);
    tensor in[] = {make(sc, "x", type, M, K, x), make(sc, "w", type, N, K, w)};
    double want[M * N], other = 0, fused_differs = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double forward = 0, backward = 0, fused = 0;
            for (int k = 0; k < K; k++) {
                double a = dtype_load(type, in[0].data, (uint64_t)(i * K + k));
                double b = dtype_load(type, in[1].data, (uint64_t)(j * K + k));
                forward += a * b;
                fused = fma(a, b, fused);
            }
            for (int k = K; k-- > 0;)
                backward += dtype_load(type, in[0].data, (uint64_t)(i * K + k)) *
                            dtype_load(type, in[1].data, (uint64_t)(j * K + k));
            want[i * N + j] = forward;
            other += forward != backward;
            fused_differs += forward != fused;
        }
    cr_assert(other > M * N / 2, "the order must matter");
    cr_assert_eq(fused_differs > M * N / 4, fusing_matters);
    int tried = 0;
    for (size_t v = 0; reference_variants[v]; v++) {
        if (!reference_use_variant(reference_variants[v]))
            continue;
        tried++;
        for (unsigned threads = 0; threads < 12; threads++)
            expect_output(eval(sc, r, in, 2, threads), want, M * N);
    }
    cr_assert(reference_use_variant(NULL));
    cr_assert_not(reference_use_variant("vax"));
    cr_assert(reference_use_variant(NULL));
    cr_assert_geq(tried, 1);
    scratch_free(sc);
}

Test(reference, variants_and_threads_change_no_bit)
{
    variants_agree(DT_F32, VARIANT_PROGRAM("f32", "37", "29", "71"), false);
    variants_agree(DT_F64, VARIANT_PROGRAM("f64", "37", "29", "71"), true);
}

/* Overflow gives infinity, or the NaN of E4M3, and the largest finite value where the node says so. */
Test(reference, saturates_where_it_says)
{
    static const struct {
        const char *round;
        double plain, saturated;
    } cases[] = {{"f16", INFINITY, 65504}, {"f8_e5m2", INFINITY, 57344}, {"f8_e4m3", NAN, 448}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int saturate = 0; saturate < 2; saturate++) {
            scratch *sc = scratch_new(0);
            rp_err e = {0};
            tensor *out;
            const char *json = scratch_printf(
                sc,
                HEAD IN("x", "f32", "[2,2]") NODES
                "{\"id\":\"p\",\"op\":\"add\",\"a\":\"x\",\"b\":\"x\",\"round\":\"%s\"%s}" OUTPUTS OUT(
                    "y", "p", "f64") TAIL,
                cases[i].round, saturate ? ",\"saturate\":true" : "");
            const tensor x = make(sc, "x", DT_F32, 2, 2, (double[]){1e6, -1e6, 0.5, -3});
            cr_assert_eq(reference_eval(&e, &out, sc, read_ok(sc, json), &x, 1, 1), RP_OK);
            double want = saturate ? cases[i].saturated : cases[i].plain;
            for (uint64_t k = 0; k < 2; k++) {
                double v = dtype_load(DT_F64, out->data, k);
                cr_expect(want != want ? v != v : v == (k ? -want : want), "%s: %g", cases[i].round, v);
            }
            cr_expect(dtype_load(DT_F64, out->data, 2) == 1 && dtype_load(DT_F64, out->data, 3) == -6);
            scratch_free(sc);
        }
}

Test(reference, inputs_must_be_as_declared)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, HEAD IN("x", "f16", "[2,2]") NODES
                           "{\"id\":\"y\",\"op\":\"relu\",\"a\":\"x\"}" OUTPUTS OUT("y", "y", "f16") TAIL);
    cr_assert_eq(reference_n_inputs(r), 1);
    cr_assert_eq(reference_n_outputs(r), 1);
    cr_assert_str_eq(reference_input(r, 0)->name, "x");
    cr_assert(reference_output(r, 0)->rank == 2 && reference_output(r, 0)->elements == 4);
    const double v[8] = {0};
    tensor other_name = make(sc, "z", DT_F16, 2, 2, v), other_type = make(sc, "x", DT_BF16, 2, 2, v),
           other_rank = make(sc, "x", DT_F16, 0, 4, v), other_shape = make(sc, "x", DT_F16, 1, 4, v),
           no_data = make(sc, "x", DT_F16, 2, 2, v);
    no_data.data = NULL;
    const tensor *bad[] = {&other_name, &other_type, &other_rank, &other_shape, &no_data};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_err e = {0};
        tensor *out;
        cr_assert_eq(reference_eval(&e, &out, sc, r, bad[i], 1, 1), RP_INVALID);
        cr_assert_eq(e.id, FIND_FIXTURE_SHAPE);
        cr_assert_str_eq(e.where, "x");
    }
    scratch_free(sc);
}

#define X22 IN("x", "f16", "[2,3]")
#define Y OUT("y", "p", "f16")

Test(reference, refuses)
{
    static const struct {
        const char *json;
        finding_id id;
        const char *where;
    } cases[] = {
        {"[]", FIND_JSON_TYPE, ""},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS Y "],\"more\":1}", FIND_JSON_UNKNOWN_KEY,
         "/more"},
        {HEAD NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS Y TAIL, FIND_REFERENCE_INVALID, "/inputs"},
        {HEAD X22 NODES OUTPUTS Y TAIL, FIND_REFERENCE_INVALID, "/nodes"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS TAIL, FIND_REFERENCE_INVALID, "/outputs"},
        {HEAD X22 "," X22 NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS Y TAIL, FIND_REFERENCE_INVALID,
         "/inputs/1"},
        {HEAD X22 NODES NODE("x", "relu", "\"a\":\"x\"") OUTPUTS Y TAIL, FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"p\"") OUTPUTS Y TAIL, FIND_REFERENCE_INVALID,
         "/nodes/0/a"},
        {HEAD X22 NODES NODE("p", "swish", "\"a\":\"x\"") OUTPUTS Y TAIL, FIND_JSON_VALUE, "/nodes/0/op"},
        {HEAD X22 NODES NODE("p", "add", "\"a\":\"x\"") OUTPUTS Y TAIL, FIND_JSON_MISSING_KEY, "/nodes/0"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\",\"b\":\"x\"") OUTPUTS Y TAIL, FIND_JSON_UNKNOWN_KEY,
         "/nodes/0/b"},
        {HEAD X22 NODES NODE("p", "add", "\"a\":\"x\",\"b\":\"x\",\"transpose_b\":true") OUTPUTS Y TAIL,
         FIND_JSON_UNKNOWN_KEY, "/nodes/0/transpose_b"},
        {HEAD X22 NODES NODE("p", "matmul", "\"a\":\"x\",\"b\":\"x\"") OUTPUTS Y TAIL, FIND_REFERENCE_INVALID,
         "/nodes/0"},
        {HEAD X22 NODES NODE("p", "matmul",
                             "\"a\":\"x\",\"b\":\"x\",\"transpose_a\":true,\"transpose_b\":true")
             OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD X22 "," IN("v", "f16", "[3]") NODES NODE("p", "matmul", "\"a\":\"x\",\"b\":\"v\"")
             OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD X22 "," IN("v", "f16", "[2]") NODES NODE("p", "add", "\"a\":\"x\",\"b\":\"v\"") OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\",\"saturate\":true") OUTPUTS Y TAIL,
         FIND_JSON_UNKNOWN_KEY, "/nodes/0/saturate"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\",\"round\":\"f8\"") OUTPUTS Y TAIL, FIND_JSON_VALUE,
         "/nodes/0/round"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS OUT("y", "q", "f16") TAIL,
         FIND_REFERENCE_INVALID, "/outputs/0/value"},
        {HEAD X22 NODES NODE("p", "relu", "\"a\":\"x\"") OUTPUTS Y "," Y TAIL, FIND_REFERENCE_INVALID,
         "/outputs/1"},
        {HEAD IN("a", "f16", "[100000,1]")
             NODES NODE("p", "matmul", "\"a\":\"a\",\"b\":\"a\",\"transpose_b\":true") OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD IN("a", "f16", "[8192,8192]") NODES NODE("p", "matmul", "\"a\":\"a\",\"b\":\"a\"")
             OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD IN("a", "f16", "[8192,8192]") "," IN("b", "f16", "[8192,8192]") "," IN("c", "f16", "[1]")
             NODES NODE("p", "relu", "\"a\":\"c\"") OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/inputs/2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        reference *r;
        cr_assert_eq(reference_read(&e, &r, sc, "r", span_str(cases[i].json)), RP_INVALID, "%s",
                     cases[i].json);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", cases[i].json, e.msg);
        cr_expect_str_eq(e.where, cases[i].where, "%s: %s", cases[i].json, e.msg);
        scratch_free(sc);
    }
}
