#include "artifacts/base/file.h"
#include "plan/resolve.h"
#include <criterion/criterion.h>
#include <stdio.h>

static layout layout2(uint64_t rows, uint64_t cols, layout_kind kind)
{
    layout l = {.rank = 2, .shape = {rows, cols}, .n_spellings = 1};
    l.spellings[0].kind = kind;
    if (kind == LAYOUT_STRIDED)
        l.spellings[0].strides[0] = l.spellings[0].strides[1] = 1;
    return l;
}

enum { A, B, D, C, BIAS, N_BUFFERS };

/* One matmul and its buffers, each as large as it must be. */
typedef struct {
    plan p;
    plan_buffer buffers[N_BUFFERS];
    plan_node node;
    plan_slot operands[5];
} one;

static void buffer(one *o, int i, const char *id, dtype t, uint64_t elements)
{
    o->buffers[i] = (plan_buffer){.id = id, .type = t, .bytes = elements * dtype_bytes(t)};
}

/* D column-major unless said otherwise by the caller afterwards. */
static void make(one *o, lt_spec s)
{
    uint64_t a_major = s.trans_a ? s.m : s.k, b_major = s.trans_b ? s.k : s.n;
    uint64_t a_minor = s.trans_a ? s.k : s.m, b_minor = s.trans_b ? s.n : s.k;
    memset(o, 0, sizeof *o);
    o->p = (plan){.buffers = o->buffers, .n_buffers = N_BUFFERS, .nodes = &o->node, .n_nodes = 1};
    s.ldc = s.ldc ? s.ldc : 7777; /* ignored, both of them */
    s.ldd = s.ldd ? s.ldd : 8888;
    buffer(o, A, "a", s.a, s.lda * (a_major - 1) + a_minor);
    buffer(o, B, "b", s.b, s.ldb * (b_major - 1) + b_minor);
    buffer(o, D, "d", s.d, s.m * s.n);
    buffer(o, C, "c", s.d, s.m * s.n);
    buffer(o, BIAS, "bias", s.d, s.m);
    uint64_t n = 2;
    o->operands[0].buffer = A;
    o->operands[1].buffer = B;
    if (s.form == LT_FORM_ACCUMULATE || s.form == LT_FORM_ACCUMULATE_BIAS)
        o->operands[n++] =
            (plan_slot){.port = "c", .buffer = C, .layout = layout2(s.m, s.n, LAYOUT_LEFT_MAJOR)};
    if (s.form == LT_FORM_BIAS || s.form == LT_FORM_ACCUMULATE_BIAS)
        o->operands[n++].buffer = BIAS;
    o->node = (plan_node){.op = NODE_MATMUL,
                          .label = "m",
                          .n_operands = n,
                          .operands = o->operands,
                          .has_destination = true,
                          .spec = s};
    o->node.destination =
        (plan_slot){.port = "dest", .buffer = D, .layout = layout2(s.m, s.n, LAYOUT_LEFT_MAJOR)};
}

static bool resolve(one *o, findings *fs, resolved_call *c, scratch *sc)
{
    rp_err e = {0};
    bool ok = false;
    findings_init(fs, sc);
    cr_assert_eq(resolve_node(&e, fs, c, &ok, &o->p, 0, "plan.json"), RP_OK, "%s", e.msg);
    cr_expect_eq(ok, fs->n == 0);
    return ok;
}

static void expect_matrix(const lt_matrix *m, dtype t, lt_order order, uint64_t rows, uint64_t cols,
                          uint64_t ld, const char *what)
{
    cr_expect(m->type == t && m->order == order && m->rows == rows && m->cols == cols && m->ld == ld,
              "%s is %s %s %llu x %llu ld %llu", what, dtype_names[m->type], lt_order_names[m->order],
              (unsigned long long)m->rows, (unsigned long long)m->cols, (unsigned long long)m->ld);
}

static plan *read_shipped(scratch *sc, const char *name)
{
    rp_err e = {0};
    span text;
    plan *p = NULL;
    const char *path = scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", name);
    cr_assert(!file_read(&e, &text, sc, path, 1 << 20) && !plan_read(&e, &p, sc, path, text), "%s: %s", path,
              e.msg);
    return p;
}

