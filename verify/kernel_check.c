/* Kernels: bytes against their records, entries against the plan's launches, and recompilation where the same
 * compiler is at hand. */
#include "artifacts/base/text.h"
#include "verify/verify.h"
#include <stdio.h>

static void bytes_match(report *r, const char *path, span bytes, digest recorded, finding_id id)
{
    char want[DIGEST_HEX], have[DIGEST_HEX];
    digest d = digest_of(bytes);
    if (digest_equal(d, recorded))
        return;
    digest_hex(recorded, want);
    digest_hex(d, have);
    findings_add(&r->fs, id, path, NULL, want, have, "expected sha256 %s by its record, found %s", want,
                 have);
}

/* Where a record could not be read, which is a finding of its own, none is known to be absent. */
static bool records_read(const bundle *b)
{
    for (uint64_t i = 0; i < b->n_kernels; i++)
        if (!b->kernels[i].record)
            return false;
    return true;
}

/* A digest is known of what is omitted: it is that of the record. */
static void omitted_match(report *r, const bundle *b, const char *path, digest recorded, finding_id id)
{
    char want[DIGEST_HEX], have[DIGEST_HEX];
    const manifest_omitted *o = manifest_find_omitted(b->man, path);
    if (!o || !o->has_sha256 || digest_equal(o->sha256, recorded))
        return;
    digest_hex(recorded, want);
    digest_hex(o->sha256, have);
    findings_add(&r->fs, id, path, NULL, want, have,
                 "expected the omitted file to have sha256 %s by its record, found %s", want, have);
}

/* The first omission of a kernel that the plan launches, and how many kernels are concerned. */
static const manifest_omitted *omissions(const bundle *b, uint64_t *n)
{
    const manifest_omitted *first = NULL;
    *n = 0;
    for (uint64_t i = 0; b->plan && i < b->plan->n_nodes; i++) {
        const plan_node *node = &b->plan->nodes[i];
        const manifest_omitted *o = node->op == NODE_KERNEL ? bundle_kernel_omitted(b, node->source) : NULL;
        first = first ? first : o;
        *n += o != NULL;
    }
    return first;
}

/* End a check over all kernels: unanswered where one was left out. */
static bool ended_by_omission(report *r, const bundle *b, const char *what)
{
    uint64_t n;
    const manifest_omitted *o = omissions(b, &n);
    if (!o)
        return false;
    r->required = false;
    report_not_checkable(r, "%s of %llu launches: %s is omitted: %s", what, (unsigned long long)n, o->path,
                         o->reason);
    return true;
}

static void check_records(report *r, const bundle *b)
{
    report_begin(r, "kernels.bytes", true);
    for (uint64_t i = 0; i < b->n_kernels; i++) {
        const bundle_kernel *k = &b->kernels[i];
        if (k->record) {
            omitted_match(r, b, k->record->source, k->record->source_sha256, FIND_KERNEL_SOURCE);
            omitted_match(r, b, k->record->ptx, k->record->ptx_sha256, FIND_KERNEL_PTX);
        }
        if (k->record && k->source.p)
            bytes_match(r, k->record->source, k->source, k->record->source_sha256, FIND_KERNEL_SOURCE);
        if (k->record && k->ptx.p)
            bytes_match(r, k->record->ptx, k->ptx, k->record->ptx_sha256, FIND_KERNEL_PTX);
    }
    for (size_t i = 0; i < b->man->n_files; i++)
        if (b->man->files[i].role == ROLE_SOURCE && records_read(b) &&
            !bundle_kernel_of(b, b->man->files[i].path) && !bundle_kernel_omitted(b, b->man->files[i].path))
            findings_add(&r->fs, FIND_KERNEL_SOURCE, b->man->files[i].path, NULL, NULL, NULL,
                         "expected a record of how it was compiled, found none");
    if (ended_by_omission(r, b, "the bytes"))
        return;
    report_end(r, "%llu sources and PTX files against the digests of their records",
               (unsigned long long)b->n_kernels);
}

