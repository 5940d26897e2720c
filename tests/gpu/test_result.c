#include "gpu/result.h"
#include <criterion/criterion.h>
#include <string.h>

typedef struct {
    scratch *sc;
    result r;
    result_library library;
    result_algorithm algorithm;
    result_node graph[2], timeline[2];
    result_fixture fixture;
    result_stray stray;
    result_timing timing;
    uint64_t samples[2];
    result_clock clock;
    result_cubin cubin;
    result_finding finding;
    result_kernel kernel;
    result_instruction instruction;
} rig;

static void rig_init(rig *g)
{
    memset(g, 0, sizeof *g);
    digest d = digest_of(span_str("x"));
    char hex[DIGEST_HEX];
    g->sc = scratch_new(0);
    digest_hex(d, hex);
    g->library = (result_library){"libcublasLt.so.13", "13.1.0", d, 541595600};
    g->algorithm = (result_algorithm){2, 66, 18, 35, 1, 0, 0, 3, 5, 0, 0};
    g->graph[0] = (result_node){.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = 8};
    g->graph[1] = (result_node){.kind = RESULT_NODE_KERNEL,
                                .name = "k",
                                .grid = {4096, 1, 1},
                                .block = {256, 1, 1},
                                .cluster = {2, 1, 1},
                                .dynamic_shared_bytes = 213284,
                                .registers = 168};
    g->timeline[0] = g->graph[0];
    g->timeline[0].end_ns = 10;
    g->timeline[1] = g->graph[1];
    g->timeline[1].static_shared_bytes = 16;
    g->timeline[1].start_ns = 12;
    g->timeline[1].end_ns = 20;
    g->timeline[1].launch = 1;
    g->fixture = (result_fixture){"random", true, false, "x", false, "arena+ at 128", 7};
    g->stray = (result_stray){4, 12, 300, "arena"};
    g->samples[0] = 18200000;
    g->samples[1] = 18300000;
    g->timing = (result_timing){"host_graph_launch_sync", 1099, 2, g->samples};
    g->clock = (result_clock){1980, 2619, 120000, 1, 33};
    g->cubin = (result_cubin){d, 22315, 4096, "k"};
    g->finding =
        (result_finding){"race", "random", "k", "y", 4, 17, {3, 0, 0}, {7, 1, 0}, -4, 2, 9, "two writers"};
    g->kernel = (result_kernel){"k", "ex2.approx.f32", "", 4};
    g->instruction = (result_instruction){"k", "add.f32", 4, 1048576};
    g->r = (result){
        .job_sha256 = d,
        .outputs_sha256 = d,
        .phase = JOB_VALIDATE,
        .ok = true,
        .error = "",
        .device_name = "Some Device",
        .device_uuid_sha256 = scratch_strdup(g->sc, hex),
        .compute_capability = "9.0",
        .driver = "580.159.04",
        .sm_count = 132,
        .memory_bytes = UINT64_C(150000000000),
        .l2_bytes = 62914560,
        .library_log = "[Trace][cublasLtMatmul] A=0X1\n[Trace][cublasLtMatmul] A=0X2\n",
        .n_libraries = 1,
        .n_algorithms = 1,
        .n_graph = 2,
        .n_timeline = 2,
        .n_fixtures = 1,
        .n_strays = 1,
        .n_timings = 1,
        .n_clocks = 1,
        .n_cubins = 1,
        .timeline_launches = 2,
        .timeline_dropped = 0,
        .libraries = &g->library,
        .algorithms = &g->algorithm,
        .graph = g->graph,
        .timeline = g->timeline,
        .fixtures = &g->fixture,
        .strays = &g->stray,
        .timings = &g->timing,
        .clocks = &g->clock,
        .cubins = &g->cubin,
        .n_findings = 1,
        .n_kernels = 1,
        .n_instructions = 1,
        .findings = &g->finding,
        .kernels = &g->kernel,
        .instructions = &g->instruction,
    };
}

static span render(const rig *g, const result *r)
{
    rp_err e = {0};
    span s;
    jw *j = jw_new(JW_PRETTY);
    result_write(j, r);
    cr_assert_eq(jw_finish(&e, &s, j), RP_OK, "%s", e.msg);
    s = span_of(scratch_strndup(g->sc, (const char *)s.p, s.n), s.n);
    jw_free(j);
    return s;
}

static void refused(rig *g, const char *where)
{
    rp_err e = {0};
    result *r;
    span text = render(g, &g->r);
    cr_assert_eq(result_read(&e, &r, g->sc, "result.json", text), RP_INVALID, "%s: expected a refusal",
                 where);
    cr_assert_eq(e.id, FIND_EVIDENCE_INVALID);
    cr_assert_str_eq(e.where, where, "%s", e.msg);
    scratch_free(g->sc);
}

#define REFUSED(where, ...)                                                                                  \
    do {                                                                                                     \
        rig g;                                                                                               \
        rig_init(&g);                                                                                        \
        __VA_ARGS__;                                                                                         \
        refused(&g, where);                                                                                  \
    } while (0)

static void refused_text(const char *from, const char *to, const char *where)
{
    rig g;
    rp_err e = {0};
    result *r;
    rig_init(&g);
    span s = render(&g, &g.r);
    const char *at = strstr((const char *)s.p, from);
    cr_assert(at, "%s", from);
    const char *text = scratch_printf(g.sc, "%.*s%s%s", (int)(at - (const char *)s.p), (const char *)s.p, to,
                                      at + strlen(from));
    cr_assert_eq(result_read(&e, &r, g.sc, "result.json", span_str(text)), RP_INVALID, "%s", to);
    cr_assert_eq(e.id, FIND_EVIDENCE_INVALID);
    cr_assert_str_eq(e.where, where, "%s", e.msg);
    scratch_free(g.sc);
}

