/* From a frozen plan to the final cuBLASLt calls, on a CPU: policy luminal-lt/1 works the descriptors out
 * from the LtMatmulSpec of each node; policy given takes those that were recorded, and judges them by the
 * rules of the library (docs/resolver.md). */
#ifndef PLAN_RESOLVE_H
#define PLAN_RESOLVE_H

#include "plan/lt_query.h"
#include "plan/plan.h"

/* X(symbol, "id", "what the rule says"): a refusal names one. */
#define RESOLVE_RULES(X)                                                                                     \
    X(ARITY, "lt.arity", "the operand count is the form's: a, b, [c], [bias]")                               \
    X(EXTENT, "lt.extent", "m, n, k and every rows, cols and ld are at least 1")                             \
    X(TYPES, "lt.types", "a and b have one type among f32, f16, bf16; d is f32 or that type")                \
    X(SLOT_TYPE, "lt.slot_type", "each operand's buffer has the type that the spec gives it")                \
    X(FRAME, "lt.frame", "the destination's extents are exactly [m, n]")                                     \
    X(DESTINATION, "lt.destination", "the destination is column-major or row-major, not strided")            \
    X(BIAS_COL, "lt.bias_col", "a bias epilogue needs a column-major destination (row order: status 15)")    \
    X(EPILOGUE, "lt.epilogue", "a bias epilogue goes with a bias operand and only with one")                 \
    X(C_LAYOUT, "lt.c_layout", "an accumulated C lies in memory as D does: it gets D's descriptor")          \
    X(LD, "lt.ld", "a leading dimension is at least its minor extent, unless the major extent is 1")         \
    X(REACH, "lt.reach", "no matrix reaches beyond its buffer")                                              \
    X(BIAS_LENGTH, "lt.bias_length", "the bias holds at least m elements")

typedef enum {
#define X(sym, id, text) RULE_##sym,
    RESOLVE_RULES(X)
#undef X
        RULE_COUNT
} resolve_rule;
extern const char *const resolve_rule_ids[];
extern const char *const resolve_rule_texts[];

/* X(symbol, "id", "what the rule says"), of policy given; beside them the library's own (plan/lt_rules.h). */
#define GIVEN_RULES(X)                                                                                       \
    X(PORTS, "given.ports", "the operands are a, b, [c], [bias], [scale_a], [scale_b], each at most once")   \
    X(BINDING, "given.binding", "the recorded call binds the buffers of the node's operands")                \
    X(C, "given.c", "c is an operand where beta is 1 or C is not D, and only there")                         \
    X(BIAS, "given.bias", "a bias epilogue goes with a bias operand and only with one")                      \
    X(SCALE, "given.scale", "an operand is scaled by one f32 value exactly where it is FP8 and says so")     \
    X(WORKSPACE, "given.workspace", "the recorded workspace is the node's")                                  \
    X(SHAPE, "given.shape", "batches of a, b, c and d are equal, and every matrix has an extent")

typedef enum {
#define X(sym, id, text) GIVEN_##sym,
    GIVEN_RULES(X)
#undef X
        GIVEN_COUNT
} given_rule;
extern const char *const given_rule_ids[];
extern const char *const given_rule_texts[];

enum { LT_A, LT_B, LT_C, LT_D, LT_BIAS, LT_SCALE_A, LT_SCALE_B, LT_OPERANDS };
extern const char *const lt_operand_names[]; /* "a", "b", "c", "d", "bias", "scale_a", "scale_b" */

/* A call of plan/resolved_calls.json (plan/calls.h). */
typedef struct {
    uint64_t node;
    lt_call call;
    const char *buffer[LT_OPERANDS]; /* ids; NULL where there is none */
} recorded_call;

typedef struct {
    uint64_t node;
    lt_call call;
    bool spec_trans_a, spec_trans_b;
    bool has[LT_OPERANDS];                /* a, b, c and d always */
    uint64_t buffer[LT_OPERANDS];         /* index in the plan */
    uint64_t reach_elements[LT_OPERANDS]; /* bias: m; a scale: 1 */
    uint64_t buffer_elements[LT_OPERANDS];
    bool c_is_operand; /* else C aliases D */
} resolved_call;

/* Resolve the matmul at `node` of policy luminal-lt/1. A refusal is a finding (resolve.refused or
 * resolve.reach) whose `expected` is the rule's id; *ok says whether the call stands. An error only when
 * memory is out. */
RP_MUST rp_code resolve_node(rp_err *e, findings *fs, resolved_call *out, bool *ok, const plan *p,
                             uint64_t node, const char *file);
/* The same under policy given, from the recorded call of that node; `file` is that of the recorded calls. */
RP_MUST rp_code resolve_given(rp_err *e, findings *fs, resolved_call *out, bool *ok, scratch *sc,
                              const plan *p, uint64_t node, const recorded_call *recorded, const char *file);
/* Every matmul of the plan in order, lent by sc; *ok is false when any was refused. `recorded`, in the plan's
 * order, matters to policy given alone. Findings name plan/plan.json and plan/resolved_calls.json. */
RP_MUST rp_code resolve_plan(rp_err *e, findings *fs, resolved_call **out, uint64_t *n, bool *ok, scratch *sc,
                             const plan *p, const recorded_call *recorded, uint64_t n_recorded);
/* The question whether the library takes the call, with what the plan knows of its buffers: their bytes, and
 * what was written there. Complete; device and version are left open. */
void resolve_question(lt_query *q, const plan *p, const resolved_call *c);
/* One sentence: what is computed, where its bytes lie, and why no transpose copy is needed. Lent by sc. */
const char *resolve_sentence(scratch *sc, const plan *p, const resolved_call *c);

#endif
