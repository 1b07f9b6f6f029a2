/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - reference: functions for attention and its backward.
 *
 * Queries are computed one after the other, so only one row of tk scores exists
 * at a time. The keys and values of a head are first unpacked to float32, keys
 * transposed. Each inner loop then adds a multiple of a contiguous row to a row
 * of float64 sums. The product of two float32 numbers is exact in float64. */
#ifndef BACKENDS_REFERENCE_ATTENTION_ATTENTION_H
#define BACKENDS_REFERENCE_ATTENTION_ATTENTION_H

#include "backends/reference/reference.h"
#include "lib/op/attention/attention.h"

/** Host memory of one op, freed by one call. */
#define WORK_BLOCKS 16
struct work {
    void *block[WORK_BLOCKS];
    int n;
    bool failed;
};
/** Allocate n zeroed elements. If memory is short, return NULL and set
 *  w->failed. Release all blocks with work_free(). */
float *work_floats(struct work *w, int64_t n);
double *work_doubles(struct work *w, int64_t n);
void work_free(struct work *w);

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

/** Unpack all rows of head h as [t][d] floats, or transposed as [d][t]. */
void unpack_head(float *to, const struct view *v, int64_t b, int64_t h,
                 bool transposed);
/** Unpack one row of n floats. For an absent view `to` is not changed: it is
 *  zeroed when it is allocated. */
void unpack_row(float *to, const struct view *v, const struct query *at,
                int64_t n);
/** Store n sums, multiplied by a factor, as a row. */
void store_row(const struct view *v, const struct query *at, const double *sum,
               float factor, int64_t n);

/** Add a x to sum, element by element. */
static inline void add_scaled(double *sum, double a, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += a * (double)x[i];
}

/** Compute the scores of a query. kt contains the keys of its head, transposed;
 *  sum is memory for tk elements. Excluded keys get -Inf. slope is set to the
 *  derivatives of the capped scores, unless it is NULL or there is no
 *  softcap. */
void score_row(const struct attention_params *p, const struct view *mask,
               const struct query *at, const float *q, const float *kt,
               double *sum, float *s, float *slope);

/** Return the maximum of a row. NaNs are ignored here; exp(s - m) is NaN for
 *  them. */
float row_max(const float *s, int64_t n);
/** Set e to exp(s - m), and return the sum of e. */
float row_exp(float *e, const float *s, int64_t n, float m);

/** Return whether element j of the query's row of P is dropped. */
bool is_dropped(const struct attention_params *p, uint32_t step,
                const struct query *at, int64_t j);

/** Return x rounded to a dtype. */
float round_to(ssq_dtype dtype, float x);

#endif
