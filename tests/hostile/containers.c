/* Faults of headers, of the stream, and of the frames around it. */
#include "artifacts/tar.h"
#include "tests/hostile/hostile.h"
#include <stdio.h>
#include <zstd.h>

static span with_header(maker *m, size_t entry, unsigned at, const char *bytes, size_t n, bool fix)
{
    uint8_t h[TAR_BLOCK];
    size_t begin = entry_at(m->g, entry);
    memcpy(h, m->g->stream.p + begin, TAR_BLOCK);
    memcpy(h + at, bytes, n);
    if (fix)
        fix_checksum(h);
    return framed(m, t_splice(m->sc, m->g->stream, begin, TAR_BLOCK,
                              span_of(scratch_strndup(m->sc, (const char *)h, TAR_BLOCK), TAR_BLOCK)));
}

static const struct {
    finding_id id;
    unsigned at;
    const char *bytes;
    size_t n;
    const char *what;
} headers[] = {
    {FIND_CONTAINER_NAME, 0, "other.json\0", 11, "another name"},
    {FIND_CONTAINER_NAME, 0, "../x\0", 5, "a name that climbs"},
    {FIND_CONTAINER_NAME, 0, "/etc/passwd\0", 13, "an absolute name"},
    {FIND_FILE_EXTRA, 0, "CAPTURE.JSON\0", 13, "a name in capitals"},
    {FIND_CONTAINER_NAME, 0, "capture.json/\0", 14, "a name with a slash behind it"},
    {FIND_CONTAINER_NAME, 0, "./capture.json\0", 15, "a name with a dot before it"},
    {FIND_CONTAINER_NAME, 0, "\0", 1, "an empty name"},
    {FIND_CONTAINER_NAME, 20, "hidden", 6, "text behind the name's end"},
    {FIND_CONTAINER_NAME, 345, "evidence\0", 9, "a prefix"},
    {FIND_CONTAINER_NAME, 345, "..\0", 3, "a prefix that climbs"},
    {FIND_CONTAINER_METADATA, 100, "0000755", 7, "an executable mode"},
    {FIND_CONTAINER_METADATA, 100, "0004755", 7, "a set-uid mode"},
    {FIND_CONTAINER_METADATA, 100, "000644 ", 7, "a mode that ends in a space"},
    {FIND_CONTAINER_METADATA, 108, "0001750", 7, "an owner"},
    {FIND_CONTAINER_METADATA, 116, "0001750", 7, "a group"},
    {FIND_CONTAINER_METADATA, 108, "\x80\0\0\0\0\0\0", 7, "an owner in base 256"},
    {FIND_CONTAINER_METADATA, 136, "14705734000", 11, "a time"},
    {FIND_CONTAINER_METADATA, 136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12,
     "a time before 1970"},
    {FIND_CONTAINER_METADATA, 265, "root\0", 5, "an owner's name"},
    {FIND_CONTAINER_METADATA, 297, "wheel\0", 6, "a group's name"},
    {FIND_CONTAINER_METADATA, 329, "0000001", 7, "a major device number"},
    {FIND_CONTAINER_METADATA, 337, "0000001", 7, "a minor device number"},
    {FIND_CONTAINER_METADATA, 329, "\0\0\0\0\0\0\0", 7, "no major device number"},
    {FIND_CONTAINER_HEADER, 124, "\x80\0\0\0\0\0\0\0\0\0\0\1", 12, "a size in base 256"},
    {FIND_CONTAINER_HEADER, 124, "          1 ", 12, "a size with spaces"},
    {FIND_CONTAINER_HEADER, 124, "-0000000001", 11, "a negative size"},
    {FIND_CONTAINER_HEADER, 124, "0000000008\0", 11, "a size with an 8"},
    {FIND_CONTAINER_HEADER, 135, "0", 1, "a size of twelve digits"},
    {FIND_CONTAINER_HEADER, 257, "ustar  \0", 8, "the magic of old GNU tar"},
    {FIND_CONTAINER_HEADER, 257, "\0\0\0\0\0\0\0\0", 8, "no magic: a v7 header"},
    {FIND_CONTAINER_HEADER, 263, "01", 2, "another version"},
    {FIND_CONTAINER_HEADER, 500, "tail", 4, "bytes in the unused end"},
    {FIND_CONTAINER_LINK, 157, "capture.json", 12, "a link name in a file"},
    {FIND_CONTAINER_LINK, 156, "1", 1, "a hard link"},
    {FIND_CONTAINER_LINK, 156, "1../../../../etc/passwd\0", 24, "a hard link that climbs"},
    {FIND_CONTAINER_LINK, 156, "2", 1, "a symbolic link"},
    {FIND_CONTAINER_LINK, 156, "2/etc/passwd\0", 13, "a symbolic link to an absolute path"},
    {FIND_CONTAINER_DEVICE, 156, "3", 1, "a character device"},
    {FIND_CONTAINER_DEVICE, 156, "4", 1, "a block device"},
    {FIND_CONTAINER_DEVICE, 156, "6", 1, "a pipe"},
    {FIND_CONTAINER_EXTENDED, 156, "x", 1, "an extended header"},
    {FIND_CONTAINER_EXTENDED, 156, "g", 1, "a global extended header"},
    {FIND_CONTAINER_EXTENDED, 156, "X", 1, "an extended header of Solaris"},
    {FIND_CONTAINER_EXTENDED, 156, "L", 1, "a long name"},
    {FIND_CONTAINER_EXTENDED, 156, "K", 1, "a long link name"},
    {FIND_CONTAINER_EXTENDED, 156, "N", 1, "an old long name"},
    {FIND_CONTAINER_EXTENDED, 156, "V", 1, "a volume's label"},
    {FIND_CONTAINER_SPARSE, 156, "S", 1, "a sparse file"},
    {FIND_CONTAINER_TYPE, 156, "5", 1, "a folder"},
    {FIND_CONTAINER_TYPE, 156, "7", 1, "a contiguous file"},
    {FIND_CONTAINER_TYPE, 156, "\0", 1, "the type byte of old tar"},
    {FIND_CONTAINER_TYPE, 156, "D", 1, "a dumped folder"},
    {FIND_CONTAINER_TYPE, 156, "M", 1, "a continued file"},
    {FIND_CONTAINER_TYPE, 156, "A", 1, "an access list"},
    {FIND_CONTAINER_TYPE, 156, "\xff", 1, "an unknown type"},
};

