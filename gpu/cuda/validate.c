/* Two runs of each fixture over two poisons that differ in every byte: what both runs leave as they found it
 * was never written, and what differs between them hangs on something that is no input. */
#include "gpu/cuda/phase.h"
#include <stdlib.h>

static rp_code second_run(rp_err *e, phase *p, uint64_t index, uint8_t *second)
{
    const job_fixture *f = &p->jb->fixtures[index];
    result_fixture *r = &p->r->fixtures[index];
    if (memory_prepare(e, &p->mem, POISON_SECOND, f, p->data) || graph_run(e, p, f->name) ||
        memory_outputs(e, &p->mem, f, second) ||
        memory_check(e, &p->mem, p->sc, POISON_SECOND, f, p->data, r))
        return e->code;
    r->runs_equal = true;
    for (uint64_t i = 0; i < f->n_outputs; i++) {
        uint64_t at = f->outputs[i].offset_bytes, bytes = p->jb->buffers[f->outputs[i].buffer].bytes;
        const uint8_t *a = p->outputs + at, *b = second + at;
        if (bytes && memcmp(a, b, bytes))
            r->runs_equal = false;
        for (uint64_t k = 0; k < bytes; k++)
            r->unwritten_bytes += a[k] == POISON_FIRST && b[k] == POISON_SECOND;
    }
    return RP_OK;
}

rp_code validate_run(rp_err *e, phase *p)
{
    uint8_t *second = malloc(p->jb->output_bytes + 1);
    if (!second)
        return err_nomem(e);
    rp_code rc = RP_OK;
    for (uint64_t i = 0; !rc && i < p->jb->n_fixtures; i++) {
        rc = fixture_run(e, p, i);
        if (!rc)
            rc = second_run(e, p, i, second);
    }
    free(second);
    return rc ? rc : strays_run(e, p);
}
