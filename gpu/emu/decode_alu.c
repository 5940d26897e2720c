/* Arithmetic, logic, comparison, conversion. */
#include "gpu/emu/alu.h"
#include "gpu/emu/parse.h"
#include <stdio.h>

static bool is_op(const raw_insn *r, const char *name)
{
    return span_is(r->part[0], name);
}

static void append(char *s, size_t size, const char *more)
{
    size_t n = strlen(s);
    snprintf(s + n, size - n, "%s", more);
}

static bool take_any(raw_insn *r, const char *const *words, char *out, size_t n)
{
    for (; *words; words++)
        if (take(r, *words)) {
            snprintf(out, n, "%s", *words);
            return true;
        }
    return false;
}

/* Emit dst = fn(sources), the sources' types given; dst type dt. prepare has been filled with the flags and
 * so on. */
static rp_code lanes(parser *p, raw_insn *r, const insn *prepared, alu_fn *fn, ptx_type dt, bool loose_dst,
                     const ptx_type *st, uint32_t n)
{
    int32_t d = 0, s[4] = {0};
    uint8_t bits = 0;
    if (!fn)
        return refuse(p, r);
    if (want_ops(p, r, n + 1, n + 1) || dest(p, r, 0, dt, loose_dst, &d, &bits))
        return p->e->code;
    for (uint32_t k = 0; k < n; k++)
        if (source(p, r, k + 1, st[k], loose_dst, &s[k]))
            return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->kind = K_ALU;
    i->fn = fn;
    i->type = prepared->type;
    i->stype = prepared->stype;
    i->flags = prepared->flags;
    i->rnd = prepared->rnd;
    i->sub = prepared->sub;
    i->imm = prepared->imm;
    i->mask = bits_mask(bits);
    i->dst_bits = bits;
    i->dst = d;
    memcpy(i->src, s, sizeof s);
    return RP_OK;
}

static rp_code carry(parser *p, raw_insn *r, bool mad)
{
    static const char *const parts[] = {"lo", "hi", NULL};
    char part[8] = "";
    insn q = {0};
    bool in = is_op(r, "addc") || is_op(r, "subc") || is_op(r, "madc");
    bool out = take(r, "cc");
    if (mad)
        take_any(r, parts, part, sizeof part);
    ptx_type t = take_type(r);
    if (type_bits(t) != 32 && type_bits(t) != 64)
        return refuse(p, r);
    uint32_t n = mad ? 3 : 2;
    ptx_type st[3] = {t, t, t};
    q.type = (uint8_t)t;
    q.sub = is_op(r, "sub") || is_op(r, "subc") ? 1 : mad ? 2 : 0;
    q.flags = (out ? F_CC : 0) | (in ? F_ACQUIRE : 0) | (part[0] == 'h' ? F_HI : 0) |
              (type_class(t) == 's' ? F_SIGNED : 0);
    if (mad && !part[0])
        return refuse(p, r);
    if (lanes(p, r, &q, alu_int("mov", T_B64), t, false, st, n) || *p->f->info.refused)
        return p->e->code;
    p->f->code[p->f->n_code - 1].kind = K_CARRY;
    return RP_OK;
}

