#include "plan/lt_call.h"

void lt_query_of_call(lt_query *q, const lt_call *c)
{
    const lt_matrix *m[LTM_COUNT] = {&c->a, &c->b, &c->c, &c->d};
    lt_query_init(q);
    q->m = c->m;
    q->n = c->n;
    q->k = c->k;
    for (int i = 0; i < LTM_COUNT; i++) {
        lt_operand *o = &q->mat[i];
        o->type = m[i]->type;
        o->order = m[i]->order;
        o->rows = m[i]->rows;
        o->cols = m[i]->cols;
        o->ld = m[i]->ld;
        o->type_said = o->shape_said = o->ld_said = true;
        if (m[i]->batch) {
            o->batch = m[i]->batch;
            o->stride = m[i]->stride <= INT64_MAX ? (int64_t)m[i]->stride : INT64_MAX;
        }
    }
    q->op[0] = c->trans_a ? LTP_T : LTP_N;
    q->op[1] = c->trans_b ? LTP_T : LTP_N;
    q->compute = c->compute;
    q->scale = c->scale;
    q->compute_said = q->scale_said = true;
    q->epilogue = c->epilogue;
    q->beta = c->beta_one;
    if (lt_epilogue_has_bias(c->epilogue))
        q->bias_type = c->bias_type;
    q->workspace_bytes = c->workspace_bytes;
    lt_query_default(q);
}

const char *lt_call_of_query(lt_call *out, const lt_query *q)
{
    lt_call c = {.m = q->m,
                 .n = q->n,
                 .k = q->k,
                 .trans_a = q->op[0] == LTP_T,
                 .trans_b = q->op[1] == LTP_T,
                 .compute = q->compute,
                 .scale = q->scale,
                 .epilogue = q->epilogue,
                 .bias_type = q->mat[LTM_D].type,
                 .beta_one = q->beta == 1,
                 .workspace_bytes = q->workspace_bytes};
    lt_matrix *m[LTM_COUNT] = {&c.a, &c.b, &c.c, &c.d};
    if (q->op[0] == LTP_C || q->op[1] == LTP_C)
        return "a conjugate transpose";
    if (lt_epilogue_has_aux(q->epilogue))
        return "an epilogue with an auxiliary matrix or a gradient";
    if (q->alpha != 1 || (q->beta != 0 && q->beta != 1))
        return "alpha other than 1, or beta other than 0 and 1";
    if (q->scale_mode[0] != LTS_SCALAR || q->scale_mode[1] != LTS_SCALAR)
        return "a scale mode other than one value for the whole operand";
    for (int i = 0; i < LTM_COUNT; i++) {
        const lt_operand *o = &q->mat[i];
        if (o->order != LTO_COL && o->order != LTO_ROW)
            return "a tiled order";
        if (!o->batch || (o->batch > 1 && o->stride < 0))
            return "a batch of none, or a negative stride";
        *m[i] =
            (lt_matrix){.type = o->type, .order = o->order, .rows = o->rows, .cols = o->cols, .ld = o->ld};
        if (o->batch > 1) {
            m[i]->batch = o->batch;
            m[i]->stride = (uint64_t)o->stride;
        }
    }
    if (lt_epilogue_has_bias(c.epilogue))
        c.bias_type = lt_bias_of(q);
    *out = c;
    return NULL;
}
