#include "plan/reference.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include <pthread.h>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MAX_INPUTS = 64, MAX_NODES = 256, MAX_OUTPUTS = 16, MAX_THREADS = 256 };
/* Limits on what a stranger's program may ask for: FP64 elements held at once, and multiply-adds. */
static const uint64_t max_elements = UINT64_C(1) << 27, max_work = UINT64_C(1) << 37;

typedef enum { MATMUL, ADD, MUL, RELU } op;
static const char *const op_names[] = {"matmul", "add", "mul", "relu", NULL};

typedef struct {
    const char *id;
    uint64_t rank, shape[TENSOR_MAX_RANK], elements;
    bool narrow; /* at most 26 significant bits an element */
} value;

typedef struct {
    op op;
    size_t a, b; /* indices of values */
    bool transpose_a, transpose_b, saturate;
    int round; /* a dtype, or -1 */
} node;

/* Values are the inputs, then the nodes. */
struct reference {
    size_t n_inputs, n_nodes, n_outputs;
    tensor *inputs, *outputs;
    node *nodes;
    value *values;
    size_t *output_values;
};

/* --- Reading. --- */

/* Whether every value of the type has at most 26 significant bits. */
static bool is_narrow(dtype t)
{
    return dtype_is_float(t) ? t != DT_F64 : dtype_bytes(t) <= 2;
}

static rp_code add_value(rp_err *e, const reference *r, size_t i, js_node *v)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(r->values[k].id, r->values[i].id))
            return js_fail(e, v, FIND_REFERENCE_INVALID, "expected each name once, found \"%.64s\" twice",
                           r->values[i].id);
    uint64_t total = 0;
    for (size_t k = 0; k <= i; k++)
        total += r->values[k].elements;
    if (total > max_elements)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected values of at most 2^27 elements together");
    return RP_OK;
}

static rp_code find_value(rp_err *e, size_t *out, const reference *r, size_t n, js_node *v, const char *key)
{
    const char *name;
    if (js_str(e, &name, v, key))
        return e->code;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(r->values[i].id, name)) {
            *out = i;
            return RP_OK;
        }
    return js_fail(e, js_find(v, key), FIND_REFERENCE_INVALID,
                   "expected an input or an earlier node, found \"%.64s\"", name);
}

static rp_code optional_bool(rp_err *e, bool *out, js_node *v, const char *key)
{
    return js_find(v, key) ? js_bool(e, out, v, key) : RP_OK;
}

static rp_code shape_matmul(rp_err *e, value *out, const value *a, const value *b, const node *x, js_node *v,
                            uint64_t *work)
{
    if (a->rank != 2 || b->rank != 2)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected two matrices, found ranks %llu and %llu",
                       (unsigned long long)a->rank, (unsigned long long)b->rank);
    uint64_t k = a->shape[!x->transpose_a], kb = b->shape[x->transpose_b], ops;
    if (k != kb)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected one inner extent, found %llu and %llu",
                       (unsigned long long)k, (unsigned long long)kb);
    out->rank = 2;
    out->shape[0] = a->shape[x->transpose_a];
    out->shape[1] = b->shape[!x->transpose_b];
    if (!ck_mul_u64(out->shape[0], out->shape[1], &out->elements) || out->elements > max_elements ||
        !ck_mul_u64(out->elements, k, &ops) || !ck_add_u64(*work, ops, work) || *work > max_work)
        return js_fail(e, v, FIND_REFERENCE_INVALID, "expected at most 2^27 elements and 2^37 multiply-adds");
    return RP_OK;
}

static uint64_t extent_from_right(const value *v, uint64_t i)
{
    return i < v->rank ? v->shape[v->rank - 1 - i] : 1;
}

static rp_code shape_pointwise(rp_err *e, value *out, const value *a, const value *b, js_node *v)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    out->elements = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t x = extent_from_right(a, i), y = extent_from_right(b, i);
        if (x != y && x != 1 && y != 1)
            return js_fail(e, v, FIND_REFERENCE_INVALID,
                           "expected extents that broadcast, found %llu and %llu", (unsigned long long)x,
                           (unsigned long long)y);
        uint64_t extent = x > y ? x : y;
        out->shape[out->rank - 1 - i] = extent;
        if (!ck_mul_u64(out->elements, extent, &out->elements) || out->elements > max_elements)
            return js_fail(e, v, FIND_REFERENCE_INVALID, "expected at most 2^27 elements");
    }
    return RP_OK;
}

