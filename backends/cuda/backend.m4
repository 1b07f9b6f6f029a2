# SPDX-License-Identifier: Apache-2.0
# backend.m4 - cuda: NVIDIA's GPUs, by their driver alone. Nothing of CUDA is
# needed to build: the driver is opened at run time, and the kernels' PTX is
# made by clang and unpacked by zlib.

AC_DEFUN([SSQ_CHECK_CUDA], [
    ssq_have_cuda=$ssq_have_ptx
    AS_IF([test "$ssq_have_ptx" = no], [ssq_why_cuda=$ssq_why_ptx],
        [test "$ssq_have_ZLIB" = no], [
            ssq_have_cuda=no
            ssq_why_cuda="its kernels are packed: $ssq_why_ZLIB"])
])

# --with-cuda=DIR also names a toolkit. It changes nothing of what is built: a
# test holds api.h and blas_api.h against its headers.
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

AC_DEFUN([SSQ_BACKEND_CUDA], [
    SSQ_FIND_TOOLKIT
    SSQ_BACKEND_MODULE([cuda], [NVIDIA GPUs of compute capability 7.0 or later],
        [SSQ_CHECK_CUDA])
])
