/* Two JSON documents field by field. */
#ifndef REPLAY_DOCDIFF_H
#define REPLAY_DOCDIFF_H

#include "artifacts/base/json.h"

typedef struct difference {
    const struct difference *next;
    const char *where, *a, *b; /* JSON pointer; values as text, "(absent)", or "object", "array of N" */
} difference;

/* The differences in document order, lent by sc; NULL when equal. */
RP_MUST rp_code docdiff(rp_err *e, const difference **out, scratch *sc, js_node *a, js_node *b);

#endif
