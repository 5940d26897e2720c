/* Findings: noted by number while running, put into words at the end. */
#include "gpu/emu/run.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const find_names[] = {
#define X(sym, name, text) name,
    EMU_FINDINGS(X)
#undef X
};
static const char *const find_texts[] = {
#define X(sym, name, text) text,
    EMU_FINDINGS(X)
#undef X
};

const char *emu_find_name(emu_find kind)
{
    return find_names[kind];
}

const char *emu_find_summary(emu_find kind)
{
    return find_texts[kind];
}

static record *noted(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, emu_find kind)
{
    uint32_t pc = (uint32_t)(i - f->code);
    k->order++;
    for (uint32_t n = 0; n < k->n_records; n++) {
        record *r = &k->records[n];
        if (r->kind == kind && r->function == f->index && r->pc == pc) {
            r->count++;
            return r;
        }
    }
    if (k->n_records == MAX_RECORDS)
        return NULL;
    record *r = &k->records[k->n_records++];
    *r = (record){.kind = kind,
                  .function = f->index,
                  .pc = pc,
                  .block = k->block,
                  .order = k->order,
                  .count = 1,
                  .lane_thread = w->index * LANES + lane};
    return r;
}

record *note(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, emu_find kind,
             const char *fmt, ...)
{
    record *r = noted(k, w, f, i, lane, kind);
    if (r && r->count == 1) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(r->text, sizeof r->text, fmt, ap);
        va_end(ap);
    }
    return r;
}

record *note_access(worker *k, const warp *w, const frame *f, const insn *i, uint32_t lane, emu_find kind,
                    uint8_t space, uint64_t address, uint64_t bytes, bool write)
{
    record *r = noted(k, w, f, i, lane, kind);
    if (r && r->count == 1) {
        r->has_address = true;
        r->space = space;
        r->address = address;
        r->bytes = bytes;
        r->write = write;
    }
    return r;
}

static const char *space_name(uint8_t space)
{
    static const char *const names[] = {"generic", "global", "shared", "local", "const", "param", "param"};
    return names[space];
}

static void thread_place(const launch *x, uint64_t block, uint32_t thread, uint32_t ctaid[3], uint32_t tid[3])
{
    const uint32_t *g = x->l->grid, *b = x->l->block;
    ctaid[0] = (uint32_t)(block % g[0]);
    ctaid[1] = (uint32_t)(block / g[0] % g[1]);
    ctaid[2] = (uint32_t)(block / g[0] / g[1]);
    tid[0] = thread % b[0];
    tid[1] = thread / b[0] % b[1];
    tid[2] = thread / b[0] / b[1];
}

/* Variable of shared memory at or before an address. */
static const char *shared_name(const launch *x, uint64_t address, int64_t *offset)
{
    *offset = 0;
    if (address >= DYNAMIC_SHARED) {
        *offset = (int64_t)(address - DYNAMIC_SHARED);
        return "dynamic shared memory";
    }
    const char *name = "";
    for (uint32_t n = 0; n < x->m->n_shared; n++)
        if (x->m->shared[n].offset <= address) {
            name = x->m->shared[n].name;
            *offset = (int64_t)(address - x->m->shared[n].offset);
        }
    return name;
}

static void what(char *out, size_t n, const emu_finding *f, const record *r, const launch *x)
{
    char where[160], other[120] = "";
    const char *verb = f->write ? "write" : "read";
    if (!r->has_address) {
        snprintf(out, n, "%s", r->text);
        return;
    }
    if (r->space == SPACE_GLOBAL || r->space == SPACE_CONST)
        emu_memory_describe(x->mem, r->address, where, sizeof where);
    else
        snprintf(where, sizeof where, "%s memory, %s%s%lld", f->space, f->buffer,
                 *f->buffer ? " + " : "address ", (long long)f->offset_bytes);
    if (r->other_known) {
        uint32_t c[3], t[3];
        thread_place(x, r->other_block, r->other_thread, c, t);
        snprintf(other, sizeof other, ", unordered with a %s by thread %u,%u,%u of block %u,%u,%u",
                 r->other_write ? "write" : "read", t[0], t[1], t[2], c[0], c[1], c[2]);
    }
    const char *why = "";
    switch (f->kind) {
    case EMU_FIND_UNINITIALISED:
        why = " of bytes never written";
        break;
    case EMU_FIND_DEAD:
        why = " of a buffer that is gone";
        break;
    case EMU_FIND_READ_ONLY:
        why = " to read-only memory";
        break;
    case EMU_FIND_MISALIGNED:
        why = ", misaligned";
        break;
    case EMU_FIND_BOUNDS:
        why = " out of bounds";
        break;
    case EMU_FIND_GUARD:
        why = " in a guard band";
        break;
    default:
        break;
    }
    snprintf(out, n, "%s of %llu bytes%s: %s%s", verb, (unsigned long long)f->bytes, why, where, other);
}

