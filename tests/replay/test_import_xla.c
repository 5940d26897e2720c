#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "replay/import_xla.h"
#include "replay/text_file.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <criterion/redirect.h>

static const char *text(js_node *o, const char *key)
{
    js_node *v = js_find(o, key);
    return v && js_kind(v) == JS_STRING ? js_scalar_text(v) : "";
}

static void redirect_both(void)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
}

/* A dump, unpacked below dir. */
static const char *dump_of(scratch *sc, const char *dir, const char *name)
{
    rp_err e = {0};
    span tar;
    const char *packed = scratch_printf(sc, "tests/data/xla-dump/%s.tar.zst", name);
    cr_assert_eq(text_file_read(&e, &tar, sc, packed, 1 << 24), RP_OK, "%s", e.msg);
    t_write(sc, dir, "x.tar", tar);
    cr_assert_eq(t_shell(dir, "tar xf x.tar"), 0);
    return file_join(sc, dir, name);
}

static int packed_and_verified(scratch *sc, const char *dir, const char *sources)
{
    char *from = file_join(sc, dir, sources), *packed = file_join(sc, dir, "b.tar.zst");
    char dash_o[] = "-o", name[] = "x", quick[] = "--quick";
    char *pack[] = {name, from, dash_o, packed, NULL}, *verify[] = {name, packed, quick, NULL};
    optind = 0;
    cr_expect_eq(cmd_pack(4, pack), EXIT_PASSED, "%s", sources);
    optind = 0;
    return cmd_verify(3, verify);
}

static const char *words_of(scratch *sc, const char *dir, const char *path)
{
    span s = t_slurp(sc, file_join(sc, dir, path));
    return scratch_strndup(sc, (const char *)s.p, s.n);
}

/* Two modules with library calls: XLA's places in the arena hold, and both kinds of sources verify. */
Test(import_xla, calls, .init = cr_redirect_stdout)
{
    static const char *const sources[] = {"out/module_2648.jit_weight_view/calls",
                                          "out/module_2648.jit_weight_view/plan",
                                          "out/module_4634.jit_mlp/calls", "out/module_4634.jit_mlp/plan"};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *dump = dump_of(sc, dir, "xla-cublaslt");
    cr_assert_eq(import_xla_dump(dump, file_join(sc, dir, "out"), false), EXIT_PASSED);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(packed_and_verified(sc, dir, sources[i]), EXIT_PASSED, "%s", sources[i]);
    const char *s = words_of(sc, dir, "out/module_4634.jit_mlp/calls/plan/arena.json");
    cr_expect(strstr(s, "\"offset_bytes\": 33554944"));
    cr_expect(strstr(s, "\"offset_bytes\": 512"));
    t_remove(dir);
    scratch_free(sc);
}

/* Without library calls the plan of the whole module is still there; there is nothing to run, and the reason
 * is said. */
Test(import_xla, without_calls, .init = cr_redirect_stdout)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    js_node *root;
    const char *dir = t_dir(sc), *dump = dump_of(sc, dir, "xla-default"), *out = file_join(sc, dir, "out");
    cr_assert_eq(import_xla_dump(dump, out, false), EXIT_PASSED);
    cr_assert_eq(js_parse(&e, &root, sc, "dump.json",
                          t_slurp(sc, file_join(sc, out, "module_24481.jit_mlp/dump.json"))),
                 RP_OK);
    cr_expect_str_eq(text(root, "no_bundle"),
                     "no __cublas$lt$matmul call: the kernels of the dump have no code");
    cr_expect_str_eq(text(root, "plan"), "plan");
    cr_expect_eq(js_len(js_find(root, "thunks")), 3);
    cr_expect_eq(js_len(js_find(root, "values")), 6);
    cr_expect(!file_exists(file_join(sc, out, "module_24481.jit_mlp/calls")));
    cr_expect_eq(packed_and_verified(sc, dir, "out/module_24481.jit_mlp/plan"), EXIT_PASSED);
    cr_expect_eq(packed_and_verified(sc, dir, "out/module_2652.jit_weight_view/plan"), EXIT_PASSED);
    t_remove(dir);
    scratch_free(sc);
}