static rp_code read_node(rp_err *e, reference *r, size_t i, js_node *v, uint64_t *work)
{
    node *x = &r->nodes[i];
    size_t at = r->n_inputs + i;
    value *out = &r->values[at];
    int kind;
    x->round = -1;
    if (js_as_obj(e, v) || js_str(e, &out->id, v, "id") || js_enum(e, &kind, v, "op", op_names) ||
        find_value(e, &x->a, r, at, v, "a"))
        return e->code;
    x->op = (op)kind;
    if (x->op != RELU && find_value(e, &x->b, r, at, v, "b"))
        return e->code;
    if (x->op == MATMUL && (optional_bool(e, &x->transpose_a, v, "transpose_a") ||
                            optional_bool(e, &x->transpose_b, v, "transpose_b")))
        return e->code;
    if (js_find(v, "round") && js_enum(e, &x->round, v, "round", dtype_names))
        return e->code;
    if (x->round >= 0 && optional_bool(e, &x->saturate, v, "saturate"))
        return e->code;
    if (js_done(e, v))
        return e->code;
    out->narrow = x->round >= 0 && is_narrow((dtype)x->round);
    const value *a = &r->values[x->a], *b = x->op == RELU ? a : &r->values[x->b];
    if (x->op == MATMUL ? shape_matmul(e, out, a, b, x, v, work) : shape_pointwise(e, out, a, b, v))
        return e->code;
    return add_value(e, r, at, v);
}

static rp_code read_inputs(rp_err *e, reference *r, js_node *arr)
{
    for (size_t i = 0; i < r->n_inputs; i++) {
        js_node *v = js_at(arr, i);
        tensor *t = &r->inputs[i];
        if (tensor_read_type(e, t, v) || js_done(e, v))
            return e->code;
        r->values[i] =
            (value){.id = t->name, .rank = t->rank, .elements = t->elements, .narrow = is_narrow(t->type)};
        memcpy(r->values[i].shape, t->shape, sizeof t->shape);
        if (add_value(e, r, i, v))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_outputs(rp_err *e, reference *r, js_node *arr)
{
    for (size_t i = 0; i < r->n_outputs; i++) {
        js_node *v = js_at(arr, i);
        tensor *t = &r->outputs[i];
        int type;
        if (js_as_obj(e, v) || js_str(e, &t->name, v, "name") || js_enum(e, &type, v, "dtype", dtype_names) ||
            find_value(e, &r->output_values[i], r, r->n_inputs + r->n_nodes, v, "value") || js_done(e, v))
            return e->code;
        const value *from = &r->values[r->output_values[i]];
        t->type = (dtype)type;
        t->rank = from->rank;
        t->elements = from->elements;
        memcpy(t->shape, from->shape, sizeof t->shape);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(r->outputs[k].name, t->name))
                return js_fail(e, v, FIND_REFERENCE_INVALID,
                               "expected each output once, found \"%.64s\" twice", t->name);
    }
    return RP_OK;
}

static rp_code between(rp_err *e, js_node *arr, size_t n, size_t most)
{
    if (n < 1 || n > most)
        return js_fail(e, arr, FIND_REFERENCE_INVALID, "expected 1 to %zu entries, found %zu", most, n);
    return RP_OK;
}

rp_code reference_read(rp_err *e, reference **out, scratch *sc, const char *file, span text)
{
    js_node *root, *inputs, *nodes, *outputs;
    reference *r = scratch_alloc(sc, sizeof *r);
    if (!r)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-reference/0") ||
        js_arr(e, &inputs, &r->n_inputs, root, "inputs") || js_arr(e, &nodes, &r->n_nodes, root, "nodes") ||
        js_arr(e, &outputs, &r->n_outputs, root, "outputs") || js_done(e, root) ||
        between(e, inputs, r->n_inputs, MAX_INPUTS) || between(e, nodes, r->n_nodes, MAX_NODES) ||
        between(e, outputs, r->n_outputs, MAX_OUTPUTS))
        return e->code;
    r->inputs = scratch_array(sc, r->n_inputs, sizeof *r->inputs);
    r->nodes = scratch_array(sc, r->n_nodes, sizeof *r->nodes);
    r->outputs = scratch_array(sc, r->n_outputs, sizeof *r->outputs);
    r->values = scratch_array(sc, r->n_inputs + r->n_nodes, sizeof *r->values);
    r->output_values = scratch_array(sc, r->n_outputs, sizeof *r->output_values);
    if (!r->inputs || !r->nodes || !r->outputs || !r->values || !r->output_values)
        return err_nomem(e);
    uint64_t work = 0;
    if (read_inputs(e, r, inputs))
        return e->code;
    for (size_t i = 0; i < r->n_nodes; i++)
        if (read_node(e, r, i, js_at(nodes, i), &work))
            return e->code;
    if (!read_outputs(e, r, outputs))
        *out = r;
    return e->code;
}

