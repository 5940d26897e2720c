#include "replay/disasm.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>
#include <stdlib.h>

/* In the format of cuobjdump -sass, synthetic. */
static const char dump[] = "\n"
                           "Fatbin elf code:\n"
                           "================\n"
                           "arch = sm_90\n"
                           "\n"
                           "\tcode for sm_90\n"
                           "\t\tFunction : gemm_kernel\n"
                           "\t.headerflags\t@\"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90\"\n"
                           "        /*0000*/                   LDC R1, c[0x0][0x28] ;                        "
                           "      /* 0x00000a00ff017b82 */\n"
                           "                                                                                 "
                           "/* 0x000fe20000000800 */\n"
                           "        /*0010*/              @P0  BRA `(.L_x_1) ;                               "
                           "      /* 0x0000000000c80947 */\n"
                           "                                                                                 "
                           "/* 0x000fea0003800000 */\n"
                           "        /*0020*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], RZ, !UPT "
                           ";      /* 0x00e00000041879f0 */\n"
                           "                                                                                 "
                           "/* 0x000fe4000c0008ff */\n"
                           "        /*0030*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0 "
                           ";     /* 0x00e00000081879f0 */\n"
                           "                                                                                 "
                           "/* 0x000fe40008000818 */\n"
                           "        /*0040*/             @!P1  LDC R2, c[0x0][0x210] ;                       "
                           "      /* 0x00008400ff027b82 */\n"
                           "                                                                                 "
                           "/* 0x000fe20000000800 */\n"
                           "        /*10000*/                  EXIT ;                                        "
                           "      /* 0x000000000000794d */\n"
                           "                                                                                 "
                           "/* 0x000fea0003800000 */\n"
                           "\t\t..........\n"
                           "\n"
                           "\t\tFunction : k\n"
                           "        /*0000*/                   EXIT ;                                        "
                           "      /* 0x000000000000794d */\n"
                           "                                                                                 "
                           "/* 0x000fea0003800000 */\n"
                           "\t\tFunction : empty\n";

static js_node *count(scratch *sc, const char *text, const char **matrix)
{
    rp_err e = {0};
    js_node *root;
    span s;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    disasm_count(j, matrix, sc, text, "gemm_kernel,k");
    jw_end(j);
    cr_assert(!jw_finish(&e, &s, j) && !js_parse(&e, &root, sc, "counts", s), "%s", e.msg);
    jw_free(j);
    return rig_at(root, "functions");
}

static uint64_t of(js_node *function, const char *mnemonic)
{
    js_node *a = rig_at(function, "mnemonics");
    for (size_t i = 0; i < js_len(a); i++)
        if (!strcmp(rig_text(js_at(a, i), "mnemonic"), mnemonic))
            return rig_number(js_at(a, i), "count");
    return 0;
}

Test(disasm, cuobjdump)
{
    scratch *sc = scratch_new(0);
    const char *matrix;
    js_node *f = count(sc, dump, &matrix);
    cr_assert_eq(js_len(f), 2, "a function without instructions is none");
    cr_assert_str_eq(rig_text(f, "0/name"), "gemm_kernel");
    cr_assert_eq(rig_number(f, "0/instructions"), 6,
                 "encodings alone are not counted, addresses above 64 KiB are");
    cr_assert_eq(of(js_at(f, 0), "LDC"), 2, "predicates are not mnemonics");
    cr_assert_eq(of(js_at(f, 0), "BRA"), 1);
    cr_assert_eq(of(js_at(f, 0), "EXIT"), 1);
    cr_assert_eq(of(js_at(f, 0), "HGMMA.64x64x16.F32"), 2);
    cr_assert_str_eq(rig_text(f, "0/mnemonics/0/mnemonic"), "BRA", "sorted by name");
    cr_assert_str_eq(rig_text(f, "1/name"), "k");
    cr_assert_eq(rig_number(f, "1/instructions"), 1);
    cr_assert_str_eq(matrix, "HGMMA.64x64x16.F32 x2");
    scratch_free(sc);
}

