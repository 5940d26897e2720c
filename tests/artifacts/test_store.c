#include "artifacts/frames.h"
#include "artifacts/store.h"
#include "artifacts/tar.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Three small files; what each test does with them begins from `base`. */
static const t_file tree[] = {
    {"capture.json", {(const uint8_t *)"{\"a\":1}", 7}},
    {"kernels/000_cast.cu", {(const uint8_t *)"__global__ void k() {}\n", 23}},
    {"plan/plan.json", {(const uint8_t *)"{\"nodes\":[]}", 12}},
};
enum { N_TREE = sizeof tree / sizeof *tree };

typedef struct {
    scratch *sc;
    const char *dir;
    span text, stream;
} base;

static base start(void)
{
    base b = {.sc = scratch_new(0)};
    b.dir = t_dir(b.sc);
    t_manifest(b.sc, "small", tree, N_TREE, &b.text);
    b.stream = t_stream(b.sc, b.text, tree, N_TREE);
    return b;
}

static void stop(base *b)
{
    t_remove(b->dir);
    scratch_free(b->sc);
}

/* Where a file's header begins in the stream, for `base` streams and those that begin like them. */
static size_t header_of(const base *b, const char *path)
{
    size_t at = (size_t)tar_entry_bytes(b->text.n);
    for (size_t i = 0; strcmp(tree[i].path, path); i++)
        at += (size_t)tar_entry_bytes(tree[i].bytes.n);
    return at;
}

static span header(scratch *sc, const char *path, uint64_t bytes)
{
    uint8_t *h = scratch_alloc(sc, TAR_BLOCK);
    tar_header(h, path, bytes);
    return span_of(h, TAR_BLOCK);
}

