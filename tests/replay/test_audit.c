/* Evidence that was touched: every change is seen, by the finding that belongs to it. */
#include "artifacts/zs.h"
#include "replay/evidence.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>
#include <stdlib.h>

typedef struct {
    const char *what; /* shell, in a copy of sound evidence */
    const char *id, *file, *at;
} touch;

/* What `sha256sum -c` says of it: BLIND is for files that are not listed, or lines that are there twice. */
typedef enum { ANY, SEES, BLIND } coreutils;

static const char resum[] =
    "find . -type f ! -name SHA256SUMS -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS";

/* In place; the test fails where nothing was changed. */
#define SED(script, file) "cp " file " ../was && sed -i '" script "' " file " && ! cmp -s " file " ../was"

static const struct {
    touch t;
    coreutils coreutils;
} sums[] = {
    {{"sed -i '/plan_signature.json/d' SHA256SUMS", "evidence.sums", "plan_signature.json", ""}, BLIND},
    {{"sed -i '1s/^./x/' SHA256SUMS", "evidence.sums", "SHA256SUMS", "line 1"}, SEES},
    {{"sed -i '2s/^\\(.\\{64\\}\\)  /\\1 /' SHA256SUMS", "evidence.sums", "SHA256SUMS", "line 2"}, ANY},
    {{"printf %s \"$(cat SHA256SUMS)\" >../s && mv ../s SHA256SUMS", "evidence.sums", "SHA256SUMS", "line "},
     BLIND},
    {{"sed -i "
      "'/environment.json/s/^.\\{64\\}/0000000000000000000000000000000000000000000000000000000000000000/' "
      "SHA256SUMS",
      "evidence.sums", "environment.json", ""},
     SEES},
    {{": >SHA256SUMS", "evidence.sums", "evidence.json", ""}, SEES},
    {{"head -n 1 SHA256SUMS >>SHA256SUMS", "evidence.sums", "bundle/capture.json", ""}, BLIND},
    {{"rm SHA256SUMS", "evidence.partial", "SHA256SUMS", ""}, SEES},
    {{"echo more >phases/more", "evidence.sums", "phases/more", ""}, BLIND},
    {{"echo >>environment.json", "evidence.sums", "environment.json", ""}, SEES},
    {{"rm environment.json", "evidence.sums", "environment.json", ""}, SEES},
    {{"cd phases/2-timing-1/outputs && mv integers.xor.zst x && mv random.xor.zst integers.xor.zst && mv x "
      "random.xor.zst",
      "evidence.sums", "phases/2-timing-1/outputs/random.xor.zst", ""},
     SEES},
};

