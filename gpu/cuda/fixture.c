#include "gpu/cuda/phase.h"

rp_code fixture_run(rp_err *e, phase *p, uint64_t index)
{
    const job_fixture *f = &p->jb->fixtures[index];
    if (memory_prepare(e, &p->mem, POISON_FIRST, f, p->data) || graph_run(e, p, f->name) ||
        memory_outputs(e, &p->mem, f, p->outputs))
        return e->code;
    return memory_check(e, &p->mem, p->sc, POISON_FIRST, f, p->data, &p->r->fixtures[index]);
}

rp_code fixture_run_all(rp_err *e, phase *p, uint64_t except)
{
    for (uint64_t i = 0; i < p->jb->n_fixtures; i++)
        if (i != except && fixture_run(e, p, i))
            return e->code;
    return RP_OK;
}
