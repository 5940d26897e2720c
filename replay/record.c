#include "replay/record.h"
#include "artifacts/base/json.h"
#include "replay/cli.h"

/* By a signal; by anything else. */
static const char interrupted[] = "interrupted", incomplete[] = "incomplete";

phase_status judgement_status(const judgement *j)
{
    static const phase_status order[] = {PHASE_REJECTED,       PHASE_NUMERICAL,   PHASE_PROCESS_FAILED,
                                         PHASE_PROFILE_FAILED, PHASE_UNAVAILABLE, PHASE_NOT_RUN};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (uint64_t i = 0; i < j->n_phases; i++)
            if (j->phases[i].status == order[k])
                return order[k];
    return PHASE_PASSED;
}

phase_status record_status(const run_record *r, const judgement *j)
{
    phase_status s = judgement_status(j);
    bool passed = false;
    for (uint64_t i = 0; i < j->n_phases; i++)
        passed |= j->phases[i].status == PHASE_PASSED;
    return s == PHASE_UNAVAILABLE && passed && !strcmp(r->device_requested, "emu") ? PHASE_PASSED : s;
}

int status_exit(phase_status s)
{
    switch (s) {
    case PHASE_PASSED:
        return EXIT_PASSED;
    case PHASE_REJECTED:
        return EXIT_REJECTED;
    case PHASE_NUMERICAL:
        return EXIT_NUMERICAL;
    default:
        return EXIT_UNAVAILABLE;
    }
}

static void fill(run_record *r, scratch *sc, const judgement *j)
{
    r->n_phases = j->n_phases;
    r->checks_passed = r->checks_total = 0;
    r->has_observed = false;
    for (uint64_t i = 0; i < j->n_phases; i++) {
        const phase_record *p = &j->phases[i];
        r->phases[i] = *p;
        /* A phase that broke or was not reached owes its checks; one that does not exist on this device has
         * none. */
        if (!p->checks_total &&
            (p->status == PHASE_PROCESS_FAILED || p->status == PHASE_NOT_RUN || p->status == PHASE_REJECTED))
            r->phases[i].checks_total = j->checks_per_phase;
        r->checks_passed += p->checks_passed;
        r->checks_total += r->phases[i].checks_total;
        if (p->has_observed && !r->has_observed) {
            r->has_observed = true;
            r->observed_signature = p->observed;
        }
    }
    r->n_timings = j->n_populations;
    for (uint64_t i = 0; i < j->n_populations; i++)
        r->timings[i] = (claimed_timing){.scope = j->populations[i].scope,
                                         .processes = j->populations[i].n,
                                         .s = population_spread(sc, &j->populations[i])};
}

void record_from_judgement(run_record *r, scratch *sc, const judgement *j)
{
    fill(r, sc, j);
    r->status = phase_status_names[record_status(r, j)];
    r->reason = "";
}

void record_partial(run_record *r, scratch *sc, const judgement *j, const rp_err *why)
{
    if (j)
        fill(r, sc, j);
    r->status = why->code == RP_INTERRUPTED ? interrupted : incomplete;
    r->reason = why->msg;
}

bool record_is_partial(const run_record *r)
{
    return !strcmp(r->status, interrupted) || !strcmp(r->status, incomplete);
}

static void optional_digest(jw *j, const char *key, bool has, digest d)
{
    if (has)
        jw_digest(j, key, d);
    else
        jw_null(j, key);
}

static void write_phase(jw *j, const phase_record *p)
{
    jw_obj(j, NULL);
    jw_u64(j, "index", p->index);
    jw_str(j, "name", p->name);
    jw_str(j, "status", phase_status_names[p->status]);
    jw_str(j, "error", p->error);
    jw_u64(j, "checks_passed", p->checks_passed);
    jw_u64(j, "checks_total", p->checks_total);
    optional_digest(j, "observed_signature", p->has_observed, p->observed);
    jw_end(j);
}

