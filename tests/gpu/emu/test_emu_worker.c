/* The program itself, by the protocol of gpu/job.h: what it answers in each phase, and what it does with what
 * it cannot run. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "gpu/client.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 1024, DEADLINE_MS = 60000 };

/* The worker beside this program or in the folder above; NULL when it was not built. */
static const char *worker(scratch *sc)
{
    const char *path = client_emu_path(sc), *dir = proc_self_dir(sc);
    if (path && file_exists(path))
        return path;
    path = scratch_printf(sc, "%s/../replay-emu", dir ? dir : ".");
    return path && file_exists(path) ? path : NULL;
}

typedef struct {
    scratch *sc;
    const char *program;
    job jb;
    job_buffer buffers[3];
    job_module module;
    job_step step;
    job_fixture fixture;
    job_input input;
    job_output output;
    int64_t params[1];
    uint8_t *data;
    size_t data_bytes, ptx_bytes;
    client_phase c;
} rig;

/* x -> y by copy_vector of the fault corpus, or by `text`. */
static void rig_init(rig *g, const char *entry, const char *text)
{
    rp_err e = {0};
    span ptx;
    memset(g, 0, sizeof *g);
    g->sc = scratch_new(0);
    if (!(g->program = worker(g->sc)))
        cr_skip_test("replay-emu was not built");
    if (text)
        ptx = span_str(text);
    else
        cr_assert_eq(file_read(&e, &ptx, g->sc, "tests/gpu/emu/faults/faults.ptx", 1 << 24), RP_OK, "%s",
                     e.msg);
    g->ptx_bytes = ptx.n;
    g->data_bytes = ptx.n + 4 * N;
    g->data = scratch_alloc(g->sc, g->data_bytes);
    memcpy(g->data, ptx.p, ptx.n);
    for (uint64_t i = 0; i < N; i++)
        dtype_store(DT_F32, g->data + ptx.n, i, (double)i / 8);
    g->buffers[0] = (job_buffer){.id = "x", .bytes = 4 * N};
    g->buffers[1] = (job_buffer){.id = "y", .bytes = 4 * N, .writable = true};
    g->buffers[2] = (job_buffer){.id = "parameters", .place = JOB_ARENA, .bytes = 8, .writable = true};
    g->module = (job_module){.name = "k.ptx", .ptx = {0, ptx.n, digest_of(ptx)}};
    g->step = (job_step){.kind = JOB_KERNEL,
                         .node = 3,
                         .bias = -1,
                         .scale_a = -1,
                         .scale_b = -1,
                         .workspace = -1,
                         .entry = entry,
                         .n_args = 3,
                         .args = {0, 1, 2},
                         .grid = {N / 128, 1, 1},
                         .block = {128, 1, 1},
                         .n_writes = 1,
                         .writes = {1}};
    g->input = (job_input){0, {ptx.n, 4 * N, digest_of(span_of(g->data + ptx.n, 4 * N))}};
    g->output = (job_output){1, 0};
    g->fixture = (job_fixture){
        .name = "random", .n_inputs = 1, .n_outputs = 1, .inputs = &g->input, .outputs = &g->output};
    g->jb = (job){.arena_bytes = 256,
                  .guard_bytes = 4096,
                  .n_params = 1,
                  .params = g->params,
                  .params_buffer = 2,
                  .n_buffers = 3,
                  .n_modules = 1,
                  .n_steps = 1,
                  .n_fixtures = 1,
                  .buffers = g->buffers,
                  .modules = &g->module,
                  .steps = &g->step,
                  .fixtures = &g->fixture,
                  .timing = {.warmup = 1, .pilot = 1, .blocks = 1, .block_ns = 1000, .max_calls = 1},
                  .timeline_launches = 1,
                  .output_bytes = 4 * N};
}

static rp_code run(rig *g, rp_err *e, job_phase phase)
{
    jw *j = jw_new(JW_PRETTY);
    span text;
    int fd = file_temp(e);
    g->jb.phase = phase;
    job_write(j, &g->jb);
    cr_assert_eq(jw_finish(e, &text, j), RP_OK);
    cr_assert_eq(file_write_fd(e, fd, "data", span_of(g->data, g->data_bytes)), RP_OK);
    rp_code rc = client_run(e, &g->c, g->sc, g->program, text, fd, DEADLINE_MS);
    jw_free(j);
    close(fd);
    return rc;
}

static void rig_clear(rig *g)
{
    if (g->c.output_fd >= 0)
        close(g->c.output_fd);
    scratch_free(g->sc);
}

Test(emu_worker, probe)
{
    rig g;
    rp_err e = {0};
    client_device d;
    rig_init(&g, "copy_vector", NULL);
    cr_assert_eq(client_probe(&e, &d, g.sc, g.program), RP_OK, "%s", e.msg);
    cr_assert(d.available);
    cr_assert_str_eq(d.device_name, result_emulator);
    g.c.output_fd = -1;
    rig_clear(&g);
}

