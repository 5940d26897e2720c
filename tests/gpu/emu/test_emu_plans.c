/* Whole jobs with one fault each, through the parts of replay-emu that run them; and the same job without it,
 * clean. */
#include "artifacts/base/file.h"
#include "gpu/emu/emu_phase.h"
#include <criterion/criterion.h>
#include <string.h>

enum { SIDE = 64, ELEMENTS = 1024, BIG = SIDE * SIDE };
enum {
    X,
    Y,
    OUT,
    MID,
    OTHER,
    PARAMS,
    WEIGHT,
    N_BUFFERS
}; /* MID and OTHER lie in the arena, apart unless a test says so */

typedef struct {
    scratch *sc;
    job jb;
    job_buffer buffers[N_BUFFERS];
    job_module module;
    job_step steps[4];
    job_fixture fixture;
    job_input inputs[3];
    job_output output;
    int64_t params[1];
    result r;
    result_fixture answer;
    emu_phase p;
} rig;

static job_step kernel(const char *entry, int64_t a, int64_t b, int64_t c, int64_t d)
{
    job_step s = {.kind = JOB_KERNEL,
                  .entry = entry,
                  .grid = {ELEMENTS / 128, 1, 1},
                  .block = {128, 1, 1},
                  .bias = -1,
                  .scale_a = -1,
                  .scale_b = -1,
                  .workspace = -1};
    const int64_t all[4] = {a, b, c, d};
    for (int i = 0; i < 4 && all[i] >= 0; i++)
        s.args[s.n_args++] = all[i];
    s.writes[s.n_writes++] = s.args[s.n_args - 2];
    return s;
}

/* x -> MID -> out by two copies. */
static void rig_init(rig *g)
{
    rp_err e = {0};
    span ptx;
    memset(g, 0, sizeof *g);
    g->sc = scratch_new(0);
    cr_assert_eq(file_read(&e, &ptx, g->sc, "tests/gpu/emu/faults/faults.ptx", 1 << 24), RP_OK, "%s", e.msg);
    uint64_t input_bytes = BIG * 4;
    uint8_t *blob = scratch_alloc(g->sc, ptx.n + input_bytes);
    memcpy(blob, ptx.p, ptx.n);
    for (uint64_t i = 0; i < BIG; i++)
        dtype_store(DT_F32, blob + ptx.n, i, (double)(i % 97) - 48);
    g->module = (job_module){.name = "faults.cu", .ptx = {.bytes = ptx.n}};
    static const char *const ids[] = {"x", "y", "out", "mid", "other", "parameters", "weight"};
    for (int i = 0; i < N_BUFFERS; i++)
        g->buffers[i] =
            (job_buffer){.id = ids[i], .place = JOB_EXTERNAL, .bytes = ELEMENTS * 4, .writable = i == OUT};
    g->buffers[MID] = (job_buffer){
        .id = "mid", .place = JOB_ARENA, .offset_bytes = 256, .bytes = ELEMENTS * 4, .writable = true};
    g->buffers[OTHER] = (job_buffer){.id = "other",
                                     .place = JOB_ARENA,
                                     .offset_bytes = 256 + ELEMENTS * 4,
                                     .bytes = ELEMENTS * 4,
                                     .writable = true};
    g->buffers[PARAMS] = (job_buffer){.id = "parameters", .place = JOB_ARENA, .bytes = 8, .writable = true};
    for (int i = 0; i < 2; i++)
        g->inputs[i] = (job_input){.buffer = i, .data = {.offset_bytes = ptx.n, .bytes = ELEMENTS * 4}};
    g->inputs[2] = (job_input){.buffer = WEIGHT, .data = {.offset_bytes = ptx.n, .bytes = ELEMENTS * 4}};
    g->output = (job_output){.buffer = OUT};
    g->fixture = (job_fixture){
        .name = "random", .n_inputs = 3, .n_outputs = 1, .inputs = g->inputs, .outputs = &g->output};
    g->steps[0] = kernel("copy_vector", X, MID, PARAMS, -1);
    g->steps[1] = kernel("copy_vector", MID, OUT, PARAMS, -1);
    g->steps[0].node = 4;
    g->steps[1].node = 5;
    g->steps[2].node = 6;
    g->jb = (job){.arena_bytes = 65536,
                  .guard_bytes = 4096,
                  .n_params = 1,
                  .params = g->params,
                  .params_buffer = PARAMS,
                  .n_buffers = N_BUFFERS,
                  .n_modules = 1,
                  .n_steps = 2,
                  .n_fixtures = 1,
                  .buffers = g->buffers,
                  .modules = &g->module,
                  .steps = g->steps,
                  .fixtures = &g->fixture,
                  .output_bytes = ELEMENTS * 4};
    g->p = (emu_phase){
        .jb = &g->jb, .data = span_of(blob, ptx.n + input_bytes), .sc = g->sc, .r = &g->r, .threads = 2};
}

