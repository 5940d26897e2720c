#include "replay/text_file.h"
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "artifacts/zs.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { IN_BYTES = 1 << 16, OUT_BYTES = 1 << 18 };

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static rp_code unzstd_all(rp_err *e, zs_dec *z, int in, int out, const char *path, uint64_t max_bytes,
                          uint8_t *buf)
{
    span have = span_of(buf, 0);
    uint64_t total = 0;
    bool end = false, begun = false;
    for (;;) {
        size_t got = 0, taken = 0;
        if (!have.n) {
            ssize_t n = read(in, buf, IN_BYTES);
            if (n < 0)
                return err_errno(e, path, "read");
            if (!n)
                break;
            have = span_of(buf, (size_t)n);
        }
        if (!begun)
            zs_dec_begin(z);
        begun = true;
        const char *wrong = zs_dec_step(z, buf + IN_BYTES, OUT_BYTES, &got, have, &taken, &end);
        if (wrong) {
            err_set(e, RP_IO, "%s", wrong);
            return err_file(e, path);
        }
        have = span_of(have.p + taken, have.n - taken);
        if (got && (total += got) <= max_bytes && file_write_fd(e, out, path, span_of(buf + IN_BYTES, got)))
            return e->code;
        if (total > max_bytes) {
            err_set(e, RP_IO, "expands to more than %llu bytes", (unsigned long long)max_bytes);
            return err_file(e, path);
        }
        begun = !end;
    }
    if (begun) {
        err_set(e, RP_IO, "the zstd stream ends early");
        return err_file(e, path);
    }
    return RP_OK;
}

static rp_code unzstd(rp_err *e, int out, const char *path, uint64_t max_bytes)
{
    int in = open(path, O_RDONLY | O_CLOEXEC);
    zs_dec *z = zs_dec_new();
    uint8_t *buf = malloc(IN_BYTES + OUT_BYTES);
    if (in < 0)
        err_errno(e, path, "open");
    else if (!z || !buf)
        err_nomem(e);
    else
        (void)!unzstd_all(e, z, in, out, path, max_bytes, buf);
    free(buf);
    zs_dec_free(z);
    if (in >= 0)
        close(in);
    return e->code;
}

static rp_code unxz(rp_err *e, scratch *sc, int out, const char *path, uint64_t max_bytes)
{
    static const char *const places[] = {"/usr/bin/xz", "/bin/xz", "/usr/local/bin/xz", NULL};
    const char *argv[] = {"xz", "-dc", "--", path, NULL};
    const char *env[] = {NULL};
    proc_end end;
    int i = 0;
    while (places[i] && access(places[i], X_OK))
        i++;
    if (!places[i]) {
        err_set(e, RP_UNAVAILABLE, "the program xz is not there; decompress the file first, or use zstd");
        return err_file(e, path);
    }
    proc_spec spec = {.path = places[i],
                      .argv = argv,
                      .env = env,
                      .stdout_fd = out,
                      .deadline_ms = 600000,
                      .max_stderr = 300,
                      .limit_file_bytes = max_bytes};
    if (proc_run(e, &end, sc, &spec))
        return e->code;
    if (end.timed_out || end.signal || end.exit_code) {
        err_set(e, RP_IO, "xz could not expand it: %.200s",
                end.err_bytes ? end.err_text : "it did not end well");
        return err_file(e, path);
    }
    return RP_OK;
}

int text_file_open(rp_err *e, scratch *sc, const char *path, uint64_t max_bytes)
{
    bool zst = ends_in(path, ".zst"), xz = ends_in(path, ".xz");
    int fd;
    if (!zst && !xz) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            err_errno(e, path, "open");
        return fd;
    }
    if (access(path, R_OK)) {
        err_errno(e, path, "open");
        return -1;
    }
    fd = file_temp(e);
    if (fd < 0)
        return -1;
    if (zst ? unzstd(e, fd, path, max_bytes) : unxz(e, sc, fd, path, max_bytes)) {
        close(fd);
        return -1;
    }
    if (lseek(fd, 0, SEEK_SET)) {
        err_errno(e, path, "rewind");
        close(fd);
        return -1;
    }
    return fd;
}

rp_code text_file_read(rp_err *e, span *out, scratch *sc, const char *path, uint64_t max_bytes)
{
    int fd = text_file_open(e, sc, path, max_bytes);
    if (fd < 0)
        return e->code;
    (void)!file_read_fd(e, out, sc, fd, path, max_bytes);
    close(fd);
    return e->code;
}
