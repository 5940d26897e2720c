/* Source to PTX by NVRTC, as the original did it, but locked down: NVRTC obeys `#include "/any/file"` and
 * prints that file's lines in its complaints.
 *
 *   3  request   {"format":"replay-compile/0","name":…,"options":[…]}; $CUDA_INCLUDE in an option stands for
 * the folder 4  source    text 5  answer    {"format":"replay-compiled/0",…} 6  PTX       text, empty when
 * the source does not compile */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"
#include "gpu/cuda/headers.h"
#include "gpu/cuda/libraries.h"
#include "gpu/cuda/lockdown.h"
#include "gpu/cuda/modes.h"
#include <dlfcn.h>
#include <limits.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    REQUEST_FD = 3,
    SOURCE_FD,
    ANSWER_FD,
    PTX_FD,
    MAX_OPTIONS = 256,
    MAX_REQUEST_BYTES = 1 << 20,
    MAX_SOURCE_BYTES = 16 << 20
};

static const char include_token[] = "$CUDA_INCLUDE";

typedef struct {
    const char *name;
    const char *options[MAX_OPTIONS];
    int n_options;
    const char *folder; /* of CUDA's headers, or NULL */
    bool trusted;
} request;

typedef struct {
    bool ok;
    const char *log;
    span ptx;
    const char *version, *build; /* as the PTX's own header has them */
} compiled;

/* The option with every $CUDA_INCLUDE replaced. */
static rp_code expand(rp_err *e, const char **out, scratch *sc, const char *option, const char *folder)
{
    const char *at;
    *out = option;
    while ((at = strstr(*out, include_token))) {
        if (!folder)
            return err_set(e, RP_UNAVAILABLE, "expected CUDA's headers for %s, found no folder that has them",
                           include_token);
        *out = scratch_printf(sc, "%.*s%s%s", (int)(at - *out), *out, folder, at + sizeof include_token - 1);
        if (!*out)
            return err_nomem(e);
        if (strstr(folder, include_token))
            return err_set(e, RP_UNAVAILABLE, "expected a folder of headers that is not named %s",
                           include_token);
    }
    return RP_OK;
}

static rp_code read_request(rp_err *e, request *rq, scratch *sc)
{
    span text;
    js_node *root, *arr;
    size_t n;
    if (file_read_fd(e, &text, sc, REQUEST_FD, "request", MAX_REQUEST_BYTES) ||
        js_parse(e, &root, sc, "request", text) || js_as_obj(e, root) ||
        js_format(e, root, "replay-compile/0") || js_str(e, &rq->name, root, "name") ||
        js_arr(e, &arr, &n, root, "options") || js_bool(e, &rq->trusted, root, "trusted") || js_done(e, root))
        return e->code;
    if (n > MAX_OPTIONS)
        return js_fail(e, arr, FIND_JSON_VALUE, "expected at most %d options, found %zu", MAX_OPTIONS, n);
    for (size_t i = 0; i < n; i++) {
        const char *option;
        if (js_as_str(e, &option, js_at(arr, i)) || expand(e, &rq->options[i], sc, option, rq->folder))
            return e->code;
    }
    rq->n_options = (int)n;
    return RP_OK;
}

/* The word after `before` in the PTX's leading comment, up to white space or a comma; "" when it is not
 * there. */
static const char *word_after(scratch *sc, span ptx, const char *before)
{
    const uint8_t *version = memmem(ptx.p, ptx.n, ".version", 8);
    size_t n = version ? (size_t)(version - ptx.p) : 0;
    const char *at = n ? memmem(ptx.p, n, before, strlen(before)) : NULL;
    if (!at)
        return "";
    at += strlen(before);
    size_t len = 0, most = n - (size_t)((const uint8_t *)at - ptx.p);
    while (len < most && !strchr(" \t\r\n,", at[len]))
        len++;
    const char *s = scratch_strndup(sc, at, len);
    return s ? s : "";
}

static rp_code read_log(rp_err *e, nvrtcProgram prog, compiled *c, scratch *sc)
{
    size_t n = 0;
    c->log = "";
    if (nvrtcGetProgramLogSize(prog, &n) != NVRTC_SUCCESS || n < 2)
        return RP_OK;
    char *log = scratch_alloc(sc, n + 1);
    if (!log)
        return err_nomem(e);
    if (nvrtcGetProgramLog(prog, log) == NVRTC_SUCCESS)
        c->log = log;
    return RP_OK;
}

