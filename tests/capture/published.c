/* What the original's document says of each workload, figure by figure and with its own words for who saw it.
 * Values are text, because they are quoted and not measured. */
#include "tests/capture/capture.h"

#include <string.h>

#define TIMER "the original's replay harness, on one H100"
#define TIMED                                                                                                \
    "uninstrumented fresh process; 10 warm-up calls, 3 pilot calls, 15 blocks; synchronized, resident "      \
    "inputs"
#define REPLAY "frozen-plan replay"
#define PROFILED "instrumented; the table does not say which profiler gave it"
#define SYSTEMS "Nsight Systems, instrumented; a median"
#define TOLD_APART "the two kernels k are told apart by graph node, dependency order and generated source"
#define ARENA "CPU reconstruction of the arena from the retained plan"
#define RESOLVED                                                                                             \
    "plan_call and bind_destination executed on the retained plan on a CPU; not an intercepted API log"
#define SCREEN "expanded search, seed 0: one completed search"
#define HARNESS "the original's harness"
#define DOCUMENT "the document"

typedef struct {
    const char *what, *value, *unit, *scope, *observer, *how;
} figure;

/* clang-format off */
#define SEEN_BY "profilers on one H100"
#define KERNEL_ROW(row, name, name_how, threads, registers, shared, duration) \
    {row " kernel: name", name, "", REPLAY, SEEN_BY, name_how}, \
    {row " kernel: threads per block", threads, "threads", REPLAY, SEEN_BY, PROFILED}, \
    {row " kernel: registers per thread", registers, "registers", REPLAY, SEEN_BY, PROFILED}, \
    {row " kernel: dynamic shared memory", shared, "bytes", REPLAY, SEEN_BY, PROFILED}, \
    {row " kernel: duration", duration, "us", REPLAY, "Nsight Systems on one H100", SYSTEMS}

#define ARENA_ROW(region, offset, bytes) \
    {region ": offset", offset, "bytes", REPLAY, HARNESS, ARENA}, \
    {region ": size", bytes, "bytes", REPLAY, HARNESS, ARENA}
/* clang-format on */

static const figure weight_view_figures[] = {
    {"frozen-plan median, first process", "19.66", "us", "CudaExecutable.execute_external (host wrapper)",
     TIMER, TIMED},
    {"frozen-plan median, second process", "19.04", "us", "CudaExecutable.execute_external (host wrapper)",
     TIMER, TIMED},
    KERNEL_ROW("matrix", "nvjet_hss_64x128_64x8_2x1_v_bz_TNN", "agrees across both profilers", "384", "168",
               "213284", "5.456"),
    KERNEL_ROW("projection cast", "k", TOLD_APART, "256", "16", "0", "3.488"),
    KERNEL_ROW("bias add", "k", TOLD_APART, "256", "16", "0", "3.776"),
    {"kernels per invocation", "3", "kernels", REPLAY, "the GPU timeline",
     "instrumented; exactly these three"},
    {"matrix instruction", "HGMMA.64x64x16.F32", "", REPLAY, "static listing of the captured matrix kernel",
     "the kernel was captured executing on the H100; a static listing is not a count of executed "
     "instructions"},
    ARENA_ROW("parameters", "0", "8"),
    ARENA_ROW("FP32 projection", "256", "4194304"),
    ARENA_ROW("cuBLASLt workspace", "4194560", "33554432"),
    ARENA_ROW("FP16 projection", "4194560", "2097152"),
    {"peak arena storage", "37748992", "bytes", REPLAY, HARNESS, ARENA "; workspace and alignment included"},
    {"A", "stored weight, F16 [1024,768] row-major", "", REPLAY, HARNESS, RESOLVED},
    {"B", "stored input, F16 [1024,768] row-major", "", REPLAY, HARNESS, RESOLVED},
    {"D", "F32 [1024,1024] column-major", "", REPLAY, HARNESS, RESOLVED},
    {"trans_a", "false", "", REPLAY, HARNESS, RESOLVED},
    {"trans_b", "true", "", REPLAY, HARNESS, RESOLVED},
    {"compute type", "CUBLAS_COMPUTE_32F", "", "patched backend", DOCUMENT,
     "stated of the device dispatcher"},
    {"replay phases passed", "5", "phases", REPLAY, HARNESS,
     "each phase matched the original's BufferIR summary, typed-op mapping and generated files byte for "
     "byte"},
    {"fixtures", "7", "fixtures", REPLAY, HARNESS, "applicable fixtures of a workload with bias"},
    {"output checks passed", "35", "checks", REPLAY, HARNESS,
     "five phases of seven fixtures; abs(actual-reference) <= 2e-4 + 2e-3*abs(reference)"},
    {"saturated e-graph", "4086", "nodes", "search", HARNESS, "trace of the semantic graph"},
    {"e-graph after pruning", "3708", "nodes", "search", HARNESS, "trace of the semantic graph"},
    {"F32/F32/F32 matrix sites retained", "2", "sites", "search", HARNESS, "trace of the semantic graph"},
    {"F16/F16/F32 matrix sites retained", "2", "sites", "search", HARNESS, "trace of the semantic graph"},
};

