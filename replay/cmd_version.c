#include "artifacts/base/json.h"
#include "artifacts/zs.h"
#include "gpu/client.h"
#include "replay/cli.h"
#include <stdio.h>

typedef struct {
    bool present; /* the worker program answered */
    const char *why;
    client_device device;
} gpu;

static gpu look(scratch *sc)
{
    rp_err e = {0};
    gpu g = {.why = ""};
    const char *worker = client_gpu_path(sc);
    g.present = worker && !client_probe(&e, &g.device, sc, worker);
    if (!g.present)
        g.why = scratch_strdup(sc, e.msg);
    return g;
}

static void print_text(const gpu *g)
{
    printf("replay %s (%s)\ncompiler %s\n%s, cJSON %s, zstd %s\n", cli_version, cli_revision, __VERSION__,
           digest_library(), js_library(), zs_library());
    if (!g->present)
        printf("replay-gpu: not present (%s)\n", g->why);
    else if (!g->device.available)
        printf("replay-gpu: present, no device (%s)\n", g->device.reason);
    else
        printf("replay-gpu: %s, compute capability %s, driver %s, cuBLASLt %s\n", g->device.device_name,
               g->device.compute_capability, g->device.driver, g->device.cublaslt);
}

static int print_json(const gpu *g)
{
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-version/0");
    cli_tool_json(j);
    jw_str(j, "compiler", __VERSION__);
    jw_obj(j, "libraries");
    jw_str(j, "openssl", digest_library());
    jw_str(j, "cjson", js_library());
    jw_str(j, "zstd", zs_library());
    jw_end(j);
    jw_obj(j, "gpu_worker");
    jw_bool(j, "present", g->present);
    jw_bool(j, "device_available", g->present && g->device.available);
    jw_str(j, "reason", g->present ? g->device.reason : g->why);
    if (g->present && g->device.available) {
        jw_str(j, "device", g->device.device_name);
        jw_str(j, "compute_capability", g->device.compute_capability);
        jw_str(j, "driver", g->device.driver);
        jw_str(j, "cublaslt", g->device.cublaslt);
    }
    jw_end(j);
    jw_end(j);
    return cli_print_json(j, EXIT_PASSED);
}

int cmd_version(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
    bool json = false;
    int c;
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c != 'j')
            return cli_bad_option("version", argv);
        json = true;
    }
    if (optind < argc)
        return cli_usage("version", "takes no arguments");
    scratch *sc = scratch_new(0);
    if (!sc)
        return EXIT_UNREADABLE;
    gpu g = look(sc);
    int code = EXIT_PASSED;
    if (json)
        code = print_json(&g);
    else
        print_text(&g);
    scratch_free(sc);
    return cli_finish(code);
}
