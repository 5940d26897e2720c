# The independent capture program. It links nothing of the repository; CUDA_INC, CUDA_LIBDIR and CFLAGS_COMMON come from
# the main Makefile.
capture_src := $(sort $(wildcard tests/capture/*.c))
capture_files := $(sort $(capture_src) tests/capture/capture.h tests/capture/module.mk)

$(B)/tests/capture-sources.inc: $(capture_files)
	@mkdir -p $(@D)
	sha256sum $(capture_files) | sed 's/^\([0-9a-f]*\)  \(.*\)$$/{"\2", "\1"},/' > $@

$(B)/tests/capture: $(capture_files) $(B)/tests/capture-sources.inc
	$(CC) $(CFLAGS_COMMON) -I. -iquote $(B)/tests -isystem $(CUDA_INC) -o $@ $(capture_src) -L$(CUDA_LIBDIR) \
		-Wl,-rpath,/usr/local/cuda/lib64:/usr/local/cuda/lib:/usr/local/cuda/extras/CUPTI/lib64 \
		-lcudart -lcublasLt -lnvrtc -lcupti -lcrypto -lm
