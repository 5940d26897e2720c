#include "replay/campaign.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>

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

static js_node *run_json(rig *g, const char *mode, const char *args, int code)
{
    ran r = rig_run(g, mode, scratch_printf(g->sc, "run %s --out c --json", args));
    cr_assert(r.code == code, "%s: expected exit %d, found %d\n%s\n%s", mode, code, r.code, r.err, r.out);
    return rig_json(g, &r);
}

static js_node *audit_json(rig *g, int code)
{
    ran r = rig_run(g, NULL, "audit c --json");
    cr_assert(r.code == code, "audit: expected exit %d, found %d\n%s\n%s", code, r.code, r.err, r.out);
    return rig_at(rig_json(g, &r), "results/0");
}

/* The figure of that name and status (NULL: it has none), with as many files as `files`. */
static void expect_figure(js_node *audit, const char *name, const char *status, uint64_t value, size_t files)
{
    js_node *a = rig_at(audit, "figures");
    for (size_t i = 0; i < js_len(a); i++) {
        js_node *f = js_at(a, i);
        if (strcmp(rig_text(f, "figure"), name) || (status && strcmp(rig_text(f, "status"), status)))
            continue;
        cr_assert_eq(rig_number(f, "value"), value, "%s %s: %llu", name, status ? status : "",
                     (unsigned long long)rig_number(f, "value"));
        cr_assert_eq(js_len(rig_at(f, "files")), files, "%s %s: %zu files", name, status ? status : "",
                     js_len(rig_at(f, "files")));
        return;
    }
    cr_assert(false, "no figure %s", name);
}

static void sum_again(rig *g, const char *dir)
{
    const char *line =
        scratch_printf(g->sc,
                       "cd %s && find . -type f ! -path ./SHA256SUMS | cut -c3- | LC_ALL=C sort | "
                       "xargs sha256sum >../sums && mv ../sums SHA256SUMS",
                       dir);
    cr_assert_eq(t_shell(g->dir, line), 0);
}

/* --- The published shape, from made-up records. --- */

enum { RUNS = 13, PHASES = 64, CANDIDATES = 112, PLANS = 40 };

static void made_up(campaign_folder *v, const char *name, folder_kind kind, size_t run, const char *status,
                    unsigned signature)
{
    *v = (campaign_folder){.folder = name, .kind = kind, .run = run, .have_record = true};
    v->rec = (run_record){.bundle_name = name, .status = status};
    v->rec.plan_signature.b[0] = (uint8_t)signature;
}

static void add_phase(campaign_folder *v, phase_status status, uint64_t checks)
{
    phase_record *p = &v->rec.phases[v->rec.n_phases++];
    *p = (phase_record){.index = v->rec.n_phases,
                        .name = "phase",
                        .error = "",
                        .status = status,
                        .checks_passed = checks,
                        .checks_total = 10};
}

/* 13 runs, 64 phases (60 validated, 3 numerical rejections, 1 failed profile), 489 checks in what passed, 112
 * candidates of which 80 pass. */
