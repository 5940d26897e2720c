#include "replay/pair.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>

static spread spread_of(uint64_t median, uint64_t min, uint64_t max)
{
    return (spread){.median_ps = median, .min_ps = min, .max_ps = max};
}

Test(pair, order_of_the_seeds)
{
    /* splitmix64 begins with e220a8397b1dcdaf, 910a2dec89025cc1 and 975835de1c9756ce for these seeds. */
    cr_assert_eq(pair_first(0), 1);
    cr_assert_eq(pair_first(1), 1);
    cr_assert_eq(pair_first(2), 0);
    unsigned firsts = 0;
    for (uint64_t seed = 0; seed < 1000; seed++)
        firsts += (unsigned)pair_first(seed);
    cr_assert(firsts > 400 && firsts < 600);
}

Test(pair, rule)
{
    static const struct {
        uint64_t a[3], b[3]; /* median, least, greatest */
        pair_verdict want;
    } cases[] = {
        {{1000, 990, 1010}, {1000, 990, 1010}, PAIR_SAME},
        {{1000, 990, 1010}, {1049, 1040, 1060}, PAIR_SAME},   /* apart, and below the floor */
        {{1000, 990, 1010}, {1050, 1040, 1060}, PAIR_SLOWER}, /* just at it */
        {{1000, 990, 1010}, {1100, 1009, 1120}, PAIR_AMBIGUOUS},
        {{1000, 990, 1010}, {1100, 1010, 1120}, PAIR_AMBIGUOUS}, /* they touch */
        {{1000, 990, 1010}, {1100, 1011, 1120}, PAIR_SLOWER},
        {{1100, 1011, 1120}, {1000, 990, 1010}, PAIR_FASTER},
        {{1050, 1040, 1060}, {1000, 990, 1010}, PAIR_FASTER},
        {{1000, 500, 3000}, {1010, 600, 2000}, PAIR_SAME},
        {{0, 0, 0}, {0, 0, 0}, PAIR_SAME},
        {{0, 0, 0}, {1, 1, 1}, PAIR_SLOWER},
        {{1, 1, 1}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, PAIR_AMBIGUOUS}, /* no time at all */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spread a = spread_of(cases[i].a[0], cases[i].a[1], cases[i].a[2]);
        spread b = spread_of(cases[i].b[0], cases[i].b[1], cases[i].b[2]);
        pair_verdict v = pair_judge(&a, &b);
        cr_assert_eq(v, cases[i].want, "case %zu: %s", i, pair_verdict_names[v]);
    }
}

/* Another plan's bundle in the folder, as NAME.tar.zst. */
static void other_plan(rig *g, const char *workload, const char *name)
{
    t_tree t;
    t_sources(&t, g->sc, workload);
    t_add_fixtures(&t);
    t_add_records(&t);
    t_add_capture(&t);
    t_bundle(g->sc, g->dir, name, t.v, t.n);
}

static void up(rig *g)
{
    rig_up(g);
    other_plan(g, "weight_view.rows.small", "rows");
}

static js_node *pair_json(rig *g, const char *mode, const char *bundles, int code)
{
    ran r = rig_run(g, mode, scratch_printf(g->sc, "run --pair %s --out ev --json", bundles));
    cr_assert(r.code == code, "%s: expected exit %d, found %d\n%s\n%s", mode, code, r.code, r.err, r.out);
    return rig_json(g, &r);
}

static js_node *audit_json(rig *g, int code)
{
    ran r = rig_run(g, NULL, "audit ev --json");
    cr_assert(r.code == code, "audit: expected exit %d, found %d\n%s\n%s", code, r.code, r.err, r.out);
    return rig_at(rig_json(g, &r), "results/0");
}

