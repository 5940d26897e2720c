#include "plan/lt_trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef struct {
    const char *file, *line, *p;
    lt_trace *out;
    unsigned seen[LTM_COUNT]; /* of type, rows, cols, ld: a bit each */
    bool order[LTM_COUNT], batch[LTM_COUNT], stride[LTM_COUNT], op[2], epilogue, compute, scale, beta;
} reader;

static rp_code fail(rp_err *e, const reader *r, const char *expected)
{
    char where[40];
    snprintf(where, sizeof where, "column %zu", (size_t)(r->p - r->line) + 1);
    return err_invalid(e, FIND_RUN_INTERCEPT, r->file, where, "expected %s, found \"%.40s\"", expected, r->p);
}

/* The last bracketed word of the head, and the one before it; NULL when the line does not begin like the
 * library's. */
static const char *head_end(const char *line, span *level, span *function)
{
    span word[5];
    for (int i = 0; i < 5; i++) {
        size_t n = *line == '[' ? strcspn(line + 1, "]\n") : 0;
        if (!n || line[1 + n] != ']')
            return NULL;
        word[i] = span_of(line + 1, n);
        line += n + 2;
    }
    if (strncmp((const char *)word[1].p, "cublasLt]", 9))
        return NULL;
    *level = word[3];
    *function = word[4];
    return line;
}

static bool is(span s, const char *text)
{
    return s.n == strlen(text) && !memcmp(s.p, text, s.n);
}

static bool ends(span s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && !memcmp(s.p + s.n - n, end, n);
}

lt_line_kind lt_line_kind_of(const char *line)
{
    span level, function;
    if (!head_end(line, &level, &function))
        return LT_LINE_FOREIGN;
    if (is(level, "Trace") && ends(function, "Matmul"))
        return LT_LINE_CALL;
    if (is(level, "Api") && ends(function, "MatmulAlgoGetHeuristic"))
        return LT_LINE_PREFER;
    return is(level, "Api") && is(function, "cublasLtGetVersion") ? LT_LINE_VERSION : LT_LINE_OTHER;
}

static bool number(const char *s, uint64_t *out)
{
    char *end;
    if (*s < '0' || *s > '9' || strlen(s) > 19)
        return false;
    *out = strtoull(s, &end, 10);
    return !*end && *out < 1ULL << 53;
}

static bool pointer(const char *s, uint64_t *out)
{
    char *end;
    if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X') || !s[2])
        return false;
    *out = strtoull(s, &end, 16);
    return !*end;
}

/* The end of a head of any length, its last word a cublasLt…Matmul; NULL for any other. */
static const char *call_head_end(const char *line, span *function)
{
    *function = span_of(NULL, 0);
    while (*line == '[') {
        size_t n = strcspn(line + 1, "]\n");
        if (line[1 + n] != ']')
            return NULL;
        *function = span_of(line + 1, n);
        line += n + 2;
    }
    return function->n >= strlen("cublasLtMatmul") && !memcmp(function->p, "cublasLt", 8) &&
                   ends(*function, "Matmul")
               ? line
               : NULL;
}

static bool matrix_field(reader *r, int which, const char *key, const char *v)
{
    lt_operand *m = &r->out->q.mat[which];
    uint64_t u;
    if (!strcmp(key, "type")) {
        r->seen[which] |= 1;
        return m->type_said = lt_word_type(v, &m->type);
    }
    if (!strcmp(key, "rows") || !strcmp(key, "cols")) {
        r->seen[which] |= *key == 'r' ? 2 : 4;
        m->shape_said = true;
        return number(v, *key == 'r' ? &m->rows : &m->cols);
    }
    if (!strcmp(key, "ld")) {
        r->seen[which] |= 8;
        return m->ld_said = number(v, &m->ld);
    }
    if (!strcmp(key, "order"))
        return r->order[which] = lt_word_order(v, &m->order);
    if (!strcmp(key, "batchCount"))
        return r->batch[which] = number(v, &m->batch);
    if (!strcmp(key, "stridedBatchOffset")) {
        bool minus = *v == '-';
        if (!number(v + minus, &u))
            return false;
        m->stride = minus ? -(int64_t)u : (int64_t)u;
        return r->stride[which] = true;
    }
    return false;
}

