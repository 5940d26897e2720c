#include "arena/layout.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/limits.h"
#include <stdio.h>
#include <stdlib.h>

const arena_range *arena_of_buffer(const arena_layout *l, uint64_t buffer)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (l->ranges[i].kind == RANGE_BUFFER && l->ranges[i].buffer == buffer)
            return &l->ranges[i];
    return NULL;
}

const arena_range *arena_of_workspace(const arena_layout *l, uint64_t node)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (l->ranges[i].kind == RANGE_WORKSPACE && l->ranges[i].node == node)
            return &l->ranges[i];
    return NULL;
}

static bool packed(const plan_buffer *b)
{
    return b->owner == OWNER_SYSTEM || b->freed_by == FREED_BY_PROGRAM;
}

static rp_code request(rp_err *e, arena_layout *l, arena_range r)
{
    if (!ck_align_u64(r.bytes ? r.bytes : 1, ARENA_ALIGN, &r.reserved_bytes))
        return err_invalid(e, FIND_ARENA_BOUNDS, NULL, NULL, "expected a size below 2^64 bytes for %s",
                           r.name);
    if (!r.name)
        return err_nomem(e);
    l->ranges[l->n++] = r;
    return RP_OK;
}

static rp_code request_buffer(rp_err *e, arena_layout *l, const plan *p, uint64_t buffer)
{
    const plan_buffer *b = &p->buffers[buffer];
    uint64_t first = p->n_nodes, last = 0;
    if (!packed(b) || arena_of_buffer(l, buffer))
        return RP_OK;
    for (uint64_t i = 0; i < p->n_nodes; i++)
        if (node_touches(&p->nodes[i], buffer)) {
            first = i < first ? i : first;
            last = i;
        }
    return request(e, l,
                   (arena_range){.kind = RANGE_BUFFER,
                                 .name = b->id,
                                 .buffer = buffer,
                                 .first_step = b->owner == OWNER_CALLER ? 0 : first,
                                 .end_step = b->freed_by == FREED_BY_CALLER ? p->n_nodes : last + 1,
                                 .bytes = b->bytes});
}

rp_code arena_requests(rp_err *e, arena_layout *out, scratch *sc, const plan *p)
{
    arena_layout l = {.ranges = scratch_array(sc, 1 + p->n_buffers + p->n_nodes, sizeof *l.ranges)};
    if (!l.ranges)
        return err_nomem(e);
    if (request(e, &l,
                (arena_range){.kind = RANGE_PARAMETERS,
                              .name = "parameters",
                              .end_step = p->n_nodes,
                              .bytes = plan_parameter_bytes(p)}))
        return e->code;
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        for (uint64_t k = 0; k < n->n_operands; k++)
            if (request_buffer(e, &l, p, n->operands[k].buffer))
                return e->code;
        if (n->has_destination && request_buffer(e, &l, p, n->destination.buffer))
            return e->code;
        if (n->op == NODE_MATMUL && n->workspace_bytes &&
            request(e, &l,
                    (arena_range){.kind = RANGE_WORKSPACE,
                                  .name = scratch_printf(sc, "workspace@%llu", (unsigned long long)i),
                                  .node = i,
                                  .first_step = i,
                                  .end_step = i + 1,
                                  .bytes = n->workspace_bytes}))
            return e->code;
    }
    *out = l;
    return RP_OK;
}

/* --- Packing. --- */

typedef struct {
    uint64_t time, request;
    bool alloc;
} event;

static int by_event(const void *pa, const void *pb)
{
    const event *a = pa, *b = pb;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->alloc != b->alloc)
        return a->alloc ? 1 : -1;
    return a->request < b->request ? -1 : a->request > b->request;
}

typedef struct {
    uint64_t offset, bytes;
} hole;

/* Free ranges below the top, by offset, coalesced. */
typedef struct {
    hole *holes;
    size_t n;
    uint64_t top;
} heap;

static void remove_hole(heap *h, size_t i)
{
    memmove(&h->holes[i], &h->holes[i + 1], (h->n - i - 1) * sizeof *h->holes);
    h->n--;
}

static bool take(heap *h, uint64_t need, uint64_t *offset)
{
    for (size_t i = 0; i < h->n; i++) {
        hole *f = &h->holes[i];
        if (f->bytes < need)
            continue;
        *offset = f->offset;
        f->offset += need;
        f->bytes -= need;
        if (!f->bytes)
            remove_hole(h, i);
        return true;
    }
    uint64_t from = h->top;
    if (h->n && h->holes[h->n - 1].offset + h->holes[h->n - 1].bytes == h->top) {
        from = h->holes[h->n - 1].offset;
        h->n--;
    }
    *offset = from;
    return ck_add_u64(from, need, &h->top);
}

static void give(heap *h, uint64_t offset, uint64_t bytes)
{
    size_t i = 0;
    while (i < h->n && h->holes[i].offset < offset)
        i++;
    memmove(&h->holes[i + 1], &h->holes[i], (h->n - i) * sizeof *h->holes);
    h->holes[i] = (hole){.offset = offset, .bytes = bytes};
    h->n++;
    if (i + 1 < h->n && offset + bytes == h->holes[i + 1].offset) {
        h->holes[i].bytes += h->holes[i + 1].bytes;
        remove_hole(h, i + 1);
    }
    if (i > 0 && h->holes[i - 1].offset + h->holes[i - 1].bytes == offset) {
        h->holes[i - 1].bytes += h->holes[i].bytes;
        remove_hole(h, i);
    }
}

