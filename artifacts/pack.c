/* Writing an archive: the tar stream cut every 4 MiB, each cut one zstd frame. */
#include "artifacts/base/file.h"
#include "artifacts/frames.h"
#include "artifacts/store.h"
#include "artifacts/tar.h"
#include "artifacts/zs.h"
#include <libgen.h>
#include <pthread.h>
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

/* Frames that wait are compressed side by side and written in order: how many threads there are shows in the
 * time alone. */
enum { LANES_MAX = 8 };

typedef struct {
    zs_enc *z;
    uint8_t *content, *packed;
    size_t n, packed_n; /* bytes in each */
    pthread_t thread;
    bool started;
    rp_err err;
} lane;

typedef struct {
    int fd;
    const char *path;
    size_t n_lanes, full; /* full: lanes that wait; the next is being filled */
    lane lanes[LANES_MAX];
} packer;

static void *compress_lane(void *arg)
{
    lane *l = arg;
    (void)!zs_enc_frame(&l->err, &l->packed_n, l->z, l->packed, span_of(l->content, l->n));
    return NULL;
}

static rp_code write_waiting(rp_err *e, packer *p)
{
    for (size_t i = 0; i < p->full; i++)
        p->lanes[i].started =
            i + 1 < p->full && !pthread_create(&p->lanes[i].thread, NULL, compress_lane, &p->lanes[i]);
    for (size_t i = 0; i < p->full; i++)
        if (!p->lanes[i].started)
            compress_lane(&p->lanes[i]);
    for (size_t i = 0; i < p->full; i++) {
        lane *l = &p->lanes[i];
        if (l->started)
            pthread_join(l->thread, NULL);
        l->n = 0;
        if (!e->code)
            *e = l->err;
        if (!e->code)
            (void)!file_write_fd(e, p->fd, p->path, span_of(l->packed, l->packed_n));
    }
    p->full = 0;
    return e->code;
}

/* The frame being filled is complete. */
static rp_code flush(rp_err *e, packer *p)
{
    return ++p->full == p->n_lanes ? write_waiting(e, p) : RP_OK;
}

static bool make_lane(lane *l)
{
    l->z = zs_enc_new(PACK_LEVEL);
    l->content = malloc(FRAMES_CONTENT_MAX);
    l->packed = malloc(zs_bound(FRAMES_CONTENT_MAX));
    return l->z && l->content && l->packed;
}

static void clear_lane(lane *l)
{
    zs_enc_free(l->z);
    free(l->content);
    free(l->packed);
    *l = (lane){0};
}

/* One lane is enough; more are taken while there is memory. */
static rp_code make_lanes(rp_err *e, packer *p, size_t want)
{
    while (p->n_lanes < want && make_lane(&p->lanes[p->n_lanes]))
        p->n_lanes++;
    if (p->n_lanes < want)
        clear_lane(&p->lanes[p->n_lanes]);
    return p->n_lanes ? RP_OK : err_nomem(e);
}

/* As many as there are processors, and no more than there will be frames. */
static size_t lanes_for(const manifest *m)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cpus < 1 ? 1 : cpus > LANES_MAX ? LANES_MAX : (size_t)cpus;
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->n_files && bytes < (uint64_t)LANES_MAX * FRAMES_CONTENT_MAX; i++)
        bytes += m->files[i].bytes;
    return bytes / FRAMES_CONTENT_MAX + 1 < n ? (size_t)(bytes / FRAMES_CONTENT_MAX + 1) : n;
}

/* s, or zeros where s.p is NULL. */
static rp_code add(rp_err *e, packer *p, span s)
{
    while (s.n) {
        lane *l = &p->lanes[p->full];
        size_t n = FRAMES_CONTENT_MAX - l->n < s.n ? FRAMES_CONTENT_MAX - l->n : s.n;
        if (s.p)
            memcpy(l->content + l->n, s.p, n);
        else
            memset(l->content + l->n, 0, n);
        l->n += n;
        s = span_of(s.p ? s.p + n : NULL, s.n - n);
        if (l->n == FRAMES_CONTENT_MAX && flush(e, p))
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
    p->full += p->lanes[p->full].n > 0;
    return write_waiting(e, p);
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

static rp_code sync_folder(rp_err *e, const char *path)
{
    char folder[FILE_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    return file_sync_dir(e, dirname(folder));
}

rp_code store_pack(rp_err *e, const char *path, const manifest *m, span manifest_text, pack_source src,
                   void *ctx)
{
    char tmp[FILE_PATH_MAX];
    packer p = {.fd = -1, .path = path};
    if (same_manifest(e, m, manifest_text))
        return e->code;
    if (make_lanes(e, &p, lanes_for(m))) {
        /* said */
    } else if ((p.fd = file_temp_begin(e, tmp, path)) >= 0) {
        if (!add_all(e, &p, m, manifest_text, src, ctx) && (fchmod(p.fd, 0644) || fsync(p.fd)))
            err_errno(e, path, "write");
        if (close(p.fd) && !e->code)
            err_errno(e, path, "close");
        if (!file_temp_end(e, tmp, path))
            (void)!sync_folder(e, path);
    }
    for (size_t i = 0; i < p.n_lanes; i++)
        clear_lane(&p.lanes[i]);
    return e->code;
}
