#include "gpu/result.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"

const char *const result_node_names[] = {"kernel", "memcpy", "other", NULL};
static const char *const status_names[] = {"ok", "failed", NULL};
static const char *const scope_names[] = {"host_graph_launch_sync", "host_stream_launch_sync",
                                          "device_events", "cupti_activity", NULL};

const char result_emulator[] = "replay-emu (CPU)";

bool result_emulated(const result *r)
{
    return r->device_name && !strcmp(r->device_name, result_emulator);
}

/* --- Writing. --- */

static void text(jw *j, const char *key, const char *s)
{
    jw_str(j, key, s ? s : "");
}

static void write_node(jw *j, const result_node *n, bool timed)
{
    jw_obj(j, NULL);
    jw_str(j, "kind", result_node_names[n->kind]);
    text(j, "name", n->name);
    jw_u64s(j, "grid", n->grid, 3);
    jw_u64s(j, "block", n->block, 3);
    jw_u64s(j, "cluster", n->cluster, 3);
    jw_u64(j, "dynamic_shared_bytes", n->dynamic_shared_bytes);
    jw_u64(j, "registers", n->registers);
    jw_u64(j, "bytes", n->bytes);
    if (timed) {
        jw_u64(j, "static_shared_bytes", n->static_shared_bytes);
        jw_u64(j, "start_ns", n->start_ns);
        jw_u64(j, "end_ns", n->end_ns);
        jw_u64(j, "launch", n->launch);
    }
    jw_end(j);
}

static void write_fixture(jw *j, const result_fixture *f, bool validate)
{
    jw_obj(j, NULL);
    text(j, "name", f->name);
    jw_bool(j, "inputs_unchanged", f->inputs_unchanged);
    text(j, "inputs_changed", f->inputs_changed);
    jw_bool(j, "guards_intact", f->guards_intact);
    text(j, "guards_broken", f->guards_broken);
    if (validate) {
        jw_bool(j, "runs_equal", f->runs_equal);
        jw_u64(j, "unwritten_bytes", f->unwritten_bytes);
    }
    jw_end(j);
}

static void write_device(jw *j, const result *r)
{
    jw_obj(j, "device");
    text(j, "name", r->device_name);
    text(j, "uuid_sha256", r->device_uuid_sha256);
    text(j, "compute_capability", r->compute_capability);
    text(j, "driver", r->driver);
    jw_u64(j, "sm_count", r->sm_count);
    jw_u64(j, "memory_bytes", r->memory_bytes);
    jw_u64(j, "l2_bytes", r->l2_bytes);
    jw_end(j);
}

static void write_algorithm(jw *j, const result_algorithm *a)
{
    jw_obj(j, NULL);
    jw_u64(j, "node", a->node);
    jw_i64(j, "id", a->id);
    jw_i64(j, "tile", a->tile);
    jw_i64(j, "stages", a->stages);
    jw_i64(j, "split_k", a->split_k);
    jw_i64(j, "reduction", a->reduction);
    jw_i64(j, "swizzle", a->swizzle);
    jw_i64(j, "custom_option", a->custom_option);
    jw_i64(j, "cluster", a->cluster);
    jw_i64(j, "inner_shape", a->inner_shape);
    jw_u64(j, "workspace_bytes", a->workspace_bytes);
    jw_end(j);
}

static void write_clock(jw *j, const result_clock *c)
{
    jw_obj(j, NULL);
    jw_u64(j, "sm_mhz", c->sm_mhz);
    jw_u64(j, "mem_mhz", c->mem_mhz);
    jw_u64(j, "power_mw", c->power_mw);
    jw_u64(j, "throttle_reasons", c->throttle_reasons);
    jw_u64(j, "temperature_c", c->temperature_c);
    jw_end(j);
}

