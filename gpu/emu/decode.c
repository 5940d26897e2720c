/* From an instruction as written to what the interpreter runs: what all instructions share, and moves. */
#include "gpu/emu/alu.h"
#include "gpu/emu/parse.h"
#include "gpu/emu/special.h"
#include "gpu/emu/wrap.h"
#include <stdarg.h>
#include <stdio.h>

static void mnemonic(const raw_insn *r, char *out, size_t n)
{
    size_t at = 0;
    out[0] = 0;
    for (uint32_t k = 0; k < r->n_parts && at + 1 < n; k++) {
        int w = snprintf(out + at, n - at, "%s%.*s", k ? "." : "",
                         (int)(r->part[k].n < 60 ? r->part[k].n : 60), (const char *)r->part[k].p);
        at += w > 0 ? (size_t)w : 0;
    }
}

rp_code insn_error(parser *p, const raw_insn *r, const char *fmt, ...)
{
    char msg[200], name[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    mnemonic(r, name, sizeof name);
    p->lx.tok.line = r->line;
    p->lx.tok.column = r->column;
    return lex_error(p->e, &p->lx, "%s: %s", name, msg);
}

rp_code refuse(parser *p, const raw_insn *r)
{
    char name[160];
    if (*p->f->info.refused)
        return RP_OK;
    mnemonic(r, name, sizeof name);
    p->f->info.refused = scratch_strdup(p->sc, name);
    p->f->info.refused_line = r->line;
    p->f->info.refused_column = r->column;
    if (!p->f->info.refused)
        return err_nomem(p->e);
    return RP_OK;
}

static WRAPS uint32_t text_hash(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 11;
}

static bool name_index(parser *p, const raw_insn *r, uint32_t *out)
{
    char name[160];
    mnemonic(r, name, sizeof name);
    uint32_t *known = &p->name_at[text_hash(name) % 1024];
    if (*known && strcmp(p->m->names[*known - 1], name) == 0) {
        *out = *known - 1;
        return true;
    }
    uint32_t cap = p->cap_names;
    if (!grow(p, &p->m->names, p->m->n_names, &cap, sizeof *p->m->names) ||
        !grow(p, &p->m->name_approx, p->m->n_names, &p->cap_names, sizeof *p->m->name_approx))
        return false;
    if (!(p->m->names[p->m->n_names] = scratch_strdup(p->sc, name))) {
        err_nomem(p->e);
        return false;
    }
    *out = p->m->n_names;
    *known = ++p->m->n_names;
    return true;
}

insn *emit(parser *p, const raw_insn *r)
{
    uint32_t name;
    if (!name_index(p, r, &name) || !grow(p, &p->f->code, p->f->n_code, &p->cap_code, sizeof(insn)))
        return NULL;
    insn *i = &p->f->code[p->f->n_code++];
    *i = (insn){.guard = r->guard, .guard_not = r->guard_not, .line = r->line, .loc = p->loc, .name = name};
    return i;
}

bool take(raw_insn *r, const char *word)
{
    for (uint32_t k = 1; k < r->n_parts; k++)
        if (!r->used[k] && span_is(r->part[k], word))
            return r->used[k] = true;
    return false;
}

ptx_type take_type(raw_insn *r)
{
    for (uint32_t k = 1; k < r->n_parts; k++) {
        ptx_type t = r->used[k] ? T_NONE : type_named(r->part[k]);
        if (t != T_NONE) {
            r->used[k] = true;
            return t;
        }
    }
    return T_NONE;
}

bool all_taken(const raw_insn *r)
{
    for (uint32_t k = 1; k < r->n_parts; k++)
        if (!r->used[k])
            return false;
    return true;
}

uint8_t take_rounding(raw_insn *r)
{
    static const struct {
        const char *word;
        uint8_t rnd;
    } words[] = {{"rn", RND_RN},  {"rz", RND_RZ},  {"rm", RND_RM},  {"rp", RND_RP}, {"rna", RND_RNA},
                 {"rni", RND_RN}, {"rzi", RND_RZ}, {"rmi", RND_RM}, {"rpi", RND_RP}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (take(r, words[k].word))
            return words[k].rnd;
    return RND_NONE;
}

rp_code want_ops(parser *p, raw_insn *r, uint32_t lo, uint32_t hi)
{
    if (r->n_ops < lo || r->n_ops > hi)
        return insn_error(p, r, "%u operands, expected %u", r->n_ops, lo);
    return RP_OK;
}

static rp_code temporary(parser *p, raw_insn *r, insn_kind kind, int64_t imm, unsigned bits, int32_t *out)
{
    raw_insn hidden = *r;
    hidden.guard = 0;
    hidden.guard_not = false;
    insn *i = emit(p, &hidden);
    if (!i || (i->dst = new_reg(p)) < 0)
        return p->e->code;
    i->kind = (uint8_t)kind;
    i->imm = imm;
    i->mask = bits_mask(bits);
    i->dst_bits = (uint8_t)bits;
    *out = i->dst;
    return RP_OK;
}

static rp_code symbol_source(parser *p, raw_insn *r, const operand *o, ptx_type t, int32_t *out)
{
    const symbol *s = o->sym;
    if (type_bits(t) < 32)
        return insn_error(p, r, "an address in %u bits", type_bits(t));
    if (s->kind == SYM_FUNC) {
        p->f->calls_indirect = true;
        *out = const_operand(p, WINDOW_CODE | (s->address + 1));
        return p->e->code;
    }
    if (s->space == SPACE_GENERIC)
        return refuse(p, r); /* an extern variable of another module */
    if (s->space == SPACE_LOCAL)
        return temporary(p, r, K_ADDRESS, (int64_t)s->address + o->offset, type_bits(t), out);
    p->f->info.dynamic_shared |= s->dynamic;
    *out = const_operand(p, (uint64_t)((int64_t)s->address + o->offset) & bits_mask(type_bits(t)));
    return p->e->code;
}

/* Whether a name begins like a special register that is not emulated. */
static bool special_family(span name)
{
    static const char *const families[] = {"%pm",          "%envreg",        "%reserved_smem",
                                           "%is_explicit", "%current_graph", "%aggr_smem"};
    for (size_t k = 0; k < sizeof families / sizeof *families; k++)
        if (name.n >= strlen(families[k]) && memcmp(name.p, families[k], strlen(families[k])) == 0)
            return true;
    return false;
}

rp_code source_of(parser *p, raw_insn *r, const operand *o, ptx_type t, bool loose, int32_t *out)
{
    unsigned want = type_bits(t);
    double v = o->value;
    *out = 0;
    switch (o->kind) {
    case O_REG:
        if (type_bits(o->type) != want && !(loose && type_bits(o->type) > want))
            return insn_error(p, r, "a .%s register where %u bits are wanted", type_name(o->type), want);
        *out = o->slot;
        return RP_OK;
    case O_IMM:
        if (type_class(t) == 'f' && want >= 32)
            return insn_error(p, r, "an integer where a floating number is wanted");
        *out = const_operand(p, o->bits & bits_mask(want));
        return p->e->code;
    case O_FLOAT:
        if (want < 32 || type_class(t) == 'h')
            return insn_error(p, r, "a floating number where %u bits are wanted", want);
        if (want == 32) {
            float f = (float)v;
            uint32_t b;
            memcpy(&b, &f, sizeof b);
            *out = const_operand(p, o->width == 32 ? o->bits : b);
        } else {
            uint64_t b;
            memcpy(&b, &v, sizeof b);
            *out = const_operand(p, o->width == 64 ? o->bits : b);
        }
        return p->e->code;
    case O_SYM:
        return symbol_source(p, r, o, t, out);
    case O_SPECIAL:
        if ((int64_t)o->bits < 0) {
            if (!special_family(o->name))
                return insn_error(p, r, "%.*s is not declared", (int)(o->name.n < 80 ? o->name.n : 80),
                                  (const char *)o->name.p);
            raw_insn named = *r;
            named.n_parts = 1;
            named.part[0] = o->name;
            return refuse(p, &named);
        }
        return temporary(p, r, K_SPECIAL, (int64_t)o->bits,
                         want < special_bits((int)o->bits) ? want : special_bits((int)o->bits), out);
    case O_NAME:
        return insn_error(p, r, "%.*s is not declared", (int)(o->name.n < 80 ? o->name.n : 80),
                          (const char *)o->name.p);
    default:
        return insn_error(p, r, "an operand of the wrong kind");
    }
}

rp_code source(parser *p, raw_insn *r, uint32_t k, ptx_type t, bool loose, int32_t *out)
{
    if (k >= r->n_ops)
        return insn_error(p, r, "operand %u is missing", k + 1);
    return source_of(p, r, &r->op[k], t, loose, out);
}

rp_code pred_source(parser *p, raw_insn *r, uint32_t k, int32_t *slot, bool *negated)
{
    const operand *o = &r->op[k];
    if (k < r->n_ops && o->kind == O_IMM) { /* true or false */
        *slot = 0;
        *negated = false;
        return refuse(p, r);
    }
    if (k >= r->n_ops || o->kind != O_PRED || o->pair_pred != -1)
        return insn_error(p, r, "operand %u is no predicate", k + 1);
    *slot = o->slot;
    *negated = o->negated;
    return RP_OK;
}

rp_code dest_of(parser *p, raw_insn *r, const operand *o, ptx_type t, bool loose, int32_t *out,
                uint8_t *bits_out)
{
    unsigned want = type_bits(t);
    if (o->kind == O_SINK) {
        *out = 0;
        *bits_out = (uint8_t)want;
        return RP_OK;
    }
    if (o->kind != O_REG)
        return insn_error(p, r, "the destination is no register");
    if (type_bits(o->type) != want && !(loose && type_bits(o->type) > want))
        return insn_error(p, r, "a .%s register for a result of %u bits", type_name(o->type), want);
    *out = o->slot;
    *bits_out = (uint8_t)type_bits(o->type);
    return RP_OK;
}

rp_code dest(parser *p, raw_insn *r, uint32_t k, ptx_type t, bool loose, int32_t *out, uint8_t *bits_out)
{
    if (k >= r->n_ops)
        return insn_error(p, r, "operand %u is missing", k + 1);
    return dest_of(p, r, &r->op[k], t, loose, out, bits_out);
}

/* mov.b64 %rd, {%r1, %r2} and back. */
static rp_code vector_move(parser *p, raw_insn *r, ptx_type t, bool pack)
{
    const operand *v = &r->op[pack ? 1 : 0];
    if (v->n < 2 || type_bits(t) % v->n || type_bits(t) / v->n < 8)
        return insn_error(p, r, "a vector of %u elements for %u bits", v->n, type_bits(t));
    unsigned part = type_bits(t) / v->n;
    ptx_type pt = part == 8 ? T_B8 : part == 16 ? T_B16 : T_B32;
    int32_t slots[MAX_ELEMENTS], other = 0;
    uint8_t bits = (uint8_t)type_bits(t), ignored;
    for (uint32_t k = 0; k < v->n; k++)
        if (pack ? source_of(p, r, &v->elements[k], pt, false, &slots[k])
                 : dest_of(p, r, &v->elements[k], pt, false, &slots[k], &ignored))
            return p->e->code;
    if (pack ? dest(p, r, 0, t, false, &other, &bits) : source(p, r, 1, t, false, &other))
        return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->kind = pack ? K_PACK : K_UNPACK;
    i->sub = (uint8_t)part;
    i->n_vec = (uint8_t)v->n;
    i->extra = p->m->n_vecs;
    i->mask = bits_mask(bits);
    if (pack)
        i->dst = other;
    else
        i->src[0] = other;
    for (uint32_t k = 0; k < v->n; k++) {
        if (!grow(p, &p->m->vecs, p->m->n_vecs, &p->cap_vecs, sizeof *p->m->vecs))
            return p->e->code;
        p->m->vecs[p->m->n_vecs++] = slots[k];
    }
    return RP_OK;
}

static rp_code pred_move(parser *p, raw_insn *r)
{
    int32_t slot = 0;
    bool negated = false;
    if (r->op[0].kind != O_PRED)
        return insn_error(p, r, "the destination is no predicate");
    if (r->op[1].kind != O_IMM && pred_source(p, r, 1, &slot, &negated))
        return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->kind = K_PLOGIC;
    i->dst2 = r->op[0].slot;
    i->combine = BOOL_MOV;
    i->src[0] = i->src[1] = slot;
    if (r->op[1].kind == O_IMM) {
        i->combine = BOOL_NONE;
        i->imm = r->op[1].bits != 0;
    }
    i->flags = negated ? F_NOT_A : 0;
    return RP_OK;
}

rp_code decode_mov(parser *p, raw_insn *r)
{
    ptx_type t = take_type(r);
    if (want_ops(p, r, 2, 2))
        return p->e->code;
    if (t == T_NONE)
        return insn_error(p, r, "expected a type");
    if (t == T_PRED)
        return pred_move(p, r);
    if (r->op[0].kind == O_VECTOR || r->op[1].kind == O_VECTOR)
        return r->op[0].kind == r->op[1].kind ? insn_error(p, r, "two vectors")
                                              : vector_move(p, r, t, r->op[1].kind == O_VECTOR);
    int32_t d = 0, s = 0;
    uint8_t bits = 0;
    bool is_special = r->op[1].kind == O_SPECIAL && (int64_t)r->op[1].bits >= 0;
    if (dest(p, r, 0, t, false, &d, &bits))
        return p->e->code;
    if (!is_special && source(p, r, 1, t, false, &s))
        return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->dst = d;
    i->mask = bits_mask(bits);
    i->dst_bits = bits;
    i->type = (uint8_t)t;
    if (is_special) {
        i->kind = K_SPECIAL;
        i->imm = (int64_t)r->op[1].bits;
        return RP_OK;
    }
    i->kind = K_ALU;
    i->fn = alu_int("mov", T_B64);
    i->src[0] = s;
    return RP_OK;
}

rp_code decode(parser *p, raw_insn *r)
{
    bool known = false;
    uint32_t before = p->f->n_code;
    if (span_is(r->part[0], "mov")) {
        known = true;
        decode_mov(p, r);
    } else if (!decode_ctl(p, r, &known) && !known && !decode_mem(p, r, &known) && !known) {
        decode_alu(p, r, &known);
    }
    if (p->e->code)
        return p->e->code;
    if (!known || !all_taken(r))
        return refuse(p, r);
    for (uint32_t k = before; k < p->f->n_code; k++) {
        const insn *i = &p->f->code[k];
        if (i->flags & F_APPROX) {
            p->f->info.approximate = true;
            p->m->name_approx[i->name] = true;
        }
        if (i->kind == K_ATOM && i->space != SPACE_SHARED)
            p->f->info.global_atomics = true;
    }
    return RP_OK;
}
