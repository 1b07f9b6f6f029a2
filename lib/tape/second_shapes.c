/* SPDX-License-Identifier: Apache-2.0 */
/* second_shapes.c - rules of sums, and of ops that change only a shape or a
 * dtype. */
#include "lib/tape/second.h"

#include <string.h>

/* Broadcast dy, which lacks the reduced dimensions, to the shape of x. *n is
 * set to the number of elements of x for each element of dy. */
static ssq_var second_shapes_repeated(struct chain *c, ssq_var dy, double *n)
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
    chain_give(c, 0, second_shapes_repeated(c, c->dy, &n));
}

void second_mean(struct chain *c)
{
    double n;
    ssq_var dy = second_shapes_repeated(c, chain_slope(c), &n);
    ssq_var by = chain_number(c, n, SSQ_F32);
    chain_give(c, 0, ssq_div_var_at(c->n.where, dy, by));
}

/* ---- ops without arithmetic ---- */

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

/* Dimension i of y is dimension axes[i] of x. */
void second_transpose(struct chain *c)
{
    const int rank = value_of(c->t, c->n.var[0])->is.tensor.view.rank;
    int back[SSQ_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        back[c->n.axes[i]] = i;
    chain_give(c, 0, ssq_var_transpose_at(c->n.where, c->dy, back));
}

/* ---- parts ---- */

void second_slice(struct chain *c)
{
    const struct slice s = *(const struct slice *)node_args(c->t, &c->n);
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    chain_give(c, 0, var_embed(c->n.where, c->dy, &s, x.rank, x.shape));
}

void second_embed(struct chain *c)
{
    const struct slice s = *(const struct slice *)node_args(c->t, &c->n);
    chain_give(
        c, 0,
        ssq_var_slice_at(c->n.where, c->dy, s.axis, s.start, s.stop, s.step));
}

/* Each operand gets its part of dy. */
void second_concat(struct chain *c)
{
    const int axis = ((const struct join *)node_args(c->t, &c->n))->axis;
    size_t n;
    int64_t at = 0;
    (void)node_operands(c->t, &c->n, &n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = node_operands(c->t, &c->n, &n)[i];
        const struct value *x = value_of(c->t, id);
        int64_t end = at + x->is.tensor.view.shape[axis];
        if (x->sought)
            chain_give_to(
                c, id, ssq_var_slice_at(c->n.where, c->dy, axis, at, end, 1));
        at = end;
    }
}
