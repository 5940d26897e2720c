/* Every shipped workload and alternative: it packs, verifies without a finding, resolves, says what
 * docs/workloads.md says of it, and its small plans, executed step by step in the arena's bytes, give what
 * the contract accepts or rejects. */
#include "arena/check.h"
#include "artifacts/base/digest.h"
#include "replay/lower.h"
#include "tests/support.h"
#include "verify/fixture_file.h"
#include "verify/verify.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"bias",
                                    "gemm",
                                    "input_scale",
                                    "output_scale",
                                    "projection_chain",
                                    "projection_join",
                                    "public_projection",
                                    "relu",
                                    "residual",
                                    "weight_view",
                                    "bias.fused",
                                    "projection_join.fused",
                                    "relu.kernel",
                                    "residual.fused",
                                    "weight_view.bias_first",
                                    "weight_view.fp32",
                                    "weight_view.rows"};
enum { N_WORKLOADS = 10, N_NAMES = sizeof names / sizeof *names };

/* The workload that a folder is a plan of. */
static const char *base_of(scratch *sc, const char *name)
{
    return scratch_strndup(sc, name, strcspn(name, "."));
}

static const char *folder_of(scratch *sc, const char *name, bool small)
{
    return scratch_printf(sc, "%s%s", name, small ? ".small" : "");
}

typedef struct {
    scratch *sc;
    const char *dir;
    store *st;
    bundle *b;
    verify_result result;
    report *r;
} opened;

/* The bundle of a folder, verified; fixture data only at the small size. */
static opened open_workload(const char *folder, bool small)
{
    opened o = {.sc = scratch_new(0)};
    rp_err e = {0};
    t_tree *t = scratch_alloc(o.sc, sizeof *t);
    t_sources(t, o.sc, folder);
    if (small)
        t_add_fixtures(t);
    t_add_records(t);
    t_add_capture(t);
    o.dir = t_dir(o.sc);
    cr_assert_eq(store_open(&e, &o.st, t_bundle(o.sc, o.dir, folder, t->v, t->n)), RP_OK, "%s: %s", folder,
                 e.msg);
    o.r = report_new(o.sc);
    cr_assert_eq(verify_bundle(&e, &o.result, o.r, o.st, &(verify_options){.quick = !small}), RP_OK, "%s: %s",
                 folder, e.msg);
    o.b = o.result.bundle;
    return o;
}

static void close_workload(opened *o)
{
    store_free(o->st);
    t_remove(o->dir);
    scratch_free(o->sc);
}

Test(workloads, every_folder_is_named_here)
{
    DIR *d = opendir("artifacts/workloads");
    size_t found = 0;
    cr_assert(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        bool known = false;
        for (size_t i = 0; i < N_NAMES; i++) {
            size_t n = strlen(names[i]);
            known |= !strncmp(e->d_name, names[i], n) && (!e->d_name[n] || !strcmp(e->d_name + n, ".small"));
        }
        cr_expect(known, "%s", e->d_name);
        found++;
    }
    closedir(d);
    cr_assert_eq(found, 2 * N_NAMES);
}

static void verifies(bool small)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        scratch *sc = scratch_new(0);
        const char *folder = folder_of(sc, names[i], small);
        opened o = open_workload(folder, small);
        cr_expect_eq(o.r->fs.n, 0, "%s: %s", folder, t_list(o.sc, &o.r->fs));
        cr_expect(o.result.has_signature && o.b->calls_ok, "%s", folder);
        cr_expect_str_eq(o.b->plan->name, folder);
        if (small)
            cr_expect_eq(report_verdict(o.r), CHECK_PASSED, "%s", folder);
        close_workload(&o);
        scratch_free(sc);
    }
}

Test(workloads, small_ones_verify)
{
    verifies(true);
}

Test(workloads, full_ones_verify)
{
    verifies(false);
}

/* --- What they exercise between them. --- */

typedef struct {
    unsigned plain, bias, accumulate, f32_operands, relu, row, column, vector_broadcast, scalar_broadcast,
        copy, tied_kernel, tied_matmul, donated, escaping, view_out, two_matmuls, reuse;
} seen;