static void check_entry(rp_err *e, report *r, const bundle *b, uint64_t node)
{
    const plan_node *n = &b->plan->nodes[node];
    const bundle_kernel *k = bundle_kernel_of(b, n->source);
    unsigned widths[PTX_MAX_PARAMS];
    uint64_t count, want = n->n_operands + 2; /* the operands, the destination, the parameter block */
    char where[48];
    snprintf(where, sizeof where, "/nodes/%llu/source", (unsigned long long)node);
    if (!k && (!records_read(b) || bundle_kernel_omitted(b, n->source)))
        return;
    if (!k) {
        findings_add(&r->fs, FIND_KERNEL_SOURCE, "plan/plan.json", where, NULL, NULL,
                     "expected a kernel record for %s, found none", n->source);
        return;
    }
    if (!k->ptx.p)
        return;
    if (strcmp(k->record->entry, n->entry))
        findings_add(&r->fs, FIND_KERNEL_ENTRY, k->record_path, "/entry", n->entry, k->record->entry,
                     "expected entry %s as launched, found %s", n->entry, k->record->entry);
    if (ptx_entry_params(e, &count, widths, k->record->ptx, k->ptx, n->entry)) {
        err_to_finding(e, &r->fs);
        return;
    }
    if (count != want)
        findings_add(&r->fs, FIND_KERNEL_ENTRY, k->record->ptx, NULL, NULL, NULL,
                     "expected %llu parameters of entry %s for node %llu, found %llu",
                     (unsigned long long)want, n->entry, (unsigned long long)node, (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        if (widths[i] != 8)
            findings_add(&r->fs, FIND_KERNEL_ENTRY, k->record->ptx, NULL, NULL, NULL,
                         "expected parameter %llu of entry %s to be 8 bytes, found %u", (unsigned long long)i,
                         n->entry, widths[i]);
}

static void check_entries(rp_err *e, report *r, const bundle *b)
{
    uint64_t launches = 0;
    report_begin(r, "kernels.entries", true);
    if (!b->plan) {
        report_not_checkable(r, "plan.json could not be read");
        return;
    }
    for (uint64_t i = 0; i < b->plan->n_nodes && !e->code; i++)
        if (b->plan->nodes[i].op == NODE_KERNEL) {
            launches++;
            check_entry(e, r, b, i);
        }
    if (!e->code && !ended_by_omission(r, b, "the entries"))
        report_end(r, "%llu launches: entry, parameter count and widths in the PTX",
                   (unsigned long long)launches);
}

static bool same_headers(const kernel_record *k, const compiled *c)
{
    if (k->n_headers != c->n_headers)
        return false;
    for (uint64_t i = 0; i < k->n_headers; i++)
        if (strcmp(k->headers[i].name, c->headers[i].name) ||
            !digest_equal(k->headers[i].sha256, c->headers[i].sha256))
            return false;
    return true;
}

typedef struct {
    uint64_t equal;
    const char *untied; /* why a source is not tied to its PTX, or NULL */
} ties;

static void recompile(rp_err *e, report *r, const bundle_kernel *k, const verify_options *opt, bool trusted,
                      ties *t)
{
    const kernel_record *rec = k->record;
    compiled c = {0};
    if (opt->compile(e, &c, r->sc, opt->compile_ctx, trusted, rec->source, k->source, rec->options,
                     rec->n_options))
        return;
    if (strcmp(c.compiler, rec->compiler) || strcmp(c.version, rec->version) || strcmp(c.build, rec->build))
        t->untied = scratch_printf(r->sc, "the compiler here is %s %s %s, the record's %s %s %s", c.compiler,
                                   c.version, c.build, rec->compiler, rec->version, rec->build);
    else if (!same_headers(rec, &c))
        t->untied = "the headers here have other digests";
    else if (!c.ok)
        findings_add(&r->fs, FIND_KERNEL_PTX, rec->source, NULL, NULL, NULL,
                     "expected it to compile as recorded, found: %.200s", c.log);
    else if (c.ptx.n != k->ptx.n || memcmp(c.ptx.p, k->ptx.p, c.ptx.n)) {
        size_t at = 0;
        while (at < c.ptx.n && at < k->ptx.n && c.ptx.p[at] == k->ptx.p[at])
            at++;
        findings_add(
            &r->fs, FIND_KERNEL_PTX, rec->ptx, NULL, NULL, NULL,
            "expected the %zu bytes that recompiling %s gives, found %zu that differ first at byte %zu",
            c.ptx.n, rec->source, k->ptx.n, at);
    } else
        t->equal++;
}

static void check_recompiled(rp_err *e, report *r, const bundle *b, const verify_options *opt, bool trusted)
{
    ties t = {0};
    uint64_t left_out;
    report_begin(r, "kernels.recompiled", false);
    if (opt->quick || !opt->compile) {
        report_not_checkable(r, "source not tied to the PTX: %s",
                             opt->quick            ? "--quick leaves recompiling out"
                             : opt->compiled_later ? "the run compiles them, and keeps what it ran"
                                                   : "no compiler at hand");
        return;
    }
    for (uint64_t i = 0; i < b->n_kernels && !e->code && !t.untied; i++)
        if (b->kernels[i].record && b->kernels[i].source.p && b->kernels[i].ptx.p)
            recompile(e, r, &b->kernels[i], opt, trusted, &t);
    if (e->code == RP_UNAVAILABLE || e->code == RP_WORKER) {
        report_not_checkable(r, "source not tied to the PTX: %s", e->msg);
        *e = (rp_err){0};
    } else if (!e->code && !t.untied && omissions(b, &left_out)) {
        (void)ended_by_omission(r, b, "source not tied to the PTX");
    } else if (t.untied) {
        report_not_checkable(r, "source not tied to the PTX: %s", t.untied);
    } else if (!e->code) {
        report_end(
            r, "%llu sources recompiled by the same compiler, options and headers: PTX equal byte for byte",
            (unsigned long long)t.equal);
    }
}

void verify_kernels(rp_err *e, report *r, const bundle *b, const verify_options *opt, bool trusted)
{
    if (e->code)
        return;
    check_records(r, b);
    check_entries(e, r, b);
    if (!e->code)
        check_recompiled(e, r, b, opt, trusted);
}
