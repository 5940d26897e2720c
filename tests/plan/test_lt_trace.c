#include "plan/lt_trace.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Six lines of other people's programs, from cublaslt-trace-*.log: PyTorch linear, linear with relu, BERT and
 * GPT-2. */
enum { N_LINES = 6 };

static const char *line(scratch *sc, size_t i)
{
    span s = t_slurp(sc, "tests/data/lt_log.txt");
    const char *text = scratch_strndup(sc, (const char *)s.p, s.n);
    for (; i; i--) {
        text = strchr(text, '\n');
        cr_assert_not_null(text);
        text++;
    }
    return scratch_strndup(sc, text, strcspn(text, "\n"));
}

static lt_trace good(const char *text)
{
    rp_err e = {0};
    lt_trace l = {0};
    cr_assert_eq(lt_trace_read(&e, &l, "log", text), RP_OK, "%s: %s", e.where, e.msg);
    return l;
}

Test(lt_trace, real_lines)
{
    static const struct {
        const char *function;
        dtype type;
        uint64_t m, n, k, ldb, workspace, sm_count, printed;
        bool trans_a, bias;
        lt_epilogue epilogue;
        int64_t algorithm;
        const char *elided;
    } want[N_LINES] = {
        {"cublasLtMatmul", DT_F16, 1024, 1024, 768, 768, 1048576, 0, 23, true, true, LTE_BIAS, 66,
         "a/order, b/order, c/order, d/order, trans_b"},
        {"cublasLtMatmul", DT_F16, 1024, 1024, 768, 768, 1048576, 0, 23, true, true, LTE_RELU_BIAS, 66,
         "a/order, b/order, c/order, d/order, trans_b"},
        {"cublasLtMatmul", DT_BF16, 3072, 512, 768, 768, 1048576, 0, 22, false, true, LTE_BIAS, 66,
         "a/order, b/order, c/order, d/order, trans_a, trans_b"},
        {"cublasLtHSHMatmul", DT_F16, 1024, 1024, 768, 768, 0, 132, 23, true, false, LTE_DEFAULT, 66,
         "a/order, b/order, c/order, d/order, trans_b, epilogue"},
        {"cublasLtSSSMatmul", DT_F32, 1024, 1024, 768, 768, 0, 132, 23, true, false, LTE_DEFAULT, 55,
         "a/order, b/order, c/order, d/order, trans_b, epilogue"},
        {"cublasLtMatmul", DT_F16, 768, 4, 768, 98304, 1048576, 0, 23, true, true, LTE_BIAS, 66,
         "a/order, b/order, c/order, d/order, trans_b"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < N_LINES; i++) {
        lt_trace l = good(line(sc, i));
        const lt_query *q = &l.q;
        const lt_operand *m = q->mat;
        cr_expect_str_eq(l.function, want[i].function);
        for (int k = 0; k < LTM_COUNT; k++)
            cr_expect(m[k].type == want[i].type && m[k].batch == 1, "line %zu", i);
        cr_expect(q->m == want[i].m && q->n == want[i].n && q->k == want[i].k, "line %zu: %d %d %d", i,
                  (int)q->m, (int)q->n, (int)q->k);
        cr_expect(m[LTM_A].order == LTO_COL && m[LTM_D].order == LTO_COL && m[LTM_D].rows == want[i].m &&
                      m[LTM_D].cols == want[i].n && m[LTM_B].ld == want[i].ldb,
                  "line %zu", i);
        cr_expect(q->op[0] == (want[i].trans_a ? LTP_T : LTP_N) && q->op[1] == LTP_N &&
                      q->epilogue == want[i].epilogue && (l.pointer[LT_PTR_BIAS] != 0) == want[i].bias,
                  "line %zu", i);
        cr_expect(q->beta == 0 && !l.out_of_place && q->workspace_bytes == want[i].workspace &&
                      l.sm_count_target == want[i].sm_count,
                  "line %zu", i);
        cr_expect(q->compute == LTC_32F && q->scale == DT_F32, "line %zu", i);
        cr_expect(l.algorithm_id == want[i].algorithm && l.printed == want[i].printed, "line %zu: %d fields",
                  i, (int)l.printed);
        cr_expect(strstr(line(sc, i), scratch_printf(sc, "algo=[%s]", l.algorithm)), "line %zu", i);
        cr_expect_str_eq(l.elided_each, want[i].elided, "line %zu", i);
    }
    scratch_free(sc);
}

/* A line of ours, as short as the reader allows. */
#define DESC(x, rest) x "desc=[type=R_16F rows=4 cols=3 ld=4" rest "]"
#define HEAD "[cublasLt][1][Trace][cublasLtMatmul] "
#define FOUR DESC("A", "") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "")

Test(lt_trace, elided_defaults)
{
    lt_trace l = good("[cublasLtMatmul] " FOUR " beta=0");
    cr_expect_str_eq(l.elided_each,
                     "a/order, b/order, c/order, d/order, trans_a, trans_b, epilogue, compute, scale");
    cr_expect_str_eq(l.elided, "alpha, order, batch, trans_a, trans_b, epilogue, compute, scale");
    cr_expect_eq(l.printed, 17);
    cr_expect_eq(l.algorithm_id, -1);
    cr_expect(l.q.workspace_bytes == 0 && l.q.compute == LTC_32F && l.q.scale == DT_F32);
    l = good(HEAD DESC("A", " order=ORDER_ROW") " " DESC("B", " order=ORDER_ROW") " " DESC(
        "C", " order=ORDER_COL") " " DESC("D", " order=ORDER_COL") " computeDesc=[computeType=COMPUTE_32F "
                                                                   "scaleType=R_32F transa=OP_N transb=OP_T "
                                                                   "epilogue=EPILOGUE_RELU] algo=[algoId=7 "
                                                                   "tile=X new=1] beta=1 outOfPlace=1 "
                                                                   "workSpaceSizeInBytes=33554432 "
                                                                   "stream=0X0\n");
    cr_expect_str_eq(l.elided_each, "");
    cr_expect_str_eq(l.elided, "alpha, batch");
    cr_expect_str_eq(l.algorithm, "algoId=7 tile=X new=1");
    cr_expect(l.q.mat[LTM_A].order == LTO_ROW && l.q.mat[LTM_C].order == LTO_COL && l.q.op[0] == LTP_N &&
              l.q.op[1] == LTP_T);
    cr_expect(l.q.epilogue == LTE_RELU && l.q.beta == 1 && l.out_of_place && l.algorithm_id == 7 &&
              l.q.workspace_bytes == 33554432);
}

/* The library prints a beta that is not 0 as "?": the line of a capture. */
Test(lt_trace, beta_unsaid)
{
    scratch *sc = scratch_new(0);
    span text = t_slurp(sc, "artifacts/workloads/residual.fused.small/capture.json");
    const char *s = scratch_strndup(sc, (const char *)text.p, text.n);
    const char *at = strstr(s, "[cublasLt][Trace]");
    cr_assert_not_null(at);
    lt_trace l = good(scratch_strndup(sc, at, strcspn(at, "\"")));
    cr_expect(l.beta_unsaid && l.q.beta == 1);
    cr_expect(!strncmp(l.elided, "alpha, beta", 11), "%s", l.elided);
    scratch_free(sc);
}

/* What a line of ours may say beyond a plain product. */
Test(lt_trace, wide_lines)
{
    lt_trace l =
        good(HEAD DESC("A", " batchCount=4 stridedBatchOffset=12") " " DESC("B", " batchCount=4") " " DESC(
            "C", " batchCount=4 stridedBatchOffset=-16") " " DESC("D", " batchCount=4 "
                                                                       "stridedBatchOffset="
                                                                       "16") " computeDesc=["
                                                                             "computeType="
                                                                             "COMPUTE_16F "
                                                                             "scaleType=R_"
                                                                             "16F "
                                                                             "epilogue="
                                                                             "EPILOGUE_GELU_"
                                                                             "BIAS "
                                                                             "biasPointer="
                                                                             "0x9 "
                                                                             "biasDataType=R_"
                                                                             "16BF "
                                                                             "aScalePointer="
                                                                             "0x1 "
                                                                             "bScalePointer="
                                                                             "0x0] beta=0.5");
    cr_expect(l.q.mat[LTM_A].batch == 4 && l.q.mat[LTM_A].stride == 12 && l.q.mat[LTM_B].stride == 0 &&
              l.q.mat[LTM_C].stride == -16);
    cr_expect(l.q.compute == LTC_16F && l.q.scale == DT_F16 && l.q.epilogue == LTE_GELU_BIAS &&
              l.q.bias_type == DT_BF16 && l.q.beta == 0.5);
    cr_expect(l.pointer[LT_PTR_BIAS] == 9 && l.scaled[0] && !l.scaled[1] && !l.other_scales);
    cr_expect_str_eq(l.elided_each, "a/order, b/order, b/stride, c/order, d/order, trans_a, trans_b");
    cr_expect_str_eq(l.elided, "alpha, order, stride, trans_a, trans_b");
    cr_expect_eq(l.printed, 16 + 7 + 4 + 1);
    static const char *const other[] = {"cScalePointer", "dScalePointer", "amaxDPointer"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text, HEAD FOUR " computeDesc=[%s=0x40] beta=0", other[i]);
        l = good(text);
        cr_expect(l.other_scales && !l.scaled[0] && !l.scaled[1], "%s", other[i]);
    }
}

