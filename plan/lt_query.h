/* A cuBLASLt matmul as anyone may ask for it: every descriptor, what is promised of pointers and what is
 * known of them, and where it would run. Wider than lt_call, which is what our own plans resolve to.
 *
 * One line of text says it too (`replay resolve --call`), words in any order, white space between them:
 *   m= n= k=                 extents of D (m by n) and the inner one
 *   a= b= c= d=              comma separated: a type (f16 bf16 f32 f64 e4m3 e5m2 i8 i32), an order (col row;
 * tiled ones are refused by name), an operation (N T C), ld= rows= cols= batch= stride= align= (of the
 * pointer, bytes) at= (byte offset of the operand in an allocation aligned to 256), buffer= (bytes behind the
 * pointer), holds= (the type its producer wrote); c=null compute= scale= alpha= beta= epilogue= bias= comma
 * separated: a type, len= align=, axis=rows or axis=cols (what is meant) scale_a= scale_b=        scale modes
 *   batch=                   of all four
 *   promise= promise_a= …    the alignment that the preference promises, bytes (256 when it is left alone)
 *   workspace= workspace_align=
 *   sm= lib= dialect=        90, 13.1.0, cublaslt or hipblaslt; gfx= instead of sm=
 * What is left out: b's type is a's, d's is a's (i32 for i8 under 32i, bf16 for FP8), c's is d's; column
 * order, N, dense leading dimensions and strides, compute by type, scale by compute, alpha 1, beta 0,
 * epilogue default. The library's own words (R_16F, COMPUTE_32F, ORDER_COL, EPILOGUE_BIAS, OP_T) are
 * understood. */
#ifndef PLAN_LT_QUERY_H
#define PLAN_LT_QUERY_H

#include "artifacts/base/err.h"
#include "artifacts/base/lt.h"

typedef enum { LTP_N, LTP_T, LTP_C } lt_op;
typedef enum {
    LTS_SCALAR,
    LTS_OUTER_VEC,
    LTS_VEC16_UE4M3,
    LTS_VEC32_UE8M0,
    LTS_VEC128,
    LTS_BLK128,
    LTS_COUNT
} lt_scale_mode;
typedef enum { LTD_CUBLASLT, LTD_HIPBLASLT } lt_dialect;
typedef enum { LTX_UNSAID, LTX_ROWS, LTX_COLS } lt_axis;

enum { LTM_A, LTM_B, LTM_C, LTM_D, LTM_COUNT };
#define LT_TIGHT INT64_MIN /* stride: as far as one matrix goes, ld times the major extent */

typedef struct {
    dtype type;
    lt_order order;
    uint64_t rows, cols, ld; /* elements; ld is told from "left out" by ld_said */
    int64_t stride;          /* elements from one matrix of the batch to the next */
    uint64_t batch;
    uint64_t align_bytes;   /* of the pointer; 0: not known */
    uint64_t promise_bytes; /* of the preference; 0: left alone, which promises 256 */
    uint64_t buffer_bytes;  /* behind the pointer; UINT64_MAX: not known */
    dtype holds;            /* what the buffer's producer wrote; DT_COUNT: not known */
    bool type_said, shape_said, ld_said, ld_negative; /* a negative ld is kept as 0 */
} lt_operand;

typedef struct {
    uint64_t m, n, k;
    lt_operand mat[LTM_COUNT];
    lt_op op[2];
    lt_compute compute;
    dtype scale;
    lt_epilogue epilogue;
    double alpha, beta;
    bool c_null, compute_said, scale_said;
    unsigned extents_said; /* of m, n, k: a bit each */
    dtype bias_type;       /* DT_COUNT: the library's default for D */
    uint64_t bias_len;     /* elements there; UINT64_MAX: not known */
    uint64_t bias_align;   /* 0: not known */
    lt_axis bias_axis;     /* what the caller means */
    lt_scale_mode scale_mode[2];
    uint64_t workspace_bytes, workspace_align; /* the limit; 0: alignment not known */
    lt_dialect dialect;
    unsigned sm, gfx;   /* 90 is sm_90; 0: not known */
    unsigned version;   /* 130100 is 13.1.0; 0: not known */
    bool version_loose; /* only major, or major and minor, were said */
} lt_query;

/* NULL-terminated, in the order of the enums. */
extern const char *const lt_scale_mode_names[], *const lt_mat_names[];
/* As the names above, and in the library's spelling; false when it is none. */
bool lt_word_type(const char *s, dtype *out);
bool lt_word_order(const char *s, lt_order *out);
bool lt_word_compute(const char *s, lt_compute *out);
bool lt_word_epilogue(const char *s, lt_epilogue *out);
bool lt_word_op(const char *s, lt_op *out);
bool lt_word_scale_mode(const char *s, lt_scale_mode *out);
/* "13.1", "13.1.0", "12" as 130100, 130100, 120000; *loose where the patch number is missing. */
bool lt_word_version(const char *s, unsigned *out, bool *loose);
const char *lt_type_name(dtype t); /* "e4m3", not "f8_e4m3" */

void lt_query_init(lt_query *q);
/* What was left out, filled in (above). Overflow is left to the rules: strides then saturate. */
void lt_query_default(lt_query *q);
/* From the text above; *q is complete. RP_USAGE says the word. */
RP_MUST rp_code lt_query_text(rp_err *e, lt_query *q, const char *text);

/* The bias's type: that set, or the library's default. */
dtype lt_bias_of(const lt_query *q);
uint64_t lt_minor(const lt_operand *m);
uint64_t lt_major(const lt_operand *m);
/* Elements from the first to one past the last, over the whole batch; false on overflow. An empty matrix has
 * 0. */
bool lt_span(const lt_operand *m, uint64_t *elements);

#endif