Test(campaign, published_shape)
{
    static campaign_folder v[RUNS + CANDIDATES];
    campaign c = {.name = "screen", .n_runs = RUNS, .n_omitted = 2};
    campaign_figures g;
    size_t n = 0;
    scratch *sc = scratch_new(0);
    c.runs = scratch_array(sc, RUNS, sizeof *c.runs);
    c.omitted = scratch_array(sc, 2, sizeof *c.omitted);
    c.omitted[0] = (campaign_omitted){"raw arrays", "too large"};
    c.omitted[1] = (campaign_omitted){"profiler databases", "not redistributed"};
    for (size_t i = 0, phases = 0, checks = 489; i < RUNS; i++) {
        const char *name = scratch_printf(sc, "run-%zu", i);
        c.runs[i] = (campaign_run){.name = name,
                                   .role = "replay",
                                   .pair = "",
                                   .n_evidence = 1,
                                   .evidence = scratch_array(sc, 1, sizeof(char *))};
        c.runs[i].evidence[0] = name;
        made_up(&v[n], name, FOLDER_EVIDENCE, i, "passed", (unsigned)i);
        for (size_t end = i + 1 < RUNS ? phases + 5 : PHASES; phases < end; phases++) {
            phase_status s = phases < 3 ? PHASE_NUMERICAL : phases == 3 ? PHASE_PROFILE_FAILED : PHASE_PASSED;
            uint64_t passed = s != PHASE_PASSED ? 5 : phases + 1 < PHASES ? 8 : checks;
            checks -= s == PHASE_PASSED ? passed : 0;
            add_phase(&v[n], s, passed);
        }
        n++;
    }
    campaign_run *last = &c.runs[RUNS - 1];
    last->candidates = scratch_array(sc, CANDIDATES, sizeof *last->candidates);
    for (unsigned i = 0; i < CANDIDATES; i++) {
        const char *name = last->candidates[last->n_candidates++] = scratch_printf(sc, "candidates/%u", i);
        made_up(&v[n++], name, FOLDER_CANDIDATE, RUNS - 1, i < 80 ? "passed" : "numerical_rejection",
                i % PLANS);
    }
    campaign_tally(&g, &c, v, n);
    cr_assert_eq(g.runs, 13);
    cr_assert_eq(g.phases, 64);
    cr_assert_eq(g.phases_by[PHASE_PASSED], 60);
    cr_assert_eq(g.phases_by[PHASE_NUMERICAL], 3);
    cr_assert_eq(g.phases_by[PHASE_PROFILE_FAILED], 1);
    cr_assert_eq(g.checks_passed, 489);
    cr_assert_eq(g.candidates, 112);
    cr_assert_eq(g.candidates_by[PHASE_PASSED], 80);
    cr_assert_eq(g.candidates_by[PHASE_NUMERICAL], 32);
    cr_assert_eq(g.plans, PLANS);
    cr_assert_eq(g.omitted, 2);

    /* It can be written down, and reads back as it was. */
    c.figures = g;
    rp_err e = {0};
    jw *j = jw_new(JW_PRETTY);
    span text, again;
    campaign back;
    campaign_write(j, &c);
    cr_assert(!jw_finish(&e, &text, j));
    cr_assert(!campaign_read(&e, &back, sc, "campaign.json", text), "%s: %s", e.where, e.msg);
    cr_assert(!memcmp(&back.figures, &g, sizeof g));
    jw *k = jw_new(JW_PRETTY);
    campaign_write(k, &back);
    cr_assert(!jw_finish(&e, &again, k));
    cr_assert(t_equal(text, again));
    jw_free(j);
    jw_free(k);
    scratch_free(sc);
}

/* --- Real folders. --- */

Test(campaign, several_and_a_pair)
{
    rig g;
    up(&g);
    js_node *root = run_json(&g, "good", "small.tar.zst rows.tar.zst --pair small.tar.zst rows.tar.zst", 0);
    cr_assert_eq(js_len(rig_at(root, "results")), 3);
    cr_assert(rig_has(&g, "c/small/evidence.json") && rig_has(&g, "c/rows/evidence.json") &&
              rig_has(&g, "c/pair/pair.json") && !rig_has(&g, "c.partial"));
    cr_assert_eq(t_shell(g.dir, "cd c && sha256sum --quiet -c SHA256SUMS"), 0);
    js_node *a = audit_json(&g, 0);
    cr_assert_eq(js_len(rig_at(a, "findings")), 0, "%s", rig_list(&g, a));
    expect_figure(a, "runs", NULL, 3, 3);
    expect_figure(a, "worker_phases", NULL, 22, 22);
    expect_figure(a, "phases", "passed", 22, 22);
    expect_figure(a, "phases", "rejected", 0, 0);
    expect_figure(a, "checks_passed", NULL, 22 * 7, 22);
    expect_figure(a, "distinct_plans", NULL, 2, 2);
    expect_figure(a, "pairs", NULL, 1, 1);
    cr_assert_eq(js_len(rig_at(a, "folders")), 4);
    cr_assert_eq(rig_run(&g, NULL, "audit c --root \"$ROOT\"").code, 2);
    /* No device for either: nothing is left of it. */
    ran r =
        rig_run(&g, "no-device", "run small.tar.zst --pair small.tar.zst rows.tar.zst --device gpu --out d");
    cr_assert_eq(r.code, 4, "%s", r.err);
    cr_assert(strstr(r.out, "nothing was run"), "%s", r.out);
    cr_assert(!rig_has(&g, "d") && !rig_has(&g, "d.partial"));
    rig_down(&g);
}

