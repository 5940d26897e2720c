/* The evidence of a run: one folder, made under a temporary name and renamed when complete
 * (docs/evidence.md).
 *
 *   evidence.json            what was run and what is claimed
 *   environment.json         device, driver, libraries by soname, version and digest, environment names, tool
 *   bundle/…                 the bundle's documents; fixture data is regenerated
 *   compiled/NNN.ptx         what the GPU ran, by kernel
 *   plan_signature.json      the canonical document
 *   emulated/…               with --device both: the emulator's answer to the same job, and how far its
 * outputs lie from the GPU's phases/N-NAME/…          see replay/judge.h SHA256SUMS               of every
 * other file, for `sha256sum -c` */
#ifndef REPLAY_EVIDENCE_H
#define REPLAY_EVIDENCE_H

#include "artifacts/base/err.h"
#include "artifacts/base/finding.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"

extern const char evidence_sums_name[]; /* "SHA256SUMS" */

typedef struct {
    const char *final_dir, *dir; /* dir: where it is being written */
    scratch *sc;
} evidence;

/* Begin DIR as DIR.partial. Either being there already is RP_IO. */
RP_MUST rp_code evidence_begin(rp_err *e, evidence *out, scratch *sc, const char *final_dir);
/* One file, folders made as needed. */
RP_MUST rp_code evidence_put(rp_err *e, const evidence *ev, const char *path, span bytes);
/* Outputs XOR expected, as one zstd frame. The two spans are equally long. */
RP_MUST rp_code evidence_put_xor(rp_err *e, const evidence *ev, const char *path, span actual, span expected);
/* Write SHA256SUMS and sync; complete: rename to the final name, else leave it under DIR.partial. */
RP_MUST rp_code evidence_end(rp_err *e, const evidence *ev, bool complete);

/* SHA256SUMS of a folder against its files, a closed world: every difference is a finding; *n counts files.
 * More or larger than artifacts/base/limits.h allows is evidence.limit, and nothing was read. */
RP_MUST rp_code evidence_check_sums(rp_err *e, findings *fs, size_t *n, scratch *sc, const char *dir);
/* Whether that was found: then the caller reads nothing either. */
bool evidence_beyond_limits(const findings *fs);

#endif
