/* Broken archives, as a user meets them: exit code, finding, and one document whatever happens. */
#include "artifacts/tar.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>

typedef struct {
    rig g;
    t_tree t;
    span text; /* of the manifest */
} scene;

static void set_up(scene *s)
{
    rig_up(&s->g);
    t_small(&s->t, s->g.sc);
    t_manifest(s->g.sc, "weight_view.small", s->t.v, s->t.n, &s->text);
}

static void tear_down(scene *s)
{
    rig_down(&s->g);
}

static span framed(scene *s, span stream, size_t frame_bytes)
{
    return t_frames(s->g.sc, stream, frame_bytes);
}

/* `verify` of these bytes: exit code and finding (exit 3: the error's id). */
static void expect(scene *s, span archive, int code, const char *id, const char *file)
{
    t_write(s->g.sc, s->g.dir, "x.tar.zst", archive);
    ran r = rig_run(&s->g, NULL, "verify x.tar.zst --quick --json");
    cr_assert(r.code == code, "%s: expected exit %d, found %d: %s", id, code, r.code, r.err);
    js_node *root = rig_json(&s->g, &r);
    if (code == 3) {
        cr_assert_str_eq(rig_text(root, "error/id"), id);
        cr_assert_str_eq(rig_text(root, "error/file"), "x.tar.zst", "an error names the file");
    } else if (code) {
        js_node *v = rig_at(root, "results/0");
        cr_assert(rig_found(v, id, file, NULL), "expected %s of %s, found %s", id, file ? file : "any",
                  rig_list(&s->g, v));
        cr_assert_str_eq(rig_text(v, "verdict"), "rejected");
    }
    /* The plain form comes to the same. */
    r = rig_run(&s->g, NULL, "verify x.tar.zst --quick");
    cr_assert(r.code == code && (code != 1 || strstr(r.out, scratch_printf(s->g.sc, "finding %s", id))),
              "%s: exit %d\n%s", id, r.code, r.out);
}

Test(cli, container)
{
    scene s;
    set_up(&s);
    span stream = t_stream(s.g.sc, s.text, s.t.v, s.t.n), one = framed(&s, stream, 1 << 22),
         many = framed(&s, stream, 4096);
    expect(&s, one, 0, "", NULL);
    expect(&s, many, 0, "", NULL);
    /* Cut before the manifest was whole, and after it. */
    expect(&s, span_of(many.p, 100), 3, "container.truncated", NULL);
    expect(&s, span_of(one.p, 4), 3, "container.truncated", NULL);
    expect(&s, span_of(one.p, one.n - 1), 1, "container.truncated", NULL);
    expect(&s, span_of(many.p, many.n - 100), 1, "container.truncated", NULL);
    expect(&s, span_of(many.p, many.n / 2), 1, "container.truncated", NULL);
    expect(&s, t_splice(s.g.sc, many, many.n, 0, span_str("more")), 1, "container.trailing", NULL);
    expect(&s, t_splice(s.g.sc, many, many.n, 0, framed(&s, span_str("more"), 4096)), 1, "container.end",
           NULL);
    expect(&s,
           framed(&s,
                  span_str("a text, and a long one, but no tar archive of any kind, whatever the name of the "
                           "file may say"),
                  4096),
           3, "container.truncated", NULL);
    uint8_t *noise = scratch_alloc(s.g.sc, 4096);
    for (size_t i = 0; i < 4096; i++)
        noise[i] = (uint8_t)(i * i / 7 + 1);
    expect(&s, framed(&s, span_of(noise, 4096), 4096), 3, "container.header", NULL);
    /* The first entry is another than the manifest. */
    size_t head = tar_entry_bytes(s.text.n);
    expect(&s, framed(&s, span_of(stream.p + head, stream.n - head), 1 << 22), 3, "container.order", NULL);
    expect(&s, framed(&s, t_flip(s.g.sc, stream, head + 150, 1), 4096), 1, "container.header", NULL);
    tear_down(&s);
}

Test(cli, missing_and_extra)
{
    scene s;
    set_up(&s);
    t_tree less = s.t, more = s.t;
    t_drop(&less, "plan/arena.json");
    expect(&s, framed(&s, t_stream(s.g.sc, s.text, less.v, less.n), 1 << 22), 1, "file.missing",
           "plan/arena.json");
    t_put(&more, "fixtures/other.json", span_str("{}"));
    expect(&s, framed(&s, t_stream(s.g.sc, s.text, more.v, more.n), 1 << 22), 1, "file.extra", NULL);
    tear_down(&s);
}

/* One bit, in each file. */
Test(cli, flipped)
{
    scene s;
    set_up(&s);
    for (size_t i = 0; i < s.t.n; i++) {
        t_tree t = s.t;
        t_put(&t, t.v[i].path, t_flip(s.g.sc, t.v[i].bytes, t.v[i].bytes.n / 2, 4));
        expect(&s, framed(&s, t_stream(s.g.sc, s.text, t.v, t.n), 1 << 22), 1, "file.digest", t.v[i].path);
    }
    tear_down(&s);
}

