#include "artifacts/base/json.h"
#include "artifacts/base/limits.h"
#include "artifacts/base/utf8.h"
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Our own tree, so that no cJSON object outlives js_parse and every value knows its place. */
struct js_node {
    js_type type;
    bool is_integer; /* the lexeme was one */
    bool used;       /* its key was asked for */
    bool truth;
    double number;
    const char *string;
    const char *key; /* NULL in an array and at the root */
    size_t index, n;
    js_node *items;
    const js_node *parent;
    const struct js_root *root;
};

struct js_root {
    const char *file;
    scratch *sc;
};

/* --- The scanner: RFC 8259 and the limits of json.h, before cJSON sees a byte. --- */

typedef struct {
    const char *file;
    const uint8_t *p, *end, *begin;
    uint8_t *integer; /* one byte a number, in document order */
    size_t n_numbers;
    unsigned depth;
} scan;

static rp_code bad(rp_err *e, const scan *s, const char *expected)
{
    char where[64], found[16];
    snprintf(where, sizeof where, "byte %zu", (size_t)(s->p - s->begin));
    if (s->p == s->end)
        snprintf(found, sizeof found, "the end");
    else if (*s->p > 0x20 && *s->p < 0x7f)
        snprintf(found, sizeof found, "'%c'", *s->p);
    else
        snprintf(found, sizeof found, "0x%02x", *s->p);
    return err_invalid(e, FIND_JSON_SYNTAX, s->file, where, "expected %s, found %s", expected, found);
}

static void space(scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool hex4(const uint8_t *p, const uint8_t *end, unsigned *out)
{
    unsigned v = 0;
    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned c = p[i], d;
        if (c >= '0' && c <= '9')
            d = c - '0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            d = (c | 32) - 'a' + 10;
        else
            return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

static rp_code escape(rp_err *e, scan *s)
{
    s->p++;
    if (s->p == s->end)
        return bad(e, s, "an escape");
    if (*s->p != 'u') {
        if (!*s->p || !strchr("\"\\/bfnrt", *s->p))
            return bad(e, s, "an escape");
        s->p++;
        return RP_OK;
    }
    unsigned hi, lo;
    if (!hex4(s->p + 1, s->end, &hi))
        return bad(e, s, "four hexadecimal digits");
    if (hi == 0)
        return bad(e, s, "no U+0000");
    if (hi >= 0xdc00 && hi <= 0xdfff)
        return bad(e, s, "no lone surrogate");
    s->p += 5;
    if (hi < 0xd800 || hi > 0xdbff)
        return RP_OK;
    if (s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u' || !hex4(s->p + 2, s->end, &lo) ||
        lo < 0xdc00 || lo > 0xdfff)
        return bad(e, s, "the second half of a surrogate pair");
    s->p += 6;
    return RP_OK;
}

static rp_code string(rp_err *e, scan *s)
{
    if (s->p == s->end || *s->p != '"')
        return bad(e, s, "a string");
    s->p++;
    while (s->p < s->end && *s->p != '"') {
        unsigned n;
        if (*s->p < 0x20)
            return bad(e, s, "no control character in a string");
        if (*s->p == '\\') {
            if (escape(e, s))
                return e->code;
        } else if ((n = utf8_len(s->p, (size_t)(s->end - s->p)))) {
            s->p += n;
        } else {
            return bad(e, s, "UTF-8");
        }
    }
    if (s->p == s->end)
        return bad(e, s, "the end of a string");
    s->p++;
    return RP_OK;
}

static bool digits(scan *s)
{
    const uint8_t *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > from;
}

static rp_code number(rp_err *e, scan *s)
{
    const uint8_t *from = s->p;
    bool integer = true;
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0')
        s->p++;
    else if (!digits(s))
        return bad(e, s, "a digit");
    if (s->p < s->end && *s->p == '.') {
        integer = false;
        s->p++;
        if (!digits(s))
            return bad(e, s, "a digit");
    }
    if (s->p < s->end && (*s->p | 32) == 'e') {
        integer = false;
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!digits(s))
            return bad(e, s, "a digit");
    }
    /* cJSON copies a number into 64 bytes; nothing in our formats is longer. */
    if (s->p - from > 40 || (s->p - from == 2 && from[0] == '-' && from[1] == '0'))
        integer = false;
    if (s->p - from > 40) {
        s->p = from;
        return bad(e, s, "a number of at most 40 characters");
    }
    s->integer[s->n_numbers++] = integer;
    return RP_OK;
}

static rp_code word(rp_err *e, scan *s, const char *w)
{
    size_t n = strlen(w);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, w, n))
        return bad(e, s, "a value");
    s->p += n;
    return RP_OK;
}

