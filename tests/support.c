#include "tests/support.h"
#include "artifacts/store.h"
#include "artifacts/tar.h"
#include "artifacts/zs.h"
#include "verify/capture.h"
#include "verify/fixture_file.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(const rp_err *e)
{
    char text[1200];
    err_text(e, text, sizeof text);
    cr_assert(e->code == RP_OK, "%s", text);
}

static void *must_alloc(void *p)
{
    cr_assert(p != NULL, "out of memory");
    return p;
}

const char *t_dir(scratch *sc)
{
    const char *base = getenv("TMPDIR");
    char *dir = must_alloc(scratch_printf(sc, "%s/replay-test-XXXXXX", base && *base ? base : "/tmp"));
    cr_assert(mkdtemp(dir), "cannot make %s", dir);
    return dir;
}

void t_remove(const char *dir)
{
    rp_err e = {0};
    cr_assert(!file_remove_tree(&e, dir));
}

const char *t_write(scratch *sc, const char *dir, const char *path, span bytes)
{
    rp_err e = {0};
    char *full = must_alloc(file_join(sc, dir, path));
    char *slash = strrchr(full, '/');
    if (slash) {
        *slash = 0;
        cr_assert(!file_mkdirs(&e, full));
        *slash = '/';
    }
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert(fd >= 0, "cannot create %s", full);
    if (file_write_fd(&e, fd, full, bytes))
        must(&e);
    close(fd);
    return full;
}

void t_write_tree(scratch *sc, const char *dir, const t_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        t_write(sc, dir, files[i].path, files[i].bytes);
}

span t_slurp(scratch *sc, const char *path)
{
    rp_err e = {0};
    span s = {0};
    if (file_read(&e, &s, sc, path, UINT64_C(1) << 32))
        must(&e);
    return s;
}

void t_patch(const char *path, uint64_t offset_bytes, span bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0, "cannot open %s", path);
    cr_assert(pwrite(fd, bytes.p, bytes.n, (off_t)offset_bytes) == (ssize_t)bytes.n);
    close(fd);
}

span t_splice(scratch *sc, span s, size_t at, size_t n, span in)
{
    cr_assert(at <= s.n && n <= s.n - at);
    size_t total = s.n - n + in.n;
    uint8_t *p = must_alloc(scratch_alloc(sc, total));
    memcpy(p, s.p, at);
    if (in.n)
        memcpy(p + at, in.p, in.n);
    if (s.n - at - n)
        memcpy(p + at + in.n, s.p + at + n, s.n - at - n);
    return span_of(p, total);
}

span t_flip(scratch *sc, span s, size_t at, uint8_t mask)
{
    cr_assert(at < s.n);
    uint8_t b = s.p[at] ^ mask;
    return t_splice(sc, s, at, 1, span_of(&b, 1));
}

bool t_equal(span a, span b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

int t_shell(const char *dir, const char *command)
{
    char line[8192];
    int n = snprintf(line, sizeof line, "cd '%s' && %s", dir, command);
    cr_assert(n > 0 && (size_t)n < sizeof line);
    int status = system(line);
    cr_assert(status != -1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool t_has(const char *program)
{
    char line[256];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
    return t_shell("/", line) == 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const manifest_file *)a)->path, ((const manifest_file *)b)->path);
}

manifest *t_manifest(scratch *sc, const char *name, const t_file *files, size_t n, span *text)
{
    manifest *m = must_alloc(scratch_alloc(sc, sizeof *m));
    m->name = name;
    m->n_files = n;
    m->files = must_alloc(scratch_array(sc, n, sizeof *m->files));
    for (size_t i = 0; i < n; i++) {
        file_role role = manifest_role_of(files[i].path);
        m->files[i] = (manifest_file){.path = files[i].path,
                                      .bytes = files[i].bytes.n,
                                      .sha256 = digest_of(files[i].bytes),
                                      .role = role == ROLE_COUNT ? ROLE_EVIDENCE : role};
    }
    if (n)
        qsort(m->files, n, sizeof *m->files, by_path);
    rp_err e = {0};
    jw *j = jw_new(JW_PRETTY);
    manifest_write(j, m);
    span out = {0};
    if (jw_finish(&e, &out, j))
        must(&e);
    *text = t_splice(sc, out, 0, 0, span_of(NULL, 0));
    jw_free(j);
    m->root = digest_of(*text);
    return m;
}

