/* The pass node by node: all device memory is read before and after each step, and every byte outside the
 * step's declared writes must have kept its value. Guards and padding are read too. */
#include "gpu/cuda/cu.h"
#include "gpu/cuda/phase.h"
#include <stdio.h>
#include <stdlib.h>

/* Whether byte `at` of block `b` lies in a buffer that the step may write; *until is the first byte where the
 * answer may change. */
static bool declared(const phase *p, const job_step *s, uint64_t b, uint64_t at, uint64_t *until)
{
    bool inside = false;
    *until = p->mem.blocks[b].total_bytes;
    for (uint64_t i = 0; i < s->n_writes; i++) {
        if (p->mem.block_of[s->writes[i]] != b)
            continue;
        uint64_t from = memory_offset(&p->mem, s->writes[i]), to = from + p->jb->buffers[s->writes[i]].bytes;
        if (at >= from && at < to) {
            /* Ranges may overlap: staying inside this one is enough for now. */
            if (!inside || to > *until)
                *until = to;
            inside = true;
        } else if (!inside && from > at && from < *until) {
            *until = from;
        }
    }
    return inside;
}

/* Where a byte of a block lies, in the words of result_stray. */
static rp_code name_place(rp_err *e, const phase *p, const memory_block *b, uint64_t at, result_stray *out)
{
    uint64_t guard = p->jb->guard_bytes;
    const char *suffix = at < guard ? "-" : at < guard + b->bytes ? "" : "+";
    out->first_offset_bytes = at < guard              ? guard - at
                              : at < guard + b->bytes ? at - guard
                                                      : at - guard - b->bytes;
    out->buffer = scratch_printf(p->sc, "%s%s", b->id, suffix);
    return out->buffer ? RP_OK : err_nomem(e);
}

static rp_code compare(rp_err *e, phase *p, const job_step *s, const uint8_t *before, const uint8_t *after)
{
    result_stray stray = {.node = s->node};
    for (uint64_t b = 0; b < p->mem.n_blocks; b++) {
        const memory_block *blk = &p->mem.blocks[b];
        uint64_t until;
        for (uint64_t at = 0; at < blk->total_bytes; at = until) {
            if (declared(p, s, b, at, &until) || !memcmp(before + at, after + at, until - at))
                continue;
            for (uint64_t k = at; k < until; k++)
                if (before[k] != after[k] && !stray.stray_bytes++ && name_place(e, p, blk, k, &stray))
                    return e->code;
        }
        before += blk->total_bytes;
        after += blk->total_bytes;
    }
    if (stray.stray_bytes)
        p->r->strays[p->r->n_strays++] = stray;
    return RP_OK;
}

static rp_code run(rp_err *e, phase *p, uint8_t *before, uint8_t *after)
{
    const job_fixture *f = &p->jb->fixtures[p->jb->timing.fixture];
    if (memory_prepare(e, &p->mem, POISON_FIRST, f, p->data) || launch_params(e, p) ||
        cu_ok(e, cudaStreamSynchronize(p->stream), "cudaStreamSynchronize after the parameters") ||
        memory_snapshot(e, &p->mem, before))
        return e->code;
    for (uint64_t i = 0; i < p->jb->n_steps; i++) {
        if (launch_step(e, p, i) ||
            cu_ok(e, cudaStreamSynchronize(p->stream), "cudaStreamSynchronize after node %llu",
                  (unsigned long long)p->jb->steps[i].node) ||
            memory_snapshot(e, &p->mem, after) || compare(e, p, &p->jb->steps[i], before, after))
            return e->code;
        uint8_t *swap = before;
        before = after;
        after = swap;
    }
    return RP_OK;
}

rp_code strays_run(rp_err *e, phase *p)
{
    uint8_t *before = malloc(p->mem.total_bytes), *after = malloc(p->mem.total_bytes);
    p->r->strays = scratch_array(p->sc, p->jb->n_steps, sizeof *p->r->strays);
    rp_code rc = before && after && p->r->strays ? run(e, p, before, after) : err_nomem(e);
    free(before);
    free(after);
    return rc;
}