static void look(seen *s, const plan *p)
{
    unsigned matmuls = 0;
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        bool matmul = n->op == NODE_MATMUL;
        matmuls += matmul;
        s->plain += matmul && n->spec.form == LT_FORM_PLAIN;
        s->bias += matmul && n->spec.form == LT_FORM_BIAS;
        s->accumulate += matmul && n->spec.form == LT_FORM_ACCUMULATE;
        s->f32_operands += matmul && n->spec.a == DT_F32;
        s->relu += matmul && n->spec.epilogue == LTE_RELU;
        s->column += matmul && layout_has(&n->destination.layout, LAYOUT_LEFT_MAJOR);
        s->row += matmul && !layout_has(&n->destination.layout, LAYOUT_LEFT_MAJOR);
        s->copy += n->op == NODE_COPY;
        s->tied_matmul += matmul && n->tied;
        s->tied_kernel += n->op == NODE_KERNEL && n->tied;
        for (uint64_t k = 0; n->op == NODE_KERNEL && k < n->n_operands; k++) {
            const layout *l = &n->operands[k].layout;
            bool strided = l->spellings[0].kind == LAYOUT_STRIDED;
            s->vector_broadcast +=
                strided && l->spellings[0].strides[0] == 0 && l->spellings[0].strides[1] == 1;
            s->scalar_broadcast +=
                strided && l->spellings[0].strides[0] == 0 && l->spellings[0].strides[1] == 0;
        }
        for (uint64_t k = 0; n->op == NODE_OUTPUT && k < n->n_operands; k++)
            s->view_out += !layout_has(&n->operands[k].layout, LAYOUT_RIGHT_MAJOR);
    }
    for (uint64_t i = 0; i < p->n_buffers; i++) {
        s->donated += p->buffers[i].owner == OWNER_CALLER && p->buffers[i].freed_by == FREED_BY_PROGRAM;
        s->escaping += p->buffers[i].owner == OWNER_SYSTEM && p->buffers[i].freed_by == FREED_BY_CALLER;
    }
    for (uint64_t i = 0; i < p->n_edges; i++)
        s->reuse += !strcmp(p->edges[i].port, "reuse");
    s->two_matmuls += matmuls == 2;
}

static plan *plan_of(scratch *sc, const char *folder)
{
    rp_err e = {0};
    plan *p;
    span text = t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", folder));
    cr_assert_eq(plan_read(&e, &p, sc, "plan/plan.json", text), RP_OK, "%s: %s", folder, e.msg);
    return p;
}

Test(workloads, between_them_they_exercise)
{
    scratch *sc = scratch_new(0);
    seen ten = {0}, all = {0};
    for (size_t i = 0; i < N_NAMES; i++) {
        if (i < N_WORKLOADS)
            look(&ten, plan_of(sc, names[i]));
        look(&all, plan_of(sc, names[i]));
    }
    cr_expect(ten.plain == 12 && ten.bias == 0 && ten.accumulate == 0 && ten.relu == 1);
    cr_expect(all.bias == 1 && all.accumulate == 2 && all.f32_operands == 1 && all.tied_matmul == 2);
    cr_expect(ten.row == 4 && ten.column == 8, "%u %u", ten.row, ten.column);
    cr_expect(ten.vector_broadcast == 3 && ten.scalar_broadcast == 2);
    cr_expect(ten.copy == 1 && ten.tied_kernel == 2 && ten.donated == 1 && ten.escaping == 2 &&
              ten.view_out == 1);
    cr_expect(ten.two_matmuls == 2 && ten.reuse == 1);
    scratch_free(sc);
}

