#include "artifacts/base/text.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static void expect_safe(const char *s, const char *want)
{
    scratch *sc = scratch_new(0);
    cr_expect_str_eq(text_safe(sc, s), want);
    scratch_free(sc);
}

Test(text, plain_text_is_left_alone)
{
    expect_safe("", "");
    expect_safe("plan/plan.json ~!@#$%^&*()\"'\\", "plan/plan.json ~!@#$%^&*()\"'\\");
    expect_safe("\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2 \xf0\x9f\x98\x80",
                "\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2 \xf0\x9f\x98\x80");
}

Test(text, controls)
{
    scratch *sc = scratch_new(0);
    for (int c = 1; c < 0x20; c++) {
        char s[2] = {(char)c, 0};
        cr_expect_str_eq(text_safe(sc, s), scratch_printf(sc, "\\x%02x", c));
    }
    expect_safe("\x7f", "\\x7f");
    for (int c = 0x80; c < 0xa0; c++) { /* C1: U+009B begins an escape sequence */
        char s[3] = {(char)0xc2, (char)c, 0};
        cr_expect_str_eq(text_safe(sc, s), scratch_printf(sc, "\\u{%x}", c));
    }
    expect_safe("a\x1b[31mred\r\n\tb", "a\\x1b[31mred\\x0d\\x0a\\x09b");
    scratch_free(sc);
}

Test(text, bidirectional_and_invisible)
{
    static const uint32_t bad[] = {0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029,  0x202a, 0x202d,
                                   0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xe0001, 0xe007f};
    static const uint32_t fine[] = {0x061b, 0x061d, 0x200a, 0x2010,  0x2027, 0x202f,
                                    0x2070, 0xfefe, 0xff00, 0xdffff, 0xe0080};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad + sizeof fine / sizeof *fine; i++) {
        bool is_bad = i < sizeof bad / sizeof *bad;
        uint32_t c = is_bad ? bad[i] : fine[i - sizeof bad / sizeof *bad];
        char s[5] = {0};
        if (c < 0x800) {
            s[0] = (char)(0xc0 | c >> 6);
            s[1] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            s[0] = (char)(0xe0 | c >> 12);
            s[1] = (char)(0x80 | (c >> 6 & 63));
            s[2] = (char)(0x80 | (c & 63));
        } else {
            s[0] = (char)(0xf0 | c >> 18);
            s[1] = (char)(0x80 | (c >> 12 & 63));
            s[2] = (char)(0x80 | (c >> 6 & 63));
            s[3] = (char)(0x80 | (c & 63));
        }
        cr_expect_str_eq(text_safe(sc, s), is_bad ? scratch_printf(sc, "\\u{%x}", (unsigned)c) : s, "U+%04X",
                         (unsigned)c);
    }
    scratch_free(sc);
}

Test(text, bytes_that_are_not_utf8)
{
    expect_safe("\x80", "\\x80");
    expect_safe("a\xff\xfe", "a\\xff\\xfe");
    expect_safe("\xc0\xaf", "\\xc0\\xaf");
    expect_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");
    expect_safe("\xe2\x82", "\\xe2\\x82");
    expect_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
}

/* What a table or a stream prints, in the scratch. */
static const char *printed(scratch *sc, const text_table *t, const char *indent, span s)
{
    char *buf = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&buf, &n);
    if (t)
        text_table_print(t, f, indent);
    else
        text_print_safe(f, s);
    fclose(f);
    const char *out = scratch_strndup(sc, buf, n);
    free(buf);
    return out;
}

Test(text, whole_texts_keep_their_lines)
{
    scratch *sc = scratch_new(0);
    cr_expect_str_eq(printed(sc, NULL, "", span_of("a\tb\n\x1b[0m\0\r\xff\n", 11)),
                     "a\tb\n\\x1b[0m\\x00\\x0d\\xff");
    scratch_free(sc);
}

Test(text, counts)
{
    static const struct {
        uint64_t v;
        const char *text;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {999, "999"},
                 {1000, "1,000"},
                 {12345, "12,345"},
                 {999999, "999,999"},
                 {37748992, "37,748,992"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(text_count(sc, cases[i].v), cases[i].text);
    scratch_free(sc);
}

Test(text, microseconds)
{
    scratch *sc = scratch_new(0);
    cr_expect_str_eq(text_us(sc, 18210000), "18.21 us");
    cr_expect_str_eq(text_us(sc, 0), "0.00 us");
    cr_expect_str_eq(text_us(sc, 4999), "0.00 us");
    cr_expect_str_eq(text_us(sc, 5000), "0.01 us");
    cr_expect_str_eq(text_us(sc, 999995000), "1000.00 us");
    cr_expect_str_eq(text_us(sc, UINT64_MAX), "18446744073709.55 us");
    scratch_free(sc);
}

Test(text, tables)
{
    scratch *sc = scratch_new(0);
    text_table *t = text_table_new(sc, "lrl");
    static const char *const cells[] = {"name", "bytes",    "note", "p32",     "4,194,304",
                                        "",     "\xc3\xa9", "8",    "a\x1b[1m"};
    for (size_t i = 0; i < 9; i++)
        text_cell(t, "%s", cells[i]);
    cr_expect_str_eq(printed(sc, t, "> ", span_str("")), "> name      bytes  note\n"
                                                         "> ----  ---------  --------\n"
                                                         "> p32   4,194,304  \n"
                                                         "> \xc3\xa9             8  a\\x1b[1m\n");
    /* A row that was not filled is padded; a header alone has no rule. */
    t = text_table_new(sc, "lr");
    text_cell(t, "%s", "a");
    cr_expect_str_eq(printed(sc, t, "", span_str("")), "a  \n");
    cr_expect_null(text_table_new(sc, "lllllllllllllllll"));
    text_cell(NULL, "%d", 1);
    scratch_free(sc);
}

Test(text, a_file_is_no_terminal)
{
    FILE *f = tmpfile();
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    cr_expect_not(text_colour(f));
    cr_expect_eq(text_columns(f), 100);
    fclose(f);
}
