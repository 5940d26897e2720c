#include "replay/pair.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "replay/cli.h"
#include "replay/evidence.h"

const char pair_scope[] = "host_graph_launch_sync";
const char *const pair_verdict_names[] = {"SAME", "FASTER", "SLOWER", "AMBIGUOUS", "REFUSED", NULL};
static const char *const letters[] = {"a", "b"};
static const uint64_t max_document = 1 << 20;

/* The products are meant modulo 2^64. */
#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

/* splitmix64's first output for this seed; the sides change places when it is odd (a Fisher-Yates shuffle of
 * two). */
WRAPS int pair_first(uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (int)(z & 1);
}

uint64_t pair_timing_phase(uint64_t k)
{
    static const uint64_t phases[PAIR_ROUNDS] = {2, 3, 6};
    return phases[k];
}

pair_verdict pair_judge(const spread *a, const spread *b)
{
    uint64_t less = a->median_ps < b->median_ps ? a->median_ps : b->median_ps;
    uint64_t more = a->median_ps < b->median_ps ? b->median_ps : a->median_ps;
    /* Samples come from a file; a phase's deadline keeps honest ones far below this. */
    if (more > UINT64_MAX / 1000)
        return PAIR_AMBIGUOUS;
    if ((more - less) * 1000 < less * PAIR_FLOOR_PERMILLE || more == less)
        return PAIR_SAME;
    if (b->max_ps < a->min_ps)
        return PAIR_FASTER;
    return a->max_ps < b->min_ps ? PAIR_SLOWER : PAIR_AMBIGUOUS;
}

/* --- One workload? --- */

static bool is_task(const manifest_file *f)
{
    return f->role == ROLE_REFERENCE || f->role == ROLE_RECIPE || f->role == ROLE_FIXTURE;
}

static const char *other_file(const manifest *a, const manifest *b)
{
    for (size_t i = 0; i < a->n_files; i++) {
        const manifest_file *f = is_task(&a->files[i]) ? manifest_find(b, a->files[i].path) : &a->files[i];
        if (!f || !digest_equal(f->sha256, a->files[i].sha256))
            return a->files[i].path;
    }
    return NULL;
}

/* What is accepted; what a contract says of the implementation (accuracy, determinism, architecture,
 * dispatch) may differ. */
static bool accepts_the_same(const contract *a, const contract *b)
{
    if (a->n_tolerances != b->n_tolerances || a->n_fixtures != b->n_fixtures ||
        a->checks_per_phase != b->checks_per_phase)
        return false;
    for (size_t i = 0; i < a->n_tolerances; i++) {
        const contract_tolerance *t = contract_tolerance_of(b, a->tolerances[i].output);
        if (!t || memcmp(&t->tol.atol, &a->tolerances[i].tol.atol, sizeof t->tol.atol) ||
            memcmp(&t->tol.rtol, &a->tolerances[i].tol.rtol, sizeof t->tol.rtol))
            return false;
    }
    for (size_t i = 0; i < a->n_fixtures; i++)
        if (strcmp(a->fixtures[i].name, b->fixtures[i].name) ||
            a->fixtures[i].applies != b->fixtures[i].applies)
            return false;
    return true;
}

const char *pair_difference(const bundle *a, const bundle *b)
{
    const char *path = other_file(a->man, b->man);
    if (!path)
        path = other_file(b->man, a->man);
    return path || accepts_the_same(a->contract, b->contract) ? path : "contract.json";
}

/* --- From runs to a verdict. --- */

static const population *population_of(const judgement *j)
{
    for (uint64_t i = 0; i < j->n_populations; i++)
        if (!strcmp(j->populations[i].scope, pair_scope))
            return &j->populations[i];
    return NULL;
}

static void fill_side(pair_side *out, scratch *sc, const run_record *r, const judgement *j)
{
    const population *p = population_of(j);
    *out = (pair_side){.bundle_name = r->bundle_name,
                       .status = r->status,
                       .root = r->root,
                       .plan_signature = r->plan_signature};
    if (!p)
        return;
    out->n = p->n < PAIR_ROUNDS ? p->n : PAIR_ROUNDS;
    memcpy(out->medians_ps, p->medians_ps, (size_t)out->n * sizeof *p->medians_ps);
    out->s = population_spread(sc, p);
}

