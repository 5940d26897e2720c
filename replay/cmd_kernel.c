/* kernel: one PTX kernel with its recorded launch, inputs and outputs, with every check of the worker, and
 * how far the outputs lie apart. */
#include "artifacts/base/file.h"
#include "artifacts/base/proc.h"
#include "artifacts/base/text.h"
#include "gpu/client.h"
#include "replay/cli.h"
#include "replay/distance.h"
#include "replay/kernel_job.h"
#include "replay/options.h"
#include <unistd.h>

enum { DEADLINE_MS = 600000 };

typedef struct {
    const char *path;
    bool gpu, json;
} options;

typedef struct {
    const options *opt;
    scratch *sc;
    kernel_job *k;
    client_phase c;
    uint64_t fixture;   /* the one that is nearer */
    distance *d;        /* of each output */
    const char *reason; /* why bits may differ; NULL: they may not */
} run;

static rp_code start(rp_err *e, run *x)
{
    client_device found;
    span job_text;
    const char *worker = x->opt->gpu ? client_gpu_path(x->sc) : client_emu_path(x->sc);
    jw *j = jw_new(JW_PRETTY);
    int fd = file_temp(e);
    if (!worker)
        err_nomem(e);
    if (!e->code && !client_probe(e, &found, x->sc, worker) && !found.available)
        err_set(e, RP_UNAVAILABLE, "no device: %.300s", found.reason);
    if (!e->code) {
        job_write(j, &x->k->jb);
        if (!jw_finish(e, &job_text, j) && !file_write_fd(e, fd, "data blob", x->k->data))
            (void)!client_run(e, &x->c, x->sc, worker, job_text, fd, DEADLINE_MS);
    }
    if (fd >= 0)
        close(fd);
    jw_free(j);
    return e->code;
}

/* Distances of all outputs of a fixture; *worse adds up what is beyond, then what differs. */
static rp_code measure(rp_err *e, run *x, uint64_t fixture, distance **out, uint64_t *beyond,
                       uint64_t *differing)
{
    const job *jb = &x->k->jb;
    distance *d = scratch_array(x->sc, (size_t)x->k->n_outputs, sizeof *d);
    if (!d)
        return err_nomem(e);
    *beyond = *differing = 0;
    for (uint64_t i = 0; i < x->k->n_outputs; i++) {
        const kernel_output *o = &x->k->outputs[i];
        uint8_t *actual = scratch_alloc(x->sc, o->expected.n);
        if (!actual)
            return err_nomem(e);
        if (file_pread(e, x->c.output_fd, "the worker's outputs", actual, o->expected.n,
                       jb->fixtures[fixture].outputs[i].offset_bytes))
            return e->code;
        d[i] = distance_of(o->type, span_of(actual, o->expected.n), o->expected);
        *beyond += d[i].beyond;
        *differing += d[i].differing_bits;
    }
    *out = d;
    return RP_OK;
}

static const char *join(scratch *sc, const char *a, const char *b)
{
    return !*b ? a : !*a ? b : scratch_printf(sc, "%s; %s", a, b);
}

static rp_code judge(rp_err *e, run *x)
{
    const result *r = x->c.result;
    const result_kernel *k = r->n_kernels ? &r->kernels[0] : NULL;
    const char *why = k ? join(x->sc, k->approximate, k->contractible)
                        : join(x->sc, x->k->approximate ? "approximate instructions" : "",
                               x->k->contractible ? "a mul that may feed an add" : "");
    bool contractible = k && *k->contractible;
    uint64_t beyond, differing;
    if (!why)
        return err_nomem(e);
    x->reason = *why ? why : NULL;
    if (measure(e, x, 0, &x->d, &beyond, &differing))
        return e->code;
    if (x->k->jb.n_fixtures > 1 && contractible && differing) {
        distance *other;
        uint64_t beyond2, differing2;
        if (measure(e, x, 1, &other, &beyond2, &differing2))
            return e->code;
        if (beyond2 < beyond || (beyond2 == beyond && differing2 < differing)) {
            x->d = other;
            x->fixture = 1;
        }
    }
    return RP_OK;
}

