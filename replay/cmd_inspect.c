#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "replay/cli.h"
#include "replay/open.h"
#include "replay/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- The tree. --- */

static void print_tree(opened *o)
{
    char hex[DIGEST_HEX];
    const manifest *m = store_manifest(o->st);
    text_table *t = text_table_new(o->sc, "lrll");
    static const char *const head[] = {"path", "bytes", "role", "sha256"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (size_t i = 0; i < m->n_files; i++) {
        digest_hex(m->files[i].sha256, hex);
        text_cell(t, "%s", m->files[i].path);
        text_cell(t, "%s", text_count(o->sc, m->files[i].bytes));
        text_cell(t, "%s", file_role_names[m->files[i].role]);
        text_cell(t, "%.16s", hex);
    }
    text_table_print(t, stdout, "");
    for (size_t i = 0; i < m->n_omitted; i++)
        printf("omitted %s: %s\n", text_safe(o->sc, m->omitted[i].path),
               text_safe(o->sc, m->omitted[i].reason));
    digest_hex(m->root, hex);
    printf("\n%s, %zu files, root sha256:%s\n", text_safe(o->sc, m->name), m->n_files, hex);
}

/* --- The plan as tables. --- */

static void put_layout(FILE *f, const layout *l)
{
    fputc('[', f);
    for (uint64_t i = 0; i < l->rank; i++)
        fprintf(f, "%s%llu", i ? ", " : "", (unsigned long long)l->shape[i]);
    fputc(']', f);
    for (uint64_t s = 0; s < l->n_spellings; s++) {
        fprintf(f, "%s%s", s ? " = " : " ", layout_kind_names[l->spellings[s].kind]);
        for (uint64_t i = 0; l->spellings[s].kind == LAYOUT_STRIDED && i < l->rank; i++)
            fprintf(f, "%s%llu%s", i ? "," : "(", (unsigned long long)l->spellings[s].strides[i],
                    i + 1 == l->rank ? ")" : "");
    }
}

static char *layout_text(scratch *sc, const layout *l)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return NULL;
    put_layout(f, l);
    char *s = fclose(f) ? NULL : scratch_strndup(sc, text, n);
    free(text);
    return s;
}