/* A profile that failed is no matter of timing. */
static bool admitted(phase_status s)
{
    return s == PHASE_PASSED || s == PHASE_PROFILE_FAILED;
}

/* The side to blame: one that failed rather than one that was not run because of it. */
static const char *refusal(scratch *sc, const pair_record *p, const judgement *const j[2],
                           const bool rejected[2])
{
    for (int k = 0; k < 4; k++) {
        int i = k % 2;
        phase_status s = judgement_status(j[i]);
        if ((admitted(s) && !rejected[i]) || (k < 2 && s == PHASE_NOT_RUN))
            continue;
        return scratch_printf(sc, "%s is no passed run (%s): its timings are admitted to no comparison",
                              i ? "B" : "A",
                              admitted(s) ? phase_status_names[PHASE_REJECTED] : phase_status_names[s]);
    }
    for (int i = 0; i < 2; i++)
        if (p->side[i].n != PAIR_ROUNDS)
            return scratch_printf(sc, "%s has %llu timing processes, not %d", i ? "B" : "A",
                                  (unsigned long long)p->side[i].n, PAIR_ROUNDS);
    if (strcmp(j[0]->first->device_uuid_sha256, j[1]->first->device_uuid_sha256) ||
        strcmp(j[0]->first->driver, j[1]->first->driver))
        return "the two ran on different devices or drivers";
    return "";
}

static uint64_t rounds_of(const judgement *const j[2])
{
    uint64_t n = 0;
    for (uint64_t k = 0; k < PAIR_ROUNDS; k++)
        for (int i = 0; i < 2; i++)
            for (uint64_t x = 0; x < j[i]->n_phases; x++)
                if (j[i]->phases[x].index == pair_timing_phase(k) && j[i]->phases[x].status != PHASE_NOT_RUN)
                    n = k + 1;
    return n;
}

void pair_from_runs(pair_record *out, scratch *sc, const run_record rec[2], const judgement *const j[2],
                    const bool rejected[2])
{
    *out = (pair_record){.rounds = rounds_of(j)};
    for (int i = 0; i < 2; i++)
        fill_side(&out->side[i], sc, &rec[i], j[i]);
    out->reason = refusal(sc, out, j, rejected);
    if (!out->reason)
        out->reason = "out of memory";
    out->verdict = *out->reason ? PAIR_REFUSED : pair_judge(&out->side[0].s, &out->side[1].s);
}

int pair_exit(const pair_record *p, const judgement *const j[2])
{
    if (p->verdict != PAIR_REFUSED)
        return EXIT_PASSED;
    int code = cli_worse(status_exit(judgement_status(j[0])), status_exit(judgement_status(j[1])));
    return code == EXIT_PASSED ? EXIT_REJECTED : code;
}

/* --- pair.json. --- */

static const char *process_name(char out[32], int side, uint64_t k)
{
    snprintf(out, 32, "%s/phases/%llu-timing-%llu", letters[side], (unsigned long long)pair_timing_phase(k),
             (unsigned long long)(k + 1));
    return out;
}

static void write_side(jw *j, const char *key, const pair_side *s)
{
    jw_obj(j, key);
    jw_str(j, "folder", key);
    jw_str(j, "bundle", s->bundle_name);
    jw_digest(j, "root", s->root);
    jw_digest(j, "plan_signature", s->plan_signature);
    jw_str(j, "status", s->status);
    jw_u64s(j, "medians_ps", s->medians_ps, s->n);
    jw_u64(j, "median_ps", s->n ? s->s.median_ps : 0);
    jw_u64(j, "min_ps", s->n ? s->s.min_ps : 0);
    jw_u64(j, "max_ps", s->n ? s->s.max_ps : 0);
    jw_end(j);
}

