#include "replay/judge.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "artifacts/zs.h"
#include "replay/graph_check.h"
#include "verify/intercept.h"
#include <stdio.h>
#include <stdlib.h>

const char *const phase_status_names[] = {
    "passed",  "rejected", "numerical_rejection", "process_failed", "profile_failed", "unavailable",
    "not_run", NULL};

static const uint64_t max_document = 64ULL << 20;

/* What is being judged. */
typedef struct {
    report *r;
    judgement *j;
    phase_record *p;
    const lowering *l;
    const char *dir, *shown;
    const result *res;
} judge;

static char *path_of(const judge *g, const char *name)
{
    return file_join(g->r->sc, g->dir, name);
}

static const char *shown(const judge *g, const char *name)
{
    const char *s = file_join(g->r->sc, g->shown, name);
    return s ? s : name;
}

static void begin(const judge *g, const char *what, bool required)
{
    const char *name =
        scratch_printf(g->r->sc, "%llu %s: %s", (unsigned long long)g->p->index, g->p->name, what);
    report_begin(g->r, name ? name : what, required);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint64_t median_u64(scratch *sc, const uint64_t *v, uint64_t n)
{
    uint64_t *s = scratch_array(sc, n, sizeof *s);
    if (!s || !n)
        return 0;
    memcpy(s, v, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    return n % 2 ? s[n / 2] : s[n / 2 - 1] + (s[n / 2] - s[n / 2 - 1]) / 2;
}

spread population_spread(scratch *sc, const population *p)
{
    spread s = {.median_ps = median_u64(sc, p->medians_ps, p->n), .min_ps = UINT64_MAX};
    for (uint64_t i = 0; i < p->n; i++) {
        s.min_ps = p->medians_ps[i] < s.min_ps ? p->medians_ps[i] : s.min_ps;
        s.max_ps = p->medians_ps[i] > s.max_ps ? p->medians_ps[i] : s.max_ps;
    }
    return s;
}

rp_code judgement_new(rp_err *e, judgement **out, scratch *sc, const lowering *l)
{
    judgement *j = scratch_alloc(sc, sizeof *j);
    if (!j || !(j->worst = scratch_array(sc, l->n_fixtures, sizeof *j->worst)))
        return err_nomem(e);
    j->not_observed = "";
    for (uint64_t i = 0; i < l->n_fixtures; i++) {
        j->worst[i].passed = true;
        j->checks_per_phase += l->fixtures[i].n_outputs;
    }
    *out = j;
    return RP_OK;
}

/* All phases of a run are one device's: what they gave is compared as such. */
static void check_device(judge *g)
{
    const result *first = g->j->first, *res = g->res;
    begin(g, "device", true);
    if (strcmp(first->device_name, res->device_name) ||
        strcmp(first->device_uuid_sha256, res->device_uuid_sha256) || strcmp(first->driver, res->driver))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "result.json"), "/device", NULL, NULL,
                     "expected the first phase's device, %s under driver %s, found %s under %s, or another "
                     "of its kind",
                     first->device_name, first->driver, res->device_name, res->driver);
    report_end(g->r, "%s, driver %s: the first phase's device", res->device_name,
               *res->driver ? res->driver : "none");
}

/* The job that was run is the one this bundle lowers to, and the result answers it. */
static rp_code check_job(rp_err *e, judge *g)
{
    span have, want;
    begin(g, "job", true);
    if (file_read(e, &have, g->r->sc, path_of(g, "job.json"), max_document) ||
        lower_job(e, &want, g->r->sc, g->l, phase_kind(g->p->index)))
        return e->code;
    if (have.n != want.n || memcmp(have.p, want.p, want.n))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "job.json"), NULL, NULL, NULL,
                     "expected the job that the bundle lowers to, byte for byte, found another");
    if (!digest_equal(g->res->job_sha256, digest_of(have)))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "result.json"), "/job_sha256", NULL, NULL,
                     "expected the digest of job.json, found another");
    if (g->res->phase != phase_kind(g->p->index))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "result.json"), "/phase", NULL, NULL,
                     "expected phase %s, found %s", job_phase_names[phase_kind(g->p->index)],
                     job_phase_names[g->res->phase]);
    report_end(g->r, "the job lowered again from the bundle, byte for byte, and its digest in the result");
    return RP_OK;
}

/* --- Outputs. --- */

static uint64_t expected_bytes(const lowered_fixture *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n_outputs; i++)
        n += f->expected[i].elements * dtype_bytes(f->expected[i].type);
    return n;
}

