/* The list of commands. It is not in main.c so that tests can link what prints a usage line. */
#include "artifacts/base/limits.h"
#include "replay/cli.h"
#include <stdio.h>

const command commands[] = {
    {"verify", cmd_verify, "check a bundle, byte by byte, without a device",
     "verify [BUNDLE…] [--root sha256:HEX] [--capture FILE|DIR] [--key PEM… [--threshold T] [--envelope "
     "FILE]] [--attestation FILE] "
     "[--require pinned|signed|complete] [--quick] [--max-LIMIT N…] [--json]"},
    {"resolve", cmd_resolve,
     "show the exact library calls and the arena, or what cuBLASLt would say to any call, on the CPU",
     "resolve [BUNDLE] --cpu-only [--index N] [--arena] [--max-LIMIT N…] [--json] | resolve --call 'm=… n=… "
     "k=… "
     "a=f16,row,ld=…' [--knowledge CSV] "
     "[--sm N] [--lib V] [--json] | resolve --against CSV [--knowledge CSV] [--sm N] [--lib V] [--json] | "
     "resolve --rules"},
    {"import", cmd_import, "turn a log of cuBLASLt's, or a dump of XLA's, into sources of bundles",
     "import cublaslt-log FILE -o DIR [--json] | import xla-dump DIR -o DIR [--json]"},
    {"run", cmd_run, "replay a bundle on a device, in fresh processes, through its fixtures",
     "run [BUNDLE|DIR…] [--pair A B] [--phases N] [--device gpu|emu|both|auto] [--out DIR] [--root "
     "sha256:HEX] [--max-LIMIT N…] [--json]"},
    {"audit", cmd_audit, "recompute every verdict from retained evidence",
     "audit DIR… [--root sha256:HEX] [--key PEM… [--threshold T]] [--attestation FILE] [--require "
     "pinned|signed] [--max-LIMIT N…] [--json]"},
    {"pack", cmd_pack, "generate fixtures and write a bundle from its sources",
     "pack DIR -o BUNDLE [--json]"},
    {"inspect", cmd_inspect, "show a bundle: tree, manifest, plan or any file",
     "inspect [BUNDLE] [PATH] [--plan] [--max-LIMIT N…] [--json]"},
    {"kernel", cmd_kernel, "run one PTX kernel with its recorded launch and inputs, every access checked",
     "kernel NAME.json [--device emu|gpu] [--max-LIMIT N…] [--json]"},
    {"compare", cmd_compare, "compare two bundles or two evidence folders, field by field",
     "compare A B [--max-LIMIT N…] [--json]"},
    {"sign", cmd_sign, "sign a bundle's root",
     "sign BUNDLE --key PEM… -o ENVELOPE [--add ENVELOPE] [--max-LIMIT N…] [--json]"},
    {"attest", cmd_attest, "write down what is found about a bundle or a run, signed or not",
     "attest BUNDLE|EVIDENCE -o FILE [--key PEM…] [--root sha256:HEX] [--capture FILE|DIR] [--quick] "
     "[--max-LIMIT N…] [--json]"},
    {"version", cmd_version, "revision, compiler, libraries, workers", "version [--json]"},
    {"help", cmd_help, "this list", "help"},
    {0},
};

int cmd_help(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return cli_usage("help", "takes no arguments");
    puts("replay takes a frozen execution plan that a tensor compiler chose and lets you check it.\n\nusage: "
         "replay COMMAND …\n");
    for (const command *c = commands; c->name; c++)
        printf("  %-8s  %s\n            %s\n", c->name, c->summary, c->usage);
    puts("\nBUNDLE defaults to bundle.tar.zst. Exit: 0 passed, 1 rejected, 2 usage, 3 unreadable or not "
         "writable,\n"
         "4 device, worker or phase unavailable or failed, 5 numerical rejection, 6 trust below --require, "
         "70 a bug.\n\n--max-LIMIT N: how much of a stranger's bundle or evidence is taken on.");
    for (int i = 0; limit_names[i]; i++)
        printf("  --max-%-11s  %llu, at most %llu\n", limit_names[i], (unsigned long long)limit_of((limit)i),
               (unsigned long long)limit_most((limit)i));
    return cli_finish(EXIT_PASSED);
}
