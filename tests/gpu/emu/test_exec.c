/* One instruction at a time against figures worked out by the rules of the PTX ISA. */
#include "tests/gpu/emu/ptx_rig.h"
#include <criterion/criterion.h>

#define CHECK(v) ptx_check(v, sizeof(v) / sizeof *(v))
#define R32(op) op " %r9, %r1, %r2; cvt.u64.u32 %rd9, %r9;"
#define R32_3(op) op " %r9, %r1, %r2, %r3; cvt.u64.u32 %rd9, %r9;"
#define R32_1(op) op " %r9, %r1; cvt.u64.u32 %rd9, %r9;"
#define F32(op)                                                                                              \
    "mov.b32 %f1, %r1; mov.b32 %f2, %r2; " op " %f3, %f1, %f2; mov.b32 %r9, %f3; cvt.u64.u32 %rd9, %r9;"
#define F32_3(op)                                                                                            \
    "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f4, %r3; " op                                              \
    " %f3, %f1, %f2, %f4; mov.b32 %r9, %f3; cvt.u64.u32 %rd9, %r9;"
#define F32_1(op) "mov.b32 %f1, %r1; " op " %f3, %f1; mov.b32 %r9, %f3; cvt.u64.u32 %rd9, %r9;"
#define H(op) op " %h9, %h1, %h2; cvt.u64.u16 %rd9, %h9;"
#define H3(op) op " %h9, %h1, %h2, %h3; cvt.u64.u16 %rd9, %h9;"
#define H1(op) op " %h9, %h1; cvt.u64.u16 %rd9, %h9;"
#define SETP(op, from) op " %p1, " from "; selp.b64 %rd9, 1, 0, %p1;"
#define M32 UINT64_C(0xffffffff)
#define M64 UINT64_MAX

