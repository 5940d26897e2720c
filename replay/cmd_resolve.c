#include "artifacts/base/text.h"
#include "replay/cli.h"
#include "replay/open.h"
#include "replay/options.h"
#include "replay/picture.h"
#include "replay/resolve_ask.h"
#include <stdlib.h>

typedef struct {
    bool json, arena, have_index;
    uint64_t index;
} options;

static const char *truth(bool b)
{
    return b ? "true" : "false";
}

static void decide(lt_answer *a, const plan *p, const resolved_call *c, const resolve_ask *ask)
{
    lt_query q;
    resolve_question(&q, p, c);
    q.sm = ask->sm;
    q.version = ask->version;
    q.version_loose = ask->version_loose;
    lt_decide(a, &q);
}

/* What the library would refuse on the device and version that were said. */
static void find_refused(findings *fs, scratch *sc, const plan *p, const resolved_call *c, uint64_t n,
                         const resolve_ask *ask)
{
    for (uint64_t i = 0; i < n; i++) {
        lt_answer a;
        decide(&a, p, &c[i], ask);
        const lt_hit *h = lt_deciding(&a);
        if (h)
            findings_add(fs, FIND_RESOLVE_REFUSED, "plan/plan.json",
                         scratch_printf(sc, "/nodes/%llu", (unsigned long long)c[i].node), h->rule->id,
                         lt_hit_text(sc, h), "rule %s: expected that %s; found that %s", h->rule->id,
                         h->rule->says, lt_hit_text(sc, h));
    }
}

static void print_spec(const plan *p, const resolved_call *c)
{
    const lt_spec *s = &p->nodes[c->node].spec;
    printf("  spec (column-major views)  trans_a=%s trans_b=%s lda=%llu ldb=%llu ldc=%llu ldd=%llu\n",
           truth(c->spec_trans_a), truth(c->spec_trans_b), (unsigned long long)s->lda,
           (unsigned long long)s->ldb, (unsigned long long)s->ldc, (unsigned long long)s->ldd);
    printf("  call (row-major a and b)   trans_a=%s trans_b=%s: both flags flip, ldc and ldd of the spec are "
           "not used\n\n",
           truth(c->call.trans_a), truth(c->call.trans_b));
}

static void print_operands(scratch *sc, const plan *p, const resolved_call *c)
{
    const lt_call *k = &c->call;
    const lt_matrix *m[] = {&k->a, &k->b, &k->c, &k->d};
    const char *ops[] = {k->trans_a ? "T" : "N", k->trans_b ? "T" : "N", "", ""};
    static const char *const head[] = {"",      "binds", "type",  "rows",   "cols",  "ld",
                                       "order", "op",    "batch", "stride", "reach", "buffer"};
    bool batched = k->d.batch;
    text_table *t = text_table_new(sc, batched ? "lllrrrllrrrr" : "lllrrrllrr");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        if (batched || (i != 8 && i != 9))
            text_cell(t, "%s", head[i]);
    for (int i = LT_A; i <= LT_D; i++) {
        text_cell(t, "%s", lt_operand_names[i]);
        text_cell(t, "%s", p->buffers[c->buffer[i]].id);
        text_cell(t, "%s", dtype_names[m[i]->type]);
        text_cell(t, "%llu", (unsigned long long)m[i]->rows);
        text_cell(t, "%llu", (unsigned long long)m[i]->cols);
        text_cell(t, "%llu", (unsigned long long)m[i]->ld);
        text_cell(t, "%s", lt_order_names[m[i]->order]);
        text_cell(t, "%s", ops[i]);
        if (batched) {
            text_cell(t, "%llu", (unsigned long long)m[i]->batch);
            text_cell(t, "%llu", (unsigned long long)m[i]->stride);
        }
        text_cell(t, "%llu", (unsigned long long)c->reach_elements[i]);
        text_cell(t, "%llu", (unsigned long long)c->buffer_elements[i]);
    }
    text_table_print(t, stdout, "  ");
}

