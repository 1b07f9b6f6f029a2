/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - random fills and dropout: check and enqueue. */
#include <sesqui/ops/random.h>

#include "lib/op/random/random.h"

#include <math.h>

/* Check the step, which is read on the device, so that a captured graph can
 * draw other words at each launch. Random ops, init, dropout and attention use
 * this. */
ssq_status check_step(const ssq_queue *queue, const ssq_tensor *step,
                      const ssq_tensor *out, const char *what, const char *name)
{
    ssq_status st = check_optional(queue, step, name, "step");
    if (st == SSQ_OK)
        st = check_dtype(step, DTYPE_BIT(SSQ_I32), name, "step");
    if (st == SSQ_OK && step != NULL && view_elements(&step->view) != 1)
        st =
            error_set(SSQ_ERR_INVALID, "%s: step has %lld elements, expected 1",
                      name, (long long)view_elements(&step->view));
    if (st == SSQ_OK)
        st = check_alias(out, what, step, "step", false, name);
    return st;
}

struct stream make_stream(uint64_t seed, uint32_t id, uint64_t offset)
{
    struct stream s = {.seed = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                       .id = id,
                       .offset = offset};
    return s;
}

/* A threshold cannot be 2^32 = 4294967296, hence `always`. A product with a
 * power of two is exact. */
struct chance make_chance(double p)
{
    double n = floor(p * 4294967296.0 + 0.5);
    struct chance c = {.always = n >= 4294967296.0};
    c.threshold = c.always ? UINT32_MAX : (uint32_t)n;
    return c;
}

/* Refuse a p that is not 0 to 1. The comparison is written so that NaN
 * fails. */
static ssq_status check_probability(double p, const char *name)
{
    if (p >= 0.0 && p <= 1.0)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: p is %g, expected 0 to 1", name, p);
}

/* Run the checks that all random fills share, and enqueue. The numbers of op
 * are already set. Elements are in row-major order, which collapsing keeps: a
 * view draws the same words for any strides. */
static ssq_status enqueue_random(ssq_queue *queue, struct random_op *op,
                                 const ssq_tensor *x, unsigned dtypes,
                                 const ssq_tensor *step, const char *name)
{
    ssq_status st = check_output(queue, x, name, "x");
    if (st == SSQ_OK)
        st = check_dtype(x, dtypes, name, "x");
    if (st == SSQ_OK)
        st = check_step(queue, step, x, "x", name);
    if (st != SSQ_OK || view_elements(&x->view) == 0)
        return st;
    op->y = tensor_view(x, ACCESS_WRITE);
    op->step = tensor_view(step, ACCESS_READ);
    struct view *v[] = {&op->y};
    views_collapse(v, 1);
    return queue_enqueue(queue, &op->op);
}

/* low and high may both be float32 although their difference is not, so the
 * width is checked as well. */
ssq_status ssq_random_uniform(ssq_queue *queue,
                              const ssq_random_uniform_args *args)
{
    const char *name = "random_uniform";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct random_op op = {.op = OP_HEADER(random, y),
                           .kind = RANDOM_KIND_UNIFORM,
                           .stream =
                               make_stream(args->seed, args->id, args->offset)};
    struct fpenv env = fpenv_enter();
    op.a = (float)args->low;
    op.b = (float)(args->high - args->low);
    bool fine = args->low <= args->high && isfinite(op.a) && isfinite(op.b) &&
                isfinite((float)args->high);
    FPENV_KEEP(fine);
    fpenv_leave(env);
    if (!fine)
        return error_set(SSQ_ERR_INVALID,
                         "random_uniform: low is %g, high is %g, expected "
                         "finite float32 values, low <= high",
                         args->low, args->high);
    return enqueue_random(queue, &op, args->x, DTYPES_FLOAT, args->step, name);
}

/* Check and enqueue either normal kind. */
static ssq_status op_random_normal(ssq_queue *queue,
                                   const ssq_random_normal_args *args,
                                   enum random_kind kind, const char *name)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    struct random_op op = {.op = OP_HEADER(random, y),
                           .kind = kind,
                           .stream =
                               make_stream(args->seed, args->id, args->offset)};
    struct fpenv env = fpenv_enter();
    op.a = (float)args->mean;
    op.b = (float)args->std;
    bool fine = isfinite(op.a) && isfinite(op.b) && args->std >= 0.0;
    FPENV_KEEP(fine);
    fpenv_leave(env);
    if (!fine)
        return error_set(SSQ_ERR_INVALID,
                         "%s: mean is %g, std is %g, expected finite float32 "
                         "values, std >= 0",
                         name, args->mean, args->std);
    return enqueue_random(queue, &op, args->x, DTYPES_FLOAT, args->step, name);
}

ssq_status ssq_random_normal(ssq_queue *queue,
                             const ssq_random_normal_args *args)
{
    return op_random_normal(queue, args, RANDOM_KIND_NORMAL, "random_normal");
}

ssq_status
ssq_random_truncated_normal(ssq_queue *queue,
                            const ssq_random_truncated_normal_args *args)
{
    return op_random_normal(queue, args, RANDOM_KIND_TRUNCATED_NORMAL,
                            "random_truncated_normal");
}

