#include "artifacts/base/text.h"
#include "replay/resolve_ask.h"
#include "replay/text_file.h"

static const int statuses[] = {0, 7, 15};

static int slot(int status)
{
    return status == 0 ? 0 : status == 7 ? 1 : 2;
}

static bool has_note(const lt_answer *a)
{
    for (size_t i = 0; i < a->n_hits; i++)
        if (a->hits[i].rule->kind == LTR_NOTE)
            return true;
    return false;
}

rp_code lt_agreement_of(rp_err *e, lt_agreement *out, scratch *sc, lt_csv *csv, const knowledge *k,
                        lt_differing differ, void *ctx)
{
    lt_csv_row row;
    lt_answer a;
    bool end;
    int known;
    *out = (lt_agreement){0};
    for (int i = 0; i < 2; i++)
        if (!(out->by_rule[i] = scratch_array(sc, lt_rules_count + 1, sizeof *out->by_rule[i])))
            return err_nomem(e);
    for (;;) {
        if (lt_csv_next(e, csv, &row, &end) || end)
            return e->code;
        if (row.status < 0)
            continue;
        knowledge_decide(&a, &known, k, &row.q);
        const lt_rule *by = a.status && lt_deciding(&a) ? lt_deciding(&a)->rule : NULL;
        bool table = by >= lt_rules && by < lt_rules + lt_rules_count;
        size_t rule = table ? (size_t)(by - lt_rules) : lt_rules_count;
        bool agree = a.status == row.status;
        out->rows++;
        out->agree += agree;
        out->seen[slot(a.status)][slot(row.status)]++;
        out->by_rule[0][rule]++;
        out->by_rule[1][rule] += agree;
        out->noted += !agree && has_note(&a);
        if (!agree && differ)
            differ(ctx, &row, &a);
    }
}

static const char *percent(scratch *sc, uint64_t part, uint64_t all)
{
    const char *s = scratch_printf(sc, "%.3f %%", all ? 100.0 * (double)part / (double)all : 100.0);
    return s ? s : "";
}

