#include "replay/audit.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "replay/cli.h"
#include "replay/evidence.h"
#include "verify/signature.h"
#include <stdio.h>

static const uint64_t max_document = 64ULL << 20;

static rp_code check_sums(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    size_t n;
    report_begin(a->r, "SHA256SUMS", true);
    if (evidence_check_sums(e, &a->r->fs, &n, sc, dir))
        return e->code;
    report_end(a->r, "%zu files listed, none missing, none extra, every digest", n ? n - 1 : 0);
    return RP_OK;
}

/* Whether there is a record of a run or a list of its files: the folder of an interrupted campaign has
 * neither. */
static bool evidence_begun(scratch *sc, const char *dir)
{
    const char *record = file_join(sc, dir, "evidence.json"), *sums = file_join(sc, dir, evidence_sums_name);
    return !record || !sums || file_exists(record) || file_exists(sums);
}

/* Whether evidence has a place for a file of this path (replay/evidence.h). */
static bool has_place(const char *path)
{
    static const char *const tops[] = {"SHA256SUMS",
                                       "environment.json",
                                       "evidence.json",
                                       "plan_signature.json",
                                       "emulated/result.json",
                                       "emulated/distance.json",
                                       NULL};
    static const char *const in_phase[] = {
        "job.json",          "result.json", "library.log", "observed_signature.json",
        "instructions.json", "stderr.txt",  NULL};
    for (int i = 0; tops[i]; i++)
        if (!strcmp(path, tops[i]))
            return true;
    if (!strncmp(path, "bundle/", 7) || !strncmp(path, "compiled/", 9))
        return true; /* the bundle's own check is closed; so is what compiled/ is read for */
    const char *below = strncmp(path, "phases/", 7) ? NULL : strchr(path + 7, '/');
    if (!below)
        return false;
    for (int i = 0; in_phase[i]; i++)
        if (!strcmp(below + 1, in_phase[i]))
            return true;
    return !strncmp(below + 1, "outputs/", 8);
}

/* Whether the record claims the phase whose folder holds the file. */
static bool claimed_phase(scratch *sc, const run_record *c, const char *path)
{
    for (uint64_t i = 1; i <= c->n_phases; i++) {
        const char *folder = scratch_printf(sc, "phases/%llu-%s/", (unsigned long long)i, phase_name(sc, i));
        if (folder && !strncmp(path, folder, strlen(folder)))
            return true;
    }
    return false;
}

static rp_code check_places(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    const char *const *paths;
    size_t n;
    report_begin(a->r, "layout", true);
    if (file_tree(e, &paths, &n, sc, dir))
        return e->code;
    for (size_t i = 0; i < n; i++)
        if (!strncmp(paths[i], "phases/", 7) && a->have_claims && !claimed_phase(sc, &a->claimed, paths[i]))
            findings_add(&a->r->fs, FIND_EVIDENCE_CLAIM, paths[i], NULL, NULL, NULL,
                         "expected a phase that evidence.json claims, found a folder of another");
        else if (!has_place(paths[i]))
            findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, paths[i], NULL, NULL, NULL,
                         "expected no file of this name in evidence, found one");
    report_end(a->r, "every file has a place in evidence");
    return RP_OK;
}

static rp_code read_claims(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    span text;
    const char *path = file_join(sc, dir, "evidence.json");
    report_begin(a->r, "evidence.json", true);
    if (!path)
        return err_nomem(e);
    if (!file_exists(path)) {
        findings_add(&a->r->fs, FIND_EVIDENCE_PARTIAL, "evidence.json", NULL, NULL, NULL,
                     "expected the record of a completed run, found none");
    } else if (file_read(e, &text, sc, path, max_document)) {
        return e->code;
    } else if (record_read(e, &a->claimed, sc, "evidence.json", text)) {
        if (!err_to_finding(e, &a->r->fs))
            return e->code;
    } else {
        a->have_claims = true;
        if (record_is_partial(&a->claimed))
            findings_add(&a->r->fs, FIND_EVIDENCE_PARTIAL, "evidence.json", "/status", NULL, NULL,
                         "expected a completed run, found one that is %.20s: %.200s", a->claimed.status,
                         *a->claimed.reason ? a->claimed.reason : "it does not say why");
    }
    report_end(a->r, "the record of the run, %llu phases", (unsigned long long)a->claimed.n_phases);
    return RP_OK;
}

