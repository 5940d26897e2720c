#include "replay/lower.h"
#include "artifacts/base/ck.h"
#include "artifacts/base/file.h"
#include "verify/fixture_file.h"
#include <unistd.h>

enum { GUARD_BYTES = 65536, PART_ALIGN = 256, TIMELINE_LAUNCHES = 20 };
/* docs/phases.md: 10 warm-up calls, 3 pilot calls, 15 blocks of 20 ms, at most 2,000 calls a block. */
static const job_timing timing = {
    .warmup = 10, .pilot = 3, .blocks = 15, .block_ns = 20000000, .max_calls = 2000};
static const char timed_fixture[] = "random";

job_phase phase_kind(uint64_t index)
{
    static const job_phase first[] = {JOB_VALIDATE, JOB_TIMING, JOB_TIMING, JOB_TIMELINE, JOB_INSTRUCTIONS};
    return index <= 5 ? first[index - 1] : JOB_TIMING;
}

const char *phase_name(scratch *sc, uint64_t index)
{
    if (phase_kind(index) != JOB_TIMING)
        return job_phase_names[phase_kind(index)];
    const char *s =
        scratch_printf(sc, "timing-%llu", (unsigned long long)(index <= 5 ? index - 1 : index - 3));
    return s ? s : "timing";
}

static bool add_part(lowering *l, span s, job_part *out)
{
    uint64_t offset;
    if (!ck_align_u64(l->data_bytes, PART_ALIGN, &offset) || !ck_add_u64(offset, s.n, &l->data_bytes))
        return false;
    l->parts[l->n_parts] = s;
    l->part_offsets[l->n_parts++] = offset;
    *out = (job_part){.offset_bytes = offset, .bytes = s.n, .sha256 = digest_of(s)};
    return true;
}

/* Job buffers: the plan's, in its order; then parameters and workspaces. */
static rp_code lower_buffers(rp_err *e, lowering *l)
{
    const bundle *b = l->b;
    const arena_layout *a = bundle_arena(b);
    job *j = &l->base;
    j->buffers = scratch_array(l->sc, b->plan->n_buffers + a->n, sizeof *j->buffers);
    if (!j->buffers)
        return err_nomem(e);
    for (uint64_t i = 0; i < b->plan->n_buffers; i++) {
        const plan_buffer *p = &b->plan->buffers[i];
        const arena_range *r = arena_of_buffer(a, i);
        j->buffers[j->n_buffers++] = (job_buffer){.id = p->id,
                                                  .place = r ? JOB_ARENA : JOB_EXTERNAL,
                                                  .offset_bytes = r ? r->offset_bytes : 0,
                                                  .bytes = p->bytes,
                                                  .writable = p->writable};
    }
    j->params_buffer = -1;
    for (uint64_t i = 0; i < a->n; i++) {
        const arena_range *r = &a->ranges[i];
        if (r->kind == RANGE_BUFFER)
            continue;
        if (r->kind == RANGE_PARAMETERS)
            j->params_buffer = (int64_t)j->n_buffers;
        j->buffers[j->n_buffers++] = (job_buffer){.id = r->name,
                                                  .place = JOB_ARENA,
                                                  .offset_bytes = r->offset_bytes,
                                                  .bytes = r->bytes,
                                                  .writable = true};
    }
    if (j->params_buffer < 0)
        return err_set(e, RP_BUG, "the arena has no parameter block");
    return RP_OK;
}

static int64_t job_buffer_named(const job *j, const char *id)
{
    for (uint64_t i = 0; i < j->n_buffers; i++)
        if (!strcmp(j->buffers[i].id, id))
            return (int64_t)i;
    return -1;
}

static const resolved_call *call_of(const bundle *b, uint64_t node)
{
    for (uint64_t i = 0; i < b->n_calls; i++)
        if (b->calls[i].node == node)
            return &b->calls[i];
    return NULL;
}

