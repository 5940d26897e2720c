/* How many threads pack shows in the time alone. */
#include "artifacts/store.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <unistd.h>

/* In the place of libc's: as many processors as a test wants, where it wants some. */
static long processors;
static unsigned asked;

long sysconf(int name)
{
    union {
        void *p;
        long (*f)(int);
    } real = {.p = dlsym(RTLD_NEXT, "sysconf")};
    if (name != _SC_NPROCESSORS_ONLN || !processors)
        return real.f(name);
    asked++;
    return processors;
}

static rp_code honest_source(rp_err *e, span *out, scratch *sc, void *ctx, const manifest_file *f)
{
    const t_file *v = ctx;
    (void)e, (void)sc;
    while (strcmp(v->path, f->path))
        v++;
    *out = v->bytes;
    return RP_OK;
}

/* Frames enough for every thread, two rounds of eight and part of a third; what is in them differs. */
Test(pack, alike_by_any_number_of_threads)
{
    static const long counts[] = {1, 2, 3, 5, 8, 64, -1};
    enum { BYTES = 35 << 20 };
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    span text, first = {0};
    uint8_t *p = scratch_alloc(sc, 2 * BYTES);
    for (uint64_t i = 0, x = 1; i < 2 * BYTES; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        p[i] = (uint8_t)(i >> 20 & 1 ? x >> 56 : i >> 12);
    }
    const t_file v[] = {{"capture.json", span_str("{}")},
                        {"evidence/a", span_of(p, BYTES)},
                        {"evidence/b", span_of(p + BYTES, BYTES)},
                        {"kernels/000_cast.cu", span_str("__global__ void k() {}\n")},
                        {"plan/plan.json", span_str("{}")}};
    const manifest *m = t_manifest(sc, "small", v, sizeof v / sizeof *v, &text);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        rp_err e = {0};
        const char *path = file_join(sc, dir, "x.tar.zst");
        asked = 0;
        processors = counts[i];
        cr_assert(!store_pack(&e, path, m, text, honest_source, (void *)(uintptr_t)v), "%s", e.msg);
        processors = 0;
        cr_expect_gt(asked, 0, "the packer asks how many processors there are");
        span packed = t_slurp(sc, path);
        if (!i)
            first = packed;
        cr_expect(t_equal(packed, first), "%ld processors: other bytes than one gives", counts[i]);
    }
    cr_expect_gt(first.n, 0);
    t_remove(dir);
    scratch_free(sc);
}