void lt_agreement_print(const lt_agreement *a, scratch *sc, FILE *f)
{
    fprintf(f, "%s rows, %s agree: %s; %s differ, %s of them with a note that says so\n\n",
            text_count(sc, a->rows), text_count(sc, a->agree), percent(sc, a->agree, a->rows),
            text_count(sc, a->rows - a->agree), text_count(sc, a->noted));
    text_table *t = text_table_new(sc, "lrrrr");
    static const char *const head[] = {"by status", "library: 0", "7", "15", "agree"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (int i = 0; i < 3; i++) {
        const uint64_t *s = a->seen[i];
        text_cell(t, "answered %d", statuses[i]);
        for (int j = 0; j < 3; j++)
            text_cell(t, "%llu", (unsigned long long)s[j]);
        text_cell(t, "%s", percent(sc, s[i], s[0] + s[1] + s[2]));
    }
    text_table_print(t, f, "  ");
    fputc('\n', f);
    t = text_table_new(sc, "lrrrr");
    static const char *const head2[] = {"by rule", "status", "rows", "agree", "share"};
    for (size_t i = 0; i < sizeof head2 / sizeof *head2; i++)
        text_cell(t, "%s", head2[i]);
    for (size_t i = 0; i <= lt_rules_count; i++) {
        if (!a->by_rule[0][i])
            continue;
        text_cell(t, "%s", i < lt_rules_count ? lt_rules[i].id : "(none)");
        text_cell(t, "%d", i < lt_rules_count ? lt_rules[i].status : 0);
        text_cell(t, "%llu", (unsigned long long)a->by_rule[0][i]);
        text_cell(t, "%llu", (unsigned long long)a->by_rule[1][i]);
        text_cell(t, "%s", percent(sc, a->by_rule[1][i], a->by_rule[0][i]));
    }
    text_table_print(t, f, "  ");
}

/* Rows that differ, told in order. */
typedef struct {
    scratch *sc;
    jw *j;
    bool begun;
} telling;

static void tell(void *ctx, const lt_csv_row *row, const lt_answer *a)
{
    telling *t = ctx;
    const char *why = a->status && lt_deciding(a) ? lt_deciding(a)->rule->id : "";
    const char *note = "";
    for (size_t i = 0; i < a->n_hits && !*note; i++)
        if (a->hits[i].rule->kind == LTR_NOTE && strcmp(a->hits[i].rule->id, "note.odd_pitch") &&
            strcmp(a->hits[i].rule->id, "note.empty"))
            note = a->hits[i].rule->id;
    if (t->j) {
        jw_obj(t->j, NULL);
        jw_u64(t->j, "line", row->line);
        jw_i64(t->j, "answered", a->status);
        jw_i64(t->j, "library", row->status);
        jw_str(t->j, "rule", why);
        jw_str(t->j, "note", note);
        jw_strn(t->j, "row", row->text);
        jw_end(t->j);
        return;
    }
    if (!t->begun)
        puts("\nrows that differ:");
    t->begun = true;
    printf("  line %llu: answered %d %s%s%s, library %d: ", (unsigned long long)row->line, a->status, why,
           *why && *note ? " " : "", note, row->status);
    text_print_safe(stdout, row->text);
    putchar('\n');
}

static void agreement_json(jw *j, const lt_agreement *a)
{
    jw_u64(j, "rows", a->rows);
    jw_u64(j, "agree", a->agree);
    jw_u64(j, "differ_noted", a->noted);
    jw_arr(j, "by_status");
    for (int i = 0; i < 3; i++) {
        jw_obj(j, NULL);
        jw_i64(j, "answered", statuses[i]);
        jw_u64s(j, "library_0_7_15", a->seen[i], 3);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "by_rule");
    for (size_t i = 0; i <= lt_rules_count; i++) {
        if (!a->by_rule[0][i])
            continue;
        jw_obj(j, NULL);
        jw_str(j, "rule", i < lt_rules_count ? lt_rules[i].id : "");
        jw_u64(j, "rows", a->by_rule[0][i]);
        jw_u64(j, "agree", a->by_rule[1][i]);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code against(rp_err *e, int *code, scratch *sc, const resolve_ask *ask)
{
    knowledge *k = NULL;
    lt_agreement a, again;
    lt_csv csv;
    span text;
    unsigned sm = ask->sm ? ask->sm : 90, version = ask->version ? ask->version : 130100;
    if ((ask->knowledge && knowledge_read(e, &k, sc, ask->knowledge, sm, version)) ||
        text_file_read(e, &text, sc, ask->against, LT_CSV_MAX_BYTES) ||
        lt_csv_open(e, &csv, ask->against, text, sm, version))
        return e->code;
    lt_csv first = csv;
    if (lt_agreement_of(e, &a, sc, &csv, k, NULL, NULL))
        return e->code;
    telling t = {.sc = sc};
    *code = a.agree == a.rows ? EXIT_PASSED : EXIT_REJECTED;
    if (ask->json) {
        t.j = jw_new(JW_PRETTY);
        jw_obj(t.j, NULL);
        jw_str(t.j, "format", "replay-agreement/0");
        agreement_json(t.j, &a);
        jw_arr(t.j, "differ");
    } else {
        lt_agreement_print(&a, sc, stdout);
    }
    if (lt_agreement_of(e, &again, sc, &first, k, tell, &t)) {
        jw_free(t.j);
        return e->code;
    }
    if (t.j) {
        jw_end(t.j);
        jw_i64(t.j, "exit", *code);
        jw_end(t.j);
        *code = cli_print_json(t.j, *code);
        return RP_OK;
    }
    *code = cli_finish(*code);
    return RP_OK;
}

int resolve_against(const resolve_ask *ask)
{
    rp_err e = {0};
    int code = EXIT_BUG;
    scratch *sc = scratch_new(0);
    if (!sc)
        err_nomem(&e);
    if (e.code || against(&e, &code, sc, ask))
        code = cli_error("resolve", &e, ask->json);
    scratch_free(sc);
    return code;
}
