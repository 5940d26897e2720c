/* Well-formed UTF-8 as RFC 3629 defines it: shortest forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the sequence at p, of which n are there (n >= 1), or 0 when it is not well formed. */
static inline unsigned utf8_len(const uint8_t *p, size_t n)
{
    unsigned c = *p, len;
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        len = 2;
    else if (c >= 0xe0 && c <= 0xef)
        len = 3;
    else if (c >= 0xf0 && c <= 0xf4)
        len = 4;
    else
        return 0;
    if (len > n)
        return 0;
    for (unsigned i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
        (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return len;
}

/* The code point of a sequence that utf8_len gave `len` for. */
static inline uint32_t utf8_code(const uint8_t *p, unsigned len)
{
    static const uint8_t lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = p[0] & lead_mask[len];
    for (unsigned i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

#endif
