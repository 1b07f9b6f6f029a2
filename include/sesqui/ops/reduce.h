/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - sums, means, extremes and the L2 norm over axes, and backward.
 *
 *     ssq_sum(queue, SSQ_SUM(.x = x, .y = y, .axes = {0, -1}, .n_axes = 2));
 *     ...                                       // gradient dy of y
 *     ssq_sum_backward(queue, SSQ_SUM_BACKWARD(.dy = dy, .dx = dx,
 *                                 .axes = {0, -1}, .n_axes = 2));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Reductions accept any set of axes. In the output each reduced dimension is
 * either left out or has size 1. The rank of y selects the form, so there is no
 * keepdim flag. For example, [2,3,4] over axis 1 is [2,4] or [2,1,4]. On a
 * tape (vars.h) they are left out; use ssq_var_reshape to put 1 in their place.
 *
 * Order of a sum over n elements (class R, the same bits each time): no chain
 * of dependent float32 additions is longer than
 *
 *     min(n, 64) + 8                                   n <= 16384
 *     min(n, 64) + 8 + ceil(ceil(n / 16384) / 256) + 8 otherwise
 *
 * on any device. The error before the one rounding of the result is at most
 * (that + 8) 2^-24 times the sum of |x|. For a mean it is (that + 10) 2^-24
 * times the sum of |x| / n.
 *
 * A call returns SSQ_ERR_INVALID if a shape or dtype is not as below; if an
 * output overlaps another operand and "may be" does not allow it; if n_axes is
 * out of range; or if the axes are not valid: out of range, named twice, or
 * named with n_axes 0. For example, .axes = {1} without .n_axes is refused, but
 * .axes = {0} without .n_axes reduces all dimensions.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_REDUCE_H
#define SESQUI_OPS_REDUCE_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As a number of axes: reduce over no axes. */
#define SSQ_AXES_NONE (-1)

typedef struct ssq_reduce_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_reduce_args));
    const ssq_tensor *x;    /**< in */
    const ssq_tensor *y;    /**< out: the shape of x without the reduced
                                 dimensions, or with 1 in their place; must not
                                 overlap x */
    int axes[SSQ_MAX_RANK]; /**< the first n_axes: distinct dimensions of x;
                                 negative: from the end */
    int n_axes;             /**< 0: all dimensions, and axes must contain only
                                 0; SSQ_AXES_NONE: none */
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

/** Compute a sum. x and y are float. The sum of nothing is 0. Intermediate
 *  float32 sums can overflow even if the final one is finite.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sum(ssq_queue *queue,
                                          const ssq_sum_args *args);

typedef ssq_reduce_args ssq_mean_args;
#define SSQ_MEAN_INIT SSQ_REDUCE_INIT
#define SSQ_MEAN      SSQ_REDUCE

/** Compute a mean: the float32 sum, divided by n in float32, rounded once. x
 *  and y are float. The mean of nothing is NaN, as in PyTorch.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mean(ssq_queue *queue,
                                           const ssq_mean_args *args);

typedef ssq_reduce_args ssq_prod_args;
#define SSQ_PROD_INIT SSQ_REDUCE_INIT
#define SSQ_PROD      SSQ_REDUCE

/** Multiply elements, in float32 and in the order of a sum. x and y are float.
 *  Over nothing the result is 1. Intermediate values can overflow or underflow
 *  even if the final one does not. If they do not, the relative error of
 *  n < 2^23 factors is at most e / (1 - e) with e = n 2^-24, before the one
 *  rounding of the result. It grows with n, since each multiplication rounds.
 *
 *  On a tape the gradient of an element is dy times all other elements of x, so
 *  it is correct even if elements are 0. It is rounded once for each factor.
 *  Its computation needs scratch of four float32 for each element of x.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_prod(ssq_queue *queue,
                                           const ssq_prod_args *args);

typedef ssq_reduce_args ssq_max_args;
#define SSQ_MAX_INIT SSQ_REDUCE_INIT
#define SSQ_MAX      SSQ_REDUCE

/** Compute a maximum (PyTorch's amax). x may have any dtype, and y has the same
 *  one. +0 is greater than -0. A NaN makes the result the quiet NaN without
 *  sign. On a tape the gradient is that of ssq_max_backward, and there is no
 *  second derivative; so it is with ssq_min.
 *  @return SSQ_ERR_INVALID  also if y has elements and the reduced dimensions
 *                           have none
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_max(ssq_queue *queue,
                                          const ssq_max_args *args);

typedef ssq_reduce_args ssq_min_args;
#define SSQ_MIN_INIT SSQ_REDUCE_INIT
#define SSQ_MIN      SSQ_REDUCE

/** Compute a minimum (PyTorch's amin). Everything else is as in ssq_max.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_min(ssq_queue *queue,
                                          const ssq_min_args *args);

typedef struct ssq_argmax_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_argmax_args));
    const ssq_tensor *x; /**< in, any dtype, rank >= 1 */
    const ssq_tensor *y; /**< out, i32: the shape of x without the axis, or with
                              1 in its place; must not overlap x */
    int axis
        SSQ_DEFAULT(-1); /**< negative: from the end */
    bool last;           /**< of equal elements use the last, not the first:
                              ONNX's select_last_index */
} ssq_argmax_args;
#define SSQ_ARGMAX_DEFAULTS sizeof(ssq_argmax_args), NULL, NULL, -1, false
#define SSQ_ARGMAX_INIT                                                        \
    {                                                                          \
        SSQ_ARGMAX_DEFAULTS                                                    \
    }
