/* Instructions whose lanes see each other, and special registers. */
#include "gpu/emu/ops.h"
#include "gpu/emu/run.h"
#include "gpu/emu/special.h"
#include "gpu/emu/wrap.h"

static WRAPS uint32_t lane_source(const insn *i, uint32_t l, uint32_t b, uint32_t c, bool *valid)
{
    uint32_t bound = c & 31, segment = c >> 8 & 31, by = b & 31;
    uint32_t lo = l & segment, hi = lo | (bound & ~segment), j;
    switch (i->sub) {
    case SHFL_UP:
        *valid = l >= by && l - by >= hi;
        j = l - by;
        break;
    case SHFL_DOWN:
        *valid = l + by <= hi;
        j = l + by;
        break;
    case SHFL_BFLY:
        j = l ^ by;
        *valid = j <= hi;
        break;
    default:
        j = lo | (by & ~segment);
        *valid = j <= hi;
    }
    return *valid ? j & 31 : l;
}

static void shuffle(worker *k, warp *w, frame *f, const insn *i, uint32_t mask, uint32_t present)
{
    const uint64_t *a = operand_of(k, f, i->src[0]), *b = operand_of(k, f, i->src[1]),
                   *c = operand_of(k, f, i->src[2]);
    uint64_t d[LANES] = {0};
    uint32_t ok = 0;
    (void)w, (void)present;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        bool valid = false;
        uint32_t j = lane_source(i, l, (uint32_t)b[l], (uint32_t)c[l], &valid);
        d[l] = a[j];
        ok |= (uint32_t)valid << l;
    }
    put(f, i->dst, d, mask);
    if (i->dst2 > 0)
        put_pred(f, i->dst2, ok, mask);
}

static void vote(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const uint64_t *members = operand_of(k, f, i->src[3]);
    uint32_t p = f->p[i->src[0]] ^ (i->flags & F_NOT_C ? EMU_FULL : 0);
    uint64_t d[LANES];
    uint32_t all = i->flags & F_COUNT ? mask : (uint32_t)members[__builtin_ctz(mask)] & mask, yes = p & all;
    bool answer = i->sub == VOTE_ALL ? yes == all : i->sub == VOTE_ANY ? yes != 0 : yes == all || yes == 0;
    if (i->sub == VOTE_BALLOT) {
        for (int l = 0; l < LANES; l++)
            d[l] = yes;
        put(f, i->dst, d, mask);
    } else {
        put_pred(f, i->dst2, answer ? EMU_FULL : 0, mask);
    }
}

static void match(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const uint64_t *a = operand_of(k, f, i->src[0]);
    uint64_t d[LANES] = {0};
    uint32_t equal_all = mask;
    for (uint32_t l = 0; l < LANES; l++)
        for (uint32_t j = 0; j < LANES; j++)
            if ((mask >> l & 1) && (mask >> j & 1) && a[l] == a[j])
                d[l] |= UINT64_C(1) << j;
    if (i->sub) {
        equal_all = d[__builtin_ctz(mask)] == mask ? mask : 0;
        for (uint32_t l = 0; l < LANES; l++)
            d[l] = equal_all;
        if (i->dst2 > 0)
            put_pred(f, i->dst2, equal_all ? EMU_FULL : 0, mask);
    }
    put(f, i->dst, d, mask);
}

static WRAPS void redux(worker *k, frame *f, const insn *i, uint32_t mask)
{
    const uint64_t *a = operand_of(k, f, i->src[0]);
    bool first = true, is_signed = i->type == T_S32;
    uint32_t r = 0;
    uint64_t d[LANES];
    for (uint32_t left = mask; left; left &= left - 1, first = false) {
        uint32_t v = (uint32_t)a[__builtin_ctz(left)];
        bool less = is_signed ? (int32_t)v < (int32_t)r : v < r;
        if (first)
            r = v;
        else if (i->sub == ATOM_ADD)
            r += v;
        else if (i->sub == ATOM_MIN)
            r = less ? v : r;
        else if (i->sub == ATOM_MAX)
            r = less ? r : v;
        else
            r = i->sub == ATOM_AND ? r & v : i->sub == ATOM_OR ? r | v : r ^ v;
    }
    for (int l = 0; l < LANES; l++)
        d[l] = r;
    put(f, i->dst, d, mask);
}

