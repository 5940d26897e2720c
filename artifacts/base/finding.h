/* A finding is an answered no: an id from the one list below, where, what was expected and what was found.
 * All are collected, sorted and printed. The ids are stable: users and tests match on them. */
#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include "artifacts/base/scratch.h"
#include <stdbool.h>
#include <stddef.h>

/* X(symbol, "id", "what it says") */
#define FINDINGS(X)                                                                                          \
    X(CONTAINER_ZSTD, "container.zstd", "the zstd frames are not the allowed kind or are damaged")           \
    X(CONTAINER_CHECKSUM, "container.checksum", "a frame's content is not that of its checksum")             \
    X(CONTAINER_SKIPPABLE, "container.skippable", "a skippable zstd frame")                                  \
    X(CONTAINER_DICTIONARY, "container.dictionary", "a zstd frame that needs a dictionary")                  \
    X(CONTAINER_WINDOW, "container.window", "a zstd frame asks for a larger window than is given")           \
    X(CONTAINER_FRAME, "container.frame", "a zstd frame of a kind that is not allowed among several")        \
    X(CONTAINER_ORDER, "container.order", "a file is not at its place; manifest.json comes first")           \
    X(CONTAINER_HEADER, "container.header", "a tar header is not the canonical bytes")                       \
    X(CONTAINER_NAME, "container.name", "a tar header holds another name than the manifest's")               \
    X(CONTAINER_METADATA, "container.metadata", "a tar header holds a mode, owner, time or device")          \
    X(CONTAINER_LINK, "container.link", "a tar entry is a link")                                             \
    X(CONTAINER_DEVICE, "container.device", "a tar entry is a device or a pipe")                             \
    X(CONTAINER_EXTENDED, "container.extended", "a tar entry is an extended header or a long name")          \
    X(CONTAINER_SPARSE, "container.sparse", "a tar entry is a sparse file")                                  \
    X(CONTAINER_TYPE, "container.type", "a tar entry is of another type than a file")                        \
    X(CONTAINER_PADDING, "container.padding", "the padding behind a file is not zero")                       \
    X(CONTAINER_END, "container.end", "the stream does not end in two zero blocks and nothing more")         \
    X(CONTAINER_TRUNCATED, "container.truncated", "the archive ends early")                                  \
    X(CONTAINER_TRAILING, "container.trailing", "bytes follow the end of the archive")                       \
    X(MANIFEST_INVALID, "manifest.invalid", "manifest.json breaks a rule of its format")                     \
    X(MANIFEST_PATH, "manifest.path", "a path is not allowed")                                               \
    X(MANIFEST_CASE, "manifest.case", "two paths differ only by case")                                       \
    X(MANIFEST_ORDER, "manifest.order", "paths are not sorted")                                              \
    X(MANIFEST_DUPLICATE, "manifest.duplicate", "a path is listed twice")                                    \
    X(MANIFEST_LIMIT, "manifest.limit", "more or larger than the limits allow")                              \
    X(MANIFEST_OMITTED, "manifest.omitted",                                                                  \
      "an omission that nothing refers to, or of what a bundle is about")                                    \
    X(FILE_DIGEST, "file.digest", "a file's bytes are not those of its digest")                              \
    X(FILE_SIZE, "file.size", "a file is not as long as listed")                                             \
    X(FILE_MISSING, "file.missing", "a listed file is absent")                                               \
    X(FILE_EXTRA, "file.extra", "a file is present that is not listed")                                      \
    X(FILE_DUPLICATE, "file.duplicate", "a listed file is present twice")                                    \
    X(JSON_SYNTAX, "json.syntax", "not JSON by RFC 8259")                                                    \
    X(JSON_DEPTH, "json.depth", "nested deeper than the limit")                                              \
    X(JSON_DUPLICATE_KEY, "json.duplicate_key", "a key occurs twice in one object")                          \
    X(JSON_UNKNOWN_KEY, "json.unknown_key", "a key that the format does not have")                           \
    X(JSON_MISSING_KEY, "json.missing_key", "a required key is absent")                                      \
    X(JSON_TYPE, "json.type", "a value of another type than the format asks for")                            \
    X(JSON_NUMBER, "json.number", "a number out of range or not an integer")                                 \
    X(JSON_VALUE, "json.value", "a value that the format does not allow")                                    \
    X(TRUST_ROOT, "trust.root", "the root is not the one given")                                             \
    X(TRUST_CAPTURE, "trust.capture", "an item differs from the capture given")                              \
    X(TRUST_ENVELOPE, "trust.envelope", "an envelope is not DSSE by the rules, or absent")                   \
    X(TRUST_PAYLOAD_TYPE, "trust.payload_type", "an envelope holds another type of payload than in-toto's")  \
    X(TRUST_SIGNATURE, "trust.signature", "fewer of the keys given have signed than asked for")              \
    X(TRUST_STATEMENT, "trust.statement", "not an in-toto Statement v1 by the rules")                        \
    X(TRUST_PREDICATE, "trust.predicate", "a statement says another kind of thing than asked for")           \
    X(TRUST_SUBJECT, "trust.subject", "a statement is about something else")                                 \
    X(TRUST_VERDICT, "trust.verdict", "an attested verdict is not the one found now")                        \
    X(IDENTITY_DIGEST, "identity.digest", "a file differs from the capture's record")                        \
    X(IDENTITY_TEXT, "identity.text", "a re-rendered text differs from the captured one")                    \
    X(IDENTITY_COVERAGE, "identity.coverage", "the capture's record does not cover a file")                  \
    X(PLAN_INVALID, "plan.invalid", "the plan breaks a rule")                                                \
    X(PLAN_UNKNOWN_BUFFER, "plan.unknown_buffer", "a node names a buffer that is not there")                 \
    X(PLAN_CYCLE, "plan.cycle", "the edges form a cycle")                                                    \
    X(PLAN_ORDER, "plan.order", "the nodes are not in the order of the edges or of the policy")              \
    X(PLAN_LIFETIME, "plan.lifetime", "a buffer is used outside its life")                                   \
    X(PLAN_RACE, "plan.race", "two accesses to one buffer are not ordered by edges")                         \
    X(PLAN_EDGE, "plan.edge", "an edge does not match what its nodes touch")                                 \
    X(ARENA_OFFSET, "arena.offset", "a recorded range is not the rebuilt one")                               \
    X(ARENA_OVERLAP, "arena.overlap", "two live ranges share bytes")                                         \
    X(ARENA_BOUNDS, "arena.bounds", "a range reaches beyond the arena")                                      \
    X(ARENA_ALIGNMENT, "arena.alignment", "a range is not aligned")                                          \
    X(ARENA_PEAK, "arena.peak", "the recorded arena size is not the rebuilt one")                            \
    X(ARENA_REUSE, "arena.reuse", "a reused range is not ordered by edges")                                  \
    X(RESOLVE_REFUSED, "resolve.refused", "a rule of the resolver refuses the call")                         \
    X(RESOLVE_REACH, "resolve.reach", "a matrix reaches beyond its buffer")                                  \
    X(RESOLVE_MISMATCH, "resolve.mismatch", "the captured descriptors are not the resolved ones")            \
    X(KERNEL_SOURCE, "kernel.source", "a kernel's source is not what its record says")                       \
    X(KERNEL_PTX, "kernel.ptx", "recompiling gives other PTX, or the PTX is not what its record says")       \
    X(KERNEL_ENTRY, "kernel.entry", "a kernel's arguments do not match its entry")                           \
    X(FIXTURE_RECIPE, "fixture.recipe", "regenerating gives other inputs")                                   \
    X(FIXTURE_EXPECTED, "fixture.expected", "the reference gives other expected outputs")                    \
    X(FIXTURE_SHAPE, "fixture.shape", "a tensor has another type, shape or extent than the plan")            \
    X(FIXTURE_FORMAT, "fixture.format", "not a safetensors file by the rules")                               \
    X(CONTRACT_INVALID, "contract.invalid", "the contract breaks a rule")                                    \
    X(REFERENCE_INVALID, "reference.invalid", "the reference program breaks a rule")                         \
    X(RUN_NUMERIC, "run.numeric", "an output is outside the contract")                                       \
    X(RUN_NONDETERMINISTIC, "run.nondeterministic", "two runs differ where the contract says they do not")   \
    X(RUN_GUARD, "run.guard", "a guard band was written")                                                    \
    X(RUN_INPUT_WRITTEN, "run.input_written", "an input was changed")                                        \
    X(RUN_STRAY_WRITE, "run.stray_write", "a node wrote outside what it declares")                           \
    X(RUN_UNWRITTEN, "run.unwritten", "part of an output was never written")                                 \
    X(RUN_MEMORY, "run.memory", "the emulator saw an access or a launch that is not allowed")                \
    X(RUN_INTERCEPT, "run.intercept", "the library logged another call than the resolved one")               \
    X(RUN_GRAPH, "run.graph", "the instantiated graph is not the plan's")                                    \
    X(RUN_TIMELINE, "run.timeline", "the recorded activity is not the graph's launches")                     \
    X(RUN_SIGNATURE, "run.signature", "a signature differs between phases")                                  \
    X(EVIDENCE_SUMS, "evidence.sums", "SHA256SUMS does not match the folder")                                \
    X(EVIDENCE_INVALID, "evidence.invalid", "a document of the evidence breaks a rule")                      \
    X(EVIDENCE_CLAIM, "evidence.claim", "a claim is not what recomputation gives")                           \
    X(EVIDENCE_LIMIT, "evidence.limit", "more or larger than the limits allow")                              \
    X(EVIDENCE_PARTIAL, "evidence.partial", "the run was not completed")

typedef enum {
#define X(sym, id, text) FIND_##sym,
    FINDINGS(X)
#undef X
        FIND_COUNT
} finding_id;

typedef struct {
    finding_id id;
    const char *file, *where;      /* "" when there is none */
    const char *expected, *actual; /* "" when the message says it all */
    const char *message;
} finding;

/* A growing list. Strings given to findings_add are copied. */
typedef struct {
    scratch *sc;
    finding *v;
    size_t n, cap;
    bool nomem; /* a finding was lost to lack of memory: the answer is incomplete, and must not be a yes */
} findings;

void findings_init(findings *fs, scratch *sc);
/* file, where, expected and actual may be NULL. */
void findings_add(findings *fs, finding_id id, const char *file, const char *where, const char *expected,
                  const char *actual, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* By file, place, id and text, so that the same input gives the same list. */
void findings_sort(findings *fs);
const char *finding_name(finding_id id);
const char *finding_summary(finding_id id);
/* The id of that name, or FIND_COUNT. */
finding_id finding_from_name(const char *name);

#endif
