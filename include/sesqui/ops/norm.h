/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - layer norm and RMS norm, and their backward.
 *
 * The last ndim dimensions of x make up a row of n elements; the leading ones
 * count rows. Statistics are float32 whatever the dtype of x: the mean first,
 * then the sum of the centred squares (two passes, no cancellation). The second
 * pass corrects the mean: if a row is one number repeated, the mean is that
 * number. A NaN in
 * a row makes the whole row NaN; a layer norm's Inf does too; an RMS norm's
 * Inf gives NaN there and 0 elsewhere, as in torch. Squares are formed in
 * float32: deviations above 1.8e19 overflow, and the row is then 0 or NaN. */
#ifndef SESQUI_OPS_NORM_H
#define SESQUI_OPS_NORM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_layer_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_layer_norm_args));
    const ssq_tensor *x;     /**< in, float */
    const ssq_tensor *gamma; /**< in, optional, float: x's last ndim sizes */
    const ssq_tensor *beta;  /**< in, optional, float: x's last ndim sizes */
    const ssq_tensor *y;     /**< out, float, x's shape; may be x */
    const ssq_tensor *mean;  /**< out, optional, f32: x's leading sizes, or
                                  those and ndim times 1 */
    const ssq_tensor *rstd;  /**< out, optional, f32, likewise */
    int ndim SSQ_DEFAULT(1); /**< 1..rank of x */
    double eps SSQ_DEFAULT(1e-5); /**< >= 0, finite; used as float32 */
} ssq_layer_norm_args;
#define SSQ_LAYER_NORM_DEFAULTS                                                \
    sizeof(ssq_layer_norm_args), NULL, NULL, NULL, NULL, NULL, NULL, 1, 1e-5
#define SSQ_LAYER_NORM_INIT                                                    \
    {                                                                          \
        SSQ_LAYER_NORM_DEFAULTS                                                \
    }
#define SSQ_LAYER_NORM(...)                                                    \
    SSQ_ARGS(ssq_layer_norm_args, SSQ_LAYER_NORM_DEFAULTS, __VA_ARGS__)

/** Layer norm: y = (x - mean) rstd gamma + beta, rstd = 1 / sqrt(var + eps),
 *  var the biased variance of the row (torch's and ONNX's). mean and rstd,
 *  when given, receive what the backward op wants. Rows without elements have
 *  NaN statistics.
 *  @return SSQ_ERR_INVALID ndim, eps or a shape is wrong
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_layer_norm(ssq_queue *queue, const ssq_layer_norm_args *args);

typedef struct ssq_layer_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_layer_norm_backward_args));
    const ssq_tensor *x;      /**< in, float: the forward op's */
    const ssq_tensor *gamma;  /**< in, optional, as forward */
    const ssq_tensor *mean;   /**< in, optional, f32: saved by the forward op;
                                   NULL with rstd: computed again */
    const ssq_tensor *rstd;   /**< in, optional, f32, likewise */
    const ssq_tensor *dy;     /**< in, float, x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be dy
                                   or x */
    const ssq_tensor *dgamma; /**< out, optional, float: the last ndim sizes */
    const ssq_tensor *dbeta;  /**< out, optional, float: the last ndim sizes */
    int ndim SSQ_DEFAULT(1);  /**< the forward op's */
    double
        eps SSQ_DEFAULT(1e-5); /**< the forward op's; unused with mean, rstd */
} ssq_layer_norm_backward_args;
#define SSQ_LAYER_NORM_BACKWARD_DEFAULTS                                       \
    sizeof(ssq_layer_norm_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,  \
        NULL, NULL, 1, 1e-5
#define SSQ_LAYER_NORM_BACKWARD_INIT                                           \
    {                                                                          \
        SSQ_LAYER_NORM_BACKWARD_DEFAULTS                                       \
    }
#define SSQ_LAYER_NORM_BACKWARD(...)                                           \
    SSQ_ARGS(ssq_layer_norm_backward_args, SSQ_LAYER_NORM_BACKWARD_DEFAULTS,   \
             __VA_ARGS__)

/** Gradient of layer norm. With z = (x - mean) rstd and g = dy gamma:
 *      dx = rstd (g - avg(g) - z avg(g z)), averages over the row
 *      dgamma = sum of dy z, dbeta = sum of dy, over all rows
 *  written, not accumulated; without rows dgamma and dbeta are 0. Statistics
 *  computed again are the bits that the forward op would have saved.
 *  @return SSQ_ERR_INVALID only one of mean and rstd, nothing to write, and as
 *          ssq_layer_norm; SSQ_ERR_NOMEM no scratch for the statistics
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_layer_norm_backward(
    ssq_queue *queue, const ssq_layer_norm_backward_args *args);

typedef struct ssq_rms_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rms_norm_args));
    const ssq_tensor *x;     /**< in, float */
    const ssq_tensor *gamma; /**< in, optional, float: x's last ndim sizes */
    const ssq_tensor *y;     /**< out, float, x's shape; may be x */
    const ssq_tensor *rstd;  /**< out, optional, f32, as ssq_layer_norm */
    int ndim SSQ_DEFAULT(1); /**< 1..rank of x */
    double eps SSQ_DEFAULT(1e-5); /**< >= 0, finite; used as float32 */
} ssq_rms_norm_args;
#define SSQ_RMS_NORM_DEFAULTS                                                  \
    sizeof(ssq_rms_norm_args), NULL, NULL, NULL, NULL, 1, 1e-5
