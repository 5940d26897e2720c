/* --probe-calls FILE: ask the library's heuristic about every row of a file of calls, and write the rows
 * again, its answers behind them. The columns are those of docs/resolver-calls.md; a status that the file has
 * already is replaced. */
#include "gpu/cuda/cu.h"
#include "gpu/cuda/lt_words.h"
#include "gpu/cuda/modes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
enum { M, N, K, TYPE_A, TYPE_B, TYPE_C, TYPE_D, COMPUTE, SCALE, EPILOGUE, TRANS_A, TRANS_B, ORDER_A, ORDER_B, ORDER_C, ORDER_D, A_ROWS, A_COLS,
       LDA, B_ROWS, B_COLS, LDB, CD_ROWS, CD_COLS, LDC, LDD, BATCH, STRIDE_A, STRIDE_CD, MIN_ALIGN, WORKSPACE_LIMIT, COLUMNS };
static const char *const names[COLUMNS] = {"m", "n", "k", "type_a", "type_b", "type_c", "type_d", "compute", "scale", "epilogue", "trans_a", "trans_b",
    "order_a", "order_b", "order_c", "order_d", "a_rows", "a_cols", "lda", "b_rows", "b_cols", "ldb", "cd_rows", "cd_cols", "ldc", "ldd", "batch",
    "stride_a", "stride_cd", "min_align", "workspace_limit"};
/* clang-format on */
enum { FIELDS_MAX = 64, LINE_MAX_BYTES = 4096, FIELD_BYTES = 40 };

typedef struct {
    char text[COLUMNS][FIELD_BYTES];
    int64_t v[COLUMNS];
} row;

typedef struct {
    cublasStatus_t status;
    int found;
    cublasLtMatmulHeuristicResult_t result;
} answer;

/* Which of the words it is, -1 where it is none. */
static int word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], text))
            return i;
    return -1;
}

/* Types are spelled as in docs/resolver-calls.md: e4m3, not f8_e4m3. */
static int type_of(const char *text)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (!strcmp(dtype_names[i] + (strncmp(dtype_names[i], "f8_", 3) ? 0 : 3), text))
            return lt_cuda_type((dtype)i);
    return -1;
}

static bool read_field(row *r, int c)
{
    static const char *const op_names[] = {"N", "T", "C", NULL};
    static const int ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const char *text = r->text[c];
    char *end;
    int i = -1;
    if ((c >= TYPE_A && c <= TYPE_D) || c == SCALE)
        r->v[c] = type_of(text);
    else if (c == COMPUTE)
        r->v[c] = (i = word(text, lt_compute_names)) < 0 ? -1 : lt_cuda_compute((lt_compute)i);
    else if (c == EPILOGUE)
        r->v[c] = (i = word(text, lt_epilogue_names)) < 0 ? -1 : lt_cuda_epilogue((lt_epilogue)i);
    else if (c == TRANS_A || c == TRANS_B)
        r->v[c] = (i = word(text, op_names)) < 0 ? -1 : ops[i];
    else if (c >= ORDER_A && c <= ORDER_D)
        r->v[c] = (i = word(text, lt_order_names)) < 0 ? -1 : lt_cuda_order((lt_order)i);
    else {
        r->v[c] = strtoll(text, &end, 10);
        return *text && !*end;
    }
    return r->v[c] >= 0;
}

/* The fields of a line into at most FIELDS_MAX pieces, cut in place. */
static int split(char *line, char *fields[FIELDS_MAX])
{
    int n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (;;) {
        if (n == FIELDS_MAX)
            return -1;
        fields[n++] = line;
        line += strcspn(line, ",");
        if (!*line)
            return n;
        *line++ = 0;
    }
}

static cublasStatus_t layout(cublasLtMatrixLayout_t *out, int64_t type, int64_t rows, int64_t cols,
                             int64_t ld, int64_t order, int64_t batch, int64_t stride)
{
    int32_t o = (int32_t)order, b = (int32_t)batch;
    int64_t tight = 0;
    if (stride < 0) {
        int64_t major = order == CUBLASLT_ORDER_COL ? cols : rows;
        stride = __builtin_mul_overflow(ld, major, &tight) ? 0 : tight;
    }
    cublasStatus_t s =
        cublasLtMatrixLayoutCreate(out, (cudaDataType_t)type, (uint64_t)rows, (uint64_t)cols, ld);
    if (!s)
        s = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_ORDER, &o, sizeof o);
    if (!s)
        s = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &b, sizeof b);
    if (!s)
        s = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                             sizeof stride);
    return s;
}

