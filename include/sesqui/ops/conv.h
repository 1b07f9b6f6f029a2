/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolution of images, its gradients, transposed convolution.
 *
 *     ssq_conv2d(queue, SSQ_CONV2D(.x = x, .w = w, .bias = b, .y = y,
 *                                  .padding = {1, 1, 1, 1}));
 *     ...                                       // loss, gradient dy of y
 *     ssq_conv2d_backward_data(queue, SSQ_CONV2D_BACKWARD_DATA(.dy = dy,
 *                                  .w = w, .dx = dx, .padding = {1, 1, 1, 1}));
 *     ssq_conv2d_backward_weight(queue, SSQ_CONV2D_BACKWARD_WEIGHT(.x = x,
 *                  .dy = dy, .dw = dw, .db = db, .padding = {1, 1, 1, 1}));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Images are [n,c,h,w] or [n,h,w,c], as ssq_layout says, and filters have the
 * same order. With o channels of the result:
 *
 *                      images        filters of conv2d   of conv_transpose2d
 *     SSQ_LAYOUT_NCHW  [n,c,h,w]     [o, c/groups, r, s] [c, o/groups, r, s]
 *     SSQ_LAYOUT_NHWC  [n,h,w,c]     [o, r, s, c/groups] [c, r, s, o/groups]
 *
 * The first line is the order of torch and ONNX (OIHW, and IOHW for the
 * transposed one). The second line has the second dimension at the end. Both
 * layouts compute the same sums. groups = c is depthwise, with o / c filters
 * for each channel.
 *
 * stride and dilation are {height, width} and at least 1. padding is
 * {top, left, bottom, right}, as pads of ONNX, and at least 0. With padding a
 * window may be larger than the image. The height of the result is
 *
 *     conv2d            floor((h + top + bottom - e) / stride) + 1
 *     conv_transpose2d  (h - 1) stride - top - bottom + e + output_padding
 *                       with e = dilation (r - 1) + 1, the extent of a filter
 *
 * and the width is computed in the same way. h, w, r, s, stride, dilation and
 * padding must not exceed 2^31 - 1. r and s are at least 1. n, c, o, h and w
 * may be 0. conv2d and its gradients return SSQ_ERR_INVALID if the extent of
 * the filter is larger than the image with its padding. Exception: for h = 0
 * the height of the result is then 0, and for w = 0 the width.
 * conv_transpose2d has no such limit.
 *
 * Dtypes mix as the table in gemm.h says: f16 does not multiply bf16. The last
 * dimension of images and filters must have stride 1, unless its size is 0 or
 * 1. Nothing is copied silently. For example, an NCHW tensor that is transposed
 * to NHWC as a view is refused. bias and db may have any stride.
 *
 * Bounds (class R): a result is a sum of K terms and has the bound of ssq_gemm.
 * K is c/groups r s forward, o/groups r s for data, and n h w of dy for
 * filters. Integers whose sums stay below 2^24 are exact. If the float32 sum of
 * the terms' magnitudes overflows, an element can be infinite or NaN although
 * the exact result is finite.
 *
 * Scratch: devices other than cpu, reference and guard may compute a call by
 * GEMMs. They then copy the filter and the windows of some images to scratch,
 * at most 64 MiB of windows at a time. Partial sums of dw can need as much. A
 * GEMM may use scratch, too.
 *
 * A call returns SSQ_ERR_INVALID if a shape differs, and the message says which
 * one is expected; if groups does not divide c and o; if an output overlaps
 * another operand; or if layout, activation or a number is not valid. The same
 * status is returned for f16 times bf16, and for a last stride that is not 1.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_CONV_H
#define SESQUI_OPS_CONV_H

#include <sesqui/args.h>
#include <sesqui/ops/gemm.h>
#include <sesqui/ops/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_conv2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv2d_args));
    const ssq_tensor *x;    /**< in, float: images of c channels */
    const ssq_tensor *w;    /**< in, float: filters */
    const ssq_tensor *bias; /**< in, optional, float: [o] */
    const ssq_tensor *y;    /**< out, float: images of o channels; must not
                                 overlap the others */
    int64_t stride[2] SSQ_DEFAULT({1, 1});
    int64_t padding[4]; /**< {top, left, bottom, right} */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    int64_t groups SSQ_DEFAULT(1); /**< divides c and o */
    ssq_layout layout;
    ssq_activation activation; /**< applied to each result, see gemm.h */
} ssq_conv2d_args;
#define SSQ_CONV2D_DEFAULTS                                                    \
    sizeof(ssq_conv2d_args), NULL, NULL, NULL, NULL, {1, 1}, {0, 0, 0, 0},     \
        {1, 1}, 1, SSQ_LAYOUT_NCHW, SSQ_ACTIVATION_NONE
#define SSQ_CONV2D_INIT                                                        \
    {                                                                          \
        SSQ_CONV2D_DEFAULTS                                                    \
    }
