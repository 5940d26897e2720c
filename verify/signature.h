/* plan_signature: SHA-256 of a canonical (RFC 8785) document of what the implementation is, computable on a
 * CPU: ops, resolved descriptors, source digests and options, launches, arena, order. No pointers, times,
 * pids or paths of a machine. */
#ifndef VERIFY_SIGNATURE_H
#define VERIFY_SIGNATURE_H

#include "verify/bundle.h"

/* The document (lent by sc) and its digest; the bundle must be complete. */
RP_MUST rp_code plan_signature(rp_err *e, span *document, digest *out, scratch *sc, const bundle *b);

#endif
