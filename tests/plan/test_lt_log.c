#include "plan/lt_log.h"
#include "tests/support.h"
#include <criterion/criterion.h>
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

static lt_logged good(scratch *sc, const char *text)
{
    rp_err e = {0};
    lt_logged l = {0};
    cr_assert_eq(lt_log_read(&e, &l, sc, "log", text), RP_OK, "%s: %s", e.where, e.msg);
    return l;
}

Test(lt_log, real_lines)
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
        lt_logged l = good(sc, line(sc, i));
        const lt_call *c = &l.call;
        cr_expect_str_eq(l.function, want[i].function);
        cr_expect(c->a.type == want[i].type && c->b.type == want[i].type && c->c.type == want[i].type &&
                      c->d.type == want[i].type,
                  "line %zu", i);
        cr_expect(c->m == want[i].m && c->n == want[i].n && c->k == want[i].k, "line %zu: %d %d %d", i,
                  (int)c->m, (int)c->n, (int)c->k);
        cr_expect(c->a.order == LTO_COL && c->d.order == LTO_COL && c->d.rows == want[i].m &&
                      c->d.cols == want[i].n && c->b.ld == want[i].ldb,
                  "line %zu", i);
        cr_expect(c->trans_a == want[i].trans_a && !c->trans_b && c->epilogue == want[i].epilogue &&
                      l.has_bias == want[i].bias,
                  "line %zu", i);
        cr_expect(!c->beta_one && !l.out_of_place && c->workspace_bytes == want[i].workspace &&
                      l.sm_count_target == want[i].sm_count,
                  "line %zu", i);
        cr_expect(l.algorithm_id == want[i].algorithm && l.printed == want[i].printed, "line %zu: %d fields",
                  i, (int)l.printed);
        cr_expect_str_eq(l.elided, want[i].elided, "line %zu", i);
    }
    scratch_free(sc);
}

/* A line of ours, as short as the reader allows. */
#define DESC(x, rest) x "desc=[type=R_16F rows=4 cols=3 ld=4" rest "]"
#define HEAD "[cublasLt][1][Trace][cublasLtMatmul] "
#define FOUR DESC("A", "") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "")

Test(lt_log, elided_defaults)
{
    scratch *sc = scratch_new(0);
    lt_logged l = good(sc, "[cublasLtMatmul] " FOUR " beta=0");
    cr_expect_str_eq(l.elided,
                     "a/order, b/order, c/order, d/order, trans_a, trans_b, epilogue, compute, scale");
    cr_expect_eq(l.printed, 17);
    cr_expect_eq(l.algorithm_id, -1);
    l = good(
        sc,
        HEAD DESC("A", " order=ORDER_ROW") " " DESC("B", " order=ORDER_ROW") " " DESC(
            "C",
            " order=ORDER_COL") " " DESC("D",
                                         " order=ORDER_COL") " computeDesc=[computeType=COMPUTE_32F "
                                                             "scaleType=R_32F transa=OP_N transb=OP_T "
                                                             "epilogue=EPILOGUE_RELU] algo=[algoId=7 tile=X "
                                                             "new=1] beta=1 outOfPlace=1 "
                                                             "workSpaceSizeInBytes=33554432 stream=0X0\n");
    cr_expect_str_eq(l.elided, "");
    cr_expect(l.call.a.order == LTO_ROW && l.call.c.order == LTO_COL && !l.call.trans_a && l.call.trans_b);
    cr_expect(l.call.epilogue == LTE_RELU && l.call.beta_one && l.out_of_place && l.algorithm_id == 7 &&
              l.call.workspace_bytes == 33554432);
    scratch_free(sc);
}

Test(lt_log, refuses)
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
        {HEAD DESC("A", " batchCount=4") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         "batchCount=4"},
        {HEAD DESC("A", " order=ORDER_COL32") " " DESC("B", "") " " DESC("C", "") " " DESC("D", "") " beta=0",
         "order=ORDER_COL32"},
        {HEAD "Adesc=[type=R_8F_E4M3 rows=4 cols=3 ld=4] beta=0", "type=R_8F"},
        {HEAD "Adesc=[type=- rows=4 cols=3 ld=4] beta=0", "type=-"},
        {HEAD "Adesc=[type= rows=4 cols=3 ld=4] beta=0", "type= "},
        {HEAD "Adesc=[type=R_16F rows=-4 cols=3 ld=4] beta=0", "rows=-4"},
        {HEAD "Adesc=[type=R_16F rows=4x cols=3 ld=4] beta=0", "rows=4x"},
        {HEAD "Adesc=[type=R_16F rows=1234567890123456789 cols=3 ld=4] beta=0", "rows=1"},
        {HEAD "Edesc=[type=R_16F rows=4 cols=3 ld=4] beta=0", "[type"},
        {HEAD FOUR " computeDesc=[computeType=COMPUTE_16F] beta=0", "computeType"},
        {HEAD FOUR " computeDesc=[computeType=COMPUTE_32F scaleType=R_64F] beta=0", "scaleType"},
        {HEAD FOUR " computeDesc=[transa=OP_C] beta=0", "transa"},
        {HEAD FOUR " computeDesc=[epilogue=EPILOGUE_GELU] beta=0", "epilogue"},
        {HEAD FOUR " computeDesc=[aScalePointer=0x1] beta=0", "aScalePointer"},
        {HEAD FOUR " beta=2", "beta=2"},
        {HEAD FOUR " beta=0.5", "beta=0.5"},
        {HEAD FOUR " beta=0 outOfPlace=2", "outOfPlace=2"},
        {HEAD FOUR " beta=0 gamma=1", "gamma"},
        {HEAD FOUR " beta=0 gamma", "gamma"},
        {HEAD FOUR " beta", "beta"},
        {HEAD FOUR " beta=0 ] x=1", "] x"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        lt_logged l;
        cr_expect_eq(lt_log_read(&e, &l, sc, "log", cases[i].text), RP_INVALID, "accepted: %s",
                     cases[i].text);
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
Test(lt_log, truncated)
{
    scratch *sc = scratch_new(0);
    const char *whole = line(sc, 0);
    size_t beta = (size_t)(strstr(whole, " beta=") - whole) + strlen(" beta=");
    for (size_t n = 0; n < strlen(whole); n++) {
        rp_err e = {0};
        lt_logged l;
        char *cut = malloc(n + 1);
        memcpy(cut, whole, n);
        cut[n] = 0;
        rp_code code = lt_log_read(&e, &l, sc, "log", cut);
        if (n <= beta)
            cr_expect_eq(code, RP_INVALID, "%zu characters were accepted", n);
        free(cut);
    }
    scratch_free(sc);
}