static bool within(const run *x, uint64_t i)
{
    return !x->d[i].differing_bits || (x->reason && !x->d[i].beyond);
}

/* What a worker without a memory checker says of memory is a line each as well. */
static uint64_t print_memory(FILE *f, const run *x)
{
    const result *r = x->c.result;
    uint64_t n = 0;
    for (uint64_t i = 0; i < r->n_findings; i++, n++)
        if (f)
            fprintf(f, "  %s: %s\n", r->findings[i].kind, text_safe(x->sc, r->findings[i].message));
    for (uint64_t i = 0; i < r->n_fixtures && !result_emulated(r); i++) {
        const result_fixture *v = &r->fixtures[i];
        n +=
            (uint64_t)!v->guards_intact + (uint64_t)!v->inputs_unchanged + (uint64_t)(v->unwritten_bytes > 0);
        if (f && !v->guards_intact)
            fprintf(f, "  guard bands written: %s\n", text_safe(x->sc, v->guards_broken));
        if (f && !v->inputs_unchanged)
            fprintf(f, "  inputs changed: %s\n", text_safe(x->sc, v->inputs_changed));
        if (f && v->unwritten_bytes)
            fprintf(f, "  %s output bytes never written\n", text_count(x->sc, v->unwritten_bytes));
    }
    for (uint64_t i = 0; i < r->n_strays; i++, n++)
        if (f)
            fprintf(f, "  %llu bytes changed outside the outputs, first in %s at %llu\n",
                    (unsigned long long)r->strays[i].stray_bytes, text_safe(x->sc, r->strays[i].buffer),
                    (unsigned long long)r->strays[i].first_offset_bytes);
    return n;
}

static int exit_of(const run *x)
{
    const result *r = x->c.result;
    if (r->refused)
        return EXIT_UNTRUSTED;
    if (print_memory(NULL, x))
        return EXIT_REJECTED;
    if (!r->ok)
        return EXIT_UNAVAILABLE;
    for (uint64_t i = 0; i < x->k->n_outputs; i++)
        if (!within(x, i))
            return EXIT_NUMERICAL;
    return EXIT_PASSED;
}

/* A NaN without the sign that some C libraries print. */
static const char *number(scratch *sc, double v)
{
    const char *s = v != v ? "NaN" : scratch_printf(sc, "%.9g", v);
    return s ? s : "";
}

static void print_outputs(const run *x)
{
    for (uint64_t i = 0; i < x->k->n_outputs; i++) {
        const kernel_output *o = &x->k->outputs[i];
        const distance *d = &x->d[i];
        printf("%s %s, %s elements: ", text_safe(x->sc, o->name), dtype_names[o->type],
               text_count(x->sc, d->elements));
        if (!d->differing_bits) {
            puts("equal bits");
            continue;
        }
        const char *ulp = d->max_ulp == UINT64_MAX
                              ? "a NaN against a number"
                              : scratch_printf(x->sc, "%llu ulp", (unsigned long long)d->max_ulp);
        printf("%s differ, at most %s and %.9g apart (element %llu: recorded %s, here %s); ulp %s: %s\n",
               text_count(x->sc, d->differing_bits), ulp ? ulp : "", d->max_abs,
               (unsigned long long)d->worst_index, number(x->sc, d->worst_expected),
               number(x->sc, d->worst_actual), distance_histogram(x->sc, d),
               within(x, i) ? "accepted" : "rejected");
        if (!within(x, i) && x->reason)
            printf("  %s elements are more than %d ulp and more than 2^-%d of the largest magnitude, %.9g, "
                   "apart\n",
                   text_count(x->sc, d->beyond), DISTANCE_ULP, DISTANCE_SHIFT, d->largest);
    }
    if (x->reason)
        printf("bits may differ, within %d ulp or 2^-%d of an output's largest magnitude, because of: %s%s\n",
               DISTANCE_ULP, DISTANCE_SHIFT, text_safe(x->sc, x->reason),
               x->fixture ? " (here not contracted)" : "");
    else
        puts("every operation is specified bit for bit: equal bits are asked for");
}

