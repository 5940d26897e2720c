#include "artifacts/base/json.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    scratch *sc;
    rp_err e;
    js_node *root;
} doc;

static bool parse(doc *d, span text)
{
    *d = (doc){.sc = scratch_new(0)};
    return js_parse(&d->e, &d->root, d->sc, "f.json", text) == RP_OK;
}

static js_node *good(doc *d, const char *text)
{
    cr_assert(parse(d, span_str(text)), "%s: %s: %s", text, d->e.where, d->e.msg);
    return d->root;
}

static void expect_error(const rp_err *e, finding_id id, const char *where, const char *what)
{
    cr_expect_eq(e->code, RP_INVALID, "%s: code %d", what, e->code);
    cr_expect_eq(e->id, id, "%s: %s, not %s", what, finding_name(e->id), finding_name(id));
    cr_expect_str_eq(e->where, where, "%s: %s", what, e->msg);
    cr_expect_str_eq(e->file, "f.json", "%s", what);
}

static void refused(span text, finding_id id, const char *where)
{
    doc d;
    const char *what = (const char *)text.p;
    cr_expect_not(parse(&d, text), "%s was accepted", what);
    expect_error(&d.e, id, where, what);
    scratch_free(d.sc);
}

Test(json, values_of_every_kind)
{
    doc d;
    js_node *o = good(&d, " {\"n\":null, \"t\":true,\"f\" : "
                          "false,\r\n\t\"i\":-12,\"x\":2.5e-1,\"s\":\"\\u00e9\\n\",\"a\":[1,[],{}]} ");
    bool t, f;
    int64_t i;
    double x;
    const char *s;
    js_node *a, *v;
    size_t n = 0;
    cr_assert(!js_bool(&d.e, &t, o, "t") && t && !js_bool(&d.e, &f, o, "f") && !f);
    cr_assert(!js_i64(&d.e, &i, o, "i") && i == -12);
    cr_assert(!js_f64(&d.e, &x, o, "x") && x == 0.25);
    cr_assert(!js_str(&d.e, &s, o, "s"));
    cr_expect_str_eq(s, "\xc3\xa9\n");
    cr_assert(!js_arr(&d.e, &a, &n, o, "a") && n == 3);
    cr_expect_eq(js_kind(js_at(a, 1)), JS_ARRAY);
    cr_expect_eq(js_kind(js_at(a, 2)), JS_OBJECT);
    cr_expect_str_eq(js_where(js_at(a, 2)), "/a/2");
    cr_assert(!js_get(&d.e, &v, o, "n"));
    cr_expect_eq(js_kind(v), JS_NULL);
    cr_expect_eq(js_len(o), 7);
    cr_expect_eq(js_done(&d.e, o), RP_OK);
    scratch_free(d.sc);
}

/* Any value may stand at the root, alone. */
Test(json, roots)
{
    static const char *const texts[] = {"0", "null", "\"\"", "[]", "{}", "\n[1]\n", "-0.0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        doc d;
        good(&d, texts[i]);
        cr_expect_str_eq(js_where(d.root), "");
        scratch_free(d.sc);
    }
}

