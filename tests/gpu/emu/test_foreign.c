/* Kernels that other compilers made, with what an H200 wrote: bit for bit, or within the pass rule where the
 * kernel approximates. */
#include "artifacts/base/file.h"
#include "artifacts/base/json.h"
#include "artifacts/safetensors.h"
#include "gpu/emu/exec.h"
#include <criterion/criterion.h>
#include <math.h>

enum { MAX_BUFFERS = 8 };

typedef struct {
    scratch *sc;
    emu_memory *mem;
    ptx_module *m;
    const char *entry;
    emu_launch l;
    uint8_t params[256];
    uint64_t n_params, address[MAX_BUFFERS], bytes[MAX_BUFFERS];
    const char *names[MAX_BUFFERS], *dtypes[MAX_BUFFERS];
    bool output[MAX_BUFFERS];
    size_t n;
    st_tensor *tensors;
    size_t n_tensors;
} foreign;

static const st_tensor *tensor(const foreign *f, const char *prefix, const char *name)
{
    for (size_t k = 0; k < f->n_tensors; k++)
        if (strncmp(f->tensors[k].name, prefix, strlen(prefix)) == 0 &&
            strcmp(f->tensors[k].name + strlen(prefix), name) == 0)
            return &f->tensors[k];
    return NULL;
}

static void buffers(foreign *f, js_node *all)
{
    rp_err e = {0};
    f->n = js_len(all);
    cr_assert(f->n <= MAX_BUFFERS);
    for (size_t k = 0; k < f->n; k++) {
        uint32_t id;
        f->names[k] = js_key_at(all, k);
        js_node *b = js_find(all, f->names[k]);
        cr_assert(!js_bool(&e, &f->output[k], b, "output") && !js_str(&e, &f->dtypes[k], b, "dtype"), "%s",
                  e.msg);
        const st_tensor *in = tensor(f, "in.", f->names[k]), *out = tensor(f, "out.", f->names[k]);
        cr_assert(in || out, "%s", f->names[k]);
        f->bytes[k] = in ? in->data.n : out->data.n;
        f->address[k] = UINT64_C(0x30000000) + k * UINT64_C(0x1000000);
        cr_assert(!emu_memory_map(&e, &id, f->mem, f->names[k], f->address[k], f->bytes[k], 4096) &&
                      !emu_buffer_add(&e, &id, f->mem, id, f->names[k], 0, f->bytes[k], f->output[k]),
                  "%s", e.msg);
        if (in) {
            memcpy(emu_memory_data(f->mem, f->address[k], f->bytes[k]), in->data.p, in->data.n);
            emu_memory_mark(f->mem, f->address[k], f->bytes[k], EMU_WRITTEN);
        }
    }
}

static void argument(foreign *f, js_node *a)
{
    rp_err e = {0};
    const char *kind, *name;
    uint64_t bits = 0, bytes = 8;
    int64_t i = 0;
    double d = 0.0;
    cr_assert(!js_str(&e, &kind, a, "kind"));
    if (strcmp(kind, "buf") == 0) {
        cr_assert(!js_str(&e, &name, a, "value"));
        for (size_t k = 0; k < f->n; k++)
            if (strcmp(name, f->names[k]) == 0)
                bits = f->address[k];
    } else if (strcmp(kind, "f64") == 0) {
        cr_assert(!js_f64(&e, &d, a, "value"));
        memcpy(&bits, &d, 8);
    } else if (strcmp(kind, "null") != 0) {
        cr_assert(!js_i64(&e, &i, a, "value"));
        bytes = strcmp(kind, "i32") == 0 ? 4 : 8;
        bits = (uint64_t)i;
    }
    f->n_params = (f->n_params + bytes - 1) / bytes * bytes;
    memcpy(f->params + f->n_params, &bits, bytes);
    f->n_params += bytes;
}

