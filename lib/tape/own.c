/* SPDX-License-Identifier: Apache-2.0 */
/* own.c - backward functions that need more than a single call. */
#include "lib/tape/own.h"

#include <sesqui/ops.h>

static const ssq_tensor *grad_of(ssq_tape *t, const struct node *n)
{
    return &value_of(t, n->out[0])->grad.tensor;
}

/* dx = dy times the factor of the forward call. */
ssq_status own_scale(ssq_tape *t, const struct node *n)
{
    ssq_scale_args args = *(const ssq_scale_args *)node_args(t, n);
    struct into to;
    ssq_status st = written_check_option(t, n, offsetof(ssq_scale_args, scale));
    if (st == SSQ_OK)
        st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    args.x = grad_of(t, n);
    args.y = to.tensor;
    st = ssq_scale(t->queue, &args);
    return st == SSQ_OK ? into_end(t, &to) : st;
}

/* Add the rows of dy to zeros, each at the row of x that it came from.
 * into_end() adds the result to an existing gradient. */
ssq_status own_gather_rows(ssq_tape *t, const struct node *n)
{
    const ssq_gather_rows_args *args = node_args(t, n);
    struct into to;
    ssq_status st =
        written_check_option(t, n, offsetof(ssq_gather_rows_args, index));
    if (st == SSQ_OK)
        st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    st = ssq_fill(t->queue, SSQ_FILL(.x = to.tensor));
    if (st == SSQ_OK)
        st = ssq_scatter_add_rows(t->queue,
                                  SSQ_SCATTER_ADD_ROWS(.dy = grad_of(t, n),
                                                       .index = args->index,
                                                       .dx = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

/* ---- choices ---- */

/* Compute one operand's gradient: dy at the elements that were selected, else
 * 0. It is summed over dimensions in which the operand was broadcast. */
static ssq_status own_chosen(ssq_tape *t, const struct node *n, unsigned i,
                             const ssq_tensor *zero)
{
    const ssq_where_args *args = node_args(t, n);
    const ssq_tensor *dy = grad_of(t, n);
    struct into to;
    struct tape_held all = {0};
    ssq_status st = into_begin(t, n->var[i], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    bool repeated = !view_same_shape(&to.tensor->view, &dy->view);
    ssq_where_args w = SSQ_WHERE_INIT;
    w.cond = args->cond;
    w.a = i == 0 ? dy : zero;
    w.b = i == 0 ? zero : dy;
    w.y = to.tensor;
    if (repeated) {
        st = held_make(t, dy->view.dtype, dy->view.rank, dy->view.shape, &all);
        w.y = &all.tensor;
    }
    if (st == SSQ_OK)
        st = ssq_where(t->queue, &w);
    if (st == SSQ_OK && repeated)
        st = ssq_sum_to(t->queue, SSQ_SUM_TO(.x = &all.tensor, .y = to.tensor));
    held_put(t, &all);
    return st == SSQ_OK ? into_end(t, &to) : st;
}

ssq_status own_where(ssq_tape *t, const struct node *n)
{
    struct tape_held zero;
    ssq_status st = written_check_option(t, n, offsetof(ssq_where_args, cond));
    if (st != SSQ_OK)
        return st;
    st = held_make(t, grad_of(t, n)->view.dtype, 0, NULL, &zero);
    if (st != SSQ_OK)
        return st;
    st = ssq_fill(t->queue, SSQ_FILL(.x = &zero.tensor));
    for (unsigned i = 0; i < 2 && st == SSQ_OK; i++)
        st = own_chosen(t, n, i, &zero.tensor);
    held_put(t, &zero);
    return st;
}

/* ---- matmuls ---- */

/* The flags of a product that its gradients have, too. A gradient has another
 * shape, and may be too small for matrix units: it does not require them. */
#define ALLOWING ((uint32_t)(SSQ_GEMM_ALLOW_TF32 | SSQ_GEMM_ALLOW_F16_THREE))

/* d = alpha op(a) op(b) + bias: the values that its three gradients need. */
struct own_product {
    ssq_tape *t;
    const ssq_tensor *a, *b, *dd;
    bool trans_a, trans_b;
    double alpha;
    uint32_t flags; /* those in ALLOWING */
    bool batched;
};

/* Compute one gradient as a matmul. It is summed over batch dimensions in which
 * the operand was broadcast. */
static ssq_status own_multiply(const struct own_product *p, uint32_t id,
                               const ssq_gemm_args *args)
{
    struct into to;
    struct tape_held all = {0};
    ssq_gemm_args x = *args;
    ssq_status st = into_begin(p->t, id, &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    const struct view *v = &to.tensor->view, *d = &p->dd->view;
    int64_t shape[SSQ_MAX_RANK];
    bool repeated = v->rank != d->rank;
    for (int i = 0; i < d->rank; i++) {
        bool matrix = i >= d->rank - 2;
        shape[i] = matrix ? v->shape[i - d->rank + v->rank] : d->shape[i];
        repeated = repeated || shape[i] != v->shape[i];
    }
    x.d = to.tensor;
    x.alpha = p->alpha;
    x.flags = p->flags;
    if (repeated) {
        st = held_make(p->t, SSQ_F32, d->rank, shape, &all);
        x.d = &all.tensor;
    }
    if (st == SSQ_OK)
        st = p->batched ? ssq_gemm_batched(p->t->queue, &x)
                        : ssq_gemm(p->t->queue, &x);
    if (st == SSQ_OK && repeated)
        st = ssq_sum_to(p->t->queue,
                        SSQ_SUM_TO(.x = &all.tensor, .y = to.tensor));
    held_put(p->t, &all);
    return st == SSQ_OK ? into_end(p->t, &to) : st;
}

/* da = alpha dd op(b)^T, or its transpose. */
static ssq_status first_factor(const struct own_product *p, uint32_t id)
{
    ssq_gemm_args x = SSQ_GEMM_INIT;
    x.a = p->trans_a ? p->b : p->dd;
    x.b = p->trans_a ? p->dd : p->b;
    x.trans_a = p->trans_a && p->trans_b;
    x.trans_b = p->trans_a || !p->trans_b;
    return own_multiply(p, id, &x);
}

/* db = alpha op(a)^T dd, or its transpose. */
static ssq_status second_factor(const struct own_product *p, uint32_t id)
{
    ssq_gemm_args x = SSQ_GEMM_INIT;
    x.a = p->trans_b ? p->dd : p->a;
    x.b = p->trans_b ? p->a : p->dd;
    x.trans_a = p->trans_b || !p->trans_a;
    x.trans_b = p->trans_b && p->trans_a;
    return own_multiply(p, id, &x);
}

static ssq_status own_bias_gradient(const struct own_product *p, uint32_t id)
{
    struct into to;
    ssq_status st = into_begin(p->t, id, &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    st = ssq_sum_to(p->t->queue, SSQ_SUM_TO(.x = p->dd, .y = to.tensor));
    return st == SSQ_OK ? into_end(p->t, &to) : st;
}

/* Check that the operands were not written: the gradient of a factor is a
 * matmul with the other factor. */
static ssq_status own_check_factors(ssq_tape *t, const struct node *n)
{
    ssq_status st = SSQ_OK;
    if (value_of(t, n->var[0])->sought)
        st = written_check(t, n, 1);
    if (st == SSQ_OK && value_of(t, n->var[1])->sought)
        st = written_check(t, n, 0);
    return st;
}

static ssq_status products(ssq_tape *t, const struct node *n, bool batched)
{
    const ssq_gemm_args *args = node_args(t, n);
    const struct own_product p = {.t = t,
                                  .a = &value_of(t, n->var[0])->is.tensor,
                                  .b = &value_of(t, n->var[1])->is.tensor,
                                  .dd = grad_of(t, n),
                                  .trans_a = args->trans_a,
                                  .trans_b = args->trans_b,
                                  .alpha = args->alpha,
                                  .flags = args->flags & ALLOWING,
                                  .batched = batched};
    ssq_status st = own_check_factors(t, n);
    if (st == SSQ_OK)
        st = first_factor(&p, n->var[0]);
    if (st == SSQ_OK)
        st = second_factor(&p, n->var[1]);
    return st == SSQ_OK ? own_bias_gradient(&p, n->var[2]) : st;
}

ssq_status own_gemm(ssq_tape *t, const struct node *n)
{
    return products(t, n, false);
}

ssq_status own_gemm_batched(ssq_tape *t, const struct node *n)
{
    return products(t, n, true);
}
