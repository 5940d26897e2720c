#include "gpu/job.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/lt_json.h"
#include <stdlib.h>

const char *const job_phase_names[] = {"validate", "timing", "timeline", "instructions", NULL};
const char *const job_step_names[] = {"matmul", "kernel", "copy", NULL};

job_step job_step_none(void)
{
    return (job_step){.a = -1,
                      .b = -1,
                      .c = -1,
                      .d = -1,
                      .bias = -1,
                      .scale_a = -1,
                      .scale_b = -1,
                      .workspace = -1,
                      .src = -1,
                      .dst = -1};
}

static const char *const place_names[] = {"external", "arena", NULL};

/* Whatever the file says, no device holds more; sums of a few of these still fit. */
#define MAX_BYTES ((uint64_t)1 << 50)
enum { MAX_REPEATS = 1000000, MAX_BLOCKS = 100000, MAX_GUARD_BYTES = 1 << 30 };

typedef struct {
    rp_err *e;
    scratch *sc;
    job *jb;
    uint64_t data_bytes;
} reader;

/* An integer member between two bounds, both allowed. */
static rp_code ranged(reader *r, uint64_t *out, js_node *obj, const char *key, uint64_t least, uint64_t most)
{
    if (js_u64(r->e, out, obj, key))
        return r->e->code;
    if (*out < least || *out > most)
        return js_fail(r->e, js_find(obj, key), FIND_JSON_VALUE, "expected %llu to %llu, found %llu",
                       (unsigned long long)least, (unsigned long long)most, (unsigned long long)*out);
    return RP_OK;
}

/* Storage for the n elements of a list, or NULL with the error set. */
static void *list(reader *r, size_t n, size_t size)
{
    void *p = scratch_array(r->sc, n, size);
    if (!p)
        err_nomem(r->e);
    return p;
}

static rp_code text_of(reader *r, const char **out, js_node *obj, const char *key)
{
    if (js_str(r->e, out, obj, key))
        return r->e->code;
    if (!**out)
        return js_fail(r->e, js_find(obj, key), FIND_JSON_VALUE, "expected a name, found none");
    return RP_OK;
}

/* The index of a buffer; -1 only where there may be none. */
static rp_code buffer_index(reader *r, const js_node *v, int64_t i, bool none_allowed)
{
    if ((i == -1 && none_allowed) || (i >= 0 && (uint64_t)i < r->jb->n_buffers))
        return RP_OK;
    return js_fail(r->e, v, FIND_JSON_VALUE, "expected a buffer below %llu%s, found %lld",
                   (unsigned long long)r->jb->n_buffers, none_allowed ? " or -1" : "", (long long)i);
}

static rp_code read_buffer_index(reader *r, int64_t *out, js_node *obj, const char *key, bool none_allowed)
{
    if (js_i64(r->e, out, obj, key))
        return r->e->code;
    return buffer_index(r, js_find(obj, key), *out, none_allowed);
}

static rp_code read_part(reader *r, job_part *p, js_node *obj, const char *key)
{
    js_node *o;
    if (js_obj(r->e, &o, obj, key) || js_u64(r->e, &p->offset_bytes, o, "offset_bytes") ||
        js_u64(r->e, &p->bytes, o, "bytes") || js_digest(r->e, &p->sha256, o, "sha256") || js_done(r->e, o))
        return r->e->code;
    if (!ck_inside(p->offset_bytes, p->bytes, r->data_bytes))
        return js_fail(r->e, o, FIND_JSON_VALUE,
                       "expected a range inside the %llu bytes of data, found %llu at %llu",
                       (unsigned long long)r->data_bytes, (unsigned long long)p->bytes,
                       (unsigned long long)p->offset_bytes);
    return RP_OK;
}

