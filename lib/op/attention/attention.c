/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - attention and its backward: check and enqueue. */
#include "lib/op/attention/attention.h"

#include <sesqui/ops/attention.h>

#include "lib/core/core.h"
#include "lib/op/operands.h"

#include <float.h>
#include <math.h>

#define F32_BIT DTYPE_BIT(SSQ_F32)
#define U8_BIT  DTYPE_BIT(SSQ_U8)
#define I32_BIT DTYPE_BIT(SSQ_I32)

/* The shapes of q, k and v as text, for error messages. */
struct shapes {
    char q[128], k[128], v[128];
};

/* Format the shapes of q, k and v, which may have any rank. */
static struct shapes shapes_text(const ssq_attention_args *a)
{
    struct shapes s;
    view_text(&a->q->view, s.q, sizeof(s.q));
    view_text(&a->k->view, s.k, sizeof(s.k));
    view_text(&a->v->view, s.v, sizeof(s.v));
    return s;
}

/* Report two sizes that differ but must be equal. */
static ssq_status refuse_sizes(const ssq_attention_args *a, const char *name,
                               const char *what, int64_t x, int64_t y)
{
    struct shapes s = shapes_text(a);
    return error_set(SSQ_ERR_INVALID,
                     "%s: q is %s, k is %s, v is %s: %s %lld and %lld differ",
                     name, s.q, s.k, s.v, what, (long long)x, (long long)y);
}

/* Read the sizes from q, k and v, and check that they agree. Several heads of q
 * may share one head of k and v, so kv_heads must divide heads. */
static ssq_status attention_check_sizes(const ssq_attention_args *a,
                                        const char *name,
                                        struct attention_params *p)
{
    const struct view *q = &a->q->view, *k = &a->k->view, *v = &a->v->view;
    struct shapes s = shapes_text(a);
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return error_set(SSQ_ERR_INVALID,
                         "%s: q is %s, k is %s, v is %s, expected [batch, "
                         "heads, t, d] each",
                         name, s.q, s.k, s.v);
    if (k->shape[0] != q->shape[0])
        return refuse_sizes(a, name, "batches", q->shape[0], k->shape[0]);
    if (v->shape[0] != q->shape[0])
        return refuse_sizes(a, name, "batches", q->shape[0], v->shape[0]);
    if (v->shape[1] != k->shape[1])
        return refuse_sizes(a, name, "kv_heads", k->shape[1], v->shape[1]);
    if (v->shape[2] != k->shape[2])
        return refuse_sizes(a, name, "tk", k->shape[2], v->shape[2]);
    if (k->shape[3] != q->shape[3])
        return refuse_sizes(a, name, "head sizes", q->shape[3], k->shape[3]);
    if (q->shape[1] > 0 && (k->shape[1] == 0 || q->shape[1] % k->shape[1] != 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: q is %s, k is %s: kv_heads %lld does not divide "
                         "heads %lld",
                         name, s.q, s.k, (long long)k->shape[1],
                         (long long)q->shape[1]);
    p->batch = q->shape[0];
    p->heads = q->shape[1];
    p->kv_heads = k->shape[1];
    p->tq = q->shape[2];
    p->tk = k->shape[2];
    p->d = q->shape[3];
    p->dv = v->shape[3];
    return SSQ_OK;
}

/* Refuse an operand that is not [batch, heads, tq, dv], or, for rank 3, the
 * same without dv. NULL passes. */
static ssq_status attention_check_rows(const ssq_tensor *t, const char *what,
                                       int rank,
                                       const struct attention_params *p,
                                       const char *name)
{
    if (t == NULL)
        return SSQ_OK;
    struct view want = {.rank = rank,
                        .shape = {p->batch, p->heads, p->tq, p->dv}};
    char tt[128], tw[128];
    if (view_same_shape(&t->view, &want))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s", name, what,
                     view_text(&t->view, tt, sizeof(tt)),
                     view_text(&want, tw, sizeof(tw)));
}

/* Refuse a tensor in which the elements of a head are not adjacent: kernels
 * load them as such. NULL passes, and so does a last dimension of one
 * element. */
static ssq_status check_unit(const ssq_tensor *t, const char *what,
                             const char *name)
{
    if (t == NULL)
        return SSQ_OK;
    int last = t->view.rank - 1;
    if (t->view.stride[last] == 1 || t->view.shape[last] <= 1)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the last dimension of %s has stride %lld, expected 1",
                     name, what, (long long)t->view.stride[last]);
}

