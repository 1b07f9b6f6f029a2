/* SPDX-License-Identifier: Apache-2.0 */
/* second_losses.c - rules of losses, which have the gradient of their result in
 * one element or in each. */
#include "lib/tape/second.h"

/* The gradient of each element's loss: that of the result, divided by their
 * number where it is a mean. */
static ssq_var each(struct chain *c, ssq_reduction reduction)
{
    if (reduction != SSQ_REDUCTION_MEAN)
        return c->dy;
    const struct view *x = &value_of(c->t, c->n.var[0])->is.tensor.view;
    ssq_var n = chain_number(c, (double)view_elements(x), SSQ_F32);
    return ssq_div_var_at(c->n.where, c->dy, n);
}

/* dx = 2 (x - target) dloss */
void second_mse(struct chain *c)
{
    const ssq_mse_args *args = c->args;
    ssq_var target = chain_option(c, offsetof(ssq_mse_args, target));
    ssq_var d = chain_sub(c, chain_wide(c, 0), target);
    chain_give(c, 0,
               chain_mul(c, each(c, args->reduction), chain_times(c, d, 2.0)));
}
