/* Calls answered per second, on one core: every row of a file of verdicts, by the rules, over and over.
 *
 *   bench-bench_resolve [FILE.csv[.xz|.zst]] */
#include "replay/resolve_ask.h"
#include "replay/text_file.h"
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "tests/data/lt-support-h200-cublaslt-13.1.csv.xz";
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    span text;
    lt_csv csv;
    lt_csv_row row;
    bool end = false;
    size_t n = 0, lines = 0;
    double per_second[ROUNDS], parse;
    uint64_t refused = 0;
    if (!sc || text_file_read(&e, &text, sc, path, LT_CSV_MAX_BYTES) ||
        lt_csv_open(&e, &csv, path, text, 90, 130100)) {
        fprintf(stderr, "%s: %s\n", path, e.msg);
        return 1;
    }
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    lt_query *q = scratch_array(sc, lines + 1, sizeof *q);
    parse = now();
    while (q && !lt_csv_next(&e, &csv, &row, &end) && !end)
        q[n++] = row.q;
    parse = now() - parse;
    if (!q || e.code || !n) {
        fprintf(stderr, "%s: %s\n", path, e.msg);
        return 1;
    }
    for (int r = 0; r < ROUNDS; r++) {
        double from = now();
        for (size_t i = 0; i < n; i++) {
            lt_answer a;
            lt_decide(&a, &q[i]);
            refused += a.verdict == LTV_REFUSE;
        }
        per_second[r] = (double)n / (now() - from);
    }
    qsort(per_second, ROUNDS, sizeof *per_second, ascending);
    printf("%zu calls, %llu refused; %.0f calls a second and core (median of %d, %.0f to %.0f); reading the "
           "rows: %.0f a second\n",
           n, (unsigned long long)(refused / ROUNDS), per_second[ROUNDS / 2], ROUNDS, per_second[0],
           per_second[ROUNDS - 1], (double)n / parse);
    scratch_free(sc);
    return 0;
}
