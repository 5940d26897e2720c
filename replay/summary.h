/* The tables that end `run` and `audit`. */
#ifndef REPLAY_SUMMARY_H
#define REPLAY_SUMMARY_H

#include "replay/record.h"
#include <stdio.h>

void summary_print(FILE *f, scratch *sc, const run_record *rec, const judgement *j, const lowering *l);
/* The same as members of an open object: phases, fixtures, kernels, timings. */
void summary_json(jw *w, scratch *sc, const run_record *rec, const judgement *j, const lowering *l);

#endif
