/* The command line and the order of events: compile, run, capture, time, read the graph, and only then
 * profile. */
#include "tests/capture/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char *workload;
    const char *output; /* NULL: standard output */
    problem size;
    bool bench;
} options;

static _Noreturn void usage(const char *complaint)
{
    fprintf(stderr,
            "capture: %s\n"
            "usage: capture WORKLOAD_DIR --batch N --features M --k K [-o FILE | --bench]\n"
            "  -o FILE   write the capture there instead of to standard output\n"
            "  --bench   print the timing figures alone\n",
            complaint);
    exit(2);
}

/* k stays where sums of the fixture's products are exact in F32; the rest keeps sizes far from overflow. */
static uint64_t extent(const char *text, uint64_t limit)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || value < 1 || value > limit)
        usage("--batch and --features are between 1 and 65536, --k between 1 and 32768");
    return value;
}

static options parse(int argc, char **argv)
{
    options o = {0};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--bench") == 0) {
            o.bench = true;
            continue;
        }
        if (word[0] != '-' && !o.workload) {
            o.workload = argv[i];
            continue;
        }
        if (!value)
            usage("an argument is not known or lacks its value");
        i++;
        if (strcmp(word, "--batch") == 0)
            o.size.batch = extent(value, 65536);
        else if (strcmp(word, "--features") == 0)
            o.size.features = extent(value, 65536);
        else if (strcmp(word, "--k") == 0)
            o.size.k = extent(value, 32768);
        else if (strcmp(word, "-o") == 0)
            o.output = value;
        else
            usage("an argument is not known");
    }
    if (!o.workload || !o.size.batch || !o.size.features || !o.size.k)
        usage("a workload folder, --batch, --features and --k are needed");
    if (o.bench && o.output)
        usage("--bench prints to standard output and takes no -o");
    for (size_t n = strlen(o.workload); n > 1 && o.workload[n - 1] == '/'; n--)
        o.workload[n - 1] = '\0';
    return o;
}

/* These change what cuBLASLt does or says behind the descriptors' back. */
static void refuse_overrides(void)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "CUBLAS", 6) == 0 || strncmp(*e, "NVIDIA_TF32_OVERRIDE", 20) == 0)
            fail("the environment holds %.*s, which changes the library's behaviour: unset it",
                 (int)strcspn(*e, "="), *e);
}

static void need_device(void)
{
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count < 1)
        fail("no CUDA device here: %s",
             status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
    CUDA(cudaSetDevice(0));
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *out = path ? fopen(path, "wb") : stdout;
    if (!out)
        fail("%s: %s", path, strerror(errno));
    if (fwrite(text, 1, bytes, out) != bytes || fflush(out) != 0 || (path && fclose(out) != 0))
        fail("%s: %s", path ? path : "standard output", strerror(errno));
}

static void write_result(const options *o, const capture_record *record)
{
    char *text;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        fail("out of memory");
    if (o->bench)
        record_write_timings(memory, record->timings);
    else
        record_write(memory, record);
    if (fclose(memory) != 0)
        fail("out of memory");
    write_text(o->output, text, bytes);
    free(text);
}

int main(int argc, char **argv)
{
    static kernel kernels[KERNELS];
    static rig r;
    static plan_graph graph;
    static timing timings[SCOPES];
    static activity seen;
    options o = parse(argc, argv);
    refuse_overrides();
    kernels_compile(kernels, o.workload);
    need_device();
    rig_init(&r, &o.size, kernels);

    rig_poison(&r);
    rig_issue(&r);
    rig_check(&r, "first run");
    graph_capture(&graph, &r);
    timings_take(timings, &graph, &r);
    if (!o.bench) {
        graph_read(&graph);
        activity_trace(&seen, &graph, &r);
    }
    write_result(
        &o, &(capture_record){
                .workload = o.workload, .rig = &r, .graph = &graph, .timings = timings, .activity = &seen});
    return 0;
}
