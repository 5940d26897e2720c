#include "plan/recipe.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"

enum { MAX_TENSORS = 64, MAX_PARTS = 64, MAX_PATTERN = 64, MAX_TERMS = 4, MAX_NESTING = 4, LANES = 4 };
static const uint64_t max_elements = UINT64_C(1) << 28;
/* Products of two such numbers, four of them added, stay below 2^63. */
static const int64_t max_parameter = INT64_C(1) << 30;

typedef enum { CONSTANT, UNIFORM, NORMAL, AFFINE, COMBINE, CONCAT } kind;
static const char *const kind_names[] = {"constant", "uniform", "normal", "affine",
                                         "combine",  "concat",  NULL};

typedef struct {
    int64_t low, high;
    uint64_t every;
    int64_t *pattern;
} term;

typedef struct values values;
struct values {
    kind kind;
    int shift;
    uint64_t extent; /* along the axis of the concat that this is a part of */
    int64_t value, low, high, numerator, base, times;
    uint64_t offset, modulus, steps[TENSOR_MAX_RANK];
    bool fold;
    uint64_t n_terms, n_pattern;
    term terms[MAX_TERMS];
    uint64_t axis;
    size_t n_parts;
    values *parts;
};

typedef struct {
    tensor shape; /* as generated; stored the other way round where transposed */
    bool transposed;
    values values;
} entry;

struct recipe {
    const char *fixture, *purpose;
    uint64_t seed;
    size_t n;
    entry *entries;
};

/* --- Reading. --- */

static rp_code within(rp_err *e, int64_t *out, js_node *obj, const char *key, int64_t least, int64_t most)
{
    if (js_i64(e, out, obj, key))
        return e->code;
    if (*out < least || *out > most)
        return js_fail(e, js_find(obj, key), FIND_JSON_NUMBER, "expected %lld to %lld, found %lld",
                       (long long)least, (long long)most, (long long)*out);
    return RP_OK;
}

static rp_code parameter(rp_err *e, int64_t *out, js_node *obj, const char *key)
{
    return within(e, out, obj, key, -max_parameter, max_parameter);
}

static rp_code count(rp_err *e, uint64_t *out, js_node *obj, const char *key, int64_t least)
{
    int64_t v;
    if (!within(e, &v, obj, key, least, max_parameter))
        *out = (uint64_t)v;
    return e->code;
}

static rp_code bounds(rp_err *e, int64_t *low, int64_t *high, js_node *obj)
{
    if (parameter(e, low, obj, "low") || parameter(e, high, obj, "high"))
        return e->code;
    if (*low > *high)
        return js_fail(e, js_find(obj, "high"), FIND_JSON_VALUE, "expected at least low (%lld), found %lld",
                       (long long)*low, (long long)*high);
    return RP_OK;
}

static rp_code read_terms(rp_err *e, values *g, scratch *sc, js_node *v, uint64_t last_extent)
{
    js_node *terms;
    size_t n;
    if (js_bool(e, &g->fold, v, "fold") || js_arr(e, &terms, &n, v, "terms"))
        return e->code;
    if (n < 1 || n > MAX_TERMS)
        return js_fail(e, terms, FIND_JSON_VALUE, "expected 1 to %d terms, found %zu", MAX_TERMS, n);
    g->n_terms = n;
    for (size_t i = 0; i < n; i++) {
        js_node *item = js_at(terms, i), *pattern;
        term *t = &g->terms[i];
        size_t m;
        if (js_as_obj(e, item) || bounds(e, &t->low, &t->high, item) ||
            count(e, &t->every, item, "every", 1) || js_arr(e, &pattern, &m, item, "pattern") ||
            js_done(e, item))
            return e->code;
        if (i == 0)
            g->n_pattern = m;
        if (m != g->n_pattern || m < 1 || m > MAX_PATTERN || last_extent % m != 0)
            return js_fail(e, pattern, FIND_JSON_VALUE,
                           "expected 1 to %d numbers, as many as in the first term, that divide the extent "
                           "%llu; found %zu",
                           MAX_PATTERN, (unsigned long long)last_extent, m);
        if (!(t->pattern = scratch_array(sc, m, sizeof *t->pattern)))
            return err_nomem(e);
        for (size_t k = 0; k < m; k++) {
            if (js_as_i64(e, &t->pattern[k], js_at(pattern, k)))
                return e->code;
            if (t->pattern[k] < -max_parameter || t->pattern[k] > max_parameter)
                return js_fail(e, js_at(pattern, k), FIND_JSON_NUMBER,
                               "expected a magnitude of at most 2^30");
        }
    }
    return RP_OK;
}