static rp_code read_buffers(reader *r, js_node *root)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, root, "buffers"))
        return r->e->code;
    job *jb = r->jb;
    uint64_t total = 0, guards;
    if (!(jb->buffers = list(r, n, sizeof *jb->buffers)))
        return r->e->code;
    jb->n_buffers = n;
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(arr, i);
        job_buffer *b = &jb->buffers[i];
        int place;
        if (js_as_obj(r->e, o) || text_of(r, &b->id, o, "id") ||
            js_enum(r->e, &place, o, "place", place_names) ||
            js_u64(r->e, &b->offset_bytes, o, "offset_bytes") ||
            ranged(r, &b->bytes, o, "bytes", 0, MAX_BYTES) || js_bool(r->e, &b->writable, o, "writable") ||
            js_done(r->e, o))
            return r->e->code;
        b->place = (job_place)place;
        if (b->place == JOB_EXTERNAL && b->offset_bytes != 0)
            return js_fail(r->e, o, FIND_JSON_VALUE, "expected offset 0 for an external buffer, found %llu",
                           (unsigned long long)b->offset_bytes);
        if (b->place == JOB_ARENA && !ck_inside(b->offset_bytes, b->bytes, jb->arena_bytes))
            return js_fail(r->e, o, FIND_JSON_VALUE,
                           "expected a range inside the arena of %llu bytes, found %llu at %llu",
                           (unsigned long long)jb->arena_bytes, (unsigned long long)b->bytes,
                           (unsigned long long)b->offset_bytes);
        if (b->place == JOB_EXTERNAL && (!ck_add_u64(total, b->bytes, &total) || total > MAX_BYTES))
            return js_fail(r->e, o, FIND_JSON_VALUE,
                           "expected external buffers of at most 2^50 bytes in all");
        for (size_t k = 0; k < i; k++)
            if (!strcmp(jb->buffers[k].id, b->id))
                return js_fail(r->e, o, FIND_JSON_VALUE, "expected ids that differ, found \"%.64s\" twice",
                               b->id);
    }
    if (!ck_mul_u64(2 * jb->guard_bytes, jb->n_buffers + 1, &guards) || guards > MAX_BYTES)
        return js_fail(r->e, arr, FIND_JSON_VALUE, "expected guard bands of at most 2^50 bytes in all");
    return RP_OK;
}

static rp_code read_params(reader *r, js_node *root)
{
    js_node *o, *arr;
    size_t n;
    job *jb = r->jb;
    if (js_obj(r->e, &o, root, "parameters") || read_buffer_index(r, &jb->params_buffer, o, "buffer", true) ||
        js_arr(r->e, &arr, &n, o, "values") || js_done(r->e, o))
        return r->e->code;
    int64_t *values = list(r, n, sizeof *values);
    if (!values)
        return r->e->code;
    for (size_t i = 0; i < n; i++)
        if (js_as_i64(r->e, &values[i], js_at(arr, i)))
            return r->e->code;
    jb->params = values;
    jb->n_params = n;
    if ((jb->params_buffer < 0) != (n == 0))
        return js_fail(r->e, o, FIND_JSON_VALUE,
                       "expected a buffer and values, or neither, found buffer %lld and %zu values",
                       (long long)jb->params_buffer, n);
    uint64_t bytes;
    if (n && (!ck_mul_u64(n, sizeof *values, &bytes) || bytes > jb->buffers[jb->params_buffer].bytes))
        return js_fail(r->e, o, FIND_JSON_VALUE, "expected at most %llu bytes of values, found %zu values",
                       (unsigned long long)jb->buffers[jb->params_buffer].bytes, n);
    return RP_OK;
}

static rp_code read_modules(reader *r, js_node *root)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, root, "modules"))
        return r->e->code;
    if (!(r->jb->modules = list(r, n, sizeof *r->jb->modules)))
        return r->e->code;
    r->jb->n_modules = n;
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(arr, i);
        job_module *m = &r->jb->modules[i];
        if (js_as_obj(r->e, o) || text_of(r, &m->name, o, "name") || read_part(r, &m->ptx, o, "ptx") ||
            js_done(r->e, o))
            return r->e->code;
        if (!m->ptx.bytes)
            return js_fail(r->e, o, FIND_JSON_VALUE, "expected PTX text, found none");
    }
    return RP_OK;
}

