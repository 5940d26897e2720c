/* Launches of whole modules: each kind of finding, races and what orders accesses, the same answer for any
 * number of host threads. */
#include "tests/gpu/emu/ptx_rig.h"
#include <criterion/criterion.h>

#define ENTRY(globals, body)                                                                                 \
    globals                                                                                                  \
        "\n.visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .pred %p<5>; .reg " \
        ".f32 %f<5>;\n"                                                                                      \
        "ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r1, 4;\n"   \
        "add.u64 %rd3, %rd1, %rd2;\n" body "\nret;\n}\n"

static const struct {
    const char *text;
    uint32_t grid, block;
    int kind; /* -1: clean */
    const char *instruction;
} launches[] = {
    {ENTRY("", "st.global.u32 [%rd3], %r1;"), 1, 256, -1, NULL},
    {ENTRY("", "st.global.u32 [%rd3], %r1;"), 2, 64, EMU_FIND_RACE, "st.global.u32"},
    {ENTRY("", "st.global.u32 [%rd1], %r1;"), 1, 2, EMU_FIND_RACE, "st.global.u32"},
    {ENTRY("", "ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd3+65532], %r3;"), 1, 1, -1, NULL},
    {ENTRY("", "st.global.u32 [%rd3+65536], %r1;"), 1, 1, EMU_FIND_GUARD, "st.global.u32"},
    {ENTRY("", "st.global.u32 [%rd3+1048576], %r1;"), 1, 1, EMU_FIND_BOUNDS, "st.global.u32"},
    {ENTRY("", "ld.global.u32 %r3, [%rd3+2];"), 1, 1, EMU_FIND_MISALIGNED, "ld.global.u32"},
    {ENTRY(".const .u32 c = 1;", "mov.u64 %rd4, c; st.global.u32 [%rd4], 1;"), 1, 1, EMU_FIND_READ_ONLY,
     "st.global.u32"},
    {ENTRY(".shared .align 4 .b8 s[128];", "mov.u32 %r3, s; ld.shared.u32 %r4, [%r3];"), 1, 32,
     EMU_FIND_UNINITIALISED, "ld.shared.u32"},
    {ENTRY(".shared .align 4 .b8 s[128];", "st.shared.u32 [s+128], 1;"), 1, 1, EMU_FIND_BOUNDS,
     "st.shared.u32"},
    {ENTRY(".extern .shared .align 4 .b8 s[];", "st.shared.u32 [s+1020], 1;"), 1, 1, -1, NULL},
    {ENTRY(".extern .shared .align 4 .b8 s[];", "st.shared.u32 [s+1024], 1;"), 1, 1, EMU_FIND_BOUNDS,
     "st.shared.u32"},
    {ENTRY("", ".local .align 4 .b8 l[8]; st.local.u32 [l+4], 1; ld.local.u32 %r3, [l];"), 1, 1,
     EMU_FIND_UNINITIALISED, "ld.local.u32"},
    {ENTRY("", ".local .align 4 .b8 l[8]; mov.u64 %rd4, l; cvta.local.u64 %rd5, %rd4; st.u32 [%rd5+4], %r1; "
               "ld.local.u32 %r3, [l+4];"
               "st.global.u32 [%rd3], %r3;"),
     1, 64, -1, NULL},
    /* what orders: a barrier for the block, a warp barrier for the warp, nothing between blocks */
    {ENTRY(".shared .align 4 .b8 s[256];",
           "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r1; bar.sync 0;"
           "xor.b32 %r4, %r4, 252; add.u32 %r5, %r3, %r4; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], "
           "%r6;"),
     1, 64, -1, NULL},
    {ENTRY(".shared .align 4 .b8 s[256];",
           "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], 7; bar.sync 0; "
           "st.shared.u32 [%r5], %r1;"
           "bar.warp.sync -1; xor.b32 %r4, %r4, 124; add.u32 %r5, %r3, %r4; ld.shared.u32 %r6, [%r5];"),
     1, 64, -1, NULL},
    {ENTRY(".shared .align 4 .b8 s[256];",
           "mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], 7; bar.sync 0; "
           "st.shared.u32 [%r5], %r1;"
           "bar.warp.sync -1; xor.b32 %r4, %r4, 252; add.u32 %r5, %r3, %r4; ld.shared.u32 %r6, [%r5];"),
     1, 64, EMU_FIND_RACE, "ld.shared.u32"},
    {ENTRY("", "atom.global.add.u32 %r3, [%rd1], 1;"), 4, 64, -1, NULL},
    {ENTRY("", "cvta.to.global.u64 %rd4, %rd1; ld.global.u32 %r3, [%rd4];\nL: mov.u32 %r4, %r3; add.u32 %r5, "
               "%r4, 1;"
               "atom.cas.b32 %r3, [%rd1], %r4, %r5; setp.ne.u32 %p1, %r3, %r4; @%p1 bra L;"),
     2, 64, -1, NULL},
    {ENTRY("", "red.global.add.u32 [%rd1], 1; ld.global.u32 %r3, [%rd1];"), 1, 64, EMU_FIND_RACE, NULL},
    /* the last block adds up what the others left */
    {ENTRY(".shared .u32 last;", "setp.ne.u32 %p1, %r1, 0; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, "
                                 "%rd4; @%p1 bra B; st.global.u32 [%rd5+1024], %r2;"
                                 "membar.gl; atom.global.inc.u32 %r3, [%rd1], 3; st.shared.u32 [last], "
                                 "%r3;\nB: bar.sync 0; ld.shared.u32 %r4, [last];"
                                 "setp.ne.u32 %p2, %r4, 3; @%p2 bra E; setp.gt.u32 %p3, %r1, 3; @%p3 bra E; "
                                 "ld.global.u32 %r5, [%rd3+1024];"
                                 "st.global.u32 [%rd3+2048], %r5;\nE:"),
     4, 64, -1, NULL},
    {ENTRY("", "setp.gt.u32 %p1, %r1, 9; @%p1 bra E; bar.sync 0;\nE:"), 1, 32, EMU_FIND_BARRIER, "bar.sync"},
    {ENTRY("", "setp.gt.u32 %p1, %r1, 31; @%p1 bra E; bar.sync 1, 64;\nE:"), 1, 64, EMU_FIND_BARRIER,
     "bar.sync"},
    {ENTRY("", "setp.gt.u32 %p1, %r1, 31; @%p1 bra O; bar.sync 1, 64; bra E;\nO: bar.arrive 1, 64;\nE:"), 1,
     64, -1, NULL},
    {ENTRY("", "setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r3, 0, %p1; st.global.u32 [%rd3], %r3;"), 1, 64,
     -1, NULL},
    {ENTRY("", "setp.gt.u32 %p1, %r1, 9; @%p1 shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;"), 1, 32,
     EMU_FIND_BARRIER, "shfl.sync.idx.b32"},
    /* races within blocks hide those between them: still the same answer */
    {ENTRY("", "ld.global.u32 %r3, [%rd1]; add.u32 %r4, %r3, %r1; st.global.u32 [%rd1], %r4; "
               "st.volatile.global.u32 [%rd1+8], %r2;"),
     5, 48, EMU_FIND_RACE, "st.global.u32"},
    {ENTRY("", "L: bra L;"), 2, 32, EMU_FIND_RUNAWAY, "bra"},
    {ENTRY("", "setp.eq.u32 %p1, %r2, 1; @%p1 trap;"), 3, 32, EMU_FIND_TRAP, "trap"},
    {ENTRY(".extern .func __assertfail(.param .b64 a);",
           "{ .param .b64 p; st.param.b64 [p], 0; call.uni __assertfail, (p); }"),
     1, 32, EMU_FIND_TRAP, "call.uni"},
    {ENTRY(".func f() { call f, (); ret; }", "call f, ();"), 1, 32, EMU_FIND_RUNAWAY, "call"},
};

