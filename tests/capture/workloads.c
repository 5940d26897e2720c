/* Every plan, stated by hand from docs/workloads.md: its buffers outside the arena, the place of every buffer
 * inside it (in the order in which the plan first touches them; `behind` is the next 256 bytes after a
 * range), and its steps with the plan's node numbers. Sizes: x is m by k, results are m by n.
 *
 * A place is what is free when the buffer begins. A workspace is over with its own step, so what begins next
 * takes its place; where the sizes decide, the formula says so. */
#include "tests/capture/capture.h"

#include <string.h>

#define ARGUMENTS(...)                                                                                       \
    (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[])                                               \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

enum { SIXTEENTHS = 16, QUARTERS = 4, FINE = 1024 };

/* --- What comes out. --- */

static double dot(const double *a, const double *b, uint64_t b_stride, uint64_t n)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i * b_stride];
    return sum;
}

/* (x . w) at a row and column, not rounded; wt holds the columns of w one after the other. */
static double projected(const inputs *in, int w, uint64_t row, uint64_t column)
{
    return dot(in->values[in->x] + row * in->size.k, in->values[w] + column, in->size.n, in->size.k);
}

static double projected_view(const inputs *in, uint64_t row, uint64_t column)
{
    return dot(in->values[in->x] + row * in->size.k, in->values[in->w] + column * in->size.k, 1, in->size.k);
}

static double value_gemm(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(projected(in, in->w, row, column));
}

static double value_bias(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(value_gemm(in, row, column) + in->values[in->bias][column]);
}

static double value_bias_fused(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(projected(in, in->w, row, column) + in->values[in->bias][column]);
}

static double value_input_scale(const inputs *in, uint64_t row, uint64_t column)
{
    const double *x = in->values[in->x] + row * in->size.k, *w = in->values[in->w] + column;
    double sum = 0.0;
    for (uint64_t i = 0; i < in->size.k; i++)
        sum += rounded_to_half(x[i] * in->values[in->scale][0]) * w[i * in->size.n];
    return rounded_to_half(sum);
}

static double value_output_scale(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(value_gemm(in, row, column) * in->values[in->scale][0]);
}

static double value_join(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(value_gemm(in, row, column) + rounded_to_half(projected(in, in->v, row, column)));
}

static double value_join_fused(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(projected(in, in->w, row, column) + projected(in, in->v, row, column));
}

static double value_relu(const inputs *in, uint64_t row, uint64_t column)
{
    double p = value_gemm(in, row, column);
    return p > 0.0 ? p : 0.0;
}

static double value_residual(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(value_gemm(in, row, column) + in->values[in->residual][row * in->size.n + column]);
}

static double value_residual_fused(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(projected(in, in->w, row, column) +
                           in->values[in->residual][row * in->size.n + column]);
}

static double value_weight_view(const inputs *in, uint64_t row, uint64_t column)
{
    return rounded_to_half(rounded_to_half(projected_view(in, row, column)) + in->values[in->bias][column]);
}

/* A row of the first product, rounded; kept, since each element of the second needs all of it. */
static const double *hidden_row(const inputs *in, uint64_t row)
{
    const double *x = in->values[in->x] + row * in->size.k, *w = in->values[in->w];
    double *h = in->hidden[row];
    if (h)
        return h;
    h = in->hidden[row] = must_alloc(in->size.h, sizeof *h);
    for (uint64_t i = 0; i < in->size.k; i++)
        for (uint64_t c = 0; c < in->size.h; c++)
            h[c] += x[i] * w[i * in->size.h + c];
    for (uint64_t c = 0; c < in->size.h; c++)
        h[c] = rounded_to_half(h[c]);
    return h;
}

/* The second sum is exact in F32 in any order as long as its magnitudes stay below 2^14: h is a multiple of
 * 1/256 and v of 1/4. */
