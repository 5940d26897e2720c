#include "artifacts/base/file.h"
#include "gpu/client.h"
#include "tests/replay/rig.h"
#include <criterion/criterion.h>
#include <unistd.h>

/* A worker that is a script, run in the folder; it finds itself by its own name. */
static const char *script(rig *g, const char *body)
{
    const char *path =
        t_write(g->sc, g->dir, "worker", span_str(scratch_printf(g->sc, "#!/bin/sh\n%s", body)));
    cr_assert_eq(t_shell(g->dir, "chmod +x worker"), 0);
    return path;
}

/* A run with a worker of that mode into folder `ev`, as JSON. */
static js_node *run_json(rig *g, const char *mode, int code)
{
    ran r = rig_run(g, mode, "run small.tar.zst --out ev --json");
    cr_assert(r.code == code, "%s: expected exit %d, found %d\n%s", mode, code, r.code, r.err);
    return rig_json(g, &r);
}

static js_node *audit_json(rig *g, int code)
{
    ran r = rig_run(g, NULL, "audit ev --json");
    cr_assert(r.code == code, "audit: expected exit %d, found %d\n%s", code, r.code, r.err);
    return rig_at(rig_json(g, &r), "results/0");
}

static const char *status_of(js_node *root, int phase)
{
    char path[40];
    snprintf(path, sizeof path, "record/phases/%d/status", phase);
    return rig_text(root, path);
}

/* The statuses of the five phases, by their first letters: "PPPPP", "F" for process_failed, "p"
 * profile_failed, "N" numerical, "-" not run. */
static void expect_phases(js_node *root, const char *letters)
{
    for (int i = 0; letters[i]; i++) {
        const char *want = letters[i] == 'P'   ? "passed"
                           : letters[i] == 'R' ? "rejected"
                           : letters[i] == 'N' ? "numerical_rejection"
                           : letters[i] == 'F' ? "process_failed"
                           : letters[i] == 'p' ? "profile_failed"
                                               : "not_run";
        cr_assert_str_eq(status_of(root, i), want, "phase %d: expected %s, found %s", i + 1, want,
                         status_of(root, i));
    }
    cr_assert_eq(js_len(rig_at(root, "record/phases")), strlen(letters));
}

/* What was retained is whole by its own sums, and nothing is left under the temporary name. */
static void expect_whole(rig *g)
{
    cr_assert(rig_has(g, "ev/evidence.json") && rig_has(g, "ev/SHA256SUMS") && !rig_has(g, "ev.partial"));
    cr_assert_eq(t_shell(g->dir, "cd ev && sha256sum --quiet -c SHA256SUMS"), 0);
    cr_assert_eq(t_shell(g->dir, "! find ev -name '*.tmp-*' | grep ."), 0);
}

