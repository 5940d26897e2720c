#include "artifacts/base/proc.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    scratch *sc;
    rp_err e;
    proc_end end;
    int out; /* the child's stdout */
} child;

/* Run with stdout to a file; spec's path, argv and so on as given. */
static rp_code run(child *c, proc_spec spec)
{
    static const char *const none[] = {NULL};
    *c = (child){.sc = scratch_new(0)};
    c->out = file_temp(&c->e);
    cr_assert_geq(c->out, 0);
    spec.stdout_fd = c->out;
    if (!spec.env)
        spec.env = none;
    return proc_run(&c->e, &c->end, c->sc, &spec);
}

static rp_code run_sh(child *c, const char *script, proc_spec spec)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    spec.path = "/bin/sh";
    spec.argv = argv;
    return run(c, spec);
}

static const char *output(child *c)
{
    span s = {0};
    cr_assert_eq(file_read_fd(&c->e, &s, c->sc, c->out, "stdout", 1 << 20), RP_OK);
    return scratch_strndup(c->sc, (const char *)s.p, s.n);
}

static void stop(child *c)
{
    close(c->out);
    scratch_free(c->sc);
}

Test(proc, exit_code_and_output)
{
    child c;
    cr_assert_eq(run_sh(&c, "echo out; echo err >&2; exit 7", (proc_spec){.max_stderr = 100}), RP_OK, "%s",
                 c.e.msg);
    cr_expect(c.end.exit_code == 7 && c.end.signal == 0 && !c.end.timed_out);
    cr_expect_str_eq(output(&c), "out\n");
    cr_expect_str_eq(c.end.err_text, "err\n");
    cr_expect_eq(c.end.err_bytes, 4);
    stop(&c);
}

Test(proc, death_by_signal)
{
    child c;
    cr_assert_eq(run_sh(&c, "kill -SEGV $$", (proc_spec){0}), RP_OK);
    cr_expect_eq(c.end.signal, SIGSEGV);
    cr_expect_not(c.end.timed_out);
    stop(&c);
}

Test(proc, program_that_is_not_there)
{
    child c;
    const char *const argv[] = {"x", NULL};
    cr_expect_eq(run(&c, (proc_spec){.path = "/nonexistent/program", .argv = argv}), RP_UNAVAILABLE);
    cr_expect_str_eq(c.e.file, "/nonexistent/program");
    cr_expect(strstr(c.e.msg, "No such file"), "%s", c.e.msg);
    stop(&c);
    cr_expect_eq(run(&c, (proc_spec){.path = "/etc/passwd", .argv = argv}), RP_UNAVAILABLE);
    stop(&c);
    /* No PATH is searched. */
    cr_expect_eq(run(&c, (proc_spec){.path = "sh", .argv = argv}), RP_UNAVAILABLE);
    stop(&c);
}

Test(proc, program_that_is_none)
{
    child c;
    scratch *sc = scratch_new(0);
    const char *const argv[] = {"x", NULL};
    const char *dir = t_dir(sc), *path = t_write(sc, dir, "text",
                                                 span_str("\x7f"
                                                          "ELF?"));
    cr_assert_eq(t_shell(dir, "chmod +x text"), 0);
    cr_expect_eq(run(&c, (proc_spec){.path = path, .argv = argv}), RP_IO);
    cr_expect(strstr(c.e.msg, "cannot start"), "%s", c.e.msg);
    stop(&c);
    t_remove(dir);
    scratch_free(sc);
}

/* Gone, or dead and waiting for an init that may be slow to reap it. */
static bool gone(pid_t pid)
{
    char path[64], state = 'Z', line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 500; i++) {
        FILE *f = fopen(path, "re");
        if (!f)
            return true;
        const char *paren = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
        if (paren)
            state = paren[2];
        if (state == 'Z' || state == 'X')
            return true;
        usleep(10000);
    }
    return false;
}

Test(proc, deadline_kills_the_whole_group)
{
    child c;
    cr_assert_eq(run_sh(&c, "sleep 1000 & echo $! >&2; trap '' TERM INT HUP; sleep 1000; sleep 1000",
                        (proc_spec){.max_stderr = 100, .deadline_ms = 300}),
                 RP_OK);
    cr_expect(c.end.timed_out && c.end.signal == SIGKILL);
    cr_expect_geq(c.end.wall_ms, 300);
    int pid = (int)strtol(c.end.err_text, NULL, 10);
    cr_assert_gt(pid, 1);
    cr_expect(gone(pid), "the grandchild %d lives on", pid);
    stop(&c);
}

