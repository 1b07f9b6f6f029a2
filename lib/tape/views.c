/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - vars that show the memory of other vars in another shape. */
#include <sesqui/ops/data.h>

#include "lib/tape/tape.h"

#include <string.h>

/* ---- backward ---- */

/* Give the gradient of a view to the var that it shows. If that var has no
 * gradient yet, the memory is moved to it. Otherwise a copy is added.
 * @param shaped  the view's gradient in the shape of that var */
static ssq_status pass_on(ssq_tape *t, const struct node *n,
                          const struct view *shaped)
{
    struct value *y = value_of(t, n->out[0]), *x = value_of(t, n->var[0]);
    if (x->sought && !grad_lasts(t, x) && !is_there(&x->grad) &&
        y->grad.tensor.view.dtype == grad_dtype(t, x) &&
        y->grad.memory.buffer != NULL) {
        x->grad = y->grad;
        x->grad.tensor.view = *shaped;
        memset(&y->grad, 0, sizeof(y->grad));
        return SSQ_OK;
    }
    struct into to;
    ssq_status st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    ssq_tensor from = y->grad.tensor;
    from.view = *shaped;
    st = ssq_cast(t->queue, SSQ_CAST(.x = &from, .y = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static ssq_status own_reshape(ssq_tape *t, const struct node *n)
{
    struct tape_held *g = &value_of(t, n->out[0])->grad;
    const struct view *like = &value_of(t, n->var[0])->is.tensor.view;
    ssq_status st = grad_dense(t, n->out[0]);
    if (st != SSQ_OK)
        return st;
    struct view shaped = g->tensor.view;
    shaped.rank = like->rank;
    int64_t stride = 1;
    for (int i = like->rank - 1; i >= 0; i--) {
        shaped.shape[i] = like->shape[i];
        shaped.stride[i] = stride;
        stride *= like->shape[i] == 0 ? 1 : like->shape[i];
    }
    return pass_on(t, n, &shaped);
}

/* Dimension i of y is dimension axes[i] of x. */
static ssq_status own_transpose(ssq_tape *t, const struct node *n)
{
    const struct view *g = &value_of(t, n->out[0])->grad.tensor.view;
    struct view shaped = *g;
    for (int i = 0; i < g->rank; i++) {
        shaped.shape[n->axes[i]] = g->shape[i];
        shaped.stride[n->axes[i]] = g->stride[i];
    }
    return pass_on(t, n, &shaped);
}

/* Repeat a copy that make_dense() has made. */
static ssq_status copy_again(ssq_tape *t, const struct node *n)
{
    return ssq_copy(t->queue,
                    SSQ_COPY(.x = &value_of(t, n->var[0])->is.tensor,
                             .y = &value_of(t, n->out[0])->is.tensor));
}

static const struct tape_op reshape = {
    .name = "reshape", .nvars = 1, .nouts = 1, .own = own_reshape};
static const struct tape_op transpose = {.name = "transpose",
                                         .nvars = 1,
                                         .nouts = 1,
                                         .own = own_transpose,
                                         .again = copy_again};

/* ---- forward ---- */

ssq_status value_see(ssq_tape *t, const struct node *n, const ssq_tensor *view,
                     const void *args, size_t bytes, uint32_t *id)
{
    ssq_status st = value_view(t, &view->view, n->var[0], id);
    if (st != SSQ_OK || !value_of(t, n->var[0])->wanted || !t->training ||
        t->quiet > 0)
        return st;
    struct node recorded = *n;
    recorded.out[0] = *id;
    written_record(t, &recorded, args);
    return tape_record(t, &recorded, args, bytes);
}

/* Replace *id by a contiguous copy unless it is contiguous. The copy is
 * recorded as a transpose that keeps the order of dimensions. */
static ssq_status make_dense(ssq_tape *t, const char *where, uint32_t *id)
{
    const struct view v = value_of(t, *id)->is.tensor.view;
    if (view_contiguous(&v))
        return SSQ_OK;
    struct node n = {.op = &transpose, .where = where, .var = {*id}};
    for (int i = 0; i < v.rank; i++)
        n.axes[i] = i;
    ssq_status st = value_make(t, v.dtype, v.rank, v.shape, &n.out[0]);
    written_record(t, &n, NULL);
    if (st == SSQ_OK)
        st = copy_again(t, &n);
    if (st == SSQ_OK && value_of(t, *id)->wanted && t->training &&
        t->quiet == 0)
        st = tape_record(t, &n, NULL, 0);
    *id = n.out[0];
    return st;
}

ssq_var ssq_var_reshape_at(const char *where, ssq_var x, int rank,
                           const int64_t *shape)
{
    static const char op[] = "var_reshape";
    ssq_tape *t = x.tape;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    uint32_t id = x.id, made = NONE;
    ssq_tensor *view = NULL;
    ssq_status st = make_dense(t, where, &id);
    if (st == SSQ_OK)
        st =
            ssq_tensor_reshape(&value_of(t, id)->is.tensor, rank, shape, &view);
    if (st == SSQ_OK) {
        const struct node n = {.op = &reshape, .where = where, .var = {id}};
        st = value_see(t, &n, view, NULL, 0, &made);
    }
    ssq_tensor_destroy(&view);
    if (st == SSQ_OK)
        return var_of(t, made);
    latch(t, st, where, op);
    return var_inert(t);
}

ssq_var ssq_var_transpose_at(const char *where, ssq_var x, const int *axes)
{
    static const char op[] = "var_transpose";
    ssq_tape *t = x.tape;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    struct node n = {.op = &transpose, .where = where, .var = {x.id}};
    int rank = value_of(t, x.id)->is.tensor.view.rank;
    uint32_t made = NONE;
    ssq_tensor *view = NULL;
    ssq_status st =
        ssq_tensor_transpose(&value_of(t, x.id)->is.tensor, axes, &view);
    for (int i = 0; i < rank && st == SSQ_OK; i++) {
        int axis = axes == NULL ? rank - 1 - i : axes[i];
        n.axes[i] = axis < 0 ? axis + rank : axis;
    }
    if (st == SSQ_OK)
        st = value_see(t, &n, view, NULL, 0, &made);
    ssq_tensor_destroy(&view);
    if (st == SSQ_OK)
        return var_of(t, made);
    latch(t, st, where, op);
    return var_inert(t);
}

/* Return a view without a node, so that gradients do not pass through it. */
static ssq_var views_cut(const char *where, ssq_var x, const char *op,
                         bool watched)
{
    ssq_tape *t = x.tape;
    uint32_t made = NONE;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    const struct view view = value_of(t, x.id)->is.tensor.view;
    ssq_status st = SSQ_OK;
    if (watched && !dtype_is_float(view.dtype))
        st = error_set(SSQ_ERR_INVALID, "%s: x is %s, expected a float", op,
                       ssq_dtype_name(view.dtype));
    if (st == SSQ_OK)
        st = value_view(t, &view, x.id, &made);
    if (st != SSQ_OK) {
        latch(t, st, where, op);
        return var_inert(t);
    }
    value_of(t, made)->wanted = watched;
    return var_of(t, made);
}

ssq_var ssq_var_detach_at(const char *where, ssq_var x)
{
    return views_cut(where, x, "var_detach", false);
}

ssq_var ssq_var_watch_at(const char *where, ssq_var x)
{
    return views_cut(where, x, "var_watch", true);
}
