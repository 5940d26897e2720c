/* The steps of a job, one at a time, over the memory of the run. */
#include "gpu/emu/emu_phase.h"
#include "gpu/emu/matmul.h"
#include <stdio.h>

enum { MODULE_SPACE_SHIFT = 32, MAX_MODULES = 1 << 14 };
static const uint64_t first_globals = UINT64_C(1) << 45, max_warp_instructions = UINT64_C(1) << 28;
const char emu_matmul_name[] = "emu_lt_matmul";

/* --- Modules. --- */

rp_code emu_load(rp_err *e, emu_phase *p)
{
    const job *jb = p->jb;
    if (jb->n_modules > MAX_MODULES)
        return err_set(e, RP_WORKER, "expected at most %d modules, found %llu", MAX_MODULES,
                       (unsigned long long)jb->n_modules);
    p->modules = scratch_array(p->sc, jb->n_modules, sizeof *p->modules);
    p->r->kernels = scratch_array(p->sc, jb->n_steps, sizeof *p->r->kernels);
    if (!p->modules || !p->r->kernels)
        return err_nomem(e);
    for (uint64_t i = 0; i < jb->n_modules; i++) {
        span text = span_of(p->data.p + jb->modules[i].ptx.offset_bytes, (size_t)jb->modules[i].ptx.bytes);
        if (ptx_parse(e, &p->modules[i], p->sc, jb->modules[i].name, text,
                      first_globals + (i << MODULE_SPACE_SHIFT)))
            return e->code;
    }
    /* Refused before anything runs, by name. */
    for (uint64_t i = 0; i < jb->n_steps; i++) {
        const job_step *s = &jb->steps[i];
        const char *what = s->kind == JOB_MATMUL ? matmul_refused(&s->call) : NULL;
        if (what) {
            p->r->refused = true;
            return err_set(e, RP_UNAVAILABLE, "node %llu: %s is not emulated", (unsigned long long)s->node,
                           what);
        }
        if (s->kind != JOB_KERNEL)
            continue;
        const ptx_entry *x = ptx_entry_find(p->modules[s->module], s->entry);
        if (!x)
            return err_set(e, RP_WORKER, "node %llu: expected an entry %.64s in %.64s, found none",
                           (unsigned long long)s->node, s->entry, jb->modules[s->module].name);
        if (*x->refused) {
            p->r->refused = true;
            return err_set(e, RP_UNAVAILABLE, "%.64s:%llu:%llu: %.64s is not emulated (in %.64s)",
                           jb->modules[s->module].name, (unsigned long long)x->refused_line,
                           (unsigned long long)x->refused_column, x->refused, s->entry);
        }
        p->r->kernels[p->r->n_kernels++] =
            (result_kernel){.node = s->node,
                            .entry = s->entry,
                            .approximate = x->approximate ? "approximate instructions" : "",
                            .contractible = x->contractible ? "a mul feeding an add or sub" : ""};
    }
    return RP_OK;
}

/* --- Kernels. --- */

/* The parameter block by the entry's own layout; what lies beyond its parameters follows as a caller would
 * put it. */
static span lay_out_params(emu_phase *p, const ptx_entry *x, const job_step *s, uint64_t *sizes)
{
    uint64_t at = 0;
    uint8_t *block = scratch_alloc(p->sc, (size_t)x->param_bytes + 16 * JOB_MAX_ARGS);
    for (uint64_t i = 0; block && i < s->n_args; i++) {
        bool value = s->args[i] < 0;
        uint64_t bits = value ? s->values[i].bits : p->address[s->args[i]];
        sizes[i] = value ? s->values[i].bytes : 8;
        if (i < x->n_params)
            at = x->params[i].offset_bytes;
        else
            at = (at + sizes[i] - 1) / sizes[i] * sizes[i];
        memcpy(block + at, &bits, (size_t)sizes[i]);
        at += sizes[i];
    }
    return span_of(block, (size_t)(s->n_args == x->n_params ? x->param_bytes : at));
}

static rp_code add_mix(rp_err *e, emu_phase *p, const job_step *s, const emu_report *rep)
{
    result *r = p->r;
    result_instruction *more = scratch_array(p->sc, (size_t)(r->n_instructions + rep->n_mix), sizeof *more);
    if (!more)
        return err_nomem(e);
    if (r->n_instructions)
        memcpy(more, r->instructions, (size_t)r->n_instructions * sizeof *more);
    for (uint64_t i = 0; i < rep->n_mix; i++)
        if (rep->mix[i].count)
            more[r->n_instructions++] = (result_instruction){.entry = s->entry,
                                                             .instruction = rep->mix[i].name,
                                                             .node = s->node,
                                                             .count = rep->mix[i].count};
    r->instructions = more;
    return RP_OK;
}

