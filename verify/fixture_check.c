/* Fixtures: types and extents against the plan, inputs regenerated from recipes, expected outputs recomputed
 * by the reference. */
#include "artifacts/base/text.h"
#include "artifacts/safetensors.h"
#include "verify/fixture_file.h"
#include "verify/verify.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* The slot of that value among the plan's nodes of one op, or NULL. */
static const plan_slot *slot_of(const plan *p, node_op op, const char *value)
{
    for (uint64_t i = 0; i < p->n_nodes; i++)
        for (uint64_t k = 0; p->nodes[i].op == op && k < p->nodes[i].n_operands; k++)
            if (!strcmp(p->nodes[i].operands[k].port, value))
                return &p->nodes[i].operands[k];
    return NULL;
}

static void bind_tensor(report *r, const bundle *b, node_op op, const tensor *t)
{
    const plan_slot *s = slot_of(b->plan, op, t->name);
    if (!s) {
        findings_add(&r->fs, FIND_FIXTURE_SHAPE, "reference.json", t->name, NULL, NULL,
                     "expected the plan to have %s %s, found none",
                     op == NODE_INPUT ? "an input" : "an output", t->name);
        return;
    }
    const plan_buffer *buf = &b->plan->buffers[s->buffer];
    /* An output may be a view: its slot says how the buffer's elements are to be read, and a strided one
     * leaves some out. */
    bool dense = layout_has(&s->layout, LAYOUT_RIGHT_MAJOR) ||
                 (op == NODE_OUTPUT && layout_has(&s->layout, LAYOUT_LEFT_MAJOR));
    bool strided = !dense && op == NODE_OUTPUT && layout_has(&s->layout, LAYOUT_STRIDED);
    bool same = buf->type == t->type && s->layout.rank == t->rank &&
                (strided || (dense && t->elements * dtype_bytes(t->type) == buf->bytes));
    for (uint64_t i = 0; same && i < t->rank; i++)
        same = s->layout.shape[i] == t->shape[i];
    if (same && strided && !plan_output_strided(b->plan, s))
        findings_add(
            &r->fs, FIND_FIXTURE_SHAPE, "reference.json", t->name, NULL, NULL,
            "expected %s strided over a buffer of the caller's own with no element twice (each stride "
            "longer than what the shorter ones reach), found otherwise in buffer %s",
            t->name, buf->id);
    if (!same)
        findings_add(&r->fs, FIND_FIXTURE_SHAPE, "reference.json", t->name, NULL, NULL,
                     "expected %s as buffer %s has it (%s, %llu bytes, every element once), found %s with "
                     "%llu elements",
                     t->name, buf->id, dtype_names[buf->type], (unsigned long long)buf->bytes,
                     dtype_names[t->type], (unsigned long long)t->elements);
}

static void check_binding(report *r, const bundle *b)
{
    uint64_t slots = 0;
    report_begin(r, "fixtures.binding", true);
    if (!b->plan || !b->reference) {
        bundle_unanswered(r, b, (const char *const[]){"reference.json", NULL},
                          "plan.json or reference.json could not be read");
        return;
    }
    for (uint64_t i = 0; i < b->plan->n_nodes; i++)
        if (b->plan->nodes[i].op == NODE_INPUT || b->plan->nodes[i].op == NODE_OUTPUT)
            slots += b->plan->nodes[i].n_operands;
    size_t in = reference_n_inputs(b->reference), out = reference_n_outputs(b->reference);
    for (size_t i = 0; i < in; i++)
        bind_tensor(r, b, NODE_INPUT, reference_input(b->reference, i));
    for (size_t i = 0; i < out; i++)
        bind_tensor(r, b, NODE_OUTPUT, reference_output(b->reference, i));
    if (slots != in + out)
        findings_add(&r->fs, FIND_FIXTURE_SHAPE, "reference.json", NULL, NULL, NULL,
                     "expected the plan's %llu inputs and outputs, found %zu", (unsigned long long)slots,
                     in + out);
    report_end(r,
               "%zu inputs and %zu outputs of the reference against the plan's buffers: type, shape, bytes",
               in, out);
}

/* The retained file is not what the recipe and the reference give: say which tensor, and where. */
static void explain(rp_err *e, report *r, const bundle *b, const bundle_fixture *f, span made, scratch *sc)
{
    span have;
    st_tensor *want, *got;
    size_t n_want, n_got, before = r->fs.n;
    if (store_read(e, &have, sc, b->st, f->data_path) || st_read(e, &got, &n_got, sc, f->data_path, have)) {
        err_to_finding(e, &r->fs);
        return;
    }
    if (st_read(e, &want, &n_want, sc, f->data_path, made))
        return;
    for (size_t i = 0; i < n_want; i++) {
        size_t k = 0;
        while (k < n_got && strcmp(got[k].name, want[i].name))
            k++;
        bool input = !strncmp(want[i].name, "in.", 3);
        if (k == n_got || got[k].type != want[i].type || got[k].rank != want[i].rank ||
            memcmp(got[k].shape, want[i].shape, sizeof want[i].shape) || got[k].data.n != want[i].data.n) {
            findings_add(&r->fs, FIND_FIXTURE_SHAPE, f->data_path, want[i].name, NULL, NULL,
                         "expected tensor %s with the type and shape of the %s", want[i].name,
                         input ? "recipe" : "reference");
            continue;
        }
        size_t at = 0;
        while (at < want[i].data.n && want[i].data.p[at] == got[k].data.p[at])
            at++;
        if (at < want[i].data.n)
            findings_add(&r->fs, input ? FIND_FIXTURE_RECIPE : FIND_FIXTURE_EXPECTED, f->data_path,
                         want[i].name, NULL, NULL,
                         "expected the bytes that %s gives, found a difference at element %zu",
                         input ? "the recipe" : "the reference", at / (size_t)dtype_bytes(want[i].type));
    }
    if (r->fs.n == before)
        findings_add(&r->fs, FIND_FIXTURE_FORMAT, f->data_path, NULL, NULL, NULL,
                     "expected the file as the writer lays it out: the tensors are equal, the header is not");
}

