/* Auditing a campaign: every folder as `replay audit` takes it, then the figures over what came out. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "replay/campaign.h"
#include "replay/cli.h"
#include "replay/evidence.h"

static const uint64_t max_document = 64ULL << 20;

typedef struct {
    campaign_audited *a;
    scratch *sc;
    const char *dir;
    const verify_options *opt;
    FILE *progress;
    bool unanswered; /* in the run at hand: a folder has a required check without an answer */
} auditing;

static void say(const auditing *g, const char *folder, const char *status)
{
    if (!g->progress)
        return;
    fprintf(g->progress, "  %s: %s\n", text_safe(g->sc, folder), status);
    fflush(g->progress);
}

/* Behind the phase's own folder, whose name is *n bytes before it; NULL: not below phases/. */
static const char *below_phase(const char *file, int *n)
{
    const char *name = strncmp(file, "phases/", 7) ? NULL : file + 7,
               *slash = name ? strchr(name, '/') : NULL;
    *n = slash ? (int)(slash - name) : 0;
    return slash;
}

/* The same numbers out of another phase. */
static bool same_numbers(const finding *a, const finding *b)
{
    int n;
    const char *x = below_phase(a->file, &n), *y = below_phase(b->file, &n);
    return a->id == b->id && x && y && !strcmp(x, y) && !strcmp(a->where, b->where) &&
           !strcmp(a->message, b->message);
}

/* A finding's message; of numbers that several phases gave alike, with the phases. NULL: an earlier one has
 * said it. */
static const char *message_of(auditing *g, const findings *fs, size_t i)
{
    const finding *f = &fs->v[i];
    const char *phases = "";
    size_t seen = 0;
    if (f->id != FIND_RUN_NUMERIC)
        return f->message;
    for (size_t k = 0; k < i; k++)
        if (same_numbers(&fs->v[k], f))
            return NULL;
    for (size_t k = i; k < fs->n && phases; k++) {
        int n;
        if (!same_numbers(f, &fs->v[k]))
            continue;
        const char *end = below_phase(fs->v[k].file, &n);
        phases = scratch_printf(g->sc, "%s%s%.*s", phases, seen++ ? ", " : "", n, end - n);
    }
    if (seen < 2 || !phases)
        return f->message;
    const char *all = scratch_printf(g->sc, "%s (alike in the phases %s)", f->message, phases);
    return all ? all : f->message;
}

/* Findings of a folder, under its name. */
static void take_findings(auditing *g, const char *folder, const report *r)
{
    for (size_t i = 0; i < r->fs.n; i++) {
        const finding *f = &r->fs.v[i];
        const char *message = message_of(g, &r->fs, i),
                   *file = scratch_printf(g->sc, "%s/%s", folder, f->file);
        if (message)
            findings_add(&g->a->r->fs, f->id, file ? file : folder, f->where, f->expected, f->actual, "%s",
                         message);
    }
    g->a->r->fs.nomem |= r->fs.nomem;
    g->unanswered |= report_verdict(r) == CHECK_NOT_CHECKABLE;
}

uint64_t campaign_count_omitted(const char *dir)
{
    rp_err e = {0};
    span text;
    js_node *root, *v;
    size_t n = 0;
    scratch *sc = scratch_new(0);
    const char *path = sc ? file_join(sc, dir, "evidence.json") : NULL;
    if (path && !file_read(&e, &text, sc, path, max_document) &&
        !js_parse(&e, &root, sc, "evidence.json", text) && js_arr(&e, &v, &n, root, "omitted"))
        n = 0;
    scratch_free(sc);
    return n;
}

static void note_results(campaign_folder *v, scratch *sc, const char *full)
{
    for (uint64_t i = 0; i < v->rec.n_phases; i++) {
        const phase_record *p = &v->rec.phases[i];
        const char *path =
            scratch_printf(sc, "%s/phases/%llu-%s/result.json", full, (unsigned long long)p->index, p->name);
        if (path && file_exists(path))
            v->results |= 1ULL << i;
    }
}

