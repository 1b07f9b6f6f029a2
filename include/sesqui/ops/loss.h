/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - losses, forward and backward fused in one call.
 *
 * Each call writes the loss, the gradient, or both; at least one. The
 * gradient is that of sum(dloss * loss): dloss is the upstream gradient, one
 * element or the loss's shape; a loss scaler's device-side scale fits, and a
 * loss that writes its gradient with it has used that scale; NULL is 1. Losses
 * are f32, computed in float32 from any float dtype. Definitions are
 * torch.nn.functional's. */
#ifndef SESQUI_OPS_LOSS_H
#define SESQUI_OPS_LOSS_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the losses of single elements or rows become the result. */
typedef enum ssq_reduction {
    SSQ_REDUCTION_MEAN = 0, /**< one element: their mean (each op says which) */
    SSQ_REDUCTION_SUM = 1,  /**< one element: their sum */
    SSQ_REDUCTION_NONE = 2  /**< all of them */
} ssq_reduction;

typedef struct ssq_cross_entropy_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_cross_entropy_args));
    const ssq_tensor *logits; /**< in, float [n, c], [n, c, d1, ...] or [c] */
    const ssq_tensor *target; /**< in, i32 [n], [n, d1, ...] or []: classes */
    const ssq_tensor *target_prob; /**< in, float, logits' shape: probabilities
                                        instead of target */
    const ssq_tensor *weight;  /**< in, optional, float [c]: of the classes */
    const ssq_tensor *loss;    /**< out, optional, f32: one element; target's
                                    shape for SSQ_REDUCTION_NONE */
    const ssq_tensor *dlogits; /**< out, optional, float, logits' shape; may be
                                    logits */
    const ssq_tensor *dloss;   /**< in, optional, f32: one element, or the
                                    loss's shape */
    int64_t
        ignore_index SSQ_DEFAULT(-100); /**< rows with this target do not count;
                           must be negative with target_prob (unused there) */
    double label_smoothing;             /**< 0..1 */
    ssq_reduction reduction;
} ssq_cross_entropy_args;
#define SSQ_CROSS_ENTROPY_DEFAULTS                                             \
    sizeof(ssq_cross_entropy_args), NULL, NULL, NULL, NULL, NULL, NULL, NULL,  \
        -100, 0.0, SSQ_REDUCTION_MEAN
#define SSQ_CROSS_ENTROPY_INIT                                                 \
    {                                                                          \
        SSQ_CROSS_ENTROPY_DEFAULTS                                             \
    }
#define SSQ_CROSS_ENTROPY(...)                                                 \
    SSQ_ARGS(ssq_cross_entropy_args, SSQ_CROSS_ENTROPY_DEFAULTS, __VA_ARGS__)

/** Loss and its gradient in one call: cross-entropy from logits. With
 *  p = softmax(logits) over dimension 1 (0 for rank 1), e the label smoothing,
 *  w the weights (1 when NULL), t the target:
 *      q[k] = w[k] ((1 - e) [k == t] + e / c)        with target
 *      q[k] = w[k] ((1 - e) target_prob[k] + e / c)  with target_prob
 *      loss of a row = -sum(q log p); its gradient = p sum(q) - q
 *  The mean divides by the sum of w[t] over the rows that are not ignored; with
 *  target_prob by the number of rows.
 *
 *  Edge cases. An ignored row has loss 0 and gradient 0 even when its logits
 *  are not finite (torch spreads their NaN into the gradient). The mean of no
 *  rows, or of ignored rows only, is NaN with gradient 0; their sum is 0. A
 *  target outside 0..c-1 that is not ignored makes the loss NaN and that row's
 *  gradient NaN, and adds nothing to the mean's divisor: targets are device
 *  data, which a call cannot check. ssq_index_check (data.h) counts such
 *  targets on the device and names the first; a trainer does this for each loss
 *  of its passes, skips the step and reports it (trainer.h). Terms with q[k] =
 *  0 by construction (no smoothing, k != t) are skipped; a target_prob or
 *  weight of 0 times log p = -Inf is NaN, as in torch. Logits as ssq_softmax: a
 *  NaN, a +Inf, or only -Inf in a row makes the row NaN.
 *
 *  @return SSQ_ERR_INVALID not exactly one of target and target_prob, loss and
 *          dlogits both NULL, label_smoothing outside 0..1, ignore_index >= 0
 *          with target_prob, a wrong shape
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cross_entropy(ssq_queue *queue, const ssq_cross_entropy_args *args);

typedef struct ssq_nll_loss_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nll_loss_args));
    const ssq_tensor *x; /**< in, float [n, c], [n, c, d1, ...] or [c]: log-
                              probabilities */
    const ssq_tensor *target; /**< in, i32, as ssq_cross_entropy */
    const ssq_tensor *weight; /**< in, optional, float [c] */
    const ssq_tensor *loss;   /**< out, optional, f32, as ssq_cross_entropy */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be x */
    const ssq_tensor *dloss;  /**< in, optional, f32, as ssq_cross_entropy */
    int64_t ignore_index SSQ_DEFAULT(-100); /**< as ssq_cross_entropy */
    ssq_reduction reduction;
} ssq_nll_loss_args;
#define SSQ_NLL_LOSS_DEFAULTS                                                  \
    sizeof(ssq_nll_loss_args), NULL, NULL, NULL, NULL, NULL, NULL, -100,       \
        SSQ_REDUCTION_MEAN
