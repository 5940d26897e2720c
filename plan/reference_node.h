/* What plan/reference.c reads and plan/reference_eval.c evaluates; not for anyone else. */
#ifndef PLAN_REFERENCE_NODE_H
#define PLAN_REFERENCE_NODE_H

#include "plan/reference.h"

typedef enum {
    REFERENCE_MATMUL,
    REFERENCE_ADD,
    REFERENCE_MUL,
    REFERENCE_RELU,
    REFERENCE_GELU,
    REFERENCE_SLICE,
    REFERENCE_VIEW
} reference_op;

typedef struct {
    const char *id;
    uint64_t rank, shape[TENSOR_MAX_RANK], elements;
    bool narrow; /* at most 26 significant bits an element */
} reference_value;

typedef struct {
    reference_op op;
    size_t a, b; /* indices of values; b is a where there is one operand */
    bool transpose_a, transpose_b, saturate;
    int round;                                 /* a dtype, or -1 */
    uint64_t offset, strides[TENSOR_MAX_RANK]; /* of slice and view, in elements of a */
} reference_node;

/* Values are the inputs, then the nodes. */
struct reference {
    size_t n_inputs, n_nodes, n_outputs;
    tensor *inputs, *outputs;
    reference_node *nodes;
    reference_value *values;
    size_t *output_values;
};

/* Extent i counted from the last axis; 1 beyond the first. */
static inline uint64_t reference_extent(const reference_value *v, uint64_t i)
{
    return i < v->rank ? v->shape[v->rank - 1 - i] : 1;
}

/* v as the node rounds it. */
static inline double reference_rounded(const reference_node *x, double v)
{
    if (x->round < 0)
        return v;
    return x->saturate ? dtype_round_saturating((dtype)x->round, v) : dtype_round((dtype)x->round, v);
}

/* plan/reference_matmul.c: the product that x is, of va's elements a and vb's b, into out, row by row and
 * product by product; shapes were checked by reference_read. tmp holds what is packed. Only out of memory
 * fails. threads: 0 means one a core. */
RP_MUST rp_code reference_matmul(rp_err *e, double *out, scratch *tmp, const reference_node *x,
                                 const reference_value *va, const reference_value *vb, const double *a,
                                 const double *b, unsigned threads);

#endif
