#include "plan/resolve.h"
#include "artifacts/base/ck.h"
#include "plan/lt_call.h"
#include <stdio.h>

const char *const resolve_rule_ids[] = {
#define X(sym, id, text) id,
    RESOLVE_RULES(X)
#undef X
};
const char *const resolve_rule_texts[] = {
#define X(sym, id, text) text,
    RESOLVE_RULES(X)
#undef X
};
const char *const lt_operand_names[] = {"a", "b", "c", "d", "bias", "scale_a", "scale_b", NULL};

typedef struct {
    findings *fs;
    const plan *p;
    const plan_node *n;
    uint64_t node;
    const char *file;
    bool refused;
} resolver;

static void refuse(resolver *r, resolve_rule rule, const char *below, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void refuse(resolver *r, resolve_rule rule, const char *below, const char *fmt, ...)
{
    char where[96], actual[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(actual, sizeof actual, fmt, ap);
    va_end(ap);
    snprintf(where, sizeof where, "/nodes/%llu%s", (unsigned long long)r->node, below);
    findings_add(r->fs, rule == RULE_REACH ? FIND_RESOLVE_REACH : FIND_RESOLVE_REFUSED, r->file, where,
                 resolve_rule_ids[rule], actual, "rule %s: expected that %s; found %s",
                 resolve_rule_ids[rule], resolve_rule_texts[rule], actual);
    r->refused = true;
}

static uint64_t at_least_1(uint64_t v)
{
    return v ? v : 1;
}

/* Operands in the form's order (facts: the destination follows as the last). */
static bool bind_operands(resolver *r, resolved_call *c)
{
    const lt_spec *s = &r->n->spec;
    bool bias = s->form == LT_FORM_BIAS || s->form == LT_FORM_ACCUMULATE_BIAS;
    bool accumulate = s->form == LT_FORM_ACCUMULATE || s->form == LT_FORM_ACCUMULATE_BIAS;
    uint64_t want = 2 + (uint64_t)bias + (uint64_t)accumulate;
    if (r->n->n_operands != want) {
        refuse(r, RULE_ARITY, "/operands", "%llu operands of %s, which takes %llu",
               (unsigned long long)r->n->n_operands, lt_form_names[s->form], (unsigned long long)want);
        return false;
    }
    c->has[LT_BIAS] = bias;
    c->c_is_operand = accumulate;
    c->buffer[LT_A] = r->n->operands[0].buffer;
    c->buffer[LT_B] = r->n->operands[1].buffer;
    c->buffer[LT_D] = r->n->destination.buffer;
    c->buffer[LT_C] = accumulate ? r->n->operands[2].buffer : c->buffer[LT_D];
    if (bias)
        c->buffer[LT_BIAS] = r->n->operands[want - 1].buffer;
    if (lt_epilogue_has_bias(s->epilogue) != bias)
        refuse(r, RULE_EPILOGUE, "/spec/epilogue", "epilogue %s with form %s", lt_epilogue_names[s->epilogue],
               lt_form_names[s->form]);
    return true;
}

static void check_types(resolver *r, const resolved_call *c)
{
    const lt_spec *s = &r->n->spec;
    if (s->a != s->b || (s->a != DT_F32 && s->a != DT_F16 && s->a != DT_BF16) ||
        (s->d != DT_F32 && s->d != s->a))
        refuse(r, RULE_TYPES, "/spec", "a %s, b %s, d %s", dtype_names[s->a], dtype_names[s->b],
               dtype_names[s->d]);
    const dtype want[] = {s->a, s->b, s->d, s->d, s->d};
    for (int i = LT_A; i <= LT_BIAS; i++) {
        if (!c->has[i])
            continue;
        const plan_buffer *b = &r->p->buffers[c->buffer[i]];
        if (b->type != want[i])
            refuse(r, RULE_SLOT_TYPE, "/spec", "%s is %s, its buffer %s holds %s", lt_operand_names[i],
                   dtype_names[want[i]], b->id, dtype_names[b->type]);
    }
}

/* bind_destination: the slot's layout decides the order of D (facts 2, step 6). */
static void bind_destination(resolver *r, resolved_call *c)
{
    const layout *l = &r->n->destination.layout;
    const lt_spec *s = &r->n->spec;
    c->call.d =
        (lt_matrix){.type = s->d, .order = LTO_ROW, .rows = s->m, .cols = s->n, .ld = at_least_1(s->n)};
    if (l->rank != 2 || l->shape[0] != s->m || l->shape[1] != s->n)
        refuse(r, RULE_FRAME, "/destination/layout/shape",
               "rank %llu, [%llu, %llu] against [m, n] = [%llu, %llu]: the frame diverged",
               (unsigned long long)l->rank, (unsigned long long)(l->rank > 0 ? l->shape[0] : 0),
               (unsigned long long)(l->rank > 1 ? l->shape[1] : 0), (unsigned long long)s->m,
               (unsigned long long)s->n);
    else if (layout_has(l, LAYOUT_LEFT_MAJOR)) {
        c->call.d.order = LTO_COL;
        c->call.d.ld = at_least_1(s->m);
    } else if (c->has[LT_BIAS])
        refuse(r, RULE_BIAS_COL, "/destination/layout/spellings",
               "no left_major spelling; remedy: swap the operands, so that D becomes column-major");
    else if (!layout_has(l, LAYOUT_RIGHT_MAJOR))
        refuse(r, RULE_DESTINATION, "/destination/layout/spellings", "neither left_major nor right_major");
    c->call.c = c->call.d;
}

static void check_matrix(resolver *r, resolved_call *c, int which, const lt_matrix *m)
{
    const plan_buffer *b = &r->p->buffers[c->buffer[which]];
    const char *name = lt_operand_names[which];
    uint64_t major = m->order == LTO_ROW ? m->rows : m->cols, minor = m->order == LTO_ROW ? m->cols : m->rows;
    c->buffer_elements[which] = b->bytes / dtype_bytes(m->type);
    if (!m->rows || !m->cols)
        refuse(r, RULE_EXTENT, "/spec", "%s is %llu x %llu", name, (unsigned long long)m->rows,
               (unsigned long long)m->cols);
    else if (m->ld < minor && major > 1)
        refuse(r, RULE_LD, "/spec", "ld %llu of %s, whose %s hold %llu elements", (unsigned long long)m->ld,
               name, m->order == LTO_ROW ? "rows" : "columns", (unsigned long long)minor);
    else if (!lt_reach(m, &c->reach_elements[which]))
        refuse(r, RULE_REACH, "/spec", "%s reaches beyond 2^64 elements", name);
    else if (c->reach_elements[which] > c->buffer_elements[which])
        refuse(r, RULE_REACH, "/spec", "%s reaches %llu elements, buffer %s holds %llu of %s", name,
               (unsigned long long)c->reach_elements[which], b->id,
               (unsigned long long)c->buffer_elements[which], dtype_names[m->type]);
}

/* The call gives C the descriptor of D (facts 2, step 6): a C laid out otherwise would be misread. */
static void check_c_layout(resolver *r, const resolved_call *c)
{
    const layout *l = &r->n->operands[2].layout;
    layout_kind want = c->call.d.order == LTO_COL ? LAYOUT_LEFT_MAJOR : LAYOUT_RIGHT_MAJOR;
    if (l->rank != 2 || l->shape[0] != c->call.m || l->shape[1] != c->call.n || !layout_has(l, want))
        refuse(r, RULE_C_LAYOUT, "/operands/2/layout", "no %s spelling of [m, n]", layout_kind_names[want]);
}

static void check_bias(resolver *r, resolved_call *c)
{
    const plan_buffer *b = &r->p->buffers[c->buffer[LT_BIAS]];
    c->reach_elements[LT_BIAS] = c->call.m;
    c->buffer_elements[LT_BIAS] = b->bytes / dtype_bytes(r->n->spec.d);
    if (c->buffer_elements[LT_BIAS] < c->call.m)
        refuse(r, RULE_BIAS_LENGTH, "/spec", "%llu elements in buffer %s, m is %llu",
               (unsigned long long)c->buffer_elements[LT_BIAS], b->id, (unsigned long long)c->call.m);
}

rp_code resolve_node(rp_err *e, findings *fs, resolved_call *out, bool *ok, const plan *p, uint64_t node,
                     const char *file)
{
    resolver r = {.fs = fs, .p = p, .n = &p->nodes[node], .node = node, .file = file};
    const lt_spec *s = &r.n->spec;
    resolved_call c = {.node = node,
                       .has = {true, true, true, true},
                       .spec_trans_a = s->trans_a,
                       .spec_trans_b = s->trans_b};
    lt_call *k = &c.call;
    k->m = s->m;
    k->n = s->n;
    k->k = s->k;
    if (!s->m || !s->n || !s->k)
        refuse(&r, RULE_EXTENT, "/spec", "m %llu, n %llu, k %llu", (unsigned long long)s->m,
               (unsigned long long)s->n, (unsigned long long)s->k);
    bool bound = bind_operands(&r, &c);
    /* Spec readings are column-major views and the call is row-major, so both flags flip, always (facts 2,
     * steps 2 to 4). */
    k->trans_a = !s->trans_a;
    k->trans_b = !s->trans_b;
    k->a = (lt_matrix){.type = s->a,
                       .order = LTO_ROW,
                       .rows = k->trans_a ? s->k : s->m,
                       .cols = k->trans_a ? s->m : s->k,
                       .ld = at_least_1(s->lda)};
    k->b = (lt_matrix){.type = s->b,
                       .order = LTO_ROW,
                       .rows = k->trans_b ? s->n : s->k,
                       .cols = k->trans_b ? s->k : s->n,
                       .ld = at_least_1(s->ldb)};
    k->compute = LTC_32F;
    k->scale = DT_F32;
    k->epilogue = s->epilogue;
    k->bias_type = s->d;
    k->beta_one = c.c_is_operand;
    k->workspace_bytes = r.n->workspace_bytes;
    bind_destination(&r, &c);
    if (bound) {
        check_types(&r, &c);
        check_matrix(&r, &c, LT_A, &k->a);
        check_matrix(&r, &c, LT_B, &k->b);
        check_matrix(&r, &c, LT_C, &k->c);
        check_matrix(&r, &c, LT_D, &k->d);
        if (c.c_is_operand)
            check_c_layout(&r, &c);
        if (c.has[LT_BIAS])
            check_bias(&r, &c);
    }
    *out = c;
    *ok = !r.refused;
    return fs->nomem ? err_nomem(e) : RP_OK;
}

rp_code resolve_plan(rp_err *e, findings *fs, resolved_call **out, uint64_t *n, bool *ok, scratch *sc,
                     const plan *p, const recorded_call *recorded, uint64_t n_recorded)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        count += p->nodes[i].op == NODE_MATMUL;
    resolved_call *v = scratch_array(sc, count, sizeof *v);
    if (!v)
        return err_nomem(e);
    *ok = true;
    *n = 0;
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        bool one;
        if (p->nodes[i].op != NODE_MATMUL)
            continue;
        const recorded_call *r = *n < n_recorded ? &recorded[*n] : NULL;
        if (p->resolver == RESOLVE_GIVEN
                ? resolve_given(e, fs, &v[*n], &one, sc, p, i, r, "plan/resolved_calls.json")
                : resolve_node(e, fs, &v[*n], &one, p, i, "plan/plan.json"))
            return e->code;
        (*n)++;
        *ok &= one;
    }
    *out = v;
    return RP_OK;
}