/* What only the emulator has is absent elsewhere. */
static void write_emulated(jw *j, const result *r)
{
    if (r->n_findings) {
        jw_arr(j, "findings");
        for (uint64_t i = 0; i < r->n_findings; i++) {
            const result_finding *f = &r->findings[i];
            jw_obj(j, NULL);
            text(j, "kind", f->kind);
            text(j, "fixture", f->fixture);
            jw_u64(j, "node", f->node);
            text(j, "kernel", f->kernel);
            jw_u64(j, "line", f->line);
            jw_u64s(j, "block", f->block, 3);
            jw_u64s(j, "thread", f->thread, 3);
            text(j, "buffer", f->buffer);
            jw_i64(j, "offset_bytes", f->offset_bytes);
            jw_u64(j, "bytes", f->bytes);
            jw_u64(j, "count", f->count);
            text(j, "message", f->message);
            jw_end(j);
        }
        jw_end(j);
    }
    if (r->n_kernels) {
        jw_arr(j, "kernels");
        for (uint64_t i = 0; i < r->n_kernels; i++) {
            jw_obj(j, NULL);
            jw_u64(j, "node", r->kernels[i].node);
            text(j, "entry", r->kernels[i].entry);
            text(j, "approximate", r->kernels[i].approximate);
            text(j, "contractible", r->kernels[i].contractible);
            jw_end(j);
        }
        jw_end(j);
    }
    if (r->n_instructions) {
        jw_arr(j, "instructions");
        for (uint64_t i = 0; i < r->n_instructions; i++) {
            jw_obj(j, NULL);
            jw_u64(j, "node", r->instructions[i].node);
            text(j, "entry", r->instructions[i].entry);
            text(j, "instruction", r->instructions[i].instruction);
            jw_u64(j, "count", r->instructions[i].count);
            jw_end(j);
        }
        jw_end(j);
    }
}

void result_write(jw *j, const result *r)
{
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-result/0");
    jw_digest(j, "job_sha256", r->job_sha256);
    jw_digest(j, "outputs_sha256", r->outputs_sha256);
    jw_str(j, "phase", job_phase_names[r->phase]);
    jw_str(j, "status", status_names[r->ok ? 0 : 1]);
    text(j, "error", r->error);
    jw_bool(j, "profile_error", r->profile_error);
    if (r->unavailable)
        jw_bool(j, "unavailable", true);
    if (r->refused)
        jw_bool(j, "refused", true);
    write_device(j, r);

    jw_arr(j, "libraries");
    for (uint64_t i = 0; i < r->n_libraries; i++) {
        jw_obj(j, NULL);
        text(j, "soname", r->libraries[i].soname);
        text(j, "version", r->libraries[i].version);
        jw_u64(j, "bytes", r->libraries[i].bytes);
        jw_digest(j, "sha256", r->libraries[i].sha256);
        jw_end(j);
    }
    jw_end(j);
    text(j, "library_log", r->library_log);
    jw_arr(j, "algorithms");
    for (uint64_t i = 0; i < r->n_algorithms; i++)
        write_algorithm(j, &r->algorithms[i]);
    jw_end(j);
    jw_arr(j, "graph");
    for (uint64_t i = 0; i < r->n_graph; i++)
        write_node(j, &r->graph[i], false);
    jw_end(j);
    jw_arr(j, "fixtures");
    for (uint64_t i = 0; i < r->n_fixtures; i++)
        write_fixture(j, &r->fixtures[i], r->phase == JOB_VALIDATE);
    jw_end(j);
    jw_arr(j, "strays");
    for (uint64_t i = 0; i < r->n_strays; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "node", r->strays[i].node);
        jw_u64(j, "stray_bytes", r->strays[i].stray_bytes);
        jw_u64(j, "first_offset_bytes", r->strays[i].first_offset_bytes);
        text(j, "buffer", r->strays[i].buffer);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "timings");
    for (uint64_t i = 0; i < r->n_timings; i++) {
        jw_obj(j, NULL);
        jw_str(j, "scope", r->timings[i].scope);
        jw_u64(j, "calls_per_block", r->timings[i].calls_per_block);
        jw_u64s(j, "samples_ps", r->timings[i].samples_ps, (size_t)r->timings[i].n);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "clocks");
    for (uint64_t i = 0; i < r->n_clocks; i++)
        write_clock(j, &r->clocks[i]);
    jw_end(j);

    jw_u64(j, "timeline_launches", r->timeline_launches);
    jw_u64(j, "timeline_dropped", r->timeline_dropped);
    jw_arr(j, "timeline");
    for (uint64_t i = 0; i < r->n_timeline; i++)
        write_node(j, &r->timeline[i], true);
    jw_end(j);
    jw_arr(j, "cubins");
    for (uint64_t i = 0; i < r->n_cubins; i++) {
        jw_obj(j, NULL);
        jw_digest(j, "sha256", r->cubins[i].sha256);
        jw_u64(j, "bytes", r->cubins[i].bytes);
        jw_u64(j, "output_offset_bytes", r->cubins[i].output_offset_bytes);
        text(j, "kernels", r->cubins[i].kernels);
        jw_end(j);
    }
    jw_end(j);
    write_emulated(j, r);
    jw_end(j);
}

