/* A parsed module as the interpreter runs it. Registers are numbered slots of 32 lanes of 64 bits,
 * zero-extended from their declared width; predicates are slots of 32 bits, a bit a lane. Slot 0 of either
 * takes what nobody wants. */
#ifndef EMU_MODULE_H
#define EMU_MODULE_H

#include "gpu/emu/ptx.h"
#include "gpu/emu/types.h"

enum { LANES = 32, DYNAMIC_SHARED = 1 << 24 }; /* where dynamic shared memory begins; static begins at 0 */
#define EMU_FULL UINT32_C(0xffffffff)

/* Windows of generic addresses. Global and constant memory are where they are. */
#define WINDOW_SHARED (UINT64_C(1) << 56)
#define WINDOW_LOCAL (UINT64_C(2) << 56)
#define WINDOW_PARAM (UINT64_C(3) << 56)
#define WINDOW_CODE (UINT64_C(4) << 56)
#define WINDOW_MASK (UINT64_C(0xff) << 56)

typedef enum {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL,
    SPACE_CONST,
    SPACE_PARAM_ENTRY, /* parameters of the entry: read only, equal in all lanes */
    SPACE_PARAM,       /* parameters of functions and of calls: bytes of each lane in the frame */
} ptx_space;

typedef enum {
    K_NOP,
    K_REFUSED,
    K_ALU,      /* dst = fn(src[0..3]) lane by lane */
    K_ALU_PRED, /* the same, low bits of lanes become a predicate: dst2, and dst3 its complement; combine says
                   how */
    K_SELP,     /* dst = src[2] as predicate ? src[0] : src[1] */
    K_PLOGIC,   /* predicates dst2 = combine(src[0], src[1]) */
    K_PACK,     /* dst = vec elements packed, `sub` bits each */
    K_UNPACK,   /* vec elements = parts of src[0] */
    K_SPECIAL,  /* dst = special register imm */
    K_ADDRESS,  /* dst = address imm of the frame's local memory */
    K_CARRY,    /* add.cc … madc: sub says which */
    K_LD,
    K_ST,
    K_ATOM,
    K_CP_ASYNC,
    K_BRA,
    K_BRX,
    K_CALL,
    K_RET,
    K_EXIT,
    K_BAR,
    K_BAR_WARP,
    K_SHFL,
    K_VOTE,
    K_MATCH,
    K_REDUX,
    K_ACTIVEMASK,
    K_ELECT,
    K_FENCE,
    K_TRAP,
    K_ISSPACEP,
} insn_kind;

typedef enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR, BOOL_NOT, BOOL_MOV } ptx_bool;

/* insn.flags */
enum {
    F_FTZ = 1,
    F_SAT = 2,
    F_APPROX = 4,
    F_UNROUNDED = 8, /* f32 or f64 mul, add, sub without a rounding modifier */
    F_STRONG = 16,   /* volatile, relaxed, acquire, release: does not race with its like */
    F_RELEASE = 32,
    F_ACQUIRE = 64,
    F_NOT_C = 128, /* the predicate operand of src[2] is negated */
    F_NAN = 256,
    F_RELU = 512,
    F_XORSIGN = 1024,
    F_SIGNED = 2048,
    F_RED = 4096,     /* an atomic without a result */
    F_ALIGNED = 8192, /* of bar */
    F_COUNT = 16384,  /* bar with a thread count in src[1] */
    F_NOT_A = 32768,
    F_HI = 65536,  /* madc.hi, sub-selectors */
    F_CC = 131072, /* writes the carry */
    F_ABS = 262144,
};

enum { RND_NONE, RND_RN, RND_RZ, RND_RM, RND_RP, RND_RNA };

typedef struct insn insn;
/* s: up to four sources, each 32 lanes; d overlaps none of them. */
typedef void alu_fn(const insn *i, uint64_t *restrict d, const uint64_t *const s[4]);

struct insn {
    uint8_t kind, sub, type, stype, space, combine, rnd, n_vec;
    bool guard_not;
    uint8_t dst_bits;
    uint32_t guard; /* predicate slot, 0: none */
    uint32_t flags;
    int32_t dst, dst2, dst3;
    int32_t src[4]; /* register slot, or ~index of a constant; predicates: slot */
    alu_fn *fn;
    int64_t imm;
    uint64_t mask;          /* of the result's bits */
    uint32_t target, extra; /* branch; table, vector elements */
    uint32_t line, loc, name;
};

typedef struct {
    uint32_t file, line;
} ptx_loc;

/* Parameters of a function, formal or actual. */
typedef struct {
    bool reg; /* in a register: slot */
    ptx_type type;
    int32_t slot;
    uint32_t offset, bytes;
} call_param;

typedef struct {
    uint32_t function; /* UINT32_MAX: indirect, address in insn.src[0] */
    uint32_t n_ret, n_arg;
    call_param *ret, *arg;
} call_site;

enum { BUILTIN_NONE, BUILTIN_VPRINTF, BUILTIN_ASSERT };

typedef struct {
    const char *name;
    bool entry, has_body, declared_only, recursive;
    uint8_t builtin;
    insn *code;
    uint32_t n_code;
    uint32_t n_regs, n_preds; /* slots, 0 included */
    uint32_t param_mem;       /* bytes a lane: formals and the callers' call blocks */
    uint32_t local_bytes;     /* a thread */
    uint32_t n_ret, n_arg;    /* formals of a .func */
    call_param *ret, *arg;
    ptx_entry info; /* of an entry; the flags and `refused` for both */
    uint32_t *calls;
    uint32_t n_calls;
    bool calls_indirect;
} ptx_func;

typedef struct {
    const char *name;
    uint64_t offset, bytes;
} ptx_shared;

typedef struct {
    uint64_t offset;
    const uint8_t *bytes; /* NULL: zeros */
} ptx_init;

struct ptx_module {
    const char *version, *target, *file;
    ptx_func *funcs;
    uint32_t n_funcs;
    const ptx_entry **entries;
    uint32_t n_entries;
    ptx_global *globals;
    const uint8_t **global_init;
    uint32_t n_globals;
    ptx_shared *shared;
    uint32_t n_shared;
    uint64_t shared_bytes, dynamic_align;
    uint64_t (*consts)[LANES];
    uint32_t n_consts;
    int32_t *vecs;
    uint32_t n_vecs;
    uint32_t **tables; /* of brx: entry 0 is the length */
    uint32_t n_tables;
    call_site *sites;
    uint32_t n_sites;
    const char **names; /* mnemonics */
    bool *name_approx;
    uint32_t n_names;
    const char **files; /* of .file, by number; NULL where there is none */
    uint32_t n_files;
    ptx_loc *locs; /* 0 is none */
    uint32_t n_locs;
};

#endif
