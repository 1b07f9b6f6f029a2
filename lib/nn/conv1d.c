/* SPDX-License-Identifier: Apache-2.0 */
/* conv1d.c - convolution along one dimension. It runs as a 2D convolution of
 * images of height 1. The parameters do not have that dimension. */
#include "lib/nn/layer.h"

#include "lib/nn/rows.h"
#include "lib/tape/tape.h"

static const ssq_nn_conv1d_args defaults = SSQ_NN_CONV1D_INIT;

/* A convolution that is being created. */
struct conv1d {
    struct layer layer;
    const ssq_nn_conv1d_args *o;
    int64_t c; /* channels of x */
    ssq_var x, weight, bias;
};

/* Check the arguments. False: the error is latched. */
static bool conv1d_begin(struct conv1d *c, ssq_var x, int64_t out,
                         int64_t length)
{
    const struct layer *l = &c->layer;
    ssq_status st = SSQ_OK;
    if (!layer_begin(l, x, c->o, sizeof(*c->o)) ||
        !row_begin(l, x, c->o->layout))
        return false;
    if (c->o->groups < 1)
        st = error_set(SSQ_ERR_INVALID, "groups is %lld, expected 1 or more",
                       (long long)c->o->groups);
    else if (length < 1 || out < 0)
        st = error_set(SSQ_ERR_INVALID, "%lld filters of length %lld",
                       (long long)out, (long long)length);
    c->c = ssq_var_size(x, c->o->layout == SSQ_LAYOUT_NHWC ? 2 : 1);
    if (st == SSQ_OK && (c->c % c->o->groups != 0 || out % c->o->groups != 0))
        st =
            error_set(SSQ_ERR_INVALID,
                      "%lld channels of x, %lld of the result, in %lld groups",
                      (long long)c->c, (long long)out, (long long)c->o->groups);
    if (st != SSQ_OK) {
        latch(l->tape, st, l->where, l->kind);
        return false;
    }
    c->x = row_of(l->where, x, c->o->layout);
    return true;
}

/* Create filters [first, second, length]; in NHWC the second dimension is last.
 * The convolution gets them with height 1. */
static void conv1d_make(struct conv1d *c, int64_t first, int64_t second,
                        int64_t length, int64_t out)
{
    const bool last = c->o->layout == SSQ_LAYOUT_NHWC;
    const int64_t shape[] = {first, last ? length : second,
                             last ? second : length};
    const ssq_begin weight = init_weight(),
                    bias = init_bias((double)second * (double)length);
    ssq_var w =
        layer_param(&c->layer, "weight", 3, shape, &c->o->weight_init, &weight);
    c->weight = row_of(c->layer.where, w, c->o->layout);
    c->bias = SSQ_VAR_NONE;
    if (c->o->bias)
        c->bias =
            layer_param(&c->layer, "bias", 1, &out, &c->o->bias_init, &bias);
}

ssq_var ssq_nn_conv1d_at(const char *where, ssq_tape *tape, const char *name,
                         ssq_var x, int64_t out, int64_t length,
                         const ssq_nn_conv1d_args *options)
{
    const ssq_nn_conv1d_args *o = options == NULL ? &defaults : options;
    struct conv1d c = {{where, name, "nn_conv1d", tape}, o};
    if (!conv1d_begin(&c, x, out, length))
        return var_inert(tape);
    conv1d_make(&c, out, c.c / o->groups, length, out);
    ssq_var y = ssq_conv2d_var_at(
        where, c.x, c.weight, c.bias,
        SSQ_CONV2D(.stride = {1, o->stride},
                   .padding = {0, o->padding[0], 0, o->padding[1]},
                   .dilation = {1, o->dilation}, .groups = o->groups,
                   .layout = o->layout));
    return row_end(where, y, o->layout);
}

ssq_var ssq_nn_conv_transpose1d_at(const char *where, ssq_tape *tape,
                                   const char *name, ssq_var x, int64_t out,
                                   int64_t length,
                                   const ssq_nn_conv1d_args *options)
{
    const ssq_nn_conv1d_args *o = options == NULL ? &defaults : options;
    struct conv1d c = {{where, name, "nn_conv_transpose1d", tape}, o};
    if (!conv1d_begin(&c, x, out, length))
        return var_inert(tape);
    conv1d_make(&c, c.c, out / o->groups, length, out);
    ssq_var y = ssq_conv_transpose2d_var_at(
        where, c.x, c.weight, c.bias,
        SSQ_CONV_TRANSPOSE2D(.stride = {1, o->stride},
                             .padding = {0, o->padding[0], 0, o->padding[1]},
                             .dilation = {1, o->dilation},
                             .output_padding = {0, o->output_padding},
                             .groups = o->groups, .layout = o->layout));
    return row_end(where, y, o->layout);
}
