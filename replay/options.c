#include "replay/options.h"
#include "artifacts/base/limits.h"
#include "replay/cli.h"
#include <errno.h>
#include <stdlib.h>

static const char *const requirement_names[] = {"", "pinned", "signed", "complete", NULL};

static bool number(const char *s, uint64_t *out)
{
    char *end;
    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    *out = strtoull(s, &end, 10);
    return !errno && !*end;
}

static int take_limit(const char *caller, const char *name)
{
    int i = 0;
    uint64_t v;
    while (strcmp(limit_names[i], name + strlen("max-")))
        i++;
    if (number(optarg, &v) && limit_set((limit)i, v))
        return EXIT_PASSED;
    return cli_usage(caller, "expected --%s 1 to %llu, found \"%.40s\"", name,
                     (unsigned long long)limit_most((limit)i), optarg);
}

static int take_requirement(const char *caller, shared_options *o)
{
    int i = 1;
    while (requirement_names[i] && strcmp(requirement_names[i], optarg))
        i++;
    if (!requirement_names[i]) {
        return cli_usage(caller, "expected --require pinned, signed or complete, found \"%.40s\"", optarg);
    }
    o->require = (requirement)i;
    return EXIT_PASSED;
}

int options_take(const char *caller, shared_options *o, int c, const char *name)
{
    digest d;
    uint64_t n;
    switch (c) {
    case OPTION_ROOT:
        o->verify.root = optarg;
        if (digest_parse_root(optarg, &d))
            return EXIT_PASSED;
        return cli_usage(
            caller, "expected --root sha256: and 64 lower-case hexadecimal digits, found \"%.100s\"", optarg);
    case OPTION_CAPTURE:
        o->verify.capture_path = optarg;
        return EXIT_PASSED;
    case OPTION_KEY:
        if (keys_name(&o->keys, optarg))
            return EXIT_PASSED;
        return cli_usage(caller, "expected at most %d keys", DSSE_MAX_KEYS);
    case OPTION_THRESHOLD:
        if (!number(optarg, &n) || n < 1 || n > DSSE_MAX_KEYS) {
            return cli_usage(caller, "expected --threshold 1 to %d, found \"%.40s\"", DSSE_MAX_KEYS, optarg);
        }
        o->verify.threshold = (size_t)n;
        return EXIT_PASSED;
    case OPTION_ENVELOPE:
        o->verify.envelope_path = optarg;
        o->verify.envelope_given = true;
        return EXIT_PASSED;
    case OPTION_ATTESTATION:
        o->verify.attestation_path = optarg;
        return EXIT_PASSED;
    case OPTION_REQUIRE:
        return take_requirement(caller, o);
    default:
        return take_limit(caller, name);
    }
}

int options_agree(const char *caller, shared_options *o)
{
    if (!o->verify.threshold)
        o->verify.threshold = 1;
    if (o->verify.threshold > o->keys.n_paths && o->verify.threshold > 1) {
        return cli_usage(caller, "expected at least as many --key as --threshold %zu, found %zu",
                         o->verify.threshold, o->keys.n_paths);
    }
    if (o->verify.envelope_given && !o->keys.n_paths) {
        return cli_usage(
            caller,
            "expected --key with --envelope: nothing inside a bundle or an envelope is trusted by itself");
    }
    if (o->require == REQUIRE_SIGNED && !o->keys.n_paths) {
        return cli_usage(caller, "expected --key with --require signed");
    }
    return EXIT_PASSED;
}
