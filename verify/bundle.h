/* A bundle's documents, read through the verifying store. Every fault is a finding; what could not be read
 * stays NULL, and what needs it says so. */
#ifndef VERIFY_BUNDLE_H
#define VERIFY_BUNDLE_H

#include "arena/layout.h"
#include "artifacts/store.h"
#include "plan/calls.h"
#include "plan/order.h"
#include "plan/recipe.h"
#include "plan/reference.h"
#include "verify/capture.h"
#include "verify/contract.h"
#include "verify/kernels.h"
#include "verify/report.h"

typedef struct {
    uint64_t node; /* the first that launches it */
    const char *record_path;
    kernel_record *record; /* NULL when unreadable */
    span source, ptx;      /* p NULL when unreadable */
} bundle_kernel;

typedef struct {
    const char *recipe_path, *data_path, *name;
    recipe *recipe; /* NULL when unreadable */
} bundle_fixture;

typedef struct {
    store *st;
    const manifest *man;
    scratch *sc;
    plan *plan;
    plan_reach *reach;                                       /* NULL when the edges form a cycle */
    arena_layout *recorded_arena, *requests, *rebuilt_arena; /* rebuilt: policy luminal-slab/2 only */
    recorded_call *recorded_calls;
    uint64_t n_recorded_calls;
    bool have_recorded_calls;
    resolved_call *calls; /* valid when calls_ok */
    uint64_t n_calls;
    bool calls_ok;
    capture *capture;
    reference *reference;
    contract *contract;
    uint64_t n_kernels, n_fixtures;
    bundle_kernel *kernels;   /* one for each source file */
    bundle_fixture *fixtures; /* in path order */
} bundle;

/* The arena to execute with: the rebuilt one, or under policy "given" the recorded one; NULL where that
 * cannot be read, as the findings say. */
const arena_layout *bundle_arena(const bundle *b);
/* The kernel with that source path, or NULL. */
const bundle_kernel *bundle_kernel_of(const bundle *b, const char *source);
const bundle_fixture *bundle_fixture_named(const bundle *b, const char *name);

/* The omission of the kernel that the node launches: of its source, its record or its PTX; or NULL. */
const manifest_omitted *bundle_kernel_omitted(const bundle *b, const char *source);
/* End the current check unanswered: because of the first of these documents (up to NULL) that is omitted, or
 * in other words. */
void bundle_unanswered(report *r, const bundle *b, const char *const *paths, const char *otherwise);

/* Read all documents but fixture data. The store is borrowed. */
RP_MUST rp_code bundle_load(rp_err *e, bundle **out, findings *fs, scratch *sc, store *st);
/* Everything that running or auditing needs was read, or is a listed omission of kernels, reference, contract
 * or recipes: a plan signature can be made but for these. */
bool bundle_describable(const bundle *b);
/* Everything that a plan signature needs was read. */
bool bundle_complete(const bundle *b);
/* And the recipe of every fixture that the contract applies: everything that running or auditing needs. */
bool bundle_runnable(const bundle *b);

#endif
