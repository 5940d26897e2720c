/* DSSE envelopes (secure-systems-lab/dsse, protocol v1): who signed which bytes of which type.
 *
 *   envelope   {"payload": BASE64, "payloadType": TEXT, "signatures": [signature…]}
 *   signature  {"sig": BASE64, "keyid"?: TEXT}
 *   signed     PAE(type, body) = "DSSEv1" SP len(type) SP type SP len(body) SP body
 *
 * The JSON is scanned as strictly as any (json.h); keys that are not named here are ignored, as the protocol
 * asks: they are not signed and decide nothing. BASE64 is RFC 4648 in either alphabet, not both in one text,
 * padded, with zero bits at its end and nothing else in it. A key id decides nothing either: each signature
 * is tried with each key, and keys count once by their public key. */
#ifndef ARTIFACTS_DSSE_H
#define ARTIFACTS_DSSE_H

#include "artifacts/base/sign.h"

enum { DSSE_MAX_BYTES = 16 << 20, DSSE_MAX_SIGNATURES = 64, DSSE_MAX_KEYS = 64 };

typedef struct {
    const char *key_id; /* "" where there is none */
    span bytes;
} dsse_signature;

typedef struct {
    const char *payload_type;
    span payload; /* the very bytes that are signed */
    size_t n;
    dsse_signature *v;
} dsse;

/* Everything lent by sc. A broken rule: RP_INVALID trust.envelope. */
RP_MUST rp_code dsse_read(rp_err *e, dsse *out, scratch *sc, const char *file, span text);
/* Sign the payload with each key and write the envelope, signatures in the order of the keys, after those of
 * `more` (NULL: none), whose payload is the same. */
RP_MUST rp_code dsse_write(rp_err *e, span *out, scratch *sc, const char *payload_type, span payload,
                           sign_key *const *keys, size_t n_keys, const dsse *more);
/* How many of the distinct public keys have signed. At most DSSE_MAX_KEYS are given. */
RP_MUST rp_code dsse_count(rp_err *e, size_t *signed_by, size_t *distinct, const dsse *d,
                           sign_key *const *keys, size_t n_keys);
/* The bytes that are signed; lent by sc. */
RP_MUST rp_code dsse_pae(rp_err *e, span *out, scratch *sc, const char *payload_type, span payload);

/* Base64 of either alphabet, or false; the bytes are lent by sc (p NULL: out of memory). */
bool dsse_base64_read(span *out, scratch *sc, const char *text);
/* The standard alphabet, padded; NULL when out of memory. */
const char *dsse_base64(scratch *sc, span s);

#endif
