#include "artifacts/statement.h"
#include "artifacts/manifest.h"

static rp_code read_subject(rp_err *e, statement_subject *out, js_node *o)
{
    js_node *d, *name;
    out->name = "";
    if (js_as_obj(e, o) || js_obj(e, &d, o, "digest") || js_digest(e, &out->sha256, d, "sha256"))
        return e->code;
    if ((name = js_find(o, "name")) && js_as_str(e, &out->name, name))
        return e->code;
    return RP_OK;
}

static rp_code read_all(rp_err *e, statement *out, scratch *sc, const char *file, span text)
{
    js_node *root, *a;
    const char *type;
    size_t n = 0;
    statement s = {0};
    if (js_parse(e, &root, sc, file, text) || js_as_obj(e, root) || js_str(e, &type, root, "_type"))
        return e->code;
    if (strcmp(type, STATEMENT_TYPE))
        return js_fail(e, js_find(root, "_type"), FIND_TRUST_STATEMENT, "expected %s, found \"%.100s\"",
                       STATEMENT_TYPE, type);
    if (js_arr(e, &a, &n, root, "subject") || js_str(e, &s.predicate_type, root, "predicateType") ||
        js_obj(e, &s.predicate, root, "predicate"))
        return e->code;
    if (n < 1 || n > STATEMENT_MAX_SUBJECTS)
        return js_fail(e, a, FIND_TRUST_STATEMENT, "expected 1 to %d subjects, found %zu",
                       STATEMENT_MAX_SUBJECTS, n);
    s.subjects = scratch_array(sc, n, sizeof *s.subjects);
    if (!s.subjects)
        return err_nomem(e);
    for (s.n = 0; s.n < n; s.n++)
        if (read_subject(e, &s.subjects[s.n], js_at(a, s.n)))
            return e->code;
    *out = s;
    return RP_OK;
}

rp_code statement_read(rp_err *e, statement *out, scratch *sc, const char *file, span text)
{
    bool mine = !e->code;
    if (read_all(e, out, sc, file, text) == RP_INVALID && mine)
        e->id = FIND_TRUST_STATEMENT;
    return e->code;
}

bool statement_is_about(const statement *s, digest d)
{
    for (size_t i = 0; i < s->n; i++)
        if (digest_equal(s->subjects[i].sha256, d))
            return true;
    return false;
}

void statement_begin(jw *j, const statement_subject *subjects, size_t n, const char *predicate_type)
{
    jw_obj(j, NULL);
    jw_str(j, "_type", STATEMENT_TYPE);
    jw_arr(j, "subject");
    for (size_t i = 0; i < n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", subjects[i].name);
        jw_obj(j, "digest");
        jw_digest(j, "sha256", subjects[i].sha256);
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
    jw_str(j, "predicateType", predicate_type);
    jw_obj(j, "predicate");
}

void statement_end(jw *j)
{
    jw_end(j);
    jw_end(j);
}

void statement_of_bundle(jw *j, const char *name, digest root)
{
    statement_begin(j, &(statement_subject){.name = MANIFEST_PATH, .sha256 = root}, 1, STATEMENT_BUNDLE);
    jw_str(j, "format", MANIFEST_FORMAT);
    jw_str(j, "name", name);
    statement_end(j);
}

rp_code statement_bundle_read(rp_err *e, const char **name, const statement *s)
{
    bool mine = !e->code;
    if ((js_format(e, s->predicate, MANIFEST_FORMAT) || js_str(e, name, s->predicate, "name") ||
         js_done(e, s->predicate)) &&
        e->code == RP_INVALID && mine)
        e->id = FIND_TRUST_STATEMENT;
    return e->code;
}
