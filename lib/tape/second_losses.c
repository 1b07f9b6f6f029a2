/* SPDX-License-Identifier: Apache-2.0 */
/* second_losses.c - rules of losses. The gradient of their result has one
 * element, or one for each loss. */
#include "lib/tape/second.h"

#include <string.h>

/* ---- losses of elements ---- */

/* Return the gradient of each element's loss: dy, divided by the number of
 * elements if the reduction is a mean. */
static ssq_var second_losses_each(struct chain *c, ssq_reduction reduction)
{
    if (reduction != SSQ_REDUCTION_MEAN)
        return c->dy;
    const struct view *x = &value_of(c->t, c->n.var[0])->is.tensor.view;
    ssq_var n = chain_number(c, (double)view_elements(x), SSQ_F32);
    return ssq_div_var_at(c->n.where, c->dy, n);
}

/* Return x - target. All these structs of arguments have `target` at the same
 * offset. */
static ssq_var off_target(struct chain *c)
{
    return chain_sub(c, chain_wide(c, 0),
                     chain_option(c, offsetof(ssq_mse_args, target)));
}

/* dx = 2 (x - target) dloss */
void second_mse(struct chain *c)
{
    const ssq_mse_args *args = c->args;
    ssq_var d = chain_times(c, off_target(c), 2.0);
    chain_give(c, 0, chain_mul(c, second_losses_each(c, args->reduction), d));
}

/* Return the sign of d, 0 at 0. It has no gradient. */
static ssq_var sign_of(const struct chain *c, ssq_var d)
{
    ssq_tape *t = c->t;
    uint32_t id = NONE;
    if (t->status != SSQ_OK)
        return d;
    const struct view v = value_of(t, d.id)->is.tensor.view;
    ssq_status st = value_make(t, SSQ_F32, v.rank, v.shape, &id);
    if (st == SSQ_OK)
        st = ssq_sign(t->queue, SSQ_SIGN(.x = &value_of(t, d.id)->is.tensor,
                                         .y = &value_of(t, id)->is.tensor));
    return chain_value(c, st, id);
}

/* Clamp d to -most .. most. At both limits the derivative is 0 already, as in
 * torch. */
static ssq_var second_losses_between(const struct chain *c, ssq_var d,
                                     double most)
{
    ssq_var size = ssq_abs_var_at(c->n.where, d);
    const ssq_tensor *in =
        chain_where(c, ssq_lt, size, chain_number(c, most, SSQ_F32));
    return chain_choose(c, in, d, chain_times(c, sign_of(c, d), most));
}

static void absolute(struct chain *c, ssq_reduction reduction)
{
    ssq_var sign = sign_of(c, off_target(c));
    chain_give(c, 0, chain_mul(c, second_losses_each(c, reduction), sign));
}

void second_l1(struct chain *c)
{
    const ssq_l1_args *args = c->args;
    absolute(c, args->reduction);
}

/* dx = d / beta, within -1 .. 1 */
void second_smooth_l1(struct chain *c)
{
    const ssq_smooth_l1_args *args = c->args;
    if ((float)args->beta < 0x1p-126f) { /* the op is l1 then */
        absolute(c, args->reduction);
        return;
    }
    ssq_var d = chain_number(c, args->beta, SSQ_F32);
    d = second_losses_between(c, ssq_div_var_at(c->n.where, off_target(c), d),
                              1.0);
    chain_give(c, 0, chain_mul(c, second_losses_each(c, args->reduction), d));
}

/* dx = d, within -delta .. delta */
void second_huber(struct chain *c)
{
    const ssq_huber_args *args = c->args;
    ssq_var d = second_losses_between(c, off_target(c), args->delta);
    chain_give(c, 0, chain_mul(c, second_losses_each(c, args->reduction), d));
}

static ssq_var second_losses_sigmoid(const struct chain *c, ssq_var x)
{
    return ssq_sigmoid_var_at(c->n.where, x);
}

