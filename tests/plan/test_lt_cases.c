/* The cases people reported, as tests/data/lt-calls.json has them: what a resolver must say about each. */
#include "artifacts/base/json.h"
#include "plan/lt_rules.h"
#include "tests/support.h"
#include <criterion/criterion.h>

/* A member of the case, or what it assumes where the report does not say; NULL when neither does. */
static js_node *said(js_node *c, const char *key)
{
    js_node *v = js_find(c, key), *more;
    if (v && js_kind(v) != JS_NULL)
        return v;
    more = js_find(c, "assumed");
    v = more ? js_find(more, key) : NULL;
    return v && js_kind(v) != JS_NULL ? v : NULL;
}

static const char *text_of(js_node *c, const char *key)
{
    js_node *v = said(c, key);
    return v ? js_scalar_text(v) : NULL;
}

static const char *lettered(scratch *sc, const char *stem, int i)
{
    return scratch_printf(sc, "%s%s", stem, lt_mat_names[i]);
}

/* "part=…," where the text is there. */
static const char *part(scratch *sc, const char *key, const char *value)
{
    return value ? scratch_printf(sc, ",%s=%s", key, value) : "";
}

static const char *inside(js_node *c, const char *key, const char *member)
{
    js_node *o = js_find(c, key), *more = js_find(c, "assumed");
    js_node *v = o && js_kind(o) == JS_OBJECT ? js_find(o, member) : NULL;
    if ((!v || js_kind(v) == JS_NULL) && more && (o = js_find(more, key)) && js_kind(o) == JS_OBJECT)
        v = js_find(o, member);
    return v && js_kind(v) != JS_NULL ? js_scalar_text(v) : NULL;
}

static const char *batch_of(js_node *c, int i)
{
    js_node *v = js_find(c, "batch");
    return v && js_kind(v) == JS_OBJECT ? inside(c, "batch", lt_mat_names[i])
           : v && js_kind(v) != JS_NULL ? js_scalar_text(v)
                                        : NULL;
}

static const char *operand(scratch *sc, js_node *c, int i)
{
    const char *type = text_of(c, lettered(sc, "type_", i)),
               *op = i < LTM_C ? text_of(c, lettered(sc, "trans_", i)) : NULL;
    js_node *null = js_find(c, "c_null");
    bool is_null = i == LTM_C && null && js_kind(null) == JS_BOOL && !strcmp(js_scalar_text(null), "true");
    const char *order = text_of(c, lettered(sc, "order_", i));
    return scratch_printf(sc, " %s=%s%s%s%s%s%s%s%s%s%s%s", lt_mat_names[i], order ? order : "col",
                          type         ? ","
                          : i == LTM_A ? ",f32"
                                       : "",
                          type ? type : "", op ? "," : "", op ? op : "", is_null ? ",null" : "",
                          part(sc, "ld", text_of(c, lettered(sc, "ld", i))),
                          part(sc, "batch", batch_of(c, i)),
                          part(sc, "stride", inside(c, "strides", lt_mat_names[i])),
                          part(sc, "align", inside(c, "align", lt_mat_names[i])),
                          part(sc, "holds", inside(c, "buffer_types", lt_mat_names[i])));
}

/* "sm_89" as sm=89, "gfx950" as gfx=950; the data-centre Blackwell as 100; several or none: not known. */
static const char *device(scratch *sc, const char *s)
{
    if (!s)
        return "";
    if (!strncmp(s, "Blackwell", 9))
        return " sm=100";
    if (strchr(s, '/'))
        return "";
    return !strncmp(s, "sm_", 3)   ? scratch_printf(sc, " sm=%s", s + 3)
           : !strncmp(s, "gfx", 3) ? scratch_printf(sc, " gfx=%s", s + 3)
                                   : "";
}

static const char *library(scratch *sc, const char *s)
{
    const char *number = s ? strpbrk(s, "0123456789") : NULL;
    if (s && !strncmp(s, "hip", 3))
        return " dialect=hipblaslt";
    if (!number || strstr(s, "2025"))
        return "";
    char *v = scratch_strndup(sc, number, strspn(number, "0123456789."));
    if (v[strlen(v) - 1] == '.')
        v[strlen(v) - 1] = 0;
    return scratch_printf(sc, " lib=%s", v);
}

static const char *word(scratch *sc, js_node *c, const char *key, const char *member)
{
    const char *v = text_of(c, member);
    return v ? scratch_printf(sc, " %s=%s", key, v) : "";
}

static const char *call_text(scratch *sc, js_node *c, bool h200)
{
    const char *promise_b = inside(c, "pref_min_align", "b"), *bias = text_of(c, "bias_len"),
               *ws = inside(c, "align", "workspace");
    const char *mode = text_of(c, "scale_mode");
    const char *s = "";
    for (int i = 0; i < LTM_COUNT; i++)
        s = scratch_printf(sc, "%s%s", s, operand(sc, c, i));
    s = scratch_printf(sc, "m=%s n=%s k=%s%s%s%s%s%s%s%s", text_of(c, "m"), text_of(c, "n"), text_of(c, "k"),
                       s, word(sc, c, "compute", "compute"), word(sc, c, "scale", "scale"),
                       word(sc, c, "epilogue", "epilogue"), word(sc, c, "alpha", "alpha"),
                       word(sc, c, "beta", "beta"), word(sc, c, "workspace", "workspace_bytes"));
    s = scratch_printf(sc, "%s%s%s", s, promise_b ? scratch_printf(sc, " promise_b=%s", promise_b) : "",
                       bias ? scratch_printf(sc, " bias=len=%s", bias) : "");
    if (ws)
        s = scratch_printf(sc, "%s workspace_align=%s", s, ws);
    if (mode)
        s = scratch_printf(sc, "%s scale_a=%s scale_b=%s", s, mode, mode);
    return h200 ? scratch_printf(sc, "%s sm=90 lib=13.1.0", s)
                : scratch_printf(sc, "%s%s%s", s, device(sc, text_of(c, "device")),
                                 library(sc, text_of(c, "library")));
}

