/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - reference: functions for attention and its backward.
 *
 * Queries are computed one after the other, so only one row of tk scores exists
 * at a time. The keys and values of a head are first unpacked to float32. Sums
 * are float64, in which products of float32 are exact. */
#ifndef BACKENDS_REFERENCE_ATTENTION_ATTENTION_H
#define BACKENDS_REFERENCE_ATTENTION_ATTENTION_H

#include "backends/reference/reference.h"
#include "backends/reference/work.h"
#include "lib/op/attention/attention.h"

/** A query: its batch, head and index. */
struct query {
    int64_t b, h, i;
};

/** Return the offset of the query's row in a view [batch, heads, tq, ..], in
 *  elements. */
static inline int64_t query_at(const struct view *v, const struct query *n)
{
    return n->b * v->stride[0] + n->h * v->stride[1] + n->i * v->stride[2];
}

/** Unpack all rows of head h, as [t][d] floats. */
void unpack_head(float *to, const struct view *v, int64_t b, int64_t h);
/** Unpack one row of n floats. For an absent view `to` is not changed: it is
 *  zeroed when it is allocated. */
void unpack_query(float *to, const struct view *v, const struct query *at,
                  int64_t n);
/** Store n sums, rounded to float32 and multiplied by a factor, as a row. */
void store_query(const struct view *v, const struct query *at,
                 const double *sum, float factor, int64_t n);

/** Return the sum of a[c] b[c], rounded once. */
static inline float dot_product(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t c = 0; c < n; c++)
        sum += (double)a[c] * (double)b[c];
    return (float)sum;
}

/** Add a x to sum, element by element. */
static inline void add_scaled(double *sum, float a, const float *x, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        sum[c] += (double)a * (double)x[c];
}

/** Compute the scores s of a query, for the keys k of its head. Excluded keys
 *  get -Inf. slope is set to the derivatives of the capped scores, unless it is
 *  NULL or softcap is 0. */
void score_row(const struct attention_params *p, const struct view *mask,
               const struct query *at, const float *q, const float *k, float *s,
               float *slope);

/** Return m, the maximum of a row. NaNs are ignored here; exp(s - m) is NaN for
 *  them. */
float row_max(const float *s, int64_t n);
/** Set e to exp(s - m), and return the sum of e. */
float row_exp(float *e, const float *s, int64_t n, float m);

/** Return whether dropout drops element j of the query's row of P. */
bool is_dropped(const struct attention_params *p, uint32_t step,
                const struct query *at, int64_t j);

/** Return x rounded to a dtype. */
float round_to(ssq_dtype dtype, float x);

#endif
