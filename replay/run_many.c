/* run of several bundles: one after the other, one folder each, then the pair; campaign.json over all of
 * them, and a table. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "artifacts/base/text.h"
#include "replay/campaign.h"
#include "replay/cli.h"
#include "replay/run.h"
#include "replay/summary.h"
#include "replay/targets.h"
#include <unistd.h>

typedef struct {
    scratch *sc;
    const run_options *opt;
    evidence ev; /* begun with the first bundle that can run */
    campaign c;
    size_t n_folders;
    campaign_folder *folders;
    jw *j; /* NULL: text */
    int code;
    bool unreadable; /* the error at hand is about a bundle, not about us */
} many;

static const char suffix[] = ".tar.zst";

/* NAME of NAME.tar.zst; a second of that name becomes NAME-2. */
static const char *folder_name(const many *x, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base), m = sizeof suffix - 1;
    n -= n > m && !strcmp(base + n - m, suffix) ? m : 0;
    const char *name = scratch_strndup(x->sc, base, n);
    for (unsigned k = 2, again = 1; name && again; k++) {
        again = 0;
        for (size_t i = 0; i < x->n_folders; i++)
            again |= !strcmp(x->folders[i].folder, name);
        if (again)
            name = scratch_printf(x->sc, "%.*s-%u", (int)n, base, k);
    }
    return name && manifest_path_ok(name) && !strchr(name, '/')
               ? name
               : scratch_printf(x->sc, "run-%zu", x->n_folders + 1);
}

static rp_code begin(rp_err *e, many *x)
{
    return x->ev.dir ? RP_OK : evidence_begin(e, &x->ev, x->sc, x->opt->out);
}

static rp_code omit(rp_err *e, many *x, const char *path, const char *reason)
{
    const char *slash = strrchr(path, '/');
    campaign_omitted *o = &x->c.omitted[x->c.n_omitted++];
    o->what = scratch_strdup(x->sc, slash ? slash + 1 : path);
    o->reason = scratch_strdup(x->sc, reason);
    return o->what && o->reason ? RP_OK : err_nomem(e);
}

static rp_code add_run(rp_err *e, many *x, const char *name, const char *role, const char *folder, bool pair)
{
    campaign_run *r = &x->c.runs[x->c.n_runs++];
    *r = (campaign_run){.name = name, .role = role, .pair = pair ? folder : ""};
    if (pair)
        return RP_OK;
    if (!(r->evidence = scratch_array(x->sc, 1, sizeof *r->evidence)))
        return err_nomem(e);
    r->evidence[r->n_evidence++] = folder;
    return RP_OK;
}

static void add_row(many *x, const char *folder, folder_kind kind, const run_record *rec, const judgement *j,
                    const lowering *l)
{
    campaign_folder *v = &x->folders[x->n_folders++];
    *v = (campaign_folder){.folder = folder, .kind = kind, .run = x->c.n_runs - 1};
    campaign_row(v, x->sc, rec, j, l);
    const char *dir = file_join(x->sc, x->ev.dir, folder);
    v->omitted = dir ? campaign_count_omitted(dir) : 0;
}

/* What comes of one bundle: an evidence folder, or a reason why there is none. */
static rp_code run_bundle(rp_err *e, many *x, run *r, run_options *own, const char *folder)
{
    bool accepted;
    const char *why;
    int code = EXIT_BUG;
    x->unreadable = true;
    if (run_verify(e, r, &accepted))
        return e->code;
    x->unreadable = false;
    if (!accepted) {
        if (r->progress)
            report_print(r->r, r->progress);
        x->code = cli_worse(x->code, cli_verdict_exit(r->r));
        return omit(e, x, own->path, "not accepted by verify, so not run");
    }
    if (run_probe(e, r, &why))
        return e->code;
    if (why) {
        run_say(r, "unavailable: %s\n", text_safe(x->sc, why));
        x->code = cli_worse(x->code, EXIT_UNAVAILABLE);
        return omit(e, x, own->path, why);
    }
    if (begin(e, x))
        return e->code;
    if (!(own->out = file_join(x->sc, x->ev.dir, folder)))
        return err_nomem(e);
    if (run_to_end(e, r, &code)) {
        run_label_partial(r, e);
        return e->code;
    }
    x->code = cli_worse(x->code, code);
    if (r->progress)
        report_print_findings(r->r, r->progress);
    if (add_run(e, x, folder, "replay", folder, false))
        return e->code;
    add_row(x, folder, FOLDER_EVIDENCE, &r->rec, r->j, r->l);
    return RP_OK;
}

/* A bundle that cannot be read, or does not compile, ends nothing but itself. */
static bool goes_on_after(const many *x, const rp_err *e)
{
    return e->code == RP_INVALID || e->code == RP_WORKER || e->code == RP_UNAVAILABLE ||
           (e->code == RP_IO && x->unreadable);
}

static rp_code one(rp_err *e, many *x, const char *path, size_t i, size_t n)
{
    run_options own = *x->opt;
    run r;
    const char *folder = folder_name(x, path);
    own.path = path;
    bool open = run_open(&r, &own);
    if (!open || !folder) {
        err_nomem(e);
    } else {
        run_say(&r, "%s== %zu of %zu: %s\n", i ? "\n" : "", i + 1, n, text_safe(x->sc, path));
        if (run_bundle(e, x, &r, &own, folder) && goes_on_after(x, e)) {
            x->code = cli_worse(x->code, cli_error("run", e, false));
            const char *said = scratch_strdup(x->sc, e->msg);
            *e = (rp_err){0};
            (void)omit(e, x, path, said ? said : "");
        }
        if (x->j && !e->code) {
            jw_obj(x->j, NULL);
            jw_str(x->j, "bundle", path);
            if (r.j)
                summary_json(x->j, r.sc, &r.rec, r.j, r.l);
            report_json(x->j, r.r);
            jw_end(x->j);
        }
    }
    run_close(&r);
    return e->code;
}

