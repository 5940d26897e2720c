#include "arena/layout.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/limits.h"
#include "plan/resolve.h"
#include "tests/support.h"
#include <criterion/criterion.h>

enum { MIB4 = 4194304 };

/* --- The facts' table. --- */

typedef struct {
    const char *name;
    uint64_t first, end, offset, bytes;
} row;

static void expect_rows(const arena_layout *l, const row *want, uint64_t n)
{
    cr_assert_eq(l->n, n);
    for (uint64_t i = 0; i < n; i++) {
        const arena_range *r = &l->ranges[i];
        cr_expect_str_eq(r->name, want[i].name);
        cr_expect(r->first_step == want[i].first && r->end_step == want[i].end &&
                      r->offset_bytes == want[i].offset && r->bytes == want[i].bytes,
                  "%s: steps [%d, %d) at %d, %d bytes", r->name, (int)r->first_step, (int)r->end_step,
                  (int)r->offset_bytes, (int)r->bytes);
        cr_expect(r->reserved_bytes >= r->bytes && r->reserved_bytes % ARENA_ALIGN == 0 &&
                  r->reserved_bytes < r->bytes + ARENA_ALIGN);
    }
}

static plan *read_plan(scratch *sc, const char *name)
{
    rp_err e = {0};
    plan *p = NULL;
    const char *path = scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", name);
    cr_assert(!plan_read(&e, &p, sc, path, t_slurp(sc, path)), "%s: %s", e.where, e.msg);
    return p;
}

static arena_layout pack_plan(scratch *sc, const plan *p)
{
    rp_err e = {0};
    arena_layout l = {0};
    cr_assert(!arena_requests(&e, &l, sc, p) && !arena_pack(&e, &l, sc), "%s", e.msg);
    return l;
}

static const row weight_view[] = {{"parameters", 0, 9, 0, 8},
                                  {"p32", 1, 6, 256, MIB4},
                                  {"workspace@2", 2, 3, 4194560, 33554432},
                                  {"p16", 3, 8, 4194560, 2097152}};

Test(layout, weight_view)
{
    scratch *sc = scratch_new(0);
    const plan *p = read_plan(sc, "weight_view");
    arena_layout l = pack_plan(sc, p);
    expect_rows(&l, weight_view, 4);
    cr_expect(l.slab_bytes == 37748992 && l.peak_live_bytes == 37748992);
    cr_expect_eq(l.ranges[0].kind, RANGE_PARAMETERS);
    cr_expect(arena_of_buffer(&l, 4) == &l.ranges[1] && arena_of_workspace(&l, 2) == &l.ranges[2]);
    cr_expect(!arena_of_buffer(&l, 0) && !arena_of_workspace(&l, 4),
              "x is external, the cast has no workspace");
    scratch_free(sc);
}

/* What was recorded is what is rebuilt. */
Test(layout, the_recorded_ones)
{
    static const char *const names[] = {"weight_view", "weight_view.small"};
    scratch *sc = scratch_new(0);
    for (int i = 0; i < 2; i++) {
        arena_layout built = pack_plan(sc, read_plan(sc, names[i])), read;
        rp_err e = {0};
        findings fs;
        const char *path = scratch_printf(sc, "artifacts/workloads/%s/plan/arena.json", names[i]);
        findings_init(&fs, sc);
        cr_assert(!arena_read(&e, &read, sc, path, t_slurp(sc, path)), "%s: %s", e.where, e.msg);
        cr_assert(!arena_bind(&e, &fs, &read, &built, path) && fs.n == 0, "%s", t_list(sc, &fs));
        cr_assert_eq(read.n, built.n);
        for (uint64_t k = 0; k < read.n; k++) {
            const arena_range *a = &read.ranges[k], *b = &built.ranges[k];
            cr_expect(a->kind == b->kind && a->buffer == b->buffer && a->node == b->node &&
                          !strcmp(a->name, b->name) && a->first_step == b->first_step &&
                          a->end_step == b->end_step && a->offset_bytes == b->offset_bytes &&
                          a->bytes == b->bytes && a->reserved_bytes == b->reserved_bytes,
                      "%s", a->name);
        }
        cr_expect(read.slab_bytes == built.slab_bytes && read.peak_live_bytes == built.peak_live_bytes);
    }
    scratch_free(sc);
}

/* --- Packing by hand. --- */

typedef struct {
    arena_layout l;
    arena_range ranges[400];
} stack;

