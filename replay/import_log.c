#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "artifacts/base/text.h"
#include "plan/lt_rules.h"
#include "replay/import.h"
#include "replay/text_file.h"
#include <stdlib.h>
#include <unistd.h>

enum { LINE_BYTES = 1 << 16, UNREAD_KEPT = 1000 };
#define LOG_MAX_BYTES (64ULL << 30)

/* One call of the log: its number among the distinct calls, and what a, b, c, d and bias range over
 * (UINT32_MAX: nothing). */
typedef struct {
    uint64_t line;
    uint32_t call, range[LT_PTR_COUNT];
} step;

typedef struct {
    uint64_t line;
    const char *why;
} unread;

typedef struct {
    scratch *sc;
    const char *log, *out;
    FILE *in, *steps;
    log_tables t;
    uint64_t lines, calls, other, n_unread, promise[LTM_COUNT];
    unsigned version;
    unread kept[UNREAD_KEPT];
} importer;

static void cannot_read(importer *m, const char *why)
{
    fprintf(stderr, "replay import: %s: line %llu: %s\n", text_safe(m->sc, m->log),
            (unsigned long long)m->lines, text_safe(m->sc, why));
    if (m->n_unread < UNREAD_KEPT)
        m->kept[m->n_unread] = (unread){.line = m->lines, .why = scratch_strdup(m->sc, why)};
    m->n_unread++;
}

/* The bytes behind a pointer of the call. */
static bool bytes_of(const lt_trace *t, int which, uint64_t *bytes)
{
    uint64_t elements;
    if (which == LT_PTR_BIAS) {
        dtype type = lt_bias_of(&t->q);
        return ck_mul_u64(t->q.m, dtype_bytes(type), bytes);
    }
    return lt_span(&t->q.mat[which], &elements) &&
           ck_mul_u64(elements, dtype_bytes(t->q.mat[which].type), bytes);
}

static rp_code add_call(rp_err *e, importer *m, lt_trace *t, const char *line)
{
    step s = {.line = m->lines};
    uint64_t end;
    t->q.version = m->version;
    for (int i = 0; i < LTM_COUNT; i++)
        t->q.mat[i].promise_bytes = m->promise[i];
    for (int i = 0; i < LT_PTR_COUNT; i++) {
        uint64_t bytes;
        s.range[i] = UINT32_MAX;
        if (!t->pointer[i] || (i == LT_PTR_BIAS && !lt_epilogue_has_bias(t->q.epilogue)))
            continue;
        if (!bytes_of(t, i, &bytes) || !ck_add_u64(t->pointer[i], bytes, &end)) {
            cannot_read(m, "an operand that reaches beyond 64 bits");
            return RP_OK;
        }
        if (bytes && log_range_of(e, &m->t, &s.range[i], t->pointer[i], bytes))
            return e->code;
    }
    if (log_call_of(e, &m->t, &s.call, t, m->lines))
        return e->code;
    logged_call *c = &m->t.calls[s.call];
    if (c->line == m->lines && !(c->text = lt_trace_text(m->sc, line)))
        return err_nomem(e);
    if (fwrite(&s, sizeof s, 1, m->steps) != 1)
        return err_errno(e, "", "write a temporary file");
    m->calls++;
    return RP_OK;
}

static rp_code one_line(rp_err *e, importer *m, const char *line)
{
    static lt_trace t; /* large, and only one thread reads */
    rp_err why = {0};
    char text[1200];
    switch (lt_line_kind_of(line)) {
    case LT_LINE_PREFER:
        lt_trace_promises(line, m->promise);
        m->other++;
        return RP_OK;
    case LT_LINE_VERSION:
        m->version = lt_trace_version(line) ? lt_trace_version(line) : m->version;
        m->other++;
        return RP_OK;
    case LT_LINE_OTHER:
        m->other++;
        return RP_OK;
    case LT_LINE_FOREIGN:
        cannot_read(m, "not a line of the library's log, or the beginning of one is missing");
        return RP_OK;
    case LT_LINE_CALL:
        break;
    }
    if (!lt_trace_read(&why, &t, "", line))
        return add_call(e, m, &t, line);
    err_text(&why, text, sizeof text);
    cannot_read(m, text);
    return RP_OK;
}

static rp_code read_all(rp_err *e, importer *m)
{
    char *line = malloc(LINE_BYTES);
    if (!line)
        return err_nomem(e);
    while (!e->code && fgets(line, LINE_BYTES, m->in)) {
        size_t n = strlen(line);
        m->lines++;
        if (n && line[n - 1] != '\n' && n + 1 == LINE_BYTES) {
            int c;
            while ((c = getc(m->in)) != EOF && c != '\n')
                ;
            cannot_read(m, "longer than 65,534 bytes");
        } else if (n && line[n - 1] != '\n') {
            /* The last line without an end: what is there may be all of it, if it reads as a whole. */
            (void)!one_line(e, m, line);
        } else if (strspn(line, " \t\r\n") < n) {
            (void)!one_line(e, m, line);
        }
    }
    if (!e->code && ferror(m->in))
        err_errno(e, m->log, "read");
    free(line);
    return e->code;
}