/* A stream through zstd's streaming interface with the flags as given, as one frame. */
static span one_frame(scratch *sc, span stream, bool size, bool checksum, int window_log)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t cap = ZSTD_compressBound(stream.n) + 64;
    ZSTD_outBuffer out = {scratch_alloc(sc, cap), cap, 0};
    ZSTD_inBuffer in = {stream.p, stream.n, 0};
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum);
    if (window_log)
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    if (size)
        ZSTD_CCtx_setPledgedSrcSize(c, stream.n);
    /* In two calls, so that zstd does not learn the size from the first. */
    in.size = stream.n / 2;
    cr_assert(!ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
    in.size = stream.n;
    cr_assert_eq(ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
    ZSTD_freeCCtx(c);
    return span_of(out.dst, out.pos);
}

/* Opens and checks an archive of these bytes. True: opened (findings in fs). */
static bool check_bytes(base *b, span archive, rp_err *e, findings *fs)
{
    const char *path = t_write(b->sc, b->dir, "case.tar.zst", archive);
    store *s;
    *e = (rp_err){0};
    findings_init(fs, b->sc);
    if (store_open(e, &s, path))
        return false;
    cr_expect_eq(store_check(e, s, fs), RP_OK, "%s", e->msg);
    store_free(s);
    return true;
}

static void accepts(base *b, span archive, const char *what)
{
    rp_err e;
    findings fs;
    cr_assert(check_bytes(b, archive, &e, &fs), "%s: %s: %s", what, e.where, e.msg);
    cr_expect_eq(fs.n, 0, "%s: %s", what, t_list(b->sc, &fs));
}

/* The findings are exactly this one. */
static void finds(base *b, span archive, finding_id id, const char *file, const char *where, const char *what)
{
    rp_err e;
    findings fs;
    cr_assert(check_bytes(b, archive, &e, &fs), "%s: not opened: %s: %s", what, e.where, e.msg);
    cr_expect(fs.n == 1 && t_found(&fs, id, file, where), "%s: expected %s %s %s, found %s", what,
              finding_name(id), file ? file : "*", where ? where : "*", t_list(b->sc, &fs));
}

static void not_opened(base *b, span archive, finding_id id, const char *text, const char *what)
{
    rp_err e;
    findings fs;
    cr_assert(!check_bytes(b, archive, &e, &fs), "%s: opened", what);
    cr_expect_eq(e.code, RP_INVALID, "%s: %s", what, e.msg);
    cr_expect_eq(e.id, id, "%s: %s: %s", what, finding_name(e.id), e.msg);
    cr_expect(strstr(e.msg, text) != NULL, "%s: expected `%s` in `%s`", what, text, e.msg);
}

/* --- What is accepted. --- */

Test(store, round_trip)
{
    base b = start();
    rp_err e = {0};
    findings fs;
    store *s;
    findings_init(&fs, b.sc);
    const char *path = t_bundle(b.sc, b.dir, "small", tree, N_TREE);
    cr_assert(!store_open(&e, &s, path), "%s", e.msg);
    cr_expect_str_eq(store_manifest(s)->name, "small");
    cr_expect(t_equal(store_manifest_bytes(s), b.text));
    cr_expect(digest_equal(store_manifest(s)->root, digest_of(b.text)));
    cr_expect_eq(store_sizes(s).stream_bytes, b.stream.n);
    cr_expect_eq(store_sizes(s).file_bytes, t_slurp(b.sc, path).n);
    cr_expect_eq(store_sizes(s).frames, 1);
    cr_expect(!store_check(&e, s, &fs));
    cr_expect_eq(fs.n, 0, "%s", t_list(b.sc, &fs));
    for (size_t i = 0; i < N_TREE; i++) {
        span got;
        cr_expect(store_has(s, tree[i].path));
        cr_assert(!store_read(&e, &got, b.sc, s, tree[i].path), "%s", e.msg);
        cr_expect(t_equal(got, tree[i].bytes));
    }
    span got;
    cr_expect(!store_has(s, "contract.json"));
    cr_expect_eq(store_read(&e, &got, b.sc, s, "contract.json"), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_MISSING);
    cr_expect_str_eq(e.file, "contract.json");
    store_free(s);
    stop(&b);
}

Test(store, packing_is_repeatable)
{
    base b = start();
    span first = t_slurp(b.sc, t_bundle(b.sc, b.dir, "small", tree, N_TREE));
    span again = t_slurp(b.sc, t_bundle(b.sc, b.dir, "small", tree, N_TREE));
    cr_expect(t_equal(first, again));
    cr_expect(t_equal(first, t_frames(b.sc, b.stream, FRAMES_CONTENT_MAX)));
    const char *const *paths;
    size_t n;
    rp_err e = {0};
    cr_assert(!file_tree(&e, &paths, &n, b.sc, b.dir));
    cr_expect_eq(n, 1, "nothing temporary is left");
    stop(&b);
}

Test(store, frames_may_be_cut_anywhere)
{
    base b = start();
    static const size_t cuts[] = {100, 511, 512, 513, 700, 1024, 4096};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        accepts(&b, t_frames(b.sc, b.stream, cuts[i]), "cut frames");
    stop(&b);
}

Test(store, one_ordinary_frame)
{
    base b = start();
    for (int flags = 0; flags < 4; flags++)
        accepts(&b, one_frame(b.sc, b.stream, flags & 1, flags & 2, 0), "one frame");
    accepts(&b, one_frame(b.sc, b.stream, false, true, 27), "window of 128 MiB");
    not_opened(&b, one_frame(b.sc, b.stream, false, true, 28), FIND_CONTAINER_WINDOW, "window",
               "window of 256 MiB");
    stop(&b);
}

/* Larger than a frame: several frames, decoded ahead, read by offset; and the same stream from the zstd
 * program. */
Test(store, large_files)
{
    base b = start();
    size_t n = (9 << 20) + 12345;
    uint8_t *big = scratch_alloc(b.sc, n);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        big[i] = (uint8_t)(x & 0x3f);
    }
    const t_file files[] = {
        {"capture.json", span_str("{}")},
        {"fixtures/a.safetensors", span_of(big, n)},
        {"fixtures/b.safetensors", span_of(big + 7, n - 7)},
        {"plan/plan.json", span_str("{ }")},
    };
    rp_err e = {0};
    findings fs;
    store *s;
    const char *path = t_bundle(b.sc, b.dir, "big", files, 4),
               *single = file_join(b.sc, b.dir, "single.tar.zst");
    for (int turn = 0; turn < 2; turn++) {
        findings_init(&fs, b.sc);
        if (turn &&
            (!t_has("zstd") || t_shell(b.dir, "zstd -dcq big.tar.zst | zstd -q -1 -o single.tar.zst")))
            break;
        cr_assert(!store_open(&e, &s, turn ? single : path), "%s", e.msg);
        cr_expect_eq(store_sizes(s).frames, turn ? 1 : 5);
        cr_expect(!store_check(&e, s, &fs));
        cr_expect_eq(fs.n, 0, "%s", t_list(b.sc, &fs));
        static const size_t order[] = {3, 1, 0, 2, 1, 3};
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            scratch *sc = scratch_new(0);
            span got;
            cr_assert(!store_read(&e, &got, sc, s, files[order[i]].path), "%s", e.msg);
            cr_expect(t_equal(got, files[order[i]].bytes), "%s", files[order[i]].path);
            scratch_free(sc);
        }
        store_free(s);
    }
    /* A flipped bit in the middle of the archive: one file wrong, the others still read. */
    span bytes = t_slurp(b.sc, path), got;
    t_write(b.sc, b.dir, "flip.tar.zst", t_flip(b.sc, bytes, bytes.n / 4, 0x10));
    findings_init(&fs, b.sc);
    cr_assert(!store_open(&e, &s, file_join(b.sc, b.dir, "flip.tar.zst")), "%s", e.msg);
    cr_expect(!store_check(&e, s, &fs));
    cr_expect(fs.n == 1 && t_found(&fs, FIND_CONTAINER_CHECKSUM, "", NULL), "%s", t_list(b.sc, &fs));
    cr_expect_eq(store_read(&e, &got, b.sc, s, "fixtures/a.safetensors"), RP_INVALID);
    e = (rp_err){0};
    cr_expect(!store_read(&e, &got, b.sc, s, "fixtures/b.safetensors"), "%s", e.msg);
    store_free(s);
    /* Cut at a frame boundary and in half: found, and what is there still reads. */
    size_t first = ZSTD_findFrameCompressedSize(bytes.p, bytes.n);
    const size_t lengths[] = {first, bytes.n / 2};
    for (size_t i = 0; i < 2; i++) {
        finds(&b, span_of(bytes.p, lengths[i]), FIND_CONTAINER_TRUNCATED, i ? "" : "fixtures/a.safetensors",
              NULL, "cut archive");
        e = (rp_err){0};
        cr_assert(!store_open(&e, &s, file_join(b.sc, b.dir, "case.tar.zst")), "%s", e.msg);
        cr_expect(!store_read(&e, &got, b.sc, s, "capture.json"), "%s", e.msg);
        cr_expect_eq(store_read(&e, &got, b.sc, s, "plan/plan.json"), RP_INVALID);
        cr_expect_eq(e.id, FIND_CONTAINER_TRUNCATED, "%s", finding_name(e.id));
        store_free(s);
    }
    stop(&b);
}

