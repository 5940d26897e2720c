/* The descriptors of one cuBLASLt matmul in JSON, as captures, resolved calls and jobs have them. What a
 * plain product does not have is left out: `batch` (at least 2) and `stride` without a batch, `scaled` where
 * it is false, `bias_type` where it is D's or there is no bias. */
#ifndef BASE_LT_JSON_H
#define BASE_LT_JSON_H

#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/lt.h"

/* Members of an open object: type, rows, cols, ld, order, [batch, stride], [scaled]. Other members are left
 * to the caller. */
RP_MUST rp_code lt_matrix_read(rp_err *e, lt_matrix *out, js_node *o);
/* The members a, b, c and d (each an object, of which only the descriptors are read), trans_a, trans_b,
 * compute, scale, epilogue, [bias_type], workspace_bytes; m, n and k follow from D and A, beta is left alone.
 */
RP_MUST rp_code lt_call_read(rp_err *e, lt_call *out, js_node *o);
/* {…}, keys ascending; `buffer` is added where it is not NULL. */
void lt_matrix_write(jw *j, const char *key, const char *buffer, const lt_matrix *m);
/* "bias_type", where the call says one that is not D's. */
void lt_bias_type_write(jw *j, const lt_call *c);

#endif