#define SSQ_CONV2D(...)                                                        \
    SSQ_ARGS(ssq_conv2d_args, SSQ_CONV2D_DEFAULTS, __VA_ARGS__)

/** Convolve: y[n,o,p,q] = activation(bias[o] + the sum over c, r, s of
 *  w[o,c,r,s] x[n, c, p stride - top + r dilation, q stride - left + s
 *  dilation]). x is 0 in the padding, and c counts the channels of o's group.
 *  This is a cross-correlation, as torch.nn.functional.conv2d and ONNX Conv.
 *  Sums are float32 or better, bias and activation float32. y is rounded once.
 *
 *  If c is 0, y is activation(bias). NaN and infinities propagate as in
 *  IEEE 754. The zeros of the padding are multiplied, too: an infinite or NaN
 *  weight on them makes NaN, as in torch on padded images.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d(ssq_queue *queue,
                                             const ssq_conv2d_args *args);

/** For ssq_conv2d_backward_data and ssq_conv_transpose2d_backward_data. */
typedef struct ssq_conv2d_backward_data_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv2d_backward_data_args));
    const ssq_tensor *dy; /**< in, float: the shape of the forward call's y */
    const ssq_tensor *w;  /**< in, float: filters of the forward call */
    const ssq_tensor *dx; /**< out, float: the shape of the forward call's x;
                               must not overlap the others */
    int64_t stride[2] SSQ_DEFAULT(
        {1, 1}); /**< this and the fields below: as in the forward call */
    int64_t padding[4];
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    int64_t groups SSQ_DEFAULT(1);
    ssq_layout layout;
} ssq_conv2d_backward_data_args;
#define SSQ_CONV2D_BACKWARD_DATA_DEFAULTS                                      \
    sizeof(ssq_conv2d_backward_data_args), NULL, NULL, NULL, {1, 1},           \
        {0, 0, 0, 0}, {1, 1}, 1, SSQ_LAYOUT_NCHW
#define SSQ_CONV2D_BACKWARD_DATA_INIT                                          \
    {                                                                          \
        SSQ_CONV2D_BACKWARD_DATA_DEFAULTS                                      \
    }
#define SSQ_CONV2D_BACKWARD_DATA(...)                                          \
    SSQ_ARGS(ssq_conv2d_backward_data_args, SSQ_CONV2D_BACKWARD_DATA_DEFAULTS, \
             __VA_ARGS__)

/** Compute the gradient of x of ssq_conv2d: dx[n,c,h,w] = the sum of w[o,c,r,s]
 *  dy[n,o,p,q] over all o, over all p and r with h = p stride - top + r
 *  dilation, and over all q and s with w = q stride - left + s dilation.
 *  Elements that no window reached are 0. A fused activation is not undone: dy
 *  is the gradient of its input (call for example ssq_relu_backward first).
 *
 *  NaN and infinities propagate as in IEEE 754. If only some of r and s
 *  contribute to an element (at an edge, or with a stride), an implementation
 *  may multiply the others by zeros. An infinite or NaN weight among them can
 *  then make the element NaN.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d_backward_data(
    ssq_queue *queue, const ssq_conv2d_backward_data_args *args);

/** For ssq_conv2d_backward_weight and ssq_conv_transpose2d_backward_weight. */
typedef struct ssq_conv2d_backward_weight_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv2d_backward_weight_args));
    const ssq_tensor *x;  /**< in, float: as in the forward call */
    const ssq_tensor *dy; /**< in, float: the shape of the forward call's y */
    const ssq_tensor *dw; /**< out, float: the shape of the forward call's w;
                               must not overlap the others */
    const ssq_tensor *db; /**< out, optional, float: [o]; must not overlap the
                               others */
    int64_t stride[2] SSQ_DEFAULT(
        {1, 1}); /**< this and the fields below: as in the forward call */
    int64_t padding[4];
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    int64_t groups SSQ_DEFAULT(1);
    ssq_layout layout;
} ssq_conv2d_backward_weight_args;
#define SSQ_CONV2D_BACKWARD_WEIGHT_DEFAULTS                                    \
    sizeof(ssq_conv2d_backward_weight_args), NULL, NULL, NULL, NULL, {1, 1},   \
        {0, 0, 0, 0}, {1, 1}, 1, SSQ_LAYOUT_NCHW
#define SSQ_CONV2D_BACKWARD_WEIGHT_INIT                                        \
    {                                                                          \
        SSQ_CONV2D_BACKWARD_WEIGHT_DEFAULTS                                    \
    }
#define SSQ_CONV2D_BACKWARD_WEIGHT(...)                                        \
    SSQ_ARGS(ssq_conv2d_backward_weight_args,                                  \
             SSQ_CONV2D_BACKWARD_WEIGHT_DEFAULTS, __VA_ARGS__)

