/* Text that may be compressed: read as it is, as zstd frames (NAME.zst), or through the program xz (NAME.xz).
 */
#ifndef REPLAY_TEXT_FILE_H
#define REPLAY_TEXT_FILE_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"

/* A descriptor at the beginning of the text, which the caller closes; -1 and *e on failure. At most max_bytes
 * of text. */
int text_file_open(rp_err *e, scratch *sc, const char *path, uint64_t max_bytes);
/* The whole text, lent by sc. */
RP_MUST rp_code text_file_read(rp_err *e, span *out, scratch *sc, const char *path, uint64_t max_bytes);

#endif