/* The rule that the case is about. */
static const struct {
    const char *id, *rule;
} about[] = {{"A02a", "align.pointer"},
             {"A05", "fp8.tn"},
             {"A07", "fp8.ld_d"},
             {"A08", "batch.count"},
             {"A10", "fp8.ld_a"},
             {"A11a", "mode.outer_vec"},
             {"A13a", "types.cd"},
             {"A13b", "extent.type"},
             {"A14a", "bias.row_d"},
             {"A14b", "bias.row_d"},
             {"A22a", "ld.a"},
             {"A23", "op.conjugate"},
             {"A26a", "batch.count"},
             {"A26c", "batch.d_overlap"},
             {"A28a", "types.i8_output"},
             {"A29", "types.family"},
             {"A31", "align.workspace"},
             {"A32", "ld.one_column"},
             {"A37", "ld.b"},
             {"A40", "i8.layout"},
             {"A41b", "c.null"}};
/* Notes that must be among what is said. */
static const struct {
    const char *id, *rule;
} noted[] = {{"A04", "note.i8_device"}, {"A16", "note.bias_square"}, {"A17", "note.bias_alpha"},
             {"A19a", "note.span_2g"},  {"A20", "note.hip_2g"},      {"A25", "note.aspect"},
             {"A35", "note.tall"},      {"A38a", "note.hip_tile"}};

static bool has(const lt_answer *a, const char *rule)
{
    for (size_t i = 0; i < a->n_hits; i++)
        if (!strcmp(a->hits[i].rule->id, rule))
            return true;
    return false;
}

static js_node *cases(scratch *sc)
{
    rp_err e = {0};
    js_node *root;
    cr_assert_eq(js_parse(&e, &root, sc, "lt-calls.json", t_slurp(sc, "tests/data/lt-calls.json")), RP_OK,
                 "%s", e.msg);
    return root;
}

Test(lt_cases, stated_answers)
{
    scratch *sc = scratch_new(0);
    js_node *root = cases(sc);
    cr_assert_eq(js_len(root), 40);
    for (size_t i = 0; i < js_len(root); i++) {
        js_node *c = js_at(root, i);
        rp_err e = {0};
        lt_query q;
        lt_answer a;
        const char *id = text_of(c, "id"), *text = call_text(sc, c, false);
        bool refuse = !strcmp(text_of(c, "expected"), "refuse");
        cr_assert_eq(lt_query_text(&e, &q, text), RP_OK, "%s: %s: %s", id, text, e.msg);
        lt_decide(&a, &q);
        cr_expect_eq(a.verdict == LTV_REFUSE, refuse, "%s: %s: %s", id, text,
                     lt_deciding(&a) ? lt_deciding(&a)->rule->id : "no rule");
        for (size_t k = 0; k < sizeof about / sizeof *about; k++)
            if (!strcmp(about[k].id, id))
                cr_expect(has(&a, about[k].rule), "%s: expected %s, decided by %s", id, about[k].rule,
                          lt_deciding(&a) ? lt_deciding(&a)->rule->id : "no rule");
        for (size_t k = 0; k < sizeof noted / sizeof *noted; k++)
            if (!strcmp(noted[k].id, id))
                cr_expect(has(&a, noted[k].rule) && a.verdict == LTV_OK_NOTE, "%s: expected the note %s", id,
                          noted[k].rule);
        for (size_t k = 0; k < a.n_hits; k++)
            cr_expect(!strchr(lt_hit_text(sc, &a.hits[k]), '{'));
        /* The spans of calls whose batches differ are those of one matrix. */
        if (said(c, "span_elems") && !has(&a, "batch.count")) {
            for (int m = 0; m < LTM_COUNT; m++) {
                const char *want = inside(c, "span_elems", lt_mat_names[m]);
                uint64_t span_elements;
                if (want && lt_span(&q.mat[m], &span_elements))
                    cr_expect_str_eq(scratch_printf(sc, "%llu", (unsigned long long)span_elements), want,
                                     "%s: span of %s", id, lt_mat_names[m]);
            }
        }
    }
    scratch_free(sc);
}

/* What the library itself answered on the H200, where it could be asked. */
Test(lt_cases, statuses_of_the_library)
{
    scratch *sc = scratch_new(0);
    js_node *root = cases(sc);
    size_t asked = 0;
    for (size_t i = 0; i < js_len(root); i++) {
        js_node *c = js_at(root, i);
        rp_err e = {0};
        lt_query q;
        lt_answer a;
        const char *want = text_of(c, "h200_cublaslt_13_1_heuristic_status");
        if (!want)
            continue;
        cr_assert_eq(lt_query_text(&e, &q, call_text(sc, c, true)), RP_OK, "%s", e.msg);
        lt_decide(&a, &q);
        cr_expect_str_eq(scratch_printf(sc, "%d", a.status), want, "%s: %s", text_of(c, "id"),
                         lt_deciding(&a) ? lt_deciding(&a)->rule->id : "no rule");
        asked++;
    }
    cr_expect_geq(asked, 35);
    scratch_free(sc);
}
