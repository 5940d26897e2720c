/* The state of a launch: what all host threads share, what each has, blocks, warps, strands, frames.
 *
 * A strand is a set of lanes at one instruction of one frame. A warp begins as one; a branch that lanes take
 * differently splits it, and strands that meet at one instruction become one again. The one furthest behind
 * in the deepest call runs first, which is where lanes of structured code meet. A strand that needs others (a
 * barrier, a shuffle) waits. */
#ifndef EMU_RUN_H
#define EMU_RUN_H

#include "gpu/emu/exec.h"
#include "gpu/emu/memory_priv.h"
#include "gpu/emu/module.h"
#include <stdatomic.h>

enum { MAX_WARPS = 32, N_BARRIERS = 16, MAX_CALL_DEPTH = 48, MAX_RECORDS = 512, MAX_UNDO = 1 << 20 };

typedef struct frame {
    struct frame *parent;
    const ptx_func *f;
    const insn *code;
    const call_site *site;
    uint32_t index; /* of the function */
    uint32_t ret_pc, lanes, cc;
    uint32_t depth;
    uint64_t local_base;
    uint64_t *r;
    uint32_t *p;
    uint8_t *params; /* f->param_mem bytes a lane */
    struct frame *next_free;
} frame;

typedef enum { RUNNABLE, WAIT_WARP, WAIT_BARRIER } strand_state;

typedef struct {
    uint32_t mask, pc;
    frame *fr;
    uint8_t state;
    bool released; /* its barrier has opened */
    bool counted;  /* the instruction at pc, which it tried before */
} strand;

typedef struct {
    strand s[LANES];
    uint32_t n, cur;
    uint32_t valid, exited;
    uint32_t index;
    uint32_t segment, clock;
    uint32_t seen[MAX_WARPS]; /* clocks of the other warps up to which what they did is ordered before us */
    bool blocked, done;
    uint32_t barrier;               /* where it waits */
    uint32_t red_count, red_voters; /* what the barrier that opened last found */
    uint64_t ticks;
} warp;

typedef struct {
    uint32_t arrived_threads, warps; /* mask of waiting or arrived warps */
    uint32_t waiting;                /* mask of those that wait */
    uint32_t expected;               /* 0: all */
    uint32_t count;                  /* threads whose predicate holds */
    uint32_t voters;
    uint32_t joined[MAX_WARPS];
} barrier_state;

/* A finding before it gets its words. */
typedef struct {
    emu_find kind;
    uint32_t function, pc;
    uint64_t block, order, count;
    uint32_t lane_thread;
    uint8_t space;
    bool has_address, write, other_known;
    uint64_t address, bytes;
    uint64_t other_block;
    uint32_t other_thread;
    bool other_write;
    char text[96];
} record;

typedef struct {
    mem_allocation *a;
    uint64_t page;
    uint8_t *bytes; /* page and its states */
} undo;

typedef struct {
    rp_err *e;
    emu_memory *mem;
    const ptx_module *m;
    const ptx_func *entry;
    uint32_t entry_index;
    const insn **code; /* of each function */
    const emu_launch *l;
    uint64_t n_blocks;
    uint32_t n_threads, n_warps;
    uint64_t shared_static, shared_dynamic;
    const uint8_t *shared_template;
    uint32_t first_segment;
    bool serial, races;
    uint64_t budget;
    _Atomic uint64_t next_block, used;
    _Atomic bool stop, conflict, no_memory, segments_gone;
    uint32_t
        *released; /* serial: of each block, the segment before which its accesses were released; or NULL */
} launch;

typedef struct {
    launch *x;
    uint64_t block;
    uint32_t ctaid[3];
    warp *warps;
    barrier_state bars[N_BARRIERS];
    uint8_t *shared, *shared_state;
    uint32_t *shared_w, *shared_r1, *shared_r2;
    uint64_t shared_bytes;
    uint8_t *local, *local_state; /* of all threads */
    uint64_t local_stride;
    frame **free_frames; /* by function */
    uint64_t **counts;   /* by function, by instruction */
    record *records;
    uint32_t n_records;
    uint64_t order, instructions, prints, limit;
    const mem_buffer *last_buffer;
    mem_allocation *last_allocation;
    undo *undos;
    uint32_t n_undos, cap_undos;
    bool acquired, fenced;
    bool stop_block; /* a fatal finding */
    uint32_t release_at;
    const insn *now; /* for findings */
    uint32_t now_function;
} worker;

/* report.c. lane < LANES; text may be "". */
record *note(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, emu_find kind,
             const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* The same with an address. */
record *note_access(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, emu_find kind,
                    uint8_t space, uint64_t address, uint64_t bytes, bool write);
RP_MUST rp_code report_build(rp_err *e, emu_report *out, scratch *sc, launch *x, worker **ks, uint32_t n);
rp_code report_parameters(rp_err *e, emu_report *out, scratch *sc, const char *kernel, const char *message);

/* block.c: run one block to its end. */
void block_run(worker *k, uint64_t block);
RP_MUST bool worker_init(worker *k, launch *x);
void worker_clear(worker *k);

/* frames.c */
frame *frame_new(worker *k, uint32_t function, frame *parent, uint32_t mask);
void frame_free(worker *k, frame *f);

/* warp.c: until it is done, waits at a barrier, or must stop. */
void warp_run(worker *k, warp *w);
/* A new segment begins: what was done before is told apart from what comes. */
void warp_new_segment(worker *k, warp *w);

/* access.c */
void run_load(worker *k, warp *w, frame *f, const insn *i, uint32_t mask);
void run_store(worker *k, warp *w, frame *f, const insn *i, uint32_t mask);
void run_cp_async(worker *k, warp *w, frame *f, const insn *i, uint32_t mask);
/* Place of one lane's bytes for an atomic, checked and marked; NULL when it may not be touched. */
uint8_t *access_atomic(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, uint64_t address,
                       uint64_t bytes);
/* atomics.c */
void run_atomic(worker *k, warp *w, frame *f, const insn *i, uint32_t mask);
/* warpops.c: false when the strand must wait for lanes. */
bool run_warp_op(worker *k, warp *w, frame *f, const insn *i, uint32_t mask, uint32_t strand_mask,
                 bool forced);
void run_special(worker *k, const warp *w, frame *f, const insn *i, uint32_t mask);
/* barrier.c: true when the strand goes on at once. */
bool run_barrier(worker *k, warp *w, strand *s, const insn *i, uint32_t mask);
/* All strands of the warp wait, and not at one barrier: say so and let it arrive where most wait. */
void barrier_diverged(worker *k, warp *w);
/* Open what can open; whether anything did. */
bool barriers_settle(worker *k);

static inline const uint64_t *operand_of(const worker *k, const frame *f, int32_t src)
{
    return src >= 0 ? f->r + (size_t)src * LANES : k->x->m->consts[~src];
}

static inline void put(frame *f, int32_t dst, const uint64_t *v, uint32_t mask)
{
    uint64_t *d = f->r + (size_t)dst * LANES;
    if (mask == EMU_FULL) {
        memcpy(d, v, LANES * sizeof *d);
        return;
    }
    for (int l = 0; l < LANES; l++)
        d[l] = mask >> l & 1 ? v[l] : d[l];
}

static inline void put_pred(frame *f, int32_t dst, uint32_t v, uint32_t mask)
{
    f->p[dst] = (f->p[dst] & ~mask) | (v & mask);
}

#endif
