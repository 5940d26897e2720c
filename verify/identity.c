/* The byte-for-byte refusal: every captured file by digest, both texts re-rendered, and the capture's own
 * tables. */
#include "verify/render.h"
#include "verify/verify.h"
#include <stdio.h>

/* What is omitted is still what was captured, where both say which bytes that were. */
static bool omitted_digest(report *r, const manifest_omitted *o, const capture_file *k)
{
    char want[DIGEST_HEX], have[DIGEST_HEX];
    if (!o->has_sha256)
        return false;
    if (!digest_equal(o->sha256, k->sha256)) {
        digest_hex(k->sha256, want);
        digest_hex(o->sha256, have);
        findings_add(&r->fs, FIND_IDENTITY_DIGEST, o->path, NULL, want, have,
                     "expected the omitted file to have sha256 %s as captured, found %s", want, have);
    }
    return true;
}

static void check_digests(report *r, const bundle *b)
{
    const manifest *m = b->man;
    uint64_t compared = 0;
    report_begin(r, "identity.capture", true);
    if (!b->capture) {
        report_not_checkable(r, "capture.json could not be read");
        return;
    }
    for (size_t i = 0; i < m->n_files; i++) {
        const manifest_file *f = &m->files[i];
        const capture_file *k = capture_find(b->capture, f->path);
        if (f->role == ROLE_CAPTURE || f->role == ROLE_FIXTURE)
            continue;
        if (!k) {
            findings_add(&r->fs, FIND_IDENTITY_COVERAGE, f->path, NULL, NULL, NULL,
                         "expected a digest in capture.json, found none");
            continue;
        }
        compared++;
        if (!digest_equal(k->sha256, f->sha256)) {
            char want[DIGEST_HEX], have[DIGEST_HEX];
            digest_hex(k->sha256, want);
            digest_hex(f->sha256, have);
            findings_add(&r->fs, FIND_IDENTITY_DIGEST, f->path, NULL, want, have,
                         "expected sha256 %s as captured, found %s", want, have);
        }
    }
    for (uint64_t i = 0; i < b->capture->n_files; i++)
        if (manifest_find_omitted(m, b->capture->files[i].path))
            compared +=
                omitted_digest(r, manifest_find_omitted(m, b->capture->files[i].path), &b->capture->files[i]);
        else if (!manifest_find(m, b->capture->files[i].path))
            findings_add(&r->fs, FIND_IDENTITY_COVERAGE, "capture.json", b->capture->files[i].path, NULL,
                         NULL, "expected %s, which was captured, in the bundle", b->capture->files[i].path);
    report_end(r, "%llu captured digests against the manifest's", (unsigned long long)compared);
}

/* What was there has been compared; the first of the files that is omitted leaves the check without answer.
 */
static void end_tables(report *r, const bundle *b, const char *const *files, const char *compared)
{
    for (size_t i = 0; files[i]; i++)
        if (manifest_find_omitted(b->man, files[i])) {
            bundle_unanswered(r, b, files, "");
            return;
        }
    report_end(r, "%s", compared ? compared : "");
}

static void check_text(rp_err *e, report *r, const bundle *b, const char *path, span rendered)
{
    span have;
    if (manifest_find_omitted(b->man, path))
        return;
    if (store_read(e, &have, r->sc, b->st, path)) {
        err_to_finding(e, &r->fs);
        return;
    }
    size_t at = 0;
    while (at < have.n && at < rendered.n && have.p[at] == rendered.p[at])
        at++;
    if (at < have.n || at < rendered.n)
        findings_add(&r->fs, FIND_IDENTITY_TEXT, path, NULL, NULL, NULL,
                     "expected the %zu bytes that renderer %s makes of plan.json, found %zu bytes that "
                     "differ first at byte %zu",
                     rendered.n, b->plan->renderer_name, have.n, at);
}

