/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - vectors of f16 and bf16, as the instruction set converts them: the
 * bits of f16_load() and so on in kernels/scalar/cast.h. */
#ifndef BACKENDS_CPU_ISA_HALF_H
#define BACKENDS_CPU_ISA_HALF_H

#include <sesqui/dtype.h>

#include "backends/cpu/isa/vector.h"
#include "kernels/scalar/scalar.h"

INLINE floats floats_of_f16(halves h)
{
#if LANES == 16
    return _mm512_cvtph_ps((__m256i)h);
#elif LANES == 8
    return _mm256_cvtph_ps((__m128i)h);
#else
    floats x;
    for (int i = 0; i < LANES; i++)
        x[i] = f16_load(h[i]);
    return x;
#endif
}

INLINE floats floats_of_bf16(halves h)
{
    return (floats)(words_of_halves(h) << 16);
}

/* To nearest even, a NaN quiet with its sign and the upper bits of its payload,
 * under any MXCSR. */
INLINE halves f16_of_floats(floats x)
{
#if LANES == 16
    return (halves)_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
#elif LANES == 8
    return (halves)_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
#else
    halves h;
    for (int i = 0; i < LANES; i++)
        h[i] = (uint16_t)f16_store(x[i]);
    return h;
#endif
}

/* Two vectors become 2 LANES of f16 at p. */
INLINE void f16_store_two(void *p, floats x, floats y)
{
    halves h[2] = {f16_of_floats(x), f16_of_floats(y)};
    memcpy(p, h, sizeof(h));
}

/* As f16_of_floats; bf16 is the upper half of each word. */
INLINE words bf16_above(floats x)
{
    words u = (words)x;
#if LANES == 16
    __mmask16 odd =
        _mm512_test_epi32_mask((__m512i)u, _mm512_set1_epi32(65536));
    __m512i near = _mm512_add_epi32((__m512i)u, _mm512_set1_epi32(0x7fff));
    near = _mm512_mask_add_epi32(near, odd, near, _mm512_set1_epi32(1));
    return (words)_mm512_mask_or_epi32(near,
                                       _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                                       (__m512i)u, _mm512_set1_epi32(0x400000));
#else
    words nan = (words)((u & 0x7fffffffu) > 0x7f800000u);
    words rounded = u + 0x7fffu + (u >> 16 & 1u);
    return (nan & (u | 0x400000u)) | (~nan & rounded);
#endif
}

/* The lower half of each word, which has no other bits. */
INLINE halves halves_of_words(words x)
{
    return __builtin_convertvector(x, halves);
}

INLINE halves bf16_of_floats(floats x)
{
    return halves_of_words(bf16_above(x) >> 16);
}

/* Two vectors become 2 LANES of bf16 at p. */
INLINE void bf16_store_two(void *p, floats x, floats y)
{
    pairs a = (pairs)bf16_above(x), b = (pairs)bf16_above(y);
    words_store(p, (words)SHUFFLE(a, b, UPPER_HALVES));
}

/* 2 LANES of a line, in 16 bits. */
INLINE void half_put_two(char *d, uint32_t dtype, const float *line)
{
    floats x = floats_load(line), y = floats_load(line + LANES);
    if (dtype == SSQ_F16)
        f16_store_two(d, x, y);
    else
        bf16_store_two(d, x, y);
}

/* The first n of a line to d, rounded to dtype. */
INLINE void half_put(char *d, uint32_t dtype, const float *line, uint32_t n)
{
    uint32_t q = 0;
    if (dtype == SSQ_F32) {
        memcpy(d, line, n * sizeof(*line));
        return;
    }
    for (; q + 2 * LANES <= n; q += 2 * LANES)
        half_put_two(d + 2 * q, dtype, line + q);
    if (q < n) {
        float rest[2 * LANES] = {0};
        uint16_t bits[2 * LANES];
        memcpy(rest, line + q, (n - q) * sizeof(*line));
        half_put_two((char *)bits, dtype, rest);
        memcpy(d + 2 * q, bits, (n - q) * sizeof(*bits));
    }
}

#endif
