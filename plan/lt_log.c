#include "plan/lt_log.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *file, *line, *p;
    scratch *sc;
    lt_logged out;
    bool order_printed[4], trans_printed[2], epilogue_printed, beta_printed, compute_printed, scale_printed;
    unsigned seen[4]; /* of type, rows, cols, ld: a bit each */
} log_reader;

static rp_code fail(rp_err *e, const log_reader *r, const char *expected)
{
    char where[40];
    snprintf(where, sizeof where, "column %zu", (size_t)(r->p - r->line) + 1);
    return err_invalid(e, FIND_RUN_INTERCEPT, r->file, where, "expected %s, found \"%.40s\"", expected, r->p);
}

/* KEY= at the cursor; the key is copied into buf. */
static bool read_key(log_reader *r, char *buf, size_t size)
{
    size_t n = strcspn(r->p, "= []");
    if (!n || n >= size || r->p[n] != '=')
        return false;
    memcpy(buf, r->p, n);
    buf[n] = 0;
    r->p += n + 1;
    return true;
}

/* A bare value up to white space or ']'. */
static bool read_value(log_reader *r, char *buf, size_t size)
{
    size_t n = strcspn(r->p, " []\n");
    if (!n || n >= size)
        return false;
    memcpy(buf, r->p, n);
    buf[n] = 0;
    r->p += n;
    return true;
}

static bool number(const char *s, uint64_t *out)
{
    char *end;
    if (*s < '0' || *s > '9' || strlen(s) > 18)
        return false;
    *out = strtoull(s, &end, 10);
    return !*end;
}

static bool named(const char *s, const char *const *names, int *out)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], s)) {
            *out = i;
            return true;
        }
    return false;
}

/* The library's names in the order of our enums; "" where it has none we use. */
static const char *const log_types[] = {"R_16F", "R_16BF", "R_32F", "R_64F", "R_32I", "", NULL};
static const char *const log_orders[] = {"ORDER_COL", "ORDER_ROW", NULL};
static const char *const log_epilogues[] = {"EPILOGUE_DEFAULT", "EPILOGUE_RELU", "EPILOGUE_BIAS",
                                            "EPILOGUE_RELU_BIAS", NULL};
static const char *const log_ops[] = {"OP_N", "OP_T", NULL};

/* One KEY=VALUE inside a matrix descriptor. */
static bool matrix_field(log_reader *r, int which, const char *key, const char *value)
{
    lt_matrix *m = which == 0   ? &r->out.call.a
                   : which == 1 ? &r->out.call.b
                   : which == 2 ? &r->out.call.c
                                : &r->out.call.d;
    int i;
    uint64_t v;
    if (!strcmp(key, "type") && named(value, log_types, &i)) {
        m->type = (dtype)i;
        r->seen[which] |= 1;
    } else if (!strcmp(key, "order") && named(value, log_orders, &i)) {
        m->order = (lt_order)i;
        r->order_printed[which] = true;
    } else if (!strcmp(key, "rows")) {
        r->seen[which] |= 2;
        return number(value, &m->rows);
    } else if (!strcmp(key, "cols")) {
        r->seen[which] |= 4;
        return number(value, &m->cols);
    } else if (!strcmp(key, "ld")) {
        r->seen[which] |= 8;
        return number(value, &m->ld);
    } else if (!strcmp(key, "batchCount")) {
        return number(value, &v) && v == 1;
    } else {
        return false;
    }
    return true;
}

static bool compute_field(log_reader *r, const char *key, const char *value)
{
    int i;
    if (!strcmp(key, "computeType"))
        return r->compute_printed = !strcmp(value, "COMPUTE_32F");
    if (!strcmp(key, "scaleType"))
        return r->scale_printed = !strcmp(value, "R_32F");
    if (!strcmp(key, "smCountTarget"))
        return number(value, &r->out.sm_count_target);
    if ((!strcmp(key, "transa") || !strcmp(key, "transb")) && named(value, log_ops, &i)) {
        *(key[5] == 'a' ? &r->out.call.trans_a : &r->out.call.trans_b) = i == 1;
        r->trans_printed[key[5] - 'a'] = true;
        return true;
    }
    if (!strcmp(key, "epilogue") && named(value, log_epilogues, &i)) {
        r->out.call.epilogue = (lt_epilogue)i;
        r->epilogue_printed = true;
        return true;
    }
    if (!strcmp(key, "biasPointer")) {
        r->out.has_bias = true;
        return true;
    }
    return false;
}

static bool algo_field(log_reader *r, const char *key, const char *value)
{
    uint64_t v;
    if (!strcmp(key, "algoId") && number(value, &v))
        r->out.algorithm_id = (int64_t)v;
    return true; /* read back through the API as well; compared there */
}

