/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - the widest vectors of an instruction set, in the compiler's vector
 * extensions: LANES neighbouring float32s or words are one value.
 *
 * Loads and stores need no alignment. */
#ifndef BACKENDS_CPU_ISA_VECTOR_H
#define BACKENDS_CPU_ISA_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Elements of two vectors, by their numbers in both. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define SHUFFLE(A, B, ...) __builtin_shuffle(A, B, (__typeof__(A)){__VA_ARGS__})
#endif

/* Of two vectors of pairs: the upper halves, in order. */
#if LANES == 16
#define UPPER_HALVES                                                           \
    1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, \
        41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63
#elif LANES == 8
#define UPPER_HALVES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#else
#define UPPER_HALVES 1, 3, 5, 7, 9, 11, 13, 15
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t pairs __attribute__((vector_size(4 * LANES))); /* of halves */

/* Begin to bring the line at p into the second cache. */
INLINE void fetch(const void *p)
{
    __builtin_prefetch(p, 0, 2);
}

/* And into the first one. */
INLINE void fetch_near(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

/* Into the first one, because it will be written. */
INLINE void fetch_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

INLINE words words_load(const void *p)
{
    words x;
    memcpy(&x, p, sizeof(x));
    return x;
}

INLINE void words_store(void *p, words x)
{
    memcpy(p, &x, sizeof(x));
}

INLINE halves halves_load(const void *p)
{
    halves x;
    memcpy(&x, p, sizeof(x));
    return x;
}

INLINE floats floats_load(const void *p)
{
    return (floats)words_load(p);
}

INLINE void floats_store(void *p, floats x)
{
    words_store(p, (words)x);
}

INLINE float float_load(const void *p)
{
    float x;
    memcpy(&x, p, sizeof(x));
    return x;
}

INLINE floats floats_splat(float x)
{
#if LANES == 16
    return _mm512_set1_ps(x);
#elif LANES == 8
    return _mm256_set1_ps(x);
#else
    return (floats){x, x, x, x};
#endif
}

/* a b + c: fused if the instruction set can, and rounded twice where it
 * does not. */
INLINE floats floats_fma(floats a, floats b, floats c)
{
#if LANES == 16
    return _mm512_fmadd_ps(a, b, c);
#elif LANES == 8
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

/* The first n of LANES words, 0 after them; nothing else is read. */
INLINE words words_part(const void *p, uint32_t n)
{
#if LANES == 16
    uint32_t mask = n < 16 ? (1u << n) - 1u : 0xffffu;
    return (words)_mm512_maskz_loadu_epi32((__mmask16)mask, p);
#else
    words x = {0};
    for (uint32_t i = 0; i < LANES && i < n; i++)
        memcpy((char *)&x + 4 * i, (const char *)p + 4 * i, 4);
    return x;
#endif
}

INLINE halves halves_part(const void *p, uint32_t n)
{
#if LANES == 16
    uint32_t mask = n < 16 ? (1u << n) - 1u : 0xffffu;
    return (halves)_mm256_maskz_loadu_epi16((__mmask16)mask, p);
#else
    halves x = {0};
    for (uint32_t i = 0; i < LANES && i < n; i++)
        memcpy((char *)&x + 2 * i, (const char *)p + 2 * i, 2);
    return x;
#endif
}

INLINE words words_of_halves(halves x)
{
#if LANES == 16
    return (words)_mm512_cvtepu16_epi32((__m256i)x);
#elif LANES == 8
    return (words)_mm256_cvtepu16_epi32((__m128i)x);
#else
    return __builtin_convertvector(x, words);
#endif
}

#endif
