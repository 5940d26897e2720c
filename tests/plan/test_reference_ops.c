/* Batches, parts and GELU: what the products that a library log names are made of. */
#include "tests/plan/reference_kit.h"
#include <stdio.h>
#include <stdlib.h>

/* A tensor of that shape whose values differ in sign and magnitude, so that every order gives other bits. */
static tensor wild(scratch *sc, const char *name, dtype type, uint64_t rank, const uint64_t *shape)
{
    tensor t = {.name = name, .type = type, .rank = rank, .elements = 1};
    for (uint64_t i = 0; i < rank; i++)
        t.elements *= t.shape[i] = shape[i];
    t.data = scratch_array(sc, (size_t)t.elements, (size_t)dtype_bytes(type));
    for (uint64_t i = 0; i < t.elements; i++)
        dtype_store(type, t.data, i,
                    ldexp(rand() - RAND_MAX / 2 + 1. / (1 + rand() % 1000), rand() % 40 - 50));
    return t;
}

static const char *shape_text(scratch *sc, const tensor *t)
{
    const char *s = "[";
    for (uint64_t i = 0; i < t->rank; i++)
        s = scratch_printf(sc, "%s%s%llu", s, i ? "," : "", (unsigned long long)t->shape[i]);
    return scratch_printf(sc, "%s]", s);
}

static const tensor *product(scratch *sc, const tensor *a, const tensor *b, bool ta, bool tb,
                             const char *round, unsigned threads)
{
    const char *json = scratch_printf(
        sc,
        HEAD
        "{\"name\":\"a\",\"dtype\":\"%s\",\"shape\":%s},{\"name\":\"b\",\"dtype\":\"%s\",\"shape\":%s}" NODES
        "{\"id\":\"p\",\"op\":\"matmul\",\"a\":\"a\",\"b\":\"b\",\"transpose_a\":%s,\"transpose_b\":%s%"
        "s}" OUTPUTS OUT("y", "p", "f64") TAIL,
        dtype_names[a->type], shape_text(sc, a), dtype_names[b->type], shape_text(sc, b),
        ta ? "true" : "false", tb ? "true" : "false", round);
    return eval(sc, read_ok(sc, json), (tensor[]){*a, *b}, 2, threads);
}

/* Matrix i of a batch; the matrix itself where there is none. */
static tensor matrix_of(const tensor *t, uint64_t i)
{
    tensor m = *t;
    if (t->rank == 3) {
        m.rank = 2;
        m.shape[0] = t->shape[1];
        m.shape[1] = t->shape[2];
        m.elements = t->elements / t->shape[0];
        m.data = (uint8_t *)t->data + i * m.elements * dtype_bytes(t->type);
    }
    return m;
}

/* Bit for bit the products one by one. */
static void batch_is_its_products(dtype type, uint64_t batch, uint64_t m, uint64_t n, uint64_t k,
                                  unsigned which, const char *round)
{
    bool ta = which & 1, tb = which & 2, one_a = which & 4, one_b = which & 8;
    scratch *sc = scratch_new(0);
    const uint64_t sa[] = {batch, ta ? k : m, ta ? m : k}, sb[] = {batch, tb ? n : k, tb ? k : n};
    tensor a = wild(sc, "a", type, one_a ? 2 : 3, one_a ? sa + 1 : sa),
           b = wild(sc, "b", type, one_b ? 2 : 3, one_b ? sb + 1 : sb);
    for (unsigned threads = 1; threads < 6; threads += 2) {
        const tensor *all = product(sc, &a, &b, ta, tb, round, threads);
        cr_assert(all->rank == 3 && all->shape[0] == batch && all->shape[1] == m && all->shape[2] == n);
        for (uint64_t i = 0; i < batch; i++) {
            tensor ai = matrix_of(&a, i), bi = matrix_of(&b, i);
            const tensor *one = product(sc, &ai, &bi, ta, tb, round, 1);
            cr_assert(one->rank == 2 && one->shape[0] == m && one->shape[1] == n);
            cr_expect(!memcmp(one->data, (double *)all->data + i * m * n, (size_t)(8 * m * n)),
                      "%s, flags %u, product %llu of %llu", dtype_names[type], which, (unsigned long long)i,
                      (unsigned long long)batch);
        }
    }
    scratch_free(sc);
}

