/* SPDX-License-Identifier: Apache-2.0 */
/* presets.c - the loss scalers of other systems, as options of our machine.
 *
 * Each row has the defaults of its system's own source; doc/scaler.md cites
 * them, and tests/amp/trace.c follows each system's rule step by step. */
#include "lib/amp/options.h"

#include <stdio.h>
#include <string.h>

/* An allowance and an interval that no run uses up: the scale stays. */
#define STATIC_SCALE(S)                                                        \
    {                                                                          \
        sizeof(ssq_scaler_options), S, 2.0, 0.5, UINT32_MAX, 0, 0,             \
            SSQ_FLOOR_NONE, 0.0, SSQ_CEILING_NONE, 0.0, INT32_MAX,             \
            SSQ_REFILL_CLEAN, 0.0, true, false, false, 0                       \
    }

/* A row: init, interval, first_lag, repeat_lag, floor, min, ceiling, max, H,
 * refill, match_equal, binary64; factors 2 and 0.5 in all of them. */
#define ROW(INIT, INTERVAL, FIRST, REPEAT, FLOOR, MIN, CEILING, MAX, H,        \
            REFILL, EQUAL, DOUBLE)                                             \
    {                                                                          \
        sizeof(ssq_scaler_options), INIT, 2.0, 0.5, INTERVAL, FIRST, REPEAT,   \
            SSQ_FLOOR_##FLOOR, MIN, SSQ_CEILING_##CEILING, MAX, H, REFILL,     \
            0.0, true, EQUAL, DOUBLE, 0                                        \
    }

#define TINY_F32 1.1754943508222875e-38 /* 2^-126 */
#define MAX_F32  3.4028234663852886e38
#define TWO_15   32768.0
#define TWO_16   65536.0
#define TWO_24   16777216.0
#define TWO_32   4294967296.0

static const struct {
    const char *name;
    ssq_scaler_options options;
} presets[] = {
    {"sesqui", ROW(TWO_16, 2000, 0, 0, CLAMP, 1.0, FINITE, 0.0, 2,
                   SSQ_REFILL_CLEAN, false, false)},
    {"fixed", STATIC_SCALE(TWO_16)},
    {"check", STATIC_SCALE(1.0)},
    {"pytorch", ROW(TWO_16, 2000, 0, 0, NONE, 0.0, FINITE, 0.0, 1,
                    SSQ_REFILL_NEVER, true, false)},
    {"keras3", ROW(TWO_15, 2000, 0, 0, NONE, 0.0, NONE, 0.0, 1,
                   SSQ_REFILL_NEVER, true, false)},
    {"tf_keras", ROW(TWO_15, 2000, 0, 0, CLAMP, 1.0, FINITE, 0.0, 1,
                     SSQ_REFILL_NEVER, false, false)},
    {"fastai", ROW(TWO_16, 1000, 0, 0, APPLY, 1.0, STOP, TWO_24, 1,
                   SSQ_REFILL_NEVER, false, true)},
    {"megatron", ROW(TWO_32, 1000, 0, 0, CLAMP, 1.0, NONE, 0.0, 2,
                     SSQ_REFILL_GROWTH, true, false)},
    {"deepspeed", ROW(TWO_16, 1000, 1, 0, ERROR_AT_MIN, 1.0, NONE, 0.0, 2,
                      SSQ_REFILL_GROWTH, false, true)},
    {"deepspeed_old", ROW(TWO_16, 1000, 0, 0, ERROR_AT_MIN, 1.0, NONE, 0.0, 2,
                          SSQ_REFILL_GROWTH, false, true)},
    {"deepspeed_consecutive", ROW(TWO_16, 1000, 1, 0, ERROR_AT_MIN, 1.0, NONE,
                                  0.0, 2, SSQ_REFILL_CLEAN, false, true)},
    {"deepspeed_fused", ROW(TWO_16, 1000, 1, 0, CLAMP, 1.0, NONE, 0.0, 1,
                            SSQ_REFILL_NEVER, false, true)},
    {"apex_amp", ROW(TWO_16, 2000, 0, 0, NONE, 0.0, CLAMP, TWO_24, 1,
                     SSQ_REFILL_NEVER, false, true)},
    {"apex", ROW(TWO_16, 2000, 0, 0, NONE, 0.0, CLAMP, TWO_24, 1,
                 SSQ_REFILL_NEVER, false, true)},
    {"nemo", ROW(TWO_32, 1000, 0, 0, NONE, 0.0, FINITE, 0.0, 2,
                 SSQ_REFILL_CLEAN, false, false)},
    {"jmp", ROW(TWO_15, 2000, 0, 0, CLAMP, 1.0, FINITE, 0.0, 1,
                SSQ_REFILL_NEVER, false, false)},
    {"flax", ROW(TWO_16, 2000, 1, 1, CLAMP, TINY_F32, CLAMP, MAX_F32, 1,
                 SSQ_REFILL_NEVER, false, false)},
    {"fairseq", ROW(TWO_15, 2000, 0, 0, ERROR_RESTORE, 1e-4, NONE, 0.0, 1,
                    SSQ_REFILL_NEVER, false, true)},
    {"ort", ROW(TWO_16, 2000, 0, 0, CLAMP, 1.0, CLAMP, TWO_24, 1,
                SSQ_REFILL_NEVER, false, true)},
    {"paddle", ROW(TWO_16, 2000, 0, 0, CLAMP, 1.0, FINITE, 0.0, 1,
                   SSQ_REFILL_CLEAN | SSQ_REFILL_BACKOFF, false, false)},
    {"nntrainer",
     {sizeof(ssq_scaler_options), 1.0, 2.0, 0.5, 2000, 1, 1,
      SSQ_FLOOR_ERROR_SNAP, 1.0, SSQ_CEILING_NONE, 0.0, 1, SSQ_REFILL_NEVER,
      0.0, false, false, false, 0}},
    {"tiny-cuda-nn", STATIC_SCALE(128.0)},
    {"darknet", STATIC_SCALE(1.0)},
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
