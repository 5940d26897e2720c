#include "replay/cli.h"
#include "artifacts/base/json.h"
#include "artifacts/base/text.h"
#include "gpu/client.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef REPLAY_REVISION
#define REPLAY_REVISION "unknown"
#endif

const char cli_version[] = "0.1.0", cli_revision[] = REPLAY_REVISION;
const char cli_default_bundle[] = "bundle.tar.zst";

static const command *find(const char *name)
{
    const command *c = commands;
    while (c->name && strcmp(c->name, name))
        c++;
    return c->name ? c : NULL;
}

/* The document of an error, on stdout. */
static int print_error_json(const rp_err *e, int code)
{
    jw *j = jw_new(JW_PRETTY);
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-error/0");
    jw_obj(j, "error");
    jw_str(j, "id", e->code == RP_INVALID ? finding_name(e->id) : "");
    jw_str(j, "file", e->file);
    jw_str(j, "at", e->where);
    jw_str(j, "message", e->msg);
    jw_end(j);
    jw_i64(j, "exit", code);
    jw_end(j);
    return cli_print_json(j, code);
}

bool cli_json_asked;

int cli_usage(const char *name, const char *fmt, ...)
{
    va_list ap;
    const command *c = find(name);
    rp_err e = {.code = RP_USAGE};
    scratch *sc = scratch_new(0);
    va_start(ap, fmt);
    vsnprintf(e.msg, sizeof e.msg, fmt, ap);
    va_end(ap);
    fprintf(stderr, "replay%s%s: %s\n", *name ? " " : "", name, sc ? text_safe(sc, e.msg) : "out of memory");
    if (c)
        fprintf(stderr, "usage: replay %s\n", c->usage);
    scratch_free(sc);
    return cli_json_asked ? print_error_json(&e, EXIT_USAGE) : EXIT_USAGE;
}

int cli_bad_option(const char *name, char **argv)
{
    return cli_usage(name, "unknown option or missing argument: %s", argv[optind - 1]);
}

static int exit_of(const rp_err *e)
{
    switch (e->code) {
    case RP_INVALID:
        /* Before any manifest was reached nothing was answered; afterwards it would have been a finding. */
        return EXIT_UNREADABLE;
    case RP_IO:
    case RP_NOMEM:
    case RP_INTERRUPTED:
        return EXIT_UNREADABLE;
    case RP_USAGE:
        return EXIT_USAGE;
    case RP_UNAVAILABLE:
    case RP_WORKER:
        return EXIT_UNAVAILABLE;
    default:
        return EXIT_BUG;
    }
}

int cli_error(const char *name, const rp_err *e, bool json)
{
    char text[1200];
    scratch *sc = scratch_new(0);
    int code = exit_of(e);
    err_text(e, text, sizeof text);
    fprintf(stderr, "replay %s: %s\n", name, sc ? text_safe(sc, text) : "out of memory");
    if (json)
        code = print_error_json(e, code);
    scratch_free(sc);
    return code;
}

int cli_finish(int exit_code)
{
    if (fflush(stdout) || ferror(stdout)) {
        perror("replay: standard output");
        return EXIT_UNREADABLE;
    }
    return exit_code;
}

int cli_print_json(jw *j, int exit_code)
{
    rp_err e = {0};
    span text;
    if (jw_finish(&e, &text, j)) {
        fprintf(stderr, "replay: %s\n", e.msg);
        exit_code = EXIT_UNREADABLE;
    } else {
        fwrite(text.p, 1, text.n, stdout);
    }
    jw_free(j);
    return cli_finish(exit_code);
}

int cli_verdict_exit(const report *r)
{
    switch (report_verdict(r)) {
    case CHECK_PASSED:
        return EXIT_PASSED;
    case CHECK_REJECTED:
        return EXIT_REJECTED;
    case CHECK_NUMERICAL:
        return EXIT_NUMERICAL;
    case CHECK_NOT_CHECKABLE:
        return EXIT_UNTRUSTED;
    }
    return EXIT_BUG;
}

int cli_worse(int a, int b)
{
    static const int order[] = {EXIT_BUG,       EXIT_USAGE,       EXIT_UNREADABLE, EXIT_REJECTED,
                                EXIT_NUMERICAL, EXIT_UNAVAILABLE, EXIT_UNTRUSTED,  EXIT_PASSED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return EXIT_BUG;
}

void cli_tool_json(jw *j)
{
    jw_obj(j, "tool");
    jw_str(j, "name", "replay");
    jw_str(j, "version", cli_version);
    jw_str(j, "revision", cli_revision);
    jw_end(j);
}

/* The worker's "replay-compiled/0" answer. */
static rp_code read_answer(rp_err *e, compiled *out, scratch *sc, span text)
{
    js_node *root, *a;
    size_t n = 0;
    if (js_parse(e, &root, sc, "compiled.json", text) || js_format(e, root, "replay-compiled/0") ||
        js_str(e, &out->compiler, root, "compiler") || js_str(e, &out->version, root, "version") ||
        js_str(e, &out->build, root, "build") || js_bool(e, &out->ok, root, "ok") ||
        js_str(e, &out->log, root, "log") || js_str(e, &out->sandbox, root, "sandbox") ||
        js_arr(e, &a, &n, root, "headers"))
        return e->code;
    out->n_headers = n;
    out->headers = scratch_array(sc, n, sizeof *out->headers);
    if (!out->headers)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++)
        if (js_str(e, &out->headers[i].name, js_at(a, i), "name") ||
            js_digest(e, &out->headers[i].sha256, js_at(a, i), "sha256"))
            return e->code;
    return RP_OK;
}

rp_code cli_compile(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                    span source, const char *const *options, uint64_t n_options)
{
    span answer;
    *out = (compiled){0};
    if (client_compile(e, &answer, &out->ptx, sc, ctx, trusted, name, source, options, n_options))
        return e->code;
    if (read_answer(e, out, sc, answer) == RP_INVALID)
        e->code = RP_WORKER;
    return e->code;
}