/* add sub mul min max abs neg div … of integers. */
static rp_code integer(parser *p, raw_insn *r, ptx_type t)
{
    static const char *const halves[] = {"lo", "hi", "wide", NULL};
    char op[32], part[16] = "";
    insn q = {.type = (uint8_t)t};
    snprintf(op, sizeof op, "%.*s", (int)(r->part[0].n < 12 ? r->part[0].n : 12), (const char *)r->part[0].p);
    bool mul = strcmp(op, "mul") == 0 || strcmp(op, "mul24") == 0,
         mad = strcmp(op, "mad") == 0 || strcmp(op, "mad24") == 0;
    bool unary = strcmp(op, "abs") == 0 || strcmp(op, "neg") == 0;
    ptx_type dt = t, ct = t;
    if (type_bits(t) < 16 || (type_class(t) == 'b'))
        return refuse(p, r);
    if (type_class(t) == 'h') {
        if (strcmp(op, "add") != 0 && strcmp(op, "min") != 0 && strcmp(op, "max") != 0)
            return refuse(p, r);
        q.flags = (t == T_S16X2 ? F_SIGNED : 0) | (take(r, "relu") ? F_RELU : 0);
        snprintf(part, sizeof part, "2");
        ptx_type st[2] = {t, t};
        append(op, sizeof op, part);
        return lanes(p, r, &q, alu_int(op, t), t, false, st, 2);
    }
    if (mul || mad) {
        if (!take_any(r, halves, part, sizeof part))
            return refuse(p, r);
        append(op, sizeof op, ".");
        append(op, sizeof op, part);
        if (strcmp(part, "wide") == 0) {
            if (type_bits(t) > 32)
                return refuse(p, r);
            dt = ct = type_class(t) == 's' ? (type_bits(t) == 16 ? T_S32 : T_S64)
                      : type_bits(t) == 16 ? T_U32
                                           : T_U64;
        }
    }
    if (take(r, "sat")) {
        if (t != T_S32)
            return refuse(p, r);
        append(op, sizeof op, ".sat");
    }
    if (take(r, "relu"))
        append(op, sizeof op, ".relu");
    if (strcmp(op, "sad") == 0)
        mad = true;
    ptx_type st[3] = {t, t, ct};
    return lanes(p, r, &q, alu_int(op, t), dt, false, st, unary ? 1 : mad ? 3 : 2);
}

static rp_code floating(parser *p, raw_insn *r, ptx_type t)
{
    char op[32];
    insn q = {.type = (uint8_t)t, .rnd = take_rounding(r)};
    snprintf(op, sizeof op, "%.*s", (int)(r->part[0].n < 12 ? r->part[0].n : 12), (const char *)r->part[0].p);
    q.flags = (take(r, "ftz") ? F_FTZ : 0) | (take(r, "sat") ? F_SAT : 0) | (take(r, "relu") ? F_RELU : 0);
    if (take(r, "NaN"))
        q.flags |= F_NAN;
    if (take(r, "xorsign"))
        q.flags |= take(r, "abs") ? F_XORSIGN : 0;
    if (strcmp(op, "mad") == 0)
        snprintf(op, sizeof op, "fma");
    bool full = take(r, "full"), approx = take(r, "approx");
    bool unary = strchr("anrsclet", op[0]) && strcmp(op, "add") != 0 && strcmp(op, "sub") != 0 &&
                 strcmp(op, "copysign") != 0;
    bool arithmetic = strcmp(op, "add") == 0 || strcmp(op, "sub") == 0 || strcmp(op, "mul") == 0;
    bool is_half = t == T_F16 || t == T_BF16 || t == T_F16X2 || t == T_BF16X2;
    bool rounds = arithmetic || strcmp(op, "fma") == 0 || strcmp(op, "div") == 0 || strcmp(op, "rcp") == 0 ||
                  strcmp(op, "sqrt") == 0;
    if (strcmp(op, "max") == 0)
        q.sub = 1;
    static const char *const order[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};
    if (!is_half)
        for (uint8_t k = 0; k < 7; k++)
            if (strcmp(op, order[k]) == 0)
                q.sub = k;
    if (q.rnd && !rounds)
        return refuse(p, r);
    if (arithmetic && !q.rnd && (t == T_F32 || t == T_F64))
        q.flags |= F_UNROUNDED;
    bool transcendental = strcmp(op, "sin") == 0 || strcmp(op, "cos") == 0 || strcmp(op, "lg2") == 0 ||
                          strcmp(op, "ex2") == 0 || strcmp(op, "tanh") == 0 || strcmp(op, "rsqrt") == 0;
    if (transcendental && !approx)
        return refuse(p, r);
    if (!transcendental && rounds && !arithmetic && strcmp(op, "fma") != 0 && !full && !approx && !q.rnd)
        return refuse(p, r); /* div.f32 of PTX 1 */
    if (full)
        append(op, sizeof op, ".full");
    if (full || approx)
        q.flags |= F_APPROX;
    alu_fn *fn =
        is_half
            ? (t == T_F16 || t == T_F16X2 || !(q.flags & F_FTZ) || transcendental ? alu_half(op, &q) : NULL)
        : t == T_F64     ? alu_f64(op, &q)
        : t != T_F32     ? NULL
        : full || approx ? alu_math(op, &q)
                         : alu_f32(op, &q);
    if (is_half && strcmp(op, "fma") == 0 && !q.rnd)
        fn = NULL;
    ptx_type st[3] = {t, t, t};
    return lanes(p, r, &q, fn, t, false, st, strcmp(op, "fma") == 0 ? 3 : unary ? 1 : 2);
}

