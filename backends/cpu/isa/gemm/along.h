/* SPDX-License-Identifier: Apache-2.0 */
/* along.h - vectors of words of elements that are neighbours along k. */
#ifndef BACKENDS_CPU_ISA_GEMM_ALONG_H
#define BACKENDS_CPU_ISA_GEMM_ALONG_H

#include "backends/cpu/isa/half.h"

/* The source of the words: a constant wherever the text below is inlined. */
enum format { F32, F16, BF16, BF16_PAIRS };

INLINE int64_t format_bytes(enum format format)
{
    return format == F32 ? 4 : 2;
}

INLINE halves some_halves(const char *p, uint32_t n)
{
    return n >= LANES ? halves_load(p) : halves_part(p, n);
}

/* LANES words of n elements that are neighbours along k: the rest is 0. */
INLINE words along(enum format format, const char *p, uint32_t n)
{
    if (format == F16)
        return (words)floats_of_f16(some_halves(p, n));
    if (format == BF16)
        return (words)floats_of_bf16(some_halves(p, n));
    if (n >= (format == F32 ? LANES : 2 * LANES))
        return words_load(p);
    if (format == F32)
        return words_part(p, n);
    words x = words_part(p, n / 2);
    if (n % 2 != 0) {
        uint16_t last;
        memcpy(&last, p + 2 * (n - 1), sizeof(last));
        x[n / 2] = last;
    }
    return x;
}

#endif
