/* Keys that the user names: `--key PEM`, once each. */
#ifndef REPLAY_KEYS_H
#define REPLAY_KEYS_H

#include "artifacts/dsse.h"

typedef struct {
    const char *paths[DSSE_MAX_KEYS];
    sign_key *v[DSSE_MAX_KEYS];
    size_t n, n_paths;
} keys;

/* false: too many. */
bool keys_name(keys *k, const char *path);
/* Read all that were named; keys_clear afterwards, also on failure. */
RP_MUST rp_code keys_read(rp_err *e, keys *k, bool private);
void keys_clear(keys *k);

#endif
