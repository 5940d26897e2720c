/* The body of a function: declarations, labels, scopes, instructions with their operands. */
#include "gpu/emu/parse.h"
#include "gpu/emu/wrap.h"
#include <stdio.h>

enum { MAX_TARGETS = 1 << 16, MAX_DEPTH = 64, MAX_LIST = 256 };

static bool opcode_known(span name);

static rp_code next(parser *p)
{
    return lex_next(p->e, &p->lx);
}

static rp_code skip_statement(parser *p)
{
    while (!lex_is(&p->lx, ';')) {
        if (p->lx.tok.kind == LEX_END)
            return lex_error(p->e, &p->lx, "expected ';'");
        if (next(p))
            return p->e->code;
    }
    return next(p);
}

static rp_code loc_directive(parser *p)
{
    uint64_t v[3];
    for (int k = 0; k < 3; k++) {
        if (p->lx.tok.kind != LEX_INT || p->lx.tok.bits > UINT32_MAX)
            return lex_error(p->e, &p->lx, "expected a number");
        v[k] = p->lx.tok.bits;
        if (next(p))
            return p->e->code;
    }
    while (lex_is(&p->lx, ',')) {
        if (next(p))
            return p->e->code;
        bool inlined = lex_is_name(&p->lx, "inlined_at");
        if (!inlined && !lex_is_name(&p->lx, "function_name"))
            return lex_error(p->e, &p->lx, "expected function_name or inlined_at");
        if (next(p))
            return p->e->code;
        for (int k = 0; k < (inlined ? 3 : 1); k++) {
            if (p->lx.tok.kind != (inlined ? LEX_INT : LEX_NAME))
                return lex_error(p->e, &p->lx, "unexpected word in .loc");
            if (next(p))
                return p->e->code;
        }
        if (lex_is(&p->lx, '+') && (next(p) || next(p)))
            return p->e->code;
    }
    if (!grow(p, &p->m->locs, p->m->n_locs, &p->cap_locs, sizeof *p->m->locs))
        return p->e->code;
    p->loc = p->m->n_locs;
    p->m->locs[p->m->n_locs++] = (ptx_loc){(uint32_t)v[0], (uint32_t)v[1]};
    return RP_OK;
}

static WRAPS uint64_t negate(uint64_t v)
{
    return 0 - v;
}

static WRAPS int64_t add_signed(int64_t a, uint64_t b)
{
    return (int64_t)((uint64_t)a + b);
}

/* +4, -4, +-4 after a base. */
static rp_code offset(parser *p, int64_t *out)
{
    while (lex_is(&p->lx, '+') || lex_is(&p->lx, '-')) {
        bool minus = lex_is(&p->lx, '-');
        if (next(p))
            return p->e->code;
        if (!minus && lex_is(&p->lx, '-')) {
            minus = true;
            if (next(p))
                return p->e->code;
        }
        if (p->lx.tok.kind != LEX_INT)
            return lex_error(p->e, &p->lx, "expected a number");
        *out = add_signed(*out, minus ? negate(p->lx.tok.bits) : p->lx.tok.bits);
        if (next(p))
            return p->e->code;
    }
    return RP_OK;
}

static rp_code number_operand(parser *p, operand *o)
{
    bool minus = false;
    while (lex_is(&p->lx, '-')) {
        minus = !minus;
        if (next(p))
            return p->e->code;
    }
    if (p->lx.tok.kind == LEX_FLOAT) {
        o->kind = O_FLOAT;
        o->width = p->lx.tok.width;
        o->value = minus ? -p->lx.tok.value : p->lx.tok.value;
        o->bits = p->lx.tok.bits ^ (minus ? UINT64_C(1) << (o->width - 1) : 0);
    } else if (p->lx.tok.kind == LEX_INT) {
        o->kind = O_IMM;
        o->bits = minus ? negate(p->lx.tok.bits) : p->lx.tok.bits;
    } else {
        return lex_error(p->e, &p->lx, "expected an operand");
    }
    return next(p);
}

