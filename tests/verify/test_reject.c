/* Saying no well: the bundle of the small workload, one thing broken at a time, and exactly the finding that
 * this makes. The broken ones are listed in reject_cases.c. */
#include "artifacts/safetensors.h"
#include "tests/verify/reject.h"
#include "verify/verify.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* Ids that no bundle at rest can make, and who tests them. */
static const struct {
    const char *area, *by;
} elsewhere[] = {
    {"container.dictionary", "tests/artifacts/test_store.c"},
    {"container.window", "tests/artifacts/test_store.c"},
    {"container.frame", "tests/artifacts/test_store.c"},
    {"trust.envelope", "tests/artifacts/test_dsse.c and tests/verify/test_trust.c"},
    {"trust.payload_type", "tests/verify/test_trust.c"},
    {"trust.signature", "tests/verify/test_trust.c"},
    {"trust.statement", "tests/artifacts/test_statement.c"},
    {"trust.predicate", "tests/verify/test_trust.c"},
    {"trust.subject", "tests/verify/test_trust.c"},
    {"trust.verdict", "tests/verify/test_trust.c"},
    {"run.", "tests/verify/test_intercept.c, tests/gpu/test_result.c and tests/replay/"},
    {"evidence.", "tests/replay/"},
};

Test(reject, every_finding_has_a_case)
{
    for (int id = 0; id < FIND_COUNT; id++) {
        bool covered = false;
        for (size_t i = 0; i < n_reject_cases; i++)
            covered |= reject_cases[i].id == (finding_id)id;
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
            covered |= !strncmp(finding_name((finding_id)id), elsewhere[i].area, strlen(elsewhere[i].area));
        cr_expect(covered, "no broken bundle for %s", finding_name((finding_id)id));
    }
}

/* --- Making and judging them. --- */

typedef struct {
    scratch *sc;
    const char *dir;
    t_tree sources; /* with fixture data */
} workshop;

static workshop start(void)
{
    workshop w = {.sc = scratch_new(0)};
    w.dir = t_dir(w.sc);
    t_sources(&w.sources, w.sc, "weight_view.small");
    t_add_fixtures(&w.sources);
    return w;
}

static void stop(workshop *w)
{
    t_remove(w->dir);
    scratch_free(w->sc);
}

static void apply(t_tree *t, span *manifest_text, const edit *edits, size_t n, stage when)
{
    for (size_t i = 0; i < n; i++) {
        const edit *d = &edits[i];
        if (!d->path || d->when != when)
            continue;
        if (!strcmp(d->path, MANIFEST_PATH))
            *manifest_text = t_replaced(t->sc, *manifest_text, d->from, d->to);
        else if (d->from)
            t_replace(t, d->path, d->from, d->to);
        else if (d->to)
            t_put(t, d->path, span_str(d->to));
        else
            t_drop(t, d->path);
    }
}

/* Strings of one case, over a tree that is the workshop's. */
static t_tree tree_in(const workshop *w, scratch *sc)
{
    t_tree t = w->sources;
    t.sc = sc;
    return t;
}

static span build(const workshop *w, scratch *sc, const edit *edits, size_t n, container c)
{
    t_tree t = tree_in(w, sc);
    span text = {0};
    apply(&t, &text, edits, n, SOURCES);
    t_add_records(&t);
    apply(&t, &text, edits, n, RECORDED);
    t_add_capture(&t);
    apply(&t, &text, edits, n, CAPTURED);
    t_manifest(sc, t.name, t.v, t.n, &text);
    apply(&t, &text, edits, n, LISTED);
    span stream = t_stream(sc, text, t.v, t.n);
    return c ? c(sc, stream) : t_frames(sc, stream, 1 << 22);
}

/* Its findings, those of an archive that does not open included. */
static report *judge(const workshop *w, scratch *sc, span archive, const verify_options *opt,
                     verify_result *out)
{
    rp_err e = {0};
    report *r = report_new(sc);
    store *st = NULL;
    *out = (verify_result){0};
    const char *path = t_write(sc, w->dir, "case.tar.zst", archive);
    if (store_open(&e, &st, path)) {
        cr_assert(err_to_finding(&e, &r->fs), "%s", e.msg);
        return r;
    }
    cr_assert_eq(verify_bundle(&e, out, r, st, opt), RP_OK, "%s: %s: %s", e.file, e.where, e.msg);
    store_free(st);
    out->bundle = NULL;
    return r;
}