static rp_code value(rp_err *e, scan *s);

static rp_code members(rp_err *e, scan *s, bool object)
{
    char close = object ? '}' : ']';
    s->p++;
    if (++s->depth > limit_of(LIMIT_JSON_DEPTH)) {
        char where[64];
        snprintf(where, sizeof where, "byte %zu", (size_t)(s->p - s->begin));
        return err_invalid(e, FIND_JSON_DEPTH, s->file, where, "expected at most %llu levels, found more",
                           (unsigned long long)limit_of(LIMIT_JSON_DEPTH));
    }
    space(s);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        s->depth--;
        return RP_OK;
    }
    for (;;) {
        if (object) {
            space(s);
            if (string(e, s))
                return e->code;
            space(s);
            if (s->p == s->end || *s->p != ':')
                return bad(e, s, "':'");
            s->p++;
        }
        if (value(e, s))
            return e->code;
        if (s->p < s->end && *s->p == ',') {
            s->p++;
            continue;
        }
        if (s->p == s->end || *s->p != close)
            return bad(e, s, object ? "',' or '}'" : "',' or ']'");
        s->p++;
        s->depth--;
        return RP_OK;
    }
}

static rp_code value(rp_err *e, scan *s)
{
    rp_code code;
    space(s);
    if (s->p == s->end)
        return bad(e, s, "a value");
    switch (*s->p) {
    case '{':
        code = members(e, s, true);
        break;
    case '[':
        code = members(e, s, false);
        break;
    case '"':
        code = string(e, s);
        break;
    case 't':
        code = word(e, s, "true");
        break;
    case 'f':
        code = word(e, s, "false");
        break;
    case 'n':
        code = word(e, s, "null");
        break;
    default:
        code = *s->p == '-' || (*s->p >= '0' && *s->p <= '9') ? number(e, s) : bad(e, s, "a value");
    }
    if (!code)
        space(s);
    return code;
}

/* --- From cJSON's tree to ours. --- */

typedef struct {
    const struct js_root *root;
    const uint8_t *integer;
    size_t next_number;
} conv;

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const js_node *const *)a)->key, (*(const js_node *const *)b)->key);
}

static rp_code no_duplicates(rp_err *e, js_node *v)
{
    const js_node **sorted = malloc(v->n * sizeof *sorted);
    if (!sorted)
        return err_nomem(e);
    for (size_t i = 0; i < v->n; i++)
        sorted[i] = &v->items[i];
    qsort(sorted, v->n, sizeof *sorted, by_key);
    for (size_t i = 1; i < v->n && !e->code; i++)
        if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
            js_fail(e, sorted[i], FIND_JSON_DUPLICATE_KEY, "expected each key once, found \"%s\" twice",
                    sorted[i]->key);
    free(sorted);
    return e->code;
}