static void ask(stack *s, uint64_t bytes, uint64_t first, uint64_t end)
{
    arena_range *r = &s->ranges[s->l.n++];
    s->l.ranges = s->ranges;
    *r = (arena_range){.kind = RANGE_BUFFER,
                       .name = "r",
                       .buffer = s->l.n - 1,
                       .first_step = first,
                       .end_step = end,
                       .bytes = bytes};
    cr_assert(ck_align_u64(bytes ? bytes : 1, ARENA_ALIGN, &r->reserved_bytes));
}

static void pack(stack *s)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    cr_assert_eq(arena_pack(&e, &s->l, sc), RP_OK, "%s", e.msg);
    scratch_free(sc);
}

/* Answers of planners that this policy is not: what would come out if P16 were allocated before the matmul,
 * and if the caller's buffers were packed in. */
Test(layout, diagnostic_wrong_answers)
{
    stack s = {0};
    ask(&s, 8, 0, 9);
    ask(&s, MIB4, 1, 6);
    ask(&s, 2097152, 2, 8);
    ask(&s, 33554432, 3, 4);
    pack(&s);
    cr_expect_eq(s.l.slab_bytes, 39846144);

    s = (stack){0};
    ask(&s, 8, 0, 9);
    ask(&s, 1572864, 0, 9); /* x */
    ask(&s, 1572864, 0, 9); /* wt */
    ask(&s, 2048, 0, 9);    /* bias */
    ask(&s, MIB4, 1, 6);
    ask(&s, 33554432, 2, 3);
    ask(&s, 2097152, 3, 8);
    ask(&s, 2097152, 0, 9); /* y */
    pack(&s);
    cr_expect_eq(s.l.slab_bytes, 42993920);
}

Test(layout, first_fit_splits_low)
{
    stack s = {0};
    ask(&s, 1024, 0, 1); /* leaves [0, 1024) */
    ask(&s, 256, 0, 9);  /* at 1024 */
    ask(&s, 512, 0, 1);  /* leaves [1280, 1792) */
    ask(&s, 256, 0, 9);  /* at 1792 */
    ask(&s, 300, 1, 9);  /* lowest that fits: 0 */
    ask(&s, 256, 1, 9);  /* 512, what is left of it */
    ask(&s, 512, 1, 9);  /* 256 are left there: the next hole, 1280 */
    ask(&s, 256, 1, 9);  /* 768 */
    ask(&s, 1, 1, 9);    /* none is left: the top */
    pack(&s);
    static const uint64_t want[] = {0, 1024, 1280, 1792, 0, 512, 1280, 768, 2048};
    for (int i = 0; i < 9; i++)
        cr_expect_eq(s.ranges[i].offset_bytes, want[i], "request %d at %d", i, (int)s.ranges[i].offset_bytes);
    cr_expect_eq(s.l.slab_bytes, 2304);
    cr_expect_eq(s.l.peak_live_bytes, 2304);
}

Test(layout, holes_coalesce)
{
    for (int order = 0; order < 6; order++) {
        /* Three neighbours go at steps 1 to 3 in every order; after it one request fills all three. */
        static const uint64_t ends[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
        stack s = {0};
        for (int i = 0; i < 3; i++)
            ask(&s, 256, 0, ends[order][i]);
        ask(&s, 256, 0, 9); /* holds the top up */
        ask(&s, 768, 4, 9);
        pack(&s);
        cr_expect(s.ranges[4].offset_bytes == 0 && s.l.slab_bytes == 1024, "order %d: %d", order,
                  (int)s.ranges[4].offset_bytes);
    }
}

Test(layout, highest_hole_is_extended)
{
    stack s = {0};
    ask(&s, 256, 0, 9);
    ask(&s, 256, 0, 1); /* leaves [256, 512), which ends at the top */
    ask(&s, 1024, 1, 9);
    pack(&s);
    cr_expect(s.ranges[2].offset_bytes == 256 && s.l.slab_bytes == 1280);
    /* A hole below the highest is not. */
    s = (stack){0};
    ask(&s, 256, 0, 1);
    ask(&s, 256, 0, 9);
    ask(&s, 1024, 1, 9);
    pack(&s);
    cr_expect(s.ranges[2].offset_bytes == 512 && s.l.slab_bytes == 1536);
}

Test(layout, releases_come_first_and_the_top_stays)
{
    stack s = {0};
    ask(&s, 1024, 0, 2);
    ask(&s, 1024, 2, 3); /* takes over in the very step */
    ask(&s, 256, 5, 6);
    pack(&s);
    cr_expect(s.ranges[1].offset_bytes == 0 && s.ranges[2].offset_bytes == 0);
    cr_expect(s.l.slab_bytes == 1024 && s.l.peak_live_bytes == 1024);
}

Test(layout, nothing_still_reserves)
{
    stack s = {0};
    ask(&s, 0, 0, 2);
    ask(&s, 0, 0, 2);
    ask(&s, 257, 0, 2);
    pack(&s);
    cr_expect(s.ranges[1].offset_bytes == 256 && s.ranges[2].offset_bytes == 512 && s.l.slab_bytes == 1024);
    s = (stack){0};
    s.l.ranges = s.ranges;
    pack(&s);
    cr_expect_eq(s.l.slab_bytes, 0);
}

Test(layout, sizes_beyond_64_bits)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    stack s = {0};
    ask(&s, UINT64_C(1) << 63, 0, 2);
    ask(&s, UINT64_C(1) << 63, 1, 2);
    cr_expect_eq(arena_pack(&e, &s.l, sc), RP_INVALID);
    cr_expect_eq(e.id, FIND_ARENA_BOUNDS);

    plan_buffer b = {.id = "big", .owner = OWNER_SYSTEM, .freed_by = FREED_BY_PROGRAM, .bytes = UINT64_MAX};
    plan_slot slot = {.port = "buffer"};
    plan_node n = {.op = NODE_ALLOC, .n_operands = 1, .operands = &slot};
    plan p = {.buffers = &b, .n_buffers = 1, .nodes = &n, .n_nodes = 1};
    arena_layout l;
    e = (rp_err){0};
    cr_expect_eq(arena_requests(&e, &l, sc, &p), RP_INVALID);
    cr_expect_eq(e.id, FIND_ARENA_BOUNDS);
    scratch_free(sc);
}