Test(emu_exec_findings, each_kind_and_clean_ones)
{
    for (size_t k = 0; k < sizeof launches / sizeof *launches; k++) {
        ptx_run one, four;
        char text[600] = "";
        ptx_launch(&one, launches[k].text, launches[k].grid, launches[k].block, 1);
        ptx_launch(&four, launches[k].text, launches[k].grid, launches[k].block, 4);
        if (one.r.n_findings)
            emu_finding_text(&one.r.findings[0], text, sizeof text);
        if (launches[k].kind < 0)
            cr_expect_eq(one.r.n_findings, 0, "case %zu: %s", k, text);
        else
            cr_expect(ptx_found(&one, (emu_find)launches[k].kind, launches[k].instruction), "case %zu: %s", k,
                      text);
        cr_expect_eq(one.r.n_findings, four.r.n_findings, "case %zu", k);
        for (uint64_t f = 0; f < one.r.n_findings && f < four.r.n_findings; f++) {
            cr_expect_str_eq(one.r.findings[f].message, four.r.findings[f].message);
            cr_expect_eq(one.r.findings[f].count, four.r.findings[f].count);
        }
        cr_expect_eq(one.r.thread_instructions, four.r.thread_instructions, "case %zu", k);
        cr_expect_eq(one.r.completed, four.r.completed);
        cr_expect_arr_eq(emu_memory_data(one.mem, PTX_ADDRESS, PTX_BUFFER),
                         emu_memory_data(four.mem, PTX_ADDRESS, PTX_BUFFER), PTX_BUFFER, "case %zu", k);
        ptx_done(&one);
        ptx_done(&four);
    }
}

