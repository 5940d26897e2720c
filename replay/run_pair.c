/* run --pair: both sides validate, then their timing processes take turns in the order of the seeds. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "artifacts/base/text.h"
#include "replay/cli.h"
#include "replay/pair.h"
#include "replay/run.h"

typedef struct {
    run_options opt[2];
    run side[2];
    evidence ev;
    pair_record rec;
    const run_options *whole;
} pair_run;

/* Both bundles accepted, of one workload, and a GPU there; else *why says what is missing. */
static rp_code check_sides(rp_err *e, pair_run *p, const char **why, int *code)
{
    for (int i = 0; i < 2; i++) {
        run *x = &p->side[i];
        bool accepted;
        if (run_verify(e, x, &accepted))
            return e->code;
        if (accepted)
            continue;
        if (x->progress)
            report_print(x->r, x->progress);
        *why = i ? "B was not accepted" : "A was not accepted";
        *code = cli_verdict_exit(x->r);
        return RP_OK;
    }
    const char *other = pair_difference(p->side[0].v.bundle, p->side[1].v.bundle);
    if (other)
        return err_set(e, RP_USAGE, "expected two plans of one workload, found two that differ in %s", other);
    if (run_probe(e, &p->side[0], why))
        return e->code;
    if (*why)
        *code = EXIT_UNAVAILABLE;
    p->side[1].device = p->side[0].device;
    return RP_OK;
}

static rp_code phase_of(rp_err *e, pair_run *p, int i, uint64_t index, bool *good)
{
    run *x = &p->side[i];
    if (proc_interrupted())
        return err_set(e, RP_INTERRUPTED, "interrupted before phase %llu of %s", (unsigned long long)index,
                       i ? "B" : "A");
    run_say(x, "%s  ", i ? "B" : "A");
    if (run_phase(e, x, index))
        return e->code;
    phase_status s = x->j->phases[x->j->n_phases - 1].status;
    *good = *good && (s == PHASE_PASSED || s == PHASE_PROFILE_FAILED);
    return RP_OK;
}

/* A side that does not pass ends the pair; what was not run is said to be so. */
static rp_code take_turns(rp_err *e, pair_run *p)
{
    bool good = true;
    for (int i = 0; i < 2; i++)
        if (phase_of(e, p, i, 1, &good))
            return e->code;
    for (uint64_t k = 0; k < PAIR_ROUNDS && good; k++) {
        for (uint64_t profile = p->side[0].j->n_phases + 1; profile < pair_timing_phase(k); profile++)
            for (int i = 0; i < 2; i++)
                if (phase_of(e, p, i, profile, &good))
                    return e->code;
        int first = pair_first(k);
        for (int turn = 0; turn < 2 && good; turn++)
            if (phase_of(e, p, turn ? 1 - first : first, pair_timing_phase(k), &good))
                return e->code;
    }
    for (int i = 0; i < 2; i++) {
        run *x = &p->side[i];
        while (x->j->n_phases < PAIR_PHASES)
            run_skip(x, x->j->n_phases + 1, "the pair was refused");
        judge_signatures(x->r, x->j);
    }
    return RP_OK;
}

static rp_code conclude(rp_err *e, pair_run *p, scratch *sc, int *code)
{
    for (int i = 0; i < 2; i++)
        if (run_finish(e, &p->side[i], NULL))
            return e->code;
    const run_record rec[2] = {p->side[0].rec, p->side[1].rec};
    const judgement *const j[2] = {p->side[0].j, p->side[1].j};
    const bool rejected[2] = {report_verdict(p->side[0].r) == CHECK_REJECTED,
                              report_verdict(p->side[1].r) == CHECK_REJECTED};
    pair_from_runs(&p->rec, sc, rec, j, rejected);
    *code = pair_exit(&p->rec, j);
    jw *w = jw_new(JW_PRETTY);
    span text;
    pair_write(w, &p->rec);
    if (!jw_finish(e, &text, w) && !evidence_put(e, &p->ev, "pair.json", text))
        (void)!evidence_end(e, &p->ev, true);
    jw_free(w);
    return e->code;
}

static rp_code run_sides(rp_err *e, pair_run *p, scratch *sc, int *code)
{
    static const char *const letters[] = {"a", "b"};
    if (evidence_begin(e, &p->ev, sc, p->whole->out))
        return e->code;
    for (int i = 0; i < 2; i++) {
        p->opt[i].out = file_join(sc, p->ev.dir, letters[i]);
        if (!p->opt[i].out)
            return err_nomem(e);
        if (run_prepare(e, &p->side[i]))
            return e->code;
    }
    return take_turns(e, p) ? e->code : conclude(e, p, sc, code);
}