static rp_code read_ptx(rp_err *e, span **out, audited *a, scratch *sc, const char *dir)
{
    const bundle *b = a->v.bundle;
    span *ptx = scratch_array(sc, b->n_kernels, sizeof *ptx);
    if (!ptx)
        return err_nomem(e);
    for (uint64_t i = 0; i < b->n_kernels; i++) {
        const char *name = scratch_printf(sc, "compiled/%03llu.ptx", (unsigned long long)i),
                   *path = name ? file_join(sc, dir, name) : NULL;
        if (!path)
            return err_nomem(e);
        if (!file_exists(path))
            findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, name, NULL, NULL, NULL,
                         "expected the PTX that was run, found none");
        else if (file_read(e, &ptx[i], sc, path, max_document))
            return e->code;
    }
    *out = ptx;
    return RP_OK;
}

/* Whether what the GPU ran is the PTX that the bundle retains. */
static void check_tie(audited *a, const span *ptx)
{
    const bundle *b = a->v.bundle;
    uint64_t equal = 0;
    report_begin(a->r, "compiled PTX", false);
    for (uint64_t i = 0; i < b->n_kernels; i++)
        equal += ptx[i].n == b->kernels[i].ptx.n && !memcmp(ptx[i].p, b->kernels[i].ptx.p, ptx[i].n);
    if (equal == b->n_kernels)
        report_end(a->r, "what the device ran equals the bundle's PTX, %llu kernels",
                   (unsigned long long)equal);
    else
        report_not_checkable(
            a->r,
            "%llu of %llu kernels were run as another PTX than the bundle's: source not tied to the PTX",
            (unsigned long long)(b->n_kernels - equal), (unsigned long long)b->n_kernels);
}

static rp_code check_plan_signature(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    span have, want;
    const char *path = file_join(sc, dir, "plan_signature.json");
    report_begin(a->r, "plan signature", true);
    if (!path)
        return err_nomem(e);
    if (plan_signature(e, &want, &a->recomputed.plan_signature, sc, a->v.bundle))
        return e->code;
    if (!file_exists(path))
        findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, "plan_signature.json", NULL, NULL, NULL,
                     "expected the document, found none");
    else if (file_read(e, &have, sc, path, max_document))
        return e->code;
    else if (have.n != want.n || memcmp(have.p, want.p, want.n))
        findings_add(&a->r->fs, FIND_RUN_SIGNATURE, "plan_signature.json", NULL, NULL, NULL,
                     "expected the document that the bundle gives, found another");
    report_end(a->r, "recomputed from the retained documents");
    return RP_OK;
}

/* Judge every claimed phase; a phase without a result keeps the controller's status. */
static rp_code judge_all(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    for (uint64_t i = 0; i < a->claimed.n_phases; i++) {
        const phase_record *c = &a->claimed.phases[i];
        phase_record *p = &a->j->phases[a->j->n_phases++];
        const char *name = phase_name(sc, i + 1);
        const char *shown = scratch_printf(sc, "phases/%llu-%s", (unsigned long long)(i + 1), name),
                   *full = shown ? file_join(sc, dir, shown) : NULL;
        *p = (phase_record){.index = i + 1, .name = name, .error = c->error, .status = c->status};
        if (!full)
            return err_nomem(e);
        /* A status that rests on a result must come from one. */
        bool needs_result =
            c->status == PHASE_PASSED || c->status == PHASE_NUMERICAL || c->status == PHASE_PROFILE_FAILED;
        const char *answer = file_join(sc, full, "result.json");
        if (needs_result && answer && !file_exists(answer)) {
            findings_add(&a->r->fs, FIND_EVIDENCE_CLAIM, "evidence.json", name, NULL, NULL,
                         "phase %s is claimed %s, found no result to judge", name,
                         phase_status_names[c->status]);
            p->status = PHASE_NOT_RUN;
        }
        if (judge_phase(e, a->r, a->j, p, a->l, full, shown)) {
            if (e->code != RP_INVALID && e->code != RP_IO)
                return e->code;
            findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, shown, e->where, NULL, NULL, "%s: %s", e->file,
                         e->msg);
            *e = (rp_err){0};
            p->status = PHASE_REJECTED;
        }
    }
    judge_signatures(a->r, a->j);
    return RP_OK;
}