static rp_code logic(parser *p, raw_insn *r)
{
    ptx_type t = take_type(r);
    if (t == T_PRED) {
        bool is_not = is_op(r, "not"), neg_a = false, neg_b = false;
        int32_t a = 0, b = 0;
        if (want_ops(p, r, is_not ? 2 : 3, is_not ? 2 : 3))
            return p->e->code;
        if (r->op[0].kind != O_PRED || is_op(r, "cnot"))
            return insn_error(p, r, "the destination is no predicate");
        if (pred_source(p, r, 1, &a, &neg_a) || (!is_not && pred_source(p, r, 2, &b, &neg_b)))
            return p->e->code;
        insn *i = emit(p, r);
        if (!i)
            return p->e->code;
        i->kind = K_PLOGIC;
        i->dst2 = r->op[0].slot;
        i->src[0] = a;
        i->src[1] = is_not ? a : b;
        i->combine = is_not ? BOOL_NOT : is_op(r, "and") ? BOOL_AND : is_op(r, "or") ? BOOL_OR : BOOL_XOR;
        i->flags = (neg_a ? F_NOT_A : 0) | (neg_b ? F_NOT_C : 0);
        return RP_OK;
    }
    if (type_class(t) != 'b' || type_bits(t) < 16)
        return refuse(p, r);
    char op[8];
    snprintf(op, sizeof op, "%.*s", (int)r->part[0].n, (const char *)r->part[0].p);
    insn q = {.type = (uint8_t)t};
    ptx_type st[2] = {t, t};
    return lanes(p, r, &q, alu_int(op, t), t, false, st, is_op(r, "not") || is_op(r, "cnot") ? 1 : 2);
}

static uint8_t take_bool(raw_insn *r)
{
    return take(r, "and") ? BOOL_AND : take(r, "or") ? BOOL_OR : take(r, "xor") ? BOOL_XOR : BOOL_NONE;
}

