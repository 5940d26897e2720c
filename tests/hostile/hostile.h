/* Bundles with one fault each, made from the small workload. Every case says which finding must name it, and
 * where. */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include "tests/support.h"

/* What each case begins from. */
typedef struct {
    scratch *sc;
    t_tree tree; /* without manifest.json */
    span text, stream;
} ground;

/* Ways in which readers of archives and JSON were misled elsewhere, as docs/threat-model.md numbers and
 * describes them: each has bundles here that answer it. */
typedef enum {
    CASE_NONE,
    CASE_B01,
    CASE_B02,
    CASE_B04,
    CASE_B05,
    CASE_B07,
    CASE_B08,
    CASE_B10,
    CASE_B11,
    CASE_B13,
    CASE_B14,
    CASE_B16,
    CASE_COUNT
} hostile_case;
/* The case that a fault under this finding answers unless it says another. */
hostile_case case_of(finding_id id);

/* One broken bundle, handed to whoever asked for it. `file` and `where` NULL: any; where ending in '*': a
 * beginning. full: with the checks that --quick leaves out. */
typedef struct {
    finding_id id;
    hostile_case answers;
    const char *what, *file, *where;
    bool full;
} expected;
typedef void (*sink)(void *ctx, const expected *x, span archive);

typedef struct {
    const ground *g;
    scratch *sc;          /* of one group of cases */
    hostile_case answers; /* of what is given next; CASE_NONE: that of its finding */
    sink out;
    void *ctx;
} maker;

void hostile_headers(maker *m);
void hostile_streams(maker *m);
void hostile_frames(maker *m);
void hostile_manifests(maker *m);
void hostile_documents(maker *m);
void hostile_fixtures(maker *m);
/* Every pair of entries in each other's place. */
void hostile_swaps(maker *m, bool all);

/* Shared by the makers. */
void give(maker *m, span archive, finding_id id, const char *file, const char *where, const char *what, ...)
    __attribute__((format(printf, 6, 7)));
/* The stream as one frame, as `pack` writes it. */
span framed(maker *m, span stream);
/* Where entry i begins: 0 is manifest.json, the files follow in their order; n + 1: the end blocks. */
size_t entry_at(const ground *g, size_t i);
const char *entry_path(const ground *g, size_t i);
/* The header's checksum put right. */
void fix_checksum(uint8_t header[512]);

#endif
