/* The NVIDIA libraries in this process, as the loader has them. */
#ifndef GPU_CUDA_LIBRARIES_H
#define GPU_CUDA_LIBRARIES_H

#include "gpu/result.h"

/* Hash what is loaded already (cuBLASLt alone is half a gigabyte) on a thread of its own while the device is
 * being opened. */
void libraries_hash_ahead(scratch *sc);
/* Wait for it: nothing else runs while something is timed. */
void libraries_hash_wait(void);
/* All of them, sorted by soname, each file hashed, ahead or now. A path that cannot be read gives a library
 * of 0 bytes with the digest of nothing. */
RP_MUST rp_code libraries_list(rp_err *e, result *r, scratch *sc, const char *driver, const char *cupti);
/* Path of the loaded library whose soname begins so, lent by sc; NULL when there is none. */
const char *libraries_path(scratch *sc, const char *soname_prefix);

/* Versions as the libraries say them, lent by sc: "13.0", "13.1.0". */
const char *libraries_cudart_version(scratch *sc);
const char *libraries_cublaslt_version(scratch *sc);
const char *libraries_nvrtc_version(scratch *sc);

#endif