Test(run, good)
{
    rig g;
    rig_up(&g);
    js_node *root = run_json(&g, "good", 0);
    expect_phases(root, "PPPPP");
    cr_assert_str_eq(rig_text(root, "record/status"), "passed");
    cr_assert_eq(rig_number(root, "record/checks_passed"), 35);
    cr_assert_eq(rig_number(root, "record/checks_total"), 35);
    cr_assert_eq(js_len(rig_at(root, "findings")), 0, "%s", rig_list(&g, root));
    expect_whole(&g);
    static const char *const files[] = {
        "environment.json",    "plan_signature.json", "bundle/manifest.json", "bundle/plan/plan.json",
        "bundle/capture.json", "compiled/000.ptx",    "compiled/001.ptx"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        cr_assert(rig_has(&g, scratch_printf(g.sc, "ev/%s", files[i])), "no %s", files[i]);
    static const char *const phases[] = {"1-validate", "2-timing-1", "3-timing-2", "4-timeline",
                                         "5-instructions"};
    static const char *const kept[] = {"job.json", "result.json", "library.log", "observed_signature.json",
                                       "outputs/magnitude.xor.zst"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            cr_assert(rig_has(&g, scratch_printf(g.sc, "ev/phases/%s/%s", phases[i], kept[k])), "no %s of %s",
                      kept[k], phases[i]);
    cr_assert(!rig_has(&g, "ev/bundle/fixtures/random.safetensors"),
              "fixture data is regenerated, not retained");

    js_node *a = audit_json(&g, 0);
    expect_phases(a, "PPPPP");
    cr_assert_eq(rig_number(a, "record/checks_passed"), 35);
    /* Recomputed from the bytes: the fake's outputs are not exactly the expected ones. */
    for (size_t i = 0; i < 7; i++) {
        cr_assert_gt(rig_number(js_at(rig_at(a, "fixtures"), i), "differing"), 0);
        cr_assert_eq(rig_number(js_at(rig_at(a, "fixtures"), i), "failing"), 0);
    }
    rig_down(&g);
}

Test(run, for_people)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "good", "run small.tar.zst --phases 2");
    cr_assert(r.code == 0, "%s%s", r.out, r.err);
    cr_assert(strstr(r.out, "phase 2 timing-1") && strstr(r.out, "14 of 14 output checks"), "%s", r.out);
    cr_assert(strstr(r.out, "evidence: small.evidence"), "%s", r.out);
    cr_assert(rig_has(&g, "small.evidence/SHA256SUMS"));
    /* Never over what is there, and nothing is begun for it. */
    r = rig_run(&g, "good", "run small.tar.zst --phases 2");
    cr_assert_eq(r.code, 3);
    cr_assert(strstr(r.err, "small.evidence: expected no such file or folder yet"), "%s", r.err);
    cr_assert(!rig_has(&g, "small.evidence.partial"));
    rig_down(&g);
}

/* One phase more than five is a further timing process. */
Test(run, seven_phases)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "good", "run small.tar.zst --phases 7 --out ev --json");
    cr_assert(r.code == 0, "%s%s", r.out, r.err);
    js_node *root = rig_json(&g, &r);
    expect_phases(root, "PPPPPPP");
    cr_assert_str_eq(rig_text(root, "record/phases/6/name"), "timing-4");
    cr_assert_eq(rig_number(root, "record/timings/0/processes"), 4);
    audit_json(&g, 0);
    rig_down(&g);
}

typedef struct {
    const char *mode, *phases; /* as expect_phases reads them */
    int code;
    const char *error;               /* in the error of the first phase that has one; NULL: none has one */
    const char *finding, *file, *at; /* NULL: none */
} broken_run;

