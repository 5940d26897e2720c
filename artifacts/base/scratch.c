#include "artifacts/base/scratch.h"
#include "artifacts/base/ck.h"
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define ONE_MALLOC_EACH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_MALLOC_EACH 1
#endif
#endif
#ifndef ONE_MALLOC_EACH
#define ONE_MALLOC_EACH 0
#endif

enum { ALIGN = 16, BLOCK_BYTES = 64 << 10 };

typedef struct block {
    struct block *next;
    size_t used, cap;
    _Alignas(ALIGN) unsigned char data[];
} block;

struct scratch {
    block *blocks;
    size_t limit, total;
};

scratch *scratch_new(size_t limit_bytes)
{
    scratch *sc = calloc(1, sizeof *sc);
    if (sc)
        sc->limit = limit_bytes;
    return sc;
}

void scratch_free(scratch *sc)
{
    if (!sc)
        return;
    for (block *b = sc->blocks; b;) {
        block *next = b->next;
        free(b);
        b = next;
    }
    free(sc);
}

void *scratch_alloc(scratch *sc, size_t n)
{
    if (n > SIZE_MAX - ALIGN - sizeof(block))
        return NULL;
    size_t need = n ? (n + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    if (sc->limit && need > sc->limit - sc->total)
        return NULL;
    block *b = sc->blocks;
    if (ONE_MALLOC_EACH || !b || need > b->cap - b->used) {
        size_t cap = ONE_MALLOC_EACH || need > BLOCK_BYTES ? need : BLOCK_BYTES;
        b = calloc(1, sizeof *b + cap);
        if (!b)
            return NULL;
        b->cap = cap;
        /* A large object gets a block of its own behind the current one, whose room stays in use. */
        if (sc->blocks && need > BLOCK_BYTES) {
            b->next = sc->blocks->next;
            sc->blocks->next = b;
        } else {
            b->next = sc->blocks;
            sc->blocks = b;
        }
    }
    void *p = b->data + b->used;
    b->used += need;
    sc->total += need;
    return p;
}

void *scratch_array(scratch *sc, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        return NULL;
    return scratch_alloc(sc, n);
}

char *scratch_strndup(scratch *sc, const char *s, size_t n)
{
    char *p = n == SIZE_MAX ? NULL : scratch_alloc(sc, n + 1);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *scratch_strdup(scratch *sc, const char *s)
{
    return scratch_strndup(sc, s, strlen(s));
}

char *scratch_vprintf(scratch *sc, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return NULL;
    char *p = scratch_alloc(sc, (size_t)n + 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *scratch_printf(scratch *sc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = scratch_vprintf(sc, fmt, ap);
    va_end(ap);
    return p;
}
