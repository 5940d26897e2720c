#include "replay/environment.h"
#include "artifacts/base/json.h"
#include "artifacts/zs.h"
#include "replay/cli.h"
#include <time.h>

static void put_device(jw *j, const result *r)
{
    jw_obj(j, "device");
    jw_str(j, "name", r->device_name);
    jw_str(j, "uuid_sha256", r->device_uuid_sha256);
    jw_str(j, "compute_capability", r->compute_capability);
    jw_u64(j, "sm_count", r->sm_count);
    jw_u64(j, "memory_bytes", r->memory_bytes);
    jw_u64(j, "l2_bytes", r->l2_bytes);
    jw_str(j, "driver", r->driver);
    jw_end(j);
    jw_arr(j, "libraries");
    for (uint64_t i = 0; i < r->n_libraries; i++) {
        jw_obj(j, NULL);
        jw_str(j, "soname", r->libraries[i].soname);
        jw_str(j, "version", r->libraries[i].version);
        jw_digest(j, "sha256", r->libraries[i].sha256);
        jw_u64(j, "bytes", r->libraries[i].bytes);
        jw_end(j);
    }
    jw_end(j);
}

/* Names alone, but for the two whose values say which device and which cache: paths stay out. */
static void put_variables(jw *j, scratch *sc)
{
    static const char *const shown[] = {"CUDA_CACHE_DISABLE=", "CUDA_VISIBLE_DEVICES="};
    const char *const *env = client_environment(sc);
    jw_arr(j, "worker_environment");
    for (int i = 0; env && env[i]; i++) {
        bool whole = false;
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            whole |= !strncmp(env[i], shown[k], strlen(shown[k]));
        jw_strn(j, NULL, whole ? span_str(env[i]) : span_of(env[i], strcspn(env[i], "=")));
    }
    jw_end(j);
}

rp_code environment_put(rp_err *e, const evidence *ev, const result *res, const client_device *probed)
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    jw *j = jw_new(JW_PRETTY);
    span text;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-environment/0");
    cli_tool_json(j);
    jw_str(j, "compiler", __VERSION__);
    jw_obj(j, "tool_libraries");
    jw_str(j, "openssl", digest_library());
    jw_str(j, "cjson", js_library());
    jw_str(j, "zstd", zs_library());
    jw_end(j);
    if (res)
        put_device(j, res);
    if (probed) {
        jw_obj(j, "probe");
        jw_str(j, "runtime", probed->runtime);
        jw_str(j, "cublaslt", probed->cublaslt);
        jw_str(j, "nvrtc", probed->nvrtc);
        jw_end(j);
    }
    put_variables(j, ev->sc);
    jw_str(j, "finished_utc", when);
    jw_end(j);
    if (!jw_finish(e, &text, j))
        (void)!evidence_put(e, ev, "environment.json", text);
    jw_free(j);
    return e->code;
}