Test(reference_ops, a_batch_is_its_products_bit_for_bit)
{
    srand(11);
    for (size_t v = 0; reference_variants[v]; v++) {
        if (!reference_use_variant(reference_variants[v]))
            continue;
        for (unsigned which = 0; which < 12; which++) { /* not both shared */
            batch_is_its_products(DT_F32, 5, 19, 21, 33, which, "");
            batch_is_its_products(DT_F64, 3, 9, 35, 17, which, ",\"round\":\"f16\"");
            batch_is_its_products(DT_BF16, 1, 4, 3, 5, which, "");
        }
    }
    cr_assert(reference_use_variant(NULL));
    /* Packed in several groups: alone, and two at a time. */
    for (unsigned which = 0; which < 12; which += 4) {
        batch_is_its_products(DT_F64, 3, 1, 2, 200000, which, "");
        batch_is_its_products(DT_F32, 5, 8, 16, 80000, which, "");
    }
}

Test(reference_ops, a_batch_by_hand)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(
        sc, HEAD IN("a", "i8", "[2,1,3]") "," IN("b", "i8", "[3,2]")
                NODES NODE("p", "matmul", "\"a\":\"a\",\"b\":\"b\"") "," NODE(
                    "q", "matmul", "\"a\":\"b\",\"b\":\"a\",\"transpose_a\":true,\"transpose_b\":true")
                    OUTPUTS OUT("p", "p", "i32") "," OUT("q", "q", "i32") TAIL);
    tensor a = make(sc, "a", DT_I8, 0, 6, (double[]){1, 2, 3, -4, 5, 127});
    a.rank = 3;
    a.shape[0] = 2, a.shape[1] = 1, a.shape[2] = 3;
    const tensor in[] = {a, make(sc, "b", DT_I8, 3, 2, (double[]){1, 10, 2, 20, -128, 30})};
    tensor *y = eval(sc, r, in, 2, 0);
    cr_assert(y[0].rank == 3 && y[0].shape[0] == 2 && y[0].shape[1] == 1 && y[0].shape[2] == 2);
    cr_assert(y[1].rank == 3 && y[1].shape[0] == 2 && y[1].shape[1] == 2 && y[1].shape[2] == 1);
    for (int i = 0; i < 2; i++)
        expect_output(&y[i], (double[]){-379, 140, -16250, 3870}, 4);
    scratch_free(sc);
}

/* A column-major operand of 2 rows and 3 columns with leading dimension 4, as the dense buffer it lies in. */
Test(reference_ops, slices_drop_a_pitch)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(
        sc, HEAD IN("a", "f32", "[3,4]")
                NODES NODE("s", "slice", "\"a\":\"a\",\"axis\":1,\"from\":0,\"extent\":2") "," NODE(
                    "mid", "slice",
                    "\"a\":\"a\",\"axis\":0,\"from\":1,\"extent\":1,\"round\":\"i8\"") "," NODE("p", "matmul",
                                                                                                "\"a\":\"s\","
                                                                                                "\"b\":\"s\","
                                                                                                "\"transpose_"
                                                                                                "b\":true")
                    OUTPUTS OUT("s", "s", "f32") "," OUT("mid", "mid", "f32") "," OUT("p", "p", "f64") TAIL);
    const tensor a =
        make(sc, "a", DT_F32, 3, 4, (double[]){1, 2, NAN, NAN, 3.5, -4, 300, -0.25, 5, 6, NAN, NAN});
    tensor *y = eval(sc, r, &a, 1, 1);
    cr_assert(y[0].rank == 2 && y[0].shape[0] == 3 && y[0].shape[1] == 2);
    expect_output(&y[0], (double[]){1, 2, 3.5, -4, 5, 6}, 6);
    cr_assert(y[1].rank == 2 && y[1].shape[0] == 1 && y[1].shape[1] == 4);
    expect_output(&y[1], (double[]){4, -4, 127, 0}, 4);
    expect_output(&y[2], (double[]){5, -4.5, 17, -4.5, 28.25, -6.5, 17, -6.5, 61}, 9);
    scratch_free(sc);
}

/* Two heads of width 2 that lie beside each other in rows of 4, as attention has them: batch stride 2,
 * leading dimension 4. And what repeats, overlaps and runs across. */
