#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "replay/import_xla.h"
#include <ctype.h>
#include <stdlib.h>

enum { FILE_MAX_BYTES = 256 << 20 };

typedef struct {
    scratch *sc;
    const char *path;
    char *rest; /* terminated, cut into lines as they are read */
    uint64_t line;
} lines;

static rp_code fail(rp_err *e, const lines *l, const char *expected)
{
    err_set(e, RP_IO, "expected %s", expected);
    snprintf(e->where, sizeof e->where, "line %llu", (unsigned long long)l->line);
    return err_file(e, l->path);
}

static rp_code opened(rp_err *e, lines *l, scratch *sc, const char *dir, const char *name, const char *end)
{
    span text;
    const char *file = scratch_printf(sc, "%s%s", name, end), *path = file ? file_join(sc, dir, file) : NULL;
    if (!path)
        return err_nomem(e);
    if (file_read(e, &text, sc, path, FILE_MAX_BYTES))
        return e->code;
    *l = (lines){.sc = sc, .path = path, .rest = scratch_strndup(sc, (const char *)text.p, text.n)};
    return l->rest ? RP_OK : err_nomem(e);
}

static char *next(lines *l)
{
    char *at = l->rest, *end;
    if (!*at)
        return NULL;
    end = strchr(at, '\n');
    l->rest = end ? end + 1 : at + strlen(at);
    if (end)
        *end = 0;
    l->line++;
    return at;
}

/* The number behind `key`, or false. */
static bool number_after(const char *s, const char *key, uint64_t *out)
{
    const char *at = strstr(s, key);
    char *end;
    if (!at || !isdigit((unsigned char)at[strlen(key)]))
        return false;
    *out = strtoull(at + strlen(key), &end, 10);
    return true;
}

static rp_code allocation(rp_err *e, lines *l, xla_module *m, const char *s)
{
    uint64_t n;
    if (!number_after(s, "allocation ", &n) || n != m->n_allocations || n >= XLA_MAX ||
        !number_after(s, "size ", &m->allocations[n].bytes))
        return fail(e, l, "allocation N: size BYTES, in order");
    m->allocations[n].parameter = strstr(s, ", parameter ") != NULL;
    m->allocations[n].live_out = strstr(s, "maybe-live-out") != NULL;
    m->allocations[n].temp = strstr(s, "preallocated-temp") != NULL;
    m->n_allocations++;
    return RP_OK;
}

/* A copy of a name, an empty index "{}" left out. */
static const char *name_of(scratch *sc, const char *s, size_t n)
{
    if (n > 2 && !memcmp(s + n - 2, "{}", 2))
        n -= 2;
    return scratch_strndup(sc, s, n);
}

static rp_code value(rp_err *e, lines *l, xla_module *m, const char *s)
{
    const char *id = strchr(s, '<'), *name = id ? strchr(id, ' ') : NULL,
               *at = name ? strstr(name, " @") : NULL;
    if (!at || !m->n_allocations || m->n_values == XLA_MAX)
        return fail(e, l, "value: <ID NAME @N> (size=BYTES,offset=BYTES)");
    xla_value *v = &m->values[m->n_values++];
    v->name = name_of(l->sc, name + 1, (size_t)(at - name - 1));
    v->allocation = m->n_allocations - 1;
    if (!v->name)
        return err_nomem(e);
    return number_after(at, "(size=", &v->bytes) && number_after(at, "offset=", &v->offset)
               ? RP_OK
               : fail(e, l, "(size=BYTES,offset=BYTES)");
}

static rp_code read_assignment(rp_err *e, xla_module *m, scratch *sc, const char *dir, const char *stem)
{
    lines l;
    char *s;
    if (opened(e, &l, sc, dir, stem, "-buffer-assignment.txt"))
        return e->code;
    while (!e->code && (s = next(&l))) {
        if (!strncmp(s, "allocation ", 11))
            (void)!allocation(e, &l, m, s);
        else if (!strncmp(s, " value: ", 8))
            (void)!value(e, &l, m, s);
        else if (*s && strncmp(s, "BufferAssignment", 16) && m->n_values == 0)
            fail(e, &l, "an allocation or a value");
        else if (!*s || !strncmp(s, "Total", 5) || !strncmp(s, "Used", 4))
            break;
    }
    return e->code;
}

