/* SPDX-License-Identifier: Apache-2.0 */
/* second_norms.c - rules of norms. Statistics are computed again from x, as
 * vars, so that gradients pass through them. */
#include "lib/tape/second.h"

#include <string.h>

/* The dimensions that statistics reduce. */
struct over {
    int axes[SSQ_MAX_RANK];
    int n;
};

/* Return the mean over these dimensions, which are kept with size 1. */
static ssq_var second_norms_mean(const struct chain *c, ssq_var x,
                                 const struct over *o)
{
    if (c->t->status != SSQ_OK)
        return x;
    const struct view v = value_of(c->t, x.id)->is.tensor.view;
    int64_t shape[SSQ_MAX_RANK];
    ssq_mean_args args = SSQ_MEAN_INIT;
    memcpy(shape, v.shape, sizeof(shape));
    memcpy(args.axes, o->axes, sizeof(args.axes));
    args.n_axes = o->n;
    for (int i = 0; i < o->n; i++)
        shape[o->axes[i]] = 1;
    return ssq_var_reshape_at(c->n.where, ssq_mean_var_at(c->n.where, x, &args),
                              v.rank, shape);
}

/* 1 / sqrt(x + eps) */
static ssq_var second_norms_inverse(const struct chain *c, ssq_var x,
                                    double eps)
{
    return ssq_rsqrt_var_at(c->n.where, chain_plus(c, x, (double)(float)eps));
}

/* Return dx = rstd (h - xhat mean(h xhat)) for the gradient h of xhat. If x was
 * centred, mean(h) is subtracted too. */
static ssq_var through(const struct chain *c, ssq_var h, ssq_var hat,
                       ssq_var rstd, const struct over *o, bool centred)
{
    ssq_var dx = chain_sub(
        c, h, chain_mul(c, hat, second_norms_mean(c, chain_mul(c, h, hat), o)));
    if (centred)
        dx = chain_sub(c, dx, second_norms_mean(c, h, o));
    return chain_mul(c, dx, rstd);
}

/* Return x minus its mean. For large numbers the mean has a rounding error,
 * which is the mean of the differences. It is subtracted too
 * (kernels/norm/deviations.h). */
static ssq_var centre(const struct chain *c, ssq_var x, const struct over *o)
{
    ssq_var d = chain_sub(c, x, second_norms_mean(c, x, o));
    return chain_sub(c, d, second_norms_mean(c, d, o));
}

/* 1 / sqrt(mean(x^2) + eps) */
static ssq_var deviation(const struct chain *c, ssq_var x, const struct over *o,
                         double eps)
{
    return second_norms_inverse(
        c, second_norms_mean(c, ssq_square_var_at(c->n.where, x), o), eps);
}

/* ---- rows ---- */

static void second_norms_rows(struct chain *c, int ndim, double eps,
                              bool centred)
{
    const int rank = value_of(c->t, c->n.var[0])->is.tensor.view.rank;
    struct over o = {.n = ndim};
    for (int i = 0; i < ndim; i++)
        o.axes[i] = rank - ndim + i;
    ssq_var x = chain_wide(c, 0), h = chain_slope(c);
    if (centred)
        x = centre(c, x, &o);
    ssq_var rstd = deviation(c, x, &o, eps);
    ssq_var hat = chain_mul(c, x, rstd);
    if (chain_wants(c, 1))
        chain_give(c, 1, chain_mul(c, h, hat));
    if (c->n.var[1] != NONE)
        h = chain_mul(c, h, chain_wide(c, 1));
    if (chain_wants(c, 0))
        chain_give(c, 0, through(c, h, hat, rstd, &o, centred));
}

void second_layer_norm(struct chain *c)
{
    const ssq_layer_norm_args *args = c->args;
    if (chain_wants(c, 2))
        chain_give(c, 2, c->dy);
    second_norms_rows(c, args->ndim, args->eps, true);
}

void second_rms_norm(struct chain *c)
{
    const ssq_rms_norm_args *args = c->args;
    second_norms_rows(c, args->ndim, args->eps, false);
}

/* ---- channels ---- */

/* Return a vector over channels, reshaped along the channel dimension. */
static ssq_var second_norms_along(const struct chain *c, ssq_var v, int axis)
{
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    int64_t shape[SSQ_MAX_RANK];
    for (int i = 0; i < x.rank; i++)
        shape[i] = i == axis ? x.shape[i] : 1;
    return ssq_var_reshape_at(c->n.where, v, x.rank, shape);
}

