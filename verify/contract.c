#include "verify/contract.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"

enum { MAX_ENTRIES = 64 };

const char *const accuracy_class_names[] = {"reference_exact", "tolerance_bounded", NULL};

static rp_code text(rp_err *e, const char **out, js_node *v, const char *key)
{
    if (js_str(e, out, v, key))
        return e->code;
    if (!(*out)[0])
        return js_fail(e, js_find(v, key), FIND_CONTRACT_INVALID, "expected words, found nothing");
    return RP_OK;
}

/* An array of 1 to MAX_ENTRIES, and zeroed storage for it. */
static rp_code list(rp_err *e, js_node **out, void **storage, size_t *n, scratch *sc, js_node *v,
                    const char *key, size_t size)
{
    if (js_arr(e, out, n, v, key))
        return e->code;
    if (*n < 1 || *n > MAX_ENTRIES)
        return js_fail(e, *out, FIND_CONTRACT_INVALID, "expected 1 to %d entries, found %zu", MAX_ENTRIES,
                       *n);
    return (*storage = scratch_array(sc, *n, size)) ? RP_OK : err_nomem(e);
}

static rp_code bound(rp_err *e, double *out, js_node *v, const char *key)
{
    if (js_f64(e, out, v, key))
        return e->code;
    if (!(*out >= 0))
        return js_fail(e, js_find(v, key), FIND_CONTRACT_INVALID,
                       "expected a finite number from 0, found %.17g", *out);
    return RP_OK;
}

static rp_code read_tolerances(rp_err *e, contract *c, scratch *sc, js_node *root)
{
    js_node *arr;
    void *storage;
    if (list(e, &arr, &storage, &c->n_tolerances, sc, root, "tolerances", sizeof *c->tolerances))
        return e->code;
    c->tolerances = storage;
    for (size_t i = 0; i < c->n_tolerances; i++) {
        js_node *v = js_at(arr, i);
        contract_tolerance *t = &c->tolerances[i];
        if (js_as_obj(e, v) || text(e, &t->output, v, "output") || bound(e, &t->tol.atol, v, "atol") ||
            bound(e, &t->tol.rtol, v, "rtol") || js_done(e, v))
            return e->code;
        if (contract_tolerance_of(c, t->output) != t)
            return js_fail(e, v, FIND_CONTRACT_INVALID, "expected each output once, found \"%.64s\" twice",
                           t->output);
        bool positive = t->tol.atol > 0 || t->tol.rtol > 0;
        if (c->accuracy == ACCURACY_TOLERANCE_BOUNDED && !positive)
            return js_fail(e, v, FIND_CONTRACT_INVALID,
                           "expected a positive bound: the accuracy is tolerance_bounded");
        if (c->accuracy == ACCURACY_REFERENCE_EXACT && positive)
            return js_fail(e, v, FIND_CONTRACT_INVALID,
                           "expected bounds of 0: the accuracy is reference_exact");
    }
    return RP_OK;
}

static rp_code read_fixtures(rp_err *e, contract *c, scratch *sc, js_node *root)
{
    js_node *arr;
    void *storage;
    if (list(e, &arr, &storage, &c->n_fixtures, sc, root, "fixtures", sizeof *c->fixtures))
        return e->code;
    c->fixtures = storage;
    for (size_t i = 0; i < c->n_fixtures; i++) {
        js_node *v = js_at(arr, i);
        contract_fixture *f = &c->fixtures[i];
        if (js_as_obj(e, v) || text(e, &f->name, v, "name") || js_bool(e, &f->applies, v, "applies") ||
            text(e, &f->property, v, "property") || js_done(e, v))
            return e->code;
        if (contract_fixture_of(c, f->name) != f)
            return js_fail(e, v, FIND_CONTRACT_INVALID, "expected each fixture once, found \"%.64s\" twice",
                           f->name);
    }
    return RP_OK;
}

static rp_code read_counts(rp_err *e, contract *c, js_node *root)
{
    if (js_u64(e, &c->checks_per_phase, root, "checks_per_phase") || js_u64(e, &c->phases, root, "phases") ||
        js_u64(e, &c->checks_total, root, "checks_total"))
        return e->code;
    uint64_t applying = 0, total;
    for (size_t i = 0; i < c->n_fixtures; i++)
        applying += c->fixtures[i].applies;
    applying *= c->n_tolerances;
    if (applying == 0)
        return js_fail(e, js_find(root, "fixtures"), FIND_CONTRACT_INVALID,
                       "expected a fixture that applies");
    if (c->checks_per_phase != applying)
        return js_fail(e, js_find(root, "checks_per_phase"), FIND_CONTRACT_INVALID,
                       "expected %llu, one a fixture that applies and output; found %llu",
                       (unsigned long long)applying, (unsigned long long)c->checks_per_phase);
    if (c->phases == 0)
        return js_fail(e, js_find(root, "phases"), FIND_CONTRACT_INVALID, "expected 1 or more, found 0");
    if (!ck_mul_u64(c->checks_per_phase, c->phases, &total) || total != c->checks_total)
        return js_fail(e, js_find(root, "checks_total"), FIND_CONTRACT_INVALID,
                       "expected checks_per_phase times phases, found %llu",
                       (unsigned long long)c->checks_total);
    return RP_OK;
}

