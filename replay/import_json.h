/* The documents of a bundle's sources, piece by piece, as the importers write them. */
#ifndef REPLAY_IMPORT_JSON_H
#define REPLAY_IMPORT_JSON_H

#include "artifacts/base/digest.h"
#include "replay/import.h"

enum { IMPORT_FILES = 9 };

/* Sources being written: the folder, the plan's name, what it was imported from, and what was written so far.
 */
typedef struct {
    scratch *sc;
    const char *dir, *name, *source;
    const lt_trace *t; /* of a logged call */
    uint64_t line;
    const char *paths[IMPORT_FILES];
    digest digests[IMPORT_FILES];
    span texts[IMPORT_FILES]; /* where they are held */
    size_t n;
    bool hold; /* nothing is written before import_flush */
} import_writer;

/* Bytes as they are, to `path` below the folder. */
RP_MUST rp_code import_text(rp_err *e, import_writer *w, const char *path, span text);
/* Everything held, into the folder, which is made with all below it. */
RP_MUST rp_code import_flush(rp_err *e, const import_writer *w);

/* An open document of that format, and its end: written to `path` below the folder, digested and freed.
 */
RP_MUST rp_code import_put(rp_err *e, import_writer *w, const char *path, jw *j);
jw *import_begin(const char *format);
/* A plan's: its name, the policies of what is taken as it was found, and no symbols. */
jw *import_begin_plan(const char *name);
/* Member `layout`: that shape with one spelling, a kind by name, or with strides where they are not NULL. */
void import_layout(jw *j, const uint64_t *shape, uint64_t rank, const char *kind, const uint64_t *strides);
void import_value(jw *j, const char *name);
void import_edge(jw *j, uint64_t from, uint64_t to, const char *buffer, const char *port);
void import_range(jw *j, const char *name, bool steps, uint64_t first, uint64_t end, uint64_t offset,
                  uint64_t bytes);
void import_empty(jw *j, const char *key, bool array);
/* What an import can say of a run it did not see: no device, no times, and the digests of the files written
 * so far. */
void import_account(jw *j, const import_writer *w, const char *device);
void import_not_observed(jw *j, const char *what, const char *reason);

/* Of a contract: the one fixture, "integers", and the counts of its checks; and what is claimed of
 * determinism (nothing, for that reason) and of devices. */
void import_checks(jw *j, uint64_t outputs);
void import_claims(jw *j, const char *no_determinism, uint64_t library_sm, const char *architecture);
/* Of a capture's kernels: a launch of the library's own, of which nothing is known but the node. */
void import_library_launch(jw *j, uint64_t node);

#endif
