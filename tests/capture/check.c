#include "tests/capture/capture.h"

#include <stdarg.h>
#include <stdlib.h>

const char *capturing;

_Noreturn void fail(const char *format, ...)
{
    va_list args;
    char line[4096];
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "capture: %s%s%s\n", capturing ? capturing : "", capturing ? ": " : "", line);
    exit(1);
}

void check_cuda(cudaError_t status, const char *call, const char *file, int line)
{
    if (status != cudaSuccess)
        fail("%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorName(status), cudaGetErrorString(status));
}

void check_lt(cublasStatus_t status, const char *call, const char *file, int line)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        fail("%s:%d: %s: %s", file, line, call, cublasLtGetStatusName(status));
}

void *must_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p)
        fail("out of memory");
    return p;
}
