/* What the bundle was compared with from outside: a root, the capture's own record or folder, a signed
 * statement. */
#include "verify/trust.h"
#include "artifacts/base/file.h"
#include "artifacts/dsse.h"
#include <stdio.h>

const char *const trust_names[] = {"self-consistent", "capture-matched", "pinned", "signed", NULL};

static void raise(verify_result *out, trust_level level)
{
    if (out->trust < level)
        out->trust = level;
}

/* --- The capture. --- */

/* Files the record can cover: all but itself and the fixture data, which recipes regenerate. */
static bool coverable(const manifest_file *f)
{
    return f->role != ROLE_CAPTURE && f->role != ROLE_FIXTURE;
}

static void compare_item(report *r, verify_result *out, const manifest_file *f, digest captured)
{
    if (digest_equal(captured, f->sha256)) {
        out->matched++;
        return;
    }
    char want[DIGEST_HEX], have[DIGEST_HEX];
    digest_hex(captured, want);
    digest_hex(f->sha256, have);
    findings_add(&r->fs, FIND_TRUST_CAPTURE, f->path, NULL, want, have,
                 "expected sha256 %s by the capture given, found %s", want, have);
}

static void not_listed(report *r, const char *path)
{
    findings_add(
        &r->fs, FIND_TRUST_CAPTURE, path, NULL, NULL, NULL,
        "expected this file of the capture given in the bundle or among its omissions, found neither");
}

/* What is omitted cannot be compared, so a capture never covers it all; but what the list says of it can. */
static void compare_omitted(report *r, const manifest *m, const char *path, digest captured)
{
    const manifest_omitted *o = manifest_find_omitted(m, path);
    if (!o || !o->has_sha256 || digest_equal(captured, o->sha256))
        return;
    char want[DIGEST_HEX], have[DIGEST_HEX];
    digest_hex(captured, want);
    digest_hex(o->sha256, have);
    findings_add(&r->fs, FIND_TRUST_CAPTURE, path, NULL, want, have,
                 "expected sha256 %s by the capture given, found %s in the manifest's list of omissions",
                 want, have);
}

static uint64_t omitted_count(const manifest *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n_omitted; i++)
        n += manifest_role_of(m->omitted[i].path) != ROLE_FIXTURE;
    return n;
}

static rp_code match_record(rp_err *e, report *r, verify_result *out, const char *path)
{
    span text;
    capture c;
    const manifest *m = out->bundle->man;
    if (file_read(e, &text, r->sc, path, JS_MAX_BYTES) || capture_read(e, &c, r->sc, path, text))
        return e->code;
    for (size_t i = 0; i < m->n_files; i++) {
        const manifest_file *f = &m->files[i];
        const capture_file *k = coverable(f) ? capture_find(&c, f->path) : NULL;
        out->of += coverable(f);
        if (k)
            compare_item(r, out, f, k->sha256);
    }
    /* The bundle's own capture.json is covered only by the same bytes; another record covers what it lists,
     * and that is not all. */
    const manifest_file *own = manifest_find(m, "capture.json");
    out->of += own != NULL;
    out->matched += own && digest_equal(own->sha256, digest_of(text));
    out->of += omitted_count(m);
    for (uint64_t i = 0; i < c.n_files; i++) {
        compare_omitted(r, m, c.files[i].path, c.files[i].sha256);
        if (!manifest_find(m, c.files[i].path) && !manifest_find_omitted(m, c.files[i].path))
            not_listed(r, c.files[i].path);
    }
    return RP_OK;
}

/* A folder kept elsewhere: files at the same places. Its other files are not the bundle's business. */
static rp_code match_folder(rp_err *e, report *r, verify_result *out, const char *dir)
{
    const char *const *paths;
    size_t n;
    const manifest *m = out->bundle->man;
    if (file_tree(e, &paths, &n, r->sc, dir))
        return e->code;
    for (size_t i = 0; i < m->n_files; i++)
        out->of += m->files[i].role != ROLE_FIXTURE;
    out->of += omitted_count(m);
    for (size_t i = 0; i < n; i++) {
        const manifest_file *f = manifest_find(m, paths[i]);
        file_role role = manifest_role_of(paths[i]);
        digest d;
        uint64_t bytes;
        const char *full = file_join(r->sc, dir, paths[i]);
        if (!full)
            return err_nomem(e);
        if (role == ROLE_COUNT || role == ROLE_FIXTURE)
            continue;
        if (!f && !manifest_find_omitted(m, paths[i])) {
            not_listed(r, paths[i]);
            continue;
        }
        if (digest_file(e, &d, &bytes, full))
            return e->code;
        if (f)
            compare_item(r, out, f, d);
        else
            compare_omitted(r, m, paths[i], d);
    }
    return RP_OK;
}

