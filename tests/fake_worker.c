/* A worker without a device, for tests only: it speaks the protocol of gpu/job.h and makes everything up.
 * What it plays is the end of the name it is started by (a symbolic link), its outputs are the file
 * outputs.bin beside that name. It compiles nothing either: to --compile it answers with what a test laid
 * beside that name, for kernels/000_cast.cu the files 000_cast.json (the bundle's record of the kernel, which
 * says by what compiler) and 000_cast.ptx; without them it is a worker that has no compiler.
 *
 *   fake-worker, fake-worker-good   all well: outputs.bin as it is, the rest invented to fit the job
 *   …-crash, …-hang                 dies of a signal; never ends
 *   …-truncated                     half a result, exit 0
 *   …-wrong-digest                  echoes another job
 *   …-fail                          status failed
 *   …-stray                         a node wrote where it should not (validate)
 *   …-numeric                       the first output is wrong
 *   …-nondeterministic              the two runs of the first fixture differ (validate)
 *   …-registers                     the library's kernel takes other registers (timeline)
 *   …-profile-fail                  the profiler failed (timeline, instructions)
 *   …-no-device                     the probe finds nothing
 *   …-no-compile                    the sources do not compile
 *   …-other-device                  another device than that of all the others
 *   …-rows-slow                     slower where the first product's result lies by rows
 *
 * MODE-PHASE (crash-timeline) plays MODE in that phase alone, and is good in the others. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "gpu/job.h"
#include "gpu/result.h"
#include "verify/kernels.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30, CALL_PS = 18200000 };

typedef struct {
    scratch *sc;
    const char *mode, *folder;
    int only; /* the one phase that plays the mode; -1: all */
    const job *jb;
    result r;
} fake;

static _Noreturn void broken(const char *why)
{
    fprintf(stderr, "fake-worker: %s\n", why);
    exit(70);
}

static void *some(fake *f, uint64_t n, size_t size)
{
    void *p = scratch_array(f->sc, n, size);
    if (!p)
        broken("out of memory");
    return p;
}

static const char *text(const char *s)
{
    if (!s)
        broken("out of memory");
    return s;
}

static bool is(const fake *f, const char *mode)
{
    return !strcmp(f->mode, mode);
}

static void invent_device(result *r, bool other)
{
    r->device_name = other ? "Other Device" : "Fake Device";
    r->device_uuid_sha256 = other ? "1111111111111111111111111111111111111111111111111111111111111111"
                                  : "0000000000000000000000000000000000000000000000000000000000000000";
    r->compute_capability = "9.0";
    r->driver = "0.0";
    r->sm_count = 1;
    r->memory_bytes = 1 << 30;
    r->l2_bytes = 1 << 20;
}

static const char *const library_types[DT_COUNT] = {
    [DT_F16] = "R_16F", [DT_BF16] = "R_16BF",       [DT_F32] = "R_32F",         [DT_F64] = "R_64F",
    [DT_I8] = "R_8I",   [DT_F8_E4M3] = "R_8F_E4M3", [DT_F8_E5M2] = "R_8F_E5M2", [DT_I32] = "R_32I"};

/* As cuBLASLt prints a matrix, its defaults left out. */
static const char *logged_matrix(fake *f, const lt_matrix *m)
{
    const char *batch = "";
    if (m->batch)
        batch = text(scratch_printf(f->sc, " batchCount=%llu stridedBatchOffset=%llu",
                                    (unsigned long long)m->batch, (unsigned long long)m->stride));
    return text(scratch_printf(f->sc, "[type=%s rows=%llu cols=%llu ld=%llu%s%s]", library_types[m->type],
                               (unsigned long long)m->rows, (unsigned long long)m->cols,
                               (unsigned long long)m->ld, m->order == LTO_ROW ? " order=ORDER_ROW" : "",
                               batch));
}

