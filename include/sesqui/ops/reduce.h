/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - sums, means, extremes and the L2 norm over axes, and backward.
 *
 * Reductions take any set of axes: SSQ_SUM(.x = x, .y = y, .axes = {0, -1},
 * .n_axes = 2). The output has the input's shape with each reduced dimension
 * either left out or of size 1: whichever its rank says, so there is no keepdim
 * flag.
 *
 * Order of a sum over n elements (class R, the same bits each time): no chain
 * of dependent float32 additions is longer than
 *
 *     min(n, 64) + 8                                   n <= 16384
 *     min(n, 64) + 8 + ceil(ceil(n / 16384) / 256) + 8 else
 *
 * on any device, so the error before the one rounding of the result is at
 * most (that + 8) 2^-24 times the sum of |x|. */
#ifndef SESQUI_OPS_REDUCE_H
#define SESQUI_OPS_REDUCE_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In the place of a number of axes: reduce over none of them. */
#define SSQ_AXES_NONE (-1)

typedef struct ssq_reduce_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_reduce_args));
    const ssq_tensor *x;    /**< in */
    const ssq_tensor *y;    /**< out: the shape of x without the reduced
                                 dimensions, or with 1 in their place; no
                                 overlap with x */
    int axes[SSQ_MAX_RANK]; /**< the first n_axes: distinct dimensions of x,
                                 negative ones from the end */
    int n_axes;             /**< 0: all dimensions, and axes has only 0;
                                 SSQ_AXES_NONE: none */
} ssq_reduce_args;
#define SSQ_REDUCE_DEFAULTS sizeof(ssq_reduce_args), NULL, NULL, {0}, 0
#define SSQ_REDUCE_INIT                                                        \
    {                                                                          \
        SSQ_REDUCE_DEFAULTS                                                    \
    }
#define SSQ_REDUCE(...)                                                        \
    SSQ_ARGS(ssq_reduce_args, SSQ_REDUCE_DEFAULTS, __VA_ARGS__)

typedef ssq_reduce_args ssq_sum_args;
#define SSQ_SUM_INIT SSQ_REDUCE_INIT
#define SSQ_SUM      SSQ_REDUCE

/** Sum: x and y float. The sum of nothing is 0. Intermediate float32 sums may
 *  overflow where the final one would not. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sum(ssq_queue *queue,
                                          const ssq_sum_args *args);

typedef ssq_reduce_args ssq_mean_args;
#define SSQ_MEAN_INIT SSQ_REDUCE_INIT
#define SSQ_MEAN      SSQ_REDUCE

/** Mean: the float32 sum, divided by n in float32, rounded once; x and y
 *  float. The mean of nothing is NaN, as in PyTorch. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mean(ssq_queue *queue,
                                           const ssq_mean_args *args);

typedef ssq_reduce_args ssq_prod_args;
#define SSQ_PROD_INIT SSQ_REDUCE_INIT
#define SSQ_PROD      SSQ_REDUCE

/** Product, in float32 in the order of a sum; x and y float. The product of
 *  nothing is 1. Intermediate products may overflow or underflow where the
 *  final one would not. Class R: a relative error of (chain + 8) 2^-24 without
 *  that. On a tape the gradient of an element is dy times the product of all
 *  other elements, so it is right where elements are 0. It is rounded once for
 *  each factor; while it is made it takes four times x's elements in float32.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_prod(ssq_queue *queue,
                                           const ssq_prod_args *args);

typedef ssq_reduce_args ssq_max_args;
#define SSQ_MAX_INIT SSQ_REDUCE_INIT
#define SSQ_MAX      SSQ_REDUCE

/** Maximum (PyTorch's amax): x any dtype, y the same. +0 is greater than -0.
 *  A NaN anywhere makes the result the quiet NaN without sign. Class B.
 *  @return SSQ_ERR_INVALID y has elements and the reduced dimensions have
 *          none. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_max(ssq_queue *queue,
                                          const ssq_max_args *args);

typedef ssq_reduce_args ssq_min_args;
#define SSQ_MIN_INIT SSQ_REDUCE_INIT
#define SSQ_MIN      SSQ_REDUCE

/** Minimum (PyTorch's amin): as ssq_max, -0 is less than +0. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_min(ssq_queue *queue,
                                          const ssq_min_args *args);

typedef struct ssq_argmax_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_argmax_args));
    const ssq_tensor *x; /**< in, any dtype */
    const ssq_tensor *y; /**< out, i32: the shape of x without the axis, or
                              with 1 in its place; no overlap with x */
    int axis
        SSQ_DEFAULT(-1); /**< negative: from the end; the default is the last */
    bool last;           /**< of equal elements take the last, not the first:
                              ONNX's select_last_index */
} ssq_argmax_args;
#define SSQ_ARGMAX_DEFAULTS sizeof(ssq_argmax_args), NULL, NULL, -1, false
#define SSQ_ARGMAX_INIT                                                        \
    {                                                                          \
        SSQ_ARGMAX_DEFAULTS                                                    \
    }
#define SSQ_ARGMAX(...)                                                        \
    SSQ_ARGS(ssq_argmax_args, SSQ_ARGMAX_DEFAULTS, __VA_ARGS__)

