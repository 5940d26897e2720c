/* A host region: objects are placed in it one by one and released all at once. (`arena` in this project
 * always means device storage.) Under AddressSanitizer each object is an allocation of its own. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include "artifacts/base/span.h"
#include <stdarg.h>
#include <stddef.h>

typedef struct scratch scratch;

/* `limit_bytes` caps the sum of all objects (0: no cap), so that tests can starve a reader. NULL when out of
 * memory. */
scratch *scratch_new(size_t limit_bytes);
void scratch_free(scratch *sc);

/* Zeroed storage of n bytes aligned for any type; NULL when out of memory or over the cap. n = 0 gives a
 * unique pointer. */
void *scratch_alloc(scratch *sc, size_t n);
/* The same for count objects of `size` bytes, the product checked. */
void *scratch_array(scratch *sc, size_t count, size_t size);
char *scratch_strdup(scratch *sc, const char *s);
/* A terminated copy of n bytes. */
char *scratch_strndup(scratch *sc, const char *s, size_t n);
char *scratch_printf(scratch *sc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *scratch_vprintf(scratch *sc, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
