# SPDX-License-Identifier: Apache-2.0
# backend.m4 - cuda: NVIDIA's GPUs, through their driver alone. No part of CUDA
# is needed to build: the driver is opened at run time, clang compiles the
# kernels to PTX, and zlib unpacks it.

AC_DEFUN([SSQ_CHECK_CUDA], [
    ssq_have_cuda=$ssq_have_ptx
    AS_IF([test "$ssq_have_ptx" = no], [ssq_why_cuda=$ssq_why_ptx],
        [test "$ssq_have_ZLIB" = no], [
            ssq_have_cuda=no
            ssq_why_cuda="its kernels are packed: $ssq_why_ZLIB"])
])

# --with-cuda=DIR also names a toolkit. It does not change the build: a test
# compares api.h and blas_api.h with its headers.
AC_DEFUN([SSQ_FIND_TOOLKIT], [
    CUDA_DIR=
    AS_CASE([$with_cuda], [/*], [
        CUDA_DIR=$with_cuda
        with_cuda=auto
        AS_IF([test ! -f "$CUDA_DIR/include/cuda.h"],
            [AC_MSG_ERROR([--with-cuda=$CUDA_DIR: no include/cuda.h there])])
    ])
    AC_MSG_CHECKING([for a CUDA toolkit (tests)])
    for ssq_dir in "$CUDA_DIR" "$CUDA_HOME" /usr/local/cuda; do
        AS_IF([test -z "$CUDA_DIR" && test -f "$ssq_dir/include/cuda.h" &&
            test -f "$ssq_dir/include/cublasLt.h"], [CUDA_DIR=$ssq_dir])
    done
    AC_MSG_RESULT([${CUDA_DIR:-no}])
    AC_SUBST([CUDA_DIR])
])

# --with-cuda-arch=80,90: add machine code for these compute capabilities to the
# PTX. nvcc compiles it from that PTX, and is not used for anything else. Call
# this after SSQ_FIND_TOOLKIT and the check of the backend. Sets NVCC and
# CUDA_ARCHS.
AC_DEFUN([SSQ_CUDA_ARCH], [
    AC_ARG_VAR([NVCC], [nvcc of a CUDA toolkit, only for --with-cuda-arch])
    AC_ARG_WITH([cuda-arch],
        [AS_HELP_STRING([--with-cuda-arch=LIST],
            [machine code for these compute capabilities, 80,90 say, beside
             the PTX; by nvcc @<:@no@:>@])],
        [], [with_cuda_arch=no])
    CUDA_ARCHS=
    AS_IF([test "$with_cuda_arch" != no], [
        AS_IF([test "$ssq_have_cuda" = no], [AC_MSG_ERROR(
            [--with-cuda-arch: there is no cuda module: $ssq_why_cuda])])
        AS_IF([test -z "$NVCC"], [AC_PATH_PROGS([NVCC], [nvcc], [],
            [$CUDA_DIR/bin$PATH_SEPARATOR$PATH])])
        AS_IF([test -z "$NVCC"], [AC_MSG_ERROR(
            [--with-cuda-arch needs nvcc: --with-cuda=DIR or NVCC=FILE])])
        CUDA_ARCHS=`echo "$with_cuda_arch" | tr ', ' '\n\n' | grep . |
            sort -n -u | tr '\n' ' ' | sed 's/ $//'`
        AS_ECHO(['.version 6.0 .target sm_70 .address_size 64
.visible .entry f() { ret; }']) >conftest.ptx
        for ssq_arch in $CUDA_ARCHS; do
            AC_MSG_CHECKING([whether $NVCC makes code for sm_$ssq_arch])
            AS_CASE([$ssq_arch], [*[[!0-9]]*|?], [AC_MSG_ERROR(
                [--with-cuda-arch=$with_cuda_arch: numbers like 80,90])])
            AS_IF([$NVCC -cubin "-arch=sm_$ssq_arch" -o conftest.cubin \
                   conftest.ptx >&AS_MESSAGE_LOG_FD 2>&1],
                [AC_MSG_RESULT([yes])],
                [AC_MSG_RESULT([no])
                 AC_MSG_ERROR(
                     [--with-cuda-arch: $NVCC makes none for sm_$ssq_arch])])
        done
        rm -f conftest.ptx conftest.cubin
    ])
    AC_SUBST([CUDA_ARCHS])
])

AC_DEFUN([SSQ_BACKEND_CUDA], [
    SSQ_FIND_TOOLKIT
    SSQ_BACKEND_MODULE([cuda], [NVIDIA GPUs of compute capability 7.0 or later],
        [SSQ_CHECK_CUDA])
    SSQ_CUDA_ARCH
])
