/* One block: its warps in turn, until all are done or nothing can go on. */
#include "gpu/emu/run.h"
#include <stdlib.h>
#include <sys/mman.h>

bool worker_init(worker *k, launch *x)
{
    const ptx_module *m = x->m;
    uint64_t others = 0;
    *k = (worker){.x = x, .limit = x->budget};
    for (uint32_t n = 0; n < m->n_funcs; n++)
        others += n == x->entry_index ? 0 : (m->funcs[n].local_bytes + 15) & ~UINT64_C(15);
    k->local_stride = x->entry->local_bytes + 16 + (others ? 4 * others : 0);
    k->shared_bytes = x->shared_static + x->shared_dynamic;
    size_t shared = (size_t)k->shared_bytes + 1,
           local = (size_t)(k->local_stride * x->n_threads) + (size_t)k->local_stride * LANES;
    bool has_local = x->entry->local_bytes + others > 0;
    if (has_local && local > (size_t)1 << 29)
        return false;
    k->warps = calloc(x->n_warps, sizeof *k->warps);
    k->shared = calloc(1, shared);
    k->shared_state = calloc(1, shared);
    k->shared_w = calloc(shared, 4);
    k->shared_r1 = calloc(shared, 4);
    k->shared_r2 = calloc(shared, 4);
    k->local = calloc(1, has_local ? local : 1);
    k->local_state = calloc(1, has_local ? local : 1);
    k->free_frames = calloc(m->n_funcs, sizeof *k->free_frames);
    k->counts = calloc(m->n_funcs, sizeof *k->counts);
    k->records = calloc(MAX_RECORDS, sizeof *k->records);
    if (!has_local)
        k->local_stride = 0;
    bool fine = k->warps && k->shared && k->shared_state && k->shared_w && k->shared_r1 && k->shared_r2 &&
                k->local && k->local_state && k->free_frames && k->counts && k->records;
    for (uint32_t n = 0; fine && n < m->n_funcs; n++)
        fine = (k->counts[n] = calloc(m->funcs[n].n_code + 1, sizeof **k->counts)) != NULL;
    return fine;
}

void worker_clear(worker *k)
{
    for (uint32_t n = 0; k->x && n < k->x->m->n_funcs; n++) {
        if (k->counts)
            free(k->counts[n]);
        for (frame *f = k->free_frames ? k->free_frames[n] : NULL; f;) {
            frame *next = f->next_free;
            free(f->r);
            free(f->p);
            free(f->params);
            free(f);
            f = next;
        }
    }
    for (uint32_t n = 0; n < k->n_undos; n++)
        free(k->undos[n].bytes);
    free(k->undos);
    free(k->warps);
    free(k->shared);
    free(k->shared_state);
    free(k->shared_w);
    free(k->shared_r1);
    free(k->shared_r2);
    free(k->local);
    free(k->local_state);
    free(k->free_frames);
    free(k->counts);
    free(k->records);
}

static void begin(worker *k, uint64_t block)
{
    launch *x = k->x;
    const uint32_t *g = x->l->grid;
    k->block = block;
    k->ctaid[0] = (uint32_t)(block % g[0]);
    k->ctaid[1] = (uint32_t)(block / g[0] % g[1]);
    k->ctaid[2] = (uint32_t)(block / g[0] / g[1]);
    k->order = k->instructions = 0;
    k->acquired = k->fenced = k->stop_block = false;
    memset(k->bars, 0, sizeof k->bars);
    if (k->shared_bytes) {
        memset(k->shared, 0, (size_t)k->shared_bytes);
        memcpy(k->shared_state, x->shared_template, (size_t)k->shared_bytes);
    }
    if (k->local_stride)
        memset(k->local_state, 0, (size_t)(k->local_stride * x->n_threads));
    for (uint32_t n = 0; n < x->n_warps; n++) {
        warp *w = &k->warps[n];
        uint32_t left = x->n_threads - n * LANES;
        memset(w, 0, sizeof *w);
        w->index = n;
        w->valid = left >= LANES ? EMU_FULL : (uint32_t)bits_mask(left);
        warp_new_segment(k, w);
        frame *f = frame_new(k, x->entry_index, NULL, w->valid);
        if (!f) {
            w->done = true;
            continue;
        }
        w->s[0] = (strand){.mask = w->valid, .fr = f};
        w->n = 1;
    }
}

/* Give back what warps that were stopped still hold. */
static void release(worker *k)
{
    for (uint32_t n = 0; n < k->x->n_warps; n++) {
        warp *w = &k->warps[n];
        for (uint32_t s = 0; s < w->n; s++)
            for (frame *f = w->s[s].fr; f && w->s[s].mask;) {
                frame *up = f->parent;
                f->lanes &= ~w->s[s].mask;
                if (!f->lanes)
                    frame_free(k, f);
                f = up;
            }
        w->n = 0;
    }
}

/* Warps wait at barriers that cannot open. */
static void stuck(worker *k)
{
    for (uint32_t n = 0; n < k->x->n_warps; n++) {
        const warp *w = &k->warps[n];
        if (w->done || !w->blocked || w->n == 0)
            continue;
        const strand *s = &w->s[0];
        note(k, w, s->fr, &s->fr->code[s->pc], (uint32_t)__builtin_ctz(s->mask), EMU_FIND_BARRIER,
             "waits for threads that never come");
        note(k, w, s->fr, &s->fr->code[s->pc], (uint32_t)__builtin_ctz(s->mask), EMU_FIND_RUNAWAY,
             "waits at a barrier for ever");
        break;
    }
    k->stop_block = true;
}

void block_run(worker *k, uint64_t block)
{
    launch *x = k->x;
    begin(k, block);
    for (;;) {
        bool ran = false, left = false;
        for (uint32_t n = 0; n < x->n_warps && !k->stop_block; n++) {
            warp *w = &k->warps[n];
            if (w->done || w->blocked)
                continue;
            warp_run(k, w);
            ran = true;
        }
        if (k->stop_block || atomic_load(&x->stop))
            break;
        bool opened = barriers_settle(k);
        for (uint32_t n = 0; n < x->n_warps; n++)
            left |= !k->warps[n].done;
        if (!left)
            break;
        if (!ran && !opened) {
            stuck(k);
            break;
        }
    }
    release(k);
}