static span bytes_of(const t_file *files, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(files[i].path, path))
            return files[i].bytes;
    cr_assert(false, "no file %s", path);
    return span_of(NULL, 0);
}

static uint8_t *put_entry(uint8_t *p, const char *path, span bytes)
{
    tar_header(p, path, bytes.n);
    if (bytes.n)
        memcpy(p + TAR_BLOCK, bytes.p, bytes.n);
    return p + tar_entry_bytes(bytes.n);
}

span t_stream(scratch *sc, span manifest_text, const t_file *files, size_t n)
{
    size_t total = tar_entry_bytes(manifest_text.n) + TAR_END_BYTES;
    for (size_t i = 0; i < n; i++)
        total += tar_entry_bytes(files[i].bytes.n);
    uint8_t *stream = must_alloc(scratch_alloc(sc, total)), *p = stream;
    p = put_entry(p, MANIFEST_PATH, manifest_text);
    span ignored;
    manifest *m = t_manifest(sc, "order", files, n, &ignored);
    for (size_t i = 0; i < n; i++)
        p = put_entry(p, m->files[i].path, bytes_of(files, n, m->files[i].path));
    return span_of(stream, total);
}

span t_frames(scratch *sc, span stream, size_t frame_bytes)
{
    rp_err e = {0};
    zs_enc *z = must_alloc(zs_enc_new(3));
    size_t cap = (stream.n / frame_bytes + 1) * zs_bound(frame_bytes), n = 0;
    uint8_t *p = must_alloc(scratch_alloc(sc, cap));
    for (size_t at = 0; at < stream.n; at += frame_bytes) {
        size_t part = stream.n - at < frame_bytes ? stream.n - at : frame_bytes, got;
        if (zs_enc_frame(&e, &got, z, p + n, span_of(stream.p + at, part)))
            must(&e);
        n += got;
    }
    zs_enc_free(z);
    return span_of(p, n);
}

typedef struct {
    const t_file *files;
    size_t n;
} given;

static rp_code from_given(rp_err *e, span *out, scratch *sc, void *ctx, const manifest_file *f)
{
    const given *g = ctx;
    (void)e;
    (void)sc;
    *out = bytes_of(g->files, g->n, f->path);
    return RP_OK;
}

const char *t_bundle(scratch *sc, const char *dir, const char *name, const t_file *files, size_t n)
{
    rp_err e = {0};
    span text;
    manifest *m = t_manifest(sc, name, files, n, &text);
    const char *path = must_alloc(scratch_printf(sc, "%s/%s.tar.zst", dir, name));
    if (store_pack(&e, path, m, text, from_given, &(given){files, n}))
        must(&e);
    return path;
}

bool t_found(const findings *fs, finding_id id, const char *file, const char *where)
{
    for (size_t i = 0; i < fs->n; i++)
        if (fs->v[i].id == id && (!file || !strcmp(fs->v[i].file, file)) &&
            (!where || !strcmp(fs->v[i].where, where)))
            return true;
    return false;
}

const char *t_list(scratch *sc, const findings *fs)
{
    const char *all = fs->n ? "" : "(no findings)";
    for (size_t i = 0; i < fs->n; i++) {
        const finding *f = &fs->v[i];
        all = must_alloc(
            scratch_printf(sc, "%s\n%s %s %s: %s", all, finding_name(f->id), f->file, f->where, f->message));
    }
    return all;
}

/* --- The files of a workload. --- */

static t_file *find_file(const t_tree *t, const char *path)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->v[i].path, path))
            return (t_file *)(uintptr_t)&t->v[i];
    return NULL;
}

bool t_has_file(const t_tree *t, const char *path)
{
    return find_file(t, path) != NULL;
}

span t_bytes(const t_tree *t, const char *path)
{
    return bytes_of(t->v, t->n, path);
}

void t_put(t_tree *t, const char *path, span bytes)
{
    t_file *f = find_file(t, path);
    if (!f) {
        cr_assert(t->n < T_MAX_FILES);
        f = &t->v[t->n++];
        f->path = must_alloc(scratch_strdup(t->sc, path));
    }
    f->bytes = bytes;
}

void t_drop(t_tree *t, const char *path)
{
    t_file *f = find_file(t, path);
    cr_assert(f != NULL, "no file %s", path);
    *f = t->v[--t->n];
}

span t_replaced(scratch *sc, span s, const char *from, const char *to)
{
    const uint8_t *at = memmem(s.p, s.n, from, strlen(from));
    cr_assert(at != NULL, "`%s` is not there", from);
    size_t off = (size_t)(at - s.p);
    cr_assert(!memmem(at + 1, s.n - off - 1, from, strlen(from)), "`%s` is there twice", from);
    return t_splice(sc, s, off, strlen(from), span_str(to));
}