/* After a change by hand, so that only the change itself is left to find. */
static void sum_again(rig *g, const char *dir)
{
    const char *line = scratch_printf(g->sc,
                                      "cd %s && find . -type f ! -path ./SHA256SUMS | cut -c3- | LC_ALL=C "
                                      "sort | xargs sha256sum >../sums && mv ../sums SHA256SUMS",
                                      dir);
    cr_assert_eq(t_shell(g->dir, line), 0);
}

Test(pair, slower_faster_same)
{
    static const struct {
        const char *mode, *bundles, *verdict;
    } cases[] = {{"rows-slow", "small.tar.zst rows.tar.zst", "SLOWER"},
                 {"rows-slow", "rows.tar.zst small.tar.zst", "FASTER"},
                 {"good", "small.tar.zst rows.tar.zst", "SAME"},
                 {"good", "small.tar.zst small.tar.zst", "SAME"}};
    rig g;
    up(&g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        js_node *root = pair_json(&g, cases[i].mode, cases[i].bundles, 0);
        cr_assert_str_eq(rig_text(root, "pair/verdict"), cases[i].verdict);
        cr_assert_str_eq(rig_text(root, "pair/a/status"), "passed");
        cr_assert_eq(js_len(rig_at(root, "pair/b/medians_ps")), PAIR_ROUNDS);
        cr_assert_str_eq(rig_text(root, "pair/order/0/processes/0"), "b/phases/2-timing-1");
        cr_assert_str_eq(rig_text(root, "pair/order/0/processes/1"), "a/phases/2-timing-1");
        cr_assert_str_eq(rig_text(root, "pair/order/2/processes/0"), "a/phases/6-timing-3");
        cr_assert(!rig_has(&g, "ev.partial") && !rig_has(&g, "ev/a.partial"));
        cr_assert_eq(
            t_shell(g.dir,
                    "cd ev && sha256sum --quiet -c SHA256SUMS && cd a && sha256sum --quiet -c SHA256SUMS"),
            0);
        js_node *a = audit_json(&g, 0);
        cr_assert_str_eq(rig_text(a, "pair/verdict"), cases[i].verdict);
        cr_assert_eq(js_len(rig_at(a, "findings")), 0, "%s", rig_list(&g, a));
        /* Each side is evidence of its own. */
        cr_assert_eq(rig_run(&g, NULL, "audit ev/a ev/b").code, 0);
        t_remove(scratch_printf(g.sc, "%s/ev", g.dir));
    }
    rig_down(&g);
}

Test(pair, text)
{
    rig g;
    up(&g);
    ran r = rig_run(&g, "rows-slow", "run --pair small.tar.zst rows.tar.zst --out ev");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert(strstr(r.out, "pair: SLOWER: B takes 1.500 of A's time"), "%s", r.out);
    r = rig_run(&g, NULL, "audit ev");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert(strstr(r.out, "pair: SLOWER") && strstr(r.out, "audit: every claim holds"), "%s", r.out);
    rig_down(&g);
}

/* A side that did not pass ends the pair, and its times are shown nowhere. */
Test(pair, refused)
{
    static const struct {
        const char *mode;
        int code;
        const char *status;
    } cases[] = {{"numeric", 5, "numerical_rejection"},
                 {"crash", 4, "process_failed"},
                 {"stray", 1, "rejected"},
                 {"crash-timing", 4, "process_failed"}};
    rig g;
    up(&g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        js_node *root = pair_json(&g, cases[i].mode, "small.tar.zst rows.tar.zst", cases[i].code);
        cr_assert_str_eq(rig_text(root, "pair/verdict"), "REFUSED");
        cr_assert(strstr(rig_text(root, "pair/reason"), cases[i].status), "%s: %s", cases[i].mode,
                  rig_text(root, "pair/reason"));
        js_node *a = audit_json(&g, cases[i].code);
        cr_assert_str_eq(rig_text(a, "pair/verdict"), "REFUSED");
        cr_assert_eq(js_len(rig_at(a, "findings")), 0, "%s: %s", cases[i].mode, rig_list(&g, a));
        t_remove(scratch_printf(g.sc, "%s/ev", g.dir));
    }
    /* Not so a profiler that failed: no time rests on it. */
    js_node *root = pair_json(&g, "profile-fail", "small.tar.zst rows.tar.zst", 0);
    cr_assert_str_eq(rig_text(root, "pair/verdict"), "SAME");
    rig_down(&g);
}

