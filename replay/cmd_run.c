/* run: verify, compile, then one fresh process a phase; what comes back is written first and judged from what
 * was written. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/cli.h"
#include "replay/disasm.h"
#include "replay/environment.h"
#include "replay/options.h"
#include "replay/run.h"
#include "replay/summary.h"
#include "verify/signature.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PHASE_DEADLINE_MS = 120000 };
static const uint64_t max_output_bytes = 16ULL << 30;

void run_say(const run *x, const char *fmt, ...)
{
    va_list ap;
    if (!x->progress)
        return;
    va_start(ap, fmt);
    vfprintf(x->progress, fmt, ap);
    va_end(ap);
    fflush(x->progress);
}

/* --- Before the first phase. --- */

/* What the GPU runs is what the compiler here makes of the captured source; the emulator runs the PTX that
 * was retained. */
static rp_code compile_all(rp_err *e, run *x)
{
    const bundle *b = x->v.bundle;
    x->ptx = scratch_array(x->sc, b->n_kernels, sizeof *x->ptx);
    if (!x->ptx)
        return err_nomem(e);
    for (uint64_t i = 0; x->emulated && i < b->n_kernels; i++) {
        char name[64];
        snprintf(name, sizeof name, "compiled/%03llu.ptx", (unsigned long long)i);
        x->ptx[i] = b->kernels[i].ptx;
        if (evidence_put(e, &x->ev, name, x->ptx[i]))
            return e->code;
    }
    for (uint64_t i = 0; !x->emulated && i < b->n_kernels; i++) {
        const kernel_record *k = b->kernels[i].record;
        compiled c;
        char name[64];
        if (cli_compile(e, &c, x->sc, (void *)(uintptr_t)x->worker, x->v.trust == TRUST_PINNED, k->source,
                        b->kernels[i].source, k->options, k->n_options))
            return e->code;
        if (!c.ok) {
            err_set(e, RP_WORKER, "expected the captured source to compile, found: %.300s", c.log);
            return err_file(e, k->source);
        }
        x->ptx[i] = c.ptx;
        snprintf(name, sizeof name, "compiled/%03llu.ptx", (unsigned long long)i);
        if (evidence_put(e, &x->ev, name, c.ptx))
            return e->code;
    }
    return RP_OK;
}

static rp_code put_bundle(rp_err *e, run *x)
{
    const manifest *m = x->v.bundle->man;
    span document;
    if (evidence_put(e, &x->ev, "bundle/manifest.json", store_manifest_bytes(x->st)))
        return e->code;
    for (size_t i = 0; i < m->n_files; i++) {
        span bytes;
        const char *path = scratch_printf(x->sc, "bundle/%s", m->files[i].path);
        if (m->files[i].role == ROLE_FIXTURE)
            continue;
        if (!path)
            return err_nomem(e);
        if (store_read(e, &bytes, x->sc, x->st, m->files[i].path) || evidence_put(e, &x->ev, path, bytes))
            return e->code;
    }
    if (plan_signature(e, &document, &x->rec.plan_signature, x->sc, x->v.bundle))
        return e->code;
    return evidence_put(e, &x->ev, "plan_signature.json", document);
}

rp_code run_prepare(rp_err *e, run *x)
{
    x->rec = (run_record){.bundle_name = x->v.bundle->man->name,
                          .device_requested = x->opt->device,
                          .root = x->v.bundle->man->root,
                          .trust = (int)x->v.trust,
                          .phases_requested = x->opt->phases,
                          .plan_signature = x->v.signature,
                          .status = "",
                          .reason = ""};
    if (proc_interrupted())
        return err_set(e, RP_INTERRUPTED, "interrupted before anything was written");
    if (evidence_begin(e, &x->ev, x->sc, x->opt->out) || put_bundle(e, x) || compile_all(e, x) ||
        lower_bundle(e, &x->l, x->sc, x->v.bundle, x->ptx) || judgement_new(e, &x->j, x->sc, x->l))
        return e->code;
    x->data_fd = file_temp(e);
    return x->data_fd < 0 ? e->code : lower_write_data(e, x->l, x->data_fd);
}

/* --- One phase. --- */

