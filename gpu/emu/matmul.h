/* One library matmul by its descriptors, as arithmetic on bytes: D = op(A) op(B) + beta C, then the bias of
 * each row, then ReLU.
 *
 * The order is fixed: every element of D has one FP32 accumulator that begins at 0 and takes k in ascending
 * order, each product rounded to FP32 and then added (products of F16 or BF16 are exact, so a fused
 * multiply-add would give the same). C and the bias are added in FP32, in this order; a NaN passes ReLU; the
 * result is rounded once to D's type. With F64 operands all of it is FP64. A GPU's library orders its sums
 * otherwise, and its matrix unit may truncate where this rounds: results agree within the contract, not bit
 * for bit. */
#ifndef GPU_EMU_MATMUL_H
#define GPU_EMU_MATMUL_H

#include "artifacts/base/err.h"
#include "artifacts/base/lt.h"

/* First bytes of the matrices, each as long as lt_reach says; c is read with beta 1, bias (m elements of D's
 * type) with such an epilogue. */
typedef struct {
    const uint8_t *a, *b, *c, *bias;
    uint8_t *d;
} matmul_operands;

/* The same bytes whatever `threads` (1 or more) is. */
RP_MUST rp_code matmul_run(rp_err *e, const lt_call *call, const matmul_operands *m, unsigned threads);

#endif
