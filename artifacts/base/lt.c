#include "artifacts/base/lt.h"
#include "artifacts/base/ck.h"
#include <stddef.h>

const char *const lt_order_names[] = {"col", "row", "col32", "col4_4r2_8c", "col32_2r_4r4", NULL};
const char *const lt_compute_names[] = {"16f",          "16f_pedantic",  "32f",           "32f_pedantic",
                                        "32f_fast_16f", "32f_fast_16bf", "32f_fast_tf32", "64f",
                                        "64f_pedantic", "32i",           "32i_pedantic",  NULL};
const char *const lt_epilogue_names[] = {
    "default",  "relu",          "bias",     "relu_bias",     "gelu",  "gelu_bias",
    "relu_aux", "relu_aux_bias", "gelu_aux", "gelu_aux_bias", "drelu", "drelu_bgrad",
    "dgelu",    "dgelu_bgrad",   "bgrada",   "bgradb",        NULL};

bool lt_epilogue_has_bias(lt_epilogue e)
{
    return e == LTE_BIAS || e == LTE_RELU_BIAS || e == LTE_GELU_BIAS || e == LTE_RELU_AUX_BIAS ||
           e == LTE_GELU_AUX_BIAS;
}

bool lt_epilogue_has_aux(lt_epilogue e)
{
    return e >= LTE_RELU_AUX;
}

dtype lt_bias_default(dtype a, dtype c, dtype d, dtype scale)
{
    bool fp8 = a == DT_F8_E4M3 || a == DT_F8_E5M2;
    if (a == DT_I8 && d == DT_I8)
        return scale;
    return !fp8 || d == DT_F16 || d == DT_BF16 ? d : c == DT_F16 ? DT_F16 : DT_BF16;
}

bool lt_reach(const lt_matrix *m, uint64_t *elements)
{
    uint64_t major = m->order == LTO_ROW ? m->rows : m->cols;
    uint64_t minor = m->order == LTO_ROW ? m->cols : m->rows;
    uint64_t one, others = 0;
    if (!major || !minor || !m->ld || !ck_mul_u64(m->ld, major - 1, &one) || !ck_add_u64(one, minor, &one))
        return false;
    if (m->batch && !ck_mul_u64(m->stride, m->batch - 1, &others))
        return false;
    return ck_add_u64(one, others, elements);
}