size_t reference_n_inputs(const reference *r)
{
    return r->n_inputs;
}

size_t reference_n_outputs(const reference *r)
{
    return r->n_outputs;
}

const tensor *reference_input(const reference *r, size_t i)
{
    return &r->inputs[i];
}

const tensor *reference_output(const reference *r, size_t i)
{
    return &r->outputs[i];
}

static double rounded(const node *x, double v)
{
    if (x->round < 0)
        return v;
    return x->saturate ? dtype_round_saturating((dtype)x->round, v) : dtype_round((dtype)x->round, v);
}

/* --- Threads. --- */

typedef void piece_fn(const void *ctx, uint64_t from, uint64_t to);

typedef struct {
    piece_fn *f;
    const void *ctx;
    uint64_t from, to;
    pthread_t thread;
    bool started;
} piece;

static void *do_piece(void *arg)
{
    const piece *s = arg;
    s->f(s->ctx, s->from, s->to);
    return NULL;
}

static unsigned cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : (unsigned)n;
}

/* f over [0, n), in as many pieces as there are threads to be had; `work` says whether that is worth it. */
static void in_parallel(unsigned threads, piece_fn *f, const void *ctx, uint64_t n, uint64_t work)
{
    static const uint64_t least_work = 1 << 16;
    piece pieces[MAX_THREADS];
    if (threads == 0)
        threads = cores();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if (threads > n)
        threads = (unsigned)n;
    if (work < least_work)
        threads = n != 0;
    for (unsigned t = 0; t < threads; t++) {
        pieces[t] = (piece){.f = f, .ctx = ctx, .from = n * t / threads, .to = n * (t + 1) / threads};
        /* The last piece, and one whose thread cannot be had, is done here. */
        pieces[t].started = t + 1 < threads && !pthread_create(&pieces[t].thread, NULL, do_piece, &pieces[t]);
    }
    for (unsigned t = 0; t < threads; t++)
        if (!pieces[t].started)
            (void)do_piece(&pieces[t]);
    for (unsigned t = 0; t < threads; t++)
        if (pieces[t].started)
            pthread_join(pieces[t].thread, NULL);
}

/* --- matmul. ---
 *
 * B is packed into panels of PANEL columns, k by k; A into tiles of TILE_ROWS rows, k by k. One accumulator
 * an element, k ascending: how wide the vectors are changes nothing in any element. Where both operands have
 * at most 26 significant bits (F16, BF16, F32, FP8 and short integers, as stored or as rounded to) a product
 * is exact in FP64, a fused multiply-add gives the bits of a product and a sum, and is taken where the
 * processor has it. */

enum { PANEL = 16, TILE_ROWS = 8 };

typedef void tile_fn(double *out, const double *a, const double *b, uint64_t k);

