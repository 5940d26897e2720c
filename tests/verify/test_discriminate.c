/* Wrong implementations of weight_view against its seven fixtures: each must fail exactly the fixtures listed
 * for it, and every right one must pass all. The small size runs whole; the full one in sixteen rows spread
 * over the batch, or whole with REPLAY_FULL=1. REPLAY_TABLE=1 prints the table of docs/fixtures.md. */
#include "artifacts/base/file.h"
#include "plan/reference.h"
#include "verify/contract.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_FIXTURES = 7, LANES = 4 };

static const char *const fixtures[N_FIXTURES] = {
    "integers",           "random", "held_out", "cancellation", "product_accumulation", "magnitude",
    "projection_rounding"};

/* A set of fixtures, one letter each in their order. */
static const char letters[] = "irhcpmo";

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t words __attribute__((vector_size(4 * LANES)));

typedef enum { AS_STORED, FLUSH_X, FLUSH_WT, FLUSH_BOTH, BY_BF16 } inputs;
typedef enum { NEAREST, TOWARDS_ZERO, UNROUNDED, FLUSHED } cast;
typedef enum { PER_FEATURE, PER_ROW, TRANSPOSED } place;

typedef struct {
    const char *name;
    const char *small, *full; /* the fixtures that it fails at each size */
    const char *whole; /* at the full size in all rows, where that differs: a few elements in a million */
    uint64_t splits;   /* partial sums, 0 for 1 */
    bool interleaved;  /* split s takes every k with k mod splits = s, not a run of them */
    bool descending, products_f16, running_f16, partials_f16;
    uint64_t dropped; /* the last k left out */
    inputs inputs;
    cast cast;
    place place;
} implementation;

static const implementation all[] = {
    {"right: FP32, k ascending", .small = "", .full = ""},
    {"right: FP32, k descending", .small = "", .full = "", .descending = true},
    {"right: FP32, eight accumulators", .small = "", .full = "", .splits = 8, .interleaved = true},
    {"right: FP32, split-K 4", .small = "", .full = "", .splits = 4},
    {"products rounded to F16", .small = "p", .full = "p", .products_f16 = true},
    {"bias added before the projection is rounded", .small = "o", .full = "o", .cast = UNROUNDED},
    {"split-K 2, partial sums in F16", .small = "c", .full = "rc", .whole = "rhc", .splits = 2,
     .partials_f16 = true},
    {"split-K 4, partial sums in F16", .small = "c", .full = "c", .splits = 4, .partials_f16 = true},
    {"subnormal inputs flushed to zero", .small = "m", .full = "m", .inputs = FLUSH_BOTH},
    {"subnormal x flushed to zero", .small = "m", .full = "m", .inputs = FLUSH_X},
    {"subnormal wt flushed to zero", .small = "m", .full = "m", .inputs = FLUSH_WT},
    {"output transposed", .small = "irhcpmo", .full = "irhcpmo", .place = TRANSPOSED},
    {"bias along rows", .small = "irhcpmo", .full = "irhcpmo", .place = PER_ROW},
    {"last 8 of k left out", .small = "irhcpmo", .full = "irhcpmo", .dropped = 8},
    {"sum kept in F16", .small = "rhcpo", .full = "rhcpo", .running_f16 = true},
    {"inputs by way of BF16", .small = "rh", .full = "rh", .inputs = BY_BF16},
    {"projection cast towards zero", .small = "o", .full = "o", .cast = TOWARDS_ZERO},
    {"two partial sums in F16, k interleaved", .small = "cpo", .full = "cpo", .whole = "hcpo", .splits = 2,
     .interleaved = true, .partials_f16 = true},
    {"subnormal results flushed to zero", .small = "", .full = "", .cast = FLUSHED},
};

/* Every lane to the nearest F16 and back, ties to even. */
static lanes round_f16(lanes v)
{
    const words sign = (words)v & INT32_MIN, m = (words)v & INT32_MAX;
    const words normal = (m + 0xfff + ((m >> 13) & 1)) & ~0x1fff;
    /* The step of an FP32 at 0.5 is 2^-24, the step of F16 below 2^-14. */
    const words subnormal = (words)((lanes)m + 0.5f - 0.5f);
    const words infinity = {0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000};
    const words is_small = (m < 0x38800000);      /* below 2^-14 */
    const words is_large = (normal > 0x477fe000); /* above 65504 */
    const words r = (subnormal & is_small) | (infinity & is_large) | (normal & ~is_small & ~is_large);
    return (lanes)(r | sign);
}