static void lower_matmul(lowering *l, job_step *s, uint64_t node)
{
    const resolved_call *c = call_of(l->b, node);
    const arena_range *w = arena_of_workspace(bundle_arena(l->b), node);
    s->kind = JOB_MATMUL;
    s->call = c->call;
    s->a = (int64_t)c->buffer[LT_A];
    s->b = (int64_t)c->buffer[LT_B];
    s->c = (int64_t)c->buffer[LT_C];
    s->d = (int64_t)c->buffer[LT_D];
    s->bias = c->has[LT_BIAS] ? (int64_t)c->buffer[LT_BIAS] : -1;
    s->scale_a = c->has[LT_SCALE_A] ? (int64_t)c->buffer[LT_SCALE_A] : -1;
    s->scale_b = c->has[LT_SCALE_B] ? (int64_t)c->buffer[LT_SCALE_B] : -1;
    s->workspace = w ? job_buffer_named(&l->base, w->name) : -1;
    s->writes[s->n_writes++] = s->d;
    if (s->workspace >= 0)
        s->writes[s->n_writes++] = s->workspace;
}

static void lower_kernel(lowering *l, job_step *s, const plan_node *n)
{
    const bundle_kernel *k = bundle_kernel_of(l->b, n->source);
    s->kind = JOB_KERNEL;
    s->module = (uint64_t)(k - l->b->kernels);
    s->entry = n->entry;
    for (uint64_t i = 0; i < n->n_operands; i++)
        s->args[s->n_args++] = (int64_t)n->operands[i].buffer;
    s->args[s->n_args++] = (int64_t)n->destination.buffer;
    s->args[s->n_args++] = l->base.params_buffer;
    memcpy(s->grid, n->grid, sizeof s->grid);
    memcpy(s->block, n->block, sizeof s->block);
    s->shared_bytes = n->shared_bytes;
    s->writes[s->n_writes++] = (int64_t)n->destination.buffer;
}

static rp_code lower_steps(rp_err *e, lowering *l)
{
    const plan *p = l->b->plan;
    job *j = &l->base;
    j->steps = scratch_array(l->sc, p->n_nodes, sizeof *j->steps);
    if (!j->steps)
        return err_nomem(e);
    for (uint64_t i = 0; i < p->n_nodes; i++) {
        const plan_node *n = &p->nodes[i];
        if (!node_launches(n))
            continue;
        job_step *s = &j->steps[j->n_steps++];
        *s = job_step_none();
        s->node = i;
        if (n->op == NODE_MATMUL) {
            lower_matmul(l, s, i);
        } else if (n->op == NODE_KERNEL) {
            lower_kernel(l, s, n);
        } else {
            s->kind = JOB_COPY;
            s->src = (int64_t)n->operands[0].buffer;
            s->dst = (int64_t)n->destination.buffer;
            s->writes[s->n_writes++] = s->dst;
        }
    }
    return RP_OK;
}

static const tensor *tensor_named(const tensor *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return &v[i];
    return NULL;
}

static rp_code lower_inputs(rp_err *e, lowering *l, job_fixture *f, const tensor *in, size_t n_in)
{
    const plan *p = l->b->plan;
    f->inputs = scratch_array(l->sc, p->n_buffers, sizeof *f->inputs);
    if (!f->inputs)
        return err_nomem(e);
    for (uint64_t i = 0; i < p->n_nodes; i++)
        for (uint64_t k = 0; p->nodes[i].op == NODE_INPUT && k < p->nodes[i].n_operands; k++) {
            const plan_slot *s = &p->nodes[i].operands[k];
            const tensor *t = tensor_named(in, n_in, s->port);
            uint64_t bytes = p->buffers[s->buffer].bytes;
            if (!t || t->elements * dtype_bytes(t->type) != bytes)
                return err_invalid(e, FIND_FIXTURE_SHAPE, "reference.json", s->port,
                                   "expected a tensor of %llu bytes for input %s", (unsigned long long)bytes,
                                   s->port);
            job_input *ji = &f->inputs[f->n_inputs++];
            ji->buffer = (int64_t)s->buffer;
            if (!add_part(l, span_of(t->data, (size_t)bytes), &ji->data))
                return err_set(e, RP_NOMEM, "the fixtures do not fit in 2^64 bytes");
        }
    return RP_OK;
}