static rp_code name_operand(parser *p, operand *o)
{
    span name = p->lx.tok.text;
    o->name = name;
    if (span_is(name, "_")) {
        o->kind = O_SINK;
        return next(p);
    }
    const symbol *s = symbol_find(p, name);
    if (p->e->code || next(p))
        return p->e->code;
    if (s && s->kind == SYM_REG) {
        o->kind = s->type == T_PRED ? O_PRED : O_REG;
        o->type = s->type;
        o->slot = s->slot;
    } else if (s && (s->kind == SYM_VAR || s->kind == SYM_FUNC)) {
        o->kind = O_SYM;
        o->sym = s;
        return offset(p, &o->offset);
    } else if (span_is(name, "WARP_SZ")) {
        o->kind = O_IMM;
        o->bits = LANES;
    } else if (name.p[0] == '%') {
        span component = span_of(name.p, 0);
        if (p->lx.tok.kind == LEX_DOT) {
            component = p->lx.tok.text;
            if (next(p))
                return p->e->code;
        }
        o->kind = O_SPECIAL;
        o->bits = (uint64_t)(int64_t)special_named(name, component);
    } else {
        o->kind = O_NAME;
    }
    return RP_OK;
}

static rp_code list(parser *p, operand *o, char close, uint32_t limit);

static rp_code address(parser *p, operand *o)
{
    o->kind = O_ADDRESS;
    if (next(p))
        return p->e->code;
    if (p->lx.tok.kind == LEX_NAME) {
        operand base = {0};
        if (name_operand(p, &base))
            return p->e->code;
        if (base.kind == O_REG) {
            o->base_reg = true;
            o->slot = base.slot;
            o->type = base.type;
        } else if (base.kind == O_SYM) {
            o->base_sym = true;
            o->sym = base.sym;
            o->offset = base.offset;
        } else {
            return lex_error(p->e, &p->lx, "expected a register or variable in an address");
        }
    } else if (p->lx.tok.kind == LEX_INT) {
        o->offset = (int64_t)p->lx.tok.bits;
        if (next(p))
            return p->e->code;
    } else if (!lex_is(&p->lx, '-')) {
        return lex_error(p->e, &p->lx, "expected an address");
    }
    if (offset(p, &o->offset))
        return p->e->code;
    return lex_expect(p->e, &p->lx, ']');
}

static rp_code parse_operand(parser *p, operand *o, unsigned depth)
{
    *o = (operand){.pair_pred = -1, .line = p->lx.tok.line, .column = p->lx.tok.column};
    if (depth == 0 && lex_is(&p->lx, '['))
        return address(p, o);
    if (depth == 0 && lex_is(&p->lx, '{'))
        return list(p, o, '}', MAX_ELEMENTS);
    if (depth == 0 && lex_is(&p->lx, '('))
        return list(p, o, ')', MAX_LIST);
    if (lex_is(&p->lx, '!')) {
        o->negated = true;
        if (next(p))
            return p->e->code;
        if (p->lx.tok.kind != LEX_NAME)
            return lex_error(p->e, &p->lx, "expected a predicate");
    }
    if (p->lx.tok.kind != LEX_NAME)
        return number_operand(p, o);
    if (name_operand(p, o))
        return p->e->code;
    if (o->negated && o->kind != O_PRED)
        return lex_error(p->e, &p->lx, "'!' before what is no predicate");
    if (lex_is(&p->lx, '|')) {
        operand q = {0};
        if (next(p))
            return p->e->code;
        if (p->lx.tok.kind != LEX_NAME || name_operand(p, &q))
            return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "expected a predicate");
        if (q.kind != O_PRED && q.kind != O_SINK)
            return lex_error(p->e, &p->lx, "expected a predicate after '|'");
        o->pair_pred = q.kind == O_PRED ? q.slot : 0;
    }
    return RP_OK;
}

static rp_code list(parser *p, operand *o, char close, uint32_t limit)
{
    uint32_t cap = 0;
    o->kind = close == '}' ? O_VECTOR : O_LIST;
    if (next(p))
        return p->e->code;
    while (!lex_is(&p->lx, close)) {
        if (o->n >= limit)
            return lex_error(p->e, &p->lx, "more than %u elements", limit);
        if (!grow(p, &o->elements, o->n, &cap, sizeof *o->elements) ||
            parse_operand(p, &o->elements[o->n], 1))
            return p->e->code;
        o->n++;
        if (!lex_is(&p->lx, ','))
            break;
        if (next(p))
            return p->e->code;
    }
    return lex_expect(p->e, &p->lx, close);
}

static rp_code guard(parser *p, raw_insn *r)
{
    if (next(p))
        return p->e->code;
    r->guard_not = lex_is(&p->lx, '!');
    if (r->guard_not && next(p))
        return p->e->code;
    if (p->lx.tok.kind != LEX_NAME)
        return lex_error(p->e, &p->lx, "expected a predicate");
    const symbol *s = symbol_find(p, p->lx.tok.text);
    if (!s || s->kind != SYM_REG || s->type != T_PRED)
        return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "the guard is no predicate");
    r->guard = (uint32_t)s->slot;
    return next(p);
}

