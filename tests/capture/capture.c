/* The command line and the order of events. One process a workload: compile, work out the expected values;
 * then, on the device, run, capture, time, read the graph, and only then profile.
 *
 * Several workloads: the libraries are digested once, before the first process is made. All do their part
 * without the device at the same time; when the last is ready the device is handed from one to the next, so
 * that nothing runs beside a timing. */
#include "tests/capture/capture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FOLDERS = 128 };

typedef struct {
    char *folders[MAX_FOLDERS];
    size_t n;
    const char *output; /* of one workload; NULL: standard output */
    const char *into;   /* a folder for several */
    bool bench, describe;
} options;

typedef struct {
    loaded_library libraries[LIBRARIES];
    char binary_sha256[HEX_DIGEST];
} shared_digests;

static _Noreturn void usage(const char *complaint)
{
    fprintf(stderr,
            "capture: %s\n"
            "usage: capture WORKLOAD_DIR [-o FILE | --bench | --describe]\n"
            "       capture WORKLOAD_DIR… --into DIR\n"
            "  -o FILE     write the capture there instead of to standard output\n"
            "  --into DIR  one process a workload; write DIR/NAME.capture.json, go on after a failure\n"
            "  --bench     print the timing figures alone\n"
            "  --describe  print arena, descriptors and launches; needs no GPU\n",
            complaint);
    exit(2);
}

static options parse(int argc, char **argv)
{
    options o = {0};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--bench") == 0) {
            o.bench = true;
        } else if (strcmp(word, "--describe") == 0) {
            o.describe = true;
        } else if (word[0] != '-') {
            if (o.n == MAX_FOLDERS)
                usage("too many workload folders");
            o.folders[o.n++] = argv[i];
        } else if (strcmp(word, "-o") != 0 && strcmp(word, "--into") != 0) {
            usage("an argument is not known");
        } else if (!value) {
            usage("an argument lacks its value");
        } else {
            *(word[1] == 'o' ? &o.output : &o.into) = value;
            i++;
        }
    }
    if (o.n == 0 || (o.n > 1 && !o.into))
        usage("one workload folder is needed, or several and --into");
    if ((o.output != NULL) + (o.into != NULL) + o.bench + o.describe > 1)
        usage("-o, --into, --bench and --describe exclude one another");
    for (size_t i = 0; i < o.n; i++)
        for (size_t n = strlen(o.folders[i]); n > 1 && o.folders[i][n - 1] == '/'; n--)
            o.folders[i][n - 1] = '\0';
    return o;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
    CUDA(cudaFree(NULL)); /* makes the context */
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *out = path ? fopen(path, "wb") : stdout;
    if (!out)
        fail("%s: %s", path, strerror(errno));
    if (fwrite(text, 1, bytes, out) != bytes || fflush(out) != 0 || (path && fclose(out) != 0))
        fail("%s: %s", path ? path : "standard output", strerror(errno));
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double lap(double *since)
{
    double before = *since;
    *since = seconds_now();
    return *since - before;
}

/* What is worked out before there is a device. */
typedef struct {
    const char *name, *folder;
    const workload *workload;
    bool small;
    plan plan;
    fixture data;
    kernel kernels[MAX_KERNELS];
    file_list files;
} prepared;

static void state_workload(prepared *w, const char *folder)
{
    *w = (prepared){.name = base_name(folder), .folder = folder};
    capturing = w->name;
    w->workload = workload_find(w->name, &w->small);
    if (!w->workload)
        fail("workloads.c states no plan of this name");
    workload_state(&w->plan, w->workload, w->small);
}

static void prepare(prepared *w, const char *folder)
{
    state_workload(w, folder);
    fixture_make(&w->data, &w->plan);
    kernels_compile(w->kernels, &w->plan, folder);
    list_files(folder, &w->files);
}