/* The shipped dump, cut down to one library call of a few elements and edited: what it does not show. */
typedef struct {
    const char *what;
    struct {
        const char *type;
        unsigned bytes;
    } params[4];
    const char *d;
    unsigned d_bytes;
    const char *dims, *epilogue, *numbers, *precision, *target;
    bool in_place; /* C is what a kernel made, and D takes its bytes */
    const char *no_bundle;
    const char *has[7]; /* in the calls, the plan, or the reference */
} derived;

#define F16(shape, n)                                                                                        \
    {                                                                                                        \
        "f16[" shape "]", 2 * (n)                                                                            \
    }
#define PLAIN                                                                                                \
    "\"lhs_batch_dimensions\":[],\"lhs_contracting_dimensions\":[\"1\"],\"rhs_batch_dimensions\":[],\"rhs_"  \
    "contracting_dimensions\":[\"0\"]"
#define BATCH                                                                                                \
    "\"lhs_batch_dimensions\":[\"0\"],\"lhs_contracting_dimensions\":[\"2\"],\"rhs_batch_dimensions\":["     \
    "\"0\"],"                                                                                                \
    "\"rhs_contracting_dimensions\":[\"1\"]"

static const derived variants[] = {
    {"plain, row by row",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .has = {"\"rows\": 8", "\"order\": \"col\"", "\"epilogue\": \"default\""}},
    {"a result in column order: no exchange",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{0,1}",
     64,
     PLAIN,
     .has = {"\"order\": \"row\"", "\"buffer\": \"p0\",\n        \"cols\": 6"}},
    {"operands in column order",
     {{"f16[4,6]{0,1}", 48}, {"f16[6,8]{0,1}", 96}},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .has = {"\"order\": \"row\"", "\"transpose_a\": true", "\"transpose_b\": true"}},
    {"f32 as TF32",
     {{"f32[4,6]", 96}, {"f32[6,8]", 192}},
     "f32[4,8]{1,0}",
     128,
     PLAIN,
     .has = {"\"compute\": \"32f_fast_tf32\""}},
    {"f32 at the highest precision",
     {{"f32[4,6]", 96}, {"f32[6,8]", 192}},
     "f32[4,8]{1,0}",
     128,
     PLAIN,
     .precision = "HIGHEST",
     .has = {"\"compute\": \"32f\""}},
    {"relu",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "RELU",
     .has = {"\"epilogue\": \"relu\"", "\"op\": \"relu\""}},
    {"a bias",
     {F16("4,6", 24), F16("6,8", 48), F16("8", 8)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "BIAS",
     .has = {"\"epilogue\": \"bias\"", "\"bias\": \"p2\"", "\"port\": \"bias\"", "\"op\": \"add\""}},
    {"a bias, then relu",
     {F16("4,6", 24), F16("6,8", 48), F16("8", 8)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "BIAS_RELU",
     .has = {"\"epilogue\": \"relu_bias\"", "\"bias\": \"p2\""}},
    {"beta 1",
     {F16("4,6", 24), F16("6,8", 48), F16("4,8", 32)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .numbers = "\"alpha_imag\":0,\"alpha_real\":1,\"beta\":1",
     .has = {"\"beta\": 1", "\"port\": \"c\""}},
    {"beta 1 and a bias",
     {F16("4,6", 24), F16("6,8", 48), F16("4,8", 32), F16("8", 8)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .numbers = "\"alpha_imag\":0,\"alpha_real\":1,\"beta\":1",
     .epilogue = "BIAS",
     .has = {"\"beta\": 1", "\"bias\": \"p3\"", "\"port\": \"c\""}},
    {"beta 1, in the place of C",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .numbers = "\"alpha_imag\":0,\"alpha_real\":1,\"beta\":1",
     .in_place = true,
     .has = {"\"beta\": 1", "\"buffer\": \"made_fusion\""}},
    {"gelu",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "GELU",
     .has = {"\"epilogue\": \"gelu\"", "\"op\": \"gelu\""}},
    {"a bias, then gelu",
     {F16("4,6", 24), F16("6,8", 48), F16("8", 8)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "BIAS_GELU",
     .has = {"\"epilogue\": \"gelu_bias\"", "\"bias\": \"p2\""}},
    {"a batch",
     {F16("3,4,6", 72), F16("3,6,8", 144)},
     "f16[3,4,8]{2,1,0}",
     192,
     BATCH,
     .has = {"\"batch\": 3", "\"stride\": 48", "\"stride\": 24", "\"stride\": 32"}},
    {"a batch between rows and columns",
     {{"f16[3,4,6]{2,0,1}", 144}, {"f16[3,6,8]", 288}},
     "f16[3,4,8]{2,1,0}",
     192,
     BATCH,
     .has = {"\"op\": \"view\"", "\"stride\": 6", "\"ld\": 18"}},
    {"a batch as the fastest axis",
     {{"f16[3,4,6]{0,2,1}", 144}, {"f16[3,6,8]", 288}},
     "f16[3,4,8]{2,1,0}",
     192,
     BATCH,
     .no_bundle = "an operand whose axes do not lie as a matrix"},
    {"alpha 2",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .numbers = "\"alpha_imag\":0,\"alpha_real\":2,\"beta\":0",
     .no_bundle = "a library call whose alpha is not 1"},
    {"beta one half",
     {F16("4,6", 24), F16("6,8", 48), F16("4,8", 32)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .numbers = "\"alpha_imag\":0,\"alpha_real\":1,\"beta\":0.5",
     .no_bundle = "a library call whose beta is neither 0 nor 1"},
    {"an auxiliary output",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .epilogue = "GELU_AUX",
     .no_bundle = "a library call with an auxiliary output, or another epilogue that a plan does not have"},
    {"FP8",
     {F16("4,6", 24), F16("6,8", 48)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .target = "__cublas$lt$matmul$f8",
     .no_bundle = "a library call with scales: FP8 is not imported"},
    {"F64",
     {{"f64[4,6]", 192}, {"f64[6,8]", 384}},
     "f64[4,8]{1,0}",
     256,
     PLAIN,
     .no_bundle = "types that a plan has no product of"},
    {"an operand too many",
     {F16("4,6", 24), F16("6,8", 48), F16("8", 8)},
     "f16[4,8]{1,0}",
     64,
     PLAIN,
     .no_bundle = "a library call with another number of operands than its configuration asks for"},
};

static const char *appended(scratch *sc, const char *to, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static const char *appended(scratch *sc, const char *to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *more = scratch_vprintf(sc, fmt, ap);
    va_end(ap);
    return scratch_printf(sc, "%s%s", to, more);
}

/* `more` before the one place where `before` stands. */
static const char *inserted(scratch *sc, const char *s, const char *before, const char *more)
{
    const char *at = strstr(s, before);
    cr_assert_not_null(at);
    return scratch_printf(sc, "%.*s%s%s", (int)(at - s), s, more, at);
}

static void write_derived(scratch *sc, const char *dir, const derived *v)
{
    const char *hlo = "HloModule jit_small, is_scheduled=true\n\nENTRY %main.1 () -> () {\n", *list = "",
               *places, *sequence = "HloLiveRange (max 9):\n  InstructionSequence:\n", *lives = "";
    places = scratch_printf(
        sc,
        "BufferAssignment:\nallocation 0: size %u, page 0, output shape is |x|, maybe-live-out:\n"
        " value: <1 custom-call.1{0} @0> (size=%u,offset=0): %s\n",
        v->d_bytes, v->d_bytes, v->d);
    int n = 0;
    for (; n < 4 && v->params[n].type; n++) {
        const char *type = v->params[n].type;
        hlo = appended(sc, hlo, "  %%p%d = %s parameter(%d)\n", n, type, n);
        list = appended(sc, list, "%s%%p%d", n ? ", " : "", n);
        places = appended(
            sc, places,
            "allocation %d: size %u, page 0, parameter %d, shape |x| at ShapeIndex {}:\n value: <%d p%d "
            "@0> (size=%u,offset=0): %s\n",
            n + 1, v->params[n].bytes, n, n + 2, n, v->params[n].bytes, type);
        sequence = appended(sc, sequence, "    %d:p%d\n", n, n);
        lives = appended(sc, lives, "    p%d{}:0-%d\n", n, n + 1);
    }
    if (v->in_place) {
        hlo = appended(sc, hlo, "  %%made_fusion = %s fusion(%%p0), kind=kLoop, calls=%%f\n", v->d);
        list = appended(sc, list, ", %%made_fusion");
        places = inserted(
            sc, places, " value: <1 custom-call",
            scratch_printf(sc, " value: <0 made_fusion @0> (size=%u,offset=0): %s\n", v->d_bytes, v->d));
        sequence = appended(sc, sequence, "    %d:made_fusion\n", n);
        lives = appended(sc, lives, "    made_fusion{}:%d-%d\n", n, n + 1);
    }
    int at = n + v->in_place;
    hlo = appended(
        sc, hlo,
        "  %%custom-call.1 = (%s, s8[512]{0}) custom-call(%s), custom_call_target=\"%s\", "
        "metadata={op_name=\"a{\"}, "
        "backend_config={\"gemm_backend_config\":{%s,\"dot_dimension_numbers\":{%s},\"epilogue\":\"%s\","
        "\"precision_config\":{\"algorithm\":\"ALG_UNSET\",\"operand_precision\":[\"%s\",\"DEFAULT\"]}}}\n"
        "  ROOT %%get-tuple-element.1 = %s get-tuple-element(%%custom-call.1), index=0\n}\n",
        v->d, list, v->target ? v->target : "__cublas$lt$matmul",
        v->numbers ? v->numbers : "\"alpha_imag\":0,\"alpha_real\":1,\"beta\":0", v->dims,
        v->epilogue ? v->epilogue : "DEFAULT", v->precision ? v->precision : "DEFAULT", v->d);
    places = appended(
        sc, places,
        "allocation %d: size 1024, page 0, preallocated-temp:\n value: <8 custom-call.1{} @0> "
        "(size=16,offset=0): (%s, s8[512]{0})\n value: <9 custom-call.1{1} @0> (size=512,offset=256): "
        "s8[512]{0}\n",
        n + 1, v->d);
    sequence =
        appended(sc, sequence, "    %d:custom-call.1\n    %d:get-tuple-element.1\n  BufferLiveRange:\n%s", at,
                 at + 1, lives);
    sequence = appended(sc, sequence,
                        "    custom-call.1{}:%d-%d\n    custom-call.1{0}:%d-%d\n    custom-call.1{1}:%d-%d\n",
                        at, at + 1, at, at + 2, at, at);
    static const char stem[] = "module_1.jit_small.sm_9.0a_gpu_after_optimizations";
    t_write(sc, dir, scratch_printf(sc, "%s.txt", stem), span_str(hlo));
    t_write(sc, dir, scratch_printf(sc, "%s-buffer-assignment.txt", stem), span_str(places));
    t_write(sc, dir, scratch_printf(sc, "%s-live-range.txt", stem), span_str(sequence));
    t_write(
        sc, dir, "module_1.jit_small.thunk_sequence.txt",
        span_str(
            v->in_place
                ? "001: kCustomKernel [source | next=002 (1)] made_fusion grid: [1, 1, 1] threads: [32, 1, "
                  "1]  shared_memory: 0 bytes\n002: kCublasLtMatmul [prev=001 (1) | sink] kCublasLtMatmul\n"
                : "001: kCublasLtMatmul [source       | sink        ] kCublasLtMatmul\n"));
}

/* More than a redirected pipe would take. */
static void to_nowhere(void)
{
    cr_assert_not_null(freopen("/dev/null", "w", stdout));
}

Test(import_xla, variants, .init = to_nowhere)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const derived *v = &variants[i];
        scratch *sc = scratch_new(0);
        const char *dir = t_dir(sc), *out = file_join(sc, dir, "out"), *dump = file_join(sc, dir, "dump");
        rp_err e = {0};
        js_node *root;
        write_derived(sc, dump, v);
        cr_assert_eq(import_xla_dump(dump, out, false), EXIT_PASSED, "%s", v->what);
        cr_assert_eq(js_parse(&e, &root, sc, "dump.json",
                              t_slurp(sc, file_join(sc, out, "module_1.jit_small/dump.json"))),
                     RP_OK);
        cr_expect_str_eq(text(root, "no_bundle"), v->no_bundle ? v->no_bundle : "", "%s", v->what);
        if (!*text(root, "no_plan"))
            cr_expect_eq(packed_and_verified(sc, dir, "out/module_1.jit_small/plan"), EXIT_PASSED, "%s",
                         v->what);
        else
            cr_expect_str_eq(text(root, "no_plan"), text(root, "no_bundle"), "%s", v->what);
        if (!*text(root, "no_bundle")) {
            const char *s = scratch_printf(
                sc, "%s%s%s", words_of(sc, out, "module_1.jit_small/calls/plan/resolved_calls.json"),
                words_of(sc, out, "module_1.jit_small/calls/plan/plan.json"),
                words_of(sc, out, "module_1.jit_small/calls/reference.json"));
            cr_expect_eq(
                v->in_place,
                strstr(words_of(sc, out, "module_1.jit_small/plan/plan/plan.json"), "\"tie\": \"c\"") != NULL,
                "%s", v->what);
            for (size_t k = 0; k < 7 && v->has[k]; k++)
                cr_expect(strstr(s, v->has[k]), "%s: no %s in %s", v->what, v->has[k], s);
            cr_expect_eq(packed_and_verified(sc, dir, "out/module_1.jit_small/calls"), EXIT_PASSED, "%s",
                         v->what);
        }
        t_remove(dir);
        scratch_free(sc);
    }
}

/* The plan of a whole module, edited: what a plan has a word for, and what it has none for. */
Test(import_xla, plans, .init = to_nowhere)
{
#define NAME "module_24481.jit_mlp"
#define PLACES NAME "*buffer-assignment.txt"
#define MOVE_LOOP                                                                                            \
    "sed -i '/^allocation 4/,$ d; /gemm_fusion_dot_general.0 @0/ a\\ value: <32 loop_multiply_fusion @0> "   \
    "(size=2097152,offset=0): f16[1024,1024]{1,0}' " PLACES
#define IN_PLACE                                                                                             \
    MOVE_LOOP " && sed -i '/gemm_fusion_dot_general.3 @0/ d' " PLACES                                        \
              " && printf 'allocation 4: size 3145728, page 0, "                                             \
              "preallocated-temp:\\n value: <33 gemm_fusion_dot_general.3 @0> (size=3145728,offset=0): "     \
              "f32[1024,768]{1,0}\\n' "                                                                      \
              ">> $(ls " PLACES ")"
    static const struct {
        const char *edit, *no_plan, *has;
    } edits[] = {
        {"true", "", "\"entry\": \"gemm_fusion_dot_general_3\""},
        /* A kernel in place: the value before is the value after, element for element. */
        {IN_PLACE, "", "\"tie\": \"p0\""},
        /* In place over what is an output too. */
        {IN_PLACE " && sed -i 's/ROOT %gemm_fusion_dot_general.3 = \\(.*\\)/%gemm_fusion_dot_general.3 = "
                  "\\1\\n  ROOT %t = (f16[1024,1024]{1,0}, f32[1024,768]{1,0}) "
                  "tuple(%gemm_fusion_dot_general.0, %gemm_fusion_dot_general.3)/' " NAME
                  "*optimizations.txt",
         "a result in the bytes of an operand that is an output itself", NULL},
        /* The same, but the last kernel overwrites what it reads. */
        {MOVE_LOOP, "plan/arena.json arena.overlap: *", NULL},
        {"sed -i 's/= f16.1024,1024..1,0. fusion(%x.1/= (f16[1024,1024]{1,0}, f16[4]{0}) fusion(%x.1/' " NAME
         "*optimizations.txt",
         "a kernel with several results, which a plan does not have", NULL},
        {"sed -i 's/^002: kCustomKernel/002: kCopy/; s/loop_multiply_fusion "
         "grid.*/loop_multiply_fusion/' " NAME ".thunk*",
         "thunk kCopy is no launch of a kernel", NULL},
        {"sed -i 's/loop_multiply_fusion grid/loop_add_fusion grid/' " NAME ".thunk*",
         "thunk 2, kCustomKernel loop_add_fusion, is not of instruction loop_multiply_fusion", NULL},
        {"sed -i '/^002/ d' " NAME ".thunk*",
         "thunk 2, kCustomKernel gemm_fusion_dot_general_3, is not of instruction loop_multiply_fusion",
         NULL},
        {"sed -i '/^003/ d' " NAME ".thunk*", "no thunk of instruction gemm_fusion_dot_general.3", NULL},
        {"sed -i '/^003/ p' " NAME ".thunk*", "more thunks than instructions", NULL},
        {"sed -i 's/grid: .96, 1, 1./grid: [96, 70000, 1]/' " NAME ".thunk*",
         "plan/plan.json plan.invalid: *", NULL},
        {"sed -i 's/ROOT %gemm_fusion_dot_general.3 = \\(.*\\)/%gemm_fusion_dot_general.3 = \\1\\n  ROOT "
         "%w.2 = "
         "f16[1024,768]{1,0} bitcast(%w.1)/' " NAME "*optimizations.txt",
         "an output that is an input, another output, or no value of the buffer assignment", NULL},
    };
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *dump = dump_of(sc, dir, "xla-default"), *out = file_join(sc, dir, "out");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        rp_err e = {0};
        js_node *root;
        cr_assert_eq(t_shell(dir, "rm -rf out xla-default && tar xf x.tar"), 0);
        cr_assert_eq(t_shell(dump, edits[i].edit), 0, "%s", edits[i].edit);
        cr_expect_eq(import_xla_dump(dump, out, false), EXIT_PASSED, "%s", edits[i].edit);
        cr_assert_eq(js_parse(&e, &root, sc, "dump.json", t_slurp(sc, file_join(sc, out, NAME "/dump.json"))),
                     RP_OK);
        const char *want = edits[i].no_plan, *star = strchr(want, '*'), *why = text(root, "no_plan");
        cr_expect(star ? !strncmp(want, why, (size_t)(star - want)) : !strcmp(want, why), "%s: %s",
                  edits[i].edit, why);
        cr_expect_eq(file_exists(file_join(sc, out, NAME "/plan")), !*want, "%s", edits[i].edit);
        if (*want || *why)
            continue;
        cr_expect(strstr(words_of(sc, out, NAME "/plan/plan/plan.json"), edits[i].has), "%s", edits[i].edit);
        cr_expect_eq(packed_and_verified(sc, dir, "out/" NAME "/plan"), EXIT_PASSED, "%s", edits[i].edit);
    }
    t_remove(dir);
    scratch_free(sc);
}

/* Values that share bytes while both live, and files cut short. */
Test(import_xla, broken, .init = redirect_both)
{
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *dump = dump_of(sc, dir, "xla-cublaslt"), *out = file_join(sc, dir, "out");
    static const char *const edits[] = {
        "sed -i 's/offset=33554944/offset=512/' module_4634*buffer-assignment.txt",
        "sed -i 's/offset=512/offset=39846400/' module_4634*buffer-assignment.txt",
        "f=$(ls module_4634*optimizations.txt) && head -c 5000 $f > x && mv x $f",
        "sed -i 1d module_4634*thunk_sequence.txt",
        "sed -i 's/custom-call.2{} @0/ @0/' module_4634*buffer-assignment.txt",
        "rm *buffer-assignment.txt",
        /* A life that ends before it begins, whose first step has no successor, hides no overlap. */
        "sed -i 's/custom-call.2{}:3-4/custom-call.2{}:18446744073709551615-4/' module_4634*live-range.txt",
        "sed -i 's/custom-call.2{}:3-4/custom-call.2{}:-4/' module_4634*live-range.txt",
    };
    static const int exits[] = {EXIT_REJECTED,   EXIT_REJECTED,   EXIT_UNREADABLE, EXIT_UNREADABLE,
                                EXIT_UNREADABLE, EXIT_UNREADABLE, EXIT_UNREADABLE, EXIT_UNREADABLE};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        cr_assert_eq(t_shell(dir, "rm -rf xla-cublaslt && tar xf x.tar"), 0);
        cr_assert_eq(t_shell(dump, edits[i]), 0);
        cr_expect_eq(import_xla_dump(dump, out, false), exits[i], "%s", edits[i]);
    }
    t_remove(dir);
    scratch_free(sc);
}
