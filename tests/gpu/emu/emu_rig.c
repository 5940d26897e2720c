#include "tests/gpu/emu/emu_rig.h"
#include "artifacts/base/file.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/safetensors.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, MAX_PTX = 16 << 20 };

#ifdef __clang__
__attribute__((no_sanitize("unsigned-integer-overflow")))
#endif
static uint64_t
mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void rig_fill(const rig_arg *a, unsigned index, void *out)
{
    for (uint64_t i = 0; i < a->n; i++) {
        uint64_t r = mix((uint64_t)index << 40 | i);
        double u = (double)(r >> 40) / (double)(1 << 24), v = a->lo + (a->hi - a->lo) * u;
        if (a->fill == PERMUTED)
            v = (double)((i * 7919 + 3) % a->n);
        if (a->fill == SORTED)
            v = (double)(3 * i);
        /* Whole words of integers use all their bits. */
        if (a->fill == UNIFORM && !dtype_is_float(a->type) && a->lo == 0 && a->hi == -1)
            memcpy((uint8_t *)out + i * dtype_bytes(a->type), &r, dtype_bytes(a->type));
        else
            dtype_store(a->type, out, i, v);
    }
}

void rig_open(rig_run *r, const char *folder, const rig_case *c)
{
    rp_err e = {0};
    span text;
    uint64_t next = 1 << 20;
    memset(r, 0, sizeof *r);
    r->sc = scratch_new(0);
    const char *path = scratch_printf(r->sc, "%s/%s.ptx", folder, c->module);
    cr_assert_eq(file_read(&e, &text, r->sc, path, MAX_PTX), RP_OK, "%s", e.msg);
    cr_assert_eq(ptx_parse(&e, &r->module, r->sc, path, text, UINT64_C(1) << 40), RP_OK, "%s: %s", e.where,
                 e.msg);
    cr_assert(ptx_entry_find(r->module, c->entry), "%s: no such entry", c->entry);
    cr_assert_str_eq(ptx_entry_find(r->module, c->entry)->refused, "", "%s", c->entry);
    r->mem = emu_memory_new();
    cr_assert(r->mem);
    cr_assert_eq(emu_memory_map_module(&e, r->mem, r->module), RP_OK, "%s", e.msg);
    for (unsigned i = 0; i < RIG_MAX_ARGS && c->args[i].kind; i++) {
        const rig_arg *a = &c->args[i];
        uint64_t bytes = a->n * dtype_bytes(a->type);
        uint32_t block;
        char name[2] = {(char)('a' + i), 0};
        r->n_args++;
        if (a->kind == VALUE)
            continue;
        r->bytes[i] = scratch_alloc(r->sc, bytes);
        if (a->kind != OUT)
            rig_fill(a, i, r->bytes[i]);
        r->address[i] = next;
        next = (next + bytes + 3 * GUARD) / GUARD * GUARD;
        cr_assert_eq(
            emu_memory_map(&e, &block, r->mem, scratch_strdup(r->sc, name), r->address[i], bytes, GUARD),
            RP_OK, "%s", e.msg);
        cr_assert_eq(emu_buffer_add(&e, &r->buffer[i], r->mem, block, scratch_strdup(r->sc, name), 0, bytes,
                                    a->kind != IN),
                     RP_OK, "%s", e.msg);
        memcpy(emu_memory_data(r->mem, r->address[i], bytes), r->bytes[i], bytes);
        if (a->kind != OUT)
            emu_memory_mark(r->mem, r->address[i], bytes, EMU_WRITTEN);
    }
}