static rp_code in_range(reader *r, js_node *o, const char *key, uint64_t v, uint64_t least, uint64_t most)
{
    if (v >= least && v <= most)
        return RP_OK;
    return js_fail(r->e, js_find(o, key), FIND_JSON_VALUE, "expected %llu to %llu, found %llu",
                   (unsigned long long)least, (unsigned long long)most, (unsigned long long)v);
}

static bool is_fp8(dtype t)
{
    return t == DT_F8_E4M3 || t == DT_F8_E5M2;
}

static bool is_small_float(dtype t)
{
    return t == DT_F16 || t == DT_BF16 || t == DT_F32 || is_fp8(t);
}

static rp_code read_matrix(reader *r, lt_matrix *m, js_node *call, const char *key)
{
    js_node *o;
    if (js_obj(r->e, &o, call, key) || lt_matrix_read(r->e, m, o) || js_done(r->e, o))
        return r->e->code;
    if (in_range(r, o, "rows", m->rows, 1, MAX_BYTES) || in_range(r, o, "cols", m->cols, 1, MAX_BYTES) ||
        in_range(r, o, "ld", m->ld, 1, MAX_BYTES))
        return r->e->code;
    if (!is_small_float(m->type) && m->type != DT_F64 && m->type != DT_I8 && m->type != DT_I32)
        return js_fail(r->e, o, FIND_JSON_VALUE,
                       "expected a matrix of f16, bf16, f32, f64, f8_e4m3, f8_e5m2, i8 or i32, found %s",
                       dtype_names[m->type]);
    if (m->batch && (in_range(r, o, "batch", m->batch, 2, INT32_MAX) ||
                     in_range(r, o, "stride", m->stride, 0, MAX_BYTES)))
        return r->e->code;
    return RP_OK;
}

/* The families of element types that a worker's own tables have; which of them go together on a device is
 * the library's to say. */
static bool types_fit(const lt_call *c)
{
    switch (c->compute) {
    case LTC_64F:
    case LTC_64F_PEDANTIC:
        return c->a.type == DT_F64 && c->b.type == DT_F64 && c->c.type == DT_F64 && c->d.type == DT_F64 &&
               c->scale == DT_F64;
    case LTC_32I:
    case LTC_32I_PEDANTIC:
        return c->a.type == DT_I8 && c->b.type == DT_I8 && c->c.type == c->d.type &&
               ((c->d.type == DT_I32 && c->scale == DT_I32) || (c->d.type == DT_I8 && c->scale == DT_F32));
    case LTC_16F:
    case LTC_16F_PEDANTIC:
        return c->a.type == DT_F16 && c->b.type == DT_F16 && c->c.type == DT_F16 && c->d.type == DT_F16 &&
               c->scale == DT_F16;
    default:
        return is_small_float(c->a.type) && is_small_float(c->b.type) && is_small_float(c->c.type) &&
               is_small_float(c->d.type) && c->scale == DT_F32;
    }
}

static rp_code check_types(reader *r, const js_node *v, const job_step *s)
{
    const lt_call *c = &s->call;
    if (!types_fit(c))
        return js_fail(r->e, v, FIND_JSON_VALUE,
                       "expected types of one family, found a %s, b %s, c %s, d %s, compute %s, scale %s",
                       dtype_names[c->a.type], dtype_names[c->b.type], dtype_names[c->c.type],
                       dtype_names[c->d.type], lt_compute_names[c->compute], dtype_names[c->scale]);
    if (!is_small_float(c->bias_type) && c->bias_type != DT_F64 && lt_epilogue_has_bias(c->epilogue))
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected a bias of a floating type, found %s",
                       dtype_names[c->bias_type]);
    if ((c->a.scaled && !is_fp8(c->a.type)) || (c->b.scaled && !is_fp8(c->b.type)) || c->c.scaled ||
        c->d.scaled)
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected a scale for a and b of FP8 alone");
    if (c->a.scaled != (s->scale_a >= 0) || c->b.scaled != (s->scale_b >= 0))
        return js_fail(r->e, v, FIND_JSON_VALUE,
                       "expected a scale's buffer exactly where a matrix is scaled");
    if (c->a.batch != c->d.batch || c->b.batch != c->d.batch || c->c.batch != c->d.batch)
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected equal batches of a, b, c and d");
    if (c->d.batch && !c->d.stride)
        return js_fail(r->e, v, FIND_JSON_VALUE,
                       "expected a stride of d, found that its batch is one matrix");
    return RP_OK;
}

