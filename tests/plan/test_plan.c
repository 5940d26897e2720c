#include "plan/plan.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static span shipped(scratch *sc, const char *name)
{
    return t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", name));
}

static plan *read_shipped(scratch *sc, const char *name)
{
    rp_err e = {0};
    plan *p = NULL;
    cr_assert_eq(plan_read(&e, &p, sc, "plan.json", shipped(sc, name)), RP_OK, "%s: %s", e.where, e.msg);
    return p;
}

Test(plan, the_shipped_ones)
{
    static const struct {
        const char *name;
        uint64_t batch, features, k, blocks;
    } sizes[] = {{"weight_view", 1024, 1024, 768, 4096}, {"weight_view.small", 40, 24, 56, 4}};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < 2; i++) {
        const plan *p = read_shipped(sc, sizes[i].name);
        uint64_t x = sizes[i].batch * sizes[i].k, wt = sizes[i].features * sizes[i].k,
                 y = sizes[i].batch * sizes[i].features;
        const uint64_t bytes[] = {2 * x, 2 * wt, 2 * sizes[i].features, 2 * y, 4 * y, 2 * y};
        static const char *const ids[] = {"x", "wt", "bias", "y", "p32", "p16"};
        static const node_op ops[] = {NODE_INPUT, NODE_ALLOC,  NODE_MATMUL, NODE_ALLOC, NODE_KERNEL,
                                      NODE_FREE,  NODE_KERNEL, NODE_FREE,   NODE_OUTPUT};
        cr_expect_str_eq(p->name, sizes[i].name);
        cr_expect(p->arena == ARENA_SLAB && p->renderer == RENDER_NAMED);
        cr_expect_str_eq(p->arena_name, "luminal-slab/2");
        cr_assert(p->n_buffers == 6 && p->n_nodes == 9 && p->n_edges == 12 && p->n_symbols == 0);
        cr_expect_eq(plan_parameter_bytes(p), 8);
        for (uint64_t b = 0; b < 6; b++) {
            cr_expect_str_eq(p->buffers[b].id, ids[b]);
            cr_expect_eq(p->buffers[b].bytes, bytes[b], "%s", ids[b]);
            cr_expect_eq(p->buffers[b].writable, b >= 3);
        }
        for (uint64_t n = 0; n < 9; n++) {
            cr_expect_eq(p->nodes[n].op, ops[n]);
            cr_expect_eq(node_launches(&p->nodes[n]), n == 2 || n == 4 || n == 6);
        }
        const lt_spec *s = &p->nodes[2].spec;
        cr_expect(s->m == sizes[i].features && s->n == sizes[i].batch && s->k == sizes[i].k && s->trans_a &&
                  !s->trans_b);
        cr_expect(p->nodes[6].grid[0] == sizes[i].blocks && p->nodes[6].block[0] == 256);
        cr_expect(layout_has(&p->nodes[6].operands[1].layout, LAYOUT_STRIDED));
        cr_expect(!layout_has(&p->nodes[6].operands[1].layout, LAYOUT_RIGHT_MAJOR));
    }
    scratch_free(sc);
}

Test(plan, what_a_node_touches)
{
    scratch *sc = scratch_new(0);
    const plan *p = read_shipped(sc, "weight_view.small");
    enum { X, WT, BIAS, Y, P32, P16 };
    const plan_node *n = p->nodes;
    cr_expect(node_touches(&n[0], X) && !node_reads(&n[0], X) && !node_writes(&n[0], X));
    cr_expect(node_touches(&n[1], P32) && !node_reads(&n[1], P32) && !node_writes(&n[1], P32));
    cr_expect(node_reads(&n[2], X) && node_reads(&n[2], WT) && !node_reads(&n[2], P32) &&
              node_writes(&n[2], P32));
    cr_expect(!node_touches(&n[2], BIAS));
    cr_expect(node_touches(&n[5], P32) && !node_reads(&n[5], P32));
    cr_expect(node_reads(&n[8], Y) && !node_writes(&n[8], Y));
    scratch_free(sc);
}