static const touch documents[] = {
    /* The middle sample of the timed blocks, so the median: what was claimed of it falls. */
    {SED("s/18207000/18307000/", "phases/2-timing-1/result.json"), "evidence.claim", "evidence.json",
     "/timings/0"},
    {SED("s/\"median_ps\": 18207000/\"median_ps\": 9207000/", "evidence.json"), "evidence.claim",
     "evidence.json", "/timings/0"},
    {SED("0,/\"status\": \"passed\"/s//\"status\": \"numerical_rejection\"/", "evidence.json"),
     "evidence.claim", "evidence.json", "/status"},
    {SED("s/\"checks_passed\": 35/\"checks_passed\": 34/", "evidence.json"), "evidence.claim",
     "evidence.json", "/checks_passed"},
    {SED("s/\"phases_requested\": 5/\"phases_requested\": 4/", "evidence.json"), "evidence.claim",
     "evidence.json", "/phases"},
    {SED("0,/\"root\": \"./s//\"root\": \"g/", "evidence.json"), "json.value", "evidence.json",
     "/bundle/root"},
    {SED("s/\"name\": \"weight_view.small\"/\"name\": \"weight_view.large\"/", "evidence.json"),
     "evidence.claim", "evidence.json", "/bundle/name"},
    {SED("/\"name\": \"timing-2\"/s/timing-2/timing-9/", "evidence.json"), "evidence.claim", "evidence.json",
     "/phases/2/name"},
    {SED("s/\"status\": \"passed\",/\"status\": \"passed\", \"status\": \"passed\",/", "evidence.json"),
     "json.duplicate_key", "evidence.json", NULL},
    {"rm evidence.json", "evidence.partial", "evidence.json", ""},
    {SED("s/\"registers\":168/\"registers\":169/", "phases/3-timing-2/observed_signature.json"),
     "evidence.invalid", "phases/3-timing-2/observed_signature.json", ""},
    {SED("s/\"warmup\": 10/\"warmup\": 11/", "phases/2-timing-1/job.json"), "evidence.invalid",
     "phases/2-timing-1/job.json", ""},
    {SED("s/\"phase\": \"timing\"/\"phase\": \"validate\"/", "phases/2-timing-1/job.json"),
     "evidence.invalid", "phases/2-timing-1/result.json", "/job_sha256"},
    {SED("s/rows=24/rows=42/", "phases/1-validate/library.log"), "evidence.invalid",
     "phases/1-validate/library.log", ""},
    /* Both places changed alike: then it is not the resolved call. */
    {SED("s/ld=56/ld=64/",
         "phases/1-validate/library.log") " && sed -i 's/ld=56/ld=64/' phases/1-validate/result.json",
     "run.intercept", "phases/1-validate/library.log", NULL},
    {SED("0,/\"block\": \\[256, 1, 1\\]/s//\"block\": [128, 1, 1]/", "phases/1-validate/result.json"),
     "run.graph", "phases/1-validate/result.json", "/graph/"},
    {SED("0,/\"start_ns\": 3500/s//\"start_ns\": 3600/;0,/\"launch\": 1/s//\"launch\": 0/",
         "phases/4-timeline/result.json"),
     "run.timeline", "phases/4-timeline/result.json", "/timeline/"},
    {SED("s/\"format\": \"replay-result.0\"/\"format\": \"replay-result\\/1\"/",
         "phases/1-validate/result.json"),
     "evidence.invalid", "phases/1-validate", NULL},
    {"rm -r phases/4-timeline", "evidence.claim", "evidence.json", "timeline"},
    {"rm phases/5-instructions/result.json", "evidence.claim", "evidence.json", "instructions"},
    {"rm phases/3-timing-2/job.json", "evidence.invalid", "phases/3-timing-2", NULL},
    {"rm phases/3-timing-2/outputs/held_out.xor.zst", "evidence.invalid",
     "phases/3-timing-2/outputs/held_out.xor.zst", ""},
    {"echo x >>phases/3-timing-2/outputs/held_out.xor.zst", "evidence.invalid",
     "phases/3-timing-2/outputs/held_out.xor.zst", ""},
    {SED("s/24/26/", "plan_signature.json"), "run.signature", "plan_signature.json", ""},
    {"rm compiled/001.ptx", "evidence.invalid", "compiled/001.ptx", ""},
    /* Other PTX was run than the job names by its digest. */
    {"echo >>compiled/001.ptx", "evidence.invalid", "phases/1-validate/job.json", ""},
    {SED("s/\"weight_view.small\"/\"weight_view.other\"/", "bundle/plan/plan.json"), "file.digest",
     "plan/plan.json", NULL},
    {"rm bundle/contract.json", "file.missing", "contract.json", NULL},
    {"echo x >bundle/fixtures/more.json", "file.extra", "fixtures/more.json", NULL},
    {"rm -r bundle", "evidence.invalid", "bundle", NULL},
};

static void good_run(rig *g)
{
    rig_up(g);
    ran r = rig_run(g, "good", "run small.tar.zst --out ev");
    cr_assert(r.code == 0, "%s%s", r.out, r.err);
}