/* The matrix has the extents that the call's sizes ask for. */
static rp_code check_extents(reader *r, const js_node *v, const char *what, const lt_matrix *m, uint64_t rows,
                             uint64_t cols)
{
    if (m->rows == rows && m->cols == cols)
        return RP_OK;
    return js_fail(r->e, v, FIND_JSON_VALUE, "expected %s of %llu rows and %llu columns, found %llu and %llu",
                   what, (unsigned long long)rows, (unsigned long long)cols, (unsigned long long)m->rows,
                   (unsigned long long)m->cols);
}

/* And it ends inside its buffer. */
static rp_code check_matrix(reader *r, const js_node *v, const char *what, const lt_matrix *m, uint64_t rows,
                            uint64_t cols, int64_t buffer)
{
    const job_buffer *b = &r->jb->buffers[buffer];
    if (check_extents(r, v, what, m, rows, cols))
        return r->e->code;
    uint64_t elements, bytes;
    if (!lt_reach(m, &elements) || !ck_mul_u64(elements, dtype_bytes(m->type), &bytes) || bytes > b->bytes)
        return js_fail(r->e, v, FIND_JSON_VALUE,
                       "expected %s inside the %llu bytes of %.64s, found that it reaches beyond", what,
                       (unsigned long long)b->bytes, b->id);
    /* The library is promised 256 bytes unless told otherwise. */
    if (b->offset_bytes % 256)
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected %s aligned to 256 bytes, found it at %llu", what,
                       (unsigned long long)b->offset_bytes);
    return RP_OK;
}

static rp_code read_call(reader *r, lt_call *c, js_node *v)
{
    int compute = LTC_32F, scale = DT_F32, epilogue, bias_type;
    if (ranged(r, &c->m, v, "m", 1, MAX_BYTES) || ranged(r, &c->n, v, "n", 1, MAX_BYTES) ||
        ranged(r, &c->k, v, "k", 1, MAX_BYTES) || read_matrix(r, &c->a, v, "a") ||
        read_matrix(r, &c->b, v, "b") || read_matrix(r, &c->c, v, "c") || read_matrix(r, &c->d, v, "d") ||
        js_bool(r->e, &c->trans_a, v, "trans_a") || js_bool(r->e, &c->trans_b, v, "trans_b") ||
        (js_find(v, "compute") && js_enum(r->e, &compute, v, "compute", lt_compute_names)) ||
        (js_find(v, "scale") && js_enum(r->e, &scale, v, "scale", dtype_names)) ||
        js_enum(r->e, &epilogue, v, "epilogue", lt_epilogue_names) ||
        js_bool(r->e, &c->beta_one, v, "beta_one") ||
        ranged(r, &c->workspace_bytes, v, "workspace_bytes", 0, MAX_BYTES))
        return r->e->code;
    bias_type = (int)c->d.type;
    if ((js_find(v, "bias_type") && js_enum(r->e, &bias_type, v, "bias_type", dtype_names)) ||
        js_done(r->e, v))
        return r->e->code;
    c->compute = (lt_compute)compute;
    c->scale = (dtype)scale;
    c->epilogue = (lt_epilogue)epilogue;
    c->bias_type = (dtype)bias_type;
    if (lt_epilogue_has_aux(c->epilogue))
        return js_fail(r->e, js_find(v, "epilogue"), FIND_JSON_VALUE,
                       "expected an epilogue without an auxiliary matrix or a gradient, found \"%s\"",
                       lt_epilogue_names[epilogue]);
    return RP_OK;
}

static rp_code read_scale(reader *r, int64_t *out, js_node *o, const char *key)
{
    return js_find(o, key) ? read_buffer_index(r, out, o, key, false) : RP_OK;
}

