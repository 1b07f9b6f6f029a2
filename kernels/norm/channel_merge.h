/* SPDX-License-Identifier: Apache-2.0 */
/* channel_merge.h - the statistics of a channel from its parts', which
 * are on ranks or are pieces of a large tensor; in the dialect. All of it is
 * class B: every rank merges the same numbers, and has the same bits of the
 * result.
 *
 * Of n_r elements in part r, with mean m_r and variance v_r:
 *
 *     n = sum n_r    m = sum n_r m_r / n    v = sum n_r (v_r + (m_r - m)^2) / n
 *
 * [Chan, Golub, LeVeque 1983]. All terms of v are positive: nothing cancels.
 * The error of m is sum n_r (m_r - m) / n: deviations.h corrects both. m_r is
 * two float32s, the mean and its rest: where numbers are nearly equal, half a
 * unit of their last place is much of their deviation. */
#ifndef KERNELS_NORM_CHANNEL_MERGE_H
#define KERNELS_NORM_CHANNEL_MERGE_H

#include "kernels/norm/deviations.h"

/* A part's share of the first sum of the means. */
FN float merge_mean(float n, float mean)
{
    EXACT float t = n * mean;

    return t;
}

/* The term of a part in the sum of deviations from the mean m of all parts. */
FN float merge_deviation(float n, float mean, float rest, float m)
{
    EXACT float d = mean - m;

    d = d + rest;
    return n * d;
}

/* A part's share of the sum of squares about the mean m of all. */
FN float merge_squares(float n, float mean, float rest, float var, float m)
{
    EXACT float d = mean - m;

    d = d + rest;
    d = d * d;
    d = var + d;
    return n * d;
}

/* 1 / sqrt(var + eps) */
FN float merge_rstd(float var, float eps)
{
    EXACT float v = var + eps;

    return s_canonical(s_rsqrt(v));
}

/* The new value for the running variance: the squares over `less` elements
 * fewer than there are, but over one at least. */
FN float merge_running(float squares, float n, float less)
{
    EXACT float rest = n - less;

    return s_div(squares, rest < 1.0f ? 1.0f : rest);
}

/* keep running + momentum x */
FN float merge_moved(float keep, float running, float momentum, float x)
{
    EXACT float kept = keep * running;
    EXACT float moved = momentum * x;

    return s_canonical(kept + moved);
}

#endif
