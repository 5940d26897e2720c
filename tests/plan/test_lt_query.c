#include "plan/lt_rules.h"
#include "tests/support.h"
#include <criterion/criterion.h>

static lt_query good(const char *text)
{
    rp_err e = {0};
    lt_query q;
    cr_assert_eq(lt_query_text(&e, &q, text), RP_OK, "%s: %s", text, e.msg);
    return q;
}

static lt_answer answered(const char *text)
{
    lt_query q = good(text);
    lt_answer a;
    lt_decide(&a, &q);
    return a;
}

/* What is left out is what most calls have. */
Test(lt_query, defaults)
{
    lt_query q = good("m=16 n=24 k=8 a=i8,T");
    cr_expect_eq(q.mat[LTM_A].rows, 8);
    cr_expect_eq(q.mat[LTM_A].cols, 16);
    cr_expect_eq(q.mat[LTM_A].ld, 8);
    cr_expect_eq(q.mat[LTM_B].type, DT_I8);
    cr_expect_eq(q.mat[LTM_C].type, DT_I32);
    cr_expect_eq(q.mat[LTM_D].type, DT_I32);
    cr_expect_eq(q.compute, LTC_32I);
    cr_expect_eq(q.scale, DT_I32);
    q = good("m=16 n=24 k=32 a=e4m3,T b=e5m2 d=e4m3 batch=3");
    cr_expect_eq(q.mat[LTM_C].type, DT_BF16);
    cr_expect_eq(q.mat[LTM_D].batch, 3);
    cr_expect_eq(q.mat[LTM_D].stride, 16 * 24);
    q = good("m=4 n=5 k=6 a=f64,row b=row");
    cr_expect_eq(q.mat[LTM_A].ld, 6);
    cr_expect_eq(q.scale, DT_F64);
}

/* The library's own words, pasted. */
Test(lt_query, words_of_the_library)
{
    lt_query q = good("m=4 n=5 k=6 a=R_16BF,ORDER_ROW,OP_T compute=COMPUTE_32F_FAST_TF32 scale=R_32F "
                      "epilogue=EPILOGUE_GELU_BIAS lib=13.1.0.3");
    cr_expect_eq(q.mat[LTM_A].type, DT_BF16);
    cr_expect_eq(q.mat[LTM_A].order, LTO_ROW);
    cr_expect_eq(q.op[0], LTP_T);
    cr_expect_eq(q.compute, LTC_32F_FAST_TF32);
    cr_expect_eq(q.epilogue, LTE_GELU_BIAS);
    cr_expect_eq(q.version, 130100);
    cr_expect_not(q.version_loose);
}

Test(lt_query, what_cannot_be_read)
{
    static const char *const bad[] = {"",
                                      "m=1 n=1 a=f32",
                                      "m=1 n=1 k=1",
                                      "m=-1 n=1 k=1 a=f32",
                                      "m=1 n=1 k=9007199254740992 a=f32",
                                      "m=1 n=1 k=1 a=f33",
                                      "m=1 n=1 k=1 a=f32,",
                                      "m=1 n=1 k=1 a=f32 d=T",
                                      "m=1 n=1 k=1 a=f32,null",
                                      "m=1 n=1 k=1 a=f32,align=0",
                                      "m=1 n=1 k=1 a=f32,stride=9223372036854775808",
                                      "m=1 n=1 k=1 a=f32 bias=axis=x",
                                      "m=1 n=1 k=1 a=f32 alpha=nan",
                                      "m=1 n=1 k=1 a=f32 lib=x",
                                      "m=1 n=1 k=1 a=f32 colour=red"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_err e = {0};
        lt_query q;
        cr_expect_eq(lt_query_text(&e, &q, bad[i]), RP_USAGE, "%s", bad[i]);
    }
}