static void keep_folder(auditing *g, const char *folder, folder_kind kind, size_t run, const audited *s,
                        const char *full)
{
    campaign_folder *v = &g->a->folders[g->a->n_folders++];
    *v = (campaign_folder){.folder = folder, .kind = kind, .run = run};
    if (!s)
        return;
    v->omitted = campaign_count_omitted(full);
    if (s->l && s->j)
        campaign_row(v, g->sc, &s->recomputed, s->j, s->l);
    note_results(v, g->sc, full);
    take_findings(g, folder, s->r);
    g->a->worst = cli_worse(g->a->worst, audit_exit(s));
    say(g, folder, v->have_record ? v->rec.status : "not judged");
}

/* It cannot be read, which is an answer about the campaign. */
static void keep_unreadable(rp_err *e, auditing *g, const char *folder, folder_kind kind, size_t run)
{
    if (e->code == RP_NOMEM)
        return;
    findings_add(&g->a->r->fs, FIND_EVIDENCE_INVALID, folder, e->where, NULL, NULL, "%s: %s", e->file,
                 e->msg);
    *e = (rp_err){0};
    keep_folder(g, folder, kind, run, NULL, NULL);
    say(g, folder, "unreadable");
}

static rp_code audit_one(rp_err *e, auditing *g, const char *folder, folder_kind kind, size_t run)
{
    scratch *own = scratch_new(0);
    audited *s = own ? scratch_alloc(own, sizeof *s) : NULL;
    const char *full = own ? file_join(own, g->dir, folder) : NULL;
    if (!s || !full)
        err_nomem(e);
    else if (audit_folder(e, s, own, full, g->opt))
        keep_unreadable(e, g, folder, kind, run);
    else
        keep_folder(g, folder, kind, run, s, full);
    if (s)
        audit_clear(s);
    scratch_free(own);
    return e->code;
}

static rp_code audit_pair(rp_err *e, auditing *g, const char *folder, size_t run)
{
    static const char *const letters[] = {"a", "b"};
    scratch *own = scratch_new(0);
    pair_audited *p = own ? scratch_alloc(own, sizeof *p) : NULL;
    const char *full = own ? file_join(own, g->dir, folder) : NULL;
    const char *side[2] = {file_join(g->sc, folder, letters[0]), file_join(g->sc, folder, letters[1])};
    if (!p || !full || !side[0] || !side[1])
        err_nomem(e);
    else if (pair_audit(e, p, own, full, g->opt)) {
        keep_unreadable(e, g, side[0], FOLDER_PAIR_SIDE, run);
        if (!e->code)
            keep_folder(g, side[1], FOLDER_PAIR_SIDE, run, NULL, NULL);
    } else {
        for (int i = 0; i < 2; i++) {
            const char *at = file_join(own, full, letters[i]);
            keep_folder(g, side[i], FOLDER_PAIR_SIDE, run, &p->side[i], at ? at : full);
        }
        take_findings(g, folder, p->r);
        g->a->worst = cli_worse(g->a->worst, pair_audit_exit(p));
        say(g, folder, p->judged ? pair_verdict_names[p->recomputed.verdict] : "not judged");
    }
    if (p)
        pair_audit_clear(p);
    scratch_free(own);
    return e->code;
}

static rp_code audit_run(rp_err *e, auditing *g, size_t i)
{
    const campaign_run *r = &g->a->claimed.runs[i];
    report_begin(g->a->r, r->name, true);
    g->unanswered = false;
    for (size_t k = 0; k < r->n_evidence; k++)
        if (audit_one(e, g, r->evidence[k], FOLDER_EVIDENCE, i))
            return e->code;
    if (*r->pair && audit_pair(e, g, r->pair, i))
        return e->code;
    for (size_t k = 0; k < r->n_candidates; k++)
        if (audit_one(e, g, r->candidates[k], FOLDER_CANDIDATE, i))
            return e->code;
    if (g->unanswered)
        report_not_checkable(g->a->r, "%s: a folder has a required check without an answer", r->role);
    else
        report_end(g->a->r, "%s: evidence %zu, pairs %d, candidates %zu", r->role, r->n_evidence,
                   *r->pair ? 1 : 0, r->n_candidates);
    return RP_OK;
}