Test(workloads, alternatives_differ_in_the_plan_alone)
{
    scratch *sc = scratch_new(0);
    char hex[N_NAMES][DIGEST_HEX];
    for (size_t i = 0; i < N_NAMES; i++) {
        opened o = open_workload(folder_of(sc, names[i], true), true);
        digest_hex(o.result.signature, hex[i]);
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(hex[i], hex[k], "%s and %s", names[i], names[k]);
        if (i >= N_WORKLOADS) {
            t_tree a, b;
            t_sources(&a, sc, folder_of(sc, base_of(sc, names[i]), true));
            t_sources(&b, sc, folder_of(sc, names[i], true));
            cr_expect(t_equal(t_bytes(&a, "reference.json"), t_bytes(&b, "reference.json")), "%s", names[i]);
            cr_expect_not(t_equal(t_bytes(&a, "plan/plan.json"), t_bytes(&b, "plan/plan.json")));
            for (size_t k = 0; k < a.n; k++)
                if (!strncmp(a.v[k].path, "fixtures/", 9))
                    cr_expect(t_equal(a.v[k].bytes, t_bytes(&b, a.v[k].path)), "%s %s", names[i],
                              a.v[k].path);
            rp_err e = {0};
            contract *c, *d;
            cr_assert_eq(contract_read(&e, &c, sc, "a", t_bytes(&a, "contract.json")), RP_OK);
            cr_assert_eq(contract_read(&e, &d, sc, "b", t_bytes(&b, "contract.json")), RP_OK);
            cr_expect(c->n_fixtures == d->n_fixtures && c->checks_total == d->checks_total &&
                      c->n_tolerances == d->n_tolerances);
            for (size_t k = 0; k < c->n_tolerances; k++)
                cr_expect(c->tolerances[k].tol.atol == d->tolerances[k].tol.atol &&
                          c->tolerances[k].tol.rtol == d->tolerances[k].tol.rtol);
        }
        close_workload(&o);
    }
    scratch_free(sc);
}

/* --- Rules that the new plans lean on, each broken once. --- */

static findings *check_plan(scratch *sc, const char *text)
{
    rp_err e = {0};
    plan *p;
    plan_reach reach;
    arena_layout l;
    arena_counts n;
    findings *fs = scratch_alloc(sc, sizeof *fs);
    findings_init(fs, sc);
    if (plan_read(&e, &p, sc, "plan", span_str(text))) {
        err_to_finding(&e, fs);
        return fs;
    }
    cr_assert_eq(plan_check(&e, fs, p, "plan"), RP_OK);
    cr_assert_eq(plan_reach_build(&e, &reach, sc, p, "plan"), RP_OK);
    cr_assert_eq(arena_requests(&e, &l, sc, p), RP_OK);
    cr_assert_eq(arena_pack(&e, &l, sc), RP_OK);
    cr_assert_eq(arena_validate(&e, fs, &n, &l, p, &reach, "arena"), RP_OK);
    return fs;
}

static void breaks(const char *folder, const char *from, const char *to, finding_id id, const char *where)
{
    scratch *sc = scratch_new(0);
    span text = t_slurp(sc, scratch_printf(sc, "artifacts/workloads/%s/plan/plan.json", folder));
    cr_expect_eq(check_plan(sc, scratch_strndup(sc, (const char *)text.p, text.n))->n, 0);
    text = t_replaced(sc, text, from, to);
    findings *fs = check_plan(sc, scratch_strndup(sc, (const char *)text.p, text.n));
    cr_expect(t_found(fs, id, NULL, where), "%s: %s", to, t_list(sc, fs));
    scratch_free(sc);
}

