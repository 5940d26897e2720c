#include "tests/support.h"
#include <criterion/criterion.h>
#include <stdio.h>

#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define FILE_OF(path, role) "{\"path\":\"" path "\",\"bytes\":3,\"sha256\":\"" HEX "\",\"role\":\"" role "\"}"
#define FORMAT "{\"format\":\"replay-bundle/1\","
#define HEAD FORMAT "\"name\":\"n\",\"files\":["
#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define WITH(files) HEAD files "],\"omitted\":[]}"
#define OMITTING(omitted) HEAD FILE_OF("capture.json", "capture") "],\"omitted\":[" omitted "]}"

static rp_code read_text(rp_err *e, manifest **m, scratch *sc, const char *text)
{
    return manifest_read(e, m, sc, span_str(text));
}

Test(manifest, reads_what_it_writes)
{
    scratch *sc = scratch_new(0);
    const t_file files[] = {
        {"reference.json", span_str("{}")},   {"capture.json", span_str("{}")},
        {"plan/plan.json", span_str("{ }")},  {"kernels/000_cast.cu", span_str("void k();")},
        {"fixtures/random.safetensors", {0}}, {"evidence/a/b/log.txt", span_str("x")},
    };
    size_t n = sizeof files / sizeof *files;
    span text, again;
    manifest *m = t_manifest(sc, "weight_view.small", files, n, &text), *r;
    m->n_omitted = 2;
    m->omitted = (manifest_omitted[]){
        {.path = "evidence/trace.bin", .reason = "too large", .has_bytes = true, .bytes = 9},
        {.path = "lib/cubin",
         .reason = "not ours \"to\" give",
         .has_sha256 = true,
         .sha256 = digest_of(text)}};
    jw *j = jw_new(JW_PRETTY);
    manifest_write(j, m);
    rp_err e = {0};
    cr_assert(!jw_finish(&e, &text, j));
    cr_assert(!manifest_read(&e, &r, sc, text), "%s: %s", e.where, e.msg);
    cr_expect_str_eq(r->name, "weight_view.small");
    cr_expect(digest_equal(r->root, digest_of(text)));
    cr_assert_eq(r->n_files, n);
    cr_expect_str_eq(r->files[0].path, "capture.json");
    cr_expect_eq(r->files[0].role, ROLE_CAPTURE);
    cr_expect_eq(r->files[0].bytes, 2);
    cr_assert_eq(r->n_omitted, 2);
    cr_expect(r->omitted[0].has_bytes && !r->omitted[0].has_sha256 && r->omitted[0].bytes == 9);
    cr_expect(!r->omitted[1].has_bytes && digest_equal(r->omitted[1].sha256, m->omitted[1].sha256));
    for (size_t i = 0; i < n; i++)
        cr_expect_eq(manifest_find(r, r->files[i].path), &r->files[i]);
    cr_expect_null(manifest_find(r, "capture.jso"));
    cr_expect_null(manifest_find(r, "zzz"));
    cr_expect_null(manifest_find(r, ""));
    jw *j2 = jw_new(JW_PRETTY);
    manifest_write(j2, r);
    cr_assert(!jw_finish(&e, &again, j2));
    cr_expect(t_equal(text, again), "writing what was read gives the same bytes");
    jw_free(j);
    jw_free(j2);
    scratch_free(sc);
}