/* The call that the original resolved: A the stored weight, B the stored input, both read row by row. */
Test(resolve, weight_view)
{
    static const struct {
        const char *name;
        uint64_t m, n, k;
    } sizes[] = {{"weight_view", 1024, 1024, 768}, {"weight_view.small", 24, 40, 56}};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < 2; i++) {
        uint64_t m = sizes[i].m, n = sizes[i].n, k = sizes[i].k, calls = 0;
        const plan *p = read_shipped(sc, sizes[i].name);
        resolved_call *c = NULL;
        findings fs;
        rp_err e = {0};
        bool ok = false;
        findings_init(&fs, sc);
        cr_assert(!resolve_plan(&e, &fs, &c, &calls, &ok, sc, p, NULL, 0) && ok && fs.n == 0 && calls == 1);
        cr_expect(c->node == 2 && c->call.m == m && c->call.n == n && c->call.k == k);
        cr_expect_str_eq(p->buffers[c->buffer[LT_A]].id, "wt");
        cr_expect_str_eq(p->buffers[c->buffer[LT_B]].id, "x");
        cr_expect_str_eq(p->buffers[c->buffer[LT_D]].id, "p32");
        cr_expect_eq(c->buffer[LT_C], c->buffer[LT_D]);
        expect_matrix(&c->call.a, DT_F16, LTO_ROW, m, k, k, "A");
        expect_matrix(&c->call.b, DT_F16, LTO_ROW, n, k, k, "B");
        expect_matrix(&c->call.d, DT_F32, LTO_COL, m, n, m, "D");
        expect_matrix(&c->call.c, DT_F32, LTO_COL, m, n, m, "C");
        cr_expect(c->spec_trans_a && !c->spec_trans_b && !c->call.trans_a && c->call.trans_b);
        cr_expect(!c->call.beta_one && c->call.epilogue == LTE_DEFAULT && !c->has[LT_BIAS] &&
                  !c->c_is_operand);
        cr_expect_eq(c->call.workspace_bytes, 33554432);
        cr_expect(c->reach_elements[LT_A] == m * k && c->buffer_elements[LT_A] == m * k);
        cr_expect(c->reach_elements[LT_B] == n * k && c->buffer_elements[LT_B] == n * k);
        cr_expect(c->reach_elements[LT_D] == m * n && c->buffer_elements[LT_D] == m * n);
        const char *s = resolve_sentence(sc, p, c);
        cr_expect(strstr(s, "wt * x^T = p32") && strstr(s, "column-major") && strstr(s, "no transpose copy"),
                  "%s", s);
    }
    scratch_free(sc);
}

#define MATRIX(t, o, r, c, l)                                                                                \
    {                                                                                                        \
        .type = t, .order = o, .rows = r, .cols = c, .ld = l                                                 \
    }

