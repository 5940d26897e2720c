/* in-toto Statements, v1: what is said about which bytes.
 *
 *   statement  {"_type": "https://in-toto.io/Statement/v1", "subject": [subject…], "predicateType": URI,
 * "predicate": {…}} subject    {"name": TEXT, "digest": {"sha256": HEX, …}}
 *
 * Two predicate types are ours; docs/attestations.md describes them. Their names stand for themselves:
 * `.example` is a reserved domain, so that nobody else can ever own them, and nothing is to be found there.
 *
 *   bundle   this manifest.json is the signer's: {"format": "replay-bundle/1", "name": NAME}. One subject,
 * the manifest verdict  what `replay` found about a bundle or a run: {"format": "replay-attestation/0", …}
 *
 * Keys that are not named here are ignored outside the predicate, as in-toto asks. A subject needs a sha256;
 * other digests are ignored. */
#ifndef ARTIFACTS_STATEMENT_H
#define ARTIFACTS_STATEMENT_H

#include "artifacts/base/json.h"
#include "artifacts/base/jsonw.h"

#define STATEMENT_PAYLOAD_TYPE "application/vnd.in-toto+json"
#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define STATEMENT_BUNDLE "https://replay-bundle.example/bundle/v0"
#define STATEMENT_VERDICT "https://replay-bundle.example/verdict/v0"
#define STATEMENT_VERDICT_FORMAT "replay-attestation/0"

enum { STATEMENT_MAX_SUBJECTS = 1024 };

typedef struct {
    const char *name;
    digest sha256;
} statement_subject;

typedef struct {
    size_t n;
    statement_subject *subjects;
    const char *predicate_type;
    js_node *predicate; /* an object */
} statement;

/* Lent by sc. A broken rule: RP_INVALID trust.statement. */
RP_MUST rp_code statement_read(rp_err *e, statement *out, scratch *sc, const char *file, span text);
/* Whether one of the subjects has this digest. */
bool statement_is_about(const statement *s, digest d);

/* Up to and with the opening of `predicate`; the caller writes its members, then statement_end. */
void statement_begin(jw *j, const statement_subject *subjects, size_t n, const char *predicate_type);
void statement_end(jw *j);
/* The whole statement about a bundle. */
void statement_of_bundle(jw *j, const char *name, digest root);
/* What a bundle statement's predicate says; strict. */
RP_MUST rp_code statement_bundle_read(rp_err *e, const char **name, const statement *s);

#endif
