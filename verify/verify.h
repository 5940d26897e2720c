/* All checks of a bundle that need no device, in the order of docs/verdicts.md: container, trust, identity,
 * plan, arena, resolve, kernels, fixtures, contract. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "artifacts/base/sign.h"
#include "verify/bundle.h"

/* The highest level reached; pinned and signed are said apart. */
typedef enum { TRUST_SELF_CONSISTENT, TRUST_CAPTURE_MATCHED, TRUST_PINNED, TRUST_SIGNED } trust_level;
extern const char *const trust_names[]; /* "self-consistent", "capture-matched", "pinned", "signed" */

typedef struct {
    const char *root;             /* "sha256:…" as the user gave it, or NULL */
    const char *capture_path;     /* the original's own record kept elsewhere, or its folder, or NULL */
    sign_key *const *keys;        /* the caller's public keys; at most DSSE_MAX_KEYS */
    size_t n_keys, threshold;     /* how many distinct ones must have signed, 1 or more */
    const char *envelope_path;    /* with keys: where the envelope is */
    bool envelope_given;          /* else it is the one beside the bundle, and may be absent */
    const char *attestation_path; /* a statement about this bundle to read back, or NULL */
    bool quick;                   /* without regenerating fixtures and references and without recompiling */
    compile_fn compile;           /* NULL: no compiler at hand */
    bool compiled_later;          /* the caller compiles the sources itself and compares */
    void *compile_ctx;
} verify_options;

typedef struct {
    trust_level trust;
    bool pinned, is_signed;
    uint64_t matched, of; /* items a capture from outside covers */
    bundle *bundle;       /* as far as it could be read */
    digest signature;     /* plan_signature where has_signature */
    bool has_signature;
} verify_result;

/* Every fault is a finding in r; an error only when no answer could be given. Everything is lent by r's
 * scratch and the store. */
RP_MUST rp_code verify_bundle(rp_err *e, verify_result *out, report *r, store *st, const verify_options *opt);

/* The checks of one stage each; b may be incomplete. */
void verify_identity(rp_err *e, report *r, const bundle *b);
/* That what is listed as omitted belongs to the bundle. Without omissions no check. */
void verify_omissions(report *r, const bundle *b);
void verify_plan(rp_err *e, report *r, const bundle *b);
void verify_arena(rp_err *e, report *r, bundle *b);
void verify_calls(rp_err *e, report *r, const bundle *b);
void verify_kernels(rp_err *e, report *r, const bundle *b, const verify_options *opt, bool trusted);
void verify_fixtures(rp_err *e, report *r, const bundle *b, bool quick);
void verify_contract(rp_err *e, report *r, const bundle *b);

#endif