void hostile_headers(maker *m)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        give(m, with_header(m, 1, headers[i].at, headers[i].bytes, headers[i].n, true), headers[i].id,
             headers[i].at ? entry_path(m->g, 1) : NULL, "stream byte *", "%s", headers[i].what);
        /* In the first header: no manifest is reached. */
        finding_id id = headers[i].at == 156 ? headers[i].id : FIND_CONTAINER_HEADER;
        if (headers[i].at)
            give(m, with_header(m, 0, headers[i].at, headers[i].bytes, headers[i].n, true), id, "",
                 "stream byte 0", "%s, of manifest.json", headers[i].what);
    }
    give(m, with_header(m, 1, 148, "000000", 6, false), FIND_CONTAINER_HEADER, entry_path(m->g, 1),
         "stream byte *", "a wrong checksum");
    give(m, with_header(m, 1, 148, " 00000", 6, false), FIND_CONTAINER_HEADER, entry_path(m->g, 1),
         "stream byte *", "a checksum with a space");
    give(m, with_header(m, 0, 148, "000000", 6, false), FIND_CONTAINER_HEADER, "", "stream byte 0",
         "a wrong checksum of manifest.json");
}

static span header_of(maker *m, const char *path, uint64_t bytes, char type)
{
    uint8_t *h = scratch_alloc(m->sc, TAR_BLOCK);
    tar_header(h, path, bytes);
    h[TAR_TYPE_AT] = (uint8_t)type;
    fix_checksum(h);
    return span_of(h, TAR_BLOCK);
}

static span block_of(maker *m, const char *text)
{
    uint8_t *block = scratch_alloc(m->sc, TAR_BLOCK);
    memcpy(block, text, strlen(text));
    return span_of(block, TAR_BLOCK);
}

