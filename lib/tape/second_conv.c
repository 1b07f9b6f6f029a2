/* SPDX-License-Identifier: Apache-2.0 */
/* second_conv.c - rules of convolutions.
 *
 * The gradient of a convolution's image is a transposed convolution, and vice
 * versa. The gradient of the filters is a separate op of an image and a
 * gradient. The gradients of that op are again a transposed convolution and a
 * convolution. */
#include "lib/tape/second.h"

#include <string.h>

/* ---- the gradient of filters: an op of an image and dy ---- */

typedef ssq_conv2d_backward_weight_args filters_args;

static ssq_status image_gradient(ssq_tape *t, const struct node *n,
                                 const filters_args *a, const ssq_tensor *ddw)
{
    struct into to;
    ssq_status st = written_check(t, n, 1);
    if (st == SSQ_OK)
        st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    ssq_conv2d_backward_data_args data = SSQ_CONV2D_BACKWARD_DATA_INIT;
    data.dy = &value_of(t, n->var[1])->is.tensor;
    data.w = ddw;
    data.dx = to.tensor;
    memcpy(data.stride, a->stride, sizeof(data.stride));
    memcpy(data.padding, a->padding, sizeof(data.padding));
    memcpy(data.dilation, a->dilation, sizeof(data.dilation));
    data.groups = a->groups;
    data.layout = a->layout;
    st = ssq_conv2d_backward_data(t->queue, &data);
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static ssq_conv2d_args second_conv_forward_of(const filters_args *a)
{
    ssq_conv2d_args f = SSQ_CONV2D_INIT;
    memcpy(f.stride, a->stride, sizeof(f.stride));
    memcpy(f.padding, a->padding, sizeof(f.padding));
    memcpy(f.dilation, a->dilation, sizeof(f.dilation));
    f.groups = a->groups;
    f.layout = a->layout;
    return f;
}

static ssq_status slope_gradient(ssq_tape *t, const struct node *n,
                                 const filters_args *a, const ssq_tensor *ddw)
{
    struct into to;
    ssq_status st = written_check(t, n, 0);
    if (st == SSQ_OK)
        st = into_begin(t, n->var[1], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    ssq_conv2d_args f = second_conv_forward_of(a);
    f.x = &value_of(t, n->var[0])->is.tensor;
    f.w = ddw;
    f.y = to.tensor;
    st = ssq_conv2d(t->queue, &f);
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static ssq_status own_filters(ssq_tape *t, const struct node *n)
{
    const filters_args a = *(const filters_args *)node_args(t, n);
    ssq_status st = grad_dense(t, n->out[0]);
    const ssq_tensor *ddw = &value_of(t, n->out[0])->grad.tensor;
    if (st == SSQ_OK)
        st = image_gradient(t, n, &a, ddw);
    return st == SSQ_OK ? slope_gradient(t, n, &a, ddw) : st;
}

static const struct tape_op filters = {.name = "conv2d_filters",
                                       .bytes = sizeof(filters_args),
                                       .nvars = 2,
                                       .nouts = 1,
                                       .own = own_filters};

/* Create the gradient of filters, in the shape of the filters and the dtype of
 * dy. */
static ssq_var filters_var(const struct chain *c, ssq_var image, ssq_var dy,
                           const filters_args *args, const struct view *like)
{
    ssq_tape *t = c->t;
    struct node n = {
        .op = &filters, .where = c->n.where, .var = {image.id, dy.id}};
    if (t->status != SSQ_OK)
        return var_inert(t);
    filters_args a = *args;
    ssq_status st = value_make(t, value_of(t, dy.id)->is.tensor.view.dtype,
                               like->rank, like->shape, &n.out[0]);
    if (st != SSQ_OK)
        return chain_value(c, st, NONE);
    a.x = &value_of(t, image.id)->is.tensor;
    a.dy = &value_of(t, dy.id)->is.tensor;
    a.dw = &value_of(t, n.out[0])->is.tensor;
    st = ssq_conv2d_backward_weight(t->queue, &a);
    if (st == SSQ_OK) {
        written_record(t, &n, args);
        st = tape_record_wanted(t, &n, args, sizeof(*args));
    }
    return chain_value(c, st, n.out[0]);
}

/* ---- helpers of the rules ---- */

static filters_args filters_of(const int64_t *stride, const int64_t *padding,
                               const int64_t *dilation, int64_t groups,
                               ssq_layout layout)
{
    filters_args a = SSQ_CONV2D_BACKWARD_WEIGHT_INIT;
    memcpy(a.stride, stride, sizeof(a.stride));
    memcpy(a.padding, padding, sizeof(a.padding));
    memcpy(a.dilation, dilation, sizeof(a.dilation));
    a.groups = groups;
    a.layout = layout;
    return a;
}

/* Return the transposed convolution of dy, in the size of an image. Its output
 * padding is the part of the image that no window covers. */
static ssq_var image_var(const struct chain *c, ssq_var dy, ssq_var w,
                         const filters_args *a, const struct view *image,
                         const struct view *map, const struct view *window)
{
    const int at = a->layout == SSQ_LAYOUT_NHWC ? 1 : 2;
    ssq_conv_transpose2d_args back = SSQ_CONV_TRANSPOSE2D_INIT;
    memcpy(back.stride, a->stride, sizeof(back.stride));
    memcpy(back.padding, a->padding, sizeof(back.padding));
    memcpy(back.dilation, a->dilation, sizeof(back.dilation));
    back.groups = a->groups;
    back.layout = a->layout;
    for (int i = 0; i < 2; i++)
        back.output_padding[i] =
            image->shape[at + i] - (map->shape[at + i] - 1) * a->stride[i] +
            a->padding[i] + a->padding[i + 2] -
            a->dilation[i] * (window->shape[at + i] - 1) - 1;
    return ssq_conv_transpose2d_var_at(c->n.where, dy, w, SSQ_VAR_NONE, &back);
}

/* Sum dy over all dimensions except the channels. */
static void give_bias(struct chain *c, ssq_layout layout)
{
    const bool last = layout == SSQ_LAYOUT_NHWC;
    if (chain_wants(c, 2))
        chain_give(
            c, 2,
            ssq_sum_var_at(
                c->n.where, c->dy,
                SSQ_SUM(.axes = {0, last ? 1 : 2, last ? 2 : 3}, .n_axes = 3)));
}

static struct view second_conv_view_of(const struct chain *c, uint32_t id)
{
    return value_of(c->t, id)->is.tensor.view;
}

/* ---- rules ---- */

void second_conv2d(struct chain *c)
{
    const ssq_conv2d_args *args = c->args;
    const filters_args a =
        filters_of(args->stride, args->padding, args->dilation, args->groups,
                   args->layout);
    const struct view x = second_conv_view_of(c, c->n.var[0]),
                      w = second_conv_view_of(c, c->n.var[1]),
                      y = second_conv_view_of(c, c->n.out[0]);
    give_bias(c, args->layout);
    ssq_var dy = chain_dense(c, c->dy);
    if (chain_wants(c, 0))
        chain_give(c, 0, image_var(c, dy, chain_var(c, 1), &a, &x, &y, &w));
    if (chain_wants(c, 1))
        chain_give(c, 1, filters_var(c, chain_var(c, 0), dy, &a, &w));
}

void second_conv2d_filters(struct chain *c)
{
    const filters_args *a = c->args;
    const struct view x = second_conv_view_of(c, c->n.var[0]),
                      y = second_conv_view_of(c, c->n.var[1]),
                      w = second_conv_view_of(c, c->n.out[0]);
    const ssq_conv2d_args f = second_conv_forward_of(a);
    ssq_var dw = chain_dense(c, c->dy);
    if (chain_wants(c, 0))
        chain_give(c, 0, image_var(c, chain_var(c, 1), dw, a, &x, &y, &w));
    if (chain_wants(c, 1))
        chain_give(c, 1,
                   ssq_conv2d_var_at(c->n.where, chain_var(c, 0), dw,
                                     SSQ_VAR_NONE, &f));
}

/* dy has the role of the image, and x the role of the convolution's result. If
 * the output padding is at least the stride, that result would be larger than
 * x. */
void second_conv_transpose2d(struct chain *c)
{
    const ssq_conv_transpose2d_args *args = c->args;
    const filters_args a =
        filters_of(args->stride, args->padding, args->dilation, args->groups,
                   args->layout);
    const struct view w = second_conv_view_of(c, c->n.var[1]);
    for (int i = 0; i < 2; i++)
        if (args->output_padding[i] >= args->stride[i]) {
            latch_node(c->t,
                       error_set(SSQ_ERR_UNSUPPORTED,
                                 "it has no second derivative: "
                                 "output_padding[%d] is %lld, stride[%d] %lld",
                                 i, (long long)args->output_padding[i], i,
                                 (long long)args->stride[i]),
                       &c->n);
            return;
        }
    const ssq_conv2d_args f = second_conv_forward_of(&a);
    give_bias(c, args->layout);
    ssq_var dy = chain_dense(c, c->dy);
    if (chain_wants(c, 0))
        chain_give(c, 0,
                   ssq_conv2d_var_at(c->n.where, dy, chain_var(c, 1),
                                     SSQ_VAR_NONE, &f));
    if (chain_wants(c, 1))
        chain_give(c, 1, filters_var(c, dy, chain_var(c, 0), &a, &w));
}
