/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - results that are too many for a processor's caches.
 *
 * An ordinary store first fetches the line that it is going to change, and
 * leaves it in the caches in place of more useful data. A result that
 * is larger than they are is better written past them. STREAMS(n, T) asks that
 * of n elements of a T; stream_out(to, from, bytes) stores the contents of a
 * small array. A kernel is followed by a fence. stream_soon(from,
 * bytes) is for input. Outside of the cpu backend's C nothing
 * streams. */
#ifndef KERNELS_DIALECT_STREAM_H
#define KERNELS_DIALECT_STREAM_H

#include "kernels/dialect/dialect.h"

#if defined(NATIVE)
#define STREAMED 1
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* More than a core's share of most caches, less than would be a pity to
 * write around them. */
#define STREAM_LEAST  (8u << 20)
#define STREAMS(N, T) ((size_t)(N) * sizeof(T) >= STREAM_LEAST)

#if defined(__AVX512F__)
#define STREAM_LINE 64u
#define STREAM_STORE(TO, FROM)                                                 \
    _mm512_stream_si512((__m512i *)(TO), _mm512_loadu_si512(FROM))
#elif defined(__AVX__)
#define STREAM_LINE 32u
#define STREAM_STORE(TO, FROM)                                                 \
    _mm256_stream_si256((__m256i *)(TO),                                       \
                        _mm256_loadu_si256((const __m256i *)(FROM)))
#elif defined(__SSE2__)
#define STREAM_LINE 16u
#define STREAM_STORE(TO, FROM)                                                 \
    _mm_stream_si128((__m128i *)(TO), _mm_loadu_si128((const __m128i *)(FROM)))
#else
/* Other processors have ordinary stores only. */
#define STREAM_LINE            16u
#define STREAM_STORE(TO, FROM) memcpy(TO, FROM, STREAM_LINE)
#endif

FN void stream_out(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;
    size_t head = (0u - (uintptr_t)to) & (STREAM_LINE - 1u);

    if (head > bytes)
        head = bytes;
    memcpy(t, f, head);
    for (; head + STREAM_LINE <= bytes; head += STREAM_LINE)
        STREAM_STORE(t + head, f + head);
    memcpy(t + head, f + head, bytes - head);
}

/* The same, past the caches only if so told. */
FN void put_out(void *to, const void *from, size_t bytes, bool past)
{
    if (past)
        stream_out(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* Wait until the stores past the caches have reached memory. */
FN void stream_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Data that is read soon, and that the processor does not prefetch: its first
 * lines are asked for, and the others will be guessed then. */
FN void stream_soon(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < 4096u; i += 64u)
        __builtin_prefetch((const char *)from + i, 0, 3);
}
#else
#define STREAMED 0
#endif

#endif