static void check_texts(rp_err *e, report *r, const bundle *b)
{
    static const char *const texts[] = {"plan/buffer_ir.txt", "plan/typed_ops.json", NULL};
    span typed;
    report_begin(r, "identity.texts", true);
    if (!b->plan) {
        report_not_checkable(r, "plan.json could not be read");
        return;
    }
    if (b->plan->renderer == RENDER_OPAQUE) {
        for (size_t i = 0; texts[i]; i++)
            if (!manifest_find(b->man, texts[i]) && !manifest_find_omitted(b->man, texts[i]))
                findings_add(&r->fs, FIND_FILE_MISSING, texts[i], NULL, NULL, NULL,
                             "expected the captured text, found none");
        end_tables(r, b, texts,
                   "renderer opaque: buffer_ir.txt and typed_ops.json by digest with the capture alone");
        return;
    }
    const char *ir = render_buffer_ir(r->sc, b->plan);
    if (!ir || render_typed_ops(e, &typed, r->sc, b->plan)) {
        err_nomem(e);
        return;
    }
    check_text(e, r, b, texts[0], span_str(ir));
    if (!e->code)
        check_text(e, r, b, texts[1], typed);
    end_tables(r, b, texts,
               scratch_printf(r->sc, "buffer_ir.txt and typed_ops.json re-rendered by %s, byte for byte",
                              b->plan->renderer_name));
}

static void captured_range(report *r, const bundle *b, const capture_range *c)
{
    const arena_layout *l = b->recorded_arena;
    char where[48];
    for (uint64_t i = 0; i < l->n; i++) {
        if (strcmp(l->ranges[i].name, c->name))
            continue;
        snprintf(where, sizeof where, "/ranges/%llu", (unsigned long long)i);
        if (l->ranges[i].offset_bytes != c->offset_bytes || l->ranges[i].bytes != c->bytes)
            findings_add(&r->fs, FIND_IDENTITY_DIGEST, "plan/arena.json", where, NULL, NULL,
                         "expected %s at %llu with %llu bytes as captured, found %llu with %llu", c->name,
                         (unsigned long long)c->offset_bytes, (unsigned long long)c->bytes,
                         (unsigned long long)l->ranges[i].offset_bytes,
                         (unsigned long long)l->ranges[i].bytes);
        return;
    }
    findings_add(&r->fs, FIND_IDENTITY_DIGEST, "plan/arena.json", "/ranges", NULL, NULL,
                 "expected range %s as captured, found none", c->name);
}

typedef struct {
    findings *fs;
    uint64_t call;
} call_place;

static void call_differs(void *ctx, const char *name, const char *expected, const char *actual)
{
    const call_place *at = ctx;
    char where[80];
    snprintf(where, sizeof where, "/calls/%llu/%s", (unsigned long long)at->call, name);
    findings_add(at->fs, FIND_IDENTITY_DIGEST, "plan/resolved_calls.json", where, expected, actual,
                 "expected %s %s as captured, found %s", name, expected, actual);
}

static void captured_calls(report *r, const bundle *b)
{
    const capture *c = b->capture;
    if (c->n_calls != b->n_recorded_calls)
        findings_add(&r->fs, FIND_IDENTITY_DIGEST, "plan/resolved_calls.json", "/calls", NULL, NULL,
                     "expected %llu calls as captured, found %llu", (unsigned long long)c->n_calls,
                     (unsigned long long)b->n_recorded_calls);
    for (uint64_t i = 0; i < c->n_calls && i < b->n_recorded_calls; i++) {
        lt_call seen = c->calls[i].call;
        call_place at = {&r->fs, i};
        seen.beta_one = b->recorded_calls[i].call.beta_one; /* not in the capture's call record */
        lt_call_compare(&seen, &b->recorded_calls[i].call, call_differs, &at);
        if (c->calls[i].node != b->recorded_calls[i].node) {
            char want[24], have[24];
            snprintf(want, sizeof want, "%llu", (unsigned long long)c->calls[i].node);
            snprintf(have, sizeof have, "%llu", (unsigned long long)b->recorded_calls[i].node);
            call_differs(&at, "node", want, have);
        }
    }
}

static bool saw_node(const capture *c, uint64_t node)
{
    for (uint64_t i = 0; i < c->n_kernels; i++)
        if (c->kernels[i].node == node)
            return true;
    return false;
}

