/* A plan of a whole XLA module while it is made: its buffers, nodes and edges, and then its documents. */
#ifndef REPLAY_IMPORT_XLA_NODES_H
#define REPLAY_IMPORT_XLA_NODES_H

#include "replay/import_xla.h"

typedef struct {
    const char *id;
    const xla_value *value;
    bool input, output;
    uint64_t offset, from, to; /* in the arena; in the schedule */
    uint64_t alloc, free;      /* nodes; 0: not yet */
} xla_buffer;

typedef struct {
    const char *port;
    size_t buffer;
    xla_type seen;
} xla_use;

typedef enum { XLA_ALLOC, XLA_FREE, XLA_CALL, XLA_KERNEL } xla_node_kind;

typedef struct {
    xla_node_kind kind;
    size_t buffer; /* of alloc and free; the destination */
    size_t n_uses;
    xla_use *uses;
    xla_type result;
    size_t tie; /* the operand whose place the result takes; SIZE_MAX: none */
    const xla_thunk *thunk;
    xla_call call;
    uint64_t grid[3], block[3], shared_bytes, workspace;
    const char *stem; /* kernels/NNN_name */
} xla_node;

typedef struct {
    uint64_t from, to;
    size_t buffer;
    const char *port;
    bool anti;
} xla_edge;

typedef struct {
    const xla_module *m;
    scratch *sc;
    xla_buffer *buffers;
    xla_node *nodes; /* node i of the plan is nodes[i - 1]; 0 is the input */
    xla_edge *edges;
    uint64_t *base; /* of each allocation in the arena */
    size_t n_buffers, n_nodes, n_edges;
    const xla_value **outputs;
    xla_type *output_types;
    size_t n_outputs;
    uint64_t slab;
    const char *why;
} xla_builder;

typedef struct {
    uint64_t from, to, offset, bytes; /* nodes [from, to) */
    size_t buffer;                    /* none: the workspace of node `from` */
} xla_tenant;

bool xla_launches(const xla_node *n);
/* The buffer of that value, or SIZE_MAX. */
size_t xla_buffer_of(const xla_builder *b, const xla_value *v);
/* Bytes that a range takes: a multiple of 256. */
uint64_t xla_reserved(uint64_t bytes);

/* All documents, held by w. */
RP_MUST rp_code xla_plan_documents(rp_err *e, import_writer *w, const xla_builder *b, const xla_tenant *v,
                                   size_t n);

#endif
