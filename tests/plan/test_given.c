/* Policy given: recorded calls bound to their nodes and judged by the rules of the library. */
#include "plan/calls.h"
#include "plan/lt_call.h"
#include "plan/lt_csv.h"
#include "plan/lt_rules.h"
#include "tests/support.h"
#include <criterion/criterion.h>

enum { A, B, C, D, BIAS, SCALE, BUFFERS };
static const char *const ids[BUFFERS] = {"a", "b", "c", "d", "bias", "scale"};

/* D [8, 6] in column order = A^T [8, 16] B [16, 6], in a plan of one node, with more buffers than it needs.
 */
typedef struct {
    plan p;
    plan_buffer buffers[BUFFERS];
    plan_slot operands[6];
    plan_node node;
    recorded_call rec;
} one;

static void bind(one *o, const char *port, uint64_t buffer)
{
    o->operands[o->node.n_operands++] = (plan_slot){.port = port, .buffer = buffer};
}

static lt_matrix col(dtype t, uint64_t rows, uint64_t cols)
{
    return (lt_matrix){.type = t, .order = LTO_COL, .rows = rows, .cols = cols, .ld = rows};
}

static void one_call(one *o, dtype in, dtype out)
{
    static const uint64_t elements[BUFFERS] = {128, 96, 48, 48, 8, 1};
    *o = (one){0};
    for (int i = 0; i < BUFFERS; i++) {
        dtype t = i < C ? in : i == SCALE ? DT_F32 : out;
        o->buffers[i] = (plan_buffer){.id = ids[i], .type = t, .bytes = elements[i] * dtype_bytes(t)};
    }
    o->node = (plan_node){.op = NODE_MATMUL,
                          .label = "m",
                          .operands = o->operands,
                          .has_destination = true,
                          .workspace_bytes = 1024,
                          .destination = {.port = "dest", .buffer = D}};
    bind(o, "a", A);
    bind(o, "b", B);
    o->p = (plan){.resolver = RESOLVE_GIVEN,
                  .n_buffers = BUFFERS,
                  .buffers = o->buffers,
                  .n_nodes = 1,
                  .nodes = &o->node};
    o->rec.call = (lt_call){.m = 8,
                            .n = 6,
                            .k = 16,
                            .a = col(in, 16, 8),
                            .b = col(in, 16, 6),
                            .c = col(out, 8, 6),
                            .d = col(out, 8, 6),
                            .trans_a = true,
                            .compute = LTC_32F,
                            .scale = DT_F32,
                            .bias_type = out,
                            .workspace_bytes = 1024};
    o->rec.buffer[LT_A] = "a";
    o->rec.buffer[LT_B] = "b";
    o->rec.buffer[LT_C] = o->rec.buffer[LT_D] = "d";
}

static bool resolve(one *o, findings *fs, resolved_call *c, scratch *sc)
{
    rp_err e = {0};
    resolved_call *all = NULL;
    uint64_t n = 0;
    bool ok = false;
    findings_init(fs, sc);
    cr_assert_eq(resolve_plan(&e, fs, &all, &n, &ok, sc, &o->p, &o->rec, 1), RP_OK, "%s", e.msg);
    cr_assert_eq(n, 1);
    cr_expect_eq(ok, fs->n == 0);
    *c = all[0];
    return ok;
}

static void with_bias(one *o)
{
    bind(o, "bias", BIAS);
    o->rec.call.epilogue = LTE_GELU_BIAS;
    o->rec.buffer[LT_BIAS] = "bias";
}

static void with_c(one *o)
{
    bind(o, "c", C);
    o->rec.call.beta_one = true;
    o->rec.buffer[LT_C] = "c";
}

static void in_place(one *o)
{
    bind(o, "c", D);
    o->rec.call.beta_one = true;
}

static void batch(one *o)
{
    lt_call *k = &o->rec.call;
    lt_matrix *m[] = {&k->a, &k->b, &k->c, &k->d};
    const uint64_t one_matrix[] = {128, 0, 48, 48};
    for (int i = 0; i < 4; i++) {
        m[i]->batch = 3;
        m[i]->stride = one_matrix[i]; /* one B for all */
        o->buffers[i].bytes *= i == LT_B ? 1 : 3;
    }
}

static void scaled(one *o)
{
    bind(o, "scale_a", SCALE);
    bind(o, "scale_b", SCALE);
    o->rec.call.a.scaled = o->rec.call.b.scaled = true;
    o->rec.buffer[LT_SCALE_A] = o->rec.buffer[LT_SCALE_B] = "scale";
}