/* Each phase first re-checks identity, from the file anew. */
static rp_code recheck(rp_err *e, run *x, bool *same)
{
    report *r = report_new(x->sc);
    store *st = NULL;
    size_t before = x->r->fs.n;
    report_begin(x->r, "identity before the phase", true);
    if (!r)
        err_nomem(e);
    else if (!store_open(e, &st, x->opt->path) && !store_check(e, st, &x->r->fs)) {
        if (!digest_equal(store_manifest(st)->root, x->rec.root))
            findings_add(&x->r->fs, FIND_TRUST_ROOT, "manifest.json", NULL, NULL, NULL,
                         "expected the root that was verified, found another");
        verify_identity(e, r, x->v.bundle);
        for (size_t i = 0; i < r->fs.n; i++)
            findings_add(&x->r->fs, r->fs.v[i].id, r->fs.v[i].file, r->fs.v[i].where, NULL, NULL, "%s",
                         r->fs.v[i].message);
    }
    store_free(st);
    (void)err_to_finding(e,
                         &x->r->fs); /* no longer what was verified, so far gone that it cannot be opened */
    *same = x->r->fs.n == before;
    if (!*same)
        report_end(x->r, "container, root and captured digests, texts and tables");
    return e->code;
}

static rp_code put_in(rp_err *e, const run *x, const char *dir, const char *name, span bytes)
{
    const char *path = file_join(x->sc, dir, name);
    return path ? evidence_put(e, &x->ev, path, bytes) : err_nomem(e);
}

static rp_code put_outputs(rp_err *e, run *x, const char *dir, const client_phase *c)
{
    const job *b = &x->l->base;
    if (b->output_bytes > max_output_bytes)
        return err_set(e, RP_NOMEM, "the outputs take %llu bytes, at most %llu are handled",
                       (unsigned long long)b->output_bytes, (unsigned long long)max_output_bytes);
    for (uint64_t i = 0; i < x->l->n_fixtures; i++) {
        const lowered_fixture *f = &x->l->fixtures[i];
        uint64_t from = b->fixtures[i].outputs[0].offset_bytes,
                 to = i + 1 < x->l->n_fixtures ? b->fixtures[i + 1].outputs[0].offset_bytes : b->output_bytes;
        scratch *sc = scratch_new(0);
        size_t n = (size_t)(to - from), at = 0;
        uint8_t *actual = sc ? scratch_alloc(sc, n) : NULL, *expected = sc ? scratch_alloc(sc, n) : NULL;
        const char *path = scratch_printf(x->sc, "%s/outputs/%s.xor.zst", dir, f->name);
        if (!actual || !expected || !path) {
            err_nomem(e);
        } else if (!file_pread(e, c->output_fd, "the worker's outputs", actual, n, from)) {
            for (size_t o = 0; o < f->n_outputs; o++) {
                size_t bytes = (size_t)(f->expected[o].elements * dtype_bytes(f->expected[o].type));
                memcpy(expected + at, f->expected[o].data, bytes);
                at += bytes;
            }
            (void)!evidence_put_xor(e, &x->ev, path, span_of(actual, n), span_of(expected, n));
        } else if (e->code == RP_IO) {
            e->code = RP_WORKER; /* a short blob is the worker's fault, not the disk's */
        }
        scratch_free(sc);
        if (e->code)
            return e->code;
    }
    return RP_OK;
}

/* Instruction counts of the cubins, where a disassembler is present. The cubins themselves are not kept. */
static rp_code put_instructions(rp_err *e, run *x, const char *dir, const client_phase *c)
{
    const char *tool = disasm_find(x->sc);
    if (!tool)
        return RP_OK;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-instructions/0");
    jw_arr(j, "cubins");
    for (uint64_t i = 0; i < c->result->n_cubins && !e->code; i++) {
        const result_cubin *k = &c->result->cubins[i];
        const char *matrix = "";
        size_t n = (size_t)k->bytes;
        uint8_t *bytes = k->bytes < max_output_bytes ? scratch_alloc(x->sc, n) : NULL;
        if (!bytes || file_pread(e, c->output_fd, "the worker's cubins", bytes, n, k->output_offset_bytes))
            break;
        jw_obj(j, NULL);
        jw_digest(j, "sha256", digest_of(span_of(bytes, n)));
        jw_u64(j, "bytes", k->bytes);
        jw_str(j, "kernels", k->kernels);
        if (disasm_cubin(e, j, &matrix, x->sc, tool, span_of(bytes, n), k->kernels) == RP_UNAVAILABLE) {
            jw_str(j, "error", e->msg);
            *e = (rp_err){0};
        }
        jw_str(j, "matrix_instructions", matrix);
        jw_end(j);
        if (*matrix)
            run_say(x, "  %s: %s\n", text_safe(x->sc, k->kernels), text_safe(x->sc, matrix));
    }
    jw_end(j);
    jw_end(j);
    span text;
    if (!e->code && !jw_finish(e, &text, j))
        (void)!put_in(e, x, dir, "instructions.json", text);
    jw_free(j);
    return e->code;
}