static void one_touch(rig *g, const touch *t, bool made_anew, coreutils expected)
{
    ran r = rig_shell(g, NULL,
                      scratch_printf(g->sc, "rm -rf c && cp -r ev c && cd c && { %s; } && cd %s/c && { %s; }",
                                     t->what, g->dir, made_anew ? resum : ":"));
    cr_assert(r.code == 0, "%s: %s", t->what, r.err);
    int code = t_shell(g->dir, "cd c && sha256sum --quiet --strict -c SHA256SUMS >/dev/null 2>&1");
    cr_assert(expected == ANY || (expected == SEES) == (code != 0), "%s: sha256sum -c: exit %d", t->what,
              code);
    r = rig_run(g, NULL, "audit c --json");
    cr_assert(r.code == 1, "%s: exit %d\n%s", t->what, r.code, r.err);
    js_node *v = rig_at(rig_json(g, &r), "results/0");
    cr_assert(rig_found(v, t->id, t->file, t->at), "%s: expected %s %s %s, found %s", t->what, t->id, t->file,
              t->at ? t->at : "", rig_list(g, v));
    cr_assert(!made_anew || !rig_found(v, "evidence.sums", NULL, NULL), "%s: %s", t->what, rig_list(g, v));
}

Test(audit, sums)
{
    rig g;
    good_run(&g);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        one_touch(&g, &sums[i].t, false, sums[i].coreutils);
    rig_down(&g);
}

/* Documents changed, and SHA256SUMS made anew: what was retained contradicts itself. */
Test(audit, documents)
{
    rig g;
    good_run(&g);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        one_touch(&g, &documents[i], true, BLIND);
    rig_down(&g);
}

/* Wrong numbers in the retained outputs are seen whatever was claimed. */
Test(audit, outputs_judged_again)
{
    rig g;
    rp_err e = {0};
    good_run(&g);
    const tensor *t = &g.lowered->fixtures[1].expected[0];
    size_t n = (size_t)(t->elements * dtype_bytes(t->type));
    uint8_t *zero = scratch_alloc(g.sc, n), *x = scratch_alloc(g.sc, n);
    x[101] = 0x48;
    evidence ev = {.final_dir = "", .dir = scratch_printf(g.sc, "%s/ev", g.dir), .sc = g.sc};
    const char *path =
        scratch_printf(g.sc, "phases/2-timing-1/outputs/%s.xor.zst", g.lowered->fixtures[1].name);
    cr_assert(!evidence_put_xor(&e, &ev, path, span_of(x, n), span_of(zero, n)), "%s", e.msg);
    cr_assert_eq(t_shell(g.dir, scratch_printf(g.sc, "cd ev && %s", resum)), 0);
    ran r = rig_run(&g, NULL, "audit ev --json");
    cr_assert_eq(r.code, 1, "a wrong claim, not only a numerical rejection: %d", r.code);
    js_node *v = rig_at(rig_json(&g, &r), "results/0");
    cr_assert(rig_found(v, "run.numeric", path, "y[50]"), "%s", rig_list(&g, v));
    cr_assert(rig_found(v, "evidence.claim", "evidence.json", "/phases/1/status"), "%s", rig_list(&g, v));
    cr_assert(rig_found(v, "evidence.claim", "evidence.json", "/checks_passed"), "%s", rig_list(&g, v));
    rig_down(&g);
}

