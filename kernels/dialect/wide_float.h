/* SPDX-License-Identifier: Apache-2.0 */
/* wide_float.h - WIDTH neighbouring float32s as one value.
 *
 * WIDTH is what the device's vectors hold: 1, 2, 4, 8 or 16. Kernels that keep
 * sums in registers count in WIDEs, so that every compiler makes vector
 * instructions of them:
 *
 *     WIDE x = WIDE_LOAD(tile, i);           tile[i .. i + WIDTH - 1]
 *     sum = WIDE_FMA(WIDE_SPLAT(f), x, sum); lane by lane, fused: class R only
 *     WIDE_STORE(tile, i, sum);
 *
 * WIDE_AT(N, I) and WIDE_PUT(N, I, X) are the same of operand N. Loaded
 * elements need not be aligned. An array of sums is in registers if all its
 * indices are known: UNROLL before each loop over it. */
#ifndef KERNELS_DIALECT_WIDE_FLOAT_H
#define KERNELS_DIALECT_WIDE_FLOAT_H

#include "kernels/dialect/dialect.h"

#ifndef WIDTH
#define WIDTH 1
#endif

#define WIDE_PASTE(A, B) A##B
#define WIDE_NAME(A, B)  WIDE_PASTE(A, B)

#if WIDTH == 1

#define WIDE                float
#define WIDE_SPLAT(F)       (F)
#define WIDE_FMA(A, B, C)   FMA(A, B, C)
#define WIDE_LOAD(N, I)     N[I]
#define WIDE_STORE(N, I, X) N[I] = (X)
#define WIDE_AT(N, I)       AT(N, I)
#define WIDE_PUT(N, I, X)   AT(N, I) = (X)

#elif defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

#define WIDE                WIDE_NAME(float, WIDTH)
#define WIDE_SPLAT(F)       ((WIDE)(F))
#define WIDE_FMA(A, B, C)   FMA(A, B, C)
#define WIDE_LOAD(N, I)     WIDE_NAME(vload, WIDTH)(0, N + (I))
#define WIDE_STORE(N, I, X) WIDE_NAME(vstore, WIDTH)(X, 0, N + (I))
#define WIDE_AT(N, I)       WIDE_LOAD(N + pc.N##_at, I)
#define WIDE_PUT(N, I, X)   WIDE_STORE(N + pc.N##_at, I, X)

#elif defined(VULKAN)

#if WIDTH != 4
#error "GLSL has vectors of 4: WIDTH is 4 or 1"
#endif
#define WIDE              vec4
#define WIDE_SPLAT(F)     vec4(F)
#define WIDE_FMA(A, B, C) fma(A, B, C)
#define WIDE_LOAD(N, I)   vec4(N[(I)], N[(I) + 1u], N[(I) + 2u], N[(I) + 3u])
#define WIDE_STORE(N, I, X)                                                    \
    N[(I)] = (X).x, N[(I) + 1u] = (X).y, N[(I) + 2u] = (X).z,                  \
    N[(I) + 3u] = (X).w
#define WIDE_AT(N, I)     WIDE_LOAD(N, pc.N##_at + (I))
#define WIDE_PUT(N, I, X) WIDE_STORE(N, pc.N##_at + (I), X)

#elif defined(NATIVE) && (WIDTH == 16 && defined(__AVX512F__) ||               \
                          WIDTH == 8 && defined(__FMA__))
/* A processor's own: of an array no compiler makes a register. */
#include <immintrin.h>
#if WIDTH == 16
#define WIDE                __m512
#define WIDE_SPLAT(F)       _mm512_set1_ps(F)
#define WIDE_FMA(A, B, C)   _mm512_fmadd_ps(A, B, C)
#define WIDE_LOAD(N, I)     _mm512_loadu_ps(N + (I))
#define WIDE_STORE(N, I, X) _mm512_storeu_ps(N + (I), X)
#else
#define WIDE                __m256
#define WIDE_SPLAT(F)       _mm256_set1_ps(F)
#define WIDE_FMA(A, B, C)   _mm256_fmadd_ps(A, B, C)
#define WIDE_LOAD(N, I)     _mm256_loadu_ps(N + (I))
#define WIDE_STORE(N, I, X) _mm256_storeu_ps(N + (I), X)
#endif
#define WIDE_AT(N, I)     WIDE_LOAD(N + pc.N##_at, I)
#define WIDE_PUT(N, I, X) WIDE_STORE(N + pc.N##_at, I, X)

#else /* C and CUDA */

typedef struct {
    float lane[WIDTH];
} WIDE;
FN WIDE wide_splat(float f)
{
    WIDE x;
    for (u32 i = 0u; i < U32(WIDTH); i++)
        x.lane[i] = f;
    return x;
}
FN WIDE wide_fma(WIDE a, WIDE b, WIDE c)
{
    WIDE x;
    for (u32 i = 0u; i < U32(WIDTH); i++)
        x.lane[i] = FMA(a.lane[i], b.lane[i], c.lane[i]);
    return x;
}
FN WIDE wide_load(const float *p)
{
    WIDE x;
    for (u32 i = 0u; i < U32(WIDTH); i++)
        x.lane[i] = p[i];
    return x;
}
FN void wide_store(float *p, WIDE x)
{
    for (u32 i = 0u; i < U32(WIDTH); i++)
        p[i] = x.lane[i];
}
#define WIDE_SPLAT(F)       wide_splat(F)
#define WIDE_FMA(A, B, C)   wide_fma(A, B, C)
#define WIDE_LOAD(N, I)     wide_load(N + (I))
#define WIDE_STORE(N, I, X) wide_store(N + (I), X)
#define WIDE_AT(N, I)       wide_load(N + pc.N##_at + (I))
#define WIDE_PUT(N, I, X)   wide_store(N + pc.N##_at + (I), X)

#endif

#endif