static double value_chain(const inputs *in, uint64_t row, uint64_t column)
{
    const double *h = hidden_row(in, row), *v = in->values[in->v] + column;
    double sum = 0.0, magnitude = 0.0;
    for (uint64_t i = 0; i < in->size.h; i++) {
        double product = h[i] * v[i * in->size.n];
        sum += product;
        magnitude += product < 0 ? -product : product;
    }
    if (magnitude >= 16384.0)
        fail("a sum of the fixture is not exact in F32");
    return rounded_to_half(sum);
}

/* --- The plans. --- */

typedef struct {
    int x, w, bias, y;
} named;

/* x and w, as every workload but those with wt has them. */
static named begin(plan *p, const problem *s)
{
    int x = input_buffer(p, "x", s->m * s->k, SIXTEENTHS);
    return (named){.x = x, .w = input_buffer(p, "w", s->k * s->n, SIXTEENTHS), .bias = NONE, .y = NONE};
}

static int y_of(plan *p, const problem *s, formula value)
{
    int y = output_buffer(p, "y", s->m * s->n);
    give(p, y, false, value);
    return y;
}

static int bias_of(plan *p, const problem *s)
{
    return input_buffer(p, "bias", s->n, FINE);
}

static int scale_of(plan *p, double value)
{
    int scale = input_buffer(p, "scale", 1, FINE);
    p->buffers[scale].constant = value;
    return scale;
}

/* D = w^T . x^T, n by m: both operands lie row by row and are read transposed. */
static plan_step *product_t(plan *p, uint64_t node, const problem *s, int w, int x, matrix d,
                            uint64_t workspace)
{
    return multiply(p, node, rows_of(w, s->k, s->n), true, rows_of(x, s->m, s->k), true, d, workspace);
}

/* D = x . w, m by n. */
static plan_step *product_n(plan *p, uint64_t node, const problem *s, int x, int w, matrix d,
                            uint64_t workspace)
{
    return multiply(p, node, rows_of(x, s->m, s->k), false, rows_of(w, s->k, s->n), false, d, workspace);
}

/* One column, or one row, lies in memory either way; the call then takes it by columns. */
static matrix result_rows(int buffer, uint64_t rows, uint64_t cols)
{
    return rows == 1 || cols == 1 ? columns_of(buffer, rows, cols) : rows_of(buffer, rows, cols);
}

static void state_gemm(plan *p, const problem *s)
{
    named b = begin(p, s);
    int y = y_of(p, s, value_gemm);
    int p32 = arena_buffer(p, "p32", F32, s->m * s->n, FIRST_OFFSET);
    product_n(p, 2, s, b.x, b.w, result_rows(p32, s->m, s->n), behind(p, p32));
    launch_kernel(p, 3, "000_cast", ARGUMENTS(p32, y));
}

static void state_bias(plan *p, const problem *s)
{
    named b = begin(p, s);
    int bias = bias_of(p, s), y = y_of(p, s, value_bias);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32));
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, behind(p, p32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, p16));
    launch_kernel(p, 6, "001_add", ARGUMENTS(p16, bias, y));
}

/* 5/4 times a multiple of 1/16 is exact in F16. */
static void state_input_scale(plan *p, const problem *s)
{
    named b = begin(p, s);
    int scale = scale_of(p, 1.25), y = y_of(p, s, value_input_scale);
    int xs = arena_buffer(p, "xs", F16, s->m * s->k, FIRST_OFFSET);
    launch_kernel(p, 2, "000_mul", ARGUMENTS(b.x, scale, xs));
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, behind(p, xs));
    product_t(p, 4, s, b.w, xs, columns_of(p32, s->n, s->m), behind(p, p32));
    launch_kernel(p, 6, "001_cast", ARGUMENTS(p32, y));
}

