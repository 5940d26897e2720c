/* Sources to bundle: fixtures are generated from their recipes, expected outputs computed by the reference,
 * and everything is listed. */
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "artifacts/store.h"
#include "plan/plan.h"
#include "plan/recipe.h"
#include "plan/reference.h"
#include "replay/cli.h"
#include "verify/fixture_file.h"
#include <stdlib.h>

typedef struct {
    const char *dir;
    scratch *sc;
    manifest man;
    span *bytes; /* of each file; generated ones too */
} packer;

static const uint64_t max_source_bytes = 256ULL << 20;
/* Says what the sources leave out; it goes into the manifest, and is no file of the bundle. */
static const char omissions[] = "omitted.json";

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static rp_code add(rp_err *e, packer *p, const char *path, span bytes)
{
    file_role role = manifest_role_of(path);
    if (!manifest_path_ok(path) || role == ROLE_COUNT) {
        err_set(e, RP_USAGE,
                "expected a path that a bundle has a place for (docs/bundle-format.md), found \"%s\"", path);
        return err_file(e, path);
    }
    p->man.files[p->man.n_files] =
        (manifest_file){.path = path, .bytes = bytes.n, .sha256 = digest_of(bytes), .role = role};
    p->bytes[p->man.n_files++] = bytes;
    return RP_OK;
}

static rp_code add_sources(rp_err *e, packer *p)
{
    const char *const *paths;
    size_t n;
    if (file_tree(e, &paths, &n, p->sc, p->dir))
        return e->code;
    p->man.files = scratch_array(p->sc, 2 * n, sizeof *p->man.files);
    p->bytes = scratch_array(p->sc, 2 * n, sizeof *p->bytes);
    if (!p->man.files || !p->bytes)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        span bytes;
        const char *full = file_join(p->sc, p->dir, paths[i]);
        if (!full)
            return err_nomem(e);
        if (!strcmp(paths[i], omissions)) {
            if (file_read(e, &bytes, p->sc, full, max_source_bytes) ||
                manifest_read_omitted(e, &p->man.omitted, &p->man.n_omitted, p->sc, omissions, bytes))
                return e->code;
            continue;
        }
        if (!strcmp(paths[i], "manifest.json") || ends_with(paths[i], ".safetensors")) {
            err_set(e, RP_USAGE,
                    "expected no manifest and no fixture data among the sources: pack makes them");
            return err_file(e, full);
        }
        if (file_read(e, &bytes, p->sc, full, max_source_bytes) || add(e, p, paths[i], bytes))
            return e->code;
    }
    return RP_OK;
}

static span bytes_of(const packer *p, const char *path)
{
    for (size_t i = 0; i < p->man.n_files; i++)
        if (!strcmp(p->man.files[i].path, path))
            return p->bytes[i];
    return (span){0};
}

static rp_code need(rp_err *e, span *out, const packer *p, const char *path)
{
    *out = bytes_of(p, path);
    if (out->p)
        return RP_OK;
    err_set(e, RP_IO, "expected %s among the sources, found none", path);
    return err_file(e, p->dir);
}

static rp_code absent(rp_err *e, const packer *p)
{
    for (size_t i = 0; i < p->man.n_omitted; i++)
        if (bytes_of(p, p->man.omitted[i].path).p) {
            char where[48];
            snprintf(where, sizeof where, "/omitted/%zu", i);
            return err_invalid(e, FIND_MANIFEST_INVALID, omissions, where,
                               "expected omitted files to be absent, found `%s` among the sources",
                               p->man.omitted[i].path);
        }
    return RP_OK;
}

