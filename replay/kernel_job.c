#include "replay/kernel_job.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/safetensors.h"
#include <stdlib.h>

enum { GUARD_BYTES = 65536, PART_ALIGN = 256 };
static const uint64_t max_document = 64ULL << 20, max_data = 4ULL << 30;

typedef struct {
    rp_err *e;
    scratch *sc;
    kernel_job *k;
    const char *json_path;
    js_node *root;
    const char *text; /* of the JSON */
    st_tensor *tensors;
    size_t n_tensors;
} reader;

/* "uint64", "float32", "bfloat16", "bool": NumPy's words, or ours. */
static dtype type_named(const char *s)
{
    static const struct {
        const char *name;
        dtype t;
    } known[] = {{"float16", DT_F16}, {"bfloat16", DT_BF16}, {"float32", DT_F32}, {"float64", DT_F64},
                 {"int8", DT_I8},     {"int16", DT_I16},     {"int32", DT_I32},   {"int64", DT_I64},
                 {"uint8", DT_U8},    {"uint16", DT_U16},    {"uint32", DT_U32},  {"uint64", DT_U64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(s, known[i].name))
            return known[i].t;
    for (int i = 0; i < DT_COUNT; i++)
        if (!strcmp(s, dtype_names[i]))
            return (dtype)i;
    return DT_U8;
}

static const st_tensor *tensor_of(const reader *r, const char *prefix, const char *name)
{
    for (size_t i = 0; i < r->n_tensors; i++)
        if (!strncmp(r->tensors[i].name, prefix, strlen(prefix)) &&
            !strcmp(r->tensors[i].name + strlen(prefix), name))
            return &r->tensors[i];
    return NULL;
}

static rp_code read_buffer(reader *r, const char *name, js_node *o)
{
    rp_err *e = r->e;
    job *jb = &r->k->jb;
    js_node *shape;
    size_t rank;
    bool output;
    const char *type;
    if (js_as_obj(e, o) || js_str(e, &type, o, "dtype") || js_arr(e, &shape, &rank, o, "shape") ||
        js_bool(e, &output, o, "output"))
        return e->code;
    dtype t = type_named(type);
    const st_tensor *in = tensor_of(r, "in.", name), *want = output ? tensor_of(r, "out.", name) : NULL;
    if ((!in && !output) || (output && !want))
        return js_fail(e, o, FIND_FIXTURE_SHAPE, "expected a tensor %s.%s beside the kernel, found none",
                       output ? "out" : "in", name);
    uint64_t bytes = in ? in->data.n : want->data.n;
    if ((want && want->data.n != bytes) || bytes % dtype_bytes(t))
        return js_fail(e, o, FIND_FIXTURE_SHAPE, "expected tensors of one size for %s, in elements of %s",
                       name, type);
    if (output)
        r->k->outputs[r->k->n_outputs++] = (kernel_output){
            .name = name, .type = t, .buffer = (int64_t)jb->n_buffers, .expected = want->data};
    jb->buffers[jb->n_buffers++] =
        (job_buffer){.id = name, .place = JOB_EXTERNAL, .bytes = bytes, .writable = output};
    return RP_OK;
}

/* Bytes of a value of this kind, 0 when it is none; floats are converted, integers taken modulo. */
static bool value_of(job_value *v, const char *kind, const char *text)
{
    char *end;
    const char *digits = kind;
    bool floating = !strncmp(kind, "bf", 2) || !strncmp(kind, "f", 1);
    if (!strcmp(kind, "null") || !strcmp(kind, "ptr")) {
        *v = (job_value){.bytes = 8};
        return true;
    }
    if (!strcmp(kind, "bool") || !strcmp(kind, "i1") || !strcmp(kind, "u1")) {
        *v = (job_value){.bytes = 1, .bits = !strcmp(text, "true") || strtoll(text, NULL, 10)};
        return true;
    }
    while (*digits && (*digits < '0' || *digits > '9'))
        digits++;
    unsigned long width = strtoul(digits, &end, 10);
    if (*end || (width != 8 && width != 16 && width != 32 && width != 64) || (floating && width == 8))
        return false;
    *v = (job_value){.bytes = width / 8};
    if (floating) {
        dtype t = *kind == 'b' ? DT_BF16 : width == 16 ? DT_F16 : width == 32 ? DT_F32 : DT_F64;
        double x = strtod(text, &end);
        dtype_store(t, &v->bits, 0, x);
    } else {
        /* 64 bits may be more than a double holds; 1e3 is an integer too. */
        v->bits = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
        if (*end) {
            double x = strtod(text, &end);
            if (!(x >= -0x1p53 && x <= 0x1p53))
                return false;
            v->bits = (uint64_t)(int64_t)x;
        }
        if (width < 64)
            v->bits &= (UINT64_C(1) << width) - 1;
    }
    return !*end && end != text;
}

/* What follows KEY, a colon and white space, from `at` on; NULL when there is none. */
static const char *after_key(const char *at, const char *key, char first)
{
    for (at = strstr(at, key); at; at = strstr(at, key)) {
        at += strlen(key);
        const char *v = at + strspn(at, " \t\r\n");
        v += *v == ':';
        if (v != at && v[-1] == ':') {
            v += strspn(v, " \t\r\n");
            if (!first || *v == first)
                return v;
        }
    }
    return NULL;
}

/* The digits of argument `index` as written, since a JSON number is read as a double: 64 bits are more than
 * that holds. */
static const char *digits_of(const reader *r, size_t index)
{
    const char *at = after_key(r->text, "\"args\"", '[');
    for (size_t i = 0; at && i <= index; i++)
        at = after_key(at, "\"value\"", 0);
    size_t n = at ? strspn(at, "-0123456789") : 0;
    return n && !strchr(".eE", at[n]) ? scratch_strndup(r->sc, at, n) : NULL;
}

static rp_code read_args(reader *r, job_step *s)
{
    rp_err *e = r->e;
    js_node *arr;
    size_t n;
    if (js_arr(e, &arr, &n, r->root, "args"))
        return e->code;
    if (n > JOB_MAX_ARGS)
        return js_fail(e, arr, FIND_JSON_VALUE, "expected at most %d arguments, found %zu", JOB_MAX_ARGS, n);
    s->n_args = n;
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(arr, i), *value;
        const char *kind;
        if (js_as_obj(e, o) || js_str(e, &kind, o, "kind") || js_get(e, &value, o, "value"))
            return e->code;
        const char *text = js_scalar_text(value),
                   *digits = js_kind(value) == JS_NUMBER ? digits_of(r, i) : NULL;
        text = digits ? digits : text;
        s->args[i] = -1;
        if (!strcmp(kind, "buf")) {
            for (uint64_t b = 0; text && b < r->k->jb.n_buffers; b++)
                if (!strcmp(r->k->jb.buffers[b].id, text))
                    s->args[i] = (int64_t)b;
            if (s->args[i] < 0)
                return js_fail(e, value, FIND_JSON_VALUE, "expected one of the buffers, found \"%.64s\"",
                               text ? text : "");
        } else if (!text || !value_of(&s->values[i], kind, text)) {
            return js_fail(e, o, FIND_JSON_VALUE,
                           "expected buf, null, or a value of i8 to i64, u8 to u64, f16, bf16, f32, f64 or "
                           "bool, found %.32s",
                           kind);
        }
    }
    return RP_OK;
}

