/* capture.json, "replay-capture/1": the original capture's own record, which `replay` only reads. */
#ifndef VERIFY_CAPTURE_H
#define VERIFY_CAPTURE_H

#include "arena/layout.h"
#include "artifacts/base/digest.h"
#include "plan/calls.h"

typedef struct {
    const char *path;
    digest sha256;
} capture_file;

typedef struct {
    const char *name;
    uint64_t offset_bytes, bytes;
} capture_range;

typedef struct {
    uint64_t node;
    lt_call call;
    const char *trace; /* the library's own line, "" where it was not recorded */
} capture_call;

typedef struct {
    const char *name;
    uint64_t node, grid[3], block[3], dynamic_shared_bytes;
} capture_kernel;

typedef struct {
    const char *workload, *device;
    uint64_t slab_bytes;
    uint64_t n_files, n_ranges, n_calls, n_kernels, n_not_observed, n_published;
    capture_file *files;
    capture_range *ranges;
    capture_call *calls;
    capture_kernel *kernels;
} capture;

RP_MUST rp_code capture_read(rp_err *e, capture *out, scratch *sc, const char *file, span text);
const capture_file *capture_find(const capture *c, const char *path);

#endif