#define GATE "first successful gate"
#define GATED "search and validation of one completed gate"

static const figure gemm_figures[] = {
    {"saturated e-graph", "3732", "nodes", GATE, HARNESS, GATED},
    {"e-graph after pruning", "3354", "nodes", GATE, HARNESS, GATED},
    {"F32/F32/F32 matrix sites", "2", "sites", GATE, HARNESS, GATED},
    {"F16/F16/F32 matrix sites", "2", "sites", GATE, HARNESS, GATED},
    {"distinct plans measured", "8", "plans", GATE, HARNESS, GATED},
    {"retained plans that pass the six applicable fixtures", "8", "plans", GATE, HARNESS, GATED},
    {"of these with native F16 matrix storage", "2", "plans", GATE, HARNESS, GATED},
    {"matrix instruction", "HGMMA.64x64x16.F32 R24, gdesc[UR16].tnspA, R24", "", GATE,
     "instruction capture of a kernel executing on the H100",
     "a static listing is not a count of executed instructions"},
};

#define JOIN_PAIR "paired check of both binaries on one physical GPU"
#define JOINED "retained validation results"

static const figure join_figures[] = {
    {"maximum absolute error", "0.00048828125", "", "ten-workload screen", HARNESS, JOINED},
    {"maximum scaled error, first failing fixture", "1.127", "", "ten-workload screen", HARNESS, JOINED},
    {"maximum scaled error, second failing fixture", "1.196", "", "ten-workload screen", HARNESS, JOINED},
    {"failing fixtures", "random and held_out", "", "ten-workload screen", HARNESS, JOINED},
    {"maximum scaled error of the unpatched backend, first failing fixture", "1.021", "", JOIN_PAIR, HARNESS,
     JOINED},
    {"maximum scaled error of the unpatched backend, second failing fixture", "1.054", "", JOIN_PAIR, HARNESS,
     JOINED},
    {"retained finalists that pass all fixtures, both binaries", "0", "of 16", JOIN_PAIR, HARNESS, JOINED},
};

#define ROWS(a) a, sizeof a / sizeof *a

/* The ten-workload screen, and what else the document says of one of them. */
static const struct {
    const char *workload, *plans, *seconds, *validation;
    const figure *more;
    size_t n_more;
} screen[] = {
    {"bias", "142", "7.82", "Pass", NULL, 0},
    {"gemm", "82", "5.74", "Pass", ROWS(gemm_figures)},
    {"input_scale", "123", "7.96", "Pass", NULL, 0},
    {"output_scale", "147", "8.47", "Pass", NULL, 0},
    {"projection_chain", "113", "7.55", "Pass", NULL, 0},
    {"projection_join", "137", "6.85", "Rejected: numerical tolerance", ROWS(join_figures)},
    {"public_projection", "139", "7.96", "Pass", NULL, 0},
    {"relu", "467", "17.94", "Pass", NULL, 0},
    {"residual", "99", "6.31", "Pass", NULL, 0},
    {"weight_view", "121", "7.49", "Pass", ROWS(weight_view_figures)},
};

static void write_figure(json *j, const figure *f)
{
    json_open(j, NULL, '{');
    json_string(j, "what", f->what);
    json_string(j, "value", f->value);
    json_string(j, "unit", f->unit);
    json_string(j, "scope", f->scope);
    json_seen(j, f->observer, f->how);
    json_close(j, '}');
}

static void write_screen_row(json *j, size_t row)
{
    const figure figures[] = {
        {"distinct plans measured", screen[row].plans, "plans", "ten-workload screen", HARNESS, SCREEN},
        {"search time", screen[row].seconds, "s", "ten-workload screen", HARNESS, SCREEN},
        {"validation", screen[row].validation, "", "ten-workload screen", HARNESS, SCREEN},
        {"matrix types of the selected program", "F16 operands, F32 results", "", "ten-workload screen",
         HARNESS, "parsed library plan of the selected program"},
    };
    for (size_t i = 0; i < screen[row].n_more; i++)
        write_figure(j, &screen[row].more[i]);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        write_figure(j, &figures[i]);
}

