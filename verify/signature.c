#include "verify/signature.h"
#include "verify/render.h"

static void put_arena(jw *j, const bundle *b)
{
    const arena_layout *l = bundle_arena(b);
    jw_obj(j, "arena");
    jw_str(j, "policy", b->plan->arena_name);
    jw_arr(j, "ranges");
    for (uint64_t i = 0; i < l->n; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "bytes", l->ranges[i].bytes);
        jw_str(j, "name", l->ranges[i].name);
        jw_u64(j, "offset_bytes", l->ranges[i].offset_bytes);
        jw_end(j);
    }
    jw_end(j);
    jw_u64(j, "slab_bytes", l->slab_bytes);
    jw_end(j);
}

/* A kernel whose record is omitted: what the plan and the manifest say of it. */
static void put_omitted(jw *j, const bundle *b, uint64_t node)
{
    const char *source = b->plan->nodes[node].source;
    const manifest_omitted *o = manifest_find_omitted(b->man, source);
    jw_obj(j, NULL);
    jw_str(j, "entry", b->plan->nodes[node].entry);
    jw_u64(j, "node", node);
    if (o && o->has_sha256)
        jw_digest(j, "source_sha256", o->sha256);
    else
        jw_null(j, "source_sha256");
    jw_end(j);
}

static void put_kernels(jw *j, const bundle *b)
{
    jw_arr(j, "kernels");
    for (uint64_t i = 0; i < b->plan->n_nodes; i++) {
        if (b->plan->nodes[i].op != NODE_KERNEL)
            continue;
        const bundle_kernel *known = bundle_kernel_of(b, b->plan->nodes[i].source);
        if (!known) {
            put_omitted(j, b, i);
            continue;
        }
        const kernel_record *r = known->record;
        jw_obj(j, NULL);
        jw_str(j, "entry", r->entry);
        jw_u64(j, "node", i);
        jw_arr(j, "options");
        for (uint64_t k = 0; k < r->n_options; k++)
            jw_str(j, NULL, r->options[k]);
        jw_end(j);
        jw_digest(j, "source_sha256", r->source_sha256);
        jw_end(j);
    }
    jw_end(j);
}

rp_code plan_signature(rp_err *e, span *document, digest *out, scratch *sc, const bundle *b)
{
    jw *j = jw_new(JW_CANON);
    span text;
    jw_obj(j, NULL);
    put_arena(j, b);
    calls_write(j, b->plan, b->calls, b->n_calls);
    jw_str(j, "format", "replay-plan-signature/1");
    put_kernels(j, b);
    render_ops(j, b->plan);
    jw_u64(j, "parameter_bytes", plan_parameter_bytes(b->plan));
    jw_end(j);
    if (!jw_finish(e, &text, j)) {
        char *copy = scratch_strndup(sc, (const char *)text.p, text.n);
        if (!copy)
            err_nomem(e);
        *document = span_of(copy, text.n);
        *out = digest_of(text);
    }
    jw_free(j);
    return e->code;
}
