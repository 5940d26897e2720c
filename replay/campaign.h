/* Many runs in one folder: campaign.json, "replay-campaign/0", beside the evidence it lists (docs/pairs.md).
 *
 *   name      of the campaign
 *   runs      [{name, role, evidence: [FOLDER…], pair: FOLDER or null, candidates: [FOLDER…]}]
 *             evidence: folders of phases, which are the run's worker phases; pair: a folder with pair.json,
 * whose two sides are evidence as well; candidates: evidence of plans that were retained and validated, one a
 * folder omitted   [{what, reason}]: what belongs to the campaign and is not here figures   what is claimed,
 * see campaign_figures; `audit` recomputes each
 *
 * A FOLDER is a path below the campaign's own, and is listed once. */
#ifndef REPLAY_CAMPAIGN_H
#define REPLAY_CAMPAIGN_H

#include "replay/options.h"
#include "replay/pair.h"

enum { CAMPAIGN_STATUSES = PHASE_NOT_RUN + 1 };

typedef enum { FOLDER_EVIDENCE, FOLDER_PAIR_SIDE, FOLDER_CANDIDATE } folder_kind;

/* One folder of evidence, with what was recomputed from it. */
typedef struct {
    const char *folder;
    folder_kind kind;
    size_t run;       /* index */
    bool have_record; /* else it could not be judged */
    run_record rec;
    uint64_t omitted; /* entries of its own list */
    uint64_t results; /* bit i: the i-th phase left a result.json */
    /* A row of the table; strings lent by the campaign's scratch. */
    double max_scaled_error;
    uint64_t device_sum_ns; /* 0: no timeline */
} campaign_folder;

typedef struct {
    const char *name, *role, *pair; /* pair: "" when there is none */
    size_t n_evidence, n_candidates;
    const char **evidence, **candidates;
} campaign_run;

typedef struct {
    const char *what, *reason;
} campaign_omitted;

typedef struct {
    uint64_t runs, phases, phases_by[CAMPAIGN_STATUSES]; /* phases: those that a worker was started for */
    uint64_t checks_passed;                              /* in phases that passed */
    uint64_t candidates, candidates_by[CAMPAIGN_STATUSES];
    uint64_t plans; /* distinct plan signatures */
    uint64_t pairs;
    uint64_t omitted; /* of the campaign and of its folders */
} campaign_figures;

typedef struct {
    const char *name;
    size_t n_runs, n_omitted;
    campaign_run *runs;
    campaign_omitted *omitted;
    campaign_figures figures; /* as claimed */
} campaign;

/* Everything lent by sc. */
RP_MUST rp_code campaign_read(rp_err *e, campaign *out, scratch *sc, const char *file, span text);
void campaign_write(jw *j, const campaign *c);
/* Every figure, from the folders' records. */
void campaign_tally(campaign_figures *out, const campaign *c, const campaign_folder *v, size_t n);

/* What the table shows of a run. */
void campaign_row(campaign_folder *out, scratch *sc, const run_record *rec, const judgement *j,
                  const lowering *l);
/* The entries of the list `omitted` in the evidence.json of that folder; 0 where it cannot be read. */
uint64_t campaign_count_omitted(const char *dir);
/* As published: workload, plan signature, checks, max scaled error, host median with range, device sum,
 * status. */
void campaign_table(FILE *f, scratch *sc, const campaign_folder *v, size_t n);
void campaign_print_figures(FILE *f, scratch *sc, const campaign *c, const campaign_figures *g);

/* --- Audit. --- */

typedef struct {
    report *r;
    campaign claimed;
    campaign_figures recomputed;
    campaign_folder *folders;
    size_t n_folders;
    int worst; /* exit code over the folders and pairs */
    bool readable;
} campaign_audited;

/* As audit_folder, of every folder and pair listed. `progress` (or NULL) gets a line a folder. Nothing to
 * clear but sc. */
RP_MUST rp_code campaign_audit(rp_err *e, campaign_audited *out, scratch *sc, const char *dir,
                               const verify_options *opt, FILE *progress);
int campaign_audit_exit(const campaign_audited *a);
/* Members of an open object: figures with the files that each comes from, and a row a folder. */
void campaign_json(jw *j, scratch *sc, const campaign_audited *a);

/* --- audit_many.c: `replay audit` of a folder with pair.json or campaign.json. --- */

typedef enum { AUDIT_EVIDENCE, AUDIT_PAIR, AUDIT_CAMPAIGN } audit_kind;
audit_kind audit_kind_of(scratch *sc, const char *dir);
/* Audit, read a statement back where one is asked for, and print, as text or as an object into j; the exit
 * code. */
int audit_pair_print(rp_err *e, scratch *sc, const char *dir, const shared_options *o, jw *j);
int audit_campaign_print(rp_err *e, scratch *sc, const char *dir, const shared_options *o, jw *j);
extern const char *const audit_pair_not_rechecked[]; /* ends with NULL */

#endif
