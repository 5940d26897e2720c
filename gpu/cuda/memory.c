#include "gpu/cuda/memory.h"
#include "gpu/cuda/cu.h"
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 256 };

/* Nothing is ever released: the process ends with its phase. */
static rp_code open_block(rp_err *e, memory *m, const char *id, uint64_t bytes)
{
    memory_block *b = &m->blocks[m->n_blocks++];
    void *p = NULL;
    b->id = id;
    b->bytes = bytes;
    /* job_read keeps every term far below 2^63. */
    b->total_bytes = 2 * m->jb->guard_bytes + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!b->total_bytes)
        b->total_bytes = ALIGN;
    m->total_bytes += b->total_bytes;
    if (cu_ok(e, cudaMalloc(&p, b->total_bytes), "cudaMalloc of %llu bytes for %.64s",
              (unsigned long long)b->total_bytes, id))
        return e->code;
    if ((uintptr_t)p % ALIGN)
        return err_set(e, RP_WORKER, "cudaMalloc for %.64s: expected an address aligned to %d", id, ALIGN);
    b->base = p;
    return RP_OK;
}

rp_code memory_open(rp_err *e, memory *m, scratch *sc, const job *jb, cudaStream_t stream)
{
    *m = (memory){.jb = jb, .stream = stream};
    m->blocks = scratch_array(sc, (size_t)jb->n_buffers + 1, sizeof *m->blocks);
    m->block_of = scratch_array(sc, (size_t)jb->n_buffers, sizeof *m->block_of);
    if (!m->blocks || !m->block_of)
        return err_nomem(e);
    if (open_block(e, m, "arena", jb->arena_bytes))
        return e->code;
    for (uint64_t i = 0; i < jb->n_buffers; i++) {
        if (jb->buffers[i].place != JOB_EXTERNAL)
            continue;
        m->block_of[i] = m->n_blocks;
        if (open_block(e, m, jb->buffers[i].id, jb->buffers[i].bytes))
            return e->code;
    }
    return RP_OK;
}

uint64_t memory_offset(const memory *m, int64_t buffer)
{
    return m->jb->guard_bytes + m->jb->buffers[buffer].offset_bytes;
}

uint8_t *memory_at(const memory *m, int64_t buffer)
{
    return m->blocks[m->block_of[buffer]].base + memory_offset(m, buffer);
}

static uint8_t guard_byte(uint8_t poison)
{
    return poison ^ 0x55;
}

static rp_code synchronize(rp_err *e, const memory *m, const char *after)
{
    return cu_ok(e, cudaStreamSynchronize(m->stream), "cudaStreamSynchronize after %s", after);
}

static rp_code download(rp_err *e, const memory *m, void *dst, const uint8_t *src, uint64_t bytes,
                        const char *id)
{
    if (!bytes)
        return RP_OK;
    if (cu_ok(e, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, m->stream),
              "cudaMemcpyAsync from %.64s", id))
        return e->code;
    return synchronize(e, m, "a download");
}

rp_code memory_prepare(rp_err *e, const memory *m, uint8_t poison, const job_fixture *f, span data)
{
    uint64_t guard = m->jb->guard_bytes;
    for (uint64_t i = 0; i < m->n_blocks; i++) {
        const memory_block *b = &m->blocks[i];
        if (cu_ok(e, cudaMemsetAsync(b->base, guard_byte(poison), b->total_bytes, m->stream),
                  "cudaMemsetAsync of %.64s", b->id))
            return e->code;
        if (b->bytes && cu_ok(e, cudaMemsetAsync(b->base + guard, poison, b->bytes, m->stream),
                              "cudaMemsetAsync of %.64s", b->id))
            return e->code;
    }
    for (uint64_t i = 0; i < f->n_inputs; i++) {
        const job_input *in = &f->inputs[i];
        if (in->data.bytes && cu_ok(e,
                                    cudaMemcpyAsync(memory_at(m, in->buffer), data.p + in->data.offset_bytes,
                                                    in->data.bytes, cudaMemcpyHostToDevice, m->stream),
                                    "cudaMemcpyAsync to %.64s", m->jb->buffers[in->buffer].id))
            return e->code;
    }
    return synchronize(e, m, "uploading a fixture");
}