void pair_write(jw *j, const pair_record *p)
{
    char name[32];
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-pair/0");
    jw_str(j, "scope", pair_scope);
    jw_u64(j, "floor_permille", PAIR_FLOOR_PERMILLE);
    jw_arr(j, "order");
    for (uint64_t k = 0; k < p->rounds; k++) {
        int first = pair_first(k);
        jw_obj(j, NULL);
        jw_u64(j, "seed", k);
        jw_arr(j, "processes");
        jw_str(j, NULL, process_name(name, first, k));
        jw_str(j, NULL, process_name(name, 1 - first, k));
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
    write_side(j, letters[0], &p->side[0]);
    write_side(j, letters[1], &p->side[1]);
    jw_str(j, "verdict", pair_verdict_names[p->verdict]);
    jw_str(j, "reason", p->reason);
    cli_tool_json(j);
    jw_end(j);
}

static rp_code read_side(rp_err *e, pair_side *s, js_node *root, const char *key)
{
    js_node *o, *a;
    const char *folder;
    size_t n = 0;
    if (js_obj(e, &o, root, key) || js_str(e, &folder, o, "folder") ||
        js_str(e, &s->bundle_name, o, "bundle") || js_digest(e, &s->root, o, "root") ||
        js_digest(e, &s->plan_signature, o, "plan_signature") || js_str(e, &s->status, o, "status") ||
        js_arr(e, &a, &n, o, "medians_ps") || js_u64(e, &s->s.median_ps, o, "median_ps") ||
        js_u64(e, &s->s.min_ps, o, "min_ps") || js_u64(e, &s->s.max_ps, o, "max_ps"))
        return e->code;
    if (strcmp(folder, key) || n > PAIR_ROUNDS)
        return js_fail(e, o, FIND_EVIDENCE_INVALID,
                       "expected folder %s and at most %d processes, found %.40s and %zu", key, PAIR_ROUNDS,
                       folder, n);
    s->n = n;
    for (size_t i = 0; i < n; i++)
        if (js_as_u64(e, &s->medians_ps[i], js_at(a, i)))
            return e->code;
    return js_done(e, o);
}

/* The order is not chosen: it must be what the seeds give. */
static rp_code read_order(rp_err *e, uint64_t *rounds, js_node *root)
{
    js_node *order, *processes;
    size_t n = 0, two = 0;
    char want[32];
    if (js_arr(e, &order, &n, root, "order"))
        return e->code;
    if (n > PAIR_ROUNDS)
        return js_fail(e, order, FIND_EVIDENCE_INVALID, "expected at most %d rounds, found %zu", PAIR_ROUNDS,
                       n);
    for (size_t k = 0; k < n; k++) {
        js_node *o = js_at(order, k);
        uint64_t seed;
        if (js_u64(e, &seed, o, "seed") || js_arr(e, &processes, &two, o, "processes") || js_done(e, o))
            return e->code;
        for (size_t i = 0; i < 2; i++) {
            const char *have = "";
            process_name(want, i ? 1 - pair_first(k) : pair_first(k), k);
            if (i < two && js_as_str(e, &have, js_at(processes, i)))
                return e->code;
            if (seed != k || two != 2 || strcmp(have, want))
                return js_fail(e, o, FIND_EVIDENCE_CLAIM,
                               "expected %s as process %zu of seed %zu, found %.60s", want, i + 1, k, have);
        }
    }
    *rounds = n;
    return RP_OK;
}

rp_code pair_read(rp_err *e, pair_record *out, scratch *sc, const char *file, span text)
{
    js_node *root, *v;
    const char *scope;
    uint64_t floor_permille;
    int verdict;
    *out = (pair_record){0};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-pair/0") ||
        js_str(e, &scope, root, "scope") || js_u64(e, &floor_permille, root, "floor_permille"))
        return e->code;
    if (strcmp(scope, pair_scope) || floor_permille != PAIR_FLOOR_PERMILLE)
        return js_fail(e, root, FIND_EVIDENCE_INVALID,
                       "expected scope %s and a floor of %d permille, found %.40s and %llu", pair_scope,
                       PAIR_FLOOR_PERMILLE, scope, (unsigned long long)floor_permille);
    if (read_order(e, &out->rounds, root) || read_side(e, &out->side[0], root, letters[0]) ||
        read_side(e, &out->side[1], root, letters[1]) ||
        js_enum(e, &verdict, root, "verdict", pair_verdict_names) ||
        js_str(e, &out->reason, root, "reason") || js_get(e, &v, root, "tool"))
        return e->code;
    out->verdict = (pair_verdict)verdict;
    return js_done(e, root);
}

