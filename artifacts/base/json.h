/* Reading JSON strictly. cJSON sits behind json.c, after a scanner that enforces RFC 8259 and more.
 *
 *   text     one value, nothing after it but white space; UTF-8 without a byte order mark, no U+0000, no lone
 * surrogate depth    at most LIMIT_JSON_DEPTH, JS_MAX_DEPTH by default (limits.h); text at most JS_MAX_BYTES
 *   keys     no duplicates; every key must be read, or js_done refuses it; one object `annotations` a file is
 * free integer  an integer lexeme (no '.', no exponent, no "-0") of magnitude below 2^53 digest   a string of
 * 64 lower-case hexadecimal digits
 *
 * Every getter fills *out and returns RP_OK, or sets RP_INVALID with the file and the JSON pointer. Values
 * and strings are borrowed from the scratch given to js_parse. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "artifacts/base/digest.h"
#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include <stdbool.h>

enum { JS_MAX_DEPTH = 64, JS_MAX_BYTES = 64 << 20 };

typedef enum { JS_NULL, JS_BOOL, JS_NUMBER, JS_STRING, JS_ARRAY, JS_OBJECT } js_type;
typedef struct js_node js_node;

/* `file` is the name for messages (copied). */
RP_MUST rp_code js_parse(rp_err *e, js_node **out, scratch *sc, const char *file, span text);

js_type js_kind(const js_node *v);
/* The value's JSON pointer ("" for the root), placed in the scratch; "?" when out of memory. */
const char *js_where(const js_node *v);
const char *js_file(const js_node *v);
/* Say RP_INVALID about v, for rules above the JSON itself. */
rp_code js_fail(rp_err *e, const js_node *v, finding_id id, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Members of an object. The plain getters require the key; js_find marks it read and gives NULL when absent.
 */
js_node *js_find(js_node *obj, const char *key);
RP_MUST rp_code js_get(rp_err *e, js_node **out, js_node *obj, const char *key);
RP_MUST rp_code js_obj(rp_err *e, js_node **out, js_node *obj, const char *key);
RP_MUST rp_code js_arr(rp_err *e, js_node **out, size_t *n, js_node *obj, const char *key);
RP_MUST rp_code js_u64(rp_err *e, uint64_t *out, js_node *obj, const char *key);
RP_MUST rp_code js_i64(rp_err *e, int64_t *out, js_node *obj, const char *key);
RP_MUST rp_code js_f64(rp_err *e, double *out, js_node *obj, const char *key);
RP_MUST rp_code js_bool(rp_err *e, bool *out, js_node *obj, const char *key);
RP_MUST rp_code js_str(rp_err *e, const char **out, js_node *obj, const char *key);
/* The index of the string in `names`, a NULL-terminated table; the message lists the choices. */
RP_MUST rp_code js_enum(rp_err *e, int *out, js_node *obj, const char *key, const char *const *names);
RP_MUST rp_code js_digest(rp_err *e, digest *out, js_node *obj, const char *key);
/* The member `format` must be exactly this string. */
RP_MUST rp_code js_format(rp_err *e, js_node *obj, const char *format);
/* All keys were read (`annotations`, an object, is allowed at the root). */
RP_MUST rp_code js_done(rp_err *e, js_node *obj);

/* Elements of an array, and typed views of any value. js_at: i below the length. */
size_t js_len(const js_node *v);
js_node *js_at(const js_node *arr, size_t i);
/* Key of the i-th member of an object, and marks it read. */
const char *js_key_at(js_node *obj, size_t i);
RP_MUST rp_code js_as_obj(rp_err *e, js_node *v);
RP_MUST rp_code js_as_u64(rp_err *e, uint64_t *out, const js_node *v);
RP_MUST rp_code js_as_i64(rp_err *e, int64_t *out, const js_node *v);
RP_MUST rp_code js_as_f64(rp_err *e, double *out, const js_node *v);
RP_MUST rp_code js_as_str(rp_err *e, const char **out, const js_node *v);
/* An array of exactly n unsigned integers. */
RP_MUST rp_code js_u64s(rp_err *e, uint64_t *out, size_t n, js_node *obj, const char *key);

/* A scalar as text ("true", "null", a number, a string's own characters); NULL for a container. Lent by the
 * scratch. */
const char *js_scalar_text(const js_node *v);

/* Version of the library behind this file. */
const char *js_library(void);

#endif
