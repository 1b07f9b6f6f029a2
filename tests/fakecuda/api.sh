#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# api.sh - is what backends/cuda says of NVIDIA's headers true? api_check.c
# compiles after the headers of the toolkit that configure found, and without
# them; and does not where a number or a prototype is another one.

. "${srcdir:-.}/tests/lint/tap.sh"

check=tests/fakecuda/api_check.c
cd "$srcdir" || exit 1

# compile [FLAGS...]: api_check.c, or a file in its place.
compile() {
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -fsyntax-only -Wall -Werror "$@" $check
}

tap_run 'our own words compile, and have their sizes' compile -I.
toolkit=${CUDA_DIR-}
if [ -z "$toolkit" ]; then
    tap_skip 'no CUDA toolkit: configure --with-cuda=DIR' \
        'the headers of NVIDIA'
    tap_done 0
    exit 0
fi
version=$(sed -n 's/^#define CUDA_VERSION //p' "$toolkit/include/cuda.h")
tap_run "they are those of $toolkit, CUDA $version" \
    compile -I. -isystem "$toolkit/include" -DREAL

# Seeded faults: a number, and an argument, of each of the two headers.
mkdir -p "$tmp/backends/cuda"
wrong() {
    cp backends/cuda/api.h backends/cuda/blas_api.h "$tmp/backends/cuda/"
    sed "$2" "backends/cuda/$1" >"$tmp/backends/cuda/$1"
    ! cmp -s "backends/cuda/$1" "$tmp/backends/cuda/$1" || return 1
    ! compile "-I$tmp" -isystem "$toolkit/include" -DREAL
}
tap_run 'a wrong number of cuda.h is found' \
    wrong api.h 's/(CU_STREAM_NON_BLOCKING, 1)/(CU_STREAM_NON_BLOCKING, 2)/'
tap_run 'a wrong prototype of cuda.h is found' \
    wrong api.h 's/cuMemFree_v2, (CUdeviceptr)/cuMemFree_v2, (void *)/'
tap_run 'a wrong number of cublasLt.h is found' \
    wrong blas_api.h 's/(CUBLASLT_EPILOGUE_BIAS, 4/&4/'
tap_run 'a wrong prototype of cublasLt.h is found' \
    wrong blas_api.h 's/(Destroy, cublasLtDestroy, (/&int, /'
tap_done 1
