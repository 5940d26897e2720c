#include "replay/targets.h"
#include "artifacts/base/file.h"
#include "replay/cli.h"
#include <dirent.h>
#include <stdlib.h>

static const char suffix[] = ".tar.zst";

typedef struct {
    const char **v;
    size_t n, cap;
    scratch *sc;
} list;

static rp_code push(rp_err *e, list *l, const char *path)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        const char **v = scratch_array(l->sc, cap, sizeof *v);
        if (!v)
            return err_nomem(e);
        if (l->n)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    if (!path)
        return err_nomem(e);
    l->v[l->n++] = path;
    return RP_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static rp_code push_folder(rp_err *e, list *l, const char *dir)
{
    size_t before = l->n;
    DIR *d = opendir(dir);
    const struct dirent *ent;
    if (!d)
        return err_errno(e, dir, "open the folder");
    while (!e->code && (ent = readdir(d))) {
        size_t n = strlen(ent->d_name), m = sizeof suffix - 1;
        if (n > m && !strcmp(ent->d_name + n - m, suffix))
            (void)push(e, l, file_join(l->sc, dir, ent->d_name));
    }
    closedir(d);
    if (!e->code && l->n == before) {
        err_set(e, RP_IO,
                "expected bundles named *%s in this folder, found none; `replay pack` makes one of a folder "
                "of sources",
                suffix);
        return err_file(e, dir);
    }
    if (!e->code)
        qsort(l->v + before, l->n - before, sizeof *l->v, by_bytes);
    return e->code;
}

rp_code targets_expand(rp_err *e, const char ***out, size_t *n, scratch *sc, char *const *args, size_t n_args)
{
    list l = {.sc = sc};
    if (!n_args && push(e, &l, cli_default_bundle))
        return e->code;
    for (size_t i = 0; i < n_args; i++)
        if (file_is_dir(args[i]) ? push_folder(e, &l, args[i]) : push(e, &l, args[i]))
            return e->code;
    *out = l.v;
    *n = l.n;
    return RP_OK;
}
