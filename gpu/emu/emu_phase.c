#include "gpu/emu/emu_phase.h"
#include "artifacts/base/file.h"
#include "gpu/emu/sandbox.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t max_job_bytes = 64 << 20, max_data_bytes = (uint64_t)1 << 34;
enum { MAX_HOST_THREADS = 64 };

static uint32_t host_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > MAX_HOST_THREADS ? MAX_HOST_THREADS : (uint32_t)n;
}

/* What a graph of these launches would hold. */
static rp_code list_launches(rp_err *e, emu_phase *p)
{
    const job *jb = p->jb;
    result *r = p->r;
    if (!(r->graph = scratch_array(p->sc, (size_t)jb->n_steps + 1, sizeof *r->graph)))
        return err_nomem(e);
    if (jb->n_params)
        r->graph[r->n_graph++] =
            (result_node){.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = jb->n_params * sizeof *jb->params};
    for (uint64_t i = 0; i < jb->n_steps; i++) {
        const job_step *s = &jb->steps[i];
        result_node *n = &r->graph[r->n_graph++];
        if (s->kind == JOB_COPY) {
            *n = (result_node){.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = jb->buffers[s->src].bytes};
            continue;
        }
        *n = (result_node){
            .kind = RESULT_NODE_KERNEL, .name = emu_matmul_name, .grid = {1, 1, 1}, .block = {1, 1, 1}};
        if (s->kind == JOB_KERNEL) {
            n->name = s->entry;
            memcpy(n->grid, s->grid, sizeof n->grid);
            memcpy(n->block, s->block, sizeof n->block);
            n->dynamic_shared_bytes = s->shared_bytes;
        }
    }
    return RP_OK;
}

/* One run of a fixture from fresh memory; its outputs into `out`, the whole blob. */
static rp_code run_fixture(rp_err *e, emu_phase *p, const job_fixture *f, uint8_t poison, uint8_t *out,
                           result_fixture *res)
{
    if (emu_begin(e, p, f, poison))
        goto out;
    for (uint64_t i = 0; i < p->jb->n_steps && !p->stopped; i++)
        if (emu_step(e, p, &p->jb->steps[i]))
            goto out;
    for (uint64_t i = 0; i < f->n_outputs; i++) {
        const job_buffer *b = &p->jb->buffers[f->outputs[i].buffer];
        const uint8_t *from =
            b->bytes ? emu_memory_data(p->mem, p->address[f->outputs[i].buffer], b->bytes) : NULL;
        if (from)
            memcpy(out + f->outputs[i].offset_bytes, from, (size_t)b->bytes);
    }
    if (res && !p->stopped && !emu_check_outputs(e, p, f, res))
        (void)!emu_summarize(e, p, res);
out:
    emu_end(p);
    return e->code;
}

/* Twice over two poisons, with one thread and with all: nothing may depend on either. */
static rp_code run_twice(rp_err *e, emu_phase *p, const job_fixture *f, uint8_t *second, result_fixture *res)
{
    uint32_t threads = p->threads;
    if (run_fixture(e, p, f, EMU_POISON_FIRST, p->outputs, res) || p->stopped)
        return e->code;
    p->threads = threads > 1 ? threads - 1 : 1;
    rp_code rc = run_fixture(e, p, f, EMU_POISON_SECOND, second, NULL);
    p->threads = threads;
    res->runs_equal = true;
    for (uint64_t i = 0; !rc && i < f->n_outputs; i++) {
        uint64_t at = f->outputs[i].offset_bytes, bytes = p->jb->buffers[f->outputs[i].buffer].bytes;
        res->runs_equal &=
            !bytes || !memcmp(p->outputs + at, second + at, (size_t)bytes) || res->unwritten_bytes;
    }
    return rc;
}