Test(emu_exec, integers)
{
    static const ptx_case v[] = {
        {R32("add.s32"), 0x7fffffff, 1, 0, 0, 0x80000000},
        {R32("add.sat.s32"), 0x7fffffff, 1, 0, 0, 0x7fffffff},
        {R32("sub.sat.s32"), 0x80000000, 1, 0, 0, 0x80000000},
        {R32("sub.u32"), 0, 1, 0, 0, M32},
        {R32("mul.lo.s32"), 0xfffffffe, 3, 0, 0, 0xfffffffa},
        {R32("mul.hi.s32"), 0x80000000, 2, 0, 0, M32},
        {R32("mul.hi.u32"), 0x80000000, 2, 0, 0, 1},
        {"mul.wide.s32 %rd9, %r1, %r2;", 0xffffffff, 5, 0, 0, M64 - 4},
        {"mul.wide.u32 %rd9, %r1, %r2;", 0xffffffff, 5, 0, 0, 0x4fffffffb},
        {"mul.wide.u16 %r9, %h1, %h2; cvt.u64.u32 %rd9, %r9;", 0xffff, 0xffff, 0, 0, 0xfffe0001},
        {"mul.hi.u64 %rd9, %rd1, %rd2;", M64, M64, 0, 0, M64 - 1},
        {"mul.hi.s64 %rd9, %rd1, %rd2;", M64, 2, 0, 0, M64},
        {"mad.wide.s32 %rd9, %r1, %r2, %rd3;", 0xfffffffe, 4, 10, 0, 2},
        {R32_3("mad.lo.u32"), 7, 6, 5, 0, 47},
        {R32_3("mad.hi.s32"), 0x40000000, 8, 1, 0, 3},
        {R32_3("mad24.lo.u32"), 0xff000003, 5, 1, 0, 16},
        {R32("div.s32"), 0xfffffff9, 2, 0, 0, 0xfffffffd},
        {R32("rem.s32"), 0xfffffff9, 2, 0, 0, M32},
        {R32("div.u32"), 100, 7, 0, 0, 14},
        {R32("div.s32"), 0x80000000, 0xffffffff, 0, 0, 0x80000000},
        {"rem.u64 %rd9, %rd1, %rd2;", 1000000007, 998244353, 0, 0, 1755654},
        {R32_1("abs.s32"), 0xffffffff, 0, 0, 0, 1},
        {R32_1("neg.s32"), 1, 0, 0, 0, M32},
        {R32("min.s32"), 0xffffffff, 1, 0, 0, M32},
        {R32("min.u32"), 0xffffffff, 1, 0, 0, 1},
        {"max.s16 %h9, %h1, %h2; cvt.u64.u16 %rd9, %h9;", 0xffff, 1, 0, 0, 1},
        {R32_3("sad.s32"), 0xfffffffe, 3, 10, 0, 15},
        {R32_1("popc.b32"), 0xf0f0, 0, 0, 0, 8},
        {"popc.b64 %r9, %rd1; cvt.u64.u32 %rd9, %r9;", M64, 0, 0, 0, 64},
        {R32_1("clz.b32"), 1, 0, 0, 0, 31},
        {"clz.b64 %r9, %rd1; cvt.u64.u32 %rd9, %r9;", 0, 0, 0, 0, 64},
        {R32_1("bfind.u32"), 0x8000, 0, 0, 0, 15},
        {R32_1("bfind.s32"), 0xffffffff, 0, 0, 0, M32},
        {R32_1("bfind.shiftamt.u32"), 0x8000, 0, 0, 0, 16},
        {R32_1("brev.b32"), 1, 0, 0, 0, 0x80000000},
        {R32_3("bfe.u32"), 0x12345678, 8, 8, 0, 0x56},
        {R32_3("bfe.s32"), 0x0000f000, 12, 4, 0, M32},
        {R32_3("bfe.s32"), 0x80000000, 28, 16, 0, 0xfffffff8},
        {"bfi.b32 %r9, %r1, %r2, %r3, %r4; cvt.u64.u32 %rd9, %r9;", 0xab, 0x11111111, 8, 8, 0x1111ab11},
        {R32_3("prmt.b32"), 0x33221100, 0x77665544, 0x6420, 0, 0x66442200},
        {R32_3("prmt.b32"), 0x000000f0, 0, 0x8888, 0, M32},
        {R32_3("shf.l.wrap.b32"), 0x80000000, 1, 33, 0, 3},
        {R32_3("shf.r.clamp.b32"), 0x11111111, 0x22222222, 40, 0, 0x22222222},
        {"lop3.b32 %r9, %r1, %r2, %r3, 0x96; cvt.u64.u32 %rd9, %r9;", 0xff00, 0xf0f0, 0xcccc, 0,
         0xff00 ^ 0xf0f0 ^ 0xcccc},
        {R32("shl.b32"), 1, 32, 0, 0, 0},
        {R32("shr.s32"), 0x80000000, 40, 0, 0, M32},
        {"shr.s16 %h9, %h1, %r2; cvt.u64.u16 %rd9, %h9;", 0x8000, 3, 0, 0, 0xf000},
        {R32_1("not.b32"), 0xf, 0, 0, 0, 0xfffffff0},
        {R32_1("cnot.b32"), 0, 0, 0, 0, 1},
        {R32_3("dp4a.s32.s32"), 0xff02ff02, 0x01020304, 100, 0, 100 - 1 + 4 - 3 + 8},
        {R32_3("dp2a.lo.u32.u32"), 0x00030002, 0x0504, 1, 0, 1 + 8 + 15},
        {"add.cc.u32 %r5, %r1, %r2; addc.u32 %r6, 0, 0; cvt.u64.u32 %rd9, %r6;", 0xffffffff, 1, 0, 0, 1},
        {"sub.cc.u32 %r5, %r1, %r2; subc.u32 %r6, 5, 0; cvt.u64.u32 %rd9, %r6;", 0, 1, 0, 0, 4},
        {"mad.lo.cc.u32 %r5, %r1, %r2, %r3; madc.hi.u32 %r6, %r1, %r2, 0; mov.b64 %rd9, {%r5, %r6};",
         0xffffffff, 0xffffffff, 0xffffffff, 0, UINT64_C(0xffffffff00000000)},
        {"add.cc.u64 %rd10, %rd1, %rd2; addc.u64 %rd9, %rd3, 0;", M64, 2, 7, 0, 8},
        {"szext.clamp.s32 %r9, %r1, %r2; cvt.u64.u32 %rd9, %r9;", 0x8, 4, 0, 0, 0xfffffff8},
        {"bmsk.clamp.b32 %r9, %r1, %r2; cvt.u64.u32 %rd9, %r9;", 4, 8, 0, 0, 0xff0},
        {R32_3("slct.b32.s32"), 1, 2, 0xffffffff, 0, 2},
        {"mov.b32 {%h5, %h6}, %r1; mov.b32 %r9, {%h6, %h5}; cvt.u64.u32 %rd9, %r9;", 0x12345678, 0, 0, 0,
         0x56781234},
        {SETP("setp.lt.s32", "%r1, %r2"), 0xffffffff, 0, 0, 0, 1},
        {SETP("setp.lo.u32", "%r1, %r2"), 0xffffffff, 0, 0, 0, 0},
        {"setp.eq.u32 %p2, 1, 2; setp.gt.and.s32 %p1|%p3, %r1, %r2, !%p2; selp.b64 %rd9, 1, 0, %p1;", 3, 2, 0,
         0, 1},
        {"set.eq.u32.u32 %r9, %r1, %r2; cvt.u64.u32 %rd9, %r9;", 3, 3, 0, 0, M32},
        {"set.eq.f32.u32 %f1, %r1, %r2; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 3, 3, 0, 0, 0x3f800000},
    };
    CHECK(v);
}

Test(emu_exec, floats)
{
    static const ptx_case v[] = {
        {F32("add.f32"), 0x3f800000, 0x33800000, 0, 0, 0x3f800000},
        {F32("add.rp.f32"), 0x3f800000, 0x33800000, 0, 0, 0x3f800001},
        {F32("sub.rz.f32"), 0x3f800000, 0x33000000, 0, 0, 0x3f7fffff},
        {F32("mul.rm.f32"), 0xbf800001, 0x3f800001, 0, 0, 0xbf800003},
        {F32("add.f32"), 0x7f800000, 0xff800000, 0, 0, 0x7fffffff},
        {F32("add.f32"), 0xffc12345, 0x3f800000, 0, 0, 0x7fffffff},
        {F32("add.f32"), 1, 1, 0, 0, 2},
        {F32("add.ftz.f32"), 1, 1, 0, 0, 0},
        {F32("mul.ftz.f32"), 0x80800000, 0x3f000000, 0, 0, 0x80000000},
        {F32("add.sat.f32"), 0x3f800000, 0x3f800000, 0, 0, 0x3f800000},
        {F32("add.sat.f32"), 0x7fc00000, 0x3f800000, 0, 0, 0},
        {F32_3("fma.rn.f32"), 0x3f800001, 0x3f800001, 0xbf800000, 0, 0x34800000},
        {F32_3("fma.rn.f32"), 0x3f800001, 0x3f800001, 0xbf800002, 0, 0x28800000},
        {F32_3("fma.rz.f32"), 0x3f800001, 0x3f800001, 0, 0, 0x3f800002},
        {F32_3("fma.rp.f32"), 0x3f800001, 0x3f800001, 0, 0, 0x3f800003},
        {F32("div.rn.f32"), 0x3f800000, 0x40400000, 0, 0, 0x3eaaaaab},
        {F32("div.rz.f32"), 0x3f800000, 0x40400000, 0, 0, 0x3eaaaaaa},
        {F32_1("sqrt.rn.f32"), 0x40000000, 0, 0, 0, 0x3fb504f3},
        {F32_1("rcp.rn.ftz.f32"), 0x00000001, 0, 0, 0, 0x7f800000},
        {F32_1("rcp.approx.f32"), 0x40400000, 0, 0, 0, 0x3eaaaaab},
        {F32_1("ex2.approx.ftz.f32"), 0x40400000, 0, 0, 0, 0x41000000},
        {F32_1("lg2.approx.f32"), 0x41000000, 0, 0, 0, 0x40400000},
        {F32_1("rsqrt.approx.f32"), 0x40800000, 0, 0, 0, 0x3f000000},
        {F32_1("abs.f32"), 0x80000001, 0, 0, 0, 1},
        {F32_1("neg.ftz.f32"), 1, 0, 0, 0, 0x80000000},
        {F32("min.f32"), 0x7fc00000, 0x40000000, 0, 0, 0x40000000},
        {F32("min.NaN.f32"), 0x7fc00000, 0x40000000, 0, 0, 0x7fffffff},
        {F32("min.f32"), 0, 0x80000000, 0, 0, 0x80000000},
        {F32("max.f32"), 0x80000000, 0, 0, 0, 0},
        {F32("min.xorsign.abs.f32"), 0xc0000000, 0x40400000, 0, 0, 0xc0000000},
        {F32("copysign.f32"), 0x80000000, 0x40000000, 0, 0, 0xc0000000},
        {SETP("mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.ltu.f32", "%f1, %f2"), 0x7fc00000, 0, 0, 0, 1},
        {SETP("mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.ne.f32", "%f1, %f2"), 0x7fc00000, 0, 0, 0, 0},
        {SETP("mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.neu.f32", "%f1, %f2"), 0x7fc00000, 0, 0, 0, 1},
        {SETP("mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.eq.ftz.f32", "%f1, %f2"), 1, 0, 0, 0, 1},
        {SETP("mov.b32 %f1, %r1; testp.subnormal.f32", "%f1"), 1, 0, 0, 0, 1},
        {"mov.b64 %d1, %rd1; mov.b64 %d2, %rd2; add.rp.f64 %d3, %d1, %d2; mov.b64 %rd9, %d3;",
         UINT64_C(0x3ff0000000000000), 1, 0, 0, UINT64_C(0x3ff0000000000001)},
        {"mov.b64 %d1, %rd1; fma.rn.f64 %d3, %d1, %d1, 0dBFF0000000000000; mov.b64 %rd9, %d3;",
         UINT64_C(0x3ff0000000000001), 0, 0, 0, UINT64_C(0x3cc0000000000000) | UINT64_C(0x0000000000000000)},
    };
    CHECK(v);
}

Test(emu_exec, halves)
{
    static const ptx_case v[] = {
        {H("add.f16"), 0x3c00, 0x1000, 0, 0, 0x3c00},    /* 1 + 2^-11: a tie, to even */
        {H("add.rn.f16"), 0x3c01, 0x1000, 0, 0, 0x3c02}, /* the other way */
        {H("mul.f16"), 0x7bff, 0x4000, 0, 0, 0x7c00},    /* overflow */
        {H("mul.f16"), 0x0001, 0x3800, 0, 0, 0},         /* half the smallest: a tie */
        {H("add.ftz.f16"), 0x0001, 0x0001, 0, 0, 0},
        {H("add.f16"), 0x7c00, 0xfc00, 0, 0, 0x7fff},
        {H("add.sat.f16"), 0x3c00, 0x3c00, 0, 0, 0x3c00},
        {H3("fma.rn.f16"), 0x3c01, 0x3c01, 0xbc02, 0, 0x0010 >> 0},
        {H3("fma.rn.relu.f16"), 0x3c00, 0xbc00, 0, 0, 0},
        {H3("fma.rn.bf16"), 0x3f80, 0x3f80, 0x3f80, 0, 0x4000},
        {H("min.f16"), 0x7e00, 0x3c00, 0, 0, 0x3c00},
        {H("max.NaN.bf16"), 0x7fc0, 0x3f80, 0, 0, 0x7fff},
        {H1("neg.bf16"), 0x3f80, 0, 0, 0, 0xbf80},
        {R32("add.f16x2"), 0x3c004000, 0x3c003c00, 0, 0, 0x40004200},
        {R32_3("fma.rn.bf16x2"), 0x3f803f80, 0x40003f80, 0x00003f80, 0, 0x40004000},
        {SETP("setp.gt.f16", "%h1, %h2"), 0x4000, 0x3c00, 0, 0, 1},
        {"setp.lt.f16x2 %p1|%p2, %r1, %r2; selp.b64 %rd9, 1, 0, %p1; @%p2 add.u64 %rd9, %rd9, 2;", 0x3c004000,
         0x40003c00, 0, 0, 2},
    };
    CHECK(v);
}

Test(emu_exec, conversions)
{
    static const ptx_case v[] = {
        {"mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0xc0200000, 0, 0, 0,
         0xfffffffe},
        {"mov.b32 %f1, %r1; cvt.rni.s32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x40200000, 0, 0, 0, 2},
        {"mov.b32 %f1, %r1; cvt.rpi.s32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x40200000, 0, 0, 0, 3},
        {"mov.b32 %f1, %r1; cvt.rmi.f32.f32 %f2, %f1; mov.b32 %r9, %f2; cvt.u64.u32 %rd9, %r9;", 0xbf000000,
         0, 0, 0, 0xbf800000},
        {"mov.b32 %f1, %r1; cvt.rzi.u32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0xbf800000, 0, 0, 0, 0},
        {"mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x7fc00000, 0, 0, 0, 0},
        {"mov.b32 %f1, %r1; cvt.rzi.s64.f32 %rd9, %f1;", 0x7fc00000, 0, 0, 0, UINT64_C(1) << 63},
        {"mov.b32 %f1, %r1; cvt.rzi.s32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x7f000000, 0, 0, 0,
         0x7fffffff},
        {"mov.b32 %f1, %r1; cvt.rzi.s8.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0xc3480000, 0, 0, 0,
         0xffffff80},
        {"cvt.rn.f32.s32 %f1, %r1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x01000001, 0, 0, 0,
         0x4b800000},
        {"cvt.rp.f32.u32 %f1, %r1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x01000001, 0, 0, 0,
         0x4b800001},
        {"cvt.rn.f32.u64 %f1, %rd1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", M64, 0, 0, 0, 0x5f800000},
        {"cvt.rn.f64.s64 %d1, %rd1; mov.b64 %rd9, %d1;", M64, 0, 0, 0, UINT64_C(0xbff0000000000000)},
        {"mov.b64 %d1, %rd1; cvt.rn.f32.f64 %f1, %d1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;",
         UINT64_C(0x3ff0000010000000), 0, 0, 0, 0x3f800000},
        {"mov.b64 %d1, %rd1; cvt.rz.f32.f64 %f1, %d1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;",
         UINT64_C(0x47efffffffffffff), 0, 0, 0, 0x7f7fffff},
        {"mov.b32 %f1, %r1; cvt.f64.f32 %d1, %f1; mov.b64 %rd9, %d1;", 1, 0, 0, 0,
         UINT64_C(0x36a0000000000000)},
        {"mov.b32 %f1, %r1; cvt.rn.f16.f32 %h9, %f1; cvt.u64.u16 %rd9, %h9;", 0x477ff000, 0, 0, 0, 0x7c00},
        {"mov.b32 %f1, %r1; cvt.rz.f16.f32 %h9, %f1; cvt.u64.u16 %rd9, %h9;", 0x477ff000, 0, 0, 0, 0x7bff},
        {"mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h9, %f1; cvt.u64.u16 %rd9, %h9;", 0x3f808000, 0, 0, 0, 0x3f80},
        {"mov.b32 %f1, %r1; cvt.rn.relu.f16.f32 %h9, %f1; cvt.u64.u16 %rd9, %h9;", 0xbf800000, 0, 0, 0, 0},
        {"mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.f16x2.f32 %r9, %f1, %f2; cvt.u64.u32 %rd9, %r9;",
         0x3f800000, 0x40000000, 0, 0, 0x3c004000},
        {"mov.b32 %f1, %r1; cvt.rna.tf32.f32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x3f801000, 0, 0, 0,
         0x3f802000},
        {"cvt.f32.f16 %f1, %h1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x0001, 0, 0, 0, 0x33800000},
        {"cvt.f32.bf16 %f1, %h1; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0x3f81, 0, 0, 0, 0x3f810000},
        {"cvt.s64.s32 %rd9, %r1;", 0x80000000, 0, 0, 0, UINT64_C(0xffffffff80000000)},
        {"cvt.s32.s8 %r9, %r1; cvt.u64.u32 %rd9, %r9;", 0x180, 0, 0, 0, 0xffffff80},
        {"cvt.sat.u8.s32 %r9, %r1; cvt.u64.u32 %rd9, %r9;", 0xffffffff, 0, 0, 0, 0},
        {"cvt.sat.s16.s32 %r9, %r1; cvt.u64.u32 %rd9, %r9;", 0x12345, 0, 0, 0, 0x7fff},
        {"cvt.sat.f32.f32 %f1, 0f40000000; mov.b32 %r9, %f1; cvt.u64.u32 %rd9, %r9;", 0, 0, 0, 0, 0x3f800000},
    };
    CHECK(v);
}

Test(emu_exec, lanes_that_see_each_other)
{
    static const struct {
        const char *body;
        int (*model)(int lane);
    } v[] = {{"shfl.sync.down.b32 %r9, %r1, 3, 31, -1; cvt.u64.u32 %rd9, %r9;", NULL}};
    (void)v;
    scratch *sc = scratch_new(0);
    uint64_t in[4][32], out[32];
    emu_report r;
    for (uint64_t l = 0; l < 32; l++)
        for (int k = 0; k < 4; k++)
            in[k][l] = l;
    ptx_lanes(
        "",
        "shfl.sync.down.b32 %r9|%p1, %r1, 3, 31, -1; cvt.u64.u32 %rd9, %r9; @!%p1 add.u64 %rd9, %rd9, 100;",
        in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++)
        cr_expect_eq(out[l], l + 3 < 32 ? l + 3 : l + 100);
    ptx_lanes(
        "",
        "shfl.sync.up.b32 %r9|%p1, %r1, 1, 6144, -1; cvt.u64.u32 %rd9, %r9; @!%p1 add.u64 %rd9, %rd9, 100;",
        in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++) /* segments of eight */
        cr_expect_eq(out[l], l % 8 ? l - 1 : l + 100, "lane %d: %d", (int)l, (int)out[l]);
    ptx_lanes("", "shfl.sync.bfly.b32 %r9, %r1, 5, 31, -1; cvt.u64.u32 %rd9, %r9;", in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++)
        cr_expect_eq(out[l], l ^ 5);
    ptx_lanes("", "setp.lt.u32 %p1, %r1, 7; vote.sync.ballot.b32 %r9, %p1, -1; cvt.u64.u32 %rd9, %r9;", in,
              out, &r, sc);
    cr_expect_eq(out[9], 0x7f);
    ptx_lanes("", "shr.u32 %r5, %r1, 3; match.any.sync.b32 %r9, %r5, -1; cvt.u64.u32 %rd9, %r9;", in, out, &r,
              sc);
    cr_expect_eq(out[9], 0xff00);
    ptx_lanes("", "redux.sync.add.s32 %r9, %r1, -1; cvt.u64.u32 %rd9, %r9;", in, out, &r, sc);
    cr_expect_eq(out[31], 496);
    /* lanes in two branches, each with its own mask, and together again */
    ptx_lanes(
        "",
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW; shfl.sync.idx.b32 %r5, %r1, 16, 31, 0xffff0000; bra JOIN;\n"
        "LOW: shfl.sync.idx.b32 %r5, %r1, 3, 31, 0x0000ffff;\nJOIN: redux.sync.add.u32 %r9, %r5, -1; "
        "cvt.u64.u32 %rd9, %r9;",
        in, out, &r, sc);
    cr_expect_eq(out[0], 16 * 16 + 16 * 3);
    cr_expect_eq(r.n_findings, 0);
    /* loops of different lengths meet after them */
    ptx_lanes("",
              "mov.u32 %r5, 0; mov.u32 %r6, 0;\nLOOP: setp.ge.u32 %p1, %r6, %r1; @%p1 bra DONE; add.u32 %r5, "
              "%r5, %r6;"
              "add.u32 %r6, %r6, 1; bra LOOP;\nDONE: activemask.b32 %r7; mov.b64 %rd9, {%r5, %r7};",
              in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++)
        cr_expect_eq(out[l], (l * (l - (l > 0)) / 2) | M32 << 32, "lane %d: %llx", (int)l,
                     (unsigned long long)out[l]);
    /* a lane waits in a loop for another of its warp */
    ptx_lanes(".shared .align 4 .u32 flag;",
              "setp.ne.u32 %p1, %r1, 5; @%p1 bra NOT; st.shared.u32 [flag], 0;\nNOT: bar.warp.sync -1; "
              "setp.eq.u32 %p1, %r1, 5;"
              "@%p1 bra SET;\nSPIN: ld.volatile.shared.u32 %r5, [flag]; setp.eq.u32 %p2, %r5, 0; @%p2 bra "
              "SPIN; bra JOIN;\n"
              "SET: st.volatile.shared.u32 [flag], 1;\nJOIN: bar.warp.sync -1; mov.u64 %rd9, 1;",
              in, out, &r, sc);
    cr_expect_eq(out[0], 1);
    cr_expect_eq(r.completed, true);
    scratch_free(sc);
}

Test(emu_exec, calls_and_tables)
{
    scratch *sc = scratch_new(0);
    uint64_t in[4][32] = {{0}}, out[32];
    emu_report r;
    for (uint64_t l = 0; l < 32; l++)
        in[0][l] = l;
    static const char *const functions =
        ".func (.param .b32 r) fib(.param .b32 n)\n{ .reg .b32 %a<6>; .reg .pred %q; ld.param.u32 %a1, [n];\n"
        "setp.gt.u32 %q, %a1, 1; @%q bra MORE; st.param.b32 [r], %a1; ret;\nMORE: sub.u32 %a2, %a1, 1;\n"
        "{ .param .b32 p0; st.param.b32 [p0], %a2; .param .b32 r0; call.uni (r0), fib, (p0); ld.param.b32 "
        "%a3, [r0]; }\n"
        "sub.u32 %a2, %a1, 2;\n{ .param .b32 p0; st.param.b32 [p0], %a2; .param .b32 r0; call.uni (r0), fib, "
        "(p0);\n"
        "ld.param.b32 %a4, [r0]; }\nadd.u32 %a5, %a3, %a4; st.param.b32 [r], %a5; ret; }\n"
        ".func (.param .b32 r) twice(.param .b32 n)\n{ .reg .b32 %a<3>; ld.param.u32 %a1, [n]; add.u32 %a2, "
        "%a1, %a1;\n"
        "st.param.b32 [r], %a2; ret; }\n"
        ".func (.param .b32 r) square(.param .b32 n)\n{ .reg .b32 %a<3>; ld.param.u32 %a1, [n]; mul.lo.u32 "
        "%a2, %a1, %a1;\n"
        "st.param.b32 [r], %a2; ret; }\n"
        ".global .align 8 .u64 table[2] = {twice, square};\n";
    ptx_lanes(
        functions,
        "and.b32 %r5, %r1, 7; { .param .b32 p0; st.param.b32 [p0], %r5; .param .b32 r0; call (r0), fib, (p0);"
        " ld.param.b32 %r9, [r0]; } cvt.u64.u32 %rd9, %r9;",
        in, out, &r, sc);
    static const uint64_t fib[8] = {0, 1, 1, 2, 3, 5, 8, 13};
    for (int l = 0; l < 32; l++)
        cr_expect_eq(out[l], fib[l & 7], "lane %d: %d", l, (int)out[l]);
    ptx_lanes(functions,
              "and.b32 %r5, %r1, 1; mov.u64 %rd10, table; mad.wide.u32 %rd10, %r5, 8, %rd10; ld.global.u64 "
              "%rd11, [%rd10];"
              "{ .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 r0; proto: .callprototype (.param .b32 "
              "_) _ (.param .b32 _);"
              " call (r0), %rd11, (p0), proto; ld.param.b32 %r9, [r0]; } cvt.u64.u32 %rd9, %r9;",
              in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++)
        cr_expect_eq(out[l], l & 1 ? l * l : 2 * l);
    ptx_lanes("",
              "and.b32 %r5, %r1, 3; ts: .branchtargets L0, L1, L2, L1; brx.idx %r5, ts;\nL0: mov.u64 %rd9, "
              "10; bra E;\n"
              "L1: mov.u64 %rd9, 11; bra E;\nL2: mov.u64 %rd9, 12;\nE: activemask.b32 %r6; mov.b64 {%r7, "
              "%r8}, %rd9;"
              "mov.b64 %rd9, {%r7, %r6};",
              in, out, &r, sc);
    for (uint64_t l = 0; l < 32; l++)
        cr_expect_eq(out[l], (l % 4 == 0 ? 10u : l % 4 == 2 ? 12u : 11u) | M32 << 32);
    scratch_free(sc);
}