#define SSQ_ARGMAX(...)                                                        \
    SSQ_ARGS(ssq_argmax_args, SSQ_ARGMAX_DEFAULTS, __VA_ARGS__)

/** Find the position of the maximum along one axis: the first one, as in
 *  PyTorch, or the last one. NaN is greater than all numbers, and -0 equals +0.
 *  @return SSQ_ERR_INVALID  also if y has elements, and the axis has none or
 *                           more than 2^31 - 1
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_argmax(ssq_queue *queue,
                                             const ssq_argmax_args *args);

typedef ssq_argmax_args ssq_argmin_args;
#define SSQ_ARGMIN_INIT SSQ_ARGMAX_INIT
#define SSQ_ARGMIN      SSQ_ARGMAX

/** Find the position of the minimum along one axis. NaN is less than all
 *  numbers. Everything else is as in ssq_argmax.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_argmin(ssq_queue *queue,
                                             const ssq_argmin_args *args);

typedef struct ssq_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_norm_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, f32, one element; must not overlap x */
} ssq_norm_args;
#define SSQ_NORM_DEFAULTS sizeof(ssq_norm_args), NULL, NULL
#define SSQ_NORM_INIT                                                          \
    {                                                                          \
        SSQ_NORM_DEFAULTS                                                      \
    }
#define SSQ_NORM(...) SSQ_ARGS(ssq_norm_args, SSQ_NORM_DEFAULTS, __VA_ARGS__)

/** Compute the L2 norm of all elements: y = sqrt(sum of squares). It overflows
 *  or underflows only if the result itself does. Large, medium and small
 *  magnitudes are summed separately, scaled by powers of two (Blue, ACM TOMS
 *  4(1), 1978).
 *
 *  The order of the sums is fixed (kernels/reduce/norm.h). A NaN in x gives the
 *  quiet NaN without sign. An infinity without a NaN gives infinity. The norm
 *  of nothing is 0. The relative error is at most (chain + 2 + 8) / 2 + 1 times
 *  2^-24, with the chain of a sum.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_norm(ssq_queue *queue,
                                           const ssq_norm_args *args);

typedef struct ssq_reduce_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_reduce_backward_args));
    const ssq_tensor *dy; /**< in, float: y's shape, in either form */
    const ssq_tensor *dx; /**< out, float: x's shape; must not overlap dy */
    int axes[SSQ_MAX_RANK]; /**< axes and n_axes: as in the forward call */
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

/** Compute the gradient of ssq_sum: dx = dy, repeated.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_sum_backward(ssq_queue *queue, const ssq_sum_backward_args *args);

typedef ssq_reduce_backward_args ssq_mean_backward_args;
#define SSQ_MEAN_BACKWARD_INIT SSQ_REDUCE_BACKWARD_INIT
#define SSQ_MEAN_BACKWARD      SSQ_REDUCE_BACKWARD

/** Compute the gradient of ssq_mean: dx = dy / n, repeated. n is rounded to
 *  float32, and the quotient is correctly rounded in float32.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_mean_backward(ssq_queue *queue, const ssq_mean_backward_args *args);

typedef struct ssq_max_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_max_backward_args));
    const ssq_tensor *dy;   /**< in, float: y's shape */
    const ssq_tensor *x;    /**< in, float: as in the forward call */
    const ssq_tensor *y;    /**< in: the forward result, the dtype of x */
    const ssq_tensor *dx;   /**< out, float: x's shape; may be x; must not
                                 overlap dy or y */
    int axes[SSQ_MAX_RANK]; /**< axes and n_axes: as in the forward call */
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

/** Compute the gradient of ssq_max and ssq_min: dx = dy / ties if x equals y,
 *  otherwise 0; -0 equals +0. The gradient is split evenly between ties, as in
 *  PyTorch's amax. If no x equals y, because y is NaN or is not the result of
 *  the forward call, the gradient of all elements of that y is NaN. An empty dx
 *  is legal, also where ssq_max refuses x.
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_max_backward(ssq_queue *queue, const ssq_max_backward_args *args);

typedef struct ssq_sum_to_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_sum_to_args));
    const ssq_tensor *x; /**< in, float */
    const ssq_tensor *y; /**< out, float: a shape that broadcasts to the shape
                              of x; must not overlap x */
} ssq_sum_to_args;
#define SSQ_SUM_TO_DEFAULTS sizeof(ssq_sum_to_args), NULL, NULL
#define SSQ_SUM_TO_INIT                                                        \
    {                                                                          \
        SSQ_SUM_TO_DEFAULTS                                                    \
    }
#define SSQ_SUM_TO(...)                                                        \
    SSQ_ARGS(ssq_sum_to_args, SSQ_SUM_TO_DEFAULTS, __VA_ARGS__)

/** Sum to a shape: the sum over all dimensions that repeat when y is broadcast
 *  to x's shape. This is the gradient of broadcasting. If no dimension repeats,
 *  it is a copy, or a cast.
 *  @note Class R, as ssq_sum. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_sum_to(ssq_queue *queue,
                                             const ssq_sum_to_args *args);

#ifdef __cplusplus
}
#endif

#endif