/* out[TILE_ROWS][PANEL] = a[k][TILE_ROWS] * b[k][PANEL], `rows` rows and two vectors at a time. */
#define TILE(name, attribute, lanes, rows, madd)                                                             \
    attribute static void name(double *out, const double *a, const double *b, uint64_t k)                    \
    {                                                                                                        \
        typedef double vec __attribute__((vector_size(8 * lanes)));                                          \
        for (unsigned r0 = 0; r0 < TILE_ROWS; r0 += rows)                                                    \
            for (unsigned c = 0; c < PANEL; c += 2 * lanes) {                                                \
                vec sum[rows][2] = {{{0}}};                                                                  \
                for (uint64_t i = 0; i < k; i++) {                                                           \
                    vec b0, b1;                                                                              \
                    memcpy(&b0, b + i * PANEL + c, sizeof b0);                                               \
                    memcpy(&b1, b + i * PANEL + c + lanes, sizeof b1);                                       \
                    _Pragma("GCC unroll 8") for (unsigned r = 0; r < rows; r++)                              \
                    {                                                                                        \
                        double x = a[i * TILE_ROWS + r0 + r];                                                \
                        sum[r][0] = madd(sum[r][0], b0, x);                                                  \
                        sum[r][1] = madd(sum[r][1], b1, x);                                                  \
                    }                                                                                        \
                }                                                                                            \
                for (unsigned r = 0; r < rows; r++)                                                          \
                    memcpy(out + (r0 + r) * PANEL + c, sum[r], 2 * sizeof(vec));                             \
            }                                                                                                \
    }
#define PRODUCT_AND_SUM(sum, b, x) ((sum) + (b) * (x))
#define FUSED_256(sum, b, x) ((vec)_mm256_fmadd_pd((__m256d)(b), _mm256_set1_pd(x), (__m256d)(sum)))
#define FUSED_512(sum, b, x) ((vec)_mm512_fmadd_pd((__m512d)(b), _mm512_set1_pd(x), (__m512d)(sum)))

TILE(tile_base, , 2, 4, PRODUCT_AND_SUM)
#if defined(__x86_64__)
TILE(tile_avx2, __attribute__((target("avx2"))), 4, 4, PRODUCT_AND_SUM)
TILE(tile_avx2_fused, __attribute__((target("avx2,fma"))), 4, 4, FUSED_256)
TILE(tile_avx512, __attribute__((target("avx512f"))), 8, 8, PRODUCT_AND_SUM)
TILE(tile_avx512_fused, __attribute__((target("avx512f"))), 8, 8, FUSED_512)
const char *const reference_variants[] = {"avx512f", "avx2", "base", NULL};
#else
const char *const reference_variants[] = {"base", NULL};
#endif

typedef struct {
    tile_fn *exact, *any; /* for exact products, and for any */
} tiles;

static tiles chosen; /* by a test */

static tiles variant(const char *name)
{
#if defined(__x86_64__)
    if (!strcmp(name, "avx512f") && __builtin_cpu_supports("avx512f"))
        return (tiles){tile_avx512_fused, tile_avx512};
    if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2"))
        return (tiles){__builtin_cpu_supports("fma") ? tile_avx2_fused : tile_avx2, tile_avx2};
#endif
    return strcmp(name, "base") ? (tiles){0} : (tiles){tile_base, tile_base};
}

bool reference_use_variant(const char *name)
{
    chosen = name ? variant(name) : (tiles){0};
    return !name || chosen.any;
}

static tile_fn *best_tile(bool exact)
{
    tiles f = chosen;
    for (size_t i = 0; !f.any && reference_variants[i]; i++)
        f = variant(reference_variants[i]);
    return exact ? f.exact : f.any;
}

typedef struct {
    tile_fn *tile;
    uint64_t m, n, k;
    const double *a, *b;
    double *pa, *pb, *c; /* pa, pb: packed */
    const node *x;
} product;

/* Rows of A; panels of B; tiles of rows of C. */
static void pack_a(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    for (uint64_t i = from; i < to; i++)
        for (uint64_t l = 0; l < p->k; l++)
            p->pa[i / TILE_ROWS * TILE_ROWS * p->k + l * TILE_ROWS + i % TILE_ROWS] =
                p->x->transpose_a ? p->a[l * p->m + i] : p->a[i * p->k + l];
}

