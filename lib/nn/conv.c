/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution layers. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

#include <string.h>

/* The parameters of a convolution. */
struct filters {
    ssq_var weight, bias;
};

/* Create filters [first, second, h, w]. In NHWC the second dimension is last.
 * out is the size of the bias. */
static struct filters conv_make(const struct layer *l,
                                const ssq_nn_conv2d_args *o, int64_t first,
                                int64_t second, const int64_t *size,
                                int64_t out)
{
    const bool last = o->layout == SSQ_LAYOUT_NHWC;
    const int64_t nchw[] = {first, second, size[0], size[1]};
    const int64_t nhwc[] = {first, size[0], size[1], second};
    const ssq_begin weight = init_weight();
    const ssq_begin begin =
        init_bias((double)second * (double)size[0] * (double)size[1]);
    struct filters f = {.bias = SSQ_VAR_NONE};
    f.weight = layer_param(l, "weight", 4, last ? nhwc : nchw, &o->weight_init,
                           &weight);
    if (o->bias)
        f.bias = layer_param(l, "bias", 1, &out, &o->bias_init, &begin);
    return f;
}

/* Return the channels of x. -1: invalid arguments; the error is latched. */
static int64_t nn_conv_channels(const struct layer *l, ssq_var x, int64_t out,
                                const ssq_nn_conv2d_args *o, int64_t height,
                                int64_t width)
{
    const struct view *v = &value_of(l->tape, x.id)->is.tensor.view;
    const int at = o->layout == SSQ_LAYOUT_NHWC ? 3 : 1;
    ssq_status st = SSQ_OK;
    if (v->rank != 4)
        st = error_set(SSQ_ERR_INVALID, "x has rank %d, expected 4", v->rank);
    else if (o->groups < 1)
        st = error_set(SSQ_ERR_INVALID, "groups is %lld, expected 1 or more",
                       (long long)o->groups);
    else if (height < 1 || width < 1)
        st = error_set(SSQ_ERR_INVALID, "filters are %lldx%lld",
                       (long long)height, (long long)width);
    else if (out < 0)
        st = error_set(SSQ_ERR_INVALID, "out is %lld, expected 0 or more",
                       (long long)out);
    else if (v->shape[at] % o->groups != 0 || out % o->groups != 0)
        st = error_set(SSQ_ERR_INVALID,
                       "%lld channels of x, %lld of the result, in %lld groups",
                       (long long)v->shape[at], (long long)out,
                       (long long)o->groups);
    if (st == SSQ_OK)
        return v->shape[at];
    latch(l->tape, st, l->where, l->kind);
    return -1;
}

static const ssq_nn_conv2d_args defaults = SSQ_NN_CONV2D_INIT;

ssq_var ssq_nn_conv2d_at(const char *where, ssq_tape *tape, const char *name,
                         ssq_var x, int64_t out, int64_t height, int64_t width,
                         const ssq_nn_conv2d_args *options)
{
    const struct layer l = {where, name, "nn_conv2d", tape};
    const ssq_nn_conv2d_args *o = options == NULL ? &defaults : options;
    if (!layer_begin(&l, x, o, sizeof(*o)))
        return var_inert(tape);
    int64_t c = nn_conv_channels(&l, x, out, o, height, width);
    if (c < 0)
        return var_inert(tape);
    struct filters f = conv_make(&l, o, out, c / o->groups,
                                 (const int64_t[]){height, width}, out);
    ssq_conv2d_args args = SSQ_CONV2D_INIT;
    memcpy(args.stride, o->stride, sizeof(args.stride));
    memcpy(args.padding, o->padding, sizeof(args.padding));
    memcpy(args.dilation, o->dilation, sizeof(args.dilation));
    args.groups = o->groups;
    args.layout = o->layout;
    return ssq_conv2d_var_at(where, x, f.weight, f.bias, &args);
}

ssq_var ssq_nn_conv_transpose2d_at(const char *where, ssq_tape *tape,
                                   const char *name, ssq_var x, int64_t out,
                                   int64_t height, int64_t width,
                                   const ssq_nn_conv2d_args *options)
{
    const struct layer l = {where, name, "nn_conv_transpose2d", tape};
    const ssq_nn_conv2d_args *o = options == NULL ? &defaults : options;
    if (!layer_begin(&l, x, o, sizeof(*o)))
        return var_inert(tape);
    int64_t c = nn_conv_channels(&l, x, out, o, height, width);
    if (c < 0)
        return var_inert(tape);
    struct filters f = conv_make(&l, o, c, out / o->groups,
                                 (const int64_t[]){height, width}, out);
    ssq_conv_transpose2d_args args = SSQ_CONV_TRANSPOSE2D_INIT;
    memcpy(args.stride, o->stride, sizeof(args.stride));
    memcpy(args.padding, o->padding, sizeof(args.padding));
    memcpy(args.dilation, o->dilation, sizeof(args.dilation));
    memcpy(args.output_padding, o->output_padding, sizeof(args.output_padding));
    args.groups = o->groups;
    args.layout = o->layout;
    return ssq_conv_transpose2d_var_at(where, x, f.weight, f.bias, &args);
}
