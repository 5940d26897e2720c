#include "tests/capture/capture.h"

#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>

static void check_nvrtc(nvrtcResult status, const char *call, int line)
{
    if (status != NVRTC_SUCCESS)
        fail("%s:%d: %s: %s", __FILE__, line, call, nvrtcGetErrorString(status));
}
#define NVRTC(call) check_nvrtc((call), #call, __LINE__)

/* Only the headers decide which folder this is; the PTX does not name it. */
static char *include_option(void)
{
    const char *home = getenv("CUDA_HOME");
    char *option;
    if (asprintf(&option, "--include-path=%s/include", home && *home ? home : "/usr/local/cuda") < 0)
        fail("out of memory");
    return option;
}

static void print_log(nvrtcProgram program, const char *path)
{
    size_t bytes = 0;
    NVRTC(nvrtcGetProgramLogSize(program, &bytes));
    char *log = must_alloc(bytes + 1, 1);
    NVRTC(nvrtcGetProgramLog(program, log));
    if (bytes > 1)
        fprintf(stderr, "%s: %s", path, log);
    free(log);
}

/* Returns PTX with its closing NUL counted in *bytes, as NVRTC hands it out. */
static char *compile(const char *path, size_t *bytes)
{
    size_t source_bytes;
    char *source = read_text(path, &source_bytes);
    char *option = include_option();
    nvrtcProgram program;
    NVRTC(nvrtcCreateProgram(&program, source, NULL, 0, NULL, NULL));
    nvrtcResult status = nvrtcCompileProgram(program, 1, (const char *const[]){option});
    print_log(program, path);
    check_nvrtc(status, path, __LINE__);
    NVRTC(nvrtcGetPTXSize(program, bytes));
    char *ptx = must_alloc(*bytes + 1, 1);
    NVRTC(nvrtcGetPTX(program, ptx));
    NVRTC(nvrtcDestroyProgram(&program));
    free(option);
    free(source);
    return ptx;
}

static char *kernel_path(const char *folder, const char *name, const char *extension)
{
    char *path;
    if (asprintf(&path, "%s/kernels/%s.%s", folder, name, extension) < 0)
        fail("out of memory");
    return path;
}

static char *compile_and_compare(const char *folder, const char *name)
{
    char *source_path = kernel_path(folder, name, "cu"), *ptx_path = kernel_path(folder, name, "ptx");
    size_t bytes, retained_bytes;
    char *ptx = compile(source_path, &bytes);
    char *retained = read_text(ptx_path, &retained_bytes);
    if (bytes != retained_bytes + 1 || memcmp(ptx, retained, retained_bytes) != 0)
        fail("%s: NVRTC now makes other PTX of %s than the retained file holds", ptx_path, source_path);
    free(retained);
    free(source_path);
    free(ptx_path);
    return ptx;
}

void kernels_compile(kernel out[MAX_KERNELS], const plan *p, const char *folder)
{
    for (int i = 0; i < p->n_kernels; i++)
        out[i] = (kernel){.name = p->kernels[i], .ptx = compile_and_compare(folder, p->kernels[i])};
}

void kernels_load(kernel kernels[MAX_KERNELS], const plan *p)
{
    for (int i = 0; i < p->n_kernels; i++) {
        CUDA(cudaLibraryLoadData(&kernels[i].library, kernels[i].ptx, NULL, NULL, 0, NULL, NULL, 0));
        CUDA(cudaLibraryGetKernel(&kernels[i].entry, kernels[i].library, "k"));
    }
}

void nvrtc_version(char *out, size_t bytes)
{
    int major, minor;
    NVRTC(nvrtcVersion(&major, &minor));
    snprintf(out, bytes, "%d.%d", major, minor);
}