Test(json, syntax_refused)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        {"", "byte 0"},
        {"  ", "byte 2"},
        {"\xef\xbb\xbf{}", "byte 0"}, /* a byte order mark */
        {"{} {}", "byte 3"},
        {"{}x", "byte 2"},
        {"[1,]", "byte 3"},
        {"[,1]", "byte 1"},
        {"[1 2]", "byte 3"},
        {"{\"a\":1,}", "byte 7"},
        {"{\"a\" 1}", "byte 5"},
        {"{\"a\":}", "byte 5"},
        {"{a:1}", "byte 1"},
        {"{'a':1}", "byte 1"},
        {"{1:1}", "byte 1"},
        {"[", "byte 1"},
        {"{\"a\"", "byte 4"},
        {"]", "byte 0"},
        {"[}", "byte 1"},
        {"nul", "byte 0"},
        {"nulL", "byte 0"},
        {"True", "byte 0"},
        {"truex", "byte 4"},
        {"NaN", "byte 0"},
        {"Infinity", "byte 0"},
        {"-Infinity", "byte 1"},
        {"// c\n1", "byte 0"},
        {"[1/**/]", "byte 2"},
        {"\f1", "byte 0"},
        {"\xc2\xa0[]", "byte 0"}, /* a no-break space is no white space */
        /* numbers */
        {"01", "byte 1"},
        {"-01", "byte 2"},
        {"+1", "byte 0"},
        {"-", "byte 1"},
        {".5", "byte 0"},
        {"1.", "byte 2"},
        {"1.e1", "byte 2"},
        {"1e", "byte 2"},
        {"1e+", "byte 3"},
        {"0x10", "byte 1"},
        {"1_000", "byte 1"},
        {"12345678901234567890123456789012345678901", "byte 0"}, /* longer than 40 characters */
        /* strings */
        {"\"a", "byte 2"},
        {"\"\t\"", "byte 1"},
        {"\"\n\"", "byte 1"},
        {"\"\x1f\"", "byte 1"},
        {"\"\\", "byte 2"},
        {"\"\\x41\"", "byte 2"},
        {"\"\\'\"", "byte 2"},
        {"\"\\U0041\"", "byte 2"},
        {"\"\\u12\"", "byte 2"},
        {"\"\\u12g4\"", "byte 2"},
        {"\"\\u0000\"", "byte 2"},
        {"\"\\ud800\"", "byte 7"}, /* a first half alone */
        {"\"\\ud800x\"", "byte 7"},
        {"\"\\ud800\\u0041\"", "byte 7"}, /* and one before something else */
        {"\"\\ud800\\ud800\"", "byte 7"},
        {"\"\\udc00\"", "byte 2"}, /* a second half alone */
        {"\"\\udc00\\ud800\"", "byte 2"},
        /* bytes that are not UTF-8 */
        {"\"\x80\"", "byte 1"},
        {"\"\xff\"", "byte 1"},
        {"\"\xc0\xaf\"", "byte 1"}, /* '/' the long way */
        {"\"\xc3\"", "byte 1"},
        {"\"\xe0\x80\xaf\"", "byte 1"},
        {"\"\xed\xa0\x80\"", "byte 1"}, /* U+D800 */
        {"\"\xf0\x80\x80\x80\"", "byte 1"},
        {"\"\xf4\x90\x80\x80\"", "byte 1"}, /* above U+10FFFF */
        {"\"\xe2\x82\"", "byte 1"},
        {"{\"\xff\":1}", "byte 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(span_str(cases[i].text), FIND_JSON_SYNTAX, cases[i].where);
    refused(span_of("[1]\0", 4), FIND_JSON_SYNTAX, "byte 3");
    refused(span_of("\"a\0b\"", 5), FIND_JSON_SYNTAX, "byte 2");
}

Test(json, every_truncation_is_refused)
{
    static const char text[] = "{\"a\":[1.5e+3,\"\\ud83d\\ude00\xc3\xa9\",true,null],\"b\":{\"c\":-7}}";
    for (size_t n = 0; n + 1 < sizeof text; n++) {
        doc d;
        /* A copy of exactly this length, so that a sanitizer sees a read beyond it. */
        uint8_t *copy = malloc(n + !n);
        memcpy(copy, text, n);
        cr_expect_not(parse(&d, span_of(copy, n)), "%zu bytes were accepted", n);
        scratch_free(d.sc);
        free(copy);
    }
    doc d;
    good(&d, text);
    scratch_free(d.sc);
}

Test(json, surrogates_and_escapes)
{
    doc d;
    const char *s;
    js_node *o = good(&d, "{\"a\":\"\\ud83d\\ude00\\\"\\\\\\/"
                          "\\b\\f\\n\\r\\t\\u0041\\uFFFF\",\"b\":\"\xf0\x9f\x98\x80\xef\xbf\xbf\"}");
    cr_assert(!js_str(&d.e, &s, o, "a"));
    cr_expect_str_eq(s, "\xf0\x9f\x98\x80\"\\/\b\f\n\r\tA\xef\xbf\xbf");
    cr_assert(!js_str(&d.e, &s, o, "b"));
    cr_expect_str_eq(s, "\xf0\x9f\x98\x80\xef\xbf\xbf");
    scratch_free(d.sc);
}

Test(json, depth)
{
    char text[2 * (JS_MAX_DEPTH + 1)];
    for (int depth = JS_MAX_DEPTH; depth <= JS_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        doc d;
        bool ok = parse(&d, span_of(text, 2 * (size_t)depth));
        cr_expect_eq(ok, depth == JS_MAX_DEPTH);
        if (!ok)
            expect_error(&d.e, FIND_JSON_DEPTH, "byte 65", "65 levels");
        scratch_free(d.sc);
    }
    /* Depth is of what is open, not of what was. */
    char *wide = malloc(4 * 1000);
    size_t n = 0;
    wide[n++] = '[';
    for (int i = 0; i < 900; i++) {
        memcpy(wide + n, "[],", 3);
        n += 3;
    }
    memcpy(wide + n, "{}]", 3);
    doc d;
    cr_expect(parse(&d, span_of(wide, n + 3)), "%s", d.e.msg);
    cr_expect_eq(js_len(d.root), 901);
    scratch_free(d.sc);
    free(wide);
}

