#include "replay/keys.h"

bool keys_name(keys *k, const char *path)
{
    if (k->n_paths == DSSE_MAX_KEYS)
        return false;
    k->paths[k->n_paths++] = path;
    return true;
}

rp_code keys_read(rp_err *e, keys *k, bool private)
{
    while (k->n < k->n_paths) {
        if (private ? sign_key_private(e, &k->v[k->n], k->paths[k->n])
                    : sign_key_public(e, &k->v[k->n], k->paths[k->n]))
            return e->code;
        k->n++;
    }
    return RP_OK;
}

void keys_clear(keys *k)
{
    for (size_t i = 0; i < k->n; i++)
        sign_key_free(k->v[i]);
    k->n = 0;
}