/* --- What is not. --- */

Test(store, not_an_archive)
{
    base b = start();
    static const char wrong_root[] = "expected the canonical tar header";
    not_opened(&b, span_of(NULL, 0), FIND_CONTAINER_TRUNCATED, "a whole frame", "empty");
    not_opened(&b, span_str("hello, world"), FIND_CONTAINER_ZSTD, "68 65 6c 6c", "text");
    not_opened(&b, span_str("\x1f\x8b\x08\x01"), FIND_CONTAINER_ZSTD, "gzip", "gzip");
    not_opened(&b, b.stream, FIND_CONTAINER_ZSTD, "compress it with `zstd`", "plain tar");
    not_opened(&b, t_frames(b.sc, span_str("hello"), 100), FIND_CONTAINER_TRUNCATED, "end of the stream",
               "not tar");
    uint8_t junk[600] = {1};
    not_opened(&b, t_frames(b.sc, span_of(junk, 600), 600), FIND_CONTAINER_HEADER, wrong_root,
               "junk in zstd");
    not_opened(&b, t_frames(b.sc, t_flip(b.sc, b.stream, 137, 1), 4096), FIND_CONTAINER_HEADER, "--mtime=@0",
               "another mtime");
    span capture_first = t_splice(b.sc, b.stream, 0, header_of(&b, "capture.json"), span_of(NULL, 0));
    not_opened(&b, t_frames(b.sc, capture_first, 4096), FIND_CONTAINER_ORDER, "found `capture.json`",
               "no manifest first");
    not_opened(&b, t_frames(b.sc, header(b.sc, MANIFEST_PATH, TAR_SIZE_MAX), 4096), FIND_MANIFEST_INVALID,
               "at most 8388608", "huge manifest");
    not_opened(&b, t_frames(b.sc, header(b.sc, MANIFEST_PATH, 100), 4096), FIND_CONTAINER_TRUNCATED,
               "100 more bytes", "no manifest bytes");
    span bad = t_splice(b.sc, header(b.sc, MANIFEST_PATH, 2), TAR_BLOCK, 0, span_str("{}"));
    not_opened(&b, t_frames(b.sc, bad, 4096), FIND_JSON_MISSING_KEY, "format", "empty manifest");
    rp_err e = {0};
    store *s;
    cr_expect_eq(store_open(&e, &s, "/nonexistent/x.tar.zst"), RP_IO);
    cr_expect_str_eq(e.file, "/nonexistent/x.tar.zst");
    e = (rp_err){0};
    cr_expect_eq(store_open(&e, &s, b.dir), RP_IO);
    stop(&b);
}

Test(store, tar_of_a_user)
{
    base b = start();
    if (!t_has("tar") || !t_has("zstd"))
        cr_skip_test("no tar or zstd");
    t_write_tree(b.sc, b.dir, tree, N_TREE);
    t_write(b.sc, b.dir, MANIFEST_PATH, b.text);
    cr_assert_eq(t_shell(b.dir, "tar -cf - manifest.json capture.json kernels plan | zstd -qo plain.tar.zst"),
                 0);
    not_opened(&b, t_slurp(b.sc, file_join(b.sc, b.dir, "plain.tar.zst")), FIND_CONTAINER_HEADER, "-T LIST",
               "plain");
    cr_assert_eq(
        t_shell(b.dir,
                "printf '%s\\n' manifest.json capture.json kernels/000_cast.cu plan/plan.json > list; "
                "tar --format=ustar -b1 --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0644 -cf "
                "- -T list | zstd -qo ours.tar.zst"),
        0);
    accepts(&b, t_slurp(b.sc, file_join(b.sc, b.dir, "ours.tar.zst")), "the canonical command");
    /* The default blocking factor pads with more zero blocks. */
    cr_assert_eq(
        t_shell(b.dir,
                "tar --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0644 -cf - -T "
                "list | zstd -qo b20.tar.zst"),
        0);
    finds(&b, t_slurp(b.sc, file_join(b.sc, b.dir, "b20.tar.zst")), FIND_CONTAINER_END, "", NULL,
          "without -b1");
    stop(&b);
}

