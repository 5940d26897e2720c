#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "replay/import.h"
#include "replay/text_file.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <criterion/redirect.h>

static const char pytorch[] = "tests/data/cublaslt-trace-pytorch-2.11.log.zst";
static const char transformers[] = "tests/data/cublaslt-trace-transformers-bert-gpt2.log.zst";

static js_node *calls_of(scratch *sc, const char *dir)
{
    rp_err e = {0};
    js_node *root;
    cr_assert_eq(js_parse(&e, &root, sc, "calls.json", t_slurp(sc, file_join(sc, dir, "calls.json"))), RP_OK,
                 "%s", e.msg);
    return root;
}

static uint64_t count(js_node *o, const char *key)
{
    rp_err e = {0};
    uint64_t v = 0;
    cr_assert_eq(js_u64(&e, &v, o, key), RP_OK, "%s", e.msg);
    return v;
}

static const char *text(js_node *o, const char *key)
{
    js_node *v = js_find(o, key);
    return v && js_kind(v) == JS_STRING ? js_scalar_text(v) : "";
}

static size_t lines_of(span s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

/* Whole logs of other people's programs: every call is there, each with a bundle or the reason why not. */
Test(import, whole_logs, .init = cr_redirect_stdout)
{
    static const struct {
        const char *log;
        uint64_t lines, calls, distinct, bundles;
    } want[] = {{pytorch, 107, 7, 7, 7}, {transformers, 487, 21, 8, 8}};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < 2; i++) {
        const char *dir = t_dir(sc), *out = file_join(sc, dir, "out");
        cr_assert_eq(import_lt_log(want[i].log, out, false), EXIT_PASSED);
        js_node *root = calls_of(sc, out), *calls = js_find(root, "calls");
        uint64_t bundles = 0, sum = 0;
        cr_expect_eq(count(root, "lines"), want[i].lines);
        cr_expect_eq(count(root, "calls_logged"), want[i].calls);
        cr_expect_eq(count(root, "not_read"), 0);
        cr_expect_eq(count(root, "library_version"), i ? 130100 : 0);
        cr_assert_eq(js_len(calls), want[i].distinct);
        for (size_t k = 0; k < js_len(calls); k++) {
            js_node *c = js_at(calls, k);
            bool packed = *text(c, "bundle");
            sum += count(c, "count");
            bundles += packed;
            cr_expect_neq(packed, *text(c, "omitted") != 0);
            cr_expect(!strncmp(text(c, "elided"), "alpha", 5));
            cr_expect_str_neq(text(c, "verdict"), "refuse");
            if (packed)
                cr_expect(
                    file_exists(file_join(sc, file_join(sc, out, text(c, "bundle")), "plan/plan.json")));
        }
        cr_expect_eq(sum, want[i].calls);
        cr_expect_eq(bundles, want[i].bundles);
        cr_expect_eq(lines_of(t_slurp(sc, file_join(sc, out, "sequence.txt"))), want[i].calls);
        t_remove(dir);
    }
    scratch_free(sc);
}

/* FP8, a batch, typed variants, and pointers as buffers: linear writes what the next linear reads from other
 * bytes of. */
Test(import, fields, .init = cr_redirect_stdout)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    cr_assert_eq(import_lt_log(pytorch, dir, false), EXIT_PASSED);
    js_node *calls = js_find(calls_of(sc, dir), "calls"), *batch = js_at(calls, 4), *fp8 = js_at(calls, 5);
    cr_expect_str_eq(text(js_at(calls, 1), "function"), "cublasLtHSHMatmul");
    cr_expect_str_eq(text(js_at(calls, 6), "function"), "cublasLtSSSMatmul");
    cr_expect_eq(count(js_find(batch, "a"), "batch"), 4);
    cr_expect_str_eq(text(js_find(fp8, "a"), "type"), "e4m3");
    cr_expect_eq(count(js_find(js_at(calls, 1), "a"), "promised_alignment"), 16);
    cr_expect_eq(count(js_find(js_at(calls, 0), "a"), "promised_alignment"), 256);
    /* The batch multiplies a buffer with itself; the FP8 call is given A's pointer as C. */
    span seq = t_slurp(sc, file_join(sc, dir, "sequence.txt"));
    const char *s = scratch_strndup(sc, (const char *)seq.p, seq.n);
    cr_expect(strstr(s, "79 4 a=13+0 b=13+0 c=16+0 d=16+0\n"));
    cr_expect(strstr(s, "97 5 a=1+0 b=0+0 c=1+0 d=14+0\n"));
    t_remove(dir);
    scratch_free(sc);
}