/* Data that is listed as omitted is not made; without a reference none can be. */
static rp_code add_fixtures(rp_err *e, packer *p)
{
    span text;
    reference *ref = NULL;
    size_t sources = p->man.n_files;
    if (!manifest_find_omitted(&p->man, "reference.json") &&
        (need(e, &text, p, "reference.json") || reference_read(e, &ref, p->sc, "reference.json", text)))
        return e->code;
    for (size_t i = 0; i < sources; i++) {
        const char *path = p->man.files[i].path;
        recipe *r;
        made_fixture made;
        if (p->man.files[i].role != ROLE_RECIPE)
            continue;
        const char *data =
            scratch_printf(p->sc, "%.*s.safetensors", (int)(strlen(path) - strlen(".json")), path);
        if (!data)
            return err_nomem(e);
        if (manifest_find_omitted(&p->man, data))
            continue;
        if (!ref) {
            err_set(e, RP_USAGE,
                    "expected %s in omitted.json: without reference.json no expected outputs can be made",
                    data);
            return err_file(e, path);
        }
        if (recipe_read(e, &r, p->sc, path, p->bytes[i]) || fixture_make(e, &made, p->sc, r, ref) ||
            add(e, p, data, made.file))
            return err_file(e, path);
    }
    return RP_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const manifest_file *)a)->path, ((const manifest_file *)b)->path);
}

static rp_code source(rp_err *e, span *out, scratch *sc, void *ctx, const manifest_file *f)
{
    const packer *p = ctx;
    (void)sc;
    *out = bytes_of(p, f->path);
    return out->p ? RP_OK : err_set(e, RP_BUG, "no bytes for %s", f->path);
}

static rp_code pack(rp_err *e, packer *p, const char *out, digest *root)
{
    span text;
    plan *pl;
    if (add_sources(e, p) || absent(e, p) || need(e, &text, p, "plan/plan.json") ||
        plan_read(e, &pl, p->sc, "plan/plan.json", text) || add_fixtures(e, p))
        return e->code;
    p->man.name = pl->name;
    manifest sorted = p->man;
    sorted.files = scratch_array(p->sc, p->man.n_files, sizeof *sorted.files);
    if (!sorted.files)
        return err_nomem(e);
    memcpy(sorted.files, p->man.files, p->man.n_files * sizeof *sorted.files);
    qsort(sorted.files, sorted.n_files, sizeof *sorted.files, by_path);
    jw *j = jw_new(JW_PRETTY);
    manifest_write(j, &sorted);
    if (!jw_finish(e, &text, j)) {
        *root = digest_of(text);
        (void)!store_pack(e, out, &sorted, text, source, p);
    }
    jw_free(j);
    return e->code;
}

static void say(const packer *p, const char *out, digest root, bool json)
{
    uint64_t bytes = 0;
    char hex[DIGEST_HEX];
    digest_hex(root, hex);
    for (size_t i = 0; i < p->man.n_files; i++)
        bytes += p->man.files[i].bytes;
    if (!json) {
        printf("%s: %zu files, %s bytes", text_safe(p->sc, out), p->man.n_files, text_count(p->sc, bytes));
        if (p->man.n_omitted)
            printf(", %zu files omitted", p->man.n_omitted);
        printf("\nroot sha256:%s\n", hex);
        return;
    }
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-packed/0");
    cli_tool_json(j);
    jw_str(j, "bundle", out);
    jw_str(j, "name", p->man.name);
    jw_fmt(j, "root", "sha256:%s", hex);
    jw_u64(j, "files", p->man.n_files);
    jw_u64(j, "bytes", bytes);
    jw_u64(j, "omitted", p->man.n_omitted);
    jw_end(j);
    (void)cli_print_json(j, EXIT_PASSED);
}

int cmd_pack(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
    const char *out = NULL;
    bool json = false;
    int c;
    while ((c = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
        if (c == 'o')
            out = optarg;
        else if (c == 'j')
            json = true;
        else
            return cli_bad_option("pack", argv);
    }
    if (argc - optind != 1 || !out)
        return cli_usage("pack", "expected one folder of sources and -o BUNDLE");
    rp_err e = {0};
    packer p = {.dir = argv[optind], .sc = scratch_new(0)};
    digest root;
    int code = EXIT_PASSED;
    if (!p.sc)
        err_nomem(&e);
    if (e.code || pack(&e, &p, out, &root))
        code = cli_error("pack", &e, json);
    else
        say(&p, out, root, json);
    scratch_free(p.sc);
    return code ? code : cli_finish(code);
}