static rp_code match_capture(rp_err *e, report *r, verify_result *out, const char *path)
{
    bool folder = file_is_dir(path);
    report_begin(r, "trust.capture", true);
    if (folder ? match_folder(e, r, out, path) : match_record(e, r, out, path))
        return e->code;
    report_end(r, "capture-matched (%llu of %llu): %s against the manifest's digests",
               (unsigned long long)out->matched, (unsigned long long)out->of,
               folder ? "the files of the folder given" : "digests in the capture given");
    out->pinned |= out->of && out->matched == out->of;
    if (out->matched)
        raise(out, out->pinned ? TRUST_PINNED : TRUST_CAPTURE_MATCHED);
    return RP_OK;
}

/* --- Signatures. --- */

static const char *as_root(report *r, digest d)
{
    char hex[DIGEST_HEX];
    digest_hex(d, hex);
    const char *s = scratch_printf(r->sc, "sha256:%s", hex);
    return s ? s : "";
}

/* Whether the envelope is one of in-toto and enough of the keys have signed it; the first thing missing is a
 * finding. */
static rp_code check_envelope(rp_err *e, report *r, bool *ok, const char *file, const dsse *d,
                              const verify_options *opt)
{
    size_t signed_by, distinct;
    *ok = false;
    if (strcmp(d->payload_type, STATEMENT_PAYLOAD_TYPE)) {
        findings_add(&r->fs, FIND_TRUST_PAYLOAD_TYPE, file, "/payloadType", STATEMENT_PAYLOAD_TYPE,
                     d->payload_type, "expected payload type %s, found \"%.100s\"", STATEMENT_PAYLOAD_TYPE,
                     d->payload_type);
        return RP_OK;
    }
    if (dsse_count(e, &signed_by, &distinct, d, opt->keys, opt->n_keys))
        return e->code;
    *ok = signed_by >= opt->threshold && (signed_by || !opt->n_keys);
    if (!*ok)
        findings_add(&r->fs, FIND_TRUST_SIGNATURE, file, "/signatures", NULL, NULL,
                     "expected signatures by %zu of the %zu distinct keys given, found %zu", opt->threshold,
                     distinct, signed_by);
    return RP_OK;
}

static rp_code bundle_statement(rp_err *e, report *r, verify_result *out, const char *file,
                                const statement *s)
{
    const char *name;
    digest root = out->bundle->man->root;
    size_t before = r->fs.n;
    if (strcmp(s->predicate_type, STATEMENT_BUNDLE)) {
        findings_add(&r->fs, FIND_TRUST_PREDICATE, file, "/predicateType", STATEMENT_BUNDLE,
                     s->predicate_type,
                     strcmp(s->predicate_type, STATEMENT_VERDICT)
                         ? "expected a signed bundle, found a statement of another kind"
                         : "expected a signed bundle, found a signed verdict, which never counts as one");
        return RP_OK;
    }
    if (statement_bundle_read(e, &name, s))
        return e->code;
    if (s->n != 1)
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/subject", NULL, NULL,
                     "expected one subject, manifest.json, found %zu", s->n);
    else if (strcmp(s->subjects[0].name, MANIFEST_PATH))
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/subject/0/name", MANIFEST_PATH, s->subjects[0].name,
                     "expected manifest.json as the subject, found \"%.100s\"", s->subjects[0].name);
    else if (!digest_equal(s->subjects[0].sha256, root))
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/subject/0/digest/sha256",
                     as_root(r, s->subjects[0].sha256), as_root(r, root),
                     "expected the signed root, found a bundle with another");
    else if (strcmp(name, out->bundle->man->name))
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/predicate/name", name, out->bundle->man->name,
                     "expected the signed name, found a bundle of another");
    if (r->fs.n == before) {
        out->is_signed = true;
        raise(out, TRUST_SIGNED);
    }
    return RP_OK;
}

static rp_code check_signed(rp_err *e, report *r, verify_result *out, const verify_options *opt)
{
    dsse d;
    statement s;
    span text;
    bool ok;
    const char *file = opt->envelope_path;
    report_begin(r, "trust.signature", true);
    if (!opt->envelope_given && !file_exists(file)) {
        findings_add(
            &r->fs, FIND_TRUST_ENVELOPE, file, NULL, NULL, NULL,
            "expected an envelope beside the bundle, found none; --envelope names one kept elsewhere");
        report_end(r, "not signed");
        return RP_OK;
    }
    if (file_read(e, &text, r->sc, file, DSSE_MAX_BYTES))
        return e->code;
    if (dsse_read(e, &d, r->sc, file, text) || check_envelope(e, r, &ok, file, &d, opt) ||
        (ok && (statement_read(e, &s, r->sc, file, d.payload) || bundle_statement(e, r, out, file, &s))))
        if (!err_to_finding(e, &r->fs))
            return e->code;
    report_end(r, "signed: root %s by at least %zu of the keys given, counted by public key",
               as_root(r, out->bundle->man->root), opt->threshold);
    return RP_OK;
}

