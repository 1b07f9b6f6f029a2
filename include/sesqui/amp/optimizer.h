/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - optimizers with float32 masters, and the step as one call.
 *
 * All arithmetic is float32 whatever the parameters' dtype, eps included. What
 * may change between steps (t, lr, betas, eps, decay, clip, random counter,
 * verdict) lives in device words, so that a captured step can be replayed and
 * a skipped one needs no host: under a bad verdict parameters, masters,
 * moments, t and the random counter keep every bit. */
#ifndef SESQUI_AMP_OPTIMIZER_H
#define SESQUI_AMP_OPTIMIZER_H

#include <sesqui/amp/scaler.h>
#include <sesqui/amp/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_optimizer ssq_optimizer;
/** Parameters that share hyper-parameters; owned by its optimizer. */
typedef struct ssq_group ssq_group;

/** Where the float32 truth of a 16-bit parameter is. */
typedef enum ssq_master_kind {
    SSQ_MASTER_F32 = 0,   /**< a float32 copy; the model is rounded from it */
    SSQ_MASTER_SPLIT = 1, /**< bf16 model + 16-bit remainder, exact; the model
                               is the master rounded half away from zero */
    SSQ_MASTER_NONE = 2   /**< none: the update is rounded stochastically */
} ssq_master_kind;

/** Two forms that are equal in exact arithmetic and differ in rounding:
 *  SEMANTICS of torch and of apex (and llm.c). */
typedef enum ssq_adam_form {
    SSQ_ADAM_TORCH = 0, /**< p *= 1 - lr wd first;
                             p -= lr/bc1 * m / (sqrt(v)/sqrt(bc2) + eps) */
    SSQ_ADAM_APEX = 1   /**< p -= lr (mh / (sqrt(vh) + eps) + wd p) */
} ssq_adam_form;

/** Hyper-parameters, in double: they are rounded once, where said. Defaults
 *  are torch's. Which optimizer reads which:
 *
 *  sgd       lr, momentum, dampening, nesterov, weight_decay (L2)
 *  adam      lr, beta1, beta2, eps, weight_decay (L2: g += wd p), amsgrad
 *  adamw     lr, beta1, beta2, eps, weight_decay (decoupled), amsgrad, form
 *  rmsprop   lr, alpha, eps, momentum, centered, weight_decay (L2)
 *  adagrad   lr, lr_decay, eps, initial_accumulator, weight_decay (L2)
 *  lamb      lr, beta1, beta2, eps, weight_decay, max_grad_norm,
 *            use_nvlamb, bias_correction, grad_averaging (apex FusedLAMB)
 *
 *  eps 0 in SSQ_OPTIMIZER_INIT is not the default: the default is -1, which
 *  means the optimizer's own (1e-8; adagrad 1e-10; lamb 1e-6); likewise lr
 *  -1 (1e-3; sgd 1e-3; rmsprop and adagrad 1e-2) and weight_decay -1 (0;
 *  adamw 1e-2; lamb 1e-2). */
typedef struct ssq_optimizer_options {
    size_t struct_size;
    double lr, momentum, dampening, beta1, beta2, alpha, eps, weight_decay;
    double lr_decay, initial_accumulator;
    double max_grad_norm; /**< lamb: 1.0; 0 none */
    bool nesterov, amsgrad, centered, maximize;
    bool use_nvlamb, bias_correction, grad_averaging; /**< lamb */
    ssq_adam_form form;
    /* of the whole optimizer; ignored in groups */
    double clip_norm;  /**< scale true gradients so that their global L2 norm
                            is at most this: coef = clip / (norm + 1e-6),
                            applied if < 1 (torch, apex, Megatron); 0 none */
    ssq_master_kind master;
    bool flat_master;  /**< one contiguous master per group, in the order of
                            ssq_optimizer_add (fastai) */
    uint64_t seed;     /**< of stochastic rounding */
    bool statistics;   /**< count underflow and rounded-away updates */
} ssq_optimizer_options;
#define SSQ_OPTIMIZER_INIT                                                     \
    {                                                                          \
        sizeof(ssq_optimizer_options), -1.0, 0.0, 0.0, 0.9, 0.999, 0.99, -1.0, \
            -1.0, 0.0, 0.0, 1.0, false, false, false, false, false, true,      \
            true, SSQ_ADAM_TORCH, 0.0, SSQ_MASTER_F32, false, 0, false         \
    }

