/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - shapes of results. rules_images.c has the rules of images.
 *
 * A rule returns the shape that the op expects of its result. If operands do
 * not match, it may return any shape, because the op itself checks them and
 * reports the error. */
#include "lib/tape/rules.h"

#include <sesqui/ops.h>

#include <string.h>

/* Return the size of dimension i, or 1 if it does not exist. */
static int64_t size_at(const struct view *v, int i)
{
    return i >= 0 && i < v->rank ? v->shape[i] : 1;
}

static void rules_set(struct view *out, int rank, const int64_t *shape)
{
    out->rank = rank;
    if (rank > 0)
        memcpy(out->shape, shape, (size_t)rank * sizeof(*shape));
}

ssq_status rule_like(const struct rule_in *in, struct view *out)
{
    rules_set(out, in->var[0].rank, in->var[0].shape);
    return SSQ_OK;
}

/* Align both shapes at their last dimensions and broadcast sizes of 1. The last
 * `less` dimensions are left to the caller. */
static void rules_broadcast(const struct view *a, const struct view *b,
                            int less, struct view *out)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;
    out->rank = rank;
    for (int i = 0; i < rank - less; i++) {
        int64_t x = size_at(a, i - (rank - a->rank));
        int64_t y = size_at(b, i - (rank - b->rank));
        out->shape[i] = x == 1 ? y : x;
    }
}

ssq_status rule_broadcast(const struct rule_in *in, struct view *out)
{
    rules_broadcast(&in->var[0], &in->var[1], 0, out);
    return SSQ_OK;
}

/* The condition, which is not a var, is broadcast as well. */
ssq_status rule_where(const struct rule_in *in, struct view *out)
{
    const ssq_where_args *args = in->args;
    if (args->cond == NULL)
        return error_set(SSQ_ERR_INVALID, "cond is NULL");
    struct view both = {.rank = 0};
    rules_broadcast(&in->var[0], &in->var[1], 0, &both);
    rules_broadcast(&both, &args->cond->view, 0, out);
    return SSQ_OK;
}

/* Drop the dimensions that are reduced. */
ssq_status rule_reduce(const struct rule_in *in, struct view *out)
{
    const ssq_reduce_args *args = in->args;
    const struct view *x = &in->var[0];
    unsigned gone = args->n_axes == 0 ? ~0u : 0;
    for (int i = 0; i < args->n_axes && i < SSQ_MAX_RANK; i++) {
        int axis = args->axes[i];
        if (axis < -x->rank || axis >= x->rank)
            return error_set(SSQ_ERR_INVALID, "axis %d of rank %d", axis,
                             x->rank);
        gone |= 1u << (axis < 0 ? axis + x->rank : axis);
    }
    for (int i = 0; i < x->rank; i++)
        if ((gone >> i & 1u) == 0)
            out->shape[out->rank++] = x->shape[i];
    return SSQ_OK;
}

/* Set the last two dimensions: rows of op(a), columns of op(b). */
static ssq_status rules_product(const struct rule_in *in, struct view *out)
{
    const ssq_gemm_args *args = in->args;
    const struct view *a = &in->var[0], *b = &in->var[1];
    if (a->rank < 2 || b->rank < 2)
        return error_set(SSQ_ERR_INVALID, "a has rank %d, b %d: at least 2",
                         a->rank, b->rank);
    out->shape[out->rank - 2] = a->shape[a->rank - (args->trans_a ? 1 : 2)];
    out->shape[out->rank - 1] = b->shape[b->rank - (args->trans_b ? 2 : 1)];
    return SSQ_OK;
}

ssq_status rule_gemm(const struct rule_in *in, struct view *out)
{
    out->rank = 2;
    return rules_product(in, out);
}

ssq_status rule_gemm_batched(const struct rule_in *in, struct view *out)
{
    rules_broadcast(&in->var[0], &in->var[1], 2, out);
    if (out->rank < 3)
        return error_set(SSQ_ERR_INVALID, "rank %d: gemm is for one matrix",
                         out->rank);
    return rules_product(in, out);
}

static ssq_reduction reduction_of(const struct rule_in *in)
{
    ssq_reduction r;
    memcpy(&r, (const char *)in->args + in->op->reduction, sizeof(r));
    return r;
}

ssq_status rule_loss(const struct rule_in *in, struct view *out)
{
    out->dtype = SSQ_F32;
    return reduction_of(in) == SSQ_REDUCTION_NONE ? rule_like(in, out) : SSQ_OK;
}

