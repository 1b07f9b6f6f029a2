/* SPDX-License-Identifier: Apache-2.0 */
/* tick.h - the words of the current step, from the overflow flag,
 * clock and schedules.
 *
 * The kernel of the op tick and its reference both call it. They
 * fetch words, look schedules up and store what comes out; everything that is
 * decided or computed on the way is decided and computed here. Words of a group
 * are read and written by WORD(i), which the caller names: word i as a u32. */
#ifndef KERNELS_AMP_TICK_H
#define KERNELS_AMP_TICK_H

#include "kernels/amp/kinds.h"

/* ---- the step ---- */

/* The input: known when a step begins. */
struct tick_given {
    u32 last_t;    /* steps that have been done */
    bool scaled;   /* there is a scaler, and gradients carry its scale */
    bool bad;      /* gradients are not finite: the overflow flag */
    bool labels;   /* some were out of range */
    bool applies_bad; /* at its minimum, under SSQ_FLOOR_APPLY */
    bool unscaled; /* gradients are true already */
    float inverse; /* 1 / scale */
    float factor;  /* of the caller */
    float norm;
    float clip;
};

/* The result, for the control block. */
struct tick_words {
    bool skip;
    u32 t; /* of this step, skipped or not */
    float factor;
    float coef;
};

/* A factor of the gradients; the norm is never negative. */
FN float clip_coefficient(float norm, float clip)
{
    if (clip == 0.0f || s_is_nan(norm))
        return 1.0f;
    EXACT float coef = s_div(clip, norm + 1e-6f);

    return coef < 1.0f ? coef : 1.0f;
}

FN STRUCT(tick_words) tick_begin(STRUCT(tick_given) given)
{
    EXACT STRUCT(tick_words) now;

    /* This decides whether the step is skipped: always if a label is out of
     * range. If gradients are not finite, only with a scaler, and not if the
     * scaler applies such steps at its minimum (SSQ_FLOOR_APPLY).
     * Without a scaler a step that is not finite is applied. */
    now.skip = given.labels ||
               (given.scaled && given.bad && !given.applies_bad);
    /* The clock stops at its end: t = 0 would begin sgd's buffers anew. */
    now.t = given.last_t == 0xffffffffu ? given.last_t : given.last_t + 1u;
    now.factor = given.scaled ? given.inverse : 1.0f;
    now.factor = given.unscaled ? 1.0f : p_keep(now.factor, given.factor);
    now.coef = clip_coefficient(given.norm, given.clip);
    return now;
}

/* ---- a group ---- */

/* The words of the host, and what a schedule has put in their place. */
struct tick_group {
    u32 flags;
    float lr;
    float lr_decay;
    float momentum;    /* or beta1: upper part */
    float momentum_lo; /* and lower */
    float momentum_c;
    float beta2;
    float beta2_lo;
    float decay;
    float max_norm;
};
#define TICK_LOAD(GROUP, WORD)                                                 \
    GROUP.flags = WORD(GROUP_FLAGS);                                           \
    GROUP.lr = AS_F32(WORD(GROUP_LR));                                         \
    GROUP.lr_decay = AS_F32(WORD(GROUP_LR_DECAY));                             \
    GROUP.momentum = AS_F32(WORD(GROUP_MOMENTUM));                             \
    GROUP.momentum_lo = AS_F32(WORD(GROUP_MOMENTUM_LO));                       \
    GROUP.momentum_c = AS_F32(WORD(GROUP_MOMENTUM_C));                         \
    GROUP.beta2 = AS_F32(WORD(GROUP_BETA2));                                   \
    GROUP.beta2_lo = AS_F32(WORD(GROUP_BETA2_LO));                             \
    GROUP.decay = AS_F32(WORD(GROUP_DECAY));                                   \
    GROUP.max_norm = AS_F32(WORD(GROUP_MAX_NORM));

/* The words that a group's elements need in this step. */
struct tick_step {
    float lr;
    float momentum;
    float momentum_c;
    float bc1; /* 1 - beta1^t */
    float bc2;
    float root2;
    float size;
    float keep;
    float divisor;
};
#define TICK_STORE(STEP, WORD)                                                 \
    WORD(GROUP_STEP_LR) = AS_U32(STEP.lr);                                     \
    WORD(GROUP_STEP_MOMENTUM) = AS_U32(STEP.momentum);                         \
    WORD(GROUP_STEP_C) = AS_U32(STEP.momentum_c);                              \
    WORD(GROUP_STEP_BC1) = AS_U32(STEP.bc1);                                   \
    WORD(GROUP_STEP_BC2) = AS_U32(STEP.bc2);                                   \
    WORD(GROUP_STEP_ROOT2) = AS_U32(STEP.root2);                               \
    WORD(GROUP_STEP_SIZE) = AS_U32(STEP.size);                                 \
    WORD(GROUP_STEP_KEEP) = AS_U32(STEP.keep);                                 \
    WORD(GROUP_STEP_DIVISOR) = AS_U32(STEP.divisor);

/* The index of step t's value in a schedule of n > 0; the last one is kept. */
FN u32 schedule_place(u32 t, u32 n)
{
    return t - 1u < n ? t - 1u : n - 1u;
}

/* 1 - b for a beta1 that a schedule gave: exact from 1/2 up. */
FN float one_minus(float b)
{
    EXACT float c = 1.0f - b;

    return c;
}

/* A schedule's momentum or beta1 is a float32, and nothing is left for the
 * lower part. */
FN STRUCT(tick_group) tick_momentum(STRUCT(tick_group) group, float value)
{
    group.momentum = value;
    group.momentum_lo = 0.0f;
    group.momentum_c = (group.flags & FLAG_SUM) != 0u ? 1.0f : one_minus(value);
    return group;
}

/* Adagrad's lr of step t >= 1. */
FN float adagrad_lr(float lr, float lr_decay, u32 t)
{
    EXACT float steps = u32_to_float(t - 1u);
    EXACT float slow = 1.0f + steps * lr_decay;

    return s_div(lr, slow);
}

/* gn is the global norm after clipping. */
FN float lamb_divisor(float gn, float limit)
{
    if (limit == 0.0f || s_is_nan(gn))
        return 1.0f;
    return gn > limit ? s_div(gn, limit) : 1.0f;
}

/* needs is kind_needs() of the optimizer's kind. */
FN STRUCT(tick_step)
    tick_end(STRUCT(tick_group) group, u32 needs, u32 t, float gn)
{
    EXACT STRUCT(tick_step) step;
    bool bias =
        (needs & NEEDS_BIAS) != 0u && (group.flags & FLAG_NO_BIAS) == 0u;
    bool keeps = (needs & NEEDS_KEEP) != 0u &&
                 (group.flags & FLAG_APEX) == 0u && group.decay != 0.0f;

    step.lr = (needs & NEEDS_SLOWING) != 0u
                  ? adagrad_lr(group.lr, group.lr_decay, t)
                  : group.lr;
    step.momentum = group.momentum;
    step.momentum_c = group.momentum_c;
    step.bc1 = 1.0f;
    step.bc2 = 1.0f;
    if (bias) {
        step.bc1 = one_minus_pow(group.momentum, group.momentum_lo, t);
        step.bc2 = one_minus_pow(group.beta2, group.beta2_lo, t);
    }
    step.root2 = s_sqrt(step.bc2);
    step.size = s_div(step.lr, step.bc1);
    step.keep = keeps ? one_minus(p_keep(step.lr, group.decay)) : 1.0f;
    step.divisor =
        (needs & NEEDS_DIVISOR) != 0u ? lamb_divisor(gn, group.max_norm) : 1.0f;
    return step;
}

#endif
