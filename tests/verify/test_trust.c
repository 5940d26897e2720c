#include "artifacts/dsse.h"
#include "artifacts/statement.h"
#include "tests/support.h"
#include "verify/trust.h"
#include <criterion/criterion.h>
#include <unistd.h>

/* RFC 8032's TEST 2, so that nothing here is a secret. */
static const char private_pem[] =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";
static const char public_pem[] =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

typedef struct {
    scratch *sc;
    const char *dir, *path;
    t_tree tree;
    digest root;
    sign_key *private, *public;
} base;

static base start(void)
{
    rp_err e = {0};
    span text;
    base b = {.sc = scratch_new(0)};
    b.dir = t_dir(b.sc);
    t_small(&b.tree, b.sc);
    b.root = t_manifest(b.sc, b.tree.name, b.tree.v, b.tree.n, &text)->root;
    b.path = t_bundle(b.sc, b.dir, b.tree.name, b.tree.v, b.tree.n);
    cr_assert(!sign_key_private(&e, &b.private, t_write(b.sc, b.dir, "k.pem", span_str(private_pem))), "%s",
              e.msg);
    cr_assert(!sign_key_public(&e, &b.public, t_write(b.sc, b.dir, "k.pub", span_str(public_pem))), "%s",
              e.msg);
    return b;
}

static void stop(base *b)
{
    sign_key_free(b->private);
    sign_key_free(b->public);
    t_remove(b->dir);
    scratch_free(b->sc);
}

static report *verified(base *b, verify_result *v, verify_options opt)
{
    rp_err e = {0};
    store *st;
    report *r = report_new(b->sc);
    opt.quick = true;
    if (!opt.threshold)
        opt.threshold = 1;
    cr_assert(!store_open(&e, &st, b->path), "%s", e.msg);
    cr_assert(!verify_bundle(&e, v, r, st, &opt), "%s: %s", e.file, e.msg);
    store_free(st);
    v->bundle = NULL;
    return r;
}

/* --- A capture's folder. --- */

Test(trust, folder_of_the_capture)
{
    base b = start();
    verify_result v;
    const char *dir = file_join(b.sc, b.dir, "original");
    t_write_tree(b.sc, dir, b.tree.v, b.tree.n);
    report *r = verified(&b, &v, (verify_options){.capture_path = dir});
    cr_expect(!r->fs.n && v.pinned && v.trust == TRUST_PINNED && v.matched == v.of && v.of > 15, "%s",
              t_list(b.sc, &r->fs));
    uint64_t all = v.of;

    t_write(b.sc, dir, "notes.txt", span_str("no place in a bundle: not its business"));
    cr_assert_eq(unlink(file_join(b.sc, dir, "plan/arena.json")), 0);
    r = verified(&b, &v, (verify_options){.capture_path = dir});
    cr_expect(!r->fs.n && !v.pinned && v.trust == TRUST_CAPTURE_MATCHED && v.matched == all - 1 &&
                  v.of == all,
              "%s", t_list(b.sc, &r->fs));

    t_write(b.sc, dir, "plan/arena.json", span_str("{}"));
    t_write(b.sc, dir, "kernels/999_more.cu", span_str("// the bundle has lost this one"));
    r = verified(&b, &v, (verify_options){.capture_path = dir});
    cr_expect(r->fs.n == 2 && t_found(&r->fs, FIND_TRUST_CAPTURE, "plan/arena.json", "") &&
                  t_found(&r->fs, FIND_TRUST_CAPTURE, "kernels/999_more.cu", ""),
              "%s", t_list(b.sc, &r->fs));
    stop(&b);
}

/* --- Envelopes. --- */

static const char *envelope(base *b, const char *type, span payload)
{
    rp_err e = {0};
    span text;
    cr_assert(!dsse_write(&e, &text, b->sc, type, payload, &b->private, 1, NULL), "%s", e.msg);
    return t_write(b->sc, b->dir, "e.json", text);
}

static span finished(base *b, jw *j)
{
    rp_err e = {0};
    span text;
    cr_assert(!jw_finish(&e, &text, j));
    text = span_of(scratch_strndup(b->sc, (const char *)text.p, text.n), text.n);
    jw_free(j);
    return text;
}

static span bundle_statement(base *b, const char *name, digest root)
{
    jw *j = jw_new(JW_COMPACT);
    statement_of_bundle(j, name, root);
    return finished(b, j);
}

