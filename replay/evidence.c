#include "replay/evidence.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/digest.h"
#include "artifacts/base/file.h"
#include "artifacts/base/limits.h"
#include "artifacts/zs.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

const char evidence_sums_name[] = "SHA256SUMS";
enum { SUM_PREFIX = DIGEST_HEX - 1 + 2, XOR_LEVEL = 12 };

rp_code evidence_begin(rp_err *e, evidence *out, scratch *sc, const char *final_dir)
{
    char *partial = scratch_printf(sc, "%s.partial", final_dir);
    if (!partial)
        return err_nomem(e);
    const char *taken = file_exists(final_dir) ? final_dir : file_exists(partial) ? partial : NULL;
    if (taken) {
        err_set(e, RP_IO, "expected no such file or folder yet: evidence is never overwritten");
        return err_file(e, taken);
    }
    if (!file_mkdirs(e, partial))
        *out = (evidence){.final_dir = final_dir, .dir = partial, .sc = sc};
    return e->code;
}

rp_code evidence_put(rp_err *e, const evidence *ev, const char *path, span bytes)
{
    char *full = file_join(ev->sc, ev->dir, path), *slash = full ? strrchr(full, '/') : NULL;
    if (!full)
        return err_nomem(e);
    *slash = 0;
    rp_code code = file_mkdirs(e, full);
    *slash = '/';
    return code ? code : file_write(e, full, bytes);
}

rp_code evidence_put_xor(rp_err *e, const evidence *ev, const char *path, span actual, span expected)
{
    unsigned char *x = malloc(actual.n ? actual.n : 1), *packed = malloc(zs_bound(actual.n));
    zs_enc *z = zs_enc_new(XOR_LEVEL);
    size_t n;
    if (!x || !packed || !z)
        err_nomem(e);
    for (size_t i = 0; !e->code && i < actual.n; i++)
        x[i] = actual.p[i] ^ expected.p[i];
    if (!e->code && !zs_enc_frame(e, &n, z, packed, span_of(x, actual.n)))
        (void)!evidence_put(e, ev, path, span_of(packed, n));
    zs_enc_free(z);
    free(packed);
    free(x);
    return e->code;
}

static rp_code write_sums(rp_err *e, const evidence *ev)
{
    const char *const *paths;
    size_t n, bytes = 0;
    char *text = NULL;
    if (file_tree(e, &paths, &n, ev->sc, ev->dir))
        return e->code;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return err_nomem(e);
    for (size_t i = 0; i < n && !e->code; i++) {
        digest d;
        uint64_t size;
        char hex[DIGEST_HEX];
        const char *full = file_join(ev->sc, ev->dir, paths[i]);
        /* An earlier list is there where the end was tried and failed. */
        if (!strcmp(paths[i], evidence_sums_name))
            continue;
        if (!full) {
            err_nomem(e);
        } else if (!digest_file(e, &d, &size, full)) {
            digest_hex(d, hex);
            fprintf(f, "%s  %s\n", hex, paths[i]);
        }
    }
    if (fclose(f))
        err_nomem(e);
    if (!e->code)
        (void)!evidence_put(e, ev, evidence_sums_name, span_of(text, bytes));
    free(text);
    return e->code;
}

rp_code evidence_end(rp_err *e, const evidence *ev, bool complete)
{
    if (write_sums(e, ev) || file_sync_dir(e, ev->dir))
        return e->code;
    if (complete && rename(ev->dir, ev->final_dir))
        return err_errno(e, ev->final_dir, "rename the evidence");
    return RP_OK;
}

typedef struct {
    const char *path;
    size_t line;
    digest sha256;
    bool seen;
} sum;

