# replay: build, test and check. `make help` lists the targets; tests/README.md says what each tier holds.
#
#   B=build           where everything is built; another folder for another configuration
#   CC=gcc            or clang
#   CFLAGS, LDFLAGS   added to ours
#   V=1               whole command lines
#   SAN               sanitizer flags, instead of _FORTIFY_SOURCE
#   CUDA_HOME         a CUDA toolkit; otherwise /usr/local/cuda, or the nvidia-* wheels that $(PYTHON) finds
B ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
PYTHON ?= python3
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14) clang-format)
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

OPT ?= -O2
BASE_CFLAGS = -std=c17 -D_GNU_SOURCE -I. -g $(OPT) -ffp-contract=off -fno-strict-aliasing -fstack-protector-strong \
	-ffile-prefix-map=$(CURDIR)=. -pthread $(if $(SAN),-fno-omit-frame-pointer,-D_FORTIFY_SOURCE=2)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings
CFLAGS_ALL = $(BASE_CFLAGS) $(WARN) $(CFLAGS) $(SAN)
CFLAGS_COMMON = $(CFLAGS_ALL)
LIBS := -lcjson -lzstd -lcrypto -lm

include gpu/cuda/find.mk
include tests/capture/module.mk

rooms := artifacts/base artifacts plan arena verify gpu replay
lib_src := $(filter-out replay/main.c,$(wildcard $(addsuffix /*.c,$(rooms))))
gpu_src := $(wildcard gpu/cuda/*.c)
emu_src := $(filter-out gpu/emu/main.c,$(wildcard gpu/emu/*.c))
test_src := $(filter-out tests/fake_worker.c,$(wildcard tests/*.c $(patsubst %,tests/%/*.c,$(rooms) gpu/emu)))
fuzz_names := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
bench_names := $(patsubst tests/bench/%.c,%,$(wildcard tests/bench/*.c))
workloads := $(notdir $(patsubst %/,%,$(sort $(wildcard artifacts/workloads/*/))))

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
lib := $(B)/libreplay.a
emu_obj := $(call obj,$(emu_src))
corpora := $(fuzz_names:%=$(B)/tests/corpus-%)
fuzzers := $(fuzz_names:%=$(B)/tests/fuzz-%)
FUZZ ?= $(fuzz_names)
benches := $(bench_names:%=$(B)/tests/bench-%)
bundles := $(workloads:%=$(B)/bundles/%.tar.zst)
fuzz_obj := $(call obj,$(wildcard tests/fuzz/*.c))
objects := $(call obj,$(lib_src) $(emu_src) replay/main.c gpu/emu/main.c $(test_src) tests/fake_worker.c tests/interop/read_safetensors.c $(wildcard tests/hostile/*.c) \
	$(bench_names:%=tests/bench/%.c)) $(fuzz_obj)
cuda_objects := $(call obj,$(gpu_src) $(capture_src))
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $@ &&)
link = $(call say,LD) $(CC) $(CFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS)
no_cuda = echo 'note: no CUDA found (CUDA_HOME, /usr/local/cuda, wheels of $(PYTHON)): $(1) is left out'

all: $(B)/replay $(B)/replay-emu $(if $(CUDA_INC),$(B)/replay-gpu) ## build/replay, build/replay-emu, and build/replay-gpu where CUDA is found
	@$(if $(CUDA_INC),:,$(call no_cuda,replay-gpu))

capture: $(if $(CUDA_INC),$(B)/tests/capture) ## the independent capture program (tests/capture)
	@$(if $(CUDA_INC),:,$(call no_cuda,the capture program))

bundles: $(bundles) ## every artifacts/workloads/NAME, packed into build/bundles

demo: ## install what is missing, build, and show each question answered (without a GPU, all but the run)
	@tests/packages.sh build
	@$(MAKE) --no-print-directory all bundles
	@tests/demo.sh $(B)

check: check-programs bundles ## unit tests, fuzz corpora, command line; no GPU needed
	@tests/check.sh $(B) $(B)/bundles

check-long: check-programs bundles ptx-check ## check, its slow variants, and the comparisons with NumPy
	@REPLAY_FULL=1 tests/check.sh $(B) $(B)/bundles
	$(PYTHON) tests/verify/check_numpy.py
	@MAKE='$(MAKE)' tests/fma_roots.sh $(B)

check-interop: $(B)/replay $(B)/tests/read-safetensors bundles ## envelopes, statements, JSON and safetensors against the Python packages of those formats
	@tests/packages.sh interop
	build/interop/bin/python tests/interop/check_interop.py $(B) $(B)/bundles

check-gpu: all bundles ## every bundle run, audited and compared on a GPU; skipped where there is none
	@tests/check_gpu.sh $(B)

ptx-check: all bundles ## compile every kernel again and compare with the retained PTX and its record; needs CUDA, no GPU
	@$(if $(CUDA_INC),tests/ptx_check.sh $(B),$(call no_cuda,recompilation))

lint: ## strict warnings of two compilers, headers alone, layering, banned calls, format
	@MAKE='$(MAKE)' B='$(B)' CLANG_FORMAT='$(CLANG_FORMAT)' CUDA_ISYSTEM='$(CUDA_ISYSTEM)' tests/lint.sh

# The programs are sanitized, the bundles given to them are not built by them: that alone would take minutes.
asan: bundles ## check under AddressSanitizer and UndefinedBehaviorSanitizer, unsigned overflow included (clang)
	@$(MAKE) --no-print-directory B=$(B)/asan CC=clang OPT=-O1 CUDA_ROOT= PYTHON=false \
		SAN='-fsanitize=address,undefined,unsigned-integer-overflow -fno-sanitize-recover=all' check-programs
	@REPLAY_SANITIZED=1 tests/check.sh $(B)/asan $(B)/bundles

fuzz: ## every fuzz harness (or FUZZ='json store') for FUZZ_SECONDS (60) of processor time each (clang); finds and totals.txt go to build/fuzz
	@$(MAKE) --no-print-directory B=$(B)/fuzz CC=clang OPT=-O1 CUDA_ROOT= PYTHON=false \
		SAN='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' fuzz-run

bench: $(benches) bundles ## tests/bench/*.c, one after the other (those on a GPU are run by hand)
	@for b in $(benches); do echo "== $$b"; REPLAY_BUNDLES=$(B)/bundles $$b || exit 1; done

test-one: $(B)/tests/unit ## the unit tests that T names: make test-one T='resolve/*'
	$(B)/tests/unit --verbose --filter '$(T)'

format: ## clang-format over every source, in place
	$(CLANG_FORMAT) -i $(format_src)

format-check: ## the same, only asked
	$(CLANG_FORMAT) --dry-run -Werror $(format_src)

clean: ## remove everything built
	rm -rf $(B)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

format_src = $(sort $(wildcard $(addsuffix /*.[ch],$(rooms) gpu/cuda gpu/emu tests/gpu/emu tests tests/bench tests/capture tests/fault tests/fuzz tests/hostile tests/interop \
	$(addprefix tests/,$(rooms)))))

check-programs: $(B)/replay $(B)/replay-emu $(if $(CUDA_INC),$(B)/replay-gpu) $(B)/tests/unit $(B)/tests/fake-worker $(B)/tests/hostile $(if $(SAN),,$(B)/tests/fault.so) $(corpora)
objects: $(objects) $(if $(CUDA_INC),$(cuda_objects))

fuzz-run: $(FUZZ:%=$(B)/tests/fuzz-%)
	@tests/fuzz/run.sh $(B) $(FUZZ_SECONDS) $(FUZZ)

$(B)/replay: $(call obj,replay/main.c) $(lib)
	$(link) $(LIBS)

$(B)/replay-emu: $(call obj,gpu/emu/main.c) $(emu_obj) $(lib)
	$(link) -lcjson -lcrypto -lm

# From nothing each time, so that no object of a source that is gone stays inside.
$(lib): $(call obj,$(lib_src))
	@rm -f $@
	$(call say,AR) $(AR) rcs $@ $^

$(B)/tests/unit: $(call obj,$(test_src)) $(emu_obj) $(lib)
	@mkdir -p $(@D)
	$(link) -lcriterion $(LIBS)

$(B)/tests/fake-worker: $(call obj,tests/fake_worker.c) $(lib)
	@mkdir -p $(@D)
	$(link) $(LIBS)

# The generator of broken bundles: plain C, but what makes bundles for tests speaks Criterion.
$(B)/tests/hostile: $(call obj,$(wildcard tests/hostile/*.c) tests/support.c) $(lib)
	@mkdir -p $(@D)
	$(link) -lcriterion $(LIBS)

# Stands between a program and libc; no sanitizer knows what to make of that.
$(B)/tests/fault.so: tests/fault/shim.c
	@mkdir -p $(@D)
	$(call say,LD) $(CC) -std=c17 -D_GNU_SOURCE -O2 -fPIC -shared -Wall -Wextra -Wshadow -o $@ $< -ldl

$(B)/tests/read-safetensors: $(call obj,tests/interop/read_safetensors.c) $(lib)
	@mkdir -p $(@D)
	$(link) $(LIBS)

$(B)/tests/corpus-ptx $(B)/tests/fuzz-ptx $(B)/tests/bench-bench_emu: $(emu_obj)

$(corpora): $(B)/tests/corpus-%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay_corpus.o $(lib)
	@mkdir -p $(@D)
	$(link) $(LIBS)

$(fuzzers): $(B)/tests/fuzz-%: $(B)/obj/tests/fuzz/fuzz_%.o $(lib)
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer $(LIBS)

$(benches): $(B)/tests/bench-%: $(B)/obj/tests/bench/%.o $(lib)
	@mkdir -p $(@D)
	$(link) $(LIBS)

$(foreach w,$(workloads),$(eval $(B)/bundles/$(w).tar.zst: $(shell find artifacts/workloads/$(w) -type f)))
$(bundles): $(B)/bundles/%.tar.zst: $(B)/replay
	@mkdir -p $(@D)
	$(call say,PACK) $(B)/replay pack artifacts/workloads/$* -o $@

$(B)/obj/gpu/cuda/%.o: OBJ_FLAGS = $(CUDA_ISYSTEM)
$(B)/obj/tests/capture/%.o: OBJ_FLAGS = $(CUDA_ISYSTEM) -iquote $(B)/tests
$(call obj,$(capture_src)): | $(B)/tests/capture-sources.inc

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(CFLAGS_ALL) $(OBJ_FLAGS) -MMD -MP -c -o $@ $<

# Only the object that prints the revision is built anew when that changes.
revision := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
$(B)/obj/replay/cli.o: OBJ_FLAGS = -DREPLAY_REVISION='"$(revision)"'
$(B)/obj/replay/cli.o: $(B)/revision

# Written when it differs from what is there, which is what makes others rebuild.
note = mkdir -p $(B) && printf '%s\n' $(1) > $@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(B)/flags: FORCE
	@$(call note,'$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(CUDA_ISYSTEM)')
$(B)/revision: FORCE
	@$(call note,'$(revision)')

FORCE:
.PHONY: FORCE all asan bench bundles capture check check-gpu check-interop check-long check-programs clean demo format format-check fuzz \
	fuzz-run help lint objects ptx-check test-one

-include $(patsubst %.o,%.d,$(objects) $(cuda_objects))