Test(plan, spans)
{
    static const struct {
        uint64_t rank, shape[4];
        layout_kind kind;
        uint64_t strides[4];
        bool ok;
        uint64_t elements;
    } cases[] = {
        {0, {0}, LAYOUT_RIGHT_MAJOR, {0}, true, 1},
        {1, {7}, LAYOUT_LEFT_MAJOR, {0}, true, 7},
        {2, {3, 5}, LAYOUT_RIGHT_MAJOR, {0}, true, 15},
        {4, {2, 3, 4, 5}, LAYOUT_LEFT_MAJOR, {0}, true, 120},
        {2, {40, 24}, LAYOUT_STRIDED, {0, 1}, true, 24}, /* a broadcast row */
        {2, {3, 5}, LAYOUT_STRIDED, {8, 1}, true, 21},   /* padded rows */
        {2, {3, 5}, LAYOUT_STRIDED, {0, 0}, true, 1},
        {2, {3, 0}, LAYOUT_STRIDED, {8, 1}, true, 0},
        {2, {0, 5}, LAYOUT_RIGHT_MAJOR, {0}, true, 0},
        {2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, LAYOUT_RIGHT_MAJOR, {0}, false, 0},
        {3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, LAYOUT_RIGHT_MAJOR, {0}, true, 0}, /* empty, whatever
                                                                                             the rest */
        {1, {3}, LAYOUT_STRIDED, {UINT64_C(1) << 63}, false, 0},
        {2, {2, 2}, LAYOUT_STRIDED, {UINT64_C(1) << 63, UINT64_C(1) << 63}, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        layout l = {.rank = cases[i].rank, .n_spellings = 1};
        uint64_t elements = 99;
        memcpy(l.shape, cases[i].shape, sizeof l.shape);
        l.spellings[0].kind = cases[i].kind;
        memcpy(l.spellings[0].strides, cases[i].strides, sizeof cases[i].strides);
        cr_expect_eq(layout_span(&l, &elements), cases[i].ok, "case %zu", i);
        if (cases[i].ok)
            cr_expect_eq(elements, cases[i].elements, "case %zu: %llu", i, (unsigned long long)elements);
    }
}

Test(plan, strides_of_each_spelling)
{
    layout l = {.rank = 3,
                .shape = {2, 3, 4},
                .n_spellings = 2,
                .spellings = {{.kind = LAYOUT_LEFT_MAJOR}, {.kind = LAYOUT_STRIDED, .strides = {7, 0, 9}}}};
    uint64_t s[PLAN_MAX_RANK] = {0};
    cr_assert(layout_strides(s, &l, LAYOUT_LEFT_MAJOR) && s[0] == 1 && s[1] == 2 && s[2] == 6);
    cr_assert(layout_strides(s, &l, LAYOUT_STRIDED) && s[0] == 7 && s[1] == 0 && s[2] == 9);
    cr_assert_not(layout_strides(s, &l, LAYOUT_RIGHT_MAJOR));
    l.spellings[0].kind = LAYOUT_RIGHT_MAJOR;
    cr_assert(layout_strides(s, &l, LAYOUT_RIGHT_MAJOR) && s[0] == 12 && s[1] == 4 && s[2] == 1);
    l.shape[1] = l.shape[2] = UINT64_C(1) << 32;
    cr_assert_not(layout_strides(s, &l, LAYOUT_RIGHT_MAJOR));
}

/* Outputs that leave elements of their buffer out. */
Test(plan, strided_outputs)
{
    static const struct {
        uint64_t rank, shape[4], strides[4];
        bool apart, fits; /* in 100 elements of F16 */
    } cases[] = {
        {2, {5, 12}, {20, 1}, true, true},
        {2, {5, 20}, {20, 1}, true, true},
        {2, {5, 21}, {20, 1}, false, false},
        {2, {12, 5}, {1, 20}, true, true},
        {2, {5, 12}, {0, 1}, false, false},
        {2, {5, 12}, {1, 1}, false, false},
        {2, {5, 1}, {20, 0}, true, true},
        {1, {50}, {2}, true, true},
        {1, {51}, {2}, true, false},
        {3, {2, 5, 6}, {8, 20, 1}, true, true},
        {3, {2, 5, 6}, {5, 20, 1}, false, false},
        {3, {3, 5, 6}, {8, 20, 1}, false, false},
        {3, {2, 2, 2}, {1, 3, 2}, false, false}, /* 1 + 2 = 3 */
        {4, {1, 1, 1, 1}, {0, 0, 0, 0}, true, true},
        {2, {2, 3}, {UINT64_MAX / 2, UINT64_MAX / 2 + 2}, false, false},
        {2, {2, 2}, {1, UINT64_MAX}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan_buffer buf = {.type = DT_F16, .bytes = 200};
        plan p = {.n_buffers = 1, .buffers = &buf};
        plan_slot s = {.layout = {.rank = cases[i].rank, .n_spellings = 1}};
        memcpy(s.layout.shape, cases[i].shape, sizeof s.layout.shape);
        s.layout.spellings[0].kind = LAYOUT_STRIDED;
        memcpy(s.layout.spellings[0].strides, cases[i].strides, sizeof cases[i].strides);
        cr_expect_eq(strides_apart(cases[i].shape, cases[i].strides, cases[i].rank), cases[i].apart,
                     "case %zu", i);
        cr_expect_eq(plan_output_strided(&p, &s), cases[i].fits, "case %zu", i);
        buf.freed_by = FREED_BY_PROGRAM;
        cr_expect_not(plan_output_strided(&p, &s), "case %zu", i);
        buf = (plan_buffer){.type = DT_F16, .bytes = 200, .owner = OWNER_SYSTEM};
        cr_expect_not(plan_output_strided(&p, &s), "case %zu", i);
        s.layout.spellings[0].kind = LAYOUT_RIGHT_MAJOR;
        cr_expect_not(plan_output_strided(&p, &s), "case %zu", i);
    }
}

#define RM(shape) "\"layout\": {\"shape\": " shape ", \"spellings\": [{\"kind\": \"right_major\"}]}"
#define X_LAYOUT                                                                                             \
    "{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"right_major\"}]}\n    },\n    {\n      \"id\": "     \
    "\"wt\""
#define AFTER_X "\n    },\n    {\n      \"id\": \"wt\""
#define X_WITH(layout) layout AFTER_X

/* A change of the small plan's text, and what plan_read says of it. */
Test(plan, refuses)
{
    static const struct {
        const char *from, *to;
        finding_id id;
        const char *where;
    } cases[] = {
        {"replay-plan/1", "replay-plan/2", FIND_JSON_VALUE, "/format"},
        {"\"name\": \"weight_view.small\"", "\"name\": \"\"", FIND_PLAN_INVALID, "/name"},
        {"\"name\": \"weight_view.small\"", "\"name\": \"a b\"", FIND_PLAN_INVALID, "/name"},
        {"\"name\": \"weight_view.small\"", "\"name\": \"\\u001b[31m\"", FIND_PLAN_INVALID, "/name"},
        {"\"name\": \"weight_view.small\"",
         "\"name\": \"a123456789012345678901234567890123456789012345678901234567890123x\"", FIND_PLAN_INVALID,
         "/name"},
        {"\"name\": \"weight_view.small\",", "", FIND_JSON_MISSING_KEY, ""},
        {"\"symbols\": [],", "\"symbols\": [], \"extra\": 1,", FIND_JSON_UNKNOWN_KEY, "/extra"},
        {"\"symbols\": [],", "\"symbols\": {},", FIND_JSON_TYPE, "/symbols"},
        {"\"symbols\": [],",
         "\"symbols\": [{\"name\": \"b\", \"value\": 1}, {\"name\": \"a\", \"value\": 1}],",
         FIND_PLAN_INVALID, "/symbols"},
        {"\"symbols\": [],",
         "\"symbols\": [{\"name\": \"a\", \"value\": 1}, {\"name\": \"a\", \"value\": 1}],",
         FIND_PLAN_INVALID, "/symbols"},
        {"\"symbols\": [],", "\"symbols\": [{\"name\": \"a\", \"value\": 1.5}],", FIND_JSON_NUMBER,
         "/symbols/0/value"},
        {"\"symbols\": [],", "\"symbols\": [{\"name\": \"a\", \"value\": 1, \"unit\": \"m\"}],",
         FIND_JSON_UNKNOWN_KEY, "/symbols/0/unit"},
        {"luminal-lt/1", "luminal-lt/2", FIND_JSON_VALUE, "/policy/resolver"},
        {"luminal-slab/2", "luminal-slab/1", FIND_JSON_VALUE, "/policy/arena"},
        {"luminal-text/1", "", FIND_JSON_VALUE, "/policy/renderer"},
        {"\"renderer\": \"luminal-text/1\"", "\"renderer\": \"opaque\", \"x\": 0", FIND_JSON_UNKNOWN_KEY,
         "/policy/x"},
        /* buffers */
        {"\"id\": \"wt\"", "\"id\": \"x\"", FIND_PLAN_INVALID, "/buffers/1"},
        {"\"id\": \"wt\"", "\"id\": \"w t\"", FIND_PLAN_INVALID, "/buffers/1/id"},
        {"\"label\": \"wt\"", "\"label\": \"\"", FIND_PLAN_INVALID, "/buffers/1/label"},
        {"\"label\": \"x\",\n      \"owner\": \"caller\"", "\"label\": \"x\",\n      \"owner\": \"nobody\"",
         FIND_JSON_VALUE, "/buffers/0/owner"},
        {"\"dtype\": \"f32\"", "\"dtype\": \"f8\"", FIND_JSON_VALUE, "/buffers/4/dtype"},
        {"\"dtype\": \"f32\"", "\"dtype\": \"F32\"", FIND_JSON_VALUE, "/buffers/4/dtype"},
        {"\"id\": \"p32\",", "\"id\": \"p32\", \"bytes\": 3840,", FIND_JSON_UNKNOWN_KEY, "/buffers/4/bytes"},
        /* layouts */
        {X_LAYOUT, X_WITH("{\"shape\": [1, 1, 1, 40, 56], \"spellings\": [{\"kind\": \"right_major\"}]}"),
         FIND_PLAN_INVALID, "/buffers/0/layout/shape"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, -56], \"spellings\": [{\"kind\": \"right_major\"}]}"),
         FIND_JSON_NUMBER, "/buffers/0/layout/shape/1"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, 56], \"spellings\": []}"), FIND_PLAN_INVALID,
         "/buffers/0/layout/spellings"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [1], \"spellings\": "
                "[{\"kind\":\"right_major\"},{\"kind\":\"left_major\"},{\"kind\":\"right_major\"},{\"kind\":"
                "\"left_major\"},{\"kind\":\"right_major\"}]}"),
         FIND_PLAN_INVALID, "/buffers/0/layout/spellings"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"diagonal\"}]}"),
         FIND_JSON_VALUE, "/buffers/0/layout/spellings/0/kind"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, 56], \"spellings\": [\"right_major\"]}"), FIND_JSON_TYPE,
         "/buffers/0/layout/spellings/0"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"strided\"}]}"),
         FIND_JSON_MISSING_KEY, "/buffers/0/layout/spellings/0"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"strided\", \"strides\": [56]}]}"),
         FIND_JSON_VALUE, "/buffers/0/layout/spellings/0/strides"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"right_major\", \"strides\": [56, 1]}]}"),
         FIND_JSON_UNKNOWN_KEY, "/buffers/0/layout/spellings/0/strides"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"right_major\"}, {\"kind\": \"strided\", "
                "\"strides\": [57, 1]}]}"),
         FIND_PLAN_INVALID, "/buffers/0/layout/spellings/1"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [4294967296, 4294967296], \"spellings\": [{\"kind\": \"right_major\"}]}"),
         FIND_PLAN_INVALID, "/buffers/0/layout/spellings/0"},
        {X_LAYOUT,
         X_WITH("{\"shape\": [2147483648, 4294967296], \"spellings\": [{\"kind\": \"right_major\"}]}"),
         FIND_PLAN_INVALID, "/buffers/0"},
        {X_LAYOUT, X_WITH("{\"shape\": [40, 56], \"spellings\": [{\"kind\": \"right_major\"}], \"pad\": 0}"),
         FIND_JSON_UNKNOWN_KEY, "/buffers/0/layout/pad"},
        /* nodes */
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}", "{\"op\": \"malloc\", \"buffer\": \"p32\"}",
         FIND_JSON_VALUE, "/nodes/1/op"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}", "{\"op\": \"alloc\", \"buffer\": \"p33\"}",
         FIND_PLAN_UNKNOWN_BUFFER, "/nodes/1/buffer"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}", "{\"op\": \"alloc\", \"buffer\": \"p32\", \"bytes\": 1}",
         FIND_JSON_UNKNOWN_KEY, "/nodes/1/bytes"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}", "{\"op\": \"alloc\"}", FIND_JSON_MISSING_KEY,
         "/nodes/1"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}", "7", FIND_JSON_TYPE, "/nodes/1"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}",
         "{\"op\": \"copy\", \"source\": \"p32\", \"destination\": \"p16\"}", FIND_PLAN_INVALID, "/nodes/1"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}",
         "{\"op\": \"copy\", \"source\": \"p32\", \"destination\": \"q\"}", FIND_PLAN_UNKNOWN_BUFFER,
         "/nodes/1/destination"},
        {"{\"op\": \"alloc\", \"buffer\": \"p32\"}",
         "{\"op\": \"copy\", \"source\": \"q\", \"destination\": \"p16\"}", FIND_PLAN_UNKNOWN_BUFFER,
         "/nodes/1/source"},
        {"{\"value\": \"x\", \"buffer\": \"x\"}", "{\"value\": \"x\", \"buffer\": \"X\"}",
         FIND_PLAN_UNKNOWN_BUFFER, "/nodes/0/slots/0/buffer"},
        {"{\"value\": \"x\", \"buffer\": \"x\"}", "{\"value\": \"x y\", \"buffer\": \"x\"}",
         FIND_PLAN_INVALID, "/nodes/0/slots/0/value"},
        {"{\"value\": \"x\", \"buffer\": \"x\"}", "{\"value\": \"x\", \"buffer\": \"x\", " RM("[40, 56]") "}",
         FIND_JSON_UNKNOWN_KEY, "/nodes/0/slots/0/layout"},
        {"\"port\": \"lhs\",\n          \"buffer\": \"p16\"",
         "\"port\": \"lhs\",\n          \"buffer\": \"none\"", FIND_PLAN_UNKNOWN_BUFFER,
         "/nodes/6/operands/0/buffer"},
        {"\"port\": \"lhs\",\n          \"buffer\": \"p16\"",
         "\"port\": \"lhs\",\n          \"buffer\": \"bias\"", FIND_PLAN_INVALID, "/nodes/6/operands/0"},
        {"\"strides\": [0, 1]", "\"strides\": [1, 1]", FIND_PLAN_INVALID,
         "/nodes/6/operands/1"}, /* beyond the bias by 39 */
        {"\"port\": \"dest\",\n        \"buffer\": \"y\"", "\"port\": \"dest\",\n        \"buffer\": \"z\"",
         FIND_PLAN_UNKNOWN_BUFFER, "/nodes/6/destination/buffer"},
        {"\"label\": \"Cast\"", "\"label\": \"C\\nast\"", FIND_PLAN_INVALID, "/nodes/4/label"},
        {"\"label\": \"CublasLt\",\n", "\"label\": \"CublasLt\", \"algorithm\": 66,\n", FIND_JSON_UNKNOWN_KEY,
         "/nodes/2/algorithm"},
        {"\"form\": \"CublasLt\"", "\"form\": \"CublasLtGelu\"", FIND_JSON_VALUE, "/nodes/2/spec/form"},
        {"\"trans_a\": true", "\"trans_a\": 1", FIND_JSON_TYPE, "/nodes/2/spec/trans_a"},
        {"\"lda\": 56", "\"lda\": 56.0", FIND_JSON_NUMBER, "/nodes/2/spec/lda"},
        {"\"lda\": 56", "\"lda\": 9007199254740992", FIND_JSON_NUMBER, "/nodes/2/spec/lda"},
        {"\"lda\": 56,", "", FIND_JSON_MISSING_KEY, "/nodes/2/spec"},
        {"\"d_dtype\": \"f32\"", "\"d_dtype\": \"tf32\"", FIND_JSON_VALUE, "/nodes/2/spec/d_dtype"},
        {"\"epilogue\": \"default\"", "\"epilogue\": \"gelu\"", FIND_JSON_VALUE, "/nodes/2/spec/epilogue"},
        {"\"epilogue\": \"default\"", "\"epilogue\": \"default\", \"batch\": 1", FIND_JSON_UNKNOWN_KEY,
         "/nodes/2/spec/batch"},
        /* ties */
        {"\"port\": \"dest\",\n        \"buffer\": \"y\"",
         "\"port\": \"dest\", \"tie\": \"none\",\n        \"buffer\": \"y\"", FIND_PLAN_INVALID,
         "/nodes/6/destination/tie"},
        {"\"port\": \"dest\",\n        \"buffer\": \"y\"",
         "\"port\": \"dest\", \"tie\": 0,\n        \"buffer\": \"y\"", FIND_JSON_TYPE,
         "/nodes/6/destination/tie"},
        /* launches; the Add kernel's follow "001_add.cu" */
        {"\"source\": \"kernels/001_add.cu\",\n      \"entry\": \"k\"",
         "\"source\": \"kernels/001_add.cu\",\n      \"entry\": \"k k\"", FIND_PLAN_INVALID,
         "/nodes/6/entry"},
        {"\"source\": \"kernels/001_add.cu\"", "\"source\": 1", FIND_JSON_TYPE, "/nodes/6/source"},
    };
    scratch *sc = scratch_new(0);
    span small = shipped(sc, "weight_view.small");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        plan *p;
        cr_expect_eq(plan_read(&e, &p, sc, "plan.json", t_replaced(sc, small, cases[i].from, cases[i].to)),
                     RP_INVALID, "accepted: %s", cases[i].to);
        cr_expect_eq(e.id, cases[i].id, "%s: %s: %s", cases[i].to, finding_name(e.id), e.msg);
        cr_expect_str_eq(e.where, cases[i].where, "%s: %s", cases[i].to, e.msg);
        cr_expect_str_eq(e.file, "plan.json");
    }
    scratch_free(sc);
}