/* Fixtures are made side by side; what is said about one, and every read of the store, goes by turns. */
enum { MAKERS_MAX = 4 };

typedef struct {
    report *r;
    const bundle *b;
    uint64_t next;
    rp_err err;
    pthread_mutex_t lock;
} makers;

static void judge_fixture(rp_err *e, makers *m, const bundle_fixture *f, const made_fixture *made, bool same,
                          scratch *sc)
{
    if (e->code) {
        (void)err_file(e, f->recipe_path);
        err_to_finding(e, &m->r->fs);
    } else if (!same) {
        explain(e, m->r, m->b, f, made->file, sc);
    }
}

/* Fixture data can be omitted without loss: it is made anew, and is what the manifest says of it. */
static bool is_the_omitted(const manifest_omitted *o, span made)
{
    return (!o->has_bytes || o->bytes == made.n) &&
           (!o->has_sha256 || digest_equal(o->sha256, digest_of(made)));
}

static void check_fixture(makers *m, const bundle_fixture *f)
{
    scratch *sc = scratch_new(0);
    made_fixture made = {0};
    rp_err e = {0};
    const manifest_file *listed = manifest_find(m->b->man, f->data_path);
    const manifest_omitted *left_out = manifest_find_omitted(m->b->man, f->data_path);
    bool same = false;
    if (!sc)
        err_nomem(&e);
    else if ((listed || left_out) && !fixture_make(&e, &made, sc, f->recipe, m->b->reference))
        same = listed ? made.file.n == listed->bytes && digest_equal(digest_of(made.file), listed->sha256)
                      : is_the_omitted(left_out, made.file);
    pthread_mutex_lock(&m->lock);
    if (left_out && sc && !e.code && !same)
        findings_add(&m->r->fs, FIND_FIXTURE_EXPECTED, f->data_path, NULL, NULL, NULL,
                     "expected the omitted file to be the %zu bytes that recipe and reference give, found "
                     "another size or digest in the manifest",
                     made.file.n);
    else if (left_out)
        (void)(e.code && sc && err_to_finding(&e, &m->r->fs));
    else if (!listed)
        findings_add(&m->r->fs, FIND_FILE_MISSING, f->data_path, NULL, NULL, NULL,
                     "expected the data of recipe %s in the manifest, found none", f->recipe_path);
    else if (sc)
        judge_fixture(&e, m, f, &made, same, sc);
    if (e.code && !m->err.code)
        m->err = e;
    pthread_mutex_unlock(&m->lock);
    scratch_free(sc);
}

static void *make_fixtures(void *arg)
{
    makers *m = arg;
    pthread_mutex_lock(&m->lock);
    while (m->next < m->b->n_fixtures && !m->err.code) {
        const bundle_fixture *f = &m->b->fixtures[m->next++];
        pthread_mutex_unlock(&m->lock);
        if (f->recipe)
            check_fixture(m, f);
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static void check_all(rp_err *e, report *r, const bundle *b)
{
    makers m = {.r = r, .b = b};
    pthread_t threads[MAKERS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t want = cpus < 1 ? 1 : cpus > MAKERS_MAX ? MAKERS_MAX : (uint64_t)cpus, have = 0;
    pthread_mutex_init(&m.lock, NULL);
    while (have + 1 < want && have + 1 < b->n_fixtures &&
           !pthread_create(&threads[have], NULL, make_fixtures, &m))
        have++;
    make_fixtures(&m);
    for (uint64_t i = 0; i < have; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&m.lock);
    if (m.err.code)
        *e = m.err;
}

/* Whether the recipe of that fixture's data is a listed omission. */
static bool recipe_omitted(const bundle *b, const char *data)
{
    const char *path = scratch_printf(b->sc, "%.*s.json", (int)(strlen(data) - strlen(".safetensors")), data);
    return path && manifest_find_omitted(b->man, path);
}

void verify_fixtures(rp_err *e, report *r, const bundle *b, bool quick)
{
    if (e->code)
        return;
    check_binding(r, b);
    report_begin(r, "fixtures.data", !quick);
    if (quick) {
        report_not_checkable(r, "--quick leaves regenerating inputs and recomputing expected outputs out");
        return;
    }
    if (!b->reference) {
        bundle_unanswered(r, b, (const char *const[]){"reference.json", NULL},
                          "reference.json could not be read");
        return;
    }
    check_all(e, r, b);
    for (size_t i = 0; i < b->man->n_files; i++) {
        const manifest_file *f = &b->man->files[i];
        bool made = false;
        for (uint64_t k = 0; k < b->n_fixtures; k++)
            made |= !strcmp(b->fixtures[k].data_path, f->path);
        if (f->role == ROLE_FIXTURE && !made && !recipe_omitted(b, f->path))
            findings_add(&r->fs, FIND_FIXTURE_RECIPE, f->path, NULL, NULL, NULL,
                         "expected a recipe for it, found none");
    }
    for (size_t i = 0; i < b->man->n_omitted && !e->code; i++)
        if (manifest_role_of(b->man->omitted[i].path) == ROLE_RECIPE) {
            report_omitted(r, b->man->omitted[i].path, b->man->omitted[i].reason);
            return;
        }
    if (!e->code)
        report_end(r,
                   "%llu fixtures: inputs regenerated, expected outputs recomputed in FP64, every byte equal",
                   (unsigned long long)b->n_fixtures);
}
