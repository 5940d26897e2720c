/* The tensors of a safetensors file as our reader sees them, one a line: name, bytes, SHA-256. */
#include "artifacts/base/digest.h"
#include "artifacts/base/file.h"
#include "artifacts/safetensors.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    rp_err e = {0};
    span text;
    st_tensor *v;
    size_t n;
    scratch *sc = scratch_new(0);
    if (argc != 2 || !sc)
        return 2;
    if (file_read(&e, &text, sc, argv[1], UINT64_C(1) << 30) || st_read(&e, &v, &n, sc, argv[1], text)) {
        fprintf(stderr, "%s: %s\n", e.where, e.msg);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        char hex[DIGEST_HEX];
        digest_hex(digest_of(v[i].data), hex);
        printf("%s %zu %s\n", v[i].name, v[i].data.n, hex);
    }
    scratch_free(sc);
    return 0;
}
