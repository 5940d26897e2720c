/* Two bundles by their plan signature documents; two evidence folders by those, their observed ones, and
 * their timings where scope, device and driver agree. */
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "replay/audit.h"
#include "replay/cli.h"
#include "replay/docdiff.h"
#include "replay/open.h"
#include "replay/options.h"
#include "verify/signature.h"

typedef struct {
    const char *path;
    bool evidence;
    opened o;   /* of a bundle */
    audited *a; /* of evidence */
    span plan, observed;
    digest plan_digest, observed_digest;
    bool has_observed;
} side;

static rp_code load_bundle(rp_err *e, side *s)
{
    if (opened_bundle(e, &s->o, s->path))
        return e->code;
    if (!bundle_describable(s->o.b)) {
        err_invalid(e, s->o.r->fs.n ? s->o.r->fs.v[0].id : FIND_PLAN_INVALID, s->path, NULL,
                    "expected a bundle that `replay verify` accepts");
        return e->code;
    }
    return plan_signature(e, &s->plan, &s->plan_digest, s->o.sc, s->o.b);
}

static rp_code load_evidence(rp_err *e, side *s, scratch *sc)
{
    s->a = scratch_alloc(sc, sizeof *s->a);
    if (!s->a)
        return err_nomem(e);
    static const verify_options opt; /* neither root nor compiler */
    if (audit_folder(e, s->a, sc, s->path, &opt))
        return e->code;
    if (report_verdict(s->a->r) == CHECK_REJECTED || !s->a->j || !bundle_complete(s->a->v.bundle)) {
        err_invalid(e, s->a->r->fs.n ? s->a->r->fs.v[0].id : FIND_EVIDENCE_INVALID, s->path, NULL,
                    "expected evidence that `replay audit` accepts");
        return e->code;
    }
    s->has_observed = s->a->j->first != NULL;
    if (s->has_observed && observed_signature(e, &s->observed, &s->observed_digest, sc, s->a->j->first))
        return e->code;
    return plan_signature(e, &s->plan, &s->plan_digest, sc, s->a->v.bundle);
}

static rp_code load(rp_err *e, side *s, scratch *sc, const char *path)
{
    const char *record = file_join(sc, path, "evidence.json");
    s->path = path;
    if (!record)
        return err_nomem(e);
    s->evidence = file_is_dir(path) && file_exists(record);
    return s->evidence ? load_evidence(e, s, sc) : load_bundle(e, s);
}

/* The omissions without which the signature of a bundle is not whole. */
static size_t leaves_out(const side *s, const manifest_omitted **first)
{
    size_t n = 0;
    const bundle *b = s->evidence ? NULL : s->o.b;
    for (size_t i = 0; b && i < b->man->n_omitted; i++) {
        file_role role = manifest_role_of(b->man->omitted[i].path);
        if (role != ROLE_SOURCE && role != ROLE_KERNEL)
            continue;
        *first = n++ ? *first : &b->man->omitted[i];
    }
    return n;
}

static void print_left_out(scratch *sc, const char *name, const side *s)
{
    const manifest_omitted *o;
    size_t n = leaves_out(s, &o);
    if (n)
        printf("not compared: %zu files omitted from %s, %s the first: %s\n", n, name, text_safe(sc, o->path),
               text_safe(sc, o->reason));
}

typedef struct {
    const char *name;
    const difference *d;
    bool compared;
} section;

static rp_code compare_documents(rp_err *e, section *out, scratch *sc, const char *name, span a, span b)
{
    js_node *ja, *jb;
    if (js_parse(e, &ja, sc, name, a) || js_parse(e, &jb, sc, name, b) || docdiff(e, &out->d, sc, ja, jb))
        return e->code;
    out->name = name;
    out->compared = true;
    return RP_OK;
}

/* Why timings of the two may not be set side by side, or NULL. */
static const char *no_timings(const side *a, const side *b)
{
    if (!a->evidence || !b->evidence)
        return "bundles hold no timings of ours";
    const result *x = a->a->j->first, *y = b->a->j->first;
    if (!x || !y)
        return "a run without results";
    if (judgement_status(a->a->j) != PHASE_PASSED || judgement_status(b->a->j) != PHASE_PASSED)
        return "a run that did not pass is admitted to no comparison";
    if (strcmp(x->device_uuid_sha256, y->device_uuid_sha256))
        return "another device";
    if (strcmp(x->driver, y->driver))
        return "another driver";
    return NULL;
}