/* A name of ours as the library spells it, behind its prefix. */
static const char *spelled(fake *f, const char *prefix, const char *name)
{
    char *s = scratch_printf(f->sc, "%s%s", prefix, name);
    for (char *c = s ? s + strlen(prefix) : NULL; c && *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return text(s);
}

static const char *logged_desc(fake *f, const job_step *s)
{
    const lt_call *c = &s->call;
    const char *bias = "";
    if (lt_epilogue_has_bias(c->epilogue))
        bias = text(scratch_printf(f->sc, " biasPointer=0x7f0000500000%s%s",
                                   c->bias_type == c->d.type ? "" : " biasDataType=",
                                   c->bias_type == c->d.type ? "" : library_types[c->bias_type]));
    return text(scratch_printf(
        f->sc, "[computeType=%s scaleType=%s%s%s%s%s%s%s]",
        spelled(f, "COMPUTE_", lt_compute_names[c->compute]), library_types[c->scale],
        c->trans_a ? " transa=OP_T" : "", c->trans_b ? " transb=OP_T" : "",
        c->epilogue == LTE_DEFAULT ? "" : spelled(f, " epilogue=EPILOGUE_", lt_epilogue_names[c->epilogue]),
        bias, c->a.scaled ? " aScalePointer=0x7f0000600000" : "",
        c->b.scaled ? " bScalePointer=0x7f0000600100" : ""));
}

static const char *logged_call(fake *f, const job_step *s)
{
    const lt_call *c = &s->call;
    return text(scratch_printf(
        f->sc,
        "[Trace][cublasLtMatmul] A=0X7F0000000000 Adesc=%s B=0X7F0000100000 Bdesc=%s C=0X7F0000200000 "
        "Cdesc=%s "
        "D=0X7F0000%s00000 Ddesc=%s computeDesc=%s "
        "algo=[algoId=66 tile=MATMUL_TILE_128x64 stages=MATMUL_STAGES_64xAUTO customOption=3 "
        "clusterShape=CLUSTER_SHAPE_1x2x1] workSpace=0X7F0000400000 workSpaceSizeInBytes=%llu beta=%d "
        "outOfPlace=%d "
        "stream=0X1\n",
        logged_matrix(f, &c->a), logged_matrix(f, &c->b), logged_matrix(f, &c->c), s->c == s->d ? "2" : "3",
        logged_matrix(f, &c->d), logged_desc(f, s), (unsigned long long)c->workspace_bytes,
        c->beta_one ? 1 : 0, s->c == s->d ? 0 : 1));
}

static void invent_graph(fake *f)
{
    const job *jb = f->jb;
    result *r = &f->r;
    r->graph = some(f, jb->n_steps + 1, sizeof *r->graph);
    r->algorithms = some(f, jb->n_steps, sizeof *r->algorithms);
    r->library_log = "";
    if (jb->n_params)
        r->graph[r->n_graph++] =
            (result_node){.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = 8 * jb->n_params};
    for (uint64_t i = 0; i < jb->n_steps; i++) {
        const job_step *s = &jb->steps[i];
        result_node *n = &r->graph[r->n_graph++];
        n->kind = RESULT_NODE_KERNEL;
        switch (s->kind) {
        case JOB_MATMUL:
            *n = (result_node){.kind = RESULT_NODE_KERNEL,
                               .name = "fake_lt",
                               .grid = {2, 64, 1},
                               .block = {384, 1, 1},
                               .cluster = {2, 1, 1},
                               .dynamic_shared_bytes = 213284,
                               .registers = jb->phase == JOB_TIMELINE && is(f, "registers") ? 96 : 168};
            r->algorithms[r->n_algorithms++] = (result_algorithm){.node = s->node,
                                                                  .id = 66,
                                                                  .tile = 18,
                                                                  .stages = 35,
                                                                  .split_k = 1,
                                                                  .custom_option = 3,
                                                                  .cluster = 5};
            r->library_log = text(scratch_printf(f->sc, "%s%s", r->library_log, logged_call(f, s)));
            break;
        case JOB_KERNEL:
            n->name = s->entry;
            memcpy(n->grid, s->grid, sizeof n->grid);
            memcpy(n->block, s->block, sizeof n->block);
            n->dynamic_shared_bytes = s->shared_bytes;
            n->registers = 16;
            break;
        case JOB_COPY:
            *n = (result_node){.kind = RESULT_NODE_MEMCPY, .name = "", .bytes = jb->buffers[s->dst].bytes};
            break;
        }
    }
}

static void invent_fixtures(fake *f)
{
    result *r = &f->r;
    r->n_fixtures = f->jb->n_fixtures;
    r->fixtures = some(f, r->n_fixtures, sizeof *r->fixtures);
    for (uint64_t i = 0; i < r->n_fixtures; i++)
        r->fixtures[i] = (result_fixture){.name = f->jb->fixtures[i].name,
                                          .runs_equal = i || !is(f, "nondeterministic"),
                                          .inputs_unchanged = true,
                                          .guards_intact = true};
    if (f->jb->phase == JOB_VALIDATE && is(f, "stray")) {
        r->strays = some(f, 1, sizeof *r->strays);
        r->strays[r->n_strays++] = (result_stray){f->jb->n_steps ? f->jb->steps[0].node : 0, 4, 128, "arena"};
    }
}

static uint64_t paced(const fake *f, uint64_t ps)
{
    const job *jb = f->jb;
    for (uint64_t i = 0; i < jb->n_steps; i++)
        if (jb->steps[i].kind == JOB_MATMUL)
            return is(f, "rows-slow") && jb->steps[i].call.d.order == LTO_ROW ? ps * 3 / 2 : ps;
    return ps;
}

static void invent_timing(fake *f)
{
    static const char *const scopes[] = {"host_graph_launch_sync", "host_stream_launch_sync",
                                         "device_events"};
    static const uint64_t call_ps[] = {CALL_PS, CALL_PS * 3 / 2, CALL_PS * 3 / 4};
    const job_timing *t = &f->jb->timing;
    result *r = &f->r;
    r->n_timings = 3;
    r->timings = some(f, 3, sizeof *r->timings);
    for (int i = 0; i < 3; i++) {
        uint64_t call = paced(f, call_ps[i]), calls = (t->block_ns * 1000 + call - 1) / call;
        r->timings[i] = (result_timing){.scope = scopes[i],
                                        .n = t->blocks,
                                        .calls_per_block = calls < t->max_calls ? calls : t->max_calls};
        r->timings[i].samples_ps = some(f, t->blocks, sizeof(uint64_t));
        for (uint64_t k = 0; k < t->blocks; k++)
            r->timings[i].samples_ps[k] = call + k * 1000;
    }
    r->n_clocks = 2 * t->blocks;
    r->clocks = some(f, r->n_clocks, sizeof *r->clocks);
    for (uint64_t k = 0; k < r->n_clocks; k++)
        r->clocks[k] = (result_clock){1980, 2619, 120000, 0, 33};
}

static void invent_timeline(fake *f)
{
    result *r = &f->r;
    uint64_t now = 0;
    r->timeline_launches = f->jb->timeline_launches;
    r->timeline = some(f, r->timeline_launches * r->n_graph, sizeof *r->timeline);
    for (uint64_t l = 0; l < r->timeline_launches; l++)
        for (uint64_t i = 0; i < r->n_graph; i++) {
            result_node *n = &r->timeline[r->n_timeline++];
            *n = r->graph[i];
            n->launch = l;
            n->start_ns = now;
            n->end_ns = now += 3000;
            now += 500;
        }
}

/* One invented cubin a kernel of the graph; the bytes go behind the outputs. */
static span invent_cubins(fake *f)
{
    result *r = &f->r;
    const char *all = "";
    r->cubins = some(f, r->n_graph, sizeof *r->cubins);
    for (uint64_t i = 0; i < r->n_graph; i++) {
        if (r->graph[i].kind != RESULT_NODE_KERNEL)
            continue;
        const char *one =
            text(scratch_printf(f->sc, "fake cubin %llu of %s\n", (unsigned long long)i, r->graph[i].name));
        r->cubins[r->n_cubins++] = (result_cubin){digest_of(span_str(one)), strlen(one),
                                                  f->jb->output_bytes + strlen(all), r->graph[i].name};
        all = text(scratch_printf(f->sc, "%s%s", all, one));
    }
    return span_str(all);
}

static span outputs(fake *f)
{
    rp_err e = {0};
    span s;
    uint8_t *out = some(f, f->jb->output_bytes, 1);
    const char *path = text(file_join(f->sc, f->folder, "outputs.bin"));
    if (!file_read(&e, &s, f->sc, path, MAX_FILE))
        memcpy(out, s.p, s.n < f->jb->output_bytes ? s.n : f->jb->output_bytes);
    /* Another exponent, whatever the type. */
    const job_output *first = f->jb->fixtures[0].outputs;
    if (is(f, "numeric") && f->jb->fixtures[0].n_outputs && f->jb->buffers[first->buffer].bytes > 1)
        out[first->offset_bytes + 1] ^= 0x48;
    return span_of(out, f->jb->output_bytes);
}

static void write_result(fake *f)
{
    rp_err e = {0};
    span s;
    jw *j = jw_new(JW_PRETTY);
    result_write(j, &f->r);
    if (jw_finish(&e, &s, j))
        broken(e.msg);
    if (is(f, "truncated"))
        s.n /= 2;
    if (file_write_fd(&e, JOB_RESULT_FD, "result.json", s))
        broken(e.msg);
    jw_free(j);
}

static int phase_main(fake *f)
{
    rp_err e = {0};
    span job_text, data, cubins = span_str("");
    job *jb;
    if (file_read_fd(&e, &job_text, f->sc, JOB_FD, "job.json", MAX_FILE) ||
        file_read_fd(&e, &data, f->sc, JOB_DATA_FD, "data", MAX_FILE) ||
        job_read(&e, &jb, f->sc, "job.json", job_text, data.n) || job_check_data(&e, jb, "data", data))
        broken(e.msg);
    f->jb = jb;
    if (f->only >= 0 && f->only != (int)jb->phase)
        f->mode = "good";
    if (is(f, "crash"))
        abort();
    if (is(f, "hang"))
        for (;;)
            pause();
    f->r.job_sha256 = is(f, "wrong-digest") ? digest_of(span_str("another job")) : digest_of(job_text);
    f->r.outputs_sha256 = digest_of(span_str(""));
    f->r.phase = jb->phase;
    f->r.ok = true;
    f->r.libraries = some(f, 1, sizeof *f->r.libraries);
    f->r.libraries[f->r.n_libraries++] =
        (result_library){"libfake.so.1", "1.0", digest_of(span_str("fake")), 4};
    invent_device(&f->r, is(f, "other-device"));
    if (is(f, "fail")) {
        f->r.ok = false;
        f->r.error = "cudaMalloc of 1 bytes for arena: cudaErrorMemoryAllocation: out of memory";
        write_result(f);
        return 0;
    }
    invent_graph(f);
    invent_fixtures(f);
    bool profiles = jb->phase == JOB_TIMELINE || jb->phase == JOB_INSTRUCTIONS;
    if (profiles && is(f, "profile-fail")) {
        f->r.ok = false;
        f->r.profile_error = true;
        f->r.error = "cuptiActivityEnable CONCURRENT_KERNEL: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)";
    } else if (jb->phase == JOB_TIMING) {
        invent_timing(f);
    } else if (jb->phase == JOB_TIMELINE) {
        invent_timeline(f);
    } else if (jb->phase == JOB_INSTRUCTIONS) {
        cubins = invent_cubins(f);
    }
    span blob = outputs(f);
    f->r.outputs_sha256 = digest_of(blob);
    if (file_write_fd(&e, JOB_OUTPUT_FD, "outputs", blob) ||
        file_write_fd(&e, JOB_OUTPUT_FD, "outputs", cubins))
        broken(e.msg);
    write_result(f);
    return 0;
}

/* The file beside the worker's name that belongs to a source: its last part with another ending. */
static span beside(fake *f, const char *source, const char *ending)
{
    rp_err e = {0};
    span s = {0};
    const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
    const char *dot = strrchr(base, '.');
    const char *name = text(scratch_printf(f->sc, "%.*s%s", dot ? (int)(dot - base) : 0, base, ending));
    if (file_read(&e, &s, f->sc, text(file_join(f->sc, f->folder, name)), MAX_FILE)) {
        fprintf(stderr, "fake-worker: no %s beside it\n", name);
        exit(4);
    }
    return s;
}

static int compile_main(fake *f)
{
    rp_err e = {0};
    js_node *root;
    const char *source;
    span request, answer;
    kernel_record k;
    if (file_read_fd(&e, &request, f->sc, 3, "request", MAX_FILE) ||
        js_parse(&e, &root, f->sc, "request", request) || js_str(&e, &source, root, "name"))
        broken(e.msg);
    span record = beside(f, source, ".json"), ptx = beside(f, source, ".ptx");
    if (kernel_record_read(&e, &k, f->sc, "record", record))
        broken(e.msg);
    bool ok = !is(f, "no-compile");
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-compiled/0");
    jw_str(j, "compiler", k.compiler);
    jw_str(j, "version", k.version);
    jw_str(j, "build", k.build);
    jw_bool(j, "ok", ok);
    jw_str(j, "log", ok ? "" : "the fake does not like it");
    jw_str(j, "sandbox", "nothing is compiled");
    jw_arr(j, "headers");
    for (uint64_t i = 0; i < k.n_headers; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", k.headers[i].name);
        jw_digest(j, "sha256", k.headers[i].sha256);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    if (jw_finish(&e, &answer, j) || file_write_fd(&e, 5, "answer", answer) ||
        (ok && file_write_fd(&e, 6, "PTX", ptx)))
        broken(e.msg);
    jw_free(j);
    return 0;
}

static int probe_main(const fake *f)
{
    if (is(f, "no-device")) {
        puts("{\"available\": false, \"reason\": \"the fake has no device\", \"driver\": \"\", \"runtime\": "
             "\"0.0\", "
             "\"cublaslt\": \"0.0.0\", \"nvrtc\": \"0.0\"}");
        return 4;
    }
    puts(
        "{\"available\": true, \"device\": {\"name\": \"Fake Device\", \"compute_capability\": \"9.0\", "
        "\"uuid_sha256\": "
        "\"0000000000000000000000000000000000000000000000000000000000000000\", \"memory_bytes\": 1073741824, "
        "\"sm_count\": 1}, \"driver\": \"0.0\", \"runtime\": \"0.0\", \"cublaslt\": \"0.0.0\", \"nvrtc\": "
        "\"0.0\"}");
    return 0;
}

int main(int argc, char **argv)
{
    static const char name[] = "fake-worker-";
    fake f = {.sc = scratch_new(0), .mode = "good", .folder = ".", .only = -1};
    if (!f.sc || argc != 2)
        broken("usage: fake-worker --phase | --probe | --compile");
    const char *slash = strrchr(argv[0], '/'), *base = slash ? slash + 1 : argv[0];
    if (slash)
        f.folder = text(scratch_strndup(f.sc, argv[0], (size_t)(slash - argv[0])));
    if (!strncmp(base, name, sizeof name - 1))
        f.mode = base + sizeof name - 1;
    for (int i = 0; i < JOB_PHASE_COUNT; i++) {
        size_t n = strlen(f.mode), m = strlen(job_phase_names[i]);
        if (n > m + 1 && f.mode[n - m - 1] == '-' && !strcmp(f.mode + n - m, job_phase_names[i])) {
            f.mode = text(scratch_strndup(f.sc, f.mode, n - m - 1));
            f.only = i;
        }
    }
    int status;
    if (!strcmp(argv[1], "--probe"))
        status = probe_main(&f);
    else if (!strcmp(argv[1], "--phase"))
        status = phase_main(&f);
    else if (!strcmp(argv[1], "--compile"))
        status = compile_main(&f);
    else
        broken("usage: fake-worker --phase | --probe | --compile");
    scratch_free(f.sc);
    return status;
}
