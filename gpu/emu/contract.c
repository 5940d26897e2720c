/* Pairs of mul and add or sub that ptxas may contract: neither has a rounding modifier, the product is used
 * in the same basic block, and nothing between changes what went into it. */
#include "gpu/emu/alu.h"
#include "gpu/emu/parse.h"
#include <stdlib.h>

static bool ends_block(const insn *i)
{
    return i->kind == K_BRA || i->kind == K_BRX || i->kind == K_RET || i->kind == K_EXIT || i->kind == K_CALL;
}

static bool writes(const insn *i, int32_t slot)
{
    return slot > 0 && (i->dst == slot || i->kind == K_UNPACK || (i->kind == K_LD && i->n_vec > 1));
}

/* The mul that defines slot before `at` in its block, or -1. */
static int64_t product(const insn *code, const uint8_t *starts, uint32_t at, int32_t slot, const insn *user)
{
    for (uint32_t k = at; k > 0 && at - k < 256;) {
        k--;
        const insn *i = &code[k];
        if (starts[k + 1] || ends_block(i))
            return -1;
        if (i->dst != slot || i->kind != K_ALU || i->dst == 0) {
            if (i->dst == slot && i->dst != 0)
                return -1;
            continue;
        }
        if (!(i->flags & F_UNROUNDED) || i->sub != 2 || i->type != user->type || i->guard ||
            (i->flags & (F_FTZ | F_SAT)) != (user->flags & F_FTZ))
            return -1;
        for (uint32_t j = k + 1; j < at; j++)
            if (writes(&code[j], i->src[0]) || writes(&code[j], i->src[1]))
                return -1;
        return k;
    }
    return -1;
}

static void negate_and_fuse(insn *user, const insn *mul, uint32_t which, bool subtract);

uint32_t contract_pairs(const ptx_func *f, insn *code)
{
    uint32_t n = 0;
    if (f->n_code == 0)
        return 0;
    const insn *from = code ? code : f->code;
    uint8_t *starts = calloc(f->n_code + 1, 1);
    if (!starts)
        return 0;
    for (uint32_t k = 0; k < f->n_code; k++)
        if (from[k].kind == K_BRA)
            starts[from[k].target] = 1;
    for (uint32_t k = 0; k < f->n_code; k++) {
        const insn *u = &from[k];
        if (u->kind != K_ALU || !(u->flags & F_UNROUNDED) || u->sub > 1)
            continue;
        for (uint32_t which = 0; which < 2; which++) {
            int64_t at = u->src[which] > 0 ? product(from, starts, k, u->src[which], u) : -1;
            if (at < 0 || starts[k])
                continue;
            n++;
            if (code)
                negate_and_fuse(&code[k], &code[at], which, u->sub == 1);
            break;
        }
    }
    free(starts);
    return n;
}

/* sub 0: a*b+c; 1: a*b-c; 2: c-a*b. The product's operands come first. */
static void negate_and_fuse(insn *user, const insn *mul, uint32_t which, bool subtract)
{
    insn probe = *user;
    int32_t other = user->src[1 - which];
    probe.rnd = RND_RN;
    user->fn = user->type == T_F32 ? alu_f32("fma", &probe) : alu_f64("fma", &probe);
    user->src[0] = mul->src[0];
    user->src[1] = mul->src[1];
    user->src[2] = other;
    user->combine = !subtract ? 0 : which == 0 ? 1 : 2; /* 1: negate src[2]; 2: negate src[0] */
    user->flags &= ~(uint32_t)F_UNROUNDED;
}
