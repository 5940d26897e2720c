#include "artifacts/base/lt_json.h"

rp_code lt_matrix_read(rp_err *e, lt_matrix *out, js_node *o)
{
    int type, order;
    *out = (lt_matrix){0};
    if (js_enum(e, &type, o, "type", dtype_names) || js_u64(e, &out->rows, o, "rows") ||
        js_u64(e, &out->cols, o, "cols") || js_u64(e, &out->ld, o, "ld") ||
        js_enum(e, &order, o, "order", lt_order_names))
        return e->code;
    out->type = (dtype)type;
    out->order = (lt_order)order;
    if (out->order != LTO_COL && out->order != LTO_ROW)
        return js_fail(e, js_find(o, "order"), FIND_JSON_VALUE, "expected \"col\" or \"row\", found \"%s\"",
                       lt_order_names[order]);
    if (js_find(o, "batch")) {
        if (js_u64(e, &out->batch, o, "batch") || js_u64(e, &out->stride, o, "stride"))
            return e->code;
        if (out->batch < 2)
            return js_fail(e, js_find(o, "batch"), FIND_JSON_VALUE,
                           "expected a batch of at least 2, found %llu", (unsigned long long)out->batch);
    }
    return js_find(o, "scaled") ? js_bool(e, &out->scaled, o, "scaled") : RP_OK;
}

static rp_code read_matrix(rp_err *e, lt_matrix *out, js_node *o, const char *key)
{
    js_node *m;
    return js_obj(e, &m, o, key) ? e->code : lt_matrix_read(e, out, m);
}

rp_code lt_call_read(rp_err *e, lt_call *out, js_node *o)
{
    int compute, scale, epilogue, bias_type;
    if (read_matrix(e, &out->a, o, "a") || read_matrix(e, &out->b, o, "b") ||
        read_matrix(e, &out->c, o, "c") || read_matrix(e, &out->d, o, "d") ||
        js_bool(e, &out->trans_a, o, "trans_a") || js_bool(e, &out->trans_b, o, "trans_b") ||
        js_enum(e, &compute, o, "compute", lt_compute_names) || js_enum(e, &scale, o, "scale", dtype_names) ||
        js_enum(e, &epilogue, o, "epilogue", lt_epilogue_names) ||
        js_u64(e, &out->workspace_bytes, o, "workspace_bytes"))
        return e->code;
    out->compute = (lt_compute)compute;
    out->scale = (dtype)scale;
    out->epilogue = (lt_epilogue)epilogue;
    out->bias_type = out->d.type;
    if (js_find(o, "bias_type")) {
        if (js_enum(e, &bias_type, o, "bias_type", dtype_names))
            return e->code;
        out->bias_type = (dtype)bias_type;
    }
    if (lt_epilogue_has_aux(out->epilogue))
        return js_fail(e, js_find(o, "epilogue"), FIND_JSON_VALUE,
                       "expected an epilogue without an auxiliary matrix or a gradient, found \"%s\"",
                       lt_epilogue_names[epilogue]);
    out->m = out->d.rows;
    out->n = out->d.cols;
    out->k = out->trans_a ? out->a.rows : out->a.cols;
    return RP_OK;
}

void lt_matrix_write(jw *j, const char *key, const char *buffer, const lt_matrix *m)
{
    jw_obj(j, key);
    if (m->batch)
        jw_u64(j, "batch", m->batch);
    if (buffer)
        jw_str(j, "buffer", buffer);
    jw_u64(j, "cols", m->cols);
    jw_u64(j, "ld", m->ld);
    jw_str(j, "order", lt_order_names[m->order]);
    jw_u64(j, "rows", m->rows);
    if (m->scaled)
        jw_bool(j, "scaled", true);
    if (m->batch)
        jw_u64(j, "stride", m->stride);
    jw_str(j, "type", dtype_names[m->type]);
    jw_end(j);
}

void lt_bias_type_write(jw *j, const lt_call *c)
{
    if (lt_epilogue_has_bias(c->epilogue) && c->bias_type != c->d.type)
        jw_str(j, "bias_type", dtype_names[c->bias_type]);
}