Test(resolve, reaches)
{
    static const struct {
        lt_matrix m;
        bool ok;
        uint64_t reach;
    } cases[] = {
        {MATRIX(DT_F16, LTO_COL, 2, 8, 2), true, 16},
        {MATRIX(DT_F16, LTO_ROW, 2, 8, 2), true, 10}, /* the other formula, for contrast */
        {MATRIX(DT_F16, LTO_ROW, 1, 8, 1), true, 8},
        {MATRIX(DT_F16, LTO_COL, 8, 1, 1), true, 8},
        {MATRIX(DT_F16, LTO_ROW, 1024, 768, 768), true, 786432},
        {MATRIX(DT_F32, LTO_COL, 1024, 1024, 1024), true, 1048576},
        {MATRIX(DT_F32, LTO_COL, 3, 2, 10), true, 13},
        {MATRIX(DT_F32, LTO_COL, 0, 2, 10), false, 0},
        {MATRIX(DT_F32, LTO_COL, 3, 0, 10), false, 0},
        {MATRIX(DT_F32, LTO_COL, 3, 2, 0), false, 0},
        {MATRIX(DT_F32, LTO_COL, 3, 3, UINT64_C(1) << 63), false, 0},
        {MATRIX(DT_F32, LTO_COL, 3, 2, UINT64_MAX - 2), false, 0},
        {MATRIX(DT_F32, LTO_COL, 2, 2, UINT64_MAX - 2), true, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t r = 99;
        cr_expect_eq(lt_reach(&cases[i].m, &r), cases[i].ok, "case %zu", i);
        if (cases[i].ok)
            cr_expect_eq(r, cases[i].reach, "case %zu: %llu", i, (unsigned long long)r);
    }
}

/* Rectangular, in all four orientations: a square shape hides a permuted frame. */
Test(resolve, orientations)
{
    scratch *sc = scratch_new(0);
    for (int t = 0; t < 4; t++) {
        bool ta = t & 1, tb = t & 2;
        one o;
        findings fs;
        resolved_call c;
        make(&o, (lt_spec){.m = 4,
                           .n = 3,
                           .k = 5,
                           .trans_a = ta,
                           .trans_b = tb,
                           .lda = ta ? 5 : 4,
                           .ldb = tb ? 3 : 5,
                           .d = DT_F32});
        cr_assert(resolve(&o, &fs, &c, sc), "%s", fs.v[0].message);
        cr_expect(c.call.trans_a == !ta && c.call.trans_b == !tb);
        if (ta)
            expect_matrix(&c.call.a, DT_F16, LTO_ROW, 4, 5, 5, "A");
        else
            expect_matrix(&c.call.a, DT_F16, LTO_ROW, 5, 4, 4,
                          "A"); /* the facts' test: N/N gives 5 x 4 ld 4 T */
        if (tb)
            expect_matrix(&c.call.b, DT_F16, LTO_ROW, 5, 3, 3, "B");
        else
            expect_matrix(&c.call.b, DT_F16, LTO_ROW, 3, 5, 5, "B");
        expect_matrix(&c.call.d, DT_F32, LTO_COL, 4, 3, 4, "D");
        cr_expect(c.reach_elements[LT_A] == 20 && c.reach_elements[LT_B] == 15 &&
                  c.reach_elements[LT_C] == 12 && c.reach_elements[LT_D] == 12);
    }
    scratch_free(sc);
}

Test(resolve, leading_dimensions_are_verbatim)
{
    scratch *sc = scratch_new(0);
    one o;
    findings fs;
    resolved_call c;
    make(&o, (lt_spec){.m = 4, .n = 3, .k = 5, .lda = 9, .ldb = 25272, .ldc = 1, .ldd = 2, .d = DT_F16});
    cr_assert(resolve(&o, &fs, &c, sc), "%s", fs.v[0].message);
    cr_expect(c.call.a.ld == 9 && c.reach_elements[LT_A] == 9 * 4 + 4);
    cr_expect(c.call.b.ld == 25272 && c.reach_elements[LT_B] == 25272 * 2 + 5);
    cr_expect(c.call.c.ld == 4 && c.call.d.ld == 4, "the spec's ldc and ldd say nothing");
    /* An ld of 0 is taken as 1, which only a single row allows. */
    make(&o, (lt_spec){.m = 4, .n = 3, .k = 1, .lda = 1, .ldb = 1, .d = DT_F32});
    o.node.spec.lda = 0;
    cr_assert(resolve(&o, &fs, &c, sc), "%s", fs.v[0].message);
    cr_expect_eq(c.call.a.ld, 1);
    scratch_free(sc);
}

Test(resolve, destination_order)
{
    scratch *sc = scratch_new(0);
    one o;
    findings fs;
    resolved_call c;
    const lt_spec s = {.m = 4, .n = 3, .k = 5, .lda = 4, .ldb = 5, .d = DT_F32};
    make(&o, s);
    o.node.destination.layout = layout2(4, 3, LAYOUT_RIGHT_MAJOR);
    cr_assert(resolve(&o, &fs, &c, sc));
    expect_matrix(&c.call.d, DT_F32, LTO_ROW, 4, 3, 3, "D");
    expect_matrix(&c.call.c, DT_F32, LTO_ROW, 4, 3, 3, "C");
    cr_expect(strstr(resolve_sentence(sc, &o.p, &c), "stored row-major") != NULL);
    /* Both spellings: column-major is preferred, wherever it stands. */
    o.node.destination.layout.n_spellings = 2;
    o.node.destination.layout.spellings[1].kind = LAYOUT_LEFT_MAJOR;
    cr_assert(resolve(&o, &fs, &c, sc));
    expect_matrix(&c.call.d, DT_F32, LTO_COL, 4, 3, 4, "D");
    /* m = 1: the bytes of both are the same, the descriptors are not. */
    make(&o, (lt_spec){.m = 1, .n = 3, .k = 5, .lda = 1, .ldb = 5, .d = DT_F32});
    cr_assert(resolve(&o, &fs, &c, sc));
    expect_matrix(&c.call.d, DT_F32, LTO_COL, 1, 3, 1, "D");
    scratch_free(sc);
}

Test(resolve, forms)
{
    static const struct {
        lt_form form;
        lt_epilogue epilogue;
        bool bias, accumulate;
    } cases[] = {
        {LT_FORM_PLAIN, LTE_DEFAULT, false, false},      {LT_FORM_PLAIN, LTE_RELU, false, false},
        {LT_FORM_BIAS, LTE_BIAS, true, false},           {LT_FORM_BIAS, LTE_RELU_BIAS, true, false},
        {LT_FORM_ACCUMULATE, LTE_DEFAULT, false, true},  {LT_FORM_ACCUMULATE, LTE_RELU, false, true},
        {LT_FORM_ACCUMULATE_BIAS, LTE_BIAS, true, true},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one o;
        findings fs;
        resolved_call c;
        make(&o, (lt_spec){.form = cases[i].form,
                           .m = 4,
                           .n = 3,
                           .k = 5,
                           .lda = 4,
                           .ldb = 5,
                           .d = DT_F32,
                           .epilogue = cases[i].epilogue});
        cr_assert(resolve(&o, &fs, &c, sc), "%s", fs.v[0].message);
        cr_expect(c.call.epilogue == cases[i].epilogue && c.call.beta_one == cases[i].accumulate);
        cr_expect(c.has[LT_BIAS] == cases[i].bias && c.c_is_operand == cases[i].accumulate);
        cr_expect_eq(c.buffer[LT_C], (uint64_t)(cases[i].accumulate ? C : D));
        if (cases[i].bias)
            cr_expect(c.buffer[LT_BIAS] == BIAS && c.reach_elements[LT_BIAS] == 4 &&
                      c.buffer_elements[LT_BIAS] == 4);
    }
    /* C may be D's own buffer. */
    one o;
    findings fs;
    resolved_call c;
    make(&o, (lt_spec){.form = LT_FORM_ACCUMULATE, .m = 4, .n = 3, .k = 5, .lda = 4, .ldb = 5, .d = DT_F32});
    o.operands[2].buffer = D;
    cr_assert(resolve(&o, &fs, &c, sc));
    cr_expect(c.call.beta_one && c.buffer[LT_C] == D);
    scratch_free(sc);
}

Test(resolve, types)
{
    static const dtype all[] = {DT_F16, DT_BF16, DT_F32, DT_F64, DT_I32, DT_I64};
    scratch *sc = scratch_new(0);
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int d = 0; d < 6; d++) {
                one o;
                findings fs;
                resolved_call c;
                make(&o,
                     (lt_spec){
                         .m = 4, .n = 3, .k = 5, .lda = 4, .ldb = 5, .a = all[a], .b = all[b], .d = all[d]});
                bool want = a == b && a < 3 && (all[d] == DT_F32 || a == d);
                cr_expect_eq(resolve(&o, &fs, &c, sc), want, "%s %s %s", dtype_names[a], dtype_names[b],
                             dtype_names[d]);
            }
    scratch_free(sc);
}

