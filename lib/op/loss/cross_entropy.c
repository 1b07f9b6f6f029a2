/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - cross-entropy and negative log-likelihood: check and
 * enqueue. */
#include "lib/op/loss/loss.h"

#include "lib/op/operands.h"

/* Return x without dimension axis: the sizes of values that exist once per
 * row. */
static struct view cross_entropy_rows_of(const ssq_tensor *x, int axis)
{
    struct view v = tensor_view(x, ACCESS_READ);
    view_axis_last(&v, axis);
    v.rank--;
    return v;
}

/* Check that target has one class number per row. NULL passes. */
static ssq_status check_target(const ssq_tensor *target,
                               const struct view *rows, const ssq_tensor *x,
                               const char *x_name, const char *name)
{
    char tt[128], tr[128], tx[128];
    if (target == NULL || view_same_shape(&target->view, rows))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: target is %s, expected %s: %s is %s",
                     name, view_text(&target->view, tt, sizeof(tt)),
                     view_text(rows, tr, sizeof(tr)), x_name,
                     view_text(&x->view, tx, sizeof(tx)));
}

/* Check that weight has one element per class, shared by all rows. NULL
 * passes. */
static ssq_status check_weight(const ssq_tensor *weight, int64_t classes,
                               const char *name)
{
    char tw[128];
    if (weight == NULL ||
        (weight->view.rank == 1 && weight->view.shape[0] == classes))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: weight is %s, expected [%lld]", name,
                     view_text(&weight->view, tw, sizeof(tw)),
                     (long long)classes);
}

/* Check ranges, and arguments that exclude each other. Rows are ignored by
 * their class number, which target_prob does not have. */