static void run(rig *g)
{
    rp_err e = {0};
    g->answer = (result_fixture){.name = "random",
                                 .inputs_unchanged = true,
                                 .inputs_changed = "",
                                 .guards_intact = true,
                                 .guards_broken = ""};
    cr_assert_eq(emu_load(&e, &g->p), RP_OK, "%s", e.msg);
    cr_assert_eq(emu_lay_out(&e, &g->p), RP_OK, "%s", e.msg);
    cr_assert_eq(emu_begin(&e, &g->p, &g->fixture, EMU_POISON_FIRST), RP_OK, "%s", e.msg);
    for (uint64_t i = 0; i < g->jb.n_steps && !g->p.stopped; i++)
        cr_assert_eq(emu_step(&e, &g->p, &g->steps[i]), RP_OK, "%s", e.msg);
    if (!g->p.stopped) {
        cr_assert_eq(emu_check_outputs(&e, &g->p, &g->fixture, &g->answer), RP_OK, "%s", e.msg);
        cr_assert_eq(emu_summarize(&e, &g->p, &g->answer), RP_OK, "%s", e.msg);
    }
    emu_end(&g->p);
}

static void clean(rig *g)
{
    run(g);
    cr_assert_eq(g->r.n_findings, 0, "%s", g->r.n_findings ? g->r.findings[0].message : "");
    cr_assert(g->answer.inputs_unchanged && g->answer.guards_intact && !g->answer.unwritten_bytes);
    scratch_free(g->sc);
}

/* Exactly this one, its message holding `words`. */
static void faulty(rig *g, const char *kind, uint64_t node, const char *buffer, int64_t offset,
                   const char *words)
{
    run(g);
    cr_assert_eq(g->r.n_findings, 1, "expected 1 finding, found %llu: %s; %s",
                 (unsigned long long)g->r.n_findings, g->r.n_findings ? g->r.findings[0].message : "",
                 g->r.n_findings > 1 ? g->r.findings[1].message : "");
    const result_finding *f = &g->r.findings[0];
    cr_expect_str_eq(f->kind, kind, "%s", f->message);
    cr_expect_eq(f->node, node, "%s", f->message);
    cr_expect_str_eq(f->buffer, buffer, "%s", f->message);
    cr_expect_eq(f->offset_bytes, offset, "expected %lld, found %lld: %s", (long long)offset,
                 (long long)f->offset_bytes, f->message);
    cr_expect(strstr(f->message, words), "expected \"%s\" in: %s", words, f->message);
    scratch_free(g->sc);
}

Test(emu_plans, clean_copies)
{
    rig g;
    rig_init(&g);
    clean(&g);
}

Test(emu_plans, clean_reuse)
{
    rig g;
    rig_init(&g);
    g.buffers[OTHER].offset_bytes = g.buffers[MID].offset_bytes;
    g.steps[1] = kernel("copy_vector", X, OTHER, PARAMS, -1);
    g.steps[2] = kernel("copy_vector", OTHER, OUT, PARAMS, -1);
    g.jb.n_steps = 3;
    clean(&g);
}

