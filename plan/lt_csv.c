#include "plan/lt_csv.h"
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
enum { M, N, K, TYPE_A, TYPE_B, TYPE_C, TYPE_D, COMPUTE, SCALE, EPILOGUE, TRANS_A, TRANS_B, ORDER_A, ORDER_B, ORDER_C, ORDER_D, A_ROWS, A_COLS,
       LDA, B_ROWS, B_COLS, LDB, CD_ROWS, CD_COLS, LDC, LDD, BATCH, STRIDE_A, STRIDE_CD, MIN_ALIGN, WORKSPACE_LIMIT, REQUIRED,
       STATUS = REQUIRED, SM, LIB, FOUND, STATE, WORKSPACE, ALGO_ID, TILE, STAGES, SPLITK, KNOWN };
static const char *const names[] = {"m", "n", "k", "type_a", "type_b", "type_c", "type_d", "compute", "scale", "epilogue", "trans_a", "trans_b",
    "order_a", "order_b", "order_c", "order_d", "a_rows", "a_cols", "lda", "b_rows", "b_cols", "ldb", "cd_rows", "cd_cols", "ldc", "ldd", "batch",
    "stride_a", "stride_cd", "min_align", "workspace_limit", "status", "sm", "lib", "found", "state", "workspace", "algo_id", "tile", "stages",
    "splitk"};
/* clang-format on */
_Static_assert(sizeof names / sizeof *names == KNOWN && (int)KNOWN <= (int)LT_CSV_COLUMNS, "a name a column");

static rp_code fail(rp_err *e, const lt_csv *r, const char *what, const char *text)
{
    err_set(e, RP_IO, "%s \"%.40s\"", what, text);
    snprintf(e->where, sizeof e->where, "line %llu", (unsigned long long)r->line);
    return err_file(e, r->file);
}

/* The next line without its end; false at the end of the text. */
static bool next_line(lt_csv *r, span *line)
{
    if (!r->rest.n)
        return false;
    const uint8_t *nl = memchr(r->rest.p, '\n', r->rest.n);
    size_t n = nl ? (size_t)(nl - r->rest.p) : r->rest.n;
    *line = span_of(r->rest.p, n);
    r->rest = span_of(r->rest.p + n + (nl ? 1 : 0), r->rest.n - n - (nl ? 1 : 0));
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    r->line++;
    return true;
}

/* The next comma separated field, copied; false when it is too long. */
static bool next_field(span *line, char *out, size_t size)
{
    const uint8_t *comma = memchr(line->p, ',', line->n);
    size_t n = comma ? (size_t)(comma - line->p) : line->n;
    if (n >= size)
        return false;
    memcpy(out, line->p, n);
    out[n] = 0;
    *line = span_of(line->p + n + (comma ? 1 : 0), line->n - n - (comma ? 1 : 0));
    return true;
}

rp_code lt_csv_open(rp_err *e, lt_csv *r, const char *file, span text, unsigned sm, unsigned version)
{
    char field[40];
    bool seen[KNOWN] = {false};
    span line;
    *r = (lt_csv){.file = file, .rest = text, .sm = sm, .version = version};
    if (!next_line(r, &line))
        return fail(e, r, "expected a line of column names, found", "");
    while (line.n) {
        int c = 0;
        if (!next_field(&line, field, sizeof field))
            return fail(e, r, "a column name is too long:", "");
        while (c < KNOWN && strcmp(names[c], field))
            c++;
        if (c == KNOWN || r->n_columns == LT_CSV_COLUMNS)
            return fail(e, r, "unknown column", field);
        if (seen[c])
            return fail(e, r, "column twice:", field);
        seen[c] = true;
        r->column[r->n_columns++] = c;
    }
    for (int c = 0; c < REQUIRED; c++)
        if (!seen[c])
            return fail(e, r, "missing column", names[c]);
    return RP_OK;
}

static bool integer(const char *s, int64_t *out)
{
    char *end;
    bool minus = *s == '-';
    if (s[minus] < '0' || s[minus] > '9' || strlen(s) > 18)
        return false;
    *out = strtoll(s, &end, 10);
    return !*end;
}

static bool text_field(lt_query *q, int c, const char *s)
{
    switch (c) {
    case TYPE_A:
    case TYPE_B:
    case TYPE_C:
    case TYPE_D:
        return lt_word_type(s, &q->mat[c - TYPE_A].type);
    case COMPUTE:
        return lt_word_compute(s, &q->compute);
    case SCALE:
        return lt_word_type(s, &q->scale);
    case EPILOGUE:
        return lt_word_epilogue(s, &q->epilogue);
    case TRANS_A:
    case TRANS_B:
        return lt_word_op(s, &q->op[c - TRANS_A]);
    case ORDER_A:
    case ORDER_B:
    case ORDER_C:
    case ORDER_D:
        return lt_word_order(s, &q->mat[c - ORDER_A].order);
    default:
        return false;
    }
}

