/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - which element of a window is its maximum. */
#ifndef KERNELS_POOL_POOL_H
#define KERNELS_POOL_POOL_H

#include "kernels/scalar/scalar.h"

/* Does x, which comes later, take the place of the greatest so far? NaN does
 * always, and nothing else takes its place; equal ones do not (-0 equals
 * +0). */
FN bool pool_takes(float x, float best)
{
    return s_is_nan(x) || x > best;
}

/* The stored value: any NaN as the one NaN. */
FN float pool_result(float best)
{
    return s_canonical(best);
}

#endif