static bool fill(scratch *sc, emu_finding *f, const record *r, const launch *x)
{
    const ptx_func *fn = &x->m->funcs[r->function];
    const insn *i = &fn->code[r->pc];
    char text[400];
    *f = (emu_finding){.kind = r->kind,
                       .kernel = x->entry->name,
                       .instruction = x->m->names[i->name],
                       .ptx_line = i->line,
                       .file = "",
                       .has_address = r->has_address,
                       .space = r->has_address ? space_name(r->space) : "",
                       .address = r->address,
                       .buffer = "",
                       .bytes = r->bytes,
                       .write = r->write,
                       .count = r->count};
    if (i->loc) {
        const ptx_loc *l = &x->m->locs[i->loc];
        f->line = l->line;
        if (l->file < x->m->n_files && x->m->files[l->file])
            f->file = x->m->files[l->file];
    }
    thread_place(x, r->block, r->lane_thread, f->ctaid, f->tid);
    if (r->has_address && (r->space == SPACE_GLOBAL || r->space == SPACE_CONST))
        f->buffer = emu_memory_name(x->mem, r->address, &f->offset_bytes);
    else if (r->has_address && r->space == SPACE_SHARED)
        f->buffer = shared_name(x, r->address, &f->offset_bytes);
    else if (r->has_address)
        f->offset_bytes = (int64_t)r->address;
    what(text, sizeof text, f, r, x);
    f->message = scratch_strdup(sc, text);
    f->kernel = scratch_strdup(sc, f->kernel);
    f->instruction = scratch_strdup(sc, f->instruction);
    f->file = scratch_strdup(sc, f->file);
    f->buffer = scratch_strdup(sc, f->buffer);
    return f->message && f->kernel && f->instruction && f->file && f->buffer;
}

static int by_place(const void *va, const void *vb)
{
    const record *a = va, *b = vb;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static bool earlier(const record *a, const record *b)
{
    return by_place(a, b) < 0;
}

/* One record a kind and instruction: the earliest, counts added. */
static uint32_t gather(record *out, worker **ks, uint32_t n)
{
    uint32_t total = 0;
    for (uint32_t w = 0; w < n; w++)
        for (uint32_t k = 0; k < ks[w]->n_records; k++) {
            const record *r = &ks[w]->records[k];
            uint32_t at = 0;
            while (at < total &&
                   (out[at].kind != r->kind || out[at].function != r->function || out[at].pc != r->pc))
                at++;
            if (at == total) {
                out[total++] = *r;
            } else {
                uint64_t count = out[at].count + r->count;
                if (earlier(r, &out[at]))
                    out[at] = *r;
                out[at].count = count;
            }
        }
    qsort(out, total, sizeof *out, by_place);
    return total;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const emu_mix *)a)->name, ((const emu_mix *)b)->name);
}

