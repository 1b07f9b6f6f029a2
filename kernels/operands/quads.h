/* SPDX-License-Identifier: Apache-2.0 */
/* quads.h - four neighbours at a time, for GPUs: accesses of 16 bytes.
 *
 * An item of a GPU that takes four neighbours loads 16 bytes together (8 of
 * 16-bit elements), which is what NVIDIA's memory wants to be asked for. QUADS
 * is 1 where the dialect has them: in CUDA. It is 0 in GLSL, whose buffers have
 * elements of one type; in OpenCL, where a second loop would cost each driver's
 * compiler more than it is known to win; and in C. So there are both loops, of
 * one macro for an element that is told by another where its operands are. For
 * y = f(x) of n neighbours each,
 *
 *     #define DOUBLE(AS) AS(y) = 2.0f * AS(x);
 *     ...
 *     DENSE_MAP(float, x, float, y, QUAD_NEW, n, DOUBLE)
 *
 * is both; where QUAD_LOAD represents QUAD_NEW, the old y is read. A text with
 * more operands writes
 *
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
 *         DOUBLE(AT_J)
 *
 * T is u8, u16, u32, float, or a CELL; x_from is where element 0 of the loop is
 * in x. The result of each element is the same either way. */
#ifndef KERNELS_OPERANDS_QUADS_H
#define KERNELS_OPERANDS_QUADS_H

#include "kernels/dialect/stream.h"
#include "kernels/operands/tensor.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define QUADS      1
#define QUAD_u8    uchar4
#define QUAD_u16   ushort4
#define QUAD_u32   uint4
#define QUAD_float float4
#define QUAD_PLACE size_t
#elif defined(__CUDA__)
#define QUADS      1
typedef u8 QUAD_u8 __attribute__((ext_vector_type(4)));
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
/* The same if condition C holds. */
#define QUAD_LOAD_IF(C, T, N)                                                  \
    QUAD_NEW(T, N)                                                             \
    if (C)                                                                     \
        QUAD_FETCH(T, N)
#define QUAD_STORE_IF(C, T, N)                                                 \
    if (C)                                                                     \
        QUAD_STORE(T, N)
/* DO for each of the four. */
#define QUAD_X(N)     N##_quad.x
#define QUAD_Y(N)     N##_quad.y
#define QUAD_Z(N)     N##_quad.z
#define QUAD_W(N)     N##_quad.w
#define QUAD_EACH(DO) DO(QUAD_X) DO(QUAD_Y) DO(QUAD_Z) DO(QUAD_W)
/* For runs.h, which has cells of several sizes: the quad that begins at p. */
#define QUAD_OF(T)                                                             \
    FN bool quad_aligned(const T *p)                                           \
    {                                                                          \
        return ((QUAD_PLACE)p & (sizeof(QUAD(T)) - 1u)) == 0u;                 \
    }                                                                          \
    FN QUAD(T) quad_load(const T *p)                                           \
    {                                                                          \
        return *(const QUAD(T) *)p;                                            \
    }                                                                          \
    FN void quad_store(T *p, T x, T y, T z, T w)                               \
    {                                                                          \
        QUAD(T) q = {x, y, z, w};                                              \
        *(QUAD(T) *)p = q;                                                     \
    }
QUAD_OF(u8)
QUAD_OF(u16)
QUAD_OF(u32)
QUAD_OF(float)
#endif

/* Element j by itself. */
#define AT_J(N) AT(N, N##_from + j)
/* The bits of an element of operand N, which has W bytes: get and put. W may be
 * a constant of a Vulkan pipeline, and AS is always AT_J there. */
#ifdef VULKAN
#define GET_AS(AS, N, W)    GET_CELL(N, N##_from + j, W)
#define PUT_AS(AS, N, W, B) PUT_CELL(N, N##_from + j, W, B);
#else
#define GET_AS(AS, N, W)    U32(AS(N))
#define PUT_AS(AS, N, W, B) AS(N) = AS_CELL(W, B);
#endif
/* DO(AS) for LEN elements of Y, from Y_from on; of X and Y. */
#define DENSE_ONES(BEGIN, LEN, DO)                                             \
    LANES_LOOP for (INDEX j = (BEGIN) + LOCAL_ID; j < (LEN); j += U32(WG))     \
    {                                                                          \
        DO(AT_J)                                                               \
    }
#if QUADS
/* ALIGNED: the operands may be asked for quads; FETCH declares those. */
#define DENSE_QUADS(ALIGNED, FETCH, TY, Y, LEN, DO)                            \
    {                                                                          \
        u32 rest = 0u;                                                         \
        if (ALIGNED) {                                                         \
            rest = (LEN) & ~3u;                                                \
            EACH_QUAD(j, rest)                                                 \
            {                                                                  \
                FETCH                                                          \
                QUAD_EACH(DO)                                                  \
                QUAD_STORE(TY, Y)                                              \
            }                                                                  \
        }                                                                      \
        DENSE_ONES(rest, LEN, DO)                                              \
    }
#define DENSE_FILL(TY, Y, LEN, DO)                                             \
    DENSE_QUADS(QUAD_ALIGNED(TY, Y), QUAD_NEW(TY, Y), TY, Y, LEN, DO)
#define DENSE_MAP(TX, X, TY, Y, GET_Y, LEN, DO)                                \
    DENSE_QUADS(QUAD_ALIGNED(TX, X) && QUAD_ALIGNED(TY, Y),                    \
                QUAD_LOAD(TX, X) GET_Y(TY, Y), TY, Y, LEN, DO)
#elif STREAMED
/* A text whose result may be large defines DENSE_LARGE(T), true where it should
 * go past a processor's caches; its operands are called x and y. */
#ifndef DENSE_LARGE
#define DENSE_LARGE(T) false
#endif
#define DENSE_LINE     512u
#define IN_LINE(N)     IN_LINE_##N
#define IN_LINE_x      AT(x, x_from + j)
#define IN_LINE_y      line[j - begin]
#define DENSE_FILL(TY, Y, LEN, DO) DENSE_MAP(TY, Y, TY, Y, QUAD_NEW, LEN, DO)
#define DENSE_MAP(TX, X, TY, Y, GET_Y, LEN, DO)                                \
    if (DENSE_LARGE(TY)) {                                                     \
        for (INDEX begin = 0u; begin < (LEN); begin += DENSE_LINE) {           \
            TY line[DENSE_LINE];                                               \
            INDEX end = (LEN)-begin < DENSE_LINE ? (LEN) : begin + DENSE_LINE; \
            LANES_LOOP for (INDEX j = begin; j < end; j++){                    \
                DO(IN_LINE)} stream_out(&AT(Y, Y##_from + begin), line,        \
                       (end - begin) * sizeof(TY));                            \
        }                                                                      \
    } else                                                                     \
        DENSE_ONES(0u, LEN, DO)
#else
#define DENSE_FILL(TY, Y, LEN, DO)              DENSE_ONES(0u, LEN, DO)
#define DENSE_MAP(TX, X, TY, Y, GET_Y, LEN, DO) DENSE_ONES(0u, LEN, DO)
#endif

#endif