void pair_print(FILE *f, scratch *sc, const pair_record *p)
{
    static const char *const head[] = {
        "side", "plan", "plan signature", "status", "processes", "median of medians", "least", "greatest"};
    text_table *t = text_table_new(sc, "llllrrrr");
    char hex[DIGEST_HEX];
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (int i = 0; i < 2; i++) {
        const pair_side *s = &p->side[i];
        digest_hex(s->plan_signature, hex);
        text_cell(t, "%s", i ? "B" : "A");
        text_cell(t, "%s", s->bundle_name);
        text_cell(t, "%.16s", hex);
        text_cell(t, "%s", s->status);
        text_cell(t, "%llu", (unsigned long long)s->n);
        bool shown = p->verdict != PAIR_REFUSED;
        text_cell(t, "%s", shown ? text_us(sc, s->s.median_ps) : "-");
        text_cell(t, "%s", shown ? text_us(sc, s->s.min_ps) : "-");
        text_cell(t, "%s", shown ? text_us(sc, s->s.max_ps) : "-");
    }
    text_table_print(t, f, "");
    if (p->verdict == PAIR_REFUSED)
        fprintf(f, "pair: REFUSED: %s\n", text_safe(sc, p->reason));
    else
        fprintf(f, "pair: %s: B takes %.3f of A's time (%s, %d processes each, floor %.1f %%)\n",
                pair_verdict_names[p->verdict],
                p->side[0].s.median_ps ? (double)p->side[1].s.median_ps / (double)p->side[0].s.median_ps
                                       : 0.0,
                pair_scope, PAIR_ROUNDS, PAIR_FLOOR_PERMILLE / 10.0);
}

/* --- Audit. --- */

static void differs(report *r, const char *where, const char *claimed, const char *found)
{
    if (strcmp(claimed, found))
        findings_add(&r->fs, FIND_EVIDENCE_CLAIM, "pair.json", where, NULL, NULL,
                     "claimed %.100s, recomputed %.100s", claimed, found);
}

static void compare_u64(report *r, const char *where, uint64_t claimed, uint64_t found)
{
    char a[24], b[24];
    snprintf(a, sizeof a, "%llu", (unsigned long long)claimed);
    snprintf(b, sizeof b, "%llu", (unsigned long long)found);
    differs(r, where, a, b);
}

static void compare_digest(report *r, const char *where, digest claimed, digest found)
{
    char a[DIGEST_HEX], b[DIGEST_HEX];
    digest_hex(claimed, a);
    digest_hex(found, b);
    differs(r, where, a, b);
}

static void compare_side(report *r, int i, const pair_side *c, const pair_side *f)
{
    char where[32];
#define AT(name) (snprintf(where, sizeof where, "/%s/" name, letters[i]), where)
    differs(r, AT("bundle"), c->bundle_name, f->bundle_name);
    differs(r, AT("status"), c->status, f->status);
    compare_digest(r, AT("root"), c->root, f->root);
    compare_digest(r, AT("plan_signature"), c->plan_signature, f->plan_signature);
    compare_u64(r, AT("medians_ps"), c->n, f->n);
    for (uint64_t k = 0; k < c->n && k < f->n; k++)
        compare_u64(r, AT("medians_ps"), c->medians_ps[k], f->medians_ps[k]);
    compare_u64(r, AT("median_ps"), c->s.median_ps, f->n ? f->s.median_ps : 0);
    compare_u64(r, AT("min_ps"), c->s.min_ps, f->n ? f->s.min_ps : 0);
    compare_u64(r, AT("max_ps"), c->s.max_ps, f->n ? f->s.max_ps : 0);
#undef AT
}

