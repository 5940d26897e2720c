/* The command line: one row a command, one file a command. Commands parse, call and print. */
#ifndef REPLAY_CLI_H
#define REPLAY_CLI_H

#include "artifacts/base/err.h"
#include "artifacts/base/jsonw.h"
#include "artifacts/base/scratch.h"
#include "verify/report.h"
#include "verify/verify.h"
#include <getopt.h>

/* design: the first that applies, in this order. */
enum {
    EXIT_PASSED = 0,
    EXIT_REJECTED = 1,
    EXIT_USAGE = 2,
    EXIT_UNREADABLE = 3,
    EXIT_UNAVAILABLE = 4,
    EXIT_NUMERICAL = 5,
    EXIT_UNTRUSTED = 6,
    EXIT_BUG = 70
};

typedef struct {
    const char *name;
    int (*fn)(int argc, char **argv);
    const char *summary, *usage;
} command;
extern const command commands[]; /* ends with a NULL name */

/* cmd_*.c; argv[0] is the command's name. Each returns an exit code. */
int cmd_verify(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_kernel(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_sign(int argc, char **argv);
int cmd_attest(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

/* Whether --json is among the arguments: known before a command has read them, for when they are wrong. */
extern bool cli_json_asked;
/* "replay COMMAND: …" and the usage line on stderr, and one document on stdout where JSON was asked for;
 * EXIT_USAGE. */
int cli_usage(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* getopt_long reported an unknown option or a missing argument. */
int cli_bad_option(const char *name, char **argv);
/* Say the error (stderr, and with json one document on stdout) and give its exit code. */
int cli_error(const char *name, const rp_err *e, bool json);
/* The default bundle when the user names none. */
extern const char cli_default_bundle[];

/* Flush stdout; a full disk or a closed pipe there is EXIT_UNREADABLE. */
int cli_finish(int exit_code);
/* Print the finished document and free j. */
int cli_print_json(jw *j, int exit_code);
/* Of two exit codes, the one that design.md applies first. */
int cli_worse(int a, int b);
/* Exit code of a finished report. */
int cli_verdict_exit(const report *r);

/* The `tool` member: version, revision. */
void cli_tool_json(jw *j);
extern const char cli_version[], cli_revision[];

/* A compile_fn over `replay-gpu --compile`; ctx is the worker's path. */
rp_code cli_compile(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                    span source, const char *const *options, uint64_t n_options);

#endif