/* --- Refusals. --- */

static const lt_spec plain = {.m = 4, .n = 3, .k = 5, .lda = 4, .ldb = 5, .d = DT_F32};

static void with_bias(one *o)
{
    lt_spec s = plain;
    s.form = LT_FORM_BIAS;
    s.epilogue = LTE_BIAS;
    make(o, s);
}

static void accumulate(one *o)
{
    lt_spec s = plain;
    s.form = LT_FORM_ACCUMULATE;
    make(o, s);
}

static void arity_more(one *o)
{
    o->node.n_operands = 3;
}
static void arity_less(one *o)
{
    o->node.n_operands = 1;
}
static void arity_bias(one *o)
{
    with_bias(o);
    o->node.n_operands = 2;
}
static void no_m(one *o)
{
    o->node.spec.m = 0;
    o->node.destination.layout.shape[0] = 0;
}
static void no_k(one *o)
{
    o->node.spec.k = 0;
}
static void types_mixed(one *o)
{
    o->node.spec.b = o->buffers[B].type = DT_BF16;
}
static void types_narrow(one *o)
{
    o->node.spec.d = DT_BF16;
    buffer(o, D, "d", DT_BF16, 12);
}
static void slot_a(one *o)
{
    buffer(o, A, "a", DT_BF16, 20);
}
static void slot_d(one *o)
{
    buffer(o, D, "d", DT_I32, 12);
}
static void slot_bias(one *o)
{
    with_bias(o);
    buffer(o, BIAS, "bias", DT_F16, 8);
}
static void frame_swapped(one *o)
{
    o->node.destination.layout = layout2(3, 4, LAYOUT_LEFT_MAJOR);
}
static void frame_flat(one *o)
{
    o->node.destination.layout.rank = 1;
    o->node.destination.layout.shape[0] = 12;
}
static void strided(one *o)
{
    o->node.destination.layout = layout2(4, 3, LAYOUT_STRIDED);
}
static void bias_row(one *o)
{
    with_bias(o);
    o->node.destination.layout = layout2(4, 3, LAYOUT_RIGHT_MAJOR);
}
static void epilogue_extra(one *o)
{
    o->node.spec.epilogue = LTE_BIAS;
}
static void epilogue_lost(one *o)
{
    with_bias(o);
    o->node.spec.epilogue = LTE_RELU;
}
static void ld_a(one *o)
{
    o->node.spec.lda = 3;
}
static void ld_b(one *o)
{
    o->node.spec.ldb = 0;
}
static void reach_a(one *o)
{
    buffer(o, A, "a", DT_F16, 19);
}
static void reach_b(one *o)
{
    o->node.spec.ldb = 6;
}
static void reach_c(one *o)
{
    accumulate(o);
    buffer(o, C, "c", DT_F32, 11);
}
static void c_by_rows(one *o)
{
    accumulate(o);
    o->operands[2].layout = layout2(4, 3, LAYOUT_RIGHT_MAJOR);
}
static void reach_d(one *o)
{
    o->buffers[D].bytes--;
}
static void reach_wraps(one *o)
{
    o->node.spec.lda = UINT64_MAX / 2;
}
static void bias_short(one *o)
{
    with_bias(o);
    buffer(o, BIAS, "bias", DT_F32, 3);
}

