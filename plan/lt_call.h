/* Between a call of ours (artifacts/base/lt.h) and the wider question that anyone may ask (plan/lt_query.h).
 */
#ifndef PLAN_LT_CALL_H
#define PLAN_LT_CALL_H

#include "plan/lt_query.h"

/* The question whether the library takes the call; nothing is known of pointers, buffers, device and version.
 * Complete. */
void lt_query_of_call(lt_query *q, const lt_call *c);
/* The call that the question is about, but for what pointers say: `scaled` and which C. NULL, or what a call
 * of ours cannot have, with *out unchanged. */
const char *lt_call_of_query(lt_call *out, const lt_query *q);

#endif
