/* Fuzzing the JSON reader: what is accepted is walked, and written again it reads to the same values. */
#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void write_again(jw *j, const char *key, js_node *v)
{
    double d;
    const char *s;
    rp_err e = {0};
    switch (js_kind(v)) {
    case JS_OBJECT:
        jw_obj(j, key);
        for (size_t i = 0; i < js_len(v); i++)
            write_again(j, js_key_at(v, i), js_at(v, i));
        jw_end(j);
        break;
    case JS_ARRAY:
        jw_arr(j, key);
        for (size_t i = 0; i < js_len(v); i++)
            write_again(j, NULL, js_at(v, i));
        jw_end(j);
        break;
    case JS_NUMBER:
        if (js_as_f64(&e, &d, v))
            d = 0;
        jw_f64(j, key, d);
        break;
    case JS_STRING:
        must(!js_as_str(&e, &s, v));
        jw_str(j, key, s);
        break;
    default:
        s = js_scalar_text(v);
        must(s != NULL);
        jw_raw(j, key, span_str(s));
    }
}

static bool long_key(js_node *v)
{
    for (size_t i = 0; js_kind(v) >= JS_ARRAY && i < js_len(v); i++)
        if ((js_kind(v) == JS_OBJECT && strlen(js_key_at(v, i)) > 100) || long_key(js_at(v, i)))
            return true;
    return false;
}

/* The text of the value, compact; lent by *j. */
static span text_of(jw **j, js_node *v)
{
    rp_err e = {0};
    span text;
    *j = jw_new(JW_COMPACT);
    write_again(*j, NULL, v);
    must(!jw_finish(&e, &text, *j));
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(256 << 20);
    js_node *v, *again;
    if (js_parse(&e, &v, sc, "input", span_of(data, n))) {
        must((e.code == RP_INVALID && e.msg[0]) || e.code == RP_NOMEM);
    } else if (!long_key(v)) {
        jw *first, *second;
        span text = text_of(&first, v);
        must(!js_parse(&e, &again, sc, "again", text));
        span twice = text_of(&second, again);
        must(text.n == twice.n && !memcmp(text.p, twice.p, text.n));
        jw_free(first);
        jw_free(second);
    }
    scratch_free(sc);
    return 0;
}
