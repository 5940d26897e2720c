/* The sandboxed compiler, where replay-gpu was built; no device is needed. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/base/proc.h"
#include "gpu/client.h"
#include <criterion/criterion.h>
#include <string.h>

static const char *const options[] = {"--include-path=$CUDA_INCLUDE"};

/* The worker beside this program or in the folder above; NULL when CUDA was not there to build it. */
static const char *worker(scratch *sc)
{
    const char *path = client_gpu_path(sc);
    if (path && file_exists(path))
        return path;
    const char *dir = proc_self_dir(sc);
    path = scratch_printf(sc, "%s/../replay-gpu", dir ? dir : ".");
    return path && file_exists(path) ? path : NULL;
}

typedef struct {
    bool ok;
    const char *log, *version, *sandbox;
    uint64_t n_headers;
    span ptx;
} answer;

static answer compile(scratch *sc, const char *program, span source, const char *const *opts, uint64_t n)
{
    rp_err e = {0};
    span text;
    js_node *root, *headers;
    size_t n_headers;
    answer a = {0};
    cr_assert_eq(client_compile(&e, &text, &a.ptx, sc, program, false, "kernel.cu", source, opts, n), RP_OK,
                 "%s", e.msg);
    cr_assert_eq(js_parse(&e, &root, sc, "answer", text), RP_OK, "%s", e.msg);
    cr_assert_eq(js_bool(&e, &a.ok, root, "ok"), RP_OK);
    cr_assert_eq(js_str(&e, &a.log, root, "log"), RP_OK);
    cr_assert_eq(js_str(&e, &a.version, root, "version"), RP_OK);
    cr_assert_eq(js_str(&e, &a.sandbox, root, "sandbox"), RP_OK);
    cr_assert_eq(js_arr(&e, &headers, &n_headers, root, "headers"), RP_OK);
    a.n_headers = n_headers;
    return a;
}

Test(compile, retained_ptx)
{
    static const char *const kernels[] = {"artifacts/workloads/weight_view/kernels/000_cast",
                                          "artifacts/workloads/weight_view/kernels/001_add",
                                          "artifacts/workloads/weight_view.small/kernels/000_cast",
                                          "artifacts/workloads/weight_view.small/kernels/001_add"};
    scratch *sc = scratch_new(0);
    const char *program = worker(sc);
    if (!program)
        cr_skip_test("replay-gpu was not built");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        rp_err e = {0};
        span cu, ptx;
        const char *cu_path = scratch_printf(sc, "%s.cu", kernels[i]),
                   *ptx_path = scratch_printf(sc, "%s.ptx", kernels[i]);
        cr_assert_eq(file_read(&e, &cu, sc, cu_path, 1 << 20), RP_OK, "%s", e.msg);
        cr_assert_eq(file_read(&e, &ptx, sc, ptx_path, 1 << 20), RP_OK, "%s", e.msg);
        answer a = compile(sc, program, cu, options, 1);
        cr_assert(a.ok, "%s", a.log);
        cr_assert_gt(a.n_headers, 1);
        if (strcmp(a.version, "13.0.88"))
            cr_skip_test("another compiler than the retained PTX is of");
        cr_assert_eq(a.ptx.n, ptx.n);
        cr_assert_arr_eq(a.ptx.p, ptx.p, ptx.n);
    }
    scratch_free(sc);
}

Test(compile, refuses_foreign_files)
{
    static const char *const wide[] = {"-I/", "-I/etc", "--include-path=$CUDA_INCLUDE"};
    static const char *const sources[] = {"#include \"/etc/passwd\"\n", "#include <passwd>\n",
                                          "#include \"/proc/self/environ\"\n",
                                          "#include \"/proc/self/fd/3\"\n"};
    scratch *sc = scratch_new(0);
    const char *program = worker(sc);
    if (!program)
        cr_skip_test("replay-gpu was not built");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        answer a = compile(sc, program, span_str(sources[i]), wide, 3);
        if (strcmp(a.sandbox, "landlock"))
            cr_skip_test("this kernel has no Landlock");
        cr_assert(!a.ok);
        cr_assert(!strstr(a.log, "root:") && !strstr(a.log, "replay-compile"), "%s", a.log);
        cr_assert_eq(a.n_headers, 0);
        cr_assert_eq(a.ptx.n, 0);
    }
    scratch_free(sc);
}

Test(compile, says_why_it_does_not_compile)
{
    scratch *sc = scratch_new(0);
    const char *program = worker(sc);
    if (!program)
        cr_skip_test("replay-gpu was not built");
    answer a = compile(sc, program, span_str("extern \"C\" __global__ void k(float *x) { *x = nonsense; }\n"),
                       options, 1);
    cr_assert(!a.ok);
    cr_assert(strstr(a.log, "nonsense"), "%s", a.log);
    scratch_free(sc);
}
