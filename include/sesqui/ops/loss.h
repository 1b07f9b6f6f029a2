/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - losses, forward and backward fused in one call.
 *
 *     ssq_cross_entropy(queue, SSQ_CROSS_ENTROPY(.logits = y,
 *                           .target = labels, .loss = loss, .dlogits = dy,
 *                           .dloss = ssq_scaler_scale_tensor(scaler)));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Each call writes the loss, the gradient, or both; at least one must be set.
 * The gradient is the gradient of sum(dloss * loss). dloss is the upstream
 * gradient: one element, or with SSQ_REDUCTION_NONE the loss's shape. NULL is
 * 1. The scale of a loss scaler on the device may be dloss, as above. If the
 * call then writes a gradient, the scaler records that its scale was used. Only
 * one thread may use the scaler at that time.
 *
 * Losses are f32, and computed in float32 from any float dtype. Sums are
 * float32 or better. Definitions are as in torch.nn.functional.
 *
 * A call returns SSQ_ERR_INVALID if loss and the gradient are both NULL, if a
 * shape, dtype, reduction or number is not valid, or if an output overlaps
 * another operand and "may be" does not allow it. For example, ssq_huber
 * refuses .delta = 0. All calls are of class R (ops.h).
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_LOSS_H
#define SESQUI_OPS_LOSS_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the losses of elements or rows are combined. */
typedef enum ssq_reduction {
    SSQ_REDUCTION_MEAN = 0, /**< one element: their mean (each op says which) */
    SSQ_REDUCTION_SUM = 1,  /**< one element: their sum */
    SSQ_REDUCTION_NONE = 2  /**< all of them */
} ssq_reduction;

typedef struct ssq_cross_entropy_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_cross_entropy_args));
    const ssq_tensor *logits; /**< in, float [n, c], [n, c, d1, ...] or [c] */
    const ssq_tensor *target; /**< in, i32 [n], [n, d1, ...] or []: classes */
    const ssq_tensor *target_prob; /**< in, float, logits' shape: probabilities,
                                        instead of target */
    const ssq_tensor *weight;  /**< in, optional, float [c]: of the classes */
    const ssq_tensor *loss;    /**< out, optional, f32: one element; with
                                    SSQ_REDUCTION_NONE target's shape (logits'
                                    shape without the classes) */
    const ssq_tensor *dlogits; /**< out, optional, float, logits' shape; may be
                                    logits */
    const ssq_tensor *dloss;   /**< in, optional, f32: one element; with
                                    SSQ_REDUCTION_NONE also the loss's shape */
    int64_t
        ignore_index SSQ_DEFAULT(-100); /**< rows with this target do not count;
                                             not used with target_prob, but must
                                             then be negative */
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

/** Compute cross-entropy from logits, and its gradient. With p =
 *  softmax(logits) over dimension 1 (0 for rank 1), e the label smoothing, w
 *  the weights (1 if NULL), t the target:
 *
 *       q[k] = w[k] ((1 - e) [k == t] + e / c)        with target
 *       q[k] = w[k] ((1 - e) target_prob[k] + e / c)  with target_prob
 *       loss of a row = -sum(q log p); its gradient = p sum(q) - q
 *
 *  The mean divides by the sum of w[t] over the rows that are not ignored. With
 *  target_prob it divides by the number of rows, or by 0 if there are no
 *  classes.
 *
 *   - An ignored row has loss 0 and gradient 0, even if its logits are not
 *     finite. (In torch their NaN spreads into the gradient.)
 *   - Without rows, or with ignored ones only, the mean is NaN with gradient
 *     0, and the sum is 0.
 *   - If rows count but all their w[t] are 0, the mean and the gradient of
 *     these rows are divided by 0. They are NaN (of ssq_nll_loss only at t).
 *     With label smoothing they are infinite if another weight is not 0.
 *   - A target outside 0..c-1 that is not ignored makes the loss and the
 *     gradient of its row NaN. It adds nothing to the divisor of the mean. A
 *     call cannot check targets, because they are on the device.
 *     ssq_index_check (data.h) counts such targets and reports the first. A
 *     trainer does this for each loss of its passes, skips the step and returns
 *     an error (trainer.h).
 *   - Terms with q[k] = 0 by construction (no smoothing, k != t) are skipped. A
 *     target_prob or weight of 0 times log p = -Inf is NaN, as in torch.
 *   - A NaN, a +Inf, or only -Inf in a row makes the row NaN, as in
 *     ssq_softmax.
 *  @return SSQ_ERR_INVALID  also if not exactly one of target and target_prob
 *                           is set; if label_smoothing is outside 0..1; or if
 *                           ignore_index >= 0 with target_prob
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cross_entropy(ssq_queue *queue, const ssq_cross_entropy_args *args);

typedef struct ssq_nll_loss_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_nll_loss_args));
    const ssq_tensor *x; /**< in, float [n, c], [n, c, d1, ...] or [c]:
                              logarithms of probabilities */
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