/** Compute the gradients of w and bias of ssq_conv2d: dw[o,c,r,s] = the sum
 *  over n, p, q of dy[n,o,p,q] x[n, c, p stride - top + r dilation, ..], with x
 *  0 in the padding. db[o] is the sum of dy over n, p, q, in the order of
 *  ssq_sum. For an empty batch dw and db are 0. NaN and infinities are as in
 *  ssq_conv2d: the zeros of the padding are multiplied.
 *  @return SSQ_ERR_UNSUPPORTED  an operand is too large for a launch of the
 *                               device and cannot be split; the message
 *                               contains the limits
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d_backward_weight(
    ssq_queue *queue, const ssq_conv2d_backward_weight_args *args);

typedef struct ssq_conv_transpose2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv_transpose2d_args));
    const ssq_tensor *x;    /**< in, float: images of c channels */
    const ssq_tensor *w;    /**< in, float: filters, see above */
    const ssq_tensor *bias; /**< in, optional, float: [o] */
    const ssq_tensor *y;    /**< out, float: images of o channels; must not
                                 overlap the others */
    int64_t stride[2] SSQ_DEFAULT({1, 1});
    int64_t padding[4]; /**< as of the convolution that it transposes: it is cut
                             from y */
    int64_t output_padding[2]; /**< more rows at the bottom and columns at the
                                    right of y; less than stride or less than
                                    dilation */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    int64_t groups SSQ_DEFAULT(1); /**< divides c and o */
    ssq_layout layout;
    ssq_activation activation;
} ssq_conv_transpose2d_args;
#define SSQ_CONV_TRANSPOSE2D_DEFAULTS                                          \
    sizeof(ssq_conv_transpose2d_args), NULL, NULL, NULL, NULL, {1, 1},         \
        {0, 0, 0, 0}, {0, 0}, {1, 1}, 1, SSQ_LAYOUT_NCHW, SSQ_ACTIVATION_NONE
#define SSQ_CONV_TRANSPOSE2D_INIT                                              \
    {                                                                          \
        SSQ_CONV_TRANSPOSE2D_DEFAULTS                                          \
    }
#define SSQ_CONV_TRANSPOSE2D(...)                                              \
    SSQ_ARGS(ssq_conv_transpose2d_args, SSQ_CONV_TRANSPOSE2D_DEFAULTS,         \
             __VA_ARGS__)

/** Compute a transposed convolution: ssq_conv2d_backward_data of the
 *  convolution from o to c channels with the same w, then bias and activation.
 *  torch.nn.functional.conv_transpose2d and ONNX ConvTranspose do the same.
 *
 *  y[n,o,h,v] = activation(bias[o] + the sum of w[c,o,r,s] x[n,c,p,q] over all
 *  c, over all p and r with h = p stride - top + r dilation, and over all q and
 *  s with v = q stride - left + s dilation). Sums are float32 or better, and y
 *  is rounded once. NaN and infinities are as in ssq_conv2d_backward_data.
 *  @return SSQ_ERR_INVALID  also if the size at the top is negative (with h or
 *                           w = 0 it counts as 0) or above 2^31 - 1;
 *                           output_padding is negative, or neither less than
 *                           stride nor less than dilation
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv_transpose2d(ssq_queue *queue, const ssq_conv_transpose2d_args *args);

typedef ssq_conv2d_backward_data_args ssq_conv_transpose2d_backward_data_args;
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_DATA_INIT SSQ_CONV2D_BACKWARD_DATA_INIT
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_DATA      SSQ_CONV2D_BACKWARD_DATA

/** Compute the gradient of x of ssq_conv_transpose2d: the convolution of dy
 *  with the same w. dx[n,c,p,q] = the sum of w[c,o,r,s] dy[n,o,h,v] over all o,
 *  r and s, with h = p stride - top + r dilation and v = q stride - left + s
 *  dilation; dy is 0 outside. A fused activation is not undone. NaN and
 *  infinities are as in ssq_conv2d.
 *
 *  output_padding is not an argument: it is computed from the size of dy.
 *  @return SSQ_ERR_INVALID  also if the output_padding that follows is not
 *                           legal
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv_transpose2d_backward_data(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_data_args *args);

typedef ssq_conv2d_backward_weight_args
    ssq_conv_transpose2d_backward_weight_args;
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_WEIGHT_INIT                              \
    SSQ_CONV2D_BACKWARD_WEIGHT_INIT
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_WEIGHT SSQ_CONV2D_BACKWARD_WEIGHT

/** Compute the gradients of w and bias of ssq_conv_transpose2d. dw is as in
 *  ssq_conv2d_backward_weight, with dy as the image and x as its gradient; K is
 *  n h w of x. db[o] is the sum of dy over n, h, w. output_padding is computed
 *  from the size of dy.
 *  @return
 *   - SSQ_ERR_INVALID      also if the output_padding that follows is not legal
 *   - SSQ_ERR_UNSUPPORTED  as ssq_conv2d_backward_weight
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv_transpose2d_backward_weight(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_weight_args *args);

#ifdef __cplusplus
}
#endif

#endif
