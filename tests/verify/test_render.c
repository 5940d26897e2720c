#include "tests/support.h"
#include "verify/render.h"
#include <criterion/criterion.h>

static plan *read_plan(scratch *sc, span text)
{
    rp_err e = {0};
    plan *p = NULL;
    cr_assert_eq(plan_read(&e, &p, sc, "plan.json", text), RP_OK, "%s: %s", e.where, e.msg);
    return p;
}

static span file_of(scratch *sc, const char *name, const char *path)
{
    return t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/plan/%s", name, path));
}

static void expect_same(span have, span want, const char *what)
{
    size_t at = 0;
    while (at < have.n && at < want.n && have.p[at] == want.p[at])
        at++;
    cr_expect(at == have.n && at == want.n, "%s: %zu bytes, not %zu, and other ones from byte %zu", what,
              have.n, want.n, at);
}

Test(render, the_shipped_texts)
{
    static const char *const names[] = {"weight_view", "weight_view.small"};
    scratch *sc = scratch_new(0);
    for (int i = 0; i < 2; i++) {
        rp_err e = {0};
        span typed = {0};
        const plan *p = read_plan(sc, file_of(sc, names[i], "plan.json"));
        expect_same(span_str(render_buffer_ir(sc, p)), file_of(sc, names[i], "buffer_ir.txt"),
                    "buffer_ir.txt");
        cr_assert_eq(render_typed_ops(&e, &typed, sc, p), RP_OK);
        expect_same(typed, file_of(sc, names[i], "typed_ops.json"), "typed_ops.json");
    }
    scratch_free(sc);
}

/* The form by hand: boundary before allocated, boundary by id, allocated by place; op lines in node order;
 * anti edges in theirs. */
#define BUFFER(id, owner, access)                                                                            \
    "{\"id\":\"" id "\",\"label\":\"L" id "\",\"owner\":\"" owner                                            \
    "\",\"freed_by\":\"caller\",\"access\":\"" access                                                        \
    "\",\"dtype\":\"f32\",\"layout\":{\"shape\":[2],\"spellings\":[{\"kind\":\"right_major\"}]}}"
#define SLOT(port, id)                                                                                       \
    "{\"port\":\"" port "\",\"buffer\":\"" id "\",\"layout\":{\"shape\":[2],\"spellings\":[{\"kind\":"       \
    "\"left_major\"},{\"kind\":\"strided\",\"strides\":[1]}]}}"

static const char by_hand[] =
    "{\"format\":\"replay-plan/1\",\"name\":\"n\",\"policy\":{\"resolver\":\"luminal-lt/"
    "1\",\"arena\":\"given\",\"renderer\":\"luminal-text/1\"},\"symbols\":[],"
    "\"buffers\":[" BUFFER("s2", "system", "rw") "," BUFFER("z", "caller", "rw") "," BUFFER(
        "s1", "system",
        "ro") "," BUFFER("a", "caller",
                         "ro") "],"
                               "\"nodes\":[{\"op\":\"input\",\"slots\":[{\"value\":\"a\",\"buffer\":\"a\"}]},"
                               "{\"op\":\"copy\",\"source\":\"a\",\"destination\":\"s2\"},"
                               "{\"op\":\"kernel\",\"label\":\"Neg\",\"source\":\"k.cu\",\"entry\":\"k\","
                               "\"operands\":[" SLOT("in", "s2") "," SLOT(
                                   "in2",
                                   "a") "],\"destination\":" SLOT("dest",
                                                                  "z") ",\"grid\":[1,2,3],\"block\":[4,5,6],"
                                                                       "\"shared_bytes\":7},"
                                                                       "{\"op\":\"output\",\"slots\":["
                                                                       "{\"value\":\"z\",\"buffer\":\"z\","
                                                                       "\"layout\":{\"shape\":[2],"
                                                                       "\"spellings\":[{\"kind\":\"right_"
                                                                       "major\"}]}},"
                                                                       "{\"value\":\"a\",\"buffer\":\"a\","
                                                                       "\"layout\":{\"shape\":[2],"
                                                                       "\"spellings\":[{\"kind\":\"right_"
                                                                       "major\"}]}}"
                                                                       "]}],"
                                                                       "\"edges\":[{\"from\":1,\"to\":2,"
                                                                       "\"buffer\":\"s2\",\"port\":\"in\","
                                                                       "\"kind\":\"data\"},{\"from\":1,"
                                                                       "\"to\":2,\"buffer\":\"s1\",\"port\":"
                                                                       "\"p\",\"kind\":\"anti\"},"
                                                                       "{\"from\":0,\"to\":2,\"buffer\":"
                                                                       "\"a\",\"port\":\"p\",\"kind\":"
                                                                       "\"anti\"}]}";

