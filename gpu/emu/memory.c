#include "artifacts/base/ck.h"
#include "gpu/emu/memory_priv.h"
#include "gpu/emu/module.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ADDRESS_LOW UINT64_C(4096)
#define ADDRESS_HIGH (UINT64_C(1) << 47)

static void *map_zero(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t n)
{
    if (p)
        munmap(p, n);
}

static size_t pages_of(const mem_allocation *a)
{
    return (a->mapped >> PAGE_BITS) + 1;
}

emu_memory *emu_memory_new(void)
{
    emu_memory *m = calloc(1, sizeof *m);
    if (m && !(m->sc = scratch_new(0))) {
        free(m);
        return NULL;
    }
    if (m)
        atomic_store(&m->next_segment, 1);
    return m;
}

void emu_memory_free(emu_memory *m)
{
    if (!m)
        return;
    for (uint32_t k = 0; k < m->n_allocations; k++) {
        mem_allocation *a = &m->allocations[k];
        unmap(a->data, a->mapped);
        unmap(a->state, a->mapped);
        unmap(a->w, a->mapped * 4);
        unmap(a->r1, a->mapped * 4);
        unmap(a->r2, a->mapped * 4);
        free(a->lock);
        free(a->saved);
        free(a->live);
    }
    unmap(m->segment_block, (size_t)SEGMENTS_MAX * 4);
    unmap(m->segment_warp, (size_t)SEGMENTS_MAX * 4);
    free(m->allocations);
    free(m->by_address);
    free(m->buffers);
    scratch_free(m->sc);
    free(m);
}

static bool more(void *array_ptr, uint32_t n, uint32_t *cap, size_t size)
{
    void **array = array_ptr;
    if (n < *cap)
        return true;
    uint32_t bigger = *cap ? *cap * 2 : 16;
    void *v = realloc(*array, bigger * size);
    if (!v)
        return false;
    *array = v;
    *cap = bigger;
    return true;
}

rp_code emu_memory_map(rp_err *e, uint32_t *id, emu_memory *m, const char *name, uint64_t address,
                       uint64_t bytes, uint64_t guard_bytes)
{
    uint64_t lo = 0, hi = 0, all = 0;
    if (bytes == 0 || !ck_sub_u64(address, guard_bytes, &lo) || !ck_add_u64(address, bytes, &hi) ||
        !ck_add_u64(hi, guard_bytes, &hi) || lo < ADDRESS_LOW || hi > ADDRESS_HIGH ||
        !ck_align_u64(bytes, PAGE_BYTES, &all) || all > UINT64_C(1) << 40)
        return err_set(e, RP_USAGE, "%s: a range of addresses that device memory does not have", name);
    uint32_t at = 0;
    while (at < m->n_allocations && m->allocations[m->by_address[at]].address < address)
        at++;
    for (uint32_t k = at ? at - 1 : 0; k < m->n_allocations && k <= at; k++) {
        const mem_allocation *o = &m->allocations[m->by_address[k]];
        if (ck_overlap(lo, hi - lo, o->address - o->guard, o->bytes + 2 * o->guard))
            return err_set(e, RP_USAGE, "%s shares addresses with %s", name, o->name);
    }
    uint32_t cap = m->cap_allocations;
    if (!more(&m->by_address, m->n_allocations, &cap, sizeof *m->by_address) ||
        !more(&m->allocations, m->n_allocations, &m->cap_allocations, sizeof *m->allocations))
        return err_nomem(e);
    mem_allocation a = {.name = scratch_strdup(m->sc, name),
                        .address = address,
                        .bytes = bytes,
                        .guard = guard_bytes,
                        .mapped = (size_t)all};
    a.data = map_zero(a.mapped);
    a.state = map_zero(a.mapped);
    if (!a.name || !a.data || !a.state) {
        unmap(a.data, a.mapped);
        unmap(a.state, a.mapped);
        return err_nomem(e);
    }
    memmove(m->by_address + at + 1, m->by_address + at, (m->n_allocations - at) * sizeof *m->by_address);
    m->by_address[at] = m->n_allocations;
    m->allocations[m->n_allocations] = a;
    *id = m->n_allocations++;
    return RP_OK;
}