Test(reference_ops, views_are_index_functions)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(
        sc,
        HEAD IN("a", "f16", "[12]") NODES
            NODE("heads", "view", "\"a\":\"a\",\"offset\":0,\"shape\":[2,3,2],\"strides\":[2,4,1]") "," NODE(
                "p", "matmul",
                "\"a\":\"heads\",\"b\":\"heads\",\"transpose_b\":true") "," NODE("same", "view",
                                                                                 "\"a\":\"p\",\"offset\":17,"
                                                                                 "\"shape\":[3],\"strides\":["
                                                                                 "0]") "," NODE("windows",
                                                                                                "view",
                                                                                                "\"a\":\"a\","
                                                                                                "\"offset\":"
                                                                                                "1,\"shape\":"
                                                                                                "[2,2,1,2],"
                                                                                                "\"strides\":"
                                                                                                "[2,1,9,7]")
                OUTPUTS OUT("heads", "heads", "f16") "," OUT("p", "p", "f32") "," OUT(
                    "same", "same", "f32") "," OUT("windows", "windows", "f16") TAIL);
    double v[12];
    for (int i = 0; i < 12; i++)
        v[i] = i;
    const tensor a = make(sc, "a", DT_F16, 0, 12, v);
    tensor *y = eval(sc, r, &a, 1, 1);
    cr_assert(y[0].rank == 3 && y[0].shape[0] == 2 && y[0].shape[1] == 3 && y[0].shape[2] == 2);
    expect_output(&y[0], (double[]){0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}, 12);
    expect_output(&y[1], (double[]){1, 5, 9, 5, 41, 77, 9, 77, 145, 13, 33, 53, 33, 85, 137, 53, 137, 221},
                  18);
    expect_output(&y[2], (double[]){221, 221, 221}, 3);
    cr_assert(y[3].rank == 4 && y[3].shape[2] == 1);
    expect_output(&y[3], (double[]){1, 8, 2, 9, 3, 10, 4, 11}, 8);
    scratch_free(sc);
}

Test(reference_ops, gelu_rounds_where_it_says)
{
    scratch *sc = scratch_new(0);
    reference *r = read_ok(sc, HEAD IN("x", "f32", "[7]") NODES NODE("g", "gelu", "\"a\":\"x\"") "," NODE(
                                   "h", "gelu", "\"a\":\"x\",\"round\":\"f16\"")
                                   OUTPUTS OUT("g", "g", "f64") "," OUT("h", "h", "f64") TAIL);
    const tensor x = make(sc, "x", DT_F32, 0, 7, (double[]){1, -1, 0, -0.0, INFINITY, -INFINITY, NAN});
    tensor *y = eval(sc, r, &x, 1, 1);
    const double *g = y[0].data, *h = y[1].data;
    /* torch.nn.functional.gelu(…, approximate="tanh"). */
    cr_expect(fabs(g[0] - 0.84119199060827676) < 1e-15 && fabs(g[1] + 0.15880800939172324) < 1e-15);
    for (int i = 0; i < 6; i++) {
        double want = dtype_round(DT_F16, g[i]);
        cr_expect(h[i] == want && signbit(h[i]) == signbit(want));
    }
    cr_expect(!signbit(g[2]) && g[2] == 0 && signbit(g[3]) && g[3] == 0 && g[4] == INFINITY && g[5] == 0 &&
              signbit(g[5]));
    cr_expect(isnan(g[6]) && isnan(h[6]));
    scratch_free(sc);
}

#define A233 IN("a", "f16", "[2,3,3]")
#define Y OUT("y", "p", "f16")
#define VIEW(offset, shape, strides)                                                                         \
    HEAD A233 NODES NODE("p", "view",                                                                        \
                         "\"a\":\"a\",\"offset\":" offset ",\"shape\":" shape ",\"strides\":" strides)       \
        OUTPUTS Y TAIL
#define SLICE(axis, from, extent)                                                                            \
    HEAD A233 NODES NODE("p", "slice", "\"a\":\"a\",\"axis\":" axis ",\"from\":" from ",\"extent\":" extent) \
        OUTPUTS Y TAIL
#define WITH(other, shape)                                                                                   \
    HEAD A233 "," IN("b", "f16", shape) NODES NODE("p", "matmul", "\"a\":" other) OUTPUTS Y TAIL
#define MAX53 "9007199254740991"