/* The shell lines of docs/bundle-format.md, run one after the other on a bundle of that name. */
Test(store, documented_commands)
{
    char docs[4096];
    if (!realpath("docs/bundle-format.md", docs) || !t_has("zstd") || !t_has("python3") || !t_has("tar"))
        cr_skip_test("no docs here, or no zstd, python3 or tar");
    base b = start();
    t_bundle(b.sc, b.dir, "NAME", tree, N_TREE);
    const char *extract = scratch_printf(b.sc, "sed -n '/^```sh/,/^```$/{/^```/!p;}' '%s' > run.sh", docs);
    char root[DIGEST_HEX];
    cr_assert_eq(t_shell(b.dir, extract), 0);
    cr_assert_eq(t_shell(b.dir, "sh -e run.sh > run.out 2>&1"), 0, "%s",
                 (const char *)t_slurp(b.sc, file_join(b.sc, b.dir, "run.out")).p);
    span text;
    digest_hex(t_manifest(b.sc, "NAME", tree, N_TREE, &text)->root, root);
    span out = t_slurp(b.sc, file_join(b.sc, b.dir, "run.out"));
    cr_expect(out.n > 64 && !memcmp(out.p, root, 64), "the first line is the root");
    accepts(&b, t_slurp(b.sc, file_join(b.sc, b.dir, "again.tar.zst")), "written again");
    stop(&b);
}

static const char *stream_byte(base *b, size_t at)
{
    return scratch_printf(b->sc, "stream byte %zu", at);
}

Test(store, faults_of_the_stream)
{
    base b = start();
    size_t capture = header_of(&b, "capture.json"), cast = header_of(&b, "kernels/000_cast.cu"),
           plan = header_of(&b, "plan/plan.json"), end = b.stream.n - TAR_END_BYTES;
    span none = {0};
    for (int several = 0; several < 2; several++) {
        size_t cut = several ? 700 : 1 << 20;
#define STREAM(s) t_frames(b.sc, s, cut)
        finds(&b, STREAM(t_flip(b.sc, b.stream, capture + TAR_BLOCK + 2, 1)), FIND_FILE_DIGEST,
              "capture.json", "", "a byte of a file");
        finds(&b, STREAM(t_flip(b.sc, b.stream, capture + 100, 1)), FIND_CONTAINER_METADATA, "capture.json",
              stream_byte(&b, capture + 100), "mode");
        finds(&b, STREAM(t_flip(b.sc, b.stream, capture + 511, 1)), FIND_CONTAINER_HEADER, "capture.json",
              stream_byte(&b, capture + 511), "end of the header");
        finds(&b, STREAM(t_flip(b.sc, b.stream, cast + 3, 1)), FIND_CONTAINER_NAME, "kernels/000_cast.cu",
              stream_byte(&b, cast + 3), "name");
        finds(&b, STREAM(t_flip(b.sc, b.stream, cast - 1, 0x80)), FIND_CONTAINER_PADDING, "capture.json",
              stream_byte(&b, cast - 1), "padding");
        finds(&b, STREAM(t_flip(b.sc, b.stream, TAR_BLOCK + b.text.n, 1)), FIND_CONTAINER_PADDING,
              "manifest.json", stream_byte(&b, TAR_BLOCK + b.text.n), "padding of the manifest");
        finds(&b, STREAM(t_splice(b.sc, b.stream, cast, plan - cast, none)), FIND_FILE_MISSING,
              "kernels/000_cast.cu", "", "missing in the middle");
        finds(&b, STREAM(t_splice(b.sc, b.stream, plan, end - plan, none)), FIND_FILE_MISSING,
              "plan/plan.json", "", "missing at the end");
        span extra = header(b.sc, "contract.json", 0);
        finds(&b, STREAM(t_splice(b.sc, b.stream, cast, 0, extra)), FIND_FILE_EXTRA, "contract.json",
              stream_byte(&b, cast), "extra in the middle");
        finds(&b, STREAM(t_splice(b.sc, b.stream, end, 0, extra)), FIND_FILE_EXTRA, "contract.json",
              stream_byte(&b, end), "extra at the end");
        finds(&b, STREAM(t_splice(b.sc, b.stream, cast, 0, span_of(b.stream.p + capture, cast - capture))),
              FIND_FILE_DUPLICATE, "capture.json", stream_byte(&b, cast), "twice");
        span resized = t_splice(b.sc, b.stream, capture, TAR_BLOCK, header(b.sc, "capture.json", 6));
        resized = t_splice(b.sc, resized, capture + TAR_BLOCK + 6, 1, span_of("", 1));
        finds(&b, STREAM(resized), FIND_FILE_SIZE, "capture.json", "", "shorter");
        resized = t_splice(b.sc, b.stream, capture, TAR_BLOCK, header(b.sc, "capture.json", 8));
        finds(&b, STREAM(resized), FIND_FILE_SIZE, "capture.json", "", "longer");
        finds(&b, STREAM(t_flip(b.sc, b.stream, end, 1)), FIND_CONTAINER_END, "", stream_byte(&b, end),
              "end block");
        finds(&b, STREAM(t_flip(b.sc, b.stream, end + 1023, 1)), FIND_CONTAINER_END, "",
              stream_byte(&b, end + 512), "second end block");
        finds(&b, STREAM(span_of(b.stream.p, end)), FIND_CONTAINER_END, "", stream_byte(&b, end),
              "no end blocks");
        finds(&b, STREAM(span_of(b.stream.p, end + 512)), FIND_CONTAINER_END, "", stream_byte(&b, end + 512),
              "one end block");
        finds(&b, STREAM(t_splice(b.sc, b.stream, b.stream.n, 0, span_of("", 1))), FIND_CONTAINER_END, "",
              stream_byte(&b, b.stream.n), "one byte more");
        finds(&b, STREAM(span_of(b.stream.p, plan + TAR_BLOCK + 5)), FIND_CONTAINER_TRUNCATED,
              "plan/plan.json", stream_byte(&b, plan + TAR_BLOCK + 5), "ends in a file");
        finds(&b, STREAM(span_of(b.stream.p, plan + 100)), FIND_CONTAINER_TRUNCATED, "plan/plan.json",
              stream_byte(&b, plan + 100), "ends in a header");
        finds(&b, STREAM(span_of(b.stream.p, cast - 1)), FIND_CONTAINER_TRUNCATED, "capture.json",
              stream_byte(&b, cast - 1), "ends in padding");
#undef STREAM
    }
    stop(&b);
}

