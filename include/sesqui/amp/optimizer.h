/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - optimizers with float32 masters, and the step as one call.
 *
 *     CHECK(ssq_optimizer_create(device, "adamw", NULL, &optimizer));
 *     CHECK(ssq_optimizer_add(optimizer, "w", w, grad_w, NULL));
 *     for each step:
 *         ..                                          gradients into grad_w
 *         CHECK(ssq_optimizer_step(queue, optimizer, scaler));
 *         CHECK(ssq_scaler_update(queue, scaler));    if there is a scaler
 *
 * A trainer (trainer.h) makes these calls. All arithmetic is float32 for every
 * dtype of the parameters, eps included.
 *
 * Values that can change between steps are on the device: t, lr, betas, eps,
 * decay, clip, the random counter and the verdict. A captured step can
 * therefore be replayed, and a skipped step needs no host. After a bad verdict
 * parameters, masters, moments, t and the random counter keep every bit.
 *
 * First use. An optimizer takes its device memory (masters, moments, words) at
 * its first check, unscale, accumulate, step, visit, model_to_master,
 * master_to_model, save or load, also by ssq_checkpoint_save or _load, but not
 * by a call of ssq_params. Masters are then made from the model. If
 * ssq_params_write or ssq_params_load was the last to write a parameter, its
 * master begins with the exact float32 values. Moments are 0, or
 * initial_accumulator.
 *
 * Groups and parameters can be added before the first use only. Later calls
 * allocate the sums of the first ssq_optimizer_accumulate, a table for each
 * ssq_optimizer_schedule, and scratch for the work. So a later step may return
 * SSQ_ERR_NOMEM, too.
 *
 * A call is in a capture if a graph is being captured on its queue, or if the
 * caller captures the queue's stream (cuda.h). The first use cannot be in a
 * capture (SSQ_ERR_INVALID): call ssq_optimizer_model_to_master before it.
 *
 * If the first use fails, nothing has changed. Exception: with SSQ_MASTER_SPLIT
 * the first use waits for the queue, and rounds each parameter again that
 * ssq_params_write or ssq_params_load has set. It may have done so if it fails,
 * or if the call fails later.
 *
 * Stages. As in torch, an optimizer is READY, CHECKED (after check or unscale)
 * or STEPPED. The update of the scaler makes it READY again. Without a scaler
 * the step does so itself. A call at the wrong stage returns SSQ_ERR_INVALID:
 * for example, a second step before ssq_scaler_update.
 *
 * Several ranks can share the masters and moments: ssq_optimizer_distribute.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_AMP_OPTIMIZER_H
#define SESQUI_AMP_OPTIMIZER_H

#include <sesqui/amp/scaler.h>
#include <sesqui/amp/schedule.h>
#include <sesqui/args.h>
#include <sesqui/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_optimizer ssq_optimizer;
/** Parameters that share hyper-parameters; owned by the optimizer. */
typedef struct ssq_group ssq_group;

/** Where the exact value of a 16-bit parameter is. */
typedef enum ssq_master_kind {
    SSQ_MASTER_F32 = 0,   /**< a float32 copy; the model is rounded from it
                               to nearest even */
    SSQ_MASTER_SPLIT = 1, /**< bf16 model + 16-bit remainder, exact; the model
                               is the master rounded half away from zero */
    SSQ_MASTER_NONE = 2   /**< none; the update is rounded stochastically */
} ssq_master_kind;

/** Two forms that are equal in exact arithmetic and differ in rounding:
 *  torch's, and apex's (also llm.c's). */
typedef enum ssq_adam_form {
    SSQ_ADAM_TORCH = 0, /**< p *= 1 - lr wd first;
                             p -= lr/bc1 * m / (sqrt(v)/sqrt(bc2) + eps) */
    SSQ_ADAM_APEX = 1   /**< p -= lr (mh / (sqrt(vh) + eps) + wd p) */
} ssq_adam_form;

/** Hyper-parameters, in double. Each is rounded once to float32. 1 - b is
 *  formed in double first, and b^t is computed with b as a pair of float32.
 *  Defaults are torch's. Each optimizer uses these (maximize: all of them):
 *
 *  sgd       lr, momentum, dampening, nesterov, weight_decay (L2)
 *  adam      lr, beta1, beta2, eps, weight_decay (L2: g += wd p), amsgrad
 *  adamw     lr, beta1, beta2, eps, weight_decay (decoupled), amsgrad, form
 *  rmsprop   lr, alpha, eps, momentum, centered, weight_decay (L2)
 *  adagrad   lr, lr_decay, eps, initial_accumulator, weight_decay (L2)
 *  lamb      lr, beta1, beta2, eps, weight_decay, max_grad_norm,
 *            use_nvlamb, bias_correction, grad_averaging (apex FusedLAMB)
 *  adadelta  lr, alpha (rho), eps, weight_decay (L2)
 *
 *  The formulas are torch.optim's (single tensor) and, for lamb, apex's, in
 *  their order of operations, each rounded to float32. They are written out in
 *  kernels/amp/kinds.h. Two differences are deliberate: if the variance of a
 *  centered rmsprop rounds below 0, it counts as 0 (torch: NaN); and sgd's
 *  buffer starts with the gradient at t = 1 only.
 *
 *  Options that the kind does not use are refused if they differ from the
 *  default: for example, momentum for adam. Exceptions are beta1, beta2, alpha,
 *  eps and max_grad_norm, which are then ignored, but must be in range. Numbers
 *  must be >= 0 and at most the largest float32; clip_norm may also be
 *  INFINITY. beta1, beta2 and alpha must be below 1. dampening may be negative.
 *
 *  -1 means the kind's default, and is the default in SSQ_OPTIMIZER_INIT: eps
 *  (1e-8; adagrad 1e-10; lamb and adadelta 1e-6), lr (1e-3; rmsprop and adagrad
 *  1e-2; adadelta 1), alpha (0.99; adadelta 0.9) and weight_decay (0; adamw and
 *  lamb 1e-2). 0 is a value, not the default. */
