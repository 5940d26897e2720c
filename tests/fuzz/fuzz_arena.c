/* Fuzzing the recorded arena. The input is a plan, a zero byte, and the arena recorded for it. */
#include "arena/check.h"
#include "plan/order.h"
#include "plan/resolve.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *split = n ? memchr(data, 0, n) : NULL;
    if (!split)
        return 0;
    span plan_text = span_of(data, (size_t)(split - data)), text = span_of(split + 1, n - plan_text.n - 1);
    rp_err e = {0};
    scratch *sc = scratch_new(128 << 20);
    findings fs;
    plan *p;
    plan_reach reach;
    arena_layout requests, rebuilt, recorded;
    arena_counts counts;
    findings_init(&fs, sc);
    if (!plan_read(&e, &p, sc, "plan.json", plan_text) && p->n_nodes <= 256 &&
        !arena_read(&e, &recorded, sc, "arena.json", text) && !arena_requests(&e, &requests, sc, p) &&
        !arena_requests(&e, &rebuilt, sc, p) && !arena_pack(&e, &rebuilt, sc) &&
        !plan_reach_build(&e, &reach, sc, p, "plan.json")) {
        arena_compare(&fs, &rebuilt, &recorded, "arena.json");
        if (!arena_bind(&e, &fs, &recorded, &requests, "arena.json")) {
            arena_check_peak(&fs, &recorded, p->n_nodes, "arena.json");
            (void)!arena_validate(&e, &fs, &counts, &recorded, p, &reach, "arena.json");
        }
    }
    if (e.code != RP_OK && e.code != RP_INVALID && e.code != RP_NOMEM)
        abort();
    scratch_free(sc);
    return 0;
}
