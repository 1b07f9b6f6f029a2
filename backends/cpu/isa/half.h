/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - vectors of f16 and bf16, as the instruction set converts them: the
 * bits of f16_load() and so on in kernels/scalar/cast.h. */
#ifndef BACKENDS_CPU_ISA_HALF_H
#define BACKENDS_CPU_ISA_HALF_H

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

INLINE halves halves_of_words(words x)
{
#if LANES == 16
    return (halves)_mm512_cvtepi32_epi16((__m512i)x);
#else
    return __builtin_convertvector(x, halves);
#endif
}

/* To nearest even, a NaN quiet with its sign and the upper bits of its payload,
 * whatever MXCSR says. */
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

INLINE halves bf16_of_floats(floats x)
{
    words u = (words)x;
    words nan = (words)((u & 0x7fffffffu) > 0x7f800000u);
    words rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    return halves_of_words((nan & (u >> 16 | 0x40u)) | (~nan & rounded));
}

#endif
