/* The interpreter's loop: one warp, its strands. */
#include "gpu/emu/ops.h"
#include "gpu/emu/run.h"
#include "gpu/emu/wrap.h"
#include <stdlib.h>

enum { QUANTUM = 1 << 20, TURN = 1 << 13 };

void warp_new_segment(worker *k, warp *w)
{
    emu_memory *m = k->x->mem;
    w->clock++;
    w->seen[w->index] = w->clock;
    if (!k->x->races)
        return;
    uint32_t s = atomic_fetch_add(&m->next_segment, 1);
    if (s >= SEGMENTS_MAX || w->clock >= 1u << 27) {
        atomic_store(&m->next_segment, SEGMENTS_MAX);
        atomic_store(&k->x->segments_gone, true);
        return;
    }
    m->segment_block[s] = (uint32_t)k->block;
    m->segment_warp[s] = w->clock << 5 | w->index;
    w->segment = s;
}

static void spawn(warp *w, uint32_t mask, uint32_t pc, frame *f)
{
    w->s[w->n++] = (strand){.mask = mask, .pc = pc, .fr = f};
}

static void drop(warp *w, uint32_t n)
{
    w->s[n] = w->s[--w->n];
}

/* Strands that have met become one. */
static void merge(warp *w)
{
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n;) {
            strand *x = &w->s[a], *y = &w->s[b];
            if (x->fr == y->fr && x->pc == y->pc && x->released == y->released) {
                x->mask |= y->mask;
                x->state = x->released ? x->state : RUNNABLE;
                drop(w, b);
            } else {
                b++;
            }
        }
}

/* The strand to run, or -1. Every so often the turn passes on, so that one that waits for another in a loop
 * cannot keep it from coming. */
static int pick(const warp *w)
{
    int best = -1;
    for (uint32_t n = 0; n < w->n; n++) {
        const strand *s = &w->s[n];
        if (s->state != RUNNABLE)
            continue;
        if (best < 0 || s->fr->depth > w->s[best].fr->depth ||
            (s->fr->depth == w->s[best].fr->depth && s->pc < w->s[best].pc))
            best = (int)n;
    }
    if (best >= 0 && w->n > 1 && (w->ticks / TURN) % 4 == 3) {
        uint32_t start = (uint32_t)(w->ticks / (TURN * 4)) % w->n;
        for (uint32_t n = 0; n < w->n; n++)
            if (w->s[(start + n) % w->n].state == RUNNABLE)
                return (int)((start + n) % w->n);
    }
    return best;
}

/* Where the running strand could meet another of its frame. */
static uint32_t meeting(const warp *w, uint32_t me)
{
    uint32_t at = UINT32_MAX;
    for (uint32_t n = 0; n < w->n; n++)
        if (n != me && w->s[n].fr == w->s[me].fr && w->s[n].pc > w->s[me].pc && w->s[n].pc < at)
            at = w->s[n].pc;
    return at;
}

static void leave_frames(worker *k, frame *f, uint32_t mask)
{
    while (f) {
        frame *up = f->parent;
        f->lanes &= ~mask;
        if (!f->lanes)
            frame_free(k, f);
        f = up;
    }
}

static void exit_lanes(worker *k, warp *w, strand *s, uint32_t mask)
{
    w->exited |= mask;
    leave_frames(k, s->fr, mask);
    s->mask &= ~mask;
}

static void copy_param(frame *to, const call_param *tp, const worker *k, const frame *from,
                       const call_param *fp, uint32_t mask)
{
    uint32_t bytes = tp->bytes < fp->bytes ? tp->bytes : fp->bytes;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t v = 0;
        if (fp->reg && tp->reg) {
            to->r[(size_t)tp->slot * LANES + l] =
                operand_of(k, from, fp->slot)[l] & bits_mask(type_bits(tp->type));
        } else if (fp->reg) {
            v = operand_of(k, from, fp->slot)[l];
            memcpy(to->params + (size_t)l * to->f->param_mem + tp->offset, &v, bytes < 8 ? bytes : 8);
        } else if (tp->reg) {
            memcpy(&v, from->params + (size_t)l * from->f->param_mem + fp->offset, bytes < 8 ? bytes : 8);
            to->r[(size_t)tp->slot * LANES + l] = v;
        } else {
            memcpy(to->params + (size_t)l * to->f->param_mem + tp->offset,
                   from->params + (size_t)l * from->f->param_mem + fp->offset, bytes);
        }
    }
}

