/* How much of a stranger's bundle is taken on. The defaults suit every bundle known; a caller lowers or
 * raises them before anything is read (`--max-…`, replay/options.h), up to what the formats and the readers
 * can bear.
 *
 *   name          default           at most           of
 *   entries       65,536            1,048,576         `files`, and `omitted`, of a manifest
 *   path-bytes    100               100               a path
 *   file-bytes    8 GiB - 1         8 GiB - 1         a file
 *   total-bytes   64 GiB            8 EiB             all files together
 *   json-depth    64                512               open brackets in a JSON text
 *   nodes         4,096             16,384            of a plan
 *   buffers       4,096             16,384            of a plan */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    LIMIT_ENTRIES,
    LIMIT_PATH_BYTES,
    LIMIT_FILE_BYTES,
    LIMIT_TOTAL_BYTES,
    LIMIT_JSON_DEPTH,
    LIMIT_NODES,
    LIMIT_BUFFERS,
    LIMIT_COUNT
} limit;

extern const char *const limit_names[]; /* NULL-terminated: "entries", "path-bytes", … */
uint64_t limit_of(limit l);
/* 1 to the most that is possible, or false. Not while others read. */
bool limit_set(limit l, uint64_t v);
uint64_t limit_most(limit l);

#endif
