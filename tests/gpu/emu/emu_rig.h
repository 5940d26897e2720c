/* Running one entry of a corpus on the emulator, and comparing it with a model in C. */
#ifndef TESTS_EMU_RIG_H
#define TESTS_EMU_RIG_H

#include "artifacts/base/dtype.h"
#include "gpu/emu/exec.h"

/* NONE ends a list. IN is filled, OUT never written before, BOTH is filled and compared; VALUE is passed by
 * value (lo). */
typedef enum { NONE, IN, OUT, BOTH, VALUE } arg_kind;
/* How a buffer is filled: from lo to hi at random; a permutation of its indices; 0, 3, 6, … */
typedef enum { UNIFORM, PERMUTED, SORTED } arg_fill;

typedef struct {
    arg_kind kind;
    dtype type;
    uint64_t n; /* elements */
    double lo, hi;
    arg_fill fill;
} rig_arg;

enum { RIG_MAX_ARGS = 8 };

typedef struct {
    const char *module, *entry; /* MODULE.ptx in the corpus */
    uint32_t grid[3], block[3];
    rig_arg args[RIG_MAX_ARGS];
    void (*model)(void *const *p); /* p[i] is argument i's bytes; writes what is expected into OUT and BOTH */
    bool near;                     /* within the pass rule, not bit for bit: the kernel approximates */
    uint64_t shared_bytes;
} rig_case;

/* Deterministic bytes of argument `index`. */
void rig_fill(const rig_arg *a, unsigned index, void *out);

typedef struct {
    scratch *sc;
    ptx_module *module;
    emu_memory *mem;
    void *bytes[RIG_MAX_ARGS];      /* as filled */
    uint64_t address[RIG_MAX_ARGS]; /* 0 of a value */
    uint32_t buffer[RIG_MAX_ARGS];
    uint64_t n_args;
    emu_report report;
} rig_run;

/* Parse FOLDER/MODULE.ptx, fill, run with `threads`. Asserts what cannot fail; the report says the rest. */
void rig_open(rig_run *r, const char *folder, const rig_case *c);
void rig_launch(rig_run *r, const rig_case *c, uint32_t threads);
void rig_close(rig_run *r);
/* The whole of it: no finding, every output written, equal to the model; and the same bytes with 1 thread and
 * with 3. */
void rig_check(const char *folder, const rig_case *c);
/* What an argument's buffer holds now. */
const void *rig_bytes(rig_run *r, const rig_case *c, unsigned index);

#endif
