/* clang-format off */
/* The typed frozen plan, plan/plan.json, format "replay-plan/1" (docs/schemas/plan.schema.json):
 *
 *   name     of the workload
 *   policy   {resolver, arena, renderer}: named versions, or "given" for the resolver and the arena, and "opaque" for the
 *            renderer
 *   symbols  [{name, value}] sorted by name: int64 parameters, 8 bytes each (at least 8) in the parameter block
 *   buffers  [{id, label, owner, freed_by, access, dtype, layout}]
 *   nodes    in execution order; one of
 *              {op: input,  slots: [{value, buffer}]}
 *              {op: output, slots: [{value, buffer, layout}]}
 *              {op: alloc | free, buffer}
 *              {op: copy,   source, destination}
 *              {op: matmul, label, operands: [slot], destination: slot, spec}, with resolver given workspace_bytes in its place
 *              {op: kernel, label, source, entry, operands: [slot], destination: slot, grid, block, shared_bytes}
 *            a slot is {port, buffer, layout}; a kernel's arguments are the operands' pointers in order, the destination's, and
 *            the parameter block's (facts of the generated kernels: docs/exporting.md). A destination that overwrites an
 *            operand says so: {port, buffer, layout, tie: port of the operand}
 *   edges    [{from, to, buffer, port, kind: data | anti}]: both constrain order; port "reuse" orders two tenants of one
 *            arena range, of which `buffer` is the later
 *   layout   {shape, spellings: [{kind: right_major | left_major} | {kind: strided, strides}]}: all spellings describe the
 *            same placement; strides in elements, 0 for a broadcast axis
 *
 * Everything here is lent by the scratch given to plan_read. Sizes are in elements unless named bytes. */
/* clang-format on */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "artifacts/base/dtype.h"
#include "artifacts/base/err.h"
#include "artifacts/base/lt.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

enum {
    PLAN_MAX_RANK = 4,
    PLAN_MAX_SPELLINGS = 4,
    PLAN_MAX_NODES = 4096,
    PLAN_MAX_BUFFERS = 4096,
    PLAN_MAX_OPERANDS = 16
};

typedef enum { LAYOUT_RIGHT_MAJOR, LAYOUT_LEFT_MAJOR, LAYOUT_STRIDED } layout_kind;
extern const char *const layout_kind_names[];

typedef struct {
    uint64_t rank, shape[PLAN_MAX_RANK];
    uint64_t n_spellings;
    struct {
        layout_kind kind;
        uint64_t strides[PLAN_MAX_RANK]; /* of LAYOUT_STRIDED */
    } spellings[PLAN_MAX_SPELLINGS];
} layout;

typedef enum { OWNER_CALLER, OWNER_SYSTEM } plan_owner;
typedef enum { FREED_BY_CALLER, FREED_BY_PROGRAM } plan_freed_by;

typedef struct {
    const char *id, *label;
    plan_owner owner;
    plan_freed_by freed_by;
    bool writable;
    dtype type;
    layout layout;
    uint64_t bytes; /* span of the layout times the width */
} plan_buffer;

typedef struct {
    const char *port; /* name of a value for input and output */
    uint64_t buffer;
    layout layout;
} plan_slot;

typedef enum { LT_FORM_PLAIN, LT_FORM_BIAS, LT_FORM_ACCUMULATE, LT_FORM_ACCUMULATE_BIAS } lt_form;
extern const char *const lt_form_names[]; /* "CublasLt", "CublasLtBias", … */

/* LtMatmulSpec as the compiler stores it: readings are column-major views; flags precede the row/column
 * conversion. */
typedef struct {
    lt_form form;
    uint64_t m, n, k;
    bool trans_a, trans_b;
    uint64_t lda, ldb, ldc, ldd;
    dtype a, b, d;
    lt_epilogue epilogue;
} lt_spec;

typedef enum { NODE_INPUT, NODE_OUTPUT, NODE_ALLOC, NODE_FREE, NODE_COPY, NODE_MATMUL, NODE_KERNEL } node_op;
extern const char *const node_op_names[];

typedef struct {
    node_op op;
    const char *label; /* of the op; "" for input, output, alloc and free */
    uint64_t n_operands;
    plan_slot *operands; /* input and output: their slots; alloc, free: the buffer; copy: the source */
    bool has_destination;
    plan_slot destination; /* copy, matmul, kernel */
    bool tied;             /* the destination overwrites operand `tie`, element for element */
    uint64_t tie;
    lt_spec spec;             /* of a matmul; policy given has none */
    uint64_t workspace_bytes; /* of a matmul */
    const char *source, *entry;
    uint64_t grid[3], block[3], shared_bytes;
} plan_node;

typedef enum { EDGE_DATA, EDGE_ANTI } edge_kind;

typedef struct {
    uint64_t from, to, buffer;
    const char *port;
    edge_kind kind;
} plan_edge;

typedef struct {
    const char *name;
    int64_t value;
} plan_symbol;

typedef enum { RESOLVE_LUMINAL, RESOLVE_GIVEN } resolve_policy;
typedef enum { ARENA_SLAB, ARENA_GIVEN } arena_policy;
typedef enum { RENDER_NAMED, RENDER_OPAQUE } render_policy;

typedef struct {
    const char *name;
    const char *resolver_name, *arena_name, *renderer_name;
    resolve_policy resolver;
    arena_policy arena;
    render_policy renderer;
    uint64_t n_symbols, n_buffers, n_nodes, n_edges;
    plan_symbol *symbols;
    plan_buffer *buffers;
    plan_node *nodes;
    plan_edge *edges;
} plan;

/* The bytes that every cuBLASLt node gets as workspace under luminal-lt/1. */
enum { LUMINAL_WORKSPACE_BYTES = 33554432 };

/* Structure, references and sizes; rules about order and lifetimes are plan_check's. */
RP_MUST rp_code plan_read(rp_err *e, plan **out, scratch *sc, const char *file, span text);

/* Elements from the first to one past the last that the layout touches (facts: a zero extent gives 0); false
 * on overflow. */
bool layout_span(const layout *l, uint64_t *elements);
bool layout_has(const layout *l, layout_kind kind);
/* Elements from one index to the next along each axis, `rank` of them, by the spelling of that kind (the
 * first, of strided ones). False where the layout has none, or where they do not fit in 64 bits. */
bool layout_strides(uint64_t *strides, const layout *l, layout_kind kind);
/* Whether axes of these extents and strides give no element twice, shown in the one way that is asked for:
 * from the shortest stride on, each is longer than all that the shorter ones reach together. Extents of 1 or
 * more; false on overflow. */
bool strides_apart(const uint64_t *shape, const uint64_t *strides, uint64_t rank);
/* Whether the slot of an output may be strided over its buffer: it has such a spelling, no element twice
 * (strides_apart), its span fits, and the buffer is the caller's for good, so an allocation of its own. What
 * lies between the elements is nobody's. */
bool plan_output_strided(const plan *p, const plan_slot *s);
/* Whether every index lies at the same element in both; only by a spelling that they share. */
bool layout_same_places(const layout *a, const layout *b);
/* Bytes of the parameter block. */
uint64_t plan_parameter_bytes(const plan *p);
/* Whether the node reads or writes the buffer; alloc and free count as neither. */
bool node_reads(const plan_node *n, uint64_t buffer);
bool node_writes(const plan_node *n, uint64_t buffer);
/* Whether the node mentions the buffer at all. */
bool node_touches(const plan_node *n, uint64_t buffer);
/* Steps that put work on the device: copy, matmul, kernel. */
bool node_launches(const plan_node *n);

#endif
