/* Atomics, lane by lane in ascending order. */
#include "gpu/emu/fp.h"
#include "gpu/emu/ops.h"
#include "gpu/emu/run.h"
#include "gpu/emu/wrap.h"

static int64_t sx(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static WRAPS uint64_t plus(uint64_t a, int64_t b)
{
    return a + (uint64_t)b;
}

static uint64_t half_sum(fp_format f, uint64_t a, uint64_t b)
{
    return fp_from_f64(f, fp_to_f64(f, a & 0xffff) + fp_to_f64(f, b & 0xffff), RND_RN);
}

static WRAPS uint64_t add(const insn *i, uint64_t a, uint64_t b)
{
    fp_format f = i->type == T_BF16 || i->type == T_BF16X2 ? fp_bf16 : fp_f16;
    switch (i->type) {
    case T_F32: {
        /* in global memory the hardware flushes subnormals */
        bool ftz = i->space != SPACE_SHARED;
        uint64_t r = out_f32(f32_of(ftz ? ftz_f32(a) : a) + f32_of(ftz ? ftz_f32(b) : b));
        return ftz ? ftz_f32(r) : r;
    }
    case T_F64:
        return bits_f64(f64_of(a) + f64_of(b));
    case T_F16:
    case T_BF16:
        return half_sum(f, a, b);
    case T_F16X2:
    case T_BF16X2:
        return half_sum(f, a, b) | half_sum(f, a >> 16, b >> 16) << 16;
    default:
        return a + b;
    }
}

static WRAPS uint64_t apply(const insn *i, uint64_t a, uint64_t b, uint64_t c)
{
    unsigned bits = type_bits((ptx_type)i->type);
    bool is_signed = type_class((ptx_type)i->type) == 's';
    switch (i->sub) {
    case ATOM_ADD:
        return add(i, a, b);
    case ATOM_MIN:
        return is_signed ? (sx(a, bits) < sx(b, bits) ? a : b) : a < b ? a : b;
    case ATOM_MAX:
        return is_signed ? (sx(a, bits) > sx(b, bits) ? a : b) : a > b ? a : b;
    case ATOM_INC:
        return a >= b ? 0 : a + 1;
    case ATOM_DEC:
        return a == 0 || a > b ? b : a - 1;
    case ATOM_EXCH:
        return b;
    case ATOM_CAS:
        return a == b ? c : a;
    case ATOM_AND:
        return a & b;
    case ATOM_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* One element a lane, at an offset from the address. */
static void each(worker *k, warp *w, frame *f, const insn *i, uint32_t mask, int64_t offset, int32_t value,
                 int32_t dst)
{
    const uint64_t *base = operand_of(k, f, i->src[0]), *b = operand_of(k, f, value),
                   *c = operand_of(k, f, i->src[2]);
    uint64_t old[LANES] = {0}, bytes = type_bits((ptx_type)i->type) / 8;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        uint64_t v = 0, address = plus(base[l], offset);
        uint8_t *p = access_atomic(k, w, f, i, l, address, bytes);
        if (!p)
            continue;
        memcpy(&v, p, bytes);
        old[l] = v;
        v = apply(i, v, b[l] & i->mask, c[l] & i->mask) & i->mask;
        memcpy(p, &v, bytes);
    }
    if (!(i->flags & F_RED))
        put(f, dst, old, mask);
}

void run_atomic(worker *k, warp *w, frame *f, const insn *i, uint32_t mask)
{
    if (i->space != SPACE_SHARED) {
        /* Atomics hand over what came before the last fence of the block, and take over what others did. */
        if (k->x->released) {
            if (i->flags & F_RELEASE)
                k->x->released[k->block] = w->segment + 1;
            else if (k->fenced && k->x->released[k->block] < k->release_at)
                k->x->released[k->block] = k->release_at;
        }
        k->acquired = true;
    }
    if (i->n_vec == 1) {
        each(k, w, f, i, mask, i->imm, i->src[1], i->dst);
        return;
    }
    const int32_t *values = k->x->m->vecs + i->extra, *olds = k->x->m->vecs + i->target;
    int64_t bytes = type_bits((ptx_type)i->type) / 8;
    for (uint32_t n = 0; n < i->n_vec; n++)
        each(k, w, f, i, mask, i->imm + n * bytes, values[n], olds[n]);
}