static rp_code run_all(rp_err *e, emu_phase *p)
{
    const job *jb = p->jb;
    result *r = p->r;
    uint8_t *second = scratch_alloc(p->sc, (size_t)jb->output_bytes);
    p->outputs = scratch_alloc(p->sc, (size_t)jb->output_bytes);
    r->fixtures = scratch_array(p->sc, (size_t)jb->n_fixtures, sizeof *r->fixtures);
    if (!second || !p->outputs || !r->fixtures)
        return err_nomem(e);
    if (emu_load(e, p) || emu_lay_out(e, p) || list_launches(e, p))
        return e->code;
    for (uint64_t i = 0; i < jb->n_fixtures && !p->stopped; i++) {
        result_fixture *res = &r->fixtures[i];
        *res = (result_fixture){.name = jb->fixtures[i].name,
                                .inputs_unchanged = true,
                                .inputs_changed = "",
                                .guards_intact = true,
                                .guards_broken = ""};
        p->want_mix = jb->phase == JOB_TIMELINE && i == jb->timing.fixture;
        if (jb->phase == JOB_VALIDATE
                ? run_twice(e, p, &jb->fixtures[i], second, res)
                : run_fixture(e, p, &jb->fixtures[i], EMU_POISON_FIRST, p->outputs, res))
            return e->code;
    }
    if (p->stopped)
        return err_set(e, RP_WORKER, "a kernel did not come to its end: %.300s",
                       r->n_findings ? r->findings[r->n_findings - 1].message : "no finding says why");
    r->n_fixtures = jb->n_fixtures;
    return RP_OK;
}

static rp_code answer(rp_err *e, scratch *sc)
{
    span text;
    job *jb;
    result r = {.library_log = "", .error = "", .device_name = result_emulator};
    emu_phase p = {.sc = sc, .r = &r, .threads = host_threads()};
    rp_err failed = {0};
    bool filtered;
    if (file_read_fd(e, &text, sc, JOB_FD, "job.json", max_job_bytes) ||
        file_read_fd(e, &p.data, sc, JOB_DATA_FD, "the data", max_data_bytes))
        return e->code;
    /* OpenSSL reads its configuration when it is first used. */
    r.job_sha256 = digest_of(text);
    r.outputs_sha256 = digest_of(span_str(""));
    if (sandbox_enter(e, &filtered))
        return e->code;
    r.driver = filtered ? "" : "without a system call filter";
    if (job_read(e, &jb, sc, "job.json", text, p.data.n) || job_check_data(e, jb, "the data", p.data))
        return e->code;
    p.jb = jb;
    r.phase = jb->phase;
    if (jb->phase != JOB_VALIDATE && jb->phase != JOB_TIMELINE) {
        r.unavailable = true;
        r.error = jb->phase == JOB_TIMING ? "unavailable on the emulator: its time says nothing of a device"
                                          : "unavailable on the emulator: no device code is made";
        return result_send(e, &r, JOB_RESULT_FD);
    }
    rp_code rc = run_all(&failed, &p);
    if (rc == RP_NOMEM || rc == RP_BUG || rc == RP_IO) {
        *e = failed;
        return rc;
    }
    r.ok = !rc;
    if (rc) {
        char *line = scratch_alloc(sc, 1200);
        if (!line)
            return err_nomem(e);
        err_text(&failed, line, 1200);
        r.error = line;
        r.n_graph = r.n_fixtures = 0;
        return result_send(e, &r, JOB_RESULT_FD);
    }
    r.outputs_sha256 = digest_of(span_of(p.outputs, (size_t)jb->output_bytes));
    if (file_write_fd(e, JOB_OUTPUT_FD, "the outputs", span_of(p.outputs, (size_t)jb->output_bytes)))
        return e->code;
    return result_send(e, &r, JOB_RESULT_FD);
}

int emu_phase_main(void)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    if (!sc || answer(&e, sc)) {
        char text[1200];
        if (!sc)
            err_nomem(&e);
        err_text(&e, text, sizeof text);
        fprintf(stderr, "replay-emu: %s\n", text);
        scratch_free(sc);
        return EMU_EXIT_BROKEN;
    }
    scratch_free(sc);
    return EMU_EXIT_ANSWERED;
}