typedef struct ssq_optimizer_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_optimizer_options));
    double lr SSQ_DEFAULT(-1.0), momentum SSQ_DEFAULT(0.0),
        dampening SSQ_DEFAULT(0.0), beta1 SSQ_DEFAULT(0.9),
        beta2 SSQ_DEFAULT(0.999), alpha SSQ_DEFAULT(-1.0),
        eps SSQ_DEFAULT(-1.0), weight_decay SSQ_DEFAULT(-1.0);
    double lr_decay SSQ_DEFAULT(0.0), initial_accumulator SSQ_DEFAULT(0.0);
    double max_grad_norm SSQ_DEFAULT(1.0); /**< lamb: gradients are divided by
                               norm / this if the global norm, after clip_norm,
                               is larger; 0: no limit */
    bool nesterov SSQ_DEFAULT(false), amsgrad SSQ_DEFAULT(false),
        centered SSQ_DEFAULT(false), maximize SSQ_DEFAULT(false);
    bool use_nvlamb SSQ_DEFAULT(false), bias_correction SSQ_DEFAULT(true),
        grad_averaging SSQ_DEFAULT(true); /**< lamb */
    ssq_adam_form form SSQ_DEFAULT(SSQ_ADAM_TORCH);
    /* for the whole optimizer; ignored in groups */
    double clip_norm SSQ_DEFAULT(0.0); /**< scale the unscaled gradients so that
                           their global L2 norm is at most this: coef = clip /
                           (norm + 1e-6), applied if < 1 (torch, apex,
                           Megatron). 0: no clipping, and only lamb measures
                           the norm. INFINITY: only measure. Numbers that would
                           round to 0 become 2^-149 */
    ssq_master_kind master SSQ_DEFAULT(SSQ_MASTER_F32);
    bool flat_master SSQ_DEFAULT(false); /**< one contiguous master per group,
                           in the order of ssq_optimizer_add (fastai); float32
                           parameters get one too. Needs SSQ_MASTER_F32 */
    uint64_t seed SSQ_DEFAULT(0); /**< of stochastic rounding. The random number
                        of element i of a parameter depends on the seed, the
                        random counter, the name and i only, on every device */
    bool statistics
        SSQ_DEFAULT(false); /**< count underflow and rounded-away updates:
                            ssq_optimizer_statistics */
} ssq_optimizer_options;
#define SSQ_OPTIMIZER_DEFAULTS                                                 \
    sizeof(ssq_optimizer_options), -1.0, 0.0, 0.0, 0.9, 0.999, -1.0, -1.0,     \
        -1.0, 0.0, 0.0, 1.0, false, false, false, false, false, true, true,    \
        SSQ_ADAM_TORCH, 0.0, SSQ_MASTER_F32, false, 0, false
#define SSQ_OPTIMIZER_INIT                                                     \
    {                                                                          \
        SSQ_OPTIMIZER_DEFAULTS                                                 \
    }
#define SSQ_OPTIMIZER(...)                                                     \
    SSQ_ARGS(ssq_optimizer_options, SSQ_OPTIMIZER_DEFAULTS, __VA_ARGS__)

/** Create an optimizer: "sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb" or
 *  "adadelta".
 *  @param options    of the optimizer and its default group; copied. NULL: all
 *                    defaults
 *  @param optimizer  out: owned by the caller; release it with
 *                    ssq_optimizer_destroy(). It holds the device
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such kind; the message lists them
 *   - SSQ_ERR_INVALID    an option is out of range or not used by this kind
 *                        (the message names it); nesterov without momentum or
 *                        with dampening; the apex form with amsgrad;
 *                        flat_master without SSQ_MASTER_F32
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_create(
    ssq_device *device, const char *kind, const ssq_optimizer_options *options,
    ssq_optimizer **optimizer);

/** Destroy an optimizer and its groups. Graphs that use it keep it. Enqueued
 *  work is finished normally.
 *  @sync host, except that memory may be freed (ssq_buffer_destroy) */
SSQ_API void ssq_optimizer_destroy(ssq_optimizer **optimizer);

