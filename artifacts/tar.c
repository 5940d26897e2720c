#include "artifacts/tar.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Field, offset and width, as POSIX.1-1988 has them; the text of a field that is the same in every header. */
static const struct {
    const char *name;
    unsigned at, width;
    const char *text;
} fields[] = {
    {"name", 0, 100, ""},       {"mode", 100, 8, "0000644"},     {"uid", 108, 8, "0000000"},
    {"gid", 116, 8, "0000000"}, {"size", 124, 12, ""},           {"mtime", 136, 12, "00000000000"},
    {"chksum", 148, 8, ""},     {"typeflag", 156, 1, "0"},       {"linkname", 157, 100, ""},
    {"magic", 257, 6, "ustar"}, {"version", 263, 2, "00"},       {"uname", 265, 32, ""},
    {"gname", 297, 32, ""},     {"devmajor", 329, 8, "0000000"}, {"devminor", 337, 8, "0000000"},
    {"prefix", 345, 155, ""},   {"the unused end", 500, 12, ""},
};
enum { N_FIELDS = sizeof fields / sizeof *fields, SIZE_AT = 124, SIZE_DIGITS = 11, CHKSUM_AT = 148 };

void tar_header(uint8_t out[TAR_BLOCK], const char *path, uint64_t bytes)
{
    size_t n = strlen(path);
    assert(n <= TAR_PATH_MAX && bytes <= TAR_SIZE_MAX);
    memset(out, 0, TAR_BLOCK);
    for (unsigned i = 0; i < N_FIELDS; i++)
        memcpy(out + fields[i].at, fields[i].text, strlen(fields[i].text));
    memcpy(out, path, n);
    for (unsigned i = SIZE_DIGITS; i > 0; i--, bytes >>= 3)
        out[SIZE_AT + i - 1] = (uint8_t)('0' + (bytes & 7));
    /* The sum takes its own eight bytes as spaces; six digits, NUL and a space stay. */
    unsigned sum = 8 * ' ';
    for (unsigned i = 0; i < TAR_BLOCK; i++)
        sum += out[i];
    for (unsigned i = 6; i > 0; i--, sum >>= 3)
        out[CHKSUM_AT + i - 1] = (uint8_t)('0' + (sum & 7));
    out[CHKSUM_AT + 7] = ' ';
}

bool tar_header_read(const uint8_t block[TAR_BLOCK], char path[TAR_PATH_MAX + 1], uint64_t *bytes)
{
    memcpy(path, block, TAR_PATH_MAX);
    path[TAR_PATH_MAX] = 0;
    uint64_t n = 0;
    for (unsigned i = 0; i < SIZE_DIGITS; i++) {
        uint8_t c = block[SIZE_AT + i];
        if (c < '0' || c > '7')
            return false;
        n = n << 3 | (uint64_t)(c - '0');
    }
    uint8_t again[TAR_BLOCK];
    tar_header(again, path, n);
    if (!*path || memcmp(again, block, TAR_BLOCK))
        return false;
    *bytes = n;
    return true;
}

uint64_t tar_padding(uint64_t bytes)
{
    return (TAR_BLOCK - bytes % TAR_BLOCK) % TAR_BLOCK;
}

uint64_t tar_entry_bytes(uint64_t bytes)
{
    return TAR_BLOCK + bytes + tar_padding(bytes);
}

const char *tar_field(unsigned offset)
{
    unsigned i = 0;
    while (i + 1 < N_FIELDS && offset >= fields[i + 1].at)
        i++;
    return fields[i].name;
}
