/* SPDX-License-Identifier: Apache-2.0 */
/* saved.h - what a saved lse has lost, in the dialect.
 *
 * lse = m + log(total) is one float32, which has lost up to 2^-24 |lse| of the
 * sum, and all of log(total) where m is huge. Where |lse| is above
 * ATTENTION_LARGE the backward pass finds m and total again, and
 *
 *     rest = (m - lse) + log(total)        P = exp((s - lse) - rest)
 *
 * Below that P is off by 2^-18 at most. */
#ifndef KERNELS_ATTENTION_SAVED_H
#define KERNELS_ATTENTION_SAVED_H

#include "kernels/scalar/scalar.h"

/* The bits of 64. */
#define ATTENTION_LARGE 0x42800000u

/* Does this lse need its rest? One that is not finite has no rest. */
FN bool attention_large(float lse)
{
    u32 u = AS_U32(lse) & 0x7fffffffu;

    return u > ATTENTION_LARGE && u < F32_INF;
}

/* The rest. Rounding took at most 2^-23 |lse|. An lse of other scores, for
 * example over more keys, is therefore changed by no more than that. */
FN float attention_rest_of(float lse, float most, float total)
{
    EXACT float range = s_abs(lse) * 1.1920929e-7f;
    EXACT float x = most - lse;

    x = x + s_log(total);
    if (s_is_nan(x))
        return 0.0f;
    x = x < range ? x : range;
    return x > -range ? x : -range;
}

#endif
