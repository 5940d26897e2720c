/* Loaded before libc (LD_PRELOAD): makes the N-th call of one kind fail, once.
 *
 *   FAULT=KIND:N   KIND  malloc (any allocation: NULL), read (read, pread: EIO), write (write: ENOSPC), short
 * (every write from the N-th on takes one byte at a time), sync (fsync: EIO), rename (EIO), open (EMFILE)
 *
 *   int, term: that signal before or after a call that reads, writes, creates, syncs or renames; each such
 * call is two such moments, and the N-th is the one
 *
 * FAULT_COUNT=FILE has the number of calls of that kind written at exit, so that a script knows when it has
 * failed each. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static char kind[16];
static long nth = -1;
static pid_t owner; /* a fork that has not yet exec'd is not the program */
static atomic_long calls;

__attribute__((constructor)) static void begin(void)
{
    const char *f = getenv("FAULT"), *colon = f ? strchr(f, ':') : NULL;
    if (!colon || (size_t)(colon - f) >= sizeof kind)
        return;
    memcpy(kind, f, (size_t)(colon - f));
    nth = strtol(colon + 1, NULL, 10);
    owner = getpid();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    char text[32];
    long n = calls;
    kind[0] = 0; /* what follows is not the program's */
    int fd = path ? (int)open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd < 0)
        return;
    (void)!write(fd, text, (size_t)snprintf(text, sizeof text, "%ld\n", n));
    close(fd);
}

static int fails(const char *what)
{
    return nth >= 0 && !strcmp(kind, what) && atomic_fetch_add(&calls, 1) + 1 == nth;
}

void *malloc(size_t n)
{
    return fails("malloc") ? (errno = ENOMEM, NULL) : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails("malloc") ? (errno = ENOMEM, NULL) : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails("malloc") ? (errno = ENOMEM, NULL) : __libc_realloc(p, n);
}

/* One moment passes. */
static void moment(void)
{
    if (getpid() != owner)
        return;
    if (fails("int"))
        kill(owner, SIGINT);
    if (fails("term"))
        kill(owner, SIGTERM);
}

/* The real call between two moments. */
#define BETWEEN(type, call)                                                                                  \
    do {                                                                                                     \
        moment();                                                                                            \
        type result = call;                                                                                  \
        int why = errno;                                                                                     \
        moment();                                                                                            \
        errno = why;                                                                                         \
        return result;                                                                                       \
    } while (0)

/* A pointer to the real function; casting through a union keeps the compilers quiet. */
#define REAL(name, type)                                                                                     \
    union {                                                                                                  \
        void *p;                                                                                             \
        __typeof__(type) f;                                                                                  \
    } real = {.p = dlsym(RTLD_NEXT, name)}

ssize_t read(int fd, void *buf, size_t n)
{
    REAL("read", ssize_t(*)(int, void *, size_t));
    if (fails("read"))
        return errno = EIO, -1;
    BETWEEN(ssize_t, real.f(fd, buf, n));
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
    REAL("pread", ssize_t(*)(int, void *, size_t, off_t));
    if (fails("read"))
        return errno = EIO, -1;
    BETWEEN(ssize_t, real.f(fd, buf, n, at));
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
    REAL("pread64", ssize_t(*)(int, void *, size_t, off64_t));
    if (fails("read"))
        return errno = EIO, -1;
    BETWEEN(ssize_t, real.f(fd, buf, n, at));
}

ssize_t write(int fd, const void *buf, size_t n)
{
    REAL("write", ssize_t(*)(int, const void *, size_t));
    if (fd > 2 && fails("write"))
        return errno = ENOSPC, -1;
    if (fd > 2 && !strcmp(kind, "short") && atomic_fetch_add(&calls, 1) + 1 >= nth && n > 1)
        n = 1;
    BETWEEN(ssize_t, real.f(fd, buf, n));
}

int fsync(int fd)
{
    REAL("fsync", int (*)(int));
    if (fails("sync"))
        return errno = EIO, -1;
    BETWEEN(int, real.f(fd));
}

int rename(const char *from, const char *to)
{
    REAL("rename", int (*)(const char *, const char *));
    if (fails("rename"))
        return errno = EIO, -1;
    BETWEEN(int, real.f(from, to));
}

int open(const char *path, int flags, ...)
{
    REAL("open", int (*)(const char *, int, ...));
    va_list ap;
    va_start(ap, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    if (fails("open"))
        return errno = EMFILE, -1;
    BETWEEN(int, real.f(path, flags, mode));
}

int mkostemp(char *name, int flags)
{
    REAL("mkostemp", int (*)(char *, int));
    BETWEEN(int, real.f(name, flags));
}

int mkdir(const char *path, mode_t mode)
{
    REAL("mkdir", int (*)(const char *, mode_t));
    BETWEEN(int, real.f(path, mode));
}

int close(int fd)
{
    REAL("close", int (*)(int));
    BETWEEN(int, real.f(fd));
}
