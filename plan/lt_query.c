#include "plan/lt_query.h"
#include "artifacts/base/ck.h"
#include <stdlib.h>
#include <strings.h>

const char *const lt_scale_mode_names[] = {"scalar_32f", "outer_vec_32f",  "vec16_ue4m3", "vec32_ue8m0",
                                           "vec128_32f", "blk128x128_32f", NULL};
const char *const lt_mat_names[] = {"a", "b", "c", "d", NULL};

static const struct {
    const char *ours, *theirs;
    dtype type;
} types[] = {{"f16", "R_16F", DT_F16},
             {"bf16", "R_16BF", DT_BF16},
             {"f32", "R_32F", DT_F32},
             {"f64", "R_64F", DT_F64},
             {"e4m3", "R_8F_E4M3", DT_F8_E4M3},
             {"e5m2", "R_8F_E5M2", DT_F8_E5M2},
             {"i8", "R_8I", DT_I8},
             {"i32", "R_32I", DT_I32},
             {"f8_e4m3", "fp8_e4m3", DT_F8_E4M3},
             {"f8_e5m2", "fp8_e5m2", DT_F8_E5M2}};

bool lt_word_type(const char *s, dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcasecmp(s, types[i].ours) || !strcasecmp(s, types[i].theirs)) {
            *out = types[i].type;
            return true;
        }
    return false;
}

const char *lt_type_name(dtype t)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == t)
            return types[i].ours;
    return t < DT_COUNT ? dtype_names[t] : "none";
}

/* The word itself, or behind the library's prefix. */
static int word(const char *s, const char *const *names, const char *prefix)
{
    size_t n = strlen(prefix);
    if (!strncasecmp(s, prefix, n))
        s += n;
    for (int i = 0; names[i]; i++)
        if (!strcasecmp(s, names[i]))
            return i;
    return -1;
}

bool lt_word_order(const char *s, lt_order *out)
{
    int i = word(s, lt_order_names, "ORDER_");
    *out = i < 0 ? *out : (lt_order)i;
    return i >= 0;
}

bool lt_word_compute(const char *s, lt_compute *out)
{
    int i = word(s, lt_compute_names, "COMPUTE_");
    *out = i < 0 ? *out : (lt_compute)i;
    return i >= 0;
}

bool lt_word_epilogue(const char *s, lt_epilogue *out)
{
    int i = word(s, lt_epilogue_names, "EPILOGUE_");
    *out = i < 0 ? *out : (lt_epilogue)i;
    return i >= 0;
}

bool lt_word_op(const char *s, lt_op *out)
{
    static const char *const names[] = {"N", "T", "C", NULL};
    int i = word(s, names, "OP_");
    *out = i < 0 ? *out : (lt_op)i;
    return i >= 0;
}

bool lt_word_scale_mode(const char *s, lt_scale_mode *out)
{
    int i = word(s, lt_scale_mode_names, "");
    *out = i < 0 ? *out : (lt_scale_mode)i;
    return i >= 0;
}

bool lt_word_version(const char *s, unsigned *out, bool *loose)
{
    unsigned long part[3] = {0};
    int n = 0;
    for (; n < 3; n++) {
        char *end;
        if (*s < '0' || *s > '9')
            return false;
        part[n] = strtoul(s, &end, 10);
        if (part[n] > 99)
            return false;
        s = end;
        if (*s != '.')
            break;
        s++;
    }
    /* A fourth number, a build, does not matter. */
    if (n == 3)
        s += strspn(s, "0123456789");
    if (*s)
        return false;
    *loose = n < 2;
    *out = (unsigned)(part[0] * 10000 + part[1] * 100 + part[2]);
    return true;
}

void lt_query_init(lt_query *q)
{
    *q = (lt_query){.alpha = 1, .bias_type = DT_COUNT, .bias_len = UINT64_MAX, .workspace_bytes = 33554432};
    for (int i = 0; i < LTM_COUNT; i++)
        q->mat[i] =
            (lt_operand){.batch = 1, .stride = LT_TIGHT, .buffer_bytes = UINT64_MAX, .holds = DT_COUNT};
}

uint64_t lt_minor(const lt_operand *m)
{
    return m->order == LTO_ROW ? m->cols : m->rows;
}

uint64_t lt_major(const lt_operand *m)
{
    return m->order == LTO_ROW ? m->rows : m->cols;
}

static bool fp8(dtype t)
{
    return t == DT_F8_E4M3 || t == DT_F8_E5M2;
}

static void default_types(lt_query *q)
{
    lt_operand *m = q->mat;
    dtype a = m[LTM_A].type;
    if (!q->compute_said)
        q->compute = a == DT_F64 ? LTC_64F : a == DT_I8 ? LTC_32I : LTC_32F;
    if (!m[LTM_B].type_said)
        m[LTM_B].type = a;
    if (!m[LTM_D].type_said)
        m[LTM_D].type = m[LTM_C].type_said && !fp8(a) ? m[LTM_C].type
                        : a == DT_I8                  ? DT_I32
                        : fp8(a)                      ? DT_BF16
                                                      : a;
    if (!m[LTM_C].type_said)
        m[LTM_C].type = fp8(m[LTM_D].type) ? DT_BF16 : m[LTM_D].type;
    if (!q->scale_said)
        q->scale = q->compute <= LTC_16F_PEDANTIC                            ? DT_F16
                   : q->compute == LTC_64F || q->compute == LTC_64F_PEDANTIC ? DT_F64
                   : q->compute >= LTC_32I && m[LTM_D].type == DT_I32        ? DT_I32
                                                                             : DT_F32;
}

void lt_query_default(lt_query *q)
{
    const uint64_t rows[] = {q->op[0] ? q->k : q->m, q->op[1] ? q->n : q->k, q->m, q->m};
    const uint64_t cols[] = {q->op[0] ? q->m : q->k, q->op[1] ? q->k : q->n, q->n, q->n};
    default_types(q);
    for (int i = 0; i < LTM_COUNT; i++) {
        lt_operand *m = &q->mat[i];
        uint64_t tight;
        if (!m->shape_said) {
            m->rows = rows[i];
            m->cols = cols[i];
        }
        if (!m->ld_said)
            m->ld = lt_minor(m);
        if (m->stride == LT_TIGHT)
            m->stride =
                ck_mul_u64(m->ld, lt_major(m), &tight) && tight <= INT64_MAX ? (int64_t)tight : INT64_MAX;
    }
}

dtype lt_bias_of(const lt_query *q)
{
    return q->bias_type != DT_COUNT
               ? q->bias_type
               : lt_bias_default(q->mat[LTM_A].type, q->mat[LTM_C].type, q->mat[LTM_D].type, q->scale);
}

bool lt_span(const lt_operand *m, uint64_t *elements)
{
    uint64_t major = lt_major(m), minor = lt_minor(m), one, more, step;
    if (!major || !minor || !m->batch) {
        *elements = 0;
        return true;
    }
    step = m->stride < 0 ? ~(uint64_t)m->stride + 1 : (uint64_t)m->stride;
    return ck_mul_u64(m->ld, major - 1, &one) && ck_add_u64(one, minor, &one) &&
           ck_mul_u64(step, m->batch - 1, &more) && ck_add_u64(one, more, elements);
}