void resolve_question(lt_query *q, const plan *p, const resolved_call *c)
{
    lt_query_of_call(q, &c->call);
    for (int i = LT_A; i <= LT_D; i++) {
        const plan_buffer *b = &p->buffers[c->buffer[i]];
        q->mat[i].buffer_bytes = b->bytes;
        q->mat[i].holds = b->type;
    }
    if (c->has[LT_BIAS])
        q->bias_len = p->buffers[c->buffer[LT_BIAS]].bytes / dtype_bytes(c->call.bias_type);
}

const char *resolve_sentence(scratch *sc, const plan *p, const resolved_call *c)
{
    const lt_call *k = &c->call;
    const char *a = p->buffers[c->buffer[LT_A]].id, *b = p->buffers[c->buffer[LT_B]].id,
               *d = p->buffers[c->buffer[LT_D]].id;
    const char *how = k->d.order == LTO_COL
                          ? "stored column-major, so the same bytes read row by row are its transpose"
                          : "stored row-major";
    const char *s = scratch_printf(
        sc,
        "Computes %s%s * %s%s = %s, a [%llu, %llu] %s matrix %s: the transpose flags and the order of D "
        "say it all, and no transpose copy of any operand or of the result is needed.",
        a, k->trans_a ? "^T" : "", b, k->trans_b ? "^T" : "", d, (unsigned long long)k->m,
        (unsigned long long)k->n, dtype_names[k->d.type], how);
    return s ? s : "";
}