static bool compute_field(reader *r, const char *key, const char *v)
{
    static const char *const others[] = {"cScalePointer", "dScalePointer", "amaxDPointer", NULL};
    lt_query *q = &r->out->q;
    uint64_t u;
    if (!strcmp(key, "computeType"))
        return r->compute = q->compute_said = lt_word_compute(v, &q->compute);
    if (!strcmp(key, "scaleType"))
        return r->scale = q->scale_said = lt_word_type(v, &q->scale);
    if (!strcmp(key, "transa") || !strcmp(key, "transb"))
        return r->op[key[5] - 'a'] = lt_word_op(v, &q->op[key[5] - 'a']);
    if (!strcmp(key, "epilogue"))
        return r->epilogue = lt_word_epilogue(v, &q->epilogue);
    if (!strcmp(key, "biasPointer"))
        return pointer(v, &r->out->pointer[LT_PTR_BIAS]);
    if (!strcmp(key, "biasDataType"))
        return lt_word_type(v, &q->bias_type);
    if (!strcmp(key, "smCountTarget"))
        return number(v, &r->out->sm_count_target);
    if (!strcmp(key, "aScaleMode") || !strcmp(key, "bScaleMode"))
        return lt_word_scale_mode(v, &q->scale_mode[*key - 'a']);
    if (!strcmp(key, "aScalePointer") || !strcmp(key, "bScalePointer")) {
        if (!pointer(v, &u))
            return false;
        r->out->scaled[*key - 'a'] = u != 0;
        return true;
    }
    for (int i = 0; others[i]; i++)
        if (!strcmp(key, others[i])) {
            if (!pointer(v, &u))
                return false;
            r->out->other_scales |= u != 0;
            return true;
        }
    return false;
}

/* KEY=VALUE at the cursor, the value up to white space or a bracket. */
static bool key_of(reader *r, char *key, size_t size)
{
    size_t n = strcspn(r->p, "= []\n");
    if (!n || n >= size || r->p[n] != '=')
        return false;
    memcpy(key, r->p, n);
    key[n] = 0;
    r->p += n + 1;
    return true;
}

static bool value_of(reader *r, char *value, size_t size)
{
    size_t n = strcspn(r->p, " []\n");
    if (!n || n >= size)
        return false;
    memcpy(value, r->p, n);
    value[n] = 0;
    r->p += n;
    return true;
}

