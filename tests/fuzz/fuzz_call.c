/* Fuzzing what is asked about calls: the text of one, a line of the library's log as a query, and a file of
 * verdicts. */
#include "plan/lt_csv.h"
#include "plan/lt_rules.h"
#include "plan/lt_trace.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void decide(scratch *sc, const lt_query *q)
{
    lt_answer a;
    lt_decide(&a, q);
    if ((a.verdict == LTV_REFUSE) != (lt_deciding(&a) != NULL))
        abort();
    for (size_t i = 0; i < a.n_hits; i++) {
        (void)lt_hit_text(sc, &a.hits[i]);
        (void)lt_hit_remedy(sc, &a.hits[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static lt_trace trace;
    scratch *sc = scratch_new(64 << 20);
    const char *text = scratch_strndup(sc, (const char *)data, n);
    rp_err e = {0}, in_line = {0}, in_file = {0};
    uint64_t promise[LTM_COUNT];
    lt_query q;
    lt_csv csv;
    lt_csv_row row;
    bool end = false;
    if (!text)
        abort();
    if (!lt_query_text(&e, &q, text))
        decide(sc, &q);
    else if (e.code != RP_USAGE)
        abort();
    (void)lt_line_kind_of(text);
    lt_trace_promises(text, promise);
    if (!lt_trace_read(&in_line, &trace, "log", text))
        decide(sc, &trace.q);
    else if (in_line.code != RP_INVALID)
        abort();
    if (!lt_csv_open(&in_file, &csv, "csv", span_of(data, n), 90, 130100))
        while (!lt_csv_next(&in_file, &csv, &row, &end) && !end)
            decide(sc, &row.q);
    scratch_free(sc);
    return 0;
}
