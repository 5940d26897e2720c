/* Files and folders. Every failure names the path; nothing half-written ever has the final name. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

/* The whole regular file; larger than max_bytes is RP_IO. Lent by sc. */
RP_MUST rp_code file_read(rp_err *e, span *out, scratch *sc, const char *path, uint64_t max_bytes);
/* The whole of an open file from its beginning, likewise; `path` is for messages. */
RP_MUST rp_code file_read_fd(rp_err *e, span *out, scratch *sc, int fd, const char *path, uint64_t max_bytes);
/* All of s, through short writes and EINTR. */
RP_MUST rp_code file_write_fd(rp_err *e, int fd, const char *path, span s);
/* n bytes at offset_bytes; the end of the file before that is RP_IO. */
RP_MUST rp_code file_pread(rp_err *e, int fd, const char *path, void *out, size_t n, uint64_t offset_bytes);
/* Write under a temporary name beside it, fsync, rename over `path`. */
RP_MUST rp_code file_write(rp_err *e, const char *path, span s);

/* The same in steps, for who writes piece by piece: a new file of a temporary name beside `path`, that name
 * in tmp; -1 and *e on failure. Then file_temp_end: renamed over `path`, or removed where *e holds an error
 * or the renaming fails. One at a time. */
enum { FILE_PATH_MAX = 4096 };
int file_temp_begin(rp_err *e, char tmp[FILE_PATH_MAX], const char *path);
RP_MUST rp_code file_temp_end(rp_err *e, const char *tmp, const char *path);
/* From now on SIGINT, SIGTERM and SIGHUP, where they are not ignored, take the temporary name away before the
 * process dies of them. */
void file_clean_on_signals(void);
RP_MUST rp_code file_mkdirs(rp_err *e, const char *path);
bool file_is_dir(const char *path);
bool file_exists(const char *path);
/* Paths of all regular files below `dir`, relative, sorted bytewise; anything but files and folders is RP_IO.
 */
RP_MUST rp_code file_tree(rp_err *e, const char *const **paths, size_t *n, scratch *sc, const char *dir);
/* Remove a folder and all below it. */
RP_MUST rp_code file_remove_tree(rp_err *e, const char *dir);
/* fsync a folder, so that renames in it last. */
RP_MUST rp_code file_sync_dir(rp_err *e, const char *dir);
/* An unlinked temporary file, read and write, close-on-exec; -1 and *e on failure. */
int file_temp(rp_err *e);
/* dir + "/" + name in sc; NULL when out of memory. */
char *file_join(scratch *sc, const char *dir, const char *name);

#endif