/* w ((1 - target) s(x) - p target s(-x)) */
void second_bce_with_logits(struct chain *c)
{
    const ssq_bce_with_logits_args *args = c->args;
    ssq_var x = chain_wide(c, 0);
    ssq_var one = chain_option(c, offsetof(ssq_bce_with_logits_args, target));
    ssq_var p = chain_option(c, offsetof(ssq_bce_with_logits_args, pos_weight));
    ssq_var w = chain_option(c, offsetof(ssq_bce_with_logits_args, weight));
    ssq_var none = chain_plus(c, chain_times(c, one, -1.0), 1.0);
    ssq_var down = second_losses_sigmoid(c, ssq_neg_var_at(c->n.where, x));
    if (args->pos_weight != NULL)
        one = chain_mul(c, p, one);
    ssq_var dx = chain_sub(c, chain_mul(c, none, second_losses_sigmoid(c, x)),
                           chain_mul(c, one, down));
    if (args->weight != NULL)
        dx = chain_mul(c, w, dx);
    chain_give(c, 0, chain_mul(c, second_losses_each(c, args->reduction), dx));
}

/* ---- losses of rows ---- */

static int class_axis(const struct chain *c)
{
    return value_of(c->t, c->n.var[0])->is.tensor.view.rank == 1 ? 0 : 1;
}

/* Return the gradient of each row's loss, with size 1 in the class
 * dimension. */
static ssq_var each_row(const struct chain *c, ssq_reduction reduction)
{
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    int64_t shape[SSQ_MAX_RANK];
    if (reduction != SSQ_REDUCTION_NONE)
        return c->dy;
    memcpy(shape, x.shape, sizeof(shape));
    shape[class_axis(c)] = 1;
    return ssq_var_reshape_at(c->n.where, c->dy, x.rank, shape);
}

/* Return the gradient of nll_loss for dloss = 1. For a sum it is -w[t] at class
 * t, and 0 elsewhere and in ignored rows. */
static ssq_var hits(struct chain *c, const ssq_nll_loss_args *args)
{
    ssq_tape *t = c->t;
    const struct view x = value_of(t, c->n.var[0])->is.tensor.view;
    uint32_t id = NONE;
    if (t->status != SSQ_OK)
        return var_inert(t);
    ssq_nll_loss_args a = *args;
    ssq_status st = value_make(t, SSQ_F32, x.rank, x.shape, &id);
    a.x = &value_of(t, c->n.var[0])->is.tensor;
    a.loss = a.dloss = NULL;
    a.dx = st == SSQ_OK ? &value_of(t, id)->is.tensor : NULL;
    if (st == SSQ_OK)
        st = ssq_nll_loss(t->queue, &a);
    return chain_value(c, st, id);
}

/* The gradient does not depend on x: dx = dloss times the gradient for dloss =
 * 1. */
void second_nll_loss(struct chain *c)
{
    const ssq_nll_loss_args *args = c->args;
    if (!chain_unwritten(c, offsetof(ssq_nll_loss_args, target)) ||
        !chain_unwritten(c, offsetof(ssq_nll_loss_args, weight)))
        return;
    chain_give(c, 0, chain_mul(c, each_row(c, args->reduction), hits(c, args)));
}

/* Return the weights of the classes, along the class dimension. */
static ssq_var class_weights(struct chain *c)
{
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    ssq_var w = chain_option(c, offsetof(ssq_cross_entropy_args, weight));
    int64_t shape[SSQ_MAX_RANK];
    for (int i = 0; i < x.rank; i++)
        shape[i] = i == class_axis(c) ? x.shape[i] : 1;
    return w.tape == NULL ? chain_number(c, 1.0, SSQ_F32)
                          : ssq_var_reshape_at(c->n.where, w, x.rank, shape);
}

