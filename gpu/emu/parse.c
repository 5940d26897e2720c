/* The module: directives, variables, functions. */
#include "gpu/emu/parse.h"
#include "artifacts/base/ck.h"
#include <stdlib.h>

enum { MAX_TEXT = 64 << 20, MAX_FUNCTION_PARAMS = 256, MAX_FUNCS = 1 << 16 };

static rp_code skip_to(parser *p, char ch)
{
    while (!lex_is(&p->lx, ch)) {
        if (p->lx.tok.kind == LEX_END)
            return lex_error(p->e, &p->lx, "expected '%c'", ch);
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    return lex_next(p->e, &p->lx);
}

/* .version 8.7: the number is one token. */
static rp_code header(parser *p)
{
    if (!lex_is_dot(&p->lx, "version") || lex_next(p->e, &p->lx))
        return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "expected .version");
    if (p->lx.tok.kind != LEX_FLOAT || p->lx.tok.value < 6.0 || p->lx.tok.value >= 10.0)
        return lex_error(p->e, &p->lx, "expected a version from 6.0 to 9.x");
    if (!(p->m->version = span_dup(p, p->lx.tok.text)) || lex_next(p->e, &p->lx))
        return p->e->code;
    if (!lex_is_dot(&p->lx, "target") || lex_next(p->e, &p->lx))
        return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "expected .target");
    if (!lex_is_name(&p->lx, "") && p->lx.tok.kind != LEX_NAME)
        return lex_error(p->e, &p->lx, "expected a target");
    if (!(p->m->target = span_dup(p, p->lx.tok.text)) || lex_next(p->e, &p->lx))
        return p->e->code;
    while (lex_is(&p->lx, ',')) /* texmode_…, debug */
        if (lex_next(p->e, &p->lx) || p->lx.tok.kind != LEX_NAME || lex_next(p->e, &p->lx))
            return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "expected a name");
    if (!lex_is_dot(&p->lx, "address_size"))
        return lex_error(p->e, &p->lx, "expected .address_size");
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (p->lx.tok.kind != LEX_INT || p->lx.tok.bits != 64)
        return lex_error(p->e, &p->lx, "expected an address size of 64");
    return lex_next(p->e, &p->lx);
}

static rp_code file_directive(parser *p)
{
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (p->lx.tok.kind != LEX_INT || p->lx.tok.bits > 65535)
        return lex_error(p->e, &p->lx, "expected a file number");
    uint32_t number = (uint32_t)p->lx.tok.bits;
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (p->lx.tok.kind != LEX_STRING)
        return lex_error(p->e, &p->lx, "expected a file name");
    while (p->m->n_files <= number) {
        if (!grow(p, &p->m->files, p->m->n_files, &p->cap_files, sizeof *p->m->files))
            return p->e->code;
        p->m->files[p->m->n_files++] = NULL;
    }
    if (!(p->m->files[number] = span_dup(p, p->lx.tok.text)) || lex_next(p->e, &p->lx))
        return p->e->code;
    while (lex_is(&p->lx, ',')) /* time stamp, size */
        if (lex_next(p->e, &p->lx) || p->lx.tok.kind != LEX_INT || lex_next(p->e, &p->lx))
            return p->e->code ? p->e->code : lex_error(p->e, &p->lx, "expected a number");
    return RP_OK;
}

/* .section NAME { … }: debug information. */
static rp_code section(parser *p)
{
    if (lex_next(p->e, &p->lx) || lex_next(p->e, &p->lx) || lex_expect(p->e, &p->lx, '{'))
        return p->e->code;
    return skip_to(p, '}');
}

static rp_code add_reg_formal(parser *p, const param_decl *d, call_param *out)
{
    symbol *s = symbol_add(p, d->name, SYM_REG);
    if (!s)
        return p->e->code;
    s->type = d->type;
    if ((s->slot = new_reg(p)) < 0)
        return p->e->code;
    *out = (call_param){.reg = true, .type = d->type, .slot = s->slot, .bytes = type_bits(d->type) / 8};
    return RP_OK;
}

