#include "verify/bundle.h"
#include "artifacts/tar.h"
#include <stdio.h>

const arena_layout *bundle_arena(const bundle *b)
{
    return b->plan->arena == ARENA_GIVEN ? b->recorded_arena : b->rebuilt_arena;
}

const bundle_kernel *bundle_kernel_of(const bundle *b, const char *source)
{
    for (uint64_t i = 0; i < b->n_kernels; i++)
        if (b->kernels[i].record && !strcmp(b->kernels[i].record->source, source))
            return &b->kernels[i];
    return NULL;
}

const bundle_fixture *bundle_fixture_named(const bundle *b, const char *name)
{
    for (uint64_t i = 0; i < b->n_fixtures; i++)
        if (!strcmp(b->fixtures[i].name, name))
            return &b->fixtures[i];
    return NULL;
}

const manifest_omitted *bundle_kernel_omitted(const bundle *b, const char *source)
{
    static const char *const ends[] = {".cu", ".json", ".ptx"};
    const bundle_kernel *k = bundle_kernel_of(b, source);
    size_t stem = strlen(source) > 3 ? strlen(source) - 3 : 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[TAR_PATH_MAX + 8];
        const manifest_omitted *o = NULL;
        if (stem && stem < TAR_PATH_MAX) {
            snprintf(path, sizeof path, "%.*s%s", (int)stem, source, ends[i]);
            o = manifest_find_omitted(b->man, path);
        }
        if (o)
            return o;
    }
    const manifest_omitted *o = manifest_find_omitted(b->man, source);
    return o || !k ? o : manifest_find_omitted(b->man, k->record->ptx);
}

void bundle_unanswered(report *r, const bundle *b, const char *const *paths, const char *otherwise)
{
    for (size_t i = 0; paths[i]; i++) {
        const manifest_omitted *o = manifest_find_omitted(b->man, paths[i]);
        if (o) {
            report_omitted(r, o->path, o->reason);
            return;
        }
    }
    report_not_checkable(r, "%s", otherwise);
}

/* A file's bytes; a fault of the bundle becomes a finding and gives false. A listed omission gives false. */
static bool bytes_of(rp_err *e, span *out, bundle *b, findings *fs, const char *path)
{
    if (manifest_find_omitted(b->man, path))
        return false;
    if (!store_read(e, out, b->sc, b->st, path))
        return true;
    err_to_finding(e, fs);
    return false;
}

/* The same for what a reader made of them. */
static bool read_ok(rp_err *e, findings *fs, rp_code code)
{
    if (!code)
        return true;
    err_to_finding(e, fs);
    return false;
}

static void load_plan(rp_err *e, bundle *b, findings *fs)
{
    static const char path[] = "plan/plan.json";
    span text;
    if (!bytes_of(e, &text, b, fs, path) || !read_ok(e, fs, plan_read(e, &b->plan, b->sc, path, text)))
        return;
    plan_reach *reach = scratch_alloc(b->sc, sizeof *reach);
    rp_err cycle = {0}; /* reported once, by plan_check */
    if (reach && !plan_reach_build(&cycle, reach, b->sc, b->plan, path))
        b->reach = reach;
    b->requests = scratch_alloc(b->sc, sizeof *b->requests);
    b->rebuilt_arena = scratch_alloc(b->sc, sizeof *b->rebuilt_arena);
    if (!reach || !b->requests || !b->rebuilt_arena) {
        err_nomem(e);
        return;
    }
    if (!read_ok(e, fs, arena_requests(e, b->requests, b->sc, b->plan)) ||
        !read_ok(e, fs, arena_requests(e, b->rebuilt_arena, b->sc, b->plan)) ||
        !read_ok(e, fs, arena_pack(e, b->rebuilt_arena, b->sc))) {
        b->requests = NULL;
        b->rebuilt_arena = NULL;
    }
}

static void load_arena(rp_err *e, bundle *b, findings *fs)
{
    static const char path[] = "plan/arena.json";
    span text;
    arena_layout *l = scratch_alloc(b->sc, sizeof *l);
    if (!l)
        err_nomem(e);
    else if (bytes_of(e, &text, b, fs, path) && read_ok(e, fs, arena_read(e, l, b->sc, path, text)))
        b->recorded_arena = l;
    if (e->code || !b->recorded_arena || !b->requests)
        return;
    findings quiet; /* what does not fit is reported once, by the arena check */
    findings_init(&quiet, b->sc);
    (void)!arena_bind(e, &quiet, b->recorded_arena, b->requests, path);
}

static void load_calls(rp_err *e, bundle *b, findings *fs)
{
    static const char path[] = "plan/resolved_calls.json";
    span text;
    b->have_recorded_calls =
        bytes_of(e, &text, b, fs, path) &&
        read_ok(e, fs, calls_read(e, &b->recorded_calls, &b->n_recorded_calls, b->sc, path, text));
}

static void load_capture(rp_err *e, bundle *b, findings *fs)
{
    static const char path[] = "capture.json";
    span text;
    capture *c = scratch_alloc(b->sc, sizeof *c);
    if (!c)
        err_nomem(e);
    else if (bytes_of(e, &text, b, fs, path) && read_ok(e, fs, capture_read(e, c, b->sc, path, text)))
        b->capture = c;
}

static void load_programs(rp_err *e, bundle *b, findings *fs)
{
    span text;
    if (bytes_of(e, &text, b, fs, "reference.json"))
        (void)read_ok(e, fs, reference_read(e, &b->reference, b->sc, "reference.json", text));
    if (!e->code && bytes_of(e, &text, b, fs, "contract.json"))
        (void)read_ok(e, fs, contract_read(e, &b->contract, b->sc, "contract.json", text));
}

