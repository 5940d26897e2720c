#include "artifacts/base/json.h"
#include "gpu/job.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { DATA_BYTES = 256 };
#define MATRIX(t, o, r, c, l)                                                                                \
    {                                                                                                        \
        .type = t, .order = o, .rows = r, .cols = c, .ld = l                                                 \
    }

/* A plan of all three kinds of steps on tiny matrices: d[4,4] = wt[4,8] x[4,8]^T, a kernel, a copy. */
typedef struct {
    scratch *sc;
    uint8_t data[DATA_BYTES];
    job_buffer buffers[9];
    job_module module;
    job_step steps[3];
    job_input inputs[3];
    job_output output;
    job_fixture fixtures[2];
    int64_t params[1];
    job jb;
} rig;

static job_part part(const rig *r, uint64_t at, uint64_t bytes)
{
    return (job_part){at, bytes, digest_of(span_of(r->data + at, bytes))};
}

static void rig_init(rig *r)
{
    memset(r, 0, sizeof *r);
    r->sc = scratch_new(0);
    for (int i = 0; i < DATA_BYTES; i++)
        r->data[i] = (uint8_t)(i * 7);
    job_buffer b[9] = {
        {"x", JOB_EXTERNAL, 0, 64, false},   {"wt", JOB_EXTERNAL, 0, 64, false},
        {"bias", JOB_EXTERNAL, 0, 8, false}, {"parameters", JOB_ARENA, 0, 8, true},
        {"p32", JOB_ARENA, 256, 64, true},   {"workspace@2", JOB_ARENA, 512, 1024, true},
        {"p16", JOB_ARENA, 512, 32, true},   {"y", JOB_EXTERNAL, 0, 32, true},
        {"y2", JOB_EXTERNAL, 0, 32, true},
    };
    memcpy(r->buffers, b, sizeof b);
    r->module = (job_module){"000_cast", part(r, 0, 100)};
    r->steps[0] = (job_step){
        .kind = JOB_MATMUL,
        .node = 2,
        .call = {.m = 4,
                 .n = 4,
                 .k = 8,
                 .a = MATRIX(DT_F16, LTO_ROW, 4, 8, 8),
                 .b = MATRIX(DT_F16, LTO_ROW, 4, 8, 8),
                 .c = MATRIX(DT_F32, LTO_COL, 4, 4, 4),
                 .d = MATRIX(DT_F32, LTO_COL, 4, 4, 4),
                 .trans_b = true,
                 .compute = LTC_32F,
                 .scale = DT_F32,
                 .bias_type = DT_F32,
                 .workspace_bytes = 1024},
        .a = 1,
        .b = 0,
        .c = 4,
        .d = 4,
        .bias = -1,
        .scale_a = -1,
        .scale_b = -1,
        .workspace = 5,
        .n_writes = 2,
        .writes = {4, 5},
    };
    r->steps[1] = (job_step){.kind = JOB_KERNEL,
                             .node = 4,
                             .bias = -1,
                             .scale_a = -1,
                             .scale_b = -1,
                             .workspace = -1,
                             .module = 0,
                             .entry = "k",
                             .n_args = 3,
                             .args = {4, 7, 3},
                             .grid = {1, 1, 1},
                             .block = {256, 1, 1},
                             .n_writes = 1,
                             .writes = {7}};
    r->steps[2] = (job_step){.kind = JOB_COPY,
                             .node = 6,
                             .bias = -1,
                             .scale_a = -1,
                             .scale_b = -1,
                             .workspace = -1,
                             .src = 7,
                             .dst = 8,
                             .n_writes = 1,
                             .writes = {8}};
    r->inputs[0] = (job_input){0, part(r, 100, 64)};
    r->inputs[1] = (job_input){1, part(r, 128, 64)};
    r->inputs[2] = (job_input){2, part(r, 200, 8)};
    r->output = (job_output){8, 0};
    r->fixtures[0] = (job_fixture){"zero", false, 3, 1, r->inputs, &r->output};
    r->fixtures[1] = (job_fixture){"random", true, 3, 1, r->inputs, &r->output};
    r->jb = (job){
        .phase = JOB_TIMING,
        .arena_bytes = 2048,
        .guard_bytes = 256,
        .n_params = 1,
        .params = r->params,
        .params_buffer = 3,
        .n_buffers = 9,
        .n_modules = 1,
        .n_steps = 3,
        .n_fixtures = 2,
        .buffers = r->buffers,
        .modules = &r->module,
        .steps = r->steps,
        .fixtures = r->fixtures,
        .timing = {1, 10, 3, 15, 20000000, 2000},
        .timeline_launches = 20,
        .output_bytes = 32,
    };
}