static const struct {
    void (*change)(one *o);
    const char *what;
    resolve_rule rules[5]; /* all that refuse, in order; RULE_COUNT ends them */
    const char *where;     /* of the first */
} refusals[] = {
    {arity_more, "an operand too many", {RULE_ARITY, RULE_COUNT}, "/nodes/0/operands"},
    {arity_less, "an operand too few", {RULE_ARITY, RULE_COUNT}, "/nodes/0/operands"},
    {arity_bias, "no bias operand", {RULE_ARITY, RULE_COUNT}, "/nodes/0/operands"},
    {no_m, "m = 0", {RULE_EXTENT, RULE_EXTENT, RULE_EXTENT, RULE_EXTENT, RULE_COUNT}, "/nodes/0/spec"},
    {no_k, "k = 0", {RULE_EXTENT, RULE_EXTENT, RULE_EXTENT, RULE_COUNT}, "/nodes/0/spec"},
    {types_mixed, "a f16, b bf16", {RULE_TYPES, RULE_COUNT}, "/nodes/0/spec"},
    {types_narrow, "f16 to bf16", {RULE_TYPES, RULE_COUNT}, "/nodes/0/spec"},
    {slot_a, "a's buffer of another type", {RULE_SLOT_TYPE, RULE_COUNT}, "/nodes/0/spec"},
    {slot_d,
     "d's buffer of another type",
     {RULE_SLOT_TYPE, RULE_SLOT_TYPE, RULE_COUNT},
     "/nodes/0/spec"}, /* and c's, which it is */
    {slot_bias, "a bias of another type", {RULE_SLOT_TYPE, RULE_COUNT}, "/nodes/0/spec"},
    {frame_swapped, "[n, m]", {RULE_FRAME, RULE_COUNT}, "/nodes/0/destination/layout/shape"},
    {frame_flat, "rank 1", {RULE_FRAME, RULE_COUNT}, "/nodes/0/destination/layout/shape"},
    {strided,
     "a strided destination",
     {RULE_DESTINATION, RULE_COUNT},
     "/nodes/0/destination/layout/spellings"},
    {bias_row, "a bias with D by rows", {RULE_BIAS_COL, RULE_COUNT}, "/nodes/0/destination/layout/spellings"},
    {epilogue_extra,
     "a bias epilogue without operand",
     {RULE_EPILOGUE, RULE_COUNT},
     "/nodes/0/spec/epilogue"},
    {epilogue_lost, "a bias operand without epilogue", {RULE_EPILOGUE, RULE_COUNT}, "/nodes/0/spec/epilogue"},
    {ld_a, "lda below its row", {RULE_LD, RULE_COUNT}, "/nodes/0/spec"},
    {ld_b, "ldb 0", {RULE_LD, RULE_COUNT}, "/nodes/0/spec"},
    {reach_a, "a short of an element", {RULE_REACH, RULE_COUNT}, "/nodes/0/spec"},
    {reach_b, "a pitch that b has no room for", {RULE_REACH, RULE_COUNT}, "/nodes/0/spec"},
    {reach_c, "c short of an element", {RULE_REACH, RULE_COUNT}, "/nodes/0/spec"},
    {c_by_rows, "c by rows under a d by columns", {RULE_C_LAYOUT, RULE_COUNT}, "/nodes/0/operands/2/layout"},
    {reach_d, "d short of a byte", {RULE_REACH, RULE_REACH, RULE_COUNT}, "/nodes/0/spec"}, /* and c */
    {reach_wraps, "a reach beyond 64 bits", {RULE_REACH, RULE_COUNT}, "/nodes/0/spec"},
    {bias_short, "a bias short of an element", {RULE_BIAS_LENGTH, RULE_COUNT}, "/nodes/0/spec"},
};

