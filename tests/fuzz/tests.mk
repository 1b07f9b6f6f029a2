# SPDX-License-Identifier: Apache-2.0
# tests.mk - fuzz targets: the corpus and a fixed number of runs in make check;
# make fuzz FUZZ_SECONDS=600 is random and as long as that for each target.

fuzz_tests = tests/fuzz/arrays.sh tests/fuzz/batches.sh tests/fuzz/calls.sh \
	tests/fuzz/dlpack.sh tests/fuzz/environment.sh \
	tests/fuzz/files.sh tests/fuzz/state.sh tests/fuzz/tapes.sh
TESTS += $(fuzz_tests)
EXTRA_DIST += $(fuzz_tests) tests/fuzz/README tests/fuzz/compile.sh \
	tests/fuzz/run.sh \
	tests/fuzz/target.sh tests/fuzz/table.awk tests/fuzz/action.c \
	tests/fuzz/action.h tests/fuzz/arrays.c tests/fuzz/batches.c \
	tests/fuzz/call.c \
	tests/fuzz/call.h \
	tests/fuzz/calls.c tests/fuzz/dlpack.c tests/fuzz/environment.c \
	tests/fuzz/files.c \
	tests/fuzz/input.h tests/fuzz/metrics.c \
	tests/fuzz/state.c tests/fuzz/ops.c \
	tests/fuzz/ops.h tests/fuzz/optimizers.c tests/fuzz/perform.c \
	tests/fuzz/pair.c \
	tests/fuzz/pair.h tests/fuzz/queues.c tests/fuzz/scalers.c \
	tests/fuzz/shape.c tests/fuzz/tape_layers.c \
	tests/fuzz/tape_train.c tests/fuzz/tape_vars.c tests/fuzz/tapes.c \
	tests/fuzz/tapes.h tests/fuzz/values.c tests/fuzz/values.h \
	tests/fuzz/vars.awk \
	tests/fuzz/corpus

FUZZ_SECONDS = 60
FUZZ_TARGETS = calls tapes batches dlpack state files environment arrays
FUZZ_DEVICES = guard
FUZZ_CC = clang
fuzz_flags = -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
	-fno-sanitize-recover=all -fno-omit-frame-pointer

# Devices that are modules come from this build, without a sanitizer.
fuzz: all
	+$(MKDIR_P) variant-fuzz && cd variant-fuzz && \
	{ test -f Makefile || $(abs_top_srcdir)/configure --quiet \
		CC='$(FUZZ_CC)' CFLAGS='-g -O1 $(fuzz_flags)' --enable-debug \
		--without-opencl --without-vulkan; } && \
	$(MAKE) libcore.a
	@srcdir='$(abs_top_srcdir)'; export srcdir; \
	AWK='$(AWK)'; export AWK; FUZZ_CC='$(FUZZ_CC)'; export FUZZ_CC; \
	SSQ_MODULE_PATH='$(module_path)'; export SSQ_MODULE_PATH; \
	SSQ_CACHE=0; export SSQ_CACHE; \
	POCL_CACHE_DIR='$(abs_top_builddir)/tests/pocl'; \
	export POCL_CACHE_DIR; \
	MESA_SHADER_CACHE_DIR='$(abs_top_builddir)/tests/mesa'; \
	export MESA_SHADER_CACHE_DIR; \
	$(SHELL) $(srcdir)/tests/fuzz/run.sh '$(abs_top_builddir)' \
		'$(FUZZ_SECONDS)' '$(FUZZ_TARGETS)' '$(FUZZ_DEVICES)' \
		'$(fuzz_flags)'

.PHONY: fuzz