static const char compiled_ptx[] = "// other PTX\n";

/* The recorded compiler and headers, and other PTX for the first kernel. */
static rp_code compile(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                       span source, const char *const *options, uint64_t n_options)
{
    const t_tree *t = ctx;
    (void)e;
    (void)trusted;
    (void)source;
    cr_expect(n_options == 1 && !strcmp(options[0], "-I$CUDA_INCLUDE"));
    out->ok = true;
    out->compiler = "NVRTC";
    out->version = "13.0.88";
    out->build = "CL-36424714";
    out->log = out->sandbox = "";
    out->n_headers = 1;
    out->headers = scratch_alloc(sc, sizeof *out->headers);
    out->headers[0] = (kernel_header){.name = "cuda_fp16.h", .sha256 = digest_of(span_str("a stand-in"))};
    out->ptx = !strcmp(name, CAST_CU) ? span_str(compiled_ptx) : t_bytes(t, ADD_PTX);
    return RP_OK;
}

static verify_options options_of(workshop *w, scratch *sc, option o)
{
    verify_options opt = {0};
    if (o == OTHER_ROOT)
        opt.root = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    if (o == OTHER_PTX) {
        opt.compile = compile;
        opt.compile_ctx = &w->sources;
    }
    if (o == OTHER_CAPTURE) {
        t_tree t = tree_in(w, sc);
        t_add_records(&t);
        t_replace(&t, "contract.json", "\"atol\": 0.0002", "\"atol\": 0.0001");
        t_add_capture(&t);
        opt.capture_path = t_write(sc, w->dir, "outside.json", t_bytes(&t, "capture.json"));
    }
    return opt;
}

