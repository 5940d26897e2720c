#include "replay/picture.h"
#include "artifacts/base/text.h"
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The borders of all ranges, ascending and each once. */
static size_t borders(uint64_t *v, const arena_layout *l)
{
    size_t n = 0, kept = 0;
    for (uint64_t i = 0; i < l->n; i++) {
        v[n++] = l->ranges[i].offset_bytes;
        v[n++] = l->ranges[i].offset_bytes + l->ranges[i].reserved_bytes;
    }
    if (n)
        qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || v[kept - 1] != v[i])
            v[kept++] = v[i];
    return kept;
}

static char letter(uint64_t range)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return letters[range % (sizeof letters - 1)];
}

static const arena_range *tenant(const arena_layout *l, uint64_t at, uint64_t step)
{
    for (uint64_t i = 0; i < l->n; i++) {
        const arena_range *r = &l->ranges[i];
        if (at >= r->offset_bytes && at - r->offset_bytes < r->reserved_bytes && step >= r->first_step &&
            step < r->end_step)
            return r;
    }
    return NULL;
}

static void print_steps(FILE *f, const plan *p, unsigned cell)
{
    fprintf(f, "%12s  ", "step");
    for (uint64_t s = 0; s < p->n_nodes; s++)
        fprintf(f, "%-*llu", (int)cell, (unsigned long long)s);
    fprintf(f, "\n%12s  ", "byte");
    for (uint64_t s = 0; s < p->n_nodes; s++)
        fprintf(f, "%-*.*s", (int)cell, (int)cell - 1, node_op_names[p->nodes[s].op]);
    fputc('\n', f);
}

void picture_print(FILE *f, scratch *sc, const arena_layout *l, const plan *p)
{
    uint64_t *v = scratch_array(sc, 2 * l->n, sizeof *v);
    unsigned room = text_columns(f) - 14, cell = p->n_nodes ? room / (unsigned)p->n_nodes : 7;
    if (!v)
        return;
    cell = cell > 7 ? 7 : cell < 2 ? 2 : cell;
    size_t n = borders(v, l);
    print_steps(f, p, cell);
    for (size_t b = 0; b + 1 < n; b++) {
        /* Two lines for a band of a mebibyte and more, so that big ranges look big. */
        unsigned lines = v[b + 1] - v[b] >= 1U << 20 ? 2 : 1;
        for (unsigned line = 0; line < lines; line++) {
            fprintf(f, "%12s  ", line ? "" : text_count(sc, v[b]));
            for (uint64_t s = 0; s < p->n_nodes; s++) {
                const arena_range *r = tenant(l, v[b], s),
                                  *next = s + 1 < p->n_nodes ? tenant(l, v[b], s + 1) : NULL;
                for (unsigned c = 0; c < cell; c++)
                    fputc(!r                          ? (c ? ' ' : '.')
                          : c + 1 < cell || next == r ? letter((uint64_t)(r - l->ranges))
                                                      : ' ',
                          f);
            }
            fputc('\n', f);
        }
    }
    fprintf(f, "%12s\n\n", text_count(sc, l->slab_bytes));
    text_table *t = text_table_new(sc, "lllrrr");
    static const char *const head[] = {"", "range", "steps", "offset", "bytes", "reserved"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (uint64_t i = 0; i < l->n; i++) {
        const arena_range *r = &l->ranges[i];
        text_cell(t, "%c", letter(i));
        text_cell(t, "%s", r->name);
        text_cell(t, "[%llu, %llu)", (unsigned long long)r->first_step, (unsigned long long)r->end_step);
        text_cell(t, "%s", text_count(sc, r->offset_bytes));
        text_cell(t, "%s", text_count(sc, r->bytes));
        text_cell(t, "%s", text_count(sc, r->reserved_bytes));
    }
    text_table_print(t, f, "");
    fprintf(f, "peak %s bytes live, slab %s bytes\n", text_count(sc, l->peak_live_bytes),
            text_count(sc, l->slab_bytes));
}
