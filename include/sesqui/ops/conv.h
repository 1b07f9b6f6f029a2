/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolution of images, its gradients, transposed convolution.
 *
 * Images are [n,c,h,w] or [n,h,w,c], ssq_layout says which, and filters follow
 * them. With o the channels that a filter bank makes of c, in groups:
 *
 *                      images        filters of conv2d   of conv_transpose2d
 *     SSQ_LAYOUT_NCHW  [n,c,h,w]     [o, c/groups, r, s] [c, o/groups, r, s]
 *     SSQ_LAYOUT_NHWC  [n,h,w,c]     [o, r, s, c/groups] [c, r, s, o/groups]
 *
 * The first line is torch's and ONNX's (OIHW, and IOHW for the transposed one),
 * the second the same with the second dimension moved to the end. Both layouts
 * compute the same sums. groups = c is depthwise, with o / c filters for each
 * channel. stride and dilation are {height, width} and at least 1, padding is
 * {top, left, bottom, right}, ONNX's pads, and at least 0: a window may be
 * larger than the image. The size of the result, in height:
 *
 *     conv2d            floor((h + top + bottom - e) / stride) + 1
 *     conv_transpose2d  (h - 1) stride - top - bottom + e + output_padding
 *                       where e = dilation (r - 1) + 1, the extent of a filter
 *
 * and likewise in width. No size (h, w, r, s), stride, dilation or padding may
 * exceed 2^31 - 1, and r and s are at least 1; n, c and o may be 0. conv2d of
 * an image without rows or columns that its padding does not make as large as
 * the filter has none either; a filter that is larger than an image with
 * elements and its padding is an error.
 *
 * Dtypes mix as the table in gemm.h says: f16 does not multiply bf16. The last
 * dimension of images and filters has stride 1 (a size of 1 or 0 may have any
 * stride): else SSQ_ERR_INVALID, never a silent copy. Vectors (bias, db) may
 * have any stride.
 *
 * Bounds (class R): every result is a sum of products and has gemm's bound with
 * K as many as the products: c/groups r s forward, o/groups r s for data,
 * n h w (of dy) for filters; see ssq_gemm. Integers whose sums stay below 2^24
 * are exact. Where the float32 sum of the products' magnitudes overflows, an
 * element may be infinite or NaN even if the exact result is not. */
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
    const ssq_tensor *y;    /**< out, float: images of o channels; no overlap
                                 with the others */
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
 *  dilation]), x being 0 in the padding; c runs over the channels of o's group.
 *  A cross-correlation, as torch.nn.functional.conv2d and ONNX Conv. Sums in
 *  float32 or better; bias and activation in float32; one rounding, when y is
 *  stored.
 *  @return SSQ_ERR_INVALID shapes that disagree, with what y should be; groups
 *          that do not divide; no such layout or activation; f16 with bf16
 *  @note Without channels (c = 0) y is activation(bias). NaN and infinities
 *        propagate as IEEE 754 says; the padding's zeros are multiplied like
 *        any other: an infinite or NaN weight that falls on them makes NaN, as
 *        in torch on padded images. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d(ssq_queue *queue,
                                             const ssq_conv2d_args *args);

/** For ssq_conv2d_backward_data and ssq_conv_transpose2d_backward_data. */
typedef struct ssq_conv2d_backward_data_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv2d_backward_data_args));
    const ssq_tensor *dy; /**< in, float: the shape of the forward call's y */
    const ssq_tensor *w;  /**< in, float: its filters */
    const ssq_tensor *dx; /**< out, float: the shape of its x; no overlap with
                               the others */
    int64_t stride[2] SSQ_DEFAULT(
        {1, 1}); /**< from here on those of the forward call */
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