/* Cast's launch, which alone has an operand "input". */
static span with_launch(scratch *sc, const char *grid, const char *block)
{
    span small = shipped(sc, "weight_view.small");
    static const char from[] = "\"grid\": [4, 1, 1],\n      \"block\": [256, 1, 1]";
    const uint8_t *at = memmem(small.p, small.n, from, strlen(from));
    cr_assert_not_null(at);
    char to[128];
    snprintf(to, sizeof to, "\"grid\": %s,\n      \"block\": %s", grid, block);
    return t_splice(sc, small, (size_t)(at - small.p), strlen(from), span_str(to));
}

Test(plan, launch_limits)
{
    static const struct {
        const char *grid, *block, *where;
    } cases[] = {
        {"[2147483647, 65535, 65535]", "[1024, 1, 1]", NULL},
        {"[1, 1, 1]", "[1, 1024, 1]", NULL},
        {"[1, 1, 1]", "[4, 4, 64]", NULL},
        {"[0, 1, 1]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[4, 1, 0]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[2147483648, 1, 1]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[1, 65536, 1]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[1, 1, 65536]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[1, 1]", "[256, 1, 1]", "/nodes/4/grid"},
        {"[1, 1, 1]", "[0, 1, 1]", "/nodes/4/block"},
        {"[1, 1, 1]", "[1025, 1, 1]", "/nodes/4/block"},
        {"[1, 1, 1]", "[1, 1, 65]", "/nodes/4/block"},
        {"[1, 1, 1]", "[32, 33, 1]", "/nodes/4/block"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        plan *p;
        rp_code code = plan_read(&e, &p, sc, "plan.json", with_launch(sc, cases[i].grid, cases[i].block));
        cr_expect_eq(code, cases[i].where ? RP_INVALID : RP_OK, "%s %s: %s", cases[i].grid, cases[i].block,
                     e.msg);
        if (cases[i].where)
            cr_expect_str_eq(e.where, cases[i].where, "%s", e.msg);
    }
    scratch_free(sc);
}

Test(plan, edges_refused)
{
    static const struct {
        const char *edge;
        finding_id id;
        const char *where;
    } cases[] = {
        {"{\"from\": 9, \"to\": 1, \"buffer\": \"x\", \"port\": \"p\", \"kind\": \"data\"}",
         FIND_PLAN_INVALID, "/edges/0"},
        {"{\"from\": 0, \"to\": 9, \"buffer\": \"x\", \"port\": \"p\", \"kind\": \"data\"}",
         FIND_PLAN_INVALID, "/edges/0"},
        {"{\"from\": -1, \"to\": 1, \"buffer\": \"x\", \"port\": \"p\", \"kind\": \"data\"}",
         FIND_JSON_NUMBER, "/edges/0/from"},
        {"{\"from\": 0, \"to\": 2, \"buffer\": \"q\", \"port\": \"p\", \"kind\": \"data\"}",
         FIND_PLAN_UNKNOWN_BUFFER, "/edges/0/buffer"},
        {"{\"from\": 0, \"to\": 2, \"buffer\": \"x\", \"port\": 0, \"kind\": \"data\"}", FIND_JSON_TYPE,
         "/edges/0/port"},
        {"{\"from\": 0, \"to\": 2, \"buffer\": \"x\", \"port\": \"p\", \"kind\": \"order\"}", FIND_JSON_VALUE,
         "/edges/0/kind"},
        {"{\"from\": 0, \"to\": 2, \"buffer\": \"x\", \"port\": \"p\", \"kind\": \"anti\", \"w\": 1}",
         FIND_JSON_UNKNOWN_KEY, "/edges/0/w"},
        {"[]", FIND_JSON_TYPE, "/edges/0"},
    };
    scratch *sc = scratch_new(0);
    span small = shipped(sc, "weight_view.small");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        plan *p;
        span text =
            t_replaced(sc, small, "\"edges\": [", scratch_printf(sc, "\"edges\": [%s,", cases[i].edge));
        cr_expect_eq(plan_read(&e, &p, sc, "plan.json", text), RP_INVALID);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", finding_name(e.id), e.msg);
        cr_expect_str_eq(e.where, cases[i].where, "%s", e.msg);
    }
    scratch_free(sc);
}