/* An entry of this type with a text of one block. */
static span with_entry(maker *m, size_t at, const char *name, char type, const char *text)
{
    span s = t_splice(m->sc, m->g->stream, at, 0, span_of(block_of(m, text).p, strlen(text) ? TAR_BLOCK : 0));
    return framed(m, t_splice(m->sc, s, at, 0, header_of(m, name, strlen(text), type)));
}

static void per_entry(maker *m)
{
    span s = m->g->stream;
    for (size_t i = 1; i <= m->g->tree.n; i++) {
        const char *path = entry_path(m->g, i);
        size_t at = entry_at(m->g, i), next = entry_at(m->g, i + 1), bytes = m->g->tree.v[i - 1].bytes.n;
        give(m, framed(m, t_splice(m->sc, s, at, next - at, span_of(NULL, 0))), FIND_FILE_MISSING, path, "",
             "without a file");
        give(m, framed(m, t_splice(m->sc, s, next, 0, span_of(s.p + at, next - at))), FIND_FILE_DUPLICATE,
             path, "stream byte *", "a file twice");
        give(m, framed(m, t_flip(m->sc, s, at + TAR_BLOCK + bytes / 2, 1)), FIND_FILE_DIGEST, path, "",
             "a bit of a file changed");
        if (tar_padding(bytes))
            give(m, framed(m, t_flip(m->sc, s, next - 1, 0x41)), FIND_CONTAINER_PADDING, path,
                 "stream byte *", "text in the padding");
        give(m, framed(m, span_of(s.p, at + 100)), FIND_CONTAINER_TRUNCATED, path, "stream byte *",
             "the stream ends in a header");
        span shorter = t_splice(m->sc, s, at, TAR_BLOCK, header_of(m, path, bytes + 1, '0'));
        if (tar_padding(bytes))
            give(m, framed(m, shorter), FIND_FILE_SIZE, path, "", "a header that says one byte more");
    }
}

