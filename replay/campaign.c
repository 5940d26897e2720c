#include "replay/campaign.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "replay/cli.h"

/* --- campaign.json. --- */

static rp_code read_folders(rp_err *e, const char ***out, size_t *n, scratch *sc, js_node *o, const char *key)
{
    js_node *a;
    if (js_arr(e, &a, n, o, key))
        return e->code;
    const char **v = scratch_array(sc, *n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < *n; i++) {
        if (js_as_str(e, &v[i], js_at(a, i)))
            return e->code;
        if (!manifest_path_ok(v[i]))
            return js_fail(e, js_at(a, i), FIND_EVIDENCE_INVALID,
                           "expected a path below the campaign, found %.100s", v[i]);
    }
    *out = v;
    return RP_OK;
}

static rp_code read_run(rp_err *e, campaign_run *r, scratch *sc, js_node *o)
{
    js_node *pair;
    r->pair = "";
    if (js_str(e, &r->name, o, "name") || js_str(e, &r->role, o, "role") ||
        read_folders(e, &r->evidence, &r->n_evidence, sc, o, "evidence") || js_get(e, &pair, o, "pair") ||
        (js_kind(pair) != JS_NULL && js_as_str(e, &r->pair, pair)) ||
        read_folders(e, &r->candidates, &r->n_candidates, sc, o, "candidates"))
        return e->code;
    if (*r->pair && !manifest_path_ok(r->pair))
        return js_fail(e, pair, FIND_EVIDENCE_INVALID, "expected a path below the campaign, found %.100s",
                       r->pair);
    return js_done(e, o);
}

static rp_code read_by_status(rp_err *e, uint64_t v[CAMPAIGN_STATUSES], js_node *root, const char *key)
{
    js_node *o;
    if (js_obj(e, &o, root, key))
        return e->code;
    for (int i = 0; i < CAMPAIGN_STATUSES; i++)
        if (js_u64(e, &v[i], o, phase_status_names[i]))
            return e->code;
    return js_done(e, o);
}

static rp_code read_figures(rp_err *e, campaign_figures *g, js_node *root)
{
    js_node *o;
    if (js_obj(e, &o, root, "figures") || js_u64(e, &g->runs, o, "runs") ||
        js_u64(e, &g->phases, o, "phases") || read_by_status(e, g->phases_by, o, "phases_by_status") ||
        js_u64(e, &g->checks_passed, o, "checks_passed") || js_u64(e, &g->candidates, o, "candidates") ||
        read_by_status(e, g->candidates_by, o, "candidates_by_verdict") ||
        js_u64(e, &g->plans, o, "distinct_plans") || js_u64(e, &g->pairs, o, "pairs") ||
        js_u64(e, &g->omitted, o, "omissions"))
        return e->code;
    return js_done(e, o);
}

static bool listed_before(const campaign *c, size_t run, const char *folder)
{
    size_t seen = 0;
    for (size_t i = 0; i <= run; i++) {
        const campaign_run *r = &c->runs[i];
        for (size_t k = 0; k < r->n_evidence; k++)
            seen += !strcmp(r->evidence[k], folder);
        for (size_t k = 0; k < r->n_candidates; k++)
            seen += !strcmp(r->candidates[k], folder);
        seen += !strcmp(r->pair, folder);
    }
    return seen > 1;
}

/* A folder that counted twice would be a run that never was. */
static rp_code check_once(rp_err *e, const campaign *c, js_node *root)
{
    for (size_t i = 0; i < c->n_runs; i++) {
        const campaign_run *r = &c->runs[i];
        const char *twice = *r->pair && listed_before(c, i, r->pair) ? r->pair : NULL;
        for (size_t k = 0; k < r->n_evidence && !twice; k++)
            twice = listed_before(c, i, r->evidence[k]) ? r->evidence[k] : NULL;
        for (size_t k = 0; k < r->n_candidates && !twice; k++)
            twice = listed_before(c, i, r->candidates[k]) ? r->candidates[k] : NULL;
        if (twice)
            return js_fail(e, root, FIND_EVIDENCE_INVALID, "expected every folder once, found %.100s twice",
                           twice);
        if (!r->n_evidence && !r->n_candidates && !*r->pair)
            return js_fail(e, root, FIND_EVIDENCE_INVALID, "expected evidence in run %.100s, found none",
                           r->name);
    }
    return RP_OK;
}

