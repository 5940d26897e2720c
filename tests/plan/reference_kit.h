/* Small reference programs and their tensors, for the tests of plan/reference. */
#ifndef TESTS_REFERENCE_KIT_H
#define TESTS_REFERENCE_KIT_H

#include "plan/reference.h"
#include <criterion/criterion.h>
#include <math.h>

static inline reference *read_ok(scratch *sc, const char *json)
{
    rp_err e = {0};
    reference *r = NULL;
    cr_assert_eq(reference_read(&e, &r, sc, "r", span_str(json)), RP_OK, "%s: %s", e.where, e.msg);
    return r;
}

/* A tensor of these values, rows = 0: a vector. */
static inline tensor make(scratch *sc, const char *name, dtype type, uint64_t rows, uint64_t columns,
                          const double *v)
{
    tensor t = {.name = name, .type = type, .rank = rows ? 2 : 1, .elements = (rows ? rows : 1) * columns};
    t.shape[0] = rows ? rows : columns;
    t.shape[1] = rows ? columns : 0;
    t.data = scratch_array(sc, (size_t)t.elements, (size_t)dtype_bytes(type));
    for (uint64_t i = 0; i < t.elements; i++)
        dtype_store(type, t.data, i, v[i]);
    return t;
}

static inline tensor *eval(scratch *sc, const reference *r, const tensor *in, size_t n, unsigned threads)
{
    rp_err e = {0};
    tensor *out = NULL;
    cr_assert_eq(reference_eval(&e, &out, sc, r, in, n, threads), RP_OK, "%s", e.msg);
    return out;
}

static inline void expect_output(const tensor *t, const double *want, uint64_t n)
{
    cr_assert_eq(t->elements, n);
    for (uint64_t i = 0; i < n; i++) {
        double v = dtype_load(t->type, t->data, i);
        cr_expect(v == want[i] && signbit(v) == signbit(want[i]), "%s[%d] is %.17g, not %.17g", t->name,
                  (int)i, v, want[i]);
    }
}

#define HEAD "{\"format\":\"replay-reference/1\",\"inputs\":["
#define IN(name, dtype, shape) "{\"name\":\"" name "\",\"dtype\":\"" dtype "\",\"shape\":" shape "}"
#define NODES "],\"nodes\":["
#define OUTPUTS "],\"outputs\":["
#define OUT(name, value, dtype) "{\"name\":\"" name "\",\"value\":\"" value "\",\"dtype\":\"" dtype "\"}"
#define TAIL "]}"
#define NODE(id, op, rest) "{\"id\":\"" id "\",\"op\":\"" op "\"," rest "}"

#endif