static void print_call(scratch *sc, const plan *p, const resolved_call *c, const resolve_ask *ask)
{
    const lt_call *k = &c->call;
    lt_answer a;
    printf("node %llu %s: m=%llu n=%llu k=%llu\n", (unsigned long long)c->node,
           text_safe(sc, p->nodes[c->node].label), (unsigned long long)k->m, (unsigned long long)k->n,
           (unsigned long long)k->k);
    if (p->resolver == RESOLVE_GIVEN)
        puts("  descriptors as recorded: policy given\n");
    else
        print_spec(p, c);
    print_operands(sc, p, c);
    printf("\n  compute %s, scale %s, alpha 1, beta %d; C is %s; epilogue %s", lt_compute_names[k->compute],
           dtype_names[k->scale], k->beta_one, c->c_is_operand ? "an operand" : "D itself",
           lt_epilogue_names[k->epilogue]);
    for (int i = LT_BIAS; i < LT_OPERANDS; i++)
        if (c->has[i])
            printf(", %s %s", lt_operand_names[i], p->buffers[c->buffer[i]].id);
    printf("; workspace %s bytes\n", text_count(sc, k->workspace_bytes));
    printf("  %s\n", resolve_sentence(sc, p, c));
    decide(&a, p, c, ask);
    fputs("  ", stdout);
    lt_verdict_print(&a, -1, sc, stdout);
}

static void arena_json(jw *j, const arena_layout *l)
{
    jw_obj(j, "arena");
    jw_u64(j, "peak_live_bytes", l->peak_live_bytes);
    jw_arr(j, "ranges");
    for (uint64_t i = 0; i < l->n; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "bytes", l->ranges[i].bytes);
        jw_u64(j, "end_step", l->ranges[i].end_step);
        jw_u64(j, "first_step", l->ranges[i].first_step);
        jw_str(j, "name", l->ranges[i].name);
        jw_u64(j, "offset_bytes", l->ranges[i].offset_bytes);
        jw_end(j);
    }
    jw_end(j);
    jw_u64(j, "slab_bytes", l->slab_bytes);
    jw_end(j);
}

static void explain_json(jw *j, scratch *sc, const plan *p, const resolved_call *c, uint64_t n,
                         const resolve_ask *ask)
{
    jw_arr(j, "explained");
    for (uint64_t i = 0; i < n; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "node", c[i].node);
        if (p->resolver == RESOLVE_LUMINAL) {
            jw_bool(j, "spec_trans_a", c[i].spec_trans_a);
            jw_bool(j, "spec_trans_b", c[i].spec_trans_b);
        }
        for (int k = LT_A; k < LT_OPERANDS; k++) {
            if (!c[i].has[k])
                continue;
            jw_obj(j, lt_operand_names[k]);
            jw_u64(j, "reach_elements", c[i].reach_elements[k]);
            jw_u64(j, "buffer_elements", c[i].buffer_elements[k]);
            jw_end(j);
        }
        jw_str(j, "c_source", c[i].c_is_operand ? "operand" : "d");
        jw_str(j, "sentence", resolve_sentence(sc, p, &c[i]));
        lt_answer a;
        decide(&a, p, &c[i], ask);
        jw_str(j, "verdict", lt_verdict_names[a.verdict]);
        jw_arr(j, "rules");
        for (size_t k = 0; k < a.n_hits; k++)
            jw_fmt(j, NULL, "%s: %s", a.hits[k].rule->id, lt_hit_text(sc, &a.hits[k]));
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
}

static int answer(rp_err *e, opened *o, const options *opt, const resolve_ask *ask)
{
    resolved_call *calls;
    uint64_t n;
    bool ok;
    const plan *p = o->b->plan;
    if (!p || (opt->arena && !bundle_arena(o->b))) { /* what was asked for cannot be read */
        if (opt->json) {
            jw *j = jw_new(JW_PRETTY);
            jw_obj(j, NULL);
            jw_str(j, "format", "replay-resolved/0");
            report_json(j, o->r);
            jw_i64(j, "exit", EXIT_REJECTED);
            jw_end(j);
            return cli_print_json(j, EXIT_REJECTED);
        }
        report_print_findings(o->r, stdout);
        return cli_finish(EXIT_REJECTED);
    }
    report *r = report_new(o->sc);
    if (!r)
        err_nomem(e);
    else
        report_begin(r, "resolve", true);
    if (e->code ||
        resolve_plan(e, &r->fs, &calls, &n, &ok, o->sc, p, o->b->recorded_calls, o->b->n_recorded_calls))
        return cli_error("resolve", e, opt->json);
    if (opt->have_index && opt->index >= n)
        return cli_usage("resolve", "expected --index below %llu, the plan's number of calls, found %llu",
                         (unsigned long long)n, (unsigned long long)opt->index);
    const resolved_call *first = opt->have_index ? &calls[opt->index] : calls;
    uint64_t shown = opt->have_index ? 1 : n;
    if (ok)
        find_refused(&r->fs, o->sc, p, first, shown, ask);
    report_end(r, "%llu calls", (unsigned long long)n);
    int code = cli_verdict_exit(r);
    if (opt->json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-resolved/0");
        jw_str(j, "name", p->name);
        jw_str(j, "policy", p->resolver_name);
        if (ok) {
            calls_write(j, p, first, shown);
            explain_json(j, o->sc, p, first, shown, ask);
        }
        if (bundle_arena(o->b))
            arena_json(j, bundle_arena(o->b));
        report_json(j, r);
        jw_i64(j, "exit", code);
        jw_end(j);
        return cli_print_json(j, code);
    }
    for (uint64_t i = 0; ok && !opt->arena && i < shown; i++)
        print_call(o->sc, p, &first[i], ask);
    if (opt->arena && bundle_arena(o->b))
        picture_print(stdout, o->sc, bundle_arena(o->b), p);
    report_print_findings(r, stdout);
    return cli_finish(code);
}

