/* What a log names, each thing once: memory grows with the distinct calls and ranges, not with the lines. */
#include "artifacts/base/ck.h"
#include "plan/lt_csv.h"
#include "replay/import.h"
#include <stdlib.h>

void log_tables_free(log_tables *t)
{
    free(t->calls);
    free(t->ranges);
    free(t->call_slots);
    free(t->range_slots);
    free(t->buffers);
    *t = (log_tables){0};
}

/* Room for one more element. */
static bool grown(void **v, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? 2 * *cap : 64;
    void *p = realloc(*v, more * size);
    if (!p)
        return false;
    *v = p;
    *cap = more;
    return true;
}

static uint64_t mixed(uint64_t h)
{
    uint64_t x;
    (void)__builtin_mul_overflow(h ^ h >> 32, 0xff51afd7ed558ccdU, &x);
    return x ^ x >> 29;
}

static uint64_t range_hash(const log_range *r)
{
    return mixed(r->from ^ mixed(r->bytes));
}

static bool same_call(const lt_trace *a, const lt_trace *b)
{
    return lt_query_same(&a->q, &b->q) && a->q.beta == b->q.beta && a->out_of_place == b->out_of_place &&
           a->q.c_null == b->q.c_null && a->scaled[0] == b->scaled[0] && a->scaled[1] == b->scaled[1] &&
           a->other_scales == b->other_scales &&
           (a->pointer[LTM_A] == a->pointer[LTM_B]) == (b->pointer[LTM_A] == b->pointer[LTM_B]) &&
           !strcmp(a->function, b->function);
}

/* A table twice as large, filled again. */
static bool rehash(log_tables *t, bool calls)
{
    size_t n = calls ? t->n_calls : t->n_ranges, slots = 256;
    while (slots < 4 * (n + 1))
        slots *= 2;
    uint32_t *v = calloc(slots, sizeof *v);
    if (!v)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t h = calls ? lt_query_hash(&t->calls[i].first.q) : range_hash(&t->ranges[i]);
        size_t at = h & (slots - 1);
        while (v[at])
            at = (at + 1) & (slots - 1);
        v[at] = (uint32_t)i + 1;
    }
    free(calls ? t->call_slots : t->range_slots);
    *(calls ? &t->call_slots : &t->range_slots) = v;
    *(calls ? &t->call_slots_n : &t->range_slots_n) = slots;
    return true;
}

rp_code log_call_of(rp_err *e, log_tables *t, uint32_t *index, const lt_trace *call, uint64_t line)
{
    if (t->call_slots_n < 2 * (t->n_calls + 1) && !rehash(t, true))
        return err_nomem(e);
    size_t at = lt_query_hash(&call->q) & (t->call_slots_n - 1);
    for (; t->call_slots[at]; at = (at + 1) & (t->call_slots_n - 1)) {
        logged_call *c = &t->calls[t->call_slots[at] - 1];
        if (!same_call(&c->first, call))
            continue;
        c->count++;
        c->algorithms += strcmp(c->first.algorithm, call->algorithm) != 0;
        *index = t->call_slots[at] - 1;
        return RP_OK;
    }
    if (t->n_calls == IMPORT_CALLS_MAX)
        return err_set(e, RP_IO, "more than %d distinct calls", IMPORT_CALLS_MAX);
    if (!grown((void **)&t->calls, &t->cap_calls, t->n_calls, sizeof *t->calls))
        return err_nomem(e);
    t->calls[t->n_calls] = (logged_call){.first = *call, .line = line, .count = 1};
    *index = (uint32_t)t->n_calls++;
    t->call_slots[at] = *index + 1;
    return RP_OK;
}

rp_code log_range_of(rp_err *e, log_tables *t, uint32_t *index, uint64_t from, uint64_t bytes)
{
    const log_range want = {.from = from, .bytes = bytes};
    if (t->range_slots_n < 2 * (t->n_ranges + 1) && !rehash(t, false))
        return err_nomem(e);
    size_t at = range_hash(&want) & (t->range_slots_n - 1);
    for (; t->range_slots[at]; at = (at + 1) & (t->range_slots_n - 1)) {
        const log_range *r = &t->ranges[t->range_slots[at] - 1];
        *index = t->range_slots[at] - 1;
        if (r->from == from && r->bytes == bytes)
            return RP_OK;
    }
    if (t->n_ranges == IMPORT_RANGES_MAX)
        return err_set(e, RP_IO, "more than %d distinct ranges of memory", IMPORT_RANGES_MAX);
    if (!grown((void **)&t->ranges, &t->cap_ranges, t->n_ranges, sizeof *t->ranges))
        return err_nomem(e);
    t->ranges[t->n_ranges] = want;
    *index = (uint32_t)t->n_ranges++;
    t->range_slots[at] = *index + 1;
    return RP_OK;
}

/* Indices of ranges in the order of their addresses; the ranges, for qsort. */
static const log_range *sorted_ranges;

static int by_address(const void *pa, const void *pb)
{
    const log_range *a = &sorted_ranges[*(const uint32_t *)pa], *b = &sorted_ranges[*(const uint32_t *)pb];
    return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                              : (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

rp_code log_ranges_merge(rp_err *e, log_tables *t)
{
    uint32_t *order = malloc((t->n_ranges + 1) * sizeof *order);
    t->buffers = malloc((t->n_ranges + 1) * sizeof *t->buffers);
    if (!order || !t->buffers) {
        free(order);
        return err_nomem(e);
    }
    for (size_t i = 0; i < t->n_ranges; i++)
        order[i] = (uint32_t)i;
    sorted_ranges = t->ranges;
    qsort(order, t->n_ranges, sizeof *order, by_address);
    for (size_t i = 0; i < t->n_ranges; i++) {
        log_range *r = &t->ranges[order[i]], *b = t->n_buffers ? &t->buffers[t->n_buffers - 1] : NULL;
        uint64_t into = b ? r->from - b->from : 0;
        if (b && into < b->bytes) {
            uint64_t end = into + r->bytes; /* both checked when the range was made */
            b->bytes = end > b->bytes ? end : b->bytes;
        } else {
            t->buffers[t->n_buffers++] = (log_range){.from = r->from, .bytes = r->bytes};
        }
        r->buffer = (uint32_t)t->n_buffers - 1;
    }
    free(order);
    return RP_OK;
}