static void numeric_finding(judge *g, const lowered_fixture *f, const tensor *t, const numeric_verdict *v,
                            const char *file)
{
    char where[80], want[64], have[64];
    snprintf(where, sizeof where, "%.48s[%llu]", t->name, (unsigned long long)v->worst_index);
    snprintf(want, sizeof want, "%.9g", v->worst_expected);
    snprintf(have, sizeof have, "%.9g", v->worst_actual);
    findings_add(&g->r->fs, FIND_RUN_NUMERIC, file, where, want, have,
                 "fixture %s: %llu of %llu elements outside the contract, first at %llu; worst: expected %s, "
                 "found %s, %llu ulp apart, "
                 "scaled error %.4g (1 is the bound), largest absolute error %.9g",
                 f->name, (unsigned long long)v->failing, (unsigned long long)v->elements,
                 (unsigned long long)v->first_failing_index, want, have, (unsigned long long)v->max_ulp,
                 v->max_scaled_error, v->max_abs_error);
}

static void judge_output(judge *g, uint64_t fixture, size_t output, const uint8_t *xored, uint8_t *actual,
                         const char *file)
{
    const lowered_fixture *f = &g->l->fixtures[fixture];
    const tensor *t = &f->expected[output];
    size_t n = (size_t)(t->elements * dtype_bytes(t->type));
    const contract_tolerance *tol = contract_tolerance_of(g->l->b->contract, t->name);
    for (size_t i = 0; i < n; i++)
        actual[i] = xored[i] ^ ((const uint8_t *)t->data)[i];
    g->p->checks_total++;
    if (!tol) {
        findings_add(&g->r->fs, FIND_CONTRACT_INVALID, "contract.json", "/tolerances", NULL, NULL,
                     "expected a tolerance for output %s", t->name);
        return;
    }
    numeric_verdict v =
        numeric_judge_between(t->type, span_of(actual, n), span_of(t->data, n), f->gaps[output], tol->tol);
    if (v.passed)
        g->p->checks_passed++;
    else
        numeric_finding(g, f, t, &v, file);
    if (v.max_scaled_error >= g->j->worst[fixture].max_scaled_error)
        g->j->worst[fixture] = v;
}

/* The bytes that came out are hashed as well: in their order, they are what the worker says it wrote. */
static rp_code judge_fixture(rp_err *e, judge *g, uint64_t fixture, digest_ctx *all)
{
    const lowered_fixture *f = &g->l->fixtures[fixture];
    scratch *sc = scratch_new(0);
    zs_dec *z = zs_dec_new();
    char name[160];
    span packed;
    snprintf(name, sizeof name, "outputs/%.100s.xor.zst", f->name);
    const char *file = shown(g, name);
    uint64_t n = expected_bytes(f);
    uint8_t *xored = sc ? scratch_alloc(sc, (size_t)n) : NULL,
            *actual = sc ? scratch_alloc(sc, (size_t)n) : NULL;
    if (!xored || !actual || !z) {
        err_nomem(e);
        goto out;
    }
    if (!file_exists(path_of(g, name))) {
        g->p->checks_total += f->n_outputs;
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, file, NULL, NULL, NULL,
                     "expected the outputs of fixture %s, found none", f->name);
        goto out;
    }
    if (file_read(e, &packed, sc, path_of(g, name), max_document))
        goto out;
    const char *wrong = zs_dec_frame(z, xored, (size_t)n, packed);
    if (wrong) {
        g->p->checks_total += f->n_outputs;
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, file, NULL, NULL, NULL,
                     "expected one zstd frame of %llu bytes: %s", (unsigned long long)n, wrong);
        goto out;
    }
    for (size_t i = 0, at = 0; i < f->n_outputs; i++) {
        judge_output(g, fixture, i, xored + at, actual + at, file);
        at += (size_t)(f->expected[i].elements * dtype_bytes(f->expected[i].type));
    }
    digest_add(all, span_of(actual, (size_t)n));
out:
    zs_dec_free(z);
    scratch_free(sc);
    return e->code;
}

static rp_code check_outputs(rp_err *e, judge *g)
{
    digest_ctx *all = digest_ctx_new();
    begin(g, "outputs", true);
    if (!all)
        return err_nomem(e);
    digest_begin(all);
    for (uint64_t i = 0; i < g->l->n_fixtures && !e->code; i++)
        (void)judge_fixture(e, g, i, all);
    digest d = digest_end(all);
    digest_ctx_free(all);
    if (e->code)
        return e->code;
    if (!digest_equal(d, g->res->outputs_sha256))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "result.json"), "/outputs_sha256", NULL, NULL,
                     "expected the digest of the retained outputs, found another");
    report_end(g->r, "%llu of %llu outputs within the contract, recomputed from the retained bytes",
               (unsigned long long)g->p->checks_passed, (unsigned long long)g->p->checks_total);
    return RP_OK;
}

