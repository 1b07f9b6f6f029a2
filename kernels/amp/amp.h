/* SPDX-License-Identifier: Apache-2.0 */
/* amp.h - the device words of mixed precision: scaler block, check record.
 *
 * Words are u32; those marked f hold the bits of a float32. Everything a step
 * must know is here, so that no launch argument changes between steps. */
#ifndef KERNELS_AMP_AMP_H
#define KERNELS_AMP_AMP_H

#include "kernels/scalar/scalar.h"

/* Scaler block: state. */
#define SCALER_SCALE       0u /* f: the loss scale in use */
#define SCALER_INVERSE     1u /* f: 1 / scale, rounded to float32 */
#define SCALER_VERDICT     2u /* VERDICT_, the most of the checks since the
                                 last update */
#define SCALER_GOOD        3u
#define SCALER_HYST        4u /* two's complement */
#define SCALER_GROWN       5u
#define SCALER_SINCE       6u
#define SCALER_OVF         7u
#define SCALER_UPDATES     8u
#define SCALER_SKIPPED     9u
#define SCALER_CONSECUTIVE 10u
#define SCALER_LAST_SKIP   11u
#define SCALER_GROWTHS     12u
#define SCALER_BACKOFFS    13u
#define SCALER_EVENTS      14u
#define SCALER_ACTION      15u
#define SCALER_STATE_WORDS 16u
/* Scaler block: the machine's knobs, of ssq_scaler_options. A factor is a
 * binary64 in two words; tolerance a threshold M in two words and its shift:
 * see wide.h. */
#define SCALER_UP_HI        16u
#define SCALER_DOWN_HI      17u
#define SCALER_INTERVAL     18u
#define SCALER_FIRST_LAG    19u
#define SCALER_REPEAT_LAG   20u
#define SCALER_FLOOR        21u
#define SCALER_MIN          22u /* f */
#define SCALER_CEILING      23u
#define SCALER_MAX          24u /* f */
#define SCALER_HYSTERESIS   25u
#define SCALER_REFILL       26u
#define SCALER_TOLERANCE_HI 27u
#define SCALER_RESET_ON_INF 28u
#define SCALER_MATCH_EQUAL  29u
#define SCALER_MAX_SKIPS    30u
/* 1: floor APPLY, and scale <= min (fastai). Each update sets it for the step
 * that follows. tick_begin() has the rule: if it is 1, a step whose gradients
 * are not finite is applied, and if it is 0, skipped. If labels are out of
 * range, the step is skipped in either case. Without a scaler nothing reads
 * this word. */
#define SCALER_POISON          31u
#define SCALER_UP_LO           32u
#define SCALER_DOWN_LO         33u
#define SCALER_TOLERANCE_LO    34u
#define SCALER_TOLERANCE_SHIFT 35u
#define SCALER_MAGIC           36u /* the value below, always */
#define SCALER_WORDS           40u
#define SCALER_MAGIC_VALUE     0x55515373u

/* Values of some words; they equal the public enums. */
#define FLOOR_CLAMP         1u
#define FLOOR_ERROR_AT_MIN  2u
#define FLOOR_ERROR_RESTORE 3u
#define FLOOR_APPLY         4u
#define FLOOR_ERROR_SNAP    5u
#define CEILING_FINITE      1u
#define CEILING_CLAMP       2u
#define CEILING_STOP        3u
#define REFILL_CLEAN        1u
#define REFILL_BACKOFF      2u
#define REFILL_GROWTH       4u
#define ACTION_CLEAN        1u
#define ACTION_GROWTH       2u
#define ACTION_CAPPED       3u
#define ACTION_HOLD         4u
#define ACTION_BACKOFF      5u
#define ACTION_FLOOR        6u
#define ACTION_POISON       7u
#define EVENT_FLOOR         1u
#define EVENT_SKIPS         2u

/* Check record: the result of one check of a list of gradients. */
#define RECORD_VERDICT 0u /* VERDICT_; the rank hook may raise it */
#define RECORD_NORM    1u /* f: L2 norm of the unscaled gradients; 0 unasked */
#define RECORD_CHECKS  2u /* checks so far */
#define RECORD_BAD_CHECK                                                       \
    3u                     /* number of the last one that found something;     \
                            * the words below belong to it */
#define RECORD_TENSOR   4u /* first bad tensor of the list */
#define RECORD_INDEX_LO 5u /* its first bad element, flat */
#define RECORD_INDEX_HI 6u
#define RECORD_IS_NAN   7u /* that element is NaN */
#define RECORD_INFS     8u
#define RECORD_NANS     9u
#define RECORD_TENSORS  10u /* tensors with a bad element */
#define RECORD_WORDS    16u

/* Verdicts. LABELS: labels were out of range: the step is skipped, and the
 * scale stays. It is above any sum of the others over ranks, and positive as an
 * i32, since the rank hook may take a maximum or a sum. */
#define VERDICT_GOOD   0u
#define VERDICT_BAD    1u /* not all are finite */
#define VERDICT_LABELS 0x40000000u

/* That of two checks; a hook's sum is brought back to one of the values. */
FN u32 verdict_join(u32 a, u32 b)
{
    u32 most = b > a ? b : a;
    if (most >= VERDICT_LABELS)
        return VERDICT_LABELS;
    return most != 0u ? VERDICT_BAD : VERDICT_GOOD;
}

#endif
