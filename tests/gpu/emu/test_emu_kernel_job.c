/* NAME.json, NAME.ptx and NAME.safetensors as `replay kernel` reads them. */
#include "artifacts/base/file.h"
#include "artifacts/safetensors.h"
#include "replay/kernel_job.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    scratch *sc;
    char dir[32];
    const char *path;
} rig;

/* Two buffers: a of 6 bytes is read, o of 8 is written; `args` and `buffers` are pieces of the JSON. */
static void rig_init(rig *g, const char *args, const char *buffers)
{
    rp_err e = {0};
    span packed;
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    st_tensor t[2] = {{"in.a", DT_U8, 1, {6}, {bytes, 6}}, {"out.o", DT_U8, 1, {8}, {bytes, 8}}};
    snprintf(g->dir, sizeof g->dir, "/tmp/replay-kernel-XXXXXX");
    cr_assert(mkdtemp(g->dir));
    g->sc = scratch_new(0);
    g->path = scratch_printf(g->sc, "%s/k.json", g->dir);
    const char *json =
        scratch_printf(g->sc,
                       "{\"name\": \"k\", \"producer\": \"p\", \"entry\": \"e\", \"grid\": [2, 1, 1], "
                       "\"block\": [32, 1, 1], "
                       "\"shared_bytes\": 0, \"args\": [%s], \"buffers\": {%s}, \"note\": \"\"}",
                       args, buffers);
    cr_assert(!st_write(&e, &packed, g->sc, t, 2) && !file_write(&e, g->path, span_str(json)) &&
                  !file_write(&e, scratch_printf(g->sc, "%s/k.ptx", g->dir),
                              span_str(".version 8.0 mul.f32 add.f32 ex2.approx.f32")) &&
                  !file_write(&e, scratch_printf(g->sc, "%s/k.safetensors", g->dir), packed),
              "%s", e.msg);
}

static void rig_clear(rig *g)
{
    rp_err e = {0};
    (void)!file_remove_tree(&e, g->dir);
    scratch_free(g->sc);
}

static const char both[] = "\"a\": {\"dtype\": \"float16\", \"shape\": [3], \"output\": false}, "
                           "\"o\": {\"dtype\": \"uint32\", \"shape\": [2], \"output\": true}";

Test(emu_kernel_job, arguments)
{
    rig g;
    rp_err e = {0};
    kernel_job *k;
    rig_init(&g,
             "{\"kind\": \"buf\", \"value\": \"o\"}, {\"kind\": \"i32\", \"value\": -1}, {\"kind\": \"f64\", "
             "\"value\": 1.5}, "
             "{\"kind\": \"null\", \"value\": 0}, {\"kind\": \"u64\", \"value\": 18446744073709551615}, "
             "{\"kind\": \"bool\", \"value\": true}, "
             "{\"kind\": \"bf16\", \"value\": 2}, {\"kind\": \"i64\", \"value\": 1e3}, {\"kind\": \"buf\", "
             "\"value\": \"a\"}",
             both);
    cr_assert_eq(kernel_job_read(&e, &k, g.sc, g.path, true), RP_OK, "%s: %s", e.where, e.msg);
    const job_step *s = &k->jb.steps[0];
    cr_assert_eq(s->n_args, 9);
    cr_assert(s->args[0] == 1 && s->args[8] == 0 && s->args[1] == -1);
    cr_assert(s->values[1].bytes == 4 && s->values[1].bits == UINT32_MAX);
    cr_assert(s->values[2].bytes == 8 && s->values[2].bits == UINT64_C(0x3ff8000000000000));
    cr_assert(s->values[3].bytes == 8 && s->values[3].bits == 0);
    cr_assert(s->values[4].bits == UINT64_MAX && s->values[5].bytes == 1 && s->values[5].bits == 1);
    cr_assert(s->values[6].bytes == 2 && s->values[6].bits == 0x4000 && s->values[7].bits == 1000);
    cr_assert(s->n_writes == 1 && s->writes[0] == 1);
    cr_assert(k->n_outputs == 1 && k->outputs[0].type == DT_U32 && k->outputs[0].expected.n == 8);
    cr_assert(k->approximate && k->contractible);
    /* The job is one that a worker accepts. */
    jw *j = jw_new(JW_PRETTY);
    span text;
    job *back;
    job_write(j, &k->jb);
    cr_assert(!jw_finish(&e, &text, j) && !job_read(&e, &back, g.sc, "job.json", text, k->data.n) &&
                  !job_check_data(&e, back, "data", k->data),
              "%s", e.msg);
    cr_assert(back->n_fixtures == 2 && !back->fixtures[0].separate && back->fixtures[1].separate &&
              back->output_bytes == 16);
    jw_free(j);
    rig_clear(&g);
}

static void refused(const char *args, const char *buffers, const char *where)
{
    rig g;
    rp_err e = {0};
    kernel_job *k;
    rig_init(&g, args, buffers);
    cr_assert_eq(kernel_job_read(&e, &k, g.sc, g.path, false), RP_INVALID, "%s %s", args, buffers);
    cr_assert_str_eq(e.where, where, "%s", e.msg);
    rig_clear(&g);
}

Test(emu_kernel_job, refusals)
{
    refused("{\"kind\": \"buf\", \"value\": \"x\"}", both, "/args/0/value");
    refused("{\"kind\": \"i33\", \"value\": 1}", both, "/args/0");
    refused("{\"kind\": \"i32\", \"value\": \"one\"}", both, "/args/0");
    refused("{\"kind\": \"i32\", \"value\": []}", both, "/args/0");
    refused("", "\"a\": {\"dtype\": \"float16\", \"shape\": [3], \"output\": false}", "");
    refused("", "\"b\": {\"dtype\": \"float16\", \"shape\": [3], \"output\": true}", "/buffers/b");
    refused("", "\"o\": {\"dtype\": \"float16\", \"shape\": [3], \"output\": false}", "/buffers/o");
}

Test(emu_kernel_job, a_file_of_another_name)
{
    rp_err e = {0};
    kernel_job *k;
    scratch *sc = scratch_new(0);
    cr_assert_eq(kernel_job_read(&e, &k, sc, "kernel.txt", false), RP_IO);
    scratch_free(sc);
}
