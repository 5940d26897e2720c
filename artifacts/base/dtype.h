/* Element types and exact conversions. Rounding is to nearest, ties to even, straight from the source, and
 * done in integer arithmetic: no result depends on the rounding mode, on libm or on the compiler. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
typedef enum { DT_F16, DT_BF16, DT_F32, DT_F64, DT_I32, DT_I64, DT_I8, DT_I16, DT_U8, DT_U16, DT_U32, DT_U64, DT_BOOL, DT_F8_E4M3, DT_F8_E5M2, DT_COUNT } dtype;
/* clang-format on */

/* NULL-terminated, in the order of the enum: "f16", "bf16", "f32", "f64", "i32", "i64", "i8", "i16", "u8",
 * "u16", "u32", "u64", "bool" (a byte; 0 or 1 is stored, any byte is read), "f8_e4m3" (no infinity, one NaN
 * of each sign, finite to 448), "f8_e5m2" (as a binary interchange format, finite to 57344). */
extern const char *const dtype_names[];
uint64_t dtype_bytes(dtype t);
bool dtype_is_float(dtype t);
/* As safetensors spells it: "F16", "BF16", … */
const char *dtype_safetensors(dtype t);

/* Bits of the F16 nearest to v: subnormals kept, above the largest finite rounds to infinity. A NaN stays
 * one, made quiet, with its sign and the upper bits of its payload. */
uint16_t f16_from_f64(double v);
double f16_to_f64(uint16_t bits);
uint16_t bf16_from_f64(double v);
double bf16_to_f64(uint16_t bits);
uint32_t f32_bits_from_f64(double v);

/* Bits, in the low bytes, of the element of type t nearest to v * 2^exp2, for any v and exp2. Integer types
 * round to nearest, ties to even, and saturate. */
uint64_t dtype_from_scaled(dtype t, int64_t v, int exp2);

/* Element i of a buffer of type t as FP64 (I64 beyond 2^53 rounds), and v rounded and stored there (integer
 * types: a NaN becomes 0, values beyond the range saturate). The buffer needs no alignment. */
double dtype_load(dtype t, const void *buf, uint64_t i);
void dtype_store(dtype t, void *buf, uint64_t i, double v);
/* v rounded to t and back. Above the largest finite value floating types give infinity, "f8_e4m3" its NaN. */
double dtype_round(dtype t, double v);
/* The same, but what would overflow, infinities included, becomes the largest finite value: saturation. A NaN
 * stays one. */
double dtype_round_saturating(dtype t, double v);
/* Position of element i on the line of all values of its type, so that neighbours differ by one: ulp
 * distances are differences of it. Both zeros are 0. Floating types but F64. */
int64_t dtype_ordinal(dtype t, const void *buf, uint64_t i);

#endif