static int matrix_named(const char *name)
{
    static const char *const names[] = {"Adesc", "Bdesc", "Cdesc", "Ddesc"};
    for (int i = 0; i < LTM_COUNT; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

/* Kept as printed; of its fields one alone matters here. */
static rp_code algorithm(rp_err *e, reader *r)
{
    char key[64], value[128];
    const char *open = r->p + 1;
    uint64_t id;
    for (r->p++; *r->p != ']'; r->p += *r->p == ' ') {
        const char *from = r->p;
        if (!key_of(r, key, sizeof key) || !value_of(r, value, sizeof value)) {
            r->p = from;
            return fail(e, r, "KEY=VALUE, or the end of algo=[…]");
        }
        if (!strcmp(key, "algoId") && number(value, &id))
            r->out->algorithm_id = (int64_t)id;
    }
    size_t n = (size_t)(r->p - open);
    if (n >= sizeof r->out->algorithm)
        return fail(e, r, "a shorter algo=[…]");
    memcpy(r->out->algorithm, open, n);
    r->out->algorithm[n] = 0;
    r->p++;
    return RP_OK;
}

static rp_code group(rp_err *e, reader *r, const char *name)
{
    int which = matrix_named(name);
    char key[64], value[128];
    if (!strcmp(name, "algo"))
        return algorithm(e, r);
    if (which < 0 && strcmp(name, "computeDesc"))
        return fail(e, r, "a known descriptor");
    for (r->p++; *r->p != ']'; r->p += *r->p == ' ') {
        const char *from = r->p;
        if (!key_of(r, key, sizeof key) || !value_of(r, value, sizeof value) ||
            !(which >= 0 ? matrix_field(r, which, key, value) : compute_field(r, key, value))) {
            r->p = from;
            return fail(e, r, "a field that this reader knows");
        }
        r->out->printed += !ends(span_str(key), "Pointer");
    }
    r->p++;
    return RP_OK;
}

static bool plain_field(reader *r, const char *key, const char *v)
{
    static const char *const pointers[] = {"A", "B", "C", "D", NULL};
    uint64_t u;
    char *end;
    for (int i = 0; pointers[i]; i++)
        if (!strcmp(key, pointers[i]))
            return pointer(v, &r->out->pointer[i]);
    if (!strcmp(key, "workSpace") || !strcmp(key, "stream"))
        return pointer(v, &u);
    r->out->printed++;
    if (!strcmp(key, "workSpaceSizeInBytes"))
        return number(v, &r->out->q.workspace_bytes);
    if (!strcmp(key, "beta")) {
        /* The library prints 0, and "?" for every other value (seen with cuBLASLt 13.1.0). */
        r->out->beta_unsaid = !strcmp(v, "?");
        r->out->q.beta = r->out->beta_unsaid ? 1 : strtod(v, &end);
        return r->beta = r->out->beta_unsaid || (*v && !*end);
    }
    if (!strcmp(key, "outOfPlace") && number(v, &u) && u <= 1) {
        r->out->out_of_place = u == 1;
        return true;
    }
    return false;
}

/* One more name on a list with room for it. */
static void add_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

static void name_elided(reader *r)
{
    static const char *const orders[] = {"a/order", "b/order", "c/order", "d/order"};
    static const char *const strides[] = {"a/stride", "b/stride", "c/stride", "d/stride"};
    const struct {
        bool printed;
        const char *name;
    } rest[] = {{r->op[0], "trans_a"},
                {r->op[1], "trans_b"},
                {r->epilogue, "epilogue"},
                {r->compute, "compute"},
                {r->scale, "scale"}};
    char *all = r->out->elided, *each = r->out->elided_each;
    size_t all_size = sizeof r->out->elided, each_size = sizeof r->out->elided_each;
    bool order = true, batch = true, stride = true;
    add_name(all, all_size, "alpha");
    if (r->out->beta_unsaid)
        add_name(all, all_size, "beta");
    for (int i = 0; i < LTM_COUNT; i++) {
        order &= r->order[i];
        batch &= r->batch[i];
        if (!r->order[i])
            add_name(each, each_size, orders[i]);
        if (r->out->q.mat[i].batch > 1 && !r->stride[i]) {
            stride = false;
            add_name(each, each_size, strides[i]);
        }
    }
    if (!order)
        add_name(all, all_size, "order");
    if (!batch)
        add_name(all, all_size, "batch");
    if (!stride)
        add_name(all, all_size, "stride");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (!rest[i].printed) {
            add_name(all, all_size, rest[i].name);
            add_name(each, each_size, rest[i].name);
        }
}

rp_code lt_trace_read(rp_err *e, lt_trace *out, const char *file, const char *line)
{
    reader r = {.file = file, .line = line, .p = line, .out = out};
    span function;
    char key[64], value[128];
    *out = (lt_trace){.algorithm_id = -1};
    lt_query_init(&out->q);
    out->q.workspace_bytes = 0;
    const char *body = call_head_end(line, &function);
    if (!body || *body != ' ' || function.n >= sizeof out->function)
        return fail(e, &r, "[…][cublasLt…Matmul] and fields");
    memcpy(out->function, function.p, function.n);
    for (r.p = body + 1; *r.p && *r.p != '\n' && *r.p != '\r'; r.p += *r.p == ' ') {
        const char *from = r.p;
        if (!key_of(&r, key, sizeof key))
            return fail(e, &r, "KEY=");
        if (*r.p == '[') {
            if (group(e, &r, key))
                return e->code;
        } else if (!value_of(&r, value, sizeof value) || !plain_field(&r, key, value)) {
            r.p = from;
            return fail(e, &r, "a field that this reader knows");
        }
    }
    for (int i = 0; i < LTM_COUNT; i++)
        if (r.seen[i] != 15)
            return fail(e, &r, "type, rows, cols and ld of A, B, C and D");
    if (!r.beta)
        return fail(e, &r, "beta=");
    lt_query *q = &out->q;
    for (int i = 0; i < LTM_COUNT; i++)
        if (q->mat[i].batch > 1 && !r.stride[i])
            q->mat[i].stride = 0;
    q->m = q->mat[LTM_D].rows;
    q->n = q->mat[LTM_D].cols;
    q->k = q->op[0] ? q->mat[LTM_A].rows : q->mat[LTM_A].cols;
    q->c_null = !out->pointer[LTM_C];
    lt_query_default(q);
    name_elided(&r);
    return RP_OK;
}

const char *lt_trace_text(scratch *sc, const char *line)
{
    span level, function;
    const char *body = head_end(line, &level, &function);
    return body ? scratch_printf(sc, "[cublasLt][%.*s][%.*s]%.*s", (int)level.n, (const char *)level.p,
                                 (int)function.n, (const char *)function.p, (int)strcspn(body, "\r\n"), body)
                : NULL;
}

void lt_trace_promises(const char *line, uint64_t promise[LTM_COUNT])
{
    for (int i = 0; i < LTM_COUNT; i++) {
        char key[] = "minBytesAlignmentA=";
        key[17] = (char)('A' + i);
        const char *at = strstr(line, key);
        uint64_t v = at ? strtoull(at + sizeof key - 1, NULL, 10) : 0;
        promise[i] = v ? v : 256;
    }
}

unsigned lt_trace_version(const char *line)
{
    const char *at = strstr(line, "version=");
    unsigned long v = at ? strtoul(at + 8, NULL, 10) : 0;
    return v < 1000000 ? (unsigned)v : 0;
}
