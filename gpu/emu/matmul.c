#include "gpu/emu/matmul.h"
#include "gpu/emu/wrap.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A block is computed in registers: ROWS x PANEL accumulators. B is packed into panels of PANEL columns, k
 * rows each. */
enum { ROWS = 4, LANES = 8, PANEL = 2 * LANES, MAX_THREADS = 256 };
typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

/* One matrix of the batch. */
typedef struct {
    const lt_call *call;
    matmul_operands m;
    bool new_a, new_b; /* the operand is another one than that of the last matrix, and must be packed */
    float *a, *b;      /* a: rows x k; b: panels x k x PANEL, zero beyond n */
    double *a64, *b64; /* the same of F64, b: n x k */
    int8_t *a8, *b8;   /* the same of I8 */
    float scale;
    uint64_t from, to; /* rows of D */
} work;

static uint64_t at(const lt_matrix *x, uint64_t row, uint64_t col)
{
    return x->order == LTO_ROW ? row * x->ld + col : col * x->ld + row;
}

static inline __attribute__((always_inline)) void block(float *out, const float *a, const float *b,
                                                        uint64_t k)
{
    vec acc[ROWS][2] = {0};
    for (uint64_t i = 0; i < k; i++) {
        vec b0, b1;
        memcpy(&b0, b + i * PANEL, sizeof b0);
        memcpy(&b1, b + i * PANEL + LANES, sizeof b1);
        for (unsigned r = 0; r < ROWS; r++) {
            float x = a[r * k + i];
            acc[r][0] += x * b0;
            acc[r][1] += x * b1;
        }
    }
    memcpy(out, acc, sizeof acc);
}

