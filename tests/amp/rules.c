/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - every loss scaler's own update, written from its own source. */
#include "tests/amp/rules.h"

#include <float.h>
#include <math.h>

/* aten/src/ATen/native/cuda/AmpKernels.cu, amp_update_scale_cuda_kernel */
static ssq_scale_action pytorch(struct system *s, bool inf)
{
    if (inf) {
        s->scale = (float)((double)s->scale * s->o.backoff_factor);
        s->counter = 0;
        return SSQ_SCALE_BACKOFF;
    }
    int64_t successful = s->counter + 1;
    if (successful == s->o.growth_interval) {
        float grown = (float)((double)s->scale * s->o.growth_factor);
        if (isfinite(grown))
            s->scale = grown;
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    s->counter = successful;
    return SSQ_SCALE_CLEAN;
}

/* keras/src/optimizers/loss_scale_optimizer.py */
static ssq_scale_action keras3(struct system *s, bool inf)
{
    if (inf) {
        s->counter = 0;
        s->scale = s->scale / 2.0f;
        return SSQ_SCALE_BACKOFF;
    }
    if (s->counter == (int64_t)s->o.growth_interval - 1) {
        s->counter = 0;
        s->scale = s->scale * 2.0f;
        return SSQ_SCALE_GROWTH;
    }
    s->counter += 1;
    return SSQ_SCALE_CLEAN;
}

/* tf_keras/mixed_precision/loss_scale_optimizer.py, _DynamicLossScaleState */
static ssq_scale_action tf_keras(struct system *s, bool inf)
{
    float multiplier = (float)s->o.growth_factor;
    if (inf) {
        s->counter = 0;
        s->scale = fmaxf(s->scale / multiplier, 1.0f);
        return SSQ_SCALE_BACKOFF;
    }
    if (s->counter + 1 >= s->o.growth_interval) {
        if (isfinite(s->scale * multiplier))
            s->scale = s->scale * multiplier;
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    s->counter += 1;
    return SSQ_SCALE_CLEAN;
}

/* fastai 1.0.61, fastai/callbacks/fp16.py, MixedPrecision.on_backward_end:
 * at a scale of 1 the gradients are used, finite or not */
static ssq_scale_action fastai(struct system *s, bool inf)
{
    if (inf && s->wide > 1.0) {
        s->wide /= 2.0;
        s->counter = 0;
        return SSQ_SCALE_BACKOFF;
    }
    ssq_scale_action action = SSQ_SCALE_CLEAN;
    s->counter += 1;
    if (s->counter >= s->o.growth_interval) {
        action = SSQ_SCALE_CAPPED;
        if (s->wide < s->o.max_scale) {
            s->wide *= 2.0;
            s->counter = 0;
            action = SSQ_SCALE_GROWTH;
        }
    }
    return inf ? SSQ_SCALE_POISON : action;
}

/* fastai 1.0.48, the same function: every overflow is skipped, and the scale
 * grows without a limit */
static ssq_scale_action fastai_old(struct system *s, bool inf)
{
    if (inf) {
        s->wide /= 2.0;
        s->counter = 0;
        return SSQ_SCALE_BACKOFF;
    }
    s->counter += 1;
    if (s->counter < s->o.growth_interval)
        return SSQ_SCALE_CLEAN;
    s->wide *= 2.0;
    s->counter = 0;
    return SSQ_SCALE_GROWTH;
}

/* fastai 2, fastai/callback/fp16.py, NonNativeMixedPrecision.before_step: an
 * overflow raises CancelBatchException, and self.count stays as it is */
static ssq_scale_action fastai2_non_native(struct system *s, bool inf)
{
    if (inf) {
        s->wide /= 2.0; /* div_factor */
        return SSQ_SCALE_BACKOFF;
    }
    s->counter += 1;
    if (s->counter == s->o.growth_interval) { /* scale_wait */
        s->counter = 0;
        s->wide *= 2.0;
        return SSQ_SCALE_GROWTH;
    }
    return SSQ_SCALE_CLEAN;
}

/* megatron/core/optimizer/grad_scaler.py, DynamicGradScaler; the factors meet
 * a float32 tensor, so they are float32 */
static ssq_scale_action megatron(struct system *s, bool inf)
{
    if (inf) {
        s->counter = 0;
        s->hysteresis -= 1;
        if (s->hysteresis > 0)
            return SSQ_SCALE_HOLD;
        s->scale = fmaxf(s->scale * (float)s->o.backoff_factor, 1.0f);
        return SSQ_SCALE_BACKOFF;
    }
    s->counter += 1;
    if (s->counter == s->o.growth_interval) {
        s->counter = 0;
        s->hysteresis = s->o.hysteresis;
        s->scale = s->scale * (float)s->o.growth_factor;
        return SSQ_SCALE_GROWTH;
    }
    return SSQ_SCALE_CLEAN;
}

/* colossalai/amp/naive_amp/grad_scaler/dynamic_grad_scaler.py: overflows are
 * counted up, without a floor or a ceiling; the factors meet a float32 tensor
 */
static ssq_scale_action colossalai(struct system *s, bool inf)
{
    if (inf) {
        s->overflows++;
        s->counter = 0;
        if (s->overflows < s->o.hysteresis)
            return SSQ_SCALE_HOLD;
        s->scale *= (float)s->o.backoff_factor;
        return SSQ_SCALE_BACKOFF;
    }
    if (++s->counter != s->o.growth_interval)
        return SSQ_SCALE_CLEAN;
    s->counter = s->overflows = 0;
    s->scale *= (float)s->o.growth_factor;
    return SSQ_SCALE_GROWTH;
}

/* deepspeed/runtime/fp16/loss_scaler.py, DynamicLossScaler.update_scale.
 * stable: the interval of clean steps as that version counts it. */
static ssq_scale_action deepspeed_step(struct system *s, bool inf,
                                       bool consecutive, int64_t stable)
{
    if (inf) {
        s->last_overflow = s->iter;
        s->iter += 1;
        if (s->hysteresis != 1) {
            s->hysteresis -= 1;
            return SSQ_SCALE_HOLD;
        }
        if (s->wide == 1.0)
            return SSQ_SCALE_FLOOR;
        s->wide = fmax(s->wide / 2.0, 1.0);
        return SSQ_SCALE_BACKOFF;
    }
    s->iter += 1;
    if (consecutive)
        s->hysteresis = s->o.hysteresis;
    if (stable > 0 && stable % s->o.growth_interval == 0) {
        s->hysteresis = s->o.hysteresis;
        s->wide *= 2.0;
        return SSQ_SCALE_GROWTH;
    }
    return SSQ_SCALE_CLEAN;
}

static ssq_scale_action deepspeed(struct system *s, bool inf)
{
    return deepspeed_step(s, inf, false, s->iter - s->last_overflow - 1);
}

static ssq_scale_action deepspeed_old(struct system *s, bool inf)
{
    return deepspeed_step(s, inf, false, s->iter - s->last_overflow);
}

static ssq_scale_action deepspeed_consecutive(struct system *s, bool inf)
{
    return deepspeed_step(s, inf, true, s->iter - s->last_overflow - 1);
}

/* deepspeed/runtime/fp16/fused_optimizer.py, FP16_Optimizer._update_scale */
static ssq_scale_action deepspeed_fused(struct system *s, bool inf)
{
    ssq_scale_action action = SSQ_SCALE_CLEAN;
    if (inf) {
        s->wide = fmax(s->wide / 2.0, 1.0);
        s->last_overflow = s->iter;
        action = SSQ_SCALE_BACKOFF;
    } else {
        int64_t stable = s->iter - s->last_overflow - 1;
        if (stable > 0 && stable % s->o.growth_interval == 0) {
            s->wide *= 2.0;
            action = SSQ_SCALE_GROWTH;
        }
    }
    s->iter += 1;
    return action;
}

/* apex/amp/scaler.py, LossScaler.update_scale */
static ssq_scale_action apex_amp(struct system *s, bool inf)
{
    ssq_scale_action action = SSQ_SCALE_CLEAN;
    if (inf) {
        s->wide = s->wide / 2.0;
        s->counter = 0;
        action = SSQ_SCALE_BACKOFF;
    } else {
        s->counter += 1;
    }
    if (s->counter == s->o.growth_interval) {
        s->wide = fmin(s->o.max_scale, s->wide * 2.0);
        s->counter = 0;
        action = SSQ_SCALE_GROWTH;
    }
    return action;
}

/* apex/csrc/update_scale_hysteresis.cu */
static ssq_scale_action nemo(struct system *s, bool inf)
{
    if (inf)
        s->hysteresis -= 1;
    else
        s->hysteresis = s->o.hysteresis;
    if (inf && s->hysteresis > 0) {
        s->counter = 0;
        return SSQ_SCALE_HOLD;
    }
    if (inf) {
        s->scale = (float)((double)s->scale * s->o.backoff_factor);
        s->counter = 0;
        return SSQ_SCALE_BACKOFF;
    }
    if (s->counter + 1 == s->o.growth_interval) {
        float grown = (float)((double)s->scale * s->o.growth_factor);
        if (isfinite(grown))
            s->scale = grown;
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    s->counter += 1;
    return SSQ_SCALE_CLEAN;
}

/* jmp/_src/loss_scale.py, DynamicLossScale.adjust */
static ssq_scale_action jmp(struct system *s, bool inf)
{
    int64_t period = s->o.growth_interval;
    float factor = (float)s->o.growth_factor;
    bool last = s->counter == period - 1;
    float grown = s->scale * factor;
    if (inf)
        s->scale = fmaxf(1.0f, s->scale / factor);
    else if (last)
        s->scale = isfinite(grown) ? grown : s->scale;
    s->counter = inf ? 0 : (s->counter + 1) % period;
    return inf ? SSQ_SCALE_BACKOFF
               : (last ? SSQ_SCALE_GROWTH : SSQ_SCALE_CLEAN);
}

/* flax/training/dynamic_scale.py, DynamicScale.value_and_grad */
static ssq_scale_action flax(struct system *s, bool inf)
{
    bool grow = s->counter == s->o.growth_interval;
    float finite_scale =
        grow ? fminf(s->scale * (float)s->o.growth_factor, FLT_MAX) : s->scale;
    float inf_scale = fmaxf(s->scale * (float)s->o.backoff_factor, FLT_MIN);
    s->scale = inf ? inf_scale : finite_scale;
    s->counter = grow || inf ? 0 : s->counter + 1;
    return inf ? SSQ_SCALE_BACKOFF
               : (grow ? SSQ_SCALE_GROWTH : SSQ_SCALE_CLEAN);
}

/* fairseq/optim/dynamic_loss_scaler.py */
static ssq_scale_action fairseq(struct system *s, bool inf)
{
    ssq_scale_action action = SSQ_SCALE_CLEAN;
    if (inf) {
        double prev_scale = s->wide;
        double iter_since_rescale = (double)(s->iter - s->last_rescale);
        s->last_overflow = s->iter;
        s->overflows += 1;
        action = SSQ_SCALE_HOLD;
        if ((double)s->overflows / iter_since_rescale >= s->o.tolerance) {
            s->wide /= 2.0;
            s->last_rescale = s->iter;
            s->overflows = 0;
            action = SSQ_SCALE_BACKOFF;
        }
        if (s->wide <= s->o.min_scale) {
            s->wide = prev_scale;
            return SSQ_SCALE_FLOOR;
        }
    } else if ((s->iter - s->last_overflow) % s->o.growth_interval == 0) {
        s->wide *= 2.0;
        s->last_rescale = s->iter;
        action = SSQ_SCALE_GROWTH;
    }
    s->iter += 1;
    return action;
}

/* onnxruntime/training/amp/loss_scaler.py, DynamicLossScaler.update */
static ssq_scale_action ort(struct system *s, bool inf)
{
    if (inf) {
        s->wide = fmax(1.0, s->wide / 2.0);
        s->counter = 0;
        return SSQ_SCALE_BACKOFF;
    }
    s->counter += 1;
    if (s->counter >= s->o.growth_interval) {
        s->wide = fmin(s->o.max_scale, s->wide * 2.0);
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    return SSQ_SCALE_CLEAN;
}

/* paddle/phi/kernels/impl/amp_kernel_impl.h, Update; the ratios are float */
static ssq_scale_action paddle(struct system *s, bool inf)
{
    if (inf) {
        s->counter = 0;
        s->bad += 1;
        if (s->bad != s->o.hysteresis) /* decr_every_n_nan_or_inf */
            return SSQ_SCALE_HOLD;
        float down = s->scale * (float)s->o.backoff_factor;
        s->scale = down < 1.0f ? 1.0f : down;
        s->bad = 0;
        return SSQ_SCALE_BACKOFF;
    }
    s->bad = 0;
    s->counter += 1;
    if (s->counter == s->o.growth_interval) {
        float up = s->scale * (float)s->o.growth_factor;
        s->scale = isfinite(up) ? up : s->scale;
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    return SSQ_SCALE_CLEAN;
}

/* nntrainer/graph/network_graph.cpp, backwarding; growth as flax's, and an
 * overflow leaves the counter alone */
static ssq_scale_action nntrainer(struct system *s, bool inf)
{
    if (inf) {
        if ((double)(s->scale - 1.0f) < 10e-6)
            return SSQ_SCALE_FLOOR;
        s->scale = s->scale > 1.5f ? s->scale * 0.5f : 1.0f;
        return SSQ_SCALE_BACKOFF;
    }
    if (s->counter == s->o.growth_interval) {
        s->scale = s->scale * 2.0f;
        s->counter = 0;
        return SSQ_SCALE_GROWTH;
    }
    s->counter += 1;
    return SSQ_SCALE_CLEAN;
}

/* A static scale whose user skips steps by hand. */
static ssq_scale_action unmoved(struct system *s, bool inf)
{
    s->counter = inf ? 0 : s->counter + 1;
    return inf ? SSQ_SCALE_HOLD : SSQ_SCALE_CLEAN;
}

/* Ours, in words: two overflows in a row halve the scale, down to 1; 2000 clean
 * steps in a row double it while that is finite. */
static ssq_scale_action sesqui(struct system *s, bool inf)
{
    s->bad = inf ? s->bad + 1 : 0;
    s->counter = inf ? 0 : s->counter + 1;
    if (inf && s->bad < 2)
        return SSQ_SCALE_HOLD;
    if (inf) {
        s->scale = fmaxf(s->scale * 0.5f, 1.0f);
        return SSQ_SCALE_BACKOFF;
    }
    if (s->counter < s->o.growth_interval)
        return SSQ_SCALE_CLEAN;
    s->counter = 0;
    if (isfinite(s->scale * 2.0f))
        s->scale *= 2.0f;
    return SSQ_SCALE_GROWTH;
}

const struct rule rules[] = {
    {.preset = "sesqui", .step = sesqui, .counter = true},
    {.preset = "fixed", .step = unmoved, .counter = true},
    {.preset = "check", .step = unmoved, .counter = true},
    {.preset = "pytorch",
     .step = pytorch,
     .counter = true,
     .any_factor = true,
     .double_factor = true},
    {.preset = "keras3", .step = keras3, .counter = true},
    {.preset = "tf_keras", .step = tf_keras, .counter = true},
    {.preset = "fastai", .step = fastai, .binary64 = true, .counter = true},
    {.preset = "fastai_old",
     .step = fastai_old,
     .binary64 = true,
     .counter = true},
    /* fastai 2, MixedPrecision: torch's GradScaler with its defaults */
    {.preset = "fastai2",
     .step = pytorch,
     .counter = true,
     .any_factor = true,
     .double_factor = true},
    {.preset = "fastai2_non_native",
     .step = fastai2_non_native,
     .binary64 = true,
     .counter = true},
    {.preset = "megatron",
     .step = megatron,
     .counter = true,
     .hysteresis = true,
     .any_factor = true},
    {.preset = "colossalai",
     .step = colossalai,
     .counter = true,
     .any_factor = true,
     .any_allowance = true},
    {.preset = "deepspeed", .step = deepspeed, .binary64 = true},
    {.preset = "deepspeed_old", .step = deepspeed_old, .binary64 = true},
    {.preset = "deepspeed_consecutive",
     .step = deepspeed_consecutive,
     .binary64 = true},
    {.preset = "deepspeed_fused", .step = deepspeed_fused, .binary64 = true},
    {.preset = "apex_amp", .step = apex_amp, .binary64 = true, .counter = true},
    {.preset = "apex", .step = apex_amp, .binary64 = true, .counter = true},
    {.preset = "nemo",
     .step = nemo,
     .counter = true,
     .hysteresis = true,
     .any_factor = true,
     .double_factor = true},
    {.preset = "jmp", .step = jmp, .counter = true},
    {.preset = "flax", .step = flax, .counter = true, .any_factor = true},
    {.preset = "fairseq", .step = fairseq, .binary64 = true, .tolerance = true},
    {.preset = "ort", .step = ort, .binary64 = true, .counter = true},
    {.preset = "paddle",
     .step = paddle,
     .counter = true,
     .any_factor = true,
     .any_allowance = true},
    {.preset = "nntrainer", .step = nntrainer, .counter = true},
    {.preset = "tiny-cuda-nn", .step = unmoved, .counter = true},
    {.preset = "darknet", .step = unmoved, .counter = true},
};
const size_t rules_count = sizeof(rules) / sizeof(rules[0]);