static span plain(scratch *sc)
{
    rp_err e = {0};
    span s;
    cr_assert_eq(text_file_read(&e, &s, sc, pytorch, 1 << 20), RP_OK, "%s", e.msg);
    return s;
}

static uint64_t unread_line(scratch *sc, const char *dir, span log, int exit_code)
{
    const char *out = file_join(sc, dir, "out");
    cr_assert_eq(import_lt_log(t_write(sc, dir, "x.log", log), out, false), exit_code);
    js_node *root = calls_of(sc, out), *first = js_find(root, "not_read_first");
    cr_expect_eq(js_len(first), count(root, "not_read"));
    return js_len(first) ? count(js_at(first, 0), "line") : 0;
}

static void redirect_both(void)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
}

/* What cannot be read is said by number: a truncated line, a foreign one, an unknown field. */
Test(import, unread_lines, .init = redirect_both)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    span log = plain(sc);
    const char *last = "\nsomething of another program\n";
    cr_expect_eq(unread_line(sc, dir, log, EXIT_PASSED), 0);
    cr_expect_eq(unread_line(sc, dir, span_of(log.p, log.n - 100), EXIT_REJECTED), 107);
    cr_expect_eq(unread_line(sc, dir, t_splice(sc, log, 0, 0, span_str(last + 1)), EXIT_REJECTED), 1);
    cr_expect_eq(unread_line(sc, dir, t_splice(sc, log, log.n, 0, span_str(last)), EXIT_REJECTED),
                 lines_of(log) + 1 + (log.p[log.n - 1] == '\n'));
    const uint8_t *at = memmem(log.p, log.n, " outOfPlace", 11);
    cr_expect_eq(unread_line(sc, dir, t_splice(sc, log, (size_t)(at - log.p), 0, span_str(" newField=1")),
                             EXIT_REJECTED),
                 20);
    t_remove(dir);
    scratch_free(sc);
}

/* A call that a plan can express packs, and verifies. */
Test(import, bundle_verifies, .init = cr_redirect_stdout)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    lt_trace t;
    rp_err e = {0};
    static const char line[] =
        "[2026-01-01 00:00:00][cublasLt][1][Trace][cublasLtMatmul] A=0X100000 Adesc=[type=R_16F rows=24 "
        "cols=16 ld=24] B=0X200000 Bdesc=[type=R_16F rows=24 "
        "cols=40 ld=24] C=0X0 Cdesc=[type=R_16F rows=16 cols=40 ld=16] D=0X300000 Ddesc=[type=R_16F rows=16 "
        "cols=40 ld=16] computeDesc=[computeType=COMPUTE_32F "
        "scaleType=R_32F transa=OP_T epilogue=EPILOGUE_RELU_BIAS biasPointer=0x400000] algo=[algoId=66] "
        "workSpace=0X0 workSpaceSizeInBytes=0 beta=0 outOfPlace=0 "
        "stream=0X0";
    cr_assert_eq(lt_trace_read(&e, &t, "x.log", line), RP_OK, "%s: %s", e.where, e.msg);
    cr_expect(t.q.c_null);
    cr_expect_eq(t.q.k, 24);
    cr_expect_str_eq(t.elided, "alpha, order, batch, trans_b");
    cr_expect_null(import_call_obstacle(&t));
    cr_assert_eq(import_call_write(&e, sc, file_join(sc, dir, "s"), "call-000", "x.log", 1, line, &t), RP_OK,
                 "%s", e.msg);
    char *sources = file_join(sc, dir, "s"), *packed = file_join(sc, dir, "b.tar.zst"), dash_o[] = "-o",
         name[] = "x";
    char *pack[] = {name, sources, dash_o, packed, NULL}, *verify[] = {name, packed, NULL};
    optind = 0;
    cr_assert_eq(cmd_pack(4, pack), EXIT_PASSED);
    optind = 0;
    cr_expect_eq(cmd_verify(2, verify), EXIT_PASSED);
    t_remove(dir);
    scratch_free(sc);
}
