/* A fixture is regenerated from its recipe, bit for bit, on any machine: counters and integer arithmetic
 * only, no libm, no floating point. fixtures/NAME.json, format "replay-recipe/1":
 *
 *   {format, fixture, purpose, seed, tensors: [{name, dtype, shape, VALUES}, …]}
 *
 * VALUES is `generator` and its parameters, all integers:
 *
 *   constant  value, shift
 *   uniform   low, high, shift: each integer from low to high alike
 *   normal    numerator, shift: a sum of twelve 16-bit uniforms; deviation numerator * 2^(shift+17)
 *   affine    offset, steps, modulus, base, times, shift:
 *             times * (base + (offset + sum of steps[a]*index[a]) mod modulus)
 *   combine   fold, terms: [{low, high, every, pattern}], shift: the last axis in blocks; for each block and
 *             term a draw, times the term's pattern
 *   concat    axis, parts: [{extent, VALUES}]: side by side along an axis
 *
 * The element is that integer times 2^shift, rounded once to its dtype. A matrix with `transposed: true` is
 * generated the other way round, indices and draws included, and then stored in its shape. docs/fixtures.md
 * has the details. */
#ifndef PLAN_RECIPE_H
#define PLAN_RECIPE_H

#include "artifacts/base/dtype.h"
#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

enum { TENSOR_MAX_RANK = 4 };

/* A named dense row-major tensor. data holds elements*dtype_bytes bytes, little endian. */
typedef struct {
    const char *name;
    dtype type;
    uint64_t rank, shape[TENSOR_MAX_RANK];
    uint64_t elements;
    void *data;
} tensor;

typedef struct recipe recipe;

RP_MUST rp_code recipe_read(rp_err *e, recipe **out, scratch *sc, const char *file, span text);
const char *recipe_name(const recipe *r);
/* What the fixture is for, one sentence from the recipe. */
const char *recipe_purpose(const recipe *r);
/* Generate every tensor of the recipe into sc, in the recipe's order. */
RP_MUST rp_code recipe_generate(rp_err *e, tensor **out, size_t *n, scratch *sc, const recipe *r);

/* Read {name, dtype, shape} of a tensor: rank 1 to TENSOR_MAX_RANK, extents from 1, at most 2^28 elements.
 * `shape` may be read again. Shared with reference.json. */
struct js_node;
RP_MUST rp_code tensor_read_type(rp_err *e, tensor *out, struct js_node *v);

#endif