static void captured_kernels(report *r, const bundle *b)
{
    char where[48];
    for (uint64_t i = 0; i < b->plan->n_nodes; i++)
        if ((b->plan->nodes[i].op == NODE_KERNEL || b->plan->nodes[i].op == NODE_MATMUL) &&
            !saw_node(b->capture, i)) {
            snprintf(where, sizeof where, "/nodes/%llu", (unsigned long long)i);
            findings_add(&r->fs, FIND_IDENTITY_COVERAGE, "plan/plan.json", where, NULL, NULL,
                         "expected a kernel of node %llu among those captured, found none",
                         (unsigned long long)i);
        }
    for (uint64_t i = 0; i < b->capture->n_kernels; i++) {
        const capture_kernel *k = &b->capture->kernels[i];
        const plan_node *n = k->node < b->plan->n_nodes ? &b->plan->nodes[k->node] : NULL;
        snprintf(where, sizeof where, "/nodes/%llu", (unsigned long long)k->node);
        if (!n || !node_launches(n))
            findings_add(&r->fs, FIND_IDENTITY_DIGEST, "plan/plan.json", where, NULL, NULL,
                         "expected a launch at node %llu, where the capture saw kernel %s",
                         (unsigned long long)k->node, k->name);
        else if (n->op == NODE_KERNEL &&
                 (memcmp(n->grid, k->grid, sizeof k->grid) || memcmp(n->block, k->block, sizeof k->block) ||
                  n->shared_bytes != k->dynamic_shared_bytes))
            findings_add(
                &r->fs, FIND_IDENTITY_DIGEST, "plan/plan.json", where, NULL, NULL,
                "expected the captured launch of node %llu, found another grid, block or shared size",
                (unsigned long long)k->node);
    }
}

static void captured_arena(report *r, const bundle *b)
{
    for (uint64_t i = 0; i < b->capture->n_ranges; i++)
        captured_range(r, b, &b->capture->ranges[i]);
    if (b->capture->n_ranges < b->recorded_arena->n)
        findings_add(&r->fs, FIND_IDENTITY_COVERAGE, "plan/arena.json", "/ranges", NULL, NULL,
                     "expected no more than the %llu ranges captured, found %llu",
                     (unsigned long long)b->capture->n_ranges, (unsigned long long)b->recorded_arena->n);
    if (b->capture->slab_bytes != b->recorded_arena->slab_bytes)
        findings_add(&r->fs, FIND_IDENTITY_DIGEST, "plan/arena.json", "/slab_bytes", NULL, NULL,
                     "expected %llu bytes as captured, found %llu",
                     (unsigned long long)b->capture->slab_bytes,
                     (unsigned long long)b->recorded_arena->slab_bytes);
}

static void check_tables(report *r, const bundle *b)
{
    static const char *const tables[] = {"plan/arena.json", "plan/resolved_calls.json", NULL};
    report_begin(r, "identity.tables", true);
    bool arena = b->recorded_arena, calls = b->have_recorded_calls;
    if (!b->capture || !b->plan || (!arena && !manifest_find_omitted(b->man, tables[0])) ||
        (!calls && !manifest_find_omitted(b->man, tables[1]))) {
        report_not_checkable(r, "a document that it needs could not be read");
        return;
    }
    if (arena)
        captured_arena(r, b);
    if (calls)
        captured_calls(r, b);
    captured_kernels(r, b);
    end_tables(r, b, tables,
               scratch_printf(r->sc,
                              "captured arena (%llu ranges), calls (%llu) and launches (%llu) against plan, "
                              "arena and calls",
                              (unsigned long long)b->capture->n_ranges,
                              (unsigned long long)b->capture->n_calls,
                              (unsigned long long)b->capture->n_kernels));
}

void verify_identity(rp_err *e, report *r, const bundle *b)
{
    check_digests(r, b);
    if (!e->code)
        check_texts(e, r, b);
    if (!e->code)
        check_tables(r, b);
}