/** Gradient of ssq_conv2d's x: dx[n,c,h,w] = the sum of w[o,c,r,s] dy[n,o,p,q]
 *  over all o, and p, r with h = p stride - top + r dilation, and q, s
 *  likewise. A fused activation is not undone: dy is the gradient of what went
 *  into it (ssq_relu_backward, ..). Elements that no window reached are 0.
 *  @return as ssq_conv2d
 *  @note NaN and infinities propagate as IEEE 754 says. Where fewer than all r
 *        and s take part in an element (at an edge, or with a stride),
 *        implementations may multiply the others by zeros: an infinite or NaN
 *        weight among them may make the element NaN. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d_backward_data(
    ssq_queue *queue, const ssq_conv2d_backward_data_args *args);

/** For ssq_conv2d_backward_weight and ssq_conv_transpose2d_backward_weight. */
typedef struct ssq_conv2d_backward_weight_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv2d_backward_weight_args));
    const ssq_tensor *x;  /**< in, float: as in the forward call */
    const ssq_tensor *dy; /**< in, float: the shape of its y */
    const ssq_tensor *dw; /**< out, float: the shape of its w; no overlap with
                               the others */
    const ssq_tensor *db; /**< out, optional, float: [o]; no overlap with the
                               others */
    int64_t stride[2] SSQ_DEFAULT(
        {1, 1}); /**< from here on those of the forward call */
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

/** Gradients of ssq_conv2d's w and bias: dw[o,c,r,s] = the sum over n, p, q of
 *  dy[n,o,p,q] x[n, c, p stride - top + r dilation, ..], x being 0 in the
 *  padding; db[o] = the sum over n, p, q of dy, in the order of ssq_sum. dw and
 *  db of an empty batch are 0.
 *  @return as ssq_conv2d; SSQ_ERR_UNSUPPORTED more than 2^31 - 1 products per
 *          element on a device that counts in 32 bits
 *  @note NaN and infinities propagate as in ssq_conv2d: the padding's zeros
 *        are multiplied. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv2d_backward_weight(
    ssq_queue *queue, const ssq_conv2d_backward_weight_args *args);

typedef struct ssq_conv_transpose2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_conv_transpose2d_args));
    const ssq_tensor *x;    /**< in, float: images of c channels */
    const ssq_tensor *w;    /**< in, float: filters, see above */
    const ssq_tensor *bias; /**< in, optional, float: [o] */
    const ssq_tensor *y;    /**< out, float: images of o channels; no overlap
                                 with the others */
    int64_t stride[2] SSQ_DEFAULT({1, 1});
    int64_t padding[4]; /**< of the convolution it transposes: cut from y */
    int64_t output_padding[2]; /**< rows below and columns to the right of y;
                                    less than stride or less than dilation */
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

/** Transposed convolution: what ssq_conv2d_backward_data computes for the
 *  convolution from o to c channels with the same w, then bias and activation,
 *  as torch.nn.functional.conv_transpose2d and ONNX ConvTranspose: y[n,o,h,v] =
 *  activation(bias[o] + the sum of w[c,o,r,s] x[n,c,p,q] over all c, and p, r
 *  with h = p stride - top + r dilation, and q, s likewise). Sums in float32 or
 *  better; one rounding, when y is stored.
 *  @return SSQ_ERR_INVALID as ssq_conv2d; the size above is negative; an
 *          output_padding that is neither less than stride nor than dilation
 *  @note NaN and infinities as in ssq_conv2d_backward_data. Class R. Since
 *        0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_conv_transpose2d(ssq_queue *queue, const ssq_conv_transpose2d_args *args);

typedef ssq_conv2d_backward_data_args ssq_conv_transpose2d_backward_data_args;
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_DATA_INIT SSQ_CONV2D_BACKWARD_DATA_INIT
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_DATA      SSQ_CONV2D_BACKWARD_DATA

/** Gradient of ssq_conv_transpose2d's x: the convolution of dy with the same w.
 *  dy's size fixes the output_padding, which must be legal. NaN and infinities
 *  as in ssq_conv2d. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv_transpose2d_backward_data(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_data_args *args);

typedef ssq_conv2d_backward_weight_args
    ssq_conv_transpose2d_backward_weight_args;
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_WEIGHT_INIT                              \
    SSQ_CONV2D_BACKWARD_WEIGHT_INIT
#define SSQ_CONV_TRANSPOSE2D_BACKWARD_WEIGHT SSQ_CONV2D_BACKWARD_WEIGHT

/** Gradients of ssq_conv_transpose2d's w and bias: dw as
 *  ssq_conv2d_backward_weight with dy as the image and x as its gradient (K is
 *  n h w of x); db[o] the sum over n, h, w of dy. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_conv_transpose2d_backward_weight(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_weight_args *args);

#ifdef __cplusplus
}
#endif

#endif