/** Make an optimizer: "sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb".
 *  @param options  of the default group; NULL all defaults
 *  @return SSQ_ERR_NOT_FOUND another kind, listing these; SSQ_ERR_INVALID a
 *          value out of range, named (lr < 0, beta not in [0, 1), nesterov
 *          without momentum or with dampening, eps < 0, split masters for
 *          f16 at ssq_optimizer_add ...); SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_create(ssq_device *device, const char *kind,
                     const ssq_optimizer_options *options,
                     ssq_optimizer **optimizer);

/** Drop an optimizer and its groups; enqueued work is not disturbed. */
SSQ_API void ssq_optimizer_destroy(ssq_optimizer **optimizer);

/** A group with other hyper-parameters. options as at create, whole; its
 *  whole-optimizer fields are ignored. Freed with the optimizer. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_group(ssq_optimizer *optimizer,
                    const ssq_optimizer_options *options, ssq_group **group);

/** Register a parameter and its gradient.
 *  @param name   unique in the optimizer; its hash is the random stream's
 *                tensor id
 *  @param param  float, contiguous; a 16-bit one gets a master made from its
 *                value at the first step (or ssq_optimizer_model_to_master)
 *  @param grad   float, contiguous, the shape of param; holds the (scaled)
 *                gradient at each step. Both are held.
 *  @param group  NULL the default group
 *  @return SSQ_ERR_INVALID also: the name is taken, another optimizer's
 *          group, after the first step, param and grad overlap. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_add(ssq_optimizer *optimizer, const char *name,
                  const ssq_tensor *param, const ssq_tensor *grad,
                  ssq_group *group);

/** Check all gradients once: verdict and (with clip_norm or lamb) the global
 *  norm of the unscaled gradients. ssq_optimizer_step does it when it was not
 *  done. Stages per optimizer, as torch's: READY, UNSCALED (after check or
 *  unscale), STEPPED; ssq_scaler_update goes back to READY.
 *  @param scaler  NULL: scale 1, no verdict joins an update (but a non-finite
 *                 gradient still skips nothing: the step applies it, as an
 *                 optimizer without a scaler does everywhere)
 *  @return SSQ_ERR_INVALID already checked or stepped since the last update,
 *          no parameters, or the scale was never used. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_check(ssq_queue *queue,
                                                      ssq_optimizer *optimizer,
                                                      ssq_scaler *scaler);

/** torch's unscale_: check, and write true gradients in place, for callers who
 *  look at them before the step; the step then uses scale 1. f32 and bf16
 *  gradients only.
 *  @return SSQ_ERR_INVALID f16 gradients; else as ssq_optimizer_check. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_unscale(ssq_queue *queue, ssq_optimizer *optimizer,
                      ssq_scaler *scaler);

/** One step: check (unless done), t += 1 after a clean check, unscale, clip,
 *  update masters and moments, round the model; or nothing at all.
 *  @return SSQ_ERR_INVALID stepped already since the last update ("step() has
 *          already been called"), a different scaler than at the check, no
 *          parameters. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_step(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     ssq_scaler *scaler);

/** Accumulate micro-batches: adds every gradient to a float32 accumulator of
 *  its parameter (made at the first call) and leaves grad to be overwritten by
 *  the next backward. After it, check, unscale and step read the accumulators,
 *  times factor, and clear them: one verdict for all micro-batches.
 *  @param factor  on the sum at the step: 1/k for a mean; the last call's
 *  @return SSQ_ERR_INVALID checked or stepped since the last update. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_accumulate(ssq_queue *queue, ssq_optimizer *optimizer,
                         double factor);

/** Gradients := 0, asynchronously. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_zero_grad(ssq_queue *queue, ssq_optimizer *optimizer);

/** Hyper-parameters that a setter can change between steps. */
typedef enum ssq_hyper {
    SSQ_HYPER_LR = 0,
    SSQ_HYPER_MOMENTUM = 1,
    SSQ_HYPER_BETA1 = 2,
    SSQ_HYPER_BETA2 = 3,
    SSQ_HYPER_EPS = 4,
    SSQ_HYPER_WEIGHT_DECAY = 5,
    SSQ_HYPER_CLIP_NORM = 6 /**< whole optimizer: group must be NULL */
} ssq_hyper;

