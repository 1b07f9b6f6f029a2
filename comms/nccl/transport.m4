# SPDX-License-Identifier: Apache-2.0
# transport.m4 - nccl: between NVIDIA's GPUs. Nothing of NCCL is needed to build
# it, but it is of no use without the cuda module.

AC_DEFUN([SSQ_TRANSPORT_NCCL], [
    SSQ_BACKEND_WITH([nccl], [collectives over NCCL], [
        ssq_have_nccl=$ssq_have_cuda
        ssq_why_nccl="no cuda module: $ssq_why_cuda"])
    AS_IF([test $ssq_have_nccl = yes], [
        ssq_table="$ssq_table
SSQ_TRANSPORT(nccl, NULL)"
        ssq_transports="$ssq_transports, nccl"
    ], [
        ssq_table="$ssq_table
SSQ_TRANSPORT(nccl, \"not built: $ssq_why_nccl\")"
        ssq_transports="$ssq_transports; no nccl: $ssq_why_nccl"
    ])
])
