/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - softmax and log-softmax over any axis, and their backward. */
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
    int axis SSQ_DEFAULT(-1); /**< a negative one counts from the end */
} ssq_softmax_args;
#define SSQ_SOFTMAX_DEFAULTS sizeof(ssq_softmax_args), NULL, NULL, -1
#define SSQ_SOFTMAX_INIT                                                       \
    {                                                                          \
        SSQ_SOFTMAX_DEFAULTS                                                   \
    }
#define SSQ_SOFTMAX(...)                                                       \
    SSQ_ARGS(ssq_softmax_args, SSQ_SOFTMAX_DEFAULTS, __VA_ARGS__)

/** Softmax: y = exp(x - m) / sum(exp(x - m)), m the maximum along axis, so
 *  that no finite x overflows. float32 inside; inputs and outputs may be any
 *  two float dtypes. As in torch a NaN, a +Inf, or nothing but -Inf along the
 *  axis makes all its results NaN; a -Inf among others gives 0.
 *  @return SSQ_ERR_INVALID axis out of range, shapes differ
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_softmax(ssq_queue *queue,
                                              const ssq_softmax_args *args);

typedef ssq_softmax_args ssq_log_softmax_args;
#define SSQ_LOG_SOFTMAX_INIT SSQ_SOFTMAX_INIT
#define SSQ_LOG_SOFTMAX      SSQ_SOFTMAX

/** Log-softmax: y = (x - m) - log(sum(exp(x - m))), m the maximum along axis.
 *  Operands, errors and non-finite values as ssq_softmax, but a -Inf among
 *  others gives -Inf, as does what lies 2^128 or more below m. Class R.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_log_softmax(ssq_queue *queue, const ssq_log_softmax_args *args);

typedef struct ssq_softmax_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_softmax_backward_args));
    const ssq_tensor *y;      /**< in, float: what the forward op returned */
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

/** Gradient of softmax: dx = y (dy - sum(y dy)), the sum along axis.
 *  @return SSQ_ERR_INVALID axis out of range, shapes differ
 *  @note NaN and Inf spread as the formula says. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_softmax_backward(ssq_queue *queue, const ssq_softmax_backward_args *args);

typedef ssq_softmax_backward_args ssq_log_softmax_backward_args;
#define SSQ_LOG_SOFTMAX_BACKWARD_INIT SSQ_SOFTMAX_BACKWARD_INIT
#define SSQ_LOG_SOFTMAX_BACKWARD      SSQ_SOFTMAX_BACKWARD

/** Gradient of log-softmax: dx = dy - exp(y) sum(dy), the sum along axis.
 *  Operands and errors as ssq_softmax_backward. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_log_softmax_backward(
    ssq_queue *queue, const ssq_log_softmax_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
