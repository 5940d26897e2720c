#include "artifacts/base/jsonw.h"
#include "artifacts/base/json.h"
#include "artifacts/base/utf8.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPEN = JS_MAX_DEPTH, MAX_KEY = 128 };

typedef struct {
    bool object, empty;
    bool broke; /* an element is a container, so elements go on lines of their own */
    char last_key[MAX_KEY];
} level;

struct jw {
    jw_style style;
    char *buf;
    size_t n, cap;
    bool nomem, done;
    unsigned depth;
    level open[MAX_OPEN];
};

jw *jw_new(jw_style style)
{
    jw *j = calloc(1, sizeof *j);
    if (j)
        j->style = style;
    return j;
}

void jw_free(jw *j)
{
    if (j)
        free(j->buf);
    free(j);
}

static void put(jw *j, const char *s, size_t n)
{
    if (j->nomem)
        return;
    if (n > j->cap - j->n) {
        size_t cap = j->cap ? j->cap : 1024;
        while (cap < j->n + n)
            cap *= 2;
        char *buf = realloc(j->buf, cap);
        if (!buf) {
            j->nomem = true;
            return;
        }
        j->buf = buf;
        j->cap = cap;
    }
    memcpy(j->buf + j->n, s, n);
    j->n += n;
}

static void puts_(jw *j, const char *s)
{
    put(j, s, strlen(s));
}

static void newline(jw *j)
{
    puts_(j, "\n");
    for (unsigned i = 0; i < j->depth; i++)
        puts_(j, "  ");
}

/* As RFC 8785, 3.2.2.2 has it. */
static void quoted(jw *j, span s)
{
    puts_(j, "\"");
    for (size_t i = 0; i < s.n;) {
        uint8_t c = s.p[i];
        char esc[8];
        const char *shorts = "\b\f\n\r\t", *letters = "bfnrt";
        const char *at = c ? strchr(shorts, c) : NULL;
        unsigned len = utf8_len(s.p + i, s.n - i);
        if (c == '"' || c == '\\')
            snprintf(esc, sizeof esc, "\\%c", c);
        else if (at)
            snprintf(esc, sizeof esc, "\\%c", letters[at - shorts]);
        else if (c < 0x20)
            snprintf(esc, sizeof esc, "\\u%04x", c);
        else if (!len)
            snprintf(esc, sizeof esc, "\xef\xbf\xbd");
        else
            esc[0] = 0;
        if (esc[0])
            puts_(j, esc);
        else
            put(j, (const char *)s.p + i, len);
        i += len ? len : 1;
    }
    puts_(j, "\"");
}

/* The order of RFC 8785, 3.2.3: by UTF-16 code units, in which what UTF-8 writes in four bytes comes before
 * U+E000. */
static unsigned rank(char c)
{
    unsigned b = (unsigned char)c;
    return b >= 0xf0 ? b - 0xf0 + 0xee : b >= 0xee ? b - 0xee + 0xf4 : b;
}

static bool before(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return rank(*a) < rank(*b);
}

/* Separator, place and key before a value. */
static void lead(jw *j, const char *key, bool container)
{
    if (!j->depth) {
        assert(!key && !j->done);
        return;
    }
    level *l = &j->open[j->depth - 1];
    assert(l->object == (key != NULL));
    if (!l->empty)
        puts_(j, ",");
    if (j->style == JW_PRETTY) {
        if (l->object || container)
            l->broke = true;
        if (l->broke)
            newline(j);
        else if (!l->empty)
            puts_(j, " ");
    }
    if (key) {
        assert(strlen(key) < MAX_KEY);
        assert(j->style != JW_CANON || l->empty || before(l->last_key, key));
        memcpy(l->last_key, key, strlen(key) + 1);
        quoted(j, span_str(key));
        puts_(j, j->style == JW_PRETTY ? ": " : ":");
    }
    l->empty = false;
}

static void open_(jw *j, const char *key, bool object)
{
    if (!j)
        return;
    lead(j, key, true);
    assert(j->depth < MAX_OPEN);
    j->open[j->depth++] = (level){.object = object, .empty = true};
    puts_(j, object ? "{" : "[");
}

void jw_obj(jw *j, const char *key)
{
    open_(j, key, true);
}

void jw_arr(jw *j, const char *key)
{
    open_(j, key, false);
}

void jw_end(jw *j)
{
    if (!j)
        return;
    assert(j->depth);
    level *l = &j->open[--j->depth];
    if (j->style == JW_PRETTY && l->broke)
        newline(j);
    puts_(j, l->object ? "}" : "]");
    j->done = !j->depth;
}

static void scalar(jw *j, const char *key, const char *text)
{
    if (!j)
        return;
    lead(j, key, false);
    puts_(j, text);
    j->done = !j->depth;
}

void jw_strn(jw *j, const char *key, span s)
{
    if (!j)
        return;
    lead(j, key, false);
    quoted(j, s);
    j->done = !j->depth;
}

void jw_str(jw *j, const char *key, const char *s)
{
    if (s)
        jw_strn(j, key, span_str(s));
    else
        jw_null(j, key);
}

void jw_null(jw *j, const char *key)
{
    scalar(j, key, "null");
}

void jw_bool(jw *j, const char *key, bool v)
{
    scalar(j, key, v ? "true" : "false");
}

void jw_u64(jw *j, const char *key, uint64_t v)
{
    char t[32];
    snprintf(t, sizeof t, "%llu", (unsigned long long)v);
    scalar(j, key, t);
}

void jw_i64(jw *j, const char *key, int64_t v)
{
    char t[32];
    snprintf(t, sizeof t, "%lld", (long long)v);
    scalar(j, key, t);
}

void jw_f64(jw *j, const char *key, double v)
{
    assert(!j || j->style != JW_CANON);
    if (!isfinite(v)) {
        jw_str(j, key, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
        return;
    }
    char t[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(t, sizeof t, "%.*g", precision, v);
        if (!(strtod(t, NULL) < v) && !(strtod(t, NULL) > v))
            break;
    }
    scalar(j, key, t);
}

void jw_digest(jw *j, const char *key, digest d)
{
    char hex[DIGEST_HEX];
    digest_hex(d, hex);
    jw_str(j, key, hex);
}

void jw_u64s(jw *j, const char *key, const uint64_t *v, size_t n)
{
    jw_arr(j, key);
    for (size_t i = 0; i < n; i++)
        jw_u64(j, NULL, v[i]);
    jw_end(j);
}

void jw_fmt(jw *j, const char *key, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = NULL;
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (n < 0) {
        if (j)
            j->nomem = true;
        return;
    }
    jw_strn(j, key, span_of(s, (size_t)n));
    free(s);
}

void jw_raw(jw *j, const char *key, span json)
{
    if (!j)
        return;
    lead(j, key, true);
    put(j, (const char *)json.p, json.n);
    j->done = !j->depth;
}

rp_code jw_finish(rp_err *e, span *out, jw *j)
{
    if (!j)
        return err_nomem(e);
    assert(j->done && !j->depth);
    if (j->style == JW_PRETTY && (!j->n || j->buf[j->n - 1] != '\n'))
        puts_(j, "\n");
    if (j->nomem)
        return err_nomem(e);
    *out = span_of(j->buf, j->n);
    return RP_OK;
}