static rp_code read_values(rp_err *e, values *g, scratch *sc, js_node *v, uint64_t rank,
                           const uint64_t *shape, unsigned nesting);

static rp_code read_parts(rp_err *e, values *g, scratch *sc, js_node *v, uint64_t rank, const uint64_t *shape,
                          unsigned nesting)
{
    js_node *parts;
    int64_t axis;
    if (within(e, &axis, v, "axis", 0, (int64_t)rank - 1) || js_arr(e, &parts, &g->n_parts, v, "parts"))
        return e->code;
    if (g->n_parts < 1 || g->n_parts > MAX_PARTS || nesting == MAX_NESTING)
        return js_fail(e, parts, FIND_JSON_VALUE, "expected 1 to %d parts, at most %d levels deep", MAX_PARTS,
                       MAX_NESTING);
    g->axis = (uint64_t)axis;
    if (!(g->parts = scratch_array(sc, g->n_parts, sizeof *g->parts)))
        return err_nomem(e);
    uint64_t left = shape[axis], box[TENSOR_MAX_RANK] = {0};
    memcpy(box, shape, rank * sizeof *box);
    for (size_t i = 0; i < g->n_parts; i++) {
        js_node *item = js_at(parts, i);
        values *part = &g->parts[i];
        if (js_as_obj(e, item) || count(e, &part->extent, item, "extent", 1))
            return e->code;
        if (part->extent > left)
            return js_fail(e, item, FIND_JSON_VALUE, "expected parts that add up to %llu",
                           (unsigned long long)shape[axis]);
        left -= part->extent;
        box[axis] = part->extent;
        if (read_values(e, part, sc, item, rank, box, nesting + 1) || js_done(e, item))
            return e->code;
    }
    if (left)
        return js_fail(e, parts, FIND_JSON_VALUE, "expected parts that add up to %llu, found %llu",
                       (unsigned long long)shape[axis], (unsigned long long)(shape[axis] - left));
    return RP_OK;
}

static rp_code read_values(rp_err *e, values *g, scratch *sc, js_node *v, uint64_t rank,
                           const uint64_t *shape, unsigned nesting)
{
    int k;
    int64_t shift = 0;
    if (js_enum(e, &k, v, "generator", kind_names))
        return e->code;
    g->kind = (kind)k;
    if (g->kind == CONCAT)
        return read_parts(e, g, sc, v, rank, shape, nesting);
    if (within(e, &shift, v, "shift", -1200, 1200))
        return e->code;
    g->shift = (int)shift;
    switch (g->kind) {
    case CONSTANT:
        return parameter(e, &g->value, v, "value");
    case UNIFORM:
        return bounds(e, &g->low, &g->high, v);
    case NORMAL:
        return parameter(e, &g->numerator, v, "numerator");
    case AFFINE:
        if (count(e, &g->offset, v, "offset", 0) || count(e, &g->modulus, v, "modulus", 1) ||
            parameter(e, &g->base, v, "base") || parameter(e, &g->times, v, "times") ||
            js_u64s(e, g->steps, (size_t)rank, v, "steps"))
            return e->code;
        return RP_OK;
    case COMBINE:
        return read_terms(e, g, sc, v, shape[rank - 1]);
    case CONCAT:
        break;
    }
    return RP_OK;
}

static bool is_name(const char *s, size_t max)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n > 0 && n <= max && s[n] == '\0';
}

rp_code tensor_read_type(rp_err *e, tensor *out, js_node *v)
{
    js_node *shape;
    size_t rank;
    int type;
    if (js_as_obj(e, v) || js_str(e, &out->name, v, "name") || js_enum(e, &type, v, "dtype", dtype_names) ||
        js_arr(e, &shape, &rank, v, "shape"))
        return e->code;
    if (!is_name(out->name, 64))
        return js_fail(e, js_find(v, "name"), FIND_JSON_VALUE,
                       "expected 1 to 64 of a-z, 0-9 and '_', found \"%.64s\"", out->name);
    if (rank < 1 || rank > TENSOR_MAX_RANK)
        return js_fail(e, shape, FIND_JSON_VALUE, "expected 1 to %d extents, found %zu", TENSOR_MAX_RANK,
                       rank);
    out->type = (dtype)type;
    out->rank = rank;
    out->elements = 1;
    for (size_t i = 0; i < rank; i++) {
        if (js_as_u64(e, &out->shape[i], js_at(shape, i)))
            return e->code;
        if (out->shape[i] == 0)
            return js_fail(e, js_at(shape, i), FIND_JSON_VALUE, "expected an extent of 1 or more, found 0");
        if (!ck_mul_u64(out->elements, out->shape[i], &out->elements) || out->elements > max_elements)
            return js_fail(e, shape, FIND_JSON_VALUE, "expected at most 2^28 elements");
    }
    return RP_OK;
}