/** Add a group with other hyper-parameters.
 *  @param options  as at create, complete; the fields of the whole optimizer
 *                  are ignored. NULL: all defaults, not the values of
 *                  the default group
 *  @param group    out: owned by the optimizer, and freed with it
 *  @return SSQ_ERR_INVALID  an option is refused, as by ssq_optimizer_create;
 *                           after the first use
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_group(ssq_optimizer *optimizer,
                    const ssq_optimizer_options *options, ssq_group **group);

/** Add a parameter and its gradient.
 *  @param name   unique in the optimizer, not empty. Its 32-bit FNV-1a hash
 *                selects the random numbers of stochastic rounding
 *  @param param  float, contiguous; its memory is held. A 16-bit one gets a
 *                master at the first use, unless SSQ_MASTER_NONE is set
 *  @param grad   float, contiguous, with the shape of param; its memory is
 *                held. It contains the (scaled) gradient at each step
 *  @param group  NULL: the default group
 *  @return
 *   - SSQ_ERR_INVALID      the name is taken or empty; the group is of another
 *                          optimizer; after the first use; a tensor is not
 *                          float or not contiguous; the shapes differ; the
 *                          tensors overlap each other or those of another
 *                          parameter; an f16 parameter with SSQ_MASTER_SPLIT
 *   - SSQ_ERR_UNSUPPORTED  more than 44,739,242 parameters
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_add(ssq_optimizer *optimizer,
                                                    const char *name,
                                                    const ssq_tensor *param,
                                                    const ssq_tensor *grad,
                                                    ssq_group *group);

/** Declare that a parameter is a shard of a larger one: its element 0 is
 *  element first of the whole. Stochastic rounding (SSQ_MASTER_NONE) then draws
 *  for it what the whole parameter would draw. Use the same name and seed in
 *  the optimizer of each shard, and take the same steps. Nothing else changes:
 *  norms, clip_norm and the ratios of lamb are of the shard alone.
 *  @param first  elements before it; 0 after ssq_optimizer_add. A second call
 *                replaces it
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such name
 *   - SSQ_ERR_INVALID    after the first use
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_shard(ssq_optimizer *optimizer,
                                                      const char *name,
                                                      uint64_t first);

/** Divide the optimizer between the ranks of a communicator (ZeRO stage 1).
 *  Each rank's optimizer has all parameters, and masters and moments for its
 *  shard only. Parameters may be added before and after this call.
 *
 *  Names, order and options must be equal on all ranks. This call compares
 *  nothing, and a step compares only sizes: if they differ, the group ends with
 *  SSQ_ERR_COMM. A trainer compares all of them, or use ssq_comm_compare.
 *
 *      st = ssq_optimizer_accumulate(queue, optimizer, 1.0 / ranks);
 *      st = ssq_optimizer_step(queue, optimizer, scaler);
 *
 *  Shards are runs of the elements of all parameters in the order of
 *  ssq_optimizer_add, of about equal size. They are cut at multiples of 16384
 *  elements of a parameter. Some may be empty.
 *
 *  Each rank has the gradients of its passes. The first of check, unscale and
 *  step sums them over ranks, in the order of comm.h. All ranks find the same
 *  verdict, norm and overflow report. Each steps its shard, and at the end of
 *  the step all ranks have all parameters. For a given number of ranks the bits
 *  are the same as with ssq_comm_all_reduce of the sums and undivided
 *  optimizers.
 *
 *  All ranks must make these calls, in the same order:
 *   - check, unscale, step, master_to_model
 *   - ssq_params_read, ssq_params_save and ssq_params_to_float32 with the
 *     optimizer, if parameters have masters
 *   - ssq_checkpoint_save
 *
 *  ssq_params_read and ssq_params_save wait. So do ssq_params_to_float32, if
 *  masters are split, and on rank 0 ssq_checkpoint_save. Local ranks then need
 *  a thread each. ssq_params_save writes a file on each rank; it may be the
 *  same one. None of these calls can be captured. Exception: over NCCL, check,
 *  unscale, step and master_to_model (nccl.h).
 *
 *  After SSQ_ERR_COMM some ranks may have the parameters of one step and others
 *  those of the next: load a checkpoint. After another error of a step call it
 *  again. If the step was made and the parameters could not be gathered, the
 *  repeated call only gathers them. Until then accumulate, check and unscale
 *  return SSQ_ERR_INVALID.
 *
 *  Other differences:
 *   - Check, unscale and step need an ssq_optimizer_accumulate before them.
 *   - After ssq_optimizer_unscale only the rank's shard of the gradients is
 *     valid.
 *   - ssq_optimizer_visit visits the rank's part, flat unless it is a whole
 *     parameter. It leaves out parameters that are all on other ranks.
 *   - rounded_away of the statistics covers the shard.
 *   - ssq_optimizer_master, _save and _load are refused. Use
 *     ssq_checkpoint_save and _load, for any number of ranks.
 *  @param comm  of the optimizer's device; held. After the caller has destroyed
 *               it, calls that need other ranks return SSQ_ERR_COMM
 *  @return SSQ_ERR_INVALID  after the first use; a second call; flat_master is
 *                           set
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_distribute(ssq_optimizer *optimizer, ssq_comm *comm);

/** Device memory of an optimizer on this rank, in bytes; filled by
 *  ssq_optimizer_memory. */