static void state_output_scale(plan *p, const problem *s)
{
    named b = begin(p, s);
    int scale = scale_of(p, 0.8125), yt = output_buffer(p, "yt", s->n * s->m);
    give(p, yt, true, value_output_scale);
    int pt32 = arena_buffer(p, "pt32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, result_rows(pt32, s->n, s->m), behind(p, pt32));
    int pt16 = arena_buffer(p, "pt16", F16, s->n * s->m, behind(p, pt32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(pt32, pt16));
    launch_kernel(p, 6, "001_mul", ARGUMENTS(pt16, scale, yt));
}

/* w is k by h, v is h by n. When y32 begins, h32's place is free and so is what the first workspace left
 * behind h16; the lower one that is large enough is taken. The second workspace is larger than any hole, but
 * the last hole reaches the end of the arena and grows. */
static void state_projection_chain(plan *p, const problem *s)
{
    int x = input_buffer(p, "x", s->m * s->k, SIXTEENTHS);
    int w = input_buffer(p, "w", s->k * s->h, SIXTEENTHS);
    int v = input_buffer(p, "v", s->h * s->n, QUARTERS), y = y_of(p, s, value_chain);
    int h32 = arena_buffer(p, "h32", F32, s->m * s->h, FIRST_OFFSET);
    multiply(p, 2, rows_of(x, s->m, s->k), false, rows_of(w, s->k, s->h), false, rows_of(h32, s->m, s->h),
             behind(p, h32));
    int h16 = arena_buffer(p, "h16", F16, s->m * s->h, behind(p, h32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(h32, h16));
    bool in_its_place = align256(s->n * s->m * 4) <= align256(s->m * s->h * 4);
    int y32 = arena_buffer(p, "y32", F32, s->n * s->m, in_its_place ? FIRST_OFFSET : behind(p, h16));
    multiply(p, 7, rows_of(v, s->h, s->n), true, rows_of(h16, s->m, s->h), true, columns_of(y32, s->n, s->m),
             behind(p, in_its_place ? h16 : y32));
    launch_kernel(p, 9, "001_cast", ARGUMENTS(y32, y));
}

/* s outlives the program; q32 takes the place of p32, and q16 that of the second workspace. */
static void state_projection_join(plan *p, const problem *s)
{
    named b = begin(p, s);
    int v = input_buffer(p, "v", s->k * s->n, SIXTEENTHS);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32));
    int sum = arena_buffer(p, "s", F16, s->m * s->n, behind(p, p32));
    give(p, sum, false, value_join);
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, sum));
    int q32 = arena_buffer(p, "q32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 7, s, v, b.x, columns_of(q32, s->n, s->m), behind(p, sum));
    int q16 = arena_buffer(p, "q16", F16, s->m * s->n, behind(p, sum));
    launch_kernel(p, 9, "001_cast", ARGUMENTS(q32, q16));
    launch_kernel(p, 11, "002_add", ARGUMENTS(sum, q16, sum));
}

static void state_public_projection(plan *p, const problem *s)
{
    named b = begin(p, s);
    int bias = bias_of(p, s), projection = output_buffer(p, "p", s->m * s->n);
    give(p, projection, false, value_gemm);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32));
    int sum = arena_buffer(p, "s", F16, s->m * s->n, behind(p, p32));
    give(p, sum, false, value_bias);
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, sum));
    copy_whole(p, 6, sum, projection);
    launch_kernel(p, 7, "001_add", ARGUMENTS(sum, bias, sum));
}

static void state_relu(plan *p, const problem *s)
{
    named b = begin(p, s);
    int y = y_of(p, s, value_relu);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32))->relu = true;
    launch_kernel(p, 3, "000_cast", ARGUMENTS(p32, y));
}

static void state_relu_kernel(plan *p, const problem *s)
{
    named b = begin(p, s);
    int y = y_of(p, s, value_relu);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_t(p, 2, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32));
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, behind(p, p32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, p16));
    launch_kernel(p, 6, "001_relu", ARGUMENTS(p16, y));
}

/* r belongs to the program and lies in the arena before it begins. */
static int residual_of(plan *p, const problem *s)
{
    int r = arena_buffer(p, "r", F16, s->m * s->n, FIRST_OFFSET);
    p->buffers[r].fill = FINE;
    return r;
}