/* setp and set. */
static rp_code compare(parser *p, raw_insn *r, bool set)
{
    static const char *const cmps[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",
                                       "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
    char cmp[8] = "";
    insn q = {0};
    bool integers, negated = false;
    int32_t a = 0, b = 0, c = 0, d = 0;
    uint8_t bits = 0;
    take_any(r, cmps, cmp, sizeof cmp);
    q.combine = take_bool(r);
    q.flags = take(r, "ftz") ? F_FTZ : 0;
    ptx_type dt = set ? take_type(r) : T_PRED, t = take_type(r);
    uint32_t n = q.combine ? 4 : 3;
    q.type = (uint8_t)t;
    if (!cmp[0] || t == T_NONE || t == T_PRED || type_bits(t) < 16)
        return refuse(p, r);
    alu_fn *fn = alu_compare(cmp, t, &integers);
    bool packed = type_class(t) == 'h';
    if (!fn || (set && (packed || (dt != T_U32 && dt != T_S32 && dt != T_B32 && dt != T_F32))) ||
        (q.flags & F_FTZ && (integers || t == T_F64)))
        return refuse(p, r);
    if (want_ops(p, r, n, n))
        return p->e->code;
    if (!set && r->op[0].kind != O_PRED && r->op[0].kind != O_SINK)
        return insn_error(p, r, "the destination is no predicate");
    if (source(p, r, 1, t, false, &a) || source(p, r, 2, t, false, &b))
        return p->e->code;
    if (q.combine && pred_source(p, r, 3, &c, &negated))
        return p->e->code;
    if (set && dest(p, r, 0, dt, false, &d, &bits))
        return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->kind = K_ALU_PRED;
    i->fn = fn;
    i->type = q.type;
    i->combine = q.combine;
    i->flags = q.flags | (negated ? F_NOT_C : 0);
    i->src[0] = a;
    i->src[1] = b;
    i->src[3] = c;
    i->sub = packed;
    i->dst3 = -1;
    if (!set) {
        i->dst2 = r->op[0].kind == O_SINK ? 0 : r->op[0].slot;
        i->dst3 = r->op[0].pair_pred;
        return RP_OK;
    }
    int32_t temp = new_pred(p);
    if (temp < 0)
        return p->e->code;
    i->dst2 = temp;
    int32_t yes = const_operand(p, dt == T_F32 ? 0x3f800000 : UINT32_MAX), no = const_operand(p, 0);
    if (!(i = emit(p, r)))
        return p->e->code;
    i->kind = K_SELP;
    i->dst = d;
    i->src[0] = yes;
    i->src[1] = no;
    i->src[2] = temp;
    i->mask = bits_mask(32);
    return p->e->code;
}

static rp_code select_by_pred(parser *p, raw_insn *r)
{
    ptx_type t = take_type(r);
    int32_t d = 0, a = 0, b = 0, c = 0;
    bool negated = false;
    uint8_t bits = 0;
    if (type_bits(t) < 16)
        return refuse(p, r);
    if (want_ops(p, r, 4, 4) || dest(p, r, 0, t, false, &d, &bits) || source(p, r, 1, t, false, &a) ||
        source(p, r, 2, t, false, &b) || pred_source(p, r, 3, &c, &negated))
        return p->e->code;
    insn *i = emit(p, r);
    if (!i)
        return p->e->code;
    i->kind = K_SELP;
    i->dst = d;
    i->src[0] = a;
    i->src[1] = b;
    i->src[2] = c;
    i->flags = negated ? F_NOT_C : 0;
    i->mask = bits_mask(bits);
    return RP_OK;
}

static rp_code convert(parser *p, raw_insn *r)
{
    insn q = {0};
    bool integral = false;
    for (uint32_t k = 1; k < r->n_parts; k++)
        integral |= r->part[k].n == 3 && r->part[k].p[0] == 'r' && r->part[k].p[2] == 'i';
    q.rnd = take_rounding(r);
    q.flags = (take(r, "ftz") ? F_FTZ : 0) | (take(r, "sat") ? F_SAT : 0) | (take(r, "relu") ? F_RELU : 0);
    q.type = (uint8_t)take_type(r);
    q.stype = (uint8_t)take_type(r);
    q.sub = integral;
    if (q.stype == T_NONE || q.stype == T_PRED || q.type == T_PRED || type_class((ptx_type)q.type) == 'b' ||
        type_class((ptx_type)q.stype) == 'b')
        return refuse(p, r);
    bool two = q.type == T_F16X2 || q.type == T_BF16X2;
    char from = type_class((ptx_type)q.stype), to = type_class((ptx_type)q.type);
    if (from == 'f' && to != 'f' && to != 'h' && !integral)
        return refuse(p, r);
    if (from == 'f' && to == 'f' && !integral && q.rnd == RND_NONE &&
        type_bits((ptx_type)q.type) < type_bits((ptx_type)q.stype))
        return refuse(p, r);
    if (to == 'f' && from != 'f' && q.rnd == RND_NONE)
        return refuse(p, r);
    if (r->n_ops >= 1 && r->op[0].kind == O_REG)
        q.dst_bits = (uint8_t)type_bits(r->op[0].type);
    ptx_type st[2] = {(ptx_type)q.stype, (ptx_type)q.stype};
    return lanes(p, r, &q, alu_cvt(&q), (ptx_type)q.type, true, st, two ? 2 : 1);
}

/* Instructions on bits, each with its own shape of operands. */
static rp_code bit_ops(parser *p, raw_insn *r, bool *known)
{
    insn q = {0};
    *known = true;
    if (is_op(r, "shl") || is_op(r, "shr")) {
        ptx_type t = take_type(r), st[2] = {t, T_B32};
        q.type = (uint8_t)t;
        return type_bits(t) < 16
                   ? refuse(p, r)
                   : lanes(p, r, &q, alu_int(is_op(r, "shl") ? "shl" : "shr", t), t, false, st, 2);
    }
    if (is_op(r, "popc") || is_op(r, "clz") || is_op(r, "bfind")) {
        bool shift = take(r, "shiftamt");
        ptx_type t = take_type(r);
        q.type = (uint8_t)t;
        q.flags = type_class(t) == 's' ? F_SIGNED : 0;
        if (type_bits(t) < 32)
            return refuse(p, r);
        return lanes(p, r, &q,
                     alu_int(is_op(r, "popc")  ? "popc"
                             : is_op(r, "clz") ? "clz"
                             : shift           ? "bfind.shiftamt"
                                               : "bfind",
                             t),
                     T_B32, false, &t, 1);
    }
    if (is_op(r, "brev")) {
        ptx_type t = take_type(r);
        q.type = (uint8_t)t;
        return lanes(p, r, &q, type_bits(t) < 32 ? NULL : alu_int("brev", t), t, false, &t, 1);
    }
    if (is_op(r, "bfe") || is_op(r, "bfi")) {
        ptx_type t = take_type(r), e[3] = {t, T_B32, T_B32}, n[4] = {t, t, T_B32, T_B32};
        q.type = (uint8_t)t;
        q.flags = type_class(t) == 's' ? F_SIGNED : 0;
        if (type_bits(t) < 32)
            return refuse(p, r);
        return is_op(r, "bfe") ? lanes(p, r, &q, alu_int("bfe", t), t, false, e, 3)
                               : lanes(p, r, &q, alu_int("bfi", t), t, false, n, 4);
    }
    if (is_op(r, "prmt")) {
        static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
        ptx_type t = take_type(r), st[3] = {T_B32, T_B32, T_B32};
        for (uint8_t k = 0; k < 6; k++)
            if (take(r, modes[k]))
                q.sub = (uint8_t)(k + 1);
        q.type = T_B32;
        return lanes(p, r, &q, t == T_B32 ? alu_int("prmt", t) : NULL, T_B32, false, st, 3);
    }
    if (is_op(r, "shf")) {
        ptx_type st[3] = {T_B32, T_B32, T_B32};
        bool left = take(r, "l"), right = take(r, "r"), wrap = take(r, "wrap"), clamp = take(r, "clamp");
        ptx_type t = take_type(r);
        q.type = T_B32;
        if (left == right || wrap == clamp || t != T_B32)
            return refuse(p, r);
        return lanes(p, r, &q,
                     alu_int(left   ? (wrap ? "shf.l.wrap" : "shf.l.clamp")
                             : wrap ? "shf.r.wrap"
                                    : "shf.r.clamp",
                             T_B32),
                     T_B32, false, st, 3);
    }
    if (is_op(r, "lop3")) {
        ptx_type t = take_type(r), st[3] = {T_B32, T_B32, T_B32};
        q.type = T_B32;
        if (t != T_B32 || r->n_ops != 5 || r->op[0].pair_pred != -1)
            return refuse(p, r);
        if (r->op[4].kind != O_IMM || r->op[4].bits > 255)
            return insn_error(p, r, "expected a table of 8 bits");
        q.imm = (int64_t)r->op[4].bits;
        r->n_ops = 4;
        return lanes(p, r, &q, alu_int("lop3", T_B32), T_B32, false, st, 3);
    }
    if (is_op(r, "dp4a") || is_op(r, "dp2a")) {
        bool hi = take(r, "hi");
        if (is_op(r, "dp2a") && !hi && !take(r, "lo"))
            return refuse(p, r);
        ptx_type ta = take_type(r), tb = take_type(r), st[3] = {ta, tb, T_B32};
        q.type = (uint8_t)ta;
        q.stype = (uint8_t)tb;
        q.flags = hi ? F_HI : 0;
        bool fine = (ta == T_U32 || ta == T_S32) && (tb == T_U32 || tb == T_S32);
        return lanes(p, r, &q, fine ? alu_int(is_op(r, "dp4a") ? "dp4a" : "dp2a", T_U32) : NULL, T_B32, false,
                     st, 3);
    }
    if (is_op(r, "fns")) {
        ptx_type t = take_type(r), st[3] = {T_B32, T_B32, T_B32};
        q.type = T_B32;
        return lanes(p, r, &q, t == T_B32 ? alu_int("fns", t) : NULL, T_B32, false, st, 3);
    }
    if (is_op(r, "szext") || is_op(r, "bmsk")) {
        bool wrap = take(r, "wrap"), clamp = take(r, "clamp"), ext = is_op(r, "szext");
        ptx_type t = take_type(r), st[2] = {T_B32, T_B32};
        q.type = (uint8_t)t;
        q.flags = t == T_S32 ? F_SIGNED : 0;
        if (wrap == clamp || type_bits(t) != 32)
            return refuse(p, r);
        return lanes(p, r, &q,
                     alu_int(ext    ? (wrap ? "szext.wrap" : "szext.clamp")
                             : wrap ? "bmsk.wrap"
                                    : "bmsk.clamp",
                             T_B32),
                     T_B32, false, st, 2);
    }
    if (is_op(r, "slct")) {
        q.flags = take(r, "ftz") ? F_FTZ : 0;
        ptx_type t = take_type(r), ct = take_type(r), st[3] = {t, t, ct};
        q.type = (uint8_t)t;
        bool fine = (ct == T_S32 || ct == T_F32) && type_bits(t) >= 16;
        return lanes(p, r, &q, fine ? alu_int(ct == T_F32 ? "slct.f" : "slct", T_B64) : NULL, t, false, st,
                     3);
    }
    if (is_op(r, "testp")) {
        static const char *const classes[] = {"finite",     "infinite", "number",
                                              "notanumber", "normal",   "subnormal"};
        int which = -1;
        for (int k = 0; k < 6; k++)
            if (take(r, classes[k]))
                which = k;
        ptx_type t = take_type(r);
        int32_t a = 0;
        if (which < 0 || !alu_testp("", t))
            return refuse(p, r);
        if (want_ops(p, r, 2, 2) || source(p, r, 1, t, false, &a))
            return p->e->code;
        if (r->op[0].kind != O_PRED)
            return insn_error(p, r, "the destination is no predicate");
        insn *i = emit(p, r);
        if (!i)
            return p->e->code;
        i->kind = K_ALU_PRED;
        i->fn = alu_testp("", t);
        i->type = (uint8_t)t;
        i->sub = (uint8_t)which;
        i->src[0] = i->src[1] = a;
        i->dst2 = r->op[0].slot;
        i->dst3 = -1;
        return RP_OK;
    }
    *known = false;
    return RP_OK;
}

static bool has_word(const raw_insn *r, const char *word)
{
    for (uint32_t k = 1; k < r->n_parts; k++)
        if (span_is(r->part[k], word))
            return true;
    return false;
}

static ptx_type last_type(const raw_insn *r)
{
    ptx_type t = T_NONE;
    for (uint32_t k = 1; k < r->n_parts; k++)
        if (type_named(r->part[k]) != T_NONE)
            t = type_named(r->part[k]);
    return t;
}

rp_code decode_alu(parser *p, raw_insn *r, bool *known)
{
    static const char *const arithmetic[] = {
        "add", "sub", "mul", "mad",  "mul24", "mad24", "fma", "div", "rem", "abs",  "neg",      "min",
        "max", "sad", "rcp", "sqrt", "rsqrt", "sin",   "cos", "lg2", "ex2", "tanh", "copysign", NULL};
    *known = true;
    if (is_op(r, "setp"))
        return compare(p, r, false);
    if (is_op(r, "set"))
        return compare(p, r, true);
    if (is_op(r, "selp"))
        return select_by_pred(p, r);
    if (is_op(r, "cvt"))
        return convert(p, r);
    if (is_op(r, "and") || is_op(r, "or") || is_op(r, "xor") || is_op(r, "not") || is_op(r, "cnot"))
        return logic(p, r);
    if (is_op(r, "addc") || is_op(r, "subc") || ((is_op(r, "add") || is_op(r, "sub")) && has_word(r, "cc")))
        return carry(p, r, false);
    if (is_op(r, "madc") || (is_op(r, "mad") && has_word(r, "cc")))
        return carry(p, r, true);
    for (int k = 0; arithmetic[k]; k++) {
        if (!is_op(r, arithmetic[k]))
            continue;
        ptx_type t = last_type(r);
        if (t == T_NONE || t == T_PRED)
            return refuse(p, r);
        if (take_type(r) != t)
            return refuse(p, r); /* mixed precision */
        bool fp = type_class(t) == 'f' || t == T_F16X2 || t == T_BF16X2;
        return fp ? floating(p, r, t) : integer(p, r, t);
    }
    return bit_ops(p, r, known);
}