static void swap_axes(tensor *t)
{
    uint64_t rows = t->shape[0];
    t->shape[0] = t->shape[1];
    t->shape[1] = rows;
}

static rp_code read_transposed(rp_err *e, entry *t, js_node *v)
{
    if (!js_find(v, "transposed"))
        return RP_OK;
    if (js_bool(e, &t->transposed, v, "transposed"))
        return e->code;
    if (t->shape.rank != 2)
        return js_fail(e, js_find(v, "transposed"), FIND_JSON_VALUE, "expected a matrix, found rank %llu",
                       (unsigned long long)t->shape.rank);
    if (t->transposed)
        swap_axes(&t->shape);
    return RP_OK;
}

rp_code recipe_read(rp_err *e, recipe **out, scratch *sc, const char *file, span text)
{
    js_node *root, *tensors;
    recipe *r = scratch_alloc(sc, sizeof *r);
    if (!r)
        return err_nomem(e);
    if (js_parse(e, &root, sc, file, text) || js_format(e, root, "replay-recipe/1") ||
        js_str(e, &r->fixture, root, "fixture") || js_str(e, &r->purpose, root, "purpose") ||
        js_u64(e, &r->seed, root, "seed") || js_arr(e, &tensors, &r->n, root, "tensors") || js_done(e, root))
        return e->code;
    if (!is_name(r->fixture, 64))
        return js_fail(e, js_find(root, "fixture"), FIND_JSON_VALUE,
                       "expected 1 to 64 of a-z, 0-9 and '_', found \"%.64s\"", r->fixture);
    if (!r->purpose[0])
        return js_fail(e, js_find(root, "purpose"), FIND_JSON_VALUE, "expected a sentence, found nothing");
    if (r->n < 1 || r->n > MAX_TENSORS)
        return js_fail(e, tensors, FIND_JSON_VALUE, "expected 1 to %d tensors, found %zu", MAX_TENSORS, r->n);
    if (!(r->entries = scratch_array(sc, r->n, sizeof *r->entries)))
        return err_nomem(e);
    for (size_t i = 0; i < r->n; i++) {
        entry *t = &r->entries[i];
        js_node *v = js_at(tensors, i);
        if (tensor_read_type(e, &t->shape, v) || read_transposed(e, t, v) ||
            read_values(e, &t->values, sc, v, t->shape.rank, t->shape.shape, 0) || js_done(e, v))
            return e->code;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(r->entries[k].shape.name, t->shape.name))
                return js_fail(e, v, FIND_JSON_VALUE, "expected each tensor once, found \"%s\" twice",
                               t->shape.name);
    }
    *out = r;
    return RP_OK;
}

const char *recipe_name(const recipe *r)
{
    return r->fixture;
}

const char *recipe_purpose(const recipe *r)
{
    return r->purpose;
}

/* --- Generating. --- */

#ifdef __clang__
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define WRAPS
#endif

