/* The PTX reader: what it lists, what it refuses by name, what it calls an error and where. */
#include "gpu/emu/ptx.h"
#include <criterion/criterion.h>

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"

static rp_code parse(rp_err *e, ptx_module **m, scratch *sc, const char *text)
{
    return ptx_parse(e, m, sc, "t.ptx", span_str(text), UINT64_C(0x600000000000));
}

Test(emu_ptx, lists_entries_parameters_and_globals)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    ptx_module *m;
    cr_assert_eq(
        parse(&e, &m, sc,
              HEAD
              "// text\n.extern .shared .align 16 .b8 dyn[];\n.global .align 4 .b8 t[3] = {1, 2, 0xff};\n"
              ".const .align 8 .u64 p[2] = {t, generic(t)+1};\n"
              ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .u8 b,\n .param .align 8 .b8 "
              "c[12], .param .f32 d)\n"
              ".maxntid 128, 2\n.minnctapersm 1\n{ .shared .align 4 .b8 s[40]; .reg .b32 %r<2>; mov.u32 %r1, "
              "dyn; ret; }\n"
              "\t.section .debug_info\n{\n.b8 1\n.b64 k\n}\n"),
        RP_OK, "%s %s", e.where, e.msg);
    cr_assert_eq(ptx_n_entries(m), 1);
    const ptx_entry *k = ptx_entry_find(m, "k");
    cr_assert(k && !ptx_entry_find(m, "q"));
    cr_expect_eq(k->n_params, 4);
    cr_expect(k->params[0].pointer && !k->params[1].pointer);
    cr_expect_str_eq(k->params[1].type, "u8");
    cr_expect_eq(k->params[1].offset_bytes, 8);
    cr_expect_eq(k->params[2].offset_bytes, 16);
    cr_expect_eq(k->params[2].bytes, 12);
    cr_expect_eq(k->params[3].offset_bytes, 28);
    cr_expect_eq(k->param_bytes, 32);
    cr_expect_eq(k->static_shared_bytes, 40);
    cr_expect(k->dynamic_shared);
    cr_expect_eq(k->maxntid[0], 128);
    cr_expect_eq(k->maxntid[1], 2);
    cr_expect_eq(k->reqntid[0], 0);
    cr_expect_str_eq(k->refused, "");
    cr_assert_eq(ptx_n_globals(m), 2);
    cr_expect_str_eq(ptx_global_at(m, 0)->name, "t");
    cr_expect(ptx_global_at(m, 1)->constant);
    cr_expect_str_eq(ptx_version(m), "8.7");
    cr_expect_str_eq(ptx_target(m), "sm_90a");
    scratch_free(sc);
}

Test(emu_ptx, refuses_by_name)
{
    static const char *const v[][2] = {
        {"wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};",
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r1];",
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16"},
        {"mbarrier.init.shared.b64 [%r1], 1;", "mbarrier.init.shared.b64"},
        {"cp.async.bulk.commit_group;", "cp.async.bulk.commit_group"},
        {"add.frobnicate.s32 %r1, %r1, %r1;", "add.frobnicate.s32"},
        {"frobnicate.s32 %r1, [%r1, {%r1, %r1}];", "frobnicate.s32"},
        {"mov.u32 %r1, %pm0;", "%pm0"},
        {"cvt.rn.satfinite.e4m3x2.f32 %r1, %f1, %f1;", "cvt.rn.satfinite.e4m3x2.f32"},
    };
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        rp_err e = {0};
        scratch *sc = scratch_new(0);
        ptx_module *m;
        const char *text = scratch_printf(
            sc,
            HEAD ".entry good() { ret; }\n.func f()\n{ .reg .b32 %%r<4>; .reg .f32 %%f<4>;\n  %s ret; }\n"
                 ".entry k() { call f, (); ret; }",
            v[k][0]);
        cr_assert_eq(parse(&e, &m, sc, text), RP_OK, "%s: %s", v[k][0], e.msg);
        cr_expect_str_eq(ptx_entry_find(m, "good")->refused, "");
        cr_expect_str_eq(ptx_entry_find(m, "k")->refused, v[k][1]);
        cr_expect_eq(ptx_entry_find(m, "k")->refused_line, 7);
        cr_expect_eq(ptx_entry_find(m, "k")->refused_column, 3);
        scratch_free(sc);
    }
}

Test(emu_ptx, errors_have_a_place)
{
    static const struct {
        const char *text, *where;
    } v[] = {
        {"", "1:1"},
        {".version 8.7\n.target sm_90\n.address_size 32\n", "3:15"},
        {HEAD ".entry k() {", "4:13"},
        {HEAD ".entry k() { bra NOWHERE; }", "4:18"},
        {HEAD ".entry k() {\n .reg .b32 %r<2>;\n add.s32 %r1, %r2, 1; }", "6:2"},
        {HEAD ".entry k() {\n .reg .b32 %r<2>; .reg .b64 %rd<2>;\n  add.s32 %r1, %rd1, 1; }", "6:3"},
        {HEAD ".entry k() {\n .reg .b32 %r<2>; add.s32 %r1, %r1; }", "5:19"},
        {HEAD ".entry k() { .reg .b32 a; .reg .b32 a; }", NULL},
        {HEAD ".entry k() {}\n.entry k() {}", NULL},
        {HEAD ".global .u32 x[2] = {1, 2, 3};", NULL},
        {HEAD ".global .b8 x[99999999999];", NULL},
        {HEAD ".entry k() { L: L: ret; }", NULL},
        {HEAD "/* no end", NULL},
        {HEAD ".entry k() { st.const.u32 [0], 1; }", NULL},
        {HEAD "\x01", NULL},
    };
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        rp_err e = {0};
        scratch *sc = scratch_new(0);
        ptx_module *m;
        cr_expect_eq(parse(&e, &m, sc, v[k].text), RP_INVALID, "%s", v[k].text);
        cr_expect(e.msg[0] && e.id == FIND_KERNEL_PTX, "%s", v[k].text);
        if (v[k].where)
            cr_expect_str_eq(e.where, v[k].where, "%s: %s at %s", v[k].text, e.msg, e.where);
        scratch_free(sc);
    }
}

Test(emu_ptx, starved_of_memory)
{
    static const char text[] =
        HEAD ".entry k(.param .u64 a) { .reg .b32 %r<9>; add.s32 %r1, %r2, 7; bra L; L: ret; }";
    size_t limit = 64;
    for (bool done = false; !done; limit += limit / 2) {
        rp_err e = {0};
        scratch *sc = scratch_new(limit);
        ptx_module *m;
        rp_code code = parse(&e, &m, sc, text);
        cr_assert(code == RP_OK || code == RP_NOMEM, "%s", e.msg);
        done = code == RP_OK;
        scratch_free(sc);
    }
}
