/* Checked integers: every length, offset, product and sum that comes from a file goes through these.
 * `true` means that the result fits and was stored; on `false`, *out is untouched. */
#ifndef BASE_CK_H
#define BASE_CK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool ck_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool ck_sub_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b > a)
        return false;
    *out = a - b;
    return true;
}

static inline bool ck_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* a rounded up to a multiple of `align`, a power of two. */
static inline bool ck_align_u64(uint64_t a, uint64_t align, uint64_t *out)
{
    uint64_t r;
    if (!ck_add_u64(a, align - 1, &r))
        return false;
    *out = r & ~(align - 1);
    return true;
}

static inline bool ck_to_size(uint64_t a, size_t *out)
{
    if (a > SIZE_MAX)
        return false;
    *out = (size_t)a;
    return true;
}

static inline bool ck_to_u32(uint64_t a, uint32_t *out)
{
    if (a > UINT32_MAX)
        return false;
    *out = (uint32_t)a;
    return true;
}

/* Whether [off, off + len) lies inside [0, cap). */
static inline bool ck_inside(uint64_t off, uint64_t len, uint64_t cap)
{
    return off <= cap && len <= cap - off;
}

/* Whether [a, a + an) and [b, b + bn) share a byte; empty ranges share none. Callers have checked that the
 * sums fit. */
static inline bool ck_overlap(uint64_t a, uint64_t an, uint64_t b, uint64_t bn)
{
    return an > 0 && bn > 0 && a < b + bn && b < a + an;
}

#endif
