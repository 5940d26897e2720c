#include "plan/order.h"
#include "tests/support.h"
#include <criterion/criterion.h>

static span shipped(scratch *sc, const char *name)
{
    return t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", name));
}

static void check(findings *fs, scratch *sc, span text)
{
    rp_err e = {0};
    plan *p;
    findings_init(fs, sc);
    cr_assert_eq(plan_read(&e, &p, sc, "plan.json", text), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert_eq(plan_check(&e, fs, p, "plan.json"), RP_OK, "%s", e.msg);
}

Test(check, the_shipped_ones_are_clean)
{
    static const char *const names[] = {"weight_view", "weight_view.small"};
    scratch *sc = scratch_new(0);
    for (int i = 0; i < 2; i++) {
        findings fs;
        check(&fs, sc, shipped(sc, names[i]));
        cr_expect_eq(fs.n, 0, "%s", t_list(sc, &fs));
    }
    scratch_free(sc);
}

#define EDGE(from, to, buffer, port, kind)                                                                   \
    "{\"from\": " from ", \"to\": " to ", \"buffer\": \"" buffer "\", \"port\": \"" port                     \
    "\", \"kind\": \"" kind "\"}"
#define FIRST_EDGE(edge) "\"edges\": [", "\"edges\": [" edge ","
#define BUFFER(id, owner, freed_by, access)                                                                  \
    "\"id\": \"" id "\",\n      \"label\": \"" id "\",\n      \"owner\": \"" owner                           \
    "\",\n      \"freed_by\": \"" freed_by "\",\n      \"access\": \"" access "\""

#define ALLOC_BEFORE(id, op) "{\"op\": \"alloc\", \"buffer\": \"" id "\"},\n    {\n      \"op\": \"" op "\""

/* Each rule broken once: changes of the small plan, and exactly the findings they make. */
static const struct {
    const char *what;
    const char *change[6]; /* from, to, from, to, … */
    struct {
        finding_id id;
        const char *where;
    } found[4];
} cases[] = {
    {"an edge to a node that does not touch its buffer",
     {FIRST_EDGE(EDGE("0", "6", "x", "p", "data"))},
     {{FIND_PLAN_EDGE, "/edges/0"}}},
    {"an edge from such a node",
     {FIRST_EDGE(EDGE("0", "4", "p32", "p", "data"))},
     {{FIND_PLAN_EDGE, "/edges/0"}}},
    {"reuse is from the earlier tenant's node",
     {FIRST_EDGE(EDGE("2", "4", "p16", "reuse", "anti"))},
     {{0, NULL}}},
    {"but to the later's",
     {FIRST_EDGE(EDGE("2", "8", "p16", "reuse", "anti"))},
     {{FIND_PLAN_EDGE, "/edges/0"}}},
    {"an edge against the order",
     {FIRST_EDGE(EDGE("8", "7", "p16", "reuse", "anti"))},
     {{FIND_PLAN_ORDER, "/edges/0"}, {FIND_PLAN_ORDER, "/nodes/7"}}},
    {"a cycle",
     {FIRST_EDGE(EDGE("4", "2", "p32", "p", "anti"))},
     {{FIND_PLAN_ORDER, "/edges/0"}, {FIND_PLAN_CYCLE, "/edges/0"}}},
    {"a node on itself",
     {FIRST_EDGE(EDGE("4", "4", "p32", "p", "anti"))},
     {{FIND_PLAN_ORDER, "/edges/0"}, {FIND_PLAN_CYCLE, "/edges/0"}}},
    {"a free that is ready earlier than listed, and not after every toucher",
     {EDGE("4", "5", "p32", "war", "anti") ",", ""},
     {{FIND_PLAN_ORDER, "/nodes/3"}, {FIND_PLAN_RACE, "/nodes/5"}}},
    {"the same under policy given: no issue order to keep",
     {EDGE("4", "5", "p32", "war", "anti") ",", "", "luminal-slab/2", "given"},
     {{FIND_PLAN_RACE, "/nodes/5"}}},
    {"an alloc that is not before its touchers",
     {EDGE("1", "2", "p32", "alloc", "data") ",", ""},
     {{FIND_PLAN_RACE, "/nodes/2"}, {FIND_PLAN_RACE, "/nodes/4"}}},
    {"a reader that is not after the writer",
     {EDGE("2", "4", "p32", "input", "data") ",", ""},
     {{FIND_PLAN_RACE, "/nodes/4"}}},
    {"an output that is not after the writer",
     {",\n    " EDGE("6", "8", "y", "out 0", "data"), ""},
     {{FIND_PLAN_RACE, "/nodes/8"}}},
    {"a second alloc",
     {"{\"op\": \"alloc\", \"buffer\": \"p16\"}", "{\"op\": \"alloc\", \"buffer\": \"p32\"}",
      EDGE("3", "4", "p16", "alloc", "data"), EDGE("3", "4", "p32", "alloc", "data")},
     {{FIND_PLAN_LIFETIME, "/nodes/3"}}},
    {"a second free",
     {"{\"op\": \"free\", \"buffer\": \"p16\"}", "{\"op\": \"free\", \"buffer\": \"p32\"}",
      EDGE("6", "7", "p16", "war", "anti"), EDGE("4", "7", "p32", "war", "anti"),
      EDGE("4", "7", "p16", "free", "data"), EDGE("2", "7", "p32", "free", "data")},
     {{FIND_PLAN_LIFETIME, "/nodes/7"}, {FIND_PLAN_ORDER, "/nodes/6"}}},
    {"an alloc of what the caller owns",
     {BUFFER("p16", "system", "program", "rw"), BUFFER("p16", "caller", "program", "rw")},
     {{FIND_PLAN_LIFETIME, "/nodes/3"}}},
    {"a free of what the caller frees",
     {BUFFER("p16", "system", "program", "rw"), BUFFER("p16", "system", "caller", "rw")},
     {{FIND_PLAN_LIFETIME, "/nodes/7"}}},
    {"a write before the alloc",
     {ALLOC_BEFORE("p32", "matmul"), ALLOC_BEFORE("p16", "matmul"), ALLOC_BEFORE("p16", "kernel"),
      ALLOC_BEFORE("p32", "kernel"),
      EDGE("1", "2", "p32", "alloc", "data") ",\n    " EDGE("2", "4", "p32", "input", "data") ",\n    " EDGE(
          "3", "4", "p16", "alloc", "data"),
      EDGE("1", "4", "p16", "alloc", "data") "," EDGE("2", "4", "p32", "input",
                                                      "data") "," EDGE("3", "4", "p32", "alloc", "data")},
     {{FIND_PLAN_LIFETIME, "/nodes/2"}, {FIND_PLAN_ORDER, "/nodes/1"}}},
    {"a read after the free",
     {"\"port\": \"lhs\",\n          \"buffer\": \"p16\"",
      "\"port\": \"lhs\",\n          \"buffer\": \"p32\""},
     {{FIND_PLAN_LIFETIME, "/nodes/6"}, {FIND_PLAN_EDGE, "/edges/8"}, {FIND_PLAN_EDGE, "/edges/9"}}},
    {"a read of what nothing wrote",
     {"{\"value\": \"x\", \"buffer\": \"x\"},", ""},
     {{FIND_PLAN_LIFETIME, "/nodes/2"}, {FIND_PLAN_EDGE, "/edges/1"}}},
    {"a write to what is read-only",
     {BUFFER("y", "caller", "caller", "rw"), BUFFER("y", "caller", "caller", "ro")},
     {{FIND_PLAN_INVALID, "/nodes/6"}}},
    {"an output of what the program frees",
     {BUFFER("y", "caller", "caller", "rw"), BUFFER("y", "caller", "program", "rw")},
     {{FIND_PLAN_LIFETIME, "/nodes/8"}}},
    {"a destination that is an operand's buffer, untied",
     {"\"port\": \"dest\",\n        \"buffer\": \"y\"", "\"port\": \"dest\",\n        \"buffer\": \"p16\"",
      "\"value\": \"y\",\n          \"buffer\": \"y\"", "\"value\": \"y\",\n          \"buffer\": \"p16\"",
      EDGE("6", "8", "y", "out 0", "data"), EDGE("6", "8", "p16", "out 0", "data")},
     {{FIND_PLAN_RACE, "/nodes/6"}, {FIND_PLAN_LIFETIME, "/nodes/8"}}},
    {"the same, tied", /* which leaves only that it escapes */
     {"\"port\": \"dest\",\n        \"buffer\": \"y\"",
      "\"port\": \"dest\", \"tie\": \"lhs\",\n        \"buffer\": \"p16\"",
      "\"value\": \"y\",\n          \"buffer\": \"y\"", "\"value\": \"y\",\n          \"buffer\": \"p16\"",
      EDGE("6", "8", "y", "out 0", "data"), EDGE("6", "8", "p16", "out 0", "data")},
     {{FIND_PLAN_LIFETIME, "/nodes/8"}}},
    {"a tie to another buffer",
     {"\"port\": \"dest\",\n        \"buffer\": \"y\"",
      "\"port\": \"dest\", \"tie\": \"lhs\",\n        \"buffer\": \"y\""},
     {{FIND_PLAN_INVALID, "/nodes/6"}}},
    {"a write to an input that nothing orders after it", /* node 2 gives up its edges from the input */
     {"{\"value\": \"x\", \"buffer\": \"x\"},",
      "{\"value\": \"x\", \"buffer\": \"x\"}, {\"value\": \"p\", \"buffer\": \"p32\"},",
      EDGE("0", "2", "wt", "a", "data") ",\n    " EDGE("0", "2", "x", "b", "data") ",", ""},
     {{FIND_PLAN_RACE, "/nodes/2"}}},
};

Test(check, each_rule)
{
    scratch *sc = scratch_new(0);
    span small = shipped(sc, "weight_view.small");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        findings fs;
        span text = small;
        size_t wanted = 0;
        for (size_t k = 0; k < 6 && cases[i].change[k]; k += 2)
            text = t_replaced(sc, text, cases[i].change[k], cases[i].change[k + 1]);
        check(&fs, sc, text);
        for (size_t k = 0; k < 4 && cases[i].found[k].where; k++, wanted++)
            cr_expect(t_found(&fs, cases[i].found[k].id, "plan.json", cases[i].found[k].where),
                      "%s: no %s at %s in %s", cases[i].what, finding_name(cases[i].found[k].id),
                      cases[i].found[k].where, t_list(sc, &fs));
        for (size_t f = 0; f < fs.n; f++) {
            bool known = false;
            for (size_t k = 0; k < wanted; k++)
                known |=
                    fs.v[f].id == cases[i].found[k].id && !strcmp(fs.v[f].where, cases[i].found[k].where);
            cr_expect(known, "%s: %s at %s: %s", cases[i].what, finding_name(fs.v[f].id), fs.v[f].where,
                      fs.v[f].message);
        }
    }
    scratch_free(sc);
}