static verify_options with_keys(base *b, const char *path)
{
    return (verify_options){.keys = &b->public, .n_keys = 1, .envelope_path = path, .envelope_given = true};
}

Test(trust, signed)
{
    base b = start();
    verify_result v;
    span good = bundle_statement(&b, b.tree.name, b.root);
    report *r = verified(&b, &v, with_keys(&b, envelope(&b, STATEMENT_PAYLOAD_TYPE, good)));
    cr_expect(!r->fs.n && v.is_signed && !v.pinned && v.trust == TRUST_SIGNED, "%s", t_list(b.sc, &r->fs));

    char hex[DIGEST_HEX];
    digest_hex(b.root, hex);
    verify_options opt = with_keys(&b, file_join(b.sc, b.dir, "e.json"));
    opt.root = scratch_printf(b.sc, "sha256:%s", hex);
    r = verified(&b, &v, opt);
    cr_expect(!r->fs.n && v.is_signed && v.pinned && v.trust == TRUST_SIGNED, "%s", t_list(b.sc, &r->fs));

    /* Without keys the envelope is nothing. */
    r = verified(&b, &v, (verify_options){.envelope_path = opt.envelope_path, .envelope_given = true});
    cr_expect(!r->fs.n && !v.is_signed && v.trust == TRUST_SELF_CONSISTENT);
    stop(&b);
}

static void refuses(base *b, const char *path, finding_id id, const char *where, const char *what)
{
    verify_result v;
    report *r = verified(b, &v, with_keys(b, path));
    cr_expect(r->fs.n == 1 && t_found(&r->fs, id, path, where), "%s: %s", what, t_list(b->sc, &r->fs));
    cr_expect(!v.is_signed && v.trust == TRUST_SELF_CONSISTENT, "%s", what);
}

Test(trust, not_signed)
{
    base b = start();
    span good = bundle_statement(&b, b.tree.name, b.root);
    const char *type = STATEMENT_PAYLOAD_TYPE;
    refuses(&b, envelope(&b, "application/json", good), FIND_TRUST_PAYLOAD_TYPE, "/payloadType",
            "another payload type");
    refuses(&b, envelope(&b, type, bundle_statement(&b, b.tree.name, digest_of(good))), FIND_TRUST_SUBJECT,
            "/subject/0/digest/sha256", "another root");
    refuses(&b, envelope(&b, type, bundle_statement(&b, "other", b.root)), FIND_TRUST_SUBJECT,
            "/predicate/name", "another name");
    refuses(&b, envelope(&b, type, span_str("{}")), FIND_TRUST_STATEMENT, "", "no statement");
    refuses(&b, envelope(&b, type, t_replaced(b.sc, good, "replay-bundle/1", "replay-bundle/2")),
            FIND_TRUST_STATEMENT, "/predicate/format", "another format");
    refuses(
        &b,
        envelope(&b, type, t_replaced(b.sc, good, "\"name\":\"manifest.json\"", "\"name\":\"plan.json\"")),
        FIND_TRUST_SUBJECT, "/subject/0/name", "another subject");
    refuses(&b, envelope(&b, type, t_replaced(b.sc, good, STATEMENT_BUNDLE, STATEMENT_VERDICT)),
            FIND_TRUST_PREDICATE, "/predicateType", "a verdict is no signed bundle");
    statement_subject two[] = {{MANIFEST_PATH, b.root}, {"more", b.root}};
    jw *j = jw_new(JW_COMPACT);
    statement_begin(j, two, 2, STATEMENT_BUNDLE);
    jw_str(j, "format", MANIFEST_FORMAT);
    jw_str(j, "name", b.tree.name);
    statement_end(j);
    refuses(&b, envelope(&b, type, finished(&b, j)), FIND_TRUST_SUBJECT, "/subject", "two subjects");
    const char *path = envelope(&b, type, good);
    span text = t_slurp(b.sc, path);
    t_write(
        b.sc, b.dir, "e.json",
        t_replaced(b.sc, text, "\"payloadType\": \"application/vnd", "\"payloadType\": \"application/x.vnd"));
    refuses(&b, path, FIND_TRUST_PAYLOAD_TYPE, "/payloadType", "a payload type changed later");
    t_write(b.sc, b.dir, "e.json",
            t_flip(b.sc, text,
                   (size_t)((const uint8_t *)strstr((const char *)text.p, "\"sig\"") - text.p) + 20, 1));
    refuses(&b, path, FIND_TRUST_SIGNATURE, "/signatures", "a changed signature");
    t_write(b.sc, b.dir, "e.json", span_str("[]"));
    refuses(&b, path, FIND_TRUST_ENVELOPE, "", "no envelope");
    verify_result v;
    verify_options opt = with_keys(&b, file_join(b.sc, b.dir, "nowhere.json"));
    opt.envelope_given = false;
    report *r = verified(&b, &v, opt);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_ENVELOPE, opt.envelope_path, ""), "%s",
              t_list(b.sc, &r->fs));
    stop(&b);
}