Test(campaign, table)
{
    rig g;
    up(&g);
    ran r = rig_run(&g, "good", "run small.tar.zst rows.tar.zst --out c");
    cr_assert_eq(r.code, 0, "%s", r.err);
    static const char *const lines[] = {"== 1 of 2: small.tar.zst",
                                        "== 2 of 2: rows.tar.zst",
                                        "host median [range]",
                                        "device sum",
                                        "campaign c: 2 runs, 0 pairs",
                                        "10 worker phases: 10 passed",
                                        "70 output checks",
                                        "2 distinct plans"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_assert(strstr(r.out, lines[i]), "no `%s` in\n%s", lines[i], r.out);
    r = rig_run(&g, NULL, "audit c");
    cr_assert(r.code == 0 && strstr(r.out, "audit: every claim holds"), "%d %s\n%s", r.code, r.err, r.out);
    cr_assert(strstr(r.out, "\nrows   "), "%s", r.out);
    rig_down(&g);
}

/* A run that did not pass is told, its times are not, and it is no fault of the campaign's. */
Test(campaign, rejected_run)
{
    rig g;
    rig_up(&g);
    (void)run_json(&g, "numeric", "small.tar.zst small.tar.zst --phases 2", 5);
    cr_assert(rig_has(&g, "c/small-2/evidence.json"));
    js_node *a = audit_json(&g, 5);
    expect_figure(a, "phases", "numerical_rejection", 4, 4);
    expect_figure(a, "phases", "passed", 0, 0);
    expect_figure(a, "checks_passed", NULL, 0, 0);
    expect_figure(a, "distinct_plans", NULL, 1, 1);
    /* The same numbers in both phases are one finding of each run. */
    js_node *all = rig_at(a, "findings");
    size_t small = 0, second = 0;
    for (size_t i = 0; i < js_len(all); i++) {
        const char *file = rig_text(js_at(all, i), "file");
        cr_expect_str_eq(rig_text(js_at(all, i), "id"), "run.numeric");
        cr_expect(strstr(file, "/phases/1-validate/outputs/"), "%s", file);
        cr_expect(strstr(rig_text(js_at(all, i), "message"), "(alike in the phases 1-validate, 2-timing-1)"));
        small += !strncmp(file, "small/", 6);
        second += !strncmp(file, "small-2/", 8);
    }
    cr_expect(small && small == second && small + second == js_len(all), "%s", rig_list(&g, a));
    ran r = rig_run(&g, NULL, "audit c");
    cr_assert(strstr(r.out, "audit: every claim holds, and not every run passed"), "%s", r.out);
    cr_assert(!strstr(r.out, " us ["), "%s", r.out);
    rig_down(&g);
}

/* Phases that never began are counted apart from those that a worker was started for. */
Test(campaign, broken_run)
{
    rig g;
    rig_up(&g);
    (void)run_json(&g, "crash", "small.tar.zst small.tar.zst", 4);
    js_node *a = audit_json(&g, 4);
    expect_figure(a, "worker_phases", NULL, 2, 2);
    expect_figure(a, "phases", "process_failed", 2, 2);
    expect_figure(a, "phases", "not_run", 8, 8);
    rig_down(&g);
}

/* What cannot be run is omitted with its reason; the rest is run all the same. */
Test(campaign, omissions)
{
    rig g;
    rig_up(&g);
    t_write(g.sc, g.dir, "in/broken.tar.zst", span_str("not a bundle"));
    cr_assert_eq(t_shell(g.dir, "cp small.tar.zst in/"), 0);
    ran r = rig_run(&g, "good", "run in nothere.tar.zst --phases 1 --out c");
    cr_assert(r.code == 3, "%d %s", r.code, r.err);
    js_node *a = audit_json(&g, 0);
    expect_figure(a, "runs", NULL, 1, 1);
    cr_assert_eq(rig_number(a, "figures/0/value"), 1);
    r = rig_run(&g, NULL, "audit c");
    cr_assert(strstr(r.out, "broken.tar.zst: ") && strstr(r.out, "nothere.tar.zst: "), "%s", r.out);
    /* What an interrupt leaves of a campaign: its runs, and no record of its own. */
    cr_assert_eq(t_shell(g.dir, "cp -r c e.partial && rm e.partial/campaign.json e.partial/SHA256SUMS"), 0);
    r = rig_run(&g, NULL, "audit e.partial --json");
    cr_assert_eq(r.code, 1);
    a = rig_at(rig_json(&g, &r), "results/0");
    cr_assert(rig_found(a, "evidence.partial", "evidence.json", NULL), "%s", r.out);
    cr_assert(!strstr(r.out, "evidence.invalid"), "%s", r.out);
    /* No device: nothing is begun. */
    r = rig_run(&g, "no-device", "run small.tar.zst small.tar.zst --device gpu --out d");
    cr_assert(r.code == 4, "%d %s", r.code, r.err);
    cr_assert(!rig_has(&g, "d") && !rig_has(&g, "d.partial"));
    rig_down(&g);
}

/* Candidates by their verdict, and every figure compared. */
Test(campaign, candidates_and_claims)
{
    rig g;
    up(&g);
    (void)run_json(&g, "good", "small.tar.zst rows.tar.zst --phases 1", 0);
    span text = t_slurp(g.sc, scratch_printf(g.sc, "%s/c/campaign.json", g.dir));
    /* The second run's folder becomes a candidate of the first. */
    span moved = t_replaced(g.sc, text, "\"candidates\": []\n    },", "\"candidates\": [\"rows\"]\n    }");
    const char *s = (const char *)moved.p, *from = strstr(s, "\"rows\"]\n    }") + strlen("\"rows\"]\n    }"),
               *to = strstr(from, "\n  ],\n");
    moved = t_splice(g.sc, moved, (size_t)(from - s), (size_t)(to - from), span_str(""));
    t_write(g.sc, g.dir, "c/campaign.json", moved);
    sum_again(&g, "c");
    js_node *a = audit_json(&g, 1);
    expect_figure(a, "runs", NULL, 1, 1);
    expect_figure(a, "phases", "passed", 1, 1);
    expect_figure(a, "candidates", "passed", 1, 1);
    static const char *const at[] = {
        "/figures/runs",          "/figures/phases",     "/figures/phases_by_status/passed",
        "/figures/checks_passed", "/figures/candidates", "/figures/candidates_by_verdict/passed"};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        cr_assert(rig_found(a, "evidence.claim", "campaign.json", at[i]), "%s: %s", at[i], rig_list(&g, a));
    rig_down(&g);
}

/* What is wrong in one folder is found under its name; a folder that is listed twice, or lies elsewhere, is
 * refused. */
Test(campaign, broken)
{
    static const struct {
        const char *from, *to, *id, *file;
    } cases[] = {{"[\"rows\"]", "[\"small\"]", "evidence.invalid", "campaign.json"},
                 {"[\"rows\"]", "[\"../rows\"]", "evidence.invalid", "campaign.json"},
                 {"[\"rows\"]", "[]", "evidence.invalid", "campaign.json"},
                 {"[\"rows\"]", "[\"gone\"]", "evidence.invalid", "gone"},
                 {"\"omissions\": 4", "\"omissions\": 3", "evidence.claim", "campaign.json"}};
    rig g;
    up(&g);
    (void)run_json(&g, "good", "small.tar.zst rows.tar.zst --phases 1", 0);
    span text = t_slurp(g.sc, scratch_printf(g.sc, "%s/c/campaign.json", g.dir));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_write(g.sc, g.dir, "c/campaign.json", t_replaced(g.sc, text, cases[i].from, cases[i].to));
        sum_again(&g, "c");
        js_node *a = audit_json(&g, 1);
        cr_assert(rig_found(a, cases[i].id, cases[i].file, NULL), "%s: %s", cases[i].to, rig_list(&g, a));
    }
    t_write(g.sc, g.dir, "c/campaign.json", text);
    span record = t_slurp(g.sc, scratch_printf(g.sc, "%s/c/rows/evidence.json", g.dir));
    t_write(g.sc, g.dir, "c/rows/evidence.json",
            t_replaced(g.sc, record, "\"checks_passed\": 7,\n  \"", "\"checks_passed\": 6,\n  \""));
    sum_again(&g, "c/rows");
    sum_again(&g, "c");
    js_node *a = audit_json(&g, 1);
    cr_assert(rig_found(a, "evidence.claim", "rows/evidence.json", "/checks_passed"), "%s", rig_list(&g, a));
    rig_down(&g);
}