static rp_code read_lives(rp_err *e, xla_module *m, scratch *sc, const char *dir, const char *stem)
{
    lines l;
    char *s, *end;
    bool inside = false;
    if (opened(e, &l, sc, dir, stem, "-live-range.txt"))
        return e->code;
    while ((s = next(&l))) {
        if (!strcmp(s, "  BufferLiveRange:")) {
            inside = true;
            continue;
        }
        if (!inside || strncmp(s, "    ", 4)) {
            inside = false;
            continue;
        }
        char *colon = strrchr(s, ':');
        const char *name = colon ? name_of(sc, s + 4, (size_t)(colon - s - 4)) : NULL;
        if (!name)
            return fail(e, &l, "NAME:FROM-TO");
        uint64_t from = strtoull(colon + 1, &end, 10),
                 to = *end == '-' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
        if (to == UINT64_MAX)
            return fail(e, &l, "NAME:FROM-TO");
        for (size_t i = 0; i < m->n_values; i++)
            if (!strcmp(m->values[i].name, name)) {
                m->values[i].from = from;
                m->values[i].to = to;
                m->values[i].has_life = true;
            }
    }
    return RP_OK;
}

/* "f16[1024,768]{1,0}", or a tuple of which the first counts; *s moves behind it. */
static bool type_of(xla_instruction *i, char **s)
{
    static const char *const names[] = {"f16", "bf16", "f32", "f64", "s32",  "s64",      "s8",    "s16",
                                        "u8",  "u16",  "u32", "u64", "pred", "f8e4m3fn", "f8e5m2"};
    char *p = *s;
    bool tuple = *p == '(';
    p += tuple;
    size_t n = strcspn(p, "[ (");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == n && !strncmp(p, names[k], n)) {
            i->type = (dtype)k;
            i->has_type = true;
        }
    if (p[n] != '[')
        return false;
    for (p += n + 1; *p && *p != ']'; p += *p == ',') {
        if (i->rank == 4 || !isdigit((unsigned char)*p))
            return false;
        i->shape[i->rank++] = strtoull(p, &p, 10);
    }
    p += *p == ']';
    /* Dimensions from the fastest: row order counts down. */
    i->row_major = true;
    if (*p == '{') {
        uint64_t want = i->rank;
        for (p++; isdigit((unsigned char)*p); p += *p == ',')
            i->row_major &= strtoull(p, &p, 10) == --want;
        p += strcspn(p, "}");
        p += *p == '}';
    }
    if (tuple) {
        p += strcspn(p, ")");
        p += *p == ')';
    }
    *s = p;
    return true;
}

static int contracting(const char *s, const char *key)
{
    const char *at = strstr(s, key);
    at = at ? at + strlen(key) : NULL;
    return at && (*at == '0' || *at == '1') && at[1] == '"' && at[2] == ']' ? *at - '0' : -1;
}

static rp_code instruction(rp_err *e, lines *l, xla_module *m, char *s)
{
    s += strspn(s, " ");
    if (!strncmp(s, "ROOT ", 5))
        s += 5;
    char *equals = strstr(s, " = "), *p;
    if (*s != '%' || !equals || m->n_instructions == XLA_MAX)
        return fail(e, l, "%NAME = TYPE OPCODE(OPERANDS)");
    xla_instruction *i = &m->instructions[m->n_instructions++];
    i->name = scratch_strndup(l->sc, s + 1, (size_t)(equals - s - 1));
    p = equals + 3;
    if (!type_of(i, &p) || *p != ' ')
        return fail(e, l, "a type");
    size_t n = strcspn(p + 1, "(");
    i->opcode = scratch_strndup(l->sc, p + 1, n);
    if (!i->name || !i->opcode)
        return err_nomem(e);
    for (p += 1 + n; *p && *p != ')';) {
        p++;
        p += strspn(p, " ,");
        size_t k = strcspn(p, "#,)");
        if (*p == '%' && i->n_operands < XLA_OPERANDS)
            i->operands[i->n_operands++] = scratch_strndup(l->sc, p + 1, k - 1);
        p += strcspn(p, ",)");
    }
    i->cublaslt = strstr(p, "custom_call_target=\"__cublas$lt$matmul\"") != NULL;
    i->lhs_contracting = contracting(p, "\"lhs_contracting_dimensions\":[\"");
    i->rhs_contracting = contracting(p, "\"rhs_contracting_dimensions\":[\"");
    i->plain = strstr(p, "\"epilogue\":\"DEFAULT\"") && strstr(p, "\"alpha_real\":1,") &&
               strstr(p, "\"beta\":0,") && strstr(p, "\"lhs_batch_dimensions\":[]") &&
               strstr(p, "\"rhs_batch_dimensions\":[]");
    return RP_OK;
}

