#include "tests/support.h"
#include "verify/intercept.h"
#include <criterion/criterion.h>

/* The line that the library prints for weight_view.small's call. */
#define LINE                                                                                                 \
    "[cublasLt][7][Trace][cublasLtHSSMatmul] A=0X1 Adesc=[type=R_16F rows=24 cols=56 ld=56 "                 \
    "order=ORDER_ROW] B=0X2 "                                                                                \
    "Bdesc=[type=R_16F rows=40 cols=56 ld=56 order=ORDER_ROW] C=0X3 Cdesc=[type=R_32F rows=24 cols=40 "      \
    "ld=24] D=0X3 "                                                                                          \
    "Ddesc=[type=R_32F rows=24 cols=40 ld=24] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F "         \
    "transb=OP_T] "                                                                                          \
    "algo=[algoId=66 tile=MATMUL_TILE_128x64] workSpace=0X4 workSpaceSizeInBytes=33554432 beta=0 "           \
    "outOfPlace=0 stream=0X5"

static resolved_call the_call(scratch *sc)
{
    rp_err e = {0};
    plan *p;
    resolved_call *c;
    uint64_t n;
    bool ok;
    findings fs;
    findings_init(&fs, sc);
    cr_assert(
        !plan_read(&e, &p, sc, "p", t_slurp(sc, "artifacts/workloads/weight_view.small/plan/plan.json")));
    cr_assert(!resolve_plan(&e, &fs, &c, &n, &ok, sc, p, NULL, 0) && ok && n == 1);
    return c[0];
}

static intercept_counts check(findings *fs, scratch *sc, const resolved_call *c, uint64_t n, const char *log)
{
    rp_err e = {0};
    intercept_counts out = {0};
    findings_init(fs, sc);
    cr_assert_eq(intercept_check(&e, fs, &out, c, n, log, "lt.log"), RP_OK, "%s", e.msg);
    return out;
}

static const char *changed(scratch *sc, const char *from, const char *to)
{
    span s = t_replaced(sc, span_str(LINE), from, to);
    return scratch_strndup(sc, (const char *)s.p, s.n);
}

Test(intercept, equal)
{
    scratch *sc = scratch_new(0);
    resolved_call c[2] = {the_call(sc), the_call(sc)};
    findings fs;
    static const char *const logs[] = {LINE, LINE "\n"};
    for (int i = 0; i < 2; i++) {
        intercept_counts n = check(&fs, sc, c, 1, logs[i]);
        cr_expect_eq(fs.n, 0, "%s", t_list(sc, &fs));
        cr_expect(n.calls == 1 && n.fields == 4 * 4 + 2 + 3 + 3, "%d", (int)n.fields);
        cr_expect_str_eq(
            n.not_observed,
            "alpha, the heuristic preference, defaults the line elides: c/order, d/order, trans_a, epilogue");
    }
    intercept_counts n = check(&fs, sc, c, 2, LINE "\n" LINE "\n");
    cr_expect(fs.n == 0 && n.calls == 2 && n.fields == 48);
    n = check(&fs, sc, c, 0, "");
    cr_expect(fs.n == 0 && n.calls == 0);
    scratch_free(sc);
}

