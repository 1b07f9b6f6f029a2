/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - layer norm, RMS norm and their backward: check and enqueue. */
#include "lib/op/norm/layer_norm.h"

#include <sesqui/ops/norm.h>

#include "lib/core/core.h"
#include "lib/op/operands.h"

#include <float.h>
#include <math.h>

#define F32_BIT DTYPE_BIT(SSQ_F32)

/* Check that a row has a dimension and eps is a finite float32; NaN fails. */
static ssq_status layer_norm_check_numbers(const ssq_tensor *x, int ndim,
                                           double eps, const char *name)
{
    if (ndim < 1 || ndim > x->view.rank)
        return error_set(SSQ_ERR_INVALID, "%s: ndim is %d, x has rank %d", name,
                         ndim, x->view.rank);
    if (!(eps >= 0.0 && eps <= (double)FLT_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: eps is %g, expected >= 0, finite in float32",
                         name, eps);
    return SSQ_OK;
}

/* Return true if v has exactly these sizes. */
static bool has_shape(const struct view *v, const int64_t *shape, int rank)
{
    if (v->rank != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (v->shape[i] != shape[i])
            return false;
    return true;
}

/* Set *v to a tensor of x's last ndim sizes, which all rows share, broadcast to
 * x's shape by strides of 0. NULL gives an absent view. */
static ssq_status shared_view(const ssq_tensor *t, enum access access,
                              const ssq_tensor *x, int ndim, const char *name,
                              const char *what, struct view *v)
{
    *v = tensor_view(t, access);
    const struct view *xv = &x->view;
    char tt[128], tx[128];
    if (t == NULL)
        return SSQ_OK;
    if (has_shape(v, xv->shape + xv->rank - ndim, ndim) &&
        view_broadcast(v, xv->rank, xv->shape))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, expected the last %d sizes of x, %s", name,
                     what, view_text(&t->view, tt, sizeof(tt)), ndim,
                     view_text(xv, tx, sizeof(tx)));
}

/* Set *v to a tensor with one element per row, broadcast to x's shape. It may
 * have x's sizes without the last ndim, or with 1 in their place. NULL gives an
 * absent view. */
static ssq_status per_row_view(const ssq_tensor *t, enum access access,
                               const ssq_tensor *x, int ndim, const char *name,
                               const char *what, struct view *v)
{
    *v = tensor_view(t, access);
    const struct view *xv = &x->view;
    int lead = xv->rank - ndim;
    char tt[128], tx[128];
    if (t == NULL)
        return SSQ_OK;
    if (v->rank == lead)
        view_append_ones(v, ndim);
    /* Both forms that the caller may pass are now this one. */
    int64_t shape[SSQ_MAX_RANK];
    for (int i = 0; i < xv->rank; i++)
        shape[i] = i < lead ? xv->shape[i] : 1;
    if (has_shape(v, shape, xv->rank) && view_broadcast(v, xv->rank, xv->shape))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, expected the first %d sizes of x, %s", name,
                     what, view_text(&t->view, tt, sizeof(tt)), lead,
                     view_text(xv, tx, sizeof(tx)));
}

/* Return the number of elements of a row of x. */
static int64_t op_layer_norm_row_elements(const ssq_tensor *x, int ndim)
{
    int64_t n = 1;
    for (int i = x->view.rank - ndim; i < x->view.rank; i++)
        n *= x->view.shape[i];
    return n;
}

/* Fill the statistics of rows without elements, which are NaN. Nothing is
 * normalised. */
static ssq_status empty_rows(ssq_queue *queue, const ssq_tensor *mean,
                             const ssq_tensor *rstd)
{
    struct view m = tensor_view(mean, ACCESS_WRITE);
    struct view r = tensor_view(rstd, ACCESS_WRITE);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (mean != NULL)
        st = enqueue_fill(queue, &m, (double)NAN);
    if (st == SSQ_OK && rstd != NULL)
        st = enqueue_fill(queue, &r, (double)NAN);
    return queue_bundle_end(queue, st);
}