static span render(const rig *r, const job *jb)
{
    rp_err e = {0};
    span s;
    jw *j = jw_new(JW_PRETTY);
    job_write(j, jb);
    cr_assert_eq(jw_finish(&e, &s, j), RP_OK, "%s", e.msg);
    s = span_of(scratch_strndup(r->sc, (const char *)s.p, s.n), s.n);
    jw_free(j);
    return s;
}

/* The rig must be refused, at this place. */
static void refused(rig *r, const char *where)
{
    rp_err e = {0};
    job *jb;
    span text = render(r, &r->jb);
    rp_code rc = job_read(&e, &jb, r->sc, "job.json", text, DATA_BYTES);
    cr_assert_eq(rc, RP_INVALID, "%s: expected a refusal", where);
    cr_assert_str_eq(e.where, where, "%s", e.msg);
    cr_assert_str_eq(e.file, "job.json");
    scratch_free(r->sc);
}

/* Change one field of a fresh rig and expect the refusal. */
#define REFUSED(where, ...)                                                                                  \
    do {                                                                                                     \
        rig r;                                                                                               \
        rig_init(&r);                                                                                        \
        __VA_ARGS__;                                                                                         \
        refused(&r, where);                                                                                  \
    } while (0)

/* The text must be refused after one replacement. */
static void refused_text(const char *from, const char *to, const char *where, finding_id id)
{
    rig r;
    rp_err e = {0};
    job *jb;
    rig_init(&r);
    span s = render(&r, &r.jb);
    const char *at = strstr((const char *)s.p, from);
    cr_assert(at, "%s", from);
    const char *text = scratch_printf(r.sc, "%.*s%s%s", (int)(at - (const char *)s.p), (const char *)s.p, to,
                                      at + strlen(from));
    cr_assert_eq(job_read(&e, &jb, r.sc, "job.json", span_str(text), DATA_BYTES), RP_INVALID, "%s", to);
    cr_assert_str_eq(e.where, where, "%s", e.msg);
    cr_assert_eq(e.id, id, "%s: %s", finding_name(e.id), e.msg);
    scratch_free(r.sc);
}

Test(job, round_trip)
{
    for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
        rig r;
        rp_err e = {0};
        job *jb;
        rig_init(&r);
        r.jb.phase = (job_phase)phase;
        span first = render(&r, &r.jb);
        cr_assert_eq(job_read(&e, &jb, r.sc, "job.json", first, DATA_BYTES), RP_OK, "%s: %s", e.where, e.msg);
        span second = render(&r, jb);
        cr_assert_eq(first.n, second.n);
        cr_assert_arr_eq(first.p, second.p, first.n);
        cr_assert_eq(jb->n_steps, 3);
        cr_assert_eq(jb->steps[0].call.k, 8);
        cr_assert_eq(jb->steps[1].args[2], 3);
        cr_assert_eq(jb->steps[1].bias, -1);
        cr_assert_eq(job_check_data(&e, jb, "data", span_of(r.data, DATA_BYTES)), RP_OK, "%s", e.msg);
        scratch_free(r.sc);
    }
}

