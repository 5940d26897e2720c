/* How `replay kernel` and --device both measure, and the map of an output that is partly written. */
#include "gpu/emu/emu_phase.h"
#include "replay/distance.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(emu_distance, of_floats)
{
    float want[6] = {1, -1, 0, 1000, NAN, 5}, have[6] = {1, -1, -0.0f, 1000, NAN, 5};
    scratch *sc = scratch_new(0);
    have[0] = nextafterf(1, 2);
    have[1] = nextafterf(nextafterf(-1, 0), 0);
    have[5] = NAN;
    distance d = distance_of(DT_F32, span_of(have, sizeof have), span_of(want, sizeof want));
    cr_assert_eq(d.elements, 6);
    cr_assert_eq(d.differing_bits, 4);
    cr_assert_eq(d.bins[0], 3);
    cr_assert_eq(d.bins[1], 1);
    cr_assert_eq(d.bins[2], 1);
    cr_assert_eq(d.bins[DISTANCE_BINS - 1], 1);
    cr_assert_eq(d.beyond, 1);
    cr_assert_eq(d.worst_index, 5);
    cr_assert_eq(d.largest, 1000);
    cr_assert_str_eq(distance_histogram(sc, &d), "0: 3, 1: 1, 2-3: 1, NaN: 1");
    scratch_free(sc);
}

/* Far in ulp, but small beside the largest. */
Test(emu_distance, near_zero_counts_by_magnitude)
{
    float want[2] = {0x1p20f, 1e-9f}, have[2] = {0x1p20f, -1e-9f};
    distance d = distance_of(DT_F32, span_of(have, sizeof have), span_of(want, sizeof want));
    cr_assert(d.max_ulp > 1000 && !d.beyond);
    have[1] = 2;
    d = distance_of(DT_F32, span_of(have, sizeof have), span_of(want, sizeof want));
    cr_assert_eq(d.beyond, 1);
}

Test(emu_distance, of_integers)
{
    uint64_t want[2] = {UINT64_MAX, 7}, have[2] = {0, 7};
    distance d = distance_of(DT_U64, span_of(have, sizeof have), span_of(want, sizeof want));
    cr_assert(d.max_ulp == UINT64_MAX && d.beyond == 1 && d.differing_bits == 1);
    int8_t a[2] = {-128, 3}, b[2] = {127, 3};
    d = distance_of(DT_I8, span_of(a, 2), span_of(b, 2));
    cr_assert(d.max_ulp == 255 && d.bins[8] == 1 && d.bins[0] == 1);
}

static const char *map_of(scratch *sc, uint64_t rows, uint64_t pitch, uint64_t r0, uint64_t r1, uint64_t c0,
                          uint64_t c1)
{
    uint8_t *s = scratch_alloc(sc, rows * pitch);
    for (uint64_t r = r0; r < r1; r++)
        memset(s + r * pitch + c0, EMU_WRITTEN, c1 - c0);
    return emu_coverage(sc, s, rows * pitch);
}

Test(emu_distance, coverage)
{
    scratch *sc = scratch_new(0);
    cr_assert_str_eq(map_of(sc, 8, 8, 0, 0, 0, 0), "nothing of it is written");
    cr_assert_str_eq(map_of(sc, 1, 64, 0, 1, 0, 48),
                     "covered: bytes 0 to 47 of 64  [########################........]");
    cr_assert_str_eq(map_of(sc, 4, 16, 0, 4, 0, 4),
                     "covered: rows 0 to 3 of 4, bytes 0 to 3 of each row's 16  "
                     "[####............/####............/####............/####............]");
    cr_assert_str_eq(map_of(sc, 4, 16, 0, 4, 8, 16),
                     "covered: rows 0 to 3 of 4, bytes 8 to 15 of each row's 16  "
                     "[........########/........########/........########/........########]");
    cr_assert_str_eq(map_of(sc, 4, 16, 0, 2, 4, 8),
                     "covered: rows 0 to 1 of 4, bytes 4 to 7 of each row's 16  "
                     "[....####......../....####......../................/................]");
    scratch_free(sc);
}