/** Argmax: the position of the first maximum along one axis, as PyTorch, or of
 *  the last: NaN counts as greater than all numbers, -0 equals +0. Class B.
 *  @return SSQ_ERR_INVALID the axis has no elements and y has, or it has
 *          more than 2^31 - 1. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_argmax(ssq_queue *queue,
                                             const ssq_argmax_args *args);

typedef ssq_argmax_args ssq_argmin_args;
#define SSQ_ARGMIN_INIT SSQ_ARGMAX_INIT
#define SSQ_ARGMIN      SSQ_ARGMAX

/** Argmin: the position of the first or last minimum; NaN counts as less than
 *  all numbers. The rest as ssq_argmax. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_argmin(ssq_queue *queue,
                                             const ssq_argmin_args *args);

typedef struct ssq_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_norm_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, f32, one element; no overlap with x */
} ssq_norm_args;
#define SSQ_NORM_DEFAULTS sizeof(ssq_norm_args), NULL, NULL
#define SSQ_NORM_INIT                                                          \
    {                                                                          \
        SSQ_NORM_DEFAULTS                                                      \
    }
#define SSQ_NORM(...) SSQ_ARGS(ssq_norm_args, SSQ_NORM_DEFAULTS, __VA_ARGS__)

/** Norm: y = sqrt(sum of squares of all elements of x), the L2 norm. It
 *  overflows or underflows only where the result itself does: large, middling
 *  and small magnitudes are summed apart, scaled by powers of two (Blue, ACM
 *  TOMS 4(1), 1978). Class B: the order of the sums is fixed, see
 *  kernels/reduce/norm.h. A NaN in x gives the quiet NaN without sign, an
 *  infinity without NaN infinity; the norm of nothing is 0. Relative error at
 *  most (chain + 2 + 8) / 2 + 1 times 2^-24, the chain that of a sum. Since
 *  0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_norm(ssq_queue *queue,
                                           const ssq_norm_args *args);

typedef struct ssq_reduce_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_reduce_backward_args));
    const ssq_tensor *dy; /**< in, float: y's shape in the forward call */
    const ssq_tensor *dx; /**< out, float: x's shape; no overlap with others */
    int axes[SSQ_MAX_RANK]; /**< with n_axes those of the forward call */
    int n_axes;
} ssq_reduce_backward_args;
#define SSQ_REDUCE_BACKWARD_DEFAULTS                                           \
    sizeof(ssq_reduce_backward_args), NULL, NULL, {0}, 0
#define SSQ_REDUCE_BACKWARD_INIT                                               \
    {                                                                          \
        SSQ_REDUCE_BACKWARD_DEFAULTS                                           \
    }
#define SSQ_REDUCE_BACKWARD(...)                                               \
    SSQ_ARGS(ssq_reduce_backward_args, SSQ_REDUCE_BACKWARD_DEFAULTS,           \
             __VA_ARGS__)

typedef ssq_reduce_backward_args ssq_sum_backward_args;
#define SSQ_SUM_BACKWARD_INIT SSQ_REDUCE_BACKWARD_INIT
#define SSQ_SUM_BACKWARD      SSQ_REDUCE_BACKWARD

/** Backward of ssq_sum: dx = dy, repeated. Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sum_backward(ssq_queue *queue, const ssq_sum_backward_args *args);

typedef ssq_reduce_backward_args ssq_mean_backward_args;
#define SSQ_MEAN_BACKWARD_INIT SSQ_REDUCE_BACKWARD_INIT
#define SSQ_MEAN_BACKWARD      SSQ_REDUCE_BACKWARD

/** Backward of ssq_mean: dx = dy / n, repeated; the division is correctly
 *  rounded in float32, n too. Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mean_backward(ssq_queue *queue, const ssq_mean_backward_args *args);

typedef struct ssq_max_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_max_backward_args));
    const ssq_tensor *dy;   /**< in, float: y's shape */
    const ssq_tensor *x;    /**< in, float: as in the forward call */
    const ssq_tensor *y;    /**< in: the forward result, the dtype of x */
    const ssq_tensor *dx;   /**< out, float: x's shape; may be x, overlaps no
                                 other */
    int axes[SSQ_MAX_RANK]; /**< with n_axes those of the forward call */
    int n_axes;
} ssq_max_backward_args;
#define SSQ_MAX_BACKWARD_DEFAULTS                                              \
    sizeof(ssq_max_backward_args), NULL, NULL, NULL, NULL, {0}, 0
#define SSQ_MAX_BACKWARD_INIT                                                  \
    {                                                                          \
        SSQ_MAX_BACKWARD_DEFAULTS                                              \
    }
#define SSQ_MAX_BACKWARD(...)                                                  \
    SSQ_ARGS(ssq_max_backward_args, SSQ_MAX_BACKWARD_DEFAULTS, __VA_ARGS__)

/** Backward of ssq_max and ssq_min: dx = dy / ties where x equals y, else 0:
 *  the gradient is split evenly between ties, as PyTorch's amax does. Where y
 *  is NaN nothing equals it, and the gradient of all it came from is NaN, as
 *  in PyTorch. Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_backward(ssq_queue *queue, const ssq_max_backward_args *args);

typedef struct ssq_sum_to_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_sum_to_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float: a shape that broadcasts to that of x;
                              no overlap with x */
} ssq_sum_to_args;
#define SSQ_SUM_TO_DEFAULTS sizeof(ssq_sum_to_args), NULL, NULL
#define SSQ_SUM_TO_INIT                                                        \
    {                                                                          \
        SSQ_SUM_TO_DEFAULTS                                                    \
    }
#define SSQ_SUM_TO(...)                                                        \
    SSQ_ARGS(ssq_sum_to_args, SSQ_SUM_TO_DEFAULTS, __VA_ARGS__)

/** Sum to a shape: the sum over all dimensions that broadcasting y to x's
 *  shape would repeat; the backward of broadcasting. A copy when there are
 *  none. Class R, as ssq_sum. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sum_to(ssq_queue *queue,
                                             const ssq_sum_to_args *args);

#ifdef __cplusplus
}
#endif

#endif