static const broken_run broken_runs[] = {
    {"crash", "F----", 4, "the worker died of signal 6", NULL, NULL, NULL},
    {"truncated", "F----", 4, "", NULL, NULL, NULL},
    {"wrong-digest", "F----", 4, "echoes another job's digest", NULL, NULL, NULL},
    {"fail", "F----", 4, "cudaErrorMemoryAllocation", NULL, NULL, NULL},
    {"profile-fail", "PPPpp", 4, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", NULL, NULL, NULL},
    {"stray", "R----", 1, "an earlier phase failed", "run.stray_write", "phases/1-validate/result.json",
     "/strays"},
    {"nondeterministic", "R----", 1, "an earlier phase failed", "run.nondeterministic",
     "phases/1-validate/result.json", "integers"},
    {"numeric", "NNNNN", 5, NULL, "run.numeric", "phases/1-validate/outputs/integers.xor.zst", "y"},
    {"registers", "PPPRP", 1, NULL, "run.signature", "evidence.json", "timeline"},
    /* Later phases: each costs itself alone. */
    {"crash-timing", "PFFPP", 4, "the worker died of signal 6", NULL, NULL, NULL},
    {"crash-timeline", "PPPFP", 4, "the worker died of signal 6", NULL, NULL, NULL},
    {"truncated-instructions", "PPPPF", 4, "", NULL, NULL, NULL},
    {"numeric-timing", "PNNPP", 5, NULL, "run.numeric", "phases/2-timing-1/outputs/integers.xor.zst", "y"},
};

/* Each broken worker: status of every phase, exit code, finding; a complete record, whose audit comes to the
 * same. */
static void one_broken_run(const broken_run *c)
{
    rig g;
    rig_up(&g);
    js_node *root = run_json(&g, c->mode, c->code);
    expect_phases(root, c->phases);
    expect_whole(&g);
    js_node *phases = rig_at(root, "record/phases");
    const char *error = NULL;
    for (size_t i = 0; !error && i < js_len(phases); i++)
        error = *rig_text(js_at(phases, i), "error") ? rig_text(js_at(phases, i), "error") : NULL;
    cr_assert_eq(rig_number(root, "record/checks_total"), 35, "a phase that broke owes its checks");
    cr_assert(c->error ? error && strstr(error, c->error) : !error, "%s: error \"%s\"", c->mode,
              error ? error : "");
    cr_assert(c->finding ? rig_found(root, c->finding, c->file, c->at) : !js_len(rig_at(root, "findings")),
              "%s: %s", c->mode, rig_list(&g, root));
    js_node *a = audit_json(&g, c->code);
    expect_phases(a, c->phases);
    cr_assert(!c->finding || rig_found(a, c->finding, c->file, c->at), "%s: %s", c->mode, rig_list(&g, a));
    cr_assert(!rig_found(a, "evidence.claim", NULL, NULL), "%s: %s", c->mode, rig_list(&g, a));
    rig_down(&g);
}

Test(run, broken_at_once)
{
    for (size_t i = 0; i < 5; i++)
        one_broken_run(&broken_runs[i]);
}

Test(run, broken_in_its_answer)
{
    for (size_t i = 5; i < 9; i++)
        one_broken_run(&broken_runs[i]);
}

Test(run, broken_later)
{
    for (size_t i = 9; i < sizeof broken_runs / sizeof *broken_runs; i++)
        one_broken_run(&broken_runs[i]);
}

/* Timings of wrong numbers are kept, marked, and admitted to no comparison. */
Test(run, numeric_timings_marked)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "numeric", "run small.tar.zst --out ev");
    cr_assert_eq(r.code, 5);
    cr_assert(
        strstr(r.out,
               "timings of a numerical rejection are kept in the evidence and admitted to no comparison"),
        "%s", r.out);
    cr_assert(strstr(r.out, "finding run.numeric"), "%s", r.out);
    cr_assert(!strstr(r.out, "host_graph_launch_sync"), "%s", r.out);
    r = rig_shell(&g, NULL, "grep -c samples_ps ev/phases/2-timing-1/result.json");
    cr_assert_str_eq(r.out, "3\n");
    r = rig_shell(&g, "good",
                  "\"$REPLAY\" run small.tar.zst --out good && \"$REPLAY\" compare ev good --json");
    cr_assert(!strstr(r.out, "a_median_ps"), "%s", r.out);
    rig_down(&g);
}

Test(run, what_the_worker_said_is_kept)
{
    rig g;
    rig_up(&g);
    script(&g, "[ $1 = --phase ] || exec \"${0%/*}/fake-worker-good\" $1\necho out of luck >&2\nexit 9\n");
    ran r = rig_shell(&g, "good",
                      "REPLAY_GPU=$PWD/worker \"$REPLAY\" run small.tar.zst --out ev; code=$?; "
                      "cat ev/phases/1-validate/stderr.txt; exit $code");
    cr_assert_eq(r.code, 4);
    cr_assert(strstr(r.out, "process_failed: the worker exited with 9: out of luck"), "%s%s", r.out, r.err);
    cr_assert(strstr(r.out, "output checks\nevidence: ev\nout of luck\n"), "%s", r.out);
    rig_down(&g);
}

/* --- Nothing to run on. --- */

Test(run, no_device)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "no-device", "run small.tar.zst --device gpu --out ev");
    cr_assert_eq(r.code, 4);
    cr_assert(strstr(r.out, "unavailable: no GPU (the fake has no device)"), "%s", r.out);
    cr_assert(strstr(r.out, "node 2  cublasLtMatmul m=24 n=40 k=56") &&
                  strstr(r.out, "k of kernels/001_add.cu, grid 4,1,1 block 256,1,1") &&
                  strstr(r.out, "and check 7 outputs, 35 in all."),
              "%s", r.out);
    cr_assert(!rig_has(&g, "ev") && !rig_has(&g, "ev.partial"));
    r = rig_run(&g, "no-device", "run small.tar.zst --device gpu --out ev --json");
    js_node *root = rig_json(&g, &r);
    cr_assert_eq(r.code, 4);
    cr_assert_str_eq(rig_text(root, "status"), "unavailable");
    rig_down(&g);
}

