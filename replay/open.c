#include "replay/open.h"
#include "artifacts/base/file.h"

rp_code opened_bundle(rp_err *e, opened *o, const char *path)
{
    *o = (opened){.sc = scratch_new(0)};
    o->r = o->sc ? report_new(o->sc) : NULL;
    if (!o->r)
        return err_nomem(e);
    if (file_is_dir(path) ? store_open_folder(e, &o->st, path) : store_open(e, &o->st, path))
        return err_file(e, path);
    return bundle_load(e, &o->b, &o->r->fs, o->sc, o->st);
}

void opened_close(opened *o)
{
    store_free(o->st);
    scratch_free(o->sc);
}