Test(discriminate, rounding_of_this_test_is_the_librarys)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double low = f16_to_f64((uint16_t)h), high = h == 0x7bff ? 65536 : f16_to_f64((uint16_t)(h + 1));
        float tie = (float)((low + high) / 2);
        uint32_t b;
        memcpy(&b, &tie, sizeof b);
        for (uint32_t bits = b - 1; bits <= b + 1; bits++) {
            float v;
            memcpy(&v, &bits, sizeof v);
            const lanes in = {v, -v, (float)low, -(float)low};
            const lanes out = round_f16(in);
            for (int i = 0; i < LANES; i++) {
                float want = (float)f16_to_f64(f16_from_f64((double)in[i]));
                cr_assert(want == out[i], "%a: %a", (double)in[i], (double)out[i]);
            }
        }
    }
}

/* One row of x against LANES features of wt, packed [k][LANES]. */
static lanes project(const implementation *im, const float *x, const lanes *w, uint64_t k)
{
    const uint64_t splits = im->splits ? im->splits : 1;
    lanes total = {0};
    k -= im->dropped;
    for (uint64_t s = 0; s < splits; s++) {
        lanes part = {0};
        uint64_t from = im->interleaved ? s : k * s / splits, to = im->interleaved ? k : k * (s + 1) / splits;
        uint64_t step = im->interleaved ? splits : 1;
        for (uint64_t i = from; i < to; i += step) {
            uint64_t at = im->descending ? from + to - 1 - i : i;
            lanes product = w[at] * x[at];
            if (im->products_f16)
                product = round_f16(product);
            part += product;
            if (im->running_f16)
                part = round_f16(part);
        }
        if (im->partials_f16)
            part = round_f16(part);
        total += part;
    }
    return total;
}

static double as_input(inputs how, bool is_x, double v)
{
    bool tiny = v > -0x1p-14 && v < 0x1p-14;
    if (how == BY_BF16)
        return dtype_round(DT_BF16, v);
    return tiny && (how == FLUSH_BOTH || how == (is_x ? FLUSH_X : FLUSH_WT)) ? 0 : v;
}

static uint16_t flush(uint16_t h)
{
    return h & 0x7c00 ? h : h & 0x8000;
}

static uint16_t finish(cast how, double p, double bias)
{
    uint16_t q = f16_from_f64(p);
    if (how == UNROUNDED)
        return f16_from_f64((double)(float)(p + bias)); /* the sum in FP32 */
    if (how == TOWARDS_ZERO && (f16_to_f64(q) > 0 ? f16_to_f64(q) > p : f16_to_f64(q) < p))
        q--;
    if (how == FLUSHED)
        return flush(f16_from_f64(f16_to_f64(flush(q)) + bias));
    return f16_from_f64(f16_to_f64(q) + bias);
}

typedef struct {
    uint64_t batch, features, k;
    tensor *in, y; /* x, wt, bias; the expected output */
} data;

/* Rows first, first + step, … of the output into y, and of the expected one into want. */
static void run(const implementation *im, const data *d, uint64_t step, uint16_t *y, uint16_t *want)
{
    const uint16_t *expected = d->y.data;
    uint64_t groups = (d->features + LANES - 1) / LANES, n = 0;
    lanes *w = calloc(groups * d->k, sizeof *w);
    float *x = calloc(d->k, sizeof *x);
    cr_assert(w && x);
    for (uint64_t f = 0; f < d->features; f++)
        for (uint64_t i = 0; i < d->k; i++)
            w[f / LANES * d->k + i][f % LANES] =
                (float)as_input(im->inputs, false, dtype_load(DT_F16, d->in[1].data, f * d->k + i));
    for (uint64_t b = step / 2; b < d->batch; b += step) {
        for (uint64_t i = 0; i < d->k; i++)
            x[i] = (float)as_input(im->inputs, true, dtype_load(DT_F16, d->in[0].data, b * d->k + i));
        for (uint64_t f = 0; f < d->features; f++, n++) {
            uint64_t at = b * d->features + f;
            want[n] = expected[at];
            if (im->place == TRANSPOSED) {
                y[n] = expected[at % d->batch * d->features + at / d->batch];
                continue;
            }
            static lanes p;
            if (f % LANES == 0)
                p = project(im, x, w + f / LANES * d->k, d->k);
            uint64_t which = im->place == PER_ROW ? b % d->features : f;
            y[n] = finish(im->cast, (double)p[f % LANES], dtype_load(DT_F16, d->in[2].data, which));
        }
    }
    free(w);
    free(x);
}

