/* Types, scale types and modes, and what FP8 and I8 ask of a call. */
#include "plan/lt_tests.h"

static bool words(lt_seen *s, const char *operand, const char *found, const char *wanted)
{
    *s = (lt_seen){.operand = operand, .found_word = found, .wanted_word = wanted};
    return true;
}

static bool numbers(lt_seen *s, const char *operand, uint64_t found, uint64_t wanted)
{
    *s = (lt_seen){.operand = operand, .found = found, .wanted = wanted};
    return true;
}

static bool is_i8(const lt_facts *f)
{
    return lt_of(f, LTM_A)->type == DT_I8;
}

static bool is_fp8(const lt_facts *f)
{
    return lt_is_fp8(lt_of(f, LTM_A)->type);
}

static bool c_float(const lt_query *q)
{
    return q->compute >= LTC_32F && q->compute <= LTC_32F_FAST_TF32;
}

static bool i32_compute(const lt_query *q)
{
    return q->compute >= LTC_32I;
}

/* Whether D of this type goes with A's type, the compute type and the scale type; NULL, or what would. */
static const char *family(const lt_query *q)
{
    dtype a = q->mat[LTM_A].type, d = q->mat[LTM_D].type;
    if (q->compute <= LTC_16F_PEDANTIC)
        return q->scale == DT_F16 && a == DT_F16 && d == DT_F16 ? NULL : "f16 throughout for compute 16f";
    if (q->compute == LTC_64F || q->compute == LTC_64F_PEDANTIC)
        return q->scale == DT_F64 && a == DT_F64 && d == DT_F64 ? NULL : "f64 throughout for compute 64f";
    if (i32_compute(q)) {
        if (a == DT_I8 &&
            ((q->scale == DT_I32 && d == DT_I32) || d == DT_I8 || (q->scale == DT_F32 && d == DT_I32)))
            return NULL;
        return "a i8 and d i8 or i32 for compute 32i";
    }
    if (q->scale != DT_F32 && q->scale != DT_F16)
        return "scale f32 for compute 32f";
    switch (a) {
    case DT_F32:
        return d == DT_F32 || q->compute == LTC_32F_FAST_TF32 ? NULL : "d f32 for a f32";
    case DT_F16:
        return d == DT_F16 || d == DT_F32 ? NULL : "d f16 or f32 for a f16";
    case DT_BF16:
        return d == DT_BF16 || d == DT_F32 ? NULL : "d bf16 or f32 for a bf16";
    case DT_I8:
        return d == DT_I8 || d == DT_F32 ? NULL : "d f32 or i8 for a i8 (or compute 32i and d i32)";
    case DT_F8_E4M3:
    case DT_F8_E5M2:
        if (d == DT_F16 || d == DT_BF16 || d == DT_F32)
            return NULL;
        if (lt_is_fp8(d) && (q->mat[LTM_C].type == DT_BF16 || q->mat[LTM_C].type == DT_F16))
            return NULL;
        return "d f16, bf16 or f32 for FP8 (or FP8 over a 16-bit c)";
    default:
        return "a of f16, bf16, f32, e4m3, e5m2 or i8 for compute 32f";
    }
}

bool lt_test_types(const lt_facts *f, lt_seen *s)
{
    const char *wanted = family(f->q);
    return wanted && words(s, "d", lt_type_name(lt_of(f, LTM_D)->type), wanted);
}

bool lt_test_types_fp8_old(const lt_facts *f, lt_seen *s)
{
    return (is_fp8(f) || lt_is_fp8(lt_of(f, LTM_B)->type)) && numbers(s, "a", f->q->sm, 89);
}

bool lt_test_types_i8_old(const lt_facts *f, lt_seen *s)
{
    return is_i8(f) && lt_of(f, LTM_D)->type == DT_I8 && words(s, "d", "i8", "i32");
}

bool lt_test_types_fp8_one(const lt_facts *f, lt_seen *s)
{
    dtype b = lt_of(f, LTM_B)->type;
    return is_fp8(f) && !lt_is_fp8(b) && words(s, "b", lt_type_name(b), "e4m3 or e5m2");
}

bool lt_test_types_e5m2(const lt_facts *f, lt_seen *s)
{
    return lt_of(f, LTM_A)->type == DT_F8_E5M2 && lt_of(f, LTM_B)->type == DT_F8_E5M2 &&
           words(s, "b", "e5m2", "e4m3");
}