static void fatal(worker *k, warp *w, frame *f, const insn *i, uint32_t lane, emu_find kind, const char *text)
{
    note(k, w, f, i, lane, kind, "%s", text);
    k->stop_block = true;
}

/* Functions that the host would provide. */
static void builtin(worker *k, warp *w, frame *f, const insn *i, const ptx_func *callee, uint32_t mask)
{
    if (callee->builtin == BUILTIN_ASSERT) {
        fatal(k, w, f, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_TRAP, "an assertion failed");
        return;
    }
    const call_site *site = &k->x->m->sites[i->extra];
    k->prints += (uint64_t)__builtin_popcount(mask);
    for (uint32_t n = 0; n < site->n_ret; n++)
        for (uint32_t l = 0; l < LANES; l++)
            if ((mask >> l & 1) && !site->ret[n].reg)
                memset(f->params + (size_t)l * f->f->param_mem + site->ret[n].offset, 0, site->ret[n].bytes);
}

/* True: the strand's place changed. */
static void call(worker *k, warp *w, uint32_t at, const insn *i, uint32_t mask)
{
    strand *s = &w->s[at];
    frame *f = s->fr;
    const ptx_module *m = k->x->m;
    const call_site *site = &m->sites[i->extra];
    uint32_t function = site->function, lane = (uint32_t)__builtin_ctz(mask), group = mask;
    if (function == UINT32_MAX) {
        const uint64_t *target = operand_of(k, f, i->src[0]);
        group = 0;
        for (uint32_t l = 0; l < LANES; l++)
            if ((mask >> l & 1) && target[l] == target[lane])
                group |= UINT32_C(1) << l;
        uint64_t number = target[lane] & ~WINDOW_MASK;
        if ((target[lane] & WINDOW_MASK) != WINDOW_CODE || number == 0 || number > m->n_funcs ||
            m->funcs[number - 1].entry || m->funcs[number - 1].n_arg != site->n_arg ||
            m->funcs[number - 1].n_ret != site->n_ret) {
            fatal(k, w, f, i, lane, EMU_FIND_TRAP, "a call of what is no function of that shape");
            return;
        }
        function = (uint32_t)number - 1;
    }
    const ptx_func *callee = &m->funcs[function];
    uint32_t others = mask & ~group, skipping = s->mask & ~mask, pc = s->pc;
    if (callee->builtin || !callee->has_body) {
        builtin(k, w, f, i, callee, group);
        s->mask = others ? others : s->mask & ~others;
        if (others) {
            s->mask = others;
            spawn(w, group | skipping, pc + 1, f);
        } else {
            s->pc++;
        }
        return;
    }
    frame *inner = frame_new(k, function, f, group);
    if (!inner)
        return;
    if (inner->depth >= MAX_CALL_DEPTH || inner->local_base + callee->local_bytes > k->local_stride) {
        frame_free(k, inner);
        fatal(k, w, f, i, lane, EMU_FIND_RUNAWAY, "calls nested too deeply");
        return;
    }
    inner->ret_pc = pc + 1;
    inner->site = site;
    for (uint32_t n = 0; n < site->n_arg; n++)
        copy_param(inner, &callee->arg[n], k, f, &site->arg[n], group);
    s->mask = group;
    s->fr = inner;
    s->pc = 0;
    if (others)
        spawn(w, others, pc, f);
    if (skipping)
        spawn(w, skipping, pc + 1, f);
}

static void ret(worker *k, warp *w, uint32_t at, uint32_t mask)
{
    strand *s = &w->s[at];
    frame *f = s->fr, *up = f->parent;
    uint32_t rest = s->mask & ~mask, pc = s->pc;
    if (!up) {
        exit_lanes(k, w, s, mask);
        s->pc++;
        return;
    }
    for (uint32_t n = 0; n < f->site->n_ret; n++)
        copy_param(up, &f->site->ret[n], k, f, &f->f->ret[n], mask);
    s->mask = mask;
    s->fr = up;
    s->pc = f->ret_pc;
    f->lanes &= ~mask;
    if (rest)
        spawn(w, rest, pc + 1, f);
    else if (!f->lanes)
        frame_free(k, f);
}

static void branch(warp *w, uint32_t at, uint32_t mask, uint32_t target)
{
    strand *s = &w->s[at];
    if (mask == s->mask) {
        s->pc = target;
        return;
    }
    spawn(w, mask, target, s->fr);
    s->mask &= ~mask;
    s->pc++;
}

