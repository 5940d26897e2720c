/* The one op that takes the time: products of matrices, in FP64. */
#include "artifacts/base/ck.h"
#include "plan/parallel.h"
#include "plan/reference_node.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* B is packed into panels of PANEL columns, k by k; A into tiles of TILE_ROWS rows, k by k. One accumulator
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

/* `batch` products of the kind, of which `group` are packed at a time. The step from one product's matrix to
 * the next is 0 for an operand that all of them share. */
typedef struct {
    tile_fn *tile;
    uint64_t m, n, k, strips, panels;
    uint64_t step_a, step_b, packed_a, packed_b; /* elements a product */
    const double *a, *b;
    double *pa, *pb, *c; /* pa, pb: packed */
    const reference_node *x;
} product;

/* Rows of A, over the products. */
static void pack_a(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    for (uint64_t row = from; row < to; row++) {
        uint64_t i = row % p->m;
        const double *a = p->a + row / p->m * p->step_a;
        double *out = p->pa + row / p->m * p->packed_a + i / TILE_ROWS * TILE_ROWS * p->k + i % TILE_ROWS;
        for (uint64_t l = 0; l < p->k; l++)
            out[l * TILE_ROWS] = p->x->transpose_a ? a[l * p->m + i] : a[i * p->k + l];
    }
}

/* Panels of B, over the products. */
static void pack_b(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    for (uint64_t panel = from; panel < to; panel++) {
        uint64_t col = panel % p->panels * PANEL, cols = p->n - col < PANEL ? p->n - col : PANEL;
        const double *b = p->b + panel / p->panels * p->step_b;
        double *out = p->pb + panel / p->panels * p->packed_b + col * p->k;
        for (uint64_t l = 0; l < p->k; l++)
            for (uint64_t c = 0; c < cols; c++)
                out[l * PANEL + c] = p->x->transpose_b ? b[(col + c) * p->k + l] : b[l * p->n + col + c];
    }
}

/* Tiles of rows of one product. */
static void multiply_one(const product *p, uint64_t which, uint64_t from, uint64_t to)
{
    double tile[TILE_ROWS * PANEL];
    const double *pa = p->pa + (p->step_a ? which * p->packed_a : 0),
                 *pb = p->pb + (p->step_b ? which * p->packed_b : 0);
    double *out = p->c + which * p->m * p->n;
    for (uint64_t col = 0; col < p->n; col += PANEL) {
        uint64_t cols = p->n - col < PANEL ? p->n - col : PANEL;
        for (uint64_t row = from * TILE_ROWS; row < to * TILE_ROWS; row += TILE_ROWS) {
            uint64_t rows = p->m - row < TILE_ROWS ? p->m - row : TILE_ROWS;
            p->tile(tile, pa + row * p->k, pb + col * p->k, p->k);
            for (uint64_t r = 0; r < rows; r++)
                for (uint64_t c = 0; c < cols; c++)
                    out[(row + r) * p->n + col + c] = reference_rounded(p->x, tile[r * PANEL + c]);
        }
    }
}

/* Tiles of rows of C, over the products. */
static void multiply(const void *ctx, uint64_t from, uint64_t to)
{
    const product *p = ctx;
    while (from < to) {
        uint64_t which = from / p->strips, first = from % p->strips, n = p->strips - first;
        if (n > to - from)
            n = to - from;
        multiply_one(p, which, first, first + n);
        from += n;
    }
}

rp_code reference_matmul(rp_err *e, double *out, scratch *tmp, const reference_node *x,
                         const reference_value *va, const reference_value *vb, const double *a,
                         const double *b, unsigned threads)
{
    /* Products are packed together up to so many elements, where each one is small. */
    static const uint64_t packed_together = 1 << 22;
    product p = {.tile = best_tile(va->narrow && vb->narrow),
                 .m = reference_extent(va, !x->transpose_a),
                 .n = reference_extent(vb, x->transpose_b),
                 .k = reference_extent(va, x->transpose_a),
                 .a = a,
                 .b = b,
                 .c = out,
                 .x = x};
    uint64_t batch = va->rank == 3 ? va->shape[0] : vb->rank == 3 ? vb->shape[0] : 1, both, na, nb;
    p.strips = (p.m + TILE_ROWS - 1) / TILE_ROWS;
    p.panels = (p.n + PANEL - 1) / PANEL;
    p.step_a = va->rank == 3 ? p.m * p.k : 0;
    p.step_b = vb->rank == 3 ? p.k * p.n : 0;
    if (!ck_mul_u64(p.strips * TILE_ROWS, p.k, &p.packed_a) ||
        !ck_mul_u64(p.panels * PANEL, p.k, &p.packed_b) || !ck_add_u64(p.packed_a, p.packed_b, &both))
        return err_nomem(e);
    uint64_t group = both < packed_together ? packed_together / both : 1;
    if (group > batch)
        group = batch;
    if (!ck_mul_u64(p.packed_a, p.step_a ? group : 1, &na) ||
        !ck_mul_u64(p.packed_b, p.step_b ? group : 1, &nb))
        return err_nomem(e);
    p.pa = scratch_array(tmp, (size_t)na, sizeof *p.pa);
    p.pb = scratch_array(tmp, (size_t)nb, sizeof *p.pb);
    if (!p.pa || !p.pb)
        return err_nomem(e);
    for (uint64_t done = 0; done < batch; done += group) {
        uint64_t n = batch - done < group ? batch - done : group;
        p.a = a + done * p.step_a;
        p.b = b + done * p.step_b;
        p.c = out + done * p.m * p.n;
        if (p.step_a || !done)
            parallel(threads, pack_a, &p, p.step_a ? n * p.m : p.m, na);
        if (p.step_b || !done)
            parallel(threads, pack_b, &p, p.step_b ? n * p.panels : p.panels, nb);
        parallel(threads, multiply, &p, n * p.strips, n * p.m * p.n * p.k); /* at most 2^37 */
    }
    return RP_OK;
}
