/* The front end: PTX text as NVRTC, Triton and Numba print it, parsed strictly into instructions for the
 * interpreter.
 *
 *   module    = .version .target .address_size { variable | function | debug section | .file }
 *   function  = .entry or .func with parameters and a body of declarations, labels, scopes and instructions
 *
 * A module that breaks the grammar is an error (RP_INVALID, `where` is "line:column"). An instruction, a
 * modifier or a special register outside the emulated set does not fail the module: the functions that reach
 * it are refused by its name, so that the other entries still run and nothing is ever skipped. */
#ifndef EMU_PTX_H
#define EMU_PTX_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

typedef struct ptx_module ptx_module;

typedef struct {
    const char *name, *type; /* type as declared, without the dot: "u64", "b8" … */
    uint64_t offset_bytes, bytes, align;
    bool pointer; /* declared .ptr */
} ptx_param;

typedef struct {
    const char *name;
    uint64_t n_params, param_bytes; /* param_bytes: extent of the whole parameter block */
    const ptx_param *params;
    uint64_t static_shared_bytes;    /* of the entry and all that it calls */
    uint64_t local_bytes;            /* of the entry's own frame, a thread */
    uint64_t n_instructions;         /* of the entry's own body */
    uint32_t reqntid[3], maxntid[3]; /* 0,0,0 when not given */
    bool dynamic_shared;             /* an unsized .extern .shared array is declared */
    bool approximate;  /* it or a callee has an instruction whose hardware result is not specified bit for bit
                        */
    bool contractible; /* … a pair of unsuffixed f32 or f64 mul and add or sub that ptxas may contract */
    bool global_atomics; /* … an atomic that may address global memory: blocks then run one after the other */
    bool prints;         /* … a call of vprintf, which is ignored */
    const char *refused; /* "" or the first instruction that is not emulated, as written */
    uint64_t refused_line, refused_column;
} ptx_entry;

/* A .global or .const variable, placed at the address that ptx_parse was told to begin with. */
typedef struct {
    const char *name;
    uint64_t address, bytes, align;
    bool constant; /* .const: the kernel may not write it */
} ptx_global;

/* Everything is lent by sc. Globals are placed from globals_address (a multiple of 256) on. `file` is for
 * messages. */
RP_MUST rp_code ptx_parse(rp_err *e, ptx_module **out, scratch *sc, const char *file, span text,
                          uint64_t globals_address);

uint64_t ptx_n_entries(const ptx_module *m);
const ptx_entry *ptx_entry_at(const ptx_module *m, uint64_t index);
/* NULL when the module has no entry of that name. */
const ptx_entry *ptx_entry_find(const ptx_module *m, const char *name);
uint64_t ptx_n_globals(const ptx_module *m);
const ptx_global *ptx_global_at(const ptx_module *m, uint64_t index);
/* "9.0", "sm_90a" as written. */
const char *ptx_version(const ptx_module *m);
const char *ptx_target(const ptx_module *m);

#endif