Test(manifest, paths)
{
    static const char *const good[] = {"a", "a/b", "A-_.9", "...", "a/..b", ".a", "-", (A50 A50)};
    static const char *const bad[] = {"",         "/",    "/a",   "a/",  "a//b",       ".",    "..",
                                      "a/.",      "a/..", "../a", "./a", "a b",        "a\\b", "a:b",
                                      "\xc3\xa4", "a\nb", "a*",   "~",   (A50 A50 "b")};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(manifest_path_ok(good[i]), "`%s`", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(!manifest_path_ok(bad[i]), "`%s`", bad[i]);
}

Test(manifest, roles)
{
    static const struct {
        const char *path;
        file_role role;
    } cases[] = {
        {"capture.json", ROLE_CAPTURE},
        {"plan/plan.json", ROLE_PLAN},
        {"plan/buffer_ir.txt", ROLE_TEXT},
        {"plan/typed_ops.json", ROLE_TEXT},
        {"plan/arena.json", ROLE_ARENA},
        {"plan/resolved_calls.json", ROLE_CALLS},
        {"kernels/000_cast.cu", ROLE_SOURCE},
        {"kernels/000_cast.ptx", ROLE_PTX},
        {"kernels/000_cast.json", ROLE_KERNEL},
        {"reference.json", ROLE_REFERENCE},
        {"contract.json", ROLE_CONTRACT},
        {"fixtures/random.json", ROLE_RECIPE},
        {"fixtures/random.safetensors", ROLE_FIXTURE},
        {"evidence/a", ROLE_EVIDENCE},
        {"evidence/a/b.cu", ROLE_EVIDENCE},
        {"manifest.json", ROLE_COUNT},
        {"README", ROLE_COUNT},
        {"evidence", ROLE_COUNT},
        {"evidence/", ROLE_COUNT},
        {"evidences/a", ROLE_COUNT},
        {"kernels/.cu", ROLE_COUNT},
        {"kernels/a.cu.txt", ROLE_COUNT},
        {"kernels/a/b.cu", ROLE_COUNT},
        {"kernels.cu", ROLE_COUNT},
        {"plan/other.json", ROLE_COUNT},
        {"plan/capture.json", ROLE_COUNT},
        {"fixtures/.json", ROLE_COUNT},
        {"", ROLE_COUNT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(manifest_role_of(cases[i].path), cases[i].role, "`%s`", cases[i].path);
}

Test(manifest, refuses)
{
    static const struct {
        const char *text;
        finding_id id;
        const char *where;
    } cases[] = {
        {"", FIND_JSON_SYNTAX, NULL},
        {"[]", FIND_JSON_TYPE, ""},
        {"{\"format\":\"replay-bundle/2\",\"name\":\"n\",\"files\":[],\"omitted\":[]}", FIND_JSON_VALUE,
         "/format"},
        {FORMAT "\"files\":[],\"omitted\":[]}", FIND_JSON_MISSING_KEY, ""},
        {FORMAT "\"name\":\"n\",\"files\":[]}", FIND_JSON_MISSING_KEY, ""},
        {FORMAT "\"name\":\"n\",\"files\":{},\"omitted\":[]}", FIND_JSON_TYPE, "/files"},
        {FORMAT "\"name\":\"n\",\"files\":[],\"omitted\":[],\"x\":1}", FIND_JSON_UNKNOWN_KEY, "/x"},
        {FORMAT "\"name\":\"\",\"files\":[],\"omitted\":[]}", FIND_MANIFEST_INVALID, "/name"},
        {FORMAT "\"name\":\".n\",\"files\":[],\"omitted\":[]}", FIND_MANIFEST_INVALID, "/name"},
        {FORMAT "\"name\":\"a/b\",\"files\":[],\"omitted\":[]}", FIND_MANIFEST_INVALID, "/name"},
        {WITH("3"), FIND_JSON_TYPE, "/files/0"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":3,\"sha256\":\"" HEX "\"}"), FIND_JSON_MISSING_KEY,
         "/files/0"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":3.0,\"sha256\":\"" HEX "\",\"role\":\"capture\"}"),
         FIND_JSON_NUMBER, "/files/0/bytes"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":-1,\"sha256\":\"" HEX "\",\"role\":\"capture\"}"),
         FIND_JSON_NUMBER, "/files/0/bytes"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":8589934592,\"sha256\":\"" HEX "\",\"role\":\"capture\"}"),
         FIND_MANIFEST_LIMIT, "/files/0"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":3,\"sha256\":\"ABCD\",\"role\":\"capture\"}"),
         FIND_JSON_VALUE, "/files/0/sha256"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":3,\"sha256\":\"" HEX "\",\"role\":\"code\"}"),
         FIND_JSON_VALUE, "/files/0/role"},
        {WITH("{\"path\":\"capture.json\",\"bytes\":3,\"sha256\":\"" HEX
              "\",\"role\":\"capture\",\"mode\":1}"),
         FIND_JSON_UNKNOWN_KEY, "/files/0/mode"},
        {WITH("{\"path\":\"capture.json\",\"path\":\"a\",\"bytes\":3,\"sha256\":\"" HEX
              "\",\"role\":\"capture\"}"),
         FIND_JSON_DUPLICATE_KEY, NULL},
        {WITH("{\"path\":\"a\\u0000b\",\"bytes\":3,\"sha256\":\"" HEX "\",\"role\":\"capture\"}"),
         FIND_JSON_SYNTAX, NULL},
        {WITH(FILE_OF("../capture.json", "capture")), FIND_MANIFEST_PATH, "/files/0"},
        {WITH(FILE_OF("manifest.json", "capture")), FIND_MANIFEST_PATH, "/files/0"},
        {WITH(FILE_OF("README", "evidence")), FIND_MANIFEST_PATH, "/files/0"},
        {WITH(FILE_OF("capture.json", "plan")), FIND_MANIFEST_INVALID, "/files/0"},
        {WITH(FILE_OF("contract.json", "contract") "," FILE_OF("capture.json", "capture")),
         FIND_MANIFEST_ORDER, "/files/1"},
        {WITH(FILE_OF("capture.json", "capture") "," FILE_OF("capture.json", "capture")),
         FIND_MANIFEST_DUPLICATE, "/files/1"},
        {WITH(FILE_OF("evidence/A", "evidence") "," FILE_OF("evidence/a", "evidence")), FIND_MANIFEST_CASE,
         NULL},
        {WITH(FILE_OF("evidence/a", "evidence") "," FILE_OF("evidence/a-b", "evidence") "," FILE_OF(
             "evidence/a/b", "evidence")),
         FIND_MANIFEST_PATH, "/files/0"},
        {WITH(FILE_OF("evidence/A", "evidence") "," FILE_OF("evidence/a/b", "evidence")), FIND_MANIFEST_PATH,
         "/files/0"},
        {WITH(FILE_OF("evidence/A/x", "evidence") "," FILE_OF("evidence/a/y", "evidence")),
         FIND_MANIFEST_CASE, NULL},
        {OMITTING("{\"path\":\"evidence/x\"}"), FIND_JSON_MISSING_KEY, "/omitted/0"},
        {OMITTING("{\"path\":\"evidence/x\",\"reason\":\"\"}"), FIND_MANIFEST_INVALID, "/omitted/0"},
        {OMITTING("{\"path\":\"capture.json\",\"reason\":\"r\"}"), FIND_MANIFEST_INVALID, "/omitted/0"},
        {OMITTING("{\"path\":\"manifest.json\",\"reason\":\"r\"}"), FIND_MANIFEST_PATH, "/omitted/0"},
        {OMITTING("{\"path\":\"b\",\"reason\":\"r\"},{\"path\":\"a\",\"reason\":\"r\"}"), FIND_MANIFEST_ORDER,
         "/omitted/1"},
        {OMITTING("{\"path\":\"a\",\"reason\":\"r\",\"bytes\":null}"), FIND_JSON_TYPE, "/omitted/0/bytes"},
        {OMITTING("{\"path\":\"a\",\"reason\":\"r\",\"note\":\"n\"}"), FIND_JSON_UNKNOWN_KEY,
         "/omitted/0/note"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        manifest *m;
        cr_expect_eq(read_text(&e, &m, sc, cases[i].text), RP_INVALID, "accepted: %s", cases[i].text);
        cr_expect_eq(e.id, cases[i].id, "%s: %s at %s for %s", finding_name(e.id), e.msg, e.where,
                     cases[i].text);
        cr_expect_str_eq(e.file, MANIFEST_PATH);
        if (cases[i].where)
            cr_expect_str_eq(e.where, cases[i].where, "%s at %s for %s", e.msg, e.where, cases[i].text);
        scratch_free(sc);
    }
}