/* --- Attestations. --- */

static span verdict(base *b, const char *about, const char *said, digest subject)
{
    jw *j = jw_new(JW_COMPACT);
    statement_begin(j, &(statement_subject){MANIFEST_PATH, subject}, 1, STATEMENT_VERDICT);
    jw_str(j, "format", STATEMENT_VERDICT_FORMAT);
    jw_str(j, "about", about);
    jw_str(j, "verdict", said);
    statement_end(j);
    return finished(b, j);
}

Test(trust, attestation)
{
    base b = start();
    verify_result v;
    report *r;
    verify_options opt = {.attestation_path =
                              t_write(b.sc, b.dir, "a.json", verdict(&b, "bundle", "passed", b.root))};
    r = verified(&b, &v, opt);
    cr_expect(!r->fs.n && v.trust == TRUST_SELF_CONSISTENT, "%s", t_list(b.sc, &r->fs));
    t_write(b.sc, b.dir, "a.json", verdict(&b, "bundle", "rejected", b.root));
    r = verified(&b, &v, opt);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_VERDICT, NULL, "/predicate/verdict"), "%s",
              t_list(b.sc, &r->fs));
    t_write(b.sc, b.dir, "a.json", verdict(&b, "run", "numerical_rejection", b.root));
    r = verified(&b, &v, opt);
    cr_expect(!r->fs.n, "of a run another verdict may be true: %s", t_list(b.sc, &r->fs));
    t_write(b.sc, b.dir, "a.json", verdict(&b, "bundle", "passed", digest_of(span_str("x"))));
    r = verified(&b, &v, opt);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_SUBJECT, NULL, "/subject"), "%s",
              t_list(b.sc, &r->fs));
    t_write(b.sc, b.dir, "a.json", bundle_statement(&b, b.tree.name, b.root));
    r = verified(&b, &v, opt);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_PREDICATE, NULL, "/predicateType"), "%s",
              t_list(b.sc, &r->fs));
    stop(&b);
}

/* --- Of evidence. --- */

static span verdict_of_evidence(base *b, const char *about, const char *said, int code,
                                const statement_subject *v, size_t n)
{
    jw *j = jw_new(JW_COMPACT);
    statement_begin(j, v, n, STATEMENT_VERDICT);
    jw_str(j, "format", STATEMENT_VERDICT_FORMAT);
    jw_str(j, "about", about);
    jw_str(j, "verdict", said);
    jw_i64(j, "exit", code);
    statement_end(j);
    return finished(b, j);
}

static span signed_by(base *b, span payload)
{
    rp_err e = {0};
    span out;
    cr_assert(!dsse_write(&e, &out, b->sc, STATEMENT_PAYLOAD_TYPE, payload, &b->private, 1, NULL), "%s",
              e.msg);
    return out;
}

