/* A launch: checks of its sizes, blocks over host threads, undoing and running again one by one where they
 * conflict. */
#include "gpu/emu/exec.h"
#include "artifacts/base/ck.h"
#include "gpu/emu/parse.h"
#include "gpu/emu/run.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 64, MAX_BLOCK = 1024, MAX_DYNAMIC = 8 << 20 };

/* What is wrong with the launch itself: "" when nothing is. */
static void judge(const ptx_entry *en, const emu_launch *l, char *out, size_t n)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t limit = (uint64_t)en->maxntid[0] * en->maxntid[1] * en->maxntid[2];
    out[0] = 0;
    if (!l->grid[0] || !l->grid[1] || !l->grid[2] || l->grid[0] > INT32_MAX || l->grid[1] > 65535 ||
        l->grid[2] > 65535)
        snprintf(out, n, "a grid of %u,%u,%u blocks", l->grid[0], l->grid[1], l->grid[2]);
    else if (!l->block[0] || !l->block[1] || !l->block[2] || l->block[0] > MAX_BLOCK ||
             l->block[1] > MAX_BLOCK || l->block[2] > 64 || threads > MAX_BLOCK)
        snprintf(out, n, "blocks of %u,%u,%u threads", l->block[0], l->block[1], l->block[2]);
    else if (en->reqntid[0] && (l->block[0] != en->reqntid[0] || l->block[1] != en->reqntid[1] ||
                                l->block[2] != en->reqntid[2]))
        snprintf(out, n, "blocks of %u,%u,%u threads, the entry requires %u,%u,%u", l->block[0], l->block[1],
                 l->block[2], en->reqntid[0], en->reqntid[1], en->reqntid[2]);
    else if (limit && threads > limit)
        snprintf(out, n, "blocks of %llu threads, the entry allows %llu", (unsigned long long)threads,
                 (unsigned long long)limit);
    else if (l->shared_bytes > MAX_DYNAMIC)
        snprintf(out, n, "%llu bytes of dynamic shared memory", (unsigned long long)l->shared_bytes);
    else if (l->n_args && l->n_args != en->n_params)
        snprintf(out, n, "%llu arguments, the entry has %llu parameters", (unsigned long long)l->n_args,
                 (unsigned long long)en->n_params);
    else if (l->params.n != en->param_bytes)
        snprintf(out, n, "%llu bytes of parameters, the entry declares %llu", (unsigned long long)l->params.n,
                 (unsigned long long)en->param_bytes);
    for (uint64_t k = 0; !out[0] && k < l->n_args; k++)
        if (l->arg_bytes[k] != en->params[k].bytes)
            snprintf(out, n, "argument %llu has %llu bytes, the entry declares .%s of %llu",
                     (unsigned long long)k, (unsigned long long)l->arg_bytes[k], en->params[k].type,
                     (unsigned long long)en->params[k].bytes);
}

static void *work(void *arg)
{
    worker *k = arg;
    launch *x = k->x;
    while (!atomic_load(&x->stop)) {
        uint64_t b = atomic_fetch_add(&x->next_block, 1);
        if (b >= x->n_blocks)
            break;
        if (x->serial)
            k->limit = x->budget - atomic_load(&x->used);
        block_run(k, b);
        uint64_t used = atomic_fetch_add(&x->used, k->instructions) + k->instructions;
        if (k->stop_block || used > x->budget) {
            atomic_store(&x->conflict,
                         true); /* side by side: run again in order, to stop at the right place */
            atomic_store(&x->stop, true);
        }
    }
    return NULL;
}

static void take_back(worker *ks, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t u = 0; u < ks[k].n_undos; u++) {
            const undo *one = &ks[k].undos[u];
            memcpy(one->a->data + (one->page << PAGE_BITS), one->bytes, PAGE_BYTES);
            memcpy(one->a->state + (one->page << PAGE_BITS), one->bytes + PAGE_BYTES, PAGE_BYTES);
        }
}

static rp_code run_side_by_side(rp_err *e, launch *x, worker *ks, uint32_t n)
{
    pthread_t threads[MAX_THREADS];
    uint32_t started = 1;
    for (; started < n; started++)
        if (pthread_create(&threads[started], NULL, work, &ks[started]))
            break;
    work(&ks[0]);
    for (uint32_t k = 1; k < started; k++)
        pthread_join(threads[k], NULL);
    return atomic_load(&x->no_memory) ? err_nomem(e) : RP_OK;
}