void t_replace(t_tree *t, const char *path, const char *from, const char *to)
{
    t_put(t, path, t_replaced(t->sc, t_bytes(t, path), from, to));
}

static span shipped(const t_tree *t, const char *path)
{
    return t_slurp(t->sc, must_alloc(scratch_printf(t->sc, "artifacts/workloads/%s/%s", t->name, path)));
}

void t_sources(t_tree *t, scratch *sc, const char *name)
{
    rp_err e = {0};
    const char *const *paths;
    size_t n;
    *t = (t_tree){.sc = sc, .name = name};
    if (file_tree(&e, &paths, &n, sc, must_alloc(scratch_printf(sc, "artifacts/workloads/%s", name))))
        must(&e);
    for (size_t i = 0; i < n; i++) {
        file_role role = manifest_role_of(paths[i]);
        if (role != ROLE_COUNT && role != ROLE_CAPTURE && role != ROLE_KERNEL && role != ROLE_FIXTURE)
            t_put(t, paths[i], shipped(t, paths[i]));
    }
}

void t_add_fixtures(t_tree *t)
{
    rp_err e = {0};
    reference *ref;
    if (reference_read(&e, &ref, t->sc, "reference.json", t_bytes(t, "reference.json")))
        must(&e);
    for (size_t i = 0, n = t->n; i < n; i++) {
        recipe *r;
        made_fixture made;
        const char *path = t->v[i].path;
        if (manifest_role_of(path) != ROLE_RECIPE)
            continue;
        if (recipe_read(&e, &r, t->sc, path, t->v[i].bytes) || fixture_make(&e, &made, t->sc, r, ref))
            must(&e);
        t_put(t, scratch_printf(t->sc, "%.*s.safetensors", (int)(strlen(path) - strlen(".json")), path),
              made.file);
    }
}

/* A document in the tree's scratch. */
static span finished(t_tree *t, jw *j)
{
    rp_err e = {0};
    span out = {0};
    if (jw_finish(&e, &out, j))
        must(&e);
    out = t_splice(t->sc, out, 0, 0, span_of(NULL, 0));
    jw_free(j);
    return out;
}

void t_add_records(t_tree *t)
{
    for (size_t i = 0, n = t->n; i < n; i++) {
        const char *path = t->v[i].path;
        size_t stem = strlen(path) - strlen(".cu");
        if (manifest_role_of(path) != ROLE_SOURCE)
            continue;
        const char *ptx = scratch_printf(t->sc, "%.*s.ptx", (int)stem, path);
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-kernel/1");
        jw_str(j, "source", path);
        jw_digest(j, "source_sha256", digest_of(t->v[i].bytes));
        jw_str(j, "entry", "k");
        jw_str(j, "compiler", "NVRTC");
        jw_str(j, "version", "13.0.88");
        jw_str(j, "build", "CL-36424714");
        jw_arr(j, "options");
        jw_str(j, NULL, "-I$CUDA_INCLUDE");
        jw_end(j);
        jw_arr(j, "headers");
        jw_obj(j, NULL);
        jw_str(j, "name", "cuda_fp16.h");
        jw_digest(j, "sha256", digest_of(span_str("a stand-in")));
        jw_end(j);
        jw_end(j);
        jw_str(j, "ptx", ptx);
        jw_digest(j, "ptx_sha256", digest_of(t_has_file(t, ptx) ? t_bytes(t, ptx) : span_str("")));
        jw_end(j);
        t_put(t, scratch_printf(t->sc, "%.*s.json", (int)stem, path), finished(t, j));
    }
}

/* The file in hand, or where it is not there the shipped one. */
static span in_hand(const t_tree *t, const char *path)
{
    return t_has_file(t, path) ? t_bytes(t, path) : shipped(t, path);
}