static rp_code convert(rp_err *e, js_node *v, const cJSON *c, conv *cv)
{
    scratch *sc = cv->root->sc;
    v->root = cv->root;
    if (cJSON_IsObject(c) || cJSON_IsArray(c)) {
        v->type = cJSON_IsObject(c) ? JS_OBJECT : JS_ARRAY;
        for (const cJSON *k = c->child; k; k = k->next)
            v->n++;
        v->items = scratch_array(sc, v->n, sizeof *v->items);
        if (!v->items)
            return err_nomem(e);
        js_node *item = v->items;
        for (const cJSON *k = c->child; k; k = k->next, item++) {
            item->parent = v;
            item->index = (size_t)(item - v->items);
            if (v->type == JS_OBJECT && !(item->key = scratch_strdup(sc, k->string)))
                return err_nomem(e);
            if (convert(e, item, k, cv))
                return e->code;
        }
        return v->type == JS_OBJECT && v->n > 1 ? no_duplicates(e, v) : RP_OK;
    }
    if (cJSON_IsNumber(c)) {
        v->type = JS_NUMBER;
        v->number = c->valuedouble;
        v->is_integer = cv->integer[cv->next_number++];
        /* Also where nobody will read it: 1e400 is infinity to the library, and prints as null. */
        if (v->number - v->number != 0)
            return js_fail(e, v, FIND_JSON_NUMBER, "expected a finite number, found one out of range");
    } else if (cJSON_IsString(c)) {
        v->type = JS_STRING;
        v->string = scratch_strdup(sc, c->valuestring);
        if (!v->string)
            return err_nomem(e);
    } else if (cJSON_IsBool(c)) {
        v->type = JS_BOOL;
        v->truth = cJSON_IsTrue(c);
    }
    return RP_OK;
}

rp_code js_parse(rp_err *e, js_node **out, scratch *sc, const char *file, span text)
{
    if (text.n > JS_MAX_BYTES)
        return err_invalid(e, FIND_JSON_SYNTAX, file, NULL, "expected at most %d bytes, found %zu",
                           JS_MAX_BYTES, text.n);
    if (!text.n)
        text = span_str(""); /* there may be no pointer */
    scan s = {.file = file, .p = text.p, .begin = text.p, .end = text.p + text.n};
    s.integer = malloc(text.n / 2 + 1); /* numbers are at least a separator apart */
    if (!s.integer)
        return err_nomem(e);
    cJSON *tree = NULL;
    if (value(e, &s))
        goto out;
    if (s.p != s.end) {
        bad(e, &s, "the end of the text");
        goto out;
    }
    tree = cJSON_ParseWithLength((const char *)text.p, text.n);
    struct js_root *root = scratch_alloc(sc, sizeof *root);
    js_node *v = scratch_alloc(sc, sizeof *v);
    if (!tree || !root || !v || !(root->file = scratch_strdup(sc, file))) {
        err_nomem(e);
        goto out;
    }
    root->sc = sc;
    if (!convert(e, v, tree, &(conv){.root = root, .integer = s.integer}))
        *out = v;
out:
    cJSON_Delete(tree);
    free(s.integer);
    return e->code;
}

/* --- Reading. --- */

js_type js_kind(const js_node *v)
{
    return v->type;
}

const char *js_file(const js_node *v)
{
    return v->root->file;
}

/* RFC 6901: '~' is "~0" and '/' is "~1". */
static const char *pointer_part(scratch *sc, const char *key)
{
    char *out = scratch_alloc(sc, 2 * strlen(key) + 1), *p = out;
    for (; out && *key; key++) {
        if (*key == '~' || *key == '/') {
            *p++ = '~';
            *p++ = *key == '~' ? '0' : '1';
        } else {
            *p++ = *key;
        }
    }
    return out;
}

const char *js_where(const js_node *v)
{
    scratch *sc = v->root->sc;
    if (!v->parent)
        return "";
    const char *up = js_where(v->parent), *part = v->key ? pointer_part(sc, v->key) : NULL;
    if (v->key && !part)
        return "?";
    const char *s =
        v->key ? scratch_printf(sc, "%s/%s", up, part) : scratch_printf(sc, "%s/%zu", up, v->index);
    return s ? s : "?";
}

