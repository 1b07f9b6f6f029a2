/* SPDX-License-Identifier: Apache-2.0 */
/* second_shapes.c - rules of sums, and of what changes a shape or a dtype and
 * no number. */
#include "lib/tape/second.h"

#include <string.h>

/* dy, of the shape without the reduced dimensions, in that of x; *n: how many
 * elements of x stand behind one of it. */
static ssq_var repeated(struct chain *c, ssq_var dy, double *n)
{
    const ssq_reduce_args *args = c->args;
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    int64_t kept[SSQ_MAX_RANK];
    memcpy(kept, x.shape, sizeof(kept));
    for (int i = 0; i < x.rank && args->n_axes == 0; i++)
        kept[i] = 1;
    for (int i = 0; i < args->n_axes; i++)
        kept[args->axes[i] < 0 ? args->axes[i] + x.rank : args->axes[i]] = 1;
    *n = 1.0;
    for (int i = 0; i < x.rank; i++)
        *n *= kept[i] == x.shape[i] ? 1.0 : (double)x.shape[i];
    dy = ssq_var_reshape_at(c->n.where, dy, x.rank, kept);
    return ssq_var_broadcast_at(c->n.where, dy, x.rank, x.shape);
}

void second_sum(struct chain *c)
{
    double n;
    chain_give(c, 0, repeated(c, c->dy, &n));
}

void second_mean(struct chain *c)
{
    double n;
    ssq_var dy = repeated(c, chain_slope(c), &n);
    ssq_var by = chain_number(c, n, SSQ_F32);
    chain_give(c, 0, ssq_div_var_at(c->n.where, dy, by));
}

/* ---- without arithmetic ---- */

void second_cast(struct chain *c)
{
    chain_give(c, 0, c->dy);
}

void second_broadcast(struct chain *c)
{
    chain_give(c, 0, c->dy);
}

void second_reshape(struct chain *c)
{
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    chain_give(c, 0, ssq_var_reshape_at(c->n.where, c->dy, x.rank, x.shape));
}

/* Dimension axes[i] of x was dimension i. */
void second_transpose(struct chain *c)
{
    const int rank = value_of(c->t, c->n.var[0])->is.tensor.view.rank;
    int back[SSQ_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        back[c->n.axes[i]] = i;
    chain_give(c, 0, ssq_var_transpose_at(c->n.where, c->dy, back));
}