Test(json, duplicate_keys)
{
    refused(span_str("{\"a\":1,\"a\":1}"), FIND_JSON_DUPLICATE_KEY, "/a");
    refused(span_str("{\"x\":[{\"b\":1,\"c\":2,\"b\":3}]}"), FIND_JSON_DUPLICATE_KEY, "/x/0/b");
    /* The same key in another spelling, and one whose pointer needs escapes. */
    refused(span_str("{\"a\":1,\"\\u0061\":1}"), FIND_JSON_DUPLICATE_KEY, "/a");
    refused(span_str("{\"a/b~\":1,\"a/b~\":1}"), FIND_JSON_DUPLICATE_KEY, "/a~1b~0");
    refused(span_str("{\"annotations\":{\"n\":1,\"n\":2}}"), FIND_JSON_DUPLICATE_KEY, "/annotations/n");
    /* Case makes another key, which cJSON's own look-up would not see. */
    doc d;
    uint64_t v;
    js_node *o = good(&d, "{\"Key\":1,\"key\":2,\"KEY\":3}");
    cr_assert(!js_u64(&d.e, &v, o, "key") && v == 2);
    cr_assert(!js_u64(&d.e, &v, o, "Key") && v == 1);
    cr_expect_null(js_find(o, "kEY"));
    (void)!js_done(&d.e, o);
    expect_error(&d.e, FIND_JSON_UNKNOWN_KEY, "/KEY", "a key of another case");
    scratch_free(d.sc);
}

Test(json, unknown_keys_and_annotations)
{
    doc d;
    js_node *o = good(&d, "{\"annotations\":{\"anything\":[1,{\"x\":null}]}}");
    cr_expect_eq(js_done(&d.e, o), RP_OK);
    scratch_free(d.sc);

    o = good(&d, "{\"annotations\":[]}");
    (void)!js_done(&d.e, o);
    expect_error(&d.e, FIND_JSON_TYPE, "/annotations", "annotations that are no object");
    scratch_free(d.sc);

    o = good(&d, "{\"in\":{\"annotations\":{}}}");
    js_node *in;
    cr_assert(!js_obj(&d.e, &in, o, "in"));
    (void)!js_done(&d.e, in);
    expect_error(&d.e, FIND_JSON_UNKNOWN_KEY, "/in/annotations", "annotations below the root");
    scratch_free(d.sc);

    o = good(&d, "{\"a\":1,\"b\":2}");
    cr_expect_str_eq(js_key_at(o, 0), "a");
    (void)!js_done(&d.e, o);
    expect_error(&d.e, FIND_JSON_UNKNOWN_KEY, "/b", "an unread key");
    scratch_free(d.sc);
}