static void pack_b(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    for (uint64_t panel = from; panel < to; panel++) {
        uint64_t col = panel * PANEL, cols = p->n - col < PANEL ? p->n - col : PANEL;
        double *out = p->pb + col * p->k;
        for (uint64_t l = 0; l < p->k; l++)
            for (uint64_t c = 0; c < cols; c++)
                out[l * PANEL + c] =
                    p->x->transpose_b ? p->b[(col + c) * p->k + l] : p->b[l * p->n + col + c];
    }
}

static void multiply(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    double tile[TILE_ROWS * PANEL];
    for (uint64_t col = 0; col < p->n; col += PANEL) {
        uint64_t cols = p->n - col < PANEL ? p->n - col : PANEL;
        for (uint64_t row = from * TILE_ROWS; row < to * TILE_ROWS; row += TILE_ROWS) {
            uint64_t rows = p->m - row < TILE_ROWS ? p->m - row : TILE_ROWS;
            p->tile(tile, p->pa + row * p->k, p->pb + col * p->k, p->k);
            for (uint64_t r = 0; r < rows; r++)
                for (uint64_t c = 0; c < cols; c++)
                    p->c[(row + r) * p->n + col + c] = rounded(p->x, tile[r * PANEL + c]);
        }
    }
}

static rp_code matmul(rp_err *e, double *out, scratch *tmp, const node *x, const value *va, const value *vb,
                      const double *a, const double *b, unsigned threads)
{
    uint64_t m = va->shape[x->transpose_a], k = va->shape[!x->transpose_a], n = vb->shape[!x->transpose_b];
    uint64_t strips = (m + TILE_ROWS - 1) / TILE_ROWS, panels = (n + PANEL - 1) / PANEL, na, nb;
    if (!ck_mul_u64(strips * TILE_ROWS, k, &na) || !ck_mul_u64(panels * PANEL, k, &nb))
        return err_nomem(e);
    product p = {best_tile(va->narrow && vb->narrow),
                 m,
                 n,
                 k,
                 a,
                 b,
                 scratch_array(tmp, (size_t)na, sizeof *p.pa),
                 scratch_array(tmp, (size_t)nb, sizeof *p.pb),
                 out,
                 x};
    if (!p.pa || !p.pb)
        return err_nomem(e);
    in_parallel(threads, pack_a, &p, m, na);
    in_parallel(threads, pack_b, &p, panels, nb);
    in_parallel(threads, multiply, &p, strips, m * n * k); /* at most 2^37 */
    return RP_OK;
}

/* --- Pointwise. --- */

static double apply(op o, double a, double b)
{
    if (o == ADD)
        return a + b;
    if (o == MUL)
        return a * b;
    return a > 0 || a != a ? a : 0;
}

/* Row-major strides of v seen in the shape of `out`, 0 where it is broadcast. */
static void broadcast_strides(uint64_t *stride, const value *v, const value *out)
{
    uint64_t step = 1;
    for (uint64_t i = 0; i < out->rank; i++) {
        uint64_t extent = extent_from_right(v, i);
        stride[out->rank - 1 - i] = extent == 1 ? 0 : step;
        step *= extent;
    }
}

typedef struct {
    double *out;
    const node *x;
    const value *shape;
    uint64_t sa[TENSOR_MAX_RANK], sb[TENSOR_MAX_RANK];
    const double *a, *b;
} pointwise;

/* Rows of the last axis. */
static void apply_rows(const void *ctx, uint64_t from, uint64_t to)
{
    const pointwise *p = ctx;
    uint64_t last = p->shape->rank - 1, columns = p->shape->shape[last];
    for (uint64_t row = from; row < to; row++) {
        uint64_t ia = 0, ib = 0, left = row;
        for (uint64_t i = last; i > 0; i--) {
            ia += left % p->shape->shape[i - 1] * p->sa[i - 1];
            ib += left % p->shape->shape[i - 1] * p->sb[i - 1];
            left /= p->shape->shape[i - 1];
        }
        for (uint64_t c = 0; c < columns; c++)
            p->out[row * columns + c] =
                rounded(p->x, apply(p->x->op, p->a[ia + c * p->sa[last]], p->b[ib + c * p->sb[last]]));
    }
}