static void state_residual(plan *p, const problem *s)
{
    named b = begin(p, s);
    int y = y_of(p, s, value_residual), r = residual_of(p, s);
    int p32 = arena_buffer(p, "p32", F32, s->m * s->n, behind(p, r));
    product_n(p, 2, s, b.x, b.w, result_rows(p32, s->m, s->n), behind(p, p32));
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, behind(p, p32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, p16));
    launch_kernel(p, 6, "001_add", ARGUMENTS(p16, r, y));
}

static void state_residual_fused(plan *p, const problem *s)
{
    named b = begin(p, s);
    int y = y_of(p, s, value_residual_fused), r = residual_of(p, s);
    int s32 = arena_buffer(p, "s32", F32, s->m * s->n, behind(p, r));
    launch_kernel(p, 2, "000_cast", ARGUMENTS(r, s32));
    product_n(p, 4, s, b.x, b.w, result_rows(s32, s->m, s->n), behind(p, s32))->accumulate = true;
    launch_kernel(p, 5, "001_cast", ARGUMENTS(s32, y));
}

static void state_bias_fused(plan *p, const problem *s)
{
    named b = begin(p, s);
    int bias = bias_of(p, s), y = y_of(p, s, value_bias_fused);
    int bias32 = arena_buffer(p, "bias32", F32, s->n, FIRST_OFFSET);
    launch_kernel(p, 2, "000_cast", ARGUMENTS(bias, bias32));
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, behind(p, bias32));
    product_t(p, 4, s, b.w, b.x, columns_of(p32, s->n, s->m), behind(p, p32))->bias = bias32;
    launch_kernel(p, 6, "001_cast", ARGUMENTS(p32, y));
}

/* Both workspaces in one place, one after the other. */
static void state_join_fused(plan *p, const problem *s)
{
    named b = begin(p, s);
    int v = input_buffer(p, "v", s->k * s->n, SIXTEENTHS), y = y_of(p, s, value_join_fused);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    matrix d = columns_of(p32, s->n, s->m);
    product_t(p, 2, s, b.w, b.x, d, behind(p, p32));
    product_t(p, 3, s, v, b.x, d, behind(p, p32))->accumulate = true;
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, y));
}

/* The weight is stored n by k. */
static named begin_view(plan *p, const problem *s)
{
    named b;
    b.x = input_buffer(p, "x", s->m * s->k, SIXTEENTHS);
    b.w = input_buffer(p, "wt", s->n * s->k, SIXTEENTHS);
    b.bias = bias_of(p, s);
    b.y = y_of(p, s, value_weight_view);
    return b;
}

/* D = wt . x^T, n by m. */
static plan_step *product_wt(plan *p, uint64_t node, const problem *s, int wt, int x, int d,
                             uint64_t workspace)
{
    return multiply(p, node, rows_of(wt, s->n, s->k), false, rows_of(x, s->m, s->k), true,
                    columns_of(d, s->n, s->m), workspace);
}

static void view_plan(plan *p, const problem *s, bool bias_first)
{
    named b = begin_view(p, s);
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, FIRST_OFFSET);
    product_wt(p, 2, s, b.w, b.x, p32, behind(p, p32));
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, behind(p, p32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, p16));
    if (bias_first)
        launch_kernel(p, 6, "001_add", ARGUMENTS(b.bias, p16, b.y));
    else
        launch_kernel(p, 6, "001_add", ARGUMENTS(p16, b.bias, b.y));
}

static void state_weight_view(plan *p, const problem *s)
{
    view_plan(p, s, false);
}

static void state_view_bias_first(plan *p, const problem *s)
{
    view_plan(p, s, true);
}

