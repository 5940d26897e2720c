/* Wrong implementations of the workloads against their fixtures: each must fail exactly the fixtures listed
 * for it, and every right one must pass all. The small sizes run whole; the full one of weight_view in
 * sixteen rows spread over the batch, or whole with REPLAY_FULL=1, and then the others' too. REPLAY_TABLE=1
 * prints the tables of docs/fixtures.md. */
#include "artifacts/base/file.h"
#include "plan/reference.h"
#include "verify/contract.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_FIXTURES = 8, LANES = 4, MAX_OUTPUTS = 2 };

static const char *const fixtures[N_FIXTURES] = {"integers",
                                                 "random",
                                                 "held_out",
                                                 "cancellation",
                                                 "product_accumulation",
                                                 "magnitude",
                                                 "projection_rounding",
                                                 "operand_rounding"};

/* A set of fixtures, one letter each in their order. */
static const char letters[] = "irhcpmoq";

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t words __attribute__((vector_size(4 * LANES)));

typedef enum { AS_STORED, FLUSH_X, FLUSH_WT, FLUSH_BOTH, BY_BF16 } inputs;
typedef enum { NEAREST, TOWARDS_ZERO, UNROUNDED, FLUSHED } cast;
typedef enum { PER_FEATURE, PER_ROW, TRANSPOSED } place;
/* What only one workload can get wrong. */
typedef enum {
    NO_TWIST,
    SCALE_LEFT_OUT,
    SCALE_UNROUNDED, /* the scaled operand is used without its rounding */
    SCALE_EARLY,     /* before the projection is rounded */
    SCALE_BEHIND,    /* the input's scale on the output instead */
    NO_RELU,
    MAGNITUDE,     /* for max(p, 0) */
    SWAPPED,       /* one weight for both */
    ONE_LEFT_OUT,  /* only the first projection */
    HIDDEN_F32,    /* the first projection is not rounded */
    ADDED_IN_PLACE /* p is read after the bias was added to it */
} twist;

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
    twist twist;
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

enum { X, W, V, ADDEND, SCALE, ROLES };
static const char *const role_names[ROLES][4] = {{"x"}, {"w", "wt"}, {"v"}, {"bias", "r"}, {"scale"}};

typedef struct {
    const char *base; /* the workload */
    uint64_t m, n, k, hidden;
    const tensor *in[ROLES]; /* NULL where the workload has none */
    tensor *out;
    size_t n_out;
} data;

/* A weight by column: packed [column / LANES][k][LANES]. */
static lanes *pack(const implementation *im, const tensor *w, bool by_column, uint64_t k, uint64_t n)
{
    lanes *out = calloc((n + LANES - 1) / LANES * k, sizeof *out);
    cr_assert(out);
    for (uint64_t f = 0; f < n; f++)
        for (uint64_t i = 0; i < k; i++)
            out[f / LANES * k + i][f % LANES] = (float)as_input(
                im->inputs, false, dtype_load(DT_F16, w->data, by_column ? f * k + i : i * n + f));
    return out;
}

static void product(const implementation *im, float *out, const float *x, const lanes *w, uint64_t k,
                    uint64_t n)
{
    for (uint64_t f = 0; f < n; f += LANES) {
        lanes p = project(im, x, w + f / LANES * k, k);
        for (uint64_t i = 0; i < LANES && f + i < n; i++)
            out[f + i] = p[i];
    }
}

static float scaled_input(const implementation *im, double x, double scale)
{
    if (im->twist == SCALE_LEFT_OUT || im->twist == SCALE_BEHIND)
        return (float)x;
    return (float)(im->twist == SCALE_UNROUNDED ? x * scale : dtype_round(DT_F16, x * scale));
}

/* The rounded result(s) of one element from its projection(s). */
static void element(const implementation *im, const data *d, uint64_t b, uint64_t f, double p, double q,
                    double scale, uint16_t out[MAX_OUTPUTS])
{
    double addend = 0;
    if (d->in[ADDEND]) {
        uint64_t bias = im->place == PER_ROW ? b % d->n : f;
        uint64_t matrix = im->place == PER_ROW ? f * d->m + b : b * d->n + f;
        addend = dtype_load(DT_F16, d->in[ADDEND]->data, d->in[ADDEND]->rank == 1 ? bias : matrix);
    }
    if (!strcmp(d->base, "projection_join"))
        addend = im->twist == ONE_LEFT_OUT ? 0 : im->cast == UNROUNDED ? q : dtype_round(DT_F16, q);
    out[0] = finish(im->cast, p, addend);
    if (!strcmp(d->base, "public_projection")) {
        out[1] = out[0];
        if (im->twist != ADDED_IN_PLACE)
            out[0] = finish(im->cast == UNROUNDED ? NEAREST : im->cast, p, 0);
    } else if (!strcmp(d->base, "output_scale") && im->twist != SCALE_LEFT_OUT) {
        out[0] = f16_from_f64((im->twist == SCALE_EARLY ? p : f16_to_f64(out[0])) * scale);
    } else if (!strcmp(d->base, "input_scale") && im->twist == SCALE_BEHIND) {
        out[0] = f16_from_f64(p * scale);
    } else if (!strcmp(d->base, "relu") && im->twist != NO_RELU && out[0] & 0x8000) {
        out[0] = im->twist == MAGNITUDE ? out[0] & 0x7fff : 0;
    }
}