rp_code verify_trust(rp_err *e, report *r, verify_result *out, const verify_options *opt)
{
    digest want;
    const char *root = as_root(r, out->bundle->man->root);
    if (opt->capture_path && match_capture(e, r, out, opt->capture_path))
        return e->code;
    if (opt->n_keys && check_signed(e, r, out, opt))
        return e->code;
    report_begin(r, "trust", true);
    if (!opt->root) {
        report_end(r, "%s: root %s, compared with nothing from outside%s", trust_names[out->trust], root,
                   opt->n_keys         ? " but what was signed"
                   : opt->capture_path ? " but the capture given"
                                       : "; --root, --capture or --key does that");
        return RP_OK;
    }
    if (!digest_parse_root(opt->root, &want))
        return err_set(e, RP_USAGE,
                       "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"",
                       opt->root);
    if (digest_equal(want, out->bundle->man->root)) {
        out->pinned = true;
        raise(out, TRUST_PINNED);
    } else {
        findings_add(&r->fs, FIND_TRUST_ROOT, "manifest.json", NULL, opt->root + strlen("sha256:"),
                     root + strlen("sha256:"), "expected root %s, found %s", opt->root, root);
    }
    report_end(r, "pinned: root %s against --root", root);
    return RP_OK;
}

/* --- Attestations read back. --- */

/* The statement's bytes: the payload of an envelope that the keys signed, or the text itself where no key is
 * given. */
static rp_code open_statement(rp_err *e, report *r, span *payload, bool *ok, const char *file, span text,
                              const verify_options *opt)
{
    dsse d;
    js_node *root;
    *ok = true;
    *payload = text;
    if (js_parse(e, &root, r->sc, file, text) || js_as_obj(e, root))
        return e->code;
    if (!js_find(root, "payloadType")) {
        *ok = !opt->n_keys;
        if (!*ok)
            findings_add(&r->fs, FIND_TRUST_ENVELOPE, file, NULL, NULL, NULL,
                         "expected a signed envelope, found a plain statement");
        return RP_OK;
    }
    if (dsse_read(e, &d, r->sc, file, text))
        return e->code;
    *payload = d.payload;
    return check_envelope(e, r, ok, file, &d,
                          &(verify_options){.keys = opt->keys,
                                            .n_keys = opt->n_keys,
                                            .threshold = opt->n_keys ? opt->threshold : 0});
}

/* A statement that holds a verdict of ours, else a finding. */
static rp_code read_verdict(rp_err *e, report *r, statement *s, bool *ok, const char **verdict,
                            const char **about, const char *file, span payload)
{
    *ok = false;
    *about = "bundle";
    if (statement_read(e, s, r->sc, file, payload))
        return e->code;
    if (strcmp(s->predicate_type, STATEMENT_VERDICT)) {
        findings_add(&r->fs, FIND_TRUST_PREDICATE, file, "/predicateType", STATEMENT_VERDICT,
                     s->predicate_type, "expected a verdict, found a statement of another kind");
        return RP_OK;
    }
    *ok = true;
    js_node *kind = js_find(s->predicate, "about");
    if (js_format(e, s->predicate, STATEMENT_VERDICT_FORMAT) || js_str(e, verdict, s->predicate, "verdict") ||
        (kind && js_as_str(e, about, kind)))
        return e->code;
    return RP_OK;
}

static void compare_verdict(report *r, const char *file, const char *attested, const char *now)
{
    if (strcmp(attested, now))
        findings_add(&r->fs, FIND_TRUST_VERDICT, file, "/predicate/verdict", attested, now,
                     "expected the attested verdict, %.40s, found %s", attested, now);
}

static rp_code attested_bundle(rp_err *e, report *r, const verify_result *v, const char *file, span payload,
                               const char **said)
{
    statement s;
    const char *verdict, *about, *now = check_status_names[report_verdict(r)];
    bool ok;
    if (read_verdict(e, r, &s, &ok, &verdict, &about, file, payload) || !ok)
        return e->code;
    if (!statement_is_about(&s, v->bundle->man->root)) {
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/subject", as_root(r, v->bundle->man->root), NULL,
                     "expected this bundle's manifest.json among the subjects, found others");
        return RP_OK;
    }
    *said = verdict;
    if (!strcmp(about, "bundle"))
        compare_verdict(r, file, verdict, now);
    return RP_OK;
}