rp_code arena_pack(rp_err *e, arena_layout *l, scratch *sc)
{
    event *ev = scratch_array(sc, 2 * l->n, sizeof *ev);
    heap h = {.holes = scratch_array(sc, l->n + 1, sizeof *h.holes)};
    uint64_t live = 0;
    if (!ev || !h.holes)
        return err_nomem(e);
    for (uint64_t i = 0; i < l->n; i++) {
        ev[2 * i] = (event){.time = l->ranges[i].first_step, .request = i, .alloc = true};
        ev[2 * i + 1] = (event){.time = l->ranges[i].end_step, .request = i};
    }
    if (l->n)
        qsort(ev, 2 * l->n, sizeof *ev, by_event);
    l->peak_live_bytes = 0;
    for (uint64_t i = 0; i < 2 * l->n; i++) {
        arena_range *r = &l->ranges[ev[i].request];
        if (!ev[i].alloc) {
            give(&h, r->offset_bytes, r->reserved_bytes);
            live -= r->reserved_bytes;
            continue;
        }
        /* Where the top fits in 64 bits, so does the sum of what lives below it. */
        if (!take(&h, r->reserved_bytes, &r->offset_bytes))
            return err_invalid(e, FIND_ARENA_BOUNDS, NULL, NULL,
                               "expected an arena below 2^64 bytes, found %s beyond it", r->name);
        live += r->reserved_bytes;
        l->peak_live_bytes = live > l->peak_live_bytes ? live : l->peak_live_bytes;
    }
    l->slab_bytes = h.top;
    return RP_OK;
}

/* --- The recorded arena. --- */

/* What a plan can ask for: the parameters, every buffer, a workspace a node. Pairs of ranges are compared. */
static uint64_t most_ranges(void)
{
    return 1 + limit_of(LIMIT_BUFFERS) + limit_of(LIMIT_NODES);
}

static rp_code read_range(rp_err *e, arena_range *r, js_node *o)
{
    if (js_str(e, &r->name, o, "name") || js_u64(e, &r->first_step, o, "first_step") ||
        js_u64(e, &r->end_step, o, "end_step") || js_u64(e, &r->offset_bytes, o, "offset_bytes") ||
        js_u64(e, &r->bytes, o, "bytes"))
        return e->code;
    /* Below 2^53, so rounding up fits. */
    if (!ck_align_u64(r->bytes ? r->bytes : 1, ARENA_ALIGN, &r->reserved_bytes))
        return js_fail(e, o, FIND_JSON_NUMBER, "expected a size that fits");
    return js_done(e, o);
}

rp_code arena_read(rp_err *e, arena_layout *out, scratch *sc, const char *file, span text)
{
    js_node *root, *ranges;
    size_t n = 0;
    arena_layout l = {0};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-arena/1") ||
        js_u64(e, &l.slab_bytes, root, "slab_bytes") ||
        js_u64(e, &l.peak_live_bytes, root, "peak_live_bytes") || js_arr(e, &ranges, &n, root, "ranges"))
        return e->code;
    if (n > most_ranges())
        return js_fail(e, ranges, FIND_ARENA_BOUNDS, "expected at most %llu ranges, found %zu",
                       (unsigned long long)most_ranges(), n);
    l.n = n;
    l.ranges = scratch_array(sc, n, sizeof *l.ranges);
    if (!l.ranges)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++)
        if (read_range(e, &l.ranges[i], js_at(ranges, i)))
            return e->code;
    if (js_done(e, root))
        return e->code;
    *out = l;
    return RP_OK;
}

rp_code arena_bind(rp_err *e, findings *fs, arena_layout *recorded, const arena_layout *requests,
                   const char *file)
{
    for (uint64_t i = 0; i < requests->n; i++) {
        const arena_range *want = &requests->ranges[i];
        char where[48];
        uint64_t k = 0;
        while (k < recorded->n && strcmp(recorded->ranges[k].name, want->name))
            k++;
        if (k == recorded->n) {
            findings_add(fs, FIND_ARENA_OFFSET, file, "/ranges", NULL, NULL,
                         "expected a range for %s, found none", want->name);
            continue;
        }
        arena_range *r = &recorded->ranges[k];
        r->kind = want->kind;
        r->buffer = want->buffer;
        r->node = want->node;
        snprintf(where, sizeof where, "/ranges/%llu", (unsigned long long)k);
        if (r->bytes < want->bytes || r->first_step > want->first_step || r->end_step < want->end_step)
            findings_add(
                fs, FIND_ARENA_BOUNDS, file, where, NULL, NULL,
                "expected %s to hold %llu bytes over steps [%llu, %llu), found %llu over [%llu, %llu)",
                want->name, (unsigned long long)want->bytes, (unsigned long long)want->first_step,
                (unsigned long long)want->end_step, (unsigned long long)r->bytes,
                (unsigned long long)r->first_step, (unsigned long long)r->end_step);
    }
    if (recorded->n > requests->n)
        findings_add(fs, FIND_ARENA_OFFSET, file, "/ranges", NULL, NULL, "expected %llu ranges, found %llu",
                     (unsigned long long)requests->n, (unsigned long long)recorded->n);
    return fs->nomem ? err_nomem(e) : RP_OK;
}
