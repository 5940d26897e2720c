/* From what the memory checker says to the findings of the result. */
#include "gpu/emu/emu_phase.h"
#include <stdio.h>

static bool same_place(const result_finding *a, const result_finding *b)
{
    return a->node == b->node && a->line == b->line && !strcmp(a->kind, b->kind) &&
           !strcmp(a->kernel, b->kernel) && !strcmp(a->buffer, b->buffer) &&
           !strncmp(a->message, b->message, 32);
}

rp_code emu_add_finding(rp_err *e, emu_phase *p, const result_finding *f)
{
    result *r = p->r;
    if (!r->findings && !(r->findings = scratch_array(p->sc, EMU_MAX_FINDINGS, sizeof *r->findings)))
        return err_nomem(e);
    for (uint64_t i = 0; i < r->n_findings; i++)
        if (same_place(&r->findings[i], f)) {
            r->findings[i].count += f->count;
            return RP_OK;
        }
    if (r->n_findings < EMU_MAX_FINDINGS)
        r->findings[r->n_findings++] = *f;
    return RP_OK;
}

rp_code emu_add_kernel_findings(rp_err *e, emu_phase *p, const job_step *s, const emu_report *rep)
{
    for (uint64_t i = 0; i < rep->n_findings; i++) {
        const emu_finding *x = &rep->findings[i];
        char text[1024];
        emu_finding_text(x, text, sizeof text);
        result_finding f = {.kind = emu_find_name(x->kind),
                            .fixture = p->fixture,
                            .kernel = s->entry,
                            .buffer = scratch_strdup(p->sc, x->buffer ? x->buffer : ""),
                            .node = s->node,
                            .line = x->line ? x->line : x->ptx_line,
                            .block = {x->ctaid[0], x->ctaid[1], x->ctaid[2]},
                            .thread = {x->tid[0], x->tid[1], x->tid[2]},
                            .offset_bytes = x->has_address ? x->offset_bytes : 0,
                            .bytes = x->bytes,
                            .count = x->count,
                            .message =
                                scratch_printf(p->sc, "node %llu, %s", (unsigned long long)s->node, text)};
        if (!f.message || !f.buffer)
            return err_nomem(e);
        if (emu_add_finding(e, p, &f))
            return e->code;
    }
    return RP_OK;
}

rp_code emu_check_outputs(rp_err *e, emu_phase *p, const job_fixture *f, result_fixture *out)
{
    for (uint64_t i = 0; i < f->n_outputs; i++) {
        int64_t buffer = f->outputs[i].buffer;
        const job_buffer *b = &p->jb->buffers[buffer];
        const uint8_t *states = b->bytes ? emu_memory_states(p->mem, p->address[buffer], b->bytes) : NULL;
        uint64_t missing = 0, first = 0;
        for (uint64_t k = 0; states && k < b->bytes; k++)
            if (states[k] != EMU_WRITTEN || !p->alive[buffer])
                first = missing++ ? first : k;
        out->unwritten_bytes += missing;
        if (!missing)
            continue;
        uint64_t node = 0;
        const char *kernel = "";
        for (uint64_t k = 0; k < p->jb->n_steps; k++)
            for (uint64_t w = 0; w < p->jb->steps[k].n_writes; w++)
                if (p->jb->steps[k].writes[w] == buffer) {
                    node = p->jb->steps[k].node;
                    kernel = p->jb->steps[k].kind == JOB_KERNEL   ? p->jb->steps[k].entry
                             : p->jb->steps[k].kind == JOB_MATMUL ? emu_matmul_name
                                                                  : "copy";
                }
        const char *map = emu_coverage(p->sc, states, b->bytes);
        result_finding x = {
            .kind = "unwritten_output",
            .fixture = p->fixture,
            .kernel = kernel,
            .buffer = b->id,
            .node = node,
            .offset_bytes = (int64_t)first,
            .bytes = missing,
            .count = 1,
            .message =
                map ? scratch_printf(p->sc,
                                     "output %.64s, last written by node %llu (%.64s): expected every byte "
                                     "written, found "
                                     "%llu of %llu never written, the first at %llu; %s",
                                     b->id, (unsigned long long)node, kernel, (unsigned long long)missing,
                                     (unsigned long long)b->bytes, (unsigned long long)first, map)
                    : NULL};
        if (!x.message)
            return err_nomem(e);
        if (emu_add_finding(e, p, &x))
            return e->code;
    }
    return RP_OK;
}

/* Append to a comma separated list, once. */
static rp_code note(rp_err *e, scratch *sc, const char **list, const char *item)
{
    if (!item || strstr(*list, item))
        return item ? RP_OK : err_nomem(e);
    *list = **list ? scratch_printf(sc, "%s, %s", *list, item) : item;
    return *list ? RP_OK : err_nomem(e);
}

rp_code emu_summarize(rp_err *e, emu_phase *p, result_fixture *out)
{
    for (uint64_t i = 0; i < p->r->n_findings; i++) {
        const result_finding *f = &p->r->findings[i];
        if (strcmp(f->fixture, out->name))
            continue;
        if (!strcmp(f->kind, emu_find_name(EMU_FIND_GUARD)) && strstr(f->message, " st.")) {
            bool before = f->offset_bytes < 0;
            uint64_t bytes = 0;
            for (uint64_t k = 0; k < p->jb->n_buffers; k++)
                if (!strcmp(p->jb->buffers[k].id, f->buffer))
                    bytes = p->jb->buffers[k].bytes;
            out->guards_intact = false;
            const char *item =
                scratch_printf(p->sc, "%s%s at %llu (kept from it)", f->buffer, before ? "-" : "+",
                               (unsigned long long)(before ? (uint64_t)-f->offset_bytes
                                                           : (uint64_t)f->offset_bytes - bytes));
            if (note(e, p->sc, &out->guards_broken, item))
                return e->code;
        }
        if (!strcmp(f->kind, emu_find_name(EMU_FIND_READ_ONLY)) && *f->buffer) {
            out->inputs_unchanged = false;
            if (note(e, p->sc, &out->inputs_changed, f->buffer))
                return e->code;
        }
    }
    return RP_OK;
}
