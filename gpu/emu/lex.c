#include "gpu/emu/lex.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_NAME = 4096 };

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static int hex_digit(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int at(const lexer *lx, size_t ahead)
{
    return ahead < lx->text.n - lx->at ? lx->text.p[lx->at + ahead] : -1;
}

rp_code lex_error(rp_err *e, const lexer *lx, const char *fmt, ...)
{
    char msg[256], where[40];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    snprintf(where, sizeof where, "%u:%u", lx->tok.line, lx->tok.column);
    return err_invalid(e, FIND_KERNEL_PTX, lx->file, where, "%s", msg);
}

static rp_code skip_blanks(rp_err *e, lexer *lx)
{
    for (;;) {
        int c = at(lx, 0);
        if (c == '\n') {
            lx->at++;
            lx->line++;
            lx->line_start = lx->at;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lx->at++;
        } else if (c == '/' && at(lx, 1) == '/') {
            while (at(lx, 0) >= 0 && at(lx, 0) != '\n')
                lx->at++;
        } else if (c == '/' && at(lx, 1) == '*') {
            lx->at += 2;
            while (at(lx, 0) >= 0 && !(at(lx, 0) == '*' && at(lx, 1) == '/')) {
                if (at(lx, 0) == '\n') {
                    lx->line++;
                    lx->line_start = lx->at + 1;
                }
                lx->at++;
            }
            if (at(lx, 0) < 0)
                return lex_error(e, lx, "a comment that does not end");
            lx->at += 2;
        } else {
            return RP_OK;
        }
    }
}

static rp_code digits(rp_err *e, lexer *lx, unsigned base, uint64_t *out)
{
    size_t n = 0;
    uint64_t v = 0;
    for (int d; (d = hex_digit(at(lx, 0))) >= 0 && (unsigned)d < base; n++, lx->at++)
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)d, &v))
            return lex_error(e, lx, "a number beyond 64 bits");
    if (n == 0)
        return lex_error(e, lx, "expected a digit");
    *out = v;
    return RP_OK;
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX. */
static rp_code float_bits(rp_err *e, lexer *lx, unsigned width)
{
    uint64_t bits;
    lx->at += 2;
    size_t start = lx->at;
    if (digits(e, lx, 16, &bits))
        return e->code;
    if (lx->at - start != width / 4)
        return lex_error(e, lx, "expected %u hexadecimal digits", width / 4);
    lx->tok.kind = LEX_FLOAT;
    lx->tok.width = (uint8_t)width;
    lx->tok.bits = bits;
    if (width == 32) {
        float f;
        uint32_t b = (uint32_t)bits;
        memcpy(&f, &b, sizeof f);
        lx->tok.value = (double)f;
    } else {
        memcpy(&lx->tok.value, &bits, sizeof bits);
    }
    return RP_OK;
}

static rp_code decimal_float(rp_err *e, lexer *lx, size_t n)
{
    char buf[64], *end;
    if (n >= sizeof buf)
        return lex_error(e, lx, "a number too long");
    memcpy(buf, lx->text.p + lx->at, n);
    buf[n] = 0;
    lx->tok.kind = LEX_FLOAT;
    lx->tok.width = 64;
    lx->tok.value = strtod(buf, &end);
    if (*end)
        return lex_error(e, lx, "not a number: %s", buf);
    memcpy(&lx->tok.bits, &lx->tok.value, sizeof lx->tok.bits);
    lx->at += n;
    return RP_OK;
}

static rp_code number(rp_err *e, lexer *lx)
{
    int c = at(lx, 0), x = at(lx, 1);
    if (c == '0' && (x == 'f' || x == 'F'))
        return float_bits(e, lx, 32);
    if (c == '0' && (x == 'd' || x == 'D'))
        return float_bits(e, lx, 64);
    lx->tok.kind = LEX_INT;
    if (c == '0' && (x == 'x' || x == 'X')) {
        lx->at += 2;
        if (digits(e, lx, 16, &lx->tok.bits))
            return e->code;
    } else if (c == '0' && (x == 'b' || x == 'B')) {
        lx->at += 2;
        if (digits(e, lx, 2, &lx->tok.bits))
            return e->code;
    } else {
        size_t n = 0;
        while (is_digit(at(lx, n)))
            n++;
        int after = at(lx, n);
        if (after == '.' || after == 'e' || after == 'E') {
            n++;
            if (after == '.')
                while (is_digit(at(lx, n)))
                    n++;
            if (after != '.' || at(lx, n) == 'e' || at(lx, n) == 'E') {
                n += after == '.';
                n += at(lx, n) == '+' || at(lx, n) == '-';
                while (is_digit(at(lx, n)))
                    n++;
            }
            return decimal_float(e, lx, n);
        }
        if (digits(e, lx, c == '0' ? 8 : 10, &lx->tok.bits))
            return e->code;
    }
    if (at(lx, 0) == 'U')
        lx->at++;
    if (is_word(at(lx, 0)))
        return lex_error(e, lx, "a number followed by a letter");
    return RP_OK;
}

