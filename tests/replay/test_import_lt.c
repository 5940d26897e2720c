/* Logged calls of every kind as bundles: what a line says is written, packed, verified with its fixture made,
 * and replayed on the emulator, where the reference program and the call's own arithmetic must agree. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "replay/import.h"
#include "tests/support.h"
#include <criterion/criterion.h>

/* A line of the library: descriptors, and what lies behind them. Parts that are NULL take the plain ones: D
 * [8, 6] = A^T B of F16 with k 16. */
typedef struct {
    const char *name, *a, *b, *c, *d, *compute, *tail;
    const char *obstacle; /* why there is no bundle; NULL when there is one */
} logged;

static const char *line_of(scratch *sc, const logged *l)
{
#define OR(x, other) (l->x ? l->x : (other))
    return scratch_printf(
        sc,
        "[2026-01-01 00:00:00][cublasLt][1][Trace][cublasLtMatmul] A=0X100000 Adesc=[%s] B=0X200000 "
        "Bdesc=[%s] "
        "C=0X300000 Cdesc=[%s] D=0X300000 Ddesc=[%s] computeDesc=[%s] algo=[algoId=66] workSpace=0X400000 "
        "workSpaceSizeInBytes=65536 %s stream=0X0",
        OR(a, "type=R_16F rows=16 cols=8 ld=16"), OR(b, "type=R_16F rows=16 cols=6 ld=16"),
        OR(c, OR(d, "type=R_16F rows=8 cols=6 ld=8")), OR(d, "type=R_16F rows=8 cols=6 ld=8"),
        OR(compute, "computeType=COMPUTE_32F scaleType=R_32F transa=OP_T"), OR(tail, "beta=0 outOfPlace=0"));
#undef OR
}

