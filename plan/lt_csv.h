/* Verdicts of the real library, one row a call, as a probe writes them (docs/resolver-calls.md). The first
 * line names the columns, in any order: m n k · type_a type_b type_c type_d · compute scale epilogue ·
 * trans_a trans_b · order_a order_b order_c order_d · a_rows a_cols lda b_rows b_cols ldb · cd_rows cd_cols
 * ldc ldd (C and D share rows and columns) · batch stride_a stride_cd (-1: the dense stride; B's is dense) ·
 * min_align (promised for all four; 0: left alone) · workspace_limit · status and, read over, found state
 * workspace algo_id tile stages splitk; and, where a file holds several places, sm lib. */
#ifndef PLAN_LT_CSV_H
#define PLAN_LT_CSV_H

#include "artifacts/base/span.h"
#include "plan/lt_query.h"

enum { LT_CSV_COLUMNS = 48 };

typedef struct {
    const char *file;
    span rest;
    uint64_t line; /* of the row last read */
    int n_columns, column[LT_CSV_COLUMNS];
    unsigned sm, version;
} lt_csv;

typedef struct {
    lt_query q; /* complete */
    int status; /* -1: the file does not say */
    uint64_t line;
    span text; /* the row, borrowed from the file's text */
} lt_csv_row;

/* sm and version: of rows that do not say. A column that is missing, unknown or twice: RP_IO, by name. */
RP_MUST rp_code lt_csv_open(rp_err *e, lt_csv *r, const char *file, span text, unsigned sm, unsigned version);
/* *end at the end of the text. A row that cannot be read: RP_IO with its line. */
RP_MUST rp_code lt_csv_next(rp_err *e, lt_csv *r, lt_csv_row *row, bool *end);
/* Whether two calls would be asked of the library alike: every descriptor, promise and limit, but not the
 * place. */
bool lt_query_same(const lt_query *a, const lt_query *b);
uint64_t lt_query_hash(const lt_query *q);

#endif
