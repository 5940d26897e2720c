#include "tests/support.h"
#include "verify/verify.h"
#include <criterion/criterion.h>

typedef struct {
    const char *paths[4];  /* left out and listed */
    const char *checks[6]; /* that then have no answer */
    bool complete, describable;
} omission_case;

#define CU "kernels/000_cast.cu"
#define PTX "kernels/000_cast.ptx"
#define RECORD "kernels/000_cast.json"

static const omission_case cases[] = {
    {{"contract.json"}, {"contract"}, false, true},
    {{"reference.json"}, {"fixtures.binding", "fixtures.data", "contract"}, false, true},
    {{"plan/arena.json"}, {"identity.tables", "arena.rebuilt"}, false, false},
    {{"plan/resolved_calls.json"}, {"identity.tables", "resolve.captured"}, true, true},
    {{"plan/buffer_ir.txt"}, {"identity.texts"}, true, true},
    {{CU}, {"kernels.bytes", "kernels.entries"}, false, true},
    {{PTX}, {"kernels.bytes", "kernels.entries"}, false, true},
    {{CU, RECORD, PTX}, {"kernels.bytes", "kernels.entries"}, false, true},
    {{"fixtures/random.json", "fixtures/random.safetensors"}, {"fixtures.data"}, true, true},
    {{"fixtures/random.safetensors"}, {NULL}, true, true},
    {{"reference.json", "contract.json"}, {"fixtures.binding", "fixtures.data", "contract"}, false, true},
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const manifest_omitted *)a)->path, ((const manifest_omitted *)b)->path);
}

/* The small workload, changed as told, without these files. */
static span archive_of(scratch *sc, t_tree t, const char *const *paths, size_t n)
{
    span text;
    manifest_omitted v[4];
    for (size_t i = 0; i < n; i++) {
        t_drop(&t, paths[i]);
        v[i] = (manifest_omitted){.path = paths[i], .reason = "nobody kept it"};
    }
    qsort(v, n, sizeof *v, by_path);
    manifest *m = t_manifest(sc, t.name, t.v, t.n, &text);
    m->omitted = v;
    m->n_omitted = n;
    jw *j = jw_new(JW_PRETTY);
    rp_err e = {0};
    manifest_write(j, m);
    cr_assert_eq(jw_finish(&e, &text, j), RP_OK);
    span stream = t_stream(sc, text, t.v, t.n);
    jw_free(j);
    return t_frames(sc, stream, 1 << 22);
}

static span archive_without(scratch *sc, const char *const *paths, size_t n)
{
    t_tree t;
    t_small(&t, sc);
    return archive_of(sc, t, paths, n);
}

static bool in(const char *const *list, const char *name)
{
    for (size_t i = 0; i < 6 && list[i]; i++)
        if (!strcmp(list[i], name))
            return true;
    return false;
}

/* Whatever is left out and listed: no finding, the checks that need it unanswered with the manifest's reason
 * and no longer required, and every other check passed. */
Test(omissions, cost_what_needs_them)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const omission_case *c = &cases[i];
        scratch *sc = scratch_new(0);
        const char *dir = t_dir(sc);
        rp_err e = {0};
        store *st;
        report *r = report_new(sc);
        verify_result v;
        verify_options opt = {0};
        size_t n = 0, unanswered = 0;
        while (n < 4 && c->paths[n])
            n++;
        cr_assert_eq(store_open(&e, &st, t_write(sc, dir, "b.tar.zst", archive_without(sc, c->paths, n))),
                     RP_OK, "%s", e.msg);
        cr_assert_eq(verify_bundle(&e, &v, r, st, &opt), RP_OK, "%s", e.msg);
        cr_expect_eq(r->fs.n, 0, "%s: %s", c->paths[0], t_list(sc, &r->fs));
        cr_expect_eq(report_verdict(r), CHECK_PASSED, "%s", c->paths[0]);
        cr_expect_eq(bundle_complete(v.bundle), c->complete, "%s", c->paths[0]);
        cr_expect_eq(bundle_describable(v.bundle), c->describable, "%s", c->paths[0]);
        cr_expect_eq(v.has_signature, c->complete, "%s", c->paths[0]);
        for (size_t k = 0; k < r->n; k++) {
            const check *q = &r->v[k];
            bool cost = in(c->checks, q->name);
            if (!strcmp(q->name, "kernels.recompiled"))
                continue; /* no compiler is given */
            unanswered += cost && q->status == CHECK_NOT_CHECKABLE && !q->required;
            cr_expect_eq(q->status, cost ? CHECK_NOT_CHECKABLE : CHECK_PASSED, "%s: %s", c->paths[0],
                         q->name);
            if (cost)
                cr_expect(strstr(q->text, "is omitted: nobody kept it"), "%s", q->text);
        }
        for (size_t k = 0; k < 6 && c->checks[k]; k++)
            unanswered--;
        cr_expect_eq(unanswered, 0, "%s", c->paths[0]);
        store_free(st);
        t_remove(dir);
        scratch_free(sc);
    }
}

