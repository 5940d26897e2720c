#include "plan/calls.h"
#include <stdio.h>

static rp_code read_operand(rp_err *e, recorded_call *c, int which, js_node *o)
{
    js_node *m;
    if (js_obj(e, &m, o, lt_operand_names[which]) || js_str(e, &c->buffer[which], m, "buffer"))
        return e->code;
    return js_done(e, m);
}

/* A buffer's id where the member is there and not null. */
static rp_code read_buffer(rp_err *e, recorded_call *c, int which, js_node *o)
{
    js_node *v = js_find(o, lt_operand_names[which]);
    return v && js_kind(v) != JS_NULL ? js_as_str(e, &c->buffer[which], v) : RP_OK;
}

static rp_code read_call(rp_err *e, recorded_call *c, js_node *o)
{
    js_node *bias;
    uint64_t alpha, beta;
    if (js_u64(e, &c->node, o, "node") || lt_call_read(e, &c->call, o))
        return e->code;
    for (int i = LT_A; i <= LT_D; i++)
        if (read_operand(e, c, i, o))
            return e->code;
    if (js_get(e, &bias, o, "bias") || read_buffer(e, c, LT_BIAS, o) || read_buffer(e, c, LT_SCALE_A, o) ||
        read_buffer(e, c, LT_SCALE_B, o) || js_u64(e, &alpha, o, "alpha") || js_u64(e, &beta, o, "beta"))
        return e->code;
    if (alpha != 1)
        return js_fail(e, js_find(o, "alpha"), FIND_JSON_VALUE, "expected 1, found %llu",
                       (unsigned long long)alpha);
    if (beta > 1)
        return js_fail(e, js_find(o, "beta"), FIND_JSON_VALUE, "expected 0 or 1, found %llu",
                       (unsigned long long)beta);
    c->call.beta_one = beta == 1;
    return js_done(e, o);
}

rp_code calls_read(rp_err *e, recorded_call **out, uint64_t *n, scratch *sc, const char *file, span text)
{
    js_node *root, *a;
    size_t count = 0;
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-calls/1") ||
        js_arr(e, &a, &count, root, "calls"))
        return e->code;
    recorded_call *v = scratch_array(sc, count, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < count; i++)
        if (read_call(e, &v[i], js_at(a, i)))
            return e->code;
    if (js_done(e, root))
        return e->code;
    *out = v;
    *n = count;
    return RP_OK;
}

static const char *id_of(const plan *p, const resolved_call *c, int which)
{
    return c->has[which] ? p->buffers[c->buffer[which]].id : NULL;
}

void calls_write(jw *j, const plan *p, const resolved_call *c, uint64_t n)
{
    jw_arr(j, "calls");
    for (uint64_t i = 0; i < n; i++) {
        const lt_call *k = &c[i].call;
        jw_obj(j, NULL);
        lt_matrix_write(j, "a", id_of(p, &c[i], LT_A), &k->a);
        jw_u64(j, "alpha", 1);
        lt_matrix_write(j, "b", id_of(p, &c[i], LT_B), &k->b);
        jw_u64(j, "beta", k->beta_one);
        jw_str(j, "bias", id_of(p, &c[i], LT_BIAS));
        lt_bias_type_write(j, k);
        lt_matrix_write(j, "c", id_of(p, &c[i], LT_C), &k->c);
        jw_str(j, "compute", lt_compute_names[k->compute]);
        lt_matrix_write(j, "d", id_of(p, &c[i], LT_D), &k->d);
        jw_str(j, "epilogue", lt_epilogue_names[k->epilogue]);
        jw_u64(j, "node", c[i].node);
        jw_str(j, "scale", dtype_names[k->scale]);
        for (int o = LT_SCALE_A; o <= LT_SCALE_B; o++)
            if (c[i].has[o])
                jw_str(j, lt_operand_names[o], id_of(p, &c[i], o));
        jw_bool(j, "trans_a", k->trans_a);
        jw_bool(j, "trans_b", k->trans_b);
        jw_u64(j, "workspace_bytes", k->workspace_bytes);
        jw_end(j);
    }
    jw_end(j);
}

/* --- Comparing. --- */

typedef struct {
    lt_differs say;
    void *ctx;
    uint64_t compared;
} comparison;

static void text_field(comparison *c, const char *name, const char *expected, const char *actual)
{
    c->compared++;
    if (strcmp(expected, actual))
        c->say(c->ctx, name, expected, actual);
}

