/* SPDX-License-Identifier: Apache-2.0 */
/* exp_row.h - the greatest element of a row, and the sum of exponentials
 * relative to it: the first pass of softmax and cross-entropy, in the order of
 * kernels/dialect/group.h. */
#ifndef BACKENDS_CPU_ISA_NORM_EXP_ROW_H
#define BACKENDS_CPU_ISA_NORM_EXP_ROW_H

#include "backends/cpu/isa/exp.h"
#include "backends/cpu/isa/norm/row.h"
#include "kernels/softmax/softmax_args.h"

INLINE floats minus_inf(void)
{
    return (floats)((words){0} + 0xff800000u);
}

INLINE float most_of_row(ssq_dtype is, const char *x, size_t n)
{
    floats most[ROW_VECTORS];
    float lane[LANES];
    size_t i = 0;
    ROW_EACH(v)
    most[v] = minus_inf();
    for (; i + ROW_STEP <= n; i += ROW_STEP)
        ROW_EACH(v)
    most[v] = floats_most(most[v], row_load(is, x, i + v * LANES));
    for (; i + LANES <= n; i += LANES)
        most[0] = floats_most(most[0], row_load(is, x, i));
    if (i < n)
        most[0] = floats_most(most[0], row_rest(is, x, i, n, -INFINITY));
    for (int v = 1; v < ROW_VECTORS; v++)
        most[0] = floats_most(most[0], most[v]);
    floats_store(lane, most[0]);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] = MAX_OF(lane[k], lane[k + half]);
    return lane[0];
}

/* The sum of exponentials of x - most, which are kept where there is room for
 * them. After the last element come exp(-inf) = 0. */
INLINE float exp_sum_of_row(ssq_dtype is, const char *x, floats most,
                            float *kept, size_t n, const char *next)
{
    struct row_lanes sum = {0};
    size_t i = 0;
    for (; i + ROW_STEP <= n; i += ROW_STEP) {
        row_fetch(is, next, i, ROW_STEP);
        ROW_EACH(v)
        {
            size_t at = i + v * LANES;
            floats e = floats_exp_neg(row_load(is, x, at) - most);
            if (kept != NULL)
                floats_store(kept + at, e);
            sum.v[v] += e;
        }
    }
    for (int v = 0; i < n; v++, i += LANES) {
        floats one = i + LANES <= n ? row_load(is, x, i)
                                    : row_rest(is, x, i, n, -INFINITY);
        floats e = floats_exp_neg(one - most);
        if (kept != NULL)
            floats_store(kept + i, e);
        sum.v[v] += e;
    }
    return row_sum(&sum);
}

#endif