static rp_code pair_of(rp_err *e, many *x)
{
    run_options own = *x->opt;
    pair_outcome out;
    const char *name = folder_name(x, "pair");
    if (begin(e, x))
        return e->code;
    if (!name || !(own.out = file_join(x->sc, x->ev.dir, name)))
        return err_nomem(e);
    if (!x->j)
        printf("\n== pair: %s, %s\n", text_safe(x->sc, own.pair[0]), text_safe(x->sc, own.pair[1]));
    jw_obj(x->j, NULL);
    if (run_pair(e, &out, x->sc, &own, x->j))
        return e->code;
    jw_end(x->j);
    x->code = cli_worse(x->code, out.exit_code);
    if (!out.has_evidence) {
        if (!x->j)
            printf("not run: %s\n", text_safe(x->sc, out.said));
        return omit(e, x, "pair", out.said);
    }
    if (add_run(e, x, name, "pair", name, true))
        return e->code;
    for (int i = 0; i < 2; i++) {
        campaign_folder *v = &x->folders[x->n_folders++];
        *v = out.rows[i];
        v->run = x->c.n_runs - 1;
        v->folder = scratch_printf(x->sc, "%s/%s", name, i ? "b" : "a");
        const char *dir = v->folder ? file_join(x->sc, x->ev.dir, v->folder) : NULL;
        if (!dir)
            return err_nomem(e);
        v->omitted = campaign_count_omitted(dir);
    }
    return RP_OK;
}

/* Tallied from the records in hand; an audit recomputes them from the files. */
static rp_code claim_figures(rp_err *e, many *x)
{
    jw *j = jw_new(JW_PRETTY);
    span text;
    campaign_tally(&x->c.figures, &x->c, x->folders, x->n_folders);
    campaign_write(j, &x->c);
    if (!jw_finish(e, &text, j) && !evidence_put(e, &x->ev, "campaign.json", text))
        (void)!evidence_end(e, &x->ev, true);
    jw_free(j);
    return e->code;
}

static rp_code all(rp_err *e, many *x, const char **paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (proc_interrupted())
            return err_set(e, RP_INTERRUPTED, "interrupted before bundle %zu of %zu", i + 1, n);
        if (one(e, x, paths[i], i, n))
            return e->code;
    }
    if (x->opt->pair[0] && pair_of(e, x))
        return e->code;
    /* A pair needs the folder before it is known whether it can run. */
    if (x->ev.dir && !x->c.n_runs && !rmdir(x->ev.dir))
        x->ev.dir = NULL;
    return x->ev.dir ? claim_figures(e, x) : RP_OK;
}

static int print_end(many *x)
{
    if (x->j) {
        jw_end(x->j);
        jw_str(x->j, "evidence", x->ev.dir ? x->opt->out : NULL);
        jw_i64(x->j, "exit", x->code);
        jw_end(x->j);
        return cli_print_json(x->j, x->code);
    }
    if (x->ev.dir) {
        putchar('\n');
        campaign_table(stdout, x->sc, x->folders, x->n_folders);
        putchar('\n');
        campaign_print_figures(stdout, x->sc, &x->c, &x->c.figures);
        printf("evidence: %s\n", text_safe(x->sc, x->opt->out));
    } else {
        puts("\nnothing was run");
    }
    return cli_finish(x->code);
}

static rp_code allocate(rp_err *e, many *x, size_t n)
{
    x->c.runs = scratch_array(x->sc, n + 1, sizeof *x->c.runs);
    x->c.omitted = scratch_array(x->sc, n + 1, sizeof *x->c.omitted);
    x->folders = scratch_array(x->sc, n + 2, sizeof *x->folders);
    x->c.name = folder_name(x, x->opt->out);
    return x->c.runs && x->c.omitted && x->folders && x->c.name ? RP_OK : err_nomem(e);
}

int run_many(const run_options *opt, char *const *args, size_t n_args)
{
    rp_err e = {0};
    run_options own = *opt;
    many x = {.sc = scratch_new(0), .opt = &own};
    const char **paths;
    size_t n;
    int code;
    own.out = own.out ? own.out : "campaign.evidence";
    if (own.root)
        return cli_usage("run", "--root pins one bundle, and several were given");
    if (!x.sc)
        err_nomem(&e);
    if (own.json)
        x.j = jw_new(JW_PRETTY);
    jw_obj(x.j, NULL);
    jw_str(x.j, "format", "replay-runs/0");
    cli_tool_json(x.j);
    jw_arr(x.j, "results");
    if (!x.sc || targets_expand(&e, &paths, &n, x.sc, args, n_args) || allocate(&e, &x, n) ||
        all(&e, &x, paths, n)) {
        jw_free(x.j);
        code = cli_error("run", &e, own.json);
        if (x.ev.dir)
            fprintf(stderr, "replay run: what was retained stays in %s, which is not a complete campaign\n",
                    text_safe(x.sc, x.ev.dir));
    } else {
        code = print_end(&x);
    }
    scratch_free(x.sc);
    return code;
}
