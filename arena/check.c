#include "arena/check.h"
#include "artifacts/base/ck.h"
#include <stdio.h>

static const char *range_at(char buf[48], uint64_t i)
{
    snprintf(buf, 48, "/ranges/%llu", (unsigned long long)i);
    return buf;
}

static void field(findings *fs, const char *file, uint64_t i, const char *name, const char *key,
                  uint64_t expected, uint64_t actual)
{
    char where[64], e[24], a[24];
    if (expected == actual)
        return;
    snprintf(where, sizeof where, "/ranges/%llu/%s", (unsigned long long)i, key);
    snprintf(e, sizeof e, "%llu", (unsigned long long)expected);
    snprintf(a, sizeof a, "%llu", (unsigned long long)actual);
    findings_add(fs, FIND_ARENA_OFFSET, file, where, e, a, "expected %s of %s to be %s as rebuilt, found %s",
                 key, name, e, a);
}

static void total(findings *fs, const char *file, const char *key, uint64_t expected, uint64_t actual)
{
    char where[32], e[24], a[24];
    if (expected == actual)
        return;
    snprintf(where, sizeof where, "/%s", key);
    snprintf(e, sizeof e, "%llu", (unsigned long long)expected);
    snprintf(a, sizeof a, "%llu", (unsigned long long)actual);
    findings_add(fs, FIND_ARENA_PEAK, file, where, e, a, "expected %s %s, found %s", key, e, a);
}

void arena_compare(findings *fs, const arena_layout *rebuilt, const arena_layout *recorded, const char *file)
{
    char w[48];
    if (rebuilt->n != recorded->n)
        findings_add(fs, FIND_ARENA_OFFSET, file, "/ranges", NULL, NULL, "expected %llu ranges, found %llu",
                     (unsigned long long)rebuilt->n, (unsigned long long)recorded->n);
    for (uint64_t i = 0; i < rebuilt->n && i < recorded->n; i++) {
        const arena_range *e = &rebuilt->ranges[i], *a = &recorded->ranges[i];
        if (strcmp(e->name, a->name)) {
            findings_add(fs, FIND_ARENA_OFFSET, file, range_at(w, i), e->name, a->name,
                         "expected range %s, found %s", e->name, a->name);
            continue;
        }
        field(fs, file, i, e->name, "first_step", e->first_step, a->first_step);
        field(fs, file, i, e->name, "end_step", e->end_step, a->end_step);
        field(fs, file, i, e->name, "offset_bytes", e->offset_bytes, a->offset_bytes);
        field(fs, file, i, e->name, "bytes", e->bytes, a->bytes);
    }
    total(fs, file, "slab_bytes", rebuilt->slab_bytes, recorded->slab_bytes);
    total(fs, file, "peak_live_bytes", rebuilt->peak_live_bytes, recorded->peak_live_bytes);
}

static bool touches_range(const plan *p, const arena_range *r, uint64_t node)
{
    const plan_node *n = &p->nodes[node];
    if (r->kind == RANGE_WORKSPACE)
        return node == r->node;
    return r->kind == RANGE_BUFFER && (node_launches(n) || n->op == NODE_OUTPUT) &&
           node_touches(n, r->buffer);
}

/* The nodes that touch a range, listed once: pairs of ranges are many, touches are few. */
typedef struct {
    uint64_t n, *nodes;
} touchers;

static touchers *list_touchers(scratch *sc, const arena_layout *l, const plan *p)
{
    touchers *t = scratch_array(sc, l->n, sizeof *t);
    for (uint64_t r = 0; t && r < l->n; r++) {
        uint64_t n = 0;
        for (uint64_t i = 0; i < p->n_nodes; i++)
            n += touches_range(p, &l->ranges[r], i);
        t[r].nodes = scratch_array(sc, n, sizeof *t[r].nodes);
        for (uint64_t i = 0; t[r].nodes && i < p->n_nodes; i++)
            if (touches_range(p, &l->ranges[r], i))
                t[r].nodes[t[r].n++] = i;
        if (!t[r].nodes)
            return NULL;
    }
    return t;
}

