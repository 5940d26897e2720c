#include "tests/capture/capture.h"

#include <cuda.h>
#include <string.h>

/* The driver's functions are asked for by name and version, so that the program starts, and can say so, on a
 * machine with no driver. */
typedef struct {
    CUresult (*node_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *);
    CUresult (*node_attribute)(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue *);
    CUresult (*kernel_function)(CUfunction *, CUkernel);
    CUresult (*kernel_name)(const char **, CUkernel);
    CUresult (*function_name)(const char **, CUfunction);
    CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
} driver_api;

static void check_driver(CUresult status, const char *call, int line)
{
    if (status != CUDA_SUCCESS)
        fail("%s:%d: %s: CUresult %d", __FILE__, line, call, (int)status);
}
#define DRIVER(call) check_driver((call), #call, __LINE__)

static void find_symbol(void *slot, const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult answer;
    void *symbol = NULL;
    CUDA(cudaGetDriverEntryPointByVersion(name, &symbol, version, cudaEnableDefault, &answer));
    if (answer != cudaDriverEntryPointSuccess || !symbol)
        fail("the driver has no %s of version %u", name, version);
    memcpy(slot, &symbol, sizeof symbol);
}

static void driver_find(driver_api *d)
{
    find_symbol(&d->node_params, "cuGraphKernelNodeGetParams", 12000);
    find_symbol(&d->node_attribute, "cuGraphKernelNodeGetAttribute", 12000);
    find_symbol(&d->kernel_function, "cuKernelGetFunction", 12000);
    find_symbol(&d->kernel_name, "cuKernelGetName", 12030);
    find_symbol(&d->function_name, "cuFuncGetName", 12030);
    find_symbol(&d->function_attribute, "cuFuncGetAttribute", 12000);
}

/* The callback has no context argument of its own. */
static char *trace_out;
static size_t trace_bytes;

/* A file log would print "[time][cublasLt][pid][Trace][function] message"; time and pid say nothing about the
 * call. Only the Trace line of a matmul prints all of its descriptors together with the algorithm. */
static void keep_trace(int level, const char *function, const char *message)
{
    (void)level;
    if (trace_out[0] || !strstr(message, "Adesc=[") || !strstr(message, "algo=["))
        return;
    while (*message == '[' && strchr(message, ']'))
        message = strchr(message, ']') + 1;
    while (*message == ' ')
        message++;
    snprintf(trace_out, trace_bytes, "[cublasLt][Trace][%s] %s", function, message);
    trace_out[strcspn(trace_out, "\r\n")] = '\0';
}

static void issue_logged(rig *r, int step)
{
    matmul *mm = &r->calls[step];
    trace_out = mm->trace;
    trace_bytes = sizeof mm->trace;
    LT(cublasLtLoggerSetCallback(keep_trace));
    LT(cublasLtLoggerSetLevel(5));
    rig_issue_step(r, step);
    LT(cublasLtLoggerSetLevel(0));
    if (!mm->trace[0])
        fprintf(stderr, "capture: %s: warning: the library logged no Trace line for the call of node %llu\n",
                capturing, (unsigned long long)r->plan->steps[step].node);
}

/* Dependencies and edge data are asked for although only the graph is wanted: without room for them the call
 * refuses programmatic edges. */
static size_t nodes_so_far(rig *r)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;
    const cudaGraphNode_t *dependencies;
    const cudaGraphEdgeData *edges;
    size_t nodes = 0, count = 0;
    CUDA(cudaStreamGetCaptureInfo(r->stream, &status, NULL, &graph, &dependencies, &edges, &count));
    if (status != cudaStreamCaptureStatusActive || !graph)
        fail("the stream is not being captured any more");
    CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    return nodes;
}

/* The nodes are counted after each step, so that it is known which step made which, whatever the library
 * launches. */
void graph_capture(plan_graph *g, rig *r)
{
    *g = (plan_graph){0};
    CUDA(cudaStreamBeginCapture(r->stream, cudaStreamCaptureModeThreadLocal));
    rig_issue_parameters(r);
    for (int i = 0; i < r->plan->n_steps; i++) {
        if (r->plan->steps[i].kind == STEP_MATMUL)
            issue_logged(r, i);
        else
            rig_issue_step(r, i);
        g->ends[i] = nodes_so_far(r);
    }
    CUDA(cudaStreamEndCapture(r->stream, &g->graph));
    CUDA(cudaGraphInstantiate(&g->exec, g->graph, 0));
}

/* Edge data is asked for although only order is wanted: without room for it the call refuses programmatic
 * edges. */
static bool next_node(cudaGraphNode_t node, cudaGraphNode_t *next)
{
    cudaGraphNode_t found[MAX_NODES];
    cudaGraphEdgeData edges[MAX_NODES];
    size_t count = 0;
    CUDA(cudaGraphNodeGetDependentNodes(node, NULL, NULL, &count));
    if (count > 1)
        fail("the graph is not one chain: a node has %zu dependents", count);
    if (count == 0)
        return false;
    count = MAX_NODES;
    CUDA(cudaGraphNodeGetDependentNodes(node, found, edges, &count));
    *next = found[0];
    return true;
}

static void read_copy(graph_node *out, cudaGraphNode_t node)
{
    struct cudaMemcpy3DParms p;
    CUDA(cudaGraphMemcpyNodeGetParams(node, &p));
    out->kind = p.kind == cudaMemcpyHostToDevice     ? "host_to_device"
                : p.kind == cudaMemcpyDeviceToDevice ? "device_to_device"
                : p.kind == cudaMemcpyDefault        ? "default"
                                                     : "other";
    out->bytes =
        p.extent.width * (p.extent.height ? p.extent.height : 1) * (p.extent.depth ? p.extent.depth : 1);
}