Test(audit, for_people)
{
    rig g;
    good_run(&g);
    ran r = rig_run(&g, NULL, "audit ev --root $ROOT");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert(strstr(r.out, "not re-checked:") && strstr(r.out, "rest on the worker's word"), "%s", r.out);
    cr_assert(strstr(r.out, "every claim holds; evidence self-consistent, bundle pinned"), "%s", r.out);
    r = rig_run(&g, NULL,
                "audit ev --root sha256:0000000000000000000000000000000000000000000000000000000000000000");
    cr_assert_eq(r.code, 1);
    cr_assert(strstr(r.out, "finding trust.root") && strstr(r.out, "audit: rejected"), "%s", r.out);
    /* Several: the worst counts, each is shown. */
    r = rig_shell(&g, NULL, "cp -r ev broken && rm broken/SHA256SUMS && \"$REPLAY\" audit ev broken");
    cr_assert_eq(r.code, 1);
    cr_assert(strstr(r.out, "== ev\n") && strstr(r.out, "== broken\n"), "%s", r.out);
    r = rig_run(&g, NULL, "audit ev broken --json");
    js_node *root = rig_json(&g, &r);
    cr_assert_eq(rig_number(root, "results/0/exit"), 0);
    cr_assert_eq(rig_number(root, "results/1/exit"), 1);
    r = rig_run(&g, NULL, "audit ev nowhere --json");
    cr_assert_eq(r.code, 3);
    rig_json(&g, &r);
    cr_assert(strstr(r.err, "nowhere: expected a folder of evidence"), "%s", r.err);
    r = rig_shell(&g, NULL, "ln -s evidence.json ev/link; \"$REPLAY\" audit ev");
    cr_assert_eq(r.code, 3);
    cr_assert(strstr(r.err, "ev/link: expected regular files and folders only"), "%s", r.err);
    rig_down(&g);
}

/* Where the compiler here made other PTX than the capture keeps, that is said, and the run stands. */
Test(audit, other_ptx)
{
    rig g;
    rig_up(&g);
    cr_assert_eq(t_shell(g.dir, "echo >>001_add.ptx"), 0);
    ran r = rig_run(&g, "good", "run small.tar.zst --out ev --phases 1");
    cr_assert_eq(r.code, 0, "%s%s", r.out, r.err);
    r = rig_run(&g, NULL, "audit ev");
    cr_assert_eq(r.code, 0);
    cr_assert(
        strstr(r.out, "1 of 2 kernels were run as another PTX than the bundle's: source not tied to the PTX"),
        "%s", r.out);
    rig_down(&g);
}

/* More or larger than is taken on: said, and nothing of it is read. */
Test(audit, limits)
{
    static const char *const flags[] = {"--max-entries 3", "--max-file-bytes 1000", "--max-total-bytes 1000"};
    rig g;
    good_run(&g);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        ran r = rig_run(&g, NULL, scratch_printf(g.sc, "audit ev %s --json", flags[i]));
        cr_assert_eq(r.code, 1, "%s: %s", flags[i], r.err);
        js_node *v = rig_at(rig_json(&g, &r), "results/0");
        cr_assert(rig_found(v, "evidence.limit", NULL, NULL), "%s: %s", flags[i], rig_list(&g, v));
        cr_assert_eq(js_len(rig_at(v, "findings")), 1, "%s: %s", flags[i], rig_list(&g, v));
    }
    rig_down(&g);
}

/* A signed verdict of a run that did not pass is read back like any other. */
Test(audit, attested_whatever_the_verdict)
{
    rig g;
    rig_up(&g);
    ran r = rig_shell(&g, "numeric",
                      "openssl genpkey -algorithm ed25519 -out k.pem 2>err && "
                      "openssl pkey -in k.pem -pubout -out k.pub && "
                      "\"$REPLAY\" run small.tar.zst --out ev >out; "
                      "\"$REPLAY\" attest ev --key k.pem -o ev.dsse.json >out && "
                      "\"$REPLAY\" audit ev --key k.pub --json");
    cr_assert_eq(r.code, 5, "%s%s", r.out, r.err);
    js_node *v = rig_at(rig_json(&g, &r), "results/0");
    cr_assert_str_eq(rig_text(v, "trust_evidence"), "signed", "%s", rig_list(&g, v));
    rig_down(&g);
}

/* --- compare. --- */

