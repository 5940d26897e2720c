#include "plan/calls.h"
#include "tests/support.h"
#include <criterion/criterion.h>

static const char file[] = "plan/resolved_calls.json";

typedef struct {
    scratch *sc;
    rp_err e;
    findings fs;
    plan *p;
    resolved_call *resolved;
    recorded_call *recorded;
    uint64_t n_resolved, n_recorded;
    span text;
} both;

static span shipped(scratch *sc, const char *name, const char *path)
{
    return t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/%s", name, path));
}

static both start(const char *name)
{
    both b = {.sc = scratch_new(0)};
    bool ok;
    findings_init(&b.fs, b.sc);
    b.text = shipped(b.sc, name, file);
    cr_assert(!plan_read(&b.e, &b.p, b.sc, "p", shipped(b.sc, name, "plan/plan.json")));
    cr_assert(!resolve_plan(&b.e, &b.fs, &b.resolved, &b.n_resolved, &ok, b.sc, b.p, NULL, 0) && ok);
    cr_assert(!calls_read(&b.e, &b.recorded, &b.n_recorded, b.sc, file, b.text), "%s: %s", b.e.where,
              b.e.msg);
    return b;
}

static uint64_t compare(both *b)
{
    findings_init(&b->fs, b->sc);
    return calls_compare(&b->fs, b->p, b->resolved, b->n_resolved, b->recorded, b->n_recorded, file);
}

Test(calls, the_captured_are_the_resolved)
{
    static const char *const names[] = {"weight_view", "weight_view.small"};
    for (int i = 0; i < 2; i++) {
        both b = start(names[i]);
        cr_assert(b.n_recorded == 1 && b.n_resolved == 1);
        /* node; the five operands; four matrices of five fields; two flags, compute, scale, epilogue, beta,
         * workspace */
        cr_expect_eq(compare(&b), 1 + 5 + 4 * 5 + 7);
        cr_expect_eq(b.fs.n, 0, "%s", t_list(b.sc, &b.fs));
        cr_expect(b.recorded->call.m == b.resolved->call.m && b.recorded->call.n == b.resolved->call.n &&
                  b.recorded->call.k == b.resolved->call.k);
        scratch_free(b.sc);
    }
}

#define SMALL_A                                                                                              \
    "\"a\": {\"buffer\": \"wt\", \"type\": \"f16\", \"rows\": 24, \"cols\": 56, \"ld\": 56, \"order\": "     \
    "\"row\"}"
#define SMALL_B                                                                                              \
    "\"b\": {\"buffer\": \"x\", \"type\": \"f16\", \"rows\": 40, \"cols\": 56, \"ld\": 56, \"order\": "      \
    "\"row\"}"
#define SMALL_D(key)                                                                                         \
    "\"" key "\": {\"buffer\": \"p32\", \"type\": \"f32\", \"rows\": 24, \"cols\": 40, \"ld\": 24, "         \
    "\"order\": \"col\"}"
#define M(key, buffer, type, rows, cols, ld, order)                                                          \
    "\"" key "\": {\"buffer\": \"" buffer "\", \"type\": \"" type "\", \"rows\": " rows ", \"cols\": " cols  \
    ", \"ld\": " ld ", \"order\": \"" order "\"}"