/* `count` copies of an element in the array `key` of the small plan. */
static rp_code read_many(rp_err *e, scratch *sc, plan **p, const char *key, const char *element, size_t count)
{
    span small = shipped(sc, "weight_view.small");
    size_t n = strlen(element), head = strlen(key) + 5;
    char *list = scratch_alloc(sc, head + (n + 1) * count + 1);
    snprintf(list, head + 1, "\"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        memcpy(list + head + i * (n + 1), element, n);
        list[head + i * (n + 1) + n] = ',';
    }
    return plan_read(e, p, sc, "plan.json",
                     t_replaced(sc, small, scratch_printf(sc, "\"%s\": [", key), list));
}

Test(plan, counts_are_bounded)
{
    static const struct {
        const char *key, *element, *where;
        size_t most;
    } cases[] = {
        {"nodes", "{\"op\":\"alloc\",\"buffer\":\"p16\"}", "/nodes", 4096 - 9},
        {"edges", "{\"from\":0,\"to\":2,\"buffer\":\"x\",\"port\":\"a\",\"kind\":\"data\"}", "/edges",
         16 * 4096 - 12},
        {"slots", "{\"value\":\"x\",\"buffer\":\"x\"}", "/nodes/0/slots", 0},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < 2; i++) {
        rp_err e = {0};
        plan *p;
        cr_expect_eq(read_many(&e, sc, &p, cases[i].key, cases[i].element, cases[i].most), RP_OK, "%s: %s",
                     cases[i].key, e.msg);
        cr_expect_eq(read_many(&e, sc, &p, cases[i].key, cases[i].element, cases[i].most + 1), RP_INVALID,
                     "%s", cases[i].key);
        cr_expect(e.id == FIND_PLAN_INVALID && !strcmp(e.where, cases[i].where), "%s: %s", e.where, e.msg);
    }
    /* 17 operands */
    span small = shipped(sc, "weight_view.small");
    const char *slots = "{\"value\": \"x\", \"buffer\": \"x\"}";
    for (int i = 0; i < 14; i++)
        slots = scratch_printf(sc, "{\"value\":\"x\",\"buffer\":\"x\"},%s", slots);
    rp_err e = {0};
    plan *p;
    cr_expect_eq(plan_read(&e, &p, sc, "plan.json",
                           t_replaced(sc, small, "{\"value\": \"x\", \"buffer\": \"x\"}", slots)),
                 RP_INVALID);
    cr_expect(e.id == FIND_PLAN_INVALID && !strcmp(e.where, "/nodes/0/slots"), "%s: %s", e.where, e.msg);
    scratch_free(sc);
}

