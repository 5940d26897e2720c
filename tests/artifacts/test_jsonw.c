#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>

static void expect_text(jw *j, const char *want)
{
    rp_err e = {0};
    span s;
    cr_assert_eq(jw_finish(&e, &s, j), RP_OK);
    cr_expect(t_equal(s, span_str(want)), "found <%.*s>, not <%s>", (int)s.n, s.p, want);
    jw_free(j);
}

static void members(jw *j)
{
    static const uint64_t three[] = {1, 2, 3};
    jw_obj(j, NULL);
    jw_str(j, "a", "x");
    jw_u64s(j, "b", three, 3);
    jw_arr(j, "c");
    jw_obj(j, NULL);
    jw_bool(j, "d", true);
    jw_end(j);
    jw_u64(j, NULL, 4);
    jw_end(j);
    jw_obj(j, "e");
    jw_end(j);
    jw_arr(j, "f");
    jw_end(j);
    jw_null(j, "g");
    jw_end(j);
}

Test(jsonw, pretty)
{
    jw *j = jw_new(JW_PRETTY);
    members(j);
    expect_text(j, "{\n"
                   "  \"a\": \"x\",\n"
                   "  \"b\": [1, 2, 3],\n"
                   "  \"c\": [\n"
                   "    {\n"
                   "      \"d\": true\n"
                   "    },\n"
                   "    4\n"
                   "  ],\n"
                   "  \"e\": {},\n"
                   "  \"f\": [],\n"
                   "  \"g\": null\n"
                   "}\n");
}

Test(jsonw, compact_and_canonical)
{
    static const jw_style styles[] = {JW_COMPACT, JW_CANON};
    for (int i = 0; i < 2; i++) {
        jw *j = jw_new(styles[i]);
        members(j);
        expect_text(j, "{\"a\":\"x\",\"b\":[1,2,3],\"c\":[{\"d\":true},4],\"e\":{},\"f\":[],\"g\":null}");
    }
}

