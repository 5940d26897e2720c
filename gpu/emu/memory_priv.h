/* The inside of emu_memory, for the interpreter. */
#ifndef EMU_MEMORY_PRIV_H
#define EMU_MEMORY_PRIV_H

#include "gpu/emu/memory.h"
#include <stdatomic.h>

enum { PAGE_BITS = 12, PAGE_BYTES = 1 << PAGE_BITS };

typedef struct {
    const char *name;
    uint64_t address, bytes;
    uint32_t allocation;
    bool alive, writable, read, write;
} mem_buffer;

typedef struct {
    const char *name;
    uint64_t address, bytes, guard;
    uint8_t *data, *state;
    /* Of each byte: last writer, and two readers since (shadow.h). NULL until a launch. */
    uint32_t *w, *r1, *r2;
    _Atomic uint8_t *lock; /* of each page, while blocks run side by side */
    uint32_t *saved;       /* launch in which a page was kept for undoing */
    uint32_t *live;        /* ids of live buffers by address */
    uint32_t n_live, cap_live;
    size_t mapped;
} mem_allocation;

struct emu_memory {
    scratch *sc;
    mem_allocation *allocations; /* by id */
    uint32_t n_allocations, cap_allocations;
    uint32_t *by_address; /* ids of allocations */
    mem_buffer *buffers;
    uint32_t n_buffers, cap_buffers;
    _Atomic uint32_t next_segment;
    uint32_t *segment_block, *segment_warp; /* who a segment is; warp in the low 5 bits, its clock above */
    uint32_t launches;
};

enum { SEGMENTS_MAX = 1 << 25 };

mem_allocation *mem_allocation_at(const emu_memory *m, uint64_t address);
/* The live buffer in which address lies, or NULL. */
const mem_buffer *mem_buffer_at(const emu_memory *m, const mem_allocation *a, uint64_t address);
/* Have shadows, locks and segment tables; forget old segments when they run short. */
RP_MUST rp_code mem_begin_launch(rp_err *e, emu_memory *m);

#endif
