/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - elementwise losses, and the checks that all losses share. */
#include "lib/op/loss/loss.h"

#include "kernels/loss/loss.h"
#include "lib/core/core.h"
#include "lib/op/operands.h"

#include <float.h>
#include <math.h>

/* each has the shape of one value per loss: x's for elementwise losses, the
 * rows for cross-entropy. A dloss of one element scales all of them. */
ssq_status loss_check(const char *name, ssq_reduction reduction,
                      const ssq_tensor *loss, const ssq_tensor *dloss,
                      const ssq_tensor *gradient, const char *gradient_name,
                      const struct view *each)
{
    char tt[128], te[128];
    bool none = reduction == SSQ_REDUCTION_NONE;
    if ((unsigned)reduction > SSQ_REDUCTION_NONE)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not a reduction", name,
                         (int)reduction);
    if (loss == NULL && gradient == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: loss and %s are both NULL", name,
                         gradient_name);
    if (loss != NULL && !(none ? view_same_shape(&loss->view, each)
                               : view_elements(&loss->view) == 1))
        return error_set(SSQ_ERR_INVALID, "%s: loss is %s, expected %s", name,
                         view_text(&loss->view, tt, sizeof(tt)),
                         none ? view_text(each, te, sizeof(te))
                              : "one element");
    if (dloss != NULL && view_elements(&dloss->view) != 1 &&
        !(none && view_same_shape(&dloss->view, each)))
        return error_set(
            SSQ_ERR_INVALID, "%s: dloss is %s, expected one element%s%s", name,
            view_text(&dloss->view, tt, sizeof(tt)), none ? " or " : "",
            none ? view_text(each, te, sizeof(te)) : "");
    return SSQ_OK;
}

/* Only a gradient uses the scale. A call for the loss alone does not change the
 * scaler's stage. */
ssq_status loss_bound(const ssq_tensor *dloss, const ssq_tensor *gradient,
                      ssq_status st)
{
    if (st == SSQ_OK && gradient != NULL)
        scale_bound(dloss);
    return st;
}

struct view loss_view(const ssq_tensor *tensor, enum access access, int rank,
                      const int64_t *shape)
{
    struct view v = tensor_view(tensor, access);
    if (tensor == NULL)
        return v;
    if (view_elements(&v) == 1)
        v.rank = 0;
    (void)view_broadcast(&v, rank, shape); /* callers have checked the shape */
    return v;
}

/* A mean over nothing is 0 / 0, a NaN. Without reduction the loss is empty, and
 * the fill does nothing. */
ssq_status loss_of_none(ssq_queue *queue, ssq_reduction reduction,
                        const ssq_tensor *loss)
{
    if (loss == NULL)
        return SSQ_OK;
    struct view v = tensor_view(loss, ACCESS_WRITE);
    return enqueue_fill(queue, &v,
                        reduction == SSQ_REDUCTION_MEAN ? (double)NAN : 0.0);
}

/* Arguments that the elementwise losses share; tensors that a loss does not
 * have are NULL. */
struct request {
    const char *name;
    uint32_t kind;    /* a LOSS_ value */
    double parameter; /* beta or delta; 0 if the loss has none */
    ssq_reduction reduction;
    const ssq_tensor *x, *target, *weight, *pos_weight, *loss, *dx, *dloss;
};

/* Check presence, dtypes, overlaps and shapes. dx may be x or target: an
 * element of dx needs only the elements at the same place. */
