/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pooling along one dimension, and pooling to a given size. */
#include "lib/nn/layer.h"

#include "lib/core/base/size.h"
#include "lib/nn/rows.h"
#include "lib/op/conv/slide.h"
#include "lib/tape/tape.h"

#include <string.h>

static const ssq_nn_pool1d_args defaults = SSQ_NN_POOL1D_INIT;

ssq_var ssq_nn_max_pool1d_at(const char *where, ssq_tape *tape, ssq_var x,
                             int64_t length, const ssq_nn_pool1d_args *options)
{
    const struct layer l = {where, NULL, "nn_max_pool1d", tape};
    const ssq_nn_pool1d_args *o = options == NULL ? &defaults : options;
    if (!layer_begin(&l, x, o, sizeof(*o)) || !row_begin(&l, x, o->layout))
        return var_inert(tape);
    ssq_var y = ssq_max_pool2d_var_at(
        where, row_of(where, x, o->layout),
        SSQ_MAX_POOL2D(.kernel = {1, length}, .stride = {0, o->stride},
                       .padding = {0, o->padding[0], 0, o->padding[1]},
                       .dilation = {1, o->dilation}, .ceil_mode = o->ceil_mode,
                       .layout = o->layout));
    return row_end(where, y, o->layout);
}

ssq_var ssq_nn_avg_pool1d_at(const char *where, ssq_tape *tape, ssq_var x,
                             int64_t length, const ssq_nn_pool1d_args *options)
{
    const struct layer l = {where, NULL, "nn_avg_pool1d", tape};
    const ssq_nn_pool1d_args *o = options == NULL ? &defaults : options;
    if (!layer_begin(&l, x, o, sizeof(*o)) || !row_begin(&l, x, o->layout))
        return var_inert(tape);
    ssq_var y = ssq_avg_pool2d_var_at(
        where, row_of(where, x, o->layout),
        SSQ_AVG_POOL2D(.kernel = {1, length}, .stride = {0, o->stride},
                       .padding = {0, o->padding[0], 0, o->padding[1]},
                       .dilation = {1, o->dilation}, .ceil_mode = o->ceil_mode,
                       .count_include_pad = o->count_include_pad,
                       .layout = o->layout));
    return row_end(where, y, o->layout);
}

/* ---- pooling to a given size ---- */

/* Most vars in one concatenation. */
#define JOIN 32

/* Divide an axis into `to` parts and concatenate the means of the parts. */
static ssq_var means(const char *where, ssq_var x, int axis, int64_t to)
{
    const int64_t size = ssq_var_size(x, axis);
    int64_t shape[4];
    ssq_var part[JOIN];
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        shape[i] = i == axis ? 1 : ssq_var_size(x, i);
    for (int64_t i = 0; i < to; i++) {
        if (n == JOIN) {
            part[0] = ssq_var_concat_at(where, part, n, axis);
            n = 1;
        }
        const int64_t from = i * size / to;
        const int64_t end = size_div_up((i + 1) * size, to);
        ssq_var y = ssq_var_slice_at(where, x, axis, from, end, 1);
        y = ssq_mean_var_at(where, y, SSQ_MEAN(.axes = {axis}, .n_axes = 1));
        part[n++] = ssq_var_reshape_at(where, y, 4, shape);
    }
    return ssq_var_concat_at(where, part, n, axis);
}

static ssq_status pool_check_sizes(ssq_var x, int64_t height, int64_t width,
                                   ssq_layout layout)
{
    ssq_status st = layout_check(layout, "nn_adaptive_avg_pool2d");
    if (st != SSQ_OK)
        return st;
    if (ssq_var_rank(x) != 4)
        return error_set(SSQ_ERR_INVALID, "x has rank %d, expected 4",
                         ssq_var_rank(x));
    const int at = layout == SSQ_LAYOUT_NHWC ? 1 : 2;
    if (height < 1 || width < 1 || ssq_var_size(x, at) < 1 ||
        ssq_var_size(x, at + 1) < 1)
        return error_set(SSQ_ERR_INVALID, "%lldx%lld from %lldx%lld",
                         (long long)height, (long long)width,
                         (long long)ssq_var_size(x, at),
                         (long long)ssq_var_size(x, at + 1));
    return SSQ_OK;
}

/* Return x, or a copy if its last dimension does not have stride 1, which
 * ssq_avg_pool2d() needs: to reshape such a var is to copy it. */
static ssq_var pool_unit_stride(const char *where, ssq_var x)
{
    const struct view *v = &value_of(x.tape, x.id)->is.tensor.view;
    int64_t shape[4];
    if (v->shape[3] <= 1 || v->stride[3] == 1)
        return x;
    memcpy(shape, v->shape, sizeof(shape));
    return ssq_var_reshape_at(where, x, 4, shape);
}

ssq_var ssq_nn_adaptive_avg_pool2d_at(const char *where, ssq_tape *tape,
                                      ssq_var x, int64_t height, int64_t width,
                                      ssq_layout layout)
{
    const struct layer l = {where, NULL, "nn_adaptive_avg_pool2d", tape};
    if (!layer_begin(&l, x, NULL, 0))
        return var_inert(tape);
    ssq_status st = pool_check_sizes(x, height, width, layout);
    if (st != SSQ_OK) {
        latch(tape, st, where, l.kind);
        return var_inert(tape);
    }
    const int at = layout == SSQ_LAYOUT_NHWC ? 1 : 2;
    const int64_t h = ssq_var_size(x, at), w = ssq_var_size(x, at + 1);
    if (h % height == 0 && w % width == 0)
        return ssq_avg_pool2d_var_at(
            where, pool_unit_stride(where, x),
            SSQ_AVG_POOL2D(.kernel = {h / height, w / width},
                           .layout = layout));
    ssq_var y = means(where, means(where, x, at, height), at + 1, width);
    return ssq_var_cast_at(where, y,
                           value_of(tape, x.id)->is.tensor.view.dtype);
}