/* environment.json names the device that the results name. */
static rp_code check_environment(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    static const char file[] = "environment.json";
    const result *r = a->j->first;
    js_node *root, *device;
    const char *name, *uuid, *driver, *path = file_join(sc, dir, file);
    span text;
    report_begin(a->r, file, true);
    if (!path)
        return err_nomem(e);
    if (!r) {
        report_not_checkable(a->r, "no phase gave a result");
        return RP_OK;
    }
    if (!file_exists(path)) {
        findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, file, NULL, NULL, NULL,
                     "expected the document, found none");
    } else if (file_read(e, &text, sc, path, max_document) || js_parse(e, &root, sc, file, text) ||
               js_format(e, root, "replay-environment/0") || js_obj(e, &device, root, "device") ||
               js_str(e, &name, device, "name") || js_str(e, &uuid, device, "uuid_sha256") ||
               js_str(e, &driver, device, "driver")) {
        if (!err_to_finding(e, &a->r->fs))
            return e->code;
    } else if (strcmp(name, r->device_name) || strcmp(uuid, r->device_uuid_sha256) ||
               strcmp(driver, r->driver)) {
        findings_add(&a->r->fs, FIND_EVIDENCE_CLAIM, file, "/device", NULL, NULL,
                     "expected %s under driver %s, as the results say, found %s under %s", r->device_name,
                     r->driver, name, driver);
    }
    report_end(a->r, "device and driver as the results name them");
    return RP_OK;
}

static void claim_u64(audited *a, const char *where, uint64_t claimed, uint64_t found)
{
    if (claimed != found)
        findings_add(&a->r->fs, FIND_EVIDENCE_CLAIM, "evidence.json", where, NULL, NULL,
                     "claimed %llu, recomputed %llu", (unsigned long long)claimed, (unsigned long long)found);
}

static void claim_text(audited *a, const char *where, const char *claimed, const char *found)
{
    if (strcmp(claimed, found))
        findings_add(&a->r->fs, FIND_EVIDENCE_CLAIM, "evidence.json", where, NULL, NULL,
                     "claimed %.80s, recomputed %s", claimed, found);
}

static void claim_digest(audited *a, const char *where, bool has_claimed, digest claimed, bool has_found,
                         digest found)
{
    char c[DIGEST_HEX] = "none", f[DIGEST_HEX] = "none";
    if (has_claimed)
        digest_hex(claimed, c);
    if (has_found)
        digest_hex(found, f);
    claim_text(a, where, c, f);
}

static void compare_phase(audited *a, uint64_t i)
{
    const phase_record *c = &a->claimed.phases[i], *f = &a->recomputed.phases[i];
    char where[64];
    snprintf(where, sizeof where, "/phases/%llu/status", (unsigned long long)i);
    claim_text(a, where, phase_status_names[c->status], phase_status_names[f->status]);
    snprintf(where, sizeof where, "/phases/%llu/name", (unsigned long long)i);
    claim_text(a, where, c->name, f->name);
    snprintf(where, sizeof where, "/phases/%llu/checks_passed", (unsigned long long)i);
    claim_u64(a, where, c->checks_passed, f->checks_passed);
    snprintf(where, sizeof where, "/phases/%llu/checks_total", (unsigned long long)i);
    claim_u64(a, where, c->checks_total, f->checks_total);
    snprintf(where, sizeof where, "/phases/%llu/observed_signature", (unsigned long long)i);
    claim_digest(a, where, c->has_observed, c->observed, f->has_observed, f->observed);
}

static void compare_timing(audited *a, uint64_t i)
{
    const claimed_timing *c = &a->claimed.timings[i], *f = &a->recomputed.timings[i];
    char where[64];
    snprintf(where, sizeof where, "/timings/%llu/scope", (unsigned long long)i);
    claim_text(a, where, c->scope, f->scope);
    snprintf(where, sizeof where, "/timings/%llu/processes", (unsigned long long)i);
    claim_u64(a, where, c->processes, f->processes);
    snprintf(where, sizeof where, "/timings/%llu/median_ps", (unsigned long long)i);
    claim_u64(a, where, c->s.median_ps, f->s.median_ps);
    snprintf(where, sizeof where, "/timings/%llu/min_ps", (unsigned long long)i);
    claim_u64(a, where, c->s.min_ps, f->s.min_ps);
    snprintf(where, sizeof where, "/timings/%llu/max_ps", (unsigned long long)i);
    claim_u64(a, where, c->s.max_ps, f->s.max_ps);
}

static void compare_claims(audited *a)
{
    const run_record *c = &a->claimed, *f = &a->recomputed;
    report_begin(a->r, "claims", true);
    for (uint64_t i = 0; i < c->n_phases; i++)
        compare_phase(a, i);
    claim_u64(a, "/timings", c->n_timings, f->n_timings);
    for (uint64_t i = 0; i < c->n_timings && i < f->n_timings; i++)
        compare_timing(a, i);
    claim_u64(a, "/phases", c->phases_requested, c->n_phases);
    claim_u64(a, "/checks_passed", c->checks_passed, f->checks_passed);
    claim_u64(a, "/checks_total", c->checks_total, f->checks_total);
    claim_text(a, "/status", c->status, f->status);
    claim_text(a, "/bundle/name", c->bundle_name, f->bundle_name);
    claim_digest(a, "/bundle/root", true, c->root, true, f->root);
    claim_digest(a, "/plan_signature", true, c->plan_signature, true, f->plan_signature);
    claim_digest(a, "/observed_signature", c->has_observed, c->observed_signature, f->has_observed,
                 f->observed_signature);
    report_end(
        a->r,
        "status, %llu phases, %llu of %llu output checks, signatures, %llu timings: claimed = recomputed",
        (unsigned long long)f->n_phases, (unsigned long long)f->checks_passed,
        (unsigned long long)f->checks_total, (unsigned long long)f->n_timings);
}