static void block_plain(float *out, const float *a, const float *b, uint64_t k)
{
    block(out, a, b, k);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void block_avx2(float *out, const float *a, const float *b, uint64_t k)
{
    block(out, a, b, k);
}
#endif

typedef void block_fn(float *, const float *, const float *, uint64_t);

static block_fn *choose(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return block_avx2;
#endif
    return block_plain;
}

static bool has_relu(lt_epilogue ep)
{
    return ep == LTE_RELU || ep == LTE_RELU_BIAS;
}

static bool has_gelu(lt_epilogue ep)
{
    return ep == LTE_GELU || ep == LTE_GELU_BIAS;
}

static float gelu32(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}

static double gelu64(double x)
{
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static void finish32(const work *w, uint64_t row, uint64_t col, float v)
{
    const lt_call *c = w->call;
    if (c->a.scaled || c->b.scaled)
        v *= w->scale;
    if (c->beta_one)
        v += (float)dtype_load(c->c.type, w->m.c, at(&c->c, row, col));
    if (lt_epilogue_has_bias(c->epilogue))
        v += (float)dtype_load(c->bias_type, w->m.bias, row);
    if (has_relu(c->epilogue) && v < 0)
        v = 0;
    if (has_gelu(c->epilogue))
        v = gelu32(v);
    bool fp8 = c->d.type == DT_F8_E4M3 || c->d.type == DT_F8_E5M2;
    dtype_store(c->d.type, w->m.d, at(&c->d, row, col),
                fp8 ? dtype_round_saturating(c->d.type, (double)v) : (double)v);
}

static void finish64(const work *w, uint64_t row, uint64_t col, double v)
{
    const lt_call *c = w->call;
    if (c->beta_one)
        v += dtype_load(c->c.type, w->m.c, at(&c->c, row, col));
    if (lt_epilogue_has_bias(c->epilogue))
        v += dtype_load(c->bias_type, w->m.bias, row);
    if (has_relu(c->epilogue) && v < 0)
        v = 0;
    if (has_gelu(c->epilogue))
        v = gelu64(v);
    dtype_store(c->d.type, w->m.d, at(&c->d, row, col), v);
}

WRAPS static void finish_i32(const work *w, uint64_t row, uint64_t col, uint32_t v)
{
    const lt_call *c = w->call;
    uint32_t more;
    if (c->beta_one) {
        memcpy(&more, w->m.c + at(&c->c, row, col) * sizeof more, sizeof more);
        v += more;
    }
    if (has_relu(c->epilogue) && v > INT32_MAX)
        v = 0;
    memcpy(w->m.d + at(&c->d, row, col) * sizeof v, &v, sizeof v);
}

static void *rows32(void *ctx)
{
    const work *w = ctx;
    const lt_call *c = w->call;
    block_fn *fn = choose();
    float out[ROWS * PANEL];
    for (uint64_t row = w->from; row < w->to; row += ROWS)
        for (uint64_t p = 0; p < (c->n + PANEL - 1) / PANEL; p++) {
            fn(out, w->a + row * c->k, w->b + p * PANEL * c->k, c->k);
            for (uint64_t r = row; r < row + ROWS && r < w->to; r++)
                for (uint64_t col = p * PANEL; col < (p + 1) * PANEL && col < c->n; col++)
                    finish32(w, r, col, out[(r - row) * PANEL + col % PANEL]);
        }
    return NULL;
}

static void *rows64(void *ctx)
{
    const work *w = ctx;
    const lt_call *c = w->call;
    for (uint64_t row = w->from; row < w->to; row++)
        for (uint64_t col = 0; col < c->n; col++) {
            double acc = 0;
            for (uint64_t i = 0; i < c->k; i++)
                acc += w->a64[row * c->k + i] * w->b64[col * c->k + i];
            finish64(w, row, col, acc);
        }
    return NULL;
}

/* An I32 accumulator wraps around. */
WRAPS static uint32_t dot8(const int8_t *a, const int8_t *b, uint64_t k)
{
    uint32_t acc = 0;
    for (uint64_t i = 0; i < k; i++)
        acc += (uint32_t)(a[i] * b[i]);
    return acc;
}

static void *rows8(void *ctx)
{
    const work *w = ctx;
    const lt_call *c = w->call;
    for (uint64_t row = w->from; row < w->to; row++)
        for (uint64_t col = 0; col < c->n; col++) {
            uint32_t acc = dot8(w->a8 + row * c->k, w->b8 + col * c->k, c->k);
            if (c->d.type == DT_I32)
                finish_i32(w, row, col, acc);
            else
                finish32(w, row, col, (float)(int32_t)acc);
        }
    return NULL;
}

static double element_a(const work *w, uint64_t row, uint64_t i)
{
    const lt_call *c = w->call;
    return dtype_load(c->a.type, w->m.a, c->trans_a ? at(&c->a, i, row) : at(&c->a, row, i));
}

static double element_b(const work *w, uint64_t i, uint64_t col)
{
    const lt_call *c = w->call;
    return dtype_load(c->b.type, w->m.b, c->trans_b ? at(&c->b, col, i) : at(&c->b, i, col));
}

/* A piece of A and of B, so that the threads share this too. The extra rows of A, up to a whole block, stay
 * 0. */
static void *pack32(void *ctx)
{
    const work *w = ctx;
    const lt_call *c = w->call;
    for (uint64_t row = w->from; w->new_a && row < w->to && row < c->m; row++)
        for (uint64_t i = 0; i < c->k; i++)
            w->a[row * c->k + i] = (float)element_a(w, row, i);
    uint64_t share = (c->k * w->to + c->m - 1) / c->m, from = (c->k * w->from + c->m - 1) / c->m;
    for (uint64_t i = from; w->new_b && i < share && i < c->k; i++)
        for (uint64_t col = 0; col < c->n; col++)
            w->b[(col / PANEL * c->k + i) * PANEL + col % PANEL] = (float)element_b(w, i, col);
    return NULL;
}

static void share_rows(const work *whole, unsigned threads, void *(*fn)(void *))
{
    work part[MAX_THREADS];
    pthread_t id[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    uint64_t m = whole->call->m, blocks = (m + ROWS - 1) / ROWS;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if (threads > blocks)
        threads = (unsigned)blocks;
    for (unsigned t = 0; t < threads; t++) {
        part[t] = *whole;
        part[t].from = blocks * t / threads * ROWS;
        part[t].to = blocks * (t + 1) / threads * ROWS;
        if (part[t].to > m)
            part[t].to = m;
    }
    for (unsigned t = 1; t < threads; t++)
        started[t] = pthread_create(&id[t], NULL, fn, &part[t]) == 0;
    fn(&part[0]);
    for (unsigned t = 1; t < threads; t++) {
        if (started[t])
            pthread_join(id[t], NULL);
        else
            fn(&part[t]);
    }
}

static void *zeroed(uint64_t a, uint64_t b, size_t size)
{
    uint64_t n;
    if (__builtin_mul_overflow(a, b, &n) || n > SIZE_MAX / size / 2)
        return NULL;
    return calloc((size_t)n + 1, size);
}

const char *matmul_refused(const lt_call *c)
{
    if (c->compute == LTC_16F || c->compute == LTC_16F_PEDANTIC)
        return "a matmul that accumulates in 16 bits";
    if (c->d.type == DT_I32 && (lt_epilogue_has_bias(c->epilogue) || has_gelu(c->epilogue)))
        return "a matmul of I32 with a bias or GELU";
    return NULL;
}

static void run32(work *w, unsigned threads)
{
    if (w->new_a || w->new_b)
        share_rows(w, threads, pack32);
    share_rows(w, threads, rows32);
}

static void run64(work *w, unsigned threads)
{
    const lt_call *c = w->call;
    for (uint64_t i = 0; i < c->k; i++) {
        for (uint64_t r = 0; w->new_a && r < c->m; r++)
            w->a64[r * c->k + i] = element_a(w, r, i);
        for (uint64_t n = 0; w->new_b && n < c->n; n++)
            w->b64[n * c->k + i] = element_b(w, i, n);
    }
    share_rows(w, threads, rows64);
}

static void run8(work *w, unsigned threads)
{
    const lt_call *c = w->call;
    for (uint64_t i = 0; i < c->k; i++) {
        for (uint64_t r = 0; w->new_a && r < c->m; r++)
            w->a8[r * c->k + i] = (int8_t)element_a(w, r, i);
        for (uint64_t n = 0; w->new_b && n < c->n; n++)
            w->b8[n * c->k + i] = (int8_t)element_b(w, i, n);
    }
    share_rows(w, threads, rows8);
}

static rp_code allocate(rp_err *e, work *w)
{
    const lt_call *c = w->call;
    uint64_t rows, columns;
    bool got;
    if (__builtin_add_overflow(c->m, ROWS - 1, &rows) || __builtin_add_overflow(c->n, PANEL - 1, &columns))
        return err_nomem(e);
    if (c->a.type == DT_F64) {
        w->a64 = zeroed(c->m, c->k, sizeof *w->a64);
        w->b64 = zeroed(c->n, c->k, sizeof *w->b64);
        got = w->a64 && w->b64;
    } else if (c->a.type == DT_I8) {
        w->a8 = zeroed(c->m, c->k, sizeof *w->a8);
        w->b8 = zeroed(c->n, c->k, sizeof *w->b8);
        got = w->a8 && w->b8;
    } else {
        w->a = zeroed(rows / ROWS * ROWS, c->k, sizeof *w->a);
        w->b = zeroed(columns / PANEL * PANEL, c->k, sizeof *w->b);
        got = w->a && w->b;
    }
    return got ? RP_OK : err_nomem(e);
}

static uint64_t stride_bytes(const lt_matrix *x)
{
    return x->stride * dtype_bytes(x->type);
}

rp_code matmul_run(rp_err *e, const lt_call *call, const matmul_operands *m, unsigned threads)
{
    work w = {.call = call, .m = *m, .scale = 1};
    if (call->a.scaled)
        w.scale = (float)dtype_load(DT_F32, m->scale_a, 0);
    if (call->b.scaled)
        w.scale *= (float)dtype_load(DT_F32, m->scale_b, 0);
    uint64_t batch = call->d.batch ? call->d.batch : 1;
    if (!allocate(e, &w))
        for (uint64_t i = 0; i < batch; i++) {
            w.new_a = !i || call->a.stride;
            w.new_b = !i || call->b.stride;
            w.m.a = m->a + i * stride_bytes(&call->a);
            w.m.b = m->b + i * stride_bytes(&call->b);
            w.m.c = call->beta_one ? m->c + i * stride_bytes(&call->c) : NULL;
            w.m.d = m->d + i * stride_bytes(&call->d);
            if (w.a64)
                run64(&w, threads);
            else if (w.a8)
                run8(&w, threads);
            else
                run32(&w, threads);
        }
    free(w.a);
    free(w.b);
    free(w.a64);
    free(w.b64);
    free(w.a8);
    free(w.b8);
    return e->code;
}