/* Outputs in the reference's order, each bound to the plan's output slot of its name. */
static rp_code lower_outputs(rp_err *e, lowering *l, job_fixture *f)
{
    const plan *p = l->b->plan;
    size_t n = reference_n_outputs(l->b->reference);
    f->outputs = scratch_array(l->sc, n, sizeof *f->outputs);
    if (!f->outputs)
        return err_nomem(e);
    for (size_t o = 0; o < n; o++) {
        const char *name = reference_output(l->b->reference, o)->name;
        for (uint64_t i = 0; i < p->n_nodes; i++)
            for (uint64_t k = 0; p->nodes[i].op == NODE_OUTPUT && k < p->nodes[i].n_operands; k++)
                if (!strcmp(p->nodes[i].operands[k].port, name) && f->n_outputs == o) {
                    uint64_t buffer = p->nodes[i].operands[k].buffer;
                    f->outputs[f->n_outputs++] =
                        (job_output){.buffer = (int64_t)buffer, .offset_bytes = l->base.output_bytes};
                    if (!ck_add_u64(l->base.output_bytes, p->buffers[buffer].bytes, &l->base.output_bytes))
                        return err_set(e, RP_NOMEM, "the outputs do not fit in 2^64 bytes");
                }
        if (f->n_outputs != o + 1)
            return err_invalid(e, FIND_FIXTURE_SHAPE, "reference.json", name,
                               "expected the plan to have an output %s", name);
    }
    return RP_OK;
}

static const plan_slot *output_slot(const plan *p, const char *name)
{
    for (uint64_t i = 0; i < p->n_nodes; i++)
        for (uint64_t k = 0; p->nodes[i].op == NODE_OUTPUT && k < p->nodes[i].n_operands; k++)
            if (!strcmp(p->nodes[i].operands[k].port, name))
                return &p->nodes[i].operands[k];
    return NULL;
}

/* What no right output holds: a NaN, or the end of an integer type's range. */
static double unlikely(dtype t)
{
    if (dtype_is_float(t))
        return __builtin_nan("");
    return dtype_round(t, -__builtin_inf()) < 0 ? -__builtin_inf() : __builtin_inf();
}

/* Expected elements where a buffer of `room` elements has them. */
static rp_code place_expected(rp_err *e, lowering *l, tensor *t, uint8_t **gaps, const uint64_t *strides,
                              uint64_t room)
{
    uint64_t bytes = dtype_bytes(t->type), at[TENSOR_MAX_RANK] = {0}, place = 0;
    uint8_t *moved = scratch_array(l->sc, (size_t)room, (size_t)bytes);
    *gaps = room == t->elements ? NULL : scratch_array(l->sc, (size_t)room, 1);
    if (!moved || (room != t->elements && !*gaps))
        return err_nomem(e);
    for (uint64_t i = 0; *gaps && i < room; i++) {
        dtype_store(t->type, moved, i, unlikely(t->type));
        (*gaps)[i] = 1;
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        memcpy(moved + place * bytes, (const uint8_t *)t->data + i * bytes, bytes);
        if (*gaps)
            (*gaps)[place] = 0;
        for (uint64_t axis = t->rank; axis > 0; axis--) {
            place += strides[axis - 1];
            if (++at[axis - 1] < t->shape[axis - 1])
                break;
            place -= t->shape[axis - 1] * strides[axis - 1];
            at[axis - 1] = 0;
        }
    }
    t->data = moved;
    if (*gaps)
        *t = (tensor){
            .name = t->name, .type = t->type, .rank = 1, .shape = {room}, .elements = room, .data = moved};
    return RP_OK;
}

