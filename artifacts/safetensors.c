#include "artifacts/safetensors.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include <stdlib.h>

enum { LENGTH_BYTES = 8, ALIGN_BYTES = 8 };

static rp_code read_tensor(rp_err *e, st_tensor *t, const char *name, js_node *v, span data)
{
    js_node *shape;
    size_t rank;
    uint64_t range[2], bytes;
    const char *spelled;
    t->name = name;
    if (js_str(e, &spelled, v, "dtype") || js_arr(e, &shape, &rank, v, "shape") ||
        js_u64s(e, range, 2, v, "data_offsets") || js_done(e, v))
        return e->code;
    int type = 0;
    while (type < DT_COUNT && strcmp(spelled, dtype_safetensors((dtype)type)))
        type++;
    if (type == DT_COUNT)
        return js_fail(e, js_find(v, "dtype"), FIND_FIXTURE_FORMAT,
                       "expected F16, BF16, F32, F64, I8 to I64, U8 to U64 or BOOL, found \"%.32s\"",
                       spelled);
    if (rank > ST_MAX_RANK)
        return js_fail(e, shape, FIND_FIXTURE_FORMAT, "expected at most %d extents, found %zu", ST_MAX_RANK,
                       rank);
    t->type = (dtype)type;
    t->rank = rank;
    bytes = dtype_bytes(t->type);
    for (size_t i = 0; i < rank; i++) {
        if (js_as_u64(e, &t->shape[i], js_at(shape, i)))
            return e->code;
        if (t->shape[i] == 0)
            return js_fail(e, js_at(shape, i), FIND_FIXTURE_FORMAT,
                           "expected an extent of 1 or more, found 0");
        if (!ck_mul_u64(bytes, t->shape[i], &bytes))
            return js_fail(e, shape, FIND_FIXTURE_FORMAT, "expected a size below 2^64 bytes");
    }
    if (range[0] > range[1] || range[1] > data.n)
        return js_fail(e, js_find(v, "data_offsets"), FIND_FIXTURE_FORMAT,
                       "expected a range within %zu bytes, found %llu to %llu", data.n,
                       (unsigned long long)range[0], (unsigned long long)range[1]);
    if (range[1] - range[0] != bytes)
        return js_fail(e, js_find(v, "data_offsets"), FIND_FIXTURE_FORMAT,
                       "expected the %llu bytes of the shape, found %llu", (unsigned long long)bytes,
                       (unsigned long long)(range[1] - range[0]));
    t->data = span_of(data.p + range[0], (size_t)bytes);
    return RP_OK;
}

static int by_offset(const void *a, const void *b)
{
    const st_tensor *x = a, *y = b;
    return (x->data.p > y->data.p) - (x->data.p < y->data.p);
}

static rp_code read_all(rp_err *e, st_tensor **out, size_t *n, scratch *sc, const char *file, span bytes)
{
    uint64_t header_bytes = 0;
    if (bytes.n < LENGTH_BYTES)
        return err_invalid(e, FIND_FIXTURE_FORMAT, file, NULL, "expected at least %d bytes, found %zu",
                           LENGTH_BYTES, bytes.n);
    for (int i = 0; i < LENGTH_BYTES; i++)
        header_bytes |= (uint64_t)bytes.p[i] << 8 * i;
    if (header_bytes > bytes.n - LENGTH_BYTES || header_bytes > JS_MAX_BYTES)
        return err_invalid(e, FIND_FIXTURE_FORMAT, file, "byte 0",
                           "expected a header within the file's %zu bytes, found %llu", bytes.n,
                           (unsigned long long)header_bytes);
    span header = span_of(bytes.p + LENGTH_BYTES, (size_t)header_bytes);
    span data = span_of(header.p + header.n, bytes.n - LENGTH_BYTES - header.n);
    if (header.n == 0 || header.p[0] != '{')
        return err_invalid(e, FIND_FIXTURE_FORMAT, file, "byte 8", "expected a header that begins with '{'");
    size_t end = header.n;
    while (end > 0 && header.p[end - 1] == ' ')
        end--;
    if (end == 0 || header.p[end - 1] != '}')
        return err_invalid(e, FIND_FIXTURE_FORMAT, file, NULL,
                           "expected a header that ends with '}' and spaces");

    js_node *root;
    if (js_parse(e, &root, sc, file, header) || js_as_obj(e, root))
        return e->code;
    st_tensor *v = scratch_array(sc, js_len(root), sizeof *v);
    if (!v)
        return err_nomem(e);
    *n = 0;
    for (size_t i = 0; i < js_len(root); i++) {
        const char *name = js_key_at(root, i);
        js_node *item = js_at(root, i);
        if (strcmp(name, "__metadata__")) {
            if (js_as_obj(e, item) || read_tensor(e, &v[(*n)++], name, item, data))
                return e->code;
            continue;
        }
        const char *ignored;
        if (js_as_obj(e, item))
            return e->code;
        for (size_t k = 0; k < js_len(item); k++)
            if (js_as_str(e, &ignored, js_at(item, k)))
                return e->code;
    }
    /* Extents are 1 or more, so no two ranges of an exact tiling begin together. */
    qsort(v, *n, sizeof *v, by_offset);
    const uint8_t *next = data.p;
    for (size_t i = 0; i < *n; next += v[i++].data.n)
        if (v[i].data.p != next)
            return err_invalid(e, FIND_FIXTURE_FORMAT, file, NULL,
                               "expected tensor \"%.64s\" at data byte %zu, found %zu", v[i].name,
                               (size_t)(next - data.p), (size_t)(v[i].data.p - data.p));
    if (next != data.p + data.n)
        return err_invalid(e, FIND_FIXTURE_FORMAT, file, NULL, "expected %zu bytes of data, found %zu",
                           (size_t)(next - data.p), data.n);
    *out = v;
    return RP_OK;
}