Test(workloads, rules_that_they_lean_on)
{
    /* Nothing but the edge orders the second product behind the first's cast, whose place it takes. */
    breaks("projection_join.small",
           "    {\"from\": 4, \"to\": 7, \"buffer\": \"q32\", \"port\": \"reuse\", \"kind\": \"anti\"},\n",
           "", FIND_ARENA_REUSE, NULL);
    breaks("projection_join.small", "\"port\": \"reuse\"", "\"port\": \"war\"", FIND_PLAN_EDGE, NULL);
    /* In place only where it says so, and only with the operand that lies there. */
    breaks("projection_join.small", ",\n        \"tie\": \"lhs\"", "", FIND_PLAN_RACE, "/nodes/11");
    breaks("projection_join.small", "\"tie\": \"lhs\"", "\"tie\": \"rhs\"", FIND_PLAN_INVALID, "/nodes/11");
    breaks("projection_join.small", "\"tie\": \"lhs\"", "\"tie\": \"bias\"", FIND_PLAN_INVALID,
           "/nodes/11/destination/tie");
    breaks("residual.fused.small", "\"tie\": \"c\"", "\"tie\": \"a\"", FIND_PLAN_INVALID, "/nodes/4");
    /* The copy must be over before the sum overwrites what it reads. */
    breaks("public_projection.small",
           "    {\"from\": 6, \"to\": 7, \"buffer\": \"s\", \"port\": \"war\", \"kind\": \"anti\"},\n", "",
           FIND_PLAN_RACE, "/nodes/7");
    breaks("public_projection.small", "\"destination\": \"p\"", "\"destination\": \"p32\"", FIND_PLAN_INVALID,
           "/nodes/6");
    /* A donated buffer is gone after its free, and an output does not lie in it. */
    breaks("residual.small", "{\"op\": \"free\", \"buffer\": \"r\"}", "{\"op\": \"free\", \"buffer\": \"x\"}",
           FIND_PLAN_LIFETIME, "/nodes/7");
    breaks("public_projection.small",
           "\"id\": \"s\",\n      \"label\": \"s\",\n      \"owner\": \"system\",\n      \"freed_by\": "
           "\"caller\"",
           "\"id\": \"s\",\n      \"label\": \"s\",\n      \"owner\": \"system\",\n      \"freed_by\": "
           "\"program\"",
           FIND_PLAN_LIFETIME, "/nodes/8");
}

/* --- A plan, executed. --- */

typedef struct {
    const bundle *b;
    uint8_t *slab, **at; /* per buffer */
} machine;

/* Element of a slot at a row-major index of its shape. */
static uint64_t place(const layout *l, uint64_t i)
{
    uint64_t out = 0, step = 1, last = l->rank;
    const uint64_t *strides = l->spellings[0].strides;
    if (l->spellings[0].kind == LAYOUT_RIGHT_MAJOR)
        return i;
    if (l->spellings[0].kind == LAYOUT_LEFT_MAJOR) {
        uint64_t total = 1;
        for (uint64_t a = 0; a < last; a++)
            total *= l->shape[a];
        for (uint64_t a = 0; a < last; a++) {
            total /= l->shape[a];
            out += i / total * step;
            i %= total;
            step *= l->shape[a];
        }
        return out;
    }
    for (; last > 0; last--) {
        out += i % l->shape[last - 1] * strides[last - 1];
        i /= l->shape[last - 1];
    }
    return out;
}

static double get(const machine *m, const plan_slot *s, uint64_t i)
{
    return dtype_load(m->b->plan->buffers[s->buffer].type, m->at[s->buffer], place(&s->layout, i));
}

static void run_kernel(const machine *m, const plan_node *n)
{
    const plan_slot *d = &n->destination;
    dtype type = m->b->plan->buffers[d->buffer].type;
    uint64_t elements = 1;
    for (uint64_t a = 0; a < d->layout.rank; a++)
        elements *= d->layout.shape[a];
    cr_assert(layout_has(&d->layout, LAYOUT_RIGHT_MAJOR) && elements <= n->grid[0] * n->block[0]);
    for (uint64_t i = 0; i < elements; i++) {
        double a = get(m, &n->operands[0], i), b = n->n_operands == 2 ? get(m, &n->operands[1], i) : 0;
        double v = !strcmp(n->label, "Add")    ? a + b
                   : !strcmp(n->label, "Mul")  ? a * b
                   : !strcmp(n->label, "Relu") ? (a < 0 ? 0 : a)
                                               : a;
        dtype_store(type, m->at[d->buffer], i, v);
    }
}

static uint64_t element_of(const lt_matrix *x, uint64_t row, uint64_t col)
{
    cr_assert(row < x->rows && col < x->cols);
    return x->order == LTO_ROW ? row * x->ld + col : col * x->ld + row;
}

