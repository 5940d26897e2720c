#include "verify/verify.h"
#include "artifacts/base/text.h"
#include "verify/signature.h"
#include "verify/trust.h"

static rp_code check_container(rp_err *e, report *r, store *st)
{
    store_size size = store_sizes(st);
    report_begin(r, "container", true);
    if (store_check(e, st, &r->fs))
        return e->code;
    if (size.frames)
        report_end(r, "%zu files, %s bytes in %llu frames: every header, padding byte, size and digest",
                   store_manifest(st)->n_files, text_count(r->sc, size.stream_bytes),
                   (unsigned long long)size.frames);
    else
        report_end(
            r,
            "folder of %zu listed files: every size and digest, nothing unlisted; fixture data may be absent",
            store_manifest(st)->n_files);
    return RP_OK;
}

rp_code verify_bundle(rp_err *e, verify_result *out, report *r, store *st, const verify_options *opt)
{
    *out = (verify_result){0};
    if (check_container(e, r, st))
        return e->code;
    /* Faults of single documents were found by the container's check or belong to the stage that reads them:
     * `documents`. */
    report_begin(r, "documents", true);
    if (bundle_load(e, &out->bundle, &r->fs, r->sc, st))
        return e->code;
    report_end(r,
               "%scapture, plan, arena, calls, %llu kernels, reference, contract, %llu recipes: strict JSON, "
               "known keys, ranges",
               out->bundle->man->n_omitted ? "what is not omitted of " : "",
               (unsigned long long)out->bundle->n_kernels, (unsigned long long)out->bundle->n_fixtures);
    verify_omissions(r, out->bundle);
    if (verify_trust(e, r, out, opt))
        return e->code;
    verify_identity(e, r, out->bundle);
    verify_plan(e, r, out->bundle);
    verify_arena(e, r, out->bundle);
    verify_calls(e, r, out->bundle);
    verify_kernels(e, r, out->bundle, opt, out->pinned || out->is_signed);
    verify_fixtures(e, r, out->bundle, opt->quick);
    verify_contract(e, r, out->bundle);
    if (!e->code && bundle_complete(out->bundle)) {
        span document;
        if (plan_signature(e, &document, &out->signature, r->sc, out->bundle))
            return e->code;
        out->has_signature = true;
    }
    if (!e->code && opt->attestation_path)
        return verify_attestation(e, r, out, opt);
    return e->code;
}
