#include "tests/support.h"
#include "verify/capture.h"
#include <criterion/criterion.h>

static capture read_ok(scratch *sc, span text)
{
    rp_err e = {0};
    capture c = {0};
    cr_assert_eq(capture_read(&e, &c, sc, "capture.json", text), RP_OK, "%s: %s", e.where, e.msg);
    return c;
}

Test(capture, the_stand_in)
{
    scratch *sc = scratch_new(0);
    t_tree t;
    t_small(&t, sc);
    capture c = read_ok(sc, t_bytes(&t, "capture.json"));
    cr_expect_str_eq(c.workload, "weight_view.small");
    cr_expect_str_eq(c.device, "no device");
    cr_expect(c.slab_bytes == 33558528 && c.n_ranges == 4 && c.n_calls == 1 && c.n_kernels == 3 &&
              c.n_not_observed == 1 && c.n_published == 0);
    cr_expect(c.ranges[2].offset_bytes == 4096 && c.ranges[2].bytes == 33554432 &&
              !strcmp(c.ranges[2].name, "workspace@2"));
    cr_expect(c.calls[0].node == 2 && c.calls[0].call.m == 24 && c.calls[0].call.n == 40 &&
              c.calls[0].call.k == 56);
    cr_expect(c.kernels[1].node == 4 && c.kernels[1].grid[0] == 4 && c.kernels[1].block[0] == 256);
    const capture_file *f = capture_find(&c, "contract.json");
    cr_assert_not_null(f);
    cr_expect(digest_equal(f->sha256, digest_of(t_bytes(&t, "contract.json"))));
    cr_expect(!capture_find(&c, "contract.jso") && !capture_find(&c, "capture.json") &&
              !capture_find(&c, "fixtures/random.safetensors"));
    scratch_free(sc);
}

/* The real ones say the same of what both know. */
Test(capture, the_shipped_ones)
{
    static const struct {
        const char *name;
        uint64_t slab, m, n, k;
    } sizes[] = {{"weight_view", 37748992, 1024, 1024, 768}, {"weight_view.small", 33558528, 24, 40, 56}};
    scratch *sc = scratch_new(0);
    for (int i = 0; i < 2; i++) {
        capture c = read_ok(
            sc, t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/capture.json", sizes[i].name)));
        cr_expect_str_eq(c.workload, sizes[i].name);
        cr_expect(c.slab_bytes == sizes[i].slab && c.n_ranges == 4 && c.n_calls == 1 && c.n_kernels >= 3);
        cr_expect(c.calls[0].call.m == sizes[i].m && c.calls[0].call.n == sizes[i].n &&
                  c.calls[0].call.k == sizes[i].k);
        cr_expect_gt(c.n_not_observed, 0);
        cr_expect_not_null(capture_find(&c, "plan/plan.json"));
    }
    scratch_free(sc);
}

Test(capture, refuses)
{
    static const struct {
        const char *from, *to;
        finding_id id;
        const char *where;
    } cases[] = {
        {"replay-capture/1", "replay-capture/2", FIND_JSON_VALUE, "/format"},
        {"\"workload\"", "\"work\"", FIND_JSON_MISSING_KEY, ""},
        {"\"producer\"", "\"producers\"", FIND_JSON_MISSING_KEY, ""},
        {"\"original\"", "\"originals\"", FIND_JSON_MISSING_KEY, ""},
        {"\"driver\"", "\"drivers\"", FIND_JSON_MISSING_KEY, ""},
        {"\"libraries\"", "\"libs\"", FIND_JSON_MISSING_KEY, ""},
        {"\"memcpy\"", "\"copies\"", FIND_JSON_MISSING_KEY, ""},
        {"\"timings\"", "\"times\"", FIND_JSON_MISSING_KEY, ""},
        {"\"not_observed\"", "\"observed\"", FIND_JSON_MISSING_KEY, ""},
        {"\"published\"", "\"claimed\"", FIND_JSON_MISSING_KEY, ""},
        {"\"figures\"", "\"figure\"", FIND_JSON_MISSING_KEY, "/published"},
        {"\"name\": \"no device\"", "\"name\": 7", FIND_JSON_TYPE, "/device/name"},
        {"\"timings\": []", "\"timings\": [], \"host\": \"x\"", FIND_JSON_UNKNOWN_KEY, "/host"},
        {"\"arena\": {", "\"arena\": [], \"x\": {", FIND_JSON_TYPE, "/arena"},
        {"\"slab_bytes\": 33558528", "\"slab_bytes\": -1", FIND_JSON_NUMBER, "/arena/slab_bytes"},
        {"\"name\": \"p32\",\n        \"offset_bytes\": 256",
         "\"name\": \"p32\",\n        \"offset_bytes\": 2.56e2", FIND_JSON_NUMBER,
         "/arena/ranges/1/offset_bytes"},
        {"\"trans_a\": false", "\"trans_a\": 0", FIND_JSON_TYPE, "/calls/0/trans_a"},
        {"\"compute\": \"32f\"", "\"compute\": \"32g\"", FIND_JSON_VALUE, "/calls/0/compute"},
        {"\"node\": 6,\n      \"grid\": [4, 1, 1]", "\"node\": 6,\n      \"grid\": [4, 1]", FIND_JSON_VALUE,
         "/kernels/2/grid"},
        {"\"path\": \"contract.json\"", "\"path\": \"contract.json\", \"bytes\": 1", FIND_JSON_UNKNOWN_KEY,
         NULL},
        {"\"path\": \"contract.json\"", "\"path\": 1", FIND_JSON_TYPE, NULL},
    };
    scratch *sc = scratch_new(0);
    t_tree t;
    t_small(&t, sc);
    span text = t_bytes(&t, "capture.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        capture c;
        cr_expect_eq(
            capture_read(&e, &c, sc, "capture.json", t_replaced(sc, text, cases[i].from, cases[i].to)),
            RP_INVALID, "accepted: %s", cases[i].to);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", cases[i].to, e.msg);
        if (cases[i].where)
            cr_expect_str_eq(e.where, cases[i].where, "%s: %s", cases[i].to, e.msg);
        else
            cr_expect(!strncmp(e.where, "/files/", 7), "%s", e.where);
    }
    scratch_free(sc);
}
