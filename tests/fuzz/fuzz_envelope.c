/* Fuzzing envelopes and statements: the input as an envelope, its payload as a statement, and the input
 * itself as one. What an envelope holds, written again, reads to the same. */
#include "artifacts/dsse.h"
#include "artifacts/statement.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void as_statement(scratch *sc, span text)
{
    rp_err e = {0};
    statement s;
    const char *name;
    if (statement_read(&e, &s, sc, "input", text))
        must((e.code == RP_INVALID && e.id == FIND_TRUST_STATEMENT) || e.code == RP_NOMEM);
    else {
        must(s.n > 0 && statement_is_about(&s, s.subjects[s.n - 1].sha256));
        (void)!statement_bundle_read(&e, &name, &s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(64 << 20);
    dsse d, again;
    span text;
    as_statement(sc, span_of(data, n));
    if (dsse_read(&e, &d, sc, "input", span_of(data, n))) {
        must((e.code == RP_INVALID && e.id == FIND_TRUST_ENVELOPE) || e.code == RP_NOMEM);
    } else {
        as_statement(sc, d.payload);
        if (!dsse_write(&e, &text, sc, d.payload_type, d.payload, NULL, 0, &d) &&
            !dsse_read(&e, &again, sc, "again", text)) {
            must(again.n == d.n && again.payload.n == d.payload.n &&
                 !memcmp(again.payload.p, d.payload.p, d.payload.n));
            for (size_t i = 0; i < d.n; i++)
                must(again.v[i].bytes.n == d.v[i].bytes.n &&
                     !memcmp(again.v[i].bytes.p, d.v[i].bytes.p, d.v[i].bytes.n));
        } else {
            must(e.code == RP_NOMEM);
        }
    }
    scratch_free(sc);
    return 0;
}