Test(trust, attested_evidence)
{
    base b = start();
    digest sums = digest_of(span_str("sums")), root = digest_of(span_str("root")),
           other = digest_of(span_str("other"));
    const statement_subject here[] = {{"SHA256SUMS", sums}, {"bundle/manifest.json", root}};
    const attested_facts facts = {.about = "run",
                                  .subjects = here,
                                  .n_subjects = 2,
                                  .whole = "SHA256SUMS",
                                  .verdict = "passed",
                                  .exit_code = 0};
    const struct {
        const char *what, *about, *verdict;
        int code;
        statement_subject v[3];
        size_t n;
        finding_id id; /* FIND_COUNT: none */
        const char *at;
    } cases[] = {
        {"both", "run", "passed", 0, {here[0], here[1]}, 2, FIND_COUNT, NULL},
        {"the list alone", "run", "passed", 0, {here[0]}, 1, FIND_COUNT, NULL},
        {"the bundle alone", "run", "passed", 0, {here[1]}, 1, FIND_TRUST_SUBJECT, "/subject"},
        {"other files",
         "run",
         "passed",
         0,
         {{"SHA256SUMS", other}, here[1]},
         2,
         FIND_TRUST_SUBJECT,
         "/subject/0"},
        {"another bundle",
         "run",
         "passed",
         0,
         {here[0], {"bundle/manifest.json", other}},
         2,
         FIND_TRUST_SUBJECT,
         "/subject/1"},
        {"digests exchanged",
         "run",
         "passed",
         0,
         {{"SHA256SUMS", root}, {"bundle/manifest.json", sums}},
         2,
         FIND_TRUST_SUBJECT,
         "/subject/0"},
        {"one that is not here",
         "run",
         "passed",
         0,
         {here[0], here[1], {"notes.txt", other}},
         3,
         FIND_TRUST_SUBJECT,
         "/subject/2"},
        {"another verdict", "run", "rejected", 0, {here[0]}, 1, FIND_TRUST_VERDICT, "/predicate/verdict"},
        {"another exit code", "run", "passed", 1, {here[0]}, 1, FIND_TRUST_VERDICT, "/predicate/exit"},
        {"about a campaign", "campaign", "passed", 0, {here[0]}, 1, FIND_TRUST_PREDICATE, "/predicate/about"},
        {"about a bundle", "bundle", "passed", 0, {here[0]}, 1, FIND_TRUST_PREDICATE, "/predicate/about"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        span plain =
            verdict_of_evidence(&b, cases[i].about, cases[i].verdict, cases[i].code, cases[i].v, cases[i].n);
        for (int with_key = 0; with_key < 2; with_key++) {
            rp_err e = {0};
            bool is_signed;
            report *r = report_new(b.sc);
            verify_options opt = {.attestation_path =
                                      t_write(b.sc, b.dir, "e.json", with_key ? signed_by(&b, plain) : plain),
                                  .keys = &b.public,
                                  .n_keys = with_key ? 1 : 0,
                                  .threshold = 1};
            cr_assert(!verify_attested_evidence(&e, r, &is_signed, &facts, &opt), "%s", e.msg);
            if (cases[i].id == FIND_COUNT)
                cr_expect(!r->fs.n && is_signed == with_key, "%s: %s", cases[i].what, t_list(b.sc, &r->fs));
            else
                cr_expect(t_found(&r->fs, cases[i].id, NULL, cases[i].at) && !is_signed, "%s: %s",
                          cases[i].what, t_list(b.sc, &r->fs));
        }
    }
    stop(&b);
}

Test(trust, attested_evidence_not_signed)
{
    base b = start();
    const statement_subject here = {"SHA256SUMS", digest_of(span_str("sums"))};
    const attested_facts facts = {
        .about = "run", .subjects = &here, .n_subjects = 1, .whole = "SHA256SUMS", .verdict = "passed"};
    span plain = verdict_of_evidence(&b, "run", "passed", 0, &here, 1);
    sign_key *const twice[] = {b.public, b.public};
    const struct {
        span text;
        size_t n_keys, threshold;
        finding_id id;
    } cases[] = {
        {plain, 1, 1, FIND_TRUST_ENVELOPE},
        {signed_by(&b, plain), 2, 2, FIND_TRUST_SIGNATURE}, /* one key in two files is one */
        {bundle_statement(&b, b.tree.name, b.root), 0, 1, FIND_TRUST_PREDICATE},
        {signed_by(&b, bundle_statement(&b, b.tree.name, b.root)), 1, 1, FIND_TRUST_PREDICATE},
        {span_str("{}"), 0, 1, FIND_TRUST_STATEMENT},
        {span_str("{"), 0, 1, FIND_JSON_SYNTAX},
        {span_of(NULL, 0), 1, 1, FIND_TRUST_ENVELOPE}, /* not there */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_err e = {0};
        bool is_signed;
        report *r = report_new(b.sc);
        const char *path = t_write(b.sc, b.dir, "e.json", cases[i].text);
        if (!cases[i].text.n)
            unlink(path);
        verify_options opt = {.attestation_path = path,
                              .keys = twice,
                              .n_keys = cases[i].n_keys,
                              .threshold = cases[i].threshold};
        cr_assert(!verify_attested_evidence(&e, r, &is_signed, &facts, &opt), "%s", e.msg);
        cr_expect(!is_signed && t_found(&r->fs, cases[i].id, NULL, NULL), "%zu: %s", i, t_list(b.sc, &r->fs));
    }
    stop(&b);
}
