/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c - helpers for rules of second derivatives: operands, arithmetic on
 * vars, and destinations of gradients. */
#include "lib/tape/second.h"

#include <string.h>

/* ---- operands ---- */

bool chain_wants(const struct chain *c, unsigned i)
{
    return c->n.var[i] != NONE && value_of(c->t, c->n.var[i])->sought;
}

ssq_var chain_value(const struct chain *c, ssq_status st, uint32_t id)
{
    if (st == SSQ_OK && c->t->status == SSQ_OK)
        return var_of(c->t, id);
    if (st != SSQ_OK)
        latch(c->t, st, c->n.where, c->n.op->name);
    return var_inert(c->t);
}

ssq_var chain_var(struct chain *c, unsigned i)
{
    return chain_value(c, written_check(c->t, &c->n, i), c->n.var[i]);
}

ssq_var chain_wide(struct chain *c, unsigned i)
{
    return ssq_var_cast_at(c->n.where, chain_var(c, i), SSQ_F32);
}

ssq_var chain_result(struct chain *c)
{
    return ssq_var_cast_at(c->n.where, var_of(c->t, c->n.out[0]), SSQ_F32);
}

ssq_var chain_slope(struct chain *c)
{
    return ssq_var_cast_at(c->n.where, c->dy, SSQ_F32);
}

bool chain_unwritten(struct chain *c, size_t at)
{
    return chain_value(c, written_check_option(c->t, &c->n, at), 0).id != NONE;
}

ssq_var chain_option(struct chain *c, size_t at)
{
    const ssq_tensor *given;
    uint32_t id = NONE;
    memcpy(&given, (const char *)c->args + at, sizeof(given));
    if (given == NULL)
        return SSQ_VAR_NONE;
    ssq_status st = written_check_option(c->t, &c->n, at);
    if (st == SSQ_OK)
        st = value_hold(c->t, c->n.where, given, &id);
    return chain_value(c, st, id);
}

/* ---- arithmetic ---- */

ssq_var chain_mul(const struct chain *c, ssq_var a, ssq_var b)
{
    return ssq_mul_var_at(c->n.where, a, b);
}

ssq_var chain_add(const struct chain *c, ssq_var a, ssq_var b)
{
    return ssq_add_var_at(c->n.where, a, b);
}

ssq_var chain_sub(const struct chain *c, ssq_var a, ssq_var b)
{
    return ssq_sub_var_at(c->n.where, a, b);
}

ssq_var chain_times(const struct chain *c, ssq_var x, double factor)
{
    return ssq_scale_var_at(c->n.where, x, SSQ_SCALE(.alpha = factor));
}

ssq_var chain_plus(const struct chain *c, ssq_var x, double number)
{
    return chain_add(c, x, chain_number(c, number, SSQ_F32));
}

ssq_var chain_number(const struct chain *c, double number, ssq_dtype dtype)
{
    ssq_tape *t = c->t;
    uint32_t id = NONE;
    if (t->status != SSQ_OK)
        return var_inert(t);
    ssq_status st = value_make(t, dtype, 0, NULL, &id);
    if (st == SSQ_OK)
        st = ssq_fill(t->queue, SSQ_FILL(.x = &value_of(t, id)->is.tensor,
                                         .value = number));
    return chain_value(c, st, id);
}

ssq_var chain_zero(const struct chain *c)
{
    return chain_number(c, 0.0, value_of(c->t, c->dy.id)->is.tensor.view.dtype);
}

ssq_var chain_sum(const struct chain *c, ssq_var x, int axis)
{
    if (c->t->status != SSQ_OK)
        return var_inert(c->t);
    const struct view v = value_of(c->t, x.id)->is.tensor.view;
    int64_t shape[SSQ_MAX_RANK];
    memcpy(shape, v.shape, sizeof(shape));
    shape[axis < 0 ? axis + v.rank : axis] = 1;
    x = ssq_sum_var_at(c->n.where, x, SSQ_SUM(.axes = {axis}, .n_axes = 1));
    return ssq_var_reshape_at(c->n.where, x, v.rank, shape);
}

ssq_var chain_dense(const struct chain *c, ssq_var x)
{
    if (c->t->status != SSQ_OK)
        return x;
    const struct view v = value_of(c->t, x.id)->is.tensor.view;
    return ssq_var_reshape_at(c->n.where, x, v.rank, v.shape);
}

/* ---- choices ---- */

const ssq_tensor *chain_where(const struct chain *c, chain_compare *compare,
                              ssq_var a, ssq_var b)
{
    ssq_tape *t = c->t;
    uint32_t id = NONE;
    if (t->status != SSQ_OK)
        return NULL;
    const ssq_tensor *x = &value_of(t, a.id)->is.tensor;
    const ssq_tensor *y = &value_of(t, b.id)->is.tensor;
    const struct view *like = x->view.rank > 0 ? &x->view : &y->view;
    ssq_status st = value_make(t, SSQ_U8, like->rank, like->shape, &id);
    if (st == SSQ_OK)
        st = compare(t->queue, SSQ_COMPARE(.a = x, .b = y,
                                           .y = &value_of(t, id)->is.tensor));
    return chain_value(c, st, id).id == NONE ? NULL
                                             : &value_of(t, id)->is.tensor;
}

ssq_var chain_choose(const struct chain *c, const ssq_tensor *where, ssq_var a,
                     ssq_var b)
{
    return ssq_where_var_at(c->n.where, a, b, SSQ_WHERE(.cond = where));
}

/* ---- gradients ---- */

/* Sum g over the dimensions in which the operand was broadcast. */
static ssq_var fit(const struct chain *c, ssq_var g, const struct view *like)
{
    const struct view v = value_of(c->t, g.id)->is.tensor.view;
    if (view_same_shape(&v, like))
        return g;
    ssq_sum_args sum = SSQ_SUM_INIT;
    for (int i = 0; i < v.rank; i++) {
        int from = i - (v.rank - like->rank);
        if (from < 0 || like->shape[from] != v.shape[i])
            sum.axes[sum.n_axes++] = i;
    }
    if (sum.n_axes > 0)
        g = ssq_sum_var_at(c->n.where, g, &sum);
    return ssq_var_reshape_at(c->n.where, g, like->rank, like->shape);
}

void chain_give_to(struct chain *c, uint32_t id, ssq_var g)
{
    ssq_tape *t = c->t;
    if (t->status != SSQ_OK || id == NONE || !value_of(t, id)->sought)
        return;
    struct value *v = value_of(t, id);
    g = fit(c, g, &v->is.tensor.view);
    g = ssq_var_cast_at(c->n.where, g, grad_dtype(t, v));
    if (v->slope != NONE)
        g = chain_add(c, var_of(t, v->slope), g);
    v->slope = g.id;
}

void chain_give(struct chain *c, unsigned i, ssq_var g)
{
    chain_give_to(c, c->n.var[i], g);
}
