/* Fuzzing the safetensors reader: what is accepted tiles the data, and written again reads to the same
 * tensors. */
#include "artifacts/safetensors.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(64 << 20);
    st_tensor *v, *w;
    size_t count, again;
    span file;
    if (st_read(&e, &v, &count, sc, "input", span_of(data, n))) {
        must((e.code == RP_INVALID && e.id == FIND_FIXTURE_FORMAT) || e.code == RP_NOMEM);
    } else {
        for (size_t i = 0; i < count; i++)
            must(v[i].data.p >= data && v[i].data.p + v[i].data.n <= data + n &&
                 (!i || v[i].data.p == v[i - 1].data.p + v[i - 1].data.n));
        if (!st_write(&e, &file, sc, v, count) && !st_read(&e, &w, &again, sc, "again", file)) {
            must(again == count);
            for (size_t i = 0; i < count; i++) {
                size_t k = 0;
                while (k < count && strcmp(v[k].name, w[i].name))
                    k++;
                must(k < count && v[k].type == w[i].type && v[k].rank == w[i].rank &&
                     v[k].data.n == w[i].data.n && !memcmp(v[k].data.p, w[i].data.p, w[i].data.n));
            }
        } else {
            must(e.code == RP_NOMEM);
        }
    }
    scratch_free(sc);
    return 0;
}
