/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - reference: layer norm and RMS norm.
 *
 * With the n elements of a row:
 *
 *     mean = sum of x / n                  RMS norm: 0
 *     var  = sum of (x - mean)^2 / n
 *     rstd = 1 / sqrt(var + eps)
 *     y    = (x - mean) rstd gamma + beta
 *
 * Sums are float64. Each statistic is rounded to float32 before it is used, so
 * that backward gets the same bits from saved ones. y is computed in float32,
 * and storing rounds once more. */
#include "lib/op/norm/layer_norm.h"

#include "backends/reference/rows.h"

struct layer_norm_statistics {
    float mean, rstd;
};

/* Return the sum of the row of x that begins at an offset. */
static double layer_norm_sum(const struct layer_norm_op *op, int64_t at)
{
    const struct view *v[] = {&op->x};
    double sum = 0.0;
    struct walk w;
    walk_row(&w, v, 1, op->inner);
    do {
        sum += (double)view_load(&op->x, at + w.at[0]);
    } while (walk_next(&w));
    return sum;
}

/* Return the sum of (x - mean)^2 over a row of n elements. For layer norm the
 * sum of the deviations corrects the rounding of the mean. */
static double layer_norm_squares(const struct layer_norm_op *op, int64_t at,
                                 float mean, double n)
{
    const struct view *v[] = {&op->x};
    double squares = 0.0, deviations = 0.0;
    struct walk w;
    walk_row(&w, v, 1, op->inner);
    do {
        double d = (double)view_load(&op->x, at + w.at[0]) - (double)mean;
        deviations += d;
        squares += d * d;
    } while (walk_next(&w));
    return op->kind == NORM_RMS ? squares
                                : squares_about_mean(squares, deviations, n);
}

/* Return the statistics of a row. */
static struct layer_norm_statistics
layer_norm_compute(const struct layer_norm_op *op, int64_t at)
{
    struct layer_norm_statistics s = {0.0f, 0.0f};
    double n = (double)row_elements(&op->x, op->inner);
    if (op->kind == NORM_LAYER)
        s.mean = (float)(layer_norm_sum(op, at) / n);
    double squares = layer_norm_squares(op, at, s.mean, n);
    s.rstd = s_rsqrt((float)(squares / n) + op->eps);
    return s;
}

/* Compute y of the row that begins at x_at and y_at. gamma and beta begin at
 * their first element in each row. */
static void layer_norm_normalise(const struct layer_norm_op *op,
                                 struct layer_norm_statistics s, int64_t x_at,
                                 int64_t y_at)
{
    const struct view *v[] = {&op->x, &op->gamma, &op->beta, &op->y};
    struct walk w;
    walk_row(&w, v, 4, op->inner);
    do {
        float y = (view_load(&op->x, x_at + w.at[0]) - s.mean) * s.rstd;
        if (op->gamma.buffer != NULL)
            y = y * view_load(&op->gamma, w.at[1]);
        if (op->beta.buffer != NULL)
            y = y + view_load(&op->beta, w.at[2]);
        view_store(&op->y, y_at + w.at[3], y);
    } while (walk_next(&w));
}

/* Compute all rows. Each of the three results is optional: a call may need only
 * the statistics. */
static ssq_status reference_layer_norm_run(struct backend_queue *queue,
                                           const struct layer_norm_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->y, &op->mean, &op->rstd};
    struct walk row;
    walk_rows(&row, v, 4, op->inner);
    do {
        const struct layer_norm_statistics s =
            layer_norm_compute(op, row.at[0]);
        if (op->mean.buffer != NULL)
            view_store(&op->mean, row.at[2], s.mean);
        if (op->rstd.buffer != NULL)
            view_store(&op->rstd, row.at[3], s.rstd);
        if (op->y.buffer != NULL)
            layer_norm_normalise(op, s, row.at[0], row.at[1]);
    } while (walk_next(&row));
    return SSQ_OK;
}

REFERENCE_IMPL(layer_norm);
