#include "artifacts/base/lt_json.h"
#include "gpu/job.h"

static void write_part(jw *j, const char *key, const job_part *p)
{
    jw_obj(j, key);
    jw_u64(j, "offset_bytes", p->offset_bytes);
    jw_u64(j, "bytes", p->bytes);
    jw_digest(j, "sha256", p->sha256);
    jw_end(j);
}

static void write_i64s(jw *j, const char *key, const int64_t *v, uint64_t n)
{
    jw_arr(j, key);
    for (uint64_t i = 0; i < n; i++)
        jw_i64(j, NULL, v[i]);
    jw_end(j);
}

/* What a plain product does not have is left out, as in lt_json.h; the order of the members is older. A job
 * is lowered again from its bundle and compared byte for byte with the one that was run: a call that could be
 * said before batches, scales and other types came must read as it did. */
static void write_matrix(jw *j, const char *key, const lt_matrix *m)
{
    jw_obj(j, key);
    jw_str(j, "type", dtype_names[m->type]);
    jw_str(j, "order", lt_order_names[m->order]);
    jw_u64(j, "rows", m->rows);
    jw_u64(j, "cols", m->cols);
    jw_u64(j, "ld", m->ld);
    if (m->batch) {
        jw_u64(j, "batch", m->batch);
        jw_u64(j, "stride", m->stride);
    }
    if (m->scaled)
        jw_bool(j, "scaled", true);
    jw_end(j);
}

static void write_call(jw *j, const lt_call *c)
{
    jw_obj(j, "call");
    jw_u64(j, "m", c->m);
    jw_u64(j, "n", c->n);
    jw_u64(j, "k", c->k);
    write_matrix(j, "a", &c->a);
    write_matrix(j, "b", &c->b);
    write_matrix(j, "c", &c->c);
    write_matrix(j, "d", &c->d);
    jw_bool(j, "trans_a", c->trans_a);
    jw_bool(j, "trans_b", c->trans_b);
    if (c->compute != LTC_32F || c->scale != DT_F32) {
        jw_str(j, "compute", lt_compute_names[c->compute]);
        jw_str(j, "scale", dtype_names[c->scale]);
    }
    jw_str(j, "epilogue", lt_epilogue_names[c->epilogue]);
    lt_bias_type_write(j, c);
    jw_bool(j, "beta_one", c->beta_one);
    jw_u64(j, "workspace_bytes", c->workspace_bytes);
    jw_end(j);
}

static void write_args(jw *j, const job_step *s)
{
    jw_arr(j, "args");
    for (uint64_t i = 0; i < s->n_args; i++) {
        if (s->args[i] >= 0) {
            jw_i64(j, NULL, s->args[i]);
            continue;
        }
        jw_obj(j, NULL);
        jw_u64(j, "bytes", s->values[i].bytes);
        jw_fmt(j, "bits", "%016llx", (unsigned long long)s->values[i].bits);
        jw_end(j);
    }
    jw_end(j);
}

static void write_step(jw *j, const job_step *s)
{
    jw_obj(j, NULL);
    jw_str(j, "kind", job_step_names[s->kind]);
    jw_u64(j, "node", s->node);
    switch (s->kind) {
    case JOB_MATMUL:
        write_call(j, &s->call);
        jw_i64(j, "a", s->a);
        jw_i64(j, "b", s->b);
        jw_i64(j, "c", s->c);
        jw_i64(j, "d", s->d);
        jw_i64(j, "bias", s->bias);
        if (s->scale_a >= 0)
            jw_i64(j, "scale_a", s->scale_a);
        if (s->scale_b >= 0)
            jw_i64(j, "scale_b", s->scale_b);
        jw_i64(j, "workspace", s->workspace);
        break;
    case JOB_KERNEL:
        jw_u64(j, "module", s->module);
        jw_str(j, "entry", s->entry);
        write_args(j, s);
        jw_u64s(j, "grid", s->grid, 3);
        jw_u64s(j, "block", s->block, 3);
        jw_u64(j, "shared_bytes", s->shared_bytes);
        break;
    case JOB_COPY:
        jw_i64(j, "src", s->src);
        jw_i64(j, "dst", s->dst);
        break;
    }
    write_i64s(j, "writes", s->writes, s->n_writes);
    jw_end(j);
}

static void write_fixture(jw *j, const job_fixture *f)
{
    jw_obj(j, NULL);
    jw_str(j, "name", f->name);
    if (f->separate)
        jw_bool(j, "separate", true);
    jw_arr(j, "inputs");
    for (uint64_t i = 0; i < f->n_inputs; i++) {
        jw_obj(j, NULL);
        jw_i64(j, "buffer", f->inputs[i].buffer);
        write_part(j, "data", &f->inputs[i].data);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "outputs");
    for (uint64_t i = 0; i < f->n_outputs; i++) {
        jw_obj(j, NULL);
        jw_i64(j, "buffer", f->outputs[i].buffer);
        jw_u64(j, "offset_bytes", f->outputs[i].offset_bytes);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

void job_write(jw *j, const job *jb)
{
    jw_obj(j, NULL);
    jw_str(j, "format", "replay-job/0");
    jw_str(j, "phase", job_phase_names[jb->phase]);
    jw_u64(j, "arena_bytes", jb->arena_bytes);
    jw_u64(j, "guard_bytes", jb->guard_bytes);
    jw_obj(j, "parameters");
    jw_i64(j, "buffer", jb->params_buffer);
    write_i64s(j, "values", jb->params, jb->n_params);
    jw_end(j);

    jw_arr(j, "buffers");
    for (uint64_t i = 0; i < jb->n_buffers; i++) {
        const job_buffer *b = &jb->buffers[i];
        jw_obj(j, NULL);
        jw_str(j, "id", b->id);
        jw_str(j, "place", b->place == JOB_ARENA ? "arena" : "external");
        jw_u64(j, "offset_bytes", b->offset_bytes);
        jw_u64(j, "bytes", b->bytes);
        jw_bool(j, "writable", b->writable);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "modules");
    for (uint64_t i = 0; i < jb->n_modules; i++) {
        jw_obj(j, NULL);
        jw_str(j, "name", jb->modules[i].name);
        write_part(j, "ptx", &jb->modules[i].ptx);
        jw_end(j);
    }
    jw_end(j);
    jw_arr(j, "steps");
    for (uint64_t i = 0; i < jb->n_steps; i++)
        write_step(j, &jb->steps[i]);
    jw_end(j);
    jw_arr(j, "fixtures");
    for (uint64_t i = 0; i < jb->n_fixtures; i++)
        write_fixture(j, &jb->fixtures[i]);
    jw_end(j);

    jw_obj(j, "timing");
    jw_u64(j, "fixture", jb->timing.fixture);
    jw_u64(j, "warmup", jb->timing.warmup);
    jw_u64(j, "pilot", jb->timing.pilot);
    jw_u64(j, "blocks", jb->timing.blocks);
    jw_u64(j, "block_ns", jb->timing.block_ns);
    jw_u64(j, "max_calls", jb->timing.max_calls);
    jw_end(j);
    jw_u64(j, "timeline_launches", jb->timeline_launches);
    jw_u64(j, "output_bytes", jb->output_bytes);
    jw_end(j);
}