/* Who is packed, and for how long, by owner and by who frees. */
Test(layout, lifetimes)
{
    static const struct {
        plan_owner owner;
        plan_freed_by freed_by;
        bool packed;
        uint64_t first, end;
    } kinds[] = {
        {OWNER_CALLER, FREED_BY_CALLER, false, 0, 0}, /* boundary */
        {OWNER_CALLER, FREED_BY_PROGRAM, true, 0, 4}, /* donated: from the start */
        {OWNER_SYSTEM, FREED_BY_CALLER, true, 2, 6},  /* escaping: to the end */
        {OWNER_SYSTEM, FREED_BY_PROGRAM, true, 2, 4}, /* interior */
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < 4; i++) {
        plan_buffer b = {.id = "b", .owner = kinds[i].owner, .freed_by = kinds[i].freed_by, .bytes = 100};
        plan_slot slot = {.port = "p"};
        plan_node nodes[6] = {{.op = NODE_INPUT},  {.op = NODE_KERNEL}, {.op = NODE_KERNEL},
                              {.op = NODE_KERNEL}, {.op = NODE_KERNEL}, {.op = NODE_OUTPUT}};
        nodes[2].has_destination = true; /* first touched as a destination at 2, last as an operand at 3 */
        nodes[3].n_operands = 1;
        nodes[3].operands = &slot;
        plan p = {.buffers = &b, .n_buffers = 1, .nodes = nodes, .n_nodes = 6};
        arena_layout l = pack_plan(sc, &p);
        const arena_range *r = arena_of_buffer(&l, 0);
        cr_expect_eq(r != NULL, kinds[i].packed, "kind %zu", i);
        if (r)
            cr_expect(r->first_step == kinds[i].first && r->end_step == kinds[i].end, "kind %zu: [%d, %d)", i,
                      (int)r->first_step, (int)r->end_step);
    }
    scratch_free(sc);
}

/* Operands before the destination, both before the node's workspace; parameters take eight bytes a symbol. */
Test(layout, order_of_requests)
{
    scratch *sc = scratch_new(0);
    plan_buffer b[3] = {{.id = "d", .owner = OWNER_SYSTEM},
                        {.id = "b", .owner = OWNER_SYSTEM},
                        {.id = "a", .owner = OWNER_SYSTEM}};
    plan_slot slots[2] = {{.port = "a", .buffer = 2}, {.port = "b", .buffer = 1}};
    const plan_node matmul = {.op = NODE_MATMUL,
                              .n_operands = 2,
                              .operands = slots,
                              .has_destination = true,
                              .workspace_bytes = 512};
    plan_node n[3] = {matmul, matmul, matmul};
    n[2].workspace_bytes = 0;
    plan p = {.buffers = b, .n_buffers = 3, .nodes = n, .n_nodes = 3, .n_symbols = 40};
    rp_err e = {0};
    arena_layout l;
    cr_assert_eq(arena_requests(&e, &l, sc, &p), RP_OK);
    static const char *const names[] = {"parameters", "a", "b", "d", "workspace@0", "workspace@1"};
    cr_assert_eq(l.n, 6);
    for (int i = 0; i < 6; i++)
        cr_expect_str_eq(l.ranges[i].name, names[i]);
    cr_expect(l.ranges[0].bytes == 320 && l.ranges[0].reserved_bytes == 512 && l.ranges[5].first_step == 1 &&
              l.ranges[5].bytes == 512);
    scratch_free(sc);
}

