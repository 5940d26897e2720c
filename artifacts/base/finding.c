#include "artifacts/base/finding.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(sym, id, text) id,
    FINDINGS(X)
#undef X
};

static const char *const summaries[] = {
#define X(sym, id, text) text,
    FINDINGS(X)
#undef X
};

void findings_init(findings *fs, scratch *sc)
{
    *fs = (findings){.sc = sc};
}

static bool grow(findings *fs)
{
    if (fs->n < fs->cap)
        return true;
    size_t cap = fs->cap ? 2 * fs->cap : 16;
    finding *v = scratch_array(fs->sc, cap, sizeof *v);
    if (!v)
        return false;
    if (fs->n)
        memcpy(v, fs->v, fs->n * sizeof *v);
    fs->v = v;
    fs->cap = cap;
    return true;
}

static const char *copy(findings *fs, const char *s)
{
    return s && *s ? scratch_strdup(fs->sc, s) : "";
}

void findings_add(findings *fs, finding_id id, const char *file, const char *where, const char *expected,
                  const char *actual, const char *fmt, ...)
{
    finding f = {.id = id,
                 .file = copy(fs, file),
                 .where = copy(fs, where),
                 .expected = copy(fs, expected),
                 .actual = copy(fs, actual)};
    va_list ap;
    va_start(ap, fmt);
    f.message = scratch_vprintf(fs->sc, fmt, ap);
    va_end(ap);
    if (!f.file || !f.where || !f.expected || !f.actual || !f.message || !grow(fs)) {
        fs->nomem = true;
        return;
    }
    fs->v[fs->n++] = f;
}

static int by_place(const void *pa, const void *pb)
{
    const finding *a = pa, *b = pb;
    int c = strcmp(a->file, b->file);
    if (!c)
        c = strcmp(a->where, b->where);
    if (!c)
        c = strcmp(finding_name(a->id), finding_name(b->id));
    if (!c)
        c = strcmp(a->message, b->message);
    return c;
}

void findings_sort(findings *fs)
{
    if (fs->n)
        qsort(fs->v, fs->n, sizeof *fs->v, by_place);
}

const char *finding_name(finding_id id)
{
    return names[id];
}

const char *finding_summary(finding_id id)
{
    return summaries[id];
}

finding_id finding_from_name(const char *name)
{
    int i = 0;
    while (i < FIND_COUNT && strcmp(names[i], name))
        i++;
    return (finding_id)i;
}