bool lt_test_types_ab(const lt_facts *f, lt_seen *s)
{
    dtype a = lt_of(f, LTM_A)->type, b = lt_of(f, LTM_B)->type;
    return !is_fp8(f) && a != b && words(s, "b", lt_type_name(b), lt_type_name(a));
}

bool lt_test_types_cd(const lt_facts *f, lt_seen *s)
{
    dtype c = lt_of(f, LTM_C)->type, d = lt_of(f, LTM_D)->type;
    return c != d && !lt_is_fp8(d) && words(s, "c", lt_type_name(c), lt_type_name(d));
}

bool lt_test_scale(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    dtype d = lt_of(f, LTM_D)->type;
    dtype want = q->compute <= LTC_16F_PEDANTIC  ? DT_F16
                 : i32_compute(q) && d == DT_I32 ? DT_I32
                 : c_float(q) || d == DT_I8      ? DT_F32
                                                 : q->scale;
    return q->scale != want && words(s, "scale", lt_type_name(q->scale), lt_type_name(want));
}

bool lt_test_fp8_compute(const lt_facts *f, lt_seen *s)
{
    bool e5m2 = lt_of(f, LTM_A)->type == DT_F8_E5M2 || lt_of(f, LTM_B)->type == DT_F8_E5M2;
    lt_compute c = f->q->compute;
    return is_fp8(f) && (c == LTC_32F_PEDANTIC || (c == LTC_32F_FAST_TF32 && e5m2)) &&
           words(s, "compute", lt_compute_names[c], "32f");
}

bool lt_test_mode_types(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < 2; i++)
        if (f->q->scale_mode[i] != LTS_SCALAR && !lt_is_fp8(lt_of(f, i)->type))
            return words(s, lt_mat_names[i], lt_scale_mode_names[f->q->scale_mode[i]], "scalar_32f");
    return false;
}

bool lt_test_mode_block(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < 2; i++)
        if (f->q->scale_mode[i] == LTS_VEC16_UE4M3 || f->q->scale_mode[i] == LTS_VEC32_UE8M0)
            return words(s, lt_mat_names[i], lt_scale_mode_names[f->q->scale_mode[i]],
                         "a scale mode of this architecture");
    return false;
}

bool lt_test_mode_outer(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < 2; i++)
        if (f->q->scale_mode[i] == LTS_OUTER_VEC)
            return words(s, lt_mat_names[i], "outer_vec_32f", "scalar_32f");
    return false;
}

bool lt_test_fp8_align(const lt_facts *f, lt_seen *s)
{
    return is_fp8(f) && f->promise_min < 16 && numbers(s, "a", f->promise_min, 16);
}

/* A vector lying tight, ld 1, is along k whichever way it is read. */
static bool tight_vector(const lt_facts *f, int which)
{
    return f->inner[which] == 1 && lt_of(f, which)->ld == 1;
}

bool lt_test_fp8_tn(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; is_fp8(f) && i < 2; i++)
        if (!f->k_major[i] && !tight_vector(f, i))
            return words(s, lt_mat_names[i], i ? "n along its columns" : "m along its columns",
                         i ? "N in column order" : "T in column order");
    return false;
}

static bool pitch(const lt_facts *f, lt_seen *s, int which, uint64_t q)
{
    return lt_of(f, which)->ld % q && !(tight_vector(f, which) && !f->k_major[which]) &&
           numbers(s, lt_mat_names[which], lt_of(f, which)->ld, q);
}

bool lt_test_fp8_ld_a(const lt_facts *f, lt_seen *s)
{
    return is_fp8(f) && pitch(f, s, LTM_A, 16);
}

bool lt_test_fp8_ld_b(const lt_facts *f, lt_seen *s)
{
    return is_fp8(f) && pitch(f, s, LTM_B, 16);
}

bool lt_test_fp8_k(const lt_facts *f, lt_seen *s)
{
    return is_fp8(f) && f->q->k % 16 && numbers(s, "k", f->q->k, 16);
}

/* Elements of D in a run of 16 bytes. */
static uint64_t d_run(const lt_facts *f)
{
    return 16 / dtype_bytes(lt_of(f, LTM_D)->type);
}

bool lt_test_fp8_ld_d(const lt_facts *f, lt_seen *s)
{
    const lt_operand *d = lt_of(f, LTM_D);
    return is_fp8(f) && d->ld % d_run(f) && !(lt_minor(d) == 1 && d->ld == 1) &&
           numbers(s, "d", d->ld, d_run(f));
}

bool lt_test_fp8_empty(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return is_fp8(f) && (!q->m || !q->n || !q->k) && numbers(s, !q->m ? "m" : !q->n ? "n" : "k", 0, 1);
}