typedef struct ssq_memory_report {
    size_t struct_size;
    uint64_t elements; /**< of all parameters */
    uint64_t own;      /**< elements whose masters and moments are on this
                            rank: all, unless distributed */
    uint64_t params;   /**< of the parameters */
    uint64_t grads;    /**< of the gradients */
    uint64_t sums;     /**< of ssq_optimizer_accumulate; 0 before the first */
    uint64_t masters;  /**< or remainders */
    uint64_t moments;
    uint64_t other; /**< words; if distributed, also partial results. Not
                         counted: tables of schedules, and scratch */
} ssq_memory_report;
#define SSQ_MEMORY_REPORT_INIT                                                 \
    {                                                                          \
        sizeof(ssq_memory_report), 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** Report the memory of an optimizer.
 *  @param report  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  before the first use
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_memory(const ssq_optimizer *optimizer, ssq_memory_report *report);

/** Check all gradients: find the verdict and, with clip_norm or lamb, the
 *  global norm of the unscaled gradients. ssq_optimizer_step does this itself
 *  if it was not done. The norm is summed in the fixed order of
 *  kernels/reduce/norm.h, with the same bits on every device.
 *
 *  Gradients that were unscaled since the scaler's last update are used as they
 *  are; scaled ones are multiplied by 1/scale. Either all gradients or none
 *  must be unscaled.
 *  @param scaler  NULL: scale 1, and no verdict. The step then applies also
 *                 gradients that are not finite. With clip_norm, a norm that is
 *                 NaN clips nothing; an infinite norm makes finite gradients 0
 *                 and infinite ones NaN
 *  @return
 *   - SSQ_ERR_INVALID  already checked or stepped since the scaler's last
 *                      update; without a scaler, already checked since the last
 *                      step; no parameters; a first use in a capture
 *   - SSQ_ERR_INVALID  with scaler: the scale was not used since the last
 *                      update; some gradients, or a part of one, were unscaled
 *                      and some were not (the message has names)
 *   - SSQ_ERR_INVALID  with scaler, after ssq_optimizer_accumulate: gradients
 *                      were unscaled; the scaler was updated after the first
 *                      micro-batch (also later without scaler, until the sums
 *                      are dropped)
 *   - the status of the scaler's rank hook
 *   - of a distributed optimizer also SSQ_ERR_COMM, and SSQ_ERR_INVALID for
 *     more causes (ssq_optimizer_distribute)
 *   After an error the check does not count, and may be repeated. The first use
 *   may have happened: masters exist then, and nothing can be added. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_check(ssq_queue *queue,
                                                      ssq_optimizer *optimizer,
                                                      ssq_scaler *scaler);

/** Check the gradients and unscale them in place, as torch's unscale_. Use it
 *  to read or change gradients before the step, which then uses them as they
 *  are.
 *
 *  After ssq_optimizer_accumulate it writes the sums, times factor / scale, to
 *  the gradients, and the accumulation ends. The verdict and the norm for
 *  clipping are found by this call: later changes are not in them. For example,
 *  a step is skipped although the program has repaired the gradient, and a NaN
 *  that it writes is applied.
 *  @param scaler  as in ssq_optimizer_check; NULL: nothing is divided
 *  @return
 *   - SSQ_ERR_INVALID  a gradient is f16; a gradient was unscaled since the
 *                      last update, by ssq_scaler_unscale or another optimizer
 *   - otherwise as ssq_optimizer_check
 *   After an error the check counts for the scaler if it was made, but no
 *   gradient was unscaled. The call may be repeated. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_unscale(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_scaler *scaler);

/** Step: check unless done, then update; or change nothing. After a clean check
 *  t is increased, gradients are unscaled and clipped, masters and moments are
 *  updated, and the model is rounded.
 *
 *  The gradient is g * (1 / scale), then times coef, each rounded to float32.
 *  After ssq_optimizer_accumulate, g is the sum, and 1 / scale is first
 *  multiplied by factor, and rounded.
 *
 *  The bits are the same as after unscaling in place and clipping float32
 *  gradients, as torch does. With SSQ_FLOOR_APPLY at the floor a bad verdict
 *  does not skip.
 *  @param scaler  as at the check
 *  @return
 *   - SSQ_ERR_INVALID  stepped since the last update (torch: "step() has
 *                      already been called"); another scaler than at the check;
 *                      a gradient was unscaled after the check
 *   - otherwise as ssq_optimizer_check
 *   After an error no parameter, moment, t or random counter has changed, and
 *   the call may be repeated. The first use may have happened. If the check was
 *   made, it counts: another check is refused until the step or the scaler's
 *   update. See ssq_optimizer_distribute for its exceptions. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_step(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     ssq_scaler *scaler);

/** The operands of ssq_optimizer_apply. Lists are read during the call. */
typedef struct ssq_optimizer_apply_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_optimizer_apply_args));
    const char *kind; /**< as for ssq_optimizer_create, except "lamb" */
    const ssq_optimizer_options *options; /**< of all parameters; NULL: all
                                               defaults */
    size_t n;                          /**< parameters; 0: nothing is done */
    const ssq_tensor *const *params;   /**< updated: f32, contiguous */
    const ssq_tensor *const *grads;    /**< in: float, contiguous, each with the
                                            shape of its parameter */
    const ssq_tensor *const *moments;  /**< updated: f32, contiguous, each with
                                            the shape of its parameter; the
                                            first one of all parameters, then
                                            the second, then the third. If the
                                            kind has none, it is not read */
    const ssq_tensor *const *t;  /**< in: f32, one element of any rank, for each
                                      parameter: its steps before this one, a
                                      whole number of 0 or more (not checked);
                                      may be the same tensor; NULL: steps */
    uint32_t steps;              /**< of all parameters, if t is NULL */
    const ssq_tensor *scale;     /**< in: f32, one element of any rank, by which
                                      the loss was multiplied; NULL: 1 */
    const ssq_tensor *found_inf; /**< in: f32, one element of any rank. If it is
                                      not 0, also if it is NaN, nothing changes;
                                      NULL: 0 */
} ssq_optimizer_apply_args;
#define SSQ_OPTIMIZER_APPLY_DEFAULTS                                           \
    sizeof(ssq_optimizer_apply_args), NULL, NULL, 0, NULL, NULL, NULL, NULL,   \
        0, NULL, NULL
