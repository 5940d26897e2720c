/* SHA-256, the only digest of the formats. OpenSSL sits behind this file. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "artifacts/base/err.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX = 65 };

typedef struct {
    uint8_t b[DIGEST_BYTES];
} digest;

typedef struct digest_ctx digest_ctx;

/* NULL when out of memory. One context serves any number of messages: _begin starts the next. */
digest_ctx *digest_ctx_new(void);
void digest_ctx_free(digest_ctx *c);
void digest_begin(digest_ctx *c);
void digest_add(digest_ctx *c, span s);
digest digest_end(digest_ctx *c);

digest digest_of(span s);
/* Digest and length of a whole file by path. */
RP_MUST rp_code digest_file(rp_err *e, digest *out, uint64_t *bytes, const char *path);
bool digest_equal(digest a, digest b);
/* 64 lower-case hexadecimal digits and a terminator. */
void digest_hex(digest d, char out[DIGEST_HEX]);
/* Exactly 64 lower-case hexadecimal digits, or false. */
bool digest_parse(const char *hex, digest *out);
/* The same with the prefix "sha256:", as users write roots. */
bool digest_parse_root(const char *text, digest *out);

/* Name and version of the library behind this file. */
const char *digest_library(void);

#endif
