#include "artifacts/store.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/frames.h"
#include "artifacts/sweep.h"
#include "artifacts/tar.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_AT_ONCE = 64 << 20, /* up to here memory is taken on the manifest's word */
    HASH_BYTES = 256 << 10,
    KEEP_EACH = 4 << 20, /* documents are seldom larger */
    KEEP_ALL = 24 << 20,
    EXTRA_FILES_MAX = 100, /* unlisted files that are stepped over */
};
#define EXTRA_BYTES_MAX (UINT64_C(1) << 30)

struct store {
    char *path;
    scratch *sc;
    manifest *m;
    span text;
    digest_ctx *digests;
    /* An archive: */
    frames *f; /* NULL for a folder */
    int fd;
    uint64_t file_bytes, stream_bytes;
    uint64_t *at; /* of each file's bytes in the stream */
    bool sound;   /* a check found nothing */
    span *kept;   /* of a single streamed frame: documents that a check passed, so that none is decoded for
                     again */
    size_t kept_bytes;
};

static const char canonical_hint[] =
    "the canonical stream is what `tar --format=ustar -b1 --owner=0 --group=0 --numeric-owner --mtime=@0 "
    "--mode=0644 "
    "-cf - -T LIST` writes, LIST naming manifest.json and then the other files sorted bytewise (LC_ALL=C)";

/* --- Opening. --- */

static store *new_store(rp_err *e, const char *path)
{
    store *s = calloc(1, sizeof *s);
    if (!s) {
        err_nomem(e);
        return NULL;
    }
    s->fd = -1;
    s->path = strdup(path);
    s->sc = scratch_new(0);
    s->digests = digest_ctx_new();
    if (!s->path || !s->sc || !s->digests)
        err_nomem(e);
    return s;
}

void store_free(store *s)
{
    if (!s)
        return;
    frames_free(s->f);
    if (s->fd >= 0)
        close(s->fd);
    digest_ctx_free(s->digests);
    scratch_free(s->sc);
    free(s->path);
    free(s);
}