static rp_code put_result(rp_err *e, run *x, const char *dir, const client_phase *c)
{
    span document;
    digest d;
    if (put_in(e, x, dir, "result.json", c->result_text) ||
        put_in(e, x, dir, "library.log", span_str(c->result->library_log)) ||
        observed_signature(e, &document, &d, x->sc, c->result) ||
        put_in(e, x, dir, "observed_signature.json", document))
        return e->code;
    if (c->result->n_fixtures && put_outputs(e, x, dir, c))
        return e->code;
    return c->result->phase == JOB_INSTRUCTIONS && c->result->ok ? put_instructions(e, x, dir, c) : RP_OK;
}

/* A worker that broke costs its phase and stays in the record. */
static rp_code keep_failure(rp_err *e, run *x, phase_record *p, const char *dir, const client_phase *c)
{
    p->status = PHASE_PROCESS_FAILED;
    p->error = scratch_strdup(x->sc, e->msg);
    *e = (rp_err){0};
    if (!p->error)
        return err_nomem(e);
    return *c->err_text ? put_in(e, x, dir, "stderr.txt", span_str(c->err_text)) : RP_OK;
}

rp_code run_phase(rp_err *e, run *x, uint64_t index)
{
    phase_record *p = &x->j->phases[x->j->n_phases++];
    client_phase c = {.output_fd = -1, .err_text = ""};
    span job_text;
    bool same;
    *p = (phase_record){
        .index = index, .name = phase_name(x->sc, index), .error = "", .status = PHASE_NOT_RUN};
    const char *dir = scratch_printf(x->sc, "phases/%llu-%s", (unsigned long long)index, p->name);
    const char *full = dir ? file_join(x->sc, x->ev.dir, dir) : NULL;
    if (!full)
        return err_nomem(e);
    if (recheck(e, x, &same))
        return e->code;
    if (!same) {
        p->status = PHASE_REJECTED;
        p->error = "the bundle is not the one that was verified";
        return RP_OK;
    }
    if (lower_job(e, &job_text, x->sc, x->l, phase_kind(index)) || put_in(e, x, dir, "job.json", job_text))
        return e->code;
    if (client_run(e, &c, x->sc, x->worker, job_text, x->data_fd,
                   x->emulated ? RUN_EMULATED_DEADLINE_MS : PHASE_DEADLINE_MS) ||
        put_result(e, x, dir, &c)) {
        if (e->code == RP_WORKER || e->code == RP_UNAVAILABLE)
            (void)keep_failure(e, x, p, dir, &c);
    } else {
        (void)!judge_phase(e, x->r, x->j, p, x->l, full, dir);
    }
    if (c.output_fd >= 0)
        close(c.output_fd);
    run_say(x, "phase %llu %-12s  %s%s%s, %llu/%llu outputs\n", (unsigned long long)index, p->name,
            phase_status_names[p->status], *p->error ? ": " : "", text_safe(x->sc, p->error),
            (unsigned long long)p->checks_passed, (unsigned long long)p->checks_total);
    return e->code;
}

/* A failed identity stops everything; any failure of phase 1 but a numerical one stops the rest. */
bool run_goes_on(const run *x)
{
    const phase_record *last = &x->j->phases[x->j->n_phases - 1];
    if (last->index == 1)
        return last->status == PHASE_PASSED || last->status == PHASE_NUMERICAL;
    return !(last->status == PHASE_REJECTED && !last->checks_total);
}

void run_skip(run *x, uint64_t index, const char *reason)
{
    x->j->phases[x->j->n_phases++] = (phase_record){
        .index = index, .name = phase_name(x->sc, index), .error = reason, .status = PHASE_NOT_RUN};
}

rp_code run_phases(rp_err *e, run *x)
{
    for (uint64_t i = 1; i <= x->opt->phases; i++) {
        if (proc_interrupted())
            return err_set(e, RP_INTERRUPTED, "interrupted before phase %llu", (unsigned long long)i);
        if (run_phase(e, x, i))
            return e->code;
        if (run_goes_on(x))
            continue;
        for (uint64_t k = i + 1; k <= x->opt->phases; k++)
            run_skip(x, k, "an earlier phase failed");
        break;
    }
    judge_signatures(x->r, x->j);
    return RP_OK;
}

