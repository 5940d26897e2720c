/* What bit-reproducible references cost: all fixtures of one full workload on two cores, against NumPy's
 * dgemm of the same products on the same cores in the same run; fixture generation; and `verify`, stage by
 * stage.
 *
 *   bench-reference [BUNDLE]      default: $REPLAY_BUNDLES/weight_view.tar.zst
 *
 * Rounds alternate, and the least time of each counts. NumPy does the products alone; the reference also
 * widens, rounds and adds. */
#include "artifacts/base/file.h"
#include "artifacts/store.h"
#include "verify/verify.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CORES = 2, ROUNDS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void stop(const rp_err *e, const char *what)
{
    fprintf(stderr, "bench_reference: %s: %s\n", what, e->msg);
    exit(1);
}

/* The first cores that this process may use, for it and for what it starts. */
static int keep_cores(int n)
{
    cpu_set_t have, keep;
    int kept = 0;
    CPU_ZERO(&keep);
    if (sched_getaffinity(0, sizeof have, &have))
        return 1;
    for (size_t i = 0; i < CPU_SETSIZE && kept < n; i++)
        if (CPU_ISSET(i, &have)) {
            CPU_SET(i, &keep);
            kept++;
        }
    (void)sched_setaffinity(0, sizeof keep, &keep);
    return kept;
}

/* Seconds that NumPy takes for `n` products [m,k] x [k,c] in FP64, or 0 without NumPy. */
static double numpy_seconds(int cores, size_t n, uint64_t m, uint64_t k, uint64_t c)
{
    char command[768];
    double seconds = 0;
    snprintf(command, sizeof command,
             "OPENBLAS_NUM_THREADS=%d OMP_NUM_THREADS=%d MKL_NUM_THREADS=%d python3 -c \"import numpy as "
             "n,time as t;r=n.random.default_rng(1);"
             "a=r.random((%llu,%llu));b=r.random((%llu,%llu));a@b;s=t.perf_counter();[a@b for i in "
             "range(%zu)];print(t.perf_counter()-s)\" "
             "2>/dev/null",
             cores, cores, cores, (unsigned long long)m, (unsigned long long)k, (unsigned long long)k,
             (unsigned long long)c, n);
    FILE *f = popen(command, "r");
    if (!f || fscanf(f, "%lf", &seconds) != 1)
        seconds = 0;
    if (f)
        pclose(f);
    return seconds;
}

static void least(double *best, double seconds)
{
    if (*best == 0 || seconds < *best)
        *best = seconds;
}

static void bench_reference(const bundle *b, int cores)
{
    rp_err e = {0};
    double ours = 0, theirs = 0, generating = 0;
    uint64_t bytes = 0, m = 0, k = 0, n = 0;
    tensor **in = calloc(b->n_fixtures, sizeof *in);
    size_t *n_in = calloc(b->n_fixtures, sizeof *n_in);
    scratch *sc = scratch_new(0);
    if (!in || !n_in || !sc)
        exit(1);
    for (int round = 0; round < ROUNDS; round++) {
        scratch *one = scratch_new(0);
        double start = now();
        for (uint64_t i = 0; i < b->n_fixtures; i++)
            if (recipe_generate(&e, &in[i], &n_in[i], round ? one : sc, b->fixtures[i].recipe))
                stop(&e, b->fixtures[i].name);
        least(&generating, now() - start);
        for (uint64_t i = 0; i < b->n_fixtures; i++)
            for (size_t t = 0; round == 0 && t < n_in[i]; t++)
                bytes += in[i][t].elements * dtype_bytes(in[i][t].type);
        start = now();
        for (uint64_t i = 0; i < b->n_fixtures; i++) {
            tensor *out;
            if (reference_eval(&e, &out, one, b->reference, in[i], n_in[i], (unsigned)cores))
                stop(&e, b->fixtures[i].name);
            m = out->shape[0];
            n = out->shape[1];
        }
        least(&ours, now() - start);
        k = b->calls[0].call.k;
        least(&theirs, numpy_seconds(cores, b->n_fixtures * b->n_calls, m, k, n));
        scratch_free(one);
    }
    double flops = 2 * (double)m * (double)n * (double)k * (double)(b->n_fixtures * b->n_calls);
    printf("reference, %llu fixtures of [%llu, %llu], k %llu, %d cores: %.3f s, %.1f GFLOP/s in FP64\n",
           (unsigned long long)b->n_fixtures, (unsigned long long)m, (unsigned long long)n,
           (unsigned long long)k, cores, ours, flops / ours * 1e-9);
    if (theirs > 0)
        printf("NumPy's dgemm, the products alone, %d cores: %.3f s, %.1f GFLOP/s\nratio: %.2f\n", cores,
               theirs, flops / theirs * 1e-9, ours / theirs);
    else
        printf("no NumPy to compare with\n");
    printf("fixture generation, one core: %.0f MB in %.3f s, %.0f MB/s\n", (double)bytes * 1e-6, generating,
           (double)bytes * 1e-6 / generating);
    scratch_free(sc);
    free(in);
    free(n_in);
}

static double lap(const char *stage, double since)
{
    double t = now();
    printf("  %-22s %8.1f ms\n", stage, 1e3 * (t - since));
    return t;
}

static bundle *bench_verify(scratch *sc, store *st, double start)
{
    rp_err e = {0};
    report *r = report_new(sc);
    bundle *b;
    double t = start;
    if (!r || store_check(&e, st, &r->fs))
        stop(&e, "container");
    t = lap("container", t);
    if (bundle_load(&e, &b, &r->fs, sc, st))
        stop(&e, "documents");
    t = lap("documents", t);
    verify_identity(&e, r, b);
    t = lap("identity", t);
    verify_plan(&e, r, b);
    t = lap("plan", t);
    verify_arena(&e, r, b);
    t = lap("arena", t);
    verify_calls(&e, r, b);
    t = lap("resolve", t);
    verify_kernels(&e, r, b, &(verify_options){.quick = true}, false);
    t = lap("kernels, no compiling", t);
    verify_fixtures(&e, r, b, false);
    t = lap("fixtures", t);
    verify_contract(&e, r, b);
    lap("contract", t);
    printf("  %-22s %8.1f ms\n", "all", 1e3 * (now() - start));
    if (e.code)
        stop(&e, "verify");
    return b;
}

int main(int argc, char **argv)
{
    rp_err e = {0};
    store *st;
    scratch *sc = scratch_new(0);
    char path[512];
    const char *folder = getenv("REPLAY_BUNDLES");
    snprintf(path, sizeof path, "%s/weight_view.tar.zst", folder ? folder : "build/bundles");
    int cores = keep_cores(CORES);
    double start = now();
    if (!sc || store_open(&e, &st, argc > 1 ? argv[1] : path))
        stop(&e, argc > 1 ? argv[1] : path);
    printf("verify, stage by stage, %d cores:\n", cores);
    bundle *b = bench_verify(sc, st, start);
    if (!b->reference || !b->n_calls)
        exit(1);
    bench_reference(b, cores);
    store_free(st);
    scratch_free(sc);
    return 0;
}
