#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opencl.sh - the kernels as OpenCL C 1.2, for processors and for GPUs. The
# front end finds code that the language forbids; drivers make the code.

. "${srcdir:-.}/tests/kernel/kernel.sh"

kernel_batches 'OpenCL C' '1,16 64,4' clang -x cl -cl-std=CL1.2 \
    -target spir64 -Wall -Wextra -Wno-unused-function -Werror \
    -Xclang -finclude-default-header -fsyntax-only
tap_done 1