Test(store, every_wrong_file_is_listed)
{
    base b = start();
    span s = t_flip(b.sc, b.stream, header_of(&b, "capture.json") + TAR_BLOCK, 1);
    s = t_flip(b.sc, s, header_of(&b, "kernels/000_cast.cu") + 140, 1);
    s = t_flip(b.sc, s, header_of(&b, "kernels/000_cast.cu") + TAR_BLOCK, 1);
    s = t_flip(b.sc, s, header_of(&b, "plan/plan.json") + TAR_BLOCK, 1);
    rp_err e;
    findings fs;
    cr_assert(check_bytes(&b, t_frames(b.sc, s, 700), &e, &fs));
    cr_expect_eq(fs.n, 4, "%s", t_list(b.sc, &fs));
    for (size_t i = 0; i < N_TREE; i++)
        cr_expect(t_found(&fs, FIND_FILE_DIGEST, tree[i].path, ""), "%s", tree[i].path);
    store *st;
    span got;
    cr_assert(!store_open(&e, &st, file_join(b.sc, b.dir, "case.tar.zst")));
    cr_expect_eq(store_read(&e, &got, b.sc, st, "capture.json"), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_DIGEST);
    cr_expect_str_eq(e.file, "capture.json");
    store_free(st);
    stop(&b);
}

/* Unlisted files are stepped over only so far. */
Test(store, extra_files_end)
{
    base b = start();
    span one = header(b.sc, "contract.json", 0);
    uint8_t *many = scratch_alloc(b.sc, 5000 * TAR_BLOCK);
    for (size_t i = 0; i < 5000; i++)
        memcpy(many + i * TAR_BLOCK, one.p, TAR_BLOCK);
    rp_err e;
    findings fs;
    span s = t_splice(b.sc, b.stream, b.stream.n - TAR_END_BYTES, 0, span_of(many, 5000 * TAR_BLOCK));
    cr_assert(check_bytes(&b, t_frames(b.sc, s, 4 << 20), &e, &fs));
    cr_expect(fs.n < 200 && t_found(&fs, FIND_CONTAINER_HEADER, "", NULL));
    stop(&b);
}

