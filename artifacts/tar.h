/* The canonical tar stream: what GNU tar writes with
 *
 *   tar --format=ustar -b1 --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0644 -cf - -T LIST
 *
 * for regular files, where LIST is manifest.json and then the other paths sorted bytewise.
 * docs/bundle-format.md gives the header byte for byte. It is a pure function of path and size, so a reader
 * regenerates and compares, and parses nothing.
 *
 *   stream  entry… 1,024 zero bytes, and nothing more
 *   entry   header of 512 bytes, the file's bytes, zero bytes up to a multiple of 512 */
#ifndef ARTIFACTS_TAR_H
#define ARTIFACTS_TAR_H

#include <stdbool.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_PATH_MAX = 100, TAR_END_BYTES = 2 * TAR_BLOCK, TAR_TYPE_AT = 156 };
#define TAR_SIZE_MAX ((UINT64_C(1) << 33) - 1) /* eleven octal digits */

/* The header of a file; strlen(path) <= TAR_PATH_MAX and bytes <= TAR_SIZE_MAX. */
void tar_header(uint8_t out[TAR_BLOCK], const char *path, uint64_t bytes);
/* Whether the block is the header of some file, by reading its path and size strictly, regenerating the whole
 * and comparing. */
bool tar_header_read(const uint8_t block[TAR_BLOCK], char path[TAR_PATH_MAX + 1], uint64_t *bytes);
/* Zero bytes that follow a file's bytes, 0 to 511. */
uint64_t tar_padding(uint64_t bytes);
/* Header, bytes and padding together; bytes <= TAR_SIZE_MAX. */
uint64_t tar_entry_bytes(uint64_t bytes);
/* Name of the header field at an offset, for messages. */
const char *tar_field(unsigned offset);

#endif
