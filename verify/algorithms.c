#include "verify/algorithms.h"
#include <stdio.h>

const char *algorithm_of_line(scratch *sc, const char *line)
{
    static const char key[] = " algo=[";
    size_t n = strcspn(line, "\n");
    const char *at = memmem(line, n, key, sizeof key - 1);
    at = at ? at + sizeof key - 1 : line + n;
    return scratch_strndup(sc, at, strcspn(at, "]\n"));
}

/* The next KEY=VALUE of *text, cut off; false at the end. */
static bool next_field(const char **text, span *key, span *value)
{
    *text += strspn(*text, " ");
    size_t n = strcspn(*text, " "), k = strcspn(*text, "= ");
    if (!n)
        return false;
    *key = span_of(*text, k);
    *value = k < n ? span_of(*text + k + 1, n - k - 1) : span_of("", 0);
    *text += n;
    return true;
}

static bool has(const char *text, span key, span *value)
{
    span k;
    while (next_field(&text, &k, value))
        if (k.n == key.n && !memcmp(k.p, key.p, k.n))
            return true;
    return false;
}

const char *algorithm_changes(scratch *sc, const char *captured, const char *chosen)
{
    const char *out = "", *text = captured;
    span key, value, other;
    while (out && next_field(&text, &key, &value))
        if (!has(chosen, key, &other) || other.n != value.n || memcmp(other.p, value.p, value.n))
            out = scratch_printf(sc, "%s%s%.*s=%.*s", out, *out ? " " : "", (int)key.n, (const char *)key.p,
                                 (int)value.n, (const char *)value.p);
    for (text = chosen; out && next_field(&text, &key, &value);)
        if (!has(captured, key, &other))
            out = scratch_printf(sc, "%s%s%.*s=none", out, *out ? " " : "", (int)key.n, (const char *)key.p);
    return out;
}

rp_code algorithms_compare(rp_err *e, algorithm_choice **out, scratch *sc, const resolved_call *calls,
                           uint64_t n, const char *log, const capture *c)
{
    algorithm_choice *v = scratch_array(sc, n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (uint64_t i = 0; i < n; i++) {
        const char *trace = "";
        for (uint64_t k = 0; c && k < c->n_calls; k++)
            if (c->calls[k].node == calls[i].node)
                trace = c->calls[k].trace;
        v[i].node = calls[i].node;
        v[i].chosen = algorithm_of_line(sc, log);
        v[i].captured = algorithm_of_line(sc, trace);
        v[i].changed = v[i].chosen && v[i].captured && *v[i].captured
                           ? algorithm_changes(sc, v[i].captured, v[i].chosen)
                           : "";
        if (!v[i].chosen || !v[i].captured || !v[i].changed)
            return err_nomem(e);
        log += strcspn(log, "\n");
        log += *log == '\n';
    }
    *out = v;
    return RP_OK;
}