static void capture_arena(jw *j, t_tree *t)
{
    static const char path[] = "plan/arena.json";
    rp_err e = {0}, again = {0};
    arena_layout l;
    if (arena_read(&e, &l, t->sc, path, in_hand(t, path)) &&
        arena_read(&again, &l, t->sc, path, shipped(t, path)))
        must(&again);
    jw_obj(j, "arena");
    jw_u64(j, "slab_bytes", l.slab_bytes);
    jw_arr(j, "ranges");
    for (uint64_t i = 0; i < l.n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", l.ranges[i].name);
        jw_u64(j, "offset_bytes", l.ranges[i].offset_bytes);
        jw_u64(j, "bytes", l.ranges[i].bytes);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void capture_matrix(jw *j, const char *key, const lt_matrix *m)
{
    jw_obj(j, key);
    jw_str(j, "type", dtype_names[m->type]);
    jw_u64(j, "rows", m->rows);
    jw_u64(j, "cols", m->cols);
    jw_u64(j, "ld", m->ld);
    jw_str(j, "order", lt_order_names[m->order]);
    jw_end(j);
}

static void capture_calls(jw *j, t_tree *t)
{
    static const char path[] = "plan/resolved_calls.json";
    rp_err e = {0}, again = {0};
    recorded_call *c;
    uint64_t n;
    if (calls_read(&e, &c, &n, t->sc, path, in_hand(t, path)) &&
        calls_read(&again, &c, &n, t->sc, path, shipped(t, path)))
        must(&again);
    jw_arr(j, "calls");
    for (uint64_t i = 0; i < n; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "node", c[i].node);
        capture_matrix(j, "a", &c[i].call.a);
        capture_matrix(j, "b", &c[i].call.b);
        capture_matrix(j, "c", &c[i].call.c);
        capture_matrix(j, "d", &c[i].call.d);
        jw_bool(j, "trans_a", c[i].call.trans_a);
        jw_bool(j, "trans_b", c[i].call.trans_b);
        jw_str(j, "compute", "32f");
        jw_str(j, "scale", "f32");
        jw_str(j, "epilogue", lt_epilogue_names[c[i].call.epilogue]);
        jw_u64(j, "workspace_bytes", c[i].call.workspace_bytes);
        jw_end(j);
    }
    jw_end(j);
}

static void capture_kernels(jw *j, t_tree *t)
{
    static const char path[] = "plan/plan.json";
    static const uint64_t library_grid[] = {2, 64, 1}, library_block[] = {384, 1, 1};
    rp_err e = {0}, again = {0};
    plan *p;
    if (plan_read(&e, &p, t->sc, path, in_hand(t, path)) &&
        plan_read(&again, &p, t->sc, path, shipped(t, path)))
        must(&again);
    jw_arr(j, "kernels");
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        bool kernel = n->op == NODE_KERNEL;
        if (!kernel && n->op != NODE_MATMUL)
            continue;
        jw_obj(j, NULL);
        jw_str(j, "name", kernel ? n->entry : "nvjet_of_the_library");
        jw_u64(j, "node", i);
        jw_u64s(j, "grid", kernel ? n->grid : library_grid, 3);
        jw_u64s(j, "block", kernel ? n->block : library_block, 3);
        jw_u64(j, "dynamic_shared_bytes", kernel ? n->shared_bytes : 213284);
        jw_end(j);
    }
    jw_end(j);
}

void t_add_capture(t_tree *t)
{
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-capture/1");
    jw_str(j, "workload", t->name);
    jw_str(j, "producer", "tests/support.c");
    jw_str(j, "original", "none: a stand-in for tests");
    jw_obj(j, "device");
    jw_str(j, "name", "no device");
    jw_end(j);
    jw_str(j, "driver", "none");
    jw_arr(j, "libraries");
    jw_end(j);
    jw_arr(j, "files");
    for (size_t i = 0; i < t->n; i++) {
        file_role role = manifest_role_of(t->v[i].path);
        if (role == ROLE_FIXTURE || role == ROLE_CAPTURE)
            continue;
        jw_obj(j, NULL);
        jw_str(j, "path", t->v[i].path);
        jw_digest(j, "sha256", digest_of(t->v[i].bytes));
        jw_end(j);
    }
    jw_end(j);
    capture_arena(j, t);
    capture_calls(j, t);
    capture_kernels(j, t);
    jw_arr(j, "memcpy");
    jw_end(j);
    jw_arr(j, "timings");
    jw_end(j);
    jw_obj(j, "published");
    jw_arr(j, "figures");
    jw_end(j);
    jw_end(j);
    jw_arr(j, "not_observed");
    jw_str(j, NULL, "everything");
    jw_end(j);
    jw_end(j);
    t_put(t, "capture.json", finished(t, j));
}

void t_small(t_tree *t, scratch *sc)
{
    t_sources(t, sc, "weight_view.small");
    t_add_fixtures(t);
    t_add_records(t);
    t_add_capture(t);
}