static bool named_in(const char *list, const char *id)
{
    size_t n = strlen(id);
    for (const char *p = list; p && (p = strstr(p, id)); p += n)
        if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

static bool is_the_one(const reject_case *c, const finding *f)
{
    return f->id == c->id && (!c->file || !strcmp(f->file, c->file)) &&
           (!c->where || !strcmp(f->where, c->where));
}

static void run_case(workshop *w, const reject_case *c)
{
    scratch *sc = scratch_new(0);
    verify_options opt = options_of(w, sc, c->option);
    verify_result result;
    span archive = build(w, sc, c->edits, sizeof c->edits / sizeof *c->edits, c->container);
    report *r = judge(w, sc, archive, &opt, &result);
    bool found = false;
    for (size_t i = 0; i < r->fs.n; i++) {
        const finding *f = &r->fs.v[i];
        bool one = is_the_one(c, f);
        found |= one;
        cr_expect(one || named_in(c->also, finding_name(f->id)), "%s: also %s %s %s: %s", c->what,
                  finding_name(f->id), f->file, f->where, f->message);
        cr_expect(*f->message && !strchr(f->message, '\n'), "%s: the message is no line", c->what);
    }
    cr_expect(found, "%s: expected %s %s %s, found %s", c->what, finding_name(c->id), c->file ? c->file : "*",
              c->where ? c->where : "*", t_list(sc, &r->fs));
    for (int id = 0; c->also && id < FIND_COUNT; id++)
        if (named_in(c->also, finding_name((finding_id)id))) {
            bool there = false;
            for (size_t i = 0; i < r->fs.n; i++)
                there |= r->fs.v[i].id == (finding_id)id && !is_the_one(c, &r->fs.v[i]);
            cr_expect(there, "%s: no %s besides", c->what, finding_name((finding_id)id));
        }
    if (r->n)
        cr_expect_eq(report_verdict(r), CHECK_REJECTED, "%s", c->what);
    scratch_free(sc);
}

/* In parts, which Criterion runs side by side. */
static void run_part(size_t part, size_t parts)
{
    workshop w = start();
    for (size_t i = part; i < n_reject_cases; i += parts)
        run_case(&w, &reject_cases[i]);
    stop(&w);
}

Test(reject, broken_bundles_1)
{
    run_part(0, 3);
}

Test(reject, broken_bundles_2)
{
    run_part(1, 3);
}

Test(reject, broken_bundles_3)
{
    run_part(2, 3);
}

Test(reject, the_whole_one_is_accepted)
{
    workshop w = start();
    verify_result result;
    span archive = build(&w, w.sc, NULL, 0, NULL);
    report *r = judge(&w, w.sc, archive, &(verify_options){0}, &result);
    cr_expect_eq(r->fs.n, 0, "%s", t_list(w.sc, &r->fs));
    cr_expect_eq(report_verdict(r), CHECK_PASSED);
    cr_expect(result.has_signature && result.trust == TRUST_SELF_CONSISTENT);
    for (size_t i = 0; i < r->n; i++)
        cr_expect_eq(r->v[i].status,
                     !strcmp(r->v[i].name, "kernels.recompiled") ? CHECK_NOT_CHECKABLE : CHECK_PASSED, "%s",
                     r->v[i].name);
    /* As one frame, as plain zstd would write it, and as a folder. */
    rp_err e = {0};
    t_tree t;
    t_small(&t, w.sc);
    span text;
    t_manifest(w.sc, t.name, t.v, t.n, &text);
    t_put(&t, MANIFEST_PATH, text);
    const char *dir = scratch_printf(w.sc, "%s/folder", w.dir);
    t_write_tree(w.sc, dir, t.v, t.n);
    store *st;
    cr_assert_eq(store_open_folder(&e, &st, dir), RP_OK, "%s", e.msg);
    report *folder = report_new(w.sc);
    verify_result again;
    cr_assert_eq(verify_bundle(&e, &again, folder, st, &(verify_options){0}), RP_OK, "%s", e.msg);
    cr_expect_eq(folder->fs.n, 0, "%s", t_list(w.sc, &folder->fs));
    cr_expect(digest_equal(again.signature, result.signature));
    store_free(st);
    stop(&w);
}

/* With the capture's own record and the compiler's, as they are shipped. */
Test(reject, the_shipped_ones_are_accepted)
{
    static const char *const names[] = {"weight_view.small", "weight_view"};
    workshop w = start();
    for (int i = 0; i < 2; i++) {
        rp_err e = {0};
        const char *const *paths;
        size_t n = 0;
        verify_result result;
        span text;
        t_tree t = {.sc = w.sc, .name = names[i]};
        const char *dir = scratch_printf(w.sc, "artifacts/workloads/%s", names[i]);
        cr_assert_eq(file_tree(&e, &paths, &n, w.sc, dir), RP_OK, "%s", e.msg);
        for (size_t k = 0; k < n; k++)
            if (manifest_role_of(paths[k]) != ROLE_COUNT)
                t_put(&t, paths[k], t_slurp(w.sc, file_join(w.sc, dir, paths[k])));
        cr_assert(t_has_file(&t, "capture.json") && t_has_file(&t, CAST_JSON));
        if (!i)
            t_add_fixtures(&t);
        t_manifest(w.sc, names[i], t.v, t.n, &text);
        report *r = judge(&w, w.sc, t_frames(w.sc, t_stream(w.sc, text, t.v, t.n), 1 << 22),
                          &(verify_options){.quick = i}, &result);
        cr_expect_eq(r->fs.n, 0, "%s: %s", names[i], t_list(w.sc, &r->fs));
        cr_expect_neq(report_verdict(r), CHECK_REJECTED);
    }
    stop(&w);
}

/* What the whole one is worth, by what comes from outside. */
Test(reject, trust)
{
    workshop w = start();
    verify_result result;
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    span archive = build(&w, w.sc, NULL, 0, NULL);

    verify_options opt = {.root = scratch_printf(w.sc, "sha256:%s", hex), .quick = true};
    report *r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_PINNED, "%s", t_list(w.sc, &r->fs));

    opt = (verify_options){.capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json")),
                           .quick = true};
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_PINNED && result.matched == result.of && result.of > 15,
              "%s", t_list(w.sc, &r->fs));

    /* A record from outside that covers all but one file. */
    t_drop(&t, TYPED);
    t_add_capture(&t);
    opt.capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json"));
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_CAPTURE_MATCHED && result.matched + 2 == result.of,
              "%s: the file and the record itself", t_list(w.sc, &r->fs));
    stop(&w);
}