static rp_code prepare(rp_err *e, launch *x, scratch *sc, uint32_t *contracted)
{
    const ptx_module *m = x->m;
    const insn **code = scratch_array(sc, m->n_funcs + 1, sizeof *code);
    if (!code)
        return err_nomem(e);
    for (uint32_t k = 0; k < m->n_funcs; k++) {
        code[k] = m->funcs[k].code;
        if (!x->l->contract || !m->funcs[k].info.contractible)
            continue;
        insn *copy = scratch_array(sc, m->funcs[k].n_code, sizeof *copy);
        if (!copy)
            return err_nomem(e);
        memcpy(copy, m->funcs[k].code, m->funcs[k].n_code * sizeof *copy);
        *contracted += contract_pairs(&m->funcs[k], copy);
        code[k] = copy;
    }
    x->code = code;
    uint8_t *template = scratch_alloc(sc, (size_t)(x->shared_static + x->shared_dynamic) + 1);
    if (!template)
        return err_nomem(e);
    for (uint32_t k = 0; k < m->n_shared; k++)
        memset(template + m->shared[k].offset, 1, m->shared[k].bytes);
    memset(template + x->shared_static, 1, (size_t)x->shared_dynamic);
    x->shared_template = template;
    return RP_OK;
}

/* One attempt, with n host threads. */
static rp_code attempt(rp_err *e, emu_report *out, scratch *sc, launch *x, uint32_t n, bool *again)
{
    worker *ks = calloc(n, sizeof *ks), *list[MAX_THREADS];
    bool fine = ks != NULL;
    *again = false;
    atomic_store(&x->next_block, 0);
    atomic_store(&x->used, 0);
    atomic_store(&x->stop, false);
    atomic_store(&x->conflict, false);
    for (uint32_t k = 0; fine && k < n; k++) {
        fine = worker_init(&ks[k], x);
        list[k] = &ks[k];
    }
    if (!fine || mem_begin_launch(e, x->mem)) {
        err_nomem(e);
        goto out;
    }
    x->first_segment = atomic_load(&x->mem->next_segment);
    if (run_side_by_side(e, x, ks, n)) {
        take_back(ks, n);
        goto out;
    }
    if (!x->serial && atomic_load(&x->conflict)) {
        take_back(ks, n);
        *again = true;
        goto out;
    }
    if (report_build(e, out, sc, x, list, n))
        goto out;
out:
    for (uint32_t k = 0; ks && k < n; k++)
        worker_clear(&ks[k]);
    free(ks);
    return e->code;
}

rp_code emu_run(rp_err *e, emu_report *out, scratch *sc, emu_memory *mem, const ptx_module *m,
                const char *entry, const emu_launch *l)
{
    const ptx_entry *en = ptx_entry_find(m, entry);
    char wrong[200];
    if (!en)
        return err_set(e, RP_UNAVAILABLE, "%s: no entry %s", m->file, entry);
    if (*en->refused) {
        err_set(e, RP_UNAVAILABLE, "%s, line %llu: instruction %s is not emulated", entry,
                (unsigned long long)en->refused_line, en->refused);
        err_file(e, m->file);
        return e->code;
    }
    judge(en, l, wrong, sizeof wrong);
    if (wrong[0])
        return report_parameters(e, out, sc, en->name, wrong);
    launch x = {.e = e,
                .mem = mem,
                .m = m,
                .l = l,
                .shared_static = m->shared_bytes,
                .shared_dynamic = l->shared_bytes,
                .races = !l->no_races,
                .budget = l->max_warp_instructions ? l->max_warp_instructions : UINT64_C(1) << 36};
    for (uint32_t k = 0; k < m->n_funcs; k++)
        if (&m->funcs[k].info == en) {
            x.entry = &m->funcs[k];
            x.entry_index = k;
        }
    x.n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    x.n_threads = l->block[0] * l->block[1] * l->block[2];
    x.n_warps = (x.n_threads + LANES - 1) / LANES;
    uint32_t contracted = 0, n = l->threads == 0 ? 1 : l->threads > MAX_THREADS ? MAX_THREADS : l->threads;
    if (prepare(e, &x, sc, &contracted))
        return e->code;
    if (n > x.n_blocks)
        n = (uint32_t)x.n_blocks;
    x.serial = n == 1 || en->global_atomics || l->no_races;
    if (x.n_blocks >= UINT32_MAX)
        return err_set(e, RP_USAGE, "%s: more than 2^32 blocks", entry);
    if (en->global_atomics && x.n_blocks <= 1 << 26)
        x.released = calloc(x.n_blocks, sizeof *x.released);
    *out = (emu_report){0};
    bool again = false;
    if (!attempt(e, out, sc, &x, x.serial ? 1 : n, &again) && again) {
        x.serial = true;
        attempt(e, out, sc, &x, 1, &again);
    }
    out->contracted = contracted;
    out->serial = en->global_atomics;
    free(x.released);
    return e->code;
}