Test(emu_plans, steps_in_the_wrong_order)
{
    rig g;
    rig_init(&g);
    job_step first = g.steps[0];
    g.steps[0] = g.steps[1];
    g.steps[1] = first;
    faulty(&g, "uninitialised_read", 5, "mid", 0, "copy_vector");
}

Test(emu_plans, a_step_is_missing)
{
    rig g;
    rig_init(&g);
    g.jb.n_steps = 1;
    faulty(&g, "unwritten_output", 0, "out", 0, "nothing of it is written");
}

Test(emu_plans, read_of_a_reused_range)
{
    rig g;
    rig_init(&g);
    g.buffers[OTHER].offset_bytes = g.buffers[MID].offset_bytes + 1024;
    g.steps[2] = g.steps[1];
    g.steps[2].node = 6;
    g.steps[1] = kernel("copy_vector", Y, OTHER, PARAMS, -1);
    g.steps[1].node = 5;
    g.jb.n_steps = 3;
    faulty(&g, "dead_access", 6, "mid", 0, "copy_vector");
}

Test(emu_plans, a_buffer_over_what_it_is_made_from)
{
    rig g;
    rig_init(&g);
    g.buffers[OTHER].offset_bytes = g.buffers[MID].offset_bytes;
    g.steps[1] = kernel("copy_vector", MID, OTHER, PARAMS, -1);
    g.steps[2] = kernel("copy_vector", OTHER, OUT, PARAMS, -1);
    g.steps[1].node = 5;
    g.jb.n_steps = 3;
    faulty(&g, "dead_access", 5, "other", 0, "copy_vector");
}

Test(emu_plans, short_grid)
{
    rig g;
    rig_init(&g);
    g.steps[1].grid[0] = 6;
    faulty(&g, "unwritten_output", 5, "out", 6 * 128 * 4,
           "covered: bytes 0 to 3071 of 4096  [########################........]");
}

Test(emu_plans, every_other_element)
{
    rig g;
    rig_init(&g);
    g.steps[1].entry = "half_of_it";
    faulty(&g, "unwritten_output", 5, "out", 0, "bytes 4 to 7 of each row's 8");
}

static void matrix(rig *g, uint64_t gx, uint64_t gy)
{
    rig_init(g);
    g->buffers[X].bytes = g->buffers[OUT].bytes = BIG * 4;
    g->inputs[0].data.bytes = BIG * 4;
    g->jb.output_bytes = BIG * 4;
    g->steps[0] = kernel("copy_matrix", X, OUT, PARAMS, -1);
    g->steps[0].node = 4;
    g->steps[0].grid[0] = gx;
    g->steps[0].grid[1] = gy;
    g->jb.n_steps = 1;
}

Test(emu_plans, clean_matrix)
{
    rig g;
    matrix(&g, SIDE / 16, SIDE / 8);
    clean(&g);
}

/* Tiles of 16 by 8: exchanged axes cover the left half of rows 0 to 127, of which the matrix has 64. */
Test(emu_plans, transposed_grid)
{
    rig g;
    matrix(&g, SIDE / 8, SIDE / 16);
    run(&g);
    bool mapped = false, outside = false;
    for (uint64_t i = 0; i < g.r.n_findings; i++) {
        const result_finding *f = &g.r.findings[i];
        mapped |= !strcmp(f->kind, "unwritten_output") && !strcmp(f->buffer, "out") &&
                  strstr(f->message, "covered: rows 0 to 63 of 64, bytes 0 to 127 of each row's 256  "
                                     "[################................/");
        outside |= (!strcmp(f->kind, "guard_band") || !strcmp(f->kind, "out_of_bounds")) && f->node == 4;
    }
    cr_expect(mapped && outside, "%s", g.r.n_findings ? g.r.findings[0].message : "nothing");
    scratch_free(g.sc);
}