Test(resolve, every_rule_refuses)
{
    scratch *sc = scratch_new(0);
    bool seen[RULE_COUNT] = {false};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        one o;
        findings fs;
        resolved_call c;
        make(&o, plain);
        refusals[i].change(&o);
        cr_assert_not(resolve(&o, &fs, &c, sc), "%s was accepted", refusals[i].what);
        size_t n = 0;
        for (; refusals[i].rules[n] != RULE_COUNT; n++) {
            resolve_rule rule = refusals[i].rules[n];
            seen[rule] = true;
            cr_assert_lt(n, fs.n, "%s", refusals[i].what);
            cr_expect_str_eq(fs.v[n].expected, resolve_rule_ids[rule], "%s", refusals[i].what);
            cr_expect_eq(fs.v[n].id, rule == RULE_REACH ? FIND_RESOLVE_REACH : FIND_RESOLVE_REFUSED);
            cr_expect_str_eq(fs.v[n].file, "plan.json");
            cr_expect(strstr(fs.v[n].message, resolve_rule_texts[rule]) &&
                          strstr(fs.v[n].message, fs.v[n].actual),
                      "%s", fs.v[n].message);
        }
        cr_expect_eq(fs.n, n, "%s: %s as well", refusals[i].what, fs.n > n ? fs.v[n].message : "");
        cr_expect_str_eq(fs.v[0].where, refusals[i].where);
    }
    for (int r = 0; r < RULE_COUNT; r++)
        cr_expect(seen[r], "no case for rule %s", resolve_rule_ids[r]);
    scratch_free(sc);
}

Test(resolve, a_plan_of_several)
{
    scratch *sc = scratch_new(0);
    one good, bad;
    findings fs;
    rp_err e = {0};
    resolved_call *c;
    uint64_t n;
    bool ok;
    make(&good, plain);
    make(&bad, plain);
    bad.node.spec.lda = 3;
    plan_node nodes[] = {good.node, {.op = NODE_FREE}, bad.node};
    plan p = {.buffers = good.buffers, .n_buffers = N_BUFFERS, .nodes = nodes, .n_nodes = 3};
    findings_init(&fs, sc);
    cr_assert_eq(resolve_plan(&e, &fs, &c, &n, &ok, sc, &p, NULL, 0), RP_OK);
    cr_expect(n == 2 && !ok && c[0].node == 0 && c[1].node == 2);
    cr_assert_eq(fs.n, 1);
    cr_expect_str_eq(fs.v[0].where, "/nodes/2/spec");
    scratch_free(sc);
}
