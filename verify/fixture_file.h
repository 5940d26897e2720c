/* One fixture made whole: inputs from its recipe, expected outputs from the reference, and the safetensors
 * file of both (tensors in.NAME and out.NAME). The same recipe and reference give the same bytes everywhere.
 */
#ifndef VERIFY_FIXTURE_FILE_H
#define VERIFY_FIXTURE_FILE_H

#include "plan/recipe.h"
#include "plan/reference.h"

typedef struct {
    tensor *inputs, *expected;
    size_t n_inputs, n_expected;
    span file;
} made_fixture;

/* Lent by sc. */
RP_MUST rp_code fixture_make(rp_err *e, made_fixture *out, scratch *sc, const recipe *r,
                             const reference *ref);

#endif