/* By the resolved descriptors alone, as the library does it: FP32 sums, k ascending. */
static void run_matmul(const machine *m, const resolved_call *c)
{
    const lt_call *k = &c->call;
    for (uint64_t i = 0; i < k->m; i++)
        for (uint64_t j = 0; j < k->n; j++) {
            float sum = 0;
            for (uint64_t l = 0; l < k->k; l++) {
                uint64_t a = k->trans_a ? element_of(&k->a, l, i) : element_of(&k->a, i, l);
                uint64_t b = k->trans_b ? element_of(&k->b, j, l) : element_of(&k->b, l, j);
                sum += (float)(dtype_load(k->a.type, m->at[c->buffer[LT_A]], a) *
                               dtype_load(k->b.type, m->at[c->buffer[LT_B]], b));
            }
            if (k->beta_one)
                sum += (float)dtype_load(k->c.type, m->at[c->buffer[LT_C]], element_of(&k->c, i, j));
            if (lt_epilogue_has_bias(k->epilogue))
                sum += (float)dtype_load(k->d.type, m->at[c->buffer[LT_BIAS]], i);
            if (k->epilogue == LTE_RELU && sum < 0)
                sum = 0;
            dtype_store(k->d.type, m->at[c->buffer[LT_D]], element_of(&k->d, i, j), (double)sum);
        }
}

static void run_plan(const machine *m)
{
    const plan *p = m->b->plan;
    uint64_t call = 0;
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        if (n->op == NODE_KERNEL) {
            run_kernel(m, n);
        } else if (n->op == NODE_COPY) {
            memcpy(m->at[n->destination.buffer], m->at[n->operands[0].buffer],
                   p->buffers[n->destination.buffer].bytes);
        } else if (n->op == NODE_MATMUL) {
            const arena_range *w = arena_of_workspace(bundle_arena(m->b), i);
            memset(m->slab + w->offset_bytes, 0xa5, w->bytes); /* as a library may leave it */
            run_matmul(m, &m->b->calls[call++]);
        }
    }
}

static machine build_machine(const bundle *b, const job_fixture *f, const lowering *l)
{
    const plan *p = b->plan;
    machine m = {
        .b = b, .slab = malloc(bundle_arena(b)->slab_bytes), .at = calloc(p->n_buffers, sizeof *m.at)};
    cr_assert(m.slab && m.at);
    memset(m.slab, 0xff, bundle_arena(b)->slab_bytes);
    for (uint64_t i = 0; i < p->n_buffers; i++) {
        const arena_range *r = arena_of_buffer(bundle_arena(b), i);
        m.at[i] = r ? m.slab + r->offset_bytes : scratch_alloc(b->sc, p->buffers[i].bytes);
        if (!r)
            memset(m.at[i], 0xff, p->buffers[i].bytes);
    }
    for (uint64_t i = 0; i < f->n_inputs; i++)
        for (uint64_t k = 0; k < l->n_parts; k++)
            if (l->part_offsets[k] == f->inputs[i].data.offset_bytes &&
                l->parts[k].n == f->inputs[i].data.bytes)
                memcpy(m.at[f->inputs[i].buffer], l->parts[k].p, l->parts[k].n);
    return m;
}

/* The fixtures that the plan fails, comma separated; two runs over the same memory, the donated buffer
 * included, must agree. */
static const char *execute(const bundle *b)
{
    rp_err e = {0};
    lowering *l;
    const char *failed = "";
    span *ptx = scratch_array(b->sc, b->n_kernels, sizeof *ptx);
    for (uint64_t i = 0; i < b->n_kernels; i++)
        ptx[i] = b->kernels[i].ptx;
    cr_assert_eq(lower_bundle(&e, &l, b->sc, b, ptx), RP_OK, "%s", e.msg);
    span text;
    job *read;
    cr_assert_eq(lower_job(&e, &text, b->sc, l, JOB_VALIDATE), RP_OK, "%s", e.msg);
    cr_assert_eq(job_read(&e, &read, b->sc, "job.json", text, l->data_bytes), RP_OK, "%s: %s", e.where,
                 e.msg);
    for (uint64_t i = 0; i < l->n_fixtures; i++) {
        const lowered_fixture *f = &l->fixtures[i];
        const job_fixture *jf = &l->base.fixtures[i];
        machine m = build_machine(b, jf, l);
        bool passed = true;
        for (int round = 0; round < 2; round++) {
            run_plan(&m);
            for (size_t o = 0; o < f->n_outputs; o++) {
                const tensor *t = &f->expected[o];
                uint64_t bytes = t->elements * dtype_bytes(t->type);
                passed &=
                    numeric_judge(t->type, span_of(m.at[jf->outputs[o].buffer], bytes),
                                  span_of(t->data, bytes), contract_tolerance_of(b->contract, t->name)->tol)
                        .passed;
            }
        }
        if (!passed)
            failed = scratch_printf(b->sc, "%s%s%s", failed, *failed ? ", " : "", f->name);
        free(m.slab);
        free(m.at);
    }
    return failed;
}