rp_code run_finish(rp_err *e, run *x, const rp_err *why)
{
    jw *j = jw_new(JW_PRETTY);
    span text;
    if (why)
        record_partial(&x->rec, x->sc, x->j, why);
    else
        record_from_judgement(&x->rec, x->sc, x->j);
    record_write(j, &x->rec);
    if (!jw_finish(e, &text, j) && !evidence_put(e, &x->ev, "evidence.json", text) &&
        !environment_put(e, &x->ev, x->j ? x->j->first : NULL, x->v.has_signature ? &x->device : NULL))
        (void)!evidence_end(e, &x->ev, !why);
    jw_free(j);
    return e->code;
}

/* --- Answers. --- */

static int print_answer(run *x, int code)
{
    if (x->opt->json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-run/0");
        cli_tool_json(j);
        jw_str(j, "evidence", x->opt->out);
        summary_json(j, x->sc, &x->rec, x->j, x->l);
        report_json(j, x->r);
        jw_i64(j, "exit", code);
        jw_end(j);
        return cli_print_json(j, code);
    }
    putchar('\n');
    report_print_findings(x->r, stdout);
    summary_print(stdout, x->sc, &x->rec, x->j, x->l);
    printf("evidence: %s\n", text_safe(x->sc, x->opt->out));
    return cli_finish(code);
}

/* No device: say so, and what would run. */
static int print_unavailable(run *x, const char *reason)
{
    const plan *p = x->v.bundle->plan;
    if (x->opt->json) {
        char hex[DIGEST_HEX];
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-run/0");
        cli_tool_json(j);
        jw_str(j, "status", phase_status_names[PHASE_UNAVAILABLE]);
        jw_str(j, "reason", reason);
        digest_hex(x->v.signature, hex);
        jw_str(j, "plan_signature", hex);
        report_json(j, x->r);
        jw_i64(j, "exit", EXIT_UNAVAILABLE);
        jw_end(j);
        return cli_print_json(j, EXIT_UNAVAILABLE);
    }
    printf("unavailable: %s\n\nThe bundle is verified. On a GPU, %llu phases would each launch, in a fresh "
           "process:\n",
           text_safe(x->sc, reason), (unsigned long long)x->opt->phases);
    printf("  a copy of the %llu parameter bytes\n", (unsigned long long)plan_parameter_bytes(p));
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        if (n->op == NODE_MATMUL)
            printf("  node %llu  cublasLtMatmul m=%llu n=%llu k=%llu (replay resolve --cpu-only)\n",
                   (unsigned long long)i, (unsigned long long)n->spec.m, (unsigned long long)n->spec.n,
                   (unsigned long long)n->spec.k);
        else if (n->op == NODE_KERNEL)
            printf("  node %llu  %s of %s, grid %llu,%llu,%llu block %llu,%llu,%llu\n", (unsigned long long)i,
                   n->entry, n->source, (unsigned long long)n->grid[0], (unsigned long long)n->grid[1],
                   (unsigned long long)n->grid[2], (unsigned long long)n->block[0],
                   (unsigned long long)n->block[1], (unsigned long long)n->block[2]);
        else if (n->op == NODE_COPY)
            printf("  node %llu  copy\n", (unsigned long long)i);
    }
    printf("and check %llu outputs, %llu in all.\n",
           (unsigned long long)x->v.bundle->contract->checks_per_phase,
           (unsigned long long)(x->v.bundle->contract->checks_per_phase * x->opt->phases));
    return cli_finish(EXIT_UNAVAILABLE);
}

static bool run_needs(const char *path)
{
    switch (manifest_role_of(path)) {
    case ROLE_TEXT:
    case ROLE_FIXTURE: /* made anew */
    case ROLE_EVIDENCE:
    case ROLE_COUNT:
        return false;
    default:
        return true;
    }
}

/* Verified, but a part that running needs was left out: half a plan is not run. The omissions that stop it,
 * with their reasons. */
