/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - the parts of struct attention_kernels, of one instruction set,
 * and what the two that make weights share. */
#ifndef BACKENDS_CPU_ISA_ATTENTION_ATTENTION_H
#define BACKENDS_CPU_ISA_ATTENTION_ATTENTION_H

#include "backends/cpu/attention/attention_kernels.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/half.h"
#include "kernels/gemm/tile.h"

#define QUERY_BLOCK (2 * LANES)
/* The score of a key that is not seen. */
#define NONE (-__builtin_inff())

void ISA_NAME(attention_weights)(const struct attention_scores *s, float *block,
                                 struct attention_state *state);
void ISA_NAME(attention_factors)(const struct attention_scores *s, float *block,
                                 float *slopes,
                                 const struct attention_saved *saved);
void ISA_NAME(attention_multiply)(const struct gemm_tile *tile);
void ISA_NAME(attention_store)(void *to, uint32_t dtype, int64_t to_row,
                               const float *from, size_t from_row,
                               uint32_t rows, uint32_t columns, float factor);
extern const struct attention_kernels ISA_NAME(attention);

/** Products become scores by scale, softcap and bias, where there is more to do
 *  than to scale them. */
void ISA_NAME(attention_prepare)(const struct attention_scores *s,
                                 float *block);
/** Of queries first .. first + LANES - 1 and key j: all bits where the weight
 *  is dropped. */
words ISA_NAME(attention_dropped)(const struct attention_dropout *d,
                                  uint32_t first, uint32_t j);

/* x where the words of `where` are 0, y where they have all bits. */
INLINE floats floats_choose(words where, floats x, floats y)
{
    return (floats)((where & (words)y) | (~where & (words)x));
}

/* y where it is above x, which a NaN is not. */
INLINE floats floats_greater(floats x, floats y)
{
#if LANES == 16
    return _mm512_max_ps(y, x);
#elif LANES == 8
    return _mm256_max_ps(y, x);
#else
    return floats_choose((words)(y > x), x, y);
#endif
}

/* Is one of x above y? */
INLINE bool floats_any_above(floats x, floats y)
{
#if LANES == 16
    return _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ) != 0;
#elif LANES == 8
    return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ)) != 0;
#else
    words above = (words)(x > y);
    return (above[0] | above[1] | above[2] | above[3]) != 0;
#endif
}

/* Rounded to dtype, a constant. */
INLINE floats floats_round(floats x, uint32_t dtype)
{
    if (dtype == SSQ_F16)
        return floats_of_f16(f16_of_floats(x));
    if (dtype == SSQ_BF16)
        return (floats)(bf16_above(x) & 0xffff0000u);
    return x;
}

/* The numbers of lanes, from `from` on. */
INLINE words lanes_from(uint32_t from)
{
    words x;
    for (uint32_t i = 0; i < LANES; i++)
        x[i] = from + i;
    return x;
}

/* Rows of a block that all queries from `lane` on see. */
INLINE uint32_t rows_clear(const struct attention_scores *s, uint32_t lane)
{
    int64_t n = (int64_t)lane - s->first + 1;
    return n < 0 ? 0 : n > s->keys ? s->keys : (uint32_t)n;
}

/* A NaN becomes the quiet one without sign: no result may be TILE_SKIP. */
INLINE floats floats_canonical(floats x)
{
    const words nan = (words){0} + 0x7fc00000u;
    return floats_choose((words)(x != x), x, (floats)nan);
}

#endif
