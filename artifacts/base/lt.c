#include "artifacts/base/lt.h"
#include "artifacts/base/ck.h"
#include <stddef.h>

const char *const lt_order_names[] = {"col", "row", NULL};
const char *const lt_epilogue_names[] = {"default", "relu", "bias", "relu_bias", NULL};

bool lt_epilogue_has_bias(lt_epilogue e)
{
    return e == LT_EPI_BIAS || e == LT_EPI_RELU_BIAS;
}

bool lt_reach(const lt_matrix *m, uint64_t *elements)
{
    uint64_t major = m->order == LT_ROW ? m->rows : m->cols;
    uint64_t minor = m->order == LT_ROW ? m->cols : m->rows;
    uint64_t r;
    if (!major || !minor || !m->ld || !ck_mul_u64(m->ld, major - 1, &r))
        return false;
    return ck_add_u64(r, minor, elements);
}