static void ask_for_all(run *x)
{
    const manifest *m = x->v.bundle->man;
    const char *list = "", *reason = NULL;
    if (report_verdict(x->r) != CHECK_PASSED || bundle_runnable(x->v.bundle))
        return;
    report_begin(x->r, "complete", true);
    for (size_t i = 0; i < m->n_omitted && list; i++) {
        const manifest_omitted *o = &m->omitted[i];
        if (!run_needs(o->path))
            continue;
        if (reason && strcmp(reason, o->reason))
            list = scratch_printf(x->sc, "%s (%s)", list, reason);
        list = list ? scratch_printf(x->sc, "%s%s%s", list, reason ? ", " : "", o->path) : NULL;
        reason = o->reason;
    }
    report_not_checkable(x->r, "a run needs what is omitted: %s (%s)", list ? list : "",
                         reason ? reason : "");
}

rp_code run_verify(rp_err *e, run *x, bool *accepted)
{
    verify_options vo = {.root = x->opt->root, .compiled_later = true};
    *accepted = false;
    report_begin(x->r, "container", true);
    if (store_open(e, &x->st, x->opt->path)) {
        /* A manifest that was reached and breaks a rule is an answered no. */
        if (strncmp(finding_name(e->id), "container.", strlen("container.")) &&
            err_to_finding(e, &x->r->fs)) {
            report_end(x->r, "manifest.json");
            return RP_OK;
        }
        return err_file(e, x->opt->path);
    }
    if (verify_bundle(e, &x->v, x->r, x->st, &vo))
        return err_file(e, x->opt->path);
    ask_for_all(x);
    *accepted = report_verdict(x->r) == CHECK_PASSED && bundle_runnable(x->v.bundle);
    if (*accepted)
        run_say(x, "%s: verified, trust: %s\n", text_safe(x->sc, x->v.bundle->man->name),
                trust_names[x->v.trust]);
    return RP_OK;
}

static int print_refused(run *x)
{
    int code = cli_verdict_exit(x->r);
    if (x->opt->json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-run/0");
        cli_tool_json(j);
        jw_str(j, "status", check_status_names[report_verdict(x->r)]);
        report_json(j, x->r);
        jw_i64(j, "exit", code);
        jw_end(j);
        return cli_print_json(j, code);
    }
    report_print(x->r, stdout);
    puts("not run: the bundle was not accepted");
    return cli_finish(code);
}

rp_code run_probe(rp_err *e, run *x, const char **why)
{
    *why = NULL;
    if (run_wants_emulator(x, false))
        return run_probe_emulator(e, x, why);
    if (client_probe(e, &x->device, x->sc, x->worker)) {
        const char *said = scratch_strdup(x->sc, e->msg);
        if (e->code != RP_UNAVAILABLE)
            return e->code;
        *e = (rp_err){0};
        *why = scratch_printf(x->sc, "no GPU worker (%s)", said ? said : "");
        x->device.available = false;
    } else if (!x->device.available) {
        *why = scratch_printf(x->sc, "no GPU (%s)", x->device.reason);
    }
    if (!x->device.available)
        return !*why ? err_nomem(e) : run_wants_emulator(x, true) ? run_probe_emulator(e, x, why) : RP_OK;
    run_say(x, "%s, compute capability %s, driver %s, cuBLASLt %s\n", text_safe(x->sc, x->device.device_name),
            text_safe(x->sc, x->device.compute_capability), text_safe(x->sc, x->device.driver),
            text_safe(x->sc, x->device.cublaslt));
    return RP_OK;
}

rp_code run_to_end(rp_err *e, run *x, int *exit_code)
{
    bool both = !strcmp(x->opt->device, "both");
    if (run_prepare(e, x) || run_phases(e, x) || (both && run_compare_emulator(e, x)) ||
        run_finish(e, x, NULL))
        return e->code;
    *exit_code = cli_worse(status_exit(record_status(&x->rec, x->j)),
                           x->memory_rejected ? EXIT_REJECTED : EXIT_PASSED);
    return RP_OK;
}

/* As well as can be. */
void run_label_partial(run *x, const rp_err *why)
{
    rp_err late = {0};
    if (!x->ev.dir)
        return;
    fprintf(stderr, "replay run: what was retained stays in %s, which is not a complete run\n",
            text_safe(x->sc, x->ev.dir));
    if (run_finish(&late, x, why))
        fprintf(stderr, "replay run: and it could not be labelled: %s\n", late.msg);
}

