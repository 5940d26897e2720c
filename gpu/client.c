#include "gpu/client.h"
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/proc.h"
#include <stdlib.h>
#include <unistd.h>

enum { COMPILE_DEADLINE_MS = 60000, PROBE_DEADLINE_MS = 60000, MAX_STDERR = 16384 };
static const uint64_t max_result_bytes = 64ULL << 20, max_ptx_bytes = 64ULL << 20;

static const char *worker_path(scratch *sc, const char *variable, const char *program)
{
    const char *named = getenv(variable), *dir = proc_self_dir(sc);
    if (named && *named)
        return scratch_strdup(sc, named);
    return file_join(sc, dir ? dir : ".", program);
}

const char *client_gpu_path(scratch *sc)
{
    return worker_path(sc, "REPLAY_GPU", "replay-gpu");
}

const char *client_emu_path(scratch *sc)
{
    return worker_path(sc, "REPLAY_EMU", "replay-emu");
}

/* LD_LIBRARY_PATH and CUDA_HOME say where CUDA is; the libraries that were really loaded are recorded by
 * digest. */
static const char *const allowed[] = {"CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", NULL};

const char *const *client_environment(scratch *sc)
{
    const char **env = scratch_array(sc, 2 + sizeof allowed / sizeof *allowed, sizeof *env);
    size_t n = 0;
    if (!env)
        return NULL;
    env[n++] = "CUDA_CACHE_DISABLE=1";
    for (int i = 0; allowed[i]; i++) {
        const char *v = getenv(allowed[i]);
        if (v && !(env[n++] = scratch_printf(sc, "%s=%s", allowed[i], v)))
            return NULL;
    }
    return env;
}

/* Run the worker in one mode. Its exit code is the caller's to judge. */
static rp_code start(rp_err *e, proc_end *end, scratch *sc, const char *worker, const char *mode,
                     const proc_fd *fds, size_t n_fds, int stdout_fd, uint64_t deadline_ms)
{
    const char *const argv[] = {worker, mode, NULL};
    proc_spec spec = {.path = worker,
                      .argv = argv,
                      .env = client_environment(sc),
                      .fds = fds,
                      .n_fds = n_fds,
                      .stdout_fd = stdout_fd,
                      .deadline_ms = deadline_ms,
                      .max_stderr = MAX_STDERR};
    return spec.env ? proc_run(e, end, sc, &spec) : err_nomem(e);
}

static rp_code broken(rp_err *e, const proc_end *end)
{
    const char *colon = end->err_bytes ? ": " : "";
    int n = (int)strcspn(end->err_text, "\n");
    if (end->timed_out)
        return err_set(e, RP_WORKER, "the worker did not end within its deadline and was killed%s%.*s", colon,
                       n, end->err_text);
    if (end->signal)
        return err_set(e, RP_WORKER, "the worker died of signal %d (%s)%s%.*s", end->signal,
                       strsignal(end->signal), colon, n, end->err_text);
    return err_set(e, RP_WORKER, "the worker exited with %d%s%.*s", end->exit_code, colon, n, end->err_text);
}

static const char *text_or(js_node *o, const char *key)
{
    rp_err e = {0};
    const char *s = "";
    js_node *v = js_find(o, key);
    return v && !js_as_str(&e, &s, v) ? s : "";
}

static rp_code read_probe(rp_err *e, client_device *out, scratch *sc, span text)
{
    js_node *root, *device;
    if (js_parse(e, &root, sc, "probe", text) || js_bool(e, &out->available, root, "available"))
        return e->code;
    out->reason = text_or(root, "reason");
    out->driver = text_or(root, "driver");
    out->runtime = text_or(root, "runtime");
    out->cublaslt = text_or(root, "cublaslt");
    out->nvrtc = text_or(root, "nvrtc");
    out->device_name = out->compute_capability = "";
    if ((device = js_find(root, "device")) && js_kind(device) == JS_OBJECT) {
        out->device_name = text_or(device, "name");
        out->compute_capability = text_or(device, "compute_capability");
    }
    return RP_OK;
}

