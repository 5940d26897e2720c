/* zstd, behind this one file. Frames are written with content size and checksum; what is read is bounded
 * before memory is taken: a frame by its stated content, a stream by its window. */
#ifndef ARTIFACTS_ZS_H
#define ARTIFACTS_ZS_H

#include "artifacts/base/err.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

/* The largest window a stream may ask for: what `zstd -d` takes without further options. */
enum { ZS_WINDOW_LOG_MAX = 27 };

/* The most that a frame of n content bytes takes. */
size_t zs_bound(size_t n);

typedef struct zs_enc zs_enc;
zs_enc *zs_enc_new(int level); /* NULL when out of memory */
void zs_enc_free(zs_enc *z);
/* One frame of `in`, with content size and checksum, into out (zs_bound(in.n) bytes). Its bytes depend on the
 * version of zstd, the level and `in` alone. */
RP_MUST rp_code zs_enc_frame(rp_err *e, size_t *out_bytes, zs_enc *z, void *out, span in);

typedef struct zs_dec zs_dec;
zs_dec *zs_dec_new(void); /* NULL when out of memory */
void zs_dec_free(zs_dec *z);
/* What the two functions below return when memory, and not the frame, is at fault. */
extern const char zs_no_memory[];
/* One whole frame of exactly n content bytes. NULL, or what is wrong with it (a static text); out may then
 * hold anything. */
const char *zs_dec_frame(zs_dec *z, void *out, size_t n, span frame);

/* One frame piece by piece: begin, then steps until *end. *out_bytes are written and *in_bytes taken by a
 * step; with neither, the frame needs more input. NULL, or what is wrong. */
void zs_dec_begin(zs_dec *z);
const char *zs_dec_step(zs_dec *z, void *out, size_t out_cap, size_t *out_bytes, span in, size_t *in_bytes,
                        bool *end);

/* Version of the library behind this file. */
const char *zs_library(void);

#endif
