/* Declarations of variables, registers and parameters. */
#include "artifacts/base/ck.h"
#include "gpu/emu/parse.h"

enum { MAX_SHARED = 4 << 20, MAX_LOCAL = 1 << 20, MAX_GLOBALS = 1 << 28, MAX_PARAM = 1 << 16 };
enum { GAP_SHARED = 128, GAP_LOCAL = 32 };

static rp_code integer(parser *p, uint64_t *out)
{
    if (p->lx.tok.kind != LEX_INT)
        return lex_error(p->e, &p->lx, "expected an integer");
    *out = p->lx.tok.bits;
    return lex_next(p->e, &p->lx);
}

/* What may stand between a space and a name: alignment, attributes, type. */
typedef struct {
    ptx_type type;
    uint64_t align, element_bytes;
    bool pointer;
} decl;

static rp_code skip_parens(parser *p)
{
    if (lex_expect(p->e, &p->lx, '('))
        return p->e->code;
    for (unsigned depth = 1; depth > 0;) {
        if (p->lx.tok.kind == LEX_END)
            return lex_error(p->e, &p->lx, "expected ')'");
        depth += lex_is(&p->lx, '(');
        depth -= lex_is(&p->lx, ')');
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    return RP_OK;
}

static rp_code declaration(parser *p, decl *d)
{
    *d = (decl){.align = 0};
    uint64_t count = 1, pointee;
    while (p->lx.tok.kind == LEX_DOT) {
        bool align = lex_is_dot(&p->lx, "align"), attribute = lex_is_dot(&p->lx, "attribute");
        ptx_type t = type_named(p->lx.tok.text);
        if (t != T_NONE) {
            if (d->type != T_NONE)
                return lex_error(p->e, &p->lx, "two types in one declaration");
            d->type = t;
        } else if (lex_is_dot(&p->lx, "v2")) {
            count = 2;
        } else if (lex_is_dot(&p->lx, "v4")) {
            count = 4;
        } else if (lex_is_dot(&p->lx, "ptr")) {
            d->pointer = true;
        } else if (!align && !attribute &&
                   !(d->pointer && (lex_is_dot(&p->lx, "global") || lex_is_dot(&p->lx, "shared") ||
                                    lex_is_dot(&p->lx, "local") || lex_is_dot(&p->lx, "const")))) {
            return lex_error(p->e, &p->lx, "unexpected .%.*s in a declaration",
                             (int)(p->lx.tok.text.n < 40 ? p->lx.tok.text.n : 40),
                             (const char *)p->lx.tok.text.p);
        }
        if (lex_next(p->e, &p->lx))
            return p->e->code;
        if (align && integer(p, d->pointer ? &pointee : &d->align))
            return p->e->code;
        if (attribute && skip_parens(p))
            return p->e->code;
    }
    if (d->type == T_NONE || d->type == T_PRED)
        return lex_error(p->e, &p->lx, "expected a type");
    d->element_bytes = type_bits(d->type) / 8;
    if (d->align == 0)
        d->align = d->element_bytes * count;
    if (d->align == 0 || d->align > 4096 || (d->align & (d->align - 1)))
        return lex_error(p->e, &p->lx, "an alignment that is no power of two up to 4096");
    d->element_bytes *= count;
    return RP_OK;
}

/* name[2][3] …: unsized when a dimension is empty. */
static rp_code dimensions(parser *p, uint64_t *bytes, bool *array, bool *unsized)
{
    *array = *unsized = false;
    while (lex_is(&p->lx, '[')) {
        uint64_t n = 0;
        *array = true;
        if (lex_next(p->e, &p->lx))
            return p->e->code;
        if (lex_is(&p->lx, ']'))
            *unsized = true;
        else if (integer(p, &n))
            return p->e->code;
        else if (!ck_mul_u64(*bytes, n, bytes) || *bytes > UINT32_MAX)
            return lex_error(p->e, &p->lx, "an array beyond 4 GiB");
        if (lex_expect(p->e, &p->lx, ']'))
            return p->e->code;
    }
    return RP_OK;
}

static rp_code take_name(parser *p, span *out)
{
    if (p->lx.tok.kind != LEX_NAME)
        return lex_error(p->e, &p->lx, "expected a name");
    *out = p->lx.tok.text;
    return lex_next(p->e, &p->lx);
}

/* x, x+4, generic(x), generic(x)+4: an address. */
static rp_code initial_address(parser *p, uint64_t *out)
{
    bool generic = lex_is_name(&p->lx, "generic");
    span name;
    if (take_name(p, &name))
        return p->e->code;
    if (generic && (lex_expect(p->e, &p->lx, '(') || take_name(p, &name) || lex_expect(p->e, &p->lx, ')')))
        return p->e->code;
    const symbol *s = symbol_find(p, name);
    if (!s || (s->kind != SYM_VAR && s->kind != SYM_FUNC))
        return p->e->code ? p->e->code
                          : lex_error(p->e, &p->lx, "an initial value that is no variable or function");
    *out = s->kind == SYM_FUNC ? WINDOW_CODE | (s->address + 1) : s->address;
    if (lex_is(&p->lx, '+')) {
        uint64_t more = 0;
        if (lex_next(p->e, &p->lx) || integer(p, &more))
            return p->e->code;
        if (!ck_add_u64(*out, more, out))
            return lex_error(p->e, &p->lx, "an address beyond 64 bits");
    }
    return RP_OK;
}

static rp_code initial_value(parser *p, ptx_type t, uint64_t *out)
{
    bool minus = lex_is(&p->lx, '-');
    if (minus && lex_next(p->e, &p->lx))
        return p->e->code;
    if (p->lx.tok.kind == LEX_NAME)
        return minus ? lex_error(p->e, &p->lx, "expected a number") : initial_address(p, out);
    if (p->lx.tok.kind == LEX_FLOAT) {
        double v = minus ? -p->lx.tok.value : p->lx.tok.value;
        float f = (float)v;
        uint32_t b;
        memcpy(&b, &f, sizeof b);
        if (type_bits(t) == 32)
            *out = b;
        else
            memcpy(out, &v, sizeof v);
        return lex_next(p->e, &p->lx);
    }
    uint64_t v = 0;
    if (integer(p, &v))
        return p->e->code;
    if (lex_is(&p->lx, '(') && !minus) { /* 0xFF00(x): a byte of an address */
        uint64_t a;
        if (v == 0 || lex_next(p->e, &p->lx) || initial_address(p, &a) || lex_expect(p->e, &p->lx, ')'))
            return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "a mask of zero");
        v = (a & v) >> __builtin_ctzll(v);
    }
    if (minus && type_class(t) == 'f')
        return lex_error(p->e, &p->lx, "expected a floating number");
    *out = minus && v ? ~(v - 1) : v;
    return RP_OK;
}