Test(run, no_worker)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, NULL, "run small.tar.zst --device gpu --out ev --json");
    cr_assert_eq(r.code, 4);
    js_node *root = rig_json(&g, &r);
    cr_assert(strstr(rig_text(root, "reason"), "no GPU worker (cannot start "), "%s", r.out);
    cr_assert(!rig_has(&g, "ev") && !rig_has(&g, "ev.partial"));
    rig_down(&g);
}

Test(run, no_compiler)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "no-compile", "run small.tar.zst --device gpu --out ev --json");
    cr_assert_eq(r.code, 4, "%s", r.err);
    cr_assert_str_eq(rig_text(rig_json(&g, &r), "error/file"), "kernels/000_cast.cu");
    cr_assert(
        strstr(
            r.err,
            "kernels/000_cast.cu: expected the captured source to compile, found: the fake does not like it"),
        "%s", r.err);
    cr_assert(!rig_has(&g, "ev"));
    /* No phase was reached, and what was retained says so. */
    cr_assert_eq(t_shell(g.dir,
                         "cd ev.partial && sha256sum --quiet -c SHA256SUMS && "
                         "grep -q '\"status\": \"incomplete\"' evidence.json && "
                         "grep -q '\"reason\": \"expected the captured source to compile' evidence.json"),
                 0);
    ran a = rig_run(&g, NULL, "audit ev.partial --json");
    cr_assert_eq(a.code, 1, "%s", a.err);
    js_node *v = rig_at(rig_json(&g, &a), "results/0");
    cr_assert(rig_found(v, "evidence.partial", "evidence.json", "/status"), "%s", rig_list(&g, v));
    cr_assert(!rig_found(v, "evidence.sums", NULL, NULL), "%s", rig_list(&g, v));
    cr_assert_eq(t_shell(g.dir, "rm -rf ev.partial 001_add.ptx"), 0);
    r = rig_run(&g, "good", "run small.tar.zst --device gpu --out ev --json");
    cr_assert_eq(r.code, 4, "%s%s", r.out, r.err);
    rig_json(&g, &r);
    cr_assert(strstr(r.err, "no compiler: fake-worker: no 001_add.ptx beside it"), "%s", r.err);
    cr_assert(!rig_has(&g, "ev"));
    rig_down(&g);
}

/* A bundle that is not accepted is not run. */
Test(run, rejected_bundle)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "good",
                    "run small.tar.zst --out ev --json --root "
                    "sha256:0000000000000000000000000000000000000000000000000000000000000000");
    cr_assert_eq(r.code, 1);
    js_node *root = rig_json(&g, &r);
    cr_assert(rig_found(root, "trust.root", NULL, NULL), "%s", rig_list(&g, root));
    cr_assert(!rig_has(&g, "ev") && !rig_has(&g, "ev.partial"));
    r = rig_run(&g, "good", "run small.tar.zst --out ev --phases 1 --json --root $ROOT");
    cr_assert_eq(r.code, 0, "%s", r.err);
    cr_assert_str_eq(rig_text(rig_json(&g, &r), "record/bundle/trust"), "pinned");
    rig_down(&g);
}

/* The bundle changes while it is run: the next phase refuses, and nothing more is launched. */
Test(run, bundle_changed_between_phases)
{
    rig g;
    rig_up(&g);
    script(&g, "if [ $1 = --phase ]; then printf x | dd of=\"${0%/*}/small.tar.zst\" bs=1 seek=40000 "
               "conv=notrunc 2>/dev/null; fi\n"
               "exec \"${0%/*}/fake-worker-good\" $1\n");
    ran r = rig_shell(&g, "good", "REPLAY_GPU=$PWD/worker \"$REPLAY\" run small.tar.zst --out ev --json");
    cr_assert(r.code == 1, "%s%s", r.out, r.err);
    js_node *root = rig_json(&g, &r);
    expect_phases(root, "PR---");
    cr_assert_str_eq(rig_text(root, "record/phases/1/error"), "the bundle is not the one that was verified");
    rig_down(&g);
}