rp_code campaign_read(rp_err *e, campaign *out, scratch *sc, const char *file, span text)
{
    js_node *root, *runs, *omitted, *v;
    campaign c = {0};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-campaign/0") ||
        js_str(e, &c.name, root, "name") || js_arr(e, &runs, &c.n_runs, root, "runs") ||
        js_arr(e, &omitted, &c.n_omitted, root, "omitted") || js_get(e, &v, root, "tool"))
        return e->code;
    c.runs = scratch_array(sc, c.n_runs, sizeof *c.runs);
    c.omitted = scratch_array(sc, c.n_omitted, sizeof *c.omitted);
    if (!c.runs || !c.omitted)
        return err_nomem(e);
    for (size_t i = 0; i < c.n_runs; i++)
        if (read_run(e, &c.runs[i], sc, js_at(runs, i)))
            return e->code;
    for (size_t i = 0; i < c.n_omitted; i++) {
        js_node *o = js_at(omitted, i);
        if (js_str(e, &c.omitted[i].what, o, "what") || js_str(e, &c.omitted[i].reason, o, "reason") ||
            js_done(e, o))
            return e->code;
    }
    if (read_figures(e, &c.figures, root) || check_once(e, &c, root) || js_done(e, root))
        return e->code;
    *out = c;
    return RP_OK;
}

static void write_by_status(jw *j, const char *key, const uint64_t v[CAMPAIGN_STATUSES])
{
    jw_obj(j, key);
    for (int i = 0; i < CAMPAIGN_STATUSES; i++)
        jw_u64(j, phase_status_names[i], v[i]);
    jw_end(j);
}

static void write_figures(jw *j, const campaign_figures *g)
{
    jw_obj(j, "figures");
    jw_u64(j, "runs", g->runs);
    jw_u64(j, "phases", g->phases);
    write_by_status(j, "phases_by_status", g->phases_by);
    jw_u64(j, "checks_passed", g->checks_passed);
    jw_u64(j, "candidates", g->candidates);
    write_by_status(j, "candidates_by_verdict", g->candidates_by);
    jw_u64(j, "distinct_plans", g->plans);
    jw_u64(j, "pairs", g->pairs);
    jw_u64(j, "omissions", g->omitted);
    jw_end(j);
}

static void write_folders(jw *j, const char *key, const char *const *v, size_t n)
{
    jw_arr(j, key);
    for (size_t i = 0; i < n; i++)
        jw_str(j, NULL, v[i]);
    jw_end(j);
}

void campaign_write(jw *j, const campaign *c)
{
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-campaign/0");
    jw_str(j, "name", c->name);
    jw_arr(j, "runs");
    for (size_t i = 0; i < c->n_runs; i++) {
        const campaign_run *r = &c->runs[i];
        jw_obj(j, NULL);
        jw_str(j, "name", r->name);
        jw_str(j, "role", r->role);
        write_folders(j, "evidence", r->evidence, r->n_evidence);
        jw_str(j, "pair", *r->pair ? r->pair : NULL);
        write_folders(j, "candidates", r->candidates, r->n_candidates);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "omitted");
    for (size_t i = 0; i < c->n_omitted; i++) {
        jw_obj(j, NULL);
        jw_str(j, "what", c->omitted[i].what);
        jw_str(j, "reason", c->omitted[i].reason);
        jw_end(j);
    }
    jw_end(j);
    write_figures(j, &c->figures);
    cli_tool_json(j);
    jw_end(j);
}

/* --- Figures. --- */

static bool new_plan(const campaign_folder *v, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (v[k].have_record && digest_equal(v[k].rec.plan_signature, v[i].rec.plan_signature))
            return false;
    return v[i].have_record;
}

