#include "tests/gpu/emu/ptx_rig.h"
#include <criterion/criterion.h>
#include <stdlib.h>

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"

static const char *module_of(scratch *sc, const char *globals, const char *body)
{
    return scratch_printf(sc,
                          HEAD
                          "%s\n.visible .entry k(.param .u64 i, .param .u64 o)\n{\n"
                          ".reg .b64 %%rd<30>; .reg .b32 %%r<40>; .reg .b16 %%h<20>; .reg .f32 %%f<10>;\n"
                          ".reg .f64 %%d<10>; .reg .pred %%p<10>;\n"
                          "ld.param.u64 %%rd20, [i]; ld.param.u64 %%rd21, [o]; mov.u32 %%r30, %%tid.x;\n"
                          "mad.wide.u32 %%rd20, %%r30, 8, %%rd20; mad.wide.u32 %%rd21, %%r30, 8, %%rd21;\n"
                          "ld.global.u64 %%rd1, [%%rd20]; ld.global.u64 %%rd2, [%%rd20+256];\n"
                          "ld.global.u64 %%rd3, [%%rd20+512]; ld.global.u64 %%rd4, [%%rd20+768];\n"
                          "cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, %%rd3;\n"
                          "cvt.u32.u64 %%r4, %%rd4; cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2;\n"
                          "cvt.u16.u64 %%h3, %%rd3; cvt.u16.u64 %%h4, %%rd4;\n%s\n"
                          "st.global.u64 [%%rd21], %%rd9;\nret;\n}\n",
                          globals, body);
}

void ptx_lanes(const char *globals, const char *body, uint64_t in[4][32], uint64_t out[32],
               emu_report *report, scratch *sc)
{
    rp_err e = {0};
    ptx_module *m = NULL;
    emu_memory *mem = emu_memory_new();
    uint32_t id, bid;
    uint64_t params[2] = {PTX_ADDRESS, PTX_ADDRESS + 1024};
    const char *text = module_of(sc, globals, body);
    cr_assert(mem && text);
    cr_assert_eq(ptx_parse(&e, &m, sc, "t.ptx", span_str(text), UINT64_C(0x600000000000)), RP_OK,
                 "%s: %s: %s", body, e.where, e.msg);
    cr_assert(!emu_memory_map_module(&e, mem, m) &&
              !emu_memory_map(&e, &id, mem, "x", PTX_ADDRESS, 1280, 256) &&
              !emu_buffer_add(&e, &bid, mem, id, "x", 0, 1280, true));
    memcpy(emu_memory_data(mem, PTX_ADDRESS, 1024), in, 1024);
    emu_memory_mark(mem, PTX_ADDRESS, 1024, EMU_WRITTEN);
    emu_launch l = {.grid = {1, 1, 1},
                    .block = {32, 1, 1},
                    .params = span_of(params, sizeof params),
                    .max_warp_instructions = 100000};
    cr_assert_eq(emu_run(&e, report, sc, mem, m, "k", &l), RP_OK, "%s: %s", body, e.msg);
    memcpy(out, emu_memory_data(mem, PTX_ADDRESS + 1024, 256), 256);
    emu_memory_free(mem);
}

void ptx_check(const ptx_case *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        scratch *sc = scratch_new(0);
        uint64_t in[4][32], out[32];
        char text[600] = "";
        emu_report r;
        for (int l = 0; l < 32; l++) {
            in[0][l] = v[k].a;
            in[1][l] = v[k].b;
            in[2][l] = v[k].c;
            in[3][l] = v[k].d;
        }
        ptx_lanes("", v[k].body, in, out, &r, sc);
        if (r.n_findings)
            emu_finding_text(&r.findings[0], text, sizeof text);
        cr_expect_eq(r.n_findings, 0, "%s: %s", v[k].body, text);
        for (int l = 0; l < 32; l += 31)
            cr_expect_eq(out[l], v[k].expect, "%s (%llx, %llx, %llx, %llx) lane %d: %llx, expected %llx",
                         v[k].body, (unsigned long long)v[k].a, (unsigned long long)v[k].b,
                         (unsigned long long)v[k].c, (unsigned long long)v[k].d, l,
                         (unsigned long long)out[l], (unsigned long long)v[k].expect);
        scratch_free(sc);
    }
}

void ptx_launch(ptx_run *r, const char *text, uint32_t grid, uint32_t block, uint32_t threads)
{
    rp_err e = {0};
    uint32_t id, bid;
    uint64_t param = PTX_ADDRESS;
    *r = (ptx_run){.sc = scratch_new(0), .mem = emu_memory_new()};
    const char *all = scratch_printf(r->sc, HEAD "%s", text);
    cr_assert(r->mem && all);
    cr_assert_eq(ptx_parse(&e, &r->m, r->sc, "t.ptx", span_str(all), UINT64_C(0x600000000000)), RP_OK,
                 "%s: %s", e.where, e.msg);
    cr_assert(!emu_memory_map_module(&e, r->mem, r->m) &&
              !emu_memory_map(&e, &id, r->mem, "x", PTX_ADDRESS, PTX_BUFFER, 256) &&
              !emu_buffer_add(&e, &bid, r->mem, id, "x", 0, PTX_BUFFER, true));
    emu_memory_mark(r->mem, PTX_ADDRESS, PTX_BUFFER, EMU_WRITTEN);
    emu_launch l = {.grid = {grid, 1, 1},
                    .block = {block, 1, 1},
                    .params = span_of(&param, sizeof param),
                    .shared_bytes = 1024,
                    .threads = threads,
                    .max_warp_instructions = 1 << 20};
    cr_assert_eq(emu_run(&e, &r->r, r->sc, r->mem, r->m, "k", &l), RP_OK, "%s", e.msg);
}

uint32_t ptx_word(ptx_run *r, uint64_t index)
{
    uint32_t v;
    memcpy(&v, emu_memory_data(r->mem, PTX_ADDRESS + 4 * index, 4), sizeof v);
    return v;
}

bool ptx_found(const ptx_run *r, emu_find kind, const char *instruction)
{
    for (uint64_t k = 0; k < r->r.n_findings; k++)
        if (r->r.findings[k].kind == kind &&
            (!instruction || strcmp(r->r.findings[k].instruction, instruction) == 0))
            return true;
    return false;
}

void ptx_done(ptx_run *r)
{
    emu_memory_free(r->mem);
    scratch_free(r->sc);
}
