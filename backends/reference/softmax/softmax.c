/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - reference: softmax, log-softmax and their backward. */
#include "lib/op/softmax/softmax.h"

#include "backends/reference/rows.h"
#include "kernels/scalar/scalar.h"

/* The maximum; NaNs are passed over, exp(x - m) brings them back. */
static float line_max(const struct line *x, int64_t n)
{
    float m = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        float v = line_load(x, i);
        m = v > m ? v : m;
    }
    return m;
}

/* exp(x - m) / sum, or x - m - log(sum). Subtracting the maximum keeps exp from
 * overflowing. The sum is made in float64 and rounded to float32 once, so that
 * no order of summation has to be agreed on. */
static void softmax_row(const struct line *x, const struct line *y, int64_t n,
                        enum softmax_kind kind)
{
    float m = line_max(x, n);
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

/* A row is the last dimension, whichever axis the caller named: the views were
 * turned for that. y may be x, since a row's maximum and sum are made before
 * any of it is written. */
static ssq_status softmax(struct backend_queue *queue,
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

/* y (dy - s), s = sum(y dy); or dy - exp(y) s, s = sum(dy). dx may be y or dy:
 * the sum is made before anything is written, and an element is read before its
 * place is written. */
static void backward_row(const struct line *y, const struct line *dy,
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
        float g = line_load(dy, i), p = line_load(y, i);
        line_store(dx, i, kind == SOFTMAX_LOG ? g - s_exp(p) * s : p * (g - s));
    }
}

/* y is what softmax gave, not its argument: the gradient needs nothing else of
 * the forward pass, so x need not be kept. */
static ssq_status softmax_backward(struct backend_queue *queue,
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
        backward_row(&y, &dy, &dx, n, op->kind);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(softmax, softmax);
REFERENCE_IMPL(softmax_backward, softmax_backward);