Test(emu_plans, too_few_arguments)
{
    rig g;
    rig_init(&g);
    g.steps[1].n_args = 2;
    faulty(&g, "parameter_misuse", 5, "", 0, "copy_vector");
}

Test(emu_plans, an_argument_of_another_width)
{
    rig g;
    rig_init(&g);
    g.steps[1].args[2] = -1;
    g.steps[1].values[2] = (job_value){4, 7};
    faulty(&g, "parameter_misuse", 5, "", 0, "copy_vector");
}

Test(emu_plans, parameters_written)
{
    rig g;
    rig_init(&g);
    g.steps[1].entry = "write_parameters";
    faulty(&g, "out_of_bounds", 5, "parameters", 0, "write_parameters");
}

Test(emu_plans, a_neighbour_in_the_arena_written)
{
    rig g;
    rig_init(&g);
    g.steps[2] = g.steps[1];
    g.steps[2].node = 6;
    g.steps[1] = g.steps[0];
    g.steps[1].entry = "write_neighbour";
    g.steps[1].node = 5;
    g.steps[0] = kernel("copy_vector", Y, OTHER, PARAMS, -1);
    g.jb.n_steps = 3;
    faulty(&g, "out_of_bounds", 5, "other", 0, "write_neighbour");
}

Test(emu_plans, input_written)
{
    rig g;
    rig_init(&g);
    g.steps[1] = kernel("copy_vector", MID, Y, PARAMS, -1);
    g.steps[1].node = 5;
    g.steps[2] = kernel("copy_vector", MID, OUT, PARAMS, -1);
    g.jb.n_steps = 3;
    faulty(&g, "read_only_write", 5, "y", 0, "copy_vector");
}

static void matmul(rig *g)
{
    lt_matrix m = {.type = DT_F32, .order = LTO_ROW, .rows = 32, .cols = 32, .ld = 32};
    rig_init(g);
    g->steps[1] = (job_step){
        .kind = JOB_MATMUL,
        .node = 5,
        .call = {
            .m = 32, .n = 32, .k = 32, .a = m, .b = m, .c = m, .d = m, .compute = LTC_32F, .scale = DT_F32}};
    g->steps[1].a = MID;
    g->steps[1].b = WEIGHT;
    g->steps[1].c = g->steps[1].d = OUT;
    g->steps[1].bias = g->steps[1].scale_a = g->steps[1].scale_b = g->steps[1].workspace = -1;
    g->steps[1].writes[g->steps[1].n_writes++] = OUT;
}

Test(emu_plans, clean_matmul)
{
    rig g;
    matmul(&g);
    clean(&g);
}

Test(emu_plans, matmul_of_unwritten_bytes)
{
    rig g;
    matmul(&g);
    g.steps[0].grid[0] = 7;
    faulty(&g, "uninitialised_read", 5, "mid", 7 * 128 * 4, "emu_lt_matmul");
}

Test(emu_plans, matmul_adds_an_unwritten_c)
{
    rig g;
    matmul(&g);
    g.steps[1].call.beta_one = true;
    faulty(&g, "uninitialised_read", 5, "out", 0, "emu_lt_matmul");
}

Test(emu_plans, matmul_of_a_dead_operand)
{
    rig g;
    matmul(&g);
    g.buffers[OTHER].offset_bytes = g.buffers[MID].offset_bytes + 2048;
    g.steps[2] = g.steps[1];
    g.steps[2].node = 6;
    g.steps[1] = kernel("copy_vector", Y, OTHER, PARAMS, -1);
    g.jb.n_steps = 3;
    faulty(&g, "dead_access", 6, "mid", 0, "emu_lt_matmul");
}

Test(emu_plans, matmul_leaves_a_part_of_the_output)
{
    rig g;
    matmul(&g);
    g.steps[1].call.d.rows = g.steps[1].call.m = g.steps[1].call.a.rows = 24;
    faulty(&g, "unwritten_output", 5, "out", 24 * 32 * 4, "covered: bytes 0 to 3071 of 4096");
}