#define P16                                                                                                  \
    "\"buffer\": \"p16\",\n        \"layout\": {\"shape\": [40, 24], \"spellings\": [{\"kind\": "            \
    "\"right_major\"}]}\n"                                                                                   \
    "      },\n      \"grid\": ["

/* An omission hides nothing: what is there and contradicts is rejected by the check that went without answer.
 */
Test(omissions, hide_no_contradiction)
{
    static const struct {
        const char *omitted, *file, *from, *to, *check, *id;
    } v[] = {
        {"plan/typed_ops.json", "plan/buffer_ir.txt", "pinned[bias] caller ro", "pinned[bias] caller rw",
         "identity.texts", "identity.text"},
        {"plan/buffer_ir.txt", "plan/typed_ops.json", "\"label\":\"Cast\"", "\"label\":\"Coat\"",
         "identity.texts", "identity.text"},
        {"plan/arena.json", "plan/plan.json", P16 "4, 1, 1]", P16 "5, 1, 1]", "identity.tables",
         "identity.digest"},
        {"plan/resolved_calls.json", "plan/plan.json", P16 "4, 1, 1]", P16 "5, 1, 1]", "identity.tables",
         "identity.digest"},
        {"plan/arena.json", "plan/resolved_calls.json", "\"workspace_bytes\": 33554432",
         "\"workspace_bytes\": 0", "identity.tables", "identity.digest"},
        {"plan/resolved_calls.json", "plan/arena.json", "\"slab_bytes\": ", "\"slab_bytes\": 1",
         "identity.tables", "identity.digest"},
        {"reference.json", "contract.json", "\"measured_k\": [56", "\"measured_k\": [57", "contract",
         "contract.invalid"},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        scratch *sc = scratch_new(0);
        const char *dir = t_dir(sc);
        rp_err e = {0};
        store *st;
        report *r = report_new(sc);
        verify_result out;
        verify_options opt = {.quick = true};
        t_tree t;
        bool rejected = false, found = false;
        t_small(&t, sc);
        t_replace(&t, v[i].file, v[i].from, v[i].to);
        cr_assert_eq(store_open(&e, &st, t_write(sc, dir, "b.tar.zst", archive_of(sc, t, &v[i].omitted, 1))),
                     RP_OK, "%s", e.msg);
        cr_assert_eq(verify_bundle(&e, &out, r, st, &opt), RP_OK, "%s", e.msg);
        for (size_t k = 0; k < r->n; k++)
            rejected |= !strcmp(r->v[k].name, v[i].check) && r->v[k].status == CHECK_REJECTED;
        for (size_t k = 0; k < r->fs.n; k++)
            found |= !strcmp(finding_name(r->fs.v[k].id), v[i].id);
        cr_expect(rejected && found, "%s without %s: %s", v[i].file, v[i].omitted, t_list(sc, &r->fs));
        store_free(st);
        t_remove(dir);
        scratch_free(sc);
    }
}

/* A capture from outside does not pin a bundle that something was taken out of. */
Test(omissions, are_not_pinned_by_a_capture)
{
    static const char *const gone[] = {"contract.json", "reference.json", "plan/buffer_ir.txt"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        scratch *sc = scratch_new(0);
        const char *dir = t_dir(sc);
        rp_err e = {0};
        store *st;
        report *r = report_new(sc);
        verify_result out;
        t_tree t;
        t_small(&t, sc);
        const char *folder = file_join(sc, dir, "original");
        t_write_tree(sc, folder, t.v, t.n);
        cr_assert_eq(store_open(&e, &st, t_write(sc, dir, "b.tar.zst", archive_of(sc, t, &gone[i], 1))),
                     RP_OK, "%s", e.msg);
        const char *const captures[] = {folder, file_join(sc, folder, "capture.json")};
        for (size_t k = 0; k < 2; k++) {
            verify_options opt = {.quick = true, .capture_path = captures[k]};
            r = report_new(sc);
            cr_assert_eq(verify_bundle(&e, &out, r, st, &opt), RP_OK, "%s", e.msg);
            cr_expect(!r->fs.n && !out.pinned && out.trust == TRUST_CAPTURE_MATCHED && out.matched < out.of,
                      "%s: %s", gone[i], t_list(sc, &r->fs));
        }
        store_free(st);
        t_remove(dir);
        scratch_free(sc);
    }
}
