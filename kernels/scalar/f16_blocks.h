/* SPDX-License-Identifier: Apache-2.0 */
/* f16_blocks.h - neighbours to and from f16, by a processor's instructions.
 *
 * They have f16_load's and f16_store's bits (Intel SDM vol. 1, 14.4.1), and
 * take one instruction where those take twenty; but no compiler makes them of a
 * loop over elements. F16_BLOCKS is 1 if they exist. */
#ifndef KERNELS_SCALAR_F16_BLOCKS_H
#define KERNELS_SCALAR_F16_BLOCKS_H

#include "kernels/scalar/cast.h"

#if defined(NATIVE) && defined(__F16C__)
#define F16_BLOCKS 1
#include <immintrin.h>

FN void f16_block_load(float *v, const u16 *h, size_t n)
{
    size_t i = 0;

#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(
            v + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(h + i))));
#endif
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            v + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(h + i))));
    for (; i < n; i++)
        v[i] = f16_load(h[i]);
}

FN void f16_block_store(u16 *h, const float *v, size_t n)
{
    size_t i = 0;

#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256(
            (void *)(h + i),
            _mm512_cvtps_ph(_mm512_loadu_ps(v + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128(
            (void *)(h + i),
            _mm256_cvtps_ph(_mm256_loadu_ps(v + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        h[i] = U16(f16_store(v[i]));
}
#else
#define F16_BLOCKS 0
#endif

#ifdef NATIVE
/* n neighbours, which are f16 or else bf16, as float32s. */
FN void halves_load(float *restrict v, const u16 *restrict h, bool f16,
                    size_t n)
{
    if (f16) {
#if F16_BLOCKS
        f16_block_load(v, h, n);
#else
        LANES_LOOP for (size_t i = 0; i < n; i++)
            v[i] = f16_load(h[i]);
#endif
    } else {
        LANES_LOOP for (size_t i = 0; i < n; i++)
            v[i] = bf16_load(h[i]);
    }
}

/* The other way: float32s, rounded to nearest. */
FN void halves_store(u16 *restrict h, const float *restrict v, bool f16,
                     size_t n)
{
    if (f16) {
#if F16_BLOCKS
        f16_block_store(h, v, n);
#else
        LANES_LOOP for (size_t i = 0; i < n; i++)
            h[i] = U16(f16_store(v[i]));
#endif
    } else {
        LANES_LOOP for (size_t i = 0; i < n; i++)
            h[i] = U16(bf16_store(v[i]));
    }
}
#endif

#endif