Test(store, faults_of_the_frames)
{
    base b = start();
    span several = t_frames(b.sc, b.stream, 1500), half = span_of(b.stream.p, 2048),
         rest = span_of(b.stream.p + 2048, b.stream.n - 2048), none = {0};
    size_t n = several.n, last = 0;
    for (size_t at = 0; at < n; at += ZSTD_findFrameCompressedSize(several.p + at, n - at))
        last = at;
    const char *end_of_file = scratch_printf(b.sc, "byte %zu", n);
    finds(&b, span_of(several.p, n - 1), FIND_CONTAINER_TRUNCATED, "",
          scratch_printf(b.sc, "byte %zu", n - 1), "last byte gone");
    finds(&b, span_of(several.p, last), FIND_CONTAINER_TRUNCATED, NULL, NULL, "last frame gone");
    finds(&b, t_splice(b.sc, several, n, 0, span_str("more")), FIND_CONTAINER_TRAILING, "", end_of_file,
          "trailing");
    finds(&b, t_splice(b.sc, several, n, 0, span_of("\0", 1)), FIND_CONTAINER_TRAILING, "", end_of_file,
          "a trailing zero");
    finds(&b, t_splice(b.sc, several, n, 0, span_str("\x28\xb5")), FIND_CONTAINER_TRUNCATED, "", NULL,
          "the beginning of a frame behind the end");
    finds(&b, t_splice(b.sc, several, n, 0, span_of("\x50\x2a\x4d\x18\0\0\0\0", 8)), FIND_CONTAINER_SKIPPABLE,
          "", end_of_file, "skippable frame at the end");
    finds(&b, t_splice(b.sc, several, last, 0, span_of("\x5f\x2a\x4d\x18\1\0\0\0x", 9)),
          FIND_CONTAINER_SKIPPABLE, "", scratch_printf(b.sc, "byte %zu", last), "skippable frame inside");
    not_opened(&b, t_splice(b.sc, several, 0, 0, span_of("\x50\x2a\x4d\x18\0\0\0\0", 8)),
               FIND_CONTAINER_SKIPPABLE, "skippable", "skippable frame first");
    finds(&b, t_splice(b.sc, several, n, 0, t_frames(b.sc, span_of("\0\0", 2), 2)), FIND_CONTAINER_END, "",
          NULL, "another frame behind the end");
    finds(&b, t_splice(b.sc, several, last, 0, span_str("junk")), FIND_CONTAINER_ZSTD, "",
          scratch_printf(b.sc, "byte %zu", last), "junk between frames");
    finds(&b, t_flip(b.sc, several, last - 1, 1), FIND_CONTAINER_CHECKSUM, "", NULL, "checksum");
    /* Of several frames each has a content size and a checksum, and none is empty or large. */
    for (int flags = 0; flags < 3; flags++) {
        span odd = one_frame(b.sc, rest, flags & 1, flags & 2, 0);
        span good = t_frames(b.sc, half, 2048);
        finds(&b, t_splice(b.sc, good, good.n, 0, odd), FIND_CONTAINER_FRAME, "",
              scratch_printf(b.sc, "byte %zu", good.n), "second frame");
        odd = one_frame(b.sc, half, flags & 1, flags & 2, 0);
        good = t_frames(b.sc, rest, 1 << 20);
        finds(&b, t_splice(b.sc, odd, odd.n, 0, good), FIND_CONTAINER_FRAME, "", "byte 0", "first frame");
    }
    finds(&b, t_splice(b.sc, several, n, 0, one_frame(b.sc, none, true, true, 0)), FIND_CONTAINER_FRAME, "",
          end_of_file, "empty frame");
    span wide = one_frame(b.sc, half, false, true, 27);
    finds(&b, t_splice(b.sc, wide, wide.n, 0, t_frames(b.sc, rest, 1 << 20)), FIND_CONTAINER_FRAME, "",
          "byte 0", "wide window");
    /* A dictionary's id, a reserved bit, the reserved block type. */
    span one = t_frames(b.sc, b.stream, 1 << 20);
    not_opened(&b, t_flip(b.sc, one, 4, 1), FIND_CONTAINER_DICTIONARY, "dictionary", "dictionary");
    not_opened(&b, t_flip(b.sc, one, 4, 8), FIND_CONTAINER_ZSTD, "reserved", "reserved bit");
    stop(&b);
}

/* A frame of many empty blocks is longer than its content warrants: no memory is taken for it. */
Test(store, frames_longer_than_their_content)
{
    base b = start();
    span good = t_frames(b.sc, b.stream, 2048);
    size_t n = 6 << 20, at = 0;
    uint8_t *p = scratch_alloc(b.sc, n + 16);
    memcpy(p, "\x28\xb5\x2f\xfd\x24\x01", 6); /* single segment, checksum, one byte of content */
    for (at = 6; at < n - 8; at += 3)
        memset(p + at, 0, 3);
    memcpy(p + at, "\x09\0\0x", 4);
    at += 8;
    finds(&b, t_splice(b.sc, good, good.n, 0, span_of(p, at)), FIND_CONTAINER_FRAME, "", NULL,
          "empty blocks");
    stop(&b);
}