/* Whether all the lanes that the members of `mask` name are here: those that exited count as here. */
static bool complete(worker *k, warp *w, frame *f, const insn *i, uint32_t mask, int32_t members_src,
                     bool forced)
{
    const uint64_t *members = operand_of(k, f, members_src);
    uint32_t missing = 0, outside = 0, gone = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left), m = (uint32_t)members[l];
        missing |= m & w->valid & ~w->exited & ~mask;
        gone |= m & w->valid & w->exited;
        if (!(m >> l & 1))
            outside |= UINT32_C(1) << l;
    }
    if (outside)
        note(k, w, f, i, (uint32_t)__builtin_ctz(outside), EMU_FIND_BARRIER,
             "a thread that its own member mask leaves out");
    if (missing && forced)
        note(k, w, f, i, (uint32_t)__builtin_ctz(mask), EMU_FIND_BARRIER,
             "lanes 0x%08x of the member mask never come here", missing);
    (void)gone;
    return !missing || forced;
}

bool run_warp_op(worker *k, warp *w, frame *f, const insn *i, uint32_t mask, uint32_t strand_mask,
                 bool forced)
{
    bool sync = !(i->flags & F_COUNT) && i->kind != K_ACTIVEMASK;
    if (sync && !complete(k, w, f, i, mask, i->kind == K_BAR_WARP ? i->src[0] : i->src[3], forced))
        return false;
    switch (i->kind) {
    case K_SHFL:
        shuffle(k, w, f, i, mask, strand_mask);
        break;
    case K_VOTE:
        vote(k, f, i, mask);
        break;
    case K_MATCH:
        match(k, f, i, mask);
        break;
    case K_REDUX:
        redux(k, f, i, mask);
        break;
    case K_BAR_WARP:
        warp_new_segment(k, w);
        break;
    case K_ACTIVEMASK:
    case K_ELECT: {
        uint64_t d[LANES];
        uint32_t leader = (uint32_t)__builtin_ctz(mask);
        for (int l = 0; l < LANES; l++)
            d[l] = i->kind == K_ELECT ? leader : mask;
        put(f, i->dst, d, mask);
        if (i->kind == K_ELECT && i->dst2 > 0)
            put_pred(f, i->dst2, UINT32_C(1) << leader, mask);
        break;
    }
    default:
        break;
    }
    return true;
}

static WRAPS uint64_t special_value(const worker *k, const warp *w, uint32_t l, int64_t number)
{
    const emu_launch *x = k->x->l;
    uint32_t t = w->index * LANES + l, bx = x->block[0], by = x->block[1];
    switch (number) {
    case SP_TID_X:
        return t % bx;
    case SP_TID_Y:
        return t / bx % by;
    case SP_TID_Z:
        return t / bx / by;
    case SP_NTID_X:
    case SP_NTID_Y:
    case SP_NTID_Z:
        return x->block[number - SP_NTID_X];
    case SP_CTAID_X:
    case SP_CTAID_Y:
    case SP_CTAID_Z:
        return k->ctaid[number - SP_CTAID_X];
    case SP_CLUSTERID_X:
    case SP_CLUSTERID_Y:
    case SP_CLUSTERID_Z:
        return k->ctaid[number - SP_CLUSTERID_X];
    case SP_NCTAID_X:
    case SP_NCTAID_Y:
    case SP_NCTAID_Z:
        return x->grid[number - SP_NCTAID_X];
    case SP_NCLUSTERID_X:
    case SP_NCLUSTERID_Y:
    case SP_NCLUSTERID_Z:
        return x->grid[number - SP_NCLUSTERID_X];
    case SP_CLUSTER_NCTAID_X:
    case SP_CLUSTER_NCTAID_Y:
    case SP_CLUSTER_NCTAID_Z:
    case SP_CLUSTER_NCTARANK:
    case SP_NSMID:
        return 1;
    case SP_LANEID:
        return l;
    case SP_WARPID:
        return w->index;
    case SP_NWARPID:
        return k->x->n_warps;
    case SP_LANEMASK_EQ:
        return UINT32_C(1) << l;
    case SP_LANEMASK_LE:
        return bits_mask(l + 1);
    case SP_LANEMASK_LT:
        return bits_mask(l);
    case SP_LANEMASK_GE:
        return EMU_FULL & ~bits_mask(l);
    case SP_LANEMASK_GT:
        return EMU_FULL & ~bits_mask(l + 1);
    case SP_CLOCK:
    case SP_CLOCK64:
    case SP_GLOBALTIMER:
    case SP_GLOBALTIMER_LO:
        return w->ticks;
    case SP_CLOCK_HI:
    case SP_GLOBALTIMER_HI:
        return w->ticks >> 32;
    case SP_DYNAMIC_SMEM:
        return x->shared_bytes;
    case SP_TOTAL_SMEM:
        return x->shared_bytes + k->x->entry->info.static_shared_bytes;
    default:
        return 0;
    }
}

void run_special(worker *k, const warp *w, frame *f, const insn *i, uint32_t mask)
{
    uint64_t d[LANES];
    for (uint32_t l = 0; l < LANES; l++)
        d[l] = special_value(k, w, l, i->imm) & i->mask;
    put(f, i->dst, d, mask);
}