static rp_code audit_phases(rp_err *e, audited *a, scratch *sc, const char *dir)
{
    span *ptx = NULL;
    if (read_ptx(e, &ptx, a, sc, dir))
        return e->code;
    check_tie(a, ptx);
    if (check_plan_signature(e, a, sc, dir) || lower_bundle(e, &a->l, sc, a->v.bundle, ptx) ||
        judgement_new(e, &a->j, sc, a->l) || judge_all(e, a, sc, dir) || check_environment(e, a, sc, dir))
        return e->code;
    a->recomputed.bundle_name = a->v.bundle->man->name;
    a->recomputed.root = a->v.bundle->man->root;
    a->recomputed.phases_requested = a->claimed.phases_requested;
    a->recomputed.device_requested = a->claimed.device_requested;
    a->recomputed.trust = (int)a->v.trust;
    record_from_judgement(&a->recomputed, sc, a->j);
    compare_claims(a);
    return RP_OK;
}

rp_code audit_folder(rp_err *e, audited *a, scratch *sc, const char *dir, const verify_options *opt)
{
    const char *bundle_dir = file_join(sc, dir, "bundle");
    *a = (audited){.r = report_new(sc)};
    if (!a->r || !bundle_dir)
        return err_nomem(e);
    if (!file_is_dir(dir)) {
        err_set(e, RP_IO, "expected a folder of evidence");
        return err_file(e, dir);
    }
    if (check_sums(e, a, sc, dir) || evidence_beyond_limits(&a->r->fs))
        return e->code;
    if (read_claims(e, a, sc, dir))
        return e->code;
    if (!evidence_begun(sc, dir)) {
        report_begin(a->r, "phases", true);
        report_not_checkable(
            a->r, "neither a record nor a list of files: what runs are below is asked for one by one");
        return RP_OK;
    }
    if (check_places(e, a, sc, dir))
        return e->code;
    if (store_open_folder(e, &a->st, bundle_dir)) {
        report_begin(a->r, "bundle", true);
        findings_add(&a->r->fs, FIND_EVIDENCE_INVALID, "bundle", e->where, NULL, NULL,
                     "expected the bundle's documents: %s", e->msg);
        *e = (rp_err){0};
        report_end(a->r, "the bundle's documents");
        return RP_OK;
    }
    if (verify_bundle(e, &a->v, a->r, a->st, opt))
        return e->code;
    if (bundle_runnable(a->v.bundle) && a->have_claims)
        return audit_phases(e, a, sc, dir);
    report_begin(a->r, "phases", true);
    report_not_checkable(a->r, "the retained documents are not enough to judge the phases by");
    return RP_OK;
}

int audit_exit(const audited *a)
{
    int code = cli_verdict_exit(a->r);
    /* Evidence can be sound and tell of a run that did not pass. */
    return a->j ? cli_worse(code, status_exit(record_status(&a->recomputed, a->j))) : code;
}

void audit_clear(audited *a)
{
    store_free(a->st);
}

const char *const *audit_not_rechecked(scratch *sc, const audited *a)
{
    const char **v = scratch_array(sc, 8, sizeof *v);
    size_t n = 0;
    if (!v)
        return NULL;
    v[n++] = "timings, guard bands, stray writes and the graph rest on the worker's word";
    v[n++] = "instruction counts: the cubins are not retained";
    v[n++] = "fixture data is regenerated, not retained";
    if (a->j && *a->j->not_observed)
        v[n++] = scratch_printf(sc, "the library's log does not show: %s", a->j->not_observed);
    if (a->v.trust == TRUST_SELF_CONSISTENT)
        v[n++] = scratch_printf(
            sc, "that this is the bundle you mean, and the run's word that it was %s: give --root",
            trust_names[a->claimed.trust]);
    v[n++] =
        a->is_signed
            ? "that the signers saw the run: they stand behind these files, not behind how they were made"
            : "who made this folder: it is self-consistent, not signed";
    return v;
}
