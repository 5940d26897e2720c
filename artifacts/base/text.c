#include "artifacts/base/text.h"
#include "artifacts/base/utf8.h"
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Characters that would move the cursor, start an escape sequence or reorder what a reader sees. */
static bool harmless(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        return false;
    if (c == 0x061c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
        (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
        return false;
    return c < 0xe0000 || c > 0xe007f;
}

typedef void (*sink)(void *ctx, const char *s, size_t n);

static void escape(sink put, void *ctx, span s, bool keep_lines)
{
    char esc[24];
    for (size_t i = 0; i < s.n;) {
        unsigned len = utf8_len(s.p + i, s.n - i);
        uint32_t c = len ? utf8_code(s.p + i, len) : 0;
        if (len && (harmless(c) || (keep_lines && (c == '\n' || c == '\t')))) {
            put(ctx, (const char *)s.p + i, len);
        } else {
            int n = len > 1 ? snprintf(esc, sizeof esc, "\\u{%x}", (unsigned)c)
                            : snprintf(esc, sizeof esc, "\\x%02x", s.p[i]);
            put(ctx, esc, (size_t)n);
        }
        i += len ? len : 1;
    }
}

static void count(void *ctx, const char *s, size_t n)
{
    (void)s;
    *(size_t *)ctx += n;
}

static void append(void *ctx, const char *s, size_t n)
{
    char **p = ctx;
    memcpy(*p, s, n);
    *p += n;
}

static void to_stream(void *ctx, const char *s, size_t n)
{
    fwrite(s, 1, n, ctx);
}

const char *text_safe(scratch *sc, const char *s)
{
    size_t n = 0;
    escape(count, &n, span_str(s), false);
    char *out = scratch_alloc(sc, n + 1), *p = out;
    if (!out)
        return "";
    escape(append, &p, span_str(s), false);
    return out;
}

void text_print_safe(FILE *f, span s)
{
    escape(to_stream, f, s, true);
}

const char *text_count(scratch *sc, uint64_t v)
{
    char digits[32], out[48];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v), o = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[o++] = ',';
        out[o++] = digits[i];
    }
    out[o] = 0;
    const char *s = scratch_strdup(sc, out);
    return s ? s : "";
}

const char *text_us(scratch *sc, uint64_t ps)
{
    uint64_t hundredths = ps / 10000 + (ps % 10000 >= 5000);
    const char *s = scratch_printf(sc, "%llu.%02u us", (unsigned long long)(hundredths / 100),
                                   (unsigned)(hundredths % 100));
    return s ? s : "";
}

bool text_colour(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") && isatty(fileno(f));
}

unsigned text_columns(FILE *f)
{
    struct winsize w;
    if (ioctl(fileno(f), TIOCGWINSZ, &w) || !w.ws_col)
        return 100;
    return w.ws_col;
}

enum { MAX_COLUMNS = 16 };

typedef struct row {
    struct row *next;
    const char *cell[MAX_COLUMNS];
} row;

struct text_table {
    scratch *sc;
    const char *align;
    size_t columns, filled;
    row *first, *last;
};

text_table *text_table_new(scratch *sc, const char *right)
{
    text_table *t = scratch_alloc(sc, sizeof *t);
    if (!t || strlen(right) > MAX_COLUMNS)
        return NULL;
    *t = (text_table){.sc = sc, .align = right, .columns = strlen(right)};
    t->filled = t->columns;
    return t;
}

void text_cell(text_table *t, const char *fmt, ...)
{
    if (!t)
        return;
    if (t->filled == t->columns) {
        row *r = scratch_alloc(t->sc, sizeof *r);
        if (!r)
            return;
        if (t->last)
            t->last->next = r;
        else
            t->first = r;
        t->last = r;
        t->filled = 0;
    }
    va_list ap;
    va_start(ap, fmt);
    const char *s = scratch_vprintf(t->sc, fmt, ap);
    va_end(ap);
    t->last->cell[t->filled++] = text_safe(t->sc, s ? s : "");
}

/* Columns a terminal gives the text: one a code point, which is right for everything we print. */
static size_t width(const char *s)
{
    size_t w = 0;
    for (; *s; s++)
        w += ((unsigned char)*s & 0xc0) != 0x80;
    return w;
}

static const char *cell(const row *r, size_t c)
{
    return r->cell[c] ? r->cell[c] : "";
}

void text_table_print(const text_table *t, FILE *f, const char *indent)
{
    size_t w[MAX_COLUMNS] = {0};
    if (!t)
        return;
    for (const row *r = t->first; r; r = r->next)
        for (size_t c = 0; c < t->columns; c++)
            w[c] = width(cell(r, c)) > w[c] ? width(cell(r, c)) : w[c];
    for (const row *r = t->first; r; r = r->next) {
        fputs(indent, f);
        for (size_t c = 0; c < t->columns; c++) {
            int pad = (int)(w[c] - width(cell(r, c)));
            bool last = c + 1 == t->columns;
            if (t->align[c] == 'r')
                fprintf(f, "%*s%s", pad, "", cell(r, c));
            else
                fprintf(f, "%s%*s", cell(r, c), last ? 0 : pad, "");
            fputs(last ? "\n" : "  ", f);
        }
        if (r == t->first && r->next) {
            fputs(indent, f);
            for (size_t c = 0; c < t->columns; c++) {
                for (size_t i = 0; i < w[c]; i++)
                    fputc('-', f);
                fputs(c + 1 == t->columns ? "\n" : "  ", f);
            }
        }
    }
}
