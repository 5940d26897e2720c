/* One pass of several threads over an archive, for a yes: whether its content is, to the last byte, what the
 * manifest implies. A no says nothing more; the caller then reads in order and names the faults (store.c).
 *
 * Frames are decoded in order, ahead, by whoever is free. Whoever decoded a frame compares the headers and
 * padding in it and digests the files that lie in it whole. A file that spans frames is digested piece by
 * piece in its order, one thread at a time, several such files side by side. Memory: at most SWEEP_BYTES of
 * decoded and packed frames. */
#ifndef ARTIFACTS_SWEEP_H
#define ARTIFACTS_SWEEP_H

#include "artifacts/base/digest.h"
#include "artifacts/frames.h"

enum { SWEEP_BYTES = 56 << 20 };

typedef struct {
    const char *path;
    uint64_t at, bytes; /* of the entry's header in the stream; of the file */
    digest sha256;
} sweep_entry;

/* Entries in order of the stream, which ends with two zero blocks at stream_bytes. */
bool sweep_is_sound(frames *f, const sweep_entry *v, size_t n, uint64_t stream_bytes);

#endif