static const statement_subject *subject_named(const attested_facts *f, const char *name)
{
    for (size_t i = 0; i < f->n_subjects; i++)
        if (!strcmp(f->subjects[i].name, name))
            return &f->subjects[i];
    return NULL;
}

/* Every subject is a file here, of this digest, and the list of all files is among them. */
static void compare_subjects(report *r, const char *file, const statement *s, const attested_facts *f)
{
    bool whole = false;
    for (size_t i = 0; i < s->n; i++) {
        const char *where = scratch_printf(r->sc, "/subject/%zu", i), *name = s->subjects[i].name;
        const statement_subject *mine = subject_named(f, name);
        if (!mine) {
            findings_add(&r->fs, FIND_TRUST_SUBJECT, file, where, NULL, NULL,
                         "expected subjects that stand for this evidence, found \"%.100s\"", name);
            continue;
        }
        whole |= !strcmp(name, f->whole);
        if (!digest_equal(mine->sha256, s->subjects[i].sha256))
            findings_add(&r->fs, FIND_TRUST_SUBJECT, file, where, as_root(r, s->subjects[i].sha256),
                         as_root(r, mine->sha256), "expected the attested %.60s, found another", name);
    }
    if (!whole)
        findings_add(&r->fs, FIND_TRUST_SUBJECT, file, "/subject", f->whole, NULL,
                     "expected the list of all files, %s, among the subjects, found others", f->whole);
}

static rp_code attested_evidence(rp_err *e, report *r, const attested_facts *f, const char *file,
                                 span payload, const char **said)
{
    statement s;
    const char *verdict, *about;
    bool ok;
    int64_t code;
    if (read_verdict(e, r, &s, &ok, &verdict, &about, file, payload) || !ok ||
        js_i64(e, &code, s.predicate, "exit"))
        return e->code;
    if (strcmp(about, f->about)) {
        findings_add(&r->fs, FIND_TRUST_PREDICATE, file, "/predicate/about", f->about, about,
                     "expected a verdict about a %s, found one about a %.40s", f->about, about);
        return RP_OK;
    }
    *said = verdict;
    compare_subjects(r, file, &s, f);
    compare_verdict(r, file, verdict, f->verdict);
    if (code != f->exit_code)
        findings_add(&r->fs, FIND_TRUST_VERDICT, file, "/predicate/exit", NULL, NULL,
                     "expected the attested exit code, %lld, found %d", (long long)code, f->exit_code);
    return RP_OK;
}

/* The statement beside the evidence may be absent only where nobody asked for it. */
rp_code verify_attested_evidence(rp_err *e, report *r, bool *is_signed, const attested_facts *facts,
                                 const verify_options *opt)
{
    span text, payload;
    bool ok;
    const char *said = "nothing", *file = opt->attestation_path;
    *is_signed = false;
    report_begin(r, "trust.attestation", true);
    size_t before = r->fs.n;
    if (!file_exists(file)) {
        findings_add(&r->fs, FIND_TRUST_ENVELOPE, file, NULL, NULL, NULL,
                     "expected an attestation beside the evidence, found none; --attestation names one kept "
                     "elsewhere");
        report_end(r, "not attested");
        return RP_OK;
    }
    if (file_read(e, &text, r->sc, file, DSSE_MAX_BYTES))
        return e->code;
    if (open_statement(e, r, &payload, &ok, file, text, opt) ||
        (ok && attested_evidence(e, r, facts, file, payload, &said)))
        if (!err_to_finding(e, &r->fs))
            return e->code;
    *is_signed = opt->n_keys && r->fs.n == before && !r->fs.nomem;
    if (opt->n_keys)
        report_end(
            r,
            "attested verdict: %s, about these files and with this outcome, by at least %zu of the keys "
            "given, counted by public key",
            said, opt->threshold);
    else
        report_end(
            r, "attested verdict: %s, about these files and with this outcome, not checked for signatures",
            said);
    return RP_OK;
}

rp_code verify_attestation(rp_err *e, report *r, const verify_result *v, const verify_options *opt)
{
    span text, payload;
    bool ok;
    const char *said = "nothing", *file = opt->attestation_path;
    report_begin(r, "trust.attestation", true);
    if (file_read(e, &text, r->sc, file, DSSE_MAX_BYTES))
        return e->code;
    if (open_statement(e, r, &payload, &ok, file, text, opt) ||
        (ok && attested_bundle(e, r, v, file, payload, &said)))
        if (!err_to_finding(e, &r->fs))
            return e->code;
    report_end(r, "attested verdict: %s, %s; says nothing about who made the bundle", said,
               opt->n_keys ? "signed by the keys given" : "not checked for signatures");
    return RP_OK;
}