Test(cli, manifest)
{
    scene s;
    set_up(&s);
    static const struct {
        const char *from, *to, *id;
    } v[] = {
        {"\"name\": ", "\"name\": \"twice\", \"name\": ", "json.duplicate_key"},
        {"\"name\": ", "\"more\": 1, \"name\": ", "json.unknown_key"},
        {"\"format\": \"replay-bundle/1\"", "\"format\": \"replay-bundle/7\"", "json.value"},
        {"\"omitted\": []", "\"omitted\": [", "json.syntax"},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        expect(&s,
               framed(&s, t_stream(s.g.sc, t_replaced(s.g.sc, s.text, v[i].from, v[i].to), s.t.v, s.t.n),
                      1 << 22),
               1, v[i].id, "manifest.json");
    tear_down(&s);
}

/* What is in a damaged bundle is neither shown nor run nor compared. */
Test(cli, damaged_for_others)
{
    scene s;
    set_up(&s);
    t_put(&s.t, "kernels/000_cast.cu", t_flip(s.g.sc, t_bytes(&s.t, "kernels/000_cast.cu"), 10, 4));
    t_write(s.g.sc, s.g.dir, "x.tar.zst", framed(&s, t_stream(s.g.sc, s.text, s.t.v, s.t.n), 1 << 22));
    ran r = rig_run(&s.g, NULL, "inspect x.tar.zst kernels/000_cast.cu");
    cr_assert_eq(r.code, 1);
    cr_assert_str_eq(r.out, "");
    cr_assert(strstr(r.err, "kernels/000_cast.cu: "), "%s", r.err);
    r = rig_run(&s.g, "good", "run x.tar.zst --out ev --json");
    cr_assert_eq(r.code, 1);
    cr_assert(rig_found(rig_json(&s.g, &r), "file.digest", "kernels/000_cast.cu", NULL));
    cr_assert(!rig_has(&s.g, "ev") && !rig_has(&s.g, "ev.partial"));
    r = rig_run(&s.g, NULL, "compare x.tar.zst small.tar.zst --json");
    cr_assert_eq(r.code, 3);
    cr_assert_str_eq(rig_text(rig_json(&s.g, &r), "error/id"), "file.digest");
    tear_down(&s);
}

/* A manifest that breaks a rule was reached: `run` answers no, as `verify` does; where only something is to
 * be shown, it cannot be. */
Test(cli, refused_manifest_for_others)
{
    scene s;
    set_up(&s);
    span text = t_replaced(s.g.sc, s.text, "\"name\": ", "\"more\": 1, \"name\": ");
    t_write(s.g.sc, s.g.dir, "x.tar.zst", framed(&s, t_stream(s.g.sc, text, s.t.v, s.t.n), 1 << 22));
    ran r = rig_run(&s.g, "good", "run x.tar.zst --out ev --json");
    cr_assert_eq(r.code, 1, "%s", r.err);
    js_node *root = rig_json(&s.g, &r);
    cr_assert(rig_found(root, "json.unknown_key", "manifest.json", NULL), "%s", rig_list(&s.g, root));
    cr_assert_str_eq(rig_text(root, "status"), "rejected");
    r = rig_run(&s.g, "good", "run x.tar.zst --out ev");
    cr_assert_eq(r.code, 1);
    cr_assert(strstr(r.out, "not run: the bundle was not accepted"), "%s", r.out);
    cr_assert(!rig_has(&s.g, "ev") && !rig_has(&s.g, "ev.partial"));
    r = rig_run(&s.g, NULL, "inspect x.tar.zst --json");
    cr_assert_eq(r.code, 3);
    cr_assert_str_eq(rig_text(rig_json(&s.g, &r), "error/id"), "json.unknown_key");
    tear_down(&s);
}

/* The same sources give the root that is pinned, whoever compiled this. */
Test(cli, root_of_the_small_bundle)
{
    rig g;
    rig_up(&g);
    const char *pinned = scratch_printf(g.sc, "weight_view.small %s\n", g.root + strlen("sha256:"));
    span text = t_slurp(g.sc, "tests/data/roots.txt");
    cr_assert(memmem(text.p, text.n, pinned, strlen(pinned)), "tests/data/roots.txt lacks the line: %s",
              pinned);
    rig_down(&g);
}

/* Every JSON document says what it is, passed or failed. */
Test(cli, json_names_its_format)
{
    static const struct {
        const char *args, *format;
    } v[] = {
        {"verify small.tar.zst --json --quick", "replay-verdict/0"},
        {"verify nowhere --json", "replay-error/0"},
        {"resolve small.tar.zst --cpu-only --json", "replay-resolved/0"},
        {"resolve --json", "replay-error/0"},
        {"run small.tar.zst --json --out ev", "replay-run/0"},
        {"run nowhere --json", "replay-error/0"},
        {"audit ev --json", "replay-audit/0"},
        {"audit nowhere --json", "replay-error/0"},
        {"compare small.tar.zst ev --json", "replay-comparison/0"},
        {"compare small.tar.zst nowhere --json", "replay-error/0"},
        {"pack nowhere -o b --json", "replay-error/0"},
        {"nothing --json", "replay-error/0"},
    };
    rig g;
    rig_up(&g);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        ran r = rig_run(&g, "good", v[i].args);
        cr_assert_str_eq(rig_text(rig_json(&g, &r), "format"), v[i].format, "%s", v[i].args);
        /* Same input, same document. */
        if (strncmp(v[i].args, "run", 3) != 0) {
            ran again = rig_run(&g, "good", v[i].args);
            cr_assert_str_eq(r.out, again.out, "%s", v[i].args);
        }
    }
    rig_down(&g);
}