static rp_code read_matmul(reader *r, job_step *s, js_node *o)
{
    static const lt_matrix one = {.type = DT_F32, .order = LTO_COL, .rows = 1, .cols = 1, .ld = 1};
    lt_call *c = &s->call;
    js_node *v;
    if (js_obj(r->e, &v, o, "call") || read_call(r, c, v) || read_buffer_index(r, &s->a, o, "a", false) ||
        read_buffer_index(r, &s->b, o, "b", false) || read_buffer_index(r, &s->c, o, "c", false) ||
        read_buffer_index(r, &s->d, o, "d", false) || read_buffer_index(r, &s->bias, o, "bias", true) ||
        read_scale(r, &s->scale_a, o, "scale_a") || read_scale(r, &s->scale_b, o, "scale_b") ||
        read_buffer_index(r, &s->workspace, o, "workspace", true) || check_types(r, v, s))
        return r->e->code;
    if (check_matrix(r, v, "a", &c->a, c->trans_a ? c->k : c->m, c->trans_a ? c->m : c->k, s->a) ||
        check_matrix(r, v, "b", &c->b, c->trans_b ? c->n : c->k, c->trans_b ? c->k : c->n, s->b) ||
        check_extents(r, v, "c", &c->c, c->m, c->n) ||
        (c->beta_one && check_matrix(r, v, "c", &c->c, c->m, c->n, s->c)) || /* else it is not read */
        check_matrix(r, v, "d", &c->d, c->m, c->n, s->d) ||
        (s->scale_a >= 0 && check_matrix(r, v, "the scale of a", &one, 1, 1, s->scale_a)) ||
        (s->scale_b >= 0 && check_matrix(r, v, "the scale of b", &one, 1, 1, s->scale_b)))
        return r->e->code;
    if (lt_epilogue_has_bias(c->epilogue) != (s->bias >= 0))
        return js_fail(r->e, o, FIND_JSON_VALUE, "expected a bias buffer exactly where the epilogue has one");
    if (s->bias >= 0) {
        lt_matrix column = {.type = c->bias_type, .order = LTO_COL, .rows = c->m, .cols = 1, .ld = c->m};
        if (check_matrix(r, v, "the bias", &column, c->m, 1, s->bias))
            return r->e->code;
    }
    if ((c->workspace_bytes > 0) != (s->workspace >= 0))
        return js_fail(r->e, o, FIND_JSON_VALUE,
                       "expected a workspace buffer exactly where the call has one");
    if (s->workspace >= 0) {
        const job_buffer *w = &r->jb->buffers[s->workspace];
        if (c->workspace_bytes > w->bytes || w->offset_bytes % 256)
            return js_fail(r->e, o, FIND_JSON_VALUE,
                           "expected an aligned workspace of %llu bytes, found %llu at %llu",
                           (unsigned long long)c->workspace_bytes, (unsigned long long)w->bytes,
                           (unsigned long long)w->offset_bytes);
    }
    return RP_OK;
}

/* A buffer's index, or {bytes, bits}. */
static rp_code read_arg(reader *r, int64_t *arg, job_value *value, js_node *v)
{
    const char *bits;
    uint64_t bytes;
    if (js_kind(v) != JS_OBJECT)
        return js_as_i64(r->e, arg, v) ? r->e->code : buffer_index(r, v, *arg, false);
    *arg = -1;
    if (ranged(r, &bytes, v, "bytes", 1, 8) || js_str(r->e, &bits, v, "bits") || js_done(r->e, v))
        return r->e->code;
    value->bytes = bytes;
    value->bits = 0;
    if (bytes & (bytes - 1))
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected 1, 2, 4 or 8 bytes, found %llu",
                       (unsigned long long)bytes);
    if (strlen(bits) != 16 || strspn(bits, "0123456789abcdef") != 16)
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected 16 lower-case hexadecimal digits, found \"%.32s\"",
                       bits);
    value->bits = strtoull(bits, NULL, 16);
    if (bytes < 8 && value->bits >> 8 * bytes)
        return js_fail(r->e, v, FIND_JSON_VALUE, "expected bits of %llu bytes, found more",
                       (unsigned long long)bytes);
    return RP_OK;
}

