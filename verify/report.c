#include "verify/report.h"
#include "artifacts/base/text.h"

const char *const check_status_names[] = {"passed", "rejected", "numerical_rejection", "not_checkable", NULL};

report *report_new(scratch *sc)
{
    report *r = scratch_alloc(sc, sizeof *r);
    if (r) {
        r->sc = sc;
        findings_init(&r->fs, sc);
    }
    return r;
}

void report_begin(report *r, const char *name, bool required)
{
    r->name = name;
    r->required = required;
    r->mark = r->fs.n;
}

static void add(report *r, check_status otherwise, const char *text)
{
    check_status status = otherwise;
    bool numeric = true;
    for (size_t i = r->mark; i < r->fs.n; i++)
        numeric &= r->fs.v[i].id == FIND_RUN_NUMERIC;
    if (r->fs.n > r->mark)
        status = numeric ? CHECK_NUMERICAL : CHECK_REJECTED;
    /* The words of a check say what was compared; after a no they must not read like a yes. */
    if (text && r->fs.n > r->mark)
        text = scratch_printf(r->sc, "%zu finding%s; compared: %s", r->fs.n - r->mark,
                              r->fs.n - r->mark == 1 ? "" : "s", text);
    if (r->n == REPORT_MAX_CHECKS || !text) {
        r->fs.nomem = true;
        return;
    }
    r->v[r->n++] = (check){.name = r->name, .required = r->required, .status = status, .text = text};
}

void report_end(report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(r, CHECK_PASSED, scratch_vprintf(r->sc, fmt, ap));
    va_end(ap);
}

void report_not_checkable(report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(r, CHECK_NOT_CHECKABLE, scratch_vprintf(r->sc, fmt, ap));
    va_end(ap);
}

void report_omitted(report *r, const char *path, const char *reason)
{
    r->required = false;
    report_not_checkable(r, "%s is omitted: %s", path, reason);
}

static bool any(const report *r, check_status s, bool required_only)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].status == s && (r->v[i].required || !required_only))
            return true;
    return false;
}

bool report_required_unanswered(const report *r)
{
    return any(r, CHECK_NOT_CHECKABLE, true);
}

check_status report_verdict(const report *r)
{
    if (any(r, CHECK_REJECTED, false) || r->fs.nomem)
        return CHECK_REJECTED;
    if (any(r, CHECK_NUMERICAL, false))
        return CHECK_NUMERICAL;
    return report_required_unanswered(r) ? CHECK_NOT_CHECKABLE : CHECK_PASSED;
}

void report_json(jw *j, report *r)
{
    findings_sort(&r->fs);
    jw_arr(j, "checks");
    for (size_t i = 0; i < r->n; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", r->v[i].name);
        jw_bool(j, "required", r->v[i].required);
        jw_str(j, "status", check_status_names[r->v[i].status]);
        jw_str(j, "compared", r->v[i].text);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "findings");
    for (size_t i = 0; i < r->fs.n; i++) {
        const finding *f = &r->fs.v[i];
        jw_obj(j, NULL);
        jw_str(j, "id", finding_name(f->id));
        jw_str(j, "file", f->file);
        jw_str(j, "at", f->where);
        jw_str(j, "expected", f->expected);
        jw_str(j, "actual", f->actual);
        jw_str(j, "message", f->message);
        jw_end(j);
    }
    jw_end(j);
}

static const char *const colours[] = {"\033[32m", "\033[31m", "\033[35m", "\033[33m"};

void report_print_findings(report *r, FILE *f)
{
    bool colour = text_colour(f);
    findings_sort(&r->fs);
    for (size_t i = 0; i < r->fs.n; i++) {
        const finding *x = &r->fs.v[i];
        fprintf(f, "%sfinding %s%s %s%s%s: %s\n", colour ? colours[CHECK_REJECTED] : "", finding_name(x->id),
                colour ? "\033[0m" : "", text_safe(r->sc, x->file), *x->where ? " " : "",
                text_safe(r->sc, x->where), text_safe(r->sc, x->message));
        if (*x->expected && *x->actual && !strstr(x->message, x->actual))
            fprintf(f, "    expected %s\n    found    %s\n", text_safe(r->sc, x->expected),
                    text_safe(r->sc, x->actual));
    }
}

void report_print(report *r, FILE *f)
{
    bool colour = text_colour(f);
    int wide = 0;
    for (size_t i = 0; i < r->n; i++)
        wide = (int)strlen(r->v[i].name) > wide ? (int)strlen(r->v[i].name) : wide;
    for (size_t i = 0; i < r->n; i++) {
        const check *c = &r->v[i];
        fprintf(f, "%-*s  %s%-19s%s  %s\n", wide, c->name, colour ? colours[c->status] : "",
                check_status_names[c->status], colour ? "\033[0m" : "", text_safe(r->sc, c->text));
    }
    if (r->fs.n)
        fputc('\n', f);
    report_print_findings(r, f);
    if (r->fs.nomem)
        fputs("findings were lost: out of memory\n", f);
}
