/* What the parts of the parser share. */
#ifndef EMU_PARSE_H
#define EMU_PARSE_H

#include "gpu/emu/lex.h"
#include "gpu/emu/module.h"

enum { MAX_PARTS = 16, MAX_OPERANDS = 8, MAX_ELEMENTS = 8, MAX_REGISTERS = 1 << 16, MAX_INSNS = 1 << 20 };

typedef enum { SYM_REG, SYM_REGS, SYM_VAR, SYM_FUNC, SYM_LABEL, SYM_TABLE, SYM_PROTO } sym_kind;

typedef struct symbol {
    struct symbol *next; /* in its bucket */
    span name;
    uint32_t scope;
    sym_kind kind;
    ptx_type type;
    ptx_space space;
    int32_t slot;     /* register */
    uint32_t count;   /* of SYM_REGS */
    uint64_t address; /* variable: offset in its space or address; function or table: index; label: pc */
    uint64_t bytes;
    bool dynamic; /* an unsized shared array: all begin at DYNAMIC_SHARED */
} symbol;

typedef enum {
    O_NONE,
    O_REG,
    O_PRED,
    O_IMM,
    O_FLOAT,
    O_SYM,
    O_SPECIAL,
    O_ADDRESS,
    O_VECTOR,
    O_NAME,
    O_SINK,
    O_LIST
} op_kind;

typedef struct operand {
    op_kind kind;
    bool negated; /* !p, or -%r never */
    bool base_sym, base_reg;
    ptx_type type; /* of a register */
    int32_t slot;
    int32_t pair_pred; /* the q of p|q: its slot, -1 when absent, 0 for _ */
    uint64_t bits;     /* immediate; special register number */
    double value;
    uint8_t width; /* of a float literal */
    int64_t offset;
    const symbol *sym;
    span name;
    uint32_t n;
    struct operand *elements;
    uint32_t line, column;
} operand;

typedef struct {
    span part[MAX_PARTS]; /* opcode and its dotted words */
    bool used[MAX_PARTS];
    uint32_t n_parts;
    operand op[MAX_OPERANDS];
    uint32_t n_ops;
    uint32_t guard;
    bool guard_not;
    uint32_t line, column;
} raw_insn;

typedef struct {
    uint32_t insn; /* or table and element */
    bool table;
    uint32_t element;
    span name;
    uint32_t scope, line, column;
} fixup;

typedef struct {
    rp_err *e;
    scratch *sc;
    lexer lx;
    ptx_module *m;
    uint64_t globals_address, globals_next;
    symbol **buckets;
    uint32_t n_symbols;
    uint32_t *scope_parent;
    uint32_t n_scopes, cap_scopes, scope;
    /* growing arrays of the module */
    uint32_t cap_funcs, cap_globals, cap_shared, cap_consts, cap_vecs, cap_tables, cap_sites, cap_names,
        cap_files, cap_locs;
    uint64_t *const_values;
    uint32_t const_at[256]; /* recently added constants by hash, +1 */
    uint32_t name_at[1024]; /* the same for mnemonics */
    /* the function at hand */
    ptx_func *f;
    uint32_t func_index, cap_code, cap_fixups, n_fixups, cap_calls;
    fixup *fixups;
    uint32_t loc;
    uint64_t total_insns;
} parser;

/* Make room for one more element; false (and an error) without memory. */
bool grow(parser *p, void *array_ptr, uint32_t n, uint32_t *cap, size_t size);
char *span_dup(parser *p, span s);

/* parse_symbols.c */
rp_code scope_push(parser *p);
void scope_pop(parser *p);
/* The symbol of that name in this very scope, or NULL. */
symbol *symbol_here(const parser *p, span name);
/* In this scope or one around it; a numbered register (%r<8>) comes into being when first named. NULL: not
 * there. */
symbol *symbol_find(parser *p, span name);
symbol *symbol_find_from(parser *p, uint32_t scope, span name);
/* NULL (and an error) when the name is taken there or memory is out. */
symbol *symbol_add(parser *p, span name, sym_kind kind);
int32_t new_reg(parser *p);
int32_t new_pred(parser *p);
/* Index of a constant as operand: ~index. */
int32_t const_operand(parser *p, uint64_t value);

/* parse_vars.c: the current token is the state space (.global …). */
rp_code parse_variable(parser *p, bool is_extern);
/* .reg: the current token is what follows it. */
rp_code parse_registers(parser *p);
/* One parameter declaration after ".param" or ".reg" of a function's list, or of an entry (entry_params). */
typedef struct {
    span name;
    ptx_type type;
    uint64_t bytes, align;
    bool reg, pointer;
} param_decl;
rp_code parse_param(parser *p, param_decl *out);

/* parse_body.c: from after the '{' to behind the '}'. */
rp_code parse_body(parser *p);

/* decode.c: one instruction as written becomes insns at the end of p->f. Refusals are noted in p->f->info. */
rp_code decode(parser *p, raw_insn *r);
/* A new instruction at the end of the function, with guard, line and name from r. */
insn *emit(parser *p, const raw_insn *r);
/* Note that the function cannot run: what names the instruction or part as written. */
rp_code refuse(parser *p, const raw_insn *r);
rp_code insn_error(parser *p, const raw_insn *r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Take a dotted word if it is there and not yet taken. */
bool take(raw_insn *r, const char *word);
ptx_type take_type(raw_insn *r);
bool all_taken(const raw_insn *r);
uint8_t take_rounding(raw_insn *r);
/* Operand k as a source of this type: a slot or constant. `loose`: a wider register may stand there. */
rp_code source(parser *p, raw_insn *r, uint32_t k, ptx_type t, bool loose, int32_t *out);
rp_code source_of(parser *p, raw_insn *r, const operand *o, ptx_type t, bool loose, int32_t *out);
rp_code pred_source(parser *p, raw_insn *r, uint32_t k, int32_t *slot, bool *negated);
/* Operand k as destination register of this type; bits_out: its declared width. */
rp_code dest(parser *p, raw_insn *r, uint32_t k, ptx_type t, bool loose, int32_t *out, uint8_t *bits_out);
rp_code dest_of(parser *p, raw_insn *r, const operand *o, ptx_type t, bool loose, int32_t *out,
                uint8_t *bits_out);
rp_code want_ops(parser *p, raw_insn *r, uint32_t lo, uint32_t hi);

/* decode_alu.c, decode_mem.c, decode_ctl.c: *known is false when the opcode is not theirs. */
rp_code decode_alu(parser *p, raw_insn *r, bool *known);
rp_code decode_mem(parser *p, raw_insn *r, bool *known);
rp_code decode_ctl(parser *p, raw_insn *r, bool *known);
rp_code decode_mov(parser *p, raw_insn *r);
/* Base slot and offset of an address operand; space may become more definite. */
rp_code address_of(parser *p, raw_insn *r, const operand *o, ptx_space *space, int32_t *base,
                   int64_t *offset);

/* special.c: number of a special register with its component ("%tid", "x"), -1 when there is none such. */
int special_named(span name, span component);
unsigned special_bits(int number);

/* cas_loop.c */
void mark_cas_guesses(ptx_func *f);

/* contract.c: find (and, asked, fuse) mul and add pairs. Returns how many there are. */
uint32_t contract_pairs(const ptx_func *f, insn *code);

#endif
