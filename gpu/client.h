/* Starting workers: `replay` never touches a device itself. */
#ifndef GPU_CLIENT_H
#define GPU_CLIENT_H

#include "artifacts/base/err.h"
#include "artifacts/base/scratch.h"
#include "artifacts/base/span.h"
#include "gpu/result.h"

/* The worker program: $REPLAY_GPU where set, else `replay-gpu` beside this executable. NULL when out of
 * memory. */
const char *client_gpu_path(scratch *sc);

/* The emulator: $REPLAY_EMU where set, else `replay-emu` beside this executable. NULL when out of memory. */
const char *client_emu_path(scratch *sc);

/* The environment a worker gets, NULL-terminated: CUDA_CACHE_DISABLE=1 and, where set, the few allowed names.
 * Lent by sc. */
const char *const *client_environment(scratch *sc);

typedef struct {
    bool available;
    const char *reason; /* why not, "" when available */
    const char *device_name, *compute_capability, *driver, *cublaslt, *nvrtc, *runtime;
} client_device;

/* Ask the worker what is there. No worker program: RP_UNAVAILABLE; no device is an answer. */
RP_MUST rp_code client_probe(rp_err *e, client_device *out, scratch *sc, const char *worker);

typedef struct {
    span result_text;
    result *result;
    int output_fd;        /* the output blob, owned by the caller; -1 on failure */
    const char *err_text; /* the worker's stderr as kept */
    int exit_code, signal;
    bool timed_out;
} client_phase;

/* One phase in a fresh process. `data_fd` is the data blob. A crash, hang, bad exit, broken or foreign
 * result: RP_WORKER, with what is known in *out. result_text, result and err_text are lent by sc. */
RP_MUST rp_code client_run(rp_err *e, client_phase *out, scratch *sc, const char *worker, span job_text,
                           int data_fd, uint64_t deadline_ms);

/* Compile one source in the worker's sandbox: *answer is its "replay-compiled/0" document, *ptx what came out
 * (empty when it did not compile). `trusted`: the bundle is pinned or signed, so that it may be compiled
 * where there is no sandbox. RP_UNAVAILABLE: no worker or no compiler; RP_WORKER: it broke. */
RP_MUST rp_code client_compile(rp_err *e, span *answer, span *ptx, scratch *sc, const char *worker,
                               bool trusted, const char *name, span source, const char *const *options,
                               uint64_t n_options);

#endif