static bool number_field(lt_csv_row *row, int c, int64_t v)
{
    lt_query *q = &row->q;
    lt_operand *m = q->mat;
    uint64_t u = (uint64_t)v;
    if (c == STRIDE_A || c == STRIDE_CD) {
        int64_t stride = v == -1 ? LT_TIGHT : v;
        if (c == STRIDE_A)
            m[LTM_A].stride = stride;
        else
            m[LTM_C].stride = m[LTM_D].stride = stride;
        return v >= -1;
    }
    if (v < 0 && (c == LDA || c == LDB || c == LDC || c == LDD)) {
        m[c == LDA ? LTM_A : c == LDB ? LTM_B : c == LDC ? LTM_C : LTM_D].ld_negative = true;
        u = 0;
    } else if (v < 0 && (c < A_ROWS || c > LDD)) {
        return false; /* a negative row or column stays a number that fits no call */
    }
    switch (c) {
    case M:
        q->m = u;
        return true;
    case N:
        q->n = u;
        return true;
    case K:
        q->k = u;
        return true;
    case A_ROWS:
        m[LTM_A].rows = u;
        return true;
    case A_COLS:
        m[LTM_A].cols = u;
        return true;
    case LDA:
        m[LTM_A].ld = u;
        return true;
    case B_ROWS:
        m[LTM_B].rows = u;
        return true;
    case B_COLS:
        m[LTM_B].cols = u;
        return true;
    case LDB:
        m[LTM_B].ld = u;
        return true;
    case CD_ROWS:
        m[LTM_C].rows = m[LTM_D].rows = u;
        return true;
    case CD_COLS:
        m[LTM_C].cols = m[LTM_D].cols = u;
        return true;
    case LDC:
        m[LTM_C].ld = u;
        return true;
    case LDD:
        m[LTM_D].ld = u;
        return true;
    case BATCH:
        for (int i = 0; i < LTM_COUNT; i++)
            m[i].batch = u;
        return true;
    case MIN_ALIGN:
        for (int i = 0; i < LTM_COUNT; i++)
            m[i].promise_bytes = u;
        return true;
    case WORKSPACE_LIMIT:
        q->workspace_bytes = u;
        return true;
    case STATUS:
        row->status = v < 100 ? (int)v : -1;
        return v < 100;
    case SM:
        q->sm = (unsigned)v;
        return v < 10000;
    default:
        return false;
    }
}

static bool field_of(lt_csv_row *row, int c, const char *s)
{
    int64_t v;
    if (c >= FOUND)
        return true;
    if (c == LIB)
        return lt_word_version(s, &row->q.version, &row->q.version_loose);
    if (c >= TYPE_A && c <= ORDER_D)
        return text_field(&row->q, c, s);
    return integer(s, &v) && number_field(row, c, v);
}

rp_code lt_csv_next(rp_err *e, lt_csv *r, lt_csv_row *row, bool *end)
{
    char field[40];
    span line;
    int c = 0;
    do
        if ((*end = !next_line(r, &line)))
            return RP_OK;
    while (!line.n);
    lt_query_init(&row->q);
    row->status = -1;
    row->line = r->line;
    row->text = line;
    row->q.sm = r->sm;
    row->q.version = r->version;
    for (int i = 0; i < LTM_COUNT; i++)
        row->q.mat[i].type_said = row->q.mat[i].shape_said = row->q.mat[i].ld_said = true;
    row->q.compute_said = row->q.scale_said = true;
    for (; c < r->n_columns; c++) {
        if (!next_field(&line, field, sizeof field))
            return fail(e, r, "a field is too long in column", names[r->column[c]]);
        if (!field_of(row, r->column[c], field)) {
            char what[64];
            snprintf(what, sizeof what, "column %s cannot be", names[r->column[c]]);
            return fail(e, r, what, field);
        }
    }
    if (line.n)
        return fail(e, r, "more fields than columns:", "");
    lt_query_default(&row->q);
    return RP_OK;
}

bool lt_query_same(const lt_query *a, const lt_query *b)
{
    for (int i = 0; i < LTM_COUNT; i++) {
        const lt_operand *x = &a->mat[i], *y = &b->mat[i];
        uint64_t px = x->promise_bytes ? x->promise_bytes : 256,
                 py = y->promise_bytes ? y->promise_bytes : 256;
        if (x->type != y->type || x->order != y->order || x->rows != y->rows || x->cols != y->cols ||
            x->ld != y->ld || x->ld_negative != y->ld_negative || x->batch != y->batch ||
            (x->batch > 1 && x->stride != y->stride) || px != py)
            return false;
    }
    if (lt_epilogue_has_bias(a->epilogue) && lt_bias_of(a) != lt_bias_of(b))
        return false;
    return a->m == b->m && a->n == b->n && a->k == b->k && a->op[0] == b->op[0] && a->op[1] == b->op[1] &&
           a->compute == b->compute && a->scale == b->scale && a->epilogue == b->epilogue &&
           a->scale_mode[0] == b->scale_mode[0] && a->scale_mode[1] == b->scale_mode[1] &&
           a->workspace_bytes == b->workspace_bytes;
}

uint64_t lt_query_hash(const lt_query *q)
{
    const uint64_t parts[] = {q->m,
                              q->n,
                              q->k,
                              q->mat[0].ld,
                              q->mat[1].ld,
                              q->mat[3].ld,
                              (uint64_t)q->mat[0].type,
                              (uint64_t)q->epilogue,
                              q->workspace_bytes};
    uint64_t h = 0x9e3779b97f4a7c15U;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t x;
        h ^= parts[i];
        (void)__builtin_mul_overflow(h, 0xff51afd7ed558ccdU, &x);
        h = x ^ x >> 32;
    }
    return h;
}
