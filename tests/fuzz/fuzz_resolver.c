/* Fuzzing the captured calls against the resolver. The input is a plan, a zero byte, and the calls recorded
 * for it. */
#include "plan/calls.h"
#include "plan/lt_rules.h"
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
    recorded_call *recorded;
    resolved_call *calls;
    uint64_t n_recorded, n_calls;
    bool ok;
    findings_init(&fs, sc);
    if (!plan_read(&e, &p, sc, "plan.json", plan_text) && p->n_nodes <= 256 &&
        !calls_read(&e, &recorded, &n_recorded, sc, "calls.json", text) &&
        !resolve_plan(&e, &fs, &calls, &n_calls, &ok, sc, p, recorded, n_recorded) && ok) {
        (void)calls_compare(&fs, p, calls, n_calls, recorded, n_recorded, "calls.json");
        for (uint64_t i = 0; i < n_calls; i++) {
            lt_query q;
            lt_answer a;
            (void)resolve_sentence(sc, p, &calls[i]);
            resolve_question(&q, p, &calls[i]);
            lt_decide(&a, &q);
        }
    }
    if (e.code != RP_OK && e.code != RP_INVALID && e.code != RP_NOMEM)
        abort();
    scratch_free(sc);
    return 0;
}
