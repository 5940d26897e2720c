/* CUPTI, loaded only by the phases that profile: in the others no profiler is even mapped. */
#ifndef GPU_CUDA_PROFILER_H
#define GPU_CUDA_PROFILER_H

#include "artifacts/base/err.h"
#include "gpu/cuda/phase.h"
#include <cupti.h>

typedef struct {
    __typeof__(&cuptiGetVersion) get_version;
    __typeof__(&cuptiGetResultString) result_string;
    __typeof__(&cuptiSubscribe) subscribe;
    __typeof__(&cuptiEnableCallback) enable_callback;
    __typeof__(&cuptiActivityRegisterCallbacks) register_callbacks;
    __typeof__(&cuptiActivityEnable) enable;
    __typeof__(&cuptiActivityFlushAll) flush_all;
    __typeof__(&cuptiActivityGetNextRecord) next_record;
    __typeof__(&cuptiActivityGetNumDroppedRecords) dropped_records;
} profiler;

/* The one loaded by profiler_load. */
extern profiler prof;

RP_MUST rp_code profiler_load(rp_err *e);
RP_MUST rp_code profiler_ok(rp_err *e, CUptiResult rc, const char *call);
/* As the library says it, lent by sc; "" when it is not loaded. */
const char *profiler_version(scratch *sc);

/* cupti_timeline.c. _begin goes before the first CUDA call; _run records timeline_launches launches of
 * fixture timing.fixture. `e` is the replay's error, `profile` the profiler's. */
RP_MUST rp_code timeline_begin(rp_err *profile);
RP_MUST rp_code timeline_run(rp_err *e, rp_err *profile, phase *p);

/* cubins.c. _begin goes before the first CUDA call; _collect lists what was loaded since and returns the
 * bytes, which follow the outputs in the blob, in *bytes (lent by the scratch). */
RP_MUST rp_code cubins_begin(rp_err *profile);
RP_MUST rp_code cubins_collect(rp_err *e, rp_err *profile, phase *p, span *bytes);

#endif