static void load_kernel(rp_err *e, bundle *b, findings *fs, const char *path)
{
    bundle_kernel *k = &b->kernels[b->n_kernels++];
    span text;
    *k = (bundle_kernel){.record_path = path, .node = UINT64_MAX};
    kernel_record *r = scratch_alloc(b->sc, sizeof *r);
    if (!r)
        err_nomem(e);
    else if (bytes_of(e, &text, b, fs, path) && read_ok(e, fs, kernel_record_read(e, r, b->sc, path, text)))
        k->record = r;
    if (!k->record)
        return;
    if (!bytes_of(e, &k->source, b, fs, r->source))
        k->source = (span){0};
    if (!e->code && !bytes_of(e, &k->ptx, b, fs, r->ptx))
        k->ptx = (span){0};
    for (uint64_t i = 0; b->plan && i < b->plan->n_nodes && k->node == UINT64_MAX; i++)
        if (b->plan->nodes[i].op == NODE_KERNEL && !strcmp(b->plan->nodes[i].source, r->source))
            k->node = i;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void load_fixture(rp_err *e, bundle *b, findings *fs, const char *path)
{
    bundle_fixture *f = &b->fixtures[b->n_fixtures++];
    span text;
    size_t stem = strlen(path) - strlen(".json");
    *f = (bundle_fixture){.recipe_path = path};
    f->data_path = scratch_printf(b->sc, "%.*s.safetensors", (int)stem, path);
    f->name = scratch_strndup(b->sc, path + strlen("fixtures/"), stem - strlen("fixtures/"));
    if (!f->data_path || !f->name)
        err_nomem(e);
    else if (bytes_of(e, &text, b, fs, path) &&
             read_ok(e, fs, recipe_read(e, &f->recipe, b->sc, path, text)) &&
             strcmp(recipe_name(f->recipe), f->name))
        findings_add(fs, FIND_FIXTURE_RECIPE, path, "/fixture", f->name, recipe_name(f->recipe),
                     "expected the file's own name, %s, found %s", f->name, recipe_name(f->recipe));
}

rp_code bundle_load(rp_err *e, bundle **out, findings *fs, scratch *sc, store *st)
{
    bundle *b = scratch_alloc(sc, sizeof *b);
    if (!b)
        return err_nomem(e);
    *b = (bundle){.st = st, .man = store_manifest(st), .sc = sc};
    b->kernels = scratch_array(sc, b->man->n_files, sizeof *b->kernels);
    b->fixtures = scratch_array(sc, b->man->n_files, sizeof *b->fixtures);
    if (!b->kernels || !b->fixtures)
        return err_nomem(e);
    void (*const steps[])(rp_err *, bundle *, findings *) = {load_plan, load_arena, load_calls, load_capture,
                                                             load_programs};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !e->code; i++)
        steps[i](e, b, fs);
    for (size_t i = 0; i < b->man->n_files && !e->code; i++) {
        const manifest_file *f = &b->man->files[i];
        if (f->role == ROLE_KERNEL)
            load_kernel(e, b, fs, f->path);
        else if (f->role == ROLE_RECIPE && ends_with(f->path, ".json"))
            load_fixture(e, b, fs, f->path);
    }
    if (!e->code && b->plan) {
        findings quiet; /* refusals are reported once, by the resolve check */
        findings_init(&quiet, sc);
        if (resolve_plan(e, &quiet, &b->calls, &b->n_calls, &b->calls_ok, sc, b->plan, b->recorded_calls,
                         b->n_recorded_calls))
            return e->code;
    }
    *out = b;
    return e->code;
}

/* The document was read, or is a listed omission. */
static bool read_or_omitted(const bundle *b, const void *document, const char *path)
{
    return document || manifest_find_omitted(b->man, path);
}

bool bundle_describable(const bundle *b)
{
    if (!b->plan || !b->reach || !b->requests || !b->rebuilt_arena || !b->recorded_arena || !b->calls_ok ||
        !read_or_omitted(b, b->reference, "reference.json") ||
        !read_or_omitted(b, b->contract, "contract.json"))
        return false;
    for (uint64_t i = 0; i < b->n_kernels; i++) {
        const bundle_kernel *k = &b->kernels[i];
        if (!k->record || !read_or_omitted(b, k->source.p, k->record->source) ||
            !read_or_omitted(b, k->ptx.p, k->record->ptx))
            return false;
    }
    for (uint64_t i = 0; i < b->plan->n_nodes; i++)
        if (b->plan->nodes[i].op == NODE_KERNEL && !bundle_kernel_of(b, b->plan->nodes[i].source) &&
            !bundle_kernel_omitted(b, b->plan->nodes[i].source))
            return false;
    for (uint64_t i = 0; i < b->n_fixtures; i++)
        if (!b->fixtures[i].recipe)
            return false;
    return true;
}

bool bundle_complete(const bundle *b)
{
    if (!bundle_describable(b) || !b->reference || !b->contract)
        return false;
    for (uint64_t i = 0; i < b->n_kernels; i++)
        if (!b->kernels[i].source.p || !b->kernels[i].ptx.p)
            return false;
    for (uint64_t i = 0; i < b->plan->n_nodes; i++)
        if (b->plan->nodes[i].op == NODE_KERNEL && !bundle_kernel_of(b, b->plan->nodes[i].source))
            return false;
    return true;
}

bool bundle_runnable(const bundle *b)
{
    if (!bundle_complete(b))
        return false;
    for (size_t i = 0; i < b->contract->n_fixtures; i++)
        if (b->contract->fixtures[i].applies && !bundle_fixture_named(b, b->contract->fixtures[i].name))
            return false;
    return true;
}