static void read_fill(graph_node *out, cudaGraphNode_t node)
{
    struct cudaMemsetParams p;
    CUDA(cudaGraphMemsetNodeGetParams(node, &p));
    out->kind = "memset";
    out->bytes = p.width * p.elementSize * (p.height ? p.height : 1);
}

static uint64_t function_attribute(const driver_api *d, CUfunction f, CUfunction_attribute which)
{
    int value = 0;
    DRIVER(d->function_attribute(&value, which, f));
    if (value < 0)
        fail("the driver gives %d for function attribute %d", value, (int)which);
    return (uint64_t)value;
}

/* A cluster is either set at the launch or fixed when the kernel was compiled; neither is a cluster of one
 * block. */
static void read_cluster(const driver_api *d, graph_node *out, CUgraphNode node, CUfunction f)
{
    CUlaunchAttributeValue launch;
    memset(&launch, 0, sizeof launch);
    DRIVER(d->node_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &launch));
    uint64_t cluster[3] = {launch.clusterDim.x, launch.clusterDim.y, launch.clusterDim.z};
    if (cluster[0] == 0) {
        cluster[0] = function_attribute(d, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
        cluster[1] = function_attribute(d, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
        cluster[2] = function_attribute(d, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    }
    for (int i = 0; i < 3; i++)
        out->graph_cluster[i] = cluster[i] ? cluster[i] : 1;
}

static void read_kernel(const driver_api *d, graph_node *out, cudaGraphNode_t node)
{
    CUDA_KERNEL_NODE_PARAMS_v2 p;
    const char *name = NULL;
    memset(&p, 0, sizeof p);
    DRIVER(d->node_params(node, &p));
    CUfunction f = p.func;
    if (!f)
        DRIVER(d->kernel_function(&f, p.kern));
    if (p.kern)
        DRIVER(d->kernel_name(&name, p.kern));
    else
        DRIVER(d->function_name(&name, f));
    if (!name || strlen(name) >= sizeof out->name)
        fail("a kernel's name is missing or has %zu characters or more", sizeof out->name);
    memcpy(out->name, name, strlen(name) + 1);
    out->grid[0] = p.gridDimX, out->grid[1] = p.gridDimY, out->grid[2] = p.gridDimZ;
    out->block[0] = p.blockDimX, out->block[1] = p.blockDimY, out->block[2] = p.blockDimZ;
    out->dynamic_shared_bytes = p.sharedMemBytes;
    out->registers_driver = function_attribute(d, f, CU_FUNC_ATTRIBUTE_NUM_REGS);
    read_cluster(d, out, node, f);
}

static void read_node(const driver_api *d, graph_node *out, cudaGraphNode_t node)
{
    enum cudaGraphNodeType type;
    CUDA(cudaGraphNodeGetType(node, &type));
    out->is_kernel = type == cudaGraphNodeTypeKernel;
    if (type == cudaGraphNodeTypeKernel)
        read_kernel(d, out, node);
    else if (type == cudaGraphNodeTypeMemcpy)
        read_copy(out, node);
    else if (type == cudaGraphNodeTypeMemset)
        read_fill(out, node);
    else
        fail("the graph holds a node of type %d, which this program cannot describe", (int)type);
}

static bool fits(const graph_node *n, const plan_step *s)
{
    switch (s->kind) {
    case STEP_MATMUL: /* whatever the library launches, kernels and fills */
        return !n->is_kernel || strcmp(n->name, "k") != 0;
    case STEP_KERNEL:
        return n->is_kernel && strcmp(n->name, "k") == 0;
    default:
        return !n->is_kernel;
    }
}

/* Generated kernels are all named k: the order of capture tells them apart. The chain holds the nodes in that
 * order; a step of ours makes one node. */
static void assign_plan_nodes(plan_graph *g, const plan *p)
{
    size_t at = 1; /* behind the parameters */
    if (g->count == 0 || g->nodes[0].is_kernel)
        fail("the graph should begin with the copy of the parameters");
    for (int i = 0; i < p->n_steps; i++) {
        const plan_step *s = &p->steps[i];
        size_t made = g->ends[i] > at ? g->ends[i] - at : 0, kernels = 0;
        for (size_t k = 0; k < made; k++, at++) {
            if (at >= g->count || !fits(&g->nodes[at], s))
                fail("the graph's node %zu is not what node %llu of the plan launches", at,
                     (unsigned long long)s->node);
            g->nodes[at].plan_node = s->node;
            kernels += g->nodes[at].is_kernel;
        }
        if (s->kind == STEP_MATMUL ? kernels == 0 : made != 1)
            fail("node %llu of the plan made %zu nodes of the graph", (unsigned long long)s->node, made);
        g->kernels += kernels;
    }
    if (at != g->count)
        fail("the graph holds %zu nodes, of which the plan's steps made %zu", g->count, at);
}

void graph_read(plan_graph *g, const plan *p)
{
    driver_api driver;
    cudaGraphNode_t node;
    size_t roots = 0, nodes = 0;
    driver_find(&driver);
    CUDA(cudaGraphGetRootNodes(g->graph, NULL, &roots));
    CUDA(cudaGraphGetNodes(g->graph, NULL, &nodes));
    if (roots != 1 || nodes > MAX_NODES)
        fail("one chain of at most %d nodes was expected, found %zu nodes with %zu roots", MAX_NODES, nodes,
             roots);
    CUDA(cudaGraphGetRootNodes(g->graph, &node, &roots));
    do {
        read_node(&driver, &g->nodes[g->count++], node);
    } while (g->count < MAX_NODES && next_node(node, &node));
    if (g->count != nodes)
        fail("the graph is not one chain: %zu of its %zu nodes were reached", g->count, nodes);
    assign_plan_nodes(g, p);
}
