#include "verify/fixture_file.h"
#include "artifacts/safetensors.h"

static bool as_st(st_tensor *out, scratch *sc, const char *prefix, const tensor *t)
{
    *out = (st_tensor){.name = scratch_printf(sc, "%s.%s", prefix, t->name),
                       .type = t->type,
                       .rank = t->rank,
                       .data = span_of(t->data, (size_t)(t->elements * dtype_bytes(t->type)))};
    memcpy(out->shape, t->shape, sizeof out->shape);
    return out->name;
}

rp_code fixture_make(rp_err *e, made_fixture *out, scratch *sc, const recipe *r, const reference *ref)
{
    made_fixture m = {.n_expected = reference_n_outputs(ref)};
    if (recipe_generate(e, &m.inputs, &m.n_inputs, sc, r) ||
        reference_eval(e, &m.expected, sc, ref, m.inputs, m.n_inputs, 0))
        return e->code;
    st_tensor *v = scratch_array(sc, m.n_inputs + m.n_expected, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < m.n_inputs; i++)
        if (!as_st(&v[i], sc, "in", &m.inputs[i]))
            return err_nomem(e);
    for (size_t i = 0; i < m.n_expected; i++)
        if (!as_st(&v[m.n_inputs + i], sc, "out", &m.expected[i]))
            return err_nomem(e);
    if (st_write(e, &m.file, sc, v, m.n_inputs + m.n_expected))
        return e->code;
    *out = m;
    return RP_OK;
}
