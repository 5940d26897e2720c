#include "artifacts/base/proc.h"
#include "artifacts/base/ck.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CHILD_FD = 64, EXEC_FAILED = 127 };

static volatile sig_atomic_t remembered;

static void remember(int sig)
{
    remembered = sig;
}

void proc_catch_signals(void)
{
    struct sigaction sa = {.sa_handler = remember};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
}

int proc_interrupted(void)
{
    return remembered;
}

_Noreturn void proc_die_of_signal(void)
{
    int sig = remembered ? remembered : SIGTERM;
    signal(sig, SIG_DFL);
    raise(sig);
    _exit(128 + sig);
}

const char *proc_self_dir(scratch *sc)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    return scratch_strdup(sc, path);
}

static void limit(int resource, uint64_t value)
{
    if (value) {
        struct rlimit r = {.rlim_cur = value, .rlim_max = value};
        setrlimit((__rlimit_resource_t)resource, &r);
    }
}

/* Put the handed descriptors at their numbers. Sources are first moved above every target, so that none is
 * overwritten before its turn. */
static bool place_fds(const proc_spec *s, int err_fd, int status_fd)
{
    int moved[MAX_CHILD_FD];
    int out = s->stdout_fd < 0 ? open("/dev/null", O_WRONLY) : s->stdout_fd;
    int null = open("/dev/null", O_RDONLY);
    out = fcntl(out, F_DUPFD, MAX_CHILD_FD);
    err_fd = fcntl(err_fd, F_DUPFD, MAX_CHILD_FD);
    if (out < 0 || err_fd < 0 || null < 0)
        return false;
    for (size_t i = 0; i < s->n_fds; i++)
        if ((moved[i] = fcntl(s->fds[i].parent_fd, F_DUPFD, MAX_CHILD_FD)) < 0)
            return false;
    if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err_fd, 2) < 0)
        return false;
    bool used[MAX_CHILD_FD] = {true, true, true};
    for (size_t i = 0; i < s->n_fds; i++) {
        if (dup2(moved[i], s->fds[i].child_fd) < 0)
            return false;
        used[s->fds[i].child_fd] = true;
    }
    for (int fd = 3; fd < MAX_CHILD_FD; fd++)
        if (!used[fd])
            close(fd);
    /* status_fd lies above, close-on-exec: exec closes it, a failing exec writes its errno there. */
    for (unsigned from = MAX_CHILD_FD; from <= (unsigned)status_fd; from++)
        if (from != (unsigned)status_fd)
            close((int)from);
    syscall(SYS_close_range, (unsigned)status_fd + 1, ~0U, 0);
    return true;
}

static _Noreturn void child(const proc_spec *s, pid_t parent, int err_fd, int status_fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXEC_FAILED);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    limit(RLIMIT_AS, s->limit_memory_bytes);
    limit(RLIMIT_CPU, s->limit_cpu_s);
    limit(RLIMIT_FSIZE, s->limit_file_bytes);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (place_fds(s, err_fd, status_fd))
        execve(s->path, (char *const *)(uintptr_t)s->argv, (char *const *)(uintptr_t)s->env);
    int why = errno;
    ssize_t ignored = write(status_fd, &why, sizeof why);
    (void)ignored;
    _exit(EXEC_FAILED);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Keep up to `max` bytes of what the pipe has; false at its end. */
static bool drain(int fd, char *keep, size_t max, size_t *n)
{
    char buf[4096];
    ssize_t got = read(fd, buf, sizeof buf);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    if (got == 0)
        return false;
    size_t room = max - *n, take = (size_t)got < room ? (size_t)got : room;
    memcpy(keep + *n, buf, take);
    *n += take;
    return true;
}

/* Wait for the end of the child; its stderr is read meanwhile so that it never blocks on a full pipe. */
static void attend(pid_t pid, int err_fd, const proc_spec *s, proc_end *end, char *keep, size_t max_keep)
{
    uint64_t start = now_ms();
    bool open = true, killed = false, exited = false;
    int status = 0;
    while (!exited) {
        struct pollfd p = {.fd = open ? err_fd : -1, .events = POLLIN};
        poll(&p, 1, 10);
        if (open && p.revents)
            open = drain(err_fd, keep, max_keep, &end->err_bytes);
        siginfo_t si = {0};
        exited = !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid == pid;
        if (!exited && !killed && (remembered || (s->deadline_ms && now_ms() - start > s->deadline_ms))) {
            end->timed_out = !remembered;
            kill(-pid, SIGKILL);
            killed = true;
        }
    }
    /* Whatever it left running in its group; the number is still its own until it is reaped. */
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    end->wall_ms = now_ms() - start;
    struct pollfd p = {.fd = err_fd, .events = POLLIN};
    while (open && poll(&p, 1, 0) > 0)
        open = drain(err_fd, keep, max_keep, &end->err_bytes);
    if (WIFSIGNALED(status))
        end->signal = WTERMSIG(status);
    else
        end->exit_code = WEXITSTATUS(status);
}

rp_code proc_run(rp_err *e, proc_end *out, scratch *sc, const proc_spec *s)
{
    int err_pipe[2] = {-1, -1}, status_pipe[2] = {-1, -1};
    size_t max_keep;
    char *keep = ck_to_size(s->max_stderr, &max_keep) ? scratch_alloc(sc, max_keep + 1) : NULL;
    if (!keep)
        return err_nomem(e);
    for (size_t i = 0; i < s->n_fds; i++)
        if (s->n_fds >= MAX_CHILD_FD || s->fds[i].child_fd < 3 || s->fds[i].child_fd >= MAX_CHILD_FD)
            return err_set(e, RP_BUG, "a child descriptor outside 3..63");
    if (pipe2(err_pipe, O_CLOEXEC) || pipe2(status_pipe, O_CLOEXEC)) {
        err_errno(e, s->path, "make a pipe");
        goto out;
    }
    int high = fcntl(status_pipe[1], F_DUPFD_CLOEXEC, 2 * MAX_CHILD_FD);
    if (high < 0) {
        err_errno(e, s->path, "make a pipe");
        goto out;
    }
    close(status_pipe[1]);
    status_pipe[1] = high;
    signal(SIGCHLD,
           SIG_DFL); /* ignored, as a parent of ours may have left it, the child's end would go unseen */
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        err_errno(e, s->path, "fork");
        goto out;
    }
    if (pid == 0)
        child(s, parent, err_pipe[1], status_pipe[1]);
    setpgid(pid, pid); /* in both, whichever comes first */
    close(err_pipe[1]);
    close(status_pipe[1]);
    err_pipe[1] = status_pipe[1] = -1;
    int why = 0;
    ssize_t got;
    do
        got = read(status_pipe[0], &why, sizeof why);
    while (got < 0 && errno == EINTR);
    *out = (proc_end){0};
    attend(pid, err_pipe[0], s, out, keep, max_keep);
    out->err_text = keep;
    if (got == sizeof why) {
        err_set(e, why == ENOENT || why == EACCES ? RP_UNAVAILABLE : RP_IO, "cannot start %s: %s",
                strrchr(s->path, '/') ? strrchr(s->path, '/') + 1 : s->path, strerror(why));
        err_file(e, s->path);
    } else if (remembered) {
        err_set(e, RP_INTERRUPTED, "interrupted by %s", strsignal(remembered));
    }
out:
    for (int i = 0; i < 2; i++) {
        if (err_pipe[i] >= 0)
            close(err_pipe[i]);
        if (status_pipe[i] >= 0)
            close(status_pipe[i]);
    }
    return e->code;
}
