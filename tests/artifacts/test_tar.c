#include "artifacts/tar.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>

#define TAR_COMMAND                                                                                          \
    "tar --format=ustar -b1 --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0644 -cf %s -T %s"
#define PATH_100                                                                                             \
    "evidence/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const char zeros[1024];

/* Sizes around a block, an empty file, the longest path. */
static const t_file tree[] = {
    {"capture.json", {(const uint8_t *)"{}", 2}},    {"evidence/a-b", {(const uint8_t *)zeros, 511}},
    {"evidence/a/b", {(const uint8_t *)zeros, 512}}, {"evidence/empty", {NULL, 0}},
    {PATH_100, {(const uint8_t *)zeros, 513}},       {"plan/plan.json", {(const uint8_t *)"{ }", 3}},
};
enum { N_TREE = sizeof tree / sizeof *tree };

/* Writes the tree with its manifest and the list of its paths in the order of the stream; gives that stream.
 */
static span write_tree(scratch *sc, const char *dir)
{
    span text;
    const manifest *m = t_manifest(sc, "tree", tree, N_TREE, &text);
    t_write_tree(sc, dir, tree, N_TREE);
    t_write(sc, dir, MANIFEST_PATH, text);
    char *list = scratch_printf(sc, MANIFEST_PATH "\n");
    for (size_t i = 0; i < m->n_files; i++)
        list = scratch_printf(sc, "%s%s\n", list, m->files[i].path);
    t_write(sc, dir, "list", span_str(list));
    return t_stream(sc, text, tree, N_TREE);
}

Test(tar, header_byte_for_byte)
{
    uint8_t want[TAR_BLOCK] = {0}, got[TAR_BLOCK];
    memcpy(want, "manifest.json", 13);
    memcpy(want + 100, "0000644", 7);
    memcpy(want + 108, "0000000", 7);
    memcpy(want + 116, "0000000", 7);
    memcpy(want + 124, "00000000002", 11);
    memcpy(want + 136, "00000000000", 11);
    memcpy(want + 148, "011676\0 ", 8);
    want[156] = '0';
    memcpy(want + 257, "ustar\00000", 8);
    memcpy(want + 329, "0000000", 7);
    memcpy(want + 337, "0000000", 7);
    tar_header(got, "manifest.json", 2);
    cr_expect_arr_eq(got, want, TAR_BLOCK);
}

Test(tar, header_reads_back_and_no_other)
{
    static const uint64_t sizes[] = {0, 1, 511, 512, 0777777777, UINT64_C(1) << 32, TAR_SIZE_MAX};
    uint8_t h[TAR_BLOCK];
    char path[TAR_PATH_MAX + 1];
    uint64_t bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tar_header(h, PATH_100, sizes[i]);
        cr_assert(tar_header_read(h, path, &bytes));
        cr_expect_str_eq(path, PATH_100);
        cr_expect_eq(bytes, sizes[i]);
    }
    /* One bit elsewhere never gives a header: the sum catches what is read, the comparison the rest. */
    tar_header(h, "plan/plan.json", 4096);
    for (size_t bit = 0; bit < 8 * TAR_BLOCK; bit++) {
        h[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_expect(!tar_header_read(h, path, &bytes), "bit %zu", bit);
        h[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memset(h, 0, sizeof h);
    cr_expect(!tar_header_read(h, path, &bytes), "a zero block is no header");
    tar_header(h, "", 0);
    cr_expect(!tar_header_read(h, path, &bytes), "nor is one without a name");
}

Test(tar, sizes)
{
    cr_expect_eq(tar_padding(0), 0);
    cr_expect_eq(tar_padding(1), 511);
    cr_expect_eq(tar_padding(512), 0);
    cr_expect_eq(tar_padding(TAR_SIZE_MAX), 1);
    cr_expect_eq(tar_entry_bytes(0), 512);
    cr_expect_eq(tar_entry_bytes(513), 1536);
    cr_expect_str_eq(tar_field(0), "name");
    cr_expect_str_eq(tar_field(99), "name");
    cr_expect_str_eq(tar_field(156), "typeflag");
    cr_expect_str_eq(tar_field(511), "the unused end");
}

Test(tar, is_what_gnu_tar_writes)
{
    if (t_shell("/", "tar --version 2>/dev/null | grep -q 'GNU tar'"))
        cr_skip_test("no GNU tar");
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    span stream = write_tree(sc, dir);
    char command[512];
    snprintf(command, sizeof command, TAR_COMMAND, "theirs.tar", "list");
    cr_assert_eq(t_shell(dir, command), 0);
    span theirs = t_slurp(sc, file_join(sc, dir, "theirs.tar"));
    cr_expect(t_equal(stream, theirs), "expected %zu equal bytes, GNU tar wrote %zu", stream.n, theirs.n);
    t_remove(dir);
    scratch_free(sc);
}

Test(tar, largest_size_is_gnu_tars)
{
    if (t_shell("/", "tar --version 2>/dev/null | grep -q 'GNU tar'"))
        cr_skip_test("no GNU tar");
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    uint8_t h[TAR_BLOCK];
    char command[512];
    cr_assert_eq(
        t_shell(dir, "mkdir evidence && truncate -s 8589934591 evidence/x && echo evidence/x > list"), 0);
    snprintf(command, sizeof command, TAR_COMMAND " 2>/dev/null | head -c 512 > head", "-", "list");
    cr_assert_eq(t_shell(dir, command), 0);
    tar_header(h, "evidence/x", TAR_SIZE_MAX);
    cr_expect(t_equal(t_slurp(sc, file_join(sc, dir, "head")), span_of(h, sizeof h)));
    t_remove(dir);
    scratch_free(sc);
}

/* Other programs take out of the stream exactly the files that went in. */
static void extracts(const char *program, const char *command)
{
    if (!t_has(program))
        cr_skip_test("no %s", program);
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *out = file_join(sc, dir, "out");
    span stream = write_tree(sc, dir);
    t_write(sc, dir, "ours.tar", stream);
    cr_assert_eq(t_shell(dir, "mkdir out"), 0);
    cr_assert_eq(t_shell(dir, command), 0);
    rp_err e = {0};
    const char *const *paths;
    size_t n;
    cr_assert(!file_tree(&e, &paths, &n, sc, out));
    cr_expect_eq(n, N_TREE + 1);
    for (size_t i = 0; i < N_TREE; i++)
        cr_expect(t_equal(t_slurp(sc, file_join(sc, out, tree[i].path)), tree[i].bytes), "%s", tree[i].path);
    t_remove(dir);
    scratch_free(sc);
}

Test(tar, gnu_tar_extracts)
{
    extracts("tar", "tar -xf ours.tar -C out 2>&1");
}

Test(tar, bsdtar_extracts)
{
    extracts("bsdtar", "bsdtar -xf ours.tar -C out 2>&1");
}

Test(tar, python_extracts)
{
    extracts("python3", "python3 -c \"import tarfile; tarfile.open('ours.tar').extractall('out')\" 2>&1");
}