rp_code js_fail(rp_err *e, const js_node *v, finding_id id, const char *fmt, ...)
{
    char msg[sizeof e->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return err_invalid(e, id, v->root->file, js_where(v), "%s", msg);
}

static const char *const type_names[] = {"null",     "a boolean", "a number",
                                         "a string", "an array",  "an object"};

static rp_code expect(rp_err *e, const js_node *v, js_type type)
{
    if (v->type == type)
        return RP_OK;
    return js_fail(e, v, FIND_JSON_TYPE, "expected %s, found %s", type_names[type], type_names[v->type]);
}

js_node *js_find(js_node *obj, const char *key)
{
    for (size_t i = 0; obj->type == JS_OBJECT && i < obj->n; i++)
        if (!strcmp(obj->items[i].key, key)) {
            obj->items[i].used = true;
            return &obj->items[i];
        }
    return NULL;
}

rp_code js_get(rp_err *e, js_node **out, js_node *obj, const char *key)
{
    if (expect(e, obj, JS_OBJECT))
        return e->code;
    js_node *v = js_find(obj, key);
    if (!v)
        return js_fail(e, obj, FIND_JSON_MISSING_KEY, "expected the key \"%s\", found none", key);
    *out = v;
    return RP_OK;
}

rp_code js_obj(rp_err *e, js_node **out, js_node *obj, const char *key)
{
    return js_get(e, out, obj, key) ? e->code : expect(e, *out, JS_OBJECT);
}

rp_code js_arr(rp_err *e, js_node **out, size_t *n, js_node *obj, const char *key)
{
    if (js_get(e, out, obj, key) || expect(e, *out, JS_ARRAY))
        return e->code;
    *n = (*out)->n;
    return RP_OK;
}

static const double two53 = 9007199254740992.0;

static rp_code integer(rp_err *e, const js_node *v, double least)
{
    if (expect(e, v, JS_NUMBER))
        return e->code;
    if (!v->is_integer && v->number < two53 && v->number > -two53)
        return js_fail(e, v, FIND_JSON_NUMBER,
                       "expected an integer without fraction or exponent, found %.17g written with one",
                       v->number);
    if (!v->is_integer || v->number >= two53 || v->number <= -two53)
        return js_fail(e, v, FIND_JSON_NUMBER, "expected an integer below 2^53, found %.17g", v->number);
    if (v->number < least)
        return js_fail(e, v, FIND_JSON_NUMBER, "expected no negative number, found %.17g", v->number);
    return RP_OK;
}

rp_code js_as_u64(rp_err *e, uint64_t *out, const js_node *v)
{
    if (!integer(e, v, 0))
        *out = (uint64_t)v->number;
    return e->code;
}

rp_code js_as_i64(rp_err *e, int64_t *out, const js_node *v)
{
    if (!integer(e, v, -two53))
        *out = (int64_t)v->number;
    return e->code;
}

rp_code js_as_f64(rp_err *e, double *out, const js_node *v)
{
    if (expect(e, v, JS_NUMBER))
        return e->code;
    if (v->number - v->number != 0)
        return js_fail(e, v, FIND_JSON_NUMBER, "expected a finite number, found one out of range");
    *out = v->number;
    return RP_OK;
}

rp_code js_as_str(rp_err *e, const char **out, const js_node *v)
{
    if (!expect(e, v, JS_STRING))
        *out = v->string;
    return e->code;
}

rp_code js_as_obj(rp_err *e, js_node *v)
{
    return expect(e, v, JS_OBJECT);
}

rp_code js_u64(rp_err *e, uint64_t *out, js_node *obj, const char *key)
{
    js_node *v;
    return js_get(e, &v, obj, key) ? e->code : js_as_u64(e, out, v);
}

rp_code js_i64(rp_err *e, int64_t *out, js_node *obj, const char *key)
{
    js_node *v;
    return js_get(e, &v, obj, key) ? e->code : js_as_i64(e, out, v);
}

rp_code js_f64(rp_err *e, double *out, js_node *obj, const char *key)
{
    js_node *v;
    return js_get(e, &v, obj, key) ? e->code : js_as_f64(e, out, v);
}

rp_code js_bool(rp_err *e, bool *out, js_node *obj, const char *key)
{
    js_node *v;
    if (js_get(e, &v, obj, key) || expect(e, v, JS_BOOL))
        return e->code;
    *out = v->truth;
    return RP_OK;
}

rp_code js_str(rp_err *e, const char **out, js_node *obj, const char *key)
{
    js_node *v;
    return js_get(e, &v, obj, key) ? e->code : js_as_str(e, out, v);
}

rp_code js_enum(rp_err *e, int *out, js_node *obj, const char *key, const char *const *names)
{
    js_node *v;
    if (js_get(e, &v, obj, key) || expect(e, v, JS_STRING))
        return e->code;
    char choices[256] = "";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], v->string)) {
            *out = i;
            return RP_OK;
        }
        size_t n = strlen(choices);
        snprintf(choices + n, sizeof choices - n, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    return js_fail(e, v, FIND_JSON_VALUE, "expected one of %s, found \"%.64s\"", choices, v->string);
}