rp_code memory_outputs(rp_err *e, const memory *m, const job_fixture *f, uint8_t *out)
{
    for (uint64_t i = 0; i < f->n_outputs; i++) {
        const job_buffer *b = &m->jb->buffers[f->outputs[i].buffer];
        if (download(e, m, out + f->outputs[i].offset_bytes, memory_at(m, f->outputs[i].buffer), b->bytes,
                     b->id))
            return e->code;
    }
    return RP_OK;
}

/* Append to a comma separated list in the scratch; a second run finds the same again. */
static rp_code note(rp_err *e, scratch *sc, const char **list, const char *item)
{
    if (strstr(*list, item))
        return RP_OK;
    *list = **list ? scratch_printf(sc, "%s, %s", *list, item) : scratch_strdup(sc, item);
    return *list ? RP_OK : err_nomem(e);
}

static rp_code check_guards(rp_err *e, const memory *m, scratch *sc, uint8_t poison, result_fixture *r,
                            uint8_t *buf)
{
    uint64_t guard = m->jb->guard_bytes;
    for (uint64_t i = 0; i < m->n_blocks; i++) {
        const memory_block *b = &m->blocks[i];
        uint64_t after = b->total_bytes - guard - b->bytes;
        char item[128];
        if (download(e, m, buf, b->base, guard, b->id))
            return e->code;
        for (uint64_t k = guard; k-- > 0;)
            if (buf[k] != guard_byte(poison)) {
                snprintf(item, sizeof item, "%.64s- at %llu", b->id, (unsigned long long)(guard - k));
                r->guards_intact = false;
                if (note(e, sc, &r->guards_broken, item))
                    return e->code;
                break;
            }
        if (download(e, m, buf, b->base + guard + b->bytes, after, b->id))
            return e->code;
        for (uint64_t k = 0; k < after; k++)
            if (buf[k] != guard_byte(poison)) {
                snprintf(item, sizeof item, "%.64s+ at %llu", b->id, (unsigned long long)k);
                r->guards_intact = false;
                if (note(e, sc, &r->guards_broken, item))
                    return e->code;
                break;
            }
    }
    return RP_OK;
}

static rp_code check_inputs(rp_err *e, const memory *m, scratch *sc, const job_fixture *f, span data,
                            result_fixture *r)
{
    for (uint64_t i = 0; i < f->n_inputs; i++) {
        const job_input *in = &f->inputs[i];
        const job_buffer *b = &m->jb->buffers[in->buffer];
        if (b->writable || !b->bytes)
            continue;
        uint8_t *now = malloc(b->bytes);
        if (!now)
            return err_nomem(e);
        rp_code rc = download(e, m, now, memory_at(m, in->buffer), b->bytes, b->id);
        if (!rc && memcmp(now, data.p + in->data.offset_bytes, b->bytes)) {
            r->inputs_unchanged = false;
            rc = note(e, sc, &r->inputs_changed, b->id);
        }
        free(now);
        if (rc)
            return rc;
    }
    return RP_OK;
}

rp_code memory_check(rp_err *e, const memory *m, scratch *sc, uint8_t poison, const job_fixture *f, span data,
                     result_fixture *r)
{
    uint8_t *buf = malloc(m->jb->guard_bytes + 2 * ALIGN);
    if (!buf)
        return err_nomem(e);
    rp_code rc = check_guards(e, m, sc, poison, r, buf);
    if (!rc)
        rc = check_inputs(e, m, sc, f, data, r);
    free(buf);
    return rc;
}

rp_code memory_snapshot(rp_err *e, const memory *m, uint8_t *out)
{
    for (uint64_t i = 0; i < m->n_blocks; i++) {
        if (download(e, m, out, m->blocks[i].base, m->blocks[i].total_bytes, m->blocks[i].id))
            return e->code;
        out += m->blocks[i].total_bytes;
    }
    return RP_OK;
}