/* What the first bytes are where they are not zstd, for the message. */
static const char *looks_like(int fd, uint64_t file_bytes)
{
    uint8_t b[TAR_BLOCK] = {0};
    rp_err ignored = {0};
    size_t n = file_bytes < sizeof b ? (size_t)file_bytes : sizeof b;
    if (!n)
        return " (the file is empty)";
    if (file_pread(&ignored, fd, "", b, n, 0))
        return "";
    if (!memcmp(b + 257, "ustar", 5))
        return " (a tar stream: compress it with `zstd`)";
    static const struct {
        const char *magic, *what;
    } known[] = {{"\x1f\x8b", " (gzip)"},
                 {"\xfd"
                  "7zXZ",
                  " (xz)"},
                 {"PK\3\4", " (zip)"},
                 {"BZh", " (bzip2)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!memcmp(b, known[i].magic, strlen(known[i].magic)))
            return known[i].what;
    return "";
}

static rp_code open_frames(rp_err *e, store *s)
{
    struct stat st;
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0)
        return err_errno(e, s->path, "open");
    if (fstat(s->fd, &st))
        return err_errno(e, s->path, "stat");
    if (!S_ISREG(st.st_mode)) {
        err_set(e, RP_IO, "expected a regular file, found %s",
                S_ISDIR(st.st_mode) ? "a folder" : "something else");
        return err_file(e, s->path);
    }
    s->file_bytes = (uint64_t)st.st_size;
    if (frames_open(e, &s->f, s->fd, s->path, s->file_bytes) == RP_INVALID && e->id == FIND_CONTAINER_ZSTD &&
        !strcmp(e->where, "byte 0")) {
        rp_err plain = *e;
        *e = (rp_err){0};
        err_invalid(e, plain.id, NULL, plain.where, "%s%s", plain.msg, looks_like(s->fd, s->file_bytes));
    }
    return e->code;
}

/* Exactly n bytes of the stream; where it ends before, the fault that says why. */
static rp_code read_exact(rp_err *e, store *s, uint64_t at, void *out, size_t n)
{
    size_t got;
    if (frames_read(e, s->f, at, out, n, &got) && got == n && e->code == RP_INVALID)
        *e = (rp_err){0}; /* the damage lies behind what was asked for */
    if (e->code || got == n || frames_fault(e, s->f))
        return e->code;
    char where[48];
    snprintf(where, sizeof where, "stream byte %llu", (unsigned long long)(at + got));
    return err_invalid(e, FIND_CONTAINER_TRUNCATED, NULL, where,
                       "expected %zu more bytes, found the end of the stream", n - got);
}

/* What kind of entry a type byte other than '0' makes of it. */
static finding_id type_id(uint8_t type)
{
    switch (type) {
    case '1':
    case '2':
        return FIND_CONTAINER_LINK;
    case '3':
    case '4':
    case '6':
        return FIND_CONTAINER_DEVICE;
    case 'x':
    case 'g':
    case 'X':
    case 'L':
    case 'K':
    case 'N':
    case 'V':
        return FIND_CONTAINER_EXTENDED;
    case 'S':
        return FIND_CONTAINER_SPARSE;
    default:
        return FIND_CONTAINER_TYPE;
    }
}

static finding_id first_header_id(const uint8_t block[TAR_BLOCK])
{
    if (!memcmp(block + 257, "ustar", 5) && block[TAR_TYPE_AT] != '0')
        return type_id(block[TAR_TYPE_AT]);
    return FIND_CONTAINER_HEADER;
}

/* The finding for a header that differs from the canonical one first at offset i. */
static finding_id header_id(const uint8_t block[TAR_BLOCK], unsigned i)
{
    static const struct {
        unsigned end;
        finding_id id;
    } fields[] = {
        {100, FIND_CONTAINER_NAME},     {124, FIND_CONTAINER_METADATA}, {136, FIND_CONTAINER_HEADER},
        {148, FIND_CONTAINER_METADATA}, {157, FIND_CONTAINER_HEADER},   {257, FIND_CONTAINER_LINK},
        {265, FIND_CONTAINER_HEADER},   {345, FIND_CONTAINER_METADATA}, {500, FIND_CONTAINER_NAME}};
    if (block[TAR_TYPE_AT] != '0')
        return type_id(block[TAR_TYPE_AT]);
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (i < fields[k].end)
            return fields[k].id;
    return FIND_CONTAINER_HEADER;
}

static rp_code read_first(rp_err *e, store *s)
{
    uint8_t block[TAR_BLOCK];
    char path[TAR_PATH_MAX + 1];
    uint64_t bytes;
    if (read_exact(e, s, 0, block, sizeof block))
        return e->code;
    if (!tar_header_read(block, path, &bytes))
        return err_invalid(e, first_header_id(block), NULL, "stream byte 0",
                           "expected the canonical tar header of manifest.json, found %s; %s",
                           memcmp(block + 257, "ustar", 5) ? "no ustar header" : "another ustar header",
                           canonical_hint);
    if (strcmp(path, MANIFEST_PATH))
        return err_invalid(e, FIND_CONTAINER_ORDER, NULL, "stream byte 0",
                           "expected manifest.json as the first file, found `%s`; %s", path, canonical_hint);
    if (bytes > MANIFEST_MAX_BYTES)
        return err_invalid(e, FIND_MANIFEST_INVALID, MANIFEST_PATH, NULL,
                           "expected at most %d bytes, found %llu", MANIFEST_MAX_BYTES,
                           (unsigned long long)bytes);
    uint8_t *text = scratch_alloc(s->sc, (size_t)bytes);
    if (!text)
        return err_nomem(e);
    if (read_exact(e, s, TAR_BLOCK, text, (size_t)bytes))
        return e->code;
    s->text = span_of(text, (size_t)bytes);
    return RP_OK;
}

/* Where each file's bytes lie in the stream. */
static rp_code lay_out(rp_err *e, store *s)
{
    s->at = scratch_array(s->sc, s->m->n_files, sizeof *s->at);
    if (!s->at)
        return err_nomem(e);
    uint64_t at = tar_entry_bytes(s->text.n);
    for (size_t i = 0; i < s->m->n_files; i++) {
        s->at[i] = at + TAR_BLOCK;
        if (!ck_add_u64(at, tar_entry_bytes(s->m->files[i].bytes), &at))
            return err_invalid(e, FIND_MANIFEST_INVALID, MANIFEST_PATH, "/files",
                               "the sizes add up beyond 64 bits");
    }
    s->stream_bytes = at + TAR_END_BYTES;
    return RP_OK;
}

static rp_code opened(rp_err *e, store **out, store *s)
{
    if (e->code)
        store_free(s);
    else
        *out = s;
    return e->code;
}

rp_code store_open(rp_err *e, store **out, const char *path)
{
    store *s = new_store(e, path);
    if (!e->code && !open_frames(e, s) && !read_first(e, s) && !manifest_read(e, &s->m, s->sc, s->text))
        lay_out(e, s);
    return opened(e, out, s);
}

rp_code store_open_folder(rp_err *e, store **out, const char *dir)
{
    store *s = new_store(e, dir);
    if (!e->code) {
        const char *name = file_join(s->sc, dir, MANIFEST_PATH);
        if (!name)
            err_nomem(e);
        else if (!file_read(e, &s->text, s->sc, name, MANIFEST_MAX_BYTES) &&
                 !manifest_read(e, &s->m, s->sc, s->text))
            lay_out(e, s);
    }
    return opened(e, out, s);
}

const manifest *store_manifest(const store *s)
{
    return s->m;
}

span store_manifest_bytes(const store *s)
{
    return s->text;
}

store_size store_sizes(const store *s)
{
    return (store_size){.file_bytes = s->file_bytes,
                        .stream_bytes = s->stream_bytes,
                        .frames = s->f ? frames_count(s->f) : 0};
}

bool store_has(const store *s, const char *path)
{
    return manifest_find(s->m, path) != NULL;
}

/* --- Checking an archive: one pass over the stream. --- */

typedef struct {
    store *s;
    findings *fs;
    span piece;  /* what is left of the frames' last piece */
    uint64_t at; /* offset in the stream of what comes next */
    uint8_t block[TAR_BLOCK];
    bool has_block; /* `block` was read and not used yet; it began at `at` - 512 */
    unsigned extra_files;
    uint64_t extra_bytes;
} check;

/* The file of one turn: manifest.json itself, then those it lists. */
typedef struct {
    const char *path;
    uint64_t bytes;
    digest sha256;
} entry;

static entry entry_at(const store *s, size_t i)
{
    if (!i)
        return (entry){.path = MANIFEST_PATH, .bytes = s->text.n, .sha256 = s->m->root};
    const manifest_file *f = &s->m->files[i - 1];
    return (entry){.path = f->path, .bytes = f->bytes, .sha256 = f->sha256};
}

/* Up to n bytes that come next; none at the end of the stream. */
static rp_code take(rp_err *e, check *c, size_t n, span *out)
{
    *out = span_of(NULL, 0);
    if (!c->piece.n && frames_pass_next(e, c->s->f, &c->piece))
        return e->code;
    if (!c->piece.n)
        return RP_OK;
    *out = span_of(c->piece.p, n < c->piece.n ? n : c->piece.n);
    c->piece = span_of(c->piece.p + out->n, c->piece.n - out->n);
    c->at += out->n;
    return RP_OK;
}

static const char *place(char out[48], uint64_t at)
{
    snprintf(out, 48, "stream byte %llu", (unsigned long long)at);
    return out;
}

/* The stream ended inside something. What the frames say about it comes first. */
static rp_code ended_early(rp_err *e, check *c, const char *file, const char *inside)
{
    char where[48];
    if (frames_fault(e, c->s->f)) {
        if (e->id == FIND_CONTAINER_TRAILING)
            e->id = FIND_CONTAINER_ZSTD; /* what follows is no frame, and the end was not reached */
        return e->code;
    }
    return err_invalid(e, FIND_CONTAINER_TRUNCATED, file, place(where, c->at),
                       "expected %s, found the end of the stream", inside);
}

static rp_code next_block(rp_err *e, check *c, const char *file, const char *what)
{
    for (size_t n = 0; n < TAR_BLOCK;) {
        span s;
        if (take(e, c, TAR_BLOCK - n, &s))
            return e->code;
        if (!s.n)
            return ended_early(e, c, file, what);
        memcpy(c->block + n, s.p, s.n);
        n += s.n;
    }
    c->has_block = true;
    return RP_OK;
}

/* Where to copy a document of a streamed frame that goes by, or NULL. */
static uint8_t *keep(store *s, const entry *f)
{
    uint64_t content;
    const manifest_file *m = f ? manifest_find(s->m, f->path) : NULL;
    if (!m || m->role == ROLE_FIXTURE || m->role == ROLE_EVIDENCE || f->bytes > KEEP_EACH ||
        s->kept_bytes + f->bytes > KEEP_ALL || (frames_independent(s->f) && frames_content(s->f, &content)))
        return NULL;
    if (!s->kept)
        s->kept = scratch_array(s->sc, s->m->n_files, sizeof *s->kept);
    return s->kept && !s->kept[m - s->m->files].p ? scratch_alloc(s->sc, (size_t)f->bytes) : NULL;
}

/* The bytes of an entry and their padding. With `f`, compared with its digest. */
static rp_code pass_content(rp_err *e, check *c, const char *path, uint64_t bytes, const entry *f)
{
    char where[48];
    uint8_t *kept = keep(c->s, f);
    c->has_block = false;
    digest_begin(c->s->digests);
    for (uint64_t left = bytes; left;) {
        span s;
        if (take(e, c, left < SIZE_MAX ? (size_t)left : SIZE_MAX, &s))
            return e->code;
        if (!s.n)
            return ended_early(e, c, path, "the rest of the file");
        digest_add(c->s->digests, s);
        if (kept)
            memcpy(kept + (bytes - left), s.p, s.n);
        left -= s.n;
    }
    digest d = digest_end(c->s->digests);
    if (kept && digest_equal(d, f->sha256)) {
        c->s->kept[manifest_find(c->s->m, path) - c->s->m->files] = span_of(kept, (size_t)bytes);
        c->s->kept_bytes += bytes;
    }
    if (f && !digest_equal(d, f->sha256)) {
        char expected[DIGEST_HEX], actual[DIGEST_HEX];
        digest_hex(f->sha256, expected);
        digest_hex(d, actual);
        findings_add(c->fs, FIND_FILE_DIGEST, path, NULL, expected, actual,
                     "the bytes are not those of the digest");
    }
    bool told = false;
    for (uint64_t left = tar_padding(bytes); left;) {
        span s;
        if (take(e, c, (size_t)left, &s))
            return e->code;
        if (!s.n)
            return ended_early(e, c, path, "the padding");
        for (size_t i = 0; i < s.n && !told; i++)
            if (s.p[i]) {
                char actual[8];
                snprintf(actual, sizeof actual, "%02x", s.p[i]);
                findings_add(c->fs, FIND_CONTAINER_PADDING, path, place(where, c->at - s.n + i), "00", actual,
                             "expected zero padding behind the file, found another byte");
                told = true;
            }
        left -= s.n;
    }
    return RP_OK;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* Where the entry of a path is in the order of the stream, or SIZE_MAX. */
static size_t turn_of(const store *s, const char *path)
{
    const manifest_file *f = manifest_find(s->m, path);
    if (f)
        return (size_t)(f - s->m->files) + 1;
    return strcmp(path, MANIFEST_PATH) ? SIZE_MAX : 0;
}

static bool was_missed(const check *c, const char *path)
{
    for (size_t i = 0; i < c->fs->n; i++)
        if (c->fs->v[i].id == FIND_FILE_MISSING && !strcmp(c->fs->v[i].file, path))
            return true;
    return false;
}

/* A file that the manifest does not have here is named and stepped over, within reason. */
static rp_code pass_extra(rp_err *e, check *c, const char *path, uint64_t bytes)
{
    char where[48];
    uint64_t at = c->at - TAR_BLOCK;
    if (!manifest_path_ok(path))
        findings_add(c->fs, FIND_CONTAINER_NAME, path, place(where, at), NULL, NULL,
                     "the name is none that a bundle can have");
    else if (turn_of(c->s, path) == SIZE_MAX)
        findings_add(c->fs, FIND_FILE_EXTRA, path, place(where, at), NULL, NULL, "the file is not listed");
    else if (was_missed(c, path))
        findings_add(c->fs, FIND_CONTAINER_ORDER, path, place(where, at), NULL, NULL,
                     "expected the file at its place in the manifest's order, found it later");
    else
        findings_add(c->fs, FIND_FILE_DUPLICATE, path, place(where, at), NULL, NULL,
                     "the file is in the archive again");
    c->extra_bytes += bytes;
    if (++c->extra_files > EXTRA_FILES_MAX || c->extra_bytes > EXTRA_BYTES_MAX)
        return err_invalid(e, FIND_CONTAINER_HEADER, NULL, place(where, at),
                           "expected the files of the manifest, found too many others to go on");
    return pass_content(e, c, path, bytes, NULL);
}

/* The header is not canonical: say where. Its file is read all the same if name, size and type are as
 * expected. */
static rp_code pass_damaged(rp_err *e, check *c, const entry *f, const uint8_t want[TAR_BLOCK])
{
    enum { NAME_END = 100, SIZE_AT = 124, SIZE_END = 136, SUM_AT = 148, SUM_END = 156 };
    char where[48], expected[8], actual[8];
    /* What is wrong first; the checksum, which then differs too, only where nothing else is. */
    unsigned i = 0;
    while (i < TAR_BLOCK && (c->block[i] == want[i] || (i >= SUM_AT && i < SUM_END)))
        i++;
    if (i == TAR_BLOCK)
        for (i = SUM_AT; c->block[i] == want[i];)
            i++;
    snprintf(expected, sizeof expected, "%02x", want[i]);
    snprintf(actual, sizeof actual, "%02x", c->block[i]);
    findings_add(c->fs, header_id(c->block, i), f->path, place(where, c->at - TAR_BLOCK + i), expected,
                 actual, "the tar header is not the canonical one, in %s (offset %u)", tar_field(i), i);
    if (memcmp(c->block, want, NAME_END) || memcmp(c->block + SIZE_AT, want + SIZE_AT, SIZE_END - SIZE_AT) ||
        c->block[TAR_TYPE_AT] != want[TAR_TYPE_AT])
        return RP_INVALID; /* the place is lost; the finding is there */
    return pass_content(e, c, f->path, f->bytes, f);
}

static void missing(check *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        findings_add(c->fs, FIND_FILE_MISSING, entry_at(c->s, i).path, NULL, NULL, NULL,
                     "the file is not at its place in the archive");
}

/* Everything up to the end blocks, of which the first may be in c->block already. RP_INVALID without an
 * error: stopped. */
static rp_code check_entries(rp_err *e, check *c)
{
    size_t n = c->s->m->n_files + 1;
    for (size_t i = 0; i < n;) {
        uint8_t want[TAR_BLOCK];
        char path[TAR_PATH_MAX + 1];
        uint64_t bytes;
        entry f = entry_at(c->s, i);
        rp_code code = RP_OK;
        if (!c->has_block && next_block(e, c, f.path, "the file's header"))
            return e->code;
        tar_header(want, f.path, f.bytes);
        if (!memcmp(c->block, want, TAR_BLOCK)) {
            code = pass_content(e, c, f.path, f.bytes, &f);
            i++;
        } else if (is_zero(c->block, TAR_BLOCK)) {
            missing(c, i, n);
            return RP_OK;
        } else if (!tar_header_read(c->block, path, &bytes)) {
            code = pass_damaged(e, c, &f, want);
            i++;
        } else if (!strcmp(path, f.path)) {
            char expected[24], actual[24];
            snprintf(expected, sizeof expected, "%llu", (unsigned long long)f.bytes);
            snprintf(actual, sizeof actual, "%llu", (unsigned long long)bytes);
            findings_add(c->fs, FIND_FILE_SIZE, f.path, NULL, expected, actual, "expected %s bytes, found %s",
                         expected, actual);
            code = pass_content(e, c, f.path, bytes, NULL);
            i++;
        } else if (turn_of(c->s, path) != SIZE_MAX && turn_of(c->s, path) > i) {
            missing(c, i, turn_of(c->s, path));
            i = turn_of(c->s, path);
        } else
            code = pass_extra(e, c, path, bytes);
        if (code)
            return code;
    }
    return RP_OK;
}

/* Two zero blocks and nothing more. */
static rp_code check_end(rp_err *e, check *c)
{
    char where[48];
    for (unsigned zeros = 0; zeros < 2;) {
        char path[TAR_PATH_MAX + 1];
        uint64_t bytes;
        if (!c->has_block && next_block(e, c, NULL, "two zero blocks")) {
            if (e->code == RP_INVALID && e->id == FIND_CONTAINER_TRUNCATED && !strncmp(e->where, "stream", 6))
                e->id = FIND_CONTAINER_END; /* the frames are whole: only the end is wrong */
            return e->code;
        }
        if (!zeros && tar_header_read(c->block, path, &bytes)) {
            if (pass_extra(e, c, path, bytes))
                return e->code;
            continue;
        }
        if (!is_zero(c->block, TAR_BLOCK))
            return err_invalid(e, FIND_CONTAINER_END, NULL, place(where, c->at - TAR_BLOCK),
                               "expected two zero blocks after the last file, found other bytes");
        c->has_block = false;
        zeros++;
    }
    span s;
    uint64_t at = c->at;
    if (take(e, c, 1, &s))
        return e->code;
    if (s.n)
        return err_invalid(
            e, FIND_CONTAINER_END, NULL, place(where, at),
            "expected the end of the stream after two zero blocks, found more (tar pads to 10,240 bytes "
            "unless told -b1)");
    return frames_fault(e, c->s->f);
}

/* Most archives are sound: several threads look for a yes. Only where there is none is the stream read in
 * order. */
static bool swept(store *s)
{
    size_t n = s->m->n_files + 1;
    sweep_entry *v = calloc(n, sizeof *v);
    for (size_t i = 0; v && i < n; i++) {
        entry f = entry_at(s, i);
        v[i] = (sweep_entry){
            .path = f.path, .at = i ? s->at[i - 1] - TAR_BLOCK : 0, .bytes = f.bytes, .sha256 = f.sha256};
    }
    bool ok = v && sweep_is_sound(s->f, v, n, s->stream_bytes);
    free(v);
    return ok;
}

static rp_code check_archive(rp_err *e, store *s, findings *fs)
{
    if (swept(s)) {
        s->sound = true;
        return RP_OK;
    }
    check c = {.s = s, .fs = fs};
    size_t before = fs->n;
    if (!frames_pass_begin(e, s->f) && !check_entries(e, &c))
        check_end(e, &c);
    frames_pass_end(s->f);
    if (e->code)
        err_to_finding(e, fs);
    s->sound = !e->code && !fs->nomem && fs->n == before;
    return e->code;
}

/* --- Checking a folder. --- */

static rp_code check_file(rp_err *e, store *s, findings *fs, scratch *sc, const manifest_file *f)
{
    struct stat st;
    uint64_t bytes;
    digest d;
    const char *name = file_join(sc, s->path, f->path);
    if (!name)
        return err_nomem(e);
    if (lstat(name, &st))
        return err_errno(e, name, "stat");
    char expected[DIGEST_HEX], actual[DIGEST_HEX];
    snprintf(expected, sizeof expected, "%llu", (unsigned long long)f->bytes);
    snprintf(actual, sizeof actual, "%llu", (unsigned long long)st.st_size);
    if ((uint64_t)st.st_size != f->bytes) {
        findings_add(fs, FIND_FILE_SIZE, f->path, NULL, expected, actual, "expected %s bytes, found %s",
                     expected, actual);
        return RP_OK;
    }
    if (digest_file(e, &d, &bytes, name))
        return e->code;
    digest_hex(f->sha256, expected);
    digest_hex(d, actual);
    if (bytes != f->bytes || !digest_equal(d, f->sha256))
        findings_add(fs, FIND_FILE_DIGEST, f->path, NULL, expected, actual,
                     "the bytes are not those of the digest");
    return RP_OK;
}

static rp_code check_folder(rp_err *e, store *s, findings *fs)
{
    scratch *sc = scratch_new(0);
    const char *const *paths;
    size_t n = 0, i = 0, k = 0;
    if (!sc)
        return err_nomem(e);
    if (file_tree(e, &paths, &n, sc, s->path))
        n = 0;
    /* Both lists are sorted bytewise. */
    while (!e->code && (i < n || k < s->m->n_files)) {
        const manifest_file *f = k < s->m->n_files ? &s->m->files[k] : NULL;
        int c = i == n ? 1 : f ? strcmp(paths[i], f->path) : -1;
        if (!c)
            check_file(e, s, fs, sc, f);
        else if (c > 0 && f->role != ROLE_FIXTURE)
            findings_add(fs, FIND_FILE_MISSING, f->path, NULL, NULL, NULL, "the file is not in the folder");
        else if (c < 0 && strcmp(paths[i], MANIFEST_PATH))
            findings_add(fs, FIND_FILE_EXTRA, paths[i], NULL, NULL, NULL, "the file is not listed");
        i += c <= 0;
        k += c >= 0;
    }
    scratch_free(sc);
    return e->code;
}

rp_code store_check(rp_err *e, store *s, findings *fs)
{
    return s->f ? check_archive(e, s, fs) : check_folder(e, s, fs);
}

/* --- Reading one file. --- */

static rp_code compare(rp_err *e, const manifest_file *f, digest d)
{
    if (digest_equal(d, f->sha256))
        return RP_OK;
    char expected[DIGEST_HEX], actual[DIGEST_HEX];
    digest_hex(f->sha256, expected);
    digest_hex(d, actual);
    return err_invalid(e, FIND_FILE_DIGEST, f->path, NULL, "expected sha256 %s, found %s", expected, actual);
}

/* A first pass in little memory over a file whose size the archive has not yet shown to be true. */
static rp_code try_large(rp_err *e, store *s, const manifest_file *f, uint64_t at)
{
    uint8_t *buf = malloc(HASH_BYTES);
    if (!buf)
        return err_nomem(e);
    digest_begin(s->digests);
    for (uint64_t done = 0; done < f->bytes && !e->code;) {
        uint64_t left = f->bytes - done;
        size_t n = left < HASH_BYTES ? (size_t)left : HASH_BYTES;
        if (!read_exact(e, s, at + done, buf, n))
            digest_add(s->digests, span_of(buf, n));
        done += n;
    }
    digest d = digest_end(s->digests);
    free(buf);
    return e->code ? e->code : compare(e, f, d);
}

static rp_code read_archive(rp_err *e, span *out, scratch *sc, store *s, const manifest_file *f)
{
    uint64_t at = s->at[f - s->m->files], content = 0, end;
    size_t n;
    if (s->kept && s->kept[f - s->m->files].p) {
        uint8_t *copy = scratch_alloc(sc, n = (size_t)f->bytes);
        if (!copy)
            return err_nomem(e);
        *out = span_of(memcpy(copy, s->kept[f - s->m->files].p, n), n);
        return RP_OK;
    }
    if (!ck_to_size(f->bytes, &n))
        return err_nomem(e);
    if (frames_content(s->f, &content) && (!ck_add_u64(at, f->bytes, &end) || end > content)) {
        if (frames_fault(e, s->f))
            return err_file(e, f->path);
        return err_invalid(e, FIND_CONTAINER_TRUNCATED, f->path, NULL,
                           "expected the file to end by stream byte %llu, found the stream's end at %llu",
                           (unsigned long long)(at + f->bytes), (unsigned long long)content);
    }
    if (f->bytes > READ_AT_ONCE && !s->sound && try_large(e, s, f, at))
        return err_file(e, f->path);
    uint8_t *p = scratch_alloc(sc, n);
    if (!p)
        return err_nomem(e);
    if (read_exact(e, s, at, p, n))
        return err_file(e, f->path);
    *out = span_of(p, n);
    return RP_OK;
}

static rp_code read_folder(rp_err *e, span *out, scratch *sc, store *s, const manifest_file *f)
{
    char *name = file_join(sc, s->path, f->path);
    if (!name)
        return err_nomem(e);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return err_invalid(e, FIND_FILE_MISSING, f->path, NULL, "the file is not in the folder");
    if (fd < 0)
        return err_errno(e, name, "open");
    struct stat st;
    if (fstat(fd, &st))
        err_errno(e, name, "stat");
    else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size != f->bytes)
        err_invalid(e, FIND_FILE_SIZE, f->path, NULL, "expected %llu bytes, found %llu",
                    (unsigned long long)f->bytes, (unsigned long long)st.st_size);
    else
        (void)!file_read_fd(e, out, sc, fd, name, f->bytes);
    close(fd);
    return e->code;
}

rp_code store_read(rp_err *e, span *out, scratch *sc, store *s, const char *path)
{
    const manifest_file *f = manifest_find(s->m, path);
    if (!f)
        return err_invalid(e, FIND_FILE_MISSING, path, NULL, "the manifest lists no such file");
    span bytes;
    if (s->f ? read_archive(e, &bytes, sc, s, f) : read_folder(e, &bytes, sc, s, f))
        return e->code;
    if (bytes.n != f->bytes)
        return err_invalid(e, FIND_FILE_SIZE, path, NULL, "expected %llu bytes, found %zu",
                           (unsigned long long)f->bytes, bytes.n);
    if (compare(e, f, digest_of(bytes)))
        return e->code;
    *out = bytes;
    return RP_OK;
}
