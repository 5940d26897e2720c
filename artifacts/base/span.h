/* A borrowed run of bytes. The lender is named where one is returned. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *p;
    size_t n; /* bytes */
} span;

static inline span span_of(const void *p, size_t n)
{
    return (span){.p = p, .n = n};
}

/* The bytes of a C string without its terminator. */
static inline span span_str(const char *s)
{
    return span_of(s, strlen(s));
}

#endif
