#include "artifacts/safetensors.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* A file of this header and n zero bytes of data. */
static span make(scratch *sc, const char *header, size_t n)
{
    size_t h = strlen(header);
    uint8_t *p = scratch_alloc(sc, 8 + h + n);
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
    memcpy(p + 8, header, h);
    return span_of(p, 8 + h + n);
}

#define F16X(n, from, to) "{\"dtype\":\"F16\",\"shape\":[" n "],\"data_offsets\":[" from "," to "]}"

Test(safetensors, reads_what_it_writes)
{
    scratch *sc = scratch_new(0);
    uint16_t y[6] = {1, 2, 3, 4, 5, 6};
    double d[1] = {0.25};
    int32_t i[2] = {-1, 7};
    const st_tensor v[] = {
        {"y", DT_F16, 2, {2, 3}, span_of(y, sizeof y)},
        {"bias\"1", DT_F64, 0, {0}, span_of(d, sizeof d)},
        {"k", DT_I32, 4, {1, 2, 1, 1}, span_of(i, sizeof i)},
    };
    const st_tensor other_order[] = {v[2], v[0], v[1]};
    rp_err e = {0};
    span a, b;
    cr_assert_eq(st_write(&e, &a, sc, v, 3), RP_OK);
    cr_assert_eq(st_write(&e, &b, sc, other_order, 3), RP_OK);
    cr_assert(a.n == b.n && !memcmp(a.p, b.p, a.n), "the order given changes nothing");
    cr_assert_eq(a.p[0] % 8, 0);
    const char *want = "{\"bias\\\"1\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                       "\"k\":{\"dtype\":\"I32\",\"shape\":[1,2,1,1],\"data_offsets\":[8,16]},"
                       "\"y\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[16,28]}}";
    cr_assert(!memcmp(a.p + 8, want, strlen(want)), "%.*s", (int)a.p[0], (const char *)a.p + 8);

    st_tensor *r;
    size_t n;
    cr_assert_eq(st_read(&e, &r, &n, sc, "f", a), RP_OK);
    cr_assert_eq(n, 3);
    cr_assert_str_eq(r[0].name, "bias\"1");
    cr_assert_str_eq(r[2].name, "y");
    cr_assert(r[2].type == DT_F16 && r[2].rank == 2 && r[2].shape[0] == 2 && r[2].shape[1] == 3);
    cr_assert(r[2].data.n == sizeof y && !memcmp(r[2].data.p, y, sizeof y));
    cr_assert(r[0].data.n == 8 && r[0].rank == 0);
    scratch_free(sc);
}

Test(safetensors, header_order_is_free_and_metadata_is_words)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    st_tensor *r;
    size_t n;
    span s = make(sc,
                  "{\"__metadata__\":{\"format\":\"pt\"},\"b\":" F16X("2", "2", "6") ",\"a\":" F16X(
                      "1", "0", "2") "}  ",
                  6);
    cr_assert_eq(st_read(&e, &r, &n, sc, "f", s), RP_OK, "%s", e.msg);
    cr_assert_eq(n, 2);
    cr_assert_str_eq(r[0].name, "a");
    cr_assert_eq(st_read(&e, &r, &n, sc, "f", make(sc, "{}", 0)), RP_OK);
    cr_assert_eq(n, 0);
    scratch_free(sc);
}

