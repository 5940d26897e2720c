#include "gpu/emu/sandbox.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPU_SECONDS = 3600 };
static const rlim_t memory_bytes = (rlim_t)16 << 30, file_bytes = (rlim_t)17 << 30;

static rp_code limit(rp_err *e, int what, rlim_t most, const char *name)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)what, &l) != 0)
        return err_errno(e, name, "read a resource limit");
    if (l.rlim_max > most)
        l.rlim_max = most;
    if (l.rlim_cur > l.rlim_max)
        l.rlim_cur = l.rlim_max;
    if (setrlimit((__rlimit_resource_t)what, &l) != 0)
        return err_errno(e, name, "set a resource limit");
    return RP_OK;
}

#if defined __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef NATIVE_ARCH
/* What the C library asks for while it computes, allocates, runs threads and writes an answer. */
static const uint16_t allowed[] = {
    SYS_read,
    SYS_write,
    SYS_lseek,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_clone,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_tgkill,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigaction,
    SYS_sigaltstack,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_sched_yield,
    SYS_getrandom,
    SYS_sched_getaffinity,
    SYS_restart_syscall,
    SYS_sysinfo,
#ifdef __x86_64__
    SYS_time,
#endif
};
/* What no arithmetic asks for. The rest is refused: a C library that asks for something harmless does
 * without. */
static const uint16_t deadly[] = {SYS_execve, SYS_execveat, SYS_socket, SYS_connect,
                                  SYS_ptrace, SYS_unshare,  SYS_mount};
enum { N_ALLOWED = sizeof allowed / sizeof *allowed, N_DEADLY = sizeof deadly / sizeof *deadly, FIXED = 32 };

/* A new thread is the only clone, and no memory is mapped to be executed: the PTX never becomes native code.
 */
static rp_code install(rp_err *e, bool *filtered)
{
    struct sock_filter f[FIXED + 2 * (N_ALLOWED + N_DEADLY)];
    unsigned short n = 0;
#define STMT(c, v) f[n++] = (struct sock_filter)BPF_STMT(c, v)
#define JUMP(c, v, t, o) f[n++] = (struct sock_filter)BPF_JUMP(c, v, t, o)
#define LOAD(field) STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(v) STMT(BPF_RET | BPF_K, v)
    LOAD(arch);
    JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
    ANSWER(SECCOMP_RET_KILL_PROCESS);
    LOAD(nr);
    /* mmap and mprotect with PROT_EXEC. */
    for (int k = 0; k < 2; k++) {
        JUMP(BPF_JMP | BPF_JEQ | BPF_K, k ? SYS_mprotect : SYS_mmap, 0, 4);
        LOAD(args[2]);
        JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1);
        ANSWER(SECCOMP_RET_KILL_PROCESS);
        LOAD(nr);
    }
    /* clone: CLONE_THREAD or not at all; clone3's flags lie in memory, so the C library is told to fall back
     * to clone. */
    JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    ANSWER(SECCOMP_RET_ERRNO | ENOSYS);
    JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    LOAD(args[0]);
    JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10000, 1, 0);
    ANSWER(SECCOMP_RET_KILL_PROCESS);
    LOAD(nr);
    for (size_t i = 0; i < N_DEADLY; i++) {
        JUMP(BPF_JMP | BPF_JEQ | BPF_K, deadly[i], 0, 1);
        ANSWER(SECCOMP_RET_KILL_PROCESS);
    }
    for (size_t i = 0; i < N_ALLOWED; i++) {
        JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        ANSWER(SECCOMP_RET_ALLOW);
    }
    ANSWER(SECCOMP_RET_ERRNO | EACCES);
#undef STMT
#undef JUMP
#undef LOAD
#undef ANSWER
    struct sock_fprog prog = {.len = n, .filter = f};
    long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
    if (rc == 0)
        *filtered = true;
    else if (rc > 0 || (errno != ENOSYS && errno != EINVAL))
        return err_errno(e, "seccomp", "install the filter");
    return RP_OK;
}
#else
static rp_code install(rp_err *e, bool *filtered)
{
    (void)e;
    *filtered = false;
    return RP_OK;
}
#endif

/* A sanitizer reads /proc and maps shadow memory as it goes. */
#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

rp_code sandbox_enter(rp_err *e, bool *filtered)
{
    *filtered = false;
    if ((!SANITIZED && limit(e, RLIMIT_AS, memory_bytes, "RLIMIT_AS")) ||
        limit(e, RLIMIT_CPU, CPU_SECONDS, "RLIMIT_CPU") ||
        limit(e, RLIMIT_FSIZE, file_bytes, "RLIMIT_FSIZE") || limit(e, RLIMIT_CORE, 0, "RLIMIT_CORE"))
        return e->code;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(e, "PR_SET_NO_NEW_PRIVS", "give up new privileges");
    return SANITIZED ? RP_OK : install(e, filtered);
}
