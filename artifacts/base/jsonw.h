/* Writing JSON. Misuse (a key outside an object, an unbalanced end) is a bug and asserts; running out of
 * memory is remembered and reported by jw_finish.
 *
 * JW_PRETTY   two spaces, one member a line, arrays of scalars on one line; ends in a newline
 * JW_COMPACT  no white space
 * JW_CANON    RFC 8785: compact, and the caller adds the keys of an object in ascending order (asserted);
 * strings and integers only */
#ifndef BASE_JSONW_H
#define BASE_JSONW_H

#include "artifacts/base/digest.h"
#include "artifacts/base/err.h"
#include "artifacts/base/span.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum { JW_PRETTY, JW_COMPACT, JW_CANON } jw_style;
typedef struct jw jw;

jw *jw_new(
    jw_style style); /* NULL when out of memory; every function accepts NULL and jw_finish then says so */
void jw_free(jw *j);

/* key is NULL inside an array and at the root. */
void jw_obj(jw *j, const char *key);
void jw_arr(jw *j, const char *key);
void jw_end(jw *j);
void jw_str(jw *j, const char *key, const char *s); /* NULL writes null */
void jw_strn(jw *j, const char *key, span s);       /* must be UTF-8; other bytes become U+FFFD */
void jw_u64(jw *j, const char *key, uint64_t v);
void jw_i64(jw *j, const char *key, int64_t v);
/* The shortest form that reads back; "NaN", "Infinity" or "-Infinity", so that it is no number to anybody and
 * not taken for one that was not measured. Not in JW_CANON. */
void jw_f64(jw *j, const char *key, double v);
void jw_bool(jw *j, const char *key, bool v);
void jw_null(jw *j, const char *key);
void jw_digest(jw *j, const char *key, digest d);
void jw_u64s(jw *j, const char *key, const uint64_t *v, size_t n);
/* Formatted string value. */
void jw_fmt(jw *j, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Bytes that are one JSON value already. */
void jw_raw(jw *j, const char *key, span json);

/* The text so far, borrowed from j; all containers must be closed. */
RP_MUST rp_code jw_finish(rp_err *e, span *out, jw *j);

#endif