/* A worker was started for it. */
static bool started(phase_status s)
{
    return s != PHASE_NOT_RUN && s != PHASE_UNAVAILABLE;
}

/* A candidate's verdict is its run's status. */
static int status_of(const run_record *r)
{
    int i = 0;
    while (i < PHASE_NOT_RUN && strcmp(phase_status_names[i], r->status))
        i++;
    return i;
}

void campaign_tally(campaign_figures *out, const campaign *c, const campaign_folder *v, size_t n)
{
    campaign_figures g = {.runs = c->n_runs, .omitted = c->n_omitted};
    for (size_t i = 0; i < c->n_runs; i++)
        g.pairs += *c->runs[i].pair != 0;
    for (size_t i = 0; i < n; i++) {
        const run_record *r = &v[i].rec;
        g.omitted += v[i].omitted;
        g.plans += new_plan(v, i);
        if (v[i].kind == FOLDER_CANDIDATE) {
            g.candidates++;
            g.candidates_by[v[i].have_record ? status_of(r) : PHASE_REJECTED]++;
            continue;
        }
        for (uint64_t k = 0; v[i].have_record && k < r->n_phases; k++) {
            g.phases += started(r->phases[k].status);
            g.phases_by[r->phases[k].status]++;
            g.checks_passed += r->phases[k].status == PHASE_PASSED ? r->phases[k].checks_passed : 0;
        }
    }
    *out = g;
}

/* --- For people. --- */

static uint64_t kernel_sum_ns(scratch *sc, const result *t)
{
    uint64_t per = t->n_graph, launches = per ? t->n_timeline / per : 0, sum = 0;
    uint64_t *v = scratch_array(sc, launches, sizeof *v);
    for (uint64_t i = 0; v && launches && i < per; i++) {
        if (t->timeline[i].kind != RESULT_NODE_KERNEL)
            continue;
        for (uint64_t k = 0; k < launches; k++)
            v[k] = t->timeline[k * per + i].end_ns - t->timeline[k * per + i].start_ns;
        sum += median_u64(sc, v, launches);
    }
    return sum;
}

void campaign_row(campaign_folder *out, scratch *sc, const run_record *rec, const judgement *j,
                  const lowering *l)
{
    out->have_record = true;
    out->rec = *rec;
    out->rec.device_requested = "";
    const char *name = scratch_strdup(sc, rec->bundle_name);
    out->rec.bundle_name = name ? name : "";
    for (uint64_t i = 0; i < rec->n_phases; i++) {
        const char *phase = phase_name(sc, rec->phases[i].index);
        out->rec.phases[i].name = phase ? phase : "";
        out->rec.phases[i].error = "";
    }
    for (uint64_t i = 0; i < rec->n_timings; i++) {
        const char *scope = scratch_strdup(sc, rec->timings[i].scope);
        out->rec.timings[i].scope = scope ? scope : "";
    }
    for (uint64_t i = 0; i < l->n_fixtures; i++)
        if (j->worst[i].elements && j->worst[i].max_scaled_error > out->max_scaled_error)
            out->max_scaled_error = j->worst[i].max_scaled_error;
    if (j->timeline && j->timeline->n_timeline && !result_emulated(j->timeline))
        out->device_sum_ns = kernel_sum_ns(sc, j->timeline);
}

static const claimed_timing *host_timing(const run_record *r)
{
    for (uint64_t i = 0; i < r->n_timings; i++)
        if (!strcmp(r->timings[i].scope, pair_scope))
            return &r->timings[i];
    return NULL;
}

