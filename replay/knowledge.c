#include "replay/knowledge.h"
#include "replay/text_file.h"
#include <stdio.h>

typedef struct {
    lt_query q;
    int status;
} entry;

struct knowledge {
    entry *v;
    size_t cap; /* a power of two, at least twice the rows */
};

static bool same_place(const lt_query *a, const lt_query *b)
{
    return a->sm == b->sm && a->version / 100 == b->version / 100;
}

/* The entry of this call, or the free one where it belongs. */
static entry *place_of(const knowledge *k, const lt_query *q)
{
    for (size_t i = lt_query_hash(q) & (k->cap - 1);; i = (i + 1) & (k->cap - 1)) {
        entry *at = &k->v[i];
        if (at->status < 0 || (same_place(&at->q, q) && lt_query_same(&at->q, q)))
            return at;
    }
}

/* An entry holds status -1 while it is free. */
static knowledge *with_room(scratch *sc, size_t rows)
{
    knowledge *k = scratch_alloc(sc, sizeof *k);
    if (!k)
        return NULL;
    for (k->cap = 64; k->cap < 2 * rows; k->cap *= 2)
        ;
    k->v = scratch_array(sc, k->cap, sizeof *k->v);
    for (size_t i = 0; k->v && i < k->cap; i++)
        k->v[i].status = -1;
    return k->v ? k : NULL;
}

rp_code knowledge_read(rp_err *e, knowledge **out, scratch *sc, const char *path, unsigned sm,
                       unsigned version)
{
    lt_csv csv;
    lt_csv_row row;
    span text;
    bool end;
    size_t rows = 0;
    if (text_file_read(e, &text, sc, path, LT_CSV_MAX_BYTES) || lt_csv_open(e, &csv, path, text, sm, version))
        return e->code;
    for (size_t i = 0; i < text.n; i++)
        rows += text.p[i] == '\n';
    knowledge *k = with_room(sc, rows + 1);
    if (!k)
        return err_nomem(e);
    for (;;) {
        if (lt_csv_next(e, &csv, &row, &end))
            return e->code;
        if (end)
            break;
        if (row.status < 0)
            continue;
        entry *at = place_of(k, &row.q);
        if (at->status >= 0 && at->status != row.status) {
            err_set(e, RP_IO, "status %d contradicts an earlier row of the same call, which has %d",
                    row.status, at->status);
            snprintf(e->where, sizeof e->where, "line %llu", (unsigned long long)row.line);
            return err_file(e, path);
        }
        *at = (entry){.q = row.q, .status = row.status};
    }
    *out = k;
    return RP_OK;
}

int knowledge_status(const knowledge *k, const lt_query *q)
{
    return k ? place_of(k, q)->status : -1;
}

static const lt_rule recorded_rule = {.id = "probe.recorded",
                                      .kind = LTR_LIBRARY,
                                      .says = "the recorded answer of the library",
                                      .found = "the library answered status {f} when it was asked",
                                      .source = "--knowledge"};

void knowledge_decide(lt_answer *out, int *known, const knowledge *k, const lt_query *q)
{
    const lt_hit *ours = NULL;
    size_t n = 0;
    bool notes = false;
    lt_decide(out, q);
    *known = knowledge_status(k, q);
    if (*known < 0)
        return;
    /* What the library refuses is known now; our own rules and what is worth knowing stay. */
    const lt_hit *ruled = lt_deciding(out), *recorded = NULL;
    const lt_rule *by = ruled && ruled->rule->kind == LTR_LIBRARY ? ruled->rule : NULL;
    lt_seen seen = by ? ruled->seen : (lt_seen){.found = (uint64_t)*known};
    for (size_t i = 0; i < out->n_hits; i++) {
        bool library = out->hits[i].rule->kind == LTR_LIBRARY;
        if (library && (*known == 0 || out->hits[i].rule != by))
            continue;
        out->hits[n++] = out->hits[i];
    }
    if (*known != 0 && (!by || by->status != *known)) {
        seen = (lt_seen){.found = (uint64_t)*known};
        n -= n == LT_HITS_MAX;
        memmove(out->hits + 1, out->hits, n * sizeof *out->hits);
        out->hits[0] = (lt_hit){.rule = &recorded_rule, .seen = seen};
        n++;
    }
    out->n_hits = n;
    out->status = *known;
    for (size_t i = 0; i < n; i++) {
        const lt_hit *h = &out->hits[i];
        notes |= h->rule->kind == LTR_NOTE;
        if (h->rule->kind == LTR_LIBRARY && !recorded)
            recorded = h;
        if (h->rule->kind == LTR_OURS && !ours)
            ours = h;
    }
    const lt_hit *decides = recorded ? recorded : ours;
    out->decider = decides ? (size_t)(decides - out->hits) : n;
    out->verdict = decides ? LTV_REFUSE : notes ? LTV_OK_NOTE : LTV_OK;
}