void hostile_streams(maker *m)
{
    span s = m->g->stream;
    size_t end = entry_at(m->g, m->g->tree.n + 1), first = entry_at(m->g, 1);
    per_entry(m);
    static const char *const extra[] = {
        "contract2.json", "evidence/more.txt", "a", "kernels/x.so", "z/z/z", "Capture.json",
        "plan/PLAN.JSON", "manifest.json.bak"};
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        give(m, with_entry(m, end, extra[i], '0', "text"), FIND_FILE_EXTRA, extra[i], "stream byte *",
             "an unlisted file at the end");
        give(m, with_entry(m, first, extra[i], '0', ""), FIND_FILE_EXTRA, extra[i], "stream byte *",
             "an unlisted empty file behind manifest.json");
    }
    give(m, with_entry(m, end, MANIFEST_PATH, '0', "{}"), FIND_FILE_DUPLICATE, MANIFEST_PATH, "stream byte *",
         "a second manifest.json");
    static const char types[] = "12345679xgLKSVMNDA";
    static const finding_id ids[] = {
        FIND_CONTAINER_LINK,     FIND_CONTAINER_LINK,     FIND_CONTAINER_DEVICE,   FIND_CONTAINER_DEVICE,
        FIND_CONTAINER_TYPE,     FIND_CONTAINER_DEVICE,   FIND_CONTAINER_TYPE,     FIND_CONTAINER_TYPE,
        FIND_CONTAINER_EXTENDED, FIND_CONTAINER_EXTENDED, FIND_CONTAINER_EXTENDED, FIND_CONTAINER_EXTENDED,
        FIND_CONTAINER_SPARSE,   FIND_CONTAINER_EXTENDED, FIND_CONTAINER_TYPE,     FIND_CONTAINER_EXTENDED,
        FIND_CONTAINER_TYPE,     FIND_CONTAINER_TYPE};
    for (size_t i = 0; i < sizeof types - 1; i++) {
        give(m, with_entry(m, first, "capture.json", types[i], "30 size=2048\n"), ids[i], NULL,
             "stream byte *", "an entry of type %c before a file", types[i]);
        give(m, with_entry(m, 0, "x", types[i], "30 size=2048\n"), ids[i], "", "stream byte 0",
             "an entry of type %c before manifest.json", types[i]);
        give(m, with_entry(m, end, "x", types[i], ""), FIND_CONTAINER_END, "", "stream byte *",
             "an entry of type %c behind the last file", types[i]);
    }
    /* A size for the next file that a reader gives to the long name in between. */
    span confused = t_splice(m->sc, s, first, 0, header_of(m, "longname", 13, 'L'));
    confused = t_splice(m->sc, confused, first + TAR_BLOCK, 0, block_of(m, "longname.txt"));
    confused = t_splice(m->sc, confused, first, 0, block_of(m, "13 size=2048\n"));
    confused = t_splice(m->sc, confused, first, 0, header_of(m, "capture.json", 13, 'x'));
    give(m, framed(m, confused), FIND_CONTAINER_EXTENDED, NULL, "stream byte *",
         "a size of 2,048 before a long name");
    m->answers = CASE_B05;
    give(m, with_entry(m, first, "capture.json", 'x', "22 GNU.sparse.major=1\n"), FIND_CONTAINER_EXTENDED,
         NULL, "stream byte *", "a sparse file of the newer kind");
    m->answers = CASE_NONE;
    give(m, with_entry(m, end, entry_path(m->g, 1), '0', "EVIL"), FIND_FILE_DUPLICATE, entry_path(m->g, 1),
         "stream byte *", "a file a second time, with other bytes");
    m->answers = CASE_B10;
    give(m, with_entry(m, end, MANIFEST_PATH, '0', "{\"files\": []}"), FIND_FILE_DUPLICATE, MANIFEST_PATH,
         "stream byte *", "a second manifest that lists other files");
    m->answers = CASE_NONE;
    give(m, with_entry(m, 0, "x", '0', "text"), FIND_CONTAINER_ORDER, "", "stream byte 0",
         "a file before manifest.json");
    give(m, framed(m, t_splice(m->sc, s, 0, first, span_of(NULL, 0))), FIND_CONTAINER_ORDER, "",
         "stream byte 0", "no manifest.json");
    give(m, framed(m, t_splice(m->sc, s, s.n, 0, span_of(s.p + first, s.n - first))), FIND_CONTAINER_END, "",
         "stream byte *", "files behind the end");
    give(m, framed(m, t_splice(m->sc, s, s.n, 0, s)), FIND_CONTAINER_END, "", "stream byte *",
         "a second archive behind the end");
    static const uint8_t zeros[9216];
    give(m, framed(m, t_splice(m->sc, s, s.n, 0, span_of(zeros, sizeof zeros))), FIND_CONTAINER_END, "",
         "stream byte *", "padding to 10,240 bytes");
    give(m, framed(m, span_of(s.p, s.n - 512)), FIND_CONTAINER_END, "", "stream byte *", "one end block");
    give(m, framed(m, span_of(s.p, s.n - 1024)), FIND_CONTAINER_END, "", "stream byte *", "no end block");
    give(m, framed(m, t_flip(m->sc, s, s.n - 1, 1)), FIND_CONTAINER_END, "", "stream byte *",
         "a byte in the last block");
    give(m, framed(m, t_flip(m->sc, s, s.n - 1000, 1)), FIND_CONTAINER_END, "", "stream byte *",
         "a byte in the first end block");
}

/* --- Frames. --- */

static span joined(maker *m, span a, span b)
{
    return t_splice(m->sc, a, a.n, 0, b);
}

static span packed(maker *m, span content, bool size, bool checksum, int window_log)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t cap = ZSTD_compressBound(content.n) + 64;
    ZSTD_outBuffer out = {scratch_alloc(m->sc, cap), cap, 0};
    ZSTD_inBuffer in = {content.p, content.n / 2, 0};
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum);
    if (window_log)
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    if (size)
        ZSTD_CCtx_setPledgedSrcSize(c, content.n);
    ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue);
    in.size = content.n;
    ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
    ZSTD_freeCCtx(c);
    return span_of(out.dst, out.pos);
}

