#include "verify/capture.h"

/* The array `key` of o, with storage for its elements. */
static rp_code list(rp_err *e, js_node **a, void *out, uint64_t *n, scratch *sc, js_node *o, const char *key,
                    size_t size)
{
    size_t count = 0;
    if (js_arr(e, a, &count, o, key))
        return e->code;
    void *v = scratch_array(sc, count, size);
    if (!v)
        return err_nomem(e);
    memcpy(out, &v, sizeof v);
    *n = count;
    return RP_OK;
}

static rp_code read_arena(rp_err *e, capture *c, scratch *sc, js_node *root)
{
    js_node *arena, *a;
    if (js_obj(e, &arena, root, "arena") || js_u64(e, &c->slab_bytes, arena, "slab_bytes") ||
        list(e, &a, &c->ranges, &c->n_ranges, sc, arena, "ranges", sizeof *c->ranges))
        return e->code;
    for (uint64_t i = 0; i < c->n_ranges; i++)
        if (js_str(e, &c->ranges[i].name, js_at(a, i), "name") ||
            js_u64(e, &c->ranges[i].offset_bytes, js_at(a, i), "offset_bytes") ||
            js_u64(e, &c->ranges[i].bytes, js_at(a, i), "bytes"))
            return e->code;
    return RP_OK;
}

static rp_code read_kernels(rp_err *e, capture *c, scratch *sc, js_node *root)
{
    js_node *a;
    if (list(e, &a, &c->kernels, &c->n_kernels, sc, root, "kernels", sizeof *c->kernels))
        return e->code;
    for (uint64_t i = 0; i < c->n_kernels; i++) {
        capture_kernel *k = &c->kernels[i];
        js_node *o = js_at(a, i);
        if (js_str(e, &k->name, o, "name") || js_u64(e, &k->node, o, "node") ||
            js_u64s(e, k->grid, 3, o, "grid") || js_u64s(e, k->block, 3, o, "block") ||
            js_u64(e, &k->dynamic_shared_bytes, o, "dynamic_shared_bytes"))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_calls(rp_err *e, capture *c, scratch *sc, js_node *root)
{
    js_node *a;
    if (list(e, &a, &c->calls, &c->n_calls, sc, root, "calls", sizeof *c->calls))
        return e->code;
    for (uint64_t i = 0; i < c->n_calls; i++) {
        js_node *o = js_at(a, i);
        c->calls[i].trace = "";
        if (js_u64(e, &c->calls[i].node, o, "node") || lt_call_read(e, &c->calls[i].call, o) ||
            (js_find(o, "trace") && js_str(e, &c->calls[i].trace, o, "trace")))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_files(rp_err *e, capture *c, scratch *sc, js_node *root)
{
    js_node *a;
    if (list(e, &a, &c->files, &c->n_files, sc, root, "files", sizeof *c->files))
        return e->code;
    for (uint64_t i = 0; i < c->n_files; i++)
        if (js_str(e, &c->files[i].path, js_at(a, i), "path") ||
            js_digest(e, &c->files[i].sha256, js_at(a, i), "sha256") || js_done(e, js_at(a, i)))
            return e->code;
    return RP_OK;
}

/* Members that are the capture's own account (who observed what, how): required, shown by `inspect`, never
 * interpreted. */
static rp_code read_account(rp_err *e, capture *c, js_node *root)
{
    static const char *const keys[] = {"producer", "original", "driver", "libraries",
                                       "memcpy",   "timings",  NULL};
    js_node *v, *device, *figures;
    size_t n = 0;
    for (int i = 0; keys[i]; i++)
        if (js_get(e, &v, root, keys[i]))
            return e->code;
    if (js_obj(e, &device, root, "device") || js_str(e, &c->device, device, "name") ||
        js_arr(e, &v, &n, root, "not_observed"))
        return e->code;
    c->n_not_observed = n;
    if (js_obj(e, &v, root, "published") || js_arr(e, &figures, &n, v, "figures"))
        return e->code;
    c->n_published = n;
    return RP_OK;
}

rp_code capture_read(rp_err *e, capture *out, scratch *sc, const char *file, span text)
{
    js_node *root;
    capture c = {0};
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-capture/1") ||
        js_str(e, &c.workload, root, "workload") || read_files(e, &c, sc, root) ||
        read_arena(e, &c, sc, root) || read_calls(e, &c, sc, root) || read_kernels(e, &c, sc, root) ||
        read_account(e, &c, root) || js_done(e, root))
        return e->code;
    *out = c;
    return RP_OK;
}

const capture_file *capture_find(const capture *c, const char *path)
{
    for (uint64_t i = 0; i < c->n_files; i++)
        if (!strcmp(c->files[i].path, path))
            return &c->files[i];
    return NULL;
}