rp_code client_probe(rp_err *e, client_device *out, scratch *sc, const char *worker)
{
    proc_end end;
    span text;
    int fd = file_temp(e);
    *out = (client_device){0};
    if (fd < 0)
        return e->code;
    if (start(e, &end, sc, worker, "--probe", NULL, 0, fd, PROBE_DEADLINE_MS))
        goto out;
    if (end.signal || (end.exit_code != 0 && end.exit_code != 4)) {
        broken(e, &end);
        goto out;
    }
    if (!file_read_fd(e, &text, sc, fd, "probe", max_result_bytes) && read_probe(e, out, sc, text) &&
        e->code == RP_INVALID)
        e->code = RP_WORKER;
out:
    close(fd);
    return e->code;
}

rp_code client_run(rp_err *e, client_phase *out, scratch *sc, const char *worker, span job_text, int data_fd,
                   uint64_t deadline_ms)
{
    proc_end end = {0};
    digest sent = digest_of(job_text);
    *out = (client_phase){.output_fd = -1, .err_text = ""};
    int job_fd = file_temp(e), result_fd = e->code ? -1 : file_temp(e),
        output_fd = e->code ? -1 : file_temp(e);
    const proc_fd fds[] = {
        {job_fd, JOB_FD}, {data_fd, JOB_DATA_FD}, {result_fd, JOB_RESULT_FD}, {output_fd, JOB_OUTPUT_FD}};
    if (e->code || file_write_fd(e, job_fd, "job.json", job_text))
        goto out;
    lseek(job_fd, 0, SEEK_SET);
    lseek(data_fd, 0, SEEK_SET);
    if (start(e, &end, sc, worker, "--phase", fds, 4, -1, deadline_ms))
        goto out;
    out->err_text = end.err_text;
    out->exit_code = end.exit_code;
    out->signal = end.signal;
    out->timed_out = end.timed_out;
    if (end.timed_out || end.signal || end.exit_code) {
        broken(e, &end);
        goto out;
    }
    if (file_read_fd(e, &out->result_text, sc, result_fd, "result.json", max_result_bytes))
        goto out;
    if (result_read(e, &out->result, sc, "result.json", out->result_text)) {
        if (e->code == RP_INVALID)
            e->code = RP_WORKER;
        goto out;
    }
    if (!digest_equal(out->result->job_sha256, sent)) {
        err_set(e, RP_WORKER, "the worker's result echoes another job's digest");
        goto out;
    }
    out->output_fd = output_fd;
    output_fd = -1;
out:
    if (job_fd >= 0)
        close(job_fd);
    if (result_fd >= 0)
        close(result_fd);
    if (output_fd >= 0)
        close(output_fd);
    return e->code;
}

static rp_code compile_request(rp_err *e, int fd, const char *name, const char *const *options,
                               uint64_t n_options, bool trusted)
{
    jw *j = jw_new(JW_COMPACT);
    span text;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-compile/0");
    jw_str(j, "name", name);
    jw_arr(j, "options");
    for (uint64_t i = 0; i < n_options; i++)
        jw_str(j, NULL, options[i]);
    jw_end(j);
    jw_bool(j, "trusted", trusted);
    jw_end(j);
    if (!jw_finish(e, &text, j) && !file_write_fd(e, fd, "compile request", text))
        lseek(fd, 0, SEEK_SET);
    jw_free(j);
    return e->code;
}

rp_code client_compile(rp_err *e, span *answer, span *ptx, scratch *sc, const char *worker, bool trusted,
                       const char *name, span source, const char *const *options, uint64_t n_options)
{
    proc_end end;
    int fd[4];
    for (int i = 0; i < 4; i++)
        fd[i] = e->code ? -1 : file_temp(e);
    const proc_fd fds[] = {{fd[0], 3}, {fd[1], 4}, {fd[2], 5}, {fd[3], 6}};
    if (e->code || compile_request(e, fd[0], name, options, n_options, trusted) ||
        file_write_fd(e, fd[1], name, source))
        goto out;
    lseek(fd[1], 0, SEEK_SET);
    if (start(e, &end, sc, worker, "--compile", fds, 4, -1, COMPILE_DEADLINE_MS))
        goto out;
    if (end.exit_code == 4) {
        err_set(e, RP_UNAVAILABLE, "no compiler: %.*s", (int)strcspn(end.err_text, "\n"), end.err_text);
        goto out;
    }
    if (end.timed_out || end.signal || end.exit_code) {
        broken(e, &end);
        goto out;
    }
    if (!file_read_fd(e, answer, sc, fd[2], "compiled.json", max_result_bytes))
        (void)!file_read_fd(e, ptx, sc, fd[3], "compiled PTX", max_ptx_bytes);
out:
    for (int i = 0; i < 4; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return e->code;
}
