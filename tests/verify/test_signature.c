#include "artifacts/base/json.h"
#include "tests/support.h"
#include "verify/signature.h"
#include <criterion/criterion.h>

/* Signature and document of a bundle of these files. */
static digest sign(scratch *sc, const char *dir, const t_tree *t, const char **document)
{
    rp_err e = {0};
    store *st;
    bundle *b;
    findings fs;
    span text = {0};
    digest d = {{0}};
    findings_init(&fs, sc);
    cr_assert_eq(store_open(&e, &st, t_bundle(sc, dir, t->name, t->v, t->n)), RP_OK, "%s", e.msg);
    cr_assert_eq(bundle_load(&e, &b, &fs, sc, st), RP_OK, "%s", e.msg);
    cr_assert(fs.n == 0 && bundle_complete(b), "%s", t_list(sc, &fs));
    cr_assert_eq(plan_signature(&e, &text, &d, sc, b), RP_OK, "%s", e.msg);
    cr_expect(digest_equal(d, digest_of(text)));
    if (document)
        *document = scratch_strndup(sc, (const char *)text.p, text.n);
    store_free(st);
    return d;
}

Test(signature, stable)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *first, *second;
    t_tree t;
    t_small(&t, sc);
    digest a = sign(sc, dir, &t, &first), b = sign(sc, dir, &t, &second);
    cr_expect(digest_equal(a, b));
    cr_expect_str_eq(first, second);
    t_remove(dir);
    scratch_free(sc);
}

/* Strings, integers, truths and null in compact form with ascending keys; no fraction anywhere. */
static void expect_canonical(js_node *v)
{
    if (js_kind(v) == JS_NUMBER) {
        int64_t ignored;
        rp_err e = {0};
        cr_expect_eq(js_as_i64(&e, &ignored, v), RP_OK, "%s", js_where(v));
    }
    if (js_kind(v) != JS_OBJECT && js_kind(v) != JS_ARRAY)
        return;
    for (size_t i = 0; i < js_len(v); i++) {
        if (js_kind(v) == JS_OBJECT && i)
            cr_expect_lt(strcmp(js_key_at(v, i - 1), js_key_at(v, i)), 0, "%s", js_where(js_at(v, i)));
        expect_canonical(js_at(v, i));
    }
}

Test(signature, document)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *text;
    t_tree t;
    rp_err e = {0};
    js_node *root, *v;
    size_t n = 0;
    t_small(&t, sc);
    sign(sc, dir, &t, &text);
    cr_assert_eq(js_parse(&e, &root, sc, "s", span_str(text)), RP_OK, "%s", e.msg);
    expect_canonical(root);
    cr_expect(!strchr(text, '\n') && !strstr(text, ", ") && !strstr(text, ": "));
    cr_expect(!js_arr(&e, &v, &n, root, "ops") && n == 3);
    cr_expect(!js_arr(&e, &v, &n, root, "calls") && n == 1);
    cr_expect(!js_arr(&e, &v, &n, root, "kernels") && n == 2);
    uint64_t slab = 0;
    cr_expect(!js_obj(&e, &v, root, "arena") && !js_u64(&e, &slab, v, "slab_bytes") && slab == 33558528);
    /* Nothing of this machine. */
    cr_expect(!strstr(text, dir) && !strstr(text, "/tmp") && !strstr(text, "0x"));
    t_remove(dir);
    scratch_free(sc);
}