static void print_timings(scratch *sc, const side *a, const side *b)
{
    const char *why = no_timings(a, b);
    if (why) {
        printf("timings: not compared (%s)\n", why);
        return;
    }
    text_table *t = text_table_new(sc, "lrrr");
    static const char *const head[] = {"timing scope", "A", "B", "B / A"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    const run_record *x = &a->a->recomputed, *y = &b->a->recomputed;
    for (uint64_t i = 0; i < x->n_timings; i++)
        for (uint64_t k = 0; k < y->n_timings; k++)
            if (!strcmp(x->timings[i].scope, y->timings[k].scope)) {
                text_cell(t, "%s", x->timings[i].scope);
                text_cell(t, "%s", text_us(sc, x->timings[i].s.median_ps));
                text_cell(t, "%s", text_us(sc, y->timings[k].s.median_ps));
                text_cell(t, "%.3f",
                          x->timings[i].s.median_ps
                              ? (double)y->timings[k].s.median_ps / (double)x->timings[i].s.median_ps
                              : 0.0);
            }
    text_table_print(t, stdout, "");
}

static void print_section(scratch *sc, const section *s)
{
    if (!s->compared)
        return;
    printf("%s: %s\n", s->name, s->d ? "different" : "equal");
    for (const difference *d = s->d; d; d = d->next)
        printf("  %s\n    A %s\n    B %s\n", text_safe(sc, d->where), text_safe(sc, d->a),
               text_safe(sc, d->b));
}

static void section_json(jw *j, const section *s)
{
    if (!s->compared)
        return;
    jw_obj(j, NULL);
    jw_str(j, "document", s->name);
    jw_bool(j, "equal", !s->d);
    jw_arr(j, "differences");
    for (const difference *d = s->d; d; d = d->next) {
        jw_obj(j, NULL);
        jw_str(j, "at", d->where);
        jw_str(j, "a", d->a);
        jw_str(j, "b", d->b);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static int answer(scratch *sc, const side *a, const side *b, const section *s, size_t n, bool json)
{
    bool equal = true;
    for (size_t i = 0; i < n; i++)
        equal &= !s[i].d;
    const manifest_omitted *o;
    int code = !equal                                      ? EXIT_REJECTED
               : leaves_out(a, &o) + leaves_out(b, &o) > 0 ? EXIT_UNTRUSTED
                                                           : EXIT_PASSED;
    if (!json) {
        printf("A %s\nB %s\n\n", text_safe(sc, a->path), text_safe(sc, b->path));
        for (size_t i = 0; i < n; i++)
            print_section(sc, &s[i]);
        print_left_out(sc, "A", a);
        print_left_out(sc, "B", b);
        print_timings(sc, a, b);
        return cli_finish(code);
    }
    const char *why = no_timings(a, b);
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-comparison/0");
    cli_tool_json(j);
    jw_str(j, "a", a->path);
    jw_str(j, "b", b->path);
    jw_bool(j, "equal", equal);
    jw_arr(j, "documents");
    for (size_t i = 0; i < n; i++)
        section_json(j, &s[i]);
    jw_end(j);
    jw_arr(j, "timings");
    for (uint64_t i = 0; !why && i < a->a->recomputed.n_timings; i++)
        for (uint64_t k = 0; k < b->a->recomputed.n_timings; k++)
            if (!strcmp(a->a->recomputed.timings[i].scope, b->a->recomputed.timings[k].scope)) {
                jw_obj(j, NULL);
                jw_str(j, "scope", a->a->recomputed.timings[i].scope);
                jw_u64(j, "a_median_ps", a->a->recomputed.timings[i].s.median_ps);
                jw_u64(j, "b_median_ps", b->a->recomputed.timings[k].s.median_ps);
                jw_end(j);
            }
    jw_end(j);
    jw_str(j, "timings_not_compared", why);
    jw_u64(j, "a_omitted", leaves_out(a, &o));
    jw_u64(j, "b_omitted", leaves_out(b, &o));
    jw_i64(j, "exit", code);
    jw_end(j);
    return cli_print_json(j, code);
}

int cmd_compare(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, OPTIONS_LIMITS, {0}};
    bool json = false;
    shared_options shared = {0};
    int c, code, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == 'j')
            json = true;
        else if (c == '?')
            return cli_bad_option("compare", argv);
        else if ((code = options_take("compare", &shared, c, longs[at].name)))
            return code;
    }
    if (argc - optind != 2)
        return cli_usage("compare", "expected two bundles or two evidence folders, found %d arguments",
                         argc - optind);
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    side a = {0}, b = {0};
    section s[2] = {{0}, {0}};
    code = EXIT_UNREADABLE;
    if (!sc)
        err_nomem(&e);
    if (!sc || load(&e, &a, sc, argv[optind]) || load(&e, &b, sc, argv[optind + 1]) ||
        compare_documents(&e, &s[0], sc, "plan signature", a.plan, b.plan) ||
        (a.has_observed && b.has_observed &&
         compare_documents(&e, &s[1], sc, "observed signature", a.observed, b.observed)))
        code = cli_error("compare", &e, json);
    else
        code = answer(sc, &a, &b, s, 2, json);
    for (side *x = &a; x; x = x == &a ? &b : NULL) {
        opened_close(&x->o);
        if (x->a)
            audit_clear(x->a);
    }
    scratch_free(sc);
    return code;
}