static bool parse_index(options *opt, const char *text)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    opt->index = strtoull(text, &end, 10);
    opt->have_index = true;
    return !*end && strlen(text) < 10;
}

/* Everything that is asked without a bundle. */
static int ask_library(const resolve_ask *ask, int n_bundles)
{
    if (!!ask->call + !!ask->against + ask->rules != 1 || n_bundles)
        return cli_usage("resolve", "expected one of BUNDLE --cpu-only, --call, --against and --rules");
    return ask->rules ? resolve_rules(ask) : ask->call ? resolve_one(ask) : resolve_against(ask);
}

/* An option of resolve_ask; false where the value is wrong. */
static bool parse_ask(resolve_ask *ask, int c, const char *text)
{
    uint64_t sm;
    char *end;
    switch (c) {
    case 'C':
        ask->call = text;
        return true;
    case 'A':
        ask->against = text;
        return true;
    case 'K':
        ask->knowledge = text;
        return true;
    case 'R':
        return ask->rules = true;
    case 'L':
        return lt_word_version(text, &ask->version, &ask->version_loose);
    default:
        sm = strtoull(text, &end, 10);
        ask->sm = (unsigned)sm;
        return *text >= '1' && *text <= '9' && !*end && sm < 10000;
    }
}

int cmd_resolve(int argc, char **argv)
{
    static const struct option longs[] = {{"cpu-only", no_argument, NULL, 'c'},
                                          {"index", required_argument, NULL, 'i'},
                                          {"arena", no_argument, NULL, 'a'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"call", required_argument, NULL, 'C'},
                                          {"against", required_argument, NULL, 'A'},
                                          {"knowledge", required_argument, NULL, 'K'},
                                          {"sm", required_argument, NULL, 'S'},
                                          {"lib", required_argument, NULL, 'L'},
                                          {"rules", no_argument, NULL, 'R'},
                                          OPTIONS_LIMITS,
                                          {0}};
    options opt = {0};
    resolve_ask ask = {0};
    shared_options shared = {0};
    bool cpu_only = false;
    int c, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == 'c')
            cpu_only = true;
        else if (c == 'a')
            opt.arena = true;
        else if (c == 'j')
            opt.json = ask.json = true;
        else if (c == 'i') {
            if (!parse_index(&opt, optarg))
                return cli_usage("resolve", "expected a number for --index, found \"%.40s\"", optarg);
        } else if (c == '?' || c == ':')
            return cli_bad_option("resolve", argv);
        else if (c >= OPTION_ROOT) {
            int wrong = options_take("resolve", &shared, c, longs[at].name);
            if (wrong)
                return wrong;
        } else if (!parse_ask(&ask, c, optarg))
            return cli_usage("resolve", "expected --sm 90 and --lib 13.1.0, found \"%.40s\"", optarg);
    }
    if (ask.call || ask.against || ask.rules)
        return ask_library(&ask, argc - optind);
    if (argc - optind > 1)
        return cli_usage("resolve", "expected one bundle, found %d", argc - optind);
    if (!cpu_only)
        return cli_usage("resolve", "expected --cpu-only: nothing is asked of a device or of the library");
    rp_err e = {0};
    opened o;
    int code = opened_bundle(&e, &o, optind < argc ? argv[optind] : cli_default_bundle)
                   ? cli_error("resolve", &e, opt.json)
                   : answer(&e, &o, &opt, &ask);
    opened_close(&o);
    return code;
}
