#include "verify/kernels.h"
#include "artifacts/base/json.h"
#include <stdio.h>

static rp_code read_headers(rp_err *e, kernel_record *r, scratch *sc, js_node *root)
{
    js_node *a;
    size_t n = 0;
    if (js_arr(e, &a, &n, root, "headers"))
        return e->code;
    r->n_headers = n;
    r->headers = scratch_array(sc, n, sizeof *r->headers);
    if (!r->headers)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(a, i);
        if (js_str(e, &r->headers[i].name, o, "name") || js_digest(e, &r->headers[i].sha256, o, "sha256") ||
            js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_options(rp_err *e, kernel_record *r, scratch *sc, js_node *root)
{
    js_node *a;
    size_t n = 0;
    if (js_arr(e, &a, &n, root, "options"))
        return e->code;
    r->n_options = n;
    r->options = scratch_array(sc, n, sizeof *r->options);
    if (!r->options)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++)
        if (js_as_str(e, &r->options[i], js_at(a, i)))
            return e->code;
    return RP_OK;
}

rp_code kernel_record_read(rp_err *e, kernel_record *out, scratch *sc, const char *file, span text)
{
    js_node *root;
    kernel_record r = {0};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-kernel/1") ||
        js_str(e, &r.source, root, "source") || js_digest(e, &r.source_sha256, root, "source_sha256") ||
        js_str(e, &r.entry, root, "entry") || js_str(e, &r.compiler, root, "compiler") ||
        js_str(e, &r.version, root, "version") || js_str(e, &r.build, root, "build") ||
        read_options(e, &r, sc, root) || read_headers(e, &r, sc, root) || js_str(e, &r.ptx, root, "ptx") ||
        js_digest(e, &r.ptx_sha256, root, "ptx_sha256") || js_done(e, root))
        return e->code;
    *out = r;
    return RP_OK;
}

/* --- The entry's parameter list: enough of PTX ISA 9.0, 5.4 and 7.1 to count and measure parameters. --- */

typedef struct {
    const char *p, *end;
} lex;

/* White space and comments away. */
static void skip(lex *l)
{
    for (;;) {
        while (l->p < l->end && strchr(" \t\r\n", *l->p) && *l->p)
            l->p++;
        if (l->end - l->p >= 2 && l->p[0] == '/' && l->p[1] == '/') {
            while (l->p < l->end && *l->p != '\n')
                l->p++;
        } else if (l->end - l->p >= 2 && l->p[0] == '/' && l->p[1] == '*') {
            const char *q = l->p + 2;
            while (l->end - q >= 2 && !(q[0] == '*' && q[1] == '/'))
                q++;
            l->p = l->end - q >= 2 ? q + 2 : l->end;
        } else {
            return;
        }
    }
}

/* The next token: a word of letters, digits, '_', '$', '.', '%', or one other character. */
static size_t token(lex *l, const char **t)
{
    skip(l);
    const char *from = l->p;
    while (l->p < l->end && *l->p &&
           (strchr("_$.%", *l->p) || (*l->p >= '0' && *l->p <= '9') ||
            ((*l->p | 32) >= 'a' && (*l->p | 32) <= 'z')))
        l->p++;
    if (l->p == from && l->p < l->end)
        l->p++;
    *t = from;
    return (size_t)(l->p - from);
}

static bool is(const char *t, size_t n, const char *word)
{
    return n == strlen(word) && !memcmp(t, word, n);
}

/* Bytes of a fundamental type such as ".u64"; 0 when it is none. */
static unsigned type_bytes(const char *t, size_t n)
{
    if (n < 3 || n > 4 || t[0] != '.' || !t[1] || !strchr("busf", t[1]))
        return 0;
    return is(t + 2, n - 2, "8")    ? 1
           : is(t + 2, n - 2, "16") ? 2
           : is(t + 2, n - 2, "32") ? 4
           : is(t + 2, n - 2, "64") ? 8
                                    : 0;
}

static rp_code entry_fail(rp_err *e, const char *file, const char *what, const char *entry)
{
    return err_invalid(e, FIND_KERNEL_ENTRY, file, NULL, "expected %s of entry %s", what, entry);
}

/* `.param [.align N] .TYPE [.ptr [.space] [.align N]] name[[N]]` up to ',' or ')'. */
static rp_code param(rp_err *e, lex *l, unsigned *width, const char **t, size_t *n, const char *file,
                     const char *entry)
{
    *width = 0;
    unsigned long count = 0;
    for (;;) {
        *n = token(l, t);
        if (!*n)
            return entry_fail(e, file, "the end of the parameter list", entry);
        if (is(*t, *n, ",") || is(*t, *n, ")"))
            break;
        unsigned bytes = type_bytes(*t, *n);
        if (bytes && *width)
            return entry_fail(e, file, "one type a parameter", entry);
        if (bytes)
            *width = bytes;
        if (is(*t, *n, "[")) {
            *n = token(l, t);
            count = 0;
            for (size_t i = 0; i < *n; i++) {
                if ((*t)[i] < '0' || (*t)[i] > '9' || count > 4096)
                    return entry_fail(e, file, "an array length of at most 4096", entry);
                count = 10 * count + (unsigned long)((*t)[i] - '0');
            }
            *width *= (unsigned)count;
        }
    }
    return *width ? RP_OK : entry_fail(e, file, "a type for every parameter", entry);
}

rp_code ptx_entry_params(rp_err *e, uint64_t *n_out, unsigned widths[PTX_MAX_PARAMS], const char *file,
                         span ptx, const char *entry)
{
    lex l = {.p = (const char *)ptx.p, .end = (const char *)ptx.p + ptx.n};
    const char *t;
    size_t n;
    *n_out = 0;
    while ((n = token(&l, &t))) {
        if (!is(t, n, ".entry"))
            continue;
        n = token(&l, &t);
        if (!is(t, n, entry))
            continue;
        n = token(&l, &t);
        if (!is(t, n, "("))
            return is(t, n, "{") || (n > 1 && *t == '.') ? RP_OK /* none; a body or a directive follows */
                                                         : entry_fail(e, file, "a parameter list", entry);
        n = token(&l, &t);
        while (is(t, n, ".param")) {
            if (*n_out == PTX_MAX_PARAMS)
                return entry_fail(e, file, "at most 64 parameters", entry);
            if (param(e, &l, &widths[(*n_out)++], &t, &n, file, entry))
                return e->code;
            if (is(t, n, ","))
                n = token(&l, &t);
        }
        return is(t, n, ")") ? RP_OK : entry_fail(e, file, "a parameter or ')'", entry);
    }
    return err_invalid(e, FIND_KERNEL_ENTRY, file, NULL, "expected an entry %s, found none", entry);
}
