/* Writing an archive: the tar stream cut every 4 MiB, each cut one zstd frame. */
#include "artifacts/base/file.h"
#include "artifacts/frames.h"
#include "artifacts/store.h"
#include "artifacts/tar.h"
#include "artifacts/zs.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measured with zstd 1.5.4, frames of 4 MiB, one thread: share of the size, packing, unpacking.
 *
 *   level   uniform F16 numbers          F16 on a grid of 17 values    generated sources, JSON
 *   1       89.7%  675 MB/s  1.33 GB/s   34.6%  271 MB/s  1.17 GB/s    3.7%  2.0 GB/s  5.9 GB/s
 *   3       89.7%  649       1.33        33.6%  194       1.06         3.4%  1.6       5.9
 *   9       89.7%  137       1.32        32.4%   45       1.10         3.0%  0.2       6.2
 *   19      89.7%    6       1.27        29.2%    2       1.12         2.8%  0.02      5.8
 *
 * Fixture data is nearly all of a bundle; beyond 3 a few percent cost ten times the time. */
enum { PACK_LEVEL = 3 };

typedef struct {
    int fd;
    const char *path;
    zs_enc *z;
    uint8_t *content, *packed;
    size_t n; /* bytes in content */
} packer;

static rp_code flush(rp_err *e, packer *p)
{
    size_t bytes;
    if (zs_enc_frame(e, &bytes, p->z, p->packed, span_of(p->content, p->n)))
        return e->code;
    p->n = 0;
    return file_write_fd(e, p->fd, p->path, span_of(p->packed, bytes));
}

/* s, or zeros where s.p is NULL. */
static rp_code add(rp_err *e, packer *p, span s)
{
    while (s.n) {
        size_t n = FRAMES_CONTENT_MAX - p->n < s.n ? FRAMES_CONTENT_MAX - p->n : s.n;
        if (s.p)
            memcpy(p->content + p->n, s.p, n);
        else
            memset(p->content + p->n, 0, n);
        p->n += n;
        s = span_of(s.p ? s.p + n : NULL, s.n - n);
        if (p->n == FRAMES_CONTENT_MAX && flush(e, p))
            return e->code;
    }
    return RP_OK;
}

static rp_code add_file(rp_err *e, packer *p, const char *path, span bytes)
{
    uint8_t header[TAR_BLOCK];
    tar_header(header, path, bytes.n);
    if (add(e, p, span_of(header, sizeof header)) || add(e, p, bytes))
        return e->code;
    return add(e, p, span_of(NULL, (size_t)tar_padding(bytes.n)));
}

static rp_code add_listed(rp_err *e, packer *p, const manifest_file *f, pack_source src, void *ctx)
{
    scratch *sc = scratch_new(0);
    span bytes = {0};
    if (!sc)
        return err_nomem(e);
    if (src(e, &bytes, sc, ctx, f)) {
        if (!e->code)
            err_set(e, RP_BUG, "the source failed and did not say why");
        err_file(e, f->path);
    } else if (bytes.n != f->bytes)
        err_invalid(e, FIND_FILE_SIZE, f->path, NULL, "expected %llu bytes, found %zu",
                    (unsigned long long)f->bytes, bytes.n);
    else if (!digest_equal(digest_of(bytes), f->sha256))
        err_invalid(e, FIND_FILE_DIGEST, f->path, NULL, "the bytes are not those of the digest");
    else
        (void)!add_file(e, p, f->path, bytes);
    scratch_free(sc);
    return e->code;
}

static rp_code add_all(rp_err *e, packer *p, const manifest *m, span text, pack_source src, void *ctx)
{
    if (add_file(e, p, MANIFEST_PATH, text))
        return e->code;
    for (size_t i = 0; i < m->n_files; i++)
        if (add_listed(e, p, &m->files[i], src, ctx))
            return e->code;
    if (add(e, p, span_of(NULL, TAR_END_BYTES)))
        return e->code;
    return p->n ? flush(e, p) : RP_OK;
}

/* The text says what m says. */
static rp_code same_manifest(rp_err *e, const manifest *m, span text)
{
    manifest *again;
    scratch *sc = scratch_new(0);
    if (!sc)
        return err_nomem(e);
    if (!manifest_read(e, &again, sc, text)) {
        bool same = again->n_files == m->n_files;
        for (size_t i = 0; same && i < m->n_files; i++)
            same = !strcmp(again->files[i].path, m->files[i].path) &&
                   again->files[i].bytes == m->files[i].bytes &&
                   digest_equal(again->files[i].sha256, m->files[i].sha256);
        if (!same)
            err_set(e, RP_BUG, "the manifest's text lists other files than the manifest");
    }
    scratch_free(sc);
    return e->code;
}

static rp_code rename_synced(rp_err *e, int fd, const char *tmp, const char *path)
{
    char folder[4096];
    if (fchmod(fd, 0644) || fsync(fd))
        return err_errno(e, path, "write");
    if (rename(tmp, path))
        return err_errno(e, path, "rename");
    snprintf(folder, sizeof folder, "%s", path);
    return file_sync_dir(e, dirname(folder));
}

rp_code store_pack(rp_err *e, const char *path, const manifest *m, span manifest_text, pack_source src,
                   void *ctx)
{
    char tmp[4096] = "";
    packer p = {.fd = -1, .path = path};
    if (same_manifest(e, m, manifest_text))
        return e->code;
    p.z = zs_enc_new(PACK_LEVEL);
    p.content = malloc(FRAMES_CONTENT_MAX);
    p.packed = malloc(zs_bound(FRAMES_CONTENT_MAX));
    if (!p.z || !p.content || !p.packed)
        err_nomem(e);
    else if (snprintf(tmp, sizeof tmp, "%s.tmp-XXXXXX", path) >= (int)sizeof tmp) {
        errno = ENAMETOOLONG;
        err_errno(e, path, "create");
    } else if ((p.fd = mkostemp(tmp, O_CLOEXEC)) < 0)
        err_errno(e, path, "create");
    else if (!add_all(e, &p, m, manifest_text, src, ctx))
        (void)!rename_synced(e, p.fd, tmp, path);
    if (p.fd >= 0 && close(p.fd) && !e->code)
        err_errno(e, path, "close");
    if (p.fd >= 0 && e->code)
        unlink(tmp); /* after the rename it is gone already */
    zs_enc_free(p.z);
    free(p.content);
    free(p.packed);
    return e->code;
}
