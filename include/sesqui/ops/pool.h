/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - maxima and averages over windows of images, and their backward.
 *
 *     ssq_max_pool2d(queue, SSQ_MAX_POOL2D(.x = x, .y = y, .argmax = at,
 *                                          .kernel = {2, 2}));
 *     ...                                       // loss, gradient dy of y
 *     ssq_max_pool2d_backward(queue, SSQ_MAX_POOL2D_BACKWARD(.dy = dy,
 *                                 .argmax = at, .dx = dx, .kernel = {2, 2}));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Images are [n,c,h,w] or [n,h,w,c] (ssq_layout). Each channel is pooled
 * separately. kernel, stride and dilation are {height, width}. kernel and
 * dilation are at least 1; a stride of 0, the default, is the kernel's size, as
 * in torch. padding is {top, left, bottom, right}, as pads of ONNX. It is at
 * least 0 and, unlike in torch, may have any size. The height of the result is,
 * with e = dilation (kernel - 1) + 1,
 *
 *     floor((h + top + bottom - e) / stride) + 1
 *     ceil_mode: ceil instead of floor, and one less if the last window would
 *                begin below the image: at row h + top or later, counted from
 *                the first row of the padding
 *
 * as in torch. The width is computed in the same way. If one of them is less
 * than 1, the call returns SSQ_ERR_INVALID. Exception: for h = 0 the height is
 * then 0, and for w = 0 the width. For example, h = 3 with a kernel of 4 and no
 * padding is an error; with ceil_mode and a stride of 4 it gives a height of 1.
 *
 * n, c, h and w may be 0. h, w and all numbers of the window are at most
 * 2^31 - 1. The global calls have no such limit.
 *
 * The last dimension of each operand must have stride 1, unless its size is 0
 * or 1. For example, an NCHW tensor that is transposed to NHWC as a view is
 * refused. Only the global calls accept any strides.
 *
 * A call returns SSQ_ERR_INVALID if a shape differs, and the message says which
 * one is expected; if an output overlaps another operand; or if a number or the
 * layout is not valid, for example if .kernel is not set.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_POOL_H
#define SESQUI_OPS_POOL_H

#include <sesqui/args.h>
#include <sesqui/ops/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_max_pool2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_max_pool2d_args));
    const ssq_tensor *x;      /**< in, float */
    const ssq_tensor *y;      /**< out, the dtype of x; must not overlap x */
    const ssq_tensor *argmax; /**< out, optional, i32, y's shape: position of
                                   the maximum in its channel, row times w plus
                                   column, as in torch; must not overlap the
                                   others */
    int64_t kernel[2];        /**< must be set */
    int64_t stride[2];        /**< 0: the kernel's size */
    int64_t padding[4];       /**< {top, left, bottom, right} */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    bool ceil_mode; /**< round the size of y up, as above */
    ssq_layout layout;
} ssq_max_pool2d_args;
#define SSQ_MAX_POOL2D_DEFAULTS                                                \
    sizeof(ssq_max_pool2d_args), NULL, NULL, NULL, {0, 0}, {0, 0},             \
        {0, 0, 0, 0}, {1, 1}, false, SSQ_LAYOUT_NCHW
#define SSQ_MAX_POOL2D_INIT                                                    \
    {                                                                          \
        SSQ_MAX_POOL2D_DEFAULTS                                                \
    }
#define SSQ_MAX_POOL2D(...)                                                    \
    SSQ_ARGS(ssq_max_pool2d_args, SSQ_MAX_POOL2D_DEFAULTS, __VA_ARGS__)

