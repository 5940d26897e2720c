#include "artifacts/manifest.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/json.h"
#include "artifacts/base/limits.h"
#include "artifacts/tar.h"
#include <stdlib.h>
#include <string.h>

const char *const file_role_names[] = {
    [ROLE_CAPTURE] = "capture",   [ROLE_PLAN] = "plan",     [ROLE_TEXT] = "text",
    [ROLE_ARENA] = "arena",       [ROLE_CALLS] = "calls",   [ROLE_SOURCE] = "source",
    [ROLE_PTX] = "ptx",           [ROLE_KERNEL] = "kernel", [ROLE_REFERENCE] = "reference",
    [ROLE_CONTRACT] = "contract", [ROLE_RECIPE] = "recipe", [ROLE_FIXTURE] = "fixture",
    [ROLE_EVIDENCE] = "evidence", [ROLE_COUNT] = NULL,
};

/* The places of a bundle: a whole path, or a folder and the end of a name directly in it. */
static const struct {
    const char *folder, *end;
    file_role role;
} places[] = {
    {"", "capture.json", ROLE_CAPTURE},
    {"", "plan/plan.json", ROLE_PLAN},
    {"", "plan/buffer_ir.txt", ROLE_TEXT},
    {"", "plan/typed_ops.json", ROLE_TEXT},
    {"", "plan/arena.json", ROLE_ARENA},
    {"", "plan/resolved_calls.json", ROLE_CALLS},
    {"kernels/", ".cu", ROLE_SOURCE},
    {"kernels/", ".ptx", ROLE_PTX},
    {"kernels/", ".json", ROLE_KERNEL},
    {"", "reference.json", ROLE_REFERENCE},
    {"", "contract.json", ROLE_CONTRACT},
    {"fixtures/", ".json", ROLE_RECIPE},
    {"fixtures/", ".safetensors", ROLE_FIXTURE},
};

static const char evidence_folder[] = "evidence/";

file_role manifest_role_of(const char *path)
{
    if (!strncmp(path, evidence_folder, strlen(evidence_folder)) && path[strlen(evidence_folder)])
        return ROLE_EVIDENCE;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t folder = strlen(places[i].folder), end = strlen(places[i].end), all = strlen(path);
        if (!folder && !strcmp(path, places[i].end))
            return places[i].role;
        if (folder && all > folder + end && !strncmp(path, places[i].folder, folder) &&
            !strchr(path + folder, '/') && !strcmp(path + all - end, places[i].end))
            return places[i].role;
    }
    return ROLE_COUNT;
}

static bool path_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/';
}

bool manifest_path_ok(const char *path)
{
    size_t n = strlen(path);
    if (n < 1 || n > TAR_PATH_MAX)
        return false;
    for (size_t part = 0; part <= n;) {
        size_t len = 0;
        while (path[part + len] && path[part + len] != '/') {
            if (!path_char(path[part + len]))
                return false;
            len++;
        }
        if (!len || (len == 1 && path[part] == '.') ||
            (len == 2 && path[part] == '.' && path[part + 1] == '.'))
            return false;
        part += len + 1;
    }
    return true;
}

static bool name_ok(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n > 64 || strchr("._-", name[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!path_char(name[i]) || name[i] == '/')
            return false;
    return true;
}

/* Lower case, and '/' before every other character, so that a file is followed at once by what lies below it.
 */
static int folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 'a';
    return c == '/' ? 1 : c;
}

static int by_folded(const void *pa, const void *pb)
{
    const char *a = (*(const manifest_file *const *)pa)->path, *b = (*(const manifest_file *const *)pb)->path;
    while (*a && folded(*a) == folded(*b)) {
        a++;
        b++;
    }
    return folded(*a) - folded(*b);
}

/* What keeps a and its successor b in folded order from lying in one tree everywhere, or NULL. */
static const char *conflict(const char *a, const char *b)
{
    size_t i = 0;
    bool same_case = true;
    for (; a[i] && folded(a[i]) == folded(b[i]); i++) {
        same_case = same_case && a[i] == b[i];
        if (a[i] == '/' && !same_case)
            return "a folder that differs only by case from that of";
    }
    if (a[i])
        return NULL;
    if (!b[i])
        return "a path that differs only by case from";
    return b[i] == '/' ? "a file that is a folder of" : NULL;
}

