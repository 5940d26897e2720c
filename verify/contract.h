/* What an implementation promises: contract.json, format "replay-contract/1".
 *
 *   tolerances        [{output, atol, rtol}]: abs(actual - ref) <= atol + rtol*abs(ref), for every output
 *   fixtures          [{name, applies, property}], in the order they run; property says what it can show,
 *                     or why it does not apply
 *   checks_per_phase  applying fixtures times outputs
 *   phases
 *   checks_total      checks_per_phase times phases
 *   accuracy          {class, measured_k, growth}: reference_exact or tolerance_bounded; the inner extents
 *                     it was measured at, ascending; what is known of others
 *   determinism       {claimed, reason}: whether two runs give the same bits, and what in its structure
 *                     says so
 *   architecture      {kernels_sm, library_sm, claim}
 *   dispatch          [{name, symbol, family, dtypes}]: name is the key it is looked up by, apart from the
 *                     symbol that implements it; a family has one member a list of dtypes
 *
 * Rules: a bounded class needs a positive bound for every output, an exact one bounds of zero; numbers are
 * finite and none is negative; counts multiply; names are there once; reasons are not empty. Broken:
 * CONTRACT_INVALID, or the json.* finding that says it closer. */
#ifndef VERIFY_CONTRACT_H
#define VERIFY_CONTRACT_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include "verify/numeric.h"

typedef enum { ACCURACY_REFERENCE_EXACT, ACCURACY_TOLERANCE_BOUNDED } accuracy_class;
extern const char *const accuracy_class_names[]; /* "reference_exact", "tolerance_bounded" */

typedef struct {
    const char *output;
    tolerance tol;
} contract_tolerance;

typedef struct {
    const char *name, *property;
    bool applies;
} contract_fixture;

typedef struct {
    const char *name, *symbol, *family;
    size_t n_dtypes;
    dtype *dtypes;
} contract_dispatch;

typedef struct {
    size_t n_tolerances, n_fixtures, n_measured_k, n_dispatch;
    contract_tolerance *tolerances;
    contract_fixture *fixtures;
    uint64_t checks_per_phase, phases, checks_total;
    accuracy_class accuracy;
    uint64_t *measured_k;
    const char *growth;
    bool deterministic;
    const char *determinism_reason;
    uint64_t kernels_sm, library_sm; /* least compute capability, 75 for 7.5 */
    const char *architecture_claim;
    contract_dispatch *dispatch;
} contract;

/* Lent by sc. */
RP_MUST rp_code contract_read(rp_err *e, contract **out, scratch *sc, const char *file, span text);
/* Borrowed from c; NULL when there is none of that name. */
const contract_tolerance *contract_tolerance_of(const contract *c, const char *output);
const contract_fixture *contract_fixture_of(const contract *c, const char *name);

#endif