static rp_code initializer(parser *p, const decl *d, uint8_t *bytes, uint64_t n_bytes, bool array)
{
    uint64_t at = 0, size = type_bits(d->type) / 8;
    unsigned depth = 0;
    if (lex_expect(p->e, &p->lx, '='))
        return p->e->code;
    if (array && p->lx.tok.kind == LEX_STRING)
        return lex_error(p->e, &p->lx, "a string as initial value");
    do {
        while (lex_is(&p->lx, '{')) {
            if (++depth > 8)
                return lex_error(p->e, &p->lx, "initial values nested too deeply");
            if (lex_next(p->e, &p->lx))
                return p->e->code;
        }
        if (!lex_is(&p->lx, '}')) {
            uint64_t v;
            if (initial_value(p, d->type, &v))
                return p->e->code;
            if (at > n_bytes || size > n_bytes - at)
                return lex_error(p->e, &p->lx, "more initial values than the variable holds");
            memcpy(bytes + at, &v, size);
            at += size;
        }
        while (depth && lex_is(&p->lx, '}')) {
            depth--;
            if (lex_next(p->e, &p->lx))
                return p->e->code;
        }
        if (!depth)
            return RP_OK;
    } while (!lex_expect(p->e, &p->lx, ','));
    return p->e->code;
}

