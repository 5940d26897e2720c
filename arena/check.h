/* Checking a recorded arena: against the rebuilt one, and by itself. */
#ifndef ARENA_CHECK_H
#define ARENA_CHECK_H

#include "arena/layout.h"
#include "artifacts/base/finding.h"

/* Name the recorded ranges after the requests of the plan, field by field; each difference is a finding
 * (arena.offset, arena.peak) in `file`. */
void arena_compare(findings *fs, const arena_layout *rebuilt, const arena_layout *recorded, const char *file);

/* The recorded peak_live_bytes against the most that the recorded ranges reserve at any one step (policy
 * given). */
void arena_check_peak(findings *fs, const arena_layout *l, uint64_t n_steps, const char *file);

typedef struct {
    uint64_t pairs, reused; /* pairs of ranges looked at; pairs that share bytes at different times */
} arena_counts;

/* By itself, for every policy: inside the slab, 256-aligned, no two live ranges share a byte, and each reuse
 * of bytes is ordered by edges: every node that touches the earlier tenant has a path to every node that
 * touches the later one. */
RP_MUST rp_code arena_validate(rp_err *e, findings *fs, arena_counts *out, const arena_layout *l,
                               const plan *p, const plan_reach *reach, const char *file);

#endif