static void branch_indexed(worker *k, warp *w, uint32_t at, const insn *i, uint32_t mask)
{
    strand *s = &w->s[at];
    frame *f = s->fr;
    const uint32_t *table = k->x->m->tables[i->extra];
    const uint64_t *index = operand_of(k, f, i->src[0]);
    uint32_t left = mask, skipping = s->mask & ~mask, pc = s->pc;
    bool first = true;
    while (left) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), group = 0;
        for (uint32_t l = 0; l < LANES; l++)
            if ((left >> l & 1) && (uint32_t)index[l] == (uint32_t)index[lane])
                group |= UINT32_C(1) << l;
        if ((uint32_t)index[lane] >= table[0]) {
            fatal(k, w, f, i, lane, EMU_FIND_TRAP, "an index beyond the branch targets");
            return;
        }
        uint32_t target = table[1 + (uint32_t)index[lane]];
        if (first) {
            s->mask = group;
            s->pc = target;
        } else {
            spawn(w, group, target, f);
        }
        first = false;
        left &= ~group;
    }
    if (skipping)
        spawn(w, skipping, pc + 1, f);
}

static WRAPS void carry(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const uint64_t *a = operand_of(k, f, i->src[0]), *b = operand_of(k, f, i->src[1]),
                   *c = operand_of(k, f, i->src[2]);
    unsigned bits = type_bits((ptx_type)i->type);
    uint64_t d[LANES] = {0}, m = bits_mask(bits);
    uint32_t cc = f->cc;
    for (uint32_t l = 0; l < LANES; l++) {
        unsigned __int128 r;
        uint64_t in = i->flags & F_ACQUIRE ? f->cc >> l & 1 : 0, x = a[l] & m, y = b[l] & m;
        if (i->sub == 2) {
            uint64_t product;
            if (i->flags & F_HI && i->flags & F_SIGNED)
                product = (uint64_t)(((__int128)((int64_t)(x << (64 - bits)) >> (64 - bits)) *
                                      ((int64_t)(y << (64 - bits)) >> (64 - bits))) >>
                                     bits) &
                          m;
            else
                product = i->flags & F_HI ? (uint64_t)((unsigned __int128)x * y >> bits) & m : x * y & m;
            x = product;
            y = c[l] & m;
        }
        if (i->sub == 1) {
            /* the borrow: set when a < b + in */
            r = (unsigned __int128)x - y - in;
            if (i->flags & F_CC)
                cc = (cc & ~(UINT32_C(1) << l)) | (uint32_t)((unsigned __int128)x < (unsigned __int128)y + in)
                                                      << l;
        } else {
            r = (unsigned __int128)x + y + in;
            if (i->flags & F_CC)
                cc = (cc & ~(UINT32_C(1) << l)) | (uint32_t)(r >> bits & 1) << l;
        }
        d[l] = (uint64_t)r & m;
    }
    f->cc = (f->cc & ~mask) | (cc & mask);
    put(f, i->dst, d, mask);
}

static uint32_t gather(const uint64_t *t, unsigned bit)
{
    uint32_t m = 0;
    for (int l = 0; l < LANES; l++)
        m |= (uint32_t)(t[l] >> bit & 1) << l;
    return m;
}

static uint32_t combine(uint8_t how, uint32_t a, uint32_t b)
{
    return how == BOOL_AND ? a & b : how == BOOL_OR ? a | b : how == BOOL_XOR ? a ^ b : a;
}

static void compare(worker *k, frame *f, const insn *i, uint32_t mask)
{
    uint64_t t[LANES];
    const uint64_t *s[4] = {operand_of(k, f, i->src[0]), operand_of(k, f, i->src[1]), f->r, f->r};
    i->fn(i, t, s);
    uint32_t p = gather(t, 0), c = f->p[i->src[3]] ^ (i->flags & F_NOT_C ? EMU_FULL : 0);
    bool packed = type_class((ptx_type)i->type) == 'h';
    uint32_t q = packed ? gather(t, 1) : ~p;
    put_pred(f, i->dst2, combine(i->combine, p, c), mask);
    if (i->dst3 >= 0)
        put_pred(f, i->dst3, combine(i->combine, q, c), mask);
}

