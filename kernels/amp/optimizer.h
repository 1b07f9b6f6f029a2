/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - the device words of an optimizer, and the arithmetic that its
 * kinds have in common.
 *
 * Only float32 + - *, s_div and s_sqrt, or s_quotient and s_root where what
 * is kept of a NaN is that it is one: class B. Formulas: PyTorch 2.x
 * torch.optim (single tensor), apex FusedAdam and FusedLAMB; where the order
 * of roundings differs between the two, both forms exist.
 *
 * A step is: check writes the record, the prologue (tick) the words of the
 * step, the optimizer pass everything else. Only that last pass changes state
 * (t and the random counter included), so a step that could not be enqueued
 * whole has changed nothing. */
#ifndef KERNELS_AMP_OPTIMIZER_H
#define KERNELS_AMP_OPTIMIZER_H

#include "kernels/amp/amp.h"

/* Control block of an optimizer. Words are u32; f: the bits of a float32. */
#define CONTROL_T 0u      /* successful steps */
#define CONTROL_RANDOM 1u /* counter of stochastic rounding */
/* ... of this step, written by its prologue */
#define CONTROL_SKIP 2u   /* this step changes nothing */
#define CONTROL_NEXT_T 3u /* t after this step */
#define CONTROL_FACTOR 4u /* f: gradient * this is the true gradient */
#define CONTROL_COEF 5u   /* f: and then * this, the clip coefficient */
/* ... of the host */
#define CONTROL_CLIP 6u /* f: clip_norm; 0 none */
#define CONTROL_WANT_NORM 7u
#define CONTROL_SEED_LO 8u
#define CONTROL_SEED_HI 9u
#define CONTROL_WORDS 16u

/* The words of group i begin at CONTROL_WORDS + i * GROUP_WORDS. */
#define GROUP_FLAGS 0u
#define GROUP_LR 1u          /* f: without a schedule */
#define GROUP_MOMENTUM 2u    /* f: momentum, or beta1's upper part */
#define GROUP_MOMENTUM_LO 3u /* f: beta1's lower part */
#define GROUP_MOMENTUM_C 4u  /* f: 1 - beta1; 1 with FLAG_SUM */
#define GROUP_DAMPING 5u     /* f: 1 - dampening */
#define GROUP_BETA2 6u       /* f: beta2, or alpha, upper part */
#define GROUP_BETA2_LO 7u    /* f */
#define GROUP_BETA2_C 8u     /* f: 1 - beta2 */
#define GROUP_EPS 9u         /* f */
#define GROUP_DECAY 10u      /* f */
#define GROUP_LR_DECAY 11u   /* f */
#define GROUP_MAX_NORM 12u   /* f: lamb's */
#define GROUP_T 13u          /* steps of the group, added to CONTROL_T */
/* ... of this step, written by its prologue */
#define GROUP_STEP_LR 16u      /* f: the lr in use; adagrad's decayed one */
#define GROUP_STEP_MOMENTUM 17u /* f: momentum or beta1 in use */
#define GROUP_STEP_C 18u        /* f: 1 - beta1 in use */
#define GROUP_STEP_BC1 19u      /* f: 1 - beta1^t */
#define GROUP_STEP_BC2 20u      /* f: 1 - beta2^t */
#define GROUP_STEP_ROOT2 21u    /* f: its root */
#define GROUP_STEP_SIZE 22u     /* f: lr / (1 - beta1^t) */
#define GROUP_STEP_KEEP 23u     /* f: 1 - lr decay where p is multiplied */
#define GROUP_STEP_DIVISOR 24u  /* f: of lamb's gradients */
#define GROUP_WORDS 32u

#define FLAG_NESTEROV 1u
#define FLAG_AMSGRAD 2u
#define FLAG_CENTERED 4u
#define FLAG_MAXIMIZE 8u
#define FLAG_NVLAMB 16u
#define FLAG_APEX 32u    /* SSQ_ADAM_APEX */
#define FLAG_NO_BIAS 64u /* lamb without bias correction */
#define FLAG_SUM 128u    /* lamb without averaging: m = beta1 m + g */

