/* The safetensors container, strictly: 8-byte little-endian header length, a JSON object of name -> {dtype,
 * shape, data_offsets}, then the bytes without gap or overlap, in order of offset. Written deterministically:
 * names sorted, header padded with spaces to 8 bytes. */
#ifndef ARTIFACTS_SAFETENSORS_H
#define ARTIFACTS_SAFETENSORS_H

#include "artifacts/base/dtype.h"
#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

enum { ST_MAX_RANK = 4 };

typedef struct {
    const char *name;
    dtype type;
    uint64_t rank, shape[ST_MAX_RANK];
    span data;
} st_tensor;

/* Tensors in order of offset; data borrowed from `bytes`, the rest lent by sc. Broken: FIXTURE_FORMAT. */
RP_MUST rp_code st_read(rp_err *e, st_tensor **out, size_t *n, scratch *sc, const char *file, span bytes);
RP_MUST rp_code st_write(rp_err *e, span *out, scratch *sc, const st_tensor *v, size_t n);

#endif
