/* Opening a bundle for the commands that show it. */
#ifndef REPLAY_OPEN_H
#define REPLAY_OPEN_H

#include "verify/bundle.h"
#include "verify/report.h"

typedef struct {
    scratch *sc;
    store *st;
    report *r; /* faults of its documents */
    bundle *b;
} opened;

/* An archive, or a folder holding manifest.json (evidence keeps one under bundle/). Close with opened_close
 * also after a failure. */
RP_MUST rp_code opened_bundle(rp_err *e, opened *out, const char *path);
void opened_close(opened *o);

#endif
