/* What was checked: one line a check, with what it compared; faults are findings. */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include "artifacts/base/finding.h"
#include "artifacts/base/jsonw.h"
#include <stdio.h>

typedef enum { CHECK_PASSED, CHECK_REJECTED, CHECK_NUMERICAL, CHECK_NOT_CHECKABLE } check_status;
extern const char
    *const check_status_names[]; /* "passed", "rejected", "numerical_rejection", "not_checkable" */

typedef struct {
    const char *name, *text;
    bool required; /* else supplementary: recompilation, disassembly, what needs a listed omission */
    check_status status;
} check;

enum { REPORT_MAX_CHECKS = 512 };

typedef struct {
    scratch *sc;
    findings fs;
    size_t n, mark; /* mark: findings before the current check */
    const char *name;
    bool required;
    check v[REPORT_MAX_CHECKS];
} report;

/* NULL when out of memory. */
report *report_new(scratch *sc);
/* Begin a check; what is found until its end belongs to it. */
void report_begin(report *r, const char *name, bool required);
/* End it: rejected when something was found (numerical_rejection when all of that is run.numeric), else
 * passed. The text says what was compared. */
void report_end(report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* End it unanswered, unless something was found all the same. */
void report_not_checkable(report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* End it unanswered because of a listed omission: the claim falls with the file, and the check is no longer a
 * required one. */
void report_omitted(report *r, const char *path, const char *reason);
/* The worst over required checks (a rejection in a supplementary one counts too): passed, numerical,
 * rejected, or not_checkable when a required check is. A lost finding never gives passed. */
check_status report_verdict(const report *r);
bool report_required_unanswered(const report *r);

/* "checks" and "findings" members into an open object. */
void report_json(jw *j, report *r);
/* Lines for people: the checks, then the findings. */
void report_print(report *r, FILE *f);
/* The findings alone. */
void report_print_findings(report *r, FILE *f);

#endif
