/* Plan, arena, calls and contract: the stages that compare documents with what is rebuilt from the plan. */
#include "arena/check.h"
#include "artifacts/base/text.h"
#include "plan/lt_rules.h"
#include "verify/verify.h"

static const char plan_path[] = "plan/plan.json", arena_path[] = "plan/arena.json",
                  calls_path[] = "plan/resolved_calls.json", contract_path[] = "contract.json";

void verify_plan(rp_err *e, report *r, const bundle *b)
{
    if (e->code)
        return;
    report_begin(r, "plan", true);
    if (!b->plan) {
        report_not_checkable(r, "plan.json could not be read");
        return;
    }
    if (plan_check(e, &r->fs, b->plan, plan_path))
        return;
    report_end(r,
               "%llu nodes, %llu buffers, %llu edges: references, order, lives, conflicting accesses ordered",
               (unsigned long long)b->plan->n_nodes, (unsigned long long)b->plan->n_buffers,
               (unsigned long long)b->plan->n_edges);
}

void verify_arena(rp_err *e, report *r, bundle *b)
{
    if (e->code)
        return;
    report_begin(r, "arena.rebuilt", true);
    if (!b->plan || !b->requests || !b->recorded_arena) {
        bundle_unanswered(r, b, (const char *const[]){arena_path, NULL},
                          "plan.json or arena.json could not be read");
        return;
    }
    if (arena_bind(e, &r->fs, b->recorded_arena, b->requests, arena_path))
        return;
    if (b->plan->arena == ARENA_GIVEN) {
        arena_check_peak(&r->fs, b->recorded_arena, b->plan->n_nodes, arena_path);
        report_end(r,
                   "policy given: %llu recorded ranges cover what the nodes need; offsets are taken as given",
                   (unsigned long long)b->recorded_arena->n);
    } else {
        arena_compare(&r->fs, b->rebuilt_arena, b->recorded_arena, arena_path);
        report_end(r, "policy %s: %llu lifetimes and offsets rebuilt from the nodes, peak %s bytes",
                   b->plan->arena_name, (unsigned long long)b->rebuilt_arena->n,
                   text_count(r->sc, b->rebuilt_arena->slab_bytes));
    }
    arena_counts n;
    report_begin(r, "arena.ranges", true);
    if (!b->reach) {
        report_not_checkable(r, "the edges of the plan form a cycle");
        return;
    }
    if (arena_validate(e, &r->fs, &n, b->recorded_arena, b->plan, b->reach, arena_path))
        return;
    report_end(
        r, "recorded ranges: bounds, alignment, overlap in %llu pairs, %llu reuses of bytes ordered by edges",
        (unsigned long long)n.pairs, (unsigned long long)n.reused);
}

void verify_calls(rp_err *e, report *r, const bundle *b)
{
    resolved_call *calls;
    uint64_t n;
    bool ok;
    if (e->code)
        return;
    report_begin(r, "resolve.rules", true);
    if (!b->plan) {
        report_not_checkable(r, "plan.json could not be read");
        return;
    }
    bool given = b->plan->resolver == RESOLVE_GIVEN;
    if (given && manifest_find_omitted(b->man, calls_path)) {
        bundle_unanswered(r, b, (const char *const[]){calls_path, NULL}, "");
        return;
    }
    if (resolve_plan(e, &r->fs, &calls, &n, &ok, r->sc, b->plan, b->recorded_calls, b->n_recorded_calls))
        return;
    if (given)
        report_end(
            r, "policy given: %llu recorded calls bound to their nodes, judged by %zu rules of the library",
            (unsigned long long)n, lt_rules_count);
    else
        report_end(r, "policy %s: %llu calls resolved, %d rules each, every reach within its buffer",
                   b->plan->resolver_name, (unsigned long long)n, RULE_COUNT);
    report_begin(r, "resolve.captured", true);
    if (!ok || !b->have_recorded_calls) {
        if (ok)
            bundle_unanswered(r, b, (const char *const[]){calls_path, NULL},
                              "resolved_calls.json could not be read");
        else
            report_not_checkable(r, "the plan's calls do not resolve");
        return;
    }
    uint64_t fields =
        calls_compare(&r->fs, b->plan, calls, n, b->recorded_calls, b->n_recorded_calls, calls_path);
    report_end(r,
               given ? "policy given: %llu fields of the recorded descriptors are taken as given"
                     : "resolved against captured descriptors, %llu fields",
               (unsigned long long)fields);
}