static bool is_the_original_choice(const workload *w)
{
    return strcmp(w->name, "weight_view") == 0;
}

void published_write(json *j, const workload *w, bool small)
{
    size_t row = 0, rows = sizeof screen / sizeof *screen;
    while (row < rows && strcmp(screen[row].workload, w->name) != 0)
        row++;
    const char *note =
        "Quoted from the document (digit grouping left out), not measured here; another device, and "
        "library versions that the document does not state. The figures are of the plan that the "
        "original selected for the workload of this name, which the document does not describe.";
    if (is_the_original_choice(w))
        note = "Quoted from the document (digit grouping left out), not measured here; another device, and "
               "library versions that the document does not state.";
    if (small)
        note = "The document describes batch 1024, features 1024, k 768 only: nothing is published for this "
               "size.";
    else if (row == rows)
        note = "The document gives no figure of this plan.";
    json_open(j, "published", '{');
    json_string(j, "source", "Luminal FP16 Backend Repair and H100 Evidence (document)");
    json_string(j, "note", note);
    json_open(j, "figures", '[');
    if (!small && row < rows)
        write_screen_row(j, row);
    json_close(j, ']');
    json_close(j, '}');
}

void original_write(json *j, const workload *w)
{
    const char *note = "The document names the workload. Its formula, the plan, the arena and the launches "
                       "are this repository's reading "
                       "(docs/workloads.md), not the original's choice. This capture is a hand-run of that "
                       "plan by the program named "
                       "under producer; it is not the original's own run, and the generated sources are "
                       "written after its description.";
    if (is_the_original_choice(w))
        note = "The frozen choice (descriptors, arena, launches) is the original's, as its document "
               "describes it. "
               "This capture is a hand-run of that choice on another device by the program named under "
               "producer; it "
               "is not the original's own run, and the generated sources are written after its description.";
    json_open(j, "original", '{');
    json_string(j, "project", "luminal-ai/luminal");
    json_string(j, "commit", "77d3060f01dc9d6f649687cf16a651e3f288aa0c");
    json_string(j, "note", note);
    json_close(j, '}');
}

static const struct {
    const char *what, *reason;
} gaps[] = {
    {"the original's binary digest", "retained by the original, not in the document"},
    {"the original's harness digest", "retained by the original, not in the document"},
    {"the original's patch digest", "the patch is linked from the document, and was not read here"},
    {"the original's implementation signature",
     "said to be equal in both timing processes and both profilers; its value "
     "is not in the document"},
    {"the original's BufferIR summary, typed-op mapping and generated files",
     "retained by the original, not in the document; the files digested here were written after its "
     "description"},
    {"the original run's samples", "the document gives two medians; the samples are not in it"},
    {"the original's device UUID, driver and library versions", "not in the document"},
    {"alpha in the library log", "the library does not print it; 1.0 was passed"},
    {"fields elided from the library log",
     "the library prints an order, a transpose or an epilogue only when it is not "
     "the default"},
    {"the heuristic's preference in the Trace line",
     "the library does not print it there; the workspace limit was set to "
     "33554432 bytes and nothing else"},
    {"instructions", "no disassembler was run; cuBLASLt's machine code was not taken from the process"},
    {"clocks, power and throttle reasons", "not read by this program, which leaves them as they are"},
    {"elements outside the checked sample",
     "at most 4096 elements of an output are compared with the double loop"},
};

static void write_gap(json *j, const char *what, const char *reason)
{
    json_open(j, NULL, '{');
    json_string(j, "what", what);
    json_string(j, "reason", reason);
    json_close(j, '}');
}

void not_observed_write(json *j, const workload *w, bool driver_version_seen, bool trace_seen)
{
    json_open(j, "not_observed", '[');
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        write_gap(j, gaps[i].what, gaps[i].reason);
    if (!is_the_original_choice(w))
        write_gap(j, "the original's own plan for this workload", "not described in the document");
    if (!driver_version_seen)
        write_gap(j, "the driver's release", "libnvidia-ml.so.1 is not there or did not answer");
    if (!trace_seen)
        write_gap(j, "the library's Trace line", "the logger's callback was not given one");
    json_close(j, ']');
}