static cublasStatus_t describe(cublasLtMatmulDesc_t *desc, const row *r)
{
    int32_t ta = (int32_t)r->v[TRANS_A], tb = (int32_t)r->v[TRANS_B];
    uint32_t epilogue = (uint32_t)r->v[EPILOGUE];
    cublasStatus_t s =
        cublasLtMatmulDescCreate(desc, (cublasComputeType_t)r->v[COMPUTE], (cudaDataType_t)r->v[SCALE]);
    if (!s)
        s = cublasLtMatmulDescSetAttribute(*desc, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
    if (!s)
        s = cublasLtMatmulDescSetAttribute(*desc, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
    if (!s)
        s = cublasLtMatmulDescSetAttribute(*desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    return s;
}

static cublasStatus_t prefer(cublasLtMatmulPreference_t *pref, const row *r)
{
    static const cublasLtMatmulPreferenceAttributes_t attrs[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    uint64_t limit = (uint64_t)r->v[WORKSPACE_LIMIT];
    uint32_t align = (uint32_t)r->v[MIN_ALIGN];
    cublasStatus_t s = cublasLtMatmulPreferenceCreate(pref);
    if (!s)
        s = cublasLtMatmulPreferenceSetAttribute(*pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit,
                                                 sizeof limit);
    for (size_t i = 0; !s && align && i < sizeof attrs / sizeof *attrs; i++)
        s = cublasLtMatmulPreferenceSetAttribute(*pref, attrs[i], &align, sizeof align);
    return s;
}

static answer ask(cublasLtHandle_t handle, const row *r)
{
    answer a = {.status = CUBLAS_STATUS_SUCCESS};
    cublasLtMatmulDesc_t desc = NULL;
    cublasLtMatrixLayout_t m[4] = {NULL};
    cublasLtMatmulPreference_t pref = NULL;
    const int64_t *v = r->v;
    a.status = describe(&desc, r);
    if (!a.status)
        a.status = layout(&m[0], v[TYPE_A], v[A_ROWS], v[A_COLS], v[LDA], v[ORDER_A], v[BATCH], v[STRIDE_A]);
    if (!a.status)
        a.status = layout(&m[1], v[TYPE_B], v[B_ROWS], v[B_COLS], v[LDB], v[ORDER_B], v[BATCH], -1);
    if (!a.status)
        a.status =
            layout(&m[2], v[TYPE_C], v[CD_ROWS], v[CD_COLS], v[LDC], v[ORDER_C], v[BATCH], v[STRIDE_CD]);
    if (!a.status)
        a.status =
            layout(&m[3], v[TYPE_D], v[CD_ROWS], v[CD_COLS], v[LDD], v[ORDER_D], v[BATCH], v[STRIDE_CD]);
    if (!a.status)
        a.status = prefer(&pref, r);
    if (!a.status)
        a.status = cublasLtMatmulAlgoGetHeuristic(handle, desc, m[0], m[1], m[2], m[3], pref, 1, &a.result,
                                                  &a.found);
    if (pref)
        cublasLtMatmulPreferenceDestroy(pref);
    for (int i = 0; i < 4; i++)
        if (m[i])
            cublasLtMatrixLayoutDestroy(m[i]);
    if (desc)
        cublasLtMatmulDescDestroy(desc);
    return a;
}

static int64_t configured(const answer *a, cublasLtMatmulAlgoConfigAttributes_t attr)
{
    int32_t v = -1;
    size_t written = 0;
    if (a->status || !a->found ||
        cublasLtMatmulAlgoConfigGetAttribute(&a->result.algo, attr, &v, sizeof v, &written) || !written)
        return -1;
    return v;
}

static void print_row(const row *r, const answer *a, unsigned sm, size_t version)
{
    for (int c = 0; c < COLUMNS; c++)
        printf("%s,", r->text[c]);
    printf("%d,%d,%d,%zu,%lld,%lld,%lld,%lld,%u,%zu.%zu.%zu\n", (int)a->status, a->found,
           (int)a->result.state, a->found ? a->result.workspaceSize : 0,
           (long long)configured(a, CUBLASLT_ALGO_CONFIG_ID),
           (long long)configured(a, CUBLASLT_ALGO_CONFIG_TILE_ID),
           (long long)configured(a, CUBLASLT_ALGO_CONFIG_STAGES_ID),
           (long long)configured(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM), sm, version / 10000,
           version / 100 % 100, version % 100);
}

/* Which column of the file is which of ours; -1 for others. */
static rp_code read_head(rp_err *e, FILE *f, char *line, int map[FIELDS_MAX], int *n)
{
    char *fields[FIELDS_MAX];
    bool seen[COLUMNS] = {false};
    if (!fgets(line, LINE_MAX_BYTES, f) || (*n = split(line, fields)) < 0)
        return err_set(e, RP_IO, "expected a line of column names");
    for (int i = 0; i < *n; i++) {
        map[i] = -1;
        for (int c = 0; c < COLUMNS; c++)
            if (!strcmp(fields[i], names[c])) {
                map[i] = c;
                seen[c] = true;
            }
    }
    for (int c = 0; c < COLUMNS; c++)
        if (!seen[c])
            return err_set(e, RP_IO, "line 1: missing column %s", names[c]);
    return RP_OK;
}

static rp_code read_row(rp_err *e, row *r, char *line, const int *map, int n, uint64_t number)
{
    char *fields[FIELDS_MAX];
    int got = split(line, fields);
    if (got < 0 || got > n)
        return err_set(e, RP_IO, "line %llu: more fields than columns", (unsigned long long)number);
    for (int i = 0; i < n; i++) {
        if (map[i] < 0)
            continue;
        if (i >= got || strlen(fields[i]) >= FIELD_BYTES)
            return err_set(e, RP_IO, "line %llu: no field, or one too long, for %s",
                           (unsigned long long)number, names[map[i]]);
        memcpy(r->text[map[i]], fields[i], strlen(fields[i]) + 1);
        if (!read_field(r, map[i]))
            return err_set(e, RP_IO, "line %llu: %s cannot be \"%s\"", (unsigned long long)number,
                           names[map[i]], fields[i]);
    }
    return RP_OK;
}

static rp_code probe(rp_err *e, FILE *f)
{
    char line[LINE_MAX_BYTES];
    int map[FIELDS_MAX] = {0}, n = 0, major = 0, minor = 0;
    cublasLtHandle_t handle;
    size_t version = cublasLtGetVersion();
    if (read_head(e, f, line, map, &n) ||
        cu_ok(e, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
              "cudaDeviceGetAttribute") ||
        cu_ok(e, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0),
              "cudaDeviceGetAttribute") ||
        lt_ok(e, cublasLtCreate(&handle), "cublasLtCreate"))
        return e->code;
    for (int c = 0; c < COLUMNS; c++)
        printf("%s,", names[c]);
    puts("status,found,state,workspace,algo_id,tile,stages,splitk,sm,lib");
    for (uint64_t number = 2; !e->code && fgets(line, sizeof line, f); number++) {
        static row r;
        if (line[strspn(line, "\r\n")] == 0 || read_row(e, &r, line, map, n, number))
            continue;
        answer a = ask(handle, &r);
        print_row(&r, &a, (unsigned)(10 * major + minor), version);
    }
    cublasLtDestroy(handle);
    if (!e->code && (fflush(stdout) || ferror(stdout)))
        err_errno(e, "standard output", "write");
    return e->code;
}

int probe_calls_main(const char *path)
{
    rp_err e = {0};
    FILE *f = fopen(path, "r");
    if (!f)
        err_errno(&e, path, "open");
    else {
        (void)!probe(&e, f);
        fclose(f);
    }
    if (!e.code)
        return EXIT_ANSWERED;
    fprintf(stderr, "replay-gpu --probe-calls: %s\n", e.msg);
    return e.code == RP_WORKER ? EXIT_NO_DEVICE : EXIT_BAD_USAGE;
}
