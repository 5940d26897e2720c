#include "artifacts/base/file.h"
#include "gpu/cuda/cu.h"
#include "gpu/cuda/device.h"
#include "gpu/cuda/libraries.h"
#include "gpu/cuda/modes.h"
#include "gpu/cuda/profiler.h"
#include <stdio.h>
#include <stdlib.h>

static const uint64_t max_job_bytes = 64 << 20, max_data_bytes = (uint64_t)1 << 40;

/* Everything up to the graph is the same in each phase. */
static rp_code set_up(rp_err *e, phase *p)
{
    if (device_open(e, p->r, p->sc) || driver_find(e, &p->drv) ||
        cu_ok(e, cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags") ||
        memory_open(e, &p->mem, p->sc, p->jb, p->stream) || launch_prepare(e, p))
        return e->code;
    return graph_build(e, p);
}

static rp_code run(rp_err *e, rp_err *profile, phase *p, span *cubins)
{
    /* A profiler that does not start costs the profile, not the replay. What it said stays in *profile. */
    if (p->jb->phase == JOB_TIMELINE && timeline_begin(profile))
        fprintf(stderr, "replay-gpu: %s\n", profile->msg);
    if (p->jb->phase == JOB_INSTRUCTIONS && cubins_begin(profile))
        fprintf(stderr, "replay-gpu: %s\n", profile->msg);
    if (set_up(e, p))
        return e->code;
    switch (p->jb->phase) {
    case JOB_VALIDATE:
        return validate_run(e, p);
    case JOB_TIMING:
        libraries_hash_wait();
        return timing_run(e, p);
    case JOB_TIMELINE:
        return timeline_run(e, profile, p);
    case JOB_INSTRUCTIONS:
        if (fixture_run_all(e, p, p->jb->n_fixtures))
            return e->code;
        return cubins_collect(e, profile, p, cubins);
    case JOB_PHASE_COUNT:
        break;
    }
    return err_set(e, RP_BUG, "no such phase");
}

/* What a fixture's run finds is written over this. */
static rp_code open_fixtures(rp_err *e, phase *p)
{
    p->r->fixtures = scratch_array(p->sc, p->jb->n_fixtures, sizeof *p->r->fixtures);
    if (!p->r->fixtures)
        return err_nomem(e);
    for (uint64_t i = 0; i < p->jb->n_fixtures; i++)
        p->r->fixtures[i] = (result_fixture){.name = p->jb->fixtures[i].name,
                                             .inputs_unchanged = true,
                                             .inputs_changed = "",
                                             .guards_intact = true,
                                             .guards_broken = ""};
    return RP_OK;
}

static rp_code answer(rp_err *e, scratch *sc)
{
    span text, cubins = span_of("", 0);
    job *jb;
    result r = {.library_log = ""};
    phase p = {.sc = sc, .r = &r};
    rp_err failed = {0}, profile = {0};
    if (file_read_fd(e, &text, sc, JOB_FD, "job.json", max_job_bytes) ||
        file_read_fd(e, &p.data, sc, JOB_DATA_FD, "the data", max_data_bytes) ||
        job_read(e, &jb, sc, "job.json", text, p.data.n) || job_check_data(e, jb, "the data", p.data))
        return e->code;
    r.job_sha256 = digest_of(text);
    r.phase = jb->phase;
    p.jb = jb;
    if (!(p.outputs = scratch_alloc(sc, jb->output_bytes)))
        return err_nomem(e);
    if (open_fixtures(e, &p))
        return e->code;
    libraries_hash_ahead(sc);

    rp_code rc = run(&failed, &profile, &p, &cubins);
    libraries_hash_wait();
    /* Only what a library or device answered is a result; running out of memory here is not. */
    if (rc != RP_OK && rc != RP_WORKER && rc != RP_UNAVAILABLE) {
        *e = failed;
        return rc;
    }
    /* A phase that broke off says nothing about any fixture. */
    r.n_fixtures = rc ? 0 : jb->n_fixtures;
    r.outputs_sha256 = digest_of(r.n_fixtures ? span_of(p.outputs, jb->output_bytes) : span_str(""));
    r.ok = !rc && !profile.code;
    r.profile_error = !rc && profile.code;
    r.error = rc ? failed.msg : profile.msg;
    if (libraries_list(e, &r, sc, r.driver ? r.driver : "", profiler_version(sc)) ||
        file_write_fd(e, JOB_OUTPUT_FD, "the outputs", span_of(p.outputs, jb->output_bytes)) ||
        file_write_fd(e, JOB_OUTPUT_FD, "the outputs", cubins))
        return e->code;
    return result_send(e, &r, JOB_RESULT_FD);
}

int phase_main(void)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    if (!sc || answer(&e, sc)) {
        char text[1024];
        if (!sc)
            err_nomem(&e);
        err_text(&e, text, sizeof text);
        fprintf(stderr, "replay-gpu: %s\n", text);
        scratch_free(sc);
        return EXIT_BROKEN;
    }
    scratch_free(sc);
    return EXIT_ANSWERED;
}