static rp_code read_step(reader *r)
{
    rp_err *e = r->e;
    job *jb = &r->k->jb;
    job_step *s = scratch_alloc(r->sc, sizeof *s);
    if (!s)
        return err_nomem(e);
    *s = job_step_none();
    s->kind = JOB_KERNEL;
    s->entry = r->k->entry;
    if (js_u64s(e, s->grid, 3, r->root, "grid") || js_u64s(e, s->block, 3, r->root, "block") ||
        js_u64(e, &s->shared_bytes, r->root, "shared_bytes") || read_args(r, s))
        return e->code;
    if (!r->k->n_outputs || r->k->n_outputs > JOB_MAX_WRITES)
        return js_fail(e, r->root, FIND_JSON_VALUE, "expected 1 to %d outputs, found %llu", JOB_MAX_WRITES,
                       (unsigned long long)r->k->n_outputs);
    for (uint64_t i = 0; i < r->k->n_outputs; i++)
        s->writes[s->n_writes++] = r->k->outputs[i].buffer;
    jb->steps = s;
    jb->n_steps = 1;
    return RP_OK;
}

/* The blob: the PTX, then every input. */
static rp_code lay_out_data(reader *r)
{
    job *jb = &r->k->jb;
    uint64_t total, offset = 0;
    if (!ck_align_u64(r->k->ptx.n, PART_ALIGN, &total))
        return err_nomem(r->e);
    for (uint64_t i = 0; i < jb->n_buffers; i++)
        if (!ck_add_u64(total, jb->buffers[i].bytes + PART_ALIGN, &total) || total > max_data)
            return err_set(r->e, RP_IO, "expected at most %llu bytes of inputs",
                           (unsigned long long)max_data);
    uint8_t *blob = scratch_alloc(r->sc, (size_t)total);
    job_input *in = scratch_array(r->sc, (size_t)jb->n_buffers, sizeof *in);
    if (!blob || !in)
        return err_nomem(r->e);
    memcpy(blob, r->k->ptx.p, r->k->ptx.n);
    jb->modules[0].ptx = (job_part){.offset_bytes = 0, .bytes = r->k->ptx.n, .sha256 = digest_of(r->k->ptx)};
    offset = r->k->ptx.n;
    for (size_t f = 0; f < jb->n_fixtures; f++) {
        jb->fixtures[f].inputs = in;
        jb->fixtures[f].n_inputs = 0;
    }
    uint64_t n = 0;
    for (uint64_t i = 0; i < jb->n_buffers; i++) {
        const st_tensor *t = tensor_of(r, "in.", jb->buffers[i].id);
        if (!t)
            continue;
        offset = (offset + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
        memcpy(blob + offset, t->data.p, t->data.n);
        in[n++] =
            (job_input){.buffer = (int64_t)i,
                        .data = {.offset_bytes = offset, .bytes = t->data.n, .sha256 = digest_of(t->data)}};
        offset += t->data.n;
    }
    for (size_t f = 0; f < jb->n_fixtures; f++)
        jb->fixtures[f].n_inputs = n;
    r->k->data = span_of(blob, (size_t)offset);
    return RP_OK;
}

static rp_code make_fixtures(reader *r, bool both)
{
    job *jb = &r->k->jb;
    jb->n_fixtures = both ? 2 : 1;
    jb->fixtures = scratch_array(r->sc, 2, sizeof *jb->fixtures);
    jb->modules = scratch_alloc(r->sc, sizeof *jb->modules);
    if (!jb->fixtures || !jb->modules)
        return err_nomem(r->e);
    jb->n_modules = 1;
    jb->modules[0].name = scratch_printf(r->sc, "%s.ptx", r->k->name);
    for (uint64_t f = 0; f < jb->n_fixtures; f++) {
        job_output *out = scratch_array(r->sc, (size_t)r->k->n_outputs, sizeof *out);
        if (!out || !jb->modules[0].name)
            return err_nomem(r->e);
        jb->fixtures[f] = (job_fixture){.name = f      ? "separate"
                                                : both ? "contracted"
                                                       : "recorded",
                                        .separate = f == 1,
                                        .n_outputs = r->k->n_outputs,
                                        .outputs = out};
        for (uint64_t i = 0; i < r->k->n_outputs; i++) {
            out[i] = (job_output){.buffer = r->k->outputs[i].buffer, .offset_bytes = jb->output_bytes};
            jb->output_bytes += jb->buffers[r->k->outputs[i].buffer].bytes;
        }
    }
    return lay_out_data(r);
}

static bool mentions(span text, const char *word)
{
    return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

static rp_code read_all(reader *r, bool both)
{
    rp_err *e = r->e;
    kernel_job *k = r->k;
    size_t n = strlen(r->json_path), m = strlen(".json");
    span text, tensors;
    js_node *buffers;
    if (n <= m || strcmp(r->json_path + n - m, ".json")) {
        err_set(e, RP_IO, "expected NAME.json, beside NAME.ptx and NAME.safetensors");
        return err_file(e, r->json_path);
    }
    const char *ptx = scratch_printf(r->sc, "%.*s.ptx", (int)(n - m), r->json_path);
    const char *st = scratch_printf(r->sc, "%.*s.safetensors", (int)(n - m), r->json_path);
    if (!ptx || !st)
        return err_nomem(e);
    if (file_read(e, &text, r->sc, r->json_path, max_document) ||
        file_read(e, &k->ptx, r->sc, ptx, max_document) || file_read(e, &tensors, r->sc, st, max_data) ||
        st_read(e, &r->tensors, &r->n_tensors, r->sc, st, tensors) ||
        js_parse(e, &r->root, r->sc, r->json_path, text) || js_as_obj(e, r->root) ||
        js_str(e, &k->name, r->root, "name") || js_str(e, &k->producer, r->root, "producer") ||
        js_str(e, &k->entry, r->root, "entry") || js_obj(e, &buffers, r->root, "buffers"))
        return e->code;
    if (!(r->text = scratch_strndup(r->sc, (const char *)text.p, text.n)))
        return err_nomem(e);
    k->jb = (job){.phase = JOB_VALIDATE, .guard_bytes = GUARD_BYTES, .params_buffer = -1};
    k->jb.buffers = scratch_array(r->sc, js_len(buffers), sizeof *k->jb.buffers);
    k->outputs = scratch_array(r->sc, js_len(buffers), sizeof *k->outputs);
    if (!k->jb.buffers || !k->outputs)
        return err_nomem(e);
    for (size_t i = 0; i < js_len(buffers); i++)
        if (read_buffer(r, js_key_at(buffers, i), js_at(buffers, i)))
            return e->code;
    k->approximate = mentions(k->ptx, ".approx") || mentions(k->ptx, "\tex2.") || mentions(k->ptx, ".full.");
    k->contractible =
        (mentions(k->ptx, "mul.f32") || mentions(k->ptx, "mul.f64") || mentions(k->ptx, "mul.ftz.f32")) &&
        (mentions(k->ptx, "add.f") || mentions(k->ptx, "sub.f"));
    return read_step(r) ? e->code : make_fixtures(r, both);
}

rp_code kernel_job_read(rp_err *e, kernel_job **out, scratch *sc, const char *json_path, bool both)
{
    kernel_job *k = scratch_alloc(sc, sizeof *k);
    reader r = {.e = e, .sc = sc, .k = k, .json_path = json_path};
    if (!k)
        return err_nomem(e);
    if (read_all(&r, both))
        return e->code;
    *out = k;
    return RP_OK;
}