/* D = x . wt^T, m by n. */
static void state_view_rows(plan *p, const problem *s)
{
    named b = begin_view(p, s);
    int p32 = arena_buffer(p, "p32", F32, s->m * s->n, FIRST_OFFSET);
    multiply(p, 2, rows_of(b.x, s->m, s->k), false, rows_of(b.w, s->n, s->k), true,
             result_rows(p32, s->m, s->n), behind(p, p32));
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, behind(p, p32));
    launch_kernel(p, 4, "000_cast", ARGUMENTS(p32, p16));
    launch_kernel(p, 6, "001_add", ARGUMENTS(p16, b.bias, b.y));
}

/* Both widened operands are gone when p16 begins, so it takes their place if it fits there. */
static void state_view_fp32(plan *p, const problem *s)
{
    named b = begin_view(p, s);
    int wt32 = arena_buffer(p, "wt32", F32, s->n * s->k, FIRST_OFFSET);
    launch_kernel(p, 2, "000_cast", ARGUMENTS(b.w, wt32));
    int x32 = arena_buffer(p, "x32", F32, s->m * s->k, behind(p, wt32));
    launch_kernel(p, 4, "001_cast", ARGUMENTS(b.x, x32));
    int p32 = arena_buffer(p, "p32", F32, s->n * s->m, behind(p, x32));
    product_wt(p, 6, s, wt32, x32, p32, behind(p, p32));
    bool fits = align256(s->m * s->n * 2) <= behind(p, x32) - FIRST_OFFSET;
    int p16 = arena_buffer(p, "p16", F16, s->m * s->n, fits ? FIRST_OFFSET : behind(p, p32));
    launch_kernel(p, 10, "002_cast", ARGUMENTS(p32, p16));
    launch_kernel(p, 12, "003_add", ARGUMENTS(p16, b.bias, b.y));
}

/* --- The table. --- */

#define FULL                                                                                                 \
    {                                                                                                        \
        1024, 1024, 768, 768                                                                                 \
    }

static const workload workloads[] = {
    {"gemm", FULL, {40, 1, 56, 0}, state_gemm},
    {"bias", FULL, {24, 40, 56, 0}, state_bias},
    {"bias.fused", FULL, {24, 40, 56, 0}, state_bias_fused},
    {"input_scale", FULL, {72, 40, 56, 0}, state_input_scale},
    {"output_scale", FULL, {40, 72, 56, 0}, state_output_scale},
    {"projection_chain", FULL, {40, 24, 56, 64}, state_projection_chain},
    {"projection_join", FULL, {24, 40, 56, 0}, state_projection_join},
    {"projection_join.fused", FULL, {24, 40, 56, 0}, state_join_fused},
    {"public_projection", FULL, {40, 24, 56, 0}, state_public_projection},
    {"relu", FULL, {72, 40, 56, 0}, state_relu},
    {"relu.kernel", FULL, {72, 40, 56, 0}, state_relu_kernel},
    {"residual", FULL, {24, 40, 56, 0}, state_residual},
    {"residual.fused", FULL, {24, 40, 56, 0}, state_residual_fused},
    {"weight_view", FULL, {40, 24, 56, 0}, state_weight_view},
    {"weight_view.bias_first", FULL, {40, 24, 56, 0}, state_view_bias_first},
    {"weight_view.fp32", FULL, {40, 24, 56, 0}, state_view_fp32},
    {"weight_view.rows", FULL, {40, 24, 56, 0}, state_view_rows},
};

/* NAME or NAME.small, by the folder's last part. */
const workload *workload_find(const char *name, bool *small)
{
    static const char suffix[] = ".small";
    size_t n = strlen(name), s = sizeof suffix - 1;
    *small = n > s && strcmp(name + n - s, suffix) == 0;
    if (*small)
        n -= s;
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strlen(workloads[i].name) == n && memcmp(workloads[i].name, name, n) == 0)
            return &workloads[i];
    return NULL;
}

void workload_state(plan *p, const workload *w, bool small)
{
    *p = (plan){.size = small ? w->small : w->full};
    w->state(p, &p->size);
}
