#include "artifacts/base/scratch.h"
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdint.h>

Test(scratch, zeroed_aligned_and_apart)
{
    scratch *sc = scratch_new(0);
    unsigned char *last = NULL;
    for (size_t n = 0; n < 300; n++) {
        unsigned char *p = scratch_alloc(sc, n);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % _Alignof(max_align_t), 0, "%zu bytes at %p", n, (void *)p);
        cr_assert_neq((void *)p, (void *)last);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(p[i], 0);
        memset(p, 0xa5, n); /* nothing of it may show in the next */
        last = p;
    }
    scratch_free(sc);
}

/* Large objects get blocks of their own and leave the small ones alone. */
Test(scratch, large_objects)
{
    scratch *sc = scratch_new(0);
    char *small = scratch_strdup(sc, "kept");
    unsigned char *large = scratch_alloc(sc, 1 << 20), *after = scratch_alloc(sc, 8);
    cr_assert(small && large && after);
    memset(large, 1, 1 << 20);
    memset(after, 2, 8);
    cr_expect_str_eq(small, "kept");
    cr_expect(large[0] == 1 && large[(1 << 20) - 1] == 1);
    cr_expect(after < large || after >= large + (1 << 20));
    scratch_free(sc);
}

Test(scratch, budget)
{
    scratch *sc = scratch_new(64);
    cr_expect_not_null(scratch_alloc(sc, 32));
    cr_expect_null(scratch_alloc(sc, 33));
    cr_expect_not_null(scratch_alloc(sc, 32), "what was refused must not count");
    cr_expect_null(scratch_alloc(sc, 1));
    cr_expect_null(scratch_alloc(sc, 0));
    scratch_free(sc);
    sc = scratch_new(16);
    cr_expect_null(scratch_strdup(sc, "sixteen and more"));
    cr_expect_not_null(scratch_strdup(sc, "fifteen letters"));
    scratch_free(sc);
    scratch_free(NULL);
}

Test(scratch, sizes_that_wrap)
{
    scratch *sc = scratch_new(0);
    cr_expect_null(scratch_alloc(sc, SIZE_MAX));
    cr_expect_null(scratch_alloc(sc, SIZE_MAX - 16));
    cr_expect_null(scratch_array(sc, SIZE_MAX / 2, 3));
    cr_expect_null(scratch_array(sc, SIZE_MAX / 8 + 2, 8));
    cr_expect_null(scratch_strndup(sc, "x", SIZE_MAX));
    cr_expect_not_null(scratch_array(sc, 0, 8));
    cr_expect_not_null(scratch_array(sc, SIZE_MAX, 0));
    scratch_free(sc);
}

Test(scratch, strings)
{
    scratch *sc = scratch_new(0);
    cr_expect_str_eq(scratch_strndup(sc, "abcdef", 3), "abc");
    cr_expect_str_eq(scratch_strndup(sc, NULL, 0), "");
    cr_expect_str_eq(scratch_strdup(sc, ""), "");
    cr_expect_str_eq(scratch_printf(sc, "%s-%d", "a", 7), "a-7");
    char *longer = scratch_printf(sc, "%*s", 100000, "x");
    cr_expect(longer && strlen(longer) == 100000 && longer[99999] == 'x');
    scratch_free(sc);
}