/* Everything that luminal-lt/1 cannot say, and what is then known of it. */
Test(given, stands)
{
    static const struct {
        dtype in, out;
        void (*change)(one *);
        int has; /* the operand beyond a, b, c and d */
        uint64_t reach_a, reach_d;
    } cases[] = {
        {DT_F16, DT_F16, NULL, -1, 128, 48},           {DT_BF16, DT_F32, NULL, -1, 128, 48},
        {DT_F16, DT_F16, with_bias, LT_BIAS, 128, 48}, {DT_F16, DT_F16, with_c, -1, 128, 48},
        {DT_F16, DT_F16, in_place, -1, 128, 48},       {DT_F16, DT_F16, batch, -1, 384, 144},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one o;
        findings fs;
        resolved_call c;
        one_call(&o, cases[i].in, cases[i].out);
        if (cases[i].change)
            cases[i].change(&o);
        cr_expect(resolve(&o, &fs, &c, sc), "case %zu: %s", i, t_list(sc, &fs));
        cr_expect(c.reach_elements[LT_A] == cases[i].reach_a && c.reach_elements[LT_D] == cases[i].reach_d,
                  "case %zu", i);
        for (int k = LT_BIAS; k < LT_OPERANDS; k++)
            cr_expect_eq(c.has[k], k == cases[i].has, "case %zu, operand %d", i, k);
        cr_expect_eq(c.c_is_operand, c.call.beta_one);
        cr_expect_eq(c.buffer[LT_C], cases[i].change == with_c ? C : D);
    }
    scratch_free(sc);
}

Test(given, fp8_with_scales)
{
    scratch *sc = scratch_new(0);
    one o;
    findings fs;
    resolved_call c;
    one_call(&o, DT_F8_E4M3, DT_BF16);
    o.rec.call.d.rows = o.rec.call.c.rows = o.rec.call.m = 16; /* m and n multiples of 16 bytes */
    o.rec.call.d.ld = o.rec.call.c.ld = 16;
    o.rec.call.a.cols = 16;
    o.rec.call.n = o.rec.call.b.cols = o.rec.call.d.cols = o.rec.call.c.cols = 16;
    for (int i = A; i <= D; i++)
        o.buffers[i].bytes = 256 * dtype_bytes(o.buffers[i].type);
    scaled(&o);
    cr_expect(resolve(&o, &fs, &c, sc), "%s", t_list(sc, &fs));
    cr_expect(c.has[LT_SCALE_A] && c.has[LT_SCALE_B] && c.buffer[LT_SCALE_B] == SCALE &&
              c.reach_elements[LT_SCALE_A] == 1);
    scratch_free(sc);
}

/* --- Refusals: one fault each, the rule that names it, and where. --- */

static void other_node(one *o)
{
    o->rec.node = 1;
}
static void foreign_port(one *o)
{
    o->operands[1].port = "bee";
}
static void port_twice(one *o)
{
    bind(o, "a", A);
}
static void no_b(one *o)
{
    o->node.n_operands = 1;
}
static void other_buffer(one *o)
{
    o->rec.buffer[LT_B] = "c";
}
static void bias_unbound(one *o)
{
    with_bias(o);
    o->rec.buffer[LT_BIAS] = NULL;
}
static void bias_without_epilogue(one *o)
{
    with_bias(o);
    o->rec.call.epilogue = LTE_RELU;
}
static void epilogue_without_bias(one *o)
{
    o->rec.call.epilogue = LTE_BIAS;
}
static void bias_of_another_type(one *o)
{
    with_bias(o);
    o->rec.call.bias_type = DT_F32;
}
static void bias_short(one *o)
{
    with_bias(o);
    o->buffers[BIAS].bytes = 14;
}
static void beta_without_c(one *o)
{
    o->rec.call.beta_one = true;
}
static void c_unread_in_place(one *o)
{
    in_place(o);
    o->rec.call.beta_one = false;
}
static void scale_of_f16(one *o)
{
    scaled(o);
}
static void scale_without_buffer(one *o)
{
    o->rec.call.a.scaled = true;
}
static void scale_of_d(one *o)
{
    o->rec.call.d.scaled = true;
}
static void other_workspace(one *o)
{
    o->rec.call.workspace_bytes = 0;
}
static void batch_of_one_operand(one *o)
{
    o->rec.call.a.batch = 2;
    o->rec.call.a.stride = 0;
}
static void empty(one *o)
{
    o->rec.call.a.rows = o->rec.call.b.rows = o->rec.call.k = 0;
}
static void beyond_buffer(one *o)
{
    o->buffers[A].bytes -= 2;
}
static void batch_beyond_buffer(one *o)
{
    batch(o);
    o->buffers[D].bytes -= 2;
}
static void batch_overlaps(one *o)
{
    batch(o);
    o->rec.call.d.stride = 47;
    o->rec.call.c.stride = 47;
}
static void other_type(one *o)
{
    o->buffers[B].type = DT_BF16;
}
static void short_ld(one *o)
{
    o->rec.call.b.ld = 15;
}
static void extents_differ(one *o)
{
    o->rec.call.b.rows = o->rec.call.b.ld = 15;
}
static void reach_overflows(one *o)
{
    o->rec.call.d.ld = UINT64_MAX;
}
static void row_bias(one *o)
{
    with_bias(o);
    o->rec.call.d.order = o->rec.call.c.order = LTO_ROW;
    o->rec.call.d.ld = o->rec.call.c.ld = 6;
}

