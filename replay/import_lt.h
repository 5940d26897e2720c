/* The pieces of a bundle's sources that follow from one library call, whatever its descriptors: buffers,
 * slots, the recorded call, inputs, and the reference program. Policy given. */
#ifndef REPLAY_IMPORT_LT_H
#define REPLAY_IMPORT_LT_H

#include "plan/resolve.h"
#include "replay/import_json.h"

/* A call and the buffer of each operand: NULL where there is none; several may share one. C has D's where it
 * is D itself. Names are those of the reference's values as well. */
typedef struct {
    const lt_call *call;
    const char *id[LT_OPERANDS];
    const char *result; /* of the reference, of D's bytes */
} import_call;

/* NULL, or why no reference program can be written for the call. */
const char *import_lt_obstacle(const lt_call *c);
dtype import_lt_type(const lt_call *c, int which);

/* Shape of an operand's buffer: [batch, major, minor] where the matrices lie dense, one behind the other,
 * else all elements that it reaches in one row. */
typedef struct {
    uint64_t rank, n[3];
} import_shape;
import_shape import_lt_shape(const lt_call *c, int which);

/* The element of plan.buffers, owned by the caller. */
void import_lt_buffer(jw *j, const import_call *c, int which, bool writable);
/* The operand's slot, its layout the matrix as the call reads it; `tie` a port or NULL. */
void import_lt_slot(jw *j, const char *key, const char *port, const import_call *c, int which,
                    const char *tie);
/* {value, buffer, layout}: D as the reference computes it, its major extent first. */
void import_lt_output(jw *j, const import_call *c);
/* An element of "calls", as plan/resolved_calls.json has it; or with `trace`, the line that logged it or "",
 * as a capture has it, without buffers. */
void import_lt_record(jw *j, const import_call *c, uint64_t node, const char *trace);
/* {name, dtype, shape}, and with `values` a generator of small integers whose sums stay exact. */
void import_lt_tensor(jw *j, const import_call *c, int which, bool values);
/* The reference's nodes, named after the result; the last is `result`. */
void import_lt_program(jw *j, const import_call *c);
/* The element of "tolerances": 0 but after GELU, whose value the library approximates. */
void import_lt_tolerance(jw *j, const import_call *c);
bool import_lt_exact(const lt_call *c);

#endif
