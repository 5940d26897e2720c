#include "artifacts/base/file.h"
#include "replay/resolve_ask.h"
#include "replay/text_file.h"
#include "tests/support.h"
#include <criterion/criterion.h>

static const char shipped[] = "tests/data/lt-support-h200-cublaslt-13.1.csv.xz";

static void count_refused(void *ctx, const lt_csv_row *row, const lt_answer *a)
{
    unsigned *n = ctx;
    (void)row;
    *n += a->verdict == LTV_REFUSE && a->status != 0;
}

/* 39,938 answers of the real library; the figures are printed, by status and by rule. */
Test(against, shipped_rows_agree)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    span text;
    lt_csv csv;
    lt_agreement a;
    unsigned refused = 0;
    cr_assert_eq(text_file_read(&e, &text, sc, shipped, LT_CSV_MAX_BYTES), RP_OK, "%s", e.msg);
    cr_assert_eq(lt_csv_open(&e, &csv, shipped, text, 90, 130100), RP_OK, "%s", e.msg);
    cr_assert_eq(lt_agreement_of(&e, &a, sc, &csv, NULL, count_refused, &refused), RP_OK, "%s", e.msg);
    lt_agreement_print(&a, sc, stdout);
    fflush(stdout);
    cr_expect_eq(a.rows, 39938);
    cr_expect(a.agree * 1000 >= a.rows * 999, "%llu agree", (unsigned long long)a.agree);
    /* What differs is never refused by a rule, and all of it is answered with a note. */
    cr_expect_eq(refused, 0);
    cr_expect_eq(a.noted, a.rows - a.agree);
    scratch_free(sc);
}

/* No rule of the table is there for a handful of rows, and each that decides is right nearly always. */
Test(against, each_rule_is_right)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    span text;
    lt_csv csv;
    lt_agreement a;
    cr_assert_eq(text_file_read(&e, &text, sc, shipped, LT_CSV_MAX_BYTES), RP_OK);
    cr_assert_eq(lt_csv_open(&e, &csv, shipped, text, 90, 130100), RP_OK);
    cr_assert_eq(lt_agreement_of(&e, &a, sc, &csv, NULL, NULL, NULL), RP_OK);
    for (size_t i = 0; i <= lt_rules_count; i++)
        cr_expect(a.by_rule[1][i] * 100 >= a.by_rule[0][i] * 99, "%s",
                  i < lt_rules_count ? lt_rules[i].id : "no rule");
    scratch_free(sc);
}

static const char head[] =
    "m,n,k,type_a,type_b,type_c,type_d,compute,scale,epilogue,trans_a,trans_b,order_a,order_b,order_c,order_"
    "d,a_rows,a_cols,lda,b_rows,"
    "b_cols,ldb,cd_rows,cd_cols,ldc,ldd,batch,stride_a,stride_cd,min_align,workspace_limit,status\n";
static const char row[] =
    "16,24,8,f32,f32,f32,f32,32f,f32,default,N,N,col,col,col,col,16,8,16,8,24,8,16,24,16,16,1,-1,-1,0,0,";

static rp_code knows(rp_err *e, scratch *sc, const char *dir, const char *text, knowledge **k)
{
    return knowledge_read(e, k, sc, t_write(sc, dir, "k.csv", span_str(text)), 80, 120400);
}

/* A recorded answer has the last word on the library, at its place only. */
Test(against, knowledge)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    knowledge *k = NULL;
    lt_query q;
    lt_answer a;
    int known;
    cr_assert_eq(knows(&e, sc, dir, scratch_printf(sc, "%s%s15\n", head, row), &k), RP_OK, "%s", e.msg);
    cr_assert_eq(lt_query_text(&e, &q, "m=16 n=24 k=8 a=f32 workspace=0 sm=80 lib=12.4.1"), RP_OK);
    knowledge_decide(&a, &known, k, &q);
    cr_expect_eq(known, 15);
    cr_expect_eq(a.verdict, LTV_REFUSE);
    cr_expect_str_eq(lt_deciding(&a)->rule->id, "probe.recorded");
    q.sm = 90;
    knowledge_decide(&a, &known, k, &q);
    cr_expect_eq(known, -1);
    cr_expect_eq(a.verdict, LTV_OK);
    /* A recorded yes lifts a refusal of the library's rules, and leaves ours. */
    cr_assert_eq(knows(&e, sc, dir,
                       scratch_printf(sc, "%s%s0\n", head,
                                      "128,64,32,f32,f32,f32,f32,32f,f32,bias,N,N,col,col,row,row,128,32,128,"
                                      "32,64,32,128,64,64,64,1,-1,-1,0,0,"),
                       &k),
                 RP_OK);
    cr_assert_eq(
        lt_query_text(
            &e, &q,
            "m=128 n=64 k=32 a=f32 c=row d=row epilogue=bias bias=len=100 workspace=0 sm=80 lib=12.4"),
        RP_OK);
    lt_decide(&a, &q);
    cr_expect_str_eq(lt_deciding(&a)->rule->id, "bias.row_d");
    knowledge_decide(&a, &known, k, &q);
    cr_expect_eq(known, 0);
    cr_expect_str_eq(lt_deciding(&a)->rule->id, "bias.length");
    t_remove(dir);
    scratch_free(sc);
}

Test(against, broken_files)
{
    static const char *const bad[] = {"m,n\n", "m,m\n", "m,colour\n", ""};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    knowledge *k = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_err e = {0};
        cr_expect_eq(knows(&e, sc, dir, bad[i], &k), RP_IO);
    }
    rp_err e = {0};
    cr_expect_eq(knows(&e, sc, dir, scratch_printf(sc, "%s%s0\n%s7\n", head, row, row), &k), RP_IO);
    cr_expect_str_eq(e.where, "line 3");
    e = (rp_err){0};
    cr_expect_eq(knows(&e, sc, dir, scratch_printf(sc, "%s%sx\n", head, row), &k), RP_IO);
    cr_expect_str_eq(e.where, "line 2");
    e = (rp_err){0};
    cr_expect_eq(knows(&e, sc, dir, scratch_printf(sc, "%s%s0,\n%s0,9\n", head, row, row), &k), RP_IO);
    t_remove(dir);
    scratch_free(sc);
}

/* The same text plain, as zstd frames and through xz. */
Test(against, compressed_texts)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc),
               *name = t_write(sc, dir, "t.csv", span_str("some text, some text, some text\n"));
    static const char *const ends[] = {"", ".zst", ".xz"};
    static const char *const programs[] = {"", "zstd", "xz"};
    for (int i = 0; i < 3; i++) {
        rp_err e = {0};
        span got;
        if (i && (!t_has(programs[i]) || t_shell(dir, scratch_printf(sc, "%s -kq t.csv", programs[i]))))
            continue;
        cr_expect_eq(text_file_read(&e, &got, sc, scratch_printf(sc, "%s%s", name, ends[i]), 1 << 20), RP_OK,
                     "%s", e.msg);
        cr_expect(t_equal(got, t_slurp(sc, name)));
        e = (rp_err){0};
        cr_expect_neq(text_file_read(&e, &got, sc, scratch_printf(sc, "%s%s", name, ends[i]), 8), RP_OK);
        if (i) {
            const char *cut = t_write(sc, dir, scratch_printf(sc, "cut%s", ends[i]),
                                      span_of(t_slurp(sc, scratch_printf(sc, "%s%s", name, ends[i])).p, 12));
            e = (rp_err){0};
            cr_expect_eq(text_file_read(&e, &got, sc, cut, 1 << 20), RP_IO);
        }
    }
    t_remove(dir);
    scratch_free(sc);
}
