/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - optimizers with float32 masters, and the step as one call.
 *
 * All arithmetic is float32 whatever the parameters' dtype, eps included. What
 * may change between steps (t, lr, betas, eps, decay, clip, random counter,
 * verdict) lives in device words, so that a captured step can be replayed and
 * a skipped one needs no host: under a bad verdict parameters, masters,
 * moments, t and the random counter keep every bit.
 *
 * Of several ranks each may hold the masters and moments of a part alone: see
 * ssq_optimizer_distribute. */
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
 *  that of torch, and that of apex (and llm.c). */
typedef enum ssq_adam_form {
    SSQ_ADAM_TORCH = 0, /**< p *= 1 - lr wd first;
                             p -= lr/bc1 * m / (sqrt(v)/sqrt(bc2) + eps) */
    SSQ_ADAM_APEX = 1   /**< p -= lr (mh / (sqrt(vh) + eps) + wd p) */
} ssq_adam_form;

/** Hyper-parameters, in double: each is rounded once to float32, 1 - b is
 *  formed in double first, and b^t is computed with b as a float32 pair.
 *  Defaults are torch's. Which optimizer reads which (maximize: all of them):
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
 *  their order of operations, each rounded to float32; they are written out
 *  in kernels/amp/kinds.h. Two differences, both deliberate: the variance
 *  of a centered rmsprop that rounds below 0 counts as 0 (torch: NaN), and
 *  sgd's buffer begins with the gradient at t = 1 only. Momentum, dampening,
 *  flags and forms that a kind does not read are refused, not ignored.
 *
 *  eps 0 in SSQ_OPTIMIZER_INIT is not the default: the default is -1, which
 *  means the optimizer's own (1e-8; adagrad 1e-10; lamb and adadelta
 *  1e-6); likewise lr -1 (1e-3; sgd 1e-3; rmsprop and adagrad 1e-2; adadelta
 *  1), alpha -1 (0.99; adadelta 0.9) and weight_decay -1 (0; adamw 1e-2; lamb
 *  1e-2). */
typedef struct ssq_optimizer_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_optimizer_options));
    double lr SSQ_DEFAULT(-1.0), momentum SSQ_DEFAULT(0.0),
        dampening SSQ_DEFAULT(0.0), beta1 SSQ_DEFAULT(0.9),
        beta2 SSQ_DEFAULT(0.999), alpha SSQ_DEFAULT(-1.0),
        eps SSQ_DEFAULT(-1.0), weight_decay SSQ_DEFAULT(-1.0);
    double lr_decay SSQ_DEFAULT(0.0), initial_accumulator SSQ_DEFAULT(0.0);
    double max_grad_norm SSQ_DEFAULT(1.0); /**< lamb: gradients are divided by
                               norm / this where the global norm, after
                               clip_norm, is larger; 0 none */
    bool nesterov SSQ_DEFAULT(false), amsgrad SSQ_DEFAULT(false),
        centered SSQ_DEFAULT(false), maximize SSQ_DEFAULT(false);
    bool use_nvlamb SSQ_DEFAULT(false), bias_correction SSQ_DEFAULT(true),
        grad_averaging SSQ_DEFAULT(true); /**< lamb */
    ssq_adam_form form SSQ_DEFAULT(SSQ_ADAM_TORCH);
    /* of the whole optimizer; ignored in groups */
    double clip_norm SSQ_DEFAULT(0.0); /**< scale true gradients so that their
                           global L2 norm is at most this: coef = clip / (norm +
                           1e-6), applied if < 1 (torch, apex, Megatron); 0 none
                           and no norm is measured; INFINITY only measures */
    ssq_master_kind master SSQ_DEFAULT(SSQ_MASTER_F32);
    bool flat_master SSQ_DEFAULT(false); /**< one contiguous master per group,
                           in the order of ssq_optimizer_add (fastai); float32
                           parameters get one too. Needs SSQ_MASTER_F32 */
    uint64_t seed SSQ_DEFAULT(0); /**< of stochastic rounding: what element i of
                        a parameter draws is a function of (seed, the random
                        counter, the name, i) alone, on every device */
    bool statistics
        SSQ_DEFAULT(false); /**< count underflow and rounded-away updates */
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