static uint64_t applying(const contract *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_fixtures; i++)
        n += c->fixtures[i].applies;
    return n;
}

static bool recipe_omitted(const bundle *b, const char *name)
{
    const char *path = scratch_printf(b->sc, "fixtures/%s.json", name);
    return path && manifest_find_omitted(b->man, path);
}

static void contract_fixtures(report *r, const bundle *b)
{
    const contract *c = b->contract;
    for (size_t i = 0; i < c->n_fixtures; i++)
        if (c->fixtures[i].applies && !bundle_fixture_named(b, c->fixtures[i].name) &&
            !recipe_omitted(b, c->fixtures[i].name))
            findings_add(&r->fs, FIND_CONTRACT_INVALID, contract_path, "/fixtures", NULL, NULL,
                         "expected a recipe for fixture %s, found none", c->fixtures[i].name);
    for (uint64_t i = 0; i < b->n_fixtures; i++) {
        const contract_fixture *f = contract_fixture_of(c, b->fixtures[i].name);
        if (!f || !f->applies)
            findings_add(&r->fs, FIND_CONTRACT_INVALID, contract_path, "/fixtures", NULL, NULL,
                         "expected fixture %s among those that apply", b->fixtures[i].name);
    }
}

static void contract_outputs(report *r, const bundle *b)
{
    const contract *c = b->contract;
    uint64_t outputs = reference_n_outputs(b->reference), checks = applying(c) * outputs;
    for (size_t i = 0; i < outputs; i++)
        if (!contract_tolerance_of(c, reference_output(b->reference, i)->name))
            findings_add(&r->fs, FIND_CONTRACT_INVALID, contract_path, "/tolerances", NULL, NULL,
                         "expected a tolerance for output %s, found none",
                         reference_output(b->reference, i)->name);
    if (checks != c->checks_per_phase)
        findings_add(&r->fs, FIND_CONTRACT_INVALID, contract_path, "/checks_per_phase", NULL, NULL,
                     "expected %llu (fixtures that apply times outputs), found %llu",
                     (unsigned long long)checks, (unsigned long long)c->checks_per_phase);
}

void verify_contract(rp_err *e, report *r, const bundle *b)
{
    if (e->code)
        return;
    report_begin(r, "contract", true);
    static const char *const needed[] = {contract_path, "reference.json", NULL};
    if (!b->contract || (!b->reference && !manifest_find_omitted(b->man, needed[1]))) {
        bundle_unanswered(r, b, needed, "contract.json or reference.json could not be read");
        return;
    }
    const contract *c = b->contract;
    if (b->reference)
        contract_outputs(r, b);
    for (uint64_t i = 0; b->calls_ok && i < b->n_calls; i++) {
        bool known = false;
        for (size_t k = 0; k < c->n_measured_k; k++)
            known |= c->measured_k[k] == b->calls[i].call.k;
        if (!known)
            findings_add(
                &r->fs, FIND_CONTRACT_INVALID, contract_path, "/accuracy/measured_k", NULL, NULL,
                "expected the inner extent %llu of node %llu among those the accuracy was measured at",
                (unsigned long long)b->calls[i].call.k, (unsigned long long)b->calls[i].node);
    }
    contract_fixtures(r, b);
    if (!b->reference) {
        bundle_unanswered(r, b, needed, "");
        return;
    }
    report_end(r,
               "%llu fixtures x %llu outputs x %llu phases = %llu checks; tolerances, accuracy and "
               "determinism claims",
               (unsigned long long)applying(c), (unsigned long long)reference_n_outputs(b->reference),
               (unsigned long long)c->phases, (unsigned long long)c->checks_total);
}
