/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - reference: what attention and its backward share.
 *
 * One query after the other: a row of tk scores is all there is of the score
 * matrix. The keys and values of one head are unpacked into float32 first,
 * keys transposed, so that every inner loop is a multiple of a contiguous row
 * added to a row of float64 sums; products of float32 are exact there. */
#ifndef BACKENDS_REFERENCE_ATTENTION_ATTENTION_H
#define BACKENDS_REFERENCE_ATTENTION_ATTENTION_H

#include "backends/reference/reference.h"
#include "lib/op/attention/attention.h"

/** Host memory of one op, released at once. */
#define WORK_BLOCKS 16
struct work {
    void *block[WORK_BLOCKS];
    int n;
    bool failed;
};
/** Zeroed; NULL, and failed set, when there is none. */
float *work_floats(struct work *w, int64_t n);
double *work_doubles(struct work *w, int64_t n);
void work_free(struct work *w);

/** A query: of a batch, head and index. */
struct query {
    int64_t b, h, i;
};

/** Index of the query's rows in [batch, heads, tq, ..] views, in elements. */
static inline int64_t query_at(const struct view *v, const struct query *n)
{
    return n->b * v->stride[0] + n->h * v->stride[1] + n->i * v->stride[2];
}

/** All rows of head h as [t][d] floats, or transposed as [d][t]. */
void unpack_head(float *to, const struct view *v, int64_t b, int64_t h,
                 bool transposed);
/** One row of n floats; zeros for an absent view. */
void unpack_row(float *to, const struct view *v, const struct query *at,
                int64_t n);
/** Store n sums times a factor as a row. */
void store_row(const struct view *v, const struct query *at, const double *sum,
               float factor, int64_t n);

/** sum += a x, elementwise. */
static inline void add_scaled(double *sum, double a, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += a * (double)x[i];
}

/** The scores of a query: kt is its head's keys, transposed, sum a row of tk.
 *  Excluded keys get -Inf. slope, unless NULL or without a softcap: the
 *  derivatives of the capped scores. */
void score_row(const struct attention_params *p, const struct view *mask,
               const struct query *at, const float *q, const float *kt,
               double *sum, float *s, float *slope);

/** The maximum of a row; NaNs are passed over, exp(s - m) brings them back. */
float row_max(const float *s, int64_t n);
/** e = exp(s - m). @return their sum */
float row_exp(float *e, const float *s, int64_t n, float m);

/** Is this element of P dropped? */
bool is_dropped(const struct attention_params *p, uint32_t step,
                const struct query *at, int64_t j);

/** x rounded to a dtype. */
float round_to(ssq_dtype dtype, float x);

#endif
