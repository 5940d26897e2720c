#include "artifacts/base/ck.h"
#include <criterion/criterion.h>

/* What a check refuses must leave the output alone. */
enum { UNTOUCHED = 77 };

Test(ck, sums)
{
    uint64_t r = UNTOUCHED;
    cr_expect(!ck_add_u64(UINT64_MAX, 1, &r) && !ck_add_u64(1, UINT64_MAX, &r) && r == UNTOUCHED);
    cr_expect(ck_add_u64(UINT64_MAX, 0, &r) && r == UINT64_MAX);
    cr_expect(ck_add_u64(UINT64_MAX - 1, 1, &r) && r == UINT64_MAX);
    cr_expect(ck_sub_u64(5, 5, &r) && r == 0);
    cr_expect(ck_sub_u64(UINT64_MAX, 1, &r) && r == UINT64_MAX - 1);
    r = UNTOUCHED;
    cr_expect(!ck_sub_u64(4, 5, &r) && r == UNTOUCHED);
}

Test(ck, products)
{
    uint64_t r = UNTOUCHED, half = UINT64_C(1) << 32;
    cr_expect(!ck_mul_u64(half, half, &r) && r == UNTOUCHED);
    cr_expect(ck_mul_u64(half, half - 1, &r) && r == UINT64_MAX - half + 1);
    cr_expect(ck_mul_u64(UINT64_MAX, 1, &r) && r == UINT64_MAX);
    cr_expect(ck_mul_u64(UINT64_MAX, 0, &r) && r == 0);
    r = UNTOUCHED;
    cr_expect(!ck_mul_u64(UINT64_MAX, 2, &r) && r == UNTOUCHED);
}

Test(ck, rounding_up)
{
    uint64_t r = UNTOUCHED;
    cr_expect(ck_align_u64(0, 256, &r) && r == 0);
    cr_expect(ck_align_u64(1, 256, &r) && r == 256);
    cr_expect(ck_align_u64(256, 256, &r) && r == 256);
    cr_expect(ck_align_u64(257, 256, &r) && r == 512);
    cr_expect(ck_align_u64(UINT64_MAX - 255, 256, &r) && r == UINT64_MAX - 255);
    r = UNTOUCHED;
    cr_expect(!ck_align_u64(UINT64_MAX - 254, 256, &r) && r == UNTOUCHED);
}

Test(ck, narrowing)
{
    size_t n = UNTOUCHED;
    uint32_t w = UNTOUCHED;
    cr_expect(ck_to_size(UINT32_MAX, &n) && n == UINT32_MAX);
    cr_expect(ck_to_u32(UINT32_MAX, &w) && w == UINT32_MAX);
    w = UNTOUCHED;
    cr_expect(!ck_to_u32(UINT64_C(1) << 32, &w) && w == UNTOUCHED);
}

Test(ck, ranges)
{
    cr_expect(ck_inside(0, 0, 0) && ck_inside(10, 0, 10) && ck_inside(0, 10, 10) && ck_inside(3, 7, 10));
    cr_expect(!ck_inside(11, 0, 10) && !ck_inside(3, 8, 10) && !ck_inside(0, 11, 10));
    cr_expect(!ck_inside(2, UINT64_MAX, 10) && !ck_inside(UINT64_MAX, 2, UINT64_MAX)); /* sums that wrap */
    cr_expect(ck_inside(UINT64_MAX, 0, UINT64_MAX));

    cr_expect(ck_overlap(0, 10, 9, 1) && ck_overlap(9, 1, 0, 10) && ck_overlap(0, 10, 2, 3) &&
              ck_overlap(5, 1, 5, 1));
    cr_expect(!ck_overlap(0, 10, 10, 1) && !ck_overlap(10, 1, 0, 10)); /* neighbours share nothing */
    cr_expect(!ck_overlap(5, 0, 0, 10) && !ck_overlap(0, 10, 5, 0) && !ck_overlap(5, 0, 5, 0));
}
