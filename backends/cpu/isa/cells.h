/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h - vectors of elements of any float dtype, whole or in part. */
#ifndef BACKENDS_CPU_ISA_CELLS_H
#define BACKENDS_CPU_ISA_CELLS_H

#include <sesqui/dtype.h>

#include "backends/cpu/isa/half.h"

INLINE int64_t cell_bytes(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/* LANES elements, or the first n of them and 0: nothing else is read. */
INLINE floats cells_load(ssq_dtype dtype, const char *p, uint32_t n)
{
    if (dtype == SSQ_F32)
        return (floats)(n >= LANES ? words_load(p) : words_part(p, n));
    halves h = n >= LANES ? halves_load(p) : halves_part(p, n);
    return dtype == SSQ_F16 ? floats_of_f16(h) : floats_of_bf16(h);
}

/* Any NaN becomes the one that is computed. */
INLINE floats cells_canonical(floats x)
{
#if LANES == 16
    return (floats)_mm512_mask_mov_epi32((__m512i)x,
                                         _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                                         _mm512_set1_epi32(0x7fc00000));
#else
    words nan = (words)(x != x);
    return (floats)((nan & 0x7fc00000u) | (~nan & (words)x));
#endif
}

INLINE halves halves_of_floats(ssq_dtype dtype, floats x)
{
    return dtype == SSQ_F16 ? f16_of_floats(x) : bf16_of_floats(x);
}

/* The first n of a vector, fewer than LANES. */
INLINE void cells_store_part(ssq_dtype dtype, char *p, floats x, uint32_t n)
{
#if LANES == 16
    uint32_t mask = (1u << n) - 1u;
    if (dtype == SSQ_F32)
        _mm512_mask_storeu_ps(p, (__mmask16)mask, x);
    else
        _mm256_mask_storeu_epi16(p, (__mmask16)mask,
                                 (__m256i)halves_of_floats(dtype, x));
#else
    if (dtype == SSQ_F32) {
        for (uint32_t i = 0; i < n; i++)
            memcpy(p + 4 * i, (const char *)&x + 4 * i, 4);
        return;
    }
    halves h = halves_of_floats(dtype, x);
    for (uint32_t i = 0; i < n; i++)
        memcpy(p + 2 * i, (const char *)&h + 2 * i, 2);
#endif
}

/* LANES elements, or the first n. */
INLINE void cells_store(ssq_dtype dtype, char *p, floats x, uint32_t n)
{
    if (n < LANES) {
        cells_store_part(dtype, p, x, n);
    } else if (dtype == SSQ_F32) {
        floats_store(p, x);
    } else {
        halves h = halves_of_floats(dtype, x);
        memcpy(p, &h, sizeof(h));
    }
}

#endif
