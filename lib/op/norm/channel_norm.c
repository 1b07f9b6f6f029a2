/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.c - batch norm, group norm and their backward: check, bring into
 * the form of channel_norm.h, enqueue. */
#include "lib/op/norm/channel_norm.h"

#include "lib/op/operands.h"

#include <float.h>
#include <math.h>

#define F32_BIT DTYPE_BIT(SSQ_F32)

/* The sizes of a call. */
struct channel_norm_sizes {
    int axis;
    int64_t n, c;    /* as in channel_norm.h */
    int64_t spatial; /* the product of the other dimensions */
    int64_t groups;
};

static bool channel_norm_over_ranks(const struct channel_norm_call *a)
{
    return a->ranks != NULL && a->ranks->several(a);
}

static ssq_status channel_norm_check_ranks(const ssq_queue *queue,
                                           const struct channel_norm_call *a)
{
    return a->ranks == NULL ? SSQ_OK : a->ranks->check(queue, a);
}

/* Check the rank and the parameters. The comparisons are written so that NaN
 * fails. eps must be a finite float32. */
static ssq_status channel_norm_check_numbers(const struct channel_norm_call *a)
{
    if (a->x->view.rank < 2)
        return error_set(SSQ_ERR_INVALID,
                         "%s: x has rank %d, expected 2 or more", a->name,
                         a->x->view.rank);
    if (!(a->eps >= 0.0 && a->eps <= (double)FLT_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: eps is %g, expected >= 0, finite in float32",
                         a->name, a->eps);
    if (!(a->momentum >= 0.0 && a->momentum <= 1.0))
        return error_set(SSQ_ERR_INVALID, "%s: momentum is %g, expected 0 to 1",
                         a->name, a->momentum);
    if (a->activation < SSQ_ACTIVATION_NONE ||
        a->activation > SSQ_ACTIVATION_TANH)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not an activation",
                         a->name, (int)a->activation);
    return SSQ_OK;
}

/* Find the batch, the channels and the other dimensions. axis has the channels.
 * Dimension 0 has the batch, or dimension 1 if the channels come first. Group
 * norm always has its batch in dimension 0. */
static ssq_status channel_norm_find_sizes(const struct channel_norm_call *a,
                                          struct channel_norm_sizes *s)
{
    const struct view *x = &a->x->view;
    char tx[128];
    ssq_status st = check_axis(a->axis, x->rank, a->name, &s->axis);
    if (st != SSQ_OK)
        return st;
    if (!a->pooled && s->axis == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: axis is %d of rank %d: dimension 0 is the batch",
                         a->name, a->axis, x->rank);
    int batch = s->axis == 0 ? 1 : 0;
    s->c = x->shape[s->axis];
    s->n = x->shape[batch];
    s->spatial = 1;
    for (int i = 0; i < x->rank; i++)
        if (i != s->axis && i != batch)
            s->spatial *= x->shape[i];
    s->groups = a->pooled ? s->c : a->groups;
    if (!a->pooled && (s->groups < 1 || s->c % s->groups != 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %lld groups of the %lld channels of x, %s",
                         a->name, (long long)s->groups, (long long)s->c,
                         view_text(x, tx, sizeof(tx)));
    return SSQ_OK;
}

/* Check that t has these sizes. NULL passes. */
static ssq_status channel_norm_check_shape(const struct channel_norm_call *a,
                                           const ssq_tensor *t,
                                           const char *what, int rank,
                                           const int64_t *shape)
{
    struct view want = {.rank = rank};
    char tt[128], tw[128], tx[128];
    if (t == NULL)
        return SSQ_OK;
    for (int i = 0; i < rank; i++)
        want.shape[i] = shape[i];
    if (view_same_shape(&t->view, &want))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s for x, %s",
                     a->name, what, view_text(&t->view, tt, sizeof(tt)),
                     view_text(&want, tw, sizeof(tw)),
                     view_text(&a->x->view, tx, sizeof(tx)));
}

/* Check the shapes of all given tensors: as x, [c], or one statistic per set.
 * The latter is [n, groups], or [groups] if it is pooled over the batch. */