static rp_code read_accuracy(rp_err *e, contract *c, scratch *sc, js_node *root)
{
    js_node *v, *arr;
    void *storage;
    int kind;
    if (js_obj(e, &v, root, "accuracy") || js_enum(e, &kind, v, "class", accuracy_class_names) ||
        list(e, &arr, &storage, &c->n_measured_k, sc, v, "measured_k", sizeof *c->measured_k) ||
        text(e, &c->growth, v, "growth") || js_done(e, v))
        return e->code;
    c->accuracy = (accuracy_class)kind;
    c->measured_k = storage;
    for (size_t i = 0; i < c->n_measured_k; i++) {
        if (js_as_u64(e, &c->measured_k[i], js_at(arr, i)))
            return e->code;
        if (c->measured_k[i] <= (i ? c->measured_k[i - 1] : 0))
            return js_fail(e, js_at(arr, i), FIND_CONTRACT_INVALID,
                           "expected ascending extents from 1, found %llu",
                           (unsigned long long)c->measured_k[i]);
    }
    return RP_OK;
}

static rp_code read_claims(rp_err *e, contract *c, js_node *root)
{
    js_node *v;
    if (js_obj(e, &v, root, "determinism") || js_bool(e, &c->deterministic, v, "claimed") ||
        text(e, &c->determinism_reason, v, "reason") || js_done(e, v))
        return e->code;
    if (js_obj(e, &v, root, "architecture") || js_u64(e, &c->kernels_sm, v, "kernels_sm") ||
        js_u64(e, &c->library_sm, v, "library_sm") || text(e, &c->architecture_claim, v, "claim"))
        return e->code;
    return js_done(e, v);
}

static bool same_dtypes(const contract_dispatch *a, const contract_dispatch *b)
{
    return a->n_dtypes == b->n_dtypes && !memcmp(a->dtypes, b->dtypes, a->n_dtypes * sizeof *a->dtypes);
}

static rp_code read_dispatch(rp_err *e, contract *c, scratch *sc, js_node *root)
{
    js_node *arr, *types;
    void *storage;
    if (list(e, &arr, &storage, &c->n_dispatch, sc, root, "dispatch", sizeof *c->dispatch))
        return e->code;
    c->dispatch = storage;
    for (size_t i = 0; i < c->n_dispatch; i++) {
        js_node *v = js_at(arr, i);
        contract_dispatch *d = &c->dispatch[i];
        if (js_as_obj(e, v) || text(e, &d->name, v, "name") || text(e, &d->symbol, v, "symbol") ||
            text(e, &d->family, v, "family") ||
            list(e, &types, &storage, &d->n_dtypes, sc, v, "dtypes", sizeof *d->dtypes) || js_done(e, v))
            return e->code;
        d->dtypes = storage;
        for (size_t k = 0; k < d->n_dtypes; k++) {
            const char *name;
            int t = 0;
            if (js_as_str(e, &name, js_at(types, k)))
                return e->code;
            while (dtype_names[t] && strcmp(dtype_names[t], name))
                t++;
            if (!dtype_names[t])
                return js_fail(e, js_at(types, k), FIND_JSON_VALUE, "expected a dtype, found \"%.64s\"",
                               name);
            d->dtypes[k] = (dtype)t;
        }
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(c->dispatch[k].name, d->name))
                return js_fail(e, v, FIND_CONTRACT_INVALID, "expected each name once, found \"%.64s\" twice",
                               d->name);
            if (!strcmp(c->dispatch[k].family, d->family) && same_dtypes(&c->dispatch[k], d))
                return js_fail(
                    e, v, FIND_CONTRACT_INVALID,
                    "expected one member of family \"%.64s\" for these dtypes, found \"%.64s\" as well",
                    d->family, c->dispatch[k].name);
        }
    }
    return RP_OK;
}

rp_code contract_read(rp_err *e, contract **out, scratch *sc, const char *file, span json)
{
    js_node *root;
    contract *c = scratch_alloc(sc, sizeof *c);
    if (!c)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, json) || js_format(e, root, "replay-contract/1") ||
        read_accuracy(e, c, sc, root) || read_tolerances(e, c, sc, root) || read_fixtures(e, c, sc, root) ||
        read_counts(e, c, root) || read_claims(e, c, root) || read_dispatch(e, c, sc, root) ||
        js_done(e, root))
        return e->code;
    *out = c;
    return RP_OK;
}

const contract_tolerance *contract_tolerance_of(const contract *c, const char *output)
{
    for (size_t i = 0; i < c->n_tolerances && c->tolerances[i].output; i++)
        if (!strcmp(c->tolerances[i].output, output))
            return &c->tolerances[i];
    return NULL;
}

const contract_fixture *contract_fixture_of(const contract *c, const char *name)
{
    for (size_t i = 0; i < c->n_fixtures && c->fixtures[i].name; i++)
        if (!strcmp(c->fixtures[i].name, name))
            return &c->fixtures[i];
    return NULL;
}
