/* Fuzzing the plan: reader, rules, arena and resolver, one behind the other. What the rules accept, the
 * packed arena fits. */
#include "arena/check.h"
#include "plan/order.h"
#include "plan/resolve.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool clean(const rp_err *e)
{
    return e->code == RP_OK || (e->code == RP_INVALID && e->msg[0]) || e->code == RP_NOMEM;
}

static void arena_of(scratch *sc, const plan *p, bool sound)
{
    rp_err e = {0};
    findings fs;
    arena_layout l;
    plan_reach reach;
    arena_counts counts;
    findings_init(&fs, sc);
    if (!arena_requests(&e, &l, sc, p) && !arena_pack(&e, &l, sc) &&
        !plan_reach_build(&e, &reach, sc, p, "plan.json") &&
        !arena_validate(&e, &fs, &counts, &l, p, &reach, "arena.json"))
        for (size_t i = 0; i < fs.n; i++)
            must(!sound || (fs.v[i].id != FIND_ARENA_OVERLAP && fs.v[i].id != FIND_ARENA_BOUNDS &&
                            fs.v[i].id != FIND_ARENA_ALIGNMENT));
    must(clean(&e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(128 << 20);
    findings fs;
    plan *p;
    findings_init(&fs, sc);
    if (!plan_read(&e, &p, sc, "plan.json", span_of(data, n)) && p->n_nodes <= 256 &&
        !plan_check(&e, &fs, p, "plan.json")) {
        resolved_call *calls;
        uint64_t n_calls;
        bool ok;
        arena_of(sc, p, !fs.n && !fs.nomem);
        if (!fs.n)
            (void)!resolve_plan(&e, &fs, &calls, &n_calls, &ok, sc, p, NULL, 0);
    }
    must(clean(&e));
    scratch_free(sc);
    return 0;
}
