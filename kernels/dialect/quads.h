/* SPDX-License-Identifier: Apache-2.0 */
/* quads.h - four neighbours at a time, for GPUs: accesses of 16 bytes.
 *
 * An item of a GPU that takes four neighbours asks for 16 bytes at once (8 of
 * 16-bit elements), which is what NVIDIA's memory wants to be asked for. QUADS
 * is 1 where the dialect has them: in CUDA. It is 0 in GLSL, whose buffers have
 * elements of one type; in OpenCL, where a second loop would cost each driver's
 * compiler more than it is known to win; and in C. So a text has both loops, of
 * one macro for an element that is told by another where its operands are:
 *
 *     #define DOUBLE(AS) AS(y) = 2.0f * AS(x);
 *     #define ONE(N)     AT(N, N##_from + j)
 *     ...
 *     u32 rest = 0u;                                 the first of the others
 *     #if QUADS
 *     if (QUAD_ALIGNED(float, x) && QUAD_ALIGNED(float, y)) {
 *         rest = n & ~3u;
 *         EACH_QUAD(j, rest) {
 *             QUAD_LOAD(float, x)
 *             QUAD_NEW(float, y)
 *             QUAD_EACH(DOUBLE)
 *             QUAD_STORE(float, y)
 *         }
 *     }
 *     #endif
 *     for (u32 j = rest + LOCAL_ID; j < n; j += U32(WG))
 *         DOUBLE(ONE)
 *
 * T is u16, u32, float, or a CELL of 2 or 4 bytes; x_from is where element 0 of
 * the loop is in x. What each element becomes is the same either way. */
#ifndef KERNELS_DIALECT_QUADS_H
#define KERNELS_DIALECT_QUADS_H

#include "kernels/dialect/tensor.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define QUADS      1
#define QUAD_u16   ushort4
#define QUAD_u32   uint4
#define QUAD_float float4
#define QUAD_PLACE size_t
#elif defined(__CUDA__)
#define QUADS      1
typedef u16 QUAD_u16 __attribute__((ext_vector_type(4)));
typedef u32 QUAD_u32 __attribute__((ext_vector_type(4)));
typedef float QUAD_float __attribute__((ext_vector_type(4)));
#define QUAD_PLACE __SIZE_TYPE__
#else
#define QUADS 0
#endif

#if QUADS
#define QUAD_PASTE(T) QUAD_##T
#define QUAD(T)       QUAD_PASTE(T)
/* May operand N be asked for quads, from N_from on? */
#define QUAD_ALIGNED(T, N)                                                     \
    (((QUAD_PLACE)&AT(N, N##_from) & (sizeof(QUAD(T)) - 1u)) == 0u)
/* Quads of n elements, n a multiple of 4, by the items of a group. */
#define EACH_QUAD(J, N) for (u32 J = LOCAL_ID * 4u; J < (N); J += U32(WG) * 4u)
/* 16 bytes of operand N from its element I on, as words. */
#define QUAD_WORDS(N, I) (*(const QUAD(u32) *)&AT(N, I))
/* The quad of operand N at j, which QUAD_EACH's macro sees: zeros, or fetched;
 * and back again. */
#define QUAD_NEW(T, N)   QUAD(T) N##_quad = {0, 0, 0, 0};
#define QUAD_FETCH(T, N) N##_quad = *(const QUAD(T) *)&AT(N, N##_from + j);
#define QUAD_LOAD(T, N)  QUAD_NEW(T, N) QUAD_FETCH(T, N)
#define QUAD_STORE(T, N) *(QUAD(T) *)&AT(N, N##_from + j) = N##_quad;
/* DO for each of the four. */
#define QUAD_X(N)     N##_quad.x
#define QUAD_Y(N)     N##_quad.y
#define QUAD_Z(N)     N##_quad.z
#define QUAD_W(N)     N##_quad.w
#define QUAD_EACH(DO) DO(QUAD_X) DO(QUAD_Y) DO(QUAD_Z) DO(QUAD_W)
#endif

#endif