Test(render, buffer_summary_by_hand)
{
    scratch *sc = scratch_new(0);
    const char *text = render_buffer_ir(sc, read_plan(sc, span_str(by_hand)));
    cr_expect_str_eq(text, "buffers:\n"
                           "  pinned[La] caller ro\n"
                           "  pinned[Lz] caller rw\n"
                           "  alloc#0[Ls2] system rw\n"
                           "  alloc#1[Ls1] system ro\n"
                           "ops:\n"
                           "  Copy: [pinned[La], alloc#0[Ls2]] -> [alloc#0[Ls2]]\n"
                           "  Neg: [alloc#0[Ls2], pinned[La], pinned[Lz]] -> [pinned[Lz]]\n"
                           "anti:\n"
                           "  alloc#1[Ls1]: Copy -> Neg\n"
                           "  pinned[La]:  -> Neg\n"
                           "outputs:\n"
                           "  0: pinned[Lz]\n"
                           "  1: pinned[La]\n");
    scratch_free(sc);
}

Test(render, typed_ops_by_hand)
{
    static const char slots[] = "\"layout\":{\"shape\":[2],\"spellings\":[{\"kind\":\"left_major\"},{"
                                "\"kind\":\"strided\",\"strides\":[1]}]},\"port\":";
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    span typed = {0};
    cr_assert_eq(render_typed_ops(&e, &typed, sc, read_plan(sc, span_str(by_hand))), RP_OK);
    const char *want = scratch_printf(
        sc,
        "{\"ops\":[{\"destination\":{\"buffer\":\"s2\",\"dtype\":\"f32\",\"layout\":{\"shape\":[2],"
        "\"spellings\":[{\"kind\":\"right_major\"}]},\"port\":\"destination\"},"
        "\"label\":\"Copy\",\"node\":1,\"operands\":[{\"buffer\":\"a\",\"dtype\":\"f32\",\"layout\":{"
        "\"shape\":[2],\"spellings\":[{\"kind\":\"right_major\"}]},\"port\":\"source\"}]},"
        "{\"block\":[4,5,6],\"destination\":{\"buffer\":\"z\",\"dtype\":\"f32\",%s\"dest\"},\"entry\":\"k\","
        "\"grid\":[1,2,3],\"label\":\"Neg\",\"node\":2,"
        "\"operands\":[{\"buffer\":\"s2\",\"dtype\":\"f32\",%s\"in\"},{\"buffer\":\"a\",\"dtype\":\"f32\",%"
        "s\"in2\"}],\"shared_bytes\":7,\"source\":\"k.cu\"}]}",
        slots, slots, slots);
    expect_same(typed, span_str(want), (const char *)typed.p);
    scratch_free(sc);
}

/* The summary omits types, layouts and sizes; the typed ops do not. */
Test(render, what_each_text_sees)
{
    static const struct {
        const char *from, *to;
        bool ir, typed;
    } cases[] = {
        {"\"dtype\": \"f32\"", "\"dtype\": \"i32\"", false, true},
        {"\"trans_b\": false", "\"trans_b\": true", false, true},
        {"\"ldc\": 24", "\"ldc\": 25", false, true},
        {"\"strides\": [0, 1]", "\"strides\": [0, 0]", false, true},
        {"\"label\": \"Cast\"", "\"label\": \"Conv\"", true, true},
        {"\"label\": \"p16\"", "\"label\": \"half\"", true, false},
        {"\"kind\": \"data\"},\n    {\"from\": 0, \"to\": 2, \"buffer\": \"x\"",
         "\"kind\": \"anti\"},\n    {\"from\": 0, \"to\": 2, \"buffer\": \"x\"", true, false},
    };
    scratch *sc = scratch_new(0);
    span small = file_of(sc, "weight_view.small", "plan.json"),
         ir = file_of(sc, "weight_view.small", "buffer_ir.txt"),
         typed = file_of(sc, "weight_view.small", "typed_ops.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        span now = {0};
        const plan *p = read_plan(sc, t_replaced(sc, small, cases[i].from, cases[i].to));
        cr_assert_eq(render_typed_ops(&e, &now, sc, p), RP_OK);
        cr_expect_eq(!t_equal(span_str(render_buffer_ir(sc, p)), ir), cases[i].ir, "buffer_ir.txt and %s",
                     cases[i].to);
        cr_expect_eq(!t_equal(now, typed), cases[i].typed, "typed_ops.json and %s", cases[i].to);
    }
    scratch_free(sc);
}