#define SSQ_NLL_LOSS_INIT                                                      \
    {                                                                          \
        SSQ_NLL_LOSS_DEFAULTS                                                  \
    }
#define SSQ_NLL_LOSS(...)                                                      \
    SSQ_ARGS(ssq_nll_loss_args, SSQ_NLL_LOSS_DEFAULTS, __VA_ARGS__)

/** Loss and its gradient in one call: negative log-likelihood. The
 *  loss of a row is -w[t] x[t]; its gradient is -w[t] at t and 0 elsewhere.
 *  Only x[t] is read. The mean, ignored rows and targets out of range as
 *  ssq_cross_entropy. Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_nll_loss(ssq_queue *queue,
                                               const ssq_nll_loss_args *args);

typedef struct ssq_mse_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_mse_args));
    const ssq_tensor *x;      /**< in, float */
    const ssq_tensor *target; /**< in, float, x's shape */
    const ssq_tensor *loss;   /**< out, optional, f32: one element; x's shape
                                   for SSQ_REDUCTION_NONE */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be x or
                                   target */
    const ssq_tensor *dloss;  /**< in, optional, f32: one element, or the
                                   loss's shape */
    ssq_reduction reduction;
} ssq_mse_args;
#define SSQ_MSE_DEFAULTS                                                       \
    sizeof(ssq_mse_args), NULL, NULL, NULL, NULL, NULL, SSQ_REDUCTION_MEAN
#define SSQ_MSE_INIT                                                           \
    {                                                                          \
        SSQ_MSE_DEFAULTS                                                       \
    }
#define SSQ_MSE(...) SSQ_ARGS(ssq_mse_args, SSQ_MSE_DEFAULTS, __VA_ARGS__)

/** Loss and its gradient in one call: squared error, (x - target)^2. The
 *  mean is over all elements; of none it is NaN and the sum 0.
 *  @return SSQ_ERR_INVALID shapes differ, loss and dx both NULL
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mse(ssq_queue *queue,
                                          const ssq_mse_args *args);

typedef ssq_mse_args ssq_l1_args;
#define SSQ_L1_INIT SSQ_MSE_INIT
#define SSQ_L1      SSQ_MSE

/** Loss and its gradient in one call: absolute error, |x - target|; the
 *  gradient at 0 is 0, at a NaN it is NaN (torch: 0). The rest as
 *  ssq_mse. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_l1(ssq_queue *queue,
                                         const ssq_l1_args *args);

typedef struct ssq_smooth_l1_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_smooth_l1_args));
    const ssq_tensor *x; /**< as ssq_mse, and so on */
    const ssq_tensor *target;
    const ssq_tensor *loss;
    const ssq_tensor *dx;
    const ssq_tensor *dloss;
    ssq_reduction reduction;
    double beta SSQ_DEFAULT(1.0); /**< >= 0, finite; used as float32; below
                      2^-126 the op is ssq_l1 */
} ssq_smooth_l1_args;
#define SSQ_SMOOTH_L1_DEFAULTS                                                 \
    sizeof(ssq_smooth_l1_args), NULL, NULL, NULL, NULL, NULL,                  \
        SSQ_REDUCTION_MEAN, 1.0