void rig_launch(rig_run *r, const rig_case *c, uint32_t threads)
{
    rp_err e = {0};
    const ptx_entry *x = ptx_entry_find(r->module, c->entry);
    uint8_t block[256] = {0};
    uint64_t sizes[RIG_MAX_ARGS], at = 0;
    for (unsigned i = 0; i < r->n_args; i++) {
        const rig_arg *a = &c->args[i];
        uint64_t bits = r->address[i];
        sizes[i] = 8;
        if (a->kind == VALUE) {
            sizes[i] = dtype_bytes(a->type);
            dtype_store(a->type, &bits, 0, a->lo);
        }
        at = i < x->n_params ? x->params[i].offset_bytes : (at + sizes[i] - 1) / sizes[i] * sizes[i];
        memcpy(block + at, &bits, sizes[i]);
        at += sizes[i];
    }
    emu_launch l = {.grid = {c->grid[0], c->grid[1], c->grid[2]},
                    .block = {c->block[0], c->block[1], c->block[2]},
                    .shared_bytes = c->shared_bytes,
                    .params = span_of(block, r->n_args == x->n_params ? x->param_bytes : at),
                    .n_args = r->n_args,
                    .arg_bytes = sizes,
                    .threads = threads,
                    .contract = true,
                    .max_warp_instructions = 1 << 22};
    cr_assert_eq(emu_run(&e, &r->report, r->sc, r->mem, r->module, c->entry, &l), RP_OK, "%s: %s", c->entry,
                 e.msg);
}

const void *rig_bytes(rig_run *r, const rig_case *c, unsigned index)
{
    return emu_memory_data(r->mem, r->address[index], c->args[index].n * dtype_bytes(c->args[index].type));
}

void rig_close(rig_run *r)
{
    emu_memory_free(r->mem);
    scratch_free(r->sc);
}

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* Not equal, and not near either where that is enough: 8 ulp, or 2^-20 of the largest. */
static bool wrong(const rig_case *c, const rig_arg *a, const void *have, const void *want, uint64_t i,
                  double largest)
{
    uint64_t size = dtype_bytes(a->type);
    double x = dtype_load(a->type, have, i), y = dtype_load(a->type, want, i);
    if (!memcmp((const uint8_t *)have + i * size, (const uint8_t *)want + i * size, size))
        return false;
    if (!c->near || x != x || y != y)
        return true;
    int64_t ulp = a->type == DT_F64 ? 9 : dtype_ordinal(a->type, have, i) - dtype_ordinal(a->type, want, i);
    return (ulp > 8 || ulp < -8) && magnitude(x - y) > largest / (1 << 20);
}

static void compare(const rig_case *c, unsigned index, const void *have, const void *want)
{
    const rig_arg *a = &c->args[index];
    double largest = 0;
    for (uint64_t i = 0; i < a->n; i++) {
        double v = magnitude(dtype_load(a->type, want, i));
        largest = v > largest ? v : largest;
    }
    for (uint64_t i = 0; i < a->n; i++)
        cr_assert(!wrong(c, a, have, want, i, largest),
                  "%s, argument %u, element %llu: expected %.17g, found %.17g", c->entry, index,
                  (unsigned long long)i, dtype_load(a->type, want, i), dtype_load(a->type, have, i));
}

/* $REPLAY_EXPORT_CORPUS: a folder that gets every case as `replay kernel` reads it, with what the emulator
 * wrote as the recorded outputs, to be run on a GPU. */