static int print_answer(const run *x)
{
    static const char *const words[] = {[EXIT_PASSED] = "passed",
                                        [EXIT_REJECTED] = "rejected",
                                        [EXIT_UNAVAILABLE] = "failed",
                                        [EXIT_NUMERICAL] = "numerical_rejection",
                                        [EXIT_UNTRUSTED] = "refused"};
    const result *r = x->c.result;
    int code = exit_of(x);
    if (x->opt->json) {
        jw *j = jw_new(JW_PRETTY);
        jw_obj(j, NULL);
        jw_str(j, "format", "replay-kernel-run/0");
        cli_tool_json(j);
        jw_str(j, "name", x->k->name);
        jw_str(j, "producer", x->k->producer);
        jw_str(j, "device", r->device_name);
        jw_bool(j, "emulated", result_emulated(r));
        jw_str(j, "status", words[code]);
        jw_str(j, "error", r->error);
        jw_str(j, "bits_may_differ", x->reason ? x->reason : "");
        jw_arr(j, "outputs");
        for (uint64_t i = 0; r->ok && i < x->k->n_outputs; i++) {
            jw_obj(j, NULL);
            jw_str(j, "name", x->k->outputs[i].name);
            jw_str(j, "dtype", dtype_names[x->k->outputs[i].type]);
            jw_bool(j, "within", within(x, i));
            distance_json(j, &x->d[i]);
            jw_end(j);
        }
        jw_end(j);
        jw_arr(j, "findings");
        for (uint64_t i = 0; i < r->n_findings; i++) {
            jw_obj(j, NULL);
            jw_str(j, "kind", r->findings[i].kind);
            jw_str(j, "message", r->findings[i].message);
            jw_u64(j, "count", r->findings[i].count);
            jw_end(j);
        }
        jw_end(j);
        jw_i64(j, "exit", code);
        jw_end(j);
        return cli_print_json(j, code);
    }
    printf("%s, by %s, on %s%s\n", text_safe(x->sc, x->k->name), text_safe(x->sc, x->k->producer),
           text_safe(x->sc, r->device_name), result_emulated(r) ? ", emulated" : "");
    if (print_memory(NULL, x)) {
        puts("findings:");
        print_memory(stdout, x);
    }
    if (r->ok)
        print_outputs(x);
    else
        printf("%s: %s\n", words[code], text_safe(x->sc, r->error));
    puts(words[code]);
    return cli_finish(code);
}

static bool parse(options *o, int argc, char **argv)
{
    static const struct option longs[] = {
        {"device", required_argument, NULL, 'd'}, {"json", no_argument, NULL, 'j'}, OPTIONS_LIMITS, {0}};
    shared_options shared = {0};
    int c, at = 0;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == '?')
            return cli_bad_option("kernel", argv), false;
        if (c >= OPTION_ROOT && options_take("kernel", &shared, c, longs[at].name))
            return false;
        if (c == 'd' && strcmp(optarg, "gpu") && strcmp(optarg, "emu"))
            return cli_usage("kernel", "expected --device emu or gpu, found \"%.40s\"", optarg), false;
        if (c == 'd')
            o->gpu = !strcmp(optarg, "gpu");
        if (c == 'j')
            o->json = true;
    }
    if (argc - optind != 1)
        return cli_usage("kernel", "expected one NAME.json, found %d arguments", argc - optind), false;
    o->path = argv[optind];
    return true;
}

int cmd_kernel(int argc, char **argv)
{
    options o = {0};
    rp_err e = {0};
    if (!parse(&o, argc, argv))
        return EXIT_USAGE;
    run x = {.opt = &o, .sc = scratch_new(0), .c = {.output_fd = -1}};
    int code;
    proc_catch_signals();
    if (!x.sc)
        err_nomem(&e);
    else if (!kernel_job_read(&e, &x.k, x.sc, o.path, !o.gpu) && !start(&e, &x) && x.c.result->ok)
        (void)!judge(&e, &x);
    code = e.code ? cli_error("kernel", &e, o.json) : print_answer(&x);
    if (x.c.output_fd >= 0)
        close(x.c.output_fd);
    scratch_free(x.sc);
    if (proc_interrupted())
        proc_die_of_signal();
    return code;
}