/* Nothing that the child leaves behind outlives it, nor does its open stderr hold us up. */
Test(proc, what_it_leaves_in_its_group_is_killed)
{
    child c;
    cr_assert_eq(run_sh(&c, "sleep 1000 & echo $! >&2; exit 3", (proc_spec){.max_stderr = 100}), RP_OK);
    cr_expect(c.end.exit_code == 3 && !c.end.timed_out);
    int pid = (int)strtol(c.end.err_text, NULL, 10);
    cr_assert_gt(pid, 1);
    cr_expect(gone(pid), "the grandchild %d lives on", pid);
    stop(&c);
}

/* More than a pipe holds is drained, and what is kept is its beginning. */
Test(proc, stderr_is_capped)
{
    child c;
    cr_assert_eq(run_sh(&c,
                        "i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789 >&2; "
                        "i=$((i+1)); done; exit 4",
                        (proc_spec){.max_stderr = 50, .deadline_ms = 60000}),
                 RP_OK);
    cr_expect_eq(c.end.exit_code, 4);
    cr_expect_eq(c.end.err_bytes, 50);
    cr_expect_eq(strlen(c.end.err_text), 50);
    cr_expect(!strncmp(c.end.err_text, "0123456789", 10));
    stop(&c);
    cr_assert_eq(run_sh(&c, "echo lost >&2", (proc_spec){0}), RP_OK);
    cr_expect(c.end.err_bytes == 0 && !strcmp(c.end.err_text, ""));
    stop(&c);
}

/* ls itself opens the folder, at the lowest free number: 3. */
Test(proc, only_the_descriptors_handed_over)
{
    child c;
    const char *const argv[] = {"ls", "-1v", "/proc/self/fd", NULL};
    /* Open ones without close-on-exec, low and high, must not leak. */
    int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 100), higher = fcntl(low, F_DUPFD, 300);
    cr_assert(low >= 0 && high >= 100 && higher >= 300);
    const proc_fd fds[] = {{low, 5}, {high, 9}, {higher, 63}};
    cr_assert_eq(
        run(&c, (proc_spec){.path = "/bin/ls", .argv = argv, .fds = fds, .n_fds = 3, .max_stderr = 200}),
        RP_OK, "%s", c.e.msg);
    cr_expect_eq(c.end.exit_code, 0, "%s", c.end.err_text);
    cr_expect_str_eq(output(&c), "0\n1\n2\n3\n5\n9\n63\n");
    cr_expect(fcntl(low, F_GETFD) >= 0 && fcntl(high, F_GETFD) >= 0, "they stay open in the parent");
    stop(&c);
    close(low);
    close(high);
    close(higher);
}

/* Targets that are sources of others: each arrives as it was. */
Test(proc, descriptors_trade_places)
{
    child c;
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    int fd[3];
    for (int i = 0; i < 3; i++) {
        char text[2] = {(char)('a' + i), 0};
        fd[i] = file_temp(&e);
        cr_assert_eq(file_write_fd(&e, fd[i], "temp", span_str(text)), RP_OK);
        cr_assert_eq(lseek(fd[i], 0, SEEK_SET), 0);
        cr_assert(fd[i] >= 3 && fd[i] < 60);
    }
    const proc_fd fds[] = {{fd[0], fd[1]}, {fd[1], fd[2]}, {fd[2], fd[0]}, {fd[0], 61}};
    const char *script =
        scratch_printf(sc, "cat /proc/self/fd/%d /proc/self/fd/%d /proc/self/fd/%d", fd[1], fd[2], fd[0]);
    cr_assert_eq(run_sh(&c, script, (proc_spec){.fds = fds, .n_fds = 4, .max_stderr = 200}), RP_OK);
    cr_expect_str_eq(output(&c), "abc", "%s", c.end.err_text);
    stop(&c);
    scratch_free(sc);
}

Test(proc, descriptors_out_of_range_are_a_bug)
{
    static const int bad[] = {-1, 0, 2, 64, 1000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        child c;
        const proc_fd fd = {1, bad[i]};
        cr_expect_eq(run_sh(&c, "exit 0", (proc_spec){.fds = &fd, .n_fds = 1}), RP_BUG, "%d", bad[i]);
        stop(&c);
    }
}

