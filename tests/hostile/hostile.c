/* Makes the corpus of broken bundles, and checks that each is refused by the finding that names its fault.
 *
 *   hostile [--sample]      check all, or the fixed sample; REPLAY_FULL=1 asks for all and for every pair of
 * entries swapped hostile --write DIR     write them as DIR/NNNN-FINDING.tar.zst, and DIR/expected.tsv: name,
 * finding, case, file, place, what
 *
 * Nothing broken is kept in the repository: what is made is the same each time. */
#include "tests/hostile/hostile.h"
#include "artifacts/store.h"
#include "artifacts/tar.h"
#include "verify/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAMPLE = 5, QUICKLY_REFUSED_MIB = 96 };

typedef struct {
    const char *dir; /* NULL: check */
    FILE *list;
    bool sample;
    size_t n, checked, bad;
    size_t by_id[FIND_COUNT], by_case[CASE_COUNT];
    int fd; /* a memory file that each archive is put into */
} corpus;

static const char *const case_names[CASE_COUNT] = {"-",   "B01", "B02", "B04", "B05", "B07",
                                                   "B08", "B10", "B11", "B13", "B14", "B16"};

hostile_case case_of(finding_id id)
{
    switch (id) {
    case FIND_CONTAINER_EXTENDED:
        return CASE_B01;
    case FIND_CONTAINER_LINK:
    case FIND_CONTAINER_DEVICE:
    case FIND_CONTAINER_TYPE:
        return CASE_B02;
    case FIND_FILE_DUPLICATE:
    case FIND_MANIFEST_DUPLICATE:
    case FIND_MANIFEST_CASE:
        return CASE_B04;
    case FIND_CONTAINER_SPARSE:
    case FIND_FILE_SIZE:
        return CASE_B05;
    case FIND_CONTAINER_ZSTD:
    case FIND_CONTAINER_CHECKSUM:
    case FIND_CONTAINER_SKIPPABLE:
    case FIND_CONTAINER_FRAME:
    case FIND_CONTAINER_TRUNCATED:
    case FIND_CONTAINER_TRAILING:
        return CASE_B07;
    case FIND_CONTAINER_WINDOW:
        return CASE_B08;
    case FIND_FILE_EXTRA:
    case FIND_FILE_MISSING:
        return CASE_B10;
    case FIND_JSON_DUPLICATE_KEY:
    case FIND_JSON_UNKNOWN_KEY:
        return CASE_B11;
    case FIND_JSON_NUMBER:
        return CASE_B13;
    case FIND_JSON_SYNTAX:
    case FIND_JSON_DEPTH:
        return CASE_B14;
    case FIND_FIXTURE_FORMAT:
        return CASE_B16;
    default:
        return CASE_NONE;
    }
}

static bool fits(const expected *x, finding_id id, const char *file, const char *where)
{
    size_t n = x->where ? strlen(x->where) : 0;
    bool beginning = n && x->where[n - 1] == '*';
    return id == x->id && (!x->file || !strcmp(x->file, file)) &&
           (!x->where || (beginning ? !strncmp(x->where, where, n - 1) : !strcmp(x->where, where)));
}

static void complain(corpus *c, const expected *x, const char *found)
{
    c->bad++;
    printf("FAIL %s: %s: expected file %s at %s, found %s\n", finding_name(x->id), x->what,
           x->file ? x->file : "any", x->where ? x->where : "any", found);
}

static void judge(corpus *c, const expected *x, const char *path)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    report *r = report_new(sc);
    store *st = NULL;
    verify_result v;
    verify_options opt = {.quick = !x->full};
    if (store_open(&e, &st, path)) {
        if (e.code != RP_INVALID || !fits(x, e.id, e.file, e.where))
            complain(c, x,
                     scratch_printf(sc, "%s %s %s: %s",
                                    e.code == RP_INVALID ? finding_name(e.id) : "an error", e.file, e.where,
                                    e.msg));
    } else if (verify_bundle(&e, &v, r, st, &opt)) {
        complain(c, x, scratch_printf(sc, "an error: %s", e.msg));
    } else {
        bool found = false;
        for (size_t i = 0; i < r->fs.n; i++)
            found |= fits(x, r->fs.v[i].id, r->fs.v[i].file, r->fs.v[i].where);
        if (!found || report_verdict(r) == CHECK_PASSED)
            complain(c, x, r->fs.n ? t_list(sc, &r->fs) : "nothing");
    }
    store_free(st);
    scratch_free(sc);
}

