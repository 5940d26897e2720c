/* A child process: fork and exec, its own process group, an explicit environment, only the descriptors it is
 * handed, a deadline, and limits. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include <stdbool.h>

typedef struct {
    int parent_fd; /* stays open in the parent and belongs to the caller */
    int child_fd;  /* the number in the child, 3 or more, below 64 */
} proc_fd;

typedef struct {
    const char *path;        /* the program, absolute or relative; no PATH search */
    const char *const *argv; /* NULL-terminated, argv[0] included */
    const char *const *env;  /* NULL-terminated "K=V" */
    const proc_fd *fds;
    size_t n_fds;
    int stdout_fd;        /* -1: /dev/null */
    uint64_t deadline_ms; /* the whole group is killed after it; 0: none */
    uint64_t max_stderr;  /* bytes kept; the rest is drained and dropped */
    uint64_t limit_memory_bytes, limit_cpu_s, limit_file_bytes; /* 0: as inherited */
} proc_spec;

typedef struct {
    bool timed_out;
    int signal;    /* 0 unless it died of one */
    int exit_code; /* valid when signal is 0 */
    uint64_t wall_ms;
    const char *err_text; /* the child's stderr as kept, lent by the scratch */
    size_t err_bytes;
} proc_end;

/* Run to the end. Starting it failed: RP_UNAVAILABLE (no such program) or RP_IO. While waiting, SIGINT and
 * SIGTERM kill the group and give RP_INTERRUPTED (proc_interrupted() then names the signal). */
RP_MUST rp_code proc_run(rp_err *e, proc_end *out, scratch *sc, const proc_spec *spec);

/* Remember SIGINT, SIGTERM and SIGHUP instead of dying at once; commands that keep partial evidence call it
 * first. */
void proc_catch_signals(void);
/* The signal remembered, or 0. */
int proc_interrupted(void);
/* Restore the default action and die of the signal remembered. */
_Noreturn void proc_die_of_signal(void);
/* Folder of the running executable, lent by sc; NULL when unknown. */
const char *proc_self_dir(scratch *sc);

#endif