Test(disasm, nvdisasm)
{
    static const char text[] =
        ".text.k:\n"
        "        /*0000*/                   IMMA.16816.S8.S8 R0, R2.ROW, R4.COL, R6 ;\n"
        "        /*0010*/                   HMMA.16816.F32 R0, R2, R4, R6 ;\n"
        ".L_x_0:\n"
        "        /*0020*/                   NOP;\n";
    scratch *sc = scratch_new(0);
    const char *matrix;
    js_node *f = count(sc, text, &matrix);
    cr_assert_eq(js_len(f), 1);
    cr_assert_str_eq(rig_text(f, "0/name"), "k");
    cr_assert_eq(of(js_at(f, 0), "NOP"), 1);
    cr_assert_str_eq(matrix, "HMMA.16816.F32 x1, IMMA.16816.S8.S8 x1");
    scratch_free(sc);
}

/* Kernels of a library's cubin that were not launched are summed up, and vouch for nothing. */
Test(disasm, launched_alone)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    js_node *root;
    span s;
    const char *matrix;
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    disasm_count(j, &matrix, sc,
                 ".text.k:\n"
                 "        /*0000*/                   HFMA2.MMA R0, R2, R4, R6 ;\n"
                 ".text.kk:\n"
                 "        /*0000*/                   HMMA.1688.F32.TF32 R0, R2, R4, R6 ;\n"
                 "        /*0010*/                   EXIT ;\n",
                 "gemm,k");
    jw_end(j);
    cr_assert(!jw_finish(&e, &s, j) && !js_parse(&e, &root, sc, "counts", s), "%s", e.msg);
    cr_expect_eq(js_len(rig_at(root, "functions")), 1);
    cr_expect_eq(rig_number(root, "other_functions"), 1);
    cr_expect_eq(rig_number(root, "other_instructions"), 2);
    cr_expect_str_eq(matrix, "", "neither another kernel's, nor HFMA2.MMA");
    jw_free(j);
    scratch_free(sc);
}

Test(disasm, nothing_to_count)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "cuobjdump info    : File contains no sass\n",
                                        "        /*0000*/",
                                        "        /*0000*/   @P0",
                                        "/*",
                                        "/*00"};
    scratch *sc = scratch_new(0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *matrix;
        cr_assert_eq(js_len(count(sc, texts[i], &matrix)), 0, "%s", texts[i]);
        cr_assert_str_eq(matrix, "");
    }
    scratch_free(sc);
}

/* A stand-in for the tool in CUDA_HOME is found first, gets the cubin, and its failure is not ours. */
Test(disasm, tool)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    const char *dir = t_dir(sc), *matrix;
    t_write(sc, dir, "sass", span_str(dump));
    t_write(sc, dir, "bin/cuobjdump",
            span_str(scratch_printf(sc,
                                    "#!/bin/sh\n[ \"$1\" = -sass ] && grep -q 'a cubin' \"$2\" || { echo no "
                                    "cubin >&2; exit 3; }\ncat '%s/sass'\n",
                                    dir)));
    cr_assert_eq(t_shell(dir, "chmod +x bin/cuobjdump"), 0);
    setenv("CUDA_HOME", dir, 1);
    const char *tool = disasm_find(sc);
    cr_assert(tool && !strncmp(tool, dir, strlen(dir)), "%s", tool ? tool : "none");
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    cr_assert(!disasm_cubin(&e, j, &matrix, sc, tool, span_str("a cubin"), "gemm_kernel"), "%s", e.msg);
    cr_assert_str_eq(matrix, "HGMMA.64x64x16.F32 x2");
    jw_free(j);
    j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    cr_assert_eq(disasm_cubin(&e, j, &matrix, sc, tool, span_str("something else"), ""), RP_UNAVAILABLE);
    cr_assert_str_eq(e.msg, "cuobjdump failed: no cubin");
    jw_free(j);
    t_remove(dir);
    scratch_free(sc);
}