static int execute(rp_err *e, run *x)
{
    bool accepted;
    const char *why;
    if (run_verify(e, x, &accepted))
        return cli_error("run", e, x->opt->json);
    if (!accepted)
        return print_refused(x);
    if (run_probe(e, x, &why))
        return cli_error("run", e, x->opt->json);
    if (why)
        return print_unavailable(x, why);
    int code = EXIT_BUG;
    if (!run_to_end(e, x, &code))
        return print_answer(x, code);
    code = cli_error("run", e, x->opt->json);
    run_label_partial(x, e);
    return code;
}

static bool parse_phases(uint64_t *out, const char *s)
{
    char *end;
    if (*s < '1' || *s > '9' || strlen(s) > 2)
        return false;
    *out = strtoull(s, &end, 10);
    return !*end && *out <= MAX_PHASES;
}

static bool parse(run_options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"phases", required_argument, NULL, 'p'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"out", required_argument, NULL, 'o'},
                                          OPTIONS_ROOT,
                                          OPTIONS_LIMITS,
                                          {"json", no_argument, NULL, 'j'},
                                          {"pair", required_argument, NULL, 'P'},
                                          {0}};
    shared_options shared = {0};
    int c, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == 'p' && !parse_phases(&o->phases, optarg))
            return cli_usage("run", "expected --phases 1 to %d, found \"%.40s\"", MAX_PHASES, optarg), false;
        if (c == 'd' && strcmp(optarg, "gpu") && strcmp(optarg, "auto") && strcmp(optarg, "emu") &&
            strcmp(optarg, "both"))
            return cli_usage("run", "expected --device gpu, emu, both or auto, found \"%.40s\"", optarg),
                   false;
        if (c == '?')
            return cli_bad_option("run", argv), false;
        if (c >= OPTION_ROOT && options_take("run", &shared, c, longs[at].name))
            return false;
        if (c == 'd')
            o->device = optarg;
        if (c == 'o')
            o->out = optarg;
        if (c == 'j')
            o->json = true;
        if (c == 'P') {
            o->pair[0] = optarg;
            if (optind == argc || argv[optind][0] == '-')
                return cli_usage("run", "expected two bundles after --pair, found one"), false;
            o->pair[1] = argv[optind++];
        }
    }
    o->root = shared.verify.root;
    if (o->pair[0] && o->root)
        return cli_usage("run", "--root pins one bundle, and a pair has two"), false;
    if (o->pair[0] && (!strcmp(o->device, "emu") || !strcmp(o->device, "both")))
        return cli_usage("run", "a pair is timed on a GPU, not with --device %s", o->device), false;
    o->path = optind < argc ? argv[optind] : cli_default_bundle;
    return true;
}

/* NAME.evidence in the current folder, for NAME.tar.zst. */
static const char *default_out(scratch *sc, const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = strlen(base), m = strlen(".tar.zst");
    if (n > m && !strcmp(base + n - m, ".tar.zst"))
        n -= m;
    return scratch_printf(sc, "%.*s.evidence", (int)n, base);
}

bool run_open(run *x, const run_options *opt)
{
    *x = (run){.opt = opt, .sc = scratch_new(0), .data_fd = -1, .progress = opt->json ? NULL : stdout};
    x->r = x->sc ? report_new(x->sc) : NULL;
    x->worker = x->r ? client_gpu_path(x->sc) : NULL;
    return x->worker != NULL;
}

void run_close(run *x)
{
    if (x->data_fd >= 0)
        close(x->data_fd);
    store_free(x->st);
    scratch_free(x->sc);
}

static int run_one(run_options *o)
{
    run x;
    rp_err e = {0};
    int code = EXIT_UNREADABLE;
    bool open = run_open(&x, o);
    if (open)
        o->out = o->out ? o->out : default_out(x.sc, o->path);
    if (open && o->out)
        code = execute(&e, &x);
    else
        fputs("replay run: out of memory\n", stderr);
    run_close(&x);
    return code;
}

int cmd_run(int argc, char **argv)
{
    run_options o = {.phases = 5, .device = "auto"};
    if (!parse(&o, argc, argv))
        return EXIT_USAGE;
    size_t n = (size_t)(argc - optind);
    proc_catch_signals();
    int code = o.pair[0] && !n                                    ? run_pair_alone(&o)
               : o.pair[0] || n > 1 || (n && file_is_dir(o.path)) ? run_many(&o, argv + optind, n)
                                                                  : run_one(&o);
    if (proc_interrupted())
        proc_die_of_signal();
    return code;
}
