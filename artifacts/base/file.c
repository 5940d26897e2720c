#include "artifacts/base/file.h"
#include "artifacts/base/ck.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

rp_code file_pread(rp_err *e, int fd, const char *path, void *out, size_t n, uint64_t offset_bytes)
{
    unsigned char *p = out;
    while (n) {
        ssize_t got = pread(fd, p, n, (off_t)offset_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(e, path, "read");
        if (!got) {
            err_set(e, RP_IO, "expected %zu more bytes at byte %llu, found the end of the file", n,
                    (unsigned long long)offset_bytes);
            return err_file(e, path);
        }
        p += got;
        n -= (size_t)got;
        offset_bytes += (uint64_t)got;
    }
    return RP_OK;
}

rp_code file_read_fd(rp_err *e, span *out, scratch *sc, int fd, const char *path, uint64_t max_bytes)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_errno(e, path, "stat");
    if (!S_ISREG(st.st_mode)) {
        err_set(e, RP_IO, "expected a regular file, found %s",
                S_ISDIR(st.st_mode) ? "a folder" : "something else");
        return err_file(e, path);
    }
    if ((uint64_t)st.st_size > max_bytes) {
        err_set(e, RP_IO, "expected at most %llu bytes, found %llu", (unsigned long long)max_bytes,
                (unsigned long long)st.st_size);
        return err_file(e, path);
    }
    size_t n = (size_t)st.st_size;
    unsigned char *p = scratch_alloc(sc, n);
    if (!p)
        return err_nomem(e);
    if (file_pread(e, fd, path, p, n, 0))
        return e->code;
    *out = span_of(p, n);
    return RP_OK;
}

rp_code file_read(rp_err *e, span *out, scratch *sc, const char *path, uint64_t max_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, path, "open");
    rp_code code = file_read_fd(e, out, sc, fd, path, max_bytes);
    close(fd);
    return code;
}

rp_code file_write_fd(rp_err *e, int fd, const char *path, span s)
{
    while (s.n) {
        ssize_t put = write(fd, s.p, s.n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(e, path, "write");
        s.p += put;
        s.n -= (size_t)put;
    }
    return RP_OK;
}

/* --- Temporary names. --- */

/* What a signal takes away; "" where there is nothing. Changed only while the signals are held back. */
static char doomed[FILE_PATH_MAX];
static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};

static void clean(int sig)
{
    if (*doomed)
        unlink(doomed);
    signal(sig, SIG_DFL);
    raise(sig);
}

void file_clean_on_signals(void)
{
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction was, now = {.sa_handler = clean};
        sigemptyset(&now.sa_mask);
        if (!sigaction(deadly[i], NULL, &was) && was.sa_handler != SIG_IGN)
            sigaction(deadly[i], &now, NULL);
    }
}