/* Two products of 16 x 16, a line of 32 each, side by side in the same lines. */
static void batched(rig *g)
{
    matmul(g);
    lt_call *c = &g->steps[1].call;
    lt_matrix *all[] = {&c->a, &c->b, &c->c, &c->d};
    c->m = c->n = c->k = 16;
    for (int i = 0; i < 4; i++) {
        all[i]->rows = all[i]->cols = 16;
        all[i]->batch = 2;
        all[i]->stride = 16;
    }
}

Test(emu_plans, batched_matmul_writes_what_its_matrices_have)
{
    rig g;
    batched(&g);
    faulty(&g, "unwritten_output", 5, "out", 16 * 32 * 4, "covered: bytes 0 to 2047 of 4096");
}

/* Between the matrices nothing is written, and what is not written is not read. */
Test(emu_plans, batched_matmul_leaves_the_gaps)
{
    rig g;
    batched(&g);
    g.steps[1].call.c.stride = g.steps[1].call.d.stride = 20;
    g.steps[1].call.n = g.steps[1].call.b.cols = g.steps[1].call.c.cols = g.steps[1].call.d.cols = 12;
    faulty(&g, "unwritten_output", 5, "out", 12 * 4, "covered:");
}

Test(emu_plans, batched_matmul_reads_unwritten_bytes)
{
    rig g;
    batched(&g);
    g.steps[0].grid[0] = 7;
    g.steps[1].call.a.stride = 512;
    run(&g);
    const result_finding *f = g.r.findings;
    cr_assert_eq(g.r.n_findings, 2); /* and half of the output is not written */
    cr_expect(!strcmp(f->kind, "uninitialised_read") && !strcmp(f->buffer, "mid") &&
                  f->offset_bytes == 7 * 128 * 4,
              "%s", f->message);
    scratch_free(g.sc);
}

Test(emu_plans, matmul_of_an_unwritten_scale)
{
    rig g;
    matmul(&g);
    lt_call *c = &g.steps[1].call;
    c->a.type = c->b.type = DT_F8_E4M3;
    c->a.scaled = true;
    g.steps[1].scale_a = OTHER;
    faulty(&g, "uninitialised_read", 5, "other", 0, "emu_lt_matmul");
}

Test(emu_plans, matmul_that_accumulates_in_16_bits)
{
    rig g;
    rp_err e = {0};
    matmul(&g);
    g.steps[1].call.compute = LTC_16F;
    cr_expect_eq(emu_load(&e, &g.p), RP_UNAVAILABLE);
    cr_expect(g.r.refused && strstr(e.msg, "node 5: a matmul that accumulates in 16 bits is not emulated"),
              "%s", e.msg);
    scratch_free(g.sc);
}

Test(emu_plans, workspace_holds_nothing)
{
    rig g;
    matmul(&g);
    g.steps[1].workspace = OTHER;
    g.steps[1].writes[g.steps[1].n_writes++] = OTHER;
    g.steps[2] = kernel("copy_vector", OTHER, OUT, PARAMS, -1);
    g.steps[2].node = 6;
    g.jb.n_steps = 3;
    faulty(&g, "uninitialised_read", 6, "other", 0, "copy_vector");
}

Test(emu_plans, copy_of_unwritten_bytes)
{
    rig g;
    rig_init(&g);
    g.steps[1] =
        (job_step){.kind = JOB_COPY, .node = 5, .src = OTHER, .dst = OUT, .n_writes = 1, .writes = {OUT}};
    faulty(&g, "uninitialised_read", 5, "other", 0, "copy");
}

Test(emu_plans, an_entry_that_is_not_there)
{
    rig g;
    rp_err e = {0};
    rig_init(&g);
    g.steps[1].entry = "nothing";
    cr_assert_eq(emu_load(&e, &g.p), RP_WORKER);
    cr_assert(strstr(e.msg, "nothing"), "%s", e.msg);
    scratch_free(g.sc);
}