/* Elements of a tensor as FP64, and the other way. */
typedef struct {
    dtype type;
    const void *from;
    void *to;
} conversion;

static void load_elements(const void *ctx, uint64_t from, uint64_t to)
{
    const conversion *c = ctx;
    for (uint64_t i = from; i < to; i++)
        ((double *)c->to)[i] = dtype_load(c->type, c->from, i);
}

static void store_elements(const void *ctx, uint64_t from, uint64_t to)
{
    const conversion *c = ctx;
    for (uint64_t i = from; i < to; i++)
        dtype_store(c->type, c->to, i, ((const double *)c->from)[i]);
}

/* --- Evaluating. --- */

static bool same_type(const tensor *a, const tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static rp_code load_input(rp_err *e, double **out, scratch *tmp, const tensor *want, const tensor *inputs,
                          size_t n, unsigned threads)
{
    const tensor *t = NULL;
    for (size_t i = 0; i < n && !t; i++)
        if (!strcmp(inputs[i].name, want->name))
            t = &inputs[i];
    if (!t || !same_type(t, want) || !t->data)
        return err_invalid(e, FIND_FIXTURE_SHAPE, NULL, want->name,
                           t ? "expected tensor \"%s\" with the type and shape of the reference program"
                             : "expected tensor \"%s\", found none",
                           want->name);
    double *v = scratch_array(tmp, (size_t)t->elements, sizeof *v);
    if (!v)
        return err_nomem(e);
    in_parallel(threads, load_elements, &(conversion){t->type, t->data, v}, t->elements, t->elements);
    *out = v;
    return RP_OK;
}

static rp_code evaluate(rp_err *e, double **v, scratch *tmp, const reference *r, const tensor *inputs,
                        size_t n_inputs, unsigned threads)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (load_input(e, &v[i], tmp, &r->inputs[i], inputs, n_inputs, threads))
            return e->code;
    for (size_t i = 0; i < r->n_nodes; i++) {
        const node *x = &r->nodes[i];
        size_t at = r->n_inputs + i, b = x->op == RELU ? x->a : x->b;
        v[at] = scratch_array(tmp, (size_t)r->values[at].elements, sizeof *v[at]);
        if (!v[at])
            return err_nomem(e);
        const value *out = &r->values[at];
        if (x->op != MATMUL) {
            pointwise p = {.out = v[at], .x = x, .shape = out, .a = v[x->a], .b = v[b]};
            broadcast_strides(p.sa, &r->values[x->a], out);
            broadcast_strides(p.sb, &r->values[b], out);
            in_parallel(threads, apply_rows, &p, out->elements / out->shape[out->rank - 1], out->elements);
        } else if (matmul(e, v[at], tmp, x, &r->values[x->a], &r->values[b], v[x->a], v[b], threads)) {
            return e->code;
        }
    }
    return RP_OK;
}

rp_code reference_eval(rp_err *e, tensor **out, scratch *sc, const reference *r, const tensor *inputs,
                       size_t n_inputs, unsigned threads)
{
    scratch *tmp = scratch_new(0);
    double **v = tmp ? scratch_array(tmp, r->n_inputs + r->n_nodes, sizeof *v) : NULL;
    tensor *result = scratch_array(sc, r->n_outputs, sizeof *result);
    if (!v || !result) {
        err_nomem(e);
        goto out;
    }
    if (evaluate(e, v, tmp, r, inputs, n_inputs, threads))
        goto out;
    for (size_t i = 0; i < r->n_outputs; i++) {
        result[i] = r->outputs[i];
        result[i].data = scratch_array(sc, (size_t)result[i].elements, (size_t)dtype_bytes(result[i].type));
        if (!result[i].data) {
            err_nomem(e);
            goto out;
        }
        in_parallel(threads, store_elements,
                    &(conversion){result[i].type, v[r->output_values[i]], result[i].data}, result[i].elements,
                    result[i].elements);
    }
    *out = result;
out:
    scratch_free(tmp);
    return e->code;
}