static rp_code read_kernel(reader *r, job_step *s, js_node *o)
{
    js_node *args;
    size_t n;
    if (js_u64(r->e, &s->module, o, "module") || text_of(r, &s->entry, o, "entry") ||
        js_arr(r->e, &args, &n, o, "args") || js_u64s(r->e, s->grid, 3, o, "grid") ||
        js_u64s(r->e, s->block, 3, o, "block") ||
        ranged(r, &s->shared_bytes, o, "shared_bytes", 0, INT32_MAX))
        return r->e->code;
    if (s->module >= r->jb->n_modules)
        return js_fail(r->e, o, FIND_JSON_VALUE, "expected a module below %llu, found %llu",
                       (unsigned long long)r->jb->n_modules, (unsigned long long)s->module);
    if (n > JOB_MAX_ARGS)
        return js_fail(r->e, args, FIND_JSON_VALUE, "expected at most %d arguments, found %zu", JOB_MAX_ARGS,
                       n);
    for (size_t i = 0; i < n; i++)
        if (read_arg(r, &s->args[i], &s->values[i], js_at(args, i)))
            return r->e->code;
    s->n_args = n;
    /* The limits of every CUDA device so far; the product of a block's extents is then far from overflow. */
    static const uint64_t most_grid[3] = {INT32_MAX, 65535, 65535}, most_block[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++)
        if (!s->grid[i] || s->grid[i] > most_grid[i] || !s->block[i] || s->block[i] > most_block[i])
            return js_fail(r->e, o, FIND_JSON_VALUE,
                           "expected a launchable grid and block, found %llu and %llu in axis %d",
                           (unsigned long long)s->grid[i], (unsigned long long)s->block[i], i);
    if (s->block[0] * s->block[1] * s->block[2] > 1024)
        return js_fail(r->e, o, FIND_JSON_VALUE, "expected at most 1024 threads a block, found %llu",
                       (unsigned long long)(s->block[0] * s->block[1] * s->block[2]));
    return RP_OK;
}

static rp_code read_copy(reader *r, job_step *s, js_node *o)
{
    if (read_buffer_index(r, &s->src, o, "src", false) || read_buffer_index(r, &s->dst, o, "dst", false))
        return r->e->code;
    uint64_t from = r->jb->buffers[s->src].bytes, to = r->jb->buffers[s->dst].bytes;
    if (from != to || !from)
        return js_fail(r->e, o, FIND_JSON_VALUE, "expected buffers of equal size, found %llu and %llu bytes",
                       (unsigned long long)from, (unsigned long long)to);
    return RP_OK;
}

static bool writes_buffer(const job_step *s, int64_t buffer)
{
    for (uint64_t i = 0; i < s->n_writes; i++)
        if (s->writes[i] == buffer)
            return true;
    return false;
}

static rp_code read_writes(reader *r, job_step *s, js_node *o)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, o, "writes"))
        return r->e->code;
    if (!n || n > JOB_MAX_WRITES)
        return js_fail(r->e, arr, FIND_JSON_VALUE, "expected 1 to %d buffers, found %zu", JOB_MAX_WRITES, n);
    for (size_t i = 0; i < n; i++) {
        if (js_as_i64(r->e, &s->writes[i], js_at(arr, i)) ||
            buffer_index(r, js_at(arr, i), s->writes[i], false))
            return r->e->code;
        if (!r->jb->buffers[s->writes[i]].writable)
            return js_fail(r->e, js_at(arr, i), FIND_JSON_VALUE, "expected a writable buffer, found %.64s",
                           r->jb->buffers[s->writes[i]].id);
    }
    s->n_writes = n;
    if ((s->kind == JOB_MATMUL &&
         (!writes_buffer(s, s->d) || (s->workspace >= 0 && !writes_buffer(s, s->workspace)))) ||
        (s->kind == JOB_COPY && !writes_buffer(s, s->dst)))
        return js_fail(r->e, arr, FIND_JSON_VALUE,
                       "expected the step's destination and scratch among its writes");
    return RP_OK;
}

