#include "artifacts/base/limits.h"
#include <stddef.h>

const char *const limit_names[] = {"entries",    "path-bytes", "file-bytes", "total-bytes",
                                   "json-depth", "nodes",      "buffers",    NULL};

static struct {
    uint64_t now;
    const uint64_t most;
} v[LIMIT_COUNT] = {
    [LIMIT_ENTRIES] = {1 << 16, 1 << 20},
    [LIMIT_PATH_BYTES] = {100, 100},
    [LIMIT_FILE_BYTES] = {(UINT64_C(1) << 33) - 1, (UINT64_C(1) << 33) - 1},
    [LIMIT_TOTAL_BYTES] = {UINT64_C(1) << 36, UINT64_C(1) << 63},
    [LIMIT_JSON_DEPTH] = {64, 512},
    [LIMIT_NODES] = {4096, 1 << 14},
    [LIMIT_BUFFERS] = {4096, 1 << 14},
};

uint64_t limit_of(limit l)
{
    return v[l].now;
}

uint64_t limit_most(limit l)
{
    return v[l].most;
}

bool limit_set(limit l, uint64_t value)
{
    if (value < 1 || value > v[l].most)
        return false;
    v[l].now = value;
    return true;
}
