#include "verify/intercept.h"
#include "plan/calls.h"
#include "plan/lt_call.h"
#include "plan/lt_trace.h"
#include <stdio.h>

typedef struct {
    findings *fs;
    const char *file;
    uint64_t line;
} place;

static void differs(void *ctx, const char *field, const char *expected, const char *actual)
{
    const place *p = ctx;
    char where[64];
    snprintf(where, sizeof where, "line %llu, %s", (unsigned long long)p->line, field);
    findings_add(p->fs, FIND_RUN_INTERCEPT, p->file, where, expected, actual,
                 "expected %s %s as resolved, found %s in the library's log", field, expected, actual);
}

static void check_line(findings *fs, intercept_counts *c, const resolved_call *r, const lt_trace *t,
                       place *at)
{
    static const char *const truth[] = {"false", "true"};
    lt_call logged;
    const char *foreign = lt_call_of_query(&logged, &t->q);
    if (foreign) {
        char where[32];
        snprintf(where, sizeof where, "line %llu", (unsigned long long)at->line);
        findings_add(fs, FIND_RUN_INTERCEPT, at->file, where, NULL, foreign,
                     "expected a call as one can be resolved, found %s in the library's log", foreign);
    } else {
        logged.a.scaled = t->scaled[0];
        logged.b.scaled = t->scaled[1];
        lt_call_compare(&r->call, &logged, differs, at);
    }
    if (t->other_scales)
        differs(at, "cScalePointer, dScalePointer, amaxDPointer", "unset", "set");
    bool out_of_place = r->buffer[LT_C] != r->buffer[LT_D], bias = t->pointer[LT_PTR_BIAS] != 0;
    if (out_of_place != t->out_of_place)
        differs(at, "outOfPlace", truth[out_of_place], truth[t->out_of_place]);
    if (t->sm_count_target)
        differs(at, "smCountTarget", "unset", "set");
    if (r->has[LT_BIAS] != bias)
        differs(at, "biasPointer", truth[r->has[LT_BIAS]], truth[bias]);
    c->fields += t->printed;
    c->beta_unsaid |= t->beta_unsaid;
    c->not_observed = scratch_printf(fs->sc, "alpha, %sthe heuristic preference%s%s",
                                     c->beta_unsaid ? "the value of a beta other than 0, " : "",
                                     *t->elided_each ? ", defaults the line elides: " : "", t->elided_each);
}

rp_code intercept_check(rp_err *e, findings *fs, intercept_counts *out, const resolved_call *calls,
                        uint64_t n, const char *log, const char *file)
{
    intercept_counts c = {.not_observed = ""};
    while (*log) {
        size_t len = strcspn(log, "\n");
        const char *line = scratch_strndup(fs->sc, log, len);
        lt_trace t;
        place at = {.fs = fs, .file = file, .line = c.calls + 1};
        if (!line)
            return err_nomem(e);
        if (c.calls < n) {
            if (!lt_trace_read(e, &t, file, line))
                check_line(fs, &c, &calls[c.calls], &t, &at);
            else if (!err_to_finding(e, fs))
                return e->code;
        }
        c.calls++;
        log += len + (log[len] == '\n');
    }
    if (c.calls != n)
        findings_add(fs, FIND_RUN_INTERCEPT, file, NULL, NULL, NULL,
                     "expected %llu calls in the library's log, found %llu", (unsigned long long)n,
                     (unsigned long long)c.calls);
    *out = c;
    return fs->nomem || !c.not_observed ? err_nomem(e) : RP_OK;
}