/* --- Hanging, killing, interrupting. --- */

/* The controller's deadline, made short: the phase is given up, and the whole process group is gone. */
Test(run, hang_ends_at_the_deadline)
{
    rig g;
    rp_err e = {0};
    client_phase c;
    span text;
    rig_up(&g);
    int data = file_temp(&e);
    cr_assert(data >= 0);
    cr_assert(!lower_job(&e, &text, g.sc, g.lowered, JOB_VALIDATE) && !lower_write_data(&e, g.lowered, data));
    cr_assert(!client_run(&e, &c, g.sc, rig_worker(&g, "good"), text, data, 20000), "%s", e.msg);
    close(c.output_fd);
    cr_assert_eq(client_run(&e, &c, g.sc, rig_worker(&g, "hang"), text, data, 700), RP_WORKER);
    cr_assert(c.timed_out && c.output_fd == -1);
    cr_assert(strstr(e.msg, "did not end within its deadline and was killed"), "%s", e.msg);
    e = (rp_err){0};
    const char *sleeper = script(&g, "sleep 1000 & echo $! >\"${0%/*}/pid\"\nwait\n");
    cr_assert_eq(client_run(&e, &c, g.sc, sleeper, text, data, 700), RP_WORKER);
    cr_assert(c.timed_out);
    cr_assert_eq(
        t_shell(g.dir,
                "i=0; while [ $i -lt 50 ]; do kill -0 $(cat pid) 2>/dev/null || exit 0; "
                "grep -q '^State:.Z' /proc/$(cat pid)/status && exit 0; sleep 0.1; i=$((i+1)); done; exit 1"),
        0, "the worker's child is still there");
    close(data);
    rig_down(&g);
}

/* Start the run in the background, wait until its worker hangs, do something, and give the run's own status.
 * The worker writes its process id, so that only what belongs to this test is touched. */
static ran disturbed(rig *g, const char *what)
{
    script(g, "[ $1 = --phase ] && echo $$ >\"${0%/*}/pid\"\nexec \"${0%/*}/fake-worker-hang\" $1\n");
    return rig_shell(
        g, "hang",
        scratch_printf(
            g->sc,
            "REPLAY_GPU=$PWD/worker setsid sh -c 'echo $$ >main; exec \"$REPLAY\" run small.tar.zst --out "
            "ev' >run.out 2>run.err &\n"
            "run=$!\n"
            "i=0; while [ ! -s pid ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; sleep 0.2\n"
            "%s\n"
            "wait $run; code=$?\n"
            "cat run.out; cat run.err >&2\n"
            "kill -0 $(cat pid) 2>/dev/null && echo the worker is still there\n"
            "exit $code",
            what));
}

Test(run, worker_killed_from_outside, .timeout = 30)
{
    rig g;
    rig_up(&g);
    ran r = disturbed(&g, "kill -9 $(cat pid)");
    cr_assert_eq(r.code, 4, "%s%s", r.out, r.err);
    cr_assert(strstr(r.out, "process_failed: the worker died of signal 9"), "%s", r.out);
    cr_assert(!strstr(r.out, "still there"));
    expect_whole(&g);
    audit_json(&g, 4);
    rig_down(&g);
}

static void interrupted_by(const char *signal, int code)
{
    rig g;
    rig_up(&g);
    ran r = disturbed(&g, scratch_printf(g.sc, "kill -%s $(cat main)", signal));
    cr_assert_eq(r.code, code, "%s: %d\n%s%s", signal, r.code, r.out, r.err);
    cr_assert(!strstr(r.out, "still there"), "%s", r.out);
    cr_assert(!rig_has(&g, "ev") && rig_has(&g, "ev.partial/SHA256SUMS"), "%s", r.err);
    cr_assert(strstr(r.err, "interrupted by") &&
                  strstr(r.err, "stays in ev.partial, which is not a complete run"),
              "%s", r.err);
    cr_assert_eq(t_shell(g.dir, "grep -q '\"status\": \"interrupted\"' ev.partial/evidence.json && "
                                "grep -q '\"reason\": \"interrupted by' ev.partial/evidence.json"),
                 0);
    ran a = rig_run(&g, NULL, "audit ev.partial --json");
    cr_assert_eq(a.code, 1, "%s", a.err);
    js_node *v = rig_at(rig_json(&g, &a), "results/0");
    cr_assert(rig_found(v, "evidence.partial", "evidence.json", "/status"), "%s", rig_list(&g, v));
    cr_assert(!rig_found(v, "evidence.sums", NULL, NULL), "%s", rig_list(&g, v));
    /* Neither the partial folder nor the final name is written over. */
    a = rig_run(&g, "good", "run small.tar.zst --out ev");
    cr_assert_eq(a.code, 3);
    cr_assert(strstr(a.err, "ev.partial: expected no such file or folder yet"), "%s", a.err);
    rig_down(&g);
}