/* Any dtype is allowed: each has a 0 and a 1. */
ssq_status ssq_random_bernoulli(ssq_queue *queue,
                                const ssq_random_bernoulli_args *args)
{
    const char *name = "random_bernoulli";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st == SSQ_OK)
        st = check_probability(args->p, name);
    if (st != SSQ_OK)
        return st;
    struct random_op op = {.op = OP_HEADER(random, y),
                           .kind = RANDOM_KIND_BERNOULLI,
                           .stream =
                               make_stream(args->seed, args->id, args->offset)};
    struct fpenv env = fpenv_enter();
    op.one = make_chance(args->p);
    fpenv_leave(env);
    return enqueue_random(queue, &op, args->x, DTYPES_ALL, args->step, name);
}

/* The names of dropout's operands, forward or backward. */
struct random_names {
    const char *op, *x, *y;
};

/* Run the checks that dropout and its backward share. y may be x: an element
 * needs only the one at the same place. */
static ssq_status check_dropout(const ssq_queue *queue,
                                const ssq_dropout_args *a,
                                const struct random_names *n)
{
    ssq_status st = check_operand(queue, a->x, n->op, n->x);
    if (st == SSQ_OK)
        st = check_output(queue, a->y, n->op, n->y);
    if (st == SSQ_OK)
        st = check_dtype(a->x, DTYPES_FLOAT, n->op, n->x);
    if (st == SSQ_OK)
        st = check_dtype(a->y, DTYPES_FLOAT, n->op, n->y);
    if (st == SSQ_OK)
        st = check_same_shape(a->x, n->x, a->y, n->y, n->op);
    if (st == SSQ_OK)
        st = check_alias(a->y, n->y, a->x, n->x, true, n->op);
    if (st == SSQ_OK)
        st = check_step(queue, a->step, a->y, n->y, n->op);
    if (st == SSQ_OK)
        st = check_probability(a->p, n->op);
    return st;
}

/* Check the mask, which only the forward call has. NULL passes. */
static ssq_status check_mask(const ssq_queue *queue, const ssq_dropout_args *a)
{
    if (a->mask == NULL)
        return SSQ_OK;
    ssq_status st = check_output(queue, a->mask, "dropout", "mask");
    if (st == SSQ_OK)
        st = check_dtype(a->mask, DTYPE_BIT(SSQ_U8), "dropout", "mask");
    if (st == SSQ_OK)
        st = check_same_shape(a->x, "x", a->mask, "mask", "dropout");
    if (st == SSQ_OK)
        st = check_alias(a->mask, "mask", a->x, "x", false, "dropout");
    if (st == SSQ_OK)
        st = check_alias(a->mask, "mask", a->y, "y", false, "dropout");
    if (st == SSQ_OK)
        st = check_alias(a->mask, "mask", a->step, "step", false, "dropout");
    return st;
}

/* Enqueue the op. Kept elements are multiplied by 1 / (1 - p), so that the mean
 * does not change. For p = 1 nothing is kept, and the factor would be
 * infinite. */
static ssq_status enqueue_dropout(ssq_queue *queue, const ssq_dropout_args *a)
{
    if (view_elements(&a->x->view) == 0)
        return SSQ_OK;
    struct dropout_op op = {.op = OP_HEADER(dropout, x),
                            .stream = make_stream(a->seed, a->id, a->offset),
                            .x = tensor_view(a->x, ACCESS_READ),
                            .y = tensor_view(a->y, ACCESS_WRITE),
                            .mask = tensor_view(a->mask, ACCESS_WRITE),
                            .step = tensor_view(a->step, ACCESS_READ)};
    struct fpenv env = fpenv_enter();
    op.drop = make_chance(a->p);
    op.scale = op.drop.always ? 0.0f : (float)(1.0 / (1.0 - a->p));
    fpenv_leave(env);
    struct view *v[] = {&op.x, &op.y, &op.mask};
    /* An absent mask has no strides to compare. */
    views_collapse(v, a->mask == NULL ? 2 : 3);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_dropout(ssq_queue *queue, const ssq_dropout_args *args)
{
    const struct random_names names = {"dropout", "x", "y"};
    ssq_status st = CHECK_CALL(queue, args, names.op);
    if (st == SSQ_OK)
        st = check_dropout(queue, args, &names);
    if (st == SSQ_OK)
        st = check_mask(queue, args);
    return st == SSQ_OK ? enqueue_dropout(queue, args) : st;
}

/* The gradient drops the elements that the forward call dropped. It is the same
 * op with the same words, over dy, so no mask must be kept. */
ssq_status ssq_dropout_backward(ssq_queue *queue,
                                const ssq_dropout_backward_args *args)
{
    const struct random_names names = {"dropout_backward", "dy", "dx"};
    ssq_status st = CHECK_CALL(queue, args, names.op);
    if (st != SSQ_OK)
        return st;
    ssq_dropout_args same = SSQ_DROPOUT_INIT;
    same.x = args->dy;
    same.y = args->dx;
    same.seed = args->seed;
    same.id = args->id;
    same.step = args->step;
    same.offset = args->offset;
    same.p = args->p;
    st = check_dropout(queue, &same, &names);
    return st == SSQ_OK ? enqueue_dropout(queue, &same) : st;
}