/* ( .param …, .param … ) of a .func: formals at the beginning of the frame's parameter memory. */
static rp_code formals(parser *p, call_param **out, uint32_t *n_out)
{
    uint32_t cap = 0, n = 0;
    call_param *v = NULL;
    if (lex_expect(p->e, &p->lx, '('))
        return p->e->code;
    while (!lex_is(&p->lx, ')')) {
        param_decl d;
        if (n >= MAX_FUNCTION_PARAMS)
            return lex_error(p->e, &p->lx, "more than %d parameters", MAX_FUNCTION_PARAMS);
        if (parse_param(p, &d) || !grow(p, &v, n, &cap, sizeof *v))
            return p->e->code;
        if (d.reg) {
            if (add_reg_formal(p, &d, &v[n]))
                return p->e->code;
        } else {
            uint64_t at;
            symbol *s = symbol_add(p, d.name, SYM_VAR);
            if (!s)
                return p->e->code;
            if (!ck_align_u64(p->f->param_mem, d.align, &at) || at + d.bytes > 1 << 20)
                return lex_error(p->e, &p->lx, "too many parameter bytes");
            *s = (symbol){.next = s->next,
                          .name = s->name,
                          .scope = s->scope,
                          .kind = SYM_VAR,
                          .type = d.type,
                          .space = SPACE_PARAM,
                          .address = at,
                          .bytes = d.bytes};
            v[n] = (call_param){.type = d.type, .offset = (uint32_t)at, .bytes = (uint32_t)d.bytes};
            p->f->param_mem = (uint32_t)(at + d.bytes);
        }
        n++;
        if (!lex_is(&p->lx, ',')) {
            break;
        }
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    *out = v;
    *n_out = n;
    return lex_expect(p->e, &p->lx, ')');
}

static rp_code entry_params(parser *p)
{
    ptx_entry *en = &p->f->info;
    ptx_param *v = NULL;
    uint32_t cap = 0, n = 0;
    uint64_t at = 0;
    if (lex_expect(p->e, &p->lx, '('))
        return p->e->code;
    while (!lex_is(&p->lx, ')')) {
        param_decl d;
        if (n >= MAX_FUNCTION_PARAMS)
            return lex_error(p->e, &p->lx, "more than %d parameters", MAX_FUNCTION_PARAMS);
        if (parse_param(p, &d) || !grow(p, &v, n, &cap, sizeof *v))
            return p->e->code;
        if (d.reg)
            return lex_error(p->e, &p->lx, "an entry's parameter in a register");
        symbol *s = symbol_add(p, d.name, SYM_VAR);
        if (!s)
            return p->e->code;
        if (!ck_align_u64(at, d.align, &at) || at + d.bytes > 32764)
            return lex_error(p->e, &p->lx, "parameters of more than 32764 bytes");
        *s = (symbol){.next = s->next,
                      .name = s->name,
                      .scope = s->scope,
                      .kind = SYM_VAR,
                      .type = d.type,
                      .space = SPACE_PARAM_ENTRY,
                      .address = at,
                      .bytes = d.bytes};
        char *name = span_dup(p, d.name);
        if (!name)
            return p->e->code;
        v[n++] = (ptx_param){name, type_name(d.type), at, d.bytes, d.align, d.pointer};
        at += d.bytes;
        if (!lex_is(&p->lx, ','))
            break;
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    en->params = v;
    en->n_params = n;
    en->param_bytes = at;
    return lex_expect(p->e, &p->lx, ')');
}

static rp_code three(parser *p, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int k = 0; k < 3; k++) {
        if (p->lx.tok.kind != LEX_INT || p->lx.tok.bits > UINT32_MAX)
            return lex_error(p->e, &p->lx, "expected a number");
        out[k] = (uint32_t)p->lx.tok.bits;
        if (lex_next(p->e, &p->lx))
            return p->e->code;
        if (!lex_is(&p->lx, ','))
            return RP_OK;
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    return lex_error(p->e, &p->lx, "more than three numbers");
}

/* Performance directives between the parameters and the body. */
static rp_code tuning(parser *p)
{
    uint32_t ignored[3];
    while (p->lx.tok.kind == LEX_DOT) {
        bool max = lex_is_dot(&p->lx, "maxntid"), req = lex_is_dot(&p->lx, "reqntid");
        bool numbers = lex_is_dot(&p->lx, "minnctapersm") || lex_is_dot(&p->lx, "maxnctapersm") ||
                       lex_is_dot(&p->lx, "maxnreg") || lex_is_dot(&p->lx, "maxclusterrank") ||
                       lex_is_dot(&p->lx, "reqnctapercluster") || lex_is_dot(&p->lx, "abi_preserve") ||
                       lex_is_dot(&p->lx, "abi_preserve_control");
        bool pragma = lex_is_dot(&p->lx, "pragma");
        if (!max && !req && !numbers && !pragma && !lex_is_dot(&p->lx, "noreturn") &&
            !lex_is_dot(&p->lx, "explicitcluster") && !lex_is_dot(&p->lx, "blocksareclusters"))
            return lex_error(p->e, &p->lx, "directive .%.*s is not supported",
                             (int)(p->lx.tok.text.n < 40 ? p->lx.tok.text.n : 40),
                             (const char *)p->lx.tok.text.p);
        if (lex_next(p->e, &p->lx))
            return p->e->code;
        if (pragma && (skip_to(p, ';')))
            return p->e->code;
        if ((max || req || numbers) && three(p, max   ? p->f->info.maxntid
                                                : req ? p->f->info.reqntid
                                                      : ignored))
            return p->e->code;
    }
    return RP_OK;
}

static rp_code add_entry(parser *p, uint32_t index)
{
    (void)index;
    p->m->n_entries++;
    return RP_OK;
}

static uint8_t builtin_named(span name)
{
    if (span_is(name, "vprintf"))
        return BUILTIN_VPRINTF;
    if (span_is(name, "__assertfail") || span_is(name, "__assert_fail"))
        return BUILTIN_ASSERT;
    return BUILTIN_NONE;
}

static rp_code function(parser *p, bool entry)
{
    ptx_func fresh = {.entry = entry, .n_regs = 1, .n_preds = 1, .info = {.refused = ""}};
    uint32_t outer = p->scope, inner;
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    if (p->m->n_funcs >= MAX_FUNCS)
        return lex_error(p->e, &p->lx, "more than %d functions", MAX_FUNCS);
    p->f = &fresh;
    p->cap_code = p->cap_calls = p->loc = 0;
    p->n_fixups = 0;
    if (scope_push(p))
        return p->e->code;
    inner = p->scope;
    if (!entry && lex_is(&p->lx, '(') && formals(p, &fresh.ret, &fresh.n_ret))
        return p->e->code;
    if (p->lx.tok.kind != LEX_NAME)
        return lex_error(p->e, &p->lx, "expected a function's name");
    span name = p->lx.tok.text;
    if (lex_next(p->e, &p->lx))
        return p->e->code;
    p->scope = outer;
    symbol *s = symbol_here(p, name);
    if (s && (s->kind != SYM_FUNC || p->m->funcs[s->address].has_body))
        return lex_error(p->e, &p->lx, "%.*s is defined twice", (int)(name.n < 80 ? name.n : 80),
                         (const char *)name.p);
    if (!s) {
        if (!(s = symbol_add(p, name, SYM_FUNC)) ||
            !grow(p, &p->m->funcs, p->m->n_funcs, &p->cap_funcs, sizeof *p->m->funcs))
            return p->e->code;
        s->address = p->m->n_funcs++;
    }
    p->scope = inner;
    p->func_index = (uint32_t)s->address;
    if (!(fresh.name = span_dup(p, name)))
        return p->e->code;
    fresh.info.name = fresh.name;
    p->m->funcs[p->func_index] = fresh; /* so that the body can call it */
    if (lex_is(&p->lx, '(') && (entry ? entry_params(p) : formals(p, &fresh.arg, &fresh.n_arg)))
        return p->e->code;
    if (tuning(p))
        return p->e->code;
    if (lex_is(&p->lx, ';')) {
        fresh.builtin = builtin_named(name);
        fresh.n_code = 0;
        p->m->funcs[p->func_index] = fresh;
    } else {
        p->m->funcs[p->func_index] = fresh;
        if (lex_expect(p->e, &p->lx, '{') || parse_body(p))
            return p->e->code;
        fresh.has_body = true;
        mark_cas_guesses(&fresh);
        fresh.info.n_instructions = fresh.n_code;
        fresh.info.local_bytes = fresh.local_bytes;
        p->m->funcs[p->func_index] = fresh;
        if (entry && add_entry(p, p->func_index))
            return p->e->code;
    }
    p->f = NULL;
    p->scope = outer;
    return fresh.has_body ? RP_OK : lex_expect(p->e, &p->lx, ';');
}

static rp_code linked(parser *p)
{
    bool is_extern = false;
    while (lex_is_dot(&p->lx, "visible") || lex_is_dot(&p->lx, "extern") || lex_is_dot(&p->lx, "weak") ||
           lex_is_dot(&p->lx, "common")) {
        is_extern |= lex_is_dot(&p->lx, "extern");
        if (lex_next(p->e, &p->lx))
            return p->e->code;
    }
    if (lex_is_dot(&p->lx, "entry") || lex_is_dot(&p->lx, "func"))
        return function(p, lex_is_dot(&p->lx, "entry"));
    if (lex_is_dot(&p->lx, "global") || lex_is_dot(&p->lx, "const") || lex_is_dot(&p->lx, "shared"))
        return parse_variable(p, is_extern);
    return lex_error(p->e, &p->lx, "expected a variable or function, found '%.*s'",
                     (int)(p->lx.tok.text.n < 60 ? p->lx.tok.text.n : 60),
                     p->lx.tok.text.n ? (const char *)p->lx.tok.text.p : "");
}

static rp_code statement(parser *p)
{
    if (lex_is_dot(&p->lx, "file"))
        return file_directive(p);
    if (lex_is_dot(&p->lx, "section"))
        return section(p);
    if (lex_is_dot(&p->lx, "pragma"))
        return skip_to(p, ';');
    return linked(p);
}

/* What an entry reaches by calls counts for it. */
static rp_code close_over_calls(parser *p)
{
    ptx_module *m = p->m;
    uint32_t *stack = scratch_array(p->sc, m->n_funcs + 1, sizeof *stack);
    uint32_t *seen = scratch_array(p->sc, m->n_funcs + 1, sizeof *seen);
    if (!stack || !seen)
        return err_nomem(p->e);
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        if (!m->funcs[i].entry || !m->funcs[i].has_body)
            continue;
        ptx_entry *en = &m->funcs[i].info;
        uint32_t n = 0;
        stack[n++] = i;
        seen[i] = i + 1;
        while (n) {
            const ptx_func *f = &m->funcs[stack[--n]];
            en->approximate |= f->info.approximate;
            en->contractible |= f->info.contractible;
            en->global_atomics |= f->info.global_atomics;
            en->dynamic_shared |= f->info.dynamic_shared;
            en->prints |= f->builtin == BUILTIN_VPRINTF;
            if (!f->has_body && !f->builtin && !*en->refused) {
                if (!(en->refused = scratch_printf(p->sc, "call of %s, which has no body", f->name)))
                    return err_nomem(p->e);
            }
            if (*f->info.refused && !*en->refused) {
                en->refused = f->info.refused;
                en->refused_line = f->info.refused_line;
                en->refused_column = f->info.refused_column;
            }
            for (uint32_t c = 0; c < (f->calls_indirect ? m->n_funcs : f->n_calls); c++) {
                uint32_t callee = f->calls_indirect ? c : f->calls[c];
                if (f->calls_indirect && (m->funcs[callee].entry || !m->funcs[callee].has_body))
                    continue;
                if (seen[callee] != i + 1) {
                    seen[callee] = i + 1;
                    stack[n++] = callee;
                }
            }
        }
        for (uint32_t s = 0; s < m->n_shared; s++)
            en->static_shared_bytes += m->shared[s].bytes;
    }
    return RP_OK;
}

static rp_code finish(parser *p)
{
    ptx_module *m = p->m;
    uint32_t n = 0;
    m->entries = scratch_array(p->sc, m->n_entries + 1, sizeof *m->entries);
    m->consts = scratch_array(p->sc, m->n_consts + 1, sizeof *m->consts);
    if (!m->entries || !m->consts)
        return err_nomem(p->e);
    for (uint32_t i = 0; i < m->n_consts; i++)
        for (int l = 0; l < LANES; l++)
            m->consts[i][l] = p->const_values[i];
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        m->funcs[i].info.contractible = contract_pairs(&m->funcs[i], NULL) > 0;
        if (m->funcs[i].entry && m->funcs[i].has_body)
            m->entries[n++] = &m->funcs[i].info;
    }
    return close_over_calls(p);
}

