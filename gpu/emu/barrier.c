/* Barriers of a block. A warp arrives as a whole; its strands that come to different places are a finding. */
#include "gpu/emu/ops.h"
#include "gpu/emu/run.h"

static uint32_t live(const warp *w)
{
    return w->valid & ~w->exited;
}

static uint32_t barrier_id(worker *k, warp *w, const frame *f, const insn *i, uint32_t lane)
{
    uint64_t id = operand_of(k, f, i->src[0])[lane];
    if (id >= N_BARRIERS) {
        note(k, w, f, i, lane, EMU_FIND_BARRIER, "barrier %llu, of which there are 16",
             (unsigned long long)id);
        return 0;
    }
    return (uint32_t)id;
}

static uint32_t expected_of(worker *k, warp *w, const frame *f, const insn *i, uint32_t lane)
{
    if (!(i->flags & F_COUNT))
        return 0;
    uint64_t n = operand_of(k, f, i->src[1])[lane];
    if (n == 0 || n % LANES || n > k->x->n_warps * (uint64_t)LANES) {
        note(k, w, f, i, lane, EMU_FIND_BARRIER, "a barrier of %llu threads", (unsigned long long)n);
        return 0;
    }
    return (uint32_t)n;
}

/* The warp has come to barrier s waits at, all its live lanes together or forced. */
static void arrive(worker *k, warp *w, const strand *s, const insn *i, bool waits)
{
    uint32_t lane = (uint32_t)__builtin_ctz(s->mask), id = barrier_id(k, w, s->fr, i, lane);
    barrier_state *b = &k->bars[id];
    uint32_t p = i->sub >= BAR_POPC ? s->fr->p[i->src[2]] ^ (i->flags & F_NOT_C ? EMU_FULL : 0) : 0;
    uint32_t expected = expected_of(k, w, s->fr, i, lane);
    if (b->warps && b->expected != expected)
        note(k, w, s->fr, i, lane, EMU_FIND_BARRIER, "barrier %u waits for another number of threads", id);
    b->expected = expected;
    b->arrived_threads += LANES;
    b->warps |= UINT32_C(1) << w->index;
    b->count += (uint32_t)__builtin_popcount(p & s->mask);
    b->voters += (uint32_t)__builtin_popcount(s->mask);
    warp_new_segment(k, w);
    for (uint32_t v = 0; v < k->x->n_warps; v++)
        if (w->seen[v] > b->joined[v])
            b->joined[v] = w->seen[v];
    if (w->exited)
        note(k, w, s->fr, i, lane, EMU_FIND_BARRIER, "%d threads of this warp have exited",
             __builtin_popcount(w->exited));
    if (waits) {
        b->waiting |= UINT32_C(1) << w->index;
        w->blocked = true;
        w->barrier = id;
    }
}

static void result(const warp *w, const strand *s, const insn *i, uint32_t mask)
{
    uint64_t d[LANES];
    for (int l = 0; l < LANES; l++)
        d[l] = w->red_count;
    if (i->sub == BAR_POPC)
        put(s->fr, i->dst, d, mask);
    else if (i->sub >= BAR_AND)
        put_pred(s->fr, i->dst2,
                 (i->sub == BAR_AND ? w->red_count == w->red_voters : w->red_count != 0) ? EMU_FULL : 0,
                 mask);
}

bool run_barrier(worker *k, warp *w, strand *s, const insn *i, uint32_t mask)
{
    if (s->released) {
        result(w, s, i, mask);
        s->released = false;
        return true;
    }
    if (mask != s->mask)
        note(k, w, s->fr, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_BARRIER,
             "only %d of %d threads take the barrier", __builtin_popcount(mask), __builtin_popcount(live(w)));
    if (s->mask == live(w) && i->sub == BAR_ARRIVE) {
        arrive(k, w, s, i, false);
        return true;
    }
    s->state = WAIT_BARRIER;
    if (s->mask == live(w))
        arrive(k, w, s, i, true);
    return false;
}

void barrier_diverged(worker *k, warp *w)
{
    strand *first = NULL;
    const insn *at = NULL;
    for (uint32_t n = 0; n < w->n; n++)
        if (w->s[n].state == WAIT_BARRIER && (!first || w->s[n].pc < first->pc))
            first = &w->s[n];
    at = &first->fr->code[first->pc];
    uint32_t lane = (uint32_t)__builtin_ctz(first->mask);
    note(k, w, first->fr, at, lane, EMU_FIND_BARRIER,
         "%d of %d threads of the warp are here, the others elsewhere", __builtin_popcount(first->mask),
         __builtin_popcount(live(w)));
    if (at->sub == BAR_ARRIVE) {
        arrive(k, w, first, at, false);
        first->state = RUNNABLE;
        first->pc++;
    } else {
        arrive(k, w, first, at, true);
    }
}

static uint32_t live_warps(const worker *k)
{
    uint32_t m = 0;
    for (uint32_t n = 0; n < k->x->n_warps; n++)
        if (!k->warps[n].done)
            m |= UINT32_C(1) << n;
    return m;
}

static void open(worker *k, barrier_state *b)
{
    for (uint32_t n = 0; n < k->x->n_warps; n++) {
        warp *w = &k->warps[n];
        if (!(b->waiting >> n & 1))
            continue;
        for (uint32_t v = 0; v < k->x->n_warps; v++)
            if (v != n && b->joined[v] > w->seen[v])
                w->seen[v] = b->joined[v];
        w->blocked = false;
        w->red_count = b->count;
        w->red_voters = b->voters;
        for (uint32_t s = 0; s < w->n; s++)
            if (w->s[s].state == WAIT_BARRIER) {
                w->s[s].state = RUNNABLE;
                w->s[s].released = true;
            }
    }
    memset(b, 0, sizeof *b);
}

bool barriers_settle(worker *k)
{
    bool opened = false;
    uint32_t alive = live_warps(k);
    for (uint32_t id = 0; id < N_BARRIERS; id++) {
        barrier_state *b = &k->bars[id];
        if (!b->warps)
            continue;
        if (b->expected ? b->arrived_threads >= b->expected : (b->warps & alive) == alive) {
            open(k, b);
            opened = true;
        }
    }
    return opened;
}
