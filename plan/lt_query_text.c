#include "plan/lt_query.h"
#include <stdlib.h>
#include <strings.h>

static bool integer(const char *s, uint64_t *out)
{
    char *end;
    if (*s < '0' || *s > '9' || strlen(s) > 19)
        return false;
    *out = strtoull(s, &end, 10);
    return !*end;
}

/* Below 2^53, as in every JSON document of ours; strides have the whole of 64 bits. */
static bool number(const char *s, uint64_t *out)
{
    return integer(s, out) && *out < 1ULL << 53;
}

static bool stride_of(const char *s, int64_t *out)
{
    uint64_t v;
    bool minus = *s == '-';
    if (!integer(s + minus, &v) || v > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

static bool real(const char *s, double *out)
{
    char *end;
    *out = strtod(s, &end);
    return *s && !*end && *out == *out;
}

static bool ld_of(const char *s, lt_operand *m)
{
    m->ld_said = true;
    m->ld_negative = *s == '-';
    if (!number(s + m->ld_negative, &m->ld))
        return false;
    m->ld = m->ld_negative ? 0 : m->ld;
    return true;
}

/* Behind KEY= where the word starts with it, else NULL. */
static const char *value(const char *s, const char *key)
{
    size_t n = strlen(key);
    return !strncasecmp(s, key, n) && s[n] == '=' ? s + n + 1 : NULL;
}

/* The largest power of two that divides both a byte offset and 256. */
static uint64_t align_at(uint64_t offset)
{
    uint64_t low = offset ? offset & (~offset + 1) : 0;
    return low && low < 256 ? low : 256;
}

static bool operand_word(lt_query *q, int which, const char *s)
{
    lt_operand *m = &q->mat[which];
    const char *v;
    uint64_t at;
    lt_op op;
    if (lt_word_type(s, &m->type))
        return m->type_said = true;
    if (lt_word_order(s, &m->order))
        return true;
    if (which < LTM_C && lt_word_op(s, &op)) {
        q->op[which] = op;
        return true;
    }
    if (which == LTM_C && !strcasecmp(s, "null"))
        return q->c_null = true;
    if ((v = value(s, "ld")))
        return ld_of(v, m);
    if ((v = value(s, "rows")))
        return number(v, &m->rows) && (m->shape_said = true);
    if ((v = value(s, "cols")))
        return number(v, &m->cols) && (m->shape_said = true);
    if ((v = value(s, "batch")))
        return number(v, &m->batch);
    if ((v = value(s, "stride")))
        return stride_of(v, &m->stride);
    if ((v = value(s, "align")))
        return number(v, &m->align_bytes) && m->align_bytes;
    if ((v = value(s, "buffer")))
        return number(v, &m->buffer_bytes);
    if ((v = value(s, "holds")))
        return lt_word_type(v, &m->holds);
    if ((v = value(s, "at")) && number(v, &at)) {
        m->align_bytes = align_at(at);
        return true;
    }
    return false;
}

static bool bias_word(lt_query *q, const char *s)
{
    const char *v;
    if (lt_word_type(s, &q->bias_type))
        return true;
    if ((v = value(s, "len")))
        return number(v, &q->bias_len);
    if ((v = value(s, "align")))
        return number(v, &q->bias_align) && q->bias_align;
    if ((v = value(s, "axis"))) {
        q->bias_axis = !strcasecmp(v, "rows") ? LTX_ROWS : !strcasecmp(v, "cols") ? LTX_COLS : LTX_UNSAID;
        return q->bias_axis != LTX_UNSAID;
    }
    return false;
}

/* Each comma separated part; on failure *bad is the part. */
static bool parts(lt_query *q, int which, const char *list, char *part, size_t size)
{
    for (;;) {
        size_t n = strcspn(list, ",");
        if (n >= size)
            return false;
        memcpy(part, list, n);
        part[n] = 0;
        if (which < LTM_COUNT ? !operand_word(q, which, part) : !bias_word(q, part))
            return false;
        if (!list[n])
            return true;
        list += n + 1;
    }
}

static bool unsigned_of(const char *s, unsigned *out)
{
    uint64_t v;
    if (!number(s, &v) || v > 99999)
        return false;
    *out = (unsigned)v;
    return true;
}

static bool extent_word(lt_query *q, const char *w)
{
    const char *v;
    uint64_t all;
    if ((v = value(w, "m")))
        return number(v, &q->m) && (q->extents_said |= 1);
    if ((v = value(w, "n")))
        return number(v, &q->n) && (q->extents_said |= 2);
    if ((v = value(w, "k")))
        return number(v, &q->k) && (q->extents_said |= 4);
    if ((v = value(w, "batch")) && number(v, &all)) {
        for (int i = 0; i < LTM_COUNT; i++)
            q->mat[i].batch = all;
        return true;
    }
    if ((v = value(w, "promise")) && number(v, &all) && all) {
        for (int i = 0; i < LTM_COUNT; i++)
            q->mat[i].promise_bytes = all;
        return true;
    }
    for (int i = 0; i < LTM_COUNT; i++) {
        char key[] = "promise_?";
        key[8] = lt_mat_names[i][0];
        if ((v = value(w, key)))
            return number(v, &q->mat[i].promise_bytes) && q->mat[i].promise_bytes;
    }
    return false;
}

static bool other_word(lt_query *q, const char *w)
{
    const char *v;
    if ((v = value(w, "compute")))
        return lt_word_compute(v, &q->compute) && (q->compute_said = true);
    if ((v = value(w, "scale")))
        return lt_word_type(v, &q->scale) && (q->scale_said = true);
    if ((v = value(w, "epilogue")))
        return lt_word_epilogue(v, &q->epilogue);
    if ((v = value(w, "alpha")))
        return real(v, &q->alpha);
    if ((v = value(w, "beta")))
        return real(v, &q->beta);
    if ((v = value(w, "scale_a")))
        return lt_word_scale_mode(v, &q->scale_mode[0]);
    if ((v = value(w, "scale_b")))
        return lt_word_scale_mode(v, &q->scale_mode[1]);
    if ((v = value(w, "workspace")))
        return number(v, &q->workspace_bytes);
    if ((v = value(w, "workspace_align")))
        return number(v, &q->workspace_align) && q->workspace_align;
    if ((v = value(w, "sm")))
        return unsigned_of(v, &q->sm);
    if ((v = value(w, "gfx")))
        return unsigned_of(v, &q->gfx);
    if ((v = value(w, "lib")))
        return lt_word_version(v, &q->version, &q->version_loose);
    if ((v = value(w, "dialect"))) {
        q->dialect = !strcasecmp(v, "hipblaslt") ? LTD_HIPBLASLT : LTD_CUBLASLT;
        return q->dialect == LTD_HIPBLASLT || !strcasecmp(v, "cublaslt");
    }
    return false;
}

rp_code lt_query_text(rp_err *e, lt_query *q, const char *text)
{
    static const char *const keys[] = {"a", "b", "c", "d", "bias"};
    char w[256], part[64];
    lt_query_init(q);
    for (text += strspn(text, " \t\r\n"); *text; text += strspn(text, " \t\r\n")) {
        size_t n = strcspn(text, " \t\r\n");
        const char *list = NULL;
        int which = 0;
        if (n >= sizeof w)
            return err_set(e, RP_USAGE, "a word of the call is longer than %zu characters", sizeof w - 1);
        memcpy(w, text, n);
        w[n] = 0;
        text += n;
        while (which <= LTM_COUNT && !(list = value(w, keys[which])))
            which++;
        *part = 0;
        if (list ? !parts(q, which, list, part, sizeof part) : !extent_word(q, w) && !other_word(q, w))
            return err_set(e, RP_USAGE, "cannot read \"%s\" in \"%.80s\" of the call", list ? part : w, w);
    }
    if (!q->mat[LTM_A].type_said || q->extents_said != 7)
        return err_set(e, RP_USAGE, "expected at least m=, n=, k= and a type in a=");
    lt_query_default(q);
    return RP_OK;
}