static void row(text_table *t, scratch *sc, const campaign_folder *v)
{
    const run_record *r = &v->rec;
    const claimed_timing *host = host_timing(r);
    bool admitted = !strcmp(r->status, phase_status_names[PHASE_PASSED]) ||
                    !strcmp(r->status, phase_status_names[PHASE_PROFILE_FAILED]);
    char hex[DIGEST_HEX];
    digest_hex(r->plan_signature, hex);
    if (v->kind == FOLDER_EVIDENCE)
        text_cell(t, "%s", r->bundle_name);
    else
        text_cell(t, "%s (%s)", r->bundle_name, v->folder);
    text_cell(t, "%.12s", hex);
    text_cell(t, "%llu/%llu", (unsigned long long)r->checks_passed, (unsigned long long)r->checks_total);
    text_cell(t, "%.4f", v->max_scaled_error);
    if (host && admitted)
        text_cell(t, "%s [%.2f, %.2f]", text_us(sc, host->s.median_ps), (double)host->s.min_ps / 1e6,
                  (double)host->s.max_ps / 1e6);
    else
        text_cell(t, "%s", "-");
    text_cell(t, "%s", v->device_sum_ns && admitted ? text_us(sc, v->device_sum_ns * 1000) : "-");
    text_cell(t, "%s", r->status);
}

void campaign_table(FILE *f, scratch *sc, const campaign_folder *v, size_t n)
{
    static const char *const head[] = {"workload",   "plan",  "checks", "max scaled", "host median [range]",
                                       "device sum", "status"};
    text_table *t = text_table_new(sc, "llrrrrl");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (size_t i = 0; i < n; i++) {
        if (v[i].have_record) {
            row(t, sc, &v[i]);
            continue;
        }
        text_cell(t, "%s", v[i].folder);
        for (int k = 0; k < 5; k++)
            text_cell(t, "%s", "-");
        text_cell(t, "%s", "not judged");
    }
    text_table_print(t, f, "");
    fprintf(f,
            "host: %s, hot cache; device: sum of the kernels' median durations, instrumented; no time of a "
            "rejected run is shown\n",
            pair_scope);
}

static void by_status(FILE *f, const uint64_t v[CAMPAIGN_STATUSES])
{
    const char *before = ": ";
    for (int i = 0; i < CAMPAIGN_STATUSES; i++)
        if (v[i]) {
            fprintf(f, "%s%llu %s", before, (unsigned long long)v[i], phase_status_names[i]);
            before = ", ";
        }
    fputc('\n', f);
}

void campaign_print_figures(FILE *f, scratch *sc, const campaign *c, const campaign_figures *g)
{
    fprintf(f, "campaign %s: %llu runs, %llu pairs\n", text_safe(sc, c->name), (unsigned long long)g->runs,
            (unsigned long long)g->pairs);
    fprintf(f, "  %llu worker phases", (unsigned long long)g->phases);
    by_status(f, g->phases_by);
    fprintf(f, "  %llu output checks passed in phases that passed\n", (unsigned long long)g->checks_passed);
    fprintf(f, "  %llu candidates", (unsigned long long)g->candidates);
    by_status(f, g->candidates_by);
    fprintf(f, "  %llu distinct plans by signature\n  %llu omissions\n", (unsigned long long)g->plans,
            (unsigned long long)g->omitted);
    for (size_t i = 0; i < c->n_omitted; i++)
        fprintf(f, "    %s: %s\n", text_safe(sc, c->omitted[i].what), text_safe(sc, c->omitted[i].reason));
}

/* --- Every figure with the files that it comes from. --- */

static bool counts(const char *what, const phase_record *p, int status)
{
    if (!strcmp(what, "worker_phases"))
        return started(p->status);
    if (!strcmp(what, "checks_passed"))
        return p->status == PHASE_PASSED && p->checks_passed;
    return (int)p->status == status;
}

static void phase_files(jw *j, const campaign_audited *a, const char *what, int status)
{
    for (size_t i = 0; i < a->n_folders; i++) {
        const campaign_folder *v = &a->folders[i];
        if (v->kind == FOLDER_CANDIDATE || !v->have_record)
            continue;
        for (uint64_t k = 0; k < v->rec.n_phases; k++) {
            const phase_record *p = &v->rec.phases[k];
            if (!counts(what, p, status))
                continue;
            /* A phase that gave no result rests on the controller's record. */
            if (v->results >> k & 1)
                jw_fmt(j, NULL, "%s/phases/%llu-%s/result.json", v->folder, (unsigned long long)p->index,
                       p->name);
            else
                jw_fmt(j, NULL, "%s/evidence.json", v->folder);
        }
    }
}

