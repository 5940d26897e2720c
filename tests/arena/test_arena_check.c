/* Mirrors arena/check.c; plan/check.c's tests have the shorter name. */
#include "arena/check.h"
#include "tests/support.h"
#include <criterion/criterion.h>

static const char file[] = "plan/arena.json";

typedef struct {
    scratch *sc;
    plan *p;
    plan_reach reach;
    arena_layout l; /* as recorded, bound */
    arena_layout built;
} arena;

static arena start(void)
{
    arena a = {.sc = scratch_new(0)};
    rp_err e = {0};
    findings fs;
    static const char dir[] = "artifacts/workloads/weight_view.small/plan/";
    const char *plan_path = scratch_printf(a.sc, "%splan.json", dir),
               *arena_path = scratch_printf(a.sc, "%sarena.json", dir);
    findings_init(&fs, a.sc);
    cr_assert(!plan_read(&e, &a.p, a.sc, "p", t_slurp(a.sc, plan_path)) &&
              !plan_reach_build(&e, &a.reach, a.sc, a.p, "p"));
    cr_assert(!arena_requests(&e, &a.built, a.sc, a.p) && !arena_pack(&e, &a.built, a.sc));
    cr_assert(!arena_read(&e, &a.l, a.sc, "a", t_slurp(a.sc, arena_path)) &&
              !arena_bind(&e, &fs, &a.l, &a.built, "a") && !fs.n);
    return a;
}

static arena_counts validate(arena *a, findings *fs)
{
    rp_err e = {0};
    arena_counts c;
    findings_init(fs, a->sc);
    cr_assert_eq(arena_validate(&e, fs, &c, &a->l, a->p, &a->reach, file), RP_OK);
    return c;
}

/* Exactly this one. */
static void only(arena *a, const findings *fs, finding_id id, const char *where)
{
    cr_expect(fs->n == 1 && t_found(fs, id, file, where), "expected %s at %s, found %s", finding_name(id),
              where, t_list(a->sc, fs));
}

enum { PARAMETERS, P32, WORKSPACE, P16 };

Test(arena_check, the_recorded_one)
{
    arena a = start();
    findings fs;
    arena_counts c = validate(&a, &fs);
    cr_expect_eq(fs.n, 0, "%s", t_list(a.sc, &fs));
    cr_expect(c.pairs == 6 && c.reused == 1, "p16 takes over the workspace's bytes");
    arena_compare(&fs, &a.built, &a.l, file);
    cr_expect_eq(fs.n, 0, "%s", t_list(a.sc, &fs));
    scratch_free(a.sc);
}

Test(arena_check, overlap)
{
    arena a = start();
    findings fs;
    a.l.ranges[WORKSPACE].offset_bytes = 3840; /* the last 256 bytes of p32, which lives then */
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_OVERLAP, "/ranges/2");
    /* Neighbours do not overlap; reserved bytes that no tensor uses do. */
    a.l.ranges[WORKSPACE].offset_bytes = 4096;
    a.l.ranges[PARAMETERS].bytes = 8;
    a.l.ranges[P32].offset_bytes = 0;
    a.l.ranges[PARAMETERS].offset_bytes = 3840;
    validate(&a, &fs);
    cr_expect(fs.n == 0, "%s", t_list(a.sc, &fs));
    a.l.ranges[PARAMETERS].offset_bytes = 3584;
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_OVERLAP, "/ranges/1");
    scratch_free(a.sc);
}

Test(arena_check, life_decides_overlap)
{
    arena a = start();
    findings fs;
    a.l.ranges[P16].first_step = 2; /* hoisted before the matmul: now it lives with the workspace */
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_OVERLAP, "/ranges/3");
    scratch_free(a.sc);
}

Test(arena_check, bounds)
{
    static const struct {
        int range;
        uint64_t offset;
    } cases[] = {{WORKSPACE, 33558528 - 33554432 + 256},
                 {WORKSPACE, 33558528},
                 {PARAMETERS, 33558528},
                 {P16, UINT64_MAX - 255},
                 {P16, UINT64_MAX / 256 * 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = start();
        findings fs;
        a.l.ranges[cases[i].range].offset_bytes = cases[i].offset;
        arena_counts c = validate(&a, &fs);
        only(&a, &fs, FIND_ARENA_BOUNDS, scratch_printf(a.sc, "/ranges/%d", cases[i].range));
        cr_expect_eq(c.pairs, 0, "no sum is formed of what lies outside");
        scratch_free(a.sc);
    }
    arena a = start();
    findings fs;
    a.l.slab_bytes--;
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_BOUNDS, "/ranges/2");
    scratch_free(a.sc);
}

