#include "gpu/cuda/cu.h"
#include "gpu/cuda/intercept.h"
#include "gpu/cuda/phase.h"
#include <stdio.h>

enum { MAX_NODES = 1 << 20, MAX_NESTING = 4 };

/* A growing list in the scratch; a child graph's nodes stand in its place. */
typedef struct {
    phase *p;
    result_node *nodes;
    uint64_t n, cap;
} readback;

static rp_code capture(rp_err *e, phase *p)
{
    if (cu_ok(e, cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture"))
        return e->code;
    rp_code rc = launch_all(e, p);
    /* A capture is ended even when a launch failed; the first error stays. */
    cudaError_t ended = cudaStreamEndCapture(p->stream, &p->graph);
    if (rc || cu_ok(e, ended, "cudaStreamEndCapture"))
        return e->code;
    return cu_ok(e, cudaGraphInstantiate(&p->exec, p->graph, 0), "cudaGraphInstantiate");
}

/* One block a cluster is no cluster. */
static void set_cluster(result_node *n, uint64_t x, uint64_t y, uint64_t z)
{
    bool none = x <= 1 && y <= 1 && z <= 1;
    n->cluster[0] = none ? 0 : x;
    n->cluster[1] = none ? 0 : y;
    n->cluster[2] = none ? 0 : z;
}

static rp_code read_kernel(rp_err *e, readback *rb, result_node *out, cudaGraphNode_t node)
{
    const driver *d = &rb->p->drv;
    CUDA_KERNEL_NODE_PARAMS_v2 k = {0};
    CUfunction f;
    cudaLaunchAttributeValue v = {0};
    const char *name = NULL;
    int registers = 0;
    if (driver_ok(e, d, d->kernel_node_params(node, &k), "cuGraphKernelNodeGetParams"))
        return e->code;
    f = k.func;
    if (!f && driver_ok(e, d, d->kernel_function(&f, k.kern), "cuKernelGetFunction"))
        return e->code;
    if (driver_ok(e, d, d->func_name(&name, f), "cuFuncGetName") ||
        driver_ok(e, d, d->func_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f),
                  "cuFuncGetAttribute NUM_REGS") ||
        cu_ok(e, cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeClusterDimension, &v),
              "cudaGraphKernelNodeGetAttribute ClusterDimension"))
        return e->code;
    *out = (result_node){
        .kind = RESULT_NODE_KERNEL,
        .name = scratch_strdup(rb->p->sc, name ? name : ""),
        .grid = {k.gridDimX, k.gridDimY, k.gridDimZ},
        .block = {k.blockDimX, k.blockDimY, k.blockDimZ},
        .dynamic_shared_bytes = k.sharedMemBytes,
        .registers = (uint64_t)registers,
    };
    set_cluster(out, v.clusterDim.x, v.clusterDim.y, v.clusterDim.z);
    if (!out->cluster[0]) {
        /* A kernel may also be compiled for one cluster size. */
        int x = 0, y = 0, z = 0;
        if (driver_ok(e, d, d->func_attribute(&x, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, f),
                      "cuFuncGetAttribute REQUIRED_CLUSTER_WIDTH") ||
            driver_ok(e, d, d->func_attribute(&y, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, f),
                      "cuFuncGetAttribute REQUIRED_CLUSTER_HEIGHT") ||
            driver_ok(e, d, d->func_attribute(&z, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, f),
                      "cuFuncGetAttribute REQUIRED_CLUSTER_DEPTH"))
            return e->code;
        set_cluster(out, (uint64_t)x, (uint64_t)y, (uint64_t)z);
    }
    return out->name ? RP_OK : err_nomem(e);
}

static rp_code read_memcpy(rp_err *e, result_node *out, cudaGraphNode_t node)
{
    struct cudaMemcpy3DParms c = {0};
    if (cu_ok(e, cudaGraphMemcpyNodeGetParams(node, &c), "cudaGraphMemcpyNodeGetParams"))
        return e->code;
    *out = (result_node){.kind = RESULT_NODE_MEMCPY,
                         .name = "",
                         .bytes = (uint64_t)c.extent.width * (c.extent.height ? c.extent.height : 1) *
                                  (c.extent.depth ? c.extent.depth : 1)};
    return RP_OK;
}

