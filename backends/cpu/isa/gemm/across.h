/* SPDX-License-Identifier: Apache-2.0 */
/* across.h - vectors of words of lines that are neighbours. */
#ifndef BACKENDS_CPU_ISA_GEMM_ACROSS_H
#define BACKENDS_CPU_ISA_GEMM_ACROSS_H

#include "backends/cpu/isa/gemm/along.h"

/* A word of each of n lines that are neighbours; the next row of k is behind
 * `row` bytes, or absent: 0. */
INLINE words across(enum format format, const char *p, int64_t row, bool next,
                    uint32_t n)
{
    if (format != BF16_PAIRS)
        return along(format, p, n);
    words low = words_of_halves(some_halves(p, n));
    if (!next)
        return low;
    return low | words_of_halves(some_halves(p + row, n)) << 16;
}

#endif
