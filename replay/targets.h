/* What the user named: bundles, or folders of bundles. */
#ifndef REPLAY_TARGETS_H
#define REPLAY_TARGETS_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"

/* Every argument that is a folder stands for the NAME.tar.zst files directly in it, sorted; no argument means
 * the default bundle. A folder without any is RP_IO. Lent by sc. */
RP_MUST rp_code targets_expand(rp_err *e, const char ***out, size_t *n, scratch *sc, char *const *args,
                               size_t n_args);

#endif
