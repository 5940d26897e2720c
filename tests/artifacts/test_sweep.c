#include "artifacts/sweep.h"
#include "artifacts/tar.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <unistd.h>

enum { MAX_ENTRIES = 24 };

/* Files of random sizes, empty ones and ones of many frames among them, behind each other as in a bundle. */
typedef struct {
    scratch *sc;
    sweep_entry v[MAX_ENTRIES];
    size_t n;
    uint8_t *stream;
    uint64_t bytes;
} layout;

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static layout random_layout(uint64_t *x)
{
    layout l = {.sc = scratch_new(0), .n = 1 + next(x) % MAX_ENTRIES};
    static const uint64_t most[] = {1, 3, 600, 5000, 40000};
    for (size_t i = 0; i < l.n; i++) {
        l.v[i] = (sweep_entry){.path = scratch_printf(l.sc, "evidence/%02zu", i),
                               .at = l.bytes,
                               .bytes = next(x) % most[next(x) % 5]};
        l.bytes += tar_entry_bytes(l.v[i].bytes);
    }
    l.bytes += TAR_END_BYTES;
    l.stream = scratch_alloc(l.sc, (size_t)l.bytes);
    for (size_t i = 0; i < l.n; i++) {
        uint8_t *p = l.stream + l.v[i].at;
        tar_header(p, l.v[i].path, l.v[i].bytes);
        for (uint64_t k = 0; k < l.v[i].bytes; k++)
            p[TAR_BLOCK + k] = (uint8_t)(next(x) & 15);
        l.v[i].sha256 = digest_of(span_of(p + TAR_BLOCK, (size_t)l.v[i].bytes));
    }
    return l;
}

static bool swept(const layout *l, size_t frame_bytes, uint64_t claimed_bytes)
{
    rp_err e = {0};
    frames *f;
    span archive = t_frames(l->sc, span_of(l->stream, (size_t)l->bytes), frame_bytes);
    int fd = file_temp(&e);
    cr_assert(fd >= 0 && !file_write_fd(&e, fd, "archive", archive));
    cr_assert(!frames_open(&e, &f, fd, "archive", archive.n), "%s", e.msg);
    bool ok = sweep_is_sound(f, l->v, l->n, claimed_bytes);
    frames_free(f);
    close(fd);
    return ok;
}

/* Every cut gives the same yes, and every changed byte a no. */
Test(sweep, random_layouts)
{
    uint64_t x = 88172645463325252u;
    for (int turn = 0; turn < 60; turn++) {
        layout l = random_layout(&x);
        size_t cut = 1 + next(&x) % (l.bytes / 2);
        cut = cut < l.bytes / 200 ? (size_t)l.bytes / 200 : cut;
        cr_expect(swept(&l, cut, l.bytes), "turn %d, frames of %zu", turn, cut);
        cr_expect(swept(&l, 1 << 20, l.bytes), "turn %d, one frame", turn);
        cr_expect(!swept(&l, cut, l.bytes + 512), "turn %d: another length", turn);
        for (int k = 0; k < 4; k++) {
            size_t at = next(&x) % l.bytes;
            uint8_t mask = (uint8_t)(1u << next(&x) % 8);
            l.stream[at] ^= mask;
            cr_expect(!swept(&l, k % 2 ? cut : 1 << 20, l.bytes), "turn %d, byte %zu", turn, at);
            l.stream[at] ^= mask;
        }
        scratch_free(l.sc);
    }
}