static bool refused_form(const raw_insn *r)
{
    if (!opcode_known(r->part[0]))
        return true;
    for (uint32_t k = 1; k < r->n_parts; k++)
        if (span_is(r->part[k], "bulk") || span_is(r->part[k], "tensor") || span_is(r->part[k], "mbarrier") ||
            (span_is(r->part[k], "async") && !span_is(r->part[0], "cp") && !span_is(r->part[0], "fence")))
            return true;
    return false;
}

/* The opcode's name is current. */
static rp_code instruction(parser *p, raw_insn *r)
{
    if (++p->total_insns > MAX_INSNS)
        return lex_error(p->e, &p->lx, "more than %d instructions", MAX_INSNS);
    r->line = p->lx.tok.line;
    r->column = p->lx.tok.column;
    r->part[r->n_parts++] = p->lx.tok.text;
    if (next(p))
        return p->e->code;
    while (p->lx.tok.kind == LEX_DOT) {
        if (r->n_parts >= MAX_PARTS)
            return lex_error(p->e, &p->lx, "more than %d modifiers", MAX_PARTS);
        r->part[r->n_parts++] = p->lx.tok.text;
        if (next(p))
            return p->e->code;
    }
    if (refused_form(r))
        return refuse(p, r) ? p->e->code : skip_statement(p);
    while (!lex_is(&p->lx, ';')) {
        if (r->n_ops >= MAX_OPERANDS)
            return lex_error(p->e, &p->lx, "more than %d operands", MAX_OPERANDS);
        if (parse_operand(p, &r->op[r->n_ops++], 0))
            return p->e->code;
        if (!lex_is(&p->lx, ','))
            break;
        if (next(p))
            return p->e->code;
    }
    if (lex_expect(p->e, &p->lx, ';'))
        return p->e->code;
    return decode(p, r);
}

/* NAME: .branchtargets L1, L2; */
static rp_code branch_targets(parser *p, span name)
{
    uint32_t cap = 0, n = 0, *v = NULL;
    symbol *s = symbol_add(p, name, SYM_TABLE);
    if (!s || !grow(p, &p->m->tables, p->m->n_tables, &p->cap_tables, sizeof *p->m->tables))
        return p->e->code;
    s->address = p->m->n_tables++;
    if (!grow(p, &v, 0, &cap, sizeof *v))
        return p->e->code;
    do {
        if (next(p))
            return p->e->code;
        if (p->lx.tok.kind != LEX_NAME || n >= MAX_TARGETS)
            return lex_error(p->e, &p->lx, "expected at most %d labels", MAX_TARGETS);
        n++;
        if (!grow(p, &v, n, &cap, sizeof *v) ||
            !grow(p, &p->fixups, p->n_fixups, &p->cap_fixups, sizeof *p->fixups))
            return p->e->code;
        p->fixups[p->n_fixups++] = (fixup){.insn = (uint32_t)s->address,
                                           .table = true,
                                           .element = n,
                                           .name = p->lx.tok.text,
                                           .scope = p->scope,
                                           .line = p->lx.tok.line,
                                           .column = p->lx.tok.column};
        if (next(p))
            return p->e->code;
    } while (lex_is(&p->lx, ','));
    v[0] = n;
    p->m->tables[s->address] = v;
    return lex_expect(p->e, &p->lx, ';');
}

static rp_code labelled(parser *p, span name)
{
    if (lex_expect(p->e, &p->lx, ':'))
        return p->e->code;
    if (lex_is_dot(&p->lx, "branchtargets"))
        return branch_targets(p, name);
    if (lex_is_dot(&p->lx, "callprototype") || lex_is_dot(&p->lx, "calltargets"))
        return symbol_add(p, name, SYM_PROTO) ? skip_statement(p) : p->e->code;
    symbol *s = symbol_add(p, name, SYM_LABEL);
    if (!s)
        return p->e->code;
    s->address = p->f->n_code;
    return RP_OK;
}