/** Compute the negative log-likelihood and its gradient. The loss of a row is
 *  -w[t] x[t]. Its gradient is -w[t] at t and 0 elsewhere. Only x[t] is read.
 *  The mean, ignored rows and targets out of range are as in ssq_cross_entropy.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_nll_loss(ssq_queue *queue,
                                               const ssq_nll_loss_args *args);

typedef struct ssq_mse_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_mse_args));
    const ssq_tensor *x;      /**< in, float */
    const ssq_tensor *target; /**< in, float, x's shape */
    const ssq_tensor *loss;   /**< out, optional, f32: one element; with
                                   SSQ_REDUCTION_NONE x's shape */
    const ssq_tensor *dx;     /**< out, optional, float, x's shape; may be x or
                                   target */
    const ssq_tensor *dloss;  /**< in, optional, f32: one element; with
                                   SSQ_REDUCTION_NONE also x's shape */
    ssq_reduction reduction;
} ssq_mse_args;
#define SSQ_MSE_DEFAULTS                                                       \
    sizeof(ssq_mse_args), NULL, NULL, NULL, NULL, NULL, SSQ_REDUCTION_MEAN
#define SSQ_MSE_INIT                                                           \
    {                                                                          \
        SSQ_MSE_DEFAULTS                                                       \
    }
#define SSQ_MSE(...) SSQ_ARGS(ssq_mse_args, SSQ_MSE_DEFAULTS, __VA_ARGS__)

/** Compute the squared error (x - target)^2 and its gradient 2 (x - target).
 *  The mean is over all elements. Without elements it is NaN, and the sum is 0.
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_mse(ssq_queue *queue,
                                          const ssq_mse_args *args);

typedef ssq_mse_args ssq_l1_args;
#define SSQ_L1_INIT SSQ_MSE_INIT
#define SSQ_L1      SSQ_MSE

/** Compute the absolute error |x - target| and its gradient. The gradient at 0
 *  is 0, and at a NaN it is NaN (torch: 0). Everything else is as in ssq_mse.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_l1(ssq_queue *queue,
                                         const ssq_l1_args *args);

typedef struct ssq_smooth_l1_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_smooth_l1_args));
    const ssq_tensor *x;      /**< in, float; x to reduction: as in ssq_mse */
    const ssq_tensor *target; /**< in, float */
    const ssq_tensor *loss;   /**< out, optional, f32 */
    const ssq_tensor *dx;     /**< out, optional, float */
    const ssq_tensor *dloss;  /**< in, optional, f32 */
    ssq_reduction reduction;
    double beta SSQ_DEFAULT(1.0); /**< 0 to the largest float32; used as
                                       float32; if it is below 2^-126, the op
                                       is ssq_l1 */
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

/** Compute the smooth absolute error and its gradient. With d = x - target it
 *  is d^2 / (2 beta) if |d| < beta, otherwise |d| - beta / 2. Its gradient is
 *  d / beta if |d| < beta, otherwise 1 with the sign of d. Everything else is
 *  as in ssq_mse.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_smooth_l1(ssq_queue *queue,
                                                const ssq_smooth_l1_args *args);

typedef struct ssq_huber_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_huber_args));
    const ssq_tensor *x;      /**< in, float; x to reduction: as in ssq_mse */
    const ssq_tensor *target; /**< in, float */
    const ssq_tensor *loss;   /**< out, optional, f32 */
    const ssq_tensor *dx;     /**< out, optional, float */
    const ssq_tensor *dloss;  /**< in, optional, f32 */
    ssq_reduction reduction;
    double delta SSQ_DEFAULT(1.0); /**< 2^-126 to the largest float32; used as
                                        float32 */
} ssq_huber_args;
#define SSQ_HUBER_DEFAULTS                                                     \
    sizeof(ssq_huber_args), NULL, NULL, NULL, NULL, NULL, SSQ_REDUCTION_MEAN,  \
        1.0
#define SSQ_HUBER_INIT                                                         \
    {                                                                          \
        SSQ_HUBER_DEFAULTS                                                     \
    }
#define SSQ_HUBER(...) SSQ_ARGS(ssq_huber_args, SSQ_HUBER_DEFAULTS, __VA_ARGS__)

/** Compute Huber's loss and its gradient. With d = x - target it is d^2 / 2 if
 *  |d| <= delta, otherwise delta (|d| - delta / 2). Its gradient is d if
 *  |d| <= delta, otherwise delta with the sign of d. Everything else is as in
 *  ssq_mse.
 *  @note Since 0.1. */
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

/** Compute binary cross-entropy from logits, and its gradient. With w = weight
 *  and p = pos_weight (1 if NULL):
 *
 *       w (p target softplus(-x) + (1 - target) softplus(x))
 *
 *  This is torch's formula without its cancellation: for targets in 0..1 no
 *  term is negative, and no finite x overflows. The mean divides by the number
 *  of elements. If an infinite softplus is multiplied by 0, the loss is NaN, as
 *  in torch; the gradient is not. With the sigmoid s the gradient is
 *
 *       w ((1 - target) s(x) - p target s(-x))
 *
 *  @note Class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_bce_with_logits(ssq_queue *queue, const ssq_bce_with_logits_args *args);

#ifdef __cplusplus
}
#endif

#endif