/* sequence.txt: "LINE CALL a=BUFFER+OFFSET …", a line a call in the order of the log. */
static rp_code write_sequence(rp_err *e, importer *m)
{
    static const char *const names[LT_PTR_COUNT] = {"a", "b", "c", "d", "bias"};
    const char *path = file_join(m->sc, m->out, "sequence.txt");
    FILE *f = path ? fopen(path, "w") : NULL;
    step s;
    if (!f)
        return err_errno(e, path ? path : m->out, "create");
    rewind(m->steps);
    while (fread(&s, sizeof s, 1, m->steps) == 1) {
        fprintf(f, "%llu %u", (unsigned long long)s.line, s.call);
        for (int i = 0; i < LT_PTR_COUNT; i++)
            if (s.range[i] != UINT32_MAX) {
                const log_range *r = &m->t.ranges[s.range[i]];
                fprintf(f, " %s=%u+%llu", names[i], r->buffer,
                        (unsigned long long)(r->from - m->t.buffers[r->buffer].from));
            }
        fputc('\n', f);
    }
    bool bad = ferror(f) || ferror(m->steps);
    if (fclose(f) || bad)
        return err_errno(e, path, "write");
    return RP_OK;
}

static void operand_json(jw *j, const lt_trace *t, int i)
{
    const lt_query *q = &t->q;
    static const char *const ops[] = {"N", "T", "C"};
    const lt_operand *o = &q->mat[i];
    jw_obj(j, lt_mat_names[i]);
    jw_str(j, "type", lt_type_name(o->type));
    jw_u64(j, "rows", o->rows);
    jw_u64(j, "cols", o->cols);
    jw_u64(j, "ld", o->ld);
    jw_str(j, "order", lt_order_names[o->order]);
    jw_u64(j, "batch", o->batch);
    if (o->batch > 1)
        jw_i64(j, "stride", o->stride);
    jw_u64(j, "promised_alignment", o->promise_bytes);
    if (i < LTM_C)
        jw_str(j, "op", ops[q->op[i]]);
    if (i < LTM_C && t->scaled[i])
        jw_bool(j, "scaled", true);
    jw_end(j);
}

static void call_json(jw *j, importer *m, const logged_call *c, const char *folder, const char *obstacle)
{
    const lt_query *q = &c->first.q;
    lt_answer a;
    lt_decide(&a, q);
    jw_obj(j, NULL);
    jw_u64(j, "count", c->count);
    jw_u64(j, "first_line", c->line);
    jw_str(j, "function", c->first.function);
    jw_u64(j, "m", q->m);
    jw_u64(j, "n", q->n);
    jw_u64(j, "k", q->k);
    for (int i = 0; i < LTM_COUNT; i++)
        operand_json(j, &c->first, i);
    jw_str(j, "compute", lt_compute_names[q->compute]);
    jw_str(j, "scale", lt_type_name(q->scale));
    jw_str(j, "epilogue", lt_epilogue_names[q->epilogue]);
    if (lt_epilogue_has_bias(q->epilogue))
        jw_str(j, "bias_type", lt_type_name(lt_bias_of(q)));
    jw_f64(j, "beta", q->beta);
    jw_bool(j, "beta_assumed", c->first.beta_unsaid);
    jw_bool(j, "out_of_place", c->first.out_of_place);
    jw_u64(j, "workspace_bytes", q->workspace_bytes);
    jw_str(j, "algorithm", c->first.algorithm);
    jw_u64(j, "other_algorithms", c->algorithms);
    jw_str(j, "elided", c->first.elided);
    jw_str(j, "verdict", lt_verdict_names[a.verdict]);
    jw_str(j, "rule", lt_deciding(&a) ? lt_deciding(&a)->rule->id : NULL);
    jw_arr(j, "notes");
    for (size_t i = 0; i < a.n_hits; i++)
        jw_fmt(j, NULL, "%s: %s", a.hits[i].rule->id, lt_hit_text(m->sc, &a.hits[i]));
    jw_end(j);
    jw_str(j, "bundle", folder);
    jw_str(j, "omitted", obstacle);
    jw_end(j);
}

static void buffers_json(jw *j, const log_tables *t)
{
    jw_arr(j, "buffers");
    for (size_t i = 0; i < t->n_buffers; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "bytes", t->buffers[i].bytes);
        jw_fmt(j, "logged_at", "0x%llx", (unsigned long long)t->buffers[i].from);
        jw_end(j);
    }
    jw_end(j);
}

