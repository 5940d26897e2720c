/* manifest.json, format "replay-bundle/1": a closed world. Its SHA-256 is the bundle's root.
 *
 *   manifest  {"format": "replay-bundle/1", "name": NAME, "files": [file…], "omitted": [omitted…]}
 *   file      {"path": PATH, "bytes": N, "sha256": HEX, "role": ROLE}
 *   omitted   {"path": PATH, "bytes"?: N, "sha256"?: HEX, "reason": TEXT}
 *
 * files are sorted bytewise by path and do not list manifest.json itself; omitted is sorted likewise, and
 * names nothing that files names. A PATH is [A-Za-z0-9._/-]{1,100} with no empty, "." or ".." part. No two
 * paths of files are equal when case is folded, none is a folder of another, and no two folders differ only
 * by case, so that the tree is the same on every file system. A file has the role of its place, and a place
 * without a role is refused. N is below 8 GiB (the tar header has eleven octal digits). A NAME is
 * [A-Za-z0-9][A-Za-z0-9._-]{0,63}. */
#ifndef ARTIFACTS_MANIFEST_H
#define ARTIFACTS_MANIFEST_H

#include "artifacts/base/digest.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/scratch.h"

#define MANIFEST_FORMAT "replay-bundle/1"
#define MANIFEST_PATH "manifest.json"
#define OMITTED_FORMAT "replay-omitted/1"

enum { MANIFEST_MAX_BYTES = 8 << 20, MANIFEST_MAX_FILES = 1 << 16 /* by default: limits.h */ };

typedef enum {
    ROLE_CAPTURE,
    ROLE_PLAN,
    ROLE_TEXT,
    ROLE_ARENA,
    ROLE_CALLS,
    ROLE_SOURCE,
    ROLE_PTX,
    ROLE_KERNEL,
    ROLE_REFERENCE,
    ROLE_CONTRACT,
    ROLE_RECIPE,
    ROLE_FIXTURE,
    ROLE_EVIDENCE,
    ROLE_COUNT
} file_role;
extern const char *const file_role_names[]; /* NULL-terminated: "capture", "plan", "text", … */

typedef struct {
    const char *path;
    uint64_t bytes;
    digest sha256;
    file_role role;
} manifest_file;

typedef struct {
    const char *path, *reason;
    bool has_bytes, has_sha256;
    uint64_t bytes;
    digest sha256;
} manifest_omitted;

typedef struct {
    const char *name;
    digest root; /* of the very bytes it was read from */
    size_t n_files, n_omitted;
    manifest_file *files;
    manifest_omitted *omitted;
} manifest;

bool manifest_path_ok(const char *path);
/* Everything in *out is lent by sc. A broken rule: RP_INVALID at manifest.json and the JSON pointer. */
RP_MUST rp_code manifest_read(rp_err *e, manifest **out, scratch *sc, span text);
/* The same entries give the same bytes; with JW_PRETTY these are the bytes the root is of. The caller has
 * sorted them. */
void manifest_write(jw *j, const manifest *m);
/* The entry of that path, or NULL; found by bisection. */
const manifest_file *manifest_find(const manifest *m, const char *path);
/* The same among the omitted. */
const manifest_omitted *manifest_find_omitted(const manifest *m, const char *path);
/* What the sources of a bundle leave out (docs/exporting.md), {"format": "replay-omitted/1", "omitted":
 * [omitted…]} by the rules above; lent by sc. */
RP_MUST rp_code manifest_read_omitted(rp_err *e, manifest_omitted **out, size_t *n, scratch *sc,
                                      const char *file, span text);
/* The role that a path of the bundle has by its place (docs/bundle-format.md), or ROLE_COUNT. */
file_role manifest_role_of(const char *path);

#endif
