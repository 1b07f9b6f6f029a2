/* SPDX-License-Identifier: Apache-2.0 */
/* attention_weights.c - from products of queries and keys to what the keys
 * count for in the means.
 *
 * A query has so far the greatest score and the sum of exp(score - greatest).
 * The means of the values under these weights stay means, so that nothing
 * overflows on the way. */
#include "backends/cpu/isa/attention/attention.h"
#include "backends/cpu/isa/exp.h"

/* Scores of one vector of queries, where they are made; the greatest of them
 * and of m. */
INLINE floats scores(const struct attention_scores *s, float *block,
                     uint32_t lane, floats m)
{
    const uint32_t clear = rows_clear(s, lane);
    const words lanes = lanes_from(lane);
    const floats scale =
        floats_splat(s->bias != NULL || s->softcap != 0.0f ? 1.0f : s->scale);
    uint32_t j = 0;
    for (; j < clear; j++, block += QUERY_BLOCK) {
        floats x = scale * floats_load(block);
        floats_store(block, x);
        m = floats_greater(m, x);
    }
    for (; j < s->keys; j++, block += QUERY_BLOCK) {
        const words hidden =
            (words)((ints)lanes < (ints)((words){0} + (uint32_t)s->first + j));
        floats x = scale * floats_load(block);
        x = floats_choose(hidden, x, floats_splat(NONE));
        floats_store(block, x);
        m = floats_greater(m, x);
    }
    return m;
}

/* exp(score - m), and their sum; mark is a constant. m is finite where no key
 * was seen, so that all are 0 there. */
INLINE floats exponents(const bool mark, float *block, uint32_t keys, floats m)
{
    const floats none = floats_splat(NONE);
    floats sum = {0};
    for (uint32_t j = 0; j < keys; j++, block += QUERY_BLOCK) {
        floats x = floats_load(block), e = floats_exp_neg(x - m);
        sum += e;
        if (mark)
            e = floats_choose((words)(x == none), floats_canonical(e),
                              (floats)((words){0} + TILE_SKIP));
        floats_store(block, e);
    }
    return sum;
}

/* Times `next` and rounded; dtype is a constant. */
INLINE void weights_scale(uint32_t dtype, float *block, uint32_t keys,
                          floats next)
{
    for (uint32_t j = 0; j < keys; j++, block += QUERY_BLOCK)
        floats_store(block, floats_round(floats_load(block) * next, dtype));
}

/* The same with marks and dropout. */
static void weights_scale_some(const struct attention_scores *s, float *block,
                               uint32_t lane, floats next)
{
    for (uint32_t j = 0; j < s->keys; j++, block += QUERY_BLOCK) {
        floats e = floats_load(block), w = e * next;
        if (s->dropout.given) {
            words gone = ISA_NAME(attention_dropped)(&s->dropout, lane, j);
            w = floats_choose(gone, w * s->dropout.keep, (floats){0});
        }
        w = s->dtype == SSQ_F32   ? w
            : s->dtype == SSQ_F16 ? floats_round(w, SSQ_F16)
                                  : floats_round(w, SSQ_BF16);
        if (s->mark)
            w = floats_choose((words)((words)e == TILE_SKIP),
                              floats_canonical(w), e);
        floats_store(block, w);
    }
}

/* Bring the state of LANES queries up to date: `sum` is of this block, where
 * the greatest score is `next`. The factor of the block's exponents.
 */
INLINE floats totals(struct attention_state *state, uint32_t lane, floats next,
                     floats shift, floats sum)
{
    const floats zero = {0}, none = floats_splat(NONE);
    floats most = floats_load(state->most + lane);
    floats total = floats_load(state->total + lane);
    floats old = total * floats_exp_neg(most - shift);
    old = floats_choose((words)(most == none), old, zero);
    total = old + sum;
    words empty = (words)(total == zero);
    floats_store(state->most + lane, next);
    floats_store(state->total + lane, total);
    floats_store(state->kept + lane, floats_choose(empty, old / total, zero));
    return floats_choose(empty, 1.0f / total, zero);
}

void ISA_NAME(attention_weights)(const struct attention_scores *s, float *block,
                                 struct attention_state *state)
{
    if (s->bias != NULL || s->softcap != 0.0f)
        ISA_NAME(attention_prepare)(s, block);
    for (uint32_t lane = 0; lane < s->vectors * LANES; lane += LANES) {
        float *own = block + lane;
        floats m = scores(s, own, lane, floats_load(state->most + lane)), sum;
        floats shift = floats_choose((words)(m == NONE), m, (floats){0});
        if (s->mark)
            sum = exponents(true, own, s->keys, shift);
        else
            sum = exponents(false, own, s->keys, shift);
        floats next = totals(state, lane, m, shift, sum);
        if (s->mark || s->dropout.given)
            weights_scale_some(s, own, lane, next);
        else if (s->dtype == SSQ_F32)
            weights_scale(SSQ_F32, own, s->keys, next);
        else if (s->dtype == SSQ_F16)
            weights_scale(SSQ_F16, own, s->keys, next);
        else
            weights_scale(SSQ_BF16, own, s->keys, next);
    }
}