Test(workloads, small_plans_execute)
{
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < N_NAMES; i++) {
        opened o = open_workload(folder_of(sc, names[i], true), true);
        bool fused = strstr(names[i], ".fused");
        cr_expect_str_eq(execute(o.b), fused ? "projection_rounding" : "", "%s", names[i]);
        close_workload(&o);
    }
    scratch_free(sc);
}

/* y [m, n] is left-major over yt: what the worker returns is yt, and what is expected lies as yt does. */
Test(workloads, an_output_that_is_a_view)
{
    rp_err e = {0};
    opened o = open_workload("output_scale.small", true);
    lowering *l;
    made_fixture made;
    span *ptx = scratch_array(o.sc, o.b->n_kernels, sizeof *ptx);
    cr_assert_eq(lower_bundle(&e, &l, o.sc, o.b, ptx), RP_OK, "%s", e.msg);
    cr_assert_eq(
        fixture_make(&e, &made, o.sc, bundle_fixture_named(o.b, l->fixtures[0].name)->recipe, o.b->reference),
        RP_OK);
    const uint16_t *row_major = made.expected[0].data, *moved = l->fixtures[0].expected[0].data;
    for (uint64_t i = 0; i < 40; i++)
        for (uint64_t j = 0; j < 72; j++)
            cr_assert_eq(moved[j * 40 + i], row_major[i * 72 + j]);
    close_workload(&o);
}

/* The same plan, but y is every row of 72 in a buffer with rows of 80: what
 * is returned is the buffer, what is expected lies in between, and the buffer begins as what cannot pass. */
Test(workloads, an_output_with_gaps)
{
    rp_err e = {0};
    opened o = open_workload("output_scale.small", true);
    plan *p = (plan *)(uintptr_t)o.b->plan;
    lowering *l;
    made_fixture made;
    plan_slot *s = NULL;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        if (p->nodes[i].op == NODE_OUTPUT)
            s = &p->nodes[i].operands[0];
    plan_buffer *buf = &p->buffers[s->buffer];
    s->layout.n_spellings = 1;
    s->layout.spellings[0].kind = LAYOUT_STRIDED;
    s->layout.spellings[0].strides[0] = 80;
    s->layout.spellings[0].strides[1] = 1;
    buf->bytes = 40 * 80 * 2;
    span *ptx = scratch_array(o.sc, o.b->n_kernels, sizeof *ptx);
    cr_assert_eq(lower_bundle(&e, &l, o.sc, o.b, ptx), RP_OK, "%s", e.msg);
    cr_assert_eq(
        fixture_make(&e, &made, o.sc, bundle_fixture_named(o.b, l->fixtures[0].name)->recipe, o.b->reference),
        RP_OK);
    const uint16_t *dense = made.expected[0].data, *placed = l->fixtures[0].expected[0].data;
    cr_assert_eq(l->fixtures[0].expected[0].elements, 40 * 80);
    for (uint64_t i = 0; i < 40; i++)
        for (uint64_t j = 0; j < 80; j++) {
            cr_assert_eq(l->fixtures[0].gaps[0][i * 80 + j], j >= 72);
            if (j < 72)
                cr_assert_eq(placed[i * 80 + j], dense[i * 72 + j]);
        }
    const job_fixture *jf = &l->base.fixtures[0];
    const job_input *fill = &jf->inputs[jf->n_inputs - 1];
    cr_assert(fill->buffer == jf->outputs[0].buffer && fill->data.bytes == buf->bytes);
    cr_assert_eq(jf->outputs[0].offset_bytes, 0);
    const uint16_t *begin = (const uint16_t *)(const void *)l->parts[l->n_parts - 1].p;
    cr_assert_eq(l->parts[l->n_parts - 1].n, buf->bytes);
    tolerance wide = {1e9, 1};
    cr_assert_not(numeric_judge_between(DT_F16, span_of(begin, 6400), span_of(placed, 6400),
                                        l->fixtures[0].gaps[0], wide)
                      .passed);
    uint16_t *other = scratch_array(o.sc, 3200, sizeof *other);
    memcpy(other, placed, 6400);
    for (uint64_t i = 0; i < 40; i++)
        other[80 * i + 75] = 7;
    cr_assert(memcmp(other, placed, 6400));
    lowered_close_gaps(&l->fixtures[0], 0, (uint8_t *)other);
    cr_assert(!memcmp(other, placed, 6400));
    /* The same elements twice, beyond the buffer, or in the arena: refused by name. */
    s->layout.spellings[0].strides[0] = 71;
    cr_assert_eq(lower_bundle(&e, &l, o.sc, o.b, ptx), RP_INVALID);
    cr_assert_eq(e.id, FIND_FIXTURE_SHAPE);
    close_workload(&o);
}