Test(intercept, each_field_differs)
{
    static const struct {
        const char *from, *to, *field, *expected, *actual;
    } cases[] = {
        {"Adesc=[type=R_16F", "Adesc=[type=R_16BF", "a/type", "f16", "bf16"},
        {"Adesc=[type=R_16F rows=24", "Adesc=[type=R_16F rows=25", "a/rows", "24", "25"},
        {"rows=24 cols=56", "rows=24 cols=57", "a/cols", "56", "57"},
        {"rows=24 cols=56 ld=56", "rows=24 cols=56 ld=64", "a/ld", "56", "64"},
        {"rows=24 cols=56 ld=56 order=ORDER_ROW", "rows=24 cols=56 ld=56", "a/order", "row", "col"},
        {"Bdesc=[type=R_16F", "Bdesc=[type=R_32F", "b/type", "f16", "f32"},
        {"rows=40", "rows=41", "b/rows", "40", "41"},
        {"rows=40 cols=56 ld=56", "rows=40 cols=56 ld=57", "b/ld", "56", "57"},
        {"Cdesc=[type=R_32F", "Cdesc=[type=R_16F", "c/type", "f32", "f16"},
        {"Cdesc=[type=R_32F rows=24 cols=40 ld=24", "Cdesc=[type=R_32F rows=24 cols=40 ld=25", "c/ld", "24",
         "25"},
        {"Ddesc=[type=R_32F rows=24 cols=40 ld=24", "Ddesc=[type=R_32F rows=24 cols=40 ld=40", "d/ld", "24",
         "40"},
        {"Ddesc=[type=R_32F rows=24 cols=40 ld=24", "Ddesc=[type=R_32F rows=24 cols=40 ld=24 order=ORDER_ROW",
         "d/order", "col", "row"},
        {"Ddesc=[type=R_32F rows=24 cols=40", "Ddesc=[type=R_32F rows=24 cols=41", "d/cols", "40", "41"},
        {"transb=OP_T", "transb=OP_N", "trans_b", "true", "false"},
        {"transb=OP_T", "transa=OP_T transb=OP_T", "trans_a", "false", "true"},
        {"transb=OP_T", "transb=OP_T epilogue=EPILOGUE_RELU", "epilogue", "default", "relu"},
        {"transb=OP_T", "transb=OP_T biasPointer=0x9", "biasPointer", "false", "true"},
        {"transb=OP_T", "transb=OP_T smCountTarget=132", "smCountTarget", "unset", "set"},
        {"beta=0", "beta=1", "beta", "0", "1"},
        {"outOfPlace=0", "outOfPlace=1", "outOfPlace", "false", "true"},
        {"COMPUTE_32F", "COMPUTE_32F_FAST_TF32", "compute", "32f", "32f_fast_tf32"},
        {"COMPUTE_32F", "COMPUTE_16F", "compute", "32f", "16f"},
        {"scaleType=R_32F", "scaleType=R_64F", "scale", "f32", "f64"},
        {"Adesc=[type=R_16F", "Adesc=[type=R_8F_E4M3", "a/type", "f16", "f8_e4m3"},
        {"transb=OP_T", "transb=OP_T epilogue=EPILOGUE_GELU", "epilogue", "default", "gelu"},
        {"transb=OP_T", "transb=OP_T aScalePointer=0x1", "a/scaled", "false", "true"},
        {"transb=OP_T", "transb=OP_T bScalePointer=0x1", "b/scaled", "false", "true"},
        {"transb=OP_T", "transb=OP_T cScalePointer=0x1", "cScalePointer, dScalePointer, amaxDPointer",
         "unset", "set"},
        {"transb=OP_T", "transb=OP_T dScalePointer=0x1", "cScalePointer, dScalePointer, amaxDPointer",
         "unset", "set"},
        {"transb=OP_T", "transb=OP_T amaxDPointer=0x1", "cScalePointer, dScalePointer, amaxDPointer", "unset",
         "set"},
        {"workSpaceSizeInBytes=33554432", "workSpaceSizeInBytes=1048576", "workspace_bytes", "33554432",
         "1048576"},
    };
    scratch *sc = scratch_new(0);
    const resolved_call c = the_call(sc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        findings fs;
        check(&fs, sc, &c, 1, changed(sc, cases[i].from, cases[i].to));
        cr_assert_eq(fs.n, 1, "%s: %s", cases[i].to, t_list(sc, &fs));
        cr_expect(
            t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", scratch_printf(sc, "line 1, %s", cases[i].field)),
            "%s: %s", cases[i].to, t_list(sc, &fs));
        cr_expect_str_eq(fs.v[0].expected, cases[i].expected);
        cr_expect_str_eq(fs.v[0].actual, cases[i].actual);
    }
    scratch_free(sc);
}

