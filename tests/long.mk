# SPDX-License-Identifier: Apache-2.0
# long.mk - the tests that make check leaves to make check-full: the one place
# that says so; and the tests that begin first. make itself reads this, not
# automake.
#
# A test belongs here if it takes over 20 seconds, or finds no fault that the
# others do not find sooner: make times says what each test takes and finds.
#
# Whole trainings on the reference; check has examples.sh.
long_tests = tests/api/digits.sh tests/api/cnn.sh tests/api/mlp.sh \
	tests/api/amp_loop.sh tests/api/dtypes.sh tests/api/gpt.sh \
	tests/api/simple_cnn.sh
# Tests that start a compiler.
long_tests += tests/amp/compile_machine.sh tests/api/bench_peers.sh \
	tests/fakecuda/api.sh tests/fuzz/calls.sh tests/fuzz/environment.sh \
	tests/fuzz/arrays.sh tests/fuzz/batches.sh tests/fuzz/dlpack.sh \
	tests/fuzz/files.sh tests/fuzz/state.sh \
	tests/fuzz/tapes.sh \
	tests/kernel/c.sh tests/kernel/cuda.sh tests/kernel/glsl.sh \
	tests/kernel/opencl.sh tests/lint/args.sh tests/lint/bindings.sh \
	tests/lint/guide.sh tests/lint/headers.sh tests/lint/padding.sh \
	tests/lint/rows.sh tests/lint/scaling.sh tests/lint/sizes.sh \
	tests/lint/whole.sh tests/opencl/races.sh \
	tests/scalar/compile_scalar.sh
# Timings, long loops, and a driver's other configurations.
long_tests += tests/api/bench_suites.sh tests/api/throughput.sh \
	tests/comm/examples.sh tests/conformance/long_test \
	tests/fakecuda/programs.sh tests/fakecuda/ptx.sh \
	tests/fakecuda/races.sh \
	tests/opencl/nvidia.sh tests/vulkan/big tests/vulkan/validation.sh

# These begin first, or one of them would be left at the end, alone.
first_tests = tests/comm/mpi_lost.sh tests/tape/alloc tests/fakecuda/tables.sh
TESTS := $(filter $(first_tests),$(TESTS)) \
	$(filter-out $(first_tests),$(TESTS))

# make check TESTS=... runs any test that it is given.
ifneq ($(LONG),yes)
TESTS := $(filter-out $(long_tests),$(TESTS))
endif
