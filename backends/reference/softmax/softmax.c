/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - reference: softmax, log-softmax and their backward.
 *
 * With m = max(x), and sums over a row:
 *
 *     softmax      y = exp(x - m) / sum(exp(x - m))
 *                  dx = y (dy - sum(y dy))
 *     log-softmax  y = (x - m) - log(sum(exp(x - m)))
 *                  dx = dy - exp(y) sum(dy)
 *
 * Subtracting m prevents an overflow of exp. Sums are float64 and rounded once.
 * Everything else is float32, and storing rounds once more. */
#include "lib/op/softmax/softmax.h"

#include "backends/reference/rows.h"
#include "kernels/scalar/scalar.h"

/* Return the maximum. NaNs are ignored here; exp(x - m) is NaN for them. */
static float softmax_max(const struct line *x, int64_t n)
{
    float m = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        float v = line_load(x, i);
        m = v > m ? v : m;
    }
    return m;
}

/* Compute y of a row. */
static void softmax_row(const struct line *x, const struct line *y, int64_t n,
                        enum softmax_kind kind)
{
    float m = softmax_max(x, n);
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)s_exp(line_load(x, i) - m);
    float total = (float)sum, log_total = s_log(total);
    for (int64_t i = 0; i < n; i++) {
        float t = line_load(x, i) - m;
        line_store(
            y, i, kind == SOFTMAX_LOG ? t - log_total : s_div(s_exp(t), total));
    }
}

/* Run softmax. A row is the last dimension: for other axes the caller has
 * permuted the views. y may be x, because the maximum and the sum of a row are
 * computed before the row is written. */
static ssq_status reference_softmax_run(struct backend_queue *queue,
                                        const struct softmax_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->y};
    int64_t n = op->x.shape[op->x.rank - 1];
    struct walk w;
    walk_rows(&w, v, 2, 1);
    do {
        struct line x = line_of(&op->x, w.at[0]), y = line_of(&op->y, w.at[1]);
        softmax_row(&x, &y, n, op->kind);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Compute dx of a row. dx may be y or dy: the sum is computed first, and an
 * element is read before its position is written. */
static void softmax_backward_row(const struct line *y, const struct line *dy,
                                 const struct line *dx, int64_t n,
                                 enum softmax_kind kind)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double g = (double)line_load(dy, i);
        sum += kind == SOFTMAX_LOG ? g : g * (double)line_load(y, i);
    }
    float s = (float)sum;
    for (int64_t i = 0; i < n; i++) {
        float g = line_load(dy, i), yi = line_load(y, i);
        line_store(dx, i,
                   kind == SOFTMAX_LOG ? g - s_exp(yi) * s : yi * (g - s));
    }
}

/* Run the backward of softmax. y is the result of softmax. The gradient does
 * not need x, so x need not be kept. */
static ssq_status
reference_softmax_backward_run(struct backend_queue *queue,
                               const struct softmax_backward_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->y, &op->dy, &op->dx};
    int64_t n = op->y.shape[op->y.rank - 1];
    struct walk w;
    walk_rows(&w, v, 3, 1);
    do {
        struct line y = line_of(&op->y, w.at[0]);
        struct line dy = line_of(&op->dy, w.at[1]);
        struct line dx = line_of(&op->dx, w.at[2]);
        softmax_backward_row(&y, &dy, &dx, n, op->kind);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(softmax);
REFERENCE_IMPL(softmax_backward);