static void take(void *ctx, const expected *x, span archive)
{
    corpus *c = ctx;
    rp_err e = {0};
    char path[64];
    size_t i = c->n++;
    c->by_id[x->id]++;
    c->by_case[x->answers]++;
    if (c->dir) {
        char name[128];
        snprintf(name, sizeof name, "%04zu-%s.tar.zst", i, finding_name(x->id));
        scratch *sc = scratch_new(0);
        t_write(sc, c->dir, name, archive);
        fprintf(c->list, "%s\t%s\t%s\t%s\t%s\t%s\n", name, finding_name(x->id), case_names[x->answers],
                x->file ? x->file : "*", x->where ? x->where : "*", x->what);
        scratch_free(sc);
        return;
    }
    if (c->sample && i % SAMPLE)
        return;
    c->checked++;
    snprintf(path, sizeof path, "/proc/self/fd/%d", c->fd);
    if (ftruncate(c->fd, 0) || lseek(c->fd, 0, SEEK_SET) || file_write_fd(&e, c->fd, path, archive))
        abort();
    judge(c, x, path);
}

/* --- Shared by the makers. --- */

void give(maker *m, span archive, finding_id id, const char *file, const char *where, const char *what, ...)
{
    va_list ap;
    va_start(ap, what);
    expected x = {.id = id,
                  .answers = m->answers ? m->answers : case_of(id),
                  .file = file,
                  .where = where,
                  .what = scratch_vprintf(m->sc, what, ap)};
    va_end(ap);
    m->out(m->ctx, &x, archive);
}

span framed(maker *m, span stream)
{
    return t_frames(m->sc, stream, 4 << 20);
}

size_t entry_at(const ground *g, size_t i)
{
    size_t at = 0;
    for (size_t k = 0; k < i; k++)
        at += (size_t)tar_entry_bytes(k ? g->tree.v[k - 1].bytes.n : g->text.n);
    return at;
}

const char *entry_path(const ground *g, size_t i)
{
    return i ? g->tree.v[i - 1].path : MANIFEST_PATH;
}

void fix_checksum(uint8_t header[512])
{
    unsigned sum = 8 * ' ';
    for (unsigned i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? 0u : header[i];
    char text[16];
    snprintf(text, sizeof text, "%06o", sum & 0777777);
    memcpy(header + 148, text, 7);
    header[155] = ' ';
}

/* --- What others would extract. --- */

static bool same_tree(const ground *g, scratch *sc, const char *dir)
{
    rp_err e = {0};
    const char *const *paths;
    size_t n;
    if (file_tree(&e, &paths, &n, sc, dir) || n != g->tree.n + 1)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *full = file_join(sc, dir, paths[i]);
        span want = strcmp(paths[i], MANIFEST_PATH)
                        ? t_has_file(&g->tree, paths[i]) ? t_bytes(&g->tree, paths[i]) : span_of("?", 1)
                        : g->text;
        if (!t_equal(t_slurp(sc, full), want))
            return false;
    }
    return true;
}

