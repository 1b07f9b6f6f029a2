/* SPDX-License-Identifier: Apache-2.0 */
/* attention_factors.c - from products of queries and keys, and of the result's
 * gradient and values, to what gradients are multiplied with. */
#include "backends/cpu/isa/attention/attention.h"
#include "backends/cpu/isa/exp.h"

/* Of one vector of queries. */
struct queries {
    uint32_t lane;
    words dead; /* all bits: it has seen no key */
    floats lse, rest, delta;
};

static __attribute__((noinline)) floats exp_any(floats x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = s_exp(x[i]);
    return x;
}

/* A saved lse may belong to smaller scores, if others rounded them. */
INLINE floats exp_of(floats x)
{
    if (floats_any_above(x, floats_splat(EXP_MOST)))
        return exp_any(x);
    return floats_exp_neg(x);
}

/* Key j: its scores are x. dtype and more are constants; more: there are marks,
 * dropout or bends. */
INLINE void factor(const struct attention_scores *s, const uint32_t dtype,
                   const bool more, const struct queries *q, uint32_t j,
                   floats x, float *block, float *slopes)
{
    const floats none = floats_splat(NONE), zero = {0};
    floats t = floats_choose(q->dead, (x - q->lse) - q->rest, none);
    floats w = exp_of(t), p = w;
    floats change = floats_load(slopes);
    if (more && s->dropout.given) {
        words gone = ISA_NAME(attention_dropped)(&s->dropout, q->lane, j);
        p = floats_choose(gone, p * s->dropout.keep, zero);
        change = floats_choose(gone, change * s->dropout.keep, zero);
    }
    w = w * (change - q->delta);
    if (more && s->bend != NULL)
        w = w * floats_load(s->bend + (size_t)j * QUERY_BLOCK + q->lane);
    w = floats_round(w, dtype);
    p = floats_round(p, dtype);
    floats instead = zero;
    if (more) {
        w = floats_canonical(w);
        p = floats_canonical(p);
        instead = s->mark ? (floats)((words){0} + TILE_SKIP) : zero;
        p = floats_choose((words)(t == none), p, instead);
    }
    floats_store(block, floats_choose((words)(t == none), w, instead));
    floats_store(slopes, p);
}

INLINE void factors(const struct attention_scores *s, const uint32_t dtype,
                    const bool more, const struct queries *q, float *block,
                    float *slopes)
{
    const uint32_t clear = rows_clear(s, q->lane);
    const words lanes = lanes_from(q->lane);
    const bool ready = more && (s->bias != NULL || s->softcap != 0.0f);
    const floats scale = floats_splat(ready ? 1.0f : s->scale);
    uint32_t j = 0;
    for (; j < clear; j++, block += QUERY_BLOCK, slopes += QUERY_BLOCK)
        factor(s, dtype, more, q, j, scale * floats_load(block), block, slopes);
    for (; j < s->keys; j++, block += QUERY_BLOCK, slopes += QUERY_BLOCK) {
        const words hidden =
            (words)((ints)lanes < (ints)((words){0} + (uint32_t)s->first + j));
        floats x = floats_choose(hidden, scale * floats_load(block),
                                 floats_splat(NONE));
        factor(s, dtype, more, q, j, x, block, slopes);
    }
}

static void some_factors(const struct attention_scores *s,
                         const struct queries *q, float *block, float *slopes)
{
    if (s->dtype == SSQ_F32)
        factors(s, SSQ_F32, true, q, block, slopes);
    else if (s->dtype == SSQ_F16)
        factors(s, SSQ_F16, true, q, block, slopes);
    else
        factors(s, SSQ_BF16, true, q, block, slopes);
}

void ISA_NAME(attention_factors)(const struct attention_scores *s, float *block,
                                 float *slopes,
                                 const struct attention_saved *saved)
{
    bool prepare = s->bias != NULL || s->softcap != 0.0f;
    if (prepare)
        ISA_NAME(attention_prepare)(s, block);
    for (uint32_t lane = 0; lane < s->vectors * LANES; lane += LANES) {
        floats lse = floats_load(saved->lse + lane);
        const struct queries q = {lane, (words)(lse == NONE), lse,
                                  floats_load(saved->rest + lane),
                                  floats_load(saved->delta + lane)};
        float *own = block + lane, *own_slopes = slopes + lane;
        if (prepare || s->mark || s->dropout.given)
            some_factors(s, &q, own, own_slopes);
        else if (s->dtype == SSQ_F32)
            factors(s, SSQ_F32, false, &q, own, own_slopes);
        else if (s->dtype == SSQ_F16)
            factors(s, SSQ_F16, false, &q, own, own_slopes);
        else
            factors(s, SSQ_BF16, false, &q, own, own_slopes);
    }
}