/* An operand C: out of place unless it is D's own buffer. */
Test(intercept, out_of_place)
{
    scratch *sc = scratch_new(0);
    for (int own = 0; own < 2; own++)
        for (int logged = 0; logged < 2; logged++) {
            resolved_call c = the_call(sc);
            findings fs;
            c.c_is_operand = c.call.beta_one = true;
            c.buffer[LT_C] = own ? c.buffer[LT_D] : 3;
            span s = t_replaced(sc, span_str(LINE), "beta=0 outOfPlace=0",
                                logged ? "beta=1 outOfPlace=1" : "beta=1 outOfPlace=0");
            check(&fs, sc, &c, 1, scratch_strndup(sc, (const char *)s.p, s.n));
            cr_expect_eq(fs.n, own == logged, "own %d, logged %d: %s", own, logged, t_list(sc, &fs));
        }
    scratch_free(sc);
}

Test(intercept, another_number_of_calls)
{
    scratch *sc = scratch_new(0);
    const resolved_call c = the_call(sc);
    findings fs;
    static const char *const logs[] = {"", LINE "\n" LINE "\n"};
    for (int i = 0; i < 2; i++) {
        check(&fs, sc, &c, 1, logs[i]);
        cr_expect(fs.n == 1 && t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", ""), "%s", t_list(sc, &fs));
    }
    scratch_free(sc);
}

/* A beta printed as "?" is one that is not 0: what a resolved 1 may be, and a resolved 0 may not. */
Test(intercept, beta_unsaid)
{
    scratch *sc = scratch_new(0);
    for (int one = 0; one < 2; one++) {
        resolved_call c = the_call(sc);
        findings fs;
        c.call.beta_one = one;
        intercept_counts n = check(&fs, sc, &c, 1, changed(sc, "beta=0", "beta=?"));
        cr_expect_eq(fs.n, !one, "%s", t_list(sc, &fs));
        cr_expect(one || t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", "line 1, beta"));
        cr_expect_not_null(strstr(n.not_observed, "a beta other than 0"));
    }
    scratch_free(sc);
}

/* A line that is not understood is a finding at its column, and the next is read all the same. */
Test(intercept, a_line_not_understood)
{
    scratch *sc = scratch_new(0);
    const resolved_call c[2] = {the_call(sc), the_call(sc)};
    findings fs;
    const char *log = scratch_printf(sc, "%s\n%s\n", changed(sc, "transb=OP_T", "pointerMode=1"),
                                     changed(sc, "beta=0", "beta=1"));
    check(&fs, sc, c, 2, log);
    cr_assert_eq(fs.n, 2, "%s", t_list(sc, &fs));
    cr_expect(!strncmp(fs.v[0].where, "column ", 7) && strstr(fs.v[0].message, "pointerMode"), "%s",
              fs.v[0].message);
    cr_expect(t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", "line 2, beta"));
    scratch_free(sc);
}

/* What no call can be resolved to is one finding about the line. */
Test(intercept, what_no_call_has)
{
    static const struct {
        const char *from, *to, *actual;
    } cases[] = {
        {"beta=0", "beta=2", "alpha other than 1, or beta other than 0 and 1"},
        {"beta=0", "beta=0.5", "alpha other than 1, or beta other than 0 and 1"},
        {"beta=0", "beta=nan", "alpha other than 1, or beta other than 0 and 1"},
        {"transb=OP_T", "transb=OP_C", "a conjugate transpose"},
        {"Bdesc=[type=R_16F rows=40 cols=56 ld=56 order=ORDER_ROW",
         "Bdesc=[type=R_16F rows=40 cols=56 ld=56 order=ORDER_COL32", "a tiled order"},
        {"transb=OP_T", "transb=OP_T epilogue=EPILOGUE_GELU_AUX",
         "an epilogue with an auxiliary matrix or a gradient"},
        {"transb=OP_T", "transb=OP_T aScaleMode=VEC128_32F",
         "a scale mode other than one value for the whole operand"},
        {"ld=24] D=", "ld=24 batchCount=0] D=", "a batch of none, or a negative stride"},
        {"ld=24] D=", "ld=24 batchCount=2 stridedBatchOffset=-1] D=",
         "a batch of none, or a negative stride"},
    };
    scratch *sc = scratch_new(0);
    const resolved_call c = the_call(sc);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        findings fs;
        check(&fs, sc, &c, 1, changed(sc, cases[i].from, cases[i].to));
        cr_assert_eq(fs.n, 1, "%s: %s", cases[i].to, t_list(sc, &fs));
        cr_expect(t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", "line 1"), "%s: %s", cases[i].to,
                  t_list(sc, &fs));
        cr_expect_str_eq(fs.v[0].actual, cases[i].actual);
    }
    scratch_free(sc);
}

/* Batch, scales and the bias's own type, each compared. */
Test(intercept, wide_calls)
{
    static const char *const wide[][2] = {
        {"Adesc=[type=R_16F rows=24 cols=56",
         "Adesc=[type=R_8F_E4M3 batchCount=3 stridedBatchOffset=1344 rows=24 cols=56"},
        {"Bdesc=[type=R_16F", "Bdesc=[batchCount=3 type=R_8F_E4M3"},
        {"ld=24] D=", "ld=24 batchCount=3 stridedBatchOffset=960] D="},
        {"ld=24] computeDesc", "ld=24 batchCount=3 stridedBatchOffset=960] computeDesc"},
        {"transb=OP_T]", "transb=OP_T epilogue=EPILOGUE_GELU_BIAS biasPointer=0x9 biasDataType=R_16F "
                         "aScalePointer=0x1]"}};
    scratch *sc = scratch_new(0);
    findings fs;
    resolved_call c = the_call(sc);
    lt_matrix *m[] = {&c.call.a, &c.call.b, &c.call.c, &c.call.d};
    static const uint64_t strides[] = {1344, 0, 960, 960};
    for (int i = 0; i < 4; i++) {
        m[i]->batch = 3;
        m[i]->stride = strides[i];
    }
    c.call.a.type = c.call.b.type = DT_F8_E4M3;
    c.call.a.scaled = true;
    c.call.epilogue = LTE_GELU_BIAS;
    c.call.bias_type = DT_F16;
    c.has[LT_BIAS] = c.has[LT_SCALE_A] = true;
    span s = span_str(LINE);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        s = t_replaced(sc, s, wide[i][0], wide[i][1]);
    const char *line = scratch_strndup(sc, (const char *)s.p, s.n);
    intercept_counts n = check(&fs, sc, &c, 1, line);
    cr_assert_eq(fs.n, 0, "%s", t_list(sc, &fs));
    cr_expect_str_eq(n.not_observed, "alpha, the heuristic preference, defaults the line elides: b/stride, "
                                     "c/order, d/order, trans_a");
    const struct {
        const char *from, *to, *field;
    } cases[] = {{"batchCount=3 stridedBatchOffset=1344", "batchCount=3 stridedBatchOffset=1345", "a/stride"},
                 {"batchCount=3 stridedBatchOffset=1344", "batchCount=4 stridedBatchOffset=1344", "a/batch"},
                 {"Bdesc=[batchCount=3", "Bdesc=[batchCount=3 stridedBatchOffset=2240", "b/stride"},
                 {" biasDataType=R_16F", "", "bias_type"},
                 {" aScalePointer=0x1", "", "a/scaled"},
                 {" biasPointer=0x9", "", "biasPointer"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s = t_replaced(sc, span_str(line), cases[i].from, cases[i].to);
        check(&fs, sc, &c, 1, scratch_strndup(sc, (const char *)s.p, s.n));
        cr_assert_eq(fs.n, 1, "%s: %s", cases[i].to, t_list(sc, &fs));
        cr_expect(
            t_found(&fs, FIND_RUN_INTERCEPT, "lt.log", scratch_printf(sc, "line 1, %s", cases[i].field)),
            "%s: %s", cases[i].to, t_list(sc, &fs));
    }
    scratch_free(sc);
}