/* Every field that differs is one finding, at that field. */
Test(calls, each_field_differs)
{
    static const struct {
        const char *from, *to, *where, *expected, *actual;
    } cases[] = {
        {"\"node\": 2", "\"node\": 4", "/calls/0/node", "2", "4"},
        {SMALL_A, M("a", "x", "f16", "24", "56", "56", "row"), "/calls/0/a/buffer", "wt", "x"},
        {SMALL_A, M("a", "wt", "bf16", "24", "56", "56", "row"), "/calls/0/a/type", "f16", "bf16"},
        {SMALL_A, M("a", "wt", "f16", "25", "56", "56", "row"), "/calls/0/a/rows", "24", "25"},
        {SMALL_A, M("a", "wt", "f16", "24", "57", "56", "row"), "/calls/0/a/cols", "56", "57"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "64", "row"), "/calls/0/a/ld", "56", "64"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56", "col"), "/calls/0/a/order", "row", "col"},
        {SMALL_B, M("b", "x", "f16", "40", "56", "57", "row"), "/calls/0/b/ld", "56", "57"},
        {SMALL_B, M("b", "bias", "f16", "40", "56", "56", "row"), "/calls/0/b/buffer", "x", "bias"},
        {SMALL_D("c"), M("c", "y", "f32", "24", "40", "24", "col"), "/calls/0/c/buffer", "p32", "y"},
        {SMALL_D("c"), M("c", "p32", "f16", "24", "40", "24", "col"), "/calls/0/c/type", "f32", "f16"},
        {SMALL_D("d"), M("d", "p32", "f32", "24", "40", "24", "row"), "/calls/0/d/order", "col", "row"},
        {SMALL_D("d"), M("d", "p32", "f32", "24", "40", "40", "col"), "/calls/0/d/ld", "24", "40"},
        {SMALL_D("d"), M("d", "p16", "f32", "24", "40", "24", "col"), "/calls/0/d/buffer", "p32", "p16"},
        {"\"trans_a\": false", "\"trans_a\": true", "/calls/0/trans_a", "false", "true"},
        {"\"trans_b\": true", "\"trans_b\": false", "/calls/0/trans_b", "true", "false"},
        {"\"epilogue\": \"default\"", "\"epilogue\": \"relu\"", "/calls/0/epilogue", "default", "relu"},
        {"\"epilogue\": \"default\"", "\"epilogue\": \"gelu\"", "/calls/0/epilogue", "default", "gelu"},
        {"\"compute\": \"32f\"", "\"compute\": \"16f\"", "/calls/0/compute", "32f", "16f"},
        {"\"scale\": \"f32\"", "\"scale\": \"f16\"", "/calls/0/scale", "f32", "f16"},
        {"\"alpha\": 1", "\"alpha\": 1, \"scale_a\": \"bias\"", "/calls/0/scale_a", "null", "bias"},
        {"\"bias\": null", "\"bias\": \"bias\"", "/calls/0/bias", "null", "bias"},
        {"\"beta\": 0", "\"beta\": 1", "/calls/0/beta", "0", "1"},
        {"\"workspace_bytes\": 33554432", "\"workspace_bytes\": 0", "/calls/0/workspace_bytes", "33554432",
         "0"},
    };
    both b = start("weight_view.small");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert(!calls_read(&b.e, &b.recorded, &b.n_recorded, b.sc, file,
                              t_replaced(b.sc, b.text, cases[i].from, cases[i].to)),
                  "%s: %s", cases[i].to, b.e.msg);
        compare(&b);
        cr_assert_eq(b.fs.n, 1, "%s: %s", cases[i].to, t_list(b.sc, &b.fs));
        cr_expect(t_found(&b.fs, FIND_RESOLVE_MISMATCH, file, cases[i].where), "%s: %s", cases[i].to,
                  t_list(b.sc, &b.fs));
        cr_expect_str_eq(b.fs.v[0].expected, cases[i].expected);
        cr_expect_str_eq(b.fs.v[0].actual, cases[i].actual);
    }
    scratch_free(b.sc);
}

Test(calls, number_of_calls_differs)
{
    both b = start("weight_view.small");
    b.n_recorded = 0;
    cr_expect_eq(compare(&b), 0);
    cr_expect(b.fs.n == 1 && t_found(&b.fs, FIND_RESOLVE_MISMATCH, file, "/calls"));
    scratch_free(b.sc);
}