/* Rows first, first + step, … of the outputs into y, one after the other, and of the expected ones into want.
 */
static void run(const implementation *im, const data *d, uint64_t step, uint16_t *y, uint16_t *want)
{
    uint64_t rows = (d->m + step - 1) / step, first = d->hidden ? d->hidden : d->n, row = 0;
    bool view = !strcmp(d->base, "weight_view");
    lanes *w = pack(im, d->in[W], view, d->k, first);
    const tensor *second = d->in[V] && im->twist == SWAPPED && !d->hidden ? d->in[W] : d->in[V];
    lanes *v = second ? pack(im, second, false, d->hidden ? d->hidden : d->k, d->n) : NULL;
    float *x = calloc(d->k + 2 * (first + d->n), sizeof *x), *p = x + d->k, *q = p + first + d->n;
    double scale = d->in[SCALE] ? dtype_load(DT_F16, d->in[SCALE]->data, 0) : 0;
    cr_assert(x);
    for (uint64_t b = step / 2; b < d->m; b += step, row++) {
        for (uint64_t i = 0; i < d->k; i++) {
            double v0 = as_input(im->inputs, true, dtype_load(DT_F16, d->in[X]->data, b * d->k + i));
            x[i] = !strcmp(d->base, "input_scale") ? scaled_input(im, v0, scale) : (float)v0;
        }
        product(im, p, x, w, d->k, first);
        if (d->hidden) {
            for (uint64_t i = 0; i < first; i++)
                q[i] = im->twist == HIDDEN_F32 ? p[i] : (float)f16_to_f64(finish(im->cast, (double)p[i], 0));
            product(im, p, q, v, first, d->n);
        } else if (v) {
            product(im, q, x, v, d->k, d->n);
        }
        for (uint64_t f = 0; f < d->n; f++) {
            uint16_t out[MAX_OUTPUTS];
            uint64_t at = b * d->n + f;
            element(im, d, b, f, (double)p[f], v ? (double)q[f] : 0, scale, out);
            for (size_t o = 0; o < d->n_out; o++) {
                const uint16_t *expected = d->out[o].data;
                uint64_t to = o * rows * d->n + row * d->n + f;
                want[to] = expected[at];
                y[to] = im->place == TRANSPOSED ? expected[at % d->m * d->n + at / d->m] : out[o];
            }
        }
    }
    free(w);
    free(v);
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

static data load_fixture(scratch *sc, const char *base, const char *folder, const char *fixture)
{
    rp_err e = {0};
    recipe *rc;
    reference *ref;
    tensor *in;
    data d = {.base = base};
    size_t n;
    cr_assert_eq(
        recipe_read(&e, &rc, sc, fixture, load(sc, folder, scratch_printf(sc, "fixtures/%s.json", fixture))),
        RP_OK, "%s %s: %s", folder, fixture, e.msg);
    cr_assert_eq(recipe_generate(&e, &in, &n, sc, rc), RP_OK);
    cr_assert_eq(reference_read(&e, &ref, sc, "reference.json", load(sc, folder, "reference.json")), RP_OK);
    cr_assert_eq(reference_eval(&e, &d.out, sc, ref, in, n, 0), RP_OK);
    d.n_out = reference_n_outputs(ref);
    cr_assert_leq(d.n_out, MAX_OUTPUTS);
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r < ROLES; r++)
            for (int k = 0; role_names[r][k]; k++)
                if (!strcmp(in[i].name, role_names[r][k]))
                    d.in[r] = &in[i];
    d.m = d.out->shape[0];
    d.n = d.out->shape[1];
    d.k = d.in[X]->shape[1];
    d.hidden = strcmp(base, "projection_chain") ? 0 : d.in[V]->shape[0];
    return d;
}

static contract *load_contract(scratch *sc, const char *folder)
{
    rp_err e = {0};
    contract *c;
    cr_assert_eq(contract_read(&e, &c, sc, "contract.json", load(sc, folder, "contract.json")), RP_OK,
                 "%s: %s", folder, e.msg);
    return c;
}

