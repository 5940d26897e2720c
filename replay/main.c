#include "artifacts/base/file.h"
#include "replay/cli.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* A standard descriptor that was handed over closed would become the next file opened, and get our messages;
 * these refuse instead. */
static void fill_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    fill_standard_fds();
    /* A write beyond a limit or to a closed pipe is an error with a message, not a death. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    file_clean_on_signals();
    opterr = 0;
    if (argc < 2) {
        fputs("usage: replay COMMAND …; `replay help` lists the commands\n", stderr);
        return EXIT_USAGE;
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        cli_json_asked |= !strcmp(argv[i], "--json");
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version"))
        name = "version";
    for (const command *c = commands; c->name; c++) {
        if (strcmp(c->name, name))
            continue;
        if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) {
            printf("%s\nusage: replay %s\n", c->summary, c->usage);
            return cli_finish(EXIT_PASSED);
        }
        return c->fn(argc - 1, argv + 1);
    }
    return cli_usage("", "no command `%.80s`; `replay help` lists the commands", name);
}
