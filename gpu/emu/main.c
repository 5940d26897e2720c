/* replay-emu: the worker that needs no GPU. One phase or one probe, and then it ends. */
#include "gpu/emu/emu_phase.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--phase"))
        return emu_phase_main();
    if (argc == 2 && !strcmp(argv[1], "--probe"))
        return emu_probe_main();
    fputs("usage: replay-emu --phase | --probe\n"
          "replay starts it; gpu/job.h has the protocol\n",
          stderr);
    return EMU_EXIT_USAGE;
}