/* RFC 8785, 3.2.2 (the strings and literals of its example) and appendix B (the integers that are exact). */
Test(jsonw, rfc8785)
{
    jw *j = jw_new(JW_CANON);
    jw_obj(j, NULL);
    jw_arr(j, "literals");
    jw_null(j, NULL);
    jw_bool(j, NULL, true);
    jw_bool(j, NULL, false);
    jw_end(j);
    jw_arr(j, "numbers");
    jw_u64(j, NULL, 0);
    jw_u64(j, NULL, 9007199254740991);
    jw_i64(j, NULL, -9007199254740991);
    jw_end(j);
    jw_str(j, "string", "\xe2\x82\xac$\x0f\nA'B\"\\\\\"/");
    jw_end(j);
    expect_text(j, "{\"literals\":[null,true,false],\"numbers\":[0,9007199254740991,-9007199254740991],"
                   "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

Test(jsonw, escapes)
{
    /* Every character below U+0020 and the two that must be escaped; DEL and the rest stand for themselves.
     */
    char all[0x22 + 4];
    for (int c = 1; c < 0x20; c++)
        all[c - 1] = (char)c;
    memcpy(all + 0x1f, "\"\\\x7f", 4);
    jw *j = jw_new(JW_CANON);
    jw_str(j, NULL, all);
    expect_text(j,
                "\"\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f"
                "\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c"
                "\\u001d\\u001e\\u001f\\\"\\\\\x7f\"");
    j = jw_new(JW_COMPACT);
    jw_arr(j, NULL);
    jw_strn(j, NULL, span_of("a\0b", 3));
    jw_str(j, NULL, "\xff\xc3(\xed\xa0\x80\xf0\x9f\x98\x80"); /* not UTF-8, a surrogate, and one good one */
    jw_str(j, NULL, NULL);
    jw_fmt(j, NULL, "%d\"%s", 7, "x");
    jw_raw(j, NULL, span_str("{\"r\":1}"));
    jw_end(j);
    expect_text(
        j, "[\"a\\u0000b\",\"\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\","
           "null,\"7\\\"x\",{\"r\":1}]");
}

Test(jsonw, numbers)
{
    jw *j = jw_new(JW_COMPACT);
    jw_arr(j, NULL);
    jw_u64(j, NULL, UINT64_MAX);
    jw_i64(j, NULL, INT64_MIN);
    jw_f64(j, NULL, 0.1);
    jw_f64(j, NULL, 1.0 / 3);
    jw_f64(j, NULL, 2);
    jw_f64(j, NULL, -0.0);
    jw_f64(j, NULL, 5e-324);
    jw_f64(j, NULL, 1.7976931348623157e308);
    jw_f64(j, NULL, INFINITY);
    jw_f64(j, NULL, -INFINITY);
    jw_f64(j, NULL, NAN);
    jw_f64(j, NULL, -NAN);
    jw_end(j);
    expect_text(j, "[18446744073709551615,-9223372036854775808,0.1,0.3333333333333333,2,-0,5e-324,"
                   "1.7976931348623157e+308,\"Infinity\",\"-Infinity\",\"NaN\",\"NaN\"]");
}

/* What is written reads back, with our own reader. */
Test(jsonw, reads_back)
{
    scratch *sc = scratch_new(0);
    static const jw_style styles[] = {JW_PRETTY, JW_COMPACT, JW_CANON};
    static const char text[] = "\b\t\n\x01\x7f\"\\/\xc3\xa9\xf0\x9f\x98\x80";
    for (int i = 0; i < 3; i++) {
        jw *j = jw_new(styles[i]);
        rp_err e = {0};
        span s;
        js_node *root;
        const char *back;
        digest d = digest_of(span_str("x")), found;
        jw_obj(j, NULL);
        jw_digest(j, "d", d);
        jw_str(j, "k/~\"\n", text);
        jw_end(j);
        cr_assert(!jw_finish(&e, &s, j) && !js_parse(&e, &root, sc, "f", s), "%s", e.msg);
        cr_assert(!js_str(&e, &back, root, "k/~\"\n") && !js_digest(&e, &found, root, "d"));
        cr_expect_str_eq(back, text);
        cr_expect(digest_equal(d, found));
        cr_expect_eq(js_done(&e, root), RP_OK);
        jw_free(j);
    }
    scratch_free(sc);
}

Test(jsonw, no_writer_is_out_of_memory)
{
    rp_err e = {0};
    span s;
    jw_obj(NULL, NULL);
    jw_str(NULL, "a", "b");
    jw_fmt(NULL, "c", "%d", 1);
    jw_f64(NULL, "d", 1);
    jw_end(NULL);
    cr_expect_eq(jw_finish(&e, &s, NULL), RP_NOMEM);
    jw_free(NULL);
}

/* Misuse is a bug and asserts. */
Test(jsonw, keys_must_ascend_in_canonical_text, .signal = SIGABRT)
{
    jw *j = jw_new(JW_CANON);
    jw_obj(j, NULL);
    jw_u64(j, "b", 1);
    jw_u64(j, "a", 1);
}

Test(jsonw, one_key_twice_asserts, .signal = SIGABRT)
{
    jw *j = jw_new(JW_CANON);
    jw_obj(j, NULL);
    jw_u64(j, "a", 1);
    jw_u64(j, "a", 1);
}

Test(jsonw, key_in_an_array_asserts, .signal = SIGABRT)
{
    jw *j = jw_new(JW_COMPACT);
    jw_arr(j, NULL);
    jw_u64(j, "a", 1);
}

Test(jsonw, member_without_key_asserts, .signal = SIGABRT)
{
    jw *j = jw_new(JW_COMPACT);
    jw_obj(j, NULL);
    jw_u64(j, NULL, 1);
}

Test(jsonw, end_too_much_asserts, .signal = SIGABRT)
{
    jw *j = jw_new(JW_COMPACT);
    jw_obj(j, NULL);
    jw_end(j);
    jw_end(j);
}

Test(jsonw, unfinished_asserts, .signal = SIGABRT)
{
    jw *j = jw_new(JW_COMPACT);
    rp_err e = {0};
    span s;
    jw_arr(j, NULL);
    (void)!jw_finish(&e, &s, j);
}

Test(jsonw, floats_have_no_canonical_form_here, .signal = SIGABRT)
{
    jw_f64(jw_new(JW_CANON), NULL, 1);
}