/* --- What the worker saw of memory. --- */

static const result_fixture *fixture_result(const result *res, const char *name)
{
    for (uint64_t i = 0; i < res->n_fixtures; i++)
        if (!strcmp(res->fixtures[i].name, name))
            return &res->fixtures[i];
    return NULL;
}

/* The emulator's memory checker says what and where. */
static void add_findings(judge *g)
{
    for (uint64_t i = 0; i < g->res->n_findings; i++) {
        const result_finding *f = &g->res->findings[i];
        const char *where = scratch_printf(g->r->sc, "/findings/%llu", (unsigned long long)i);
        findings_add(&g->r->fs, FIND_RUN_MEMORY, shown(g, "result.json"), where, NULL, NULL, "%s: %s",
                     f->kind, f->message);
    }
}

static void check_memory(judge *g)
{
    const char *file = shown(g, "result.json");
    findings *fs = &g->r->fs;
    begin(g, "memory", true);
    for (uint64_t i = 0; i < g->l->n_fixtures; i++) {
        const char *name = g->l->fixtures[i].name;
        const result_fixture *f = fixture_result(g->res, name);
        if (!f) {
            findings_add(fs, FIND_EVIDENCE_INVALID, file, "/fixtures", NULL, NULL,
                         "expected fixture %s, found none", name);
            continue;
        }
        if (!f->guards_intact)
            findings_add(fs, FIND_RUN_GUARD, file, name, NULL, NULL,
                         "fixture %s: expected every guard band intact, found writes in %s", name,
                         f->guards_broken);
        if (!f->inputs_unchanged)
            findings_add(fs, FIND_RUN_INPUT_WRITTEN, file, name, NULL, NULL,
                         "fixture %s: expected unchanged inputs, found %s changed", name, f->inputs_changed);
        if (f->unwritten_bytes)
            findings_add(fs, FIND_RUN_UNWRITTEN, file, name, NULL, NULL,
                         "fixture %s: expected every output byte written, found %llu still poisoned", name,
                         (unsigned long long)f->unwritten_bytes);
    }
    for (uint64_t i = 0; i < g->res->n_strays; i++) {
        const result_stray *s = &g->res->strays[i];
        findings_add(fs, FIND_RUN_STRAY_WRITE, file, "/strays", NULL, NULL,
                     "expected node %llu to change only what it declares, found %llu other bytes changed, "
                     "first in %s at %llu",
                     (unsigned long long)s->node, (unsigned long long)s->stray_bytes, s->buffer,
                     (unsigned long long)s->first_offset_bytes);
    }
    add_findings(g);
    report_end(g->r, "guard bands around every allocation, unchanged inputs%s, by the worker's word%s",
               g->res->phase == JOB_VALIDATE ? ", unwritten bytes, stray writes node by node" : "",
               result_emulated(g->res) ? "; every access of every kernel checked, by the emulator" : "");
}

static void check_determinism(judge *g)
{
    const contract *c = g->l->b->contract;
    uint64_t differ = 0;
    begin(g, "determinism", true);
    for (uint64_t i = 0; i < g->res->n_fixtures; i++) {
        if (g->res->fixtures[i].runs_equal)
            continue;
        differ++;
        if (c->deterministic)
            findings_add(
                &g->r->fs, FIND_RUN_NONDETERMINISTIC, shown(g, "result.json"), g->res->fixtures[i].name, NULL,
                NULL,
                "fixture %s: expected two runs of the same bytes, as the contract claims, found a difference",
                g->res->fixtures[i].name);
    }
    report_end(g->r, "two runs of each fixture bit for bit: %llu differ; the contract %s determinism",
               (unsigned long long)differ, c->deterministic ? "claims" : "does not claim");
}

