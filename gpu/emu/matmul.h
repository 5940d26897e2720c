/* One library matmul by its descriptors, as arithmetic on bytes: D = op(A) op(B) + beta C, then the bias of
 * each row, then ReLU or GELU; of a batch, one matrix after the other.
 *
 * The order is fixed: every element of D has one FP32 accumulator that begins at 0 and takes k in ascending
 * order, each product rounded to FP32 and then added (products of F16, BF16 or FP8 are exact, so a fused
 * multiply-add would give the same). The sum is multiplied by the product of the scales of A and B where
 * there are any; C and the bias are added in FP32, in this order; a NaN passes ReLU; GELU is the tanh form,
 * with libm's tanhf; the result is rounded once to D's type, and FP8 saturates to its largest finite value.
 * With F64 operands all of it is FP64. I8 has an accumulator of 32 bits that wraps: where D is I32, C is
 * added in the same way; where D is I8, the sum goes on in FP32 and the result saturates. Compute types that
 * allow less than FP32 of F32 operands (32f_fast_…) are computed as FP32. A GPU's library orders its sums
 * otherwise, and its matrix unit may truncate where this rounds: results agree within the contract, not bit
 * for bit. */
#ifndef GPU_EMU_MATMUL_H
#define GPU_EMU_MATMUL_H

#include "artifacts/base/err.h"
#include "artifacts/base/lt.h"

/* First bytes of the matrices, each as long as lt_reach says; c is read with beta 1, bias (m elements of its
 * type) with such an epilogue, a scale (one F32 value) where the matrix is scaled. */
typedef struct {
    const uint8_t *a, *b, *c, *bias;
    uint8_t *d;
    const uint8_t *scale_a, *scale_b;
} matmul_operands;

/* What of the call is not emulated; NULL where all of it is. */
const char *matmul_refused(const lt_call *c);
/* The same bytes whatever `threads` (1 or more) is. */
RP_MUST rp_code matmul_run(rp_err *e, const lt_call *call, const matmul_operands *m, unsigned threads);

#endif
