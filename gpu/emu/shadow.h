/* Who last wrote and read each byte. An entry is segment << 6 | lane << 1 | atomic; a segment is what one
 * warp of one block does between two synchronisations, and entries of earlier launches are those below the
 * first of this one. */
#ifndef EMU_SHADOW_H
#define EMU_SHADOW_H

#include "gpu/emu/run.h"

static inline uint32_t shadow_entry(const warp *w, uint32_t lane, bool is_atomic)
{
    return w->segment << 6 | lane << 1 | is_atomic;
}

/* `shared`: of the block's own memory, where what earlier blocks left does not count. */
static inline bool shadow_ordered(const worker *k, const warp *w, bool shared, uint32_t entry, uint32_t lane)
{
    const launch *x = k->x;
    uint32_t segment = entry >> 6;
    if (segment < x->first_segment)
        return true;
    if (segment == w->segment)
        return (entry >> 1 & 31) == lane;
    const emu_memory *m = x->mem;
    uint64_t block = m->segment_block[segment];
    uint32_t other = m->segment_warp[segment] & 31, clock = m->segment_warp[segment] >> 5;
    if (block == (uint32_t)k->block)
        return other == w->index ? clock < w->clock || (entry >> 1 & 31) == lane : w->seen[other] > clock;
    return shared || (k->acquired && x->released && segment < x->released[block]);
}

/* Whether an entry is of another block, while blocks run side by side. */
static inline bool shadow_foreign(const worker *k, bool shared, uint32_t entry)
{
    return !shared && !k->x->serial && k->x->mem->segment_block[entry >> 6] != (uint32_t)k->block;
}

/* Whether an access by a lane and that of an entry are unordered. Two atomic ones may be, except that blocks
 * side by side must not meet at all: then they are run again in order. */
static inline bool shadow_clash(const worker *k, const warp *w, bool shared, uint32_t entry, uint32_t lane,
                                bool is_atomic)
{
    if (shadow_ordered(k, w, shared, entry, lane))
        return false;
    return !(is_atomic && (entry & 1)) || shadow_foreign(k, shared, entry);
}

static inline bool shadow_same_block(const worker *k, uint32_t a, uint32_t b)
{
    return k->x->mem->segment_block[a >> 6] == k->x->mem->segment_block[b >> 6];
}

/* Note a reader. Of more than two unordered ones two are kept, of two blocks if there are any. */
static inline void shadow_note(const worker *k, const warp *w, bool shared, uint32_t *r1, uint32_t *r2,
                               uint32_t me, uint32_t lane)
{
    if (*r1 == me)
        return;
    if (shadow_ordered(k, w, shared, *r1, lane))
        *r1 = me;
    else if (shadow_ordered(k, w, shared, *r2, lane) ||
             (shadow_same_block(k, *r1, *r2) && !shadow_same_block(k, *r1, me)))
        *r2 = me;
}

/* A read of byte `at` by a lane: the entry it races with, or 0. */
static inline uint32_t shadow_read(const worker *k, const warp *w, bool shared, uint32_t *ws, uint32_t *r1,
                                   uint32_t *r2, uint64_t at, uint32_t lane, bool is_atomic)
{
    shadow_note(k, w, shared, &r1[at], &r2[at], shadow_entry(w, lane, is_atomic), lane);
    return shadow_clash(k, w, shared, ws[at], lane, is_atomic) ? ws[at] : 0;
}

/* The same for a write. *reader says what the entry found is. */
static inline uint32_t shadow_write(const worker *k, const warp *w, bool shared, uint32_t *ws,
                                    const uint32_t *r1, const uint32_t *r2, uint64_t at, uint32_t lane,
                                    bool is_atomic, bool *reader)
{
    const uint32_t entries[3] = {ws[at], r1[at], r2[at]};
    uint32_t conflict = 0;
    *reader = false;
    for (int n = 0; n < 3; n++)
        if (shadow_clash(k, w, shared, entries[n], lane, is_atomic) &&
            (!conflict || shadow_foreign(k, shared, entries[n]))) {
            conflict = entries[n];
            *reader = n > 0;
        }
    ws[at] = shadow_entry(w, lane, is_atomic);
    return conflict;
}

/* Whether no entry of [at, at + n) is of this launch. */
static inline bool shadow_stale(const launch *x, const uint32_t *v, uint64_t at, uint64_t n)
{
    int32_t first = (int32_t)(x->first_segment << 6), bad = 0;
    for (uint64_t k = 0; k < n; k++)
        bad |= (int32_t)v[at + k] >= first;
    return !bad;
}

/* The same, or of the very lane that comes now: elements of `each` bytes, the first one's entry would be
 * `me`. */
static inline bool shadow_mine(const launch *x, const uint32_t *v, uint64_t at, uint64_t n, uint64_t each,
                               uint32_t me)
{
    if (shadow_stale(x, v, at, n))
        return true;
    uint32_t first = x->first_segment << 6, bad = 0;
    for (uint64_t k = 0; k < n; k += each, me += 2)
        for (uint64_t b = 0; b < each; b++)
            bad |= v[at + k + b] >= first && (v[at + k + b] | 1) != (me | 1);
    return !bad;
}

static inline void shadow_fill(uint32_t *v, uint64_t at, uint64_t n, uint64_t each, uint32_t me)
{
    for (uint64_t k = 0; k < n; k += each, me += 2)
        for (uint64_t b = 0; b < each; b++)
            v[at + k + b] = me;
}

/* Note the readers of a range that nobody has written. */
static inline void shadow_readers(const worker *k, const warp *w, uint32_t *r1, uint32_t *r2, uint64_t at,
                                  uint64_t n, uint64_t each, uint32_t me)
{
    uint32_t known1 = 0, known2 = 0; /* segments, not ours, found unordered for the element before */
    for (uint64_t b = 0; b < n; b++) {
        uint32_t mine = me + (uint32_t)(b / each) * 2, lane = mine >> 1 & 31, e1 = r1[at + b],
                 e2 = r2[at + b];
        if ((known1 && e1 >> 6 == known1 && e2 >> 6 == known2) || e1 == mine)
            continue;
        if (shadow_ordered(k, w, false, e1, lane) || shadow_ordered(k, w, false, e2, lane) ||
            e1 >> 6 == w->segment || e2 >> 6 == w->segment || shadow_same_block(k, e1, e2)) {
            shadow_note(k, w, false, &r1[at + b], &r2[at + b], mine, lane);
        } else {
            known1 = e1 >> 6;
            known2 = e2 >> 6;
        }
    }
}

#endif