/* Give the gradient of such a vector: the sum over all other dimensions. */
static void give_channels(struct chain *c, unsigned i, ssq_var g,
                          const struct over *others)
{
    ssq_sum_args args = SSQ_SUM_INIT;
    memcpy(args.axes, others->axes, sizeof(args.axes));
    args.n_axes = others->n;
    if (chain_wants(c, i))
        chain_give(c, i, ssq_sum_var_at(c->n.where, g, &args));
}

/* Refuse statistics over ranks: collectives do not work on vars. */
static bool second_norms_over_ranks(const struct chain *c,
                                    const ssq_batch_norm_args *args)
{
    if (!args->training || args->comm == NULL || ssq_comm_size(args->comm) == 1)
        return false;
    latch_node(c->t,
               error_set(SSQ_ERR_UNSUPPORTED,
                         "statistics over ranks have no second derivative"),
               &c->n);
    return true;
}

void second_batch_norm(struct chain *c)
{
    const ssq_batch_norm_args *args = c->args;
    if (second_norms_over_ranks(c, args))
        return;
    const int rank = value_of(c->t, c->n.var[0])->is.tensor.view.rank;
    const int axis = args->axis < 0 ? args->axis + rank : args->axis;
    struct over o = {.n = 0};
    for (int i = 0; i < rank; i++)
        if (i != axis)
            o.axes[o.n++] = i;
    ssq_var x = chain_wide(c, 0), h = chain_slope(c), rstd;
    if (args->training) {
        x = centre(c, x, &o);
        rstd = deviation(c, x, &o, args->eps);
    } else {
        ssq_var m =
            chain_option(c, offsetof(ssq_batch_norm_args, running_mean));
        ssq_var v = chain_option(c, offsetof(ssq_batch_norm_args, running_var));
        x = chain_sub(c, x, second_norms_along(c, m, axis));
        rstd =
            second_norms_inverse(c, second_norms_along(c, v, axis), args->eps);
    }
    ssq_var hat = chain_mul(c, x, rstd);
    give_channels(c, 1, chain_mul(c, h, hat), &o);
    give_channels(c, 2, h, &o);
    if (c->n.var[1] != NONE)
        h = chain_mul(c, h, second_norms_along(c, chain_wide(c, 1), axis));
    if (chain_wants(c, 0))
        chain_give(c, 0,
                   args->training ? through(c, h, hat, rstd, &o, true)
                                  : chain_mul(c, h, rstd));
}

/* Statistics use the shape in which the channels are split into [groups, c /
 * groups]. */
void second_group_norm(struct chain *c)
{
    const ssq_group_norm_args *args = c->args;
    const char *where = c->n.where;
    const struct view v = value_of(c->t, c->n.var[0])->is.tensor.view;
    const int axis = args->axis < 0 ? args->axis + v.rank : args->axis;
    int64_t split[SSQ_MAX_RANK];
    struct over o = {.n = 0}, others = {.n = 0};
    if (v.rank == SSQ_MAX_RANK) {
        latch_node(c->t,
                   error_set(SSQ_ERR_UNSUPPORTED,
                             "it has no second derivative of rank %d", v.rank),
                   &c->n);
        return;
    }
    for (int i = 0; i <= v.rank; i++) {
        split[i] = i == axis       ? args->groups
                   : i == axis + 1 ? v.shape[axis] / args->groups
                                   : v.shape[i > axis ? i - 1 : i];
        if (i != axis && i != 0)
            o.axes[o.n++] = i;
        if (i != axis && i != v.rank)
            others.axes[others.n++] = i;
    }
    ssq_var x = ssq_var_reshape_at(where, chain_wide(c, 0), v.rank + 1, split);
    x = centre(c, x, &o);
    ssq_var rstd = deviation(c, x, &o, args->eps), h = chain_slope(c);
    ssq_var hat = chain_mul(c, x, rstd);
    ssq_var flat = ssq_var_reshape_at(where, hat, v.rank, v.shape);
    give_channels(c, 1, chain_mul(c, h, flat), &others);
    give_channels(c, 2, h, &others);
    if (!chain_wants(c, 0))
        return;
    if (c->n.var[1] != NONE)
        h = chain_mul(c, h, second_norms_along(c, chain_wide(c, 1), axis));
    h = ssq_var_reshape_at(where, h, v.rank + 1, split);
    h = through(c, h, hat, rstd, &o, true);
    chain_give(c, 0, ssq_var_reshape_at(where, h, v.rank, v.shape));
}