rp_code st_read(rp_err *e, st_tensor **out, size_t *n, scratch *sc, const char *file, span bytes)
{
    bool mine = !e->code;
    /* To whoever reads a fixture, a header that is not JSON is a broken fixture. */
    if (read_all(e, out, n, sc, file, bytes) == RP_INVALID && mine)
        e->id = FIND_FIXTURE_FORMAT;
    return e->code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const st_tensor *const *)a)->name, (*(const st_tensor *const *)b)->name);
}

static bool writable(const st_tensor *t)
{
    uint64_t bytes = dtype_bytes(t->type);
    if (t->rank > ST_MAX_RANK || !strcmp(t->name, "__metadata__"))
        return false;
    for (uint64_t i = 0; i < t->rank; i++)
        if (!ck_mul_u64(bytes, t->shape[i], &bytes))
            return false;
    return bytes == t->data.n && bytes > 0;
}

rp_code st_write(rp_err *e, span *out, scratch *sc, const st_tensor *v, size_t n)
{
    const st_tensor **sorted = scratch_array(sc, n, sizeof *sorted);
    if (!sorted)
        return err_nomem(e);
    size_t data_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!writable(&v[i]))
            return err_set(e, RP_BUG, "tensor \"%.64s\" cannot be written: its shape and bytes differ",
                           v[i].name);
        if (__builtin_add_overflow(data_bytes, v[i].data.n, &data_bytes))
            return err_nomem(e);
        sorted[i] = &v[i];
    }
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
            return err_set(e, RP_BUG, "tensor \"%.64s\" occurs twice", sorted[i]->name);

    jw *j = jw_new(JW_COMPACT);
    uint64_t at = 0;
    jw_obj(j, NULL);
    for (size_t i = 0; i < n; i++) {
        jw_obj(j, sorted[i]->name);
        jw_str(j, "dtype", dtype_safetensors(sorted[i]->type));
        jw_u64s(j, "shape", sorted[i]->shape, (size_t)sorted[i]->rank);
        jw_u64s(j, "data_offsets", (uint64_t[]){at, at + sorted[i]->data.n}, 2);
        jw_end(j);
        at += sorted[i]->data.n;
    }
    jw_end(j);
    span header = {0};
    if (jw_finish(e, &header, j))
        goto out;
    size_t padded = (header.n + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES, total;
    uint8_t *p;
    if (__builtin_add_overflow(LENGTH_BYTES + padded, data_bytes, &total) ||
        !(p = scratch_alloc(sc, total))) {
        err_nomem(e);
        goto out;
    }
    *out = span_of(p, total);
    for (int i = 0; i < LENGTH_BYTES; i++)
        *p++ = (uint8_t)((uint64_t)padded >> 8 * i);
    memset(p, ' ', padded);
    memcpy(p, header.p, header.n);
    p += padded;
    for (size_t i = 0; i < n; i++) {
        memcpy(p, sorted[i]->data.p, sorted[i]->data.n);
        p += sorted[i]->data.n;
    }
out:
    jw_free(j);
    return e->code;
}
