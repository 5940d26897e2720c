/* The instantiated graph and the recorded activity against the plan's launches. */
#ifndef REPLAY_GRAPH_CHECK_H
#define REPLAY_GRAPH_CHECK_H

#include "gpu/result.h"
#include "replay/lower.h"

/* One copy of the parameters, then each step in order: a generated kernel is exactly one node with the plan's
 * entry, grid, block and shared bytes; a matmul is one or more nodes of the library's; a copy is one memcpy.
 * Differences: run.graph. */
void graph_check(findings *fs, const lowering *l, const result *res, const char *file);
/* As many records as launches times graph nodes, none dropped, each equal to its graph node. Differences:
 * run.timeline. */
void timeline_check(findings *fs, const result *res, const char *file);

#endif