Test(run, interrupted, .timeout = 30)
{
    interrupted_by("INT", 130);
}

Test(run, terminated, .timeout = 30)
{
    interrupted_by("TERM", 143);
}

/* --- No room. --- */

/* With files limited to ever more bytes, until the run fits: before that exit 3 and never a folder under the
 * final name. (A worker that cannot write its result breaks its phase, and that record is whole: exit 4.) */
Test(run, disk_full)
{
    static const unsigned kib[] = {1, 4, 8, 16, 24, 32, 64, 1024};
    rig g;
    bool full = false, labelled = false, fits = false;
    rig_up(&g);
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        ran r = rig_shell(
            &g, "good",
            scratch_printf(
                g.sc,
                "rm -rf ev ev.partial; bash -c 'ulimit -f %u; exec \"$REPLAY\" run small.tar.zst --out ev'",
                kib[i]));
        cr_assert(r.code == 0 || r.code == 3 || r.code == 4, "%u KiB: exit %d\n%s%s", kib[i], r.code, r.out,
                  r.err);
        if (r.code == 3) {
            full = true;
            cr_assert(!rig_has(&g, "ev"), "%u KiB", kib[i]);
            cr_assert(strstr(r.err, "replay run: ") && strstr(r.err, "File too large"), "%u KiB: %s", kib[i],
                      r.err);
            cr_assert_eq(t_shell(g.dir, "! find ev.partial -name '*.tmp-*' 2>/dev/null | grep ."), 0);
            if (rig_has(&g, "ev.partial"))
                cr_assert_eq(rig_run(&g, NULL, "audit ev.partial").code, 1);
            if (!rig_has(&g, "ev.partial/evidence.json"))
                continue;
            /* What there was room for is the label, and nobody interrupted it. */
            labelled = true;
            cr_assert_eq(t_shell(g.dir, "grep -q '\"status\": \"incomplete\"' ev.partial/evidence.json"), 0,
                         "%u KiB", kib[i]);
        } else {
            fits |= r.code == 0;
            expect_whole(&g);
        }
    }
    cr_assert(full && labelled && fits);
    rig_down(&g);
}

Test(run, not_writable)
{
    rig g;
    rig_up(&g);
    ran r = rig_run(&g, "good", "run small.tar.zst --out small.tar.zst/ev --json");
    cr_assert_eq(r.code, 3, "%s%s", r.out, r.err);
    rig_json(&g, &r);
    cr_assert(strstr(r.err, "small.tar.zst/ev"), "%s", r.err);
    r = rig_run(&g, "good", "run small.tar.zst --out /proc/ev");
    cr_assert_eq(r.code, 3);
    cr_assert(strstr(r.err, "/proc/ev.partial: cannot create the folder"), "%s", r.err);
    rig_down(&g);
}

Test(run, stdout_full)
{
    rig g;
    rig_up(&g);
    ran r = rig_shell(&g, "good", "\"$REPLAY\" run small.tar.zst --phases 1 --out ev >/dev/full");
    cr_assert_eq(r.code, 3, "%d %s", r.code, r.err);
    cr_assert(strstr(r.err, "standard output: No space left on device"), "%s", r.err);
    r = rig_shell(&g, "good", "\"$REPLAY\" run small.tar.zst --phases 1 --out ev2 --json >&-");
    cr_assert_eq(r.code, 3, "%d %s", r.code, r.err);
    rig_down(&g);
}
