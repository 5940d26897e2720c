#include "replay/import_xla.h"
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"

static const char ending[] = "-buffer-assignment.txt";

typedef struct {
    scratch *sc;
    const char *dir, *out;
    uint64_t modules, plans, bundles, calls, omitted;
    size_t faults;
} dump;

static void values_json(jw *j, const xla_module *m)
{
    jw_arr(j, "allocations");
    for (size_t i = 0; i < m->n_allocations; i++) {
        const xla_allocation *a = &m->allocations[i];
        jw_obj(j, NULL);
        jw_u64(j, "bytes", a->bytes);
        jw_str(j, "kind", xla_kind_names[a->kind]);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "values");
    for (size_t i = 0; i < m->n_values; i++) {
        const xla_value *v = &m->values[i];
        jw_obj(j, NULL);
        jw_str(j, "name", v->name);
        jw_u64(j, "allocation", v->allocation);
        jw_u64(j, "offset_bytes", v->offset);
        jw_u64(j, "bytes", v->bytes);
        if (v->has_life) {
            jw_u64(j, "from", v->from);
            jw_u64(j, "to", v->to);
        }
        jw_end(j);
    }
    jw_end(j);
}

static void thunks_json(jw *j, dump *d, const xla_module *m)
{
    jw_arr(j, "thunks");
    for (size_t i = 0; i < m->n_thunks; i++) {
        const xla_thunk *t = &m->thunks[i];
        bool call = !strcmp(t->kind, "kCublasLtMatmul");
        jw_obj(j, NULL);
        jw_str(j, "kind", t->kind);
        jw_str(j, "name", t->name);
        jw_str(j, "launch", t->launch);
        jw_str(j, "omitted", call ? NULL : "the dump has no code of it");
        jw_end(j);
        d->calls += call;
        d->omitted += !call;
    }
    jw_end(j);
}

static rp_code one_module(rp_err *e, dump *d, const char *file)
{
    xla_module m;
    span text;
    const char *stem = scratch_strndup(d->sc, file, strlen(file) - strlen(ending)),
               *sm = stem ? strstr(stem, ".sm_") : NULL;
    const char *name = stem ? scratch_strndup(d->sc, stem, sm ? (size_t)(sm - stem) : strlen(stem)) : NULL;
    const char *dir = name ? file_join(d->sc, d->out, name) : NULL,
               *path = dir ? file_join(d->sc, dir, "dump.json") : NULL;
    const char *whole = dir ? file_join(d->sc, dir, "plan") : NULL,
               *calls = dir ? file_join(d->sc, dir, "calls") : NULL;
    if (!path || !whole || !calls)
        return err_nomem(e);
    if (xla_read(e, &m, d->sc, d->dir, name, stem) || file_mkdirs(e, dir))
        return e->code;
    static const char broken[] = "values of the dump share bytes or pass their allocation";
    size_t faults = xla_faults(&m, d->sc);
    const char *no_plan = faults ? broken : NULL, *no_bundle = no_plan;
    if (!faults &&
        (xla_write_plan(e, &no_plan, d->sc, whole, &m) || xla_write_calls(e, &no_bundle, d->sc, calls, &m)))
        return e->code;
    d->modules++;
    d->faults += faults;
    d->plans += !no_plan;
    d->bundles += !no_bundle;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-imported-xla/0");
    jw_str(j, "module", m.name);
    jw_str(j, "plan", no_plan ? NULL : "plan");
    jw_str(j, "no_plan", no_plan);
    jw_str(j, "bundle", no_bundle ? NULL : "calls");
    jw_str(j, "no_bundle", no_bundle);
    jw_u64(j, "faults", faults);
    values_json(j, &m);
    thunks_json(j, d, &m);
    jw_end(j);
    if (!jw_finish(e, &text, j))
        (void)!file_write(e, path, text);
    jw_free(j);
    return e->code;
}

static rp_code all_modules(rp_err *e, dump *d)
{
    const char *const *paths;
    size_t n;
    if (file_tree(e, &paths, &n, d->sc, d->dir))
        return e->code;
    for (size_t i = 0; i < n; i++) {
        size_t k = strlen(paths[i]);
        if (k > strlen(ending) && !strcmp(paths[i] + k - strlen(ending), ending) &&
            one_module(e, d, paths[i]))
            return e->code;
    }
    if (!d->modules) {
        err_set(e, RP_IO, "expected files named *%s, found none", ending);
        return err_file(e, d->dir);
    }
    return RP_OK;
}

int import_xla_dump(const char *dir, const char *out, bool json)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    dump d = {.sc = sc, .dir = dir, .out = out};
    if (!sc)
        err_nomem(&e);
    int code = e.code || all_modules(&e, &d) ? cli_error("import", &e, json)
               : d.faults                    ? EXIT_REJECTED
                                             : EXIT_PASSED;
    if (!e.code && json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-imported/0");
        jw_u64(j, "modules", d.modules);
        jw_u64(j, "plans", d.plans);
        jw_u64(j, "bundles", d.bundles);
        jw_u64(j, "calls", d.calls);
        jw_u64(j, "omitted", d.omitted);
        jw_u64(j, "faults", d.faults);
        jw_i64(j, "exit", code);
        jw_end(j);
        code = cli_print_json(j, code);
    } else if (!e.code) {
        printf("%s modules: %s written as plans, the library calls of %s also as sources that can run; "
               "%s library calls, %s other thunks omitted: the dump has no code of them\n",
               text_count(sc, d.modules), text_count(sc, d.plans), text_count(sc, d.bundles),
               text_count(sc, d.calls), text_count(sc, d.omitted));
        code = cli_finish(code);
    }
    scratch_free(sc);
    return code;
}
