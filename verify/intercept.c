#include "verify/intercept.h"
#include "plan/calls.h"
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

static void check_line(findings *fs, intercept_counts *c, const resolved_call *r, const lt_logged *l,
                       place *at)
{
    static const char *const truth[] = {"false", "true"};
    lt_call_compare(&r->call, &l->call, differs, at);
    bool out_of_place = r->buffer[LT_C] != r->buffer[LT_D];
    if (out_of_place != l->out_of_place)
        differs(at, "outOfPlace", truth[out_of_place], truth[l->out_of_place]);
    if (l->sm_count_target)
        differs(at, "smCountTarget", "unset", "set");
    if (r->has[LT_BIAS] != l->has_bias)
        differs(at, "biasPointer", truth[r->has[LT_BIAS]], truth[l->has_bias]);
    c->fields += l->printed;
    c->not_observed = scratch_printf(fs->sc, "alpha, the heuristic preference%s%s",
                                     *l->elided ? ", defaults the line elides: " : "", l->elided);
}

rp_code intercept_check(rp_err *e, findings *fs, intercept_counts *out, const resolved_call *calls,
                        uint64_t n, const char *log, const char *file)
{
    intercept_counts c = {.not_observed = ""};
    while (*log) {
        size_t len = strcspn(log, "\n");
        const char *line = scratch_strndup(fs->sc, log, len);
        lt_logged l;
        place at = {.fs = fs, .file = file, .line = c.calls + 1};
        if (!line)
            return err_nomem(e);
        if (c.calls < n) {
            if (!lt_log_read(e, &l, fs->sc, file, line))
                check_line(fs, &c, &calls[c.calls], &l, &at);
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