static void begin_figure(jw *j, const char *name, const char *by, uint64_t value)
{
    jw_obj(j, NULL);
    jw_str(j, "figure", name);
    if (by)
        jw_str(j, "status", by);
    jw_u64(j, "value", value);
    jw_arr(j, "files");
}

static void end_figure(jw *j)
{
    jw_end(j);
    jw_end(j);
}

static void candidate_files(jw *j, const campaign_audited *a, int status)
{
    for (size_t i = 0; i < a->n_folders; i++) {
        const campaign_folder *v = &a->folders[i];
        if (v->kind == FOLDER_CANDIDATE && (v->have_record ? status_of(&v->rec) : PHASE_REJECTED) == status)
            jw_fmt(j, NULL, "%s/evidence.json", v->folder);
    }
}

static void figure_files(jw *j, const campaign_audited *a)
{
    const campaign_figures *g = &a->recomputed;
    jw_arr(j, "figures");
    begin_figure(j, "runs", NULL, g->runs);
    for (size_t i = 0; i < a->claimed.n_runs; i++)
        jw_fmt(j, NULL, "campaign.json#/runs/%zu", i);
    end_figure(j);
    begin_figure(j, "worker_phases", NULL, g->phases);
    phase_files(j, a, "worker_phases", 0);
    end_figure(j);
    for (int s = 0; s < CAMPAIGN_STATUSES; s++) {
        begin_figure(j, "phases", phase_status_names[s], g->phases_by[s]);
        phase_files(j, a, "phases", s);
        end_figure(j);
    }
    begin_figure(j, "checks_passed", NULL, g->checks_passed);
    phase_files(j, a, "checks_passed", 0);
    end_figure(j);
    for (int s = 0; s < CAMPAIGN_STATUSES; s++) {
        begin_figure(j, "candidates", phase_status_names[s], g->candidates_by[s]);
        candidate_files(j, a, s);
        end_figure(j);
    }
    begin_figure(j, "distinct_plans", NULL, g->plans);
    for (size_t i = 0; i < a->n_folders; i++)
        if (new_plan(a->folders, i))
            jw_fmt(j, NULL, "%s/plan_signature.json", a->folders[i].folder);
    end_figure(j);
    begin_figure(j, "pairs", NULL, g->pairs);
    for (size_t i = 0; i < a->claimed.n_runs; i++)
        if (*a->claimed.runs[i].pair)
            jw_fmt(j, NULL, "%s/pair.json", a->claimed.runs[i].pair);
    end_figure(j);
    begin_figure(j, "omissions", NULL, g->omitted);
    for (size_t i = 0; i < a->claimed.n_omitted; i++)
        jw_fmt(j, NULL, "campaign.json#/omitted/%zu", i);
    for (size_t i = 0; i < a->n_folders; i++)
        for (uint64_t k = 0; k < a->folders[i].omitted; k++)
            jw_fmt(j, NULL, "%s/evidence.json#/omitted/%llu", a->folders[i].folder, (unsigned long long)k);
    end_figure(j);
    jw_end(j);
}

void campaign_json(jw *j, scratch *sc, const campaign_audited *a)
{
    static const char *const kinds[] = {"evidence", "pair", "candidate"};
    (void)sc;
    if (!a->readable)
        return;
    jw_str(j, "campaign", a->claimed.name);
    figure_files(j, a);
    jw_arr(j, "folders");
    for (size_t i = 0; i < a->n_folders; i++) {
        const campaign_folder *v = &a->folders[i];
        jw_obj(j, NULL);
        jw_str(j, "folder", v->folder);
        jw_str(j, "run", a->claimed.runs[v->run].name);
        jw_str(j, "kind", kinds[v->kind]);
        jw_str(j, "status", v->have_record ? v->rec.status : NULL);
        jw_u64(j, "checks_passed", v->have_record ? v->rec.checks_passed : 0);
        jw_u64(j, "checks_total", v->have_record ? v->rec.checks_total : 0);
        jw_f64(j, "max_scaled_error", v->max_scaled_error);
        jw_end(j);
    }
    jw_end(j);
}