static void fused(worker *k, frame *f, const insn *i, uint32_t mask)
{
    uint64_t t[LANES], n[LANES];
    const uint64_t *s[4] = {operand_of(k, f, i->src[0]), operand_of(k, f, i->src[1]),
                            operand_of(k, f, i->src[2]), f->r};
    unsigned which = i->combine == 1 ? 2 : 0;
    for (int l = 0; l < LANES; l++)
        n[l] = s[which][l] ^ UINT64_C(1) << (type_bits((ptx_type)i->type) - 1);
    s[which] = n;
    i->fn(i, t, s);
    put(f, i->dst, t, mask);
}

static void pack(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const int32_t *slots = k->x->m->vecs + i->extra;
    uint64_t t[LANES] = {0};
    if (i->kind == K_PACK) {
        for (unsigned n = 0; n < i->n_vec; n++) {
            const uint64_t *v = operand_of(k, f, slots[n]);
            for (int l = 0; l < LANES; l++)
                t[l] |= (v[l] & bits_mask(i->sub)) << (n * i->sub);
        }
        put(f, i->dst, t, mask);
        return;
    }
    uint64_t v[LANES];
    memcpy(v, operand_of(k, f, i->src[0]), sizeof v);
    for (unsigned n = 0; n < i->n_vec; n++) {
        for (int l = 0; l < LANES; l++)
            t[l] = v[l] >> (n * i->sub) & bits_mask(i->sub);
        if (slots[n] > 0)
            put(f, slots[n], t, mask);
    }
}

static void logic(frame *f, const insn *i, uint32_t mask)
{
    uint32_t a = f->p[i->src[0]] ^ (i->flags & F_NOT_A ? EMU_FULL : 0),
             b = f->p[i->src[1]] ^ (i->flags & F_NOT_C ? EMU_FULL : 0);
    uint32_t r = i->combine == BOOL_NONE  ? (i->imm ? EMU_FULL : 0)
                 : i->combine == BOOL_NOT ? ~a
                                          : combine(i->combine, a, b);
    put_pred(f, i->dst2, r, mask);
}

static void is_space(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const uint64_t *a = operand_of(k, f, i->src[0]);
    uint64_t want = i->space == SPACE_SHARED        ? WINDOW_SHARED
                    : i->space == SPACE_LOCAL       ? WINDOW_LOCAL
                    : i->space == SPACE_PARAM_ENTRY ? WINDOW_PARAM
                                                    : 0;
    uint32_t r = 0;
    for (int l = 0; l < LANES; l++)
        r |= (uint32_t)((a[l] & WINDOW_MASK) == want) << l;
    if (i->space == SPACE_CONST)
        r = 0;
    put_pred(f, i->dst2, r, mask);
}

/* All but control flow. */
static void simple(worker *k, warp *w, frame *f, const insn *i, uint32_t mask)
{
    switch (i->kind) {
    case K_ALU_PRED:
        compare(k, f, i, mask);
        break;
    case K_SELP: {
        const uint64_t *a = operand_of(k, f, i->src[0]), *b = operand_of(k, f, i->src[1]);
        uint32_t c = f->p[i->src[2]] ^ (i->flags & F_NOT_C ? EMU_FULL : 0);
        uint64_t t[LANES];
        for (int l = 0; l < LANES; l++)
            t[l] = c >> l & 1 ? a[l] : b[l];
        put(f, i->dst, t, mask);
        break;
    }
    case K_PLOGIC:
        logic(f, i, mask);
        break;
    case K_PACK:
    case K_UNPACK:
        pack(k, f, i, mask);
        break;
    case K_SPECIAL:
        run_special(k, w, f, i, mask);
        break;
    case K_ADDRESS: {
        uint64_t t[LANES];
        for (int l = 0; l < LANES; l++)
            t[l] = (f->local_base + (uint64_t)i->imm) & i->mask;
        put(f, i->dst, t, mask);
        break;
    }
    case K_CARRY:
        carry(k, f, i, mask);
        break;
    case K_LD:
        run_load(k, w, f, i, mask);
        break;
    case K_ST:
        run_store(k, w, f, i, mask);
        break;
    case K_ATOM:
        run_atomic(k, w, f, i, mask);
        break;
    case K_CP_ASYNC:
        run_cp_async(k, w, f, i, mask);
        break;
    case K_FENCE:
        if (i->flags & F_RELEASE) {
            k->fenced = true;
            k->release_at = w->segment + 1;
        }
        break;
    case K_ISSPACEP:
        is_space(k, f, i, mask);
        break;
    default:
        break;
    }
}

