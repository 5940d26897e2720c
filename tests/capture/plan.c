#include "tests/capture/capture.h"

#include <string.h>

uint64_t align256(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static uint64_t bytes_of(const plan_buffer *b)
{
    return b->elements * (b->type == F16 ? 2 : 4);
}

static int add_buffer(plan *p, const plan_buffer *b)
{
    if (p->n_buffers == MAX_BUFFERS)
        fail("a plan has more than %d buffers", MAX_BUFFERS);
    p->buffers[p->n_buffers] = *b;
    return p->n_buffers++;
}

int input_buffer(plan *p, const char *name, uint64_t elements, unsigned fill)
{
    return add_buffer(p, &(plan_buffer){.name = name, .type = F16, .elements = elements, .fill = fill});
}

int output_buffer(plan *p, const char *name, uint64_t elements)
{
    return add_buffer(p, &(plan_buffer){.name = name, .type = F16, .elements = elements});
}

/* The arena ends where its last range ends, rounded up like every range. */
static void add_range(plan *p, const char *name, uint64_t offset, uint64_t bytes)
{
    if (p->n_ranges == MAX_RANGES)
        fail("a plan has more than %d ranges", MAX_RANGES);
    arena_range *r = &p->ranges[p->n_ranges++];
    *r = (arena_range){.offset = offset, .bytes = bytes};
    snprintf(r->name, sizeof r->name, "%s", name);
    uint64_t end = offset + align256(bytes);
    p->slab_bytes = end > p->slab_bytes ? end : p->slab_bytes;
}

int arena_buffer(plan *p, const char *name, number_type type, uint64_t elements, uint64_t offset)
{
    plan_buffer b = {.name = name, .type = type, .elements = elements, .offset = offset, .in_arena = true};
    if (p->n_ranges == 0)
        add_range(p, "parameters", 0, PARAMETER_BYTES);
    add_range(p, name, offset, bytes_of(&b));
    return add_buffer(p, &b);
}

uint64_t behind(const plan *p, int buffer)
{
    return p->buffers[buffer].offset + align256(bytes_of(&p->buffers[buffer]));
}

matrix rows_of(int buffer, uint64_t rows, uint64_t cols)
{
    return (matrix){.buffer = buffer, .rows = rows, .cols = cols, .by_rows = true};
}

matrix columns_of(int buffer, uint64_t rows, uint64_t cols)
{
    return (matrix){.buffer = buffer, .rows = rows, .cols = cols};
}

static plan_step *add_step(plan *p, step_kind kind, uint64_t node)
{
    if (p->n_steps == MAX_STEPS)
        fail("a plan has more than %d steps", MAX_STEPS);
    plan_step *s = &p->steps[p->n_steps++];
    *s = (plan_step){.kind = kind, .node = node, .bias = NONE};
    return s;
}

plan_step *multiply(plan *p, uint64_t node, matrix a, bool trans_a, matrix b, bool trans_b, matrix d,
                    uint64_t workspace_offset)
{
    char name[24];
    plan_step *s = add_step(p, STEP_MATMUL, node);
    s->a = a, s->b = b, s->d = d;
    s->trans_a = trans_a, s->trans_b = trans_b;
    s->workspace_offset = workspace_offset;
    snprintf(name, sizeof name, "workspace@%llu", (unsigned long long)node);
    add_range(p, name, workspace_offset, WORKSPACE_BYTES);
    return s;
}

void launch_kernel(plan *p, uint64_t node, const char *name, int n_arguments, const int arguments[])
{
    plan_step *s = add_step(p, STEP_KERNEL, node);
    if (p->n_kernels == MAX_KERNELS || n_arguments > MAX_ARGUMENTS)
        fail("%s: more kernels or arguments than a plan may have", name);
    s->kernel = p->n_kernels;
    p->kernels[p->n_kernels++] = name;
    s->n_arguments = n_arguments;
    memcpy(s->arguments, arguments, (size_t)n_arguments * sizeof *arguments);
    s->elements = p->buffers[arguments[n_arguments - 1]].elements;
}

void copy_whole(plan *p, uint64_t node, int from, int to)
{
    plan_step *s = add_step(p, STEP_COPY, node);
    s->from = from, s->to = to;
    s->elements = p->buffers[to].elements;
}

void give(plan *p, int buffer, bool transposed, formula value)
{
    if (p->n_outputs == MAX_OUTPUTS)
        fail("a plan has more than %d outputs", MAX_OUTPUTS);
    p->outputs[p->n_outputs++] = (plan_output){buffer, transposed, value};
}

int find_buffer(const plan *p, const char *name)
{
    for (int i = 0; i < p->n_buffers; i++)
        if (strcmp(p->buffers[i].name, name) == 0)
            return i;
    return NONE;
}