static rp_code check_intercepted(rp_err *e, judge *g)
{
    span log;
    intercept_counts n;
    if (result_emulated(g->res)) {
        begin(g, "intercepted", false);
        report_not_checkable(g->r, "not checkable on the emulator: no library was called");
        return RP_OK;
    }
    begin(g, "intercepted", true);
    if (file_read(e, &log, g->r->sc, path_of(g, "library.log"), max_document))
        return e->code;
    const char *text = scratch_strndup(g->r->sc, (const char *)log.p, log.n);
    if (!text)
        return err_nomem(e);
    if (strcmp(text, g->res->library_log))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "library.log"), NULL, NULL, NULL,
                     "expected the log of result.json, found another");
    if (intercept_check(e, &g->r->fs, &n, g->l->b->calls, g->l->b->n_calls, text, shown(g, "library.log")))
        return e->code;
    if (algorithms_compare(e, &g->j->algorithms, g->r->sc, g->l->b->calls, g->l->b->n_calls, text,
                           g->l->b->capture))
        return e->code;
    g->j->n_algorithms = g->l->b->n_calls;
    g->j->not_observed = n.not_observed;
    report_end(g->r,
               "resolved = the library's own Trace log: %llu calls, %llu printed fields; not observed: %s",
               (unsigned long long)n.calls, (unsigned long long)n.fields, n.not_observed);
    return RP_OK;
}

/* --- Signature, timing. --- */

static void put_observed_node(jw *j, const result_node *n)
{
    jw_obj(j, NULL);
    if (n->kind == RESULT_NODE_MEMCPY) {
        jw_u64(j, "bytes", n->bytes);
        jw_str(j, "kind", result_node_names[n->kind]);
    } else {
        jw_u64s(j, "block", n->block, 3);
        jw_u64s(j, "cluster", n->cluster, 3);
        jw_u64(j, "dynamic_shared_bytes", n->dynamic_shared_bytes);
        jw_u64s(j, "grid", n->grid, 3);
        jw_str(j, "kind", result_node_names[n->kind]);
        jw_str(j, "name", n->name);
        jw_u64(j, "registers", n->registers);
    }
    jw_end(j);
}

static void put_algorithm(jw *j, const result_algorithm *a)
{
    jw_obj(j, NULL);
    jw_i64(j, "cluster", a->cluster);
    jw_i64(j, "custom_option", a->custom_option);
    jw_i64(j, "id", a->id);
    jw_i64(j, "inner_shape", a->inner_shape);
    jw_u64(j, "node", a->node);
    jw_i64(j, "reduction", a->reduction);
    jw_i64(j, "split_k", a->split_k);
    jw_i64(j, "stages", a->stages);
    jw_i64(j, "swizzle", a->swizzle);
    jw_i64(j, "tile", a->tile);
    jw_u64(j, "workspace_bytes", a->workspace_bytes);
    jw_end(j);
}

rp_code observed_signature(rp_err *e, span *document, digest *out, scratch *sc, const result *res)
{
    jw *j = jw_new(JW_CANON);
    span text;
    jw_obj(j, NULL);
    jw_arr(j, "algorithms");
    for (uint64_t i = 0; i < res->n_algorithms; i++)
        put_algorithm(j, &res->algorithms[i]);
    jw_end(j);
    jw_str(j, "format", "replay-observed-signature/1");
    jw_arr(j, "graph");
    for (uint64_t i = 0; i < res->n_graph; i++)
        put_observed_node(j, &res->graph[i]);
    jw_end(j);
    jw_end(j);
    if (!jw_finish(e, &text, j)) {
        char *copy = scratch_strndup(sc, (const char *)text.p, text.n);
        if (!copy)
            err_nomem(e);
        *document = span_of(copy, text.n);
        *out = digest_of(text);
    }
    jw_free(j);
    return e->code;
}

static rp_code check_observed(rp_err *e, judge *g)
{
    span document, have;
    begin(g, "graph", true);
    graph_check(&g->r->fs, g->l, g->res, shown(g, "result.json"));
    if (observed_signature(e, &document, &g->p->observed, g->r->sc, g->res) ||
        file_read(e, &have, g->r->sc, path_of(g, "observed_signature.json"), max_document))
        return e->code;
    g->p->has_observed = true;
    if (have.n != document.n || memcmp(have.p, document.p, have.n))
        findings_add(&g->r->fs, FIND_EVIDENCE_INVALID, shown(g, "observed_signature.json"), NULL, NULL, NULL,
                     "expected the document that result.json gives, found another");
    char hex[DIGEST_HEX];
    digest_hex(g->p->observed, hex);
    report_end(g->r, "%llu graph nodes against the plan's launches; observed signature %.16s",
               (unsigned long long)g->res->n_graph, hex);
    return RP_OK;
}

static void collect_timings(judge *g)
{
    judgement *j = g->j;
    for (uint64_t i = 0; i < g->res->n_timings; i++) {
        const result_timing *t = &g->res->timings[i];
        uint64_t k = 0;
        while (k < j->n_populations && strcmp(j->populations[k].scope, t->scope))
            k++;
        if (k == MAX_POPULATIONS || !t->n)
            continue;
        if (k == j->n_populations)
            j->populations[j->n_populations++].scope = t->scope;
        population *p = &j->populations[k];
        if (p->n < MAX_PHASES)
            p->medians_ps[p->n++] = median_u64(g->r->sc, t->samples_ps, t->n);
    }
}

