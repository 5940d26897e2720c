/* Frames: registers, predicates and parameter memory of one call by some lanes. */
#include "gpu/emu/run.h"
#include <stdlib.h>

frame *frame_new(worker *k, uint32_t function, frame *parent, uint32_t mask)
{
    const ptx_func *f = &k->x->m->funcs[function];
    frame *fr = k->free_frames[function];
    if (fr) {
        k->free_frames[function] = fr->next_free;
    } else {
        fr = calloc(1, sizeof *fr);
        if (fr) {
            fr->r = calloc(f->n_regs, LANES * sizeof *fr->r);
            fr->p = calloc(f->n_preds, sizeof *fr->p);
            fr->params = calloc(f->param_mem + 1, LANES);
        }
        if (!fr || !fr->r || !fr->p || !fr->params) {
            if (fr) {
                free(fr->r);
                free(fr->p);
                free(fr->params);
            }
            free(fr);
            atomic_store(&k->x->no_memory, true);
            atomic_store(&k->x->stop, true);
            return NULL;
        }
    }
    memset(fr->r, 0, (size_t)f->n_regs * LANES * sizeof *fr->r);
    memset(fr->p, 0, (size_t)f->n_preds * sizeof *fr->p);
    fr->parent = parent;
    fr->f = f;
    fr->index = function;
    fr->code = k->x->code[function];
    fr->lanes = mask;
    fr->cc = 0;
    fr->depth = parent ? parent->depth + 1 : 0;
    fr->local_base = parent ? (parent->local_base + parent->f->local_bytes + 15) & ~UINT64_C(15) : 0;
    fr->site = NULL;
    return fr;
}

void frame_free(worker *k, frame *f)
{
    f->next_free = k->free_frames[f->index];
    k->free_frames[f->index] = f;
}