/* Paths from every toucher of the earlier tenant to every toucher of the later. */
static void check_reuse(findings *fs, const plan_reach *reach, const touchers *early, const touchers *late,
                        const char *early_name, const char *late_name, const char *file, const char *where)
{
    for (uint64_t i = 0; i < early->n; i++)
        for (uint64_t j = 0; j < late->n; j++)
            if (!plan_reaches(reach, early->nodes[i], late->nodes[j])) {
                findings_add(fs, FIND_ARENA_REUSE, file, where, NULL, NULL,
                             "expected node %llu, which uses %s, to be ordered by edges before node %llu, "
                             "which reuses its bytes for %s",
                             (unsigned long long)early->nodes[i], early_name,
                             (unsigned long long)late->nodes[j], late_name);
                return;
            }
}

static void check_pair(findings *fs, arena_counts *c, const arena_layout *l, uint64_t i, uint64_t j,
                       const touchers *t, const plan_reach *reach, const char *file)
{
    const arena_range *a = &l->ranges[i], *b = &l->ranges[j];
    char w[48];
    c->pairs++;
    if (!ck_overlap(a->offset_bytes, a->reserved_bytes, b->offset_bytes, b->reserved_bytes))
        return;
    if (a->first_step < b->end_step && b->first_step < a->end_step) {
        findings_add(fs, FIND_ARENA_OVERLAP, file, range_at(w, j), NULL, NULL,
                     "expected %s at [%llu, %llu) and %s at [%llu, %llu) to share no byte while both live, "
                     "in steps [%llu, %llu)",
                     a->name, (unsigned long long)a->offset_bytes,
                     (unsigned long long)(a->offset_bytes + a->reserved_bytes), b->name,
                     (unsigned long long)b->offset_bytes,
                     (unsigned long long)(b->offset_bytes + b->reserved_bytes),
                     (unsigned long long)(a->first_step > b->first_step ? a->first_step : b->first_step),
                     (unsigned long long)(a->end_step < b->end_step ? a->end_step : b->end_step));
        return;
    }
    c->reused++;
    uint64_t early = a->first_step <= b->first_step ? i : j, late = early == i ? j : i;
    check_reuse(fs, reach, &t[early], &t[late], l->ranges[early].name, l->ranges[late].name, file,
                range_at(w, j));
}

void arena_check_peak(findings *fs, const arena_layout *l, uint64_t n_steps, const char *file)
{
    uint64_t peak = 0;
    for (uint64_t s = 0; s < n_steps; s++) {
        uint64_t live = 0;
        for (uint64_t i = 0; i < l->n; i++)
            if (s >= l->ranges[i].first_step && s < l->ranges[i].end_step &&
                !ck_add_u64(live, l->ranges[i].reserved_bytes, &live))
                live = UINT64_MAX;
        peak = live > peak ? live : peak;
    }
    total(fs, file, "peak_live_bytes", peak, l->peak_live_bytes);
}

rp_code arena_validate(rp_err *e, findings *fs, arena_counts *out, const arena_layout *l, const plan *p,
                       const plan_reach *reach, const char *file)
{
    char w[48];
    bool fits = true;
    arena_counts c = {0};
    const touchers *t = list_touchers(fs->sc, l, p);
    if (!t)
        return err_nomem(e);
    for (uint64_t i = 0; i < l->n; i++) {
        const arena_range *r = &l->ranges[i];
        if (!ck_inside(r->offset_bytes, r->reserved_bytes, l->slab_bytes)) {
            fits = false;
            findings_add(fs, FIND_ARENA_BOUNDS, file, range_at(w, i), NULL, NULL,
                         "expected %s within the arena's %llu bytes, found %llu reserved bytes at %llu",
                         r->name, (unsigned long long)l->slab_bytes, (unsigned long long)r->reserved_bytes,
                         (unsigned long long)r->offset_bytes);
        }
        if (r->offset_bytes % ARENA_ALIGN)
            findings_add(fs, FIND_ARENA_ALIGNMENT, file, range_at(w, i), NULL, NULL,
                         "expected %s at a multiple of %d, found it at %llu", r->name, ARENA_ALIGN,
                         (unsigned long long)r->offset_bytes);
    }
    /* Sums of offsets and sizes are safe only once all lie inside the slab. */
    for (uint64_t j = 0; fits && j < l->n; j++)
        for (uint64_t i = 0; i < j; i++)
            check_pair(fs, &c, l, i, j, t, reach, file);
    *out = c;
    return fs->nomem ? err_nomem(e) : RP_OK;
}
