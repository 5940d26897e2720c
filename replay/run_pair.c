#include "replay/cli.h"
#include "replay/run.h"

int run_pair_alone(const run_options *opt)
{
    (void)opt;
    return EXIT_BUG;
}
