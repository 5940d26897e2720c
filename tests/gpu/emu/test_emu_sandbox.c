/* After sandbox_enter: arithmetic, memory, threads and open descriptors still work; a file, a socket, a
 * program, executable memory end the process. */
#include "gpu/emu/sandbox.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_FILTER = 77, FINE = 0, LIVED = 1 };

static void *thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static void use_what_is_left(int fd)
{
    pthread_t id;
    int ran = 0;
    char *p = malloc(64 << 20);
    p[1 << 20] = 1;
    if (pthread_create(&id, NULL, thread, &ran) || pthread_join(id, NULL) || !ran ||
        write(fd, p + (1 << 20), 1) != 1)
        _exit(LIVED);
    free(p);
    _exit(FINE);
}

static void open_file(int fd)
{
    (void)fd;
    _exit(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES && open("/dev/null", O_WRONLY) < 0 ? FINE
                                                                                                  : LIVED);
}

static void open_socket(int fd)
{
    (void)fd;
    (void)!socket(AF_INET, SOCK_STREAM, 0);
}

static void run_program(int fd)
{
    (void)fd;
    (void)!execl("/bin/true", "true", (char *)NULL);
}

static void start_process(int fd)
{
    (void)fd;
    if (!fork())
        _exit(LIVED);
}

static void map_code(int fd)
{
    (void)fd;
    (void)!mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The status of a child that enters and then does this. */
static int status_of(void (*act)(int))
{
    int fds[2], status;
    cr_assert_eq(pipe(fds), 0);
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (!pid) {
        rp_err e = {0};
        bool filtered;
        if (sandbox_enter(&e, &filtered))
            _exit(LIVED + 1);
        if (!filtered)
            _exit(NO_FILTER);
        act(fds[1]);
        _exit(LIVED);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    close(fds[0]);
    close(fds[1]);
    return status;
}

Test(emu_sandbox, what_is_refused_and_what_is_not)
{
    static void (*const refused[])(int) = {open_socket, run_program, start_process, map_code};
    int status = status_of(use_what_is_left);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
        cr_skip_test("no seccomp filter here");
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == FINE, "status %x", (unsigned)status);
    status = status_of(open_file);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == FINE, "status %x", (unsigned)status);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        status = status_of(refused[i]);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "action %zu: status %x", i,
                  (unsigned)status);
    }
}