Test(result, what_only_the_emulator_has)
{
    rig g;
    rp_err e = {0};
    result *r;
    rig_init(&g);
    cr_assert_eq(result_read(&e, &r, g.sc, "result.json", render(&g, &g.r)), RP_OK, "%s", e.msg);
    cr_assert(r->n_findings == 1 && r->n_kernels == 1 && r->n_instructions == 1 && !r->unavailable &&
              !r->refused);
    cr_assert_str_eq(r->findings[0].kind, "race");
    cr_assert(r->findings[0].offset_bytes == -4 && r->findings[0].thread[1] == 1 &&
              r->findings[0].count == 9);
    cr_assert_str_eq(r->kernels[0].approximate, "ex2.approx.f32");
    cr_assert_eq(r->instructions[0].count, 1048576);
    cr_assert(!result_emulated(r));
    r->device_name = result_emulator;
    cr_assert(result_emulated(r));
    g.r.n_findings = g.r.n_kernels = g.r.n_instructions = 0;
    g.r.ok = false;
    g.r.error = "unavailable on the emulator";
    g.r.unavailable = g.r.refused = true;
    span text = render(&g, &g.r);
    cr_assert(!memmem(text.p, text.n, "findings", 8));
    cr_assert_eq(result_read(&e, &r, g.sc, "result.json", text), RP_OK, "%s", e.msg);
    cr_assert(r->unavailable && r->refused && !r->n_findings);
    g.r.ok = true;
    g.r.error = "";
    cr_assert_eq(result_read(&e, &r, g.sc, "result.json", render(&g, &g.r)), RP_INVALID);
    scratch_free(g.sc);
}

Test(result, round_trip)
{
    for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
        rig g;
        rp_err e = {0};
        result *r;
        rig_init(&g);
        g.r.phase = (job_phase)phase;
        span first = render(&g, &g.r);
        cr_assert_eq(result_read(&e, &r, g.sc, "result.json", first), RP_OK, "%s: %s", e.where, e.msg);
        span second = render(&g, r);
        cr_assert_eq(first.n, second.n);
        cr_assert_arr_eq(first.p, second.p, first.n);
        cr_assert_eq(r->fixtures[0].runs_equal, phase == JOB_VALIDATE);
        cr_assert_eq(r->graph[1].registers, 168);
        cr_assert_eq(r->timeline[1].launch, 1);
        scratch_free(g.sc);
    }
}

Test(result, nothing_but_a_failure)
{
    rig g;
    rp_err e = {0};
    result *r;
    rig_init(&g);
    result failed = {.phase = JOB_TIMING, .error = "cudaMalloc: cudaErrorMemoryAllocation"};
    span s = render(&g, &failed);
    cr_assert_eq(result_read(&e, &r, g.sc, "result.json", s), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert(!r->ok);
    cr_assert_eq(r->n_graph, 0);
    cr_assert_str_eq(r->device_name, "");
    cr_assert_str_eq(r->library_log, "");
    scratch_free(g.sc);
}

Test(result, refusals)
{
    REFUSED("", g.r.error = "but it went well");
    REFUSED("", g.r.ok = false);
    REFUSED("", g.r.profile_error = true);
    REFUSED("/device", g.r.device_uuid_sha256 = "GPU-1234");
    REFUSED("/fixtures/0", g.fixture.inputs_unchanged = true);
    REFUSED("/fixtures/0", g.fixture.guards_broken = "");
    REFUSED("/timeline/0", g.timeline[0].start_ns = 11);
    REFUSED("/timeline/1", g.timeline[0].start_ns = 13; g.timeline[0].end_ns = 14);
    REFUSED("/timings/0/scope", g.timing.scope = "made_up");
    REFUSED("/timings/0", g.timing.n = 0);
    REFUSED("/timings/0/samples_ps/1", g.samples[1] = 0);
    REFUSED("/timings/1", result_timing two[2] = {g.timing, g.timing}; g.r.timings = two; g.r.n_timings = 2);
    refused_text("replay-result/0", "replay-result/1", "/format");
    refused_text("\"status\": \"ok\"", "\"status\": \"fine\"", "/status");
    refused_text("\"validate\"", "\"other\"", "/phase");
    refused_text("\"profile_error\": false", "\"profile_error\": 0", "/profile_error");
    refused_text("\"kind\": \"memcpy\"", "\"kind\": \"magic\"", "/graph/0/kind");
    refused_text("\"registers\": 168", "\"registers\": -1", "/graph/1/registers");
    refused_text("\"grid\": [4096, 1, 1]", "\"grid\": [4096, 1]", "/graph/1/grid");
    refused_text("\"driver\"", "\"extra\": 1, \"driver\"", "/device/extra");
    refused_text("\"runs_equal\": true,", "", "/fixtures/0");
    refused_text("\"cubins\"", "\"more\": [], \"cubins\"", "/more");
}

Test(result, starved)
{
    rig g;
    result *r;
    rig_init(&g);
    span s = render(&g, &g.r);
    for (size_t limit = 1; limit < 100000; limit += 997) {
        rp_err e = {0};
        scratch *sc = scratch_new(limit);
        rp_code rc = result_read(&e, &r, sc, "result.json", s);
        cr_assert(rc == RP_NOMEM || rc == RP_OK, "%d: %s", rc, e.msg);
        scratch_free(sc);
    }
    scratch_free(g.sc);
}
