/* The independent program in FP64: reference.json, format "replay-reference/0".
 *
 *   inputs   [{name, dtype, shape}]
 *   nodes    [{id, op, a, b?, transpose_a?, transpose_b?, round?, saturate?}], in order
 *   outputs  [{name, value, dtype}]
 *
 * op is matmul (of two matrices), add, mul or relu; a and b name an input or an earlier node. Operands of
 * pointwise ops broadcast as NumPy's do. `round` names a dtype and the value is rounded to it straight from
 * FP64, overflow giving infinity, or with `saturate: true` the largest finite value; an output is rounded to
 * its dtype where its node did not already. relu gives +0 for negative values and both zeros, and keeps a
 * NaN.
 *
 * matmul sums k = 0, 1, … in that order in one FP64 accumulator an element: vectorised across columns, in
 * parallel over rows, so the bits are the same on every machine, compiler and number of threads (built with
 * -ffp-contract=off; products of two F16 or F32 values are exact in FP64). */
#ifndef PLAN_REFERENCE_H
#define PLAN_REFERENCE_H

#include "plan/recipe.h"
#include <stdbool.h>

typedef struct reference reference;

/* Content that breaks a rule: REFERENCE_INVALID, or the json.* finding that says it closer. */
RP_MUST rp_code reference_read(rp_err *e, reference **out, scratch *sc, const char *file, span text);
size_t reference_n_inputs(const reference *r);
size_t reference_n_outputs(const reference *r);
/* Declared tensors, data NULL; borrowed from r. */
const tensor *reference_input(const reference *r, size_t i);
const tensor *reference_output(const reference *r, size_t i);
/* Evaluate over inputs (matched by name; type and shape must be as declared, else FIXTURE_SHAPE; others are
 * left alone). The outputs, in order, are placed in sc. threads: 0 means one a core. */
RP_MUST rp_code reference_eval(rp_err *e, tensor **out, scratch *sc, const reference *r, const tensor *inputs,
                               size_t n_inputs, unsigned threads);

/* The compiled variants of matmul, NULL-terminated, the widest first. The processor chooses; a test may
 * choose for it (NULL gives the choice back). False when this processor cannot run that one. Not for use
 * while another thread evaluates. */
extern const char *const reference_variants[];
bool reference_use_variant(const char *name);

#endif