rp_code ptx_parse(rp_err *e, ptx_module **out, scratch *sc, const char *file, span text,
                  uint64_t globals_address)
{
    parser p = {.e = e, .sc = sc, .globals_address = globals_address};
    if (text.n > MAX_TEXT)
        return err_invalid(e, FIND_KERNEL_PTX, file, NULL, "more than %d bytes of PTX", MAX_TEXT);
    if (!(p.m = scratch_alloc(sc, sizeof *p.m)))
        return err_nomem(e);
    p.m->dynamic_align = 16;
    p.m->file = scratch_strdup(sc, file);
    if (!p.m->file)
        return err_nomem(e);
    if (lex_start(e, &p.lx, file, text))
        return e->code;
    if (!grow(&p, &p.scope_parent, 0, &p.cap_scopes, sizeof *p.scope_parent) ||
        !grow(&p, &p.m->locs, 0, &p.cap_locs, sizeof *p.m->locs))
        return e->code;
    p.n_scopes = p.m->n_locs = 1;
    if (header(&p))
        return e->code;
    while (p.lx.tok.kind != LEX_END)
        if (statement(&p))
            return e->code;
    if (finish(&p))
        return e->code;
    *out = p.m;
    return RP_OK;
}

uint64_t ptx_n_entries(const ptx_module *m)
{
    return m->n_entries;
}

const ptx_entry *ptx_entry_at(const ptx_module *m, uint64_t index)
{
    return m->entries[index];
}

const ptx_entry *ptx_entry_find(const ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_entries; i++)
        if (strcmp(m->entries[i]->name, name) == 0)
            return m->entries[i];
    return NULL;
}

uint64_t ptx_n_globals(const ptx_module *m)
{
    return m->n_globals;
}

const ptx_global *ptx_global_at(const ptx_module *m, uint64_t index)
{
    return &m->globals[index];
}

const char *ptx_version(const ptx_module *m)
{
    return m->version;
}

const char *ptx_target(const ptx_module *m)
{
    return m->target;
}