/* Control flow and what may wait; the strand's pc is kept here. */
static void control(worker *k, warp *w, uint32_t at, const insn *i, uint32_t mask, bool forced)
{
    strand *s = &w->s[at];
    switch (i->kind) {
    case K_BRA:
        branch(w, at, mask, i->target);
        break;
    case K_BRX:
        branch_indexed(k, w, at, i, mask);
        break;
    case K_CALL:
        call(k, w, at, i, mask);
        break;
    case K_RET:
        ret(k, w, at, mask);
        break;
    case K_EXIT:
        exit_lanes(k, w, s, mask);
        s->pc++;
        break;
    case K_BAR:
        if (run_barrier(k, w, s, i, mask))
            s->pc++;
        else
            s->counted = true;
        break;
    case K_TRAP:
        if (i->sub == TRAP_TRAP)
            fatal(k, w, s->fr, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_TRAP, "the kernel trapped");
        else
            note(k, w, s->fr, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_TRAP, "a breakpoint");
        s->pc++;
        break;
    default:
        if (run_warp_op(k, w, s->fr, i, mask, s->mask, forced)) {
            s->pc++;
        } else {
            s->state = WAIT_WARP;
            s->counted = true;
        }
    }
}

static bool is_control(uint8_t kind)
{
    return kind == K_BRA || kind == K_BRX || kind == K_CALL || kind == K_RET || kind == K_EXIT ||
           kind == K_BAR || kind == K_TRAP || (kind >= K_BAR_WARP && kind <= K_ELECT);
}

/* One strand until it branches, waits or meets another. */
static void strand_run(worker *k, warp *w, uint32_t at, bool forced)
{
    strand *s = &w->s[at];
    frame *f = s->fr;
    const insn *code = f->code;
    const uint32_t strand_mask = s->mask, lanes = (uint32_t)__builtin_popcount(strand_mask);
    const uint32_t stop = w->n > 1 ? meeting(w, at) : UINT32_MAX;
    uint64_t *counts = k->counts[f->index];
    uint32_t pc = s->pc;
    for (;;) {
        const insn *i = &code[pc];
        uint32_t mask = strand_mask;
        if (!s->counted)
            counts[pc] += lanes;
        s->counted = false;
        w->ticks++;
        if (++k->instructions > k->limit) {
            s->pc = pc;
            fatal(k, w, f, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_RUNAWAY,
                  "the instruction budget is used up");
            return;
        }
        if (i->guard) {
            uint32_t g = f->p[i->guard];
            mask &= i->guard_not ? ~g : g;
        }
        if (i->kind == K_ALU) {
            if (mask && i->combine) {
                fused(k, f, i, mask);
            } else if (mask) {
                uint64_t t[LANES];
                const uint64_t *src[4] = {operand_of(k, f, i->src[0]), operand_of(k, f, i->src[1]),
                                          operand_of(k, f, i->src[2]), operand_of(k, f, i->src[3])};
                i->fn(i, t, src);
                put(f, i->dst, t, mask);
            }
        } else if (!mask) {
            /* nobody takes it */
        } else if (is_control(i->kind)) {
            s->pc = pc;
            control(k, w, at, i, mask, forced);
            return;
        } else {
            simple(k, w, f, i, mask);
        }
        if (++pc == stop || k->stop_block) {
            s->pc = pc;
            return;
        }
    }
}

void warp_run(worker *k, warp *w)
{
    uint64_t until = w->ticks + QUANTUM;
    while (!k->stop_block && !atomic_load_explicit(&k->x->stop, memory_order_relaxed) && w->ticks < until) {
        for (uint32_t n = 0; n < w->n;)
            if (w->s[n].mask)
                n++;
            else
                drop(w, n);
        if (w->n == 0) {
            w->done = true;
            return;
        }
        if (w->n > 1)
            merge(w);
        int at = pick(w);
        if (at >= 0) {
            strand_run(k, w, (uint32_t)at, false);
            continue;
        }
        for (uint32_t n = 0; n < w->n && at < 0; n++)
            if (w->s[n].state == WAIT_WARP)
                at = (int)n;
        if (at >= 0) {
            w->s[at].state = RUNNABLE;
            strand_run(k, w, (uint32_t)at, true);
            continue;
        }
        if (w->blocked)
            return;
        if (w->n == 1) { /* the others have exited since it came here */
            w->s[0].state = RUNNABLE;
            continue;
        }
        barrier_diverged(k, w);
        if (w->blocked)
            return;
    }
}
