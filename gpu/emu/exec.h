/* Running one entry of a parsed module over a grid, with every access checked.
 *
 * The same bytes, counts and findings come out whatever the number of host threads: blocks run side by side
 * only as long as no two of them touch one byte in conflict; otherwise the launch is undone and run block by
 * block, in order, as are kernels with atomics on global memory. A finding never stops the kernel (a load
 * that may not be done gives zero, a store is dropped), except trap, runaway and parameter misuse. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "gpu/emu/memory.h"
#include "gpu/emu/ptx.h"

/* X(symbol, "name", "what it says") */
#define EMU_FINDINGS(X)                                                                                      \
    X(BOUNDS, "out_of_bounds", "an access outside every buffer it may touch")                                \
    X(GUARD, "guard_band", "an access in a guard band")                                                      \
    X(UNINITIALISED, "uninitialised_read", "a read of a byte never written")                                 \
    X(DEAD, "dead_access", "an access to a freed buffer, or a read of what one left behind")                 \
    X(READ_ONLY, "read_only_write", "a write to read-only memory")                                           \
    X(RACE, "race", "two unordered accesses to one byte, at least one a write")                              \
    X(MISALIGNED, "misaligned", "an address that is not a multiple of the access")                           \
    X(BARRIER, "divergent_barrier", "a barrier or warp-wide instruction that not all its threads reach")     \
    X(RUNAWAY, "runaway", "the instruction budget or the call depth is used up, or threads wait for ever")   \
    X(PARAMETERS, "parameter_misuse", "launch parameters or sizes that do not match the entry")              \
    X(TRAP, "trap", "the kernel trapped or an assertion failed")

typedef enum {
#define X(sym, name, text) EMU_FIND_##sym,
    EMU_FINDINGS(X)
#undef X
        EMU_FIND_COUNT
} emu_find;

const char *emu_find_name(emu_find kind);
const char *emu_find_summary(emu_find kind);

/* One kind at one instruction; the first thread (lowest block, then in order of execution) stands for all. */
typedef struct {
    emu_find kind;
    const char *kernel;      /* entry */
    const char *instruction; /* "st.global.f32", "" when the finding is of the launch */
    uint64_t ptx_line;       /* in the PTX text; 0 for the launch */
    const char *file;        /* from .loc, "" without */
    uint64_t line;           /* 0 without */
    uint32_t ctaid[3], tid[3];
    bool has_address;
    const char *space;    /* "global", "shared", "local", "param" */
    uint64_t address;     /* in that space */
    const char *buffer;   /* its name, or the nearest one's; "" when there is none */
    int64_t offset_bytes; /* from that buffer's start */
    uint64_t bytes;       /* width of the access of this thread */
    bool write;
    uint64_t count;      /* how often, all threads */
    const char *message; /* one line */
} emu_finding;

typedef struct {
    const char *name; /* the opcode as written, "fma.rn.f32" */
    uint64_t count;   /* thread-instructions: active lanes, guards included */
} emu_mix;

typedef struct {
    uint32_t grid[3], block[3];
    uint64_t shared_bytes; /* dynamic */
    span params;           /* the raw parameter block, laid out by ptx_entry.params */
    /* What the caller meant each parameter to be, for comparison with what is declared: n_args sizes in
     * bytes. With n_args 0 only the length of `params` is compared. */
    uint64_t n_args;
    const uint64_t *arg_bytes;
    uint32_t threads;               /* host threads, 0: 1 */
    bool contract;                  /* f32 and f64 mul feeding add or sub becomes fma, as ptxas may do */
    bool quiet_races;               /* leave out races in global memory that store the value already there */
    bool no_races;                  /* do not look for races at all */
    uint64_t max_warp_instructions; /* of the whole launch; 0: 2^36 */
} emu_launch;

typedef struct {
    uint64_t n_findings, n_mix;
    const emu_finding *findings; /* by block, then by order of execution */
    const emu_mix *mix;          /* by name */
    uint64_t warp_instructions, thread_instructions;
    uint64_t approximate_instructions; /* thread-instructions that the hardware approximates */
    uint64_t contracted;               /* pairs contracted in the code, with `contract` */
    uint64_t prints_ignored;
    bool completed;     /* false after trap, runaway or parameter misuse */
    bool serial;        /* atomics on global memory: blocks ran one after the other */
    bool races_unknown; /* more synchronisation than could be followed: races may be missed */
} emu_report;

/* Results are lent by sc. RP_UNAVAILABLE, before anything runs: the entry is not there or is refused (the
 * message names the instruction). The module's globals must have been mapped. */
RP_MUST rp_code emu_run(rp_err *e, emu_report *out, scratch *sc, emu_memory *mem, const ptx_module *m,
                        const char *entry, const emu_launch *l);
/* "kernel.cu:12 (PTX line 40) st.global.f32 by thread 3,0,0 of block 1,0,0: …" into out. */
void emu_finding_text(const emu_finding *f, char *out, size_t out_bytes);

#endif
