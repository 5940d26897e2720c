#include "replay/targets.h"
#include "tests/support.h"
#include <criterion/criterion.h>

Test(targets, folders_and_files)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), **v;
    size_t n;
    t_write(sc, dir, "many/b.tar.zst", span_str(""));
    t_write(sc, dir, "many/a.tar.zst", span_str(""));
    t_write(sc, dir, "many/.tar.zst", span_str(""));
    t_write(sc, dir, "many/a.tar", span_str(""));
    t_write(sc, dir, "many/deeper/c.tar.zst", span_str(""));
    t_write(sc, dir, "none/readme", span_str(""));
    char *args[] = {(char *)(uintptr_t) "x.tar.zst", scratch_printf(sc, "%s/many", dir),
                    (char *)(uintptr_t) "y"};
    cr_assert(!targets_expand(&e, &v, &n, sc, args, 3), "%s", e.msg);
    cr_assert_eq(n, 4);
    cr_assert_str_eq(v[0], "x.tar.zst", "what is no folder is taken as it stands");
    cr_assert_str_eq(v[1], scratch_printf(sc, "%s/many/a.tar.zst", dir), "sorted, not deeper");
    cr_assert_str_eq(v[2], scratch_printf(sc, "%s/many/b.tar.zst", dir));
    cr_assert_str_eq(v[3], "y");

    char *none[] = {scratch_printf(sc, "%s/none", dir)};
    cr_assert_eq(targets_expand(&e, &v, &n, sc, none, 1), RP_IO);
    cr_assert(strstr(e.msg, "expected bundles named *.tar.zst in this folder, found none"), "%s", e.msg);
    cr_assert_str_eq(e.file, none[0]);
    t_remove(dir);
    scratch_free(sc);
}

Test(targets, default_bundle)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    const char **v;
    size_t n;
    cr_assert(!targets_expand(&e, &v, &n, sc, NULL, 0));
    cr_assert_eq(n, 1);
    cr_assert_str_eq(v[0], "bundle.tar.zst");
    scratch_free(sc);
}

/* More than the list's first room. */
Test(targets, many)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), **v;
    size_t n;
    for (int i = 0; i < 40; i++)
        t_write(sc, dir, scratch_printf(sc, "%02d.tar.zst", (i * 7) % 40), span_str(""));
    char *args[] = {(char *)(uintptr_t)dir};
    cr_assert(!targets_expand(&e, &v, &n, sc, args, 1));
    cr_assert_eq(n, 40);
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(v[i], scratch_printf(sc, "%s/%02zu.tar.zst", dir, i));
    t_remove(dir);
    scratch_free(sc);
}
