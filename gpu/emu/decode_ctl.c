/* Control flow, barriers and warp-wide instructions. */
#include "gpu/emu/ops.h"
#include "gpu/emu/parse.h"
#include <stdio.h>

static bool is_op(const raw_insn *r, const char *name)
{
    return span_is(r->part[0], name);
}

static insn *plain(parser *p, raw_insn *r, insn_kind kind)
{
    insn *i = emit(p, r);
    if (i)
        i->kind = (uint8_t)kind;
    return i;
}

static rp_code branch(parser *p, raw_insn *r)
{
    take(r, "uni");
    if (want_ops(p, r, 1, 1))
        return p->e->code;
    if (r->op[0].kind != O_NAME)
        return insn_error(p, r, "expected a label");
    if (!grow(p, &p->fixups, p->n_fixups, &p->cap_fixups, sizeof *p->fixups) || !plain(p, r, K_BRA))
        return p->e->code;
    p->fixups[p->n_fixups++] = (fixup){.insn = p->f->n_code - 1,
                                       .name = r->op[0].name,
                                       .scope = p->scope,
                                       .line = r->op[0].line,
                                       .column = r->op[0].column};
    return RP_OK;
}

static rp_code branch_indexed(parser *p, raw_insn *r)
{
    int32_t index = 0;
    take(r, "uni");
    if (!take(r, "idx"))
        return refuse(p, r);
    if (want_ops(p, r, 2, 2) || source(p, r, 0, T_B32, false, &index))
        return p->e->code;
    const symbol *s = r->op[1].kind == O_NAME ? symbol_find(p, r->op[1].name) : NULL;
    if (!s || s->kind != SYM_TABLE)
        return p->e->code ? p->e->code : insn_error(p, r, "expected a list of branch targets");
    uint32_t table = (uint32_t)s->address;
    insn *i = plain(p, r, K_BRX);
    if (!i)
        return p->e->code;
    i->src[0] = index;
    i->extra = table;
    return RP_OK;
}

static rp_code actuals(parser *p, raw_insn *r, const operand *o, call_param **out, uint32_t *n)
{
    call_param *v = scratch_array(p->sc, o->n + 1, sizeof *v);
    if (!v)
        return err_nomem(p->e);
    for (uint32_t k = 0; k < o->n; k++) {
        const operand *a = &o->elements[k];
        if (a->kind == O_SYM && a->sym->kind == SYM_VAR && a->sym->space == SPACE_PARAM) {
            v[k] = (call_param){
                .type = a->sym->type, .offset = (uint32_t)a->sym->address, .bytes = (uint32_t)a->sym->bytes};
        } else if (a->kind == O_SINK) {
            v[k] = (call_param){.bytes = 0};
        } else {
            ptx_type t = a->kind == O_REG ? a->type : a->kind == O_FLOAT ? T_F64 : T_B64;
            v[k] = (call_param){.reg = true, .type = t, .bytes = type_bits(t) / 8};
            if (source_of(p, r, a, t, false, &v[k].slot))
                return p->e->code;
        }
    }
    *out = v;
    *n = o->n;
    return RP_OK;
}

