/* A bundle at rest, read with verification: an archive NAME.tar.zst, or a folder with the same tree (as
 * retained in evidence, where fixture data may be absent because it is regenerated).
 *
 * The archive is one or more zstd frames (frames.h) whose content is the tar stream (tar.h) that
 * docs/bundle-format.md fixes as a pure function of manifest.json. Opening reads the manifest and the table
 * of frames; store_check reads everything once; store_read decodes only the frames that hold the file and
 * compares size, then digest, before it returns a byte. Nothing is written to disk. One user of a store at a
 * time.
 *
 * Findings about the container have no file; their place is `byte N` of the archive or `stream byte N` of its
 * content. */
#ifndef ARTIFACTS_STORE_H
#define ARTIFACTS_STORE_H

#include "artifacts/manifest.h"

typedef struct store store;

/* RP_IO: not readable. RP_INVALID: with an id container.*, no manifest was reached, and the message says what
 * was expected; with another id, the manifest was reached and refused. */
RP_MUST rp_code store_open(rp_err *e, store **out, const char *path);
/* A folder holding manifest.json. */
RP_MUST rp_code store_open_folder(rp_err *e, store **out, const char *dir);
void store_free(store *s);
const manifest *store_manifest(const store *s);
/* The manifest's own bytes, lent by the store. */
span store_manifest_bytes(const store *s);
/* Bytes of the file and of the tar stream, and frames. For messages. A folder has no frames and no file
 * bytes. */
typedef struct {
    uint64_t file_bytes, stream_bytes, frames;
} store_size;
store_size store_sizes(const store *s);

/* The container's own check, every fault a finding: each frame, header, padding byte, size and digest, in one
 * pass. It goes on past a wrong, missing or unlisted file, and stops where the place in the stream is lost.
 * For a folder: each listed file's size and digest, nothing unlisted; fixture data may be absent. An error
 * only when the bytes cannot be read at all. */
RP_MUST rp_code store_check(rp_err *e, store *s, findings *fs);

/* One file's bytes, verified, lent by sc. Not in the manifest: RP_INVALID file.missing; a mismatch:
 * RP_INVALID. Above 64 MiB, memory is taken only once the archive was seen to hold such a file. */
RP_MUST rp_code store_read(rp_err *e, span *out, scratch *sc, store *s, const char *path);
/* Whether the manifest lists the path. */
bool store_has(const store *s, const char *path);

/* Writing (pack.c). Where the bytes of each file come from: called in manifest order. */
typedef rp_code (*pack_source)(rp_err *e, span *out, scratch *sc, void *ctx, const manifest_file *f);
/* Write the archive (temporary name, fsync, rename). `m` has sizes and digests filled; the bytes given by the
 * source are compared with them. manifest_text is its exact serialisation: it is read back, so that no
 * archive is written that would be refused. The archive's bytes depend on the files and the version of zstd
 * alone. */
RP_MUST rp_code store_pack(rp_err *e, const char *path, const manifest *m, span manifest_text,
                           pack_source src, void *ctx);

#endif