/* Parameter table: TABLE_WORDS words per parameter. */
#define TABLE_GROUP 0u
#define TABLE_ID 1u     /* hash of the name */
#define TABLE_MASTER 2u /* MASTER_* */
#define TABLE_FIRST_LO 3u
#define TABLE_FIRST_HI 4u /* elements of the whole before a shard */
#define TABLE_WORDS 8u

/* Where the exact value of a parameter is. */
#define MASTER_SELF 0u  /* float32, in the parameter */
#define MASTER_F32 1u   /* float32 master */
#define MASTER_SPLIT 2u /* bf16 parameter and 16 more bits */
#define MASTER_NONE 3u  /* 16 bits, rounded stochastically */

/* Statistics: STAT_WORDS words per parameter. */
#define STAT_ZEROS_LO 0u
#define STAT_ZEROS_HI 1u
#define STAT_SUBNORMALS_LO 2u
#define STAT_SUBNORMALS_HI 3u
#define STAT_EXPONENT 4u /* two's complement; 0x80000000 none */
#define STAT_ROUNDED_LO 5u
#define STAT_ROUNDED_HI 6u
#define STAT_WORDS 8u

/* ---- gradients ---- */

/* g * factor, as unscale writes it: a NaN stays itself. */
FN float gradient_unscale(float g, float factor)
{
    EXACT float x = g * factor;

    return s_is_nan(g) ? s_quiet(g) : s_canonical(x);
}

/* The gradient that an optimizer sees. */
FN float gradient_true(float g, float factor, float coef, u32 flags)
{
    EXACT float x = g * factor;

    x = x * coef;
    return (flags & FLAG_MAXIMIZE) != 0u ? s_neg(x) : x;
}

/* Decay as part of the gradient: L2. */
FN float gradient_decay(float g, float p, float decay)
{
    EXACT float x = decay == 0.0f ? g : g + decay * p;

    return x;
}

FN float accumulate_add(float sum, float g)
{
    EXACT float x = sum + g;

    return s_canonical(x);
}

/* ---- moments ---- */

/* x + c (g - x): torch's lerp for c < 1/2 and for c >= 1/2. */
FN float moment_lerp(float x, float g, float c)
{
    EXACT float d = g - x;
    EXACT float y = c < 0.5f ? x + c * d : g - d * (1.0f - c);

    return s_canonical(y);
}

/* b x + c g */
FN float moment_mix(float x, float g, float b, float c)
{
    EXACT float y = b * x + c * g;

    return s_canonical(y);
}

/* b v + c g^2 */
FN float moment_square(float v, float g, float b, float c)
{
    EXACT float y = b * v + (c * g) * g;

    return s_canonical(y);
}

/* The larger; a NaN in either is a NaN, as torch.maximum. */
FN float moment_max(float x, float v)
{
    if (s_is_nan(x) || s_is_nan(v))
        return AS_F32(F32_NAN);
    return v > x ? v : x;
}

/* p * keep, and what is left after the step. */
FN float p_keep(float p, float keep)
{
    EXACT float x = p * keep;

    return x;
}

FN float p_step(float p, float delta)
{
    EXACT float x = p - delta;

    return s_canonical(x);
}

/* ---- split masters: TransformerEngine's and Megatron's remainder form ---- */

/* A float32 word is a bf16 parameter, rounded half away from zero, and the
 * word's lower half: exact for all 2^32 words. */
FN u32 split_model(u32 word)
{
    return ((word >> 16u) + ((word >> 15u) & 1u)) & 0xffffu;
}

FN u32 split_rest(u32 word)
{
    return word & 0xffffu;
}

FN u32 split_join(u32 model, u32 rest)
{
    return ((model - (rest >> 15u)) << 16u) | rest;
}

/* ---- statistics ---- */

/* floor(log2 x) of a finite float32 magnitude > 0. */
FN u32 magnitude_exponent(u32 magnitude)
{
    return f32_exponent(magnitude) - 127u;
}

#endif