static rp_code group(rp_err *e, log_reader *r, const char *name)
{
    static const char *const matrices[] = {"Adesc", "Bdesc", "Cdesc", "Ddesc", NULL};
    char key[64], value[128];
    int which = 0;
    bool matrix = named(name, matrices, &which), compute = !strcmp(name, "computeDesc"),
         algo = !strcmp(name, "algo");
    if (!matrix && !compute && !algo)
        return fail(e, r, "a known descriptor");
    for (r->p++; *r->p != ']'; r->p += *r->p == ' ') {
        const char *from = r->p;
        bool ok = read_key(r, key, sizeof key) && read_value(r, value, sizeof value) &&
                  (matrix    ? matrix_field(r, which, key, value)
                   : compute ? compute_field(r, key, value)
                             : algo_field(r, key, value));
        if (!ok) {
            r->p = from;
            return fail(e, r, "a field that this reader knows");
        }
        r->out.printed += !algo && strcmp(key, "biasPointer") != 0;
    }
    r->p++;
    return RP_OK;
}

static bool plain_field(log_reader *r, const char *key, const char *value)
{
    static const char *const pointers[] = {"A", "B", "C", "D", "workSpace", "stream", NULL};
    int i;
    uint64_t v;
    if (named(key, pointers, &i))
        return true;
    if (!number(value, &v))
        return false;
    r->out.printed++;
    if (!strcmp(key, "workSpaceSizeInBytes"))
        r->out.call.workspace_bytes = v;
    else if (!strcmp(key, "beta") && v <= 1) {
        r->out.call.beta_one = v == 1;
        r->beta_printed = true;
    } else if (!strcmp(key, "outOfPlace") && v <= 1)
        r->out.out_of_place = v == 1;
    else
        return false;
    return true;
}

static bool read_head(log_reader *r)
{
    const char *open = NULL;
    while (*r->p == '[') {
        open = r->p + 1;
        r->p += strcspn(r->p, "]\n");
        if (*r->p != ']')
            return false;
        r->p++;
    }
    if (!open || *r->p != ' ')
        return false;
    r->out.function = scratch_strndup(r->sc, open, (size_t)(r->p - 1 - open));
    r->p++;
    size_t n = r->out.function ? strlen(r->out.function) : 0;
    return n > 14 - 1 && !strncmp(r->out.function, "cublasLt", 8) &&
           !strcmp(r->out.function + n - 6, "Matmul");
}

static void list_elided(log_reader *r)
{
    static const char *const matrix[] = {"a/order", "b/order", "c/order", "d/order"};
    char buf[160] = "";
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        if (!r->order_printed[i])
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n ? ", " : "", matrix[i]);
    for (int i = 0; i < 2; i++)
        if (!r->trans_printed[i])
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n ? ", " : "", i ? "trans_b" : "trans_a");
    if (!r->epilogue_printed)
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n ? ", " : "", "epilogue");
    if (!r->compute_printed)
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n ? ", " : "", "compute");
    if (!r->scale_printed)
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%s%s", n ? ", " : "", "scale");
    r->out.elided = scratch_strdup(r->sc, buf);
}

rp_code lt_log_read(rp_err *e, lt_logged *out, scratch *sc, const char *file, const char *line)
{
    log_reader r = {.file = file, .line = line, .p = line, .sc = sc};
    char key[64], value[128];
    r.out.algorithm_id = -1;
    if (!read_head(&r))
        return fail(e, &r, "[…][cublasLt…Matmul] and fields");
    while (*r.p && *r.p != '\n') {
        const char *from = r.p;
        if (!read_key(&r, key, sizeof key))
            return fail(e, &r, "KEY=");
        if (*r.p == '[') {
            if (group(e, &r, key))
                return e->code;
        } else if (!read_value(&r, value, sizeof value) || !plain_field(&r, key, value)) {
            r.p = from;
            return fail(e, &r, "a field that this reader knows");
        }
        r.p += *r.p == ' ';
    }
    for (int i = 0; i < 4; i++)
        if (r.seen[i] != 15)
            return fail(e, &r, "type, rows, cols and ld of A, B, C and D");
    if (!r.beta_printed)
        return fail(e, &r, "beta=");
    lt_call *k = &r.out.call;
    k->m = k->d.rows;
    k->n = k->d.cols;
    k->k = k->trans_a ? k->a.rows : k->a.cols;
    k->compute = LTC_32F;
    k->scale = DT_F32;
    k->bias_type = k->d.type;
    list_elided(&r);
    if (!r.out.elided)
        return err_nomem(e);
    *out = r.out;
    return RP_OK;
}