static rp_code directive(parser *p)
{
    if (lex_is_dot(&p->lx, "reg"))
        return next(p) ? p->e->code : parse_registers(p);
    if (lex_is_dot(&p->lx, "local") || lex_is_dot(&p->lx, "shared") || lex_is_dot(&p->lx, "param") ||
        lex_is_dot(&p->lx, "global") || lex_is_dot(&p->lx, "const"))
        return parse_variable(p, false);
    if (lex_is_dot(&p->lx, "loc"))
        return next(p) ? p->e->code : loc_directive(p);
    if (lex_is_dot(&p->lx, "pragma"))
        return skip_statement(p);
    return lex_error(p->e, &p->lx, "directive .%.*s is not supported here",
                     (int)(p->lx.tok.text.n < 40 ? p->lx.tok.text.n : 40), (const char *)p->lx.tok.text.p);
}

static rp_code resolve(parser *p)
{
    for (uint32_t k = 0; k < p->n_fixups; k++) {
        const fixup *x = &p->fixups[k];
        const symbol *s = symbol_find_from(p, x->scope, x->name);
        if (!s || s->kind != SYM_LABEL) {
            p->lx.tok.line = x->line;
            p->lx.tok.column = x->column;
            return p->e->code ? p->e->code
                              : lex_error(p->e, &p->lx, "no label %.*s",
                                          (int)(x->name.n < 80 ? x->name.n : 80), (const char *)x->name.p);
        }
        if (x->table)
            p->m->tables[x->insn][x->element] = (uint32_t)s->address;
        else
            p->f->code[x->insn].target = (uint32_t)s->address;
    }
    return RP_OK;
}

rp_code parse_body(parser *p)
{
    unsigned depth = 0;
    if (scope_push(p))
        return p->e->code;
    for (;;) {
        if (p->lx.tok.kind == LEX_END)
            return lex_error(p->e, &p->lx, "expected '}'");
        if (lex_is(&p->lx, '}')) {
            if (depth == 0)
                break;
            depth--;
            scope_pop(p);
            if (next(p))
                return p->e->code;
        } else if (lex_is(&p->lx, '{')) {
            if (++depth > MAX_DEPTH)
                return lex_error(p->e, &p->lx, "scopes nested more than %d deep", MAX_DEPTH);
            if (scope_push(p) || next(p))
                return p->e->code;
        } else if (lex_is(&p->lx, ';')) {
            if (next(p))
                return p->e->code;
        } else if (p->lx.tok.kind == LEX_DOT) {
            if (directive(p))
                return p->e->code;
        } else {
            raw_insn r = {0};
            if (lex_is(&p->lx, '@') && guard(p, &r))
                return p->e->code;
            if (p->lx.tok.kind != LEX_NAME)
                return lex_error(p->e, &p->lx, "expected an instruction");
            lexer before = p->lx;
            if (!r.guard && next(p))
                return p->e->code;
            if (!r.guard && lex_is(&p->lx, ':')) {
                if (labelled(p, before.tok.text))
                    return p->e->code;
                continue;
            }
            p->lx = before;
            if (instruction(p, &r))
                return p->e->code;
        }
    }
    raw_insn end = {
        .line = p->lx.tok.line, .column = p->lx.tok.column, .n_parts = 1, .part = {span_str("ret")}};
    insn *i = emit(p, &end);
    if (!i)
        return p->e->code;
    i->kind = K_RET;
    if (resolve(p))
        return p->e->code;
    return next(p);
}

static bool opcode_known(span name)
{
    static const char *const known[] = {
        "abs",       "activemask",
        "add",       "addc",
        "and",       "atom",
        "bar",       "barrier",
        "bfe",       "bfi",
        "bfind",     "bra",
        "brev",      "brkpt",
        "brx",       "call",
        "clz",       "cnot",
        "copysign",  "cos",
        "cp",        "createpolicy",
        "cvt",       "cvta",
        "discard",   "applypriority",
        "div",       "dp2a",
        "dp4a",      "elect",
        "ex2",       "exit",
        "fence",     "fma",
        "fns",       "griddepcontrol",
        "isspacep",  "ld",
        "ldu",       "lg2",
        "lop3",      "mad",
        "mad24",     "madc",
        "match",     "max",
        "membar",    "min",
        "mov",       "mul",
        "mul24",     "nanosleep",
        "neg",       "not",
        "or",        "pmevent",
        "popc",      "prefetch",
        "prefetchu", "prmt",
        "rcp",       "red",
        "redux",     "rem",
        "ret",       "rsqrt",
        "sad",       "selp",
        "set",       "setp",
        "shf",       "shfl",
        "shl",       "shr",
        "sin",       "slct",
        "sqrt",      "st",
        "sub",       "subc",
        "szext",     "bmsk",
        "tanh",      "testp",
        "trap",      "vote",
        "xor",
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (span_is(name, known[k]))
            return true;
    return false;
}