/* The set that tools extract is the set that was verified: the same names, the same bytes, nothing else. */
static size_t extract(const ground *g)
{
    static const struct {
        const char *needs, *command;
    } tools[] = {{"tar", "mkdir out && zstd -dcq b.tar.zst | tar -xf - -C out"},
                 {"bsdtar", "mkdir out && zstd -dcq b.tar.zst | bsdtar -xf - -C out"},
                 {"python3", "mkdir out && zstd -dcq b.tar.zst > b.tar && python3 -c 'import tarfile\n"
                             "t = tarfile.open(\"b.tar\")\n"
                             "t.extractall(\"out\")'"}};
    size_t bad = 0;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        scratch *sc = scratch_new(0);
        const char *dir = t_dir(sc);
        expected sound = {0};
        t_write(sc, dir, "b.tar.zst", t_frames(sc, g->stream, 4096));
        (void)sound;
        if (!t_has(tools[i].needs) || !t_has("zstd")) {
            printf("note: no %s, its extraction was not compared\n", tools[i].needs);
        } else if (t_shell(dir, tools[i].command) || !same_tree(g, sc, file_join(sc, dir, "out"))) {
            printf("FAIL %s extracts another set than was verified\n", tools[i].needs);
            bad++;
        }
        t_remove(dir);
        scratch_free(sc);
    }
    return bad;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const t_file *)a)->path, ((const t_file *)b)->path);
}

static void sound_first(corpus *c, const ground *g)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    report *r = report_new(sc);
    store *st;
    verify_result v;
    const char *dir = t_dir(sc);
    const char *path = t_write(sc, dir, "b.tar.zst", t_frames(sc, g->stream, 4 << 20));
    if (store_open(&e, &st, path) || verify_bundle(&e, &v, r, st, &(verify_options){0}) || r->fs.n) {
        printf("FAIL the bundle that all others are made from: %s %s\n", e.msg, t_list(sc, &r->fs));
        c->bad++;
    } else {
        store_free(st);
    }
    t_remove(dir);
    scratch_free(sc);
}

static void make_all(corpus *c, const ground *g, bool full)
{
    static void (*const makers[])(maker *) = {hostile_headers,   hostile_streams,   hostile_frames,
                                              hostile_manifests, hostile_documents, hostile_fixtures};
    for (size_t i = 0; i <= sizeof makers / sizeof *makers; i++) {
        maker m = {.g = g, .sc = scratch_new(0), .out = take, .ctx = c};
        if (i < sizeof makers / sizeof *makers)
            makers[i](&m);
        else
            hostile_swaps(&m, full);
        scratch_free(m.sc);
    }
}

int main(int argc, char **argv)
{
    rp_err e = {0};
    bool full = getenv("REPLAY_FULL") != NULL;
    ground g = {.sc = scratch_new(0)};
    corpus c = {.fd = file_temp(&e)};
    if (argc == 3 && !strcmp(argv[1], "--write")) {
        c.dir = argv[2];
        if (file_mkdirs(&e, c.dir) || !(c.list = fopen(file_join(g.sc, c.dir, "expected.tsv"), "w"))) {
            fprintf(stderr, "hostile: cannot write to %s\n", c.dir);
            return 3;
        }
    } else if (argc > 2 || (argc == 2 && strcmp(argv[1], "--sample"))) {
        fputs("usage: hostile [--sample | --write DIR]\n", stderr);
        return 2;
    } else {
        c.sample = argc == 2 && !full;
    }
    t_small(&g.tree, g.sc);
    qsort(g.tree.v, g.tree.n, sizeof *g.tree.v, by_path);
    t_manifest(g.sc, g.tree.name, g.tree.v, g.tree.n, &g.text);
    g.stream = t_stream(g.sc, g.text, g.tree.v, g.tree.n);
    if (!c.dir) {
        sound_first(&c, &g);
        c.bad += extract(&g);
    }
    make_all(&c, &g, full);
    size_t ids = 0;
    for (int i = 0; i < FIND_COUNT; i++)
        ids += c.by_id[i] > 0;
    printf("cases:");
    for (int i = 1; i < CASE_COUNT; i++) {
        printf(" %s %zu", case_names[i], c.by_case[i]);
        c.bad += !c.by_case[i];
    }
    printf(", other faults %zu\n", c.by_case[CASE_NONE]);
    if (c.list)
        fclose(c.list);
    close(c.fd);
    scratch_free(g.sc);
    if (c.dir)
        printf("%zu bundles under %zu findings\n", c.n, ids);
    else
        printf("hostile: %zu of %zu bundles under %zu findings checked, %zu wrong\n", c.checked, c.n, ids,
               c.bad);
    return c.bad ? 1 : 0;
}