static rp_code read_steps(reader *r, js_node *root)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, root, "steps"))
        return r->e->code;
    if (!(r->jb->steps = list(r, n, sizeof *r->jb->steps)))
        return r->e->code;
    r->jb->n_steps = n;
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(arr, i);
        job_step *s = &r->jb->steps[i];
        int kind;
        if (js_as_obj(r->e, o) || js_enum(r->e, &kind, o, "kind", job_step_names) ||
            js_u64(r->e, &s->node, o, "node"))
            return r->e->code;
        s->kind = (job_step_kind)kind;
        s->bias = s->scale_a = s->scale_b = s->workspace = -1;
        rp_code rc = s->kind == JOB_MATMUL   ? read_matmul(r, s, o)
                     : s->kind == JOB_KERNEL ? read_kernel(r, s, o)
                                             : read_copy(r, s, o);
        if (rc || read_writes(r, s, o) || js_done(r->e, o))
            return r->e->code;
    }
    return RP_OK;
}

static rp_code read_inputs(reader *r, job_fixture *f, js_node *o)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, o, "inputs"))
        return r->e->code;
    if (!(f->inputs = list(r, n, sizeof *f->inputs)))
        return r->e->code;
    f->n_inputs = n;
    for (size_t i = 0; i < n; i++) {
        js_node *v = js_at(arr, i);
        job_input *in = &f->inputs[i];
        if (js_as_obj(r->e, v) || read_buffer_index(r, &in->buffer, v, "buffer", false) ||
            read_part(r, &in->data, v, "data") || js_done(r->e, v))
            return r->e->code;
        if (in->data.bytes != r->jb->buffers[in->buffer].bytes)
            return js_fail(r->e, v, FIND_JSON_VALUE, "expected %llu bytes for %.64s, found %llu",
                           (unsigned long long)r->jb->buffers[in->buffer].bytes,
                           r->jb->buffers[in->buffer].id, (unsigned long long)in->data.bytes);
    }
    return RP_OK;
}

static rp_code read_outputs(reader *r, job_fixture *f, js_node *o)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, o, "outputs"))
        return r->e->code;
    if (!(f->outputs = list(r, n, sizeof *f->outputs)))
        return r->e->code;
    f->n_outputs = n;
    for (size_t i = 0; i < n; i++) {
        js_node *v = js_at(arr, i);
        job_output *out = &f->outputs[i];
        if (js_as_obj(r->e, v) || read_buffer_index(r, &out->buffer, v, "buffer", false) ||
            js_u64(r->e, &out->offset_bytes, v, "offset_bytes") || js_done(r->e, v))
            return r->e->code;
        if (!ck_inside(out->offset_bytes, r->jb->buffers[out->buffer].bytes, r->jb->output_bytes))
            return js_fail(r->e, v, FIND_JSON_VALUE,
                           "expected a range inside the %llu bytes of output, found %llu at %llu",
                           (unsigned long long)r->jb->output_bytes,
                           (unsigned long long)r->jb->buffers[out->buffer].bytes,
                           (unsigned long long)out->offset_bytes);
    }
    return RP_OK;
}

static rp_code read_fixtures(reader *r, js_node *root)
{
    js_node *arr;
    size_t n;
    if (js_arr(r->e, &arr, &n, root, "fixtures"))
        return r->e->code;
    if (!n)
        return js_fail(r->e, arr, FIND_JSON_VALUE, "expected a fixture, found none");
    if (!(r->jb->fixtures = list(r, n, sizeof *r->jb->fixtures)))
        return r->e->code;
    r->jb->n_fixtures = n;
    for (size_t i = 0; i < n; i++) {
        js_node *o = js_at(arr, i);
        job_fixture *f = &r->jb->fixtures[i];
        if (js_as_obj(r->e, o) || text_of(r, &f->name, o, "name") ||
            (js_find(o, "separate") && js_bool(r->e, &f->separate, o, "separate")) || read_inputs(r, f, o) ||
            read_outputs(r, f, o) || js_done(r->e, o))
            return r->e->code;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(r->jb->fixtures[k].name, f->name))
                return js_fail(r->e, o, FIND_JSON_VALUE, "expected names that differ, found \"%.64s\" twice",
                               f->name);
    }
    return RP_OK;
}

