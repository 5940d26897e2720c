/* The words of one cuBLASLt matmul: what plan/ resolves, gpu/ executes and the library logs.
 * Rows, columns and leading dimensions are in elements; workspace is in bytes. */
#ifndef BASE_LT_H
#define BASE_LT_H

#include "artifacts/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum { LT_COL, LT_ROW } lt_order;
typedef enum { LT_EPI_DEFAULT, LT_EPI_RELU, LT_EPI_BIAS, LT_EPI_RELU_BIAS, LT_EPI_COUNT } lt_epilogue;

typedef struct {
    dtype type;
    lt_order order;
    uint64_t rows, cols, ld;
} lt_matrix;

/* The final descriptors. Compute is 32F and scale F32 (the only pair the policy resolves to); alpha is 1. */
typedef struct {
    uint64_t m, n, k;
    lt_matrix a, b, c, d;
    bool trans_a, trans_b;
    lt_epilogue epilogue;
    bool beta_one; /* beta 1, else 0 */
    uint64_t workspace_bytes;
} lt_call;

extern const char *const lt_order_names[];    /* "col", "row" */
extern const char *const lt_epilogue_names[]; /* "default", "relu", "bias", "relu_bias" */
bool lt_epilogue_has_bias(lt_epilogue e);

/* Elements from the first to one past the last that the matrix touches: ld*(major-1)+minor; false on overflow
 * or a zero extent. */
bool lt_reach(const lt_matrix *m, uint64_t *elements);

#endif
