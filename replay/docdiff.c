#include "replay/docdiff.h"

typedef struct {
    scratch *sc;
    difference *first, *last;
    bool nomem;
} differ;

static const char absent[] = "(absent)";

static const char *value_text(differ *d, const js_node *v)
{
    if (!v)
        return absent;
    if (js_kind(v) == JS_OBJECT)
        return "object";
    if (js_kind(v) == JS_ARRAY)
        return scratch_printf(d->sc, "array of %zu", js_len(v));
    return js_scalar_text(v);
}

static void say(differ *d, const js_node *a, const js_node *b)
{
    difference *x = scratch_alloc(d->sc, sizeof *x);
    if (x)
        *x = (difference){.where = js_where(a ? a : b), .a = value_text(d, a), .b = value_text(d, b)};
    if (!x || !x->a || !x->b) {
        d->nomem = true;
        return;
    }
    if (d->last)
        d->last->next = x;
    else
        d->first = x;
    d->last = x;
}

static void walk(differ *d, js_node *a, js_node *b)
{
    if (!a || !b || js_kind(a) != js_kind(b)) {
        say(d, a, b);
        return;
    }
    if (js_kind(a) == JS_OBJECT) {
        for (size_t i = 0; i < js_len(a); i++)
            walk(d, js_at(a, i), js_find(b, js_key_at(a, i)));
        for (size_t i = 0; i < js_len(b); i++)
            if (!js_find(a, js_key_at(b, i)))
                say(d, NULL, js_at(b, i));
    } else if (js_kind(a) == JS_ARRAY) {
        size_t n = js_len(a) > js_len(b) ? js_len(a) : js_len(b);
        for (size_t i = 0; i < n; i++)
            walk(d, i < js_len(a) ? js_at(a, i) : NULL, i < js_len(b) ? js_at(b, i) : NULL);
    } else if (strcmp(js_scalar_text(a), js_scalar_text(b))) {
        say(d, a, b);
    }
}

rp_code docdiff(rp_err *e, const difference **out, scratch *sc, js_node *a, js_node *b)
{
    differ d = {.sc = sc};
    walk(&d, a, b);
    *out = d.first;
    return d.nomem ? err_nomem(e) : RP_OK;
}
