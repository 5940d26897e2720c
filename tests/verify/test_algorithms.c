#include "tests/support.h"
#include "verify/algorithms.h"
#include <criterion/criterion.h>

Test(algorithms, changes)
{
    static const struct {
        const char *captured, *chosen, *changed;
    } cases[] = {
        {"algoId=66 tile=A stages=B", "algoId=66 tile=A stages=B", ""},
        {"algoId=66 tile=A stages=B", "algoId=66 stages=B tile=A", ""},
        {"algoId=66 tile=A stages=B", "algoId=66 tile=AA stages=B", "tile=A"},
        {"algoId=66 tile=A customOption=3", "algoId=67 tile=A", "algoId=66 customOption=3"},
        {"algoId=66", "algoId=66 splitK=4", "splitK=none"},
        {"", "algoId=66", "algoId=none"},
        {"odd = x", "odd = x", ""},
    };
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(algorithm_changes(sc, cases[i].captured, cases[i].chosen), cases[i].changed,
                         "case %zu", i);
    cr_expect_str_eq(algorithm_of_line(sc, "[x] A=1 algo=[algoId=7 tile=T] beta=0\nnext algo=[no]"),
                     "algoId=7 tile=T");
    cr_expect_str_eq(algorithm_of_line(sc, "[x] A=1 beta=0\nnext algo=[no]"), "");
    cr_expect_str_eq(algorithm_of_line(sc, "[x] algo=[cut"), "cut");
    scratch_free(sc);
}

/* A line a call, in the plan's order; the capture's by node. */
Test(algorithms, lines_and_nodes)
{
    static const char log[] = "a algo=[algoId=1] x\nb algo=[algoId=2] x\n";
    capture_call recorded[] = {{.node = 5, .trace = "t algo=[algoId=2] y"}, {.node = 9, .trace = ""}};
    const capture c = {.n_calls = 2, .calls = recorded};
    const resolved_call calls[] = {{.node = 3}, {.node = 5}, {.node = 9}};
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    algorithm_choice *v;
    cr_assert_eq(algorithms_compare(&e, &v, sc, calls, 3, log, &c), RP_OK);
    cr_expect_str_eq(v[0].chosen, "algoId=1");
    cr_expect(!*v[0].captured && !*v[0].changed);
    cr_expect_str_eq(v[1].captured, "algoId=2");
    cr_expect(!strcmp(v[1].chosen, "algoId=2") && !*v[1].changed);
    cr_expect(!*v[2].chosen && !*v[2].captured);
    scratch_free(sc);
}