/* One loss for each target: the shape without the class dimension. */
ssq_status rule_class_loss(const struct rule_in *in, struct view *out)
{
    const struct view *x = &in->var[0];
    out->dtype = SSQ_F32;
    if (reduction_of(in) != SSQ_REDUCTION_NONE)
        return SSQ_OK;
    for (int i = 0; i < x->rank; i++)
        if (i != (x->rank == 1 ? 0 : 1))
            out->shape[out->rank++] = x->shape[i];
    return SSQ_OK;
}

/* One value for each row of a norm over the last dimensions. */
ssq_status rule_rows(const struct rule_in *in, struct view *out)
{
    int ndim;
    memcpy(&ndim, (const char *)in->args + in->op->ndim, sizeof(ndim));
    const struct view *x = &in->var[0];
    out->dtype = SSQ_F32;
    if (ndim < 1 || ndim > x->rank)
        return error_set(SSQ_ERR_INVALID, "ndim is %d, expected 1..%d", ndim,
                         x->rank);
    rules_set(out, x->rank - ndim, x->shape);
    return SSQ_OK;
}

static ssq_status axis_of(const struct view *x, int axis, int *found)
{
    if (axis < -x->rank || axis >= x->rank)
        return error_set(SSQ_ERR_INVALID, "axis %d of rank %d", axis, x->rank);
    *found = axis < 0 ? axis + x->rank : axis;
    return SSQ_OK;
}

ssq_status rule_channels(const struct rule_in *in, struct view *out)
{
    const ssq_batch_norm_args *args = in->args;
    int axis = 0;
    ssq_status st = axis_of(&in->var[0], args->axis, &axis);
    out->dtype = SSQ_F32;
    rules_set(out, 1, &in->var[0].shape[axis]);
    return st;
}

ssq_status rule_groups(const struct rule_in *in, struct view *out)
{
    const ssq_group_norm_args *args = in->args;
    const int64_t shape[] = {size_at(&in->var[0], 0), args->groups};
    out->dtype = SSQ_F32;
    if (args->groups < 1)
        return error_set(SSQ_ERR_INVALID, "groups is %lld, expected 1 or more",
                         (long long)args->groups);
    rules_set(out, 2, shape);
    return SSQ_OK;
}

/* The shape of index, followed by the shape of a row. */
ssq_status rule_gather(const struct rule_in *in, struct view *out)
{
    const ssq_gather_rows_args *args = in->args;
    const struct view *x = &in->var[0];
    if (args->index == NULL)
        return error_set(SSQ_ERR_INVALID, "index is NULL");
    const struct view *index = &args->index->view;
    if (x->rank < 1 || index->rank + x->rank - 1 > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_INVALID, "x has rank %d, index %d", x->rank,
                         index->rank);
    rules_set(out, index->rank, index->shape);
    for (int i = 1; i < x->rank; i++)
        out->shape[out->rank++] = x->shape[i];
    return SSQ_OK;
}

/* The shape of q, with the number of columns of v. */
ssq_status rule_attention(const struct rule_in *in, struct view *out)
{
    rules_set(out, in->var[0].rank, in->var[0].shape);
    if (out->rank > 0)
        out->shape[out->rank - 1] = size_at(&in->var[2], in->var[2].rank - 1);
    return SSQ_OK;
}

ssq_status rule_lse(const struct rule_in *in, struct view *out)
{
    int rank = in->var[0].rank;
    out->dtype = SSQ_F32;
    rules_set(out, rank > 0 ? rank - 1 : 0, in->var[0].shape);
    return SSQ_OK;
}

/* Set [t, batch, times * h] of a recurrent layer. h is the second size of
 * w_hh. */
static void rules_steps(const struct rule_in *in, int64_t times,
                        struct view *out)
{
    const int64_t shape[] = {size_at(&in->var[0], 0), size_at(&in->var[0], 1),
                             times * size_at(&in->var[2], 1)};
    rules_set(out, 3, shape);
}

ssq_status rule_steps(const struct rule_in *in, struct view *out)
{
    rules_steps(in, 1, out);
    return SSQ_OK;
}

ssq_status rule_state(const struct rule_in *in, struct view *out)
{
    rules_steps(in, 1, out);
    rules_set(out, 2, (const int64_t[]){out->shape[1], out->shape[2]});
    return SSQ_OK;
}

ssq_status rule_cell(const struct rule_in *in, struct view *out)
{
    out->dtype = SSQ_F32;
    return rule_state(in, out);
}

ssq_status rule_lstm_reserve(const struct rule_in *in, struct view *out)
{
    out->dtype = SSQ_F32;
    rules_steps(in, 5, out);
    return SSQ_OK;
}

ssq_status rule_gru_reserve(const struct rule_in *in, struct view *out)
{
    out->dtype = SSQ_F32;
    rules_steps(in, 4, out);
    return SSQ_OK;
}
