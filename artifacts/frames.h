/* The zstd frames of an archive: where each begins, and their content by offset or in order.
 *
 *   archive  frame… and nothing more: no skippable frame, no dictionary
 *   several  each states its content size (1 byte to 4 MiB) and has a checksum; window at most 8 MiB. They
 * decode independently: by offset, and ahead on threads one      content size and checksum as it likes;
 * window at most 128 MiB. What `zstd` writes. Read as a stream
 *
 * Opening reads frame and block headers only. A fault beyond the first frame does not stop it: what lies
 * before can be read, and frames_fault tells. Memory: a table of 48 bytes a frame (at most 1,048,576), a few
 * frames, one window. */
#ifndef ARTIFACTS_FRAMES_H
#define ARTIFACTS_FRAMES_H

#include "artifacts/base/err.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

enum { FRAMES_CONTENT_MAX = 4 << 20, FRAMES_MAX = 1 << 20 };

/* One user at a time. */
typedef struct frames frames;

/* fd is borrowed and stays open as long; `name` is for messages (copied). Not zstd at all: RP_INVALID
 * container.zstd. */
RP_MUST rp_code frames_open(rp_err *e, frames **out, int fd, const char *name, uint64_t file_bytes);
void frames_free(frames *f);
uint64_t frames_count(const frames *f);
/* Whether all content sizes are stated, and their sum. */
bool frames_content(const frames *f, uint64_t *bytes);
/* Fill *e with what is wrong behind the last readable frame, or with the rule the archive breaks; RP_OK when
 * nothing is. */
RP_MUST rp_code frames_fault(rp_err *e, const frames *f);

/* Up to n content bytes from offset `at`; fewer only where the content ends, also on an error. Damaged:
 * RP_INVALID. */
RP_MUST rp_code frames_read(rp_err *e, frames *f, uint64_t at, void *out, size_t n, size_t *got);

/* Whether every frame decodes by itself, from any thread, and nothing is wrong with any header. The functions
 * below are for such archives. */
bool frames_independent(const frames *f);
/* Where the content of frame i lies, and its length, 1 or more; and the most bytes of any, decoded and
 * packed. */
void frames_place(const frames *f, size_t i, uint64_t *at, size_t *bytes);
void frames_largest(const frames *f, size_t *content, size_t *packed);
/* What one thread decodes with; NULL when out of memory. */
typedef struct frames_decoder frames_decoder;
frames_decoder *frames_decoder_new(void);
void frames_decoder_free(frames_decoder *d);
/* Frame i into out. d NULL: the decoder of f itself, for one thread. */
RP_MUST rp_code frames_decode(rp_err *e, frames *f, frames_decoder *d, size_t i, void *out);
/* Frame i, lent until the next call that reads. */
RP_MUST rp_code frames_lend(rp_err *e, frames *f, size_t i, span *content);

/* One pass over all content: begin, then pieces until an empty one, then end (also after an error). A piece
 * is lent until the next call. */
RP_MUST rp_code frames_pass_begin(rp_err *e, frames *f);
RP_MUST rp_code frames_pass_next(rp_err *e, frames *f, span *piece);
void frames_pass_end(frames *f);

#endif