static ssq_status channel_norm_check_shapes(const struct channel_norm_call *a,
                                            const struct channel_norm_sizes *s)
{
    const ssq_tensor *full[] = {a->y, a->dy, a->dx};
    static const char *const full_is[] = {"y", "dy", "dx"};
    const ssq_tensor *channel[] = {a->gamma,       a->beta,   a->running_mean,
                                   a->running_var, a->dgamma, a->dbeta};
    static const char *const channel_is[] = {
        "gamma", "beta", "running_mean", "running_var", "dgamma", "dbeta"};
    /* The shape of a statistic; a pooled one skips n. */
    const int64_t sets[] = {s->n, s->groups};
    ssq_status st = SSQ_OK;
    for (int i = 0; i < 3 && st == SSQ_OK; i++)
        if (full[i] != NULL)
            st = check_same_shape(a->x, "x", full[i], full_is[i], a->name);
    for (int i = 0; i < 6 && st == SSQ_OK; i++)
        st = channel_norm_check_shape(a, channel[i], channel_is[i], 1, &s->c);
    int skip = a->pooled ? 1 : 0;
    if (st == SSQ_OK)
        st =
            channel_norm_check_shape(a, a->mean, "mean", 2 - skip, sets + skip);
    if (st == SSQ_OK)
        st =
            channel_norm_check_shape(a, a->rstd, "rstd", 2 - skip, sets + skip);
    return st;
}

/* Refuse a call without the running statistics that it needs. have: it has mean
 * and rstd instead, as a backward call may. Training is refused with one value
 * per channel: its variance is 0, and the unbiased one 0 / 0. */
static ssq_status check_running(const struct channel_norm_call *a,
                                const struct channel_norm_sizes *s, bool have)
{
    const ssq_tensor *m = a->running_mean, *v = a->running_var;
    char tx[128];
    if ((m == NULL) != (v == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s is NULL, but not %s: give both or none",
                         a->name, m == NULL ? "running_mean" : "running_var",
                         m == NULL ? "running_var" : "running_mean");
    if (a->given && m == NULL && !have)
        return error_set(SSQ_ERR_INVALID,
                         "%s: training is false, and there are no running "
                         "statistics",
                         a->name);
    if (a->pooled && !a->given && s->n * s->spatial == 1 && s->c > 0 &&
        !channel_norm_over_ranks(a))
        return error_set(SSQ_ERR_INVALID,
                         "%s: x is %s: 1 value per channel has no variance to "
                         "train with",
                         a->name, view_text(&a->x->view, tx, sizeof(tx)));
    return SSQ_OK;
}

/* Check everything except presence, devices and dtypes. */
static ssq_status channel_norm_check(const struct channel_norm_call *a,
                                     bool have, struct channel_norm_sizes *s)
{
    ssq_status st = channel_norm_check_numbers(a);
    if (st == SSQ_OK)
        st = channel_norm_find_sizes(a, s);
    if (st == SSQ_OK)
        st = channel_norm_check_shapes(a, s);
    return st == SSQ_OK ? check_running(a, s, have) : st;
}

/* Return a tensor of x's shape with its dimensions in the order [n, c,
 * others..]. */
static struct view channels_view(const ssq_tensor *t, enum access access,
                                 const struct channel_norm_sizes *s)
{
    struct view v = tensor_view(t, access), r = v;
    int order[SSQ_MAX_RANK], k = 0;
    if (t == NULL)
        return v;
    order[k++] = s->axis == 0 ? 1 : 0;
    order[k++] = s->axis;
    for (int i = 0; i < v.rank; i++)
        if (i != order[0] && i != order[1])
            order[k++] = i;
    for (int i = 0; i < v.rank; i++) {
        r.shape[i] = v.shape[order[i]];
        r.stride[i] = v.stride[order[i]];
    }
    return r;
}

/* Return mean or rstd as [n, groups]. A pooled one, which is [groups], becomes
 * [1, groups], so that backends index both in the same way. */
static struct view sets_view(const ssq_tensor *t, enum access access)
{
    struct view v = tensor_view(t, access);
    if (t != NULL && v.rank == 1) {
        v.rank = 2;
        v.shape[1] = v.shape[0];
        v.stride[1] = v.stride[0];
        v.shape[0] = 1;
        v.stride[0] = 0;
    }
    return v;
}

/* Fill two tensors, which may be absent or empty, with a value; both or
 * none. */
static ssq_status fill_two(ssq_queue *queue, const ssq_tensor *a,
                           const ssq_tensor *b, double value)
{
    const ssq_tensor *t[] = {a, b};
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < 2 && st == SSQ_OK; i++) {
        struct view v = tensor_view(t[i], ACCESS_WRITE);
        if (t[i] != NULL)
            st = enqueue_fill(queue, &v, value);
    }
    return queue_bundle_end(queue, st);
}

/* Return an op with all members that determine the statistics of a call.
 * channel_norm_forward() adds the members for normalising;
 * channel_norm_recompute() does without them. */