static span load(scratch *sc, const char *folder, const char *name)
{
    rp_err e = {0};
    span s;
    cr_assert_eq(
        file_read(&e, &s, sc, scratch_printf(sc, "artifacts/workloads/%s/%s", folder, name), 1 << 20), RP_OK);
    return s;
}

static data load_fixture(scratch *sc, const char *folder, const char *fixture)
{
    rp_err e = {0};
    recipe *rc;
    reference *ref;
    tensor *y;
    data d = {0};
    size_t n;
    cr_assert_eq(
        recipe_read(&e, &rc, sc, fixture, load(sc, folder, scratch_printf(sc, "fixtures/%s.json", fixture))),
        RP_OK);
    cr_assert_eq(recipe_generate(&e, &d.in, &n, sc, rc), RP_OK);
    cr_assert_eq(reference_read(&e, &ref, sc, "reference.json", load(sc, folder, "reference.json")), RP_OK);
    cr_assert_eq(reference_eval(&e, &y, sc, ref, d.in, n, 0), RP_OK);
    d.y = *y;
    d.batch = d.in[0].shape[0];
    d.k = d.in[0].shape[1];
    d.features = d.in[1].shape[0];
    return d;
}

static void discriminate(const char *folder, bool full, uint64_t step)
{
    enum { N = sizeof all / sizeof *all };
    char failed[N][N_FIXTURES + 1] = {0};
    numeric_verdict verdicts[N][N_FIXTURES];
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    contract *c;
    cr_assert_eq(contract_read(&e, &c, sc, "contract.json", load(sc, folder, "contract.json")), RP_OK);
    for (int f = 0; f < N_FIXTURES; f++) {
        scratch *fixture = scratch_new(0);
        data d = load_fixture(fixture, folder, fixtures[f]);
        uint64_t bytes = (d.batch + step - 1) / step * d.features * 2;
        uint16_t *y = scratch_alloc(fixture, bytes), *want = scratch_alloc(fixture, bytes);
        cr_assert(contract_fixture_of(c, fixtures[f])->applies);
        for (size_t i = 0; i < N; i++) {
            run(&all[i], &d, step, y, want);
            verdicts[i][f] = numeric_judge(DT_F16, span_of(y, bytes), span_of(want, bytes),
                                           contract_tolerance_of(c, "y")->tol);
            cr_assert_eq(verdicts[i][f].nonfinite_expected, 0);
            if (!verdicts[i][f].passed)
                strncat(failed[i], &letters[f], 1);
        }
        scratch_free(fixture);
    }
    for (size_t i = 0; i < N; i++) {
        const char *want = !full ? all[i].small : step == 1 && all[i].whole ? all[i].whole : all[i].full;
        cr_expect_str_eq(failed[i], want, "%s, %s: fails '%s'", folder, all[i].name, failed[i]);
        if (!getenv("REPLAY_TABLE"))
            continue;
        printf("| %s ", all[i].name);
        for (int f = 0; f < N_FIXTURES; f++) {
            const numeric_verdict *v = &verdicts[i][f];
            if (v->passed)
                printf("| %.2f ", v->max_scaled_error);
            else
                printf("| **%.3g** (%.3g%%) ", v->max_scaled_error,
                       100 * (double)v->failing / (double)v->elements);
        }
        printf("|\n");
    }
    scratch_free(sc);
}

Test(discriminate, small)
{
    discriminate("weight_view.small", false, 1);
}

Test(discriminate, full)
{
    discriminate("weight_view", true, getenv("REPLAY_FULL") ? 1 : 64);
}
