/* What the heuristic cannot see, or takes although it is wrong; and what is only worth knowing. */
#include "artifacts/base/ck.h"
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

/* C is read only where beta says so. */
static bool is_touched(const lt_facts *f, int which)
{
    return which != LTM_C || (f->q->beta != 0 && !f->q->c_null);
}

static bool span_bytes(const lt_facts *f, int which, uint64_t *bytes)
{
    return f->span_fits[which] && ck_mul_u64(f->span[which], dtype_bytes(lt_of(f, which)->type), bytes);
}

bool lt_test_overflow(const lt_facts *f, lt_seen *s)
{
    uint64_t bytes;
    for (int i = 0; i < LTM_COUNT; i++)
        if (is_touched(f, i) && (!span_bytes(f, i, &bytes) || bytes > INT64_MAX))
            return numbers(s, lt_mat_names[i], lt_of(f, i)->ld, INT64_MAX);
    return false;
}

bool lt_test_conjugate(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; f->q->dialect == LTD_HIPBLASLT && i < 2; i++)
        if (f->q->op[i] == LTP_C)
            return words(s, lt_mat_names[i], "C", "N or T");
    return false;
}

bool lt_test_ld_one_column(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++) {
        /* Elsewhere ld.a to ld.d speak. */
        if ((i == LTM_B ? f->q->n : f->q->m) != 1)
            continue;
        const lt_operand *m = lt_of(f, i);
        uint64_t least = lt_minor(m) ? lt_minor(m) : 1;
        if (is_touched(f, i) && m->ld < least)
            return numbers(s, lt_mat_names[i], m->ld, least);
    }
    return false;
}

bool lt_test_batch_overlap(const lt_facts *f, lt_seen *s)
{
    lt_operand d = *lt_of(f, LTM_D);
    uint64_t one, all, step = d.stride < 0 ? ~(uint64_t)d.stride + 1 : (uint64_t)d.stride, batch = d.batch;
    d.batch = 1;
    /* Matrices may interlace: a stride below ld puts each one's columns between another's. */
    bool apart = lt_span(&d, &one) &&
                 (step >= one || (step >= lt_minor(&d) && ck_mul_u64(step, batch, &all) && all <= d.ld));
    return batch > 1 && one && !apart && numbers(s, "d", step, one);
}

bool lt_test_stride_negative(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++)
        if (is_touched(f, i) && lt_of(f, i)->stride < 0 && lt_of(f, i)->batch > 1)
            return words(s, lt_mat_names[i], "a negative stride", "0 or more");
    return false;
}

bool lt_test_c_null(const lt_facts *f, lt_seen *s)
{
    return f->q->c_null && f->q->beta != 0 && words(s, "c", "null", "a pointer, since beta is not 0");
}

bool lt_test_extent(const lt_facts *f, lt_seen *s)
{
    uint64_t bytes;
    for (int i = 0; i < LTM_COUNT; i++)
        if (is_touched(f, i) && lt_of(f, i)->buffer_bytes != UINT64_MAX && span_bytes(f, i, &bytes) &&
            bytes > lt_of(f, i)->buffer_bytes)
            return numbers(s, lt_mat_names[i], bytes, lt_of(f, i)->buffer_bytes);
    return false;
}

bool lt_test_buffer_type(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++)
        if (is_touched(f, i) && i != LTM_D && lt_of(f, i)->holds != DT_COUNT &&
            lt_of(f, i)->holds != lt_of(f, i)->type)
            return words(s, lt_mat_names[i], lt_type_name(lt_of(f, i)->holds),
                         lt_type_name(lt_of(f, i)->type));
    return false;
}

static bool bias_of_another_type(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    dtype want = lt_bias_default(q->mat[LTM_A].type, q->mat[LTM_C].type, q->mat[LTM_D].type, q->scale);
    return lt_epilogue_has_bias(q->epilogue) && lt_bias_of(q) != want &&
           words(s, "bias", lt_type_name(lt_bias_of(q)), lt_type_name(want));
}

bool lt_test_bias_type(const lt_facts *f, lt_seen *s)
{
    return !lt_is_fp8(lt_of(f, LTM_A)->type) && bias_of_another_type(f, s);
}

bool lt_test_bias_fp8_type(const lt_facts *f, lt_seen *s)
{
    return lt_is_fp8(lt_of(f, LTM_A)->type) && bias_of_another_type(f, s);
}

bool lt_test_bias_length(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return lt_epilogue_has_bias(q->epilogue) && q->bias_len != UINT64_MAX && q->bias_len < q->m &&
           numbers(s, "bias", q->bias_len, q->m);
}

bool lt_test_bias_axis(const lt_facts *f, lt_seen *s)
{
    return lt_epilogue_has_bias(f->q->epilogue) && f->q->bias_axis == LTX_COLS &&
           words(s, "bias", "one value a column of d", "one value a row of d");
}

bool lt_test_pointer_align(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++) {
        uint64_t promise = lt_of(f, i)->promise_bytes ? lt_of(f, i)->promise_bytes : 256;
        if (is_touched(f, i) && lt_of(f, i)->align_bytes && lt_of(f, i)->align_bytes < promise)
            return numbers(s, lt_mat_names[i], lt_of(f, i)->align_bytes, promise);
    }
    return false;
}

