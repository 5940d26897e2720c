/* Loads and stores with all checks. The usual case, a warp that touches consecutive elements of one buffer,
 * is checked and moved as a whole; everything else lane by lane. */
#include "gpu/emu/shadow.h"
#include "gpu/emu/wrap.h"
#include <sched.h>
#include <stdlib.h>

typedef struct {
    const mem_buffer *b;
    mem_allocation *a;
} place;

static void lock_page(worker *k, mem_allocation *a, uint64_t page)
{
    if (k->x->serial)
        return;
    uint8_t open = 0;
    unsigned spins = 0;
    while (!atomic_compare_exchange_weak_explicit(&a->lock[page], &open, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
        open = 0;
        if (++spins % 256 == 0)
            sched_yield();
    }
}

static void unlock_page(worker *k, mem_allocation *a, uint64_t page)
{
    if (!k->x->serial)
        atomic_store_explicit(&a->lock[page], 0, memory_order_release);
}

/* Keep a page as it was before the launch, so that the launch can be undone. Its lock is held. */
static void keep_page(worker *k, mem_allocation *a, uint64_t page)
{
    if (k->x->serial || a->saved[page] == k->x->mem->launches)
        return;
    if (k->n_undos == k->cap_undos) {
        uint32_t cap = k->cap_undos ? k->cap_undos * 2 : 256;
        undo *v = realloc(k->undos, cap * sizeof *v);
        if (!v) {
            atomic_store(&k->x->no_memory, true);
            return;
        }
        k->undos = v;
        k->cap_undos = cap;
    }
    uint8_t *bytes = malloc(2 * PAGE_BYTES);
    if (!bytes) {
        atomic_store(&k->x->no_memory, true);
        return;
    }
    memcpy(bytes, a->data + (page << PAGE_BITS), PAGE_BYTES);
    memcpy(bytes + PAGE_BYTES, a->state + (page << PAGE_BITS), PAGE_BYTES);
    a->saved[page] = k->x->mem->launches;
    k->undos[k->n_undos++] = (undo){a, page, bytes};
}

static bool find_place(worker *k, uint64_t address, uint64_t bytes, place *out)
{
    const mem_buffer *b = k->last_buffer;
    if (!b || address < b->address || address - b->address >= b->bytes) {
        mem_allocation *a = mem_allocation_at(k->x->mem, address);
        b = a ? mem_buffer_at(k->x->mem, a, address) : NULL;
        if (!b)
            return false;
        k->last_buffer = b;
        k->last_allocation = a;
    }
    *out = (place){b, k->last_allocation};
    return bytes <= b->bytes - (address - b->address);
}

/* Another block was there first: running side by side was wrong, unless blocks already run one by one. */
static bool crosses_blocks(worker *k, uint32_t entry)
{
    if (k->x->serial || k->x->mem->segment_block[entry >> 6] == (uint32_t)k->block)
        return false;
    atomic_store(&k->x->conflict, true);
    atomic_store(&k->x->stop, true);
    return true;
}

static void race(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, uint8_t space,
                 uint64_t address, uint64_t bytes, bool write, uint32_t entry, bool other_reads)
{
    if (space == SPACE_GLOBAL && crosses_blocks(k, entry))
        return;
    const emu_memory *m = k->x->mem;
    record *r = note_access(k, w, f, i, lane, EMU_FIND_RACE, space, address, bytes, write);
    if (r && r->count == 1) {
        r->other_known = true;
        r->other_block = m->segment_block[entry >> 6];
        r->other_thread = (m->segment_warp[entry >> 6] & 31) * LANES + (entry >> 1 & 31);
        r->other_write = !other_reads;
    }
}

static emu_find kind_of(emu_fault f)
{
    switch (f) {
    case EMU_FAULT_GUARD:
        return EMU_FIND_GUARD;
    case EMU_FAULT_DEAD:
        return EMU_FIND_DEAD;
    case EMU_FAULT_UNWRITTEN:
        return EMU_FIND_UNINITIALISED;
    case EMU_FAULT_READ_ONLY:
        return EMU_FIND_READ_ONLY;
    default:
        return EMU_FIND_BOUNDS;
    }
}

/* What is asked of an access, apart from where. */
typedef struct {
    uint8_t space;
    bool write, is_atomic, update; /* update: an atomic, which reads too */
    uint64_t bytes;
} want;

/* One lane in global memory: its bytes, or NULL. */
static uint8_t *global_lane(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                            const want *q, const uint8_t *value)
{
    uint64_t at = 0;
    place pl;
    emu_fault fault = emu_memory_check(k->x->mem, address, q->bytes, q->write, &at);
    if (fault == EMU_FAULT_NONE && q->update)
        fault = emu_memory_check(k->x->mem, address, q->bytes, false, &at);
    if (fault != EMU_FAULT_NONE)
        note_access(k, w, f, i, lane, kind_of(fault), SPACE_GLOBAL, at, q->bytes, q->write);
    if ((fault != EMU_FAULT_NONE && fault != EMU_FAULT_UNWRITTEN && fault != EMU_FAULT_DEAD) ||
        !find_place(k, address, q->bytes, &pl))
        return NULL;
    uint64_t offset = address - pl.a->address;
    if (k->x->races)
        for (uint64_t n = 0; n < q->bytes; n++) {
            bool reader = false;
            uint32_t c = q->write ? shadow_write(k, w, false, pl.a->w, pl.a->r1, pl.a->r2, offset + n, lane,
                                                 q->is_atomic, &reader)
                                  : shadow_read(k, w, false, pl.a->w, pl.a->r1, pl.a->r2, offset + n, lane,
                                                q->is_atomic);
            bool silent = c && value && k->x->l->quiet_races && pl.a->state[offset + n] == EMU_WRITTEN &&
                          pl.a->data[offset + n] == value[n];
            if (c && silent)
                crosses_blocks(k, c);
            else if (c)
                race(k, w, f, i, lane, SPACE_GLOBAL, address + n, q->bytes, q->write, c, reader);
        }
    return pl.a->data + offset;
}

/* Index of a shared address in the block's arrays, or -1. */
static int64_t shared_index(const worker *k, uint64_t address, uint64_t bytes)
{
    const launch *x = k->x;
    if (address < x->shared_static)
        return bytes <= x->shared_static - address ? (int64_t)address : -1;
    if (address < DYNAMIC_SHARED || address - DYNAMIC_SHARED >= x->shared_dynamic ||
        bytes > x->shared_dynamic - (address - DYNAMIC_SHARED))
        return -1;
    return (int64_t)(x->shared_static + (address - DYNAMIC_SHARED));
}

static uint8_t *shared_lane(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                            const want *q, const uint8_t *value)
{
    int64_t at = shared_index(k, address, q->bytes);
    bool hole = at < 0, unwritten = false;
    for (uint64_t n = 0; !hole && n < q->bytes; n++) {
        hole = k->shared_state[at + (int64_t)n] == 0;
        unwritten |= k->shared_state[at + (int64_t)n] == 1;
    }
    if (hole) {
        note_access(k, w, f, i, lane, EMU_FIND_BOUNDS, SPACE_SHARED, address, q->bytes, q->write);
        return NULL;
    }
    if (unwritten && (!q->write || q->update))
        note_access(k, w, f, i, lane, EMU_FIND_UNINITIALISED, SPACE_SHARED, address, q->bytes, q->write);
    for (uint64_t n = 0; k->x->races && n < q->bytes; n++) {
        uint64_t b = (uint64_t)at + n;
        bool reader = false;
        uint32_t c = q->write ? shadow_write(k, w, true, k->shared_w, k->shared_r1, k->shared_r2, b, lane,
                                             q->is_atomic, &reader)
                              : shadow_read(k, w, true, k->shared_w, k->shared_r1, k->shared_r2, b, lane,
                                            q->is_atomic);
        if (c && !(value && k->shared_state[b] == 2 && k->shared[b] == value[n]))
            race(k, w, f, i, lane, SPACE_SHARED, address + n, q->bytes, q->write, c, reader);
    }
    if (q->write)
        memset(k->shared_state + at, 2, q->bytes);
    return k->shared + at;
}

static uint8_t *local_lane(worker *k, const warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                           const want *q)
{
    uint64_t limit = f->local_base + f->f->local_bytes;
    if (address >= limit || q->bytes > limit - address) {
        note_access(k, w, f, i, lane, EMU_FIND_BOUNDS, SPACE_LOCAL, address, q->bytes, q->write);
        return NULL;
    }
    uint64_t at = (w->index * (uint64_t)LANES + lane) * k->local_stride + address;
    if (q->write)
        memset(k->local_state + at, 1, q->bytes);
    else if (memchr(k->local_state + at, 0, q->bytes))
        note_access(k, w, f, i, lane, EMU_FIND_UNINITIALISED, SPACE_LOCAL, address, q->bytes, false);
    return k->local + at;
}

static uint8_t *param_lane(worker *k, const warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                           const want *q)
{
    uint64_t limit = q->space == SPACE_PARAM ? f->f->param_mem : k->x->l->params.n;
    if (address >= limit || q->bytes > limit - address) {
        note_access(k, w, f, i, lane, EMU_FIND_BOUNDS, q->space, address, q->bytes, q->write);
        return NULL;
    }
    if (q->space == SPACE_PARAM)
        return f->params + (size_t)lane * f->f->param_mem + address;
    if (q->write) {
        note_access(k, w, f, i, lane, EMU_FIND_READ_ONLY, q->space, address, q->bytes, true);
        return NULL;
    }
    return (uint8_t *)(uintptr_t)(k->x->l->params.p + address);
}

/* The space and address within it of what may be a generic address. */
static uint8_t resolve(uint8_t space, uint64_t *address)
{
    if (space == SPACE_CONST)
        return SPACE_GLOBAL;
    if (space != SPACE_GENERIC)
        return space;
    uint64_t window = *address & WINDOW_MASK;
    if (window == WINDOW_SHARED || window == WINDOW_LOCAL || window == WINDOW_PARAM)
        *address &= ~WINDOW_MASK;
    return window == WINDOW_SHARED  ? SPACE_SHARED
           : window == WINDOW_LOCAL ? SPACE_LOCAL
           : window == WINDOW_PARAM ? SPACE_PARAM_ENTRY
                                    : SPACE_GLOBAL;
}

/* One lane anywhere; with its page locked until done() for global memory. */
static uint8_t *lane_begin(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                           want *q, const uint8_t *value, place *locked)
{
    locked->a = NULL;
    q->space = resolve(q->space, &address);
    if (address & (q->bytes - 1)) { /* always a power of two */
        note_access(k, w, f, i, lane, EMU_FIND_MISALIGNED, q->space, address, q->bytes, q->write);
        return NULL;
    }
    switch (q->space) {
    case SPACE_SHARED:
        return shared_lane(k, w, f, i, lane, address, q, value);
    case SPACE_LOCAL:
        return local_lane(k, w, f, i, lane, address, q);
    case SPACE_PARAM:
    case SPACE_PARAM_ENTRY:
        return param_lane(k, w, f, i, lane, address, q);
    default:
        break;
    }
    mem_allocation *a = mem_allocation_at(k->x->mem, address); /* aligned: all in one page */
    uint64_t page = a ? (address - a->address) >> PAGE_BITS : 0;
    if (a) {
        lock_page(k, a, page);
        if (((address - a->address) & (PAGE_BYTES - 1)) + q->bytes > PAGE_BYTES)
            lock_page(k, a, page + 1);
        if (q->write) {
            keep_page(k, a, page);
            if (((address - a->address) & (PAGE_BYTES - 1)) + q->bytes > PAGE_BYTES)
                keep_page(k, a, page + 1);
        }
        locked->a = a;
    }
    uint8_t *p = global_lane(k, w, f, i, lane, address, q, value);
    if (p && q->write)
        memset(a->state + (address - a->address), EMU_WRITTEN, q->bytes);
    return p;
}

static void lane_end(worker *k, uint64_t address, uint64_t bytes, const place *locked)
{
    if (!locked->a)
        return;
    uint64_t offset = address - locked->a->address, page = offset >> PAGE_BITS;
    unlock_page(k, locked->a, page);
    if ((offset & (PAGE_BYTES - 1)) + bytes > PAGE_BYTES)
        unlock_page(k, locked->a, page + 1);
}

static inline uint64_t get(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

static inline int64_t sign(uint64_t v, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(v << shift) >> shift;
}

static WRAPS void addresses(const worker *k, const frame *f, int32_t src, int64_t offset, uint64_t *out)
{
    const uint64_t *base = operand_of(k, f, src);
    for (int l = 0; l < LANES; l++)
        out[l] = base[l] + (uint64_t)offset;
}

/* Whether the lanes of mask are consecutive and touch consecutive elements: how many. */
static WRAPS uint32_t consecutive(const uint64_t *a, uint32_t mask, uint64_t bytes)
{
    uint32_t first = (uint32_t)__builtin_ctz(mask), run = mask >> first;
    if (run & (run + 1))
        return 0;
    uint64_t bad = 0;
    if (mask == EMU_FULL) {
        for (uint32_t l = 0; l < LANES; l++)
            bad |= a[l] ^ (a[0] + l * bytes);
        return bad ? 0 : LANES;
    }
    uint32_t n = (uint32_t)__builtin_popcount(mask);
    for (uint32_t l = 0; l < n; l++)
        bad |= a[first + l] ^ (a[first] + l * bytes);
    return bad ? 0 : n;
}

static bool all_written(const uint8_t *state, uint64_t n)
{
    uint8_t bad = 0;
    for (uint64_t k = 0; k < n; k++)
        bad |= state[k] ^ EMU_WRITTEN;
    return bad == 0;
}

/* A whole range of global memory, if nothing speaks against it; its pages stay locked. */
static uint8_t *range_begin(worker *k, warp *w, uint64_t address, uint64_t bytes, uint64_t each,
                            uint32_t first_lane, bool write, bool strong, place *pl)
{
    if (address & (each - 1) || !find_place(k, address, bytes, pl))
        return NULL;
    if (write ? !pl->b->write || !pl->b->writable : !pl->b->read)
        return NULL;
    mem_allocation *a = pl->a;
    uint64_t at = address - a->address, page = at >> PAGE_BITS, last = (at + bytes - 1) >> PAGE_BITS;
    for (uint64_t n = page; n <= last; n++)
        lock_page(k, a, n);
    bool fine = write || all_written(a->state + at, bytes);
    if (fine && k->x->races) {
        uint32_t me = shadow_entry(w, first_lane, strong);
        fine = shadow_mine(k->x, a->w, at, bytes, each, me);
        if (fine && write) {
            fine = shadow_mine(k->x, a->r1, at, bytes, each, me) &&
                   shadow_mine(k->x, a->r2, at, bytes, each, me);
            if (fine)
                shadow_fill(a->w, at, bytes, each, me);
        } else if (fine && shadow_stale(k->x, a->r1, at, bytes)) {
            shadow_fill(a->r1, at, bytes, each, me);
        } else if (fine) {
            shadow_readers(k, w, a->r1, a->r2, at, bytes, each, me);
        }
    }
    if (!fine) {
        for (uint64_t n = page; n <= last; n++)
            unlock_page(k, a, n);
        return NULL;
    }
    if (write) {
        for (uint64_t n = page; n <= last; n++)
            keep_page(k, a, n);
        memset(a->state + at, EMU_WRITTEN, bytes);
    }
    return a->data + at;
}

static void range_end(worker *k, const place *pl, uint64_t address, uint64_t bytes)
{
    uint64_t at = address - pl->a->address;
    for (uint64_t n = at >> PAGE_BITS; n <= (at + bytes - 1) >> PAGE_BITS; n++)
        unlock_page(k, pl->a, n);
}

static void spread(uint64_t *out, const uint8_t *p, unsigned size, uint64_t stride, uint32_t n)
{
    switch (size) {
    case 1:
        for (uint32_t l = 0; l < n; l++)
            out[l] = p[l * stride];
        break;
    case 2:
        for (uint32_t l = 0; l < n; l++)
            out[l] = get(p + l * stride, 2);
        break;
    case 4:
        for (uint32_t l = 0; l < n; l++)
            out[l] = get(p + l * stride, 4);
        break;
    default:
        for (uint32_t l = 0; l < n; l++)
            out[l] = get(p + l * stride, 8);
    }
}

static void finish_load(worker *k, frame *f, const insn *i, uint64_t (*v)[LANES], uint32_t mask)
{
    const int32_t *slots = k->x->m->vecs + i->extra;
    for (uint32_t n = 0; n < i->n_vec; n++) {
        if (type_class((ptx_type)i->type) == 's')
            for (int l = 0; l < LANES; l++)
                v[n][l] = (uint64_t)sign(v[n][l], i->sub) & i->mask;
        put(f, slots[n], v[n], mask);
    }
}

void run_load(worker *k, warp *w, frame *f, const insn *i, uint32_t mask)
{
    uint64_t a[LANES], v[8][LANES];
    uint64_t each = (uint64_t)i->sub * i->n_vec;
    addresses(k, f, i->src[0], i->imm, a);
    memset(v, 0, sizeof v[0] * i->n_vec);
    if (i->space == SPACE_PARAM_ENTRY && i->src[0] < 0 && (a[0] & (i->sub - 1u)) == 0 &&
        a[0] <= k->x->l->params.n && each <= k->x->l->params.n - a[0]) {
        for (uint32_t n = 0; n < i->n_vec; n++) {
            uint64_t one = get(k->x->l->params.p + a[0] + n * i->sub, i->sub);
            for (int l = 0; l < LANES; l++)
                v[n][l] = one;
        }
        finish_load(k, f, i, v, mask);
        return;
    }
    bool global = i->space == SPACE_GLOBAL || i->space == SPACE_CONST || i->space == SPACE_GENERIC;
    uint32_t n = global ? consecutive(a, mask, each) : 0, first = (uint32_t)__builtin_ctz(mask);
    place pl;
    const uint8_t *p =
        n ? range_begin(k, w, a[first], n * each, each, first, false, i->flags & F_STRONG, &pl) : NULL;
    if (p) {
        for (uint32_t e = 0; e < i->n_vec; e++)
            spread(v[e] + first, p + e * i->sub, i->sub, each, n);
        range_end(k, &pl, a[first], n * each);
        finish_load(k, f, i, v, mask);
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        want q = {.space = i->space, .is_atomic = i->flags & F_STRONG, .bytes = each};
        place locked;
        p = lane_begin(k, w, f, i, l, a[l], &q, NULL, &locked);
        for (uint32_t e = 0; p && e < i->n_vec; e++)
            v[e][l] = get(p + e * i->sub, i->sub);
        lane_end(k, a[l], each, &locked);
    }
    if (i->flags & F_ACQUIRE)
        k->acquired = true;
    finish_load(k, f, i, v, mask);
}

void run_store(worker *k, warp *w, frame *f, const insn *i, uint32_t mask)
{
    uint64_t a[LANES];
    uint64_t each = (uint64_t)i->sub * i->n_vec;
    const int32_t *slots = k->x->m->vecs + i->extra;
    const uint64_t *v[8];
    addresses(k, f, i->src[0], i->imm, a);
    for (uint32_t e = 0; e < i->n_vec; e++)
        v[e] = operand_of(k, f, slots[e]);
    bool global = i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC;
    uint32_t n = global ? consecutive(a, mask, each) : 0, first = (uint32_t)__builtin_ctz(mask);
    place pl;
    uint8_t *p =
        n ? range_begin(k, w, a[first], n * each, each, first, true, i->flags & F_STRONG, &pl) : NULL;
    if (p) {
        for (uint32_t l = 0; l < n; l++)
            for (uint32_t e = 0; e < i->n_vec; e++)
                memcpy(p + l * each + e * i->sub, &v[e][first + l], i->sub);
        range_end(k, &pl, a[first], n * each);
        return;
    }
    if (i->flags & F_RELEASE && k->x->released && k->fenced)
        k->x->released[k->block] = k->release_at;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint8_t bytes[32];
        want q = {.space = i->space, .write = true, .is_atomic = i->flags & F_STRONG, .bytes = each};
        place locked;
        for (uint32_t e = 0; e < i->n_vec; e++)
            memcpy(bytes + e * i->sub, &v[e][l], i->sub);
        p = lane_begin(k, w, f, i, l, a[l], &q, bytes, &locked);
        if (p)
            memcpy(p, bytes, each);
        lane_end(k, a[l], each, &locked);
    }
}

void run_cp_async(worker *k, warp *w, frame *f, const insn *i, uint32_t mask)
{
    uint64_t to[LANES], from[LANES];
    const uint64_t *sizes = operand_of(k, f, i->src[2]);
    addresses(k, f, i->src[0], i->imm, to);
    addresses(k, f, i->src[1], (int64_t)i->mask, from);
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t n = (uint32_t)sizes[l] < i->sub ? (uint32_t)sizes[l] : i->sub;
        uint8_t bytes[16] = {0};
        place locked;
        if (from[l] & (i->sub - 1u))
            note_access(k, w, f, i, l, EMU_FIND_MISALIGNED, SPACE_GLOBAL, from[l], i->sub, false);
        for (uint64_t b = 0; b < n; b++) {
            want q = {.space = SPACE_GLOBAL, .bytes = 1};
            const uint8_t *p = lane_begin(k, w, f, i, l, from[l] + b, &q, NULL, &locked);
            if (p)
                bytes[b] = *p;
            lane_end(k, from[l] + b, 1, &locked);
        }
        want q = {.space = SPACE_SHARED, .write = true, .bytes = i->sub};
        uint8_t *p = lane_begin(k, w, f, i, l, to[l], &q, bytes, &locked);
        if (p)
            memcpy(p, bytes, i->sub);
    }
}

uint8_t *access_atomic(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                       uint64_t bytes)
{
    want q = {.space = i->space, .write = true, .is_atomic = true, .update = true, .bytes = bytes};
    place locked;
    uint8_t *p = lane_begin(k, w, f, i, lane, address, &q, NULL, &locked);
    lane_end(k, address, bytes, &locked); /* atomics on global memory run in one thread */
    if (p && (q.space == SPACE_LOCAL || q.space == SPACE_PARAM_ENTRY))
        note_access(k, w, f, i, lane, EMU_FIND_BOUNDS, q.space, address & ~WINDOW_MASK, bytes, true);
    return p;
}
