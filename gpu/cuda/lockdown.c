#include "gpu/cuda/lockdown.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPU_SECONDS = 60, OPEN_FILES = 256 };
static const rlim_t memory_bytes = (rlim_t)8 << 30, file_bytes = (rlim_t)256 << 20;

/* Rights that this system's header may be too old to name, by the version of Landlock that brought them. */
enum { V2_REFER = 13, V3_TRUNCATE = 14, V5_IOCTL_DEV = 15, V4_NET_BITS = 3 };

/* The attribute of version 4; an older kernel takes it as long as what it does not know is 0. */
struct ruleset {
    uint64_t fs, net;
};

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

static uint64_t rights_of(long version)
{
    uint64_t rights = ((uint64_t)1 << V2_REFER) - 1;
    if (version >= 2)
        rights |= (uint64_t)1 << V2_REFER;
    if (version >= 3)
        rights |= (uint64_t)1 << V3_TRUNCATE;
    if (version >= 5)
        rights |= (uint64_t)1 << V5_IOCTL_DEV;
    return rights;
}

static rp_code allow(rp_err *e, int ruleset, const char *folder)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return RP_OK;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = fd,
    };
    long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    if (rc != 0)
        err_errno(e, folder, "add a Landlock rule");
    close(fd);
    return e->code;
}

static rp_code landlock(rp_err *e, bool *on, const char *const *folders)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return RP_OK;
    struct ruleset attr = {.fs = rights_of(version), .net = version >= 4 ? V4_NET_BITS : 0};
    int ruleset =
        (int)syscall(SYS_landlock_create_ruleset, &attr, version >= 4 ? sizeof attr : sizeof attr.fs, 0);
    if (ruleset < 0)
        return err_errno(e, "Landlock", "make a ruleset");
    for (size_t i = 0; folders[i] && !e->code; i++)
        if (allow(e, ruleset, folders[i]))
            break;
    if (!e->code && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        err_errno(e, "Landlock", "restrict this process");
    close(ruleset);
    *on = !e->code;
    return e->code;
}

rp_code lockdown(rp_err *e, bool *landlocked, const char *const *folders)
{
    *landlocked = false;
    if (limit(e, RLIMIT_AS, memory_bytes, "RLIMIT_AS") || limit(e, RLIMIT_CPU, CPU_SECONDS, "RLIMIT_CPU") ||
        limit(e, RLIMIT_FSIZE, file_bytes, "RLIMIT_FSIZE") ||
        limit(e, RLIMIT_NOFILE, OPEN_FILES, "RLIMIT_NOFILE") || limit(e, RLIMIT_CORE, 0, "RLIMIT_CORE"))
        return e->code;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(e, "PR_SET_NO_NEW_PRIVS", "give up new privileges");
    return landlock(e, landlocked, folders);
}