/* Where an output is a view of its buffer, expected elements go where the buffer has them: what a worker
 * returns is the buffer. */
static rp_code order_expected(rp_err *e, lowering *l, lowered_fixture *lf)
{
    if (!(lf->gaps = scratch_array(l->sc, lf->n_outputs, sizeof *lf->gaps)))
        return err_nomem(e);
    for (size_t o = 0; o < lf->n_outputs; o++) {
        tensor *t = &lf->expected[o];
        const plan_slot *s = output_slot(l->b->plan, t->name);
        uint64_t strides[PLAN_MAX_RANK], room = 0;
        if (!s || layout_has(&s->layout, LAYOUT_RIGHT_MAJOR))
            continue;
        bool same =
            t->rank == s->layout.rank && !memcmp(t->shape, s->layout.shape, t->rank * sizeof *t->shape);
        if (same && layout_strides(strides, &s->layout, LAYOUT_LEFT_MAJOR))
            room = t->elements;
        else if (same && layout_strides(strides, &s->layout, LAYOUT_STRIDED) &&
                 plan_output_strided(l->b->plan, s))
            room = l->b->plan->buffers[s->buffer].bytes / dtype_bytes(t->type);
        if (!room)
            return err_invalid(e, FIND_FIXTURE_SHAPE, "plan/plan.json", t->name,
                               "expected output %s as a view of its buffer that has no element twice",
                               t->name);
        if (place_expected(e, l, t, &lf->gaps[o], strides, room))
            return e->code;
    }
    return RP_OK;
}

/* A buffer with gaps begins as the same bytes in every run, so that gaps do not differ between two; its
 * elements begin as what no right output holds, so that one that is never written shows. */
static rp_code lower_fills(rp_err *e, lowering *l, const lowered_fixture *lf, job_fixture *f)
{
    for (size_t o = 0; o < lf->n_outputs; o++) {
        const tensor *t = &lf->expected[o];
        int64_t buffer = f->outputs[o].buffer;
        bool given = !lf->gaps[o];
        for (uint64_t i = 0; i < f->n_inputs; i++)
            given |= f->inputs[i].buffer == buffer;
        if (given)
            continue;
        uint8_t *fill = scratch_array(l->sc, (size_t)t->elements, (size_t)dtype_bytes(t->type));
        if (!fill)
            return err_nomem(e);
        for (uint64_t i = 0; i < t->elements; i++)
            dtype_store(t->type, fill, i, unlikely(t->type));
        job_input *ji = &f->inputs[f->n_inputs++];
        ji->buffer = buffer;
        if (!add_part(l, span_of(fill, (size_t)(t->elements * dtype_bytes(t->type))), &ji->data))
            return err_set(e, RP_NOMEM, "the fixtures do not fit in 2^64 bytes");
    }
    return RP_OK;
}

static rp_code lower_fixtures(rp_err *e, lowering *l)
{
    const contract *c = l->b->contract;
    job *j = &l->base;
    j->fixtures = scratch_array(l->sc, c->n_fixtures, sizeof *j->fixtures);
    l->fixtures = scratch_array(l->sc, c->n_fixtures, sizeof *l->fixtures);
    if (!j->fixtures || !l->fixtures)
        return err_nomem(e);
    j->timing = timing;
    for (size_t i = 0; i < c->n_fixtures; i++) {
        const bundle_fixture *f = bundle_fixture_named(l->b, c->fixtures[i].name);
        if (!c->fixtures[i].applies)
            continue;
        if (!f)
            return err_invalid(e, FIND_CONTRACT_INVALID, "contract.json", "/fixtures",
                               "expected a recipe for fixture %s", c->fixtures[i].name);
        lowered_fixture *lf = &l->fixtures[l->n_fixtures++];
        job_fixture *jf = &j->fixtures[j->n_fixtures++];
        made_fixture made;
        *lf = (lowered_fixture){.name = f->name, .contract = &c->fixtures[i]};
        jf->name = f->name;
        if (fixture_make(e, &made, l->sc, f->recipe, l->b->reference))
            return err_file(e, f->recipe_path);
        lf->expected = made.expected;
        lf->n_outputs = made.n_expected;
        if (order_expected(e, l, lf) || lower_inputs(e, l, jf, made.inputs, made.n_inputs) ||
            lower_outputs(e, l, jf) || lower_fills(e, l, lf, jf))
            return e->code;
        if (!strcmp(f->name, timed_fixture))
            j->timing.fixture = j->n_fixtures - 1;
    }
    return RP_OK;
}