Test(lt_trace, refuses)
{
    static const struct {
        const char *text, *at; /* where the error points: before the first of these, or at the end */
    } cases[] = {
        {"", ""},
        {"cublasLtMatmul A=0X1", "cublas"},
        {"[cublasLt][Trace][cublasLtMatmulAlgoGetHeuristic] " FOUR " beta=0", NULL},
        {"[Matmul] " FOUR " beta=0", NULL},
        {HEAD FOUR, ""},
        {HEAD DESC("A", "") " " DESC("B", "") " " DESC("C", "") " beta=0", ""},
        {HEAD "Adesc=[rows=4 cols=3 ld=4] " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         ""}, /* no type */
        {HEAD "Adesc=[type=R_16F rows=4 cols=3] " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         ""},
        {HEAD DESC("A", " layout=2") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         "layout=2"},
        {HEAD DESC("A", " batchCount=x") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         "batchCount=x"},
        {HEAD DESC("A", " stridedBatchOffset=--4") " " DESC("B", "") " " DESC("C", "") " " DESC("D",
                                                                                                "") " beta=0",
         "stridedBatchOffset=--4"},
        {HEAD DESC("A", " order=ORDER_COL33") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         "order=ORDER_COL33"},
        {HEAD "Adesc=[type=R_8F_E8M0 rows=4 cols=3 ld=4] beta=0", "type=R_8F"},
        {HEAD "Adesc=[type=- rows=4 cols=3 ld=4] beta=0", "type=-"},
        {HEAD "Adesc=[type= rows=4 cols=3 ld=4] beta=0", "type= "},
        {HEAD "Adesc=[type=R_16F rows=-4 cols=3 ld=4] beta=0", "rows=-4"},
        {HEAD "Adesc=[type=R_16F rows=4x cols=3 ld=4] beta=0", "rows=4x"},
        {HEAD "Adesc=[type=R_16F rows=1234567890123456789 cols=3 ld=4] beta=0", "rows=1"},
        {HEAD "Edesc=[type=R_16F rows=4 cols=3 ld=4] beta=0", "[type"},
        {HEAD FOUR " computeDesc=[computeType=COMPUTE_8F] beta=0", "computeType"},
        {HEAD FOUR " computeDesc=[computeType=COMPUTE_32F scaleType=C_64F] beta=0", "scaleType"},
        {HEAD FOUR " computeDesc=[transa=OP_H] beta=0", "transa"},
        {HEAD FOUR " computeDesc=[epilogue=EPILOGUE_SILU] beta=0", "epilogue"},
        {HEAD FOUR " computeDesc=[aScalePointer=1] beta=0", "aScalePointer"},
        {HEAD FOUR " computeDesc=[amaxDPointer=none] beta=0", "amaxDPointer"},
        {HEAD FOUR " computeDesc=[eScalePointer=0x1] beta=0", "eScalePointer"},
        {HEAD FOUR " computeDesc=[aScaleMode=1] beta=0", "aScaleMode"},
        {HEAD FOUR " computeDesc=[pointerMode=0] beta=0", "pointerMode"},
        {HEAD FOUR " algo=[algoId] beta=0", "algoId"},
        {HEAD FOUR " algo=[algoId=7", ""},
        {HEAD FOUR " beta=x", "beta=x"},
        {HEAD FOUR " beta=0.5x", "beta=0.5x"},
        {HEAD FOUR " beta=0 outOfPlace=2", "outOfPlace=2"},
        {HEAD FOUR " beta=0 gamma=1", "gamma"},
        {HEAD FOUR " beta=0 gamma", "gamma"},
        {HEAD FOUR " beta", "beta"},
        {HEAD FOUR " beta=0 ] x=1", "] x"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        lt_trace l;
        cr_expect_eq(lt_trace_read(&e, &l, "log", cases[i].text), RP_INVALID, "accepted: %s", cases[i].text);
        cr_expect(e.id == FIND_RUN_INTERCEPT && !strcmp(e.file, "log") && !strncmp(e.where, "column ", 7),
                  "%s: %s", cases[i].text, e.where);
        if (!cases[i].at)
            continue;
        const char *at =
            *cases[i].at ? strstr(cases[i].text, cases[i].at) : cases[i].text + strlen(cases[i].text);
        cr_expect_str_eq(e.where, scratch_printf(sc, "column %zu", (size_t)(at - cases[i].text) + 1),
                         "%s: %s", cases[i].text, e.msg);
    }
    scratch_free(sc);
}

/* Cut anywhere before its beta field, a line is refused, and no byte beyond its end is read. */
Test(lt_trace, truncated)
{
    scratch *sc = scratch_new(0);
    const char *whole = line(sc, 0);
    size_t beta = (size_t)(strstr(whole, " beta=") - whole) + strlen(" beta=");
    for (size_t n = 0; n < strlen(whole); n++) {
        rp_err e = {0};
        lt_trace l;
        char *cut = malloc(n + 1);
        memcpy(cut, whole, n);
        cut[n] = 0;
        rp_code code = lt_trace_read(&e, &l, "log", cut);
        if (n <= beta)
            cr_expect_eq(code, RP_INVALID, "%zu characters were accepted", n);
        free(cut);
    }
    scratch_free(sc);
}
