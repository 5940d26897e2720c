/* The arena in a terminal: time across, bytes down. */
#ifndef REPLAY_PICTURE_H
#define REPLAY_PICTURE_H

#include "arena/layout.h"
#include <stdio.h>

/* One column a step and one row a band of bytes between two borders of ranges; each range is drawn with its
 * own letter, and a legend gives name, lifetime, offset and bytes. */
void picture_print(FILE *f, scratch *sc, const arena_layout *l, const plan *p);

#endif