Test(job, arguments_by_value)
{
    rig r;
    rp_err e = {0};
    job *jb;
    rig_init(&r);
    r.jb.steps[1].args[1] = -1;
    r.jb.steps[1].values[1] = (job_value){4, 0xffffffff};
    span first = render(&r, &r.jb);
    cr_assert_eq(job_read(&e, &jb, r.sc, "job.json", first, DATA_BYTES), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert(jb->steps[1].args[1] == -1 && jb->steps[1].values[1].bytes == 4);
    cr_assert_eq(jb->steps[1].values[1].bits, 0xffffffff);
    span second = render(&r, jb);
    cr_assert_eq(first.n, second.n);
    cr_assert_arr_eq(first.p, second.p, first.n);
    scratch_free(r.sc);
}

Test(job, refuses_values)
{
    REFUSED("/steps/1/args/1", r.steps[1].args[1] = -1; r.steps[1].values[1] = (job_value){3, 1});
    REFUSED("/steps/1/args/1", r.steps[1].args[1] = -1;
            r.steps[1].values[1] = (job_value){4, UINT64_C(1) << 32});
    REFUSED("/steps/1/args/1/bytes", r.steps[1].args[1] = -1; r.steps[1].values[1] = (job_value){9, 1});
}

Test(job, without_parameters_or_workspace)
{
    rig r;
    rp_err e = {0};
    job *jb;
    rig_init(&r);
    r.jb.n_params = 0;
    r.jb.params_buffer = -1;
    r.steps[0].call.workspace_bytes = 0;
    r.steps[0].workspace = -1;
    r.steps[0].n_writes = 1;
    span s = render(&r, &r.jb);
    cr_assert_eq(job_read(&e, &jb, r.sc, "job.json", s, DATA_BYTES), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert_eq(jb->params_buffer, -1);
    cr_assert_eq(jb->steps[0].workspace, -1);
    scratch_free(r.sc);
}

/* As it was before batches, scales and other types: kept evidence compares the bytes. */
Test(job, a_plain_call_is_written_as_before)
{
    rig r;
    rig_init(&r);
    span s = render(&r, &r.jb);
    cr_assert(strstr((const char *)s.p,
                     "\"trans_b\": true,\n        \"epilogue\": \"default\",\n        \"beta_one\""),
              "%s", (const char *)s.p);
    static const char *const absent[] = {"batch", "stride", "scaled", "compute", "scale", "bias_type"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        cr_expect(!strstr((const char *)s.p, scratch_printf(r.sc, "\"%s", absent[i])), "%s", absent[i]);
    scratch_free(r.sc);
}

/* Two products of FP8, d[2,2] each, from scaled operands with a bias of BF16. */
static void widen(rig *r)
{
    lt_call *c = &r->steps[0].call;
    const lt_matrix a = MATRIX(DT_F8_E4M3, LTO_COL, 8, 2, 8), d = MATRIX(DT_F32, LTO_COL, 2, 2, 3);
    rig_init(r);
    *c = (lt_call){.m = 2,
                   .n = 2,
                   .k = 8,
                   .a = a,
                   .b = a,
                   .c = d,
                   .d = d,
                   .trans_a = true,
                   .compute = LTC_32F_FAST_TF32,
                   .scale = DT_F32,
                   .epilogue = LTE_GELU_BIAS,
                   .bias_type = DT_BF16,
                   .workspace_bytes = 1024};
    c->b.type = DT_F8_E5M2;
    c->a.batch = c->b.batch = c->c.batch = c->d.batch = 2;
    c->a.stride = 16;
    c->c.stride = c->d.stride = 6;
    c->a.scaled = c->b.scaled = true;
    r->steps[0].bias = 2;
    r->steps[0].scale_a = 2;
    r->steps[0].scale_b = 6;
}

#define REFUSED_WIDE(where, ...)                                                                             \
    do {                                                                                                     \
        rig r;                                                                                               \
        lt_call *c = &r.steps[0].call;                                                                       \
        (void)c;                                                                                             \
        widen(&r);                                                                                           \
        __VA_ARGS__;                                                                                         \
        refused(&r, where);                                                                                  \
    } while (0)

Test(job, wide_round_trip)
{
    rig r;
    rp_err e = {0};
    job *jb;
    widen(&r);
    span first = render(&r, &r.jb);
    cr_assert_eq(job_read(&e, &jb, r.sc, "job.json", first, DATA_BYTES), RP_OK, "%s: %s", e.where, e.msg);
    const job_step *s = &jb->steps[0];
    cr_assert(s->call.a.batch == 2 && s->call.a.stride == 16 && s->call.b.batch == 2 &&
              s->call.b.stride == 0);
    cr_assert(s->call.a.scaled && s->call.b.scaled && s->scale_a == 2 && s->scale_b == 6);
    cr_assert(s->call.compute == LTC_32F_FAST_TF32 && s->call.scale == DT_F32 &&
              s->call.bias_type == DT_BF16 && s->call.epilogue == LTE_GELU_BIAS);
    cr_assert(jb->steps[1].scale_a == -1 && jb->steps[2].scale_b == -1);
    span second = render(&r, jb);
    cr_assert_eq(first.n, second.n);
    cr_assert_arr_eq(first.p, second.p, first.n);
    scratch_free(r.sc);
}

Test(job, refuses_wide_matmuls)
{
    REFUSED_WIDE("/steps/0/call", c->a.batch = 3);
    REFUSED_WIDE("/steps/0/call", c->d.batch = 0);
    REFUSED_WIDE("/steps/0/call/a/batch", c->a.batch = 1);
    REFUSED_WIDE("/steps/0/call/a/batch", c->a.batch = UINT64_C(1) << 31);
    REFUSED_WIDE("/steps/0/call/a/stride", c->a.stride = UINT64_C(1) << 51);
    REFUSED_WIDE("/steps/0/call", c->a.stride = 49); /* 49 + 16 bytes of 64 */
    REFUSED_WIDE("/steps/0/call", c->d.stride = 12); /* 12 + 5 values of 16 */
    REFUSED_WIDE("/steps/0/call", c->c.stride = 12; c->beta_one = true);
    REFUSED_WIDE("/steps/0/call", c->d.stride = 0);
    REFUSED_WIDE("/steps/0/call", c->a.scaled = false);
    REFUSED_WIDE("/steps/0/call", c->d.scaled = true);
    REFUSED_WIDE("/steps/0/call", r.steps[0].scale_b = -1);
    REFUSED_WIDE("/steps/0/scale_a", r.steps[0].scale_a = 9);
    REFUSED_WIDE("/steps/0/call", r.buffers[2].bytes = r.inputs[2].data.bytes = 3;
                 r.steps[0].bias = 6);                             /* no room for a scale */
    REFUSED_WIDE("/steps/0/call", c->a.type = c->b.type = DT_F16); /* a scale belongs to FP8 */
    REFUSED_WIDE("/steps/0/call", c->bias_type = DT_I8);
    REFUSED_WIDE("/steps/0/call", c->m = c->n = 5; c->bias_type = DT_F32);
    REFUSED_WIDE("/steps/0/call/epilogue", c->epilogue = LTE_DGELU);
    REFUSED_WIDE("/steps/0/call/a/order", c->a.order = LTO_COL32);
}

Test(job, families_of_types)
{
    static const struct {
        dtype a, b, d;
        lt_compute compute;
        dtype scale;
        bool ok;
    } cases[] = {
        {DT_F16, DT_F16, DT_F16, LTC_32F, DT_F32, true},
        {DT_BF16, DT_BF16, DT_BF16, LTC_32F_FAST_16BF, DT_F32, true},
        {DT_F16, DT_F16, DT_F32, LTC_32F_FAST_TF32, DT_F32, true},
        {DT_F16, DT_F16, DT_F16, LTC_16F, DT_F16, true},
        {DT_F16, DT_F16, DT_F32, LTC_16F, DT_F16, false},
        {DT_F16, DT_F16, DT_F16, LTC_16F, DT_F32, false},
        {DT_F8_E4M3, DT_F8_E5M2, DT_F8_E4M3, LTC_32F, DT_F32, true},
        {DT_I8, DT_I8, DT_I32, LTC_32I, DT_I32, true},
        {DT_I8, DT_I8, DT_I8, LTC_32I_PEDANTIC, DT_F32, true},
        {DT_I8, DT_I8, DT_I32, LTC_32I, DT_F32, false},
        {DT_I8, DT_I8, DT_F32, LTC_32F, DT_F32, false},
        {DT_I8, DT_F16, DT_I32, LTC_32I, DT_I32, false},
        {DT_F16, DT_F16, DT_F16, LTC_32I, DT_I32, false},
        {DT_F64, DT_F64, DT_F64, LTC_64F, DT_F64, false}, /* the buffers are too small */
        {DT_F64, DT_F64, DT_F64, LTC_32F, DT_F32, false},
        {DT_F64, DT_F64, DT_F32, LTC_64F, DT_F64, false},
        {DT_U8, DT_U8, DT_I32, LTC_32I, DT_I32, false},
        {DT_F16, DT_F16, DT_BOOL, LTC_32F, DT_F32, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rp_err e = {0};
        job *jb;
        rig_init(&r);
        lt_call *c = &r.steps[0].call;
        c->a.type = cases[i].a;
        c->b.type = cases[i].b;
        c->c.type = c->d.type = c->bias_type = cases[i].d;
        c->compute = cases[i].compute;
        c->scale = cases[i].scale;
        span s = render(&r, &r.jb);
        cr_expect_eq(job_read(&e, &jb, r.sc, "job.json", s, DATA_BYTES), cases[i].ok ? RP_OK : RP_INVALID,
                     "case %zu: %s", i, e.msg);
        cr_expect(cases[i].ok || !strncmp(e.where, "/steps/0/call", 13), "case %zu: %s", i, e.where);
        scratch_free(r.sc);
    }
}

Test(job, data_must_match)
{
    rig r;
    rp_err e = {0};
    rig_init(&r);
    r.data[150] ^= 1;
    cr_assert_eq(job_check_data(&e, &r.jb, "data", span_of(r.data, DATA_BYTES)), RP_INVALID);
    cr_assert_eq(e.id, FIND_FILE_DIGEST);
    cr_assert_str_eq(e.where, "zero");
    e = (rp_err){0};
    r.data[150] ^= 1;
    r.data[3] ^= 1;
    cr_assert_eq(job_check_data(&e, &r.jb, "data", span_of(r.data, DATA_BYTES)), RP_INVALID);
    cr_assert_str_eq(e.where, "000_cast");
    scratch_free(r.sc);
}

Test(job, refuses_header)
{
    REFUSED("/guard_bytes", r.jb.guard_bytes = 100);
    REFUSED("/arena_bytes", r.jb.arena_bytes = UINT64_C(1) << 51);
    refused_text("replay-job/0", "replay-job/1", "/format", FIND_JSON_VALUE);
    refused_text("\"timing\",", "\"warm\",", "/phase", FIND_JSON_VALUE);
    refused_text("\"output_bytes\"", "\"surprise\": 1, \"output_bytes\"", "/surprise", FIND_JSON_UNKNOWN_KEY);
}

Test(job, refuses_buffers)
{
    REFUSED("/buffers/0", r.buffers[0].offset_bytes = 256);
    REFUSED("/buffers/5", r.buffers[5].offset_bytes = 1280);
    REFUSED("/buffers/5", r.buffers[5].offset_bytes = (UINT64_C(1) << 53) - 1);
    REFUSED("/buffers/1", r.buffers[1].id = "x");
    REFUSED("/buffers/0/id", r.buffers[0].id = "");
    REFUSED("/buffers/0/bytes", r.buffers[0].bytes = UINT64_C(1) << 51);
    REFUSED("/buffers/1", r.buffers[0].bytes = r.buffers[1].bytes = UINT64_C(1) << 50);
}

Test(job, refuses_parameters)
{
    REFUSED("/parameters/buffer", r.jb.params_buffer = 9);
    REFUSED("/parameters/buffer", r.jb.params_buffer = -2);
    REFUSED("/parameters", r.jb.params_buffer = -1);
    REFUSED("/parameters", r.jb.n_params = 0);
    REFUSED("/parameters", int64_t two[2] = {0}; r.jb.params = two; r.jb.n_params = 2);
}

Test(job, refuses_modules)
{
    REFUSED("/modules/0/ptx", r.module.ptx.offset_bytes = 157);
    REFUSED("/modules/0", r.module.ptx.bytes = 0);
    REFUSED("/modules/0/name", r.module.name = "");
}

Test(job, refuses_matmuls)
{
    REFUSED("/steps/0/a", r.steps[0].a = 9);
    REFUSED("/steps/0/c", r.steps[0].c = -1);
    REFUSED("/steps/0/call", r.steps[0].call.trans_a = true);
    REFUSED("/steps/0/call", r.steps[0].call.m = 5);
    REFUSED("/steps/0/call/m", r.steps[0].call.m = 0);
    REFUSED("/steps/0/call/a", r.steps[0].call.a.type = DT_U8);
    REFUSED("/steps/0/call", r.steps[0].call.a.type = DT_F64);          /* of another family */
    REFUSED("/steps/0/call", r.steps[0].call.a.ld = 9);                 /* reaches beyond wt */
    REFUSED("/steps/0/call", r.steps[0].call.d.ld = UINT64_C(1) << 50); /* and the product does not fit */
    REFUSED("/steps/0/call/d/ld", r.steps[0].call.d.ld = UINT64_C(1) << 51);
    REFUSED("/steps/0/call", r.buffers[4].offset_bytes = 264); /* the library was promised 256 */
    REFUSED("/steps/0", r.steps[0].bias = 2);
    REFUSED("/steps/0", r.steps[0].call.epilogue = LTE_BIAS);
    REFUSED("/steps/0/call", r.steps[0].call.epilogue = LTE_RELU_BIAS;
            r.steps[0].bias = 2); /* f32 bias, 8 bytes */
    REFUSED("/steps/0", r.steps[0].call.workspace_bytes = 0);
    REFUSED("/steps/0", r.steps[0].workspace = -1);
    REFUSED("/steps/0", r.steps[0].call.workspace_bytes = 2000);
}

Test(job, refuses_kernels_and_copies)
{
    REFUSED("/steps/1", r.steps[1].module = 1);
    REFUSED("/steps/1/entry", r.steps[1].entry = "");
    REFUSED("/steps/1/args/1/bytes", r.steps[1].args[1] = -1);
    refused_text("\"args\": [4, 7, 3]", "\"args\": [4, -1, 3]", "/steps/1/args/1", FIND_JSON_VALUE);
    REFUSED("/steps/1/args/1", r.steps[1].args[1] = 9);
    REFUSED("/steps/1", r.steps[1].grid[0] = 0);
    REFUSED("/steps/1", r.steps[1].grid[1] = 65536);
    REFUSED("/steps/1", r.steps[1].block[0] = 512; r.steps[1].block[1] = 4);
    REFUSED("/steps/1/shared_bytes", r.steps[1].shared_bytes = UINT64_C(1) << 31);
    REFUSED("/steps/2", r.steps[2].src = 0);
    refused_text("\"copy\"", "\"move\"", "/steps/2/kind", FIND_JSON_VALUE);
    refused_text("\"src\": 7", "\"src\": 7.0", "/steps/2/src", FIND_JSON_NUMBER);
}

Test(job, refuses_writes)
{
    REFUSED("/steps/0/writes", r.steps[0].n_writes = 0);
    REFUSED("/steps/0/writes", r.steps[0].n_writes = 1);
    REFUSED("/steps/1/writes/0", r.steps[1].writes[0] = 0); /* an input */
    REFUSED("/steps/1/writes/0", r.steps[1].writes[0] = 12);
    REFUSED("/steps/2/writes", r.steps[2].writes[0] = 7);
}

Test(job, refuses_fixtures)
{
    REFUSED("/fixtures", r.jb.n_fixtures = 0);
    REFUSED("/fixtures/1", r.fixtures[1].name = "zero");
    REFUSED("/fixtures/0/inputs/0/data", r.inputs[0].data.offset_bytes = 250);
    REFUSED("/fixtures/0/inputs/0", r.inputs[0].data.bytes = 63);
    REFUSED("/fixtures/0/inputs/2/buffer", r.inputs[2].buffer = -1);
    REFUSED("/fixtures/0/outputs/0", r.output.offset_bytes = 1);
    REFUSED("/fixtures/0/outputs/0", r.output.offset_bytes = (UINT64_C(1) << 53) - 1);
}

Test(job, refuses_timing)
{
    REFUSED("/timing/fixture", r.jb.timing.fixture = 2);
    REFUSED("/timing/pilot", r.jb.timing.pilot = 0);
    REFUSED("/timing/blocks", r.jb.timing.blocks = 0);
    REFUSED("/timing/max_calls", r.jb.timing.max_calls = 0);
    REFUSED("/timeline_launches", r.jb.phase = JOB_TIMELINE; r.jb.timeline_launches = 0);
}

Test(job, starved)
{
    rig r;
    job *jb;
    rig_init(&r);
    span s = render(&r, &r.jb);
    for (size_t limit = 1; limit < 200000; limit += 997) {
        rp_err e = {0};
        scratch *sc = scratch_new(limit);
        rp_code rc = job_read(&e, &jb, sc, "job.json", s, DATA_BYTES);
        cr_assert(rc == RP_NOMEM || rc == RP_OK, "%d: %s", rc, e.msg);
        scratch_free(sc);
    }
    scratch_free(r.sc);
}
