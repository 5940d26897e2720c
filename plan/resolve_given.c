#include "artifacts/base/ck.h"
#include "plan/lt_rules.h"
#include "plan/resolve.h"
#include <stdio.h>

const char *const given_rule_ids[] = {
#define X(sym, id, text) id,
    GIVEN_RULES(X)
#undef X
};
const char *const given_rule_texts[] = {
#define X(sym, id, text) text,
    GIVEN_RULES(X)
#undef X
};

typedef struct {
    findings *fs;
    scratch *sc;
    const plan *p;
    const plan_node *n;
    const recorded_call *rec;
    const char *file;
    uint64_t index; /* of the call among the recorded ones */
    bool refused;
} giver;

static void refuse(giver *g, given_rule rule, const char *below, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void refuse(giver *g, given_rule rule, const char *below, const char *fmt, ...)
{
    char where[64], actual[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(actual, sizeof actual, fmt, ap);
    va_end(ap);
    snprintf(where, sizeof where, "/calls/%llu%s", (unsigned long long)g->index, below);
    findings_add(g->fs, FIND_RESOLVE_REFUSED, g->file, where, given_rule_ids[rule], actual,
                 "rule %s: expected that %s; found %s", given_rule_ids[rule], given_rule_texts[rule], actual);
    g->refused = true;
}

/* Which operand a port names; LT_OPERANDS where it names none. */
static int operand_of(const char *port)
{
    for (int i = 0; i < LT_OPERANDS; i++)
        if (i != LT_D && !strcmp(lt_operand_names[i], port))
            return i;
    return LT_OPERANDS;
}

static bool bind_operands(giver *g, resolved_call *c)
{
    for (uint64_t i = 0; i < g->n->n_operands; i++) {
        int which = operand_of(g->n->operands[i].port);
        if (which == LT_OPERANDS || c->has[which]) {
            refuse(g, GIVEN_PORTS, "", "operand %llu of node %llu on port %.64s", (unsigned long long)i,
                   (unsigned long long)c->node, g->n->operands[i].port);
            return false;
        }
        c->has[which] = true;
        c->buffer[which] = g->n->operands[i].buffer;
    }
    if (!c->has[LT_A] || !c->has[LT_B]) {
        refuse(g, GIVEN_PORTS, "", "node %llu without %s", (unsigned long long)c->node,
               c->has[LT_A] ? "b" : "a");
        return false;
    }
    c->has[LT_D] = true;
    c->buffer[LT_D] = g->n->destination.buffer;
    c->c_is_operand = c->has[LT_C];
    if (!c->has[LT_C])
        c->buffer[LT_C] = c->buffer[LT_D];
    c->has[LT_C] = true;
    return true;
}

static void check_binding(giver *g, const resolved_call *c)
{
    for (int i = 0; i < LT_OPERANDS; i++) {
        char below[24];
        const char *want = c->has[i] ? g->p->buffers[c->buffer[i]].id : NULL, *have = g->rec->buffer[i];
        if (want == have || (want && have && !strcmp(want, have)))
            continue;
        snprintf(below, sizeof below, i >= LT_BIAS ? "/%s" : "/%s/buffer", lt_operand_names[i]);
        refuse(g, GIVEN_BINDING, below, "%.64s, where the node has %.64s", have ? have : "none",
               want ? want : "none");
    }
}

static bool is_fp8(dtype t)
{
    return t == DT_F8_E4M3 || t == DT_F8_E5M2;
}

static void check_operands(giver *g, const resolved_call *c)
{
    const lt_call *k = &c->call;
    bool in_place = c->buffer[LT_C] == c->buffer[LT_D];
    if (c->c_is_operand ? !k->beta_one && in_place : k->beta_one)
        refuse(g, GIVEN_C, "/beta", "beta %d, c %s", k->beta_one, c->c_is_operand ? "an operand" : "none");
    if (c->has[LT_BIAS] != lt_epilogue_has_bias(k->epilogue))
        refuse(g, GIVEN_BIAS, "/epilogue", "epilogue %s, a bias %s", lt_epilogue_names[k->epilogue],
               c->has[LT_BIAS] ? "operand" : "is none");
    if (c->has[LT_BIAS] && g->p->buffers[c->buffer[LT_BIAS]].type != k->bias_type)
        refuse(g, GIVEN_BIAS, "/bias", "a bias of %s, the buffer holds %s", dtype_names[k->bias_type],
               dtype_names[g->p->buffers[c->buffer[LT_BIAS]].type]);
    const lt_matrix *m[] = {&k->a, &k->b};
    for (int i = 0; i < 2; i++) {
        bool has = c->has[LT_SCALE_A + i];
        if (m[i]->scaled != has || (has && !is_fp8(m[i]->type)))
            refuse(g, GIVEN_SCALE, i ? "/b" : "/a", "%s, %s, with %s operand", dtype_names[m[i]->type],
                   m[i]->scaled ? "scaled" : "not scaled", has ? "a scale" : "no scale");
        else if (has && g->p->buffers[c->buffer[LT_SCALE_A + i]].type != DT_F32)
            refuse(g, GIVEN_SCALE, i ? "/scale_b" : "/scale_a", "a scale of type %s",
                   dtype_names[g->p->buffers[c->buffer[LT_SCALE_A + i]].type]);
    }
    if (k->c.scaled || k->d.scaled)
        refuse(g, GIVEN_SCALE, k->c.scaled ? "/c" : "/d", "a scaled result");
    if (k->workspace_bytes != g->n->workspace_bytes)
        refuse(g, GIVEN_WORKSPACE, "/workspace_bytes", "%llu bytes, the node has %llu",
               (unsigned long long)k->workspace_bytes, (unsigned long long)g->n->workspace_bytes);
}

static void check_shape(giver *g, resolved_call *c)
{
    const lt_call *k = &c->call;
    const lt_matrix *m[] = {&k->a, &k->b, &k->c, &k->d};
    for (int i = LT_A; i <= LT_D; i++) {
        char below[8];
        snprintf(below, sizeof below, "/%s", lt_operand_names[i]);
        const plan_buffer *b = &g->p->buffers[c->buffer[i]];
        c->buffer_elements[i] = b->bytes / dtype_bytes(m[i]->type);
        if (m[i]->batch != k->d.batch)
            refuse(g, GIVEN_SHAPE, below, "a batch of %llu against %llu of d",
                   (unsigned long long)m[i]->batch, (unsigned long long)k->d.batch);
        if (!lt_reach(m[i], &c->reach_elements[i]))
            refuse(g, GIVEN_SHAPE, below, "%llu x %llu with ld %llu: empty, or beyond 2^64 elements",
                   (unsigned long long)m[i]->rows, (unsigned long long)m[i]->cols,
                   (unsigned long long)m[i]->ld);
    }
    for (int i = LT_BIAS; i < LT_OPERANDS; i++)
        if (c->has[i]) {
            const plan_buffer *b = &g->p->buffers[c->buffer[i]];
            c->reach_elements[i] = i == LT_BIAS ? k->m : 1;
            c->buffer_elements[i] = b->bytes / dtype_bytes(b->type);
            if (!c->buffer_elements[i])
                refuse(g, GIVEN_SHAPE, "", "%s with an empty buffer", lt_operand_names[i]);
        }
}

static void judge(giver *g, const resolved_call *c)
{
    lt_query q;
    lt_answer a;
    char where[64];
    resolve_question(&q, g->p, c);
    lt_decide(&a, &q);
    for (size_t i = 0; i < a.n_hits; i++) {
        const lt_hit *h = &a.hits[i];
        if (h->rule->kind == LTR_NOTE || h->may_hold)
            continue;
        const char *text = lt_hit_text(g->sc, h), *remedy = lt_hit_remedy(g->sc, h);
        bool reach = !strcmp(h->rule->id, "extent.buffer");
        snprintf(where, sizeof where, "/calls/%llu", (unsigned long long)g->index);
        findings_add(g->fs, reach ? FIND_RESOLVE_REACH : FIND_RESOLVE_REFUSED, g->file, where, h->rule->id,
                     text, "rule %s: expected that %s; found that %s%s%s", h->rule->id, h->rule->says, text,
                     remedy ? "; remedy: " : "", remedy ? remedy : "");
        g->refused = true;
    }
}

rp_code resolve_given(rp_err *e, findings *fs, resolved_call *out, bool *ok, scratch *sc, const plan *p,
                      uint64_t node, const recorded_call *recorded, const char *file)
{
    giver g = {.fs = fs, .sc = sc, .p = p, .n = &p->nodes[node], .rec = recorded, .file = file};
    resolved_call c = {.node = node};
    for (uint64_t i = 0; i < node; i++)
        g.index += p->nodes[i].op == NODE_MATMUL;
    if (!recorded || recorded->node != node) {
        refuse(&g, GIVEN_BINDING, "", "%s, where node %llu is a matmul",
               recorded ? "the call of another node" : "no call", (unsigned long long)node);
    } else if (bind_operands(&g, &c)) {
        c.call = recorded->call;
        check_binding(&g, &c);
        check_operands(&g, &c);
        check_shape(&g, &c);
        if (!g.refused)
            judge(&g, &c);
    }
    *out = c;
    *ok = !g.refused;
    return fs->nomem ? err_nomem(e) : RP_OK;
}