#define SSQ_OPTIMIZER_APPLY_INIT                                               \
    {                                                                          \
        SSQ_OPTIMIZER_APPLY_DEFAULTS                                           \
    }
#define SSQ_OPTIMIZER_APPLY(...)                                               \
    SSQ_ARGS(ssq_optimizer_apply_args, SSQ_OPTIMIZER_APPLY_DEFAULTS,           \
             __VA_ARGS__)

/** Make one step without an optimizer object, as torch's fused optimizers do.
 *  It is for programs that keep parameters and moments themselves. For example,
 *  AdamW's step on one parameter:
 *
 *      const ssq_tensor *params[] = {w}, *grads[] = {dw}, *moments[] = {m, v};
 *      CHECK(ssq_optimizer_apply(
 *          queue, SSQ_OPTIMIZER_APPLY(.kind = "adamw", .n = 1,
 *                                     .params = params, .grads = grads,
 *                                     .moments = moments, .steps = step)));
 *
 *  The moments are, in this order: sgd momentum_buffer, if momentum is not 0;
 *  adam and adamw exp_avg, exp_avg_sq, and max_exp_avg_sq with amsgrad; rmsprop
 *  square_avg, momentum_buffer if momentum is not 0, and grad_avg if centered;
 *  adagrad sum; adadelta square_avg and acc_delta. Before the first step they
 *  must be 0 (adagrad: initial_accumulator).
 *
 *  The result has the bits of ssq_optimizer_step on float32 parameters. The
 *  call does not change t: add 1 to each if found_inf is 0. It does not check
 *  gradients: it skips the step only if found_inf says so. The options seed and
 *  initial_accumulator are not used.
 *
 *  It may be captured. Each launch of the graph reads t, scale and found_inf;
 *  options and steps stay as they were at the capture.
 *  @return
 *   - SSQ_ERR_NOT_FOUND    no such kind
 *   - SSQ_ERR_INVALID      an option as in ssq_optimizer_create, or one of a
 *                          whole optimizer (clip_norm, master, flat_master,
 *                          statistics); a dtype, gap or shape; a tensor that
 *                          is written overlaps another one of this call
 *   - SSQ_ERR_UNSUPPORTED  "lamb"; more than 44,739,242 parameters
 *   After an error nothing has changed.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_apply(ssq_queue *queue, const ssq_optimizer_apply_args *args);

/** Accumulate a micro-batch: add every gradient to a float32 sum of its
 *  parameter. Then the next backward must overwrite the gradients, else earlier
 *  micro-batches count twice. A backward of a tape adds to them: call
 *  ssq_params_clean (tape.h) before it. Check, unscale and step then use the
 *  sums, times factor, with one verdict for all micro-batches. The first call
 *  makes the sums.
 *
 *  The step, skipped or not, ends the accumulation. So do
 *  ssq_optimizer_unscale, and an update of the scaler after a check of this
 *  optimizer. The next ssq_optimizer_accumulate starts another one.
 *
 *  The scale must not change within an accumulation: call ssq_scaler_update
 *  after the step only. If the scaler of a check, unscale or step was updated
 *  after the first micro-batch, that call returns SSQ_ERR_INVALID, unless its
 *  scale is fixed. ssq_scaler_update_to, _state_set, _load and _torch_load
 *  count as such updates, also of a fixed scale. From then on these calls
 *  return SSQ_ERR_INVALID with any scaler, and with none. Then drop the sums
 *  with ssq_optimizer_zero_grad; no other call of this header drops them.
 *  Updates by graphs that also accumulate are not noticed.
 *  @param factor  applied to the sum at the step, for example 1/k for the mean
 *                 of k; finite as a float32. The last call's factor is used
 *  @return SSQ_ERR_INVALID  checked or stepped since the scaler's last update;
 *                           checked without a scaler since the last step; no
 *                           parameters; factor is out of range; a first use in
 *                           a capture; a check or step failed after it had
 *                           summed over ranks, or a step could not gather
 *          After an error the sums have not changed. The first use may have
 *          happened. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_accumulate(
    ssq_queue *queue, ssq_optimizer *optimizer, double factor);

/** Clip gradients by their global L2 norm, in place, as
 *  torch.nn.utils.clip_grad_norm_. If max_norm / (norm + 1e-6) is less than 1,
 *  all gradients are multiplied by it, in float32, each rounded once.
 *
 *  Unscale the gradients first. An optimizer's clip_norm does the same within
 *  its step, bit for bit if gradients are f32. A norm that is NaN clips nothing
 *  (torch: everything becomes NaN). An infinite norm makes gradients 0 or NaN.
 *  An option error_if_nonfinite does not exist, since nothing waits for the
 *  norm: use a scaler, whose verdict skips such a step.
 *  @param n         may be 0: grads may be NULL then, and the norm is 0
 *  @param grads     n float tensors of any strides that do not overlap
 *  @param max_norm  > 0; INFINITY only measures
 *  @param norm      out, optional: f32, one element: the norm before clipping;
 *                   must not overlap grads
 *  @return
 *   - SSQ_ERR_INVALID      a dtype or overlap; max_norm is not > 0; norm does
 *                          not have one element
 *   - SSQ_ERR_UNSUPPORTED  a gradient that is not contiguous is too large for a
 *                          launch
 *          After an error no gradient has changed. A max_norm above float32's
 *          range counts as INFINITY, and one that would round to 0 as 2^-149.
 *  @note May be captured. Class B: the same bits on every device, in the order
 *        of kernels/reduce/norm.h. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_clip_grad_norm(ssq_queue *queue, size_t n, const ssq_tensor *const *grads,
                   double max_norm, const ssq_tensor *norm);

/** Write zeros to all gradients. Permitted at every stage; it is not a first
 *  use. May be captured. Sums of ssq_optimizer_accumulate do not change, so it
 *  may be called between micro-batches. Exception: outside a capture it drops
 *  sums that were refused because their scale is old. Without parameters it
 *  does nothing.
 *  @return as every call */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_zero_grad(ssq_queue *queue, ssq_optimizer *optimizer);