static rp_code check_tree(rp_err *e, const manifest *m, scratch *sc, js_node *files)
{
    const manifest_file **v = scratch_array(sc, m->n_files, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < m->n_files; i++)
        v[i] = &m->files[i];
    if (m->n_files)
        qsort(v, m->n_files, sizeof *v, by_folded);
    for (size_t i = 1; i < m->n_files; i++) {
        const char *why = conflict(v[i - 1]->path, v[i]->path);
        if (why)
            return js_fail(e, js_at(files, (size_t)(v[i - 1] - m->files)),
                           strstr(why, "case") ? FIND_MANIFEST_CASE : FIND_MANIFEST_PATH,
                           "expected paths that fit in one tree, found `%s`, %s `%s`", v[i - 1]->path, why,
                           v[i]->path);
    }
    return RP_OK;
}

static rp_code read_path(rp_err *e, const char **out, js_node *o)
{
    if (js_str(e, out, o, "path"))
        return e->code;
    if (!manifest_path_ok(*out))
        return js_fail(
            e, o, FIND_MANIFEST_PATH,
            "expected a path of 1 to %d of A-Z a-z 0-9 . _ - / without empty, . or .. parts, found `%.120s`",
            TAR_PATH_MAX, *out);
    if (strlen(*out) > limit_of(LIMIT_PATH_BYTES))
        return js_fail(e, o, FIND_MANIFEST_LIMIT, "expected a path of at most %llu bytes, found %zu",
                       (unsigned long long)limit_of(LIMIT_PATH_BYTES), strlen(*out));
    if (!strcmp(*out, MANIFEST_PATH))
        return js_fail(e, o, FIND_MANIFEST_PATH, "expected no entry for %s itself", MANIFEST_PATH);
    return RP_OK;
}

static rp_code read_bytes(rp_err *e, uint64_t *out, js_node *o)
{
    if (js_u64(e, out, o, "bytes"))
        return e->code;
    if (*out > limit_of(LIMIT_FILE_BYTES))
        return js_fail(e, o, FIND_MANIFEST_LIMIT, "expected a file of at most %llu bytes, found %llu",
                       (unsigned long long)limit_of(LIMIT_FILE_BYTES), (unsigned long long)*out);
    return RP_OK;
}

/* The entry comes after the one before it. */
static rp_code check_order(rp_err *e, js_node *o, const char *before, const char *path)
{
    int c = before ? strcmp(before, path) : -1;
    if (c < 0)
        return RP_OK;
    if (!c)
        return js_fail(e, o, FIND_MANIFEST_DUPLICATE, "expected each path once, found `%s` twice", path);
    return js_fail(e, o, FIND_MANIFEST_ORDER, "expected paths sorted bytewise, found `%s` after `%s`", path,
                   before);
}

static rp_code read_file(rp_err *e, manifest_file *f, js_node *o, const char *before)
{
    int role = 0;
    if (js_as_obj(e, o) || read_path(e, &f->path, o) || read_bytes(e, &f->bytes, o) ||
        js_digest(e, &f->sha256, o, "sha256") || js_enum(e, &role, o, "role", file_role_names) ||
        js_done(e, o) || check_order(e, o, before, f->path))
        return e->code;
    f->role = (file_role)role;
    file_role place = manifest_role_of(f->path);
    if (place == ROLE_COUNT)
        return js_fail(e, o, FIND_MANIFEST_PATH, "expected a path that a bundle has, found `%s`", f->path);
    if (place != f->role)
        return js_fail(e, o, FIND_MANIFEST_INVALID, "expected role `%s` for `%s`, found `%s`",
                       file_role_names[place], f->path, file_role_names[f->role]);
    return RP_OK;
}

static rp_code read_omitted(rp_err *e, manifest_omitted *f, js_node *o, const char *before)
{
    if (js_as_obj(e, o) || read_path(e, &f->path, o) || js_str(e, &f->reason, o, "reason"))
        return e->code;
    f->has_bytes = js_find(o, "bytes") != NULL;
    f->has_sha256 = js_find(o, "sha256") != NULL;
    if ((f->has_bytes && js_u64(e, &f->bytes, o, "bytes")) ||
        (f->has_sha256 && js_digest(e, &f->sha256, o, "sha256")) || js_done(e, o) ||
        check_order(e, o, before, f->path))
        return e->code;
    if (!*f->reason)
        return js_fail(e, o, FIND_MANIFEST_INVALID, "expected a reason, found an empty one");
    return RP_OK;
}