Test(plan, symbols_copies_and_annotations)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    plan *p;
    span text = t_replaced(sc, shipped(sc, "weight_view.small"), "\"symbols\": [],",
                           "\"symbols\": [{\"name\": \"a\", \"value\": -3}, {\"name\": \"b\", \"value\": "
                           "4}], \"annotations\": {\"by\": [1]},");
    text = t_replaced(sc, text, "{\"op\": \"free\", \"buffer\": \"p16\"},",
                      "{\"op\": \"free\", \"buffer\": \"p16\"},{\"op\": \"copy\", \"source\": \"p16\", "
                      "\"destination\": \"y\"},");
    cr_assert_eq(plan_read(&e, &p, sc, "plan.json", text), RP_OK, "%s: %s", e.where, e.msg);
    cr_expect(p->n_symbols == 2 && p->symbols[0].value == -3 && plan_parameter_bytes(p) == 16);
    const plan_node *copy = &p->nodes[8];
    cr_expect(copy->op == NODE_COPY && node_reads(copy, 5) && node_writes(copy, 3) && node_launches(copy));
    scratch_free(sc);
}

Test(plan, starved)
{
    scratch *all = scratch_new(0);
    span small = shipped(all, "weight_view.small");
    size_t refused = 0, limit = 64;
    for (;; limit += limit / 8) {
        scratch *sc = scratch_new(limit);
        rp_err e = {0};
        plan *p = NULL;
        rp_code code = plan_read(&e, &p, sc, "plan.json", small);
        scratch_free(sc);
        if (!code)
            break;
        cr_assert_eq(code, RP_NOMEM, "%zu bytes: %s", limit, e.msg);
        refused++;
        cr_assert_lt(limit, 1 << 24);
    }
    cr_expect_gt(refused, 30);
    scratch_free(all);
}
