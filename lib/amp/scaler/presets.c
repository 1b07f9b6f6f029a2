/* SPDX-License-Identifier: Apache-2.0 */
/* presets.c - the loss scalers of other systems, as options of our machine.
 *
 * Each block has the defaults of its system's own source. doc/design/scaler.md
 * has them as a table. doc/design/semantics.md describes what each system does
 * around its scale, and tests/amp/rules.c has each system's rule, for trace.c.
 * A field that a block leaves out is 0: NONE for a floor or cap, NEVER for a
 * refill, false. With hysteresis 1 every overflow backs off, and refill has no
 * effect. */
#include "lib/amp/scaler/options.h"
#include "lib/core/base/words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The values that all systems share. */
#define FACTORS                                                                \
    .struct_size = sizeof(ssq_scaler_options), .growth_factor = 2.0,           \
    .backoff_factor = 0.5

/* An allowance and an interval that no run uses up: the scale stays. */
#define STATIC                                                                 \
    FACTORS, .growth_interval = UINT32_MAX, .hysteresis = INT32_MAX,           \
             .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true

/* In the order in which ssq_scaler_preset_name lists them. */
static const struct {
    const char *name;
    ssq_scaler_options options;
} presets[] = {
    /* ours: doc/design/scaler.md measures why H is 2 and why any clean step
     * refills it */
    {.name = "sesqui",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 2,
                 .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true}},
    /* the scale is always init_scale; bad steps are still skipped */
    {.name = "fixed", .options = {STATIC, .init_scale = 0x1p16}},
    /* no scaling: for bf16 and float32, which need none */
    {.name = "check", .options = {STATIC, .init_scale = 1.0}},
    /* its kernel tests `growth_tracker == interval`, hence match_equal */
    {.name = "pytorch",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true, .match_equal = true}},
    /* neither floor nor cap: the scale may reach 0 and infinity */
    {.name = "keras3",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .hysteresis = 1, .reset_on_inf = true, .match_equal = true}},
    {.name = "tf_keras",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true}},
    /* Python's floats are doubles: this one and all others with binary64 */
    {.name = "fastai",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .floor = SSQ_FLOOR_APPLY, .min_scale = 1.0,
                 .cap = SSQ_CEILING_STOP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    /* v1 from 1.0.43 to March 2019, dynamic=True: every overflow is skipped,
     * and max_scale did not exist */
    {.name = "fastai_old",
     .options = {FACTORS, .init_scale = 0x1p32, .growth_interval = 1000,
                 .hysteresis = 1, .reset_on_inf = true, .binary64 = true}},
    /* v2's to_fp16, whose scaler is torch's GradScaler */
    {.name = "fastai2",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true, .match_equal = true}},
    /* v2's to_non_native_fp16: max_loss_scale is the initial value and no cap,
     * and an overflow does not change the count of good steps */
    {.name = "fastai2_non_native",
     .options = {FACTORS, .init_scale = 0x1p24, .growth_interval = 500,
                 .hysteresis = 1, .binary64 = true, .match_equal = true}},
    {.name = "megatron",
     .options = {FACTORS, .init_scale = 0x1p32, .growth_interval = 1000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0, .hysteresis = 2,
                 .refill = SSQ_REFILL_GROWTH, .reset_on_inf = true,
                 .match_equal = true}},
    {.name = "colossalai",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 1000,
                 .hysteresis = 2, .refill = SSQ_REFILL_GROWTH,
                 .reset_on_inf = true, .match_equal = true}},
    /* DeepSpeed's ZeRO since June 2025, with one more step before the first
     * growth. _old is ZeRO before that, and _consecutive is ZeRO with the
     * option consecutive_hysteresis. _fused is FP16_Optimizer, of stage 0,
     * which has no allowance and clamps */
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
    /* one machine with two names */
    {.name = "apex_amp",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    {.name = "apex",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    /* callers set scale, interval and allowance: NeMo's configurations */
    {.name = "nemo",
     .options = {FACTORS, .init_scale = 0x1p32, .growth_interval = 1000,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 2,
                 .refill = SSQ_REFILL_CLEAN, .reset_on_inf = true}},
    {.name = "jmp",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .reset_on_inf = true}},
    /* counts before it compares, so that every growth comes one step later; the
     * limits are the smallest normal and the largest finite float32 */
    {.name = "flax",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .first_lag = 1, .repeat_lag = 1, .floor = SSQ_FLOOR_CLAMP,
                 .min_scale = 0x1p-126, .cap = SSQ_CEILING_CLAMP,
                 .max_scale = 0x1.fffffep127, .hysteresis = 1,
                 .reset_on_inf = true}},
    /* its tolerance is 0 unless the caller sets one */
    {.name = "fairseq",
     .options = {FACTORS, .init_scale = 0x1p15, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_ERROR_RESTORE, .min_scale = 1e-4,
                 .hysteresis = 1, .reset_on_inf = true, .binary64 = true}},
    {.name = "ort",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_CLAMP, .max_scale = 0x1p24, .hysteresis = 1,
                 .reset_on_inf = true, .binary64 = true}},
    /* counts successive overflows, so a clean step and a backoff both refill */
    {.name = "paddle",
     .options = {FACTORS, .init_scale = 0x1p16, .growth_interval = 2000,
                 .floor = SSQ_FLOOR_CLAMP, .min_scale = 1.0,
                 .cap = SSQ_CEILING_FINITE, .hysteresis = 1,
                 .refill = SSQ_REFILL_CLEAN | SSQ_REFILL_BACKOFF,
                 .reset_on_inf = true}},
    /* the only one whose streak is not restarted by an overflow */
    {.name = "nntrainer",
     .options = {FACTORS, .init_scale = 1.0, .growth_interval = 2000,
                 .first_lag = 1, .repeat_lag = 1, .floor = SSQ_FLOOR_ERROR_SNAP,
                 .min_scale = 1.0, .hysteresis = 1}},
    /* these two never react to overflow; bad steps are still skipped */
    {.name = "tiny-cuda-nn", .options = {STATIC, .init_scale = 128.0}},
    {.name = "darknet", .options = {STATIC, .init_scale = 1.0}},
};

