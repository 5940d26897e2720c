#include "replay/import_xla.h"

int cmd_import(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
    const char *out = NULL;
    bool json = false;
    int c;
    while ((c = getopt_long(argc, argv, "o:", longs, NULL)) != -1) {
        if (c == 'j')
            json = true;
        else if (c == 'o')
            out = optarg;
        else
            return cli_bad_option("import", argv);
    }
    if (argc - optind != 2 || !out)
        return cli_usage("import", "expected what to import, where it is, and -o DIR");
    if (!strcmp(argv[optind], "cublaslt-log"))
        return import_lt_log(argv[optind + 1], out, json);
    if (!strcmp(argv[optind], "xla-dump"))
        return import_xla_dump(argv[optind + 1], out, json);
    return cli_usage("import", "expected cublaslt-log or xla-dump, found \"%.40s\"", argv[optind]);
}