/* Names of the executed instructions that the hardware approximates. */
static void name_approximate(emu_phase *p, const job_step *s, const emu_report *rep)
{
    const char *list = "";
    for (uint64_t i = 0; i < rep->n_mix; i++) {
        const char *n = rep->mix[i].name;
        bool known =
            strstr(n, ".approx") || strstr(n, ".full") || !strncmp(n, "ex2", 3) || !strncmp(n, "tanh", 4);
        if (known && rep->mix[i].count)
            list = scratch_printf(p->sc, "%s%s%s", list, *list ? ", " : "", n);
        if (!list)
            return;
    }
    for (uint64_t i = 0; *list && i < p->r->n_kernels; i++)
        if (p->r->kernels[i].node == s->node && *p->r->kernels[i].approximate)
            p->r->kernels[i].approximate = list;
}

static rp_code run_kernel(rp_err *e, emu_phase *p, const job_step *s)
{
    const ptx_module *m = p->modules[s->module];
    const ptx_entry *x = ptx_entry_find(m, s->entry);
    uint64_t sizes[JOB_MAX_ARGS];
    emu_report rep;
    emu_launch l = {.shared_bytes = s->shared_bytes,
                    .params = lay_out_params(p, x, s, sizes),
                    .n_args = s->n_args,
                    .arg_bytes = sizes,
                    .threads = p->threads,
                    .contract = !p->separate,
                    .max_warp_instructions = max_warp_instructions};
    if (!l.params.p)
        return err_nomem(e);
    for (int i = 0; i < 3; i++) {
        l.grid[i] = (uint32_t)s->grid[i];
        l.block[i] = (uint32_t)s->block[i];
    }
    if (emu_run(e, &rep, p->sc, p->mem, m, s->entry, &l))
        return e->code;
    p->stopped |= !rep.completed;
    name_approximate(p, s, &rep);
    if (p->want_mix && add_mix(e, p, s, &rep))
        return e->code;
    return emu_add_kernel_findings(e, p, s, &rep);
}

/* --- What the host does itself: library calls and copies, checked alike. --- */

static rp_code host_finding(rp_err *e, emu_phase *p, const job_step *s, int64_t buffer, uint64_t address,
                            uint64_t bytes, emu_fault fault, bool write)
{
    static const char *const kinds[] = {
        [EMU_FAULT_BOUNDS] = "out_of_bounds",      [EMU_FAULT_GUARD] = "guard_band",
        [EMU_FAULT_DEAD] = "dead_access",          [EMU_FAULT_UNWRITTEN] = "uninitialised_read",
        [EMU_FAULT_READ_ONLY] = "read_only_write", [EMU_FAULT_DENIED] = "out_of_bounds"};
    char place[200];
    const char *what = s->kind == JOB_MATMUL ? emu_matmul_name : "copy";
    emu_memory_describe(p->mem, address, place, sizeof place);
    result_finding f = {
        .kind = kinds[fault],
        .fixture = p->fixture,
        .kernel = what,
        .buffer = p->jb->buffers[buffer].id,
        .node = s->node,
        .offset_bytes = (int64_t)(address - p->address[buffer]),
        .bytes = bytes,
        .count = 1,
        .message = scratch_printf(p->sc, "node %llu (%s) %s %s: %s", (unsigned long long)s->node, what,
                                  write ? "writes" : "reads", p->jb->buffers[buffer].id, place)};
    return f.message ? emu_add_finding(e, p, &f) : err_nomem(e);
}

static rp_code check_range(rp_err *e, emu_phase *p, const job_step *s, int64_t buffer, uint64_t offset,
                           uint64_t bytes, bool write, bool *found)
{
    uint64_t at, address = p->address[buffer] + offset;
    emu_fault fault = bytes ? emu_memory_check(p->mem, address, bytes, write, &at) : EMU_FAULT_NONE;
    if (fault == EMU_FAULT_NONE || *found)
        return RP_OK;
    *found = true;
    return host_finding(e, p, s, buffer, at, address + bytes - at, fault, write);
}

/* A matrix, or a batch of them, as runs of elements: without what lies between two of them where the leading
 * dimension is larger than a line, or the stride than a matrix. */
typedef struct {
    uint64_t batch, stride, lines, pitch, line; /* bytes, but for batch and lines */
} runs;

static runs runs_of(const lt_matrix *m)
{
    uint64_t size = dtype_bytes(m->type);
    runs r = {.batch = m->batch && m->stride ? m->batch : 1,
              .stride = m->stride * size,
              .lines = m->order == LTO_ROW ? m->rows : m->cols,
              .pitch = m->ld * size,
              .line = (m->order == LTO_ROW ? m->cols : m->rows) * size};
    if (r.pitch == r.line || r.lines == 1) {
        r.line *= r.lines;
        r.lines = 1;
    }
    if (r.lines == 1 && r.stride == r.line) {
        r.line *= r.batch;
        r.batch = 1;
    }
    return r;
}

/* The first fault of each operand is told. */
static rp_code check_matrix(rp_err *e, emu_phase *p, const job_step *s, int64_t buffer, const lt_matrix *m,
                            bool write)
{
    runs r = runs_of(m);
    bool found = false;
    for (uint64_t b = 0; b < r.batch; b++)
        for (uint64_t i = 0; i < r.lines; i++)
            if (check_range(e, p, s, buffer, b * r.stride + i * r.pitch, r.line, write, &found))
                return e->code;
    return RP_OK;
}