rp_code emu_buffer_add(rp_err *e, uint32_t *id, emu_memory *m, uint32_t allocation, const char *name,
                       uint64_t offset_bytes, uint64_t bytes, bool writable)
{
    if (allocation >= m->n_allocations || !ck_inside(offset_bytes, bytes, m->allocations[allocation].bytes) ||
        bytes == 0)
        return err_set(e, RP_USAGE, "%s: a buffer outside its allocation", name);
    mem_allocation *a = &m->allocations[allocation];
    uint64_t address = a->address + offset_bytes;
    uint32_t at = 0;
    while (at < a->n_live && m->buffers[a->live[at]].address < address)
        at++;
    for (uint32_t k = at ? at - 1 : 0; k < a->n_live && k <= at; k++)
        if (ck_overlap(address, bytes, m->buffers[a->live[k]].address, m->buffers[a->live[k]].bytes))
            return err_set(e, RP_USAGE, "%s shares bytes with %s, which is alive", name,
                           m->buffers[a->live[k]].name);
    if (!more(&a->live, a->n_live, &a->cap_live, sizeof *a->live) ||
        !more(&m->buffers, m->n_buffers, &m->cap_buffers, sizeof *m->buffers))
        return err_nomem(e);
    char *copy = scratch_strdup(m->sc, name);
    if (!copy)
        return err_nomem(e);
    for (uint64_t k = 0; k < bytes; k++)
        if (a->state[offset_bytes + k] != EMU_NEVER)
            a->state[offset_bytes + k] = EMU_LEFT;
    m->buffers[m->n_buffers] = (mem_buffer){copy, address, bytes, allocation, true, writable, true, true};
    memmove(a->live + at + 1, a->live + at, (a->n_live - at) * sizeof *a->live);
    a->live[at] = m->n_buffers;
    a->n_live++;
    *id = m->n_buffers++;
    return RP_OK;
}

void emu_buffer_free(emu_memory *m, uint32_t id)
{
    if (id >= m->n_buffers || !m->buffers[id].alive)
        return;
    mem_buffer *b = &m->buffers[id];
    mem_allocation *a = &m->allocations[b->allocation];
    b->alive = false;
    memset(a->state + (b->address - a->address), EMU_LEFT, b->bytes);
    for (uint32_t k = 0; k < a->n_live; k++)
        if (a->live[k] == id) {
            memmove(a->live + k, a->live + k + 1, (a->n_live - k - 1) * sizeof *a->live);
            a->n_live--;
            break;
        }
}

void emu_buffer_allow(emu_memory *m, uint32_t id, bool read, bool write)
{
    if (id >= m->n_buffers)
        return;
    m->buffers[id].read = read;
    m->buffers[id].write = write;
}

rp_code emu_memory_map_module(rp_err *e, emu_memory *m, const ptx_module *module)
{
    for (uint32_t k = 0; k < module->n_globals; k++) {
        const ptx_global *g = &module->globals[k];
        uint32_t allocation, buffer;
        if (emu_memory_map(e, &allocation, m, g->name, g->address, g->bytes, 64) ||
            emu_buffer_add(e, &buffer, m, allocation, g->name, 0, g->bytes, !g->constant))
            return e->code;
        mem_allocation *a = &m->allocations[allocation];
        if (module->global_init[k])
            memcpy(a->data, module->global_init[k], g->bytes);
        memset(a->state, EMU_WRITTEN, g->bytes); /* zeros where no value is given */
    }
    return RP_OK;
}

mem_allocation *mem_allocation_at(const emu_memory *m, uint64_t address)
{
    uint32_t lo = 0, hi = m->n_allocations;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->allocations[m->by_address[mid]].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    mem_allocation *a = &m->allocations[m->by_address[lo - 1]];
    return address - a->address < a->bytes ? a : NULL;
}

const mem_buffer *mem_buffer_at(const emu_memory *m, const mem_allocation *a, uint64_t address)
{
    uint32_t lo = 0, hi = a->n_live;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->buffers[a->live[mid]].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    const mem_buffer *b = &m->buffers[a->live[lo - 1]];
    return address - b->address < b->bytes ? b : NULL;
}

uint8_t *emu_memory_data(emu_memory *m, uint64_t address, uint64_t bytes)
{
    mem_allocation *a = mem_allocation_at(m, address);
    return a && ck_inside(address - a->address, bytes, a->bytes) ? a->data + (address - a->address) : NULL;
}

const uint8_t *emu_memory_states(const emu_memory *m, uint64_t address, uint64_t bytes)
{
    const mem_allocation *a = mem_allocation_at(m, address);
    return a && ck_inside(address - a->address, bytes, a->bytes) ? a->state + (address - a->address) : NULL;
}

void emu_memory_mark(emu_memory *m, uint64_t address, uint64_t bytes, uint8_t state)
{
    mem_allocation *a = mem_allocation_at(m, address);
    if (a && ck_inside(address - a->address, bytes, a->bytes))
        memset(a->state + (address - a->address), state, bytes);
}

/* Why address is in no live buffer. */
static emu_fault outside(const emu_memory *m, uint64_t address)
{
    for (uint32_t k = 0; k < m->n_buffers; k++)
        if (!m->buffers[k].alive && address >= m->buffers[k].address &&
            address - m->buffers[k].address < m->buffers[k].bytes)
            return EMU_FAULT_DEAD;
    for (uint32_t k = 0; k < m->n_allocations; k++) {
        const mem_allocation *a = &m->allocations[k];
        uint64_t lo = a->address - a->guard;
        if (address >= lo && address - lo < a->bytes + 2 * a->guard &&
            (address < a->address || address >= a->address + a->bytes))
            return EMU_FAULT_GUARD;
    }
    return EMU_FAULT_BOUNDS;
}