Test(emu_exec_findings, reduction_over_the_barrier)
{
    ptx_run r;
    ptx_launch(&r, launches[24].text, 1, 64, 1);
    cr_expect_eq(ptx_word(&r, 0), 40);
    cr_expect_eq(ptx_word(&r, 63), 40);
    ptx_done(&r);
}

Test(emu_exec_findings, atomics_of_vectors)
{
    ptx_run r;
    ptx_launch(&r,
               ENTRY("",
                     "createpolicy.fractional.L2::evict_first.b64 %rd4, 0f3F800000; mov.f32 %f1, 0f3F800000;"
                     "mov.f32 %f2, 0f40000000; red.global.add.v2.f32 [%rd1+8], {%f1, %f2};"
                     "atom.global.gpu.acq_rel.add.v2.f32 {%f3, %f4}, [%rd1+16], {%f2, %f1};"),
               2, 32, 1);
    cr_expect_eq(r.r.n_findings, 0);
    cr_expect_eq(ptx_word(&r, 2), 0x42800000);
    cr_expect_eq(ptx_word(&r, 3), 0x43000000);
    cr_expect_eq(ptx_word(&r, 4), 0x43000000);
    cr_expect_eq(ptx_word(&r, 5), 0x42800000);
    ptx_done(&r);
}

Test(emu_exec_findings, a_place_in_words)
{
    ptx_run r;
    char text[600];
    ptx_launch(&r, ".file 1 \"a.cu\"\n" ENTRY("", ".loc 1 12 3\nst.global.u32 [%rd3+65536], %r1;"), 2, 1, 2);
    cr_assert_eq(r.r.n_findings, 1);
    const emu_finding *f = &r.r.findings[0];
    cr_expect_str_eq(f->file, "a.cu");
    cr_expect_eq(f->line, 12);
    cr_expect_eq(f->count, 2);
    cr_expect_str_eq(f->buffer, "x");
    cr_expect_eq(f->offset_bytes, 65536);
    emu_finding_text(f, text, sizeof text);
    cr_expect_str_eq(text,
                     "k: guard_band at a.cu:12 (PTX line 12), st.global.u32 by thread 0,0,0 of block 0,0,0: "
                     "write of 4 bytes in a "
                     "guard band: 0 bytes past the end of x (65536 bytes) (2 times)",
                     "%s", text);
    ptx_done(&r);
}

Test(emu_exec_findings, contraction)
{
    static const char text[] =
        ".version 8.7\n.target sm_90\n.address_size 64\n.entry k(.param .u64 o) { .reg .b64 %rd<3>; .reg "
        ".f32 %f<9>;\n"
        "ld.param.u64 %rd1, [o]; mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0fBF800002; mul.f32 %f3, %f1, %f1;\n"
        "add.f32 %f4, %f3, %f2; sub.f32 %f5, %f2, %f3; mul.rn.f32 %f6, %f1, %f1; add.f32 %f7, %f6, %f2;\n"
        "st.global.f32 [%rd1], %f4; st.global.f32 [%rd1+4], %f5; st.global.f32 [%rd1+8], %f7; ret; }";
    static const uint32_t expect[2][3] = {{0, 0xc0000002, 0}, {0x28800000, 0xc0000002, 0}};
    for (int contract = 0; contract < 2; contract++) {
        rp_err e = {0};
        scratch *sc = scratch_new(0);
        emu_memory *mem = emu_memory_new();
        ptx_module *m;
        emu_report r;
        uint32_t id;
        uint64_t param = PTX_ADDRESS;
        cr_assert(!ptx_parse(&e, &m, sc, "t", span_str(text), UINT64_C(0x600000000000)) &&
                      !emu_memory_map(&e, &id, mem, "x", PTX_ADDRESS, 64, 64) &&
                      !emu_buffer_add(&e, &id, mem, id, "x", 0, 64, true),
                  "%s", e.msg);
        cr_expect(ptx_entry_find(m, "k")->contractible);
        emu_launch l = {
            .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = span_of(&param, 8), .contract = contract};
        cr_assert_eq(emu_run(&e, &r, sc, mem, m, "k", &l), RP_OK);
        cr_expect_eq(r.contracted, contract ? 2 : 0);
        cr_expect_arr_eq(emu_memory_data(mem, PTX_ADDRESS, 12), expect[contract], 12, "%x",
                         *(uint32_t *)(void *)emu_memory_data(mem, PTX_ADDRESS, 4));
        emu_memory_free(mem);
        scratch_free(sc);
    }
}
