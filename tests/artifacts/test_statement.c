#include "artifacts/statement.h"
#include "tests/support.h"
#include <criterion/criterion.h>

Test(statement, of_a_bundle)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    span text;
    statement s;
    const char *name;
    digest root = digest_of(span_str("manifest"));
    jw *j = jw_new(JW_COMPACT);
    statement_of_bundle(j, "small", root);
    cr_assert(!jw_finish(&e, &text, j));
    cr_assert(!statement_read(&e, &s, sc, "s.json", text), "%s", e.msg);
    cr_expect_str_eq(s.predicate_type, STATEMENT_BUNDLE);
    cr_expect(s.n == 1 && statement_is_about(&s, root) && !statement_is_about(&s, digest_of(span_str("x"))));
    cr_assert(!statement_bundle_read(&e, &name, &s));
    cr_expect_str_eq(name, "small");
    jw_free(j);
    scratch_free(sc);
}

#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SUBJECT "{\"name\":\"n\",\"digest\":{\"sha256\":\"" HEX "\",\"sha1\":\"x\"},\"uri\":\"u\"}"
#define HEAD "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":["
#define TAIL "],\"predicateType\":\"t\",\"predicate\":{\"a\":1}"

Test(statement, refuses)
{
    static const struct {
        const char *text, *where; /* where NULL: accepted */
    } cases[] = {
        {HEAD SUBJECT TAIL "}", NULL},
        {HEAD SUBJECT TAIL ",\"more\":1}", NULL},
        {HEAD TAIL "}", "/subject"},
        {HEAD "{\"name\":\"n\",\"digest\":{\"sha1\":\"x\"}}" TAIL "}", "/subject/0/digest"},
        {HEAD "{\"name\":\"n\",\"digest\":{\"sha256\":\"BA\"}}" TAIL "}", "/subject/0/digest/sha256"},
        {HEAD SUBJECT "],\"predicateType\":\"t\"}", ""},
        {HEAD SUBJECT "],\"predicateType\":\"t\",\"predicate\":[]}", "/predicate"},
        {"{\"_type\":\"https://in-toto.io/Statement/v0.1\",\"subject\":[" SUBJECT TAIL "}", "/_type"},
        {"{}", ""},
        {"[]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        statement s;
        rp_code code = statement_read(&e, &s, sc, "s.json", span_str(cases[i].text));
        cr_expect_eq(code, cases[i].where ? RP_INVALID : RP_OK, "%s: %s", cases[i].text, e.msg);
        if (cases[i].where) {
            cr_expect_eq(e.id, FIND_TRUST_STATEMENT, "%s", cases[i].text);
            cr_expect_str_eq(e.where, cases[i].where, "%s", cases[i].text);
        }
        scratch_free(sc);
    }
}

/* --- Canonical JSON: the strings and the order of RFC 8785, 3.2.2 and 3.2.3. --- */

Test(canon, strings_and_order)
{
    static const char *const keys[] = {
        "\r", "1", "\xc2\x80", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xac\xb3"};
    static const char *const values[] = {"Carriage Return",
                                         "One",
                                         "Control\x7f",
                                         "Latin Small Letter O With Diaeresis",
                                         "Euro Sign",
                                         "Emoji: Grinning Face",
                                         "Hebrew Letter Dalet With Dagesh"};
    static const char expected[] =
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\x7f\",\"\xc3\xb6\":\"Latin Small "
        "Letter O With Diaeresis\","
        "\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: Grinning "
        "Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}";
    rp_err e = {0};
    span text;
    jw *j = jw_new(JW_CANON);
    jw_obj(j, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        jw_str(j, keys[i], values[i]);
    jw_end(j);
    cr_assert(!jw_finish(&e, &text, j));
    cr_expect(t_equal(text, span_str(expected)), "%.*s", (int)text.n, (const char *)text.p);
    jw_free(j);
    j = jw_new(JW_CANON);
    jw_str(j, NULL, "\xe2\x82\xac$\x0f\nA'B\"\\\\\"/");
    cr_assert(!jw_finish(&e, &text, j));
    cr_expect(t_equal(text, span_str("\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"")), "%.*s", (int)text.n,
              (const char *)text.p);
    jw_free(j);
}
