/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - reference: cross-entropy, negative log-likelihood.
 *
 * With y[k] = [k == target] or the probabilities, e the label smoothing of c
 * classes, w the weights, and p = softmax(x) of a row:
 *
 *     q[k] = w[k] ((1 - e) y[k] + e / c)
 *     loss = -sum(q log p), its gradient = p sum(q) - q
 *
 * If x are log-probabilities, log p is x, and the gradient is -q. Sums are
 * float64 and rounded once. Everything else is float32, and storing rounds once
 * more. */
#include "lib/op/loss/loss.h"

#include "backends/reference/rows.h"
#include "kernels/scalar/convert.h"

/* Order of the views in a walk. LOSS is last, so that a walk can omit it. */
enum { X, TARGET, PROB, DLOSS, DX, LOSS, WALKED };

/* Set v to the views, in that order, and return it. */
static const struct view *const *
cross_entropy_views(const struct cross_entropy_op *op, const struct view **v)
{
    v[X] = &op->x;
    v[TARGET] = &op->target;
    v[PROB] = &op->prob;
    v[DLOSS] = &op->dloss;
    v[DX] = &op->dx;
    v[LOSS] = &op->loss;
    return v;
}

/* How a row contributes to the loss: an ignored row gives 0. A wrong one gives
 * NaN, because a device has no other way to report an invalid target. */
enum cross_entropy_verdict {
    ROW_COUNTS,
    ROW_IGNORED,
    ROW_WRONG /* the target is not a class */
};

/* One row of classes, and the results for it so far. */
struct reference_cross_entropy_row {
    const struct cross_entropy_op *op;
    int64_t n; /* classes */
    struct line x, prob, dx, weight;
    enum cross_entropy_verdict verdict;
    int64_t target;                  /* -1 with probabilities */
    float row_max, total, log_total; /* of exp(x - row_max) */
    float sum_q;
};

/* Return the row whose operands begin at these elements, with its verdict. If
 * the op has probabilities (prob), targets do not exist, and every row counts.
 * ignore_index is tested first, because it need not be a class. */
static struct reference_cross_entropy_row
cross_entropy_row_of(const struct cross_entropy_op *op, const int64_t *at)
{
    struct reference_cross_entropy_row r = {.op = op,
                                            .n = op->x.shape[op->x.rank - 1],
                                            .x = line_of(&op->x, at[X]),
                                            .prob =
                                                line_of(&op->prob, at[PROB]),
                                            .dx = line_of(&op->dx, at[DX]),
                                            .weight = line_of(&op->weight, 0),
                                            .target = -1};
    if (op->target.buffer == NULL)
        return r;
    r.target = (int32_t)load_bits(view_host(&op->target), SSQ_I32, at[TARGET]);
    if (r.target == op->ignore_index)
        r.verdict = ROW_IGNORED;
    else if (r.target < 0 || r.target >= r.n)
        r.verdict = ROW_WRONG;
    return r;
}

/* Return the weight of class k; 1 if the op has no weights. */
static float cross_entropy_weight(const struct reference_cross_entropy_row *r,
                                  int64_t k)
{
    return r->weight.base == NULL ? 1.0f : line_load(&r->weight, k);
}

/* Return q[k] of include/sesqui/ops/loss.h. */
static float cross_entropy_q(const struct reference_cross_entropy_row *r,
                             int64_t k)
{
    const struct cross_entropy_op *op = r->op;
    float y = r->prob.base != NULL ? line_load(&r->prob, k)
              : k == r->target     ? 1.0f
                                   : 0.0f;
    return (op->keep * y + op->spread) * cross_entropy_weight(r, k);
}

/* Return whether q[k] is 0 for any data. */
static bool cross_entropy_q_absent(const struct reference_cross_entropy_row *r,
                                   int64_t k)
{
    return r->prob.base == NULL && !r->op->smooth && k != r->target;
}

/* Compute the values that the log-softmax of logits needs. These are the
 * maximum, which prevents an overflow of exp, and the sum of exp(x - row_max),
 * in float64 and rounded once. Log-probabilities need neither. */
static void cross_entropy_softmax(struct reference_cross_entropy_row *r)
{
    if (r->op->kind == CROSS_ENTROPY_LOG_PROBS || r->verdict != ROW_COUNTS)
        return;
    r->row_max = -INFINITY;
    for (int64_t k = 0; k < r->n; k++) {
        float x = line_load(&r->x, k);
        r->row_max = x > r->row_max ? x : r->row_max;
    }
    double total = 0.0;
    for (int64_t k = 0; k < r->n; k++)
        total += (double)s_exp(line_load(&r->x, k) - r->row_max);
    r->total = (float)total;
    r->log_total = s_log(r->total);
}