/* Someone who changes a kernel and recomputes everything else has a bundle that agrees with itself. Only what
 * comes from outside tells. */
Test(reject, a_consistent_forgery)
{
    static const edit forged[] = {SUB(SOURCES, CAST_CU, "960ULL", "961ULL"),
                                  SUB(SOURCES, CAST_PTX, "959", "960")};
    workshop w = start();
    verify_result result;
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    span archive = build(&w, w.sc, forged, 2, NULL);
    verify_options opt = {.quick = true};
    report *r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_SELF_CONSISTENT, "%s", t_list(w.sc, &r->fs));
    opt.root = scratch_printf(w.sc, "sha256:%s", hex);
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_ROOT, "manifest.json", NULL), "%s",
              t_list(w.sc, &r->fs));
    opt = (verify_options){.quick = true,
                           .capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json"))};
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(t_found(&r->fs, FIND_TRUST_CAPTURE, CAST_CU, "") &&
                  t_found(&r->fs, FIND_TRUST_CAPTURE, CAST_PTX, ""),
              "%s", t_list(w.sc, &r->fs));
    cr_expect_neq(result.trust, TRUST_PINNED);
    stop(&w);
}

/* One byte of each file, whatever it is. */
Test(reject, a_flipped_byte_in_each_file)
{
    workshop w = start();
    t_tree whole;
    span text;
    t_small(&whole, w.sc);
    t_manifest(w.sc, whole.name, whole.v, whole.n, &text);
    for (size_t i = 0; i < whole.n; i++)
        for (int end = 0; end < 2; end++) {
            scratch *sc = scratch_new(0);
            t_tree t = whole;
            verify_result result;
            t.v[i].bytes = t_flip(sc, t.v[i].bytes, end ? t.v[i].bytes.n - 1 : 0, 1);
            report *r = judge(&w, sc, t_frames(sc, t_stream(sc, text, t.v, t.n), 1 << 22),
                              &(verify_options){.quick = true}, &result);
            cr_expect(t_found(&r->fs, FIND_FILE_DIGEST, t.v[i].path, ""), "%s: %s", t.v[i].path,
                      t_list(sc, &r->fs));
            for (size_t k = 0; k < r->fs.n; k++) {
                const finding *f = &r->fs.v[k];
                cr_expect(f->id == FIND_FILE_DIGEST && !strcmp(f->file, t.v[i].path), "%s: also %s %s: %s",
                          t.v[i].path, finding_name(f->id), f->file, f->message);
            }
            scratch_free(sc);
        }
    stop(&w);
}

/* And of the manifest, whose digest is the root. */
Test(reject, a_flipped_byte_in_the_manifest)
{
    workshop w = start();
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    const verify_options opt = {.root = scratch_printf(w.sc, "sha256:%s", hex), .quick = true};
    for (size_t at = 0; at < text.n; at += 23) {
        scratch *sc = scratch_new(0);
        verify_result result;
        report *r = judge(&w, sc, t_frames(sc, t_stream(sc, t_flip(sc, text, at, 1), t.v, t.n), 1 << 22),
                          &opt, &result);
        bool refused = r->n == 0 && r->fs.n == 1 && !strcmp(r->fs.v[0].file, MANIFEST_PATH);
        cr_expect(refused || t_found(&r->fs, FIND_TRUST_ROOT, MANIFEST_PATH, ""), "byte %zu: %s", at,
                  t_list(sc, &r->fs));
        scratch_free(sc);
    }
    stop(&w);
}

static span flip_tensor(scratch *sc, span file, const char *name)
{
    rp_err e = {0};
    st_tensor *v;
    size_t n = 0;
    cr_assert_eq(st_read(&e, &v, &n, sc, "f", file), RP_OK, "%s", e.msg);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return t_flip(sc, file, (size_t)(v[i].data.p - file.p) + v[i].data.n - 1, 1);
    cr_assert(false, "no tensor %s", name);
    return file;
}

