/* SPDX-License-Identifier: Apache-2.0 */
/* presets.c - the loss scalers of other systems, as options of our machine.
 *
 * Each block has the defaults of its system's own source; doc/scaler.md cites
 * them, and tests/amp/rules.c has each system's rule, for trace.c. */
#include "lib/amp/options.h"

#include <stdio.h>
#include <string.h>

/* What all systems have in common. */
#define FACTORS                                                                \
    .struct_size = sizeof(ssq_scaler_options), .growth_factor = 2.0,           \
    .backoff_factor = 0.5

/* An allowance and an interval that no run uses up: the scale stays. */
#define STATIC                                                                 \
    FACTORS, .growth_interval = UINT32_MAX, .hysteresis = INT32_MAX,           \
             .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true

static const struct {
    const char *name;
    ssq_scaler_options options;
} presets[] = {
    {.name = "sesqui",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 2,
                 .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true}},
    {.name = "fixed", .options = {STATIC, .init_scale = 0x1p16}},
    {.name = "check", .options = {STATIC, .init_scale = 1.0}},
    {.name = "pytorch",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true, .match_equal = true}},
    {.name = "keras3",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .hysteresis = 1, .reset_on_inf = true, .match_equal = true}},
    {.name = "tf_keras",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true}},
    {.name = "fastai",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .floor = SSQ_FLOOR_APPLY, .min_scale = 1.0,
                 .cap = SSQ_CEILING_STOP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "megatron",
     .options = {FACTORS, .init_scale = 0x1p32, .growth_interval = 1000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0, .hysteresis = 2,
                 .refill = SSQ_REFILL_GROWTH, .reset_on_inf = true,
                 .match_equal = true}},
    {.name = "colossalai",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .hysteresis = 2, .refill = SSQ_REFILL_GROWTH,
                 .reset_on_inf = true, .match_equal = true}},
    {.name = "deepspeed",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .first_lag = 1, .floor = SSQ_FLOOR_ERROR_AT_MIN,
                 .min_scale = 1.0, .hysteresis = 2, .refill = SSQ_REFILL_GROWTH,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "deepspeed_old",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .floor = SSQ_FLOOR_ERROR_AT_MIN, .min_scale = 1.0,
                 .hysteresis = 2, .refill = SSQ_REFILL_GROWTH,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "deepspeed_consecutive",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .first_lag = 1, .floor = SSQ_FLOOR_ERROR_AT_MIN,
                 .min_scale = 1.0, .hysteresis = 2, .refill = SSQ_REFILL_CLEAN,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "deepspeed_fused",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .first_lag = 1, .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .hysteresis = 1, .reset_on_inf = true, .binary64 = true}},
    {.name = "apex_amp",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "apex",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "nemo",
     .options = {FACTORS, .init_scale = 0x1p32, .growth_interval = 1000,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 2,
                 .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true}},
    {.name = "jmp",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true}},
    {.name = "flax",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .first_lag = 1, .repeat_lag = 1, .floor = SSQ_FLOOR_CLAMP,
                 .min_scale = 0x1p-126, .cap = SSQ_CEILING_CLAMP,
                 .max_scale = 0x1.fffffep127, .hysteresis = 1,
                 .reset_on_inf = true}},
    {.name = "fairseq",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_ERROR_RESTORE, .min_scale = 1e-4,
                 .hysteresis = 1, .reset_on_inf = true, .binary64 = true}},
    {.name = "ort",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "paddle",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .refill = SSQ_REFILL_CLEAN | SSQ_REFILL_BACKOFF,
                 .reset_on_inf = true}},
    {.name = "nntrainer",
     .options = {FACTORS, .init_scale = 1.0, .growth_interval = 2000,
                 .first_lag = 1, .repeat_lag = 1, .floor = SSQ_FLOOR_ERROR_SNAP,
                 .min_scale = 1.0, .hysteresis = 1}},
    {.name = "tiny-cuda-nn", .options = {STATIC, .init_scale = 128.0}},
    {.name = "darknet", .options = {STATIC, .init_scale = 1.0}},
};

#define PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *ssq_scaler_preset_name(size_t i)
{
    return i < PRESETS ? presets[i].name : NULL;
}

static ssq_status unknown(const char *preset)
{
    char names[ERROR_TEXT / 2] = "";
    size_t at = 0;
    for (size_t i = 0; i < PRESETS; i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
                               i == 0 ? "" : ", ", presets[i].name);
    return error_set(SSQ_ERR_NOT_FOUND,
                     "scaler: there is no preset \"%.32s\"; there are %s",
                     preset, names);
}

ssq_status ssq_scaler_options_preset(const char *preset,
                                     ssq_scaler_options *options)
{
    if (preset == NULL || options == NULL)
        return error_set(SSQ_ERR_INVALID, "scaler_options_preset: %s is NULL",
                         preset == NULL ? "preset" : "options");
    if (options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "scaler_options_preset: struct_size is %zu, expected "
                         "%zu",
                         options->struct_size, sizeof(*options));
    for (size_t i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, preset) == 0) {
            *options = presets[i].options;
            return SSQ_OK;
        }
    return unknown(preset);
}
