/* Scopes and names. */
#include "gpu/emu/parse.h"
#include "gpu/emu/wrap.h"
#include <stdlib.h>

enum { N_BUCKETS = 1 << 14, MAX_SYMBOLS = 1 << 20, MAX_SCOPES = 1 << 18, MAX_CONSTS = 1 << 18 };

bool grow(parser *p, void *array_ptr, uint32_t n, uint32_t *cap, size_t size)
{
    void **array = array_ptr;
    if (n < *cap)
        return true;
    if (*cap > UINT32_MAX / 4) {
        err_nomem(p->e);
        return false;
    }
    uint32_t bigger = *cap ? *cap * 2 : 16;
    void *v = scratch_array(p->sc, bigger, size);
    if (!v) {
        err_nomem(p->e);
        return false;
    }
    if (n)
        memcpy(v, *array, n * size);
    *array = v;
    *cap = bigger;
    return true;
}

char *span_dup(parser *p, span s)
{
    char *c = scratch_strndup(p->sc, (const char *)s.p, s.n);
    if (!c)
        err_nomem(p->e);
    return c;
}

rp_code scope_push(parser *p)
{
    if (p->n_scopes >= MAX_SCOPES)
        return lex_error(p->e, &p->lx, "more than %d scopes", MAX_SCOPES);
    if (!grow(p, &p->scope_parent, p->n_scopes, &p->cap_scopes, sizeof *p->scope_parent))
        return p->e->code;
    p->scope_parent[p->n_scopes] = p->scope;
    p->scope = p->n_scopes++;
    return RP_OK;
}

void scope_pop(parser *p)
{
    p->scope = p->scope_parent[p->scope];
}

WRAPS static uint32_t hash(uint32_t scope, span name)
{
    uint32_t h = scope * 2654435761u;
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ name.p[i]) * 16777619u;
    return (h ^ h >> 15) % N_BUCKETS;
}

static symbol *lookup(const parser *p, uint32_t scope, span name)
{
    if (!p->buckets)
        return NULL;
    for (symbol *s = p->buckets[hash(scope, name)]; s; s = s->next)
        if (s->scope == scope && s->name.n == name.n && memcmp(s->name.p, name.p, name.n) == 0)
            return s;
    return NULL;
}

symbol *symbol_here(const parser *p, span name)
{
    return lookup(p, p->scope, name);
}

static symbol *add_in(parser *p, uint32_t scope, span name, sym_kind kind)
{
    if (!p->buckets) {
        p->buckets = scratch_array(p->sc, N_BUCKETS, sizeof(symbol *));
        if (!p->buckets) {
            err_nomem(p->e);
            return NULL;
        }
    }
    if (p->n_symbols >= MAX_SYMBOLS) {
        lex_error(p->e, &p->lx, "more than %d names", MAX_SYMBOLS);
        return NULL;
    }
    symbol *s = scratch_alloc(p->sc, sizeof *s);
    if (!s) {
        err_nomem(p->e);
        return NULL;
    }
    symbol **bucket = &p->buckets[hash(scope, name)];
    *s = (symbol){.next = *bucket, .name = name, .scope = scope, .kind = kind};
    *bucket = s;
    p->n_symbols++;
    return s;
}

symbol *symbol_add(parser *p, span name, sym_kind kind)
{
    if (symbol_here(p, name)) {
        lex_error(p->e, &p->lx, "%.*s is declared twice", (int)(name.n < 80 ? name.n : 80),
                  (const char *)name.p);
        return NULL;
    }
    return add_in(p, p->scope, name, kind);
}

int32_t new_reg(parser *p)
{
    if (p->f->n_regs >= MAX_REGISTERS) {
        lex_error(p->e, &p->lx, "more than %d registers", MAX_REGISTERS);
        return -1;
    }
    return (int32_t)p->f->n_regs++;
}

int32_t new_pred(parser *p)
{
    if (p->f->n_preds >= MAX_REGISTERS) {
        lex_error(p->e, &p->lx, "more than %d predicates", MAX_REGISTERS);
        return -1;
    }
    return (int32_t)p->f->n_preds++;
}

/* %r12 where %r<13> or more is declared in this scope. */
static symbol *numbered(parser *p, uint32_t scope, span name)
{
    size_t digits = 0;
    while (digits < name.n && digits < 8 && name.p[name.n - 1 - digits] >= '0' &&
           name.p[name.n - 1 - digits] <= '9')
        digits++;
    for (size_t k = digits; k > 0; k--) {
        const uint8_t *first = name.p + name.n - k;
        if (*first == '0' && k > 1)
            continue;
        const symbol *all = lookup(p, scope, span_of(name.p, name.n - k));
        if (!all || all->kind != SYM_REGS)
            continue;
        uint32_t number = 0;
        for (size_t i = 0; i < k; i++)
            number = number * 10 + (uint32_t)(first[i] - '0');
        if (number >= all->count)
            continue;
        symbol *s = add_in(p, scope, name, SYM_REG);
        if (!s)
            return NULL;
        s->type = all->type;
        s->slot = all->type == T_PRED ? new_pred(p) : new_reg(p);
        return s->slot < 0 ? NULL : s;
    }
    return NULL;
}

symbol *symbol_find_from(parser *p, uint32_t scope, span name)
{
    for (;; scope = p->scope_parent[scope]) {
        symbol *s = lookup(p, scope, name);
        if (s && s->kind != SYM_REGS)
            return s;
        s = numbered(p, scope, name);
        if (s || p->e->code || scope == 0)
            return s;
    }
}

symbol *symbol_find(parser *p, span name)
{
    return symbol_find_from(p, p->scope, name);
}

WRAPS int32_t const_operand(parser *p, uint64_t value)
{
    uint32_t h = (uint32_t)((value * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    uint32_t known = p->const_at[h];
    if (known && p->const_values[known - 1] == value)
        return ~(int32_t)(known - 1);
    if (p->m->n_consts >= MAX_CONSTS) {
        lex_error(p->e, &p->lx, "more than %d constants", MAX_CONSTS);
        return 0;
    }
    if (!grow(p, &p->const_values, p->m->n_consts, &p->cap_consts, sizeof *p->const_values))
        return 0;
    p->const_values[p->m->n_consts] = value;
    p->const_at[h] = ++p->m->n_consts;
    return ~(int32_t)(p->m->n_consts - 1);
}
