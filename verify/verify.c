#include "verify/verify.h"
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "verify/signature.h"
#include <stdio.h>

const char *const trust_names[] = {"self-consistent", "capture-matched", "pinned", NULL};

static rp_code check_container(rp_err *e, report *r, store *st)
{
    store_size size = store_sizes(st);
    report_begin(r, "container", true);
    if (store_check(e, st, &r->fs))
        return e->code;
    if (size.frames)
        report_end(r, "%zu files, %s bytes in %llu frames: every header, padding byte, size and digest", store_manifest(st)->n_files,
                   text_count(r->sc, size.stream_bytes), (unsigned long long)size.frames);
    else
        report_end(r, "folder of %zu listed files: every size and digest, nothing unlisted; fixture data may be absent", store_manifest(st)->n_files);
    return RP_OK;
}

/* Files the record can cover: all but itself and the fixture data, which recipes regenerate. */
static bool coverable(const manifest_file *f)
{
    return f->role != ROLE_CAPTURE && f->role != ROLE_FIXTURE;
}

static rp_code match_capture(rp_err *e, report *r, verify_result *out, const char *path)
{
    span text;
    capture c;
    const manifest *m = out->bundle->man;
    report_begin(r, "trust.capture", true);
    if (file_read(e, &text, r->sc, path, JS_MAX_BYTES) || capture_read(e, &c, r->sc, path, text))
        return e->code;
    for (size_t i = 0; i < m->n_files; i++) {
        const manifest_file *f = &m->files[i];
        if (!coverable(f))
            continue;
        out->of++;
        const capture_file *k = capture_find(&c, f->path);
        if (!k)
            continue;
        if (digest_equal(k->sha256, f->sha256)) {
            out->matched++;
            continue;
        }
        char want[DIGEST_HEX], have[DIGEST_HEX];
        digest_hex(k->sha256, want);
        digest_hex(f->sha256, have);
        findings_add(&r->fs, FIND_TRUST_CAPTURE, f->path, NULL, want, have, "expected sha256 %s by the capture given, found %s", want, have);
    }
    report_end(r, "capture-matched (%llu of %llu): digests in the capture given against the manifest's",
               (unsigned long long)out->matched, (unsigned long long)out->of);
    if (out->matched == out->of)
        out->trust = TRUST_PINNED;
    else if (out->matched)
        out->trust = TRUST_CAPTURE_MATCHED;
    return RP_OK;
}

static rp_code check_trust(rp_err *e, report *r, verify_result *out, const verify_options *opt)
{
    char root[DIGEST_HEX];
    digest want;
    digest_hex(out->bundle->man->root, root);
    if (opt->capture_path && match_capture(e, r, out, opt->capture_path))
        return e->code;
    report_begin(r, "trust", true);
    if (!opt->root) {
        report_end(r, "%s: root sha256:%s, compared with nothing from outside%s", trust_names[out->trust], root,
                   opt->capture_path ? " but the capture given" : "; --root or --capture pins it");
        return RP_OK;
    }
    if (!digest_parse_root(opt->root, &want))
        return err_set(e, RP_USAGE, "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"", opt->root);
    if (digest_equal(want, out->bundle->man->root))
        out->trust = TRUST_PINNED;
    else
        findings_add(&r->fs, FIND_TRUST_ROOT, "manifest.json", NULL, opt->root + strlen("sha256:"), root,
                     "expected root %s, found sha256:%s", opt->root, root);
    report_end(r, "pinned: root sha256:%s against --root", root);
    return RP_OK;
}

rp_code verify_bundle(rp_err *e, verify_result *out, report *r, store *st, const verify_options *opt)
{
    *out = (verify_result){0};
    if (check_container(e, r, st))
        return e->code;
    /* Faults of single documents were found by the container's check or belong to the stage that reads them: `documents`. */
    report_begin(r, "documents", true);
    if (bundle_load(e, &out->bundle, &r->fs, r->sc, st))
        return e->code;
    report_end(r, "capture, plan, arena, calls, %llu kernels, reference, contract, %llu recipes: strict JSON, known keys, ranges",
               (unsigned long long)out->bundle->n_kernels, (unsigned long long)out->bundle->n_fixtures);
    if (check_trust(e, r, out, opt))
        return e->code;
    verify_identity(e, r, out->bundle);
    verify_plan(e, r, out->bundle);
    verify_arena(e, r, out->bundle);
    verify_calls(e, r, out->bundle);
    verify_kernels(e, r, out->bundle, opt, out->trust == TRUST_PINNED);
    verify_fixtures(e, r, out->bundle, opt->quick);
    verify_contract(e, r, out->bundle);
    if (!e->code && bundle_complete(out->bundle)) {
        span document;
        if (plan_signature(e, &document, &out->signature, r->sc, out->bundle))
            return e->code;
        out->has_signature = true;
    }
    return e->code;
}
