/* Instruction counts of cubins, where a disassembler is present: cuobjdump or nvdisasm in $CUDA_HOME/bin,
 * /usr/local/cuda/bin or the PATH. */
#ifndef REPLAY_DISASM_H
#define REPLAY_DISASM_H

#include "artifacts/base/err.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

/* Path of the disassembler, or NULL when there is none. */
const char *disasm_find(scratch *sc);
/* Disassemble one cubin (written to a temporary file for the tool) and write the members {tool, functions:
 * [{name, instructions, mnemonics: [{mnemonic, count}]}], other_functions, other_instructions} into the open
 * object. A library's cubin can hold hundreds of kernels: only those that `launched` names (comma separated)
 * are counted one by one, and only theirs are the matrix instructions named in *matrix ("HGMMA.64x64x16.F32
 * x16"; "" when none). HFMA2.MMA is no matrix instruction in spite of its name. */
RP_MUST rp_code disasm_cubin(rp_err *e, jw *j, const char **matrix, scratch *sc, const char *tool, span cubin,
                             const char *launched);
/* Counting alone, on the tool's text: exposed for tests. */
void disasm_count(jw *j, const char **matrix, scratch *sc, const char *text, const char *launched);

#endif