Test(safetensors, refuses)
{
    static const struct {
        const char *why, *header;
        size_t data;
    } cases[] = {
        {"not JSON", "{\"a\":", 2},
        {"an array", "[]", 0},
        {"leading space", " {}", 0},
        {"padding with other than spaces", "{}\n", 0},
        {"something after it", "{} x", 0},
        {"a name twice", "{\"a\":" F16X("1", "0", "2") ",\"a\":" F16X("1", "0", "2") "}", 2},
        {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,2]}}", 2},
        {"no shape", "{\"a\":{\"dtype\":\"F16\",\"data_offsets\":[0,2]}}", 2},
        {"no offsets", "{\"a\":{\"dtype\":\"F16\",\"shape\":[1]}}", 2},
        {"an unknown key", "{\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2],\"x\":1}}", 2},
        {"an unknown dtype", "{\"a\":{\"dtype\":\"F15\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2},
        {"a dtype in lower case", "{\"a\":{\"dtype\":\"f16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2},
        {"rank 5", "{\"a\":" F16X("1,1,1,1,1", "0", "2") "}", 2},
        {"an extent of 0", "{\"a\":" F16X("0", "0", "0") "}", 0},
        {"a negative extent", "{\"a\":" F16X("-1", "0", "2") "}", 2},
        {"a fraction", "{\"a\":" F16X("1.0", "0", "2") "}", 2},
        {"a size beyond 2^64", "{\"a\":" F16X("4503599627370496,4503599627370496", "0", "2") "}", 2},
        {"bytes that are not the shape's", "{\"a\":" F16X("2", "0", "2") "}", 2},
        {"an end before its begin", "{\"a\":" F16X("1", "2", "0") "}", 2},
        {"a range beyond the file", "{\"a\":" F16X("2", "0", "4") "}", 2},
        {"three offsets", "{\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2,4]}}", 2},
        {"a hole before", "{\"a\":" F16X("1", "2", "4") "}", 4},
        {"a hole between", "{\"a\":" F16X("1", "0", "2") ",\"b\":" F16X("1", "4", "6") "}", 6},
        {"bytes after the last", "{\"a\":" F16X("1", "0", "2") "}", 3},
        {"data without tensors", "{}", 1},
        {"overlap", "{\"a\":" F16X("2", "0", "4") ",\"b\":" F16X("2", "2", "6") "}", 6},
        {"the same range twice", "{\"a\":" F16X("1", "0", "2") ",\"b\":" F16X("1", "0", "2") "}", 2},
        {"metadata that is no object", "{\"__metadata__\":1}", 0},
        {"metadata that is not words", "{\"__metadata__\":{\"a\":1}}", 0},
        {"a tensor that is no object", "{\"a\":1}", 0},
    };
    scratch *sc = scratch_new(0);
    st_tensor *r;
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        cr_assert_eq(st_read(&e, &r, &n, sc, "f", make(sc, cases[i].header, cases[i].data)), RP_INVALID, "%s",
                     cases[i].why);
        cr_assert_eq(e.id, FIND_FIXTURE_FORMAT, "%s", cases[i].why);
        cr_assert_str_eq(e.file, "f");
    }
    static const uint8_t lengths[][10] = {
        {0}, {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'}};
    for (size_t i = 0; i < 3; i++) {
        rp_err e = {0};
        cr_assert_eq(st_read(&e, &r, &n, sc, "f", span_of(lengths[i], i ? 10 : 8)), RP_INVALID);
        cr_assert_eq(e.id, FIND_FIXTURE_FORMAT);
    }
    for (size_t cut = 0; cut < 8; cut++) {
        rp_err e = {0};
        cr_assert_eq(st_read(&e, &r, &n, sc, "f", span_of(lengths[1], cut)), RP_INVALID);
    }
    scratch_free(sc);
}

Test(safetensors, every_truncation_is_refused)
{
    scratch *sc = scratch_new(0);
    uint16_t y[3] = {1, 2, 3};
    const st_tensor v[] = {{"y", DT_F16, 1, {3}, span_of(y, sizeof y)}};
    rp_err e = {0};
    span whole;
    st_tensor *r;
    size_t n;
    cr_assert_eq(st_write(&e, &whole, sc, v, 1), RP_OK);
    for (size_t cut = 0; cut < whole.n; cut++) {
        rp_err bad = {0};
        uint8_t *copy = scratch_alloc(sc, cut);
        memcpy(copy, whole.p, cut);
        cr_assert_eq(st_read(&bad, &r, &n, sc, "f", span_of(copy, cut)), RP_INVALID, "%zu bytes", cut);
    }
    scratch_free(sc);
}

Test(safetensors, will_not_write_what_it_would_not_read)
{
    scratch *sc = scratch_new(0);
    uint16_t y[2] = {0};
    const st_tensor good = {"y", DT_F16, 1, {2}, span_of(y, sizeof y)};
    st_tensor shape = good, metadata = good, rank = good, empty = good;
    shape.shape[0] = 3;
    metadata.name = "__metadata__";
    rank.rank = 5;
    empty.shape[0] = 0;
    empty.data.n = 0;
    const st_tensor twice[] = {good, good};
    const st_tensor *bad[] = {&shape, &metadata, &rank, &empty};
    span out;
    for (size_t i = 0; i < 4; i++) {
        rp_err e = {0};
        cr_assert_eq(st_write(&e, &out, sc, bad[i], 1), RP_BUG);
    }
    rp_err e = {0};
    cr_assert_eq(st_write(&e, &out, sc, twice, 2), RP_BUG);
    scratch_free(sc);
}