static bool applies(const contract *c, const char *fixture)
{
    const contract_fixture *f = contract_fixture_of(c, fixture);
    return f && f->applies;
}

/* The worst verdict over the outputs; the contract gives all of them one tolerance. */
static numeric_verdict judge(const implementation *im, const data *d, const contract *c, uint64_t step)
{
    uint64_t elements = (d->m + step - 1) / step * d->n, bytes = 2 * elements * d->n_out;
    uint16_t *y = malloc(bytes), *want = malloc(bytes);
    cr_assert(y && want);
    run(im, d, step, y, want);
    tolerance tol = contract_tolerance_of(c, "y")->tol;
    numeric_verdict v = numeric_judge(DT_F16, span_of(y, bytes), span_of(want, bytes), tol);
    cr_assert_eq(v.nonfinite_expected, 0);
    free(y);
    free(want);
    return v;
}

static void print_row(const char *name, const numeric_verdict *v, const contract *c)
{
    printf("| %s ", name);
    for (int f = 0; f < N_FIXTURES; f++) {
        if (!applies(c, fixtures[f]))
            continue;
        if (v[f].passed)
            printf("| %.2f ", v[f].max_scaled_error);
        else
            printf("| **%.3g** (%.3g%%) ", v[f].max_scaled_error,
                   100 * (double)v[f].failing / (double)v[f].elements);
    }
    printf("|\n");
}

/* Each implementation against every fixture that applies: failed[i] says which it fails. */
static void try_all(const char *base, const char *folder, const implementation *const *im, size_t n,
                    uint64_t step, char (*failed)[N_FIXTURES + 1])
{
    scratch *sc = scratch_new(0);
    contract *c = load_contract(sc, folder);
    numeric_verdict *v = calloc(n * N_FIXTURES, sizeof *v);
    cr_assert(v);
    for (int f = 0; f < N_FIXTURES; f++) {
        if (!applies(c, fixtures[f]))
            continue;
        scratch *fixture = scratch_new(0);
        data d = load_fixture(fixture, base, folder, fixtures[f]);
        for (size_t i = 0; i < n; i++) {
            v[i * N_FIXTURES + (size_t)f] = judge(im[i], &d, c, step);
            if (!v[i * N_FIXTURES + (size_t)f].passed)
                strncat(failed[i], &letters[f], 1);
        }
        scratch_free(fixture);
    }
    for (size_t i = 0; getenv("REPLAY_TABLE") && i < n; i++)
        print_row(im[i]->name, v + i * N_FIXTURES, c);
    free(v);
    scratch_free(sc);
}

static void discriminate(const char *folder, bool full, uint64_t step)
{
    enum { N = sizeof all / sizeof *all };
    char failed[N][N_FIXTURES + 1] = {0};
    const implementation *im[N];
    for (size_t i = 0; i < N; i++)
        im[i] = &all[i];
    try_all("weight_view", folder, im, N, step, failed);
    for (size_t i = 0; i < N; i++) {
        const char *want = !full ? all[i].small : step == 1 && all[i].whole ? all[i].whole : all[i].full;
        cr_expect_str_eq(failed[i], want, "%s, %s: fails '%s'", folder, all[i].name, failed[i]);
    }
}

Test(discriminate, small)
{
    discriminate("weight_view.small", false, 1);
}

Test(discriminate, full)
{
    discriminate("weight_view", true, getenv("REPLAY_FULL") ? 1 : 64);
}

/* --- The other nine. --- */

static const char *const others[] = {"gemm",
                                     "bias",
                                     "input_scale",
                                     "output_scale",
                                     "projection_chain",
                                     "projection_join",
                                     "public_projection",
                                     "relu",
                                     "residual"};
enum { N_OTHERS = sizeof others / sizeof *others };

