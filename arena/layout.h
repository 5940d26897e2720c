/* The device arena: lifetimes from the nodes, offsets from the policy, never from what was recorded.
 *
 * Policy luminal-slab/2 (docs/arena.md): request 0 is the parameter block, alive for the whole program; then,
 * step by step, each packed buffer at its first touch (operands, then destination) and each matmul's
 * workspace. A buffer the caller owns is external unless the program frees it. An interval is [first touch,
 * last touch + 1), alloc and free counting as touches; what the caller frees lives to the end. Each request
 * reserves its bytes rounded up to 256. Events go by (time, releases first, request); an allocation takes the
 * lowest hole that fits, else extends the highest hole when it ends at the top, else the top. */
#ifndef ARENA_LAYOUT_H
#define ARENA_LAYOUT_H

#include "plan/order.h"
#include "plan/plan.h"

enum { ARENA_ALIGN = 256 };

typedef enum { RANGE_PARAMETERS, RANGE_BUFFER, RANGE_WORKSPACE } range_kind;

typedef struct {
    range_kind kind;
    const char *name;              /* "parameters", the buffer's id, or "workspace@NODE" */
    uint64_t buffer;               /* of RANGE_BUFFER */
    uint64_t node;                 /* of RANGE_WORKSPACE */
    uint64_t first_step, end_step; /* [first, end) */
    uint64_t offset_bytes, bytes, reserved_bytes;
} arena_range;

typedef struct {
    uint64_t n;
    arena_range *ranges; /* in order of request */
    uint64_t slab_bytes, peak_live_bytes;
} arena_layout;

/* Requests with their lifetimes; offsets are 0. A matmul without a workspace asks for none. */
RP_MUST rp_code arena_requests(rp_err *e, arena_layout *out, scratch *sc, const plan *p);
/* Place the requests by policy luminal-slab/2. */
RP_MUST rp_code arena_pack(rp_err *e, arena_layout *l, scratch *sc);
/* plan/arena.json, format "replay-arena/1": {format, slab_bytes, peak_live_bytes, ranges: [{name, first_step,
 * end_step, offset_bytes, bytes}]}. */
RP_MUST rp_code arena_read(rp_err *e, arena_layout *out, scratch *sc, const char *file, span text);

/* Tie recorded ranges to the plan by their names (kind, buffer, node); a name the plan does not have is
 * arena.offset. Ranges that the plan needs and the record lacks, or holds too short, are findings too. */
RP_MUST rp_code arena_bind(rp_err *e, findings *fs, arena_layout *recorded, const arena_layout *requests,
                           const char *file);

/* The range of that buffer, or NULL when it is external. */
const arena_range *arena_of_buffer(const arena_layout *l, uint64_t buffer);
const arena_range *arena_of_workspace(const arena_layout *l, uint64_t node);

#endif
