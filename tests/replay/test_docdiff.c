#include "replay/docdiff.h"
#include <criterion/criterion.h>
#include <stdio.h>

static void expect(const char *a, const char *b, const char *lines)
{
    rp_err e = {0};
    scratch *sc = scratch_new(0);
    js_node *x, *y;
    const difference *d;
    char all[1000] = "";
    cr_assert(!js_parse(&e, &x, sc, "a", span_str(a)) && !js_parse(&e, &y, sc, "b", span_str(b)) &&
                  !docdiff(&e, &d, sc, x, y),
              "%s", e.msg);
    for (; d; d = d->next)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s: %s | %s\n", d->where, d->a, d->b);
    cr_assert_str_eq(all, lines, "%s and %s: %s", a, b, all);
    scratch_free(sc);
}

Test(docdiff, equal)
{
    expect("{}", "{}", "");
    expect("{\"a\": [1, {\"b\": null}], \"c\": \"x\"}", "{\"c\":\"x\",\"a\":[1,{\"b\":null}]}", "");
}

Test(docdiff, fields)
{
    expect("{\"a\": 1, \"b\": \"x\"}", "{\"a\": 2, \"b\": \"y\"}", "/a: 1 | 2\n/b: x | y\n");
    expect("{\"a\": true}", "{\"a\": false}", "/a: true | false\n");
    expect("{\"a\": {\"b\": {\"c\": 1}}}", "{\"a\": {\"b\": {\"c\": 3}}}", "/a/b/c: 1 | 3\n");
}

Test(docdiff, absent)
{
    expect("{\"a\": 1}", "{\"b\": 1}", "/a: 1 | (absent)\n/b: (absent) | 1\n");
    expect("{\"a\": null}", "{}", "/a: null | (absent)\n");
    expect("{\"a\": [1, 2, 3]}", "{\"a\": [1, 5]}", "/a/1: 2 | 5\n/a/2: 3 | (absent)\n");
    expect("{\"a\": []}", "{\"a\": [{\"b\": 1}]}", "/a/0: (absent) | object\n");
}

Test(docdiff, kinds)
{
    expect("{\"a\": 1}", "{\"a\": \"1\"}", "/a: 1 | 1\n");
    expect("{\"a\": [1, 2]}", "{\"a\": {\"x\": 1}}", "/a: array of 2 | object\n");
    expect("[]", "{}", ": array of 0 | object\n");
}