rp_code js_digest(rp_err *e, digest *out, js_node *obj, const char *key)
{
    js_node *v;
    if (js_get(e, &v, obj, key) || expect(e, v, JS_STRING))
        return e->code;
    if (!digest_parse(v->string, out))
        return js_fail(e, v, FIND_JSON_VALUE, "expected 64 lower-case hexadecimal digits, found \"%.80s\"",
                       v->string);
    return RP_OK;
}

rp_code js_format(rp_err *e, js_node *obj, const char *format)
{
    js_node *v;
    if (js_get(e, &v, obj, "format") || expect(e, v, JS_STRING))
        return e->code;
    if (strcmp(v->string, format))
        return js_fail(e, v, FIND_JSON_VALUE, "expected \"%s\", found \"%.64s\"", format, v->string);
    return RP_OK;
}

rp_code js_done(rp_err *e, js_node *obj)
{
    for (size_t i = 0; !e->code && obj->type == JS_OBJECT && i < obj->n; i++) {
        js_node *v = &obj->items[i];
        if (v->used)
            continue;
        if (!obj->parent && !strcmp(v->key, "annotations"))
            expect(e, v, JS_OBJECT);
        else
            js_fail(e, v, FIND_JSON_UNKNOWN_KEY, "expected no key \"%.64s\"", v->key);
    }
    return e->code;
}

size_t js_len(const js_node *v)
{
    return v->n;
}

js_node *js_at(const js_node *arr, size_t i)
{
    return &arr->items[i];
}

const char *js_key_at(js_node *obj, size_t i)
{
    obj->items[i].used = true;
    return obj->items[i].key;
}

rp_code js_u64s(rp_err *e, uint64_t *out, size_t n, js_node *obj, const char *key)
{
    js_node *v;
    size_t found = 0;
    if (js_arr(e, &v, &found, obj, key))
        return e->code;
    if (found != n)
        return js_fail(e, v, FIND_JSON_VALUE, "expected %zu integers, found %zu", n, found);
    for (size_t i = 0; i < n; i++)
        if (js_as_u64(e, &out[i], js_at(v, i)))
            return e->code;
    return RP_OK;
}

const char *js_scalar_text(const js_node *v)
{
    switch (v->type) {
    case JS_NULL:
        return "null";
    case JS_BOOL:
        return v->truth ? "true" : "false";
    case JS_NUMBER:
        return scratch_printf(v->root->sc, "%.17g", v->number);
    case JS_STRING:
        return v->string;
    default:
        return NULL;
    }
}

const char *js_library(void)
{
    return cJSON_Version();
}