/* The whole of the device's part, to the finished text. */
static void capture(const prepared *w, const shared_digests *digests, bool bench, const char *output)
{
    static rig r;
    static plan_graph graph;
    static timing timings[SCOPES];
    static activity seen;
    static kernel kernels[MAX_KERNELS];
    double clock = seconds_now(), device, run, timed, profiled;
    char *text;
    size_t bytes;
    memcpy(kernels, w->kernels, sizeof kernels);
    need_device();
    rig_init(&r, &w->plan, &w->data, kernels);
    device = lap(&clock);
    rig_poison(&r);
    rig_issue(&r);
    rig_check(&r, "first run");
    graph_capture(&graph, &r);
    run = lap(&clock);
    timings_take(timings, &graph, &r);
    timed = lap(&clock);
    if (!bench) {
        graph_read(&graph, &w->plan);
        activity_trace(&seen, &graph, &r);
    }
    profiled = lap(&clock);
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        fail("out of memory");
    if (bench)
        record_write_timings(memory, timings);
    else
        record_write(memory, &(capture_record){.name = w->name,
                                               .folder = w->folder,
                                               .workload = w->workload,
                                               .small = w->small,
                                               .plan = &w->plan,
                                               .rig = &r,
                                               .graph = &graph,
                                               .timings = timings,
                                               .activity = &seen,
                                               .files = &w->files,
                                               .libraries = digests->libraries,
                                               .binary_sha256 = digests->binary_sha256});
    if (fclose(memory) != 0)
        fail("out of memory");
    write_text(output, text, bytes);
    free(text);
    fprintf(
        stderr,
        "capture: %s: device %.2f s, first run %.2f s, timing %.2f s, profile %.2f s, record %.2f s; %llu of "
        "%llu checked elements not equal to the bit\n",
        w->name, device, run, timed, profiled, lap(&clock), (unsigned long long)r.inexact,
        (unsigned long long)r.checked);
}

static int describe(const char *folder)
{
    static prepared w;
    static rig r;
    state_workload(&w, folder);
    rig_describe(&r, &w.plan);
    record_describe(stdout, w.name, &r);
    return 0;
}

static void take_digests(shared_digests *out)
{
    double clock = seconds_now();
    find_libraries(out->libraries);
    sha256_file("/proc/self/exe", out->binary_sha256);
    fprintf(stderr, "capture: libraries digested in %.2f s\n", lap(&clock));
}

/* --- Several, one process each. --- */

typedef struct {
    pid_t pid;
    int ready, go; /* our ends of two pipes */
    bool alive;
} child;

static char *output_path(const options *o, const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/%s.capture.json", o->into, base_name(folder)) < 0)
        fail("out of memory");
    return path;
}

/* A byte says that it is ready; a byte, that the device is its own. */
static _Noreturn void child_main(const options *o, const char *folder, const shared_digests *digests,
                                 int ready, int go)
{
    static prepared w;
    char byte = 'r';
    prepare(&w, folder);
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        fail("the first process is gone");
    capture(&w, digests, false, output_path(o, folder));
    exit(0);
}

static void start(child *children, size_t i, const options *o, const shared_digests *digests)
{
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0)
        fail("pipe: %s", strerror(errno));
    fflush(stderr);
    pid_t pid = fork();
    if (pid < 0)
        fail("fork: %s", strerror(errno));
    if (pid == 0) {
        close(ready[0]);
        close(go[1]);
        for (size_t k = 0; k < i; k++) {
            close(children[k].ready);
            close(children[k].go);
        }
        child_main(o, o->folders[i], digests, ready[1], go[0]);
    }
    close(ready[1]);
    close(go[0]);
    children[i] = (child){.pid = pid, .ready = ready[0], .go = go[1]};
}

static bool release(const child *c)
{
    char byte = 'g';
    int status = 0;
    bool told = c->alive && write(c->go, &byte, 1) == 1;
    close(c->go);
    close(c->ready);
    return waitpid(c->pid, &status, 0) == c->pid && told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int capture_all(const options *o)
{
    static child children[MAX_FOLDERS];
    static shared_digests digests;
    double clock = seconds_now(), prepared_s;
    size_t failed = 0;
    bool ok[MAX_FOLDERS];
    char byte;
    signal(SIGPIPE, SIG_IGN);
    take_digests(&digests);
    for (size_t i = 0; i < o->n; i++)
        start(children, i, o, &digests);
    for (size_t i = 0; i < o->n; i++)
        children[i].alive = read(children[i].ready, &byte, 1) == 1;
    prepared_s = lap(&clock);
    for (size_t i = 0; i < o->n; i++)
        failed += !(ok[i] = release(&children[i]));
    fprintf(stderr, "capture: %zu of %zu captured; %.1f s before the device was needed, %.1f s with it\n",
            o->n - failed, o->n, prepared_s, lap(&clock));
    for (size_t i = 0; i < o->n; i++)
        if (!ok[i])
            fprintf(stderr, "capture: FAILED: %s\n", base_name(o->folders[i]));
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    static prepared w;
    static shared_digests digests;
    options o = parse(argc, argv);
    if (o.describe)
        return describe(o.folders[0]);
    refuse_overrides();
    if (o.into)
        return capture_all(&o);
    prepare(&w, o.folders[0]);
    if (!o.bench)
        take_digests(&digests);
    capture(&w, &digests, o.bench, o.output);
    return 0;
}