/** Compute the maximum of each window, as torch.max_pool2d. The padding counts
 *  as -infinity. Of equal elements the first in row-major order counts; -0
 *  equals +0. A NaN is greater than all numbers: y is then the quiet NaN
 *  without sign, and argmax is the position of the last NaN, as in torch. A
 *  window without an element has y -infinity and argmax -1.
 *  @return SSQ_ERR_INVALID  also if a channel has more than 2^31 - 1 elements,
 *                           and argmax is set or a tape records the op
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_pool2d(ssq_queue *queue, const ssq_max_pool2d_args *args);

typedef struct ssq_max_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_max_pool2d_backward_args));
    const ssq_tensor *dy;     /**< in, float: the shape of the forward y */
    const ssq_tensor *argmax; /**< in, i32: as the forward call wrote it */
    const ssq_tensor *dx;     /**< out, float: the shape of the forward x; must
                                   not overlap the others */
    int64_t kernel[2];        /**< this and the fields below: as in the forward
                                   call */
    int64_t stride[2];
    int64_t padding[4];
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    bool ceil_mode;
    ssq_layout layout;
} ssq_max_pool2d_backward_args;
#define SSQ_MAX_POOL2D_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_max_pool2d_backward_args), NULL, NULL, NULL, {0, 0}, {0, 0},    \
        {0, 0, 0, 0}, {1, 1}, false, SSQ_LAYOUT_NCHW
#define SSQ_MAX_POOL2D_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_MAX_POOL2D_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_MAX_POOL2D_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_max_pool2d_backward_args, SSQ_MAX_POOL2D_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Compute the gradient of ssq_max_pool2d. dx is the sum of dy over all windows
 *  whose argmax is this element, in row-major order of the windows; without
 *  such windows it is 0. Sums are float32 or better and can overflow; dx is
 *  rounded once.
 *
 *  An argmax that is -1, or outside its window, is ignored. NaN and infinities
 *  of dy are added at their argmax.
 *  @return SSQ_ERR_INVALID  also if a channel of dx has more than 2^31 - 1
 *                           elements
 *  @note Class R: within (k + 8) 2^-24 times the sum of the |dy| of an element,
 *        for k windows. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_max_pool2d_backward(
    ssq_queue *queue, const ssq_max_pool2d_backward_args *args);

typedef struct ssq_avg_pool2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_avg_pool2d_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float; must not overlap x */
    int64_t kernel[2];   /**< must be set */
    int64_t stride[2];   /**< 0: the kernel's size */
    int64_t padding[4];  /**< {top, left, bottom, right} */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    bool ceil_mode; /**< round the size of y up, as above */
    bool count_include_pad
        SSQ_DEFAULT(true); /**< as in torch; false as in ONNX */
    int64_t divisor;       /**< >= 0; 0: divide by the number of elements;
                                otherwise by this number, as divisor_override in
                                torch */
    ssq_layout layout;
} ssq_avg_pool2d_args;
#define SSQ_AVG_POOL2D_DEFAULTS                                                \
    sizeof(ssq_avg_pool2d_args), NULL, NULL, {0, 0}, {0, 0}, {0, 0, 0, 0},     \
        {1, 1}, false, true, 0, SSQ_LAYOUT_NCHW
#define SSQ_AVG_POOL2D_INIT                                                    \
    {                                                                          \
        SSQ_AVG_POOL2D_DEFAULTS                                                \
    }
#define SSQ_AVG_POOL2D(...)                                                    \
    SSQ_ARGS(ssq_avg_pool2d_args, SSQ_AVG_POOL2D_DEFAULTS, __VA_ARGS__)

/** Compute the average of each window: its sum, with 0 in the padding, divided
 *  by the number of its elements. These are the elements in the image and, with
 *  count_include_pad, in the padding. Elements past the padding, which
 *  ceil_mode can add, do not count. torch.nn.functional.avg_pool2d and ONNX
 *  AveragePool do the same.
 *
 *  Sum and quotient are float32, and the divisor is rounded to float32. Sums
 *  can overflow; y is rounded once. A window without elements that count gives
 *  NaN, as ssq_mean of nothing, or 0 if divisor is set. NaN and infinities in a
 *  window propagate.
 *  @note Class R: within (k + 2 + 8) 2^-24 times the sum of |x| in the window
 *        over the divisor, for k elements of a window. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_avg_pool2d(ssq_queue *queue, const ssq_avg_pool2d_args *args);

typedef struct ssq_avg_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_avg_pool2d_backward_args));
    const ssq_tensor *dy; /**< in, float: the shape of the forward y */
    const ssq_tensor *dx; /**< out, float: the shape of the forward x; must not
                               overlap dy */
    int64_t kernel[2];    /**< this and the fields below: as in the forward call
                               */
    int64_t stride[2];
    int64_t padding[4];
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    bool ceil_mode;
    bool count_include_pad SSQ_DEFAULT(true);
    int64_t divisor;
    ssq_layout layout;
} ssq_avg_pool2d_backward_args;
#define SSQ_AVG_POOL2D_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_avg_pool2d_backward_args), NULL, NULL, {0, 0}, {0, 0},          \
        {0, 0, 0, 0}, {1, 1}, false, true, 0, SSQ_LAYOUT_NCHW