static struct channel_norm_op forward_op(const struct channel_norm_call *a,
                                         const struct channel_norm_sizes *s)
{
    /* Training also reads the running statistics: part of them is kept. */
    enum access running = a->given ? ACCESS_READ : ACCESS_UPDATE;
    return (struct channel_norm_op){
        .op = OP_HEADER(channel_norm, x),
        .pooled = a->pooled,
        .given = a->given,
        .population = a->population,
        .groups = s->groups,
        .eps = (float)a->eps,
        .keep = (float)(1.0 - a->momentum),
        .momentum = (float)a->momentum,
        .activation = a->activation,
        .x = channels_view(a->x, ACCESS_READ, s),
        .running_mean = tensor_view(a->running_mean, running),
        .running_var = tensor_view(a->running_var, running),
    };
}

/* Run a call if x has no elements. Statistics of nothing are NaN. Given ones
 * can still be reported, and the caller may have asked for them. */
static ssq_status channel_norm_empty(ssq_queue *queue,
                                     const struct channel_norm_call *a,
                                     const struct channel_norm_sizes *s)
{
    if (!a->given || s->c == 0)
        return fill_two(queue, a->mean, a->rstd, (double)NAN);
    if (a->mean == NULL && a->rstd == NULL)
        return SSQ_OK;
    /* An op needs elements, so running_mean is passed as an x of one element
     * per channel. x is not read if statistics are given and y is absent. */
    struct channel_norm_op op = forward_op(a, s);
    op.x = op.running_mean;
    op.x.rank = 3;
    op.x.shape[1] = op.x.shape[0];
    op.x.stride[1] = op.x.stride[0];
    op.x.shape[0] = op.x.shape[2] = 1;
    op.x.stride[0] = op.x.stride[2] = 0;
    op.mean = sets_view(a->mean, ACCESS_WRITE);
    op.rstd = sets_view(a->rstd, ACCESS_WRITE);
    return queue_enqueue(queue, &op.op);
}

/* Check and enqueue. If training updates the running statistics they are
 * outputs, and must not overlap anything. */
static ssq_status channel_norm_forward(ssq_queue *queue,
                                       const struct channel_norm_call *a)
{
    const unsigned optional = OPERAND_OPTIONAL, out = OPERAND_OUT;
    const unsigned running = a->given ? optional : optional | out;
    const struct operand_rule rules[] = {
        {a->x, "x", DTYPES_FLOAT, 0, 0},
        {a->gamma, "gamma", F32_BIT, optional, 0},
        {a->beta, "beta", F32_BIT, optional, 0},
        {a->running_mean, "running_mean", F32_BIT, running, 0},
        {a->running_var, "running_var", F32_BIT, running, 0},
        {a->y, "y", DTYPES_FLOAT, out, 1u << 0},
        {a->mean, "mean", F32_BIT, out | optional, 0},
        {a->rstd, "rstd", F32_BIT, out | optional, 0},
    };
    struct channel_norm_sizes s;
    ssq_status st = OPERANDS_CHECK(queue, a->name, rules);
    if (st == SSQ_OK)
        st = channel_norm_check(a, false, &s);
    if (st == SSQ_OK)
        st = channel_norm_check_ranks(queue, a);
    if (st != SSQ_OK)
        return st;
    if (view_elements(&a->x->view) == 0 && !channel_norm_over_ranks(a))
        return channel_norm_empty(queue, a, &s);
    struct channel_norm_op op = forward_op(a, &s);
    op.gamma = tensor_view(a->gamma, ACCESS_READ);
    op.beta = tensor_view(a->beta, ACCESS_READ);
    op.y = channels_view(a->y, ACCESS_WRITE, &s);
    op.mean = sets_view(a->mean, ACCESS_WRITE);
    op.rstd = sets_view(a->rstd, ACCESS_WRITE);
    struct view *views[] = {&op.x, &op.y};
    channel_merge_spatial(views, 2);
    return channel_norm_over_ranks(a) ? a->ranks->forward(queue, a, &op)
                                      : pieces_norm(queue, &op);
}

/* Use the default floating-point modes: eps, keep and momentum are rounded to
 * float32. */
ssq_status channel_norm(ssq_queue *queue, const struct channel_norm_call *call)
{
    struct fpenv env = fpenv_enter();
    ssq_status st = channel_norm_forward(queue, call);
    fpenv_leave(env);
    return st;
}