#define F32 "computeType=COMPUTE_32F scaleType=R_32F "
static const logged lines[] = {
    {.name = "plain"},
    {.name = "no transposition", .a = "type=R_16F rows=8 cols=16 ld=8", .compute = F32},
    {.name = "both transposed",
     .b = "type=R_16F rows=6 cols=16 ld=6",
     .compute = F32 "transa=OP_T transb=OP_T"},
    {.name = "row order",
     .a = "type=R_16F order=ORDER_ROW rows=8 cols=16 ld=16",
     .b = "type=R_16F order=ORDER_ROW rows=6 cols=16 ld=16",
     .d = "type=R_32F order=ORDER_ROW rows=8 cols=6 ld=6",
     .compute = F32 "transb=OP_T"},
    {.name = "row operands, column result",
     .a = "type=R_16F order=ORDER_ROW rows=16 cols=8 ld=8",
     .d = "type=R_16F rows=8 cols=6 ld=8",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_BIAS biasPointer=0x500000"},
    {.name = "pitches",
     .a = "type=R_16F rows=16 cols=8 ld=24",
     .b = "type=R_16F rows=16 cols=6 ld=160",
     .d = "type=R_16F rows=8 cols=6 ld=16"},
    {.name = "batch",
     .a = "type=R_16F rows=16 cols=8 ld=16 batchCount=3 stridedBatchOffset=128",
     .b = "type=R_16F rows=16 cols=6 ld=16 batchCount=3 stridedBatchOffset=96",
     .d = "type=R_16F rows=8 cols=6 ld=8 batchCount=3 stridedBatchOffset=48"},
    {.name = "batch with one B, gaps, and a bias",
     .a = "type=R_16F rows=16 cols=8 ld=16 batchCount=3 stridedBatchOffset=256",
     .b = "type=R_16F rows=16 cols=6 ld=16 batchCount=3 stridedBatchOffset=0",
     .d = "type=R_16F rows=8 cols=6 ld=8 batchCount=3 stridedBatchOffset=64",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_RELU_BIAS biasPointer=0x500000"},
    {.name = "heads side by side",
     .a = "type=R_16F rows=16 cols=8 ld=48 batchCount=3 stridedBatchOffset=16",
     .b = "type=R_16F rows=16 cols=6 ld=48 batchCount=3 stridedBatchOffset=16",
     .d = "type=R_16F rows=8 cols=6 ld=8 batchCount=3 stridedBatchOffset=48"},
    {.name = "gelu and a bias",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_GELU_BIAS biasPointer=0x500000"},
    {.name = "gelu",
     .d = "type=R_32F rows=8 cols=6 ld=8",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_GELU"},
    {.name = "accumulated in place", .tail = "beta=? outOfPlace=0"},
    {.name = "accumulated from elsewhere", .tail = "beta=1 outOfPlace=1"},
    {.name = "C elsewhere, not read", .tail = "beta=0 outOfPlace=1"},
    {.name = "bf16 to f32",
     .a = "type=R_16BF rows=16 cols=8 ld=16",
     .b = "type=R_16BF rows=16 cols=6 ld=16",
     .d = "type=R_32F rows=8 cols=6 ld=8"},
    {.name = "f64",
     .a = "type=R_64F rows=16 cols=8 ld=16",
     .b = "type=R_64F rows=16 cols=6 ld=16",
     .d = "type=R_64F rows=8 cols=6 ld=8",
     .compute = "computeType=COMPUTE_64F scaleType=R_64F transa=OP_T"},
    {.name = "i8",
     .a = "type=R_8I rows=16 cols=8 ld=16",
     .b = "type=R_8I rows=16 cols=8 ld=16",
     .d = "type=R_32I rows=8 cols=8 ld=8",
     .compute = "computeType=COMPUTE_32I scaleType=R_32I transa=OP_T"},
    {.name = "fp8 with scales",
     .a = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .b = "type=R_8F_E5M2 rows=32 cols=16 ld=32",
     .d = "type=R_16BF rows=16 cols=16 ld=16",
     .compute = F32 "transa=OP_T aScalePointer=0x600000 bScalePointer=0x600000"},
    {.name = "fp8 of A scaled alone",
     .a = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .b = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .d = "type=R_16F rows=16 cols=16 ld=16",
     .compute = F32 "transa=OP_T aScalePointer=0x600000"},
    {.name = "fp8 result beside a wider C that is not read",
     .a = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .b = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .c = "type=R_16F rows=16 cols=16 ld=16",
     .d = "type=R_8F_E4M3 rows=16 cols=16 ld=16",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_BIAS biasPointer=0x500000"},
    {.name = "fp8 result with a scale",
     .a = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .b = "type=R_8F_E4M3 rows=32 cols=16 ld=32",
     .c = "type=R_16BF rows=16 cols=16 ld=16",
     .d = "type=R_8F_E4M3 rows=16 cols=16 ld=16",
     .compute = F32 "transa=OP_T dScalePointer=0x600000",
     .obstacle = "a scale of C or D, or the largest absolute value of D"},
    {.name = "conjugate", .compute = F32 "transa=OP_C", .obstacle = "a conjugate transpose"},
    {.name = "beta",
     .tail = "beta=0.5 outOfPlace=0",
     .obstacle = "alpha other than 1, or beta other than 0 and 1"},
    {.name = "auxiliary",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_GELU_AUX",
     .obstacle = "an epilogue with an auxiliary matrix or a gradient"},
    {.name = "extents apart",
     .b = "type=R_16F rows=17 cols=6 ld=17",
     .obstacle = "rows, columns and batches that do not fit each other"},
    {.name = "batches apart",
     .a = "type=R_16F rows=16 cols=8 ld=16 batchCount=2 stridedBatchOffset=128",
     .obstacle = "rows, columns and batches that do not fit each other"},
    {.name = "results side by side",
     .a = "type=R_16F rows=16 cols=8 ld=16 batchCount=2 stridedBatchOffset=128",
     .b = "type=R_16F rows=16 cols=6 ld=16 batchCount=2 stridedBatchOffset=96",
     .d = "type=R_16F rows=8 cols=6 ld=16 batchCount=2 stridedBatchOffset=8",
     .obstacle = "matrices of d that interleave"},
    {.name = "bias of another type",
     .compute = F32 "transa=OP_T epilogue=EPILOGUE_BIAS biasPointer=0x500000 biasDataType=R_32F",
     .obstacle = "a rule refuses the call: its verdict says which"},
    {.name = "larger than a fixture",
     .a = "type=R_16F rows=16 cols=8 ld=67108864",
     .obstacle = "an operand of more than 2^28 elements: no fixture holds it"},
};

/* The program itself, beside the folder of this one. */
static int replay(scratch *sc, const char *dir, const char *words)
{
    const char *self = proc_self_dir(sc);
    cr_assert_not_null(self);
    return t_shell(dir, scratch_printf(sc, "%s/../replay %s", self, words));
}

static void through(scratch *sc, const logged *l, const lt_trace *t, const char *dir)
{
    static const char *const steps[] = {"pack s -o b.tar.zst >log 2>&1", "verify b.tar.zst >log 2>&1",
                                        "resolve b.tar.zst --cpu-only >log 2>&1",
                                        "run b.tar.zst --phases 1 --device emu --out e >log 2>&1"};
    rp_err e = {0};
    cr_assert_eq(import_call_write(&e, sc, file_join(sc, dir, "s"), "call-000", "x.log", 1,
                                   lt_trace_text(sc, line_of(sc, l)), t),
                 RP_OK, "%s: %s", l->name, e.msg);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int code = replay(sc, dir, steps[i]);
        span log = t_slurp(sc, file_join(sc, dir, "log"));
        cr_expect_eq(code, EXIT_PASSED, "%s: %s: exit %d\n%.*s", l->name, steps[i], code, (int)log.n, log.p);
    }
}

Test(import_lt, every_kind)
{
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *dir = t_dir(sc);
        rp_err e = {0};
        lt_trace t;
        cr_assert_eq(lt_trace_read(&e, &t, "x.log", line_of(sc, &lines[i])), RP_OK, "%s: %s: %s",
                     lines[i].name, e.where, e.msg);
        const char *why = import_call_obstacle(&t);
        cr_expect(!why == !lines[i].obstacle && (!why || !strcmp(why, lines[i].obstacle)), "%s: %s",
                  lines[i].name, why ? why : "no obstacle");
        if (!why)
            through(sc, &lines[i], &t, dir);
        t_remove(dir);
    }
    scratch_free(sc);
}