/* Return q of ssq_cross_entropy for probabilities. *by is set to the divisor of
 * a mean. */
static ssq_var aims_of_probabilities(struct chain *c, ssq_var *by)
{
    const ssq_cross_entropy_args *args = c->args;
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    const int64_t classes = x.shape[class_axis(c)];
    ssq_var q = chain_option(c, offsetof(ssq_cross_entropy_args, target_prob));
    q = chain_times(c, q, 1.0 - args->label_smoothing);
    q = chain_plus(c, q, args->label_smoothing / (double)classes);
    *by = chain_number(c, (double)view_elements(&x) / (double)classes, SSQ_F32);
    return chain_mul(c, class_weights(c), q);
}

/* Return q for class labels. *by is set to the divisor of a mean. */
static ssq_var aims_of_classes(struct chain *c, ssq_var *by)
{
    const ssq_cross_entropy_args *args = c->args;
    const int axis = class_axis(c);
    const double e = args->label_smoothing;
    ssq_nll_loss_args nll = SSQ_NLL_LOSS_INIT;
    if (!chain_unwritten(c, offsetof(ssq_cross_entropy_args, target)))
        return var_inert(c->t);
    nll.target = args->target;
    nll.ignore_index = args->ignore_index;
    nll.reduction = SSQ_REDUCTION_SUM;
    ssq_var counts = chain_sum(c, chain_times(c, hits(c, &nll), -1.0), axis);
    nll.weight = args->weight;
    ssq_var hit = chain_times(c, hits(c, &nll), -1.0);
    *by = ssq_sum_var_at(c->n.where, hit, NULL);
    const int64_t classes =
        value_of(c->t, c->n.var[0])->is.tensor.view.shape[axis];
    ssq_var rest = chain_mul(c, counts, class_weights(c));
    return chain_add(c, chain_times(c, hit, 1.0 - e),
                     chain_times(c, rest, e / (double)classes));
}

/* p sum(q) - q, with p = softmax(x). If all rows are ignored, q is 0 and so is
 * the divisor of a mean. The divisor is then replaced by 1. */
void second_cross_entropy(struct chain *c)
{
    const ssq_cross_entropy_args *args = c->args;
    const int axis = class_axis(c);
    ssq_var none = chain_number(c, 0.0, SSQ_F32), by = none;
    ssq_var q = args->target == NULL ? aims_of_probabilities(c, &by)
                                     : aims_of_classes(c, &by);
    if (args->reduction == SSQ_REDUCTION_MEAN) {
        by = chain_choose(c, chain_where(c, ssq_eq, by, none),
                          chain_number(c, 1.0, SSQ_F32), by);
        q = ssq_div_var_at(c->n.where, q, by);
    }
    ssq_var p = ssq_softmax_var_at(c->n.where, chain_wide(c, 0),
                                   SSQ_SOFTMAX(.axis = axis));
    ssq_var dx = chain_sub(c, chain_mul(c, p, chain_sum(c, q, axis)), q);
    chain_give(c, 0, chain_mul(c, each_row(c, args->reduction), dx));
}

/* ---- softmax ---- */

/* dx = y (dy - sum(y dy)) */
void second_softmax(struct chain *c)
{
    const ssq_softmax_args *args = c->args;
    ssq_var y = chain_result(c), dy = chain_slope(c);
    ssq_var sum = chain_sum(c, chain_mul(c, y, dy), args->axis);
    chain_give(c, 0, chain_mul(c, y, chain_sub(c, dy, sum)));
}

/* dx = dy - exp(y) sum(dy) */
void second_log_softmax(struct chain *c)
{
    const ssq_log_softmax_args *args = c->args;
    ssq_var p = ssq_exp_var_at(c->n.where, chain_result(c));
    ssq_var dy = chain_slope(c), sum = chain_sum(c, dy, args->axis);
    chain_give(c, 0, chain_sub(c, dy, chain_mul(c, p, sum)));
}