/* Run all checks of a backward call. dx may be x (rule 0) or dy (rule 6). */
static ssq_status channel_norm_check_backward(const ssq_queue *queue,
                                              const struct channel_norm_call *a,
                                              struct channel_norm_sizes *s)
{
    const unsigned optional = OPERAND_OPTIONAL, out = OPERAND_OUT | optional;
    const struct operand_rule rules[] = {
        {a->x, "x", DTYPES_FLOAT, 0, 0},
        {a->gamma, "gamma", F32_BIT, optional, 0},
        {a->running_mean, "running_mean", F32_BIT, optional, 0},
        {a->running_var, "running_var", F32_BIT, optional, 0},
        {a->mean, "mean", F32_BIT, optional, 0},
        {a->rstd, "rstd", F32_BIT, optional, 0},
        {a->dy, "dy", DTYPES_FLOAT, 0, 0},
        {a->dx, "dx", DTYPES_FLOAT, out, 1u << 0 | 1u << 6},
        {a->dgamma, "dgamma", F32_BIT, out, 0},
        {a->dbeta, "dbeta", F32_BIT, out, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, a->name, rules);
    if (st == SSQ_OK && (a->mean == NULL) != (a->rstd == NULL))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s is NULL, but not %s: give both or none",
                         a->name, a->mean == NULL ? "mean" : "rstd",
                         a->mean == NULL ? "rstd" : "mean");
    if (st == SSQ_OK)
        st = channel_norm_check(a, a->mean != NULL, s);
    if (st == SSQ_OK && a->dx == NULL && a->dgamma == NULL && a->dbeta == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: no output: dx, dgamma, dbeta are NULL", a->name);
    return st == SSQ_OK ? channel_norm_check_ranks(queue, a) : st;
}

/* Compute the statistics into scratch first, by a forward op without y. Unless
 * they are given, the running ones are removed from that op, because it must
 * not update them a second time. Both ops are in one bundle. */
static ssq_status channel_norm_recompute(ssq_queue *queue,
                                         const struct channel_norm_call *a,
                                         const struct channel_norm_sizes *s,
                                         struct channel_norm_backward_op *op)
{
    /* The form that sets_view() returns. */
    const int64_t shape[] = {a->pooled ? 1 : s->n, s->groups};
    struct channel_norm_op stats = forward_op(a, s);
    struct view mean = {.buffer = NULL}, rstd = {.buffer = NULL};
    ssq_status st = scratch_get(queue, SSQ_F32, 2, shape, &mean);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 2, shape, &rstd);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        goto out_scratch;
    stats.mean = mean;
    stats.rstd = rstd;
    if (!a->given)
        stats.running_mean.buffer = stats.running_var.buffer = NULL;
    struct view *views[] = {&stats.x};
    channel_merge_spatial(views, 1);
    st = pieces_norm(queue, &stats);
    op->mean = mean;
    op->rstd = rstd;
    op->mean.access = op->rstd.access = ACCESS_READ;
    if (st == SSQ_OK)
        st = pieces_gradient(queue, op);
    st = queue_bundle_end(queue, st);
out_scratch:
    scratch_put(&mean);
    scratch_put(&rstd);
    return st;
}

/* Check and enqueue. Sums over no elements are 0; an empty x needs no more. */
static ssq_status op_channel_norm_backward(ssq_queue *queue,
                                           const struct channel_norm_call *a)
{
    struct channel_norm_sizes s;
    ssq_status st = channel_norm_check_backward(queue, a, &s);
    if (st != SSQ_OK)
        return st;
    if (view_elements(&a->x->view) == 0 && !channel_norm_over_ranks(a))
        return fill_two(queue, a->dgamma, a->dbeta, 0.0);
    struct channel_norm_backward_op op = {
        .op = OP_HEADER(channel_norm_backward, x),
        .pooled = a->pooled,
        .given = a->given,
        .groups = s.groups,
        .x = channels_view(a->x, ACCESS_READ, &s),
        .gamma = tensor_view(a->gamma, ACCESS_READ),
        .mean = sets_view(a->mean, ACCESS_READ),
        .rstd = sets_view(a->rstd, ACCESS_READ),
        .dy = channels_view(a->dy, ACCESS_READ, &s),
        .dx = channels_view(a->dx, ACCESS_WRITE, &s),
        .dgamma = tensor_view(a->dgamma, ACCESS_WRITE),
        .dbeta = tensor_view(a->dbeta, ACCESS_WRITE)};
    struct view *views[] = {&op.x, &op.dy, &op.dx};
    channel_merge_spatial(views, 3);
    if (channel_norm_over_ranks(a))
        return a->ranks->backward(queue, a, &op);
    return a->mean != NULL ? pieces_gradient(queue, &op)
                           : channel_norm_recompute(queue, a, &s, &op);
}

ssq_status channel_norm_backward(ssq_queue *queue,
                                 const struct channel_norm_call *call)
{
    struct fpenv env = fpenv_enter();
    ssq_status st = op_channel_norm_backward(queue, call);
    fpenv_leave(env);
    return st;
}
