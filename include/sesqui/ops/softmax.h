/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - softmax and log-softmax over any axis, and their backward.
 *
 *     ssq_softmax(queue, SSQ_SOFTMAX(.x = x, .y = y, .axis = 1));
 *     ...                                     // loss, gradient dy of y
 *     ssq_softmax_backward(queue, SSQ_SOFTMAX_BACKWARD(.y = y, .dy = dy,
 *                                                      .dx = dx, .axis = 1));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * The backward ops use the result y of the forward op, not x. Inputs and
 * outputs may have different float dtypes; sums are float32 or better.
 *
 * A call returns SSQ_ERR_INVALID if axis is out of range, for example 2 of rank
 * 2, if shapes differ, or if an output overlaps an input without being exactly
 * it. All ops are of class R (ops.h).
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_SOFTMAX_H
#define SESQUI_OPS_SOFTMAX_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_softmax_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_softmax_args));
    const ssq_tensor *x;      /**< in, float, rank >= 1 */
    const ssq_tensor *y;      /**< out, float, x's shape; may be x */
    int axis SSQ_DEFAULT(-1); /**< negative: from the end */
} ssq_softmax_args;
#define SSQ_SOFTMAX_DEFAULTS sizeof(ssq_softmax_args), NULL, NULL, -1
#define SSQ_SOFTMAX_INIT                                                       \
    {                                                                          \
        SSQ_SOFTMAX_DEFAULTS                                                   \
    }
#define SSQ_SOFTMAX(...)                                                       \
    SSQ_ARGS(ssq_softmax_args, SSQ_SOFTMAX_DEFAULTS, __VA_ARGS__)

/** Compute softmax: y = exp(x - m) / sum(exp(x - m)). m is the maximum along
 *  axis, so no finite x overflows.
 *
 *  As in torch, all results along the axis are NaN if one x is NaN or +Inf, or
 *  if all are -Inf. A -Inf among other numbers gives 0.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_softmax(ssq_queue *queue,
                                              const ssq_softmax_args *args);

typedef ssq_softmax_args ssq_log_softmax_args;
#define SSQ_LOG_SOFTMAX_INIT SSQ_SOFTMAX_INIT
#define SSQ_LOG_SOFTMAX      SSQ_SOFTMAX

/** Compute log-softmax: y = (x - m) - log(sum(exp(x - m))). m is the maximum
 *  along axis. NaN, +Inf and a row of -Inf alone act as in ssq_softmax. A -Inf
 *  among other numbers gives -Inf, and so does an x that is about 2^128 or more
 *  below m.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log_softmax(ssq_queue *queue, const ssq_log_softmax_args *args);

typedef struct ssq_softmax_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_softmax_backward_args));
    const ssq_tensor *y;      /**< in, float: result of the forward op */
    const ssq_tensor *dy;     /**< in, float, y's shape */
    const ssq_tensor *dx;     /**< out, float, y's shape; may be dy or y */
    int axis SSQ_DEFAULT(-1); /**< the forward op's */
} ssq_softmax_backward_args;
#define SSQ_SOFTMAX_BACKWARD_DEFAULTS                                          \
    sizeof(ssq_softmax_backward_args), NULL, NULL, NULL, -1
#define SSQ_SOFTMAX_BACKWARD_INIT                                              \
    {                                                                          \
        SSQ_SOFTMAX_BACKWARD_DEFAULTS                                          \
    }
#define SSQ_SOFTMAX_BACKWARD(...)                                              \
    SSQ_ARGS(ssq_softmax_backward_args, SSQ_SOFTMAX_BACKWARD_DEFAULTS,         \
             __VA_ARGS__)

/** Compute the gradient of softmax: dx = y (dy - sum(y dy)), with the sum along
 *  axis. NaN and Inf propagate as in the formula.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softmax_backward(ssq_queue *queue, const ssq_softmax_backward_args *args);

typedef ssq_softmax_backward_args ssq_log_softmax_backward_args;
#define SSQ_LOG_SOFTMAX_BACKWARD_INIT SSQ_SOFTMAX_BACKWARD_INIT
#define SSQ_LOG_SOFTMAX_BACKWARD      SSQ_SOFTMAX_BACKWARD

/** Compute the gradient of log-softmax: dx = dy - exp(y) sum(dy), with the sum
 *  along axis. NaN and Inf propagate as in the formula.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_log_softmax_backward(
    ssq_queue *queue, const ssq_log_softmax_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