static rp_code read_timing(reader *r, js_node *root)
{
    js_node *o;
    job_timing *t = &r->jb->timing;
    /* Only the phase that times asks for something to time. */
    uint64_t least = r->jb->phase == JOB_TIMING;
    if (js_obj(r->e, &o, root, "timing") || ranged(r, &t->fixture, o, "fixture", 0, r->jb->n_fixtures - 1) ||
        ranged(r, &t->warmup, o, "warmup", 0, MAX_REPEATS) ||
        ranged(r, &t->pilot, o, "pilot", least, MAX_REPEATS) ||
        ranged(r, &t->blocks, o, "blocks", least, MAX_BLOCKS) ||
        ranged(r, &t->block_ns, o, "block_ns", least, UINT64_C(1000000000000)) ||
        ranged(r, &t->max_calls, o, "max_calls", least, MAX_REPEATS) || js_done(r->e, o))
        return r->e->code;
    return ranged(r, &r->jb->timeline_launches, root, "timeline_launches", r->jb->phase == JOB_TIMELINE,
                  MAX_REPEATS);
}

rp_code job_read(rp_err *e, job **out, scratch *sc, const char *file, span text, uint64_t data_bytes)
{
    job *jb = scratch_alloc(sc, sizeof *jb);
    reader r = {.e = e, .sc = sc, .jb = jb, .data_bytes = data_bytes};
    js_node *root;
    int phase;
    if (!jb)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, text) || js_as_obj(e, root) || js_format(e, root, "replay-job/0") ||
        js_enum(e, &phase, root, "phase", job_phase_names) ||
        ranged(&r, &jb->arena_bytes, root, "arena_bytes", 0, MAX_BYTES) ||
        ranged(&r, &jb->guard_bytes, root, "guard_bytes", 0, MAX_GUARD_BYTES) ||
        ranged(&r, &jb->output_bytes, root, "output_bytes", 0, MAX_BYTES))
        return e->code;
    jb->phase = (job_phase)phase;
    if (jb->guard_bytes % 256)
        return js_fail(e, js_find(root, "guard_bytes"), FIND_JSON_VALUE,
                       "expected a multiple of 256, found %llu", (unsigned long long)jb->guard_bytes);
    /* Each list is checked against those before it. */
    if (read_buffers(&r, root) || read_params(&r, root) || read_modules(&r, root) || read_steps(&r, root) ||
        read_fixtures(&r, root) || read_timing(&r, root) || js_done(e, root))
        return e->code;
    *out = jb;
    return RP_OK;
}

static rp_code check_part(rp_err *e, const char *file, span data, const job_part *p, const char *what)
{
    char want[DIGEST_HEX], have[DIGEST_HEX];
    digest d;
    if (!ck_inside(p->offset_bytes, p->bytes, data.n))
        return err_set(e, RP_IO, "expected the data of %s inside %zu bytes", what, data.n);
    d = digest_of(span_of(data.p + p->offset_bytes, (size_t)p->bytes));
    if (digest_equal(d, p->sha256))
        return RP_OK;
    digest_hex(p->sha256, want);
    digest_hex(d, have);
    return err_invalid(e, FIND_FILE_DIGEST, file, what, "expected SHA-256 %s, found %s", want, have);
}

rp_code job_check_data(rp_err *e, const job *jb, const char *file, span data)
{
    for (uint64_t i = 0; i < jb->n_modules; i++)
        if (check_part(e, file, data, &jb->modules[i].ptx, jb->modules[i].name))
            return e->code;
    for (uint64_t i = 0; i < jb->n_fixtures; i++)
        for (uint64_t k = 0; k < jb->fixtures[i].n_inputs; k++)
            if (check_part(e, file, data, &jb->fixtures[i].inputs[k].data, jb->fixtures[i].name))
                return e->code;
    return RP_OK;
}