static rp_code call(parser *p, raw_insn *r)
{
    call_site site = {.function = UINT32_MAX};
    uint32_t k = 0;
    int32_t target = 0;
    take(r, "uni");
    if (k < r->n_ops && r->op[k].kind == O_LIST) {
        if (actuals(p, r, &r->op[k++], &site.ret, &site.n_ret))
            return p->e->code;
        for (uint32_t j = 0; j < site.n_ret; j++)
            if (site.ret[j].reg && site.ret[j].slot < 0)
                return insn_error(p, r, "a constant as result");
    }
    if (k >= r->n_ops)
        return insn_error(p, r, "expected a function");
    const operand *f = &r->op[k++];
    if (k < r->n_ops && r->op[k].kind == O_LIST && actuals(p, r, &r->op[k++], &site.arg, &site.n_arg))
        return p->e->code;
    if (f->kind == O_SYM && f->sym->kind == SYM_FUNC) {
        site.function = (uint32_t)f->sym->address;
        const ptx_func *callee = site.function == p->func_index ? p->f : &p->m->funcs[site.function];
        if (callee->entry)
            return insn_error(p, r, "a call of an entry");
        if (callee->n_arg != site.n_arg || callee->n_ret != site.n_ret)
            return insn_error(p, r, "%u arguments and %u results, declared are %u and %u", site.n_arg,
                              site.n_ret, callee->n_arg, callee->n_ret);
        if (!grow(p, &p->f->calls, p->f->n_calls, &p->cap_calls, sizeof *p->f->calls))
            return p->e->code;
        p->f->calls[p->f->n_calls++] = site.function;
    } else if (f->kind == O_REG) {
        p->f->calls_indirect = true;
        if (source_of(p, r, f, T_B64, false, &target))
            return p->e->code;
    } else {
        return insn_error(p, r, "expected a function");
    }
    if (k < r->n_ops && r->op[k].kind != O_NAME)
        return insn_error(p, r, "unexpected operand");
    insn *i = plain(p, r, K_CALL);
    if (!i || !grow(p, &p->m->sites, p->m->n_sites, &p->cap_sites, sizeof *p->m->sites))
        return p->e->code;
    i->src[0] = target;
    i->extra = p->m->n_sites;
    p->m->sites[p->m->n_sites++] = site;
    return RP_OK;
}

/* The predicate operand of a vote or reduction into src[at], true and false included. */
static rp_code condition(parser *p, raw_insn *r, uint32_t k, int32_t *slot, uint32_t *flags)
{
    bool negated = false;
    if (pred_source(p, r, k, slot, &negated))
        return p->e->code;
    *flags |= negated ? F_NOT_C : 0;
    return RP_OK;
}

static rp_code barrier(parser *p, raw_insn *r)
{
    insn q = {.kind = K_BAR};
    uint32_t k = 0;
    bool is_bar = is_op(r, "bar");
    uint8_t bits = 0;
    if (is_bar && take(r, "warp")) {
        if (!take(r, "sync"))
            return refuse(p, r);
        if (want_ops(p, r, 1, 1) || source(p, r, 0, T_B32, false, &q.src[0]))
            return p->e->code;
        insn *w = plain(p, r, K_BAR_WARP);
        if (w)
            w->src[0] = q.src[0];
        return p->e->code;
    }
    take(r, "cta");
    q.flags = take(r, "aligned") || is_bar ? F_ALIGNED : 0;
    if (take(r, "sync")) {
        q.sub = BAR_SYNC;
    } else if (take(r, "arrive")) {
        q.sub = BAR_ARRIVE;
    } else if (take(r, "red")) {
        q.sub = take(r, "popc") ? BAR_POPC : take(r, "and") ? BAR_AND : take(r, "or") ? BAR_OR : 255;
        ptx_type t = take_type(r);
        if (q.sub == 255 || t != (q.sub == BAR_POPC ? T_U32 : T_PRED))
            return refuse(p, r);
        if (q.sub == BAR_POPC) {
            if (dest(p, r, 0, T_U32, false, &q.dst, &bits))
                return p->e->code;
        } else if (r->n_ops < 1 || r->op[0].kind != O_PRED) {
            return insn_error(p, r, "the destination is no predicate");
        } else {
            q.dst2 = r->op[0].slot;
        }
        if (r->n_ops < 3 || condition(p, r, r->n_ops - 1, &q.src[2], &q.flags))
            return p->e->code ? p->e->code : insn_error(p, r, "too few operands");
        r->n_ops--;
        k = 1;
    } else {
        return refuse(p, r);
    }
    if (want_ops(p, r, k + 1, k + 2) || source(p, r, k, T_B32, false, &q.src[0]))
        return p->e->code;
    if (r->n_ops == k + 2) {
        q.flags |= F_COUNT;
        if (source(p, r, k + 1, T_B32, false, &q.src[1]))
            return p->e->code;
    } else if (q.sub == BAR_ARRIVE) {
        return insn_error(p, r, "expected a number of threads");
    }
    insn *i = plain(p, r, K_BAR);
    if (!i)
        return p->e->code;
    i->sub = q.sub;
    i->flags = q.flags;
    i->dst = q.dst;
    i->dst2 = q.dst2;
    i->mask = bits_mask(32);
    memcpy(i->src, q.src, sizeof q.src);
    return RP_OK;
}

