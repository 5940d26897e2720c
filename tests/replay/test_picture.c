#include "replay/picture.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(const arena_layout *l, const plan *p, const char *want)
{
    scratch *sc = scratch_new(0);
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert(f != NULL);
    picture_print(f, sc, l, p);
    fclose(f);
    const char *legend = strstr(text, "\n\n");
    cr_assert(legend != NULL);
    cr_assert_eq((size_t)(legend - text), strlen(want), "found\n%s", text);
    cr_assert(!strncmp(text, want, strlen(want)), "expected\n%s\nfound\n%s", want, text);
    for (uint64_t i = 0; i < l->n; i++)
        cr_assert(strstr(legend, l->ranges[i].name), "no %s in the legend", l->ranges[i].name);
    cr_assert(strstr(legend, scratch_printf(sc, "slab %llu bytes", (unsigned long long)l->slab_bytes)), "%s",
              legend);
    free(text);
    scratch_free(sc);
}

/* Time across, bytes down: one range that lives on, one that goes, and one that takes its place. */
Test(picture, reuse)
{
    plan_node nodes[] = {{.op = NODE_INPUT}, {.op = NODE_ALLOC}, {.op = NODE_KERNEL}, {.op = NODE_OUTPUT}};
    arena_range ranges[] = {
        {.name = "parameters",
         .first_step = 0,
         .end_step = 4,
         .offset_bytes = 0,
         .bytes = 8,
         .reserved_bytes = 256},
        {.name = "early",
         .first_step = 1,
         .end_step = 2,
         .offset_bytes = 256,
         .bytes = 256,
         .reserved_bytes = 256},
        {.name = "late",
         .first_step = 2,
         .end_step = 4,
         .offset_bytes = 256,
         .bytes = 100,
         .reserved_bytes = 256},
    };
    plan p = {.n_nodes = 4, .nodes = nodes};
    arena_layout l = {.n = 3, .ranges = ranges, .slab_bytes = 512, .peak_live_bytes = 512};
    expect(&l, &p,
           "        step  0      1      2      3      \n"
           "        byte  input  alloc  kernel output \n"
           "           0  AAAAAAAAAAAAAAAAAAAAAAAAAAA \n"
           "         256  .      BBBBBB CCCCCCCCCCCCC \n"
           "         512");
}

/* Big ranges take two lines; bytes that nobody holds are a row too. */
Test(picture, big_and_hole)
{
    plan_node nodes[] = {{.op = NODE_INPUT}, {.op = NODE_OUTPUT}};
    arena_range ranges[] = {
        {.name = "big",
         .first_step = 0,
         .end_step = 1,
         .offset_bytes = 0,
         .bytes = 1 << 20,
         .reserved_bytes = 1 << 20},
        {.name = "far",
         .first_step = 0,
         .end_step = 2,
         .offset_bytes = 2 << 20,
         .bytes = 256,
         .reserved_bytes = 256},
    };
    plan p = {.n_nodes = 2, .nodes = nodes};
    arena_layout l = {
        .n = 2, .ranges = ranges, .slab_bytes = (2 << 20) + 256, .peak_live_bytes = (1 << 20) + 256};
    char *text = NULL;
    size_t n = 0;
    scratch *sc = scratch_new(0);
    FILE *f = open_memstream(&text, &n);
    picture_print(f, sc, &l, &p);
    fclose(f);
    cr_assert(strstr(text, "           0  AAAAAA .      \n              AAAAAA .      \n   1,048,576  .      "
                           ".      \n              .      .      \n"),
              "%s", text);
    cr_assert(strstr(text, "   2,097,152  BBBBBBBBBBBBB \n"), "%s", text);
    free(text);
    scratch_free(sc);
}

/* Nothing, and more steps than the terminal has columns. */
Test(picture, extremes)
{
    arena_layout none = {0};
    plan empty = {0};
    char *text = NULL;
    size_t n = 0;
    scratch *sc = scratch_new(0);
    FILE *f = open_memstream(&text, &n);
    picture_print(f, sc, &none, &empty);
    plan_node nodes[200] = {0};
    arena_range r = {
        .name = "r", .first_step = 0, .end_step = 200, .offset_bytes = 0, .bytes = 1, .reserved_bytes = 256};
    plan p = {.n_nodes = 200, .nodes = nodes};
    arena_layout l = {.n = 1, .ranges = &r, .slab_bytes = 256, .peak_live_bytes = 256};
    picture_print(f, sc, &l, &p);
    fclose(f);
    cr_assert(strstr(text, "AAAAAAAA"));
    free(text);
    scratch_free(sc);
}