#define SSQ_RMS_NORM_INIT                                                      \
    {                                                                          \
        SSQ_RMS_NORM_DEFAULTS                                                  \
    }
#define SSQ_RMS_NORM(...)                                                      \
    SSQ_ARGS(ssq_rms_norm_args, SSQ_RMS_NORM_DEFAULTS, __VA_ARGS__)

/** RMS norm: y = x rstd gamma, rstd = 1 / sqrt(avg(x^2) + eps) over the row
 *  (Zhang and Sennrich, 2019; torch and ONNX RMSNormalization; torch's
 *  default eps is the epsilon of x's dtype). Errors as ssq_layer_norm.
 *  Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_rms_norm(ssq_queue *queue,
                                               const ssq_rms_norm_args *args);

typedef struct ssq_rms_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rms_norm_backward_args));
    const ssq_tensor *x;      /**< in, float: the forward op's */
    const ssq_tensor *gamma;  /**< in, optional, as forward */
    const ssq_tensor *rstd;   /**< in, optional, f32: saved by the forward op;
                                   NULL: computed again */
    const ssq_tensor *dy;     /**< in, float, x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be dy
                                   or x */
    const ssq_tensor *dgamma; /**< out, optional, float: the last ndim sizes */
    int ndim SSQ_DEFAULT(1);  /**< the forward op's */
    double eps SSQ_DEFAULT(1e-5); /**< the forward op's; unused with rstd */
} ssq_rms_norm_backward_args;
#define SSQ_RMS_NORM_BACKWARD_DEFAULTS                                         \
    sizeof(ssq_rms_norm_backward_args), NULL, NULL, NULL, NULL, NULL, NULL, 1, \
        1e-5
#define SSQ_RMS_NORM_BACKWARD_INIT                                             \
    {                                                                          \
        SSQ_RMS_NORM_BACKWARD_DEFAULTS                                         \
    }
#define SSQ_RMS_NORM_BACKWARD(...)                                             \
    SSQ_ARGS(ssq_rms_norm_backward_args, SSQ_RMS_NORM_BACKWARD_DEFAULTS,       \
             __VA_ARGS__)

/** Gradient of RMS norm. With z = x rstd and g = dy gamma:
 *  dx = rstd (g - z avg(g z)), dgamma = sum of dy z over all rows. Errors as
 *  ssq_layer_norm_backward. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rms_norm_backward(ssq_queue *queue, const ssq_rms_norm_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