/* Set *v to the mask, broadcast to the scores' shape, or absent if mask is
 * NULL. Repeated dimensions get size 1: a launch is measured by the elements of
 * its operands, and the number of scores may overflow. */
static ssq_status mask_view(const ssq_tensor *mask, const char *name,
                            const struct attention_params *p, struct view *v)
{
    const int64_t shape[4] = {p->batch, p->heads, p->tq, p->tk};
    *v = tensor_view(mask, ACCESS_READ);
    char tm[128], ts[128];
    if (mask == NULL)
        return SSQ_OK;
    if (view_broadcast(v, 4, shape)) {
        for (int i = 0; i < 4; i++)
            if (v->stride[i] == 0)
                v->shape[i] = 1;
        return SSQ_OK;
    }
    struct view scores = {.rank = 4};
    for (int i = 0; i < 4; i++)
        scores.shape[i] = shape[i];
    return error_set(SSQ_ERR_INVALID,
                     "%s: mask is %s, which does not broadcast to %s", name,
                     view_text(&mask->view, tm, sizeof(tm)),
                     view_text(&scores, ts, sizeof(ts)));
}

/* Check that the numeric parameters are float32 values; NaN fails the
 * comparisons. softcap must not be subnormal, because kernels divide by it. */
static ssq_status attention_check_numbers(const ssq_attention_args *a,
                                          const char *name)
{
    if (!(fabs(a->scale) <= (double)FLT_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: scale is %g, expected finite in float32", name,
                         a->scale);
    if (a->scale != 0.0 && fabs(a->scale) < (double)FLT_MIN)
        return error_set(SSQ_ERR_INVALID,
                         "%s: scale is %g, which is not a normal float32", name,
                         a->scale);
    if (!(a->dropout >= 0.0 && a->dropout <= 1.0))
        return error_set(SSQ_ERR_INVALID, "%s: dropout is %g, expected 0 to 1",
                         name, a->dropout);
    if (a->softcap != 0.0 &&
        !(a->softcap >= (double)FLT_MIN && a->softcap <= (double)FLT_MAX))
        return error_set(SSQ_ERR_INVALID,
                         "%s: softcap is %g, expected 0 or a positive normal "
                         "float32",
                         name, a->softcap);
    return SSQ_OK;
}

/* Set the parameters; the sizes are already set. A scale of 0 means 1 /
 * sqrt(d). Each value is rounded once, from double to float32, so that all
 * devices use the same value. */
static void set_params(const ssq_attention_args *a, struct attention_params *p)
{
    double scale = a->scale;
    if (scale == 0.0 || p->d == 0)
        scale = p->d == 0 ? 1.0 : 1.0 / sqrt((double)p->d);
    p->scale = (float)scale;
    p->softcap = (float)a->softcap;
    p->causal = a->causal;
    p->causal_offset = a->causal_offset;
    p->stream = make_stream(a->seed, a->id, a->offset);
    p->drop = make_chance(a->dropout);
    /* A dropout that rounds to a threshold of 0 drops nothing. */
    p->dropout = p->drop.always || p->drop.threshold != 0;
    p->keep = p->drop.always ? 0.0f : (float)(1.0 / (1.0 - a->dropout));
}

/* Run the checks that forward and backward share, after the checks of the
 * operand rules. k and v must have q's dtype. On success *p and *mask are
 * set. */
static ssq_status check_shared(const ssq_queue *queue,
                               const ssq_attention_args *a, const char *name,
                               struct attention_params *p, struct view *mask)
{
    ssq_status st = check_dtype(a->k, DTYPE_BIT(a->q->view.dtype), name, "k");
    if (st == SSQ_OK)
        st = check_dtype(a->v, DTYPE_BIT(a->q->view.dtype), name, "v");
    if (st == SSQ_OK)
        st = attention_check_numbers(a, name);
    if (st == SSQ_OK)
        st = attention_check_sizes(a, name, p);
    if (st == SSQ_OK)
        st = attention_check_rows(a->y, "y", 4, p, name);
    if (st == SSQ_OK)
        st = attention_check_rows(a->lse, "lse", 3, p, name);
    if (st == SSQ_OK)
        st = check_unit(a->q, "q", name);
    if (st == SSQ_OK)
        st = check_unit(a->k, "k", name);
    if (st == SSQ_OK)
        st = check_unit(a->v, "v", name);
    if (st == SSQ_OK)
        st = check_unit(a->y, "y", name);
    if (st == SSQ_OK)
        st = check_step(queue, a->step, NULL, "", name);
    if (st == SSQ_OK)
        st = mask_view(a->mask, name, p, mask);
    if (st == SSQ_OK)
        set_params(a, p);
    return st;
}

/* Fill n outputs with one value each: results of sums without terms. Skips
 * outputs that are NULL. Enqueues all fills or none. */
static ssq_status fill_all(ssq_queue *queue, const ssq_tensor *const *out,
                           const double *value, int n)
{
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < n && st == SSQ_OK; i++) {
        struct view v = tensor_view(out[i], ACCESS_WRITE);
        if (out[i] != NULL)
            st = enqueue_fill(queue, &v, value[i]);
    }
    return queue_bundle_end(queue, st);
}

