/* The generated kernels of a plan: source, PTX and the record of how one became the other
 * (kernels/NNN_name.json, "replay-kernel/1"). */
#ifndef VERIFY_KERNELS_H
#define VERIFY_KERNELS_H

#include "artifacts/base/digest.h"
#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"

typedef struct {
    const char *name; /* relative to the CUDA include folder */
    digest sha256;
} kernel_header;

typedef struct {
    const char *source, *ptx; /* paths in the bundle */
    digest source_sha256, ptx_sha256;
    const char *entry;
    const char *compiler, *version, *build; /* "NVRTC", "13.0.88", "CL-…" */
    uint64_t n_options, n_headers;
    const char **options; /* $CUDA_INCLUDE stands for the include folder */
    kernel_header *headers;
} kernel_record;

RP_MUST rp_code kernel_record_read(rp_err *e, kernel_record *out, scratch *sc, const char *file, span text);

/* What a compiler at hand makes of a source. */
typedef struct {
    bool ok;
    const char *compiler, *version, *build, *log, *sandbox;
    span ptx;
    uint64_t n_headers;
    kernel_header *headers;
} compiled;

/* Compile `source` with the record's options in a sandbox (without one only when trusted); RP_UNAVAILABLE
 * when no compiler is at hand. Lent by sc. */
typedef rp_code (*compile_fn)(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted,
                              const char *name, span source, const char *const *options, uint64_t n_options);

/* Parameter widths in bytes of `.entry NAME` in PTX text, in order; at most 64. Not found or not understood:
 * RP_INVALID kernel.entry. */
enum { PTX_MAX_PARAMS = 64 };
RP_MUST rp_code ptx_entry_params(rp_err *e, uint64_t *n, unsigned widths[PTX_MAX_PARAMS], const char *file,
                                 span ptx, const char *entry);

#endif
