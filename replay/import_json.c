#include "replay/import_json.h"
#include "artifacts/base/file.h"

rp_code import_text(rp_err *e, import_writer *w, const char *path, span text)
{
    const char *full = w->hold ? NULL : file_join(w->sc, w->dir, path);
    const char *copy = w->hold ? scratch_strndup(w->sc, (const char *)text.p, text.n) : NULL;
    if (!full && !copy)
        return err_nomem(e);
    if (!w->hold && file_write(e, full, text))
        return e->code;
    w->paths[w->n] = path;
    w->texts[w->n] = span_of(copy, copy ? text.n : 0);
    w->digests[w->n++] = digest_of(text);
    return RP_OK;
}

rp_code import_flush(rp_err *e, const import_writer *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const char *full = file_join(w->sc, w->dir, w->paths[i]);
        char *folder = full ? scratch_strdup(w->sc, full) : NULL;
        if (!folder)
            return err_nomem(e);
        *strrchr(folder, '/') = 0;
        if (file_mkdirs(e, folder) || file_write(e, full, w->texts[i]))
            return e->code;
    }
    return RP_OK;
}

rp_code import_put(rp_err *e, import_writer *w, const char *path, jw *j)
{
    span text;
    if (!jw_finish(e, &text, j))
        (void)!import_text(e, w, path, text);
    jw_free(j);
    return e->code;
}

jw *import_begin(const char *format)
{
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", format);
    return j;
}

void import_layout(jw *j, const uint64_t *shape, uint64_t rank, const char *kind, const uint64_t *strides)
{
    jw_obj(j, "layout");
    jw_u64s(j, "shape", shape, rank);
    jw_arr(j, "spellings");
    jw_obj(j, NULL);
    jw_str(j, "kind", strides ? "strided" : kind);
    if (strides)
        jw_u64s(j, "strides", strides, rank);
    jw_end(j);
    jw_end(j);
    jw_end(j);
}

void import_value(jw *j, const char *name)
{
    jw_obj(j, NULL);
    jw_str(j, "value", name);
    jw_str(j, "buffer", name);
    jw_end(j);
}

void import_edge(jw *j, uint64_t from, uint64_t to, const char *buffer, const char *port)
{
    jw_obj(j, NULL);
    jw_u64(j, "from", from);
    jw_u64(j, "to", to);
    jw_str(j, "buffer", buffer);
    jw_str(j, "port", port);
    jw_str(j, "kind", "data");
    jw_end(j);
}

void import_range(jw *j, const char *name, bool steps, uint64_t first, uint64_t end, uint64_t offset,
                  uint64_t bytes)
{
    jw_obj(j, NULL);
    jw_str(j, "name", name);
    if (steps) {
        jw_u64(j, "first_step", first);
        jw_u64(j, "end_step", end);
    }
    jw_u64(j, "offset_bytes", offset);
    jw_u64(j, "bytes", bytes);
    jw_end(j);
}

void import_empty(jw *j, const char *key, bool array)
{
    if (array)
        jw_arr(j, key);
    else
        jw_obj(j, key);
    jw_end(j);
}

void import_not_observed(jw *j, const char *what, const char *reason)
{
    jw_obj(j, NULL);
    jw_str(j, "what", what);
    jw_str(j, "reason", reason);
    jw_end(j);
}

void import_account(jw *j, const import_writer *w, const char *device)
{
    jw_obj(j, "device");
    jw_str(j, "name", device);
    jw_end(j);
    import_empty(j, "driver", false);
    import_empty(j, "libraries", true);
    import_empty(j, "memcpy", true);
    import_empty(j, "timings", true);
    jw_obj(j, "published");
    import_empty(j, "figures", true);
    jw_end(j);
    jw_arr(j, "files");
    for (size_t i = 0; i < w->n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "path", w->paths[i]);
        jw_digest(j, "sha256", w->digests[i]);
        jw_end(j);
    }
    jw_end(j);
}

jw *import_begin_plan(const char *name)
{
    jw *j = import_begin("replay-plan/1");
    jw_str(j, "name", name);
    jw_obj(j, "policy");
    jw_str(j, "resolver", "given");
    jw_str(j, "arena", "given");
    jw_str(j, "renderer", "opaque");
    jw_end(j);
    import_empty(j, "symbols", true);
    return j;
}

void import_checks(jw *j, uint64_t outputs)
{
    jw_arr(j, "fixtures");
    jw_obj(j, NULL);
    jw_str(j, "name", "integers");
    jw_bool(j, "applies", true);
    jw_str(j, "property", "Exact sums; any misplaced element shows.");
    jw_end(j);
    jw_end(j);
    jw_u64(j, "checks_per_phase", outputs);
    jw_u64(j, "phases", 5);
    jw_u64(j, "checks_total", 5 * outputs);
}

void import_claims(jw *j, const char *no_determinism, uint64_t library_sm, const char *architecture)
{
    jw_obj(j, "determinism");
    jw_bool(j, "claimed", false);
    jw_str(j, "reason", no_determinism);
    jw_end(j);
    jw_obj(j, "architecture");
    jw_u64(j, "kernels_sm", 75);
    jw_u64(j, "library_sm", library_sm);
    jw_str(j, "claim", architecture);
    jw_end(j);
}

void import_library_launch(jw *j, uint64_t node)
{
    const uint64_t zeros[3] = {0};
    jw_obj(j, NULL);
    jw_str(j, "name", "");
    jw_u64(j, "node", node);
    jw_u64s(j, "grid", zeros, 3);
    jw_u64s(j, "block", zeros, 3);
    jw_u64(j, "dynamic_shared_bytes", 0);
    jw_end(j);
}