/* --- Reading. --- */

typedef struct {
    rp_err *e;
    scratch *sc;
    result *r;
} reader;

/* The array `key` of objects, and zeroed storage for as many elements. */
static rp_code list(reader *rd, js_node **arr, uint64_t *n, void **items, size_t size, js_node *root,
                    const char *key)
{
    size_t len;
    if (js_arr(rd->e, arr, &len, root, key))
        return rd->e->code;
    for (size_t i = 0; i < len; i++)
        if (js_as_obj(rd->e, js_at(*arr, i)))
            return rd->e->code;
    if (!(*items = scratch_array(rd->sc, len, size)))
        return err_nomem(rd->e);
    *n = len;
    return RP_OK;
}

static rp_code read_device(reader *rd, js_node *root)
{
    js_node *o;
    result *r = rd->r;
    digest d;
    if (js_obj(rd->e, &o, root, "device") || js_str(rd->e, &r->device_name, o, "name") ||
        js_str(rd->e, &r->device_uuid_sha256, o, "uuid_sha256") ||
        js_str(rd->e, &r->compute_capability, o, "compute_capability") ||
        js_str(rd->e, &r->driver, o, "driver") || js_u64(rd->e, &r->sm_count, o, "sm_count") ||
        js_u64(rd->e, &r->memory_bytes, o, "memory_bytes") || js_u64(rd->e, &r->l2_bytes, o, "l2_bytes") ||
        js_done(rd->e, o))
        return rd->e->code;
    if (r->device_uuid_sha256[0] && !digest_parse(r->device_uuid_sha256, &d))
        return js_fail(rd->e, o, FIND_EVIDENCE_INVALID,
                       "expected a SHA-256 of the UUID or nothing, found \"%.80s\"", r->device_uuid_sha256);
    return RP_OK;
}

static rp_code read_libraries(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    if (list(rd, &arr, &rd->r->n_libraries, &items, sizeof *rd->r->libraries, root, "libraries"))
        return rd->e->code;
    rd->r->libraries = items;
    for (uint64_t i = 0; i < rd->r->n_libraries; i++) {
        js_node *o = js_at(arr, i);
        result_library *l = &rd->r->libraries[i];
        if (js_str(rd->e, &l->soname, o, "soname") || js_str(rd->e, &l->version, o, "version") ||
            js_u64(rd->e, &l->bytes, o, "bytes") || js_digest(rd->e, &l->sha256, o, "sha256") ||
            js_done(rd->e, o))
            return rd->e->code;
    }
    return RP_OK;
}