Test(compare, evidence)
{
    rig g;
    good_run(&g);
    ran r =
        rig_shell(&g, "good",
                  "\"$REPLAY\" run small.tar.zst --out ev2 >/dev/null && \"$REPLAY\" compare ev ev2 --json");
    cr_assert_eq(r.code, 0, "%s", r.err);
    js_node *root = rig_json(&g, &r);
    cr_assert(strstr(r.out, "\"equal\": true") && !strstr(r.out, "\"equal\": false"), "%s", r.out);
    cr_assert_str_eq(rig_text(root, "documents/1/document"), "observed signature");
    cr_assert_eq(rig_number(root, "timings/0/a_median_ps"), rig_number(root, "timings/0/b_median_ps"));
    r = rig_run(&g, NULL, "compare ev ev2");
    cr_assert(strstr(r.out, "plan signature: equal\nobserved signature: equal\n") &&
                  strstr(r.out, "host_graph_launch_sync"),
              "%s", r.out);

    r = rig_shell(
        &g, "other-device",
        "\"$REPLAY\" run small.tar.zst --out other >/dev/null && \"$REPLAY\" compare ev other --json");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert_str_eq(rig_text(rig_json(&g, &r), "timings_not_compared"), "another device");
    cr_assert(!strstr(r.out, "a_median_ps"), "%s", r.out);
    r = rig_run(&g, NULL, "compare ev other");
    cr_assert(strstr(r.out, "timings: not compared (another device)"), "%s", r.out);

    /* Evidence against a bundle: plans alone. */
    r = rig_run(&g, NULL, "compare ev small.tar.zst --json");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert_eq(js_len(rig_at(rig_json(&g, &r), "documents")), 1);

    /* What `audit` does not accept is not compared. */
    r = rig_shell(&g, NULL, "rm ev2/SHA256SUMS; \"$REPLAY\" compare ev ev2 --json");
    cr_assert_eq(r.code, 3);
    cr_assert_str_eq(rig_text(rig_json(&g, &r), "error/id"), "evidence.partial");
    cr_assert(strstr(r.err, "ev2: expected evidence that `replay audit` accepts"), "%s", r.err);
    rig_down(&g);
}

Test(compare, bundles)
{
    rig g;
    t_tree t;
    rig_up(&g);
    t_small(&t, g.sc);
    cr_assert_eq(t_shell(g.dir, "mkdir a b"), 0);
    t_bundle(g.sc, scratch_printf(g.sc, "%s/a", g.dir), "weight_view.small", t.v, t.n);
    t_put(&t, "kernels/001_add.cu", span_str("another"));
    t_drop(&t, "capture.json");
    t_drop(&t, "kernels/000_cast.json");
    t_drop(&t, "kernels/001_add.json");
    t_add_records(&t);
    t_add_capture(&t);
    t_bundle(g.sc, scratch_printf(g.sc, "%s/b", g.dir), "weight_view.small", t.v, t.n);
    ran r = rig_run(&g, NULL, "compare a/*.zst a/*.zst");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert(
        strstr(r.out, "plan signature: equal\ntimings: not compared (bundles hold no timings of ours)\n"),
        "%s", r.out);
    r = rig_run(&g, NULL, "compare a/*.zst b/*.zst --json");
    cr_assert_eq(r.code, 1, "%s", r.err);
    js_node *root = rig_json(&g, &r), *differences = rig_at(root, "documents/0/differences");
    cr_assert_eq(js_len(differences), 1, "%s", r.out);
    cr_assert_str_eq(rig_text(differences, "0/at"), "/kernels/1/source_sha256");
    r = rig_run(&g, NULL, "compare a/*.zst b/*.zst");
    cr_assert(strstr(r.out, "plan signature: different\n  /kernels/1/source_sha256\n    A "), "%s", r.out);
    r = rig_run(&g, NULL, "compare small.tar.zst nowhere --json");
    cr_assert_eq(r.code, 3);
    rig_json(&g, &r);
    rig_down(&g);
}
