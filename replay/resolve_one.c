#include "artifacts/base/ck.h"
#include "artifacts/base/text.h"
#include "replay/resolve_ask.h"

static const char *const op_names[] = {"N", "T", "C"};
static const char *const kind_names[] = {"library", "ours", "note"};

static const char *version_of(scratch *sc, const lt_query *q)
{
    unsigned v = q->version;
    const char *lib = q->dialect == LTD_HIPBLASLT ? "hipBLASLt" : "cuBLASLt";
    const char *s = !v ? scratch_printf(sc, "%s of any version", lib)
                       : scratch_printf(sc, "%s %u.%u%s", lib, v / 10000, v / 100 % 100,
                                        q->version_loose ? "" : scratch_printf(sc, ".%u", v % 100));
    return s ? s : "";
}

static const char *device_of(scratch *sc, const lt_query *q)
{
    const char *s = q->gfx  ? scratch_printf(sc, "gfx%u", q->gfx)
                    : q->sm ? scratch_printf(sc, "sm_%u", q->sm)
                            : "a device that is not known";
    return s ? s : "";
}

static void operand_row(text_table *t, scratch *sc, const lt_query *q, int which)
{
    const lt_operand *m = &q->mat[which];
    uint64_t span_elements, bytes;
    bool fits = lt_span(m, &span_elements) && ck_mul_u64(span_elements, dtype_bytes(m->type), &bytes);
    text_cell(t, "%s", lt_mat_names[which]);
    text_cell(t, "%s", lt_type_name(m->type));
    text_cell(t, "%llu", (unsigned long long)m->rows);
    text_cell(t, "%llu", (unsigned long long)m->cols);
    text_cell(t, "%llu", (unsigned long long)m->ld);
    text_cell(t, "%s", lt_order_names[m->order]);
    text_cell(t, "%s", which < LTM_C ? op_names[q->op[which]] : "");
    text_cell(t, "%llu", (unsigned long long)m->batch);
    if (m->batch == 1)
        text_cell(t, "-");
    else
        text_cell(t, "%lld", (long long)m->stride);
    text_cell(t, "%s", fits ? text_count(sc, span_elements) : "too many");
    text_cell(t, "%s", fits ? text_count(sc, bytes) : "too many");
    text_cell(t, "%s", m->align_bytes ? text_count(sc, m->align_bytes) : "?");
    text_cell(t, "%llu", (unsigned long long)(m->promise_bytes ? m->promise_bytes : 256));
    text_cell(t, "%s",
              which == LTM_D                   ? "written"
              : which == LTM_C && q->c_null    ? "null"
              : which == LTM_C && q->beta == 0 ? "not read"
                                               : "read");
}

static void hit_print(const lt_hit *h, scratch *sc, const char *head, FILE *f)
{
    const char *remedy = lt_hit_remedy(sc, h), *where = lt_rule_where(sc, h->rule);
    fprintf(f, "  %s %s: %s\n", head, h->rule->id, lt_hit_text(sc, h));
    if (h->may_hold)
        fprintf(f, "      holds on %s; where this call runs is not known\n", where);
    if (remedy)
        fprintf(f, "      remedy: %s\n", remedy);
    fprintf(f, "      source: %s\n", h->rule->source);
}

void lt_answer_print(const lt_query *q, const lt_answer *a, int known, scratch *sc, FILE *f)
{
    static const char *const head[] = {"",      "type",   "rows", "cols",  "ld",      "order",    "op",
                                       "batch", "stride", "span", "bytes", "aligned", "promised", "use"};
    text_table *t = text_table_new(sc, "llrrrllrrrrrrl");
    fprintf(f, "m=%llu n=%llu k=%llu on %s with %s\n\n", (unsigned long long)q->m, (unsigned long long)q->n,
            (unsigned long long)q->k, device_of(sc, q), version_of(sc, q));
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (int i = 0; i < LTM_COUNT; i++)
        operand_row(t, sc, q, i);
    text_table_print(t, f, "  ");
    fprintf(f, "\n  compute %s, scale %s, alpha %g, beta %g, epilogue %s; workspace up to %s bytes\n",
            lt_compute_names[q->compute], lt_type_name(q->scale), q->alpha, q->beta,
            lt_epilogue_names[q->epilogue], text_count(sc, q->workspace_bytes));
    if (q->scale_mode[0] || q->scale_mode[1])
        fprintf(f, "  scale modes: a %s, b %s\n", lt_scale_mode_names[q->scale_mode[0]],
                lt_scale_mode_names[q->scale_mode[1]]);
    if (lt_epilogue_has_bias(q->epilogue))
        fprintf(f,
                "  bias: %s elements of %s along the rows of d: element i is added to d[i, j], after alpha "
                "and beta\n",
                text_count(sc, q->bias_len == UINT64_MAX ? q->m : q->bias_len), lt_type_name(lt_bias_of(q)));
    fputc('\n', f);
    lt_verdict_print(a, known, sc, f);
}

