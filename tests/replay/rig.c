#include "tests/replay/rig.h"
#include "artifacts/base/proc.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

static void must(rp_err *e)
{
    char text[1200];
    err_text(e, text, sizeof text);
    cr_assert(e->code == RP_OK, "%s", text);
}

/* Another last bit in every (7 + fixture)-th element of the fixture's F16 outputs, where the last bit is far
 * below the tolerance. */
static void disturb(uint8_t *p, size_t bytes, size_t fixture)
{
    for (size_t i = 2 * fixture; i + 1 < bytes; i += 2 * (7 + fixture))
        if ((p[i + 1] & 0x7c) != 0x7c)
            p[i] ^= 1;
}

static void write_outputs(rig *g)
{
    const lowering *l = g->lowered;
    uint8_t *all = scratch_alloc(g->sc, (size_t)l->base.output_bytes);
    cr_assert(all != NULL);
    for (uint64_t i = 0; i < l->n_fixtures; i++)
        for (size_t o = 0; o < l->fixtures[i].n_outputs; o++) {
            const tensor *t = &l->fixtures[i].expected[o];
            size_t n = (size_t)(t->elements * dtype_bytes(t->type));
            uint8_t *p = all + l->base.fixtures[i].outputs[o].offset_bytes;
            memcpy(p, t->data, n);
            disturb(p, n, (size_t)i);
        }
    t_write(g->sc, g->dir, "outputs.bin", span_of(all, (size_t)l->base.output_bytes));
}

static void write_compiled(rig *g)
{
    const manifest *m = store_manifest(g->bundle.st);
    for (size_t i = 0; i < m->n_files; i++) {
        rp_err e = {0};
        span bytes;
        const char *slash = strrchr(m->files[i].path, '/');
        if (strncmp(m->files[i].path, "kernels/", 8))
            continue;
        if (store_read(&e, &bytes, g->sc, g->bundle.st, m->files[i].path))
            must(&e);
        t_write(g->sc, g->dir, slash + 1, bytes);
    }
}

void rig_up(rig *g)
{
    rp_err e = {0};
    char cwd[4096], hex[DIGEST_HEX];
    *g = (rig){.sc = scratch_new(0)};
    cr_assert(g->sc && getcwd(cwd, sizeof cwd));
    const char *self = proc_self_dir(g->sc);
    cr_assert(self != NULL);
    g->replay = scratch_printf(g->sc, "%s/../replay", self);
    g->dir = t_dir(g->sc);
    ran r = rig_shell(
        g, NULL,
        scratch_printf(g->sc, "\"$REPLAY\" pack '%s/artifacts/workloads/weight_view.small' -o small.tar.zst",
                       cwd));
    cr_assert(r.code == 0, "pack: exit %d: %s", r.code, r.err);
    if (opened_bundle(&e, &g->bundle, scratch_printf(g->sc, "%s/small.tar.zst", g->dir)))
        must(&e);
    const bundle *b = g->bundle.b;
    span *ptx = scratch_array(g->sc, b->n_kernels, sizeof *ptx);
    for (uint64_t i = 0; i < b->n_kernels; i++)
        ptx[i] = b->kernels[i].ptx;
    if (lower_bundle(&e, &g->lowered, g->sc, b, ptx))
        must(&e);
    write_outputs(g);
    write_compiled(g);
    digest_hex(store_manifest(g->bundle.st)->root, hex);
    g->root = scratch_printf(g->sc, "sha256:%s", hex);
}

void rig_down(rig *g)
{
    opened_close(&g->bundle);
    t_remove(g->dir);
    scratch_free(g->sc);
}

const char *rig_worker(rig *g, const char *mode)
{
    const char *self = proc_self_dir(g->sc);
    const char *program = scratch_printf(g->sc, "%s/fake-worker", self),
               *link = scratch_printf(g->sc, "%s/fake-worker-%s", g->dir, mode);
    cr_assert(!access(program, X_OK), "no %s", program);
    if (!file_exists(link))
        cr_assert(!symlink(program, link));
    return link;
}