Test(pair, another_workload)
{
    rig g;
    rig_up(&g);
    other_plan(&g, "gemm.small", "gemm");
    ran r = rig_run(&g, "good", "run --pair small.tar.zst gemm.tar.zst --out ev");
    cr_assert_eq(r.code, 2, "%s", r.out);
    cr_assert(strstr(r.err, "expected two plans of one workload"), "%s", r.err);
    cr_assert(!rig_has(&g, "ev") && !rig_has(&g, "ev.partial"));
    rig_down(&g);
}

Test(pair, arguments)
{
    rig g;
    rig_up(&g);
    static const char *const wrong[] = {"run --pair small.tar.zst", "run --pair small.tar.zst --json",
                                        "run --pair small.tar.zst small.tar.zst --device emu",
                                        "run --pair small.tar.zst small.tar.zst --root \"$ROOT\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(rig_run(&g, "good", wrong[i]).code, 2, "%s", wrong[i]);
    cr_assert_eq(rig_run(&g, NULL, "run --pair small.tar.zst small.tar.zst --out ev").code, 4);
    cr_assert_eq(rig_run(&g, "no-device", "run --pair small.tar.zst small.tar.zst --out ev").code, 4);
    cr_assert(!rig_has(&g, "ev") && !rig_has(&g, "ev.partial"));
    rig_down(&g);
}

/* What pair.json says is compared, not believed. */
Test(pair, claims)
{
    static const struct {
        const char *from, *to, *id, *at;
    } cases[] = {
        {"\"verdict\": \"SLOWER\"", "\"verdict\": \"FASTER\"", "evidence.claim", "/verdict"},
        {"\"floor_permille\": 50", "\"floor_permille\": 600", "evidence.invalid", NULL},
        {"b/phases/2-timing-1", "a/phases/2-timing-1", "evidence.claim", "/order/0"},
        {"\"scope\": \"host_graph_launch_sync\"", "\"scope\": \"device_events\"", "evidence.invalid", NULL},
        {"\"reason\": \"\"", "\"reason\": \"none\"", "evidence.claim", "/reason"}};
    rig g;
    up(&g);
    (void)pair_json(&g, "rows-slow", "small.tar.zst rows.tar.zst", 0);
    span text = t_slurp(g.sc, scratch_printf(g.sc, "%s/ev/pair.json", g.dir));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_write(g.sc, g.dir, "ev/pair.json", t_replaced(g.sc, text, cases[i].from, cases[i].to));
        js_node *a = audit_json(&g, 1);
        cr_assert(rig_found(a, "evidence.sums", "pair.json", NULL), "%s", rig_list(&g, a));
        sum_again(&g, "ev");
        a = audit_json(&g, 1);
        cr_assert(!rig_found(a, "evidence.sums", NULL, NULL), "%s", rig_list(&g, a));
        cr_assert(rig_found(a, cases[i].id, "pair.json", cases[i].at), "%s: %s", cases[i].to,
                  rig_list(&g, a));
    }
    /* A side put in from another run of another workload's plan. */
    t_write(g.sc, g.dir, "ev/pair.json", text);
    cr_assert_eq(t_shell(g.dir, "rm -r ev/b && cp -r ev/a ev/b"), 0);
    sum_again(&g, "ev");
    js_node *a = audit_json(&g, 1);
    cr_assert(rig_found(a, "evidence.claim", "pair.json", "/b/plan_signature"), "%s", rig_list(&g, a));
    rig_down(&g);
}
