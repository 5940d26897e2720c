#include "gpu/cuda/headers.h"
#include "artifacts/base/file.h"
#include "gpu/cuda/libraries.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_HEADERS = 8192, MAX_HEADER_BYTES = 16 << 20 };

static bool has_headers(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/cuda_fp16.h", folder);
    return n > 0 && (size_t)n < sizeof path && file_exists(path);
}

/* PATH made canonical if it is such a folder. */
static const char *folder_at(scratch *sc, const char *path)
{
    char real[PATH_MAX];
    if (!path || !realpath(path, real) || !has_headers(real))
        return NULL;
    return scratch_strdup(sc, real);
}

const char *headers_folder(scratch *sc)
{
    /* A toolkit's lib or lib64, its targets/ARCH/lib, and the Python wheels of two generations. */
    static const char *const beside[] = {"../include", "../../include", "../../../include",
                                         "../../cuda_runtime/include", "../../cu13/include"};
    const char *home = getenv("CUDA_HOME"), *found = NULL;
    if (home && *home)
        found = folder_at(sc, scratch_printf(sc, "%s/include", home));
    if (!found)
        found = folder_at(sc, "/usr/local/cuda/include");
    const char *nvrtc = found ? NULL : libraries_path(sc, "libnvrtc.so");
    const char *slash = nvrtc ? strrchr(nvrtc, '/') : NULL;
    for (size_t i = 0; slash && !found && i < sizeof beside / sizeof *beside; i++)
        found = folder_at(sc, scratch_printf(sc, "%.*s/%s", (int)(slash - nvrtc), nvrtc, beside[i]));
    return found;
}

typedef struct {
    rp_err *e;
    scratch *sc;
    const char *folder;
    size_t folder_len;
    header *v;
    span *text; /* of v, still to scan beyond `scanned` */
    size_t n, scanned;
} closure;

/* Add the file at `path` if it lies inside the folder and is not known yet. */
static rp_code add(closure *c, const char *path, bool *found)
{
    char real[PATH_MAX];
    *found = false;
    if (!realpath(path, real) || strncmp(real, c->folder, c->folder_len) || real[c->folder_len] != '/' ||
        !file_exists(real) || file_is_dir(real))
        return RP_OK;
    const char *name = real + c->folder_len + 1;
    *found = true;
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->v[i].name, name))
            return RP_OK;
    if (c->n == MAX_HEADERS)
        return err_set(c->e, RP_IO, "expected at most %d headers", MAX_HEADERS);
    header *h = &c->v[c->n];
    if (file_read(c->e, &c->text[c->n], c->sc, real, MAX_HEADER_BYTES))
        return c->e->code;
    if (!(h->name = scratch_strdup(c->sc, name)))
        return err_nomem(c->e);
    h->sha256 = digest_of(c->text[c->n]);
    c->n++;
    return RP_OK;
}

/* One directive's file: a quoted name is looked for beside the includer first. */
static rp_code follow(closure *c, const char *includer, bool quoted, const char *name, int len)
{
    bool found = false;
    const char *slash = includer ? strrchr(includer, '/') : NULL;
    if (quoted && includer) {
        const char *path = scratch_printf(c->sc, "%s/%.*s%.*s", c->folder,
                                          slash ? (int)(slash - includer + 1) : 0, includer, len, name);
        if (!path)
            return err_nomem(c->e);
        if (add(c, path, &found) || found)
            return c->e->code;
    }
    const char *path = scratch_printf(c->sc, "%s/%.*s", c->folder, len, name);
    if (!path)
        return err_nomem(c->e);
    return add(c, path, &found);
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static rp_code scan(closure *c, const char *includer, span text)
{
    const char *p = (const char *)text.p, *end = p + text.n;
    static const char word[] = "include";
    while (p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        if (!eol)
            eol = end;
        const char *q = skip_blank(p, eol);
        p = eol < end ? eol + 1 : end;
        if (q == eol || *q != '#')
            continue;
        q = skip_blank(q + 1, eol);
        if ((size_t)(eol - q) < sizeof word - 1 || memcmp(q, word, sizeof word - 1))
            continue;
        q += sizeof word - 1;
        if (eol - q >= 5 && !memcmp(q, "_next", 5))
            q += 5;
        q = skip_blank(q, eol);
        if (q == eol || (*q != '<' && *q != '"'))
            continue;
        bool quoted = *q == '"';
        const char *close = memchr(q + 1, quoted ? '"' : '>', (size_t)(eol - q - 1));
        if (close && close - q - 1 < PATH_MAX && follow(c, includer, quoted, q + 1, (int)(close - q - 1)))
            return c->e->code;
    }
    return RP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const header *)a)->name, ((const header *)b)->name);
}

rp_code headers_closure(rp_err *e, header **out, size_t *n, scratch *sc, const char *folder, span source)
{
    closure c = {.e = e, .sc = sc, .folder = folder, .folder_len = strlen(folder)};
    c.v = scratch_array(sc, MAX_HEADERS, sizeof *c.v);
    c.text = scratch_array(sc, MAX_HEADERS, sizeof *c.text);
    if (!c.v || !c.text)
        return err_nomem(e);
    if (scan(&c, NULL, source))
        return e->code;
    while (c.scanned < c.n) {
        size_t i = c.scanned++;
        if (scan(&c, c.v[i].name, c.text[i]))
            return e->code;
    }
    qsort(c.v, c.n, sizeof *c.v, by_name);
    *out = c.v;
    *n = c.n;
    return RP_OK;
}
