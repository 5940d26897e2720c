/* Renderer luminal-text/1: the two texts that the original compared, re-rendered from the plan
 * (docs/bundle-format.md). */
#ifndef VERIFY_RENDER_H
#define VERIFY_RENDER_H

#include "artifacts/base/jsonw.h"
#include "plan/plan.h"

/* buffer_ir.txt: buffers, op lines, anti edges, outputs. It omits types, layouts and sizes. Lent by sc; NULL
 * when out of memory. */
const char *render_buffer_ir(scratch *sc, const plan *p);
/* typed_ops.json: every op with its slots, types and spec or launch, RFC 8785. */
RP_MUST rp_code render_typed_ops(rp_err *e, span *out, scratch *sc, const plan *p);
/* The same ops as members of an open canonical document: {"ops": …} without the braces. */
void render_ops(jw *j, const plan *p);

#endif