/** Hyper-parameters that can change between steps. */
typedef enum ssq_hyper {
    SSQ_HYPER_LR = 0,
    SSQ_HYPER_MOMENTUM = 1, /**< beta1 if the optimizer has betas */
    SSQ_HYPER_BETA1 = 2,
    SSQ_HYPER_BETA2 = 3,
    SSQ_HYPER_EPS = 4,
    SSQ_HYPER_WEIGHT_DECAY = 5,
    SSQ_HYPER_CLIP_NORM = 6 /**< of the whole optimizer: group must be NULL */
} ssq_hyper;

/** Set a hyper-parameter, from the next step on. Captured steps use the value
 *  too (but see ssq_optimizer_schedule). Setting lr also removes the group's
 *  schedule of lr. A momentum or beta1 that a schedule drives continues to
 *  follow it. Set clip_norm before the check of a step.
 *  @param group  NULL: the default group
 *  @param value  in the range of the options; -1 is not a default here
 *  @return
 *   - SSQ_ERR_INVALID  out of range; the optimizer has no such hyper-parameter;
 *                      group is of another optimizer, or given for clip_norm;
 *                      the call is in a capture
 *   - SSQ_ERR_INVALID  clip_norm above 0 between a check and its step, if the
 *                      check measured no norm; momentum 0 with nesterov;
 *                      momentum for a group that had none at the first use, and
 *                      so has no buffer */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_set(ssq_queue *queue,
                                                    ssq_optimizer *optimizer,
                                                    ssq_group *group,
                                                    ssq_hyper hyper,
                                                    double value);

