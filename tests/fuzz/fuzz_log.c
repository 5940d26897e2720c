/* Fuzzing the reader of the library's log, line by line. */
#include "plan/lt_log.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scratch *sc = scratch_new(64 << 20);
    char *text = scratch_strndup(sc, (const char *)data, n);
    for (char *line = text; line && *line;) {
        rp_err e = {0};
        lt_logged logged;
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        rp_code code = lt_log_read(&e, &logged, sc, "log", line);
        if (code != RP_OK && !(code == RP_INVALID && e.id == FIND_RUN_INTERCEPT) && code != RP_NOMEM)
            abort();
        line = end ? end + 1 : NULL;
    }
    scratch_free(sc);
    return 0;
}
