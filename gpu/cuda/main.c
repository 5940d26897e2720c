/* replay-gpu: the worker that touches CUDA. One phase, one probe or one compilation, and then it ends. */
#include "gpu/cuda/modes.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {{"--phase", phase_main}, {"--probe", probe_main}, {"--compile", compile_main}};
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name))
            return modes[i].run();
    if (argc == 3 && !strcmp(argv[1], "--probe-calls"))
        return probe_calls_main(argv[2]);
    fputs(
        "usage: replay-gpu --phase | --probe | --compile | --probe-calls FILE\n"
        "replay starts the first three (gpu/job.h has the protocol); docs/resolver-calls.md has the fourth\n",
        stderr);
    return EXIT_BAD_USAGE;
}