/* What every workload shares, with the fixtures that each fails, in the order of `others`. */
static const struct {
    implementation im;
    const char *failed[N_OTHERS];
} shared[] = {
#define SAME(s)                                                                                              \
    {                                                                                                        \
        s, s, s, s, s, s, s, s, s                                                                            \
    }
    {{.name = "right: FP32, k ascending"}, SAME("")},
    {{"right: FP32, k descending", .descending = true}, SAME("")},
    {{"right: FP32, eight accumulators", .splits = 8, .interleaved = true}, SAME("")},
    {{"right: FP32, split-K 4", .splits = 4}, SAME("")},
    {{"products rounded to F16", .products_f16 = true}, SAME("p")},
    /* The join has no bound on what is added: two roundings that fall the other way can meet. */
    {{"split-K 2, partial sums in F16", .splits = 2, .partials_f16 = true},
     {"c", "c", "c", "c", "c", "rhc", "c", "c", "c"}},
    {{"subnormal inputs flushed to zero", .inputs = FLUSH_BOTH}, SAME("m")},
    /* gemm.small is one column, which is its own transpose. */
    {{"output transposed", .place = TRANSPOSED},
     {"", "irhcpmo", "irhcpmq", "irhcpm", "irhcpmo", "irhcpmo", "irhcpmo", "irhcpm", "irhcpmo"}},
    {{"last 8 of k left out", .dropped = 8},
     {"irhcpm", "irhcpmo", "irhcpmq", "irhcpm", "irhcpmo", "irhcpmo", "irhcpmo", "irhcpm", "irhcpmo"}},
    {{"sum kept in F16", .running_f16 = true},
     {"cp", "rhcpo", "rhcpq", "rhcp", "rhcpo", "rhcpo", "rhcpo", "rhcp", "rhcpo"}},
    {{"inputs by way of BF16", .inputs = BY_BF16}, {"rh", "rh", "rhq", "rh", "rh", "rh", "rh", "rh", "rh"}},
    {{"projection cast towards zero", .cast = TOWARDS_ZERO}, {"", "o", "", "", "o", "ro", "o", "", "o"}},
};

/* What one workload can get wrong. */
static const struct {
    const char *base;
    implementation im;
    const char *failed;
} own[] = {
    {"bias", {"bias added before the projection is rounded", .cast = UNROUNDED}, "o"},
    {"bias", {"bias along rows", .place = PER_ROW}, "irhcpmo"},
    {"public_projection", {"bias added before the projection is rounded", .cast = UNROUNDED}, "o"},
    {"public_projection", {"p read after the bias was added in place", .twist = ADDED_IN_PLACE}, "irhcpmo"},
    {"residual", {"residual added before the projection is rounded", .cast = UNROUNDED}, "o"},
    {"residual", {"residual read across", .place = PER_ROW}, "irhcpmo"},
    {"projection_join", {"second product accumulated before the first is rounded", .cast = UNROUNDED}, "o"},
    {"projection_join", {"first weight for both", .twist = SWAPPED}, "irhcpmo"},
    {"projection_join", {"second projection left out", .twist = ONE_LEFT_OUT}, "irhcpmo"},
    {"projection_chain", {"hidden projection kept in FP32", .twist = HIDDEN_F32}, "o"},
    {"input_scale", {"scale left out", .twist = SCALE_LEFT_OUT}, "irhcpmq"},
    {"input_scale", {"scaled operand not rounded", .twist = SCALE_UNROUNDED}, "q"},
    {"input_scale", {"scale applied to the output", .twist = SCALE_BEHIND}, "q"},
    {"output_scale", {"scale left out", .twist = SCALE_LEFT_OUT}, "irhcpm"},
    {"output_scale", {"scale applied before the rounding", .twist = SCALE_EARLY}, ""},
    {"relu", {"relu left out", .twist = NO_RELU}, "irhcpm"},
    {"relu", {"magnitude instead", .twist = MAGNITUDE}, "irhcpm"},
};

static void discriminate_other(size_t which, const char *suffix, uint64_t step)
{
    enum { SHARED = sizeof shared / sizeof *shared, OWN = sizeof own / sizeof *own };
    const char *base = others[which], *want[SHARED + OWN];
    const implementation *im[SHARED + OWN];
    char failed[SHARED + OWN][N_FIXTURES + 1] = {0}, folder[64];
    size_t n = 0;
    for (size_t i = 0; i < SHARED; i++, n++) {
        im[n] = &shared[i].im;
        want[n] = shared[i].failed[which];
    }
    for (size_t i = 0; i < OWN; i++)
        if (!strcmp(own[i].base, base)) {
            im[n] = &own[i].im;
            want[n++] = own[i].failed;
        }
    snprintf(folder, sizeof folder, "%s%s", base, suffix);
    if (getenv("REPLAY_TABLE"))
        printf("%s\n", folder);
    try_all(base, folder, im, n, step, failed);
    for (size_t i = 0; i < n; i++)
        if (*suffix || !strncmp(im[i]->name, "right", 5))
            cr_expect_str_eq(failed[i], want[i], "%s, %s: fails '%s'", folder, im[i]->name, failed[i]);
}

Test(discriminate, other_workloads)
{
    for (size_t i = 0; i < N_OTHERS; i++)
        discriminate_other(i, ".small", 1);
}

Test(discriminate, other_workloads_in_full)
{
    if (!getenv("REPLAY_FULL"))
        cr_skip_test("REPLAY_FULL=1 runs it");
    for (size_t i = 0; i < N_OTHERS; i++)
        discriminate_other(i, "", 64);
}
