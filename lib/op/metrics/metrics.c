/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - top-k accuracy and perplexity: check and enqueue. */
#include "lib/op/metrics/metrics.h"

#include <sesqui/ops/metrics.h>

#include "kernels/elementwise/unary_kinds.h"
#include "lib/core/core.h"
#include "lib/op/elementwise/elementwise.h"
#include "lib/op/operands.h"

#include <math.h>

#define F32_BIT DTYPE_BIT(SSQ_F32)
#define I32_BIT DTYPE_BIT(SSQ_I32)

/* Check that an output has one element. NULL passes. */
static ssq_status metrics_check_one(const ssq_tensor *t, const char *what,
                                    const char *name)
{
    if (t == NULL || view_elements(&t->view) == 1)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s has %lld elements, expected 1",
                     name, what, (long long)view_elements(&t->view));
}

/* Check everything except the shape of target, which depends on the dimension
 * of the classes. k may exceed the number of classes. */
static ssq_status check_top_k(const ssq_queue *queue,
                              const ssq_top_k_accuracy_args *a,
                              const char *name)
{
    const unsigned out = OPERAND_OUT | OPERAND_OPTIONAL;
    const struct operand_rule rules[] = {
        {a->logits, "logits", DTYPES_FLOAT, 0, 0},
        {a->target, "target", I32_BIT, 0, 0},
        {a->accuracy, "accuracy", F32_BIT, out, 0},
        {a->hits, "hits", I32_BIT, out, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = metrics_check_one(a->accuracy, "accuracy", name);
    if (st == SSQ_OK)
        st = metrics_check_one(a->hits, "hits", name);
    if (st != SSQ_OK)
        return st;
    if (a->logits->view.rank == 0)
        return error_set(SSQ_ERR_INVALID, "%s: logits is a scalar", name);
    if (a->accuracy == NULL && a->hits == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: no output: accuracy and hits are NULL", name);
    if (a->k < 1)
        return error_set(SSQ_ERR_INVALID, "%s: k is %lld, expected at least 1",
                         name, (long long)a->k);
    return SSQ_OK;
}

/* Fill the outputs of a call without rows: 0 hits, and an accuracy of 0 / 0. */
static ssq_status metrics_no_rows(ssq_queue *queue,
                                  const ssq_top_k_accuracy_args *a)
{
    struct view accuracy = tensor_view(a->accuracy, ACCESS_WRITE);
    struct view hits = tensor_view(a->hits, ACCESS_WRITE);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (a->accuracy != NULL)
        st = enqueue_fill(queue, &accuracy, (double)NAN);
    if (st == SSQ_OK && a->hits != NULL)
        st = enqueue_fill(queue, &hits, 0.0);
    return queue_bundle_end(queue, st);
}

/* Set *v to target, with the classes as a last dimension of stride 0. Without
 * classes its size is 1, because targets are read even then. */
static ssq_status target_view(const ssq_top_k_accuracy_args *a,
                              const struct view *x, const char *name,
                              struct view *v)
{
    struct view rows = *x;
    rows.rank--;
    char tt[128], tr[128], tx[128];
    *v = tensor_view(a->target, ACCESS_READ);
    if (!view_same_shape(v, &rows))
        return error_set(SSQ_ERR_INVALID,
                         "%s: target is %s, expected %s: logits is %s", name,
                         view_text(v, tt, sizeof(tt)),
                         view_text(&rows, tr, sizeof(tr)),
                         view_text(&a->logits->view, tx, sizeof(tx)));
    v->shape[v->rank] = x->shape[v->rank] > 0 ? x->shape[v->rank] : 1;
    v->stride[v->rank] = 0;
    v->rank++;
    return SSQ_OK;
}

/* Classes are dimension 1, as in cross-entropy, but 0 if logits is a single
 * row. hits is an i32, hence the limit. */
ssq_status op_top_k_accuracy(ssq_queue *queue,
                             const ssq_top_k_accuracy_args *args,
                             const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = check_top_k(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct top_k_accuracy_op op = {
        .op = OP_HEADER(top_k_accuracy, x),
        .k = args->k,
        .ignore_index = args->ignore_index,
        .x = tensor_view(args->logits, ACCESS_READ),
        .accuracy = tensor_view(args->accuracy, ACCESS_WRITE),
        .hits = tensor_view(args->hits, ACCESS_WRITE)};
    /* With the classes last, the dimensions before them are the shape that
     * target must have. */
    view_axis_last(&op.x, op.x.rank == 1 ? 0 : 1);
    st = target_view(args, &op.x, name, &op.target);
    if (st != SSQ_OK)
        return st;
    int64_t rows = view_elements(&args->target->view);
    if (rows == 0)
        return metrics_no_rows(queue, args);
    if (rows > INT32_MAX)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: %lld rows, at most %lld are counted", name,
                         (long long)rows, (long long)INT32_MAX);
    struct view *views[] = {&op.x, &op.target};
    views_collapse_rows(views, 2, 1);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_top_k_accuracy(ssq_queue *queue,
                              const ssq_top_k_accuracy_args *args)
{
    return op_top_k_accuracy(queue, args, "top_k_accuracy");
}

/* Enqueue exp of the loss by the unary op, but with the name of this call in
 * errors. */
ssq_status ssq_perplexity(ssq_queue *queue, const ssq_perplexity_args *args)
{
    const char *name = "perplexity";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct operand_rule rules[] = {
        {args->loss, "loss", F32_BIT, 0, 0},
        {args->y, "y", F32_BIT, OPERAND_OUT, 1u << 0},
    };
    st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_same_shape(args->loss, "loss", args->y, "y", name);
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    struct unary_op op = {.op = OP_HEADER(unary, x),
                          .kind = UNARY_exp,
                          .x = tensor_view(args->loss, ACCESS_READ),
                          .y = tensor_view(args->y, ACCESS_WRITE)};
    struct view *views[] = {&op.x, &op.y};
    views_collapse(views, 2);
    return queue_enqueue(queue, &op.op);
}
