/* The first guess of a compare-and-swap loop is commonly a plain load. It does not matter which value it
 * sees, for the swap checks it: such a load counts as atomic when races are looked for. */
#include "gpu/emu/alu.h"
#include "gpu/emu/ops.h"
#include "gpu/emu/parse.h"
#include <stdlib.h>

enum { MAX_PLACES = 64, MAX_STEPS = 4 };

/* The register that an address was made from by moves and changes of window. */
static int32_t origin(const ptx_func *f, const uint32_t *made_by, int32_t base)
{
    for (int n = 0; n < MAX_STEPS && base > 0 && made_by[base]; n++)
        base = f->code[made_by[base] - 1].src[0];
    return base;
}

void mark_cas_guesses(ptx_func *f)
{
    struct {
        int32_t base;
        int64_t offset;
        uint64_t mask;
    } places[MAX_PLACES];
    uint32_t n = 0;
    uint32_t *made_by = calloc(f->n_regs, sizeof *made_by);
    alu_fn *window = alu_int("window", T_B64), *mov = alu_int("mov", T_B64);
    if (!made_by)
        return; /* a race more is reported */
    for (uint32_t k = 0; k < f->n_code; k++)
        if (f->code[k].kind == K_ALU && (f->code[k].fn == window || f->code[k].fn == mov))
            made_by[f->code[k].dst] = k + 1;
    for (uint32_t k = 0; k < f->n_code && n < MAX_PLACES; k++) {
        const insn *i = &f->code[k];
        if (i->kind != K_ATOM || i->sub != ATOM_CAS)
            continue;
        places[n].base = origin(f, made_by, i->src[0]);
        places[n].offset = i->imm;
        places[n++].mask = i->mask;
    }
    for (uint32_t k = 0; n > 0 && k < f->n_code; k++) {
        insn *i = &f->code[k];
        if (i->kind != K_LD || i->n_vec != 1)
            continue;
        for (uint32_t p = 0; p < n; p++)
            if (places[p].base == origin(f, made_by, i->src[0]) && places[p].offset == i->imm &&
                places[p].mask == bits_mask(8u * i->sub))
                i->flags |= F_STRONG;
    }
    free(made_by);
}
