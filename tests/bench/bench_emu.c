/* Thread-instructions a second of the emulator, on one core and on all, and the same kernels compiled for
 * this CPU as the limit. Run from the repository's root. */
#include "artifacts/base/file.h"
#include "gpu/emu/exec.h"
#include "gpu/emu/matmul.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1 << 20, BLOCK = 256, GUARD = 4096, REPEATS = 3, MAX_ARGS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void native_add(float *x, float *y, float *o)
{
    for (int i = 0; i < N; i++)
        o[i] = x[i] + y[i];
}

static void native_silu(float *x, float *y, float *o)
{
    (void)y;
    for (int i = 0; i < N; i++)
        o[i] = x[i] / (1.0f + expf(-x[i]));
}

static void native_collatz(float *x, float *y, float *o)
{
    const int *v = (const int *)(const void *)x;
    int *out = (int *)(void *)o;
    (void)y;
    for (int i = 0; i < N; i++) {
        int steps = 0;
        for (long long k = v[i]; k > 1; k = k & 1 ? 3 * k + 1 : k / 2)
            steps++;
        out[i] = steps;
    }
}

typedef struct {
    const char *module, *entry;
    unsigned n_inputs;
    bool integers;
    void (*native)(float *, float *, float *);
} kernel;

static const kernel kernels[] = {
    {"pointwise", "add_f32", 2, false, native_add},
    {"pointwise", "silu_f32", 1, false, native_silu},
    {"control", "collatz_i32", 1, true, native_collatz},
};

static void fail(const rp_err *e)
{
    fprintf(stderr, "bench_emu: %s: %s\n", e->where, e->msg);
    exit(1);
}

/* Seconds of the fastest launch. */
static double emulate(const kernel *k, uint32_t threads, uint64_t *instructions)
{
    double best = 1e9;
    for (int n = 0; n < REPEATS; n++) {
        rp_err e = {0};
        span text;
        ptx_module *m;
        emu_report rep;
        scratch *sc = scratch_new(0);
        emu_memory *mem = emu_memory_new();
        char path[200];
        uint64_t block[MAX_ARGS] = {0};
        uint32_t id, buffer;
        snprintf(path, sizeof path, "tests/gpu/emu/corpus/%s.ptx", k->module);
        if (file_read(&e, &text, sc, path, 1 << 24) || ptx_parse(&e, &m, sc, path, text, UINT64_C(1) << 40) ||
            emu_memory_map_module(&e, mem, m))
            fail(&e);
        for (unsigned i = 0; i <= k->n_inputs; i++) {
            bool output = i == k->n_inputs;
            block[i] = (i + 1) * UINT64_C(0x10000000);
            if (emu_memory_map(&e, &id, mem, "b", block[i], 4 * N, GUARD) ||
                emu_buffer_add(&e, &buffer, mem, id, "b", 0, 4 * N, output))
                fail(&e);
            uint8_t *at = emu_memory_data(mem, block[i], 4 * N);
            for (uint64_t v = 0; !output && v < N; v++)
                dtype_store(k->integers ? DT_I32 : DT_F32, at, v,
                            k->integers ? (double)(v % 1000 + 1) : (double)(v % 4001) / 200 - 10);
            if (!output)
                emu_memory_mark(mem, block[i], 4 * N, EMU_WRITTEN);
        }
        block[k->n_inputs + 1] = N;
        emu_launch l = {
            .grid = {N / BLOCK, 1, 1}, .block = {BLOCK, 1, 1}, .threads = threads, .contract = true};
        l.params = span_of(block, (size_t)ptx_entry_find(m, k->entry)->param_bytes);
        double from = now();
        if (emu_run(&e, &rep, sc, mem, m, k->entry, &l))
            fail(&e);
        double took = now() - from;
        if (rep.n_findings) {
            fprintf(stderr, "bench_emu: %s has findings\n", k->entry);
            exit(1);
        }
        *instructions = rep.thread_instructions;
        best = took < best ? took : best;
        emu_memory_free(mem);
        scratch_free(sc);
    }
    return best;
}

static double compiled(const kernel *k)
{
    double best = 1e9;
    float *x = calloc(N, 4), *y = calloc(N, 4), *o = calloc(N, 4);
    for (uint64_t v = 0; v < N; v++) {
        dtype_store(k->integers ? DT_I32 : DT_F32, x, v,
                    k->integers ? (double)(v % 1000 + 1) : (double)(v % 4001) / 200 - 10);
        y[v] = x[v];
    }
    for (int n = 0; n < REPEATS; n++) {
        double from = now();
        k->native(x, y, o);
        __asm__ volatile("" : : "r"(o) : "memory");
        double took = now() - from;
        best = took < best ? took : best;
    }
    free(x);
    free(y);
    free(o);
    return best;
}

static void bench_matmul(unsigned cores)
{
    enum { M = 1024, K = 768 };
    rp_err e = {0};
    lt_call c = {.m = M,
                 .n = M,
                 .k = K,
                 .trans_b = true,
                 .a = {.type = DT_F16, .order = LTO_ROW, .rows = M, .cols = K, .ld = K},
                 .b = {.type = DT_F16, .order = LTO_ROW, .rows = M, .cols = K, .ld = K},
                 .c = {.type = DT_F32, .order = LTO_COL, .rows = M, .cols = M, .ld = M},
                 .compute = LTC_32F,
                 .scale = DT_F32};
    c.d = c.c;
    uint8_t *a = calloc(M * K, 2), *d = calloc((size_t)M * M, 4);
    for (uint64_t i = 0; i < M * K; i++)
        dtype_store(DT_F16, a, i, (double)(i % 401) / 100 - 2);
    matmul_operands m = {.a = a, .b = a, .c = d, .d = d};
    double from = now();
    if (matmul_run(&e, &c, &m, cores))
        fail(&e);
    double took = now() - from;
    printf("library matmul 1024x1024x768 of f16: %.3f s on %u cores, %.1f G multiply-adds/s\n", took, cores,
           1e-9 * M * M * K / took);
    free(a);
    free(d);
}

int main(void)
{
    cpu_set_t set;
    unsigned cores = sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned)CPU_COUNT(&set);
    printf("%-14s %20s %22s %22s %14s\n", "kernel", "thread-instructions", "M/s, one core", "M/s, all cores",
           "native, ms");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        uint64_t n = 0;
        double one = emulate(&kernels[i], 1, &n), all = emulate(&kernels[i], cores, &n),
               native = compiled(&kernels[i]);
        printf("%-14s %20llu %14.1f (%4.0f ms) %14.1f (%4.0f ms) %14.3f\n", kernels[i].entry,
               (unsigned long long)n, 1e-6 * (double)n / one, 1e3 * one, 1e-6 * (double)n / all, 1e3 * all,
               1e3 * native);
    }
    bench_matmul(cores);
    return 0;
}