/** Report a hyper-parameter: the double that was set or scheduled, before it is
 *  rounded to float32. For a default of -1 it is the kind's number. If a
 *  schedule drives it, this is the value for the next step. Works in a child of
 *  fork.
 *
 *  The host learns of finished steps with a delay: to be exact, call
 *  ssq_queue_sync on the queue of the steps before. A skipped step does not
 *  count. A launch of a captured step does. If the caller captured the graph
 *  through CUDA, its launches count from the next step outside of such a graph.
 *  @param group  NULL: the default group
 *  @param value  out
 *  @return SSQ_ERR_INVALID  group is of another optimizer, or given for
 *                           clip_norm; the optimizer has no such
 *                           hyper-parameter
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_get(const ssq_optimizer *optimizer, const ssq_group *group,
                  ssq_hyper hyper, double *value);

/** Drive a group's lr or momentum (beta1 for kinds with betas) by a schedule,
 *  from the next step on. The table is read at the current t, not from its
 *  start. Values are rounded to float32. 1 - beta1 and beta1^t follow the
 *  scheduled beta1, as in torch.
 *
 *  A captured step uses a new schedule if, between the first use and the
 *  capture, the group had one of at least the same length. It does not use a
 *  longer one. From then on the captured step keeps what it used before, and
 *  sees no later schedule and no removal. If it keeps a schedule, it does not
 *  see ssq_optimizer_set of lr either. Capture again after setting a longer
 *  schedule.
 *  @param group     NULL: the default group
 *  @param hyper     SSQ_HYPER_LR or SSQ_HYPER_MOMENTUM
 *  @param schedule  copied, also its table. NULL removes the schedule: the
 *                   value of the options, or of the last ssq_optimizer_set, is
 *                   used again, not the schedule's last one
 *  @return SSQ_ERR_INVALID  as ssq_schedule_value; a value is below 0, or above
 *                           the largest float32; a beta1 that is 1 as a
 *                           float32; another hyper; the kind has no momentum,
 *                           or the group no buffer for it; group is of another
 *                           optimizer; the call is in a capture
 *          After an error the old schedule is in use. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_schedule(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_group *group,
    ssq_hyper hyper, const ssq_schedule *schedule);

/** Set the masters from the model, or the model from the masters. Use the
 *  former after the program has written parameters. Remainders of split masters
 *  become 0. With split masters the latter changes nothing. Moments, t and the
 *  random counter do not change, except that a first use creates them. As a
 *  first use ssq_optimizer_model_to_master leaves the masters as the top of
 *  this file says: for example, with the exact values of ssq_params_write. Both
 *  calls are allowed at every stage, also within an accumulation.
 *  @return
 *   - SSQ_ERR_INVALID  no parameters; a first use in a capture
 *   - SSQ_ERR_COMM     ssq_optimizer_master_to_model: the optimizer is
 *                      distributed, and its group has ended. If it ended
 *                      before the call, the model is unchanged */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_model_to_master(ssq_queue *queue, ssq_optimizer *optimizer);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master_to_model(ssq_queue *queue, ssq_optimizer *optimizer);

/** Get the f32 master of a parameter. That is the parameter itself if it is f32
 *  and flat_master is off. You may write the master: then call
 *  ssq_optimizer_master_to_model. Works in a child of fork.
 *  @param group   NULL: any group, and if name is NULL, too, the default group
 *  @param name    NULL, with flat_master: the group's whole flat master, rank 1
 *  @param master  out: owned by the optimizer, valid as long as it
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such name (in the group, if one is given)
 *   - SSQ_ERR_INVALID    before the first use; the parameter has 16 bits and
 *                        masters are split or none; name is NULL without
 *                        flat_master; group is of another optimizer; the
 *                        optimizer is distributed
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master(ssq_optimizer *optimizer, const ssq_group *group,
                     const char *name, const ssq_tensor **master);

/** Callback of ssq_optimizer_visit, called for each state tensor:
 *   - "control" first: t and the random counter, i32 [2]
 *   - then, by parameter in the order of ssq_optimizer_add, its master if it
 *     has one: "<param>.master" (f32, the parameter's shape) or
 *     "<param>.remainder" (u8 [2 n]: the lower halves of the masters' words,
 *     low byte first)
 *   - and the parameter's moments, f32 in its shape: "<param>.exp_avg",
 *     ".exp_avg_sq", ".max_exp_avg_sq", ".momentum_buffer", ".square_avg",
 *     ".grad_avg", ".sum", ".acc_delta"
 *  @param name    valid during the call
 *  @param tensor  owned by the optimizer
 *  @return SSQ_OK, or another status to stop. Set its text by ssq_error_set
 *  @note It must not step or destroy the optimizer. */
typedef ssq_status (*ssq_optimizer_visit_fn)(void *user, const char *name,
                                             const ssq_tensor *tensor);

/** Visit all state tensors in a fixed order. To save an optimizer, read them
 *  and the parameters. To restore it, write them all on a new one with the same
 *  parameters and options: the run then continues bit-equal. Do this between
 *  steps: checks and sums of ssq_optimizer_accumulate are not visited.
 *
 *  What fn writes is trusted, except t: damage is not detected. For bytes in a
 *  file use ssq_optimizer_save and ssq_optimizer_load, which have a checksum.
 *  @param queue  fn must read and write on it
 *  @return
 *   - SSQ_ERR_INVALID  the call is in a capture; no parameters; fn has made t
 *                      negative. t and the random counter then get their old
 *                      values back; other tensors keep what fn wrote
 *   - the status of fn
 *  @sync waits for the queue, before and after the visit */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_visit(ssq_queue *queue,
                                                      ssq_optimizer *optimizer,
                                                      ssq_optimizer_visit_fn fn,
                                                      void *user);

