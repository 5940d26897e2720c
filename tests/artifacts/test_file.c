#include "artifacts/base/file.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    scratch *sc;
    const char *dir;
    rp_err e;
} place;

static place start(void)
{
    place p = {.sc = scratch_new(0)};
    p.dir = t_dir(p.sc);
    return p;
}

static void stop(place *p)
{
    t_remove(p->dir);
    scratch_free(p->sc);
}

static const char *at(place *p, const char *name)
{
    return file_join(p->sc, p->dir, name);
}

static size_t names_in(place *p)
{
    const char *const *paths;
    size_t n = 0;
    rp_err e = {0};
    cr_assert_eq(file_tree(&e, &paths, &n, p->sc, p->dir), RP_OK, "%s", e.msg);
    return n;
}

Test(file, read_whole)
{
    place p = start();
    span s;
    const char *path = t_write(p.sc, p.dir, "a", span_str("12345"));
    cr_assert_eq(file_read(&p.e, &s, p.sc, path, 5), RP_OK);
    cr_expect(t_equal(s, span_str("12345")));
    cr_expect_eq(file_read(&p.e, &s, p.sc, path, 4), RP_IO);
    cr_expect(strstr(p.e.msg, "at most 4 bytes, found 5") && !strcmp(p.e.file, path), "%s: %s", p.e.file,
              p.e.msg);
    p.e = (rp_err){0};
    path = t_write(p.sc, p.dir, "empty", span_str(""));
    cr_assert_eq(file_read(&p.e, &s, p.sc, path, 0), RP_OK);
    cr_expect_eq(s.n, 0);
    stop(&p);
}

/* Neither a folder nor a pipe is read, nor does the attempt hang. */
Test(file, read_refuses_what_is_no_file)
{
    place p = start();
    span s;
    cr_expect_eq(file_read(&p.e, &s, p.sc, p.dir, 100), RP_IO);
    cr_expect(strstr(p.e.msg, "found a folder"), "%s", p.e.msg);
    p.e = (rp_err){0};
    const char *pipe = at(&p, "pipe");
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    cr_expect_eq(file_read(&p.e, &s, p.sc, pipe, 100), RP_IO);
    cr_expect(strstr(p.e.msg, "regular file"), "%s", p.e.msg);
    p.e = (rp_err){0};
    cr_expect_eq(file_read(&p.e, &s, p.sc, at(&p, "none"), 100), RP_IO);
    cr_expect(strstr(p.e.msg, "cannot open: No such file"), "%s", p.e.msg);
    unlink(pipe);
    stop(&p);
}

Test(file, read_starved)
{
    place p = start();
    scratch *little = scratch_new(16);
    span s;
    const char *path = t_write(p.sc, p.dir, "a", span_str("seventeen letters"));
    cr_expect_eq(file_read(&p.e, &s, little, path, 100), RP_NOMEM);
    scratch_free(little);
    stop(&p);
}

