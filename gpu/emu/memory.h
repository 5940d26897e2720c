/* The device's global memory as the emulator sees it.
 *
 *   allocation   one range of addresses with its bytes, between guard bands; the arena is one, each external
 * buffer another buffer       a named part of an allocation, alive from buffer_add to buffer_free; live
 * buffers never share bytes
 *
 * Each byte of an allocation has a state: never written, written, or left over from a freed buffer. What lies
 * in an allocation but in no live buffer, in a guard band or nowhere may not be touched. Per launch each byte
 * also has its last writer and readers (shadow.h), which is how races are found; that part exists only once a
 * kernel touches it.
 *
 * Addresses lie in [4096, 2^47): above are the windows of shared, local and parameter memory. */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include "artifacts/base/err.h"
#include "gpu/emu/ptx.h"

typedef struct emu_memory emu_memory;

enum { EMU_NEVER = 0, EMU_WRITTEN = 1, EMU_LEFT = 2 }; /* states of a byte */

/* What is wrong with an access. */
typedef enum {
    EMU_FAULT_NONE,
    EMU_FAULT_BOUNDS,    /* in no buffer */
    EMU_FAULT_GUARD,     /* in a guard band */
    EMU_FAULT_DEAD,      /* in a buffer that was freed, or a read of what one left behind */
    EMU_FAULT_UNWRITTEN, /* a read of a byte never written */
    EMU_FAULT_READ_ONLY, /* a write to a buffer that is not writable */
    EMU_FAULT_DENIED,    /* a live buffer that this launch was not given (buffer_allow) */
} emu_fault;

/* NULL when out of memory. */
emu_memory *emu_memory_new(void);
void emu_memory_free(emu_memory *m);

/* A new allocation of bytes (> 0), all never written, with guard_bytes before and after. Its id counts from
 * 0. */
RP_MUST rp_code emu_memory_map(rp_err *e, uint32_t *id, emu_memory *m, const char *name, uint64_t address,
                               uint64_t bytes, uint64_t guard_bytes);
/* A live buffer in allocation `allocation`. Bytes that a freed buffer used become EMU_LEFT, others EMU_NEVER.
 */
RP_MUST rp_code emu_buffer_add(rp_err *e, uint32_t *id, emu_memory *m, uint32_t allocation, const char *name,
                               uint64_t offset_bytes, uint64_t bytes, bool writable);
void emu_buffer_free(emu_memory *m, uint32_t id);
/* What the coming launches may do with a buffer; both true when it is added (write still needs `writable`).
 */
void emu_buffer_allow(emu_memory *m, uint32_t id, bool read, bool write);
/* Map a module's globals (one allocation, one buffer each) with their initial bytes. No globals: nothing
 * happens. */
RP_MUST rp_code emu_memory_map_module(rp_err *e, emu_memory *m, const ptx_module *module);

/* For the host. The bytes at an address, or NULL where [address, address + bytes) is not inside one
 * allocation. */
uint8_t *emu_memory_data(emu_memory *m, uint64_t address, uint64_t bytes);
/* Their states, one byte each (EMU_NEVER …). */
const uint8_t *emu_memory_states(const emu_memory *m, uint64_t address, uint64_t bytes);
/* Set them: EMU_WRITTEN after the host stored there, EMU_NEVER to forget. */
void emu_memory_mark(emu_memory *m, uint64_t address, uint64_t bytes, uint8_t state);
/* The first byte an access of this range may not touch, or EMU_FAULT_NONE: what a kernel's load or store is
 * asked, alignment and races apart. */
emu_fault emu_memory_check(const emu_memory *m, uint64_t address, uint64_t bytes, bool write, uint64_t *at);
/* The nearest buffer, alive or dead: its name ("" when there is none at all) and the address's distance from
 * its start, negative before it. */
const char *emu_memory_name(const emu_memory *m, uint64_t address, int64_t *offset_bytes);
/* "x + 12", "4 bytes past the end of x (64 bytes)", "128 bytes before y" into out. */
void emu_memory_describe(const emu_memory *m, uint64_t address, char *out, size_t out_bytes);

#endif