/** Save the whole optimizer as bytes: parameters, masters, moments, t and the
 *  random counter, with names and shapes. As in ssq_scaler_save, the blob has a
 *  version and a checksum. It has the processor's byte order, and a processor
 *  of the other order refuses it. Options, the seed with them,
 *  hyper-parameters and schedules are not in it: the program must set the same.
 *
 *  The blob is as large as all of these together. If it is large, map a file of
 *  that size and pass the mapping. The call is a first use, also if blob is
 *  NULL or bytes is too small. After another error than SSQ_ERR_INVALID the
 *  bytes of blob are undefined.
 *  @param blob    out: of any alignment. NULL with bytes 0: only report needed
 *  @param bytes   size of blob
 *  @param needed  out, optional: size of the saved bytes; written also if bytes
 *                 is too small
 *  @return SSQ_ERR_INVALID  bytes is less than needed; a step has begun, by a
 *                           check or an accumulation, or was not followed by
 *                           the scaler's update; no parameters; the call is
 *                           in a capture; a distributed optimizer
 *  @sync waits for the queue, unless blob is NULL
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_save(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     void *blob, size_t bytes,
                                                     size_t *needed);

/** Continue as a saved optimizer, bit-equal. The blob is validated completely
 *  before anything changes, and may be freed when the call returns. The call is
 *  a first use.
 *  @param bytes  size of blob: exactly what was needed
 *  @return SSQ_ERR_INVALID  not an optimizer's blob; another version or byte
 *                           order; damaged; another kind or other parameters
 *                           (names, order, dtypes, shapes, masters, moments;
 *                           the message names the first difference); a negative
 *                           t; otherwise as ssq_optimizer_save
 *          After SSQ_ERR_INVALID no value has changed, except by a first use.
 *  @sync waits for the queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_load(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     const void *blob,
                                                     size_t bytes);

/** The last overflow: of the last check that found one. */
typedef struct ssq_overflow_report {
    size_t struct_size;
    char name[64];       /**< the first such parameter, cut to 63 bytes; ""
                              if there was none */
    uint64_t index;      /**< first element that is not finite, also times
                              factor / scale; flat */
    bool nan;            /**< that element is NaN, not Inf. A check of a trainer
                              with labels out of range is not reported */
    uint32_t infs, nans; /**< in all gradients of that check, each at most
                              2^32 - 1 */
    uint32_t tensors;    /**< gradients that have at least one */
    uint32_t check;      /**< number of that check of this optimizer, from 1.
                              Calls that failed may count. 0: none */
} ssq_overflow_report;
#define SSQ_OVERFLOW_REPORT_INIT                                               \
    {                                                                          \
        sizeof(ssq_overflow_report), "", 0, false, 0, 0, 0, 0                  \
    }

/** Report the last overflow. If there was none, check is 0. A check without a
 *  scaler counts, too, although its gradients are applied.
 *  @param report  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  before the first use; in a capture
 *  @sync waits for the queue */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_overflow(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_overflow_report *report);

/** Counts of the last check and step of one parameter. Gradients are counted as
 *  they were (scaled). Elements that are not finite, also times factor / scale,
 *  are not counted. After ssq_optimizer_accumulate the float32 sums are
 *  counted, before factor: the underflow of 16-bit gradients is then not
 *  visible. Before the first check all members except elements are 0. */
typedef struct ssq_statistics {
    size_t struct_size;
    uint64_t elements;
    uint64_t zeros;        /**< gradients that are exactly 0 */
    uint64_t subnormals;   /**< subnormal in their dtype */
    int32_t max_exponent;  /**< of these elements: floor(log2 |g|); INT32_MIN
                                if there is none other than 0 */
    uint64_t rounded_away; /**< updates other than 0 that left the 16-bit weight
                                as it was; 0 if the step was skipped, and for
                                f32 parameters */
} ssq_statistics;
#define SSQ_STATISTICS_INIT                                                    \
    {                                                                          \
        sizeof(ssq_statistics), 0, 0, 0, 0, 0                                  \
    }

/** Report the counts. The optimizer must have been created with statistics.
 *  @param name        a parameter; NULL: all together
 *  @param statistics  in: struct_size; out: the rest
 *  @return
 *   - SSQ_ERR_INVALID    statistics are off; before the first use; in a capture
 *   - SSQ_ERR_NOT_FOUND  no such parameter
 *  @sync waits for the queue */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_statistics(ssq_queue *queue, ssq_optimizer *optimizer,
                         const char *name, ssq_statistics *statistics);

/** Report the global norm of the last check that measured one, of the unscaled
 *  gradients before clipping, and t, the number of successful steps.
 *  @param norm  out, optional; 0 if no check has measured one; Inf or NaN if
 *               that check found such gradients
 *  @param t     out, optional
 *  @return SSQ_ERR_INVALID  norm is given, clip_norm is 0 now, and the kind is
 *                           not lamb; before the first use; in a capture
 *  @sync waits for the queue */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_norm(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     float *norm, uint32_t *t);

#ifdef __cplusplus
}
#endif

#endif