static void export_case(rig_run *r, const char *folder, const rig_case *c)
{
    const char *dir = getenv("REPLAY_EXPORT_CORPUS");
    rp_err e = {0};
    span text, packed, ptx;
    st_tensor t[2 * RIG_MAX_ARGS];
    size_t n = 0;
    if (!dir || !*dir)
        return;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "name", c->entry);
    jw_str(j, "producer", "NVRTC");
    jw_str(j, "entry", c->entry);
    jw_u64s(j, "grid", (uint64_t[]){c->grid[0], c->grid[1], c->grid[2]}, 3);
    jw_u64s(j, "block", (uint64_t[]){c->block[0], c->block[1], c->block[2]}, 3);
    jw_u64(j, "shared_bytes", c->shared_bytes);
    jw_arr(j, "args");
    for (unsigned i = 0; i < r->n_args; i++) {
        jw_obj(j, NULL);
        jw_str(j, "kind", c->args[i].kind == VALUE ? dtype_names[c->args[i].type] : "buf");
        if (c->args[i].kind == VALUE && dtype_is_float(c->args[i].type))
            jw_f64(j, "value", c->args[i].lo);
        else if (c->args[i].kind == VALUE)
            jw_i64(j, "value", (int64_t)c->args[i].lo);
        else
            jw_fmt(j, "value", "%c", 'a' + (char)i);
        jw_end(j);
    }
    jw_end(j);
    jw_obj(j, "buffers");
    for (unsigned i = 0; i < r->n_args; i++) {
        const rig_arg *a = &c->args[i];
        char name[2] = {(char)('a' + i), 0};
        if (a->kind == VALUE)
            continue;
        jw_obj(j, name);
        jw_str(j, "dtype", dtype_names[a->type]);
        jw_u64s(j, "shape", &a->n, 1);
        jw_bool(j, "output", a->kind != IN);
        jw_end(j);
        st_tensor one = {.type = a->type, .rank = 1, .shape = {a->n}};
        one.data.n = a->n * dtype_bytes(a->type);
        if (a->kind != OUT) {
            uint8_t *in = scratch_alloc(r->sc, one.data.n);
            rig_fill(a, i, in);
            one.name = scratch_printf(r->sc, "in.%s", name);
            one.data.p = in;
            t[n++] = one;
        }
        if (a->kind != IN) {
            one.name = scratch_printf(r->sc, "out.%s", name);
            one.data.p = rig_bytes(r, c, i);
            t[n++] = one;
        }
    }
    jw_end(j);
    jw_end(j);
    const char *stem = scratch_printf(r->sc, "%s/%s", dir, c->entry),
               *source = scratch_printf(r->sc, "%s/%s.ptx", folder, c->module);
    cr_assert(!jw_finish(&e, &text, j) && !st_write(&e, &packed, r->sc, t, n) &&
                  !file_read(&e, &ptx, r->sc, source, MAX_PTX) &&
                  !file_write(&e, scratch_printf(r->sc, "%s.json", stem), text) &&
                  !file_write(&e, scratch_printf(r->sc, "%s.safetensors", stem), packed) &&
                  !file_write(&e, scratch_printf(r->sc, "%s.ptx", stem), ptx),
              "%s", e.msg);
    jw_free(j);
}

void rig_check(const char *folder, const rig_case *c)
{
    rig_run one, three;
    void *want[RIG_MAX_ARGS] = {0};
    rig_open(&one, folder, c);
    rig_open(&three, folder, c);
    rig_launch(&one, c, 1);
    rig_launch(&three, c, 3);
    for (uint64_t i = 0; i < one.report.n_findings; i++) {
        char text[600];
        emu_finding_text(&one.report.findings[i], text, sizeof text);
        cr_assert_fail("%s: expected no finding, found %s", c->entry, text);
    }
    cr_assert(one.report.completed && three.report.completed && !three.report.n_findings, "%s", c->entry);
    cr_assert_eq(one.report.thread_instructions, three.report.thread_instructions);
    for (unsigned i = 0; i < one.n_args; i++) {
        uint64_t bytes = c->args[i].n * dtype_bytes(c->args[i].type);
        want[i] = one.bytes[i];
        if (c->args[i].kind != OUT)
            continue;
        const uint8_t *states = emu_memory_states(one.mem, one.address[i], bytes);
        for (uint64_t k = 0; k < bytes; k++)
            cr_assert_eq(states[k], EMU_WRITTEN, "%s: byte %llu of argument %u is not written", c->entry,
                         (unsigned long long)k, i);
    }
    c->model(want);
    export_case(&one, folder, c);
    for (unsigned i = 0; i < one.n_args; i++) {
        if (c->args[i].kind == VALUE)
            continue;
        compare(c, i, rig_bytes(&one, c, i), want[i]);
        cr_assert_arr_eq(rig_bytes(&one, c, i), rig_bytes(&three, c, i),
                         c->args[i].n * dtype_bytes(c->args[i].type), "%s: threads matter", c->entry);
    }
    rig_close(&one);
    rig_close(&three);
}