Test(manifest, accepts)
{
    static const char *const texts[] = {
        WITH(""),
        WITH(FILE_OF("evidence/a-b", "evidence") "," FILE_OF("evidence/a/b", "evidence") "," FILE_OF(
            "evidence/ab", "evidence")),
        WITH("{\"role\":\"capture\",\"path\":\"capture.json\",\"bytes\":8589934591,\"sha256\":\"" HEX "\"}"),
        OMITTING("{\"path\":\"any/place\",\"reason\":\"r\",\"bytes\":9007199254740991}"),
        FORMAT "\"name\":\"n\",\"files\":[],\"omitted\":[],\"annotations\":{\"free\":[1e3]}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        manifest *m;
        cr_expect_eq(read_text(&e, &m, sc, texts[i]), RP_OK, "%s at %s for %s", e.msg, e.where, texts[i]);
        scratch_free(sc);
    }
}

Test(manifest, is_bounded)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    manifest *m;
    uint8_t *big = scratch_alloc(sc, MANIFEST_MAX_BYTES + 1);
    memset(big, ' ', MANIFEST_MAX_BYTES + 1);
    cr_expect_eq(manifest_read(&e, &m, sc, span_of(big, MANIFEST_MAX_BYTES + 1)), RP_INVALID);
    cr_expect_eq(e.id, FIND_MANIFEST_INVALID);
    e = (rp_err){0};
    scratch *small = scratch_new(64);
    cr_expect_eq(read_text(&e, &m, small, WITH("")), RP_NOMEM);
    scratch_free(small);
    scratch_free(sc);
}
