/* Looking things up in a module that was read, and checking the dump against itself. */
#include "artifacts/base/ck.h"
#include "artifacts/base/text.h"
#include "replay/import_xla.h"
#include <ctype.h>

const char xla_too_large[] = "the allocations pass 2^53 bytes together";

bool xla_is_call(const xla_instruction *i)
{
    static const char stem[] = "__cublas$lt$matmul";
    return !strncmp(i->target, stem, strlen(stem));
}

const xla_value *xla_value_of(const xla_module *m, const char *name, const char *index)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < m->n_values; i++)
        if (!strncmp(m->values[i].name, name, n) && !strcmp(m->values[i].name + n, index))
            return &m->values[i];
    return NULL;
}

const xla_instruction *xla_instruction_of(const xla_module *m, const char *name)
{
    for (size_t i = 0; i < m->n_instructions; i++)
        if (!strcmp(m->instructions[i].name, name))
            return &m->instructions[i];
    return NULL;
}

static uint64_t life_end(const xla_value *v)
{
    return v->to > v->from ? v->to : v->from + 1;
}

size_t xla_faults(const xla_module *m, scratch *sc)
{
    size_t faults = 0;
    for (size_t i = 0; i < m->n_values; i++) {
        const xla_value *a = &m->values[i];
        if (!ck_inside(a->offset, a->bytes, m->allocations[a->allocation].bytes)) {
            fprintf(stderr, "replay import: %s: %s reaches beyond allocation %llu\n", text_safe(sc, m->name),
                    text_safe(sc, a->name), (unsigned long long)a->allocation);
            faults++;
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            const xla_value *b = &m->values[k];
            if (a->allocation == b->allocation && a->has_life && b->has_life && a->from < life_end(b) &&
                b->from < life_end(a) &&
                ck_inside(b->offset, b->bytes, m->allocations[b->allocation].bytes) &&
                ck_overlap(a->offset, a->bytes, b->offset, b->bytes)) {
                fprintf(stderr, "replay import: %s: %s and %s share bytes while both live\n",
                        text_safe(sc, m->name), text_safe(sc, b->name), text_safe(sc, a->name));
                faults++;
            }
        }
    }
    return faults;
}

/* --- Through bitcasts and tuples. --- */

enum { HOPS_MAX = 64 };

static const xla_value *element_of(const xla_module *m, const xla_instruction *i, int k)
{
    char index[16] = "";
    if (k >= 0)
        snprintf(index, sizeof index, "{%d}", k);
    return xla_value_of(m, i->name, index);
}

const xla_value *xla_result(const xla_module *m, const xla_instruction *i, int k, xla_type *seen)
{
    *seen = i->type;
    for (int hop = 0; i && hop < HOPS_MAX; hop++) {
        bool through = !strcmp(i->opcode, "bitcast") || !strcmp(i->opcode, "get-tuple-element");
        bool tuple = !strcmp(i->opcode, "tuple");
        if (!through && !(tuple && k >= 0)) {
            const xla_value *v = element_of(m, i, k);
            /* Of a tuple only the first element's type is read with the instruction. */
            if (v && k >= 0 && hop == 0)
                *seen = v->type;
            return v;
        }
        size_t at = tuple ? (size_t)k : 0;
        if (at >= i->n_operands || at >= XLA_OPERANDS)
            return NULL;
        k = !strcmp(i->opcode, "get-tuple-element") ? i->index : i->elements[at];
        const char *name = i->operands[at];
        i = xla_instruction_of(m, name);
        if (tuple && i)
            *seen = i->type;
        if (tuple && k >= 0 && i) {
            const xla_value *v = element_of(m, i, k);
            if (v)
                *seen = v->type;
        }
    }
    return NULL;
}

const xla_value *xla_operand(const xla_module *m, const xla_instruction *i, size_t k, xla_type *seen)
{
    const xla_instruction *from =
        k < i->n_operands && k < XLA_OPERANDS ? xla_instruction_of(m, i->operands[k]) : NULL;
    *seen = (xla_type){0};
    return from ? xla_result(m, from, i->elements[k], seen) : NULL;
}

/* --- Layouts. --- */

void xla_strides(const xla_type *t, uint64_t strides[XLA_RANK])
{
    uint64_t step = 1;
    for (uint64_t i = 0; i < t->rank; i++) {
        strides[t->minor_to_major[i]] = step;
        if (!ck_mul_u64(step, t->shape[t->minor_to_major[i]], &step))
            step = UINT64_MAX; /* no plan takes it */
    }
}

void xla_layout(jw *j, const xla_type *t)
{
    uint64_t strides[XLA_RANK];
    bool right = true, left = true;
    for (uint64_t i = 0; i < t->rank; i++) {
        right &= t->minor_to_major[i] == t->rank - 1 - i;
        left &= t->minor_to_major[i] == i;
    }
    xla_strides(t, strides);
    import_layout(j, t->shape, t->rank, right ? "right_major" : "left_major", right || left ? NULL : strides);
}

const char *xla_id(scratch *sc, const char *name)
{
    char *id = scratch_strndup(sc, name, strlen(name) > 64 ? 64 : strlen(name));
    for (char *p = id; p && *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return id;
}
