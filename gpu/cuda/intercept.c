#include "gpu/cuda/intercept.h"
#include "gpu/cuda/cu.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_EVERYTHING = 5, MAX_LOG_BYTES = 16 << 20 };

/* The library's callback has no argument of the caller's. */
static struct {
    char *text;
    size_t n, cap;
    bool lost;
} kept;

static void append(const char *s)
{
    size_t n = strlen(s);
    if (n >= kept.cap - kept.n) {
        size_t cap = kept.cap ? kept.cap * 2 : 4096;
        while (cap - kept.n <= n)
            cap *= 2;
        char *text = cap > MAX_LOG_BYTES ? NULL : realloc(kept.text, cap);
        if (!text) {
            kept.lost = true;
            return;
        }
        kept.text = text;
        kept.cap = cap;
    }
    memcpy(kept.text + kept.n, s, n + 1);
    kept.n += n;
}

/* cublasLtMatmul, cublasLtHSHMatmul, …: not cublasLtMatmulAlgoGetHeuristic. */
static bool is_matmul(const char *function)
{
    static const char head[] = "cublasLt", tail[] = "Matmul";
    size_t n = strlen(function), t = sizeof tail - 1;
    return !strncmp(function, head, sizeof head - 1) && n >= t && !strcmp(function + n - t, tail);
}

static void on_message(int level, const char *function, const char *message)
{
    (void)level;
    /* The Api line of the same call names descriptors by address; the Trace line spells them out. */
    if (!function || !message || !is_matmul(function) || !strstr(message, "Adesc=[") ||
        !strstr(message, "algo=["))
        return;
    /* Some versions may hand over the whole line: what counts begins at the first matrix. */
    const char *p = !strncmp(message, "A=", 2) ? message : strstr(message, " A=");
    if (!p)
        return;
    append("[Trace][");
    append(function);
    append("] ");
    append(*p == ' ' ? p + 1 : p);
    if (kept.n && kept.text[kept.n - 1] != '\n')
        append("\n");
}

rp_code intercept_begin(rp_err *e)
{
    kept.n = 0;
    kept.lost = false;
    if (kept.text)
        kept.text[0] = '\0';
    /* The library also prints every message; nobody reads that. */
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return err_errno(e, "/dev/null", "open");
    if (lt_ok(e, cublasLtLoggerSetFile(nowhere), "cublasLtLoggerSetFile") ||
        lt_ok(e, cublasLtLoggerSetCallback(on_message), "cublasLtLoggerSetCallback") ||
        lt_ok(e, cublasLtLoggerSetLevel(TRACE_EVERYTHING), "cublasLtLoggerSetLevel"))
        return e->code;
    return RP_OK;
}

rp_code intercept_end(rp_err *e, const char **lines, scratch *sc)
{
    if (lt_ok(e, cublasLtLoggerSetLevel(0), "cublasLtLoggerSetLevel"))
        return e->code;
    if (kept.lost)
        return err_set(e, RP_WORKER, "the library's log: expected at most %d bytes, found more",
                       MAX_LOG_BYTES);
    *lines = scratch_strdup(sc, kept.text ? kept.text : "");
    return *lines ? RP_OK : err_nomem(e);
}