static ssq_status loss_check_operands(const ssq_queue *queue,
                                      const struct request *r)
{
    const unsigned f32 = DTYPE_BIT(SSQ_F32);
    const unsigned out = OPERAND_OUT | OPERAND_OPTIONAL;
    const struct operand_rule rules[] = {
        {r->x, "x", DTYPES_FLOAT, 0, 0},
        {r->target, "target", DTYPES_FLOAT, 0, 0},
        {r->weight, "weight", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {r->pos_weight, "pos_weight", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {r->dloss, "dloss", f32, OPERAND_OPTIONAL, 0},
        {r->loss, "loss", f32, out, 0},
        {r->dx, "dx", DTYPES_FLOAT, out, 1u << 0 | 1u << 1},
    };
    ssq_status st = OPERANDS_CHECK(queue, r->name, rules);
    if (st == SSQ_OK)
        st = check_same_shape(r->x, "x", r->target, "target", r->name);
    if (st == SSQ_OK && r->dx != NULL)
        st = check_same_shape(r->x, "x", r->dx, "dx", r->name);
    return st == SSQ_OK ? loss_check(r->name, r->reduction, r->loss, r->dloss,
                                     r->dx, "dx", &r->x->view)
                        : st;
}

/* Set *v to a weight broadcast to x's shape, by strides of 0; NULL stays
 * absent. */
static ssq_status broadcast_weight(const struct request *r,
                                   const ssq_tensor *weight, const char *what,
                                   struct view *v)
{
    *v = tensor_view(weight, ACCESS_READ);
    char tw[128], tx[128];
    if (weight == NULL || view_broadcast(v, r->x->view.rank, r->x->view.shape))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, which does not broadcast to x, %s", r->name,
                     what, view_text(&weight->view, tw, sizeof(tw)),
                     view_text(&r->x->view, tx, sizeof(tx)));
}

/* Set the op's views, in x's shape, and collapse the present ones. An absent
 * view has no strides that could prevent a merge. A mean or a sum is a single
 * element, and is not collapsed with the others. */
static void fill_views(const struct request *r, struct loss_op *op)
{
    const struct view *x = &r->x->view;
    bool each = r->reduction == SSQ_REDUCTION_NONE;
    op->x = tensor_view(r->x, ACCESS_READ);
    op->target = tensor_view(r->target, ACCESS_READ);
    op->dx = tensor_view(r->dx, ACCESS_WRITE);
    op->dloss = loss_view(r->dloss, ACCESS_READ, x->rank, x->shape);
    if (each)
        op->loss = loss_view(r->loss, ACCESS_WRITE, x->rank, x->shape);
    struct view *all[] = {&op->x,     &op->target, &op->weight, &op->pos_weight,
                          &op->dloss, &op->dx,     &op->loss};
    struct view *present[7];
    int n = 0;
    for (int i = 0; i < (each ? 7 : 6); i++)
        if (all[i]->buffer != NULL)
            present[n++] = all[i];
    views_collapse(present, n);
    const int64_t one = 1;
    if (!each)
        op->loss = loss_view(r->loss, ACCESS_WRITE, 1, &one);
}

/* Run all checks and enqueue the op. If x has no elements, the loss is filled
 * and the gradient is empty. */
static ssq_status loss_enqueue(ssq_queue *queue, const struct request *r)
{
    ssq_status st = loss_check_operands(queue, r);
    struct loss_op op = {
        .op = OP_HEADER(loss, x), .kind = r->kind, .reduction = r->reduction};
    if (st == SSQ_OK)
        st = broadcast_weight(r, r->weight, "weight", &op.weight);
    if (st == SSQ_OK)
        st = broadcast_weight(r, r->pos_weight, "pos_weight", &op.pos_weight);
    if (st == SSQ_OK)
        st = scale_bind(queue, r->dloss);
    if (st != SSQ_OK)
        return st;
    if (view_elements(&r->x->view) == 0)
        return loss_of_none(queue, r->reduction, r->loss);
    struct fpenv env = fpenv_enter();
    op.parameter = (float)r->parameter;
    fpenv_leave(env);
    fill_views(r, &op);
    return queue_enqueue(queue, &op.op);
}

/* Enqueue, and notify the scaler if its scale was used for a gradient. */
static ssq_status loss_run(ssq_queue *queue, const struct request *r)
{
    return loss_bound(r->dloss, r->dx, loss_enqueue(queue, r));
}

/* Run a loss without parameter and weights. */
static ssq_status run_plain(ssq_queue *queue, const ssq_mse_args *args,
                            const char *name, uint32_t kind)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct request r = {.name = name,
                              .kind = kind,
                              .reduction = args->reduction,
                              .x = args->x,
                              .target = args->target,
                              .loss = args->loss,
                              .dx = args->dx,
                              .dloss = args->dloss};
    return loss_run(queue, &r);
}

ssq_status ssq_mse(ssq_queue *queue, const ssq_mse_args *args)
{
    return run_plain(queue, args, "mse", LOSS_MSE);
}

ssq_status ssq_l1(ssq_queue *queue, const ssq_l1_args *args)
{
    return run_plain(queue, args, "l1", LOSS_L1);
}

/* Refuse a parameter that is not a finite float32 of at least `least`. want
 * describes the valid values. */
static ssq_status check_parameter(double value, double least, const char *name,
                                  const char *what, const char *want)
{
    if (value >= least && value <= (double)FLT_MAX)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s is %g, expected %s", name, what,
                     value, want);
}

ssq_status ssq_smooth_l1(ssq_queue *queue, const ssq_smooth_l1_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "smooth_l1");
    if (st == SSQ_OK)
        st = check_parameter(args->beta, 0.0, "smooth_l1", "beta",
                             ">= 0, finite in float32");
    if (st != SSQ_OK)
        return st;
    /* Below float32's normal range d / beta could overflow. There the loss
     * equals l1, except for differences d as small as beta. */
    const struct request r = {
        .name = "smooth_l1",
        .kind = args->beta < (double)FLT_MIN ? LOSS_L1 : LOSS_SMOOTH_L1,
        .parameter = args->beta,
        .reduction = args->reduction,
        .x = args->x,
        .target = args->target,
        .loss = args->loss,
        .dx = args->dx,
        .dloss = args->dloss};
    return loss_run(queue, &r);
}

/* delta must not be 0, because the loss would be 0. It must not be subnormal,
 * because devices may flush it to 0. */
ssq_status ssq_huber(ssq_queue *queue, const ssq_huber_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "huber");
    if (st == SSQ_OK)
        st = check_parameter(args->delta, (double)FLT_MIN, "huber", "delta",
                             "a finite, positive, normal float32");
    if (st != SSQ_OK)
        return st;
    const struct request r = {.name = "huber",
                              .kind = LOSS_HUBER,
                              .parameter = args->delta,
                              .reduction = args->reduction,
                              .x = args->x,
                              .target = args->target,
                              .loss = args->loss,
                              .dx = args->dx,
                              .dloss = args->dloss};
    return loss_run(queue, &r);
}

ssq_status ssq_bce_with_logits(ssq_queue *queue,
                               const ssq_bce_with_logits_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "bce_with_logits");
    if (st != SSQ_OK)
        return st;
    const struct request r = {.name = "bce_with_logits",
                              .kind = LOSS_BCE,
                              .reduction = args->reduction,
                              .x = args->x,
                              .target = args->target,
                              .weight = args->weight,
                              .pos_weight = args->pos_weight,
                              .loss = args->loss,
                              .dx = args->dx,
                              .dloss = args->dloss};
    return loss_run(queue, &r);
}