Test(proc, environment_is_exact)
{
    child c;
    const char *const argv[] = {"env", NULL}, *const env[] = {"A=1", "B=two words", NULL},
                      *const none[] = {NULL};
    setenv("LD_PRELOAD_LIKE", "x", 1);
    cr_assert_eq(run(&c, (proc_spec){.path = "/usr/bin/env", .argv = argv, .env = env}), RP_OK);
    cr_expect_str_eq(output(&c), "A=1\nB=two words\n");
    stop(&c);
    cr_assert_eq(run(&c, (proc_spec){.path = "/usr/bin/env", .argv = argv, .env = none}), RP_OK);
    cr_expect_str_eq(output(&c), "");
    stop(&c);
}

Test(proc, stdin_is_empty_and_stdout_may_be_nowhere)
{
    child c = {.sc = scratch_new(0)};
    const char *const argv[] = {"sh", "-c", "cat; echo gone; echo kept >&2", NULL}, *const none[] = {NULL};
    proc_spec s = {.path = "/bin/sh", .argv = argv, .env = none, .stdout_fd = -1, .max_stderr = 10};
    cr_assert_eq(proc_run(&c.e, &c.end, c.sc, &s), RP_OK);
    cr_expect_eq(c.end.exit_code, 0);
    cr_expect_str_eq(c.end.err_text, "kept\n");
    scratch_free(c.sc);
}

/* A group and signals of its own: what the parent ignores is not ignored there, save what exec keeps. */
Test(proc, its_own_group)
{
    child c;
    const char *const argv[] = {"sh", "-c", "read a b c d e f </proc/$$/stat; echo $$ $e", NULL};
    cr_assert_eq(run(&c, (proc_spec){.path = "/bin/sh", .argv = argv}), RP_OK);
    int pid = 0, group = 0;
    cr_assert_eq(sscanf(output(&c), "%d %d", &pid, &group), 2);
    cr_expect(pid == group && group != getpgrp(), "%d in %d", pid, group);
    stop(&c);
}

/* With SIGCHLD ignored the kernel reaps children itself; the end must be seen all the same. */
Test(proc, ignored_sigchld, .timeout = 20)
{
    child c;
    signal(SIGCHLD, SIG_IGN);
    cr_assert_eq(run_sh(&c, "exit 9", (proc_spec){0}), RP_OK);
    cr_expect_eq(c.end.exit_code, 9);
    stop(&c);
}

Test(proc, limits)
{
    child c;
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    const char *script = scratch_printf(
        sc, "ulimit -v; ulimit -t; ulimit -f; ulimit -c; head -c 20000 /dev/zero >%s/big", dir);
    cr_assert_eq(run_sh(&c, script,
                        (proc_spec){.limit_memory_bytes = UINT64_C(1) << 33,
                                    .limit_cpu_s = 50,
                                    .limit_file_bytes = 10240,
                                    .max_stderr = 200}),
                 RP_OK);
    cr_expect_str_eq(output(&c), "8388608\n50\n20\n0\n");
    cr_expect(c.end.exit_code != 0 || c.end.signal != 0, "a file beyond the limit was written");
    stop(&c);
    t_remove(dir);
    scratch_free(sc);
}

Test(proc, interrupted)
{
    child c;
    proc_catch_signals();
    cr_expect_eq(proc_interrupted(), 0);
    cr_expect_eq(run_sh(&c, "kill -INT $PPID; sleep 1000", (proc_spec){0}), RP_INTERRUPTED);
    cr_expect_eq(proc_interrupted(), SIGINT);
    cr_expect(c.end.signal == SIGKILL && !c.end.timed_out);
    stop(&c);
}

Test(proc, dies_of_the_signal_remembered, .signal = SIGTERM)
{
    proc_catch_signals();
    raise(SIGTERM);
    cr_assert_eq(proc_interrupted(), SIGTERM);
    proc_die_of_signal();
}

Test(proc, starved)
{
    scratch *little = scratch_new(64);
    rp_err e = {0};
    proc_end end;
    const char *const argv[] = {"sh", NULL}, *const none[] = {NULL};
    proc_spec s = {.path = "/bin/sh", .argv = argv, .env = none, .stdout_fd = -1, .max_stderr = 4096};
    cr_expect_eq(proc_run(&e, &end, little, &s), RP_NOMEM);
    scratch_free(little);
}

Test(proc, own_folder)
{
    scratch *sc = scratch_new(0);
    const char *dir = proc_self_dir(sc);
    cr_assert_not_null(dir);
    cr_expect(*dir == '/' && file_is_dir(dir), "%s", dir);
    scratch_free(sc);
}