Test(file, parts_and_short_files)
{
    place p = start();
    char buf[8] = {0};
    const char *path = t_write(p.sc, p.dir, "a", span_str("0123456789"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(file_pread(&p.e, fd, path, buf, 4, 6), RP_OK);
    cr_expect_str_eq(buf, "6789");
    cr_assert_eq(file_pread(&p.e, fd, path, buf, 0, 99), RP_OK);
    cr_expect_eq(file_pread(&p.e, fd, path, buf, 4, 7), RP_IO);
    cr_expect(strstr(p.e.msg, "expected 1 more bytes at byte 10"), "%s", p.e.msg);
    cr_expect_str_eq(p.e.file, path);
    close(fd);
    p.e = (rp_err){0};
    cr_expect_eq(file_pread(&p.e, fd, path, buf, 1, 0), RP_IO);
    stop(&p);
}

Test(file, write_replaces_whole)
{
    place p = start();
    const char *path = at(&p, "a");
    struct stat st;
    cr_assert_eq(file_write(&p.e, path, span_str("first")), RP_OK);
    int old = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(file_write(&p.e, path, span_str("2nd")), RP_OK);
    cr_expect(t_equal(t_slurp(p.sc, path), span_str("2nd")));
    /* Who had it open still sees the old whole: nothing was written over. */
    char buf[8] = {0};
    cr_expect_eq(read(old, buf, sizeof buf), 5);
    cr_expect_str_eq(buf, "first");
    close(old);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0644);
    cr_expect_eq(names_in(&p), 1, "a temporary file was left");
    stop(&p);
}

Test(file, write_that_fails_leaves_nothing)
{
    place p = start();
    cr_expect_eq(file_write(&p.e, at(&p, "none/a"), span_str("x")), RP_IO);
    cr_expect_str_eq(p.e.file, at(&p, "none/a"));
    /* The rename fails on a folder of the name. */
    p.e = (rp_err){0};
    t_write(p.sc, p.dir, "folder/inside", span_str("kept"));
    cr_expect_eq(file_write(&p.e, at(&p, "folder"), span_str("x")), RP_IO);
    cr_expect_eq(names_in(&p), 1);
    cr_expect(t_equal(t_slurp(p.sc, at(&p, "folder/inside")), span_str("kept")));
    p.e = (rp_err){0};
    char *longer = scratch_printf(p.sc, "%s/%*s", p.dir, 5000, "x");
    cr_expect_eq(file_write(&p.e, longer, span_str("x")), RP_IO);
    p.e = (rp_err){0};
    cr_expect_eq(file_write_fd(&p.e, -1, "gone", span_str("x")), RP_IO);
    cr_expect_str_eq(p.e.file, "gone");
    stop(&p);
}

Test(file, folders)
{
    place p = start();
    cr_assert_eq(file_mkdirs(&p.e, at(&p, "a/b/c")), RP_OK);
    cr_assert_eq(file_mkdirs(&p.e, at(&p, "a/b/c/")), RP_OK);
    cr_assert_eq(file_mkdirs(&p.e, "/"), RP_OK);
    cr_expect(file_is_dir(at(&p, "a/b/c")) && file_exists(at(&p, "a/b")));
    cr_assert_eq(file_sync_dir(&p.e, p.dir), RP_OK);
    const char *file = t_write(p.sc, p.dir, "a/file", span_str(""));
    cr_expect(file_exists(file) && !file_is_dir(file) && !file_exists(at(&p, "none")));
    cr_expect_eq(file_mkdirs(&p.e, file), RP_IO);
    p.e = (rp_err){0};
    cr_expect_eq(file_mkdirs(&p.e, at(&p, "a/file/below")), RP_IO);
    p.e = (rp_err){0};
    cr_expect_eq(file_mkdirs(&p.e, ""), RP_IO);
    p.e = (rp_err){0};
    cr_expect_eq(file_sync_dir(&p.e, file), RP_IO);
    /* A link to nowhere is there. */
    cr_assert_eq(symlink("nowhere", at(&p, "link")), 0);
    cr_expect(file_exists(at(&p, "link")) && !file_is_dir(at(&p, "link")));
    unlink(at(&p, "link"));
    cr_expect_str_eq(file_join(p.sc, "", "x"), "x");
    stop(&p);
}

Test(file, tree_is_sorted_bytewise)
{
    static const char *const want[] = {"B", "a-b/x", "a/b/c", "a/z", "b"};
    place p = start();
    const char *const *paths;
    size_t n = 0;
    for (size_t i = 5; i > 0; i--)
        t_write(p.sc, p.dir, want[i - 1], span_str("x"));
    cr_assert_eq(mkdir(at(&p, "empty"), 0755), 0);
    cr_assert_eq(file_tree(&p.e, &paths, &n, p.sc, p.dir), RP_OK);
    cr_assert_eq(n, 5);
    for (size_t i = 0; i < n; i++)
        cr_expect_str_eq(paths[i], want[i]);
    cr_expect_eq(file_tree(&p.e, &paths, &n, p.sc, at(&p, "none")), RP_IO);
    stop(&p);
}

Test(file, tree_refuses_links_and_pipes)
{
    place p = start();
    const char *const *paths;
    size_t n = 0;
    t_write(p.sc, p.dir, "a/file", span_str("x"));
    for (int i = 0; i < 3; i++) {
        const char *name = at(&p, "a/odd");
        cr_assert_eq(i == 0 ? symlink("file", name) : i == 1 ? symlink("..", name) : mkfifo(name, 0600), 0);
        p.e = (rp_err){0};
        cr_expect_eq(file_tree(&p.e, &paths, &n, p.sc, p.dir), RP_IO, "%d", i);
        cr_expect_str_eq(p.e.file, name);
        unlink(name);
    }
    stop(&p);
}

Test(file, tree_depth_is_bounded)
{
    place p = start();
    const char *const *paths;
    size_t n = 0;
    t_write(p.sc, p.dir, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/x", span_str("x"));
    cr_assert_eq(file_tree(&p.e, &paths, &n, p.sc, p.dir), RP_OK);
    cr_expect_eq(n, 1);
    t_write(p.sc, p.dir, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/x", span_str("x"));
    cr_expect_eq(file_tree(&p.e, &paths, &n, p.sc, p.dir), RP_IO);
    stop(&p);
}

/* Links inside are removed, not followed. */
Test(file, remove_tree)
{
    place p = start();
    const char *kept = t_write(p.sc, p.dir, "kept/file", span_str("x"));
    t_write(p.sc, p.dir, "gone/a/b/file", span_str("x"));
    cr_assert_eq(mkdir(at(&p, "gone/empty"), 0755), 0);
    cr_assert_eq(symlink("../kept", at(&p, "gone/link")), 0);
    cr_assert_eq(file_remove_tree(&p.e, at(&p, "gone")), RP_OK, "%s", p.e.msg);
    cr_expect(!file_exists(at(&p, "gone")) && file_exists(kept));
    cr_expect_eq(file_remove_tree(&p.e, at(&p, "gone")), RP_IO);
    p.e = (rp_err){0};
    /* Nor is a link in its place. */
    cr_assert_eq(symlink("kept", at(&p, "link")), 0);
    cr_expect_eq(file_remove_tree(&p.e, at(&p, "link")), RP_IO);
    cr_expect(file_exists(kept));
    stop(&p);
}

Test(file, temporary)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    span s;
    int fd = file_temp(&e);
    cr_assert_geq(fd, 0, "%s", e.msg);
    cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    cr_assert_eq(file_write_fd(&e, fd, "temp", span_str("hello")), RP_OK);
    cr_assert_eq(file_read_fd(&e, &s, sc, fd, "temp", 5), RP_OK);
    cr_expect(t_equal(s, span_str("hello")), "the beginning is read, wherever the offset is");
    close(fd);
    scratch_free(sc);
}

/* In steps: under its name only at the end, and gone after an error or a signal. */
Test(file, written_in_steps)
{
    char tmp[FILE_PATH_MAX];
    place p = start();
    const char *path = at(&p, "out"), *folder = at(&p, "folder");
    int fd = file_temp_begin(&p.e, tmp, path);
    cr_assert_geq(fd, 0, "%s", p.e.msg);
    cr_expect(file_exists(tmp) && !file_exists(path));
    close(fd);
    cr_assert_eq(file_temp_end(&p.e, tmp, path), RP_OK, "%s", p.e.msg);
    cr_expect(!file_exists(tmp) && file_exists(path));

    fd = file_temp_begin(&p.e, tmp, path);
    close(fd);
    err_set(&p.e, RP_IO, "something");
    cr_expect_eq(file_temp_end(&p.e, tmp, path), RP_IO);
    cr_expect(!file_exists(tmp) && file_exists(path));
    p.e = (rp_err){0};

    cr_assert_eq(mkdir(folder, 0755), 0);
    fd = file_temp_begin(&p.e, tmp, folder);
    close(fd);
    cr_expect_eq(file_temp_end(&p.e, tmp, folder), RP_IO, "a folder is not replaced");
    cr_expect(!file_exists(tmp));
    p.e = (rp_err){0};

    cr_expect_eq(file_temp_begin(&p.e, tmp, at(&p, "nowhere/out")), -1);
    cr_expect_eq(p.e.code, RP_IO);
    stop(&p);
}

Test(file, temporary_name_and_a_signal)
{
    place p = start();
    const char *path = at(&p, "out");
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (!child) {
        char tmp[FILE_PATH_MAX];
        file_clean_on_signals();
        if (file_temp_begin(&p.e, tmp, path) >= 0)
            raise(SIGTERM);
        _exit(1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "it dies of the signal");
    const char *const *paths;
    size_t n;
    cr_assert_eq(file_tree(&p.e, &paths, &n, p.sc, p.dir), RP_OK);
    cr_expect_eq(n, 0, "found %s", n ? paths[0] : "");
    stop(&p);
}