/** Set one from the next step on: enqueues a copy into the control block.
 *  @param group  NULL: the default group
 *  @return SSQ_ERR_INVALID out of range, or in a capture. lr: also removes
 *          the group's schedule. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_set(ssq_queue *queue,
                                                    ssq_optimizer *optimizer,
                                                    ssq_group *group,
                                                    ssq_hyper hyper,
                                                    double value);

/** Read the value in use (of the host's copy; a schedule's value is computed
 *  from the last known t). */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_get(const ssq_optimizer *optimizer, const ssq_group *group,
                  ssq_hyper hyper, double *value);

/** Drive a group's lr (or momentum: beta1 for the adams) by a schedule.
 *  @param hyper     SSQ_HYPER_LR or SSQ_HYPER_MOMENTUM
 *  @param schedule  NULL removes it; copied */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_schedule(ssq_queue *queue, ssq_optimizer *optimizer,
                       ssq_group *group, ssq_hyper hyper,
                       const ssq_schedule *schedule);

/** Masters from the model (after the caller wrote the parameters), or the
 *  model from the masters. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_model_to_master(ssq_queue *queue, ssq_optimizer *optimizer);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master_to_model(ssq_queue *queue, ssq_optimizer *optimizer);

/** The master of a parameter: f32 (the parameter itself when that is f32).
 *  Owned by the optimizer. With flat_master and name NULL: the group's whole
 *  flat master, rank 1.
 *  @return SSQ_ERR_NOT_FOUND no such name, SSQ_ERR_INVALID no f32 master
 *          (split or none). */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master(ssq_optimizer *optimizer, const ssq_group *group,
                     const char *name, const ssq_tensor **master);

/** Called for each state tensor; names are "<param>.master", ".exp_avg",
 *  ".exp_avg_sq", ".max_exp_avg_sq", ".momentum_buffer", ".square_avg",
 *  ".grad_avg", ".sum", ".remainder", and "control": t and the random counter
 *  as i32 [2]. Return another status than SSQ_OK to stop. */
typedef ssq_status (*ssq_optimizer_visit_fn)(void *user, const char *name,
                                             const ssq_tensor *tensor);

/** Visit all state tensors in a fixed order: reading them all saves the
 *  optimizer, writing them all (on a new one with the same parameters, before
 *  its first step) restores it.
 *  @return what fn returned, or SSQ_ERR_INVALID, SSQ_ERR_NOMEM. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_visit(ssq_optimizer *optimizer, ssq_optimizer_visit_fn fn,
                    void *user);

/** Which gradient overflowed in the last check that found one. */
typedef struct ssq_overflow_report {
    size_t struct_size;
    char name[64];       /**< the first such parameter; "" none ever */
    uint64_t index;      /**< first non-finite element, flat */
    bool nan;            /**< that element is NaN, not Inf */
    uint32_t infs, nans; /**< in all gradients of that check */
    uint32_t tensors;    /**< gradients with at least one */
    uint32_t check;      /**< which check of this optimizer, from 1; 0 none */
} ssq_overflow_report;
#define SSQ_OVERFLOW_REPORT_INIT                                               \
    {                                                                          \
        sizeof(ssq_overflow_report), "", 0, false, 0, 0, 0, 0                  \
    }

/** Synchronises the queue and tells. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_overflow(ssq_queue *queue, ssq_optimizer *optimizer,
                       ssq_overflow_report *report);

/** Counts of the last check and step of one parameter; statistics must be on.
 *  Gradients are counted as they were (scaled). */
typedef struct ssq_statistics {
    size_t struct_size;
    uint64_t elements;
    uint64_t zeros;        /**< gradients that are exactly 0 */
    uint64_t subnormals;   /**< subnormal in their dtype */
    int32_t max_exponent;  /**< of the finite gradients: floor(log2 |g|);
                                INT32_MIN when all are 0 */
    uint64_t rounded_away; /**< updates that left the 16-bit weight as it was
                                although the update was not 0 */
} ssq_statistics;
#define SSQ_STATISTICS_INIT {sizeof(ssq_statistics), 0, 0, 0, 0, 0}

/** @param name  a parameter, or NULL for all together. Synchronises.
 *  @return SSQ_ERR_INVALID statistics are off; SSQ_ERR_NOT_FOUND. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_statistics(ssq_queue *queue, ssq_optimizer *optimizer,
                         const char *name, ssq_statistics *statistics);

/** The global norm of the last check's unscaled gradients, and t, the number
 *  of successful steps. Either may be NULL. Synchronises. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_norm(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     float *norm, uint32_t *t);

#ifdef __cplusplus
}
#endif

#endif
