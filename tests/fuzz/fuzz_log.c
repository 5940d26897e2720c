/* Fuzzing the reader of the library's log, line by line, with whatever head. */
#include "plan/lt_call.h"
#include "plan/lt_trace.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scratch *sc = scratch_new(64 << 20);
    char *text = scratch_strndup(sc, (const char *)data, n);
    for (char *line = text; line && *line;) {
        rp_err e = {0};
        lt_trace t;
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        rp_code code = lt_trace_read(&e, &t, "log", line);
        if (code != RP_OK && !(code == RP_INVALID && e.id == FIND_RUN_INTERCEPT))
            abort();
        lt_call call;
        if (!code && !lt_call_of_query(&call, &t.q)) {
            lt_query back;
            lt_query_of_call(&back, &call);
            if (lt_call_of_query(&call, &back))
                abort();
        }
        line = end ? end + 1 : NULL;
    }
    scratch_free(sc);
    return 0;
}
