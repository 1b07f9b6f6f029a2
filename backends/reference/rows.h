/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - walk the rows of views. The last dimensions of a view are a row. */
#ifndef BACKENDS_REFERENCE_ROWS_H
#define BACKENDS_REFERENCE_ROWS_H

#include "backends/reference/reference.h"

/** Begin a walk over rows: at[k] is the offset at which the current row starts
 *  in view k. Absent views stay at 0. There must be at least one row. */
static inline void walk_rows(struct walk *w, const struct view *const *views,
                             int n, int inner)
{
    walk_begin(w, views, n);
    w->rank -= inner;
}

/** Begin a walk over the elements of one row. Offsets are relative to the start
 *  of the row. */
static inline void walk_row(struct walk *w, const struct view *const *views,
                            int n, int inner)
{
    walk_begin(w, views, n);
    int lead = w->rank - inner;
    w->rank = inner;
    for (int i = 0; i < inner; i++) {
        w->shape[i] = w->shape[lead + i];
        for (int k = 0; k < n; k++)
            w->stride[k][i] = w->stride[k][lead + i];
    }
}

/** Return the number of elements of a row, which is the last `inner`
 *  dimensions. */
static inline int64_t row_elements(const struct view *v, int inner)
{
    int64_t n = 1;
    for (int i = v->rank - inner; i < v->rank; i++)
        n *= v->shape[i];
    return n;
}

/** A row of one dimension. */
struct line {
    void *base; /* NULL: absent */
    ssq_dtype dtype;
    int64_t at, stride; /* offset and stride, in elements */
};

/** Return the row in the last dimension of v that starts at element `at`. */
static inline struct line line_of(const struct view *v, int64_t at)
{
    struct line l = {view_host(v), v->dtype, at, 0};
    if (v->buffer != NULL)
        l.stride = v->stride[v->rank - 1];
    return l;
}

static inline float line_load(const struct line *l, int64_t i)
{
    return load_f32(l->base, l->dtype, l->at + i * l->stride);
}

static inline void line_store(const struct line *l, int64_t i, float value)
{
    store_f32(l->base, l->dtype, l->at + i * l->stride, value);
}

/** Return the sum of squares of n numbers about their mean. The arguments are
 *  the sums of squares and of deviations from a number near the mean. For
 *  example, that number is the mean rounded to float32, which differs from the
 *  mean by deviations / n. */
static inline double squares_about_mean(double squares, double deviations,
                                        double n)
{
    double t = squares - deviations * deviations / n;
    return t < 0.0 ? 0.0 : t;
}

#endif
