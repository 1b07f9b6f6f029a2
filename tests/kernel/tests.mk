# SPDX-License-Identifier: Apache-2.0
# tests.mk - every kernel source compiles everywhere, in all of its variants.

kernel_scripts = tests/kernel/c.sh tests/kernel/cuda.sh \
	tests/kernel/glsl.sh tests/kernel/opencl.sh tests/kernel/quads.sh
TESTS += $(kernel_scripts)
slow_tests += $(kernel_scripts)
full_tests += tests/kernel/cuda.sh
EXTRA_DIST += $(kernel_scripts) tests/kernel/kernel.sh tests/kernel/batch.awk \
	tests/kernel/copied.awk tests/kernel/ptxas.sh tests/kernel/shipped.sh
if MAKE_SPIRV
tests/kernel/glsl.log: kernels/spirv.pack kernels/spirv_table.h
endif
if BUILD_CUDA
tests/kernel/quads.log: kernels/ptx.pack kernels/ptx_table.h
endif