/* What the implementation is moves it; what is only said about it does not. */
Test(signature, what_moves_it)
{
    static const struct {
        const char *what, *path, *from, *to;
        bool moves;
    } cases[] = {
        {"an op", "plan/plan.json", "\"label\": \"Cast\"", "\"label\": \"Conv\"", true},
        {"a slot's layout", "plan/plan.json", "\"strides\": [0, 1]", "\"strides\": [0, 0]", true},
        {"a descriptor", "plan/plan.json",
         "\"spellings\": [{\"kind\": \"left_major\"}]}\n      }\n    },\n    {\"op\": \"alloc\", \"buffer\": "
         "\"p16\"}",
         "\"spellings\": [{\"kind\": \"right_major\"}]}\n      }\n    },\n    {\"op\": \"alloc\", "
         "\"buffer\": \"p16\"}",
         true},
        {"an epilogue", "plan/plan.json", "\"epilogue\": \"default\"", "\"epilogue\": \"relu\"", true},
        {"a source", "kernels/000_cast.cu", "960ULL", "961ULL", true},
        {"an option", "kernels/000_cast.json", "\"-I$CUDA_INCLUDE\"",
         "\"-I$CUDA_INCLUDE\", \"--use_fast_math\"", true},
        {"a port", "plan/plan.json", "\"port\": \"dest\",\n        \"buffer\": \"y\"",
         "\"port\": \"out\",\n        \"buffer\": \"y\"", true},
        {"a grid", "plan/plan.json",
         "\"grid\": [4, 1, 1],\n      \"block\": [256, 1, 1],\n      \"shared_bytes\": 0\n    },\n    "
         "{\"op\": \"free\", \"buffer\": \"p16\"}",
         "\"grid\": [5, 1, 1],\n      \"block\": [256, 1, 1],\n      \"shared_bytes\": 0\n    },\n    "
         "{\"op\": \"free\", \"buffer\": \"p16\"}",
         true},
        {"the shared bytes", "plan/plan.json",
         "\"shared_bytes\": 0\n    },\n    {\"op\": \"free\", \"buffer\": \"p16\"}",
         "\"shared_bytes\": 64\n    },\n    {\"op\": \"free\", \"buffer\": \"p16\"}", true},
        {"a size in the arena", "plan/plan.json",
         "\"dtype\": \"f16\",\n      \"layout\": {\"shape\": [40, 24], \"spellings\": [{\"kind\": "
         "\"right_major\"}]}\n    }\n  ],",
         "\"dtype\": \"f32\",\n      \"layout\": {\"shape\": [40, 24], \"spellings\": [{\"kind\": "
         "\"right_major\"}]}\n    }\n  ],",
         true},
        {"the arena's policy", "plan/plan.json", "luminal-slab/2", "given", true},
        {"the parameter block", "plan/plan.json", "\"symbols\": []",
         "\"symbols\": [{\"name\": \"a\", \"value\": 1}, {\"name\": \"b\", \"value\": 1}]", true},
        {"a tolerance", "contract.json", "\"atol\": 0.0002", "\"atol\": 0.0003", false},
        {"a seed", "fixtures/random.json", "\"seed\": 2", "\"seed\": 4", false},
        {"a label that ops do not have", "plan/plan.json", "\"label\": \"p16\"", "\"label\": \"half\"",
         false},
        {"white space", "plan/plan.json", "\"symbols\": []", "\"symbols\":[]", false},
        {"the plan's annotations", "plan/plan.json", "\"symbols\": []",
         "\"symbols\": [], \"annotations\": {\"by\": \"hand\"}", false},
        {"the recorded arena, which is rebuilt", "plan/arena.json", "\"offset_bytes\": 256",
         "\"offset_bytes\": 512", false},
        {"the capture", "capture.json", "\"no device\"", "\"a device\"", false},
    };
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc);
    t_tree whole;
    t_small(&whole, sc);
    const digest before = sign(sc, dir, &whole, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_tree t = whole;
        t_replace(&t, cases[i].path, cases[i].from, cases[i].to);
        if (manifest_role_of(cases[i].path) == ROLE_SOURCE)
            t_add_records(&t);
        cr_expect_eq(!digest_equal(sign(sc, dir, &t, NULL), before), cases[i].moves, "%s", cases[i].what);
    }
    /* Under policy given it is the recorded arena that counts. */
    t_tree t = whole;
    t_replace(&t, "plan/plan.json", "luminal-slab/2", "given");
    const digest given = sign(sc, dir, &t, NULL);
    t_replace(&t, "plan/arena.json", "\"offset_bytes\": 256", "\"offset_bytes\": 512");
    cr_expect_not(digest_equal(sign(sc, dir, &t, NULL), given));
    t_remove(dir);
    scratch_free(sc);
}