Test(reference_ops, refuses)
{
    static const struct {
        const char *json;
        finding_id id;
        const char *where;
    } cases[] = {
        /* Batches that differ, a batch of one included; ranks 1 and 4; inner extents. */
        {WITH("\"a\",\"b\":\"b\"", "[3,3,3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"a\",\"b\":\"b\"", "[1,3,3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"a\",\"b\":\"b\"", "[3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"b\",\"b\":\"a\"", "[3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"a\",\"b\":\"b\"", "[1,2,3,3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"b\",\"b\":\"a\"", "[1,2,3,3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"a\",\"b\":\"b\"", "[2,4,3]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {WITH("\"a\",\"b\":\"b\",\"transpose_b\":true", "[3,4]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        /* More elements and multiply-adds than are allowed, over the batch. */
        {HEAD IN("a", "f16", "[32,4096,1]") "," IN("b", "f16", "[1,4096]")
             NODES NODE("p", "matmul", "\"a\":\"a\",\"b\":\"b\"") OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {HEAD IN("a", "f16", "[16,2048,1024]") "," IN("b", "f16", "[1024,8192]")
             NODES NODE("p", "matmul", "\"a\":\"a\",\"b\":\"b\"") OUTPUTS Y TAIL,
         FIND_REFERENCE_INVALID, "/nodes/0"},
        {SLICE("3", "0", "1"), FIND_REFERENCE_INVALID, "/nodes/0/axis"},
        {SLICE("1", "0", "0"), FIND_REFERENCE_INVALID, "/nodes/0/extent"},
        {SLICE("1", "0", "4"), FIND_REFERENCE_INVALID, "/nodes/0/extent"},
        {SLICE("0", "2", "1"), FIND_REFERENCE_INVALID, "/nodes/0/extent"},
        {SLICE("2", MAX53, MAX53), FIND_REFERENCE_INVALID, "/nodes/0/extent"},
        {SLICE("2", "-1", "1"), FIND_JSON_NUMBER, "/nodes/0/from"},
        {HEAD A233 NODES NODE("p", "slice", "\"a\":\"a\",\"axis\":0,\"from\":0") OUTPUTS Y TAIL,
         FIND_JSON_MISSING_KEY, "/nodes/0"},
        {HEAD A233 NODES NODE("p", "slice", "\"a\":\"a\",\"b\":\"a\",\"axis\":0,\"from\":0,\"extent\":1")
             OUTPUTS Y TAIL,
         FIND_JSON_UNKNOWN_KEY, "/nodes/0/b"},
        {VIEW("18", "[1]", "[0]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {VIEW("0", "[3,3,3]", "[6,3,1]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {VIEW("1", "[2,9]", "[9,1]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {VIEW("0", "[]", "[]"), FIND_REFERENCE_INVALID, "/nodes/0/shape"},
        {VIEW("0", "[1,1,1,1,1]", "[0,0,0,0,0]"), FIND_REFERENCE_INVALID, "/nodes/0/shape"},
        {VIEW("0", "[2,0]", "[0,0]"), FIND_REFERENCE_INVALID, "/nodes/0/shape"},
        {VIEW("0", "[2,2]", "[1]"), FIND_JSON_VALUE, "/nodes/0/strides"},
        {VIEW("0", "[134217729]", "[0]"), FIND_REFERENCE_INVALID, "/nodes/0/shape"},
        {VIEW("0", "[1048576,1048576,1048576,1048576]", "[0,0,0,0]"), FIND_REFERENCE_INVALID,
         "/nodes/0/shape"},
        {VIEW("0", "[8192,8192]", "[" MAX53 "," MAX53 "]"), FIND_REFERENCE_INVALID, "/nodes/0"},
        {VIEW(MAX53, "[2,2,2,2]", "[" MAX53 "," MAX53 "," MAX53 "," MAX53 "]"), FIND_REFERENCE_INVALID,
         "/nodes/0"},
        {HEAD A233 NODES NODE("p", "gelu", "\"a\":\"a\",\"b\":\"a\"") OUTPUTS Y TAIL, FIND_JSON_UNKNOWN_KEY,
         "/nodes/0/b"},
        {HEAD A233 NODES NODE("p", "gelu", "\"a\":\"a\",\"approximate\":\"erf\"") OUTPUTS Y TAIL,
         FIND_JSON_UNKNOWN_KEY, "/nodes/0/approximate"},
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