bool lt_test_fp8_one(const lt_facts *f, lt_seen *s)
{
    return is_fp8(f) && f->q->m == 1 && f->q->n == 1 && numbers(s, "d", 1, 2);
}

bool lt_test_fp8_bias_vector(const lt_facts *f, lt_seen *s)
{
    const lt_operand *d = lt_of(f, LTM_D);
    return is_fp8(f) && lt_epilogue_has_bias(f->q->epilogue) && lt_minor(d) == 1 && d->ld == 1 &&
           numbers(s, "d", 1, 16);
}

static bool i8_to_i32(const lt_facts *f)
{
    return is_i8(f) && lt_of(f, LTM_D)->type == DT_I32;
}

bool lt_test_i8_epilogue(const lt_facts *f, lt_seen *s)
{
    return i8_to_i32(f) && f->q->epilogue != LTE_DEFAULT &&
           words(s, "epilogue", lt_epilogue_names[f->q->epilogue], "default");
}

bool lt_test_i8_output(const lt_facts *f, lt_seen *s)
{
    return is_i8(f) && lt_of(f, LTM_D)->type == DT_I8 && !i32_compute(f->q) &&
           words(s, "compute", lt_compute_names[f->q->compute], "32i");
}

bool lt_test_i8_align(const lt_facts *f, lt_seen *s)
{
    return i8_to_i32(f) && f->promise_min < 4 && numbers(s, "a", f->promise_min, 4);
}

static bool i8_pitch(const lt_facts *f, lt_seen *s, int which)
{
    return i8_to_i32(f) && lt_of(f, which)->ld % 4 && !tight_vector(f, which) &&
           numbers(s, lt_mat_names[which], lt_of(f, which)->ld, 4);
}

bool lt_test_i8_ld_a(const lt_facts *f, lt_seen *s)
{
    return i8_pitch(f, s, LTM_A);
}

bool lt_test_i8_ld_b(const lt_facts *f, lt_seen *s)
{
    return i8_pitch(f, s, LTM_B);
}

bool lt_test_i8_stride(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i8_to_i32(f) && i < 2; i++)
        if (lt_of(f, i)->batch > 1 && lt_of(f, i)->stride % 4)
            return numbers(s, lt_mat_names[i], (uint64_t)lt_of(f, i)->stride, 4);
    return false;
}

static bool both_k_major(const lt_facts *f)
{
    return f->k_major[LTM_A] && f->k_major[LTM_B];
}

bool lt_test_i8_batch_k(const lt_facts *f, lt_seen *s)
{
    return i8_to_i32(f) && lt_of(f, LTM_D)->batch > 1 && !both_k_major(f) && f->q->k % 8 &&
           numbers(s, "k", f->q->k, 8);
}

bool lt_test_i8_one(const lt_facts *f, lt_seen *s)
{
    return i8_to_i32(f) && f->q->m == 1 && f->q->n == 1 && !both_k_major(f) && numbers(s, "d", 1, 2);
}

/* Whether the operand along D's minor extent lies along k and the other does not. */
static bool turned(const lt_facts *f)
{
    int along = lt_of(f, LTM_D)->order == LTO_ROW ? LTM_B : LTM_A;
    return f->k_major[along] && !f->k_major[!along];
}

bool lt_test_i8_turned_empty(const lt_facts *f, lt_seen *s)
{
    return i8_to_i32(f) && turned(f) && (!f->q->k || !lt_major(lt_of(f, LTM_D))) &&
           numbers(s, f->q->k ? "d" : "k", 0, 1);
}

bool lt_test_i8_turned_extent(const lt_facts *f, lt_seen *s)
{
    uint64_t minor = lt_minor(lt_of(f, LTM_D));
    return i8_to_i32(f) && turned(f) && minor != 1 && minor % 4 &&
           numbers(s, lt_of(f, LTM_D)->order == LTO_ROW ? "n" : "m", minor, 4);
}

bool lt_test_i8_loose_vector(const lt_facts *f, lt_seen *s)
{
    const lt_operand *d = lt_of(f, LTM_D);
    int along = d->order == LTO_ROW ? LTM_B : LTM_A;
    return i8_to_i32(f) && !both_k_major(f) && lt_of(f, along)->ld && lt_minor(d) == 1 && d->ld != 1 &&
           numbers(s, "d", d->ld, 1);
}

bool lt_test_i8_layout(const lt_facts *f, lt_seen *s)
{
    return is_i8(f) && !f->k_major[LTM_A] && words(s, "a", "m along its columns", "T in column order");
}
