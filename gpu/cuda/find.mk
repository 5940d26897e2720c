# Where CUDA is, for replay-gpu alone, and how that program is linked. Included by the top Makefile.
#
# $CUDA_HOME, /usr/local/cuda, or else the nvidia-* Python wheels (no development links there, so libraries are named by
# file). CUDA_INC is empty when there is none, and then replay-gpu is not built. Never links libcuda: the program also
# starts, and says so, on a machine that has no driver. CUPTI is loaded when a phase profiles, so only its header counts.

.DEFAULT_GOAL := all

CUDA_ROOT := $(firstword $(foreach d,$(CUDA_HOME) /usr/local/cuda,$(if $(wildcard $(d)/include/cuda_runtime_api.h),$(d))))

ifneq ($(CUDA_ROOT),)
CUDA_INC_DIRS := $(CUDA_ROOT)/include $(wildcard $(CUDA_ROOT)/extras/CUPTI/include)
CUDA_LIB_DIRS := $(firstword $(wildcard $(CUDA_ROOT)/lib64 $(CUDA_ROOT)/lib)) $(wildcard $(CUDA_ROOT)/extras/CUPTI/lib64)
CUDA_LIBS := -lcudart -lcublasLt -lnvrtc
else
# Folders of the wheels named $(1): nvidia/cu13/lib, or nvidia/cublas/lib and its like.
cuda_wheels = $(shell $(PYTHON) -c 'import glob, os, nvidia; print(*sorted(d for p in nvidia.__path__ \
	for d in glob.glob(os.path.join(p, "*", "$(1)")) if os.path.isdir(d)))' 2>/dev/null)
cuda_so = $(firstword $(foreach d,$(CUDA_LIB_DIRS),$(notdir $(wildcard $(d)/lib$(1).so.[0-9]*))))
CUDA_INC_DIRS := $(call cuda_wheels,include)
CUDA_LIB_DIRS := $(call cuda_wheels,lib)
CUDA_LIBS := $(foreach l,cudart cublasLt nvrtc,$(addprefix -l:,$(call cuda_so,$(l))))
# All of it, or nothing.
cuda_have := $(foreach h,cuda_runtime_api.h crt/host_defines.h nv/target cublasLt.h nvrtc.h cupti.h,$(firstword $(wildcard $(addsuffix /$(h),$(CUDA_INC_DIRS)))))
ifneq ($(words $(cuda_have) $(CUDA_LIBS)),9)
CUDA_INC_DIRS :=
endif
endif

CUDA_ISYSTEM := $(addprefix -isystem ,$(CUDA_INC_DIRS))
# The same as what follows one -isystem; empty means no CUDA.
cuda_sp := $(subst ,, )
CUDA_INC := $(subst $(cuda_sp), -isystem ,$(strip $(CUDA_INC_DIRS)))
CUDA_LIBDIR := $(firstword $(CUDA_LIB_DIRS))

# Beside the program first (`make carry`), then where toolkits are, then where this one was found.
CUDA_RPATH := $$ORIGIN/lib /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/cuda/extras/CUPTI/lib64
CUDA_RPATH += $(filter-out $(CUDA_RPATH),$(CUDA_LIB_DIRS))
CUDA_LINK := $(addprefix -L,$(CUDA_LIB_DIRS)) $(CUDA_LIBS) $(foreach d,$(CUDA_RPATH),'-Wl,-rpath,$(d)')

cuda_obj := $(patsubst %.c,$(B)/obj/%.o,$(wildcard gpu/cuda/*.c gpu/*.c artifacts/base/*.c))
$(B)/replay-gpu: $(cuda_obj)
	$(call say,LD) $(CC) $(CFLAGS_ALL) -o $@ $^ $(LDFLAGS) $(CUDA_LINK) -lcjson -lcrypto -lm

# So that the build runs on a machine that lacks this library: a plain file by its soname.
carry:
	@mkdir -p $(B)/lib
	cp -L $$(dirname $$($(CC) -print-file-name=libcjson.so))/libcjson.so.? $(B)/lib/
.PHONY: carry