static void open_foreign(foreign *f, const char *name, uint32_t threads)
{
    rp_err e = {0};
    span json, ptx, st;
    js_node *root, *args, *all;
    size_t n;
    uint64_t grid[3], block[3], shared;
    *f = (foreign){.sc = scratch_new(0), .mem = emu_memory_new()};
    const char *base = scratch_printf(f->sc, "tests/data/foreign-ptx/%s", name);
    cr_assert(!file_read(&e, &json, f->sc, scratch_printf(f->sc, "%s.json", base), 1 << 20) &&
                  !file_read(&e, &ptx, f->sc, scratch_printf(f->sc, "%s.ptx", base), 1 << 20) &&
                  !file_read(&e, &st, f->sc, scratch_printf(f->sc, "%s.safetensors", base), 1 << 24),
              "%s", e.msg);
    cr_assert(!js_parse(&e, &root, f->sc, name, json) &&
                  !st_read(&e, &f->tensors, &f->n_tensors, f->sc, name, st) &&
                  !ptx_parse(&e, &f->m, f->sc, name, ptx, UINT64_C(0x600000000000)),
              "%s: %s %s", name, e.where, e.msg);
    cr_assert(!js_str(&e, &f->entry, root, "entry") && !js_u64s(&e, grid, 3, root, "grid") &&
                  !js_u64s(&e, block, 3, root, "block") && !js_u64(&e, &shared, root, "shared_bytes") &&
                  !js_arr(&e, &args, &n, root, "args") && !js_obj(&e, &all, root, "buffers"),
              "%s", e.msg);
    buffers(f, all);
    for (size_t k = 0; k < n; k++)
        argument(f, js_at(args, k));
    cr_assert(!emu_memory_map_module(&e, f->mem, f->m));
    f->l =
        (emu_launch){.shared_bytes = shared, .params = span_of(f->params, f->n_params), .threads = threads};
    for (int k = 0; k < 3; k++) {
        f->l.grid[k] = (uint32_t)grid[k];
        f->l.block[k] = (uint32_t)block[k];
    }
}

static void near(const char *name, const float *got, const float *want, uint64_t n)
{
    float largest = 0.0f;
    for (uint64_t k = 0; k < n; k++)
        largest = fmaxf(largest, fabsf(want[k]));
    for (uint64_t k = 0; k < n; k++) {
        int64_t ulps = dtype_ordinal(DT_F32, got, k) - dtype_ordinal(DT_F32, want, k);
        cr_expect(llabs(ulps) <= 8 || fabsf(got[k] - want[k]) <= ldexpf(largest, -20),
                  "%s[%llu]: %g, expected %g", name, (unsigned long long)k, (double)got[k], (double)want[k]);
    }
}

static void check(const char *name, uint32_t threads)
{
    foreign f;
    rp_err e = {0};
    emu_report r;
    char text[600] = "";
    open_foreign(&f, name, threads);
    cr_assert_eq(emu_run(&e, &r, f.sc, f.mem, f.m, f.entry, &f.l), RP_OK, "%s: %s", name, e.msg);
    if (r.n_findings)
        emu_finding_text(&r.findings[0], text, sizeof text);
    cr_expect_eq(r.n_findings, 0, "%s: %s", name, text);
    for (size_t k = 0; k < f.n; k++) {
        if (!f.output[k])
            continue;
        const st_tensor *want = tensor(&f, "out.", f.names[k]);
        const uint8_t *got = emu_memory_data(f.mem, f.address[k], f.bytes[k]);
        if (memcmp(got, want->data.p, f.bytes[k]) == 0)
            continue;
        cr_expect(r.approximate_instructions > 0, "%s: %s differs", name, f.names[k]);
        near(name, (const float *)(const void *)got, (const float *)(const void *)want->data.p,
             f.bytes[k] / 4);
    }
    emu_memory_free(f.mem);
    scratch_free(f.sc);
}

Test(emu_foreign, as_the_gpu_did)
{
    static const char *const names[] = {"numba_hash_u64",           "numba_saxpy_f64",
                                        "numba_tile_transpose_f32", "numba_warp_shuffle_i32",
                                        "triton_add_f16",           "triton_atomic_hist_i32",
                                        "triton_cumsum_f32",        "triton_gather_i64",
                                        "triton_silu_math_f32",     "triton_softmax_f32"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (uint32_t threads = 1; threads <= 3; threads += 2)
            check(names[k], threads);
}

Test(emu_foreign, tensor_cores_are_refused)
{
    foreign f;
    rp_err e = {0};
    emu_report r;
    open_foreign(&f, "triton_dot_f16_mma", 1);
    cr_expect_eq(emu_run(&e, &r, f.sc, f.mem, f.m, f.entry, &f.l), RP_UNAVAILABLE);
    cr_expect(strstr(e.msg, "wgmma."), "%s", e.msg);
    emu_memory_free(f.mem);
    scratch_free(f.sc);
}
