/* Lane functions. The pickers return NULL where the combination of opcode, type and modifiers does not exist;
 * the caller has set type, stype, flags, rnd and mask of the instruction. */
#ifndef EMU_ALU_H
#define EMU_ALU_H

#include "gpu/emu/module.h"

/* alu_int.c: "add", "mul.lo", "mul.hi", "mul.wide", "mad.lo" … "shf.l", "bfind.shiftamt" and so on. */
alu_fn *alu_int(const char *op, ptx_type t);
/* alu_cmp.c: comparison by name ("eq", "ltu" …) for the type, ftz taken from flags. */
alu_fn *alu_compare(const char *cmp, ptx_type t, bool *integer_ok);
alu_fn *alu_testp(const char *what, ptx_type t);
/* alu_f32.c, alu_f64.c, alu_half.c */
alu_fn *alu_f32(const char *op, const insn *i);
alu_fn *alu_f64(const char *op, const insn *i);
alu_fn *alu_half(const char *op, const insn *i);
/* alu_math.c: the approximations of f32 (and ex2, tanh of halves): rcp rsqrt sqrt sin cos lg2 ex2 tanh div.
 */
alu_fn *alu_math(const char *op, const insn *i);
/* alu_cvt.c */
alu_fn *alu_cvt(const insn *i);

#endif