static void number_field(comparison *c, const char *name, uint64_t expected, uint64_t actual)
{
    char e[24], a[24];
    snprintf(e, sizeof e, "%llu", (unsigned long long)expected);
    snprintf(a, sizeof a, "%llu", (unsigned long long)actual);
    text_field(c, name, e, a);
}

static const char *const truth[] = {"false", "true"};

static void matrix_fields(comparison *c, const char *which, const lt_matrix *e, const lt_matrix *a)
{
    char name[16];
    snprintf(name, sizeof name, "%s/type", which);
    text_field(c, name, dtype_names[e->type], dtype_names[a->type]);
    snprintf(name, sizeof name, "%s/rows", which);
    number_field(c, name, e->rows, a->rows);
    snprintf(name, sizeof name, "%s/cols", which);
    number_field(c, name, e->cols, a->cols);
    snprintf(name, sizeof name, "%s/ld", which);
    number_field(c, name, e->ld, a->ld);
    snprintf(name, sizeof name, "%s/order", which);
    text_field(c, name, lt_order_names[e->order], lt_order_names[a->order]);
    if (e->batch || a->batch) {
        snprintf(name, sizeof name, "%s/batch", which);
        number_field(c, name, e->batch, a->batch);
        snprintf(name, sizeof name, "%s/stride", which);
        number_field(c, name, e->stride, a->stride);
    }
    if (e->scaled || a->scaled) {
        snprintf(name, sizeof name, "%s/scaled", which);
        text_field(c, name, truth[e->scaled], truth[a->scaled]);
    }
}

uint64_t lt_call_compare(const lt_call *e, const lt_call *a, lt_differs say, void *ctx)
{
    comparison c = {.say = say, .ctx = ctx};
    matrix_fields(&c, "a", &e->a, &a->a);
    matrix_fields(&c, "b", &e->b, &a->b);
    matrix_fields(&c, "c", &e->c, &a->c);
    matrix_fields(&c, "d", &e->d, &a->d);
    text_field(&c, "trans_a", truth[e->trans_a], truth[a->trans_a]);
    text_field(&c, "trans_b", truth[e->trans_b], truth[a->trans_b]);
    text_field(&c, "compute", lt_compute_names[e->compute], lt_compute_names[a->compute]);
    text_field(&c, "scale", dtype_names[e->scale], dtype_names[a->scale]);
    text_field(&c, "epilogue", lt_epilogue_names[e->epilogue], lt_epilogue_names[a->epilogue]);
    if (lt_epilogue_has_bias(e->epilogue) && lt_epilogue_has_bias(a->epilogue))
        text_field(&c, "bias_type", dtype_names[e->bias_type], dtype_names[a->bias_type]);
    number_field(&c, "beta", e->beta_one, a->beta_one);
    number_field(&c, "workspace_bytes", e->workspace_bytes, a->workspace_bytes);
    return c.compared;
}

typedef struct {
    findings *fs;
    const char *file;
    uint64_t index;
} place;

static void mismatch(void *ctx, const char *field, const char *expected, const char *actual)
{
    const place *p = ctx;
    char where[64];
    snprintf(where, sizeof where, "/calls/%llu/%s", (unsigned long long)p->index, field);
    findings_add(p->fs, FIND_RESOLVE_MISMATCH, p->file, where, expected, actual,
                 "expected %s as resolved, found %s", expected, actual);
}

uint64_t calls_compare(findings *fs, const plan *p, const resolved_call *resolved, uint64_t n_resolved,
                       const recorded_call *recorded, uint64_t n_recorded, const char *file)
{
    uint64_t compared = 0;
    if (n_resolved != n_recorded)
        findings_add(fs, FIND_RESOLVE_MISMATCH, file, "/calls", NULL, NULL, "expected %llu calls, found %llu",
                     (unsigned long long)n_resolved, (unsigned long long)n_recorded);
    for (uint64_t i = 0; i < n_resolved && i < n_recorded; i++) {
        place at = {.fs = fs, .file = file, .index = i};
        comparison c = {.say = mismatch, .ctx = &at};
        number_field(&c, "node", resolved[i].node, recorded[i].node);
        for (int k = 0; k < LT_OPERANDS; k++) {
            char name[24];
            const char *want = id_of(p, &resolved[i], k), *have = recorded[i].buffer[k];
            if (k > LT_BIAS && !want && !have)
                continue;
            snprintf(name, sizeof name, k >= LT_BIAS ? "%s" : "%s/buffer", lt_operand_names[k]);
            text_field(&c, name, want ? want : "null", have ? have : "null");
        }
        compared += c.compared + lt_call_compare(&resolved[i].call, &recorded[i].call, mismatch, &at);
    }
    return compared;
}
