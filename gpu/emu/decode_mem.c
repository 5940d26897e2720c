/* Loads, stores, atomics, addresses, fences. */
#include "gpu/emu/alu.h"
#include "gpu/emu/ops.h"
#include "gpu/emu/parse.h"
#include <stdio.h>

static bool is_op(const raw_insn *r, const char *name)
{
    return span_is(r->part[0], name);
}

static ptx_space take_space(raw_insn *r)
{
    static const struct {
        const char *word;
        ptx_space space;
    } words[] = {{"global", SPACE_GLOBAL},
                 {"shared", SPACE_SHARED},
                 {"shared::cta", SPACE_SHARED},
                 {"local", SPACE_LOCAL},
                 {"const", SPACE_CONST},
                 {"param", SPACE_PARAM},
                 {"param::entry", SPACE_PARAM_ENTRY},
                 {"param::func", SPACE_PARAM}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (take(r, words[k].word))
            return words[k].space;
    return SPACE_GENERIC;
}

/* Hints about caches change nothing here. */
static bool take_hints(raw_insn *r)
{
    static const char *const hints[] = {"ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "nc",
                                        "unified",
                                        "weak",
                                        "L1::evict_normal",
                                        "L1::evict_unchanged",
                                        "L1::evict_first",
                                        "L1::evict_last",
                                        "L1::no_allocate",
                                        "L2::evict_first",
                                        "L2::evict_last",
                                        "L2::evict_normal",
                                        "L2::64B",
                                        "L2::128B",
                                        "L2::256B",
                                        "level::eviction_priority"};
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        take(r, hints[k]);
    return take(r, "L2::cache_hint");
}

static uint32_t take_order(raw_insn *r)
{
    uint32_t flags = 0;
    if (take(r, "volatile") || take(r, "relaxed") || take(r, "mmio"))
        flags |= F_STRONG;
    if (take(r, "acquire"))
        flags |= F_STRONG | F_ACQUIRE;
    if (take(r, "release"))
        flags |= F_STRONG | F_RELEASE;
    if (take(r, "acq_rel") || take(r, "sc"))
        flags |= F_STRONG | F_ACQUIRE | F_RELEASE;
    if (take(r, "cta"))
        flags &= ~(uint32_t)(F_ACQUIRE | F_RELEASE);
    else if (take(r, "gpu") || take(r, "sys") || take(r, "cluster") || take(r, "gl"))
        flags |= F_HI;
    return flags;
}

rp_code address_of(parser *p, raw_insn *r, const operand *o, ptx_space *space, int32_t *base, int64_t *offset)
{
    if (o->kind != O_ADDRESS)
        return insn_error(p, r, "expected an address in brackets");
    *offset = o->offset;
    *base = const_operand(p, 0);
    if (p->e->code)
        return p->e->code;
    if (o->base_reg) {
        unsigned bits = type_bits(o->type);
        bool short_ok = *space != SPACE_GENERIC && *space != SPACE_GLOBAL;
        if (bits != 64 && !(bits == 32 && short_ok))
            return insn_error(p, r, "a .%s register as address", type_name(o->type));
        *base = o->slot;
        if (*space == SPACE_PARAM && p->f->entry)
            *space = SPACE_PARAM_ENTRY;
        return RP_OK;
    }
    if (!o->base_sym)
        return RP_OK;
    const symbol *s = o->sym;
    if (s->kind != SYM_VAR)
        return insn_error(p, r, "a function as address");
    if (*space == SPACE_PARAM && (s->space == SPACE_PARAM || s->space == SPACE_PARAM_ENTRY))
        *space = s->space;
    if (*space == SPACE_PARAM_ENTRY && s->space == SPACE_PARAM)
        *space = SPACE_PARAM;
    bool fits = s->space == *space ||
                (*space == SPACE_GENERIC && (s->space == SPACE_GLOBAL || s->space == SPACE_CONST));
    if (s->space == SPACE_GENERIC)
        return refuse(p, r);
    if (!fits)
        return insn_error(p, r, "a variable of another state space");
    p->f->info.dynamic_shared |= s->dynamic;
    if (s->space == SPACE_LOCAL) {
        operand plain = {.kind = O_SYM, .sym = s};
        return source_of(p, r, &plain, T_B64, false, base);
    }
    *offset += (int64_t)s->address;
    return RP_OK;
}

static rp_code elements(parser *p, raw_insn *r, const operand *o, ptx_type t, uint32_t n, bool load, insn *q)
{
    int32_t slots[MAX_ELEMENTS];
    uint8_t bits[MAX_ELEMENTS] = {0};
    if (n > 1 && (o->kind != O_VECTOR || o->n != n))
        return insn_error(p, r, "expected a vector of %u elements", n);
    if (n == 1 && o->kind == O_VECTOR && o->n != 1)
        return insn_error(p, r, "a vector where one element is wanted");
    for (uint32_t k = 0; k < n; k++) {
        const operand *one = o->kind == O_VECTOR ? &o->elements[k] : o;
        if (load ? dest_of(p, r, one, t, true, &slots[k], &bits[k])
                 : source_of(p, r, one, t, true, &slots[k]))
            return p->e->code;
    }
    q->extra = p->m->n_vecs;
    q->n_vec = (uint8_t)n;
    q->dst_bits = bits[0];
    for (uint32_t k = 0; k < n; k++) {
        if (!grow(p, &p->m->vecs, p->m->n_vecs, &p->cap_vecs, sizeof *p->m->vecs))
            return p->e->code;
        p->m->vecs[p->m->n_vecs++] = slots[k];
        if (bits[k] < q->dst_bits)
            q->dst_bits = bits[k];
    }
    return RP_OK;
}

static rp_code commit(parser *p, raw_insn *r, const insn *q)
{
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    insn head = *i;
    *i = *q;
    i->guard = head.guard;
    i->guard_not = head.guard_not;
    i->line = head.line;
    i->loc = head.loc;
    i->name = head.name;
    return RP_OK;
}

static rp_code access(parser *p, raw_insn *r, bool load)
{
    insn q = {.kind = load ? K_LD : K_ST};
    ptx_space space = take_space(r);
    q.flags = take_order(r);
    bool policy = take_hints(r);
    uint32_t n = take(r, "v2") ? 2 : take(r, "v4") ? 4 : take(r, "v8") ? 8 : 1;
    ptx_type t = take_type(r);
    q.type = (uint8_t)t;
    if (t == T_NONE || t == T_PRED || type_bits(t) * n > 256 || type_class(t) == 'h')
        return refuse(p, r);
    if (want_ops(p, r, policy ? 3 : 2, policy ? 3 : 2))
        return p->e->code;
    if (address_of(p, r, &r->op[load ? 1 : 0], &space, &q.src[0], &q.imm) ||
        elements(p, r, &r->op[load ? 0 : 1], t, n, load, &q))
        return p->e->code;
    if (!load && (space == SPACE_CONST || space == SPACE_PARAM_ENTRY))
        return insn_error(p, r, "a store into read-only memory");
    q.space = (uint8_t)space;
    q.sub = (uint8_t)(type_bits(t) / 8);
    q.mask = type_class(t) == 's' ? bits_mask(q.dst_bits) : bits_mask(type_bits(t));
    return commit(p, r, &q);
}

static bool atom_type_ok(unsigned op, ptx_type t)
{
    unsigned bits = type_bits(t);
    char cls = type_class(t);
    switch (op) {
    case ATOM_ADD:
        return t == T_F16X2 || t == T_BF16X2 || t == T_F16 || t == T_BF16 || t == T_F32 || t == T_F64 ||
               (bits >= 32 && (cls == 'u' || cls == 's'));
    case ATOM_MIN:
    case ATOM_MAX:
        return bits >= 32 && (cls == 'u' || cls == 's');
    case ATOM_INC:
    case ATOM_DEC:
        return t == T_U32;
    case ATOM_CAS:
        return (cls == 'b' || cls == 'u' || cls == 's') && bits >= 16;
    case ATOM_EXCH:
        return (cls == 'b' || cls == 'u' || cls == 's') && bits >= 32;
    default:
        return bits >= 32 && (cls == 'b' || cls == 'u' || cls == 's');
    }
}

static rp_code atomic(parser *p, raw_insn *r, bool red)
{
    static const char *const ops[] = {"add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"};
    insn q = {.kind = K_ATOM};
    int op = -1;
    uint8_t bits = 0;
    ptx_space space = take_space(r);
    q.flags = take_order(r) | F_STRONG | (red ? F_RED : 0);
    take(r, "noftz");
    bool policy = take_hints(r);
    uint32_t many = take(r, "v2") ? 2 : take(r, "v4") ? 4 : take(r, "v8") ? 8 : 1;
    for (int k = 0; k < 10; k++)
        if (take(r, ops[k]))
            op = k;
    ptx_type t = take_type(r);
    if (op < 0 || !atom_type_ok((unsigned)op, t) ||
        (space != SPACE_GENERIC && space != SPACE_GLOBAL && space != SPACE_SHARED))
        return refuse(p, r);
    uint32_t at = red ? 0 : 1, n = at + 2 + (op == ATOM_CAS) + policy;
    if ((red && (op == ATOM_CAS || op == ATOM_EXCH)) ||
        (many > 1 &&
         (op != ATOM_ADD || type_class(t) == 'u' || type_class(t) == 's' || space == SPACE_SHARED)))
        return refuse(p, r);
    if (want_ops(p, r, n, n) || address_of(p, r, &r->op[at], &space, &q.src[0], &q.imm))
        return p->e->code;
    if (many > 1) {
        insn old = q;
        if (elements(p, r, &r->op[at + 1], t, many, false, &q) ||
            (!red && elements(p, r, &r->op[0], t, many, true, &old)))
            return p->e->code;
        q.target = red ? q.extra : old.extra;
    } else if ((!red && dest(p, r, 0, t, true, &q.dst, &bits)) || source(p, r, at + 1, t, true, &q.src[1]) ||
               (op == ATOM_CAS && source(p, r, at + 2, t, true, &q.src[2]))) {
        return p->e->code;
    }
    q.n_vec = (uint8_t)many;
    q.space = (uint8_t)space;
    q.type = (uint8_t)t;
    q.sub = (uint8_t)op;
    q.mask = bits_mask(type_bits(t));
    return commit(p, r, &q);
}

static rp_code cvta(parser *p, raw_insn *r)
{
    bool to = take(r, "to");
    ptx_space space = take_space(r);
    ptx_type t = take_type(r);
    insn q = {.kind = K_ALU, .fn = alu_int("window", T_B64)};
    uint8_t bits = 0;
    if (space == SPACE_GENERIC || type_bits(t) != 64)
        return refuse(p, r);
    if (space == SPACE_PARAM)
        space = SPACE_PARAM_ENTRY;
    uint64_t window = space == SPACE_SHARED        ? WINDOW_SHARED
                      : space == SPACE_LOCAL       ? WINDOW_LOCAL
                      : space == SPACE_PARAM_ENTRY ? WINDOW_PARAM
                                                   : 0;
    if (want_ops(p, r, 2, 2) || dest(p, r, 0, t, false, &q.dst, &bits) ||
        source(p, r, 1, t, false, &q.src[0]))
        return p->e->code;
    q.imm = to ? -(int64_t)window : (int64_t)window;
    q.type = (uint8_t)t;
    q.mask = UINT64_MAX;
    q.dst_bits = 64;
    return commit(p, r, &q);
}

static rp_code isspacep(parser *p, raw_insn *r)
{
    insn q = {.kind = K_ISSPACEP};
    bool cluster = take(r, "shared::cluster");
    ptx_space space = cluster ? SPACE_SHARED : take_space(r);
    if (space == SPACE_GENERIC)
        return refuse(p, r);
    if (want_ops(p, r, 2, 2) || source(p, r, 1, T_B64, false, &q.src[0]))
        return p->e->code;
    if (r->op[0].kind != O_PRED)
        return insn_error(p, r, "the destination is no predicate");
    q.dst2 = r->op[0].slot;
    q.space = (uint8_t)(space == SPACE_PARAM ? SPACE_PARAM_ENTRY : space);
    return commit(p, r, &q);
}

static rp_code fence(parser *p, raw_insn *r)
{
    static const char *const more[] = {"proxy",       "alias",  "async",  "async::generic",    "async.global",
                                       "shared::cta", "global", "membar", "tensormap::generic"};
    insn q = {.kind = K_FENCE};
    bool wide = false;
    for (uint32_t k = 1; k < r->n_parts; k++)
        wide |= span_is(r->part[k], "gl") || span_is(r->part[k], "gpu") || span_is(r->part[k], "sys");
    take_order(r);
    for (size_t k = 0; k < sizeof more / sizeof *more; k++)
        take(r, more[k]);
    q.flags = wide ? F_RELEASE : 0;
    return want_ops(p, r, 0, 0) ? p->e->code : commit(p, r, &q);
}

static rp_code nothing(parser *p, raw_insn *r)
{
    insn q = {.kind = K_NOP};
    for (uint32_t k = 1; k < r->n_parts; k++)
        r->used[k] = true;
    return commit(p, r, &q);
}

/* A cache policy is a number that nothing here looks at. */
static rp_code create_policy(parser *p, raw_insn *r)
{
    insn q = {.kind = K_ALU, .fn = alu_int("mov", T_B64), .mask = UINT64_MAX, .dst_bits = 64, .type = T_B64};
    uint8_t bits = 0;
    for (uint32_t k = 1; k < r->n_parts; k++)
        r->used[k] = true;
    if (dest(p, r, 0, T_B64, false, &q.dst, &bits))
        return p->e->code;
    q.src[0] = const_operand(p, 0);
    return commit(p, r, &q);
}

static rp_code cp_async(parser *p, raw_insn *r)
{
    insn q = {.kind = K_CP_ASYNC};
    ptx_space to = SPACE_SHARED, from = SPACE_GLOBAL;
    int64_t source_offset = 0;
    if (!take(r, "async"))
        return refuse(p, r);
    if (take(r, "commit_group") || take(r, "wait_all") || take(r, "wait_group"))
        return nothing(p, r);
    if ((!take(r, "ca") && !take(r, "cg")) || (!take(r, "shared") && !take(r, "shared::cta")) ||
        !take(r, "global"))
        return refuse(p, r);
    bool policy = take_hints(r);
    if (want_ops(p, r, 3 + policy, 4 + policy))
        return p->e->code;
    if (address_of(p, r, &r->op[0], &to, &q.src[0], &q.imm) ||
        address_of(p, r, &r->op[1], &from, &q.src[1], &source_offset))
        return p->e->code;
    if (r->op[2].kind != O_IMM || (r->op[2].bits != 4 && r->op[2].bits != 8 && r->op[2].bits != 16))
        return insn_error(p, r, "expected 4, 8 or 16 bytes");
    q.sub = (uint8_t)r->op[2].bits;
    if (r->n_ops == 4u + policy) {
        if (r->op[3].kind == O_PRED)
            return refuse(p, r);
        if (source(p, r, 3, T_B32, false, &q.src[2]))
            return p->e->code;
    } else {
        q.src[2] = const_operand(p, q.sub);
    }
    q.mask = (uint64_t)source_offset;
    q.space = SPACE_SHARED;
    return p->e->code ? p->e->code : commit(p, r, &q);
}

rp_code decode_mem(parser *p, raw_insn *r, bool *known)
{
    *known = true;
    if (is_op(r, "ld") || is_op(r, "ldu"))
        return access(p, r, true);
    if (is_op(r, "st"))
        return access(p, r, false);
    if (is_op(r, "atom") || is_op(r, "red"))
        return atomic(p, r, is_op(r, "red"));
    if (is_op(r, "cvta"))
        return cvta(p, r);
    if (is_op(r, "isspacep"))
        return isspacep(p, r);
    if (is_op(r, "membar") || is_op(r, "fence"))
        return fence(p, r);
    if (is_op(r, "createpolicy"))
        return create_policy(p, r);
    if (is_op(r, "cp"))
        return cp_async(p, r);
    if (is_op(r, "prefetch") || is_op(r, "prefetchu") || is_op(r, "applypriority") || is_op(r, "discard"))
        return nothing(p, r);
    *known = false;
    return RP_OK;
}
