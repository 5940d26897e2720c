/* The words of one cuBLASLt matmul: what plan/ resolves, gpu/ executes and the library logs.
 * Rows, columns and leading dimensions are in elements; workspace is in bytes. */
#ifndef BASE_LT_H
#define BASE_LT_H

#include "artifacts/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum { LTO_COL, LTO_ROW, LTO_COL32, LTO_COL4_4R2_8C, LTO_COL32_2R_4R4, LTO_COUNT } lt_order;
/* clang-format off */
typedef enum { LTC_16F, LTC_16F_PEDANTIC, LTC_32F, LTC_32F_PEDANTIC, LTC_32F_FAST_16F, LTC_32F_FAST_16BF, LTC_32F_FAST_TF32, LTC_64F,
               LTC_64F_PEDANTIC, LTC_32I, LTC_32I_PEDANTIC, LTC_COUNT } lt_compute;
typedef enum { LTE_DEFAULT, LTE_RELU, LTE_BIAS, LTE_RELU_BIAS, LTE_GELU, LTE_GELU_BIAS, LTE_RELU_AUX, LTE_RELU_AUX_BIAS, LTE_GELU_AUX,
               LTE_GELU_AUX_BIAS, LTE_DRELU, LTE_DRELU_BGRAD, LTE_DGELU, LTE_DGELU_BGRAD, LTE_BGRADA, LTE_BGRADB, LTE_COUNT } lt_epilogue;
/* clang-format on */

typedef struct {
    dtype type;
    lt_order order; /* of a call: column or row */
    uint64_t rows, cols, ld;
    uint64_t batch; /* matrices, 0 for a single one: a batch has at least 2 */
    uint64_t
        stride;  /* elements from one of the batch to the next; 0: all are the same, or there is no batch */
    bool scaled; /* A and B of FP8: multiplied by one F32 value in device memory */
} lt_matrix;

/* The final descriptors. Alpha is 1. Scalars are of the type `scale`; a bias has m elements of bias_type, the
 * same ones for the whole batch. */
typedef struct {
    uint64_t m, n, k;
    lt_matrix a, b, c, d;
    bool trans_a, trans_b;
    lt_compute compute;
    dtype scale;
    lt_epilogue epilogue; /* up to LTE_GELU_BIAS */
    dtype bias_type;      /* D's where there is no bias */
    bool beta_one;        /* beta 1, else 0 */
    uint64_t workspace_bytes;
} lt_call;

/* NULL-terminated, in the order of the enums: "col", "32f", "relu_bias", … */
extern const char *const lt_order_names[], *const lt_compute_names[], *const lt_epilogue_names[];
bool lt_epilogue_has_bias(lt_epilogue e); /* adds a bias vector */
bool lt_epilogue_has_aux(lt_epilogue e);  /* reads or writes an auxiliary matrix or a bias gradient */

/* The type that the library takes a bias for when it is not told (cublasLt.h, BIAS_DATA_TYPE): D's, but that
 * of the scalars for I8 results of I8, and BF16, or F16 where C is, for F32 and FP8 results of FP8. */
dtype lt_bias_default(dtype a, dtype c, dtype d, dtype scale);

/* Elements from the first to one past the last that the whole batch touches, a single matrix
 * ld*(major-1)+minor; false on overflow or a zero extent. */
bool lt_reach(const lt_matrix *m, uint64_t *elements);

#endif
