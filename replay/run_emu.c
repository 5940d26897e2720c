/* --device emu, auto and both: when the emulator runs a bundle, and what it says beside a GPU. */
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "artifacts/zs.h"
#include "replay/distance.h"
#include "replay/run.h"
#include <unistd.h>

static const uint64_t max_packed = 64ULL << 30;

bool run_wants_emulator(const run *x, bool no_gpu)
{
    return !strcmp(x->opt->device, "emu") || (no_gpu && !strcmp(x->opt->device, "auto"));
}

rp_code run_probe_emulator(rp_err *e, run *x, const char **why)
{
    const char *before = *why;
    x->worker = client_emu_path(x->sc);
    if (!x->worker)
        return err_nomem(e);
    *why = NULL;
    if (client_probe(e, &x->device, x->sc, x->worker)) {
        const char *said = scratch_strdup(x->sc, e->msg);
        if (e->code != RP_UNAVAILABLE)
            return e->code;
        *e = (rp_err){0};
        *why = scratch_printf(x->sc, "%s%sno emulator (%s)", before ? before : "", before ? ", and " : "",
                              said ? said : "");
        return *why ? RP_OK : err_nomem(e);
    }
    if (!x->device.available) {
        *why = scratch_printf(x->sc, "%s%sno emulator (%s)", before ? before : "", before ? ", and " : "",
                              x->device.reason);
        return *why ? RP_OK : err_nomem(e);
    }
    x->emulated = true;
    if (before)
        run_say(x, "%s: %s runs it instead\n", text_safe(x->sc, before),
                text_safe(x->sc, x->device.device_name));
    run_say(x, "emulated: the retained PTX is interpreted, library calls are reference arithmetic, and no "
               "time is shown\n");
    return RP_OK;
}

/* The outputs of one fixture as the GPU's first phase left them. */
static rp_code gpu_outputs(rp_err *e, uint8_t *out, size_t n, scratch *sc, const run *x,
                           const lowered_fixture *f)
{
    const char *path = scratch_printf(sc, "%s/phases/1-validate/outputs/%s.xor.zst", x->ev.dir, f->name);
    span packed;
    size_t at = 0;
    zs_dec *z = zs_dec_new();
    if (!path || !z)
        err_nomem(e);
    else if (!file_read(e, &packed, sc, path, max_packed) && zs_dec_frame(z, out, n, packed))
        err_set(e, RP_IO, "the outputs just written cannot be read back");
    zs_dec_free(z);
    for (size_t o = 0; !e->code && o < f->n_outputs; o++) {
        size_t bytes = (size_t)(f->expected[o].elements * dtype_bytes(f->expected[o].type));
        for (size_t i = 0; i < bytes; i++)
            out[at + i] ^= ((const uint8_t *)f->expected[o].data)[i];
        at += bytes;
    }
    return e->code;
}

static rp_code compare_fixture(rp_err *e, run *x, uint64_t i, int output_fd, jw *j)
{
    const lowered_fixture *f = &x->l->fixtures[i];
    scratch *sc = scratch_new(0);
    uint64_t from = x->l->base.fixtures[i].outputs[0].offset_bytes;
    size_t n = 0, at = 0;
    for (size_t o = 0; o < f->n_outputs; o++)
        n += (size_t)(f->expected[o].elements * dtype_bytes(f->expected[o].type));
    uint8_t *gpu = sc ? scratch_alloc(sc, n) : NULL, *emu = sc ? scratch_alloc(sc, n) : NULL;
    if (!gpu || !emu)
        err_nomem(e);
    else if (!gpu_outputs(e, gpu, n, sc, x, f))
        (void)!file_pread(e, output_fd, "the emulator's outputs", emu, n, from);
    for (size_t o = 0; !e->code && o < f->n_outputs; o++) {
        size_t bytes = (size_t)(f->expected[o].elements * dtype_bytes(f->expected[o].type));
        lowered_close_gaps(f, o, emu + at);
        lowered_close_gaps(f, o, gpu + at);
        distance d = distance_of(f->expected[o].type, span_of(emu + at, bytes), span_of(gpu + at, bytes));
        at += bytes;
        jw_obj(j, NULL);
        jw_str(j, "fixture", f->name);
        jw_str(j, "output", f->expected[o].name);
        distance_json(j, &d);
        jw_end(j);
        run_say(x, "  %s %s, emulator against GPU in ulp:  %s\n", text_safe(sc, f->name),
                text_safe(sc, f->expected[o].name), distance_histogram(sc, &d));
    }
    scratch_free(sc);
    return e->code;
}

static void report_memory(run *x, const result *r)
{
    report_begin(x->r, "emulator: memory", true);
    for (uint64_t i = 0; i < r->n_findings; i++)
        findings_add(&x->r->fs, FIND_RUN_MEMORY, "emulated/result.json",
                     scratch_printf(x->sc, "/findings/%llu", (unsigned long long)i), NULL, NULL, "%s: %s",
                     r->findings[i].kind, r->findings[i].message);
    x->memory_rejected = r->n_findings > 0;
    report_end(x->r, "every access of every kernel checked, on the CPU");
}

static rp_code compare_all(rp_err *e, run *x, const client_phase *c)
{
    jw *j = jw_new(JW_PRETTY);
    span text;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-distance/0");
    jw_arr(j, "outputs");
    for (uint64_t i = 0; i < x->l->n_fixtures && !e->code; i++)
        (void)!compare_fixture(e, x, i, c->output_fd, j);
    jw_end(j);
    jw_end(j);
    if (!e->code && !jw_finish(e, &text, j))
        (void)!evidence_put(e, &x->ev, "emulated/distance.json", text);
    jw_free(j);
    return e->code;
}

rp_code run_compare_emulator(rp_err *e, run *x)
{
    client_phase c = {.output_fd = -1};
    client_device found;
    span job_text;
    const char *emu = client_emu_path(x->sc);
    if (!x->j->n_phases ||
        (x->j->phases[0].status != PHASE_PASSED && x->j->phases[0].status != PHASE_NUMERICAL))
        return RP_OK;
    if (!emu)
        return err_nomem(e);
    run_say(x, "%s runs the same job\n", result_emulator);
    if (client_probe(e, &found, x->sc, emu) || lower_job(e, &job_text, x->sc, x->l, JOB_VALIDATE) ||
        client_run(e, &c, x->sc, emu, job_text, x->data_fd, RUN_EMULATED_DEADLINE_MS) ||
        evidence_put(e, &x->ev, "emulated/result.json", c.result_text))
        return e->code;
    if (!c.result->ok && !c.result->n_findings)
        err_set(e, RP_WORKER, "the emulator: %.400s", c.result->error);
    report_memory(x, c.result);
    if (!e->code && c.result->ok)
        (void)!compare_all(e, x, &c);
    close(c.output_fd);
    return e->code;
}