static ssq_status check_choices(const ssq_cross_entropy_args *a,
                                const char *name)
{
    if ((a->target == NULL) == (a->target_prob == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "%s: expected exactly one of target and target_prob, "
                         "%s given",
                         name, a->target == NULL ? "none is" : "both are");
    if (!(a->label_smoothing >= 0.0 && a->label_smoothing <= 1.0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: label_smoothing is %g, expected 0..1", name,
                         a->label_smoothing);
    if (a->target_prob != NULL && a->ignore_index >= 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: ignore_index is %lld with target_prob, which "
                         "ignores no row",
                         name, (long long)a->ignore_index);
    return SSQ_OK;
}

/* Check presence, dtypes, overlaps, and shapes that must equal the logits'.
 * nll_loss calls the logits x. dlogits may be logits, because a whole row is
 * read before its gradient is written. */
static ssq_status cross_entropy_check_operands(const ssq_queue *queue,
                                               const ssq_cross_entropy_args *a,
                                               const char *name,
                                               const char *x_name,
                                               const char *dx_name)
{
    const unsigned f32 = DTYPE_BIT(SSQ_F32);
    const unsigned out = OPERAND_OUT | OPERAND_OPTIONAL;
    const struct operand_rule rules[] = {
        {a->logits, x_name, DTYPES_FLOAT, 0, 0},
        {a->target, "target", DTYPE_BIT(SSQ_I32), OPERAND_OPTIONAL, 0},
        {a->target_prob, "target_prob", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->weight, "weight", DTYPES_FLOAT, OPERAND_OPTIONAL, 0},
        {a->dloss, "dloss", f32, OPERAND_OPTIONAL, 0},
        {a->loss, "loss", f32, out, 0},
        {a->dlogits, dx_name, DTYPES_FLOAT, out, 1u << 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK && a->logits->view.rank == 0)
        return error_set(SSQ_ERR_INVALID, "%s: %s is a scalar", name, x_name);
    if (st == SSQ_OK && a->target_prob != NULL)
        st = check_same_shape(a->logits, x_name, a->target_prob, "target_prob",
                              name);
    if (st == SSQ_OK && a->dlogits != NULL)
        st = check_same_shape(a->logits, x_name, a->dlogits, dx_name, name);
    return st;
}

/* Return a tensor with one element per row as a view in the shape of x, classes
 * last. A stride of 0 repeats the element for every class. NULL gives an absent
 * view. */
static struct view row_view(const ssq_tensor *t, enum access access,
                            const struct view *rows, int64_t classes)
{
    struct view v = loss_view(t, access, rows->rank, rows->shape);
    if (t == NULL)
        return v;
    v.shape[v.rank] = classes;
    v.stride[v.rank] = 0;
    v.rank++;
    return v;
}

/* Return a tensor of the logits' shape with the classes last; NULL stays
 * absent. */
static struct view class_view(const ssq_tensor *t, enum access access, int axis)
{
    struct view v = tensor_view(t, access);
    if (t != NULL)
        view_axis_last(&v, axis);
    return v;
}

/* Fill the op and enqueue it. The loss is collapsed together with the other
 * views only if it has an element per row. A mean or a sum is a single
 * element. */
static ssq_status cross_entropy_enqueue_rows(ssq_queue *queue,
                                             const ssq_cross_entropy_args *a,
                                             enum cross_entropy_kind kind,
                                             const struct view *rows, int axis)
{
    int64_t classes = a->logits->view.shape[axis];
    double e = a->label_smoothing;
    struct cross_entropy_op op = {
        .op = OP_HEADER(cross_entropy, x),
        .kind = kind,
        .reduction = a->reduction,
        .smooth = e > 0.0,
        .keep = (float)(1.0 - e),
        /* without classes there is nothing to spread over or divide by */
        .spread = classes == 0 ? 0.0f : (float)(e / (double)classes),
        .ignore_index = a->ignore_index,
        .x = class_view(a->logits, ACCESS_READ, axis),
        .target = row_view(a->target, ACCESS_READ, rows, classes),
        .prob = class_view(a->target_prob, ACCESS_READ, axis),
        .weight = tensor_view(a->weight, ACCESS_READ),
        .dloss = row_view(a->dloss, ACCESS_READ, rows, classes),
        .dx = class_view(a->dlogits, ACCESS_WRITE, axis)};
    struct view *views[] = {&op.x,     &op.target, &op.prob,
                            &op.dloss, &op.dx,     &op.loss};
    bool each = a->reduction == SSQ_REDUCTION_NONE;
    if (each)
        op.loss = row_view(a->loss, ACCESS_WRITE, rows, classes);
    views_collapse_rows(views, each ? 6 : 5, 1);
    if (!each) {
        const int64_t one = 1;
        op.loss = loss_view(a->loss, ACCESS_WRITE, 1, &one);
    }
    return queue_enqueue(queue, &op.op);
}

/* Check and enqueue either public call. x_name and dx_name are its names for
 * logits and dlogits. Classes are dimension 1, as in torch, but 0 if x is a
 * single row. If dloss is bound to a scaler and its scale was used, the scaler
 * is notified at the end. */
static ssq_status op_cross_entropy(ssq_queue *queue,
                                   const ssq_cross_entropy_args *a,
                                   enum cross_entropy_kind kind,
                                   const char *name, const char *x_name,
                                   const char *dx_name)
{
    ssq_status st =
        cross_entropy_check_operands(queue, a, name, x_name, dx_name);
    if (st == SSQ_OK)
        st = check_choices(a, name);
    if (st != SSQ_OK)
        return st;
    int axis = a->logits->view.rank == 1 ? 0 : 1;
    struct view rows = cross_entropy_rows_of(a->logits, axis);
    st = check_target(a->target, &rows, a->logits, x_name, name);
    if (st == SSQ_OK)
        st = check_weight(a->weight, a->logits->view.shape[axis], name);
    if (st == SSQ_OK)
        st = loss_check(name, a->reduction, a->loss, a->dloss, a->dlogits,
                        dx_name, &rows);
    if (st == SSQ_OK)
        st = scale_bind(queue, a->dloss);
    if (st != SSQ_OK)
        return st;
    st = view_elements(&rows) == 0
             ? loss_of_none(queue, a->reduction, a->loss)
             : cross_entropy_enqueue_rows(queue, a, kind, &rows, axis);
    return loss_bound(a->dloss, a->dlogits, st);
}

ssq_status ssq_cross_entropy(ssq_queue *queue,
                             const ssq_cross_entropy_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "cross_entropy");
    if (st != SSQ_OK)
        return st;
    /* Use the default floating-point modes: label_smoothing becomes float32. */
    struct fpenv env = fpenv_enter();
    st = op_cross_entropy(queue, args, CROSS_ENTROPY_LOGITS, "cross_entropy",
                          "logits", "dlogits");
    fpenv_leave(env);
    return st;
}

/* x contains log-probabilities, so target is required and labels are not
 * smoothed. */
ssq_status ssq_nll_loss(ssq_queue *queue, const ssq_nll_loss_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "nll_loss");
    if (st == SSQ_OK)
        st = check_operand(queue, args->target, "nll_loss", "target");
    if (st != SSQ_OK)
        return st;
    ssq_cross_entropy_args a = SSQ_CROSS_ENTROPY_INIT;
    a.logits = args->x;
    a.target = args->target;
    a.weight = args->weight;
    a.loss = args->loss;
    a.dlogits = args->dx;
    a.dloss = args->dloss;
    a.ignore_index = args->ignore_index;
    a.reduction = args->reduction;
    struct fpenv env = fpenv_enter();
    st = op_cross_entropy(queue, &a, CROSS_ENTROPY_LOG_PROBS, "nll_loss", "x",
                          "dx");
    fpenv_leave(env);
    return st;
}
