#include "artifacts/base/file.h"
#include "verify/contract.h"
#include <criterion/criterion.h>
#include <stdio.h>

static const char *const good =
    "{\"format\":\"replay-contract/1\","
    "\"tolerances\":[{\"output\":\"y\",\"atol\":0.0002,\"rtol\":0.002}],"
    "\"fixtures\":[{\"name\":\"a\",\"applies\":true,\"property\":\"p\"},{\"name\":\"b\",\"applies\":false,"
    "\"property\":\"q\"}],"
    "\"checks_per_phase\":1,\"phases\":5,\"checks_total\":5,"
    "\"accuracy\":{\"class\":\"tolerance_bounded\",\"measured_k\":[56,768],\"growth\":\"g\"},"
    "\"determinism\":{\"claimed\":false,\"reason\":\"r\"},"
    "\"architecture\":{\"kernels_sm\":75,\"library_sm\":80,\"claim\":\"c\"},"
    "\"dispatch\":[{\"name\":\"n\",\"symbol\":\"s\",\"family\":\"f\",\"dtypes\":[\"f16\"]},"
    "{\"name\":\"m\",\"symbol\":\"s\",\"family\":\"f\",\"dtypes\":[\"f32\"]}]}";

Test(contract, reads)
{
    scratch *sc = scratch_new(0);
    rp_err e = {0};
    contract *c;
    cr_assert_eq(contract_read(&e, &c, sc, "c", span_str(good)), RP_OK, "%s: %s", e.where, e.msg);
    cr_assert(contract_tolerance_of(c, "y")->tol.atol == 2e-4 &&
              contract_tolerance_of(c, "y")->tol.rtol == 2e-3);
    cr_assert_null(contract_tolerance_of(c, "z"));
    cr_assert(contract_fixture_of(c, "a")->applies && !contract_fixture_of(c, "b")->applies);
    cr_assert_null(contract_fixture_of(c, "c"));
    cr_assert(c->checks_total == 5 && c->n_measured_k == 2 && c->measured_k[1] == 768 && !c->deterministic);
    cr_assert(c->n_dispatch == 2 && c->dispatch[1].dtypes[0] == DT_F32);
    cr_assert(c->kernels_sm == 75 && c->library_sm == 80);
    scratch_free(sc);
}

Test(contract, the_shipped_ones)
{
    scratch *sc = scratch_new(0);
    static const char *const folders[] = {"weight_view", "weight_view.small"};
    for (size_t i = 0; i < 2; i++) {
        rp_err e = {0};
        span text;
        contract *c;
        const char *path = scratch_printf(sc, "artifacts/workloads/%s/contract.json", folders[i]);
        cr_assert_eq(file_read(&e, &text, sc, path, 1 << 20), RP_OK);
        cr_assert_eq(contract_read(&e, &c, sc, path, text), RP_OK, "%s: %s: %s", path, e.where, e.msg);
        cr_assert(c->n_fixtures == 7 && c->checks_per_phase == 7 && c->phases == 5 && c->checks_total == 35);
        cr_assert(c->deterministic && c->measured_k[0] == (i ? 56 : 768));
    }
    scratch_free(sc);
}

Test(contract, refuses)
{
    static const struct {
        const char *from, *to;
        finding_id id;
        const char *where;
    } cases[] = {
        {"\"atol\":0.0002,\"rtol\":0.002", "\"atol\":0,\"rtol\":0", FIND_CONTRACT_INVALID, "/tolerances/0"},
        {"\"atol\":0.0002", "\"atol\":-1e-9", FIND_CONTRACT_INVALID, "/tolerances/0/atol"},
        {"\"atol\":0.0002", "\"atol\":1e999", FIND_JSON_NUMBER, "/tolerances/0/atol"},
        {"\"atol\":0.0002", "\"atol\":\"2e-4\"", FIND_JSON_TYPE, "/tolerances/0/atol"},
        {"tolerance_bounded", "reference_exact", FIND_CONTRACT_INVALID, "/tolerances/0"},
        {"tolerance_bounded", "close", FIND_JSON_VALUE, "/accuracy/class"},
        {"[{\"output\"", "[{\"output\":\"y\",\"atol\":1,\"rtol\":1},{\"output\"", FIND_CONTRACT_INVALID,
         "/tolerances/1"},
        {"[56,768]", "[768,56]", FIND_CONTRACT_INVALID, "/accuracy/measured_k/1"},
        {"[56,768]", "[]", FIND_CONTRACT_INVALID, "/accuracy/measured_k"},
        {"[56,768]", "[0]", FIND_CONTRACT_INVALID, "/accuracy/measured_k/0"},
        {"\"g\"", "\"\"", FIND_CONTRACT_INVALID, "/accuracy/growth"},
        {"\"checks_per_phase\":1", "\"checks_per_phase\":2", FIND_CONTRACT_INVALID, "/checks_per_phase"},
        {"\"checks_total\":5", "\"checks_total\":6", FIND_CONTRACT_INVALID, "/checks_total"},
        {"\"phases\":5,\"checks_total\":5", "\"phases\":0,\"checks_total\":0", FIND_CONTRACT_INVALID,
         "/phases"},
        {"\"applies\":true", "\"applies\":false", FIND_CONTRACT_INVALID, "/fixtures"},
        {"\"applies\":true", "\"applies\":1", FIND_JSON_TYPE, "/fixtures/0/applies"},
        {"\"name\":\"b\"", "\"name\":\"a\"", FIND_CONTRACT_INVALID, "/fixtures/1"},
        {"\"property\":\"q\"", "\"property\":\"\"", FIND_CONTRACT_INVALID, "/fixtures/1/property"},
        {"\"reason\":\"r\"", "\"reason\":\"\"", FIND_CONTRACT_INVALID, "/determinism/reason"},
        {"\"reason\":\"r\"", "\"runs\":2", FIND_JSON_MISSING_KEY, "/determinism"},
        {"\"claim\":\"c\"", "\"claim\":\"c\",\"d\":1", FIND_JSON_UNKNOWN_KEY, "/architecture/d"},
        {"\"name\":\"m\"", "\"name\":\"n\"", FIND_CONTRACT_INVALID, "/dispatch/1"},
        {"[\"f32\"]", "[\"f16\"]", FIND_CONTRACT_INVALID, "/dispatch/1"},
        {"[\"f32\"]", "[\"f8\"]", FIND_JSON_VALUE, "/dispatch/1/dtypes/0"},
        {"[\"f32\"]", "[]", FIND_CONTRACT_INVALID, "/dispatch/1/dtypes"},
        {"\"format\":\"replay-contract/1\"", "\"format\":\"replay-contract/9\"", FIND_JSON_VALUE, "/format"},
        {"\"phases\":5,", "\"phases\":5,\"x\":1,", FIND_JSON_UNKNOWN_KEY, "/x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch *sc = scratch_new(0);
        rp_err e = {0};
        contract *c;
        const char *at = strstr(good, cases[i].from);
        cr_assert_not_null(at, "%s", cases[i].from);
        const char *json =
            scratch_printf(sc, "%.*s%s%s", (int)(at - good), good, cases[i].to, at + strlen(cases[i].from));
        cr_assert_eq(contract_read(&e, &c, sc, "c", span_str(json)), RP_INVALID, "%s", cases[i].to);
        cr_expect_eq(e.id, cases[i].id, "%s: %s", cases[i].to, e.msg);
        cr_expect_str_eq(e.where, cases[i].where, "%s: %s", cases[i].to, e.msg);
        scratch_free(sc);
    }
}
