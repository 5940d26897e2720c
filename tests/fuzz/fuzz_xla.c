/* Fuzzing the readers of an XLA dump. The input is the files of one module with a zero byte between them: the
 * scheduled module, the buffer assignment, the live ranges, the thunk sequence. They are written into a
 * folder of this process, read, and imported into another. */
#include "artifacts/base/file.h"
#include "replay/import_xla.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 4 };
static const char *const names[FILES] = {
    "m.sm_9.0a_gpu_after_optimizations.txt", "m.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt",
    "m.sm_9.0a_gpu_after_optimizations-live-range.txt", "m.thunk_sequence.txt"};
static char dir[64];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void clean_up(void)
{
    char line[96];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    (void)!system(line);
}

static void set_up(void)
{
    snprintf(dir, sizeof dir, "%s/replay-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(dir))
        abort();
    atexit(clean_up);
    /* What is wrong with a dump is said there, thousands of times a second. */
    FILE *quiet = fopen("/dev/null", "w");
    stderr = quiet ? quiet : stderr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(256 << 20);
    xla_module m;
    if (!*dir)
        set_up();
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end = n ? memchr(data, 0, n) : NULL;
        size_t len = i < FILES - 1 && end ? (size_t)(end - data) : n;
        char *path = file_join(sc, dir, names[i]);
        if (!path || file_write(&e, path, span_of(data, len)))
            abort();
        data += len;
        n -= len;
        if (n && i < FILES - 1) {
            data++;
            n--;
        }
    }
    if (!xla_read(&e, &m, sc, dir, "m", "m.sm_9.0a_gpu_after_optimizations") && !xla_faults(&m, sc)) {
        const char *why = NULL, *out = file_join(sc, dir, "out");
        if (!out || (xla_write_plan(&e, &why, sc, out, &m) && e.code != RP_NOMEM) ||
            (!e.code && xla_write_calls(&e, &why, sc, out, &m) && e.code != RP_NOMEM))
            abort();
    } else if (e.code && e.code != RP_IO && e.code != RP_INVALID && e.code != RP_NOMEM) {
        abort();
    }
    scratch_free(sc);
    return 0;
}