static void hold_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        sigaddset(&set, deadly[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static void let_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int file_temp_begin(rp_err *e, char tmp[FILE_PATH_MAX], const char *path)
{
    sigset_t before;
    if (snprintf(tmp, FILE_PATH_MAX, "%s.tmp-XXXXXX", path) >= FILE_PATH_MAX) {
        err_set(e, RP_IO, "the path is too long");
        err_file(e, path);
        return -1;
    }
    hold_signals(&before);
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        err_errno(e, path, "create");
    else
        memcpy(doomed, tmp, FILE_PATH_MAX);
    let_signals(&before);
    return fd;
}

rp_code file_temp_end(rp_err *e, const char *tmp, const char *path)
{
    sigset_t before;
    hold_signals(&before);
    if (!e->code && rename(tmp, path))
        err_errno(e, path, "rename");
    if (e->code)
        unlink(tmp);
    *doomed = 0;
    let_signals(&before);
    return e->code;
}

rp_code file_write(rp_err *e, const char *path, span s)
{
    char tmp[FILE_PATH_MAX];
    int fd = file_temp_begin(e, tmp, path);
    if (fd < 0)
        return e->code;
    if (!file_write_fd(e, fd, path, s) && (fchmod(fd, 0644) || fsync(fd)))
        err_errno(e, path, "write");
    if (close(fd) && !e->code)
        err_errno(e, path, "write");
    return file_temp_end(e, tmp, path);
}

rp_code file_mkdirs(rp_err *e, const char *path)
{
    char buf[4096];
    if (snprintf(buf, sizeof buf, "%s", path) >= (int)sizeof buf) {
        err_set(e, RP_IO, "the path is too long");
        return err_file(e, path);
    }
    for (char *p = buf + (*buf != 0);; p++) {
        if (*p && *p != '/')
            continue;
        char end = *p;
        *p = 0;
        if (mkdir(buf, 0755) && errno != EEXIST)
            return err_errno(e, path, "create the folder");
        if (!end)
            break;
        *p = '/';
    }
    if (!file_is_dir(path)) {
        err_set(e, RP_IO, "expected a folder, found a file");
        return err_file(e, path);
    }
    return RP_OK;
}

bool file_is_dir(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool file_exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

char *file_join(scratch *sc, const char *dir, const char *name)
{
    return *dir ? scratch_printf(sc, "%s/%s", dir, name) : scratch_strdup(sc, name);
}

typedef struct {
    const char **v;
    size_t n, cap;
    scratch *sc;
} path_list;

static bool push(path_list *l, const char *path)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        const char **v = scratch_array(l->sc, cap, sizeof *v);
        if (!v)
            return false;
        if (l->n)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = path;
    return true;
}

enum { TREE_MAX_DEPTH = 16 };

static rp_code walk(rp_err *e, path_list *l, const char *root, const char *rel, unsigned depth)
{
    const char *dir = *rel ? file_join(l->sc, root, rel) : root;
    DIR *d = dir ? opendir(dir) : NULL;
    if (!dir)
        return err_nomem(e);
    if (!d)
        return err_errno(e, dir, "open the folder");
    while (!e->code) {
        errno = 0;
        const struct dirent *ent = readdir(d);
        if (!ent) {
            if (errno)
                err_errno(e, dir, "read the folder");
            break;
        }
        if (!strcmp(ent->d_name, ".") || !strcmp(ent->d_name, ".."))
            continue;
        const char *sub = file_join(l->sc, rel, ent->d_name);
        const char *full = sub ? file_join(l->sc, root, sub) : NULL;
        struct stat st;
        if (!full)
            err_nomem(e);
        else if (lstat(full, &st))
            err_errno(e, full, "stat");
        else if (S_ISDIR(st.st_mode) && depth < TREE_MAX_DEPTH)
            walk(e, l, root, sub, depth + 1);
        else if (!S_ISREG(st.st_mode)) {
            err_set(e, RP_IO, "expected regular files and folders only");
            err_file(e, full);
        } else if (!push(l, sub))
            err_nomem(e);
    }
    closedir(d);
    return e->code;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

rp_code file_tree(rp_err *e, const char *const **paths, size_t *n, scratch *sc, const char *dir)
{
    path_list l = {.sc = sc};
    if (walk(e, &l, dir, "", 0))
        return e->code;
    if (l.n)
        qsort(l.v, l.n, sizeof *l.v, by_bytes);
    *paths = l.v;
    *n = l.n;
    return RP_OK;
}

static rp_code remove_below(rp_err *e, int parent, const char *name, const char *path)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return err_errno(e, path, "open the folder");
    }
    const struct dirent *ent;
    while (!e->code && (ent = readdir(d))) {
        if (!strcmp(ent->d_name, ".") || !strcmp(ent->d_name, ".."))
            continue;
        if (!unlinkat(dirfd(d), ent->d_name, 0))
            continue;
        if (errno == EISDIR || errno == EPERM)
            remove_below(e, dirfd(d), ent->d_name, path);
        else
            err_errno(e, path, "remove");
    }
    closedir(d);
    if (!e->code && unlinkat(parent, name, AT_REMOVEDIR))
        err_errno(e, path, "remove");
    return e->code;
}

rp_code file_remove_tree(rp_err *e, const char *dir)
{
    return remove_below(e, AT_FDCWD, dir, dir);
}

rp_code file_sync_dir(rp_err *e, const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, dir, "open the folder");
    if (fsync(fd))
        err_errno(e, dir, "sync");
    close(fd);
    return e->code;
}

int file_temp(rp_err *e)
{
    int fd = memfd_create("replay", MFD_CLOEXEC);
    if (fd < 0)
        err_errno(e, "temporary file", "create");
    return fd;
}