/* --- Any plan: a counter-based generator, so that a failure names its seed. --- */

static uint64_t mix(uint64_t seed, uint64_t counter)
{
    unsigned __int128 z = (unsigned __int128)(seed + 1) * 0x9e3779b97f4a7c15u +
                          (unsigned __int128)counter * 0xbf58476d1ce4e5b9u;
    uint64_t x = (uint64_t)z ^ (uint64_t)(z >> 64);
    for (int i = 0; i < 3; i++) {
        z = (unsigned __int128)(x ^ x >> 31) * 0x94d049bb133111ebu;
        x = (uint64_t)z ^ (uint64_t)(z >> 64);
    }
    return x;
}

Test(layout, random_requests)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        static stack s;
        uint64_t n = 1 + mix(seed, 0) % 60, steps = 1 + mix(seed, 1) % 40, sum = 0;
        memset(&s, 0, sizeof s);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t first = mix(seed, 10 + 3 * i) % steps,
                     last = first + mix(seed, 11 + 3 * i) % (steps - first);
            ask(&s, mix(seed, 12 + 3 * i) % (seed % 2 ? 4000 : 300), first, last + 1);
            sum += s.ranges[i].reserved_bytes;
        }
        pack(&s);
        uint64_t most_live = 0, highest = 0;
        for (uint64_t t = 0; t < steps; t++) {
            uint64_t live = 0;
            for (uint64_t i = 0; i < n; i++)
                if (s.ranges[i].first_step <= t && t < s.ranges[i].end_step)
                    live += s.ranges[i].reserved_bytes;
            most_live = live > most_live ? live : most_live;
        }
        for (uint64_t i = 0; i < n; i++) {
            const arena_range *a = &s.ranges[i];
            highest =
                a->offset_bytes + a->reserved_bytes > highest ? a->offset_bytes + a->reserved_bytes : highest;
            cr_assert_eq(a->offset_bytes % ARENA_ALIGN, 0, "seed %d", (int)seed);
            for (uint64_t k = 0; k < i; k++) {
                const arena_range *b = &s.ranges[k];
                bool both_live = a->first_step < b->end_step && b->first_step < a->end_step;
                cr_assert(!both_live || !ck_overlap(a->offset_bytes, a->reserved_bytes, b->offset_bytes,
                                                    b->reserved_bytes),
                          "seed %d: requests %d and %d overlap", (int)seed, (int)i, (int)k);
            }
        }
        cr_assert_eq(s.l.peak_live_bytes, most_live, "seed %d", (int)seed);
        cr_assert(s.l.slab_bytes == highest && highest >= most_live && highest <= sum, "seed %d: %d, live %d",
                  (int)seed, (int)highest, (int)most_live);
    }
}

/* --- Reading and binding. --- */

#define RANGE(name, first, end, offset, bytes)                                                               \
    "{\"name\":\"" name "\",\"first_step\":" first ",\"end_step\":" end ",\"offset_bytes\":" offset          \
    ",\"bytes\":" bytes "}"
#define ARENA(ranges)                                                                                        \
    "{\"format\":\"replay-arena/1\",\"slab_bytes\":1024,\"peak_live_bytes\":512,\"ranges\":[" ranges "]}"