static rp_code read_algorithms(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_algorithms, &items, sizeof *rd->r->algorithms, root, "algorithms"))
        return e->code;
    rd->r->algorithms = items;
    for (uint64_t i = 0; i < rd->r->n_algorithms; i++) {
        js_node *o = js_at(arr, i);
        result_algorithm *a = &rd->r->algorithms[i];
        if (js_u64(e, &a->node, o, "node") || js_i64(e, &a->id, o, "id") || js_i64(e, &a->tile, o, "tile") ||
            js_i64(e, &a->stages, o, "stages") || js_i64(e, &a->split_k, o, "split_k") ||
            js_i64(e, &a->reduction, o, "reduction") || js_i64(e, &a->swizzle, o, "swizzle") ||
            js_i64(e, &a->custom_option, o, "custom_option") || js_i64(e, &a->cluster, o, "cluster") ||
            js_i64(e, &a->inner_shape, o, "inner_shape") ||
            js_u64(e, &a->workspace_bytes, o, "workspace_bytes") || js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_nodes(reader *rd, result_node **out, uint64_t *n, js_node *root, const char *key,
                          bool timed)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, n, &items, sizeof **out, root, key))
        return e->code;
    *out = items;
    for (uint64_t i = 0; i < *n; i++) {
        js_node *o = js_at(arr, i);
        result_node *v = &(*out)[i];
        int kind;
        if (js_enum(e, &kind, o, "kind", result_node_names) || js_str(e, &v->name, o, "name") ||
            js_u64s(e, v->grid, 3, o, "grid") || js_u64s(e, v->block, 3, o, "block") ||
            js_u64s(e, v->cluster, 3, o, "cluster") ||
            js_u64(e, &v->dynamic_shared_bytes, o, "dynamic_shared_bytes") ||
            js_u64(e, &v->registers, o, "registers") || js_u64(e, &v->bytes, o, "bytes"))
            return e->code;
        v->kind = (result_node_kind)kind;
        if (timed) {
            if (js_u64(e, &v->static_shared_bytes, o, "static_shared_bytes") ||
                js_u64(e, &v->start_ns, o, "start_ns") || js_u64(e, &v->end_ns, o, "end_ns") ||
                js_u64(e, &v->launch, o, "launch"))
                return e->code;
            if (v->end_ns < v->start_ns)
                return js_fail(e, o, FIND_EVIDENCE_INVALID, "expected an end at or after %llu, found %llu",
                               (unsigned long long)v->start_ns, (unsigned long long)v->end_ns);
            if (i && v->start_ns < v[-1].start_ns)
                return js_fail(e, o, FIND_EVIDENCE_INVALID, "expected records sorted by start");
        }
        if (js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_fixtures(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_fixtures, &items, sizeof *rd->r->fixtures, root, "fixtures"))
        return e->code;
    rd->r->fixtures = items;
    for (uint64_t i = 0; i < rd->r->n_fixtures; i++) {
        js_node *o = js_at(arr, i);
        result_fixture *f = &rd->r->fixtures[i];
        if (js_str(e, &f->name, o, "name") || js_bool(e, &f->inputs_unchanged, o, "inputs_unchanged") ||
            js_str(e, &f->inputs_changed, o, "inputs_changed") ||
            js_bool(e, &f->guards_intact, o, "guards_intact") ||
            js_str(e, &f->guards_broken, o, "guards_broken"))
            return e->code;
        if (rd->r->phase == JOB_VALIDATE && (js_bool(e, &f->runs_equal, o, "runs_equal") ||
                                             js_u64(e, &f->unwritten_bytes, o, "unwritten_bytes")))
            return e->code;
        if (f->inputs_unchanged != !f->inputs_changed[0] || f->guards_intact != !f->guards_broken[0])
            return js_fail(e, o, FIND_EVIDENCE_INVALID,
                           "expected names exactly where something was changed or broken");
        if (js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_strays(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_strays, &items, sizeof *rd->r->strays, root, "strays"))
        return e->code;
    rd->r->strays = items;
    for (uint64_t i = 0; i < rd->r->n_strays; i++) {
        js_node *o = js_at(arr, i);
        result_stray *s = &rd->r->strays[i];
        if (js_u64(e, &s->node, o, "node") || js_u64(e, &s->stray_bytes, o, "stray_bytes") ||
            js_u64(e, &s->first_offset_bytes, o, "first_offset_bytes") ||
            js_str(e, &s->buffer, o, "buffer") || js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_timings(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_timings, &items, sizeof *rd->r->timings, root, "timings"))
        return e->code;
    rd->r->timings = items;
    for (uint64_t i = 0; i < rd->r->n_timings; i++) {
        js_node *o = js_at(arr, i), *samples;
        result_timing *t = &rd->r->timings[i];
        size_t n;
        int scope;
        if (js_enum(e, &scope, o, "scope", scope_names) ||
            js_u64(e, &t->calls_per_block, o, "calls_per_block") || js_arr(e, &samples, &n, o, "samples_ps"))
            return e->code;
        t->scope = scope_names[scope];
        for (uint64_t k = 0; k < i; k++)
            if (rd->r->timings[k].scope == t->scope)
                return js_fail(e, o, FIND_EVIDENCE_INVALID, "expected scopes that differ, found %s twice",
                               t->scope);
        if (!n || !t->calls_per_block)
            return js_fail(e, o, FIND_EVIDENCE_INVALID, "expected calls and samples, found none");
        if (!(t->samples_ps = scratch_array(rd->sc, n, sizeof *t->samples_ps)))
            return err_nomem(e);
        t->n = n;
        for (size_t k = 0; k < n; k++) {
            if (js_as_u64(e, &t->samples_ps[k], js_at(samples, k)))
                return e->code;
            if (!t->samples_ps[k])
                return js_fail(e, js_at(samples, k), FIND_EVIDENCE_INVALID, "expected a time above 0");
        }
        if (js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_clocks(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_clocks, &items, sizeof *rd->r->clocks, root, "clocks"))
        return e->code;
    rd->r->clocks = items;
    for (uint64_t i = 0; i < rd->r->n_clocks; i++) {
        js_node *o = js_at(arr, i);
        result_clock *c = &rd->r->clocks[i];
        if (js_u64(e, &c->sm_mhz, o, "sm_mhz") || js_u64(e, &c->mem_mhz, o, "mem_mhz") ||
            js_u64(e, &c->power_mw, o, "power_mw") ||
            js_u64(e, &c->throttle_reasons, o, "throttle_reasons") ||
            js_u64(e, &c->temperature_c, o, "temperature_c") || js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_cubins(reader *rd, js_node *root)
{
    js_node *arr;
    void *items;
    rp_err *e = rd->e;
    if (list(rd, &arr, &rd->r->n_cubins, &items, sizeof *rd->r->cubins, root, "cubins"))
        return e->code;
    rd->r->cubins = items;
    for (uint64_t i = 0; i < rd->r->n_cubins; i++) {
        js_node *o = js_at(arr, i);
        result_cubin *c = &rd->r->cubins[i];
        if (js_digest(e, &c->sha256, o, "sha256") || js_u64(e, &c->bytes, o, "bytes") ||
            js_u64(e, &c->output_offset_bytes, o, "output_offset_bytes") ||
            js_str(e, &c->kernels, o, "kernels") || js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

/* An array that may be absent. */
static rp_code optional_list(reader *rd, js_node **arr, uint64_t *n, void **items, size_t size, js_node *root,
                             const char *key)
{
    *n = 0;
    *items = NULL;
    return js_find(root, key) ? list(rd, arr, n, items, size, root, key) : RP_OK;
}

static rp_code read_finding(rp_err *e, result_finding *f, js_node *o)
{
    if (js_str(e, &f->kind, o, "kind") || js_str(e, &f->fixture, o, "fixture") ||
        js_u64(e, &f->node, o, "node") || js_str(e, &f->kernel, o, "kernel") ||
        js_u64(e, &f->line, o, "line") || js_u64s(e, f->block, 3, o, "block") ||
        js_u64s(e, f->thread, 3, o, "thread") || js_str(e, &f->buffer, o, "buffer") ||
        js_i64(e, &f->offset_bytes, o, "offset_bytes") || js_u64(e, &f->bytes, o, "bytes") ||
        js_u64(e, &f->count, o, "count") || js_str(e, &f->message, o, "message"))
        return e->code;
    return js_done(e, o);
}

static rp_code read_emulated(reader *rd, js_node *root)
{
    js_node *arr = NULL;
    void *items;
    rp_err *e = rd->e;
    result *r = rd->r;
    if (optional_list(rd, &arr, &r->n_findings, &items, sizeof *r->findings, root, "findings"))
        return e->code;
    r->findings = items;
    for (uint64_t i = 0; i < r->n_findings; i++)
        if (read_finding(e, &r->findings[i], js_at(arr, i)))
            return e->code;
    if (optional_list(rd, &arr, &r->n_kernels, &items, sizeof *r->kernels, root, "kernels"))
        return e->code;
    r->kernels = items;
    for (uint64_t i = 0; i < r->n_kernels; i++) {
        js_node *o = js_at(arr, i);
        result_kernel *k = &r->kernels[i];
        if (js_u64(e, &k->node, o, "node") || js_str(e, &k->entry, o, "entry") ||
            js_str(e, &k->approximate, o, "approximate") || js_str(e, &k->contractible, o, "contractible") ||
            js_done(e, o))
            return e->code;
    }
    if (optional_list(rd, &arr, &r->n_instructions, &items, sizeof *r->instructions, root, "instructions"))
        return e->code;
    r->instructions = items;
    for (uint64_t i = 0; i < r->n_instructions; i++) {
        js_node *o = js_at(arr, i);
        result_instruction *k = &r->instructions[i];
        if (js_u64(e, &k->node, o, "node") || js_str(e, &k->entry, o, "entry") ||
            js_str(e, &k->instruction, o, "instruction") || js_u64(e, &k->count, o, "count") || js_done(e, o))
            return e->code;
    }
    return RP_OK;
}

static rp_code read_root(reader *rd, const char *file, span json)
{
    rp_err *e = rd->e;
    result *r = rd->r;
    js_node *root;
    int phase, status;
    if (js_parse(e, &root, rd->sc, file, json) || js_as_obj(e, root) ||
        js_format(e, root, "replay-result/0") || js_digest(e, &r->job_sha256, root, "job_sha256") ||
        js_digest(e, &r->outputs_sha256, root, "outputs_sha256") ||
        js_enum(e, &phase, root, "phase", job_phase_names) ||
        js_enum(e, &status, root, "status", status_names) || js_str(e, &r->error, root, "error") ||
        js_bool(e, &r->profile_error, root, "profile_error") ||
        js_str(e, &r->library_log, root, "library_log") ||
        js_u64(e, &r->timeline_launches, root, "timeline_launches") ||
        js_u64(e, &r->timeline_dropped, root, "timeline_dropped") ||
        (js_find(root, "unavailable") && js_bool(e, &r->unavailable, root, "unavailable")) ||
        (js_find(root, "refused") && js_bool(e, &r->refused, root, "refused")))
        return e->code;
    r->phase = (job_phase)phase;
    r->ok = status == 0;
    if (r->ok != !r->error[0] || (r->ok && (r->profile_error || r->unavailable || r->refused)))
        return js_fail(e, root, FIND_EVIDENCE_INVALID,
                       "expected an error exactly where the status is failed");
    if (read_device(rd, root) || read_libraries(rd, root) || read_algorithms(rd, root) ||
        read_nodes(rd, &r->graph, &r->n_graph, root, "graph", false) || read_fixtures(rd, root) ||
        read_strays(rd, root) || read_timings(rd, root) || read_clocks(rd, root) ||
        read_nodes(rd, &r->timeline, &r->n_timeline, root, "timeline", true) || read_cubins(rd, root) ||
        read_emulated(rd, root))
        return e->code;
    return js_done(e, root);
}

rp_code result_send(rp_err *e, const result *r, int fd)
{
    span text;
    jw *j = jw_new(JW_PRETTY);
    result_write(j, r);
    rp_code rc = jw_finish(e, &text, j);
    if (!rc)
        rc = file_write_fd(e, fd, "result.json", text);
    jw_free(j);
    return rc;
}

rp_code result_read(rp_err *e, result **out, scratch *sc, const char *file, span json)
{
    result *r = scratch_alloc(sc, sizeof *r);
    reader rd = {.e = e, .sc = sc, .r = r};
    if (!r)
        return err_nomem(e);
    if (read_root(&rd, file, json)) {
        if (e->code == RP_INVALID)
            e->id = FIND_EVIDENCE_INVALID;
        return e->code;
    }
    *out = r;
    return RP_OK;
}