static rp_code compile(rp_err *e, compiled *c, scratch *sc, const request *rq, const char *source)
{
    nvrtcProgram prog;
    nvrtcResult rc = nvrtcCreateProgram(&prog, source, rq->name[0] ? rq->name : NULL, 0, NULL, NULL);
    if (rc != NVRTC_SUCCESS)
        return err_set(e, RP_WORKER, "nvrtcCreateProgram: %s", nvrtcGetErrorString(rc));
    rc = nvrtcCompileProgram(prog, rq->n_options, rq->options);
    if (read_log(e, prog, c, sc))
        return e->code;
    c->ok = rc == NVRTC_SUCCESS;
    if (!c->ok && !c->log[0])
        c->log = nvrtcGetErrorString(rc);
    if (!c->ok)
        return RP_OK;
    size_t n = 0;
    rc = nvrtcGetPTXSize(prog, &n);
    char *ptx = rc == NVRTC_SUCCESS ? scratch_alloc(sc, n + 1) : NULL;
    if (rc == NVRTC_SUCCESS && !ptx)
        return err_nomem(e);
    if (rc != NVRTC_SUCCESS || (rc = nvrtcGetPTX(prog, ptx)) != NVRTC_SUCCESS)
        return err_set(e, RP_WORKER, "nvrtcGetPTX: %s", nvrtcGetErrorString(rc));
    /* The size counts the terminator. */
    c->ptx = span_of(ptx, n ? n - 1 : 0);
    c->version = word_after(sc, c->ptx, ", V");
    c->build = word_after(sc, c->ptx, "Build ID: ");
    return RP_OK;
}

static rp_code write_answer(rp_err *e, const compiled *c, const header *h, size_t n, bool landlocked,
                            const char *nvrtc)
{
    span text;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-compiled/0");
    jw_str(j, "compiler", "NVRTC");
    jw_str(j, "version", c->version[0] ? c->version : nvrtc);
    jw_str(j, "build", c->build);
    jw_str(j, "sandbox", landlocked ? "landlock" : "none");
    jw_bool(j, "ok", c->ok);
    jw_str(j, "log", c->log);
    jw_arr(j, "headers");
    for (size_t i = 0; i < n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", h[i].name);
        jw_digest(j, "sha256", h[i].sha256);
        jw_end(j);
    }
    jw_end(j);
    jw_digest(j, "ptx_sha256", digest_of(c->ptx));
    jw_u64(j, "ptx_bytes", c->ptx.n);
    jw_end(j);
    rp_code rc = jw_finish(e, &text, j);
    if (!rc)
        rc = file_write_fd(e, ANSWER_FD, "answer", text);
    jw_free(j);
    return rc;
}

/* NVRTC opens its built-ins by bare name when it first compiles, which is too late: by then only headers can
 * be read. Loaded here, from NVRTC's own folder, that name is found already open. Without them the compiler
 * itself complains. */
static void load_builtins(scratch *sc)
{
    char real[PATH_MAX];
    const char *path = libraries_path(sc, "libnvrtc.so");
    int major, minor;
    if (!path || !realpath(path, real) || nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
        return;
    *strrchr(real, '/') = '\0';
    const char *beside = scratch_printf(sc, "%s/libnvrtc-builtins.so.%d.%d", real, major, minor);
    if (beside && !dlopen(beside, RTLD_NOW | RTLD_LOCAL))
        dlopen(strrchr(beside, '/') + 1, RTLD_NOW | RTLD_LOCAL);
}

static rp_code run(rp_err *e, scratch *sc)
{
    request rq = {.folder = headers_folder(sc)};
    compiled c = {.log = "", .ptx = span_of("", 0), .version = "", .build = ""};
    header *h = NULL;
    size_t n = 0;
    bool landlocked;
    span source;
    const char *nvrtc = libraries_nvrtc_version(sc), *folders[2] = {rq.folder};
    if (read_request(e, &rq, sc) || file_read_fd(e, &source, sc, SOURCE_FD, "source", MAX_SOURCE_BYTES))
        return e->code;
    /* Landlock lets a file without a place be opened again through /proc/self/fd; there is nothing to find
     * there then. */
    close(REQUEST_FD);
    close(SOURCE_FD);
    const char *text = scratch_strndup(sc, (const char *)source.p, source.n);
    if (!text)
        return err_nomem(e);
    if (memchr(source.p, '\0', source.n))
        return err_set(e, RP_IO, "source: expected text, found a zero byte");
    load_builtins(sc);
    if (lockdown(e, &landlocked, folders))
        return e->code;
    if (!landlocked && !rq.trusted)
        return err_set(e, RP_UNAVAILABLE,
                       "without Landlock only the sources of a pinned or signed bundle are compiled");
    if (compile(e, &c, sc, &rq, text) || (rq.folder && headers_closure(e, &h, &n, sc, rq.folder, source)) ||
        file_write_fd(e, PTX_FD, "PTX", c.ptx))
        return e->code;
    return write_answer(e, &c, h, n, landlocked, nvrtc);
}

int compile_main(void)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    rp_code rc = sc ? run(&e, sc) : err_nomem(&e);
    if (rc) {
        char text[1024];
        err_text(&e, text, sizeof text);
        fprintf(stderr, "replay-gpu: %s\n", text);
    }
    scratch_free(sc);
    return rc == RP_UNAVAILABLE ? EXIT_NO_DEVICE : rc ? EXIT_BROKEN : EXIT_ANSWERED;
}