Test(calls, refuses)
{
    static const struct {
        const char *from, *to;
        finding_id id;
        const char *where;
    } cases[] = {
        {"replay-calls/1", "replay-calls/10", FIND_JSON_VALUE, "/format"},
        {"\"alpha\": 1", "\"alpha\": 2", FIND_JSON_VALUE, "/calls/0/alpha"},
        {"\"alpha\": 1", "\"alpha\": 1.0", FIND_JSON_NUMBER, "/calls/0/alpha"},
        {"\"beta\": 0", "\"beta\": 2", FIND_JSON_VALUE, "/calls/0/beta"},
        {"\"compute\": \"32f\"", "\"compute\": \"32g\"", FIND_JSON_VALUE, "/calls/0/compute"},
        {"\"scale\": \"f32\"", "\"scale\": \"f31\"", FIND_JSON_VALUE, "/calls/0/scale"},
        {"\"epilogue\": \"default\"", "\"epilogue\": \"relu_aux\"", FIND_JSON_VALUE, "/calls/0/epilogue"},
        {"\"bias\": null", "\"bias\": 0", FIND_JSON_TYPE, "/calls/0/bias"},
        {"\"bias\": null,", "", FIND_JSON_MISSING_KEY, "/calls/0"},
        {"\"trans_a\": false", "\"trans_a\": null", FIND_JSON_TYPE, "/calls/0/trans_a"},
        {"\"trans_a\": false", "\"trans_a\": false, \"batch\": 1", FIND_JSON_UNKNOWN_KEY, "/calls/0/batch"},
        {SMALL_A, "\"a\": {}", FIND_JSON_MISSING_KEY, "/calls/0/a"},
        {SMALL_A, "\"a\": null", FIND_JSON_TYPE, "/calls/0/a"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56", "ROW"), FIND_JSON_VALUE, "/calls/0/a/order"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56", "row\", \"batch\": \"1"), FIND_JSON_TYPE,
         "/calls/0/a/batch"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56, \"batch\": 2", "row"), FIND_JSON_MISSING_KEY,
         "/calls/0/a"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56, \"batch\": 1, \"stride\": 0", "row"), FIND_JSON_VALUE,
         "/calls/0/a/batch"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56, \"stride\": 0", "row"), FIND_JSON_UNKNOWN_KEY,
         "/calls/0/a/stride"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56, \"scaled\": 1", "row"), FIND_JSON_TYPE,
         "/calls/0/a/scaled"},
        {SMALL_A, M("a", "wt", "f16", "24", "56", "56", "col32"), FIND_JSON_VALUE, "/calls/0/a/order"},
        {SMALL_A, M("a", "wt", "f16", "-24", "56", "56", "row"), FIND_JSON_NUMBER, "/calls/0/a/rows"},
        {"\"calls\": [", "\"more\": 0, \"calls\": [", FIND_JSON_UNKNOWN_KEY, "/more"},
        {"\"calls\": [", "\"calls\": [1,", FIND_JSON_TYPE, "/calls/0"},
    };
    both b = start("weight_view.small");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b.e = (rp_err){0};
        cr_expect_eq(calls_read(&b.e, &b.recorded, &b.n_recorded, b.sc, file,
                                t_replaced(b.sc, b.text, cases[i].from, cases[i].to)),
                     RP_INVALID, "%s", cases[i].to);
        cr_expect_eq(b.e.id, cases[i].id, "%s: %s: %s", cases[i].to, finding_name(b.e.id), b.e.msg);
        cr_expect_str_eq(b.e.where, cases[i].where, "%s: %s", cases[i].to, b.e.msg);
        cr_expect_str_eq(b.e.file, file);
    }
    scratch_free(b.sc);
}

/* What is written is a form of what is read: the resolved calls, back through the reader, are the resolved
 * calls. */
Test(calls, write_reads_back)
{
    both b = start("weight_view");
    jw *j = jw_new(JW_CANON);
    span text;
    jw_obj(j, NULL);
    calls_write(j, b.p, b.resolved, b.n_resolved);
    jw_str(j, "format", "replay-calls/1");
    jw_end(j);
    cr_assert_eq(jw_finish(&b.e, &text, j), RP_OK);
    cr_assert_eq(calls_read(&b.e, &b.recorded, &b.n_recorded, b.sc, file, text), RP_OK, "%s: %s", b.e.where,
                 b.e.msg);
    cr_expect_eq(compare(&b), 33);
    cr_expect_eq(b.fs.n, 0, "%s", t_list(b.sc, &b.fs));
    jw_free(j);
    scratch_free(b.sc);
}
