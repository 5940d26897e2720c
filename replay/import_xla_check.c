/* The checks of a plan and its arena on documents that are still held: what they refuse is not written. */
#include "arena/check.h"
#include "plan/calls.h"
#include "plan/order.h"
#include "replay/import_xla.h"

static span held(const import_writer *w, const char *path)
{
    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(w->paths[i], path))
            return w->texts[i];
    return (span){0};
}

static rp_code checks(rp_err *e, findings *fs, const import_writer *w)
{
    static const char plan_path[] = "plan/plan.json", arena_path[] = "plan/arena.json",
                      calls_path[] = "plan/resolved_calls.json";
    plan *p;
    plan_reach reach;
    arena_layout recorded, requests;
    arena_counts counts;
    recorded_call *calls;
    resolved_call *resolved;
    uint64_t n_calls, n_resolved;
    bool ok;
    if (plan_read(e, &p, w->sc, plan_path, held(w, plan_path)) || plan_check(e, fs, p, plan_path) ||
        plan_reach_build(e, &reach, w->sc, p, plan_path) ||
        arena_read(e, &recorded, w->sc, arena_path, held(w, arena_path)) ||
        arena_requests(e, &requests, w->sc, p) || arena_bind(e, fs, &recorded, &requests, arena_path))
        return e->code;
    arena_check_peak(fs, &recorded, p->n_nodes, arena_path);
    if (arena_validate(e, fs, &counts, &recorded, p, &reach, arena_path) ||
        calls_read(e, &calls, &n_calls, w->sc, calls_path, held(w, calls_path)))
        return e->code;
    return resolve_plan(e, fs, &resolved, &n_resolved, &ok, w->sc, p, calls, n_calls);
}

rp_code xla_check(rp_err *e, const char **fault, const import_writer *w)
{
    findings fs;
    *fault = NULL;
    findings_init(&fs, w->sc);
    if (checks(e, &fs, w) && !err_to_finding(e, &fs))
        return e->code;
    if (fs.nomem)
        return err_nomem(e);
    if (!fs.n)
        return RP_OK;
    findings_sort(&fs);
    *fault = scratch_printf(w->sc, "%s %s: %s", fs.v[0].file, finding_name(fs.v[0].id), fs.v[0].message);
    return *fault ? RP_OK : err_nomem(e);
}