/* Return the loss of a row, and set r->sum_q to the sum of q. */
static float cross_entropy_loss(struct reference_cross_entropy_row *r)
{
    if (r->verdict != ROW_COUNTS)
        return r->verdict == ROW_IGNORED ? 0.0f : NAN;
    double sum = 0.0, sum_q = 0.0;
    for (int64_t k = 0; k < r->n; k++) {
        if (cross_entropy_q_absent(r, k))
            continue;
        float q = cross_entropy_q(r, k), x = line_load(&r->x, k);
        if (r->op->kind == CROSS_ENTROPY_LOGITS)
            x = (x - r->row_max) - r->log_total;
        sum -= (double)q * (double)x;
        sum_q += (double)q;
    }
    r->sum_q = (float)sum_q;
    return (float)sum;
}

/* Return the derivative of the row's loss with respect to x[k]. For logits this
 * is p sum(q) - q, where p is the softmax; for log-probabilities it is -q. */
static float cross_entropy_slope(const struct reference_cross_entropy_row *r,
                                 int64_t k)
{
    float q = cross_entropy_q_absent(r, k) ? 0.0f : cross_entropy_q(r, k);
    if (r->op->kind == CROSS_ENTROPY_LOG_PROBS)
        return -q;
    float p = s_div(s_exp(line_load(&r->x, k) - r->row_max), r->total);
    return p * r->sum_q - q;
}

/* Compute dx = slope times seed of a row. seed is dloss divided by the divisor
 * of the mean. */
static void cross_entropy_gradient(const struct reference_cross_entropy_row *r,
                                   float seed)
{
    for (int64_t k = 0; k < r->n; k++) {
        float g = r->verdict == ROW_COUNTS    ? cross_entropy_slope(r, k) * seed
                  : r->verdict == ROW_IGNORED ? 0.0f
                                              : NAN;
        if (r->op->kind == CROSS_ENTROPY_LOG_PROBS &&
            cross_entropy_q_absent(r, k) && r->verdict == ROW_COUNTS)
            g = 0.0f; /* not 0 times an infinite seed */
        line_store(&r->dx, k, g);
    }
}

/* Return the divisor of a mean. For probabilities it is the number of rows;
 * otherwise the sum of the weights of the targets that count. */
static double cross_entropy_divisor(const struct cross_entropy_op *op)
{
    if (op->reduction != SSQ_REDUCTION_MEAN)
        return 1.0;
    const struct view *v[WALKED];
    struct walk w;
    double sum = 0.0;
    walk_rows(&w, cross_entropy_views(op, v), WALKED, 1);
    do {
        struct reference_cross_entropy_row r = cross_entropy_row_of(op, w.at);
        if (!view_absent(&op->prob))
            sum += r.n > 0 ? 1.0 : 0.0;
        else if (r.verdict == ROW_COUNTS)
            sum += (double)cross_entropy_weight(&r, r.target);
    } while (walk_next(&w));
    return sum;
}

/* Compute statistics, loss and gradient, row by row. The sum over rows is
 * float64, and rounded when it is stored. */
static ssq_status reference_cross_entropy_run(struct backend_queue *queue,
                                              const struct cross_entropy_op *op)
{
    (void)queue;
    const struct view *v[WALKED];
    struct walk w;
    float *loss = view_host(&op->loss);
    const float *dloss = view_host(&op->dloss);
    double count = cross_entropy_divisor(op), sum = 0.0;
    bool each = op->reduction == SSQ_REDUCTION_NONE;
    /* a single loss is not part of the walk */
    walk_rows(&w, cross_entropy_views(op, v), each ? WALKED : LOSS, 1);
    do {
        struct reference_cross_entropy_row r = cross_entropy_row_of(op, w.at);
        cross_entropy_softmax(&r);
        float value = cross_entropy_loss(&r);
        sum += (double)value;
        float seed = dloss == NULL ? 1.0f : dloss[w.at[DLOSS]];
        if (r.dx.base != NULL)
            cross_entropy_gradient(&r, s_div(seed, (float)count));
        if (each && loss != NULL)
            loss[w.at[LOSS]] = value;
    } while (walk_next(&w));
    if (!each && loss != NULL)
        loss[0] = (float)(sum / count);
    return SSQ_OK;
}

REFERENCE_IMPL(cross_entropy);