static rp_code write_results(rp_err *e, importer *m, uint64_t *bundles)
{
    jw *j = jw_new(JW_PRETTY);
    span text;
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-imported-log/0");
    jw_u64(j, "lines", m->lines);
    jw_u64(j, "calls_logged", m->calls);
    jw_u64(j, "other_messages", m->other);
    jw_u64(j, "library_version", m->version);
    jw_str(j, "alpha", "not in the log: 1 is assumed, and not known");
    jw_str(j, "order", "sequence.txt: line of the log, number of the call, buffer+offset of each operand");
    jw_arr(j, "calls");
    for (size_t i = 0; !e->code && i < m->t.n_calls; i++) {
        const logged_call *c = &m->t.calls[i];
        const char *why = import_call_obstacle(&c->first), *folder = NULL;
        if (!why) {
            folder = scratch_printf(m->sc, "call-%03zu", i);
            const char *dir = folder ? file_join(m->sc, m->out, folder) : NULL;
            if (!dir)
                err_nomem(e);
            else
                *bundles += !import_call_write(e, m->sc, dir, folder, m->log, c->line, c->text, &c->first);
        }
        call_json(j, m, c, folder, why);
    }
    jw_end(j);
    buffers_json(j, &m->t);
    jw_u64(j, "not_read", m->n_unread);
    jw_arr(j, "not_read_first");
    for (uint64_t i = 0; i < m->n_unread && i < UNREAD_KEPT; i++) {
        jw_obj(j, NULL);
        jw_u64(j, "line", m->kept[i].line);
        jw_str(j, "why", m->kept[i].why);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    if (!e->code && !jw_finish(e, &text, j)) {
        const char *path = file_join(m->sc, m->out, "calls.json");
        if (!path)
            err_nomem(e);
        else
            (void)!file_write(e, path, text);
    }
    jw_free(j);
    return e->code;
}

static rp_code run(rp_err *e, importer *m, uint64_t *bundles)
{
    int fd = text_file_open(e, m->sc, m->log, LOG_MAX_BYTES), temp = -1;
    if (fd < 0)
        return e->code;
    m->in = fdopen(fd, "r");
    if (!m->in) {
        close(fd);
        return err_errno(e, m->log, "open");
    }
    if ((temp = file_temp(e)) < 0)
        return e->code;
    m->steps = fdopen(temp, "w+");
    if (!m->steps) {
        close(temp);
        return err_errno(e, "", "open a temporary file");
    }
    if (read_all(e, m) || log_ranges_merge(e, &m->t) || file_mkdirs(e, m->out) || write_sequence(e, m))
        return e->code;
    return write_results(e, m, bundles);
}

int import_lt_log(const char *log, const char *out, bool json)
{
    rp_err e = {0};
    uint64_t bundles = 0;
    int code = EXIT_PASSED;
    scratch *sc = scratch_new(0);
    importer *m = calloc(1, sizeof *m);
    if (!sc || !m)
        err_nomem(&e);
    else {
        *m = (importer){.sc = sc, .log = log, .out = out, .promise = {256, 256, 256, 256}};
        (void)!run(&e, m, &bundles);
    }
    if (e.code)
        code = cli_error("import", &e, json);
    else {
        code = m->n_unread ? EXIT_REJECTED : EXIT_PASSED;
        if (json) {
            jw *j = jw_new(JW_PRETTY);
            jw_obj(j, NULL);
            jw_str(j, "format", "replay-imported/0");
            jw_u64(j, "lines", m->lines);
            jw_u64(j, "calls_logged", m->calls);
            jw_u64(j, "calls_distinct", m->t.n_calls);
            jw_u64(j, "buffers", m->t.n_buffers);
            jw_u64(j, "bundles", bundles);
            jw_u64(j, "not_read", m->n_unread);
            jw_i64(j, "exit", code);
            jw_end(j);
            code = cli_print_json(j, code);
        } else {
            printf("%s lines, %s calls, %s distinct over %s buffers; %s of them written as sources of a "
                   "bundle; %s lines not read\n",
                   text_count(sc, m->lines), text_count(sc, m->calls), text_count(sc, m->t.n_calls),
                   text_count(sc, m->t.n_buffers), text_count(sc, bundles), text_count(sc, m->n_unread));
            puts("alpha is not in the log: 1 is assumed");
            code = cli_finish(code);
        }
    }
    if (m) {
        log_tables_free(&m->t);
        if (m->in)
            fclose(m->in);
        if (m->steps)
            fclose(m->steps);
    }
    free(m);
    scratch_free(sc);
    return code;
}
