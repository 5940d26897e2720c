#include "artifacts/base/err.h"
#include "tests/support.h"
#include <criterion/criterion.h>
#include <ctype.h>

Test(finding, names_are_unique_and_stable_in_form)
{
    for (int i = 0; i < FIND_COUNT; i++) {
        const char *name = finding_name((finding_id)i);
        cr_expect_eq(finding_from_name(name), (finding_id)i, "%s", name);
        /* area.fault, in lower case. */
        const char *dot = strchr(name, '.');
        cr_expect(dot && dot > name && dot[1] && !strchr(dot + 1, '.'), "%s", name);
        for (const char *p = name; *p; p++)
            cr_expect(islower(*p) || *p == '_' || *p == '.', "%s", name);
        cr_expect(strlen(finding_summary((finding_id)i)) > 10, "%s", name);
    }
    cr_expect_eq(finding_from_name("no.such"), FIND_COUNT);
    cr_expect_eq(finding_from_name(""), FIND_COUNT);
}

Test(finding, sorted_by_place_id_and_text)
{
    scratch *sc = scratch_new(0);
    findings fs;
    findings_init(&fs, sc);
    findings_add(&fs, FIND_PLAN_RACE, "b", "/2", NULL, NULL, "1");
    findings_add(&fs, FIND_PLAN_RACE, "b", "/1", NULL, NULL, "z");
    findings_add(&fs, FIND_PLAN_RACE, "b", "/1", NULL, NULL, "a");
    findings_add(&fs, FIND_PLAN_CYCLE, "b", "/1", NULL, NULL, "z");
    findings_add(&fs, FIND_PLAN_RACE, NULL, NULL, NULL, NULL, "5");
    for (int i = 0; i < 40; i++)
        findings_add(&fs, FIND_PLAN_RACE, "a", NULL, "e", "f", "%02d", 40 - i);
    findings_sort(&fs);
    cr_assert_eq(fs.n, 45);
    cr_expect_str_eq(fs.v[0].file, "");
    cr_expect_str_eq(fs.v[1].message, "01");
    cr_expect_str_eq(fs.v[40].message, "40");
    cr_expect(fs.v[41].id == FIND_PLAN_CYCLE && !strcmp(fs.v[41].where, "/1"));
    cr_expect_str_eq(fs.v[42].message, "a");
    cr_expect_str_eq(fs.v[43].message, "z");
    cr_expect_str_eq(fs.v[44].where, "/2");
    cr_expect_not(fs.nomem);
    scratch_free(sc);
}

Test(finding, keeps_copies)
{
    scratch *sc = scratch_new(0);
    findings fs;
    char file[] = "file", want[] = "1";
    findings_init(&fs, sc);
    findings_add(&fs, FIND_FILE_SIZE, file, NULL, want, NULL, "%s", file);
    file[0] = want[0] = 'X';
    cr_expect_str_eq(fs.v[0].file, "file");
    cr_expect_str_eq(fs.v[0].expected, "1");
    cr_expect_str_eq(fs.v[0].message, "file");
    cr_expect_str_eq(fs.v[0].where, "");
    cr_expect_str_eq(fs.v[0].actual, "");
    scratch_free(sc);
}

/* A finding that does not fit must not turn the answer into a yes. */
Test(finding, lost_ones_are_remembered)
{
    scratch *sc = scratch_new(256);
    findings fs;
    findings_init(&fs, sc);
    for (int i = 0; i < 20; i++)
        findings_add(&fs, FIND_FILE_SIZE, "a file", NULL, NULL, NULL, "number %d", i);
    cr_expect(fs.nomem);
    cr_expect_lt(fs.n, 20);
    scratch_free(sc);
}

/* --- Errors, which become findings. --- */

Test(finding, the_first_error_wins)
{
    rp_err e = {0};
    cr_expect_eq(err_invalid(&e, FIND_PLAN_CYCLE, NULL, "/edges/1", "expected %d", 1), RP_INVALID);
    cr_expect_eq(err_set(&e, RP_IO, "later"), RP_INVALID);
    cr_expect_eq(err_nomem(&e), RP_INVALID);
    cr_expect_eq(err_errno(&e, "f", "read"), RP_INVALID);
    cr_expect_eq(err_invalid(&e, FIND_PLAN_RACE, "g", "h", "later"), RP_INVALID);
    cr_expect_eq(err_file(&e, "plan.json"), RP_INVALID);
    cr_expect_eq(err_file(&e, "other.json"), RP_INVALID);
    char text[200], tiny[12];
    err_text(&e, text, sizeof text);
    cr_expect_str_eq(text, "plan.json: /edges/1: expected 1");
    err_text(&e, tiny, sizeof tiny);
    cr_expect_str_eq(tiny, "plan.json: ");
}

Test(finding, only_invalid_content_becomes_one)
{
    scratch *sc = scratch_new(0);
    findings fs;
    rp_err e = {0};
    findings_init(&fs, sc);
    cr_expect_not(err_to_finding(&e, &fs));
    err_set(&e, RP_IO, "no answer");
    cr_expect_not(err_to_finding(&e, &fs));
    cr_expect_eq(e.code, RP_IO);
    e = (rp_err){0};
    err_invalid(&e, FIND_PLAN_CYCLE, "p", "/edges", "100%% of it");
    cr_expect(err_to_finding(&e, &fs));
    cr_expect_eq(e.code, RP_OK);
    cr_expect(fs.n == 1 && t_found(&fs, FIND_PLAN_CYCLE, "p", "/edges"));
    cr_expect_str_eq(fs.v[0].message, "100% of it");
    cr_expect_eq(err_file(&e, "p"), RP_OK);
    scratch_free(sc);
}