static void check_profile(judge *g)
{
    if (g->res->phase == JOB_TIMELINE && result_emulated(g->res)) {
        uint64_t total = 0;
        begin(g, "launches", true);
        for (uint64_t i = 0; i < g->res->n_instructions; i++)
            total += g->res->instructions[i].count;
        report_end(g->r, "%llu launches, %llu thread-instructions, emulated: no time is shown",
                   (unsigned long long)g->res->n_graph, (unsigned long long)total);
    } else if (g->res->phase == JOB_TIMELINE) {
        begin(g, "activity", true);
        timeline_check(&g->r->fs, g->res, shown(g, "result.json"));
        report_end(g->r,
                   "%llu records of %llu launches equal the graph: names, grid, block, cluster, shared bytes",
                   (unsigned long long)g->res->n_timeline, (unsigned long long)g->res->timeline_launches);
    } else if (g->res->phase == JOB_INSTRUCTIONS) {
        begin(g, "cubins", false);
        if (file_exists(path_of(g, "instructions.json")))
            report_end(
                g->r,
                "%llu cubins as loaded, by digest and size; instructions counted when they were captured",
                (unsigned long long)g->res->n_cubins);
        else
            report_not_checkable(g->r,
                                 "%llu cubins as loaded, by digest and size; no disassembler was present",
                                 (unsigned long long)g->res->n_cubins);
    }
}

rp_code judge_phase(rp_err *e, report *r, judgement *j, phase_record *p, const lowering *l, const char *dir,
                    const char *shown_dir)
{
    judge g = {.r = r, .j = j, .p = p, .l = l, .dir = dir, .shown = shown_dir};
    span text;
    result *res;
    size_t before = r->fs.n;
    p->checks_passed = p->checks_total = 0;
    const char *path = path_of(&g, "result.json");
    if (!path)
        return err_nomem(e);
    if (!file_exists(path))
        return RP_OK; /* the controller's status stands */
    if (file_read(e, &text, r->sc, path, max_document) ||
        result_read(e, &res, r->sc, shown(&g, "result.json"), text))
        return e->code;
    g.res = res;
    j->first = j->first ? j->first : res;
    check_device(&g);
    if (check_job(e, &g))
        return e->code;
    if (!res->ok)
        add_findings(&g);
    if (res->n_fixtures && check_outputs(e, &g))
        return e->code;
    if (res->ok) {
        check_memory(&g);
        if (res->phase == JOB_VALIDATE)
            check_determinism(&g);
        if (check_intercepted(e, &g) || check_observed(e, &g))
            return e->code;
        check_profile(&g);
        collect_timings(&g);
        j->timeline = res->phase == JOB_TIMELINE ? res : j->timeline;
    }
    bool numeric_only = true;
    for (size_t i = before; i < r->fs.n; i++)
        numeric_only &= r->fs.v[i].id == FIND_RUN_NUMERIC;
    if (r->fs.n > before)
        p->status = numeric_only ? PHASE_NUMERICAL : PHASE_REJECTED;
    else if (!res->ok)
        p->status = res->unavailable     ? PHASE_UNAVAILABLE
                    : res->profile_error ? PHASE_PROFILE_FAILED
                                         : PHASE_PROCESS_FAILED;
    else
        p->status = PHASE_PASSED;
    p->error = res->ok ? "" : res->error;
    return r->fs.nomem ? err_nomem(e) : RP_OK;
}

void judge_signatures(report *r, judgement *j)
{
    const phase_record *first = NULL;
    uint64_t same = 0;
    report_begin(r, "observed signature", true);
    for (uint64_t i = 0; i < j->n_phases; i++) {
        phase_record *p = &j->phases[i];
        if (!p->has_observed)
            continue;
        first = first ? first : p;
        if (digest_equal(p->observed, first->observed)) {
            same++;
            continue;
        }
        char want[DIGEST_HEX], have[DIGEST_HEX];
        digest_hex(first->observed, want);
        digest_hex(p->observed, have);
        findings_add(&r->fs, FIND_RUN_SIGNATURE, "evidence.json", p->name, want, have,
                     "expected the observed signature of phase %s, found another in phase %s: `replay "
                     "compare` shows which field",
                     first->name, p->name);
        p->status = PHASE_REJECTED;
    }
    if (same)
        report_end(r, "equal in %llu phases", (unsigned long long)same);
    else
        report_not_checkable(r, "no phase observed one");
}
