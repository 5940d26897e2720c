/* What XLA dumps of one module with --xla_dump_to: the scheduled module, the buffer assignment, the live
 * ranges and the thunk sequence. */
#ifndef REPLAY_IMPORT_XLA_H
#define REPLAY_IMPORT_XLA_H

#include "artifacts/base/json.h"
#include "artifacts/base/lt.h"
#include "plan/plan.h"
#include "replay/import_json.h"

enum { XLA_MAX = 4096, XLA_OPERANDS = 24, XLA_RANK = 6 };

/* An array's type, "f16[1024,768]{1,0}". Not known: another element type, more axes, or a tuple. */
typedef struct {
    bool known, tuple;
    dtype type;
    uint64_t rank, shape[XLA_RANK];
    uint64_t minor_to_major[XLA_RANK];
} xla_type;

typedef enum {
    XLA_PARAMETER,
    XLA_CONSTANT,
    XLA_LIVE_OUT,
    XLA_TEMPORARY,
    XLA_THREAD_LOCAL,
    XLA_OTHER
} xla_kind;
extern const char *const xla_kind_names[];

typedef struct {
    uint64_t bytes;
    xla_kind kind;
} xla_allocation;

/* A value of the buffer assignment: "custom-call.2{0}", with its place and its life in the schedule. */
typedef struct {
    const char *name;
    uint64_t allocation, offset, bytes, from, to;
    bool has_life;
    xla_type type;
} xla_value;

typedef struct {
    const char *name, *opcode;
    xla_type type; /* of an array, or of the first element of a tuple */
    size_t n_operands;
    const char *operands[XLA_OPERANDS]; /* names, without "#0" */
    int elements[XLA_OPERANDS];         /* the 0 of "#0", or -1 */
    int index;                          /* of get-tuple-element */
    bool root, has_position;
    uint64_t position;  /* in the schedule */
    const char *target; /* of a custom call, or "" */
    js_node *gemm;      /* gemm_backend_config of a library call, or NULL */
} xla_instruction;

typedef struct {
    const char *kind, *name, *launch; /* launch: "grid: […] threads: […] …", or "" */
} xla_thunk;

typedef struct {
    const char *name; /* module_4634.jit_mlp */
    xla_allocation *allocations;
    xla_value *values;
    xla_instruction *instructions; /* of the entry, as scheduled */
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
bool xla_is_call(const xla_instruction *i); /* a __cublas$lt$matmul of any kind */

/* The value that an operand is, through bitcasts and tuples, and its type as the instruction sees it; NULL
 * where it cannot be told. */
const xla_value *xla_operand(const xla_module *m, const xla_instruction *i, size_t k, xla_type *seen);
/* The value of the instruction itself, or of element k of its tuple. */
const xla_value *xla_result(const xla_module *m, const xla_instruction *i, int k, xla_type *seen);

/* Why there are no sources where the allocations pass 2^53 bytes together. */
extern const char xla_too_large[];

/* Strides in elements of a dense type. */
void xla_strides(const xla_type *t, uint64_t strides[XLA_RANK]);
/* Member `layout`. */
void xla_layout(jw *j, const xla_type *t);
/* A name as a plan has it: other characters become '_', and it has at most 64. */
const char *xla_id(scratch *sc, const char *name);

/* A library call as XLA sets it: a result in row order is made column-major by exchanging the operands. */
typedef struct {
    const xla_instruction *from;
    lt_call call;
    const xla_value *a, *b, *c, *d, *bias, *workspace; /* c, bias and workspace may be NULL */
    xla_type ta, tb, tc, td, tbias;
} xla_call;
/* The descriptors of that call. NULL, or why it cannot be said. */
const char *xla_call_of(xla_call *out, const xla_module *m, const xla_instruction *i);
/* What is wrong with the documents held, by the checks of a plan and of its arena: NULL, or the first
 * finding. */
RP_MUST rp_code xla_check(rp_err *e, const char **fault, const import_writer *w);

/* The sources of a bundle, into `dir`: of the library calls alone, which can run; of the whole module, whose
 * other kernels are omitted. *why says why there is none: nothing was written then. */
RP_MUST rp_code xla_write_calls(rp_err *e, const char **why, scratch *sc, const char *dir,
                                const xla_module *m);
RP_MUST rp_code xla_write_plan(rp_err *e, const char **why, scratch *sc, const char *dir,
                               const xla_module *m);

int import_xla_dump(const char *dir, const char *out, bool json);

#endif
