/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - maxima and averages over windows of images, and their backward.
 *
 * Images are [n,c,h,w] or [n,h,w,c] (ssq_layout); each channel is pooled by
 * itself. kernel, stride and dilation are {height, width}: kernel and dilation
 * at least 1, a stride of 0 (the default) is the kernel's size, as in torch.
 * padding is {top, left, bottom, right}, ONNX's pads, at least 0 and, unlike
 * torch's, of any size. The size of the result, in height, with
 * e = dilation (kernel - 1) + 1:
 *
 *     floor((h + top + bottom - e) / stride) + 1
 *     ceil_mode: ceil instead of floor, and one less where the last window
 *                would begin below the image (h + top <= its first row)
 *
 * and likewise in width: torch's. No size may exceed 2^31 - 1; any may be 0
 * but the kernel's. An image without rows or columns that padding does not make
 * as large as the window has a result without them; a window that is larger
 * than an image with elements and its padding is an error. The last dimension
 * of every operand has stride 1 (a size of 1 or 0 may have any stride). */
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
    const ssq_tensor *y;      /**< out, the dtype of x; no overlap with x */
    const ssq_tensor *argmax; /**< out, optional, i32, y's shape: where in its
                                   channel the maximum is, row times w plus
                                   column, as torch's; no overlap */
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

/** Max pooling: the greatest element of each window, as torch.max_pool2d. The
 *  padding counts as -infinity. Of equal elements (-0 equals +0) the first in
 *  row-major order is taken; a NaN is greater than all numbers, of several NaNs
 *  argmax names the last, as torch does, and y is the quiet NaN without sign. A
 *  window that meets no element gives -infinity and argmax -1. Class B.
 *  @return SSQ_ERR_INVALID shapes that disagree, with what y should be; argmax
 *          and more than 2^31 - 1 elements in a channel. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_pool2d(ssq_queue *queue, const ssq_max_pool2d_args *args);

typedef struct ssq_max_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_max_pool2d_backward_args));
    const ssq_tensor *dy;     /**< in, float: the shape of the forward y */
    const ssq_tensor *argmax; /**< in, i32: as the forward call wrote it */
    const ssq_tensor *dx;     /**< out, float: the shape of the forward x; no
                                   overlap */
    int64_t kernel[2];        /**< from here on those of the forward call */
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

/** Backward of ssq_max_pool2d: dx is the sum of the dy of all windows whose
 *  argmax it is, in row-major order of the windows, in float32 or better,
 *  rounded once; 0 where there is none. An argmax that is -1, or no element of
 *  its own window, counts for nothing. NaN and infinities of dy go where their
 *  argmax says. Sums may overflow in float32. Class R: within (k + 8) 2^-24
 *  times the sum of the |dy| of an element, k of them. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_max_pool2d_backward(
    ssq_queue *queue, const ssq_max_pool2d_backward_args *args);

typedef struct ssq_avg_pool2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_avg_pool2d_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float; no overlap with x */
    int64_t kernel[2];   /**< must be set */
    int64_t stride[2];   /**< 0: the kernel's size */
    int64_t padding[4];  /**< {top, left, bottom, right} */
    int64_t dilation[2] SSQ_DEFAULT({1, 1});
    bool ceil_mode; /**< round the size of y up, as above */
    bool count_include_pad
        SSQ_DEFAULT(true); /**< default true, as torch; ONNX's is false */
    int64_t divisor;       /**< 0: the number of elements; else used instead,
                                torch's divisor_override */
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

/** Average pooling: the sum of each window, the padding counting as 0, divided
 *  by the number of its elements: those in the image and, with
 *  count_include_pad, in the padding; never those beyond, which ceil_mode may
 *  add. As torch.nn.functional.avg_pool2d and ONNX AveragePool. Float32 sums
 *  and quotient (the divisor is rounded to float32), rounded once. A window
 *  without elements to count gives NaN, as ssq_mean of nothing; NaN and
 *  infinities in a window propagate. Sums may overflow in float32. Class R:
 *  within (k + 2 + 8) 2^-24 times the sum of |x| in the window over the
 *  divisor, k the elements of a window.
 *  @return SSQ_ERR_INVALID shapes that disagree, with what y should be; a
 *          negative divisor. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_avg_pool2d(ssq_queue *queue, const ssq_avg_pool2d_args *args);

typedef struct ssq_avg_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_avg_pool2d_backward_args));
    const ssq_tensor *dy; /**< in, float: the shape of the forward y */
    const ssq_tensor *dx; /**< out, float: that of x; no overlap with dy */
    int64_t kernel[2];    /**< from here on those of the forward call */
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

/** Backward of ssq_avg_pool2d: dx is the sum of dy / divisor over all windows
 *  that hold the element, in float32 or better, rounded once; 0 where there is
 *  none. Sums may overflow in float32. Class R: within (k + 2 + 8) 2^-24 times
 *  the sum of |dy| / divisor, k of them. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_avg_pool2d_backward(
    ssq_queue *queue, const ssq_avg_pool2d_backward_args *args);

typedef struct ssq_global_avg_pool2d_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_global_avg_pool2d_args));
    const ssq_tensor *x; /**< in, float, any strides */
    const ssq_tensor *y; /**< out, float: [n,c,1,1], [n,1,1,c] for NHWC, or
                              [n,c] for both; no overlap with x */
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

/** Global average pooling: the mean of each channel of each image, by ssq_mean:
 *  its sums, bound and NaN for images without elements. ONNX
 *  GlobalAveragePool. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_global_avg_pool2d(ssq_queue *queue, const ssq_global_avg_pool2d_args *args);

typedef struct ssq_global_avg_pool2d_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_global_avg_pool2d_backward_args));
    const ssq_tensor *dy; /**< in, float, any strides: y's shape */
    const ssq_tensor *dx; /**< out, float, any strides: x's shape; no overlap
                               with dy */
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

/** Backward of ssq_global_avg_pool2d: dx = dy / (h w), by ssq_mean_backward.
 *  Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_global_avg_pool2d_backward(
    ssq_queue *queue, const ssq_global_avg_pool2d_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
