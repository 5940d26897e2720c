/* Where the job's buffers lie, and when they live. A job knows neither allocation nor release, so the arena's
 * lives are read off its steps: a buffer lives from the first step that touches it until a step touches
 * another that shares a byte with it. */
#include "artifacts/base/ck.h"
#include "gpu/emu/emu_phase.h"

/* Allocations from the first address on, each aligned like a device's, none beside another; module globals
 * far above. */
enum { ALIGN = 256 };
static const uint64_t first_address = UINT64_C(1) << 33, first_globals = UINT64_C(1) << 45;

rp_code emu_lay_out(rp_err *e, emu_phase *p)
{
    const job *jb = p->jb;
    uint64_t next = first_address;
    p->address = scratch_array(p->sc, jb->n_buffers, sizeof *p->address);
    p->buffer_id = scratch_array(p->sc, jb->n_buffers, sizeof *p->buffer_id);
    p->alive = scratch_array(p->sc, jb->n_buffers, sizeof *p->alive);
    if (!p->address || !p->buffer_id || !p->alive)
        return err_nomem(e);
    /* job_read keeps every sum below 2^52. */
    next += jb->guard_bytes;
    p->block_address[0] = next;
    p->block_address[1] = jb->arena_bytes;
    next += (jb->arena_bytes + jb->guard_bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
    for (uint64_t i = 0; i < jb->n_buffers; i++) {
        const job_buffer *b = &jb->buffers[i];
        if (b->place == JOB_ARENA) {
            p->address[i] = p->block_address[0] + b->offset_bytes;
            continue;
        }
        next += jb->guard_bytes;
        p->address[i] = next;
        next += (b->bytes + jb->guard_bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
    }
    if (next > first_globals)
        return err_set(e, RP_NOMEM, "the job's buffers take %llu bytes, more than the emulator can address",
                       (unsigned long long)(next - first_address));
    return RP_OK;
}

static rp_code fill(rp_err *e, emu_phase *p, uint64_t address, uint64_t bytes, uint8_t value)
{
    uint8_t *at = emu_memory_data(p->mem, address, bytes);
    if (!at)
        return err_set(e, RP_BUG, "an allocation cannot be reached");
    memset(at, value, (size_t)bytes);
    return RP_OK;
}

static rp_code store(rp_err *e, emu_phase *p, int64_t buffer, const void *bytes, uint64_t n)
{
    uint8_t *at = n ? emu_memory_data(p->mem, p->address[buffer], n) : NULL;
    if (!n)
        return RP_OK;
    if (!at)
        return err_set(e, RP_BUG, "a buffer cannot be reached");
    memcpy(at, bytes, (size_t)n);
    emu_memory_mark(p->mem, p->address[buffer], n, EMU_WRITTEN);
    return RP_OK;
}

static rp_code map_externals(rp_err *e, emu_phase *p, uint8_t poison)
{
    const job *jb = p->jb;
    for (uint64_t i = 0; i < jb->n_buffers; i++) {
        const job_buffer *b = &jb->buffers[i];
        uint32_t block;
        if (b->place != JOB_EXTERNAL || !b->bytes)
            continue;
        if (emu_memory_map(e, &block, p->mem, b->id, p->address[i], b->bytes, jb->guard_bytes) ||
            fill(e, p, p->address[i], b->bytes, poison) ||
            emu_buffer_add(e, &p->buffer_id[i], p->mem, block, b->id, 0, b->bytes, b->writable))
            return e->code;
        p->alive[i] = true;
    }
    return RP_OK;
}

rp_code emu_begin(rp_err *e, emu_phase *p, const job_fixture *f, uint8_t poison)
{
    const job *jb = p->jb;
    uint32_t arena;
    p->fixture = f->name;
    p->separate = f->separate;
    memset(p->alive, 0, (size_t)jb->n_buffers * sizeof *p->alive);
    if (!(p->mem = emu_memory_new()))
        return err_nomem(e);
    /* The arena is allocation 0. */
    if (jb->arena_bytes &&
        (emu_memory_map(e, &arena, p->mem, "arena", p->block_address[0], jb->arena_bytes, jb->guard_bytes) ||
         fill(e, p, p->block_address[0], jb->arena_bytes, poison)))
        return e->code;
    if (map_externals(e, p, poison))
        return e->code;
    for (uint64_t i = 0; i < jb->n_modules; i++)
        if (emu_memory_map_module(e, p->mem, p->modules[i]))
            return e->code;
    for (uint64_t i = 0; i < f->n_inputs; i++) {
        const job_input *in = &f->inputs[i];
        if (emu_revive(e, p, in->buffer) ||
            store(e, p, in->buffer, p->data.p + in->data.offset_bytes, in->data.bytes))
            return e->code;
    }
    if (!jb->n_params)
        return RP_OK;
    return emu_revive(e, p, jb->params_buffer)
               ? e->code
               : store(e, p, jb->params_buffer, jb->params, jb->n_params * sizeof *jb->params);
}

void emu_end(emu_phase *p)
{
    emu_memory_free(p->mem);
    p->mem = NULL;
}

static bool share_bytes(const job_buffer *a, const job_buffer *b)
{
    return a->offset_bytes < b->offset_bytes + b->bytes && b->offset_bytes < a->offset_bytes + a->bytes;
}

rp_code emu_revive(rp_err *e, emu_phase *p, int64_t buffer)
{
    const job_buffer *b;
    if (buffer < 0 || p->alive[buffer] || !p->jb->buffers[buffer].bytes)
        return RP_OK;
    b = &p->jb->buffers[buffer];
    for (uint64_t i = 0; i < p->jb->n_buffers; i++)
        if (p->alive[i] && p->jb->buffers[i].place == JOB_ARENA && share_bytes(&p->jb->buffers[i], b)) {
            emu_buffer_free(p->mem, p->buffer_id[i]);
            p->alive[i] = false;
        }
    p->alive[buffer] = true;
    return emu_buffer_add(e, &p->buffer_id[buffer], p->mem, 0, b->id, b->offset_bytes, b->bytes, b->writable);
}

static bool given(const job_step *s, int64_t buffer)
{
    bool found = false;
    for (uint64_t i = 0; s->kind == JOB_KERNEL && i < s->n_args; i++)
        found |= s->args[i] == buffer;
    if (s->kind == JOB_MATMUL)
        found = s->a == buffer || s->b == buffer || s->bias == buffer || s->d == buffer ||
                s->scale_a == buffer || s->scale_b == buffer || (s->c == buffer && s->call.beta_one);
    if (s->kind == JOB_COPY)
        found = s->src == buffer || s->dst == buffer;
    return found;
}

void emu_allow(emu_phase *p, const job_step *s)
{
    for (uint64_t i = 0; i < p->jb->n_buffers; i++) {
        bool write = false;
        for (uint64_t k = 0; k < s->n_writes; k++)
            write |= s->writes[k] == (int64_t)i;
        if (p->alive[i])
            emu_buffer_allow(p->mem, p->buffer_id[i], write || given(s, (int64_t)i), write);
    }
}