Test(emu_worker, validate)
{
    rig g;
    rp_err e = {0};
    uint8_t out[4 * N];
    rig_init(&g, "copy_vector", NULL);
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_OK, "%s", e.msg);
    const result *r = g.c.result;
    cr_assert(r->ok && result_emulated(r) && !r->n_findings, "%s", r->error);
    cr_assert(r->n_fixtures == 1 && r->fixtures[0].runs_equal && r->fixtures[0].inputs_unchanged &&
              r->fixtures[0].guards_intact && !r->fixtures[0].unwritten_bytes);
    cr_assert(r->n_graph == 2 && r->graph[0].kind == RESULT_NODE_MEMCPY && r->graph[0].bytes == 8 &&
              r->graph[1].grid[0] == N / 128);
    cr_assert_str_eq(r->graph[1].name, "copy_vector");
    cr_assert_str_eq(r->library_log, "");
    cr_assert_eq(file_pread(&e, g.c.output_fd, "outputs", out, sizeof out, 0), RP_OK, "%s", e.msg);
    cr_assert_arr_eq(out, g.data + g.ptx_bytes, sizeof out);
    cr_assert(digest_equal(r->outputs_sha256, digest_of(span_of(out, sizeof out))));
    rig_clear(&g);
}

Test(emu_worker, timeline_counts_instructions)
{
    rig g;
    rp_err e = {0};
    rig_init(&g, "copy_vector", NULL);
    cr_assert_eq(run(&g, &e, JOB_TIMELINE), RP_OK, "%s", e.msg);
    const result *r = g.c.result;
    uint64_t loads = 0;
    for (uint64_t i = 0; i < r->n_instructions; i++)
        loads += strcmp(r->instructions[i].instruction, "ld.global.f32") ? 0 : r->instructions[i].count;
    cr_assert(r->ok && loads == N && r->n_graph == 2 && !r->n_timeline && !r->timeline_launches);
    rig_clear(&g);
}

Test(emu_worker, phases_that_are_not_there)
{
    static const job_phase phases[] = {JOB_TIMING, JOB_INSTRUCTIONS};
    for (size_t i = 0; i < 2; i++) {
        rig g;
        rp_err e = {0};
        rig_init(&g, "copy_vector", NULL);
        cr_assert_eq(run(&g, &e, phases[i]), RP_OK, "%s", e.msg);
        cr_assert(!g.c.result->ok && g.c.result->unavailable &&
                  strstr(g.c.result->error, "unavailable on the emulator"));
        rig_clear(&g);
    }
}

Test(emu_worker, findings_cross_the_protocol)
{
    rig g;
    rp_err e = {0};
    rig_init(&g, "write_parameters", NULL);
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_OK, "%s", e.msg);
    const result *r = g.c.result;
    cr_assert(r->ok && r->n_findings == 1 && r->findings[0].node == 3);
    cr_assert_str_eq(r->findings[0].buffer, "parameters");
    cr_assert_str_eq(r->findings[0].fixture, "random");
    rig_clear(&g);
}

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, "
                           ".param .u64 b, .param .u64 c)\n{\n";

Test(emu_worker, an_instruction_is_refused_by_name)
{
    rig g;
    rp_err e = {0};
    char text[400];
    snprintf(text, sizeof text, "%s\twgmma.fence.sync.aligned;\n\tret;\n}\n", head);
    rig_init(&g, "k", text);
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_OK, "%s", e.msg);
    cr_assert(!g.c.result->ok && g.c.result->refused && strstr(g.c.result->error, "wgmma.fence.sync.aligned"),
              "%s", g.c.result->error);
    rig_clear(&g);
}

Test(emu_worker, a_kernel_without_end_is_stopped, .timeout = 120)
{
    rig g;
    rp_err e = {0};
    char text[400];
    snprintf(text, sizeof text, "%s\t.reg .pred %%p<2>;\n$L:\n\tbra $L;\n}\n", head);
    rig_init(&g, "k", text);
    g.step.grid[0] = g.step.block[0] = 1;
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_OK, "%s", e.msg);
    const result *r = g.c.result;
    cr_assert(!r->ok && r->n_findings && !r->n_fixtures, "%s", r->error);
    cr_assert_str_eq(r->findings[r->n_findings - 1].kind, "runaway");
    rig_clear(&g);
}

Test(emu_worker, broken_text_is_an_answer)
{
    rig g;
    rp_err e = {0};
    rig_init(&g, "k", "this is no PTX");
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_OK, "%s", e.msg);
    cr_assert(!g.c.result->ok && !g.c.result->refused && *g.c.result->error);
    rig_clear(&g);
}

Test(emu_worker, other_data_than_the_job_names)
{
    rig g;
    rp_err e = {0};
    rig_init(&g, "copy_vector", NULL);
    g.data[g.data_bytes - 1] ^= 1;
    cr_assert_eq(run(&g, &e, JOB_VALIDATE), RP_WORKER);
    cr_assert(strstr(e.msg, "SHA-256"), "%s", e.msg);
    rig_clear(&g);
}