void record_write(jw *j, const run_record *r)
{
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-evidence/0");
    jw_obj(j, "bundle");
    jw_str(j, "name", r->bundle_name);
    jw_digest(j, "root", r->root);
    jw_str(j, "trust", trust_names[r->trust]);
    jw_end(j);
    jw_str(j, "device_requested", r->device_requested);
    jw_u64(j, "phases_requested", r->phases_requested);
    jw_str(j, "status", r->status);
    if (record_is_partial(r))
        jw_str(j, "reason", r->reason);
    jw_u64(j, "checks_passed", r->checks_passed);
    jw_u64(j, "checks_total", r->checks_total);
    jw_digest(j, "plan_signature", r->plan_signature);
    optional_digest(j, "observed_signature", r->has_observed, r->observed_signature);
    jw_arr(j, "phases");
    for (uint64_t i = 0; i < r->n_phases; i++)
        write_phase(j, &r->phases[i]);
    jw_end(j);
    jw_arr(j, "timings");
    for (uint64_t i = 0; i < r->n_timings; i++) {
        jw_obj(j, NULL);
        jw_str(j, "scope", r->timings[i].scope);
        jw_u64(j, "processes", r->timings[i].processes);
        jw_u64(j, "median_ps", r->timings[i].s.median_ps);
        jw_u64(j, "min_ps", r->timings[i].s.min_ps);
        jw_u64(j, "max_ps", r->timings[i].s.max_ps);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "omitted");
    jw_obj(j, NULL);
    jw_str(j, "path", "bundle/fixtures/*.safetensors");
    jw_str(j, "reason",
           "regenerated from the recipes and the reference, and compared with the manifest's digests");
    jw_end(j);
    jw_obj(j, NULL);
    jw_str(j, "path", "cubins as loaded");
    jw_str(j, "reason",
           "a library's own cubin is not redistributed; digest, size and instruction counts are kept");
    jw_end(j);
    jw_end(j);
    cli_tool_json(j);
    jw_end(j);
}

static rp_code read_optional_digest(rp_err *e, bool *has, digest *d, js_node *o, const char *key)
{
    js_node *v;
    if (js_get(e, &v, o, key))
        return e->code;
    *has = js_kind(v) != JS_NULL;
    return *has ? js_digest(e, d, o, key) : RP_OK;
}

static rp_code read_phase(rp_err *e, phase_record *p, js_node *o)
{
    int status;
    if (js_u64(e, &p->index, o, "index") || js_str(e, &p->name, o, "name") ||
        js_enum(e, &status, o, "status", phase_status_names) || js_str(e, &p->error, o, "error") ||
        js_u64(e, &p->checks_passed, o, "checks_passed") || js_u64(e, &p->checks_total, o, "checks_total") ||
        read_optional_digest(e, &p->has_observed, &p->observed, o, "observed_signature") || js_done(e, o))
        return e->code;
    p->status = (phase_status)status;
    return RP_OK;
}

static rp_code read_timing(rp_err *e, claimed_timing *t, js_node *o)
{
    if (js_str(e, &t->scope, o, "scope") || js_u64(e, &t->processes, o, "processes") ||
        js_u64(e, &t->s.median_ps, o, "median_ps") || js_u64(e, &t->s.min_ps, o, "min_ps") ||
        js_u64(e, &t->s.max_ps, o, "max_ps"))
        return e->code;
    return js_done(e, o);
}

static rp_code read_bundle(rp_err *e, run_record *r, js_node *root)
{
    js_node *o;
    if (js_obj(e, &o, root, "bundle") || js_str(e, &r->bundle_name, o, "name") ||
        js_digest(e, &r->root, o, "root") || js_enum(e, &r->trust, o, "trust", trust_names))
        return e->code;
    return js_done(e, o);
}

rp_code record_read(rp_err *e, run_record *out, scratch *sc, const char *file, span text)
{
    js_node *root, *phases, *timings, *v;
    size_t n_phases = 0, n_timings = 0;
    run_record *r = out;
    *r = (run_record){.reason = ""};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-evidence/0") ||
        read_bundle(e, r, root) || js_str(e, &r->device_requested, root, "device_requested") ||
        js_u64(e, &r->phases_requested, root, "phases_requested") || js_str(e, &r->status, root, "status") ||
        js_u64(e, &r->checks_passed, root, "checks_passed") ||
        js_u64(e, &r->checks_total, root, "checks_total") ||
        js_digest(e, &r->plan_signature, root, "plan_signature") ||
        read_optional_digest(e, &r->has_observed, &r->observed_signature, root, "observed_signature") ||
        js_arr(e, &phases, &n_phases, root, "phases") || js_arr(e, &timings, &n_timings, root, "timings") ||
        js_get(e, &v, root, "omitted") || js_get(e, &v, root, "tool") ||
        (record_is_partial(r) && js_find(root, "reason") && js_str(e, &r->reason, root, "reason")) ||
        js_done(e, root))
        return e->code;
    if (n_phases > MAX_PHASES || n_timings > MAX_POPULATIONS)
        return js_fail(e, root, FIND_EVIDENCE_INVALID,
                       "expected at most %d phases and %d timings, found %zu and %zu", MAX_PHASES,
                       MAX_POPULATIONS, n_phases, n_timings);
    r->n_phases = n_phases;
    r->n_timings = n_timings;
    for (size_t i = 0; i < n_phases; i++)
        if (read_phase(e, &r->phases[i], js_at(phases, i)))
            return e->code;
    for (size_t i = 0; i < n_timings; i++)
        if (read_timing(e, &r->timings[i], js_at(timings, i)))
            return e->code;
    return RP_OK;
}