static int by_path(const void *a, const void *b)
{
    const sum *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* "HEX  PATH" lines; a line of another form is a finding. */
static sum *read_sums(findings *fs, size_t *n, scratch *sc, span text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    sum *v = scratch_array(sc, lines, sizeof *v);
    *n = 0;
    for (size_t at = 0, line = 1; v && at < text.n; line++) {
        const char *s = (const char *)text.p + at;
        const char *end = memchr(s, '\n', text.n - at);
        size_t len = end ? (size_t)(end - s) : text.n - at;
        char hex[DIGEST_HEX] = "", where[32];
        snprintf(where, sizeof where, "line %zu", line);
        if (end && len > SUM_PREFIX)
            memcpy(hex, s, DIGEST_HEX - 1);
        if (end && len > SUM_PREFIX && s[DIGEST_HEX - 1] == ' ' && s[DIGEST_HEX] == ' ' &&
            digest_parse(hex, &v[*n].sha256))
            v[*n].line = line, v[(*n)++].path = scratch_strndup(sc, s + SUM_PREFIX, len - SUM_PREFIX);
        else
            findings_add(fs, FIND_EVIDENCE_SUMS, evidence_sums_name, where, NULL, NULL,
                         "expected 64 hexadecimal digits, two spaces and a path");
        at += len + 1;
    }
    return v;
}

/* The first line of that path, or NULL. */
static sum *find_sum(sum *v, size_t n, const char *path)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(v[mid].path, path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && !strcmp(v[low].path, path) ? &v[low] : NULL;
}

/* How much there is, before any of it is read. */
static rp_code check_limits(rp_err *e, findings *fs, bool *within, scratch *sc, const char *dir,
                            const char *const *paths, size_t n)
{
    uint64_t total = 0;
    size_t before = fs->n;
    if (n > limit_of(LIMIT_ENTRIES))
        findings_add(fs, FIND_EVIDENCE_LIMIT, evidence_sums_name, NULL, NULL, NULL,
                     "expected at most %llu files, found %zu", (unsigned long long)limit_of(LIMIT_ENTRIES),
                     n);
    for (size_t i = 0; i < n && fs->n == before; i++) {
        struct stat st;
        const char *full = file_join(sc, dir, paths[i]);
        if (!full)
            return err_nomem(e);
        if (lstat(full, &st))
            return err_errno(e, full, "stat");
        if ((uint64_t)st.st_size > limit_of(LIMIT_FILE_BYTES))
            findings_add(fs, FIND_EVIDENCE_LIMIT, paths[i], NULL, NULL, NULL,
                         "expected a file of at most %llu bytes, found %llu",
                         (unsigned long long)limit_of(LIMIT_FILE_BYTES), (unsigned long long)st.st_size);
        else if (!ck_add_u64(total, (uint64_t)st.st_size, &total) || total > limit_of(LIMIT_TOTAL_BYTES))
            findings_add(fs, FIND_EVIDENCE_LIMIT, paths[i], NULL, NULL, NULL,
                         "expected at most %llu bytes in all files, found more",
                         (unsigned long long)limit_of(LIMIT_TOTAL_BYTES));
    }
    *within = fs->n == before && !fs->nomem;
    return RP_OK;
}

bool evidence_beyond_limits(const findings *fs)
{
    for (size_t i = 0; i < fs->n; i++)
        if (fs->v[i].id == FIND_EVIDENCE_LIMIT)
            return true;
    return false;
}

rp_code evidence_check_sums(rp_err *e, findings *fs, size_t *n, scratch *sc, const char *dir)
{
    const char *const *paths;
    const char *file = file_join(sc, dir, evidence_sums_name);
    size_t n_sums;
    bool within = false;
    span text;
    if (!file)
        return err_nomem(e);
    if (file_tree(e, &paths, n, sc, dir) || check_limits(e, fs, &within, sc, dir, paths, *n))
        return e->code;
    if (!within)
        return RP_OK;
    if (!file_exists(file)) {
        findings_add(fs, FIND_EVIDENCE_PARTIAL, evidence_sums_name, NULL, NULL, NULL,
                     "expected %s, found none: the run was not completed", evidence_sums_name);
        return RP_OK;
    }
    if (file_read(e, &text, sc, file, 16 << 20))
        return e->code;
    sum *v = read_sums(fs, &n_sums, sc, text);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < n_sums; i++)
        if (!v[i].path)
            return err_nomem(e);
    qsort(v, n_sums, sizeof *v, by_path);
    for (size_t i = 0; i < *n; i++) {
        digest d;
        uint64_t bytes;
        sum *k = find_sum(v, n_sums, paths[i]);
        const char *full = file_join(sc, dir, paths[i]);
        if (!strcmp(paths[i], evidence_sums_name))
            continue;
        if (!full)
            return err_nomem(e);
        if (!k) {
            findings_add(fs, FIND_EVIDENCE_SUMS, paths[i], NULL, NULL, NULL,
                         "expected a line in %s, found none", evidence_sums_name);
            continue;
        }
        k->seen = true;
        if (digest_file(e, &d, &bytes, full))
            return e->code;
        if (!digest_equal(d, k->sha256))
            findings_add(fs, FIND_EVIDENCE_SUMS, paths[i], NULL, NULL, NULL,
                         "expected the digest that %s lists, found another", evidence_sums_name);
    }
    for (size_t k = 0; k < n_sums; k++)
        if (!v[k].seen)
            findings_add(fs, FIND_EVIDENCE_SUMS, v[k].path, NULL, NULL, NULL,
                         "expected the file that %s lists, found none", evidence_sums_name);
    return RP_OK;
}