/* Spans in 64 bits, and where they do not fit. */
Test(lt_query, spans)
{
    uint64_t n = 0;
    lt_query q = good("m=4 n=5 k=6 a=f32,ld=10,batch=3,stride=-100 b=stride=9223372036854775807,batch=2");
    cr_expect(lt_span(&q.mat[LTM_A], &n));
    cr_expect_eq(n, 5 * 10 + 4 + 2 * 100);
    cr_expect(lt_span(&q.mat[LTM_B], &n));
    cr_expect_eq(n, (uint64_t)INT64_MAX + 4 * 6 + 6);
    q.mat[LTM_B].batch = 4;
    cr_expect_not(lt_span(&q.mat[LTM_B], &n));
    q = good("m=0 n=5 k=6 a=f32");
    cr_expect(lt_span(&q.mat[LTM_A], &n));
    cr_expect_eq(n, 0);
    lt_answer a = answered("m=4503599627370496 n=4503599627370496 k=1 a=f64");
    cr_expect_str_eq(lt_deciding(&a)->rule->id, "span.overflow");
}

/* A rule that is bounded decides inside its bounds, is silent outside, and is a note where the place is not
 * known. */
Test(lt_query, bounded_rules)
{
    static const char nn[] = "m=64 n=128 k=256 a=e4m3,N b=e4m3,N d=bf16";
    scratch *sc = scratch_new(0);
    lt_answer a = answered(scratch_printf(sc, "%s sm=90 lib=13.1", nn));
    cr_expect_str_eq(lt_deciding(&a)->rule->id, "fp8.tn");
    cr_expect_eq(answered(scratch_printf(sc, "%s sm=100", nn)).verdict, LTV_OK_NOTE);
    a = answered(nn);
    cr_expect_eq(a.verdict, LTV_OK_NOTE);
    cr_expect(a.hits[0].may_hold || a.hits[1].may_hold);
    /* A defect of one version is not told of another, or of one that is not known. */
    static const char large[] = "m=134217728 n=1 k=2 a=f32,T,ld=16 b=T,ld=1 workspace=0";
    cr_expect_eq(answered(scratch_printf(sc, "%s lib=13.6.1", large)).n_hits, answered(large).n_hits);
    cr_expect_eq(answered(scratch_printf(sc, "%s lib=13.6.0", large)).n_hits, answered(large).n_hits + 1);
    scratch_free(sc);
}

/* One table: ids are there once, and every rule says what a person needs. */
Test(lt_query, table)
{
    for (size_t i = 0; i < lt_rules_count; i++) {
        const lt_rule *r = &lt_rules[i];
        cr_expect_eq(lt_rule_find(r->id), r, "%s is there twice", r->id);
        cr_expect(*r->says && *r->found && *r->source, "%s", r->id);
        cr_expect_eq(r->kind == LTR_LIBRARY, r->status == 7 || r->status == 15, "%s", r->id);
        cr_expect(r->sm_min <= r->sm_max && r->version_min <= r->version_max, "%s", r->id);
    }
}

/* Remedies carry the number that helps, and taking it does help. */
Test(lt_query, remedies)
{
    scratch *sc = scratch_new(0);
    lt_answer a = answered("m=64 n=64 k=48 a=e4m3,T,ld=50 b=e4m3 d=bf16 sm=90 lib=13.1");
    cr_expect_str_eq(lt_hit_text(sc, lt_deciding(&a)), "lda is 50, not a multiple of 16");
    cr_expect_str_eq(lt_hit_remedy(sc, lt_deciding(&a)), "pad lda to 64");
    cr_expect_eq(answered("m=64 n=64 k=48 a=e4m3,T,ld=64 b=e4m3 d=bf16 sm=90 lib=13.1").verdict, LTV_OK);
    a = answered("m=8 n=4 k=2 a=f32,ld=7");
    cr_expect_str_eq(lt_hit_text(sc, lt_deciding(&a)), "lda is 7, below the minor extent 8");
    scratch_free(sc);
}