rp_code manifest_read(rp_err *e, manifest **out, scratch *sc, span text)
{
    if (text.n > MANIFEST_MAX_BYTES)
        return err_invalid(e, FIND_MANIFEST_INVALID, MANIFEST_PATH, NULL,
                           "expected at most %d bytes, found %zu", MANIFEST_MAX_BYTES, text.n);
    js_node *root, *files, *omitted;
    manifest *m = scratch_alloc(sc, sizeof *m);
    if (!m)
        return err_nomem(e);
    if (js_parse(e, &root, sc, MANIFEST_PATH, text) || js_as_obj(e, root) ||
        js_format(e, root, MANIFEST_FORMAT) || js_str(e, &m->name, root, "name") ||
        js_arr(e, &files, &m->n_files, root, "files") ||
        js_arr(e, &omitted, &m->n_omitted, root, "omitted") || js_done(e, root))
        return e->code;
    if (!name_ok(m->name))
        return js_fail(
            e, js_find(root, "name"), FIND_MANIFEST_INVALID,
            "expected 1 to 64 of A-Z a-z 0-9 . _ - beginning with a letter or digit, found `%.100s`",
            m->name);
    uint64_t most = limit_of(LIMIT_ENTRIES), total = 0;
    if (m->n_files > most || m->n_omitted > most)
        return js_fail(e, m->n_files > most ? files : omitted, FIND_MANIFEST_LIMIT,
                       "expected at most %llu entries, found %zu", (unsigned long long)most,
                       m->n_files > most ? m->n_files : m->n_omitted);
    m->files = scratch_array(sc, m->n_files, sizeof *m->files);
    m->omitted = scratch_array(sc, m->n_omitted, sizeof *m->omitted);
    if (!m->files || !m->omitted)
        return err_nomem(e);
    for (size_t i = 0; i < m->n_files; i++)
        if (read_file(e, &m->files[i], js_at(files, i), i ? m->files[i - 1].path : NULL))
            return e->code;
    for (size_t i = 0; i < m->n_files; i++)
        if (!ck_add_u64(total, m->files[i].bytes, &total) || total > limit_of(LIMIT_TOTAL_BYTES))
            return js_fail(e, js_at(files, i), FIND_MANIFEST_LIMIT,
                           "expected at most %llu bytes in all files, found more",
                           (unsigned long long)limit_of(LIMIT_TOTAL_BYTES));
    for (size_t i = 0; i < m->n_omitted; i++) {
        manifest_omitted *o = &m->omitted[i];
        if (read_omitted(e, o, js_at(omitted, i), i ? m->omitted[i - 1].path : NULL))
            return e->code;
        if (manifest_find(m, o->path))
            return js_fail(e, js_at(omitted, i), FIND_MANIFEST_INVALID,
                           "expected omitted files to be absent, found `%s` among the files too", o->path);
    }
    if (check_tree(e, m, sc, files))
        return e->code;
    m->root = digest_of(text);
    *out = m;
    return RP_OK;
}

rp_code manifest_read_omitted(rp_err *e, manifest_omitted **out, size_t *n, scratch *sc, const char *file,
                              span text)
{
    js_node *root, *list;
    if (js_parse(e, &root, sc, file, text) || js_as_obj(e, root) || js_format(e, root, OMITTED_FORMAT) ||
        js_arr(e, &list, n, root, "omitted") || js_done(e, root))
        return e->code;
    manifest_omitted *v = scratch_array(sc, *n, sizeof *v);
    if (!v)
        return err_nomem(e);
    for (size_t i = 0; i < *n; i++)
        if (read_omitted(e, &v[i], js_at(list, i), i ? v[i - 1].path : NULL))
            return e->code;
    *out = v;
    return RP_OK;
}

void manifest_write(jw *j, const manifest *m)
{
    jw_obj(j, NULL);
    jw_str(j, "format", MANIFEST_FORMAT);
    jw_str(j, "name", m->name);
    jw_arr(j, "files");
    for (size_t i = 0; i < m->n_files; i++) {
        const manifest_file *f = &m->files[i];
        jw_obj(j, NULL);
        jw_str(j, "path", f->path);
        jw_u64(j, "bytes", f->bytes);
        jw_digest(j, "sha256", f->sha256);
        jw_str(j, "role", file_role_names[f->role]);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "omitted");
    for (size_t i = 0; i < m->n_omitted; i++) {
        const manifest_omitted *f = &m->omitted[i];
        jw_obj(j, NULL);
        jw_str(j, "path", f->path);
        if (f->has_bytes)
            jw_u64(j, "bytes", f->bytes);
        if (f->has_sha256)
            jw_digest(j, "sha256", f->sha256);
        jw_str(j, "reason", f->reason);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

const manifest_file *manifest_find(const manifest *m, const char *path)
{
    size_t lo = 0, hi = m->n_files;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(m->files[mid].path, path);
        if (!c)
            return &m->files[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const manifest_omitted *manifest_find_omitted(const manifest *m, const char *path)
{
    size_t lo = 0, hi = m->n_omitted;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(m->omitted[mid].path, path);
        if (!c)
            return &m->omitted[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