Test(json, integers)
{
    static const struct {
        const char *lexeme;
        bool u64, i64;
    } cases[] = {
        {"0", true, true},
        {"9007199254740991", true, true}, /* 2^53 - 1 */
        {"-9007199254740991", false, true},
        {"9007199254740992", false, false}, /* 2^53 */
        {"9007199254740993", false, false}, /* reads as 2^53 */
        {"-9007199254740992", false, false},
        {"18446744073709551615", false, false},
        {"-1", false, true},
        {"-0", false, false},
        {"1e3", false, false},
        {"1E0", false, false},
        {"1.0", false, false},
        {"1.5", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        doc d;
        char text[64];
        uint64_t u = 0;
        int64_t s = 0;
        snprintf(text, sizeof text, "{\"a\":[%s]}", cases[i].lexeme);
        js_node *a, *o = good(&d, text);
        size_t n = 0;
        cr_assert(!js_arr(&d.e, &a, &n, o, "a"));
        cr_expect_eq(js_as_u64(&d.e, &u, js_at(a, 0)) == RP_OK, cases[i].u64, "%s as u64", cases[i].lexeme);
        if (!cases[i].u64)
            expect_error(&d.e, FIND_JSON_NUMBER, "/a/0", cases[i].lexeme);
        d.e = (rp_err){0};
        cr_expect_eq(js_as_i64(&d.e, &s, js_at(a, 0)) == RP_OK, cases[i].i64, "%s as i64", cases[i].lexeme);
        if (cases[i].u64)
            cr_expect_eq(u, strtoull(cases[i].lexeme, NULL, 10));
        if (cases[i].i64)
            cr_expect_eq(s, strtoll(cases[i].lexeme, NULL, 10));
        scratch_free(d.sc);
    }
}

/* Which lexeme was an integer is kept a number, not a value: order and nesting must not mix them up. */
Test(json, integer_lexemes_stay_with_their_numbers)
{
    doc d;
    js_node *a, *o = good(&d, "{\"x\":1.0,\"a\":[2,3e0,\"4\",5],\"y\":{\"z\":6},\"w\":7.5}");
    size_t n = 0;
    uint64_t v;
    cr_assert(!js_arr(&d.e, &a, &n, o, "a"));
    cr_expect(!js_as_u64(&d.e, &v, js_at(a, 0)) && v == 2);
    cr_expect(!js_as_u64(&d.e, &v, js_at(a, 3)) && v == 5);
    js_node *y;
    cr_expect(!js_obj(&d.e, &y, o, "y") && !js_u64(&d.e, &v, y, "z") && v == 6);
    cr_expect(js_as_u64(&d.e, &v, js_at(a, 1)) == RP_INVALID);
    scratch_free(d.sc);
}

Test(json, floats)
{
    doc d;
    double v;
    js_node *o = good(&d, "{\"a\":-0,\"c\":5e-324,\"d\":0.1}");
    cr_expect(!js_f64(&d.e, &v, o, "a") && v == 0 && signbit(v));
    cr_expect(!js_f64(&d.e, &v, o, "c") && v == 5e-324);
    cr_expect(!js_f64(&d.e, &v, o, "d") && v == 0.1);
    scratch_free(d.sc);
    /* Refused wherever it stands, read or not: to the library it is infinity. */
    refused(span_str("{\"a\":1,\"b\":[1e400]}"), FIND_JSON_NUMBER, "/b/0");
    refused(span_str("{\"annotations\":{\"b\":-1e400}}"), FIND_JSON_NUMBER, "/annotations/b");
}

Test(json, getters_refuse)
{
    static const char *const names[] = {"red", "green", NULL};
    doc d;
    js_node *v,
        *o = good(&d, "{\"s\":\"blue\",\"n\":1,\"a\":[1,2],\"o\":{},\"d\":\"ABC\",\"format\":\"x/1\"}");
    size_t n = 0;
    uint64_t u, us[3];
    bool b;
    const char *s;
    int i;
    digest g;
#define REFUSES(call, id, where)                                                                             \
    do {                                                                                                     \
        d.e = (rp_err){0};                                                                                   \
        cr_expect_eq(call, RP_INVALID, "%s", #call);                                                         \
        expect_error(&d.e, id, where, #call);                                                                \
    } while (0)
    REFUSES(js_u64(&d.e, &u, o, "s"), FIND_JSON_TYPE, "/s");
    REFUSES(js_str(&d.e, &s, o, "n"), FIND_JSON_TYPE, "/n");
    REFUSES(js_bool(&d.e, &b, o, "n"), FIND_JSON_TYPE, "/n");
    REFUSES(js_arr(&d.e, &v, &n, o, "o"), FIND_JSON_TYPE, "/o");
    REFUSES(js_obj(&d.e, &v, o, "a"), FIND_JSON_TYPE, "/a");
    REFUSES(js_get(&d.e, &v, o, "missing"), FIND_JSON_MISSING_KEY, "");
    REFUSES(js_enum(&d.e, &i, o, "s", names), FIND_JSON_VALUE, "/s");
    cr_expect(strstr(d.e.msg, "\"red\", \"green\"") && strstr(d.e.msg, "blue"), "%s", d.e.msg);
    REFUSES(js_digest(&d.e, &g, o, "d"), FIND_JSON_VALUE, "/d");
    REFUSES(js_format(&d.e, o, "x/0"), FIND_JSON_VALUE, "/format");
    REFUSES(js_u64s(&d.e, us, 3, o, "a"), FIND_JSON_VALUE, "/a");
    REFUSES(js_as_obj(&d.e, js_find(o, "a")), FIND_JSON_TYPE, "/a");
    REFUSES(js_fail(&d.e, js_find(o, "a"), FIND_PLAN_CYCLE, "%d", 7), FIND_PLAN_CYCLE, "/a");
    REFUSES(js_u64(&d.e, &u, js_find(o, "a"), "k"), FIND_JSON_TYPE, "/a");
    d.e = (rp_err){0};
    cr_expect(!js_u64s(&d.e, us, 2, o, "a") && us[0] == 1 && us[1] == 2);
    cr_expect_eq(js_format(&d.e, o, "x/1"), RP_OK);
    scratch_free(d.sc);
}

/* A starved reader says so, and nothing else. */
Test(json, out_of_memory)
{
    for (size_t limit = 16; limit < 1400; limit += 16) {
        scratch *sc = scratch_new(limit);
        rp_err e = {0};
        js_node *root = NULL;
        (void)!js_parse(&e, &root, sc, "f", span_str("{\"a\":[1,2,3],\"b\":\"text\"}"));
        cr_expect(e.code == RP_NOMEM || (!e.code && root), "%d: %s", e.code, e.msg);
        if (limit == 16)
            cr_expect_eq(e.code, RP_NOMEM);
        scratch_free(sc);
    }
}