/* Check and enqueue. Empty cases are handled here, so that backends need not
 * handle them. Without keys, y is 0 and lse is -infinity. If d or dv is 0,
 * operands without elements are absent. */
static ssq_status op_attention_forward(ssq_queue *queue,
                                       const ssq_attention_args *a)
{
    const char *name = "attention";
    const struct operand_rule rules[] = {
        {a->q, "q", DTYPES_FLOAT, 0, 0},
        {a->k, "k", DTYPES_FLOAT, 0, 0},
        {a->v, "v", DTYPES_FLOAT, 0, 0},
        {a->mask, "mask", DTYPES_FLOAT | U8_BIT, OPERAND_OPTIONAL, 0},
        {a->step, "step", I32_BIT, OPERAND_OPTIONAL, 0},
        {a->y, "y", DTYPES_FLOAT, OPERAND_OUT, 0},
        {a->lse, "lse", F32_BIT, OPERAND_OUT | OPERAND_OPTIONAL, 0},
    };
    struct attention_op op = {.op = OP_HEADER(attention, q)};
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_shared(queue, a, name, &op.p, &op.mask);
    if (st != SSQ_OK)
        return st;
    if (op.p.batch == 0 || op.p.heads == 0 || op.p.tq == 0 ||
        (op.p.dv == 0 && a->lse == NULL))
        return SSQ_OK;
    /* lse over no keys is the logarithm of 0. */
    const ssq_tensor *out[] = {a->y, a->lse};
    const double none[] = {0.0, -(double)INFINITY};
    if (op.p.tk == 0)
        return fill_all(queue, out, none, 2);
    op.q = tensor_view(op.p.d == 0 ? NULL : a->q, ACCESS_READ);
    op.k = tensor_view(op.p.d == 0 ? NULL : a->k, ACCESS_READ);
    op.v = tensor_view(op.p.dv == 0 ? NULL : a->v, ACCESS_READ);
    op.y = tensor_view(op.p.dv == 0 ? NULL : a->y, ACCESS_WRITE);
    op.lse = tensor_view(a->lse, ACCESS_WRITE);
    op.step = tensor_view(a->step, ACCESS_READ);
    return queue_enqueue(queue, &op.op);
}

/* Use the default floating-point modes: scale, softcap and dropout are rounded
 * to float32. */
ssq_status ssq_attention(ssq_queue *queue, const ssq_attention_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "attention");
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = op_attention_forward(queue, args);
    fpenv_leave(env);
    return st;
}

/* Return the arguments that both directions share, so that one function checks
 * them. y and lse are outputs of forward and inputs of backward. */
static ssq_attention_args shared_args(const ssq_attention_backward_args *b)
{
    ssq_attention_args a = SSQ_ATTENTION_INIT;
    a.q = b->q;
    a.k = b->k;
    a.v = b->v;
    a.mask = b->mask;
    a.y = b->y;
    a.lse = b->lse;
    a.scale = b->scale;
    a.causal = b->causal;
    a.causal_offset = b->causal_offset;
    a.dropout = b->dropout;
    a.seed = b->seed;
    a.id = b->id;
    a.step = b->step;
    a.offset = b->offset;
    a.softcap = b->softcap;
    return a;
}