#define SSQ_SMOOTH_L1_INIT                                                     \
    {                                                                          \
        SSQ_SMOOTH_L1_DEFAULTS                                                 \
    }
#define SSQ_SMOOTH_L1(...)                                                     \
    SSQ_ARGS(ssq_smooth_l1_args, SSQ_SMOOTH_L1_DEFAULTS, __VA_ARGS__)

/** Loss and its gradient in one call: smooth absolute error. With
 *  d = x - target: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2.
 *  The rest as ssq_mse. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_smooth_l1(ssq_queue *queue,
                                                const ssq_smooth_l1_args *args);

typedef struct ssq_huber_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_huber_args));
    const ssq_tensor *x; /**< as ssq_mse, and so on */
    const ssq_tensor *target;
    const ssq_tensor *loss;
    const ssq_tensor *dx;
    const ssq_tensor *dloss;
    ssq_reduction reduction;
    double delta SSQ_DEFAULT(1.0); /**< > 0, finite; used as float32 */
} ssq_huber_args;
#define SSQ_HUBER_DEFAULTS                                                     \
    sizeof(ssq_huber_args), NULL, NULL, NULL, NULL, NULL, SSQ_REDUCTION_MEAN,  \
        1.0
#define SSQ_HUBER_INIT                                                         \
    {                                                                          \
        SSQ_HUBER_DEFAULTS                                                     \
    }
#define SSQ_HUBER(...) SSQ_ARGS(ssq_huber_args, SSQ_HUBER_DEFAULTS, __VA_ARGS__)

/** Loss and its gradient in one call: Huber's loss. With d = x - target:
 *  d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). The rest as
 *  ssq_mse. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_huber(ssq_queue *queue,
                                            const ssq_huber_args *args);

typedef struct ssq_bce_with_logits_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_bce_with_logits_args));
    const ssq_tensor *x;      /**< in, float: logits */
    const ssq_tensor *target; /**< in, float, x's shape: 0..1, not checked */
    const ssq_tensor *weight; /**< in, optional, float; broadcast to x */
    const ssq_tensor *pos_weight; /**< in, optional, float; broadcast to x */
    const ssq_tensor *loss;       /**< out, optional, f32, as ssq_mse */
    const ssq_tensor *dx;         /**< out, optional, float, x's shape; may be
                                       x or target */
    const ssq_tensor *dloss;      /**< in, optional, f32, as ssq_mse */
    ssq_reduction reduction;
} ssq_bce_with_logits_args;
#define SSQ_BCE_WITH_LOGITS_DEFAULTS                                           \
    sizeof(ssq_bce_with_logits_args), NULL, NULL, NULL, NULL, NULL, NULL,      \
        NULL, SSQ_REDUCTION_MEAN
#define SSQ_BCE_WITH_LOGITS_INIT                                               \
    {                                                                          \
        SSQ_BCE_WITH_LOGITS_DEFAULTS                                           \
    }
#define SSQ_BCE_WITH_LOGITS(...)                                               \
    SSQ_ARGS(ssq_bce_with_logits_args, SSQ_BCE_WITH_LOGITS_DEFAULTS,           \
             __VA_ARGS__)

/** Loss and its gradient in one call: binary cross-entropy from logits.
 *  With w = weight and p = pos_weight:
 *      w (p target softplus(-x) + (1 - target) softplus(x))
 *  which is torch's formula without its cancellation: for targets in 0..1 no
 *  term is negative, and no finite x overflows. The mean divides by the number
 *  of elements. An infinite x multiplied by a factor of 0 is NaN, as in torch.
 *  @return SSQ_ERR_INVALID shapes differ or do not broadcast, loss and dx both
 *          NULL
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_bce_with_logits(ssq_queue *queue, const ssq_bce_with_logits_args *args);

#ifdef __cplusplus
}
#endif

#endif