Test(given, refuses)
{
    static const struct {
        const char *name;
        void (*change)(one *);
        const char *rule, *at;
    } cases[] = {
        {"other node", other_node, "given.binding", "/calls/0"},
        {"foreign port", foreign_port, "given.ports", "/calls/0"},
        {"port twice", port_twice, "given.ports", "/calls/0"},
        {"no b", no_b, "given.ports", "/calls/0"},
        {"other buffer", other_buffer, "given.binding", "/calls/0/b/buffer"},
        {"bias unbound", bias_unbound, "given.binding", "/calls/0/bias"},
        {"bias without epilogue", bias_without_epilogue, "given.bias", "/calls/0/epilogue"},
        {"epilogue without bias", epilogue_without_bias, "given.bias", "/calls/0/epilogue"},
        {"bias of another type", bias_of_another_type, "given.bias", "/calls/0/bias"},
        {"bias short", bias_short, "bias.length", "/calls/0"},
        {"beta without c", beta_without_c, "given.c", "/calls/0/beta"},
        {"c unread in place", c_unread_in_place, "given.c", "/calls/0/beta"},
        {"scale of f16", scale_of_f16, "given.scale", "/calls/0/a"},
        {"scale without buffer", scale_without_buffer, "given.scale", "/calls/0/a"},
        {"scale of d", scale_of_d, "given.scale", "/calls/0/d"},
        {"other workspace", other_workspace, "given.workspace", "/calls/0/workspace_bytes"},
        {"batch of one operand", batch_of_one_operand, "given.shape", "/calls/0/a"},
        {"empty", empty, "given.shape", "/calls/0/a"},
        {"reach overflows", reach_overflows, "given.shape", "/calls/0/d"},
        {"beyond buffer", beyond_buffer, "extent.buffer", "/calls/0"},
        {"batch beyond buffer", batch_beyond_buffer, "extent.buffer", "/calls/0"},
        {"batch overlaps", batch_overlaps, "batch.d_overlap", "/calls/0"},
        {"other type", other_type, "extent.type", "/calls/0"},
        {"short ld", short_ld, NULL, "/calls/0"},
        {"extents differ", extents_differ, NULL, "/calls/0"},
        {"row bias", row_bias, "bias.row_d", "/calls/0"},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one o;
        findings fs;
        resolved_call c;
        one_call(&o, DT_F16, DT_F16);
        cases[i].change(&o);
        cr_expect_not(resolve(&o, &fs, &c, sc), "%s", cases[i].name);
        bool named = false;
        for (size_t k = 0; k < fs.n; k++) {
            cr_expect_str_eq(fs.v[k].file, "plan/resolved_calls.json");
            cr_expect(fs.v[k].id == FIND_RESOLVE_REFUSED || fs.v[k].id == FIND_RESOLVE_REACH);
            named |= (!cases[i].rule || !strcmp(fs.v[k].expected, cases[i].rule)) &&
                     !strcmp(fs.v[k].where, cases[i].at);
        }
        cr_expect(named, "%s: %s", cases[i].name, t_list(sc, &fs));
    }
    scratch_free(sc);
}

/* A plan with fewer or more recorded calls than nodes. */
Test(given, number_of_calls)
{
    scratch *sc = scratch_new(0);
    one o;
    rp_err e = {0};
    findings fs;
    resolved_call *c = NULL;
    uint64_t n = 0;
    bool ok = true;
    one_call(&o, DT_F16, DT_F16);
    findings_init(&fs, sc);
    cr_assert_eq(resolve_plan(&e, &fs, &c, &n, &ok, sc, &o.p, NULL, 0), RP_OK);
    cr_expect(!ok && n == 1 && fs.n == 1 && !strcmp(fs.v[0].expected, "given.binding"));
    scratch_free(sc);
}

static void count(void *ctx, const char *field, const char *expected, const char *actual)
{
    (void)field, (void)expected, (void)actual;
    ++*(uint64_t *)ctx;
}