/* The next place of the list, or NULL with the error set. */
static result_node *add(rp_err *e, readback *rb)
{
    if (rb->n == rb->cap) {
        uint64_t cap = rb->cap ? rb->cap * 2 : 64;
        result_node *more = cap > MAX_NODES ? NULL : scratch_array(rb->p->sc, cap, sizeof *more);
        if (!more) {
            err_nomem(e);
            return NULL;
        }
        if (rb->n)
            memcpy(more, rb->nodes, rb->n * sizeof *more);
        rb->nodes = more;
        rb->cap = cap;
    }
    return &rb->nodes[rb->n++];
}

static rp_code read_graph(rp_err *e, readback *rb, cudaGraph_t graph, unsigned depth);

static rp_code read_node(rp_err *e, readback *rb, cudaGraphNode_t node, unsigned depth)
{
    enum cudaGraphNodeType type;
    if (cu_ok(e, cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType"))
        return e->code;
    if (type == cudaGraphNodeTypeGraph) {
        cudaGraph_t child;
        if (cu_ok(e, cudaGraphChildGraphNodeGetGraph(node, &child), "cudaGraphChildGraphNodeGetGraph"))
            return e->code;
        return read_graph(e, rb, child, depth + 1);
    }
    result_node *out = add(e, rb);
    if (!out)
        return e->code;
    if (type == cudaGraphNodeTypeKernel)
        return read_kernel(e, rb, out, node);
    if (type == cudaGraphNodeTypeMemcpy)
        return read_memcpy(e, out, node);
    *out = (result_node){.kind = RESULT_NODE_OTHER, .name = scratch_printf(rb->p->sc, "type %d", (int)type)};
    return out->name ? RP_OK : err_nomem(e);
}

/* From the one root along the one edge that leaves each node: anything but a chain that meets every node is
 * refused. */
static rp_code read_graph(rp_err *e, readback *rb, cudaGraph_t graph, unsigned depth)
{
    size_t total = 0, n = 0, seen = 0;
    cudaGraphNode_t node;
    if (depth > MAX_NESTING)
        return err_set(e, RP_WORKER, "the graph: expected at most %d levels", MAX_NESTING);
    if (cu_ok(e, cudaGraphGetNodes(graph, NULL, &total), "cudaGraphGetNodes") ||
        cu_ok(e, cudaGraphGetRootNodes(graph, NULL, &n), "cudaGraphGetRootNodes"))
        return e->code;
    if (!total)
        return RP_OK;
    if (n != 1)
        return err_set(e, RP_WORKER, "the graph: expected a chain with one root, found %zu roots", n);
    if (cu_ok(e, cudaGraphGetRootNodes(graph, &node, &n), "cudaGraphGetRootNodes"))
        return e->code;
    for (;;) {
        cudaGraphEdgeData edge;
        if (read_node(e, rb, node, depth))
            return e->code;
        seen++;
        n = 0;
        if (cu_ok(e, cudaGraphNodeGetDependentNodes(node, NULL, NULL, &n), "cudaGraphNodeGetDependentNodes"))
            return e->code;
        if (!n)
            break;
        if (n != 1 || seen == total)
            return err_set(e, RP_WORKER, "the graph: expected a chain, found %zu nodes after node %zu", n,
                           seen - 1);
        if (cu_ok(e, cudaGraphNodeGetDependentNodes(node, &node, &edge, &n),
                  "cudaGraphNodeGetDependentNodes"))
            return e->code;
    }
    if (seen != total)
        return err_set(e, RP_WORKER, "the graph: expected a chain of all %zu nodes, found %zu on it", total,
                       seen);
    return RP_OK;
}

rp_code graph_build(rp_err *e, phase *p)
{
    readback rb = {.p = p};
    if (intercept_begin(e))
        return e->code;
    rp_code rc = capture(e, p);
    rp_err late = {0};
    if (intercept_end(&late, &p->r->library_log, p->sc) && !rc)
        *e = late;
    if (e->code || read_graph(e, &rb, p->graph, 0))
        return e->code;
    p->r->graph = rb.nodes;
    p->r->n_graph = rb.n;
    return RP_OK;
}

rp_code graph_run(rp_err *e, const phase *p, const char *what)
{
    if (cu_ok(e, cudaGraphLaunch(p->exec, p->stream), "cudaGraphLaunch for %.64s", what))
        return e->code;
    return cu_ok(e, cudaStreamSynchronize(p->stream), "cudaStreamSynchronize after the graph for %.64s",
                 what);
}