bool lt_test_pointer_element(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < LTM_COUNT; i++) {
        uint64_t need = dtype_bytes(lt_of(f, i)->type);
        if (is_touched(f, i) && lt_of(f, i)->align_bytes && lt_of(f, i)->align_bytes < need)
            return numbers(s, lt_mat_names[i], lt_of(f, i)->align_bytes, need);
    }
    return false;
}

bool lt_test_workspace_align(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return q->workspace_bytes && q->workspace_align && q->workspace_align % 256 &&
           numbers(s, "workspace", q->workspace_align, 256);
}

bool lt_test_note_conjugate(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; f->q->dialect == LTD_CUBLASLT && i < 2; i++)
        if (f->q->op[i] == LTP_C)
            return words(s, lt_mat_names[i], "C", "T");
    return false;
}

bool lt_test_note_aux(const lt_facts *f, lt_seen *s)
{
    return lt_epilogue_has_aux(f->q->epilogue) &&
           words(s, "epilogue", lt_epilogue_names[f->q->epilogue], "default");
}

bool lt_test_note_empty(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return (!q->m || !q->n || !q->k) && numbers(s, !q->m ? "m" : !q->n ? "n" : "k", 0, 1);
}

bool lt_test_note_bias_axis(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    return lt_epilogue_has_bias(q->epilogue) && q->m == q->n && q->m > 1 && q->bias_axis == LTX_UNSAID &&
           numbers(s, "bias", q->m, q->n);
}

bool lt_test_note_alpha_bias(const lt_facts *f, lt_seen *s)
{
    return lt_epilogue_has_bias(f->q->epilogue) && f->q->alpha != 1 &&
           words(s, "bias", "alpha is not 1", "alpha 1");
}

bool lt_test_note_span(const lt_facts *f, lt_seen *s)
{
    const lt_operand *a = lt_of(f, LTM_A);
    uint64_t nominal;
    bool fits = ck_mul_u64(a->ld, lt_major(a), &nominal);
    return !f->q->version_loose && (!fits || nominal >= 1ULL << 31) &&
           numbers(s, "a", fits ? nominal : UINT64_MAX, 1ULL << 31);
}

bool lt_test_note_tall(const lt_facts *f, lt_seen *s)
{
    uint64_t most = f->q->m > f->q->n ? f->q->m : f->q->n;
    return lt_epilogue_has_bias(f->q->epilogue) && most > 65535 &&
           numbers(s, f->q->m > f->q->n ? "m" : "n", most, 65535);
}

bool lt_test_note_hip_large(const lt_facts *f, lt_seen *s)
{
    uint64_t bytes;
    bool fits = span_bytes(f, LTM_D, &bytes);
    return f->q->dialect == LTD_HIPBLASLT && (!fits || bytes >= 1ULL << 31) &&
           numbers(s, "d", fits ? bytes : UINT64_MAX, 1ULL << 31);
}

bool lt_test_note_hip_tile(const lt_facts *f, lt_seen *s)
{
    return f->q->dialect == LTD_HIPBLASLT && f->q->gfx == 950 && f->q->n % 192 &&
           lt_of(f, LTM_D)->type == DT_BF16 && numbers(s, "n", f->q->n, 192);
}

bool lt_test_note_aspect(const lt_facts *f, lt_seen *s)
{
    uint64_t m = f->q->m, n = f->q->n, most = m > n ? m : n, least = m > n ? n : m;
    return least && most / least >= 1000000 && numbers(s, m > n ? "m" : "n", most, least);
}

bool lt_test_note_fp8_device(const lt_facts *f, lt_seen *s)
{
    return lt_is_fp8(lt_of(f, LTM_A)->type) && !(f->q->sm == 90 && f->q->version / 100 == 1301) &&
           words(s, "a", "FP8", "a float of 16 bits or more");
}

bool lt_test_note_i8_device(const lt_facts *f, lt_seen *s)
{
    return lt_of(f, LTM_A)->type == DT_I8 && !(f->q->sm == 90 && f->q->version / 100 == 1301) &&
           words(s, "a", "i8", "a float");
}

/* A vector or an empty matrix among I8 operands. */
bool lt_test_note_i8_corner(const lt_facts *f, lt_seen *s)
{
    const lt_query *q = f->q;
    bool i32 = lt_of(f, LTM_A)->type == DT_I8 && lt_of(f, LTM_D)->type == DT_I32;
    uint64_t least = q->m < q->n ? q->m : q->n;
    least = q->k < least ? q->k : least;
    return i32 && least <= 1 && !(f->k_major[0] && f->k_major[1] && least == 1) && numbers(s, "d", least, 2);
}

bool lt_test_note_bias_corner(const lt_facts *f, lt_seen *s)
{
    uint64_t need = dtype_bytes(lt_of(f, LTM_D)->type);
    return f->q->m == 1 && lt_epilogue_has_bias(f->q->epilogue) &&
           (f->promise_min < need || !lt_of(f, LTM_D)->ld) && numbers(s, "bias", f->promise_min, need);
}

bool lt_test_note_wide_pitch(const lt_facts *f, lt_seen *s)
{
    for (int i = 0; i < 2; i++) {
        uint64_t bytes;
        if (dtype_bytes(lt_of(f, i)->type) == 2 && lt_major(lt_of(f, i)) > 1 &&
            ck_mul_u64(lt_of(f, i)->ld, 2, &bytes) && bytes % 16)
            return numbers(s, lt_mat_names[i], lt_of(f, i)->ld, 8);
    }
    return false;
}