static rp_code read_module(rp_err *e, xla_module *m, scratch *sc, const char *dir, const char *stem)
{
    lines l;
    char *s;
    bool entry = false;
    if (opened(e, &l, sc, dir, stem, ".txt"))
        return e->code;
    while (!e->code && (s = next(&l))) {
        if (l.line == 1 && !strstr(s, "is_scheduled=true"))
            return fail(e, &l, "a scheduled module");
        if (!strncmp(s, "ENTRY ", 6))
            entry = true;
        else if (entry && *s == '}')
            return RP_OK;
        else if (entry && *s)
            (void)!instruction(e, &l, m, s);
    }
    return e->code ? e->code : fail(e, &l, "the end of ENTRY: the module is cut off");
}

static rp_code read_thunks(rp_err *e, xla_module *m, scratch *sc, const char *dir, const char *name)
{
    lines l;
    char *s;
    if (opened(e, &l, sc, dir, name, ".thunk_sequence.txt"))
        return e->code;
    while ((s = next(&l))) {
        char *kind = strstr(s, ": k"), *behind = strchr(s, ']');
        if (!*s)
            continue;
        if (!kind || !behind || behind[1] != ' ' || m->n_thunks == XLA_MAX)
            return fail(e, &l, "NNN: kKIND [ORDER] NAME");
        xla_thunk *t = &m->thunks[m->n_thunks++];
        char *who = behind + 2, *launch = strstr(who, " grid:");
        t->kind = scratch_strndup(sc, kind + 2, strcspn(kind + 2, " ["));
        t->name = scratch_strndup(sc, who, launch ? (size_t)(launch - who) : strlen(who));
        t->launch = scratch_strdup(sc, launch ? launch + 1 : "");
        if (!t->kind || !t->name || !t->launch)
            return err_nomem(e);
    }
    return RP_OK;
}

rp_code xla_read(rp_err *e, xla_module *out, scratch *sc, const char *dir, const char *name, const char *stem)
{
    *out = (xla_module){.name = name,
                        .allocations = scratch_array(sc, XLA_MAX, sizeof *out->allocations),
                        .values = scratch_array(sc, XLA_MAX, sizeof *out->values),
                        .instructions = scratch_array(sc, XLA_MAX, sizeof *out->instructions),
                        .thunks = scratch_array(sc, XLA_MAX, sizeof *out->thunks)};
    if (!out->allocations || !out->values || !out->instructions || !out->thunks)
        return err_nomem(e);
    if (read_assignment(e, out, sc, dir, stem) || read_lives(e, out, sc, dir, stem) ||
        read_module(e, out, sc, dir, stem) || read_thunks(e, out, sc, dir, name))
        return e->code;
    size_t calls = 0, launched = 0;
    for (size_t i = 0; i < out->n_instructions; i++)
        calls += out->instructions[i].cublaslt;
    for (size_t i = 0; i < out->n_thunks; i++)
        launched += !strcmp(out->thunks[i].kind, "kCublasLtMatmul");
    if (calls != launched) {
        err_set(e, RP_IO, "the module has %zu __cublas$lt$matmul calls, the thunk sequence %zu", calls,
                launched);
        return err_file(e, name);
    }
    return RP_OK;
}

const xla_value *xla_value_of(const xla_module *m, const char *name, const char *index)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < m->n_values; i++)
        if (!strncmp(m->values[i].name, name, n) && !strcmp(m->values[i].name + n, index))
            return &m->values[i];
    return NULL;
}

const xla_instruction *xla_instruction_of(const xla_module *m, const char *name)
{
    for (size_t i = 0; i < m->n_instructions; i++)
        if (!strcmp(m->instructions[i].name, name))
            return &m->instructions[i];
    return NULL;
}

static uint64_t life_end(const xla_value *v)
{
    return v->to > v->from ? v->to : v->from + 1;
}

size_t xla_faults(const xla_module *m, scratch *sc)
{
    size_t faults = 0;
    for (size_t i = 0; i < m->n_values; i++) {
        const xla_value *a = &m->values[i];
        if (!ck_inside(a->offset, a->bytes, m->allocations[a->allocation].bytes)) {
            fprintf(stderr, "replay import: %s: %s reaches beyond allocation %llu\n", text_safe(sc, m->name),
                    text_safe(sc, a->name), (unsigned long long)a->allocation);
            faults++;
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            const xla_value *b = &m->values[k];
            if (a->allocation == b->allocation && a->has_life && b->has_life && a->from < life_end(b) &&
                b->from < life_end(a) &&
                ck_inside(b->offset, b->bytes, m->allocations[b->allocation].bytes) &&
                ck_overlap(a->offset, a->bytes, b->offset, b->bytes)) {
                fprintf(stderr, "replay import: %s: %s and %s share bytes while both live\n",
                        text_safe(sc, m->name), text_safe(sc, b->name), text_safe(sc, a->name));
                faults++;
            }
        }
    }
    return faults;
}
