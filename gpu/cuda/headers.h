/* Which headers a compilation can have read, by name and digest. */
#ifndef GPU_CUDA_HEADERS_H
#define GPU_CUDA_HEADERS_H

#include "artifacts/base/digest.h"
#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"

typedef struct {
    const char *name; /* relative to the include folder */
    digest sha256;
} header;

/* The CUDA include folder of this machine, lent by sc: below $CUDA_HOME, /usr/local/cuda, or beside the
 * loaded NVRTC, the first that has cuda_fp16.h; NULL when there is none. */
const char *headers_folder(scratch *sc);

/* The closure of the #include directives of `source` within `folder`, sorted by name. Conditions are not
 * evaluated, so it is a superset of what the compiler read; a directive that names its file by a macro is not
 * followed, and what the compiler carries inside itself has no file. */
RP_MUST rp_code headers_closure(rp_err *e, header **out, size_t *n, scratch *sc, const char *folder,
                                span source);

#endif
