/* Signatures: Ed25519, and ECDSA over P-256 with SHA-256 and DER signatures. Keys are PEM files without a
 * password. OpenSSL sits behind this file. */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "artifacts/base/digest.h"
#include "artifacts/base/scratch.h"

enum { SIGN_MAX_BYTES = 128, SIGN_KEY_MAX_BYTES = 16 << 10 };

typedef struct sign_key sign_key;

/* One key from a PEM file: `PRIVATE KEY` (PKCS #8, or SEC 1 for P-256) or `PUBLIC KEY`
 * (SubjectPublicKeyInfo). Not there: RP_IO. Another kind of key or file: RP_USAGE, since keys come from the
 * caller. */
RP_MUST rp_code sign_key_private(rp_err *e, sign_key **out, const char *path);
RP_MUST rp_code sign_key_public(rp_err *e, sign_key **out, const char *path);
void sign_key_free(sign_key *k);
/* SHA-256 of the public key's SubjectPublicKeyInfo (DER): equal for equal keys, however their files are
 * written. */
digest sign_key_id(const sign_key *k);
/* "ed25519" or "ecdsa-p256". */
const char *sign_key_kind(const sign_key *k);

/* `out` has SIGN_MAX_BYTES. k is a private key. */
RP_MUST rp_code sign_make(rp_err *e, uint8_t *out, size_t *n, const sign_key *k, span message);
/* Whether it is this key's signature of the message. Out of memory gives false. */
bool sign_check(const sign_key *k, span message, span signature);

#endif
