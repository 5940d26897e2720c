/* What `replay-gpu` can be asked. Each returns the exit status: 0 done; 70 when the protocol was broken or an
 * answer could not be written, with one line on stderr. */
#ifndef GPU_CUDA_MODES_H
#define GPU_CUDA_MODES_H

enum { EXIT_ANSWERED = 0, EXIT_BAD_USAGE = 2, EXIT_NO_DEVICE = 4, EXIT_BROKEN = 70 };

/* One phase by gpu/job.h. */
int phase_main(void);
/* {"available": …} on stdout; 4 when there is no device to use. */
int probe_main(void);
/* Source on descriptor 4 to PTX on 6, by the request on 3, answered on 5; needs no device. */
int compile_main(void);
/* The library's answers to a file of calls, as CSV on stdout (docs/resolver-calls.md); 2 when the file is not
 * one, 4 without a device. */
int probe_calls_main(const char *path);

#endif
