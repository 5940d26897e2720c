/* The conditions behind the rules: each true when its rule is broken, or its note applies. Private to
 * plan/lt_*.c. */
#ifndef PLAN_LT_TESTS_H
#define PLAN_LT_TESTS_H

#include "plan/lt_rules.h"

/* X(name): a function lt_test_NAME. */
#define LT_TESTS(X)                                                                                          \
    /* lt_test_shape.c */                                                                                    \
    X(order_tiled)                                                                                           \
    X(order_cd)                                                                                              \
    X(batch_count)                                                                                           \
    X(batch_zero)                                                                                            \
    X(dims_a)                                                                                                \
    X(dims_b)                                                                                                \
    X(dims_d)                                                                                                \
    X(ld_a)                                                                                                  \
    X(ld_b)                                                                                                  \
    X(ld_c)                                                                                                  \
    X(ld_d)                                                                                                  \
    X(bias_row)                                                                                              \
    X(align)                                                                                                 \
    X(align_empty)                                                                                           \
    /* lt_test_types.c */                                                                                    \
    X(types)                                                                                                 \
    X(types_fp8_old)                                                                                         \
    X(types_i8_old)                                                                                          \
    X(types_fp8_one)                                                                                         \
    X(types_e5m2)                                                                                            \
    X(types_ab)                                                                                              \
    X(types_cd)                                                                                              \
    X(scale)                                                                                                 \
    X(fp8_compute)                                                                                           \
    X(mode_types)                                                                                            \
    X(mode_block)                                                                                            \
    X(mode_outer)                                                                                            \
    X(fp8_align)                                                                                             \
    X(fp8_tn)                                                                                                \
    X(fp8_ld_a)                                                                                              \
    X(fp8_ld_b)                                                                                              \
    X(fp8_k)                                                                                                 \
    X(fp8_ld_d)                                                                                              \
    X(fp8_empty)                                                                                             \
    X(fp8_one)                                                                                               \
    X(fp8_bias_vector)                                                                                       \
    X(i8_epilogue)                                                                                           \
    X(i8_output)                                                                                             \
    X(i8_align)                                                                                              \
    X(i8_ld_a)                                                                                               \
    X(i8_ld_b)                                                                                               \
    X(i8_stride)                                                                                             \
    X(i8_batch_k)                                                                                            \
    X(i8_one)                                                                                                \
    X(i8_turned_empty)                                                                                       \
    X(i8_turned_extent)                                                                                      \
    X(i8_loose_vector)                                                                                       \
    X(i8_layout)                                                                                             \
    /* lt_test_ours.c */                                                                                     \
    X(overflow)                                                                                              \
    X(conjugate)                                                                                             \
    X(ld_one_column)                                                                                         \
    X(batch_overlap)                                                                                         \
    X(stride_negative)                                                                                       \
    X(c_null)                                                                                                \
    X(extent)                                                                                                \
    X(buffer_type)                                                                                           \
    X(bias_type)                                                                                             \
    X(bias_fp8_type)                                                                                         \
    X(bias_length)                                                                                           \
    X(bias_axis)                                                                                             \
    X(pointer_align)                                                                                         \
    X(pointer_element)                                                                                       \
    X(workspace_align)                                                                                       \
    X(note_conjugate)                                                                                        \
    X(note_aux)                                                                                              \
    X(note_empty)                                                                                            \
    X(note_bias_axis)                                                                                        \
    X(note_alpha_bias)                                                                                       \
    X(note_span)                                                                                             \
    X(note_tall)                                                                                             \
    X(note_hip_large)                                                                                        \
    X(note_hip_tile)                                                                                         \
    X(note_aspect)                                                                                           \
    X(note_fp8_device)                                                                                       \
    X(note_i8_device)                                                                                        \
    X(note_i8_corner)                                                                                        \
    X(note_bias_corner)                                                                                      \
    X(note_wide_pitch)

#define X(name) bool lt_test_##name(const lt_facts *f, lt_seen *s);
LT_TESTS(X)
#undef X

static inline bool lt_is_fp8(dtype t)
{
    return t == DT_F8_E4M3 || t == DT_F8_E5M2;
}
static inline const lt_operand *lt_of(const lt_facts *f, int which)
{
    return &f->q->mat[which];
}

#endif