static rp_code shuffle(parser *p, raw_insn *r)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    bool sync = take(r, "sync");
    int mode = -1;
    uint8_t bits = 0;
    int32_t d = 0, s[4] = {0};
    for (int k = 0; k < 4; k++)
        if (take(r, modes[k]))
            mode = k;
    if (mode < 0 || take_type(r) != T_B32)
        return refuse(p, r);
    if (want_ops(p, r, sync ? 5 : 4, sync ? 5 : 4) || dest(p, r, 0, T_B32, false, &d, &bits))
        return p->e->code;
    for (uint32_t k = 0; k < (sync ? 4u : 3u); k++)
        if (source(p, r, k + 1, T_B32, false, &s[k]))
            return p->e->code;
    int32_t all = const_operand(p, UINT32_MAX);
    insn *i = plain(p, r, K_SHFL);
    if (!i)
        return p->e->code;
    i->sub = (uint8_t)mode;
    i->dst = d;
    i->dst2 = r->op[0].pair_pred;
    i->mask = bits_mask(32);
    memcpy(i->src, s, sizeof s);
    if (!sync) {
        i->src[3] = all;
        i->flags = F_COUNT; /* whoever is active */
    }
    return p->e->code;
}

static rp_code vote(parser *p, raw_insn *r)
{
    bool sync = take(r, "sync");
    int mode = take(r, "all")      ? VOTE_ALL
               : take(r, "any")    ? VOTE_ANY
               : take(r, "uni")    ? VOTE_UNI
               : take(r, "ballot") ? VOTE_BALLOT
                                   : -1;
    ptx_type t = take_type(r);
    insn q = {0};
    uint8_t bits = 0;
    if (mode < 0 || t != (mode == VOTE_BALLOT ? T_B32 : T_PRED))
        return refuse(p, r);
    if (want_ops(p, r, sync ? 3 : 2, sync ? 3 : 2) || condition(p, r, 1, &q.src[0], &q.flags))
        return p->e->code;
    if (mode == VOTE_BALLOT) {
        if (dest(p, r, 0, T_B32, false, &q.dst, &bits))
            return p->e->code;
    } else if (r->op[0].kind != O_PRED) {
        return insn_error(p, r, "the destination is no predicate");
    } else {
        q.dst2 = r->op[0].slot;
    }
    q.src[3] = const_operand(p, UINT32_MAX);
    if (sync && source(p, r, 2, T_B32, false, &q.src[3]))
        return p->e->code;
    insn *i = plain(p, r, K_VOTE);
    if (!i)
        return p->e->code;
    i->sub = (uint8_t)mode;
    i->flags = q.flags | (sync ? 0 : F_COUNT);
    i->dst = q.dst;
    i->dst2 = q.dst2;
    i->mask = bits_mask(32);
    memcpy(i->src, q.src, sizeof q.src);
    return RP_OK;
}