static rp_code lower_modules(rp_err *e, lowering *l, const span *ptx)
{
    job *j = &l->base;
    j->modules = scratch_array(l->sc, l->b->n_kernels, sizeof *j->modules);
    if (!j->modules)
        return err_nomem(e);
    for (uint64_t i = 0; i < l->b->n_kernels; i++) {
        job_module *m = &j->modules[j->n_modules++];
        m->name = l->b->kernels[i].record->source;
        if (!add_part(l, ptx[i], &m->ptx))
            return err_set(e, RP_NOMEM, "the kernels do not fit in 2^64 bytes");
    }
    return RP_OK;
}

rp_code lower_bundle(rp_err *e, lowering **out, scratch *sc, const bundle *b, const span *ptx)
{
    lowering *l = scratch_alloc(sc, sizeof *l);
    if (!l)
        return err_nomem(e);
    *l = (lowering){.b = b, .sc = sc};
    uint64_t max_parts = b->n_kernels + b->contract->n_fixtures * b->plan->n_buffers;
    l->parts = scratch_array(sc, max_parts, sizeof *l->parts);
    l->part_offsets = scratch_array(sc, max_parts, sizeof *l->part_offsets);
    job *j = &l->base;
    uint64_t words = plan_parameter_bytes(b->plan) / 8;
    int64_t *params = scratch_array(sc, words, sizeof *params);
    if (!l->parts || !l->part_offsets || !params)
        return err_nomem(e);
    for (uint64_t i = 0; i < b->plan->n_symbols; i++)
        params[i] = b->plan->symbols[i].value;
    j->params = params;
    j->n_params = words;
    j->arena_bytes = bundle_arena(b)->slab_bytes;
    j->guard_bytes = GUARD_BYTES;
    j->timeline_launches = TIMELINE_LAUNCHES;
    if (lower_buffers(e, l) || lower_modules(e, l, ptx) || lower_steps(e, l) || lower_fixtures(e, l))
        return e->code;
    *out = l;
    return RP_OK;
}

void lowered_close_gaps(const lowered_fixture *f, size_t o, uint8_t *bytes)
{
    const tensor *t = &f->expected[o];
    uint64_t size = dtype_bytes(t->type);
    for (uint64_t i = 0; f->gaps[o] && i < t->elements; i++)
        if (f->gaps[o][i])
            memcpy(bytes + i * size, (const uint8_t *)t->data + i * size, size);
}

rp_code lower_job(rp_err *e, span *out, scratch *sc, const lowering *l, job_phase phase)
{
    job j = l->base;
    jw *w = jw_new(JW_PRETTY);
    span text;
    j.phase = phase;
    job_write(w, &j);
    if (!jw_finish(e, &text, w)) {
        char *copy = scratch_strndup(sc, (const char *)text.p, text.n);
        if (copy)
            *out = span_of(copy, text.n);
        else
            err_nomem(e);
    }
    jw_free(w);
    return e->code;
}

rp_code lower_write_data(rp_err *e, const lowering *l, int fd)
{
    for (uint64_t i = 0; i < l->n_parts; i++) {
        if (lseek(fd, (off_t)l->part_offsets[i], SEEK_SET) < 0)
            return err_errno(e, "data blob", "seek");
        if (file_write_fd(e, fd, "data blob", l->parts[i]))
            return e->code;
    }
    return RP_OK;
}