static void print_buffers(const opened *o)
{
    const plan *p = o->b->plan;
    text_table *t = text_table_new(o->sc, "lllllrrl");
    static const char *const head[] = {"buffer", "owner", "freed by", "access",
                                       "dtype",  "bytes", "arena",    "layout"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (uint64_t i = 0; i < p->n_buffers; i++) {
        const plan_buffer *b = &p->buffers[i];
        const arena_range *r = bundle_arena(o->b) ? arena_of_buffer(bundle_arena(o->b), i) : NULL;
        char *l = layout_text(o->sc, &b->layout);
        text_cell(t, "%s", b->id);
        text_cell(t, "%s", b->owner == OWNER_CALLER ? "caller" : "system");
        text_cell(t, "%s", b->freed_by == FREED_BY_CALLER ? "caller" : "program");
        text_cell(t, "%s", b->writable ? "rw" : "ro");
        text_cell(t, "%s", dtype_names[b->type]);
        text_cell(t, "%s", text_count(o->sc, b->bytes));
        text_cell(t, "%s", r ? text_count(o->sc, r->offset_bytes) : "external");
        text_cell(t, "%s", l ? l : "");
    }
    text_table_print(t, stdout, "");
}

static const lt_call *call_of(const bundle *b, const plan_node *n)
{
    for (uint64_t i = 0; b->calls_ok && i < b->n_calls; i++)
        if (&b->plan->nodes[b->calls[i].node] == n)
            return &b->calls[i].call;
    return NULL;
}

static const char *node_what(scratch *sc, const bundle *b, const plan_node *n)
{
    const char *s = "";
    const lt_call *given = n->op == NODE_MATMUL && b->plan->resolver == RESOLVE_GIVEN ? call_of(b, n) : NULL;
    if (n->op == NODE_KERNEL)
        s = scratch_printf(sc, "%s%s, entry %s, grid %llu,%llu,%llu block %llu,%llu,%llu", n->source,
                           bundle_kernel_omitted(b, n->source) ? " (omitted)" : "", n->entry,
                           (unsigned long long)n->grid[0], (unsigned long long)n->grid[1],
                           (unsigned long long)n->grid[2], (unsigned long long)n->block[0],
                           (unsigned long long)n->block[1], (unsigned long long)n->block[2]);
    else if (given)
        s = scratch_printf(
            sc, "m=%llu n=%llu k=%llu, %s x %s -> %s, epilogue %s", (unsigned long long)given->m,
            (unsigned long long)given->n, (unsigned long long)given->k, dtype_names[given->a.type],
            dtype_names[given->b.type], dtype_names[given->d.type], lt_epilogue_names[given->epilogue]);
    else if (n->op == NODE_MATMUL && b->plan->resolver == RESOLVE_LUMINAL)
        s = scratch_printf(sc, "m=%llu n=%llu k=%llu, %s x %s -> %s, epilogue %s",
                           (unsigned long long)n->spec.m, (unsigned long long)n->spec.n,
                           (unsigned long long)n->spec.k, dtype_names[n->spec.a], dtype_names[n->spec.b],
                           dtype_names[n->spec.d], lt_epilogue_names[n->spec.epilogue]);
    return s ? s : "";
}

static void print_nodes(const opened *o)
{
    const plan *p = o->b->plan;
    text_table *t = text_table_new(o->sc, "rlllll");
    static const char *const head[] = {"node", "op", "label", "reads", "writes", "what"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        const char *reads = "";
        for (uint64_t k = 0; k < n->n_operands; k++)
            reads = scratch_printf(o->sc, "%s%s%s", reads ? reads : "", k ? ", " : "",
                                   p->buffers[n->operands[k].buffer].id);
        text_cell(t, "%llu", (unsigned long long)i);
        text_cell(t, "%s", node_op_names[n->op]);
        text_cell(t, "%s", n->label);
        text_cell(t, "%s", reads ? reads : "");
        text_cell(t, "%s", n->has_destination ? p->buffers[n->destination.buffer].id : "");
        text_cell(t, "%s", node_what(o->sc, o->b, n));
    }
    text_table_print(t, stdout, "");
}

static int print_plan(opened *o)
{
    if (!o->b->plan) {
        report_print_findings(o->r, stdout);
        return EXIT_REJECTED;
    }
    printf("%s: resolver %s, arena %s, renderer %s, %llu parameter bytes\n\n", o->b->plan->name,
           o->b->plan->resolver_name, o->b->plan->arena_name, o->b->plan->renderer_name,
           (unsigned long long)plan_parameter_bytes(o->b->plan));
    print_buffers(o);
    putchar('\n');
    print_nodes(o);
    if (!bundle_arena(o->b))
        return EXIT_PASSED;
    printf("\nlifetimes, in steps\n");
    text_table *t = text_table_new(o->sc, "lrrrr");
    static const char *const head[] = {"range", "first", "end", "offset", "bytes"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        text_cell(t, "%s", head[i]);
    const arena_layout *l = bundle_arena(o->b);
    for (uint64_t i = 0; i < l->n; i++) {
        text_cell(t, "%s", l->ranges[i].name);
        text_cell(t, "%llu", (unsigned long long)l->ranges[i].first_step);
        text_cell(t, "%llu", (unsigned long long)l->ranges[i].end_step);
        text_cell(t, "%s", text_count(o->sc, l->ranges[i].offset_bytes));
        text_cell(t, "%s", text_count(o->sc, l->ranges[i].bytes));
    }
    text_table_print(t, stdout, "");
    return EXIT_PASSED;
}

/* --- One file. --- */

/* To a terminal escaped; otherwise the bytes as they are. */
static int print_file(rp_err *e, opened *o, const char *path)
{
    span bytes;
    if (!strcmp(path, "manifest.json"))
        bytes = store_manifest_bytes(o->st);
    else if (store_read(e, &bytes, o->sc, o->st, path))
        return e->code == RP_INVALID && e->id != FIND_FILE_MISSING ? EXIT_REJECTED : EXIT_UNREADABLE;
    if (isatty(STDOUT_FILENO))
        text_print_safe(stdout, bytes);
    else
        fwrite(bytes.p, 1, bytes.n, stdout);
    return EXIT_PASSED;
}

int cmd_inspect(int argc, char **argv)
{
    static const struct option longs[] = {
        {"plan", no_argument, NULL, 'p'}, {"json", no_argument, NULL, 'j'}, OPTIONS_LIMITS, {0}};
    bool plan_wanted = false, json = false;
    shared_options shared = {0};
    int c, at = 0, code = EXIT_PASSED;
    while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
        if (c == 'p')
            plan_wanted = true;
        else if (c == 'j')
            json = true;
        else if (c == '?')
            return cli_bad_option("inspect", argv);
        else if ((code = options_take("inspect", &shared, c, longs[at].name)))
            return code;
    }
    if (argc - optind > 2 || (plan_wanted && argc - optind > 1) ||
        (json && (plan_wanted || argc - optind > 1)))
        return cli_usage("inspect", "expected a bundle and then one of PATH, --plan or --json");
    rp_err e = {0};
    opened o;
    if (opened_bundle(&e, &o, optind < argc ? argv[optind] : cli_default_bundle)) {
        code = cli_error("inspect", &e, json);
    } else if (argc - optind == 2) {
        code = print_file(&e, &o, argv[optind + 1]);
        if (e.code)
            cli_error("inspect", &e, json);
    } else if (plan_wanted) {
        code = print_plan(&o);
    } else if (json) {
        /* The manifest is the tree. */
        span m = store_manifest_bytes(o.st);
        fwrite(m.p, 1, m.n, stdout);
    } else {
        print_tree(&o);
    }
    opened_close(&o);
    return cli_finish(code);
}