/** Make an optimizer: "sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb",
 *  "adadelta".
 *  @param options  of the default group; NULL all defaults; copied
 *  @param optimizer  the caller's; it holds the device. Used by one thread at
 *                  a time
 *  @return SSQ_ERR_NOT_FOUND another kind, listing these; SSQ_ERR_INVALID a
 *          value out of range, named (lr < 0, beta not in [0, 1), nesterov
 *          without momentum or with dampening, eps < 0, split masters for
 *          f16 at ssq_optimizer_add ...); SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_create(
    ssq_device *device, const char *kind, const ssq_optimizer_options *options,
    ssq_optimizer **optimizer);

/** Drop an optimizer and its groups; enqueued work is not disturbed. */
SSQ_API void ssq_optimizer_destroy(ssq_optimizer **optimizer);

/** A group with other hyper-parameters. options as at create, whole; its
 *  whole-optimizer fields are ignored. Freed with the optimizer, and never by
 *  the caller.
 *  @return SSQ_ERR_INVALID also: after the first check, step or visit */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_group(ssq_optimizer *optimizer,
                    const ssq_optimizer_options *options, ssq_group **group);

/** Register a parameter and its gradient.
 *
 *  All memory of an optimizer (masters, moments, words) is taken at its first
 *  use: check, unscale, accumulate, step, visit, model_to_master or
 *  master_to_model, save or load, whichever comes first; then masters are made
 *  from the model, moments are zeroed, and nothing is allocated on the device
 *  later but the sums of the first ssq_optimizer_accumulate. The first use
 *  cannot be in a capture (SSQ_ERR_INVALID): call ssq_optimizer_model_to_master
 *  before it. If it fails it has changed nothing.
 *
 *  @param name   unique in the optimizer; its 32-bit FNV-1a hash is the random
 *                stream's tensor id
 *  @param param  float, contiguous; a 16-bit one gets a master made from its
 *                value at the first use
 *  @param grad   float, contiguous, the shape of param; holds the (scaled)
 *                gradient at each step. Both are held.
 *  @param group  NULL the default group
 *  @return SSQ_ERR_INVALID also: the name is taken, another optimizer's
 *          group, after the first use, the tensors overlap each other or
 *          those of another parameter. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_add(ssq_optimizer *optimizer,
                                                    const char *name,
                                                    const ssq_tensor *param,
                                                    const ssq_tensor *grad,
                                                    ssq_group *group);

/** This parameter is a shard of a larger one: its element 0 is element first
 *  of the whole, so that stochastic rounding draws for it what the whole would
 *  draw, under the same name in each shard's optimizer.
 *  @return SSQ_ERR_NOT_FOUND no such name; SSQ_ERR_INVALID after the first
 *          use. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_shard(ssq_optimizer *optimizer,
                                                      const char *name,
                                                      uint64_t first);

/** Divide the optimizer between the ranks of a communicator (ZeRO's stage 1):
 *  each rank's optimizer has all parameters, alike in names, order and options,
 *  and masters and moments for its shard alone. A trainer compares that; here
 *  nobody does, but for sizes: ssq_comm_compare is for it. Shards are runs of
 *  all parameters' elements in the order of ssq_optimizer_add, cut at multiples
 *  of 16384 of a parameter's, of about as many elements each; some may be
 *  empty.
 *
 *      st = ssq_optimizer_accumulate(queue, optimizer, 1.0 / ranks);
 *      st = ssq_optimizer_step(queue, optimizer, scaler);
 *
 *  Gradients are those of the rank's own passes. Check, unscale or step, which
 *  comes first, sums their sums over ranks, in the order of comm.h; all ranks
 *  find one verdict, one norm, one overflow report; each steps its shard, and
 *  the step ends with all ranks having all parameters. For as many ranks the
 *  bits of parameters, t, random counter and norms, and of the shards, are
 *  those of ssq_comm_all_reduce of the sums and optimizers that are whole.
 *
 *  These are calls of all ranks, in the same order: check, unscale, step,
 *  master_to_model; ssq_params_read, ssq_params_save and ssq_params_to_float32
 *  with the optimizer, where parameters have masters; ssq_checkpoint_save. Of
 *  these params_read and params_save wait, as does ssq_checkpoint_save on rank
 *  0: there a rank needs a thread of its own. None of them can be in a capture.
 *  After SSQ_ERR_COMM parameters may be those of one step on some ranks and of
 *  the next on others: load a checkpoint. After any other error of a step call
 *  it again: where it has stepped and could not gather, that is all it does,
 *  and accumulate, check and unscale answer SSQ_ERR_INVALID until then.
 *  ssq_params_save writes a file on each rank, which may be the same one's.
 *
 *  Differences: check, unscale and step need ssq_optimizer_accumulate before
 *  them. After ssq_optimizer_unscale the shard of the gradients is true, and
 *  the rest of no use. ssq_optimizer_visit visits what the rank has, flat where
 *  it is not a whole parameter's. rounded_away of the statistics is the
 *  shard's. ssq_optimizer_master, ssq_optimizer_save and ssq_optimizer_load are
 *  refused: ssq_checkpoint_save and _load have what they have, for any number
 *  of ranks.
 *  @param comm  of the optimizer's device; held: once it was destroyed, what
 *               needs the other ranks answers SSQ_ERR_COMM
 *  @return SSQ_ERR_INVALID a NULL, after the first use, twice, comm of another
 *          device, flat_master. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_distribute(ssq_optimizer *optimizer, ssq_comm *comm);

/** Bytes of device memory that an optimizer works with, on this rank. */
typedef struct ssq_memory_report {
    size_t struct_size;
    uint64_t elements; /**< of all parameters */
    uint64_t own;      /**< of them, whose masters and moments are here: all
                            but of a distributed optimizer */
    uint64_t params;   /**< the caller's parameters */
    uint64_t grads;    /**< and gradients */
    uint64_t sums;     /**< of ssq_optimizer_accumulate; 0 before the first */
    uint64_t masters;  /**< or remainders */
    uint64_t moments;
    uint64_t other; /**< words, and of a distributed optimizer partials */
} ssq_memory_report;
#define SSQ_MEMORY_REPORT_INIT                                                 \
    {                                                                          \
        sizeof(ssq_memory_report), 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** How much memory there is; nothing is waited for.
 *  @return SSQ_ERR_INVALID a NULL, a wrong struct_size, before the first use.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_memory(const ssq_optimizer *optimizer, ssq_memory_report *report);

/** Check all gradients once: verdict and (with clip_norm or lamb) the global
 *  norm of the unscaled gradients, in the fixed order of
 *  kernels/reduce/norm.h: the same bits on every device. ssq_optimizer_step
 *  does it when it was not done. Stages per optimizer, as torch's: READY,
 *  UNSCALED (after check or unscale), STEPPED; the scaler's update goes back to
 *  READY. Without a scaler a step goes back to READY itself. Gradients that
 *  were unscaled since the scaler's last update are taken as true, scaled ones
 *  are multiplied by 1/scale: all of one kind.
 *  @param scaler  NULL: scale 1, no verdict joins an update (but a non-finite
 *                 gradient still skips nothing: the step applies it, as an
 *                 optimizer without a scaler does everywhere; a norm that is
 *                 NaN clips nothing, an infinite one makes every update 0)
 *  @return SSQ_ERR_INVALID already checked or stepped since the last update,
 *          no parameters, the scale was not used since then, or some of the
 *          gradients were unscaled and some not, by name; or were unscaled
 *          while the step reads sums of ssq_optimizer_accumulate.
 *          Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_check(ssq_queue *queue,
                                                      ssq_optimizer *optimizer,
                                                      ssq_scaler *scaler);

/** torch's unscale_: check, and write true gradients in place, for callers who
 *  look at them before the step; the step then uses scale 1. f32 and bf16
 *  gradients only. After ssq_optimizer_accumulate it writes the accumulated
 *  ones, times factor, over the gradients. The norm for clipping is that of
 *  the check: what the caller changes afterwards is not in it.
 *  @return SSQ_ERR_INVALID f16 gradients, or one that ssq_scaler_unscale (or
 *          another optimizer) has unscaled since the last update; else as
 *          ssq_optimizer_check. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_unscale(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_scaler *scaler);

/** One step: check (unless done), t += 1 after a clean check, unscale, clip,
 *  update masters and moments, round the model; or nothing at all. The
 *  gradient used is g * (1 / scale) and then * coef, each rounded to float32:
 *  bit-equal to unscaling in place and clipping float32 gradients as torch
 *  does. Under SSQ_FLOOR_APPLY at the floor a bad verdict does not skip.
 *  @return SSQ_ERR_INVALID stepped already since the last update ("step() has
 *          already been called"), a different scaler than at the check, a
 *          gradient unscaled after the check; else as ssq_optimizer_check.
 *          After any error no state has changed, and the call may
 *          be repeated; a distributed optimizer may have stepped where its
 *          parameters could not be gathered, and repeats that alone.
 *          Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_step(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     ssq_scaler *scaler);

/** Accumulate micro-batches: adds every gradient to a float32 accumulator of
 *  its parameter (made at the first call) and leaves grad to be overwritten by
 *  the next backward. After it, check, unscale and step read the accumulators,
 *  times factor: one verdict for all micro-batches. The step, skipped or not,
 *  ends the accumulation, as does the update after a check: the next call
 *  begins anew. Keep the scale constant within one: call update after the step.
 *  @param factor  on the sum at the step: 1/k for a mean; the last call's;
 *                 finite
 *  @return SSQ_ERR_INVALID checked or stepped since the last update, or summed
 *          over ranks by a check or step that failed behind that. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_accumulate(
    ssq_queue *queue, ssq_optimizer *optimizer, double factor);

/** Clip gradients by their global L2 norm, in place, as
 *  torch.nn.utils.clip_grad_norm_: all are multiplied by max_norm / (norm +
 *  1e-6) where that is less than 1, in float32, each rounded once. For true
 *  gradients: unscale first. An optimizer's clip_norm does the same inside its
 *  step, bit for bit where gradients are f32. A norm that is NaN clips nothing
 *  (torch: everything becomes NaN), an infinite one makes gradients 0 or NaN;
 *  nothing waits to see it, so there is no error_if_nonfinite: a scaler's
 *  verdict skips such a step, without one look at the norm.
 *  @param grads     n float tensors of any strides, none overlapping another; n
 *                   may be 0
 *  @param max_norm  > 0; INFINITY only measures
 *  @param norm      out, optional: f32, one element: the norm before clipping
 *  @return SSQ_ERR_INVALID a NULL, a dtype, an overlap, max_norm <= 0 or NaN
 *  @note asynchronous, may be captured; class B, in the fixed order of
 *        kernels/reduce/norm.h. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_clip_grad_norm(ssq_queue *queue, size_t n, const ssq_tensor *const *grads,
                   double max_norm, const ssq_tensor *norm);

/** Write zeros into all gradients. Legal at every stage, and no first use.
 *  @return SSQ_ERR_INVALID a NULL or another device; SSQ_ERR_NOMEM; the queue's
 *          error. Asynchronous, may be captured. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_zero_grad(ssq_queue *queue, ssq_optimizer *optimizer);

/** Hyper-parameters that a setter can change between steps. */
typedef enum ssq_hyper {
    SSQ_HYPER_LR = 0,
    SSQ_HYPER_MOMENTUM = 1, /**< beta1 where the optimizer has betas */
    SSQ_HYPER_BETA1 = 2,
    SSQ_HYPER_BETA2 = 3,
    SSQ_HYPER_EPS = 4,
    SSQ_HYPER_WEIGHT_DECAY = 5,
    SSQ_HYPER_CLIP_NORM = 6 /**< whole optimizer: group must be NULL */
} ssq_hyper;

/** Set one from the next step on: enqueues a copy into the control block, which
 *  captured steps read too. lr: also removes the group's schedule.
 *  @param group  NULL: the default group
 *  @return SSQ_ERR_INVALID out of range, the optimizer has no such
 *          hyper-parameter, a momentum for a group that began without one (it
 *          has no buffer), or in a capture. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_set(ssq_queue *queue,
                                                    ssq_optimizer *optimizer,
                                                    ssq_group *group,
                                                    ssq_hyper hyper,
                                                    double value);

/** Read the value in use. Under a schedule that is the value which the step
 *  after the last finished one takes, as far as the host knows: like
 *  ssq_scaler_poll it waits for nothing, and is exact after a sync. Skipped
 *  steps do not advance it, launches of a captured step do.
 *  @param group  NULL: the default group
 *  @return SSQ_ERR_INVALID a NULL, another optimizer's group, or the optimizer
 *          has no such hyper-parameter. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_get(const ssq_optimizer *optimizer, const ssq_group *group,
                  ssq_hyper hyper, double *value);

/** Drive a group's lr (or momentum: beta1 for the adams) by a schedule. Values
 *  are rounded to float32; 1 - beta1 and beta1^t follow the scheduled beta1,
 *  as in torch. Begins at the t of now, not at 0. A step that was captured
 *  reads a new schedule if the group had one at the capture that was at least
 *  as long; else it keeps what it has.
 *  @param hyper     SSQ_HYPER_LR or SSQ_HYPER_MOMENTUM
 *  @param schedule  NULL removes it; copied
 *  @return SSQ_ERR_INVALID as ssq_schedule_value, no momentum, or in a
 *          capture. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_schedule(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_group *group,
    ssq_hyper hyper, const ssq_schedule *schedule);

/** Masters from the model (after the caller wrote the parameters; remainders
 *  become 0), or the model from the masters (with remainders the model is part
 *  of the master and stays). After the first use moments, t and the random
 *  counter keep their bits.
 *  @return SSQ_ERR_INVALID no parameters, or a first use in a capture;
 *          SSQ_ERR_NOMEM; the queue's error. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_model_to_master(ssq_queue *queue, ssq_optimizer *optimizer);
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master_to_model(ssq_queue *queue, ssq_optimizer *optimizer);

/** The master of a parameter: f32 (the parameter itself when that is f32 and
 *  flat_master is off). Owned by the optimizer. With flat_master and name
 *  NULL: the group's whole flat master, rank 1.
 *  @return SSQ_ERR_NOT_FOUND no such name (in the group, if one is given),
 *          SSQ_ERR_INVALID no f32 master (split or none), before the first
 *          use, or of a distributed optimizer, whose masters are parts. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_master(ssq_optimizer *optimizer, const ssq_group *group,
                     const char *name, const ssq_tensor **master);

/** Called for each state tensor: first "control", t and the random counter as
 *  i32 [2]; then by parameter, in the order of ssq_optimizer_add,
 *  "<param>.master" (f32, the parameter's shape), or "<param>.remainder" (u8
 *  [2 n]: the lower halves of the masters' words, low byte first), and the
 *  moments, f32 in the parameter's shape: "<param>.exp_avg", ".exp_avg_sq",
 *  ".max_exp_avg_sq", ".momentum_buffer", ".square_avg", ".grad_avg", ".sum".
 *  name is valid during the call. Return another status than SSQ_OK to stop. */
typedef ssq_status (*ssq_optimizer_visit_fn)(void *user, const char *name,
                                             const ssq_tensor *tensor);

/** Visit all state tensors in a fixed order: reading them all, with the
 *  parameters, saves the optimizer; writing them all, on a new one with the
 *  same parameters and options, restores it: the run goes on bit-equal.
 *  All that fn writes is trusted, except t: damage is not detected. Use
 *  ssq_optimizer_save and ssq_optimizer_load for bytes in a file: they work in
 *  one piece, with a checksum.
 *  @param queue  as a first use this initialises the state, in order on it;
 *                what fn writes is written on it. Synchronised before and
 *                after, to see which t was written
 *  @return what fn returned; SSQ_ERR_INVALID also: a capture, or fn has made t
 *          negative, which is undone; SSQ_ERR_NOMEM. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_visit(ssq_queue *queue,
                                                      ssq_optimizer *optimizer,
                                                      ssq_optimizer_visit_fn fn,
                                                      void *user);

/** The whole optimizer as bytes: parameters, masters, moments, t and the random
 *  counter, with names and shapes, and as ssq_scaler_save with a version, the
 *  byte order and a checksum. Hyper-parameters and schedules are the program's
 *  and not in it. It is as large as all of these together: for a large one map
 *  a file of needed bytes. Waits for the queue.
 *  @param blob    where to, of any alignment; NULL with bytes 0 only asks
 *  @param bytes   of memory there
 *  @param needed  out, optional: the bytes of the blob
 *  @return SSQ_ERR_INVALID bytes is less than needed; a check, step or
 *          accumulation since the last update; no parameters, a capture, or a
 *          distributed optimizer; the queue's error, SSQ_ERR_NOMEM. Since 0.1.
 */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_save(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     void *blob, size_t bytes,
                                                     size_t *needed);

/** Go on as the optimizer that was saved, bit-equal. The blob is read whole and
 *  compared before anything is written, and free when this returns: waits.
 *  @param bytes  those that were needed, not more
 *  @return SSQ_ERR_INVALID not an optimizer's blob, of another version or byte
 *          order, damaged; of another kind, or with other parameters (names,
 *          their order, dtypes, shapes, masters, moments), the first difference
 *          by name; a t that is negative; else as ssq_optimizer_save. Nothing
 *          has changed then. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_load(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     const void *blob,
                                                     size_t bytes);

/** Which gradient overflowed in the last check that found one. */
typedef struct ssq_overflow_report {
    size_t struct_size;
    char name[64];       /**< the first such parameter, cut to 63 bytes; ""
                              none ever */
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

/** Report the last overflow, after everything on the queue: synchronises it.
 *  When none was ever found the report says so, by check 0.
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, before the first use,
 *          or in a capture; the queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_overflow(
    ssq_queue *queue, ssq_optimizer *optimizer, ssq_overflow_report *report);

/** Counts of the last check and step of one parameter; statistics must be on.
 *  Gradients are counted as they were (scaled), non-finite ones nowhere. */
typedef struct ssq_statistics {
    size_t struct_size;
    uint64_t elements;
    uint64_t zeros;        /**< gradients that are exactly 0 */
    uint64_t subnormals;   /**< subnormal in their dtype */
    int32_t max_exponent;  /**< of the finite gradients: floor(log2 |g|);
                                INT32_MIN when all are 0 */
    uint64_t rounded_away; /**< updates that left the 16-bit weight as it was
                                although the update was not 0; 0 when the
                                step was skipped, and for f32 parameters */
} ssq_statistics;
#define SSQ_STATISTICS_INIT                                                    \
    {                                                                          \
        sizeof(ssq_statistics), 0, 0, 0, 0, 0                                  \
    }

/** Read the counts, after everything on the queue: synchronises it.
 *  @param name  a parameter, or NULL for all together
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, statistics are off,
 *          before the first use, or in a capture; SSQ_ERR_NOT_FOUND no such
 *          parameter; SSQ_ERR_NOMEM; the queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_optimizer_statistics(ssq_queue *queue, ssq_optimizer *optimizer,
                         const char *name, ssq_statistics *statistics);

/** The global norm of the last check's unscaled gradients, before clipping,
 *  and t, the number of successful steps. Either may be NULL. Synchronises.
 *  @return SSQ_ERR_INVALID norm is asked for and clip_norm is 0 (and this is
 *          not lamb), before the first use, or in a capture; the queue's
 *          error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_optimizer_norm(ssq_queue *queue,
                                                     ssq_optimizer *optimizer,
                                                     float *norm, uint32_t *t);

#ifdef __cplusplus
}
#endif

#endif
