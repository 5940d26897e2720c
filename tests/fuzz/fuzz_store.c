/* Fuzzing the bundle reader: the input is an archive. It is opened, checked, and every file read. What the
 * check accepts, every read must give, and two checks must say the same. Its second turn takes the input as
 * the tar stream. */
#include "artifacts/base/file.h"
#include "artifacts/store.h"
#include "artifacts/zs.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void check_and_read(store *s)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    findings first, again;
    findings_init(&first, sc);
    findings_init(&again, sc);
    must(!store_check(&e, s, &first));
    const manifest *m = store_manifest(s);
    for (size_t i = 0; i < m->n_files; i++) {
        scratch *one = scratch_new(64 << 20);
        span bytes;
        rp_code code = store_read(&e, &bytes, one, s, m->files[i].path);
        must(code == RP_OK || code == RP_INVALID || code == RP_NOMEM);
        must(first.n || code != RP_INVALID);
        if (!code)
            must(bytes.n == m->files[i].bytes && digest_equal(digest_of(bytes), m->files[i].sha256));
        e = (rp_err){0};
        scratch_free(one);
    }
    must(!store_check(&e, s, &again));
    must(first.n == again.n);
    for (size_t i = 0; i < first.n; i++)
        must(first.v[i].id == again.v[i].id && !strcmp(first.v[i].where, again.v[i].where));
    scratch_free(sc);
}

static void run_archive(span archive)
{
    rp_err e = {0};
    store *s;
    char path[64];
    int fd = file_temp(&e);
    must(fd >= 0 && !file_write_fd(&e, fd, "input", archive));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!store_open(&e, &s, path)) {
        check_and_read(s);
        store_free(s);
    } else
        must(e.code == RP_INVALID && e.msg[0]);
    close(fd);
}

/* The input as an archive, and as the stream inside one, where no compression stands before the faults. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    run_archive(span_of(data, n));
    if (!n || n > 1 << 20)
        return 0;
    zs_enc *z = zs_enc_new(1);
    uint8_t *packed = malloc(zs_bound(n));
    must(z && packed && !zs_enc_frame(&e, &n, z, packed, span_of(data, n)));
    run_archive(span_of(packed, n));
    free(packed);
    zs_enc_free(z);
    return 0;
}