#define SSQ_AVG_POOL2D_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_AVG_POOL2D_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_AVG_POOL2D_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_avg_pool2d_backward_args, SSQ_AVG_POOL2D_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Compute the gradient of ssq_avg_pool2d. dx is the sum of dy / d over all
 *  windows that contain the element, where d is the number by which the forward
 *  call divided the window; without such windows dx is 0. Sums are float32 or
 *  better and can overflow; dx is rounded once.
 *  @note Class R: within (k + 2 + 8) 2^-24 times the sum of |dy| / d, for k
 *        windows. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_avg_pool2d_backward(
    ssq_queue *queue, const ssq_avg_pool2d_backward_args *args);

typedef struct ssq_global_avg_pool2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_global_avg_pool2d_args));
    const ssq_tensor *x; /**< in, float, any strides */
    const ssq_tensor *y; /**< out, float, any strides: [n,c,1,1], [n,1,1,c] for
                              NHWC, or [n,c] for both; must not overlap x */
    ssq_layout layout;
} ssq_global_avg_pool2d_args;
#define SSQ_GLOBAL_AVG_POOL2D_DEFAULTS                                         \
    sizeof(ssq_global_avg_pool2d_args), NULL, NULL, SSQ_LAYOUT_NCHW
#define SSQ_GLOBAL_AVG_POOL2D_INIT                                             \
    {                                                                          \
        SSQ_GLOBAL_AVG_POOL2D_DEFAULTS                                         \
    }
#define SSQ_GLOBAL_AVG_POOL2D(...)                                             \
    SSQ_ARGS(ssq_global_avg_pool2d_args, SSQ_GLOBAL_AVG_POOL2D_DEFAULTS,       \
             __VA_ARGS__)

/** Compute the mean of each channel of each image, as ONNX GlobalAveragePool.
 *  Sums and bound are as in ssq_mean (reduce.h). Without elements (h w = 0) it
 *  is NaN. On a tape the result has rank 4, for example [n,c,1,1], and
 *  ssq_var_reshape makes [n,c] of it.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_global_avg_pool2d(ssq_queue *queue, const ssq_global_avg_pool2d_args *args);

typedef struct ssq_global_avg_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_global_avg_pool2d_backward_args));
    const ssq_tensor *dy; /**< in, float, any strides: y's shape */
    const ssq_tensor *dx; /**< out, float, any strides: x's shape; must not
                               overlap dy */
    ssq_layout layout;
} ssq_global_avg_pool2d_backward_args;
#define SSQ_GLOBAL_AVG_POOL2D_BACKWARD_DEFAULTS                                \
    sizeof(ssq_global_avg_pool2d_backward_args), NULL, NULL, SSQ_LAYOUT_NCHW
#define SSQ_GLOBAL_AVG_POOL2D_BACKWARD_INIT                                    \
    {                                                                          \
        SSQ_GLOBAL_AVG_POOL2D_BACKWARD_DEFAULTS                                \
    }
#define SSQ_GLOBAL_AVG_POOL2D_BACKWARD(...)                                    \
    SSQ_ARGS(ssq_global_avg_pool2d_backward_args,                              \
             SSQ_GLOBAL_AVG_POOL2D_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Compute the gradient of ssq_global_avg_pool2d: dx = dy / (h w), with the
 *  bits of ssq_mean_backward.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_global_avg_pool2d_backward(
    ssq_queue *queue, const ssq_global_avg_pool2d_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