static void print_findings(const pair_run *p)
{
    for (int i = 0; i < 2; i++) {
        run *x = (run *)(uintptr_t)&p->side[i];
        if (!x->progress || !x->r->fs.n)
            continue;
        run_say(x, "\nfindings of %s\n", i ? "B" : "A");
        report_print_findings(x->r, x->progress);
    }
}

static void pair_json(jw *j, const pair_run *p, const pair_outcome *out)
{
    jw *own = jw_new(JW_COMPACT);
    rp_err e = {0};
    span text;
    jw_str(j, "evidence", out->has_evidence ? p->whole->out : NULL);
    jw_str(j, "said", out->said);
    if (out->has_evidence) {
        pair_write(own, &p->rec);
        if (!jw_finish(&e, &text, own))
            jw_raw(j, "pair", text);
    }
    jw_free(own);
    for (int i = 0; i < 2; i++) {
        jw_obj(j, i ? "b" : "a");
        jw_str(j, "bundle", p->whole->pair[i]);
        report_json(j, p->side[i].r);
        jw_end(j);
    }
}

static rp_code outcome_of(rp_err *e, pair_run *p, pair_outcome *out, scratch *sc)
{
    if (check_sides(e, p, &out->said, &out->exit_code))
        return e->code;
    if (out->said) {
        out->said = scratch_strdup(sc, out->said);
        return out->said ? RP_OK : err_nomem(e);
    }
    if (run_sides(e, p, sc, &out->exit_code)) {
        for (int i = 0; i < 2; i++)
            run_label_partial(&p->side[i], e);
        return e->code;
    }
    out->has_evidence = true;
    out->said = pair_verdict_names[p->rec.verdict];
    for (int i = 0; i < 2; i++) {
        const run *x = &p->side[i];
        out->rows[i].kind = FOLDER_PAIR_SIDE;
        campaign_row(&out->rows[i], sc, &x->rec, x->j, x->l);
    }
    return RP_OK;
}

rp_code run_pair(rp_err *e, pair_outcome *out, scratch *sc, const run_options *opt, jw *j)
{
    pair_run *p = scratch_alloc(sc, sizeof *p);
    bool open = p != NULL;
    *out = (pair_outcome){.said = NULL};
    if (!p)
        return err_nomem(e);
    p->whole = opt;
    for (int i = 0; i < 2; i++) {
        p->opt[i] = *opt;
        p->opt[i].path = opt->pair[i];
        p->opt[i].phases = PAIR_PHASES;
        p->opt[i].device = "gpu"; /* emulated time is never a performance */
        open &= run_open(&p->side[i], &p->opt[i]);
    }
    if (!open)
        err_nomem(e);
    else if (!outcome_of(e, p, out, sc)) {
        if (out->has_evidence && p->side[0].progress) {
            print_findings(p);
            fputc('\n', p->side[0].progress);
            pair_print(p->side[0].progress, sc, &p->rec);
        }
        if (j)
            pair_json(j, p, out);
    }
    for (int i = 0; i < 2; i++)
        run_close(&p->side[i]);
    return e->code;
}

static int print_outcome(const run_options *opt, const pair_outcome *out, jw *j)
{
    if (j) {
        jw_i64(j, "exit", out->exit_code);
        jw_end(j);
        return cli_print_json(j, out->exit_code);
    }
    scratch *sc = scratch_new(0);
    if (out->has_evidence)
        printf("evidence: %s\n", sc ? text_safe(sc, opt->out) : "");
    else
        printf("not run: %s\n", sc ? text_safe(sc, out->said) : "");
    scratch_free(sc);
    return cli_finish(out->exit_code);
}

int run_pair_alone(run_options *opt)
{
    rp_err e = {0};
    pair_outcome out;
    scratch *sc = scratch_new(0);
    jw *j = opt->json ? jw_new(JW_PRETTY) : NULL;
    int code = EXIT_UNREADABLE;
    opt->out = opt->out ? opt->out : "pair.evidence";
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-pair-run/0");
    cli_tool_json(j);
    if (!sc)
        err_nomem(&e);
    if (!sc || run_pair(&e, &out, sc, opt, j)) {
        jw_free(j);
        code = cli_error("run", &e, opt->json);
    } else {
        code = print_outcome(opt, &out, j);
    }
    scratch_free(sc);
    return code;
}