Test(arena_check, alignment)
{
    arena a = start();
    findings fs;
    a.l.slab_bytes += 256;
    a.l.ranges[WORKSPACE].offset_bytes += 128;
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_ALIGNMENT, "/ranges/2");
    scratch_free(a.sc);
}

/* p16 takes over the workspace's bytes: node 2 must be ordered before node 4, which writes p16. */
Test(arena_check, reuse_unordered)
{
    arena a = start();
    findings fs;
    rp_err e = {0};
    /* Take away 2 -> 4 and give 4 another way to be last: nothing orders the cast after the matmul. */
    for (uint64_t i = 0; i < a.p->n_edges; i++)
        if (a.p->edges[i].from == 2 && a.p->edges[i].to == 4)
            a.p->edges[i].to = 5;
    cr_assert_eq(plan_reach_build(&e, &a.reach, a.sc, a.p, "p"), RP_OK);
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_REUSE, "/ranges/3");
    /* An edge of port "reuse" says it again. */
    for (uint64_t i = 0; i < a.p->n_edges; i++)
        if (a.p->edges[i].from == 2 && a.p->edges[i].to == 5)
            a.p->edges[i].to = 4;
    cr_assert_eq(plan_reach_build(&e, &a.reach, a.sc, a.p, "p"), RP_OK);
    validate(&a, &fs);
    cr_expect_eq(fs.n, 0);
    scratch_free(a.sc);
}

/* The place is that of the later request, also where it lives earlier. */
Test(arena_check, reuse_in_either_order)
{
    arena a = start();
    findings fs;
    rp_err e = {0};
    arena_range swap = a.l.ranges[WORKSPACE];
    a.l.ranges[WORKSPACE] = a.l.ranges[P16];
    a.l.ranges[P16] = swap;
    arena_counts c = validate(&a, &fs);
    cr_expect(fs.n == 0 && c.reused == 1);
    for (uint64_t i = 0; i < a.p->n_edges; i++)
        if (a.p->edges[i].from == 2)
            a.p->edges[i].from = 1;
    cr_assert_eq(plan_reach_build(&e, &a.reach, a.sc, a.p, "p"), RP_OK);
    validate(&a, &fs);
    only(&a, &fs, FIND_ARENA_REUSE, "/ranges/3");
    scratch_free(a.sc);
}

Test(arena_check, comparison)
{
    static const struct {
        size_t member; /* of a range, or of the layout */
        const char *where;
        finding_id id;
    } fields[] = {
        {offsetof(arena_range, first_step), "/ranges/1/first_step", FIND_ARENA_OFFSET},
        {offsetof(arena_range, end_step), "/ranges/1/end_step", FIND_ARENA_OFFSET},
        {offsetof(arena_range, offset_bytes), "/ranges/1/offset_bytes", FIND_ARENA_OFFSET},
        {offsetof(arena_range, bytes), "/ranges/1/bytes", FIND_ARENA_OFFSET},
    };
    arena a = start();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        findings fs;
        findings_init(&fs, a.sc);
        uint64_t *field = (uint64_t *)(void *)((char *)&a.l.ranges[P32] + fields[i].member);
        ++*field;
        arena_compare(&fs, &a.built, &a.l, file);
        only(&a, &fs, fields[i].id, fields[i].where);
        cr_expect_str_eq(fs.v[0].actual, scratch_printf(a.sc, "%llu", (unsigned long long)*field));
        cr_expect_str_eq(fs.v[0].expected, scratch_printf(a.sc, "%llu", (unsigned long long)*field - 1));
        --*field;
    }
    findings fs;
    findings_init(&fs, a.sc);
    a.l.slab_bytes += 256;
    arena_compare(&fs, &a.built, &a.l, file);
    only(&a, &fs, FIND_ARENA_PEAK, "/slab_bytes");
    a.l.slab_bytes -= 256;
    findings_init(&fs, a.sc);
    a.l.peak_live_bytes -= 256;
    arena_compare(&fs, &a.built, &a.l, file);
    only(&a, &fs, FIND_ARENA_PEAK, "/peak_live_bytes");
    a.l.peak_live_bytes += 256;
    findings_init(&fs, a.sc);
    a.l.ranges[P32].name = "p33";
    arena_compare(&fs, &a.built, &a.l, file);
    only(&a, &fs, FIND_ARENA_OFFSET, "/ranges/1");
    a.l.ranges[P32].name = "p32";
    findings_init(&fs, a.sc);
    a.l.n = 3;
    arena_compare(&fs, &a.built, &a.l, file);
    only(&a, &fs, FIND_ARENA_OFFSET, "/ranges");
    scratch_free(a.sc);
}
