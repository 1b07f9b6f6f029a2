/* SPDX-License-Identifier: Apache-2.0 */
/* mma.h - NVIDIA's instructions for matrices that a warp holds together, as
 * PTX in a source that is CUDA, or OpenCL C for NVIDIA's driver.
 *
 * An item's registers of a matrix are the PTX ISA's: four of a, of 16
 * rows by 16 of k, two of b, and four sums of 16 rows by 8 columns. LEVEL is
 * the compute capability whose instructions are used: 75 or 80. */
#ifndef KERNELS_GEMM_MMA_H
#define KERNELS_GEMM_MMA_H

#include "kernels/dialect/dialect.h"

#ifdef LEVEL /* else it is a host's compiler that looks */
#define MMA_FN   FN __attribute__((always_inline))
#define MMA_WARP 32u

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef uint4 quad;
typedef float2 pair;
#define IN_GLOBAL  global
#define IN_SHARED  local
#define PAIR(X, Y) ((pair)(X, Y))
/* No size of groups is required: with one, the driver's compiler chooses how
 * many are to be on a multiprocessor, and spills registers for the sake of
 * more. The host bounds the registers instead. */
#define MMA_KERNEL(NAME, GROUPS) kernel void NAME(
/* The operands of the instructions: 64 bits of global memory, and 32 of the
 * window of shared memory. */
#define GLOBAL_ADDRESS(P) ((ulong)(global const void *)(P))
#define SHARED_ADDRESS(P) U32((ulong)(local const void *)(P))
#else
typedef u32 quad __attribute__((ext_vector_type(4)));
typedef float pair __attribute__((ext_vector_type(2)));
#define IN_GLOBAL
#define IN_SHARED
#define PAIR(X, Y) (pair{X, Y})
/* This many groups are to be on a multiprocessor together: without this number
 * to go by, the driver's compiler spills registers for the sake of a fifth. */
#define MMA_KERNEL(NAME, GROUPS)                                               \
    extern "C" __attribute__((global))                                         \
    __attribute__((launch_bounds(WG, GROUPS))) void NAME(
#define GLOBAL_ADDRESS(P)                                                      \
    ((unsigned long long)(const __attribute__((address_space(1))) void *)(P))
#define SHARED_ADDRESS(P)                                                      \
    U32((unsigned long long)(const __attribute__((address_space(3))) void *)(P))
#endif

#if LEVEL >= 80
/* The first bytes of 16 at FROM, and zeros after them, are to come to TO. Both
 * are multiples of 16; nothing is read where bytes is 0. */
#define COPY_ASYNC(TO, FROM, BYTES)                                            \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"               \
                 :                                                             \
                 : "r"(TO), "l"(GLOBAL_ADDRESS(FROM)), "r"(BYTES)              \
                 : "memory")
/* The copies so far are a group; wait until no more than N groups are under
 * way. */
#define COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT(N)  asm volatile("cp.async.wait_group " #N ";" ::: "memory")
#endif

/* Four matrices of 8 by 8, of which the items' addresses are the rows: matrix j
 * of items 8 j to 8 j + 7. Turned: an item's neighbours are of a column. */
#define LOAD_MATRICES(X, FROM, TURN)                                           \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TURN                          \
                 ".shared.b16 {%0, %1, %2, %3}, [%4];"                         \
                 : "=r"((X)[0]), "=r"((X)[1]), "=r"((X)[2]), "=r"((X)[3])      \
                 : "r"(FROM)                                                   \
                 : "memory")

/* S += a b over 16 of k. */
#if LEVEL >= 80
#define MULTIPLY_AS(TYPE, S, A, B)                                             \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE        \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "         \
                 "{%0, %1, %2, %3};"                                           \
                 : "+f"((S)[0]), "+f"((S)[1]), "+f"((S)[2]), "+f"((S)[3])      \
                 : "r"((A)[0]), "r"((A)[1]), "r"((A)[2]), "r"((A)[3]),         \
                   "r"((B)[0]), "r"((B)[1]))
#else
/* In two steps of 8. */
#define MULTIPLY_HALF(TYPE, S, A, B)                                           \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." TYPE "." TYPE         \
                 ".f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "                     \
                 "{%0, %1, %2, %3};"                                           \
                 : "+f"((S)[0]), "+f"((S)[1]), "+f"((S)[2]), "+f"((S)[3])      \
                 : "r"((A)[0]), "r"((A)[1]), "r"((B)[0]))
#define MULTIPLY_AS(TYPE, S, A, B)                                             \
    MULTIPLY_HALF(TYPE, S, A, B);                                              \
    MULTIPLY_HALF(TYPE, S, (A) + 2, (B) + 1)
#endif
#endif /* LEVEL */

#endif
