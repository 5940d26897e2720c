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

void import_layout_of(jw *j, const uint64_t *shape, uint64_t rank, const char *kind, const uint64_t *strides)
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

void import_layout(jw *j, uint64_t first, uint64_t second, const char *kind)
{
    const uint64_t shape[] = {first, second};
    import_layout_of(j, shape, second ? 2 : 1, kind, NULL);
}

void import_buffer(jw *j, const char *id, bool writable, dtype type, uint64_t first, uint64_t second)
{
    jw_obj(j, NULL);
    jw_str(j, "id", id);
    jw_str(j, "label", id);
    jw_str(j, "owner", "caller");
    jw_str(j, "freed_by", "caller");
    jw_str(j, "access", writable ? "rw" : "ro");
    jw_str(j, "dtype", dtype_names[type]);
    import_layout(j, first, second, "right_major");
    jw_end(j);
}

void import_slot(jw *j, const char *key, const char *port, const char *buffer, uint64_t first,
                 uint64_t second, const char *kind)
{
    jw_obj(j, key);
    jw_str(j, "port", port);
    jw_str(j, "buffer", buffer);
    import_layout(j, first, second, kind);
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

void import_tensor(jw *j, const char *name, dtype type, uint64_t first, uint64_t second, bool values)
{
    const uint64_t shape[] = {first, second};
    jw_obj(j, NULL);
    jw_str(j, "name", name);
    jw_str(j, "dtype", dtype_names[type]);
    jw_u64s(j, "shape", shape, second ? 2 : 1);
    if (values) {
        jw_str(j, "generator", "uniform");
        jw_i64(j, "low", -5);
        jw_i64(j, "high", 5);
        jw_i64(j, "shift", 0);
    }
    jw_end(j);
}

void import_node(jw *j, const char *id, const char *op, const char *a, const char *b)
{
    jw_obj(j, NULL);
    jw_str(j, "id", id);
    jw_str(j, "op", op);
    jw_str(j, "a", a);
    if (b)
        jw_str(j, "b", b);
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