static rp_code place(parser *p, uint64_t *next, uint64_t align, uint64_t bytes, uint64_t gap, uint64_t limit,
                     uint64_t *at)
{
    uint64_t a, end;
    if (!ck_align_u64(*next, align, &a) || !ck_add_u64(a, bytes, &end) || !ck_add_u64(end, gap, &end) ||
        end > limit)
        return lex_error(p->e, &p->lx, "variables beyond %llu bytes", (unsigned long long)limit);
    *at = a;
    *next = end;
    return RP_OK;
}

static rp_code add_shared(parser *p, symbol *s, const decl *d, bool unsized)
{
    if (unsized) {
        s->dynamic = true;
        s->address = DYNAMIC_SHARED;
        if (d->align > p->m->dynamic_align)
            p->m->dynamic_align = d->align;
        return RP_OK;
    }
    if (place(p, &p->m->shared_bytes, d->align, s->bytes, GAP_SHARED, MAX_SHARED, &s->address) ||
        !grow(p, &p->m->shared, p->m->n_shared, &p->cap_shared, sizeof *p->m->shared))
        return p->e->code;
    char *name = span_dup(p, s->name);
    if (!name)
        return p->e->code;
    p->m->shared[p->m->n_shared++] = (ptx_shared){name, s->address, s->bytes};
    return RP_OK;
}

static rp_code add_global(parser *p, symbol *s, const decl *d, bool array, bool constant)
{
    uint64_t relative = p->globals_next;
    uint8_t *init = NULL;
    if (s->bytes == 0)
        return lex_error(p->e, &p->lx, "a variable without a size");
    if (place(p, &relative, d->align < 256 ? 256 : d->align, s->bytes, 256, MAX_GLOBALS, &s->address))
        return p->e->code;
    s->address += p->globals_address;
    if (lex_is(&p->lx, '=')) {
        if (!(init = scratch_alloc(p->sc, s->bytes)))
            return err_nomem(p->e);
        if (initializer(p, d, init, s->bytes, array))
            return p->e->code;
    }
    uint32_t cap = p->cap_globals;
    if (!grow(p, &p->m->globals, p->m->n_globals, &cap, sizeof *p->m->globals) ||
        !grow(p, &p->m->global_init, p->m->n_globals, &p->cap_globals, sizeof *p->m->global_init))
        return p->e->code;
    char *name = span_dup(p, s->name);
    if (!name)
        return p->e->code;
    p->m->global_init[p->m->n_globals] = init;
    p->m->globals[p->m->n_globals++] = (ptx_global){name, s->address, s->bytes, d->align, constant};
    p->globals_next = relative;
    return RP_OK;
}

static rp_code add_in_function(parser *p, symbol *s, const decl *d)
{
    uint64_t next = s->space == SPACE_LOCAL ? p->f->local_bytes : p->f->param_mem;
    if (place(p, &next, d->align, s->bytes, s->space == SPACE_LOCAL ? GAP_LOCAL : 0,
              s->space == SPACE_LOCAL ? MAX_LOCAL : MAX_PARAM, &s->address))
        return p->e->code;
    if (s->space == SPACE_LOCAL)
        p->f->local_bytes = (uint32_t)next;
    else
        p->f->param_mem = (uint32_t)next;
    return RP_OK;
}

