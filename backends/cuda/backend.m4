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

AC_DEFUN([SSQ_BACKEND_CUDA], [
    SSQ_BACKEND_MODULE([cuda], [NVIDIA GPUs of compute capability 7.0 or later],
        [SSQ_CHECK_CUDA])
])