/* --- Digests of all tensors. --- */

static uint64_t pin(scratch *sc, const char *digests, const char *folder, const char *fixture,
                    const tensor *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char hex[DIGEST_HEX];
        digest_hex(digest_of(span_of(v[i].data, (size_t)(v[i].elements * dtype_bytes(v[i].type)))), hex);
        const char *line = scratch_printf(sc, "%s %s %s %s\n", folder, fixture, v[i].name, hex);
        if (getenv("REPLAY_PIN"))
            printf("%s", line);
        cr_expect(strstr(digests, line), "%s", line);
    }
    return n;
}

static uint64_t pin_workload(const char *digests, const char *folder)
{
    uint64_t lines = 0;
    scratch *sc = scratch_new(0);
    t_tree t;
    rp_err e = {0};
    reference *ref;
    t_sources(&t, sc, folder);
    cr_assert_eq(reference_read(&e, &ref, sc, "reference.json", t_bytes(&t, "reference.json")), RP_OK, "%s",
                 e.msg);
    for (size_t i = 0; i < t.n; i++) {
        if (strncmp(t.v[i].path, "fixtures/", 9))
            continue;
        scratch *one = scratch_new(0);
        recipe *rc;
        tensor *in, *out;
        size_t n;
        cr_assert_eq(recipe_read(&e, &rc, one, t.v[i].path, t.v[i].bytes), RP_OK, "%s %s: %s", folder,
                     t.v[i].path, e.msg);
        cr_assert_eq(recipe_generate(&e, &in, &n, one, rc), RP_OK);
        cr_assert_eq(reference_eval(&e, &out, one, ref, in, n, 0), RP_OK, "%s", e.msg);
        cr_assert(strlen(recipe_purpose(rc)) > 20);
        cr_assert_str_eq(scratch_printf(one, "fixtures/%s.json", recipe_name(rc)), t.v[i].path);
        lines += pin(one, digests, folder, recipe_name(rc), in, n) +
                 pin(one, digests, folder, recipe_name(rc), out, reference_n_outputs(ref));
        scratch_free(one);
    }
    scratch_free(sc);
    return lines;
}

/* tests/plan/digests.txt: `FOLDER FIXTURE TENSOR SHA256`. The full sizes but weight_view's need
 * REPLAY_FULL=1. */
Test(workloads, every_tensor_has_its_digest)
{
    scratch *sc = scratch_new(0);
    span text = t_slurp(sc, "tests/plan/digests.txt");
    const char *digests = scratch_strndup(sc, (const char *)text.p, text.n);
    uint64_t lines = 0, all = 0;
    bool full = getenv("REPLAY_FULL");
    for (size_t i = 0; i < text.n; i++)
        all += text.p[i] == '\n';
    for (size_t i = 0; i < N_WORKLOADS; i++) {
        lines += pin_workload(digests, folder_of(sc, names[i], true));
        if (full || !strcmp(names[i], "weight_view"))
            lines += pin_workload(digests, names[i]);
    }
    cr_expect(full ? lines == all : lines < all, "%d of %d", (int)lines, (int)all);
    scratch_free(sc);
}