static uint64_t max_rss_kb(void)
{
    char line[256];
    uint64_t kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

/* A manifest that lists gigabytes, and an archive that does not hold them: refused in little memory. */
Test(store, memory_is_not_taken_on_a_manifests_word)
{
    base b = start();
    span text;
    manifest *m = t_manifest(b.sc, "liar", tree, N_TREE, &text);
    m->files[0].bytes = TAR_SIZE_MAX;
    jw *j = jw_new(JW_PRETTY);
    rp_err e = {0};
    manifest_write(j, m);
    cr_assert(!jw_finish(&e, &text, j));
    span s = t_splice(b.sc, header(b.sc, MANIFEST_PATH, text.n), TAR_BLOCK, 0, text);
    s = t_splice(b.sc, s, s.n, 0, span_of((const uint8_t[TAR_BLOCK]){0}, (size_t)tar_padding(text.n)));
    s = t_splice(b.sc, s, s.n, 0, header(b.sc, tree[0].path, TAR_SIZE_MAX));
    for (int several = 0; several < 2; several++) {
        span archive = several ? t_frames(b.sc, s, 600) : one_frame(b.sc, s, false, false, 0);
        finds(&b, archive, FIND_CONTAINER_TRUNCATED, tree[0].path, NULL, "a file that is not there");
        store *st;
        span got;
        e = (rp_err){0};
        uint64_t before = max_rss_kb();
        cr_assert(!store_open(&e, &st, file_join(b.sc, b.dir, "case.tar.zst")), "%s", e.msg);
        cr_expect_eq(store_read(&e, &got, b.sc, st, tree[0].path), RP_INVALID, "%s", e.msg);
        cr_expect_eq(e.id, FIND_CONTAINER_TRUNCATED);
        cr_expect(max_rss_kb() - before < 64 << 10);
        store_free(st);
    }
    jw_free(j);
    stop(&b);
}

/* --- Every truncation and every flipped bit of a small archive. --- */

/* All content of the archive by zstd alone, into out; SIZE_MAX when it does not decode. */
static size_t decode_all(ZSTD_DCtx *d, span archive, uint8_t *out, size_t cap)
{
    ZSTD_outBuffer o = {out, cap, 0};
    ZSTD_inBuffer i = {archive.p, archive.n, 0};
    size_t left = 0;
    ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
    while (i.pos < i.size && o.pos < o.size) {
        left = ZSTD_decompressStream(d, &o, &i);
        if (ZSTD_isError(left))
            return SIZE_MAX;
    }
    return left ? SIZE_MAX : o.pos;
}

typedef struct {
    int fd;
    char path[64];
} memory_file;

/* Whether the archive in the memory file opens and has no finding, and then its root. */
static bool accepted(const memory_file *f, digest *root)
{
    rp_err e = {0};
    findings fs;
    store *s;
    scratch *sc = scratch_new(0);
    findings_init(&fs, sc);
    bool ok = false;
    if (!store_open(&e, &s, f->path)) {
        ok = !store_check(&e, s, &fs) && !fs.n && !fs.nomem;
        cr_expect_eq(e.code, RP_OK);
        *root = store_manifest(s)->root;
        store_free(s);
    } else
        cr_expect_eq(e.code, RP_INVALID, "%s", e.msg);
    scratch_free(sc);
    return ok;
}

/* Without a checksum a flipped bit may turn the manifest into another valid one, such as one of another name:
 * that is another bundle, and says so by its root. */
static void never_accepts_another(span archive, span text, span stream, const char *what)
{
    rp_err e = {0};
    digest root = {0}, own = digest_of(text);
    memory_file f = {.fd = file_temp(&e)};
    ZSTD_DCtx *d = ZSTD_createDCtx();
    uint8_t *out = malloc(stream.n + 1), *copy = malloc(archive.n);
    cr_assert(f.fd >= 0 && d && out && copy);
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    cr_assert(archive.n < 4096, "%s: %zu bytes", what, archive.n);
    cr_assert(pwrite(f.fd, archive.p, archive.n, 0) == (ssize_t)archive.n);
    cr_expect(accepted(&f, &root) && digest_equal(root, own), "%s: as it is", what);
    memcpy(copy, archive.p, archive.n);
    for (size_t bit = 0; bit < 8 * archive.n; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert(pwrite(f.fd, copy + bit / 8, 1, (off_t)(bit / 8)) == 1);
        if (accepted(&f, &root) && digest_equal(root, own))
            cr_expect(decode_all(d, span_of(copy, archive.n), out, stream.n + 1) == stream.n &&
                          !memcmp(out, stream.p, stream.n),
                      "%s: bit %zu of byte %zu", what, bit % 8, bit / 8);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert(pwrite(f.fd, copy + bit / 8, 1, (off_t)(bit / 8)) == 1);
    }
    for (size_t cut = 1; cut <= archive.n; cut++) {
        size_t n = archive.n - cut;
        cr_assert(ftruncate(f.fd, (off_t)n) == 0);
        cr_expect(!accepted(&f, &root), "%s: the first %zu bytes", what, n);
    }
    free(copy);
    free(out);
    ZSTD_freeDCtx(d);
    close(f.fd);
}

Test(store, every_bit_of_one_frame)
{
    base b = start();
    never_accepts_another(t_frames(b.sc, b.stream, 1 << 20), b.text, b.stream, "as packed");
    stop(&b);
}

Test(store, every_bit_of_a_streamed_frame)
{
    base b = start();
    never_accepts_another(one_frame(b.sc, b.stream, false, false, 0), b.text, b.stream,
                          "no size, no checksum");
    stop(&b);
}

Test(store, every_bit_of_several_frames)
{
    base b = start();
    never_accepts_another(t_frames(b.sc, b.stream, 1500), b.text, b.stream, "several frames");
    stop(&b);
}

/* --- Folders. --- */

static void check_folder(base *b, const char *dir, findings *fs)
{
    rp_err e = {0};
    store *s;
    findings_init(fs, b->sc);
    cr_assert(!store_open_folder(&e, &s, dir), "%s", e.msg);
    cr_assert(!store_check(&e, s, fs), "%s", e.msg);
    store_free(s);
}

Test(store, folder)
{
    base b = start();
    const t_file files[] = {tree[0], {"fixtures/a.safetensors", span_str("data")}, tree[1], tree[2]};
    span text, got;
    findings fs;
    rp_err e = {0};
    store *s;
    t_manifest(b.sc, "folder", files, 4, &text);
    cr_expect_eq(store_open_folder(&e, &s, b.dir), RP_IO, "no manifest");
    t_write_tree(b.sc, b.dir, files, 4);
    t_write(b.sc, b.dir, MANIFEST_PATH, text);
    check_folder(&b, b.dir, &fs);
    cr_expect_eq(fs.n, 0, "%s", t_list(b.sc, &fs));

    e = (rp_err){0};
    cr_assert(!store_open_folder(&e, &s, b.dir));
    cr_expect(t_equal(store_manifest_bytes(s), text));
    cr_assert(!store_read(&e, &got, b.sc, s, "fixtures/a.safetensors"));
    cr_expect(t_equal(got, span_str("data")));
    cr_assert_eq(unlink(file_join(b.sc, b.dir, "fixtures/a.safetensors")), 0);
    cr_expect_eq(store_read(&e, &got, b.sc, s, "fixtures/a.safetensors"), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_MISSING);
    check_folder(&b, b.dir, &fs);
    cr_expect_eq(fs.n, 0, "fixture data may be absent: %s", t_list(b.sc, &fs));

    t_write(b.sc, b.dir, "capture.json", span_str("{\"a\":2}"));
    t_write(b.sc, b.dir, "plan/plan.json", span_str("longer than it was"));
    t_write(b.sc, b.dir, "plan/other.json", span_str(""));
    cr_assert_eq(unlink(file_join(b.sc, b.dir, "kernels/000_cast.cu")), 0);
    check_folder(&b, b.dir, &fs);
    cr_expect_eq(fs.n, 4, "%s", t_list(b.sc, &fs));
    cr_expect(t_found(&fs, FIND_FILE_DIGEST, "capture.json", ""));
    cr_expect(t_found(&fs, FIND_FILE_SIZE, "plan/plan.json", ""));
    cr_expect(t_found(&fs, FIND_FILE_EXTRA, "plan/other.json", ""));
    cr_expect(t_found(&fs, FIND_FILE_MISSING, "kernels/000_cast.cu", ""));
    e = (rp_err){0};
    cr_expect_eq(store_read(&e, &got, b.sc, s, "capture.json"), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_DIGEST);
    e = (rp_err){0};
    cr_expect_eq(store_read(&e, &got, b.sc, s, "plan/plan.json"), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_SIZE);
    store_free(s);
    stop(&b);
}

/* --- Packing. --- */

static rp_code lying_source(rp_err *e, span *out, scratch *sc, void *ctx, const manifest_file *f)
{
    (void)e;
    (void)sc;
    (void)f;
    *out = *(const span *)ctx;
    return RP_OK;
}

Test(store, packing_refuses_other_bytes)
{
    base b = start();
    span text;
    const manifest *m = t_manifest(b.sc, "small", tree, N_TREE, &text);
    const char *path = file_join(b.sc, b.dir, "x.tar.zst");
    span shorter = span_str("{"), other = span_str("{\"a\":2}");
    rp_err e = {0};
    cr_expect_eq(store_pack(&e, path, m, text, lying_source, &shorter), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_SIZE);
    cr_expect_str_eq(e.file, "capture.json");
    e = (rp_err){0};
    cr_expect_eq(store_pack(&e, path, m, text, lying_source, &other), RP_INVALID);
    cr_expect_eq(e.id, FIND_FILE_DIGEST);
    e = (rp_err){0};
    cr_expect_eq(store_pack(&e, path, m, span_str("{}"), lying_source, &other), RP_INVALID,
                 "a manifest that is none");
    e = (rp_err){0};
    cr_expect_eq(store_pack(&e, "/nonexistent/x.tar.zst", m, text, lying_source, &other), RP_IO);
    const char *const *paths;
    size_t n;
    e = (rp_err){0};
    cr_assert(!file_tree(&e, &paths, &n, b.sc, b.dir));
    cr_expect_eq(n, 0, "nothing is left behind");
    stop(&b);
}