static rp_code mix(rp_err *e, emu_report *out, scratch *sc, launch *x, worker **ks, uint32_t n)
{
    const ptx_module *m = x->m;
    uint64_t *by = scratch_array(sc, m->n_names + 1, sizeof *by);
    emu_mix *v = scratch_array(sc, m->n_names + 1, sizeof *v);
    uint64_t used = 0;
    if (!by || !v)
        return err_nomem(e);
    for (uint32_t w = 0; w < n; w++) {
        for (uint32_t f = 0; f < m->n_funcs; f++)
            for (uint32_t pc = 0; ks[w]->counts[f] && pc < m->funcs[f].n_code; pc++)
                by[m->funcs[f].code[pc].name] += ks[w]->counts[f][pc];
        out->prints_ignored += ks[w]->prints;
    }
    for (uint32_t k = 0; k < m->n_names; k++)
        if (by[k]) {
            v[used] = (emu_mix){scratch_strdup(sc, m->names[k]), by[k]};
            if (!v[used++].name)
                return err_nomem(e);
            out->thread_instructions += by[k];
            out->approximate_instructions += m->name_approx[k] ? by[k] : 0;
        }
    qsort(v, used, sizeof *v, by_name);
    for (uint64_t k = 1; k < used; k++) /* a name may have been entered twice */
        if (strcmp(v[k].name, v[k - 1].name) == 0) {
            v[k].count += v[k - 1].count;
            memmove(v + k - 1, v + k, (used - k) * sizeof *v);
            used--;
            k--;
        }
    out->mix = v;
    out->n_mix = used;
    return RP_OK;
}

rp_code report_build(rp_err *e, emu_report *out, scratch *sc, launch *x, worker **ks, uint32_t n)
{
    record *all = scratch_array(sc, (size_t)MAX_RECORDS * n + 1, sizeof *all);
    if (!all)
        return err_nomem(e);
    uint32_t total = gather(all, ks, n);
    emu_finding *v = scratch_array(sc, total + 1, sizeof *v);
    if (!v)
        return err_nomem(e);
    out->completed = true;
    for (uint32_t k = 0; k < total; k++) {
        if (!fill(sc, &v[k], &all[k], x))
            return err_nomem(e);
        out->completed &= v[k].kind != EMU_FIND_TRAP && v[k].kind != EMU_FIND_RUNAWAY;
    }
    out->findings = v;
    out->n_findings = total;
    out->serial = x->serial;
    out->races_unknown = atomic_load(&x->segments_gone);
    out->warp_instructions = atomic_load(&x->used);
    return mix(e, out, sc, x, ks, n);
}

rp_code report_parameters(rp_err *e, emu_report *out, scratch *sc, const char *kernel, const char *message)
{
    emu_finding *f = scratch_alloc(sc, sizeof *f);
    char *kernel_copy = scratch_strdup(sc, kernel), *text = scratch_strdup(sc, message);
    if (!f || !kernel_copy || !text)
        return err_nomem(e);
    *f = (emu_finding){.kind = EMU_FIND_PARAMETERS,
                       .kernel = kernel_copy,
                       .instruction = "",
                       .file = "",
                       .space = "",
                       .buffer = "",
                       .count = 1,
                       .message = text};
    *out = (emu_report){.n_findings = 1, .findings = f};
    return RP_OK;
}

void emu_finding_text(const emu_finding *f, char *out, size_t out_bytes)
{
    char place[200] = "", thread[120] = "", times[40] = "";
    if (f->kind == EMU_FIND_PARAMETERS) {
        snprintf(out, out_bytes, "%s: %s: %s", f->kernel, emu_find_name(f->kind), f->message);
        return;
    }
    if (f->line)
        snprintf(place, sizeof place, " at %s:%llu (PTX line %llu)", *f->file ? f->file : "?",
                 (unsigned long long)f->line, (unsigned long long)f->ptx_line);
    else
        snprintf(place, sizeof place, " at PTX line %llu", (unsigned long long)f->ptx_line);
    snprintf(thread, sizeof thread, "thread %u,%u,%u of block %u,%u,%u", f->tid[0], f->tid[1], f->tid[2],
             f->ctaid[0], f->ctaid[1], f->ctaid[2]);
    if (f->count > 1)
        snprintf(times, sizeof times, " (%llu times)", (unsigned long long)f->count);
    snprintf(out, out_bytes, "%s: %s%s, %s by %s: %s%s", f->kernel, emu_find_name(f->kind), place,
             f->instruction, thread, f->message, times);
}