ran rig_shell(rig *g, const char *mode, const char *command)
{
    const char *worker = mode ? rig_worker(g, mode) : scratch_printf(g->sc, "%s/no-worker", g->dir);
    const char *line = scratch_printf(
        g->sc,
        "export REPLAY='%s' REPLAY_GPU='%s' REPLAY_EMU='%s/no-emulator' ROOT='%s'; { %s\n} >.out 2>.err",
        g->replay, worker, g->dir, g->root ? g->root : "", command);
    ran r = {.code = t_shell(g->dir, line)};
    const char *const names[] = {".out", ".err"};
    const char **const texts[] = {&r.out, &r.err};
    for (int i = 0; i < 2; i++) {
        span s = t_slurp(g->sc, file_join(g->sc, g->dir, names[i]));
        *texts[i] = scratch_strndup(g->sc, (const char *)s.p, s.n);
    }
    return r;
}

ran rig_run(rig *g, const char *mode, const char *args)
{
    return rig_shell(g, mode, scratch_printf(g->sc, "\"$REPLAY\" %s", args));
}

bool rig_has(const rig *g, const char *path)
{
    return file_exists(file_join(g->sc, g->dir, path));
}

js_node *rig_json(rig *g, const ran *r)
{
    rp_err e = {0};
    js_node *root;
    uint64_t code = 0;
    if (js_parse(&e, &root, g->sc, "stdout", span_str(r->out)) || js_u64(&e, &code, root, "exit"))
        must(&e);
    cr_assert(code == (uint64_t)r->code, "the document says exit %llu, it was %d", (unsigned long long)code,
              r->code);
    return root;
}

js_node *rig_at(js_node *v, const char *path)
{
    for (const char *p = path; *p;) {
        char key[80];
        size_t n = strcspn(p, "/");
        cr_assert(n < sizeof key);
        memcpy(key, p, n);
        key[n] = 0;
        js_node *next = NULL;
        if (js_kind(v) == JS_OBJECT)
            next = js_find(v, key);
        else if (js_kind(v) == JS_ARRAY && strtoul(key, NULL, 10) < js_len(v))
            next = js_at(v, strtoul(key, NULL, 10));
        cr_assert(next != NULL, "nothing at %s of %s", key, path);
        v = next;
        p += n + (p[n] == '/');
    }
    return v;
}

const char *rig_text(js_node *v, const char *path)
{
    rp_err e = {0};
    const char *s;
    if (js_as_str(&e, &s, rig_at(v, path)))
        must(&e);
    return s;
}

uint64_t rig_number(js_node *v, const char *path)
{
    rp_err e = {0};
    uint64_t n;
    if (js_as_u64(&e, &n, rig_at(v, path)))
        must(&e);
    return n;
}

bool rig_found(js_node *v, const char *id, const char *file, const char *at)
{
    js_node *a = rig_at(v, "findings");
    for (size_t i = 0; i < js_len(a); i++) {
        js_node *f = js_at(a, i);
        if (!strcmp(rig_text(f, "id"), id) && (!file || !strcmp(rig_text(f, "file"), file)) &&
            (!at || !strncmp(rig_text(f, "at"), at, strlen(at))))
            return true;
    }
    return false;
}

const char *rig_list(rig *g, js_node *v)
{
    js_node *a = rig_at(v, "findings");
    const char *all = js_len(a) ? "" : "(no findings)";
    for (size_t i = 0; i < js_len(a); i++)
        all = scratch_printf(g->sc, "%s\n%s %s %s: %s", all, rig_text(js_at(a, i), "id"),
                             rig_text(js_at(a, i), "file"), rig_text(js_at(a, i), "at"),
                             rig_text(js_at(a, i), "message"));
    return all;
}