static void skippables(maker *m, span one, span half, span rest)
{
    for (unsigned k = 0; k < 16; k++) {
        char magic[] = {(char)(0x50 + k), 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'e', 'v', 'i', 'l'};
        span skip = span_of(scratch_strndup(m->sc, magic, sizeof magic), sizeof magic);
        give(m, joined(m, skip, one), FIND_CONTAINER_SKIPPABLE, "", "byte 0", "skippable frame %u first", k);
        give(m, joined(m, one, skip), FIND_CONTAINER_SKIPPABLE, "", "byte *", "skippable frame %u last", k);
    }
    give(m, joined(m, joined(m, half, span_of("\x50\x2a\x4d\x18\0\0\0\0", 8)), rest),
         FIND_CONTAINER_SKIPPABLE, "", "byte *", "an empty skippable frame between");
    give(m, joined(m, one, span_of("\x50\x2a\x4d\x18\xff\xff\xff\xff", 8)), FIND_CONTAINER_SKIPPABLE, "",
         "byte *", "a skippable frame of 4 GiB");
}

static void headers_of_frames(maker *m, span one)
{
    give(m, t_flip(m->sc, one, 4, 1), FIND_CONTAINER_DICTIONARY, "", "byte 0", "a dictionary id of one byte");
    give(m, t_flip(m->sc, one, 4, 2), FIND_CONTAINER_DICTIONARY, "", "byte 0",
         "a dictionary id of two bytes");
    give(m, t_flip(m->sc, one, 4, 3), FIND_CONTAINER_DICTIONARY, "", "byte 0",
         "a dictionary id of four bytes");
    give(m, t_flip(m->sc, one, 4, 8), FIND_CONTAINER_ZSTD, "", "byte 0", "a reserved bit");
    for (unsigned log = 28; log <= 41; log++) {
        char wide[] = {0x28, (char)0xb5, 0x2f, (char)0xfd, 0, (char)((log - 10) << 3), 1, 0, 0};
        give(m, span_of(scratch_strndup(m->sc, wide, 9), 9), FIND_CONTAINER_WINDOW, "", "byte 0",
             "9 bytes that ask for a window of 2^%u", log);
    }
    static const char huge[] = "\x28\xb5\x2f\xfd\xe4\xff\xff\xff\xff\xff\xff\xff\x7f\x01\0\0";
    give(m, span_of(huge, sizeof huge - 1), FIND_CONTAINER_WINDOW, "", "byte 0",
         "a single segment of 2^63 bytes");
    for (unsigned v = 0x22; v <= 0x28; v++) {
        char old[] = {(char)(v == 0x28 ? 0x1e : v), (char)0xb5, 0x2f, (char)0xfd, 0, 0, 0, 0, 0};
        if (v != 0x28)
            give(m, span_of(scratch_strndup(m->sc, old, 9), 9), FIND_CONTAINER_ZSTD, "", "byte 0",
                 "a frame of an older zstd, %02x", v);
    }
    static const struct {
        const char *bytes;
        size_t n;
        const char *what;
    } others[] = {{"\x1f\x8b\x08\0", 4, "gzip"},
                  {"\xfd"
                   "7zXZ\0",
                   6, "xz"},
                  {"BZh9", 4, "bzip2"},
                  {"PK\3\4", 4, "zip"},
                  {"\x04\"M\x18", 4, "lz4"},
                  {"manifest.json", 13, "text"},
                  {"\x37\xa4\x30\xec", 4, "a dictionary"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        give(m, span_of(others[i].bytes, others[i].n), FIND_CONTAINER_ZSTD, "", "byte 0", "%s",
             others[i].what);
    give(m, m->g->stream, FIND_CONTAINER_ZSTD, "", "byte 0", "tar that was not compressed");
    give(m, span_of(NULL, 0), FIND_CONTAINER_TRUNCATED, "", "byte 0", "an empty file");
}

void hostile_frames(maker *m)
{
    span s = m->g->stream, none = {0};
    size_t cut = s.n / 2;
    span one = framed(m, s), half = framed(m, span_of(s.p, cut)),
         rest = framed(m, span_of(s.p + cut, s.n - cut));
    const char *behind = scratch_printf(m->sc, "byte %zu", one.n),
               *middle = scratch_printf(m->sc, "byte %zu", half.n);
    skippables(m, one, half, rest);
    headers_of_frames(m, one);
    give(m, joined(m, one, span_str("x")), FIND_CONTAINER_TRAILING, "", behind,
         "a byte behind the last frame");
    give(m, joined(m, one, span_of("\0\0\0\0\0\0\0\0", 8)), FIND_CONTAINER_TRAILING, "", behind,
         "zeros behind the last frame");
    give(m, joined(m, one, span_str("PK\3\4 a polyglot")), FIND_CONTAINER_TRAILING, "", behind,
         "another format behind the last frame");
    give(m, joined(m, joined(m, half, span_str("junk")), rest), FIND_CONTAINER_ZSTD, "", middle,
         "junk between frames");
    give(m, half, FIND_CONTAINER_TRUNCATED, NULL, "stream byte *", "the frames end at a boundary");
    give(m, joined(m, rest, half), FIND_CONTAINER_HEADER, "", "stream byte 0", "frames in another order");
    give(m, span_of(one.p, one.n - 1), FIND_CONTAINER_TRUNCATED, NULL, "byte *", "the last byte is gone");
    give(m, span_of(one.p, one.n - 4), FIND_CONTAINER_TRUNCATED, NULL, "byte *", "the checksum is gone");
    give(m, joined(m, half, span_of(rest.p, rest.n - 5)), FIND_CONTAINER_TRUNCATED, NULL, "byte *",
         "cut in a second frame");
    give(m, joined(m, half, t_flip(m->sc, rest, rest.n - 1, 0x80)), FIND_CONTAINER_CHECKSUM, "", middle,
         "a wrong checksum");
    for (int flags = 0; flags < 3; flags++)
        give(m, joined(m, half, packed(m, span_of(s.p + cut, s.n - cut), flags & 1, flags & 2, 0)),
             FIND_CONTAINER_FRAME, "", middle, "a second frame %s size, %s checksum",
             flags & 1 ? "with" : "without", flags & 2 ? "with" : "without");
    give(m, joined(m, one, packed(m, none, true, true, 0)), FIND_CONTAINER_FRAME, "", behind,
         "an empty frame");
    give(m, joined(m, packed(m, none, true, true, 0), one), FIND_CONTAINER_FRAME, "", "byte 0",
         "an empty frame first");
    uint8_t *zeros = scratch_alloc(m->sc, 64 << 20);
    span large = packed(m, span_of(zeros, (4 << 20) + 1), true, true, 0);
    give(m, joined(m, half, large), FIND_CONTAINER_FRAME, "", middle, "a frame of more than 4 MiB");
    /* Bombs: a few bytes that decode to very many. */
    m->answers = CASE_B08;
    give(m, joined(m, one, t_frames(m->sc, span_of(zeros, 64 << 20), 4 << 20)), FIND_CONTAINER_END, "",
         "stream byte *", "64 MiB of zeros in frames behind the end");
    span bomb = t_splice(m->sc, s, s.n, 0, span_of(zeros, 60 << 20));
    give(m, packed(m, bomb, false, false, 0), FIND_CONTAINER_END, "", "stream byte *",
         "60 MiB of zeros in the frame");
    give(m, packed(m, t_splice(m->sc, span_of(s.p, 512), 512, 0, span_of(zeros, 60 << 20)), false, false, 0),
         FIND_JSON_SYNTAX, MANIFEST_PATH, "byte 0", "zeros where manifest.json should be");
    m->answers = CASE_NONE;
}

void hostile_swaps(maker *m, bool all)
{
    size_t n = m->g->tree.n;
    for (size_t a = 1; a <= n; a++)
        for (size_t b = a + 1; b <= (all ? n : a + 1) && b <= n; b++) {
            scratch *sc = m->sc, *own = scratch_new(0);
            size_t at = entry_at(m->g, a), an = entry_at(m->g, a + 1) - at, bt = entry_at(m->g, b),
                   bn = entry_at(m->g, b + 1) - bt;
            span s = t_splice(own, m->g->stream, bt, bn, span_of(m->g->stream.p + at, an));
            s = t_splice(own, s, at, an, span_of(m->g->stream.p + bt, bn));
            m->sc = own;
            give(m, framed(m, s), FIND_CONTAINER_ORDER, NULL, "stream byte *", "files %zu and %zu swapped", a,
                 b);
            m->sc = sc;
            scratch_free(own);
        }
}