/* A call asked as a question and read back is the call; what a call cannot have is said. */
Test(given, call_and_question)
{
    scratch *sc = scratch_new(0);
    one o;
    one_call(&o, DT_F16, DT_F32);
    batch(&o);
    with_bias(&o);
    lt_query q;
    lt_call back;
    lt_query_of_call(&q, &o.rec.call);
    cr_assert_null(lt_call_of_query(&back, &q));
    uint64_t differing = 0;
    cr_expect_gt(lt_call_compare(&o.rec.call, &back, count, &differing), 30);
    cr_expect_eq(differing, 0);
    q.op[0] = LTP_C;
    cr_expect_str_eq(lt_call_of_query(&back, &q), "a conjugate transpose");
    q.op[0] = LTP_T;
    q.epilogue = LTE_DGELU;
    cr_expect_not_null(lt_call_of_query(&back, &q));
    q.epilogue = LTE_DEFAULT;
    q.beta = 0.5;
    cr_expect_not_null(lt_call_of_query(&back, &q));
    q.beta = 0;
    q.mat[LTM_B].order = LTO_COL32;
    cr_expect_str_eq(lt_call_of_query(&back, &q), "a tiled order");
    q.mat[LTM_B].order = LTO_COL;
    q.mat[LTM_A].stride = -1;
    cr_expect_not_null(lt_call_of_query(&back, &q));
    scratch_free(sc);
}

/* cublasLt.h, BIAS_DATA_TYPE. */
Test(given, bias_default)
{
    static const struct {
        dtype a, c, d, scale, want;
    } cases[] = {
        {DT_F16, DT_F16, DT_F16, DT_F32, DT_F16},         {DT_BF16, DT_F32, DT_F32, DT_F32, DT_F32},
        {DT_F8_E4M3, DT_BF16, DT_BF16, DT_F32, DT_BF16},  {DT_F8_E5M2, DT_F16, DT_F16, DT_F32, DT_F16},
        {DT_F8_E4M3, DT_F32, DT_F32, DT_F32, DT_BF16},    {DT_F8_E4M3, DT_BF16, DT_F8_E4M3, DT_F32, DT_BF16},
        {DT_F8_E4M3, DT_F16, DT_F8_E4M3, DT_F32, DT_F16}, {DT_I8, DT_I8, DT_I8, DT_F32, DT_F32},
        {DT_F64, DT_F64, DT_F64, DT_F64, DT_F64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(lt_bias_default(cases[i].a, cases[i].c, cases[i].d, cases[i].scale), cases[i].want,
                     "case %zu", i);
}

/* A bias of another type: seen by the heuristic, or only by the call. Two calls that differ in it are two. */
Test(given, bias_types)
{
    static const struct {
        const char *call, *rule;
    } cases[] = {
        {"m=64 n=32 k=64 a=f16,T d=f16 epilogue=bias bias=f16", NULL},
        {"m=64 n=32 k=64 a=f16,T d=f16 epilogue=bias bias=bf16", "bias.type"},
        {"m=64 n=32 k=64 a=f16,T d=f32 epilogue=bias bias=f16", "bias.type"},
        {"m=64 n=32 k=64 a=bf16,T d=f32 epilogue=relu_bias bias=f32", NULL},
        {"m=64 n=32 k=64 a=bf16,T d=f32 epilogue=relu bias=bf16", NULL},
        {"m=64 n=32 k=64 a=e4m3,T d=f32 epilogue=bias", NULL},
        {"m=64 n=32 k=64 a=e4m3,T d=f32 epilogue=bias bias=bf16", NULL},
        {"m=64 n=32 k=64 a=e4m3,T d=f32 epilogue=bias bias=f32", "bias.fp8_type"},
        {"m=64 n=32 k=64 a=e4m3,T d=bf16 epilogue=bias bias=f16", "bias.fp8_type"},
        {"m=64 n=32 k=64 a=i8,T d=i8 compute=32i scale=f32 epilogue=bias bias=f32", NULL},
        {"m=64 n=32 k=64 a=i8,T d=i8 compute=32i scale=f32 epilogue=bias bias=i8", "bias.type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        lt_query q;
        lt_answer a;
        cr_assert_eq(lt_query_text(&e, &q, cases[i].call), RP_OK, "%s: %s", cases[i].call, e.msg);
        lt_decide(&a, &q);
        const lt_hit *h = lt_deciding(&a);
        cr_expect(!h == !cases[i].rule && (!h || !strcmp(h->rule->id, cases[i].rule)), "%s: %s",
                  cases[i].call, h ? h->rule->id : "no refusal");
        lt_query other = q;
        cr_expect(lt_query_same(&q, &other));
        other.bias_type = DT_F64;
        cr_expect_eq(lt_query_same(&q, &other), !lt_epilogue_has_bias(q.epilogue), "%s", cases[i].call);
    }
}
