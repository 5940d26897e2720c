/* tests/gpu/emu/faults/faults.cu: one planted fault each, found by its kind, at its line, thread, buffer and
 * offset, and nothing else. */
#include "artifacts/base/file.h"
#include "tests/gpu/emu/emu_rig.h"
#include <criterion/criterion.h>
#include <string.h>

enum { N = 100, T = 64, ANY = -999999 };
static const char folder[] = "tests/gpu/emu/faults";

typedef struct {
    rig_case c;
    emu_find kind;
    const char *buffer; /* NULL: not said */
    int64_t offset_bytes;
    uint32_t block, thread; /* in x, of the first */
} fault;

#define X(kind, type, n, lo, hi)                                                                             \
    {                                                                                                        \
        kind, type, n, lo, hi, UNIFORM                                                                       \
    }
#define V32(v)                                                                                               \
    {                                                                                                        \
        VALUE, DT_I32, 0, v, 0, UNIFORM                                                                      \
    }
#define COUNT V32(N)
#define LAUNCH(name, gx, bx, ...)                                                                            \
    {                                                                                                        \
        .module = "faults", .entry = name, .grid = {gx, 1, 1}, .block = {bx, 1, 1}, .args = { __VA_ARGS__ }  \
    }

static const fault faults[] = {
    {LAUNCH("read_past", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_GUARD, "a",
     4 * N, 1, 35},
    {LAUNCH("write_past", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_GUARD,
     "b", 4 * N, 1, 36},
    {LAUNCH("read_before", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_GUARD,
     "a", -4, 0, 0},
    {LAUNCH("read_far", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_BOUNDS,
     NULL, ANY, 0, 5},
    {LAUNCH("write_far", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_BOUNDS,
     NULL, ANY, 0, 7},
    {LAUNCH("null_read", 1, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT), EMU_FIND_BOUNDS,
     NULL, ANY, 0, 0},
    {LAUNCH("unwritten_global", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT),
     EMU_FIND_UNINITIALISED, "b", 0, 0, 0},
    {LAUNCH("unwritten_shared", 1, 64, X(IN, DT_F32, T, -1, 1), X(OUT, DT_F32, T, 0, 0), COUNT),
     EMU_FIND_UNINITIALISED, NULL, ANY, 0, 23},
    {LAUNCH("unwritten_local", 1, 64, {IN, DT_I32, 9, 0, 0, SORTED}, X(OUT, DT_F32, T, 0, 0), COUNT),
     EMU_FIND_UNINITIALISED, NULL, ANY, 0, 0},
    {LAUNCH("race_one_place", 1, 64, X(IN, DT_F32, T, -1, 1), X(OUT, DT_F32, T, 0, 0), COUNT), EMU_FIND_RACE,
     "b", 0, 0, 1},
    {LAUNCH("race_neighbour", 2, 64, X(BOTH, DT_F32, N, -1, 1), COUNT), EMU_FIND_RACE, "a", ANY, 0, ~0U},
    {LAUNCH("race_blocks", 3, 64, X(IN, DT_F32, T, -1, 1), X(OUT, DT_F32, T, 0, 0), COUNT), EMU_FIND_RACE,
     "b", 0, 1, 0},
    {LAUNCH("race_shared", 1, 128, X(IN, DT_F32, 128, -1, 1), X(OUT, DT_F32, 128, 0, 0), COUNT),
     EMU_FIND_RACE, NULL, ANY, 0, ~0U},
    {LAUNCH("race_tree", 1, 128, X(IN, DT_F32, 128, -1, 1), X(OUT, DT_F32, 128, 0, 0), COUNT), EMU_FIND_RACE,
     NULL, ANY, 0, ~0U},
    {LAUNCH("misaligned_v4", 1, 64, X(IN, DT_F32, 4 * T + 4, -1, 1), X(OUT, DT_F32, 4 * T, 0, 0), V32(T)),
     EMU_FIND_MISALIGNED, "a", 4, 0, 0},
    {LAUNCH("misaligned_u64", 1, 64, X(IN, DT_U8, 8 * T + 8, 0, 255), X(OUT, DT_U64, T, 0, 0), V32(T)),
     EMU_FIND_MISALIGNED, "a", 76, 0, 9},
    {LAUNCH("misaligned_store", 1, 64, X(OUT, DT_U8, 4 * T + 4, 0, 0), V32(T)), EMU_FIND_MISALIGNED, "a", 14,
     0, 3},
    {LAUNCH("write_input", 2, 64, X(IN, DT_F32, N, -1, 1), X(OUT, DT_F32, N, 0, 0), COUNT),
     EMU_FIND_READ_ONLY, "a", 44, 0, 11},
    {LAUNCH("barrier_divergent", 1, 64, X(IN, DT_F32, T, -1, 1), X(OUT, DT_F32, T, 0, 0), COUNT),
     EMU_FIND_BARRIER, NULL, ANY, 0, ~0U},
    {LAUNCH("shuffle_outside", 1, 64, X(IN, DT_I32, T, -9, 9), X(OUT, DT_I32, T, 0, 0), COUNT),
     EMU_FIND_BARRIER, NULL, ANY, 0, ~0U},
    {LAUNCH("runaway_loop", 1, 64, X(IN, DT_I32, T, -9, 9), X(OUT, DT_I32, T, 0, 0), COUNT), EMU_FIND_RUNAWAY,
     NULL, ANY, 0, ~0U},
    {LAUNCH("trapped", 2, 64, X(IN, DT_I32, 128, -9, 9), X(OUT, DT_I32, 128, 0, 0), COUNT), EMU_FIND_TRAP,
     NULL, ANY, 0, 21},
    {LAUNCH("shared_past", 1, 64, X(IN, DT_F32, T, -1, 1), X(OUT, DT_F32, T, 0, 0), V32(3)), EMU_FIND_BOUNDS,
     NULL, ANY, 0, 61},
    {LAUNCH("local_past", 1, 32, {IN, DT_I32, 32, 0, 0, SORTED}, X(OUT, DT_I32, 32, 0, 0), COUNT),
     EMU_FIND_BOUNDS, NULL, ANY, 0, 3},
    {.c = {.module = "faults",
           .entry = "dynamic_small",
           .grid = {1, 1, 1},
           .block = {64, 1, 1},
           .shared_bytes = 4 * 60,
           .args = {X(IN, DT_I32, T, -9, 9), X(OUT, DT_I32, T, 0, 0), COUNT}},
     .kind = EMU_FIND_BOUNDS,
     .offset_bytes = ANY,
     .thread = 60},
    {LAUNCH("atomic_past", 1, 64, {IN, DT_I32, T, 0, 0, SORTED}, X(BOTH, DT_I32, 100, 0, 9), V32(T)),
     EMU_FIND_GUARD, "b", 408, 0, 34},
    {LAUNCH("index_overflow", 4, 256, X(IN, DT_U8, 1000, 0, 255), X(OUT, DT_U8, 32800, 0, 0), V32(1000)),
     EMU_FIND_BOUNDS, NULL, ANY, 3, 52},
    {LAUNCH("constant_past", 1, 32, {IN, DT_I32, 32, 0, 0, SORTED}, X(OUT, DT_I32, 32, 0, 0), V32(6)),
     EMU_FIND_GUARD, "table", 24, 0, 2},
    /* Launches that do not match the entry: of no line. */
    {LAUNCH("bounded", 1, 128, X(IN, DT_I32, N, -9, 9), X(OUT, DT_I32, N, 0, 0), COUNT), EMU_FIND_PARAMETERS,
     NULL, ANY, 0, 0},
    {LAUNCH("bounded", 2, 64, X(IN, DT_I32, N, -9, 9), X(OUT, DT_I32, N, 0, 0)), EMU_FIND_PARAMETERS, NULL,
     ANY, 0, 0},
    {LAUNCH("bounded", 2, 64, X(IN, DT_I32, N, -9, 9), X(OUT, DT_I32, N, 0, 0),
            {VALUE, DT_I64, 0, N, 0, UNIFORM}),
     EMU_FIND_PARAMETERS, NULL, ANY, 0, 0},
    {LAUNCH("bounded", 2, 64, X(IN, DT_I32, N, -9, 9), X(OUT, DT_I32, N, 0, 0), COUNT, COUNT),
     EMU_FIND_PARAMETERS, NULL, ANY, 0, 0},
};

/* The line of `// here` in an entry's source, 0 when it has none. */
static uint64_t line_of(scratch *sc, const char *entry)
{
    rp_err e = {0};
    span s;
    uint64_t line = 1;
    cr_assert_eq(file_read(&e, &s, sc, scratch_printf(sc, "%s/faults.cu", folder), 1 << 20), RP_OK, "%s",
                 e.msg);
    const char *text = scratch_strndup(sc, (const char *)s.p, s.n),
               *from = strstr(text, scratch_printf(sc, " %s(", entry));
    cr_assert(from, "%s", entry);
    const char *here = strstr(from, "// here"), *next = strstr(from, "\n}\n");
    if (!here || (next && here > next))
        return 0;
    for (const char *p = text; p < here; p++)
        line += *p == '\n';
    return line;
}

static void check(const fault *f)
{
    rig_run r;
    char text[600];
    rig_open(&r, folder, &f->c);
    rig_launch(&r, &f->c, 2);
    uint64_t line = line_of(r.sc, f->c.entry);
    cr_expect(r.report.n_findings > 0, "%s: expected %s, found nothing", f->c.entry, emu_find_name(f->kind));
    for (uint64_t i = 0; i < r.report.n_findings; i++) {
        const emu_finding *x = &r.report.findings[i];
        emu_finding_text(x, text, sizeof text);
        cr_expect_eq(x->kind, f->kind, "%s: expected %s, found %s: %s", f->c.entry, emu_find_name(f->kind),
                     emu_find_name(x->kind), text);
        /* Of two unordered accesses, the later one is told: the line marked, or the next. */
        cr_expect(x->line == line || (x->kind == EMU_FIND_RACE && x->line == line + 1),
                  "%s: expected line %llu, found %s", f->c.entry, (unsigned long long)line, text);
    }
    if (r.report.n_findings) {
        const emu_finding *x = &r.report.findings[0];
        emu_finding_text(x, text, sizeof text);
        cr_expect(f->thread == ~0U || (x->ctaid[0] == f->block && x->tid[0] == f->thread),
                  "%s: expected thread %u of block %u, found %s", f->c.entry, f->thread, f->block, text);
        cr_expect(!f->buffer || !strcmp(x->buffer, f->buffer), "%s: expected buffer %s, found %s", f->c.entry,
                  f->buffer, text);
        cr_expect(f->offset_bytes == ANY || x->offset_bytes == f->offset_bytes,
                  "%s: expected offset %lld, found %lld: %s", f->c.entry, (long long)f->offset_bytes,
                  (long long)x->offset_bytes, text);
    }
    rig_close(&r);
}

Test(emu_faults, each_is_found_where_it_is, .timeout = 120)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        check(&faults[i]);
}
