#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "replay/import_xla.h"
#include <ctype.h>
#include <stdlib.h>

enum { FILE_MAX_BYTES = 256 << 20 };

const char *const xla_kind_names[] = {"parameter", "constant",     "live out",
                                      "temporary", "thread local", "other"};

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

/* Behind the bracket that closes the one at p. */
static const char *behind_brackets(const char *p, char open, char close)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == open) - (*p == close);
        if (!depth)
            return p + 1;
    }
    return p;
}

/* "f16[1024,768]{1,0}", or a tuple of which the first counts; *s moves behind it. */
static bool read_type(xla_type *t, const char **s)
{
    static const char *const names[] = {"f16", "bf16", "f32", "f64", "s32",  "s64",      "s8",    "s16",
                                        "u8",  "u16",  "u32", "u64", "pred", "f8e4m3fn", "f8e5m2"};
    const char *p = *s;
    char *end;
    *t = (xla_type){.tuple = *p == '('};
    const char *behind = t->tuple ? behind_brackets(p, '(', ')') : NULL;
    p += t->tuple;
    size_t n = strcspn(p, "[ ()");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == n && !strncmp(p, names[k], n)) {
            t->type = (dtype)k;
            t->known = true;
        }
    if (p[n] != '[') {
        *s = behind ? behind : p + n;
        t->known = false;
        return t->tuple;
    }
    for (p += n + 1; *p && *p != ']'; p += *p == ',') {
        if (!isdigit((unsigned char)*p))
            return false;
        uint64_t extent = strtoull(p, &end, 10);
        p = end;
        if (t->rank < XLA_RANK)
            t->shape[t->rank++] = extent;
        else
            t->known = false;
    }
    p += *p == ']';
    /* Axes from the fastest; without them the last is the fastest. */
    for (uint64_t i = 0; i < t->rank; i++)
        t->minor_to_major[i] = t->rank - 1 - i;
    if (*p == '{') {
        const char *close = behind_brackets(p, '{', '}');
        uint64_t i = 0, seen = 0;
        for (p++; isdigit((unsigned char)*p); p += *p == ',') {
            uint64_t axis = strtoull(p, &end, 10);
            p = end;
            if (i < t->rank && axis < t->rank && !(seen >> axis & 1)) {
                seen |= 1ULL << axis;
                t->minor_to_major[i++] = axis;
            } else {
                t->known = false;
            }
        }
        t->known = t->known && (i == t->rank || !i);
        p = close;
    }
    *s = behind ? behind : p;
    return true;
}

static rp_code allocation(rp_err *e, lines *l, xla_module *m, const char *s)
{
    uint64_t n;
    if (!number_after(s, "allocation ", &n) || n != m->n_allocations || n >= XLA_MAX ||
        !number_after(s, "size ", &m->allocations[n].bytes))
        return fail(e, l, "allocation N: size BYTES, in order");
    m->allocations[n].kind = strstr(s, ", parameter ")        ? XLA_PARAMETER
                             : strstr(s, "thread-local")      ? XLA_THREAD_LOCAL
                             : strstr(s, "preallocated-temp") ? XLA_TEMPORARY
                             : strstr(s, "maybe-live-out")    ? XLA_LIVE_OUT
                             : strstr(s, "constant")          ? XLA_CONSTANT
                                                              : XLA_OTHER;
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
    if (!at || at <= name + 1 || !m->n_allocations || m->n_values == XLA_MAX)
        return fail(e, l, "value: <ID NAME @N> (size=BYTES,offset=BYTES)");
    xla_value *v = &m->values[m->n_values++];
    v->name = name_of(l->sc, name + 1, (size_t)(at - name - 1));
    v->allocation = m->n_allocations - 1;
    if (!v->name)
        return err_nomem(e);
    if (!number_after(at, "(size=", &v->bytes) || !number_after(at, "offset=", &v->offset))
        return fail(e, l, "(size=BYTES,offset=BYTES)");
    const char *type = strstr(at, "): ");
    if (type) {
        type += 3;
        (void)read_type(&v->type, &type);
    }
    return RP_OK;
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
    bool inside = false, sequence = false;
    if (opened(e, &l, sc, dir, stem, "-live-range.txt"))
        return e->code;
    while ((s = next(&l))) {
        if (*s && strncmp(s, "    ", 4))
            sequence = !strcmp(s, "  InstructionSequence:");
        if (sequence && !strncmp(s, "    ", 4)) {
            uint64_t at = strtoull(s + 4, &end, 10);
            for (size_t i = 0; *end == ':' && i < m->n_instructions; i++)
                if (!strcmp(m->instructions[i].name, end + 1)) {
                    m->instructions[i].position = at;
                    m->instructions[i].has_position = true;
                }
            continue;
        }
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
        if (end == colon + 1 || to == UINT64_MAX || from > to)
            return fail(e, &l, "NAME:FROM-TO, FROM no later than TO");
        for (size_t i = 0; i < m->n_values; i++)
            if (!strcmp(m->values[i].name, name)) {
                m->values[i].from = from;
                m->values[i].to = to;
                m->values[i].has_life = true;
            }
    }
    return RP_OK;
}