/* One bit of one tensor, in a bundle that agrees with itself; --quick, which says so, does not see it. */
Test(reject, one_bit_of_a_tensor)
{
    static const struct {
        const char *name;
        finding_id id;
    } tensors[] = {{"in.x", FIND_FIXTURE_RECIPE},
                   {"in.wt", FIND_FIXTURE_RECIPE},
                   {"in.bias", FIND_FIXTURE_RECIPE},
                   {"out.y", FIND_FIXTURE_EXPECTED}};
    workshop w = start();
    for (size_t i = 0; i < 4; i++)
        for (int quick = 0; quick < 2; quick++) {
            scratch *sc = scratch_new(0);
            verify_result result;
            workshop changed = w;
            changed.sources.sc = sc;
            t_put(&changed.sources, RANDOM_DATA,
                  flip_tensor(sc, t_bytes(&w.sources, RANDOM_DATA), tensors[i].name));
            report *r =
                judge(&w, sc, build(&changed, sc, NULL, 0, NULL), &(verify_options){.quick = quick}, &result);
            if (quick)
                cr_expect_eq(r->fs.n, 0);
            else
                cr_expect(r->fs.n == 1 && t_found(&r->fs, tensors[i].id, RANDOM_DATA, tensors[i].name),
                          "%s: %s", tensors[i].name, t_list(sc, &r->fs));
            scratch_free(sc);
        }
    stop(&w);
}

/* Why a source is not tied to its PTX, where recompiling was tried. */
typedef struct {
    compiled c;
    rp_code code;
    const t_tree *t;
} answer;

static rp_code answer_with(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                           span source, const char *const *options, uint64_t n_options)
{
    const answer *a = ctx;
    (void)sc;
    (void)trusted;
    (void)source;
    (void)options;
    (void)n_options;
    *out = a->c;
    if (a->t)
        out->ptx = t_bytes(a->t, !strcmp(name, CAST_CU) ? CAST_PTX : ADD_PTX);
    return a->code ? err_set(e, a->code, "no such luck") : RP_OK;
}

Test(reject, recompiling)
{
    workshop w = start();
    kernel_header header = {.name = "cuda_fp16.h", .sha256 = digest_of(span_str("a stand-in"))},
                  other = header;
    other.sha256.b[0] ^= 1;
    const compiled same = {.ok = true,
                           .compiler = "NVRTC",
                           .version = "13.0.88",
                           .build = "CL-36424714",
                           .log = "",
                           .sandbox = "",
                           .n_headers = 1,
                           .headers = &header};
    compiled newer = same, headers = same, more = same, broken = same;
    newer.version = "13.1.0";
    headers.headers = &other;
    more.n_headers = 0;
    broken.ok = false;
    broken.log = "error: no";
    const struct {
        answer a;
        check_status status;
        const char *says;
    } answers[] = {
        {{same, RP_OK, &w.sources}, CHECK_PASSED, "2 sources recompiled"},
        {{newer, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the compiler here is NVRTC 13.1.0"},
        {{headers, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the headers here"},
        {{more, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the headers here"},
        {{same, RP_UNAVAILABLE, &w.sources}, CHECK_NOT_CHECKABLE, "no such luck"},
        {{same, RP_WORKER, &w.sources}, CHECK_NOT_CHECKABLE, "no such luck"},
        {{broken, RP_OK, &w.sources}, CHECK_REJECTED, NULL},
    };
    span archive = build(&w, w.sc, NULL, 0, NULL);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        answer a = answers[i].a;
        verify_result result;
        report *r = NULL;
        /* --quick leaves recompiling out; the fixtures are few. */
        r = judge(&w, w.sc, archive, &(verify_options){.compile = answer_with, .compile_ctx = &a}, &result);
        const check *c = NULL;
        for (size_t k = 0; k < r->n; k++)
            if (!strcmp(r->v[k].name, "kernels.recompiled"))
                c = &r->v[k];
        cr_assert(c != NULL);
        cr_expect_eq(c->status, answers[i].status, "answer %zu: %s", i, c->text);
        cr_expect(!c->required && (!answers[i].says || strstr(c->text, answers[i].says)), "answer %zu: %s", i,
                  c->text);
        cr_expect_eq(r->fs.n == 0, answers[i].status != CHECK_REJECTED, "%s", t_list(w.sc, &r->fs));
    }
    stop(&w);
}