/* Collapse all views together and enqueue; absent ones are skipped. */
static ssq_status layer_norm_enqueue_norm(ssq_queue *queue,
                                          struct layer_norm_op *op, int ndim)
{
    struct view *views[] = {&op->x, &op->gamma, &op->beta,
                            &op->y, &op->mean,  &op->rstd};
    op->inner = views_collapse_rows(views, 6, ndim);
    return queue_enqueue(queue, &op->op);
}

/* Check and enqueue layer norm, or RMS norm, which has no beta and mean. */
static ssq_status layer_norm_forward(ssq_queue *queue,
                                     const ssq_layer_norm_args *a,
                                     const char *name, enum norm_kind kind)
{
    const struct operand_rule rules[] = {
        {a->x, "x", DTYPES_FLOAT, 0, 0},
        {a->gamma, "gamma", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->beta, "beta", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->y, "y", DTYPES_FLOAT, OPERAND_OUT, 1u << 0},
        {a->mean, "mean", F32_BIT, OPERAND_OUT | OPERAND_OPTIONAL, 0},
        {a->rstd, "rstd", F32_BIT, OPERAND_OUT | OPERAND_OPTIONAL, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = layer_norm_check_numbers(a->x, a->ndim, a->eps, name);
    if (st == SSQ_OK)
        st = check_same_shape(a->x, "x", a->y, "y", name);
    struct layer_norm_op op = {.op = OP_HEADER(layer_norm, x), .kind = kind};
    if (st == SSQ_OK)
        st = shared_view(a->gamma, ACCESS_READ, a->x, a->ndim, name, "gamma",
                         &op.gamma);
    if (st == SSQ_OK)
        st = shared_view(a->beta, ACCESS_READ, a->x, a->ndim, name, "beta",
                         &op.beta);
    if (st == SSQ_OK)
        st = per_row_view(a->mean, ACCESS_WRITE, a->x, a->ndim, name, "mean",
                          &op.mean);
    if (st == SSQ_OK)
        st = per_row_view(a->rstd, ACCESS_WRITE, a->x, a->ndim, name, "rstd",
                          &op.rstd);
    if (st != SSQ_OK)
        return st;
    if (view_elements(&a->x->view) == 0)
        return empty_rows(queue, a->mean, a->rstd);
    op.eps = (float)a->eps;
    op.x = tensor_view(a->x, ACCESS_READ);
    op.y = tensor_view(a->y, ACCESS_WRITE);
    return layer_norm_enqueue_norm(queue, &op, a->ndim);
}

/* Use the default floating-point modes here and below: eps becomes float32. */
ssq_status ssq_layer_norm(ssq_queue *queue, const ssq_layer_norm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "layer_norm");
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = layer_norm_forward(queue, args, "layer_norm", NORM_LAYER);
    fpenv_leave(env);
    return st;
}

/* RMS norm's args are a part of layer norm's; the other members stay NULL. */
ssq_status ssq_rms_norm(ssq_queue *queue, const ssq_rms_norm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "rms_norm");
    if (st != SSQ_OK)
        return st;
    ssq_layer_norm_args a = SSQ_LAYER_NORM_INIT;
    a.x = args->x;
    a.gamma = args->gamma;
    a.y = args->y;
    a.rstd = args->rstd;
    a.ndim = args->ndim;
    a.eps = args->eps;
    struct fpenv env = fpenv_enter();
    st = layer_norm_forward(queue, &a, "rms_norm", NORM_RMS);
    fpenv_leave(env);
    return st;
}

/* Check operands and their shapes, except for shapes that broadcast. dx may be
 * x (rule 0) or dy (rule 4). */