static rp_code match_redux(parser *p, raw_insn *r, bool redux)
{
    static const char *const ops[] = {"add", "min", "max", "", "", "", "", "and", "or", "xor"};
    int op = -1;
    bool all = false, sync = take(r, "sync");
    if (redux) {
        for (int k = 0; k < 10; k++)
            if (*ops[k] && take(r, ops[k]))
                op = k;
    } else {
        all = take(r, "all");
        op = all || take(r, "any") ? 0 : -1;
    }
    ptx_type t = take_type(r);
    int32_t d = 0, a = 0, m = 0;
    uint8_t bits = 0;
    char cls = type_class(t);
    if (!sync || op < 0 ||
        (redux ? type_bits(t) != 32 || cls == 'f' || cls == 'h' || (op <= ATOM_MAX && cls == 'b')
               : type_bits(t) < 32 || cls != 'b'))
        return refuse(p, r);
    if (want_ops(p, r, 3, 3) || dest(p, r, 0, T_B32, false, &d, &bits) || source(p, r, 1, t, false, &a) ||
        source(p, r, 2, T_B32, false, &m))
        return p->e->code;
    insn *i = plain(p, r, redux ? K_REDUX : K_MATCH);
    if (!i)
        return p->e->code;
    i->sub = (uint8_t)(redux ? op : all);
    i->type = (uint8_t)t;
    i->dst = d;
    i->dst2 = r->op[0].pair_pred;
    i->src[0] = a;
    i->src[3] = m;
    i->mask = bits_mask(32);
    return RP_OK;
}

static rp_code small(parser *p, raw_insn *r, bool *known)
{
    uint8_t bits = 0;
    int32_t d = 0, m = 0;
    if (is_op(r, "activemask")) {
        if (take_type(r) != T_B32)
            return refuse(p, r);
        if (want_ops(p, r, 1, 1) || dest(p, r, 0, T_B32, false, &d, &bits))
            return p->e->code;
        insn *i = plain(p, r, K_ACTIVEMASK);
        if (i) {
            i->dst = d;
            i->mask = bits_mask(32);
        }
        return p->e->code;
    }
    if (is_op(r, "elect")) {
        if (!take(r, "sync"))
            return refuse(p, r);
        if (want_ops(p, r, 2, 2) || dest(p, r, 0, T_B32, false, &d, &bits) ||
            source(p, r, 1, T_B32, false, &m))
            return p->e->code;
        int32_t q = r->op[0].pair_pred;
        insn *i = plain(p, r, K_ELECT);
        if (i) {
            i->dst = d;
            i->dst2 = q;
            i->src[3] = m;
            i->mask = bits_mask(32);
        }
        return p->e->code;
    }
    if (is_op(r, "nanosleep") || is_op(r, "pmevent")) {
        r->used[1] = true;
        plain(p, r, K_NOP);
        return p->e->code;
    }
    if (is_op(r, "griddepcontrol")) {
        if (!take(r, "wait") && !take(r, "launch_dependents"))
            return refuse(p, r);
        plain(p, r, K_NOP);
        return p->e->code;
    }
    *known = false;
    return RP_OK;
}

rp_code decode_ctl(parser *p, raw_insn *r, bool *known)
{
    *known = true;
    if (is_op(r, "bra"))
        return branch(p, r);
    if (is_op(r, "brx"))
        return branch_indexed(p, r);
    if (is_op(r, "call"))
        return call(p, r);
    if (is_op(r, "ret") || is_op(r, "exit")) {
        take(r, "uni");
        if (want_ops(p, r, 0, 0))
            return p->e->code;
        plain(p, r, is_op(r, "ret") ? K_RET : K_EXIT);
        return p->e->code;
    }
    if (is_op(r, "trap") || is_op(r, "brkpt")) {
        insn *i = plain(p, r, K_TRAP);
        if (i)
            i->sub = is_op(r, "trap") ? TRAP_TRAP : TRAP_BREAK;
        return p->e->code;
    }
    if (is_op(r, "bar") || is_op(r, "barrier"))
        return barrier(p, r);
    if (is_op(r, "shfl"))
        return shuffle(p, r);
    if (is_op(r, "vote"))
        return vote(p, r);
    if (is_op(r, "match") || is_op(r, "redux"))
        return match_redux(p, r, is_op(r, "redux"));
    return small(p, r, known);
}