emu_fault emu_memory_check(const emu_memory *m, uint64_t address, uint64_t bytes, bool write, uint64_t *at)
{
    uint64_t end = 0;
    *at = address;
    if (!ck_add_u64(address, bytes, &end))
        return EMU_FAULT_BOUNDS;
    const mem_allocation *a = mem_allocation_at(m, address);
    const mem_buffer *b = a ? mem_buffer_at(m, a, address) : NULL;
    if (!b)
        return outside(m, address);
    if (write ? !b->write : !b->read)
        return EMU_FAULT_DENIED;
    if (write && !b->writable)
        return EMU_FAULT_READ_ONLY;
    uint64_t inside = b->address + b->bytes < end ? b->address + b->bytes : end;
    if (!write) {
        const uint8_t *state = a->state + (address - a->address);
        for (uint64_t k = 0; k < inside - address; k++)
            if (state[k] != EMU_WRITTEN) {
                *at = address + k;
                return state[k] == EMU_LEFT ? EMU_FAULT_DEAD : EMU_FAULT_UNWRITTEN;
            }
    }
    if (inside < end) {
        *at = inside;
        emu_fault f = outside(m, inside);
        return f == EMU_FAULT_BOUNDS || f == EMU_FAULT_GUARD || f == EMU_FAULT_DEAD ? f : EMU_FAULT_BOUNDS;
    }
    return EMU_FAULT_NONE;
}

static uint64_t distance(const mem_buffer *b, uint64_t address)
{
    return address < b->address              ? b->address - address
           : address - b->address < b->bytes ? 0
                                             : address - b->address - b->bytes + 1;
}

static const mem_buffer *nearest(const emu_memory *m, uint64_t address)
{
    const mem_buffer *best = NULL;
    for (uint32_t k = 0; k < m->n_buffers; k++) {
        const mem_buffer *b = &m->buffers[k];
        if (!best || distance(b, address) < distance(best, address) ||
            (distance(b, address) == distance(best, address) && b->alive >= best->alive))
            best = b;
    }
    return best;
}

const char *emu_memory_name(const emu_memory *m, uint64_t address, int64_t *offset_bytes)
{
    const mem_buffer *b = nearest(m, address);
    *offset_bytes = 0;
    if (!b)
        return "";
    *offset_bytes =
        address >= b->address ? (int64_t)(address - b->address) : -(int64_t)(b->address - address);
    return b->name;
}

void emu_memory_describe(const emu_memory *m, uint64_t address, char *out, size_t out_bytes)
{
    const mem_buffer *b = nearest(m, address);
    if (!b)
        snprintf(out, out_bytes, "address 0x%llx", (unsigned long long)address);
    else if (address < b->address)
        snprintf(out, out_bytes, "%llu bytes before %s", (unsigned long long)(b->address - address), b->name);
    else if (address - b->address < b->bytes)
        snprintf(out, out_bytes, "%s + %llu", b->name, (unsigned long long)(address - b->address));
    else
        snprintf(out, out_bytes, "%llu bytes past the end of %s (%llu bytes)",
                 (unsigned long long)(address - b->address - b->bytes), b->name,
                 (unsigned long long)b->bytes);
}

static rp_code shadow_map(rp_err *e, mem_allocation *a)
{
    if (a->w)
        return RP_OK;
    size_t n = a->mapped * 4;
    a->lock = calloc(pages_of(a), sizeof *a->lock);
    a->saved = calloc(pages_of(a), sizeof *a->saved);
    a->r1 = map_zero(n);
    a->r2 = map_zero(n);
    a->w = map_zero(n);
    if (a->lock && a->saved && a->r1 && a->r2 && a->w)
        return RP_OK;
    free(a->lock);
    free(a->saved);
    unmap(a->r1, n);
    unmap(a->r2, n);
    unmap(a->w, n);
    a->lock = NULL;
    a->saved = NULL;
    a->w = a->r1 = a->r2 = NULL;
    return err_nomem(e);
}

rp_code mem_begin_launch(rp_err *e, emu_memory *m)
{
    for (uint32_t k = 0; k < m->n_allocations; k++)
        if (shadow_map(e, &m->allocations[k]))
            return e->code;
    if (!m->segment_block)
        m->segment_block = map_zero((size_t)SEGMENTS_MAX * 4);
    if (!m->segment_warp)
        m->segment_warp = map_zero((size_t)SEGMENTS_MAX * 4);
    if (!m->segment_block || !m->segment_warp)
        return err_nomem(e);
    if (atomic_load(&m->next_segment) > SEGMENTS_MAX / 2) {
        for (uint32_t k = 0; k < m->n_allocations; k++) {
            mem_allocation *a = &m->allocations[k];
            madvise(a->w, a->mapped * 4, MADV_DONTNEED);
            madvise(a->r1, a->mapped * 4, MADV_DONTNEED);
            madvise(a->r2, a->mapped * 4, MADV_DONTNEED);
        }
        atomic_store(&m->next_segment, 1);
    }
    m->launches++;
    return RP_OK;
}