static void claim(report *r, const char *where, uint64_t claimed, uint64_t found)
{
    if (claimed != found)
        findings_add(&r->fs, FIND_EVIDENCE_CLAIM, "campaign.json", where, NULL, NULL,
                     "claimed %llu, recomputed %llu", (unsigned long long)claimed, (unsigned long long)found);
}

static void claim_by(report *r, const char *name, const uint64_t *claimed, const uint64_t *found)
{
    char where[96];
    for (int i = 0; i < CAMPAIGN_STATUSES; i++) {
        snprintf(where, sizeof where, "/figures/%s/%s", name, phase_status_names[i]);
        claim(r, where, claimed[i], found[i]);
    }
}

static void compare_figures(campaign_audited *a)
{
    const campaign_figures *c = &a->claimed.figures, *f = &a->recomputed;
    report_begin(a->r, "figures", true);
    claim(a->r, "/figures/runs", c->runs, f->runs);
    claim(a->r, "/figures/phases", c->phases, f->phases);
    claim_by(a->r, "phases_by_status", c->phases_by, f->phases_by);
    claim(a->r, "/figures/checks_passed", c->checks_passed, f->checks_passed);
    claim(a->r, "/figures/candidates", c->candidates, f->candidates);
    claim_by(a->r, "candidates_by_verdict", c->candidates_by, f->candidates_by);
    claim(a->r, "/figures/distinct_plans", c->plans, f->plans);
    claim(a->r, "/figures/pairs", c->pairs, f->pairs);
    claim(a->r, "/figures/omissions", c->omitted, f->omitted);
    report_end(a->r, "runs, phases, checks, candidates, plans, pairs, omissions: claimed = recomputed");
}

static size_t count_folders(const campaign *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_runs; i++)
        n += c->runs[i].n_evidence + c->runs[i].n_candidates + (*c->runs[i].pair ? 2 : 0);
    return n;
}

rp_code campaign_audit(rp_err *e, campaign_audited *out, scratch *sc, const char *dir,
                       const verify_options *opt, FILE *progress)
{
    span text;
    size_t n;
    const char *path = file_join(sc, dir, "campaign.json");
    *out = (campaign_audited){.r = report_new(sc)};
    if (!out->r || !path)
        return err_nomem(e);
    report_begin(out->r, "SHA256SUMS", true);
    if (evidence_check_sums(e, &out->r->fs, &n, sc, dir))
        return e->code;
    report_end(out->r, "%zu files, none missing, none extra, every digest", n);
    if (evidence_beyond_limits(&out->r->fs))
        return RP_OK;
    report_begin(out->r, "campaign.json", true);
    if (file_read(e, &text, sc, path, max_document))
        return e->code;
    out->readable = !campaign_read(e, &out->claimed, sc, "campaign.json", text);
    if (!out->readable && !err_to_finding(e, &out->r->fs))
        return e->code;
    report_end(out->r, "%zu runs, %zu omitted with a reason", out->claimed.n_runs, out->claimed.n_omitted);
    if (!out->readable)
        return RP_OK;
    if (!(out->folders = scratch_array(sc, count_folders(&out->claimed), sizeof *out->folders)))
        return err_nomem(e);
    auditing g = {.a = out, .sc = sc, .dir = dir, .opt = opt, .progress = progress};
    for (size_t i = 0; i < out->claimed.n_runs; i++)
        if (audit_run(e, &g, i))
            return e->code;
    campaign_tally(&out->recomputed, &out->claimed, out->folders, out->n_folders);
    compare_figures(out);
    return out->r->fs.nomem ? err_nomem(e) : RP_OK;
}

int campaign_audit_exit(const campaign_audited *a)
{
    return cli_worse(cli_verdict_exit(a->r), a->worst);
}