/* SplitMix64's finaliser. */
WRAPS static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Word `counter` of stream `key`: SplitMix64 seeded with the key, and jumped to. */
WRAPS static uint64_t word(uint64_t key, uint64_t counter)
{
    return mix(key + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Word `lane` of the element. */
static uint64_t draw(uint64_t key, uint64_t element, unsigned lane)
{
    return word(key, element * LANES + lane);
}

/* An integer from low to high by a word's upper half; the range is below 2^32. */
static int64_t draw_between(uint64_t w, int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)(high - low) + 1;
    return low + (int64_t)((w >> 32) * range >> 32);
}

static int64_t draw_normal(uint64_t key, uint64_t element)
{
    int64_t sum = 0;
    for (unsigned lane = 0; lane < 3; lane++)
        for (uint64_t w = draw(key, element, lane), i = 0; i < 4; i++, w >>= 16)
            sum += (int64_t)(w & 0xffff);
    return 2 * sum - 12 * 65535;
}

typedef struct {
    const tensor *t;
    uint64_t key;
    uint64_t origin[TENSOR_MAX_RANK], extent[TENSOR_MAX_RANK];
} box;

/* `row` is the linear index of the box's first element in this row, c the column within the box. */
static int64_t combine(const values *g, uint64_t key, uint64_t row, uint64_t c, uint64_t columns)
{
    uint64_t m = g->n_pattern, blocks = columns / m, block = c / m, at = c % m, first = block * m;
    if (g->fold) {
        at = c / blocks;
        block = at & 1 ? blocks - 1 - c % blocks : c % blocks;
        first = block;
    }
    int64_t sum = 0;
    for (unsigned i = 0; i < g->n_terms; i++) {
        const term *t = &g->terms[i];
        if (block % t->every == 0)
            sum += t->pattern[at] * draw_between(draw(key, row + first, i), t->low, t->high);
    }
    return sum;
}

static int64_t affine(const values *g, uint64_t rank, const uint64_t *index)
{
    uint64_t at = g->offset % g->modulus;
    for (uint64_t a = 0; a < rank; a++)
        at = (at + g->steps[a] % g->modulus * (index[a] % g->modulus)) % g->modulus;
    return g->times * (g->base + (int64_t)at);
}

static int64_t element(const values *g, const box *b, const uint64_t *index, uint64_t linear)
{
    uint64_t last = b->t->rank - 1, c = index[last] - b->origin[last];
    switch (g->kind) {
    case CONSTANT:
        return g->value;
    case UNIFORM:
        return draw_between(draw(b->key, linear, 0), g->low, g->high);
    case NORMAL:
        return g->numerator * draw_normal(b->key, linear);
    case AFFINE:
        return affine(g, b->t->rank, index);
    case COMBINE:
        return combine(g, b->key, linear - c, c, b->extent[last]);
    case CONCAT:
        break;
    }
    return 0;
}

static void fill(const values *g, const box *b)
{
    const tensor *t = b->t;
    uint64_t rank = t->rank, bytes = dtype_bytes(t->type), index[TENSOR_MAX_RANK];
    if (g->kind == CONCAT) {
        box part = *b;
        for (size_t i = 0; i < g->n_parts; i++) {
            part.extent[g->axis] = g->parts[i].extent;
            fill(&g->parts[i], &part);
            part.origin[g->axis] += part.extent[g->axis];
        }
        return;
    }
    memcpy(index, b->origin, sizeof index);
    for (;;) {
        uint64_t linear = 0;
        for (uint64_t a = 0; a < rank; a++)
            linear = linear * t->shape[a] + index[a];
        uint64_t bits = dtype_from_scaled(t->type, element(g, b, index, linear), g->shift);
        for (uint64_t i = 0; i < bytes; i++)
            ((uint8_t *)t->data)[linear * bytes + i] = (uint8_t)(bits >> 8 * i);
        uint64_t a = rank;
        while (a > 0 && ++index[a - 1] == b->origin[a - 1] + b->extent[a - 1]) {
            index[a - 1] = b->origin[a - 1];
            a--;
        }
        if (a == 0)
            return;
    }
}

/* The matrix `from` the other way round into `to`. */
static void transpose(tensor *to, const tensor *from)
{
    uint64_t bytes = dtype_bytes(from->type), rows = from->shape[0], columns = from->shape[1];
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            memcpy((uint8_t *)to->data + (j * rows + i) * bytes,
                   (const uint8_t *)from->data + (i * columns + j) * bytes, bytes);
    swap_axes(to);
}

rp_code recipe_generate(rp_err *e, tensor **out, size_t *n, scratch *sc, const recipe *r)
{
    tensor *v = scratch_array(sc, r->n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < r->n; i++) {
        const entry *from = &r->entries[i];
        v[i] = from->shape;
        if (!(v[i].data = scratch_array(sc, (size_t)v[i].elements, (size_t)dtype_bytes(v[i].type))))
            return err_nomem(e);
        box all = {.t = &v[i], .key = word(r->seed, i)};
        memcpy(all.extent, v[i].shape, sizeof all.extent);
        fill(&from->values, &all);
        if (from->transposed) {
            const tensor made = v[i];
            if (!(v[i].data = scratch_array(sc, (size_t)v[i].elements, (size_t)dtype_bytes(v[i].type))))
                return err_nomem(e);
            transpose(&v[i], &made);
        }
    }
    *out = v;
    *n = r->n;
    return RP_OK;
}
