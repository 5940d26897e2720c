#include "replay/cli.h"
#include "replay/run.h"

int run_many(const run_options *opt, char *const *args, size_t n_args)
{
    (void)opt, (void)args, (void)n_args;
    return EXIT_BUG;
}