static ssq_status
op_layer_norm_check_backward(const ssq_queue *queue, const char *name,
                             const ssq_layer_norm_backward_args *a,
                             enum norm_kind kind)
{
    const unsigned out = OPERAND_OUT | OPERAND_OPTIONAL;
    const struct operand_rule rules[] = {
        {a->x, "x", DTYPES_FLOAT, 0, 0},
        {a->gamma, "gamma", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->mean, "mean", F32_BIT, OPERAND_OPTIONAL, 0},
        {a->rstd, "rstd", F32_BIT, OPERAND_OPTIONAL, 0},
        {a->dy, "dy", DTYPES_FLOAT, 0, 0},
        {a->dx, "dx", DTYPES_FLOAT, out, 1u << 0 | 1u << 4},
        {a->dgamma, "dgamma", DTYPES_FLOAT, out, 0},
        {a->dbeta, "dbeta", DTYPES_FLOAT, out, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = layer_norm_check_numbers(a->x, a->ndim, a->eps, name);
    if (st == SSQ_OK)
        st = check_same_shape(a->x, "x", a->dy, "dy", name);
    if (st == SSQ_OK && a->dx != NULL)
        st = check_same_shape(a->x, "x", a->dx, "dx", name);
    if (st == SSQ_OK && a->dx == NULL && a->dgamma == NULL && a->dbeta == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: no output: dx, dgamma%s are NULL", name,
                         kind == NORM_RMS ? "" : ", dbeta");
    return st;
}

/* Set the views of a backward op, and check the shapes of tensors that
 * broadcast. Statistics that the caller has not kept stay absent, for
 * layer_norm_recompute(). */
static ssq_status backward_views(const ssq_layer_norm_backward_args *a,
                                 const char *name,
                                 struct layer_norm_backward_op *op)
{
    op->x = tensor_view(a->x, ACCESS_READ);
    op->dy = tensor_view(a->dy, ACCESS_READ);
    op->dx = tensor_view(a->dx, ACCESS_WRITE);
    ssq_status st = shared_view(a->gamma, ACCESS_READ, a->x, a->ndim, name,
                                "gamma", &op->gamma);
    if (st == SSQ_OK)
        st = shared_view(a->dgamma, ACCESS_WRITE, a->x, a->ndim, name, "dgamma",
                         &op->dgamma);
    if (st == SSQ_OK)
        st = shared_view(a->dbeta, ACCESS_WRITE, a->x, a->ndim, name, "dbeta",
                         &op->dbeta);
    if (st == SSQ_OK)
        st = per_row_view(a->mean, ACCESS_READ, a->x, a->ndim, name, "mean",
                          &op->mean);
    if (st == SSQ_OK)
        st = per_row_view(a->rstd, ACCESS_READ, a->x, a->ndim, name, "rstd",
                          &op->rstd);
    return st;
}

/* Run a call without elements: dx is empty; sums over no rows are 0. */
static ssq_status layer_norm_no_rows(ssq_queue *queue,
                                     const ssq_layer_norm_backward_args *a)
{
    const ssq_tensor *sums[] = {a->dgamma, a->dbeta};
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < 2 && st == SSQ_OK; i++) {
        struct view v = tensor_view(sums[i], ACCESS_WRITE);
        if (sums[i] != NULL && op_layer_norm_row_elements(a->x, a->ndim) > 0)
            st = enqueue_fill(queue, &v, 0.0);
    }
    return queue_bundle_end(queue, st);
}

/* Collapse all views together and enqueue. */
static ssq_status layer_norm_enqueue_backward(ssq_queue *queue,
                                              struct layer_norm_backward_op *op,
                                              int ndim)
{
    struct view *views[] = {&op->x,  &op->gamma, &op->mean,   &op->rstd,
                            &op->dy, &op->dx,    &op->dgamma, &op->dbeta};
    op->inner = views_collapse_rows(views, 8, ndim);
    return queue_enqueue(queue, &op->op);
}

/* Get scratch with one float32 per row. *mem is for scratch_put(). *v has x's
 * shape, by strides of 0 along the row. */
static ssq_status get_statistic(ssq_queue *queue, const struct view *x,
                                int ndim, struct view *mem, struct view *v)
{
    ssq_status st = scratch_get(queue, SSQ_F32, x->rank - ndim, x->shape, mem);
    if (st != SSQ_OK)
        return st;
    *v = *mem;
    view_append_ones(v, ndim);
    (void)view_broadcast(v, x->rank, x->shape); /* cannot fail */
    return SSQ_OK;
}

/* Compute the statistics into scratch by a forward op without y, and then the
 * gradients from them, in one bundle. mean and rstd hold the scratch for
 * scratch_put(); op has views of it in x's shape. */
static ssq_status layer_norm_recompute(ssq_queue *queue,
                                       struct layer_norm_backward_op *op,
                                       int ndim, float eps)
{
    struct view mean = {.buffer = NULL}, rstd = {.buffer = NULL};
    ssq_status st = get_statistic(queue, &op->x, ndim, &rstd, &op->rstd);
    if (st != SSQ_OK)
        return st;
    if (op->kind == NORM_LAYER)
        st = get_statistic(queue, &op->x, ndim, &mean, &op->mean);
    if (st != SSQ_OK)
        goto out_rstd;
    struct layer_norm_op stats = {.op = OP_HEADER(layer_norm, x),
                                  .kind = op->kind,
                                  .eps = eps,
                                  .x = op->x,
                                  .mean = op->mean,
                                  .rstd = op->rstd};
    /* The first op writes these views, and the second one reads them. */
    stats.mean.access = stats.rstd.access = ACCESS_WRITE;
    op->mean.access = op->rstd.access = ACCESS_READ;
    st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_mean;
    st = layer_norm_enqueue_norm(queue, &stats, ndim);
    if (st == SSQ_OK)
        st = layer_norm_enqueue_backward(queue, op, ndim);
    st = queue_bundle_end(queue, st);
out_mean:
    scratch_put(&mean);
out_rstd:
    scratch_put(&rstd);
    return st;
}

/* Check and enqueue. Layer norm needs both statistics of the forward call or
 * neither; RMS norm has only rstd. Missing statistics are recomputed. */
static ssq_status op_layer_norm_backward(ssq_queue *queue,
                                         const ssq_layer_norm_backward_args *a,
                                         const char *name, enum norm_kind kind)
{
    ssq_status st = op_layer_norm_check_backward(queue, name, a, kind);
    struct layer_norm_backward_op op = {.op = OP_HEADER(layer_norm_backward, x),
                                        .kind = kind};
    if (st == SSQ_OK)
        st = backward_views(a, name, &op);
    if (st == SSQ_OK && kind == NORM_LAYER &&
        (a->mean == NULL) != (a->rstd == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s is NULL, but not %s: give both or none", name,
                         a->mean == NULL ? "mean" : "rstd",
                         a->mean == NULL ? "rstd" : "mean");
    if (st != SSQ_OK)
        return st;
    if (view_elements(&op.x) == 0)
        return layer_norm_no_rows(queue, a);
    if (a->rstd == NULL)
        return layer_norm_recompute(queue, &op, a->ndim, (float)a->eps);
    return layer_norm_enqueue_backward(queue, &op, a->ndim);
}

ssq_status ssq_layer_norm_backward(ssq_queue *queue,
                                   const ssq_layer_norm_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "layer_norm_backward");
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = op_layer_norm_backward(queue, args, "layer_norm_backward", NORM_LAYER);
    fpenv_leave(env);
    return st;
}

ssq_status ssq_rms_norm_backward(ssq_queue *queue,
                                 const ssq_rms_norm_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "rms_norm_backward");
    if (st != SSQ_OK)
        return st;
    ssq_layer_norm_backward_args a = SSQ_LAYER_NORM_BACKWARD_INIT;
    a.x = args->x;
    a.gamma = args->gamma;
    a.rstd = args->rstd;
    a.dy = args->dy;
    a.dx = args->dx;
    a.dgamma = args->dgamma;
    a.ndim = args->ndim;
    a.eps = args->eps;
    struct fpenv env = fpenv_enter();
    st = op_layer_norm_backward(queue, &a, "rms_norm_backward", NORM_RMS);
    fpenv_leave(env);
    return st;
}
