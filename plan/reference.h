/* clang-format off */
/* The independent program in FP64: reference.json, format "replay-reference/1".
 *
 *   inputs   [{name, dtype, shape}]
 *   nodes    [{id, op, a, …, round?, saturate?}], in order
 *   outputs  [{name, value, dtype}]
 *
 * a and b name an input or an earlier node. op is
 *
 *   matmul     b, transpose_a?, transpose_b?: of ranks 2 or 3. The first axis of rank 3 is a batch, the same in both; an
 *              operand of rank 2 serves every product. The flags exchange the last two axes
 *   add, mul   b: operands broadcast as NumPy's do
 *   relu       +0 for negative values and both zeros; keeps a NaN
 *   gelu       the tanh form: plan/gelu.h
 *   slice      axis, from, extent: a part along one axis; the rank stays
 *   view       offset, shape, strides: element (i, j, …) is a's element offset + i*strides[0] + …, counted row by row
 *
 * `round` names a dtype and the value is rounded to it straight from FP64, overflow giving infinity, or with
 * `saturate: true` the largest finite value; integer types round to nearest, ties to even, and always
 * saturate. An output is rounded to its dtype where its node did not already.
 *
 * matmul sums k = 0, 1, … in that order in one FP64 accumulator an element: vectorised across columns, in
 * parallel over rows and batch, so the bits are the same on every machine, compiler and number of threads
 * (built with -ffp-contract=off; products of two F16 or F32 values are exact in FP64). So are those of gelu.
 */
/* clang-format on */
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