#define PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *ssq_scaler_preset_name(size_t i)
{
    return i < PRESETS ? presets[i].name : NULL;
}

/* Refuse a name, and list the presets, in at most half of an error's text. */
static ssq_status unknown(struct word preset)
{
    char names[ERROR_TEXT / 2] = "";
    size_t at = 0;
    for (size_t i = 0; i < PRESETS; i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
                               i == 0 ? "" : ", ", presets[i].name);
    return error_set(SSQ_ERR_NOT_FOUND,
                     "scaler: there is no preset \"%.*s\"; there are %s",
                     WORD_TEXT(preset), names);
}

/* ---- texts: "sesqui,init_scale=1024" ---- */

/* The numbers that a text may change: their names and offsets. */
#define SETTING(name) #name, offsetof(ssq_scaler_options, name)

static const struct setting {
    const char *name;
    size_t at;
    bool whole; /* a uint32_t, otherwise a double */
} settings[] = {{SETTING(init_scale), false},
                {SETTING(growth_factor), false},
                {SETTING(backoff_factor), false},
                {SETTING(growth_interval), true},
                {SETTING(first_lag), true},
                {SETTING(repeat_lag), true},
                {SETTING(min_scale), false},
                {SETTING(max_scale), false},
                {SETTING(hysteresis), true},
                {SETTING(tolerance), false},
                {SETTING(max_consecutive_skips), true}};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Refuse an unknown setting, and list all settings. */
static ssq_status no_setting(const char *text, struct word name)
{
    char names[ERROR_TEXT / 2] = "";
    size_t at = 0;
    for (size_t i = 0; i < SETTINGS; i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
                               i == 0 ? "" : ", ", settings[i].name);
    return error_set(SSQ_ERR_NOT_FOUND,
                     "scaler: there is no setting \"%.*s\" in \"%.200s\"; "
                     "there are %s",
                     WORD_TEXT(name), text, names);
}

/* Refuse a limit that the preset's rules do not read. */
static ssq_status presets_check_read(const char *text, struct word name,
                                     const ssq_scaler_options *o)
{
    const bool floor =
        o->floor != SSQ_FLOOR_NONE && o->floor != SSQ_FLOOR_ERROR_SNAP;
    const bool cap = o->cap == SSQ_CEILING_CLAMP || o->cap == SSQ_CEILING_STOP;
    if ((floor || !word_is(name, "min_scale")) &&
        (cap || !word_is(name, "max_scale")))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "scaler: \"%.200s\": the preset has no limit that "
                     "\"%.*s\" would move: set %s in ssq_scaler_options, too",
                     text, WORD_TEXT(name),
                     word_is(name, "min_scale") ? "floor" : "cap");
}

/* Read one word of a text: "growth_interval=500". */
static ssq_status read_setting(const char *text, struct word w,
                               ssq_scaler_options *o)
{
    struct word name, value;
    double x = 0.0;
    if (!word_split(w, &name, &value))
        return error_set(SSQ_ERR_INVALID,
                         "scaler: \"%.*s\" in \"%.200s\" has no value: "
                         "SETTING=NUMBER is expected",
                         WORD_TEXT(w), text);
    const struct setting *s = settings;
    while (s < settings + SETTINGS && !word_is(name, s->name))
        s++;
    if (s == settings + SETTINGS)
        return no_setting(text, name);
    if (!word_number(value, &x) ||
        (s->whole && (x > UINT32_MAX || x != (double)(uint32_t)x)))
        return error_set(SSQ_ERR_INVALID,
                         "scaler: %s is \"%.*s\" in \"%.200s\", expected %s",
                         s->name, WORD_TEXT(value), text,
                         s->whole ? "a whole number below 2^32" : WORD_NUMBER);
    if (s->whole)
        *(uint32_t *)((char *)o + s->at) = (uint32_t)x;
    else
        *(double *)((char *)o + s->at) = x;
    return presets_check_read(text, name, o);
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
    struct word w = word_first(preset);
    size_t i = 0;
    while (i < PRESETS && !word_is(w, presets[i].name))
        i++;
    if (i == PRESETS)
        return unknown(w);
    ssq_scaler_options o = presets[i].options;
    ssq_status st = SSQ_OK;
    while (st == SSQ_OK && word_next(&w))
        st = read_setting(preset, w, &o);
    if (st == SSQ_OK)
        *options = o;
    return st;
}