static void mark_written(emu_phase *p, int64_t buffer, const lt_matrix *m)
{
    runs r = runs_of(m);
    for (uint64_t b = 0; b < r.batch; b++)
        for (uint64_t i = 0; i < r.lines; i++)
            emu_memory_mark(p->mem, p->address[buffer] + b * r.stride + i * r.pitch, r.line, EMU_WRITTEN);
}

static const uint8_t *bytes_of(emu_phase *p, int64_t buffer)
{
    return buffer < 0 ? NULL : emu_memory_data(p->mem, p->address[buffer], p->jb->buffers[buffer].bytes);
}

static rp_code run_matmul(rp_err *e, emu_phase *p, const job_step *s)
{
    const lt_call *c = &s->call;
    static const lt_matrix one = {.type = DT_F32, .order = LTO_COL, .rows = 1, .cols = 1, .ld = 1};
    lt_matrix bias = {.type = c->bias_type, .order = LTO_COL, .rows = c->m, .cols = 1, .ld = c->m};
    if (check_matrix(e, p, s, s->a, &c->a, false) || check_matrix(e, p, s, s->b, &c->b, false) ||
        (c->beta_one && check_matrix(e, p, s, s->c, &c->c, false)) ||
        (s->bias >= 0 && check_matrix(e, p, s, s->bias, &bias, false)) ||
        (s->scale_a >= 0 && check_matrix(e, p, s, s->scale_a, &one, false)) ||
        (s->scale_b >= 0 && check_matrix(e, p, s, s->scale_b, &one, false)) ||
        check_matrix(e, p, s, s->d, &c->d, true))
        return e->code;
    matmul_operands m = {.a = bytes_of(p, s->a),
                         .b = bytes_of(p, s->b),
                         .c = bytes_of(p, s->c),
                         .bias = bytes_of(p, s->bias),
                         .d = emu_memory_data(p->mem, p->address[s->d], p->jb->buffers[s->d].bytes),
                         .scale_a = bytes_of(p, s->scale_a),
                         .scale_b = bytes_of(p, s->scale_b)};
    if (!m.a || !m.b || !m.c || !m.d || (s->bias >= 0 && !m.bias) || (s->scale_a >= 0 && !m.scale_a) ||
        (s->scale_b >= 0 && !m.scale_b))
        return err_set(e, RP_BUG, "an operand cannot be reached");
    if (matmul_run(e, c, &m, p->threads))
        return e->code;
    mark_written(p, s->d, &c->d);
    /* A library leaves nothing in its workspace that anyone may count on. */
    if (s->workspace >= 0)
        emu_memory_mark(p->mem, p->address[s->workspace], p->jb->buffers[s->workspace].bytes, EMU_NEVER);
    return RP_OK;
}

static rp_code run_copy(rp_err *e, emu_phase *p, const job_step *s)
{
    uint64_t bytes = p->jb->buffers[s->src].bytes;
    bool found = false;
    if (check_range(e, p, s, s->src, 0, bytes, false, &found) ||
        check_range(e, p, s, s->dst, 0, bytes, true, &found))
        return e->code;
    const uint8_t *from = bytes_of(p, s->src);
    uint8_t *to = emu_memory_data(p->mem, p->address[s->dst], bytes);
    if (!from || !to)
        return err_set(e, RP_BUG, "a copy's buffers cannot be reached");
    memmove(to, from, (size_t)bytes);
    emu_memory_mark(p->mem, p->address[s->dst], bytes, EMU_WRITTEN);
    return RP_OK;
}

rp_code emu_step(rp_err *e, emu_phase *p, const job_step *s)
{
    /* What is read comes to life first: if the step writes over it, it is dead when it is read, which is what
     * happens. */
    if (s->kind == JOB_MATMUL &&
        (emu_revive(e, p, s->a) || emu_revive(e, p, s->b) || (s->call.beta_one && emu_revive(e, p, s->c)) ||
         emu_revive(e, p, s->bias) || emu_revive(e, p, s->scale_a) || emu_revive(e, p, s->scale_b)))
        return e->code;
    if (s->kind == JOB_COPY && emu_revive(e, p, s->src))
        return e->code;
    for (uint64_t i = 0; s->kind == JOB_KERNEL && i < s->n_args; i++)
        if (emu_revive(e, p, s->args[i]))
            return e->code;
    for (uint64_t i = 0; i < s->n_writes; i++)
        if (emu_revive(e, p, s->writes[i]))
            return e->code;
    emu_allow(p, s);
    switch (s->kind) {
    case JOB_MATMUL:
        return run_matmul(e, p, s);
    case JOB_KERNEL:
        return run_kernel(e, p, s);
    case JOB_COPY:
        return run_copy(e, p, s);
    }
    return err_set(e, RP_BUG, "no such step");
}