void lt_verdict_print(const lt_answer *a, int known, scratch *sc, FILE *f)
{
    if (lt_deciding(a) && a->status)
        fprintf(f, "verdict: %s by %s; the library answers status %d (%s)\n", lt_verdict_names[a->verdict],
                lt_deciding(a)->rule->id, a->status, a->status == 7 ? "INVALID_VALUE" : "NOT_SUPPORTED");
    else if (lt_deciding(a))
        fprintf(f, "verdict: %s by %s; the library's heuristic does not see it\n",
                lt_verdict_names[a->verdict], lt_deciding(a)->rule->id);
    else
        fprintf(f, "verdict: %s\n", lt_verdict_names[a->verdict]);
    if (known >= 0)
        fprintf(f, "  the library was asked this at this place: status %d\n", known);
    for (size_t i = 0; i < a->n_hits; i++)
        hit_print(&a->hits[i], sc,
                  &a->hits[i] == lt_deciding(a)                              ? "rule"
                  : a->hits[i].rule->kind == LTR_NOTE || a->hits[i].may_hold ? "note"
                                                                             : "also",
                  f);
}

static void operand_json(jw *j, const lt_query *q, int which)
{
    const lt_operand *m = &q->mat[which];
    uint64_t elements;
    jw_obj(j, lt_mat_names[which]);
    jw_str(j, "type", lt_type_name(m->type));
    jw_str(j, "order", lt_order_names[m->order]);
    jw_u64(j, "rows", m->rows);
    jw_u64(j, "cols", m->cols);
    jw_u64(j, "ld", m->ld);
    jw_u64(j, "batch", m->batch);
    jw_fmt(j, "stride", "%lld", (long long)m->stride);
    if (lt_span(m, &elements))
        jw_fmt(j, "span_elements", "%llu", (unsigned long long)elements);
    else
        jw_null(j, "span_elements");
    if (which < LTM_C)
        jw_str(j, "op", op_names[q->op[which]]);
    jw_end(j);
}

static void answer_json(jw *j, scratch *sc, const lt_query *q, const lt_answer *a, int known)
{
    jw_obj(j, "call");
    jw_u64(j, "m", q->m);
    jw_u64(j, "n", q->n);
    jw_u64(j, "k", q->k);
    for (int i = 0; i < LTM_COUNT; i++)
        operand_json(j, q, i);
    jw_str(j, "compute", lt_compute_names[q->compute]);
    jw_str(j, "scale", lt_type_name(q->scale));
    jw_str(j, "epilogue", lt_epilogue_names[q->epilogue]);
    jw_u64(j, "workspace_bytes", q->workspace_bytes);
    jw_str(j, "device", device_of(sc, q));
    jw_str(j, "library", version_of(sc, q));
    jw_end(j);
    jw_str(j, "verdict", lt_verdict_names[a->verdict]);
    jw_i64(j, "status", a->status);
    if (known >= 0)
        jw_i64(j, "recorded_status", known);
    jw_str(j, "rule", lt_deciding(a) ? lt_deciding(a)->rule->id : NULL);
    jw_arr(j, "rules");
    for (size_t i = 0; i < a->n_hits; i++) {
        const lt_hit *h = &a->hits[i];
        jw_obj(j, NULL);
        jw_str(j, "id", h->rule->id);
        jw_str(j, "kind", kind_names[h->rule->kind]);
        jw_str(j, "holds_on", lt_rule_where(sc, h->rule));
        jw_bool(j, "may_hold", h->may_hold);
        jw_str(j, "message", lt_hit_text(sc, h));
        jw_str(j, "remedy", lt_hit_remedy(sc, h));
        jw_str(j, "source", h->rule->source);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code one(rp_err *e, int *code, scratch *sc, const resolve_ask *ask)
{
    lt_query q;
    lt_answer a;
    knowledge *k = NULL;
    int known;
    unsigned sm = ask->sm ? ask->sm : 90, version = ask->version ? ask->version : 130100;
    if (lt_query_text(e, &q, ask->call) ||
        (ask->knowledge && knowledge_read(e, &k, sc, ask->knowledge, sm, version)))
        return e->code;
    q.sm = q.sm ? q.sm : ask->sm;
    if (!q.version) {
        q.version = ask->version;
        q.version_loose = ask->version_loose;
    }
    knowledge_decide(&a, &known, k, &q);
    *code = a.verdict == LTV_REFUSE ? EXIT_REJECTED : EXIT_PASSED;
    if (!ask->json) {
        lt_answer_print(&q, &a, known, sc, stdout);
        *code = cli_finish(*code);
        return RP_OK;
    }
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-answer/0");
    answer_json(j, sc, &q, &a, known);
    jw_i64(j, "exit", *code);
    jw_end(j);
    *code = cli_print_json(j, *code);
    return RP_OK;
}

int resolve_one(const resolve_ask *ask)
{
    rp_err e = {0};
    int code = EXIT_BUG;
    scratch *sc = scratch_new(0);
    if (!sc)
        err_nomem(&e);
    if (e.code || one(&e, &code, sc, ask))
        code = cli_error("resolve", &e, ask->json);
    scratch_free(sc);
    return code;
}

int resolve_rules(const resolve_ask *ask)
{
    scratch *sc = scratch_new(0);
    (void)ask;
    if (!sc)
        return EXIT_BUG;
    puts("| rule | answer | where | what it asks, or when it speaks | source |\n|---|---|---|---|---|");
    for (size_t i = 0; i < lt_rules_count; i++) {
        const lt_rule *r = &lt_rules[i];
        const char *answer = r->kind == LTR_NOTE   ? "note"
                             : r->kind == LTR_OURS ? "refuse"
                             : r->status == 7      ? "refuse, 7"
                                                   : "refuse, 15";
        printf("| `%s` | %s | %s | %s | %s |\n", r->id, answer, lt_rule_where(sc, r), r->says, r->source);
    }
    scratch_free(sc);
    return cli_finish(EXIT_PASSED);
}
