/* An error means that no answer could be given; a finding (finding.h) is an answered no.
 *
 * One struct, passed first, filled once: the first error wins, and callers only add context that is missing.
 * Its buffers are fixed, so that running out of memory can be reported. Content of a bundle that breaks a
 * rule sets RP_INVALID together with the finding id it becomes. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "artifacts/base/finding.h"

typedef enum {
    RP_OK = 0,
    RP_INVALID, /* content breaks a rule; `id` says which */
    RP_IO,      /* a file could not be read or written */
    RP_NOMEM,
    RP_USAGE,       /* wrong arguments */
    RP_UNAVAILABLE, /* no device, worker or compiler */
    RP_WORKER,      /* a worker crashed, hung or broke the protocol */
    RP_INTERRUPTED, /* a signal asked us to stop */
    RP_BUG,         /* ours */
} rp_code;

typedef struct {
    rp_code code;
    finding_id id; /* of RP_INVALID */
    char msg[512];
    char file[256];  /* bundle-relative, or as the user named it */
    char where[256]; /* a JSON pointer such as /nodes/3/op, or `byte 1234` */
} rp_err;

#define RP_MUST __attribute__((warn_unused_result))

/* Fill *e unless it already holds an error; return its code. Messages are one line: expected, then found. */
rp_code err_set(rp_err *e, rp_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* RP_INVALID under finding `id` at `file` and `where`, either of which may be NULL. */
rp_code err_invalid(rp_err *e, finding_id id, const char *file, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* RP_IO with the text of errno: "cannot WHAT: reason", naming the file. */
rp_code err_errno(rp_err *e, const char *file, const char *what);
rp_code err_nomem(rp_err *e);
/* Name the file if the error does not say one yet. Returns the code. */
rp_code err_file(rp_err *e, const char *file);
/* "file: where: msg" as one line into out. */
void err_text(const rp_err *e, char *out, size_t out_bytes);
/* Turn RP_INVALID into its finding in `fs`, clear *e and return true; any other error is left alone: false.
 */
bool err_to_finding(rp_err *e, findings *fs);

#endif