static rp_code judge_pair(rp_err *e, pair_audited *p, scratch *sc)
{
    const audited *s = p->side;
    report_begin(p->r, "pair", true);
    for (int i = 0; i < 2; i++)
        if (!s[i].j || !bundle_complete(s[i].v.bundle)) {
            report_not_checkable(p->r, "the evidence of %s is not enough to judge by", letters[i]);
            return RP_OK;
        }
    const char *other = pair_difference(s[0].v.bundle, s[1].v.bundle);
    if (other)
        findings_add(&p->r->fs, FIND_EVIDENCE_CLAIM, "pair.json", "", NULL, NULL,
                     "expected two plans of one workload, found another %s", other);
    const run_record rec[2] = {s[0].recomputed, s[1].recomputed};
    const judgement *const j[2] = {s[0].j, s[1].j};
    bool rejected[2];
    for (int i = 0; i < 2; i++)
        rejected[i] = report_verdict(s[i].r) == CHECK_REJECTED;
    pair_from_runs(&p->recomputed, sc, rec, j, rejected);
    p->judged = true;
    for (int i = 0; i < 2; i++) {
        compare_u64(p->r, i ? "/b" : "/a", rec[i].phases_requested, PAIR_PHASES);
        compare_side(p->r, i, &p->claimed.side[i], &p->recomputed.side[i]);
    }
    compare_u64(p->r, "/order", p->claimed.rounds, p->recomputed.rounds);
    differs(p->r, "/verdict", pair_verdict_names[p->claimed.verdict],
            pair_verdict_names[p->recomputed.verdict]);
    differs(p->r, "/reason", p->claimed.reason, p->recomputed.reason);
    report_end(p->r, "one workload, the order of the seeds, medians, ranges, verdict: claimed = recomputed");
    return p->r->fs.nomem ? err_nomem(e) : RP_OK;
}

rp_code pair_audit(rp_err *e, pair_audited *out, scratch *sc, const char *dir, const verify_options *opt)
{
    span text;
    size_t n;
    const char *path = file_join(sc, dir, "pair.json");
    *out = (pair_audited){.r = report_new(sc)};
    if (!out->r || !path)
        return err_nomem(e);
    report_begin(out->r, "SHA256SUMS", true);
    if (evidence_check_sums(e, &out->r->fs, &n, sc, dir))
        return e->code;
    report_end(out->r, "%zu files, none missing, none extra, every digest", n);
    bool beyond = evidence_beyond_limits(&out->r->fs);
    for (int i = 0; i < 2 && beyond; i++)
        if (!(out->side[i].r = report_new(sc)))
            return err_nomem(e);
    if (beyond)
        return RP_OK;
    for (int i = 0; i < 2; i++) {
        const char *folder = file_join(sc, dir, letters[i]);
        if (!folder)
            return err_nomem(e);
        if (audit_folder(e, &out->side[i], sc, folder, opt))
            return e->code;
    }
    report_begin(out->r, "pair.json", true);
    if (file_read(e, &text, sc, path, max_document))
        return e->code;
    bool readable = !pair_read(e, &out->claimed, sc, "pair.json", text);
    if (!readable && !err_to_finding(e, &out->r->fs))
        return e->code;
    report_end(out->r, "the order of the processes is what the seeds give");
    return readable ? judge_pair(e, out, sc) : RP_OK;
}

void pair_audit_clear(pair_audited *p)
{
    for (int i = 0; i < 2; i++)
        audit_clear(&p->side[i]);
}

int pair_audit_exit(const pair_audited *p)
{
    int code = cli_verdict_exit(p->r);
    for (int i = 0; i < 2; i++)
        code = cli_worse(code, audit_exit(&p->side[i]));
    if (code == EXIT_PASSED && p->judged && p->recomputed.verdict == PAIR_REFUSED)
        code = EXIT_REJECTED;
    return code;
}