/* The balanced object behind `key` in the text, strings taken into account. */
static span object_after(const char *s, const char *key)
{
    const char *from = strstr(s, key), *p;
    int depth = 0;
    bool quoted = false;
    if (!from)
        return (span){0};
    from += strlen(key);
    for (p = from; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*p == '{') - (*p == '}');
        if (!depth)
            return span_of(from, (size_t)(p + 1 - from));
    }
    return (span){0};
}

/* The gemm_backend_config of a library call. */
static rp_code gemm_config(rp_err *e, lines *l, xla_instruction *i, const char *attributes)
{
    span text = object_after(attributes, "backend_config=");
    js_node *root;
    rp_err json = {0};
    if (!text.n || js_parse(&json, &root, l->sc, l->path, text) || js_as_obj(&json, root))
        return fail(e, l, "a backend_config of JSON");
    i->gemm = js_find(root, "gemm_backend_config");
    return i->gemm && js_kind(i->gemm) == JS_OBJECT ? RP_OK : fail(e, l, "a gemm_backend_config");
}

/* The place in a tuple, or -1. */
static int element_number(const char *s)
{
    size_t n = strspn(s, "0123456789");
    return n < 1 || n > 4 ? -1 : (int)strtoul(s, NULL, 10);
}

static const char *operands_of(lines *l, xla_instruction *i, const char *p)
{
    while (*p && *p != ')') {
        p++;
        p += strspn(p, " ,");
        if (!strncmp(p, "/*", 2)) {
            const char *end = strstr(p, "*/");
            p = end ? end + 2 : p;
            p += strspn(p, " ");
        }
        size_t k = strcspn(p, "#,)");
        if (*p == '%') {
            if (i->n_operands < XLA_OPERANDS) {
                i->elements[i->n_operands] = p[k] == '#' ? element_number(p + k + 1) : -1;
                i->operands[i->n_operands] = scratch_strndup(l->sc, p + 1, k - 1);
                if (!i->operands[i->n_operands])
                    return NULL;
            }
            i->n_operands++;
        }
        p += strcspn(p, ",)");
    }
    return p;
}

static rp_code instruction(rp_err *e, lines *l, xla_module *m, char *s)
{
    bool root;
    s += strspn(s, " ");
    root = !strncmp(s, "ROOT ", 5);
    if (root)
        s += 5;
    const char *equals = strstr(s, " = "), *p;
    if (*s != '%' || !equals || m->n_instructions == XLA_MAX)
        return fail(e, l, "%NAME = TYPE OPCODE(OPERANDS)");
    xla_instruction *i = &m->instructions[m->n_instructions++];
    i->name = scratch_strndup(l->sc, s + 1, (size_t)(equals - s - 1));
    i->root = root;
    i->target = "";
    p = equals + 3;
    if (!read_type(&i->type, &p) || *p != ' ')
        return fail(e, l, "a type");
    size_t n = strcspn(p + 1, "(");
    i->opcode = scratch_strndup(l->sc, p + 1, n);
    p = i->opcode ? operands_of(l, i, p + 1 + n) : NULL;
    if (!i->name || !p)
        return err_nomem(e);
    static const char target[] = "custom_call_target=\"", index[] = "), index=";
    const char *at = strstr(p, target);
    if (at) {
        at += strlen(target);
        i->target = scratch_strndup(l->sc, at, strcspn(at, "\""));
        if (!i->target)
            return err_nomem(e);
    }
    if (!strcmp(i->opcode, "get-tuple-element"))
        i->index = strncmp(p, index, strlen(index)) ? -1 : element_number(p + strlen(index));
    return xla_is_call(i) ? gemm_config(e, l, i, p) : RP_OK;
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
    if (read_assignment(e, out, sc, dir, stem) || read_module(e, out, sc, dir, stem) ||
        read_lives(e, out, sc, dir, stem) || read_thunks(e, out, sc, dir, name))
        return e->code;
    size_t calls = 0, launched = 0;
    for (size_t i = 0; i < out->n_instructions; i++)
        calls += xla_is_call(&out->instructions[i]);
    for (size_t i = 0; i < out->n_thunks; i++)
        launched += !strcmp(out->thunks[i].kind, "kCublasLtMatmul");
    if (calls != launched) {
        err_set(e, RP_IO, "the module has %zu __cublas$lt$matmul calls, the thunk sequence %zu", calls,
                launched);
        return err_file(e, name);
    }
    return RP_OK;
}