Test(layout, reading_refuses)
{
    static const struct {
        const char *text;
        finding_id id;
        const char *where;
    } cases[] = {
        {"[]", FIND_JSON_TYPE, ""},
        {"{\"format\":\"replay-arena/2\"}", FIND_JSON_VALUE, "/format"},
        {"{\"format\":\"replay-arena/1\",\"slab_bytes\":1,\"ranges\":[]}", FIND_JSON_MISSING_KEY, ""},
        {"{\"format\":\"replay-arena/1\",\"slab_bytes\":1,\"peak_live_bytes\":1,\"ranges\":[],\"x\":0}",
         FIND_JSON_UNKNOWN_KEY, "/x"},
        {"{\"format\":\"replay-arena/1\",\"slab_bytes\":1e9,\"peak_live_bytes\":1,\"ranges\":[]}",
         FIND_JSON_NUMBER, "/slab_bytes"},
        {ARENA("7"), FIND_JSON_TYPE, "/ranges/0"},
        {ARENA(RANGE("a", "0", "1", "-256", "1")), FIND_JSON_NUMBER, "/ranges/0/offset_bytes"},
        {ARENA(RANGE("a", "0", "1", "0", "9007199254740992")), FIND_JSON_NUMBER, "/ranges/0/bytes"},
        {ARENA(RANGE("a", "0", "1", "0", "1,\"kind\":0")), FIND_JSON_UNKNOWN_KEY, "/ranges/0/kind"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        arena_layout l;
        cr_expect_eq(arena_read(&e, &l, sc, "arena.json", span_str(cases[i].text)), RP_INVALID,
                     "accepted: %s", cases[i].text);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", cases[i].text, e.msg);
        cr_expect_str_eq(e.where, cases[i].where, "%s", cases[i].text);
    }
    /* More ranges than a plan can ask for: pairs are compared, and there would be too many. */
    size_t most = 1 + (size_t)(limit_of(LIMIT_BUFFERS) + limit_of(LIMIT_NODES)), n = 0;
    static const char
        one[] = RANGE("a", "0", "1", "0", "1") ",",
        head[] = "{\"format\":\"replay-arena/1\",\"slab_bytes\":1,\"peak_live_bytes\":1,\"ranges\":[";
    char *text = scratch_alloc(sc, sizeof head + (most + 1) * sizeof one + 2);
    memcpy(text, head, sizeof head - 1);
    n = sizeof head - 1;
    for (size_t i = 0; i <= most; i++, n += sizeof one - 1)
        memcpy(text + n, one, sizeof one - 1);
    memcpy(text + n - 1, "]}", 3);
    rp_err e = {0};
    arena_layout l;
    cr_expect_eq(arena_read(&e, &l, sc, "arena.json", span_str(text)), RP_INVALID);
    cr_expect(e.id == FIND_ARENA_BOUNDS && !strcmp(e.where, "/ranges"), "%s: %s", e.where, e.msg);
    scratch_free(sc);
}

Test(layout, binding)
{
    static const struct {
        const char *ranges, *where;
        finding_id id;
    } cases[] = {
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "1", "4", "256", "100"), NULL, 0},
        {RANGE("b", "1", "4", "256", "100") "," RANGE("parameters", "0", "9", "0", "8"), NULL,
         0}, /* in any order */
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "0", "9", "256", "999"), NULL,
         0}, /* more than is needed */
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("c", "1", "4", "256", "100"), "/ranges",
         FIND_ARENA_OFFSET},
        {RANGE("parameters", "0", "9", "0", "8"), "/ranges", FIND_ARENA_OFFSET},
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "1", "4", "256",
                                                           "100") "," RANGE("c", "1", "4", "512", "1"),
         "/ranges", FIND_ARENA_OFFSET},
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "1", "4", "256", "99"), "/ranges/1",
         FIND_ARENA_BOUNDS},
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "2", "4", "256", "100"), "/ranges/1",
         FIND_ARENA_BOUNDS},
        {RANGE("parameters", "0", "9", "0", "8") "," RANGE("b", "1", "3", "256", "100"), "/ranges/1",
         FIND_ARENA_BOUNDS},
    };
    scratch *sc = scratch_new(0);
    arena_range want[] = {
        {.kind = RANGE_PARAMETERS, .name = "parameters", .end_step = 9, .bytes = 8},
        {.kind = RANGE_BUFFER, .name = "b", .buffer = 3, .first_step = 1, .end_step = 4, .bytes = 100}};
    const arena_layout requests = {.n = 2, .ranges = want};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        findings fs;
        arena_layout l;
        const char *text = scratch_printf(
            sc, "{\"format\":\"replay-arena/1\",\"slab_bytes\":1024,\"peak_live_bytes\":512,\"ranges\":[%s]}",
            cases[i].ranges);
        findings_init(&fs, sc);
        cr_assert_eq(arena_read(&e, &l, sc, "arena.json", span_str(text)), RP_OK, "%s: %s", e.where, e.msg);
        cr_assert_eq(arena_bind(&e, &fs, &l, &requests, "arena.json"), RP_OK);
        cr_expect_eq(fs.n, cases[i].where != NULL, "case %zu: %s", i, t_list(sc, &fs));
        if (cases[i].where)
            cr_expect(t_found(&fs, cases[i].id, "arena.json", cases[i].where), "case %zu: %s", i,
                      t_list(sc, &fs));
        else
            cr_expect(arena_of_buffer(&l, 3) != NULL && !strcmp(arena_of_buffer(&l, 3)->name, "b"));
    }
    scratch_free(sc);
}