rp_code parse_variable(parser *p, bool is_extern)
{
    span space = p->lx.tok.text;
    decl d;
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (lex_is(&p->lx, '[')) { /* .const[2]: numbered banks of old PTX */
        return lex_error(p->e, &p->lx, "numbered constant banks are not supported");
    }
    if (declaration(p, &d))
        return p->e->code;
    for (;;) {
        span name;
        bool array, unsized;
        uint64_t bytes = d.element_bytes;
        if (take_name(p, &name) || dimensions(p, &bytes, &array, &unsized))
            return p->e->code;
        symbol *s = symbol_here(p, name);
        if (s && s->kind == SYM_VAR && (is_extern || s->space == SPACE_GENERIC))
            *s = (symbol){.next = s->next, .name = s->name, .scope = s->scope, .kind = SYM_VAR};
        else if (!(s = symbol_add(p, name, SYM_VAR)))
            return p->e->code;
        s->type = d.type;
        s->bytes = bytes;
        if (span_is(space, "shared")) {
            s->space = SPACE_SHARED;
            add_shared(p, s, &d, unsized);
        } else if (is_extern) {
            s->space = SPACE_GENERIC; /* refused where it is used */
        } else if (span_is(space, "global") || span_is(space, "const")) {
            s->space = span_is(space, "const") ? SPACE_CONST : SPACE_GLOBAL;
            add_global(p, s, &d, array, s->space == SPACE_CONST);
        } else if (!p->f || unsized) {
            lex_error(p->e, &p->lx, "a variable that cannot stand here");
        } else {
            s->space = span_is(space, "local") ? SPACE_LOCAL : SPACE_PARAM;
            add_in_function(p, s, &d);
        }
        if (p->e->code)
            return p->e->code;
        if (!lex_is(&p->lx, ','))
            return lex_expect(p->e, &p->lx, ';');
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
}

rp_code parse_registers(parser *p)
{
    if (p->lx.tok.kind != LEX_DOT)
        return lex_error(p->e, &p->lx, "expected a type");
    ptx_type t = type_named(p->lx.tok.text);
    if (span_is(p->lx.tok.text, "b128")) { /* what would use them is not emulated */
        raw_insn named = {.n_parts = 2,
                          .part = {span_str(".reg"), p->lx.tok.text},
                          .line = p->lx.tok.line,
                          .column = p->lx.tok.column};
        t = T_B64;
        if (refuse(p, &named))
            return p->e->code;
    }
    if (t == T_NONE)
        return lex_error(p->e, &p->lx, "registers of type .%.*s are not supported",
                         (int)(p->lx.tok.text.n < 40 ? p->lx.tok.text.n : 40),
                         (const char *)p->lx.tok.text.p);
    do {
        span name;
        if (lex_next(p->e, &p->lx) || take_name(p, &name))
            return p->e->code;
        if (lex_is(&p->lx, '<')) {
            uint64_t n = 0;
            if (lex_next(p->e, &p->lx) || integer(p, &n) || lex_expect(p->e, &p->lx, '>'))
                return p->e->code;
            if (n > 1 << 20)
                return lex_error(p->e, &p->lx, "more than %d registers", 1 << 20);
            symbol *s = symbol_add(p, name, SYM_REGS);
            if (!s)
                return p->e->code;
            s->type = t;
            s->count = (uint32_t)n;
        } else {
            symbol *s = symbol_add(p, name, SYM_REG);
            if (!s)
                return p->e->code;
            s->type = t;
            if ((s->slot = t == T_PRED ? new_pred(p) : new_reg(p)) < 0)
                return p->e->code;
        }
    } while (lex_is(&p->lx, ','));
    return lex_expect(p->e, &p->lx, ';');
}

rp_code parse_param(parser *p, param_decl *out)
{
    decl d;
    bool array, unsized;
    *out = (param_decl){.reg = lex_is_dot(&p->lx, "reg")};
    if (!out->reg && !lex_is_dot(&p->lx, "param"))
        return lex_error(p->e, &p->lx, "expected .param or .reg");
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (out->reg && lex_is_dot(&p->lx, "pred"))
        return lex_error(p->e, &p->lx, "predicate parameters are not supported");
    if (declaration(p, &d) || take_name(p, &out->name))
        return p->e->code;
    out->bytes = d.element_bytes;
    if (dimensions(p, &out->bytes, &array, &unsized))
        return p->e->code;
    if (unsized || out->bytes == 0 || out->bytes > MAX_PARAM)
        return lex_error(p->e, &p->lx, "a parameter without a size, or of more than %d bytes", MAX_PARAM);
    out->type = d.type;
    out->align = d.align;
    out->pointer = d.pointer;
    return RP_OK;
}
