/* Other people's plans as sources of bundles. */
#ifndef REPLAY_IMPORT_H
#define REPLAY_IMPORT_H

#include "plan/lt_trace.h"
#include "replay/cli.h"

/* The library's log into a folder (docs/importing.md): calls.json, sequence.txt, and call-NNN/, the sources
 * of a bundle, for each distinct call that a plan can express. Lines that cannot be read are reported by
 * number on stderr and in calls.json: then EXIT_REJECTED. */
int import_lt_log(const char *log, const char *out, bool json);

/* Why a plan cannot express the call; NULL when it can. */
const char *import_call_obstacle(const lt_trace *t);
/* Its sources into the folder `dir`, which is made; `text` is its line, number `line` of `log`. */
RP_MUST rp_code import_call_write(rp_err *e, scratch *sc, const char *dir, const char *name, const char *log,
                                  uint64_t line, const char *text, const lt_trace *t);

enum { IMPORT_CALLS_MAX = 65536, IMPORT_RANGES_MAX = 4 << 20 };

/* Distinct calls, and the bytes that they name. */
typedef struct {
    lt_trace first;
    const char *text;                 /* its line, from the level on */
    uint64_t line, count, algorithms; /* algorithms: how often it was another than the first one's */
} logged_call;

typedef struct {
    uint64_t from, bytes;
    uint32_t buffer; /* after log_ranges_merge */
} log_range;

typedef struct {
    logged_call *calls;
    log_range *ranges;
    uint32_t *call_slots, *range_slots; /* hash tables of index + 1 */
    size_t n_calls, cap_calls, n_ranges, cap_ranges, call_slots_n, range_slots_n;
    log_range *buffers; /* merged: from and bytes */
    size_t n_buffers;
} log_tables;

void log_tables_free(log_tables *t);
RP_MUST rp_code log_call_of(rp_err *e, log_tables *t, uint32_t *index, const lt_trace *call, uint64_t line);
RP_MUST rp_code log_range_of(rp_err *e, log_tables *t, uint32_t *index, uint64_t from, uint64_t bytes);
/* Ranges that share a byte become one buffer. */
RP_MUST rp_code log_ranges_merge(rp_err *e, log_tables *t);

#endif
