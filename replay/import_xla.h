/* What XLA dumps of one module with --xla_dump_to: the scheduled module, the buffer assignment, the live
 * ranges and the thunk sequence. */
#ifndef REPLAY_IMPORT_XLA_H
#define REPLAY_IMPORT_XLA_H

#include "replay/import_json.h"

enum { XLA_MAX = 4096, XLA_OPERANDS = 8 };

typedef struct {
    uint64_t bytes;
    bool parameter, live_out, temp;
} xla_allocation;

/* A value of the buffer assignment: "custom-call.2{0}", with its place and its life in the schedule. */
typedef struct {
    const char *name;
    uint64_t allocation, offset, bytes, from, to;
    bool has_life;
} xla_value;

typedef struct {
    const char *name, *opcode;
    bool has_type, row_major; /* of an array or of the first element of a tuple */
    dtype type;
    uint64_t rank, shape[4];
    size_t n_operands;
    const char *operands[XLA_OPERANDS]; /* names, without "#0" */
    bool cublaslt, plain;               /* plain: epilogue DEFAULT, alpha 1, beta 0, no batch */
    int lhs_contracting, rhs_contracting;
} xla_instruction;

typedef struct {
    const char *kind, *name, *launch; /* launch: "grid: […] threads: […] …", or "" */
} xla_thunk;

typedef struct {
    const char *name; /* module_4634.jit_mlp */
    xla_allocation *allocations;
    xla_value *values;
    xla_instruction *instructions;
    xla_thunk *thunks;
    size_t n_allocations, n_values, n_instructions, n_thunks;
} xla_module;

/* Read module `name` of `dir` whose other files begin with `stem`; lent by sc. A file that cannot be
 * understood: RP_IO, with its line. */
RP_MUST rp_code xla_read(rp_err *e, xla_module *out, scratch *sc, const char *dir, const char *name,
                         const char *stem);
const xla_value *xla_value_of(const xla_module *m, const char *name,
                              const char *index); /* index "{0}", or "" and "{}" alike */
const xla_instruction *xla_instruction_of(const xla_module *m, const char *name);
/* Values that lie outside their allocation, or share bytes while both live: said to stderr; how many. */
size_t xla_faults(const xla_module *m, scratch *sc);
/* Why no plan can be made of the module's library calls; NULL when one can. */
const char *xla_obstacle(const xla_module *m);
/* The sources of a bundle of its library calls. */
RP_MUST rp_code xla_write_plan(rp_err *e, scratch *sc, const char *dir, const xla_module *m);

int import_xla_dump(const char *dir, const char *out, bool json);

#endif
