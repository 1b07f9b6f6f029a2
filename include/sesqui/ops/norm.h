/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - layer norm and RMS norm, and their backward.
 *
 *     ssq_layer_norm(queue, SSQ_LAYER_NORM(.x = x, .gamma = g, .beta = b,
 *                        .y = y, .mean = mean, .rstd = rstd));
 *     ...                                       // loss, gradient dy of y
 *     ssq_layer_norm_backward(queue, SSQ_LAYER_NORM_BACKWARD(.x = x,
 *                        .gamma = g, .mean = mean, .rstd = rstd, .dy = dy,
 *                        .dx = dx, .dgamma = dg, .dbeta = db));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * The last ndim dimensions of x are a row of n elements. The leading dimensions
 * count rows. For example, x [8,16,64] with ndim = 1 has 128 rows of 64.
 *
 * Statistics are float32 for any dtype of x. The mean is computed first, then
 * the sum of the centred squares, so nothing cancels. The second pass corrects
 * the mean: if a row is one number repeated, the mean is that number.
 *
 * A NaN in a row makes the whole row NaN. So does an Inf in a layer norm. An
 * Inf in an RMS norm gives NaN there and 0 elsewhere, as in torch.
 *
 * Sums are float32 or better. If a float32 sum of the squares overflows
 * (deviations above 1.8e19 / sqrt(n)), rstd can be 0: y is then beta, or 0
 * without beta. If the sum of |x| or a deviation overflows, elements of the row
 * can be NaN. If var + eps is 0, rstd is infinite: a row of equal numbers (of
 * an RMS norm: of zeros) is then NaN.
 *
 * A call returns SSQ_ERR_INVALID if ndim, eps or a shape is not valid, or if an
 * output overlaps another operand and "may be" does not allow it.
 *
 * @sync async
 * @threads object */
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
    const ssq_tensor *mean;  /**< out, optional, f32: x's leading sizes; or the
                                  same followed by ndim times 1 */
    const ssq_tensor *rstd;  /**< out, optional, f32, as mean */
    int ndim SSQ_DEFAULT(1); /**< 1..rank of x */
    double eps SSQ_DEFAULT(1e-5); /**< 0 to the largest float32; used as
                                       float32 */
} ssq_layer_norm_args;
#define SSQ_LAYER_NORM_DEFAULTS                                                \
    sizeof(ssq_layer_norm_args), NULL, NULL, NULL, NULL, NULL, NULL, 1, 1e-5
#define SSQ_LAYER_NORM_INIT                                                    \
    {                                                                          \
        SSQ_LAYER_NORM_DEFAULTS                                                \
    }
#define SSQ_LAYER_NORM(...)                                                    \
    SSQ_ARGS(ssq_layer_norm_args, SSQ_LAYER_NORM_DEFAULTS, __VA_ARGS__)

/** Compute layer norm, with the biased variance var of the row, as in torch and
 *  ONNX:
 *
 *      y = (x - mean) rstd gamma + beta, rstd = 1 / sqrt(var + eps)
 *
 *  mean and rstd, if set, receive the statistics for the backward op.
 *  Rows without elements have NaN statistics.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_layer_norm(ssq_queue *queue, const ssq_layer_norm_args *args);

typedef struct ssq_layer_norm_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_layer_norm_backward_args));
    const ssq_tensor *x;      /**< in, float: the forward op's */
    const ssq_tensor *gamma;  /**< in, optional, as forward */
    const ssq_tensor *mean;   /**< in, optional, f32: saved by the forward op;
                                   if NULL, rstd must be NULL too, and both are
                                   computed again */
    const ssq_tensor *rstd;   /**< in, optional, f32, as mean */
    const ssq_tensor *dy;     /**< in, float, x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be dy
                                   or x */
    const ssq_tensor *dgamma; /**< out, optional, float: the last ndim sizes */
    const ssq_tensor *dbeta;  /**< out, optional, float: the last ndim sizes */
    int ndim SSQ_DEFAULT(1);  /**< the forward op's */
    double eps SSQ_DEFAULT(1e-5); /**< the forward op's; must be valid, but is
                                       not used if rstd is set */
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

/** Compute the gradient of layer norm. With z = (x - mean) rstd and
 *  g = dy gamma:
 *
 *       dx = rstd (g - avg(g) - z avg(g z)), averages over the row
 *       dgamma = sum of dy z, dbeta = sum of dy, over all rows
 *
 *  Outputs are written, not accumulated. Without rows dgamma and dbeta are 0.
 *  Statistics that are computed again have the bits that the forward op would
 *  have saved. They need 8 bytes of scratch for each row.
 *  @return SSQ_ERR_INVALID  also if only one of mean and rstd is set; or if dx,
 *                           dgamma and dbeta are all NULL
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_layer_norm_backward(
    ssq_queue *queue, const ssq_layer_norm_backward_args *args);

typedef struct ssq_rms_norm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rms_norm_args));
    const ssq_tensor *x;     /**< in, float */
    const ssq_tensor *gamma; /**< in, optional, float: x's last ndim sizes */
    const ssq_tensor *y;     /**< out, float, x's shape; may be x */
    const ssq_tensor *rstd;  /**< out, optional, f32, as ssq_layer_norm */
    int ndim SSQ_DEFAULT(1); /**< 1..rank of x */
    double eps SSQ_DEFAULT(1e-5); /**< 0 to the largest float32; used as
                                       float32 */
} ssq_rms_norm_args;
#define SSQ_RMS_NORM_DEFAULTS                                                  \
    sizeof(ssq_rms_norm_args), NULL, NULL, NULL, NULL, 1, 1e-5
#define SSQ_RMS_NORM_INIT                                                      \
    {                                                                          \
        SSQ_RMS_NORM_DEFAULTS                                                  \
    }
#define SSQ_RMS_NORM(...)                                                      \
    SSQ_ARGS(ssq_rms_norm_args, SSQ_RMS_NORM_DEFAULTS, __VA_ARGS__)

/** Compute RMS norm: y = x rstd gamma, with rstd = 1 / sqrt(avg(x^2) + eps)
 *  over the row (Zhang and Sennrich, 2019; torch and ONNX RMSNormalization).
 *  The default of eps differs from torch, which uses the epsilon of x's dtype.
 *  @note Class R. Since 0.1. */
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
    double eps SSQ_DEFAULT(1e-5); /**< the forward op's; must be valid, but is
                                       not used if rstd is set */
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

/** Compute the gradient of RMS norm. With z = x rstd and g = dy gamma:
 *
 *       dx = rstd (g - z avg(g z)), averages over the row
 *       dgamma = sum of dy z, over all rows
 *
 *  Outputs are written, not accumulated. Without rows dgamma is 0. If rstd is
 *  NULL, it needs 4 bytes of scratch for each row.
 *  @return SSQ_ERR_INVALID  also if dx and dgamma are both NULL
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rms_norm_backward(ssq_queue *queue, const ssq_rms_norm_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
