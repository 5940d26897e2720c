/* Scalar types of PTX. */
#ifndef EMU_TYPES_H
#define EMU_TYPES_H

#include "artifacts/base/span.h"
#include <stdbool.h>

/* X(symbol, "name", bits, class): classes b bits, u unsigned, s signed, f float, h packed pair of halves, p
 * predicate */
#define EMU_TYPES(X)                                                                                         \
    X(PRED, "pred", 1, 'p')                                                                                  \
    X(B8, "b8", 8, 'b')                                                                                      \
    X(B16, "b16", 16, 'b')                                                                                   \
    X(B32, "b32", 32, 'b')                                                                                   \
    X(B64, "b64", 64, 'b')                                                                                   \
    X(U8, "u8", 8, 'u')                                                                                      \
    X(U16, "u16", 16, 'u')                                                                                   \
    X(U32, "u32", 32, 'u')                                                                                   \
    X(U64, "u64", 64, 'u')                                                                                   \
    X(S8, "s8", 8, 's')                                                                                      \
    X(S16, "s16", 16, 's')                                                                                   \
    X(S32, "s32", 32, 's')                                                                                   \
    X(S64, "s64", 64, 's')                                                                                   \
    X(U16X2, "u16x2", 32, 'h')                                                                               \
    X(S16X2, "s16x2", 32, 'h')                                                                               \
    X(F16, "f16", 16, 'f')                                                                                   \
    X(F16X2, "f16x2", 32, 'h')                                                                               \
    X(BF16, "bf16", 16, 'f')                                                                                 \
    X(BF16X2, "bf16x2", 32, 'h')                                                                             \
    X(TF32, "tf32", 32, 'f')                                                                                 \
    X(F32, "f32", 32, 'f')                                                                                   \
    X(F64, "f64", 64, 'f')

typedef enum {
    T_NONE,
#define X(sym, name, bits, cls) T_##sym,
    EMU_TYPES(X)
#undef X
        T_COUNT
} ptx_type;

/* T_NONE when it is no type. */
ptx_type type_named(span name);
const char *type_name(ptx_type t);
unsigned type_bits(ptx_type t);
char type_class(ptx_type t);

static inline uint64_t bits_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

#endif
