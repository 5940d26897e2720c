/* Verdicts of the real library that somebody recorded (plan/lt_csv.h), to be looked up before the rules are
 * asked. */
#ifndef REPLAY_KNOWLEDGE_H
#define REPLAY_KNOWLEDGE_H

#include "plan/lt_csv.h"
#include "plan/lt_rules.h"

typedef struct knowledge knowledge;
/* A file, compressed or not; sm and version of rows that do not say. Lent by sc. Two rows that ask the same
 * at the same place and disagree: RP_IO. */
RP_MUST rp_code knowledge_read(rp_err *e, knowledge **out, scratch *sc, const char *path, unsigned sm,
                               unsigned version);
/* The recorded status of this call at q's place (major and minor version), or -1. */
int knowledge_status(const knowledge *k, const lt_query *q);
/* As lt_decide, a recorded status (k may be NULL) having the last word on what the library does; *known is
 * it, or -1. */
void knowledge_decide(lt_answer *out, int *known, const knowledge *k, const lt_query *q);

enum { LT_CSV_MAX_BYTES = 1 << 30 };

#endif
