/* Runs a fuzz harness over the files and folders named on the command line, with no fuzz engine: link it with
 * one harness. */
#include "artifacts/base/file.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static rp_code run_file(rp_err *e, const char *path)
{
    span bytes;
    scratch *sc = scratch_new(0);
    if (!sc)
        return err_nomem(e);
    if (!file_read(e, &bytes, sc, path, 64 << 20))
        LLVMFuzzerTestOneInput(bytes.p, bytes.n);
    scratch_free(sc);
    return e->code;
}

static rp_code run_folder(rp_err *e, const char *dir, size_t *n)
{
    scratch *sc = scratch_new(0);
    const char *const *paths;
    size_t found = 0;
    if (!sc)
        return err_nomem(e);
    if (!file_tree(e, &paths, &found, sc, dir))
        for (size_t i = 0; i < found && !e->code; i++) {
            const char *path = file_join(sc, dir, paths[i]);
            (void)!(path ? run_file(e, path) : err_nomem(e));
        }
    *n += found;
    scratch_free(sc);
    return e->code;
}

int main(int argc, char **argv)
{
    size_t n = 0;
    for (int i = 1; i < argc; i++) {
        rp_err e = {0};
        if (!file_is_dir(argv[i]))
            n++;
        if (file_is_dir(argv[i]) ? run_folder(&e, argv[i], &n) : run_file(&e, argv[i])) {
            char text[1200];
            err_text(&e, text, sizeof text);
            fprintf(stderr, "%s\n", text);
            return 1;
        }
    }
    printf("%zu inputs\n", n);
    return n ? 0 : 1;
}
