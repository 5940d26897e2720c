/* Options that several commands take, read in one way: what a stranger's bundle or evidence is compared with,
 * and how much of it is taken on. A command lists those it takes in its own table for getopt_long and hands
 * them on. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "replay/keys.h"
#include "verify/verify.h"
#include <getopt.h>

typedef enum { REQUIRE_NOTHING, REQUIRE_PINNED, REQUIRE_SIGNED, REQUIRE_COMPLETE } requirement;

enum {
    OPTION_ROOT = 256,
    OPTION_CAPTURE,
    OPTION_KEY,
    OPTION_THRESHOLD,
    OPTION_ENVELOPE,
    OPTION_ATTESTATION,
    OPTION_REQUIRE,
    OPTION_LIMIT
};

/* Rows of such a table. */
#define OPTIONS_ROOT                                                                                         \
    {                                                                                                        \
        "root", required_argument, NULL, OPTION_ROOT                                                         \
    }
#define OPTIONS_CAPTURE                                                                                      \
    {                                                                                                        \
        "capture", required_argument, NULL, OPTION_CAPTURE                                                   \
    }
#define OPTIONS_KEY                                                                                          \
    {                                                                                                        \
        "key", required_argument, NULL, OPTION_KEY                                                           \
    }
#define OPTIONS_ENVELOPE                                                                                     \
    {                                                                                                        \
        "envelope", required_argument, NULL, OPTION_ENVELOPE                                                 \
    }
#define OPTIONS_SIGNED                                                                                       \
    OPTIONS_KEY, {"threshold", required_argument, NULL, OPTION_THRESHOLD},                                   \
        {"attestation", required_argument, NULL, OPTION_ATTESTATION},                                        \
    {                                                                                                        \
        "require", required_argument, NULL, OPTION_REQUIRE                                                   \
    }
/* artifacts/base/limits.h; set for the whole process. */
#define OPTIONS_LIMITS                                                                                       \
    {"max-entries", required_argument, NULL, OPTION_LIMIT},                                                  \
        {"max-path-bytes", required_argument, NULL, OPTION_LIMIT},                                           \
        {"max-file-bytes", required_argument, NULL, OPTION_LIMIT},                                           \
        {"max-total-bytes", required_argument, NULL, OPTION_LIMIT},                                          \
        {"max-json-depth", required_argument, NULL, OPTION_LIMIT},                                           \
        {"max-nodes", required_argument, NULL, OPTION_LIMIT},                                                \
    {                                                                                                        \
        "max-buffers", required_argument, NULL, OPTION_LIMIT                                                 \
    }

typedef struct {
    verify_options verify; /* root, capture, threshold, envelope, attestation as given */
    keys keys;             /* named, not read */
    requirement require;
} shared_options;

/* getopt_long gave `c`, one of the above, for the option of this name, and optarg. EXIT_PASSED, or it is
 * wrong: the exit code, after that was said. */
int options_take(const char *caller, shared_options *o, int c, const char *name);
/* Whether those taken go together; likewise. A threshold that was not given is 1. */
int options_agree(const char *caller, shared_options *o);

#endif
