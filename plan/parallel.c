#include "plan/parallel.h"
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { MAX_THREADS = 256 };

typedef struct {
    parallel_fn *f;
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

void parallel(unsigned threads, parallel_fn *f, const void *ctx, uint64_t n, uint64_t work)
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