/* Check that a gradient has the shape of its tensor. NULL passes. */
static ssq_status check_gradient(const ssq_tensor *grad, const char *grad_what,
                                 const ssq_tensor *x, const char *what,
                                 const char *name)
{
    ssq_status st = SSQ_OK;
    if (grad != NULL)
        st = check_same_shape(x, what, grad, grad_what, name);
    return st == SSQ_OK ? check_unit(grad, grad_what, name) : st;
}

/* Run all checks of a backward call. Sets the parameters and the mask of op. */
static ssq_status
op_attention_check_backward(const ssq_queue *queue,
                            const ssq_attention_backward_args *a,
                            const char *name, struct attention_backward_op *op)
{
    const unsigned out = OPERAND_OUT | OPERAND_OPTIONAL;
    const struct operand_rule rules[] = {
        {a->q, "q", DTYPES_FLOAT, 0, 0},
        {a->k, "k", DTYPES_FLOAT, 0, 0},
        {a->v, "v", DTYPES_FLOAT, 0, 0},
        {a->mask, "mask", DTYPES_FLOAT | U8_BIT, OPERAND_OPTIONAL, 0},
        {a->y, "y", DTYPES_FLOAT, 0, 0},
        {a->lse, "lse", F32_BIT, 0, 0},
        {a->dy, "dy", DTYPES_FLOAT, 0, 0},
        {a->step, "step", I32_BIT, OPERAND_OPTIONAL, 0},
        {a->dq, "dq", DTYPES_FLOAT, out, 0},
        {a->dk, "dk", DTYPES_FLOAT, out, 0},
        {a->dv, "dv", DTYPES_FLOAT, out, 0},
    };
    const ssq_attention_args shared = shared_args(a);
    ssq_status st = OPERANDS_CHECK(queue, name, rules);
    if (st == SSQ_OK)
        st = check_shared(queue, &shared, name, &op->p, &op->mask);
    if (st == SSQ_OK)
        st = attention_check_rows(a->dy, "dy", 4, &op->p, name);
    if (st == SSQ_OK)
        st = check_unit(a->dy, "dy", name);
    if (st == SSQ_OK)
        st = check_gradient(a->dq, "dq", a->q, "q", name);
    if (st == SSQ_OK)
        st = check_gradient(a->dk, "dk", a->k, "k", name);
    if (st == SSQ_OK)
        st = check_gradient(a->dv, "dv", a->v, "v", name);
    if (st == SSQ_OK && a->dq == NULL && a->dk == NULL && a->dv == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: no output: dq, dk, dv are NULL",
                         name);
    return st;
}

/* Check and enqueue. As in op_attention_forward(), empty cases are handled
 * here: gradients over nothing are 0. With d == 0, dq and dk have no elements.
 */
static ssq_status op_attention_backward(ssq_queue *queue,
                                        const ssq_attention_backward_args *a)
{
    struct attention_backward_op op = {.op = OP_HEADER(attention_backward, q)};
    ssq_status st =
        op_attention_check_backward(queue, a, "attention_backward", &op);
    if (st != SSQ_OK)
        return st;
    const struct attention_params *p = &op.p;
    const ssq_tensor *out[] = {a->dq, a->dk, a->dv};
    const double zero[] = {0.0, 0.0, 0.0};
    bool none = p->batch == 0 || p->heads == 0 || p->tq == 0 || p->tk == 0;
    if (none || p->dv == 0) /* without values y depends on nothing */
        return fill_all(queue, out, zero, 3);
    if (p->d == 0 && a->dv == NULL)
        return SSQ_OK;
    op.q = tensor_view(p->d == 0 ? NULL : a->q, ACCESS_READ);
    op.k = tensor_view(p->d == 0 ? NULL : a->k, ACCESS_READ);
    op.v = tensor_view(a->v, ACCESS_READ);
    op.step = tensor_view(a->step, ACCESS_READ);
    op.y = tensor_view(a->y, ACCESS_READ);
    op.lse = tensor_view(a->lse, ACCESS_READ);
    op.dy = tensor_view(a->dy, ACCESS_READ);
    op.dq = tensor_view(p->d == 0 ? NULL : a->dq, ACCESS_WRITE);
    op.dk = tensor_view(p->d == 0 ? NULL : a->dk, ACCESS_WRITE);
    op.dv = tensor_view(a->dv, ACCESS_WRITE);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_attention_backward(ssq_queue *queue,
                                  const ssq_attention_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "attention_backward");
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    st = op_attention_backward(queue, args);
    fpenv_leave(env);
    return st;
}