static rp_code string(rp_err *e, lexer *lx)
{
    lx->tok.kind = LEX_STRING;
    size_t start = ++lx->at;
    while (at(lx, 0) >= 0 && at(lx, 0) != '"' && at(lx, 0) != '\n')
        lx->at += at(lx, 0) == '\\' && at(lx, 1) >= 0 && at(lx, 1) != '\n' ? 2 : 1;
    if (at(lx, 0) != '"')
        return lex_error(e, lx, "a string that does not end");
    lx->tok.text = span_of(lx->text.p + start, lx->at - start);
    lx->at++;
    return RP_OK;
}

rp_code lex_next(rp_err *e, lexer *lx)
{
    size_t before = lx->at;
    if (skip_blanks(e, lx))
        return e->code;
    lx->tok = (lex_token){.line = lx->line, .column = (uint32_t)(lx->at - lx->line_start + 1)};
    lx->tok.blank_before = lx->at != before;
    int c = at(lx, 0);
    size_t start = lx->at;
    if (c < 0) {
        lx->tok.kind = LEX_END;
    } else if (is_digit(c)) {
        if (number(e, lx))
            return e->code;
        lx->tok.text = span_of(lx->text.p + start, lx->at - start);
    } else if (is_word(c) || (c == '%' && is_word(at(lx, 1)))) {
        lx->tok.kind = LEX_NAME;
        lx->at++;
        while (is_word(at(lx, 0)) || at(lx, 0) == '%')
            lx->at++;
        lx->tok.text = span_of(lx->text.p + start, lx->at - start);
        if (lx->tok.text.n > MAX_NAME)
            return lex_error(e, lx, "a name of more than %d bytes", MAX_NAME);
    } else if (c == '.' && is_word(at(lx, 1))) {
        lx->tok.kind = LEX_DOT;
        lx->at++;
        while (is_word(at(lx, 0)) || (at(lx, 0) == ':' && at(lx, 1) == ':' && is_word(at(lx, 2))))
            lx->at += at(lx, 0) == ':' ? 2 : 1;
        lx->tok.text = span_of(lx->text.p + start + 1, lx->at - start - 1);
    } else if (c == '"') {
        return string(e, lx);
    } else if (c < 0x21 || c > 0x7e) {
        return lex_error(e, lx, "byte 0x%02x, which no PTX has", (unsigned)c);
    } else {
        lx->tok.kind = LEX_PUNCT;
        lx->tok.ch = (char)c;
        lx->at++;
        lx->tok.text = span_of(lx->text.p + start, 1);
    }
    return RP_OK;
}

rp_code lex_start(rp_err *e, lexer *lx, const char *file, span text)
{
    *lx = (lexer){.text = text, .line = 1, .file = file};
    lx->tok = (lex_token){.line = 1, .column = 1};
    return lex_next(e, lx);
}

bool span_is(span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

bool lex_is(const lexer *lx, char ch)
{
    return lx->tok.kind == LEX_PUNCT && lx->tok.ch == ch;
}

bool lex_is_dot(const lexer *lx, const char *word)
{
    return lx->tok.kind == LEX_DOT && span_is(lx->tok.text, word);
}

bool lex_is_name(const lexer *lx, const char *word)
{
    return lx->tok.kind == LEX_NAME && span_is(lx->tok.text, word);
}

rp_code lex_expect(rp_err *e, lexer *lx, char ch)
{
    if (!lex_is(lx, ch))
        return lex_error(e, lx, "expected '%c', found '%.*s'", ch,
                         (int)(lx->tok.text.n < 60 ? lx->tok.text.n : 60),
                         lx->tok.text.n ? (const char *)lx->tok.text.p : "");
    return lex_next(e, lx);
}
