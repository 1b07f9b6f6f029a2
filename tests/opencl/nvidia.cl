/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia.cl - what NVIDIA's compiler of OpenCL C has built in and clang, for
 * nvptx64, has under other names. tests/opencl/nvidia.c puts it before the text
 * of gemm_mma, which uses no more than this. */
#define asm __asm__
#define get_local_id(D) __nvvm_read_ptx_sreg_tid_x()
#define get_group_id(D) __nvvm_read_ptx_sreg_ctaid_x()
#define get_num_groups(D) __nvvm_read_ptx_sreg_nctaid_x()
#define barrier(F) __nvvm_bar_sync(0)
#define fma(A, B, C) __builtin_fmaf(A, B, C)
/* of the library that comes with a driver: named, and not called */
float vload_half(size_t, const half *);
void vstore_half_rte(float, size_t, half *);
